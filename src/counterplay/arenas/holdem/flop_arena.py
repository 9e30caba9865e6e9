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

from counterplay.arenas.build import ArenaFactory
from counterplay.arenas.holdem.array_layout import (
    PieceLayout,
    betting_arrays,
    hand_arrays,
    new_street_rows,
    new_street_scratch,
)
from counterplay.arenas.holdem.base import HoldemArena, HoldemPolicy
from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    SHOWDOWN,
    BettingNode,
    BettingTree,
    StreetState,
)
from counterplay.arenas.holdem.boards import RangeHands
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import ALL_HANDS, NUM_CARDS, canonical_flops, cards_name
from counterplay.errors import ConfigError, FileError
from counterplay.games.flop_holdem import FlopHoldem
from counterplay.kernels.holdem import deal_walk, hand_strength, packed_policy, street_walk
from counterplay.kernels.holdem.types import HoldemTables, HoldemWalk, StreetRows, StreetScratch
from counterplay.kernels.runtime.threads import num_threads, run_in_threads
from counterplay.registry import get_spec

FLOP_HANDS = [(a, b) for b in range(NUM_CARDS - 3) for a in range(b)]
FLOP_POLICY_FORMAT = "counterplay flop hold'em 1"
NUM_FLOP_PARTS = 45  # of the flops; sums are made part by part, so that threads do not matter
ROUNDING_ULPS = 8.0  # as in `public.tree`


@dataclass(frozen=True)
class PublicState:
    """What everybody knows where a player acts, and the hands that it may hold there."""

    history: str  # fcr by action, a bar before the flop's: "rc|cr"
    flop: tuple[int, ...]  # none before it
    player: int
    actions: tuple[str, ...]
    hands: Ints  # [n, 2] cards


