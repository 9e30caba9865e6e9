"""Files with wrong contents and damaged bytes: what reading and using them comes to.

    python -m benchmarks.damaged_files --contents 10000 --bytes 100000

Wrong contents are entries changed at random and written with a correct checksum, as an attacker
would: the file must be refused in one line, or be an object that everything can work with. Damaged
bytes must be refused or change nothing. All of it happens in forked processes, so that a crash is
counted too.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import counterplay as cp
from counterplay.experiment import folder, open_run, run
from counterplay.experiment.checkpoint import FORMAT as CHECKPOINT_FORMAT
from counterplay.files import read_arrays, write_arrays
from counterplay.policy import FORMAT as POLICY_FORMAT
from counterplay.tree import FORMAT as TREE_FORMAT

GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "goofspiel(num_cards=3,forgetful=true)")
ALGORITHMS = ("cfr_plus", "xfp", "batch_fsp", "fsp", "external_sampling", "vr_mccfr")
BATCH = 100  # attempts per process
ODD_NUMBERS = [0, 1, -1, 2, 7, 127, -128, 255, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 0.5, -0.5]
ODD_FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1.0 + 1e-4]
ODD_VALUES = [None, True, 0, -1, 3.5, 10**30, float("nan"), "", "x", [], [1], ["x"], {}, {"a": 1}]


@cache
def tree_of(spec: str) -> cp.Tree:
    return cp.build_tree(cp.load_game(spec))


def wrong(value: Any, rng: random.Random) -> Any:
    """The value with something changed."""
    if isinstance(value, np.ndarray):
        return wrong_array(value.copy(), rng)
    if isinstance(value, (tuple, list)) and value and rng.random() < 0.8:
        items = list(value)
        place = rng.randrange(len(items))
        how = rng.randrange(4)
        if how == 0:
            items[place] = items[rng.randrange(len(items))]
        elif how == 1:
            del items[place]
        elif how == 2:
            items.insert(place, items[place])
        else:
            items[place] = wrong(items[place], rng)
        return items
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return value | {key: wrong(value[key], rng)}
    if isinstance(value, (int, float)) and rng.random() < 0.5:
        return value + rng.choice([1, -1, 0.5, 1000, -1000])
    return rng.choice(ODD_VALUES)


def wrong_array(array: Any, rng: random.Random) -> Any:
    how = rng.randrange(10)
    flat = array.reshape(-1)
    if how < 5 and flat.size:  # other numbers
        for _ in range(rng.choice([1, 1, 1, 2, 10])):
            odd = ODD_NUMBERS + (ODD_FLOATS if array.dtype.kind == "f" else [])
            near = flat[rng.randrange(flat.size)].item() + rng.choice([-1, 0, 1])
            chosen = rng.choice([near, flat.size, rng.choice(odd)])
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                flat[rng.randrange(flat.size)] = np.array([chosen]).astype(array.dtype)[0]
        return array
    if how == 5 and flat.size:  # other order
        return flat[[rng.randrange(flat.size) for _ in range(flat.size)]].reshape(array.shape)
    if how == 6:
        return array[:-1] if array.ndim else array
    if how == 7:
        return np.concatenate([array, array[:1]]) if array.ndim else array
    if how == 8:
        return array.astype(rng.choice([np.int8, np.int64, np.float32, np.float64, np.uint16]))
    return array.reshape(rng.choice([(1, *array.shape), (-1,), (*array.shape, 1)]))


def wrong_contents(values: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A file's values with one to three entries changed, missing or in each other's place."""
    values = dict(values)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name, other = rng.choice(list(values)), rng.choice(list(values))
        how = rng.random()
        if how < 0.05:
            del values[name]
        elif how < 0.1:
            values[name], values[other] = values[other], values[name]
        elif how < 0.13:
            values[f"{name}x"] = values[name]
        else:
            values[name] = wrong(values[name], rng)
    return values


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The bytes with one of them changed; now and then a part lost, zeroed or doubled."""
    place = rng.randrange(len(content))
    end = min(len(content), place + rng.randrange(1, 600))
    how = rng.random()
    if how < 0.9:
        return (
            content[:place] + bytes([content[place] ^ rng.randrange(1, 256)]) + content[place + 1 :]
        )
    if how < 0.93:
        return content[:place]
    if how < 0.96:
        return content[:place] + bytes(end - place) + content[end:]
    return content[:place] + content[end:] if how < 0.98 else content[:end] + content[place:]


class TreeFiles:
    """Trees; using one is judging, solving and sampling on it."""

    def __init__(self, place: Path):
        self.path = place / "tree"
        self.originals = []
        for spec in GAMES:
            tree_of(spec).save(self.path)
            values = read_arrays(self.path, TREE_FORMAT)
            self.originals.append((values, self.path.read_bytes()))

    def write(self, number: int, values: dict[str, Any]) -> None:
        write_arrays(self.path, TREE_FORMAT, values)

    def same(self, number: int) -> bool:
        tree = cp.load_tree(self.path)
        values, _ = self.originals[number]
        mine = vars(tree) | {f"form.{name}": array for name, array in tree.form._asdict().items()}
        return all(np.array_equal(mine[name], value) for name, value in values.items())

    def use(self, number: int) -> None:
        tree = cp.load_tree(self.path)
        policy = cp.random_policy(tree, seed=1)
        values = cp.judge(tree, policy).values
        scale = np.abs(tree.utility).max()
        if scale < 1e100:
            assert np.abs(values - node_values(tree, policy)).max() <= 1e-9 * scale, "values differ"
            assert cp.nash_conv(tree, policy) >= 0.0
        if tree.num_infosets:
            cp.infoset_values(tree, policy)
            cp.best_response(tree.refined, cp.uniform_policy(tree.refined), 0)
        for algorithm in (cp.CFRPlus(), cp.XFP(), cp.ExternalSampling(), cp.BatchFSP(n=3, m=2)):
            cp.solve(tree, algorithm, iterations=2)
        cp.solve(tree, cp.VRMCCFR(), iterations=1)


def node_values(tree: cp.Tree, policy: cp.Policy) -> Any:
    """Every player's expected utility, from the nodes alone."""
    odds = np.where(tree.sequence_before < 0, tree.chance, 0.0)
    taken = tree.sequence_before >= 0
    odds[taken] = policy.probabilities[tree.sequence_before[taken]]
    reach = odds.copy()
    for n in range(1, tree.num_nodes):
        reach[n] *= reach[tree.parent[n]]
    return reach[tree.terminals] @ tree.utility


