"""Encodings of poker observations: compiled, up to suits, and refused where they do not fit."""

from __future__ import annotations

import random
from itertools import permutations

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.cards import permute_suits
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.games.compiled.protocol import check_compiled_game, find_observed_game
from counterplay.games.poker_encoding import ENCODINGS, EncodedPoker, beaten_part, betting_record

GAMES = ("flop_holdem", "limit_holdem", "limit_holdem(players=3)")


def random_decisions(game, count, seed=0):
    """Return states of random play at which a player acts."""
    rng, states = random.Random(seed), []
    while len(states) < count:
        state = game.initial_state()
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                action = rng.choice(game.chance_outcomes(state))[0]
            else:
                states.append(state)
                action = rng.choice(game.actions(state))
            state = game.next_state(state, action)
    return states[:count]


@pytest.mark.parametrize("spec", GAMES)
@pytest.mark.parametrize("encoding", ["game", *ENCODINGS])
def test_compiled_observations_equal_readable_ones(spec, encoding):
    game = cp.load_game(spec)
    encoded = game if encoding == "game" else EncodedPoker(game, encoding)
    episodes = 2 if encoding == "cards_and_strength" else 12
    compiled = find_observed_game(encoded)
    assert check_compiled_game(encoded, compiled, max_nodes=20, num_episodes=episodes) == 20


def test_no_limit_observations_are_compiled_too():
    game = cp.load_game("no_limit_holdem(stack=1000,sizes='0.5,1,a')")
    assert check_compiled_game(game, find_observed_game(game), max_nodes=20, num_episodes=12) == 20


def test_features_are_the_published_groups():
    """Hole cards 2c 2h on the flop 3c 3h Ah after a raise and a call before the flop."""
    game = cp.load_game("flop_holdem")
    encoded = EncodedPoker(game, "cards")
    state = game.initial_state()
    for action in (0, 2, 20, 21, 2, 1, 4, 6, 50):
        state = game.next_state(state, action)
    row = encoded.observation(state, 0)
    assert len(row) == encoded.num_features == 2 + 2 * (5 + 6) + 2 * (13 + 4 + 52)
    # player 0 adds 150 to a pot of 150, player 1 calls 100 into 300; nothing else occurred
    assert row[:2] == [1.0, 0.0] and row[2:6] == pytest.approx([1.0, 1.0, 1.0, 1 / 3])
    assert not any(row[6:24])
    hole, flop = np.array(row[24 : 24 + 69]), np.array(row[24 + 69 :])
    assert hole[0] == 2.0 and hole[:13].sum() == 2.0  # two deuces
    assert hole[13:17].tolist() == [1.0, 0.0, 1.0, 0.0]  # a club and a heart
    assert np.flatnonzero(hole[17:]).tolist() == [0, 2]
    assert flop[:13].nonzero()[0].tolist() == [1, 12] and flop[1] == 2.0
    assert np.flatnonzero(flop[17:]).tolist() == [4, 6, 50]


@pytest.mark.parametrize("encoding", ["cards_up_to_suits", "cards_and_strength"])
def test_encoding_is_invariant_under_permuted_suits(encoding):
    game = cp.load_game("limit_holdem")
    encoded = EncodedPoker(game, encoding)
    by_suits = EncodedPoker(game, "cards")
    num_changed = 0
    for state in random_decisions(game, 6):
        row, plain = encoded.observation(state, 0), by_suits.observation(state, 0)
        for suits in list(permutations(range(4)))[1::5]:
            cards = tuple(permute_suits(card, suits) for card in state.cards)
            other = state._replace(cards=cards)
            assert encoded.observation(other, 0) == row
            num_changed += by_suits.observation(other, 0) != plain
    assert num_changed > 0  # `cards` tells the suits apart


def test_encoding_up_to_suits_tells_all_other_hands_apart():
    """Two hands on a board have the same observation only if some suit permutation joins them."""
    game = cp.load_game("poker(ranks=4,board=(0,2),raise_caps=(1,1),raises=(2,2),opens=(1,0))")
    encoded, start = EncodedPoker(game, "cards_up_to_suits"), game.initial_state()
    cards, classes = list(game.deck), {}
    rng = random.Random(3)
    for _ in range(400):
        dealt = tuple(rng.sample(cards, 6))
        state = start._replace(cards=dealt)
        own, board = dealt[:2], dealt[4:]
        orbit = min(
            tuple(sorted(permute_suits(c, s) for c in own))
            + tuple(sorted(permute_suits(c, s) for c in board))
            for s in permutations(range(4))
        )
        key = tuple(encoded.observation(state, 0))
        assert classes.setdefault(key, orbit) == orbit
    assert len(classes) > 100


def test_strength_is_the_part_of_beaten_hands():
    game = cp.load_game("flop_holdem")
    aces, kings, board = (48, 49), (44, 45), (50, 51, 0)  # quad aces beat all
    assert beaten_part(game, aces, board) == 1.0
    assert 0.5 < beaten_part(game, kings, board) < 1.0  # an ace in the other hand makes trips


def test_betting_record_is_relative_to_the_pot():
    game = cp.load_game("limit_holdem")
    # 5 into 15, 10 into 20, 10 into 30; then a bet of 10 into 40
    assert betting_record(game, "crc|r")[0] == pytest.approx((5 / 15, 10 / 20, 10 / 30))
    assert betting_record(game, "crc|r")[1] == pytest.approx((10 / 40,))


@pytest.mark.parametrize(
    ("spec", "encoding", "problem"),
    [
        ("kuhn_poker", "cards", "needs poker with hole cards and a board"),
        ("no_limit_holdem(stack=1000)", "cards", "no limit of raises"),
        ("poker(hole=1,board=(0,1),raises=(1,1),raise_caps=(1,1),opens=(0,0))",
         "cards_and_strength", "two hole cards"),
    ],
)  # fmt: skip
def test_encodings_that_do_not_fit_are_refused(spec, encoding, problem):
    with pytest.raises(cp.ConfigError, match=problem):
        EncodedPoker(cp.load_game(spec), encoding)
