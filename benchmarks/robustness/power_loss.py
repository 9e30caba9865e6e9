"""Loss of power at every moment of a run: is anything lost that was reported as saved?

    python -m benchmarks.power_loss

The calls that change a disk are recorded while a run, a policy and a tree are saved. A file's
content survives as it was when it was last synced, and a name survives if its folder was synced
after it was given. For every moment, disks are made that have lost everything else, that have
kept the names but lost what they hold (in whole, or with zeros in its place), or that have kept
any part of it. On each the run goes on: it must stand where it was last reported to be, and end
like a run that nobody disturbed.
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
from benchmarks.killed_runs import outcome
from counterplay.experiment import run, run_folder, runner
from counterplay.experiment.runner import open_run

SPEC = {"max_steps": 40, "evaluate_every": 7, "checkpoint_every": 10}
CONFIG = {"name": "small", "algorithm": "cfr_plus", "game": {"name": "kuhn_poker"}, "spec": SPEC}
Promises = dict[str, Any]  # what had been reported as saved


class Disk:
    """What would be on the disk under `root`: every change in order, and every sync."""

    def __init__(self, root: Path):
        self.root, self.top = str(root), os.stat(root).st_ino
        self.folders = {self.top}  # inodes
        self.events: list[tuple[Any, ...]] = []
        self.promises: Promises = {}
        self.kept: list[Any] = []  # open handles, so that inode numbers are not used again

    def add(self, kind: str, *what: Any) -> None:
        self.events.append((kind, *what, dict(self.promises)))

    def named(self, path: Any, inode: int | None) -> None:
        """A name was given to an inode, or taken away."""
        path = os.path.abspath(path)
        if path.startswith(self.root):
            folder, name = os.path.split(path)
            self.add("name", os.stat(folder).st_ino, name, inode)

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """Record what happens inside."""
        real = {name: getattr(os, name) for name in CALLS}

        def opens(path: Any, flags: int, mode: int = 0o777, **more: Any) -> int:
            new = flags & os.O_CREAT and not os.path.exists(path)
            handle = real["open"](path, flags, mode, **more)
            if new:
                self.hold(path, real)
                self.named(path, os.fstat(handle).st_ino)
            return handle

        def makes(path: Any, *rest: Any) -> None:
            real["mkdir"](path, *rest)
            self.hold(path, real)
            self.folders.add(os.stat(path).st_ino)
            self.named(path, os.stat(path).st_ino)

        def moves(which: str) -> Callable[..., None]:
            def move(old: Any, new: Any) -> None:
                inode = os.stat(old).st_ino
                real[which](old, new)
                self.named(new, inode)
                if which != "link" and not os.path.exists(old):
                    self.named(old, None)

            return move

        def removes(path: Any, **more: Any) -> None:
            real["unlink"](path, **more)
            self.named(path, None)

        def syncs(handle: int) -> None:
            real["fsync"](handle)
            found = os.fstat(handle)
            if stat.S_ISDIR(found.st_mode):
                self.add("sync folder", found.st_ino)
            else:
                content = os.pread(handle, found.st_size, 0)
                self.add("sync file", found.st_ino, content)

        fakes = {"open": opens, "mkdir": makes, "unlink": removes, "fsync": syncs}
        fakes |= {which: moves(which) for which in ("rename", "replace", "link")}
        with mock.patch.multiple(os, **fakes):
            yield
        for handle in self.kept:
            os.close(handle)

    def hold(self, path: Any, real: dict[str, Any]) -> None:
        self.kept.append(real["open"](path, os.O_RDONLY))


CALLS = ("open", "mkdir", "unlink", "fsync", "rename", "replace", "link")


def after(disk: Disk, moment: int, place: Path, lost: str, rng: random.Random) -> None:
    """Make at `place` what a loss of power after so many events leaves."""
    safe: dict[int, dict[str, int]] = {}  # names in each folder that are on the disk
    waiting: dict[int, list[tuple[str, int | None]]] = {}  # names given and not yet synced
    content: dict[int, bytes] = {}
    for kind, inode, *what, _ in disk.events[:moment]:
        if kind == "name":
            waiting.setdefault(inode, []).append((what[0], what[1]))
        elif kind == "sync file":
            content[inode] = what[0]
        else:
            for name, entry in waiting.pop(inode, []):
                settle(safe.setdefault(inode, {}), name, entry)
    for where, changes in waiting.items():
        for name, entry in changes:
            if lost != "names" and (lost != "any" or rng.random() < 0.5):
                settle(safe.setdefault(where, {}), name, entry)

    def put(inode: int, where: Path) -> None:
        if inode in disk.folders:
            where.mkdir(exist_ok=True)
            for name, entry in safe.get(inode, {}).items():
                put(entry, where / name)
        else:
            rest = bytes(rng.randrange(1, 99)) if lost == "zeros" else b""
            growing = inode not in content or where.name == "metrics.jsonl"
            where.write_bytes(content.get(inode, b"") + (rest if growing else b""))

    put(disk.top, place)


def settle(names: dict[str, int], name: str, inode: int | None) -> None:
    if inode is None:
        names.pop(name, None)
    else:
        names[name] = inode


def scenario(root: Path) -> Disk:
    """A run, stopped and resumed, and a policy and a tree saved twice."""
    disk = Disk(root)
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    real = runner.write_checkpoint

    def noted(place: Path, config: Any, game: str, at: Any, *rest: Any) -> Path:
        path = real(place, config, game, at, *rest)
        disk.promises["step"] = at.step
        return path

    with disk.recorded(), mock.patch.object(runner, "write_checkpoint", noted):
        at: list[int] = []
        run(CONFIG, root / "runs" / "run", tick=at.append, stop=lambda: at[-1] > 12)
        disk.promises["run"] = True
        open_run(root / "runs" / "run").advance()
        for seed in (1, 2):
            cp.random_policy(tree, seed).save(root / "policy")
            disk.promises["policy"] = seed
            tree.save(root / "tree")
            disk.promises["tree"] = seed
    return disk


def check(place: Path, promises: Promises, wanted: tuple[Any, ...]) -> str:
    """What a disk after a loss of power lacks, or nothing."""
    place_of_run, tree = place / "runs" / "run", cp.build_tree(cp.load_game("kuhn_poker"))
    if not (place_of_run / "config.json").exists():
        return "LOST" if promises.get("step") or promises.get("run") else ""
    opened = open_run(place_of_run)
    if opened.step < promises.get("step", 0):
        return "LOST"
    opened.advance()
    if outcome(place_of_run) != wanted:
        return "DIFFERENT"
    if "policy" in promises:
        found = cp.load_policy(place / "policy", tree).probabilities.tobytes()
        later = range(promises["policy"], 3)
        if found not in [cp.random_policy(tree, seed).probabilities.tobytes() for seed in later]:
            return "LOST"
    if "tree" in promises and cp.load_tree(place / "tree").infoset_keys != tree.infoset_keys:
        return "LOST"
    return ""


def attack(repeats: int = 5, every: int = 1, seed: int = 0) -> Counter[str]:
    """What becomes of the disks after every moment, or every so manyth."""
    rng = random.Random(seed)
    found: Counter[str] = Counter()
    no_git = mock.patch.object(run_folder, "_source_commit", return_value=None)
    with tempfile.TemporaryDirectory() as name, no_git:
        root = Path(name).resolve()
        wanted = outcome(run(CONFIG, root / "whole").folder)
        (root / "disk").mkdir()
        disk = scenario(root / "disk")
        found["moments"] = len(disk.events)
        for moment in range(rng.randrange(every), len(disk.events) + 1, every):
            promises = disk.events[moment][-1] if moment < len(disk.events) else disk.promises
            for number, lost in enumerate(["names", "contents", "zeros", *["any"] * repeats]):
                place = root / f"{moment}-{number}"
                after(disk, moment, place, lost, rng)
                found["disks"] += 1
                try:
                    problem = check(place, promises, wanted)
                except cp.CounterplayError as error:
                    problem = f"LOST: {error}"
                found[f"{problem} ({lost}, {moment})" if problem else "nothing lost"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="random disks for each moment")
    parser.add_argument("--every", type=int, default=1, help="take every so manyth moment")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(json.dumps(attack(given.repeats, given.every, given.seed)))


if __name__ == "__main__":
    main()
