"""Betting trees as arrays beside a walk by the readable rules."""

from __future__ import annotations

import numpy as np
import pytest

from counterplay.arenas.poker.betting_tree import END, build_betting_arrays, find_child
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError
from counterplay.registry import load_game

GAMES = (
    "no_limit_holdem(stack=1000,sizes='0.5,1,a;a')",
    "no_limit_holdem(players=3,stack=300,sizes='a')",
    "poker(players=3,blinds=(1,2,0),stacks=(7,20,11),opens=(2,0),raises=(),raise_caps=(),"
    "sizes='1,a',board=(0,3))",
)


def deal(game, state):
    while state.to_act == CHANCE:
        state = game.next_state(state, len(state.cards))
    return state


@pytest.mark.parametrize("spec", GAMES)
def test_tree_equals_a_walk_by_the_rules(spec):
    game = load_game(spec)
    tree = build_betting_arrays(game)
    pending = [(0, deal(game, game.initial_state()))]
    count = 0
    while pending:
        node, state = pending.pop()
        count += 1
        assert tree.player[node] == (END if state.to_act == TERMINAL else state.to_act)
        assert tuple(tree.chips[node]) == state.contributions
        assert tree.left[node] == sum(1 << p for p in state.players_left)
        if state.to_act == TERMINAL:
            assert tree.count[node] == 0
            continue
        assert tree.street[node] == state.round
        actions = game.actions(state)
        first = int(tree.first[node])
        assert tuple(tree.action[first : first + tree.count[node]]) == actions
        for k, action in enumerate(actions):
            assert tree.parent[first + k] == node
            assert find_child(tree, node, action) == first + k
            pending.append((first + k, deal(game, game.next_state(state, action))))
    assert count == len(tree.player)
    assert find_child(tree, 0, 12345) == -1


def test_parents_come_before_children():
    tree = build_betting_arrays(load_game(GAMES[0]))
    assert (tree.parent[1:] < np.arange(1, len(tree.parent))).all()


def test_large_trees_are_refused():
    game = load_game("no_limit_holdem(stack=1000)")
    with pytest.raises(ConfigError, match="more than 1,000 nodes: offer fewer sizes"):
        build_betting_arrays(game, max_nodes=1000)
