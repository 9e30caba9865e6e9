"""Records of arrays that walks of a public tree read and write.

A piece is the part of a table for one node and board: [actions, hands] numbers. See `street_walk`
and `deal_walk`.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class HoldemWalk(NamedTuple):
    """The public tree as one player walks it; read-only.

    N betting nodes, B blocks, G boards of all streets, those of the first street first.
    """

    player: int
    sizes: Any  # [2] numbers of hands of this player and of the opponent
    kind: Any  # [N] player, FOLD, SHOWDOWN or DEAL
    first: Any  # [N] first child
    count: Any  # [N] number of children
    start: Any  # [N] start of the piece of board 0 in the tables
    stride: Any  # [N] distance between the pieces of consecutive boards
    piece_index: Any  # [N] number of the piece of board 0
    payoff: Any  # [N, 3] (win - lose) / 2, tie - (win + lose) / 2, lose
    next_block: Any  # [N] block after a deal
    own_row: Any  # [N] row of the block with the own reach of the node
    opponent_row: Any  # [N] row of the block with the opponent's reach of the node
    block: Any  # [B + 1] first node
    leaf: Any  # nodes of showdowns, folds, run-outs and deals, block by block
    leaf_range: Any  # [B, 5] first showdown, fold, run-out and deal in `leaf`, and the end
    leaf_lane: Any  # [., 2] node and lane of each leaf, as long as `leaf`
    lane_row: Any  # row of `opponent_reach` of each lane, block by block
    lane_range: Any  # [B, 3] first lane with a showdown, first without, and the end
    runout_pot: Any  # [N] pot of run-outs, negative in walks of player 1; `payoff` has the rest
    equity: Any  # [., hands of player 0, hands of player 1] equity of player 0; 0 if incompatible
    equity_row: Any  # [G] index of the board in `equity`, or -1
    card: Any  # [G] card dealt last
    next_boards: Any  # [G + 1] first board that extends this one
    chance: Any  # [G] probability of the card dealt last
    isomorphic_boards: Any  # [G + 1] first of the boards that this one represents
    multiplicity: Any  # [G] number of boards that each board stands for, itself included
    permutation_index: Any  # row of `hand_permutations` for each of these boards
    hand_permutations: Any  # [., hands] the hand on the representing board
    cards: Any  # [hands, 2]
    opponent_cards: Any  # [opponent's hands, 2]
    same_hand: Any  # [hands] the opponent's index of the same hand, or its number of hands
    live_offset: Any  # [G + 1] first hand of each board in `order`
    order: Any  # hands that the board allows, by rising strength
    strength: Any  # of these: 0, 1, ..., common to both players; 0 on boards without showdown
    opponent_live_offset: Any
    opponent_order: Any
    opponent_strength: Any
    holder_offset: Any  # [53] first hand with each card in `holders`
    holders: Any  # hands, by card
    opponent_holder_offset: Any
    opponent_holders: Any


class StreetBoards(NamedTuple):
    """The G boards of a street in a walk from the first card; see `board_walk`."""

    chance: float  # probability of each deal that makes a board of its parent
    next_boards: Any  # [G + 1] first board of the next street that extends each board
    num_merged: Any  # [G] deals on the parent board that this board stands for
    parent_hand: Any  # [G, hands] number of each hand on the parent board
    orbit_row: Any  # [G] row of `orbit`, or -1 if no suit permutation leaves the board unchanged
    orbit: Any  # [., hands] number of the orbit of each hand under these permutations


class HoldemTables(NamedTuple):
    """Learned tables and update factors. Tables of 16 bits have a scale for each piece."""

    policy_weights: Any  # the policy is proportional to their positive part
    fallback_weights: Any  # used if that is zero; uniform if these are zero too
    regret: Any
    regret_scale: Any
    policy_weights_scale: Any  # of predictions, stored apart from regrets
    policy_sum: Any  # [K, S]
    policy_sum_scale: Any  # [K, pieces]
    lock_offset: Any  # [pieces] start of the piece in `lock_weights`, or -1; [0] without locks
    lock_weights: Any
    discounts: Any  # [3] of positive regrets, of negative ones, weight of predictions
    sum_decay: Any  # [K] factor of the sums so far
    sum_weight: Any  # [K] weight of the current policy


class StreetRows(NamedTuple):
    """Working memory for one block, one row per node."""

    own_reach: Any  # [rows, hands]
    opponent_reach: Any  # [rows, opponent's hands] cf_reach
    policy: Any  # [rows, the actor's hands] probability of the action that leads to the node
    value: Any  # [rows, hands]


class StreetScratch(NamedTuple):
    """Working memory of one thread."""

    upper: StreetRows
    lower: StreetRows
    piece: Any  # [actions x hands]
    hand_total: Any  # [2, hands]
    leaf_reach: Any  # [opponent's hands + 1, 16] reach at leaves; the last row is zero
    leaf_mass: Any  # [hands, 16] reach of all compatible hands
    leaf_weaker: Any  # [hands, 16] reach of weaker ones, plus that of not stronger ones
    card_sums: Any  # [52, 16] reach by card
    square: Any  # [32, 16]
    leaf_total: Any  # [1] own reach times value, summed over leaves; used by MODE_JUDGE
