"""The memory of any algorithm as named arrays and numbers, and back.

A memory is a dataclass whose fields are numbers, strings, None, NumPy or JAX arrays, or nested
dataclasses, dicts, lists and tuples of those. A leaf is named by its path, as in `strategy.0.bias`.
A memory that grows has no fixed layout: it says itself what it is made of, by `to_arrays`, and is
made of that again by `from_arrays`.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, RunError

MAX_MONITORED_VALUE = 1e6  # a network that learns has no weight of this size

SCALAR_TYPES = (bool, int, float, str, type(None), np.generic)
TYPE_NAMES = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    type(None): "None",
}
COMPATIBLE_TYPES = {  # beside itself
    "None": tuple(TYPE_NAMES.values()),
    "a number": ("an integer",),
}


@dataclass(frozen=True)
class MemoryLeaves:
    """A memory taken apart."""

    arrays: dict[str, Any]  # path -> NumPy array
    scalars: dict[str, Any]  # path -> number, string or None
    jax_paths: Collection[str]  # paths of the JAX arrays


def flatten_memory(memory: Any) -> MemoryLeaves:
    """Take a memory apart."""
    found = memory_leaves(memory)
    arrays = {path: leaf for path, leaf in found.items() if not isinstance(leaf, SCALAR_TYPES)}
    scalars = {path: leaf for path, leaf in found.items() if path not in arrays}
    return MemoryLeaves(
        arrays={path: _to_numpy(leaf) for path, leaf in arrays.items()},
        scalars={path: _python_scalar(leaf) for path, leaf in scalars.items()},
        jax_paths=[path for path, leaf in arrays.items() if _is_jax(leaf)],
    )


def restore_memory(template: Any, leaves: MemoryLeaves) -> Any:
    """Put a memory together again, shaped like `template`; `ConfigError` where it does not fit."""
    if _has_variable_size(template):
        return template.from_arrays(leaves.arrays | leaves.scalars)
    problem = find_layout_mismatch(
        memory_layout(template), _layout_from_leaves(leaves.arrays | leaves.scalars)
    )
    if problem:
        raise ConfigError(problem)

    def leaf(path: str, like: Any) -> Any:
        if path in leaves.scalars:
            return leaves.scalars[path]
        return _restore_array(like, leaves.arrays[path], path in leaves.jax_paths)

    return _rebuild(template, "", leaf)


def memory_layout(memory: Any) -> dict[str, str]:
    """Type and shape of every leaf, by path; nothing for a memory that grows."""
    return {} if _has_variable_size(memory) else _layout_from_leaves(memory_leaves(memory))


def find_layout_mismatch(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """The first difference between two layouts in words, or nothing."""
    for path in sorted(expected.keys() | actual.keys()):
        want, have = expected.get(path, "nothing"), actual.get(path, "nothing")
        if want != have and have not in COMPATIBLE_TYPES.get(want, ()):
            return f"{path} is {have}, must be {want}"
    return ""


def wait_until_ready(memory: Any) -> None:
    """Return once every array is computed: JAX hands them out before."""
    for leaf in () if _has_variable_size(memory) else memory_leaves(memory).values():
        if _is_jax(leaf):
            leaf.block_until_ready()


def find_invalid_value(memory: Any, monitored_paths: Collection[str] = ()) -> str:
    """What is wrong with the numbers of a memory, or nothing.

    Every number must be finite, and those under the `watched` paths smaller than `RUNAWAY`.
    """
    for path, leaf in memory_leaves(memory).items():
        largest = _max_abs(leaf)
        if not math.isfinite(largest):
            return f"memory.{path} holds {'NaN' if math.isnan(largest) else 'infinity'}"
        if largest > MAX_MONITORED_VALUE and any(
            f"{path}.".startswith(f"{name}.") for name in monitored_paths
        ):
            return f"memory.{path} has run away to {largest:.2g} (the limit is {MAX_MONITORED_VALUE:.0e})"
    return ""


def memory_leaves(memory: Any) -> dict[str, Any]:
    """Every number and array of a memory, by path."""
    found: dict[str, Any] = {}
    for path, leaf in _iter_leaves(memory, ""):
        if path in found:
            raise RunError(f"two parts of the memory have the same name {path!r}")
        found[path] = leaf
    return found


def _iter_leaves(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = _child_parts(part)
    if children is None:
        yield path, part
        return
    for name, child in children.items():
        yield from _iter_leaves(child, f"{path}.{name}" if path else str(name))


def _child_parts(part: Any) -> dict[Any, Any] | None:
    """The parts of a container; None for a leaf."""
    if isinstance(part, (*SCALAR_TYPES, np.ndarray)) or _is_jax(part):
        return None
    if _has_variable_size(part):
        return part.to_arrays()
    if is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    if isinstance(part, dict):
        return part
    if isinstance(part, (list, tuple)):
        return dict(zip(getattr(part, "_fields", range(len(part))), part, strict=True))
    raise RunError(
        f"a memory cannot hold a {type(part).__name__}; arrays and numbers are what it may"
    )


def _has_variable_size(memory: Any) -> bool:
    return hasattr(memory, "to_arrays")


def _rebuild(part: Any, path: str, leaf: Callable[[str, Any], Any]) -> Any:
    children = _child_parts(part)
    if children is None:
        return leaf(path, part)
    new = {
        name: _rebuild(child, f"{path}.{name}" if path else str(name), leaf)
        for name, child in children.items()
    }
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **new)
    if isinstance(part, dict):
        return new
    values = new.values()
    return type(part)(*values) if hasattr(part, "_fields") else type(part)(values)


def _layout_from_leaves(found: Mapping[str, Any]) -> dict[str, str]:
    return {path: _describe_leaf(leaf) for path, leaf in found.items()}


def _describe_leaf(leaf: Any) -> str:
    if isinstance(leaf, SCALAR_TYPES):
        return TYPE_NAMES.get(type(_python_scalar(leaf)), "a value")
    leaf = _key_data(leaf)
    sizes = ", ".join(map(str, leaf.shape))
    return f"{_storable_dtype(leaf.dtype)} [{sizes}]"


def _python_scalar(leaf: Any) -> Any:
    """A number as Python, and so JSON, has it."""
    return leaf.item() if isinstance(leaf, np.generic) else leaf


def _storable_dtype(dtype: Any) -> Any:
    """The dtype itself, or unsigned integers for one that NumPy's files do not know (bfloat16)."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" else dtype