class FlopHoldemArena(HoldemArena):
    """Flop hold'em ready to be solved, or to judge a policy on it.

    Values are chips; a thousandth of a big blind (mbb) is 0.1 of them.
    """

    memory_advice = ": close other programs"

    def __init__(self, game: FlopHoldem | None = None, precision: str = "float32"):
        super().__init__(precision)
        self.game = game or FlopHoldem()
        self.betting = _build_betting_tree(self.game)
        found = canonical_flops()
        self.flops = list(found)
        self.flop_probability = np.array(list(found.values())) / comb(NUM_CARDS - 4, 3)
        self.value_sum = 0.0
        self.hand_weights = np.ones(len(ALL_HANDS)), np.ones(len(ALL_HANDS))
        self._scratch: dict[Any, tuple[StreetRows, list[StreetScratch]]] = {}

    @property
    def spec(self) -> str:  # type: ignore[override]
        return get_spec(self.game)

    @property
    def num_infosets(self) -> int:
        """Decisions on flops that differ, times hands."""
        before, after = self._count_decisions()
        return len(ALL_HANDS) * before + len(FLOP_HANDS) * len(self.flops) * after

    def _count_decisions(self) -> tuple[int, int]:
        deciding = [node for node in self.betting.nodes if node.kind < FOLD]
        before = sum(node.block == 0 for node in deciding)
        return before, len(deciding) - before

    @cached_property
    def piece_layout(self) -> PieceLayout:  # type: ignore[override]
        nodes, boards = self.betting.nodes, len(self.flops)
        start, stride, place = np.zeros((3, len(nodes)), np.int64)
        sequences = pieces = 0
        for first, last in pairwise(self.betting.block_starts):
            deciding = [n for n in range(first, last) if nodes[n].kind < FOLD]
            many, size = (boards, len(FLOP_HANDS)) if first else (1, len(ALL_HANDS))
            lengths = [len(nodes[n].actions) * size for n in deciding]
            for node, before in zip(deciding, accumulate(lengths, initial=0), strict=False):
                stride[node], start[node], place[node] = sum(lengths), sequences + before, pieces
                pieces += many
            sequences += many * sum(lengths)
        return PieceLayout(start, stride, place, sequences, pieces)

    def piece_slice(self, node: int, board: int) -> slice:
        here = self.betting.nodes[node]
        size = len(FLOP_HANDS) if here.block else len(ALL_HANDS)
        start = int(self.piece_layout.start[node] + board * self.piece_layout.stride[node])
        return slice(start, start + len(here.actions) * size)

    # what walks need

    @cached_property
    def live_hands(self) -> Ints:
        """[flops, 1176] the hands that a flop leaves, by their numbers before it."""
        cards = np.array(ALL_HANDS)
        return np.array(
            [np.flatnonzero(~np.isin(cards, flop).any(axis=1)) for flop in self.flops], np.uint16
        )

    @cached_property
    def hand_classes(self) -> Ints:
        """[1326] which of the 169 kinds a hand is."""
        low, high = np.array(ALL_HANDS).T
        suited = low % 4 == high % 4
        a, b = low // 4, high // 4  # a <= b
        return np.unique(np.where(suited, 13 * b + a, 13 * a + b), return_inverse=True)[1]

    @cached_property
    def _strength_orders(self) -> tuple[Ints, Ints]:
        """[flops * 1176] hands by rising strength, and ranks."""
        size, cards = len(FLOP_HANDS), np.array(ALL_HANDS, np.uint8)
        order, rank = np.zeros((2, len(self.flops), size), np.uint16)
        strength, spare = np.zeros(size, np.int64), np.zeros((2, size), np.uint16)
        for number, flop in enumerate(self.flops):
            rows = np.empty((size, 5), np.uint8)
            rows[:, :3], rows[:, 3:] = flop, cards[self.live_hands[number]]
            hand_strength.strengths(rows, strength)
            deal_walk.sort_hands(
                strength, strength, order[number], spare[0], rank[number], spare[1]
            )
        return order.ravel(), rank.ravel()

    @cached_property
    def walks(self) -> tuple[tuple[HoldemWalk, HoldemWalk], tuple[HoldemWalk, HoldemWalk]]:
        """Each player's walk before the flop and on it."""
        size, flops = len(FLOP_HANDS), len(self.flops)
        order, rank = self._strength_orders
        before = RangeHands(np.arange(1326), np.ones(1326), np.array(ALL_HANDS))
        after = RangeHands(np.arange(size), np.ones(size), np.array(FLOP_HANDS))
        whole, zero = np.arange(1326, dtype=np.uint16), np.zeros(1326, np.uint16)

        def both(player: int) -> tuple[HoldemWalk, HoldemWalk]:
            amounts = np.zeros((len(self.betting.nodes), 4))
            for number, node in enumerate(self.betting.nodes):
                if node.kind in (FOLD, SHOWDOWN):
                    win = lose = min(node.state.contributions)
                    if node.kind == FOLD:
                        win = lose = -lose if node.folding_player == player else lose
                        amounts[number] = 0.0, 0.0, win, win
                    else:
                        amounts[number] = win, lose, -lose, 0.0
            shared = betting_arrays(self.betting, self.piece_layout, amounts, player)
            none = np.zeros(1, np.int64)
            first = HoldemWalk(
                **shared,
                card=none,
                next_boards=np.zeros(2, np.int64),
                chance=np.ones(1),
                isomorphic_boards=np.zeros(2, np.int64),
                permutation_index=none[:0],
                hand_permutations=np.zeros((0, 1326), np.int64),
                **hand_arrays((before, before), ((np.array([0, 1326]), whole, zero),) * 2),
            )
            places = size * np.arange(flops + 1)
            later = first._replace(
                chance=self.flop_probability,
                **hand_arrays((after, after), ((places, order, rank),) * 2),
            )
            return first, later

        return both(0), both(1)

    @property
    def value_tolerance(self) -> float:
        """What values may be off by, per unit of the opponent's reach."""
        highest = max(max(node.state.contributions) for node in self.betting.nodes)
        return ROUNDING_ULPS * float(np.finfo(self.compute_dtype).eps) * highest

    def scratch(self, player: int) -> tuple[StreetRows, list[StreetScratch]]:
        """Room for the round before the flop, and scratch for every thread."""
        threads = num_threads()
        if (player, threads) not in self._scratch:
            first, later = self.walks[player]
            top = new_street_rows(first, int(first.block[1]), self.compute_dtype)
            rooms = [new_street_scratch(first, self.compute_dtype)]
            rooms += [new_street_scratch(later, self.compute_dtype) for _ in range(threads)]
            self._scratch[player, threads] = top, rooms
        return self._scratch[player, threads]

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk everything for one player; its cf_values [1326] at the root."""
        first, later = self.walks[player]
        top, (room, *rooms) = self.scratch(player)
        rounding, live = self.value_tolerance, self.live_hands
        top.own_reach[0] = 1.0
        top.opponent_reach[0] = 1.0 / (len(ALL_HANDS) * comb(NUM_CARDS - 2, 2))
        street_walk.descend(first, tables, room, top, 0, 0, mode)
        deal_walk.evaluate_leaves(first, room, top, 0, 0)
        deals = first.leaf[first.leaf_range[0, 2] : first.leaf_range[0, 3]]
        after = np.zeros((NUM_FLOP_PARTS, deals.size, len(ALL_HANDS)))
        tasks = count()

        def work(thread: int, _: int) -> None:
            while (part := next(tasks)) < NUM_FLOP_PARTS:
                for flop in range(part, len(self.flops), NUM_FLOP_PARTS):
                    deal_walk.walk_after_flop(
                        later, tables, rooms[thread], top, 0, flop, live[flop], mode, rounding,
                        after[part],
                    )  # fmt: skip

        run_in_threads(work, [(thread, thread + 1) for thread in range(len(rooms))])
        top.value[deals] = self._average_by_class(after.sum(axis=0))
        tiny = deal_walk.value_tolerance(top, len(ALL_HANDS), rounding)
        street_walk.ascend(first, tables, room, top, 0, 0, mode, tiny)
        return top.value[0]

    def _average_by_class(self, values: Floats) -> Floats:
        """Values [., 1326] with hands of a kind all at their mean."""
        size = np.bincount(self.hand_classes)
        means = [np.bincount(self.hand_classes, row) / size for row in values]
        return np.array(means)[:, self.hand_classes]

    # policies from elsewhere

    def tabulate(self, policy_function: Callable[[PublicState], Any]) -> HoldemPolicy:
        """The policy that answers a public state with probabilities [actions, hands] of its hands.

        Networks, programs and rules of thumb are judged by `cp.judge` on what comes out. They are
        asked once for every public state before the flop and on each of the 1,755 flops.
        """
        weights = np.zeros(self.num_sequences, np.float32)
        cards = np.array(ALL_HANDS)
        for number, node in enumerate(self.betting.nodes):
            if node.kind >= FOLD:
                continue
            record = "|".join(
                "".join(a[0] for a in part) for part in self.betting.actions_by_street(number)
            )
            for board in range(len(self.flops) if node.block else 1):
                flop = self.flops[board] if node.block else ()
                held = cards[self.live_hands[board]] if node.block else cards
                public = PublicState(record, flop, node.kind, node.actions, held)
                given = np.asarray(policy_function(public), np.float64)
                shape = (len(node.actions), len(held))
                if given.shape != shape or not (np.isfinite(given) & (given >= 0.0)).all():
                    raise ConfigError(
                        f"after {record!r} on {cards_name(flop) or 'no board'} the policy must "
                        f"answer with {shape[0]} x {shape[1]} numbers, none below 0"
                    )
                weights[self.piece_slice(number, board)] = given.ravel()
        return HoldemPolicy(self, weights, weights[:0])

    def save_policy(self, policy: HoldemPolicy, path: str | Path) -> None:
        """Write a policy in 16 bits, 0.75 GB; `load_flop_policy` reads it back."""
        tables, packed = self.policy_tables(policy), np.zeros(self.num_sequences, np.uint16)
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                walk = self.walks[0][node.block > 0]
                room = new_street_scratch(walk, self.compute_dtype)
                rows = np.zeros((3, int(walk.sizes.max())), self.compute_dtype)
                last = len(self.flops) if node.block else 1
                packed_policy.pack_policy(walk, tables, room, rows, number, 0, last, packed)
        game = {"raises": self.game.raises, "flop_raises": self.game.flop_raises}
        write_archive(path, FLOP_POLICY_FORMAT, {"game": game, "policy": packed}, compress=False)


def load_flop_policy(path: str | Path) -> HoldemPolicy:
    """Read what `save` of a policy of flop hold'em wrote; a damaged file is refused."""
    found = read_archive(path, FLOP_POLICY_FORMAT)
    try:
        arena = FlopHoldemArena(FlopHoldem(**found["game"]))
        packed = found["policy"]
        if packed.dtype != np.uint16 or packed.shape != (arena.num_sequences,):
            raise ConfigError("its policy does not fit its game")
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: not a whole policy ({error})") from error
    return HoldemPolicy(arena, packed.astype(np.float32), np.zeros(0, np.float32))


