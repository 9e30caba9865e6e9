"""Flop hold'em as a public tree: one round before the flop, and one on each of 1,755 flops.

A flop stands for all that renaming suits makes of it. Nothing before the flop tells suits apart,
so the value of a hand there is a mean over the hands that are alike, 169 kinds, of the values on
these flops, each counted as often as it comes.

A flop leaves 49 cards. Numbered again from 0 to 48 they make the same 1,176 hands on every flop:
only the order of their strengths is a flop's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, count, pairwise
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.cards import HANDS, NUM_CARDS, canonical_flops, cards_name
from counterplay.errors import ConfigError, FileError
from counterplay.files import read_arrays, write_arrays
from counterplay.games.flop_holdem import FlopHoldem
from counterplay.generated.choosing import Generator
from counterplay.kernels import dealing, hands, pieces, streets
from counterplay.kernels.ranges import Room, Rows, Tables, Walk
from counterplay.kernels.threads import num_threads, run_parts
from counterplay.public.betting import DEAL, FOLD, SHOWDOWN, Betting, Node, Street
from counterplay.public.boards import Hands
from counterplay.public.layout import Pieces, betting_arrays, hand_arrays, new_room, new_rows
from counterplay.public.vectors import PublicPolicy, VectorTree
from counterplay.registry import spec_of

FLOP_HANDS = [(a, b) for b in range(NUM_CARDS - 3) for a in range(b)]
FORMAT = "counterplay flop hold'em 1"
PARTS = 45  # of the flops; sums are made part by part, so that threads do not matter
ROUNDING = 8.0  # as in `public.tree`


@dataclass(frozen=True)
class PublicState:
    """What everybody knows where a player acts, and the hands that it may hold there."""

    record: str  # fcr by action, a bar before the flop's: "rc|cr"
    flop: tuple[int, ...]  # none before it
    player: int
    actions: tuple[str, ...]
    hands: Ints  # [n, 2] cards


class FlopTree(VectorTree):
    """Flop hold'em ready to be solved, or to judge a policy on it.

    Values are chips; a thousandth of a big blind (mbb) is 0.1 of them.
    """

    advice = ": close other programs"

    def __init__(self, game: FlopHoldem | None = None, precision: str = "float32"):
        super().__init__(precision)
        self.game = game or FlopHoldem()
        self.betting = _betting(self.game)
        found = canonical_flops()
        self.flops = list(found)
        self.chance = np.array(list(found.values())) / comb(NUM_CARDS - 4, 3)
        self.total_value = 0.0
        self.weights = np.ones(len(HANDS)), np.ones(len(HANDS))
        self._scratch: dict[Any, tuple[Rows, list[Room]]] = {}

    @property
    def spec(self) -> str:  # type: ignore[override]
        return spec_of(self.game)

    @property
    def num_infosets(self) -> int:
        """Decisions on flops that differ, times hands."""
        before, after = self._decisions()
        return len(HANDS) * before + len(FLOP_HANDS) * len(self.flops) * after

    def _decisions(self) -> tuple[int, int]:
        deciding = [node for node in self.betting.nodes if node.kind < FOLD]
        before = sum(node.block == 0 for node in deciding)
        return before, len(deciding) - before

    @cached_property
    def pieces(self) -> Pieces:  # type: ignore[override]
        nodes, boards = self.betting.nodes, len(self.flops)
        start, stride, place = np.zeros((3, len(nodes)), np.int64)
        sequences = pieces = 0
        for first, last in pairwise(self.betting.starts):
            deciding = [n for n in range(first, last) if nodes[n].kind < FOLD]
            many, size = (boards, len(FLOP_HANDS)) if first else (1, len(HANDS))
            lengths = [len(nodes[n].actions) * size for n in deciding]
            for node, before in zip(deciding, accumulate(lengths, initial=0), strict=False):
                stride[node], start[node], place[node] = sum(lengths), sequences + before, pieces
                pieces += many
            sequences += many * sum(lengths)
        return Pieces(start, stride, place, sequences, pieces)

    def piece(self, node: int, board: int) -> slice:
        here = self.betting.nodes[node]
        size = len(FLOP_HANDS) if here.block else len(HANDS)
        start = int(self.pieces.start[node] + board * self.pieces.stride[node])
        return slice(start, start + len(here.actions) * size)

    # what walks need

    @cached_property
    def live(self) -> Ints:
        """[flops, 1176] the hands that a flop leaves, by their numbers before it."""
        cards = np.array(HANDS)
        return np.array(
            [np.flatnonzero(~np.isin(cards, flop).any(axis=1)) for flop in self.flops], np.uint16
        )

    @cached_property
    def kinds(self) -> Ints:
        """[1326] which of the 169 kinds a hand is."""
        low, high = np.array(HANDS).T
        suited = low % 4 == high % 4
        a, b = low // 4, high // 4  # a <= b
        return np.unique(np.where(suited, 13 * b + a, 13 * a + b), return_inverse=True)[1]

    @cached_property
    def _orders(self) -> tuple[Ints, Ints]:
        """[flops * 1176] hands by rising strength, and ranks."""
        size, cards = len(FLOP_HANDS), np.array(HANDS, np.uint8)
        order, rank = np.zeros((2, len(self.flops), size), np.uint16)
        strength, spare = np.zeros(size, np.int64), np.zeros((2, size), np.uint16)
        for number, flop in enumerate(self.flops):
            rows = np.empty((size, 5), np.uint8)
            rows[:, :3], rows[:, 3:] = flop, cards[self.live[number]]
            hands.strengths(rows, strength)
            dealing.sort_hands(strength, strength, order[number], spare[0], rank[number], spare[1])
        return order.ravel(), rank.ravel()

    @cached_property
    def walks(self) -> tuple[tuple[Walk, Walk], tuple[Walk, Walk]]:
        """Each player's walk before the flop and on it."""
        size, flops = len(FLOP_HANDS), len(self.flops)
        order, rank = self._orders
        before = Hands(np.arange(1326), np.ones(1326), np.array(HANDS))
        after = Hands(np.arange(size), np.ones(size), np.array(FLOP_HANDS))
        whole, zero = np.arange(1326, dtype=np.uint16), np.zeros(1326, np.uint16)

        def both(player: int) -> tuple[Walk, Walk]:
            amounts = np.zeros((len(self.betting.nodes), 4))
            for number, node in enumerate(self.betting.nodes):
                if node.kind in (FOLD, SHOWDOWN):
                    win = lose = min(node.street.paid)
                    if node.kind == FOLD:
                        win = lose = -lose if node.folder == player else lose
                        amounts[number] = 0.0, 0.0, win, win
                    else:
                        amounts[number] = win, lose, -lose, 0.0
            shared = betting_arrays(self.betting, self.pieces, amounts, player)
            none = np.zeros(1, np.int64)
            first = Walk(
                **shared,
                card=none,
                dealt=np.zeros(2, np.int64),
                chance=np.ones(1),
                twin=np.zeros(2, np.int64),
                renaming=none[:0],
                renamed=np.zeros((0, 1326), np.int64),
                **hand_arrays((before, before), ((np.array([0, 1326]), whole, zero),) * 2),
            )
            places = size * np.arange(flops + 1)
            later = first._replace(
                chance=self.chance,
                **hand_arrays((after, after), ((places, order, rank),) * 2),
            )
            return first, later

        return both(0), both(1)

    @property
    def rounding(self) -> float:
        """What values may be off by, per unit of the opponent's reach."""
        highest = max(max(node.street.paid) for node in self.betting.nodes)
        return ROUNDING * float(np.finfo(self.kind).eps) * highest

    def rooms(self, player: int) -> tuple[Rows, list[Room]]:
        """Room for the round before the flop, and scratch for every thread."""
        threads = num_threads()
        if (player, threads) not in self._scratch:
            first, later = self.walks[player]
            top = new_rows(first, int(first.block[1]), self.kind)
            rooms = [new_room(first, self.kind)]
            rooms += [new_room(later, self.kind) for _ in range(threads)]
            self._scratch[player, threads] = top, rooms
        return self._scratch[player, threads]

    def walk(self, player: int, tables: Tables, mode: int) -> Floats:
        """Walk everything for one player; its cf_values [1326] at the root."""
        first, later = self.walks[player]
        top, (room, *rooms) = self.rooms(player)
        rounding, live = self.rounding, self.live
        top.own[0] = 1.0
        top.opponent[0] = 1.0 / (len(HANDS) * comb(NUM_CARDS - 2, 2))
        streets.descend(first, tables, room, top, 0, 0, mode)
        dealing.end_values(first, room, top, 0, 0)
        deals = first.leaf[first.ends[0, 2] : first.ends[0, 3]]
        after = np.zeros((PARTS, deals.size, len(HANDS)))
        tasks = count()

        def work(thread: int, _: int) -> None:
            while (part := next(tasks)) < PARTS:
                for flop in range(part, len(self.flops), PARTS):
                    dealing.after_flop(
                        later, tables, rooms[thread], top, 0, flop, live[flop], mode, rounding,
                        after[part],
                    )  # fmt: skip

        run_parts(work, [(thread, thread + 1) for thread in range(len(rooms))])
        top.value[deals] = self._alike(after.sum(axis=0))
        tiny = dealing.negligible(top, len(HANDS), rounding)
        streets.ascend(first, tables, room, top, 0, 0, mode, tiny)
        return top.value[0]

    def _alike(self, values: Floats) -> Floats:
        """Values [., 1326] with hands of a kind all at their mean."""
        size = np.bincount(self.kinds)
        means = [np.bincount(self.kinds, row) / size for row in values]
        return np.array(means)[:, self.kinds]

    # policies from elsewhere

    def tabulate(self, answer: Callable[[PublicState], Any]) -> PublicPolicy:
        """The policy that answers a public state with probabilities [actions, hands] of its hands.

        Networks, programs and rules of thumb are judged by `cp.judge` on what comes out. They are
        asked once for every public state before the flop and on each of the 1,755 flops.
        """
        weights = np.zeros(self.num_sequences, np.float32)
        cards = np.array(HANDS)
        for number, node in enumerate(self.betting.nodes):
            if node.kind >= FOLD:
                continue
            record = "|".join("".join(a[0] for a in part) for part in self.betting.streets(number))
            for board in range(len(self.flops) if node.block else 1):
                flop = self.flops[board] if node.block else ()
                held = cards[self.live[board]] if node.block else cards
                public = PublicState(record, flop, node.kind, node.actions, held)
                given = np.asarray(answer(public), np.float64)
                shape = (len(node.actions), len(held))
                if given.shape != shape or not (np.isfinite(given) & (given >= 0.0)).all():
                    raise ConfigError(
                        f"after {record!r} on {cards_name(flop) or 'no board'} the policy must "
                        f"answer with {shape[0]} x {shape[1]} numbers, none below 0"
                    )
                weights[self.piece(number, board)] = given.ravel()
        return PublicPolicy(self, weights, weights[:0])

    def save_policy(self, policy: PublicPolicy, path: str | Path) -> None:
        """Write a policy in 16 bits, 0.75 GB; `load_flop_policy` reads it back."""
        tables, packed = self.reading(policy), np.zeros(self.num_sequences, np.uint16)
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                walk = self.walks[0][node.block > 0]
                room = new_room(walk, self.kind)
                rows = np.zeros((3, int(walk.sizes.max())), self.kind)
                last = len(self.flops) if node.block else 1
                pieces.pack_policy(walk, tables, room, rows, number, 0, last, packed)
        game = {"raises": self.game.raises, "flop_raises": self.game.flop_raises}
        write_arrays(path, FORMAT, {"game": game, "policy": packed}, compress=False)


