"""The solutions of one spot in a worker: solved in steps, loaded from a file, or with locks.

A worker holds the base solution of its spot and one variant: the same spot with node locks, or with
a player who folds too often. A solve can be stopped and continued, since the regrets stay here.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.locks import lock_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.overfold import lock_overfold
from counterplay.arenas.holdem.runouts import Runout
from counterplay.arenas.holdem.solution import Solution, load_solution
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.arenas.tree.size_estimate import available_memory
from counterplay.core.evaluation import Judgement, judge
from counterplay.core.solve import SolveSession
from counterplay.errors import ConfigError, CounterplayError
from counterplay.registry import load_registered_algorithm
from counterplay.studio.worker.queries import Call

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

SPOT_ALGORITHM = "dcfr(gamma=3,restart_base=4)"  # that of `counterplay spot solve`
EVALUATE_EVERY = 10  # iterations between two evaluations
MAX_ITERATIONS = 10_000
MAX_MEMORY_FRACTION = 0.6  # of the free memory that a spot may use
MAX_CACHED_VIEWS = 64
MAX_RECENT_BYTES = 256 << 20  # of a solution that is stored without being asked
MAX_RECENT_SOLUTIONS = 8
MAX_LOCKS = 200


@dataclass
class SpotStudy:
    """A solution of a spot, with the state of its solver if it was solved here."""

    arena: SpotArena
    session: SolveSession | None = None  # None if the solution comes from a file
    policy: HoldemPolicy | None = None
    values: tuple[float, float] = (0.0, 0.0)
    exploitability: float = float("inf")
    iterations: int = 0
    seconds: float = 0.0
    is_stopped: bool = False  # by the person, before the target
    records: list[tuple[int, float, float, float]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    runouts_by_history: dict[str, list[Runout]] = field(default_factory=dict)
    _views: OrderedDict[str, NodeView] = field(default_factory=OrderedDict)

    @classmethod
    def from_arena(cls, arena: SpotArena) -> SpotStudy:
        """Return a study without iterations.

        Raises:
            ConfigError: the solver needs more memory than is free.
        """
        size, free = arena.size, available_memory()
        if size.num_bytes > MAX_MEMORY_FRACTION * free:
            raise ConfigError(
                f"this spot takes {size.num_bytes / 2**30:.1f} GB and {free / 2**30:.1f} GB are "
                "free; give fewer bet sizes, or narrower ranges"
            )
        algorithm = load_registered_algorithm(SPOT_ALGORITHM)
        session = SolveSession(arena, algorithm, algorithm.init(arena, 0))
        return cls(arena, session, notes=list(arena.notes))

    @classmethod
    def from_file(cls, path: Path) -> SpotStudy:
        """Return the study of a solution file."""
        solution = load_solution(path)
        arena = solution.policy.arena
        return cls(
            arena=arena,
            policy=solution.policy,
            values=solution.values,
            exploitability=solution.exploitability,
            iterations=solution.iterations,
            notes=list(arena.notes),
        )

    @property
    def pot(self) -> int:
        return self.arena.spot.pot

    @property
    def percent(self) -> float:
        """Exploitability in percent of the pot."""
        return 100.0 * self.exploitability / self.pot

    def needs_solving(self, target: float) -> bool:
        """Return True if the solver should go on to reach `target` percent of the pot."""
        if self.session is None or self.is_stopped:
            return False
        return self.percent > target and self.iterations < MAX_ITERATIONS

    def solve(self, target: float, worker: StudioWorker, activity: str = "solving") -> None:
        """Iterate until the exploitability is `target` percent of the pot, or a stop request."""
        session = self.session
        assert session is not None
        worker.stop_requested.clear()
        worker.report_progress("preparing to solve", 0, 0)
        while self.needs_solving(target):
            goal = (session.iteration // EVALUATE_EVERY + 1) * EVALUATE_EVERY
            stopped = session.advance(
                goal,
                tick=lambda done: worker.report_progress(activity, done, 0, **self.live_facts()),
                stop=worker.stop_requested.is_set,
            )
            self._evaluate(session)
            worker.report_progress(activity, self.iterations, 0, **self.live_facts())
            if stopped:
                self.is_stopped = True
        self._views.clear()
        self.runouts_by_history.clear()

    def live_facts(self) -> dict[str, object]:
        """Return the last evaluation and the curve so far, for the page."""
        if not self.records:
            return {}
        return {"percent": self.percent, "values": list(self.values), "curve": self.records}

    def _evaluate(self, session: SolveSession) -> None:
        self.policy = next(iter(session.policies().values()))
        judgement: Judgement = judge(self.arena, self.policy)
        self.values = float(judgement.values[0]), float(judgement.values[1])
        self.exploitability = judgement.exploitability
        self.iterations, self.seconds = session.iteration, session.seconds
        self.records.append((self.iterations, self.percent, *self.values))

    def inspect(self, history: str) -> NodeView:
        """Return the view of a node, from the cache if it was seen before."""
        view = self._views.pop(history, None)
        if view is None:
            assert self.policy is not None
            view = inspect_node(self.policy, history)
        self._views[history] = view
        while len(self._views) > MAX_CACHED_VIEWS:
            self._views.popitem(last=False)
        return view

    def save(self, path: Path) -> None:
        """Write the solution file."""
        assert self.policy is not None
        path.parent.mkdir(parents=True, exist_ok=True)
        Solution(self.policy, self.exploitability, self.values, self.iterations).save(path)


@dataclass
class SpotStudies:
    """The base solution of a worker's spot, and the last variant of it."""

    base: SpotStudy
    variant_key: str = ""
    variant: SpotStudy | None = None

    def find(self, call: Call, worker: StudioWorker) -> SpotStudy:
        """Return the study that a call asks about, solved to its target."""
        target = read_target(call)
        if self.base.needs_solving(target):
            self.base.solve(target, worker)
            store_recent(call, self.base, worker)
        variant = call.get("variant") or {}
        if not variant or self.base.is_stopped:
            return self.base
        key = json.dumps(variant, sort_keys=True)
        if key != self.variant_key:
            self.variant = None  # frees its memory first
            self.variant = _build_variant(self.base, variant)
            self.variant_key = key
        study = self.variant
        assert study is not None
        if study.needs_solving(target):
            study.solve(target, worker, "solving with locks")
        return study


