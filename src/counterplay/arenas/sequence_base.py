"""Members that arenas with sequences of all games share."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar

import numpy as np

from counterplay.core.arena import Ints, SequenceTrees
from counterplay.errors import ConfigError


class SequenceArenaBase:
    """Counts and numbers that follow from `form`, and infosets by key.

    A subclass sets `spec` and `form`, and defines the rest of `core.arena.SequenceArena`.
    """

    has_perfect_recall: ClassVar[bool] = True
    num_players: int = 2
    spec: str
    form: SequenceTrees

    @property
    def offset(self) -> Ints:
        return self.form.offset

    @property
    def num_infosets(self) -> int:
        return self.form.parent.size

    @property
    def num_sequences(self) -> int:
        return int(self.form.offset[-1])

    @cached_property
    def num_actions(self) -> Ints:
        return np.diff(self.form.offset).astype(np.int8)

    @cached_property
    def infoset_player(self) -> Ints:
        players = np.arange(self.num_players, dtype=np.int8)
        return np.repeat(players, np.diff(self.form.player_infoset))

    def infoset_key(self, infoset: int) -> str:
        raise NotImplementedError

    def find_infoset(self, key: str, player: int | None = None) -> int:
        infoset = self._infoset_by_key.get(key)
        if infoset is None or player not in (None, int(self.infoset_player[infoset])):
            raise self.unknown_infoset_error(key)
        return infoset

    def unknown_infoset_error(self, key: str) -> ConfigError:
        """Return the error that `find_infoset` raises for an unknown key."""
        example = self.infoset_key(self.num_infosets // 2)
        return ConfigError(f"{self.spec} has no infoset {key!r} (such as {example!r})")

    @cached_property
    def _infoset_by_key(self) -> dict[str, int]:
        return {self.infoset_key(i): i for i in range(self.num_infosets)}
