"""VR-DeepPDCFR+: the same with a network that predicts the next regrets."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.deep.regret.vr_deep_dcfr_plus import VRDeepDCFRPlus
from counterplay.core.settings import settings


@settings(kw_only=True)
class VRDeepPDCFRPlus(VRDeepDCFRPlus):
    """VR-DeepPDCFR+ (Xu et al., 2025). As `vr_deep_dcfr_plus`, with one more network.

        r_i    = argmin over networks of the sum over this iteration's samples of |r(I) - r|**2
        policy = regret_matching(d' * max(R_i(I), 0) + r_i(I)), d' the next iteration's d

    which counts the latest regrets once more, as a guess at the next. Where no sum is positive, all
    is on the largest: the authors' program clips first and then takes the first legal action. It
    also never refits the predicting network from scratch, although it means to; here both networks
    go on from the last iteration's. Past networks of the ensemble are kept with their predictions.
    """

    alpha: float = 2.3
    discount_constant: float = 1.0

    is_predictive: ClassVar[bool] = True
