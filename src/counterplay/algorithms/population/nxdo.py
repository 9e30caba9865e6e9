"""Neural extensive-form double oracle: learned responses, and a learner among their actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

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
    load_oracle,
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
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.registry import load_algorithm, parse_spec


@settings()
class NXDO:
    """NXDO (McAleer et al., 2021). At t = 1, 2, ...:

        responses = both players' learned responses to policy, which is uniform play at first
        allowed   = allowed and what the responses do, at every infoset
        policy    = what a solver with networks learns in the game of allowed actions, afresh

    `xdo` with learners in both places: the union of actions takes the place of a pool of policies.
    The solver is any algorithm with networks that learns on the device; it gets `inner` iterations,
    over which its rates fall. Responders go on from what they learned before, but remember only as
    many decisions as they play episodes: the policy changes too much for older ones to be true.
    """

    solver: str = "neurd"  # or another that learns on the device, such as deep_mmd or nfsp
    solver_iterations: int = 4_000
    oracle: str = "dqn"  # or ppo or sac
    training_episodes: int = 20_000  # episodes of a response
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = "deep"

    def __post_init__(self) -> None:
        for name in ("solver_iterations", "training_episodes"):
            if getattr(self, name) < 1:
                raise ConfigError(f"nxdo: {name} is {getattr(self, name)}, must be at least 1")
        check_oracle("nxdo", self.oracle)
        if self.oracle == "exact":
            raise ConfigError("nxdo: oracle is exact, must be learned; xdo has exact responses")
        solver = self.inner_solver
        if not isinstance(solver, JaxAlgorithm):
            raise ConfigError(f"nxdo: solver is {self.solver}, must learn on the device, as nfsp")

    def init(self, tree: TreeArena, seed: int = 0) -> ActionUnionPopulation:
        memory: ActionUnionPopulation = new_action_union_population(
            "nxdo", tree, seed, ActionUnionPopulation
        )
        return memory

    def step(
        self, tree: TreeArena, memory: ActionUnionPopulation, iterations: int = 1
    ) -> ActionUnionPopulation:
        oracle = load_oracle("nxdo", self.oracle, self.training_episodes, self.training_episodes)
        solver = self.inner_solver
        for _ in range(iterations):
            memory.iteration += 1
            seed = memory.seed + 3 * memory.iteration
            starts = restore_learners(tree, memory, oracle, range(2))
            met = [WeightedPolicy(1.0, Policy(tree, memory.policy))]
            responses = [
                oracle.respond(tree, player, met, seed + player, starts[player]).policy
                for player in range(2)
            ]
            save_learners(memory, oracle, responses, 2)
            wanted = np.zeros(tree.num_sequences, bool)
            for player, response in enumerate(responses):
                own = np.repeat(tree.infoset_player == player, tree.num_actions)
                wanted |= own & (response.probabilities >= 0.5 / tree.max_actions)
            memory.add_responses(tree, [response.probabilities for response in responses], wanted)
            graph = restrict_graph(tree, memory.allowed_sequences)
            inside = advance_memory(
                solver, graph, init_memory(solver, graph, seed + 2), self.solver_iterations
            )
            table = next(iter(tabulate_policies(solver, graph, inside).values()))
            found = policy_from_table(tree, table).probabilities  # uniform where it never came
            memory.set_policy(
                policy_from_weights(tree, found * memory.allowed_sequences).probabilities
            )
        return memory

    @property
    def inner_solver(self) -> Any:
        """The solver, whose rates fall over its iterations, unless it says otherwise."""
        solver = load_algorithm(self.solver)
        if (
            hasattr(solver, "schedule_iterations")
            and "schedule_iterations" not in parse_spec("solver", self.solver)[1]
        ):
            return replace(solver, schedule_iterations=self.solver_iterations)
        return solver

    def policies(self, tree: TreeArena, memory: ActionUnionPopulation) -> dict[str, Policy]:
        return {"restricted": Policy(tree, memory.policy)}
