"""Policies: every player's probabilities, one flat array aligned with an arena, and their files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arena import Floats, SequenceArena
from counterplay.errors import ConfigError, RunError
from counterplay.files import DamageError, read_arrays, write_arrays, write_text
from counterplay.game import State
from counterplay.tree import SMALLEST, Tree, row_lengths

FORMAT = "counterplay policy 1"
Items = Iterable[tuple[int, str, dict[str, float]]]  # player, infoset key, action -> probability
Rows = dict[tuple[int, str], tuple[tuple[str, ...], Floats]]  # names and probabilities of actions


@dataclass(frozen=True, eq=False)
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
        wrong = np.flatnonzero(~(np.abs(sums - 1.0) <= 1e-6))
        if wrong.size or values.min(initial=0.0) < 0.0:
            infoset = int(wrong[0]) if wrong.size else self._infoset_at(int(values.argmin()))
            key = self.tree.key(infoset)
            first, last = self.tree.offset[infoset : infoset + 2]
            raise ConfigError(f"not a probability distribution at {key!r}: {values[first:last]}")
        values.flags.writeable = False
        object.__setattr__(self, "probabilities", values)

    def _infoset_at(self, sequence: int) -> int:
        return int(np.searchsorted(self.tree.offset, sequence, side="right")) - 1

    def __getitem__(self, key: str | tuple[int, str]) -> dict[str, float]:
        player, name = key if isinstance(key, tuple) else (None, key)
        return self.at(self.tree.find(name, player))

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


def uniform_policy(tree: SequenceArena) -> Policy:
    """The policy that plays every action equally often."""
    return Policy(tree, np.repeat(1.0 / tree.num_actions, tree.num_actions))


def random_policy(tree: SequenceArena, seed: int = 0) -> Policy:
    """A policy drawn uniformly from the simplex at every infoset."""
    return normalised_policy(tree, np.random.default_rng(seed).exponential(size=tree.num_sequences))


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
    lost = ~(sums > SMALLEST)
    values = np.repeat(1.0 / np.where(lost, 1.0, sums), counts)
    values *= weights
    if lost.any():
        where = np.repeat(lost, counts)
        values[where] = (np.repeat(1.0 / counts, counts) if otherwise is None else otherwise)[where]
    return Policy(tree, values)


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


def load_policy(path: str | Path, tree: SequenceArena) -> Policy:
    """Read a policy written by `Policy.save`, for the same game as `tree`."""
    found = read_arrays(path, FORMAT)
    if is_numbered(found):
        return _numbered_policy(path, found, tree)
    spec, partial, rows = _rows(path, found)
    if len(rows) != tree.num_infosets and not (partial and spec == tree.spec):
        raise RunError(
            f"{path} is a policy for {spec} ({len(rows)} infosets), not for {tree.spec} "
            f"({tree.num_infosets} infosets)"
        )
    parts = []
    for infoset in range(tree.num_infosets):
        key, here = tree.key(infoset), tree.action_names(infoset)
        row = rows.pop((int(tree.infoset_player[infoset]), key), None)
        if row is None and partial:  # sampled rules: uniform where nothing was met
            row = here, np.full(len(here), 1.0 / len(here))
        if row is None or row[0] != here:
            raise RunError(f"{path} is a policy for {spec}: it does not fit {key!r} of {tree.spec}")
        parts.append(row[1])
    if rows:
        _, key = next(iter(rows))
        raise RunError(f"{path} is a policy for {spec}: {tree.spec} has no infoset {key!r}")
    try:
        return Policy(tree, np.concatenate(parts) if parts else np.zeros(0))
    except ConfigError as error:
        raise RunError(f"{path}: damaged policy: {error}") from error


def policy_spec(path: str | Path) -> str:
    """The game a policy file was made for, as `load_game` takes it."""
    found = read_arrays(path, FORMAT)
    if is_numbered(found):
        return str(found["spec"])
    return _rows(path, found)[0]


def policy_arena(path: str | Path) -> str:
    """The kind of arena that a policy file needs; any will do if it says none."""
    return "generated" if is_numbered(read_arrays(path, FORMAT)) else ""


def is_numbered(found: dict[str, Any]) -> bool:
    """Whether the contents of a policy file have no keys, because the arena numbers infosets."""
    return found.get("numbered") is True and isinstance(found.get("spec"), str)


def numbered(arena: SequenceArena) -> bool:
    """Whether the game alone says which number an infoset has."""
    return bool(getattr(arena, "numbered", False))


def _numbered_policy(path: str | Path, found: dict[str, Any], arena: SequenceArena) -> Policy:
    """The policy of a file without keys, which fits one arena only."""
    spec, values = found["spec"], found.get("probabilities")
    if not numbered(arena) or spec != arena.spec:
        kind = "generated" if numbered(arena) else "stored as a tree"
        raise RunError(
            f"{path} is a policy for {spec} as a generated arena, not for {arena.spec} {kind}"
        )
    if not isinstance(values, np.ndarray) or values.dtype != np.float64:
        raise RunError(f"{path}: not a whole policy file (it has no probabilities)")
    try:
        return Policy(arena, values)
    except ConfigError as error:
        raise RunError(f"{path}: damaged policy: {error}") from error


def read_rows(path: str | Path) -> tuple[str, bool, Rows]:
    """The game of a policy file, whether infosets may lack, and action names and probabilities."""
    return _rows(path, read_arrays(path, FORMAT))


def _rows(path: str | Path, found: dict[str, Any]) -> tuple[str, bool, Rows]:
    if is_numbered(found):
        raise RunError(f"{path} has no keys: it is for the generated arena of {found['spec']}")
    try:
        spec, keys, names = (found[name] for name in ("spec", "infoset_keys", "sequence_names"))
        arrays = [found[name] for name in ("infoset_player", "offset", "probabilities")]
        if not all(isinstance(array, np.ndarray) and array.ndim == 1 for array in arrays):
            raise DamageError("its arrays have wrong shapes")
        if [array.dtype.kind for array in arrays] != ["i", "i", "f"]:
            raise DamageError("its arrays have wrong types")
        if not all(isinstance(text, str) for text in (spec, *keys, *names)):
            raise DamageError("its names are not text")
        owners, offset, values = arrays
        if len(keys) != owners.size or len(keys) != offset.size - 1 or len(names) != values.size:
            raise DamageError("its parts have different lengths")
        if offset[0] != 0 or offset[-1] != values.size or (row_lengths(offset) < 1).any():
            raise DamageError("its offsets are not in order")
        slices = [slice(first, last) for first, last in pairwise(offset.tolist())]
        infosets = zip(owners.tolist(), keys, strict=True)
        rows = dict(zip(infosets, ((names[s], values[s]) for s in slices), strict=True))
        if len(rows) < len(keys):
            raise DamageError("an infoset is there twice")
    except (KeyError, TypeError, DamageError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise RunError(f"{path}: not a whole policy file ({why})") from error
    return spec, found.get("partial") is True, rows


def write_json(path: str | Path, spec: str, num_players: int, items: Items) -> None:
    """Write a policy's `items()` as JSON, one dict per player."""
    players: list[dict[str, dict[str, float]]] = [{} for _ in range(num_players)]
    for player, key, probabilities in items:
        players[player][key] = probabilities
    write_text(path, json.dumps({"game": spec, "players": players}, indent=1))


def write_csv(path: str | Path, items: Items) -> None:
    """Write a policy's `items()` as CSV, one line per action."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(("player", "infoset", "action", "probability"))
    for player, key, probabilities in items:
        for action, probability in probabilities.items():
            writer.writerow((player, key, action, repr(probability)))
    write_text(path, text.getvalue())
