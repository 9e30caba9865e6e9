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
    format_bytes,
    integer_option,
    print_json_line,
    print_observation_note,
    write_outputs,
)
from counterplay.cli.signals import catch_first_signal
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.evaluation import Judgement
    from counterplay.core.solve import Record, Result


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
            help="Solve a smaller game, such as by_rank or 'by_equity(num_buckets=3)'; "
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
    from counterplay.cli.progress import build_arena_with_progress
    from counterplay.core.evaluation import judge
    from counterplay.kernels.runtime.threads import set_num_threads
    from counterplay.registry import get_spec, load_abstraction, load_algorithm, load_game

    method = load_algorithm(algorithm or ("outcome_sampling" if sampled else "cfr_plus"))
    buckets = load_abstraction(abstraction) if abstraction else None
    rules = load_game(game)
    check_outputs(save, export, force)
    set_num_threads(threads)
    if sampled and buckets:
        if "rules" not in buckets.runs_on:
            raise ConfigError(f"{abstraction} needs a tree, which --sampled never builds")
        rules, buckets = buckets.bucket_game(rules), None
        if not rules.buckets.cache_path.exists():
            print("building buckets of all boards: some minutes, once", file=sys.stderr)
    if sampled and method.required_extra and (save or export):
        raise ConfigError(
            "networks on rules have no table to write: keep them in a run (counterplay run), or "
            "leave out --sampled where the game has a tree or a generated arena"
        )
    print_observation_note(method, rules)
    kind = "rules" if sampled else "tree" if buckets else ""
    arena = build_arena_with_progress(rules, kind, method.runs_on)
    runner = method if buckets is None else _abstract_algorithm(arena, buckets, method)
    result = _solve_with_progress(
        arena, runner, table=not json, iterations=iterations, seed=seed, target=target
    )
    policy = result.best_policy if result.stopped else result.policy
    judgement = None if sampled else judge(arena, policy)
    if json:
        facts = _result_to_json(arena, method, result, judgement)
        print_json_line(facts | ({"abstraction": get_spec(buckets)} if buckets else {}))
    if ending := getattr(result.memory, "stop_reason", ""):
        print(ending, file=sys.stderr)
    print(_summarise_result(result, judgement), file=sys.stderr)
    write_outputs(policy, save, export)
    if result.stopped:
        raise typer.Exit(130)


def _abstract_algorithm(tree: TreeArena, buckets: Any, method: Any) -> Any:
    """The algorithm for the smaller game, whose size goes to stderr."""
    from counterplay.abstraction.abstraction import build_abstraction

    smaller = build_abstraction(tree, buckets)
    recall = "perfect" if smaller.tree.has_perfect_recall else "imperfect"
    print(f"{smaller.tree.spec}, {recall} recall", file=sys.stderr)
    return smaller.wrap_algorithm(method)


def _solve_with_progress(
    arena: Any, method: Any, table: bool, iterations: int, **options: Any
) -> Result:
    """Solve with a progress bar and, if wanted, a table that ends with the policy to keep."""
    from counterplay.cli.progress import ProgressBar
    from counterplay.core.solve import solve as run

    bar = ProgressBar("solving", "it", total=iterations)
    done, note = 0, ""

    def tick(now: int) -> None:
        nonlocal done
        if not done:
            bar.restart_rate(now)
        done = now
        bar.update(done, note=note)

    def report(record: Record) -> None:
        nonlocal note
        note = f"exploitability {record.exploitability:.2e}" if record.is_exact else ""
        if not table:
            print_json_line(_record_to_json(record))
        if table and record.iteration == 1:
            columns = ["exploitability"] if record.is_exact else record.metrics
            bar.print("  ".join(["iteration", *columns]))
        if table:
            bar.print(_format_record(record))
        bar.update(done, note=note)

    with bar, catch_first_signal() as stop:
        bar.update(0, note="compiling" if method.required_extra else "")
        result = run(
            arena, method, iterations=iterations, tick=tick, report=report, stop=stop, **options
        )
    best = _best_record(result.records)
    if table and best.is_exact and result.stopped and best is not result.records[-1]:
        print(_format_record(best))
    return result


def _format_record(record: Record) -> str:
    if record.is_exact:
        return f"{record.iteration}  {record.exploitability:.2e}"
    counts = {**record.metrics, "bytes": format_bytes(record.metrics["bytes"])}
    return "  ".join(map(str, [record.iteration, *counts.values()]))


def _best_record(records: tuple[Record, ...]) -> Record:
    """The record of `Result.best_policy`: the least exploitable, the latest of equals."""
    return min(reversed(records), key=lambda record: record.exploitability)


def _summarise_result(result: Result, judgement: Judgement | None) -> str:
    first = result.records[0]  # compilation included, where there is any
    after = max(result.seconds - first.seconds, 1e-9)
    plural = "s" * (result.iterations != 1)
    text = f"{result.iterations:,} iteration{plural} in {result.seconds:.2f} s"
    if result.iterations > first.iteration:
        text += f", {(result.iterations - first.iteration) / after:,.0f}/s after the first"
    if result.stopped:
        text = f"interrupted after {text}"
    if judgement is None:
        rate = result.records[-1].metrics["touched"] / max(result.seconds, 1e-9)
        return f"{text}; {rate:,.0f} nodes/s"
    if result.stopped:
        text += f"; best at {_best_record(result.records).iteration:,}"
    return f"{text}; player values {', '.join(f'{value:.6f}' for value in judgement.values)}"


def _result_to_json(
    arena: Any, method: Any, result: Result, judgement: Judgement | None
) -> dict[str, Any]:
    from counterplay.registry import get_spec

    facts = {
        "game": arena.spec,
        "algorithm": get_spec(method),
        "iterations": result.iterations,
        "seconds": result.seconds,
        "stopped": result.stopped,
    }
    if judgement is None:
        return facts | dict(result.records[-1].metrics)
    return facts | {
        "exploitability": judgement.exploitability,
        "nash_conv": judgement.nash_conv,
        "values": judgement.values.tolist(),
    }


def _record_to_json(record: Record) -> dict[str, Any]:
    measured = {"exploitability": record.exploitability} if record.is_exact else record.metrics
    return {"iteration": record.iteration, **measured, "seconds": record.seconds}
