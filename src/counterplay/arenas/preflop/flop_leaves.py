"""Leaves of preflop trees valued by solved flops.

Where two seats see a flop with chips left, the spot that they are in is solved on a weighted set of
flops, with the ranges of the solution so far. The EV of a class of hands, divided by its equity
times the pot, is the part of its equity that the class realises:

    factor = EV / (equity * pot after rake)

The preflop game is then solved again with these factors, and so on for a number of rounds. Every
class is in both ranges with at least `MIN_CLASS_WEIGHT`, so that the EV of hands that do not play
the line is known, too: it decides whether a seat would gain by playing it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from counterplay.arenas.holdem.equity import compute_equity
from counterplay.arenas.holdem.flop_report import ReportSettings, report_flops
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.arenas.preflop.betting import PreflopLeaf
from counterplay.arenas.preflop.deck import FULL_DECK
from counterplay.core.arena import Floats
from counterplay.core.parallel import map_calls
from counterplay.core.solve import solve
from counterplay.kernels.holdem import street_walk
from counterplay.registry import load_registered_algorithm

MIN_CLASS_WEIGHT = 0.001  # of a class in the ranges of a spot
MIN_EQUITY = 0.01  # of a class that has a factor; others have the factor 1
MAX_FACTOR = 3.0  # larger ones are rounding: they need an equity of nearly 0


@dataclass(frozen=True)
class ClassSums:
    """Sums over the hands of each class on one flop, [2, C] by player in the order of the spot."""

    mass: Floats  # pairs of hands that can be dealt
    value: Floats  # EV times mass
    equity: Floats  # equity times mass


def solve_classes(spot: Spot, settings: ReportSettings) -> ClassSums:
    """Solve a spot on its flop, and return the sums of EV and equity by class of hands."""
    arena = SpotArena(spot, settings.precision)
    policy = solve(
        arena,
        load_registered_algorithm(settings.algorithm),
        iterations=settings.iterations,
        target=settings.target,
        evaluate_at=settings.next_evaluation,
    ).policy
    tables = arena.policy_tables(policy)
    equity_by_hand = compute_equity(*spot.ranges, spot.board).by_hand
    sums = np.zeros((3, 2, FULL_DECK.num_classes))
    for player in (0, 1):
        hands, opponent = arena.hands[player], arena.hands[1 - player]
        mass = hands.compatible_mass(opponent, opponent.weight)
        values = arena.walk(player, tables, street_walk.MODE_MEAN) * arena.total_pair_weight
        classes = FULL_DECK.hand_class[hands.index]
        rows = (mass, values, mass * np.nan_to_num(equity_by_hand[player][hands.index]))
        for row, numbers in enumerate(rows):
            np.add.at(sums[row, player], classes, numbers)
    return ClassSums(*sums)


def class_factors(sums: list[ClassSums], weights: list[float], pot: float) -> Floats:
    """Return the factors [2, C] of a spot, given the sums on weighted flops.

    Args:
        sums: by flop.
        weights: of the flops.
        pot: chips of the spot after rake.
    """
    mass, value, equity = (
        sum(w * getattr(part, name) for w, part in zip(weights, sums, strict=True))
        for name in ("mass", "value", "equity")
    )
    share = np.divide(equity, mass, out=np.zeros_like(mass), where=mass > 0.0)
    has_factor = share > MIN_EQUITY
    ratio = np.divide(value, equity * pot, out=np.ones_like(mass), where=has_factor)
    return np.clip(np.where(has_factor, ratio, 1.0), 0.0, MAX_FACTOR)


def spots_factors(
    spots: list[Spot],
    flops: str,
    settings: Callable[[Spot], ReportSettings],
    notify: Callable[[str], None] | None = None,
) -> list[Floats]:
    """Return the factors [2, C] of spots; all flops of all spots are independent calls.

    Args:
        spots: their boards are replaced by the flops.
        flops: the set of flops, as in reports.
        settings: returns how a spot is solved.
        notify: called with a message for the user.
    """
    _, weighted_flops = report_flops(flops)
    if notify:
        notify(f"solving {len(spots)} lines on {len(weighted_flops)} flops each")
    calls = [
        (replace(spot, board=flop.name), settings(spot))
        for spot in spots
        for flop in weighted_flops
    ]
    results: list[ClassSums] = map_calls(solve_classes, calls)
    weights, count = [flop.weight for flop in weighted_flops], len(weighted_flops)
    factors = []
    for number, spot in enumerate(spots):
        pot = spot.pot - min(spot.pot * spot.rake, spot.rake_cap)
        sums = results[number * count : (number + 1) * count]
        factors.append(class_factors(sums, weights, pot))
    return factors


def has_flop(leaf: PreflopLeaf) -> bool:
    """Return True if two seats with chips left see a flop after a leaf."""
    return len(leaf.contenders) == 2 and not leaf.is_all_in
