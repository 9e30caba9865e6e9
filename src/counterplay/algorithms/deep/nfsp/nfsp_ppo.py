"""Neural fictitious self-play with responses by proximal policy optimisation."""

from __future__ import annotations

from counterplay.algorithms.deep.common.ppo_response import PPOResponse
from counterplay.algorithms.deep.nfsp.base import NFSPBase
from counterplay.core.settings import settings


@settings(kw_only=True)
class NFSPPPO(NFSPBase):
    """NFSP whose responses are learned by PPO on the decisions just made. At t = 1, 2, ...:

        `episodes` episodes, in each of which the player whose turn it is plays its response, the
        others their average policies Pi, or with probability eta their responses
        response = PPO's, after `epochs` steps on its own decisions in these, which are then dropped
        reservoir: decisions of responses
        Pi = Pi - lr_t * grad mean of -log Pi(I, a)

    with responses of iteration t weighed by t. They are stochastic: the weight tau of their entropy
    falls geometrically, to where PPO can still turn. While it is high, Pi goes to the equilibrium
    of such soft responses and no further, however long one waits. Pi carries the guarantee, the
    other policies are those of `nfsp`.
    """

    num_episodes: int = 2_048
    schedule_iterations: int = 12_000
    average_power: float = 1.0
    num_epochs: int = 2
    clip_eps: float = 0.2
    gae_lambda: float = 0.95
    entropy_coef: float = 0.3
    entropy_coef_end: float = 0.04
    visit_saturation: float = 5.0  # visits from which on more of them hardly count more; 0: they do

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.responder  # which checks its own

    @property
    def responder(self) -> PPOResponse:
        names = (
            "num_epochs",
            "clip_eps",
            "gae_lambda",
            "entropy_coef",
            "entropy_coef_end",
            "visit_saturation",
        )
        return PPOResponse(**self.responder_fields, **{name: getattr(self, name) for name in names})
