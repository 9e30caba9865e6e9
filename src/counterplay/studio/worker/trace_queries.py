"""Questions of the page Trace: one update of CFR or of a matrix learner, with all its numbers."""

from __future__ import annotations

import json
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np

from counterplay.algorithms.cfr.trace import CFRTrace
from counterplay.arenas.tree.size_estimate import estimate_size
from counterplay.core.arena import Floats
from counterplay.display.equations import (
    cfr_equations,
    learner_equations,
    step_to_json,
)
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import uniform_profile
from counterplay.matrix.trace import LearnerTrace, trace_learner
from counterplay.registry import get_spec, load_learner, load_registered_algorithm
from counterplay.studio.worker.library_queries import load_form
from counterplay.studio.worker.queries import Call, JsonObject, query

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_ITERATIONS = 2_000  # that the page can show
MAX_TRACE_NODES = 100_000  # of a tree
ESTIMATE_SECONDS = 0.1  # for the size of the tree
MAX_CACHED_TRACES = 4
ROWS_PER_PAGE = 24  # infosets in one answer
MAX_HISTORIES = 24  # of the infoset in one answer
ITERATION_STEPS = (50, 200, 1000, MAX_ITERATIONS)  # lengths of cached traces of learners

_cfr_traces: OrderedDict[str, CFRTrace] = OrderedDict()  # by game and algorithm
_learner_traces: OrderedDict[str, LearnerTrace] = OrderedDict()  # by the text of the question


@query("trace")
def describe_cfr_step(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the update of an infoset at an iteration, and a page of the table of all infosets."""
    trace = _cfr_trace(worker, str(call.get("algorithm", "cfr")))
    iteration = int(call.get("iteration", 1))
    limit = min(trace.max_iterations, MAX_ITERATIONS)
    if not 1 <= iteration <= limit:
        raise ConfigError(f"iteration is {iteration}, must be from 1 to {limit:,}")
    while len(trace.records) < iteration:
        worker.report_progress("tracing", len(trace.records), iteration)
        trace.extend(min(len(trace.records) + 10, iteration))
    tree, record = trace.tree, trace.records[iteration - 1]
    infoset = int(call.get("infoset", 0))
    step = trace.step(iteration, infoset)
    matches = _find_infosets(trace, str(call.get("text", "")))
    start = int(call.get("start", 0))
    own = slice(int(tree.offset[infoset]), int(tree.offset[infoset + 1]))
    answer = step_to_json(step)
    answer["histories"] = answer["histories"][:MAX_HISTORIES]
    records = trace.records[:iteration]
    return {
        "spec": tree.spec,
        "algorithm": get_spec(trace.algorithm),
        "iteration": iteration,
        "max_iterations": limit,
        "step": answer,
        "num_histories": len(step.histories),
        "equations": [step_to_json(equation) for equation in cfr_equations(step)],
        "exploitability": record.exploitability,
        "curves": {
            "policy": [r.updates[step.player].profile[own].tolist() for r in records],
            "average": [r.average.probabilities[own].tolist() for r in records],
            "exploitability": [r.exploitability for r in records],
        },
        "rows": [
            _describe_row(trace, iteration, i) for i in matches[start : start + ROWS_PER_PAGE]
        ],
        "start": start,
        "total": len(matches),
    }


def _cfr_trace(worker: StudioWorker, algorithm: str) -> CFRTrace:
    """Return the trace of an algorithm on the worker's game; a few are cached."""
    key = f"{worker.game_spec} {algorithm}"
    if key not in _cfr_traces:
        num_nodes = estimate_size(worker.game, seconds=ESTIMATE_SECONDS).num_nodes
        if num_nodes > MAX_TRACE_NODES:
            raise ConfigError(
                f"{worker.game_spec} has about {num_nodes:,.0f} nodes; a trace is for games of at "
                f"most {MAX_TRACE_NODES:,}, such as kuhn_poker or leduc_poker"
            )
        tree = worker.policy_sources.tree
        _cfr_traces[key] = CFRTrace(tree, load_registered_algorithm(algorithm))
    _cfr_traces.move_to_end(key)
    while len(_cfr_traces) > MAX_CACHED_TRACES:
        _cfr_traces.popitem(last=False)
    return _cfr_traces[key]


def _find_infosets(trace: CFRTrace, text: str) -> list[int]:
    """Return the infosets whose key contains a text."""
    keys = trace.tree.infoset_keys
    return [number for number, key in enumerate(keys) if text.lower() in key.lower()]


def _describe_row(trace: CFRTrace, iteration: int, infoset: int) -> JsonObject:
    """Return the policy, regrets and average of an infoset."""
    tree, record = trace.tree, trace.records[iteration - 1]
    player = int(tree.infoset_player[infoset])
    own = slice(int(tree.offset[infoset]), int(tree.offset[infoset + 1]))

    def numbers(table: Floats) -> list[float]:
        return [float(value) for value in table[own]]

    return {
        "infoset": infoset,
        "key": tree.infoset_key(infoset),
        "player": player,
        "actions": tree.action_names(infoset),
        "policy": numbers(record.updates[player].profile),
        "regret": numbers(record.regret),
        "average": numbers(record.average.probabilities),
    }


@query("trace_learner")
def describe_learner_step(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the update of a player of a normal form at an iteration of a learner."""
    iteration, player = int(call.get("iteration", 1)), int(call.get("player", 0))
    if not 1 <= iteration <= MAX_ITERATIONS:
        raise ConfigError(f"iteration is {iteration}, must be from 1 to {MAX_ITERATIONS:,}")
    trace = _learner_trace(worker, call, iteration)
    step, form = trace.step(iteration, player), trace.form
    return {
        "learner": get_spec(trace.learner),
        "iteration": iteration,
        "max_iterations": MAX_ITERATIONS,
        "players": form.num_players,
        "step": step_to_json(step),
        "equations": [step_to_json(equation) for equation in learner_equations(step)],
        "gain": float(trace.gains[iteration - 1]),
        "curves": {
            "policy": [profile[player].tolist() for profile in trace.profiles[:iteration]],
            "average": [profile[player].tolist() for profile in trace.averages[:iteration]],
            "gain": trace.gains[:iteration].tolist(),
        },
    }


def _learner_trace(worker: StudioWorker, call: Call, iteration: int) -> LearnerTrace:
    """Return a trace with at least that many iterations; a few are cached."""
    names = ("game", "utility", "names", "learner", "initial")
    iterations = next(steps for steps in ITERATION_STEPS if steps >= iteration)
    key = json.dumps([iterations, *(call.get(name) for name in names)], sort_keys=True)
    if key not in _learner_traces:
        _, form = load_form(call, worker.root)
        initial: Any = call.get("initial") or None
        if initial == "uniform":
            initial = uniform_profile(form)
        elif initial is not None:
            initial = _parse_profile(initial)
        learner = load_learner(str(call["learner"]))
        _learner_traces[key] = trace_learner(
            form, learner, iterations=iterations, initial_profile=initial
        )
    _learner_traces.move_to_end(key)
    while len(_learner_traces) > MAX_CACHED_TRACES:
        _learner_traces.popitem(last=False)
    return _learner_traces[key]


def _parse_profile(initial: object) -> tuple[Floats, ...]:
    """Return the mixtures of nested lists."""
    try:
        return tuple(np.array([float(p) for p in row]) for row in initial)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise ConfigError("initial must have one list of probabilities per player") from None
