"""Hash the policies of every algorithm, to show that a change of the code moves no bit.

    python -m benchmarks.robustness.bit_identity --write    # write results/bits.json
    python -m benchmarks.robustness.bit_identity            # list the differences
    python -m benchmarks.robustness.bit_identity cfr ppo    # only these algorithms

Each entry is the SHA-256 of all policies of one algorithm after a few iterations with its defaults
on one game, as a tree and, where the algorithm runs there, as rules. Ten entries more are the
metrics of runs in folders, without their seconds. Entries of algorithms that use JAX are
comparable between machines of one kind and versions of JAX only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import counterplay as cp
from benchmarks.result_files import RESULTS_FOLDER
from counterplay.registry import ALGORITHMS, load_algorithm

HASHES_FILE = RESULTS_FOLDER / "bits.json"
GAMES = ("kuhn_poker", "goofspiel(num_cards=3)", "liars_dice(dice_sides=3)")
ALGORITHMS_OF_RUNS = (
    *("cfr_plus", "dcfr", "external_sampling", "outcome_sampling", "mmd"),
    *("deep_hedge", "ppo", "sd_cfr", "nfsp", "psro"),
)
NUM_ITERATIONS = 4


def hash_policies(arena: Any, tree: cp.TreeArena, policies: dict[str, Any]) -> str:
    """Hash the probabilities of all policies on the tree, in the order the algorithm lists them."""
    digest = hashlib.sha256()
    for policy in policies.values():
        policy = getattr(policy, "marginal_policy", policy)
        policy = policy if arena is tree else policy.tabulate(tree)
        digest.update(np.ascontiguousarray(policy.probabilities, np.float64).tobytes())
    return digest.hexdigest()[:16]


def hash_run(algorithm: str) -> str:
    """Hash the records and policies of a short run in a folder."""
    with tempfile.TemporaryDirectory() as folder:
        spec = {"max_steps": NUM_ITERATIONS, "seed": 3, "evaluate_every": 2}
        config = {"name": "bits", "algorithm": algorithm, "game": "kuhn_poker", "spec": spec}
        result = cp.run(config, Path(folder) / "run")
    digest = hashlib.sha256()
    for record in result.records:
        values = [value for name, value in record.items() if name != "seconds"]
        digest.update(np.array(values, np.float64).tobytes())
    for policy in result.policies.values():
        digest.update(np.ascontiguousarray(policy.probabilities, np.float64).tobytes())
    return digest.hexdigest()[:16]


def compute_entries(names: list[str]) -> Iterator[tuple[str, str]]:
    """Compute all entries, one at a time; a refusal is an entry too."""
    for name in names:
        for spec in GAMES:
            game = cp.load_game(spec)
            tree = cp.build_tree(game)
            for kind, arena in (("tree", tree), ("rules", cp.RulesArena(game))):
                if kind == "rules" and "rules" not in load_algorithm(name).runs_on:
                    continue
                yield f"{name} {spec} {kind}", hash_entry(name, arena, tree)
        if "jax" in sys.modules:  # a process cannot hold the programs of all algorithms
            sys.modules["jax"].clear_caches()
    for name in sorted(set(names) & set(ALGORITHMS_OF_RUNS)):
        yield f"run {name}", hash_run(name)


def hash_entry(name: str, arena: Any, tree: cp.TreeArena) -> str:
    """Hash the policies of one algorithm on one arena."""
    algorithm = load_algorithm(name)
    try:
        memory = algorithm.init(arena, 7)
        memory = algorithm.step(arena, memory, NUM_ITERATIONS)
        return hash_policies(arena, tree, dict(algorithm.policies(arena, memory)))
    except cp.CounterplayError:
        return "refused"


def main() -> None:
    """Write the entries, or compare them with those written before."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("algorithms", nargs="*", help="default: all")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    before = json.loads(HASHES_FILE.read_text()) if HASHES_FILE.exists() else {}
    entries, different = dict(before) if args.algorithms else {}, []
    for key, value in compute_entries(args.algorithms or sorted(ALGORITHMS)):
        entries[key] = value
        print(f"{value}  {key}", flush=True)
        if before.get(key) != value:
            different.append(key)
        if args.write:
            HASHES_FILE.write_text(json.dumps(entries, indent=1, sort_keys=True) + "\n")
    for key in different if not args.write else ():
        print(f"differs: {key}")
    sys.exit(1 if different and not args.write else 0)


if __name__ == "__main__":
    main()