def load_flop_policy(path: str | Path) -> PublicPolicy:
    """Read what `save` of a policy of flop hold'em wrote; a damaged file is refused."""
    found = read_arrays(path, FORMAT)
    try:
        arena = FlopTree(FlopHoldem(**found["game"]))
        packed = found["policy"]
        if packed.dtype != np.uint16 or packed.shape != (arena.num_sequences,):
            raise ConfigError("its policy does not fit its game")
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: not a whole policy ({error})") from error
    return PublicPolicy(arena, packed.astype(np.float32), np.zeros(0, np.float32))


def _betting(game: FlopHoldem) -> Betting:
    """Both rounds' betting in blocks: before the flop, and once for each way to it."""
    betting = Betting()
    waiting = [(Street(0, 0, game.blinds, game.first[0]), -1)]
    for street, parent in waiting:
        block, number = len(betting.starts), len(betting.nodes)
        betting.starts.append(number)
        betting.parents.append(parent)
        if parent >= 0:
            betting.nodes[parent].next_block = block
        betting.nodes.append(Node(street.player, street, block))
        while number < len(betting.nodes):
            node = betting.nodes[number]
            if node.kind == DEAL:
                after = Street(1, 0, node.street.paid, game.first[1])
                waiting.append((after, number))
            elif node.kind < FOLD:
                _grow(game, betting, number)
            number += 1
    betting.starts.append(len(betting.nodes))
    return betting


def _grow(game: FlopHoldem, betting: Betting, number: int) -> None:
    """Add what can happen at a decision."""
    node = betting.nodes[number]
    street, player = node.street, node.kind
    highest, other = max(street.paid), 1 - player
    node.first = len(betting.nodes)
    names = ["fold"] if street.paid[player] < highest else []
    names.append("call")
    if street.bets < game.max_raises[street.number]:
        names.append("raise")
    node.actions = tuple(names)
    for name in names:
        child = Node(FOLD, street, node.block, number, name, folder=player)
        if name != "fold":
            chips = highest + game.raise_sizes[street.number] * (name == "raise")
            paid = (chips, street.paid[1]) if player == 0 else (street.paid[0], chips)
            ended = name == "call" and street.opened
            bets = street.bets + (name == "raise")
            child.street = street._replace(paid=paid, player=other, bets=bets, opened=True)
            child.kind = (DEAL if street.number == 0 else SHOWDOWN) if ended else other
            child.folder = -1
        betting.nodes.append(child)


def _size(game: FlopHoldem) -> int:
    return FlopTree(game).num_infosets


def _build(game: FlopHoldem, memory_limit: int | None) -> FlopTree:
    return FlopTree(game)


FLOP = Generator(_size, _build)
