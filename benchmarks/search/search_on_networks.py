"""One step of mirror descent search on policies of networks: exploitability before and after.

    python -m benchmarks.search.search_on_networks 'liars_dice(dice_sides=4)' ppo --iterations 60
    python -m benchmarks.search.search_on_networks --table

A network is trained by PPO or deep MMD. Its policy and those of `mirror_search` on it, with exact
values, are judged exactly, for several alpha and beta (search.md, section 6). The search is made at
every infoset, as the agent does at one. Rows are appended to `results/search_on_networks.jsonl`.
"""

from __future__ import annotations

import argparse
from typing import Any

import counterplay as cp
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph, format_head, format_row
from counterplay.core.solve import with_schedule
from counterplay.search.mirror_search import MirrorSearch

FAMILY = "search_on_networks"
STEPS = ((0.02, 0.1), (0.05, 0.25), (0.1, 0.5), (0.2, 1.0), (0.02, 1.0))  # alpha, beta


def search_everywhere(tree: Any, blueprint: Any, alpha: float, beta: float) -> Any:
    """Return the policy of `mirror_search` at every infoset."""
    agent = MirrorSearch(alpha=alpha, beta=beta).make_agent(tree, blueprint)
    return cp.search.tabulate_agent(tree, agent).policy


def measure(game: str, method: str, seed: int, iterations: int, parts: int) -> None:
    """Train a network, and store a row for the policy after each part of the iterations."""
    tree = cp.build_tree(game)
    algorithm: Any = with_schedule(cp.load_algorithm(method), iterations)
    memory = algorithm.init(tree, seed)
    for part in range(1, parts + 1):
        memory = algorithm.step(tree, memory, iterations * part // parts - memory.iteration)
        policy = next(iter(algorithm.policies(tree, memory).values()))
        before = cp.exploitability(tree, policy)
        after = {
            f"{alpha:g},{beta:g}": round(
                cp.exploitability(tree, search_everywhere(tree, policy, alpha, beta)), 5
            )
            for alpha, beta in STEPS
        }
        row = {
            "game": game,
            "method": method,
            "seed": seed,
            "iterations": memory.iteration,
            "before": round(before, 5),
            "after": after,
        }
        append_row(FAMILY, row)
        print(row, flush=True)


def print_table() -> None:
    """Print the stored rows."""
    names = [f"{alpha:g},{beta:g}" for alpha, beta in STEPS]
    print(format_head(["game", "method", "iterations", "network", *names]))
    for row in load_rows(FAMILY):
        cells = [row["game"], row["method"], f"{row['iterations']:,}", f"{row['before']:.4f}"]
        print(format_row([*cells, *(f"{row['after'][name]:.4f}" for name in names)]))


def main() -> None:
    """Train and judge one network, or print the table."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game", nargs="?")
    parser.add_argument("method", nargs="?", choices=["ppo", "deep_mmd"], default="ppo")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--parts", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    if args.game:
        measure(args.game, args.method, args.seed, args.iterations, args.parts)
    if args.table or not args.game:
        print_table()


if __name__ == "__main__":
    main()
