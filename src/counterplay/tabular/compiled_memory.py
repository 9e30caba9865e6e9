"""What sampling algorithms keep about a game with compiled rules: tables that grow, in arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.game import Game
from counterplay.kernels import numbering
from counterplay.kernels.lazy_nodes import ENTRIES, INFOSETS, LOTTERIES, WORDS
from counterplay.rule_checks import action_names
from counterplay.sampled import SizeReport
from counterplay.tabular.sampled_memory import SampledMemory

NUMBERS = ("iteration", "seed", "touched")
TABLES = ("regret", "policy", "policy_sum", "visits", "largest")
FEWEST = 1 << 20  # slots of the hash table
ROOM = 1 << 22  # nodes of an iteration, and so entries and infosets that it may add


@dataclass
class CompiledMemory:
    """Tables with room at their ends; `counts` says how much is in use: see `kernels.lazy_nodes`.

    An infoset is known by its player and by what the machine sees there. The actions that led to
    its first node are kept, so that the readable rules can name it when somebody asks.
    """

    game: Game
    iteration: int
    seed: int
    touched: int = 0
    counts: Ints = field(default_factory=lambda: np.zeros(7, np.int64))
    regret: Floats = field(default_factory=lambda: np.zeros(0))
    policy: Floats = field(default_factory=lambda: np.zeros(0))
    policy_sum: Floats = field(default_factory=lambda: np.zeros(0))
    visits: Floats = field(default_factory=lambda: np.zeros(0))
    largest: Floats = field(default_factory=lambda: np.zeros(0))
    known: Ints = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    place: Ints = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    words: Ints = field(default_factory=lambda: np.zeros(0, np.int32))
    last_word: Ints = field(default_factory=lambda: np.zeros(1, np.int64))
    lotteries: Ints = field(default_factory=lambda: np.zeros((4096, 2), np.int64))
    table: Ints = field(default_factory=lambda: np.full(2, -1, np.int32))
    named: dict[tuple[int, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    finished: ClassVar[bool] = False
    guesses: ClassVar[str] = ""

    def make_room(self) -> None:
        """Let every table have room for one more iteration, whatever it meets."""
        infosets, entries = int(self.counts[INFOSETS]), int(self.counts[ENTRIES])
        for name in TABLES:
            setattr(self, name, _longer(getattr(self, name), entries))
        self.known, self.place = _longer(self.known, infosets), _longer(self.place, infosets)
        self.last_word = _longer(self.last_word, infosets + 1)
        self.words = _longer(self.words, int(self.counts[WORDS]))
        if self.table.size < max(2 * infosets, FEWEST):
            self.table = np.full(max(1 << (4 * infosets).bit_length(), FEWEST), -1, np.int32)
            numbering.place_again(infosets, self.table, self.known)

    def fade(self, factor: float) -> None:
        """Multiply the sums of policies."""
        self.policy_sum *= factor

    @property
    def infosets(self) -> dict[tuple[int, str], tuple[int, tuple[str, ...]]]:
        """Where the actions of (player, infoset key) stand, and their names; made when asked for"""
        game, states = self.game, {(): self.game.initial_state()}
        first, last = len(self.named), int(self.counts[INFOSETS])
        words, ends = self.words, self.last_word[first : last + 1].tolist()
        owners, places = self.known[first:last, 2].tolist(), self.place[first:last, 0].tolist()
        for k in range(last - first):
            path = tuple(words[ends[k] : ends[k + 1]].tolist())
            depth = len(path)
            while path[:depth] not in states:
                depth -= 1
            state = states[path[:depth]]
            for action in path[depth:]:
                depth += 1
                state = states[path[:depth]] = game.next_state(state, action)
            if len(states) > 1 << 20:
                states = {(): game.initial_state()}
            key = owners[k], game.infoset_key(state, owners[k])
            names = action_names(game, state, game.actions(state))
            self.named[key] = places[k], names
        return self.named

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        infosets, entries = int(self.counts[INFOSETS]), int(self.counts[ENTRIES])
        words = int(self.counts[WORDS])
        num_bytes = 8 * entries * len(TABLES) + infosets * 8 * (3 + 2 + 1 + 1) + 4 * words
        return SizeReport(self.iteration, self.touched, infosets, entries, num_bytes)

    def to_arrays(self) -> dict[str, Any]:
        """All that is in use, as arrays and numbers."""
        infosets, entries = int(self.counts[INFOSETS]), int(self.counts[ENTRIES])
        return {
            **{name: getattr(self, name) for name in NUMBERS},
            **{name: getattr(self, name)[:entries].copy() for name in TABLES},
            "known": self.known[:infosets].copy(),
            "place": self.place[:infosets].copy(),
            "words": self.words[: self.counts[WORDS]].copy(),
            "last_word": self.last_word[: infosets + 1].copy(),
            "lotteries": self.lotteries[: self.counts[LOTTERIES]].copy(),
        }

    def from_arrays(self, stored: Mapping[str, Any]) -> Any:
        """The memory of these; what was learned on the readable rules stays what it was."""
        if "index" in stored:
            return SampledMemory.from_arrays(stored)
        counts = np.zeros(7, np.int64)
        counts[INFOSETS], counts[ENTRIES] = len(stored["known"]), len(stored["policy"])
        counts[LOTTERIES], counts[WORDS] = len(stored["lotteries"]), len(stored["words"])
        lotteries = np.zeros((4096, 2), np.int64)
        lotteries[: counts[LOTTERIES]] = stored["lotteries"]
        given = {name: stored[name] for name in (*NUMBERS, *TABLES, "known", "place", "words")}
        given |= {"last_word": stored["last_word"], "lotteries": lotteries}
        return CompiledMemory(self.game, counts=counts, **given)


def _longer(array: Any, used: int) -> Any:
    """The array with room for an iteration behind what is used; pages not written cost nothing."""
    if len(array) >= used + ROOM:
        return array
    longer = np.zeros((used + used // 2 + ROOM + 1, *array.shape[1:]), array.dtype)
    longer[:used] = array[:used]
    return longer
