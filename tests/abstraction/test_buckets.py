"""Bucketing by rank and by equity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.abstraction.by_equity import (
    _distances,
    _k_means,
    cluster_histograms,
    earth_mover_distance,
    equity_histograms,
)
from counterplay.registry import get_spec, load_abstraction
from tests.conftest import game_tree
from tests.random_games import random_games


def test_by_rank():
    assert cp.abstraction.ByRank().label("Qs:cr|Kh:") == "Q:cr|K:"
    assert cp.abstraction.ByRank().label("Qs:cr|Qh:r") == "Q:cr|Q:r*"
    assert cp.abstraction.ByRank(("JQ", "K")).label("Qs:cr|Jh:r") == "(JQ):cr|(JQ):r"
    assert cp.abstraction.ByRank(("JQ", "K")).label("Js:cr|Jh:r") == "(JQ):cr|(JQ):r*"
    assert (
        cp.abstraction.ByRank(("JQ", "K"), distinguish_pairs=False).label("Js:cr|Jh:r")
        == "(JQ):cr|(JQ):r"
    )
    assert cp.abstraction.ByRank(("01",)).label("1pb") == "(01)pb"


@pytest.mark.parametrize(
    ("rule", "size"),
    [
        ("by_rank", 288),
        ('by_rank(groups=("JQ","K"))', 162),
        ("by_equity(rollout_action=call)", 228),
    ],
)
def test_of_leduc(rule, size, leduc):
    smaller = cp.abstraction.build_abstraction(leduc, load_abstraction(rule))
    assert smaller.tree.has_perfect_recall
    assert smaller.tree.num_infosets == size


def test_specs_load_equal_abstractions():
    for spec in (
        "by_rank",
        "by_rank(groups=('JQ', 'K'))",
        "by_equity(num_buckets=2,perfect_recall=False)",
    ):
        assert get_spec(load_abstraction(spec)) == spec
    assert cp.abstraction.ByEquity(num_buckets=2) == load_abstraction("by_equity", num_buckets=2)


BAD = [
    ("by_rank(groups=('JQ','QK'))", "rank 'Q' is in two groups"),
    ("by_rank(groups=('xy',))", "'x' is not a rank"),
    ("by_rank(suits=1)", "no parameter 'suits'"),
    ("by_equity(num_buckets=0)", "buckets is 0, must be at least 1"),
    ("by_equity(num_bins=1)", "bins is 1, must be at least 2"),
    ("by_card", r"unknown abstraction 'by_card'; did you mean 'by_rank'\? \(known: by_equity"),
]


@pytest.mark.parametrize(("spec", "message"), BAD)
def test_bad_parameters(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        load_abstraction(spec)


def test_bad_games(kuhn):
    with pytest.raises(cp.ConfigError, match="no infoset of rock_paper_scissors shows a card"):
        cp.abstraction.build_abstraction(game_tree("rock_paper_scissors"), cp.abstraction.ByRank())
    with pytest.raises(cp.ConfigError, match="no action is called 'call'; there are bet, pass"):
        cp.abstraction.build_abstraction(kuhn, cp.abstraction.ByEquity(rollout_action="call"))


def test_histograms_of_leduc_by_hand():
    """Both check to the end: who wins how often, for every hand and card on the table."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    histograms, weight = equity_histograms(tree, 1000, "call")
    equity = {(hand, table): showdown(hand, table) for hand in "JQK" for table in "JQK"}
    low, high = min(equity.values()), max(equity.values())
    place = {pair: min(int((x - low) / (high - low) * 1000), 999) for pair, x in equity.items()}
    for hand in "JQK":
        expected = np.zeros(1000)
        for table in "JQK":
            after = histograms[tree.find_infoset(f"{hand}:cc|{table}:")]
            assert after[place[hand, table]] == approx(1.0)
            expected[place[hand, table]] += (1 if hand == table else 2) / 5
        assert histograms[tree.find_infoset(f"{hand}:")] == approx(expected)
        assert weight[tree.find_infoset(f"{hand}:")] == approx(1 / 3)


def showdown(hand, table):
    """Wins minus losses against a card drawn from the four that are left."""
    left = [*"JJQQKK"]
    left.remove(hand)
    left.remove(table)
    strength = {rank: "JQK".index(rank) + 10 * (rank == table) for rank in "JQK"}
    return sum(np.sign(strength[hand] - strength[other]) for other in left) / 4


