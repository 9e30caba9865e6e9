"""Solutions in files: the spot, how good the policy is, and the policy in 16 bits, never pickle."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arenas.holdem.array_layout import new_street_scratch
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD, MAX_BETTING_NODES
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot import BOARD_CARDS, STREETS, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.archive import (
    array_sizes,
    read_archive,
    read_format_name,
    write_archive,
    write_text,
)
from counterplay.core.cards import parse_cards
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.kernels.holdem import packed_policy

SOLUTION_FORMAT = "counterplay spot 3"
OLD_FORMATS = ("counterplay spot 1", "counterplay spot 2")
STREET_ARRAY_NAME = "policy_{}"  # one array per street


@dataclass(frozen=True)
class Solution:
    """A policy with what was found out about it."""

    policy: HoldemPolicy
    exploitability: float  # chips
    values: tuple[float, float]
    iterations: int
    num_streets: int = (
        3  # how many, from the spot's own on, are here; later ones may be left in a file
    )

    @property
    def spot(self) -> Spot:
        return self.policy.arena.spot

    def save(self, path: str | Path) -> None:
        """Write one file; `load_solution` reads it back."""
        arena = self.policy.arena
        if self.num_streets < 3 - self.spot.street:
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
        whole = pack_solution_policy(self.policy)
        for street, part in street_slices(arena).items():
            content[STREET_ARRAY_NAME.format(STREETS[street])] = whole[part]
        write_archive(path, SOLUTION_FORMAT, content, compress=arena.num_sequences < 1 << 24)


def pack_solution_policy(policy: HoldemPolicy) -> Any:
    """The policy [S] as whole numbers from 0 to 65,535."""
    arena, tables = policy.arena, policy.arena.policy_tables(policy)
    walk = arena.walks[0]
    room = new_street_scratch(walk, arena.compute_dtype)
    rows = np.zeros((int(walk.count.max()), int(walk.sizes.max())), arena.compute_dtype)
    out = np.zeros(arena.num_sequences, np.uint16)
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            level = node.state.street - arena.spot.street
            first, last = arena.boards.level_offset[level : level + 2].tolist()
            packed_policy.pack_policy(walk, tables, room, rows, number, first, last, out)
    return out


def street_slices(arena: SpotArena) -> dict[int, slice]:
    """Where the tables hold each street: blocks of a street stand together."""
    found: dict[int, slice] = {}
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            street = node.state.street
            level = street - arena.spot.street
            first, last = arena.boards.level_offset[level : level + 2].tolist()
            start, stop = (
                arena.piece_slice(number, first).start,
                arena.piece_slice(number, last - 1).stop,
            )
            before = found.get(street, slice(start, stop))
            found[street] = slice(min(before.start, start), max(before.stop, stop))
    return found


def load_solution(path: str | Path, num_streets: int = 3) -> Solution:
    """Read what `save` wrote; a damaged or foreign file is refused.

    Args:
        streets: how many to read, from the spot's own on. What comes after them can neither be
            looked at nor judged, and values of hands are not known.
    """
    if type(num_streets) is not int or not 1 <= num_streets <= 3:
        raise ConfigError(f"streets is {num_streets!r}, must be from 1 to 3")
    if read_format_name(path) in OLD_FORMATS:
        raise RunError(
            f"{path} was written by an older version, which read some ranges and geometric raises "
            "in another way; solve the spot again"
        )
    later = _arrays_beyond(path, num_streets) if num_streets < 3 else ()
    found = read_archive(path, SOLUTION_FORMAT, skip=later)
    try:
        arena = _stored_arena(path, found)
        weights = np.zeros(arena.num_sequences, np.float32)
        for street, part in street_slices(arena).items():
            name = STREET_ARRAY_NAME.format(STREETS[street])
            if name not in later:
                weights[part] = found[name]
        for node, board, lock in found["locks"]:
            arena.lock(node, board, np.array(lock))
        values = (float(found["values"][0]), float(found["values"][1]))
        exploitability, iterations = float(found["exploitability"]), int(found["iterations"])
    except (ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"{path}: not a whole solution ({error})") from error
    arena.num_loaded_streets = min(num_streets, 3 - arena.spot.street)
    policy = HoldemPolicy(arena, weights, np.zeros(0, np.float32))
    return Solution(policy, exploitability, values, iterations, arena.num_loaded_streets)


def _stored_arena(path: str | Path, found: dict[str, Any]) -> SpotArena:
    """Build the tree of a file if the stored policy has its size; nothing large is allocated.

    A tree of n nodes has at least n / 2 sequences: all nodes but the first of a street follow an
    action, and every street follows another one's end. So a small file cannot ask for a large tree.
    """
    bytes_by_array = array_sizes(path)
    names = [STREET_ARRAY_NAME.format(street) for street in STREETS]
    stored = sum(bytes_by_array.get(name, 0) for name in names) // 2
    try:
        arena = SpotArena(
            Spot.from_dict(found["spot"]),
            isomorphism=bool(found["isomorphism"]),
            symmetries=[tuple(suits) for suits in found["symmetries"]],
            max_nodes=min(MAX_BETTING_NODES, 2 * stored + 1),
        )
    except ConfigError as error:
        raise ConfigError(f"{error}; the file holds a policy of {stored:,} numbers") from error
    for street, part in street_slices(arena).items():
        name, length = STREET_ARRAY_NAME.format(STREETS[street]), part.stop - part.start
        given = found.get(name)
        fits = bytes_by_array.get(name, 0) >= 2 * length
        if given is not None:
            fits = given.dtype == np.uint16 and given.shape == (length,)
        if not fits:
            raise ConfigError("its policy does not fit its spot")
    return arena


def _arrays_beyond(path: str | Path, num_streets: int) -> tuple[str, ...]:
    """The arrays of a file that are beyond so many streets."""
    every = tuple(STREET_ARRAY_NAME.format(street) for street in STREETS)
    board = read_archive(path, SOLUTION_FORMAT, skip=every)["spot"]["board"]
    return every[BOARD_CARDS.index(len(parse_cards(board))) + num_streets :]


def export_node_view(view: NodeView, path: str | Path) -> None:
    """Write a node's hands as `.json` or `.csv`."""
    rows, suffix = view.hand_rows(), Path(path).suffix
    if suffix == ".json":
        write_text(path, json.dumps(view.to_dict(), indent=1))
    elif suffix == ".csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
        write_text(path, text.getvalue())
    else:
        raise ConfigError(f"cannot export to {path}; the name must end in .json or .csv")
