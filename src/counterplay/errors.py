"""Every error that Counterplay raises on purpose; each says what, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CounterplayError(Exception):
    """Base of all errors below."""


class GameError(CounterplayError):
    """The rules of a game break the protocol of `counterplay.core.game.Game`."""


class ConfigError(CounterplayError):
    """A name, parameter or option is wrong."""


class RunError(CounterplayError):
    """A file or a computation cannot be used: damaged, foreign, too large, not converging."""


class FileError(RunError):
    """A file that was given cannot be used: missing, damaged, or of another kind."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """The clause "; did you mean 'x'?" for the closest known name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
