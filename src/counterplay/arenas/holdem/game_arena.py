"""A hold'em game from the first card as a public tree, with a vector over hands at each node.

A node is a betting node on a board that is canonical up to suit permutations (`game_boards`). The
cards that a board leaves are numbered, so that all boards of a street have the same hands and their
pieces the same length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from counterplay.arenas.build import ArenaFactory
from counterplay.arenas.holdem.array_layout import (
    BlockBoards,
    PieceLayout,
    betting_arrays,
    build_piece_layout,
    hand_arrays,
    new_street_rows,
    new_street_scratch,
)
from counterplay.arenas.holdem.base import PRECISIONS, HoldemArena, HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD, SHOWDOWN, BettingTree
from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.game_betting import action_letter, build_game_betting, leaf_payoffs
from counterplay.arenas.holdem.game_boards import (
    StreetDeals,
    count_boards,
    deal_streets,
    hand_orbits,
    hand_positions,
    parent_hands,
    strength_order,
)
from counterplay.arenas.holdem.runout_equity import RunoutEquity
from counterplay.arenas.tree.size_estimate import available_memory, format_gib
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import cards_name
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, FileError
from counterplay.games.holdem_base import HoldemBase
from counterplay.kernels.holdem import board_walk, deal_walk, packed_policy
from counterplay.kernels.holdem.types import (
    HoldemTables,
    HoldemWalk,
    StreetBoards,
    StreetRows,
    StreetScratch,
)
from counterplay.kernels.runtime.threads import num_threads, run_in_threads
from counterplay.registry import get_spec

GAME_POLICY_FORMAT = "counterplay hold'em game 1"
SUITS_PER_RANK = 4  # card c has rank c // 4 and suit c % 4
MAX_STREETS = 6  # kernels are compiled for this number; a board has at most five cards
MAX_DEAL_PARTS = 45  # sums over boards are made part by part, independent of the number of threads
SEQUENCES_PER_PART = 100_000  # at least, since a call of the kernel costs some 0.1 ms
NO_CARD, NO_OPPONENT_CARD = 51, 50  # in place of a second hole card; no deck may have these
ROUNDING_ULPS = 8.0  # as in `spot_arena`


@dataclass(frozen=True)
class PublicState:
    """The public information at a decision, and the hands that the player may hold."""

    history: str  # f, c, r and r<chips> by action, a bar before those of a new round: "rc|cr"
    board: tuple[int, ...]
    player: int
    actions: tuple[str, ...]
    hands: Ints  # [n, hole cards] cards


class HoldemGameArena(HoldemArena):
    """Arena of a heads-up hold'em game, for solving and for evaluating policies.

    Values are in chips, or prizes if the game pays prizes.

    Args:
        game: the rules, such as `CustomHoldem()` or `FlopHoldem()`.
        precision: of the tables: float32, float64, or int16 for half the memory.
        isomorphism: solve isomorphic boards once.

    Raises:
        ConfigError: the game has another number of players, or its tables do not fit into memory.
    """

    memory_advice = ": take fewer rounds, a smaller deck or fewer bet sizes"

    def __init__(self, game: HoldemBase, precision: str = "float32", isomorphism: bool = True):
        super().__init__(precision)
        if game.num_players != 2:
            raise ConfigError(f"{get_spec(game)} has {game.num_players} players, must have 2 here")
        if game.cards_per_rank != SUITS_PER_RANK:
            raise ConfigError(
                f"{get_spec(game)} numbers its cards by {game.cards_per_rank} suits, hold'em "
                f"arenas by 4: take custom_holdem(num_suits={game.cards_per_rank}), or a tree"
            )
        if game.num_hole_cards == 1 and max(game.deck) >= NO_OPPONENT_CARD:
            raise ConfigError(
                f"{get_spec(game)}: a game with one hole card has at most 12 ranks here"
            )
        self.game, self.isomorphism = game, isomorphism
        self.betting = build_game_betting(game)
        self._check_size()
        self.streets: list[StreetDeals] = deal_streets(game, isomorphism)
        num_hands = self.num_hands(0)
        self.value_sum = None if game.pays_prizes else 0.0
        self.hand_weights = np.ones(num_hands), np.ones(num_hands)
        self._scratch: dict[tuple[int, int], _Scratch] = {}

    @property
    def spec(self) -> str:  # type: ignore[override]
        return get_spec(self.game)

    def _check_size(self) -> None:
        """Raise ConfigError if the tables cannot fit into memory, before any board is made."""
        sequences = count_sequences(self.game, self.betting, self.isomorphism)
        needed = 2 * sequences * np.dtype(PRECISIONS[self.precision]).itemsize
        free = available_memory()
        if needed > 0.9 * free:
            smaller = "" if self.precision == "int16" else "; int16 needs half of that"
            raise ConfigError(
                f"{self.spec} has at least {sequences:,} sequences and needs {format_gib(needed)} "
                f"where {format_gib(free)} are free{self.memory_advice}{smaller}"
            )

    def payoffs(self, winnings: Sequence[float]) -> list[float]:
        """Return the utilities of both players, given the chips that they win."""
        return self.game.payoffs(winnings)

    def num_hands(self, street: int) -> int:
        """Return the number of hands that a board of a street leaves."""
        num_dealt = sum(self.game.board_cards[: street + 1])
        return comb(len(self.game.deck) - num_dealt, self.game.num_hole_cards)

    @property
    def num_infosets(self) -> int:
        """Decisions times hands, on canonical boards."""
        streets = [node.state.street for node in self.betting.nodes if node.kind < FOLD]
        return sum(self.num_hands(s) * self.streets[s].num_boards for s in streets)

    @property
    def num_pairs(self) -> int:
        """Number of pairs of hands that can be dealt to the two players."""
        num_left = len(self.game.deck) - self.game.num_hole_cards
        return self.num_hands(0) * comb(num_left, self.game.num_hole_cards)

    @cached_property
    def piece_layout(self) -> PieceLayout:  # type: ignore[override]
        blocks = []
        for first_node in self.betting.block_starts[:-1]:
            street = self.betting.nodes[first_node].state.street
            num_boards, num_hands = self.streets[street].num_boards, self.num_hands(street)
            blocks.append(BlockBoards(0, num_boards, (num_hands, num_hands)))
        return build_piece_layout(self.betting, blocks)

    def piece_slice(self, node: int, board: int) -> slice:
        betting_node = self.betting.nodes[node]
        size = len(betting_node.actions) * self.num_hands(betting_node.state.street)
        start = int(self.piece_layout.start[node] + board * self.piece_layout.stride[node])
        return slice(start, start + size)

    def hand_cards(self, street: int, board: int) -> Ints:
        """Return the cards [hands, hole cards] of the hands on a board of a street."""
        free = self.streets[street].free_cards[board]
        return free[hand_positions(free.size, self.game.num_hole_cards)]

    def history(self, node: int) -> str:
        """Return the betting before a node, such as `cr6c|c`; a bar separates rounds."""
        rounds = self.betting.actions_by_street(node)
        return "|".join("".join(map(action_letter, names)) for names in rounds)

    def public_history(self, node: int, board: int) -> str:
        """Return the history of a node on a board as the rules write it, such as `cc|Td:r6`."""
        first, *later = self.betting.actions_by_street(node)
        cards = self.streets[self.betting.nodes[node].state.street].cards[board].tolist()
        text, start = "".join(map(action_letter, first)), 0
        for number, names in enumerate(later, 1):
            end = start + self.game.board_cards[number]
            dealt = cards_name(sorted(cards[start:end], reverse=True))
            text, start = f"{text}|{dealt}:{''.join(map(action_letter, names))}", end
        return text

    # arguments of the walks

    @cached_property
    def street_boards(self) -> tuple[StreetBoards, ...]:
        """The boards of each street for the kernels, padded to `MAX_STREETS` entries."""
        num_hole_cards, result = self.game.num_hole_cards, []
        for number, street in enumerate(self.streets):
            before = self.streets[max(number - 1, 0)]
            is_last = number + 1 == len(self.streets)
            shape = 0, self.num_hands(number)
            no_orbits = np.full(street.num_boards, -1), np.zeros(shape, np.uint16)
            rows, orbits = no_orbits if is_last else hand_orbits(street, num_hole_cards)
            parents = parent_hands(street, before, num_hole_cards)
            result.append(
                StreetBoards(
                    street.chance, street.next_boards, street.num_merged, parents, rows, orbits
                )
            )
        return tuple(result + result[-1:] * (MAX_STREETS - len(result)))

    @cached_property
    def walks(self) -> tuple[tuple[HoldemWalk, ...], tuple[HoldemWalk, ...]]:
        """By player: the arguments of its walks of each street, padded to `MAX_STREETS`."""
        hand_fields = [self._hand_fields(street) for street in range(len(self.streets))]

        def build_walks(player: int) -> tuple[HoldemWalk, ...]:
            payoffs = leaf_payoffs(self.betting, player, self.payoffs)
            arrays = betting_arrays(self.betting, self.piece_layout, payoffs, player, {})
            no_equities = RunoutEquity.empty(0, self.compute_dtype)
            walks = [
                HoldemWalk(
                    **arrays,
                    card=np.zeros(1, np.int64),
                    next_boards=street.next_boards,
                    chance=np.ones(1),
                    runout_pot=np.zeros(0),
                    equity=no_equities.equity,
                    equity_row=no_equities.row,
                    isomorphic_boards=np.zeros(2, np.int64),
                    multiplicity=np.zeros(0),
                    permutation_index=np.zeros(0, np.int64),
                    hand_permutations=np.zeros((0, self.num_hands(number)), np.int64),
                    **hand_fields[number],
                )
                for number, street in enumerate(self.streets)
            ]
            return tuple(walks + walks[-1:] * (MAX_STREETS - len(walks)))

        return build_walks(0), build_walks(1)

    def _hand_fields(self, street: int) -> dict[str, Any]:
        """Return the fields of `HoldemWalk` that describe the hands of a street."""
        deals, num_hole_cards = self.streets[street], self.game.num_hole_cards
        has_showdowns = any(
            node.kind == SHOWDOWN and node.state.street == street for node in self.betting.nodes
        )
        order = strength_order(deals, self.game, has_showdowns)
        positions = hand_positions(deals.free_cards.shape[1], num_hole_cards)
        if num_hole_cards == 2:
            hands = _whole_range(positions)
            return hand_arrays((hands, hands), (order, order))
        own = _whole_range(np.insert(positions, 1, NO_CARD, axis=1))
        other = _whole_range(np.insert(positions, 1, NO_OPPONENT_CARD, axis=1))
        fields = hand_arrays((own, other), (order, order))
        # no hand is subtracted twice; the row after the hands of the first street stays zero
        return fields | {"same_hand": np.full(own.size, self.num_hands(0))}

    @cached_property
    def value_tolerance(self) -> float:
        """Largest rounding error of a value per unit of the opponent's reach."""
        max_chips = max(max(node.state.contributions) for node in self.betting.nodes)
        ends = [self.payoffs((float(x), float(-x))) for x in (max_chips, -max_chips)]
        largest = max(abs(payoff) for payoffs in ends for payoff in payoffs)
        return ROUNDING_ULPS * float(np.finfo(self.compute_dtype).eps) * largest

    def scratch(self, player: int) -> _Scratch:
        """Return the rows of the first block, and the rows and scratch arrays of every thread."""
        threads = num_threads()
        if (player, threads) not in self._scratch:
            self._scratch[player, threads] = _Scratch.allocate(self, player, threads)
        return self._scratch[player, threads]

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk the whole tree for one player; return its cf_values [hands] at the root."""
        scratch, first, tolerance = (
            self.scratch(player),
            self.walks[player][0],
            self.value_tolerance,
        )
        top = scratch.top
        top.own_reach[0] = 1.0
        top.opponent_reach[0] = 1.0 / self.num_pairs
        deal_walk.descend_block(first, tables, scratch.threads[0], top, 0, 0, mode)
        deals = first.leaf[first.leaf_range[0, 3] : first.leaf_range[0, 4]]
        if deals.size:
            values = self._walk_after_first_deals(player, tables, mode)
            top.value[deals] = self._average_orbits(values)
        deal_walk.ascend_block(first, tables, scratch.threads[0], top, 0, 0, mode, tolerance)
        return top.value[0]

    def _walk_after_first_deals(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk all streets after the first; return the values [deals, hands] of its deals."""
        walks, scratch, roots = self.walks[player], self.scratch(player), self._first_roots
        num_deals, num_hands = int(roots[:, 3].max()) + 1, self.num_hands(0)
        num_parts = self.num_parts(len(roots))
        values = np.zeros((num_parts, num_deals, num_hands), self.compute_dtype)
        no_reach, tasks = np.zeros((0, 0), self.compute_dtype), count()

        def work(thread: int, _: int) -> None:
            while (part := next(tasks)) < num_parts:
                board_walk.walk_roots(
                    walks, self.street_boards, tables, scratch.threads[thread],
                    scratch.rows[thread], scratch.stacks[thread], scratch.top, roots,
                    (no_reach, no_reach, values[part]), part, num_parts, mode, self.value_tolerance,
                )  # fmt: skip

        threads = range(min(len(scratch.threads), num_parts))
        run_in_threads(work, [(thread, thread + 1) for thread in threads])
        return values.sum(axis=0, dtype=np.float64)

    @cached_property
    def _first_roots(self) -> Ints:
        """[R, 4] street, block, board and deal of all blocks after the deals of the first one."""
        walk = self.walks[0][0]
        deals = walk.leaf[walk.leaf_range[0, 3] : walk.leaf_range[0, 4]]
        blocks = enumerate(walk.next_block[deals].tolist())
        pairs = [(block, deal) for deal, block in blocks]
        num_boards = self.streets[1].num_boards
        return np.array([(1, block, g, deal) for g in range(num_boards) for block, deal in pairs])

    def num_parts(self, num_roots: int) -> int:
        """Return the number of parts of a walk, which does not depend on the number of threads."""
        most_parts = min(MAX_DEAL_PARTS, self.num_sequences // SEQUENCES_PER_PART)
        return max(1, min(num_roots, most_parts))

    def _average_orbits(self, values: Floats) -> Floats:
        """Return values [., hands] before the first deal, each hand at the mean of its orbit."""
        boards = self.street_boards[0]
        if boards.orbit_row[0] < 0:
            return values
        orbit = boards.orbit[0]
        size = np.maximum(np.bincount(orbit, minlength=orbit.size), 1)
        means = [np.bincount(orbit, row, orbit.size) / size for row in values]
        return np.array(means)[:, orbit]

    # locks

    def lock(self, node: int, board: int, weights: Floats) -> None:
        """Lock a node on a canonical board; solving and best responses keep to the lock.

        Args:
            node: a betting node where a player acts.
            board: a board of the node's street; the lock holds for all that are isomorphic to it.
            weights: [actions, hands], in proportion; hands with zeros are not locked.

        Raises:
            ConfigError: the shape is wrong, a weight is negative, or the weights treat suits
                differently that the board treats alike.
        """
        betting_node = self.betting.nodes[node]
        street = betting_node.state.street
        shape = (len(betting_node.actions), self.num_hands(street))
        lock = np.asarray(weights, np.float64)
        if lock.shape != shape or not (np.isfinite(lock) & (lock >= 0.0)).all():
            raise ConfigError(
                f"a lock at this node is {shape[0]} x {shape[1]} numbers, none below 0"
            )
        one_board = replace(
            self.streets[street],
            cards=self.streets[street].cards[board : board + 1],
            free_cards=self.streets[street].free_cards[board : board + 1],
            symmetries=self.streets[street].symmetries[board : board + 1],
        )
        for orbit in hand_orbits(one_board, self.game.num_hole_cards)[1]:
            if not np.allclose(lock[:, orbit], lock):
                raise ConfigError(
                    "the lock treats suits differently that the board treats alike; take "
                    "isomorphism=False, which solves them apart"
                )
        self.locks[node, board] = lock
        self.__dict__.pop("_lock_tables", None)

    def clear_locks(self) -> None:
        """Remove all locks."""
        self.locks.clear()
        self.__dict__.pop("_lock_tables", None)

    # policies from other sources, and files

    def tabulate(
        self,
        policy_function: Callable[[PublicState], ArrayLike] | Any,
        progress: Callable[[int], None] | None = None,
    ) -> HoldemPolicy:
        """Return a policy as a table that `cp.judge` evaluates.

        Args:
            policy_function: returns weights [actions, hands] for a public state, such as a rule of
                thumb. It is called once per public state on canonical boards, and must treat suits
                alike that the board treats alike. Or a policy of the rules, an object with
                `action_probabilities(state, player)`, such as a table with buckets; networks have
                a `tabulate(arena)` that asks for all hands at once.
            progress: called with the number of infosets so far, of a policy of the rules.

        Raises:
            ConfigError: the function returns another shape or negative numbers; or a policy of the
                rules leaves out a hand, or may play suits differently that the arena merges.
        """
        if hasattr(policy_function, "action_probabilities"):
            from counterplay.arenas.holdem.hand_states import tabulate_agent

            return tabulate_agent(self, policy_function, progress)
        weights = np.zeros(self.num_sequences, self.compute_dtype)
        for number, node in enumerate(self.betting.nodes):
            if node.kind >= FOLD:
                continue
            history, street = self.history(number), node.state.street
            for board in range(self.streets[street].num_boards):
                cards = tuple(self.streets[street].cards[board].tolist())
                hands = self.hand_cards(street, board)
                state = PublicState(history, cards, node.kind, node.actions, hands)
                piece = np.asarray(policy_function(state), np.float64)
                shape = (len(node.actions), len(hands))
                if piece.shape != shape or not (np.isfinite(piece) & (piece >= 0.0)).all():
                    raise ConfigError(
                        f"after {history!r} on {cards_name(cards) or 'no board'} the policy must "
                        f"answer with {shape[0]} x {shape[1]} numbers, none below 0"
                    )
                weights[self.piece_slice(number, board)] = piece.ravel()
        return HoldemPolicy(self, weights, weights[:0])

    def save_policy(self, policy: HoldemPolicy, path: str | Path) -> None:
        """Write a policy in 16 bits; `load_holdem_policy` reads it back."""
        tables, packed = self.policy_tables(policy), np.zeros(self.num_sequences, np.uint16)
        most_actions = max(len(node.actions) for node in self.betting.nodes)
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                walk = self.walks[0][node.state.street]
                scratch = new_street_scratch(walk, self.compute_dtype)
                rows = np.zeros((most_actions, int(walk.sizes.max())), self.compute_dtype)
                num_boards = self.streets[node.state.street].num_boards
                packed_policy.pack_policy(
                    walk, tables, scratch, rows, number, 0, num_boards, packed
                )
        content = {
            "game": self.spec,
            "isomorphism": self.isomorphism,
            "policy": packed,
            "locks": [[node, board, w.tolist()] for (node, board), w in self.locks.items()],
        }
        write_archive(path, GAME_POLICY_FORMAT, content, compress=self.num_sequences < 1 << 24)


@dataclass(frozen=True)
class _Scratch:
    """Working memory of a player's walks."""

    top: StreetRows  # of the first block
    threads: list[StreetScratch]
    rows: list[tuple[StreetRows, ...]]  # by thread, one entry per street
    stacks: list[Ints]  # by thread, [streets, 4]

    @classmethod
    def allocate(cls, arena: HoldemGameArena, player: int, threads: int) -> _Scratch:
        walks, dtype = arena.walks[player], arena.compute_dtype
        block_sizes = np.diff(arena.betting.block_starts)
        streets = [arena.betting.nodes[n].state.street for n in arena.betting.block_starts[:-1]]
        most_nodes = [0] * MAX_STREETS
        for street, size in zip(streets, block_sizes.tolist(), strict=True):
            most_nodes[street] = max(most_nodes[street], size)
        sizes = list(zip(walks, most_nodes, strict=True))
        rows = [
            tuple(new_street_rows(walk, size, dtype) for walk, size in sizes)
            for _ in range(threads)
        ]
        scratches = [new_street_scratch(walks[0], dtype) for _ in range(threads)]
        stacks = [np.zeros((MAX_STREETS, 4), np.int64) for _ in range(threads)]
        return cls(new_street_rows(walks[0], most_nodes[0], dtype), scratches, rows, stacks)


def load_holdem_policy(path: str | Path) -> HoldemPolicy:
    """Read a file written by `HoldemPolicy.save` of a policy on a `HoldemGameArena`.

    Raises:
        FileError: the file is damaged or holds something else.
    """
    content = read_archive(path, GAME_POLICY_FORMAT)
    if not isinstance(content.get("game"), str):
        raise FileError(f"{path}: not a whole policy (it names no game)")
    game = load_game_from_file(content["game"], path)
    try:
        if not isinstance(game, HoldemBase):
            raise ConfigError(f"{content['game']} is not a hold'em game")
        packed = content["policy"]
        isomorphism = bool(content["isomorphism"])
        least = count_sequences(game, build_game_betting(game), isomorphism)
        if packed.dtype != np.uint16 or packed.ndim != 1 or packed.size < least:
            raise ConfigError("its policy does not fit its game")
        arena = HoldemGameArena(game, isomorphism=isomorphism)
        if packed.size != arena.num_sequences:
            raise ConfigError("its policy does not fit its game")
        for node, board, weights in content.get("locks", []):
            arena.lock(node, board, np.array(weights))
    except (ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"{path}: not a whole policy ({error})") from error
    return HoldemPolicy(arena, packed.astype(np.float32), np.zeros(0, np.float32))


def _whole_range(cards: Ints) -> RangeHands:
    """Return the range that holds every hand with weight 1."""
    return RangeHands(np.arange(len(cards)), np.ones(len(cards)), cards)


def count_sequences(game: HoldemBase, betting: BettingTree, isomorphism: bool) -> int:
    """Return a lower bound of the number of sequences, without making any board."""
    boards, total, dealt = count_boards(game, isomorphism), 0, 0
    for street, num_cards in enumerate(game.board_cards):
        dealt += num_cards
        actions = [len(node.actions) for node in betting.nodes if node.state.street == street]
        total += boards[street] * comb(len(game.deck) - dealt, game.num_hole_cards) * sum(actions)
    return total


def _count_infosets(game: HoldemBase) -> int:
    """Return about the number of infosets, or of deals to both players if that is larger.

    Both decide whether a tree is small. Nearly all decisions have two or three actions.
    """
    num_cards, count = len(game.deck), game.num_hole_cards
    num_deals = comb(num_cards, count) * comb(num_cards - count, count)
    return max(num_deals, count_sequences(game, build_game_betting(game), False) // 2)


def _build_arena(game: HoldemBase, memory_limit: int | None) -> HoldemGameArena:
    return HoldemGameArena(game)


HOLDEM_GAME_FACTORY = ArenaFactory(_count_infosets, _build_arena)
