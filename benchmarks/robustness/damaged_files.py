"""Load altered files and run folders of every kind, and count what goes wrong.

    python -m benchmarks.robustness.damaged_files --count 10000
    python -m benchmarks.robustness.damaged_files --kinds tree policy --count 2000 --seed 7

The attempts are shared out among the kinds. Each one alters one file of a valid sample:

- `bytes`: a bit is flipped, a part is lost, zeroed, repeated, or the end is cut off;
- `members`: members of an archive change places, are removed, renamed or repeated, or 30,000 are
  added; the checksum is left as it was;
- `contents`: values of an archive are changed and written with a correct checksum;
- `fields`: JSON values become other types, other numbers, deep nests, huge numbers, or the name of
  a Python file with code in it.

Then the file is loaded and used as the library and the commands do. An attempt ends in one of

    refused           an error of Counterplay, in one line
    same              loaded; every number is that of the original
    different         loaded; a number differs after `contents` or `fields`, which make another
                      valid file
    text_change       a number differs after `bytes` in plain text without a checksum, where a
                      changed digit makes another valid file
    silent_change     a number differs after `bytes` or `members` in a format with a checksum
    code_executed     code of the planted Python file was executed
    traceback         another exception
    crash             the process died
    out_of_memory     more than MAX_BYTES were needed
    timeout           more than MAX_SECONDS of CPU time were needed
    several_lines     an error of Counterplay whose message has more than one line
    not_written       the altered values cannot be written to a file

The last line sums up. All attempts run in forked processes under limits of memory and time.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import os
import pickle
import random
import re
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import counterplay as cp
from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.locks import apply_locks
from counterplay.arenas.holdem.solution import SOLUTION_FORMAT, Solution, load_solution
from counterplay.arenas.holdem.spot import STREETS, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.arenas.tree.arena import TREE_FORMAT
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.policy_io import POLICY_FORMAT
from counterplay.distributed.ranking import load_study_ranking, setting_importance
from counterplay.distributed.study import load_study
from counterplay.experiment import run, run_folder
from counterplay.experiment.checkpoint import CHECKPOINT_FORMAT
from counterplay.experiment.compare import compare
from counterplay.experiment.config import load_config
from counterplay.experiment.metrics import load_metrics
from counterplay.experiment.population import POPULATION_FORMAT, load_population
from counterplay.experiment.run_status import read_status
from counterplay.experiment.runner import open_run
from counterplay.experiment.saved_policies import load_policies
from counterplay.registry import get_spec
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.run_index import RunIndex
from counterplay.studio.server.run_launcher import RunLauncher

GAMES = ("kuhn_poker", "kuhn_poker(players=3)", "goofspiel(num_cards=3,forgetful=true)")
ALGORITHMS = ("cfr_plus", "xfp", "batch_fsp", "fsp", "external_sampling", "vr_mccfr")
ATTEMPTS_PER_PROCESS = 50
MAX_SECONDS = 10.0  # of CPU time per attempt
MAX_WALL_SECONDS = 300.0  # per attempt, on a busy machine
MAX_BYTES = 2 << 30  # per process, beyond what it has after the fork
MANY_MEMBERS = 30_000
PLANTED_FILE, MARKER_FILE = "planted_{}.py", "code_was_executed"
PLANTED_CODE = """
import pathlib
pathlib.Path({marker!r}).touch()
class Planted:
    def initial_state(self): return 0
