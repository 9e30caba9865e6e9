"""Policies: every player's probabilities, one flat array aligned with an arena, and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

import numpy as np

from counterplay.core.archive import write_archive
from counterplay.core.arena import UNDERFLOW_THRESHOLD, Floats, Ints, SequenceArena
from counterplay.core.game import Game, State
from counterplay.core.game_checks import GAME_METHODS, check_protocol
from counterplay.core.policy_io import (
    MISSING_KEY,
    MISSING_LINE,
    POLICY_FORMAT,
    UNIFORM,
    StoredPolicy,
    read_numbered_policy,
    read_policy_rows,
    write_policy_csv,
    write_policy_json,
)
from counterplay.core.trust import load_game_from_file
from counterplay.errors import ConfigError, CounterplayError, FileError, suggestion
from counterplay.registry import GAMES, get_spec, is_external_game, load_game

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena

PolicyKey = str | tuple[int, str]  # of an infoset; with the player where two players share it


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Probabilities [S] at every infoset of a tree, or of another arena, for all players.

    `policy["Qs:cr|Kh:"]` is a dict from action name to probability; where two players share a key,
    `policy[player, key]` tells them apart.
    """

    arena: SequenceArena
    probabilities: Floats

    def __post_init__(self) -> None:
        values = np.array(self.probabilities, np.float64)
        if values.shape != (self.arena.num_sequences,):
            wanted = self.arena.num_sequences
            raise ConfigError(
                f"a policy for {self.arena.spec} has {wanted} entries, not {values.size}"
            )
        sums = np.add.reduceat(values, self.arena.offset[:-1]) if values.size else values
        right = np.abs(sums - 1.0) <= 1e-6
        if not right.all() or values.min(initial=0.0) < 0.0:
            wrong = np.flatnonzero(~right)
            infoset = (
                int(wrong[0]) if wrong.size else self._infoset_of_sequence(int(values.argmin()))
            )
            key = self.arena.infoset_key(infoset)
            first, last = self.arena.offset[infoset : infoset + 2]
            raise ConfigError(f"not a probability distribution at {key!r}: {values[first:last]}")
        self._set_probabilities(values)

    def _set_probabilities(self, values: Floats) -> None:
        values.flags.writeable = False
        object.__setattr__(self, "probabilities", values)

    @classmethod
    def _from_valid_array(cls, arena: SequenceArena, values: Floats) -> Policy:
        """The policy of an array that is nobody else's and right by the way it was made."""
        policy = cls.__new__(cls)
        object.__setattr__(policy, "arena", arena)
        policy._set_probabilities(values)
        return policy

    def _infoset_of_sequence(self, sequence: int) -> int:
        return int(np.searchsorted(self.arena.offset, sequence, side="right")) - 1

    @classmethod
    def from_dict(
        cls,
        game: SequenceArena | Game | str,
        rows: Mapping[PolicyKey, Mapping[str, float]],
        fallback: Policy | None = None,
    ) -> Policy:
        """The policy that plays as `rows` say: infoset key -> action name -> probability.

        Actions that a row leaves out are never played; at infosets without a row it plays as
        `otherwise`, which is uniform play if not given.

        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> cp.Policy.from_dict(tree, {"2b": {"bet": 1.0}})["2b"]
        {'pass': 0.0, 'bet': 1.0}
        """
        arena: SequenceArena = as_arena(game)
        values = (fallback or uniform_policy(arena)).probabilities.copy()
        for key, row in rows.items():
            player, name = key if isinstance(key, tuple) else (None, key)
            infoset = arena.find_infoset(name, player)
            names = arena.action_names(infoset)
            for action in row:
                if action not in names:
                    near = suggestion(str(action), names) or f" (there are {', '.join(names)})"
                    raise ConfigError(f"infoset {name!r} has no action {action!r}{near}")
            first, last = arena.offset[infoset : infoset + 2]
            values[first:last] = [row.get(action, 0.0) for action in names]
        return cls(arena, values)

    def __getitem__(self, key: PolicyKey) -> dict[str, float]:
        player, name = key if isinstance(key, tuple) else (None, key)
        return self.probabilities_at(self.arena.find_infoset(name, player))

    def __len__(self) -> int:
        return self.arena.num_infosets

    def __iter__(self) -> Iterator[PolicyKey]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def keys(self) -> list[PolicyKey]:
        """The infosets, as `policy[key]` takes them: (player, key) where players share a key."""
        keys = [self.arena.infoset_key(infoset) for infoset in range(self.arena.num_infosets)]
        count = Counter(keys)
        owners = self.arena.infoset_player.tolist()
        return [k if count[k] == 1 else (p, k) for p, k in zip(owners, keys, strict=True)]

    def __repr__(self) -> str:
        return (
            f"Policy({self.arena.spec}: {len(self):,} infosets, {self.arena.num_players} players)"
        )

    def _repr_html_(self) -> str:
        from counterplay.display.html import policy_html

        return policy_html(self)

    def probabilities_at(self, infoset: int) -> dict[str, float]:
        """Action name -> probability at an infoset given by its index."""
        first, last = self.arena.offset[infoset], self.arena.offset[infoset + 1]
        names = self.arena.action_names(infoset)
        return dict(zip(names, self.probabilities[first:last].tolist(), strict=True))

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """The probabilities of the player's actions at a state, as `playing` asks for them."""
        rules = getattr(self.arena, "game", None) or require_tree(self).game
        infoset = self.arena.find_infoset(rules.infoset_key(state, player), player)
        first, last = self.arena.offset[infoset], self.arena.offset[infoset + 1]
        return self.probabilities[first:last].tolist()

    def items(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """(player, infoset key, action name -> probability) for every infoset."""
        for infoset in range(self.arena.num_infosets):
            player = int(self.arena.infoset_player[infoset])
            yield player, self.arena.infoset_key(infoset), self.probabilities_at(infoset)

    def save(self, path: str | Path) -> None:
        """Write the policy to one file; `load_policy` reads it back."""
        if has_canonical_numbering(self.arena):
            values = {
                "spec": self.arena.spec,
                "numbered": True,
                "probabilities": self.probabilities,
            }
            write_archive(path, POLICY_FORMAT, values, compress=False)
            return
        infosets = range(self.arena.num_infosets)
        names = map(self.arena.action_names, infosets)
        write_archive(
            path,
            POLICY_FORMAT,
            {
                "spec": self.arena.spec,
                "infoset_player": self.arena.infoset_player,
                "offset": self.arena.offset,
                "infoset_keys": tuple(map(self.arena.infoset_key, infosets)),
                "sequence_names": tuple(chain.from_iterable(names)),
                "probabilities": self.probabilities,
            },
        )

    def to_json(self, path: str | Path) -> None:
        """Write the policy as JSON: for each player, infoset key -> action name -> probability."""
        write_policy_json(path, self.arena.spec, self.arena.num_players, self.items())

    def to_csv(self, path: str | Path) -> None:
        """Write the policy as CSV: one line per player, infoset key and action."""
        write_policy_csv(path, self.items())


def check_arena(arena: Any) -> None:
    """Refuse a game, or its name, where a tree is wanted."""
    if not hasattr(arena, "capabilities"):
        kind = type(arena).__name__
        raise ConfigError(f"{kind} is no tree: write cp.build_tree(game) first, or policy.tree")


def uniform_policy(game: SequenceArena | Game | str) -> Policy:
    """The policy that plays every action equally often, on an arena or on the tree of a game."""
    arena: SequenceArena = as_arena(game)
    return Policy._from_valid_array(arena, _uniform_probabilities(arena.num_actions))


def _uniform_probabilities(counts: Ints) -> Floats:
    """1 / n, n times, for every n: in full precision, however small the integers are."""
    return np.repeat(np.divide(1.0, counts, dtype=np.float64), counts)


def random_policy(game: SequenceArena | Game | str, seed: int = 0) -> Policy:
    """A policy drawn uniformly from the simplex at every infoset."""
    arena: SequenceArena = as_arena(game)
    weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
    return policy_from_weights(arena, weights)


def policy_from_weights(
    arena: SequenceArena, weights: Floats, fallback: Floats | None = None
) -> Policy:
    """The policy proportional to non-negative `weights` [S].

    Where all of them are zero, or so small that they have lost their precision, `otherwise`, which
    is uniform play if not given.
    """
    if not weights.size:
        return Policy(arena, weights)
    counts = arena.num_actions
    sums = np.add.reduceat(weights, arena.offset[:-1])
    kept = sums > UNDERFLOW_THRESHOLD
    whole = kept.all()
    values = np.repeat(1.0 / (sums if whole else np.where(kept, sums, 1.0)), counts)
    values *= weights
    if not whole:
        where = np.repeat(~kept, counts)
        values[where] = (_uniform_probabilities(counts) if fallback is None else fallback)[where]
    return Policy._from_valid_array(arena, values) if sums.max() < np.inf else Policy(arena, values)


class LazyPolicies(Mapping[str, Policy]):
    """Policies by name, each made when it is first asked for: most are judged by one alone."""

    def __init__(self, factories: Mapping[str, Callable[[], Policy]]):
        self.factories, self.cache = factories, dict[str, Policy]()

    def __getitem__(self, name: str) -> Policy:
        if name not in self.cache:
            self.cache[name] = self.factories[name]()
        return self.cache[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.factories)

    def __len__(self) -> int:
        return len(self.factories)


def require_tree(policy: Policy) -> TreeArena:
    """The stored tree that a policy belongs to, for what needs its nodes or actions."""
    if "tree" not in policy.arena.capabilities:
        raise ConfigError(f"{policy.arena.spec} has no stored tree, which this needs")
    return cast("TreeArena", policy.arena)


def have_same_infosets(first: SequenceArena, second: SequenceArena) -> bool:
    """Whether policies of one arena fit the other."""
    count = first.num_infosets
    if has_canonical_numbering(first) and type(first) is type(second) and first.spec == second.spec:
        return True
    return count == second.num_infosets and all(
        first.infoset_key(i) == second.infoset_key(i) for i in range(count)
    )


def load_policy(path: str | Path, game: SequenceArena | Game | str | None = None) -> Policy:
    """Read a policy that `save`, `to_json` or `to_csv` wrote.

    A file must be for the same game, with all infosets of all players. Only a policy that was
    learned on rules says that infosets may be missing; play is uniform there.

    Args:
        path: the file.
        tree: the arena, game or name of the game; by default the game that the file names is
            loaded, and its tree is built.

    Raises:
        FileError: the file is damaged, incomplete, or for another game.
        ConfigError: the file does not name its game, and `tree` is not given.
    """
    without_keys = read_numbered_policy(path)
    if game is None:
        game = load_game_from_file(read_policy_spec(path), path)
    arena = as_arena(game, "generated" if without_keys else "tree")
    if without_keys:
        return _policy_from_numbered_file(path, *without_keys, arena)
    stored = read_policy_rows(path)
    _check_fits(path, stored, arena)
    rows, parts = dict(stored.rows), []
    for infoset in range(arena.num_infosets):
        key, here = arena.infoset_key(infoset), arena.action_names(infoset)
        row = rows.pop((int(arena.infoset_player[infoset]), key), None)
        if row is None and stored.partial:  # learned on rules: uniform where nothing was met
            row = here, np.full(len(here), 1.0 / len(here))
        if row is not None and row[0] != here and sorted(row[0]) == sorted(here):
            row = here, row[1][[row[0].index(name) for name in here]]  # as people sort tables
        if row is None or row[0] != here:
            problem = f"it does not fit {key!r} of {arena.spec}"
            raise FileError(f"{path} is a policy for {stored.spec or arena.spec}: {problem}")
        parts.append(row[1])
    if rows:
        _, key = next(iter(rows))
        problem = f"{arena.spec} has no infoset {key!r}"
        raise FileError(f"{path} is a policy for {stored.spec or arena.spec}: {problem}")
    try:
        return Policy(arena, np.concatenate(parts) if parts else np.zeros(0))
    except ConfigError as error:
        raise FileError(f"{path}: damaged policy: {error}") from error


def _check_fits(path: str | Path, stored: StoredPolicy, arena: SequenceArena) -> None:
    """Refuse a policy of another game, of another number of players, or with infosets missing."""
    count = len(stored.rows)
    if is_other_game(stored.spec, arena.spec, exactly=count != arena.num_infosets):
        raise FileError(
            f"{path} is a policy for {stored.spec} ({count} infosets), not for {arena.spec} "
            f"({arena.num_infosets} infosets)"
        )
    if stored.num_players not in (None, arena.num_players):
        players = f"{stored.num_players} players, but {arena.spec} has {arena.num_players}"
        raise FileError(f"{path} is a policy of {players}")
    known = dict.fromkeys(
        (int(p), arena.infoset_key(i)) for i, p in enumerate(arena.infoset_player)
    )
    strange = next((where for where in stored.rows if where not in known), None)
    spec = stored.spec or arena.spec
    if strange is not None:
        raise FileError(
            f"{path} is a policy for {spec}: {arena.spec} has no infoset {strange[1]!r}"
        )
    if count < arena.num_infosets and not stored.partial:
        player, key = next(where for where in known if where not in stored.rows)
        advice = ""
        if Path(path).suffix == ".json":
            advice = f'; "{MISSING_KEY}": "{UNIFORM}" allows it, with uniform play there'
        elif Path(path).suffix == ".csv":
            advice = f"; a line {','.join(MISSING_LINE)} allows it, with uniform play there"
        raise FileError(
            f"{path} is a policy for {spec} with {count} of {arena.num_infosets} infosets; it "
            f"lacks {key!r} of player {player}{advice}"
        )


def is_other_game(spec: str, other: str, exactly: bool = False) -> bool:
    """Return True if two specs certainly name different games.

    A game from a file or another library may be found in several ways: there the infosets decide.

    Args:
        exactly: whether the parameters must be the same too, as the registry reads them. Where all
            infosets are there they decide: a parameter may be at its default.
    """
    if not spec or spec == other or is_external_game(spec) or is_external_game(other):
        return False
    try:
        known = get_spec(load_game_from_file(spec, ""))
    except CounterplayError:  # no game of the registry, such as an abstraction of one
        return True
    return known != other if exactly else known.partition("(")[0] != other.partition("(")[0]


_BUILT: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # by spec and kind


def as_arena(given: Any, kind: str = "tree") -> Any:
    """Return an arena as it is; of a game, or of its name, the tree, built once while it is used.

    Args:
        given: an arena, a game, or its name.
        kind: "tree", or "generated" for an arena whose infosets have numbers instead of keys.
    """
    if hasattr(given, "capabilities"):
        return given
    from counterplay.arenas.build import build_arena

    game = load_game(given) if isinstance(given, str) else given
    check_protocol(game, GAME_METHODS[:1])
    spec = get_spec(game)
    registered = not is_external_game(spec) and spec.partition("(")[0] in GAMES
    arena = _BUILT.get((spec, kind)) if registered else None
    if arena is None:
        arena = build_arena(game, kind)
        if registered:
            _BUILT[spec, kind] = arena
    return arena


def read_policy_spec(path: str | Path) -> str:
    """The game a policy file was made for, as `load_game` takes it."""
    without_keys = read_numbered_policy(path)
    spec = without_keys[0] if without_keys else read_policy_rows(path).spec
    if not spec:
        advice = "name it with --game, or from Python as the second argument"
        raise ConfigError(f"{path} does not say which game it is for; {advice}")
    return spec


def read_policy_arena_kind(path: str | Path) -> str:
    """The kind of arena that a policy file needs; any will do if it says none."""
    return "generated" if read_numbered_policy(path) else ""


def has_canonical_numbering(arena: SequenceArena) -> bool:
    """Whether the game alone says which number an infoset has."""
    return bool(getattr(arena, "has_canonical_numbering", False))


def _policy_from_numbered_file(
    path: str | Path, spec: str, values: Floats, arena: SequenceArena
) -> Policy:
    """The policy of a file without keys, which fits one arena only."""
    if not has_canonical_numbering(arena) or spec != arena.spec:
        kind = "generated" if has_canonical_numbering(arena) else "stored as a tree"
        raise FileError(
            f"{path} is a policy for {spec} as a generated arena, not for {arena.spec} {kind}"
        )
    try:
        return Policy(arena, values)
    except ConfigError as error:
        raise FileError(f"{path}: damaged policy: {error}") from error
