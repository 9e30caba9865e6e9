"""Nash equilibria of a normal-form game, by a method chosen by its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterplay.errors import ConfigError, RunError, suggestion
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.solvers.lemke_howson import lemke_howson
from counterplay.matrix.solvers.nash_nlp import nash_nlp
from counterplay.matrix.solvers.support_enumeration import (
    can_enumerate_vertices,
    support_enumeration,
)
from counterplay.matrix.solvers.support_systems import has_support_systems, support_systems
from counterplay.matrix.solvers.zero_sum_lp import zero_sum_lp
from counterplay.matrix.verification import Equilibrium

MAX_LABELS_FOR_ALL = 40  # games with more labels run lemke_howson from NUM_SAMPLED_LABELS of them
NUM_SAMPLED_LABELS = 8
SAME_MIXTURE_TOLERANCE = 1e-6  # between solutions of different methods


@dataclass(frozen=True)
class NashEquilibria:
    """Equilibria of a game, the method that found them, and a note about unlisted equilibria."""

    equilibria: tuple[Equilibrium, ...]
    method: str
    note: str
    is_complete: bool = False  # all are listed; of a degenerate game, all extreme ones


def nash_equilibria(form: NormalForm, method: str | None = None) -> NashEquilibria:
    """Return the Nash equilibria that a method finds.

    Args:
        form: the normal form of the game.
        method: a key of `METHODS`; if None, the most complete method for the size of the game.

    Raises:
        ConfigError: if the method is unknown, or the game is too large for it.
        RunError: if an equilibrium is not accurate.

    Example:
        >>> import counterplay as cp
        >>> form = cp.matrix.normal_form_from_game(cp.load_game("chicken"))
        >>> result = cp.matrix.nash_equilibria(form)
        >>> len(result.equilibria), result.is_complete
        (3, True)
    """
    if not isinstance(form, NormalForm):
        kind = type(form).__name__
        raise ConfigError(
            f"{kind} is no normal form: write cp.matrix.NormalForm(...), "
            "cp.matrix.normal_form_from_game(game)"
        )
    name = method or _choose_method(form)
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise ConfigError(f"unknown method {name!r}{suggestion(name, METHODS)} (known: {known})")
    return METHODS[name](form)


def _choose_method(form: NormalForm) -> str:
    if form.num_players == 2:
        if can_enumerate_vertices(form):
            return "support_enumeration"
        return "zero_sum_lp" if form.is_constant_sum else "lemke_howson"
    return "support_systems" if has_support_systems(form) else "nash_nlp"


def _solve_by_lp(form: NormalForm) -> NashEquilibria:
    note = "one of possibly many; all have the same values and interchangeable mixtures"
    return NashEquilibria((zero_sum_lp(form),), "zero_sum_lp", note)


def _solve_by_supports(form: NormalForm) -> NashEquilibria:
    equilibria = support_enumeration(form).equilibria
    note = "these are all"
    for player in (0, 1):
        mixtures = {equilibrium.profile[player].tobytes() for equilibrium in equilibria}
        if len(mixtures) < len(equilibria):  # two share a mixture: the other's can be mixed
            note = (
                "the game is degenerate: all extreme equilibria are listed; some mixtures of them "
                "are equilibria too"
            )
    return NashEquilibria(equilibria, "support_enumeration", note, is_complete=bool(equilibria))


def _solve_by_pivoting(form: NormalForm) -> NashEquilibria:
    equilibria: list[Equilibrium] = []
    num_failures, num_labels = 0, sum(form.shape)
    step = max(1, num_labels // NUM_SAMPLED_LABELS) if num_labels > MAX_LABELS_FOR_ALL else 1
    labels = range(0, num_labels, step)
    for label in labels:
        try:
            equilibrium = lemke_howson(form, label)
        except RunError:
            num_failures += 1
            continue
        if not any(_is_same_equilibrium(equilibrium, other) for other in equilibria):
            equilibria.append(equilibrium)
    note = f"from {len(labels)} of {num_labels} labels; there may be more"
    if num_failures:
        note += f"; {num_failures} paths were too long to follow"
    return NashEquilibria(tuple(equilibria), "lemke_howson", note)


def _solve_by_nlp(form: NormalForm) -> NashEquilibria:
    note = "all pure ones, and mixed ones from 20 starts; there may be more"
    return NashEquilibria(nash_nlp(form), "nash_nlp", note)


def _solve_by_systems(form: NormalForm) -> NashEquilibria:
    result = support_systems(form)
    if not result.is_degenerate:
        note = "these are all: the polynomial system of every support was solved"
        return NashEquilibria(result.equilibria, "support_systems", note, is_complete=True)
    equilibria = list(result.equilibria)
    for equilibrium in nash_nlp(form):
        if not any(_is_near(equilibrium, other) for other in equilibria):
            equilibria.append(equilibrium)
    note = (
        "the game is degenerate: all isolated solutions of the supports' systems, and members of "
        "continua from 20 starts; there may be more"
    )
    return NashEquilibria(tuple(equilibria), "support_systems", note)


def _is_near(first: Equilibrium, second: Equilibrium) -> bool:
    pairs = zip(first.profile, second.profile, strict=True)
    return all(np.abs(a - b).max() < SAME_MIXTURE_TOLERANCE for a, b in pairs)


def _is_same_equilibrium(first: Equilibrium, second: Equilibrium) -> bool:
    return all(
        map(np.array_equal, first.profile, second.profile)
    )  # exact solutions, rounded at the end


METHODS: dict[str, Callable[[NormalForm], NashEquilibria]] = {
    "zero_sum_lp": _solve_by_lp,
    "support_enumeration": _solve_by_supports,
    "lemke_howson": _solve_by_pivoting,
    "nash_nlp": _solve_by_nlp,
    "support_systems": _solve_by_systems,
}