def _to_numpy(leaf: Any) -> Any:
    array = np.asarray(_key_data(leaf))
    return array.view(_storable_dtype(array.dtype))


def _restore_array(template: Any, array: Any, is_jax: bool) -> Any:
    """The array as NumPy or JAX had it; `like` tells a random key from its bits."""
    if not is_jax:
        return array
    jax = importlib.import_module("jax")
    if _is_random_key(template):
        return jax.random.wrap_key_data(jax.numpy.array(array), impl=jax.random.key_impl(template))
    return jax.numpy.array(array.view(template.dtype))


def _max_abs(leaf: Any) -> float:
    """The largest absolute value of a float array (NaN if it holds one); 0 for anything else."""
    if isinstance(leaf, (float, np.floating)):
        return abs(float(leaf))
    if (
        isinstance(leaf, SCALAR_TYPES)
        or _is_random_key(leaf)
        or leaf.size == 0
        or leaf.dtype.kind not in "fcV"
    ):
        return 0.0
    return float(abs(leaf).max())  # on the device that holds it


def _key_data(leaf: Any) -> Any:
    return sys.modules["jax"].random.key_data(leaf) if _is_random_key(leaf) else leaf


def _is_random_key(leaf: Any) -> bool:
    return _is_jax(leaf) and str(leaf.dtype).startswith("key<")


def _is_jax(leaf: Any) -> bool:
    jax = sys.modules.get("jax")  # whoever has a JAX array has imported JAX
    return jax is not None and isinstance(leaf, jax.Array)
