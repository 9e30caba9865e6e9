"""Policy-space response oracles."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from counterplay.algorithms.population import rules_backend
from counterplay.algorithms.population.learned_oracles import (
    check_oracle,
    check_oracle_arena,
    load_oracle,
)
from counterplay.algorithms.population.meta_solvers import (
    INDEPENDENT_SOLVERS,
    NEEDS_OPPOSITE_INTERESTS,
    MetaSolver,
    check_meta_solver,
)
from counterplay.algorithms.population.population import (
    Population,
    is_zero_sum,
    new_population,
    policy_from_mixtures,
)
from counterplay.algorithms.population.psro_loop import (
    check_common_fields,
    compute_responses,
    iterate,
)
from counterplay.algorithms.population.q_learning_response import QLearningResponse
from counterplay.arenas.rules import RulesArena
from counterplay.core.arena import Floats
from counterplay.core.settings import settings
from counterplay.errors import ConfigError


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
    initial_policy: str = (
        "first"  # the first policies: first, uniform, random, or response to uniform play
    )
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    oracle: str = "auto"  # exact; or a learner, such as dqn or dqn(lr=0.001); on rules auto
    training_episodes: int = 20_000  # episodes of a learned response
    payoff_episodes: int = 1_000  # on rules: of every joint policy
    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "rules")
    required_extra: ClassVar[str] = ""
    distributes_on: ClassVar[tuple[str, ...]] = ("sequences", "rules")

    def __post_init__(self) -> None:
        if self.meta_solver != "auto":
            check_meta_solver("psro", self.meta_solver, INDEPENDENT_SOLVERS)
        check_common_fields("psro", self)
        if self.oracle != "auto":
            check_oracle("psro", self.oracle)
        if self.training_episodes < 1 or self.payoff_episodes < 2:
            raise ConfigError(
                "psro: training_episodes must be at least 1, payoff_episodes at least 2"
            )

    def init(self, arena: Any, seed: int = 0) -> Population:
        if arena.num_players < 2:
            raise ConfigError(f"psro needs two players or more; {arena.spec} has one")
        if isinstance(arena, RulesArena):
            if self.oracle != "auto":
                raise ConfigError(
                    f"psro: the oracle {self.oracle} needs a tree; on rules leave it out, and "
                    "responses are learned with tables"
                )
            if self.meta_solver == "nash" and arena.num_players != 2:
                raise ConfigError(f"psro: {NEEDS_OPPOSITE_INTERESTS}")
            return rules_backend.new_rules_population(arena, seed)
        check_oracle_arena("psro", self.tree_oracle, arena)
        if self.meta_solver == "nash" and not is_zero_sum(arena):
            raise ConfigError(f"psro on {arena.spec}: {NEEDS_OPPOSITE_INTERESTS}")
        return new_population(arena, seed)

    @property
    def tree_oracle(self) -> str:
        """The oracle on a tree."""
        return "exact" if self.oracle == "auto" else self.oracle

    def solver(self, zero_sum: bool) -> MetaSolver:
        """Return the meta-solver, for two players with opposite interests or for others."""
        usual = "nash" if zero_sum else "projected_replicator"
        return INDEPENDENT_SOLVERS[usual if self.meta_solver == "auto" else self.meta_solver]

    def step(self, arena: Any, memory: Any, iterations: int = 1) -> Any:
        if isinstance(arena, RulesArena):
            oracle = QLearningResponse(self.training_episodes)
            return rules_backend.iterate_on_rules(
                arena, memory, iterations, oracle, self.solve_sampled, self.payoff_episodes
            )
        learner = load_oracle("psro", self.tree_oracle, self.training_episodes)
        respond = partial(compute_responses, oracle=learner)
        solve = self.solver(is_zero_sum(arena))
        return iterate(
            arena, memory, iterations, self.initial_policy, self.tolerance, respond, solve
        )

    def solve_sampled(self, memory: Population) -> list[Floats]:
        """Mix pools whose payoffs were sampled: whether they are zero-sum is known from these."""
        return self.solver(len(memory.pool_sizes) == 2 and memory.meta_game.is_constant_sum)(memory)

    def policies(self, arena: Any, memory: Any) -> dict[str, Any]:
        """The pools mixed as the meta-strategy says, as one policy."""
        if isinstance(arena, RulesArena):
            return {"mixture": rules_backend.mixture_policy(arena, memory)}
        return {"mixture": policy_from_mixtures(arena, memory, memory.meta_strategy)}
