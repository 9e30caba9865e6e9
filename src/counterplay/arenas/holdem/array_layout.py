"""Where everything stands: betting, boards and hands of a spot as the arrays that kernels walk."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from counterplay.arenas.holdem.betting import DEAL, FOLD, SHOWDOWN, BettingNode, BettingTree
from counterplay.arenas.holdem.boards import Boards, RangeHands, sort_hands_by_strength
from counterplay.arenas.holdem.spot import Spot
from counterplay.core.arena import Floats, Ints
from counterplay.kernels.holdem.types import HoldemWalk, StreetRows, StreetScratch
from counterplay.kernels.runtime.simd import NUM_LANES


class PieceLayout(NamedTuple):
    """Where the tables keep what belongs to a node and a board.

    Pieces of one block and board stand together, and then come those of the next board: that is the
    order in which they are walked.
    """

    start: Ints  # [N] where board 0 would have its piece
    stride: Ints  # [N] from one board's piece to the next one's
    piece_index: Ints  # [N] the number that board 0's piece would have
    num_sequences: int
    num_pieces: int


def build_piece_layout(
    betting: BettingTree, boards: Boards, hands: tuple[RangeHands, RangeHands], street: int
) -> PieceLayout:
    """The layout of the tables."""
    start, stride, place = np.zeros((3, len(betting.nodes)), np.int64)
    sequences = pieces = 0
    for first, last in pairwise(betting.block_starts):
        level = betting.nodes[first].state.street - street
        board, num_boards = int(boards.level_offset[level]), boards.level_sizes[level]
        deciding = [n for n in range(first, last) if betting.nodes[n].kind < FOLD]
        lengths = [
            len(betting.nodes[n].actions) * hands[betting.nodes[n].kind].size for n in deciding
        ]
        for node, before in zip(deciding, accumulate(lengths, initial=0), strict=False):
            stride[node] = sum(lengths)
            start[node] = sequences + before - board * sum(lengths)
            place[node] = pieces - board
            pieces += num_boards
        sequences += num_boards * sum(lengths)
    return PieceLayout(start, stride, place, sequences, pieces)


def leaf_payoffs(spot: Spot, node: BettingNode, player: int) -> tuple[float, float, float]:
    """What a player takes out of the spot at its end if it wins, ties or loses."""
    matched = node.state.earlier_contribution + min(node.state.contributions)
    pot = spot.pot + 2 * matched
    pot_left = pot - min(pot * spot.rake, spot.rake_cap)
    if node.kind == FOLD:
        got = -matched if node.folding_player == player else pot_left - matched
        return (got,) * 3
    return pot_left - matched, pot_left / 2.0 - matched, -matched


def build_walks(
    spot: Spot, betting: BettingTree, boards: Boards, hands: tuple[RangeHands, RangeHands]
) -> tuple[HoldemWalk, HoldemWalk]:
    """What a walk of each player needs."""
    pieces = build_piece_layout(betting, boards, hands, spot.street)
    orders = sort_hands_by_strength(boards, hands)

    def walk(player: int) -> HoldemWalk:
        own, other = hands[player], hands[1 - player]
        amounts = np.zeros((len(betting.nodes), 4))
        for number, node in enumerate(betting.nodes):
            if node.kind in (FOLD, SHOWDOWN):
                win, tie, lose = leaf_payoffs(spot, node, player)
                amounts[number] = win - tie, tie - lose, lose, tie
        renamed = [own.permute_suits(suits) for suits in boards.suit_permutations]
        both = [(o.live_offset, o.hand, o.rank) for o in (orders[player], orders[1 - player])]
        return HoldemWalk(
            **betting_arrays(betting, pieces, amounts, player),
            card=np.array([board[-1] for board in boards.cards]),
            next_boards=boards.next_boards,
            chance=boards.chance,
            isomorphic_boards=boards.isomorphic_boards,
            permutation_index=boards.permutation_index,
            hand_permutations=np.array(renamed, np.int64).reshape(len(renamed), own.size),
            **hand_arrays((own, other), (both[0], both[1])),
        )

    return walk(0), walk(1)


def betting_arrays(
    betting: BettingTree, pieces: PieceLayout, amounts: Floats, player: int
) -> dict[str, Any]:
    """What a walk knows of the betting; `amounts` are its `payoff`."""
    nodes, starts = betting.nodes, betting.block_starts
    leaf: list[int] = []
    ends = []
    for first, last in pairwise(starts):
        here = [len(leaf)]
        for kind in (SHOWDOWN, FOLD, DEAL):
            leaf += [n for n in range(first, last) if nodes[n].kind == kind]
            here.append(len(leaf))
        ends.append(here)
    return {
        "player": player,
        "kind": np.array([node.kind for node in nodes]),
        "first": np.array([node.first_child for node in nodes]),
        "count": np.array([len(node.actions) for node in nodes]),
        "start": pieces.start,
        "stride": pieces.stride,
        "piece_index": pieces.piece_index,
        "payoff": amounts,
        "next_block": np.array([node.next_block for node in nodes]),
        "own_row": _reach_rows(betting, player),
        "opponent_row": _reach_rows(betting, 1 - player),
        "block": np.array(starts),
        "leaf": np.array(leaf, np.int64),
        "leaf_range": np.array(ends),
    }


def hand_arrays(
    hands: tuple[RangeHands, RangeHands],
    orders: tuple[tuple[Ints, Ints, Ints], tuple[Ints, Ints, Ints]],
) -> dict[str, Any]:
    """What a walk knows of the hands, the walker's first: who they are, and their order."""
    own, other = hands
    return {
        "sizes": np.array([own.size, other.size]),
        "cards": own.cards.astype(np.uint8),
        "opponent_cards": other.cards.astype(np.uint8),
        "same_hand": own.indices_in(other),
        "live_offset": orders[0][0],
        "order": orders[0][1],
        "strength": orders[0][2],
        "opponent_live_offset": orders[1][0],
        "opponent_order": orders[1][1],
        "opponent_strength": orders[1][2],
        "holder_offset": own.holders[0],
        "holders": own.holders[1],
        "opponent_holder_offset": other.holders[0],
        "opponent_holders": other.holders[1],
    }


