"""Practice of a hold'em spot against its solution, with the EV loss of each decision."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot_game import SpotGame
from counterplay.core.arena import Floats
from counterplay.core.cards import cards_name, hand_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError, suggestion


@dataclass(frozen=True)
class PracticeDecision:
    """A decision of the person, and its EV loss in chips."""

    history: str  # before the decision
    action: str
    solution_frequency: float  # probability of the action in the solution
    ev_loss: float  # against the best action, if the solution is followed afterwards
    best_action: str


@dataclass
class SpotPractice:
    """One hand of a spot, in which the solution plays the other seat; EV losses are exact.

    Args:
        policy: the solution.
        player: the person's seat: 0 is out of position, 1 in position.
        seed: seed of the cards and of the solution's actions.
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
        """The person's cards, such as `AhKd`."""
        return hand_name(self.state.hands[self.player])

    @property
    def board(self) -> str:
        """The board, such as `Td9d6h`."""
        return cards_name(self.state.board)

    @property
    def is_finished(self) -> bool:
        return self.game.player(self.state) == TERMINAL

    @property
    def view(self) -> NodeView:
        """The node where the person acts, with all hands of its range."""
        return inspect_node(self.policy, self.history)

    @property
    def total_ev_loss(self) -> float:
        """Chips lost by all decisions so far."""
        return sum(decision.ev_loss for decision in self.decisions)

    def take_action(self, action: str) -> PracticeDecision:
        """Take an action, and play on to the person's next decision or to the end.

        Args:
            action: one of `view.actions`.

        Returns:
            The decision with its EV loss.

        Raises:
            ConfigError: there is no such action.
        """
        view = self.view
        if action not in view.actions:
            names = ", ".join(view.actions)
            raise ConfigError(
                f"there is no {action!r} here{suggestion(action, view.actions)} ({names})"
            )
        hand, index = view.hands.index(self.hand), view.actions.index(action)
        values = view.action_value[:, hand]
        best = int(values.argmax())
        decision = PracticeDecision(
            history=self.history,
            action=action,
            solution_frequency=float(view.policy[index, hand]),
            ev_loss=float(values[best] - values[index]),
            best_action=view.actions[best],
        )
        self.decisions.append(decision)
        self._apply_action(index)
        self._advance()
        return decision

    def chips_won(self) -> float:
        """Return the chips that the person wins; defined at the end."""
        return float(self.game.utilities(self.state)[self.player])

    def _advance(self) -> None:
        """Let chance and the solution act until the person acts, or to the end."""
        while not self.is_finished and self.game.player(self.state) != self.player:
            if self.game.player(self.state) == CHANCE:
                self._sample_chance()
                continue
            view = self.view
            hand = view.hands.index(hand_name(self.state.hands[1 - self.player]))
            self._apply_action(self._sample_index(view.policy[:, hand]))

    def _sample_chance(self) -> None:
        outcomes = self.game.chance_outcomes(self.state)
        index = self._sample_index(np.array([probability for _, probability in outcomes]))
        self._apply_action(outcomes[index][0])

    def _sample_index(self, weights: Floats) -> int:
        return int(self._rng.choice(weights.size, p=weights / weights.sum()))

    def _apply_action(self, action: int) -> None:
        self.state = self.game.next_state(self.state, action)
        self.history = self.state.history
