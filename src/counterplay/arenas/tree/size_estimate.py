"""Estimates of the size of a tree before it is built, and of the memory available."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass

from counterplay.core.game import CHANCE, TERMINAL, Game
from counterplay.core.game_checks import game_title, raise_rule_error
from counterplay.errors import GameError

BYTES_PER_NODE, BYTES_PER_INFOSET = 200, 800  # peak while building: benchmarks/speed/tree_memory.py
MAX_NODE_ESTIMATE = 1e100  # larger estimates are cut to this, before they overflow
MAX_HISTORY_LENGTH = 10_000  # a game with longer histories counts as endless
# an unbiased estimate exceeds the size by this factor less than once in a thousand times (Markov)
REFUSAL_FACTOR = 1_000


@dataclass(frozen=True)
class SizeEstimate:
    """An unbiased estimate of the number of nodes, with its standard error."""

    num_nodes: float
    standard_error: float
    num_decisions: float  # nodes at which a player acts
    num_probes: int

    @property
    def num_bytes(self) -> float:
        """Upper bound of the peak memory of building, as if each decision were an infoset."""
        return peak_build_bytes(self.num_nodes, self.num_decisions)


def peak_build_bytes(num_nodes: float, num_infosets: float) -> float:
    """Return the peak memory in bytes of building a tree of this size."""
    return num_nodes * BYTES_PER_NODE + num_infosets * BYTES_PER_INFOSET


def estimate_size(
    game: Game, *, max_probes: int = 1_000_000, seconds: float = 1.0, seed: int = 0
) -> SizeEstimate:
    """Estimate the number of nodes from random episodes (Knuth, 1975), in about a second.

    An episode through nodes of b_1, b_2, ... children estimates 1 + b_1 + b_1 b_2 + ... nodes. Once
    that reaches `MAX_NODE_ESTIMATE`, the episode stops when the time is over.

    Args:
        game: The rules.
        max_probes: Maximal number of episodes; at least two are played.
        seconds: Maximal time.
        seed: Seed of the episodes.
    """
    rng = random.Random(seed)
    until = time.perf_counter() + seconds
    count, mean, squares, decisions = 0, 0.0, 0.0, 0.0
    while count < 2 or (count < max_probes and time.perf_counter() < until):
        size, num_decisions = _probe_size(game, rng, until)
        count += 1
        step = size - mean
        mean += step / count
        squares += step * (size - mean)
        decisions += (num_decisions - decisions) / count
    return SizeEstimate(mean, (squares / (count - 1) / count) ** 0.5, decisions, count)


def estimate_num_nodes(game: Game, seconds: float = 0.0) -> float:
    """Return the estimated number of nodes, or 1 if the rules raise; building reports the error."""
    estimate = look_closely(game, seconds)
    return estimate.num_nodes if estimate else 1.0


def look_closely(game: Game, seconds: float) -> SizeEstimate | None:
    """Return the estimated size, or None if the rules raise."""
    try:
        return estimate_size(game, max_probes=10_000, seconds=seconds)
    except Exception:
        return None


def _probe_size(game: Game, rng: random.Random, until: float) -> tuple[float, float]:
    """Return the estimates of one episode: the numbers of nodes and of decisions."""
    width, size, decisions = 1.0, 1.0, 0.0
    history: list[int] = []
    try:
        state = game.initial_state()
        while len(history) < MAX_HISTORY_LENGTH:
            player = game.player(state)
            if player == TERMINAL or (size == MAX_NODE_ESTIMATE and time.perf_counter() > until):
                return size, decisions
            if player == CHANCE:
                outcomes = game.chance_outcomes(state)
                count, action = len(outcomes), rng.choice(outcomes)[0]
            else:
                actions = game.actions(state)
                count, action = len(actions), rng.choice(actions)
                decisions += width
            width = min(width * count, MAX_NODE_ESTIMATE)
            size = min(size + width, MAX_NODE_ESTIMATE)
            state = game.next_state(state, action)
            history.append(action)
    except Exception as error:
        raise_rule_error(game, history, error)
    raise GameError(f"{game_title(game)}: still not over after {MAX_HISTORY_LENGTH:,} actions")


def available_memory() -> int:
    """Return the free memory in bytes; half of all, or 4 GiB, if the system does not report it."""
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (ValueError, OSError, AttributeError):
        return 4 * 2**30


def resident_memory() -> int:
    """Return the resident memory of this process in bytes, or 0 if unknown."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def format_count(number: float) -> str:
    """Format a number as `294,883`, or as `4.6e+59` from 1e15 on."""
    return f"{number:,.0f}" if number < 1e15 else f"{number:.1e}"


def format_gib(num_bytes: float) -> str:
    """Format bytes as `1.5 GiB`."""
    if num_bytes >= 2**60:
        return f"{num_bytes / 2**30:.1e} GiB"
    return f"{num_bytes / 2**30:.2g} GiB" if num_bytes < 2**30 else f"{num_bytes / 2**30:.1f} GiB"
