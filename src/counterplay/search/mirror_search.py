"""One step of mirror descent from a blueprint policy, at the decision in front of the player."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import exp, log
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.evaluation import check_same_game, infoset_values
from counterplay.core.game import CHANCE, TERMINAL, State
from counterplay.core.policy import Policy
from counterplay.core.settings import NonNegative, NonNegativeInt, Positive, PositiveInt, settings
from counterplay.play.episodes import sample_index
from counterplay.search.search_report import SearchReport
from counterplay.search.state_sampling import TreeStateSampler


@settings()
class MirrorSearch:
    """One-step mirror descent search (Sokota et al., 2023), for any number of players.

    With q(a) the value of an action if all follow the blueprint pi_b afterwards, in states drawn by
    the blueprint's ranges, and the uniform policy rho as a magnet, the agent plays

        pi(a) proportional to (exp(q(a) / scale) * rho(a)^alpha * pi_b(a)^beta) ^ (1/(alpha + beta))

    where scale is the largest absolute utility of the game. Without the term of pi_b the result is
    usually worse than the blueprint.
    """

    blueprint: str = "cfr_plus"  # an algorithm, a policy file or "uniform"
    blueprint_iterations: PositiveInt = 100  # of the algorithm
    alpha: NonNegative = 0.02
    beta: Positive = 0.1
    rollouts: NonNegativeInt = 0  # episodes per action; 0: exact values
    needs: ClassVar[str] = "tree"

    def make_agent(self, tree: TreeArena, blueprint: Policy, seed: int = 0) -> MirrorSearchAgent:
        """Return the agent for a tree and a blueprint of it."""
        return MirrorSearchAgent(tree, blueprint, self, seed)


class MirrorSearchAgent:
    """See `MirrorSearch`."""

    def __init__(
        self,
        tree: TreeArena,
        blueprint: Policy,
        settings: MirrorSearch,
        seed: int = 0,
        sampler: TreeStateSampler | None = None,
    ):
        check_same_game(tree, blueprint)
        self.tree, self.blueprint, self.settings = tree, blueprint, settings
        self.rng, self.scale = random.Random(seed), float(np.abs(tree.utility).max()) or 1.0
        self.sampler: Any = sampler
        self.last_search: dict[str, list[float]] = {}
        self.exact_values: Any = None
        if not settings.rollouts:
            self.exact_values = infoset_values(tree, blueprint).action_value
        elif sampler is None:
            self.sampler = TreeStateSampler(tree, blueprint)

    @property
    def game(self) -> Any:
        return self.tree.game

    def for_episode(self, seed: int) -> MirrorSearchAgent:
        """Return the agent for one episode; itself with exact values."""
        if not self.settings.rollouts:
            return self
        return MirrorSearchAgent(self.tree, self.blueprint, self.settings, seed, self.sampler)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        infoset = self.tree.find_infoset(self.tree.game.infoset_key(state, player), player)
        first, last = self.tree.offset[infoset : infoset + 2]
        prior = self.blueprint.probabilities[first:last].tolist()
        if self.exact_values is not None:
            values = self.exact_values[first:last].tolist()
        else:
            values = self._rollout_values(state, player)
        self.last_search = {"blueprint": prior, "value against the blueprint": values}
        return mirror_step(
            [value / self.scale for value in values],
            prior,
            self.settings.alpha,
            self.settings.beta,
        )

    def search_report(self, state: State, player: int) -> SearchReport:
        """Return the blueprint's probabilities and the values of the last search."""
        count = self.settings.rollouts
        facts = {"episodes per action": f"{count:,}"} if count else {"values": "exact"}
        return SearchReport(facts, self.last_search)

    def _rollout_values(self, state: State, player: int) -> list[float]:
        """Return the mean utility of episodes after each action, from the same states for all."""
        game, count = self.game, self.settings.rollouts
        starts = [self.sampler.draw(state, player, self.rng).state for _ in range(count)]
        return [
            sum(self._play_out(game.next_state(start, action))[player] for start in starts) / count
            for action in game.actions(state)
        ]

    def _play_out(self, state: State) -> Sequence[float]:
        """Return the utilities of an episode in which all follow the blueprint."""
        game, rng = self.game, self.rng
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                outcomes = game.chance_outcomes(state)
                actions, row = [a for a, _ in outcomes], [p for _, p in outcomes]
            else:
                actions = game.actions(state)
                row = self.blueprint.action_probabilities(state, player)
            state = game.next_state(state, actions[sample_index(row, rng.random())])
        utilities: Sequence[float] = game.utilities(state)
        return utilities


def mirror_step(
    values: Sequence[float], prior: Sequence[float], alpha: float, beta: float
) -> list[float]:
    """Return the policy after one step of mirror descent from a prior, with a uniform magnet.

    Args:
        values: value of each action, in units of the largest utility.
        prior: the policy to start from; its zeros stay zero.
        alpha: weight of the magnet, which draws the policy to uniform play.
        beta: weight of the prior; 1 / (alpha + beta) is the step size.
    """
    temperature = alpha + beta
    logits = [
        (value + beta * log(p)) / temperature if p > 0.0 else -np.inf
        for value, p in zip(values, prior, strict=True)
    ]
    largest = max(logits)
    weights = [exp(logit - largest) for logit in logits]
    total = sum(weights)
    return [weight / total for weight in weights]
