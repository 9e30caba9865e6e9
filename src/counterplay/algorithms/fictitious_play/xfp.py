"""Full-width extensive-form fictitious play."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, SequenceArena, has_imperfect_recall, row_lengths
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps


@dataclass
class XFPMemory:
    """The average policy as sequence weights; F sequences in the form, S in the game."""

    iteration: int
    weight_sum: float  # w_1 + ... + w_t, and 1 for the uniform start; in units of w_t
    weights: Floats  # [S + 1] of the average: own reach with perfect recall, else its sum
    response: Floats  # [F + 1] the last best responses
    finished: ClassVar[bool] = False


@settings()
class XFP:
    """XFP (Heinrich, Lanctot and Silver, 2015). At t = 1, 2, ..., for all players at once:

        response = an exact best response to the others' average_policy
        reach    = (1 - a_t) * reach + a_t * reach of the response

    with a_t = w_t / (1 + w_1 + ... + w_t) and w_t = t**power, where reach, over sequences, is that
    of the average policy, which starts uniform. The paper writes the same step in behaviour,
    policy + lambda * (response - policy) with lambda = a_t * reach of the response / new reach; in
    the sequence form it is linear. With power = 0, as in the paper, a_t = 1 / (t + 1): the average
    of uniform play and of all responses. Ties, up to rounding errors, go to the first action.

    It converges in two-player zero-sum games. With imperfect recall the response chooses, from the
    last decision to the first, what is best on the sum over the histories of an infoset, and the
    average weighs histories like CFR's; then there is no guarantee.
    """

    gamma: float = 0.0  # response t counts t**power times
    runs_on: ClassVar[tuple[str, ...]] = ("sequences",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if not 0.0 <= self.gamma < np.inf:
            raise ConfigError(f"gamma is {self.gamma}, must be at least 0 and finite")

    def init(self, arena: SequenceArena, seed: int = 0) -> XFPMemory:
        uniform = uniform_policy(arena).probabilities
        response = np.append(uniform, 1.0)
        if has_imperfect_recall(arena):
            _heights(arena)  # refuses what it cannot order
            response = np.append(uniform[arena.game_sequence], 1.0)
        return XFPMemory(0, 1.0, _merge_reach(arena, _reach(arena, response)), response)

    def step(self, arena: SequenceArena, memory: XFPMemory, iterations: int = 1) -> XFPMemory:
        t = np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + iterations)
        last = np.where(t > 1.0, (t - 1.0) / t, 1.0) ** self.gamma  # w_(t-1) / w_t, and w_0 = 1
        totals = list(
            accumulate(last.tolist(), lambda s, x: 1.0 + s * x, initial=memory.weight_sum)
        )
        steps = 1.0 / np.array(totals[1:])
        size = memory.response.size
        cf_value = np.zeros(size)
        if isinstance(arena, TreeArena) and arena.has_perfect_recall:
            arrays = (memory.weights, cf_value, memory.response, np.ones(size))
            sweeps.fictitious_play(arena.form, steps, arena.value_tolerance, *arrays)
        else:
            for a in steps:
                _set_best_responses(
                    arena, self.average_reach(arena, memory), cf_value, memory.response
                )
                reach = _merge_reach(arena, _reach(arena, memory.response))
                memory.weights += a * (reach - memory.weights)
        memory.iteration += iterations
        memory.weight_sum = totals[-1]
        return memory

    def policies(self, arena: SequenceArena, memory: XFPMemory) -> dict[str, Policy]:
        """The average of uniform play and of all responses."""
        return {"average": policy_from_weights(arena, memory.weights[:-1])}

    def average_reach(self, arena: SequenceArena, memory: XFPMemory) -> Floats:
        """The reach of the average policy [F + 1]."""
        if not has_imperfect_recall(arena):
            return memory.weights
        average = self.policies(arena, memory)["average"].probabilities[arena.game_sequence]
        return _reach(arena, np.append(average, 1.0))


def _reach(arena: SequenceArena, policy: Floats) -> Floats:
    """Own reach of every sequence of the form, and 1 at the end."""
    reach = np.ones(policy.size)
    sweeps.forward(arena.form, 0, arena.form.parent.size, policy, reach)
    return reach


def _merge_reach(arena: SequenceArena, reach: Floats) -> Floats:
    """The weight that each of the game's own sequences has in the average."""
    if not has_imperfect_recall(arena):
        return reach
    weights: Floats = reach[:-1] * arena.histories_by_sequence
    return np.bincount(arena.game_sequence, weights, arena.num_sequences + 1).astype(np.float64)


def _set_best_responses(
    arena: SequenceArena, reach: Floats, cf_value: Floats, response: Floats
) -> None:
    """Set `response` to everybody's best responses to `reach`."""
    form = arena.form
    for player in range(arena.num_players):
        arena.gradient(player, reach, cf_value)
        if not has_imperfect_recall(arena):
            first, last = form.player_infoset[player : player + 2].tolist()
            tiny = arena.value_tolerance
            sweeps.backward_best(form, first, last, tiny, cf_value, response)
    if has_imperfect_recall(arena):
        _set_merged_best_responses(arena, cf_value, response)


def _set_merged_best_responses(tree: TreeArena, cf_value: Floats, response: Floats) -> None:
    """Set `response` to best responses that treat the histories of an infoset alike."""
    form = tree.form
    height = _heights(tree)[tree.game_infoset]
    for level in range(height.max(initial=-1) + 1):
        here = np.flatnonzero(height == level)
        found = np.flatnonzero(np.repeat(height == level, row_lengths(form.offset)))
        own = tree.game_sequence[found]
        total = np.bincount(own, cf_value[found], tree.num_sequences)
        best = np.repeat(np.maximum.reduceat(total, tree.offset[:-1]), tree.num_actions)
        candidates = np.flatnonzero(total >= best - tree.value_tolerance)
        infosets = np.searchsorted(tree.offset, candidates, side="right") - 1
        _, chosen = np.unique(infosets, return_index=True)  # the first of each
        pure = np.zeros(tree.num_sequences)
        pure[candidates[chosen]] = 1.0
        response[found] = pure[own]
        value = np.add.reduceat(response[:-1] * cf_value[:-1], form.offset[:-1])[here]
        np.add.at(cf_value, form.parent[here], value)


def _heights(tree: TreeArena) -> Ints:
    """The most decisions of its player that may follow each infoset."""
    own = tree.game_infoset
    later = np.flatnonzero(tree.previous_infoset >= 0)
    before = own[tree.previous_infoset[later]]
    height = np.zeros(tree.num_infosets, np.int64)
    for _ in range(tree.num_infosets + 1):
        known = height.copy()
        np.maximum.at(height, before, known[own[later]] + 1)
        if (height == known).all():
            return height
    raise ConfigError(
        f"xfp finds no best response in {tree.spec}: its player may come to "
        f"{tree.infoset_keys[int(height.argmax())]!r} again after acting there"
    )
