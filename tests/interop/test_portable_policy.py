"""Policies for programs without this package: the runtime module and ONNX."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections import Counter
from random import Random

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.rules import TabularPolicy
from counterplay.errors import ConfigError
from counterplay.interop import counterplay_runtime
from counterplay.interop.portable_policy import write_portable_policy, write_runtime_module


@pytest.fixture
def leduc_file(tmp_path):
    policy = cp.random_policy("leduc_poker", seed=3)
    path = tmp_path / "leduc.npz"
    write_portable_policy(policy, path)
    return policy, path


def test_runtime_reads_the_same_probabilities(leduc_file):
    policy, path = leduc_file
    portable = counterplay_runtime.load(path)
    assert len(portable) == len(policy) == 936
    assert portable.game == "leduc_poker"
    for player, key, row in policy.items():
        assert portable.probabilities(player, key) == row


def test_samples_have_the_frequencies_of_the_policy(leduc_file):
    policy, path = leduc_file
    portable, rng = counterplay_runtime.load(path), Random(1)
    count = Counter(portable.sample(0, "Kh:", rng=rng) for _ in range(20_000))
    for name, probability in policy[0, "Kh:"].items():
        assert count[name] / 20_000 == pytest.approx(probability, abs=0.015)


def test_actions_of_probability_zero_are_never_sampled(tmp_path):
    tree = cp.build_tree("kuhn_poker")
    write_portable_policy(cp.Policy.from_dict(tree, {"2b": {"bet": 1.0}}), tmp_path / "x.npz")
    portable = counterplay_runtime.load(tmp_path / "x.npz")

    class Draws(Random):
        def random(self) -> float:
            return 0.9999999999999999

    assert portable.sample(1, "2b", rng=Draws()) == "bet"
    Draws.random = lambda self: 0.0
    assert portable.sample(1, "2b", rng=Draws()) == "bet"


def test_unknown_infoset_is_an_error_of_one_sentence(leduc_file):
    portable = counterplay_runtime.load(leduc_file[1])
    with pytest.raises(KeyError, match="no infoset 'nowhere' of player 0"):
        portable.probabilities(0, "nowhere")


def test_partial_policy_is_uniform_where_it_was_never_trained(tmp_path):
    game = cp.load_game("kuhn_poker")
    policy = TabularPolicy(game, {(0, "2"): {"pass": 0.25, "bet": 0.75}})
    write_portable_policy(policy, tmp_path / "x.npz")
    portable = counterplay_runtime.load(tmp_path / "x.npz")
    assert portable.probabilities(0, "2") == {"pass": 0.25, "bet": 0.75}
    assert portable.probabilities(1, "1p", ("pass", "bet")) == {"pass": 0.5, "bet": 0.5}
    assert portable.sample(1, "1p", ("pass", "bet"), Random(0)) in ("pass", "bet")
    with pytest.raises(KeyError, match="name its legal actions"):
        portable.sample(1, "1p")


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive", b"\x93NUMPY"])
def test_damaged_files_are_refused_in_one_sentence(tmp_path, content):
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not a policy exported by Counterplay"):
        counterplay_runtime.load(path)


def test_policy_files_of_another_format_are_refused(tmp_path):
    cp.uniform_policy("kuhn_poker").save(tmp_path / "x.npz")
    with pytest.raises(ValueError, match="not a policy exported by Counterplay"):
        counterplay_runtime.load(tmp_path / "x.npz")


def test_copied_module_runs_without_this_package(leduc_file, tmp_path):
    policy, path = leduc_file
    module = write_runtime_module(tmp_path)
    code = (
        "import sys, counterplay_runtime as r; assert 'numpy' not in sys.modules;"
        f"p = r.load({str(path)!r}).probabilities(0, 'Kh:');"
        "assert not any(m.split('.')[0] in ('counterplay', 'numba', 'jax') for m in sys.modules);"
        "print(p)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=module.parent,
        env={"PYTHONPATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert answer.stdout.strip() == str(policy[0, "Kh:"])


@pytest.fixture(params=["softmax", "regret_matching", "greedy", "predictive"])
def networks(request):
    pytest.importorskip("jax")
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
    from counterplay.algorithms.deep.common.networks import PredictiveNets, new_nets

    game, rng = cp.load_game("leduc_poker"), np.random.default_rng(5)
    size = len(game.observation(game.initial_state(), 0))
    nets = [new_nets(rng, 2, (size, 48, 12, 3)) for _ in range(4)]
    if request.param == "predictive":
        pairs = PredictiveNets(nets[0], nets[1]), PredictiveNets(nets[2], nets[3])
        return NetworkPolicy(game, pairs, "regret_matching", (0.25, 0.75))
    return NetworkPolicy(game, tuple(nets[:2]), request.param, (0.25, 0.75))


def _decisions(game, count):
    """Return (state, player) of the decisions of random episodes."""
    rng, decisions = Random(2), []
    while len(decisions) < count:
        state = game.initial_state()
        while (player := game.player(state)) != cp.TERMINAL:
            if player == cp.CHANCE:
                actions = [action for action, _ in game.chance_outcomes(state)]
            else:
                actions = game.actions(state)
                decisions.append((state, player))
            state = game.next_state(state, rng.choice(actions))
    return decisions[:count]


def test_networks_have_the_same_probabilities_in_the_runtime(networks, tmp_path):
    path = tmp_path / "net.npz"
    write_portable_policy(networks, path)
    portable, game = counterplay_runtime.load(path), networks.game
    for state, player in _decisions(game, 40):
        exact = networks.action_probabilities(state, player)  # of the first set of networks
        row = portable.probabilities(player, game.observation(state, player), game.actions(state))
        assert list(row.values()) == pytest.approx(exact, abs=1e-6)
        assert portable.sample(player, game.observation(state, player), game.actions(state)) in row


def test_sets_of_networks_are_drawn_by_their_weights(networks, tmp_path):
    write_portable_policy(networks, tmp_path / "net.npz")
    portable, rng, game = counterplay_runtime.load(tmp_path / "net.npz"), Random(4), networks.game
    state, player = _decisions(game, 1)[0]
    inputs = player, game.observation(state, player), game.actions(state)
    count: Counter = Counter()
    for _ in range(4000):
        portable.start_episode(rng)
        count[portable._chosen] += 1
    assert count[1] / 4000 == pytest.approx(0.75, abs=0.03)
    portable.start_episode(Random(1))
    from dataclasses import replace

    drawn = replace(networks, nets=(networks.nets[portable._chosen],))
    exact = drawn.action_probabilities(state, player)
    assert list(portable.probabilities(*inputs).values()) == pytest.approx(exact, abs=1e-6)


def test_onnx_model_has_the_same_probabilities(networks, tmp_path):
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    from counterplay.interop.onnx_policy import write_onnx_policy

    path, game = tmp_path / "net.onnx", networks.game
    write_onnx_policy(networks, path)
    model = onnx.load(path)
    assert {entry.key: entry.value for entry in model.metadata_props}["game"] == "leduc_poker"
    evaluator = ReferenceEvaluator(model)
    for number in range(2):
        from dataclasses import replace

        drawn = replace(networks, nets=(networks.nets[number],))
        for state, player in _decisions(game, 10):
            legal = np.zeros((1, 3), bool)
            legal[0, game.actions(state)] = True
            inputs = {
                "observation": np.array([game.observation(state, player)], np.float32),
                "legal": legal,
                "network": np.array(2 * number + player),
            }
            (output,) = evaluator.run(None, inputs)
            exact = drawn.action_probabilities(state, player)
            assert output[0, game.actions(state)] == pytest.approx(exact, abs=1e-6)
            assert output[0].sum() == pytest.approx(1.0, abs=1e-6)


def test_tables_are_not_written_as_onnx(tmp_path):
    pytest.importorskip("onnx")
    from counterplay.interop.onnx_policy import write_onnx_policy

    with pytest.raises(ConfigError, match=r"only networks can be written as ONNX"):
        write_onnx_policy(cp.uniform_policy("kuhn_poker"), tmp_path / "x.onnx")
    assert not (tmp_path / "x.onnx").exists()


def test_runtime_module_states_no_dependency_but_numpy():
    spec = importlib.util.find_spec("counterplay.interop.counterplay_runtime")
    assert spec is not None and spec.origin is not None
    with open(spec.origin, encoding="utf-8") as file:
        lines = [line.split() for line in file if line.strip().startswith(("import ", "from "))]
    imports = {words[1].split(".")[0] for words in lines}
    assert imports - set(sys.stdlib_module_names) == {"numpy"}
