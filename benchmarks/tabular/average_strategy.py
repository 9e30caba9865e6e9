"""ES, OS and AS at equal numbers of nodes: `python -m benchmarks.tabular.average_strategy`.

Writes `average_strategy.md` beside this file. Average strategy sampling is meant for games in which
a player has many actions, of which few are good.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import counterplay as cp

PAGE = Path(__file__).with_suffix(".md")
GAMES = ("leduc_poker", "liars_dice", "goofspiel(num_cards=5)")
ALGORITHMS = {
    "ES": "external_sampling",
    "OS": "outcome_sampling",
    "AS": "average_strategy_sampling",
    "AS with probes": "average_strategy_sampling(probe=true)",
}
NODE_COUNTS = (1_000_000, 10_000_000)


def measure(spec: str, algorithm_spec: str, node_counts: Sequence[int]) -> list[float]:
    """Return the exploitability of the average policy once each number of nodes is touched."""
    tree, algorithm = cp.build_tree(spec), cp.load_algorithm(algorithm_spec)
    memory, results = algorithm.init(tree, 0), list[float]()
    algorithm.step(tree, memory, 100)
    for count in node_counts:
        while (touched := int(memory.nodes_touched.sum())) < count:
            per_iteration = touched / memory.iteration
            algorithm.step(tree, memory, max(1, int((count - touched) / per_iteration)))
        results.append(cp.exploitability(algorithm.policies(tree, memory)["average"]))
    return results


def format_page(games: Sequence[str], node_counts: Sequence[int]) -> str:
    """Return the page with one row per game and algorithm."""
    lines = [
        "# Average strategy sampling at equal nodes",
        "",
        "Written by `python -m benchmarks.tabular.average_strategy` (one seed). Exploitability of",
        "the average policy after the given numbers of visited nodes.",
        "",
        "| game | most actions | algorithm | " + " | ".join(f"{n:,}" for n in node_counts) + " |",
        "|---|---|---|" + "---|" * len(node_counts),
    ]
    for spec in games:
        most = int(cp.build_tree(spec).num_actions.max())
        for name, algorithm in ALGORITHMS.items():
            values = " | ".join(f"{value:.4f}" for value in measure(spec, algorithm, node_counts))
            lines.append(f"| {spec} | {most} | {name} | {values} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(format_page(GAMES, NODE_COUNTS))
