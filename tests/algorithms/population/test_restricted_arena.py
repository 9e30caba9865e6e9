"""The arena of some of a tree's actions."""

from __future__ import annotations

import numpy as np
import pytest

from counterplay.algorithms.cfr import engine
from counterplay.algorithms.population.restricted_arena import RestrictedArena


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_first_reach_is_that_of_the_first_policy(leduc, share):
    """Also where a player's next infosets have as many actions as the ones before them."""
    allowed = np.random.default_rng(0).random(leduc.num_sequences) < share
    allowed[leduc.offset[:-1]] = True
    arena = RestrictedArena(leduc, allowed)
    memory = engine.new_memory(arena)
    expected = np.ones(arena.num_sequences + 1)
    for infoset in range(arena.num_infosets):
        first, last = arena.offset[infoset : infoset + 2].astype(int)
        expected[first:last] = expected[arena.form.parent[infoset]] / (last - first)
    assert np.allclose(memory.reach, expected)
