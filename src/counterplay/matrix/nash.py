"""Nash equilibria by the method that suits the game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterplay.errors import ConfigError, RunError, suggestion
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.solvers import lemke_howson as pivoting
from counterplay.matrix.solvers import nash_nlp as programme
from counterplay.matrix.solvers import support_enumeration as supports
from counterplay.matrix.solvers.zero_sum_lp import zero_sum_lp
from counterplay.matrix.verification import Equilibrium

MAX_LABELS_FOR_ALL, NUM_SAMPLED_LABELS = (
    40,
    8,
)  # beyond so many labels, lemke_howson starts from a few


@dataclass(frozen=True)
class NashEquilibria:
    """The equilibria found, by which method, and what is known about those not listed."""

    equilibria: tuple[Equilibrium, ...]
    method: str
    note: str
    is_complete: bool = False  # whether all are listed; of a degenerate game, all extreme ones


def nash_equilibria(form: NormalForm, method: str | None = None) -> NashEquilibria:
    """All equilibria found by a method, or by the most telling one that the game's size allows.

    >>> import counterplay as cp
    >>> found = cp.matrix.nash_equilibria(cp.matrix.normal_form_from_game(cp.load_game("chicken")))
    >>> len(found.equilibria), found.is_complete
    (3, True)
    """
    if not isinstance(form, NormalForm):
        kind = type(form).__name__
        raise ConfigError(
            f"{kind} is no normal form: write cp.matrix.NormalForm(...), cp.matrix.normal_form_from_game(game)"
        )
    name = method or _choose_method(form)
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise ConfigError(f"unknown method {name!r}{suggestion(name, METHODS)} (known: {known})")
    return METHODS[name](form)


def _choose_method(form: NormalForm) -> str:
    if form.num_players == 2:
        if supports.can_enumerate_vertices(form):
            return "support_enumeration"
        return "zero_sum_lp" if form.is_constant_sum else "lemke_howson"
    return "nash_nlp"


def _solve_by_lp(form: NormalForm) -> NashEquilibria:
    note = "one of possibly many; all have the same values, and their mixtures can be exchanged"
    return NashEquilibria((zero_sum_lp(form),), "zero_sum_lp", note)


def _solve_by_supports(form: NormalForm) -> NashEquilibria:
    found = supports.support_enumeration(form).equilibria
    note = "these are all"
    if any(len({one.profile[p].tobytes() for one in found}) < len(found) for p in (0, 1)):
        # where two share one player's mixture, all mixtures of the other's are equilibria too
        note = "the game is degenerate: all extreme equilibria are listed, some mixtures are more"
    return NashEquilibria(found, "support_enumeration", note, is_complete=bool(found))


def _solve_by_pivoting(form: NormalForm) -> NashEquilibria:
    found: list[Equilibrium] = []
    failed, total = 0, sum(form.shape)
    labels = range(
        0, total, max(1, total // NUM_SAMPLED_LABELS) if total > MAX_LABELS_FOR_ALL else 1
    )
    for label in labels:
        try:
            one = pivoting.lemke_howson(form, label)
        except RunError:
            failed += 1
            continue
        if not any(_is_same_equilibrium(one, other) for other in found):
            found.append(one)
    note = f"from {len(labels)} of {total} labels; there may be more"
    if failed:
        note += f"; {failed} paths were too long to follow"
    return NashEquilibria(tuple(found), "lemke_howson", note)


def _solve_by_nlp(form: NormalForm) -> NashEquilibria:
    found = programme.nash_nlp(form)
    note = "all pure ones, and mixed ones from 20 starts; there may be more"
    return NashEquilibria(found, "nash_nlp", note)


def _is_same_equilibrium(first: Equilibrium, second: Equilibrium) -> bool:
    return all(map(np.array_equal, first.profile, second.profile))  # they are exact until rounded


METHODS: dict[str, Callable[[NormalForm], NashEquilibria]] = {
    "zero_sum_lp": _solve_by_lp,
    "support_enumeration": _solve_by_supports,
    "lemke_howson": _solve_by_pivoting,
    "nash_nlp": _solve_by_nlp,
}
