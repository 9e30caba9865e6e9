"""Algorithms of the user that the page New run offers.

A page never names a file. It can choose the algorithms that the user named when the studio was
started (`counterplay studio --algorithm my_rules.py:MyCFR`), and those of listed runs whose code
the user has allowed. Their code runs in workers and runs only, never in the server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from counterplay.core.trust import code_reference, code_source, trust
from counterplay.errors import ConfigError
from counterplay.registry import is_user_class
from counterplay.studio.server.run_index import RunInfo, algorithm_from_config


class OwnAlgorithms:
    """The user's algorithms by their spec, `/path/to/file.py:Class`."""

    def __init__(self, named: Iterable[str], list_runs: Callable[[], Iterable[RunInfo]]):
        self.named, self.list_runs = tuple(named), list_runs

    def list_specs(self) -> list[str]:
        """Return the algorithms whose code is allowed as it is now; those named first."""
        specs = [*self.named, *(_class_spec(algorithm_from_config(r.config)) for r in self._runs())]
        return [spec for spec in dict.fromkeys(specs) if _is_allowed(spec)]

    def __contains__(self, spec: object) -> bool:
        return isinstance(spec, str) and _class_spec(spec) in self.list_specs()

    def _runs(self) -> list[RunInfo]:
        return list(self.list_runs())


def allow_algorithm(spec: str) -> str:
    """Allow the code of an algorithm that the user names; return the spec with an absolute path.

    Raises:
        ConfigError: the spec is not of the form `file.py:Class`, or there is no such file.
    """
    if not is_user_class(spec) or "(" in spec:
        raise ConfigError(f"{spec!r} is not an algorithm of yours; write file.py:Class")
    source = code_source(spec)
    trust(source)
    path = str(Path(source).resolve()) if source.endswith(".py") else source
    return f"{path}:{spec.rpartition(':')[2].strip()}"


def _class_spec(spec: str) -> str:
    """Return a spec without parameters."""
    return spec.partition("(")[0].strip()


def _is_allowed(spec: str) -> bool:
    if not spec or not is_user_class(spec):
        return False
    reference = code_reference(spec)
    return reference is not None and reference.is_allowed
