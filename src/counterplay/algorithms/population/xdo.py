"""Extensive-form double oracle: the restricted game is a tree, not a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from counterplay.algorithms.population.restricted_arena import (
    ActionUnionPopulation,
    RestrictedArena,
    new_action_union_population,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.evaluation import BestResponses, compute_best_responses, infoset_values, judge
from counterplay.core.policy import Policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.registry import load_algorithm


@dataclass
class XDOMemory(ActionUnionPopulation):
    """Best responses, and among their actions an equilibrium, nearly."""

    threshold: float = 0.0  # exploitability in the restricted game at which its solver stops
    solver_iterations: int = 0  # iterations of the solver in all


@settings()
class XDO:
    """XDO (McAleer et al., 2021). First the best responses to uniform play are allowed, then:

        policy    = a solver's, in the game of allowed actions, until nobody gains `threshold` there
        threshold = threshold / 2, if nobody gains as much as that in the whole game either
        allowed   = allowed and both best responses to policy in the whole game

    Pools of policies are unions of actions here, one by one at every infoset, so that a few
    iterations suffice where matrices over policies need exponentially many. At infosets that the
    policy never lets happen a best response may do anything, and allows nothing; with `unreached`
    it allows the first action. It ends when best responses gain no more than `target`. The solver
    looks at its exploitability after 1, 1 + `every`, 1 + 2 `every`, ... iterations.
    """

    solver: str = "cfr_plus"  # any full-width algorithm, such as cfr or pcfr_plus
    initial_threshold: float = 16.0  # the first one, in the game's units
    check_every: int = 50
    expand_unreached: bool = False
    target_exploitability: float = 1e-9  # exploitability, in parts of the largest utility
    max_solver_iterations: int = 100_000  # iterations of the solver in one iteration
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not self.initial_threshold > 0.0:
            raise ConfigError(
                f"xdo: initial_threshold is {self.initial_threshold}, must be positive"
            )
        for name in ("check_every", "max_solver_iterations"):
            if getattr(self, name) < 1:
                raise ConfigError(f"xdo: {name} is {getattr(self, name)}, must be at least 1")
        if not 0.0 <= self.target_exploitability < 1.0:
            raise ConfigError(
                f"xdo: target_exploitability is {self.target_exploitability}, must be from 0 to 1"
            )
        if "sequences" not in load_algorithm(self.solver).runs_on:
            raise ConfigError(f"xdo: solver is {self.solver}, must be full-width, such as cfr_plus")

    def init(self, tree: TreeArena, seed: int = 0) -> XDOMemory:
        memory: XDOMemory = new_action_union_population("xdo", tree, seed, XDOMemory)
        memory.threshold = float(self.initial_threshold)
        return memory

    def step(self, tree: TreeArena, memory: XDOMemory, iterations: int = 1) -> XDOMemory:
        for _ in range(iterations):
            memory.iteration += 1
            if not memory.finished:
                self._advance(tree, memory)
        return memory

    def policies(self, tree: TreeArena, memory: XDOMemory) -> dict[str, Policy]:
        return {"restricted": Policy(tree, memory.policy)}

    def _advance(self, tree: TreeArena, memory: XDOMemory) -> None:
        found = compute_best_responses(tree, memory.policy)
        gap = float((found.best_values - found.values).sum()) / 2.0
        if memory.allowed_sequences.any():
            if gap < memory.threshold:
                memory.threshold /= 2.0
            if gap <= self.target_exploitability * float(np.abs(tree.utility).max()):
                memory.finish("no player gains")
                return
        both = [found.response[:-1]] * tree.num_players
        memory.add_responses(tree, both, self._response_sequences(tree, memory, found))
        game = RestrictedArena(tree, memory.allowed_sequences)
        solver = load_algorithm(self.solver)
        inside = solver.step(game, solver.init(game), 1)
        while True:
            policy = next(iter(solver.policies(game, inside).values()))
            reached = judge(game, policy).exploitability < memory.threshold
            if reached or inside.iteration >= self.max_solver_iterations:
                break
            inside = solver.step(game, inside, self.check_every)
        memory.solver_iterations += inside.iteration
        memory.set_policy(game.lift_policy(policy.probabilities))

    def _response_sequences(self, tree: TreeArena, memory: XDOMemory, found: BestResponses) -> Any:
        """The sequences [S] of both best responses."""
        wanted = found.response[:-1] > 0.0
        if self.expand_unreached or not memory.allowed_sequences.any():
            return wanted
        met = infoset_values(tree, Policy(tree, memory.policy)).cf_reach > 0.0
        return wanted & np.repeat(met, tree.num_actions)
