"""`counterplay plot`: plot exploitability of runs as a picture or a web page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.compare import RunsArgument, is_study
from counterplay.cli.options import TrustOption, check_outputs, file_option
from counterplay.cli.output import print_note, print_written


def plot(
    runs: RunsArgument,
    output: Annotated[
        Path, file_option("--output", "-o", help="A .png, .svg, .pdf or .html file.")
    ],
    reference: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE[:NAME]",
            help="Add reference curves of the same game; may be repeated.",
        ),
    ] = None,
    x: Annotated[
        str, typer.Option(metavar="step|seconds|nodes|episodes", help="Horizontal axis.")
    ] = "step",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A policy to draw, or all; may be repeated.",
            show_default="the policy with the guarantee",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Title.", show_default="the game")
    ] = None,
    log_x: Annotated[
        bool, typer.Option("--log-x", help="Logarithmic scale on the horizontal axis too.")
    ] = False,
    paper: Annotated[
        bool,
        typer.Option(
            "--paper", help="Draw for one column of a printed page: 3.4 inches, serif, no title."
        ),
    ] = False,
    payoffs: Annotated[
        bool,
        typer.Option("--payoffs", help="Plot the payoffs between the populations of one run."),
    ] = False,
    trust: TrustOption = None,
) -> None:
    """Plot exploitability over time, or the payoffs of a population.

    Runs that differ only in their seed become one line, their median, with a band from the least to
    the largest value. For the folder of a study, plot the importance of settings, parallel
    coordinates and rungs.
    """
    check_outputs(output, None)
    if payoffs:
        from counterplay.experiment.plots.run_plots import plot_population

        plot_population(runs, output, title)
    elif is_study(runs) and output.suffix != ".html":
        from counterplay.distributed.study_plot import plot_study

        plot_study(runs[0], output, title)
    else:
        from counterplay.experiment.plots.run_plots import plot_runs

        plot_runs(
            runs,
            output,
            references=reference or (),
            x=x,
            policies=policy or (),
            title=title,
            log_x=log_x,
            paper=paper,
            note=print_note,
        )
    print_written(output)
