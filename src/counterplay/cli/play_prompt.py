"""Play in the terminal: show an episode, read the person's actions, keep the score."""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from counterplay.core.game import CHANCE, DrawnGame, Game, State, describe_situation

if TYPE_CHECKING:
    from counterplay.play.episodes import Agent, EpisodeStep
    from counterplay.play.sessions import InteractiveEpisode, PlayScore, TreeEvaluator

HELP_TEXT = """\
  Type the name of an action, its first letters, or its number.
  hint  the opponent's policy in your place
  odds  the opponent's probabilities in the last finished episode
  lost  the EV loss of each of your decisions in that episode, exactly
  ?     this help
  q     quit"""


MAX_LISTED_ACTIONS = 30  # of a prompt; longer lists are the raises of no-limit poker
RAISE_PREFIX = "raise to "


class QuitError(Exception):
    """The person quits."""


@dataclass
class TerminalPlay:
    """Episodes between a person at the prompt and an opponent in all other seats."""

    game: Game
    opponent: Agent
    seat: int
    seed: int
    reveal_opponent: bool = False  # print the opponent's probabilities after every episode
    show_losses: bool = False  # print the EV losses after every episode
    last_episode: InteractiveEpisode | None = field(default=None, init=False)  # a finished one

    @cached_property
    def score(self) -> PlayScore:
        from counterplay.play.sessions import PlayScore

        return PlayScore()

    @cached_property
    def evaluator(self) -> TreeEvaluator | None:
        """Computes EV losses; None if the opponent is not a policy of a tree."""
        from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
        from counterplay.core.policy import Policy, require_tree
        from counterplay.play.sessions import TreeEvaluator

        if not isinstance(self.opponent, Policy):
            return None
        return TreeEvaluator(PolicyAnalysis(require_tree(self.opponent), self.opponent, ""))

    def play_episode(self, pause: bool) -> None:
        """Play one episode and print it.

        Args:
            pause: wait for Enter after an episode in which the person never acted.
        """
        from counterplay.play.sessions import InteractiveEpisode

        number = self.score.num_episodes
        print(f"\nEpisode {number + 1}")
        episode = InteractiveEpisode(
            self.game, self.seat, self.opponent, self.seed, number, self.evaluator
        )
        while not episode.is_over:
            episode.take_action(self.ask_for_action(episode))
        self.last_episode = episode
        self.score.add_episode(episode.utilities()[self.seat], episode.total_ev_loss())
        self.print_board(episode.state)
        self.print_end(episode)
        if pause and not episode.person_actions:
            answer = prompt_line("You had no choice this time; Enter continues, q quits: ")
            if answer == "q":
                raise QuitError

    def ask_for_action(self, episode: InteractiveEpisode) -> int:
        """Return the index of the action that the person types; ask again until it is clear."""
        labels, names = episode.action_labels, episode.action_names
        menu: ActionMenu = ActionMenu(labels, names)
        if len(labels) > MAX_LISTED_ACTIONS and names[-1].startswith(RAISE_PREFIX):
            menu = RaiseMenu(labels, names, pot_after_call(episode.state, self.seat))
        self.print_board(episode.state)
        print(f"  {describe_situation(self.game, episode.state, self.seat)}")
        menu.print_choices()
        while True:
            answer = prompt_line(menu.prompt)
            matches = menu.find_matches(answer)
            if (exact := menu.find_exact(answer)) is not None:
                return exact
            if answer == "q":
                raise QuitError
            if answer in ("?", "help"):
                print(textwrap.indent(rules_text(self.game), "  ") + HELP_TEXT)
            elif answer == "lost":
                self.print_losses()
            elif answer == "odds":
                self.print_opponent_policy()
            elif answer == "hint":
                print(f"  {_format_probabilities(names, episode.hint())}")
            elif (index := menu.index_from_number(answer)) is not None:
                return index
            elif answer and len(matches) == 1:
                return matches[0]
            elif answer and matches:
                print(f"  {answer!r} fits {', '.join(labels[i] for i in matches)}; which one?")
            else:
                print(f"  {menu.advice}")

    def print_board(self, state: State) -> None:
        """Print the board, if the game has one."""
        if isinstance(self.game, DrawnGame):
            print(textwrap.indent(self.game.board(state), "    "))

    def print_end(self, episode: InteractiveEpisode) -> None:
        """Print the history and the utilities of a finished episode, and the score."""
        actions = ", ".join(
            f"{self.player_name(step.player)}: {self.action_name(step)}" for step in episode.steps
        )
        utilities = ", ".join(
            f"{self.player_name(player)} {utility:+g}"
            for player, utility in enumerate(episode.utilities())
        )
        print(f"  History: {actions}")
        print(f"  Utilities: {utilities}")
        if self.reveal_opponent:
            self.print_opponent_policy()
        if self.show_losses:
            self.print_losses()
        print(f"  {self.score_line()}")

    def print_opponent_policy(self) -> None:
        """Print the opponent's probabilities at each of its actions in the last episode."""
        if self.last_episode is None:
            print("  No episode is finished yet.")
            return
        for step in self.last_episode.steps:
            if step.player not in (CHANCE, self.seat):
                key = self.game.infoset_key(step.state, step.player)
                names = [self.game.action_name(step.state, action) for action in step.actions]
                odds = _format_probabilities(names, step.probabilities)
                player, action = self.player_name(step.player), self.action_name(step)
                print(f"  {player} knew {key!r}: {odds}; took {action}")

    def print_losses(self) -> None:
        """Print the EV loss of each decision of the last episode."""
        from counterplay.arenas.rules import TabularPolicy

        if self.last_episode is None:
            print("  No episode is finished yet.")
            return
        if self.evaluator is None:
            if isinstance(self.opponent, TabularPolicy):
                print("  Exact losses need the game's tree; start play with --losses to build it.")
            else:
                print("  Exact losses need a policy as the opponent, not a searcher.")
            return
        for decision in self.last_episode.decisions():
            step, loss = decision.step, decision.ev_loss or 0.0
            best = self.game.action_name(step.state, step.actions[decision.best_index])
            better = f"{best} was better by {loss:.4g}" if loss > 1e-9 else "nothing lost"
            key = self.game.infoset_key(step.state, self.seat)
            print(f"  {key}: {self.action_name(step)}, {better}")

    def action_name(self, step: EpisodeStep) -> str:
        return self.game.action_name(step.state, step.action)

    def score_line(self) -> str:
        """Return the person's total and mean utility so far."""
        count = self.score.num_episodes
        episodes = f"{count} episode{'s' * (count != 1)}"
        text = f"Your score: {self.score.utility:+g} in {episodes}"
        text += f", {self.score.mean_utility:+.3f} per episode"
        if self.show_losses and self.evaluator is not None:
            text += f"; {self.score.ev_loss:.3f} lost to mistakes"
        return f"{text}."

    def player_name(self, player: int) -> str:
        if player == CHANCE:
            return "chance"
        return "you" if player == self.seat else f"player {player}"