class PolicyFiles:
    """Policies; using one is judging it."""

    def __init__(self, place: Path):
        self.path = place / "policy"
        self.originals = []
        for spec in GAMES:
            cp.random_policy(tree_of(spec), seed=2).save(self.path)
            values = read_arrays(self.path, POLICY_FORMAT)
            self.originals.append((values, self.path.read_bytes()))

    def write(self, number: int, values: dict[str, Any]) -> None:
        write_arrays(self.path, POLICY_FORMAT, values)

    def same(self, number: int) -> bool:
        policy = cp.load_policy(self.path, tree_of(GAMES[number]))
        return np.array_equal(policy.probabilities, self.originals[number][0]["probabilities"])

    def use(self, number: int) -> None:
        tree = tree_of(GAMES[number])
        judged = cp.judge(tree, cp.load_policy(self.path, tree))
        assert np.isfinite(judged.values).all() and judged.nash_conv >= 0.0, "no judgement"


class CheckpointFiles:
    """Checkpoints in the middle of a run; using one is going on to its end."""

    def __init__(self, place: Path):
        self.folders, self.originals = [], []
        for algorithm in ALGORITHMS:
            spec = {"max_steps": 20, "evaluate_every": 4, "checkpoint_every": 8}
            spec |= {"n": 3, "m": 2, "capacity": 20} if algorithm.endswith("fsp") else {}
            spec |= {"replays": 2} if algorithm == "fsp" else {}
            game = {"name": "kuhn_poker"}
            config = {"name": "x", "algorithm": algorithm, "game": game, "spec": spec}
            at: list[int] = []
            stopped = run(config, place / algorithm, tick=at.append, stop=lambda: at[-1] > 8)  # noqa: B023
            made = stopped.folder
            (made / "checkpoint.previous.npz").unlink()
            path = made / "checkpoint.npz"
            self.folders.append(made)
            self.originals.append((read_arrays(path, CHECKPOINT_FORMAT), path.read_bytes()))
        self.records = [(made / "metrics.jsonl").read_bytes() for made in self.folders]

    def write(self, number: int, values: dict[str, Any]) -> None:
        self.path = self.folders[number] / "checkpoint.npz"
        write_arrays(self.path, CHECKPOINT_FORMAT, values, compress=False)

    def same(self, number: int) -> bool:
        opened = open_run(self.folders[number], build=kuhn)
        values, _ = self.originals[number]
        found = read_arrays(self.folders[number] / "checkpoint.npz", CHECKPOINT_FORMAT)
        return opened.at.step > 8 and all(
            np.array_equal(found[name], value)
            if isinstance(value, np.ndarray)
            else found[name] == value
            for name, value in values.items()
        )

    def use(self, number: int) -> None:
        place = self.folders[number]
        (place / "checkpoint.previous.npz").unlink(missing_ok=True)
        (place / "metrics.jsonl").write_bytes(self.records[number])
        result = open_run(place, build=kuhn).advance()
        assert result.step == 20, "not at its end"


