"""`counterplay preflop`: solve games before the flop, show them, equities, ICM and charts."""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.options import (
    ForceOption,
    JsonOption,
    algorithm_option,
    check_outputs,
    file_option,
    integer_option,
    iterations_option,
    parse_target,
    seed_option,
)
from counterplay.cli.output import (
    print_json,
    print_note,
    print_table,
    print_wrapped,
    print_written,
    write_node_view,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.arenas.holdem.node_view import NodeView
    from counterplay.arenas.preflop.deck import Deck
    from counterplay.arenas.preflop.solution import PreflopSolution

preflop = typer.Typer(
    help="Hold'em before the flop: solve, show; equity, ICM, charts.",
    no_args_is_help=True,
)
SolutionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="A solution written by preflop solve --save.")
]
LineArgument = Annotated[
    str, typer.Argument(help="Actions so far, such as 'SB raise 2.5,BB call'.")
]
ShortDeckOption = Annotated[
    bool, typer.Option("--short-deck", help="36 cards; a flush beats a full house.")
]


@preflop.command()
def solve(
    game: Annotated[
        Path, typer.Argument(metavar="GAME", help="JSON, or an example of `configs preflop`.")
    ],
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="X",
            help="Stop when no seat gains more: 0.001% of the prize pool or big blind, or a "
            "number of the game's units.",
        ),
    ] = "0.01%",
    algorithm: Annotated[str, algorithm_option("An algorithm of the CFR family.")] = "pdcfr_plus",
    iterations: Annotated[int, iterations_option("Iterations at most.")] = 10_000,
    save: Annotated[
        Path | None, file_option("--save", "-o", help="Write the solution, for preflop show.")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Solve a game before the flop; print every seat's value and exact gain from deviating.

    Ctrl-C ends the run early: the solution so far is reported and written. Twice aborts.
    """
    from counterplay.arenas.preflop.betting import build_preflop_tree
    from counterplay.arenas.preflop.game import PreflopGame
    from counterplay.arenas.preflop.solution import solve_preflop
    from counterplay.cli.progress import ProgressFollower
    from counterplay.core.solve import as_algorithm
    from counterplay.experiment.examples import find_config

    check_outputs(save, None, force)
    as_algorithm(algorithm)  # refuses an unknown name before tables are built
    config = PreflopGame.load(find_config(game))
    build_preflop_tree(config)  # and a game that is too large
    unit = sum(config.payouts) if config.payouts else config.big_blind
    goal = parse_target(target, unit, "0.001% or a number such as 0.01")
    _prepare_tables(config.deck.build(), config.num_seats)

    with ProgressFollower("solving", "it", iterations, compiles=True) as follower:

        def report(iteration: int, gain: float) -> None:
            follower.tick(iteration)
            if not json:
                cells = (iteration, f"{gain:.4g}", f"{100.0 * gain / unit:.5f}%")
                follower.print_row(("iteration", "largest gain", "percent"), cells)

        solution = solve_preflop(
            config,
            algorithm,
            iterations=iterations,
            target=goal,
            report=report,
            stop=follower.stop,
            notify=print_note,
        )
        was_stopped = follower.stop()
    if json:
        print_json(_solution_facts(solution, unit))
    else:
        _print_solution(solution, unit)
    if save:
        solution.save(save)
        print_written(save)
    if was_stopped:
        raise typer.Exit(130)


def _prepare_tables(deck: Deck, num_seats: int) -> None:
    """Build missing tables of equities, and say so: the first time takes up to a minute or two."""
    from counterplay.arenas.preflop.equity_tables import cache_folder, equity_table

    if not any(cache_folder().glob(f"preflop-pairs-{deck.name}.npz")):
        print_note("building the table of equities, once for this deck")
    equity_table(deck)
    if num_seats > 2 and not any(cache_folder().glob(f"preflop-orders-*-{deck.name}.npz")):
        print_note("sampling showdowns of three hands, once for this deck")


def _solution_facts(solution: PreflopSolution, unit: float) -> dict[str, Any]:
    names = solution.game.seat_names
    return {
        "game": solution.arena.spec,
        "iterations": solution.iterations,
        "seats": [
            {"seat": name, "value": float(value), "gain": float(gain)}
            for name, value, gain in zip(names, solution.values, solution.gains, strict=True)
        ],
        "largest_gain_percent": 100.0 * solution.largest_gain / unit,
        "note": solution.note,
        "ranges": _first_ranges(solution),
    }


def _first_ranges(solution: PreflopSolution) -> list[dict[str, Any]]:
    """Return the ranges of first actions after folds, and of responses to one action."""
    rows = []
    for number, node in enumerate(solution.arena.tree.nodes):
        actions = [words.partition(" ")[2] for words in node.history]
        if sum(name != "fold" for name in actions) > 1:
            continue
        for action, name in enumerate(node.actions):
            if name != "fold":
                weights = solution.class_weights((number, action))
                sizes = solution.arena.deck.class_sizes
                rows.append(
                    {
                        "line": ",".join(node.history),
                        "seat": solution.game.seat_names[node.seat],
                        "action": name,
                        "percent": float(100.0 * weights @ sizes / sizes.sum()),
                        "range": solution.range_text((number, action)),
                    }
                )
    return rows


def _print_solution(solution: PreflopSolution, unit: float) -> None:
    percent = 100.0 / unit
    print_table(
        ["seat", "stack", "value", "gain", "gain %"],
        [
            [name, f"{stack:g}", f"{value:.5f}", f"{gain:.2e}", f"{percent * gain:.6f}"]
            for name, stack, value, gain in zip(
                solution.game.seat_names,
                solution.game.stacks,
                solution.values,
                solution.gains,
                strict=True,
            )
        ],
    )
    if solution.note:
        print_wrapped(f"approximation: {solution.note}")
    for row in _first_ranges(solution):
        folded = ",".join(w for w in row["line"].split(",") if w and not w.endswith(" fold"))
        after = f" after {folded}" if folded else ""
        print(f"{row['seat']} {row['action']}{after}: {row['percent']:.2f}%  {row['range']}")


@preflop.command()
def show(
    solution: SolutionArgument,
    line: LineArgument = "",
    ev: Annotated[bool, typer.Option("--ev", help="Print the EV of every class.")] = False,
    export: Annotated[
        Path | None, file_option("--export", help="Write all hands; .json or .csv.")
    ] = None,
    grid: Annotated[
        Path | None, file_option("--grid", help="Draw the grid; .svg, .png or .pdf.")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Show the policy of a seat after a line: a 13 x 13 grid, frequencies, ranges and EVs.

    EVs are chips won in the whole hand, or prizes.
    """
    from counterplay.arenas.preflop.solution import load_preflop_solution
    from counterplay.display.tree_drawing import check_drawing_file

    check_outputs(None, export, force)
    if grid:
        check_drawing_file(grid)
        check_outputs(grid, None, force)
    loaded = load_preflop_solution(solution)
    view = loaded.node_view(line)
    write_node_view(view, export, grid)
    if json:
        print(json_format.dumps(view.to_dict()))
        return
    _print_view(loaded, view, line)
    if ev:
        _print_class_values(view)


def _print_view(solution: PreflopSolution, view: NodeView, line: str) -> None:
    seat = solution.game.seat_names[view.player]
    never = "" if view.is_reached else "; never reached, so the policy here is arbitrary"
    print(f"{seat} acts, pot {view.pot:g}{never}")
    node = solution.arena.tree.nodes.index(solution.find(line))  # type: ignore[arg-type]
    for action, (name, part) in enumerate(zip(view.actions, view.frequencies, strict=True)):
        text = solution.range_text((node, action)) if name != "fold" else ""
        print(f"{name:12} {100 * part:6.2f}%  {text}".rstrip())
    rows = view.hand_grid()
    for action, name in enumerate(view.actions):
        if name != "fold":
            print(f"{name}, percent of each class")
            for row in rows:
                print("".join(_format_cell(cell, action) for cell in row))


def _format_cell(cell: dict[str, Any], action: int) -> str:
    """Return the name of a class that always takes an action, or the percentage of it."""
    part = cell["policy"][action] if cell["weight"] > 0.0 else 0.0
    text = cell["name"] if part > 0.995 else f"{100 * part:.0f}" if part >= 0.005 else "."
    return f"{text:>5}"


def _print_class_values(view: NodeView) -> None:
    """Print the EV of every action for each class, the best classes first."""
    from counterplay.arenas.holdem.hand_ranges import grid_cell
    from counterplay.core.cards import hand_name

    index = {hand: number for number, hand in enumerate(view.hands)}
    rows: dict[str, list[float]] = {}
    for row in range(13):
        for column in range(13):
            name, hands = grid_cell(row, column)
            live = [index[h] for h in map(hand_name, hands) if h in index]
            if live and view.weight[live].any():
                rows[name] = [view.value[live[0]], *view.action_value[:, live[0]]]
    table = sorted(rows.items(), key=lambda item: -item[1][0])
    print_table(
        ["hand", "EV", *view.actions],
        [[name, *(f"{value:.5g}" for value in values)] for name, values in table],
    )


@preflop.command()
def check(
    solution: SolutionArgument,
    deals: Annotated[int, integer_option("--deals", minimum=40, help="Deals to sample.")] = 20_000,
    seed: Annotated[int, seed_option("Seed of the deals.")] = 0,
    json: JsonOption = False,
) -> None:
    """Measure every seat's gain from deviating on dealt cards, with 95 % intervals.

    Gains that `preflop solve` prints are exact for its deal, which with three or more seats leaves
    out some card removal. Here no two hands share a card. A gain lies between that of a response
    chosen on other deals, and that of one chosen on the same deals.
    """
    from counterplay.arenas.preflop.dealt_gains import measure_dealt_gains
    from counterplay.arenas.preflop.solution import load_preflop_solution
    from counterplay.cli.progress import ProgressFollower

    loaded = load_preflop_solution(solution)
    game = loaded.game
    with ProgressFollower("dealing", "deals", deals, compiles=True) as follower:
        result = measure_dealt_gains(
            loaded.policy, deals, seed, report=follower.tick, stop=follower.stop
        )
    columns = {
        "value": result.values,
        "value_margin": result.value_margins,
        "gain": result.gains,
        "gain_margin": result.gain_margins,
        "upper_gain": result.upper_gains,
    }
    if json:
        seats = [
            {"seat": name, **{key: float(column[p]) for key, column in columns.items()}}
            for p, name in enumerate(game.seat_names)
        ]
        print_json({"game": loaded.arena.spec, "deals": result.num_deals, "seats": seats})
        return
    unit = sum(game.payouts) if game.payouts else game.big_blind
    print_table(
        ["seat", "value", "+-", "gain %, from", "+-", "to"],
        [
            [
                name,
                f"{result.values[p]:.5f}",
                f"{result.value_margins[p]:.5f}",
                *(f"{100.0 * columns[key][p] / unit:.5f}" for key in list(columns)[2:]),
            ]
            for p, name in enumerate(game.seat_names)
        ],
    )
    prize = "the prize pool" if game.payouts else "the big blind"
    print(f"{result.num_deals:,} deals; gains in percent of {prize}")


@preflop.command()
def equity(
    ranges: Annotated[list[str], typer.Argument(metavar="RANGE...", help="2 to 10 ranges.")],
    board: Annotated[str, typer.Option(metavar="CARDS", help="Known cards, such as Td9d6h.")] = "",
    samples: Annotated[
        int, integer_option(minimum=0, help="Deals to sample; 0 enumerates all.")
    ] = 0,
    seed: Annotated[int, seed_option("Seed of the samples.")] = 0,
    short_deck: ShortDeckOption = False,
    json: JsonOption = False,
) -> None:
    """Print the equity of two to ten ranges: exact, or sampled with a 95 % interval."""
    from counterplay.arenas.preflop.deck import FULL_DECK, SHORT_DECK
    from counterplay.arenas.preflop.equity_tables import equity_table
    from counterplay.arenas.preflop.multiway import SampledEquities, multiway_equity, range_weights

    deck = SHORT_DECK if short_deck else FULL_DECK
    margins = None
    if len(ranges) == 2 and not board and not samples:
        _prepare_tables(deck, 2)
        first = equity_table(deck).range_equity(*(range_weights(text, deck) for text in ranges))
        values = [first, 1.0 - first]
    else:
        result = multiway_equity(ranges, board, deck=deck, num_samples=samples, seed=seed)
        values = result.values.tolist()
        margins = result.margins.tolist() if isinstance(result, SampledEquities) else None
    if json:
        print_json({"equities": values, "margins": margins, "exact": margins is None})
        return
    for number, (text, value) in enumerate(zip(ranges, values, strict=True)):
        margin = f" +- {100 * margins[number]:.3f}" if margins else ""
        print(f"{100 * value:.4f}%{margin}  {text}")


@preflop.command()
def icm(
    stacks: Annotated[list[float], typer.Argument(metavar="STACK...", help="1 to 10 stacks.")],
    payouts: Annotated[
        str, typer.Option(metavar="LIST", help="Prizes from the first place on, such as 50,30,20.")
    ],
    json: JsonOption = False,
) -> None:
    """Print the expected prizes of stacks by the independent chip model."""
    from counterplay.arenas.preflop.icm import icm_equities

    try:
        prizes = [float(word) for word in payouts.split(",")]
    except ValueError:
        raise ConfigError(f"payouts is {payouts!r}, must be numbers such as 50,30,20") from None
    values = icm_equities(stacks, prizes).tolist()
    if json:
        print_json({"prizes": values})
        return
    print_table(
        ["stack", "prize"],
        [[f"{s:g}", f"{v:.6g}"] for s, v in zip(stacks, values, strict=True)],
    )


@preflop.command()
def chart(
    largest: Annotated[
        float, typer.Option("--stack", metavar="BB", help="Largest stack in big blinds.")
    ] = 20.0,
    ante: Annotated[float, typer.Option(metavar="BB", help="Ante of each player.")] = 0.0,
    json: JsonOption = False,
) -> None:
    """Print the heads-up push/fold chart: the largest stack at which each class goes in.

    Stacks are a tenth of a big blind apart; a class goes in if it does so half of the time.
    """
    from counterplay.arenas.holdem.hand_ranges import grid_cell
    from counterplay.arenas.preflop.chart import push_fold_chart
    from counterplay.arenas.preflop.deck import FULL_DECK

    if not 1.0 + ante < largest <= 100.0:
        raise ConfigError(f"--stack is {largest:g}, must be above {1 + ante:g} and at most 100")
    _prepare_tables(FULL_DECK, 2)
    tenths = range(int(10 * (1.0 + ante)) + 1, round(10 * largest) + 1)
    result = push_fold_chart([tenth / 10 for tenth in tenths], ante=ante)
    cells = {
        kind: [
            [result.largest_stack(grid_cell(row, column)[0], kind) for column in range(13)]
            for row in range(13)
        ]
        for kind in ("push", "call")
    }
    if json:
        print_json({"stacks": list(result.stacks), **cells})
        return
    for kind, rows in cells.items():
        print(f"{kind}: largest stack of each class")
        for r, row in enumerate(rows):
            line = (
                f"{grid_cell(r, c)[0]:>4} {f'{value:g}+' if value >= largest else f'{value:g}':5}"
                for c, value in enumerate(row)
            )
            print("".join(line).rstrip())


def from_preflop(
    solution: SolutionArgument,
    line: Annotated[str, typer.Argument(help="The betting, such as 'SB raise 2.5,BB call'.")],
    board: Annotated[str, typer.Argument(metavar="BOARD", help="3 to 5 cards, such as QsJh2h.")],
    save: Annotated[
        Path | None, file_option("--save", "-o", help="Write the spot; printed otherwise.")
    ] = None,
    chips: Annotated[
        int, integer_option(minimum=1, help="Whole chips for one unit of the game.")
    ] = 100,
    force: ForceOption = False,
) -> None:
    """Make the spot that a line of a preflop solution leads to: ranges, pot and stacks."""
    from counterplay.arenas.preflop.solution import load_preflop_solution

    check_outputs(save, None, force)
    result = load_preflop_solution(solution).spot(line, board, chips)
    if save:
        result.save(save)
        print_written(save)
    else:
        print_json(result.to_dict())
