"""Regrets where players forget: the sequence form tells histories apart that an infoset merges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, SequenceForm
from counterplay.kernels.sequence_form import sweeps


def merge_infosets(tree: TreeArena, instant: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Instant regrets and reach along the game's own sequences [S + 1], over all histories."""
    size = tree.num_sequences + 1
    regrets = np.bincount(tree.game_sequence, instant[:-1], size)
    reaches = np.bincount(tree.game_sequence, reach[:-1] * tree.histories_by_sequence, size)
    return regrets.astype(float, copy=False), reaches.astype(float, copy=False)


def normalise_merged_policy(
    tree: TreeArena, player: int, normalise: Callable[..., None], policy: Floats, reach: Floats
) -> None:
    """Scale the player's new policy and set its `reach` along the form."""
    alone = _flat_form(tree)
    first, last = alone.player_infoset[player : player + 2].tolist()
    normalise(alone, first, last, policy, np.ones_like(policy))
    first, last = tree.form.player_infoset[player : player + 2].tolist()
    sweeps.forward(tree.form, first, last, policy[tree.game_sequence], reach)


@cache_on_tree
def _flat_form(tree: TreeArena) -> SequenceForm:
    """The game's own infosets with nothing above them, for kernels that scale a policy."""
    return tree.form._replace(
        offset=tree.offset.astype(np.uint32),
        parent=np.full(tree.num_infosets, tree.num_sequences, np.uint32),
        player_infoset=tree.player_infoset,
    )
