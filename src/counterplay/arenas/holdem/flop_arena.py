"""Flop hold'em as a public tree: one betting round before the flop, one on each of 1,755 flops.

A canonical flop stands for all flops that suit permutations make of it. Nothing before the flop
distinguishes suits, so the value of a hand there is the mean, over the hands of its class (169
classes), of the values on the canonical flops, each weighted by how many flops it stands for.

A flop leaves 49 cards. Numbered from 0 to 48 they make the same 1,176 hands on every flop; only the
order of their strengths depends on the flop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from math import comb
from pathlib import Path

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
from counterplay.arenas.holdem.base import HoldemArena, HoldemPolicy
from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    SHOWDOWN,
    BettingNode,
    BettingTree,
    StreetState,
)
from counterplay.arenas.holdem.boards import RangeHands, StrengthOrder
from counterplay.arenas.holdem.hand_ranges import hand_class
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
NUM_FLOP_PARTS = 45  # sums over flops are made part by part, independent of the number of threads
ROUNDING_ULPS = 8.0  # as in `spot_arena`


@dataclass(frozen=True)
class PublicState:
    """The public information at a decision, and the hands that the player may hold."""

    history: str  # f, c and r by action, a bar before those on the flop: "rc|cr"
    flop: tuple[int, ...]  # empty before the flop
    player: int
    actions: tuple[str, ...]
    hands: Ints  # [n, 2] cards


class FlopHoldemArena(HoldemArena):
    """Arena of flop hold'em, for solving and for evaluating policies.

    Values are in chips; a thousandth of a big blind (mbb) is 0.1 chips.

    Args:
        game: the rules; `FlopHoldem()` by default.
        precision: of the tables: float32, float64 or int16.
    """

    memory_advice = ": close other programs"

    def __init__(self, game: FlopHoldem | None = None, precision: str = "float32"):
        super().__init__(precision)
        self.game = game or FlopHoldem()
        self.betting = _build_betting_tree(self.game)
        count_by_flop = canonical_flops()
        self.flops = list(count_by_flop)
        self.flop_probability = np.array(list(count_by_flop.values())) / comb(NUM_CARDS - 4, 3)
        self.value_sum = 0.0
        self.hand_weights = np.ones(len(ALL_HANDS)), np.ones(len(ALL_HANDS))
        self._scratch: dict[tuple[int, int], tuple[StreetRows, list[StreetScratch]]] = {}

    @property
    def spec(self) -> str:  # type: ignore[override]
        return get_spec(self.game)

    @property
    def num_infosets(self) -> int:
        """Decisions times hands, on canonical flops."""
        blocks = [node.block for node in self.betting.nodes if node.kind < FOLD]
        preflop = blocks.count(0)
        postflop = len(blocks) - preflop
        return len(ALL_HANDS) * preflop + len(FLOP_HANDS) * len(self.flops) * postflop

    @cached_property
    def piece_layout(self) -> PieceLayout:  # type: ignore[override]
        preflop = BlockBoards(0, 1, (len(ALL_HANDS),) * 2)
        postflop = BlockBoards(0, len(self.flops), (len(FLOP_HANDS),) * 2)
        later_blocks = len(self.betting.block_parents) - 1
        return build_piece_layout(self.betting, [preflop] + [postflop] * later_blocks)

    def piece_slice(self, node: int, board: int) -> slice:
        betting_node = self.betting.nodes[node]
        size = len(FLOP_HANDS) if betting_node.block else len(ALL_HANDS)
        start = int(self.piece_layout.start[node] + board * self.piece_layout.stride[node])
        return slice(start, start + len(betting_node.actions) * size)

    # arguments of the walks

    @cached_property
    def live_hands(self) -> Ints:
        """[flops, 1176] indices among the 1,326 of the hands that each flop leaves."""
        cards = np.array(ALL_HANDS)
        return np.array(
            [np.flatnonzero(~np.isin(cards, flop).any(axis=1)) for flop in self.flops], np.uint16
        )

    @cached_property
    def hand_classes(self) -> Ints:
        """[1326] class of each hand, from 0 to 168."""
        return np.array([hand_class(*hand) for hand in ALL_HANDS])

    @cached_property
    def _flop_order(self) -> StrengthOrder:
        """The order of the hands on every flop, of either player."""
        size, cards = len(FLOP_HANDS), np.array(ALL_HANDS, np.uint8)
        order, rank = np.zeros((2, len(self.flops), size), np.uint16)
        strength, unused = np.zeros(size, np.int64), np.zeros((2, size), np.uint16)
        for number, flop in enumerate(self.flops):
            rows = np.empty((size, 5), np.uint8)
            rows[:, :3], rows[:, 3:] = flop, cards[self.live_hands[number]]
            hand_strength.strengths(rows, strength)
            deal_walk.sort_hands(
                strength, strength, order[number], unused[0], rank[number], unused[1]
            )
        return StrengthOrder(size * np.arange(len(self.flops) + 1), order.ravel(), rank.ravel())

    @cached_property
    def walks(self) -> tuple[tuple[HoldemWalk, HoldemWalk], tuple[HoldemWalk, HoldemWalk]]:
        """By player: the arguments of its walks before the flop and on the flop."""
        hands = _all_hands(ALL_HANDS)
        indices = np.arange(hands.size, dtype=np.uint16)
        order = StrengthOrder(np.array([0, hands.size]), indices, np.zeros_like(indices))
        flop_hands = _all_hands(FLOP_HANDS)

        def build_walks(player: int) -> tuple[HoldemWalk, HoldemWalk]:
            payoffs = _leaf_payoffs(self.betting, player)
            preflop = HoldemWalk(
                **betting_arrays(self.betting, self.piece_layout, payoffs, player),
                card=np.zeros(1, np.int64),
                next_boards=np.zeros(2, np.int64),
                chance=np.ones(1),
                isomorphic_boards=np.zeros(2, np.int64),
                permutation_index=np.zeros(0, np.int64),
                hand_permutations=np.zeros((0, hands.size), np.int64),
                **hand_arrays((hands, hands), (order, order)),
            )
            flop_arrays = hand_arrays((flop_hands, flop_hands), (self._flop_order,) * 2)
            return preflop, preflop._replace(chance=self.flop_probability, **flop_arrays)

        return build_walks(0), build_walks(1)

    @property
    def value_tolerance(self) -> float:
        """Largest rounding error of a value per unit of the opponent's reach."""
        max_chips = max(max(node.state.contributions) for node in self.betting.nodes)
        return ROUNDING_ULPS * float(np.finfo(self.compute_dtype).eps) * max_chips

    def scratch(self, player: int) -> tuple[StreetRows, list[StreetScratch]]:
        """Return the rows of the round before the flop, its scratch, and one per thread."""
        threads = num_threads()
        if (player, threads) not in self._scratch:
            preflop, postflop = self.walks[player]
            top = new_street_rows(preflop, int(preflop.block[1]), self.compute_dtype)
            scratches = [new_street_scratch(preflop, self.compute_dtype)]
            scratches += [new_street_scratch(postflop, self.compute_dtype) for _ in range(threads)]
            self._scratch[player, threads] = top, scratches
        return self._scratch[player, threads]

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk the whole tree for one player; return its cf_values [1326] at the root."""
        preflop, postflop = self.walks[player]
        top, (scratch, *thread_scratches) = self.scratch(player)
        tolerance, live = self.value_tolerance, self.live_hands
        top.own_reach[0] = 1.0
        top.opponent_reach[0] = 1.0 / (len(ALL_HANDS) * comb(NUM_CARDS - 2, 2))
        street_walk.descend(preflop, tables, scratch, top, 0, 0, mode)
        deal_walk.evaluate_leaves(preflop, scratch, top, 0, 0)
        deals = preflop.leaf[preflop.leaf_range[0, 2] : preflop.leaf_range[0, 3]]
        deal_values = np.zeros((NUM_FLOP_PARTS, deals.size, len(ALL_HANDS)))
        tasks = count()

        def work(thread: int, _: int) -> None:
            while (part := next(tasks)) < NUM_FLOP_PARTS:
                for flop in range(part, len(self.flops), NUM_FLOP_PARTS):
                    deal_walk.walk_after_flop(
                        postflop, tables, thread_scratches[thread], top, 0, flop, live[flop], mode,
                        tolerance, deal_values[part],
                    )  # fmt: skip

        run_in_threads(work, [(thread, thread + 1) for thread in range(len(thread_scratches))])
        top.value[deals] = self._average_by_class(deal_values.sum(axis=0))
        tiny = deal_walk.value_tolerance(top, len(ALL_HANDS), tolerance)
        street_walk.ascend(preflop, tables, scratch, top, 0, 0, mode, tiny)
        return top.value[0]

    def _average_by_class(self, values: Floats) -> Floats:
        """Return values [., 1326] with each hand at the mean of its class."""
        size = np.bincount(self.hand_classes)
        means = [np.bincount(self.hand_classes, row) / size for row in values]
        return np.array(means)[:, self.hand_classes]

    # policies from other sources

    def tabulate(self, policy_function: Callable[[PublicState], ArrayLike]) -> HoldemPolicy:
        """Return the policy of a function, as a table that `cp.judge` evaluates.

        Args:
            policy_function: returns weights [actions, hands] for a public state, such as those of
                a network or a rule of thumb. It is called once per public state: before the flop,
                and on each of the 1,755 flops.

        Raises:
            ConfigError: the function returns another shape or negative numbers.
        """
        weights = np.zeros(self.num_sequences, np.float32)
        cards = np.array(ALL_HANDS)
        for number, node in enumerate(self.betting.nodes):
            if node.kind >= FOLD:
                continue
            streets = self.betting.actions_by_street(number)
            history = "|".join("".join(name[0] for name in names) for names in streets)
            for board in range(len(self.flops) if node.block else 1):
                flop = self.flops[board] if node.block else ()
                hands = cards[self.live_hands[board]] if node.block else cards
                state = PublicState(history, flop, node.kind, node.actions, hands)
                piece = np.asarray(policy_function(state), np.float64)
                shape = (len(node.actions), len(hands))
                if piece.shape != shape or not (np.isfinite(piece) & (piece >= 0.0)).all():
                    raise ConfigError(
                        f"after {history!r} on {cards_name(flop) or 'no board'} the policy must "
                        f"answer with {shape[0]} x {shape[1]} numbers, none below 0"
                    )
                weights[self.piece_slice(number, board)] = piece.ravel()
        return HoldemPolicy(self, weights, weights[:0])

    def save_policy(self, policy: HoldemPolicy, path: str | Path) -> None:
        """Write a policy in 16 bits, 0.75 GB; `load_flop_policy` reads it back."""
        tables, packed = self.policy_tables(policy), np.zeros(self.num_sequences, np.uint16)
        for number, node in enumerate(self.betting.nodes):
            if node.kind < FOLD:
                walk = self.walks[0][node.block > 0]
                scratch = new_street_scratch(walk, self.compute_dtype)
                rows = np.zeros((3, int(walk.sizes.max())), self.compute_dtype)
                num_boards = len(self.flops) if node.block else 1
                packed_policy.pack_policy(
                    walk, tables, scratch, rows, number, 0, num_boards, packed
                )
        game = {"raises": self.game.raises, "flop_raises": self.game.flop_raises}
        write_archive(path, FLOP_POLICY_FORMAT, {"game": game, "policy": packed}, compress=False)


def load_flop_policy(path: str | Path) -> HoldemPolicy:
    """Read a file written by `HoldemPolicy.save` of a flop hold'em policy.

    Raises:
        FileError: the file is damaged or holds something else.
    """
    content = read_archive(path, FLOP_POLICY_FORMAT)
    try:
        arena = FlopHoldemArena(FlopHoldem(**content["game"]))
        packed = content["policy"]
        if packed.dtype != np.uint16 or packed.shape != (arena.num_sequences,):
            raise ConfigError("its policy does not fit its game")
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: not a whole policy ({error})") from error
    return HoldemPolicy(arena, packed.astype(np.float32), np.zeros(0, np.float32))


def _all_hands(cards: list[tuple[int, int]]) -> RangeHands:
    """Return the range that holds every hand with weight 1."""
    return RangeHands(np.arange(len(cards)), np.ones(len(cards)), np.array(cards))


def _leaf_payoffs(betting: BettingTree, player: int) -> Floats:
    """Return a player's payoffs [N, 4]: win - tie, tie - lose, lose, tie."""
    payoffs = np.zeros((len(betting.nodes), 4))
    for number, node in enumerate(betting.nodes):
        chips = min(node.state.contributions)
        if node.kind == FOLD:
            gain = -chips if node.folding_player == player else chips
            payoffs[number] = 0.0, 0.0, gain, gain
        elif node.kind == SHOWDOWN:
            payoffs[number] = chips, chips, -chips, 0.0
    return payoffs


