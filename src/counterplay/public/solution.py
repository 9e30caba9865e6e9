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
from counterplay.files import read_arrays, write_arrays, write_text
from counterplay.kernels import pieces
from counterplay.public.betting import FOLD
from counterplay.public.layout import new_room
from counterplay.public.spot import BOARD_CARDS, STREETS, Spot
from counterplay.public.tree import PublicPolicy, PublicTree
from counterplay.public.views import View

FORMAT = "counterplay spot 2"
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
    later = _later(path, streets) if streets < 3 else ()
    found = read_arrays(path, FORMAT, skip=later)
    try:
        arena = PublicTree(Spot.from_dict(found["spot"]), isomorphism=bool(found["isomorphism"]))
        weights = np.zeros(arena.num_sequences, np.float32)
        for street, part in street_parts(arena).items():
            name = PART.format(STREETS[street])
            if name in later:
                continue
            given = found[name]
            if given.dtype != np.uint16 or given.shape != (part.stop - part.start,):
                raise ConfigError("its policy does not fit its spot")
            weights[part] = given
        for node, board, lock in found["locks"]:
            arena.lock(node, board, np.array(lock))
        values = (float(found["values"][0]), float(found["values"][1]))
        exploitability, iterations = float(found["exploitability"]), int(found["iterations"])
    except (ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"{path}: not a whole solution ({error})") from error
    arena.streets_known = min(streets, 3 - arena.spot.street)
    policy = PublicPolicy(arena, weights, np.zeros(0, np.float32))
    return Solution(policy, exploitability, values, iterations, arena.streets_known)


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
