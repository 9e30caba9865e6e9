"""How large a tree will be, before it is built."""

from __future__ import annotations

import os
import random
import time
from dataclasses import dataclass

from counterplay.core.game import CHANCE, TERMINAL, Game
from counterplay.core.game_checks import game_title, raise_rule_error
from counterplay.errors import GameError

BYTES_PER_NODE, BYTES_PER_INFOSET = 200, 800  # peak while building: benchmarks/speed/tree_memory.py
MAX_NODE_ESTIMATE = 1e100  # nodes; larger estimates stop here, before they overflow
MAX_HISTORY_LENGTH = 10_000  # actions; a longer one counts as a game that never ends
REFUSAL_FACTOR = (
    1_000  # times too large: unbiased guesses are so far off less than once in a thousand
)


@dataclass(frozen=True)
class SizeEstimate:
    """An unbiased guess at the number of nodes, with its standard error."""

    num_nodes: float
    standard_error: float
    num_decisions: float  # nodes at which a player acts
    num_probes: int

    @property
    def num_bytes(self) -> float:
        """Memory that building takes at its peak, at most: as if nothing were hidden."""
        return peak_build_bytes(self.num_nodes, self.num_decisions)


def peak_build_bytes(num_nodes: float, num_infosets: float) -> float:
    """Memory that building a tree of that size takes at its peak."""
    return num_nodes * BYTES_PER_NODE + num_infosets * BYTES_PER_INFOSET


def estimate_size(
    game: Game, *, max_probes: int = 1_000_000, seconds: float = 1.0, seed: int = 0
) -> SizeEstimate:
    """Estimate the number of nodes from random walks (Knuth, 1975), in about a second.

    A walk that meets b_1, b_2, ... children on its way stands for 1 + b_1 + b_1 b_2 + ... nodes.
    One that stands for `MOST` ends when time is up, whether the game is over or not.
    """
    rng = random.Random(seed)
    until = time.perf_counter() + seconds
    count, mean, squares, decisions = 0, 0.0, 0.0, 0.0
    while count < 2 or (count < max_probes and time.perf_counter() < until):
        size, decided = _probe_size(game, rng, until)
        count += 1
        step = size - mean
        mean += step / count
        squares += step * (size - mean)
        decisions += (decided - decisions) / count
    return SizeEstimate(mean, (squares / (count - 1) / count) ** 0.5, decisions, count)


def estimate_num_nodes(game: Game, seconds: float = 0.0) -> float:
    """The estimated number of nodes; 1 where the rules break: who walks them all can say where."""
    found = look_closely(game, seconds)
    return found.num_nodes if found else 1.0


def look_closely(game: Game, seconds: float) -> SizeEstimate | None:
    """Return the estimated size, or None where the rules break."""
    try:
        return estimate_size(game, max_probes=10_000, seconds=seconds)
    except Exception:
        return None


def _probe_size(game: Game, rng: random.Random, until: float) -> tuple[float, float]:
    """One walk's guess at the number of nodes and at the number of decisions among them."""
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
    """Bytes of memory that are free now; a cautious guess where the system does not say."""
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
    """Bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def format_count(number: float) -> str:
    """Such as `294,883`, or `4.6e+59` for what nobody would count."""
    return f"{number:,.0f}" if number < 1e15 else f"{number:.1e}"


def format_gib(num_bytes: float) -> str:
    """Such as `1.5 GiB`."""
    if num_bytes >= 2**60:
        return f"{num_bytes / 2**30:.1e} GiB"
    return f"{num_bytes / 2**30:.2g} GiB" if num_bytes < 2**30 else f"{num_bytes / 2**30:.1f} GiB"
