"""Names of a package that are imported when they are first used.

`import counterplay`, the command line and the studio start quickly because a package such as
`counterplay.matrix` lists its public names and imports their modules on demand:

    __getattr__, __dir__, __all__ = lazy_exports(__name__, {"nash": ["nash_equilibria"]})

`tools/exports.py` writes the same names into `__init__.pyi`, for type checkers and editors.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from counterplay.errors import ConfigError
from counterplay.registry import missing_package_advice


def lazy_exports(
    package: str, names_by_module: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package with lazy names.

    Args:
        package: name of the package.
        names_by_module: public names by the module that defines them, given in full or, for a
            module of the package itself, relative to it.
    """
    module_by_name = {
        name: module if module.startswith("counterplay") else f"{package}.{module}"
        for module, names in names_by_module.items()
        for name in names
    }

    def get(name: str) -> Any:
        if name not in module_by_name:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            value = getattr(importlib.import_module(module_by_name[name]), name)
        except ModuleNotFoundError as error:
            advice = missing_package_advice(name, error)
            if not advice:
                raise
            return MissingExtra(name, advice)
        except ConfigError as error:  # the module says which package it needs
            if not isinstance(error.__cause__, ModuleNotFoundError):
                raise
            return MissingExtra(name, str(error))
        setattr(sys.modules[package], name, value)  # so that the next access is no call
        return value

    get.module_by_name = module_by_name  # type: ignore[attr-defined]  # read by tools/exports.py
    public = sorted(module_by_name)
    return get, lambda: public, public


def exports_from_registry(*registries: Mapping[str, str]) -> dict[str, list[str]]:
    """List the classes of registries as `lazy_exports` takes them: names by module."""
    names_by_module: dict[str, list[str]] = {}
    for registry in registries:
        for class_path in registry.values():
            module, name = class_path.split(":")
            names_by_module.setdefault(module, []).append(name)
    return names_by_module


class MissingExtra:
    """A placeholder for a name whose optional packages are not installed; its use raises advice."""

    def __init__(self, name: str, advice: str):
        self.__name__ = self.__qualname__ = name
        self.__doc__ = self._advice = advice

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        raise ConfigError(self._advice)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ConfigError(self._advice)

    def __repr__(self) -> str:
        return f"<{self._advice}>"
