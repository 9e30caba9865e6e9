"""Memories of unfinished runs, so that a benchmark continues where it was interrupted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.core.state_io import MemoryLeaves, flatten_memory, restore_memory

SCALARS = "__scalars__"


def write_memory(path: Path, memory: Any) -> None:
    """Write a memory in place of the one before."""
    leaves = flatten_memory(memory)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    scalars = np.frombuffer(json.dumps(leaves.scalars).encode(), np.uint8)
    np.savez(part, **{SCALARS: scalars}, **leaves.arrays)
    part.replace(path)


def read_memory(path: Path, template: Any) -> Any:
    """Read a memory of the same layout as `template`, such as that of `algorithm.init`."""
    with np.load(path) as file:
        scalars = json.loads(file[SCALARS].tobytes())
        arrays = {name: file[name] for name in file.files if name != SCALARS}
    jax_paths = flatten_memory(template).jax_paths
    return restore_memory(template, MemoryLeaves(arrays, scalars, jax_paths))
