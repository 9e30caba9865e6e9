"""Handlers about games and policies: catalogue, trees, play and matrices."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from counterplay.core.archive import is_regular
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.catalogue import build_catalogue
from counterplay.studio.server.play_session_store import PlaySession
from counterplay.studio.server.request_validation import (
    Query,
    integer_field,
    parse_body,
    text_field,
)
from counterplay.studio.server.responses import ApiError, not_found_error
from counterplay.studio.server.routes import HandlerResult, JsonObject, api_route
from counterplay.studio.server.run_index import POPULATION
from counterplay.studio.server.worker_pool import TIMING_WORKER

TREE_QUERIES = (  # of the Explore page; tree_queries and tree_layout answer them
    "view",
    "grid",
    "leaks",
    "drawing",
    "overview",
    "find",
    "infoset",
    "export",
    "game_file",
)
TEXT_QUERIES = ("export", "game_file")  # whose answer is a file


async def _ask_library(studio: StudioState, question: JsonObject, seconds: float) -> JsonObject:
    """Return the answer of the worker without a game, which may compute for some seconds."""
    answer: JsonObject = await studio.worker_pool.ask(
        "", question, wait_seconds=None, cpu_limit_seconds=seconds
    )
    return answer


@api_route("/api/catalogue")
async def get_catalogue(studio: StudioState, request: Request) -> JsonObject:
    """Return all games and algorithms with their parameters, and the uploaded games."""
    catalogue = await asyncio.to_thread(build_catalogue)
    uploads = studio.game_names.list_uploads()
    uploaded = [{"name": upload.name, "title": upload.title} for upload in uploads]
    own = [] if studio.read_only else await _describe_own_algorithms(studio)
    algorithms = cast(list[object], catalogue["algorithms"])
    return catalogue | {"uploaded": uploaded, "algorithms": [*own, *algorithms]}


async def _describe_own_algorithms(studio: StudioState) -> list[JsonObject]:
    """Return the entries of the user's algorithms; a worker loads their code."""
    entries: list[JsonObject] = []
    for spec in await asyncio.to_thread(studio.own_algorithms.list_specs):
        try:
            entries.append(await _ask_library(studio, {"do": "algorithm", "spec": spec}, 20))
        except ApiError as error:
            entry: JsonObject = {"name": spec, "summary": "", "doc": "", "fields": []}
            entries.append(entry | {"problem": error.message})
    return entries


@api_route("/api/offers")
async def get_offers(studio: StudioState, request: Request) -> JsonObject:
    """Return which registered games fit into memory; computed once while the studio runs."""
    if not studio.offers:
        studio.offers = await _ask_library(studio, {"do": "offers"}, 30)
    return studio.offers


@api_route("/api/games/upload", "POST")
async def upload_game(studio: StudioState, request: Request) -> JsonObject:
    """Store a game file, and return its size."""
    body = parse_body(await request.body())
    title, text = text_field(body, "name"), body.get("text")
    if not isinstance(text, str):
        raise ApiError(422, "upload", "text must be a text", field="text")
    name, path = studio.game_names.save_upload(title, text)
    try:
        answer = await _ask_library(studio, {"do": "examine", "path": str(path)}, 10)
    except ApiError as error:
        studio.game_names.delete_upload(path)
        message = error.message.replace(str(path), Path(title).name)
        raise ApiError(error.status, "game", message) from None
    return answer | {"name": name, "spec": name}


@api_route("/api/check", "POST", read_only=True)
async def check_config(studio: StudioState, request: Request) -> JsonObject:
    """Return the complete config, or the problem and the key that has it."""
    config = studio.resolver.config(parse_body(await request.body()).get("config"))
    return await _ask_library(studio, {"do": "check", "config": config}, 30)


@api_route("/api/estimate/run", "POST", read_only=True)
async def estimate_duration(studio: StudioState, request: Request) -> JsonObject:
    """Return an estimate of the duration of a run."""
    config = studio.resolver.config(parse_body(await request.body()).get("config"))
    question = {"do": "duration", "config": config}
    answer: JsonObject = await studio.worker_pool.ask(
        TIMING_WORKER, question, cpu_limit_seconds=60, cancel_others=True
    )
    return answer


@api_route("/api/estimate", "POST", read_only=True)
async def estimate_game_size(studio: StudioState, request: Request) -> JsonObject:
    """Return an estimate of the size of a game's tree."""
    spec = studio.resolver.game(text_field(parse_body(await request.body()), "game"))
    answer = await _ask_library(studio, {"do": "estimate", "spec": spec}, 30)
    return answer | {"spec": studio.game_names.name_from_spec(str(answer["spec"]))}


