"""A hold'em game of two rounds, and settings with which its networks are trained in a moment."""

import numpy as np

GAME = (
    "custom_holdem(num_ranks=5,num_suits=3,board_cards=(0,3),blinds=(1,2),stacks=(40,40),"
    "betting=limit,sizes='2,2',max_bets=(2,2))"
)
TINY = {
    "hidden_sizes": (8,),
    "num_boards": 12,
    "trunk_boards": 12,
    "trunk_iterations": 3,
    "train_steps": 4,
    "batch_size": 32,
    "average_train_steps": 4,
}


def one_feature_per_row(arena, rows, has_strength):
    """Return inputs with which a linear function can take any value at each row."""
    return np.eye(rows.num_rows, dtype=np.float32)
