"""Sampled regrets and averages are unbiased: proved by enumerating every block."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.tree.replay import number_augmented_actions
from counterplay.kernels.sampling import baselines, episodes, traversals
from tests.algorithms.mccfr.blocks import arena, chance_reach, every_block, kernels, scratch, table
from tests.conftest import game_tree
from tests.random_games import RandomGame

EPSILON = 0.3


def chance(k, p, *rest):
    k.chance_walk(p, 1.0, *rest)


def external(k, p, *rest):
    k.external_walk(p, 1.0, *rest)


def average_strategy(k, p, arena, table, scratch):
    rng = np.random.default_rng(5)  # an average so far that leaves some actions out
    before = rng.exponential(size=table.policy_sum.size)
    table.policy_sum[:] = before
    k.average_walk(p, 1.0, (0.2, 0.7, 0.1), arena, table, scratch)
    table.policy_sum[:] -= before


def average_strategy_with_probes(k, p, arena, table, scratch):
    rng = np.random.default_rng(5)
    before = rng.exponential(size=table.policy_sum.size)
    table.policy_sum[:] = before
    k.average_walk_with_probes(p, 1.0, (0.2, 0.7, 0.1), arena, table, scratch)
    table.policy_sum[:] -= before


def probing(k, p, *rest):
    k.sample_with_probes(p, EPSILON, 1.0, *rest)


def outcome(k, p, *rest):
    length = k.sample_episode(p, EPSILON, *rest)
    k.add_outcome_regrets(p, EPSILON, length, *rest)
    k.add_stochastic_average(p, 1.0, length, *rest)


def with_baseline(k, p, *rest):
    length = k.sample_episode(p, EPSILON, *rest)
    k.add_averages(p, 1.0, length, *rest)
    k.add_baseline_regrets(p, EPSILON, 1.0, length, *rest)
    k.update_decaying_baseline(p, 0.5, length, *rest)


SCHEMES = {
    "chance": (traversals, chance, "own"),
    "external": (traversals, external, "others"),
    "average_strategy": (traversals, average_strategy, "others"),
    "average_strategy_with_probes": (traversals, average_strategy_with_probes, "others"),
    "probing": (episodes, probing, "others"),
    "outcome": (episodes, outcome, "own"),
    "augmented_baseline": (baselines, with_baseline, "others"),
    "history_baseline": (baselines, with_baseline, "others"),
}

GAMES = [
    "kuhn_poker",
    "king_ace_poker(type_level=true)",  # deals that are not equally likely
    *(RandomGame(seed=seed, num_players=2, max_depth=5) for seed in (2, 4)),
    RandomGame(seed=14, num_players=2, max_depth=4, zero_sum=False),
    *(RandomGame(seed=seed, num_players=3, max_depth=5, zero_sum=False) for seed in (2, 11)),
    RandomGame(seed=13, num_players=3, max_depth=4),
]


def tree_of(game):
    return game_tree(game) if isinstance(game, str) else cp.build_tree(game)


def guesses(tree, scheme):
    """Slots of the kind that the scheme keeps, and arbitrary guesses."""
    if "baseline" not in scheme:
        return None, None
    slot = number_augmented_actions(tree)
    if "history" in scheme:
        slot = np.arange(tree.num_nodes * tree.num_players).reshape(-1, tree.num_players)
    return slot, np.random.default_rng(7).normal(size=slot.max() + 1, scale=5.0)


def expectation(tree, policy, scheme, p):
    """Sum of probabilities, expected regrets and average, expected squares of the regrets."""
    module, walk, _ = SCHEMES[scheme]
    slot, guess = guesses(tree, scheme)
    world = arena(tree, slot)
    total, regret, policy_sum = 0.0, 0.0, 0.0

    def run(pick):
        kept = table(tree, policy, guess)
        walk(kernels(module, pick), p, world, kept, scratch())
        assert (kept.policy[: tree.num_sequences] == policy.probabilities).all()
        return kept

    for probability, kept in every_block(run):
        total += probability
        regret = regret + probability * kept.regret
        policy_sum = policy_sum + probability * kept.policy_sum
    return total, regret, policy_sum


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_expected_regrets_are_the_exact_ones(game, scheme):
    tree = tree_of(game)
    policy = cp.random_policy(tree, seed=1)
    exact = cp.infoset_values(tree, policy)
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    reach = np.repeat(exact.reach, tree.num_actions) * policy.probabilities
    met, _ = chance_reach(tree)
    acts = tree.infoset >= 0
    often = np.bincount(tree.infoset[acts], met[acts], tree.num_infosets)
    often = np.repeat(often, tree.num_actions)
    for p in range(tree.num_players):
        total, regret, policy_sum = expectation(tree, policy, scheme, p)
        assert total == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(regret, np.where(owner == p, exact.regret, 0.0), atol=1e-12)
        # the average: own reach times policy, times something that does not change with policies
        own = SCHEMES[scheme][2] == "own" or (scheme.endswith("baseline") and tree.num_players > 2)
        if own or tree.num_players == 2:
            counted = owner == p if own else owner != p
            expected = np.where(counted, often * reach, 0.0)
            np.testing.assert_allclose(policy_sum, expected, atol=1e-12)


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_visits_keep_the_average_of_any_number_of_players(game):
    tree = tree_of(game)
    policy = cp.random_policy(tree, seed=2)
    reach = cp.infoset_values(tree, policy).reach
    met, uniform = chance_reach(tree)
    acts = tree.infoset >= 0
    often = met * uniform[np.arange(tree.num_nodes), np.maximum(tree.player, 0)]
    often = np.bincount(tree.infoset[acts], often[acts], tree.num_infosets)
    expected = np.repeat(often * reach, tree.num_actions) * policy.probabilities
    world = arena(tree)
    policy_sum = 0.0
    for p in range(tree.num_players):  # one player's episode at a time: blocks multiply otherwise

        def run(pick, p=p):
            kept = table(tree, policy)
            kernels(traversals, pick).add_average_episode(p, 1.0, world, kept, scratch())
            return kept.policy_sum

        policy_sum = policy_sum + sum(weight * result for weight, result in every_block(run))
    np.testing.assert_allclose(policy_sum, expected, atol=1e-12)


def exact_guesses(tree, policy):
    """Values of every node for every player."""
    value = np.zeros((tree.num_nodes, tree.num_players))
    value[tree.terminals] = tree.utility
    for n in range(tree.num_nodes - 1, -1, -1):
        first, last = tree.child_offset[n : n + 2]
        if first < last:
            weight = tree.chance[first:last]
            if tree.player[n] >= 0:
                start = tree.offset[tree.infoset[n]]
                weight = policy.probabilities[start : start + last - first]
            value[n] = weight @ value[first:last]
    return value


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_exact_guesses_leave_only_the_variance_of_where_the_episode_goes(game):
    """With guesses that are right the value at the root does not vary, and a regret varies as

        sum over h of cf(h)^2 / q(h) * (u(ha) - u(h))^2 - r(I, a)^2

    where q is the probability of sampling h: nothing below h adds to it."""
    tree = tree_of(game)
    policy = cp.random_policy(tree, seed=3)
    value = exact_guesses(tree, policy)
    slot = np.arange(value.size).reshape(value.shape)
    world = arena(tree, slot)
    exact = cp.infoset_values(tree, policy).regret
    for p in range(tree.num_players):

        def run(pick, p=p):
            kept, room = table(tree, policy, value.ravel()), scratch()
            k = kernels(baselines, pick)
            length = k.sample_episode(p, EPSILON, world, kept, room)
            return kept.regret, k.add_baseline_regrets(p, EPSILON, 1.0, length, world, kept, room)

        squares = 0.0
        for probability, (regret, root) in every_block(run):
            assert root == pytest.approx(value[0, p], abs=1e-12)
            squares = squares + probability * regret**2
        expected = np.zeros(tree.num_sequences)
        others, own = np.ones(tree.num_nodes), np.ones(tree.num_nodes)
        for n in range(tree.num_nodes):
            first, last = tree.child_offset[n : n + 2]
            if first == last:
                continue
            if tree.player[n] < 0:
                others[first:last], own[first:last] = others[n] * tree.chance[first:last], own[n]
                continue
            start = tree.offset[tree.infoset[n]]
            here = slice(start, start + last - first)
            plays = policy.probabilities[here]
            if tree.player[n] != p:
                others[first:last], own[first:last] = others[n] * plays, own[n]
                continue
            gains = value[first:last, p] - value[n, p]
            expected[here] += others[n] / own[n] * gains**2
            explores = EPSILON / (last - first) + (1.0 - EPSILON) * plays
            others[first:last], own[first:last] = others[n], own[n] * explores
        mine = np.repeat(tree.infoset_player == p, tree.num_actions)
        variance = np.where(mine, expected - exact**2, 0.0)
        np.testing.assert_allclose(squares - np.where(mine, exact**2, 0.0), variance, atol=1e-11)
