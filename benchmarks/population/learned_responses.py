"""Train PSRO and related methods with learned responses: exact exploitability against episodes.

    python -m benchmarks.population.learned_responses leduc_poker psro 4200000 --seed 0
    python -m benchmarks.population.learned_responses        # the table of the stored curves

Curves are in results/population.jsonl. An interrupted run continues from its last evaluation: its
memory is in the folder for temporary files. An episode of Leduc has about 4.7 decisions, one of
liar's dice about 3.5.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median

import counterplay as cp
from benchmarks.result_files import Run, find_run, group_by_name, load_family, save_run
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.core.archive import read_archive, write_archive

FAMILY = "population"
MEMORY_FORMAT = "counterplay benchmark of populations 1"
STEPS_PER_EVALUATION = 5
SPEC_BY_METHOD = {
    "psro": "psro(oracle=dqn, training_episodes=10000, initial_policy=uniform)",
    "anytime_psro": "anytime_psro(oracle=dqn, training_episodes=20000, num_rounds=5, "
    "initial_policy=uniform)",
    "sp_psro": "sp_psro(oracle=dqn, training_episodes=20000, num_rounds=5, initial_policy=uniform)",
    "p2sro": "p2sro(oracle=dqn, training_episodes=3000, initial_policy=uniform)",
    "nxdo": "nxdo",
}


def measure_run(game: str, method: str, seed: int, max_episodes: int) -> None:
    """Iterate until the learners have played a number of episodes, and store the curve."""
    tree, algorithm = cp.build_tree(game), cp.load_algorithm(SPEC_BY_METHOD[method])
    name = f"{tree.spec}.{method}"
    memory_file = Path(tempfile.gettempdir()) / f"{name}.{seed}.npz"
    memory, earlier_seconds, records = algorithm.init(tree, seed), 0.0, []
    saved_run = find_run(FAMILY, name, seed)
    if memory_file.exists() and saved_run:
        arrays = read_archive(memory_file, MEMORY_FORMAT)
        earlier_seconds = arrays.pop("seconds")
        memory = type(memory).from_arrays(arrays)
        records = [record for record in saved_run.records if record["step"] <= memory.iteration]
    start = time.process_time()
    while memory.learner_episodes < max_episodes:
        memory = algorithm.step(tree, memory)
        if memory.iteration % STEPS_PER_EVALUATION and memory.learner_episodes < max_episodes:
            continue
        policy = next(iter(algorithm.policies(tree, memory).values()))
        seconds = earlier_seconds + time.process_time() - start
        records.append(
            {
                "step": memory.iteration,
                "episodes": memory.learner_episodes,
                "exploitability": round(cp.exploitability(tree, policy), 6),
                "seconds": round(seconds, 1),
            }
        )
        save_run(FAMILY, Run(name, method, tree.spec, seed, records))
        arrays = memory.to_arrays() | {"seconds": seconds}
        write_archive(memory_file, MEMORY_FORMAT, arrays, compress=False)
    memory_file.unlink(missing_ok=True)


def print_table() -> None:
    """Print medians over seeds of the last evaluations."""
    columns = ["game", "method", "seeds", "iterations", "episodes", "median", "worst", "core s"]
    print(format_head(columns))
    for runs in group_by_name(load_family(FAMILY)).values():
        last = [run.last for run in runs]
        values = [record["exploitability"] for record in last]
        steps, episodes, seconds = (
            median(record[key] for record in last) for key in ("step", "episodes", "seconds")
        )
        cells = [runs[0].game, f"`{runs[0].algorithm}`", len(runs), f"{steps:,.0f}"]
        cells += [f"{episodes:.2g}", f"{median(values):.4f}", f"{max(values):.4f}"]
        print(format_row([*cells, f"{seconds:.0f}"]))


def main() -> None:
    """Measure one run, or print the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game", nargs="?")
    parser.add_argument("method", nargs="?", choices=SPEC_BY_METHOD)
    parser.add_argument("episodes", nargs="?", type=float, default=4.2e6)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    if args.game and args.method:
        measure_run(args.game, args.method, args.seed, int(args.episodes))
    else:
        print_table()


if __name__ == "__main__":
    main()
