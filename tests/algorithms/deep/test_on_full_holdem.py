"""Every deep method on the rules of whole hold'em games: an iteration with tiny networks."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("jax")

import counterplay as cp
from counterplay.core.cards import hand_index
from counterplay.core.game import CHANCE, TERMINAL
from tests.algorithms.deep.common.test_hand_tables import METHODS

pytestmark = [pytest.mark.slow, pytest.mark.large]


@pytest.mark.parametrize("spec", ["flop_holdem", "limit_holdem"])
@pytest.mark.parametrize("method", METHODS, ids=[m.partition("(")[0] for m in METHODS])
def test_every_method_learns_whole_games_and_plays_them(method, spec):
    game, rng = cp.load_game(spec), random.Random(0)
    rules = cp.RulesArena(game)
    algorithm = cp.load_algorithm(method.replace("=E", "=cards_and_strength"))
    memory = algorithm.step(rules, algorithm.init(rules, 0), 1)
    assert memory.nodes_touched > 20
    for policy in algorithm.policies(rules, memory).values():
        agent, state = policy.hand_agent(), game.initial_state()
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                state = game.next_state(state, rng.choice(game.chance_outcomes(state))[0])
                continue
            actions, table = agent.hand_policy(state, player)
            assert actions == tuple(game.actions(state))
            row = table[hand_index(*game.hole_cards(state, player))]
            assert row.min() >= 0.0 and row.sum() == pytest.approx(1.0, abs=1e-5)
            state = game.next_state(state, rng.choice(actions[-2:]))