@api_route("/api/matrix", "POST", read_only=True)
async def analyse_matrix(studio: StudioState, request: Request) -> JsonObject:
    """Return the equilibria of a matrix game, or with a `learner` the path of its policies."""
    body = parse_body(await request.body())
    keys = ("utility", "names", "learner")
    question: JsonObject = {key: body[key] for key in keys if key in body}
    question["do"] = "learn" if "learner" in body else "matrix"
    if "utility" not in body:
        question["game"] = studio.resolver.game(text_field(body, "game"))
    return await _ask_library(studio, question, 20)


@api_route("/api/explore/{what}")
async def query_tree(studio: StudioState, request: Request) -> HandlerResult:
    """Return one view of a tree: a node, a grid, the largest losses, a drawing, a file."""
    kind, query = request.path_params["what"], Query(request)
    if kind not in TREE_QUERIES:
        raise not_found_error()
    policy = query.text("policy")
    game = studio.resolver.game_of(query.text("game"), policy)
    source = await asyncio.to_thread(studio.resolver.policy, policy)
    if lock := query.text("lock"):
        source["lock"] = lock
    question: JsonObject = {
        "do": kind,
        "game": game,
        "policy": source,
        "node": query.integer("node"),
        "start": query.integer("start"),
        "text": query.text("text"),
        "form": query.choice("form", ("json", "csv")),
    }
    if reference := query.text("vs"):
        question["versus"] = await asyncio.to_thread(studio.resolver.reference, reference)
    question |= {name: query.integer(name) for name in ("infoset", "player") if query.text(name)}
    if kind == "infoset" and "infoset" not in question:
        raise ApiError(400, "query", "infoset is missing", field="infoset")
    answer = await studio.worker_pool.ask(game, question)
    if kind in TEXT_QUERIES:
        return PlainTextResponse(answer)
    tree_view: JsonObject = answer
    return tree_view


@api_route("/api/desk", "DELETE")
async def close_worker(studio: StudioState, request: Request) -> JsonObject:
    """End the worker of a game."""
    query = Query(request)
    game = studio.resolver.game_of(query.text("game"), query.text("policy"))
    return {"closed": studio.worker_pool.close(game)}


@api_route("/api/play", "POST", read_only=True)
async def create_play_session(studio: StudioState, request: Request) -> JsonObject:
    """Start a play session and return its id."""
    body = parse_body(await request.body())
    policy, seat = text_field(body, "policy"), integer_field(body, "seat", 0) or 0
    await asyncio.to_thread(studio.resolver.policy, policy, allow_search=True)
    game = studio.resolver.game_of(text_field(body, "game"), policy)
    return {"play": studio.play_sessions.create(game, policy, seat).session_id}


@api_route("/api/play/{play}")
async def get_play_session(studio: StudioState, request: Request) -> JsonObject:
    """Return the person's view of the current episode."""
    session = studio.play_sessions.find(request.path_params["play"])
    return await _describe_play_session(studio, session, hint=Query(request).has("hint"))


@api_route("/api/play/{play}/{what}", "POST", read_only=True)
async def continue_play_session(studio: StudioState, request: Request) -> JsonObject:
    """Take an action (`act`), or start the next episode (`next`)."""
    session = studio.play_sessions.find(request.path_params["play"])
    step, body = request.path_params["what"], parse_body(await request.body())
    if step == "act":
        session.take_action(body)
        try:
            return await _describe_play_session(studio, session)
        except ApiError as error:
            if error.status == 422:  # there is no such action
                session.actions.pop()
            raise
    if step != "next":
        raise not_found_error()
    if body.get("number") == session.episode_index:  # another tab may have started it
        session.start_next_episode()
    return await _describe_play_session(studio, session)


async def _describe_play_session(
    studio: StudioState, session: PlaySession, hint: bool = False
) -> JsonObject:
    policy = await asyncio.to_thread(studio.resolver.policy, session.policy, allow_search=True)
    episode = await studio.worker_pool.ask(session.game, session.play_query(policy, hint))
    return session.describe(episode) | {"game": studio.game_names.name_from_spec(session.game)}


@api_route("/api/runs/{run:path}/population")
async def get_population(studio: StudioState, request: Request) -> JsonObject:
    """Return the payoffs and mixtures of the populations of a run."""
    run = studio.run_from_request(request)
    if not is_regular(run.folder / POPULATION):
        raise ApiError(422, "population", f"{run.id} has no population")
    return await _ask_library(studio, {"do": "population", "folder": str(run.folder)}, 20)
