"""Networks on games that no tree holds: exact exploitability against decisions, as one line each.

    python -m benchmarks.large.networks GAME ALGORITHM [DECISIONS] [SEED]

such as `phantom_tic_tac_toe "ppo(critic=network)" 1e7 0`. Episodes are played on compiled rules;
every tenth of the way the networks are tabulated and judged on the generated arena. The lines go to
a file beside this one too. Seconds are those spent learning, judging apart; processor is all of the
process, judging and compilation too.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import counterplay as cp
from counterplay.solving import Course


def run(spec, method, decisions, seed, parts=10):
    arena = cp.build_arena(cp.load_game(spec), "generated")
    algorithm = cp.load_algorithm(method)
    course = Course(arena, algorithm, algorithm.init(arena, seed))
    name = re.sub(r"[^\w]+", "_", f"{spec}.{method}").strip("_")
    file = Path(__file__).parent / f"{name[:90]}.{seed}.jsonl"
    file.write_text(json.dumps({"game": spec, "algorithm": method, "seed": seed}) + "\n")
    for part in range(1, parts + 1):
        while course.memory.touched < decisions * part / parts:
            course.advance(course.iteration + 10)
        began = time.perf_counter()
        judged = {
            policy: cp.judge(arena, table).exploitability
            for policy, table in course.policies().items()
        }
        row = {
            "decisions": course.memory.touched,
            "iteration": course.iteration,
            "seconds": round(course.seconds, 1),
            "judging": round(time.perf_counter() - began, 1),
            "processor": round(time.process_time(), 1),
            **{policy: round(value, 6) for policy, value in judged.items()},
        }
        print(json.dumps(row), flush=True)
        with file.open("a") as out:
            out.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    given = [*sys.argv[1:], *["1e7", "0"][len(sys.argv) - 3 :]]
    run(given[0], given[1], float(given[2]), int(given[3]))
