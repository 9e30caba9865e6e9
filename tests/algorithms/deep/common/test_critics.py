"""Tests of the inputs of critics."""

import numpy as np
import pytest

pytest.importorskip("jax")

from counterplay.algorithms.deep.common.critics import index_histories
from tests.conftest import game_tree


@pytest.mark.parametrize(
    "game",
    [
        "goofspiel(num_cards=3)",  # a bid is hidden until the other player has bid
        "goofspiel(num_cards=4,points_order=descending,imp_info=true)",
        "kuhn_poker(players=3)",
        "liars_dice(dice_sides=3)",
    ],
)
def test_inputs_of_the_critic_distinguish_all_histories(game):
    """Two histories with the same inputs would share their values."""
    inputs = index_histories(game_tree(game)).joint_observation
    assert len(np.unique(inputs, axis=0)) == len(inputs)
