"""`counterplay matrix`: dominance and all kinds of equilibria of a game in normal form."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
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
from counterplay.errors import ConfigError, RunError

if TYPE_CHECKING:
    from counterplay.matrix.checking import CorrelatedEquilibrium
    from counterplay.matrix.dominance import Dominated
    from counterplay.matrix.normal_form import NormalForm

LARGEST_TABLE = 12  # rows and columns worth printing
MOST_STEPS = 12  # dominated actions worth printing
MOST_ENTRIES = 12  # actions of a mixture worth printing


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
    from counterplay.registry import load_learner

    method_of_learning = load_learner(learner) if learner else None
    name, form = load_form(game)
    if method_of_learning:
        facts = outline(name, form) | _learned(form, method_of_learning, iterations, seed)
    else:
        facts = study(name, form, method, weak)
    if json:
        print_json(facts)
        return
    kind = f"{facts['sum']}-sum"
    print(f"{name}: {form.num_players} players, {' x '.join(map(str, form.shape))} actions, {kind}")
    _print_utilities(form)
    if method_of_learning:
        _print_learned(facts)
        return
    if "elimination" in facts:
        _print_dominated(facts)
    _print_nash(form, facts["nash"])
    if "correlated" in facts:
        _print_correlated(form, facts)
    for reason in facts["skipped"]:
        print()
        print_wrapped(f"left out: {reason}")


def outline(name: str, form: NormalForm) -> dict[str, Any]:
    """What kind of game it is."""
    return {
        "game": name,
        "players": form.num_players,
        "actions": list(form.shape),
        "sum": "zero" if form.zero_sum else "constant" if form.constant_sum else "general",
        "action_names": [list(names) for names in form.action_names],
    }


def study(
    name: str, form: NormalForm, method: str | None = None, weak: bool = False
) -> dict[str, Any]:
    """Dominated actions and equilibria of all kinds; what is too large for one part is said."""
    facts = outline(name, form) | {"skipped": []} | _nash(form, method)
    for part in (partial(_dominated, form, weak), partial(_correlated, form)):
        try:
            facts |= part()
        except (ConfigError, RunError) as error:  # too much for this part, not for the others
            facts["skipped"].append(str(error))
    return facts


def load_form(game: str, source: str | None = None) -> tuple[str, NormalForm]:
    """The game's name and normal form, from a file, a matrix game or a tree.

    `source` is the data file or folder that names the game, if the user has not typed it.
    """
    from counterplay.cli.progress import build
    from counterplay.consent import check_spec, load_game_from_file
    from counterplay.games.matrix_game import MatrixGame
    from counterplay.matrix.normal_form import normal_form
    from counterplay.matrix.pure_policies import pure_policies
    from counterplay.matrix.reading import SUFFIXES, read_normal_form
    from counterplay.registry import load_game, spec_of

    if source is not None:
        check_spec(game, source)
    if game.endswith(SUFFIXES) and not _is_game_file(game):
        return game, read_normal_form(game)
    rules = load_game(game) if source is None else load_game_from_file(game, source)
    if isinstance(rules, MatrixGame):
        return spec_of(rules), normal_form(rules)
    return spec_of(rules), pure_policies(build(rules)).form


def _is_game_file(path: str) -> bool:
    """Whether a .json file is what `convert` writes, not a table of payoffs."""
    try:
        with open(path, "rb") as file:
            return b'"format"' in file.read(200)
    except OSError:
        return False


def _dominated(form: NormalForm, weak: bool) -> dict[str, Any]:
    from counterplay.matrix.dominance import dominated_actions, eliminate

    done = eliminate(form, weak)
    return {
        "elimination": [_describe(form, one) for one in done.steps],
        "left": [[form.action_names[p][a] for a in kept] for p, kept in enumerate(done.kept)],
        "weakly_dominated": [
            _describe(done.form, one) for one in dominated_actions(done.form, weak=True)
        ],
    }


def _describe(form: NormalForm, one: Dominated) -> dict[str, Any]:
    names = form.action_names[one.player]
    return {
        "player": one.player,
        "action": names[one.action],
        "strict": one.strict,
        "by": {name: float(p) for name, p in zip(names, one.mixture, strict=True) if p > 0.0},
        "margin": one.margin,
    }


def _nash(form: NormalForm, method: str | None) -> dict[str, Any]:
    from counterplay.matrix.nash import nash_equilibria

    found = nash_equilibria(form, method)
    return {
        "nash": {
            "method": found.method,
            "complete": found.complete,
            "note": found.note,
            "equilibria": [
                {
                    "policies": [mixture.tolist() for mixture in one.profile],
                    "values": one.values.tolist(),
                    "gain": one.gain,
                }
                for one in found.equilibria
            ],
        }
    }


def _correlated(form: NormalForm) -> dict[str, Any]:
    from counterplay.matrix.correlated import (
        ENTROPY,
        WELFARE,
        coarse_correlated_equilibrium,
        correlated_equilibrium,
    )

    objectives: list[str | int] = [WELFARE, *range(form.num_players), ENTROPY]
    return {
        kind: [_distribution(goal, solve(form, goal)) for goal in objectives]
        for kind, solve in (
            ("correlated", correlated_equilibrium),
            ("coarse_correlated", coarse_correlated_equilibrium),
        )
    }


def _distribution(objective: str | int, found: CorrelatedEquilibrium) -> dict[str, Any]:
    return {
        "objective": f"player {objective}" if isinstance(objective, int) else objective,
        "values": found.values.tolist(),
        "gain": found.gain,
        "joint": found.joint.tolist(),
    }


def _learned(form: NormalForm, learner: Any, iterations: int, seed: int) -> dict[str, Any]:
    import numpy as np

    from counterplay.matrix.checking import coarse_deviation
    from counterplay.matrix.learning import learn
    from counterplay.registry import spec_of
    from counterplay.solving import one_two_five

    rng = np.random.default_rng(seed)  # uniform play is a fixed point of too many games
    start = tuple(rng.dirichlet(np.ones(count)) for count in form.shape)
    result = learn(form, learner, iterations=iterations, start=start)
    shown, iteration = [], 1
    while iteration < iterations:
        shown.append(iteration)
        iteration = one_two_five(iteration)
    return {
        "learner": spec_of(learner),
        "seed": seed,
        "regret": [
            {"iteration": t, "regrets": result.regret[t - 1].tolist()} for t in [*shown, iterations]
        ],
        "average": [mixture.tolist() for mixture in result.average],
        "values": form.values(result.average).tolist(),
        "nash_conv": result.nash_conv,
        "coarse_correlated_gain": coarse_deviation(form, result.joint).gain,
    }


def _print_utilities(form: NormalForm) -> None:
    """The table of a two-player game, if it is small."""
    if form.num_players != 2 or max(form.shape) > LARGEST_TABLE:
        return
    rows, columns = form.action_names
    first = form.utility[:1] if form.zero_sum else form.utility
    cells = [
        [", ".join(_number(u) for u in first[:, a, b]) for b in range(len(columns))]
        for a in range(len(rows))
    ]
    whose = "player 0's utility" if form.zero_sum else "utility of player 0, player 1"
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
            _mixture(step["by"]),
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
            value = _number(one["values"][player])
            named = dict(zip(form.action_names[player], mixture, strict=True))
            rows += _entries((*lead, str(player), value), named)
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
            values = ", ".join(map(_number, one["values"]))
            rows += _entries((one["objective"], f"{one['gain']:.1e}", values), named)
        print(f"\n{kind.replace('_', ' ')} equilibria")
        print_table(("best for", "gain of deviating", "values", "plays", "joint action"), rows)


def _entries(lead: tuple[str, ...], probabilities: dict[str, float]) -> list[tuple[str, ...]]:
    """Table rows, one per action that is played; `lead` stands in front of the first."""
    played = {name: p for name, p in probabilities.items() if p > 1e-12}
    rows = [(_number(p), name) for name, p in list(played.items())[:MOST_ENTRIES]]
    if len(played) > MOST_ENTRIES:
        rows.append(("...", f"{len(played) - MOST_ENTRIES} more, which --json shows"))
    blank = ("",) * len(lead)
    return [((blank if number else lead) + row) for number, row in enumerate(rows)]


def _print_learned(facts: dict[str, Any]) -> None:
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
        print_wrapped(f"player {player}  {_mixture(dict(zip(names, mixture, strict=True)))}")
    print(f"NashConv of the averages                     {facts['nash_conv']:.2e}")
    print(f"gain of deviating from joint play, coarsely  {facts['coarse_correlated_gain']:.2e}")


def _mixture(probabilities: dict[str, float]) -> str:
    """Such as `2/3 movie + 1/3 game`, or `movie`; what has no probability is left out."""
    played = {name: p for name, p in probabilities.items() if p > 1e-12}
    if len(played) == 1:
        return next(iter(played))
    bracket = "[{}]" if any("," in name for name in played) else "{}"
    return " + ".join(f"{_number(p)} {bracket.format(name)}" for name, p in played.items())


def _number(value: float) -> str:
    """A fraction where it is a simple one, else six digits."""
    near = Fraction(value).limit_denominator(200)
    return str(near) if abs(float(near) - value) < 1e-11 else f"{value:.6g}"
