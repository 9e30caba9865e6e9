"""Questions about games and policies: catalogue, trees, play and matrices."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from counterplay.core.archive import is_regular
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.catalogue import build_catalogue as listed
from counterplay.studio.server.play_session_store import PlaySession, take_action
from counterplay.studio.server.request_validation import (
    Query,
    integer_field,
    parse_body,
    text_field,
)
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.run_index import POPULATION
from counterplay.studio.server.worker_pool import TIMING_WORKER

TREE_QUERIES = (
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


async def get_catalogue(studio: StudioState, request: Request) -> Any:
    known = await asyncio.to_thread(listed)
    uploaded = [
        {"name": one["name"], "title": one["title"]} for one in studio.game_names.list_uploads()
    ]
    return known | {"uploaded": uploaded}


async def offers(studio: StudioState, request: Request) -> Any:
    """What the pages can do with each registered game; computed once while the studio runs."""
    if not studio.offers:
        studio.offers = await studio.worker_pool.ask(
            "", {"do": "offers"}, wait_seconds=None, cpu_limit_seconds=30
        )
    return studio.offers


async def upload_game(studio: StudioState, request: Request) -> Any:
    body = parse_body(await request.body())
    title, text = text_field(body, "name"), body.get("text")
    if not isinstance(text, str):
        raise ApiError(422, "upload", "text must be a text", field="text")
    name, path = studio.game_names.save_upload(title, text)
    try:
        call = {"do": "examine", "path": str(path)}
        found = await studio.worker_pool.ask("", call, wait_seconds=None, cpu_limit_seconds=10)
    except ApiError as refusal:
        studio.game_names.delete_upload(path)
        message = refusal.body["error"]["message"].replace(str(path), Path(title).name)
        raise ApiError(refusal.status, "game", message) from None
    return found | {"name": name, "spec": name}


async def check_config(studio: StudioState, request: Request) -> Any:
    config = studio.resolver.config(parse_body(await request.body()).get("config"))
    return await studio.worker_pool.ask(
        "", {"do": "check", "config": config}, wait_seconds=None, cpu_limit_seconds=30
    )


async def estimate_duration(studio: StudioState, request: Request) -> Any:
    """How long a run of this config will take."""
    config = studio.resolver.config(parse_body(await request.body()).get("config"))
    question = {"do": "duration", "config": config}
    return await studio.worker_pool.ask(
        TIMING_WORKER, question, cpu_limit_seconds=60, cancel_others=True
    )


async def estimate_game_size(studio: StudioState, request: Request) -> Any:
    spec = studio.resolver.game(text_field(parse_body(await request.body()), "game"))
    found = await studio.worker_pool.ask(
        "", {"do": "estimate", "spec": spec}, wait_seconds=None, cpu_limit_seconds=30
    )
    return found | {"spec": studio.game_names.name_from_spec(found["spec"])}


async def analyse_matrix(studio: StudioState, request: Request) -> Any:
    """Equilibria, or with a learner how it moves."""
    body = parse_body(await request.body())
    given = ("utility", "names", "learner")
    question: dict[str, Any] = {name: body[name] for name in given if name in body}
    question["do"] = "learn" if "learner" in body else "matrix"
    if "utility" not in body:
        question["game"] = studio.resolver.game(text_field(body, "game"))
    return await studio.worker_pool.ask("", question, wait_seconds=None, cpu_limit_seconds=20)


async def query_tree(studio: StudioState, request: Request) -> Any:
    what, query = request.path_params["what"], Query(request)
    if what not in TREE_QUERIES:
        raise ApiError(404, "nothing", "there is nothing under this address")
    policy = query.text("policy")
    game = studio.resolver.game_of(query.text("game"), policy)
    question: dict[str, Any] = {
        "do": what,
        "game": game,
        "policy": await asyncio.to_thread(studio.resolver.policy, policy),
        "node": query.integer("node"),
        "start": query.integer("start"),
        "text": query.text("text"),
        "form": query.choice("form", ("json", "csv")),
    }
    if lock := query.text("lock"):
        question["policy"] |= {"lock": lock}
    if reference := query.text("vs"):
        question["versus"] = await asyncio.to_thread(studio.resolver.reference, reference)
    question |= {name: query.integer(name) for name in ("infoset", "player") if query.text(name)}
    if what == "infoset" and "infoset" not in question:
        raise ApiError(400, "query", "infoset is missing", field="infoset")
    found = await studio.worker_pool.ask(game, question)
    return PlainTextResponse(found) if what in ("export", "game_file") else found


async def close_worker(studio: StudioState, request: Request) -> Any:
    query = Query(request)
    game = studio.resolver.game_of(query.text("game"), query.text("policy"))
    return {"closed": studio.worker_pool.close(game)}


async def create_play_session(studio: StudioState, request: Request) -> Any:
    body = parse_body(await request.body())
    policy, seat = text_field(body, "policy"), integer_field(body, "seat", 0) or 0
    await asyncio.to_thread(studio.resolver.policy, policy, allow_search=True)
    game = studio.resolver.game_of(text_field(body, "game"), policy)
    return {"play": studio.play_sessions.create(game, policy, seat).session_id}


async def get_play_session(studio: StudioState, request: Request) -> Any:
    room = studio.play_sessions.find(request.path_params["play"])
    return await _describe_play_session(studio, room, hint=Query(request).has("hint"))


async def continue_play_session(studio: StudioState, request: Request) -> Any:
    room, what = studio.play_sessions.find(request.path_params["play"]), request.path_params["what"]
    body = parse_body(await request.body())
    if what == "act":
        take_action(room, body)
        try:
            return await _describe_play_session(studio, room)
        except ApiError as refusal:
            if refusal.status == 422:  # no such action: as if it had not been tried
                room.actions.pop()
            raise
    if what == "next" and body.get("number") == room.episode_index:
        if not room.is_over:
            raise ApiError(409, "under_way", "the episode is not over yet")
        room.episode_index, room.actions, room.is_over = room.episode_index + 1, [], False
    elif what != "next":
        raise ApiError(404, "nothing", "there is nothing under this address")
    return await _describe_play_session(studio, room)


async def _describe_play_session(
    studio: StudioState, session: PlaySession, hint: bool = False
) -> Any:
    policy = await asyncio.to_thread(studio.resolver.policy, session.policy, allow_search=True)
    found = await studio.worker_pool.ask(session.game, session.play_query(policy, hint))
    return session.finish_and_describe(found) | {
        "game": studio.game_names.name_from_spec(session.game)
    }


async def get_population(studio: StudioState, request: Request) -> Any:
    """Payoffs and mixtures of the pools that a run has."""
    run = studio.run_from_request(request)
    if not is_regular(run.folder / POPULATION):
        raise ApiError(422, "population", f"{run.id} has no population")
    question = {"do": "population", "folder": str(run.folder)}
    return await studio.worker_pool.ask("", question, wait_seconds=None, cpu_limit_seconds=20)


async def query_spot(studio: StudioState, request: Request) -> Any:
    """A hold'em spot: what solving it takes, or what its solution does after a record."""
    body = parse_body(await request.body())
    given, target = body.get("spot"), body.get("target", 0.5)
    is_number = isinstance(target, (int, float)) and not isinstance(target, bool)
    if not isinstance(given, dict) or not is_number:
        raise ApiError(422, "spot", "spot must be a JSON object, and target a number")
    if body.get("estimate"):
        size = {"do": "spot_size", "spot": given}
        try:
            return await studio.worker_pool.ask("", size, wait_seconds=None, cpu_limit_seconds=30)
        except ApiError as refusal:  # as with configs: what is being typed may be wrong
            if refusal.status != 422:
                raise
            return {"problem": refusal.body["error"]["message"]}
    question: dict[str, Any] = {"do": "spot", "spot": given, "target": target}
    question |= {name: text_field(body, name) for name in ("record", "cell")}
    return await studio.worker_pool.ask(spot_worker_name(given), question)


async def close_spot_worker(studio: StudioState, request: Request) -> Any:
    """End the computation of a spot."""
    given = parse_body(await request.body()).get("spot")
    return {"closed": studio.worker_pool.close(spot_worker_name(given))}


def spot_worker_name(spot: Any) -> str:
    """The name of the desk that holds a spot."""
    text = json.dumps(spot, sort_keys=True)
    return f"spot:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
