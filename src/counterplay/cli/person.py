"""Episodes between a person, who types, and an opponent, who has all the other seats."""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterplay.game import CHANCE, DrawnGame, Game, State

if TYPE_CHECKING:
    from counterplay.playing import Contestant, Step

HELP = """\
  Type an action's name, enough of it to tell it apart, or its number.
  hint  what the opponent would do in your place
  odds  the opponent's probabilities in the last finished episode
  ?     this help
  q     quit"""


class QuitError(Exception):
    """The person has had enough."""


@dataclass
class Sitting:
    """A person at the prompt, who is a contestant like any other, and the running score.

    A person is sure of what it types: its odds are 1 and 0.
    """

    game: Game
    opponent: Contestant
    person: int
    seed: int
    reveal: bool = False
    num_episodes: int = 0
    score: float = 0.0
    last: list[Step] = field(default_factory=list)  # the last finished episode

    def play_episode(self, pause: bool) -> None:
        """Play to the end and print it; `pause` waits for the person if it had no choice."""
        from counterplay.playing import play_episode

        print(f"\nEpisode {self.num_episodes + 1}")
        seats = [self if p == self.person else self.opponent for p in range(self.game.num_players)]
        episode = play_episode(self.game, seats, self.seed, self.num_episodes)
        self.last = episode.steps
        self.num_episodes += 1
        self.score += episode.utilities[self.person]
        self.print_board(episode.state)
        self.print_end(episode.utilities)
        idle = all(step.player != self.person for step in self.last)
        if idle and pause and _ask("You had no choice this time; Enter goes on, q quits: ") == "q":
            raise QuitError

    def odds(self, state: State, player: int) -> list[float]:
        """What the person says it does."""
        names = [self.game.action_name(state, action) for action in self.game.actions(state)]
        choice = self.choose(state, names)
        return [float(place == choice) for place in range(len(names))]

    def choose(self, state: State, names: Sequence[str]) -> int:
        """The index of the action the person takes, asked for until it is clear."""
        own = [re.search(r"\d*$", name)[0] for name in names]  # type: ignore[index]
        numbers = own if len(set(own) - {""}) == len(names) else []  # as in `x4` or `bid 2`
        numbered = not any(own)  # or numbers would mean two things
        self.print_board(state)
        key = self.game.infoset_key(state, self.person)
        print(f"  You know: {key or '(nothing yet)'}")
        print("  " + "  ".join(f"{n}) {a}" if numbered else a for n, a in enumerate(names, 1)))
        while True:
            answer = _ask("Your action: ")
            fitting = [i for i, name in enumerate(names) if name.lower().startswith(answer)]
            exact = [i for i in fitting if names[i].lower() == answer]
            if exact:
                return exact[0]
            if answer == "q":
                raise QuitError
            if answer in ("?", "help"):
                print(HELP)
            elif answer == "odds":
                self.print_opponents()
            elif answer == "hint":
                print(f"  {_odds(names, self.opponent.odds(state, self.person))}")
            elif numbered and answer.isdigit() and 1 <= int(answer) <= len(names):
                return int(answer) - 1
            elif answer in numbers:
                return numbers.index(answer)
            elif answer and len(fitting) == 1:
                return fitting[0]
            elif answer and fitting:
                print(f"  {answer!r} fits {', '.join(names[i] for i in fitting)}; which one?")
            else:
                print(f"  Choose one of {', '.join(names)}; ? shows help.")

    def print_board(self, state: State) -> None:
        if isinstance(self.game, DrawnGame):
            print(textwrap.indent(self.game.board(state), "    "))

    def print_end(self, utilities: Sequence[float]) -> None:
        taken = ", ".join(f"{self.name(step.player)}: {self.taken(step)}" for step in self.last)
        gains = ", ".join(f"{self.name(p)} {utility:+g}" for p, utility in enumerate(utilities))
        print(f"  History: {taken}")
        print(f"  Utilities: {gains}")
        if self.reveal:
            self.print_opponents()
        print(f"  {self.score_line()}")

    def print_opponents(self) -> None:
        """What the opponent was about to do at each of its actions in the last episode."""
        if not self.last:
            print("  No episode is finished yet.")
        for step in self.last:
            if step.player not in (CHANCE, self.person):
                key = self.game.infoset_key(step.state, step.player)
                names = [self.game.action_name(step.state, action) for action in step.actions]
                odds, taken = _odds(names, step.odds), self.taken(step)
                print(f"  {self.name(step.player)} knew {key!r}: {odds}; took {taken}")

    def taken(self, step: Step) -> str:
        return self.game.action_name(step.state, step.action)

    def score_line(self) -> str:
        """The person's total and mean utility so far."""
        mean = self.score / max(self.num_episodes, 1)
        played = f"{self.num_episodes} episode{'s' * (self.num_episodes != 1)}"
        return f"Your score: {self.score:+g} in {played}, {mean:+.3f} per episode."

    def name(self, player: int) -> str:
        if player == CHANCE:
            return "chance"
        return "you" if player == self.person else f"player {player}"


def _ask(prompt: str) -> str:
    try:
        answer = input(prompt).strip().lower()
    except EOFError:
        raise QuitError from None
    except KeyboardInterrupt:
        print()  # the shell's prompt goes on a line of its own
        raise
    if not sys.stdin.isatty():
        print(answer)  # a terminal has shown it already
    return answer


def _odds(names: Sequence[str], odds: Sequence[float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in zip(names, odds, strict=True))
