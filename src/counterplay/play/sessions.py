"""A person against an agent, decision by decision: the state machine behind every front end.

The terminal, the studio and the practice of hold'em spots all play an `InteractiveEpisode`. They
only show it and read the person's actions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from counterplay.core.game import TERMINAL, Game, State, action_labels
from counterplay.core.game_checks import call_rule, rule_error, utilities_problem
from counterplay.errors import ConfigError
from counterplay.play.episodes import (
    Agent,
    EpisodeStep,
    RandomStreams,
    agent_for_episode,
    play_from,
)
from counterplay.search.search_report import SearchReport, search_report

if TYPE_CHECKING:
    from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
    from counterplay.core.arena import Floats


class ActionEvaluator(Protocol):
    """Computes the values of a person's actions against an opponent."""

    def action_values(self, state: State, player: int) -> Floats | None:
        """Return the EV of each legal action of the player to act; None if it is unknown."""
        ...


@dataclass(frozen=True)
class TreeEvaluator:
    """Values against a policy of a tree, if the person plays a best response afterwards."""

    analysis: PolicyAnalysis

    def find_infoset(self, state: State, player: int) -> int:
        """Return the index of the player's infoset at a state."""
        tree = self.analysis.tree
        return tree.find_infoset(tree.game.infoset_key(state, player), player)

    def action_values(self, state: State, player: int) -> Floats | None:
        """Return the EV of each action; None if the opponent never lets the player get there."""
        infoset = self.find_infoset(state, player)
        if not self.analysis.infoset_values.cf_reach[infoset] > 0.0:
            return None
        first, last = self.analysis.tree.offset[infoset : infoset + 2].tolist()
        return self.analysis.mistakes.best_value[first:last]


@dataclass(frozen=True)
class Decision:
    """A decision of the person, with the EVs of all its actions."""

    step: EpisodeStep
    index: int  # of the chosen action among the legal ones
    action_values: Floats | None  # in the order of the legal actions; None if unknown

    @property
    def best_index(self) -> int:
        """Index of the best action; the chosen one if values are unknown."""
        return self.index if self.action_values is None else int(self.action_values.argmax())

    @property
    def ev_loss(self) -> float | None:
        """EV of the best action minus EV of the chosen one; None if values are unknown."""
        if self.action_values is None:
            return None
        return float(self.action_values.max() - self.action_values[self.index])


class _RecordingAgent:
    """An agent, with the reports of its searches in the order of its decisions."""

    def __init__(self, agent: Agent):
        self.agent = agent
        self.reports: list[SearchReport | None] = []

    def action_probabilities(self, state: State, player: int) -> Sequence[float]:
        probabilities = self.agent.action_probabilities(state, player)
        self.reports.append(search_report(self.agent, state, player))
        return probabilities