def kuhn(_: Any) -> cp.Tree:
    return tree_of("kuhn_poker")


KINDS = {"tree": TreeFiles, "policy": PolicyFiles, "checkpoint": CheckpointFiles}


def attempt(files: Any, how: str, seed: int) -> str:
    """What one wrong file comes to: refused, used, the same, or something that must not be."""
    rng = random.Random(seed)
    number = rng.randrange(len(files.originals))
    values, content = files.originals[number]
    try:
        if how == "contents":
            try:
                files.write(number, wrong_contents(values, rng))
            except (TypeError, ValueError, OverflowError):  # nothing that a file could hold
                return "not written"
            files.use(number)
            return "used"
        path = getattr(files, "path", None)
        if isinstance(files, CheckpointFiles):
            path = files.folders[number] / "checkpoint.npz"
        path.write_bytes(damaged(content, rng))
        return "the same" if files.same(number) else "SILENTLY WRONG"
    except (cp.RunError, cp.ConfigError) as error:
        return "refused" if "\n" not in str(error) else "refused in several lines"
    except BaseException:
        return f"TRACEBACK {seed}: {traceback.format_exc(limit=-3)}"


def attack(kind: str, how: str, count: int, seed: int = 0, report: bool = False) -> Counter[str]:
    """How `count` wrong files of a kind end."""
    quick = "/dev/shm" if os.path.isdir("/dev/shm") else None
    silent = warnings.catch_warnings(action="ignore"), np.errstate(all="ignore")
    no_git = mock.patch.object(folder, "_commit", return_value=None)
    with silent[0], silent[1], no_git, tempfile.TemporaryDirectory(dir=quick) as name:
        files = KINDS[kind](Path(name))
        for number, (values, _) in enumerate(files.originals):  # compile before forking
            files.write(number, values)
            assert files.same(number)
            files.use(number)
        found: Counter[str] = Counter()
        for start in range(seed, seed + count, BATCH):
            seeds = range(start, min(start + BATCH, seed + count))
            found.update(in_a_child(files, how, seeds))
            if report and start % 1000 == 0:
                print(f"{kind} {how} {start + BATCH - seed}: {dict(found)}", file=sys.stderr)
        return found


def in_a_child(files: Any, how: str, seeds: range) -> Iterator[str]:
    """The ends of some attempts in processes of their own; a crash ends one and starts the next."""
    first = seeds.start
    while first < seeds.stop:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                for seed in range(first, seeds.stop):
                    pickle.dump(attempt(files, how, seed), pipe)
                    pipe.flush()
            os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            while first < seeds.stop:
                try:
                    yield pickle.load(pipe)
                except EOFError:
                    yield f"CRASH {first}"
                    first += 1
                    break
                first += 1
        os.waitpid(child, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--contents", type=int, default=10_000, help="wrong contents of each kind")
    parser.add_argument("--bytes", type=int, default=100_000, help="damaged bytes of each kind")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    for kind in given.kinds:
        for how, count in (("contents", given.contents), ("bytes", given.bytes)):
            found = attack(kind, how, count, given.seed, report=True)
            print(json.dumps({"kind": kind, "how": how, "count": count, **found}), flush=True)


if __name__ == "__main__":
    main()
