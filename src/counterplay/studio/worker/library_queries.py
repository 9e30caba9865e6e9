"""Questions that need the library but no tree: configs, sizes, durations, matrix games."""

from __future__ import annotations

import inspect
import re
import tempfile
import time
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np

from counterplay.arenas.tree.size_estimate import SizeEstimate, available_memory, estimate_size
from counterplay.core.trust import check_code, load_game_from_file
from counterplay.errors import ConfigError, CounterplayError
from counterplay.experiment.config import load_config
from counterplay.experiment.population import load_population
from counterplay.experiment.runner import new_run, use_device
from counterplay.interop.game_files import check_game_file
from counterplay.interop.user_classes import load_user_algorithm_class
from counterplay.matrix.analysis import analyse_normal_form, load_normal_form
from counterplay.matrix.learning import near_uniform_profile, run_learners
from counterplay.matrix.normal_form import NormalForm, Profile
from counterplay.matrix.verification import nash_deviation
from counterplay.registry import GAMES, get_spec, load_learner
from counterplay.studio.server.responses import rewrite_for_page
from counterplay.studio.worker.queries import Call, JsonObject, query

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_MATRIX_CELLS = 40_000  # of a matrix that is shown and solved
MAX_SHOWN_ACTIONS = 40  # of each mixture over a pool of sequences
TREE_MEMORY_SHARE = 0.6  # of the free memory that a tree may use
OFFER_SECONDS = 0.05  # for the estimate of the size of one game of the catalogue
TRIAL_SECONDS = 0.5  # for the trial of a run
LEARNER_ITERATIONS = 1_000
NUM_SHOWN_ITERATIONS = 120  # of a learner


class TreeOffer(TypedDict):
    """Whether the tree of a game fits into memory, and otherwise the reason."""

    fits: bool
    reason: str
    players: NotRequired[int]


