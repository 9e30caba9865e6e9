"""Random small games for property tests: hidden actions, uneven lengths, chance, n players."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import NamedTuple

from hypothesis import strategies as st

from counterplay.core.game import CHANCE, TERMINAL


class State(NamedTuple):
    depth: int
    public: str  # seen by all players
    views: tuple[str, ...]  # what each player knows: own actions in full, signals of the others'
    history: tuple[int, ...]


@dataclass(frozen=True)
class RandomGame:
    """A game whose parts are drawn from hashes of the seed and the visible history.

    Who acts depends on the depth and on public signals; how many actions there are depends on the
    view of the player to act. A signal may be silent, so that histories of different lengths, with
    different numbers of chance moves, meet in one infoset. Players remember what they did.
    """

    seed: int = 0
    num_players: int = 2
    max_depth: int = 4
    zero_sum: bool = True

    def draw(self, *what: object) -> float:
        digest = hashlib.blake2b(repr((self.seed, *what)).encode(), digest_size=8).digest()
        return int.from_bytes(digest, "little") / 2**64

    def initial_state(self) -> State:
        return State(0, "", ("",) * self.num_players, ())

    def player(self, state: State) -> int:
        if state.depth == self.max_depth:
            return TERMINAL
        where = self.draw("player", state.depth, state.public)
        if where < 0.1 and state.depth > 1:
            return TERMINAL
        return int((where - 0.1) / 0.9 * (self.num_players + 1)) - 1 if where >= 0.1 else CHANCE

    def actions(self, state: State) -> tuple[int, ...]:
        view = state.views[self.player(state)]
        return tuple(range(1 + int(3 * self.draw("actions", view))))

    def chance_outcomes(self, state: State) -> list[tuple[int, float]]:
        weights = [0.05 + self.draw("chance", state.history, k) for k in range(2)]
        return [(k, weight / sum(weights)) for k, weight in enumerate(weights)]

    def next_state(self, state: State, action: int) -> State:
        player = self.player(state)
        public = ""
        if self.draw("public", state.depth, state.public) < 0.3:
            public = f"!{action}"
        views = []
        for p, view in enumerate(state.views):
            if p == player:
                seen = f".{action}"
            elif public:
                seen = public
            else:  # a signal that tells nothing, part, or all of the action
                kind = self.draw("signal", p, state.depth)
                seen = "" if kind < 0.4 else f"?{action % 2}" if kind < 0.7 else f"?{action}"
            views.append(view + seen)
        return State(state.depth + 1, state.public + public, tuple(views), (*state.history, action))

    def utilities(self, state: State) -> list[float]:
        drawn = [
            4.0 * self.draw("utility", state.history, p) - 2.0 for p in range(self.num_players)
        ]
        if self.zero_sum:
            mean = sum(drawn) / self.num_players
            drawn = [value - mean for value in drawn]
        return drawn

    def infoset_key(self, state: State, player: int) -> str:
        return f"{player}{state.views[player]}"

    def action_name(self, state: State, action: int) -> str:
        return f"a{action}"


def random_games(max_players: int = 3, **fixed: object) -> st.SearchStrategy[RandomGame]:
    """Games of up to `max_players` players, some zero-sum and some not."""
    drawn = st.builds(
        RandomGame,
        seed=st.integers(0, 10**6),
        num_players=st.integers(1, max_players),
        max_depth=st.integers(1, 5),
        zero_sum=st.booleans(),
    )
    return drawn.map(lambda game: replace(game, **fixed))
