"""Any game written out in full: its tree node by node, and a tree's table of plans."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from counterplay.errors import RunError
from counterplay.game import CHANCE, TERMINAL, Game
from counterplay.interop.explicit import (
    NONE,
    ExplicitGame,
    Infoset,
    Node,
    Outcome,
    StrategicGame,
)
from counterplay.registry import spec_of
from counterplay.tree.estimating import estimate_size, readable_count

MOST_NODES = 3_000_000
MOST_CELLS = 1_000_000
MOST_PLANS = 100_000


def rational(value: float) -> Fraction:
    """The simplest fraction that is this float, such as 1/3 for 0.333...; else its exact value."""
    simple = Fraction(value).limit_denominator(10**6)
    return simple if float(simple) == value else Fraction(value)


def chances(probabilities: Sequence[float]) -> tuple[Fraction, ...]:
    """Fractions for floats, with a sum of exactly 1."""
    found = [rational(p) for p in probabilities]
    total = sum(found)
    return tuple(p / total for p in found)


def explicit_game(game: Game) -> ExplicitGame:
    """The tree of any game, with its names; a game that is written out already as it is."""
    if isinstance(game, ExplicitGame):
        return game
    expected = estimate_size(game, probes=100, seconds=0.2).num_nodes
    if expected > 100 * MOST_NODES:  # a guess; only what is far too large is refused for it
        raise too_large(game, f"about {readable_count(expected)}")
    return _Walk(game).run()


def too_large(game: Game, nodes: str) -> RunError:
    """The error for a game with more nodes than a file should have."""
    return RunError(f"{spec_of(game)} has {nodes} nodes; {MOST_NODES:,} can be written out")


class _Walk:
    """One walk through the rules, root first, each subtree in one piece."""

    def __init__(self, game: Game):
        self.game = game
        self.infosets: list[Infoset] = []
        self.outcomes: list[Outcome] = []
        self.nodes: list[tuple[int, int, list[int]]] = []
        self.place: dict[Any, int] = {}  # of infosets by player and key, of outcomes by payoffs
        self.counts: dict[int, int] = {}  # infosets by player

    def run(self) -> ExplicitGame:
        game = self.game
        stack = [(game.initial_state(), NONE)]
        while stack:
            state, parent = stack.pop()
            number = len(self.nodes)
            if number >= MOST_NODES:
                raise too_large(game, "more")
            if parent != NONE:
                self.nodes[parent][2].append(number)
            player = game.player(state)
            if player == TERMINAL:
                self.nodes.append((NONE, self.outcome(state), []))
                continue
            actions = (
                [action for action, _ in game.chance_outcomes(state)]
                if player == CHANCE
                else game.actions(state)
            )
            self.nodes.append((self.infoset(state, player, actions), NONE, []))
            stack += [(game.next_state(state, action), number) for action in reversed(actions)]
        return ExplicitGame(
            title=spec_of(game),
            players=tuple(f"Player {number + 1}" for number in range(game.num_players)),
            comment="",
            infosets=tuple(self.infosets),
            outcomes=tuple(self.outcomes),
            nodes=tuple(Node("", i, o, tuple(children)) for i, o, children in self.nodes),
        )

    def infoset(self, state: Any, player: int, actions: Sequence[int]) -> int:
        key = self.game.infoset_key(state, player) if player != CHANCE else ""
        place = self.place.get((player, key)) if player != CHANCE else None
        if place is None:
            place = self.place[player, key] = len(self.infosets)
            number = self.counts[player] = self.counts.get(player, 0) + 1
            names = tuple(self.game.action_name(state, action) for action in actions)
            odds: tuple[Fraction, ...] = ()
            if player == CHANCE:
                odds = chances([p for _, p in self.game.chance_outcomes(state)])
            self.infosets.append(Infoset(player, number, key, names, odds))
        return place

    def outcome(self, state: Any) -> int:
        exact = getattr(self.game, "exact_utilities", None)
        utilities = exact(state) if exact else map(rational, self.game.utilities(state))
        payoffs = tuple(utilities)
        place = self.place.setdefault(payoffs, len(self.outcomes))
        if place == len(self.outcomes):
            self.outcomes.append(Outcome(place + 1, "", payoffs))
        return place


def strategic_form(game: ExplicitGame) -> StrategicGame:
    """The table of a tree: each player's reduced plans, exact expected payoffs in the cells.

    A plan is called by the numbers of its actions, infoset by infoset, with `*` where the plan
    itself sees to it that the infoset is not reached.
    """
    leaves = _leaves(game)
    plans = [_plans(game, player, leaves) for player in range(game.num_players)]
    sizes = [len(mine) for mine in plans]
    if math.prod(sizes) > MOST_CELLS:
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
        outcomes.append(Outcome(number, "", tuple(payoffs)))
    names = tuple(
        tuple(_plan_name(game, player, plan) for plan in mine) for player, mine in enumerate(plans)
    )
    cells = tuple(range(len(outcomes)))
    return StrategicGame(game.title, game.players, game.comment, names, tuple(outcomes), cells)


Past = tuple[tuple[int, int], ...]  # infosets with the actions taken there
Plan = dict[int, int]  # action by infoset


def _leaves(game: ExplicitGame) -> list[tuple[list[Past], Fraction, tuple[Fraction, ...]]]:
    """Of every terminal: each player's past, chance's probability, and the utilities."""
    leaves = []
    nothing: list[Past] = [()] * game.num_players
    stack = [(0, nothing, Fraction(1))]
    while stack:
        state, pasts, chance = stack.pop()
        node = game.nodes[state]
        if node.infoset == NONE:
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


def _plans(game: ExplicitGame, player: int, leaves: Sequence[Any]) -> list[Plan]:
    """Every plan of a player, silent where its own choices keep it from getting to."""
    pasts: dict[int, set[Past]] = {}  # ways to get to each infoset
    for leaf in leaves:
        past = leaf[0][player]
        for step, (infoset, _) in enumerate(past):
            pasts.setdefault(infoset, set()).add(past[:step])
    plans: list[Plan] = [{}]
    for infoset, ways in sorted(pasts.items(), key=lambda item: min(map(len, item[1]))):
        longer = []
        for plan in plans:
            reached = any(all(plan.get(i, a) == a for i, a in way) for way in ways)
            choices = range(len(game.infosets[infoset].actions)) if reached else [NONE]
            longer += [{**plan, infoset: choice} for choice in choices]
            if len(longer) > MOST_PLANS:
                raise RunError(f"player {player + 1} has too many plans for a table")
        plans = longer
    return plans


def _plan_name(game: ExplicitGame, player: int, plan: Plan) -> str:
    mine = [i for i, infoset in enumerate(game.infosets) if infoset.player == player and i in plan]
    choices = ["*" if plan[i] == NONE else str(plan[i] + 1) for i in mine]
    return ("" if all(len(choice) == 1 for choice in choices) else ".").join(choices)
