"""UPI, PioSOLVER's text protocol, for hold'em spots.

A client writes a command per line and reads the answer: lines, or `<command> ok!` if there is no
data, or one line that begins with ERROR. After `set_end_string END`, every answer is followed by a
line END. `go` solves in the background; a line `SOLVER: stopped (...)` tells the end.

Hands are in UPI's fixed order, 2d2c, 2h2c, 2h2d, 2s2c, ..., AsAh, which is the order of
`core.cards`. A node is named by its actions: `r:0` is the first decision; `c` is a check or call,
`f` a fold, `b100` a bet or raise to 100 chips over all streets; cards follow the end of a street,
as in `r:0:b100:c:8h`. Lines of `add_line` are the chips that the players have put in after each
action.

The protocol is described at https://piosolver.com/docs/upi (version 3.0); commands that only
matter to that program (`set_threads`, `set_recalc_accuracy`, ...) are accepted without effect.
Where that page leaves room, answers have the meaning that public clients give them: EVs count from
the start of the tree, so that a fold loses the chips put in; matchups are weighted by the player's
own range; a message `SOLVER: stopped` has no end string.
"""

from __future__ import annotations

import shlex
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TextIO

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    MAX_BETTING_NODES,
    SHOWDOWN,
    BettingNode,
    BettingTree,
    StreetState,
    next_street_state,
    node_kind,
)
from counterplay.arenas.holdem.boards import IDENTITY_PERMUTATION
from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.holdem.inspection import (
    NodeLocation,
    find_node,
    hand_equity,
    player_values,
)
from counterplay.arenas.holdem.spot import MAX_CHIPS, BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import (
    ALL_HANDS,
    card_name,
    cards_name,
    hand_index,
    hand_name,
    parse_cards,
    permute_suits,
)
from counterplay.errors import ConfigError, CounterplayError
from counterplay.registry import load_registered_algorithm

NUM_HANDS = len(ALL_HANDS)
MAX_LINE_LENGTH = 1 << 18  # characters; 1,326 numbers have about 10,000
MAX_LINES = 20_000
POSITIONS = ("OOP", "IP")
STEP_ITERATIONS = 10  # between two looks at the clock and at `stop`
UPDATE_SECONDS = 5.0  # between two SOLVER messages
MAX_INFO_LINES = 1000
UPI_FORMAT = "counterplay upi tree 1"
SAVED_SETTINGS = ("board", "pot", "stack", "rake", "lines", "info", "accuracy")
SAVED_TABLES = ("regret", "policy_sum", "last_weight")
IGNORED = (
    *("set_threads", "set_recalc_accuracy", "set_always_recalc", "set_info_freq", "set_mes"),
    *("set_isomorphism", "load_all_nodes", "rebuild_forgotten_streets", "set_algorithm"),
    *("small_strats", "take_a_break"),
)
MAX_EXTRA_SECONDS = 3600.0 * 24
BANNER = (  # clients skip three or four lines at the start
    "Counterplay {version}",
    "https://piosolver.com/docs/upi describes the protocol",
    "for hold'em spots from the flop on",
    "ready",
)


class UpiError(ConfigError):
    """A command that cannot be carried out; the text is the answer."""


