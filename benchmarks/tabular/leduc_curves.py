"""The picture in the README: exploitability on Leduc poker, all full-tree algorithms.

python benchmarks/leduc_curves.py docs/leduc.svg
"""

from __future__ import annotations

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt

import counterplay as cp

ALGORITHMS = {
    "cfr_br": "#999999",
    "cfr": "#4477aa",
    "cfr_hedge": "#66ccee",
    "linear_cfr": "#ccbb44",
    "cfr_plus": "#228833",
    "pcfr_plus": "#aa3377",
    "pdcfr_plus": "#ee6677",
    "dcfr": "#222222",
}


def main(path: str) -> None:
    mpl.rcParams["svg.hashsalt"] = "counterplay"  # the same picture, byte for byte
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    for name, colour in ALGORITHMS.items():
        result = cp.solve(
            tree,
            cp.load_algorithm(name),
            iterations=10_000,
            evaluate_at=lambda t: max(t + 1, int(1.12 * t)),
        )
        x = [record.iteration for record in result.records]
        y = [record.exploitability for record in result.records]
        axes.loglog(x, y, color=colour, label=f"{name}  ({result.seconds:.1f} s)", linewidth=1.6)
    axes.set(xlabel="iteration", ylabel="exploitability (chips per hand)", xlim=(1, 10_000))
    axes.set_title("Leduc poker, 10,000 iterations each, one core", fontsize=10)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, loc="lower left")
    figure.savefig(path, metadata={"Date": None} if path.endswith(".svg") else None, dpi=110)


if __name__ == "__main__":
    main(sys.argv[1])
