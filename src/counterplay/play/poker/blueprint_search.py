"""A blueprint for any number of players, with search where two of them are left.

On the last streets, once all but two players have folded, the agent solves the rest of the hand
with exact cards in place of buckets, as Pluribus searches from the start of a street (Brown and
Sandholm, 2019): both players have the ranges that the blueprint gives them by Bayes' rule, and no
alternatives outside of the subgame (the method `unsafe`). The bets are those of the blueprint, so
that all agents of a table share one betting tree. Cards that folded players may hold are not
removed from the ranges.

The subgame begins at the first decision of two players on such a street: at its start, or after the
fold that left two. It is cached, so that all decisions of a hand follow one solution.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, ClassVar

import numpy as np

from counterplay.abstraction.betting_policy import BettingPolicy
from counterplay.core.arena import Floats
from counterplay.core.cards import hand_index
from counterplay.core.game import CHANCE
from counterplay.core.settings import NonNegativeInt, Positive, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import HoldemBase, HoldemState
from counterplay.play.poker.hunl import NUM_HANDS, load_blueprint, root_ranges
from counterplay.play.poker.subgame import (
    SubgameArena,
    SubgamePolicy,
    clock_limit,
    solve_subgame,
)
from counterplay.registry import get_spec

RIVER = 3  # betting round
MAX_CACHED_SUBGAMES = 64


@settings()
class BlueprintSearch:
    """A blueprint with search where two players are left; see `play.poker.blueprint_search`."""

    blueprint: str = "blueprint.npz"  # a file, a run, or a folder of runs (the newest)
    search_street: NonNegativeInt = RIVER  # first betting round that is searched; from 1 on
    iterations: PositiveInt = 150  # of DCFR
    max_seconds: Positive = 3.0  # limit of a decision
    needs: ClassVar[str] = "rules"

    def make_agent(self, game: HoldemBase) -> BlueprintSearchAgent:
        """Return the agent for a game, with the blueprint loaded."""
        return BlueprintSearchAgent(game, load_blueprint(self.blueprint), self)


class BlueprintSearchAgent:
    """See the module.

    Args:
        game: hold'em with the betting of the blueprint.
        blueprint: the policy elsewhere, which may have experts for parts.
        config: where and how long to search.

    Raises:
        ConfigError: the blueprint is for another game, stacks differ, or there is no river.
    """

    def __init__(self, game: Any, blueprint: BettingPolicy, config: BlueprintSearch):
        if blueprint.tables.game != game:
            raise ConfigError(
                f"{config.blueprint} is a blueprint for {get_spec(blueprint.tables.game)}, not for "
                f"{get_spec(game)}"
            )
        if sum(game.board_cards) != 5 or len(set(game.starting_stacks)) > 1:
            raise ConfigError(
                f"blueprint_search needs a game with a river and equal stacks, not {get_spec(game)}"
            )
        if config.search_street < 1:
            raise ConfigError("blueprint_search: search_street must be 1 (the flop) or later")
        self.game, self.blueprint, self.config = game, blueprint, config
        self._solved: OrderedDict[str, SubgamePolicy] = OrderedDict()
        self.num_searches = 0

    def action_probabilities(self, state: HoldemState, player: int) -> list[float]:
        """Return the probabilities of the legal actions with the player's hand."""
        path = self._replay(state)
        root = next((k for k, (s, _) in enumerate(path) if self._is_searched(s)), -1)
        if root < 0:
            return self.blueprint.action_probabilities(state, player)
        start = path[root][0]
        if start.history not in self._solved:
            self._solved[start.history] = self._solve(start, path[:root])
            while len(self._solved) > MAX_CACHED_SUBGAMES:
                self._solved.popitem(last=False)
        policy, node = self._solved[start.history], 0
        for _, action in path[root:-1]:
            node = policy.find_child(node, action)
        row = policy.probabilities_at(node)[hand_index(*self.game.hole_cards(state, player))]
        result: list[float] = row.tolist()
        return result

    def _is_searched(self, state: HoldemState) -> bool:
        """Return True at decisions of two players on the streets that are searched."""
        return state.round >= self.config.search_street and len(state.players_left) == 2

    def _replay(self, state: HoldemState) -> list[tuple[HoldemState, int]]:
        """Return the decisions up to a state with their actions; the last one has action -1."""
        game, path = self.game, list[tuple[HoldemState, int]]()
        current, cards = game.initial_state(), iter(state.cards)
        for action in (*game.past_actions(state), -1):
            while current.to_act == CHANCE:
                current = game.next_state(current, next(cards))
            path.append((current, action))
            if action >= 0:
                current = game.next_state(current, action)
        return path

    def _solve(self, root: HoldemState, path: list[tuple[HoldemState, int]]) -> SubgamePolicy:
        """Solve the subgame that begins at a state with the ranges that the blueprint gives."""
        arena = SubgameArena(self.game, root)
        ranges = root_ranges(arena, [self._range(path, p) for p in root.players_left], 0)
        self.num_searches += 1
        limit = clock_limit(self.config.max_seconds)
        return solve_subgame(arena, ranges, 0, None, "unsafe", self.config.iterations, limit)

    def _range(self, path: list[tuple[HoldemState, int]], player: int) -> Floats:
        """Return a player's probability [1326] of its actions so far with each hand."""
        reach: Floats = np.ones(NUM_HANDS)
        for state, action in path:
            if state.to_act == player:
                actions, rows = self.blueprint.hand_policy(state, player)
                reach = reach * rows[:, actions.index(action)]
        return reach
