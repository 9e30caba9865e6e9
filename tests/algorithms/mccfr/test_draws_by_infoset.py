"""External sampling in which an infoset keeps its action for a whole traversal."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.algorithms.mccfr.rules_backend import python_kernels
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.kernels.sampling import traversals
from counterplay.kernels.sampling.primitives import draw_uniform, hash_uniform, seed_stream
from tests.algorithms.mccfr.blocks import arena, every_block, scratch, table
from tests.conftest import game_tree
from tests.random_games import RandomGame

GAMES = ["kuhn_poker", "goofspiel(num_cards=3,imp_info=true)", RandomGame(seed=2, max_depth=5)]


@pytest.mark.parametrize("game", GAMES, ids=str)
def test_expected_regrets_are_the_exact_ones(game):
    """Over all pure policies of chance and the opponent, with their probabilities."""
    tree = game_tree(game) if isinstance(game, str) else cp.build_tree(game)
    policy = cp.random_policy(tree, seed=1)
    exact = cp.infoset_values(tree, policy)
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    for p in range(2):

        def run(pick, p=p):
            actions = {}  # of the opponent's infosets in this traversal

            def choose(policy, first, count, epsilon, rng):
                return pick([policy[first + k] for k in range(count)])

            def choose_once(policy, first, count, epsilon, x):
                if first not in actions:
                    actions[first] = choose(policy, first, count, epsilon, None)
                return actions[first]

            space = python_kernels(
                traversals,
                sample_action=choose,
                invert_cdf=choose_once,
                hash_uniform=lambda bits, first: 0.0,
            )
            memory = table(tree, policy)
            walk = SimpleNamespace(**space).external_walk_by_bits
            walk(p, 1.0, 1, arena(tree), memory, scratch())
            return memory

        total, regret, policy_sum = 0.0, 0.0, 0.0
        for probability, memory in every_block(run):
            total += probability
            regret = regret + probability * memory.regret
            policy_sum = policy_sum + probability * memory.policy_sum
        assert total == approx(1.0, abs=1e-12)
        np.testing.assert_allclose(regret, np.where(owner == p, exact.regret, 0.0), atol=1e-12)
        assert not policy_sum[owner == p].any() and policy_sum[owner != p].all()


def plain_traversal(tree, seed, p):
    """Return the regrets of one traversal under uniform play, by recursion with a dictionary."""
    rng, regret, actions = np.zeros(1, np.uint64), np.zeros(tree.num_sequences), {}
    seed_stream(seed, 1, p, rng)
    bits = rng[0]

    def walk(node):
        player, first = int(tree.player[node]), int(tree.child_offset[node])
        count = int(tree.child_offset[node + 1]) - first
        if player == TERMINAL:
            return tree.utility[np.searchsorted(tree.terminals, node), p]
        if player == CHANCE:
            cdf = np.cumsum(tree.chance[first : first + count])
            return walk(first + int((cdf[:-1] <= draw_uniform(rng)).sum()))
        infoset = tree.infoset[node]
        start = int(tree.offset[infoset])
        if player != p:
            if infoset not in actions:
                actions[infoset] = int(hash_uniform(bits, start) * count)
            return walk(first + actions[infoset])
        values = np.array([walk(first + k) for k in range(count)])
        regret[start : start + count] += values - values.mean()
        return values.mean()

    walk(0)
    return regret


def test_a_traversal_equals_plain_recursion():
    tree = game_tree("goofspiel(num_cards=3,imp_info=true)")
    algorithm = cp.algorithms.ExternalSampling(draw_by_infoset=True)
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    for seed in range(5):
        memory = algorithm.step(tree, algorithm.init(tree, seed), 1)
        expected = plain_traversal(tree, memory.seed[0], 0)
        assert np.abs(expected).max() > 0.1
        assert memory.regret[0][owner == 0] == approx(expected[owner == 0], abs=1e-12)


def test_all_actions_meet_the_same_reply():
    """In rock paper scissors a traversal's regrets are those against a single action."""
    tree = game_tree("rock_paper_scissors")
    payoff = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    columns = [tuple(column - column.mean()) for column in payoff.T]
    replies = {True: set(), False: set()}
    for draw_by_infoset, seen in replies.items():
        algorithm = cp.algorithms.ExternalSampling(draw_by_infoset=draw_by_infoset)
        for seed in range(40):
            memory = algorithm.step(tree, algorithm.init(tree, seed), 1)
            seen.add(tuple(np.round(memory.regret[0][:3], 9)))
    assert replies[True] == set(columns)
    assert not replies[False] <= set(columns)


def test_both_ways_solve_goofspiel():
    tree = game_tree("goofspiel(num_cards=3,imp_info=true)")
    for draw_by_infoset in (False, True):
        algorithm = cp.algorithms.ExternalSampling(draw_by_infoset=draw_by_infoset)
        result = cp.solve(tree, algorithm, iterations=20_000)
        assert result.exploitability < 0.02  # uniform play: 2/3