@dataclass(eq=False)
class UpiEngine:
    """The state behind the protocol, without input and output.

    `run_command` returns the lines of an answer. Solving runs in a thread that takes `lock` for
    each of its steps.
    """

    emit: Callable[[list[str]], None] = lambda lines: None  # for messages of the solver
    board: str = ""
    ranges: list[Floats] = field(default_factory=lambda: [np.ones(NUM_HANDS), np.ones(NUM_HANDS)])
    pot: tuple[int, int, int] = (0, 0, 0)  # OOP, IP, and what was in the middle
    stack: int = 0
    rake: tuple[float, float] = (0.0, 0.0)  # fraction of the pot, and a cap in chips
    lines: list[tuple[int, ...]] = field(default_factory=list)
    info: list[str] = field(default_factory=list)  # texts of `add_info_line`
    accuracy: float = 0.0  # chips of exploitability at which solving stops

    def __post_init__(self) -> None:
        self.lock, self.stopping = threading.RLock(), threading.Event()
        self.start_time = time.monotonic()
        self.arena: SpotArena | None = None
        self.memory: Any = None
        self.algorithm = load_registered_algorithm("dcfr")
        self.solver: threading.Thread | None = None
        self.is_solving = False  # False before the message that it stopped: `go` may follow at once
        self.seconds = 0.0

    def run_command(
        self, line: str, write: Callable[[list[str]], None] = lambda lines: None
    ) -> list[str]:
        """Return the answer to a line; errors are one line that begins with ERROR.

        Args:
            line: the command.
            write: called with the answer, before a solver that the command starts can send
                messages.
        """
        running = self.solver
        answer = self._answer(line)
        write(answer)
        if self.solver is not running and self.solver is not None:
            self.solver.start()
        return answer

    def _answer(self, line: str) -> list[str]:
        try:
            if len(line) > MAX_LINE_LENGTH:
                raise UpiError(f"the line has {len(line)} characters, more than {MAX_LINE_LENGTH}")
            if not line.isprintable():
                raise UpiError("the line has characters that cannot be printed")
            name, _, rest = line.strip().partition(" ")
            if name in IGNORED:
                return [f"{name} ok!"]
            command = getattr(self, f"do_{name}", None) if name.isidentifier() else None
            if command is None:
                raise UpiError(f"unknown command {name[:40]!r}")
            with self.lock:
                answer = command(_split_words(rest) if name != "set_range" else rest.split())
            return [f"{name} ok!"] if answer is None else list(answer)
        except CounterplayError as error:
            return [f"ERROR: {error}"]
        except MemoryError:
            return ["ERROR: the tree does not fit into memory: offer fewer lines"]

    # settings

    def do_is_ready(self, words: list[str]) -> None:
        """Answer that the program is ready."""
        _count_words("is_ready", words, 0)

    def do_echo(self, words: list[str]) -> list[str]:
        """Answer with the arguments."""
        return [" ".join(words)]

    def do_show_version(self, words: list[str]) -> list[str]:
        """Answer with the version, three numbers."""
        from counterplay import __version__

        return [".".join(__version__.split(".")[:3])]

    def do_solver_time(self, words: list[str]) -> list[str]:
        """Answer with the seconds since the start."""
        return [f"{time.monotonic() - self.start_time:.3f}"]

    def do_set_board(self, words: list[str]) -> None:
        """Set the board of 3 to 5 cards."""
        cards = parse_cards("".join(words), "set_board")
        if not 3 <= len(cards) <= 5:
            raise UpiError(f"set_board: {len(cards)} cards, must be 3, 4 or 5")
        self.board, self.arena = cards_name(cards), None

    def do_set_range(self, words: list[str]) -> None:
        """Set a range: OOP or IP, then 1,326 numbers or a text such as AA,KQs:0.5."""
        if len(words) < 2:
            raise UpiError("set_range: give OOP or IP, then a range")
        player = _read_position(words[0])
        if len(words) == 1 + NUM_HANDS:
            weights = np.array([_read_number("set_range", word, 0.0, 1.0) for word in words[1:]])
        else:
            weights = np.array(Range.parse(" ".join(words[1:])).weights, float)
        self.ranges[player], self.arena = weights, None

    def do_set_pot(self, words: list[str]) -> None:
        """Set the chips of OOP and IP, and those already in the middle."""
        _count_words("set_pot", words, 3)
        amounts = [_read_chips("set_pot", word) for word in words]
        if amounts[0] != amounts[1]:
            raise UpiError("set_pot: OOP and IP must have put in the same at the start of a street")
        self.pot, self.arena = (amounts[0], amounts[1], amounts[2]), None

    def do_set_eff_stack(self, words: list[str]) -> None:
        """Set the effective stack: the chips that a player can put in from here on."""
        _count_words("set_eff_stack", words, 1)
        self.stack, self.arena = _read_chips("set_eff_stack", words[0]), None

    def do_set_rake(self, words: list[str]) -> None:
        """Set the rake: a fraction of the pot, and the most chips that it takes."""
        _count_words("set_rake", words, 2)
        fraction = _read_number("set_rake", words[0], 0.0, 1.0)
        self.rake = fraction, _read_number("set_rake", words[1], 0.0, MAX_CHIPS)
        self.arena = None

    def do_show_effective_stack(self, words: list[str]) -> list[str]:
        """Answer with the effective stack."""
        return [str(self.stack)]

    def do_set_accuracy(self, words: list[str]) -> None:
        """Set the exploitability at which `go` stops: chips, or a fraction of the pot."""
        if not 1 <= len(words) <= 2 or words[1:] not in ([], ["chips"], ["fraction"]):
            raise UpiError("set_accuracy: give a number, then chips or fraction")
        value = _read_number("set_accuracy", words[0], 0.0, MAX_CHIPS)
        self.accuracy = value * (sum(self.pot) if words[1:] == ["fraction"] else 1.0)

    def do_add_line(self, words: list[str]) -> None:
        """Add a line of bets: the chips put in by the acting player after each action."""
        if not words:
            raise UpiError("add_line: give the chips after each action, such as 0 0 52 156")
        if len(self.lines) >= MAX_LINES:
            raise UpiError(f"add_line: more than {MAX_LINES:,} lines")
        self.lines.append(tuple(_read_chips("add_line", word) for word in words))
        self.arena = None

    def do_remove_line(self, words: list[str]) -> None:
        """Remove a line, and all lines that begin with it."""
        line = tuple(_read_chips("remove_line", word) for word in words)
        self.lines = [other for other in self.lines if other[: len(line)] != line]
        self.arena = None

    def do_clear_lines(self, words: list[str]) -> None:
        """Remove all lines."""
        self.lines, self.arena = [], None

    def do_add_info_line(self, words: list[str]) -> None:
        """Keep a text for `show_tree_info`."""
        if len(self.info) >= MAX_INFO_LINES:
            raise UpiError(f"add_info_line: more than {MAX_INFO_LINES:,} lines")
        self.info.append(" ".join(words))

    def do_reset_tree_info(self, words: list[str]) -> None:
        """Forget the texts of `add_info_line`."""
        self.info = []

    def do_show_tree_info(self, words: list[str]) -> list[str]:
        """Answer with the settings as lines #name#value, then those of `add_info_line`."""
        facts = {
            "Board": " ".join(card_name(card) for card in parse_cards(self.board, "set_board")),
            "Pot": sum(self.pot),
            "EffectiveStacks": self.stack,
        }
        return [*(f"#{name}#{value}" for name, value in facts.items()), *self.info]

    def do_show_board_no_iso(self, words: list[str]) -> list[str]:
        """Answer with the board of `set_board`."""
        return [" ".join(card_name(card) for card in parse_cards(self.board, "set_board"))]

    def do_show_all_lines(self, words: list[str]) -> list[str]:
        """Answer with the betting lines of the tree, without cards."""
        arena, lines = self._require_tree(), []
        for number, node in enumerate(arena.betting.nodes):
            if node.kind in (FOLD, SHOWDOWN):
                lines.append(self._betting_id(number))
        return lines

    # the tree and its solution

    def do_build_tree(self, words: list[str]) -> None:
        """Build the tree of the lines."""
        self._stop_solver()
        if not self.board:
            raise UpiError("build_tree: set_board comes first")
        if not self.stack or not sum(self.pot):
            raise UpiError("build_tree: set_pot and set_eff_stack come first")
        texts = [_range_text(weights) for weights in self.ranges]
        none = BetSizes()
        spot = Spot(
            self.board,
            (texts[0], texts[1]),
            sum(self.pot),
            (self.stack,) * 2,
            ((none, none),) * 3,
            rake=self.rake[0],
            rake_cap=self.rake[1],
        )
        arena = SpotArena(spot)
        arena.betting = build_betting_from_lines(spot, self.lines)
        arena.check_memory()
        self.arena, self.memory, self.seconds = arena, self.algorithm.init(arena), 0.0

    def do_free_tree(self, words: list[str]) -> None:
        """Forget the tree."""
        self._stop_solver()
        self.arena = self.memory = None

    def do_go(self, words: list[str]) -> None:
        """Solve in the background: to the accuracy, for some seconds or steps, or until `stop`."""
        self._require_tree()
        if self.is_solving:
            raise UpiError("go: the solver is already running")
        seconds, steps = MAX_EXTRA_SECONDS, MAX_CHIPS
        if words:
            unit = words[1] if len(words) > 1 else "seconds"
            if len(words) > 2 or unit not in ("seconds", "steps"):
                raise UpiError("go: give nothing, or a number and seconds or steps")
            number = _read_number("go", words[0], 0.0, MAX_EXTRA_SECONDS)
            seconds, steps = (number, steps) if unit == "seconds" else (seconds, int(number))
        self.stopping.clear()
        self.is_solving = True
        # `run_command` starts it after the answer
        self.solver = threading.Thread(target=self._solve, args=(seconds, steps), daemon=True)

    def _solve(self, seconds: float, steps: int) -> None:
        try:
            reason = self._run_steps(seconds, steps)
        except (CounterplayError, MemoryError) as error:
            reason = f"error: {error}"
        finally:
            self.is_solving = False
        self.emit([f"SOLVER: stopped ({reason})"])

    def _run_steps(self, seconds: float, steps: int) -> str:
        """Solve and return the reason to stop."""
        start, last, done = time.monotonic(), time.monotonic(), 0
        try:
            while not self.stopping.is_set():
                with self.lock:
                    if self.arena is None:
                        break
                    count = min(STEP_ITERATIONS, steps - done)
                    if count:
                        self.memory = self.algorithm.step(self.arena, self.memory, count)
                    done += count
                    now = time.monotonic()
                    if done >= steps:
                        return "required number of steps"
                    if now - start >= seconds:
                        return "time limit"
                    if self.accuracy and self._exploitability() <= self.accuracy:
                        return "required accuracy reached"
                    if now - last >= UPDATE_SECONDS:
                        last, self.seconds = now, self.seconds + now - last
                        self.emit(["SOLVER:", *self._result_lines()])
            return "requested"
        finally:
            self.seconds += time.monotonic() - last

    def do_stop(self, words: list[str]) -> None:
        """Stop the solver."""
        self.stopping.set()

    def do_wait_for_solver(self, words: list[str]) -> None:
        """Answer when the solver has stopped."""
        solver = self.solver
        self.lock.release()
        try:
            if solver is not None:
                solver.join()
        finally:
            self.lock.acquire()

    def _stop_solver(self) -> None:
        self.stopping.set()
        self.do_wait_for_solver([])

    def do_dump_tree(self, words: list[str]) -> None:
        """Write the settings and the solution to a file, in the format of this package."""
        self._check_file_words("dump_tree", words, ("full", "no_rivers", "no_turns"))
        arena = self._require_tree()
        values = {name: getattr(self, name) for name in SAVED_SETTINGS}
        tables = {name: getattr(self.memory, name) for name in SAVED_TABLES}
        locks = [np.zeros(0), *(lock.ravel() for lock in arena.locks.values())]
        others = {
            "ranges": np.stack(self.ranges),
            "iteration": self.memory.iteration,
            "locked_nodes": list(arena.locks),
            "locks": np.concatenate(locks),
        }
        write_archive(words[0], UPI_FORMAT, {**values, **others, **tables}, compress=False)

    def do_load_tree(self, words: list[str]) -> None:
        """Read a file of `dump_tree`."""
        self._check_file_words("load_tree", words, ("full", "fast", "auto"))
        values = read_archive(words[0], UPI_FORMAT)
        loaded = UpiEngine(self.emit)
        try:
            for name in SAVED_SETTINGS:
                setattr(loaded, name, values[name])
            loaded.ranges, loaded.lines = list(values["ranges"]), list(map(tuple, values["lines"]))
            loaded.info = list(values["info"])
            with loaded.lock:
                loaded.do_build_tree([])
            for name in SAVED_TABLES:
                table = getattr(loaded.memory, name)
                table[...] = values[name].reshape(table.shape)
            loaded.memory.iteration = int(values["iteration"])
            loaded._load_locks(values["locked_nodes"], values["locks"])
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise UpiError(f"load_tree: {words[0]} is damaged") from error
        self._stop_solver()
        for name in (*SAVED_SETTINGS, "ranges", "arena", "memory", "seconds"):
            setattr(self, name, getattr(loaded, name))

    def _load_locks(self, locked_nodes: Iterable[tuple[int, int]], weights: Floats) -> None:
        arena, start = self._require_tree(), 0
        for node, board in locked_nodes:
            num_actions = len(arena.betting.nodes[node].actions)
            shape = num_actions, arena.hands[arena.betting.nodes[node].kind].size
            stop = start + shape[0] * shape[1]
            arena.lock(node, board, weights[start:stop].reshape(shape))
            start = stop

    def _check_file_words(self, name: str, words: list[str], kinds: tuple[str, ...]) -> None:
        if not 1 <= len(words) <= 2 or words[1:] not in ([], *([kind] for kind in kinds)):
            raise UpiError(f"{name}: give a file, then nothing or one of {', '.join(kinds)}")

    # answers

    def do_show_hand_order(self, words: list[str]) -> list[str]:
        """Answer with the names of all hands, in the order of all vectors."""
        return [" ".join(hand_name(hand) for hand in range(NUM_HANDS))]

    def do_show_node(self, words: list[str]) -> list[str]:
        """Answer with a node: name, kind, board, chips, number of children, flags."""
        _count_words("show_node", words, 1)
        return self._describe_node(words[0])

    def do_show_children(self, words: list[str]) -> list[str]:
        """Answer with all children of a node, separated by empty lines."""
        _count_words("show_children", words, 1)
        lines: list[str] = []
        for number, child in enumerate(self._child_names(words[0])):
            lines += [f"child {number}:", *self._describe_node(child), ""]
        return lines[:-1]

    def do_show_range(self, words: list[str]) -> list[str]:
        """Answer with a player's range, as set or at a node."""
        if not 1 <= len(words) <= 2:
            raise UpiError("show_range: give OOP or IP, then a node or nothing")
        player = _read_position(words[0])
        if len(words) == 1:
            return [_join_numbers(self.ranges[player])]
        location = self._find(words[1])
        _, _, reach = player_values(self._policy(), location, player)
        vector = self._to_vector(reach, player, location)
        return [_join_numbers(np.clip(vector, 0.0, 1.0))]

    def do_show_strategy(self, words: list[str]) -> list[str]:
        """Answer with a line of 1,326 frequencies for each child of a decision."""
        _count_words("show_strategy", words, 1)
        arena, location = self._require_tree(), self._find(words[0])
        node = arena.betting.nodes[location.node]
        if node.kind >= FOLD:
            raise UpiError(f"show_strategy: no player acts at {words[0]}")
        rows = self._policy().probabilities_at(location.node, location.board)
        return [_join_numbers(self._to_vector(row, node.kind, location)) for row in rows]

    def do_calc_ev(self, words: list[str]) -> list[str]:
        """Answer with a player's EVs from the start of the tree, and its matchups, at a node."""
        _count_words("calc_ev", words, 2)
        player, location = _read_position(words[0]), self._find(words[1])
        value, mass, _ = player_values(self._policy(), location, player)
        state = self._require_tree().betting.nodes[location.node].state
        spent = state.earlier_contribution + state.contributions[player]
        matchups = self._matchups(player, self._reaches(location), location)
        vectors = (np.where(mass > 0.0, value - spent, np.nan), matchups)
        return [_join_numbers(self._to_vector(v, player, location)) for v in vectors]

    def do_calc_eq_node(self, words: list[str]) -> list[str]:
        """Answer with a player's equities, matchups and total equity with the ranges at a node."""
        _count_words("calc_eq_node", words, 2)
        arena = self._require_tree()
        player, location = _read_position(words[0]), self._find(words[1])
        reaches = self._reaches(location)
        board = arena.boards.cards[location.board]
        equity = hand_equity(arena, player, board, reaches[player], reaches[1 - player])
        matchups = self._matchups(player, reaches, location)
        total = matchups.sum()
        mean = float(equity @ matchups) / total if total > 0.0 else np.nan
        vectors = (np.where(matchups > 0.0, equity, np.nan), matchups)
        lines = [_join_numbers(self._to_vector(v, player, location)) for v in vectors]
        return [*lines, _join_numbers(np.array([mean]))]

    def do_calc_line_freq(self, words: list[str]) -> list[str]:
        """Answer with the probability of the actions that lead to a node, given its cards."""
        _count_words("calc_line_freq", words, 1)
        return [f"{self._line_frequency(self._find(words[0])):.7g}"]

    def do_calc_global_freq(self, words: list[str]) -> list[str]:
        """Answer with the probability that a hand reaches a node, its cards included."""
        _count_words("calc_global_freq", words, 1)
        arena, location = self._require_tree(), self._find(words[0])
        num_dealt = len(arena.boards.cards[location.board]) - len(arena.spot.cards)
        frequency = self._line_frequency(location)
        if num_dealt:
            frequency *= self._root_matchups(location) / self._root_matchups(None)
            remaining = len(arena.spot.deck_rules.cards) - len(arena.spot.cards) - 4
            for number in range(num_dealt):
                frequency /= remaining - number
        return [f"{frequency:.7g}"]

    def do_set_strategy(self, words: list[str]) -> None:
        """Set the frequencies at a node: 1,326 numbers for each of its children."""
        if not words:
            raise UpiError("set_strategy: give a node, then 1,326 numbers for each child")
        arena, location = self._require_tree(), self._find_decision("set_strategy", words[0])
        node = arena.betting.nodes[location.node]
        if len(words) != 1 + NUM_HANDS * len(node.actions):
            raise UpiError(
                f"set_strategy: {len(words) - 1} numbers, must be {NUM_HANDS} for each of "
                f"{len(node.actions)} children"
            )
        numbers = [_read_number("set_strategy", word, 0.0, 1.0) for word in words[1:]]
        rows = np.array(numbers).reshape(-1, NUM_HANDS)
        weights = rows[:, self._hand_indices(node.kind, location)]
        self._stop_solver()
        is_locked = (location.node, location.board) in arena.locks
        arena.lock(location.node, location.board, weights)  # checks that alike suits stay alike
        if not is_locked:
            arena.unlock(location.node, location.board)
        self._set_average(location, weights)

    def do_lock_node(self, words: list[str]) -> None:
        """Lock a node to its strategy: solving and best responses keep to it."""
        _count_words("lock_node", words, 1)
        location = self._find_decision("lock_node", words[0])
        self._stop_solver()
        weights = self._policy().probabilities_at(location.node, location.board)
        self._require_tree().lock(location.node, location.board, weights)

    def do_unlock_node(self, words: list[str]) -> None:
        """Remove the lock of a node."""
        _count_words("unlock_node", words, 1)
        arena, location = self._require_tree(), self._find_decision("unlock_node", words[0])
        self._stop_solver()
        arena.unlock(location.node, location.board)

    def do_calc_results(self, words: list[str]) -> list[str]:
        """Answer with the EVs of both players and of their best responses."""
        self._require_tree()
        return self._result_lines()

    def _result_lines(self) -> list[str]:
        judgement = self._policy().judge(self._require_tree())
        values, best = np.asarray(judgement.values), np.asarray(judgement.best_values)
        return [
            f"running time: {self.seconds:.3f}",
            f"EV OOP: {values[0]:.3f}",
            f"EV IP: {values[1]:.3f}",
            f"OOP's MES: {best[0]:.3f}",
            f"IP's MES: {best[1]:.3f}",
            f"Exploitable for: {self._exploitability():.3f}",
        ]

    def _exploitability(self) -> float:
        judgement = self._policy().judge(self._require_tree())
        return float(np.asarray(judgement.best_values).sum() - sum(self.pot)) / 2.0

    # nodes

    def _require_tree(self) -> SpotArena:
        if self.arena is None:
            raise UpiError("there is no tree: build_tree comes first")
        return self.arena

    def _policy(self) -> HoldemPolicy:
        policies = self.algorithm.policies(self._require_tree(), self.memory)
        policy: HoldemPolicy = next(iter(policies.values()))
        return policy

    def _find(self, node_id: str) -> NodeLocation:
        """Return the node of a name such as r:0:c:b52:c:8h."""
        arena, words = self._require_tree(), node_id.split(":")
        if words[:1] != ["r"] or words[1:2] not in ([], ["0"]) or len(words) > 200:
            raise UpiError(f"{node_id[:60]!r} is not a node; nodes begin with r:0")
        number, history = 0, ""
        for word in words[2:]:
            node = arena.betting.nodes[number]
            if node.kind == DEAL:
                cards = parse_cards(word, "node")
                if len(cards) != 1:
                    raise UpiError(f"{node_id}: a card comes where {word!r} is")
                history += f"|{card_name(cards[0])}"
                number = arena.betting.block_starts[node.next_block]
                continue
            names = [self._action_id(node.first_child + k) for k in range(len(node.actions))]
            if word not in names:
                known = ", ".join(names) or "the end of the hand"
                raise UpiError(f"{node_id[:80]}: there is no {word[:20]!r}, only {known}")
            index = names.index(word)
            history += f",{node.actions[index]}"
            number = node.first_child + index
        return find_node(arena, history)

    def _action_id(self, number: int) -> str:
        """Return the last part of the name of a node."""
        node = self._require_tree().betting.nodes[number]
        name = node.action.split(" ")[0]
        if name in ("fold", "check", "call"):
            return "f" if name == "fold" else "c"
        amount = max(node.state.contributions)
        return f"b{node.state.earlier_contribution + amount}"

    def _betting_id(self, number: int) -> str:
        """Return the name of a node without cards."""
        betting, parts = self._require_tree().betting, list[str]()
        while number >= 0:
            node = betting.nodes[number]
            if node.parent >= 0:
                parts.insert(0, self._action_id(number))
                number = node.parent
            else:
                number = betting.block_parents[node.block]
        return ":".join(["r:0", *parts])

    def _find_decision(self, name: str, node_id: str) -> NodeLocation:
        """Return the node of a name if a player acts there."""
        location = self._find(node_id)
        if self._require_tree().betting.nodes[location.node].kind >= FOLD:
            raise UpiError(f"{name}: no player acts at {node_id}")
        return location

    def _reaches(self, location: NodeLocation) -> tuple[Floats, Floats]:
        """Return both players' ranges [hands] at a node."""
        policy = self._policy()
        first, second = (player_values(policy, location, player)[2] for player in (0, 1))
        return first, second

    def _matchups(
        self, player: int, reaches: tuple[Floats, Floats], location: NodeLocation
    ) -> Floats:
        """Return each hand's weight [hands] times that of the hands it can meet."""
        arena = self._require_tree()
        hands, others = arena.hands[player], arena.hands[1 - player]
        board = arena.boards.cards[location.board]
        live = [~np.isin(h.cards, board).any(axis=1) for h in (hands, others)]
        mass = hands.compatible_mass(others, reaches[1 - player] * live[1])
        matchups: Floats = reaches[player] * live[0] * mass
        return matchups

    def _root_matchups(self, location: NodeLocation | None) -> float:
        """Return all matchups before the first action, with the cards of a node if one is given."""
        arena = self._require_tree()
        root = NodeLocation(0, 0, IDENTITY_PERMUTATION) if location is None else location
        weights = arena.hands[0].weight, arena.hands[1].weight
        return float(self._matchups(0, weights, root).sum())

    def _line_frequency(self, location: NodeLocation) -> float:
        total = self._root_matchups(location)
        reached = float(self._matchups(0, self._reaches(location), location).sum())
        return reached / total if total > 0.0 else 0.0

    def _set_average(self, location: NodeLocation, weights: Floats) -> None:
        """Write frequencies into the average, with the weight that each hand has there."""
        arena = self._require_tree()
        piece = arena.piece_slice(location.node, location.board)
        for table in (self.memory.regret, self.memory.policy_sum[0]):
            rows = table[piece].reshape(weights.shape)
            rows[:] = weights * np.maximum(np.abs(rows).sum(axis=0), 1.0)

    def _child_names(self, node_id: str) -> list[str]:
        arena = self._require_tree()
        if node_id == "r":
            return ["r:0"]
        location = self._find(node_id)
        node = arena.betting.nodes[location.node]
        if node.kind == DEAL:
            used = {*arena.spot.cards, *parse_cards("".join(_cards_of(node_id)), "node")}
            return [f"{node_id}:{card_name(c)}" for c in range(52) if c not in used]
        numbers = range(node.first_child, node.first_child + len(node.actions))
        return [f"{node_id}:{self._action_id(number)}" for number in numbers]

    def _describe_node(self, node_id: str) -> list[str]:
        arena = self._require_tree()
        location = self._find(node_id)
        node = arena.betting.nodes[location.node]
        kinds = {0: "OOP_DEC", 1: "IP_DEC", DEAL: "SPLIT_NODE"}
        cards = [card_name(card) for card in arena.spot.cards] + _cards_of(node_id)
        state = node.state
        chips = [state.earlier_contribution + paid for paid in state.contributions]
        kind = kinds.get(node.kind, "END_NODE")
        if node_id == "r":
            kind = "ROOT"
        return [
            node_id,
            kind,
            " ".join(cards),
            f"{self.pot[0] + chips[0]} {self.pot[1] + chips[1]} {self.pot[2]}",
            f"{len(self._child_names(node_id))} children",
            "flags:",
        ]

    def _to_vector(self, values: Floats, player: int, location: NodeLocation) -> Floats:
        """Return values of the arena's hands as [1326], on the cards that the client named."""
        arena = self._require_tree()
        vector = np.zeros(NUM_HANDS)
        live = ~np.isin(arena.hands[player].cards, arena.boards.cards[location.board]).any(axis=1)
        vector[self._hand_indices(player, location)[live]] = values[live]
        return vector

    def _hand_indices(self, player: int, location: NodeLocation) -> Ints:
        """Return the client's numbers [hands] of the arena's hands on the board of a node."""
        inverse = tuple(location.suit_permutation.index(s) for s in range(4))
        hands = self._require_tree().hands[player].cards.tolist()
        return np.array(
            [hand_index(*(permute_suits(card, inverse) for card in hand)) for hand in hands]
        )


