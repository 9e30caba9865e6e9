"""Drills from the solution of a spot: random questions, graded by EV loss, and their repetition.

A question is a decision: a line with its cards, and a hand. The answer is graded by the EV that the
chosen action loses against the best one, if the solution is followed afterwards.

Answers are kept in a text file with one JSON object per line. A line is only ever appended, so that
two programs can use the file at once. Everything else follows from the answers: the statistics, and
the mistakes that are due again (a Leitner system: a mistake comes back after `INTERVALS_SECONDS`,
the next interval after every right answer, the first one again after a wrong one).
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.inspection import find_node, inspect_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot import STREETS
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.arena import Floats
from counterplay.core.cards import NUM_CARDS, card_name, cards_name, hand_name, parse_cards
from counterplay.errors import ConfigError, FileError, RunError, suggestion

MINUTE, DAY = 60.0, 86_400.0
INTERVALS_SECONDS = (10 * MINUTE, 1 * DAY, 3 * DAY, 7 * DAY, 21 * DAY)
MAX_DRAWS = 1_000  # deals that are tried until one reaches a decision of the player
MAX_FILE_BYTES = 64 << 20
# EV loss in fractions of the pot up to which a decision has a grade
GRADES = (("best", 0.001), ("small loss", 0.01), ("mistake", 0.05), ("blunder", np.inf))
LATE_GRADE = "too late"


@dataclass(frozen=True)
class DrillSettings:
    """Which decisions are asked."""

    player: int | None = None  # 0 is OOP, 1 is IP; None for both
    line: str = ""  # questions follow this line, such as `check,bet 50`
    street: str = ""  # flop, turn or river; "" for all
    exact: bool = False  # ask at the end of the line only, not after it

    def __post_init__(self) -> None:
        if self.player not in (None, 0, 1):
            raise ConfigError(f"player is {self.player!r}, must be 0, 1 or None")
        if self.street and self.street not in STREETS:
            near = suggestion(self.street, STREETS)
            raise ConfigError(f"there is no street {self.street!r}{near} ({', '.join(STREETS)})")


class DrillQuestion(NamedTuple):
    """A decision to answer."""

    history: str
    hand: str  # such as AhKd
    player: int
    street: str
    board: str
    pot: int
    to_call: int  # chips
    actions: tuple[str, ...]


class DrillGrade(NamedTuple):
    """The answer to a question, and the solution's EVs."""

    action: str
    ev_loss: float  # chips
    pot_fraction: float  # EV loss as a fraction of the pot
    grade: str  # a name of `GRADES`, or "too late"
    best_action: str
    action_values: tuple[float, ...]  # EV in chips of each action of the question
    frequencies: tuple[float, ...]  # of the solution, with this hand
    is_reached: bool  # False if the opponent never gets here: then EVs are 0 and say nothing


@dataclass(frozen=True)
class DrillAnswer:
    """An answered question, as the progress file keeps it."""

    solution: str  # name of the solution
    history: str
    hand: str
    street: str
    action: str
    best_action: str
    ev_loss: float  # fraction of the pot
    grade: str
    seconds: float  # that the answer took
    time: float  # seconds since 1970

    @property
    def is_right(self) -> bool:
        """Whether the answer counts as right: the best action, or a small loss."""
        return self.grade in ("best", "small loss")

    @property
    def line(self) -> str:
        """The actions of the history without cards, one part per street."""
        return line_of(self.history)


@dataclass(frozen=True)
class DrillScore:
    """Statistics of some answers."""

    count: int
    num_right: int
    mean_loss: float  # fraction of the pot
    mean_seconds: float


def line_of(history: str) -> str:
    """Return the actions of a history without its cards.

    Example:
        >>> line_of("check,bet 50,call|Td,check")
        'check,bet 50,call|check'
    """
    first, *rest = history.split("|")
    return "|".join([first, *(",".join(part.split(",")[1:]) for part in rest)])


