"""Play of a person against a policy or a searcher, with the EV loss of each decision.

An episode is restored from its seed and the person's actions, so that the server keeps no state:
an episode survives the loss of a worker process. Until the end the person is shown the content of
its infoset key and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.core.arena import Floats
from counterplay.core.game import (
    CHANCE,
    TERMINAL,
    DrawnGame,
    Game,
    State,
    action_labels,
    describe_situation,
)
from counterplay.errors import ConfigError
from counterplay.play.episodes import (
    Agent,
    EpisodeStep,
    RandomStreams,
    agent_for_episode,
    play_from,
)

MAX_CACHED_EPISODES = 16  # episodes in progress that continue without a replay


@dataclass
class EpisodeInProgress:
    """An episode in progress: its steps so far and its current state."""

    person_actions: list[int]  # indices among the legal actions
    steps: list[EpisodeStep]
    state: State
    agents: list[Agent | None]  # by seat; None for the person
    random_stream: RandomStreams


class InteractivePlay:
    """Episodes of one game between a person and an agent."""

    def __init__(self, game: Game):
        self.game = game
        self.episodes: OrderedDict[str, EpisodeInProgress] = OrderedDict()

    def describe_episode(
        self,
        query: dict[str, Any],
        opponent: Agent,
        analysis: PolicyAnalysis | None,
    ) -> dict[str, Any]:
        """Return, as JSON, the information of the person after its actions so far.

        Args:
            query: JSON with the person's `seat`, its `actions` so far (indices among the legal
                ones), the `seed` and `number` of the episode, a `name` to cache it by, and
                optionally `hint`.
            opponent: the agent in all other seats.
            analysis: values of the opponent's policy, for losses and hints.

        Raises:
            ConfigError: the seat or an action is out of range.
        """
        seat = int(query["seat"])
        if not 0 <= seat < self.game.num_players:
            raise ConfigError(f"seat is {seat}, must be from 0 to {self.game.num_players - 1}")
        episode = self._restore_episode(query, seat, opponent)
        state, is_over = episode.state, self.game.player(episode.state) == TERMINAL
        answer: dict[str, Any] = {
            "over": is_over,
            "seat": seat,
            "players": self.game.num_players,
            "move": len(episode.person_actions),
            "board": self.game.board(state) if isinstance(self.game, DrawnGame) else "",
            "decisions": [
                self._describe_decision(step, seat, analysis)
                for step in episode.steps
                if step.player == seat
            ],
        }
        if is_over:
            return answer | self._describe_end(episode, seat)
        names = [self.game.action_name(state, action) for action in self.game.actions(state)]
        answer |= {
            "words": describe_situation(self.game, state, seat),
            "key": self.game.infoset_key(state, seat),
            "actions": [
                {"name": name, "words": label}
                for name, label in zip(names, action_labels(self.game, state), strict=True)
            ],
        }
        if query.get("hint"):
            answer["hint"] = self._describe_hint(state, seat, opponent, analysis)
        return answer

    def _restore_episode(
        self, query: dict[str, Any], seat: int, opponent: Agent
    ) -> EpisodeInProgress:
        """Return the episode after the query's actions, continued from the cache if possible."""
        actions = list(query["actions"])
        name = str(query["name"])
        episode = self.episodes.pop(name, None)
        if episode is None or episode.person_actions != actions[: len(episode.person_actions)]:
            draw = RandomStreams(int(query["seed"]), int(query["number"]))
            agents: list[Agent | None] = [
                agent_for_episode(opponent, draw(player)) for player in range(self.game.num_players)
            ]
            agents[seat] = None
            episode = EpisodeInProgress([], [], self.game.initial_state(), agents, draw)
            self._advance_to_person(episode)
        for action in actions[len(episode.person_actions) :]:
            self._apply_action(episode, seat, action)
        self.episodes[name] = episode
        while len(self.episodes) > MAX_CACHED_EPISODES:
            self.episodes.popitem(last=False)
        return episode

    def _apply_action(self, episode: EpisodeInProgress, seat: int, action: int) -> None:
        state = episode.state
        if self.game.player(state) == TERMINAL:
            raise ConfigError("the episode is over")
        legal = self.game.actions(state)
        if not 0 <= action < len(legal):
            raise ConfigError(f"there is no action {action} here, only 0 to {len(legal) - 1}")
        probabilities = [float(index == action) for index in range(len(legal))]
        episode.steps.append(EpisodeStep(state, seat, legal, probabilities, legal[action]))
        episode.state = self.game.next_state(state, legal[action])
        episode.person_actions.append(action)
        self._advance_to_person(episode)

    def _advance_to_person(self, episode: EpisodeInProgress) -> None:
        """Let chance and the opponents act until the person acts, or to the end."""
        steps, episode.state = play_from(
            self.game, episode.state, episode.agents, episode.random_stream
        )
        episode.steps += steps

    def _describe_decision(
        self, step: EpisodeStep, seat: int, analysis: PolicyAnalysis | None
    ) -> dict[str, Any]:
        """Return the person's action at a step and its EV loss against this opponent."""
        index = list(step.actions).index(step.action)
        labels = action_labels(self.game, step.state)
        decision: dict[str, Any] = {
            "words": describe_situation(self.game, step.state, seat),
            "action": labels[index],
            "loss": None,
        }
        if analysis is not None:
            decision["infoset"], values = self._best_values(step.state, seat, analysis)
            if values is not None:
                decision["loss"] = float(values.max() - values[index])
                decision["best"] = labels[int(values.argmax())]
        return decision

    def _describe_hint(
        self, state: State, seat: int, opponent: Agent, analysis: PolicyAnalysis | None
    ) -> list[dict[str, Any]]:
        """Return the opponent's policy at the person's infoset, and the value of each action."""
        probabilities = opponent.action_probabilities(state, seat)
        hints = [{"probability": float(p)} for p in probabilities]
        if analysis is not None:
            _, values = self._best_values(state, seat, analysis)
            if values is not None:
                for hint, value in zip(hints, values.tolist(), strict=True):
                    hint["value"] = value
        return hints

    def _best_values(
        self, state: State, seat: int, analysis: PolicyAnalysis
    ) -> tuple[int, Floats | None]:
        """Return the person's infoset and the values of its actions if it plays best afterwards.

        There are no values (None) if the opponent never lets the person reach the infoset.
        """
        tree = analysis.tree
        infoset = tree.find_infoset(self.game.infoset_key(state, seat), seat)
        if not analysis.infoset_values.cf_reach[infoset] > 0.0:
            return infoset, None
        first, last = tree.offset[infoset : infoset + 2].tolist()
        return infoset, analysis.mistakes.best_value[first:last]

    def _describe_end(self, episode: EpisodeInProgress, seat: int) -> dict[str, Any]:
        """Return all that was hidden: every action, and the probabilities of the opponents'."""
        return {
            "utilities": list(map(float, self.game.utilities(episode.state))),
            "history": [
                {
                    "player": step.player,
                    "name": self._step_action_name(step),
                    "odds": self._step_probabilities(step, seat),
                }
                for step in episode.steps
            ],
        }

    def _step_action_name(self, step: EpisodeStep) -> str:
        if step.player == CHANCE:
            return self.game.action_name(step.state, step.action)
        return action_labels(self.game, step.state)[list(step.actions).index(step.action)]

    def _step_probabilities(self, step: EpisodeStep, seat: int) -> list[list[Any]]:
        """Return the labels and probabilities of an opponent's actions; empty for other steps."""
        if step.player in (CHANCE, seat):
            return []
        names: Sequence[str] = action_labels(self.game, step.state)
        return [[name, float(p)] for name, p in zip(names, step.probabilities, strict=True)]
