"""`counterplay solve`: run an algorithm, printing exact exploitability on the way."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    ExportOption,
    ForceOption,
    GameArgument,
    JsonOption,
    SeedOption,
    check_outputs,
    complete_algorithms,
    integer_option,
    print_json_line,
    readable_bytes,
    say_what_networks_see,
    write_outputs,
)
from counterplay.cli.signals import first_signal
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.evaluate import Judgement
    from counterplay.solving import Record, Result
    from counterplay.tree import Tree


def solve(
    game: GameArgument,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm",
            "-a",
            metavar="ALGORITHM",
            help="An algorithm, such as cfr_plus or 'dcfr(gamma=3)'.",
            autocompletion=complete_algorithms,
            show_default="cfr_plus; outcome_sampling with --sampled",
        ),
    ] = None,
    abstraction: Annotated[
        str | None,
        typer.Option(
            metavar="ABSTRACTION",
            help="Solve a smaller game, such as by_rank or 'by_equity(buckets=3)'; "
            "exploitability is that of the lifted policy in the full one.",
            show_default=False,
        ),
    ] = None,
    iterations: Annotated[
        int, integer_option("--iterations", "-n", minimum=1, help="Iterations to do.")
    ] = 1000,
    seed: SeedOption = 0,
    target: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="X", help="Stop once exploitability is this low."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the policy, for evaluate and play.")
    ] = None,
    export: ExportOption = None,
    force: ForceOption = False,
    threads: Annotated[
        int | None, integer_option(minimum=1, help="Threads to use.", show_default="all cores")
    ] = None,
    sampled: Annotated[
        bool,
        typer.Option(
            "--sampled", help="Never unroll the game: for games too large, without exploitability."
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Solve a game, printing exact exploitability as it falls.

    GAME may be a class of your own, as file.py:Class, which runs that file's code.

    Ctrl-C ends the run early: the best policy so far is reported and written. Twice aborts. With
    --json, every record is a line as soon as it is there, and the last line is the result.
    """
    from counterplay.cli.progress import build_any
    from counterplay.evaluate import judge
    from counterplay.kernels.threads import set_num_threads
    from counterplay.registry import load_abstraction, load_algorithm, load_game, spec_of

    method = load_algorithm(algorithm or ("outcome_sampling" if sampled else "cfr_plus"))
    buckets = load_abstraction(abstraction) if abstraction else None
    rules = load_game(game)
    check_outputs(save, export, force)
    set_num_threads(threads)
    if sampled and buckets:
        if "rules" not in buckets.runs_on:
            raise ConfigError(f"{abstraction} needs a tree, which --sampled never builds")
        rules, buckets = buckets.rules(rules), None
        if not rules.buckets.path.exists():
            print("building buckets of all boards: some minutes, once", file=sys.stderr)
    if sampled and method.needs and (save or export):
        raise ConfigError(
            "networks on rules have no table to write: keep them in a run (counterplay run), or "
            "leave out --sampled where the game has a tree or a generated arena"
        )
    say_what_networks_see(method, rules)
    kind = "rules" if sampled else "tree" if buckets else ""
    arena = build_any(rules, kind, method.runs_on)
    runner = method if buckets is None else _abstracted(arena, buckets, method)
    result = _run(arena, runner, table=not json, iterations=iterations, seed=seed, target=target)
    policy = result.best_policy if result.stopped else result.policy
    judgement = None if sampled else judge(arena, policy)
    if json:
        facts = _as_json(arena, method, result, judgement)
        print_json_line(facts | ({"abstraction": spec_of(buckets)} if buckets else {}))
    if ending := getattr(result.memory, "ending", ""):
        print(ending, file=sys.stderr)
    print(_summary(result, judgement), file=sys.stderr)
    write_outputs(policy, save, export)
    if result.stopped:
        raise typer.Exit(130)


def _abstracted(tree: Tree, buckets: Any, method: Any) -> Any:
    """The algorithm for the smaller game, whose size goes to stderr."""
    from counterplay.abstraction.abstract import abstract

    smaller = abstract(tree, buckets)
    recall = "perfect" if smaller.tree.perfect_recall else "imperfect"
    print(f"{smaller.tree.spec}, {recall} recall", file=sys.stderr)
    return smaller.using(method)


def _run(arena: Any, method: Any, table: bool, iterations: int, **options: Any) -> Result:
    """Solve with a progress bar and, if wanted, a table that ends with the policy to keep."""
    from counterplay.cli.progress import Bar
    from counterplay.solving import solve as run

    bar = Bar("solving", "it", total=iterations)
    done, note = 0, ""

    def tick(now: int) -> None:
        nonlocal done
        if not done:
            bar.waited_until(now)
        done = now
        bar.update(done, note=note)

    def report(record: Record) -> None:
        nonlocal note
        note = f"exploitability {record.exploitability:.2e}" if record.exact else ""
        if not table:
            print_json_line(_row(record))
        if table and record.iteration == 1:
            columns = ["exploitability"] if record.exact else record.measured
            bar.print("  ".join(["iteration", *columns]))
        if table:
            bar.print(_line(record))
        bar.update(done, note=note)

    with bar, first_signal() as stop:
        bar.update(0, note="compiling" if method.needs else "")
        result = run(
            arena, method, iterations=iterations, tick=tick, report=report, stop=stop, **options
        )
    best = _best(result.records)
    if table and best.exact and result.stopped and best is not result.records[-1]:
        print(_line(best))
    return result


def _line(record: Record) -> str:
    if record.exact:
        return f"{record.iteration}  {record.exploitability:.2e}"
    counts = {**record.measured, "bytes": readable_bytes(record.measured["bytes"])}
    return "  ".join(map(str, [record.iteration, *counts.values()]))


def _best(records: tuple[Record, ...]) -> Record:
    """The record of `Result.best_policy`: the least exploitable, the latest of equals."""
    return min(reversed(records), key=lambda record: record.exploitability)


def _summary(result: Result, judgement: Judgement | None) -> str:
    first = result.records[0]  # compilation included, where there is any
    after = max(result.seconds - first.seconds, 1e-9)
    plural = "s" * (result.iterations != 1)
    text = f"{result.iterations:,} iteration{plural} in {result.seconds:.2f} s"
    if result.iterations > first.iteration:
        text += f", {(result.iterations - first.iteration) / after:,.0f}/s after the first"
    if result.stopped:
        text = f"interrupted after {text}"
    if judgement is None:
        rate = result.records[-1].measured["touched"] / max(result.seconds, 1e-9)
        return f"{text}; {rate:,.0f} nodes/s"
    if result.stopped:
        text += f"; best at {_best(result.records).iteration:,}"
    return f"{text}; player values {', '.join(f'{value:.6f}' for value in judgement.values)}"


def _as_json(
    arena: Any, method: Any, result: Result, judgement: Judgement | None
) -> dict[str, Any]:
    from counterplay.registry import spec_of

    facts = {
        "game": arena.spec,
        "algorithm": spec_of(method),
        "iterations": result.iterations,
        "seconds": result.seconds,
        "stopped": result.stopped,
    }
    if judgement is None:
        return facts | dict(result.records[-1].measured)
    return facts | {
        "exploitability": judgement.exploitability,
        "nash_conv": judgement.nash_conv,
        "values": judgement.values.tolist(),
    }


def _row(record: Record) -> dict[str, Any]:
    measured = {"exploitability": record.exploitability} if record.exact else record.measured
    return {"iteration": record.iteration, **measured, "seconds": record.seconds}
