"""The betting tree of a spot, which does not depend on the cards.

The tree is cut into blocks: a block is one street after one betting history. Inside a block parents
come before children and siblings are adjacent. The leaves of a block are folds, showdowns and deals
of the next card; a deal leads to another block.
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
    """State of the betting on a street."""

    street: int  # 0 flop, 1 turn, 2 river
    earlier_contribution: int  # chips that each player has put in on earlier streets
    contributions: tuple[int, int] = (0, 0)  # chips on this street, by player
    player: int = 0  # to act; -1 if the street is over
    num_bets: int = 0  # bets and raises on this street
    is_opened: bool = False  # a player has acted
    is_donk_bet_possible: bool = False  # a bet of player 0 would be a donk bet


@dataclass
class BettingNode:
    """A decision, or a leaf of its block."""

    kind: int  # the player to act, FOLD, SHOWDOWN or DEAL
    state: StreetState
    block: int
    parent: int = -1  # node of the same block; -1 at its root
    action: str = ""  # the action that leads here
    first_child: int = 0
    actions: tuple[str, ...] = ()
    folding_player: int = -1
    next_block: int = -1  # after a deal


@dataclass
class BettingTree:
    """All nodes. Block b has the nodes `block_starts[b]` to `block_starts[b + 1] - 1`."""

    nodes: list[BettingNode] = field(default_factory=list)
    block_starts: list[int] = field(default_factory=list)
    block_parents: list[int] = field(default_factory=list)  # deal before each block, or -1

    def start_block(self, root: BettingNode, parent: int) -> None:
        """Append the first node of a new block that follows the deal `parent` (-1: none)."""
        self.block_starts.append(len(self.nodes))
        self.block_parents.append(parent)
        if parent >= 0:
            self.nodes[parent].next_block = root.block
        self.nodes.append(root)

    def actions_by_street(self, node: int) -> list[list[str]]:
        """Return the actions from the root to a node, one list per street."""
        streets: list[list[str]] = [[]]
        while node >= 0:
            parent = self.nodes[node].parent
            if parent >= 0:
                streets[0].insert(0, self.nodes[node].action)
                node = parent
            else:
                node = self.block_parents[self.nodes[node].block]
                if node >= 0:
                    streets.insert(0, [])
        return streets


def build_betting_tree(spot: Spot, max_nodes: int = MAX_BETTING_NODES) -> BettingTree:
    """Return the betting tree of a spot.

    Raises:
        ConfigError: the tree has more than `max_nodes` nodes.
    """
    betting = BettingTree()
    waiting: deque[tuple[StreetState, int]] = deque([(StreetState(spot.street, 0), -1)])
    while waiting:
        state, parent = waiting.popleft()
        for number in _add_block(spot, betting, state, parent, max_nodes):
            waiting.append((next_street_state(betting.nodes[number].state), number))
    betting.block_starts.append(len(betting.nodes))
    return betting


def _add_block(
    spot: Spot, betting: BettingTree, state: StreetState, parent: int, max_nodes: int
) -> list[int]:
    """Add the block that follows the deal `parent`; return the deals in it."""
    nodes, block, number, deals = betting.nodes, len(betting.block_starts), len(betting.nodes), []
    betting.start_block(BettingNode(node_kind(spot, state), state, block), parent)
    while number < len(nodes):
        if len(nodes) > max_nodes:
            raise ConfigError(_explain_size(spot, state.street, max_nodes))
        node = nodes[number]
        if node.kind == DEAL:
            deals.append(number)
        if node.kind < FOLD:
            node.first_child = len(nodes)
            options = list_actions(spot, node.state)
            node.actions = tuple(name for name, _ in options)
            for name, after in options:
                if after:
                    child = BettingNode(node_kind(spot, after), after, block, number, name)
                else:
                    child = BettingNode(FOLD, node.state, block, number, name)
                    child.folding_player = node.kind
                nodes.append(child)
        number += 1
    return deals


def _explain_size(spot: Spot, street: int, max_nodes: int) -> str:
    """Return which street makes the betting tree too large, and which settings to change."""
    counts = [
        f"{len(parse_bet_sizes(sizes.bet))} bet and "
        f"{len(parse_bet_sizes(sizes.raises))} raise sizes"
        for sizes in spot.sizes[street]
    ]
    each = f"{counts[0]} each" if counts[0] == counts[1] else " against ".join(counts)
    cap = "set raise_cap (2 or 3)" if not spot.raise_cap else f"lower raise_cap ({spot.raise_cap})"
    return (
        f"the betting tree has more than {max_nodes:,} nodes, reached on the {STREETS[street]} "
        f"({each}): offer fewer sizes, {cap}, or raise force_all_in or merge"
    )


def node_kind(spot: Spot, state: StreetState) -> int:
    """Return `BettingNode.kind` of a state without a fold: a player, SHOWDOWN or DEAL."""
    is_called = state.contributions[0] == state.contributions[1]
    all_in = state.earlier_contribution + state.contributions[0] == spot.stack and is_called
    if all_in or state.player < 0:
        return SHOWDOWN if state.street == 2 else DEAL
    return state.player


def next_street_state(state: StreetState) -> StreetState:
    """Return the state after the next card is dealt."""
    return StreetState(
        state.street + 1,
        state.earlier_contribution + state.contributions[0],
        is_donk_bet_possible=state.is_donk_bet_possible,
    )


def list_actions(spot: Spot, state: StreetState) -> list[tuple[str, StreetState | None]]:
    """Return the legal actions, cheapest first, each with the next state (None after a fold)."""
    player = state.player
    own_chips, other_chips = state.contributions[player], state.contributions[1 - player]
    max_amount = spot.stack - state.earlier_contribution  # on this street in all
    actions: list[tuple[str, StreetState | None]] = []
    if own_chips == other_chips:
        actions.append(
            (
                "check",
                state._replace(
                    player=-1 if state.is_opened else 1 - player,
                    is_opened=True,
                    is_donk_bet_possible=False,
                ),
            )
        )
    else:
        called = state._replace(
            contributions=(other_chips, other_chips), player=-1, is_donk_bet_possible=player == 0
        )
        actions += [("fold", None), ("call", called)]
        if other_chips == max_amount:
            return actions
    if not spot.raise_cap or state.num_bets < spot.raise_cap:
        name = "raise" if other_chips else "bet"
        for amount in bet_amounts(spot, state, max_amount):
            chips = (amount, other_chips) if player == 0 else (other_chips, amount)
            bet = state._replace(
                contributions=chips, player=1 - player, num_bets=state.num_bets + 1, is_opened=True
            )
            actions.append((f"{'all-in' if amount == max_amount else name} {amount}", bet))
    return actions


def bet_amounts(spot: Spot, state: StreetState, max_amount: int) -> list[int]:
    """Return the amounts that may be bet or raised to on this street, in rising order.

    The rules are those of b-inary/postflop-solver: a size becomes chips, is clamped between the
    minimum raise and all-in, becomes all-in where too little would be left behind, and is dropped
    where it is too close to the next larger one. `commit_all_in` and `min_bet` are additions.

    Args:
        max_amount: chips of an all-in on this street.
    """
    other_chips = state.contributions[1 - state.player]
    pot = spot.pot + 2 * (state.earlier_contribution + other_chips)  # after a call
    min_raise = 2 * other_chips - state.contributions[state.player]
    min_amount = min(max(min_raise, spot.min_bet), max_amount)
    sizes = spot.sizes[state.street][state.player]
    text = sizes.raises if other_chips else sizes.bet
    is_donk_bet = state.is_donk_bet_possible and state.player == 0 and not other_chips
    if is_donk_bet and sizes.donk is not None:
        text = sizes.donk
    amounts = set()
    for size in parse_bet_sizes(text):
        if size.unit == "a":
            amounts.add(max_amount)
        elif size.unit != "c" or not size.raise_cap or state.num_bets <= size.raise_cap:
            amount = min(_size_in_chips(size, state, pot, max_amount), max_amount)
            amount = max(min_amount, amount)
            amounts.add(_raise_to_all_in(spot, state, amount, pot, max_amount))
    if max_amount <= other_chips + round_chips(pot * spot.add_all_in):
        amounts.add(max_amount)
    return _merge_close_amounts(sorted(amounts), pot, other_chips, spot.merge)


def _size_in_chips(size: BetSize, state: StreetState, pot: int, max_amount: int) -> int:
    """Return the chips of a size other than all-in, before it is clamped."""
    other_chips = state.contributions[1 - state.player]
    if size.unit == "x":
        return round_chips(other_chips * size.number)
    if size.unit == "c":
        return other_chips + int(size.number)
    fraction = size.number / 100.0
    if size.unit == "e":
        streets = int(size.number) if size.number else 3 - state.street
        raises = max(state.num_bets - 1, 0)  # the bet that opens the street is not counted
        behind = (max_amount - other_chips) / pot
        fraction = ((2.0 * behind + 1.0) ** (1.0 / max(streets - raises, 1)) - 1.0) / 2.0
        fraction = min(fraction, size.max_pot)
    return other_chips + round_chips(pot * fraction)


def _raise_to_all_in(spot: Spot, state: StreetState, amount: int, pot: int, max_amount: int) -> int:
    """Return the amount, or `max_amount` if it would leave too little behind."""
    next_pot = pot + 2 * (amount - state.contributions[1 - state.player])
    committed = (state.earlier_contribution + amount) / spot.stack
    is_forced = max_amount <= amount + round_chips(next_pot * spot.force_all_in)
    return max_amount if is_forced or committed > spot.commit_all_in else amount


def _merge_close_amounts(
    amounts: Iterable[int], pot: int, other_chips: int, threshold: float
) -> list[int]:
    """Drop amounts that are too close to the next larger one.

    With X and Y the larger and the smaller bet as fractions of the pot, Y is dropped if
    (1 + X) / (1 + Y) <= 1 + threshold, up to `MERGE_TOLERANCE`.
    """
    merged: list[int] = []
    for amount in reversed(list(amounts)):
        fraction = (amount - other_chips) / pot
        if merged:
            limit = ((merged[-1] - other_chips) / pot - threshold) / (1.0 + threshold)
            if fraction >= limit * (1.0 - MERGE_TOLERANCE):
                continue
        merged.append(amount)
    return merged[::-1]


def round_chips(number: float) -> int:
    """Return the nearest whole number of chips, halves up, at most `MAX_ROUNDED`.

    Example:
        >>> round_chips(2.5), round_chips(2.4)
        (3, 2)
    """
    number = min(number, MAX_ROUNDED)
    whole = math.floor(number)
    return whole + (number - whole >= 0.5)
