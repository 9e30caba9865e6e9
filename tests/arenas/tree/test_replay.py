"""From a tree back to states of its rules."""

from __future__ import annotations

from hypothesis import given, settings

import counterplay as cp
from counterplay.arenas.tree.replay import (
    first_infoset_nodes,
    first_infoset_states,
    iter_states,
    node_history,
)
from tests.random_games import random_games


@given(random_games())
@settings(max_examples=20)
def test_states_stand_in_level_order(game):
    tree = cp.build_tree(game)
    for node, state in enumerate(iter_states(tree)):
        assert state.history == tuple(node_history(tree, node))
        assert game.player(state) == tree.player[node]
    for infoset, state in enumerate(first_infoset_states(tree)):
        player = int(tree.infoset_player[infoset])
        assert game.infoset_key(state, player) == tree.infoset_keys[infoset]
        assert state.history == tuple(node_history(tree, int(first_infoset_nodes(tree)[infoset])))
