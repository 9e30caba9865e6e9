"""Values and gains on dealt cards, against enumerated deals and exact gains."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.preflop.arena import PreflopArena
from counterplay.arenas.preflop.dealt_gains import (
    average_leaf_values,
    list_leaf_orders,
    measure_dealt_gains,
)
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.errors import ConfigError, RunError
from tests.arenas.preflop.test_arena import GAMES


def all_deals(deck, num_seats):
    """Every deal: hands [N, P, 2] and boards [N, B]."""
    deals = [((), ())]
    for _ in range(num_seats):
        deals = [
            ((*hands, hand), used | set(hand))
            for hands, used in ((h, set(u)) for h, u in deals)
            for hand in map(tuple, deck.hand_cards.tolist())
            if not used & set(hand)
        ]
    rows = [
        (hands, board)
        for hands, used in deals
        for board in combinations([c for c in deck.cards.tolist() if c not in used], deck.num_board)
    ]
    boards = np.array([board for _, board in rows], np.int64).reshape(len(rows), deck.num_board)
    return np.array([hands for hands, _ in rows]), boards


@pytest.mark.parametrize("name", GAMES)
def test_all_deals_give_the_enumerated_values(name):
    arena = PreflopArena(PreflopGame.from_dict(GAMES[name]))
    policy = cp.random_policy(arena, 1)
    reach = arena.edge_reach(np.append(policy.probabilities, 1.0))
    hands, boards = all_deals(arena.deck, arena.num_players)
    leaves = list_leaf_orders(arena.tree, arena.leaf_edges)
    values = average_leaf_values(arena, leaves, hands, boards, reach)
    for seat in range(arena.num_players):
        exact = arena.deals.leaf_values(seat, reach)
        assert values[seat] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("name", ["two seats, raises", "three seats, raises, ICM"])
def test_intervals_hold_the_exact_values_and_gains(name):
    arena = PreflopArena(PreflopGame.from_dict(GAMES[name]))
    policy = cp.random_policy(arena, 4)
    exact = cp.judge(arena, policy)
    gains = exact.best_values - exact.values
    dealt = measure_dealt_gains(policy, num_deals=40_000, seed=1)
    assert (np.abs(dealt.values - exact.values) < 2.0 * dealt.value_margins + 1e-12).all()
    assert (dealt.gains - 2.0 * dealt.gain_margins <= gains).all()
    assert (dealt.gains + 2.0 * dealt.gain_margins >= 0.98 * gains).all()
    assert dealt.upper_gains == pytest.approx(gains, rel=0.05)


def test_the_seed_decides_the_deals():
    policy = cp.random_policy(PreflopArena(PreflopGame.from_dict(GAMES["three seats"])), 4)
    first, again, other = (measure_dealt_gains(policy, 400, seed).values for seed in (3, 3, 4))
    assert (first == again).all() and (first != other).any()


def test_solved_flops_are_refused_and_a_stop_ends_the_run():
    policy = cp.uniform_policy(PreflopArena(PreflopGame.from_dict(GAMES["three seats"])))
    assert measure_dealt_gains(policy, 41).num_deals == 80
    factors = np.ones((3, 2, 169))
    game = PreflopGame.from_dict({"stacks": [9, 9]})
    with pytest.raises(ConfigError, match="solved flops cannot be dealt"):
        measure_dealt_gains(cp.uniform_policy(PreflopArena(game, factors)), 40)
    with pytest.raises(RunError, match="stopped before"):
        measure_dealt_gains(policy, 40, stop=lambda: True)