def build_betting_from_lines(spot: Spot, lines: Iterable[tuple[int, ...]]) -> BettingTree:
    """Return the betting tree whose bets are those of some lines; it has all folds and calls.

    Args:
        spot: pot, stacks and board; its bet sizes are not used.
        lines: the chips that the acting player has put in after each action, over all streets.

    Raises:
        UpiError: a line has a bet that is too small, too large, or follows the end of the hand.
    """
    bets: dict[tuple[int, ...], set[int]] = {}
    for line in lines:
        for k, amount in enumerate(line):
            bets.setdefault(line[:k], set()).add(amount)
    betting = BettingTree()
    waiting: list[tuple[StreetState, int, tuple[int, ...]]] = [
        (StreetState(spot.street, 0), -1, ())
    ]
    for state, parent, root in waiting:
        block, number = len(betting.block_starts), len(betting.nodes)
        prefixes = {number: root}
        betting.start_block(BettingNode(node_kind(spot, state), state, block), parent)
        while number < len(betting.nodes):
            if len(betting.nodes) > MAX_BETTING_NODES:
                raise UpiError(f"the tree has more than {MAX_BETTING_NODES:,} betting nodes")
            node, prefix = betting.nodes[number], prefixes.pop(number)
            if node.kind == DEAL:
                waiting.append((next_street_state(node.state), number, prefix))
            elif node.kind < FOLD:
                node.first_child = len(betting.nodes)
                options = _line_actions(spot, node.state, bets.get(prefix, set()))
                node.actions = tuple(name for name, _, _ in options)
                for name, after, amount in options:
                    kind = FOLD if after is None else node_kind(spot, after)
                    child = BettingNode(kind, after or node.state, block, number, name)
                    if after is None:
                        child.folding_player = node.kind
                    prefixes[len(betting.nodes)] = (*prefix, amount)
                    betting.nodes.append(child)
            number += 1
    betting.block_starts.append(len(betting.nodes))
    return betting


