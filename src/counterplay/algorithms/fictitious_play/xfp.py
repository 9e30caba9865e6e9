"""Full-width extensive-form fictitious play."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

import numpy as np

from counterplay.algorithms.cfr.engine import next_iterations
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, SequenceArena, has_imperfect_recall, row_lengths
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.core.settings import NonNegative, settings
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps


@dataclass
class XFPMemory:
    """The average policy as sequence weights; F sequences in the form, S in the game."""

    iteration: int
    weight_sum: float  # 1 + w_1 + ... + w_t, in units of w_t
    weights: Floats  # [S + 1] own reach of the average; summed over histories if players forget
    response: Floats  # [F + 1] the last best responses
    finished: ClassVar[bool] = False


@settings()
class XFP:
    """XFP (Heinrich, Lanctot and Silver, 2015). At t = 1, 2, ..., for all players at once:

        response = an exact best response to the others' average_policy
        reach    = (1 - a_t) * reach + a_t * reach of the response

    with a_t = w_t / (1 + w_1 + ... + w_t) and w_t = t**gamma. `reach`, over sequences, is that of
    the average policy, which starts uniform. The paper writes the same step for behaviour policies,
    policy + lambda * (response - policy) with lambda = a_t * reach of the response / new reach; in
    the sequence form it is linear. With gamma = 0, as in the paper, a_t = 1 / (t + 1): the average
    of the uniform policy and of all responses. Of actions that tie up to rounding errors, the
    response takes the first.

    XFP converges in two-player zero-sum games. With imperfect recall the response maximises, from
    the last decision to the first, the sum over the histories of an infoset, and the average
    weights histories as CFR does; convergence is not guaranteed.
    """

    gamma: NonNegative = 0.0  # response t has weight t**gamma
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def init(self, arena: SequenceArena, seed: int = 0) -> XFPMemory:
        uniform = uniform_policy(arena).probabilities
        response = np.append(uniform, 1.0)
        if has_imperfect_recall(arena):
            _infoset_heights(arena)  # raises ConfigError if it cannot order the infosets
            response = np.append(uniform[arena.game_sequence], 1.0)
        return XFPMemory(0, 1.0, _merge_reach(arena, _reach(arena, response)), response)

    def step(self, arena: SequenceArena, memory: XFPMemory, iterations: int = 1) -> XFPMemory:
        t = next_iterations(memory, iterations)
        ratios = np.where(t > 1.0, (t - 1.0) / t, 1.0) ** self.gamma  # w_(t-1) / w_t, and w_0 = 1
        totals = list(
            accumulate(ratios.tolist(), lambda s, x: 1.0 + s * x, initial=memory.weight_sum)
        )
        steps = 1.0 / np.array(totals[1:])
        size = memory.response.size
        cf_value = np.zeros(size)
        if isinstance(arena, TreeArena) and arena.has_perfect_recall:
            arrays = (memory.weights, cf_value, memory.response, np.ones(size))
            sweeps.fictitious_play(arena.sweep_form, steps, arena.value_tolerance, *arrays)
        else:
            for a in steps:
                average_reach = self.average_reach(arena, memory)
                _set_best_responses(arena, average_reach, cf_value, memory.response)
                reach = _merge_reach(arena, _reach(arena, memory.response))
                memory.weights += a * (reach - memory.weights)
        memory.iteration += iterations
        memory.weight_sum = totals[-1]
        return memory

    def policies(self, arena: SequenceArena, memory: XFPMemory) -> dict[str, Policy]:
        """Return the average of the uniform policy and of all responses."""
        return {"average": policy_from_weights(arena, memory.weights[:-1])}

    def average_reach(self, arena: SequenceArena, memory: XFPMemory) -> Floats:
        """Return the reach of the average policy [F + 1]."""
        if not has_imperfect_recall(arena):
            return memory.weights
        average = self.policies(arena, memory)["average"].probabilities[arena.game_sequence]
        return _reach(arena, np.append(average, 1.0))


def _reach(arena: SequenceArena, policy: Floats) -> Floats:
    """Return the own reach [F + 1] of every sequence of the form; 1 at the end."""
    reach = np.ones(policy.size)
    sweeps.forward(arena.form, 0, arena.form.parent.size, policy, reach)
    return reach


def _merge_reach(arena: SequenceArena, reach: Floats) -> Floats:
    """Return the weight [S + 1] of each sequence of the game in the average."""
    if not has_imperfect_recall(arena):
        return reach
    weights: Floats = reach[:-1] * arena.histories_by_sequence
    return np.bincount(arena.game_sequence, weights, arena.num_sequences + 1).astype(np.float64)


def _set_best_responses(
    arena: SequenceArena, reach: Floats, cf_value: Floats, response: Floats
) -> None:
    """Set `response` [F + 1] to all players' best responses to `reach` [F + 1]."""
    form = arena.form
    for player in range(arena.num_players):
        arena.gradient(player, reach, cf_value)
        if not has_imperfect_recall(arena):
            first, last = form.player_infoset[player : player + 2].tolist()
            sweeps.backward_best(form, first, last, arena.value_tolerance, cf_value, response)
    if has_imperfect_recall(arena):
        _set_merged_best_responses(arena, cf_value, response)


def _set_merged_best_responses(tree: TreeArena, cf_value: Floats, response: Floats) -> None:
    """Set `response` to best responses that take one action at all histories of an infoset."""
    form = tree.form
    height = _infoset_heights(tree)[tree.game_infoset]
    for level in range(height.max(initial=-1) + 1):
        infosets = np.flatnonzero(height == level)
        sequences = np.flatnonzero(np.repeat(height == level, row_lengths(form.offset)))
        game_sequences = tree.game_sequence[sequences]
        total = np.bincount(game_sequences, cf_value[sequences], tree.num_sequences)
        best = np.repeat(np.maximum.reduceat(total, tree.offset[:-1]), tree.num_actions)
        candidates = np.flatnonzero(total >= best - tree.value_tolerance)
        candidate_infosets = np.searchsorted(tree.offset, candidates, side="right") - 1
        _, chosen = np.unique(candidate_infosets, return_index=True)  # the first of each infoset
        pure = np.zeros(tree.num_sequences)
        pure[candidates[chosen]] = 1.0
        response[sequences] = pure[game_sequences]
        value = np.add.reduceat(response[:-1] * cf_value[:-1], form.offset[:-1])[infosets]
        np.add.at(cf_value, form.parent[infosets], value)


def _infoset_heights(tree: TreeArena) -> Ints:
    """Return the maximal number of later decisions of its player after each infoset [I]."""
    infoset = tree.game_infoset
    later = np.flatnonzero(tree.previous_infoset >= 0)
    previous = infoset[tree.previous_infoset[later]]
    height = np.zeros(tree.num_infosets, np.int64)
    for _ in range(tree.num_infosets + 1):
        last_height = height.copy()
        np.maximum.at(height, previous, last_height[infoset[later]] + 1)
        if (height == last_height).all():
            return height
    raise ConfigError(
        f"xfp finds no best response in {tree.spec}: a player can reach the infoset "
        f"{tree.infoset_keys[int(height.argmax())]!r} again after acting there"
    )