class ActionMenu:
    """The actions to choose from, and the answers that select one.

    Args:
        labels: the actions in words.
        names: the short names of the game, which are accepted too.
    """

    def __init__(self, labels: Sequence[str], names: Sequence[str] = ()):
        self.labels, self.names = labels, names or labels
        digits = [label[len(label.rstrip("0123456789")) :] for label in labels]
        self.is_numbered = not any(digits)  # otherwise a number could mean two actions
        # the numbers at the ends of names such as `x4` or `bid 2`, if they tell actions apart
        self.numbers = digits if len(set(digits) - {""}) == len(labels) else []
        self.short_form = bracket_first_letters(labels)

    @property
    def prompt(self) -> str:
        return f"  {self.short_form}? " if self.short_form else "Your action: "

    @property
    def advice(self) -> str:
        """Advice after an answer that selects no action."""
        return f"Choose one of {', '.join(self.labels)}; ? shows help."

    def print_choices(self) -> None:
        """Print the actions, unless the prompt has them."""
        if not self.short_form:
            numbers = enumerate(self.labels, 1)
            print("  " + "  ".join(f"{n}) {a}" if self.is_numbered else a for n, a in numbers))

    def find_matches(self, answer: str) -> list[int]:
        """Return the actions whose label, or else whose name, starts with an answer."""
        for texts in (self.labels, self.names):
            if matches := [i for i, text in enumerate(texts) if text.lower().startswith(answer)]:
                return matches
        return []

    def find_exact(self, answer: str) -> int | None:
        """Return the action whose whole label or name is the answer; None without one."""
        for index in self.find_matches(answer):
            if answer in (self.labels[index].lower(), self.names[index].lower()):
                return index
        return None

    def index_from_number(self, answer: str) -> int | None:
        """Return the index of the action that a number selects; None if no action has it."""
        if self.is_numbered and answer.isdigit() and 1 <= int(answer) <= len(self.labels):
            return int(answer) - 1
        return self.numbers.index(answer) if answer in self.numbers else None


