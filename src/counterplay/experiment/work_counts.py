"""Nodes and episodes per step of a run, for plots at equal work.

Monte Carlo algorithms count the nodes that they touch. An iteration of the CFR family sweeps the
whole tree once for every player. Algorithms that sample whole episodes say how many: one per
player and iteration in outcome sampling, `num_episodes` in deep methods.

An algorithm of a user takes part by methods `nodes_per_step(arena)` and `episodes_per_step(arena)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from counterplay.algorithms.cfr.engine import RegretMinimiser
from counterplay.arenas.tree.arena import TreeArena
from counterplay.errors import ConfigError
from counterplay.experiment.runner import open_run
from counterplay.registry import get_registry_name

WORK_UNITS = ("nodes", "episodes")
ONE_EPISODE_PER_PLAYER = (
    *("outcome_sampling", "online_outcome_sampling", "vr_mccfr", "vr_mccfr_plus"),
)


def work_per_step(folder: str | Path, unit: str) -> float:
    """Return the mean number of nodes or episodes of one step of a run.

    Args:
        folder: the folder of the run; its latest checkpoint is read.
        unit: "nodes" or "episodes".

    Raises:
        ConfigError: the algorithm does not count this unit.
    """
    run = open_run(folder)
    arena, memory, algorithm = run.session.arena, run.session.memory, run.config.algorithm
    count = _count(arena, memory, algorithm, unit)
    if count is None:
        name = get_registry_name(algorithm)
        raise ConfigError(f"{name} does not count {unit} ({folder}); plot over step or seconds")
    return count


def _count(arena: Any, memory: Any, algorithm: Any, unit: str) -> float | None:
    own_count = getattr(algorithm, f"{unit}_per_step", None)
    if callable(own_count):
        return float(own_count(arena))
    if unit == "episodes":
        if get_registry_name(algorithm) in ONE_EPISODE_PER_PLAYER:
            return float(arena.num_players)
        episodes = getattr(algorithm, "num_episodes", None)
        return None if episodes is None else float(episodes)
    touched, steps = getattr(memory, "nodes_touched", None), memory.iteration
    if touched is not None and steps:
        return float(np.sum(touched)) / steps
    if isinstance(algorithm, RegretMinimiser) and isinstance(arena, TreeArena):
        return float(arena.num_nodes * arena.num_players)
    return None
