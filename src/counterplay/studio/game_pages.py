"""Questions about games and policies: catalogue, trees, play and matrices."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from counterplay.studio.answers import Refusal, parse_body
from counterplay.studio.catalogue import catalogue as listed
from counterplay.studio.desks import TIMING
from counterplay.studio.host import Studio, integer, with_game
from counterplay.studio.rooms import Room, act

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


async def upload(studio: Studio, request: Request) -> Any:
    body = parse_body(await request.body())
    title, text = body.get("name"), body.get("text")
    if not isinstance(title, str) or not isinstance(text, str):
        raise Refusal(400, "upload", "name and text must be strings")
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
    config = with_game(studio, parse_body(await request.body()).get("config"))
    return await studio.desks.ask("", {"do": "check", "config": config}, patience=None, limit=30)


async def duration(studio: Studio, request: Request) -> Any:
    """How long a run of this config will take."""
    config = with_game(studio, parse_body(await request.body()).get("config"))
    question = {"do": "duration", "config": config}
    return await studio.desks.ask(TIMING, question, limit=60, alone=True)


async def estimate(studio: Studio, request: Request) -> Any:
    spec = studio.games.spec(str(parse_body(await request.body()).get("game", "")))
    found = await studio.desks.ask("", {"do": "estimate", "spec": spec}, patience=None, limit=30)
    return found | {"spec": studio.games.name(found["spec"])}


async def matrix(studio: Studio, request: Request) -> Any:
    """Equilibria, or with a learner how it moves."""
    body = parse_body(await request.body())
    given = ("utility", "names", "learner")
    question: dict[str, Any] = {name: body[name] for name in given if name in body}
    question["do"] = "learn" if "learner" in body else "matrix"
    if "utility" not in body:
        question["game"] = studio.games.spec(str(body.get("game", "")))
    return await studio.desks.ask("", question, patience=None, limit=20)


async def explore(studio: Studio, request: Request) -> Any:
    asked = request.query_params
    policy = asked.get("policy", "")
    game = studio.game_of(asked.get("game", ""), policy)
    question: dict[str, Any] = {
        "do": request.path_params["what"],
        "game": game,
        "policy": await asyncio.to_thread(studio.source, policy),
        "node": integer(asked.get("node"), 0),
        "start": integer(asked.get("start"), 0),
    }
    if asked.get("lock"):
        question["policy"] |= {"lock": asked["lock"][:4000]}
    if question["do"] not in QUESTIONS:
        raise Refusal(404, "nothing", "there is nothing under this address")
    if asked.get("vs"):
        question["versus"] = await asyncio.to_thread(studio.source, asked["vs"])
    for name in ("text", "infoset", "player", "form"):
        if name in asked:
            question[name] = asked[name][:2000]
    found = await studio.desks.ask(game, question)
    return PlainTextResponse(found) if question["do"] in ("export", "game_file") else found


async def close_desk(studio: Studio, request: Request) -> Any:
    asked = request.query_params
    game = studio.game_of(asked.get("game", ""), asked.get("policy", ""))
    return {"closed": studio.desks.close(game)}


async def sit_down(studio: Studio, request: Request) -> Any:
    body = parse_body(await request.body())
    policy, seat = str(body.get("policy", "")), body.get("seat", 0)
    if not isinstance(seat, int):
        raise Refusal(422, "seat", "seat must be a number")
    game = studio.game_of(str(body.get("game", "")), policy)
    return {"play": studio.rooms.open(game, policy, seat).name}


async def look_at_play(studio: Studio, request: Request) -> Any:
    room = studio.rooms.find(request.path_params["play"])
    return await _seen(studio, room, hint="hint" in request.query_params)


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
    policy = await asyncio.to_thread(studio.source, room.policy)
    found = await studio.desks.ask(room.game, room.call(policy, hint))
    return room.shown(found) | {"game": studio.games.name(room.game)}


async def population(studio: Studio, request: Request) -> Any:
    """Payoffs and mixtures of the pools that a run has."""
    question = {"do": "population", "folder": str(studio.run(request).folder)}
    return await studio.desks.ask("", question, patience=None, limit=20)


async def spot(studio: Studio, request: Request) -> Any:
    """A hold'em spot: what solving it takes, or what its solution does after a record."""
    body = parse_body(await request.body())
    given, target = body.get("spot"), body.get("target", 0.5)
    if not isinstance(given, dict) or not isinstance(target, (int, float)):
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
    question |= {name: str(body.get(name, ""))[:500] for name in ("record", "cell")}
    return await studio.desks.ask(spot_desk(given), question)


async def close_spot(studio: Studio, request: Request) -> Any:
    """End the computation of a spot."""
    given = parse_body(await request.body()).get("spot")
    return {"closed": studio.desks.close(spot_desk(given))}


def spot_desk(spot: Any) -> str:
    """The name of the desk that holds a spot."""
    text = json.dumps(spot, sort_keys=True)
    return f"spot:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
