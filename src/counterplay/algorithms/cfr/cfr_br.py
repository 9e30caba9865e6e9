"""CFR-BR: every player minimises regret against best responses of the others."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.cfr.engine import RegretMemory, RegretMinimiser
from counterplay.core.arena import SequenceArena
from counterplay.core.evaluation import compute_best_responses
from counterplay.core.settings import settings
from counterplay.kernels.sequence_form import sweeps


@settings()
class CFRBR(RegretMinimiser):
    """CFR-BR (Johanson, Bard, Burch and Bowling, 2012). At t = 1, 2, ..., at all infosets:

        response   = every player's exact best response to the policy
        policy_sum = policy_sum + reach * policy
        regret     = regret + instant_regret of the policy against the others' responses
        policy     = regret_matching(regret)

    All players are updated simultaneously. Against best responses the worst case of the average
    improves steadily, but the first iterations are slower than CFR's.
    """

    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)

    def step(self, arena: SequenceArena, memory: RegretMemory, iterations: int = 1) -> RegretMemory:
        form, response_reach = arena.form, np.ones(memory.reach.size)
        factors, weight = (1.0, 1.0, 0.0, arena.value_tolerance), np.ones(1)
        learner = engine.REGRET_MATCHING
        for _ in range(iterations):
            response = compute_best_responses(arena, engine.form_policy(arena, memory)).response
            sweeps.forward(form, 0, form.parent.size, response, response_reach)
            for player in range(arena.num_players):
                engine.compute_instant_regrets(arena, memory, player, response_reach)
                engine.update_regrets(arena, memory, learner, player, factors, weight)
            for player in range(arena.num_players):
                engine.normalise_policy(arena, memory, learner, player)
            memory.iteration += 1
        return memory
