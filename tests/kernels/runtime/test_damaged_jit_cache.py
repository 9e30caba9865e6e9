"""Damaged files of the compiled kernels: read as missing, and written over."""

from __future__ import annotations

import importlib.util
import itertools
import random

import numpy as np
import pytest

pytest.importorskip("numba")

SOURCE = """
from numba import njit

from counterplay.kernels.runtime.jit_cache import ChecksummedCache


def kernel(function):
    compiled = njit(function)
    compiled._cache = ChecksummedCache(function)
    return compiled


@kernel
def double(x):
    return x + x


@kernel
def square(x):
    return x * x
"""
names = (f"cached_{number}" for number in itertools.count())


def hits(path):
    """Number of cache hits after both functions were called with two types."""
    spec = importlib.util.spec_from_file_location(next(names), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module.double, "stats"):
        pytest.skip("nothing is compiled")
    for value in (3, 2.5):
        assert module.double(value) == 2 * value
        assert module.square(value) == value * value
    return sum(sum(f.stats.cache_hits.values()) for f in (module.double, module.square))


@pytest.fixture
def source(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "kernels.py"
    path.write_text(SOURCE)
    assert hits(path) == 0
    return path


def files(path):
    return sorted(file for file in path.parent.rglob("*.nb?") if file.is_file())


def shorten(data, rng):
    return data[: rng.randrange(len(data))]


def flip(data, rng):
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def noise(data, rng):
    return rng.randbytes(rng.randrange(1000))


def zeros(data, rng):
    return bytes(len(data))


@pytest.mark.parametrize("damage", [shorten, flip, noise, zeros])
@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_damage_costs_only_time(source, damage, kind):
    assert len(files(source)) == 6
    assert hits(source) == 4
    rng = random.Random(kind + damage.__name__)
    for file in source.parent.rglob(kind):
        file.write_bytes(damage(file.read_bytes(), rng))
    assert hits(source) == 0
    assert hits(source) == 4


def test_exchanged_files(source):
    """As two processes leave them that number their files alike."""
    data = [file for file in files(source) if file.suffix == ".nbc"]
    contents = [file.read_bytes() for file in data]
    for file, content in zip(data, np.roll(np.array(contents, object), 1), strict=True):
        file.write_bytes(content)
    assert hits(source) == 0
    assert hits(source) == 4


def test_files_that_cannot_be_read_or_written(source):
    for file in files(source):
        file.unlink()
        file.mkdir()
    with pytest.warns(RuntimeWarning, match=r"cannot be kept in .*cache.*set NUMBA_CACHE_DIR"):
        assert hits(source) == 0
    assert hits(source) == 0  # and says so once
