"""`make demo`: solve Leduc poker, see exploitability fall, and look at what the solution does."""

from __future__ import annotations

import sys

import counterplay as cp
from counterplay.display.text import characters_for_encoding, format_curve, format_grid


def main() -> None:
    marks = characters_for_encoding(sys.stdout.encoding)
    print("Leduc poker: six cards, one each, one public, two rounds of betting.")
    tree = cp.build_tree("leduc_poker")
    print(f"{tree.num_nodes:,} nodes, {tree.num_infosets} infosets. Solving (compiling first) ...")
    result = cp.solve(tree, "cfr_plus", iterations=10_000)
    print(f"\n10,000 iterations of CFR+ in {result.seconds:.1f} s.", end=" ")
    print("What a perfect opponent would win per game, exactly:\n")
    points = [(record.iteration, record.exploitability) for record in result.records]
    print("\n".join(format_curve(points, marks)))
    print(f"\nIt is {result.exploitability:.1e} chips now.", end=" ")
    print("Player 0 raised and was called; by own card (rows) and public card (columns) it goes on")
    rows = cp.infoset_rows(result.policy, ["*:rc|*:"], player=0, sort_by="key")
    (table,) = cp.display.policy_grids(result.policy, rows)
    print("\n" + "\n".join(f"  {line}" for line in format_grid(table, marks)))
    print("\nPairs bet, and so do some hands that have nothing: bluffing. Try next:\n")
    print("  .venv/bin/counterplay play leduc_poker --losses")
    print("  .venv/bin/counterplay solve kuhn_poker --save k.policy && ", end="")
    print(".venv/bin/counterplay show k.policy")
    print("  .venv/bin/counterplay games")


if __name__ == "__main__":
    main()
