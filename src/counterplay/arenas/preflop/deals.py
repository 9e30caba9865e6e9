"""Deals before the flop: how often classes of hands meet, and who wins at showdown.

`ViewDeals` serves two to nine seats. From the point of view of a seat with a given class, another
seat's class has its exact probability, card removal by the own hand included. That each two others
hold no card in common changes the probability that both get to a leaf by a ratio, which is exact;
ratios of several pairs are multiplied, and do not change who wins. Showdowns of two hands are
exact; those of three are sampled for each three classes, and ties among three are decided by equal
lots. With two seats nothing is left out, and all values are exact; with three, all leaves without a
showdown are. `dealt_gains` measures what is left.

`EnumeratedDeals` has three seats and a small deck, and leaves nothing out: it counts every deal.
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import combinations, combinations_with_replacement, pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.preflop.betting import (
    PAIR_PLACES,
    STRICT_PLACES,
    WEAK_PLACES,
    PreflopLeaf,
    PreflopTree,
    leaf_utilities,
)
from counterplay.arenas.preflop.deck import Deck
from counterplay.arenas.preflop.equity_tables import (
    cache_folder,
    canonical_boards,
    equity_table,
    store_table,
)
from counterplay.core.archive import read_archive
from counterplay.core.arena import Floats, Ints
from counterplay.errors import RunError
from counterplay.kernels.holdem import preflop_tables, preflop_walk
from counterplay.kernels.holdem.hand_strength import CARD_BIT
from counterplay.kernels.holdem.preflop_walk import (
    DealTables,
    LeafTables,
    OrderMemo,
    RemovalTables,
)
from counterplay.kernels.runtime.threads import num_threads, run_in_threads, split_evenly

ORDERS_FORMAT = "counterplay preflop orders 1"
SAMPLES_PER_TRIPLE = 600  # deals of each three classes; 95 % interval of a probability: +- 4 %
MAX_COUNTED_DEALS = 200_000_000  # boards times triples of hands that are enumerated
MIN_LEAVES_FOR_THREADS = 20


class Deals(Protocol):
    """Values of all leaves for one seat, given the reach of all edges."""

    num_classes: int
    note: str  # what is approximated; empty if nothing is

    def leaf_values(self, seat: int, reach: Floats) -> Floats:
        """Return the seat's counterfactual values [Z, C]; `reach` [E + 1, C] has all edges."""
        ...

    def leaf_probabilities(self, seat: int, reach: Floats) -> Floats:
        """Return the same [Z, C] with utilities of 1: the counterfactual reach of leaves."""
        ...


def build_deals(
    tree: PreflopTree, leaf_edges: Ints, realised_factors: Floats | None = None
) -> Deals:
    """Return exact deals where that is possible, else `ViewDeals`.

    Args:
        tree: the betting tree.
        leaf_edges: [Z, P] each seat's last edge before a leaf; E if it has none.
        realised_factors: [Z, P, C] the part of its equity that a class realises at a leaf.
    """
    deck = tree.game.deck.build()
    num_deals = math.comb(deck.num_cards, deck.num_board) * deck.num_hands**3
    if tree.game.num_seats == 3 and num_deals <= MAX_COUNTED_DEALS:
        return EnumeratedDeals(tree, leaf_edges, deck)
    return ViewDeals(tree, leaf_edges, deck, realised_factors)


