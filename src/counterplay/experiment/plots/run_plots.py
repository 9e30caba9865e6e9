"""Plots of exploitability as PNG, SVG, PDF, or as an HTML page in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

from counterplay.core.archive import write_file, write_text
from counterplay.errors import ConfigError
from counterplay.experiment.plots.figure import PAPER_STYLE, SCREEN_STYLE, PlotLine, draw_curves
from counterplay.experiment.plots.html import build_html_page
from counterplay.experiment.plots.reference_curves import load_reference_curves
from counterplay.experiment.population import draw_payoffs
from counterplay.experiment.run_folder import find_runs
from counterplay.experiment.run_groups import MetricCurve, RunGroup, load_run_groups
from counterplay.experiment.work_counts import WORK_UNITS, work_per_step

PLOT_SUFFIXES = (".png", ".svg", ".pdf", ".html")
# The studio's chart colours, `HUES` in studio/static/ui.js
GROUP_COLOURS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#b8a900",
    "#7d7d7d",
)
ALL_POLICIES = "all"
REFERENCE_COLOUR = "#111111"


def plot_runs(
    paths: Iterable[str | Path],
    output: str | Path,
    *,
    references: Iterable[str] = (),
    x: str = "step",
    policies: Sequence[str] = (),
    title: str | None = None,
    log_x: bool = False,
    paper: bool = False,
    note: Callable[[str], None] | None = None,
) -> Path:
    """Draw the exploitability of runs, and reference curves over them.

    Runs that differ only in their seed are drawn as their median, in a band from the least to the
    largest value. Runs on rules record no exploitability and are left out.

    Args:
        output: a file that ends in .png, .svg, .pdf or .html.
        references: files of reference curves, or `FILE:name` for one of them; only curves of the
            runs' games are drawn.
        x: `step`, `seconds`, `nodes` (touched) or `episodes`; the last two are steps times their
            mean per step, see `work_counts`.
        policies: the policies to draw, or "all"; by default the policy with the guarantee, the
            first in its algorithm's `policies`.
        log_x: whether the horizontal axis is logarithmic.
        paper: draw for one column of a printed page, with a serif font and without a title.
        note: called with a message about each group of runs that is left out.

    Raises:
        ConfigError: an option is wrong, or no run records exploitability.
    """
    output = Path(output)
    if output.suffix not in PLOT_SUFFIXES:
        raise ConfigError(
            f"cannot plot to {output}; the name must end in {', '.join(PLOT_SUFFIXES)}"
        )
    if x not in ("step", "seconds", *WORK_UNITS):
        raise ConfigError(f"x is {x!r}, must be step, seconds, nodes or episodes")
    references = list(references)
    if references and x in WORK_UNITS:
        raise ConfigError(f"reference curves have no {x}; plot over step or seconds")
    require_matplotlib()
    groups = _exact_groups(load_run_groups(find_runs(paths)), note)
    if x in WORK_UNITS:
        groups = _count_work(groups, x, note)
    lines = _build_lines(groups, policies) + _reference_lines(groups, policies, references)
    title = _default_title(groups) if title is None else title
    figure = draw_curves(lines, x, title, log_x, PAPER_STYLE if paper else SCREEN_STYLE)
    if output.suffix == ".html":
        write_text(output, build_html_page(figure))
    elif output.suffix == ".svg":
        write_text(output, figure.render("svg").decode())
    else:
        content = figure.render(output.suffix[1:])
        write_file(output, lambda file: file.write(content))
    return output


def plot_population(
    paths: Iterable[str | Path], output: str | Path, title: str | None = None
) -> Path:
    """Draw the payoffs between the pools of one run, and the mixtures of its iterations."""
    runs = find_runs(paths)
    if len(runs) != 1:
        raise ConfigError(f"payoffs can be drawn of one run, not of {len(runs)}; name its folder")
    require_matplotlib()
    groups = load_run_groups(runs)
    return draw_payoffs(runs[0], output, _default_title(groups) if title is None else title)


def require_matplotlib() -> None:
    """Raise ConfigError if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise ConfigError("plots need the package matplotlib: pip install 'counterplay[plot]'")