def _build_betting_tree(game: FlopHoldem) -> BettingTree:
    """Return the betting of both rounds: a block before the flop, and one after each deal."""
    betting = BettingTree()
    waiting = [(StreetState(0, 0, game.blinds, game.first_to_act[0]), -1)]
    for state, parent in waiting:
        block, number = len(betting.block_starts), len(betting.nodes)
        betting.start_block(BettingNode(state.player, state, block), parent)
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
    """Append the children of a decision node."""
    node = betting.nodes[number]
    state, player = node.state, node.kind
    highest, other = max(state.contributions), 1 - player
    node.first_child = len(betting.nodes)
    names = ["fold"] if state.contributions[player] < highest else []
    names.append("call")
    if state.num_bets < game.max_raises[state.street]:
        names.append("raise")
    node.actions = tuple(names)
    for name in names:
        child = BettingNode(FOLD, state, node.block, number, name, folding_player=player)
        if name != "fold":
            chips = highest + game.raise_sizes[state.street] * (name == "raise")
            other_chips = state.contributions[other]
            child.state = state._replace(
                contributions=(chips, other_chips) if player == 0 else (other_chips, chips),
                player=other,
                num_bets=state.num_bets + (name == "raise"),
                is_opened=True,
            )
            is_over = name == "call" and state.is_opened
            child.kind = (DEAL if state.street == 0 else SHOWDOWN) if is_over else other
            child.folding_player = -1
        betting.nodes.append(child)


def _count_infosets(game: FlopHoldem) -> int:
    return FlopHoldemArena(game).num_infosets


def _build_arena(game: FlopHoldem, memory_limit: int | None) -> FlopHoldemArena:
    return FlopHoldemArena(game)


FLOP_HOLDEM_FACTORY = ArenaFactory(_count_infosets, _build_arena)