class ViewDeals:
    """Deals as each seat sees them; exact for two seats. See the module."""

    def __init__(
        self,
        tree: PreflopTree,
        leaf_edges: Ints,
        deck: Deck,
        realised_factors: Floats | None = None,
    ):
        self.deck, self.num_classes = deck, deck.num_classes
        self.realised_factors = realised_factors
        game, leaves = tree.game, tree.leaves
        num_edges = sum(len(node.actions) for node in tree.nodes)
        table = equity_table(deck)
        pairs = table.class_pairs.astype(np.float64)
        meets = np.maximum(pairs.sum(axis=1, keepdims=True), 1.0)
        conditional = pairs / meets
        boards = np.maximum(pairs * table.num_boards, 1.0)
        self.win_weights = np.ascontiguousarray((conditional * table.class_wins / boards).T)
        self.tie_weights = np.ascontiguousarray((conditional * table.class_ties / boards).T)
        self.faced_weights = np.ascontiguousarray(conditional.T)
        has_triples = any(len(leaf.contenders) == 3 for leaf in leaves)
        prior = deck.class_sizes / deck.num_hands
        orders = order_table(deck) if has_triples else np.zeros((1, 1, 1, 6), np.float32)
        self.tables = DealTables(prior, conditional, orders, _order_index())
        self.leaves = _leaf_tables(tree, leaf_edges)
        size = len(leaves) if has_triples else 1
        self.memo = OrderMemo(np.full((size, 3, self.num_classes), -1.0), np.zeros((size, 6)))
        self.removal = PairRemoval(deck, leaf_edges, num_edges) if game.num_seats > 2 else None
        self.note = ""
        if game.num_seats > 2:
            self.note = (
                "card removal among opponents is exact for the reach of each two of them, and "
                "multiplied over pairs; it does not change who wins"
            )
        if realised_factors is not None:
            self.note += (
                f"{'; ' if self.note else ''}pots with chips left are worth the part of its equity "
                "that each class realises on solved flops, with the ranges of the round before"
            )
        if has_triples:
            self.note += (
                f"; showdowns of three hands are sampled, {SAMPLES_PER_TRIPLE} deals for each "
                "three classes, with ties decided by lot"
            )

    def leaf_values(self, seat: int, reach: Floats) -> Floats:
        values = self._compute_values(seat, reach, self.leaves)
        if self.realised_factors is None:
            return values
        # a class wins `factor` times its equity of the pot, on top of what it has if it loses
        factor = self.realised_factors[:, seat]
        lost = self.leaves.utility[:, seat, :3].min(axis=1, keepdims=True)
        reached = self.leaf_probabilities(seat, reach)
        return factor * values + (1.0 - factor) * lost * reached

    def leaf_probabilities(self, seat: int, reach: Floats) -> Floats:
        ones = self.leaves._replace(utility=np.ones_like(self.leaves.utility))
        return self._compute_values(seat, reach, ones)

    def _compute_values(self, seat: int, reach: Floats, leaves: LeafTables) -> Floats:
        faced, won = reach @ self.faced_weights, reach @ self.win_weights
        tied = reach @ self.tie_weights
        count = len(leaves.num_contenders)
        values = np.empty((count, self.num_classes))
        threads = num_threads() if count >= MIN_LEAVES_FOR_THREADS else 1

        def compute(first: int, last: int) -> None:
            preflop_walk.leaf_values(
                first, last, seat, self.tables, leaves, self.memo, reach, faced, won, tied, values
            )

        run_in_threads(compute, split_evenly(0, count, threads))
        if self.removal:
            self.removal.scale(seat, reach, values)
        return values


class PairRemoval:
    """Ratios by which cards that two opponents cannot share change the reach of leaves.

    Args:
        deck: the deck.
        leaf_edges: [Z, P] each seat's last edge before a leaf; `num_edges` if it has none.
        num_edges: number of edges.
    """

    def __init__(self, deck: Deck, leaf_edges: Ints, num_edges: int):
        count, num_seats = leaf_edges.shape
        self.tables = removal_tables(deck)
        self.leaf_pairs = np.full((count, num_seats, num_seats), -1, np.int64)
        self.seats = list(combinations(range(num_seats), 2))
        starts, parts = [0], []
        for p, q in self.seats:
            both = (leaf_edges[:, [p, q]] < num_edges).all(axis=1)  # who did not act has all hands
            rows, inverse = np.unique(leaf_edges[both][:, [p, q]], axis=0, return_inverse=True)
            self.leaf_pairs[both, p, q] = starts[-1] + inverse.reshape(-1)
            starts.append(starts[-1] + len(rows))
            parts.append(rows)
        self.starts = starts  # first pair of every two seats
        self.pairs = np.concatenate(parts).astype(np.int64).reshape(-1, 2)
        self.ratio = np.ones((len(self.pairs), deck.num_classes))
        self.last_reach = np.full((num_edges + 1, deck.num_classes), -1.0)
        self.is_old = np.ones(len(self.pairs), np.bool_)

    def scale(self, seat: int, reach: Floats, values: Floats) -> None:
        """Multiply a seat's values [Z, C] by the ratios of all pairs of other seats.

        Ratios are kept until the reach of one of their edges changes.
        """
        changed = (reach != self.last_reach).any(axis=1)
        self.last_reach[changed] = reach[changed]
        self.is_old |= changed[self.pairs].any(axis=1)
        todo = [
            first + np.flatnonzero(self.is_old[first:last])
            for (p, q), (first, last) in zip(self.seats, pairwise(self.starts), strict=True)
            if seat not in (p, q)
        ]
        old = np.concatenate(todo)
        self.is_old[old] = False
        threads = num_threads() if old.size >= MIN_LEAVES_FOR_THREADS else 1

        def compute(first: int, last: int) -> None:
            preflop_walk.pair_removal(self.pairs, old[first:last], self.tables, reach, self.ratio)

        run_in_threads(compute, split_evenly(0, old.size, threads))
        preflop_walk.scale_by_pairs(0, len(values), seat, self.leaf_pairs, self.ratio, values)


