"""Random normal forms for property tests; small whole numbers make many of them degenerate."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from counterplay.matrix.normal_form import NormalForm


@st.composite
def forms(draw, max_players=2, max_actions=4, zero_sum=False, least=-2, most=2):
    """Utilities from a small range of whole numbers, or from the unit interval."""
    num_players = draw(st.integers(2, max_players))
    shape = tuple(draw(st.integers(1, max_actions)) for _ in range(num_players))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    size = (num_players, *shape)
    whole = draw(st.booleans())
    utility = rng.integers(least, most + 1, size) if whole else rng.uniform(least, most, size)
    utility = utility.astype(float)
    if zero_sum:
        utility[1] = -utility[0]
    return NormalForm(utility)


def joints(form, rng, count):
    """Random distributions over joint actions."""
    return [rng.dirichlet(np.ones(prod(form.shape))).reshape(form.shape) for _ in range(count)]
