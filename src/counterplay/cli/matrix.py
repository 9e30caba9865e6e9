"""`counterplay matrix`: dominance and equilibria of a game in normal form."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict, cast

import typer

from counterplay.cli.options import (
    JsonOption,
    SeedOption,
    check_outputs,
    file_option,
    iterations_option,
)
from counterplay.cli.output import print_json, print_table, print_wrapped, print_written
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.matrix.normal_form import NormalForm

MAX_TABLE_SIZE = 12  # rows and columns of a printed table
MAX_PRINTED_STEPS = 12  # dominated actions that are printed
MAX_MIXTURE_ENTRIES = 12  # actions of a mixture that are printed
MAX_DENOMINATOR = 200  # of a number that is printed as a fraction


class DominationFacts(TypedDict):
    """A dominated action, and the mixture that dominates it."""

    player: int
    action: str
    strict: bool
    by: dict[str, float]
    margin: float


class EquilibriumFacts(TypedDict):
    """A Nash equilibrium."""

    policies: list[list[float]]
    values: list[float]
    gain: float


class NashFacts(TypedDict):
    """Nash equilibria, and how they were computed."""

    method: str
    note: str
    equilibria: list[EquilibriumFacts]


class CorrelatedFacts(TypedDict):
    """A correlated or coarse correlated equilibrium."""

    objective: str
    values: list[float]
    gain: float
    joint: list[object]  # nested lists, one level per player


class RegretFacts(TypedDict):
    """The regrets of all players at an iteration of a learner."""

    iteration: int
    regrets: list[float]


class MatrixFacts(TypedDict, total=False):
    """The analysis of a normal form, or of a learner on it."""

    sum: str
    players: int
    action_names: list[list[str]]
    elimination: list[DominationFacts]
    left: list[list[str]]
    weakly_dominated: list[DominationFacts]
    nash: NashFacts
    correlated: list[CorrelatedFacts]
    coarse_correlated: list[CorrelatedFacts]
    skipped: list[str]
    learner: str
    regret: list[RegretFacts]
    average: list[list[float]]
    nash_conv: float
    coarse_correlated_gain: float


def matrix(
    game: Annotated[
        str,
        typer.Argument(
            metavar="GAME",
            help="A table (.json or .csv), a game file, or a game such as chicken.",
            show_default=False,
        ),
    ],
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="zero_sum_lp, support_enumeration, lemke_howson or nash_nlp.",
            show_default="chosen by the kind of game",
        ),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Eliminate weakly dominated actions too.")
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="LEARNER",
            help="Run a learner instead, such as regret_matching or 'hedge(eta=1)'.",
        ),
    ] = None,
    iterations: Annotated[int, iterations_option("Iterations of the learner.")] = 1000,
    seed: SeedOption = 0,
    json: JsonOption = False,
    latex: Annotated[
        bool, typer.Option("--latex", help="Print only the utilities, as a LaTeX table.")
    ] = False,
    output: Annotated[
        Path | None,
        file_option("--output", "-o", help="Write only the payoff table, to an .svg or .tex file."),
    ] = None,
) -> None:
    """Find dominated actions and equilibria of a matrix game.

    Nash, correlated and coarse correlated equilibria are printed, each with the gain of its best
    deviation.

    A game with a tree is converted: its reduced pure policies become the actions.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.core.archive import write_text
    from counterplay.matrix.analysis import (
        analyse_normal_form,
        describe_normal_form,
        load_normal_form,
        run_learner_analysis,
    )
    from counterplay.registry import load_learner

    if output is not None:
        if output.suffix not in (".svg", ".tex"):
            raise ConfigError(f"cannot draw to {output}; the name must end in .svg or .tex")
        check_outputs(output, None)
    loaded_learner = load_learner(learner) if learner else None
    name, form = load_normal_form(game, build=build_tree_with_progress)
    if output is not None:
        from counterplay.display.matrix_drawing import draw_matrix

        is_svg = output.suffix == ".svg"
        write_text(output, draw_matrix(form) if is_svg else _latex_table(name, form) + "\n")
        print_written(output)
        return
    if latex:
        print(_latex_table(name, form))
        return
    if loaded_learner:
        facts = describe_normal_form(name, form) | run_learner_analysis(
            form, loaded_learner, iterations, seed
        )
    else:
        facts = analyse_normal_form(name, form, method, weak)
    if json:
        print_json(facts)
        return
    shape = " x ".join(map(str, form.shape))
    print(f"{name}: {form.num_players} players, {shape} actions, {facts['sum']}-sum")
    _print_utilities(form)
    if loaded_learner:
        _print_learner(cast(MatrixFacts, facts))
    else:
        _print_analysis(form, cast(MatrixFacts, facts))


def _print_analysis(form: NormalForm, facts: MatrixFacts) -> None:
    if "elimination" in facts:
        _print_dominated(facts)
    _print_nash(form, facts["nash"])
    if "correlated" in facts:
        _print_correlated(form, "correlated equilibria", facts["correlated"])
        _print_correlated(form, "coarse correlated equilibria", facts["coarse_correlated"])
    for reason in facts["skipped"]:
        print()
        print_wrapped(f"left out: {reason}")


def _print_utilities(form: NormalForm) -> None:
    """Print the table of a small two-player game."""
    if form.num_players != 2 or max(form.shape) > MAX_TABLE_SIZE:
        return
    rows, columns = form.action_names
    first = form.utility[:1] if form.is_zero_sum else form.utility
    cells = [
        [", ".join(_format_number(u) for u in first[:, a, b]) for b in range(len(columns))]
        for a in range(len(rows))
    ]
    title = "player 0's utility" if form.is_zero_sum else "utility of player 0, player 1"
    print(f"\n{title}")
    print_table(("", *columns), [(name, *row) for name, row in zip(rows, cells, strict=True)])


