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

from counterplay.errors import ConfigError
from counterplay.game import CHANCE, TERMINAL, DrawnGame, Game, State, choices_of, situation
from counterplay.playing import Contestant, Draws, Step, play_on, seated
from counterplay.studio.sources import Analysis

KEPT = 16  # episodes under way that go on without a replay


@dataclass
class Episode:
    """One under way: what has happened, and whose turn it is."""

    actions: list[int]  # the person's, as places among the legal ones
    steps: list[Step]
    state: State
    seats: list[Contestant | None]
    draw: Draws


class Table:
    """Where people play one game."""

    def __init__(self, game: Game):
        self.game = game
        self.kept: OrderedDict[str, Episode] = OrderedDict()

    def look(
        self,
        call: dict[str, Any],
        opponent: Contestant,
        analysis: Analysis | None,
    ) -> dict[str, Any]:
        """What the person sees after its actions so far."""
        seat = int(call["seat"])
        if not 0 <= seat < self.game.num_players:
            raise ConfigError(f"seat is {seat}, must be from 0 to {self.game.num_players - 1}")
        episode = self._episode(call, seat, opponent)
        state, over = episode.state, self.game.player(episode.state) == TERMINAL
        found: dict[str, Any] = {
            "over": over,
            "seat": seat,
            "players": self.game.num_players,
            "move": len(episode.actions),
            "board": self.game.board(state) if isinstance(self.game, DrawnGame) else "",
            "decisions": [
                self._decision(step, seat, analysis)
                for step in episode.steps
                if step.player == seat
            ],
        }
        if over:
            return found | self._end(episode, seat)
        names = [self.game.action_name(state, action) for action in self.game.actions(state)]
        found |= {
            "words": situation(self.game, state, seat),
            "key": self.game.infoset_key(state, seat),
            "actions": [
                {"name": name, "words": spoken}
                for name, spoken in zip(names, choices_of(self.game, state), strict=True)
            ],
        }
        if call.get("hint"):
            found["hint"] = self._hint(state, seat, opponent, analysis)
        return found

    def _episode(self, call: dict[str, Any], seat: int, opponent: Contestant) -> Episode:
        """The episode after these actions; goes on from where it was left, if that is known."""
        actions = list(call["actions"])
        name = str(call["name"])
        episode = self.kept.pop(name, None)
        if episode is None or episode.actions != actions[: len(episode.actions)]:
            draw = Draws(int(call["seed"]), int(call["number"]))
            places = range(self.game.num_players)
            ready = [seated(opponent, draw(place)) for place in places]
            seats = [None if place == seat else ready[place] for place in places]
            episode = Episode([], [], self.game.initial_state(), seats, draw)
            self._go_on(episode)
        for action in actions[len(episode.actions) :]:
            self._act(episode, seat, action)
        self.kept[name] = episode
        while len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return episode

    def _act(self, episode: Episode, seat: int, action: int) -> None:
        state = episode.state
        if self.game.player(state) == TERMINAL:
            raise ConfigError("the episode is over")
        legal = self.game.actions(state)
        if not 0 <= action < len(legal):
            raise ConfigError(f"there is no action {action} here, only 0 to {len(legal) - 1}")
        sure = [float(place == action) for place in range(len(legal))]
        episode.steps.append(Step(state, seat, legal, sure, legal[action]))
        episode.state = self.game.next_state(state, legal[action])
        episode.actions.append(action)
        self._go_on(episode)

    def _go_on(self, episode: Episode) -> None:
        """Chance and the opponents act until it is the person's turn, or over."""
        steps, episode.state = play_on(self.game, episode.state, episode.seats, episode.draw)
        episode.steps += steps

    def _decision(self, step: Step, seat: int, analysis: Analysis | None) -> dict[str, Any]:
        """What the person did, and what that gave away against this opponent."""
        taken = list(step.actions).index(step.action)
        found: dict[str, Any] = {
            "words": situation(self.game, step.state, seat),
            "action": choices_of(self.game, step.state)[taken],
            "loss": None,
        }
        if analysis is not None:
            tree, lost = analysis.tree, analysis.mistakes
            number = tree.find(self.game.infoset_key(step.state, seat), seat)
            first, last = tree.offset[number : number + 2].tolist()
            found["infoset"] = number
            if analysis.infosets.cf_reach[number] > 0.0:
                best = lost.best_value[first:last]
                found["loss"] = float(best.max() - best[taken])
                found["best"] = choices_of(self.game, step.state)[int(best.argmax())]
        return found

    def _hint(
        self, state: State, seat: int, opponent: Contestant, analysis: Analysis | None
    ) -> list[dict[str, Any]]:
        """What the opponent would do in the person's place, and what each action is worth."""
        odds = list(opponent.odds(state, seat))
        hints = [{"probability": float(p)} for p in odds]
        if analysis is not None:
            tree, lost = analysis.tree, analysis.mistakes
            number = tree.find(self.game.infoset_key(state, seat), seat)
            if analysis.infosets.cf_reach[number] > 0.0:
                values = lost.best_value[tree.offset[number] : tree.offset[number + 1]]
                for hint, value in zip(hints, values.tolist(), strict=True):
                    hint["value"] = value
        return hints

    def _end(self, episode: Episode, seat: int) -> dict[str, Any]:
        """All that was hidden: who did what, and with which odds."""
        return {
            "utilities": list(map(float, self.game.utilities(episode.state))),
            "history": [
                {
                    "player": step.player,
                    "name": self._name(step),
                    "odds": self._odds(step, seat),
                }
                for step in episode.steps
            ],
        }

    def _name(self, step: Step) -> str:
        if step.player == CHANCE:
            return self.game.action_name(step.state, step.action)
        return choices_of(self.game, step.state)[list(step.actions).index(step.action)]

    def _odds(self, step: Step, seat: int) -> list[list[Any]]:
        """What an opponent might have done; nobody wonders about chance and about oneself."""
        if step.player in (CHANCE, seat):
            return []
        names: Sequence[str] = choices_of(self.game, step.state)
        return [[name, float(p)] for name, p in zip(names, step.odds, strict=True)]
