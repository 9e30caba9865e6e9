"""A spot as an arena: one node per public state, with a vector over hands at each.

Tables of regrets and of the average policy hold one piece [actions, hands] per betting node and
board. A piece has an entry for every hand of the range; entries of hands that share a card with the
board are never used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from counterplay.arenas.holdem.array_layout import (
    BlockBoards,
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
from counterplay.arenas.holdem.runout_equity import build_runout_equity
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.arena import Floats
from counterplay.core.cards import card_name, permute_suits
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import deal_walk, street_walk
from counterplay.kernels.holdem.types import HoldemTables, HoldemWalk, StreetRows, StreetScratch
from counterplay.kernels.runtime.jit import is_compiled, keeps_compiled
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly

SECONDS_PER_SEQUENCE = 1e-8  # per iteration and core, approximately: benchmarks/holdem
MIN_PAIR_FRACTION = 1e-12  # of all pairs of hands; less is rounding, all pairs share a card
MAX_ROUNDING = 1e-3  # of the pot; a note reports larger rounding errors
TASKS_PER_THREAD = 8  # parts of the boards that threads take in turn
ROUNDING_ULPS = 8.0  # units in the last place that a sum of values may be off


@dataclass(frozen=True)
class SpotSize:
    """Cost of solving a spot, known before anything is allocated."""

    num_nodes: int  # public states: decisions and ends
    num_infosets: int  # decisions times hands
    num_sequences: int
    num_bytes: int  # with one average
    seconds_per_iteration: float  # estimate for one core


def compile_note() -> str:
    """Return a note that the kernels have to be compiled first, or "" if they are cached."""
    if is_compiled(
        deal_walk.walk_last_street,
        deal_walk.walk_after_cards,
        deal_walk.ascend_first_block,
    ):
        return ""
    if keeps_compiled(deal_walk.walk_last_street):
        return "compiling, the first time only: this takes about half a minute"
    return "compiling, every time: no folder keeps what is compiled, set NUMBA_CACHE_DIR to one"


class SpotArena(HoldemArena):
    """Arena of a spot.

    Args:
        spot: the spot to solve.
        precision: of the tables: float32, float64, or int16 for half the memory.
        isomorphism: solve isomorphic boards once.
        symmetries: the group of suit permutations to merge boards by; by default all that leave
            the spot unchanged.
        max_nodes: largest number of betting nodes.

    Raises:
        ConfigError: the betting tree is too large, or no pair of hands can be dealt.
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
        self.symmetries = [IDENTITY_PERMUTATION]
        if isomorphism:
            self.symmetries = suit_symmetries(spot.cards, spot.dead_cards, spot.ranges)
        if symmetries is not None:
            self.symmetries = _check_group(symmetries, self.symmetries)
        self.boards: Boards = build_boards(spot, self.symmetries)
        self.num_loaded_streets = 3 - spot.street  # fewer if a solution was loaded in part
        self._scratch: dict[tuple[int, int], tuple[StreetRows, list[StreetScratch]]] = {}
        first, second = self.hands
        total = float(first.weight @ first.compatible_mass(second, second.weight))
        if total <= MIN_PAIR_FRACTION * first.weight.sum() * second.weight.sum():
            raise ConfigError("no hand of one range leaves the other a hand: they share all cards")
        self.total_pair_weight = total  # of all pairs of hands without a common card

    @property
    def spec(self) -> str:  # type: ignore[override]
        """Short description of the spot."""
        return f"spot({self.spot.board},pot={self.spot.pot},stacks={self.spot.stack})"

    @cached_property
    def piece_layout(self) -> PieceLayout:  # type: ignore[override]
        num_hands = self.hands[0].size, self.hands[1].size
        blocks = []
        for first_node in self.betting.block_starts[:-1]:
            first, last = self._board_range(first_node)
            blocks.append(BlockBoards(first, last - first, num_hands))
        return build_piece_layout(self.betting, blocks)

    def _board_range(self, node: int) -> tuple[int, int]:
        """Return the first and last + 1 board on which a betting node is reached."""
        level = self.betting.nodes[node].state.street - self.spot.street
        first, last = self.boards.level_offset[level : level + 2].tolist()
        return first, last

    @cached_property
    def size(self) -> SpotSize:
        """Cost of solving the spot."""
        nodes = infosets = sequences = pieces = 0
        for number, node in enumerate(self.betting.nodes):
            first, last = self._board_range(number)
            boards = last - first
            nodes += boards
            if node.kind < FOLD:
                pieces += boards
                infosets += boards * self.hands[node.kind].size
                sequences += boards * self.hands[node.kind].size * len(node.actions)
        item = np.dtype(PRECISIONS[self.precision]).itemsize
        order = 8 * len(self.boards.cards) * sum(hands.size for hands in self.hands)
        tables = 2 * item * sequences + (8 * pieces if self.precision == "int16" else 0)
        seconds = sequences * SECONDS_PER_SEQUENCE
        return SpotSize(nodes, infosets, sequences, tables + order, seconds)

    def history(self, node: int, board: int) -> str:
        """Return the public history of a node: actions, and cards after a bar."""
        dealt = self.boards.cards[board][len(self.spot.cards) :]
        first, *later = self.betting.actions_by_street(node)
        text = ",".join(first)
        for card, actions in zip(dealt, later, strict=True):
            text += ",".join([f"|{card_name(card)}", *actions])
        return text

    def piece_slice(self, node: int, board: int) -> slice:
        """Return the slice of a table that holds [actions, hands] of a node on a board."""
        start = int(self.piece_layout.start[node] + board * self.piece_layout.stride[node])
        betting_node = self.betting.nodes[node]
        return slice(start, start + len(betting_node.actions) * self.hands[betting_node.kind].size)

    def iter_decision_nodes(self) -> Iterator[tuple[int, int, int]]:
        """Yield every betting node where a player acts, with its first and last + 1 board."""
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                yield number, *self._board_range(number)

    def iter_decisions(self) -> Iterator[tuple[int, int]]:
        """Yield every betting node where a player acts with each of its boards."""
        for node, first, last in self.iter_decision_nodes():
            for board in range(first, last):
                yield node, board

    # walks

    @cached_property
    def walks(self) -> tuple[HoldemWalk, HoldemWalk]:
        """By player: the arguments of its walks."""
        runouts = build_runout_equity(
            self.spot, self.betting, self.boards, self.hands, self.compute_dtype
        )
        return build_walks(
            self.spot, self.betting, self.piece_layout, self.boards, self.hands, runouts
        )

    @property
    def value_tolerance(self) -> float:
        """Largest rounding error of a value per unit of the opponent's reach."""
        eps = float(np.finfo(self.compute_dtype).eps)
        return ROUNDING_ULPS * eps * (self.spot.pot + self.spot.stack)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for readers of the solution about bet sizes and precision."""
        if self.value_tolerance <= MAX_ROUNDING * self.spot.pot:
            return self.spot.notes
        note = (
            f"stacks of {self.spot.stack:,} are so large for a pot of {self.spot.pot:,} that "
            f"values in {self.precision} may be off by {self.value_tolerance:.2g} chips; "
            "take float64"
        )
        return (*self.spot.notes, note)

    def scratch(self, player: int) -> tuple[StreetRows, list[StreetScratch]]:
        """Return the rows of the first block, and the scratch arrays of every thread."""
        walk, threads = self.walks[player], min(num_threads(), len(self.boards.cards))
        if (player, threads) not in self._scratch:
            top = new_street_rows(walk, int(walk.block[1]), self.compute_dtype)
            scratches = [new_street_scratch(walk, self.compute_dtype) for _ in range(threads)]
            self._scratch[player, threads] = top, scratches
        return self._scratch[player, threads]

    # locks

    def lock(self, node: int, board: int, weights: Floats) -> None:
        """Lock a node on a canonical board; solving and best responses keep to the lock.

        The lock holds for all boards that are isomorphic to `board`. `lock_node` can lock after
        one card alone.

        Args:
            node: a betting node where a player acts.
            board: a board of `boards`.
            weights: [actions, hands], in proportion; hands with zeros are not locked.

        Raises:
            ConfigError: the shape is wrong, a weight is negative, or the weights treat suits
                differently that the spot treats alike.
        """
        betting_node = self.betting.nodes[node]
        hands = self.hands[betting_node.kind]
        shape = (len(betting_node.actions), hands.size)
        lock = np.asarray(weights, np.float64)
        if lock.shape != shape or not (np.isfinite(lock) & (lock >= 0.0)).all():
            raise ConfigError(
                f"a lock at this node is {shape[0]} x {shape[1]} numbers, none below 0"
            )
        board_cards, dealt = set(self.spot.cards), self.boards.cards[board][len(self.spot.cards) :]
        for suits in self.boards.suit_permutations:
            fixes_board = {permute_suits(c, suits) for c in self.spot.cards} == board_cards
            is_fixed = fixes_board and all(permute_suits(card, suits) == card for card in dealt)
            if is_fixed and not np.allclose(lock[:, hands.permute_suits(suits)], lock):
                raise ConfigError(
                    "the lock treats suits differently that the spot treats alike; use "
                    "lock_node, which solves them apart, or take isomorphism=False"
                )
        self.locks[node, board] = lock
        self.__dict__.pop("_lock_tables", None)

    def restrict_symmetries(self, symmetries: Sequence[SuitPermutation]) -> None:
        """Merge boards by a subgroup of the suit permutations; all locks stay.

        The layout of the tables changes: policies and memories made before no longer fit.
        """
        old_boards, old_locks = self.boards, self.locks
        self.symmetries = _check_group(symmetries, self.symmetries)
        self.boards = build_boards(self.spot, self.symmetries)
        for name in ("piece_layout", "walks", "size", "_lock_tables"):
            self.__dict__.pop(name, None)
        self._scratch.clear()
        self.locks = {}
        for board, cards in enumerate(self.boards.cards if old_locks else []):
            old_board, suit_permutation = 0, IDENTITY_PERMUTATION
            for card in cards[len(self.spot.cards) :]:
                old_board, suit_permutation = old_boards.next_board(
                    old_board, suit_permutation, card
                )
            for (node, locked_board), weights in old_locks.items():
                if locked_board == old_board:
                    hands = self.hands[self.betting.nodes[node].kind]
                    self.locks[node, board] = weights[:, hands.permute_suits(suit_permutation)]

    def unlock(self, node: int, board: int) -> None:
        """Remove the lock of a node on a canonical board, if there is one."""
        self.locks.pop((node, board), None)
        self.__dict__.pop("_lock_tables", None)

    def clear_locks(self) -> None:
        """Remove all locks."""
        self.locks.clear()
        self.__dict__.pop("_lock_tables", None)

    def set_root_reach(self, player: int, top: StreetRows) -> None:
        """Set the first rows of a walk: the player's own reach, and that of the opponent."""
        top.own_reach[0] = 1.0
        top.opponent_reach[0] = self.hands[1 - player].weight / self.total_pair_weight

    def run_iterations(
        self, tables: HoldemTables, factors: Floats, decays: Floats, weights: Floats
    ) -> None:
        if len(self.betting.block_starts) > 2:
            super().run_iterations(tables, factors, decays, weights)
            return
        (first, first_scratch), (second, second_scratch) = self.scratch(0), self.scratch(1)
        self.set_root_reach(0, first)
        self.set_root_reach(1, second)
        deal_walk.iterate_last_street(
            self.walks, tables, (first_scratch[0], second_scratch[0]), (first, second),
            self.value_tolerance, street_walk.MODE_LEARN, factors, decays, weights,
        )  # fmt: skip

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk the whole tree for one player; return its cf_values [hands] at the root."""
        return self._walk(player, tables, mode)[0]

    def judge_player(self, player: int, tables: HoldemTables) -> tuple[float, float]:
        """Return the value of a policy and that of a best response to it, for one player.

        One walk computes both: counterfactual values of leaves depend on the opponent's policy
        only, and weighted by the own reach they sum to the value of the policy.
        """
        best, value = self._walk(player, tables, street_walk.MODE_JUDGE)
        return value, float(self.hand_weights[player] @ best)

    def _walk(self, player: int, tables: HoldemTables, mode: int) -> tuple[Floats, float]:
        """Return the cf_values [hands] at the root and, in MODE_JUDGE, the policy's value."""
        if self.num_loaded_streets < 3 - self.spot.street:
            raise ConfigError("only a part of the solution was loaded: load all streets for values")
        walk, tolerance = self.walks[player], self.value_tolerance
        top, scratches = self.scratch(player)
        self.set_root_reach(player, top)
        if mode == street_walk.MODE_JUDGE:
            top.own_reach[0] = self.hand_weights[player]
        total = scratches[0].leaf_total
        total[0] = 0.0
        num_deals = int(walk.leaf_range[0, 4] - walk.leaf_range[0, 3])
        if not num_deals:
            deal_walk.walk_last_street(walk, tables, scratches[0], top, 0, 0, mode, tolerance)
            return top.value[0], float(total[0])
        deal_walk.descend_block(walk, tables, scratches[0], top, 0, 0, mode)
        first_total, num_boards = float(total[0]), self.boards.level_sizes[1]
        totals = np.zeros(num_boards)
        values = np.empty((num_boards, num_deals, self.hands[player].size), self.compute_dtype)
        workers = min(len(scratches), num_boards)
        num_tasks = 1 if workers == 1 else min(TASKS_PER_THREAD * workers, num_boards)
        tasks = iter(split_evenly(1, 1 + num_boards, num_tasks))

        def work(thread: int, _: int) -> None:
            for boards in tasks:
                deal_walk.walk_after_cards(
                    walk, tables, scratches[thread], top, 0, boards, mode, tolerance, values,
                    totals,
                )  # fmt: skip

        threads = range(workers)
        run_in_threads(work, [(thread, thread + 1) for thread in threads])
        deal_walk.ascend_first_block(walk, tables, scratches[0], top, 0, 0, mode, tolerance, values)
        return top.value[0], first_total + float(totals.sum())


def _check_group(
    symmetries: Sequence[SuitPermutation], allowed: list[SuitPermutation]
) -> list[SuitPermutation]:
    """Return the suit permutations; raise ConfigError unless they are a group of allowed ones."""
    group = [tuple(suits) for suits in symmetries]
    products = {tuple(outer[s] for s in inner) for outer in group for inner in group}
    if IDENTITY_PERMUTATION not in group or not products <= set(group) <= set(allowed):
        raise ConfigError("symmetries must be a group of suit permutations that fit the spot")
    return group