def _line_actions(
    spot: Spot, state: StreetState, amounts: set[int]
) -> list[tuple[str, StreetState | None, int]]:
    """Return the actions at a state: name, next state (None after a fold), chips put in."""
    player, before = state.player, state.earlier_contribution
    own, other = state.contributions[player], state.contributions[1 - player]
    actions: list[tuple[str, StreetState | None, int]] = []
    if own == other:
        after = state._replace(player=-1 if state.is_opened else 1 - player, is_opened=True)
        actions.append(("check", after, before + own))
    else:
        called = state._replace(contributions=(other, other), player=-1)
        actions += [("fold", None, before + own), ("call", called, before + other)]
    for amount in sorted(amounts):
        if amount <= before + other:  # a check or call, which is there anyway
            continue
        if amount > spot.stack:
            raise UpiError(f"a line bets {amount} chips, more than the stack of {spot.stack}")
        if before + other == spot.stack:
            raise UpiError(f"a line raises to {amount} after an all-in")
        minimum = min(before + 2 * other - own, spot.stack)
        if amount < minimum:
            raise UpiError(f"a line raises to {amount} chips, less than the minimum of {minimum}")
        chips = amount - before
        name = "all-in" if amount == spot.stack else "raise" if other else "bet"
        contributions = (chips, other) if player == 0 else (other, chips)
        bet = state._replace(contributions=contributions, player=1 - player, is_opened=True)
        actions.append((f"{name} {chips}", bet, amount))
    return actions


