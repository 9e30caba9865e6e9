"""Nodes of hold'em games from the first card: policies, EVs and equities hand by hand."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_inspection import find_game_node, inspect_game_node
from counterplay.core.cards import card_name
from tests.arenas.holdem.test_game_arena import LEDUC


@cache
def leduc_policy(isomorphism=True):
    arena = HoldemGameArena(cp.load_game(LEDUC), "float64", isomorphism)
    return cp.solve(arena, cp.algorithms.CFRPlus(), iterations=50).policy


def test_values_at_the_root_are_those_of_the_policy():
    policy = leduc_policy()
    view = inspect_game_node(policy)
    share = view.weight * view.opponent_mass
    # from the node on, an ante of one chip is won back
    assert view.value @ share / share.sum() - 1.0 == pytest.approx(
        cp.judge(policy.arena, policy).values[0]
    )
    assert view.hands == tuple(map(card_name, policy.arena.game.deck)) and view.pot == 2
    assert view.equity @ share / share.sum() == pytest.approx(0.5)
    np.testing.assert_allclose(view.policy.sum(axis=0), 1.0)
    assert (view.action_value * view.policy).sum(axis=0) == pytest.approx(view.value)


def test_equities_before_the_flop_by_enumeration():
    game, view = cp.load_game(LEDUC), inspect_game_node(leduc_policy())
    for hand, equity in zip(game.deck, view.equity, strict=True):
        total = count = 0
        for other in game.deck:
            for board in game.deck:
                if len({hand, other, board}) == 3:
                    own, opposing = ((c // 4 == board // 4, c // 4) for c in (hand, other))
                    total += (own > opposing) + 0.5 * (own == opposing)
                    count += 1
        assert equity == pytest.approx(total / count)


def test_isomorphic_boards_show_the_same_node_with_suits_renamed():
    merged, separate = leduc_policy(), leduc_policy(isomorphism=False)
    for history in ("cc|2c:", "cc|2d:", "rc|3d:c"):
        views = [inspect_game_node(policy, history) for policy in (merged, separate)]
        rows = [{row["hand"]: row for row in view.hand_rows()} for view in views]
        assert views[0].board == views[1].board == history[3:5]
        assert rows[0].keys() == rows[1].keys()
        for hand, row in rows[0].items():
            assert list(row.values())[1:] == pytest.approx(list(rows[1][hand].values())[1:])


@pytest.mark.parametrize(
    ("history", "message"),
    [
        ("x", "'x' is not possible there; legal: c, r"),
        ("c|2c:", "no card is dealt before '2c'"),
        ("cc|9c:", "'9c' cannot be dealt there"),
        ("rf", "no player acts after 'rf'"),
    ],
)
def test_wrong_histories_are_refused(history, message):
    with pytest.raises(cp.ConfigError, match=message):
        inspect_game_node(leduc_policy(), history)


def test_histories_of_the_arena_are_found_again():
    arena = leduc_policy().arena
    for number, node in enumerate(arena.betting.nodes):
        for board in range(arena.streets[node.state.street].num_boards):
            location = find_game_node(arena, arena.public_history(number, board))
            assert location[:2] == (number, board)
