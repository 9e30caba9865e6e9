"""What walks of a public tree read and write, as tuples of arrays: see `streets` and `dealing`."""

from __future__ import annotations

from typing import Any, NamedTuple


class HoldemWalk(NamedTuple):
    """What a walk of one player needs to know; nothing here changes.

    N betting nodes, B blocks, G boards of all streets, the first street's first.
    """

    player: int
    sizes: Any  # [2] hands of this player and of the opponent
    kind: Any  # [N] player, FOLD, SHOWDOWN or DEAL
    first: Any  # [N] first child
    count: Any  # [N] children
    start: Any  # [N] where board 0 would have its piece of the tables
    stride: Any  # [N] from one board's piece to the next one's
    piece_index: Any  # [N] the same among pieces
    payoff: Any  # [N, 4] win - tie, tie - lose, lose, tie
    next_block: Any  # [N] after a deal
    own_row: Any  # [N] where in its block the own reach changed last
    opponent_row: Any  # [N]
    block: Any  # [B + 1] first node
    leaf: Any  # showdowns, folds and deals of each block
    leaf_range: Any  # [B, 4] first showdown, fold, deal in `leaf`, and where they end
    card: Any  # [G] dealt last
    next_boards: Any  # [G + 1] first board after it
    chance: Any  # [G] probability of each card dealt next
    isomorphic_boards: Any  # [G + 1] first of the boards left out because they are like this one
    permutation_index: Any  # which renaming of hands makes each of them this one
    hand_permutations: Any  # [., hands] hand by hand
    cards: Any  # [hands, 2] of this player
    opponent_cards: Any
    same_hand: Any  # [hands] the opponent's index of the same hand, or one past its last
    live_offset: Any  # [G + 1] first of each board's hands in `order`
    order: Any  # the player's hands that the board allows, by rising strength
    strength: Any  # 0, 1, ... shared by both players; boards without showdown have zeros
    opponent_live_offset: Any
    opponent_order: Any
    opponent_strength: Any
    holder_offset: Any  # [53] first of each card's hands in `holders`
    holders: Any
    opponent_holder_offset: Any
    opponent_holders: Any


class HoldemTables(NamedTuple):
    """What is learned, and how. Pieces of 16 bits have a scale each; the others need none."""

    policy_weights: Any  # the policy is proportional to what is positive here
    fallback_weights: Any  # and where nothing is, to this; uniform if that has nothing either
    regret: Any
    regret_scale: Any
    policy_weights_scale: Any  # of predictions, which are kept apart from regrets
    policy_sum: Any  # [K, S]
    policy_sum_scale: Any  # [K, places]
    lock_offset: Any  # [places] where in `lock` a piece begins, or -1; empty without locks
    lock_weights: Any
    discounts: Any  # positive, negative, prediction
    sum_decay: Any  # [K] of the sums so far
    sum_weight: Any  # [K] whether the policy is added


class StreetRows(NamedTuple):
    """Room for one block: a row per node."""

    own_reach: Any  # [rows, hands] reach
    opponent_reach: Any  # [rows, opponent's hands] cf_reach
    policy: Any  # [rows, either's hands] of the action that leads to the node
    value: Any  # [rows, hands]


class StreetScratch(NamedTuple):
    """Scratch of one thread."""

    upper: StreetRows
    lower: StreetRows
    piece: Any  # a piece
    hand_total: Any  # [2, hands]
    leaf_reach: Any  # [opponent's hands + 1, 8] of eight leaves; the last row is zero
    leaf_values: Any  # [hands, 8] their values
    card_sums: Any  # [53, 8] reach by card, and all of it
    leaf_payoff: Any  # [4, 8]
