"""Versions of kernels that kernels call: without machine code, and kept on disk."""

from __future__ import annotations

import gc
import importlib.util
import sys

import pytest

from counterplay.kernels.runtime import inner_versions

pytest.importorskip("numba")

SOURCE = """
from counterplay.kernels.runtime.jit import fma_row_kernel, kernel, noinline_kernel


@kernel
def double(x):
    return x + x


@noinline_kernel
def halve(x):
    return x / 2


@fma_row_kernel
def square(x):
    return x * x


@kernel
def combine(x):
    return double(x) + halve(x) + square(x)


@kernel
def combine_again(x):
    return square(double(x)) - halve(x)
"""


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module.double, "stats"):
        pytest.skip("nothing is compiled")
    return module


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "called_kernels.py"
    path.write_text(SOURCE)
    return path


def test_called_kernels_have_no_machine_code(path, tmp_path):
    module = load(path, "called_1")
    assert module.combine(4.0) == 8.0 + 2.0 + 16.0
    assert [len(module.combine.overloads), len(module.double.overloads)] == [1, 0]
    kept = {file.name.partition("-")[0] for file in (tmp_path / "cache").rglob("*.inner.*.nbc")}
    assert {name.rpartition(".")[2] for name in kept} == {"double", "halve", "square"}
    assert module.double(4.0) == 8.0  # a call from Python compiles the rest
    assert len(module.double.overloads) == 1


def test_versions_are_read_from_disk(path, monkeypatch):
    assert load(path, "called_2").combine(4.0) == 26.0
    module = load(path, "called_2")
    for name in ("double", "halve", "square"):
        method = getattr(module, name).get_call_template.__self__
        monkeypatch.setattr(method, "_compile", lambda args: sys.exit("compiled again"))
    assert module.combine_again(4.0) == 64.0 - 2.0
    assert module.combine_again(3.0) == 36.0 - 1.5


def test_damaged_versions_are_made_again(path, tmp_path):
    assert load(path, "called_3").combine(4.0) == 26.0
    files = list((tmp_path / "cache").rglob("*.inner.*"))
    assert files
    for file in files:
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(bytes(data))
    assert load(path, "called_3").combine_again(4.0) == 62.0


@pytest.mark.parametrize("threshold", [700, 10**7, 0])
def test_garbage_is_collected_rarely_while_numba_compiles(threshold):
    before = gc.get_threshold()
    try:
        gc.set_threshold(threshold, *before[1:])
        with inner_versions.compiling(), inner_versions.compiling():
            meanwhile = gc.get_threshold()[0]
        assert gc.get_threshold() == (threshold, *before[1:])
    finally:
        gc.set_threshold(*before)
    assert meanwhile == (max(threshold, inner_versions.NUM_ALLOCATIONS) if threshold else 0)


def test_thresholds_are_restored_after_an_error():
    before = gc.get_threshold()
    with pytest.raises(RuntimeError), inner_versions.compiling():
        raise RuntimeError
    assert gc.get_threshold() == before


def test_both_ways_to_compile_collect_rarely(path, monkeypatch):
    thresholds = []
    compile_extra = inner_versions.compiler.compile_extra

    def record(*args, **options):
        thresholds.append(gc.get_threshold()[0])
        return compile_extra(*args, **options)

    module = load(path, "called_rarely")
    monkeypatch.setattr(inner_versions.compiler, "compile_extra", record)
    module.combine(3.0)
    assert len(thresholds) == 4  # the kernel and the three that it calls
    assert set(thresholds) == {inner_versions.NUM_ALLOCATIONS}
