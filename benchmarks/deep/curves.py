"""Measure deep methods with and without the aids of a tree, store the curves, write the page.

    python -m benchmarks.deep.curves r_nad aids leduc --seeds 11 12 13 14 15
    python -m benchmarks.deep.curves sd_cfr published kuhn --seeds 11 --steps 200
    python -m benchmarks.deep.curves --page                 # write deep/methods.md from the curves

A run takes the config `configs/*/METHOD_GAME.json`. The column `aids` is the config as it is: on a
tree the methods use sums per infoset in place of a reservoir, chance and episodes that are spread
evenly, tables as critics, and exact averages. The column `published` switches these off, as
`PUBLISHED_SETTINGS` lists, and judges the policy that the method's paper judges. Methods that have
no such switch run on the rules; the tree only evaluates them.

Curves are in results/deep_methods.jsonl, one line per run and seed, written again after every
evaluation: the iteration, processor seconds without compilation and evaluation, and the exact
exploitability of every policy. The states of unfinished runs are in `--folder`; the same command
continues them, and skips finished ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from benchmarks.deep.thirty_seconds import format_table as format_thirty_seconds
from benchmarks.result_files import (
    RESULTS_FOLDER,
    Record,
    Run,
    find_run,
    group_by_name,
    load_family,
    save_run,
)
from benchmarks.timing import Stopwatch, first_paragraph, format_head, format_row

FAMILY = "deep_methods"
PAGE = Path(__file__).parent / "methods.md"
HEAD = Path(__file__).parent / "methods_head.md"  # the text before the tables
CONFIGS = Path(__file__).parents[2] / "configs"
COLUMNS = ("published", "aids")
GAMES = ("kuhn", "leduc", "kuhn3", "goofspiel4", "liars_dice5")
NUM_EVALUATIONS = 10  # besides the first, at a hundredth of the steps
RESERVOIR = {"reservoir_size": 1_000_000, "stratified_chance": False}
NETWORK_CRITIC = {"critic": "network", "stratified": False}
PUBLISHED_ON_RULES = ("vr_deep_dcfr_plus", "vr_deep_pdcfr_plus")
PUBLISHED_SETTINGS: dict[str, Record] = {
    **dict.fromkeys(("deep_cfr", "sd_cfr", "dream"), RESERVOIR),
    "escher": RESERVOIR | {"correct_critic": False},
    **dict.fromkeys(("qpg", "rpg", "rmpg", "neurd", "ach"), NETWORK_CRITIC),
    **dict.fromkeys(("ppo", "deep_mmd", "r_nad"), NETWORK_CRITIC),
    **{name: {} for name in ("nfsp", "nfsp_ppo", "nfsp_sac")},
    **{name: {"reservoir_size": 1_000_000} for name in PUBLISHED_ON_RULES},
}
# the policy that papers judge; SD-CFR and DREAM play a past network drawn at the start of an
# episode, whose exact policy is the average of all iterates
ANSWERS = {
    "published": {
        "sd_cfr": "average",
        "dream": "average",
        **dict.fromkeys(("deep_cfr", "escher", "nfsp", "nfsp_ppo", "nfsp_sac"), "network"),
        **dict.fromkeys(PUBLISHED_ON_RULES, "network"),
    },
    "aids": {
        **dict.fromkeys(("deep_mmd", "ppo", "r_nad"), "current"),
        **dict.fromkeys(("nfsp", "nfsp_ppo", "nfsp_sac"), "network"),
    },
}
DEFAULT_ANSWERS = {"published": "current", "aids": "average"}
# all other keys of a record are policies
OTHER_KEYS = ("step", "seconds", "gain", "best_gain", "nodes_touched", "nodes_without_chance")


def answer_policy(method: str, column: str) -> str:
    """Return the policy that a method is judged by."""
    return ANSWERS[column].get(method, DEFAULT_ANSWERS[column])


def load_settings(method: str, column: str, game: str, seed: int, steps: int | None) -> Any:
    """Return the config of a run."""
    from counterplay.experiment.config import load_config

    paths = sorted(CONFIGS.glob(f"*/{method}_{game}.json"))
    if not paths:
        raise SystemExit(f"there is no config {method}_{game}.json below {CONFIGS}")
    overrides: Record = {"seed": seed, "name": f"{method}_{game}_{column}"}
    if column == "published":
        if method not in PUBLISHED_SETTINGS:
            raise SystemExit(f"{method} has no settings for the column {column}")
        overrides |= PUBLISHED_SETTINGS[method]
    if steps:
        overrides["max_steps"] = steps
    return load_config(paths[0], overrides)


def evaluation_steps(max_steps: int) -> list[int]:
    """Return the iterations at which a run is evaluated."""
    tenths = [max_steps * n // NUM_EVALUATIONS for n in range(1, NUM_EVALUATIONS + 1)]
    return sorted({max(1, max_steps // 100), *tenths} - {0})


def measure_run(config: Any, folder: Path) -> Run:
    """Run a config to its end, from a stored state if there is one, and store its curve."""
    import jax

    import counterplay as cp

    tree, algorithm = cp.build_tree(config.game), config.algorithm
    method, _, column = parse_name(config.name)
    on_rules = column == "published" and method in PUBLISHED_ON_RULES
    arena = cp.RulesArena(config.game) if on_rules else tree
    run = find_run(FAMILY, config.name, config.seed)
    if run and run.config != json.loads(json.dumps(config.to_json())):
        run = None  # of other settings: measured anew
    state_file = folder / f"{config.name}.{config.seed}.npz"
    memory = algorithm.init(arena, config.seed)
    records: list[Record] = []
    if run and state_file.exists():
        memory = read_memory(state_file, memory)
        records = [record for record in run.records if record["step"] <= memory.iteration]
    elif run and run.last["step"] == config.max_steps:
        return run
    watch = Stopwatch()
    start = records[-1]["seconds"] if records else 0.0
    if not memory.iteration:
        memory = algorithm.step(arena, memory, 1)  # compiles
        algorithm.policies(arena, memory)
    for goal in evaluation_steps(config.max_steps):
        if goal < memory.iteration or (records and goal <= records[-1]["step"]):
            continue
        with watch:
            memory = algorithm.step(arena, memory, goal - memory.iteration)
            jax.block_until_ready(memory.state)
        policies = algorithm.policies(arena, memory)
        if on_rules:
            policies = {name: policy.tabulate(tree) for name, policy in policies.items()}
        values = {name: cp.exploitability(tree, policy) for name, policy in policies.items()}
        if hasattr(algorithm, "gains"):
            values["gain"], values["best_gain"] = algorithm.gains(tree, memory)
        record: Record = {"step": memory.iteration, "seconds": round(start + watch.cpu_seconds, 1)}
        records.append(record | {key: float(f"{value:.5g}") for key, value in values.items()})
        print(config.name, config.seed, records[-1], flush=True)
        run = Run(
            config.name, config.algorithm_name, tree.spec, config.seed, records, config.to_json()
        )
        save_run(FAMILY, run)
        write_memory(state_file, memory)
    state_file.unlink(missing_ok=True)
    assert run is not None
    return run


def write_memory(path: Path, memory: Any) -> None:
    """Write the memory of an unfinished run."""
    from counterplay.core.state_io import flatten_memory

    leaves = flatten_memory(memory)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    scalars = np.frombuffer(json.dumps(leaves.scalars).encode(), np.uint8)
    np.savez(part, __scalars__=scalars, **leaves.arrays)
    part.replace(path)


def read_memory(path: Path, template: Any) -> Any:
    """Return the memory of an unfinished run."""
    from counterplay.core.state_io import MemoryLeaves, flatten_memory, restore_memory

    with np.load(path) as file:
        scalars = json.loads(bytes(file["__scalars__"]))
        arrays = {name: file[name] for name in file.files if name != "__scalars__"}
    return restore_memory(
        template, MemoryLeaves(arrays, scalars, flatten_memory(template).jax_paths)
    )


def parse_name(name: str) -> tuple[str, str, str]:
    """Return method, game and column of a run's name."""
    rest, _, column = name.rpartition("_")
    method, _, game = rest.rpartition("_")
    if game.startswith("dice"):  # liars_dice5
        method, _, first = method.rpartition("_")
        game = f"{first}_{game}"
    return method, game, column


