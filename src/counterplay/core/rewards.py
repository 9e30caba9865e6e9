"""Games that pay rewards on the way, and their conversion to games that pay at the end.

All algorithms of this library read utilities at terminal states. Searchers that back up values
also add rewards; for everything else `AccumulatedRewards` carries their sums to the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from counterplay.core.game import Game, State


@runtime_checkable
class RewardGame(Game, Protocol):
    """A game that also pays the players when an action is taken, as a Markov decision problem."""

    def step_rewards(self, state: State, action: int) -> Sequence[float]:
        """Return every player's reward R(s, a) for an action of a player or of chance."""
        ...


def step_rewards(game: Game, state: State, action: int) -> Sequence[float]:
    """Return every player's reward for an action; zeros if the game pays at the end only."""
    if isinstance(game, RewardGame):
        return game.step_rewards(state, action)
    return (0.0,) * game.num_players


class RewardState(NamedTuple):
    """A state of the game, and the rewards of all players so far."""

    state: Any
    totals: tuple[float, ...]


@dataclass(frozen=True)
class AccumulatedRewards:
    """A game with rewards on the way as an ordinary game, for trees, rules and all algorithms.

    The state carries the sums of rewards, which are added to the utilities at the end. Players know
    as much as in the game itself.

    Args:
        game: a `RewardGame`.
    """

    game: Any

    @property
    def num_players(self) -> int:
        return int(self.game.num_players)

    def initial_state(self) -> RewardState:
        return RewardState(self.game.initial_state(), (0.0,) * self.num_players)

    def player(self, state: RewardState) -> int:
        return int(self.game.player(state.state))

    def actions(self, state: RewardState) -> Sequence[int]:
        actions: Sequence[int] = self.game.actions(state.state)
        return actions

    def chance_outcomes(self, state: RewardState) -> Sequence[tuple[int, float]]:
        outcomes: Sequence[tuple[int, float]] = self.game.chance_outcomes(state.state)
        return outcomes

    def next_state(self, state: RewardState, action: int) -> RewardState:
        rewards = step_rewards(self.game, state.state, action)
        totals = tuple(total + r for total, r in zip(state.totals, rewards, strict=True))
        return RewardState(self.game.next_state(state.state, action), totals)

    def utilities(self, state: RewardState) -> tuple[float, ...]:
        last = self.game.utilities(state.state)
        return tuple(total + u for total, u in zip(state.totals, last, strict=True))

    def infoset_key(self, state: RewardState, player: int) -> str:
        return str(self.game.infoset_key(state.state, player))

    def action_name(self, state: RewardState, action: int) -> str:
        return str(self.game.action_name(state.state, action))
