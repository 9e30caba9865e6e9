"""`counterplay solve`: run an algorithm, printing exact exploitability on the way."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    ExportOption,
    GameArgument,
    JsonOption,
    SeedOption,
    check_outputs,
    print_json,
    readable_bytes,
    write_outputs,
)
from counterplay.cli.signals import first_signal
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.evaluate import Judgement
    from counterplay.game import Game
    from counterplay.sampled import SizeReport
    from counterplay.solving import Record, Result
    from counterplay.tree import Tree


def solve(
    game: GameArgument,
    algorithm: Annotated[
        str, typer.Option(help="An algorithm, such as cfr_plus or 'dcfr(gamma=3)'.")
    ] = "cfr_plus",
    abstraction: Annotated[
        str | None,
        typer.Option(
            help="Solve a smaller game, such as by_rank or 'by_equity(buckets=3)'; "
            "exploitability is that of the lifted policy in the full one.",
            show_default=False,
        ),
    ] = None,
    iterations: Annotated[int, typer.Option(min=1, help="Iterations to do.")] = 1000,
    seed: SeedOption = 0,
    target: Annotated[
        float | None, typer.Option(min=0.0, help="Stop once exploitability is this low.")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the policy, for evaluate and play.")
    ] = None,
    export: ExportOption = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads to use.", show_default="all cores")
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

    Ctrl-C ends the run early: the best policy so far is reported and written. Twice aborts.
    """
    from counterplay.cli.progress import build
    from counterplay.evaluate import judge
    from counterplay.kernels.threads import set_num_threads
    from counterplay.registry import load_abstraction, load_algorithm, load_game, spec_of

    method = load_algorithm(algorithm)
    buckets = load_abstraction(abstraction) if abstraction else None
    rules = load_game(game)
    check_outputs(save, export)
    set_num_threads(threads)
    if sampled:
        if target is not None:
            raise ConfigError("--target needs exact exploitability, which --sampled cannot know")
        _solve_sampled(rules, method, json, save, export, iterations=iterations, seed=seed)
        return
    tree = build(rules)
    runner = method if buckets is None else _abstracted(tree, buckets, method)
    result = _run(tree, runner, table=not json, iterations=iterations, seed=seed, target=target)
    policy = result.best_policy if result.stopped else result.policy
    judgement = judge(tree, policy)
    if json:
        facts = _as_json(tree, method, result, judgement)
        print_json(facts | ({"abstraction": spec_of(buckets)} if buckets else {}))
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


def _run(tree: Tree, method: Any, table: bool, iterations: int, **options: Any) -> Result:
    """Solve with a progress bar and, if wanted, a table that ends with the policy to keep."""
    from counterplay.cli.progress import Bar
    from counterplay.solving import solve as run

    bar = Bar("solving", "it", total=iterations)
    done, note = 0, ""

    def tick(now: int) -> None:
        nonlocal done
        done = now
        bar.update(done, note=note)

    def report(record: Record) -> None:
        nonlocal note
        note = f"exploitability {record.exploitability:.2e}"
        if table and record.iteration == 1:
            bar.print("iteration  exploitability")
        if table:
            bar.print(_line(record))
        bar.update(done, note=note)

    with bar, first_signal() as stop:
        result = run(
            tree, method, iterations=iterations, tick=tick, report=report, stop=stop, **options
        )
    best = _best(result.records)
    if table and result.stopped and best is not result.records[-1]:
        print(_line(best))
    return result


def _solve_sampled(
    rules: Game,
    method: Any,
    json: bool,
    save: Path | None,
    export: Path | None,
    iterations: int,
    seed: int,
) -> None:
    """Solve without a tree, with a table of what has been met."""
    from counterplay.cli.progress import Bar
    from counterplay.registry import spec_of
    from counterplay.solving import solve_sampled

    bar = Bar("sampling", "it", total=iterations)

    def report(size: SizeReport) -> None:
        if not json and size.iteration == 1:
            bar.print("iteration  infosets  touched  size")
        if not json:
            known = f"{size.num_infosets}  {size.touched}  {readable_bytes(size.num_bytes)}"
            bar.print(f"{size.iteration}  {known}")

    with bar, first_signal() as stop:
        result = solve_sampled(
            rules,
            method,
            iterations=iterations,
            seed=seed,
            tick=bar.update,
            report=report,
            stop=stop,
        )
    size = result.size
    if json:
        names = {"game": spec_of(rules), "algorithm": spec_of(method)}
        print_json(names | asdict(size) | {"seconds": result.seconds, "stopped": result.stopped})
    rate = size.touched / max(result.seconds, 1e-9)
    done = f"{size.iteration:,} iterations in {result.seconds:.2f} s, {rate:,.0f} nodes/s"
    print(f"{'interrupted after ' if result.stopped else ''}{done}", file=sys.stderr)
    write_outputs(result.policy, save, export)
    if result.stopped:
        raise typer.Exit(130)


def _line(record: Record) -> str:
    return f"{record.iteration}  {record.exploitability:.2e}"


def _best(records: tuple[Record, ...]) -> Record:
    """The record of `Result.best_policy`: the least exploitable, the latest of equals."""
    return min(reversed(records), key=lambda record: record.exploitability)


def _summary(result: Result, judgement: Judgement) -> str:
    first = result.records[0]  # compilation included, where there is any
    after = max(result.seconds - first.seconds, 1e-9)
    rate = f"{(result.iterations - first.iteration) / after:,.0f}/s after the first"
    values = ", ".join(f"{value:.6f}" for value in judgement.values)
    plural = "s" * (result.iterations != 1)
    text = f"{result.iterations:,} iteration{plural} in {result.seconds:.2f} s"
    if result.iterations > first.iteration:
        text += f", {rate}"
    if result.stopped:
        text = f"interrupted after {text}; best at {_best(result.records).iteration:,}"
    return f"{text}; player values {values}"


def _as_json(tree: Tree, method: Any, result: Result, judgement: Judgement) -> dict[str, Any]:
    from counterplay.registry import spec_of

    return {
        "game": tree.spec,
        "algorithm": spec_of(method),
        "iterations": result.iterations,
        "seconds": result.seconds,
        "exploitability": judgement.exploitability,
        "nash_conv": judgement.nash_conv,
        "values": judgement.values.tolist(),
        "records": [asdict(record) for record in result.records],
        "stopped": result.stopped,
    }
