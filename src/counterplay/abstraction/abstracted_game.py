"""Rules of a game whose players observe less, for algorithms that sample without a tree."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from counterplay.core.game import Game, State
from counterplay.errors import ConfigError
from counterplay.registry import ABSTRACTION_SEPARATOR, get_spec

FULL_GAME_ONLY = ("observation", "compiled_game")  # show more than the merged infosets


class AbstractedGame(ABC):
    """The rules of a game with merged infosets: only the infoset keys differ.

    States and actions are those of the full game. A policy of the abstracted game therefore plays
    the full game as it is. Networks see the keys, because observations of the full game would
    show what the abstraction hides.

    Args:
        full_game: the rules; all methods but `infoset_key` are theirs.
        abstraction: the rule that merges infosets, such as `ByRank()`.
    """

    def __init__(self, full_game: Any, abstraction: Any):
        self.full_game, self.abstraction = full_game, abstraction

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("full_game", *FULL_GAME_ONLY):
            raise AttributeError(name)
        return getattr(self.full_game, name)

    @property
    def spec(self) -> str:
        """The game and its abstraction, such as `leduc_poker with by_rank`."""
        return f"{get_spec(self.full_game)}{ABSTRACTION_SEPARATOR}{get_spec(self.abstraction)}"

    @property
    def setup_note(self) -> str:
        """A message for the user about a long computation before the first state; "" for none."""
        return ""

    @abstractmethod
    def infoset_key(self, state: State, player: int) -> str:
        """Return the key of the merged infoset."""


def abstract_game(game: Game, abstraction: Any) -> AbstractedGame:
    """Return the rules of a game with infosets merged by a rule such as `ByRank()`.

    Raises:
        ConfigError: the rule needs the tree of the game.
    """
    if "rules" not in abstraction.runs_on:
        raise ConfigError(f"{get_spec(abstraction)} needs a tree, and cannot be used on rules")
    abstracted: AbstractedGame = abstraction.bucket_game(game)
    return abstracted
