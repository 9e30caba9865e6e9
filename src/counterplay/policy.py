"""Policies: every player's probabilities, one flat array aligned with an arena, and their files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from counterplay.arena import Floats, Ints, SequenceArena
from counterplay.consent import load_game_from_file
from counterplay.errors import ConfigError, CounterplayError, FileError, suggestion
from counterplay.files import write_arrays
from counterplay.game import Game, State
from counterplay.policy_files import (
    FORMAT,
    MISSING_KEY,
    MISSING_LINE,
    UNIFORM,
    StoredPolicy,
    read_numbered,
    read_rows,
    write_csv,
    write_json,
)
from counterplay.registry import GAMES, is_from_elsewhere, load_game, spec_of
from counterplay.rule_checks import METHODS, check_protocol
from counterplay.tree import SMALLEST, Tree

Key = str | tuple[int, str]  # of an infoset; with the player where two players share it


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Probabilities [S] at every infoset of a tree, or of another arena, for all players.

    `policy["Qs:cr|Kh:"]` is a dict from action name to probability; where two players share a key,
    `policy[player, key]` tells them apart.
    """

    tree: SequenceArena
    probabilities: Floats

    def __post_init__(self) -> None:
        values = np.array(self.probabilities, np.float64)
        if values.shape != (self.tree.num_sequences,):
            wanted = self.tree.num_sequences
            raise ConfigError(
                f"a policy for {self.tree.spec} has {wanted} entries, not {values.size}"
            )
        sums = np.add.reduceat(values, self.tree.offset[:-1]) if values.size else values
        right = np.abs(sums - 1.0) <= 1e-6
        if not right.all() or values.min(initial=0.0) < 0.0:
            wrong = np.flatnonzero(~right)
            infoset = int(wrong[0]) if wrong.size else self._infoset_at(int(values.argmin()))
            key = self.tree.key(infoset)
            first, last = self.tree.offset[infoset : infoset + 2]
            raise ConfigError(f"not a probability distribution at {key!r}: {values[first:last]}")
        self._keep(values)

    def _keep(self, values: Floats) -> None:
        values.flags.writeable = False
        object.__setattr__(self, "probabilities", values)

    @classmethod
    def _made(cls, tree: SequenceArena, values: Floats) -> Policy:
        """The policy of an array that is nobody else's and right by the way it was made."""
        policy = cls.__new__(cls)
        object.__setattr__(policy, "tree", tree)
        policy._keep(values)
        return policy

    def _infoset_at(self, sequence: int) -> int:
        return int(np.searchsorted(self.tree.offset, sequence, side="right")) - 1

    @classmethod
    def from_dict(
        cls,
        tree: SequenceArena | Game | str,
        rows: Mapping[Key, Mapping[str, float]],
        otherwise: Policy | None = None,
    ) -> Policy:
        """The policy that plays as `rows` say: infoset key -> action name -> probability.

        Actions that a row leaves out are never played; at infosets without a row it plays as
        `otherwise`, which is uniform play if not given.

        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> cp.Policy.from_dict(tree, {"2b": {"bet": 1.0}})["2b"]
        {'pass': 0.0, 'bet': 1.0}
        """
        arena: SequenceArena = as_arena(tree)
        values = (otherwise or uniform_policy(arena)).probabilities.copy()
        for key, row in rows.items():
            player, name = key if isinstance(key, tuple) else (None, key)
            infoset = arena.find(name, player)
            names = arena.action_names(infoset)
            for action in row:
                if action not in names:
                    near = suggestion(str(action), names) or f" (there are {', '.join(names)})"
                    raise ConfigError(f"infoset {name!r} has no action {action!r}{near}")
            first, last = arena.offset[infoset : infoset + 2]
            values[first:last] = [row.get(action, 0.0) for action in names]
        return cls(arena, values)

    def __getitem__(self, key: Key) -> dict[str, float]:
        player, name = key if isinstance(key, tuple) else (None, key)
        return self.at(self.tree.find(name, player))

    def __len__(self) -> int:
        return self.tree.num_infosets

    def __iter__(self) -> Iterator[Key]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def keys(self) -> list[Key]:
        """The infosets, as `policy[key]` takes them: (player, key) where players share a key."""
        keys = [self.tree.key(infoset) for infoset in range(self.tree.num_infosets)]
        count = Counter(keys)
        owners = self.tree.infoset_player.tolist()
        return [k if count[k] == 1 else (p, k) for p, k in zip(owners, keys, strict=True)]

    def __repr__(self) -> str:
        return f"Policy({self.tree.spec}: {len(self):,} infosets, {self.tree.num_players} players)"

    def _repr_html_(self) -> str:
        from counterplay.showing.html import policy_html

        return policy_html(self)

    def at(self, infoset: int) -> dict[str, float]:
        """Action name -> probability at an infoset given by its index."""
        first, last = self.tree.offset[infoset], self.tree.offset[infoset + 1]
        names = self.tree.action_names(infoset)
        return dict(zip(names, self.probabilities[first:last].tolist(), strict=True))

    def odds(self, state: State, player: int) -> list[float]:
        """The probabilities of the player's actions at a state, as `playing` asks for them."""
        rules = getattr(self.tree, "rules", None) or tree_of(self).rules
        infoset = self.tree.find(rules.infoset_key(state, player), player)
        first, last = self.tree.offset[infoset], self.tree.offset[infoset + 1]
        return self.probabilities[first:last].tolist()

    def items(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """(player, infoset key, action name -> probability) for every infoset."""
        for infoset in range(self.tree.num_infosets):
            player = int(self.tree.infoset_player[infoset])
            yield player, self.tree.key(infoset), self.at(infoset)

    def save(self, path: str | Path) -> None:
        """Write the policy to one file; `load_policy` reads it back."""
        if numbered(self.tree):
            values = {"spec": self.tree.spec, "numbered": True, "probabilities": self.probabilities}
            write_arrays(path, FORMAT, values, compress=False)
            return
        infosets = range(self.tree.num_infosets)
        names = map(self.tree.action_names, infosets)
        write_arrays(
            path,
            FORMAT,
            {
                "spec": self.tree.spec,
                "infoset_player": self.tree.infoset_player,
                "offset": self.tree.offset,
                "infoset_keys": tuple(map(self.tree.key, infosets)),
                "sequence_names": tuple(chain.from_iterable(names)),
                "probabilities": self.probabilities,
            },
        )

    def to_json(self, path: str | Path) -> None:
        """Write the policy as JSON: for each player, infoset key -> action name -> probability."""
        write_json(path, self.tree.spec, self.tree.num_players, self.items())

    def to_csv(self, path: str | Path) -> None:
        """Write the policy as CSV: one line per player, infoset key and action."""
        write_csv(path, self.items())


def check_tree(tree: Any) -> None:
    """Refuse a game, or its name, where a tree is wanted."""
    if not hasattr(tree, "offers"):
        kind = type(tree).__name__
        raise ConfigError(f"{kind} is no tree: write cp.build_tree(game) first, or policy.tree")


def uniform_policy(tree: SequenceArena | Game | str) -> Policy:
    """The policy that plays every action equally often, on an arena or on the tree of a game."""
    arena: SequenceArena = as_arena(tree)
    return Policy._made(arena, _evenly(arena.num_actions))


def _evenly(counts: Ints) -> Floats:
    """1 / n, n times, for every n: in full precision, however small the integers are."""
    return np.repeat(np.divide(1.0, counts, dtype=np.float64), counts)


def random_policy(tree: SequenceArena | Game | str, seed: int = 0) -> Policy:
    """A policy drawn uniformly from the simplex at every infoset."""
    arena: SequenceArena = as_arena(tree)
    weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
    return normalised_policy(arena, weights)


def normalised_policy(
    tree: SequenceArena, weights: Floats, otherwise: Floats | None = None
) -> Policy:
    """The policy proportional to non-negative `weights` [S].

    Where all of them are zero, or so small that they have lost their precision, `otherwise`, which
    is uniform play if not given.
    """
    if not weights.size:
        return Policy(tree, weights)
    counts = tree.num_actions
    sums = np.add.reduceat(weights, tree.offset[:-1])
    kept = sums > SMALLEST
    whole = kept.all()
    values = np.repeat(1.0 / (sums if whole else np.where(kept, sums, 1.0)), counts)
    values *= weights
    if not whole:
        where = np.repeat(~kept, counts)
        values[where] = (_evenly(counts) if otherwise is None else otherwise)[where]
    return Policy._made(tree, values) if sums.max() < np.inf else Policy(tree, values)


class Policies(Mapping[str, Policy]):
    """Policies by name, each made when it is first asked for: most are judged by one alone."""

    def __init__(self, makers: Mapping[str, Callable[[], Policy]]):
        self.makers, self.made = makers, dict[str, Policy]()

    def __getitem__(self, name: str) -> Policy:
        if name not in self.made:
            self.made[name] = self.makers[name]()
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.makers)

    def __len__(self) -> int:
        return len(self.makers)


