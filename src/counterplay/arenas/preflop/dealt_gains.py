"""Gains of every seat in the game as it is dealt: no two seats share a card.

With three or more seats a solution is exact for the deals of `ViewDeals`, where hands of different
opponents are independent of each other. Here cards are dealt as at the table, hands of opponents
block each other, and all contenders meet on the same board. A seat's values are averaged over all
hands that it could hold beside the others' hands and the board, so that only these are sampled. A
best response is chosen on one half of the deals and judged on the other: in expectation its gain is
at most that of the exact best response. On its own half it gains too much: in expectation at least
as much as the exact best response.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterplay.arenas.preflop.arena import PreflopArena
from counterplay.arenas.preflop.betting import (
    PAIR_PLACES,
    WEAK_PLACES,
    PreflopTree,
    leaf_utilities,
)
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import compute_best_responses
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError, RunError
from counterplay.kernels.holdem import preflop_dealt
from counterplay.kernels.sequence_form import sweeps

BATCHES = 20  # of each half; their spread gives the intervals
T_VALUE_95 = 2.093  # half a 95 % interval in standard errors, 19 degrees of freedom
LeafArrays = tuple[Ints, Ints, Ints, Floats]  # edges, contenders, their numbers, utilities


@dataclass(frozen=True)
class DealtGains:
    """Values and gains of all seats on dealt cards, with 95 % margins."""

    values: Floats  # [P] chips won, or prizes
    value_margins: Floats  # [P]
    gains: Floats  # [P] of a response chosen on other deals; at most the exact gain, in expectation
    gain_margins: Floats  # [P]
    upper_gains: Floats  # [P] on the deals of its choice; at least the exact gain, in expectation
    num_deals: int


class _FixedLeaves:
    """Leaf values that were computed before, in the place of the deals of an arena."""

    note = ""

    def __init__(self, values: Floats):
        self.values, self.num_classes = values, values.shape[2]

    def leaf_values(self, seat: int, reach: Floats) -> Floats:
        result: Floats = self.values[seat]
        return result

    def leaf_probabilities(self, seat: int, reach: Floats) -> Floats:
        raise NotImplementedError("values of leaves only")


def measure_dealt_gains(
    policy: Policy,
    num_deals: int = 20_000,
    seed: int = 0,
    report: Callable[[int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> DealtGains:
    """Return the values of all seats on dealt cards, and what they gain by deviating.

    Args:
        policy: a policy of a `PreflopArena`.
        num_deals: deals in both halves, rounded up to a multiple of 40.
        seed: of the deals.
        report: called with the number of deals made, after each batch.
        stop: called before each batch; True ends the run with a RunError.

    Raises:
        ConfigError: the policy's leaves are valued by solved flops.
    """
    arena: PreflopArena = policy.arena  # type: ignore[assignment]
    if arena.realised_factors is not None:
        raise ConfigError("leaves valued by solved flops cannot be dealt: check another solution")
    dealer = _Dealer(arena, seed, math.ceil(num_deals / (2 * BATCHES)), report, stop)
    reach = _sequence_reach(arena, policy.probabilities)
    edge_reach = arena.edge_reach(reach)
    choice = np.zeros((arena.num_players, len(arena.tree.leaves), arena.deck.num_classes))
    for _ in range(BATCHES):
        choice += dealer.leaf_values(edge_reach) / BATCHES
    fixed = copy.copy(arena)
    fixed.deals = _FixedLeaves(choice)
    response = compute_best_responses(fixed, policy.probabilities)
    best_reach = arena.edge_reach(_sequence_reach(arena, response.response))
    values, best_values = np.empty((2, BATCHES, arena.num_players))
    for batch in range(BATCHES):
        leaves = dealer.leaf_values(edge_reach)
        values[batch] = _seat_values(arena, edge_reach, leaves)
        best_values[batch] = _seat_values(arena, best_reach, leaves)
    gains = best_values - values
    own_half = np.array(response.best_values) - _seat_values(arena, edge_reach, choice)
    return DealtGains(
        values=values.mean(axis=0),
        value_margins=_margins(values),
        gains=gains.mean(axis=0),
        gain_margins=_margins(gains),
        upper_gains=own_half,
        num_deals=dealer.num_dealt,
    )


class _Dealer:
    """Batches of deals, and the leaf values that they give."""

    def __init__(
        self,
        arena: PreflopArena,
        seed: int,
        batch_size: int,
        report: Callable[[int], None] | None,
        stop: Callable[[], bool] | None,
    ):
        self.arena, self.seed, self.num_dealt = arena, 2 * BATCHES * seed, 0
        self.report, self.stop = report, stop
        deck, num_seats = arena.deck, arena.num_players
        self.leaves = list_leaf_orders(arena.tree, arena.leaf_edges)
        self.hands = np.empty((batch_size, num_seats, 2), np.int64)
        self.boards = np.empty((batch_size, deck.num_board), np.int64)

    def leaf_values(self, edge_reach: Floats) -> Floats:
        """Return the values [P, Z, C] of the next batch."""
        if self.stop and self.stop():
            raise RunError("stopped before all deals were made: there is no result")
        self.seed += 1
        preflop_dealt.deal_cards(self.seed, self.arena.deck.cards, self.hands, self.boards)
        values = average_leaf_values(self.arena, self.leaves, self.hands, self.boards, edge_reach)
        self.num_dealt += len(self.hands)
        if self.report:
            self.report(self.num_dealt)
        return values


def list_leaf_orders(tree: PreflopTree, leaf_edges: Ints) -> LeafArrays:
    """Return the leaves of a tree with utilities for all orders of hands, ties included."""
    game, leaves = tree.game, tree.leaves
    contenders = np.zeros((len(leaves), 3), np.int64)
    utility = np.zeros((len(leaves), game.num_seats, len(WEAK_PLACES)))
    for z, leaf in enumerate(leaves):
        contenders[z, : len(leaf.contenders)] = leaf.contenders
        places = {1: ((),), 2: PAIR_PLACES, 3: WEAK_PLACES}[len(leaf.contenders)]
        utility[z, :, : len(places)] = leaf_utilities(game, leaf, places).T
    count = np.array([len(leaf.contenders) for leaf in leaves])
    return leaf_edges, contenders, count, utility


def average_leaf_values(
    arena: PreflopArena, leaves: LeafArrays, hands: Ints, boards: Ints, edge_reach: Floats
) -> Floats:
    """Return counterfactual values [P, Z, C] of all seats, averaged over deals.

    Args:
        arena: the arena.
        leaves: what `list_leaf_orders` returns.
        hands: [N, P, 2] cards of every seat, the lower first.
        boards: [N, B] cards of the boards.
        edge_reach: [E + 1, C].
    """
    deck = arena.deck
    orders = np.zeros((3, 3, 3), np.int64)
    for number, places in enumerate(WEAK_PLACES):
        orders[places] = number
    result = np.zeros((arena.num_players, len(leaves[0]), deck.num_classes))
    preflop_dealt.add_dealt_values(
        hands,
        boards,
        deck.hand_cards,
        deck.hand_class,
        deck.strength_rules,
        leaves,
        orders,
        edge_reach,
        result,
    )
    return result / len(hands)


def _sequence_reach(arena: PreflopArena, probabilities: Floats) -> Floats:
    reach = np.ones(arena.num_sequences + 1)
    sweeps.forward(arena.form, 0, arena.num_infosets, np.append(probabilities, 1.0), reach)
    return reach


def _seat_values(arena: PreflopArena, edge_reach: Floats, leaves: Floats) -> Floats:
    """Return every seat's value [P], given its own reach of edges and its leaf values."""
    own = edge_reach[arena.leaf_edges]  # [Z, P, C]
    result: Floats = np.einsum("zpc,pzc->p", own, leaves)
    return result


def _margins(rows: Floats) -> Floats:
    """Return half a 95 % interval of the means of columns [BATCHES, P]."""
    result: Floats = T_VALUE_95 * rows.std(axis=0, ddof=1) / math.sqrt(len(rows))
    return result
