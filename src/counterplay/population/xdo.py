"""Extensive-form double oracle: the restricted game is a tree, not a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from counterplay.errors import ConfigError
from counterplay.evaluate import Responses, infoset_values, judge, respond
from counterplay.policy import Policy
from counterplay.population.restricted import RestrictedGame, UnitedPools, new_united_pools
from counterplay.registry import load_algorithm
from counterplay.settings import settings
from counterplay.tree import Tree


@dataclass
class XDOMemory(UnitedPools):
    """Best responses, and among their actions an equilibrium, nearly."""

    threshold: float = 0.0  # exploitability in the restricted game at which its solver stops
    inner: int = 0  # iterations of the solver in all


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
    threshold: float = 16.0  # the first one, in the game's units
    every: int = 50
    unreached: bool = False
    target: float = 1e-9  # exploitability, in parts of the largest utility
    most: int = 100_000  # iterations of the solver in one iteration
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    needs: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not self.threshold > 0.0:
            raise ConfigError(f"xdo: threshold is {self.threshold}, must be positive")
        for name in ("every", "most"):
            if getattr(self, name) < 1:
                raise ConfigError(f"xdo: {name} is {getattr(self, name)}, must be at least 1")
        if not 0.0 <= self.target < 1.0:
            raise ConfigError(f"xdo: target is {self.target}, must be from 0 to 1")
        if "sequences" not in load_algorithm(self.solver).runs_on:
            raise ConfigError(f"xdo: solver is {self.solver}, must be full-width, such as cfr_plus")

    def init(self, tree: Tree, seed: int = 0) -> XDOMemory:
        memory: XDOMemory = new_united_pools("xdo", tree, seed, XDOMemory)
        memory.threshold = float(self.threshold)
        return memory

    def step(self, tree: Tree, memory: XDOMemory, iterations: int = 1) -> XDOMemory:
        for _ in range(iterations):
            memory.iteration += 1
            if not memory.finished:
                self._advance(tree, memory)
        return memory

    def policies(self, tree: Tree, memory: XDOMemory) -> dict[str, Policy]:
        return {"restricted": Policy(tree, memory.policy)}

    def _advance(self, tree: Tree, memory: XDOMemory) -> None:
        found = respond(tree, memory.policy)
        gap = float((found.best_values - found.values).sum()) / 2.0
        if memory.allowed.any():
            if gap < memory.threshold:
                memory.threshold /= 2.0
            if gap <= self.target * float(np.abs(tree.utility).max()):
                memory.end("no player gains")
                return
        both = [found.response[:-1]] * tree.num_players
        memory.join(tree, both, self._wanted(tree, memory, found))
        game = RestrictedGame(tree, memory.allowed)
        solver = load_algorithm(self.solver)
        inside = solver.step(game, solver.init(game), 1)
        while True:
            policy = next(iter(solver.policies(game, inside).values()))
            reached = judge(game, policy).exploitability < memory.threshold
            if reached or inside.iteration >= self.most:
                break
            inside = solver.step(game, inside, self.every)
        memory.inner += inside.iteration
        memory.play(game.lifted(policy.probabilities))

    def _wanted(self, tree: Tree, memory: XDOMemory, found: Responses) -> Any:
        """The sequences [S] of both best responses."""
        wanted = found.response[:-1] > 0.0
        if self.unreached or not memory.allowed.any():
            return wanted
        met = infoset_values(tree, Policy(tree, memory.policy)).cf_reach > 0.0
        return wanted & np.repeat(met, tree.num_actions)
