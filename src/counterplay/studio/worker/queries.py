"""Registration of the questions that a worker answers.

    @query("leaks")
    def list_infoset_losses(worker: StudioWorker, call: Call) -> JsonObject:
        ...

A call is a JSON object whose key "do" is the name of the question. The modules of `QUERY_MODULES`
register their questions when they are imported, in this order, until the question is found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

QUERY_MODULES = (
    *("library_queries", "play_queries", "tree_queries", "tree_layout"),
    *("spot_queries", "drill_queries", "review_queries", "report_queries", "trace_queries"),
)

Call = Mapping[str, Any]  # JSON from the server, which has validated it
JsonObject = dict[str, object]
QueryFunction = Callable[["StudioWorker", Call], object]
QueryT = TypeVar("QueryT", bound=QueryFunction)

_QUERIES: dict[str, QueryFunction] = {}


def query(name: str) -> Callable[[QueryT], QueryT]:
    """Return a decorator that registers the answer to a question."""

    def register(function: QueryT) -> QueryT:
        _QUERIES[name] = function
        return function

    return register


def find_query(name: str) -> QueryFunction:
    """Return the function that answers a question."""
    for module in QUERY_MODULES:
        if name in _QUERIES:
            break
        import_module(f"counterplay.studio.worker.{module}")
    if name not in _QUERIES:
        raise ConfigError(f"there is no question {name!r}")
    return _QUERIES[name]
