"""What numba keeps on disk: never stale, in a folder that can be written to, and no more of it
than the sources of now."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba import config, njit

import counterplay
from counterplay.core import game
from counterplay.kernels.runtime import jit
from counterplay.kernels.sampling import baselines, compiled_rules, episodes, traversals
from counterplay.registry import load_algorithm
from tests.conftest import game_tree

CALLER = """
from counterplay.kernels.runtime.jit import kernel
from counterplay.kernels.sampling.primitives import draw_bernoulli

@kernel
def twice(probability, rng):
    return draw_bernoulli(probability, rng) + draw_bernoulli(probability, rng)
"""
CALL = """
import numpy as np
from counterplay.kernels.caller import twice
print(twice(1.0, np.zeros(1, np.uint64)), sum(twice.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path):
    """A copy of the package with one kernel more, which calls a kernel of another file."""
    copy = tmp_path / "copy" / "counterplay"
    shutil.copytree(
        Path(counterplay.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    (copy / "kernels" / "caller.py").write_text(CALLER)
    return copy


def call(package, **places):
    """Result of `twice` for a fixed argument, and whether it came from the cache."""
    env = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    env |= {"PYTHONPATH": str(package.parent)} | {k: str(v) for k, v in places.items()}
    done = subprocess.run([sys.executable, "-c", CALL], env=env, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return tuple(map(int, done.stdout.split()))


def test_a_change_in_another_file_is_seen(package):
    folders = package / "kernels" / "__pycache__"
    assert call(package) == (2, 0)
    assert call(package) == (2, 1)
    before = list(folders.glob("sources-*"))
    draws = package / "kernels" / "sampling" / "primitives.py"
    draws.write_text(draws.read_text().replace("probability >= 1.0 or", "probability > 1.0 and"))
    assert call(package) == (0, 0)
    assert call(package) == (0, 1)
    after = list(folders.glob("sources-*"))
    assert len(before) == len(after) == 1
    assert before != after


def test_where_the_cache_is(package, tmp_path):
    """The user's choice, else the package's folder, else the user's cache, else none."""
    chosen, home, nowhere = (tmp_path / name for name in ("chosen", "home", "nowhere"))
    assert call(package, NUMBA_CACHE_DIR=chosen) == (2, 0)
    assert call(package, NUMBA_CACHE_DIR=chosen) == (2, 1)
    assert list(chosen.glob("*/sources-*/caller.twice*.nbc"))
    shutil.rmtree(package / "kernels" / "__pycache__", ignore_errors=True)
    (package / "kernels" / "__pycache__").touch()  # no folder can be made here now
    assert call(package, XDG_CACHE_HOME=home, HOME=home, LOCALAPPDATA=home)[0] == 2
    assert list(home.rglob("sources-*/caller.twice*.nbc"))
    nowhere.touch()
    assert call(package, XDG_CACHE_HOME=nowhere, HOME=nowhere, LOCALAPPDATA=nowhere) == (2, 0)


def test_constants_of_kernels_are_those_of_games():
    assert (jit.CHANCE, jit.TERMINAL) == (game.CHANCE, game.TERMINAL)


def test_iterations_on_compiled_rules_have_cache_files_of_their_own():
    """They share one code object, and numba names the files by qualified names."""
    kernels = (
        *(traversals.chance_sampling, traversals.external_sampling, traversals.average_sampling),
        traversals.external_sampling_by_infoset,
        *(episodes.outcome_sampling, episodes.lazy_outcome_sampling),
        *(episodes.probing, episodes.online_sampling),
    )
    for kernel in kernels:
        twin = getattr(compiled_rules, kernel.__name__)
        assert twin.__name__ == twin.__qualname__ == kernel.__name__


WALKS = {
    "chance_sampling": traversals.chance_sampling,
    "external_sampling": traversals.external_sampling,
    "external_sampling(draw_by_infoset=true)": traversals.external_sampling_by_infoset,
    "outcome_sampling": episodes.outcome_sampling,
    "outcome_sampling(lazy_averaging=true)": episodes.lazy_outcome_sampling,
    "online_outcome_sampling": episodes.online_sampling,
    "probing": episodes.probing,
    "vr_mccfr": baselines.decaying_baseline_sampling,
}


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.xfail(
    sys.version_info >= (3, 12), reason="seen on 3.13: right, but not as quick", strict=False
)
@pytest.mark.parametrize("name", WALKS)
def test_walks_count_no_references(name):
    """Numba counts the references to arrays unless it sees that it need not.

    It does not see it where one branch alone is the last to use an array, and then in no caller
    either: walks took 2.6 times as long.
    """
    tree, algorithm, kernel = game_tree("kuhn_poker"), load_algorithm(name), WALKS[name]
    algorithm.step(tree, algorithm.init(tree), 1)
    on_tree = next(one for one in kernel.signatures if "LazyNodes(" not in str(one))  # not on rules
    again = njit(on_tree, nogil=True, error_model="numpy")(kernel.py_func)
    (code,) = again.inspect_llvm().values()
    assert "define " in code
    assert "call void @NRT_incref" not in code


def test_kernels_that_cannot_be_kept_are_said_to_be_so_once(monkeypatch):
    """As where neither the package, nor the user's cache, nor $NUMBA_CACHE_DIR can be written."""
    monkeypatch.setattr(jit._SourceHashCacheImpl, "_locator_classes", [])
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/nowhere")
    jit.warn_uncached.cache_clear()
    with pytest.warns(RuntimeWarning, match=r"kept in /nowhere .*set NUMBA_CACHE_DIR") as caught:
        kernels = [jit.kernel(lambda x: x), jit.kernel(lambda x: x + 1)]
    jit.warn_uncached.cache_clear()
    assert len(caught) == 1
    assert not any(map(jit.keeps_compiled, kernels))
    assert not jit.is_compiled(*kernels)
    assert [kernel(1) for kernel in kernels] == [1, 2]


KERNELS_AND_BLAS = """
import sys
import numpy as np
from numba import njit
from counterplay.kernels.runtime import jit

@jit.kernel
def double(x):
    return x + x

@njit
def multiply(x):
    return np.dot(x, x)[0, 0] + np.linalg.det(x)

print(double(2.0), "scipy.linalg" in sys.modules)
print(multiply(2.0 * np.eye(2)), "scipy.linalg" in sys.modules)
"""


def test_kernels_do_not_import_linear_algebra_and_others_can():
    command = [sys.executable, "-c", KERNELS_AND_BLAS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["4.0", "False", "8.0", "True"], done.stderr