def serve(reader: TextIO, writer: TextIO) -> None:
    """Answer commands from a text stream until `exit` or its end, after the lines of `BANNER`."""
    from counterplay import __version__

    end_string, output = "", threading.Lock()

    def write(lines: list[str], with_end: bool = True) -> None:
        with output:
            for line in lines:
                writer.write(line + "\n")
            if end_string and with_end:
                writer.write(end_string + "\n")
            writer.flush()

    # a message of one line has no end string
    engine = UpiEngine(lambda lines: write(lines, len(lines) > 1))
    write([line.format(version=__version__) for line in BANNER])
    try:
        while line := reader.readline(MAX_LINE_LENGTH + 2):
            text = line.strip()
            if not text or text.startswith("#"):
                continue
            if text == "exit":
                break
            name, *words = text.split()
            if name == "set_end_string":
                end_string = words[0] if len(words) == 1 else end_string
                is_valid = len(words) == 1
                write(["set_end_string ok!" if is_valid else "ERROR: set_end_string: give a word"])
                continue
            if name == "reset_end_string":
                end_string = ""
                write(["reset_end_string ok!"])
                continue
            engine.run_command(text, write)
    finally:
        engine.stopping.set()


def _cards_of(node_id: str) -> list[str]:
    """Return the cards in the name of a node."""
    words = node_id.split(":")[2:]
    return [
        word for word in words if word[0] not in "cfb" or (len(word) == 2 and word[1] in "cdhs")
    ]