def removal_tables(deck: Deck) -> RemovalTables:
    """Return what `pair_removal` needs of a deck."""
    hand_class = {
        tuple(h): c for h, c in zip(deck.hand_cards.tolist(), deck.hand_class, strict=True)
    }
    lowest, cards = 13 - deck.num_ranks, deck.cards.tolist()
    hands, first = deck.class_hands
    groups: list[dict[tuple[int, int, int], int]] = []
    own_ranks = np.zeros((deck.num_classes, 2), np.int64)
    for a, hand in enumerate(deck.hand_cards[hands[first[:-1]]].tolist()):
        own_ranks[a] = [card // 4 - lowest for card in hand]
        alike: dict[tuple[int, int, int], int] = {}
        for card in cards:
            if card not in hand:
                low, high = (int(hand_class[min(card, own), max(card, own)]) for own in hand)
                key = card // 4 - lowest, low, high
                alike[key] = alike.get(key, 0) + 1
        groups.append(alike)
    shape = deck.num_classes, max(map(len, groups))
    rank, count = np.zeros(shape, np.int64), np.zeros(shape)
    joined = np.zeros((*shape, 2), np.int64)
    for a, alike in enumerate(groups):
        for g, ((r, *classes), number) in enumerate(alike.items()):
            rank[a, g], joined[a, g], count[a, g] = r, classes, number
    holding = np.zeros((deck.num_ranks, deck.num_classes))
    for (low, high), number in hand_class.items():
        for card in (low, high):
            if card % 4 == 0:  # one card of each rank; the others hold as many
                holding[card // 4 - lowest, number] += 1.0
    left = deck.num_cards - 2
    chance = math.comb(left - 2, 2) / math.comb(left, 2)
    sizes = deck.class_sizes.astype(np.float64)
    return RemovalTables(rank, count, joined, own_ranks, holding, sizes, chance)


def _leaf_tables(tree: PreflopTree, leaf_edges: Ints) -> LeafTables:
    game, leaves = tree.game, tree.leaves
    contenders = np.zeros((len(leaves), 3), np.int64)
    utility = np.zeros((len(leaves), game.num_seats, 6))
    for z, leaf in enumerate(leaves):
        contenders[z, : len(leaf.contenders)] = leaf.contenders
        places = {1: ((),), 2: PAIR_PLACES, 3: STRICT_PLACES}[len(leaf.contenders)]
        utility[z, :, : len(places)] = leaf_utilities(game, leaf, places).T
    count = np.array([len(leaf.contenders) for leaf in leaves])
    return LeafTables(leaf_edges, contenders, count, utility)


def _order_index() -> Ints:
    """Return [3, 6] the order of the contenders (in seat order) that the orders of `orders` mean.

    Row k is for the point of view of contender k, which is then listed first, before the others.
    """
    rows = []
    for place in range(3):
        listed = [place, *(other for other in range(3) if other != place)]
        row = []
        for order in STRICT_PLACES:
            places = [0, 0, 0]
            for position, contender in enumerate(listed):
                places[contender] = order[position]
            row.append(STRICT_PLACES.index(tuple(places)))
        rows.append(row)
    return np.array(rows)


Orders = NDArray[np.float32]  # [C, C, C, 6]
_orders: dict[Deck, Orders] = {}  # tables in use by this process


def order_table(deck: Deck) -> Orders:
    """Return the probabilities [C, C, C, 6] of the orders of three hands, sampled and cached.

    The sixths follow `STRICT_PLACES`; those who tie are placed by lot.
    """
    if deck not in _orders:
        triples = np.array(list(combinations_with_replacement(range(deck.num_classes), 3)))
        counts = _read_or_sample_orders(deck, triples)
        table = np.zeros((*(deck.num_classes,) * 3, 6), np.float32)
        preflop_walk.expand_orders(triples, counts, table)
        _orders[deck] = table
    return _orders[deck]


def _read_or_sample_orders(deck: Deck, triples: Ints) -> Ints:
    path = cache_folder() / f"preflop-orders-{SAMPLES_PER_TRIPLE}-{deck.name}.npz"
    if path.exists():
        try:
            counts = read_archive(path, ORDERS_FORMAT)["counts"]
            if counts.shape == (len(triples), 6):
                return np.asarray(counts)
        except (RunError, KeyError, AttributeError):
            pass  # damaged: sampled again and overwritten
    hands, offset = deck.class_hands
    counts = np.zeros((len(triples), 6), np.int32)

    def sample(first: int, last: int) -> None:
        preflop_tables.sample_orders(
            triples[first:last],
            offset,
            deck.hand_bits[hands],
            CARD_BIT[deck.cards],
            deck.num_board,
            SAMPLES_PER_TRIPLE,
            np.uint64(first + 1),
            deck.strength_rules,
            counts[first:last],
        )

    parts = 64  # a fixed number: the samples do not depend on the number of threads
    pieces = split_evenly(0, len(triples), parts)
    workers = split_evenly(0, len(pieces), num_threads())

    def sample_pieces(first: int, last: int) -> None:
        for piece in pieces[first:last]:
            sample(*piece)

    run_in_threads(sample_pieces, workers)
    stored = counts.astype(np.int16)
    store_table(path, ORDERS_FORMAT, {"counts": stored})
    return stored


class EnumeratedDeals:
    """Every deal of three hands and a board from a small deck."""

    note = ""

    def __init__(self, tree: PreflopTree, leaf_edges: Ints, deck: Deck):
        self.deck, self.num_classes, self.leaf_edges = deck, deck.num_classes, leaf_edges
        self.tree = tree
        order_index = np.zeros((3, 3, 3), np.int64)
        for number, places in enumerate(WEAK_PLACES):
            order_index[places] = number
        counts = np.zeros((*(deck.num_classes,) * 3, len(WEAK_PLACES)), np.int64)
        boards, weights = canonical_boards(deck)
        ranks = np.empty(deck.num_hands, np.int16)
        for board, weight in zip(boards, weights.tolist(), strict=True):
            part = np.zeros_like(counts)
            preflop_tables.rank_hands(board, deck.hand_cards, *deck.strength_rules, ranks)
            preflop_walk.count_weak_orders(
                ranks, deck.hand_bits, deck.hand_class, order_index, part
            )
            counts += weight * part
        self.probability = counts / counts.sum()

    @cached_property
    def weighted_utilities(self) -> Floats:
        """[Z, 3, C, C, C] utilities times probabilities of deals."""
        game = self.tree.game
        tables = []
        for leaf in self.tree.leaves:
            utility = leaf_utilities(game, leaf, _contender_places(leaf))  # [13, 3]
            tables.append(np.einsum("abco,op->pabc", self.probability, utility))
        return np.array(tables)

    def leaf_values(self, seat: int, reach: Floats) -> Floats:
        return self._contract(seat, reach, self.weighted_utilities[:, seat])

    def leaf_probabilities(self, seat: int, reach: Floats) -> Floats:
        deals = self.probability.sum(axis=3)
        return self._contract(
            seat, reach, np.broadcast_to(deals, (len(self.leaf_edges), *deals.shape))
        )

    def _contract(self, seat: int, reach: Floats, tables: Floats) -> Floats:
        values = np.empty((len(self.leaf_edges), self.num_classes))
        others = [other for other in range(3) if other != seat]
        for z, edges in enumerate(self.leaf_edges):
            table = np.moveaxis(tables[z], seat, 0)
            values[z] = (table @ reach[edges[others[1]]]) @ reach[edges[others[0]]]
        return values


def _contender_places(leaf: PreflopLeaf) -> tuple[tuple[int, ...], ...]:
    """Return the places of a leaf's contenders for each weak order of three seats."""
    result = []
    for places in WEAK_PLACES:
        listed = [places[seat] for seat in leaf.contenders]
        result.append(tuple(sum(other < place for other in listed) for place in listed))
    return tuple(result) if len(leaf.contenders) > 1 else ((0,),) * len(WEAK_PLACES)