def read_target(call: Call) -> float:
    """Return the target of a call in percent of the pot.

    Raises:
        ConfigError: it is out of range.
    """
    target = float(call.get("target", 0.5))
    if not 0.01 <= target <= 100.0:
        raise ConfigError(f"target is {target:g}, must be from 0.01 to 100 percent of the pot")
    return target


def find_studies(worker: StudioWorker, call: Call) -> SpotStudies:
    """Return the studies of a worker's spot; the first call opens the file or builds the spot."""
    if worker.spot_studies is None:
        if path := call.get("path"):
            worker.report_progress("reading the solution", 0, 0)
            worker.spot_studies = SpotStudies(SpotStudy.from_file(Path(path)))
        else:
            worker.spot_studies = SpotStudies(_load_recent(call) or _new_base(call))
    return worker.spot_studies


def _new_base(call: Call) -> SpotStudy:
    read_target(call)
    return SpotStudy.from_arena(SpotArena(Spot.from_dict(call["spot"])))


def _build_variant(base: SpotStudy, variant: dict[str, Any]) -> SpotStudy:
    """Return an unsolved study of the spot with the locks of a variant."""
    assert base.policy is not None
    if overfold := variant.get("overfold"):
        percent = float(overfold.get("percent", 0.0))
        arena = lock_overfold(base.policy, int(overfold.get("player", 0)), percent / 100.0)
        return SpotStudy.from_arena(arena)
    locks = variant.get("locks") or []
    if not isinstance(locks, list) or not 1 <= len(locks) <= MAX_LOCKS:
        raise ConfigError(f"a variant has 1 to {MAX_LOCKS} locks")
    solved: SpotArena = base.arena
    arena = SpotArena(solved.spot, solved.precision, solved.isomorphism)
    notes: list[str] = []
    for lock in locks:
        shares = {str(name): float(share) for name, share in lock["shares"].items()}
        report = lock_node(arena, str(lock["record"]), shares, str(lock.get("hands", "random")))
        notes += report.notes
    study = SpotStudy.from_arena(arena)
    study.notes += notes
    return study


# --- solutions that are kept so that closing a tab or the studio loses nothing ---


def _load_recent(call: Call) -> SpotStudy | None:
    """Return the stored solution of a spot, if it reaches the target; None otherwise."""
    path = Path(str(call.get("recent", "")))
    if not call.get("recent") or not path.is_file():
        return None
    try:
        study = SpotStudy.from_file(path)
    except CounterplayError:
        return None  # damaged, or of an older version: the spot is solved again
    is_same = study.arena.spot == Spot.from_dict(call["spot"])
    return study if is_same and study.percent <= read_target(call) else None


def store_recent(call: Call, study: SpotStudy, worker: StudioWorker) -> None:
    """Write a solution for later visits, and remove the oldest ones; failures are ignored."""
    if not call.get("recent") or 2 * study.arena.num_sequences > MAX_RECENT_BYTES:
        return
    path = Path(str(call["recent"]))
    worker.report_progress("storing the solution", 0, 0)
    try:
        study.save(path)
        others = sorted(path.parent.glob("*.cps"), key=lambda file: file.stat().st_mtime)
        for file in others[:-MAX_RECENT_SOLUTIONS]:
            file.unlink(missing_ok=True)
    except (OSError, CounterplayError):
        return
