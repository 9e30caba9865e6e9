"""Policy-space response oracles."""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar

from annotated_types import Ge

from counterplay.algorithms.population.learned_oracles import (
    check_oracle,
    check_oracle_arena,
    load_oracle,
)
from counterplay.algorithms.population.meta_solvers import (
    INDEPENDENT_SOLVERS,
    NEEDS_ZERO_SUM,
    MetaSolver,
    check_meta_solver,
)
from counterplay.algorithms.population.population import (
    InitialPolicy,
    Population,
    RelativeGain,
    is_zero_sum,
    new_population,
    policy_from_meta_strategy,
)
from counterplay.algorithms.population.psro_loop import PSROLoop, compute_responses
from counterplay.algorithms.population.q_learning_response import QLearningResponse
from counterplay.algorithms.population.rules_backend import (
    RulesPopulation,
    iterate_on_rules,
    mixture_policy,
    new_rules_population,
)
from counterplay.arenas.rules import RulesArena, TabularPolicy
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.policy import Policy
from counterplay.core.settings import PositiveInt, settings
from counterplay.errors import ConfigError


@settings()
class PSRO:
    """PSRO (Lanctot et al., 2017). At t = 2, 3, ..., for all players:

        response_i = the oracle's response to the others' mixtures of t - 1
        pool_i     = pool_i and response_i
        mixtures   = meta_solver(payoffs between the pools)

    With the meta-solver `nash` this is the double oracle, with `uniform` fictitious play, and with
    `last` iterated best response, which may cycle. `auto` is `nash` in two-player zero-sum games
    and `projected_replicator` in others, as in the paper. Exploitability may rise on the way. The
    method ends when no player gains, or when all responses are in the pools and the mixtures stay
    the same.

    The oracle `exact`, which `auto` is on a tree, computes best responses. `dqn`, `ppo` and `sac`
    learn them on the tree in `training_episodes` each, continuing from the last response. Then the
    method does not end by itself, because a response without gain may only be badly learned.

    On rules, where no tree is built, the first policies are uniform, responses are learned by
    tabular Q-learning in `training_episodes` (`QLearningResponse`; other oracles are refused), and
    payoffs are means over `payoff_episodes` for every joint policy, stored with the half widths of
    their confidence intervals.
    """

    meta_solver: str = "auto"  # or nash, uniform, last, projected_replicator, regret_matching, ...
    initial_policy: InitialPolicy = "first"  # first, uniform, random, or response (to uniform play)
    tolerance: RelativeGain = 1e-9  # it ends at gains up to this, in units of the largest utility
    oracle: str = "auto"  # exact; or a learner, as dqn or dqn(learning_rate=0.001); on rules auto
    training_episodes: PositiveInt = 20_000  # of a learned response
    payoff_episodes: Annotated[int, Ge(2)] = 1_000  # on rules: of every joint policy
    runs_on: ClassVar[tuple[str, ...]] = ("sequences", "rules")
    required_extra: ClassVar[str] = ""
    distributes_on: ClassVar[tuple[str, ...]] = ("sequences", "rules")

    def __post_init__(self) -> None:
        if self.meta_solver != "auto":
            check_meta_solver("psro", self.meta_solver, INDEPENDENT_SOLVERS)
        if self.oracle != "auto":
            check_oracle("psro", self.oracle)

    def init(self, arena: SequenceArena | RulesArena, seed: int = 0) -> Population:
        if arena.num_players < 2:
            raise ConfigError(f"psro needs two players or more; {arena.spec} has one")
        if isinstance(arena, RulesArena):
            if self.oracle != "auto":
                raise ConfigError(
                    f"psro: the oracle {self.oracle} needs a tree; on rules leave it out, and "
                    "responses are learned with tables"
                )
            if self.meta_solver == "nash" and arena.num_players != 2:
                raise ConfigError(f"psro: {NEEDS_ZERO_SUM}")
            return new_rules_population(arena, seed)
        check_oracle_arena("psro", self.tree_oracle, arena)
        if self.meta_solver == "nash" and not is_zero_sum(arena):
            raise ConfigError(f"psro on {arena.spec}: {NEEDS_ZERO_SUM}")
        return new_population(arena, seed, Population)

    @property
    def tree_oracle(self) -> str:
        """The oracle on a tree."""
        return "exact" if self.oracle == "auto" else self.oracle

    def solver(self, zero_sum: bool) -> MetaSolver:
        """Return the meta-solver for two-player zero-sum games, or for others."""
        default = "nash" if zero_sum else "projected_replicator"
        return INDEPENDENT_SOLVERS[default if self.meta_solver == "auto" else self.meta_solver]

    def step(
        self, arena: SequenceArena | RulesArena, memory: Population, iterations: int = 1
    ) -> Population:
        if isinstance(arena, RulesArena):
            assert isinstance(memory, RulesPopulation)
            oracle = QLearningResponse(self.training_episodes)
            return iterate_on_rules(
                arena, memory, iterations, oracle, self.solve_sampled, self.payoff_episodes
            )
        learner = load_oracle("psro", self.tree_oracle, self.training_episodes)
        respond = partial(compute_responses, oracle=learner)
        solve = self.solver(is_zero_sum(arena))
        loop = PSROLoop(self.initial_policy, self.tolerance, respond, solve)
        return loop.iterate(arena, memory, iterations)

    def solve_sampled(self, memory: Population) -> list[Floats]:
        """Mix pools by their sampled payoffs, which also show whether the game is zero-sum."""
        return self.solver(len(memory.pool_sizes) == 2 and memory.meta_game.is_constant_sum)(memory)

    def policies(
        self, arena: SequenceArena | RulesArena, memory: Population
    ) -> dict[str, Policy | TabularPolicy]:
        """Return the mixture of the pools as one policy."""
        if isinstance(arena, RulesArena):
            assert isinstance(memory, RulesPopulation)
            return {"mixture": mixture_policy(arena, memory)}
        return {"mixture": policy_from_meta_strategy(arena, memory)}
