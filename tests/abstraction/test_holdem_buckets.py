"""Buckets on real boards: histograms against equities, buckets that suits do not change."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction import holdem_buckets
from counterplay.abstraction.holdem_buckets import HoldemBuckets
from counterplay.core.cards import ALL_HANDS, hand_index, parse_cards
from counterplay.kernels.holdem import equity_histograms


def test_histograms_are_equities():
    cards, out = np.array(ALL_HANDS), np.zeros((1326, 1000))
    for board in ("QsJh2h9c3d", "QsJh2h9c"):
        equity_histograms.compute_histograms(np.array(parse_cards(board)), cards, out)
        for hand in ("AhKh", "3c3s", "7d2c"):
            mean = out[hand_index(*parse_cards(hand))] @ ((np.arange(1000) + 0.5) / 1000)
            assert mean == pytest.approx(
                cp.holdem.compute_equity(hand, "random", board).value, abs=1e-3
            )
    held = ~np.isin(cards, parse_cards("QsJh2h9c")).any(axis=1)
    np.testing.assert_allclose(out.sum(axis=1), held.astype(float))


def test_nearest_centre_equals_brute_force():
    rng = np.random.default_rng(0)
    points, result = rng.dirichlet(np.ones(5), 40), np.zeros(40, np.uint16)
    centres = np.cumsum(rng.dirichlet(np.ones(5), 6), axis=1)
    equity_histograms.assign_nearest(points, centres, result)
    far = np.abs(np.cumsum(points, axis=1)[:, None] - centres[None]).sum(axis=2)
    np.testing.assert_array_equal(result, far.argmin(axis=1))


@pytest.fixture
def few(monkeypatch, tmp_path):
    """Two flops and two turns instead of all, clustered from two sampled boards."""
    monkeypatch.setattr(holdem_buckets, "NUM_SAMPLED_BOARDS", 2)
    monkeypatch.setattr(holdem_buckets, "MAX_CLUSTERED_HANDS", 300)
    monkeypatch.setenv("COUNTERPLAY_CACHE", str(tmp_path))
    boards = {3: ["2c3c4d", "2c3d4h"], 4: ["2c3c4d5d", "2c3d4h5s"]}
    rows = {
        count: {tuple(sorted(parse_cards(b))): row for row, b in enumerate(texts)}
        for count, texts in boards.items()
    }
    monkeypatch.setattr(holdem_buckets, "_canonical_board_rows", rows.__getitem__)
    return HoldemBuckets(num_buckets=5, num_bins=10)


def test_buckets_do_not_depend_on_suits(few):
    def bucket(hand, board=""):
        return few.hand_bucket(parse_cards(hand), parse_cards(board))

    assert bucket("AhKh") == bucket("AsKs") != bucket("AhKs") == bucket("KcAd")
    for one, other in (
        ("2c3c4d", "2h3h4s"),
        ("2c3c4d5d", "2s3s4h5h"),
        ("2c3c4d5dTh", "2s3s4h5hTc"),
    ):
        swap = str.maketrans("cdhs", "shcd" if len(one) > 6 else "hscd")
        for hand in ("AcKc", "AdKd", "7h7s", "9cTd"):
            assert bucket(hand, one) == bucket(hand.translate(swap), other)
    assert bucket("AdKd", "2c3c4d") != bucket("9h8s", "2c3c4d")
    again = HoldemBuckets(num_buckets=5, num_bins=10)  # from the disk
    assert few.cache_path.exists()
    np.testing.assert_array_equal(again.tables["street_3"], few.tables["street_3"])


def test_bucketed_rules(few):
    rule = cp.abstraction.ByEquity(num_buckets=5, num_bins=10)
    game = rule.bucket_game(cp.load_game("limit_holdem(players=3)"))
    assert game.buckets == few and game.setup_note.startswith("computing the buckets")
    state = game.initial_state()
    for card in parse_cards("AhKhQsQd7c7d"):
        state = game.next_state(state, card)
    for action in (1, 1, 1):
        state = game.next_state(state, action)
    for card in parse_cards("4d2c3c"):
        state = game.next_state(state, card)
    buckets, _, betting = game.infoset_key(state, 0).partition(":")
    assert betting == "ccc|" and len(buckets.split("-")) == 2
    assert game.setup_note == ""  # the buckets are on disk
    forgets = dataclasses.replace(rule, perfect_recall=False).bucket_game(game.full_game)
    assert forgets.infoset_key(state, 0) == f"{buckets.split('-')[1]}:ccc|"
    assert game.num_players == 3 and "limit_holdem(players=3)" in cp.RulesArena(game).spec
    with pytest.raises(cp.ConfigError, match="such as limit_holdem"):
        cp.abstraction.load_abstraction("by_equity").bucket_game(cp.load_game("leduc_poker"))


def test_counted_histograms_equal_computed_ones():
    """From the bins of all rivers, which take some seconds."""
    buckets = HoldemBuckets(num_buckets=5, num_bins=20)
    for board in ("2c3d4h", "AsAd9h7c"):
        cards = tuple(sorted(parse_cards(board)))
        expected = buckets._compute_histograms(cards)
        np.testing.assert_array_equal(buckets._count_histograms(cards), expected)
