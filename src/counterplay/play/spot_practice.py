"""Practice of a hold'em spot against its solution, with the EV loss of each decision."""

from __future__ import annotations

from dataclasses import dataclass, field

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot_game import SpotGame, SpotState
from counterplay.core.arena import Floats
from counterplay.core.cards import cards_name, hand_name
from counterplay.errors import ConfigError, suggestion
from counterplay.play.sessions import InteractiveEpisode


@dataclass(frozen=True)
class PracticeDecision:
    """A decision of the person, and its EV loss in chips."""

    history: str  # before the decision
    action: str
    solution_frequency: float  # probability of the action in the solution
    ev_loss: float  # against the best action, if the solution is followed afterwards
    best_action: str


class SolutionAgent:
    """Plays a spot by its solution, and knows the EVs of all actions."""

    def __init__(self, policy: HoldemPolicy):
        self.policy = policy
        self._view: tuple[str, NodeView] | None = None  # the last node, by its history

    def view(self, history: str) -> NodeView:
        """Return the node after a history, with all hands of the acting player's range."""
        if self._view is None or self._view[0] != history:
            self._view = history, inspect_node(self.policy, history)
        return self._view[1]

    def action_probabilities(self, state: SpotState, player: int) -> list[float]:
        """Return the solution's action probabilities with the player's hand."""
        view = self.view(state.history)
        weights = view.policy[:, self._hand_index(view, state, player)]
        probabilities: list[float] = (weights / weights.sum()).tolist()
        return probabilities

    def action_values(self, state: SpotState, player: int) -> Floats:
        """Return the EV in chips of each action with the player's hand."""
        view = self.view(state.history)
        return view.action_value[:, self._hand_index(view, state, player)]

    def _hand_index(self, view: NodeView, state: SpotState, player: int) -> int:
        return view.hands.index(hand_name(state.hands[player]))


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
    decisions: list[PracticeDecision] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.player not in (0, 1):
            raise ConfigError(f"player is {self.player!r}, must be 0 or 1")
        self._agent = SolutionAgent(self.policy)
        self.episode = InteractiveEpisode(
            SpotGame(self.policy.arena.spot),
            self.player,
            self._agent,
            self.seed,
            evaluator=self._agent,
        )

    @property
    def state(self) -> SpotState:
        state: SpotState = self.episode.state
        return state

    @property
    def history(self) -> str:
        """The public actions and cards so far, such as `check,bet 50|Td`."""
        return self.state.history

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
        return self.episode.is_over

    @property
    def view(self) -> NodeView:
        """The node where the person acts, with all hands of its range."""
        return self._agent.view(self.history)

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
        history, names = self.history, list(self.view.actions)
        if action not in names:
            raise ConfigError(
                f"there is no action {action!r} here{suggestion(action, names)} "
                f"({', '.join(names)})"
            )
        index = names.index(action)
        frequency = self._agent.action_probabilities(self.state, self.player)[index]
        choice = self.episode.take_action(index)
        decision = PracticeDecision(
            history=history,
            action=action,
            solution_frequency=frequency,
            ev_loss=choice.ev_loss or 0.0,
            best_action=names[choice.best_index],
        )
        self.decisions.append(decision)
        return decision

    def chips_won(self) -> float:
        """Return the chips that the person wins; defined at the end."""
        return float(self.episode.utilities()[self.player])
