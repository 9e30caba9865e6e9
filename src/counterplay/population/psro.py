"""Policy-space response oracles."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from counterplay.errors import ConfigError
from counterplay.population import on_rules
from counterplay.population.learned import check_arena, check_oracle, load_oracle
from counterplay.population.loop import best_responses, check_common, iterate
from counterplay.population.meta_solvers import SEPARATE, check_solver
from counterplay.population.pools import (
    Population,
    check_zero_sum,
    mixed_policy,
    new_population,
)
from counterplay.population.sampled_response import SampledResponse
from counterplay.sampled import SampledGame
from counterplay.settings import settings


@settings()
class PSRO:
    """PSRO (Lanctot et al., 2017). At t = 2, 3, ..., for all players:

        response_i = the oracle's response to the others' mixtures of t - 1
        pool_i     = pool_i and response_i
        mixtures   = meta_solver(payoffs between the pools)

    With the meta-solver `nash` this is the double oracle; `uniform` makes it fictitious play,
    `last` iterated best responses, which may cycle. Exploitability may rise on the way. It ends
    when no player gains, or when all responses are in the pools and nothing would change.

    The oracle `exact` computes best responses. `dqn`, `ppo` and `sac` learn them on the tree from
    `training` episodes, going on from what they learned before; then it does not end by itself,
    since a response that gains nothing may only have been learned badly.

    On rules that are never unrolled the first policies are uniform play, responses are learned from
    `training` episodes (`SampledResponse`), and payoffs are the means of `episodes` episodes for
    every joint policy, kept with the margins of their intervals.
    """

    meta_solver: str = "nash"
    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "exact"  # or a learner, such as dqn or dqn(lr=0.001)
    training: int = 20_000  # episodes of a learned response
    episodes: int = 1_000  # on rules: of every joint policy
    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "rules")
    needs: ClassVar[str] = ""
    spreads: ClassVar[tuple[str, ...]] = ("sequences", "rules")

    def __post_init__(self) -> None:
        check_solver("psro", self.meta_solver, SEPARATE)
        check_common("psro", self)
        check_oracle("psro", self.oracle)
        if self.training < 1 or self.episodes < 2:
            raise ConfigError("psro: training must be at least 1, episodes at least 2")

    def init(self, arena: Any, seed: int = 0) -> Population:
        if isinstance(arena, SampledGame):
            return on_rules.new_population(arena, seed)
        check_arena("psro", self.oracle, arena)
        if self.meta_solver == "nash":
            check_zero_sum("the meta-solver nash", arena)
        return new_population(arena, seed)

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, SampledGame):
            oracle, solve = SampledResponse(self.training), SEPARATE[self.meta_solver]
            return on_rules.iterate(arena, memory, iterations, oracle, solve, self.episodes)
        learner = load_oracle("psro", self.oracle, self.training)
        respond = partial(best_responses, oracle=learner)
        solve = SEPARATE[self.meta_solver]
        return iterate(arena, memory, iterations, self.start, self.tolerance, respond, solve)

    def policies(self, arena: Any, memory: Any) -> dict[str, Any]:
        """The pools mixed as the meta-strategy says, as one policy."""
        if isinstance(arena, SampledGame):
            return {"mixture": on_rules.mixture(arena, memory)}
        return {"mixture": mixed_policy(arena, memory, memory.meta)}