def _split_words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UpiError(f"cannot read the arguments: {error}") from error


def _count_words(name: str, words: list[str], count: int) -> None:
    if len(words) != count:
        raise UpiError(f"{name}: {len(words)} arguments, must be {count}")


def _read_position(word: str) -> int:
    if word.upper() not in POSITIONS:
        raise UpiError(f"{word[:20]!r} is not a player; write OOP or IP")
    return POSITIONS.index(word.upper())


def _read_chips(name: str, word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 9:
        raise UpiError(f"{name}: {word[:20]!r} is not a whole number of chips below {MAX_CHIPS:,}")
    return int(word)


def _read_number(name: str, word: str, low: float, high: float) -> float:
    try:
        value = float(word)
    except ValueError:
        value = low - 1.0
    if not low <= value <= high:
        raise UpiError(f"{name}: {word[:20]!r} is not a number from {low:g} to {high:g}")
    return value


def _range_text(weights: Floats) -> str:
    """Return weights [1326] as the text of a range."""
    parts = [f"{hand_name(h)}:{weights[h]:.6g}" for h in np.flatnonzero(weights).tolist()]
    if not parts:
        raise UpiError("a range is empty: set_range comes first")
    return ",".join(part.removesuffix(":1") for part in parts)


def _join_numbers(values: Floats) -> str:
    return " ".join(f"{value:.6g}" for value in values.tolist())
