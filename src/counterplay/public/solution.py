"""Solutions in files: the spot, how good the policy is, and the policy in 16 bits, never pickle."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, RunError
from counterplay.files import read_arrays, write_arrays, write_text
from counterplay.kernels import pieces
from counterplay.public.betting import FOLD
from counterplay.public.layout import new_room
from counterplay.public.spot import Spot
from counterplay.public.tree import PublicPolicy, PublicTree
from counterplay.public.views import View

FORMAT = "counterplay spot 1"


@dataclass(frozen=True)
class Solution:
    """A policy with what was found out about it."""

    policy: PublicPolicy
    exploitability: float  # chips
    values: tuple[float, float]
    iterations: int

    @property
    def spot(self) -> Spot:
        return self.policy.arena.spot

    def save(self, path: str | Path) -> None:
        """Write one file; `load_solution` reads it back."""
        arena = self.policy.arena
        content = {
            "spot": self.spot.to_dict(),
            "isomorphism": arena.isomorphism,
            "exploitability": self.exploitability,
            "values": list(self.values),
            "iterations": self.iterations,
            "locks": [[node, board, w.tolist()] for (node, board), w in arena.locks.items()],
            "policy": packed(self.policy),
        }
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


def load_solution(path: str | Path) -> Solution:
    """Read what `save` wrote; a damaged or foreign file is refused."""
    found = read_arrays(path, FORMAT)
    try:
        arena = PublicTree(Spot.from_dict(found["spot"]), isomorphism=bool(found["isomorphism"]))
        weights = found["policy"]
        if weights.dtype != np.uint16 or weights.shape != (arena.num_sequences,):
            raise ConfigError("its policy does not fit its spot")
        for node, board, lock in found["locks"]:
            arena.lock(node, board, np.array(lock))
        values = (float(found["values"][0]), float(found["values"][1]))
        exploitability, iterations = float(found["exploitability"]), int(found["iterations"])
    except (ConfigError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise RunError(f"{path}: not a whole solution ({error})") from error
    policy = PublicPolicy(arena, weights.astype(np.float32), np.zeros(0, np.float32))
    return Solution(policy, exploitability, values, iterations)


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
