"""Policies of a tree by name, with their values.

uniform                      every action with the same probability
solve:cfr_plus@1000          the average policy after 1000 iterations, solved here
run:NAME/TIME@average        the policy of a run, at its latest checkpoint

A lock such as `17:0,1;20:0.5,0.5` fixes the policy at these infosets; all others are solved again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from counterplay.abstraction.abstraction import fix_policy
from counterplay.arenas.rules import TabularPolicy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.core.evaluation import best_response
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.solve import solve
from counterplay.errors import ConfigError
from counterplay.experiment.runner import load_run
from counterplay.registry import load_registered_algorithm

MAX_CACHED_ANALYSES = 4
MAX_ITERATIONS = 1_000_000
LOCK_ITERATIONS = 1_000  # of CFR+ around locks

ReportProgress = Callable[[str, float, float], None]  # activity, amount done, total amount


PolicySource = Mapping[str, object]  # JSON from the server


class PolicySources:
    """Computes analyses of policies of one tree, and caches a few."""

    def __init__(self, tree: TreeArena, report_progress: ReportProgress):
        self.tree, self.report_progress = tree, report_progress
        self.analyses: OrderedDict[tuple[str, object, str], PolicyAnalysis] = OrderedDict()

    def get(self, source: PolicySource) -> PolicyAnalysis:
        """Return the analysis of a policy.

        Args:
            source: the `text` that names the policy, an optional `lock`, and for a run its `folder`
                and the time of its checkpoint (`stamp`).
        """
        text, lock = str(source.get("text", "uniform")), str(source.get("lock", ""))
        key = (text, source.get("stamp"), lock)
        analysis = self.analyses.get(key)
        if analysis is None and lock:
            analysis = self._solve_around_locks(self.get({**source, "lock": ""}), lock)
        elif analysis is None:
            analysis = self._build_analysis(source)
        self.analyses[key] = analysis
        self.analyses.move_to_end(key)
        while len(self.analyses) > MAX_CACHED_ANALYSES:
            self.analyses.popitem(last=False)
        return analysis

    def get_comparison(self, source: PolicySource, base: PolicyAnalysis) -> PolicyAnalysis:
        """Return a policy to compare with; `best:0` is the best response of player 0 to `base`."""
        text = str(source.get("text", ""))
        if not text.startswith("best:"):
            return self.get(source)
        player = text.removeprefix("best:")
        if not player.isdigit() or not self.tree.has_perfect_recall:
            raise ConfigError(f"cannot compare with {text!r}")
        response = best_response(self.tree, base.policy, int(player))
        return PolicyAnalysis(self.tree, response.policy, text)

    def _build_analysis(self, source: PolicySource) -> PolicyAnalysis:
        text = str(source.get("text", "uniform"))
        kind, _, rest = text.partition(":")
        if text == "uniform":
            return PolicyAnalysis(self.tree, uniform_policy(self.tree), text)
        if kind == "solve":
            return PolicyAnalysis(self.tree, self._solve_policy(rest), text)
        if kind == "run" and "folder" in source:
            return self._load_from_run(Path(str(source["folder"])), text)
        raise ConfigError(f"there is no policy {text!r}")

    def _solve_around_locks(self, base: PolicyAnalysis, text: str) -> PolicyAnalysis:
        """Return the solution in which the locked infosets keep their policy."""
        rows = parse_locks(self.tree, text)
        probabilities = base.policy.probabilities.copy()
        for number, row in rows.items():
            probabilities[self.tree.offset[number] : self.tree.offset[number + 1]] = row
        fixed = fix_policy(self.tree, Policy(self.tree, probabilities), list(rows))
        algorithm: Any = fixed.wrap_algorithm(load_registered_algorithm("cfr_plus"))
        result = solve(
            self.tree,
            algorithm,
            iterations=LOCK_ITERATIONS,
            tick=lambda done: self.report_progress(
                "solving around the locks", done, LOCK_ITERATIONS
            ),
        )
        return PolicyAnalysis(self.tree, result.policy, base.source, locked_infosets=tuple(rows))

    def _solve_policy(self, text: str) -> Policy:
        name, _, number = text.rpartition("@")
        if not number.isdigit() or not 1 <= int(number) <= MAX_ITERATIONS:
            raise ConfigError(f"write solve:cfr_plus@1000, with up to {MAX_ITERATIONS:,}")
        iterations = int(number)
        result = solve(
            self.tree,
            load_registered_algorithm(name),
            iterations=iterations,
            tick=lambda done: self.report_progress("solving", done, iterations),
        )
        return result.policy

    def _load_from_run(self, folder: Path, text: str) -> PolicyAnalysis:
        self.report_progress("reading the checkpoint", 0, 0)
        run = load_run(folder, build=lambda game: self.tree)
        policies = run.policies
        name = text.rpartition("@")[2]
        if name not in policies:
            raise ConfigError(f"this run has no policy {name!r}; it has {', '.join(policies)}")
        policy = policies[name]
        if isinstance(policy, TabularPolicy):
            policy = policy.tabulate(self.tree)
        return PolicyAnalysis(self.tree, policy, text, run.step, tuple(policies))


def parse_locks(tree: TreeArena, text: str) -> dict[int, list[float]]:
    """Return the action probabilities of the locked infosets."""
    locks: dict[int, list[float]] = {}
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
            key = tree.infoset_key(infoset)
            raise ConfigError(f"the lock of {key!r} needs {actions} numbers that are not negative")
        locks[infoset] = [value / total for value in values]
    return locks
