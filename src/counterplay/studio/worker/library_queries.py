"""Questions that need the library's classes but no tree: is this config right, how large is it?"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arenas.tree.size_estimate import available_memory, estimate_size
from counterplay.core.arena import Floats
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, CounterplayError
from counterplay.experiment.config import load_config
from counterplay.experiment.population import load_population
from counterplay.experiment.runner import new_run, use_device
from counterplay.interop.game_files import check_game_file
from counterplay.matrix.analysis import analyse_normal_form, load_normal_form
from counterplay.matrix.learning import run_learners as learned
from counterplay.matrix.normal_form import NormalForm, Profile
from counterplay.matrix.verification import nash_deviation
from counterplay.registry import GAMES, get_spec, load_learner
from counterplay.studio.server.responses import rewrite_for_page

MAX_MATRIX_CELLS = 40_000  # of a matrix that is shown and solved
MAX_SHOWN_ACTIONS = 40  # of each player, whose play in a united pool is shown
TREE_MEMORY_SHARE = 0.6  # of the free memory, up to which trees are built
OFFER_SECONDS = 0.05  # for estimating the size of one game of the catalogue
TRIAL_SECONDS = 0.5  # seconds for which a run is tried out
LEARNER_ITERATIONS, NUM_SHOWN_ITERATIONS = (
    1_000,
    120,
)  # iterations of learners, and how many of them are shown


def check_config(config: dict[str, Any], root: str = ".") -> dict[str, Any]:
    """The complete config, or what is wrong with it and at which key."""
    try:
        return {"config": load_config(config, origin=root).to_json()}
    except CounterplayError as error:
        text, _ = rewrite_for_page(str(error).removeprefix("config: "))
        match = re.match(r"(name|algorithm|arena|device|game|networks|spec)[.\w]*", text)
        return {"problem": text, "field": match[0] if match else ""}


def estimate_game_size(spec: str, root: str = ".") -> dict[str, Any]:
    """Return how large the tree would be, and whether there is room for it."""
    game = load_game_from_file(spec, root)
    found = estimate_size(game, seconds=0.3)
    return _offers(found) | {
        "spec": get_spec(game),
        "players": game.num_players,
        "nodes": found.num_nodes,
        "error": found.standard_error,
        "bytes": found.num_bytes,
        "free": available_memory(),
    }


def _offers(size: Any) -> dict[str, Any]:
    """Return whether a tree fits into memory, and otherwise why its pages are not offered."""
    free = available_memory()
    if size.num_bytes < TREE_MEMORY_SHARE * free:
        return {"fits": True, "reason": ""}
    reason = (
        f"Its tree has about {size.num_nodes:.0e} nodes, which do not fit into the "
        f"{free / 2**30:.0f} GB of free memory"
    )
    return {"fits": False, "reason": reason}


def offers(root: str = ".") -> dict[str, Any]:
    """Return for each registered game what pages can offer: `fits` and, if not, the reason."""
    found: dict[str, Any] = {}
    for name in GAMES:
        try:
            found[name] = _offers(
                estimate_size(load_game_from_file(name, root), seconds=OFFER_SECONDS)
            )
        except CounterplayError as error:  # such as a parameter without a default
            reason = f"Open it to set its parameters: {rewrite_for_page(str(error))[0]}"
            found[name] = {"fits": False, "reason": reason, "incomplete": True}
    return found


def estimate_duration(config: dict[str, Any], root: str = ".") -> dict[str, Any]:
    """How long a run will take: its first steps are tried out and timed."""
    with tempfile.TemporaryDirectory() as place:
        run = new_run(load_config(config, origin=root), Path(place) / "run")
    whole, course = run.config, run.session
    with use_device(whole):
        course.advance(1)  # compiles
        course.measure(course.policies())
        first, until = course.iteration, time.perf_counter() + TRIAL_SECONDS
        course.seconds = 0.0
        course.advance(whole.max_steps, stop=lambda: time.perf_counter() > until)
        steps, seconds = course.iteration - first, course.seconds
        began = time.perf_counter()
        course.measure(course.policies())
        judging = time.perf_counter() - began
    left = 0 if course.finished or not steps else whole.max_steps - course.iteration
    evaluations = 2 + (course.iteration + left) // whole.evaluate_every
    return {
        "seconds": seconds + (left * seconds / steps if left else 0.0) + evaluations * judging,
        "rate": steps / seconds if steps else None,
        "judging": judging,
    }


def inspect_game_file(path: str, root: str = ".") -> dict[str, Any]:
    """What a game file holds; its faults are named by line."""
    check_game_file(path)
    return estimate_game_size(path, root)


def analyse_matrix(query: dict[str, Any], root: str = ".") -> dict[str, Any]:
    """Dominance and equilibria of a game in normal form, and its utilities."""
    name, form = _load_query_form(query, root)
    return analyse_normal_form(name, form) | {"utility": form.utility.tolist()}


def run_matrix_learner(query: dict[str, Any], root: str = ".") -> dict[str, Any]:
    """What every player of a normal form plays as it learns: at 1, 2, 3, ... iterations.

    Everybody starts a little off uniform play, from where learners that rest at it would not move.
    """
    _, form = _load_query_form(query, root)
    learner = load_learner(str(query["learner"]))
    shown = set(np.geomspace(1, LEARNER_ITERATIONS, NUM_SHOWN_ITERATIONS).astype(int).tolist())
    path: list[dict[str, Any]] = []

    def record_iteration(t: int, current: Profile, average: Profile) -> None:
        if t in shown:
            both = {"current": current, "average": average}
            mixtures = {name: [m.tolist() for m in profile] for name, profile in both.items()}
            path.append({"iteration": t, "gain": nash_deviation(form, average).gain} | mixtures)

    start = tuple(_off_uniform_mixture(count, player) for player, count in enumerate(form.shape))
    learned(
        form, learner, iterations=LEARNER_ITERATIONS, initial_profile=start, report=record_iteration
    )
    return {"learner": get_spec(learner), "action_names": form.action_names, "path": path}


def _off_uniform_mixture(num_actions: int, player: int) -> Floats:
    weight = np.roll(np.arange(num_actions, 0, -1) + 2.0 * num_actions, player)
    return weight / weight.sum()


def _load_query_form(query: dict[str, Any], root: str) -> tuple[str, NormalForm]:
    if "utility" in query:
        given = query.get("names") or ()
        if not isinstance(given, (list, tuple)) or not all(isinstance(row, list) for row in given):
            raise ConfigError("names must be a list with the action names of each player")
        names = tuple(tuple(map(str, row)) for row in given)
        name, form = "matrix", NormalForm(query["utility"], names)
    else:
        name, form = load_normal_form(str(query["game"]), root)
    if form.utility.size > MAX_MATRIX_CELLS:
        shape = " x ".join(map(str, form.shape))
        raise ConfigError(f"{name} has {shape} actions: too many to show as a table")
    return name, form


def describe_population(folder: str) -> dict[str, Any]:
    """What the policies of a run's pools are worth to each other, and how they were mixed."""
    table = load_population(folder)
    shown = MAX_SHOWN_ACTIONS if table.sequence_offsets else None
    return {
        "payoffs": table.two_player_payoffs().tolist(),
        "sizes": table.pool_size_history.tolist(),
        "mixtures": [[m[:shown].tolist() for m in table.mixtures(p)] for p in range(2)],
        "players": int(table.pool_size_history.shape[1]),
        "united": bool(table.sequence_offsets),
        "ending": table.stop_reason,
    }
