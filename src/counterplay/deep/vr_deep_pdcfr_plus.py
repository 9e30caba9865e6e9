"""VR-DeepPDCFR+: the same with a network that predicts the next regrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from counterplay.deep import cumulative, regrets
from counterplay.deep.critics import Criticised
from counterplay.deep.cumulative import State
from counterplay.deep.regrets import RegretNetworks
from counterplay.tree import Tree


@dataclass(frozen=True, kw_only=True)
class VRDeepPDCFRPlus(Criticised, RegretNetworks):
    """VR-DeepPDCFR+ (Xu et al., 2025). As `vr_deep_dcfr_plus`, with one more network.

        r_i    = argmin over networks of the sum over this iteration's samples of |r(I) - r|**2
        policy = regret_matching(d' * max(R_i(I), 0) + r_i(I)), d' the next iteration's d

    which counts the latest regrets once more, as a guess at the next. Where no sum is positive, all
    is on the largest: the authors' program clips first and then takes the first legal action. It
    also never refits the predicting network from scratch, although it means to; here both networks
    go on from the last iteration's.
    """

    traversals: int = 2_000
    steps: int = 200
    epsilon: float = 0.6
    alpha: float = 2.3
    c: float = 1.0
    average_power: float = 2.0
    average_units: tuple[int, ...] = (64, 64, 64)
    average_steps: int = 50  # of Adam per iteration
    average_lr: float = 1e-3

    def start(self, tree: Tree, rng: np.random.Generator) -> State:
        return cumulative.start(self, tree, rng)

    def iteration(self, tree: Tree, t: int, state: State, key: jax.Array) -> State:
        return cumulative.iteration(self, tree, t, state, key, predict=True)

    def tables(self, tree: Tree, state: State) -> dict[str, Any]:
        return regrets.answers(self, tree, state)
