"""The hold'em games against OpenSpiel's universal_poker, showdowns against the kernels."""

from __future__ import annotations

import random

import numpy as np
import pytest

import counterplay as cp
from counterplay.games.holdem_base import hand_strength as plain_hand_strength
from counterplay.kernels.holdem import hand_strength

LIMIT = "betting=limit,raiseSize=10 10 20 20,maxRaises=3 4 4 4,numBoardCards=0 3 1 1,numRounds=4"
FREE = "betting=nolimit,bettingAbstraction=fullgame,numBoardCards=0 3 1 1,numRounds=4"
GAMES = {
    "flop_holdem": "betting=limit,numPlayers=2,numRounds=2,blind=50 100,firstPlayer=1 2,"
    "raiseSize=100 100,maxRaises=3 4,numBoardCards=0 3,stack=9000 9000",
    "flop_holdem(flop_raises=3)": "betting=limit,numPlayers=2,numRounds=2,blind=50 100,"
    "firstPlayer=1 2,raiseSize=100 100,maxRaises=3 3,numBoardCards=0 3,stack=9000 9000",
    "limit_holdem": f"{LIMIT},numPlayers=2,blind=10 5,firstPlayer=2 1 1 1,stack=900 900",
    "limit_holdem(players=3)": f"{LIMIT},numPlayers=3,blind=5 10 0,firstPlayer=3 1 1 1,"
    "stack=900 900 900",
    "no_limit_holdem(stack=1000)": f"{FREE},numPlayers=2,blind=100 50,firstPlayer=2 1 1 1,"
    "stack=1000 1000",
    "no_limit_holdem(players=3,stack=700)": f"{FREE},numPlayers=3,blind=50 100 0,"
    "firstPlayer=3 1 1 1,stack=700 700 700",
}


@pytest.mark.parametrize("spec", GAMES)
def test_playthroughs_equal_those_of_openspiel(spec):
    pyspiel = pytest.importorskip("pyspiel")
    ours = cp.load_game(spec)
    theirs = pyspiel.load_game(
        f"universal_poker({GAMES[spec]},numSuits=4,numRanks=13,numHoleCards=2)"
    )
    rng, shown, folded = random.Random(0), 0, 0
    for _ in range(80):
        state, other = ours.initial_state(), theirs.new_initial_state()
        while not other.is_terminal():
            player = ours.player(state)
            if other.is_chance_node():
                outcomes = ours.chance_outcomes(state)
                assert player == cp.CHANCE and outcomes == other.chance_outcomes()
                action = rng.choice(outcomes)[0]
            else:
                assert player == other.current_player()
                legal = ours.actions(state)
                assert list(legal) == other.legal_actions()
                # folding seldom, and small raises often, so that later rounds are met
                action = rng.choice([a for a in legal if a or rng.random() < 0.2][:12])
            state = ours.next_state(state, action)
            other.apply_action(action)
        assert ours.player(state) == cp.TERMINAL
        assert ours.utilities(state) == pytest.approx(other.returns())
        shown, folded = (
            shown + (len(state.players_left) > 1),
            folded + (len(state.players_left) == 1),
        )
    assert shown > 2 and folded > 2


def test_hand_strengths_equal_those_of_the_kernel():
    rng = np.random.default_rng(0)
    seven = np.array([rng.permutation(52)[:7] for _ in range(200)], np.uint8)
    result = np.zeros(200, np.int64)
    hand_strength.strengths(seven, result)
    plain = [plain_hand_strength(tuple(row)) for row in seven.tolist()]
    order = sorted(set(plain))
    assert np.unique(result, return_inverse=True)[1].tolist() == [order.index(s) for s in plain]


def test_bet_sizes_are_those_of_the_pot():
    game = cp.load_game("no_limit_holdem(sizes='0.5,1,a')")
    state = game.initial_state()
    for card in (0, 1, 2, 3):
        state = game.next_state(state, card)
    assert game.actions(state) == (0, 1, 200, 300, 20_000)
    assert [game.action_name(state, a) for a in (0, 1, 300)] == ["fold", "call", "raise to 300"]
    assert len(game.observation(state, 0)) == len(game.observation(state, 1))
    with pytest.raises(cp.ConfigError, match=r"0\.5,1,a"):
        cp.load_game("no_limit_holdem(sizes='half')")
    for name in ("limit_holdem(players=7)", "no_limit_holdem(stack=10)", "flop_holdem(raises=0)"):
        with pytest.raises(cp.ConfigError, match="must be at least"):
            cp.load_game(name)


def test_sampled_learning():
    for name in ("limit_holdem(players=3)", "flop_holdem"):
        arena = cp.RulesArena(cp.load_game(name))
        result = cp.solve(arena, "outcome_sampling", iterations=30, seed=1)
        assert result.records[-1].metrics["infosets"] > 10