class InteractiveEpisode:
    """One episode in which a person has one seat and an agent has all others.

    Chance and the agent act at once, so that either the person is to act or the episode is over.
    The same seed, number and actions of the person give the same episode.

    Args:
        game: the rules.
        seat: the person's seat.
        opponent: the agent in the other seats.
        seed: seed of chance and of the agent.
        number: number of the episode; every number gives other random numbers.
        evaluator: computes EV losses; None if they are unknown.

    Raises:
        ConfigError: the seat does not exist, or the agent cannot play.
        GameError: the rules break the protocol.

    Example:
        >>> import counterplay as cp
        >>> from counterplay.play.sessions import InteractiveEpisode
        >>> game = cp.load_game("kuhn_poker")
        >>> episode = InteractiveEpisode(game, 0, cp.uniform_policy(game), seed=1)
        >>> episode.action_names
        ['pass', 'bet']
        >>> decision = episode.take_action(1)
        >>> episode.is_over, list(episode.utilities())
        (True, [2.0, -2.0])
    """

    def __init__(
        self,
        game: Game,
        seat: int,
        opponent: Agent,
        seed: int,
        number: int = 0,
        evaluator: ActionEvaluator | None = None,
    ):
        if not 0 <= seat < game.num_players:
            raise ConfigError(f"seat is {seat}, must be from 0 to {game.num_players - 1}")
        self.game, self.seat, self.opponent, self.evaluator = game, seat, opponent, evaluator
        self._draw = RandomStreams(seed, number)
        self._agents: list[Agent | None] = [
            _RecordingAgent(agent_for_episode(opponent, self._draw(player)))
            for player in range(game.num_players)
        ]
        self._agents[seat] = None
        self.person_actions: list[int] = []  # indices among the legal actions
        self.steps: list[EpisodeStep] = []
        self.state: State = call_rule(game, list, game.initial_state)
        self._advance()

    @property
    def is_over(self) -> bool:
        return self.game.player(self.state) == TERMINAL

    @property
    def actions(self) -> Sequence[int]:
        """The person's legal actions."""
        return self.game.actions(self.state)

    @property
    def action_names(self) -> list[str]:
        """The short names of the person's legal actions."""
        return [self.game.action_name(self.state, action) for action in self.actions]

    @property
    def action_labels(self) -> Sequence[str]:
        """The person's legal actions in words."""
        return action_labels(self.game, self.state)

    def action_values(self) -> Floats | None:
        """Return the EV of each legal action of the person; None if it is unknown."""
        return self._values_at(self.state)

    def hint(self) -> Sequence[float]:
        """Return the action probabilities of the opponent if it had the person's seat."""
        return self.opponent.action_probabilities(self.state, self.seat)

    def take_action(self, index: int) -> Decision:
        """Take the legal action of this index, and play on to the person's next decision.

        Raises:
            ConfigError: the episode is over, or there is no such action.
        """
        if self.is_over:
            raise ConfigError("the episode is over")
        actions = self.actions
        if not 0 <= index < len(actions):
            raise ConfigError(f"there is no action {index} here, only 0 to {len(actions) - 1}")
        probabilities = [float(place == index) for place in range(len(actions))]
        step = EpisodeStep(self.state, self.seat, actions, probabilities, actions[index])
        decision = self._decision_at(step)
        self.state = call_rule(
            self.game, self._history, self.game.next_state, self.state, actions[index]
        )
        self.steps.append(step)
        self.person_actions.append(index)
        self._advance()
        return decision

    def decisions(self) -> list[Decision]:
        """Return the person's decisions so far, with their EV losses."""
        return [self._decision_at(step) for step in self.steps if step.player == self.seat]

    def search_reports(self) -> dict[int, SearchReport]:
        """Return what the agent's searches have computed, by the index of the step."""
        reports: dict[int, SearchReport] = {}
        for player, agent in enumerate(self._agents):
            taken = [k for k, step in enumerate(self.steps) if step.player == player]
            if isinstance(agent, _RecordingAgent):
                pairs = zip(taken, agent.reports, strict=True)
                reports |= {k: report for k, report in pairs if report is not None}
        return reports

    def total_ev_loss(self) -> float:
        """Return the EV that the person's decisions have lost, where it is known."""
        return sum(decision.ev_loss or 0.0 for decision in self.decisions())

    def utilities(self) -> Sequence[float]:
        """Return the utilities of all players; defined when the episode is over."""
        utilities = call_rule(self.game, self._history, self.game.utilities, self.state)
        problem = call_rule(
            self.game, self._history, utilities_problem, utilities, self.game.num_players
        )
        if problem:
            raise rule_error(self.game, self._history(), problem)
        return utilities

    def _advance(self) -> None:
        """Let chance and the agent act until the person is to act or the episode is over."""
        steps, self.state = play_from(
            self.game, self.state, self._agents, self._draw, past_steps=self.steps
        )
        self.steps += steps

    def _decision_at(self, step: EpisodeStep) -> Decision:
        index = list(step.actions).index(step.action)
        return Decision(step, index, self._values_at(step.state))

    def _values_at(self, state: State) -> Floats | None:
        return self.evaluator.action_values(state, self.seat) if self.evaluator else None

    def _history(self) -> list[int]:
        return [step.action for step in self.steps]


@dataclass
class PlayScore:
    """The running score of a person over episodes."""

    num_episodes: int = 0
    utility: float = 0.0  # sum over episodes
    ev_loss: float = 0.0  # sum over decisions whose loss is known

    @property
    def mean_utility(self) -> float:
        return self.utility / max(self.num_episodes, 1)

    def add_episode(self, utility: float, ev_loss: float) -> None:
        """Count an episode that is over."""
        self.num_episodes += 1
        self.utility += utility
        self.ev_loss += ev_loss
