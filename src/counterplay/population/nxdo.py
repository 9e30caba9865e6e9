"""Neural extensive-form double oracle: learned responses, and a learner among their actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from counterplay.deep.device import (
    OnDevice,
    OnHost,
    advanced,
    begun,
    policy_of,
    tables_of,
)
from counterplay.deep.graph import restricted
from counterplay.errors import ConfigError
from counterplay.policy import Policy, normalised_policy
from counterplay.population.learned import check_oracle, keep, learners, load_oracle
from counterplay.population.oracles import Weighted
from counterplay.population.restricted import UnitedPools, new_united_pools
from counterplay.registry import load_algorithm, parse
from counterplay.settings import settings
from counterplay.tree import Tree


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
    inner: int = 4_000
    oracle: str = "dqn"  # or ppo or sac
    training: int = 20_000  # episodes of a response
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    needs: ClassVar[str] = "deep"

    def __post_init__(self) -> None:
        for name in ("inner", "training"):
            if getattr(self, name) < 1:
                raise ConfigError(f"nxdo: {name} is {getattr(self, name)}, must be at least 1")
        check_oracle("nxdo", self.oracle)
        if self.oracle == "exact":
            raise ConfigError("nxdo: oracle is exact, must be learned; xdo has exact responses")
        solver = self.inside
        if not isinstance(solver, OnDevice) or isinstance(solver, OnHost):
            raise ConfigError(f"nxdo: solver is {self.solver}, must learn on the device, as nfsp")

    def init(self, tree: Tree, seed: int = 0) -> UnitedPools:
        memory: UnitedPools = new_united_pools("nxdo", tree, seed, UnitedPools)
        return memory

    def step(self, tree: Tree, memory: UnitedPools, iterations: int = 1) -> UnitedPools:
        oracle = load_oracle("nxdo", self.oracle, self.training, self.training)
        solver = self.inside
        for _ in range(iterations):
            memory.iteration += 1
            seed = memory.seed + 3 * memory.iteration
            starts = learners(tree, memory, oracle, range(2))
            met = [Weighted(1.0, Policy(tree, memory.policy))]
            responses = [
                oracle.respond(tree, player, met, seed + player, starts[player]).policy
                for player in range(2)
            ]
            keep(memory, oracle, responses, 2)
            wanted = np.zeros(tree.num_sequences, bool)
            for player, response in enumerate(responses):
                own = np.repeat(tree.infoset_player == player, tree.num_actions)
                wanted |= own & (response.probabilities >= 0.5 / tree.max_actions)
            memory.join(tree, [response.probabilities for response in responses], wanted)
            graph = restricted(tree, memory.allowed)
            inside = advanced(solver, graph, begun(solver, graph, seed + 2), self.inner)
            table = next(iter(tables_of(solver, graph, inside).values()))
            found = policy_of(tree, table).probabilities  # uniform where it never came
            memory.play(normalised_policy(tree, found * memory.allowed).probabilities)
        return memory

    @property
    def inside(self) -> Any:
        """The solver, whose rates fall over its iterations, unless it says otherwise."""
        solver = load_algorithm(self.solver)
        if hasattr(solver, "horizon") and "horizon" not in parse("solver", self.solver)[1]:
            return replace(solver, horizon=self.inner)
        return solver

    def policies(self, tree: Tree, memory: UnitedPools) -> dict[str, Policy]:
        return {"restricted": Policy(tree, memory.policy)}
