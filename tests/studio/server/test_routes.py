"""Registration of API handlers and of worker queries."""

from __future__ import annotations

import pytest

import counterplay as cp
from counterplay.studio.server.game_routes import TREE_QUERIES
from counterplay.studio.server.routes import API_ROUTES, is_read_only
from counterplay.studio.worker.queries import find_query

pytest.importorskip("starlette")


def test_paths_and_methods_are_unique():
    from counterplay.studio.server.app import make_app

    assert callable(make_app)  # its import registers all handlers
    keys = [(route.method, route.path) for route in API_ROUTES]
    assert len(set(keys)) == len(keys) > 30


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/api/runs", True),
        ("HEAD", "/", True),
        ("POST", "/api/play", True),
        ("POST", "/api/play/0123456789abcdef/act", True),
        ("POST", "/api/matrix", True),
        ("POST", "/api/estimate/run", True),
        ("POST", "/api/spot/end", True),
        ("POST", "/api/spot/node", True),
        ("POST", "/api/range", True),
        ("POST", "/api/solutions", False),
        ("POST", "/api/library/ranges", False),
        ("DELETE", "/api/library/ranges/a", False),
        ("POST", "/api/runs", False),
        ("POST", "/api/runs/kuhn/20260101T000000Z/stop", False),
        ("POST", "/api/games/upload", False),
        ("POST", "/api/playground", False),
        ("POST", "/api/play/a/b/c", False),
        ("DELETE", "/api/play", False),
        ("DELETE", "/api/queue/1", False),
    ],
)
def test_only_some_posts_are_read_only(method, path, expected):
    import counterplay.studio.server.app  # noqa: F401 (registers all handlers)

    assert is_read_only(method, path) is expected


def test_worker_answers_every_tree_query():
    assert all(callable(find_query(name)) for name in TREE_QUERIES)
    with pytest.raises(cp.ConfigError, match="there is no question 'nothing'"):
        find_query("nothing")
