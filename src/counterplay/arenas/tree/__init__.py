"""The tree arena: a game unrolled once into flat arrays; building, loading and analysing trees.

Names are imported on first use, so that a size estimate does not import the compiled kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TREE_FORMAT, TreeArena, cache_on_tree, freeze
    from counterplay.core.arena import (
        UNDERFLOW_THRESHOLD,
        Floats,
        Ints,
        SequenceForm,
        has_imperfect_recall,
        row_lengths,
    )

__all__ = [
    "TREE_FORMAT",
    "UNDERFLOW_THRESHOLD",
    "Floats",
    "Ints",
    "SequenceForm",
    "TreeArena",
    "cache_on_tree",
    "freeze",
    "has_imperfect_recall",
    "row_lengths",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'counterplay.arenas.tree' has no attribute {name!r}")
    return getattr(importlib.import_module("counterplay.arenas.tree.arena"), name)
