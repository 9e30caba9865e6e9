"""Playing a spot against its solution: what each decision lost against the best one."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from counterplay.cards import card_name, hand_name
from counterplay.errors import ConfigError, suggestion
from counterplay.public.looking import look
from counterplay.public.rules import SpotGame
from counterplay.public.tree import PublicPolicy
from counterplay.public.views import View


@dataclass(frozen=True)
class Decision:
    """One of the person's, and what it was worth in chips."""

    record: str
    action: str
    share: float  # how often the solution does the same
    lost: float  # against the best action, as the solution goes on afterwards
    best: str


@dataclass
class Sparring:
    """A spot under way: the solution plays the other seat and all that follows is exact.

    Args:
        policy: the solution.
        player: the person's seat.
        seed: of the cards and of what the solution does.
    """

    policy: PublicPolicy
    player: int
    seed: int = 0
    record: str = ""
    decisions: list[Decision] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.player not in (0, 1):
            raise ConfigError(f"player is {self.player!r}, must be 0 or 1")
        self._rng = np.random.default_rng(self.seed)
        self.game = SpotGame(self.policy.arena.spot)
        self.state = self.game.initial_state()
        self._draw()
        self._go_on()

    @property
    def hand(self) -> str:
        """The person's cards."""
        return hand_name(self.state.hands[self.player])

    @property
    def board(self) -> str:
        return "".join(card_name(card) for card in self.state.board)

    @property
    def finished(self) -> bool:
        return self.game.player(self.state) == -2

    @property
    def view(self) -> View:
        """The node where the person acts, with all its hands."""
        return look(self.policy, self.record)

    @property
    def lost(self) -> float:
        """Chips lost by all decisions so far."""
        return sum(decision.lost for decision in self.decisions)

    def choose(self, action: str) -> Decision:
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
        made = Decision(self.record, action, share, lost, view.actions[best])
        self.decisions.append(made)
        self._move(place)
        self._go_on()
        return made

    def result(self) -> float:
        """The chips that the person takes out of the spot, once it is over."""
        return float(self.game.utilities(self.state)[self.player])

    def _go_on(self) -> None:
        while not self.finished and self.game.player(self.state) != self.player:
            if self.game.player(self.state) < 0:
                self._draw()
                continue
            view = look(self.policy, self.record)
            at = view.hands.index(hand_name(self.state.hands[1 - self.player]))
            odds = view.policy[:, at]
            self._move(int(self._rng.choice(odds.size, p=odds / odds.sum())))

    def _draw(self) -> None:
        outcomes = self.game.chance_outcomes(self.state)
        chances = np.array([chance for _, chance in outcomes])
        self._move(outcomes[int(self._rng.choice(len(outcomes), p=chances / chances.sum()))][0])

    def _move(self, action: int) -> None:
        self.state = self.game.next_state(self.state, action)
        self.record = self.state.record
