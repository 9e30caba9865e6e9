"""Extensive-form double oracle: a double oracle whose restricted game is a tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from counterplay.algorithms.population.population import RelativeGain
from counterplay.algorithms.population.restricted_arena import (
    ActionUnionPopulation,
    Mask,
    RestrictedArena,
    new_action_union_population,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.evaluation import BestResponses, compute_best_responses, infoset_values, judge
from counterplay.core.policy import Policy
from counterplay.core.settings import Positive, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.registry import load_registered_algorithm


@dataclass
class XDOMemory(ActionUnionPopulation):
    """Pools of best responses, and an approximate equilibrium of the game of their actions."""

    threshold: float = 0.0  # exploitability in the restricted game at which its solver stops
    solver_iterations: int = 0  # iterations of the solver so far


@settings()
class XDO:
    """XDO (McAleer et al., 2021). First the best responses to uniform play are allowed, then:

        policy    = the solver's in the game of allowed actions, at exploitability below `threshold`
        threshold = threshold / 2, if exploitability in the whole game is below it too
        allowed   = allowed and both best responses to policy in the whole game

    The restricted game contains all combinations of allowed actions at different infosets, so that
    a few iterations suffice where a matrix over policies needs exponentially many. At infosets that
    the policy does not reach, every action is a best response, and none is allowed; with
    `expand_unreached` the first one is. The method ends when exploitability is at most
    `target_exploitability`. The solver measures its own after 1, 1 + `check_every`,
    1 + 2 `check_every`, ... iterations.
    """

    solver: str = "cfr_plus"  # any full-width algorithm, such as cfr or pcfr_plus
    initial_threshold: Positive = 4.0  # exploitability divided by the game's scale
    check_every: PositiveInt = 50  # iterations of the solver
    expand_unreached: bool = False
    target_exploitability: RelativeGain = 1e-9  # in units of the largest utility
    max_solver_iterations: PositiveInt = 100_000  # in one iteration of the method
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if "sequences" not in load_registered_algorithm(self.solver).runs_on:
            raise ConfigError(f"xdo: solver is {self.solver}, must be full-width, such as cfr_plus")

    def init(self, tree: TreeArena, seed: int = 0) -> XDOMemory:
        memory = new_action_union_population("xdo", tree, seed, XDOMemory)
        memory.threshold = self.initial_threshold * tree.utility_scale
        return memory

    def step(self, tree: TreeArena, memory: XDOMemory, iterations: int = 1) -> XDOMemory:
        for _ in memory.begin_iterations(iterations):
            self._iterate(tree, memory)
        return memory

    def policies(self, tree: TreeArena, memory: XDOMemory) -> dict[str, Policy]:
        return {"restricted": Policy(tree, memory.policy)}

    def _iterate(self, tree: TreeArena, memory: XDOMemory) -> None:
        best = compute_best_responses(tree, memory.policy)
        exploitability = float((best.best_values - best.values).sum()) / 2.0
        if memory.allowed_sequences.any():
            if exploitability < memory.threshold:
                memory.threshold /= 2.0
            if exploitability <= self.target_exploitability * float(np.abs(tree.utility).max()):
                memory.finish("no player gains by any policy")
                return
        both = [best.response[:-1]] * tree.num_players
        memory.add_responses(tree, both, self._response_sequences(tree, memory, best))
        game = RestrictedArena(tree, memory.allowed_sequences)
        solver = load_registered_algorithm(self.solver)
        solver_memory = solver.step(game, solver.init(game), 1)
        while True:
            policy = next(iter(solver.policies(game, solver_memory).values()))
            is_solved = judge(game, policy).exploitability < memory.threshold
            if is_solved or solver_memory.iteration >= self.max_solver_iterations:
                break
            solver_memory = solver.step(game, solver_memory, self.check_every)
        memory.solver_iterations += solver_memory.iteration
        memory.set_policy(game.lift_policy(policy.probabilities))

    def _response_sequences(self, tree: TreeArena, memory: XDOMemory, best: BestResponses) -> Mask:
        """Return the sequences [S] of both best responses that are to be allowed."""
        sequences: Mask = best.response[:-1] > 0.0
        if self.expand_unreached or not memory.allowed_sequences.any():
            return sequences
        is_reached = infoset_values(tree, Policy(tree, memory.policy)).cf_reach > 0.0
        return sequences & np.repeat(is_reached, tree.num_actions)
