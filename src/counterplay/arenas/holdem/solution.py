"""Solution files: the spot, its exploitability, and the policy in 16 bits, without pickle."""

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
from counterplay.arenas.holdem.betting import MAX_BETTING_NODES
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
from counterplay.core.arena import Ints
from counterplay.core.cards import parse_cards
from counterplay.errors import ConfigError, FileError, RunError
from counterplay.kernels.holdem import packed_policy

SOLUTION_FORMAT = "counterplay spot 3"
OLD_FORMATS = ("counterplay spot 1", "counterplay spot 2")
STREET_ARRAY_NAMES = tuple(f"policy_{street}" for street in STREETS)  # one array per street


@dataclass(frozen=True)
class Solution:
    """A policy of a spot with its evaluation."""

    policy: HoldemPolicy
    exploitability: float  # chips
    values: tuple[float, float]
    iterations: int
    num_streets: int = 3  # streets loaded, from the street of the spot on

    @property
    def spot(self) -> Spot:
        return self.policy.arena.spot

    def save(self, path: str | Path) -> None:
        """Write one file; `load_solution` reads it back.

        Raises:
            RunError: the solution was loaded without its later streets.
        """
        arena: SpotArena = self.policy.arena
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
        packed = pack_solution_policy(self.policy)
        for street, part in street_slices(arena).items():
            content[STREET_ARRAY_NAMES[street]] = packed[part]
        write_archive(path, SOLUTION_FORMAT, content, compress=arena.num_sequences < 1 << 24)


def pack_solution_policy(policy: HoldemPolicy) -> Ints:
    """Return the policy [S] as integers from 0 to 65,535."""
    arena: SpotArena = policy.arena
    tables, walk = arena.policy_tables(policy), arena.walks[0]
    scratch = new_street_scratch(walk, arena.compute_dtype)
    rows = np.zeros((int(walk.count.max()), int(walk.sizes.max())), arena.compute_dtype)
    packed = np.zeros(arena.num_sequences, np.uint16)
    for node, first, last in arena.iter_decision_nodes():
        packed_policy.pack_policy(walk, tables, scratch, rows, node, first, last, packed)
    return packed


def street_slices(arena: SpotArena) -> dict[int, slice]:
    """Return the slice of a table that holds each street; blocks of a street are adjacent."""
    slices: dict[int, slice] = {}
    for node, first, last in arena.iter_decision_nodes():
        street = arena.betting.nodes[node].state.street
        start, stop = arena.piece_slice(node, first).start, arena.piece_slice(node, last - 1).stop
        before = slices.get(street, slice(start, stop))
        slices[street] = slice(min(before.start, start), max(before.stop, stop))
    return slices


def load_solution(path: str | Path, num_streets: int = 3) -> Solution:
    """Read a file written by `Solution.save`.

    Args:
        path: the file.
        num_streets: streets to read, from the street of the spot on. Nodes of later streets cannot
            be inspected, and without them EVs are not known.

    Raises:
        FileError: the file is damaged or holds something else.
        RunError: the file is of an older version.
        ConfigError: `num_streets` is not from 1 to 3.
    """
    if type(num_streets) is not int or not 1 <= num_streets <= 3:
        raise ConfigError(f"streets is {num_streets!r}, must be from 1 to 3")
    if read_format_name(path) in OLD_FORMATS:
        raise RunError(
            f"{path} was written by an older version, which read some ranges and geometric raises "
            "in another way; solve the spot again"
        )
    skipped = _later_arrays(path, num_streets) if num_streets < 3 else ()
    content = read_archive(path, SOLUTION_FORMAT, skip=skipped)
    try:
        arena = _build_stored_arena(path, content)
        weights = np.zeros(arena.num_sequences, np.float32)
        for street, part in street_slices(arena).items():
            if STREET_ARRAY_NAMES[street] not in skipped:
                weights[part] = content[STREET_ARRAY_NAMES[street]]
        for node, board, lock in content["locks"]:
            arena.lock(node, board, np.array(lock))
        values = (float(content["values"][0]), float(content["values"][1]))
        exploitability, iterations = float(content["exploitability"]), int(content["iterations"])
    except (ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FileError(f"{path}: not a whole solution ({error})") from error
    arena.num_loaded_streets = min(num_streets, 3 - arena.spot.street)
    policy = HoldemPolicy(arena, weights, np.zeros(0, np.float32))
    return Solution(policy, exploitability, values, iterations, arena.num_loaded_streets)


def _build_stored_arena(path: str | Path, content: dict[str, Any]) -> SpotArena:
    """Build the arena of a file if the stored policy has its size, without large allocations.

    A tree of n nodes has at least n / 2 sequences: all nodes but the first of a street follow an
    action, and every street follows another one's end. So a small file cannot demand a large tree.
    """
    bytes_by_array = array_sizes(path)
    num_stored = sum(bytes_by_array.get(name, 0) for name in STREET_ARRAY_NAMES) // 2
    try:
        arena = SpotArena(
            Spot.from_dict(content["spot"]),
            isomorphism=bool(content["isomorphism"]),
            symmetries=[tuple(suits) for suits in content["symmetries"]],
            max_nodes=min(MAX_BETTING_NODES, 2 * num_stored + 1),
        )
    except ConfigError as error:
        raise ConfigError(f"{error}; the file holds a policy of {num_stored:,} numbers") from error
    for street, part in street_slices(arena).items():
        name, length = STREET_ARRAY_NAMES[street], part.stop - part.start
        array = content.get(name)
        if array is None:
            fits = bytes_by_array.get(name, 0) >= 2 * length
        else:
            fits = array.dtype == np.uint16 and array.shape == (length,)
        if not fits:
            raise ConfigError("its policy does not fit its spot")
    return arena


def _later_arrays(path: str | Path, num_streets: int) -> tuple[str, ...]:
    """Return the names of the arrays of a file beyond its first `num_streets` streets."""
    board = read_archive(path, SOLUTION_FORMAT, skip=STREET_ARRAY_NAMES)["spot"]["board"]
    return STREET_ARRAY_NAMES[BOARD_CARDS.index(len(parse_cards(board))) + num_streets :]


def export_node_view(view: NodeView, path: str | Path) -> None:
    """Write the hands of a node as `.json` or `.csv`."""
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
