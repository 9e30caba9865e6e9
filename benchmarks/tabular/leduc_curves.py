"""Draw the exploitability of all full-tree algorithms on Leduc poker: the picture of the README.

python -m benchmarks.tabular.leduc_curves docs/leduc.svg
"""

from __future__ import annotations

import argparse

import matplotlib as mpl
import matplotlib.pyplot as plt

import counterplay as cp
from benchmarks.timing import first_paragraph

COLOR_BY_ALGORITHM = {
    "cfr_br": "#999999",
    "cfr": "#4477aa",
    "cfr_hedge": "#66ccee",
    "linear_cfr": "#ccbb44",
    "cfr_plus": "#228833",
    "pcfr_plus": "#aa3377",
    "pdcfr_plus": "#ee6677",
    "dcfr": "#222222",
}
NUM_ITERATIONS = 10_000


def draw_curves(path: str) -> None:
    """Solve Leduc poker with every algorithm and save the plot."""
    mpl.rcParams["svg.hashsalt"] = "counterplay"  # makes the file reproducible
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    for name, color in COLOR_BY_ALGORITHM.items():
        result = cp.solve(
            tree,
            cp.load_algorithm(name),
            iterations=NUM_ITERATIONS,
            evaluate_at=lambda t: max(t + 1, int(1.12 * t)),
        )
        x = [record.iteration for record in result.records]
        y = [record.exploitability for record in result.records]
        axes.loglog(x, y, color=color, label=f"{name}  ({result.seconds:.1f} s)", linewidth=1.6)
    axes.set(xlabel="iteration", ylabel="exploitability (chips per hand)", xlim=(1, NUM_ITERATIONS))
    axes.set_title(f"Leduc poker, {NUM_ITERATIONS:,} iterations each, one core", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=110)


def main() -> None:
    """Draw the curves into a file."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("path", help="an .svg or .png file")
    draw_curves(parser.parse_args().path)


if __name__ == "__main__":
    main()
