"""The rules of a game as an arena, for games too large for a tree, and policies by infoset key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.archive import write_archive
from counterplay.core.arena import has_vectors
from counterplay.core.constant_sum import estimate_constant, subtract_constant
from counterplay.core.game import Game, State, full_game
from counterplay.core.game_checks import action_names, check_protocol
from counterplay.core.policy import Policy, is_other_game, uniform_policy
from counterplay.core.policy_io import (
    POLICY_FORMAT,
    read_policy_rows,
    write_policy_csv,
    write_policy_json,
)
from counterplay.errors import ConfigError, FileError, suggestion
from counterplay.registry import get_spec, load_abstracted_game, load_game, split_abstraction


@dataclass(frozen=True, eq=False)
class RulesArena:
    """The rules of a game as an arena for sampling; also takes the name of a registered game."""

    game: Game
    capabilities: ClassVar[tuple[str, ...]] = ("rules",)

    def __post_init__(self) -> None:
        if isinstance(self.game, str):
            object.__setattr__(self, "game", load_game(self.game))
        check_protocol(self.game)

    @property
    def spec(self) -> str:
        return get_spec(self.game)

    @property
    def num_players(self) -> int:
        return self.game.num_players

    @cached_property
    def utility_shift(self) -> float:
        """Constant that makes the game zero-sum if subtracted from all utilities; else 0.

        It is found in random episodes, as all utilities cannot be listed.
        """
        return estimate_constant(self.game)

    @cached_property
    def zero_sum_arena(self) -> RulesArena:
        """The rules without `utility_shift`, on which algorithms run; itself if that is 0."""
        constant = self.utility_shift
        return RulesArena(subtract_constant(self.game, constant)) if constant else self


@dataclass(frozen=True)
class SizeReport:
    """Progress of a run on the rules, and the size of its tables."""

    iteration: int
    nodes_touched: int  # number of visits to nodes
    num_infosets: int
    num_entries: int  # entries of each table
    num_bytes: int  # approximate size of tables and keys

    def metrics(self) -> dict[str, float]:
        """Return the metrics of a run on the rules by name."""
        return {
            "infosets": self.num_infosets,
            "touched": self.nodes_touched,
            "bytes": self.num_bytes,
        }


class VisitedRows(Mapping[tuple[int, str], dict[str, float]]):
    """Action name -> probability by (player, infoset key), normalised from weights on access.

    Infosets that are added to `infosets` later are not part of the mapping.
    """

    def __init__(self, infosets: dict[tuple[int, str], tuple[int, tuple[str, ...]]], weights: Any):
        self.infosets, self.num_rows = infosets, len(infosets)
        self.weights = np.array(weights)  # a copy

    def __getitem__(self, infoset: tuple[int, str]) -> dict[str, float]:
        first, names = self.infosets[infoset]
        row = self.weights[first : first + len(names)].tolist()
        if not row:
            raise KeyError(infoset)
        total = sum(row)
        row = [x / total if total > 0.0 else 1.0 / len(row) for x in row]
        return dict(zip(names, row, strict=True))

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return islice(self.infosets, self.num_rows)

    def __len__(self) -> int:
        return self.num_rows


class TabularPolicy:
    """A policy by infoset key: `policy["Qs:cr|Kh:"]` as in `Policy`; uniform at other infosets.

    Without rows it is the uniform policy, for any game.
    """

    def __init__(
        self,
        game: Game,
        rows: Mapping[tuple[int, str], dict[str, float]] | None = None,
        complete: bool = False,
    ):
        """Create a policy from rows of infosets.

        Args:
            game: The rules.
            rows: Action name -> probability by (player, infoset key).
            complete: True if `rows` has all infosets; a missing one is an error then.
        """
        self.game, self.rows, self.complete = game, rows if rows is not None else {}, complete
        self.spec, self.num_players = get_spec(game), game.num_players

    @classmethod
    def from_memory(cls, arena: RulesArena, memory: Any, weights: Any) -> TabularPolicy:
        """Return the policy proportional to `weights`, indexed by `memory.infosets`."""
        return cls(arena.game, VisitedRows(memory.infosets, weights))

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        key = self.game.infoset_key(state, player)
        row = self.rows.get((player, key))
        if row is not None:
            return list(row.values())
        if self.complete:
            raise ConfigError(f"the policy for {self.spec} has no infoset {key!r}")
        count = len(self.game.actions(state))
        return [1.0 / count] * count

    def __getitem__(self, key: str | tuple[int, str]) -> dict[str, float]:
        pairs = [key] if isinstance(key, tuple) else [(p, key) for p in range(self.num_players)]
        infosets = [infoset for infoset in pairs if infoset in self.rows]
        if len(infosets) == 1:
            return self.rows[infosets[0]]
        if infosets:
            raise ConfigError(f"several players have an infoset {key!r}; give the player too")
        near = suggestion(str(key), [name for _, name in list(self.rows)[:20_000]])
        raise ConfigError(f"infoset {key!r} of {self.spec} was never visited{near}")

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"TabularPolicy({self.spec}: {len(self):,} visited infosets)"

    def items(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """Yield (player, infoset key, action name -> probability) for every infoset with a row."""
        for (player, key), row in self.rows.items():
            yield player, key, row

    @property
    def is_suit_invariant(self) -> bool:
        """Whether hands that differ in the names of suits only have the same rows."""
        return not self.rows or bool(getattr(self.game, "is_suit_invariant", False))

    def tabulate(self, arena: Any, progress: Callable[[int], None] | None = None) -> Any:
        """Return the policy as a vector on a tree, or on another arena with infoset keys.

        On a hold'em arena it becomes a `HoldemPolicy`, see `HoldemGameArena.tabulate`, whose
        progress is reported as the number of infosets.

        It is uniform at infosets without a row. A policy of a game with an abstraction is put on
        the tree of the full game, with equal probabilities in all infosets of a bucket.
        """
        if has_vectors(arena):
            if not hasattr(arena, "tabulate"):
                raise ConfigError(f"a policy of rules cannot be put on {arena.spec}")
            return arena.tabulate(self, progress)
        if split_abstraction(self.spec)[1] and arena.spec != self.spec:
            return self._lift(arena)
        values = uniform_policy(arena).probabilities.copy()
        infosets = len(self.rows)
        if self.complete and infosets != arena.num_infosets:
            has = f"has {infosets} infosets, {arena.spec} {arena.num_infosets}"
            raise ConfigError(f"the policy for {self.spec} {has}")
        for player, key, row in self.items():
            infoset = arena.find_infoset(key, player)
            first, last = arena.offset[infoset : infoset + 2]
            names = arena.action_names(infoset)
            if tuple(row) != names and set(row) != set(names):
                raise ConfigError(f"a policy for {self.spec} does not fit {key!r} of {arena.spec}")
            values[first:last] = [row[name] for name in names]
        return Policy(arena, values)

    def _lift(self, tree: TreeArena) -> Policy:
        """Return the policy on the tree of the full game."""
        if is_other_game(self.spec, tree.spec, exactly=True):
            raise ConfigError(f"a policy for {self.spec} does not fit {tree.spec}")
        states = zip(tree.infoset_player.tolist(), first_infoset_states(tree), strict=True)
        rows = [self.action_probabilities(state, player) for player, state in states]
        return Policy(tree, np.array([p for row in rows for p in row]))

    def save(self, path: str | Path) -> None:
        """Write the policy to a file; `load_policy` reads it back on a tree."""
        content = {
            "spec": self.spec,
            "infoset_player": np.array([player for player, _ in self.rows], np.int8),
            "offset": np.cumsum([0, *map(len, self.rows.values())]),
            "infoset_keys": tuple(key for _, key in self.rows),
            "sequence_names": tuple(name for row in self.rows.values() for name in row),
            "probabilities": np.array([p for row in self.rows.values() for p in row.values()]),
            "partial": not self.complete,
        }
        write_archive(path, POLICY_FORMAT, content)

    def to_json(self, path: str | Path) -> None:
        """Write the policy as JSON: for each player, infoset key -> action name -> probability."""
        write_policy_json(
            path, self.spec, self.num_players, self._sort_items(), partial=not self.complete
        )

    def to_csv(self, path: str | Path) -> None:
        """Write the policy as CSV: one line per player, infoset key and action."""
        write_policy_csv(path, self._sort_items(), partial=not self.complete)

    def _sort_items(self) -> list[tuple[int, str, dict[str, float]]]:
        """Return the items sorted by player and key."""
        return sorted(self.items(), key=lambda item: item[:2])


class LoadedPolicy(TabularPolicy):
    """A policy from a file; action names are compared with the rules at each infoset on use."""

    def __init__(self, game: Game, rows: dict[tuple[int, str], dict[str, float]], complete: bool):
        super().__init__(game, rows, complete)
        self.ordered: set[tuple[int, str]] = set()  # infosets whose rows follow the game's order

    def action_probabilities(self, state: State, player: int) -> list[float]:
        infoset = player, self.game.infoset_key(state, player)
        if infoset in self.rows and infoset not in self.ordered:
            names = action_names(self.game, state, self.game.actions(state))
            row = self.rows[infoset]
            if set(row) != set(names):
                problem = f"has the actions {', '.join(row)} at {infoset[1]!r}"
                problem += f"; the game has {', '.join(names)}"
                raise ConfigError(f"the policy for {self.spec} {problem}")
            rows: Any = self.rows
            rows[infoset] = {name: row[name] for name in names}
            self.ordered.add(infoset)
        return super().action_probabilities(state, player)


def load_tabular_policy(path: str | Path, game: Game) -> TabularPolicy:
    """Read a policy file of any kind as a policy on the rules, without a tree.

    A policy of a game with an abstraction keeps it: it looks up buckets, and plays the full game.

    Raises:
        FileError: The file is damaged, or for another game.
    """
    stored = read_policy_rows(path)
    if is_other_game(stored.spec, get_spec(game), exactly=True):
        raise FileError(f"{path} is a policy for {stored.spec}, not for {get_spec(game)}")
    if stored.spec and stored.spec != get_spec(game):
        game, abstraction = full_game(game), split_abstraction(stored.spec)[1]
        game = load_abstracted_game(game, abstraction) if abstraction else game
    max_player = max((player for player, _ in stored.rows), default=-1)
    players = stored.num_players if stored.num_players is not None else max_player + 1
    if players > game.num_players or stored.num_players not in (None, game.num_players):
        has = f"but {get_spec(game)} has {game.num_players}"
        raise FileError(f"{path} is a policy of {players} players, {has}")
    if not stored.rows and not stored.partial:
        raise FileError(f"{path} is a policy without infosets")
    for (_, key), (_, row) in stored.rows.items():
        if not (abs(row.sum() - 1.0) <= 1e-6 and row.min() >= 0.0):
            problem = f"not a probability distribution at {key!r}: {row}"
            raise FileError(f"{path}: damaged policy: {problem}")
    rows = {
        infoset: dict(zip(names, row.tolist(), strict=True))
        for infoset, (names, row) in stored.rows.items()
    }
    return LoadedPolicy(game, rows, complete=not stored.partial)
