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

from counterplay.errors import ConfigError
from counterplay.public.spot import STREETS, Size, Spot, parse_sizes

FOLD, SHOWDOWN, DEAL = 2, 3, 4  # kinds of nodes beside the players 0 and 1
MAX_NODES = 100_000
MERGE_TOLERANCE = 1e-12  # relative; sizes at the threshold itself are merged
MAX_ROUNDED = 2.0**53  # chips; far beyond any stack


class Street(NamedTuple):
    """Where the betting of a street stands."""

    number: int  # 0 flop, 1 turn, 2 river
    before: int  # chips each has put in on earlier streets
    paid: tuple[int, int] = (0, 0)  # on this one
    player: int = 0
    bets: int = 0  # bets and raises on this street
    opened: bool = False  # somebody has checked
    donk: bool = False  # a bet of player 0 would go into the last bettor


@dataclass
class Node:
    """A decision, or an end of the street."""

    kind: int  # the player to act, FOLD, SHOWDOWN or DEAL
    street: Street
    block: int
    parent: int = -1
    action: str = ""  # what led here
    first: int = 0  # child
    actions: tuple[str, ...] = ()
    folder: int = -1
    next_block: int = -1


@dataclass
class Betting:
    """All nodes; those of block b are `starts[b]` to `starts[b + 1]`."""

    nodes: list[Node] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  # [B] the deal that leads to a block, or -1

    def streets(self, node: int) -> list[list[str]]:
        """The actions from the root to a node, one list per street."""
        found: list[list[str]] = [[]]
        while node >= 0:
            here = self.nodes[node]
            if here.parent >= 0:
                found[0].insert(0, here.action)
                node = here.parent
            else:
                node = self.parents[here.block]
                if node >= 0:
                    found.insert(0, [])
        return found


def betting_of(spot: Spot, max_nodes: int = MAX_NODES) -> Betting:
    """The betting tree of a spot; one of more than `max_nodes` nodes is refused at once."""
    betting = Betting()
    waiting: deque[tuple[Street, int]] = deque([(Street(spot.street, 0), -1)])
    while waiting:
        street, parent = waiting.popleft()
        block = len(betting.starts)
        betting.starts.append(len(betting.nodes))
        betting.parents.append(parent)
        if parent >= 0:
            betting.nodes[parent].next_block = block
        for number in _grow_block(spot, betting, street, block, max_nodes):
            node = betting.nodes[number]
            waiting.append((next_street(node.street), number))
    betting.starts.append(len(betting.nodes))
    return betting


def _grow_block(
    spot: Spot, betting: Betting, street: Street, block: int, max_nodes: int
) -> list[int]:
    """Add the nodes of one street; returns its deals."""
    nodes, number, deals = betting.nodes, len(betting.nodes), []
    nodes.append(Node(kind_of(spot, street), street, block))
    while number < len(nodes):
        if len(nodes) > max_nodes:
            raise ConfigError(_too_many_nodes(spot, street.number, max_nodes))
        node = nodes[number]
        if node.kind == DEAL:
            deals.append(number)
        if node.kind < FOLD:
            node.first = len(nodes)
            options = actions_of(spot, node.street)
            node.actions = tuple(name for name, _ in options)
            for name, after in options:
                kind = FOLD if after is None else kind_of(spot, after)
                child = Node(kind, after or node.street, block, number, name)
                child.folder = node.kind if after is None else -1
                nodes.append(child)
        number += 1
    return deals


def _too_many_nodes(spot: Spot, street: int, max_nodes: int) -> str:
    """Explain which street makes the betting tree too large, and what to cut there."""
    sizes = spot.sizes[street]
    counts = [
        f"{len(parse_sizes(one.bet))} bet and {len(parse_sizes(one.raises))} raise sizes"
        for one in sizes
    ]
    each = f"{counts[0]} each" if counts[0] == counts[1] else " against ".join(counts)
    cap = "set raise_cap (2 or 3)" if not spot.raise_cap else f"lower raise_cap ({spot.raise_cap})"
    return (
        f"the betting tree has more than {max_nodes:,} nodes, reached on the {STREETS[street]} "
        f"({each}): offer fewer sizes, {cap}, or raise force_all_in or merge"
    )


