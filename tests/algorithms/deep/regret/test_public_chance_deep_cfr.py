"""Public-chance Deep CFR: equal to DCFR where nothing is approximated; tabulation; resumed runs."""

from __future__ import annotations

import copy
from dataclasses import fields, replace

import numpy as np
import pytest

pytest.importorskip("jax")

import counterplay as cp
from counterplay.algorithms.deep.common import public_chance as module
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.core.cards import cards_name
from counterplay.experiment import resume, run
from counterplay.registry import get_spec
from tests.algorithms import contract
from tests.algorithms.deep.public_chance import GAME, TINY, one_feature_per_row
from tests.algorithms.test_algorithms import memories_equal
from tests.experiment.conftest import config, load_final_state, load_untimed_records


@pytest.fixture(scope="module")
def arena():
    return HoldemGameArena(cp.load_game(GAME))


@pytest.fixture(scope="module")
def tiny():
    return cp.load_algorithm("public_chance_deep_cfr", **TINY)


@pytest.fixture(scope="module")
def after_3(arena, tiny):
    return tiny.step(arena, tiny.init(arena), 3)


def test_with_exact_features_and_all_boards_it_is_dcfr(monkeypatch):
    """One feature per row makes the ridge regression exact: then the iterates are those of DCFR."""
    arena = HoldemGameArena(cp.load_game(contract.SMALL_HOLDEM), "float64")
    monkeypatch.setattr(module, "row_features", one_feature_per_row)
    monkeypatch.setattr(module.PublicChanceSampler, "match_regrets", _match_with_uniform_rest)
    settings = TINY | {"num_boards": 99, "ridge": 1e-4, "train_steps": 0}
    algorithm = cp.load_algorithm("public_chance_deep_cfr", **settings)
    memory = algorithm.step(arena, algorithm.init(arena), 4)
    expected = cp.solve(arena, cp.algorithms.DCFR(), iterations=4)
    judged = cp.judge(arena, algorithm.policies(arena, memory)["average"])
    np.testing.assert_allclose(judged.values, cp.judge(arena, expected.policy).values, atol=1e-3)
    assert judged.exploitability == pytest.approx(expected.exploitability, rel=0.02)


def _match_with_uniform_rest(sampler, regret, lines):
    """Regret matching of the CFR family, which plays uniformly where no regret is positive.

    A ridge regression in single precision leaves errors of 0.001 where exact regrets are zero.
    """
    policy = np.zeros_like(regret)
    for first, count, *_ in lines.decisions.tolist():
        part = regret[first : first + count]
        positive = np.where(part > 0.01, part, 0.0)
        total = positive.sum(axis=0)
        known = np.where(total > 0.0, total, 1.0)
        policy[first : first + count] = np.where(total > 0.0, positive / known, 1.0 / count)
    return policy


def test_learns_on_a_part_of_the_boards(arena, tiny):
    algorithm = replace(tiny, hidden_sizes=(32,), train_steps=60, num_boards=20)
    uniform = cp.judge(arena, tiny.policies(arena, tiny.init(arena))["average"]).exploitability
    memory = algorithm.step(arena, algorithm.init(arena), 40)
    policies = algorithm.policies(arena, memory)
    average, current = (cp.judge(arena, policies[name]) for name in ("average", "current"))
    assert average.exploitability < 0.08 * uniform
    assert current.exploitability < 0.2 * uniform


def test_the_tabulated_network_is_the_network_asked_hand_by_hand(arena, tiny, after_3):
    policy = tiny.policies(arena, after_3)["current"]
    workspace = tiny.workspace(arena)
    rows, lines = workspace.rows, workspace.sampler.second_round
    scale = np.sqrt(workspace.row_weight @ _raw_features(after_3, workspace.inputs) ** 2)
    nodes = [
        number
        for number, node in enumerate(arena.betting.nodes)
        if node.kind < FOLD and node.state.street == 1
    ]
    rng = np.random.default_rng(0)
    for _ in range(200):
        decision = int(rng.integers(len(nodes)))
        board = int(rng.integers(arena.streets[1].num_boards))
        hand = int(rng.integers(arena.num_hands(1)))
        row = rows.first[board] + rows.row_of_hand[board, hand]
        inputs = workspace.inputs[row : row + 1]
        features = np.divide(
            _raw_features(after_3, inputs)[0], scale, out=np.zeros(scale.size), where=scale > 1e-5
        )
        first, count = lines.decisions[decision, :2]
        regret = after_3.head[first : first + count] @ features
        positive = np.maximum(regret, 0.0)
        expected = positive / positive.sum() if positive.any() else regret == regret.max()
        actual = policy.probabilities_at(nodes[decision], board)[:, hand]
        np.testing.assert_allclose(actual, expected, atol=1e-3)


