"""The tree: a game unrolled once into flat arrays, and what makes, checks or reads one.

Names are imported when they are first used: a size is estimated without compiled kernels.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from counterplay.tree.arrays import (
        FORMAT,
        SMALLEST,
        Floats,
        Ints,
        SequenceForm,
        Tree,
        forgets,
        freeze,
        once_per_tree,
        row_lengths,
    )

__all__ = [
    "FORMAT",
    "SMALLEST",
    "Floats",
    "Ints",
    "SequenceForm",
    "Tree",
    "forgets",
    "freeze",
    "once_per_tree",
    "row_lengths",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'counterplay.tree' has no attribute {name!r}")
    return getattr(importlib.import_module("counterplay.tree.arrays"), name)
