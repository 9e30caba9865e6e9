"""Episodes that people play: what the server remembers of them, which is little and secret."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from counterplay.studio.server.responses import ApiError

MAX_PLAY_SESSIONS = 500


@dataclass
class PlaySession:
    """One person, one opponent, one episode after the other."""

    session_id: str
    game: str
    policy: str  # the opponent, as a page names it
    seat: int
    seed: int  # told to nobody before the end
    episode_index: int = 0  # episodes before this one
    actions: list[int] = field(default_factory=list)  # the person's in this episode
    is_over: bool = False
    score: float = 0.0  # of episodes that are over
    total_loss: float = 0.0  # to mistakes in them
    num_episodes: int = 0

    def play_query(self, policy: dict[str, Any], hint: bool = False) -> dict[str, Any]:
        """The question for a desk."""
        return {
            "do": "play",
            "game": self.game,
            "policy": policy,
            "name": f"{self.session_id}-{self.episode_index}",
            "seat": self.seat,
            "seed": self.seed,
            "number": self.episode_index,
            "actions": list(self.actions),
            "hint": hint,
        }

    def finish_and_describe(self, episode: dict[str, Any]) -> dict[str, Any]:
        """What the page gets; counts the episode once when it is over."""
        if episode["over"] and not self.is_over:
            self.is_over = True
            self.num_episodes += 1
            self.score += episode["utilities"][self.seat]
            self.total_loss += sum(one["loss"] or 0.0 for one in episode["decisions"])
        facts = {
            "play": self.session_id,
            "game": self.game,
            "policy": self.policy,
            "number": self.episode_index,
            "score": self.score,
            "lost": self.total_loss,
            "episodes": self.num_episodes,
        }
        return episode | facts | ({"seed": self.seed} if episode["over"] else {})


class PlaySessionStore:
    """All rooms; those that were left longest ago make place."""

    def __init__(self) -> None:
        self.sessions: OrderedDict[str, PlaySession] = OrderedDict()

    def create(self, game: str, policy: str, seat: int) -> PlaySession:
        room = PlaySession(secrets.token_hex(8), game, policy, seat, secrets.randbits(48))
        self.sessions[room.session_id] = room
        while len(self.sessions) > MAX_PLAY_SESSIONS:
            self.sessions.popitem(last=False)
        return room

    def find(self, session_id: str) -> PlaySession:
        room = self.sessions.get(session_id)
        if room is None:
            raise ApiError(404, "play", "nobody plays here any more", hint="start a new episode")
        self.sessions.move_to_end(session_id)
        return room


def take_action(session: PlaySession, body: dict[str, Any]) -> None:
    """Take the person's action; `move` says how many it knew of, so that none counts twice."""
    action, move = body.get("action"), body.get("move")
    if not isinstance(action, int) or isinstance(action, bool) or action < 0:
        raise ApiError(400, "action", "action must be the number of an action")
    if move != len(session.actions) or body.get("number") != session.episode_index:
        raise ApiError(
            409, "stale", "this episode went on in another tab", move=len(session.actions)
        )
    if session.is_over:
        raise ApiError(409, "over", "the episode is over")
    session.actions.append(action)
