"""Observations for games that offer none: infoset keys written as numbers.

A key is a readable text whose characters stand for what happened, such as `Qs:cr|Kh:`. Its code
says, place by place, which character stands there; keys that differ have codes that differ, and
keys that share their beginning share most of their code, from which networks can generalise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from counterplay.core.game import Game, ObservedGame, State
from counterplay.core.game_checks import game_title
from counterplay.registry import get_spec

HASHED_FEATURES = 256  # entries for (place, character) pairs of a key
KEY_BITS = 16  # pseudo-random signs of a whole key


class KeyEncoder:
    """The code of a set of keys: one-hot player, then one-hot character for each place."""

    def __init__(self, keys: Sequence[str], num_players: int):
        self.num_players = num_players
        places: list[dict[str, int]] = []
        size = num_players
        for place in range(max(map(len, keys), default=0)):
            found = sorted({key[place : place + 1] for key in keys})
            if len(found) > 1:  # what is the same everywhere tells nothing
                numbers = {char: size + n for n, char in enumerate(found)}
                size += len(found)
            else:
                numbers = {}
            places.append(numbers)
        self.index_by_character, self.observation_size = places, size

    def encode(self, player: int, key: str) -> NDArray[np.float32]:
        """The observation [X] of a player who knows the key; characters never met are left out."""
        code = np.zeros(self.observation_size, np.float32)
        code[player] = 1.0
        for place, numbers in enumerate(self.index_by_character):
            number = numbers.get(key[place : place + 1])
            if number is not None:
                code[number] = 1.0
        return code


def hash_key(player: int, key: str, num_players: int) -> NDArray[np.float32]:
    """Return the observation [X] of a player who knows a key, where the set of keys is not known.

    Three parts: the player, one-hot; the characters, each hashed with its place to one of
    `HASHED_FEATURES` entries (feature hashing, Weinberger et al., 2009); and `KEY_BITS` signs of
    the whole key, which tell apart keys whose characters collide. It depends on nothing but its
    arguments, so that a network means the same in another process.
    """
    code = np.zeros(num_players + HASHED_FEATURES + KEY_BITS, np.float32)
    code[player] = 1.0
    for place, char in enumerate(key):
        text = f"{place}:{char}".encode(errors="surrogatepass")
        code[num_players + crc32(text) % HASHED_FEATURES] = 1.0
    digest = blake2b(key.encode(errors="surrogatepass"), digest_size=KEY_BITS // 8).digest()
    bits = np.unpackbits(np.frombuffer(digest, np.uint8))
    code[-KEY_BITS:] = 2.0 * bits - 1.0
    return code


@dataclass(frozen=True)
class KeyObservedGame:
    """A game without observations, whose players observe their hashed infoset keys."""

    game: Game

    @property
    def spec(self) -> str:
        return get_spec(self.game)

    @property
    def num_players(self) -> int:
        return self.game.num_players

    @property
    def num_distinct_actions(self) -> int:
        return self.game.num_distinct_actions  # type: ignore[attr-defined]

    def initial_state(self) -> State:
        return self.game.initial_state()

    def player(self, state: State) -> int:
        return self.game.player(state)

    def actions(self, state: State) -> Sequence[int]:
        return self.game.actions(state)

    def chance_outcomes(self, state: State) -> Sequence[tuple[int, float]]:
        return self.game.chance_outcomes(state)

    def next_state(self, state: State, action: int) -> State:
        return self.game.next_state(state, action)

    def utilities(self, state: State) -> Sequence[float]:
        return self.game.utilities(state)

    def infoset_key(self, state: State, player: int) -> str:
        return self.game.infoset_key(state, player)

    def action_name(self, state: State, action: int) -> str:
        return self.game.action_name(state, action)

    def observation(self, state: State, player: int) -> Any:
        return hash_key(player, self.game.infoset_key(state, player), self.game.num_players)


def with_observations(game: Game) -> Any:
    """Return the game, or one whose players observe their hashed keys where it has no observations.

    For rules that are never unrolled: on a tree, where all keys are known, `KeyCode` is exact.
    """
    return game if has_observations(game) else KeyObservedGame(game)


def has_observations(game: Game) -> bool:
    """Whether the game has observations of its own."""
    return isinstance(game, ObservedGame)


def build_observations(
    game: Game, player_keys: Sequence[tuple[int, str]], states: Sequence[State]
) -> NDArray[np.float32]:
    """What players observe [V, X]: the game's own words, or the code of the keys.

    Args:
        met: (player, infoset key) for everything that is to be told apart.
        states: a state at which each of these was met.
    """
    if has_observations(game):
        own: Any = game
        pairs = zip(states, player_keys, strict=True)
        return np.array(
            [own.observation(state, player) for state, (player, _) in pairs], np.float32
        )
    code = KeyEncoder([key for _, key in player_keys], game.num_players)
    return np.array([code.encode(player, key) for player, key in player_keys], np.float32)


def missing_observations_note(game: Game) -> str:
    """One line for the user where observations are made up; nothing where they are not."""
    if has_observations(game):
        return ""
    return f"{game_title(game)} has no observation(state, player): networks see its infoset keys"
