"""Episodes that people play: what the server remembers of them, which is little and secret."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from counterplay.studio.answers import Refusal

MOST = 500


@dataclass
class Room:
    """One person, one opponent, one episode after the other."""

    name: str
    game: str
    policy: str  # the opponent, as a page names it
    seat: int
    seed: int  # told to nobody before the end
    number: int = 0  # episodes before this one
    actions: list[int] = field(default_factory=list)  # the person's in this episode
    ended: bool = False
    score: float = 0.0  # of episodes that are over
    lost: float = 0.0  # to mistakes in them
    episodes: int = 0

    def call(self, policy: dict[str, Any], hint: bool = False) -> dict[str, Any]:
        """The question for a desk."""
        return {
            "do": "play",
            "game": self.game,
            "policy": policy,
            "name": f"{self.name}-{self.number}",
            "seat": self.seat,
            "seed": self.seed,
            "number": self.number,
            "actions": list(self.actions),
            "hint": hint,
        }

    def shown(self, found: dict[str, Any]) -> dict[str, Any]:
        """What the page gets; counts the episode once when it is over."""
        if found["over"] and not self.ended:
            self.ended = True
            self.episodes += 1
            self.score += found["utilities"][self.seat]
            self.lost += sum(one["loss"] or 0.0 for one in found["decisions"])
        facts = {
            "play": self.name,
            "game": self.game,
            "policy": self.policy,
            "number": self.number,
            "score": self.score,
            "lost": self.lost,
            "episodes": self.episodes,
        }
        return found | facts | ({"seed": self.seed} if found["over"] else {})


class Rooms:
    """All rooms; those that were left longest ago make place."""

    def __init__(self) -> None:
        self.rooms: OrderedDict[str, Room] = OrderedDict()

    def open(self, game: str, policy: str, seat: int) -> Room:
        room = Room(secrets.token_hex(8), game, policy, seat, secrets.randbits(48))
        self.rooms[room.name] = room
        while len(self.rooms) > MOST:
            self.rooms.popitem(last=False)
        return room

    def find(self, name: str) -> Room:
        room = self.rooms.get(name)
        if room is None:
            raise Refusal(404, "play", "nobody plays here any more", hint="start a new episode")
        self.rooms.move_to_end(name)
        return room


def act(room: Room, body: dict[str, Any]) -> None:
    """Take the person's action; `move` says how many it knew of, so that none counts twice."""
    action, move = body.get("action"), body.get("move")
    if not isinstance(action, int) or isinstance(action, bool) or action < 0:
        raise Refusal(400, "action", "action must be the number of an action")
    if move != len(room.actions) or body.get("number") != room.number:
        raise Refusal(409, "stale", "this episode went on in another tab", move=len(room.actions))
    if room.ended:
        raise Refusal(409, "over", "the episode is over")
    room.actions.append(action)
