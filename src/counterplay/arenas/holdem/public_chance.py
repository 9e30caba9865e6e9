"""Public-chance sampling: exact regrets of all hands on some boards of a game's second round.

The policies of the second round are given for rows of hands on the sampled boards only (see
`hand_rows`), so that nothing has the size of the game.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.holdem.array_layout import BlockBoards, betting_arrays, build_piece_layout
from counterplay.arenas.holdem.base import HoldemArena, HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import MAX_STREETS, HoldemGameArena
from counterplay.arenas.holdem.game_betting import leaf_payoffs
from counterplay.arenas.holdem.hand_rows import HandRows
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import Judgement
from counterplay.kernels.holdem import board_walk, deal_walk, hand_rows, street_walk
from counterplay.kernels.holdem.types import HoldemTables, HoldemWalk, StreetBoards
from counterplay.kernels.runtime.threads import num_threads, run_in_threads

LineTable = NDArray[Any]  # [C, n] numbers of lines and rows, mostly in single precision
SLOTS_PER_WALK = 8  # boards walked together by a thread; more of them would not fit its cache


class BoardSample(NamedTuple):
    """Some boards of the second round, and their rows. K boards, n rows."""

    board: Ints  # [K]
    probability: Floats  # [K] of being in a sample
    first: Ints  # [K + 1] first row of each board in tables of the sample
    row: Ints  # [n] the rows among all rows
    kind: Ints  # [n] kind before the deal
    row_of_hand: Ints  # [K, hands]


@dataclass(frozen=True, eq=False)
class RoundLines:
    """The (decision, action) pairs of a round, which are the lines of its tables [C, rows]."""

    decisions: Ints  # [D, 4] first line, number of actions, start and stride of the pieces
    player: Ints  # [D] who decides
    line_player: Ints  # [C]
    previous: Ints  # [C] line of the same player's action before in this round, or -1
    opponent_line: Ints  # [D] line of the opponent's last action in this round, or -1
    deal: Ints  # [C] number of the deal before the line's block; 0 in the first round

    def lines_of(self, player: int) -> Ints:
        """Return a player's lines, earlier actions first."""
        return np.flatnonzero(self.line_player == player)

    @property
    def num_lines(self) -> int:
        """Number of lines C."""
        return self.line_player.size


def sampling_probabilities(weights: Floats, size: int, exponent: float) -> Floats:
    """Return the probabilities [G], in proportion to weights**exponent, that sum to `size`.

    Those above 1 are cut; with a size of G or more all are 1.
    """
    if size >= weights.size:
        return np.ones(weights.size)
    share = weights**exponent
    is_certain = np.zeros(weights.size, bool)
    while True:
        rest = np.where(is_certain, 0.0, share)
        result = np.where(is_certain, 1.0, rest * (size - is_certain.sum()) / rest.sum())
        if (result <= 1.0).all():
            return result
        is_certain |= result > 1.0


def systematic_sample(rng: np.random.Generator, probabilities: Floats) -> Ints:
    """Return a random sample in which i is with probability `probabilities[i]`.

    One random number places equally spaced points on the sums of the probabilities, so that the
    sample is spread evenly over the order of the list.
    """
    ends = np.cumsum(probabilities)
    before = np.floor(np.concatenate([[0.0], ends]) + rng.random())
    return np.flatnonzero(np.diff(before) > 0.0)


class _Slots(NamedTuple):
    """Arguments of a walk of some boards, besides the tables of a thread."""

    num_boards: int
    walks: tuple[HoldemWalk, ...]  # by street
    streets: tuple[StreetBoards, ...]
    roots: Ints  # see `board_walk.walk_roots`


class RowPolicy(HoldemPolicy):
    """A policy of rows of hands; its table is made at first use, and judging needs none.

    Args:
        sampler: has the rows.
        first_weights: [C, kinds] of the first round, in proportion to probabilities.
        second_weights: [C, R] of the second round.
    """

    def __init__(
        self, sampler: PublicChanceSampler, first_weights: LineTable, second_weights: LineTable
    ):
        no_weights = np.zeros(0, sampler.arena.compute_dtype)
        fields = {"arena": sampler.arena, "fallback_weights": no_weights}
        self.__dict__.update(fields)  # the class is frozen
        self.__dict__["_rows"] = sampler, first_weights, second_weights

    @cached_property
    def weights(self) -> LineTable:
        """The table of all hands."""
        sampler, first_weights, second_weights = self.__dict__["_rows"]
        return sampler.spread(first_weights, second_weights)

    def judge(self, arena: HoldemArena) -> Judgement:
        """Return the values and best-response values of the policy."""
        sampler, first_weights, second_weights = self.__dict__["_rows"]
        if arena is not sampler.arena or arena.locks:
            return super().judge(arena)
        return sampler.judge(first_weights, second_weights)


