"""PSRO and its kin with learned responses: exact exploitability against episodes.

    python -m benchmarks.population.learned leduc_poker psro 0 4200000

writes `<game>.<method>.<seed>.jsonl` beside this file; without arguments it prints the table of all
such files. Stopped and started again, it goes on from the last record: the memory is kept in the
folder for temporary files. A decision is any player's; episodes of Leduc have some 4.7 of them,
those of liar's dice some 4.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

import counterplay as cp
from counterplay.core.archive import read_archive, write_archive

HERE = Path(__file__).parent
FORMAT = "counterplay benchmark of populations 1"
METHODS = {
    "psro": "psro(oracle=dqn, training_episodes=10000, initial_policy=uniform)",
    "anytime_psro": "anytime_psro(oracle=dqn, training_episodes=20000, num_rounds=5, initial_policy=uniform)",
    "sp_psro": "sp_psro(oracle=dqn, training_episodes=20000, num_rounds=5, initial_policy=uniform)",
    "p2sro": "p2sro(oracle=dqn, training_episodes=3000, initial_policy=uniform)",
    "nxdo": "nxdo",
}


def run(game: str, name: str, seed: int, most: int) -> None:
    """Iterate until learners have played so many episodes."""
    tree, method = cp.build_tree(game), cp.load_algorithm(METHODS[name])
    file = HERE / f"{tree.spec}.{name}.{seed}.jsonl"
    kept = Path(tempfile.gettempdir()) / file.with_suffix(".npz").name
    memory, before = method.init(tree, seed), 0.0
    if kept.exists():
        found = read_archive(kept, FORMAT)
        before = found.pop("seconds")
        memory = type(memory).from_arrays(found)
    else:
        file.unlink(missing_ok=True)
    began = time.process_time()
    while memory.learner_episodes < most:
        memory = method.step(tree, memory)
        if memory.iteration % 5 and memory.learner_episodes < most:
            continue
        policy = next(iter(method.policies(tree, memory).values()))
        seconds = before + time.process_time() - began
        record = {
            "iteration": memory.iteration,
            "episodes": memory.learner_episodes,
            "exploitability": round(cp.exploitability(tree, policy), 6),
            "seconds": round(seconds, 1),
        }
        arrays = memory.to_arrays()
        write_archive(kept, FORMAT, arrays | {"seconds": seconds}, compress=False)
        with open(file, "a") as output:
            print(json.dumps(record), file=output)
    kept.unlink(missing_ok=True)


def table() -> None:
    """Medians over seeds of the last records."""
    found = defaultdict(list)
    for file in sorted(HERE.glob("*.jsonl")):
        game, name, _ = file.stem.split(".")
        found[game, name].append(json.loads(file.read_text().splitlines()[-1]))
    print("| game | method | seeds | iterations | episodes | median | worst | core s |")
    print("|---|---|---|---|---|---|---|---|")
    for (game, name), records in found.items():
        errors = [record["exploitability"] for record in records]
        middle = {
            key: statistics.median(record[key] for record in records)
            for key in ("iteration", "episodes", "seconds")
        }
        print(
            f"| {game} | `{name}` | {len(records)} | {middle['iteration']:,.0f} "
            f"| {middle['episodes']:.2g} | {statistics.median(errors):.4f} "
            f"| {max(errors):.4f} | {middle['seconds']:.0f} |"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(float(sys.argv[4])))
    else:
        table()