def _reach_rows(betting: BettingTree, player: int) -> Ints:
    """[N] the row of a node's block where the player's reach changed last."""
    rows = np.zeros(len(betting.nodes), np.int64)
    for number, node in enumerate(betting.nodes):
        if node.parent >= 0:
            base, parent = betting.block_starts[node.block], node.parent
            acted = betting.nodes[parent].kind == player
            rows[number] = number - base if acted else rows[parent]
    return rows


def new_street_rows(walk: HoldemWalk, num_nodes: int, dtype: Any) -> StreetRows:
    """Room for blocks of that many nodes."""
    own, other = walk.sizes.tolist()
    return StreetRows(
        own_reach=np.zeros((num_nodes, own), dtype),
        opponent_reach=np.zeros((num_nodes, other), dtype),
        policy=np.zeros((num_nodes, max(own, other)), dtype),
        value=np.zeros((num_nodes, own), dtype),
    )


def new_street_scratch(walk: HoldemWalk, dtype: Any) -> StreetScratch:
    """Scratch for one thread."""
    own, other = walk.sizes.tolist()
    most = int(np.diff(walk.block)[1:].max(initial=0))
    piece = int(walk.count.max()) * max(own, other)
    return StreetScratch(
        upper=new_street_rows(walk, most, dtype),
        lower=new_street_rows(walk, most, dtype),
        piece=np.zeros(piece, dtype),
        hand_total=np.zeros((2, max(own, other)), dtype),
        leaf_reach=np.zeros((other + 1, NUM_LANES), dtype),
        leaf_values=np.zeros((own, NUM_LANES), dtype),
        card_sums=np.zeros((53, NUM_LANES), dtype),
        leaf_payoff=np.zeros((4, NUM_LANES), dtype),
    )
