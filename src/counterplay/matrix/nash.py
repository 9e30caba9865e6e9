"""Nash equilibria by the method that suits the game."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from counterplay.errors import ConfigError, RunError, suggestion
from counterplay.matrix import lemke_howson as pivoting
from counterplay.matrix import nash_nlp as programme
from counterplay.matrix import support_enumeration as supports
from counterplay.matrix.checking import Equilibrium
from counterplay.matrix.normal_form import NormalForm
from counterplay.matrix.zero_sum_lp import zero_sum_lp

MANY_LABELS, FEW_LABELS = 40, 8  # beyond so many labels, lemke_howson starts from a few


@dataclass(frozen=True)
class NashEquilibria:
    """The equilibria found, by which method, and what is known about those not listed."""

    equilibria: tuple[Equilibrium, ...]
    method: str
    note: str
    complete: bool = False  # whether all are listed; of a degenerate game, all extreme ones


def nash_equilibria(form: NormalForm, method: str | None = None) -> NashEquilibria:
    """All equilibria found by a method, or by the most telling one that the game's size allows.

    >>> import counterplay as cp
    >>> found = cp.nash_equilibria(cp.normal_form(cp.load_game("chicken")))
    >>> len(found.equilibria), found.complete
    (3, True)
    """
    if not isinstance(form, NormalForm):
        kind = type(form).__name__
        raise ConfigError(
            f"{kind} is no normal form: write cp.NormalForm(...), cp.normal_form(game)"
        )
    name = method or _suitable(form)
    if name not in METHODS:
        known = ", ".join(METHODS)
        raise ConfigError(f"unknown method {name!r}{suggestion(name, METHODS)} (known: {known})")
    return METHODS[name](form)


def _suitable(form: NormalForm) -> str:
    if form.num_players == 2:
        if supports.is_small(form):
            return "support_enumeration"
        return "zero_sum_lp" if form.constant_sum else "lemke_howson"
    return "nash_nlp"


def _by_lp(form: NormalForm) -> NashEquilibria:
    note = "one of possibly many; all have the same values, and their mixtures can be exchanged"
    return NashEquilibria((zero_sum_lp(form),), "zero_sum_lp", note)


def _by_supports(form: NormalForm) -> NashEquilibria:
    found = supports.support_enumeration(form).equilibria
    note = "these are all"
    if any(len({one.profile[p].tobytes() for one in found}) < len(found) for p in (0, 1)):
        # where two share one player's mixture, all mixtures of the other's are equilibria too
        note = "the game is degenerate: all extreme equilibria are listed, some mixtures are more"
    return NashEquilibria(found, "support_enumeration", note, complete=bool(found))


def _by_pivoting(form: NormalForm) -> NashEquilibria:
    found: list[Equilibrium] = []
    failed, total = 0, sum(form.shape)
    labels = range(0, total, max(1, total // FEW_LABELS) if total > MANY_LABELS else 1)
    for label in labels:
        try:
            one = pivoting.lemke_howson(form, label)
        except RunError:
            failed += 1
            continue
        if not any(_same(one, other) for other in found):
            found.append(one)
    note = f"from {len(labels)} of {total} labels; there may be more"
    if failed:
        note += f"; {failed} paths were too long to follow"
    return NashEquilibria(tuple(found), "lemke_howson", note)


def _by_programme(form: NormalForm) -> NashEquilibria:
    found = programme.nash_nlp(form)
    note = "all pure ones, and mixed ones from 20 starts; there may be more"
    return NashEquilibria(found, "nash_nlp", note)


def _same(one: Equilibrium, two: Equilibrium) -> bool:
    return all(map(np.array_equal, one.profile, two.profile))  # they are exact until rounded


METHODS: dict[str, Callable[[NormalForm], NashEquilibria]] = {
    "zero_sum_lp": _by_lp,
    "support_enumeration": _by_supports,
    "lemke_howson": _by_pivoting,
    "nash_nlp": _by_programme,
}
