"""Deep CFR by public-chance sampling: all hands on some boards at a time, by vectors."""

from __future__ import annotations

import numpy as np

from counterplay.algorithms.deep.common.public_chance import (
    PublicChanceMemory,
    PublicChanceMethod,
    Workspace,
    discount,
    discounts,
    estimate_deal_values,
    match_regrets,
)
from counterplay.arenas.holdem.public_chance import (
    BoardSample,
    LineTable,
    PublicChanceSampler,
    RoundLines,
)
from counterplay.core.settings import settings


@settings(kw_only=True)
class PublicChanceDeepCFR(PublicChanceMethod):
    """Regret networks on hold'em games of two rounds, by public-chance sampling.

    A network maps a row (hands of a board that differ in nothing but suits that cannot matter, see
    `arenas.holdem.hand_rows`) to the cumulative regrets of all (decision, action) pairs:

        regret(row) = head . features(row),   features = [trunk(x), x, 1]

    At t = 1, 2, ... `num_boards` boards are drawn; on these, for each player in turn,

        policy = regret_matching(regret); where no output is positive, all on the largest
        r      = exact counterfactual regrets of all hands, by one walk of the public tree
        z      = r + (n_t / p_t - 1) * min(regret + r, 0)
        head   = p_t * (head + argmin_h mean |h . features - z|**2)

    with p_t = t**alpha / (t**alpha + 1) and n_t = t**beta / (t**beta + 1). If the features fit z
    exactly, that is discounted CFR (Brown and Sandholm, 2019); alpha = beta = 1 is linear CFR, in
    which nothing is approximated but regrets. Each fit is a ridge regression in closed form, so
    that a head is the sum of all fits so far, without noise of refitting.

    The trunk is trained once, before the first iteration, and then fixed: by AdamW on the regrets
    and the average policy of `trunk_iterations` iterations of tabular DCFR on the game that has
    only `trunk_boards` of the boards. Weights of the head start at zero.

    Before the deal the rows are the kinds of hands, one feature each, so that the network is a
    table there. Values of the deals are means over the sampled boards, with the last known value
    of each board as control variate.

    `average` is the average policy, weighted by own reach and t**gamma, over the iterations in
    which a board was sampled: a table of rows, not a network. `network` is a network fitted to it
    by `average_train_steps` minibatches at first access, and `current` the regret network.

    Compared with Deep CFR (Brown et al., 2019): boards are sampled instead of hands, one network
    holds both players' outputs, samples of a row are summed instead of kept in a reservoir, and
    `strength_features` add the strength of the five cards to the inputs.
    """

    alpha: float = 1.5
    beta: float = 0.0

    def policy_of(
        self, sampler: PublicChanceSampler, outputs: LineTable, lines: RoundLines
    ) -> LineTable:
        """Return the policy of regret matching."""
        return match_regrets(sampler, outputs, lines)

    def update(
        self, workspace: Workspace, memory: PublicChanceMemory, t: int, sample: BoardSample
    ) -> None:
        """Run iteration t on a sample; the memory is changed in place."""
        sampler = workspace.sampler
        fit = self.make_fit(workspace, sample)
        outputs = fit.outputs(memory.head)
        regret = np.zeros_like(outputs)
        positive, negative = discounts(t, self.alpha, self.beta)
        for player in (0, 1):
            first_policy = match_regrets(sampler, memory.first_head, sampler.first_round)
            second_policy = match_regrets(sampler, outputs, sampler.second_round)
            policies = first_policy, second_policy
            self.add_to_averages(workspace, memory, t, player, policies, sample)
            values = sampler.second_round_regrets(player, *policies, sample, regret)
            first_instant = sampler.first_round_regrets(
                player, estimate_deal_values(memory, player, values, sample)
            )
            own = sampler.first_round.line_player == player
            discount(memory.first_head, first_instant, own, positive, negative)
            lines = sampler.second_round.lines_of(player)
            total = np.minimum(outputs[lines] + regret[lines], 0.0)
            target = regret[lines] + np.float32(negative / positive - 1.0) * total
            memory.head[lines] = positive * (memory.head[lines] + fit.solve(target))
            outputs[lines] = fit.outputs(memory.head[lines])
