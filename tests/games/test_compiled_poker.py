"""Compiled poker: equal to the readable rules, to OpenSpiel, and to buckets of readable rules."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.robustness.poker_rules import compare_rules

import counterplay as cp
from counterplay.abstraction import holdem_buckets
from counterplay.abstraction.by_equity import ByEquity
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.games.compiled.protocol import check_compiled_game, find_compiled_game

SIDE_POTS = (
    "poker(players=3,blinds=(1,2,0),ante=1,stacks=(20,7,50),opens=(2,0),raises=(),raise_caps=(),"
    "ranks=5,board=(0,3))"
)
SHORT_LIMIT = (
    "poker(players=3,blinds=(3,0,1),stacks=(11,6,30),opens=(0,1),raises=(5,3),raise_caps=(2,3),"
    "ranks=6,board=(0,2))"
)
GAMES = (
    "limit_holdem",
    "limit_holdem(players=6)",
    "flop_holdem",
    "no_limit_holdem(stack=1000,sizes='0.5,1,a;1,a|1;a|;')",
    "no_limit_holdem(players=6,stack=700,sizes='0.333,a')",
    "no_limit_holdem(players=3,stack=400)",
    SIDE_POTS,
    SHORT_LIMIT,
)


@pytest.mark.parametrize("spec", GAMES)
def test_compiled_rules_equal_readable_rules(spec):
    game = cp.load_game(spec)
    compiled = find_compiled_game(game)
    assert check_compiled_game(game, compiled, max_nodes=60, num_episodes=12) == 60


def test_compiled_rules_equal_openspiel_with_side_pots():
    pytest.importorskip("pyspiel")
    counts = compare_rules(6000, seed=3)
    assert counts.formats > 5 and counts.side_pots > 30 and len(counts.by_players) > 2


def test_small_formats_are_the_known_games():
    """Kuhn and Leduc poker as formats have the sizes and values of the games."""
    kuhn = cp.build_tree(
        cp.load_game(
            "poker(blinds=(1,1),stacks=(2,2),opens=(0,),raises=(1,),raise_caps=(1,),ranks=3,"
            "suits=1,hole=1,board=(0,))"
        )
    )
    assert (kuhn.num_infosets, len(kuhn.terminals)) == (12, 30)
    value = cp.solve(kuhn, "sequence_form_lp").policy
    assert cp.expected_values(kuhn, value)[0] == pytest.approx(-1 / 18)
    leduc = cp.build_tree(
        cp.load_game(
            "poker(blinds=(1,1),opens=(0,0),raises=(2,4),raise_caps=(2,2),ranks=3,suits=2,hole=1,"
            "board=(0,1))"
        )
    )
    assert leduc.num_infosets == cp.build_tree(cp.load_game("leduc_poker")).num_infosets


def test_short_stack_cannot_win_more_than_its_share():
    game = cp.load_game(SIDE_POTS)
    state = game.initial_state()
    assert state.contributions == (2, 3, 1)
    for card in (16, 17, 0, 1, 12, 13):  # 6c6d for player 0, 2c2d for 1, 5c5d for 2
        state = game.next_state(state, card)
    for action in (50, 1, 1):  # player 2 moves all-in, both call with what they have
        state = game.next_state(state, action)
    while game.player(state) == CHANCE:
        state = game.next_state(state, game.chance_outcomes(state)[-1][0])
    assert game.player(state) == TERMINAL and state.contributions == (20, 7, 50)
    # 6c6d beats all for the main and first side pot; the last 30 chips go back
    assert game.utilities(state) == [27.0, -7.0, -20.0]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("raises=(),raise_caps=()", "needs stacks"),
        ("raise_caps=()", "needs raise_caps"),
        ("blinds=(1,2,3)", "blinds has 3 numbers, must have 2"),
        ("board=(0,3,0,1)", "cards after the first"),
        ("players=10,blinds=(1,)*10", "cannot read"),
        ("hole=4", "at most 7"),
        ("ranks=2,board=(0,3,1,1)", "dealt from a deck"),
        ("opens=(0,0,0,2)", "opens has 2"),
        ("sizes='1'", "sizes are for no-limit"),
    ],
)
def test_impossible_formats_are_refused(parameters, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_game(f"poker({parameters})")


def test_sizes_by_street_and_raise():
    game = cp.load_game("no_limit_holdem(stack=2000,sizes='1,a;a|;|0.5')")
    state = game.initial_state()
    for card in (0, 1, 2, 3):
        state = game.next_state(state, card)
    assert game.actions(state) == (0, 1, 300, 2000)
    raised = game.next_state(state, 300)
    assert game.actions(raised) == (0, 1, 2000)
    state = game.next_state(raised, 1)
    for card in (4, 5, 6):
        state = game.next_state(state, card)
    assert game.actions(state) == (1,)


@pytest.fixture(scope="module")
def random_buckets():
    """Buckets with random tables, which show a wrong row or permutation at once."""
    rng, buckets = np.random.default_rng(0), holdem_buckets.HoldemBuckets(50, 30, 0)
    buckets.__dict__["tables"] = {
        "street_3": rng.integers(50, size=(1755, 1326)).astype(np.uint16),
        "street_4": rng.integers(50, size=(16432, 1326)).astype(np.uint16),
        "centres_5": np.cumsum(rng.dirichlet(np.ones(30), 50), axis=1),
    }
    return buckets


@pytest.mark.slow
@pytest.mark.parametrize("perfect_recall", [False, True])
def test_compiled_buckets_equal_readable_buckets(random_buckets, perfect_recall):
    for spec in ("limit_holdem(players=3)", "no_limit_holdem(stack=2000,sizes='0.5,1,a;a')"):
        rule = ByEquity(perfect_recall=perfect_recall)
        game = holdem_buckets.BucketedGame(cp.load_game(spec), rule)
        game.buckets = random_buckets
        assert check_compiled_game(game, find_compiled_game(game), max_nodes=60, num_episodes=60)