def format_values(values: list[float]) -> str:
    """Return the median, the interquartile range and the worst of the seeds."""
    if len(values) == 1:
        return f"{values[0]:.4f}"
    low, _, high = quantiles(values, n=4, method="inclusive")
    return f"{median(values):.4f} [{low:.4f}, {high:.4f}], worst {max(values):.4f}"


def format_cell(runs: list[Run], method: str, column: str) -> list[str]:
    """Return the cells of one column of the table: exploitability, seeds and cost."""
    if not runs:
        return ["", ""]
    last = [run.last for run in runs]
    values = [record[answer_policy(method, column)] for record in last]
    seconds = median(record["seconds"] for record in last)
    steps = f"{median(record['step'] for record in last):,.0f}"
    seeds = " ".join(str(run.seed) for run in runs)
    return [format_values(values), f"{steps} it., {seconds:,.0f} s, seeds {seeds}"]


def longest_runs(runs: list[Run]) -> list[Run]:
    """Return the runs with the most iterations planned; others have other seeds."""
    planned = [run.config["spec"]["max_steps"] for run in runs]
    return [run for run, steps in zip(runs, planned, strict=True) if steps == max(planned)]


def format_page() -> str:
    """Return the page of all stored curves."""
    groups = group_by_name(load_family(FAMILY))
    parsed = {parse_name(name): longest_runs(runs) for name, runs in groups.items()}
    lines = [HEAD.read_text().rstrip(), "", format_thirty_seconds(), ""]
    for game in GAMES:
        methods = sorted({method for method, other, _ in parsed if other == game})
        if not methods:
            continue
        lines += [f"## {game}", ""]
        columns = ["method", "as published", "budget", "with the tree's aids", "budget"]
        lines.append(format_head(columns))
        for method in methods:
            cells = [f"`{method}`"]
            for column in COLUMNS:
                cells += format_cell(parsed.get((method, game, column), []), method, column)
            lines.append(format_row(cells))
        lines += ["", "All policies, medians of the last evaluations:", ""]
        lines += [format_head(["run", "policies", "gain of responses"])]
        for (method, other, column), runs in sorted(parsed.items()):
            if other == game:
                lines.append(format_policies(method, column, runs))
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def format_policies(method: str, column: str, runs: list[Run]) -> str:
    """Return the row of all policies of a run."""
    last = [run.last for run in runs]
    policies = [key for key in last[0] if key not in OTHER_KEYS]
    cells = ", ".join(f"{key} {median(record[key] for record in last):.4f}" for key in policies)
    gain = ""
    if "gain" in last[0]:
        gain = f"{median(record['gain'] / record['best_gain'] for record in last):.0%}"
    return format_row([f"`{method}` {column}", cells, gain])


def main() -> None:
    """Measure runs, or write the page."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("method", nargs="?")
    parser.add_argument("column", nargs="?", choices=COLUMNS)
    parser.add_argument("game", nargs="?", choices=GAMES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[11])
    parser.add_argument("--steps", type=int, help="in place of the config's iterations")
    parser.add_argument("--folder", type=Path, default=Path("runs/deep_methods"))
    parser.add_argument("--page", action="store_true", help=f"write {PAGE.name}, run nothing")
    args = parser.parse_args()
    if args.page:
        PAGE.write_text(format_page())
        print(f"wrote {PAGE} from {RESULTS_FOLDER / FAMILY}.jsonl")
    elif args.game is None:
        parser.error("name a method, a column and a game, or give --page")
    else:
        for seed in args.seeds:
            config = load_settings(args.method, args.column, args.game, seed, args.steps)
            measure_run(config, args.folder)


if __name__ == "__main__":
    main()
