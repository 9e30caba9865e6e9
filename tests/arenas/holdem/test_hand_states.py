"""Policies of rules on hold'em arenas: tables of infosets, tables with buckets, agents."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.hand_states import HandStates
from tests.play.poker.class_buckets import (
    class_buckets,
    game_with_buckets,
    random_policy,
    use_class_buckets,
)

SMALL_GAME = (
    "poker(blinds=(1,1),stacks=(9,9),opens=(0,0),raises=(2,2),raise_caps=(1,1),ranks=2,hole=1,"
    "board=(0,1))"
)
ONE_CARD_GAME = (
    "poker(board=(0,1),raise_caps=(1,1),raises=(10,10),opens=(1,0))"  # 13 canonical boards
)


def random_rows(tree, seed=0):
    policy = cp.random_policy(tree, seed)
    return {(player, key): row for player, key, row in policy.items()}


def apart(spec):
    return cp.holdem.HoldemGameArena(cp.load_game(spec), precision="float64", isomorphism=False)


def test_states_are_those_of_the_rules():
    """A state at a node has its history, player, hand and board, as replaying the rules gives."""
    arena = apart(SMALL_GAME)
    game, states = arena.game, HandStates(arena)
    count = 0
    for node, board, cards in states.public_states():
        player, street = arena.betting.nodes[node].kind, arena.betting.nodes[node].state.street
        hand = tuple(arena.hand_cards(street, board)[0].tolist())
        state = states.hand_state(node, cards, hand)
        assert game.player(state) == player and game.hole_cards(state, player) == hand
        assert state.history == arena.public_history(node, board)
        names = [game.action_name(state, action) for action in game.actions(state)]
        assert tuple(names) == arena.betting.nodes[node].actions
        count += 1
    assert count == arena.num_pieces


def test_a_table_of_rules_is_judged_as_on_the_tree():
    tree, arena = cp.build_tree(SMALL_GAME), apart(SMALL_GAME)
    policy = cp.TabularPolicy(cp.load_game(SMALL_GAME), random_rows(tree), complete=True)
    on_tree, on_hands = cp.judge(tree, policy), cp.judge(arena, policy)
    assert on_hands.values == pytest.approx(on_tree.values, abs=1e-9)
    assert on_hands.best_values == pytest.approx(on_tree.best_values, abs=1e-9)


def test_progress_counts_all_infosets():
    arena, seen = apart(SMALL_GAME), []
    cp.TabularPolicy(cp.load_game(SMALL_GAME)).tabulate(arena, seen.append)
    assert seen[-1] == HandStates(arena).num_rows == arena.num_infosets


def test_bad_policies_are_refused():
    tree, game = cp.build_tree(SMALL_GAME), cp.load_game(SMALL_GAME)
    rows = random_rows(tree)
    merged = cp.holdem.HoldemGameArena(game, precision="float64")
    with pytest.raises(cp.ConfigError, match="isomorphism=False"):
        cp.TabularPolicy(game, rows).tabulate(merged)
    incomplete = dict(list(rows.items())[:-1])
    with pytest.raises(cp.ConfigError, match="has no infoset"):
        cp.TabularPolicy(game, incomplete, complete=True).tabulate(apart(SMALL_GAME))
    with pytest.raises(cp.ConfigError, match="does not fit"):
        cp.TabularPolicy(cp.load_game(ONE_CARD_GAME), rows).tabulate(apart(SMALL_GAME))

    class TwoNumbers:
        spec, is_suit_invariant = SMALL_GAME, True

        def action_probabilities(self, state, player):
            return [0.5]

    TwoNumbers.spec = tree.spec
    with pytest.raises(cp.ConfigError, match="the policy must answer with"):
        merged.tabulate(TwoNumbers())


def test_a_policy_with_buckets_is_judged_on_merged_boards(monkeypatch):
    """The table has at every hand the row of its bucket."""
    use_class_buckets(monkeypatch)
    game = game_with_buckets(ONE_CARD_GAME)
    policy = random_policy(game)
    arena = cp.holdem.HoldemGameArena(cp.load_game(ONE_CARD_GAME), precision="float64")
    seen: list[int] = []
    table, states = policy.tabulate(arena, seen.append), HandStates(arena)
    assert seen[-1] == states.num_rows
    for node, board, _ in list(states.public_states())[::11]:
        street = arena.betting.nodes[node].state.street
        low, high = np.sort(arena.hand_cards(street, board), axis=1).T
        buckets = class_buckets(street)[high * (high - 1) // 2 + low]
        row = policy.tables.find_node(states.node_states[node])
        expected = policy.node_probabilities(row)[buckets].T
        assert table.probabilities_at(node, board) == pytest.approx(expected, abs=1e-6)
    assert cp.judge(arena, policy).exploitability > 0.0
    with pytest.raises(cp.ConfigError, match="hold'em arena only"):
        policy.tabulate(cp.build_tree("kuhn_poker"))
