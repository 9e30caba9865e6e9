"""CFR updates in games with imperfect recall.

The sequence form distinguishes histories that a forgetful player's infoset merges. Regrets and
policies belong to the infosets of the game; values and reaches to the sequences of the form.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, SequenceForm
from counterplay.kernels.sequence_form import sweeps


def merge_infosets(tree: TreeArena, instant: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Sum instant regrets and reaches [F + 1] of the form into the game's sequences [S + 1]."""
    size = tree.num_sequences + 1
    regrets = np.bincount(tree.game_sequence, instant[:-1], size)
    reaches = np.bincount(tree.game_sequence, reach[:-1] * tree.histories_by_sequence, size)
    return regrets.astype(float, copy=False), reaches.astype(float, copy=False)


def normalise_merged_policy(
    tree: TreeArena, player: int, normalise: Callable[..., None], policy: Floats, reach: Floats
) -> None:
    """Normalise a player's new policy [S + 1] and set its `reach` [F + 1] in the form."""
    flat_form = _flat_form(tree)
    first, last = flat_form.player_infoset[player : player + 2].tolist()
    normalise(flat_form, first, last, policy, np.ones_like(policy))
    first, last = tree.form.player_infoset[player : player + 2].tolist()
    sweeps.forward(tree.form, first, last, policy[tree.game_sequence], reach)


@cache_on_tree
def _flat_form(tree: TreeArena) -> SequenceForm:
    """Return a form of the game's infosets without parents, for kernels that normalise a policy."""
    return tree.form._replace(
        offset=tree.offset.astype(np.uint32),
        parent=np.full(tree.num_infosets, tree.num_sequences, np.uint32),
        player_infoset=tree.player_infoset,
    )