def _raw_features(memory, inputs):
    """The features before they are scaled, layer by layer."""
    x = inputs
    for weights, biases in memory.trunk[:-1]:
        before = np.pad(x, [(0, 0), (0, max(0, weights.shape[1] - x.shape[1]))])
        x = np.maximum(x @ weights + biases, 0.0) + before[:, : weights.shape[1]]
    return np.concatenate([x, inputs, np.ones((len(inputs), 1))], axis=1)


def test_best_responses_do_not_depend_on_the_batches_of_rows(arena, tiny, after_3, monkeypatch):
    judged = []
    for rows_per_batch in (37, 1 << 20):
        monkeypatch.setattr(module, "ROWS_PER_BATCH", rows_per_batch)
        tiny.workspace(arena).trunk = []  # its features are computed again
        judged.append(cp.judge(arena, tiny.policies(arena, after_3)["current"]))
    np.testing.assert_allclose(judged[0].best_values, judged[1].best_values, atol=1e-4)
    np.testing.assert_allclose(judged[0].values, judged[1].values, atol=1e-4)


def test_policies_treat_suits_alike(arena, tiny, after_3):
    """The arena evaluates policies on merged boards; `tabulate` asks with cards."""
    policy = tiny.policies(arena, after_3)["average"]
    board = arena.streets[1].num_boards - 1
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD and node.state.street == 1:
            table, seen = policy.probabilities_at(number, board), {}
            suits = arena.streets[1].cards[board] % 4
            for h, hand in enumerate(arena.hand_cards(1, board).tolist()):
                free = all(card % 4 not in suits for card in hand)
                name = cards_name(hand)[::2], free, hand[0] % 4 == hand[1] % 4
                if free:
                    assert (seen.setdefault(name, table[:, h]) == table[:, h]).all()


def test_same_seed_same_bits_and_another_seed_other_bits(arena, tiny, after_3):
    again = tiny.step(arena, tiny.init(arena), 3)
    assert memories_equal(after_3, again)
    other = tiny.step(arena, tiny.init(arena, seed=1), 3)
    assert not memories_equal(after_3.head, other.head)


def test_steps_one_by_one_equal_steps_at_once(arena, tiny, after_3):
    memory = tiny.init(arena)
    for _ in range(3):
        stored = copy.deepcopy(
            {field.name: getattr(memory, field.name) for field in fields(memory)}
        )
        memory = tiny.step(arena, type(memory)(**stored))
    assert memories_equal(after_3, memory)


def test_resumed_runs_are_the_same_bits(tmp_path):
    every = {"max_steps": 4, "evaluate_every": 2, "checkpoint_every": 1}
    chosen = {key: value for key, value in TINY.items() if key != "hidden_sizes"}
    game = cp.load_game(contract.SMALL_HOLDEM)
    whole = config("public_chance_deep_cfr", **every, **chosen)
    parameters = {field.name: getattr(game, field.name) for field in fields(game)}
    whole |= {
        "networks": {"hidden_sizes": [4]},
        "arena": "generated",
        "game": {
            "name": "custom_holdem",
            "params": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in parameters.items()
            },
        },
    }
    run(whole, tmp_path / "whole")
    answers = iter([False, True])
    folder = run(whole, tmp_path / "run", stop=lambda: next(answers, True)).folder
    spec = get_spec(game)
    assert 0 < load_final_state(folder, spec)[0] < 4
    while resume(folder, stop=lambda: True).stopped:
        pass
    assert load_final_state(folder, spec) == load_final_state(tmp_path / "whole", spec)
    assert load_untimed_records(folder) == load_untimed_records(tmp_path / "whole")


def test_inputs_without_strength_are_fewer(arena, tiny):
    without = replace(tiny, strength_features=False)
    shapes = [algorithm.init(arena).head.shape for algorithm in (tiny, without)]
    assert shapes[0][1] > shapes[1][1] > 8
    memory = without.step(arena, without.init(arena), 2)
    assert np.isfinite(memory.head).all()


def test_networks_larger_than_memory_are_refused(arena, tiny):
    with pytest.raises(cp.ConfigError, match="choose smaller hidden sizes"):
        replace(tiny, hidden_sizes=(10**7, 10**7)).init(arena)
    with pytest.raises(cp.ConfigError, match="hidden size"):
        replace(tiny, hidden_sizes=(1, 10**6)).init(arena)


@pytest.mark.parametrize("spec", ["ms0", "custom_holdem(num_ranks=2,board_cards=(0,1,1))"])
def test_games_of_other_shapes_are_refused(spec, tiny):
    with pytest.raises(cp.ConfigError, match="is for games of two"):
        tiny.init(HoldemGameArena(cp.load_game(spec)))
