"""Policy-space response oracles."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from counterplay.arena import Floats
from counterplay.errors import ConfigError
from counterplay.population import on_rules
from counterplay.population.learned import check_arena, check_oracle, load_oracle
from counterplay.population.loop import best_responses, check_common, iterate
from counterplay.population.meta_solvers import (
    NEEDS_OPPOSITE_INTERESTS,
    SEPARATE,
    Solver,
    check_solver,
)
from counterplay.population.pools import (
    Population,
    is_zero_sum,
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
    `last` iterated best responses, which may cycle. `auto` is `nash` for two players with opposite
    interests, and otherwise `projected_replicator`, as in the paper. Exploitability may rise on
    the way. It ends when no player gains, or when all responses are in the pools and nothing would
    change.

    The oracle `exact`, which `auto` is on a tree, computes best responses. `dqn`, `ppo` and `sac`
    learn them on the tree from `training` episodes, going on from what they learned before; then
    it does not end by itself, since a response that gains nothing may only have been learned badly.

    On rules that are never unrolled the first policies are uniform play, responses are learned from
    `training` episodes (`SampledResponse`; other oracles are refused), and payoffs are the means of
    `episodes` episodes for every joint policy, kept with the margins of their intervals.
    """

    meta_solver: str = "auto"  # or nash, uniform, last, projected_replicator, regret_matching, ...
    start: str = "first"  # the first policies: first, uniform, random, or response to uniform play
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "auto"  # exact; or a learner, such as dqn or dqn(lr=0.001); on rules auto
    training: int = 20_000  # episodes of a learned response
    episodes: int = 1_000  # on rules: of every joint policy
    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "rules")
    needs: ClassVar[str] = ""
    spreads: ClassVar[tuple[str, ...]] = ("sequences", "rules")

    def __post_init__(self) -> None:
        if self.meta_solver != "auto":
            check_solver("psro", self.meta_solver, SEPARATE)
        check_common("psro", self)
        if self.oracle != "auto":
            check_oracle("psro", self.oracle)
        if self.training < 1 or self.episodes < 2:
            raise ConfigError("psro: training must be at least 1, episodes at least 2")

    def init(self, arena: Any, seed: int = 0) -> Population:
        if arena.num_players < 2:
            raise ConfigError(f"psro needs two players or more; {arena.spec} has one")
        if isinstance(arena, SampledGame):
            if self.oracle != "auto":
                raise ConfigError(
                    f"psro: the oracle {self.oracle} needs a tree; on rules leave it out, and "
                    "responses are learned with tables"
                )
            if self.meta_solver == "nash" and arena.num_players != 2:
                raise ConfigError(f"psro: {NEEDS_OPPOSITE_INTERESTS}")
            return on_rules.new_population(arena, seed)
        check_arena("psro", self.tree_oracle, arena)
        if self.meta_solver == "nash" and not is_zero_sum(arena):
            raise ConfigError(f"psro on {arena.spec}: {NEEDS_OPPOSITE_INTERESTS}")
        return new_population(arena, seed)

    @property
    def tree_oracle(self) -> str:
        """The oracle on a tree."""
        return "exact" if self.oracle == "auto" else self.oracle

    def solver(self, zero_sum: bool) -> Solver:
        """Return the meta-solver, for two players with opposite interests or for others."""
        usual = "nash" if zero_sum else "projected_replicator"
        return SEPARATE[usual if self.meta_solver == "auto" else self.meta_solver]

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, SampledGame):
            oracle = SampledResponse(self.training)
            return on_rules.iterate(
                arena, memory, iterations, oracle, self.solve_sampled, self.episodes
            )
        learner = load_oracle("psro", self.tree_oracle, self.training)
        respond = partial(best_responses, oracle=learner)
        solve = self.solver(is_zero_sum(arena))
        return iterate(arena, memory, iterations, self.start, self.tolerance, respond, solve)

    def solve_sampled(self, memory: Population) -> list[Floats]:
        """Mix pools whose payoffs were sampled: whether they are zero-sum is known from these."""
        return self.solver(len(memory.shape) == 2 and memory.form.constant_sum)(memory)

    def policies(self, arena: Any, memory: Any) -> dict[str, Any]:
        """The pools mixed as the meta-strategy says, as one policy."""
        if isinstance(arena, SampledGame):
            return {"mixture": on_rules.mixture(arena, memory)}
        return {"mixture": mixed_policy(arena, memory, memory.meta)}
