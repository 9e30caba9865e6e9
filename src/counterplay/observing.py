"""Observations for games that offer none: infoset keys written as numbers.

A key is a readable text whose characters stand for what happened, such as `Qs:cr|Kh:`. Its code
says, place by place, which character stands there; keys that differ have codes that differ, and
keys that share their beginning share most of their code, from which networks can generalise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterplay.game import Game, ObservedGame, State, title


class KeyCode:
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
        self.places, self.size = places, size

    def encode(self, player: int, key: str) -> NDArray[np.float32]:
        """The observation [X] of a player who knows the key; characters never met are left out."""
        code = np.zeros(self.size, np.float32)
        code[player] = 1.0
        for place, numbers in enumerate(self.places):
            number = numbers.get(key[place : place + 1])
            if number is not None:
                code[number] = 1.0
        return code


def observes(game: Game) -> bool:
    """Whether the game has observations of its own."""
    return isinstance(game, ObservedGame)


def observations(
    game: Game, met: Sequence[tuple[int, str]], states: Sequence[State]
) -> NDArray[np.float32]:
    """What players observe [V, X]: the game's own words, or the code of the keys.

    Args:
        met: (player, infoset key) for everything that is to be told apart.
        states: a state at which each of these was met.
    """
    if observes(game):
        own: Any = game
        pairs = zip(states, met, strict=True)
        return np.array(
            [own.observation(state, player) for state, (player, _) in pairs], np.float32
        )
    code = KeyCode([key for _, key in met], game.num_players)
    return np.array([code.encode(player, key) for player, key in met], np.float32)


def note(game: Game) -> str:
    """One line for the user where observations are made up; nothing where they are not."""
    if observes(game):
        return ""
    return f"{title(game)} has no observation(state, player): networks see its infoset keys"
