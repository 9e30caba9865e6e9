"""Policies by what a page calls them, and all that is worth knowing about one on a tree.

uniform                      every action equally often
solve:cfr_plus@1000          so many iterations, made here
run:NAME/TIME@average        of a run, at its latest checkpoint

With a lock, such as `17:0,1;20:0.5,0.5`, these infosets play as it says and all others are solved
anew around them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.abstraction.abstract import fix_policy
from counterplay.errors import ConfigError
from counterplay.evaluate import (
    InfosetValues,
    Judgement,
    Mistakes,
    best_response,
    infoset_values,
    judge,
    mistakes,
)
from counterplay.experiment.running import load_run
from counterplay.policy import Policy, uniform_policy
from counterplay.registry import load_algorithm
from counterplay.sampled import SampledPolicy
from counterplay.solving import solve
from counterplay.tree import Tree
from counterplay.tree.measuring import NodeValues, node_values

KEPT = 4  # analyses in memory
MOST_ITERATIONS = 1_000_000
AROUND_LOCKS = 1_000  # iterations of CFR+

Tell = Callable[[str, float, float], None]  # what is being done, how much of it, of how much


@dataclass(frozen=True, eq=False)
class Analysis:
    """A policy of a tree, with what is computed from it when first asked for."""

    tree: Tree
    policy: Policy
    source: str
    step: int | None = None  # of the checkpoint it is from
    names: tuple[str, ...] = ()  # of all policies there
    locked: tuple[int, ...] = ()  # infosets that play as somebody said

    @cached_property
    def nodes(self) -> NodeValues:
        return node_values(self.tree, self.policy.probabilities)

    @cached_property
    def infosets(self) -> InfosetValues:
        return infoset_values(self.tree, self.policy)

    @cached_property
    def mistakes(self) -> Mistakes:
        return mistakes(self.tree, self.policy)

    @cached_property
    def judgement(self) -> Judgement:
        return judge(self.tree, self.policy)

    @cached_property
    def infoset_reach(self) -> Any:
        """The probability [I] that play passes an infoset."""
        tree = self.tree
        acts = tree.infoset >= 0
        return np.bincount(tree.infoset[acts], self.nodes.reach[acts], tree.num_infosets)


class Sources:
    """Makes analyses for one tree; the last few are kept."""

    def __init__(self, tree: Tree, tell: Tell):
        self.tree, self.tell = tree, tell
        self.kept: OrderedDict[tuple[Any, ...], Analysis] = OrderedDict()

    def get(self, source: dict[str, Any]) -> Analysis:
        """The analysis of a source: its text and, of a run, folder and time of the checkpoint."""
        key = (source.get("text", "uniform"), source.get("stamp"), source.get("lock", ""))
        found = self.kept.get(key)
        if found is None and key[2]:
            found = self.kept[key] = self._locked(self.get(source | {"lock": ""}), str(key[2]))
        elif found is None:
            found = self.kept[key] = self._make(source)
        self.kept.move_to_end(key)
        while len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return found

    def versus(self, source: dict[str, Any], base: Analysis) -> Analysis:
        """What to compare with; `best:0` is the best response of player 0 to the base."""
        text = str(source.get("text", ""))
        if not text.startswith("best:"):
            return self.get(source)
        player = text.removeprefix("best:")
        if not player.isdigit() or not self.tree.perfect_recall:
            raise ConfigError(f"cannot compare with {text!r}")
        response = best_response(self.tree, base.policy, int(player))
        return Analysis(self.tree, response.policy, text)

    def _make(self, source: dict[str, Any]) -> Analysis:
        text = str(source.get("text", "uniform"))
        kind, _, rest = text.partition(":")
        if text == "uniform":
            return Analysis(self.tree, uniform_policy(self.tree), text)
        if kind == "solve":
            return Analysis(self.tree, self._solved(rest), text)
        if kind == "run" and "folder" in source:
            return self._of_run(Path(source["folder"]), text)
        raise ConfigError(f"there is no policy {text!r}")

    def _locked(self, base: Analysis, text: str) -> Analysis:
        """Everybody's best around what is locked."""
        rows = parse_lock(self.tree, text)
        probabilities = base.policy.probabilities.copy()
        for number, row in rows.items():
            probabilities[self.tree.offset[number] : self.tree.offset[number + 1]] = row
        fixed = fix_policy(self.tree, Policy(self.tree, probabilities), list(rows))
        around: Any = fixed.using(load_algorithm("cfr_plus"))
        result = solve(
            self.tree,
            around,
            iterations=AROUND_LOCKS,
            tick=lambda done: self.tell("solving around the locks", done, AROUND_LOCKS),
        )
        return Analysis(self.tree, result.policy, base.source, locked=tuple(rows))

    def _solved(self, text: str) -> Policy:
        name, _, number = text.rpartition("@")
        if not number.isdigit() or not 1 <= int(number) <= MOST_ITERATIONS:
            raise ConfigError(f"write solve:cfr_plus@1000, with up to {MOST_ITERATIONS:,}")
        iterations = int(number)
        result = solve(
            self.tree,
            load_algorithm(name),
            iterations=iterations,
            tick=lambda done: self.tell("solving", done, iterations),
        )
        return result.policy

    def _of_run(self, folder: Path, text: str) -> Analysis:
        self.tell("reading the checkpoint", 0, 0)
        run = load_run(folder, build=lambda game: self.tree)
        policies = run.policies
        name = text.rpartition("@")[2]
        if name not in policies:
            raise ConfigError(f"this run has no policy {name!r}; it has {', '.join(policies)}")
        found = policies[name]
        policy = found.on(self.tree) if isinstance(found, SampledPolicy) else found
        return Analysis(self.tree, policy, text, run.step, tuple(policies))


def parse_lock(tree: Tree, text: str) -> dict[int, list[float]]:
    """The locked infosets with the probabilities of their actions."""
    found: dict[int, list[float]] = {}
    for part in text.split(";"):
        number, _, row = part.partition(":")
        try:
            infoset, values = int(number), [float(value) for value in row.split(",")]
        except ValueError:
            raise ConfigError(f"cannot read the lock {part!r}; write 17:0.5,0.5") from None
        if not 0 <= infoset < tree.num_infosets:
            raise ConfigError(f"there is no infoset {infoset} to lock")
        actions = len(tree.action_names(infoset))
        total = sum(values)
        if len(values) != actions or not min(values) >= 0.0 or not 0.0 < total < float("inf"):
            key = tree.key(infoset)
            raise ConfigError(f"the lock of {key!r} needs {actions} numbers that are not negative")
        found[infoset] = [value / total for value in values]
    return found
