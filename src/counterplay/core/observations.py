"""Observations for games without them: infoset keys encoded as numbers.

A key is a readable text, such as `Qs:cr|Kh:`. Its code represents the character at each index of
the text; different keys have different codes, and keys with a common prefix share most of their
code, from which networks can generalise.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, TypeGuard
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from counterplay.core.game import Game, ObservedGame, State, full_game
from counterplay.core.game_checks import game_title
from counterplay.core.game_wrapper import GameWrapper

HASHED_FEATURES = 256  # entries for (index, character) pairs of a key
KEY_BITS = 16  # pseudo-random signs of a whole key


class KeyEncoder:
    """The code of a set of keys: one-hot player, then one-hot character for each index."""

    def __init__(self, keys: Sequence[str], num_players: int):
        self.num_players, self.observation_size = num_players, num_players
        self.index_by_character: list[dict[str, int]] = []
        for i in range(max(map(len, keys), default=0)):
            characters = sorted({key[i : i + 1] for key in keys})
            if len(characters) == 1:  # the same in all keys: no information
                characters = []
            self.index_by_character.append(
                {char: self.observation_size + n for n, char in enumerate(characters)}
            )
            self.observation_size += len(characters)

    def encode(self, player: int, key: str) -> NDArray[np.float32]:
        """Return the observation [X] of a player with a key; unknown characters are left out."""
        code = np.zeros(self.observation_size, np.float32)
        code[player] = 1.0
        for i, index_by_character in enumerate(self.index_by_character):
            index = index_by_character.get(key[i : i + 1])
            if index is not None:
                code[index] = 1.0
        return code


def hash_key(player: int, key: str, num_players: int) -> NDArray[np.float32]:
    """Return the observation [X] of a player with a key, if the set of all keys is not known.

    Three parts: the player, one-hot; the characters, each hashed with its index to one of
    `HASHED_FEATURES` entries (feature hashing, Weinberger et al., 2009); and `KEY_BITS` signs of
    the whole key, which separate keys whose characters collide. The result depends only on the
    arguments, so that a network gives the same outputs in another process.
    """
    code = np.zeros(num_players + HASHED_FEATURES + KEY_BITS, np.float32)
    code[player] = 1.0
    for i, char in enumerate(key):
        text = f"{i}:{char}".encode(errors="surrogatepass")
        code[num_players + crc32(text) % HASHED_FEATURES] = 1.0
    digest = blake2b(key.encode(errors="surrogatepass"), digest_size=KEY_BITS // 8).digest()
    bits = np.unpackbits(np.frombuffer(digest, np.uint8))
    code[-KEY_BITS:] = 2.0 * bits - 1.0
    return code


class KeyObservedGame(GameWrapper):
    """A game without observations, whose players observe their hashed infoset keys."""

    @property
    def full_game(self) -> Game:
        return full_game(self.game)

    @property
    def num_distinct_actions(self) -> int:
        return self.game.num_distinct_actions  # type: ignore[attr-defined]

    def observation(self, state: State, player: int) -> Any:
        return hash_key(player, self.game.infoset_key(state, player), self.game.num_players)


def with_observations(game: Game) -> Any:
    """Return the game, wrapped to observe hashed keys if it has no observations.

    For rules without a tree; on a tree, where all keys are known, `KeyEncoder` is exact.
    """
    return game if has_observations(game) else KeyObservedGame(game)


def has_observations(game: Game) -> TypeGuard[ObservedGame]:
    """Return True if the game defines observations."""
    return isinstance(game, ObservedGame)


def build_observations(
    game: Game, player_keys: Sequence[tuple[int, str]], states: Sequence[State]
) -> NDArray[np.float32]:
    """Return observations [V, X]: the game's, or else the codes of the keys.

    Args:
        game: the rules.
        player_keys: [V] (player, infoset key) pairs.
        states: [V] a state of each pair.
    """
    if has_observations(game):
        pairs = zip(states, player_keys, strict=True)
        return np.array(
            [game.observation(state, player) for state, (player, _) in pairs], np.float32
        )
    encoder = KeyEncoder([key for _, key in player_keys], game.num_players)
    return np.array([encoder.encode(player, key) for player, key in player_keys], np.float32)


def missing_observations_note(game: Game) -> str:
    """Return a line for the user if networks see encoded keys, or ""."""
    if has_observations(game):
        return ""
    return f"{game_title(game)} has no observation(state, player): networks see its infoset keys"
