"""Pot-limit Omaha on the river: ranges of four-card hands, and an arena that solves them.

A showdown compares all pairs of hands: two matrices over the hands of both ranges say which pairs
share no card and who wins, and the values of all leaves are products with them. Betting follows the
rules of spots; no bet is above the pot.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import combinations, pairwise
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.holdem.array_layout import leaf_payoffs
from counterplay.arenas.holdem.betting import FOLD, BettingTree, build_betting_tree
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.preflop.deck import FULL_DECK
from counterplay.arenas.sequence_base import SequenceArenaBase
from counterplay.arenas.tree.size_estimate import available_memory, format_gib
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.core.cards import NUM_CARDS, RANKS, cards_name, parse_cards
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import omaha
from counterplay.kernels.holdem.hand_strength import CARD_BIT

POT_SIZES = BetSizes(bet="100%", raises="100%")
PATTERN = re.compile(r"([AKQJT2-9xX]{4})(ds|ss|r)?")
SUIT_COUNTS = {"ds": [0, 0, 2, 2], "ss": [0, 1, 1, 2], "r": [1, 1, 1, 1]}
DTYPES: dict[str, Any] = {"float32": np.float32, "float64": np.float64}


@cache
def omaha_hands() -> Ints:
    """Return all 270,725 hands [N, 4], the lowest card of each first."""
    return np.array(list(combinations(range(NUM_CARDS), 4)))


def parse_omaha_range(text: str) -> Floats:
    """Return the weights [270,725] of all hands.

    Entries are hands such as AsKsQhJh, or ranks such as AAKK or JT98, where x is any card: AAxx. An
    ending tells the suits: ds two suits of two cards each, ss one pair of a suit, r four suits.
    Weights are `:0.5` or `:50%`; `random` is every hand. The first entry that holds a hand counts.

    Raises:
        ConfigError: an entry cannot be read.

    Example:
        >>> [int(parse_omaha_range(text).sum()) for text in ("AAxx", "AAKKds", "AsAhKsKh:0.5,AAKK")]
        [6961, 6, 35]
    """
    weights = np.zeros(len(omaha_hands()))
    is_set = np.zeros(weights.size, np.bool_)
    for entry in (word for word in text.replace(",", " ").split()):
        name, _, number = entry.partition(":")
        members = _entry_members(name, entry) & ~is_set
        weights[members] = _entry_weight(number, entry) if number else 1.0
        is_set |= members
    return weights


def _entry_members(name: str, entry: str) -> Ints:
    """Return which hands [270,725] an entry without its weight means."""
    hands = omaha_hands()
    if name == "random":
        return np.ones(len(hands), np.bool_)
    match = PATTERN.fullmatch(name)
    if not match:
        cards = sorted(parse_cards(name, f"range entry {entry!r}"))
        if len(cards) != 4:
            raise ConfigError(f"range entry {entry!r} has {len(cards)} cards, must have 4")
        return (hands == cards).all(axis=1)
    members = np.ones(len(hands), np.bool_)
    for rank in set(match[1].upper()) - {"X"}:
        held = (hands // 4 == RANKS.index(rank)).sum(axis=1)
        members &= held >= match[1].upper().count(rank)
    if match[2]:
        suits = np.sort([(hands % 4 == suit).sum(axis=1) for suit in range(4)], axis=0)
        members &= (suits == np.array(SUIT_COUNTS[match[2]])[:, None]).all(axis=0)
    return members


def _entry_weight(number: str, entry: str) -> float:
    try:
        value = float(number.removesuffix("%")) / (100.0 if number.endswith("%") else 1.0)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= 1.0:
        raise ConfigError(f"range entry {entry!r}: the weight must be from 0 to 1, or in percent")
    return value


@dataclass(frozen=True)
class OmahaSpot:
    """Board, ranges, pot and stacks on the river. Player 0 is out of position and acts first.

    Bet sizes are those of `Spot`, at most the pot. Values count from the start of the spot: the
    share of the final pot less the chips put in.

    Example:
        >>> spot = OmahaSpot("2s7d9cJhKs", ("AAxx,QTxx", "KKxx,JT98"), pot=100, stacks=(300, 300))
        >>> spot.betting.nodes[0].actions
        ('check', 'bet 100')
    """

    board: str
    ranges: tuple[str, str]  # out of position, in position
    pot: int
    stacks: tuple[int, int]
    sizes: tuple[BetSizes, BetSizes] = (POT_SIZES, POT_SIZES)  # by player
    rake: float = 0.0
    rake_cap: float = math.inf
    raise_cap: int = 0  # bets and raises; 0 for no limit
    min_bet: int = 1

    def __post_init__(self) -> None:
        if len(self.hold_em.cards) != 5:
            raise ConfigError(f"board {self.board!r} must have 5 cards: Omaha is solved on rivers")
        for player, text in enumerate(self.ranges):
            if not self._live(text).any():
                raise ConfigError(f"player {player}'s range {text!r} has no hand on {self.board}")
        for node in self.betting.nodes:
            bet, other = max(node.state.contributions), min(node.state.contributions)
            before = self.betting.nodes[node.parent].state.contributions if node.parent >= 0 else ()
            if before and node.kind < FOLD and bet > other:
                called = max(before)  # the bet that was raised
                if bet - called > self.pot + 2 * called:
                    raise ConfigError(
                        f"{node.action} is above the pot of {self.pot + 2 * called}: give sizes "
                        "of at most 100%"
                    )

    @cached_property
    def hold_em(self) -> Spot:
        """The spot of hold'em with the same board and betting."""
        none = (BetSizes(), BetSizes())
        return Spot(
            self.board,
            ("random", "random"),
            self.pot,
            self.stacks,
            (none, none, self.sizes),
            rake=self.rake,
            rake_cap=self.rake_cap,
            raise_cap=self.raise_cap,
            min_bet=self.min_bet,
        )

    @cached_property
    def betting(self) -> BettingTree:
        return build_betting_tree(self.hold_em)

    @property
    def spec(self) -> str:
        """A short description."""
        return f"omaha({self.board},pot={self.pot},stacks={self.hold_em.stack})"

    def _live(self, text: str) -> Floats:
        weights = parse_omaha_range(text)
        weights[np.isin(omaha_hands(), self.hold_em.cards).any(axis=1)] = 0.0
        return weights

    def live_hands(self, player: int) -> tuple[Ints, Floats]:
        """Return a player's hands [n, 4] that the board leaves, and their weights [n]."""
        weights = self._live(self.ranges[player])
        live = weights > 0.0
        return omaha_hands()[live], weights[live]


