"""The errors that Counterplay raises; messages say what is wrong, where, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class CounterplayError(Exception):
    """The base class of all errors of this package.

    Example:
        >>> import counterplay as cp
        >>> try:
        ...     cp.load_game("kuhn")
        ... except cp.CounterplayError as error:
        ...     print(error)
        unknown game 'kuhn'; did you mean 'kuhn_poker'? (counterplay games lists all)
    """


class GameError(CounterplayError):
    """The rules of a game break the protocol of `counterplay.core.game.Game`.

    Example:
        >>> import counterplay as cp
        >>> cp.check_game(cp.games.KuhnPoker)
        Traceback (most recent call last):
        counterplay.errors.GameError: KuhnPoker is a class: write KuhnPoker()
    """


class ConfigError(CounterplayError):
    """A name, parameter or option is wrong.

    Example:
        >>> import counterplay as cp
        >>> cp.solve("kuhn_poker", iterations=0)
        Traceback (most recent call last):
        counterplay.errors.ConfigError: iterations is 0, must be at least 1
    """


class RunError(CounterplayError):
    """A file or a computation cannot be used: damaged, foreign, too large, not converging.

    Example:
        >>> import counterplay as cp
        >>> cp.load_policy("missing.json", "kuhn_poker")
        Traceback (most recent call last):
        counterplay.errors.RunError: there is no file missing.json
    """


class FileError(RunError):
    """A file that the user named cannot be used: missing, damaged, or of another kind."""


class SearchWarning(UserWarning):
    """An agent plays on with less than its settings say; commands print it as a note."""


class TimeLimitWarning(SearchWarning):
    """The time limit of a decision is too short for one iteration of a search."""


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the clause "; did you mean 'x'?" for the closest known name, or ""."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