class PublicChanceSampler:
    """Walks of sampled boards, for a game of two rounds.

    Args:
        arena: the game.
        rows: its rows of hands.
    """

    def __init__(self, arena: HoldemGameArena, rows: HandRows):
        self.arena, self.rows = arena, rows
        betting = arena.betting
        blocks = [
            BlockBoards(0, SLOTS_PER_WALK if k else 1, (arena.num_hands(int(k > 0)),) * 2)
            for k in range(len(betting.block_starts) - 1)
        ]
        self._layout = build_piece_layout(betting, blocks)
        self.first_round = self._make_lines(0)
        self.second_round = self._make_lines(1)
        self.board_weight = arena.streets[1].num_merged / arena.streets[1].num_merged.sum()
        self._top = self._new_top_tables(), self._new_top_tables()
        self._tables: list[HoldemTables] = []  # of the slots, by thread

    def _new_top_tables(self) -> HoldemTables:
        """Return tables of the first round, for one player's walks."""
        nodes = self.arena.betting.nodes[: self.arena.betting.block_starts[1]]
        num_actions = sum(len(node.actions) for node in nodes if node.kind < FOLD)
        return new_tables(num_actions * self.arena.num_hands(0), self.arena.compute_dtype)

    def _make_lines(self, street: int) -> RoundLines:
        betting, decisions, players, line_of_child = self.arena.betting, [], [], dict[int, int]()
        line_player, previous, opponent_line, deal, num_lines = [], [], [], [], 0
        walk = self.arena.walks[0][0]
        deals = walk.leaf[walk.leaf_range[0, 3] : walk.leaf_range[0, 4]].tolist()
        for number, node in enumerate(betting.nodes):
            if node.kind >= FOLD or node.state.street != street:
                continue
            start, stride = self._layout.start[number], self._layout.stride[number]
            decisions.append((num_lines, len(node.actions), start, stride))
            players.append(node.kind)
            last_line, above = [-1, -1], number
            while (parent := betting.nodes[above].parent) >= 0:
                player = betting.nodes[parent].kind
                if last_line[player] < 0:
                    last_line[player] = line_of_child[above]
                above = parent
            opponent_line.append(last_line[1 - node.kind])
            parent_deal = betting.block_parents[node.block]
            for a in range(len(node.actions)):
                line_of_child[node.first_child + a] = num_lines + a
                line_player.append(node.kind)
                previous.append(last_line[node.kind])
                deal.append(deals.index(parent_deal) if street else 0)
            num_lines += len(node.actions)
        return RoundLines(
            np.array(decisions, np.int64).reshape(-1, 4),
            np.array(players, np.int64),
            np.array(line_player, np.int64),
            np.array(previous, np.int64),
            np.array(opponent_line, np.int64),
            np.array(deal, np.int64),
        )

    @cached_property
    def _deals(self) -> Ints:
        """The deals at the end of the first round, as nodes."""
        walk = self.arena.walks[0][0]
        return walk.leaf[walk.leaf_range[0, 3] : walk.leaf_range[0, 4]]

    @property
    def num_deals(self) -> int:
        """Number of betting histories after which the board is dealt."""
        return self._deals.size

    @cached_property
    def _deal_lines(self) -> list[tuple[int, int]]:
        """By deal: each player's last line of the first round before it, or -1."""
        betting, line_of_child, result = self.arena.betting, dict[int, int](), []
        decisions = iter(self.first_round.decisions[:, 0].tolist())
        for node in betting.nodes[: betting.block_starts[1]]:
            if node.kind < FOLD:
                line = next(decisions)
                line_of_child |= {node.first_child + a: line + a for a in range(len(node.actions))}
        for deal in self._deals.tolist():
            lines, node = [-1, -1], deal
            while (parent := betting.nodes[node].parent) >= 0:
                player = betting.nodes[parent].kind
                if lines[player] < 0:
                    lines[player] = line_of_child[node]
                node = parent
            result.append((lines[0], lines[1]))
        return result

    def sample(self, boards: Ints, probabilities: Floats) -> BoardSample:
        """Return the sample of these boards; `probabilities` [G] are those of all boards."""
        rows = self.rows
        sizes = rows.first[boards + 1] - rows.first[boards]
        first = np.concatenate([[0], np.cumsum(sizes)])
        row = np.arange(first[-1]) + np.repeat(rows.first[boards] - first[:-1], sizes)
        return BoardSample(
            boards,
            probabilities[boards],
            first,
            row,
            rows.kind[row],
            np.ascontiguousarray(rows.row_of_hand[boards]),
        )

    # policies

    def match_regrets(self, regret: LineTable, lines: RoundLines) -> LineTable:
        """Return the policy [C, n] of regret matching; the largest regret if none is positive."""
        policy = np.empty_like(regret)
        hand_rows.match_regrets(regret, lines.decisions, np.array([0, regret.shape[1]]), policy)
        return policy

    def first_round_reach(self, policy: LineTable) -> LineTable:
        """Return both players' own reach [C, kinds] of each action of the first round."""
        lines, reach = self.first_round, np.zeros_like(policy)
        ones, kind = np.ones((1, policy.shape[1]), policy.dtype), np.arange(policy.shape[1])
        hand_rows.multiply_own_reach(
            policy, lines.previous, lines.deal, ones, kind, np.arange(lines.num_lines),
            np.array([0, policy.shape[1]]), reach,
        )  # fmt: skip
        return reach

    def reach_at_deals(self, first_policy: LineTable) -> LineTable:
        """Return both players' own reach [2, deals, kinds] at the deals."""
        reach = self.first_round_reach(first_policy)
        result = np.ones((2, self.num_deals, first_policy.shape[1]), first_policy.dtype)
        for deal, lines in enumerate(self._deal_lines):
            for player, line in enumerate(lines):
                if line >= 0:
                    result[player, deal] = reach[line]
        return result

    def own_reach(
        self, policy: LineTable, deal_reach: LineTable, kind: Ints, lines: Ints
    ) -> LineTable:
        """Return the own reach [C, n] of lines of the second round; other lines are undefined.

        Args:
            policy: [C, n] of the second round.
            deal_reach: [deals, kinds] reach of the player whose lines these are.
            kind: [n] of the rows.
        """
        reach, every_row = np.empty_like(policy), np.array([0, policy.shape[1]])
        hand_rows.multiply_own_reach(
            policy, self.second_round.previous, self.second_round.deal,
            deal_reach, kind, lines, every_row, reach,
        )  # fmt: skip
        return reach

    def mean_opponent_reach(
        self, player: int, first_policy: LineTable, second_policy: LineTable, sample: BoardSample
    ) -> tuple[Floats, Floats]:
        """Return the opponent's own reach of a player's decisions, mean over the hands of a board.

        Cards that the player takes from the opponent do not count.

        Returns:
            By decision of the first round [D', 1], and of the second one by board [D, K]; zero at
            the opponent's decisions.
        """
        rows, opponent = self.rows, 1 - player
        first_reach = self.first_round_reach(first_policy)
        deal_reach = self.reach_at_deals(first_policy)[opponent]
        lines = self.second_round.lines_of(opponent)
        reach = self.own_reach(second_policy, deal_reach, sample.kind, lines)
        first = np.zeros((len(self.first_round.decisions), 1))
        second = np.zeros((len(self.second_round.decisions), sample.board.size))
        for decision in np.flatnonzero(self.first_round.player == player).tolist():
            line = self.first_round.opponent_line[decision]
            of_kind = first_reach[line] if line >= 0 else np.ones(rows.num_kinds)
            first[decision] = np.average(of_kind, weights=rows.kind_size)
        size = rows.num_hands[sample.row].astype(float)
        total = np.add.reduceat(size, sample.first[:-1])
        for decision in np.flatnonzero(self.second_round.player == player).tolist():
            line = self.second_round.opponent_line[decision]
            deal = self.second_round.deal[self.second_round.decisions[decision, 0]]
            of_row = reach[line] if line >= 0 else deal_reach[deal, sample.kind]
            second[decision] = np.add.reduceat(of_row * size, sample.first[:-1]) / total
        return first, second

    def make_policy(self, first_weights: LineTable, second_weights: LineTable) -> RowPolicy:
        """Return the policy of weights [C, kinds] and [C, R]; they must not change later."""
        return RowPolicy(self, first_weights, second_weights)

    def spread(self, first_weights: LineTable, second_weights: LineTable) -> LineTable:
        """Return weights [C, kinds] and [C, R] hand by hand, as a table of the arena."""
        arena = self.arena
        table = np.zeros(arena.num_sequences, arena.compute_dtype)
        layout, rows = arena.piece_layout, self.rows
        parts = [(0, first_weights), (1, second_weights)]
        for street, weights in parts:
            lines = (self.first_round, self.second_round)[street]
            nodes = [
                number
                for number, node in enumerate(arena.betting.nodes)
                if node.kind < FOLD and node.state.street == street
            ]
            decisions = lines.decisions.copy()
            decisions[:, 2], decisions[:, 3] = layout.start[nodes], layout.stride[nodes]
            first = rows.first if street else np.array([0, rows.num_kinds])
            of_hand = rows.row_of_hand if street else rows.kind_of_hand[None].astype(np.uint16)
            hand_rows.spread_rows(
                weights, first, of_hand, decisions, np.array([0, len(of_hand)]), table
            )
        return table

    # walks

    def second_round_regrets(
        self, player: int, first_policy: LineTable, second_policy: LineTable, sample: BoardSample,
        regret: LineTable,
    ) -> LineTable:  # fmt: skip
        """Set a player's lines of `regret` [C, n] to its exact regrets on the sampled boards.

        A regret is in chips: the counterfactual regret of a hand on one board, divided by the
        probability of the player's hand and of the board, mean over the row's hands.

        Args:
            player: the player.
            first_policy: [C, kinds] policy of the first round.
            second_policy: [C, n] policy of the second round on the sampled boards.
            sample: the boards.
            regret: [C, n] is changed.

        Returns:
            The player's counterfactual values [K, deals, kinds] of each board and all that are
            isomorphic to it, mean over the hands of each kind; sums over all boards are the values
            of the deals.
        """
        arena, rows = self.arena, self.rows
        self._descend_top(player, first_policy)
        num_boards = sample.board.size
        values = np.zeros((num_boards, self.num_deals, rows.num_kinds), np.float32)
        chance = arena.street_boards[1].chance
        unit = arena.num_pairs / (chance * _num_opponent_hands(arena))
        factor = unit / rows.num_hands[sample.row]
        starts = [*range(0, num_boards, SLOTS_PER_WALK), num_boards]
        tasks = iter(pairwise(starts))

        def work(thread: int, _: int) -> None:
            while (task := next(tasks, None)) is not None:
                self._walk_slots(
                    player, thread, second_policy, sample, task, factor, regret, values
                )

        run_in_threads(work, [(thread, thread + 1) for thread in range(num_threads())])
        return values

    def first_round_regrets(self, player: int, deal_values: LineTable) -> LineTable:
        """Return a player's regrets [C, kinds] of the first round, in chips.

        Call it after `second_round_regrets` with the same policy of the first round.

        Args:
            player: the player; lines of the other one are zero.
            deal_values: [deals, kinds] sums of the values over all boards, or estimates of them.
        """
        arena, tables, rows = self.arena, self._top[player], self.rows
        scratch = arena.scratch(player)
        scratch.top.value[self._deals] = deal_values[:, rows.kind_of_hand]
        walk = arena.walks[player][0]
        tables.regret[:] = 0.0
        deal_walk.ascend_block(
            walk, tables, scratch.threads[0], scratch.top, 0, 0, street_walk.MODE_LEARN,
            arena.value_tolerance,
        )  # fmt: skip
        lines = self.first_round
        regret = np.zeros((lines.num_lines, rows.num_kinds), np.float32)
        factor = arena.num_pairs / _num_opponent_hands(arena) / rows.kind_size
        hand_rows.gather_rows(
            tables.regret, np.array([0, rows.num_kinds]),
            rows.kind_of_hand[None].astype(np.uint16), lines.decisions, lines.player, player,
            np.array([0, 1]), factor, regret,
        )  # fmt: skip
        return regret

    def judge(self, first_weights: LineTable, second_weights: LineTable) -> Judgement:
        """Return the values and best-response values of a policy, board by board.

        It equals the judgement of the table of all hands, up to rounding, without that table.

        Args:
            first_weights: [C, kinds] of the first round, in proportion to probabilities.
            second_weights: [C, R] of the second round.
        """
        arena, boards = self.arena, np.arange(self.board_weight.size)
        weights = first_weights, second_weights
        sample = self.sample(boards, np.ones(boards.size))
        values, best = np.zeros(2), np.zeros(2)
        for player in (0, 1):
            best[player] = self._value(player, *weights, sample, street_walk.MODE_BEST)
            if player == 1 and arena.value_sum is not None:  # saves a walk
                values[1] = arena.value_sum - values[0]
            else:
                values[player] = self._value(player, *weights, sample, street_walk.MODE_MEAN)
        return Judgement(values, best)

    def _value(
        self, player: int, first_weights: LineTable, second_weights: LineTable,
        sample: BoardSample, mode: int,
    ) -> float:  # fmt: skip
        """Return a player's value by a walk of all boards."""
        arena = self.arena
        self._descend_top(player, first_weights, mode)
        tasks = list(pairwise([*range(0, sample.board.size, SLOTS_PER_WALK), sample.board.size]))
        shape = len(tasks), self.num_deals, arena.num_hands(0)
        values, numbers = np.zeros(shape, arena.compute_dtype), iter(range(len(tasks)))

        def work(thread: int, _: int) -> None:
            while (number := next(numbers, None)) is not None:
                slots = self._set_slots(player, thread, second_weights, sample, tasks[number])
                self._walk_roots(player, thread, slots, values[number], 0, 1, mode)

        run_in_threads(work, [(thread, thread + 1) for thread in range(num_threads())])
        walk, scratch = arena.walks[player][0], arena.scratch(player)
        total = values.sum(axis=0, dtype=np.float64)
        scratch.top.value[self._deals] = arena._average_orbits(total)
        deal_walk.ascend_block(
            walk, self._top[player], scratch.threads[0], scratch.top, 0, 0, mode,
            arena.value_tolerance,
        )  # fmt: skip
        return float(arena.hand_weights[player] @ scratch.top.value[0])

    def _descend_top(
        self, player: int, first_policy: LineTable, mode: int = street_walk.MODE_LEARN
    ) -> None:
        """Set the reach in the first round, and the values where it ends without a deal."""
        arena, rows, lines = self.arena, self.rows, self.first_round
        tables, scratch = self._top[player], arena.scratch(player)
        hand_rows.spread_rows(
            first_policy, np.array([0, rows.num_kinds]), rows.kind_of_hand[None].astype(np.uint16),
            lines.decisions, np.array([0, 1]), tables.policy_weights,
        )  # fmt: skip
        walk, top = arena.walks[player][0], scratch.top
        top.own_reach[0] = 1.0
        top.opponent_reach[0] = 1.0 / arena.num_pairs
        deal_walk.descend_block(walk, tables, scratch.threads[0], top, 0, 0, mode)

    def _walk_slots(
        self, player: int, thread: int, policy: LineTable, sample: BoardSample,
        task: tuple[int, int], factor: LineTable, regret: LineTable, values: LineTable,
    ) -> None:  # fmt: skip
        """Walk some boards of the sample; see `second_round_regrets`."""
        arena, rows, lines, first = self.arena, self.rows, self.second_round, task[0]
        tables = self._slot_tables(thread)
        tables.regret[:] = 0.0
        slots = self._set_slots(player, thread, policy, sample, task)
        on_hands = np.zeros((self.num_deals, arena.num_hands(0)), arena.compute_dtype)
        for slot in range(slots.num_boards):
            on_hands[:] = 0.0
            self._walk_roots(
                player, thread, slots, on_hands, slot, slots.num_boards, street_walk.MODE_LEARN
            )
            for deal in range(self.num_deals):
                total = np.bincount(rows.kind_of_hand, on_hands[deal], rows.num_kinds)
                values[first + slot, deal] = total / rows.kind_size
        hand_rows.gather_rows(
            tables.regret, sample.first, sample.row_of_hand, lines.decisions, lines.player, player,
            np.array(task), factor, regret,
        )  # fmt: skip

    def _set_slots(
        self, player: int, thread: int, policy: LineTable, sample: BoardSample,
        task: tuple[int, int],
    ) -> _Slots:  # fmt: skip
        """Return the walks of some boards of a sample, with their policy in a thread's tables."""
        boards = sample.board[slice(*task)]
        hand_rows.spread_rows(
            policy, sample.first, sample.row_of_hand, self.second_round.decisions, np.array(task),
            self._slot_tables(thread).policy_weights,
        )  # fmt: skip
        walks = self._slot_walks(player, boards)
        roots = np.array(
            [
                (1, block, slot, deal)
                for deal, block in enumerate(walks[0].next_block[self._deals].tolist())
                for slot in range(boards.size)
            ]
        )
        return _Slots(boards.size, walks, self._slot_streets(boards), roots)

    def _walk_roots(
        self, player: int, thread: int, slots: _Slots, values: LineTable, part: int,
        num_parts: int, mode: int,
    ) -> None:  # fmt: skip
        """Walk every `num_parts`-th root of the slots, and add to the values [deals, hands]."""
        arena, scratch = self.arena, self.arena.scratch(player)
        no_reach = np.zeros((0, 0), arena.compute_dtype)
        board_walk.walk_roots(
            slots.walks, slots.streets, self._slot_tables(thread), scratch.threads[thread],
            scratch.rows[thread], scratch.stacks[thread], scratch.top, slots.roots,
            (no_reach, no_reach, values), part, num_parts, mode, arena.value_tolerance,
        )  # fmt: skip

    def _slot_streets(self, boards: Ints) -> tuple[StreetBoards, ...]:
        """Return the records of the streets with these boards as those of the second round."""
        first, second = self.arena.street_boards[:2]
        slots = second._replace(
            next_boards=second.next_boards[: boards.size + 1],
            num_merged=second.num_merged[boards],
            parent_hand=second.parent_hand[boards],
            orbit_row=second.orbit_row[boards],
        )
        return (first, *(slots,) * (MAX_STREETS - 1))

    def _slot_walks(self, player: int, boards: Ints) -> tuple[HoldemWalk, ...]:
        """Return a player's walks with these boards as those of the second round."""
        first, second = self.arena.walks[player][:2]
        num_hands = self.arena.num_hands(1)
        order = second.order.reshape(-1, num_hands)[boards].ravel()
        strength = second.strength.reshape(-1, num_hands)[boards].ravel()
        offset = num_hands * np.arange(boards.size + 1)
        slots = second._replace(
            **self._slot_betting[player],
            live_offset=offset,
            order=order,
            strength=strength,
            opponent_live_offset=offset,
            opponent_order=order,
            opponent_strength=strength,
        )
        return (first, *(slots,) * (MAX_STREETS - 1))

    @cached_property
    def _slot_betting(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """By player: where the pieces of the slots are."""
        betting = self.arena.betting

        def fields(player: int) -> dict[str, Any]:
            payoffs = leaf_payoffs(betting, player, self.arena.payoffs)
            arrays = betting_arrays(betting, self._layout, payoffs, player, {})
            return {name: arrays[name] for name in ("start", "stride", "piece_index")}

        return fields(0), fields(1)

    def _slot_tables(self, thread: int) -> HoldemTables:
        """Return the tables of a thread's slots."""
        while len(self._tables) <= thread:
            self._tables.append(new_tables(self._layout.num_sequences, self.arena.compute_dtype))
        return self._tables[thread]


def new_tables(size: int, dtype: Any) -> HoldemTables:
    """Return tables whose regrets are those of one walk: nothing is discounted or averaged."""
    none, no_scales = np.zeros(0, dtype), np.zeros(0, np.float32)
    return HoldemTables(
        policy_weights=np.zeros(size, dtype),
        fallback_weights=none,
        regret=np.zeros(size, dtype),
        regret_scale=no_scales,
        policy_weights_scale=no_scales,
        policy_sum=none.reshape(0, 0),
        policy_sum_scale=no_scales.reshape(0, 0),
        lock_offset=np.zeros(0, np.int64),
        lock_weights=np.zeros(0),
        discounts=np.array([1.0, 1.0, 0.0]),
        sum_decay=np.zeros(0),
        sum_weight=np.zeros(0),
    )


def _num_opponent_hands(arena: HoldemGameArena) -> int:
    """Return the number of hands that the opponent may hold, given the player's."""
    return arena.num_pairs // arena.num_hands(0)