class RaiseMenu(ActionMenu):
    """The actions of no-limit poker: fold, check or call, and a raise to any total.

    A raise is selected by its total, with or without `r` or `raise to`, by `pot`, `half` or
    `all-in`.

    Args:
        labels: the actions in words.
        names: their short names, which end with the totals of raises.
        pot: the pot after a call, and the largest contribution.
    """

    def __init__(self, labels: Sequence[str], names: Sequence[str], pot: tuple[int, int]):
        first = next(k for k, name in enumerate(names) if name.startswith(RAISE_PREFIX))
        super().__init__(labels[:first], names[:first])
        self.first_raise, self.pot = first, pot
        totals = [int(name.removeprefix(RAISE_PREFIX)) for name in (names[first], names[-1])]
        self.low, self.high = totals

    @property
    def prompt(self) -> str:
        passive = ", ".join(f"[{label[0]}]{label[1:]}" for label in self.labels)
        return f"  {passive} or [r]aise to {self.low}-{self.high} (or half, pot, all-in)? "

    def print_choices(self) -> None:
        """Print nothing: the prompt has the actions."""

    @property
    def advice(self) -> str:
        """Advice after an answer that selects no action."""
        passive = ", ".join(self.labels)
        return f"Type {passive}, a total from {self.low} to {self.high}, half, pot or all-in."

    def find_exact(self, answer: str) -> int | None:
        """Return the index of the raise or other action that an answer selects."""
        word = answer.removeprefix("raise").strip().removeprefix("r").strip()
        word = word.removeprefix("to").strip()
        pot, highest = self.pot
        totals = {
            "half": highest + (pot + 1) // 2,
            "pot": highest + pot,
            **dict.fromkeys(("all-in", "all in", "allin", "a"), self.high),
        }
        total = (
            int(word) if word.isascii() and word.isdigit() and len(word) < 10 else totals.get(word)
        )
        if total is None:
            return super().find_exact(answer)
        if word in ("half", "pot"):
            total = min(max(total, self.low), self.high)
        return self.first_raise + total - self.low if self.low <= total <= self.high else None

    def index_from_number(self, answer: str) -> int | None:
        """Return None: numbers are totals of raises."""
        return None


def pot_after_call(state: State, player: int) -> tuple[int, int]:
    """Return the pot after a call of a player of poker, and the largest contribution."""
    chips = state.contributions
    return sum(chips) + max(chips) - chips[player], max(chips)


def rules_text(game: Game) -> str:
    """Return the rules from the docstring of the game's class, without its counts of nodes."""
    text = "" if isinstance(getattr(game, "spec", None), str) else inspect.getdoc(type(game)) or ""
    if text.startswith(f"{type(game).__name__}("):  # generated by `dataclass`
        return ""
    paragraphs = [
        part for part in text.split("\n\n") if not re.search(r"[\d,]+ (nodes|infosets)", part)
    ]
    return "\n\n".join(paragraphs) + "\n" if paragraphs else ""


def bracket_first_letters(names: Sequence[str]) -> str:
    """Return a text such as `[f]old or [c]all 1`; "" if first letters do not differ."""
    letters = [name[:1].lower() for name in names]
    if not all(letter.isalpha() for letter in letters) or len(set(letters)) < len(names):
        return ""
    *first, last = [f"[{name[0]}]{name[1:]}" for name in names]
    return f"{', '.join(first)} or {last}" if first else last


def prompt_line(prompt: str) -> str:
    """Return the line that the person types, in lower case.

    Raises:
        QuitError: the input has ended.
    """
    try:
        answer = input(prompt).strip().lower()
    except EOFError:
        raise QuitError from None
    except KeyboardInterrupt:
        print()  # so that the prompt of the shell starts on a new line
        raise
    if not sys.stdin.isatty():
        print(answer)  # a terminal echoes it
    return answer


def _format_probabilities(names: Sequence[str], probabilities: Sequence[float]) -> str:
    """Return the probabilities by name; only the positive ones of a long list."""
    pairs = [
        (name, p)
        for name, p in zip(names, probabilities, strict=True)
        if p > 0.0 or len(names) <= MAX_LISTED_ACTIONS
    ]
    return ", ".join(f"{name} {p:.3f}" for name, p in pairs)
