"""Simulate a loss of power after every disk operation of a run: is anything lost that was saved?

    python -m benchmarks.robustness.power_loss

The calls that change a disk are recorded while a run, a policy and a tree are saved. A file keeps
the content of its last sync, and a name survives if its folder was synced afterwards. For each
moment, disks are built that have lost everything else, that have the names but not their contents
(empty, or zeros), or that have a random part of it. On each disk the run continues: it must be at
least where it was last reported to be, and end like an undisturbed run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import counterplay as cp
from benchmarks.robustness.killed_runs import run_content
from benchmarks.timing import first_paragraph
from counterplay.experiment import run, run_folder, runner
from counterplay.experiment.runner import open_run

SPEC = {"max_steps": 40, "evaluate_every": 7, "checkpoint_every": 10}
CONFIG = {"name": "small", "algorithm": "cfr_plus", "game": {"name": "kuhn_poker"}, "spec": SPEC}
Promises = dict[str, Any]  # what has been reported as saved
RECORDED_CALLS = ("open", "mkdir", "unlink", "fsync", "rename", "replace", "link")


class Disk:
    """Record of all changes and syncs below `root`, in order."""

    def __init__(self, root: Path):
        self.root, self.top = str(root), os.stat(root).st_ino
        self.folders = {self.top}  # inodes
        self.events: list[tuple[Any, ...]] = []
        self.promises: Promises = {}
        self.open_handles: list[int] = []  # so that inode numbers are not reused

    def add_event(self, kind: str, *details: Any) -> None:
        """Record an event with the promises at that time."""
        self.events.append((kind, *details, dict(self.promises)))

    def record_name(self, path: Any, inode: int | None) -> None:
        """Record that a path was linked to an inode, or removed (None)."""
        path = os.path.abspath(path)
        if path.startswith(self.root):
            folder, name = os.path.split(path)
            self.add_event("name", os.stat(folder).st_ino, name, inode)

    @contextmanager
    def record_calls(self) -> Iterator[None]:
        """Record the calls inside the `with` block."""
        real = {name: getattr(os, name) for name in RECORDED_CALLS}

        def open_file(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
            is_new = flags & os.O_CREAT and not os.path.exists(path)
            handle = real["open"](path, flags, mode, **more)
            if is_new:
                self.keep_inode(path, real)
                self.record_name(path, os.fstat(handle).st_ino)
            return handle

        def make_folder(path: Any, *rest: Any) -> None:
            real["mkdir"](path, *rest)
            self.keep_inode(path, real)
            self.folders.add(os.stat(path).st_ino)
            self.record_name(path, os.stat(path).st_ino)

        def mover(which: str) -> Callable[..., None]:
            def move(old: Any, new: Any) -> None:
                inode = os.stat(old).st_ino
                real[which](old, new)
                self.record_name(new, inode)
                if which != "link" and not os.path.exists(old):
                    self.record_name(old, None)

            return move

        def remove_file(path: Any, **more: Any) -> None:
            real["unlink"](path, **more)
            self.record_name(path, None)

        def sync(handle: int) -> None:
            real["fsync"](handle)
            status = os.fstat(handle)
            if stat.S_ISDIR(status.st_mode):
                self.add_event("sync folder", status.st_ino)
            else:
                content = os.pread(handle, status.st_size, 0)
                self.add_event("sync file", status.st_ino, content)

        fakes = {"open": open_file, "mkdir": make_folder, "unlink": remove_file, "fsync": sync}
        fakes |= {which: mover(which) for which in ("rename", "replace", "link")}
        with mock.patch.multiple(os, **fakes):
            yield
        for handle in self.open_handles:
            os.close(handle)

    def keep_inode(self, path: Any, real: dict[str, Any]) -> None:
        """Open a path, so that its inode number is not reused."""
        self.open_handles.append(real["open"](path, os.O_RDONLY))


def build_disk(disk: Disk, moment: int, place: Path, lost: str, rng: random.Random) -> None:
    """Build at `place` the files that remain after a loss of power after `moment` events."""
    safe: dict[int, dict[str, int]] = {}  # synced names of each folder
    waiting: dict[int, list[tuple[str, int | None]]] = {}  # names not yet synced
    content: dict[int, bytes] = {}
    for kind, inode, *details, _ in disk.events[:moment]:
        if kind == "name":
            waiting.setdefault(inode, []).append((details[0], details[1]))
        elif kind == "sync file":
            content[inode] = details[0]
        else:
            for name, entry in waiting.pop(inode, []):
                update_name(safe.setdefault(inode, {}), name, entry)
    for folder, changes in waiting.items():
        for name, entry in changes:
            if lost != "names" and (lost != "any" or rng.random() < 0.5):
                update_name(safe.setdefault(folder, {}), name, entry)

    def write_inode(inode: int, path: Path) -> None:
        if inode in disk.folders:
            path.mkdir(exist_ok=True)
            for name, entry in safe.get(inode, {}).items():
                write_inode(entry, path / name)
        else:
            rest = bytes(rng.randrange(1, 99)) if lost == "zeros" else b""
            is_growing = inode not in content or path.name == "metrics.jsonl"
            path.write_bytes(content.get(inode, b"") + (rest if is_growing else b""))

    write_inode(disk.top, place)


def update_name(names: dict[str, int], name: str, inode: int | None) -> None:
    """Set or remove a name of a folder."""
    if inode is None:
        names.pop(name, None)
    else:
        names[name] = inode


def record_scenario(root: Path) -> Disk:
    """Record a run that is stopped and resumed, and a policy and a tree that are saved twice."""
    disk = Disk(root)
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    write_checkpoint = runner.write_checkpoint

    def write_and_promise(place: Path, config: Any, game: str, at: Any, *rest: Any) -> Path:
        path = write_checkpoint(place, config, game, at, *rest)
        disk.promises["step"] = at.step
        return path

    with disk.record_calls(), mock.patch.object(runner, "write_checkpoint", write_and_promise):
        steps: list[int] = []
        run(CONFIG, root / "runs" / "run", tick=steps.append, stop=lambda: steps[-1] > 12)
        disk.promises["run"] = True
        open_run(root / "runs" / "run").advance()
        for seed in (1, 2):
            cp.random_policy(tree, seed).save(root / "policy")
            disk.promises["policy"] = seed
            tree.save(root / "tree")
            disk.promises["tree"] = seed
    return disk


def find_problem(place: Path, promises: Promises, expected: tuple[Any, ...]) -> str:
    """Return LOST or DIFFERENT if a disk lacks something, otherwise an empty string."""
    run_place, tree = place / "runs" / "run", cp.build_tree(cp.load_game("kuhn_poker"))
    if not (run_place / "config.json").exists():
        return "LOST" if promises.get("step") or promises.get("run") else ""
    opened = open_run(run_place)
    if opened.step < promises.get("step", 0):
        return "LOST"
    opened.advance()
    if run_content(run_place) != expected:
        return "DIFFERENT"
    if "policy" in promises:
        content = cp.load_policy(place / "policy", tree).probabilities.tobytes()
        policies = [cp.random_policy(tree, seed) for seed in range(promises["policy"], 3)]
        if content not in [policy.probabilities.tobytes() for policy in policies]:
            return "LOST"
    if "tree" in promises and cp.load_tree(place / "tree").infoset_keys != tree.infoset_keys:
        return "LOST"
    return ""


def attack(repeats: int = 5, every: int = 1, seed: int = 0) -> Counter[str]:
    """Count the outcomes of disks after each moment, or after every few."""
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    no_git = mock.patch.object(run_folder, "_source_commit", return_value=None)
    with tempfile.TemporaryDirectory() as name, no_git:
        root = Path(name).resolve()
        expected = run_content(run(CONFIG, root / "whole").folder)
        (root / "disk").mkdir()
        disk = record_scenario(root / "disk")
        counts["moments"] = len(disk.events)
        for moment in range(rng.randrange(every), len(disk.events) + 1, every):
            promises = disk.events[moment][-1] if moment < len(disk.events) else disk.promises
            for number, lost in enumerate(["names", "contents", "zeros", *["any"] * repeats]):
                place = root / f"{moment}-{number}"
                build_disk(disk, moment, place, lost, rng)
                counts["disks"] += 1
                try:
                    problem = find_problem(place, promises, expected)
                except cp.CounterplayError as error:
                    problem = f"LOST: {error}"
                counts[f"{problem} ({lost}, {moment})" if problem else "nothing lost"] += 1
    return counts


def main() -> None:
    """Print the counts as JSON."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--repeats", type=int, default=5, help="random disks for each moment")
    parser.add_argument("--every", type=int, default=1, help="moments from one test to the next")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    print(json.dumps(attack(args.repeats, args.every, args.seed)))


if __name__ == "__main__":
    main()
