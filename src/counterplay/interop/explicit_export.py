"""Any game written out in full: its tree node by node, and a tree's table of plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from counterplay.arenas.tree.size_estimate import estimate_size, format_count
from counterplay.core.game import CHANCE, TERMINAL, Game
from counterplay.errors import RunError
from counterplay.interop.explicit import (
    NO_INDEX,
    ExplicitGame,
    ExplicitInfoset,
    ExplicitNode,
    ExplicitOutcome,
    StrategicGame,
)
from counterplay.registry import get_spec

MAX_NODES = 3_000_000
MAX_CELLS = 1_000_000
MAX_PLANS = 100_000


def simplest_fraction(value: float) -> Fraction:
    """The simplest fraction that is this float, such as 1/3 for 0.333...; else its exact value."""
    simple = Fraction(value).limit_denominator(10**6)
    return simple if float(simple) == value else Fraction(value)


def exact_probabilities(probabilities: Sequence[float]) -> tuple[Fraction, ...]:
    """Fractions for floats, with a sum of exactly 1."""
    found = [simplest_fraction(p) for p in probabilities]
    total = sum(found)
    return tuple(p / total for p in found)


def to_explicit_game(game: Game) -> ExplicitGame:
    """The tree of any game, with its names; a game that is written out already as it is."""
    if isinstance(game, ExplicitGame):
        return game
    expected = estimate_size(game, max_probes=100, seconds=0.2).num_nodes
    if expected > 100 * MAX_NODES:  # a guess; only what is far too large is refused for it
        raise too_large_error(game, f"about {format_count(expected)}")
    return _ExplicitGameWalk(game).run()


def too_large_error(game: Game, nodes: str) -> RunError:
    """The error for a game with more nodes than a file should have."""
    return RunError(f"{get_spec(game)} has {nodes} nodes; {MAX_NODES:,} can be written out")


class _ExplicitGameWalk:
    """One walk through the rules, root first, each subtree in one piece."""

    def __init__(self, game: Game):
        self.game = game
        self.infosets: list[ExplicitInfoset] = []
        self.outcomes: list[ExplicitOutcome] = []
        self.nodes: list[tuple[int, int, list[int]]] = []
        self.index_by_key: dict[
            Any, int
        ] = {}  # of infosets by player and key, of outcomes by payoffs
        self.infoset_counts: dict[int, int] = {}  # infosets by player

    def run(self) -> ExplicitGame:
        game = self.game
        stack = [(game.initial_state(), NO_INDEX)]
        while stack:
            state, parent = stack.pop()
            number = len(self.nodes)
            if number >= MAX_NODES:
                raise too_large_error(game, "more")
            if parent != NO_INDEX:
                self.nodes[parent][2].append(number)
            player = game.player(state)
            if player == TERMINAL:
                self.nodes.append((NO_INDEX, self.find_or_add_outcome(state), []))
                continue
            actions = (
                [action for action, _ in game.chance_outcomes(state)]
                if player == CHANCE
                else game.actions(state)
            )
            self.nodes.append((self.find_or_add_infoset(state, player, actions), NO_INDEX, []))
            stack += [(game.next_state(state, action), number) for action in reversed(actions)]
        return ExplicitGame(
            title=get_spec(game),
            players=tuple(f"Player {number + 1}" for number in range(game.num_players)),
            comment="",
            infosets=tuple(self.infosets),
            outcomes=tuple(self.outcomes),
            nodes=tuple(ExplicitNode("", i, o, tuple(children)) for i, o, children in self.nodes),
        )

    def find_or_add_infoset(self, state: Any, player: int, actions: Sequence[int]) -> int:
        key = self.game.infoset_key(state, player) if player != CHANCE else ""
        place = self.index_by_key.get((player, key)) if player != CHANCE else None
        if place is None:
            place = self.index_by_key[player, key] = len(self.infosets)
            number = self.infoset_counts[player] = self.infoset_counts.get(player, 0) + 1
            names = tuple(self.game.action_name(state, action) for action in actions)
            odds: tuple[Fraction, ...] = ()
            if player == CHANCE:
                odds = exact_probabilities([p for _, p in self.game.chance_outcomes(state)])
            self.infosets.append(ExplicitInfoset(player, number, key, names, odds))
        return place

    def find_or_add_outcome(self, state: Any) -> int:
        exact = getattr(self.game, "exact_utilities", None)
        utilities = exact(state) if exact else map(simplest_fraction, self.game.utilities(state))
        payoffs = tuple(utilities)
        place = self.index_by_key.setdefault(payoffs, len(self.outcomes))
        if place == len(self.outcomes):
            self.outcomes.append(ExplicitOutcome(place + 1, "", payoffs))
        return place


def to_strategic_game(game: ExplicitGame) -> StrategicGame:
    """The table of a tree: each player's reduced plans, exact expected payoffs in the cells.

    A plan is called by the numbers of its actions, infoset by infoset, with `*` where the plan
    itself sees to it that the infoset is not reached.
    """
    leaves = _list_leaves(game)
    plans = [_enumerate_plans(game, player, leaves) for player in range(game.num_players)]
    sizes = [len(mine) for mine in plans]
    if math.prod(sizes) > MAX_CELLS:
        raise RunError(f"a table of {' x '.join(map(str, sizes))} plans is too large to write out")
    # for each plan, the leaves it allows, as the bits of an integer
    allowed = [
        [
            sum(
                1 << z
                for z, (pasts, _, _) in enumerate(leaves)
                if all(plan.get(i) == a for i, a in pasts[player])
            )
            for plan in mine
        ]
        for player, mine in enumerate(plans)
    ]
    outcomes = []
    for number, profile in enumerate(product(*reversed(allowed)), 1):
        both = profile[0]
        for other in profile[1:]:
            both &= other
        payoffs = [Fraction(0)] * game.num_players
        while both:
            z = (both & -both).bit_length() - 1
            both &= both - 1
            _, chance, utilities = leaves[z]
            payoffs = [sum_ + chance * u for sum_, u in zip(payoffs, utilities, strict=True)]
        outcomes.append(ExplicitOutcome(number, "", tuple(payoffs)))
    names = tuple(
        tuple(_plan_name(game, player, plan) for plan in mine) for player, mine in enumerate(plans)
    )
    cells = tuple(range(len(outcomes)))
    return StrategicGame(game.title, game.players, game.comment, names, tuple(outcomes), cells)


InfosetPath = tuple[tuple[int, int], ...]  # infosets with the actions taken there
PurePlan = dict[int, int]  # action by infoset


def _list_leaves(
    game: ExplicitGame,
) -> list[tuple[list[InfosetPath], Fraction, tuple[Fraction, ...]]]:
    """Of every terminal: each player's past, chance's probability, and the utilities."""
    leaves = []
    nothing: list[InfosetPath] = [()] * game.num_players
    stack = [(0, nothing, Fraction(1))]
    while stack:
        state, pasts, chance = stack.pop()
        node = game.nodes[state]
        if node.infoset == NO_INDEX:
            if chance:
                leaves.append((pasts, chance, game.exact_utilities(state)))
            continue
        infoset = game.infosets[node.infoset]
        for action, child in enumerate(node.children):
            after, p = pasts, chance
            if infoset.player == CHANCE:
                p *= infoset.probabilities[action]
            else:
                after = list(pasts)
                after[infoset.player] = (*pasts[infoset.player], (node.infoset, action))
            stack.append((child, after, p))
    return leaves


def _enumerate_plans(game: ExplicitGame, player: int, leaves: Sequence[Any]) -> list[PurePlan]:
    """Every plan of a player, silent where its own choices keep it from getting to."""
    pasts: dict[int, set[InfosetPath]] = {}  # ways to get to each infoset
    for leaf in leaves:
        past = leaf[0][player]
        for step, (infoset, _) in enumerate(past):
            pasts.setdefault(infoset, set()).add(past[:step])
    plans: list[PurePlan] = [{}]
    for infoset, ways in sorted(pasts.items(), key=lambda item: min(map(len, item[1]))):
        longer = []
        for plan in plans:
            reached = any(all(plan.get(i, a) == a for i, a in way) for way in ways)
            choices = range(len(game.infosets[infoset].actions)) if reached else [NO_INDEX]
            longer += [{**plan, infoset: choice} for choice in choices]
            if len(longer) > MAX_PLANS:
                raise RunError(f"player {player + 1} has too many plans for a table")
        plans = longer
    return plans


def _plan_name(game: ExplicitGame, player: int, plan: PurePlan) -> str:
    mine = [i for i, infoset in enumerate(game.infosets) if infoset.player == player and i in plan]
    choices = ["*" if plan[i] == NO_INDEX else str(plan[i] + 1) for i in mine]
    return ("" if all(len(choice) == 1 for choice in choices) else ".").join(choices)
