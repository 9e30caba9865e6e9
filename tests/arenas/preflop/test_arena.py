"""The preflop arena against ordinary trees of the same games, where every card is dealt."""

from __future__ import annotations

from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.preflop import deals
from counterplay.arenas.preflop.arena import PreflopArena
from counterplay.arenas.preflop.betting import (
    PAIR_PLACES,
    STRICT_PLACES,
    WEAK_PLACES,
    leaf_utilities,
)
from counterplay.arenas.preflop.deals import (
    SAMPLES_PER_TRIPLE,
    EnumeratedDeals,
    ViewDeals,
    order_table,
)
from counterplay.arenas.preflop.deck import Deck
from counterplay.arenas.preflop.equity_tables import equity_table
from counterplay.arenas.preflop.game import PreflopGame
from tests.arenas.preflop.plain_preflop import PlainPreflop

RAISES = {"push_fold": False, "raises": [["2x"], ["a"]], "limp": True}
GAMES = {
    "two seats": {"stacks": [5, 5], "deck": {"ranks": 4, "suits": 2, "board": 2}},
    "two seats, antes and rake": {
        "stacks": [6, 4],
        "ante": 0.25,
        "rake": 0.1,
        "rake_cap": 0.5,
        "deck": {"ranks": 3, "suits": 2, "board": 2},
    },
    "two seats, raises": {
        "stacks": [7, 9],
        "betting": RAISES,
        "deck": {"ranks": 3, "suits": 2, "board": 1},
    },
    "three seats": {"stacks": [5, 5, 5], "deck": {"ranks": 3, "suits": 2, "board": 0}},
    "three seats, ICM": {
        "stacks": [3, 5, 8],
        "payouts": [50, 30, 20],
        "deck": {"ranks": 3, "suits": 2, "board": 0},
    },
    "three seats, ICM, straddle": {
        "stacks": [3, 9, 8],
        "payouts": [70, 30],
        "straddle": 2,
        "big_blind_ante": 1,
        "deck": {"ranks": 4, "suits": 2, "board": 1},
    },
    "three seats, raises, ICM": {
        "stacks": [6, 4, 8],
        "payouts": [50, 30, 20],
        "betting": RAISES,
        "deck": {"ranks": 3, "suits": 2, "board": 0},
    },
}


@cache
def arena_and_tree(name):
    arena = PreflopArena(PreflopGame.from_dict(GAMES[name]))
    return arena, cp.build_tree(PlainPreflop(arena))


def tree_policy(tree, policy):
    """The policy of an arena at the infosets of a tree with the same keys."""
    return cp.Policy.from_dict(
        tree, {tree.infoset_key(i): policy[tree.infoset_key(i)] for i in range(tree.num_infosets)}
    )


@pytest.mark.parametrize("name", GAMES)
def test_values_and_best_responses_equal_the_tree(name):
    arena, tree = arena_and_tree(name)
    for seed in range(3):
        policy = cp.random_policy(arena, seed)
        ours, plain = cp.judge(arena, policy), cp.judge(tree, tree_policy(tree, policy))
        assert ours.values == pytest.approx(plain.values, abs=1e-11)
        assert ours.best_values == pytest.approx(plain.best_values, abs=1e-11)


@pytest.mark.parametrize("name", GAMES)
def test_iterations_equal_those_on_the_tree(name):
    arena, tree = arena_and_tree(name)
    ours = cp.solve(arena, "cfr_plus", iterations=20).policy
    plain = cp.solve(tree, "cfr_plus", iterations=20).policy
    difference = tree_policy(tree, ours).probabilities - plain.probabilities
    assert np.abs(difference).max() < 1e-6


@pytest.mark.parametrize("name", ["three seats", "three seats, ICM"])
def test_equilibrium_of_three_seats_has_no_gain_on_the_tree(name):
    arena, tree = arena_and_tree(name)
    policy = cp.solve(arena, "pdcfr_plus", iterations=3000).policy
    judgement = cp.judge(tree, tree_policy(tree, policy))
    assert (judgement.best_values - judgement.values).max() < 1e-6


def test_small_decks_are_enumerated_and_two_seats_are_exact():
    assert isinstance(arena_and_tree("three seats")[0].deals, EnumeratedDeals)
    assert isinstance(arena_and_tree("two seats")[0].deals, ViewDeals)
    assert arena_and_tree("two seats")[0].deals.note == ""


def hand_views(deck):
    """For a hand of each class: the hands beside it [n], and which two of them are disjoint."""
    views = []
    for a in range(deck.num_classes):
        own = deck.hand_bits[np.flatnonzero(deck.hand_class == a)[0]]
        beside = np.flatnonzero((deck.hand_bits & own) == 0)
        bits = deck.hand_bits[beside]
        views.append((deck.hand_class[beside], (bits[:, None] & bits) == 0))
    return views


