"""Sizes, reach and values of nodes against plain walks through the rules."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.arenas.tree.node_values import (
    compute_node_values,
    public_history_hashes,
    subtree_sizes,
)
from counterplay.core.game import CHANCE, TERMINAL
from tests.conftest import game_tree
from tests.random_games import random_games


def walk(game, policy, state, reach, past, found):
    """Visit all nodes: size, reach, values and actions of players, by history."""

    def visit(state, history, reach, past):
        player, size, values = game.player(state), 1, np.zeros(game.num_players)
        if player == TERMINAL:
            values = np.array(game.utilities(state), float)
        elif player == CHANCE:
            odds = game.chance_outcomes(state)
        else:
            row = policy[player, game.infoset_key(state, player)]
            names = [game.action_name(state, a) for a in game.actions(state)]
            odds = [(a, row[name]) for a, name in zip(game.actions(state), names, strict=True)]
        if player != TERMINAL:
            for action, p in odds:
                after = past if player == CHANCE else (*past, (player, action))
                below = visit(game.next_state(state, action), (*history, action), reach * p, after)
                size, values = size + below[0], values + p * below[1]
        found[history] = (size, reach, values, past)
        return size, values

    visit(state, (), reach, past)


@given(random_games(), st.integers(0, 100))
def test_nodes_by_walking_the_rules(game, seed):
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    found: dict = {}
    walk(game, policy, game.initial_state(), 1.0, (), found)
    sizes, measured = subtree_sizes(tree), compute_node_values(tree, policy.probabilities)
    signature, numbers = public_history_hashes(tree), {}
    for node in range(tree.num_nodes):
        history, above = [], node
        while tree.parent[above] >= 0:
            history.append(int(tree.action[above]))
            above = int(tree.parent[above])
        size, reach, values, past = found[tuple(history[::-1])]
        assert sizes[node] == size
        assert measured.reach[node] == approx(reach, abs=1e-12)
        assert measured.value[node] == approx(values, abs=1e-12)
        assert numbers.setdefault(past, signature[node]) == signature[node]
    assert len(set(numbers.values())) == len(numbers)


@pytest.mark.parametrize("spec", ["leduc_poker", "liars_dice(dice_sides=3)"])
def test_the_root_is_the_game(spec):
    tree = game_tree(spec)
    policy = cp.random_policy(tree, 3)
    measured = compute_node_values(tree, policy.probabilities)
    assert subtree_sizes(tree)[0] == tree.num_nodes
    assert measured.reach[tree.terminals].sum() == approx(1.0)
    assert measured.value[0] == approx(cp.expected_values(tree, policy), abs=1e-12)
