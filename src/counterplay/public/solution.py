"""Solutions in files: the spot, how good the policy is, and the policy in 16 bits, never pickle."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.cards import parse_cards
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.files import array_sizes, format_of, read_arrays, write_arrays, write_text
from counterplay.kernels import pieces
from counterplay.public.betting import FOLD, MAX_NODES
from counterplay.public.layout import new_room
from counterplay.public.spot import BOARD_CARDS, STREETS, Spot
from counterplay.public.tree import PublicPolicy, PublicTree
from counterplay.public.views import View

FORMAT = "counterplay spot 3"
OLD_FORMATS = ("counterplay spot 1", "counterplay spot 2")
PART = "policy_{}"  # one array per street


@dataclass(frozen=True)
class Solution:
    """A policy with what was found out about it."""

    policy: PublicPolicy
    exploitability: float  # chips
    values: tuple[float, float]
    iterations: int
    streets: int = 3  # how many, from the spot's own on, are here; later ones may be left in a file

    @property
    def spot(self) -> Spot:
        return self.policy.arena.spot

    def save(self, path: str | Path) -> None:
        """Write one file; `load_solution` reads it back."""
        arena = self.policy.arena
        if self.streets < 3 - self.spot.street:
            raise RunError("only a part of the solution was loaded; there is nothing to save")
        content: dict[str, Any] = {
            "spot": self.spot.to_dict(),
            "isomorphism": arena.isomorphism,
            "symmetries": [list(suits) for suits in arena.symmetries],
            "exploitability": self.exploitability,
            "values": list(self.values),
            "iterations": self.iterations,
            "locks": [[node, board, w.tolist()] for (node, board), w in arena.locks.items()],
        }
        whole = packed(self.policy)
        for street, part in street_parts(arena).items():
            content[PART.format(STREETS[street])] = whole[part]
        write_arrays(path, FORMAT, content, compress=arena.num_sequences < 1 << 24)


def packed(policy: PublicPolicy) -> Any:
    """The policy [S] as whole numbers from 0 to 65,535."""
    arena, tables = policy.arena, policy.arena.reading(policy)
    walk = arena.walks[0]
    room = new_room(walk, arena.kind)
    rows = np.zeros((int(walk.count.max()), int(walk.sizes.max())), arena.kind)
    out = np.zeros(arena.num_sequences, np.uint16)
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            level = node.street.number - arena.spot.street
            first, last = arena.boards.level[level : level + 2].tolist()
            pieces.pack_policy(walk, tables, room, rows, number, first, last, out)
    return out


def street_parts(arena: PublicTree) -> dict[int, slice]:
    """Where the tables hold each street: blocks of a street stand together."""
    found: dict[int, slice] = {}
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            street = node.street.number
            level = street - arena.spot.street
            first, last = arena.boards.level[level : level + 2].tolist()
            start, stop = arena.piece(number, first).start, arena.piece(number, last - 1).stop
            before = found.get(street, slice(start, stop))
            found[street] = slice(min(before.start, start), max(before.stop, stop))
    return found


def load_solution(path: str | Path, streets: int = 3) -> Solution:
    """Read what `save` wrote; a damaged or foreign file is refused.

    Args:
        streets: how many to read, from the spot's own on. What comes after them can neither be
            looked at nor judged, and values of hands are not known.
    """
    if type(streets) is not int or not 1 <= streets <= 3:
        raise ConfigError(f"streets is {streets!r}, must be from 1 to 3")
    if format_of(path) in OLD_FORMATS:
        raise RunError(
            f"{path} was written by an older version, which read some ranges and geometric raises "
            "in another way; solve the spot again"
        )
    later = _later(path, streets) if streets < 3 else ()
    found = read_arrays(path, FORMAT, skip=later)
    try:
        arena = _stored_arena(path, found)
        weights = np.zeros(arena.num_sequences, np.float32)
        for street, part in street_parts(arena).items():
            name = PART.format(STREETS[street])
            if name not in later:
                weights[part] = found[name]
        for node, board, lock in found["locks"]:
            arena.lock(node, board, np.array(lock))
        values = (float(found["values"][0]), float(found["values"][1]))
        exploitability, iterations = float(found["exploitability"]), int(found["iterations"])
    except (ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"{path}: not a whole solution ({error})") from error
    arena.streets_known = min(streets, 3 - arena.spot.street)
    policy = PublicPolicy(arena, weights, np.zeros(0, np.float32))
    return Solution(policy, exploitability, values, iterations, arena.streets_known)


def _stored_arena(path: str | Path, found: dict[str, Any]) -> PublicTree:
    """Build the tree of a file if the stored policy has its size; nothing large is allocated.

    A tree of n nodes has at least n / 2 sequences: all nodes but the first of a street follow an
    action, and every street follows another one's end. So a small file cannot ask for a large tree.
    """
    bytes_by_array = array_sizes(path)
    names = [PART.format(street) for street in STREETS]
    stored = sum(bytes_by_array.get(name, 0) for name in names) // 2
    try:
        arena = PublicTree(
            Spot.from_dict(found["spot"]),
            isomorphism=bool(found["isomorphism"]),
            symmetries=[tuple(suits) for suits in found["symmetries"]],
            max_nodes=min(MAX_NODES, 2 * stored + 1),
        )
    except ConfigError as error:
        raise ConfigError(f"{error}; the file holds a policy of {stored:,} numbers") from error
    for street, part in street_parts(arena).items():
        name, length = PART.format(STREETS[street]), part.stop - part.start
        given = found.get(name)
        fits = bytes_by_array.get(name, 0) >= 2 * length
        if given is not None:
            fits = given.dtype == np.uint16 and given.shape == (length,)
        if not fits:
            raise ConfigError("its policy does not fit its spot")
    return arena


def _later(path: str | Path, streets: int) -> tuple[str, ...]:
    """The arrays of a file that are beyond so many streets."""
    every = tuple(PART.format(street) for street in STREETS)
    board = read_arrays(path, FORMAT, skip=every)["spot"]["board"]
    return every[BOARD_CARDS.index(len(parse_cards(board))) + streets :]


def export_view(view: View, path: str | Path) -> None:
    """Write a node's hands as `.json` or `.csv`."""
    rows, suffix = view.rows(), Path(path).suffix
    if suffix == ".json":
        write_text(path, json.dumps(view.page(), indent=1))
    elif suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        write_text(path, text.getvalue())
    else:
        raise ConfigError(f"cannot export to {path}; the name must end in .json or .csv")