def _build_betting_tree(game: FlopHoldem) -> BettingTree:
    """Both rounds' betting in blocks: before the flop, and once for each way to it."""
    betting = BettingTree()
    waiting = [(StreetState(0, 0, game.blinds, game.first_to_act[0]), -1)]
    for street, parent in waiting:
        block, number = len(betting.block_starts), len(betting.nodes)
        betting.block_starts.append(number)
        betting.block_parents.append(parent)
        if parent >= 0:
            betting.nodes[parent].next_block = block
        betting.nodes.append(BettingNode(street.player, street, block))
        while number < len(betting.nodes):
            node = betting.nodes[number]
            if node.kind == DEAL:
                after = StreetState(1, 0, node.state.contributions, game.first_to_act[1])
                waiting.append((after, number))
            elif node.kind < FOLD:
                _add_children(game, betting, number)
            number += 1
    betting.block_starts.append(len(betting.nodes))
    return betting


def _add_children(game: FlopHoldem, betting: BettingTree, number: int) -> None:
    """Add what can happen at a decision."""
    node = betting.nodes[number]
    street, player = node.state, node.kind
    highest, other = max(street.contributions), 1 - player
    node.first_child = len(betting.nodes)
    names = ["fold"] if street.contributions[player] < highest else []
    names.append("call")
    if street.num_bets < game.max_raises[street.street]:
        names.append("raise")
    node.actions = tuple(names)
    for name in names:
        child = BettingNode(FOLD, street, node.block, number, name, folding_player=player)
        if name != "fold":
            chips = highest + game.raise_sizes[street.street] * (name == "raise")
            paid = (
                (chips, street.contributions[1])
                if player == 0
                else (street.contributions[0], chips)
            )
            ended = name == "call" and street.is_opened
            bets = street.num_bets + (name == "raise")
            child.state = street._replace(
                contributions=paid, player=other, num_bets=bets, is_opened=True
            )
            child.kind = (DEAL if street.street == 0 else SHOWDOWN) if ended else other
            child.folding_player = -1
        betting.nodes.append(child)


def _count_infosets(game: FlopHoldem) -> int:
    return FlopHoldemArena(game).num_infosets


def _build_arena(game: FlopHoldem, memory_limit: int | None) -> FlopHoldemArena:
    return FlopHoldemArena(game)


FLOP_HOLDEM_FACTORY = ArenaFactory(_count_infosets, _build_arena)
