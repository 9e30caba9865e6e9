"""Neural extensive-form double oracle: XDO with learned responses and a solver with networks."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.algorithms.deep.common.graph import restrict_graph
from counterplay.algorithms.deep.common.jax_algorithm import (
    JaxAlgorithm,
    advance_memory,
    init_memory,
    policy_from_table,
    tabulate_policies,
)
from counterplay.algorithms.population.learned_oracles import (
    check_oracle,
    load_learned_oracle,
    restore_learners,
    save_learners,
)
from counterplay.algorithms.population.oracles import WeightedPolicy
from counterplay.algorithms.population.restricted_arena import (
    ActionUnionPopulation,
    new_action_union_population,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.core.settings import PositiveInt, settings
from counterplay.core.solve import with_schedule
from counterplay.errors import ConfigError
from counterplay.registry import load_registered_algorithm


@settings()
class NXDO:
    """NXDO (McAleer et al., 2021). At t = 1, 2, ...:

        responses = both players' learned responses to policy, which is uniform play at first
        allowed   = allowed and the actions of the responses, at every infoset
        policy    = the result of a new solver with networks in the game of allowed actions

    This is `xdo` with a learned oracle and a learning solver. The solver is any algorithm with
    networks that runs on the device; it gets `solver_iterations`, over which its learning rates
    fall. Responders continue from their last responses. Their replay buffers hold only as many
    decisions as they play episodes, because the policy changes and older decisions are outdated.
    """

    solver: str = "neurd"  # or another that learns on the device, such as deep_mmd or nfsp
    solver_iterations: PositiveInt = 4_000
    oracle: str = "dqn"  # or ppo or sac
    training_episodes: PositiveInt = 20_000  # of a response
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = "deep"

    def __post_init__(self) -> None:
        check_oracle("nxdo", self.oracle)
        if self.oracle == "exact":
            raise ConfigError("nxdo: oracle is exact, must be learned; xdo has exact responses")
        self.inner_solver  # noqa: B018  raises if the solver cannot be used

    def init(self, tree: TreeArena, seed: int = 0) -> ActionUnionPopulation:
        return new_action_union_population("nxdo", tree, seed, ActionUnionPopulation)

    def step(
        self, tree: TreeArena, memory: ActionUnionPopulation, iterations: int = 1
    ) -> ActionUnionPopulation:
        oracle = load_learned_oracle(
            "nxdo", self.oracle, self.training_episodes, self.training_episodes
        )
        solver = self.inner_solver
        for iteration in memory.begin_iterations(iterations):
            seed = memory.seed + 3 * iteration
            learners = restore_learners(tree, memory, oracle, range(2))
            opponents = [WeightedPolicy(1.0, Policy(tree, memory.policy))]
            responses = [
                oracle.respond(tree, player, opponents, seed + player, learners[player]).policy
                for player in range(2)
            ]
            save_learners(memory, oracle, responses, 2)
            new_sequences = np.zeros(tree.num_sequences, bool)
            for player, response in enumerate(responses):
                is_own = np.repeat(tree.infoset_player == player, tree.num_actions)
                new_sequences |= is_own & (response.probabilities >= 0.5 / tree.max_actions)
            memory.add_responses(
                tree, [response.probabilities for response in responses], new_sequences
            )
            graph = restrict_graph(tree, memory.allowed_sequences)
            solver_memory = advance_memory(
                solver, graph, init_memory(solver, graph, seed + 2), self.solver_iterations
            )
            table = next(iter(tabulate_policies(solver, graph, solver_memory).values()))
            probabilities = policy_from_table(tree, table).probabilities  # uniform if unreached
            memory.set_policy(
                policy_from_weights(tree, probabilities * memory.allowed_sequences).probabilities
            )
        return memory

    @property
    def inner_solver(self) -> JaxAlgorithm:
        """The solver, whose rates fall over `solver_iterations` unless its spec sets them."""
        solver = with_schedule(load_registered_algorithm(self.solver), self.solver_iterations)
        if not isinstance(solver, JaxAlgorithm):
            raise ConfigError(f"nxdo: solver is {self.solver}, must learn on the device, as nfsp")
        return solver

    def policies(self, tree: TreeArena, memory: ActionUnionPopulation) -> dict[str, Policy]:
        return {"restricted": Policy(tree, memory.policy)}
