"""The common part of agents that search games of hidden information on their rules."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.game import Game, State
from counterplay.errors import SearchWarning
from counterplay.registry import get_registry_name, get_spec
from counterplay.search.search_report import SearchReport, range_from_states
from counterplay.search.state_sampling import (
    RulesStateSampler,
    SampledHistory,
    StateSampler,
    TreeStateSampler,
)


class HiddenSearchAgent:
    """An agent that searches from states which its player cannot tell from the actual one.

    Args:
        game: the rules.
        search: returns the probabilities of the actions; see `SearchRequest`.
        settings: the parameters, for messages.
        seed: seed of all random numbers.
        sampler: where states come from; by default simulations of the rules.
    """

    def __init__(
        self,
        game: Game,
        search: Callable[[SearchRequest], Sequence[float]],
        settings: Any,
        seed: int = 0,
        sampler: StateSampler | None = None,
    ):
        self.game, self.search, self.settings, self.seed = game, search, settings, seed
        self.rng = random.Random(seed)
        self.sampler = sampler or RulesStateSampler(game, seed)
        self.has_own_sampler = sampler is not None
        self.memory: dict[Any, Any] = {}  # of the search, for one episode
        self.last_request: SearchRequest | None = None

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions; uniform if no state is found."""
        actions = tuple(self.game.actions(state))
        self.last_request = None
        if len(actions) == 1:
            return [1.0]
        request = SearchRequest(self, state, player, actions)
        if not request.has_states:
            name = get_registry_name(self.settings)
            warnings.warn(
                f"{name} found no state of {get_spec(self.game)} that fits "
                f"{self.game.infoset_key(state, player)!r}; it plays uniformly there",
                SearchWarning,
                stacklevel=2,
            )
            return [1.0 / len(actions)] * len(actions)
        self.last_request = request
        return [float(p) for p in self.search(request)]

    def search_report(self, state: State, player: int) -> SearchReport:
        """Return the statistics of the last search, and the states that it has sampled."""
        request = self.last_request
        if request is None:
            reason = "there is one legal action"
            if len(self.game.actions(state)) > 1:
                reason = "no state was found that fits the infoset: uniform play"
            return SearchReport({"search": reason}, {})
        states = [history.state for history in request.histories()]
        others = (p for p in range(self.game.num_players) if p != player)
        ranges = [range_from_states(self.game, states, other) for other in others]
        facts = {"states": f"{len(states):,}"} | request.facts
        return SearchReport(facts, request.by_action, [r for r in ranges if r is not None])

    def for_episode(self, seed: int) -> HiddenSearchAgent:
        """Return the agent for one episode, with an empty memory."""
        sampler = self.sampler if self.has_own_sampler else None
        return HiddenSearchAgent(self.game, self.search, self.settings, seed, sampler)

    def on_tree(self, tree: TreeArena) -> Any:
        """Return the same agent with states drawn from a tree in place of simulations."""
        if hasattr(self.settings, "make_tree_agent"):
            return self.settings.make_tree_agent(tree, self.seed)
        sampler = TreeStateSampler(tree)
        return HiddenSearchAgent(self.game, self.search, self.settings, self.seed, sampler)


class SearchRequest:
    """A decision to search for: the player, its actions, and states that fit its infoset."""

    def __init__(
        self, agent: HiddenSearchAgent, state: State, player: int, actions: tuple[int, ...]
    ):
        self.game, self.rng, self.memory = agent.game, agent.rng, agent.memory
        self.player, self.actions = player, actions
        self._state, self._sampler = state, agent.sampler
        self.key = agent.game.infoset_key(state, player)
        self.facts: dict[str, str] = {}  # of the search, for its report
        self.by_action: dict[str, list[float]] = {}

    @property
    def has_states(self) -> bool:
        return bool(self._sampler.histories(self._state, self.player))

    def histories(self) -> Sequence[SampledHistory]:
        """Return the known histories of the infoset."""
        return self._sampler.histories(self._state, self.player)

    def draw(self) -> SampledHistory:
        """Return a random history of the infoset."""
        history = self._sampler.draw(self._state, self.player, self.rng)
        assert history is not None  # checked by `has_states`
        return history


def repeat_search(simulate: Callable[[], None], simulations: int, seconds: float) -> int:
    """Call a function a number of times, or until a time limit; return the number of calls."""
    if not seconds:
        for _ in range(simulations):
            simulate()
        return simulations
    deadline, count = time.perf_counter() + seconds, 0
    while not count or time.perf_counter() < deadline:
        simulate()
        count += 1
    return count