def pair_ratio(deck, view, first, second):
    """The probability that two seats get there with disjoint hands, over that of separate deals."""
    classes, disjoint = view
    x, y = first[classes], second[classes]
    return (x @ disjoint @ y) / disjoint.sum() / (x.mean() * y.mean())


def plain_view_value(arena, seat, policy_reach):
    """A seat's expected utility by the definition of `ViewDeals`, class by class."""
    deck, game, tree = arena.deck, arena.preflop_game, arena.tree
    table, orders = equity_table(deck), order_table(deck)
    pairs = table.class_pairs
    meets = pairs / pairs.sum(axis=1, keepdims=True)
    prior = deck.class_sizes / deck.num_hands
    num_deals = np.maximum(pairs * table.num_boards, 1)
    win, tie = table.class_wins / num_deals, table.class_ties / num_deals
    classes, total = range(deck.num_classes), 0.0
    views = hand_views(deck)
    for leaf in tree.leaves:
        reach = [policy_reach(leaf.last[p]) for p in range(game.num_seats)]
        others = [p for p in range(game.num_seats) if p != seat]
        removal = [
            np.prod(
                [pair_ratio(deck, views[a], reach[p], reach[q]) for p, q in combinations(others, 2)]
            )
            for a in classes
        ]
        members = leaf.contenders
        places = {1: ((),), 2: PAIR_PLACES, 3: STRICT_PLACES}[len(members)]
        utility = leaf_utilities(game, leaf, places)[:, seat]

        def chances(hands, members=members):
            if len(members) == 1:
                return np.ones(1)
            if len(members) == 2:
                a, b = hands
                return np.array([win[a, b], tie[a, b], 1.0 - win[a, b] - tie[a, b]])
            return orders[hands]

        outside = [p for p in range(game.num_seats) if p != seat and p not in members]
        inside = [p for p in members if p != seat]
        if seat not in members and len(members) > 1:
            mass = np.zeros(len(places))
            for hands in product(classes, repeat=len(members)):
                weight = prior[hands[0]] * np.prod(
                    [reach[p][h] for p, h in zip(members, hands, strict=True)]
                )
                for other in hands[1:]:
                    weight *= meets[hands[0], other]
                mass += weight * chances(hands)
            mean = utility @ mass / mass.sum()
        for a in classes:
            weight = prior[a] * reach[seat][a] * removal[a]
            for p in outside:
                weight *= meets[a] @ reach[p]
            if seat not in members:
                for p in inside:
                    weight *= meets[a] @ reach[p]
                total += weight * (mean if len(members) > 1 else utility[0])
                continue
            for hands in product(classes, repeat=len(inside)):
                by_seat = {seat: a, **dict(zip(inside, hands, strict=True))}
                chance = np.prod([meets[a, by_seat[p]] * reach[p][by_seat[p]] for p in inside])
                outcome = utility @ chances(tuple(by_seat[p] for p in members))
                total += weight * chance * outcome
    return total


@pytest.mark.parametrize("deck", [{"ranks": 4, "suits": 3, "board": 1}, {"ranks": 3, "suits": 4}])
def test_reach_of_leaves_is_exact_with_three_seats(deck):
    """Card removal among two opponents is exact; only showdowns beside a third hand are not."""
    data = {"stacks": [5, 7, 6], "betting": RAISES, "deck": {"board": 0} | deck}
    arena = PreflopArena(PreflopGame.from_dict(data))
    assert isinstance(arena.deals, EnumeratedDeals)
    views = ViewDeals(arena.tree, arena.leaf_edges, arena.deck)
    alone = [z for z, leaf in enumerate(arena.tree.leaves) if len(leaf.contenders) == 1]
    for number in range(2):  # the second time, ratios are there already
        reach = arena.edge_reach(np.append(cp.random_policy(arena, number).probabilities, 1.0))
        for seat in range(3):
            exact = arena.deals.leaf_probabilities(seat, reach)
            assert views.leaf_probabilities(seat, reach) == pytest.approx(exact, abs=1e-8)
            values = views.leaf_values(seat, reach)[alone]
            assert values == pytest.approx(arena.deals.leaf_values(seat, reach)[alone], abs=1e-14)


@pytest.mark.parametrize("payouts", [None, [50, 30, 20]])
def test_four_seats_equal_the_stated_approximation(payouts):
    data = {"stacks": [4, 6, 5, 8], "deck": {"ranks": 3, "suits": 4, "board": 1}}
    arena = PreflopArena(PreflopGame.from_dict(data | ({"payouts": payouts} if payouts else {})))
    policy = cp.random_policy(arena, 5)

    def reach(edge):
        node, action = edge
        if node < 0:
            return np.ones(arena.deck.num_classes)
        width = len(arena.tree.nodes[node].actions)
        first = arena.node_sequence[node]
        part = policy.probabilities[first : first + width * arena.deck.num_classes]
        return part.reshape(-1, width)[:, action]

    values = cp.judge(arena, policy).values
    expected = [plain_view_value(arena, seat, reach) for seat in range(4)]
    assert values == pytest.approx(expected, abs=1e-5)  # orders are stored in 32 bits