def kind_of(spot: Spot, street: Street) -> int:
    """Who acts, or how the street ends: `Node.kind`."""
    settled = street.paid[0] == street.paid[1]
    all_in = street.before + street.paid[0] == spot.stack and settled
    if all_in or street.player < 0:
        return SHOWDOWN if street.number == 2 else DEAL
    return street.player


def next_street(street: Street) -> Street:
    """Where the betting stands once the next card has come."""
    return Street(street.number + 1, street.before + street.paid[0], donk=street.donk)


def actions_of(spot: Spot, street: Street) -> list[tuple[str, Street | None]]:
    """The actions, cheapest first, each with where it leads; None where it folds."""
    player, paid = street.player, street.paid
    mine, theirs = paid[player], paid[1 - player]
    most = spot.stack - street.before  # on this street in all
    if mine == theirs:
        passed = street._replace(player=-1 if street.opened else 1 - player, opened=True)
        found: list[tuple[str, Street | None]] = [("check", passed._replace(donk=False))]
    else:
        called = street._replace(paid=(theirs, theirs), player=-1, donk=player == 0)
        found = [("fold", None), ("call", called)]
        if theirs == most:
            return found
    if not spot.raise_cap or street.bets < spot.raise_cap:
        name = "raise" if theirs else "bet"
        for amount in amounts_of(spot, street, most):
            new = (amount, theirs) if player == 0 else (theirs, amount)
            bet = street._replace(paid=new, player=1 - player, bets=street.bets + 1, opened=True)
            found.append((f"{'all-in' if amount == most else name} {amount}", bet))
    return found


def amounts_of(spot: Spot, street: Street, most: int) -> list[int]:
    """Amounts that may be bet or raised to on this street, in rising order.

    The rules are those of b-inary/postflop-solver: a size becomes chips, is clamped between the
    minimum raise and all-in, becomes all-in where too little would be left behind, and is dropped
    where it is too close to the next larger one. `commit_all_in` and `min_bet` are additions.
    """
    theirs = street.paid[1 - street.player]
    pot = spot.pot + 2 * (street.before + theirs)  # after a call
    least = min(max(2 * theirs - street.paid[street.player], spot.min_bet), most)
    sizes = spot.sizes[street.number][street.player]
    text = sizes.raises if theirs else sizes.bet
    if street.donk and street.player == 0 and not theirs and sizes.donk is not None:
        text = sizes.donk
    amounts = set()
    for size in parse_sizes(text):
        if size.unit == "a":
            amounts.add(most)
        elif size.unit != "c" or not size.raise_cap or street.bets <= size.raise_cap:
            amount = _chips(size, street, pot, most)
            amounts.add(_or_all_in(spot, street, max(least, min(amount, most)), pot, most))
    if most <= theirs + round_chips(pot * spot.add_all_in):
        amounts.add(most)
    return _merged(sorted(amounts), pot, theirs, spot.merge)


def _chips(size: Size, street: Street, pot: int, most: int) -> int:
    """Chips of a size other than all-in, before it is clamped."""
    theirs = street.paid[1 - street.player]
    if size.unit == "x":
        return round_chips(theirs * size.number)
    if size.unit == "c":
        return theirs + int(size.number)
    part = size.number / 100.0
    if size.unit == "e":
        streets = int(size.number) if size.number else 3 - street.number
        raises = max(street.bets - 1, 0)  # the bet that opens the street is not counted
        behind = (most - theirs) / pot
        part = ((2.0 * behind + 1.0) ** (1.0 / max(streets - raises, 1)) - 1.0) / 2.0
        part = min(part, size.max_pot)
    return theirs + round_chips(pot * part)


def _or_all_in(spot: Spot, street: Street, amount: int, pot: int, most: int) -> int:
    """The amount, or all-in where it would leave too little behind."""
    theirs = street.paid[1 - street.player]
    after = pot + 2 * (amount - theirs)
    committed = (street.before + amount) / spot.stack
    forced = most <= amount + round_chips(after * spot.force_all_in)
    return most if forced or committed > spot.commit_all_in else amount


def _merged(amounts: Iterable[int], pot: int, theirs: int, threshold: float) -> list[int]:
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
