"""All equilibria of a three-player game with at most two actions each, support by support.

Let x_i be the probability of player i's second action and g_i the gain of the second action over
the first, a polynomial in the others' probabilities with one term for each subset of them. For
every support profile, the players that mix solve g_i = 0, and the others satisfy the sign of g_i
(Datta, 2010). With three players the systems are small enough to be solved exactly: factors of
single variables first, then one quadratic equation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isqrt, sqrt

import numpy as np

from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.verification import Equilibrium, verify_equilibrium

Number = Fraction | float  # exact, or a rounded irrational root
Gain = dict[frozenset[int], Fraction]  # coefficient of the product of these players' variables
Values = dict[int, Number]  # by player

SIGN_TOLERANCE = 1e-10  # of gains at irrational roots, relative to the coefficients


class ContinuumError(Exception):
    """Raised if a system has infinitely many solutions."""


@dataclass(frozen=True)
class IsolatedEquilibria:
    """Equilibria of a game, and whether some support has a continuum of candidates."""

    equilibria: tuple[Equilibrium, ...]
    is_degenerate: bool  # if not, these are all equilibria


def has_support_systems(form: NormalForm) -> bool:
    """Return True for three players with at most two actions each."""
    return form.num_players == 3 and max(form.shape) <= 2


def support_systems(form: NormalForm) -> IsolatedEquilibria:
    """Return all isolated equilibria of a three-player game with at most two actions each.

    If no support has a continuum of candidates, these are all equilibria of the game.

    Raises:
        ConfigError: if the game has another size.
    """
    if not has_support_systems(form):
        size = " x ".join(map(str, form.shape))
        raise ConfigError(f"support_systems needs three players with two actions, not {size}")
    gains = [_gain(form, player) for player in range(3)]
    equilibria: dict[tuple[float, ...], Equilibrium] = {}
    is_degenerate = False
    for support in product(*[(0, 1, None) if count == 2 else (0,) for count in form.shape]):
        pure: Values = {p: Fraction(x) for p, x in enumerate(support) if x is not None}
        mixed = [p for p in range(3) if p not in pure]
        try:
            for values in _solve([gains[p] for p in mixed], mixed, pure):
                if _is_equilibrium(gains, values, mixed):
                    probabilities = tuple(float(values[p]) for p in range(3))
                    profile = tuple(
                        np.array([1.0 - x, x][:count])
                        for x, count in zip(probabilities, form.shape, strict=True)
                    )
                    equilibria[probabilities] = verify_equilibrium(form, profile, "support_systems")
        except ContinuumError:
            is_degenerate = True
    return IsolatedEquilibria(tuple(equilibria.values()), is_degenerate)


def _gain(form: NormalForm, player: int) -> Gain:
    """Return the gain of the player's second action as a polynomial of the others' variables."""
    first, second = [p for p in range(3) if p != player]
    gain: Gain = {frozenset(): Fraction(0)}
    if form.shape[player] == 1:
        return gain
    table = np.moveaxis(form.utility[player], player, 0)

    def difference(a: int, b: int) -> Fraction:
        a, b = min(a, table.shape[1] - 1), min(b, table.shape[2] - 1)
        return Fraction(float(table[1, a, b])) - Fraction(float(table[0, a, b]))

    corner = difference(0, 0)
    gain[frozenset()] = corner
    gain[frozenset({first})] = difference(1, 0) - corner
    gain[frozenset({second})] = difference(0, 1) - corner
    gain[frozenset({first, second})] = (
        difference(1, 1) - difference(1, 0) - difference(0, 1) + corner
    )
    return gain


def _substitute(gain: Gain, values: Values) -> Gain:
    """Return a polynomial with known variables replaced; values must be exact."""
    result: Gain = {}
    for players, coefficient in gain.items():
        rest = frozenset(p for p in players if p not in values)
        for p in players - rest:
            coefficient = coefficient * Fraction(values[p])
        result[rest] = result.get(rest, Fraction(0)) + coefficient
    return {players: c for players, c in result.items() if c}


def _solve(system: list[Gain], unknowns: list[int], values: Values) -> Iterator[Values]:
    """Yield all solutions of a system of gains; the number of unknowns is that of equations.

    Raises:
        ContinuumError: if there are infinitely many.
    """
    system = [_substitute(gain, values) for gain in system]
    if any(gain.keys() == {frozenset()} for gain in system):
        return  # a constant other than zero
    unknowns = [p for p in unknowns if p not in values]
    if not unknowns:
        yield values
        return
    system = [gain for gain in system if gain]
    for gain in system:
        roots = _single_variable_roots(gain)
        if roots:
            for player, root in roots:
                yield from _solve(system, unknowns, values | {player: root})
            return
    if len(system) < len(unknowns):
        raise ContinuumError
    yield from _solve_quadratic(system, unknowns, values)


def _single_variable_roots(gain: Gain) -> list[tuple[int, Fraction]]:
    """Return (variable, root) of each linear factor of one variable, if there are any."""
    variables = sorted(frozenset().union(*gain))
    constant = gain.get(frozenset(), Fraction(0))
    linear = [gain.get(frozenset({p}), Fraction(0)) for p in variables]
    if len(variables) == 1:
        return [(variables[0], -constant / linear[0])]
    both = gain.get(frozenset(variables), Fraction(0))
    if both == 0 or constant * both != linear[0] * linear[1]:
        return []
    return [(variables[0], -linear[1] / both), (variables[1], -linear[0] / both)]


def _solve_quadratic(system: list[Gain], unknowns: list[int], values: Values) -> Iterator[Values]:
    """Yield the solutions of three equations without linear factors, each in two variables.

    Two equations give x and y as fractions of linear functions of z; the third becomes quadratic.
    """
    x, y, z = unknowns
    by_variables = {frozenset().union(*gain): gain for gain in system}

    def fraction_of(player: int) -> tuple[tuple[Fraction, Fraction], tuple[Fraction, Fraction]]:
        """Return numerator and denominator [1, z] of a variable, from its equation with z."""
        gain = by_variables[frozenset({player, z})]
        constant, by_z, own, both = (
            gain.get(frozenset(key), Fraction(0)) for key in ((), (z,), (player,), (player, z))
        )
        return (-constant, -by_z), (own, both)

    (x_top, x_bottom), (y_top, y_bottom) = fraction_of(x), fraction_of(y)
    third = by_variables[frozenset({x, y})]
    no_players: frozenset[int] = frozenset()
    terms = (
        (no_players, x_bottom, y_bottom),
        (frozenset({x}), x_top, y_bottom),
        (frozenset({y}), x_bottom, y_top),
        (frozenset({x, y}), x_top, y_top),
    )
    quadratic = [Fraction(0)] * 3
    for key, a, b in terms:
        c = third.get(key, Fraction(0))
        parts = (a[0] * b[0], a[0] * b[1] + a[1] * b[0], a[1] * b[1])
        quadratic = [total + c * part for total, part in zip(quadratic, parts, strict=True)]
    for root in _quadratic_roots(*quadratic):
        bottoms = [part[0] + part[1] * root for part in (x_bottom, y_bottom)]
        if all(bottoms):  # else the equation has no solution at this z
            tops = [part[0] + part[1] * root for part in (x_top, y_top)]
            yield values | {z: root, x: tops[0] / bottoms[0], y: tops[1] / bottoms[1]}


def _quadratic_roots(c: Fraction, b: Fraction, a: Fraction) -> list[Number]:
    """Return the real roots of a z^2 + b z + c, exact if they are rational."""
    if not (a or b or c):
        raise ContinuumError
    if not a:
        return [-c / b] if b else []
    square = b * b - 4 * a * c
    if square < 0:
        return []
    root: Number = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if Fraction(root) ** 2 != square:
        # the larger root in size first: the difference of close numbers would lose digits
        larger = -float(b) - sqrt(square) if b > 0 else -float(b) + sqrt(square)
        return [larger / (2 * float(a)), 2 * float(c) / larger]
    return [(-b + root) / (2 * a), (-b - root) / (2 * a)] if root else [-b / (2 * a)]


def _is_equilibrium(gains: list[Gain], values: Values, mixed: list[int]) -> bool:
    """Return True if mixed probabilities are inside (0, 1) and pure players have no better."""
    if not all(0 < values[p] < 1 for p in mixed):
        return False
    for player, gain in enumerate(gains):
        if player in mixed:
            continue
        total: Number = Fraction(0)
        for players, coefficient in gain.items():
            term: Number = coefficient
            for p in players:
                term = term * values[p]
            total = total + term
        if isinstance(total, float):
            scale = max(abs(float(c)) for c in gain.values())
            total = 0.0 if abs(total) <= SIGN_TOLERANCE * scale else total
        if total > 0 if values[player] == 0 else total < 0:
            return False
    return True
