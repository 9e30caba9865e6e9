"""A person against a policy or a searcher, decision by decision, with what each mistake costs.

An episode is replayed from its seed and the person's actions, so that nothing has to be kept:
a desk that dies takes no game with it. Until the end the person is told what its infoset key says
and nothing else.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
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
from counterplay.play.match import Agent, EpisodeStep, RandomStreams, agent_for_episode, play_from

MAX_CACHED_EPISODES = 16  # episodes under way that go on without a replay


@dataclass
class EpisodeInProgress:
    """One under way: what has happened, and whose turn it is."""

    person_actions: list[int]  # the person's, as places among the legal ones
    steps: list[EpisodeStep]
    state: State
    agents: list[Agent | None]
    random_stream: RandomStreams


class InteractivePlay:
    """Where people play one game."""

    def __init__(self, game: Game):
        self.game = game
        self.episodes: OrderedDict[str, EpisodeInProgress] = OrderedDict()

    def describe_episode(
        self,
        query: dict[str, Any],
        opponent: Agent,
        analysis: PolicyAnalysis | None,
    ) -> dict[str, Any]:
        """What the person sees after its actions so far."""
        seat = int(query["seat"])
        if not 0 <= seat < self.game.num_players:
            raise ConfigError(f"seat is {seat}, must be from 0 to {self.game.num_players - 1}")
        episode = self._restore_episode(query, seat, opponent)
        state, over = episode.state, self.game.player(episode.state) == TERMINAL
        found: dict[str, Any] = {
            "over": over,
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
        if over:
            return found | self._describe_end(episode, seat)
        names = [self.game.action_name(state, action) for action in self.game.actions(state)]
        found |= {
            "words": describe_situation(self.game, state, seat),
            "key": self.game.infoset_key(state, seat),
            "actions": [
                {"name": name, "words": spoken}
                for name, spoken in zip(names, action_labels(self.game, state), strict=True)
            ],
        }
        if query.get("hint"):
            found["hint"] = self._describe_hint(state, seat, opponent, analysis)
        return found

    def _restore_episode(
        self, query: dict[str, Any], seat: int, opponent: Agent
    ) -> EpisodeInProgress:
        """The episode after these actions; goes on from where it was left, if that is known."""
        actions = list(query["actions"])
        name = str(query["name"])
        episode = self.episodes.pop(name, None)
        if episode is None or episode.person_actions != actions[: len(episode.person_actions)]:
            draw = RandomStreams(int(query["seed"]), int(query["number"]))
            places = range(self.game.num_players)
            ready = [agent_for_episode(opponent, draw(place)) for place in places]
            seats = [None if place == seat else ready[place] for place in places]
            episode = EpisodeInProgress([], [], self.game.initial_state(), seats, draw)
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
        sure = [float(place == action) for place in range(len(legal))]
        episode.steps.append(EpisodeStep(state, seat, legal, sure, legal[action]))
        episode.state = self.game.next_state(state, legal[action])
        episode.person_actions.append(action)
        self._advance_to_person(episode)

    def _advance_to_person(self, episode: EpisodeInProgress) -> None:
        """Chance and the opponents act until it is the person's turn, or over."""
        steps, episode.state = play_from(
            self.game, episode.state, episode.agents, episode.random_stream
        )
        episode.steps += steps

    def _describe_decision(
        self, step: EpisodeStep, seat: int, analysis: PolicyAnalysis | None
    ) -> dict[str, Any]:
        """What the person did, and what that gave away against this opponent."""
        taken = list(step.actions).index(step.action)
        found: dict[str, Any] = {
            "words": describe_situation(self.game, step.state, seat),
            "action": action_labels(self.game, step.state)[taken],
            "loss": None,
        }
        if analysis is not None:
            tree, lost = analysis.tree, analysis.mistakes
            number = tree.find_infoset(self.game.infoset_key(step.state, seat), seat)
            first, last = tree.offset[number : number + 2].tolist()
            found["infoset"] = number
            if analysis.infoset_values.cf_reach[number] > 0.0:
                best = lost.best_value[first:last]
                found["loss"] = float(best.max() - best[taken])
                found["best"] = action_labels(self.game, step.state)[int(best.argmax())]
        return found

    def _describe_hint(
        self, state: State, seat: int, opponent: Agent, analysis: PolicyAnalysis | None
    ) -> list[dict[str, Any]]:
        """What the opponent would do in the person's place, and what each action is worth."""
        odds = list(opponent.action_probabilities(state, seat))
        hints = [{"probability": float(p)} for p in odds]
        if analysis is not None:
            tree, lost = analysis.tree, analysis.mistakes
            number = tree.find_infoset(self.game.infoset_key(state, seat), seat)
            if analysis.infoset_values.cf_reach[number] > 0.0:
                values = lost.best_value[tree.offset[number] : tree.offset[number + 1]]
                for hint, value in zip(hints, values.tolist(), strict=True):
                    hint["value"] = value
        return hints

    def _describe_end(self, episode: EpisodeInProgress, seat: int) -> dict[str, Any]:
        """All that was hidden: who did what, and with which odds."""
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
        """What an opponent might have done; nobody wonders about chance and about oneself."""
        if step.player in (CHANCE, seat):
            return []
        names: Sequence[str] = action_labels(self.game, step.state)
        return [[name, float(p)] for name, p in zip(names, step.probabilities, strict=True)]
