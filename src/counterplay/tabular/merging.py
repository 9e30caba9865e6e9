"""Regrets where players forget: the sequence form tells histories apart that an infoset merges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplay.kernels import sweeps
from counterplay.tree import Floats, SequenceForm, Tree, once_per_tree


def added_up(tree: Tree, instant: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Instant regrets and reach along the game's own sequences [S + 1], over all histories."""
    size = tree.num_sequences + 1
    regrets = np.bincount(tree.merged, instant[:-1], size)
    reaches = np.bincount(tree.merged, reach[:-1] * tree.histories, size)
    return regrets.astype(float, copy=False), reaches.astype(float, copy=False)


def settle(
    tree: Tree, player: int, scale: Callable[..., None], policy: Floats, reach: Floats
) -> None:
    """Scale the player's new policy and set its `reach` along the form."""
    alone = _shallow(tree)
    first, last = alone.player_infoset[player : player + 2].tolist()
    scale(alone, first, last, policy, np.ones_like(policy))
    first, last = tree.form.player_infoset[player : player + 2].tolist()
    sweeps.forward(tree.form, first, last, policy[tree.merged], reach)


@once_per_tree
def _shallow(tree: Tree) -> SequenceForm:
    """The game's own infosets with nothing above them, for kernels that scale a policy."""
    return tree.form._replace(
        offset=tree.offset.astype(np.uint32),
        parent=np.full(tree.num_infosets, tree.num_sequences, np.uint32),
        player_infoset=tree.player_infoset,
    )
