"""How programs of small networks are best compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax

OPTIONS = {  # networks of a few hundred units are too small for what these would set up
    "xla_cpu_multi_thread_eigen": False,  # a product shared between threads
    "xla_cpu_experimental_ynn_fusion_type": "",  # a library called for every product
}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, compiled at its first call."""
    return jax.jit(function, compiler_options=known_options())


@lru_cache
def known_options() -> dict[str, Any]:
    """The options that this version of JAX has, on this device."""
    known = {}
    for name, value in OPTIONS.items():
        try:
            jax.jit(abs, compiler_options={name: value}).lower(1.0).compile()
            known[name] = value
        except jax.errors.JaxRuntimeError:
            continue
    return known
