"""Write networks as ONNX models, which run in many languages and runtimes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplay.core.archive import write_file
from counterplay.errors import ConfigError
from counterplay.interop.env_arrays import missing_extra_error
from counterplay.interop.portable_policy import network_layers
from counterplay.registry import get_spec

if TYPE_CHECKING:
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ModuleNotFoundError as error:
    raise missing_extra_error("onnx", "ONNX") from error

OPSET = 18
IR_VERSION = 9
MASK_PENALTY = 1e30  # subtracted from outputs of illegal actions


def write_onnx_policy(policy: NetworkPolicy, path: str | Path) -> None:
    """Write a policy of networks as one ONNX model.

    Inputs are `observation` [B, X] (float), `legal` [B, A] (bool) and `network` (a scalar int64);
    the output `probabilities` is [B, A]. Network n * P + p serves player p of P in an episode for
    which set n was drawn; the weights of the sets are in the model's metadata.

    Args:
        policy: networks of a run on rules.
        path: the file.

    Raises:
        ConfigError: the policy is a table, or its players' networks have different shapes.
    """
    if not hasattr(policy, "nets"):
        raise ConfigError("only networks can be written as ONNX; write a table as .npz or .json")
    model = _build_model(policy)
    onnx.checker.check_model(model)
    write_file(path, lambda file: file.write(model.SerializeToString()))


class _GraphBuilder:
    """Nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """Add a constant array and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        name = f"x{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, list(inputs), [name], **attributes))
        return name


def _build_model(policy: NetworkPolicy) -> Any:
    game = policy.game
    nets = [net for stacked in policy.nets for net in network_layers(stacked, game.num_players)]
    shapes = [[[w.shape for w, _ in layers] for layers in parts] for parts in nets]
    if any(shape != shapes[0] for shape in shapes):
        raise ConfigError("the players' networks have different shapes; write them as .npz")
    graph = _GraphBuilder()
    outputs = [
        _add_layers(graph, [[net[part][i] for net in nets] for i in range(len(nets[0][part]))])
        for part in range(len(nets[0]))
    ]
    x = outputs[0]
    if len(outputs) == 2:
        x = graph.add("Add", graph.add("Relu", outputs[0]), outputs[1])
    last = _HEADS[policy.head](graph, x)
    graph.nodes.append(helper.make_node("Identity", [last], ["probabilities"]))
    num_inputs, num_actions = shapes[0][0][0][0], shapes[0][0][-1][1]
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "policy",
            [
                helper.make_tensor_value_info("observation", TensorProto.FLOAT, ["B", num_inputs]),
                helper.make_tensor_value_info("legal", TensorProto.BOOL, ["B", num_actions]),
                helper.make_tensor_value_info("network", TensorProto.INT64, []),
            ],
            [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["B", num_actions])],
            graph.constants,
        ),
        producer_name="counterplay",
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    facts = {
        "game": get_spec(game),
        "num_players": str(game.num_players),
        "weights": json.dumps(list(map(float, policy.weights))),
    }
    helper.set_model_props(model, facts)
    return model


def _add_layers(graph: _GraphBuilder, layers: list[list[tuple[Any, Any]]]) -> str:
    """Add ReLU layers with skip connections and a linear last layer; return the output's name."""
    x = "observation"
    for number, nets in enumerate(layers):
        weights, biases = (np.stack(arrays) for arrays in zip(*nets, strict=True))
        inputs, outputs = weights.shape[1:]
        selected = [
            graph.add("Gather", graph.constant(array), "network", axis=0)
            for array in (weights, biases)
        ]
        y = graph.add("Add", graph.add("MatMul", x, selected[0]), selected[1])
        if number == len(layers) - 1:
            return y
        x = graph.add("Add", graph.add("Relu", y), _resize(graph, x, inputs, outputs))
    raise AssertionError("a network has at least one layer")


def _resize(graph: _GraphBuilder, x: str, inputs: int, outputs: int) -> str:
    """Cut vectors or pad them with zeros to a width."""
    if inputs > outputs:
        starts, ends, axes = (graph.constant(np.array([n])) for n in (0, outputs, 1))
        return graph.add("Slice", x, starts, ends, axes)
    if inputs < outputs:
        return graph.add("Pad", x, graph.constant(np.array([0, 0, 0, outputs - inputs])))
    return x


def _mask(graph: _GraphBuilder, x: str) -> str:
    return graph.add("Where", "legal", x, graph.constant(np.float32(-MASK_PENALTY)))


def _softmax(graph: _GraphBuilder, x: str) -> str:
    return graph.add("Softmax", _mask(graph, x), axis=-1)


def _regret_matching(graph: _GraphBuilder, x: str) -> str:
    zero, last_axis = graph.constant(np.float32(0.0)), graph.constant(np.array([-1]))
    positive = graph.add("Where", "legal", graph.add("Relu", x), zero)
    total = graph.add("ReduceSum", positive, last_axis)
    masked = _mask(graph, x)
    is_best = graph.add("Equal", masked, graph.add("ReduceMax", masked, last_axis))
    best = graph.add("Cast", graph.add("And", is_best, "legal"), to=TensorProto.FLOAT)
    has_positive = graph.add("Greater", total, zero)
    weights = graph.add("Where", has_positive, positive, best)
    return graph.add("Div", weights, graph.add("ReduceSum", weights, last_axis))


def _greedy(graph: _GraphBuilder, x: str) -> str:
    masked = _mask(graph, x)
    best = graph.add("ArgMax", masked, axis=-1, keepdims=0)
    num_actions = graph.add(
        "Gather", graph.add("Shape", masked), graph.constant(np.int64(1)), axis=0
    )
    return graph.add("OneHot", best, num_actions, graph.constant(np.array([0.0, 1.0], np.float32)))


_HEADS: dict[str, Callable[[_GraphBuilder, str], str]] = {
    "softmax": _softmax,
    "regret_matching": _regret_matching,
    "greedy": _greedy,
}
