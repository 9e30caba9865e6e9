"""Trees that many tests share, built once per process."""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import counterplay as cp

settings.register_profile(
    "counterplay",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("counterplay")


@cache
def built(spec: str) -> cp.TreeArena:
    return cp.build_tree(cp.load_game(spec))


def counted(script, *arguments):
    """What a script of `benchmarks/` counts, line by line.

    In a process of its own: it forks, which other tests' threads would not survive.
    """
    command = [sys.executable, "-m", f"benchmarks.{script}", *map(str, arguments)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def answer(algorithm, arena, memory):
    """The policy with the guarantee."""
    return next(iter(algorithm.policies(arena, memory).values()))


@pytest.fixture(autouse=True)
def forget_own_modules():
    """What a test has imported from its own folder is not there for the next one."""
    before = set(sys.modules)
    yield
    for name in sys.modules.keys() - before:
        if "pytest-of-" in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.fixture(scope="session", autouse=True)
def own_state_folder(tmp_path_factory):
    """Consent, keys and tokens of tests are not those of the user who runs them."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("user_state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


@pytest.fixture
def kuhn() -> cp.TreeArena:
    return built("kuhn_poker")


@pytest.fixture
def leduc() -> cp.TreeArena:
    return built("leduc_poker")


LONGEST = 600  # seconds that a test may take, on the busiest of machines
STDERR = pytest.StashKey[int]()


def pytest_configure(config):
    config.stash[STDERR] = os.dup(2)  # that of the process, which tests do not capture


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A test that hangs says where, and takes its process with it; the others go on."""
    if not item.get_closest_marker("slow"):
        faulthandler.dump_traceback_later(LONGEST, exit=True, file=item.config.stash[STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


NO_BROWSER = "no Chromium"  # what browser tests say when they are skipped


def pytest_unconfigure(config):
    """The last line says it if browser tests were not run."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    count = sum(NO_BROWSER in str(report.longrepr) for report in skipped)
    if count:
        advice = "install chromium and chromium-driver (`make browser`), then test again"
        line = f"{count} BROWSER TESTS NOT RUN: {NO_BROWSER} was found; {advice}"
        reporter.write_line(line, red=True, bold=True)


def pytest_collection_modifyitems(items):
    """Mark the tests that `extended_tests.txt` lists: each takes 1.6 CPU seconds or more."""
    listed = set((Path(__file__).parent / "extended_tests.txt").read_text().splitlines())
    for item in items:
        if item.nodeid.split("@")[0] in listed:
            item.add_marker(pytest.mark.extended)