def score_answers(
    answers: Iterable[DrillAnswer], key: Callable[[DrillAnswer], str]
) -> dict[str, DrillScore]:
    """Return the statistics of answers by a key, such as their street or line."""
    groups: defaultdict[str, list[DrillAnswer]] = defaultdict(list)
    for answer in answers:
        groups[key(answer)].append(answer)
    return {
        name: DrillScore(
            count=len(group),
            num_right=sum(answer.is_right for answer in group),
            mean_loss=sum(answer.ev_loss for answer in group) / len(group),
            mean_seconds=sum(answer.seconds for answer in group) / len(group),
        )
        for name, group in groups.items()
    }


def due_questions(
    answers: Iterable[DrillAnswer], solution: str, now: float
) -> list[tuple[str, str]]:
    """Return the (history, hand) of mistakes that are due again, the longest overdue first."""
    due_times: dict[tuple[str, str], tuple[int, float]] = {}  # interval and time
    for answer in answers:
        if answer.solution != solution:
            continue
        key = answer.history, answer.hand
        interval = due_times.get(key, (-1, 0.0))[0]
        if not answer.is_right:
            due_times[key] = 0, answer.time + INTERVALS_SECONDS[0]
        elif interval + 1 >= len(INTERVALS_SECONDS):
            del due_times[key]  # learned
        elif interval >= 0:
            due_times[key] = interval + 1, answer.time + INTERVALS_SECONDS[interval + 1]
    order = sorted((due, key) for key, (_, due) in due_times.items() if due <= now)
    return [key for _, key in order]


@dataclass
class DrillProgress:
    """The answers of a person, in a file."""

    path: Path
    answers: list[DrillAnswer] = field(default_factory=list)

    @classmethod
    def load(cls, path: Path) -> DrillProgress:
        """Read the answers of a file; a file that does not exist has none.

        Raises:
            FileError: the file cannot be read, is too large or is not a progress file.
        """
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise FileError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB")
            lines = path.read_text().splitlines()
        except FileNotFoundError:
            return cls(path)
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(f"cannot read {path}: {error}") from error
        parsed = [_parse_answer(path, number, line) for number, line in enumerate(lines, 1)]
        return cls(path, parsed)

    def add(self, answer: DrillAnswer) -> None:
        """Append an answer to the file.

        Raises:
            RunError: the file cannot be written.
        """
        text = json.dumps(asdict(answer)) + "\n"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                file.write(text.encode())
        except OSError as error:
            raise RunError(f"cannot write {self.path}: {error.strerror}") from error
        self.answers.append(answer)


def default_progress_file() -> Path:
    """Return the progress file of this user."""
    from counterplay.core.trust import state_folder

    return state_folder() / "drills.jsonl"


def _parse_answer(path: Path, number: int, line: str) -> DrillAnswer:
    types = {f.name: float if f.type == "float" else str for f in fields(DrillAnswer)}
    try:
        data = json.loads(line)
        values = {name: kind(data[name]) for name, kind in types.items()}
        return DrillAnswer(**values)  # type: ignore[arg-type]
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = "is no answer of a drill; remove the line, or give another file"
        raise FileError(f"{path}, line {number}: {line[:40]!r} {problem}") from None


def hand_reach(policy: HoldemPolicy, history: str) -> tuple[Floats, Floats]:
    """Return each player's reach [n] of its hands: its range at the start times its own actions.

    Hands that hold a card of the board have reach 0.
    """
    arena: SpotArena = policy.arena
    reach = [hands.weight.copy() for hands in arena.hands]
    prefix = ""
    for street, part in enumerate(history.split("|")):
        names = [name.strip() for name in part.split(",") if name.strip()]
        for index, name in enumerate(names):
            if street > 0 and index == 0:
                prefix = f"{prefix}|{name}"
                continue
            player, probabilities = _probabilities_after(policy, prefix)
            actions = arena.betting.nodes[find_node(arena, prefix).node].actions
            if name not in actions:
                find_node(arena, f"{prefix},{name}" if prefix else name)  # raises with a reason
            reach[player] = reach[player] * probabilities[actions.index(name)]
            prefix = f"{prefix},{name}" if prefix else name
    board = [*arena.spot.cards, *_parse_board_cards(history)]
    for player, hands in enumerate(arena.hands):
        reach[player] = reach[player] * ~np.isin(hands.cards, board).any(axis=1)
    return reach[0], reach[1]


