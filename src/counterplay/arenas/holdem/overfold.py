"""Locks that make a player fold too often, to see how the other one should exploit it."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.arena import Floats
from counterplay.errors import ConfigError


def lock_overfold(policy: HoldemPolicy, player: int, amount: float) -> SpotArena:
    """Return an arena in which a player folds more often than in a solution.

    At every decision of the player on the first street of the spot that offers a fold, the fold
    frequency of the range rises by `amount`, and at most to 1: the probability of continuing of
    every hand is multiplied by the same factor. Everything else is free, so that solving the arena
    gives the best play of the other player, and the adaptation of the player behind the locks.

    Args:
        policy: a solution; its locks stay.
        player: the player who folds too often: 0 is out of position, 1 in position.
        amount: added to the fold frequency, above 0 and at most 1; 0.1 is ten points.

    Raises:
        ConfigError: an argument is out of range, or the player is never offered a fold.
    """
    if player not in (0, 1):
        raise ConfigError(f"player is {player!r}, must be 0 or 1")
    if not 0.0 < amount <= 1.0:
        raise ConfigError(f"amount is {amount!r}, must be above 0 and at most 1")
    base: SpotArena = policy.arena
    arena = SpotArena(base.spot, base.precision, base.isomorphism, symmetries=base.symmetries)
    for (node, board), weights in base.locks.items():
        arena.lock(node, board, weights)
    num_locked = 0
    first_block = range(base.betting.block_starts[0], base.betting.block_starts[1])
    for number in first_block:
        betting_node = base.betting.nodes[number]
        if betting_node.kind == player and "fold" in betting_node.actions:
            history = ",".join(base.betting.actions_by_street(number)[0])
            frequencies = inspect_node(policy, history).frequencies
            fold = betting_node.actions.index("fold")
            # rounding makes equal hands differ: all of an orbit take the policy of its first hand
            orbits = [base.hands[player].permute_suits(suits) for suits in base.symmetries]
            probabilities = policy.probabilities_at(number, 0)[:, np.min(orbits, axis=0)]
            weights = _raise_fold(probabilities, fold, float(frequencies[fold]), amount)
            arena.lock(number, 0, weights)
            num_locked += 1
    if not num_locked:
        raise ConfigError(f"player {player} never faces a bet on the first street of this spot")
    return arena


def _raise_fold(probabilities: Floats, fold: int, frequency: float, amount: float) -> Floats:
    """Return probabilities [A, n] whose overall fold frequency is higher by `amount`."""
    goal = min(frequency + amount, 1.0)
    factor = (1.0 - goal) / (1.0 - frequency) if frequency < 1.0 else 0.0
    new = probabilities * factor
    new[fold] = 0.0
    new[fold] = 1.0 - new.sum(axis=0)
    return np.clip(new, 0.0, 1.0)