@query("check")
def check_config(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the complete config, or the problem and the key that has it."""
    try:
        return {"config": load_config(call["config"], origin=worker.root).to_json()}
    except CounterplayError as error:
        text, _ = rewrite_for_page(str(error).removeprefix("config: "))
        match = re.match(r"(name|algorithm|arena|device|game|networks|spec)[.\w]*", text)
        return {"problem": text, "field": match[0] if match else ""}


@query("algorithm")
def describe_own_algorithm(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the summary and the fields of an algorithm of the user, whose code must be allowed."""
    spec = str(call["spec"])
    check_code(spec, worker.root)
    algorithm = load_user_algorithm_class(spec)
    doc = inspect.getdoc(algorithm) or ""
    declared = fields(algorithm) if is_dataclass(algorithm) else ()
    return {
        "name": spec,
        "summary": doc.split("\n")[0],
        "doc": doc,
        "problem": "",
        "fields": [
            {
                "name": field.name,
                "type": getattr(field.type, "__name__", str(field.type)),
                "default": _json_default(field.default),
                "required": field.default is MISSING and field.default_factory is MISSING,
                "network": field.name.endswith("hidden_sizes"),
            }
            for field in declared
        ],
    }


def _json_default(value: object) -> object:
    """Return the default of a field as a JSON value; None if it has none."""
    if value is MISSING or isinstance(value, (bool, int, float, str)):
        return None if value is MISSING else value
    return [_json_default(item) for item in value] if isinstance(value, tuple) else str(value)


@query("estimate")
def estimate_game_size(worker: StudioWorker, call: Call) -> JsonObject:
    """Return an estimate of the size of a game's tree, and whether it fits into memory."""
    return _estimate_game_size(str(call["spec"]), worker.root)


def _estimate_game_size(spec: str, root: str) -> JsonObject:
    game = load_game_from_file(spec, root)
    size = estimate_size(game, seconds=0.3)
    return {
        **_tree_offer(size),
        "spec": get_spec(game),
        "players": game.num_players,
        "nodes": size.num_nodes,
        "error": size.standard_error,
        "bytes": size.num_bytes,
        "free": available_memory(),
    }


def _tree_offer(size: SizeEstimate) -> TreeOffer:
    free = available_memory()
    if size.num_bytes < TREE_MEMORY_SHARE * free:
        return {"fits": True, "reason": ""}
    reason = (
        f"Its tree has about {size.num_nodes:.0e} nodes, which do not fit into the "
        f"{free / 2**30:.0f} GB of free memory"
    )
    return {"fits": False, "reason": reason}


@query("offers")
def list_offers(worker: StudioWorker, call: Call) -> JsonObject:
    """Return for each registered game whether its tree fits into memory."""
    offers: JsonObject = {}
    for name in GAMES:
        try:
            game = load_game_from_file(name, worker.root)
            offer = _tree_offer(estimate_size(game, seconds=OFFER_SECONDS))
            offers[name] = {**offer, "players": game.num_players}
        except CounterplayError as error:  # for example a parameter without a default
            reason = f"Open it to set its parameters: {rewrite_for_page(str(error))[0]}"
            offers[name] = {"fits": False, "reason": reason, "incomplete": True}
    return offers


@query("duration")
def estimate_duration(worker: StudioWorker, call: Call) -> JsonObject:
    """Return an estimate of the duration of a run, from a trial of its first steps."""
    with tempfile.TemporaryDirectory() as folder:
        run = new_run(load_config(call["config"], origin=worker.root), Path(folder) / "run")
    config, session = run.config, run.session
    with use_device(config):
        session.advance(1)  # compiles
        session.measure(session.policies())
        first, end_time = session.iteration, time.perf_counter() + TRIAL_SECONDS
        session.seconds = 0.0
        session.advance(config.max_steps, stop=lambda: time.perf_counter() > end_time)
        steps, seconds = session.iteration - first, session.seconds
        start_time = time.perf_counter()
        session.measure(session.policies())
        evaluation_seconds = time.perf_counter() - start_time
    steps_left = 0 if session.finished or not steps else config.max_steps - session.iteration
    evaluations = 2 + (session.iteration + steps_left) // config.evaluate_every
    seconds_left = steps_left * seconds / steps if steps_left else 0.0
    return {
        "seconds": seconds + seconds_left + evaluations * evaluation_seconds,
        "rate": steps / seconds if steps else None,
        "judging": evaluation_seconds,
    }


@query("examine")
def inspect_game_file(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the size of the game in a file; an error names the line of a fault."""
    path = str(call["path"])
    check_game_file(path)
    return _estimate_game_size(path, worker.root)


@query("matrix")
def analyse_matrix(worker: StudioWorker, call: Call) -> JsonObject:
    """Return dominance and equilibria of a game in normal form, and its utilities."""
    name, form = load_form(call, worker.root)
    return analyse_normal_form(name, form) | {"utility": form.utility.tolist()}


@query("learn")
def run_matrix_learner(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the policies of all players as they learn a normal form, at some iterations.

    Play starts near uniform play, because uniform play is a fixed point of many learners.
    """
    _, form = load_form(call, worker.root)
    learner = load_learner(str(call["learner"]))
    shown = set(np.geomspace(1, LEARNER_ITERATIONS, NUM_SHOWN_ITERATIONS).astype(int).tolist())
    path: list[JsonObject] = []

    def record_iteration(t: int, current: Profile, average: Profile) -> None:
        if t in shown:
            path.append(
                {
                    "iteration": t,
                    "gain": nash_deviation(form, average).gain,
                    "current": [mixture.tolist() for mixture in current],
                    "average": [mixture.tolist() for mixture in average],
                }
            )

    run_learners(
        form,
        learner,
        iterations=LEARNER_ITERATIONS,
        initial_profile=near_uniform_profile(form),
        report=record_iteration,
    )
    return {"learner": get_spec(learner), "action_names": form.action_names, "path": path}


def load_form(call: Call, root: str) -> tuple[str, NormalForm]:
    """Return the name and the normal form of a table or a game in a call."""
    if "utility" in call:
        rows = call.get("names") or ()
        if not isinstance(rows, (list, tuple)) or not all(isinstance(row, list) for row in rows):
            raise ConfigError("names must be a list with the action names of each player")
        names = tuple(tuple(map(str, row)) for row in rows)
        name, form = "matrix", NormalForm(call["utility"], names)
    else:
        name, form = load_normal_form(str(call["game"]), root)
    if form.utility.size > MAX_MATRIX_CELLS:
        shape = " x ".join(map(str, form.shape))
        raise ConfigError(f"{name} has {shape} actions: too many to show as a table")
    return name, form


@query("population")
def describe_population(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the payoffs between the populations of a run, and their mixtures over time."""
    table = load_population(str(call["folder"]))
    shown = MAX_SHOWN_ACTIONS if table.sequence_offsets else None
    return {
        "payoffs": table.two_player_payoffs().tolist(),
        "sizes": table.pool_size_history.tolist(),
        "mixtures": [[m[:shown].tolist() for m in table.mixtures(p)] for p in range(2)],
        "players": int(table.pool_size_history.shape[1]),
        "united": bool(table.sequence_offsets),
        "ending": table.stop_reason,
    }
