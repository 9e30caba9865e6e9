"""What walks of a public tree read and write, as tuples of arrays: see `streets` and `dealing`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Walk(NamedTuple):
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
    place: Any  # [N] the same among pieces
    payoff: Any  # [N, 4] win - tie, tie - lose, lose, tie
    next_block: Any  # [N] after a deal
    own_row: Any  # [N] where in its block the own reach changed last
    opponent_row: Any  # [N]
    block: Any  # [B + 1] first node
    leaf: Any  # showdowns, folds and deals of each block
    ends: Any  # [B, 4] first showdown, fold, deal in `leaf`, and where they end
    card: Any  # [G] dealt last
    dealt: Any  # [G + 1] first board after it
    chance: Any  # [G] probability of each card dealt next
    twin: Any  # [G + 1] first of the boards left out because they are like this one
    renaming: Any  # which renaming of hands makes each of them this one
    renamed: Any  # [., hands] hand by hand
    cards: Any  # [hands, 2] of this player
    opponent_cards: Any
    same: Any  # [hands] the opponent's index of the same hand, or one past its last
    live: Any  # [G + 1] first of each board's hands in `order`
    order: Any  # the player's hands that the board allows, by rising strength
    strength: Any  # 0, 1, ... shared by both players; boards without showdown have zeros
    opponent_live: Any
    opponent_order: Any
    opponent_strength: Any
    holding: Any  # [53] first of each card's hands in `holders`
    holders: Any
    opponent_holding: Any
    opponent_holders: Any


class Tables(NamedTuple):
    """What is learned, and how. Pieces of 16 bits have a scale each; the others need none."""

    shown: Any  # the policy is proportional to what is positive here
    otherwise: Any  # and where nothing is, to this; uniform if that has nothing either
    regret: Any
    regret_scale: Any
    shown_scale: Any  # of predictions, which are kept apart from regrets
    sums: Any  # [K, S]
    sums_scale: Any  # [K, places]
    locked: Any  # [places] where in `lock` a piece begins, or -1; empty without locks
    lock: Any
    rule: Any  # positive, negative, prediction
    fade: Any  # [K] of the sums so far
    add: Any  # [K] whether the policy is added


class Rows(NamedTuple):
    """Room for one block: a row per node."""

    own: Any  # [rows, hands] reach
    opponent: Any  # [rows, opponent's hands] cf_reach
    policy: Any  # [rows, either's hands] of the action that leads to the node
    value: Any  # [rows, hands]


class Room(NamedTuple):
    """Scratch of one thread."""

    upper: Rows
    lower: Rows
    fresh: Any  # a piece
    total: Any  # [2, hands]
    reach: Any  # [opponent's hands + 1, 8] of eight leaves; the last row is zero
    found: Any  # [hands, 8] their values
    sums: Any  # [53, 8] reach by card, and all of it
    amount: Any  # [4, 8]
