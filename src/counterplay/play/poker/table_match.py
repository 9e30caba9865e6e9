"""Matches of blueprints on one betting tree, in compiled code: a million hands a minute or more.

The episodes are those of `play.match`: the same cards, the same random numbers for each seat, and
all seatings of a deal.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from counterplay.abstraction.betting_policy import BettingPolicy
from counterplay.abstraction.kernel_game import (
    BucketSets,
    PolicyRows,
    concatenate_weights,
    make_kernel_game,
    new_scratch,
)
from counterplay.core.game import Game
from counterplay.kernels.poker import betting_walk
from counterplay.play.episodes import Agent
from counterplay.play.match import Match

DEALS_AT_ONCE = 2000


class TableMatch(Match):
    """A match of blueprints for the same betting tree, with estimates as in `Match`.

    Example:
        >>> from counterplay.abstraction.betting_policy import BettingPolicy, betting_tables
        >>> from counterplay.registry import load_abstracted_game, load_game
        >>> betting = "blinds=(1,2),opens=(0,),raises=(4,),raise_caps=(1,)"
        >>> game = load_game(f"poker({betting},board=(0,))")
        >>> bucketed = load_abstracted_game(game, "by_equity(perfect_recall=false)")
        >>> uniform = BettingPolicy(bucketed, np.ones(betting_tables(bucketed).num_entries))
        >>> match = TableMatch(game, [uniform, uniform])
        >>> for _ in match.play(4000):
        ...     pass
        >>> match.result().scores[0].mean
        0.0
    """

    rounds_at_once = DEALS_AT_ONCE

    def __init__(
        self, game: Game, agents: Sequence[Agent], seed: int = 0, confidence: float = 0.95
    ):
        super().__init__(game, agents, seed, confidence)
        policies = [agent for agent in agents if isinstance(agent, BettingPolicy)]
        tables, sets = policies[0].tables, BucketSets()
        self._weights, rows = concatenate_weights(policies, sets)
        self._starts = np.array([row.start for row in rows])
        self._sources = np.array([row.source for row in rows])
        nowhere = PolicyRows(np.zeros(0, np.int64), np.zeros(0, np.int32))
        self._kernel_game = make_kernel_game(tables, sets, nowhere, self._weights[:0])
        self._scratch = new_scratch(tables, len(sets.games))

    def play_rounds(self, count: int) -> None:
        """Play deals in all seatings and count them."""
        begin = self.tally.num_rounds
        utility = np.zeros((count, *self.seatings.shape))
        betting_walk.play_deals(
            begin,
            begin + count,
            np.uint64(self.seed),
            self._kernel_game,
            self._weights,
            self._starts,
            self._sources,
            self.seatings,
            self._scratch,
            utility,
        )
        self.tally = self.tally.add_rounds(self.seat_weights, utility, False)


def new_match(game: Game, agents: Sequence[Agent], seed: int = 0) -> Match:
    """Return a match of agents, in compiled code if they are blueprints of the game."""
    if all(isinstance(agent, BettingPolicy) and agent.tables.game == game for agent in agents):
        return TableMatch(game, agents, seed)
    return Match(game, agents, seed)
