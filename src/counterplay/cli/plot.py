"""`counterplay plot`: exploitability of runs as a picture or a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.common import TrustOption, check_outputs
from counterplay.cli.compare import STUDY_FILE, RunsArgument


def plot(
    runs: RunsArgument,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="A .png, .svg, .pdf or .html file."),
    ],
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE[:NAME]",
            help="Reference curves to lay over, if they are of the same game; may be repeated.",
        ),
    ] = None,
    x: Annotated[str, typer.Option(metavar="step|seconds", help="Horizontal axis.")] = "step",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A policy to draw, or all; may be repeated.",
            show_default="the guaranteed one of each method",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title.", show_default="the game")
    ] = None,
    log_x: Annotated[bool, typer.Option("--log-x", help="Log scale horizontally too.")] = False,
    payoffs: Annotated[
        bool, typer.Option("--payoffs", help="Of one run: the payoffs between its pools instead.")
    ] = False,
    trust: TrustOption = None,
) -> None:
    """Plot exploitability over time, or the payoffs of a population.

    Runs that differ only in their seed become one line, their median, with a band around it. The
    folder of a study gives the importance of settings, parallel coordinates and rungs.
    """
    from counterplay.experiment.plots.run_plots import plot_population
    from counterplay.experiment.plots.run_plots import plot_runs as write

    check_outputs(output, None)
    if payoffs:
        plot_population(runs, output, title)
        print(f"wrote {output}", file=sys.stderr)
        return
    if len(runs) == 1 and (Path(runs[0]) / STUDY_FILE).is_file() and output.suffix != ".html":
        from counterplay.distributed.study_plot import plot_study

        plot_study(runs[0], output, title)
        print(f"wrote {output}", file=sys.stderr)
        return
    write(
        runs,
        output,
        references=reference or (),
        x=x,
        policies=policy or (),
        title=title,
        log_x=log_x,
        note=lambda line: print(line, file=sys.stderr),
    )
    print(f"wrote {output}", file=sys.stderr)
