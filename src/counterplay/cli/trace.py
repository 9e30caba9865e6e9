"""`counterplay trace`: step through CFR or a matrix learner, with all numbers of one update."""

from __future__ import annotations

import json as json_module
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import (
    GameArgument,
    JsonOption,
    TrustOption,
    algorithm_option,
    integer_option,
    iterations_option,
)
from counterplay.cli.output import print_json, print_table, print_wrapped
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.display.equations import Equation
    from counterplay.matrix.normal_form import Profile

MAX_PRINTED_ITERATIONS = 12  # rows of the table; --json has all


def trace(
    game: GameArgument,
    algorithm: Annotated[
        str, algorithm_option("An algorithm of the CFR family, such as cfr, cfr_plus or dcfr.")
    ] = "cfr",
    iterations: Annotated[int, iterations_option("The iteration to show; all before it run.")] = 10,
    infoset: Annotated[
        str | None,
        typer.Option(metavar="KEY", help="The infoset to show.", show_default="the first"),
    ] = None,
    player: Annotated[
        int | None,
        integer_option(
            "--player", "-p", minimum=0, help="The player of the infoset.", show_default="any, or 0"
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="LEARNER",
            help="Trace a learner in the normal form instead, such as regret_matching, "
            "fictitious_play or 'replicator_dynamics(step_size=0.2)'.",
        ),
    ] = None,
    initial: Annotated[
        str | None,
        typer.Option(
            metavar="JSON",
            help="Mixtures of a learner's first iteration, such as '[[1,0],[0,1]]', or uniform.",
            show_default="near uniform",
        ),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Step through CFR or a learner, update by update.

    The equations of one update are printed, filled in with their numbers, which are recorded while
    the algorithm runs. The page Trace of the studio shows the same.
    """
    if learner is not None:
        if infoset is not None:
            raise ConfigError("--infoset is for trees; a learner's player is chosen with --player")
        _trace_learner(game, learner, iterations, player or 0, initial, json)
        return
    if initial is not None:
        raise ConfigError("--initial is for learners; write --learner too")
    _trace_cfr(game, algorithm, iterations, infoset, player, json)


def _trace_cfr(
    game: str,
    algorithm: str,
    iterations: int,
    key: str | None,
    player: int | None,
    json: bool,
) -> None:
    from counterplay.algorithms.cfr.trace import CFRTrace
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.display.equations import cfr_equations, format_number, step_to_json
    from counterplay.registry import get_spec, load_algorithm, load_game

    rule = load_algorithm(algorithm)
    result = CFRTrace(build_tree_with_progress(load_game(game)), rule)
    tree = result.tree
    if key is not None:
        number = tree.find_infoset(key, player)
    elif player is None or player < tree.num_players:
        number = int(tree.player_infoset[player or 0])
    else:
        raise ConfigError(f"--player is {player}, must be from 0 to {tree.num_players - 1}")
    result.extend(iterations)
    if json:
        steps = [step_to_json(result.step(t, number)) for t in range(1, iterations + 1)]
        facts = {"game": tree.spec, "algorithm": get_spec(rule), "steps": steps}
        print_json(facts | {"exploitability": result.exploitability.tolist()})
        return
    first = max(iterations - MAX_PRINTED_ITERATIONS, 0) + 1
    steps_shown = [result.step(t, number) for t in range(first, iterations + 1)]
    step = steps_shown[-1]
    print(f"{tree.spec}, {get_spec(rule)}: player {step.player} at {step.key!r}\n")
    names = step.actions
    columns = [f"{kind} {name}" for kind in ("policy", "regret", "average") for name in names]
    rows = []
    for s in steps_shown:
        numbers = map(format_number, (*s.policy, *s.regret, *s.average_policy))
        rows.append((str(s.iteration), *numbers, f"{result.exploitability[s.iteration - 1]:.2e}"))
    print_table(("iteration", *columns, "exploitability"), rows)
    print(f"\nupdate of iteration {iterations}")
    print_wrapped(f"histories: {'; '.join(term.history for term in step.histories)}")
    _print_equations(cfr_equations(step))


def _trace_learner(
    game: str, learner: str, iterations: int, player: int, initial: str | None, json: bool
) -> None:
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.display.equations import format_number, learner_equations, step_to_json
    from counterplay.matrix.analysis import load_normal_form
    from counterplay.matrix.normal_form import uniform_profile
    from counterplay.matrix.trace import trace_learner
    from counterplay.registry import get_spec, load_learner

    rule = load_learner(learner)
    name, form = load_normal_form(game, build=build_tree_with_progress)
    start = uniform_profile(form) if initial == "uniform" else parse_profile(initial)
    result = trace_learner(form, rule, iterations=iterations, initial_profile=start)
    if json:
        steps = [step_to_json(result.step(t, player)) for t in range(1, iterations + 1)]
        facts = {"game": name, "learner": get_spec(rule), "steps": steps}
        print_json(facts | {"gain": result.gains.tolist()})
        return
    first = max(iterations - MAX_PRINTED_ITERATIONS, 0) + 1
    step = result.step(iterations, player)
    print(f"{name}, {get_spec(rule)}: player {player}\n")
    rows = []
    for t in range(first, iterations + 1):
        mixtures = (*result.profiles[t - 1][player], *result.averages[t - 1][player])
        rows.append((str(t), *map(format_number, mixtures), f"{result.gains[t - 1]:.2e}"))
    columns = [f"{kind} {name}" for kind in ("mixture", "average") for name in step.actions]
    print_table(("iteration", *columns, "gain of deviating"), rows)
    print(f"\nupdate of iteration {iterations}")
    _print_equations(learner_equations(step))


def parse_profile(text: str | None) -> Profile | None:
    """Return the mixtures of a text such as `[[1, 0], [0.5, 0.5]]`; None without a text."""
    import numpy as np

    if text is None:
        return None
    try:
        mixtures = json_module.loads(text)
        return tuple(np.array([float(p) for p in mixture]) for mixture in mixtures)
    except (ValueError, TypeError, RecursionError):
        example = "one list of probabilities per player, such as [[1,0],[0.5,0.5]]"
        raise ConfigError(f"--initial is {text[:80]!r}; write {example}, or uniform") from None


def _print_equations(equations: list[Equation]) -> None:
    from counterplay.display.equations import format_number

    for equation in equations:
        print(f"\n{equation.title}: {equation.formula}")
        rows = [
            (f"  {line.label}", f"= {line.text}", f"= {format_number(line.value)}")
            for line in equation.lines
        ]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        for label, text, value in rows:
            print(f"{label:{widths[0]}}  {text:{widths[1]}}  {value}")
