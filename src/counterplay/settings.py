"""Dataclasses of parameters whose types are checked when they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Any, TypeVar, dataclass_transform

from counterplay.errors import ConfigError

Class = TypeVar("Class", bound=type)


@dataclass_transform(frozen_default=True)
def settings(*, kw_only: bool = False) -> Callable[[Class], Class]:
    """Return a decorator that makes a frozen dataclass whose parameters are checked by type.

    A parameter must have the type of its default (an int may stand for a float). The check comes
    before the `__post_init__` of the class, so that this may compare numbers.

    Args:
        kw_only: whether parameters are given by name only.
    """

    def decorate(cls: Any) -> Any:
        check_ranges = cls.__dict__.get("__post_init__")

        @wraps(check_ranges or _nothing)
        def check(self: Any) -> None:
            check_types(self)
            if check_ranges:
                check_ranges(self)
            elif hasattr(super(cls, self), "__post_init__"):
                super(cls, self).__post_init__()

        cls.__post_init__ = check
        return dataclass(frozen=True, kw_only=kw_only)(cls)

    return decorate


def _nothing(self: Any) -> None:
    """A class without checks of its own."""


def check_types(parameters: Any) -> None:
    """Refuse an object with a parameter that is not of the type of its default."""
    for field in fields(parameters):
        value = getattr(parameters, field.name)
        if problem := type_problem(value, field.default):
            from counterplay.registry import spec_name

            raise ConfigError(f"{spec_name(parameters)}: {field.name} is {problem}")


def check_type(what: str, value: Any, default: Any) -> None:
    """Refuse a value that is not of the default's type."""
    if problem := type_problem(value, default):
        raise ConfigError(f"{what} is {problem}")


def type_problem(value: Any, default: Any) -> str:
    """Return what is wrong with the type of a value, or ""; an int may stand for a float."""
    kind = type(default)
    if kind not in (bool, int, float, str, tuple) or not is_literal(value):
        return ""  # objects of other kinds are checked by the class that takes them
    fits = isinstance(value, (int, float) if kind is float else kind)
    if fits and (kind is bool or not isinstance(value, bool)):
        return ""
    return f"{value!r}, must be of type {kind.__name__}"


def is_literal(value: Any) -> bool:
    """Return True if a value is a Python literal, or a container of them."""
    return isinstance(value, (bool, int, float, str, bytes, tuple, list, dict, set, type(None)))
