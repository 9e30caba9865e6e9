"""Trees, fixtures and time limits that all tests share."""

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
import counterplay.algorithms  # lists its names before tests add to the registry

settings.register_profile(
    "counterplay",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("counterplay")


@cache
def game_tree(spec: str) -> cp.TreeArena:
    """Return the tree of a game, built once per process."""
    return cp.build_tree(cp.load_game(spec))


def run_benchmark(script, *arguments):
    """Return the JSON lines that a script of `benchmarks/` prints.

    The script runs in a separate process because it forks, which is not safe beside the threads
    of other tests.
    """
    command = [sys.executable, "-m", f"benchmarks.{script}", *map(str, arguments)]
    root = Path(__file__).parent.parent
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def main_policy(algorithm, arena, memory):
    """Return the first policy of an algorithm, which is the one with the guarantee."""
    return next(iter(algorithm.policies(arena, memory).values()))


@pytest.fixture(autouse=True)
def forget_modules_of_tests():
    """Remove the modules that a test imported from its temporary folder."""
    before = set(sys.modules)
    yield
    for name in sys.modules.keys() - before:
        if "pytest-of-" in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.fixture(scope="session", autouse=True)
def separate_state_folder(tmp_path_factory):
    """Keep consent, keys and tokens of tests apart from those of the user."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("user_state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


@pytest.fixture
def kuhn() -> cp.TreeArena:
    return game_tree("kuhn_poker")


@pytest.fixture
def leduc() -> cp.TreeArena:
    return game_tree("leduc_poker")


MAX_TEST_SECONDS = 600  # on a busy machine
STDERR = pytest.StashKey[int]()


def pytest_configure(config):
    config.stash[STDERR] = os.dup(2)  # stderr of the process, which tests do not capture


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Print the traceback of a test that hangs and end its process; other tests continue."""
    if not item.get_closest_marker("slow"):
        faulthandler.dump_traceback_later(
            MAX_TEST_SECONDS, exit=True, file=item.config.stash[STDERR]
        )
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


MAX_MEMORY_MAPS = 20_000  # of 65,530 that Linux allows a process; beyond them programs crash


def pytest_runtest_teardown(item, nextitem):
    """Drop the programs of JAX between files, if there are many: each takes several memory maps."""
    if nextitem is not None and nextitem.path == item.path:
        return
    maps, jax = Path("/proc/self/maps"), sys.modules.get("jax")
    if jax is not None and maps.exists() and maps.read_bytes().count(b"\n") > MAX_MEMORY_MAPS:
        jax.clear_caches()


NO_BROWSER = "no Chromium"  # reason with which browser tests are skipped


def pytest_unconfigure(config):
    """Print a last line if browser tests were skipped."""
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
        if item.nodeid in listed:
            item.add_marker(pytest.mark.extended)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Run the tests of a file in one process, so that their programs are compiled once.

    The files about hold'em share large kernels and count as one file.
    """
    from xdist.scheduler import LoadScopeScheduling

    class LoadByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::")[0]
            return "holdem" if "/arenas/holdem/" in file else file

    return LoadByFile(config, log) if config.getvalue("dist") == "loadfile" else None
