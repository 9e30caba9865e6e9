"""Memories as named arrays and back."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import pytest

from counterplay.core.state_io import (
    find_invalid_value,
    find_layout_mismatch,
    flatten_memory,
    memory_layout,
    restore_memory,
    wait_until_ready,
)
from counterplay.errors import ConfigError, RunError
from counterplay.experiment.checkpoint import RunProgress, load_checkpoint, write_checkpoint
from counterplay.experiment.config import load_config
from tests.experiment.conftest import config
from tests.experiment.toy_algorithms import Pair, Toy


@dataclass
class Memory:
    iteration: int
    part: Any


def test_paths_name_every_leaf(kuhn):
    stored = flatten_memory(Toy().init(kuhn))
    assert sorted(stored.arrays) == ["other.mean", "trail.0", "trail.1.0", "weights.empty", FIRST]
    assert stored.scalars == {
        "iteration": 0,
        "other.count": 0,
        "trail.1.1": True,
        "nothing": None,
        "flag": False,
    }
    assert stored.jax_paths == []


FIRST = "weights.first"


def test_round_trip_is_exact(kuhn):
    memory = Toy().step(kuhn, Toy().init(kuhn, seed=1), 7)
    again = restore_memory(Toy().init(kuhn, seed=2), flatten_memory(memory))
    assert again.iteration == 7
    assert isinstance(again.other, Pair)
    assert isinstance(again.trail[1], tuple)
    assert again.trail[0].dtype == np.int8
    assert again.weights["empty"].shape == (0, 2)
    assert again.trail[1][1] is True
    np.testing.assert_array_equal(again.weights["first"], memory.weights["first"])
    np.testing.assert_array_equal(again.other.mean, memory.other.mean)


def test_numbers_of_any_kind():
    memory = Memory(10**30, {"pi": math.pi, "inf": -math.inf, "word": "x", 3: np.int64(4)})
    again = restore_memory(memory, flatten_memory(memory))
    assert again == memory
    assert type(again.part[3]) is int


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (np.zeros(3), r"part is float64 \[2\], must be float64 \[3\]"),
        (np.zeros(2, np.float32), r"part is float64 \[2\], must be float32 \[2\]"),
        (None, r"part is float64 \[2\], must be None"),
        ([np.zeros(2)], r"part is float64 \[2\], must be nothing"),
    ],
)
def test_what_does_not_fit_is_refused(other, message):
    with pytest.raises(ConfigError, match=message):
        restore_memory(Memory(0, other), flatten_memory(Memory(0, np.zeros(2))))


def test_memories_must_be_plain():
    with pytest.raises(RunError, match="a memory cannot hold a set"):
        flatten_memory(Memory(0, {1, 2}))
    with pytest.raises(RunError, match=r"same name 'part\.a\.b'"):
        flatten_memory(Memory(0, {"a.b": 1, "a": {"b": 2}}))


def test_invalid_values_are_found():
    good = Memory(0, {"a": np.array([1e9, 2.0]), "b": np.array([10**12]), "c": 3.0})
    assert find_invalid_value(good) == ""
    assert find_invalid_value(good, ["other"]) == ""
    assert (
        find_invalid_value(good, ["part"])
        == "memory.part.a has diverged to 1e+09 (the limit is 1e+06)"
    )
    assert find_invalid_value(Memory(0, np.array([[1.0, np.nan]]))) == "memory.part holds NaN"
    assert find_invalid_value(Memory(0, [np.float32([-np.inf])])) == "memory.part.0 holds infinity"
    assert find_invalid_value(Memory(0, math.nan)) == "memory.part holds NaN"


@pytest.fixture
def jax_memory():
    jax = pytest.importorskip("jax")
    key = jax.random.PRNGKey(3)
    return Memory(
        5,
        {
            "nets": [{"w": jax.random.normal(key, (3, 2)), "b": np.ones(2, np.float32)}],
            "key": key,
            "typed key": jax.random.key(4),
            "half": jax.numpy.arange(3, dtype=jax.numpy.bfloat16) / 7,
            "count": jax.numpy.int32(7),
        },
    )


def test_jax_arrays_survive_a_checkpoint(jax_memory, tmp_path):
    import jax

    settings = load_config(config("deep_hedge"))
    write_checkpoint(tmp_path, settings, "kuhn_poker", RunProgress(step=5), jax_memory)
    stored = load_checkpoint(tmp_path, settings, "kuhn_poker")
    again = stored.restore_memory(jax_memory)
    assert memory_layout(again) == memory_layout(jax_memory)
    assert isinstance(again.part["nets"][0]["b"], np.ndarray)
    for name in ("key", "half", "count"):
        assert isinstance(again.part[name], jax.Array)
        assert again.part[name].dtype == jax_memory.part[name].dtype
        np.testing.assert_array_equal(np.asarray(again.part[name]), jax_memory.part[name])
    draws = [jax.random.normal(m.part["typed key"], 3) for m in (again, jax_memory)]
    np.testing.assert_array_equal(*draws)
    wait_until_ready(again)
    assert find_invalid_value(again, ["part"]) == ""


def test_an_array_may_move_to_the_device_later(jax_memory):
    """Some memories start as NumPy arrays and become JAX ones at the first step."""
    import jax

    start = replace(jax_memory, part=np.zeros(2, np.float32))
    later = replace(jax_memory, part=jax.numpy.ones(2))
    assert find_layout_mismatch(memory_layout(start), memory_layout(later)) == ""
    assert isinstance(restore_memory(start, flatten_memory(later)).part, jax.Array)


def test_health_of_jax_arrays(jax_memory):
    jax_memory.part["half"] = jax_memory.part["half"] / 0.0
    assert find_invalid_value(jax_memory) == "memory.part.half holds NaN"
    assert [field.name for field in fields(jax_memory)] == ["iteration", "part"]
