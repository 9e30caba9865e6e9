"""Mirror descent by public-chance sampling: its updates, its units, resumed runs."""

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
from tests.algorithms import contract
from tests.algorithms.deep.public_chance import GAME, TINY, one_feature_per_row
from tests.algorithms.test_algorithms import memories_equal

TENFOLD = GAME.replace("(1,2)", "(10,20)").replace("(40,40)", "(400,400)").replace("2,2'", "20,20'")


@pytest.fixture(scope="module")
def arena():
    return HoldemGameArena(cp.load_game(GAME))


@pytest.fixture(scope="module")
def tiny():
    return cp.load_algorithm("public_chance_mmd", **TINY)


@pytest.fixture(scope="module")
def after_3(arena, tiny):
    return tiny.step(arena, tiny.init(arena), 3)


def all_boards(sampler):
    count = sampler.board_weight.size
    return sampler.sample(np.arange(count), np.ones(count))


def random_policies(sampler, seed):
    rng, rows = np.random.default_rng(seed), sampler.rows
    sizes = [(sampler.first_round, rows.num_kinds), (sampler.second_round, rows.num_rows)]
    return [
        sampler.match_regrets(rng.normal(size=(lines.num_lines, size)) + 0.5, lines)
        for lines, size in sizes
    ]


def test_mean_opponent_reach_is_that_of_the_betting_history(arena, tiny):
    """The product of the opponent's probabilities along the history, hand by hand."""
    sampler = tiny.workspace(arena).sampler
    first, second = random_policies(sampler, 2)
    policy, sample = sampler.make_policy(first, second), all_boards(sampler)
    nodes = arena.betting.nodes
    for player in (0, 1):
        before, after = sampler.mean_opponent_reach(player, first, second, sample)
        for street, reach in enumerate((before, after)):
            decisions = [
                number
                for number, node in enumerate(nodes)
                if node.kind < FOLD and node.state.street == street
            ]
            for decision, number in enumerate(decisions):
                expected = np.zeros(reach.shape[1])
                for board in range(reach.shape[1]):
                    if nodes[number].kind == player:
                        hands = _opponent_reach(arena, policy, number, board, 1 - player)
                        expected[board] = hands.mean()
                np.testing.assert_allclose(reach[decision], expected, atol=1e-5)


def _opponent_reach(arena, policy, number, board, opponent):
    """Own reach [hands] of the opponent at a node, with the hands of its board."""
    nodes, betting = arena.betting.nodes, arena.betting
    street = nodes[number].state.street
    reach = np.ones(arena.num_hands(street))
    while True:
        if (parent := nodes[number].parent) < 0:
            parent = betting.block_parents[nodes[number].block]
            if parent < 0:
                return reach
            number = parent
            continue
        if nodes[parent].kind == opponent:
            action = number - nodes[parent].first_child
            if nodes[parent].state.street == street:
                reach *= policy.probabilities_at(parent, board if street else 0)[action]
            else:
                hand = arena.street_boards[1].parent_hand[board]
                reach *= policy.probabilities_at(parent, 0)[action][hand]
        number = parent


def test_with_exact_features_an_iteration_is_a_step_of_mirror_descent(monkeypatch):
    """One feature per row makes the ridge regression exact."""
    arena = HoldemGameArena(cp.load_game(contract.SMALL_HOLDEM), "float64")
    monkeypatch.setattr(module, "row_features", one_feature_per_row)
    settings = TINY | {"num_boards": 99, "ridge": 1e-4, "train_steps": 0, "max_logit": 1e6}
    algorithm = cp.load_algorithm("public_chance_mmd", temperature=2.0, **settings)
    workspace = algorithm.workspace(arena)
    sampler, sample = workspace.sampler, all_boards(workspace.sampler)
    memory = algorithm.step(arena, algorithm.init(arena), 2)
    before = _second_round_outputs(workspace, memory)
    policies = [
        algorithm.policy_of(sampler, memory.first_head, sampler.first_round),
        algorithm.policy_of(sampler, before, sampler.second_round),
    ]
    regret = np.zeros_like(before)
    sampler.second_round_regrets(0, *policies, sample, regret)
    reach = sampler.mean_opponent_reach(0, *policies, sample)[1]
    game, t = arena.game, 3
    regularisation = 2.0 * sum(game.blinds) / np.sqrt(t)
    if game.ante:
        regularisation = 2.0 * (sum(game.blinds) + 2 * game.ante) / np.sqrt(t)
    weight = algorithm.window / (t + algorithm.window)
    step_size = weight / ((1.0 - weight) * regularisation)
    algorithm.step(arena, memory, 1)
    after = _second_round_outputs(workspace, memory)
    for decision in np.flatnonzero(sampler.second_round.player == 0):
        first, count = sampler.second_round.decisions[decision, :2]
        lines = slice(first, first + count)
        advantage = regret[lines] / np.repeat(reach[decision], np.diff(sample.first))
        expected = (before[lines] + step_size * advantage) / (1.0 + step_size * regularisation)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(after[lines], expected, atol=0.01 * scale)


def _second_round_outputs(workspace, memory):
    module.set_features(workspace, memory.trunk)
    return module.apply_head(memory.head, workspace.features)


def test_learns_on_a_part_of_the_boards(arena, tiny):
    algorithm = replace(tiny, hidden_sizes=(32,), train_steps=60, num_boards=20)
    memory = algorithm.init(arena)
    uniform = cp.judge(arena, algorithm.policies(arena, memory)["current"]).exploitability
    memory = algorithm.step(arena, memory, 40)
    policies = algorithm.policies(arena, memory)
    assert list(policies) == ["current", "average", "network"]
    for name in ("current", "average"):
        assert cp.judge(arena, policies[name]).exploitability < 0.08 * uniform


def test_policies_do_not_depend_on_the_unit_of_the_chips(arena, tiny):
    other = HoldemGameArena(cp.load_game(TENFOLD))
    algorithm = replace(tiny, train_steps=0)  # training the trunk amplifies rounding
    policies = [
        algorithm.policies(each, algorithm.step(each, algorithm.init(each), 3))["current"]
        for each in (arena, other)
    ]
    judged = [cp.judge(policy.arena, policy) for policy in policies]
    np.testing.assert_allclose(10.0 * judged[0].values, judged[1].values, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(policies[0].weights, policies[1].weights, atol=0.02)


def test_logits_stay_within_the_bound(arena, tiny):
    memory = replace(tiny, max_logit=0.5).init(arena)
    memory = replace(tiny, max_logit=0.5).step(arena, memory, 3)
    assert 0.3 < np.abs(memory.first_head).max() <= 0.5


def test_same_seed_same_bits_and_another_seed_other_bits(arena, tiny, after_3):
    assert memories_equal(after_3, tiny.step(arena, tiny.init(arena), 3))
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


@pytest.mark.parametrize(
    "setting", ["temperature=0", "window=0", "max_logit=0", "temperature_power=-1"]
)
def test_bad_settings_are_refused(setting):
    with pytest.raises(cp.ConfigError, match=setting.partition("=")[0]):
        cp.load_algorithm(f"public_chance_mmd({setting})")
