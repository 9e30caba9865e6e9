"""The catalogue read from sources equals the classes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import MISSING, fields

import pytest

from counterplay.registry import ALGORITHMS, GAMES, SEARCH_AGENTS, import_registered
from counterplay.studio.server.catalogue import build_catalogue


@pytest.mark.parametrize(("kind", "registry"), [("games", GAMES), ("algorithms", ALGORITHMS)])
def test_the_catalogue_is_what_the_classes_say(kind, registry):
    entries = build_catalogue()[kind]
    assert [entry["name"] for entry in entries] == list(registry)
    for entry in entries:
        cls = import_registered(registry, entry["name"])
        assert entry["summary"] and entry["doc"].startswith(entry["summary"])
        assert [field["name"] for field in entry["fields"]] == [f.name for f in fields(cls)]
        for told, real in zip(entry["fields"], fields(cls), strict=True):
            has_none = real.default is MISSING and real.default_factory is MISSING
            assert told["required"] == has_none
            if isinstance(real.default, (bool, int, float)) and not isinstance(
                told["default"], str
            ):
                assert told["default"] == real.default


def test_search_agents_have_their_needs_and_parameters():
    entries = {entry["name"]: entry for entry in build_catalogue()["search_agents"]}
    assert set(entries) == set(SEARCH_AGENTS) - {"blueprint_search", "hunl"}
    for name, entry in entries.items():
        cls = import_registered(SEARCH_AGENTS, name)
        assert entry["needs"] == cls.needs
        assert [field["name"] for field in entry["fields"]] == [f.name for f in fields(cls)]


def test_the_server_imports_no_solver():
    code = (
        "import sys, counterplay.studio.server.http_server\n"
        "from counterplay.studio.server.catalogue import build_catalogue; build_catalogue()\n"
        "print([m for m in ('numba', 'jax', 'scipy', 'ray', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
