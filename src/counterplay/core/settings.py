"""Frozen dataclasses of parameters, whose types and bounds are checked when they are made.

Bounds are part of a field's type, as `annotated_types` constraints:

    @settings()
    class Sampler:
        epsilon: Probability = 0.6
        num_traversals: PositiveInt = 100

Configs check the same constraints by pydantic, which reads them from the annotations too.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, wraps
from math import inf
from types import SimpleNamespace
from typing import (
    Annotated,
    Any,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from annotated_types import Ge, Gt, Interval, Le, Lt, Predicate

from counterplay.errors import ConfigError

Class = TypeVar("Class", bound=type)

NonNegativeInt = Annotated[int, Ge(0)]
PositiveInt = Annotated[int, Ge(1)]
NonNegative = Annotated[float, Ge(0.0), Lt(inf)]
Positive = Annotated[float, Gt(0.0), Lt(inf)]
Probability = Annotated[float, Ge(0.0), Le(1.0)]
PositiveProbability = Annotated[float, Gt(0.0), Le(1.0)]
DiscountFactor = Annotated[float, Ge(0.0), Lt(1.0)]


def _has_positive_sizes(sizes: tuple[int, ...]) -> bool:
    """at least one layer, each with at least 1 unit"""
    return bool(sizes) and min(sizes) >= 1


def _has_positive_or_no_sizes(sizes: tuple[int, ...]) -> bool:
    """layers with at least 1 unit each, or none"""
    return not sizes or min(sizes) >= 1


HiddenSizes = Annotated[tuple[int, ...], Predicate(_has_positive_sizes)]
OptionalHiddenSizes = Annotated[tuple[int, ...], Predicate(_has_positive_or_no_sizes)]


@dataclass_transform(frozen_default=True)
def settings(*, kw_only: bool = False) -> Callable[[Class], Class]:
    """Return a decorator that makes a frozen dataclass whose parameters are checked.

    A parameter must have the type of its default (an int may stand for a float) and satisfy the
    constraints of its annotation. The check runs before the `__post_init__` of the class, which
    checks relations between parameters. The methods of an algorithm run on the zero-sum form of a
    constant-sum arena (see `core.constant_sum`).

    Args:
        kw_only: whether parameters are given by name only.

    Example:
        >>> @settings()
        ... class Sampler:
        ...     epsilon: Probability = 0.6
        >>> Sampler(epsilon=2.0)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        counterplay.errors.ConfigError: ...Sampler: epsilon is 2.0, must be at least 0 and at most 1
    """

    def decorate(cls: Any) -> Any:
        check_relations = cls.__dict__.get("__post_init__")

        @wraps(check_relations or check_fields)
        def check(self: Any) -> None:
            check_fields(self)
            if check_relations:
                check_relations(self)
            elif hasattr(super(cls, self), "__post_init__"):
                super(cls, self).__post_init__()

        cls.__post_init__ = check
        if all(hasattr(cls, name) for name in ("runs_on", "init", "step", "policies")):
            from counterplay.core.constant_sum import run_on_zero_sum_arenas

            run_on_zero_sum_arenas(cls)
        return dataclass(frozen=True, kw_only=kw_only)(cls)

    return decorate


def check_fields(parameters: Any) -> None:
    """Raise ConfigError if a parameter has another type than its default, or breaks a bound."""
    cls: Any = type(parameters)
    constraints = field_constraints(cls)
    for field in fields(parameters):
        value = getattr(parameters, field.name)
        problem = type_problem(value, field.default)
        if not problem and field.name in constraints:
            problem = bound_problem(value, constraints[field.name])
        if problem:
            from counterplay.registry import get_registry_name

            raise ConfigError(f"{get_registry_name(parameters)}: {field.name} is {problem}")


@cache
def field_constraints(cls: type) -> dict[str, tuple[Any, ...]]:
    """Return the constraints in the annotations of a dataclass's fields, by field name."""
    constraints: dict[str, tuple[Any, ...]] = {}
    for base in reversed(cls.__mro__):
        names = vars(sys.modules[base.__module__]) if base.__module__ in sys.modules else {}
        for name, annotation in inspect.get_annotations(base).items():
            kind = _evaluate(annotation, names)
            constraints.pop(name, None)
            if get_origin(kind) is Annotated:
                constraints[name] = get_args(kind)[1:]
    return constraints


def _evaluate(annotation: Any, names: dict[str, Any]) -> Any:
    """Evaluate a postponed annotation; None if it uses a name imported for type checkers only."""
    if not isinstance(annotation, str):
        return annotation
    holder = SimpleNamespace(__annotations__={"field": annotation})
    try:
        return get_type_hints(holder, names, include_extras=True)["field"]
    except (NameError, TypeError):
        return None


def bound_problem(value: Any, constraints: tuple[Any, ...]) -> str:
    """Return the problem of a value that breaks one of these constraints, or ""."""
    simple = [part for constraint in constraints for part in _simple_constraints(constraint)]
    if all(_is_satisfied(value, constraint) for constraint in simple):
        return ""
    return f"{value}, must be {describe_constraints(simple)}"


def _simple_constraints(constraint: Any) -> list[Any]:
    return list(constraint) if isinstance(constraint, Interval) else [constraint]


def _is_satisfied(value: Any, constraint: Any) -> bool:
    match constraint:
        case Ge():
            return bool(value >= constraint.ge)
        case Gt():
            return bool(value > constraint.gt)
        case Le():
            return bool(value <= constraint.le)
        case Lt():
            return bool(value < constraint.lt)
        case Predicate():
            return bool(constraint.func(value))
    return True


def describe_constraints(constraints: list[Any]) -> str:
    """Describe constraints in words, such as "above 0 and at most 1"."""
    words = []
    for constraint in constraints:
        match constraint:
            case Ge():
                words.append(f"at least {constraint.ge:g}")
            case Gt():
                words.append("positive" if constraint.gt == 0 else f"above {constraint.gt:g}")
            case Le():
                words.append(f"at most {constraint.le:g}")
            case Lt():
                words.append("finite" if constraint.lt == inf else f"below {constraint.lt:g}")
            case Predicate():
                words.append(str(constraint.func.__doc__))
    return " and ".join(words)


def check_type(what: str, value: Any, default: Any) -> None:
    """Raise ConfigError if a value is not of the default's type."""
    if problem := type_problem(value, default):
        raise ConfigError(f"{what} is {problem}")


def type_problem(value: Any, default: Any) -> str:
    """Return the problem of a value's type, or ""; an int may stand for a float."""
    kind = type(default)
    if kind not in (bool, int, float, str, tuple) or not is_literal(value):
        return ""  # other objects are checked by the class of the parameters
    fits = isinstance(value, (int, float) if kind is float else kind)
    if fits and (kind is bool or not isinstance(value, bool)):
        return ""
    return f"{value!r}, must be of type {kind.__name__}"


def is_literal(value: Any) -> bool:
    """Return True if a value is a Python literal, or a container of them."""
    return isinstance(value, (bool, int, float, str, bytes, tuple, list, dict, set, type(None)))
