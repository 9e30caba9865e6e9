"""ES, OS and AS at equal numbers of nodes: `python -m benchmarks.tabular.average_strategy`.

Writes `average_strategy.md` beside this file. Average strategy sampling is meant for games in which
a player has many actions, of which few are good: no-limit poker, in which every whole number of
chips up to the stack is a bet (Gibson, Burch, Lanctot and Szafron, 2012). Rows are in
results/average_strategy.jsonl, one per game, algorithm and seed; stored ones are kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import counterplay as cp
from benchmarks.result_files import Record, append_row, load_rows
from benchmarks.timing import first_paragraph, format_head, format_row

FAMILY = "average_strategy"
PAGE = Path(__file__).with_suffix(".md")
NO_LIMIT = "poker(blinds={},ante={},stacks=({},{}),opens={},raises=(),raise_caps=(),{})"
LEDUC_DECK = "ranks=3,suits=2,hole=1,board=(0,1)"
HOLDEM_DECK = "ranks=4,suits=2,hole=2,board=(0,1)"
GAMES = {
    "Leduc poker": "leduc_poker",
    "liar's dice": "liars_dice",
    "no-limit Leduc, stacks of 8": NO_LIMIT.format((0, 0), 1, 8, 8, (0, 0), LEDUC_DECK),
    "no-limit Leduc, stacks of 12": NO_LIMIT.format((0, 0), 1, 12, 12, (0, 0), LEDUC_DECK),
    "no-limit hold'em, 8 cards": NO_LIMIT.format((2, 1), 0, 8, 8, (1, 0), HOLDEM_DECK),
}
ALGORITHMS = {
    "ES": "external_sampling",
    "OS": "outcome_sampling",
    "AS, tau 1000": "average_strategy_sampling(tau=1000)",
    "AS, tau 1": "average_strategy_sampling(tau=1)",
}
NODE_COUNTS = (1_000_000, 10_000_000)


def measure(
    tree: cp.TreeArena, algorithm_spec: str, node_counts: Sequence[int], seed: int = 0
) -> list[float]:
    """Return the exploitability of the average policy once each number of nodes is touched."""
    algorithm = cp.load_algorithm(algorithm_spec)
    memory, results = algorithm.init(tree, seed), list[float]()
    algorithm.step(tree, memory, 100)
    for count in node_counts:
        while (touched := int(memory.nodes_touched.sum())) < count:
            per_iteration = touched / memory.iteration
            algorithm.step(tree, memory, max(1, int((count - touched) / per_iteration)))
        results.append(cp.exploitability(algorithm.policies(tree, memory)["average"]))
    return results


def measure_game(name: str, seeds: Sequence[int], node_counts: Sequence[int]) -> None:
    """Measure all algorithms on a game, and store their rows."""
    stored = {
        (row["game"], row["algorithm"], row["seed"], row["nodes"]) for row in load_rows(FAMILY)
    }
    tree = cp.build_tree(GAMES[name])
    for algorithm, spec in ALGORITHMS.items():
        for seed in seeds:
            if (name, algorithm, seed, node_counts[-1]) in stored:
                continue
            values = measure(tree, spec, node_counts, seed)
            for count, value in zip(node_counts, values, strict=True):
                row: Record = {"game": name, "algorithm": algorithm, "seed": seed, "nodes": count}
                row |= {"exploitability": float(f"{value:.5g}"), "spec": spec}
                row |= {"infosets": tree.num_infosets, "actions": int(tree.num_actions.max())}
                append_row(FAMILY, row)


def format_table(rows: Sequence[Record]) -> str:
    """Return the table: one row per game and number of nodes, one column per algorithm."""
    lines = [format_head(["game", "infosets", "most actions", "nodes", "seeds", *ALGORITHMS])]
    for game in GAMES:
        for count in sorted({row["nodes"] for row in rows if row["game"] == game}):
            group = [row for row in rows if row["game"] == game and row["nodes"] == count]
            cells = [game, f"{group[0]['infosets']:,}", group[0]["actions"], f"{count:,}"]
            cells.append(len({row["seed"] for row in group}))
            for algorithm in ALGORITHMS:
                values = [row["exploitability"] for row in group if row["algorithm"] == algorithm]
                cells.append(f"{median(values):.4f}" if values else "")
            lines.append(format_row(cells))
    return "\n".join(lines)


def main() -> None:
    """Measure games, then write the page."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--games", nargs="*", choices=GAMES, default=list(GAMES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--nodes", nargs="+", type=int, default=list(NODE_COUNTS))
    args = parser.parse_args()
    for game in args.games:
        measure_game(game, args.seeds, args.nodes)
    head = PAGE.with_name("average_strategy_head.md").read_text().rstrip()
    PAGE.write_text(f"{head}\n\n{format_table(load_rows(FAMILY))}\n")


if __name__ == "__main__":
    main()
