"""Arrays that the hold'em kernels walk: betting tree, boards and hands of an arena.

A table (regrets, policy sums) is a flat array [S] of pieces. A piece holds the numbers
[actions, hands] of one betting node on one board. The pieces of one block and board are adjacent,
followed by those of the next board; kernels visit them in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from counterplay.arenas.holdem.betting import DEAL, FOLD, SHOWDOWN, BettingNode, BettingTree
from counterplay.arenas.holdem.boards import (
    Boards,
    RangeHands,
    StrengthOrder,
    sort_hands_by_strength,
)
from counterplay.arenas.holdem.runout_equity import RunoutEquity
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.arena import Floats, Ints
from counterplay.kernels.holdem.types import HoldemWalk, StreetRows, StreetScratch
from counterplay.kernels.runtime.lanes import LANES

RUNOUT = -1  # in place of the kind of leaves that `RunoutEquity` evaluates


class BlockBoards(NamedTuple):
    """The boards on which a block of the betting tree is played."""

    first_board: int
    num_boards: int
    num_hands: tuple[int, int]  # by player


class PieceLayout(NamedTuple):
    """Positions of the pieces in a table. N betting nodes; the piece of a node on board g begins
    at `start[node] + g * stride[node]` and is piece number `piece_index[node] + g`.
    """

    start: Ints  # [N]
    stride: Ints  # [N]
    piece_index: Ints  # [N]
    num_sequences: int  # S, the length of a table
    num_pieces: int


def build_piece_layout(betting: BettingTree, blocks: Sequence[BlockBoards]) -> PieceLayout:
    """Return the layout of the tables, given the boards of every block of the betting tree."""
    nodes = betting.nodes
    start, stride, piece_index = np.zeros((3, len(nodes)), np.int64)
    sequences = pieces = 0
    for (first, last), block in zip(pairwise(betting.block_starts), blocks, strict=True):
        deciding = [n for n in range(first, last) if nodes[n].kind < FOLD]
        lengths = [len(nodes[n].actions) * block.num_hands[nodes[n].kind] for n in deciding]
        for node, before in zip(deciding, accumulate(lengths, initial=0), strict=False):
            stride[node] = sum(lengths)
            start[node] = sequences + before - block.first_board * sum(lengths)
            piece_index[node] = pieces - block.first_board
            pieces += block.num_boards
        sequences += block.num_boards * sum(lengths)
    return PieceLayout(start, stride, piece_index, sequences, pieces)


def leaf_payoffs(spot: Spot, node: BettingNode, player: int) -> tuple[float, float, float]:
    """Return the chips that a player gains at a leaf if it wins, ties and loses the showdown.

    All three are equal at a fold. Chips count from the start of the spot, after rake.
    """
    matched = node.state.earlier_contribution + min(node.state.contributions)
    pot = spot.pot + 2 * matched
    pot_left = pot - min(pot * spot.rake, spot.rake_cap)
    if node.kind == FOLD:
        gain = -matched if node.folding_player == player else pot_left - matched
        return (gain,) * 3
    return pot_left - matched, pot_left / 2.0 - matched, -matched


def build_walks(
    spot: Spot,
    betting: BettingTree,
    pieces: PieceLayout,
    boards: Boards,
    hands: tuple[RangeHands, RangeHands],
    runouts: RunoutEquity | None = None,
) -> tuple[HoldemWalk, HoldemWalk]:
    """Return the kernel arguments that describe a spot, for a walk of either player.

    With `runouts`, leaves that it has equities for are evaluated by these instead of being walked.
    """
    orders = sort_hands_by_strength(boards, hands, spot.deck_rules)
    runouts = runouts or RunoutEquity.empty(len(boards.cards))

    def build_walk(player: int) -> HoldemWalk:
        own = hands[player]
        payoffs = np.zeros((len(betting.nodes), 3))
        for number, node in enumerate(betting.nodes):
            if node.kind in (FOLD, SHOWDOWN):
                win, tie, lose = leaf_payoffs(spot, node, player)
                payoffs[number] = win - tie, 0.0, lose  # a tie is half of a win
        runout_pot = np.zeros(len(betting.nodes))
        for number, end in runouts.showdowns.items():
            win, _, lose = leaf_payoffs(spot, betting.nodes[end], player)
            # equities are those of player 0: player 1 wins the pot except for them
            base = win if player else lose
            payoffs[number] = 0.0, 0.0, base
            runout_pot[number] = lose - win if player else win - lose
        permutations = [own.permute_suits(suits) for suits in boards.suit_permutations]
        return HoldemWalk(
            **betting_arrays(betting, pieces, payoffs, player, runouts.showdowns),
            runout_pot=runout_pot,
            equity=runouts.equity,
            equity_row=runouts.row,
            card=np.array([board[-1] for board in boards.cards]),
            next_boards=boards.next_boards,
            chance=boards.chance,
            isomorphic_boards=boards.isomorphic_boards,
            multiplicity=boards.multiplicity.astype(np.float64),
            permutation_index=boards.permutation_index,
            hand_permutations=np.array(permutations, np.int64).reshape(-1, own.size),
            **hand_arrays((own, hands[1 - player]), (orders[player], orders[1 - player])),
        )

    return build_walk(0), build_walk(1)


def betting_arrays(
    betting: BettingTree,
    pieces: PieceLayout,
    payoffs: Floats,
    player: int,
    runouts: Mapping[int, int],
) -> dict[str, Any]:
    """Return the fields of `HoldemWalk` that describe the betting.

    Args:
        payoffs: [N, 4] of a player at the leaves: win - tie, tie - lose, lose, tie.
        player: the player who walks.
        runouts: has the leaves that are evaluated by the equities of pairs of hands.
    """
    nodes, starts = betting.nodes, betting.block_starts
    leaves: list[int] = []
    leaf_ranges = []
    for first, last in pairwise(starts):
        bounds = [len(leaves)]
        by_kind: dict[int, list[int]] = {SHOWDOWN: [], FOLD: [], RUNOUT: [], DEAL: []}
        for number in range(first, last):
            kind = RUNOUT if number in runouts else nodes[number].kind
            by_kind.get(kind, []).append(number)
        for group in by_kind.values():
            leaves += group
            bounds.append(len(leaves))
        leaf_ranges.append(bounds)
    opponent_row = _reach_rows(betting, 1 - player)
    return {
        "player": player,
        "kind": np.array([node.kind for node in nodes]),
        "first": np.array([node.first_child for node in nodes]),
        "count": np.array([len(node.actions) for node in nodes]),
        "start": pieces.start,
        "stride": pieces.stride,
        "piece_index": pieces.piece_index,
        "payoff": payoffs,
        "next_block": np.array([node.next_block for node in nodes]),
        "own_row": _reach_rows(betting, player),
        "opponent_row": opponent_row,
        "block": np.array(starts),
        "leaf": np.array(leaves, np.int64),
        "leaf_range": np.array(leaf_ranges),
        **_leaf_lanes(np.array(leaves, np.int64), np.array(leaf_ranges), opponent_row),
    }


def _leaf_lanes(leaves: Ints, leaf_ranges: Ints, opponent_row: Ints) -> dict[str, Ints]:
    """Return the fields of `HoldemWalk` that give leaves with the same reach one lane."""
    lane_rows: list[int] = []
    lane_ranges = []
    leaf_lane = np.zeros((leaves.size, 2), np.int64)
    for first, first_fold, _, end, _ in leaf_ranges.tolist():
        start = len(lane_rows)
        lane_by_row: dict[int, int] = {}
        for i in range(first, end):
            lane = lane_by_row.setdefault(int(opponent_row[leaves[i]]), len(lane_by_row))
            leaf_lane[i] = leaves[i], lane
        lane_rows += lane_by_row
        num_showdowns = len({int(row) for row in opponent_row[leaves[first:first_fold]]})
        lane_ranges.append((start, start + num_showdowns, len(lane_rows)))
    return {
        "leaf_lane": leaf_lane,
        "lane_row": np.array(lane_rows, np.int64),
        "lane_range": np.array(lane_ranges),
    }


def hand_arrays(
    hands: tuple[RangeHands, RangeHands], orders: tuple[StrengthOrder, StrengthOrder]
) -> dict[str, Any]:
    """Return the fields of `HoldemWalk` that describe the hands; the walking player comes first."""
    own, other = hands
    return {
        "sizes": np.array([own.size, other.size]),
        "cards": own.cards.astype(np.uint8),
        "opponent_cards": other.cards.astype(np.uint8),
        "same_hand": own.indices_in(other),
        "live_offset": orders[0].live_offset,
        "order": orders[0].hand,
        "strength": orders[0].rank,
        "opponent_live_offset": orders[1].live_offset,
        "opponent_order": orders[1].hand,
        "opponent_strength": orders[1].rank,
        "holder_offset": own.holders[0],
        "holders": own.holders[1],
        "opponent_holder_offset": other.holders[0],
        "opponent_holders": other.holders[1],
    }


def _reach_rows(betting: BettingTree, player: int) -> Ints:
    """Return the row [N] of each node's block in which the player's reach changed last."""
    rows = np.zeros(len(betting.nodes), np.int64)
    for number, node in enumerate(betting.nodes):
        if node.parent >= 0:
            acted = betting.nodes[node.parent].kind == player
            rows[number] = number - betting.block_starts[node.block] if acted else rows[node.parent]
    return rows


def new_street_rows(walk: HoldemWalk, num_nodes: int, dtype: DTypeLike) -> StreetRows:
    """Allocate the rows of a block of at most `num_nodes` nodes."""
    own, other = walk.sizes.tolist()
    return StreetRows(
        own_reach=np.zeros((num_nodes, own), dtype),
        opponent_reach=np.zeros((num_nodes, other), dtype),
        policy=np.zeros((num_nodes, max(own, other)), dtype),
        value=np.zeros((num_nodes, own), dtype),
    )


def _new_lane_rows(count: int, dtype: DTypeLike) -> Floats:
    """Allocate at least `count` rows of lanes; each begins at a multiple of its size."""
    count = -(-count // LANES) * LANES
    row_bytes = LANES * np.dtype(dtype).itemsize
    memory = np.zeros((count + 1) * row_bytes, np.uint8)
    start = -memory.ctypes.data % row_bytes
    return memory[start : start + count * row_bytes].view(dtype).reshape(count, LANES)


def new_street_scratch(walk: HoldemWalk, dtype: DTypeLike) -> StreetScratch:
    """Allocate the scratch arrays of one thread."""
    own, other = walk.sizes.tolist()
    max_block = int(np.diff(walk.block)[1:].max(initial=0))
    return StreetScratch(
        upper=new_street_rows(walk, max_block, dtype),
        lower=new_street_rows(walk, max_block, dtype),
        piece=np.zeros(int(walk.count.max()) * max(own, other), dtype),
        hand_total=np.zeros((2, max(own, other)), dtype),
        leaf_reach=_new_lane_rows(other + 1, dtype),
        leaf_mass=_new_lane_rows(own, dtype),
        leaf_weaker=_new_lane_rows(own, dtype),
        card_sums=_new_lane_rows(52, dtype),
        square=_new_lane_rows(2 * LANES, dtype),
        leaf_total=np.zeros(1),
    )
