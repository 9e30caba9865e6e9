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

RUNAWAY = 1e6  # a network that learns has no weight of this size

SCALARS = (bool, int, float, str, type(None), np.generic)
KINDS = {
    bool: "true or false",
    int: "an integer",
    float: "a number",
    str: "a string",
    type(None): "None",
}
MAY_BECOME = {  # beside itself
    "None": tuple(KINDS.values()),
    "a number": ("an integer",),
}


@dataclass(frozen=True)
class Leaves:
    """A memory taken apart."""

    arrays: dict[str, Any]  # path -> NumPy array
    scalars: dict[str, Any]  # path -> number, string or None
    on_device: Collection[str]  # paths of the JAX arrays


def flatten(memory: Any) -> Leaves:
    """Take a memory apart."""
    found = leaves(memory)
    arrays = {path: leaf for path, leaf in found.items() if not isinstance(leaf, SCALARS)}
    scalars = {path: leaf for path, leaf in found.items() if path not in arrays}
    return Leaves(
        arrays={path: _to_numpy(leaf) for path, leaf in arrays.items()},
        scalars={path: _plain(leaf) for path, leaf in scalars.items()},
        on_device=[path for path, leaf in arrays.items() if _is_jax(leaf)],
    )


def restore(template: Any, stored: Leaves) -> Any:
    """Put a memory together again, shaped like `template`; `ConfigError` where it does not fit."""
    if _grows(template):
        return template.from_arrays(stored.arrays | stored.scalars)
    problem = misfit(layout(template), _layout(stored.arrays | stored.scalars))
    if problem:
        raise ConfigError(problem)

    def leaf(path: str, like: Any) -> Any:
        if path in stored.scalars:
            return stored.scalars[path]
        return _like(like, stored.arrays[path], path in stored.on_device)

    return _rebuild(template, "", leaf)


def layout(memory: Any) -> dict[str, str]:
    """Type and shape of every leaf, by path; nothing for a memory that grows."""
    return {} if _grows(memory) else _layout(leaves(memory))


def misfit(wanted: Mapping[str, str], found: Mapping[str, str]) -> str:
    """The first difference between two layouts in words, or nothing."""
    for path in sorted(wanted.keys() | found.keys()):
        want, have = wanted.get(path, "nothing"), found.get(path, "nothing")
        if want != have and have not in MAY_BECOME.get(want, ()):
            return f"{path} is {have}, must be {want}"
    return ""


def wait_for(memory: Any) -> None:
    """Return once every array is computed: JAX hands them out before."""
    for leaf in () if _grows(memory) else leaves(memory).values():
        if _is_jax(leaf):
            leaf.block_until_ready()


def ailment(memory: Any, watched: Collection[str] = ()) -> str:
    """What is wrong with the numbers of a memory, or nothing.

    Every number must be finite, and those under the `watched` paths smaller than `RUNAWAY`.
    """
    for path, leaf in leaves(memory).items():
        largest = _largest(leaf)
        if not math.isfinite(largest):
            return f"memory.{path} holds {'NaN' if math.isnan(largest) else 'infinity'}"
        if largest > RUNAWAY and any(f"{path}.".startswith(f"{name}.") for name in watched):
            return f"memory.{path} has run away to {largest:.2g} (the limit is {RUNAWAY:.0e})"
    return ""


def leaves(memory: Any) -> dict[str, Any]:
    """Every number and array of a memory, by path."""
    found: dict[str, Any] = {}
    for path, leaf in _walk(memory, ""):
        if path in found:
            raise RunError(f"two parts of the memory have the same name {path!r}")
        found[path] = leaf
    return found


def _walk(part: Any, path: str) -> Iterator[tuple[str, Any]]:
    children = _children(part)
    if children is None:
        yield path, part
        return
    for name, child in children.items():
        yield from _walk(child, f"{path}.{name}" if path else str(name))


def _children(part: Any) -> dict[Any, Any] | None:
    """The parts of a container; None for a leaf."""
    if isinstance(part, (*SCALARS, np.ndarray)) or _is_jax(part):
        return None
    if _grows(part):
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


def _grows(memory: Any) -> bool:
    return hasattr(memory, "to_arrays")


def _rebuild(part: Any, path: str, leaf: Callable[[str, Any], Any]) -> Any:
    children = _children(part)
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


def _layout(found: Mapping[str, Any]) -> dict[str, str]:
    return {path: _describe(leaf) for path, leaf in found.items()}


def _describe(leaf: Any) -> str:
    if isinstance(leaf, SCALARS):
        return KINDS.get(type(_plain(leaf)), "a value")
    leaf = _key_data(leaf)
    sizes = ", ".join(map(str, leaf.shape))
    return f"{_storable(leaf.dtype)} [{sizes}]"


def _plain(leaf: Any) -> Any:
    """A number as Python, and so JSON, has it."""
    return leaf.item() if isinstance(leaf, np.generic) else leaf


def _storable(dtype: Any) -> Any:
    """The dtype itself, or unsigned integers for one that NumPy's files do not know (bfloat16)."""
    return np.dtype(f"u{dtype.itemsize}") if dtype.kind == "V" else dtype


def _to_numpy(leaf: Any) -> Any:
    array = np.asarray(_key_data(leaf))
    return array.view(_storable(array.dtype))


def _like(like: Any, array: Any, on_device: bool) -> Any:
    """The array as NumPy or JAX had it; `like` tells a random key from its bits."""
    if not on_device:
        return array
    jax = importlib.import_module("jax")
    if _is_key(like):
        return jax.random.wrap_key_data(jax.numpy.array(array), impl=jax.random.key_impl(like))
    return jax.numpy.array(array.view(like.dtype))


def _largest(leaf: Any) -> float:
    """The largest absolute value of a float array (NaN if it holds one); 0 for anything else."""
    if isinstance(leaf, (float, np.floating)):
        return abs(float(leaf))
    if isinstance(leaf, SCALARS) or _is_key(leaf) or leaf.size == 0 or leaf.dtype.kind not in "fcV":
        return 0.0
    return float(abs(leaf).max())  # on the device that holds it


def _key_data(leaf: Any) -> Any:
    return sys.modules["jax"].random.key_data(leaf) if _is_key(leaf) else leaf


def _is_key(leaf: Any) -> bool:
    return _is_jax(leaf) and str(leaf.dtype).startswith("key<")


def _is_jax(leaf: Any) -> bool:
    jax = sys.modules.get("jax")  # whoever has a JAX array has imported JAX
    return jax is not None and isinstance(leaf, jax.Array)
