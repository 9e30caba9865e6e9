"""`counterplay spot`: solve a hold'em spot, look at the solution, equity and ranges."""

from __future__ import annotations

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
    integer_option,
    print_facts,
    print_json,
    readable_bytes,
    readable_seconds,
)
from counterplay.cli.signals import first_signal
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.public.tree import PublicTree

spot = typer.Typer(
    help="Hold'em spots: solve, show, estimate; equity and ranges.", no_args_is_help=True
)

SpotArgument = Annotated[
    Path, typer.Argument(metavar="SPOT", help="JSON, an example of `configs`, or a solution.")
]
PrecisionOption = Annotated[
    str, typer.Option(metavar="TYPE", help="float32, float64, or int16 for half the memory.")
]


def _arena(path: Path, precision: str, locked: bool = True) -> PublicTree:
    """The spot of a JSON file or of a solution, whose locks stay if `locked`."""
    from counterplay.experiment.examples import find_config
    from counterplay.public.solution import load_solution
    from counterplay.public.spot import Spot
    from counterplay.public.tree import PublicTree

    path = find_config(path)
    if not is_zipfile(path):
        return PublicTree(Spot.load(path), precision)
    solved = load_solution(path, streets=1).policy.arena
    if not locked:
        return PublicTree(solved.spot, precision, solved.isomorphism)
    arena = PublicTree(solved.spot, precision, solved.isomorphism, symmetries=solved.symmetries)
    for (node, board), weights in solved.locks.items():
        arena.lock(node, board, weights)
    return arena


@spot.command()
def estimate(
    spot: SpotArgument, precision: PrecisionOption = "float32", json: JsonOption = False
) -> None:
    """Say what solving would take, before anything is allocated."""
    from counterplay.tree.estimating import available_memory

    arena = _arena(spot, precision)
    size, free = arena.size, available_memory()
    facts: dict[str, Any] = {
        "spot": arena.spec,
        "hands": [own.size for own in arena.hands],
        "boards": arena.boards.counts,
        "nodes": size.num_nodes,
        "infosets": size.num_infosets,
        "sequences": size.num_sequences,
    }
    if json:
        more = {"bytes": size.num_bytes, "bytes_free": free, "seconds_per_iteration": size.seconds}
        print_json(facts | more | {"notes": list(arena.notes)})
        return
    facts["memory"] = f"{readable_bytes(size.num_bytes)} of {readable_bytes(free)} free"
    facts["an_iteration"] = f"about {readable_seconds(size.seconds)} on one core"
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
    ] = "dcfr(gamma=3,restart=4)",
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
    from counterplay.cli.pace import Pace
    from counterplay.cli.progress import Bar
    from counterplay.kernels.threads import set_num_threads
    from counterplay.public.locking import apply_locks
    from counterplay.public.solution import Solution
    from counterplay.public.tree import compile_note
    from counterplay.registry import load_algorithm, spec_of
    from counterplay.solving import Record
    from counterplay.solving import solve as run

    check_outputs(save, None, force)
    method, arena = load_algorithm(algorithm), _arena(spot, precision, locked=not unlock)
    pot = arena.spot.pot
    chips = _chips(target, pot)
    locks = apply_locks(arena, lock or [], twins=lock_twins)
    notes = [*arena.notes, *(note for report in locks for note in report.notes)]
    _print_notes(notes)
    set_num_threads(threads)
    size = arena.size
    print(
        f"{arena.spec}: {size.num_sequences:,} sequences, {readable_bytes(size.num_bytes)}",
        file=sys.stderr,
    )
    if compiling := compile_note():
        print(compiling, file=sys.stderr)
    bar = Bar("solving", "it", total=iterations)
    pace = Pace(chips)

    def tick(now: int) -> None:
        bar.update(now, note=pace.note())

    def report(record: Record) -> None:
        pace.add(record.iteration, record.exploitability)
        if not json:
            percent = 100.0 * record.exploitability / pot
            bar.print(f"{record.iteration}  {record.exploitability:.4g}  {percent:.4f}%")

    if not json:
        print("iteration  exploitability  percent")
    with bar, first_signal() as stop:
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
    found = result.policy.judged(arena)
    values = (float(found.values[0]), float(found.values[1]))
    if json:
        print_json(
            {
                "spot": arena.spec,
                "algorithm": spec_of(method),
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


def _chips(target: str, pot: int) -> float:
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
    from counterplay.public.equity import equity as compute

    found = compute(one, other, board, samples=samples, seed=seed)
    if json:
        facts = {"equity": found.value, "error": found.error, "boards": found.boards}
        print_json(facts)
        return
    error = f" +- {100 * found.error:.3f}" if samples else ""
    print(f"{100 * found.value:.4f}%{error} against {100 - 100 * found.value:.4f}%")


@spot.command(name="range")
def show_range(
    text: Annotated[str, typer.Argument(metavar="RANGE", help="Such as '88+,A5s-A2s:0.5,KQo'.")],
) -> None:
    """Print a range as a grid, as short a text as there is for it, and how each entry was read."""
    from counterplay.public.ranges import Range, cell, read_entries

    found = Range.parse(text)
    print(f"{found.num_hands:g} hands, {100 * found.num_hands / 1326:.2f}%")
    for row in range(13):
        cells = [cell(row, column) for column in range(13)]
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
