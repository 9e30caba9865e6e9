"""Logits at infosets and on sequences, for mirror descent and quantal responses."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, SequenceArena
from counterplay.core.evaluation import infoset_values
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.kernels.sequence_form import sweeps

MIN_PROBABILITY = 1e-10  # probabilities stay above it: a diverging log-probability never recovers


def softmax(arena: SequenceArena, logits: Floats) -> Floats:
    """Return exp(logits) [S], normalised at every infoset and bounded away from zero."""
    top = np.maximum.reduceat(logits, arena.offset[:-1])
    weights = np.exp(logits - np.repeat(top, arena.num_actions))
    probabilities = policy_from_weights(arena, weights).probabilities
    return policy_from_weights(arena, np.maximum(probabilities, MIN_PROBABILITY)).probabilities


def action_values(tree: TreeArena, policy: Floats) -> Floats:
    """Return the value of every action [S], given that its infoset is reached."""
    return infoset_values(tree, Policy(tree, policy)).action_value


def sequence_gradients(arena: SequenceArena, policy: Floats) -> Floats:
    """Return the gradient [S] of each player's utility in its own sequence weights.

    The entry of a sequence is the expected utility at the terminals where it is the player's last,
    weighted by the reach of chance and of the other players.
    """
    form, size = arena.form, arena.num_sequences + 1
    reach, cf_value = np.ones(size), np.zeros(size)
    sweeps.forward(form, 0, form.parent.size, np.append(policy, 1.0), reach)
    for player in range(arena.num_players):
        arena.gradient(player, reach, cf_value)
    return cf_value[:-1]


def back_up_logits(arena: SequenceArena, start: Floats, scale: float) -> Floats:
    """Return the logits [S] of mirror descent with dilated entropy.

    From the last infosets to the first,

        logits(a) = (start(a) + scale * sum over the next infosets of log sum exp(logits)) / scale

    Args:
        arena: the game.
        start: logits before the values of later infosets are added [S].
        scale: weight of the entropy.
    """
    form, logits = arena.form, np.append(start, 0.0)
    for player in range(arena.num_players):
        for parts in reversed(arena.levels(player, 1)):
            first, last = parts[0][0], parts[-1][1]
            level = slice(*form.offset[[first, last]].tolist())
            logits[level] /= scale
            value = np.logaddexp.reduceat(logits[level], form.offset[first:last] - level.start)
            np.add.at(logits, form.parent[first:last], scale * value)
    return logits[:-1]


def uniform_plan_policy(arena: SequenceArena) -> Floats:
    """Return the behaviour policy [S] of uniform play over reduced pure policies."""
    return softmax(arena, back_up_logits(arena, np.zeros(arena.num_sequences), 1.0))
