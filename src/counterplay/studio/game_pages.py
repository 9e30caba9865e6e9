"""Questions about games and policies: catalogue, trees, play and matrices."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from counterplay.files import is_regular
from counterplay.studio.answers import Refusal
from counterplay.studio.catalogue import catalogue as listed
from counterplay.studio.desks import TIMING
from counterplay.studio.host import Studio
from counterplay.studio.rooms import Room, act
from counterplay.studio.validation import Query, integer_field, parse_body, text_field
from counterplay.studio.watching import POPULATION

QUESTIONS = (
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


async def catalogue(studio: Studio, request: Request) -> Any:
    known = await asyncio.to_thread(listed)
    uploaded = [{"name": one["name"], "title": one["title"]} for one in studio.games.listed()]
    return known | {"uploaded": uploaded}


async def offers(studio: Studio, request: Request) -> Any:
    """What the pages can do with each registered game; computed once while the studio runs."""
    if not studio.offers:
        studio.offers = await studio.desks.ask("", {"do": "offers"}, patience=None, limit=30)
    return studio.offers


async def upload(studio: Studio, request: Request) -> Any:
    body = parse_body(await request.body())
    title, text = text_field(body, "name"), body.get("text")
    if not isinstance(text, str):
        raise Refusal(422, "upload", "text must be a text", field="text")
    name, path = studio.games.keep(title, text)
    try:
        call = {"do": "examine", "path": str(path)}
        found = await studio.desks.ask("", call, patience=None, limit=10)
    except Refusal as refusal:
        studio.games.drop(path)
        message = refusal.body["error"]["message"].replace(str(path), Path(title).name)
        raise Refusal(refusal.status, "game", message) from None
    return found | {"name": name, "spec": name}


async def check(studio: Studio, request: Request) -> Any:
    config = studio.resolver.config(parse_body(await request.body()).get("config"))
    return await studio.desks.ask("", {"do": "check", "config": config}, patience=None, limit=30)


async def duration(studio: Studio, request: Request) -> Any:
    """How long a run of this config will take."""
    config = studio.resolver.config(parse_body(await request.body()).get("config"))
    question = {"do": "duration", "config": config}
    return await studio.desks.ask(TIMING, question, limit=60, alone=True)


async def estimate(studio: Studio, request: Request) -> Any:
    spec = studio.resolver.game(text_field(parse_body(await request.body()), "game"))
    found = await studio.desks.ask("", {"do": "estimate", "spec": spec}, patience=None, limit=30)
    return found | {"spec": studio.games.name(found["spec"])}


async def matrix(studio: Studio, request: Request) -> Any:
    """Equilibria, or with a learner how it moves."""
    body = parse_body(await request.body())
    given = ("utility", "names", "learner")
    question: dict[str, Any] = {name: body[name] for name in given if name in body}
    question["do"] = "learn" if "learner" in body else "matrix"
    if "utility" not in body:
        question["game"] = studio.resolver.game(text_field(body, "game"))
    return await studio.desks.ask("", question, patience=None, limit=20)


async def explore(studio: Studio, request: Request) -> Any:
    what, query = request.path_params["what"], Query(request)
    if what not in QUESTIONS:
        raise Refusal(404, "nothing", "there is nothing under this address")
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
        raise Refusal(400, "query", "infoset is missing", field="infoset")
    found = await studio.desks.ask(game, question)
    return PlainTextResponse(found) if what in ("export", "game_file") else found


async def close_desk(studio: Studio, request: Request) -> Any:
    query = Query(request)
    game = studio.resolver.game_of(query.text("game"), query.text("policy"))
    return {"closed": studio.desks.close(game)}


async def sit_down(studio: Studio, request: Request) -> Any:
    body = parse_body(await request.body())
    policy, seat = text_field(body, "policy"), integer_field(body, "seat", 0) or 0
    await asyncio.to_thread(studio.resolver.policy, policy, allow_search=True)
    game = studio.resolver.game_of(text_field(body, "game"), policy)
    return {"play": studio.rooms.open(game, policy, seat).name}


async def look_at_play(studio: Studio, request: Request) -> Any:
    room = studio.rooms.find(request.path_params["play"])
    return await _seen(studio, room, hint=Query(request).has("hint"))


async def go_on(studio: Studio, request: Request) -> Any:
    room, what = studio.rooms.find(request.path_params["play"]), request.path_params["what"]
    body = parse_body(await request.body())
    if what == "act":
        act(room, body)
        try:
            return await _seen(studio, room)
        except Refusal as refusal:
            if refusal.status == 422:  # no such action: as if it had not been tried
                room.actions.pop()
            raise
    if what == "next" and body.get("number") == room.number:
        if not room.ended:
            raise Refusal(409, "under_way", "the episode is not over yet")
        room.number, room.actions, room.ended = room.number + 1, [], False
    elif what != "next":
        raise Refusal(404, "nothing", "there is nothing under this address")
    return await _seen(studio, room)


async def _seen(studio: Studio, room: Room, hint: bool = False) -> Any:
    policy = await asyncio.to_thread(studio.resolver.policy, room.policy, allow_search=True)
    found = await studio.desks.ask(room.game, room.call(policy, hint))
    return room.shown(found) | {"game": studio.games.name(room.game)}


async def population(studio: Studio, request: Request) -> Any:
    """Payoffs and mixtures of the pools that a run has."""
    run = studio.run(request)
    if not is_regular(run.folder / POPULATION):
        raise Refusal(422, "population", f"{run.id} has no population")
    question = {"do": "population", "folder": str(run.folder)}
    return await studio.desks.ask("", question, patience=None, limit=20)


async def spot(studio: Studio, request: Request) -> Any:
    """A hold'em spot: what solving it takes, or what its solution does after a record."""
    body = parse_body(await request.body())
    given, target = body.get("spot"), body.get("target", 0.5)
    is_number = isinstance(target, (int, float)) and not isinstance(target, bool)
    if not isinstance(given, dict) or not is_number:
        raise Refusal(422, "spot", "spot must be a JSON object, and target a number")
    if body.get("estimate"):
        size = {"do": "spot_size", "spot": given}
        try:
            return await studio.desks.ask("", size, patience=None, limit=30)
        except Refusal as refusal:  # as with configs: what is being typed may be wrong
            if refusal.status != 422:
                raise
            return {"problem": refusal.body["error"]["message"]}
    question: dict[str, Any] = {"do": "spot", "spot": given, "target": target}
    question |= {name: text_field(body, name) for name in ("record", "cell")}
    return await studio.desks.ask(spot_desk(given), question)


async def close_spot(studio: Studio, request: Request) -> Any:
    """End the computation of a spot."""
    given = parse_body(await request.body()).get("spot")
    return {"closed": studio.desks.close(spot_desk(given))}


def spot_desk(spot: Any) -> str:
    """The name of the desk that holds a spot."""
    text = json.dumps(spot, sort_keys=True)
    return f"spot:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
