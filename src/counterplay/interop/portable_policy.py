"""Write policies for `counterplay_runtime`, a module that reads them with NumPy alone."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplay.core.archive import write_file
from counterplay.interop.counterplay_runtime import FORMAT
from counterplay.registry import get_spec

if TYPE_CHECKING:
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
    from counterplay.arenas.rules import TabularPolicy
    from counterplay.core.policy import Policy

RUNTIME_MODULE = "counterplay_runtime.py"

Content = tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]  # header and arrays of a file


def write_portable_policy(policy: Policy | TabularPolicy | NetworkPolicy, path: str | Path) -> None:
    """Write a policy as .npz for the module `counterplay_runtime`.

    Args:
        policy: a table of a tree or of rules, or networks of a run on rules.
        path: the file.

    Example:
        >>> import counterplay as cp, tempfile
        >>> from counterplay.interop import counterplay_runtime
        >>> path = f"{tempfile.mkdtemp()}/kuhn.npz"
        >>> cp.interop.write_portable_policy(cp.uniform_policy("kuhn_poker"), path)
        >>> counterplay_runtime.load(path).probabilities(0, "2")
        {'pass': 0.5, 'bet': 0.5}
    """
    content: Any = _network_content if hasattr(policy, "nets") else _table_content
    header, arrays = content(policy)
    text = json.dumps({"format": FORMAT, **header}).encode()
    arrays["header"] = np.frombuffer(text, np.uint8)
    named: Any = arrays
    write_file(path, lambda file: np.savez_compressed(file, **named))


def write_runtime_module(folder: str | Path) -> Path:
    """Copy the module that reads portable policies into a folder, and return its path."""
    target = Path(folder) / RUNTIME_MODULE
    content = (files("counterplay.interop") / RUNTIME_MODULE).read_bytes()
    write_file(target, lambda file: file.write(content))
    return target


def _table_content(policy: Policy | TabularPolicy) -> Content:
    rows = list(policy.items())
    names = [name for _, _, row in rows for name in row]
    number_by_name = {name: number for number, name in enumerate(dict.fromkeys(names))}
    arena: Any = getattr(policy, "arena", policy)
    header = {
        "kind": "table",
        "game": arena.spec,
        "num_players": arena.num_players,
        "partial": not getattr(policy, "complete", True),
        "action_names": list(number_by_name),
        "keys": [key for _, key, _ in rows],
    }
    probabilities = [value for _, _, row in rows for value in row.values()]
    arrays = {
        "infoset_player": np.array([player for player, _, _ in rows], np.int8),
        "offset": np.cumsum([0, *(len(row) for _, _, row in rows)]),
        "name_index": np.array([number_by_name[name] for name in names], np.int32),
        "probabilities": np.array(probabilities, np.float64),
    }
    return header, arrays


def _network_content(policy: NetworkPolicy) -> Content:
    from counterplay.algorithms.deep.common.networks import num_outputs

    arrays: dict[str, np.ndarray[Any, Any]] = {}
    layout = [
        [
            [
                (_store_layers(arrays, f"{number}/{player}/{part}", layers), len(layers))
                for part, layers in enumerate(parts)
            ]
            for player, parts in enumerate(network_layers(net, policy.game.num_players))
        ]
        for number, net in enumerate(policy.nets)
    ]
    header = {
        "kind": "networks",
        "game": get_spec(policy.game),
        "head": policy.head,
        "num_actions": num_outputs(policy.nets[0]),
        "weights": list(map(float, policy.weights)),
        "nets": layout,
    }
    return header, arrays


def _store_layers(arrays: dict[str, Any], name: str, layers: list[tuple[Any, Any]]) -> str:
    for number, (weights, biases) in enumerate(layers):
        arrays[f"{name}/{number}/w"] = weights
        arrays[f"{name}/{number}/b"] = biases
    return name


def network_layers(net: Any, num_players: int) -> list[list[list[tuple[Any, Any]]]]:
    """Return weights and biases by player, part and layer.

    A network of regrets with a prediction has two parts, the cumulative and the instantaneous one;
    other networks have one.
    """
    from counterplay.algorithms.deep.common.networks import PredictiveNets, select_player

    def layers(player_net: Any) -> list[tuple[Any, Any]]:
        return [(np.asarray(w, np.float32), np.asarray(b, np.float32)) for w, b in player_net]

    by_player = []
    for player in range(num_players):
        player_net = select_player(net, player)
        parts = list(player_net) if isinstance(player_net, PredictiveNets) else [player_net]
        by_player.append([layers(part) for part in parts])
    return by_player
