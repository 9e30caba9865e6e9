"""Conversion of the memory of any algorithm to named arrays and numbers, and back.

A memory is a dataclass whose fields are numbers, strings, None, NumPy or JAX arrays, or nested
dataclasses, dicts, lists and tuples of those. A leaf is named by its path, as in `strategy.0.bias`.
A memory of variable size has no fixed layout: it is converted by its methods `to_arrays` and
`from_arrays`.
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

MAX_MONITORED_VALUE = 1e6  # larger weights mean that a network has diverged

SCALAR_TYPES = (bool, int, float, str, type(None), np.generic)
TYPE_NAMES = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    type(None): "None",
}
# types that may replace a type, besides itself
COMPATIBLE_TYPES = {"None": tuple(TYPE_NAMES.values()), "a number": ("an integer",)}


@dataclass(frozen=True)
class MemoryLeaves:
    """The leaves of a memory, by path."""

    arrays: dict[str, Any]  # path -> NumPy array
    scalars: dict[str, Any]  # path -> number, string or None
    jax_paths: Collection[str]  # paths of the JAX arrays


def flatten_memory(memory: Any) -> MemoryLeaves:
    """Return the leaves of a memory, with arrays as NumPy arrays."""
    leaves = memory_leaves(memory)
    arrays = {path: leaf for path, leaf in leaves.items() if not isinstance(leaf, SCALAR_TYPES)}
    scalars = {path: leaf for path, leaf in leaves.items() if path not in arrays}
    return MemoryLeaves(
        arrays={path: _to_numpy(leaf) for path, leaf in arrays.items()},
        scalars={path: _python_scalar(leaf) for path, leaf in scalars.items()},
        jax_paths=[path for path, leaf in arrays.items() if _is_jax(leaf)],
    )


def restore_memory(template: Any, leaves: MemoryLeaves) -> Any:
    """Return the memory with these leaves.

    Args:
        template: a memory of the same layout, such as that of `algorithm.init`.
        leaves: the leaves, from `flatten_memory`.

    Raises:
        ConfigError: the layout of the leaves is another.
    """
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
    """Return the type and shape of every leaf by path; empty for a memory of variable size."""
    return {} if _has_variable_size(memory) else _layout_from_leaves(memory_leaves(memory))


def find_layout_mismatch(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """Return the first difference between two layouts in words, or ""."""
    for path in sorted(expected.keys() | actual.keys()):
        wanted, actual_type = expected.get(path, "nothing"), actual.get(path, "nothing")
        if wanted != actual_type and actual_type not in COMPATIBLE_TYPES.get(wanted, ()):
            return f"{path} is {actual_type}, must be {wanted}"
    return ""


def wait_until_ready(memory: Any) -> None:
    """Block until every array is computed; JAX computes asynchronously."""
    for leaf in () if _has_variable_size(memory) else memory_leaves(memory).values():
        if _is_jax(leaf):
            leaf.block_until_ready()


def find_invalid_value(memory: Any, monitored_paths: Collection[str] = ()) -> str:
    """Return a description of the first invalid number of a memory, or "".

    Every number must be finite, and at most `MAX_MONITORED_VALUE` below the monitored paths.
    """
    for path, leaf in memory_leaves(memory).items():
        largest = _max_abs(leaf)
        if not math.isfinite(largest):
            return f"memory.{path} holds {'NaN' if math.isnan(largest) else 'infinity'}"
        is_monitored = any(f"{path}.".startswith(f"{name}.") for name in monitored_paths)
        if is_monitored and largest > MAX_MONITORED_VALUE:
            limit = f"(the limit is {MAX_MONITORED_VALUE:.0e})"
            return f"memory.{path} has diverged to {largest:.2g} {limit}"
    return ""


def memory_leaves(memory: Any) -> dict[str, Any]:
    """Return every number and array of a memory by path."""
    leaves: dict[str, Any] = {}
    for path, leaf in _iter_leaves(memory, ""):
        if path in leaves:
            raise RunError(f"two parts of the memory have the same name {path!r}")
        leaves[path] = leaf
    return leaves


def _iter_leaves(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = _child_parts(part)
    if children is None:
        yield path, part
        return
    for name, child in children.items():
        yield from _iter_leaves(child, f"{path}.{name}" if path else str(name))


def _child_parts(part: Any) -> dict[Any, Any] | None:
    """Return the parts of a container by name; None for a leaf."""
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
    raise RunError(f"a memory cannot hold a {type(part).__name__}, only arrays and numbers")


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


def _layout_from_leaves(leaves: Mapping[str, Any]) -> dict[str, str]:
    return {path: _describe_leaf(leaf) for path, leaf in leaves.items()}


def _describe_leaf(leaf: Any) -> str:
    if isinstance(leaf, SCALAR_TYPES):
        return TYPE_NAMES.get(type(_python_scalar(leaf)), "a value")
    leaf = _key_data(leaf)
    sizes = ", ".join(map(str, leaf.shape))
    return f"{_storable_dtype(leaf.dtype)} [{sizes}]"


def _python_scalar(leaf: Any) -> Any:
    """Return a scalar as a Python object, which JSON can represent."""
    return leaf.item() if isinstance(leaf, np.generic) else leaf


def _storable_dtype(dtype: Any) -> Any:
    """Return the dtype, or unsigned integers for one that `.npy` files lack (bfloat16)."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" else dtype


def _to_numpy(leaf: Any) -> Any:
    array = np.asarray(_key_data(leaf))
    return array.view(_storable_dtype(array.dtype))


def _restore_array(template: Any, array: Any, is_jax: bool) -> Any:
    """Return the array as NumPy or JAX array; `template` says if it is a JAX random key."""
    if not is_jax:
        return array
    jax = importlib.import_module("jax")
    if _is_random_key(template):
        return jax.random.wrap_key_data(jax.numpy.array(array), impl=jax.random.key_impl(template))
    return jax.numpy.array(array.view(template.dtype))


def _max_abs(leaf: Any) -> float:
    """Return the largest absolute value of floats (NaN if one is NaN); 0 for other leaves."""
    if isinstance(leaf, (float, np.floating)):
        return abs(float(leaf))
    if isinstance(leaf, SCALAR_TYPES) or _is_random_key(leaf):
        return 0.0
    if leaf.size == 0 or leaf.dtype.kind not in "fcV":
        return 0.0
    return float(abs(leaf).max())  # on the device that holds it


def _key_data(leaf: Any) -> Any:
    return sys.modules["jax"].random.key_data(leaf) if _is_random_key(leaf) else leaf


def _is_random_key(leaf: Any) -> bool:
    return _is_jax(leaf) and str(leaf.dtype).startswith("key<")


def _is_jax(leaf: Any) -> bool:
    jax = sys.modules.get("jax")  # imported wherever there is a JAX array
    return jax is not None and isinstance(leaf, jax.Array)