def _exact_groups(groups: Sequence[RunGroup], note: Callable[[str], None] | None) -> list[RunGroup]:
    """Return the groups that record exploitability, and call `note` about the others."""
    exact = [group for group in groups if group.is_exact]
    if not exact:
        raise ConfigError(
            "these are runs on rules, which record no exploitability to plot; "
            "`counterplay compare` shows what they record"
        )
    for group in groups:
        if not group.is_exact and note:
            note(f"left out {group.label}: a run on rules records no exploitability")
    return exact


def _count_work(
    groups: Sequence[RunGroup], unit: str, note: Callable[[str], None] | None
) -> list[RunGroup]:
    """Return the groups with `step` in nodes or episodes; call `note` about those without."""
    counted = []
    for group in groups:
        try:
            counted.append(_scale_steps(group, unit))
        except ConfigError as error:
            if note:
                note(f"left out {group.label}: {error}")
    if not counted:
        raise ConfigError(f"no run counts {unit}; plot over step or seconds")
    return counted


def _scale_steps(group: RunGroup, unit: str) -> RunGroup:
    """Return the runs with `step` in nodes or episodes, the mean of all runs of the group."""
    per_step = fmean(work_per_step(run.folder, unit) for run in group.runs)
    runs = [
        replace(
            run, records=[record | {"step": record["step"] * per_step} for record in run.records]
        )
        for run in group.runs
    ]
    return replace(group, runs=runs)


def _build_lines(groups: Sequence[RunGroup], policies: Sequence[str]) -> list[PlotLine]:
    """Return the lines of all groups: one colour per group, one line style per policy."""
    recorded = list(dict.fromkeys(name for group in groups for name in group.policies))
    for name in policies:
        if name not in (ALL_POLICIES, *recorded):
            raise ConfigError(f"no run has a policy {name!r}; there is {', '.join(recorded)}")
    dashes = _dashes(recorded, policies)
    lines = []
    for number, group in enumerate(groups):
        repeats, colour = divmod(number, len(GROUP_COLOURS))
        for policy in _select_policies(group.policies, policies):
            dash = dashes.get(policy, 0) + repeats
            lines.append(PlotLine(group.curve(policy), GROUP_COLOURS[colour], dash))
    return lines


def _reference_lines(
    groups: Sequence[RunGroup], policies: Sequence[str], sources: Iterable[str]
) -> list[PlotLine]:
    """Return the lines of reference curves of the groups' games, for the drawn policies."""
    games = {group.game for group in groups}
    curves = [curve for source in sources for curve in load_reference_curves(source, games)]
    by_label: dict[str, dict[str, MetricCurve]] = {}
    for curve in curves:
        by_label.setdefault(curve.label, {})[curve.policy] = curve
    dashes = _dashes([name for group in groups for name in group.policies], policies)
    return [
        PlotLine(by_policy[policy], REFERENCE_COLOUR, dashes.get(policy, 0), number)
        for number, by_policy in enumerate(by_label.values())
        for policy in _select_policies(list(by_policy), policies)
    ]


def _select_policies(recorded: Sequence[str], policies: Sequence[str]) -> list[str]:
    """Return the policies to draw; by default the first, which has the guarantee."""
    if not policies:
        return list(recorded[:1])
    return [name for name in recorded if name in policies or ALL_POLICIES in policies]


def _dashes(recorded: Sequence[str], policies: Sequence[str]) -> dict[str, int]:
    """Return the line style of each policy; by default all lines are solid."""
    names = dict.fromkeys(_select_policies(recorded, policies)) if policies else {}
    return {name: number for number, name in enumerate(names)}


def _default_title(groups: Sequence[RunGroup]) -> str:
    """Return the game if all groups share it, else "exploitability"."""
    games = {group.game for group in groups}
    return games.pop() if len(games) == 1 else "exploitability"
