"""Playing a spot against its solution: what each decision lost against the best one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot_game import SpotGame
from counterplay.core.cards import card_name, hand_name
from counterplay.errors import ConfigError, suggestion


@dataclass(frozen=True)
class PracticeDecision:
    """One of the person's, and what it was worth in chips."""

    history: str
    action: str
    solution_frequency: float  # how often the solution does the same
    ev_loss: float  # against the best action, as the solution goes on afterwards
    best_action: str


@dataclass
class SpotPractice:
    """A spot under way: the solution plays the other seat and all that follows is exact.

    Args:
        policy: the solution.
        player: the person's seat.
        seed: of the cards and of what the solution does.
    """

    policy: HoldemPolicy
    player: int
    seed: int = 0
    history: str = ""
    decisions: list[PracticeDecision] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.player not in (0, 1):
            raise ConfigError(f"player is {self.player!r}, must be 0 or 1")
        self._rng = np.random.default_rng(self.seed)
        self.game = SpotGame(self.policy.arena.spot)
        self.state = self.game.initial_state()
        self._sample_chance()
        self._advance()

    @property
    def hand(self) -> str:
        """The person's cards."""
        return hand_name(self.state.hands[self.player])

    @property
    def board(self) -> str:
        return "".join(card_name(card) for card in self.state.board)

    @property
    def is_finished(self) -> bool:
        return self.game.player(self.state) == -2

    @property
    def view(self) -> NodeView:
        """The node where the person acts, with all its hands."""
        return inspect_node(self.policy, self.history)

    @property
    def total_ev_loss(self) -> float:
        """Chips lost by all decisions so far."""
        return sum(decision.ev_loss for decision in self.decisions)

    def take_action(self, action: str) -> PracticeDecision:
        """Take an action; the solution and the cards go on to the person's next one or the end."""
        view = self.view
        if action not in view.actions:
            names = ", ".join(view.actions)
            raise ConfigError(
                f"there is no {action!r} here{suggestion(action, view.actions)} ({names})"
            )
        at, place = view.hands.index(self.hand), view.actions.index(action)
        values = view.action_value[:, at]
        best = int(values.argmax())
        lost = float(values[best] - values[place])
        share = float(view.policy[place, at])
        made = PracticeDecision(self.history, action, share, lost, view.actions[best])
        self.decisions.append(made)
        self._apply_action(place)
        self._advance()
        return made

    def chips_won(self) -> float:
        """The chips that the person takes out of the spot, once it is over."""
        return float(self.game.utilities(self.state)[self.player])

    def _advance(self) -> None:
        while not self.is_finished and self.game.player(self.state) != self.player:
            if self.game.player(self.state) < 0:
                self._sample_chance()
                continue
            view = inspect_node(self.policy, self.history)
            at = view.hands.index(hand_name(self.state.hands[1 - self.player]))
            odds = view.policy[:, at]
            self._apply_action(int(self._rng.choice(odds.size, p=odds / odds.sum())))

    def _sample_chance(self) -> None:
        outcomes = self.game.chance_outcomes(self.state)
        chances = np.array([chance for _, chance in outcomes])
        self._apply_action(
            outcomes[int(self._rng.choice(len(outcomes), p=chances / chances.sum()))][0]
        )

    def _apply_action(self, action: int) -> None:
        self.state = self.game.next_state(self.state, action)
        self.history = self.state.history
