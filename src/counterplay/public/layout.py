"""Where everything stands: betting, boards and hands of a spot as the arrays that kernels walk."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.kernels.lanes import LANES
from counterplay.kernels.ranges import Room, Rows, Walk
from counterplay.public.betting import DEAL, FOLD, SHOWDOWN, Betting, Node
from counterplay.public.boards import Boards, Hands, orders_of
from counterplay.public.spot import Spot


class Pieces(NamedTuple):
    """Where the tables keep what belongs to a node and a board.

    Pieces of one block and board stand together, and then come those of the next board: that is the
    order in which they are walked.
    """

    start: Ints  # [N] where board 0 would have its piece
    stride: Ints  # [N] from one board's piece to the next one's
    place: Ints  # [N] the number that board 0's piece would have
    num_sequences: int
    num_pieces: int


def pieces_of(betting: Betting, boards: Boards, hands: tuple[Hands, Hands], street: int) -> Pieces:
    """The layout of the tables."""
    start, stride, place = np.zeros((3, len(betting.nodes)), np.int64)
    sequences = pieces = 0
    for first, last in pairwise(betting.starts):
        level = betting.nodes[first].street.number - street
        board, num_boards = int(boards.level[level]), boards.counts[level]
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
    return Pieces(start, stride, place, sequences, pieces)


def payoffs(spot: Spot, node: Node, player: int) -> tuple[float, float, float]:
    """What a player takes out of the spot at its end if it wins, ties or loses."""
    matched = node.street.before + min(node.street.paid)
    pot = spot.pot + 2 * matched
    pot_left = pot - min(pot * spot.rake, spot.rake_cap)
    if node.kind == FOLD:
        got = -matched if node.folder == player else pot_left - matched
        return (got,) * 3
    return pot_left - matched, pot_left / 2.0 - matched, -matched


def walks_of(
    spot: Spot, betting: Betting, boards: Boards, hands: tuple[Hands, Hands]
) -> tuple[Walk, Walk]:
    """What a walk of each player needs."""
    pieces = pieces_of(betting, boards, hands, spot.street)
    orders = orders_of(boards, hands)

    def walk(player: int) -> Walk:
        own, other = hands[player], hands[1 - player]
        amounts = np.zeros((len(betting.nodes), 4))
        for number, node in enumerate(betting.nodes):
            if node.kind in (FOLD, SHOWDOWN):
                win, tie, lose = payoffs(spot, node, player)
                amounts[number] = win - tie, tie - lose, lose, tie
        renamed = [own.renamed(suits) for suits in boards.renamings]
        both = [(o.live, o.hand, o.rank) for o in (orders[player], orders[1 - player])]
        return Walk(
            **betting_arrays(betting, pieces, amounts, player),
            card=np.array([board[-1] for board in boards.cards]),
            dealt=boards.dealt,
            chance=boards.chance,
            twin=boards.twin,
            renaming=boards.renaming,
            renamed=np.array(renamed, np.int64).reshape(len(renamed), own.size),
            **hand_arrays((own, other), (both[0], both[1])),
        )

    return walk(0), walk(1)


def betting_arrays(
    betting: Betting, pieces: Pieces, amounts: Floats, player: int
) -> dict[str, Any]:
    """What a walk knows of the betting; `amounts` are its `payoff`."""
    nodes, starts = betting.nodes, betting.starts
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
        "first": np.array([node.first for node in nodes]),
        "count": np.array([len(node.actions) for node in nodes]),
        "start": pieces.start,
        "stride": pieces.stride,
        "place": pieces.place,
        "payoff": amounts,
        "next_block": np.array([node.next_block for node in nodes]),
        "own_row": _rows(betting, player),
        "opponent_row": _rows(betting, 1 - player),
        "block": np.array(starts),
        "leaf": np.array(leaf, np.int64),
        "ends": np.array(ends),
    }


def hand_arrays(
    hands: tuple[Hands, Hands], orders: tuple[tuple[Ints, Ints, Ints], tuple[Ints, Ints, Ints]]
) -> dict[str, Any]:
    """What a walk knows of the hands, the walker's first: who they are, and their order."""
    own, other = hands
    return {
        "sizes": np.array([own.size, other.size]),
        "cards": own.cards.astype(np.uint8),
        "opponent_cards": other.cards.astype(np.uint8),
        "same": own.same(other),
        "live": orders[0][0],
        "order": orders[0][1],
        "strength": orders[0][2],
        "opponent_live": orders[1][0],
        "opponent_order": orders[1][1],
        "opponent_strength": orders[1][2],
        "holding": own.holders[0],
        "holders": own.holders[1],
        "opponent_holding": other.holders[0],
        "opponent_holders": other.holders[1],
    }


def _rows(betting: Betting, player: int) -> Ints:
    """[N] the row of a node's block where the player's reach changed last."""
    rows = np.zeros(len(betting.nodes), np.int64)
    for number, node in enumerate(betting.nodes):
        if node.parent >= 0:
            base, parent = betting.starts[node.block], node.parent
            acted = betting.nodes[parent].kind == player
            rows[number] = number - base if acted else rows[parent]
    return rows


def new_rows(walk: Walk, count: int, kind: Any) -> Rows:
    """Room for blocks of that many nodes."""
    own, other = walk.sizes.tolist()
    return Rows(
        own=np.zeros((count, own), kind),
        opponent=np.zeros((count, other), kind),
        policy=np.zeros((count, max(own, other)), kind),
        value=np.zeros((count, own), kind),
    )


def new_room(walk: Walk, kind: Any) -> Room:
    """Scratch for one thread."""
    own, other = walk.sizes.tolist()
    most = int(np.diff(walk.block)[1:].max(initial=0))
    piece = int(walk.count.max()) * max(own, other)
    return Room(
        upper=new_rows(walk, most, kind),
        lower=new_rows(walk, most, kind),
        fresh=np.zeros(piece, kind),
        total=np.zeros((2, max(own, other)), kind),
        reach=np.zeros((other + 1, LANES), kind),
        found=np.zeros((own, LANES), kind),
        sums=np.zeros((53, LANES), kind),
        amount=np.zeros((4, LANES), kind),
    )
