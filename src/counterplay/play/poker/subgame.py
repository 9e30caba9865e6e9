"""Subgames of heads-up no-limit hold'em from any decision on the flop, the turn or the river.

A subgame has a vector over all live hands at each public node, as a spot has. Its betting follows
the rules of a game from a state, so that it may begin in the middle of a street. Policies are
solved by DCFR (Brown and Sandholm, 2019) with alpha 1.5, gamma 3 and negative regrets halved.

For the player to protect, r is its range (sum 1). The opponent has the range q (largest weight 1)
and for each hand an alternative value v: its counterfactual best-response value against the policy
so far. Methods, as in `arenas.holdem.game_subgames`:

- `unsafe`: both players enter with their ranges.
- `resolve`: the opponent decides for each hand to enter (probability f) or to get v instead.
- `combined`: the opponent's range in the updates is min(1, q + s (1 - q) f + u), where s <= 1 is
  the largest number with s sum((1 - q) f) <= 0.2 sum(q), and
  u = 0.1 (sum(q) + s sum((1 - q) f)) / number of hands.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.arenas.holdem.array_layout import build_walks
from counterplay.arenas.holdem.base import HoldemArena, HoldemPolicy
from counterplay.arenas.holdem.betting import (
    DEAL,
    FOLD,
    SHOWDOWN,
    BettingNode,
    BettingTree,
    StreetState,
)
from counterplay.arenas.holdem.boards import IDENTITY_PERMUTATION, RangeHands, build_boards
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import ALL_HANDS, cards_name
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import HoldemBase, HoldemState
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.holdem.types import HoldemTables, StreetRows

METHODS = ("unsafe", "resolve", "combined")
MAX_ADDED_SHARE = 0.2  # of the range that `combined` adds by follow probabilities
UNIFORM_SHARE = 0.1  # of the range that `combined` adds to all hands alike
MAX_SUBGAME_NODES = 20_000
POSITIVE_POWER, NEGATIVE_FACTOR, AVERAGE_POWER = 1.5, 0.5, 3.0  # of DCFR
MIN_PROBABILITY = 0.02
NUM_HANDS = len(ALL_HANDS)


class SubgameArena(SpotArena):
    """The subgame that begins at a state; values count chips from the start of its street.

    Chips of players who have folded are in the pot. Player 0 of the subgame is the first seat of
    the two that are left.

    Args:
        game: hold'em with few bet sizes and equal stacks.
        state: a decision of two players on the flop, the turn or the river.

    Raises:
        ConfigError: the betting tree is too large, or not two players are left.
    """

    def __init__(self, game: HoldemBase, state: HoldemState):
        HoldemArena.__init__(self, "float32")
        self.game, self.state = game, state
        if len(state.players_left) != 2:
            raise ConfigError(f"{len(state.players_left)} players are left; a subgame is for two")
        board = game.public_cards(state)
        chips = street_start_chips(game, state)
        folded = sum(state.contributions[p] for p in range(game.num_players))
        folded -= sum(state.contributions[p] for p in state.players_left)
        stack = min(game.starting_stacks)
        if game.is_limit:  # tolerances of rounding are parts of what can be bet
            raises = zip(game.raise_sizes, game.max_raises, strict=True)
            stack = min(stack, chips + sum(size * count for size, count in raises))
        self.spot = Spot(
            cards_name(board),
            ("random", "random"),
            2 * chips + folded,
            (stack - chips,) * 2,
            min_bet=1,
        )
        self.isomorphism, self.symmetries = False, [IDENTITY_PERMUTATION]
        self.value_sum = float(self.spot.pot)
        self.betting, self.actions = build_subgame_betting(game, state, chips)
        live = np.array([not set(hand) & set(board) for hand in ALL_HANDS])
        self.live: Ints = np.flatnonzero(live)
        cards = np.array(ALL_HANDS, np.int64)[self.live]
        hands = RangeHands(self.live, np.ones(len(self.live)), cards)
        self.hands = hands, hands
        self.hand_weights = hands.weight, hands.weight
        self.boards = build_boards(self.spot, self.symmetries)
        self.num_loaded_streets = 3 - self.spot.street
        self._scratch = {}
        self.total_pair_weight = 1.0
        self.ranges: tuple[Floats, Floats] = (hands.weight, hands.weight)  # at the root [hands]

    @property
    def walks(self) -> Any:
        if "_walks" not in self.__dict__:
            self.__dict__["_walks"] = build_walks(
                self.spot, self.betting, self.piece_layout, self.boards, self.hands
            )
        return self.__dict__["_walks"]

    def set_root_reach(self, player: int, top: StreetRows) -> None:
        top.own_reach[0] = self.ranges[player]
        top.opponent_reach[0] = self.ranges[1 - player]

    def mass(self, weights: Floats) -> Floats:
        """Return the mass [hands] of a range over the hands without a common card."""
        return self.hands[0].compatible_mass(self.hands[1], weights)


def street_start_chips(game: HoldemBase, state: HoldemState) -> int:
    """Return the chips that each player had put in when the street of a state began."""
    start = state.history.rfind("|")
    if start < 0:
        raise ConfigError("a subgame begins on the flop or later")
    chips, current = 0, game.initial_state()
    cards = iter(state.cards)
    for action in game.past_actions(state):
        while current.to_act == CHANCE:
            current = game.next_state(current, next(cards))
        if current.round == state.round:
            break
        current = game.next_state(current, action)
        chips = max(current.contributions)
    return chips


def build_subgame_betting(
    game: HoldemBase, root: HoldemState, chips: int
) -> tuple[BettingTree, list[tuple[int, ...]]]:
    """Return the betting tree from a state on, and the actions at each of its nodes.

    Args:
        game: the rules.
        root: the state.
        chips: each player's chips at the start of its street, which payoffs count from.
    """
    betting, actions, seats = BettingTree(), list[tuple[int, ...]](), root.players_left
    waiting = deque([(root, -1)])
    while waiting:
        state, parent = waiting.popleft()
        block, number = len(betting.block_starts), len(betting.nodes)
        states = {number: state}
        betting.start_block(_make_node(state, seats, block, chips), parent)
        actions.append(())
        while number < len(betting.nodes):
            if len(betting.nodes) > MAX_SUBGAME_NODES:
                raise ConfigError(
                    f"the betting tree of a subgame has more than {MAX_SUBGAME_NODES:,} nodes: "
                    "search with fewer sizes"
                )
            node, state = betting.nodes[number], states.pop(number)
            if node.kind == DEAL:
                waiting.append((_deal_any(game, state), number))
            elif node.kind < FOLD:
                node.first_child = len(betting.nodes)
                actions[number] = tuple(game.actions(state))
                node.actions = tuple(game.action_name(state, a) for a in actions[number])
                for action, name in zip(actions[number], node.actions, strict=True):
                    after = game.next_state(state, action)
                    child = _make_node(after, seats, block, chips)
                    child.parent, child.action = number, name
                    if child.kind == FOLD:
                        child.folding_player = node.kind
                    states[len(betting.nodes)] = after
                    betting.nodes.append(child)
                    actions.append(())
            number += 1
    betting.block_starts.append(len(betting.nodes))
    return betting, actions


def _deal_any(game: HoldemBase, state: HoldemState) -> HoldemState:
    """Return the state after a street is dealt, whichever cards these are."""
    while state.to_act == CHANCE:
        card = next(card for card in game.deck if card not in state.cards)
        after = game.next_state(state, card)
        if after.round > state.round or after.to_act != CHANCE:
            return after
        state = after
    return state


def _make_node(state: HoldemState, seats: tuple[int, ...], block: int, chips: int) -> BettingNode:
    if state.to_act == TERMINAL:
        kind = FOLD if len(state.players_left) == 1 else SHOWDOWN
    else:
        kind = DEAL if state.to_act == CHANCE else seats.index(state.to_act)
    first, second = (state.contributions[p] - chips for p in seats)
    street = state.round - 1 - (kind == DEAL)  # a spot counts from the flop
    return BettingNode(kind, StreetState(street, 0, (first, second), state.to_act), block)


@dataclass(frozen=True, eq=False)
class SubgamePolicy:
    """A policy of both players on a subgame."""

    arena: SubgameArena
    weights: Any  # [S] float32; probabilities are in proportion to them

    def probabilities_at(self, node: int, board: int = 0) -> Floats:
        """Return the probabilities [1326, actions] at a node; uniform for hands that are dead.

        Probabilities below `MIN_PROBABILITY` are what few iterations leave of bad actions: they are
        set to zero (thresholding; Ganzfried, Sandholm and Waugh, 2012).
        """
        policy = HoldemPolicy(self.arena, self.weights, self.weights[:0])
        rows = np.full((NUM_HANDS, len(self.arena.actions[node])), 0.0)
        rows += 1.0 / rows.shape[1]
        solved = policy.probabilities_at(node, board).T
        solved[solved < MIN_PROBABILITY] = 0.0
        rows[self.arena.live] = solved / solved.sum(axis=1, keepdims=True)
        return rows

    def find_child(self, node: int, action: int) -> int:
        """Return the child of a node after an action, or -1 if the subgame does not have it."""
        actions = self.arena.actions[node]
        if action not in actions:
            return -1
        return self.arena.betting.nodes[node].first_child + actions.index(action)

    def best_values(self, player: int, ranges: tuple[Floats, Floats]) -> Floats:
        """Return a player's best-response values [nodes of the first street, hands].

        They are counterfactual: times the opponent's range at the root and its reach from there.
        """
        arena = self.arena
        arena.ranges = ranges
        policy = HoldemPolicy(arena, self.weights, self.weights[:0])
        arena.walk(player, arena.policy_tables(policy), street_walk.MODE_BEST)
        return np.array(arena.scratch(player)[0].value, np.float64)


def alternative_values(
    policy: SubgamePolicy, node: int, player: int, ranges: tuple[Floats, Floats]
) -> Floats:
    """Return the best-response values [hands] of a player at a node, made constant-sum at the root.

    With m_i the opponent's range that shares no card with a hand, and v_i the values of player i at
    the root, both are lowered by a m_i so that they add up to the pot:
    a = (r_0 v_0 + r_1 v_1 - pot * r_0 m_0) / (2 r_0 m_0), summed over hands.

    Args:
        policy: the policy so far.
        node: a node of the first street.
        player: the player whose alternatives are wanted.
        ranges: of both players at the root [hands].
    """
    arena = policy.arena
    own, other = (policy.best_values(p, ranges) for p in (player, 1 - player))
    masses = arena.mass(ranges[1 - player]), arena.mass(ranges[player])
    total = float(ranges[player] @ masses[0])
    if not total > 0.0:
        return own[node]
    gain = float(ranges[player] @ own[0] + ranges[1 - player] @ other[0])
    shift = (gain - arena.spot.pot * total) / (2.0 * total)
    mass = masses[0] if node == 0 else arena.mass(_reach_at(policy, node, 1 - player, ranges))
    return own[node] - shift * mass


def _reach_at(
    policy: SubgamePolicy, node: int, player: int, ranges: tuple[Floats, Floats]
) -> Floats:
    """Return a player's range [hands] at a node of the first street."""
    reach, nodes = ranges[player], policy.arena.betting.nodes
    while nodes[node].parent >= 0:
        parent = nodes[node].parent
        if nodes[parent].kind == player:
            column = node - nodes[parent].first_child
            reach = reach * policy.probabilities_at(parent)[policy.arena.live, column]
        node = parent
    return reach


