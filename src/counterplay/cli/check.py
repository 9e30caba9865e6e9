"""`counterplay check`: which relations a user's algorithm or game fulfils."""

from __future__ import annotations

from typing import Annotated

import typer

from counterplay.cli.options import TrustOption, iterations_option
from counterplay.cli.output import print_table


def check(
    source: Annotated[
        str,
        typer.Argument(
            metavar="ALGORITHM",
            help="A class as my_rules.py:MyCFR or package.module:MyCFR, or a registered name.",
            show_default=False,
        ),
    ],
    iterations: Annotated[int, iterations_option("Iterations of the check of convergence.")] = 1000,
    trust: TrustOption = None,
) -> None:
    """Check that an algorithm works with every command.

    On Kuhn poker: the protocol, the policies, equal bits from equal seeds and from any split into
    steps, a restored memory, and convergence. `inspect GAME --check` checks the rules of a game.
    """
    from counterplay.experiment.algorithm_checks import check_algorithm
    from counterplay.registry import load_algorithm

    results = list(check_algorithm(load_algorithm(source), iterations))
    rows = [(r.name, "holds" if r.holds else "FAILS", r.detail) for r in results]
    print_table(("relation", "result", "detail"), rows)
    if not all(result.holds for result in results):
        raise typer.Exit(1)
