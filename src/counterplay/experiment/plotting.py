"""Plots of exploitability: PNG, SVG, PDF, or an HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path

from counterplay.errors import ConfigError
from counterplay.experiment.drawing import Line, draw
from counterplay.experiment.folder import find_runs
from counterplay.experiment.page import page
from counterplay.experiment.population import plot_payoffs
from counterplay.experiment.references import load_references
from counterplay.experiment.series import Group, load_groups
from counterplay.files import write_file, write_text

FORMATS = (".png", ".svg", ".pdf", ".html")
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8c564b")
BLACK = "#111111"


def plot(
    paths: Iterable[str | Path],
    output: str | Path,
    *,
    references: Iterable[str] = (),
    x: str = "step",
    policies: Sequence[str] = (),
    title: str | None = None,
    log_x: bool = False,
) -> Path:
    """Draw the exploitability of runs, and reference curves over them.

    Runs that differ only in their seed are one line, their median, in a band from least to largest.

    Args:
        output: a file that ends in .png, .svg, .pdf or .html.
        references: files of reference curves, or `FILE:name` for one of them.
        x: `step` or `seconds`.
        policies: which to draw; by default all that the runs have evaluated.
    """
    output = Path(output)
    if output.suffix not in FORMATS:
        raise ConfigError(f"cannot plot to {output}; the name must end in {', '.join(FORMATS)}")
    if x not in ("step", "seconds"):
        raise ConfigError(f"x is {x!r}, must be step or seconds")
    check_matplotlib()
    groups = load_groups(find_runs(paths))
    lines = _lines(groups, _shown(groups, policies), references)
    picture = draw(lines, x, _title(groups) if title is None else title, log_x)
    if output.suffix == ".html":
        write_text(output, page(picture))
    elif output.suffix == ".svg":
        write_text(output, picture.render("svg").decode())
    else:
        content = picture.render(output.suffix[1:])
        write_file(output, lambda file: file.write(content))
    return output


def plot_pools(paths: Iterable[str | Path], output: str | Path, title: str | None = None) -> Path:
    """Draw the payoffs between the pools of one run, and how its iterations mixed them."""
    runs = find_runs(paths)
    if len(runs) != 1:
        raise ConfigError(f"payoffs are those of one run, not of {len(runs)}; name its folder")
    check_matplotlib()
    groups = load_groups(runs)
    return plot_payoffs(runs[0], output, _title(groups) if title is None else title)


def check_matplotlib() -> None:
    """Complain now if there is no matplotlib."""
    if find_spec("matplotlib") is None:
        raise ConfigError("plots need the package matplotlib: pip install 'counterplay[plot]'")


def _shown(groups: Sequence[Group], policies: Sequence[str]) -> list[str]:
    """The policies to draw, those with a guarantee first."""
    there = list(dict.fromkeys(name for group in groups for name in group.policies))
    for name in policies:
        if name not in there:
            raise ConfigError(f"no run has a policy {name!r}; there is {', '.join(there)}")
    firsts = {group.policies[0] for group in groups}
    return sorted(dict.fromkeys(policies or there), key=lambda name: name not in firsts)


def _lines(
    groups: Sequence[Group], policies: Sequence[str], references: Iterable[str]
) -> list[Line]:
    lines = [
        Line(group.curve(policy), colour, rank)
        for group, colour in zip(groups, cycle(COLOURS), strict=False)
        for rank, policy in enumerate(policies)
        if policy in group.policies
    ]
    known = [curve for source in references for curve in load_references(source)]
    names = list(dict.fromkeys(curve.label for curve in known))
    return lines + [
        Line(curve, BLACK, policies.index(curve.policy), names.index(curve.label))
        for curve in known
        if curve.policy in policies
    ]


def _title(groups: Sequence[Group]) -> str:
    """The game, if it is the same for all."""
    games = {str(run.method["game"]) for group in groups for run in group.runs}
    return games.pop() if len(games) == 1 else "exploitability"
