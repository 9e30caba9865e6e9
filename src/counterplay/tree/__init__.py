"""The tree: a game unrolled once into flat arrays, and what makes, checks or reads one."""

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
