"""The public tree as an arena: one node per public state, a vector over hands at each.

Tables of regrets and of the average policy hold one piece [actions, hands] per betting node and
board, one node's boards after another. All hands of a range have their place everywhere; where the
board holds a card of theirs, nothing is ever learned there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

import numpy as np

from counterplay.arena import Floats
from counterplay.cards import card_name, swap_suits
from counterplay.errors import ConfigError
from counterplay.evaluate import Judgement
from counterplay.kernels import dealing, streets
from counterplay.kernels.ranges import Room, Rows, Tables, Walk
from counterplay.kernels.threads import num_threads, run_parts
from counterplay.public.betting import FOLD, Betting, Node, betting_of
from counterplay.public.boards import Boards, Hands, boards_of
from counterplay.public.layout import Pieces, new_room, new_rows, pieces_of, walks_of
from counterplay.public.spot import Spot
from counterplay.tree.estimating import available_memory, gib

PRECISIONS = {"float64": np.float64, "float32": np.float32, "int16": np.int16}
SPEED = 1e-8  # seconds per sequence, iteration and core, about: benchmarks/holdem.md
NOTHING = 1e-12  # of all pairs of hands: what is left when all of them share cards
ROUNDING = 8.0  # units in the last place that a sum of values may be off


@dataclass(frozen=True)
class SpotSize:
    """What solving a spot will take, known before anything is allocated."""

    num_nodes: int  # public states at which somebody acts or the hand ends
    num_infosets: int  # decisions times hands
    num_sequences: int
    num_bytes: int  # with one average
    seconds: float  # per iteration on one core, a guess


@dataclass
class PublicMemory:
    """What the CFR family keeps on a public tree. S sequences, K averages, Q pieces."""

    iteration: int
    regret: Any  # [S]
    prediction: Any  # [S], or nothing
    sums: Any  # [K, S] of reach times policy, in units of `weight`
    weight: Floats  # [K] of the last policy that was added
    regret_scale: Any  # [Q] if pieces have 16 bits
    prediction_scale: Any
    sums_scale: Any  # [K, Q]
    finished: ClassVar[bool] = False

    def fade(self, factor: float) -> None:
        """Multiply the sums of policies."""
        self.weight *= factor


@dataclass(frozen=True, eq=False)
class PublicPolicy:
    """A policy on a public tree: proportional to `weights` [S], where zero to `otherwise`."""

    arena: PublicTree
    weights: Any = field(repr=False)
    otherwise: Any = field(repr=False)

    def judged(self, arena: PublicTree) -> Judgement:
        """How good it is, as `judge` says it."""
        return Judgement(*arena.judge(self))

    def at(self, node: int, board: int) -> Floats:
        """Probabilities [actions, hands] at a betting node and a board."""
        place, count = self.arena.piece(node, board), len(self.arena.betting.nodes[node].actions)
        chosen = np.maximum(self.weights[place].astype(np.float64), 0.0).reshape(count, -1)
        if self.otherwise.size:
            other = np.maximum(self.otherwise[place].astype(np.float64), 0.0).reshape(count, -1)
            chosen = np.where(chosen.sum(axis=0) > 0.0, chosen, other)
        lock = self.arena.locks.get((node, board))
        if lock is not None:
            chosen = np.where(lock.sum(axis=0) > 0.0, lock, chosen)
        total = chosen.sum(axis=0)
        return np.where(total > 0.0, chosen / np.where(total > 0.0, total, 1.0), 1.0 / count)


class PublicTree:
    """A spot ready to be solved.

    Args:
        spot: what is to be solved.
        precision: of what is kept: float32, float64, or int16 for half the memory.
        isomorphism: solve boards that differ in the names of suits only once.
    """

    offers: ClassVar[tuple[str, ...]] = ("vectors",)
    num_players: ClassVar[int] = 2

    def __init__(self, spot: Spot, precision: str = "float32", isomorphism: bool = True):
        if precision not in PRECISIONS:
            names = ", ".join(PRECISIONS)
            raise ConfigError(f"precision is {precision!r}, must be one of {names}")
        self.spot, self.precision, self.isomorphism = spot, precision, isomorphism
        self.betting: Betting = betting_of(spot)
        used = (*spot.cards, *spot.dead_cards)
        self.hands = (Hands.of(spot.ranges[0], used), Hands.of(spot.ranges[1], used))
        self.boards: Boards = boards_of(spot, isomorphism)
        self._scratch: dict[Any, tuple[Rows, list[Room]]] = {}
        self.locks: dict[tuple[int, int], Floats] = {}
        total = _meeting(*self.hands)
        if total <= NOTHING * self.hands[0].weight.sum() * self.hands[1].weight.sum():
            raise ConfigError("no hand of one range leaves the other a hand: they share all cards")
        self.total = total

    @property
    def spec(self) -> str:
        """The spot in short."""
        return f"spot({self.spot.board},pot={self.spot.pot},stacks={self.spot.stack})"

    @cached_property
    def pieces(self) -> Pieces:
        return pieces_of(self.betting, self.boards, self.hands, self.spot.street)

    @property
    def num_sequences(self) -> int:
        """Entries of a table."""
        return self.pieces.num_sequences

    @property
    def num_pieces(self) -> int:
        """Decisions on boards."""
        return self.pieces.num_pieces

    def _boards_at(self, node: Node) -> int:
        return self.boards.counts[node.street.number - self.spot.street]

    @cached_property
    def size(self) -> SpotSize:
        """What solving will take."""
        nodes = infosets = sequences = pieces = 0
        for node in self.betting.nodes:
            boards = self._boards_at(node)
            nodes += boards
            if node.kind < FOLD:
                pieces += boards
                infosets += boards * self.hands[node.kind].size
                sequences += boards * self.hands[node.kind].size * len(node.actions)
        item = np.dtype(PRECISIONS[self.precision]).itemsize
        order = 8 * len(self.boards.cards) * sum(own.size for own in self.hands)
        kept = 2 * item * sequences + (8 * pieces if self.precision == "int16" else 0)
        return SpotSize(nodes, infosets, sequences, kept + order, sequences * SPEED)

    def check_memory(self, num_averages: int = 1, tables: int = 1) -> None:
        """Refuse what would not fit, and say what to cut."""
        item = np.dtype(PRECISIONS[self.precision]).itemsize
        needed = self.size.num_sequences * item * (num_averages + tables)
        free = available_memory()
        if needed > 0.9 * free:
            smaller = "" if self.precision == "int16" else "; int16 needs half of that"
            raise ConfigError(
                f"{self.spec} has {self.size.num_sequences:,} sequences and needs "
                f"{gib(needed)} where {gib(free)} are free: offer fewer bet sizes, set raise_cap "
                f"or force_all_in, or narrow the ranges{smaller}"
            )

    def record(self, node: int, board: int) -> str:
        """What everybody has seen at a node: actions, and cards after a bar."""
        dealt = self.boards.cards[board][len(self.spot.cards) :]
        first, *later = self.betting.streets(node)
        text = ",".join(first)
        for card, actions in zip(dealt, later, strict=True):
            text += ",".join([f"|{card_name(card)}", *actions])
        return text

    def piece(self, node: int, board: int) -> slice:
        """Where the tables hold [actions, hands] of a node that decides and a board."""
        start = int(self.pieces.start[node] + board * self.pieces.stride[node])
        here = self.betting.nodes[node]
        return slice(start, start + len(here.actions) * self.hands[here.kind].size)

    def decisions(self) -> Iterator[tuple[int, int]]:
        """Every node that decides with each of its boards."""
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                level = node.street.number - self.spot.street
                for board in range(*self.boards.level[level : level + 2].tolist()):
                    yield number, board

    # the CFR family, in this arena's own layout

    def new_memory(self, num_averages: int, predicts: bool) -> PublicMemory:
        """No regrets and nothing summed yet."""
        self.check_memory(num_averages, 1 + predicts)
        kind, wide = PRECISIONS[self.precision], self.precision != "int16"
        size, pieces = self.num_sequences, 0 if wide else self.num_pieces
        return PublicMemory(
            iteration=0,
            regret=np.zeros(size, kind),
            prediction=np.zeros(size if predicts else 0, kind),
            sums=np.zeros((num_averages, size), kind),
            weight=np.zeros(num_averages),
            regret_scale=np.zeros(pieces, np.float32),
            prediction_scale=np.zeros(pieces if predicts else 0, np.float32),
            sums_scale=np.zeros((num_averages, pieces), np.float32),
        )

    def iterate(
        self, memory: PublicMemory, factors: Floats, weights: Floats, alternating: bool = True
    ) -> None:
        """One iteration per row of the factors p, n and m [T, 3] and weights [T, K], in turn."""
        if not alternating:
            raise ConfigError(f"on {self.spec} players learn in turn: alternating must be true")
        for rule, weight in zip(factors, weights, strict=True):
            kept = weight > 0.0
            fade = np.where(kept, memory.weight / np.where(kept, weight, 1.0), 1.0)
            tables = Tables(
                shown=memory.prediction if memory.prediction.size else memory.regret,
                otherwise=memory.regret[:0],
                regret=memory.regret,
                regret_scale=memory.regret_scale,
                shown_scale=memory.prediction_scale,
                sums=memory.sums,
                sums_scale=memory.sums_scale,
                **self._lock_tables,
                rule=rule,
                fade=fade,
                add=kept.astype(np.float64),
            )
            for player in (0, 1):
                self.walk(player, tables, streets.LEARN)
            memory.weight = np.where(kept, weight, memory.weight)
            memory.iteration += 1

    def policies(self, memory: PublicMemory, averages: tuple[str, ...]) -> dict[str, PublicPolicy]:
        """The averages by name, and the last iterate."""
        now = memory.prediction if memory.prediction.size else memory.regret
        found = {
            name: PublicPolicy(self, total, now)
            for name, total in zip(averages, memory.sums, strict=True)
        }
        return found | {"current": PublicPolicy(self, now, now[:0])}

    # exact judgement

    def judge(self, policy: PublicPolicy) -> tuple[Floats, Floats]:
        """Both players' values, and what best responses would earn.

        In 32 bits that is off by some 1e-7 of the pot (benchmarks/holdem.md).
        """
        tables = self.reading(policy)
        values, best = np.zeros(2), np.zeros(2)
        for player in (0, 1):
            weight = self.hands[player].weight
            best[player] = weight @ self.walk(player, tables, streets.BEST)
            if player == 1 and not self.spot.rake:  # what one takes the other does not
                values[1] = self.spot.pot - values[0]
                continue
            values[player] = weight @ self.walk(player, tables, streets.MEAN)
        return values, best

    def reading(self, policy: PublicPolicy) -> Tables:
        """Tables that only say what the policy is."""
        nothing = np.zeros(0, policy.weights.dtype)
        scales, none = np.zeros(0, np.float32), np.zeros(0)
        return Tables(
            shown=policy.weights,
            otherwise=policy.otherwise,
            regret=nothing,
            regret_scale=scales,
            shown_scale=scales,
            sums=nothing.reshape(0, 0),
            sums_scale=scales.reshape(0, 0),
            **self._lock_tables,
            rule=np.zeros(3),
            fade=none,
            add=none,
        )

    # walks

    @cached_property
    def walks(self) -> tuple[Walk, Walk]:
        return walks_of(self.spot, self.betting, self.boards, self.hands)

    @property
    def kind(self) -> Any:
        """The type of numbers that walks compute with."""
        return np.float64 if self.precision == "float64" else np.float32

    @property
    def rounding(self) -> float:
        """What values may be off by, per unit of the opponent's reach."""
        return ROUNDING * float(np.finfo(self.kind).eps) * (self.spot.pot + self.spot.stack)

    def rooms(self, player: int) -> tuple[Rows, list[Room]]:
        """Room for the first block, and scratch for every thread."""
        walk, threads = self.walks[player], min(num_threads(), len(self.boards.cards))
        if (player, threads) not in self._scratch:
            top = new_rows(walk, int(walk.block[1]), self.kind)
            rooms = [new_room(walk, self.kind) for _ in range(threads)]
            self._scratch[player, threads] = top, rooms
        return self._scratch[player, threads]

    # locks

    def lock(self, node: int, board: int, weights: Floats) -> None:
        """Make a player choose in proportion to `weights` [actions, hands]; zeros leave it free.

        Everything is solved around it, and best responses keep to it too.
        """
        here = self.betting.nodes[node]
        shape = (len(here.actions), self.hands[here.kind].size)
        given = np.asarray(weights, np.float64)
        if given.shape != shape or not (np.isfinite(given) & (given >= 0.0)).all():
            raise ConfigError(
                f"a lock at this node is {shape[0]} x {shape[1]} numbers, none below 0"
            )
        for suits in self.boards.renamings:
            known = self.boards.cards[board]
            same = {swap_suits(c, suits) for c in self.spot.cards} == set(self.spot.cards)
            later = known[len(self.spot.cards) :]
            stays = same and all(swap_suits(card, suits) == card for card in later)
            if stays and not np.allclose(given[:, self.hands[here.kind].renamed(suits)], given):
                raise ConfigError(
                    "the lock treats suits differently that the spot treats alike; take "
                    "isomorphism=False"
                )
        self.locks[node, board] = given
        self.__dict__.pop("_lock_tables", None)

    def unlock(self) -> None:
        """Remove all locks."""
        self.locks.clear()
        self.__dict__.pop("_lock_tables", None)

    @cached_property
    def _lock_tables(self) -> dict[str, Any]:
        locked = np.full(self.num_pieces if self.locks else 0, -1, np.int64)
        pieces, start = [np.zeros(0)], 0
        for (node, board), weights in self.locks.items():
            locked[self.pieces.place[node] + board] = start
            pieces.append(weights.ravel())
            start += weights.size
        return {"locked": locked, "lock": np.concatenate(pieces)}

    def walk(self, player: int, tables: Tables, mode: int) -> Floats:
        """Walk the whole tree for one player; its cf_values [hands] at the root."""
        walk, kind = self.walks[player], self.kind
        top, rooms = self.rooms(player)
        rounding = self.rounding
        top.own[0] = 1.0
        top.opponent[0] = self.hands[1 - player].weight / self.total
        deals = int(walk.ends[0, 3] - walk.ends[0, 2])
        if not deals:
            dealing.last_street(walk, tables, rooms[0], top, 0, 0, mode, rounding)
            return top.value[0]
        dealing.begin(walk, tables, rooms[0], top, 0, 0, mode)
        boards = int(self.boards.counts[1])
        after = np.empty((boards, deals, self.hands[player].size), kind)
        tasks = count()

        def work(thread: int, _: int) -> None:
            while (board := next(tasks)) < boards:
                dealing.after_card(
                    walk, tables, rooms[thread], top, 0, 1 + board, mode, rounding, after[board]
                )

        run_parts(work, [(thread, thread + 1) for thread in range(min(len(rooms), boards))])
        dealing.finish(walk, tables, rooms[0], top, 0, 0, mode, rounding, after)
        return top.value[0]


def _meeting(one: Hands, other: Hands) -> float:
    """The weight of all pairs of hands that share no card."""
    by_card = np.bincount(other.cards.ravel(), np.repeat(other.weight, 2), 52)
    same = np.append(other.weight, 0.0)[one.same(other)]
    left = other.weight.sum() - by_card[one.cards].sum(axis=1) + same
    return float(one.weight @ left)
