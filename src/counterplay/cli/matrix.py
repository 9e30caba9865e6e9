"""`counterplay matrix`: dominance and all kinds of equilibria of a game in normal form."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    JsonOption,
    SeedOption,
    integer_option,
    print_json,
    print_table,
    print_wrapped,
)

if TYPE_CHECKING:
    from counterplay.matrix.normal_form import NormalForm

MAX_TABLE_SIZE = 12  # rows and columns worth printing
MOST_STEPS = 12  # dominated actions worth printing
MAX_MIXTURE_ENTRIES = 12  # actions of a mixture worth printing


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
            show_default="what suits the game",
        ),
    ] = None,
    weak: Annotated[
        bool, typer.Option("--weak", help="Eliminate weakly dominated actions too.")
    ] = False,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="LEARNER",
            help="Let players learn instead, such as regret_matching or 'hedge(eta=1)'.",
        ),
    ] = None,
    iterations: Annotated[
        int, integer_option("--iterations", "-n", minimum=1, help="Iterations of the learner.")
    ] = 1000,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Find dominated actions and equilibria of a matrix game.

    The equilibria are Nash, correlated and coarse correlated ones, each with its best deviation.

    A game with a tree is converted: its reduced pure policies become the actions.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.matrix.analysis import (
        analyse_normal_form,
        describe_normal_form,
        load_normal_form,
        run_learner_analysis,
    )
    from counterplay.registry import load_learner

    method_of_learning = load_learner(learner) if learner else None
    name, form = load_normal_form(game, build=build_tree_with_progress)
    if method_of_learning:
        facts = describe_normal_form(name, form) | run_learner_analysis(
            form, method_of_learning, iterations, seed
        )
    else:
        facts = analyse_normal_form(name, form, method, weak)
    if json:
        print_json(facts)
        return
    kind = f"{facts['sum']}-sum"
    print(f"{name}: {form.num_players} players, {' x '.join(map(str, form.shape))} actions, {kind}")
    _print_utilities(form)
    if method_of_learning:
        _print_learner(facts)
        return
    if "elimination" in facts:
        _print_dominated(facts)
    _print_nash(form, facts["nash"])
    if "correlated" in facts:
        _print_correlated(form, facts)
    for reason in facts["skipped"]:
        print()
        print_wrapped(f"left out: {reason}")


def _print_utilities(form: NormalForm) -> None:
    """The table of a two-player game, if it is small."""
    if form.num_players != 2 or max(form.shape) > MAX_TABLE_SIZE:
        return
    rows, columns = form.action_names
    first = form.utility[:1] if form.is_zero_sum else form.utility
    cells = [
        [", ".join(_format_number(u) for u in first[:, a, b]) for b in range(len(columns))]
        for a in range(len(rows))
    ]
    whose = "player 0's utility" if form.is_zero_sum else "utility of player 0, player 1"
    print(f"\n{whose}")
    print_table(("", *columns), [(name, *row) for name, row in zip(rows, cells, strict=True)])


def _print_dominated(facts: dict[str, Any]) -> None:
    if facts["elimination"]:
        print("\niterated elimination of dominated actions, in this order")
        _print_domination(facts["elimination"])
        print(f"{' x '.join(str(len(names)) for names in facts['left'])} actions are left")
    else:
        print("\nno action is strictly dominated")
    if facts["weakly_dominated"]:
        print("\nweakly dominated in what is left")
        _print_domination(facts["weakly_dominated"])


def _print_domination(steps: list[dict[str, Any]]) -> None:
    rows = [
        (
            str(number),
            str(step["player"]),
            step["action"],
            "strictly" if step["strict"] else "weakly",
            _format_mixture(step["by"]),
            f"{step['margin']:.4g}",
        )
        for number, step in enumerate(steps[:MOST_STEPS], 1)
    ]
    print_table(("step", "player", "action", "dominated", "by", "margin"), rows)
    if len(steps) > MOST_STEPS:
        print(f"... {len(steps) - MOST_STEPS} more steps, which --json shows")


def _print_nash(form: NormalForm, nash: dict[str, Any]) -> None:
    found = nash["equilibria"]
    print()
    print_wrapped(f"Nash equilibria found: {len(found)} by {nash['method']} ({nash['note']})")
    rows: list[tuple[str, ...]] = []
    for number, one in enumerate(found, 1):
        for player, mixture in enumerate(one["policies"]):
            lead = (str(number), f"{one['gain']:.1e}") if player == 0 else ("", "")
            value = _format_number(one["values"][player])
            named = dict(zip(form.action_names[player], mixture, strict=True))
            rows += _mixture_rows((*lead, str(player), value), named)
    if rows:
        print_table(("number", "gain of deviating", "player", "value", "plays", "action"), rows)


def _print_correlated(form: NormalForm, facts: dict[str, Any]) -> None:
    import numpy as np

    for kind in ("correlated", "coarse_correlated"):
        rows: list[tuple[str, ...]] = []
        for one in facts[kind]:
            joint = np.array(one["joint"])
            named = {
                " / ".join(form.action_names[p][a] for p, a in enumerate(index)): float(
                    joint[index]
                )
                for index in np.ndindex(joint.shape)
            }
            values = ", ".join(map(_format_number, one["values"]))
            rows += _mixture_rows((one["objective"], f"{one['gain']:.1e}", values), named)
        print(f"\n{kind.replace('_', ' ')} equilibria")
        print_table(("best for", "gain of deviating", "values", "plays", "joint action"), rows)


def _mixture_rows(lead: tuple[str, ...], probabilities: dict[str, float]) -> list[tuple[str, ...]]:
    """Table rows, one per action that is played; `lead` stands in front of the first."""
    played = {name: p for name, p in probabilities.items() if p > 1e-12}
    rows = [(_format_number(p), name) for name, p in list(played.items())[:MAX_MIXTURE_ENTRIES]]
    if len(played) > MAX_MIXTURE_ENTRIES:
        rows.append(("...", f"{len(played) - MAX_MIXTURE_ENTRIES} more, which --json shows"))
    blank = ("",) * len(lead)
    return [((blank if number else lead) + row) for number, row in enumerate(rows)]


def _print_learner(facts: dict[str, Any]) -> None:
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


def _format_mixture(probabilities: dict[str, float]) -> str:
    """Such as `2/3 movie + 1/3 game`, or `movie`; what has no probability is left out."""
    played = {name: p for name, p in probabilities.items() if p > 1e-12}
    if len(played) == 1:
        return next(iter(played))
    bracket = "[{}]" if any("," in name for name in played) else "{}"
    return " + ".join(f"{_format_number(p)} {bracket.format(name)}" for name, p in played.items())


def _format_number(value: float) -> str:
    """A fraction where it is a simple one, else six digits."""
    near = Fraction(value).limit_denominator(200)
    return str(near) if abs(float(near) - value) < 1e-11 else f"{value:.6g}"
