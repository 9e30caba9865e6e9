"""Joint PSRO: correlated equilibria of any number of players."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from counterplay.algorithms.population.joint_policy import JointPolicy, split_by_recommendation
from counterplay.algorithms.population.meta_solvers import (
    COARSE_CORRELATED_SOLVERS,
    CORRELATED_SOLVERS,
    check_meta_solver,
)
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import (
    InitialPolicy,
    Population,
    RelativeGain,
    new_population,
    plan_from_policy,
)
from counterplay.algorithms.population.psro_loop import NewPlans, PSROLoop, joint_opponents
from counterplay.core.arena import SequenceArena
from counterplay.core.policy import Policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

JOINT_SOLVERS = COARSE_CORRELATED_SOLVERS | CORRELATED_SOLVERS


@settings()
class JPSRO:
    """JPSRO (Marris et al., 2021), with exact responses. At t = 2, 3, ..., for all players:

        joint  = meta_solver(payoffs between the pools), a distribution over joint policies
        pool_i = pool_i and a best response to the others' marginal of joint    (mgcce, mwcce)
                 pool_i and, of the best responses to the others' conditional of joint given each
                        policy recommended to i, that of largest gain           (mgce, mwce)

    The result is a device that samples a joint policy and recommends to each player its own part.
    The method ends at a coarse correlated or correlated equilibrium of the normal form. The
    exploitability is the mean gain of deviating before or after the recommendation, respectively.
    Duplicates are counted in the Gini impurity. It needs two players or more, with any utilities.
    """

    meta_solver: str = "mgcce"  # or mwcce, mgce, mwce: maximum Gini impurity (g) or welfare (w)
    initial_policy: InitialPolicy = "uniform"  # first, uniform, random, or response
    tolerance: RelativeGain = 1e-9  # it ends at gains up to this, in units of the largest utility
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_meta_solver("jpsro", self.meta_solver, JOINT_SOLVERS)

    @property
    def is_coarse(self) -> bool:
        """Whether the method seeks a coarse correlated equilibrium."""
        return self.meta_solver in COARSE_CORRELATED_SOLVERS

    def init(self, arena: SequenceArena, seed: int = 0) -> Population:
        if arena.num_players < 2:
            raise ConfigError(
                f"jpsro needs two players or more; {arena.spec} has one: take cfr_plus or xfp"
            )
        return new_population(arena, seed, Population)

    def step(self, arena: SequenceArena, memory: Population, iterations: int = 1) -> Population:
        loop = PSROLoop(
            self.initial_policy,
            self.tolerance,
            self.respond,
            JOINT_SOLVERS[self.meta_solver],
            "no player gains by deviating from the device",
            final_policy=None,
        )
        return loop.iterate(arena, memory, iterations)

    def policies(self, arena: SequenceArena, memory: Population) -> dict[str, JointPolicy | Policy]:
        """Return the device, and the policy in which players sample from their own marginals."""
        joint = (
            memory.meta_strategy[0] if memory.meta_strategy else np.zeros((0,) * arena.num_players)
        )
        snapshot = replace(memory, plans=list(memory.plans))  # its arrays never change in place
        device = JointPolicy(arena, snapshot, joint, self.is_coarse)
        return {"joint": device, "separate": device.marginal_policy}

    def respond(self, arena: SequenceArena, memory: Population) -> NewPlans:
        """Return each player's best deviation, for the recommendation where it gains most."""
        joint, oracle = memory.meta_strategy[0], ExactResponse()
        plans, gains = [], np.zeros(arena.num_players)
        for player in range(arena.num_players):
            best, largest_gain = np.zeros(0), -np.inf
            for part in split_by_recommendation(joint, player, self.is_coarse):
                weight = float(part.sum())
                others = joint_opponents(arena, memory, player, part / weight)
                response = oracle.respond(arena, player, others)
                value = float((memory.payoffs[player] * part).sum())
                gain = weight * response.value - value
                gains[player] += max(gain, 0.0)
                if gain > largest_gain:
                    largest_gain, best = gain, plan_from_policy(arena, response.policy, player)
            plans.append(best[None])
        return NewPlans(plans, gains)
