"""Handlers of the page Trace: the updates of CFR and of matrix learners, step by step."""

from __future__ import annotations

from starlette.requests import Request

from counterplay.registry import ALGORITHMS
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.name_resolver import parse_registered
from counterplay.studio.server.request_validation import (
    Query,
    integer_field,
    parse_body,
    text_field,
)
from counterplay.studio.server.routes import JsonObject, api_route
from counterplay.studio.server.worker_pool import LIBRARY_WORKER

LEARNER_SECONDS = 20.0  # of CPU time for a trace of a learner
MAX_SHOWN_ITERATION = 1_000_000  # the worker knows the limit of the game


@api_route("/api/trace")
async def trace_cfr(studio: StudioState, request: Request) -> JsonObject:
    """Return the update of an infoset of a tree at an iteration of CFR."""
    query = Query(request)
    algorithm = query.text("algorithm", "cfr")
    parse_registered("algorithm", algorithm, ALGORITHMS)
    game = studio.resolver.game(query.text("game", "kuhn_poker"))
    question: JsonObject = {
        "do": "trace",
        "game": game,
        "algorithm": algorithm,
        "iteration": query.integer("iteration", 1, low=1, high=MAX_SHOWN_ITERATION),
        "infoset": query.integer("infoset"),
        "start": query.integer("start"),
        "text": query.text("text"),
    }
    answer: JsonObject = await studio.worker_pool.ask(game, question)
    return answer | {"spec": studio.game_names.name_from_spec(str(answer["spec"]))}


@api_route("/api/trace/learner", "POST", read_only=True)
async def trace_matrix_learner(studio: StudioState, request: Request) -> JsonObject:
    """Return the update of a player of a normal form at an iteration of a learner."""
    body = parse_body(await request.body())
    keys = ("utility", "names", "initial")
    question: JsonObject = {key: body[key] for key in keys if key in body}
    question |= {
        "do": "trace_learner",
        "learner": text_field(body, "learner", "regret_matching"),
        "iteration": integer_field(body, "iteration", 1, low=1),
        "player": integer_field(body, "player", 0),
    }
    if "utility" not in body:
        question["game"] = studio.resolver.game(text_field(body, "game"))
    answer: JsonObject = await studio.worker_pool.ask(
        LIBRARY_WORKER, question, wait_seconds=None, cpu_limit_seconds=LEARNER_SECONDS
    )
    return answer
