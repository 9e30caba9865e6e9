"""Policies: action probabilities of all players in one flat array, aligned with an arena."""

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
from counterplay.core.game import Game, State, full_game
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
from counterplay.registry import (
    GAMES,
    get_spec,
    import_registered,
    is_external_game,
    load_game,
    spec_name,
    split_abstraction,
)

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena

TABULAR_POLICY_LOADER = "counterplay.arenas.rules:load_tabular_policy"

PolicyKey = str | tuple[int, str]  # infoset key, with the player if two players share the key


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """A policy of all players: probabilities [S] at every infoset of a tree or other arena.

    `policy[key]` is a dict from action name to probability; if two players share a key, write
    `policy[player, key]`.

    Args:
        arena: the arena.
        probabilities: [S] aligned with the arena's sequences.

    Raises:
        ConfigError: the array has the wrong size, or is not a distribution at some infoset.

    Example:
        >>> import counterplay as cp
        >>> policy = cp.uniform_policy("leduc_poker")
        >>> policy
        Policy(leduc_poker: 936 infosets, 2 players)
        >>> policy["Qs:crc|Kh:"]
        {'call': 0.5, 'raise': 0.5}
    """

    arena: SequenceArena
    probabilities: Floats  # [S]

    def __post_init__(self) -> None:
        values = np.array(self.probabilities, np.float64)
        size, offset = self.arena.num_sequences, self.arena.offset
        if values.shape != (size,):
            raise ConfigError(
                f"a policy for {self.arena.spec} has {size} entries, not {values.size}"
            )
        sums = np.add.reduceat(values, offset[:-1]) if values.size else values
        is_valid = np.abs(sums - 1.0) <= 1e-6
        if not is_valid.all() or values.min(initial=0.0) < 0.0:
            infoset = (
                int(is_valid.argmin())
                if not is_valid.all()
                else int(np.searchsorted(offset, int(values.argmin()), side="right")) - 1
            )
            key = self.arena.infoset_key(infoset)
            first, last = offset[infoset : infoset + 2]
            raise ConfigError(f"not a probability distribution at {key!r}: {values[first:last]}")
        self._set_probabilities(values)

    def _set_probabilities(self, values: Floats) -> None:
        values.flags.writeable = False
        object.__setattr__(self, "probabilities", values)

    @classmethod
    def _from_valid_array(cls, arena: SequenceArena, values: Floats) -> Policy:
        """Return the policy of an array that is valid by construction, without a copy."""
        policy = cls.__new__(cls)
        object.__setattr__(policy, "arena", arena)
        policy._set_probabilities(values)
        return policy

    @classmethod
    def from_dict(
        cls,
        game: SequenceArena | Game | str,
        rows: Mapping[PolicyKey, Mapping[str, float]],
        fallback: Policy | None = None,
    ) -> Policy:
        """Return the policy with given rows.

        Args:
            game: the arena, the game or its name.
            rows: infoset key -> action name -> probability. Missing actions have probability 0.
            fallback: the policy at infosets without a row; by default uniform.

        Raises:
            ConfigError: an infoset or action is unknown, or a row is not a distribution.

        Example:
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
        """Return the keys of all infosets; (player, key) if players share a key."""
        keys = [self.arena.infoset_key(infoset) for infoset in range(self.arena.num_infosets)]
        count = Counter(keys)
        players = self.arena.infoset_player.tolist()
        return [k if count[k] == 1 else (p, k) for p, k in zip(players, keys, strict=True)]

    def __repr__(self) -> str:
        return (
            f"Policy({self.arena.spec}: {len(self):,} infosets, {self.arena.num_players} players)"
        )

    def _repr_html_(self) -> str:
        from counterplay.display.html import policy_html

        return policy_html(self)

    def probabilities_at(self, infoset: int) -> dict[str, float]:
        """Return action name -> probability at an infoset given by its index."""
        first, last = self.arena.offset[infoset], self.arena.offset[infoset + 1]
        names = self.arena.action_names(infoset)
        return dict(zip(names, self.probabilities[first:last].tolist(), strict=True))

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state; see `play.Agent`."""
        game = getattr(self.arena, "game", None) or require_tree(self).game
        infoset = self.arena.find_infoset(game.infoset_key(state, player), player)
        first, last = self.arena.offset[infoset], self.arena.offset[infoset + 1]
        return self.probabilities[first:last].tolist()

    def items(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """Iterate over (player, infoset key, action name -> probability)."""
        for infoset in range(self.arena.num_infosets):
            player = int(self.arena.infoset_player[infoset])
            yield player, self.arena.infoset_key(infoset), self.probabilities_at(infoset)

    def save(self, path: str | Path) -> None:
        """Write the policy to one file; `load_policy` reads it back."""
        arena = self.arena
        if has_canonical_numbering(arena):
            values = {"spec": arena.spec, "numbered": True, "probabilities": self.probabilities}
            write_archive(path, POLICY_FORMAT, values, compress=False)
            return
        infosets = range(arena.num_infosets)
        values = {
            "spec": arena.spec,
            "infoset_player": arena.infoset_player,
            "offset": arena.offset,
            "infoset_keys": tuple(map(arena.infoset_key, infosets)),
            "sequence_names": tuple(chain.from_iterable(map(arena.action_names, infosets))),
            "probabilities": self.probabilities,
        }
        write_archive(path, POLICY_FORMAT, values)

    def to_json(self, path: str | Path) -> None:
        """Write the policy as JSON: for each player, infoset key -> action name -> probability."""
        write_policy_json(path, self.arena.spec, self.arena.num_players, self.items())

    def to_csv(self, path: str | Path) -> None:
        """Write the policy as CSV: one line per player, infoset key and action."""
        write_policy_csv(path, self.items())


def check_arena(arena: Any) -> None:
    """Raise ConfigError if an object is not an arena, such as a game or its name."""
    if not hasattr(arena, "capabilities"):
        kind = type(arena).__name__
        advice = "write cp.build_tree(game) first, or policy.arena"
        raise ConfigError(f"{kind} is not a tree: {advice}")


def uniform_policy(game: SequenceArena | Game | str) -> Policy:
    """Return the policy with equal probabilities of all actions at every infoset.

    Args:
        game: an arena; or a game or its name, whose tree is built.

    Example:
        >>> import counterplay as cp
        >>> cp.uniform_policy("kuhn_poker")["2b"]
        {'pass': 0.5, 'bet': 0.5}
    """
    arena: SequenceArena = as_arena(game)
    return Policy._from_valid_array(arena, _uniform_probabilities(arena.num_actions))


def _uniform_probabilities(counts: Ints) -> Floats:
    """Return 1 / n, n times, for every n, in double precision also for small integer types."""
    return np.repeat(np.divide(1.0, counts, dtype=np.float64), counts)


def random_policy(game: SequenceArena | Game | str, seed: int = 0) -> Policy:
    """Return a policy sampled uniformly from the simplex at every infoset.

    Args:
        game: an arena; or a game or its name, whose tree is built.
        seed: seed of the random numbers.

    Example:
        >>> import counterplay as cp
        >>> policy = cp.random_policy("kuhn_poker", seed=1)
        >>> {name: round(p, 3) for name, p in policy["2b"].items()}
        {'pass': 0.206, 'bet': 0.794}
    """
    arena: SequenceArena = as_arena(game)
    weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
    return policy_from_weights(arena, weights)


def policy_from_weights(
    arena: SequenceArena, weights: Floats, fallback: Floats | None = None
) -> Policy:
    """Return the policy proportional to non-negative weights [S].

    Args:
        arena: the arena.
        weights: [S] non-negative.
        fallback: [S] probabilities at infosets whose weights are all zero, or too small to be
            precise; by default uniform.
    """
    if not weights.size:
        return Policy(arena, weights)
    counts = arena.num_actions
    sums = np.add.reduceat(weights, arena.offset[:-1])
    has_weight = sums > UNDERFLOW_THRESHOLD
    all_have_weight = has_weight.all()
    values = np.repeat(1.0 / (sums if all_have_weight else np.where(has_weight, sums, 1.0)), counts)
    values *= weights
    if not all_have_weight:
        is_missing = np.repeat(~has_weight, counts)
        probabilities = _uniform_probabilities(counts) if fallback is None else fallback
        values[is_missing] = probabilities[is_missing]
    return Policy._from_valid_array(arena, values) if sums.max() < np.inf else Policy(arena, values)


class LazyPolicies(Mapping[str, Policy]):
    """Policies by name, each made at first access; often only the first is needed."""

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
    """Return the tree of a policy; raise ConfigError if its arena is not a tree."""
    if "tree" not in policy.arena.capabilities:
        raise ConfigError(f"{policy.arena.spec} has no stored tree, which this needs")
    return cast("TreeArena", policy.arena)


def have_same_infosets(first: SequenceArena, second: SequenceArena) -> bool:
    """Return True if policies of one arena fit the other."""
    count = first.num_infosets
    if has_canonical_numbering(first) and type(first) is type(second) and first.spec == second.spec:
        return True
    return count == second.num_infosets and all(
        first.infoset_key(i) == second.infoset_key(i) for i in range(count)
    )


def load_policy(path: str | Path, game: SequenceArena | Game | str | None = None) -> Policy:
    """Read a policy that `save`, `to_json` or `to_csv` wrote.

    A file must be for the same game, with all infosets of all players. Only a file that allows
    missing infosets, as policies learned on rules do, may lack some; the policy is uniform there.

    Args:
        path: the file.
        game: the arena, game or name of the game; by default the game that the file names is
            loaded, and its tree is built. A policy of a game with an abstraction is put on the
            tree of the full game.

    Raises:
        FileError: the file is damaged, incomplete, or for another game.
        ConfigError: the file does not name its game, and `game` is not given.

    Example:
        >>> import counterplay as cp, tempfile
        >>> path = f"{tempfile.mkdtemp()}/uniform.json"
        >>> cp.uniform_policy("kuhn_poker").to_json(path)
        >>> cp.load_policy(path)
        Policy(kuhn_poker: 12 infosets, 2 players)
    """
    numbered = read_numbered_policy(path)
    if game is None:
        game = full_game(load_game_from_file(read_policy_spec(path), path))
    arena = as_arena(game, "generated" if numbered else "tree")
    if numbered:
        return _policy_from_numbered_file(path, *numbered, arena)
    stored = read_policy_rows(path)
    if split_abstraction(stored.spec)[1] and stored.spec != arena.spec:
        return _lift_policy_from_file(path, arena)
    _check_fits(path, stored, arena)
    rows, parts = dict(stored.rows), []
    for infoset in range(arena.num_infosets):
        key, names = arena.infoset_key(infoset), arena.action_names(infoset)
        row = rows.pop((int(arena.infoset_player[infoset]), key), None)
        if row is None and stored.partial:
            row = names, np.full(len(names), 1.0 / len(names))
        if row is not None and row[0] != names and sorted(row[0]) == sorted(names):
            row = names, row[1][[row[0].index(name) for name in names]]  # actions were reordered
        if row is None or row[0] != names:
            problem = f"it does not fit {key!r} of {arena.spec}"
            raise FileError(f"{path} is a policy for {stored.spec or arena.spec}: {problem}")
        parts.append(row[1])
    if rows:
        _, key = next(iter(rows))
        problem = f"{arena.spec} has no infoset {key!r}"
        raise FileError(f"{path} is a policy for {stored.spec or arena.spec}: {problem}")
    return _policy_from_file(path, arena, np.concatenate(parts) if parts else np.zeros(0))


def _policy_from_file(path: str | Path, arena: SequenceArena, values: Floats) -> Policy:
    try:
        return Policy(arena, values)
    except ConfigError as error:
        raise FileError(f"{path}: damaged policy: {error}") from error


def _lift_policy_from_file(path: str | Path, arena: SequenceArena) -> Policy:
    """Return the policy of a game with an abstraction on the tree of the full game."""
    if "tree" not in arena.capabilities:
        raise FileError(f"{path} is a policy for {read_policy_spec(path)}: it needs the tree")
    load = import_registered({"": TABULAR_POLICY_LOADER}, "")
    policy: Policy = load(path, cast("TreeArena", arena).game).tabulate(arena)
    return policy


def _check_fits(path: str | Path, stored: StoredPolicy, arena: SequenceArena) -> None:
    """Raise FileError for another game, another number of players, or missing infosets."""
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
    unknown = next((pair for pair in stored.rows if pair not in known), None)
    spec = stored.spec or arena.spec
    if unknown is not None:
        raise FileError(
            f"{path} is a policy for {spec}: {arena.spec} has no infoset {unknown[1]!r}"
        )
    if count < arena.num_infosets and not stored.partial:
        player, key = next(pair for pair in known if pair not in stored.rows)
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

    A game from a file or another library may have several specs; its infosets are compared instead.
    An abstraction does not make another game: its policies play the full one.

    Args:
        spec: the spec in a file.
        other: the spec of the arena.
        exactly: whether parameters are compared too, after defaults are filled in. Not needed if
            the file has all infosets, which are compared instead.
    """
    spec, other = split_abstraction(spec)[0], split_abstraction(other)[0]
    if not spec or spec == other or is_external_game(spec) or is_external_game(other):
        return False
    try:
        known = get_spec(load_game_from_file(spec, ""))
    except CounterplayError:  # not a registered game, such as one derived from a tree
        return True
    return known != other if exactly else known.partition("(")[0] != other.partition("(")[0]


_arena_cache: WeakValueDictionary[tuple[str, str], Any] = WeakValueDictionary()  # by spec and kind


def as_arena(source: Any, kind: str = "tree") -> Any:
    """Return an arena unchanged, or the arena of a game; arenas in use are not built again.

    Args:
        source: an arena, a game, or its name.
        kind: "tree", or "generated" for an arena whose infosets have numbers instead of keys.
    """
    if hasattr(source, "capabilities"):
        return source
    from counterplay.arenas.build import build_arena

    game = load_game(source) if isinstance(source, str) else source
    check_protocol(game, GAME_METHODS[:1])
    spec = get_spec(game)
    is_registered = not is_external_game(spec) and spec_name(spec) in GAMES
    arena = _arena_cache.get((spec, kind)) if is_registered else None
    if arena is None:
        arena = build_arena(game, kind)
        if is_registered:
            _arena_cache[spec, kind] = arena
    return arena


def read_policy_spec(path: str | Path) -> str:
    """Return the game of a policy file, as `load_game` takes it."""
    numbered = read_numbered_policy(path)
    spec = numbered[0] if numbered else read_policy_rows(path).spec
    if not spec:
        advice = "name it with --game, or from Python as the second argument"
        raise ConfigError(f"{path} does not say which game it is for; {advice}")
    return spec


def read_policy_arena_kind(path: str | Path) -> str:
    """Return the kind of arena that a policy file needs; "" for any."""
    return "generated" if read_numbered_policy(path) else ""


def has_canonical_numbering(arena: SequenceArena) -> bool:
    """Return True if the numbers of infosets depend on the game alone."""
    return bool(getattr(arena, "has_canonical_numbering", False))


def _policy_from_numbered_file(
    path: str | Path, spec: str, values: Floats, arena: SequenceArena
) -> Policy:
    """Return the policy of a file without keys, which fits one arena only."""
    if not has_canonical_numbering(arena) or spec != arena.spec:
        kind = "generated" if has_canonical_numbering(arena) else "stored as a tree"
        raise FileError(
            f"{path} is a policy for {spec} as a generated arena, not for {arena.spec} {kind}"
        )
    return _policy_from_file(path, arena, values)