def _probabilities_after(policy: HoldemPolicy, history: str) -> tuple[int, Floats]:
    """Return the player to act and its probabilities [A, n], by hands of the actual suits."""
    arena: SpotArena = policy.arena
    location = find_node(arena, history)
    player = arena.betting.nodes[location.node].kind
    canonical = policy.probabilities_at(location.node, location.board)
    index = arena.hands[player].permute_suits(location.suit_permutation)
    return player, canonical[:, np.maximum(index, 0)]


def _parse_board_cards(history: str) -> list[int]:
    parts = history.split("|")[1:]
    return [card for part in parts for card in parse_cards(part.split(",")[0])]


class SpotDrill:
    """Asks and grades decisions of a solution.

    Args:
        policy: the solution.
        settings: which decisions are asked.
        seed: seed of the questions.
        inspect: returns the view of a node, for example from a cache.

    Raises:
        ConfigError: the line is not possible.
    """

    def __init__(
        self,
        policy: HoldemPolicy,
        settings: DrillSettings | None = None,
        seed: int = 0,
        inspect: Callable[[str], NodeView] | None = None,
    ):
        self.policy, self.settings = policy, settings or DrillSettings()
        self.arena: SpotArena = policy.arena
        self.rng = np.random.default_rng(seed)
        self._inspect_node = inspect
        self._last_view: NodeView | None = None
        self._line_reach = hand_reach(policy, self.settings.line)
        self._check_line()

    def next_question(self) -> DrillQuestion:
        """Return a random decision of a hand that the solution deals and plays.

        Raises:
            ConfigError: the settings leave no decision that the solution ever reaches.
        """
        for _ in range(MAX_DRAWS):
            hands = self._deal_hands()
            if hands is None:
                break
            decisions = self._play_hand(hands)
            if decisions:
                history, player = decisions[int(self.rng.integers(len(decisions)))]
                return self.question(history, hand_name(hands[player]))
        raise ConfigError(
            "the solution reaches no such decision; choose another line, street or player"
        )

    def question(self, history: str, hand: str) -> DrillQuestion:
        """Return the question of a history and a hand.

        Raises:
            ConfigError: no player acts after the history, or the player does not have the hand.
        """
        location = find_node(self.arena, history)
        node = self.arena.betting.nodes[location.node]
        if node.kind >= FOLD:
            raise ConfigError(f"no player acts after {history!r}")
        state, spot = node.state, self.arena.spot
        board = [*spot.cards, *_parse_board_cards(history)]
        cards = parse_cards(hand, "hand")
        names = {hand_name(index) for index in self.arena.hands[node.kind].index.tolist()}
        name = cards_name(sorted(cards, reverse=True))
        if len(cards) != 2 or name not in names or set(cards) & set(board):
            raise ConfigError(f"{hand!r} is not in the range of player {node.kind} here")
        return DrillQuestion(
            history=history,
            hand=name,
            player=node.kind,
            street=STREETS[state.street],
            board=cards_name(board),
            pot=spot.pot + 2 * state.earlier_contribution + sum(state.contributions),
            to_call=max(state.contributions) - state.contributions[node.kind],
            actions=tuple(node.actions),
        )

    def grade(self, question: DrillQuestion, action: str, *, is_late: bool = False) -> DrillGrade:
        """Return the EV loss of an action; "" with `is_late` if there was no answer in time.

        Raises:
            ConfigError: there is no such action.
        """
        view = self._inspect(question.history)
        hand = view.hands.index(question.hand)
        values, names = view.action_value[:, hand], list(view.actions)
        if action not in names and not (is_late and not action):
            near = suggestion(action, names)
            raise ConfigError(f"there is no action {action!r} here{near} ({', '.join(names)})")
        best = int(np.argmax(values))
        loss = float(values[best] - values[names.index(action)]) if action else 0.0
        fraction = loss / question.pot
        grade = next(name for name, limit in GRADES if fraction <= limit)
        return DrillGrade(
            action=action,
            ev_loss=loss,
            pot_fraction=fraction,
            grade=LATE_GRADE if is_late else grade,
            best_action=names[best],
            action_values=tuple(values.tolist()),
            frequencies=tuple(view.policy[:, hand].tolist()),
            is_reached=bool(view.opponent_mass[hand] > 0.0),
        )

    def answer(
        self, solution: str, question: DrillQuestion, grade: DrillGrade, seconds: float = 0.0
    ) -> DrillAnswer:
        """Return the record of a graded question, with the current time."""
        return DrillAnswer(
            solution=solution,
            history=question.history,
            hand=question.hand,
            street=question.street,
            action=grade.action,
            best_action=grade.best_action,
            ev_loss=grade.pot_fraction,
            grade=grade.grade,
            seconds=seconds,
            time=time.time(),
        )

    def _check_line(self) -> None:
        find_node(self.arena, self.settings.line)

    def _inspect(self, history: str) -> NodeView:
        if self._inspect_node:
            return self._inspect_node(history)
        if self._last_view is None or self._last_view.history != history:
            self._last_view = inspect_node(self.policy, history)
        return self._last_view

    def _deal_hands(self) -> tuple[int, int] | None:
        """Return two hands that reach the line, in proportion; None if none do."""
        first, second = self.arena.hands
        reach = self._line_reach
        mass = reach[0] * first.compatible_mass(second, reach[1])
        if not mass.sum() > 0.0:
            return None
        own = int(self.rng.choice(mass.size, p=mass / mass.sum()))
        free = ~np.isin(second.cards, first.cards[own]).any(axis=1)
        other_weights = reach[1] * free
        other = int(self.rng.choice(second.size, p=other_weights / other_weights.sum()))
        return int(first.index[own]), int(second.index[other])

    def _play_hand(self, hands: tuple[int, int]) -> list[tuple[str, int]]:
        """Play by the solution from the line on; return the decisions that may be asked."""
        history = self.settings.line
        decisions: list[tuple[str, int]] = []
        positions = [int(np.flatnonzero(self.arena.hands[p].index == hands[p])[0]) for p in (0, 1)]
        hole_cards = [card for p in (0, 1) for card in self.arena.hands[p].cards[positions[p]]]
        while True:
            node = self.arena.betting.nodes[find_node(self.arena, history).node]
            if node.kind == DEAL:
                card = self._draw_card(history, hole_cards)
                history = f"{history}|{card_name(card)}"
                continue
            if node.kind >= FOLD:
                return decisions
            player, probabilities = _probabilities_after(self.policy, history)
            if self._is_asked(player, node.state.street):
                decisions.append((history, player))
            if self.settings.exact:
                return decisions
            weights = probabilities[:, positions[player]]
            action = int(self.rng.choice(weights.size, p=weights / weights.sum()))
            name = node.actions[action]
            is_start = not history or history.endswith("|")
            history = name if is_start and not history else f"{history},{name}"

    def _is_asked(self, player: int, street: int) -> bool:
        settings = self.settings
        return settings.player in (None, player) and settings.street in ("", STREETS[street])

    def _draw_card(self, history: str, hole_cards: Sequence[int]) -> int:
        spot = self.arena.spot
        used = {*spot.cards, *spot.dead_cards, *_parse_board_cards(history), *map(int, hole_cards)}
        return int(self.rng.choice([card for card in range(NUM_CARDS) if card not in used]))
