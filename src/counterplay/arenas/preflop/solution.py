"""Solve a preflop game; save the solution, look at its nodes, and take ranges to a spot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from counterplay.arenas.holdem.flop_report import ReportSettings
from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot import SPOT_DECKS, Spot
from counterplay.arenas.preflop.arena import PreflopArena
from counterplay.arenas.preflop.betting import PreflopLeaf, PreflopNode
from counterplay.arenas.preflop.deck import FULL_DECK
from counterplay.arenas.preflop.flop_leaves import MIN_CLASS_WEIGHT, has_flop, spots_factors
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, check_runs_on
from counterplay.core.cards import cards_name
from counterplay.core.evaluation import judge
from counterplay.core.policy import Policy
from counterplay.core.solve import (
    AnyAlgorithm,
    SolveSession,
    as_algorithm,
    next_ten_per_decade,
)
from counterplay.errors import ConfigError, FileError, suggestion
from counterplay.kernels.sequence_form import sweeps

PREFLOP_FORMAT = "counterplay preflop solution 1"
DEFAULT_ALGORITHM = "pdcfr_plus"
WEIGHT_DIGITS = 4  # decimals of the weights in range texts
Report = Callable[[int, float], None]  # iteration, largest gain of a seat


@dataclass(frozen=True)
class PreflopSolution:
    """A policy of a preflop game with every seat's value and gain from deviating."""

    policy: Policy
    values: Floats  # [P] chips won, or prizes
    gains: Floats  # [P] what a best response to the other seats wins more
    iterations: int

    @property
    def arena(self) -> PreflopArena:
        return self.policy.arena  # type: ignore[return-value]

    @property
    def game(self) -> PreflopGame:
        return self.arena.preflop_game

    @property
    def largest_gain(self) -> float:
        return float(self.gains.max())

    @property
    def note(self) -> str:
        """A sentence about the approximations of the deal; empty if it is exact."""
        return self.arena.deals.note

    def save(self, path: str | Path) -> None:
        """Write the file that `load_preflop_solution` reads."""
        values = {
            "game": self.game.to_dict(),
            "probabilities": self.policy.probabilities,
            "values": self.values,
            "gains": self.gains,
            "iterations": self.iterations,
        }
        if self.arena.realised_factors is not None:
            values["realised_factors"] = self.arena.realised_factors
        write_archive(path, PREFLOP_FORMAT, values)

    @cached_property
    def _reach(self) -> Floats:
        """[S + 1] own reach of every sequence."""
        arena = self.arena
        reach = np.ones(arena.num_sequences + 1)
        probabilities = np.append(self.policy.probabilities, 1.0)
        sweeps.forward(arena.form, 0, arena.num_infosets, probabilities, reach)
        return reach

    @cached_property
    def _edge_reach(self) -> Floats:
        """[E + 1, C] own reach of every edge."""
        return self.arena.edge_reach(self._reach)

    def find(self, line: str) -> PreflopNode | PreflopLeaf:
        """Return the node or leaf after a line such as "SB raise 2.5, BB call".

        Names of seats may be left out. Seats that have nothing to decide are not part of a line.

        Raises:
            ConfigError: an action of the line does not exist.
        """
        tree, number = self.arena.tree, 0
        for word in (part.strip() for part in line.split(",") if part.strip()):
            if number < 0:
                raise ConfigError(f"line {line!r}: nothing follows before {word!r}")
            node = tree.nodes[number]
            seat = self.game.seat_names[node.seat]
            name = word.removeprefix(seat).strip()
            if name not in node.actions:
                known = ", ".join(node.actions)
                hint = suggestion(name, node.actions)
                raise ConfigError(f"line {line!r}: {seat} has no {word!r}{hint} ({known})")
            number = node.children[node.actions.index(name)]
        return tree.nodes[number] if number >= 0 else tree.leaves[-1 - number]

    def class_weights(self, edge: tuple[int, int]) -> Floats:
        """Return a seat's own reach [C] after a (node, action); (-1, -1) is before any action."""
        node, action = edge
        if node < 0:
            return np.ones(self.arena.deck.num_classes)
        first, width = self.arena.node_sequence[node], len(self.arena.tree.nodes[node].actions)
        return self._reach[first + action : first + width * self.arena.deck.num_classes : width]

    def leaf_reach(self) -> Floats:
        """Return the probability [Z] that each leaf is reached, with hands dealt independently."""
        sizes = self.arena.deck.class_sizes / self.arena.deck.num_hands
        by_edge = self._edge_reach @ sizes
        return np.prod(by_edge[self.arena.leaf_edges], axis=1)

    def wide_spot(self, leaf: PreflopLeaf, chips_per_unit: int = 100) -> Spot:
        """Return the spot after a leaf, with every class in both ranges by a small weight."""
        ranges = [
            self.range_text(leaf.last[seat], MIN_CLASS_WEIGHT)
            for seat in self._postflop_seats(leaf)
        ]
        return self._leaf_spot(leaf, "AsKsQs", (ranges[0], ranges[1]), chips_per_unit)

    def range_text(self, edge: tuple[int, int], min_weight: float = 0.0) -> str:
        """Return the range after a (node, action) as a text for a spot, rounded to 4 decimals."""
        weights = np.maximum(np.round(self.class_weights(edge), WEIGHT_DIGITS), min_weight)
        deck = self.arena.deck
        by_hand = np.zeros(FULL_DECK.num_hands)
        low, high = deck.hand_cards.T
        by_hand[high * (high - 1) // 2 + low] = weights[deck.hand_class]
        return str(Range(by_hand)) if by_hand.any() else ""

    def node_view(self, line: str = "") -> NodeView:
        """Return the acting seat's policy and EVs at the node after a line.

        EVs are the game's utilities: chips won in the whole hand, or prizes.
        """
        node = self.find(line)
        if isinstance(node, PreflopLeaf):
            raise ConfigError(f"line {line!r} ends the betting: no seat acts after it")
        number = self.arena.tree.nodes.index(node)
        deck = self.arena.deck
        action_value, mass = self._action_values(node.seat)
        first, width = self.arena.node_sequence[number], len(node.actions)
        part = slice(first, first + width * deck.num_classes)
        policy = self.policy.probabilities[part].reshape(-1, width).T[:, deck.hand_class]
        by_class = action_value[part].reshape(-1, width).T
        reached = mass[part].reshape(-1, width)[:, 0]
        weights = self.class_weights(node.parent)[deck.hand_class]
        values = by_class[:, deck.hand_class]
        return NodeView(
            history=",".join(node.history),
            board="preflop",
            pot=node.pot,  # type: ignore[arg-type]
            player=node.seat,
            actions=node.actions,
            hands=tuple(cards_name(reversed(hand)) for hand in deck.hand_cards.tolist()),
            weight=weights,
            policy=policy,
            value=(policy * values).sum(axis=0),
            action_value=values,
            equity=np.full(deck.num_hands, math.nan),
            opponent_mass=(reached / np.maximum(deck.class_sizes, 1))[deck.hand_class],
            is_reached=bool((weights * reached[deck.hand_class]).any()),
        )

    def _action_values(self, seat: int) -> tuple[Floats, Floats]:
        """Return the value of every sequence [S] of a seat, and its counterfactual reach."""
        arena = self.arena
        results = []
        for compute in (arena.gradient, arena.cf_reach):
            total = np.zeros(arena.num_sequences + 1)
            compute(seat, self._reach, total)
            for number in reversed(arena.node_order):
                if arena.tree.nodes[number].seat == seat:
                    self._add_to_parent(number, total)
            results.append(total[:-1])
        value, mass = results
        return np.divide(value, mass, out=np.zeros_like(value), where=mass > 0.0), mass

    def _add_to_parent(self, number: int, total: Floats) -> None:
        """Add the mean of a node's sequences under the policy to the seat's sequence before it."""
        arena = self.arena
        first, width = arena.node_sequence[number], len(arena.tree.nodes[number].actions)
        part = slice(first, first + width * arena.deck.num_classes)
        mean = (total[part] * self.policy.probabilities[part]).reshape(-1, width).sum(axis=1)
        infosets = slice(
            arena.node_infoset[number], arena.node_infoset[number] + arena.deck.num_classes
        )
        np.add.at(total, arena.form.parent[infosets], mean)

    def spot(self, line: str, board: str, chips_per_unit: int = 100) -> Spot:
        """Return the spot that a line leads to on a board, with both ranges, pot and stacks.

        Args:
            line: actions that leave two seats with chips in the pot.
            board: 3 to 5 cards.
            chips_per_unit: whole chips of the spot for one unit of the game's amounts.

        Raises:
            ConfigError: the line does not end the betting with two seats, or one is all-in.
        """
        leaf = self.find(line)
        if isinstance(leaf, PreflopNode):
            acting, known = self.game.seat_names[leaf.seat], ", ".join(leaf.actions)
            raise ConfigError(f"line {line!r} does not end the betting: {acting} acts ({known})")
        if len(leaf.contenders) != 2 or leaf.is_all_in:
            count = len(leaf.contenders)
            problem = "players are all-in" if leaf.is_all_in else f"{count} seats are left in"
            raise ConfigError(f"line {line!r} is not a spot: {problem}; a spot has two with chips")
        deck_names = [name for name, deck in SPOT_DECKS.items() if deck == self.arena.deck]
        if not deck_names:
            raise ConfigError("spots have 52 cards, or 36 in short deck: this is another deck")
        order = self._postflop_seats(leaf)
        ranges = [self.range_text(leaf.last[seat]) for seat in order]
        for seat, text in zip(order, ranges, strict=True):
            if not text:
                name = self.game.seat_names[seat]
                raise ConfigError(f"line {line!r} is never played: {name} has no hands there")
        return self._leaf_spot(leaf, board, (ranges[0], ranges[1]), chips_per_unit, deck_names[0])

    def _postflop_seats(self, leaf: PreflopLeaf) -> list[int]:
        """Return the contenders of a leaf in the order of action after the flop."""
        return [seat for seat in self.game.postflop_order if seat in leaf.contenders]

    def _leaf_spot(
        self,
        leaf: PreflopLeaf,
        board: str,
        ranges: tuple[str, str],
        chips_per_unit: int,
        deck: str = "standard",
    ) -> Spot:
        """Return the spot after a leaf with these ranges."""
        order = self._postflop_seats(leaf)
        left = [self.game.stacks[seat] - leaf.contributions[seat] for seat in order]
        data = {"board": "AsKsQs", "ranges": ranges, "pot": 1, "stacks": 1}
        sizes = Spot.from_dict(data | {"sizes": self.game.solved_flops.sizes}).sizes
        return Spot(
            board=board,
            ranges=ranges,
            sizes=sizes,
            pot=round(sum(leaf.contributions) * chips_per_unit),
            stacks=(round(left[0] * chips_per_unit), round(left[1] * chips_per_unit)),
            deck=deck,
            rake=self.game.rake,
            rake_cap=math.inf
            if self.game.rake_cap is None
            else self.game.rake_cap * chips_per_unit,
        )


def solve_preflop(
    game: PreflopGame,
    algorithm: str = DEFAULT_ALGORITHM,
    *,
    iterations: int = 1000,
    target: float = 0.0,
    report: Report | None = None,
    stop: Callable[[], bool] | None = None,
    notify: Callable[[str], None] | None = None,
) -> PreflopSolution:
    """Solve a game by an algorithm of the CFR family until no seat gains more than a target.

    Args:
        game: the game.
        algorithm: an algorithm on sequences.
        iterations: iterations at most.
        target: stop when the largest gain of a seat from deviating is at most this.
        report: called with the iteration and the largest gain at every judgement.
        stop: called several times a second; True ends the run.
        notify: called with a message before flops are solved.

    Returns:
        The average policy with the exact values and gains of all seats.

    Raises:
        ConfigError: the algorithm does not run on sequences, or the game cannot be built.
    """

    method = as_algorithm(algorithm)

    def run(factors: Floats | None) -> PreflopSolution:
        arena = PreflopArena(game, factors)
        check_runs_on(method, arena)
        return _solve_arena(arena, method, iterations, target, report, stop)

    solution = run(None)
    if game.leaves == "solved_flops":
        factors = np.ones((len(solution.arena.tree.leaves), game.num_seats, 169))
        for _ in range(game.solved_flops.rounds):
            if stop and stop():
                break
            factors = measure_factors(solution, factors, notify)
            solution = run(factors)
    return solution


def measure_factors(
    solution: PreflopSolution, factors: Floats, notify: Callable[[str], None] | None = None
) -> Floats:
    """Return the factors [Z, P, C] that solved flops give, with the ranges of a solution.

    Args:
        solution: its ranges are those of the spots.
        factors: those of lines that are played too rarely to be solved.
        notify: called with a message for the user.
    """
    config, tree = solution.game.solved_flops, solution.arena.tree
    reach = solution.leaf_reach()
    played = [
        z for z, leaf in enumerate(tree.leaves) if has_flop(leaf) and reach[z] > config.min_reach
    ]
    spots = [solution.wide_spot(tree.leaves[z]) for z in played]

    def settings(spot: Spot) -> ReportSettings:
        return ReportSettings(config.target / 100.0 * spot.pot, iterations=config.iterations)

    result = factors.copy()
    solved = spots_factors(spots, config.flops, settings, notify)
    for z, by_player in zip(played, solved, strict=True):
        result[z, solution._postflop_seats(tree.leaves[z])] = by_player
    return result


def _solve_arena(
    arena: PreflopArena,
    algorithm: AnyAlgorithm,
    iterations: int,
    target: float,
    report: Report | None,
    stop: Callable[[], bool] | None,
) -> PreflopSolution:
    """Solve an arena until no seat gains more than a target."""
    session = SolveSession(arena, algorithm, algorithm.init(arena, 0))
    while True:
        goal = min(next_ten_per_decade(session.iteration), iterations)
        stopped = session.advance(goal, stop=stop)
        policy = next(iter(session.policies().values()))
        judgement = judge(arena, policy)
        gains = np.maximum(judgement.best_values - judgement.values, 0.0)
        if report:
            report(session.iteration, float(gains.max()))
        if stopped or gains.max() <= target or session.iteration >= iterations:
            return PreflopSolution(policy, judgement.values, gains, session.iteration)


def load_preflop_solution(path: str | Path) -> PreflopSolution:
    """Read a file written by `PreflopSolution.save`.

    Raises:
        FileError: the file is damaged or holds something else.
    """
    content = read_archive(path, PREFLOP_FORMAT)
    try:
        game = dict(content["game"])
        arena = PreflopArena(PreflopGame.from_dict(game), content.get("realised_factors"))
        policy = Policy(arena, content["probabilities"])
        values, gains = np.asarray(content["values"]), np.asarray(content["gains"])
        if values.shape != (game_seats := (arena.num_players,)) or gains.shape != game_seats:
            raise ConfigError("values do not fit the seats")
        return PreflopSolution(policy, values, gains, int(content["iterations"]))
    except (ConfigError, KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path}: not a whole solution ({error})") from error
