"""Episodes between a person, who types, and an opponent, who has all the other seats."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from counterplay.cli.board import board_lines
from counterplay.cli.opponent import Opponent
from counterplay.game import CHANCE, TERMINAL, Game, State

HELP = """\
  Type an action's name, enough of it to tell it apart, or its number.
  hint  what the opponent would do in your place
  odds  the opponent's probabilities in the last finished episode
  ?     this help
  q     quit"""


class QuitError(Exception):
    """The person has had enough."""


@dataclass(frozen=True)
class Step:
    """One action of an episode, with its probabilities if the opponent took it."""

    player: int
    name: str
    key: str = ""
    probabilities: dict[str, float] | None = None


@dataclass
class Match:
    """The seats and the running score of one sitting."""

    game: Game
    opponent: Opponent
    person: int
    rng: random.Random
    reveal: bool = False
    num_episodes: int = 0
    score: float = 0.0
    last: list[Step] = field(default_factory=list)  # the last finished episode

    def play_episode(self, pause: bool) -> None:
        """Play to the end and print it; `pause` waits for the person if it had no choice."""
        game, state = self.game, self.game.initial_state()
        steps: list[Step] = []
        print(f"\nEpisode {self.num_episodes + 1}")
        while (player := game.player(state)) != TERMINAL:
            action, step = self.act(state, player)
            state = game.next_state(state, action)
            steps.append(step)
        utilities = game.utilities(state)
        self.last = steps
        self.num_episodes += 1
        self.score += utilities[self.person]
        self.print_board(state)
        self.print_end(utilities)
        idle = all(step.player != self.person for step in steps)
        if idle and pause and _ask("You had no choice this time; Enter goes on, q quits: ") == "q":
            raise QuitError

    def act(self, state: State, player: int) -> tuple[int, Step]:
        """The next action, by chance, the person or the opponent."""
        if player == CHANCE:
            outcomes, odds = zip(*self.game.chance_outcomes(state), strict=True)
            (action,) = self.rng.choices(outcomes, odds)
            return action, Step(player, self.game.action_name(state, action))
        actions = list(self.game.actions(state))
        names = [self.game.action_name(state, action) for action in actions]
        if player == self.person:
            choice = self.choose(state, names)
            return actions[choice], Step(player, names[choice])
        probabilities = self.named_odds(state, player)
        (choice,) = self.rng.choices(range(len(names)), [probabilities[name] for name in names])
        key = self.game.infoset_key(state, player)
        return actions[choice], Step(player, names[choice], key, probabilities)

    def named_odds(self, state: State, player: int) -> dict[str, float]:
        """What the opponent would do, by action name."""
        odds = self.opponent.odds(state, player)
        return {self.game.action_name(state, action): p for action, p in odds.items()}

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
                print(f"  {_odds(self.named_odds(state, self.person))}")
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
        for line in board_lines(self.game, state):
            print(f"    {line}")

    def print_end(self, utilities: Sequence[float]) -> None:
        taken = ", ".join(f"{self.name(step.player)}: {step.name}" for step in self.last)
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
            if step.probabilities:
                odds = _odds(step.probabilities)
                print(f"  {self.name(step.player)} knew {step.key!r}: {odds}; took {step.name}")

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


def _odds(probabilities: dict[str, float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in probabilities.items())