def mix_range(reach: Floats, follow: Floats) -> Floats:
    """Return the opponent's range [hands] of the method `combined`."""
    rest = np.maximum(1.0 - reach, 0.0) * follow
    total, added = float(reach.sum()), float(rest.sum())
    scale = MAX_ADDED_SHARE * total / added if added > MAX_ADDED_SHARE * total > 0.0 else 1.0
    uniform = UNIFORM_SHARE * (total + scale * added) / len(reach)
    return np.minimum(reach + scale * rest + uniform, 1.0)


def solve_subgame(
    arena: SubgameArena,
    ranges: tuple[Floats, Floats],
    player: int,
    alternatives: Floats | None = None,
    method: str = "combined",
    iterations: int = 100,
    is_over: Callable[[], bool] = lambda: False,
) -> SubgamePolicy:
    """Solve a subgame for a player's policy.

    Args:
        arena: the subgame.
        ranges: of both players at the root [hands]; see the module.
        player: the player whose policy is wanted.
        alternatives: the opponent's values [hands]; None is the method `unsafe`.
        method: one of `METHODS`.
        iterations: of DCFR.
        is_over: returns True when the time is up; asked after each iteration.
    """
    if method not in METHODS:
        raise ConfigError(f"method is {method!r}, must be one of {', '.join(METHODS)}")
    other = 1 - player
    regret = np.zeros(arena.num_sequences, np.float32)
    policy_sum = np.zeros((1, regret.size), np.float32)
    gadget = np.zeros((2, len(arena.live)))  # regrets of entering, and of the alternative
    values_outside = np.zeros(len(arena.live)) if alternatives is None else alternatives
    is_safe = method != "unsafe" and alternatives is not None
    for t in range(1, iterations + 1):
        positive = t**POSITIVE_POWER / (t**POSITIVE_POWER + 1.0)
        tables = _dcfr_tables(regret, policy_sum, positive, ((t - 1) / t) ** AVERAGE_POWER)
        for walker in (player, other):
            entering = ranges[other]
            if is_safe:
                total = gadget.sum(axis=0)
                entering = np.divide(gadget[0], total, out=np.ones_like(total), where=total > 0.0)
                if method == "combined":
                    entering = mix_range(ranges[other], entering)
            both = (ranges[player], entering)
            arena.ranges = both if player == 0 else both[::-1]
            values = arena.walk(walker, tables, street_walk.MODE_LEARN)
            if is_safe and walker == other:
                mean = entering * values + (1.0 - entering) * values_outside
                gadget[0] = np.maximum(gadget[0] + values - mean, 0.0)
                gadget[1] = np.maximum(gadget[1] + values_outside - mean, 0.0)
        if is_over():
            break
    return SubgamePolicy(arena, policy_sum[0])


def _dcfr_tables(regret: Any, policy_sum: Any, positive: float, decay: float) -> HoldemTables:
    no_scales = np.zeros(0, np.float32)
    return HoldemTables(
        policy_weights=regret,
        fallback_weights=regret[:0],
        regret=regret,
        regret_scale=no_scales,
        policy_weights_scale=no_scales,
        policy_sum=policy_sum,
        policy_sum_scale=no_scales.reshape(1, 0),
        lock_offset=np.zeros(0, np.int64),
        lock_weights=np.zeros(0),
        discounts=np.array([positive, NEGATIVE_FACTOR, 0.0]),
        sum_decay=np.array([decay]),
        sum_weight=np.ones(1),
    )


def clock_limit(seconds: float) -> Callable[[], bool]:
    """Return a function that returns True after a number of seconds."""
    end = time.perf_counter() + seconds
    return lambda: time.perf_counter() >= end
