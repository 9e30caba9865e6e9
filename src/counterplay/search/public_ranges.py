"""Ranges of public states in words, for reports of searches."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.public_states import PublicStates
from counterplay.arenas.tree.replay import node_history
from counterplay.core.arena import Floats
from counterplay.search.search_report import RangeReport


def range_from_reach(
    states: PublicStates,
    public_state: int,
    player: int,
    reach: Floats,
    values: Floats | None = None,
    value_name: str = "",
) -> RangeReport | None:
    """Return a player's range at a public state; None if the game has no keys there.

    Args:
        states: the public states.
        public_state: number of the public state.
        player: the player.
        reach: [X] own reach of each view of the player, in order of the views.
        values: [X] values of the views.
        value_name: what the values are.
    """
    rows = states.entry_rows(public_state)
    _, first, view = np.unique(states.view[rows, player], return_index=True, return_inverse=True)
    mass = np.bincount(view.ravel(), states.chance_reach[rows]) * reach
    probabilities = mass / mass.sum() if mass.sum() > 0.0 else np.full(mass.size, 1.0 / mass.size)
    game = states.tree.game
    try:
        keys = []
        for node in states.entry[rows][first].tolist():
            state = game.initial_state()
            for action in node_history(states.tree, node):
                state = game.next_state(state, action)
            keys.append(game.infoset_key(state, player))
    except Exception:  # the rules need no key of players who wait
        return None
    listed = None if values is None else [float(value) for value in values]
    return RangeReport(player, keys, probabilities.tolist(), listed, value_name)
