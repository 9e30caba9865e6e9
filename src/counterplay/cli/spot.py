"""`counterplay spot`: solve a hold'em spot, look at the solution, equity and ranges."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from zipfile import is_zipfile

import typer

from counterplay.cli.common import (
    ForceOption,
    JsonOption,
    check_outputs,
    format_bytes,
    format_seconds,
    integer_option,
    print_facts,
    print_json,
    print_table,
)
from counterplay.cli.preflop import from_preflop
from counterplay.cli.signals import catch_first_signal
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.arenas.holdem.spot_arena import SpotArena

spot = typer.Typer(
    help="Hold'em spots: solve, show, estimate; equity and ranges.", no_args_is_help=True
)
spot.command(name="from-preflop")(from_preflop)

SpotArgument = Annotated[
    Path, typer.Argument(metavar="SPOT", help="JSON, an example of `configs`, or a solution.")
]
PrecisionOption = Annotated[
    str, typer.Option(metavar="TYPE", help="float32, float64, or int16 for half the memory.")
]


def _load_arena(path: Path, precision: str, locked: bool = True) -> SpotArena:
    """The spot of a JSON file or of a solution, whose locks stay if `locked`."""
    from counterplay.arenas.holdem.solution import load_solution
    from counterplay.arenas.holdem.spot import Spot
    from counterplay.arenas.holdem.spot_arena import SpotArena
    from counterplay.experiment.examples import find_config

    path = find_config(path)
    if not is_zipfile(path):
        return SpotArena(Spot.load(path), precision)
    solved = load_solution(path, num_streets=1).policy.arena
    if not locked:
        return SpotArena(solved.spot, precision, solved.isomorphism)
    arena = SpotArena(solved.spot, precision, solved.isomorphism, symmetries=solved.symmetries)
    for (node, board), weights in solved.locks.items():
        arena.lock(node, board, weights)
    return arena


@spot.command()
def estimate(
    spot: SpotArgument, precision: PrecisionOption = "float32", json: JsonOption = False
) -> None:
    """Say what solving would take, before anything is allocated."""
    from counterplay.arenas.tree.size_estimate import available_memory

    arena = _load_arena(spot, precision)
    size, free = arena.size, available_memory()
    facts: dict[str, Any] = {
        "spot": arena.spec,
        "hands": [own.size for own in arena.hands],
        "boards": arena.boards.level_sizes,
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "sequences": size.num_sequences,
    }
    if json:
        more = {
            "bytes": size.num_bytes,
            "bytes_free": free,
            "seconds_per_iteration": size.seconds_per_iteration,
        }
        print_json(facts | more | {"notes": list(arena.notes)})
        return
    facts["memory"] = f"{format_bytes(size.num_bytes)} of {format_bytes(free)} free"
    facts["an_iteration"] = f"about {format_seconds(size.seconds_per_iteration)} on one core"
    print_facts(facts)
    _print_notes(arena.notes)


def _print_notes(notes: Iterable[str]) -> None:
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


@spot.command()
def solve(
    spot: SpotArgument,
    target: Annotated[
        str,
        typer.Option(metavar="X", help="Stop at this exploitability: 0.5% of the pot, or chips."),
    ] = "0.5%",
    algorithm: Annotated[
        str,
        typer.Option(
            "--algorithm", "-a", metavar="ALGORITHM", help="An algorithm of the CFR family."
        ),
    ] = "dcfr(gamma=3,restart_base=4)",
    iterations: Annotated[
        int, integer_option("--iterations", "-n", minimum=1, help="Iterations at most.")
    ] = 10_000,
    every: Annotated[int, integer_option(minimum=1, help="Iterations between judgements.")] = 10,
    precision: PrecisionOption = "float32",
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the solution, for spot show.")
    ] = None,
    lock: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LOCK",
            help="What a player must do: 'RECORD = call 0.75, fold 0.25', or with some hands "
            "'RECORD @ AA,KQs = fold', or a .json file of such. May be repeated.",
        ),
    ] = None,
    lock_twins: Annotated[
        bool,
        typer.Option(
            "--lock-twins",
            help="A lock after a card holds for cards that differ in the suit's name only, too.",
        ),
    ] = False,
    unlock: Annotated[
        bool, typer.Option("--unlock", help="Forget the locks of the solution given.")
    ] = False,
    threads: Annotated[
        int | None, integer_option(minimum=1, help="Threads to use.", show_default="all cores")
    ] = None,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Solve a spot, printing exact exploitability as it falls.

    Ctrl-C ends the run early: what is solved so far is reported and written. Twice aborts.
    """
    from counterplay.arenas.holdem.locks import apply_locks
    from counterplay.arenas.holdem.solution import Solution
    from counterplay.arenas.holdem.spot_arena import compile_note
    from counterplay.cli.convergence import ConvergenceTracker
    from counterplay.cli.progress import ProgressBar
    from counterplay.core.solve import Record
    from counterplay.core.solve import solve as run
    from counterplay.kernels.runtime.threads import set_num_threads
    from counterplay.registry import get_spec, load_algorithm

    check_outputs(save, None, force)
    method, arena = load_algorithm(algorithm), _load_arena(spot, precision, locked=not unlock)
    pot = arena.spot.pot
    chips = _parse_target(target, pot)
    locks = apply_locks(arena, lock or [], lock_isomorphic=lock_twins)
    notes = [*arena.notes, *(note for report in locks for note in report.notes)]
    _print_notes(notes)
    set_num_threads(threads)
    size = arena.size
    print(
        f"{arena.spec}: {size.num_sequences:,} sequences, {format_bytes(size.num_bytes)}",
        file=sys.stderr,
    )
    if compiling := compile_note():
        print(compiling, file=sys.stderr)
    bar = ProgressBar("solving", "it", total=iterations)
    pace = ConvergenceTracker(chips)

    def tick(now: int) -> None:
        bar.update(now, note=pace.progress_note())

    def report(record: Record) -> None:
        pace.add(record.iteration, record.exploitability)
        if not json:
            percent = 100.0 * record.exploitability / pot
            bar.print(f"{record.iteration}  {record.exploitability:.4g}  {percent:.4f}%")

    if not json:
        print("iteration  exploitability  percent")
    with bar, catch_first_signal() as stop:
        result = run(
            arena,
            method,
            iterations=iterations,
            target=chips,
            evaluate_at=lambda now: (now // every + 1) * every,
            tick=tick,
            report=report,
            stop=stop,
        )
    found = result.policy.judge(arena)
    values = (float(found.values[0]), float(found.values[1]))
    if json:
        print_json(
            {
                "spot": arena.spec,
                "algorithm": get_spec(method),
                "iterations": result.iterations,
                "seconds": result.seconds,
                "exploitability": found.exploitability,
                "percent": 100.0 * found.exploitability / pot,
                "values": list(values),
                "stopped": result.stopped,
                "notes": notes,
            }
        )
    print(
        f"{'interrupted after ' * result.stopped}{result.iterations:,} iterations in "
        f"{result.seconds:.2f} s; player values {values[0]:.4f}, {values[1]:.4f}",
        file=sys.stderr,
    )
    if save:
        Solution(result.policy, found.exploitability, values, result.iterations).save(save)
        print(f"wrote {save}", file=sys.stderr)
    if result.stopped:
        raise typer.Exit(130)


def _parse_target(target: str, pot: int) -> float:
    """A target in chips, from `0.5%` or `1.2`."""
    try:
        value = float(target.removesuffix("%"))
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise ConfigError(f"target is {target!r}; write 0.5% of the pot, or chips such as 0.9")
    return value * pot / 100.0 if target.endswith("%") else value


@spot.command()
def equity(
    one: Annotated[str, typer.Argument(metavar="RANGE", help="Such as 'AhKd' or '88+,A5s-A2s'.")],
    other: Annotated[str, typer.Argument(metavar="RANGE", help="The opponent's.")],
    board: Annotated[str, typer.Option(metavar="CARDS", help="0 to 5 cards, such as Td9d6h.")] = "",
    samples: Annotated[int, integer_option(minimum=0, help="Boards to draw; 0 looks at all.")] = 0,
    seed: Annotated[int, integer_option("--seed", "-s", minimum=0, help="Seed of the draws.")] = 0,
    json: JsonOption = False,
) -> None:
    """Print the equity of a range against another."""
    from counterplay.arenas.holdem.equity import compute_equity as compute

    found = compute(one, other, board, num_samples=samples, seed=seed)
    if json:
        facts = {"equity": found.value, "error": found.margin, "boards": found.num_boards}
        print_json(facts)
        return
    error = f" +- {100 * found.margin:.3f}" if samples else ""
    print(f"{100 * found.value:.4f}%{error} against {100 - 100 * found.value:.4f}%")


@spot.command(name="range")
def show_range(
    text: Annotated[str, typer.Argument(metavar="RANGE", help="Such as '88+,A5s-A2s:0.5,KQo'.")],
) -> None:
    """Print a range as a grid, as short a text as there is for it, and how each entry was read."""
    from counterplay.arenas.holdem.hand_ranges import Range, grid_cell, read_entries

    found = Range.parse(text)
    print(f"{found.num_combos:g} hands, {100 * found.num_combos / 1326:.2f}%")
    for row in range(13):
        cells = [grid_cell(row, column) for column in range(13)]
        parts = [(name, found.weights[hands].mean()) for name, hands in cells]
        line = [f"{name if p == 1 else f'{p:.2f}' if p else '.':>5}" for name, p in parts]
        print("".join(line))
    print(found)
    seen: set[int] = set()
    for entry in read_entries(text):
        again = seen.intersection(entry.hands)
        seen.update(entry.hands)
        left_out = f"; {len(again)} of its hands are in an earlier entry, which counts"
        print(f"{entry.text} reads {entry.meaning}{left_out if again else ''}")


if TYPE_CHECKING:
    from counterplay.arenas.holdem.node_view import NodeView
    from counterplay.play.spot_practice import SpotPractice

SolutionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="What spot solve --save wrote.")
]
HistoryArgument = Annotated[
    str, typer.Argument(help="What has happened, such as 'check,bet 94,call|Td'.")
]
ACTION_COLOURS = ("blue", "green", "red", "magenta", "yellow", "cyan", "white")