def _latex_table(name: str, form: NormalForm) -> str:
    """Return the utilities of both players, or player 0's of a zero-sum game, as LaTeX."""
    from counterplay.display.latex import latex_matrix

    if form.num_players != 2:
        raise ConfigError(f"{name} has {form.num_players} players, and a LaTeX table has two")
    utility = form.utility[:1] if form.is_zero_sum else form.utility
    rows, columns = form.action_names
    return latex_matrix(rows, columns, utility.transpose(1, 2, 0).tolist())


def _print_dominated(facts: MatrixFacts) -> None:
    if facts["elimination"]:
        print("\niterated elimination of dominated actions, in this order")
        _print_domination(facts["elimination"])
        print(f"{' x '.join(str(len(names)) for names in facts['left'])} actions are left")
    else:
        print("\nno action is strictly dominated")
    if facts["weakly_dominated"]:
        print("\nweakly dominated in the remaining game")
        _print_domination(facts["weakly_dominated"])


def _print_domination(steps: list[DominationFacts]) -> None:
    rows = [
        (
            str(number),
            str(step["player"]),
            step["action"],
            "strictly" if step["strict"] else "weakly",
            _format_mixture(step["by"]),
            f"{step['margin']:.4g}",
        )
        for number, step in enumerate(steps[:MAX_PRINTED_STEPS], 1)
    ]
    print_table(("step", "player", "action", "dominated", "by", "margin"), rows)
    if len(steps) > MAX_PRINTED_STEPS:
        print(f"... {len(steps) - MAX_PRINTED_STEPS} more steps; --json shows all")


def _print_nash(form: NormalForm, nash: NashFacts) -> None:
    equilibria = nash["equilibria"]
    print()
    print_wrapped(f"Nash equilibria found: {len(equilibria)} by {nash['method']} ({nash['note']})")
    rows: list[tuple[str, ...]] = []
    for number, equilibrium in enumerate(equilibria, 1):
        for player, mixture in enumerate(equilibrium["policies"]):
            first = (str(number), f"{equilibrium['gain']:.1e}") if player == 0 else ("", "")
            value = _format_number(equilibrium["values"][player])
            probabilities = dict(zip(form.action_names[player], mixture, strict=True))
            rows += _mixture_rows((*first, str(player), value), probabilities)
    if rows:
        print_table(("number", "gain of deviating", "player", "value", "plays", "action"), rows)


def _print_correlated(form: NormalForm, title: str, equilibria: list[CorrelatedFacts]) -> None:
    import numpy as np

    rows: list[tuple[str, ...]] = []
    for equilibrium in equilibria:
        joint = np.array(equilibrium["joint"])
        probabilities = {
            " / ".join(form.action_names[p][a] for p, a in enumerate(index)): float(joint[index])
            for index in np.ndindex(joint.shape)
        }
        values = ", ".join(map(_format_number, equilibrium["values"]))
        first_cells = (equilibrium["objective"], f"{equilibrium['gain']:.1e}", values)
        rows += _mixture_rows(first_cells, probabilities)
    print(f"\n{title}")
    print_table(("best for", "gain of deviating", "values", "plays", "joint action"), rows)


def _mixture_rows(
    first_cells: tuple[str, ...], probabilities: Mapping[str, float]
) -> list[tuple[str, ...]]:
    """Return one row per action that is played; only the first row has the first cells."""
    played = {name: p for name, p in probabilities.items() if p > 1e-12}
    rows = [(_format_number(p), name) for name, p in list(played.items())[:MAX_MIXTURE_ENTRIES]]
    if len(played) > MAX_MIXTURE_ENTRIES:
        rows.append(("...", f"{len(played) - MAX_MIXTURE_ENTRIES} more; --json shows all"))
    blank = ("",) * len(first_cells)
    return [((blank if number else first_cells) + row) for number, row in enumerate(rows)]


def _print_learner(facts: MatrixFacts) -> None:
    print(f"\nregret per iteration with {facts['learner']}")
    header = ("iteration", *(f"player {p}" for p in range(facts["players"])))
    rows = [
        (str(record["iteration"]), *(f"{regret:.2e}" for regret in record["regrets"]))
        for record in facts["regret"]
    ]
    print_table(header, rows)
    print("\naverage policies")
    for player, (names, mixture) in enumerate(
        zip(facts["action_names"], facts["average"], strict=True)
    ):
        print_wrapped(f"player {player}  {_format_mixture(dict(zip(names, mixture, strict=True)))}")
    print(f"NashConv of the averages                     {facts['nash_conv']:.2e}")
    print(f"gain of deviating from joint play, coarsely  {facts['coarse_correlated_gain']:.2e}")


def _format_mixture(probabilities: Mapping[str, float]) -> str:
    """Return a mixture such as `2/3 movie + 1/3 game`, without actions of probability 0."""
    played = {name: p for name, p in probabilities.items() if p > 1e-12}
    if len(played) == 1:
        return next(iter(played))
    bracket = "[{}]" if any("," in name for name in played) else "{}"
    return " + ".join(f"{_format_number(p)} {bracket.format(name)}" for name, p in played.items())


def _format_number(value: float) -> str:
    """Return a number as a simple fraction if it is one, else with six digits."""
    fraction = Fraction(value).limit_denominator(MAX_DENOMINATOR)
    return str(fraction) if abs(float(fraction) - value) < 1e-11 else f"{value:.6g}"