@settings(max_examples=30)
@given(random_games(max_players=3))
def test_histograms_are_distributions(game):
    tree = cp.build_tree(game)
    if tree.num_infosets:
        histograms, weight = equity_histograms(tree, 7)
        assert histograms.sum(axis=1) == approx(1.0)
        assert (weight > 0.0).all()
        for recall in (True, False):
            smaller = cp.abstraction.build_abstraction(
                tree, cp.abstraction.ByEquity(num_buckets=2, perfect_recall=recall)
            )
            assert smaller.tree.has_perfect_recall or not recall


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8), st.randoms())
def test_earth_mover_is_the_transport_cost(masses, random):
    """Against the greedy transport, which is optimal on a line."""
    first = np.array(masses) + 1e-3
    second = first.copy()
    random.shuffle(second)
    first, second = first / first.sum(), second / second.sum()
    cost, have, want = 0.0, first.tolist(), second.tolist()
    i = j = 0
    while i < len(have) and j < len(want):
        moved = min(have[i], want[j])
        cost += moved * abs(i - j)
        have[i] -= moved
        want[j] -= moved
        if have[i] <= want[j]:
            i += 1
        else:
            j += 1
    assert earth_mover_distance(first, second) == approx(cost, abs=1e-9)


def test_clustering_separates_distinct_points():
    """Two heaps, wherever they are cut; few different points need no centres."""
    rng = np.random.default_rng(0)
    points = np.eye(10)[[*rng.integers(0, 3, 10), *rng.integers(7, 10, 10)]]
    found = cluster_histograms(points, np.ones(20), 2, rng)
    assert len(set(found[:10])) == len(set(found[10:])) == 1
    assert found[0] != found[-1]
    assert len(set(cluster_histograms(points, np.ones(20), 6, rng))) == len(
        np.unique(points, axis=0)
    )
    assert (cluster_histograms(points, np.ones(20), 1, rng) == 0).all()


def test_k_means_is_nearly_optimal():
    """Against all ways to cut few points in two, with the best centre of each part."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        points = np.cumsum(rng.dirichlet(np.ones(5), 8), axis=1)
        mass = rng.random(8) + 0.1
        best = np.inf
        for cut in range(1, 2**7):
            inside = np.array([cut >> k & 1 for k in range(8)], bool)
            cost = 0.0
            for part in (inside, ~inside):
                cost += min(
                    mass[part] @ _distances(points[part], centre[None])[:, 0]
                    for centre in [median(points[part], mass[part])]
                )
            best = min(best, cost)
        found = min(_k_means(points, mass, 2, rng)[0] for _ in range(10))
        assert best - 1e-9 <= found <= 1.05 * best


def median(points, mass):
    """The point minimising the weighted L1 distance, coordinate by coordinate."""
    return np.array([min(column, key=lambda x: mass @ np.abs(column - x)) for column in points.T])


def test_more_buckets_see_more():
    """But equity is not all: a J is as weak beside a Q as beside a K, and not the same hand."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    sizes, found = [], []
    for buckets in (1, 2, 3, 9):
        smaller = cp.abstraction.build_abstraction(
            tree, cp.abstraction.ByEquity(num_buckets=buckets, rollout_action="call")
        )
        assert smaller.tree.has_perfect_recall
        result = cp.solve(tree, smaller.wrap_algorithm(cp.algorithms.CFRPlus()), iterations=300)
        sizes.append(smaller.tree.num_infosets)
        found.append(result.exploitability)
    assert sizes == sorted(sizes)
    assert sizes[0] == 36
    assert sizes[-1] == 228
    assert found[0] > 2.0
    assert 0.1 < found[-1] < 0.5


def test_recall_may_be_given_up():
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    kept = cp.abstraction.build_abstraction(
        tree, cp.abstraction.ByEquity(num_buckets=2, rollout_action="call")
    )
    forgets = cp.abstraction.build_abstraction(
        tree, cp.abstraction.ByEquity(num_buckets=2, rollout_action="call", perfect_recall=False)
    )
    assert kept.tree.has_perfect_recall
    assert not forgets.tree.has_perfect_recall
    assert forgets.tree.num_infosets == 72 < kept.tree.num_infosets
