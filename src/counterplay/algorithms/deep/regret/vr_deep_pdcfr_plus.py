"""VR-DeepPDCFR+: VR-DeepDCFR+ with a second network that predicts the next regrets."""

from __future__ import annotations

from typing import ClassVar

from counterplay.algorithms.deep.regret.vr_deep_dcfr_plus import VRDeepDCFRPlus
from counterplay.core.settings import NonNegative, settings


@settings(kw_only=True)
class VRDeepPDCFRPlus(VRDeepDCFRPlus):
    """VR-DeepPDCFR+ (Xu et al., 2025). As `vr_deep_dcfr_plus`, with one more network:

        r_i    = argmin over networks of the sum over this iteration's samples of |r(I) - r|**2
        policy = regret_matching(d' * max(R_i(I), 0) + r_i(I)), d' the next iteration's d

    The latest regrets count once more, as a prediction of the next ones. Where no sum is positive,
    the largest gets all probability; the authors' program clips first and then takes the first
    legal action. Their program is meant to refit the predicting network from random weights but
    never does; here both networks continue from the last iteration. The networks of the ensemble
    are stored with their predictions.
    """

    alpha: NonNegative = 2.3
    discount_constant: NonNegative = 1.0

    is_predictive: ClassVar[bool] = True