@spot.command()
def show(
    solution: SolutionArgument,
    record: HistoryArgument = "",
    hand: Annotated[
        str,
        typer.Option(
            metavar="RANGE", help="Print the hands of a range too, such as AK or 'AhKd,99+'."
        ),
    ] = "",
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all hands; .json or .csv.")
    ] = None,
    grid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the grid; .svg, .png or .pdf.")
    ] = None,
    streets: Annotated[
        int,
        integer_option(
            minimum=1, maximum=3, help="Streets to load; values need all that there are."
        ),
    ] = 3,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Show what a player does at a node: a 13 x 13 grid, frequencies, EVs.

    EVs are chips from this node on: a fold has EV 0.
    """
    from counterplay.arenas.holdem.inspection import inspect_node
    from counterplay.arenas.holdem.solution import export_node_view, load_solution
    from counterplay.display.hand_grid import draw_hand_grid
    from counterplay.display.tree_drawing import check_drawing_file

    check_outputs(None, export, force)
    if grid:
        check_drawing_file(grid)
        check_outputs(grid, None)
    view = inspect_node(load_solution(solution, streets).policy, record)
    if grid:
        draw_hand_grid(view).save(grid)
        print(f"wrote {grid}", file=sys.stderr)
    if export:
        export_node_view(view, export)
        print(f"wrote {export}", file=sys.stderr)
    if json:
        print(json_format.dumps(view.to_dict()))
        return
    _print_node(view)
    if hand:
        _print_hands(view, hand)


def _print_node(view: NodeView) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    never = "" if view.is_reached else "; never reached, so nothing binds this policy"
    print(f"board {view.board}, pot {view.pot}, player {view.player} acts{never}")
    for action, (name, part) in enumerate(zip(view.actions, view.frequencies, strict=True)):
        console.print(
            Text(
                f"{name:12} {100 * part:6.2f}%", style=ACTION_COLOURS[action % len(ACTION_COLOURS)]
            )
        )
    for row in view.hand_grid():
        line = Text()
        for here in row:
            if here["weight"] <= 0.0:
                line.append(f"{'.':>5}", style="dim")
                continue
            most = max(range(len(view.actions)), key=lambda a: here["policy"][a])
            style = ACTION_COLOURS[most % len(ACTION_COLOURS)]
            mark = "" if here["policy"][most] > 0.95 else "~"
            line.append(f"{here['name'] + mark:>5}", style=style)
        console.print(line)


def _print_hands(view: NodeView, text: str) -> None:
    from counterplay.arenas.holdem.hand_ranges import Range
    from counterplay.core.cards import hand_name

    wanted = {hand_name(i) for i, weight in enumerate(Range.parse(text).weights) if weight > 0.0}
    rows = [row for row in view.hand_rows() if row["hand"] in wanted]
    if not rows:
        raise ConfigError(f"player {view.player} has none of {text!r} here")
    print_table(
        list(rows[0]),
        [[v if isinstance(v, str) else f"{v:.4g}" for v in row.values()] for row in rows],
    )


@spot.command()
def diff(
    one: SolutionArgument,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another solution of the spot.")],
    record: HistoryArgument = "",
    most: Annotated[
        int, integer_option(minimum=0, help="Hands to list, the most different first.")
    ] = 10,
    json: JsonOption = False,
) -> None:
    """Show what two solutions do differently at a node: the first less the second."""
    from counterplay.arenas.holdem.inspection import compare_nodes
    from counterplay.arenas.holdem.solution import load_solution

    first, second = load_solution(one), load_solution(other)
    found = compare_nodes(first.policy, second.policy, record)
    frequencies = dict(zip(found.first.actions, found.frequencies.tolist(), strict=True))
    facts: dict[str, Any] = {
        "values": [a - b for a, b in zip(first.values, second.values, strict=True)],
        "exploitability": [first.exploitability, second.exploitability],
        "distance": found.policy_distance,
        "frequencies": frequencies,
    }
    if json:
        print_json(facts | {"hands": found.rows()})
        return
    print(f"values {facts['values'][0]:+.4f}, {facts['values'][1]:+.4f}")
    print(f"exploitability {first.exploitability:.4g} and {second.exploitability:.4g}")
    print(f"{100 * found.policy_distance:.2f}% of player {found.first.player}'s decisions differ")
    for name, part in frequencies.items():
        print(f"{name:12} {100 * part:+.2f}%")
    rows = found.rows()[:most]
    if rows:
        cells = [[v if isinstance(v, str) else f"{v:+.4g}" for v in row.values()] for row in rows]
        print_table(list(rows[0]), cells)


@spot.command()
def play(
    solution: SolutionArgument,
    player: Annotated[
        int, integer_option(minimum=0, maximum=1, help="Your seat; 0 acts first.")
    ] = 0,
    seed: Annotated[
        int, integer_option("--seed", "-s", minimum=0, help="Seed of the first hand.")
    ] = 0,
    hands: Annotated[int, integer_option(minimum=1, help="Hands to play at most.")] = 100,
) -> None:
    """Play a spot against its solution; every decision says what it lost."""
    from counterplay.arenas.holdem.solution import load_solution
    from counterplay.play.spot_practice import SpotPractice

    policy = load_solution(solution).policy
    won = lost = 0.0
    for number in range(hands):
        hand = SpotPractice(policy, player, seed + number)
        print(f"\nhand {number + 1}: you hold {hand.hand}")
        while not hand.is_finished:
            action = _prompt_action(hand)
            if not action:
                return
            made = hand.take_action(action)
            better = (
                f"{made.best_action} was better by {made.ev_loss:.3g}"
                if made.ev_loss > 1e-6
                else "best"
            )
            frequency = f"{100 * made.solution_frequency:.0f}%"
            print(f"  {made.action}: {better}; the solution does it {frequency}")
        won, lost = won + hand.chips_won(), lost + hand.total_ev_loss
        print(f"  {hand.history} on {hand.board}: you take {hand.chips_won():g} out")
        print(f"  {number + 1} hands: {won:+g} chips; {lost:.3g} lost by decisions")


def _prompt_action(hand: SpotPractice) -> str:
    """The action that a person types, asked for until it is one; "" ends the game."""
    view = hand.view
    print(f"  board {hand.board}, pot {view.pot}; {hand.history or 'you open'}")
    while True:
        try:
            answer = input(f"  {', '.join(view.actions)} (q quits): ").strip().lower()
        except EOFError:
            return ""
        if answer in ("q", "quit"):
            return ""
        fitting = [name for name in view.actions if name == answer] or [
            name for name in view.actions if answer and name.startswith(answer)
        ]
        if len(fitting) == 1:
            return fitting[0]
        print(f"  choose one of {', '.join(view.actions)}")
