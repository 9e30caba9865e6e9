"""The betting of a spot: a small tree that is the same whatever cards come.

It is cut into blocks, one street after one history each. Inside a block parents come before
children and siblings stand together; a block ends in folds, showdowns and deals of the next card,
which lead to another block.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from counterplay.arenas.holdem.spot import STREETS, BetSize, Spot, parse_bet_sizes
from counterplay.errors import ConfigError

FOLD, SHOWDOWN, DEAL = 2, 3, 4  # kinds of nodes beside the players 0 and 1
MAX_BETTING_NODES = 100_000
MERGE_TOLERANCE = 1e-12  # relative; sizes at the threshold itself are merged
MAX_ROUNDED = 2.0**53  # chips; far beyond any stack


class StreetState(NamedTuple):
    """Where the betting of a street stands."""

    street: int  # 0 flop, 1 turn, 2 river
    earlier_contribution: int  # chips each has put in on earlier streets
    contributions: tuple[int, int] = (0, 0)  # on this one
    player: int = 0
    num_bets: int = 0  # bets and raises on this street
    is_opened: bool = False  # somebody has checked
    is_donk_bet_possible: bool = False  # a bet of player 0 would go into the last bettor


@dataclass
class BettingNode:
    """A decision, or an end of the street."""

    kind: int  # the player to act, FOLD, SHOWDOWN or DEAL
    state: StreetState
    block: int
    parent: int = -1
    action: str = ""  # what led here
    first_child: int = 0  # child
    actions: tuple[str, ...] = ()
    folding_player: int = -1
    next_block: int = -1


@dataclass
class BettingTree:
    """All nodes; those of block b are `starts[b]` to `starts[b + 1]`."""

    nodes: list[BettingNode] = field(default_factory=list)
    block_starts: list[int] = field(default_factory=list)
    block_parents: list[int] = field(
        default_factory=list
    )  # [B] the deal that leads to a block, or -1

    def actions_by_street(self, node: int) -> list[list[str]]:
        """The actions from the root to a node, one list per street."""
        found: list[list[str]] = [[]]
        while node >= 0:
            here = self.nodes[node]
            if here.parent >= 0:
                found[0].insert(0, here.action)
                node = here.parent
            else:
                node = self.block_parents[here.block]
                if node >= 0:
                    found.insert(0, [])
        return found


def build_betting_tree(spot: Spot, max_nodes: int = MAX_BETTING_NODES) -> BettingTree:
    """The betting tree of a spot; one of more than `max_nodes` nodes is refused at once."""
    betting = BettingTree()
    waiting: deque[tuple[StreetState, int]] = deque([(StreetState(spot.street, 0), -1)])
    while waiting:
        street, parent = waiting.popleft()
        block = len(betting.block_starts)
        betting.block_starts.append(len(betting.nodes))
        betting.block_parents.append(parent)
        if parent >= 0:
            betting.nodes[parent].next_block = block
        for number in _add_block(spot, betting, street, block, max_nodes):
            node = betting.nodes[number]
            waiting.append((next_street_state(node.state), number))
    betting.block_starts.append(len(betting.nodes))
    return betting


def _add_block(
    spot: Spot, betting: BettingTree, state: StreetState, block: int, max_nodes: int
) -> list[int]:
    """Add the nodes of one street; returns its deals."""
    nodes, number, deals = betting.nodes, len(betting.nodes), []
    nodes.append(BettingNode(node_kind(spot, state), state, block))
    while number < len(nodes):
        if len(nodes) > max_nodes:
            raise ConfigError(_too_many_nodes(spot, state.street, max_nodes))
        node = nodes[number]
        if node.kind == DEAL:
            deals.append(number)
        if node.kind < FOLD:
            node.first_child = len(nodes)
            options = list_actions(spot, node.state)
            node.actions = tuple(name for name, _ in options)
            for name, after in options:
                kind = FOLD if after is None else node_kind(spot, after)
                child = BettingNode(kind, after or node.state, block, number, name)
                child.folding_player = node.kind if after is None else -1
                nodes.append(child)
        number += 1
    return deals


def _too_many_nodes(spot: Spot, street: int, max_nodes: int) -> str:
    """Explain which street makes the betting tree too large, and what to cut there."""
    sizes = spot.sizes[street]
    counts = [
        f"{len(parse_bet_sizes(one.bet))} bet and {len(parse_bet_sizes(one.raises))} raise sizes"
        for one in sizes
    ]
    each = f"{counts[0]} each" if counts[0] == counts[1] else " against ".join(counts)
    cap = "set raise_cap (2 or 3)" if not spot.raise_cap else f"lower raise_cap ({spot.raise_cap})"
    return (
        f"the betting tree has more than {max_nodes:,} nodes, reached on the {STREETS[street]} "
        f"({each}): offer fewer sizes, {cap}, or raise force_all_in or merge"
    )


def node_kind(spot: Spot, state: StreetState) -> int:
    """Who acts, or how the street ends: `Node.kind`."""
    settled = state.contributions[0] == state.contributions[1]
    all_in = state.earlier_contribution + state.contributions[0] == spot.stack and settled
    if all_in or state.player < 0:
        return SHOWDOWN if state.street == 2 else DEAL
    return state.player


def next_street_state(state: StreetState) -> StreetState:
    """Where the betting stands once the next card has come."""
    return StreetState(
        state.street + 1,
        state.earlier_contribution + state.contributions[0],
        is_donk_bet_possible=state.is_donk_bet_possible,
    )


def list_actions(spot: Spot, state: StreetState) -> list[tuple[str, StreetState | None]]:
    """The actions, cheapest first, each with where it leads; None where it folds."""
    player, paid = state.player, state.contributions
    mine, theirs = paid[player], paid[1 - player]
    most = spot.stack - state.earlier_contribution  # on this street in all
    if mine == theirs:
        passed = state._replace(player=-1 if state.is_opened else 1 - player, is_opened=True)
        found: list[tuple[str, StreetState | None]] = [
            ("check", passed._replace(is_donk_bet_possible=False))
        ]
    else:
        called = state._replace(
            contributions=(theirs, theirs), player=-1, is_donk_bet_possible=player == 0
        )
        found = [("fold", None), ("call", called)]
        if theirs == most:
            return found
    if not spot.raise_cap or state.num_bets < spot.raise_cap:
        name = "raise" if theirs else "bet"
        for amount in bet_amounts(spot, state, most):
            new = (amount, theirs) if player == 0 else (theirs, amount)
            bet = state._replace(
                contributions=new, player=1 - player, num_bets=state.num_bets + 1, is_opened=True
            )
            found.append((f"{'all-in' if amount == most else name} {amount}", bet))
    return found


def bet_amounts(spot: Spot, state: StreetState, max_amount: int) -> list[int]:
    """Amounts that may be bet or raised to on this street, in rising order.

    The rules are those of b-inary/postflop-solver: a size becomes chips, is clamped between the
    minimum raise and all-in, becomes all-in where too little would be left behind, and is dropped
    where it is too close to the next larger one. `commit_all_in` and `min_bet` are additions.
    """
    theirs = state.contributions[1 - state.player]
    pot = spot.pot + 2 * (state.earlier_contribution + theirs)  # after a call
    least = min(max(2 * theirs - state.contributions[state.player], spot.min_bet), max_amount)
    sizes = spot.sizes[state.street][state.player]
    text = sizes.raises if theirs else sizes.bet
    if state.is_donk_bet_possible and state.player == 0 and not theirs and sizes.donk is not None:
        text = sizes.donk
    amounts = set()
    for size in parse_bet_sizes(text):
        if size.unit == "a":
            amounts.add(max_amount)
        elif size.unit != "c" or not size.raise_cap or state.num_bets <= size.raise_cap:
            amount = _size_in_chips(size, state, pot, max_amount)
            amounts.add(
                _raise_to_all_in(spot, state, max(least, min(amount, max_amount)), pot, max_amount)
            )
    if max_amount <= theirs + round_chips(pot * spot.add_all_in):
        amounts.add(max_amount)
    return _merge_close_amounts(sorted(amounts), pot, theirs, spot.merge)


def _size_in_chips(size: BetSize, state: StreetState, pot: int, max_amount: int) -> int:
    """Chips of a size other than all-in, before it is clamped."""
    theirs = state.contributions[1 - state.player]
    if size.unit == "x":
        return round_chips(theirs * size.number)
    if size.unit == "c":
        return theirs + int(size.number)
    part = size.number / 100.0
    if size.unit == "e":
        streets = int(size.number) if size.number else 3 - state.street
        raises = max(state.num_bets - 1, 0)  # the bet that opens the street is not counted
        behind = (max_amount - theirs) / pot
        part = ((2.0 * behind + 1.0) ** (1.0 / max(streets - raises, 1)) - 1.0) / 2.0
        part = min(part, size.max_pot)
    return theirs + round_chips(pot * part)


def _raise_to_all_in(spot: Spot, state: StreetState, amount: int, pot: int, max_amount: int) -> int:
    """The amount, or all-in where it would leave too little behind."""
    theirs = state.contributions[1 - state.player]
    after = pot + 2 * (amount - theirs)
    committed = (state.earlier_contribution + amount) / spot.stack
    forced = max_amount <= amount + round_chips(after * spot.force_all_in)
    return max_amount if forced or committed > spot.commit_all_in else amount


def _merge_close_amounts(
    amounts: Iterable[int], pot: int, theirs: int, threshold: float
) -> list[int]:
    """Drop amounts that are too close to the next larger one kept.

    With X and Y the larger and the smaller bet as parts of the pot, Y goes where
    (1 + X) / (1 + Y) <= 1 + threshold, up to `MERGE_TOLERANCE`.
    """
    kept: list[int] = []
    for amount in reversed(list(amounts)):
        part = (amount - theirs) / pot
        if kept:
            limit = ((kept[-1] - theirs) / pot - threshold) / (1.0 + threshold)
            if part >= limit * (1.0 - MERGE_TOLERANCE):
                continue
        kept.append(amount)
    return kept[::-1]


def round_chips(number: float) -> int:
    """The nearest whole number of chips, halves up; at most `MAX_ROUNDED`, also for infinity."""
    number = min(number, MAX_ROUNDED)
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)