def test_winner_takes_all_is_the_chip_game():
    data = {"stacks": [5, 7, 4], "deck": {"ranks": 3, "suits": 2, "board": 0}}
    chips = PreflopArena(PreflopGame.from_dict(data))
    prizes = PreflopArena(PreflopGame.from_dict(data | {"payouts": [16]}))
    policy = cp.random_policy(chips, 1)
    other = cp.Policy(prizes, policy.probabilities)
    ours, theirs = cp.judge(chips, policy), cp.judge(prizes, other)
    assert theirs.values - [5, 7, 4] == pytest.approx(ours.values, abs=1e-12)
    assert theirs.best_values - [5, 7, 4] == pytest.approx(ours.best_values, abs=1e-12)


def test_scaling_all_chips_scales_values_only():
    data = {"stacks": [5, 7], "deck": {"ranks": 4, "suits": 2, "board": 3}}
    small = PreflopArena(PreflopGame.from_dict(data))
    large = PreflopArena(
        PreflopGame.from_dict(data | {"stacks": [500, 700], "small_blind": 50, "big_blind": 100})
    )
    policies = [cp.solve(arena, "cfr_plus", iterations=30).policy for arena in (small, large)]
    assert policies[0].probabilities == pytest.approx(policies[1].probabilities, abs=1e-9)
    values = [cp.judge(policy).values for policy in policies]
    assert values[1] == pytest.approx(100.0 * values[0], abs=1e-8)


def test_equal_prizes_leave_nothing_to_gain():
    data = {"stacks": [5, 7, 4], "payouts": [1, 1, 1], "deck": {"ranks": 3, "suits": 2, "board": 0}}
    arena = PreflopArena(PreflopGame.from_dict(data))
    judgement = cp.judge(arena, cp.random_policy(arena, 2))
    assert judgement.best_values == pytest.approx([1.0] * 3)
    assert judgement.nash_conv == pytest.approx(0.0, abs=1e-12)


def test_bounties_reward_eliminations():
    deck = {"ranks": 3, "suits": 2, "board": 0}
    data = {"stacks": [5, 5], "payouts": [10, 0], "deck": deck}
    plain = PreflopArena(PreflopGame.from_dict(data))
    bounty = PreflopArena(PreflopGame.from_dict(data | {"bounties": [2, 2]}))
    called = next(leaf for leaf in plain.tree.leaves if len(leaf.contenders) == 2)
    assert leaf_utilities(plain.preflop_game, called, ((0, 1),))[0].tolist() == [10, 0]
    assert leaf_utilities(bounty.preflop_game, called, ((0, 1),))[0].tolist() == [12, 0]


def test_keys_find_their_infosets():
    arena, _ = arena_and_tree("three seats, ICM")
    for infoset in range(arena.num_infosets):
        player = int(arena.infoset_player[infoset])
        assert arena.find_infoset(arena.infoset_key(infoset), player) == infoset
    with pytest.raises(cp.errors.ConfigError, match="has no infoset 'AA'"):
        arena.find_infoset("AA")


def test_sampled_orders_of_three_hands_are_near_the_exact_ones():
    data = {"stacks": [5, 5, 5], "deck": {"ranks": 3, "suits": 4, "board": 1}}
    arena = PreflopArena(PreflopGame.from_dict(data))
    counts = arena.deals.probability
    exact = np.zeros((*counts.shape[:3], 6))
    for number, places in enumerate(WEAK_PLACES):
        strict = [  # orders that differ from the weak one in ties only
            o
            for o, order in enumerate(STRICT_PLACES)
            if all(order[i] < order[j] for i in range(3) for j in range(3) if places[i] < places[j])
        ]
        exact[..., strict] += counts[..., [number]] / len(strict)
    total = exact.sum(axis=3)
    possible = total > 0.0
    difference = order_table(arena.deck)[possible] - exact[possible] / total[possible][:, None]
    assert np.abs(difference).max() < 6.0 * 0.5 / np.sqrt(SAMPLES_PER_TRIPLE)
    assert np.abs(difference.mean(axis=0)).max() < 0.003
    assert np.abs(order_table(arena.deck).sum(axis=3) - 1.0).max() < 1e-5


def test_damaged_orders_are_sampled_again_with_the_same_result(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERPLAY_CACHE", str(tmp_path))
    deck = Deck(num_ranks=3, num_suits=3, num_board=1)
    monkeypatch.setattr(deals, "_orders", {})
    first = order_table(deck)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-30])
    monkeypatch.setattr(deals, "_orders", {})
    assert (order_table(deck) == first).all()