class OmahaArena(SequenceArenaBase):
    """A spot of Omaha for algorithms on sequences; infosets are (node, hand).

    Example:
        >>> spot = OmahaSpot("2s7d9cJhKs", ("KhKdQhTh:0.5,KcKdAhAc", "JsJdTsTd"), 100, (90, 90))
        >>> arena = OmahaArena(spot)
        >>> arena.num_infosets, arena.infoset_key(0)
        (6, 'KhKdQhTh:')
    """

    capabilities: ClassVar[tuple[str, ...]] = ("sequences",)
    max_threads: ClassVar[int] = 1  # of the sweeps; products of matrices have their own

    def __init__(self, spot: OmahaSpot, precision: str = "float32"):
        """Compare all pairs of hands.

        Raises:
            ConfigError: the precision is unknown, no two hands can be dealt, or the matrices do
                not fit into memory.
        """
        if precision not in DTYPES:
            raise ConfigError(f"precision is {precision!r}, must be {' or '.join(DTYPES)}")
        self.spot, self.spec, self.dtype = spot, spot.spec, DTYPES[precision]
        self.hands, self.weights = zip(*(spot.live_hands(p) for p in (0, 1)), strict=True)
        self._compare()
        self._list_nodes()

    def _compare(self) -> None:
        """Fill the matrices over pairs of hands."""
        shape = tuple(len(hands) for hands in self.hands)
        needed = 2 * math.prod(shape) * np.dtype(self.dtype).itemsize
        if needed > available_memory():
            raise ConfigError(
                f"{shape[0]:,} x {shape[1]:,} hands need {format_gib(needed)}, where "
                f"{format_gib(available_memory())} are free: take narrower ranges"
            )
        board = np.array(self.spot.hold_em.cards)
        strengths = [np.empty(n, np.int64) for n in shape]
        bits = [np.bitwise_or.reduce(CARD_BIT[hands], axis=1) for hands in self.hands]
        for hands, strength in zip(self.hands, strengths, strict=True):
            omaha.omaha_strengths(board, hands, *FULL_DECK.strength_rules, strength)
        self.disjoint = np.empty(shape, self.dtype)
        self.result = np.empty(shape, self.dtype)  # 1 if player 0 wins
        omaha.compare_hands(*bits, *strengths, self.disjoint, self.result)
        first, second = (weights.astype(self.dtype) for weights in self.weights)
        self.num_deals = float(first @ (self.disjoint @ second))  # weighted
        if not self.num_deals > 0.0:
            raise ConfigError("the ranges block each other: no two of their hands can be dealt")

    def _list_nodes(self) -> None:
        """Number infosets and sequences by player, earlier decisions, node and hand."""
        nodes = self.spot.betting.nodes
        last = [self._last_edges(n) for n in range(len(nodes))]
        decisions = [n for n, node in enumerate(nodes) if node.kind < FOLD]
        depth: dict[int, int] = {}
        for n in decisions:
            before = last[n][nodes[n].kind]
            depth[n] = 0 if before is None else depth[before[0]] + 1
        keys = {n: (nodes[n].kind, depth[n]) for n in decisions}
        self.node_order = sorted(decisions, key=lambda n: (keys[n], n))
        sizes = [len(self.hands[nodes[n].kind]) for n in self.node_order]
        widths = [len(nodes[n].actions) for n in self.node_order]
        infosets = np.append(0, np.cumsum(sizes))
        sequences = np.append(0, np.cumsum(np.multiply(sizes, widths)))
        self.node_infoset = dict(zip(self.node_order, infosets.tolist(), strict=False))
        self.node_sequence = dict(zip(self.node_order, sequences.tolist(), strict=False))
        offset = np.append(0, np.cumsum(np.repeat(widths, sizes)))
        parent = np.full(infosets[-1], sequences[-1])
        for n, size in zip(self.node_order, sizes, strict=True):
            before = last[n][nodes[n].kind]
            if before is not None:
                first = self.node_infoset[n]
                parent[first : first + size] = self._edge_sequences(before)
        bounds = np.array([0, infosets[sum(nodes[n].kind == 0 for n in decisions)], infosets[-1]])
        self.form = SequenceTrees(offset.astype(np.uint32), parent.astype(np.uint32), bounds)
        self._level_bounds = [
            [
                self.node_infoset[n]
                for i, n in enumerate(self.node_order)
                if keys[n][0] == p and (i == 0 or keys[self.node_order[i - 1]] != keys[n])
            ]
            + [int(bounds[p + 1])]
            for p in (0, 1)
        ]
        self.leaves = [(n, last[n]) for n, node in enumerate(nodes) if node.kind >= FOLD]

    def _last_edges(self, number: int) -> list[tuple[int, int] | None]:
        """Return each player's last decision before a node, with its action."""
        nodes = self.spot.betting.nodes
        result: list[tuple[int, int] | None] = [None, None]
        while nodes[number].parent >= 0:
            before = nodes[number].parent
            player = nodes[before].kind
            if result[player] is None:
                result[player] = (before, number - nodes[before].first_child)
            number = before
        return result

    def _edge_sequences(self, edge: tuple[int, int]) -> Ints:
        """Return the sequences [n] of an action at a node, by hand."""
        node, action = edge
        kind, width = self.spot.betting.nodes[node].kind, len(self.spot.betting.nodes[node].actions)
        return self.node_sequence[node] + action + width * np.arange(len(self.hands[kind]))

    @property
    def utility_scale(self) -> float:
        """The pot and a stack: the most that can be won."""
        return float(self.spot.pot + self.spot.hold_em.stack)

    @cached_property
    def value_tolerance(self) -> Floats:
        """Tolerance [S] of ties, relative to the largest utility."""
        tolerance = np.float64(16.0 * float(np.finfo(self.dtype).eps) * self.utility_scale)
        return np.broadcast_to(tolerance, self.num_sequences)

    def levels(self, player: int, max_parts: int) -> list[list[tuple[int, int]]]:
        """Return ranges of the player's infosets by level; `max_parts` is not used."""
        return [[(first, last)] for first, last in pairwise(self._level_bounds[player])]

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        own, other = self.weights[player], self.weights[1 - player]
        disjoint, sign = (self.disjoint, 1.0) if player == 0 else (self.disjoint.T, -1.0)
        result = self.result if player == 0 else self.result.T
        sizes = self.form.offset[self.form.player_infoset[player : player + 2]]
        cf_value[int(sizes[0]) : int(sizes[1])] = 0.0
        cf_value[-1] = 0.0
        columns = np.empty((other.size, len(self.leaves)), self.dtype)
        for z, (_, last) in enumerate(self.leaves):
            edge = last[1 - player]
            columns[:, z] = other if edge is None else other * reach[self._edge_sequences(edge)]
        met, won = disjoint @ columns, result @ columns  # showdowns and folds at once
        for z, (n, last) in enumerate(self.leaves):
            node = self.spot.betting.nodes[n]
            win, tie, _ = leaf_payoffs(self.spot.hold_em, node, player)
            values = tie * met[:, z] + sign * (win - tie) * won[:, z]
            values = values * own / self.num_deals
            edge = last[player]
            if edge is None:
                cf_value[-1] += values.sum()
            else:
                cf_value[self._edge_sequences(edge)] += values

    def node_of_infoset(self, infoset: int) -> tuple[int, int]:
        """Return the betting node and the number of the hand of an infoset."""
        starts = list(self.node_infoset.values())
        position = int(np.searchsorted(starts, infoset, side="right")) - 1
        return self.node_order[position], int(infoset) - starts[position]

    def history(self, node: int) -> str:
        """Return the actions before a betting node, such as "check,bet 100"."""
        return ",".join(self.spot.betting.actions_by_street(node)[0])

    def hand_name(self, player: int, hand: int) -> str:
        """Return a hand such as AhAcKdKc."""
        return cards_name(reversed(self.hands[player][hand].tolist()))

    def infoset_key(self, infoset: int) -> str:
        node, hand = self.node_of_infoset(infoset)
        kind = self.spot.betting.nodes[node].kind
        return f"{self.hand_name(kind, hand)}:{self.history(node)}"

    def action_names(self, infoset: int) -> tuple[str, ...]:
        return self.spot.betting.nodes[self.node_of_infoset(infoset)[0]].actions

    def find_node(self, history: str) -> int:
        """Return the decision after a history such as "check,bet 100".

        Raises:
            ConfigError: no player decides there.
        """
        for node in self.node_order:
            if self.history(node) == history:
                return node
        known = "; ".join(repr(self.history(node)) for node in self.node_order[:6])
        raise ConfigError(f"no decision follows {history!r} (such as {known})")

    def frequencies(self, policy: Policy, history: str = "") -> dict[str, float]:
        """Return how often the acting range takes each action after a history.

        Hands count by their weight and own reach, not by those of the opponent.
        """
        node = self.find_node(history)
        kind, actions = self.spot.betting.nodes[node].kind, self.spot.betting.nodes[node].actions
        weight, edge = self.weights[kind].copy(), self._last_edges(node)[kind]
        while edge is not None:
            weight *= policy.probabilities[self._edge_sequences(edge)]
            edge = self._last_edges(edge[0])[kind]
        total = max(float(weight.sum()), 1e-300)
        return {
            name: float(weight @ policy.probabilities[self._edge_sequences((node, action))]) / total
            for action, name in enumerate(actions)
        }
