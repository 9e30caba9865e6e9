"""Magnetic mirror descent by public-chance sampling: all hands on some boards at a time."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.algorithms.deep.common.public_chance import (
    PublicChanceMemory,
    PublicChanceMethod,
    Workspace,
    estimate_deal_values,
)
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.public_chance import (
    BoardSample,
    LineTable,
    PublicChanceSampler,
    RoundLines,
)
from counterplay.core.arena import Floats
from counterplay.core.settings import NonNegative, Positive, settings

MIN_REACH = 1e-4  # of the opponent; advantages of decisions with less are smaller


@settings(kw_only=True)
class PublicChanceMMD(PublicChanceMethod):
    """Policy networks on hold'em games of two rounds, by public-chance sampling.

    A network maps a row (see `public_chance_deep_cfr`, which has the same features, trunk and
    sampling) to the logits of all decisions. At t = 1, 2, ... `num_boards` boards are drawn; on
    these, for each player in turn,

        policy = softmax(head . features)
        A      = exact counterfactual regrets of all hands / reach of the opponent
        target = clip(A / temperature_t, -max_logit, max_logit)
        head   = (1 - w_t) * head + w_t * argmin_h mean |h . features - target|**2

    with w_t = window / (t + window) and temperature_t = temperature * pot / t**temperature_power,
    where the pot is that of the blinds and antes. Without the clip and with exact features that is
    magnetic mirror descent (Sokota et al., 2023) with a uniform magnet: step size
    w_t / ((1 - w_t) temperature_t), regularisation temperature_t. The reach of the opponent is its
    mean over the hands of a board; A is the advantage q - v but for cards that the player takes
    from the opponent.

    The clip is not in the paper. A sum of features cannot fit the advantages of clear mistakes and
    of close decisions at once; the former need no more accuracy than exp(-max_logit). On a deck of
    seven ranks (one seed) the last network has 30 mbb with it and 80 without.

    `current` is the network of the last iteration: the policy for which mirror descent has a
    guarantee. `average` and `network` are as in `public_chance_deep_cfr`.
    """

    policy_order: ClassVar[tuple[str, ...]] = ("current", "average", "network")

    temperature: Positive = 0.25  # at the first iteration, in pots
    temperature_power: NonNegative = 0.5
    window: Positive = 2.0
    max_logit: Positive = 8.0

    def policy_of(
        self, sampler: PublicChanceSampler, outputs: LineTable, lines: RoundLines
    ) -> LineTable:
        """Return the softmax of each decision."""
        policy = np.empty(outputs.shape, np.float32)
        for first, count, *_ in lines.decisions.tolist():
            logits = outputs[first : first + count]
            weights = np.exp(logits - logits.max(axis=0))
            policy[first : first + count] = weights / weights.sum(axis=0)
        return policy

    def update(
        self, workspace: Workspace, memory: PublicChanceMemory, t: int, sample: BoardSample
    ) -> None:
        """Run iteration t on a sample; the memory is changed in place."""
        sampler = workspace.sampler
        fit = self.make_fit(workspace, sample)
        outputs = fit.outputs(memory.head)
        regret = np.zeros_like(outputs)
        weight = np.float32(self.window / (t + self.window))
        temperature = self.temperature * _initial_pot(sampler.arena) / t**self.temperature_power
        board_sizes = np.diff(sample.first)
        for player in (0, 1):
            first_policy = self.policy_of(sampler, memory.first_head, sampler.first_round)
            second_policy = self.policy_of(sampler, outputs, sampler.second_round)
            policies = first_policy, second_policy
            self.add_to_averages(workspace, memory, t, player, policies, sample)
            values = sampler.second_round_regrets(player, *policies, sample, regret)
            first_regret = sampler.first_round_regrets(
                player, estimate_deal_values(memory, player, values, sample)
            )
            first_reach, reach = sampler.mean_opponent_reach(player, *policies, sample)
            first_target = self._targets(
                sampler.first_round, player, first_regret, first_reach, temperature
            )
            own = sampler.first_round.lines_of(player)
            memory.first_head[own] += weight * (first_target[own] - memory.first_head[own])
            lines = sampler.second_round.lines_of(player)
            row_reach = np.repeat(reach, board_sizes, axis=1)
            target = self._targets(sampler.second_round, player, regret, row_reach, temperature)
            memory.head[lines] += weight * (fit.solve(target[lines]) - memory.head[lines])
            outputs[lines] = fit.outputs(memory.head[lines])

    def _targets(
        self, lines: RoundLines, player: int, regret: LineTable, reach: Floats, temperature: float
    ) -> LineTable:
        """Return the targets [C, n] of the logits at a player's lines; others are zero.

        Args:
            lines: of the round.
            player: the player.
            regret: [C, n] counterfactual regrets.
            reach: [D, n] or [D, 1] mean reach of the opponent.
            temperature: in chips.
        """
        target = np.zeros(regret.shape, np.float32)
        for decision in np.flatnonzero(lines.player == player).tolist():
            first, count = lines.decisions[decision, :2].tolist()
            scale = 1.0 / (temperature * np.maximum(reach[decision], MIN_REACH))
            logits = regret[first : first + count] * scale
            target[first : first + count] = np.clip(logits, -self.max_logit, self.max_logit)
        return target


def _initial_pot(arena: HoldemGameArena) -> float:
    """Return the chips of the blinds and antes."""
    game = arena.game
    return float(sum(game.blinds) + game.ante * game.num_players)