"""
FAILURES = (
    *("silent_change", "code_executed", "traceback", "crash", "out_of_memory", "timeout"),
    "several_lines",
)
OUTCOMES = ("refused", "same", "different", "text_change", "not_written", *FAILURES)
ODD_NUMBERS = [0, 1, -1, 2, 7, 127, -128, 255, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, 0.5, -0.5]
ODD_FLOATS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1.0 + 1e-4]
ODD_VALUES = [None, True, 0, -1, 3.5, 10**30, float("nan"), "", "x", [], [1], ["x"], {}, {"a": 1}]
ODD_TEXTS = [  # JSON values that `json.dumps` does not write
    *("1e999", "-1e999", "9" * 5_000, "1e-400", '"\\ud800"', '"\\u0000"', "nul", "[1,]", "-0"),
    "[" * 100_000 + "]" * 100_000,
    '{"a":' * 20_000 + "1" + "}" * 20_000,
    '"' + "x" * 10**6 + '"',
]


@dataclass(frozen=True)
class Sample:
    """A valid file, or a folder of them."""

    files: dict[str, bytes]  # by path
    targets: tuple[str, ...]  # the paths that may be altered
    context: Any = None  # what the kind needs to load it


@dataclass(frozen=True)
class Kind:
    """A kind of file: how to make samples, and how to load and use one."""

    name: str
    make: Callable[[Path], list[Sample]]
    load: Callable[[Path, Any], bytes]  # loads, uses and returns a digest of every number
    format_name: str = ""  # of an archive
    checksummed: bool = False  # whether altered bytes must never yield other numbers
    compress: bool = True


@dataclass
class Subject:
    """A kind with its samples, ready to be attacked."""

    kind: Kind
    samples: list[Sample]
    place: Path
    digests: list[bytes] = field(default_factory=list)
    crowded: list[bytes] = field(default_factory=list)  # with MANY_MEMBERS, one for each sample


# Digests


def digest(*values: Any) -> bytes:
    """Return a SHA-256 of arrays, numbers and texts at any depth."""
    hasher = hashlib.sha256()
    for value in values:
        _add_value(hasher, value)
    return hasher.digest()


def _add_value(hasher: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        hasher.update(f"{value.dtype} {value.shape} ".encode())
        hasher.update(np.ascontiguousarray(value).tobytes())
    elif isinstance(value, dict):
        for key in value:
            _add_value(hasher, key)
            _add_value(hasher, value[key])
    elif isinstance(value, (list, tuple)):
        hasher.update(f"{len(value)} ".encode())
        for item in value:
            _add_value(hasher, item)
    else:
        hasher.update(f"{value!r} ".encode("utf-8", "backslashreplace"))


@cache
def build_sample_tree(spec: str) -> cp.TreeArena:
    """Return the tree of a sample game, built once."""
    return cp.build_tree(cp.load_game(spec))


def build_tree_once(game: Any) -> cp.TreeArena:
    """Build a tree; those of the samples are built once."""
    spec = get_spec(game)
    return build_sample_tree(spec) if spec in GAMES else cp.build_tree(game)


# Kinds


def make_trees(place: Path) -> list[Sample]:
    return [make_file_sample(place, "tree", build_sample_tree(spec).save) for spec in GAMES]


def make_file_sample(
    place: Path, name: str, save: Callable[[Path], Any], context: Any = None
) -> Sample:
    save(place / name)
    return Sample({name: (place / name).read_bytes()}, (name,), context)


def load_tree(place: Path, _: Any) -> bytes:
    """Load a tree, then evaluate, solve and sample on it."""
    tree = cp.load_tree(place / "tree")
    found = vars(tree) | {f"form.{name}": array for name, array in tree.form._asdict().items()}
    content = {
        name: found[name]
        for name in sorted(found)
        if isinstance(found[name], (np.ndarray, str, tuple, int)) and not name.startswith("_")
    }
    policy = cp.random_policy(tree, seed=1)
    values = cp.judge(tree, policy).values
    scale = np.abs(tree.utility).max()
    if scale < 1e100:
        assert np.abs(values - node_values(tree, policy)).max() <= 1e-9 * scale, "values differ"
        assert cp.nash_conv(tree, policy) >= 0.0
    if tree.num_infosets:
        cp.infoset_values(tree, policy)
        cp.best_response(tree.perfect_recall_tree, cp.uniform_policy(tree.perfect_recall_tree), 0)
    for algorithm in (
        cp.algorithms.CFRPlus(),
        cp.algorithms.XFP(),
        cp.algorithms.ExternalSampling(),
        cp.algorithms.BatchFSP(num_self_play_episodes=3, num_response_episodes=2),
    ):
        cp.solve(tree, algorithm, iterations=2)
    cp.solve(tree, cp.algorithms.VRMCCFR(), iterations=1)
    return digest(content)


def node_values(tree: cp.TreeArena, policy: cp.Policy) -> Any:
    """Return the expected utility of each player, computed from the nodes alone."""
    odds = np.where(tree.incoming_sequence < 0, tree.chance, 0.0)
    taken = tree.incoming_sequence >= 0
    odds[taken] = policy.probabilities[tree.incoming_sequence[taken]]
    reach = odds.copy()
    for n in range(1, tree.num_nodes):
        reach[n] *= reach[tree.parent[n]]
    return reach[tree.terminals] @ tree.utility


def make_policies(place: Path) -> list[Sample]:
    samples = [
        make_file_sample(place, "a.policy", cp.random_policy(build_sample_tree(spec), seed=2).save)
        for spec in GAMES
    ]
    arena = cp.RulesArena(cp.load_game("kuhn_poker"))
    sampled = cp.solve(arena, cp.algorithms.ExternalSampling(), iterations=200).policy
    return [*samples, make_file_sample(place, "a.policy", sampled.save)]


def make_json_policies(place: Path) -> list[Sample]:
    return [
        make_file_sample(place, "a.json", cp.random_policy(build_sample_tree(spec), seed=2).to_json)
        for spec in GAMES
    ]


def make_csv_policies(place: Path) -> list[Sample]:
    policies = [(spec, cp.random_policy(build_sample_tree(spec), seed=2)) for spec in GAMES]
    return [make_file_sample(place, "a.csv", policy.to_csv, spec) for spec, policy in policies]


def load_any_policy(place: Path, game: str | None) -> bytes:
    """Load a policy as the commands do, and evaluate it."""
    (path,) = place.glob("a.*")
    (policy,) = load_policies(path, game, build=build_tree_once).values()
    if isinstance(policy, cp.Policy) and isinstance(policy.arena, cp.TreeArena):
        judged = cp.judge(policy.arena, policy)
        assert np.isfinite(judged.values).all() and judged.nash_conv >= 0.0, "not evaluated"
        return digest(policy.arena.spec, policy.probabilities)
    return digest(sorted(policy.items(), key=repr))


def small_config(algorithm: str, steps: int = 20) -> dict[str, Any]:
    spec: dict[str, Any] = {"max_steps": steps, "evaluate_every": 4, "checkpoint_every": 8}
    spec |= (
        {"num_self_play_episodes": 3, "num_response_episodes": 2, "replay_buffer_size": 20}
        if algorithm.endswith("fsp")
        else {}
    )
    spec |= {"num_replays": 2} if algorithm == "fsp" else {}
    game = {"name": "kuhn_poker"}
    return {"name": "x", "algorithm": algorithm, "game": game, "spec": spec}


def make_configs(place: Path) -> list[Sample]:
    contents = [load_config(small_config(name)).to_json() for name in ALGORITHMS]
    files = [{"config.json": json.dumps(content, indent=2).encode()} for content in contents]
    return [Sample(names, ("config.json",)) for names in files]


def load_config_file(place: Path, _: Any) -> bytes:
    return digest(json.dumps(load_config(place / "config.json").to_json()))


def make_studies(place: Path) -> list[Sample]:
    study = {
        "name": "s",
        "base": small_config("cfr_plus", 8),
        "vary": {"delay": {"choices": [0, 3]}},
        "seeds": 2,
        "rungs": [4, 8],
        "judge": 0,
    }
    content = load_study(study)
    proposals = content.combinations()
    (place / "study.json").write_text(json.dumps(content.to_json(), indent=2))
    (place / "proposals.json").write_text(json.dumps(proposals))
    for number, settings in enumerate(proposals):
        for seed in range(2):
            config = content.run_config(settings, seed)
            run(config, place / "search" / f"{number:05}" / f"seed-{seed}")
    files = read_folder(place)
    names = ("study.json", "proposals.json", *(n for n in files if n.endswith("metrics.jsonl")))
    return [Sample(files, (name,)) for name in names]


def load_study_folder(place: Path, _: Any) -> bytes:
    table = load_study_ranking(place)
    shares = setting_importance(table)
    answer = table.to_json() | {"folder": "", "importance": shares}
    return digest(json.dumps(table.study.to_json()), json.dumps(answer))


def read_folder(place: Path) -> dict[str, bytes]:
    paths = [path for path in sorted(place.rglob("*")) if path.is_file()]
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in paths}


def make_populations(place: Path) -> list[Sample]:
    samples = []
    for algorithm in ("psro", "xdo"):
        config = {"algorithm": algorithm, "game": "kuhn_poker", "spec": {"max_steps": 3}}
        made = run(config, place / algorithm).folder
        name = "population.npz"
        samples.append(Sample({name: (made / name).read_bytes()}, (name,)))
    return samples


def load_population_file(place: Path, _: Any) -> bytes:
    table = load_population(place)
    mixtures = [table.mixtures(player) for player in range(len(table.payoffs))]
    return digest(
        table.payoffs,
        table.pool_size_history,
        mixtures,
        table.two_player_payoffs(),
        table.stop_reason,
    )


RIVER = {
    "board": "Td9d6hQc2s",
    "ranges": ["66+,A8s+,AJo+,KQo", "QQ-22,AQs-A2s,ATo+"],
    "pot": 200,
    "stacks": [300, 300],
    "sizes": {"river": {"bet": "50% a", "raise": "60%"}},
}


LARGE_SPOT = RIVER | {  # its tree needs terabytes
    "board": "Td9d6h",
    "ranges": ["random", "random"],
    "stacks": [10**8, 10**8],
    "sizes": {
        street: {"bet": "10%,20%,33%,50%,75%,a", "raise": "50%,75%,100%,a"} for street in STREETS
    },
}


def make_solutions(place: Path) -> list[Sample]:
    arena = SpotArena(Spot.from_dict(RIVER))
    result = cp.solve(arena, cp.algorithms.DCFR(), iterations=3)
    solution = Solution(result.policy, 1.0, (100.0, 100.0), 3)
    return [make_file_sample(place, "a.cps", solution.save)]


def load_solution_file(place: Path, _: Any) -> bytes:
    solution = load_solution(place / "a.cps")
    rows = inspect_node(solution.policy, "").hand_rows()
    weights = solution.policy.weights
    facts = (solution.exploitability, solution.values, solution.iterations, solution.spot.to_dict())
    return digest(np.asarray(weights), facts, len(rows))


def make_spots(place: Path) -> list[Sample]:
    sizes = {"turn": [{"bet": "50% a", "raise": "60% a"}] * 2, "river": {"bet": "50%", "donk": "a"}}
    turn = RIVER | {"board": "Td9d6hQc", "rake": 0.05, "rake_cap": 10.0, "sizes": sizes}
    return [Sample({"a.json": json.dumps(spot).encode()}, ("a.json",)) for spot in (RIVER, turn)]


def load_spot(place: Path, _: Any) -> bytes:
    return digest(Spot.load(place / "a.json").to_dict())


def make_locks(place: Path) -> list[Sample]:
    locks = [
        {"record": "", "hands": "AA,KQs", "shares": {"check": 0.5, "all-in": 0.5}},
        {"record": "check", "shares": {"check": 1.0}},
    ]
    arena = SpotArena(Spot.from_dict(RIVER))
    first = inspect_node(cp.solve(arena, cp.algorithms.DCFR(), iterations=1).policy, "").actions
    locks[0]["shares"] = {first[0]: 0.5, first[-1]: 0.5}
    return [Sample({"a.json": json.dumps(locks).encode()}, ("a.json",))]


def load_locks(place: Path, _: Any) -> bytes:
    arena = SpotArena(Spot.from_dict(RIVER))
    apply_locks(arena, [str(place / "a.json")])
    return digest(sorted(arena.locks), [arena.locks[key] for key in sorted(arena.locks)])


def make_runs(place: Path, targets: tuple[str, ...]) -> list[Sample]:
    """Runs that were stopped in the middle."""
    samples = []
    for algorithm in ALGORITHMS:
        steps: list[int] = []
        stopped = run(
            small_config(algorithm),
            place / algorithm / "r",
            tick=steps.append,
            stop=lambda steps=steps: steps[-1] > 8,
        )
        (stopped.folder / "checkpoint.previous.npz").unlink()
        files = {f"x/r/{name}": content for name, content in read_folder(stopped.folder).items()}
        samples.append(Sample(files, tuple(f"x/r/{name}" for name in targets)))
    return samples


def load_checkpoint_file(place: Path, _: Any) -> bytes:
    """Resume the run and finish it."""
    opened = open_run(place / "x" / "r", build=build_tree_once)
    start = opened.progress.step
    result = opened.advance()
    assert result.step == 20, "not finished"
    records = [{k: v for k, v in r.items() if k != "seconds"} for r in load_metrics(result.folder)]
    return digest(start, records, [p.probabilities for p in result.policies.values()])


def load_records(place: Path, _: Any) -> bytes:
    """Read the records as plots and tables do."""
    records = load_metrics(place / "x" / "r")
    compare([place])
    watch = RunIndex(place)
    watch.poll()
    series = [watch.load_series(seen).num_rows for seen in watch.runs.values()]
    json.dumps([seen.summary() for seen in watch.runs.values()])
    return digest(records, len(series))


def load_run_folder(place: Path, _: Any) -> bytes:
    """Read a run as the commands and the studio do."""
    made = place / "x" / "r"
    state = read_status(made)
    watch = RunIndex(place)
    watch.poll()
    json.dumps([seen.summary() for seen in watch.runs.values()])
    compare([place])
    policies = load_policies(made, build=build_tree_once)
    return digest(state.state, [policy.probabilities for policy in policies.values()])


def make_queues(place: Path) -> list[Sample]:
    ticket, config = "{:020d}-abcdef", json.dumps(small_config("cfr_plus"), indent=2).encode()
    process = {"pid": 2**22 - 1, "host": "elsewhere", "boot": "x", "started": 5}
    files = {
        f".studio/queue/{ticket.format(1)}.json": config,
        f".studio/starting/{ticket.format(2)}.json": config,
        f".studio/starting/{ticket.format(2)}.process": json.dumps(process).encode(),
        f".studio/logs/{ticket.format(2)}.log": b"running nowhere\n",
        f".studio/failed/{ticket.format(3)}.json": config,
        f".studio/logs/{ticket.format(3)}.log": b"error: it failed\n",
        ".trash/0123456789abcdef/from.json": json.dumps({"id": "x/r"}).encode(),
        ".trash/0123456789abcdef/run/config.json": config,
    }
    return [Sample(files, (name,)) for name in files if not name.endswith("run/config.json")]


def load_queue(place: Path, _: Any) -> bytes:
    """Poll the launcher of the studio; nothing is really started."""
    launcher = RunLauncher(place, slots=2)
    fake = SimpleNamespace(pid=os.getpid(), poll=lambda: None)
    with mock.patch.object(RunLauncher, "_spawn_process", return_value=fake):
        json.dumps(launcher.list_pending())
        launcher.poll(set())
        entries = json.dumps(launcher.list_pending())
    restored = launcher.restore("0123456789abcdef", {})
    assert (place / restored / "config.json").resolve().is_relative_to(place.resolve())
    for path in sorted((place / ".studio" / "starting").glob("*.json")):
        load_config(path)
    return digest(entries, restored)


def make_games(place: Path) -> list[Sample]:
    game = cp.load_game("kuhn_poker")
    return [
        make_file_sample(place, f"a.{suffix}", lambda path: cp.save_game(game, path), f"a.{suffix}")
        for suffix in ("json", "efg")
    ]


def load_game_file(place: Path, name: str) -> bytes:
    tree = cp.build_tree(cp.load_game(str(place / name)))
    return digest(tree.parent, tree.chance, tree.utility, tree.infoset_player)


KINDS = {
    kind.name: kind
    for kind in (
        Kind("tree", make_trees, load_tree, TREE_FORMAT, checksummed=True),
        Kind("policy", make_policies, load_any_policy, POLICY_FORMAT, checksummed=True),
        Kind("json_policy", make_json_policies, load_any_policy),
        Kind("csv_policy", make_csv_policies, load_any_policy),
        Kind("config", make_configs, load_config_file),
        Kind("study", make_studies, load_study_folder),
        Kind("population", make_populations, load_population_file, POPULATION_FORMAT, True),
        Kind("solution", make_solutions, load_solution_file, SOLUTION_FORMAT, checksummed=True),
        Kind("spot", make_spots, load_spot),
        Kind("locks", make_locks, load_locks),
        Kind(
            "metrics",
            lambda place: make_runs(place, ("metrics.jsonl",)),
            load_records,
            checksummed=True,
        ),
        Kind(
            "checkpoint",
            lambda place: make_runs(place, ("checkpoint.npz",)),
            load_checkpoint_file,
            CHECKPOINT_FORMAT,
            checksummed=True,
            compress=False,
        ),
        Kind(
            "run_folder",
            lambda place: make_runs(
                place, ("config.json", "env.json", "process.json", "heartbeat.json")
            ),
            load_run_folder,
        ),
        Kind("queue", make_queues, load_queue),
        Kind("game", make_games, load_game_file),
    )
}


# Alterations


def alter_bytes(content: bytes, rng: random.Random) -> bytes:
    """Flip a bit or change a byte; sometimes lose, zero or repeat a part."""
    start = rng.randrange(max(len(content), 1))
    end = min(len(content), start + rng.randrange(1, 600))
    how = rng.random()
    if how < 0.8 and content:
        mask = 1 << rng.randrange(8) if how < 0.4 else rng.randrange(1, 256)
        return content[:start] + bytes([content[start] ^ mask]) + content[start + 1 :]
    if how < 0.88:
        return content[:start]
    if how < 0.92:
        return content[:start] + bytes(end - start) + content[end:]
    return content[:start] + content[end:] if how < 0.96 else content[:end] + content[start:]


def alter_members(content: bytes, rng: random.Random) -> bytes:
    """Swap, remove, rename, repeat or replace members of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    index, other = rng.randrange(len(members)), rng.randrange(len(members))
    name, data = members[index]
    how = rng.randrange(7)
    if how < 2:
        members[index], members[other] = (name, members[other][1]), (members[other][0], data)
    elif how == 2:
        del members[index]
    elif how == 3:
        members[index] = (rng.choice(["x.npy", f"{name}x", "../x.npy", "/x.npy", ".npy"]), data)
    elif how == 4:
        members.append(members[index])
    elif how == 5:
        members[index] = (name, alter_bytes(data, rng))
    else:
        members = [(n, alter_fields(d, rng) if n == "header.npy" else d) for n, d in members]
    written = io.BytesIO()
    method = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
    with zipfile.ZipFile(written, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return written.getvalue()


def add_many_members(content: bytes) -> bytes:
    """Add MANY_MEMBERS arrays to an archive."""
    small = io.BytesIO()
    np.save(small, np.zeros(1))
    written = io.BytesIO(content)
    with zipfile.ZipFile(written, "a") as archive:
        for number in range(MANY_MEMBERS):
            archive.writestr(f"extra{number}.npy", small.getvalue())
    return written.getvalue()


def alter_fields(content: bytes, rng: random.Random, planted: str = "x.py:Planted") -> bytes:
    """Replace one JSON value within a text: by its kind, a nest, a huge number, or a file name."""
    text = content.decode("utf-8", "surrogateescape")
    matches = JSON_VALUE.finditer(text)
    places = [match.span() for match in matches if not match["colon"] or rng.random() < 0.05]
    if not places:
        return alter_bytes(content, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        start, end = rng.choice(places)
        how = rng.random()
        if how < 0.25:
            new = rng.choice(ODD_TEXTS)
        elif how < 0.45:
            named = [span for span in places if GAME_NAME.search(text[slice(*span)])]
            start, end = rng.choice(named or places)
            new = json.dumps(planted)
        elif how < 0.55:
            other = rng.choice(places)
            new = text[slice(*other)]
        else:
            new = json.dumps(alter_value(parse_value(text[start:end]), rng))
        text = text[:start] + new + text[end:]
        places = [(a, b) for a, b in places if b <= start]
        if not places:
            break
    return text.encode("utf-8", "surrogateescape")


GAME_NAME = re.compile(r"kuhn_poker|goofspiel")
JSON_VALUE = re.compile(
    r'"(?:[^"\\\n]|\\.)*"(?P<colon>\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?'
    r"|\btrue\b|\bfalse\b|\bnull\b|\[[^\[\]{}]*\]"
)


def parse_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def alter_value(value: Any, rng: random.Random) -> Any:
    """Return the value with something changed."""
    if isinstance(value, np.ndarray):
        return alter_array(value.copy(), rng)
    if isinstance(value, (tuple, list)) and value and rng.random() < 0.8:
        items = list(value)
        index = rng.randrange(len(items))
        how = rng.randrange(4)
        if how == 0:
            items[index] = items[rng.randrange(len(items))]
        elif how == 1:
            del items[index]
        elif how == 2:
            items.insert(index, items[index])
        else:
            items[index] = alter_value(items[index], rng)
        return items
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        return value | {key: alter_value(value[key], rng)}
    if isinstance(value, (int, float)) and rng.random() < 0.5:
        return value + rng.choice([1, -1, 0.5, 1000, -1000, 10**9])
    if isinstance(value, str) and rng.random() < 0.3:
        return "planted_0.py:Planted"
    return rng.choice(ODD_VALUES)


def alter_array(array: Any, rng: random.Random) -> Any:
    """Change numbers, order, length, type or shape of an array."""
    how = rng.randrange(10)
    flat = array.reshape(-1)
    if how < 5 and flat.size:
        for _ in range(rng.choice([1, 1, 1, 2, 10])):
            odd = ODD_NUMBERS + (ODD_FLOATS if array.dtype.kind == "f" else [])
            near = flat[rng.randrange(flat.size)].item() + rng.choice([-1, 0, 1])
            chosen = rng.choice([near, flat.size, rng.choice(odd)])
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                flat[rng.randrange(flat.size)] = np.array([chosen]).astype(array.dtype)[0]
        return array
    if how == 5 and flat.size:
        return flat[[rng.randrange(flat.size) for _ in range(flat.size)]].reshape(array.shape)
    if how == 6:
        return array[:-1] if array.ndim else array
    if how == 7:
        return np.concatenate([array, array[:1]]) if array.ndim else array
    if how == 8:
        return array.astype(rng.choice([np.int8, np.int64, np.float32, np.float64, np.uint16]))
    return array.reshape(rng.choice([(1, *array.shape), (-1,), (*array.shape, 1)]))


def alter_contents(values: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Change, remove or exchange one to three values of an archive."""
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
        elif how < 0.18 and "spec" in values:
            values["spec"] = "planted_0.py:Planted"
        elif how < 0.18 and "spot" in values:
            values = {n: v for n, v in values.items() if not isinstance(v, np.ndarray)}
            values["spot"] = LARGE_SPOT
        else:
            values[name] = alter_value(values[name], rng)
        if not values:
            break
    return values


# The attack


def write_sample(place: Path, sample: Sample) -> None:
    shutil.rmtree(place, ignore_errors=True)
    for name, content in sample.files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content)


def alter_file(subject: Subject, number: int, path: Path, rng: random.Random) -> str:
    """Alter the file in one way; return the name of the way."""
    content = path.read_bytes()
    if not subject.kind.format_name:
        if rng.random() < 0.4:
            path.write_bytes(alter_bytes(content, rng))
            return "bytes"
        path.write_bytes(alter_fields(content, rng, "planted_0.py:Planted"))
        return "fields"
    how = rng.random()
    if how < 0.4:
        path.write_bytes(alter_bytes(content, rng))
        return "bytes"
    if how < 0.6:
        is_crowded = rng.random() < 0.05
        path.write_bytes(subject.crowded[number] if is_crowded else alter_members(content, rng))
        return "members"
    values = alter_contents(read_archive(path, subject.kind.format_name), rng)
    write_archive(path, subject.kind.format_name, values, compress=subject.kind.compress)
    return "contents"


def try_file(subject: Subject, seed: int) -> tuple[str, str]:
    """Alter one file and load it; return the way it was altered, and the outcome."""
    rng = random.Random(f"{subject.kind.name} {seed}")
    number = rng.randrange(len(subject.samples))
    sample = subject.samples[number]
    place, marker = subject.place / "attempt", subject.place / MARKER_FILE
    write_sample(place, sample)
    marker.unlink(missing_ok=True)
    planted = PLANTED_FILE.format(0)
    for where in (place, subject.place):  # a new version for every attempt: it is not cached
        (where / planted).write_text(PLANTED_CODE.format(marker=str(marker)) + f"# {seed}\n")
        os.utime(where / planted, ns=(seed * 1000, seed * 1000))
    os.chdir(place)
    way = ""
    try:
        way = alter_file(subject, number, place / rng.choice(sample.targets), rng)
    except (TypeError, ValueError, OverflowError, RecursionError, cp.RunError):
        return "contents", "not_written"
    try:
        found = subject.kind.load(place, sample.context)
        outcome = "same" if found == subject.digests[number] else "different"
        if outcome == "different" and way in ("bytes", "members"):
            outcome = f"silent_change {seed}" if subject.kind.checksummed else "text_change"
    except (cp.CounterplayError, ApiError) as error:
        is_one_line = "\n" not in str(error)
        outcome = "refused" if is_one_line else f"several_lines {seed}: {str(error)[:300]!r}"
    except MemoryError:
        outcome = f"out_of_memory {seed}: {traceback.format_exc(limit=-2)}"
    except BaseException:
        outcome = f"traceback {seed}: {traceback.format_exc(limit=-3)}"
    return way, f"code_executed {seed}" if marker.exists() else outcome


def prepare(kind: Kind, place: Path) -> Subject:
    """Make the samples of a kind; loading each once also compiles what it uses."""
    made = place / "made"
    made.mkdir()
    subject = Subject(kind, kind.make(made), place)
    for sample in subject.samples:
        write_sample(place / "attempt", sample)
        subject.digests.append(kind.load(place / "attempt", sample.context))
        write_sample(place / "attempt", sample)
        assert kind.load(place / "attempt", sample.context) == subject.digests[-1], kind.name
        if kind.format_name:
            subject.crowded.append(add_many_members(sample.files[sample.targets[0]]))
    return subject


def attack(name: str, seeds: range) -> tuple[Counter[str], list[str], float]:
    """Make one attempt for each seed; return counts, problems in words, and the longest time."""
    quick = "/dev/shm" if os.path.isdir("/dev/shm") else None
    counts: Counter[str] = Counter(dict.fromkeys(OUTCOMES, 0))
    problems, slowest = [], 0.0
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings(action="ignore"))
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(mock.patch.object(run_folder, "_source_commit", return_value=None))
        place = stack.enter_context(tempfile.TemporaryDirectory(dir=quick))
        subject = prepare(KINDS[name], Path(place))
        for start in range(seeds.start, seeds.stop, ATTEMPTS_PER_PROCESS):
            part = range(start, min(start + ATTEMPTS_PER_PROCESS, seeds.stop))
            for way, outcome, seconds in run_attempts(subject, part):
                label = outcome.split()[0]
                counts[label] += 1
                slowest = max(slowest, seconds)
                if label in FAILURES:
                    problems.append(f"{name} {way}: {outcome}")
    return counts, problems, slowest


def run_attempts(subject: Subject, seeds: range) -> Iterator[tuple[str, str, float]]:
    """Yield way, outcome and seconds of attempts in forked processes; a lost one is replaced."""
    next_seed = seeds.start
    while next_seed < seeds.stop:
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(read)
            run_child(subject, range(next_seed, seeds.stop), write)
        os.close(write)
        with os.fdopen(read, "rb", buffering=0) as pipe:
            while next_seed < seeds.stop:
                began = cpu_seconds(child)
                is_ready = wait_for_message(pipe, child, began)
                message = receive(pipe) if is_ready else None
                seconds = cpu_seconds(child) - began
                if message is None:
                    os.kill(child, signal.SIGKILL)
                    yield "?", f"{'crash' if is_ready else 'timeout'} {next_seed}", seconds
                    next_seed += 1
                    break
                yield *message, seconds
                next_seed += 1
        os.waitpid(child, 0)


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process of this machine has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_message(pipe: Any, child: int, began: float) -> bool:
    """Return whether the child sent something, or ended, before its time was used up."""
    last = time.monotonic() + MAX_WALL_SECONDS
    while time.monotonic() < last and cpu_seconds(child) - began < MAX_SECONDS:
        if select.select([pipe], [], [], 0.5)[0]:
            return True
    return False


def run_child(subject: Subject, seeds: range, write: int) -> None:
    """Make attempts under limits, and send the outcomes; never returns."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = used + MAX_BYTES
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        for seed in seeds:
            data = pickle.dumps(try_file(subject, seed))
            os.write(write, len(data).to_bytes(4, "little") + data)
    finally:
        os._exit(0)


def receive(pipe: Any) -> tuple[str, str] | None:
    """Return the next message of a child; None if it has ended."""

    def read(count: int) -> bytes:
        data = b""
        while len(data) < count and (piece := pipe.read(count - len(data))):
            data += piece
        return data

    header = read(4)
    if len(header) < 4:
        return None
    data = read(int.from_bytes(header, "little"))
    message: tuple[str, str] = pickle.loads(data)
    return message


def main() -> None:
    """Attack the kinds in turn, and print the counts as JSON."""
    parser = argparse.ArgumentParser(description="Load altered files and count what goes wrong.")
    parser.add_argument("--count", type=int, default=10_000, help="attempts, over all kinds")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--problems", type=Path, help="write every failure to this file")
    args = parser.parse_args()
    if args.problems:
        args.problems = args.problems.resolve()
        args.problems.write_text("")
    here, total = os.getcwd(), Counter(dict.fromkeys(OUTCOMES, 0))
    for index, name in enumerate(args.kinds):
        share = args.count // len(args.kinds)
        share += index < args.count % len(args.kinds)
        counts, problems, slowest = attack(name, range(args.seed, args.seed + share))
        os.chdir(here)
        total.update(counts)
        line = {"kind": name, "count": share, **counts, "slowest_seconds": round(slowest, 2)}
        print(json.dumps(line), flush=True)
        if args.problems:
            with open(args.problems, "a") as file:
                file.writelines(f"{problem}\n" for problem in problems)
        for problem in problems[:3]:
            print(problem, file=sys.stderr)
    print(json.dumps({"kind": "all", "count": args.count, **total}), flush=True)


if __name__ == "__main__":
    main()