def tree_of(policy: Policy) -> Tree:
    """The stored tree that a policy belongs to, for what needs its nodes or actions."""
    if not isinstance(policy.tree, Tree):
        raise ConfigError(f"{policy.tree.spec} has no stored tree, which this needs")
    return policy.tree


def same_infosets(one: SequenceArena, other: SequenceArena) -> bool:
    """Whether policies of one arena fit the other."""
    count = one.num_infosets
    if numbered(one) and type(one) is type(other) and one.spec == other.spec:
        return True
    return count == other.num_infosets and all(one.key(i) == other.key(i) for i in range(count))


def load_policy(path: str | Path, tree: SequenceArena | Game | str | None = None) -> Policy:
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
    without_keys = read_numbered(path)
    if tree is None:
        tree = load_game_from_file(policy_spec(path), path)
    arena = as_arena(tree, "generated" if without_keys else "tree")
    if without_keys:
        return _numbered_policy(path, *without_keys, arena)
    stored = read_rows(path)
    _check_fits(path, stored, arena)
    rows, parts = dict(stored.rows), []
    for infoset in range(arena.num_infosets):
        key, here = arena.key(infoset), arena.action_names(infoset)
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
    known = dict.fromkeys((int(p), arena.key(i)) for i, p in enumerate(arena.infoset_player))
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
    if not spec or spec == other or is_from_elsewhere(spec) or is_from_elsewhere(other):
        return False
    try:
        known = spec_of(load_game_from_file(spec, ""))
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
    if hasattr(given, "offers"):
        return given
    from counterplay.generated.choosing import build_arena

    game = load_game(given) if isinstance(given, str) else given
    check_protocol(game, METHODS[:1])
    spec = spec_of(game)
    registered = not is_from_elsewhere(spec) and spec.partition("(")[0] in GAMES
    arena = _BUILT.get((spec, kind)) if registered else None
    if arena is None:
        arena = build_arena(game, kind)
        if registered:
            _BUILT[spec, kind] = arena
    return arena


def policy_spec(path: str | Path) -> str:
    """The game a policy file was made for, as `load_game` takes it."""
    without_keys = read_numbered(path)
    spec = without_keys[0] if without_keys else read_rows(path).spec
    if not spec:
        advice = "name it with --game, or from Python as the second argument"
        raise ConfigError(f"{path} does not say which game it is for; {advice}")
    return spec


def policy_arena(path: str | Path) -> str:
    """The kind of arena that a policy file needs; any will do if it says none."""
    return "generated" if read_numbered(path) else ""


def numbered(arena: SequenceArena) -> bool:
    """Whether the game alone says which number an infoset has."""
    return bool(getattr(arena, "numbered", False))


def _numbered_policy(path: str | Path, spec: str, values: Floats, arena: SequenceArena) -> Policy:
    """The policy of a file without keys, which fits one arena only."""
    if not numbered(arena) or spec != arena.spec:
        kind = "generated" if numbered(arena) else "stored as a tree"
        raise FileError(
            f"{path} is a policy for {spec} as a generated arena, not for {arena.spec} {kind}"
        )
    try:
        return Policy(arena, values)
    except ConfigError as error:
        raise FileError(f"{path}: damaged policy: {error}") from error
