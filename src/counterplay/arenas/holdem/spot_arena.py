"""The public tree as an arena: one node per public state, a vector over hands at each.

Tables of regrets and of the average policy hold one piece [actions, hands] per betting node and
board, one node's boards after another. All hands of a range have their place everywhere; where the
board holds a card of theirs, nothing is ever learned there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.holdem.array_layout import (
    PieceLayout,
    build_piece_layout,
    build_walks,
    new_street_rows,
    new_street_scratch,
)
from counterplay.arenas.holdem.base import PRECISIONS, HoldemArena
from counterplay.arenas.holdem.betting import (
    FOLD,
    MAX_BETTING_NODES,
    BettingNode,
    BettingTree,
    build_betting_tree,
)
from counterplay.arenas.holdem.boards import (
    IDENTITY_PERMUTATION,
    Boards,
    RangeHands,
    SuitPermutation,
    build_boards,
    suit_symmetries,
)
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.arena import Floats
from counterplay.core.cards import card_name, permute_suits
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import deal_walk, street_walk
from counterplay.kernels.holdem.types import HoldemTables, HoldemWalk, StreetRows, StreetScratch
from counterplay.kernels.runtime.jit import is_compiled, keeps_compiled
from counterplay.kernels.runtime.threads import num_threads, run_in_threads

SECONDS_PER_SEQUENCE = 1e-8  # seconds per sequence, iteration and core, about: benchmarks/holdem/holdem.md
MIN_PAIR_FRACTION = 1e-12  # of all pairs of hands: what is left when all of them share cards
MAX_ROUNDING = 1e-3  # of the pot; where rounding errors may be larger, a note says so
ROUNDING_ULPS = 8.0  # units in the last place that a sum of values may be off


@dataclass(frozen=True)
class SpotSize:
    """What solving a spot will take, known before anything is allocated."""

    num_nodes: int  # public states at which somebody acts or the hand ends
    num_infosets: int  # decisions times hands
    num_sequences: int
    num_bytes: int  # with one average
    seconds_per_iteration: float  # per iteration on one core, a guess


def compile_note() -> str:
    """Say that the kernels of spots have to be compiled first; "" if the cache has them."""
    if is_compiled(
        deal_walk.walk_last_street,
        deal_walk.walk_after_card,
        deal_walk.ascend_first_block,
        street_walk.ascend,
    ):
        return ""
    if keeps_compiled(deal_walk.walk_last_street):
        return "compiling, the first time only: this takes about half a minute"
    return "compiling, every time: no folder keeps what is compiled, set NUMBA_CACHE_DIR to one"


class SpotArena(HoldemArena):
    """A spot ready to be solved.

    Args:
        spot: what is to be solved.
        precision: of what is kept: float32, float64, or int16 for half the memory.
        isomorphism: solve boards that differ in the names of suits only once.
        symmetries: the renamings of suits to merge boards by; all of the spot's by default.
        max_nodes: refuse a betting tree with more nodes.
    """

    memory_advice: ClassVar[str] = (
        ": offer fewer bet sizes, set raise_cap or force_all_in, or narrow the ranges"
    )

    def __init__(
        self,
        spot: Spot,
        precision: str = "float32",
        isomorphism: bool = True,
        *,
        symmetries: Sequence[SuitPermutation] | None = None,
        max_nodes: int = MAX_BETTING_NODES,
    ):
        super().__init__(precision)
        self.spot, self.isomorphism = spot, isomorphism
        self.value_sum = None if spot.rake else float(spot.pot)
        self.betting: BettingTree = build_betting_tree(spot, max_nodes)
        used = (*spot.cards, *spot.dead_cards)
        self.hands = (
            RangeHands.from_range(spot.ranges[0], used),
            RangeHands.from_range(spot.ranges[1], used),
        )
        self.hand_weights = self.hands[0].weight, self.hands[1].weight
        self.symmetries = suit_symmetries(spot) if isomorphism else [IDENTITY_PERMUTATION]
        if symmetries is not None:
            self.symmetries = _checked_group(symmetries, self.symmetries)
        self.boards: Boards = build_boards(spot, self.symmetries)
        self.num_loaded_streets = 3 - spot.street  # fewer where a solution was loaded in part
        self._scratch: dict[Any, tuple[StreetRows, list[StreetScratch]]] = {}
        total = _compatible_pair_weight(*self.hands)
        if total <= MIN_PAIR_FRACTION * self.hands[0].weight.sum() * self.hands[1].weight.sum():
            raise ConfigError("no hand of one range leaves the other a hand: they share all cards")
        self.total_pair_weight = total

    @property
    def spec(self) -> str:  # type: ignore[override]
        """The spot in short."""
        return f"spot({self.spot.board},pot={self.spot.pot},stacks={self.spot.stack})"

    @cached_property
    def piece_layout(self) -> PieceLayout:  # type: ignore[override]
        return build_piece_layout(self.betting, self.boards, self.hands, self.spot.street)

    def _num_boards(self, node: BettingNode) -> int:
        return self.boards.level_sizes[node.state.street - self.spot.street]

    @cached_property
    def size(self) -> SpotSize:
        """What solving will take."""
        nodes = infosets = sequences = pieces = 0
        for node in self.betting.nodes:
            boards = self._num_boards(node)
            nodes += boards
            if node.kind < FOLD:
                pieces += boards
                infosets += boards * self.hands[node.kind].size
                sequences += boards * self.hands[node.kind].size * len(node.actions)
        item = np.dtype(PRECISIONS[self.precision]).itemsize
        order = 8 * len(self.boards.cards) * sum(own.size for own in self.hands)
        kept = 2 * item * sequences + (8 * pieces if self.precision == "int16" else 0)
        return SpotSize(nodes, infosets, sequences, kept + order, sequences * SECONDS_PER_SEQUENCE)

    def history(self, node: int, board: int) -> str:
        """What everybody has seen at a node: actions, and cards after a bar."""
        dealt = self.boards.cards[board][len(self.spot.cards) :]
        first, *later = self.betting.actions_by_street(node)
        text = ",".join(first)
        for card, actions in zip(dealt, later, strict=True):
            text += ",".join([f"|{card_name(card)}", *actions])
        return text

    def piece_slice(self, node: int, board: int) -> slice:
        """Where the tables hold [actions, hands] of a node that decides and a board."""
        start = int(self.piece_layout.start[node] + board * self.piece_layout.stride[node])
        here = self.betting.nodes[node]
        return slice(start, start + len(here.actions) * self.hands[here.kind].size)

    def iter_decisions(self) -> Iterator[tuple[int, int]]:
        """Every node that decides with each of its boards."""
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                level = node.state.street - self.spot.street
                for board in range(*self.boards.level_offset[level : level + 2].tolist()):
                    yield number, board

    # walks

    @cached_property
    def walks(self) -> tuple[HoldemWalk, HoldemWalk]:
        return build_walks(self.spot, self.betting, self.boards, self.hands)

    @property
    def value_tolerance(self) -> float:
        """What values may be off by, per unit of the opponent's reach."""
        return (
            ROUNDING_ULPS
            * float(np.finfo(self.compute_dtype).eps)
            * (self.spot.pot + self.spot.stack)
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that a reader of the solution should know: bet sizes, precision."""
        if self.value_tolerance <= MAX_ROUNDING * self.spot.pot:
            return self.spot.notes
        note = (
            f"stacks of {self.spot.stack:,} are so large for a pot of {self.spot.pot:,} that "
            f"values in {self.precision} may be off by {self.value_tolerance:.2g} chips; take float64"
        )
        return (*self.spot.notes, note)

    def scratch(self, player: int) -> tuple[StreetRows, list[StreetScratch]]:
        """Room for the first block, and scratch for every thread."""
        walk, threads = self.walks[player], min(num_threads(), len(self.boards.cards))
        if (player, threads) not in self._scratch:
            top = new_street_rows(walk, int(walk.block[1]), self.compute_dtype)
            rooms = [new_street_scratch(walk, self.compute_dtype) for _ in range(threads)]
            self._scratch[player, threads] = top, rooms
        return self._scratch[player, threads]

    # locks

    def lock(self, node: int, board: int, weights: Floats) -> None:
        """Make a player choose in proportion to `weights` [actions, hands]; zeros leave it free.

        Everything is solved around it, and best responses keep to it too. A board of the tree
        stands for its twins, which differ from it in the names of suits only: the lock holds for
        all of them. `lock_node` locks after one card alone.
        """
        here = self.betting.nodes[node]
        shape = (len(here.actions), self.hands[here.kind].size)
        given = np.asarray(weights, np.float64)
        if given.shape != shape or not (np.isfinite(given) & (given >= 0.0)).all():
            raise ConfigError(
                f"a lock at this node is {shape[0]} x {shape[1]} numbers, none below 0"
            )
        for suits in self.boards.suit_permutations:
            known = self.boards.cards[board]
            same = {permute_suits(c, suits) for c in self.spot.cards} == set(self.spot.cards)
            later = known[len(self.spot.cards) :]
            stays = same and all(permute_suits(card, suits) == card for card in later)
            if stays and not np.allclose(
                given[:, self.hands[here.kind].permute_suits(suits)], given
            ):
                raise ConfigError(
                    "the lock treats suits differently that the spot treats alike; use "
                    "lock_node, which solves them apart, or take isomorphism=False"
                )
        self.locks[node, board] = given
        self.__dict__.pop("_lock_tables", None)

    def restrict_symmetries(self, symmetries: Sequence[SuitPermutation]) -> None:
        """Merge boards by fewer renamings of suits; all locks stay as they are.

        The tables get another layout: policies and memories made before no longer fit.
        """
        old, locks = self.boards, self.locks
        self.symmetries = _checked_group(symmetries, self.symmetries)
        self.boards = build_boards(self.spot, self.symmetries)
        for name in ("piece_layout", "walks", "size", "_lock_tables"):
            self.__dict__.pop(name, None)
        self._scratch.clear()
        self.locks = {}
        for board, cards in enumerate(self.boards.cards if locks else []):
            before, renaming = 0, IDENTITY_PERMUTATION
            for card in cards[len(self.spot.cards) :]:
                before, renaming = old.next_board(before, renaming, card)
            for (node, place), weights in locks.items():
                if place == before:
                    own = self.hands[self.betting.nodes[node].kind]
                    self.locks[node, board] = weights[:, own.permute_suits(renaming)]

    def clear_locks(self) -> None:
        """Remove all locks."""
        self.locks.clear()
        self.__dict__.pop("_lock_tables", None)

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk the whole tree for one player; its cf_values [hands] at the root."""
        if self.num_loaded_streets < 3 - self.spot.street:
            raise ConfigError("only a part of the solution was loaded: load all streets for values")
        walk, kind = self.walks[player], self.compute_dtype
        top, rooms = self.scratch(player)
        rounding = self.value_tolerance
        top.own_reach[0] = 1.0
        top.opponent_reach[0] = self.hands[1 - player].weight / self.total_pair_weight
        deals = int(walk.leaf_range[0, 3] - walk.leaf_range[0, 2])
        if not deals:
            deal_walk.walk_last_street(walk, tables, rooms[0], top, 0, 0, mode, rounding)
            return top.value[0]
        deal_walk.descend_first_block(walk, tables, rooms[0], top, 0, 0, mode)
        boards = int(self.boards.level_sizes[1])
        after = np.empty((boards, deals, self.hands[player].size), kind)
        tasks = count()

        def work(thread: int, _: int) -> None:
            while (board := next(tasks)) < boards:
                deal_walk.walk_after_card(
                    walk, tables, rooms[thread], top, 0, 1 + board, mode, rounding, after[board]
                )

        run_in_threads(work, [(thread, thread + 1) for thread in range(min(len(rooms), boards))])
        deal_walk.ascend_first_block(walk, tables, rooms[0], top, 0, 0, mode, rounding, after)
        return top.value[0]


def _checked_group(
    given: Sequence[SuitPermutation], known: list[SuitPermutation]
) -> list[SuitPermutation]:
    """Return the renamings if they are a group of known ones; else refuse them."""
    group = [tuple(suits) for suits in given]
    products = {tuple(one[s] for s in other) for one in group for other in group}
    if IDENTITY_PERMUTATION not in group or not products <= set(group) <= set(known):
        raise ConfigError("symmetries must be a group of renamings of suits that fit the spot")
    return group


def _compatible_pair_weight(one: RangeHands, other: RangeHands) -> float:
    """The weight of all pairs of hands that share no card."""
    by_card = np.bincount(other.cards.ravel(), np.repeat(other.weight, 2), 52)
    same = np.append(other.weight, 0.0)[one.indices_in(other)]
    left = other.weight.sum() - by_card[one.cards].sum(axis=1) + same
    return float(one.weight @ left)
