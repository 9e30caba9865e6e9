"""Episodes between a person, who types, and an opponent, who has all the other seats."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from counterplay.core.game import CHANCE, DrawnGame, Game, State, action_labels, describe_situation

if TYPE_CHECKING:
    from counterplay.play.episodes import Agent, EpisodeStep

HELP_TEXT = """\
  Type an action's name, enough of it to tell it apart, or its number.
  hint  what the opponent would do in your place
  odds  the opponent's probabilities in the last finished episode
  lost  what each of your decisions in it lost, exactly
  ?     this help
  q     quit"""


class QuitError(Exception):
    """The person has had enough."""


@dataclass
class TerminalPlaySession:
    """A person at the prompt, who is a contestant like any other, and the running score.

    A person is sure of what it types: its odds are 1 and 0.
    """

    game: Game
    opponent: Agent
    seat: int
    seed: int
    reveal_opponent: bool = False
    num_episodes: int = 0
    score: float = 0.0
    show_losses: bool = False  # print them after every episode
    total_loss: float = 0.0  # to mistakes so far, where it is known
    last_steps: list[EpisodeStep] = field(default_factory=list)  # the last finished episode

    def play_episode(self, pause: bool) -> None:
        """Play to the end and print it; `pause` waits for the person if it had no choice."""
        from counterplay.play.episodes import play_episode

        print(f"\nEpisode {self.num_episodes + 1}")
        seats = [self if p == self.seat else self.opponent for p in range(self.game.num_players)]
        episode = play_episode(self.game, seats, self.seed, self.num_episodes)
        self.last_steps = episode.steps
        self.num_episodes += 1
        self.score += episode.utilities[self.seat]
        self.total_loss += sum(lost for _, lost, _ in self.mistakes())
        self.print_board(episode.terminal_state)
        self.print_end(episode.utilities)
        idle = all(step.player != self.seat for step in self.last_steps)
        if (
            idle
            and pause
            and _prompt("You had no choice this time; Enter goes on, q quits: ") == "q"
        ):
            raise QuitError

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """What the person says it does."""
        choice = self.ask_for_action(state, action_labels(self.game, state))
        return [float(place == choice) for place in range(len(self.game.actions(state)))]

    def ask_for_action(self, state: State, names: Sequence[str]) -> int:
        """The index of the action the person takes, asked for until it is clear."""
        formal = [self.game.action_name(state, action) for action in self.game.actions(state)]
        own = [re.search(r"\d*$", name)[0] for name in names]  # type: ignore[index]
        numbers = own if len(set(own) - {""}) == len(names) else []  # as in `x4` or `bid 2`
        numbered = not any(own)  # or numbers would mean two things
        self.print_board(state)
        print(f"  {describe_situation(self.game, state, self.seat)}")
        offer = bracket_first_letters(names)
        if not offer:
            print("  " + "  ".join(f"{n}) {a}" if numbered else a for n, a in enumerate(names, 1)))
        while True:
            answer = _prompt(f"  {offer}? " if offer else "Your action: ")
            fitting = [i for i, name in enumerate(names) if name.lower().startswith(answer)]
            if not fitting:  # what the game calls them itself
                fitting = [i for i, name in enumerate(formal) if name.lower().startswith(answer)]
            exact = [i for i in fitting if answer in (names[i].lower(), formal[i].lower())]
            if exact:
                return exact[0]
            if answer == "q":
                raise QuitError
            if answer in ("?", "help"):
                print(textwrap.indent(rules_text(self.game), "  ") + HELP_TEXT)
            elif answer == "lost":
                self.print_losses()
            elif answer == "odds":
                self.print_opponent_policy()
            elif answer == "hint":
                probabilities = self.opponent.action_probabilities(state, self.seat)
                print(f"  {_format_probabilities(formal, probabilities)}")
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
        taken = ", ".join(
            f"{self.player_name(step.player)}: {self.action_name(step)}" for step in self.last_steps
        )
        gains = ", ".join(
            f"{self.player_name(p)} {utility:+g}" for p, utility in enumerate(utilities)
        )
        print(f"  History: {taken}")
        print(f"  Utilities: {gains}")
        if self.reveal_opponent:
            self.print_opponent_policy()
        if self.show_losses:
            self.print_losses()
        print(f"  {self.score_line()}")

    def print_opponent_policy(self) -> None:
        """What the opponent was about to do at each of its actions in the last episode."""
        if not self.last_steps:
            print("  No episode is finished yet.")
        for step in self.last_steps:
            if step.player not in (CHANCE, self.seat):
                key = self.game.infoset_key(step.state, step.player)
                names = [self.game.action_name(step.state, action) for action in step.actions]
                odds, taken = (
                    _format_probabilities(names, step.probabilities),
                    self.action_name(step),
                )
                print(f"  {self.player_name(step.player)} knew {key!r}: {odds}; took {taken}")

    @cached_property
    def best_action_values(self) -> Any:
        """What each action is worth if the person plays best afterwards [S]; None: not known."""
        from counterplay.core.evaluation import mistakes
        from counterplay.core.policy import Policy, require_tree

        if not isinstance(self.opponent, Policy):
            return None
        return mistakes(require_tree(self.opponent), self.opponent).best_value

    def mistakes(self) -> Iterator[tuple[EpisodeStep, float, str]]:
        """The person's decisions in the last episode, what each lost, and what was best."""
        for step in self.last_steps if self.best_action_values is not None else ():
            if step.player == self.seat:
                tree: Any = self.opponent.arena  # type: ignore[attr-defined]
                infoset = tree.find_infoset(self.game.infoset_key(step.state, self.seat), self.seat)
                first, last = tree.offset[infoset : infoset + 2].tolist()
                values, taken = (
                    self.best_action_values[first:last],
                    list(step.actions).index(step.action),
                )
                best = self.game.action_name(step.state, step.actions[int(values.argmax())])
                yield step, float(values.max() - values[taken]), best

    def print_losses(self) -> None:
        """What each decision of the last episode lost, on average over what cannot be seen."""
        if not self.last_steps:
            print("  No episode is finished yet.")
        elif self.best_action_values is None:
            print("  Exact losses need a policy as the opponent, not a searcher.")
        for step, lost, best in self.mistakes():
            better = f"{best} was better by {lost:.4g}" if lost > 1e-9 else "nothing lost"
            key = self.game.infoset_key(step.state, self.seat)
            print(f"  {key}: {self.action_name(step)}, {better}")

    def action_name(self, step: EpisodeStep) -> str:
        return self.game.action_name(step.state, step.action)

    def score_line(self) -> str:
        """The person's total and mean utility so far."""
        mean = self.score / max(self.num_episodes, 1)
        played = f"{self.num_episodes} episode{'s' * (self.num_episodes != 1)}"
        score = f"Your score: {self.score:+g} in {played}, {mean:+.3f} per episode"
        known = self.show_losses and self.best_action_values is not None
        return f"{score}; {self.total_loss:.3f} lost to mistakes." if known else f"{score}."

    def player_name(self, player: int) -> str:
        if player == CHANCE:
            return "chance"
        return "you" if player == self.seat else f"player {player}"


def rules_text(game: Game) -> str:
    """The rules in the words of the game's class, without its counts; "" if it has none."""
    text = "" if isinstance(getattr(game, "spec", None), str) else inspect.getdoc(type(game)) or ""
    if text.startswith(f"{type(game).__name__}("):  # a dataclass's own, which tells nothing
        return ""
    kept = [part for part in text.split("\n\n") if not re.search(r"[\d,]+ (nodes|infosets)", part)]
    return "\n\n".join(kept) + "\n" if kept else ""


def bracket_first_letters(names: Sequence[str]) -> str:
    """Such as `[f]old or [c]all 1`; nothing where first letters do not tell names apart."""
    letters = [name[:1].lower() for name in names]
    if not all(letter.isalpha() for letter in letters) or len(set(letters)) < len(names):
        return ""
    *most, last = [f"[{name[0]}]{name[1:]}" for name in names]
    return f"{', '.join(most)} or {last}" if most else last


def _prompt(prompt: str) -> str:
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


def _format_probabilities(names: Sequence[str], odds: Sequence[float]) -> str:
    return ", ".join(f"{name} {p:.3f}" for name, p in zip(names, odds, strict=True))
