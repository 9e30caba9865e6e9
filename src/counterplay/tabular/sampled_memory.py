"""What sampling algorithms keep about a game that is not unrolled: tables that grow."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from counterplay.sampled import SizeReport

KEY_BYTES = 260  # of a dictionary entry with its tuples and string, the text not counted
NUMBERS = ("iteration", "seed", "guesses", "touched")
TABLES = ("regret", "policy", "policy_sum", "visits", "baseline", "largest")


def _floats() -> array[float]:
    return array("d")


@dataclass
class SampledMemory:
    """Tables, and where what was met stands in them.

    `infosets` says where the actions of (player, infoset key) stand in the tables and what they are
    called; `lotteries` where the probabilities of chance stand in `policy`. `slots` numbers what
    there are guesses for: (player, infoset key, action), or histories, which are known by the
    number of the history before the last action, and that action.
    """

    iteration: int
    seed: int
    guesses: str = ""  # what a baseline is kept for: "augmented" infosets, or every "history"
    touched: int = 0
    regret: array[float] = field(default_factory=_floats)
    policy: array[float] = field(default_factory=_floats)
    policy_sum: array[float] = field(default_factory=_floats)
    visits: array[float] = field(default_factory=_floats)
    baseline: array[float] = field(default_factory=_floats)
    largest: array[float] = field(default_factory=_floats)
    infosets: dict[tuple[int, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    lotteries: dict[tuple[float, ...], int] = field(default_factory=dict)
    slots: dict[Any, int] = field(default_factory=dict)  # in the order of their numbers
    # actions of infosets and of chance nodes that were checked in this process; not stored
    legal: dict[Any, tuple[int, ...]] = field(default_factory=dict, compare=False, repr=False)
    outcomes: set[tuple[int, ...]] = field(default_factory=set, compare=False, repr=False)
    finished: ClassVar[bool] = False

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        tables = [getattr(self, name) for name in TABLES]
        return SizeReport(
            self.iteration,
            self.touched,
            len(self.infosets),
            len(self.policy),
            sum(table.itemsize * len(table) for table in tables)
            + sum(
                KEY_BYTES + len(key) + 8 * len(names)
                for (_, key), (_, names) in self.infosets.items()
            )
            + KEY_BYTES * len(self.slots),
        )

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays, numbers and a string: what was met is JSON, as bytes."""
        index = {
            "infosets": [(*key, *place) for key, place in self.infosets.items()],
            "lotteries": [(first, len(key)) for key, first in self.lotteries.items()],
            "slots": list(self.slots),
        }
        text = json.dumps(index, default=int)  # rules may have NumPy's integers as actions
        return {
            **{name: getattr(self, name) for name in NUMBERS},
            **{name: np.array(getattr(self, name)) for name in TABLES},
            "index": np.frombuffer(text.encode(), np.uint8),
        }

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> SampledMemory:
        """The memory that `to_arrays` made these of."""
        index, policy = json.loads(stored["index"].tobytes()), stored["policy"].tolist()
        parts: dict[str, Any] = {name: stored[name] for name in NUMBERS}
        parts |= {name: array("d", stored[name].tobytes()) for name in TABLES}
        return cls(
            **parts,
            infosets={(p, key): (k, tuple(names)) for p, key, k, names in index["infosets"]},
            lotteries={tuple(policy[k : k + count]): k for k, count in index["lotteries"]},
            slots={tuple(key): number for number, key in enumerate(index["slots"])},
        )
