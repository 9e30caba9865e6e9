"""All extreme equilibria of a two-player game, from the vertices of best-response polytopes."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.tableau import Tableau, best_response_tableaus, enumerate_vertices
from counterplay.matrix.verification import Equilibrium, verify_equilibrium

MAX_TABLEAU_ENTRIES = 12_000_000  # of the largest possible number of tableaus; some seconds


@dataclass(frozen=True)
class ExtremeEquilibria:
    """Every extreme equilibrium, and whether the game is degenerate.

    In a degenerate game some mixture has more best responses than actions in its support. Such a
    game may have infinitely many equilibria: if listed equilibria share the mixture of one player,
    their mixtures are equilibria; more generally, so are mixtures of listed mixtures that are
    pairwise equilibria.
    """

    equilibria: tuple[Equilibrium, ...]
    is_degenerate: bool


def support_enumeration(form: NormalForm) -> ExtremeEquilibria:
    """Return all extreme equilibria of a two-player game (Mangasarian, 1964; Avis et al., 2010).

    With utilities A, B > 0, a vertex x of {x >= 0, B' x <= 1} has as labels the rows that it does
    not play and the columns that are best responses to it, a vertex y of {y >= 0, A y <= 1} the
    rows that are best responses and the columns that it does not play. Every support, with its best
    responses, occurs as a set of labels. A pair that has all labels, scaled to sum 1, is an
    equilibrium, and every equilibrium is a mixture of such pairs.

    Vertices are computed in exact arithmetic, so that none is lost and degeneracy is exact, for any
    units and range of the utilities. Only the final probabilities are rounded.

    Raises:
        ConfigError: if the game is not a two-player game, or its polytopes have too many vertices.
    """
    if form.num_players != 2:
        raise ConfigError(f"support_enumeration needs two players, not {form.num_players}")
    if not can_enumerate_vertices(form):
        size = " x ".join(map(str, form.shape))
        raise ConfigError(
            f"the polytopes of {size} actions may have {sum(max_vertices(form)):,} vertices, too "
            "many to visit; lemke_howson finds one equilibrium of such a game"
        )
    rows, columns = form.shape
    (x, x_labels), (y, y_labels) = map(_list_vertices, best_response_tableaus(form))
    missing = (1 - x_labels) @ (1 - y_labels).T  # number of labels that neither has
    equilibria = [
        verify_equilibrium(form, (x[i], y[j]), "support_enumeration")
        for i, j in np.argwhere(missing == 0)
    ]
    assert equilibria, "every game has an equilibrium (Nash, 1950)"
    is_degenerate = x_labels.sum(axis=1).max() > rows or y_labels.sum(axis=1).max() > columns
    return ExtremeEquilibria(tuple(equilibria), bool(is_degenerate))


def max_vertices(form: NormalForm) -> list[int]:
    """Return the largest number of vertices of each player's polytope (McMullen, 1970)."""
    facets = sum(form.shape)
    return [sum(comb(facets - (n + k) // 2, facets - n) for k in (1, 2)) for n in form.shape]


def can_enumerate_vertices(form: NormalForm) -> bool:
    """Return True if enumerating all vertices of a two-player game takes seconds at most."""
    entries = [
        count * rows * (sum(form.shape) + 1)
        for count, rows in zip(max_vertices(form), reversed(form.shape), strict=True)
    ]
    return sum(entries) <= MAX_TABLEAU_ENTRIES


def _list_vertices(start: Tableau) -> tuple[Floats, Floats]:
    """Return the vertices [V, n], small supports first, and their labels [V, m + n] (0 or 1)."""
    size = len(start.slack_labels) + len(start.mixture_labels)
    vertices = [
        (mixture, [float(labels >> label & 1) for label in range(size)])
        for labels, mixture in enumerate_vertices(start).items()
    ]
    vertices.sort(key=lambda vertex: (np.count_nonzero(vertex[0]), vertex[1]))
    mixtures, labels = zip(*vertices, strict=True)
    return np.array(mixtures), np.array(labels, np.float32)
