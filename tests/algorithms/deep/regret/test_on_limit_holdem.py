"""Deep CFR on the rules of heads-up limit hold'em: a few iterations with tiny networks."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

import counterplay as cp
from tests.algorithms import contract


@pytest.mark.slow
def test_deep_cfr_iterates_on_limit_holdem():
    arena = cp.RulesArena("limit_holdem")
    algorithm = contract.tiny("deep_cfr")
    memory = algorithm.init(arena, 0)
    for _ in range(2):
        before = memory.nodes_touched
        memory = algorithm.step(arena, memory, 1)
        assert memory.nodes_touched > before + 100
    game, policies = arena.game, algorithm.policies(arena, memory)
    state = game.initial_state()
    while game.player(state) == cp.CHANCE:
        state = game.next_state(state, game.chance_outcomes(state)[0][0])
    for policy in policies.values():
        row = policy.action_probabilities(state, game.player(state))
        assert len(row) == len(game.actions(state))
        assert min(row) >= 0.0 and sum(row) == pytest.approx(1.0, abs=1e-5)
    policy = next(iter(policies.values()))
    assert len(cp.head_to_head(game, policy, policy, max_episodes=4).scores) == 2
