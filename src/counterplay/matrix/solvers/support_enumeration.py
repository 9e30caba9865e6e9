"""All equilibria of a two-player game, by all vertices of both best-response polytopes."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.tableau import Tableau, enumerate_vertices, integers_from_utilities
from counterplay.matrix.verification import Equilibrium, verify_equilibrium

MAX_TABLEAU_ENTRIES = 12_000_000  # of all tableaus, if there are as many as can be; some seconds


@dataclass(frozen=True)
class ExtremeEquilibria:
    """Every extreme equilibrium, and whether the game is degenerate.

    A degenerate game, in which some mixture has more best responses than actions of its own, may
    have infinitely many equilibria: if listed ones share the mixture of one player, mixtures of
    them are equilibria, and more generally all mixtures of listed mixtures that are all equilibria
    with each other.
    """

    equilibria: tuple[Equilibrium, ...]
    is_degenerate: bool


def support_enumeration(form: NormalForm) -> ExtremeEquilibria:
    """All extreme equilibria of a two-player game (Mangasarian, 1964; Avis et al., 2010).

    With utilities A, B > 0, a vertex x of {x >= 0, B' x <= 1} has as labels the rows that it does
    not play and the columns that are best responses to it, a vertex y of {y >= 0, A y <= 1} the
    rows that are best responses and the columns that it does not play. Every support with the best
    responses that go with it is met as a set of labels. A pair that has all labels, scaled to
    sum 1, is an equilibrium, and every equilibrium is a mixture of such pairs.

    The vertices are found in exact arithmetic, whatever the units and the range of the utilities:
    none is lost, and degenerate means degenerate. Only the probabilities are rounded, at the end.
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
    first, second = form.utility
    x, x_labels = _list_vertices(
        Tableau(integers_from_utilities(second.T), first_slack_label=rows, first_mixture_label=0)
    )
    y, y_labels = _list_vertices(
        Tableau(integers_from_utilities(first), first_slack_label=0, first_mixture_label=rows)
    )
    missing = (1 - x_labels) @ (1 - y_labels).T  # how many labels neither has
    found = [
        verify_equilibrium(form, (x[i], y[j]), "support_enumeration")
        for i, j in np.argwhere(missing == 0)
    ]
    assert found, "every game has an equilibrium (Nash, 1950)"
    more = x_labels.sum(axis=1).max() > rows or y_labels.sum(axis=1).max() > columns
    return ExtremeEquilibria(tuple(found), bool(more))


def max_vertices(form: NormalForm) -> list[int]:
    """How many vertices the polytope of each player can have (McMullen, 1970)."""
    facets = sum(form.shape)
    return [sum(comb(facets - (own + k) // 2, facets - own) for k in (1, 2)) for own in form.shape]


def can_enumerate_vertices(form: NormalForm) -> bool:
    """Whether all vertices of a two-player game can be visited."""
    entries = [
        count * rows * (sum(form.shape) + 1)
        for count, rows in zip(max_vertices(form), reversed(form.shape), strict=True)
    ]
    return sum(entries) <= MAX_TABLEAU_ENTRIES


def _list_vertices(start: Tableau) -> tuple[Floats, Floats]:
    """The vertices [V, n], small supports first, and their labels [V, m + n] as zeros and ones."""
    size = len(start.slack_labels) + len(start.mixture_labels)
    found = [
        (mixture, [float(labels >> label & 1) for label in range(size)])
        for labels, mixture in enumerate_vertices(start).items()
    ]
    found.sort(key=lambda one: (np.count_nonzero(one[0]), one[1]))
    mixtures, labels = zip(*found, strict=True)
    return np.array(mixtures), np.array(labels, np.float32)
