"""Play sessions of the server: the actions so far and the score; the seed stays secret."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from counterplay.play.sessions import PlayScore
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.routes import JsonObject

if TYPE_CHECKING:
    from counterplay.studio.worker.play_queries import EpisodeAnswer

MAX_PLAY_SESSIONS = 500


@dataclass
class PlaySession:
    """A person against an opponent, one episode after the other; a worker restores the episode."""

    session_id: str
    game: str
    policy: str  # the opponent, by the name that the page uses
    seat: int
    seed: int  # secret until the episode is over
    episode_index: int = 0  # episodes before this one
    actions: list[int] = field(default_factory=list)  # the person's in this episode
    is_over: bool = False
    score: PlayScore = field(default_factory=PlayScore)  # of the episodes that are over

    def play_query(self, policy: JsonObject, hint: bool = False) -> JsonObject:
        """Return the question for the worker."""
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

    def describe(self, episode: EpisodeAnswer) -> JsonObject:
        """Return the answer for the page; an episode counts once when it is over."""
        if episode["over"] and not self.is_over:
            self.is_over = True
            ev_loss = sum(decision["loss"] or 0.0 for decision in episode["decisions"])
            self.score.add_episode(episode["utilities"][self.seat], ev_loss)
        facts: JsonObject = {
            **episode,
            "play": self.session_id,
            "game": self.game,
            "policy": self.policy,
            "number": self.episode_index,
            "score": self.score.utility,
            "lost": self.score.ev_loss,
            "episodes": self.score.num_episodes,
        }
        return facts | ({"seed": self.seed} if episode["over"] else {})

    def take_action(self, body: JsonObject) -> None:
        """Add the person's action.

        Args:
            body: the `action`, and the `number` of the episode and the number of earlier actions
                (`move`) that the page shows, so that no action counts twice.
        """
        action, move = body.get("action"), body.get("move")
        if not isinstance(action, int) or isinstance(action, bool) or action < 0:
            raise ApiError(400, "action", "action must be the number of an action")
        if move != len(self.actions) or body.get("number") != self.episode_index:
            message = "this episode was continued in another tab"
            raise ApiError(409, "stale", message, move=len(self.actions))
        if self.is_over:
            raise ApiError(409, "over", "the episode is over")
        self.actions.append(action)

    def start_next_episode(self) -> None:
        """Start the next episode, if this one is over."""
        if not self.is_over:
            raise ApiError(409, "under_way", "the episode is not over yet")
        self.episode_index, self.actions, self.is_over = self.episode_index + 1, [], False


class PlaySessionStore:
    """All play sessions; the least recently used ones are removed."""

    def __init__(self) -> None:
        self.sessions: OrderedDict[str, PlaySession] = OrderedDict()

    def create(self, game: str, policy: str, seat: int) -> PlaySession:
        """Return a new session with a random id and seed."""
        session = PlaySession(secrets.token_hex(8), game, policy, seat, secrets.randbits(48))
        self.sessions[session.session_id] = session
        while len(self.sessions) > MAX_PLAY_SESSIONS:
            self.sessions.popitem(last=False)
        return session

    def find(self, session_id: str) -> PlaySession:
        """Return the session of this id."""
        session = self.sessions.get(session_id)
        if session is None:
            message = "this play session does not exist any more"
            raise ApiError(404, "play", message, hint="start a new episode")
        self.sessions.move_to_end(session_id)
        return session
