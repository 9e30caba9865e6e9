"""Conversion of any game into an explicit tree, and of a tree into a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import and_
from typing import NamedTuple, NoReturn

from counterplay.arenas.tree.size_estimate import estimate_size, format_count
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.errors import GameError, RunError
from counterplay.interop.explicit import (
    NO_INDEX,
    ExplicitGame,
    ExplicitInfoset,
    ExplicitOutcome,
    StrategicGame,
)
from counterplay.interop.explicit_builder import ExplicitGameBuilder
from counterplay.registry import get_spec

MAX_NODES = 3_000_000
MAX_CELLS = 1_000_000
MAX_PURE_POLICIES = 100_000  # of one player


def simplest_fraction(value: float) -> Fraction:
    """Return a simple fraction that rounds to this float, such as 1/3; else its exact value."""
    simple = Fraction(value).limit_denominator(10**6)
    return simple if float(simple) == value else Fraction(value)


def exact_probabilities(probabilities: Sequence[float]) -> tuple[Fraction, ...]:
    """Return fractions for floats, with a sum of exactly 1."""
    fractions = [simplest_fraction(p) for p in probabilities]
    total = sum(fractions)
    return tuple(fraction / total for fraction in fractions)


def to_explicit_game(game: Game) -> ExplicitGame:
    """Return the explicit tree of a game; an explicit game is returned as it is."""
    if isinstance(game, ExplicitGame):
        return game
    expected = estimate_size(game, max_probes=100, seconds=0.2).num_nodes
    if expected > 100 * MAX_NODES:  # an estimate, so only far larger games are refused
        raise too_large_error(game, f"about {format_count(expected)}")
    return _ExplicitGameWalk(game).run()


def too_large_error(game: Game, nodes: str) -> RunError:
    """Return the error for a game with more nodes than `MAX_NODES`."""
    return RunError(f"{get_spec(game)} has {nodes} nodes; {MAX_NODES:,} is the limit")


class _ExplicitGameWalk:
    """One walk through the rules in preorder, which adds every node to a builder."""

    def __init__(self, game: Game):
        self.game = game
        players = [f"Player {number + 1}" for number in range(game.num_players)]
        self.builder = ExplicitGameBuilder(get_spec(game), players, "", self._fail)
        self.infoset_by_key: dict[tuple[int, str], int] = {}
        self.outcome_by_payoffs: dict[tuple[Fraction, ...], int] = {}
        self.infoset_counts: dict[int, int] = {}  # by player

    def run(self) -> ExplicitGame:
        """Return the game."""
        game, builder = self.game, self.builder
        stack = [game.initial_state()]
        while stack:
            state = stack.pop()
            if len(builder.nodes) >= MAX_NODES:
                raise too_large_error(game, "more")
            player = game.player(state)
            if player == TERMINAL:
                builder.add_node("", NO_INDEX, self._find_or_add_outcome(state))
                continue
            actions = (
                [action for action, _ in game.chance_outcomes(state)]
                if player == CHANCE
                else game.actions(state)
            )
            builder.add_node("", self._find_or_add_infoset(state, player, actions), NO_INDEX)
            stack += [game.next_state(state, action) for action in reversed(actions)]
        return builder.build("")

    def _find_or_add_infoset(self, state: State, player: int, actions: Sequence[int]) -> int:
        """Return the index of the infoset at a state; every chance node has its own."""
        key = self.game.infoset_key(state, player) if player != CHANCE else ""
        if player != CHANCE and (player, key) in self.infoset_by_key:
            return self.infoset_by_key[player, key]
        number = self.infoset_counts[player] = self.infoset_counts.get(player, 0) + 1
        names = tuple(self.game.action_name(state, action) for action in actions)
        probabilities: tuple[Fraction, ...] = ()
        if player == CHANCE:
            probabilities = exact_probabilities([p for _, p in self.game.chance_outcomes(state)])
        infoset = ExplicitInfoset(player, number, key, names, probabilities)
        index = self.infoset_by_key[player, key] = self.builder.add_infoset(player, number, infoset)
        return index

    def _find_or_add_outcome(self, state: State) -> int:
        """Return the index of the outcome with the utilities of a terminal state."""
        exact = getattr(self.game, "exact_utilities", None)
        utilities = exact(state) if exact else map(simplest_fraction, self.game.utilities(state))
        payoffs = tuple(utilities)
        index = self.outcome_by_payoffs.get(payoffs)
        if index is None:
            number = len(self.builder.outcomes) + 1
            index = self.builder.add_outcome(number, ExplicitOutcome(number, "", payoffs))
            self.outcome_by_payoffs[payoffs] = index
        return index

    def _fail(self, problem: str) -> NoReturn:
        raise GameError(f"{get_spec(self.game)}: {problem}")


def to_strategic_game(game: ExplicitGame) -> StrategicGame:
    """Return the table of a tree: reduced pure policies and exact expected payoffs.

    The name of a policy has the numbers of its actions, infoset by infoset, with `*` at infosets
    that its own earlier actions exclude. Unlike `matrix.pure_policies`, payoffs are exact and
    players may forget.
    """
    leaves = _list_leaves(game)
    policies_by_player = [
        _enumerate_policies(game, player, leaves) for player in range(game.num_players)
    ]
    sizes = [len(policies) for policies in policies_by_player]
    if math.prod(sizes) > MAX_CELLS:
        raise RunError(f"a table of {' x '.join(map(str, sizes))} pure policies is too large")
    reachable = [
        [_reachable_leaves(leaves, player, policy) for policy in policies]
        for player, policies in enumerate(policies_by_player)
    ]
    outcomes = [
        ExplicitOutcome(number, "", _expected_payoffs(leaves, reduce(and_, profile)))
        for number, profile in enumerate(product(*reversed(reachable)), 1)
    ]
    names = tuple(
        tuple(_policy_name(game, player, policy) for policy in policies)
        for player, policies in enumerate(policies_by_player)
    )
    cells = tuple(range(len(outcomes)))
    return StrategicGame(game.title, game.players, game.comment, names, tuple(outcomes), cells)


InfosetPath = tuple[tuple[int, int], ...]  # infosets with the actions taken there
PurePolicy = dict[int, int]  # action by infoset; NO_INDEX where its own actions exclude the infoset


class _Leaf(NamedTuple):
    """A terminal node that chance can reach."""

    paths: list[InfosetPath]  # by player
    chance: Fraction  # probability of chance on the path
    utilities: tuple[Fraction, ...]


def _list_leaves(game: ExplicitGame) -> list[_Leaf]:
    leaves = []
    no_paths: list[InfosetPath] = [()] * game.num_players
    stack = [(0, no_paths, Fraction(1))]
    while stack:
        state, paths, chance = stack.pop()
        node = game.nodes[state]
        if node.infoset == NO_INDEX:
            if chance:
                leaves.append(_Leaf(paths, chance, game.exact_utilities(state)))
            continue
        infoset = game.infosets[node.infoset]
        for action, child in enumerate(node.children):
            child_paths, child_chance = paths, chance
            if infoset.player == CHANCE:
                child_chance *= infoset.probabilities[action]
            else:
                child_paths = list(paths)
                child_paths[infoset.player] = (*paths[infoset.player], (node.infoset, action))
            stack.append((child, child_paths, child_chance))
    return leaves


def _reachable_leaves(leaves: Sequence[_Leaf], player: int, policy: PurePolicy) -> int:
    """Return the leaves that a pure policy does not exclude, as the bits of an integer."""
    return sum(
        1 << index
        for index, leaf in enumerate(leaves)
        if all(policy.get(infoset) == action for infoset, action in leaf.paths[player])
    )


def _expected_payoffs(leaves: Sequence[_Leaf], reached: int) -> tuple[Fraction, ...]:
    """Return the expected payoffs over the leaves in a set of bits."""
    payoffs = [Fraction(0)] * len(leaves[0].utilities)
    while reached:
        leaf = leaves[(reached & -reached).bit_length() - 1]
        reached &= reached - 1
        payoffs = [
            payoff + leaf.chance * utility
            for payoff, utility in zip(payoffs, leaf.utilities, strict=True)
        ]
    return tuple(payoffs)


def _enumerate_policies(
    game: ExplicitGame, player: int, leaves: Sequence[_Leaf]
) -> list[PurePolicy]:
    """Return all reduced pure policies of a player."""
    paths_to: dict[int, set[InfosetPath]] = {}  # the player's paths to each infoset
    for leaf in leaves:
        path = leaf.paths[player]
        for step, (infoset, _) in enumerate(path):
            paths_to.setdefault(infoset, set()).add(path[:step])
    policies: list[PurePolicy] = [{}]
    for infoset, paths in sorted(paths_to.items(), key=lambda item: min(map(len, item[1]))):
        extended = []
        for policy in policies:
            is_reached = any(all(policy.get(i, a) == a for i, a in path) for path in paths)
            actions = range(len(game.infosets[infoset].actions)) if is_reached else [NO_INDEX]
            extended += [{**policy, infoset: action} for action in actions]
            if len(extended) > MAX_PURE_POLICIES:
                raise RunError(f"player {player + 1} has too many pure policies for a table")
        policies = extended
    return policies


def _policy_name(game: ExplicitGame, player: int, policy: PurePolicy) -> str:
    infosets = [
        index
        for index, infoset in enumerate(game.infosets)
        if infoset.player == player and index in policy
    ]
    actions = ["*" if policy[i] == NO_INDEX else str(policy[i] + 1) for i in infosets]
    return ("" if all(len(action) == 1 for action in actions) else ".").join(actions)
