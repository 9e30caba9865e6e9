"""All equilibria of a two-player game, by trying all supports."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from counterplay.errors import ConfigError
from counterplay.matrix.checking import Equilibrium, is_nash, verified
from counterplay.matrix.normal_form import NormalForm
from counterplay.tree import Floats

MOST_ENTRIES = 8_000_000  # linear systems times actions; a few seconds
CHUNK = 50_000  # systems solved at once
SLACK = 1e-9  # constraints that are tight up to here are tight

Flags = Any  # arrays of booleans


@dataclass(frozen=True)
class Equilibria:
    """Every extreme equilibrium, and whether the game is degenerate.

    A degenerate game, in which some mixture has more best responses than actions of its own, may
    have infinitely many equilibria. They are the mixtures of listed ones that share the mixture of
    one player, or more generally of listed mixtures that are all equilibria with each other.
    """

    equilibria: tuple[Equilibrium, ...]
    degenerate: bool


def support_enumeration(form: NormalForm) -> Equilibria:
    """All extreme equilibria of a two-player game (after Mangasarian, 1964; Porter et al., 2004).

    With utilities A, B > 0, x is a vertex of {x >= 0, B' x <= 1} if and only if, for some supports
    of one size, x is positive only on rows S and makes columns T equally good with B[S, T]
    invertible:

        B[S, T]' x_S = 1,   x_S >= 0,   B' x <= 1

    Likewise y for A. A pair of vertices, scaled to sum 1, is an equilibrium if and only if x uses
    only best responses to y and y only best responses to x. So all pairs are found, in degenerate
    games too, where supports of unequal size meet.
    """
    if form.num_players != 2:
        raise ConfigError(f"support_enumeration needs two players, not {form.num_players}")
    if not is_small(form):
        size, systems = " x ".join(map(str, form.shape)), num_systems(form)
        raise ConfigError(
            f"{size} actions have {systems:,} pairs of supports, too many to try; "
            "lemke_howson finds one equilibrium of such a game"
        )
    first, second = form.unit[0] + 1.0, form.unit[1] + 1.0
    x, x_tight = _vertices(second.T)
    y, y_tight = _vertices(first)
    # neither plays an action that is not tight, not a best response, against the other
    wasted = (x > SLACK).astype(int) @ (~y_tight).astype(int).T
    wasted += (~x_tight).astype(int) @ (y > SLACK).astype(int).T
    pairs = np.argwhere(wasted == 0)
    found = [
        verified(form, (x[i], y[j]), "support_enumeration")
        for i, j in pairs
        if is_nash(form, (x[i] / x[i].sum(), y[j] / y[j].sum()))
    ]
    return Equilibria(tuple(found), _is_degenerate(x, x_tight) or _is_degenerate(y, y_tight))


def num_systems(form: NormalForm) -> int:
    """How many pairs of supports of equal size there are."""
    return comb(sum(form.shape), form.shape[0]) - 1


def is_small(form: NormalForm) -> bool:
    """Whether all pairs of supports of a two-player game can be tried."""
    return num_systems(form) * sum(form.shape) <= MOST_ENTRIES


def _vertices(matrix: Floats) -> tuple[Floats, Flags]:
    """The vertices [V, n] of {x >= 0, matrix x <= 1} but 0, and which rows [V, m] are tight."""
    num_rows, num_columns = matrix.shape
    points = []
    for size in range(1, min(num_rows, num_columns) + 1):
        columns = np.array(list(combinations(range(num_columns), size)))
        rows = np.array(list(combinations(range(num_rows), size)))
        pairs = len(columns) * len(rows)
        for start in range(0, pairs, CHUNK):
            r, c = np.divmod(np.arange(start, min(start + CHUNK, pairs)), len(columns))
            points.append(_solve(matrix, rows[r], columns[c]))
    x = _distinct(np.concatenate(points))
    return x, x @ matrix.T >= 1.0 - SLACK


def _solve(matrix: Floats, rows: Floats, columns: Floats) -> Floats:
    """The vertices that these systems have."""
    parts = matrix[rows[:, :, None], columns[:, None, :]]
    volume = np.linalg.norm(parts, axis=2).prod(axis=1)
    regular = np.abs(np.linalg.det(parts)) > 1e-11 * volume
    parts, columns = parts[regular], columns[regular]
    solved = np.linalg.solve(parts, np.ones((*parts.shape[:2], 1)))[:, :, 0]
    inside = solved.min(axis=1, initial=0.0) >= -SLACK
    x = np.zeros((int(inside.sum()), matrix.shape[1]))
    np.put_along_axis(x, columns[inside], np.maximum(solved[inside], 0.0), axis=1)
    return x[(x @ matrix.T).max(axis=1, initial=0.0) <= 1.0 + SLACK]


def _distinct(x: Floats) -> Floats:
    """The rows without repetitions, up to rounding; pure ones first."""
    _, first = np.unique(np.round(x, 8) + 0.0, axis=0, return_index=True)
    return x[np.sort(first)]


def _is_degenerate(x: Floats, tight: Flags) -> bool:
    return bool((tight.sum(axis=1) > (x > SLACK).sum(axis=1)).any())
