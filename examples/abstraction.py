"""Measure the loss of an abstraction of Leduc with larger decks, and the gain of grafting.

    python examples/abstraction.py --ranks 3 5 8 --buckets 2 3 4 --output docs/abstraction.svg

For every deck, hands are clustered by equity, the small game is solved, and its policy is lifted
and judged exactly in the full game. Then the second round, which that policy plays in buckets, is
solved anew for each card on the table, every hand apart, with the first round left as it is: once
each graft for itself, once each with those before it in place. The figures are exploitabilities.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import counterplay as cp


class Row(NamedTuple):
    ranks: int
    buckets: int
    infosets: int  # of the full game
    left: int  # of the abstraction
    solved: float  # exploitability in the abstraction itself
    lifted: float  # and in the full game, as all that follow
    independent: float  # grafts
    in_turn: float


def table_card(key: str) -> str:
    """The card on the table in a key such as `Q:cc|K:r`; nothing in the first round."""
    return key.partition("|")[2][:1]


def measure(ranks: int, buckets: int, iterations: int) -> Row:
    """One deck, one number of buckets."""

    def solve(game: cp.TreeArena) -> cp.Policy:
        return cp.solve(game, cp.algorithms.CFRPlus(), iterations=iterations).policy

    tree = cp.build_tree(cp.games.LeducPoker(suit_isomorphism=True, ranks=ranks))
    smaller = cp.abstraction.build_abstraction(
        tree, cp.abstraction.ByEquity(num_buckets=buckets, rollout_action="call")
    )
    small = solve(smaller.tree)
    base = smaller.lift(small)
    cards = sorted({table_card(key) for key in tree.infoset_keys})  # "" comes first: part 0
    found = []
    for independent in (True, False):
        policy = base
        for player in range(2):
            policy = cp.abstraction.graft_policy(
                tree,
                policy,
                player,
                lambda key: cards.index(table_card(key)),
                solve,
                independent=independent,
            )
        found.append(cp.exploitability(tree, policy))
    return Row(
        ranks,
        buckets,
        tree.num_infosets,
        smaller.tree.num_infosets,
        cp.exploitability(smaller.tree, small),
        cp.exploitability(tree, base),
        *found,
    )


def draw(rows: Sequence[Row], path: Path) -> None:
    """Exploitability before and after grafting, against the infosets that are left."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for number, ranks in enumerate(sorted({row.ranks for row in rows})):
        mine = [row for row in rows if row.ranks == ranks]
        share = [row.left / row.infosets for row in mine]
        color, label = f"C{number}", f"{2 * ranks} cards"
        axes.plot(share, [row.lifted for row in mine], "o-", color=color, label=label)
        axes.plot(share, [row.in_turn for row in mine], "s--", color=color, mfc="white")
    axes.set_xlabel("infosets left, of those of the full game")
    axes.set_ylabel("exploitability")
    axes.set_ylim(bottom=0.0)
    axes.xaxis.set_major_formatter(matplotlib.ticker.PercentFormatter(1.0, decimals=0))
    axes.set_title("Leduc by equity: lifted (solid) and grafted in turn (dashed)")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main(arguments: Sequence[str] | None = None) -> list[Row]:
    parser = argparse.ArgumentParser(description="Abstraction and grafting in Leduc.")
    parser.add_argument("--ranks", type=int, nargs="+", default=[3, 5])
    parser.add_argument("--buckets", type=int, nargs="+", default=[2, 3])
    parser.add_argument("--iterations", type=int, default=500, help="of CFR+, for every game")
    parser.add_argument("--output", type=Path, help="draw the table into this file")
    chosen = parser.parse_args(arguments)
    print("| cards | buckets | infosets | left | solved | lifted | grafts alone | in turn |")
    print("|---|---|---|---|---|---|---|---|")
    rows = []
    for ranks in chosen.ranks:
        for buckets in chosen.buckets:
            row = measure(ranks, buckets, chosen.iterations)
            rows.append(row)
            values = " | ".join(f"{x:.4f}" for x in row[4:])
            print(
                f"| {2 * ranks} | {buckets} | {row.infosets} | {row.left} | {values} |", flush=True
            )
    if chosen.output:
        draw(rows, chosen.output)
    return rows


if __name__ == "__main__":
    main()
