"""`counterplay solve`: run an algorithm and print exact exploitability as it falls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.options import (
    ExportOption,
    ForceOption,
    GameArgument,
    JsonOption,
    SeedOption,
    ThreadsOption,
    algorithm_option,
    check_outputs,
    file_option,
    iterations_option,
)
from counterplay.cli.output import (
    format_bytes,
    print_json_line,
    print_note,
    print_observation_note,
    print_setup_note,
    write_outputs,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.core.evaluation import Judgement
    from counterplay.core.game import Game
    from counterplay.core.solve import AnyAlgorithm, Record, Result


def solve(
    game: GameArgument,
    algorithm: Annotated[
        str | None,
        algorithm_option(
            "An algorithm, such as cfr_plus or 'dcfr(gamma=3)'.",
            "the best of the league table for games of this class; outcome_sampling with --sampled",
        ),
    ] = None,
    abstraction: Annotated[
        str | None,
        typer.Option(
            metavar="ABSTRACTION",
            help="Solve a smaller game, such as by_rank or 'by_equity(num_buckets=3)'; "
            "exploitability is that of the lifted policy in the full game. "
            "GAME 'leduc_poker with by_rank' does the same.",
            show_default=False,
        ),
    ] = None,
    iterations: Annotated[
        int | None,
        iterations_option("Number of iterations.", "1000; more for networks"),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="X",
            help="In place of --iterations: as many as take about this long.",
        ),
    ] = None,
    seed: SeedOption = 0,
    target: Annotated[
        float | None,
        typer.Option(
            "--target", "-t", min=0.0, metavar="X", help="Stop once exploitability is this low."
        ),
    ] = None,
    save: Annotated[
        Path | None, file_option("--save", "-o", help="Write the policy, for evaluate and play.")
    ] = None,
    export: ExportOption = None,
    force: ForceOption = False,
    threads: ThreadsOption = None,
    sampled: Annotated[
        bool,
        typer.Option(
            "--sampled",
            help="Do not unroll the game: for games that are too large. Exploitability is not "
            "measured.",
        ),
    ] = False,
    refine: Annotated[
        str | None,
        typer.Option(
            metavar="REFINEMENT",
            help="Compute a refined equilibrium instead of running an algorithm: quasi_perfect "
            "(exact, small games) or normal_form_perfect.",
            show_default=False,
        ),
    ] = None,
    json: JsonOption = False,
) -> None:
    """Solve a game and print exact exploitability as it falls.

    GAME may be a class of your own, as file.py:Class, which runs that file's code.

    Ctrl-C ends the run early: the best policy so far is reported and written. Ctrl-C twice aborts.
    With --json, every record is a line as soon as it is measured, and the last line is the result.
    """
    from counterplay.abstraction.abstracted_game import abstract_game
    from counterplay.algorithms.default_algorithm import choose_algorithm
    from counterplay.cli.progress import build_arena_with_progress
    from counterplay.core.constant_sum import describe_shift
    from counterplay.core.evaluation import judge
    from counterplay.kernels.runtime.threads import set_num_threads
    from counterplay.registry import (
        get_spec,
        load_abstraction,
        load_algorithm,
        load_game,
        split_abstraction,
    )

    game, merged = split_abstraction(game)
    if merged and abstraction:
        raise ConfigError(f"the game has the abstraction {merged}; leave out --abstraction")
    if refine is not None:
        if algorithm or abstraction or merged or sampled:
            raise ConfigError("--refine takes no --algorithm, --abstraction or --sampled")
        _refine(load_game(game), refine, save, export, force, json)
        return
    method = load_algorithm(algorithm or ("outcome_sampling" if sampled else "cfr_plus"))
    buckets = load_abstraction(abstraction or merged) if abstraction or merged else None
    rules = load_game(game)
    check_outputs(save, export, force)
    set_num_threads(threads)
    if sampled:
        _check_sampled_outputs(method, save or export)
        rules = abstract_game(rules, buckets) if buckets else rules
        print_setup_note(rules)
    print_observation_note(method, rules)
    kind = "rules" if sampled else "tree" if buckets else ""
    arena = build_arena_with_progress(rules, kind, method.runs_on)
    if note := describe_shift(arena):
        print_note(note)
    if not algorithm and not sampled and not buckets:
        method = load_algorithm(choose_algorithm(arena))
    runner = _abstract_algorithm(arena, buckets, method) if buckets and not sampled else method
    count = _plan_iterations(arena, runner, iterations, seconds, seed)
    result = _solve_with_progress(arena, runner, count, seed, target, json)
    policy = result.best_policy if result.stopped else result.policy
    judgement = None if sampled else judge(arena, policy)
    if json:
        extra = {"abstraction": get_spec(buckets)} if buckets and not sampled else {}
        print_json_line(_result_to_json(arena.spec, method, result, judgement) | extra)
    if reason := getattr(result.memory, "stop_reason", ""):
        print_note(reason)
    chosen = "" if algorithm else f"; algorithm {get_spec(method)}"
    print_note(_summarise_result(result, judgement) + chosen)
    write_outputs(policy, save, export)
    if result.stopped:
        raise typer.Exit(130)


def _plan_iterations(
    arena: Any, method: AnyAlgorithm, iterations: int | None, seconds: float | None, seed: int
) -> int:
    """Return the number of iterations, and print it on stderr if the user did not give it."""
    from counterplay.core.solve import check_budget, default_iterations, iterations_within

    check_budget(iterations, seconds)
    if iterations is not None:
        return iterations
    has_schedule = bool(method.required_extra) and hasattr(method, "with_schedule")
    schedule = "; learning rates and other schedules span them" if has_schedule else ""
    if seconds is not None:
        count = iterations_within(arena, method, seconds, seed)
        print_note(f"{count:,} iterations in about {seconds:g} s{schedule}")
        return count
    count = default_iterations(method)
    if has_schedule:
        print_note(f"{count:,} iterations by default{schedule} (--iterations or --seconds)")
    return count


def _refine(
    rules: Game, refinement: str, save: Path | None, export: Path | None, force: bool, json: bool
) -> None:
    """Compute a refined equilibrium, print its values and write it."""
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.concepts.refinements import (
        normal_form_perfect_equilibrium,
        off_path_losses,
        quasi_perfect_equilibrium,
    )
    from counterplay.core.evaluation import judge

    methods = {
        "quasi_perfect": lambda tree: quasi_perfect_equilibrium(tree).policy,
        "normal_form_perfect": normal_form_perfect_equilibrium,
    }
    if refinement not in methods:
        raise ConfigError(f"unknown refinement {refinement!r}; known: {', '.join(methods)}")
    check_outputs(save, export, force)
    tree = build_tree_with_progress(rules)
    policy = methods[refinement](tree)
    judgement = judge(tree, policy)
    loss = float(off_path_losses(tree, policy).max(initial=0.0))
    if json:
        print_json_line(
            {
                "game": tree.spec,
                "refinement": refinement,
                "exploitability": judgement.exploitability,
                "values": judgement.values.tolist(),
                "largest_loss_off_the_path": loss,
            }
        )
    else:
        values = ", ".join(f"{value:.6f}" for value in judgement.values)
        print(f"exploitability             {judgement.exploitability:.2e}")
        print(f"player values              {values}")
        print(f"largest loss off the path  {loss:.2e}")
    write_outputs(policy, save, export)


def _check_sampled_outputs(method: AnyAlgorithm, file: Path | None) -> None:
    if method.required_extra and file:
        raise ConfigError(
            "networks trained with --sampled cannot be written as a table: keep them in a run "
            "(counterplay run), or leave out --sampled if the game has a tree or a generated arena"
        )


def _abstract_algorithm(tree: Any, buckets: Any, method: AnyAlgorithm) -> Any:
    """Return the algorithm that solves the smaller game, and print its size on stderr."""
    from counterplay.abstraction.abstraction import build_abstraction

    smaller = build_abstraction(tree, buckets)
    recall = "perfect" if smaller.tree.has_perfect_recall else "imperfect"
    print_note(f"{smaller.tree.spec}, {recall} recall")
    return smaller.wrap_algorithm(method)


def _solve_with_progress(
    arena: Any,
    method: AnyAlgorithm,
    iterations: int,
    seed: int,
    target: float | None,
    json: bool,
) -> Result:
    """Solve with a progress bar, and print a table or JSON lines.

    If the run is stopped, the last row of the table is that of the policy that is kept.
    """
    from counterplay.cli.progress import ProgressFollower
    from counterplay.core.solve import solve as run_algorithm

    compiles = bool(method.required_extra)
    follower = ProgressFollower("solving", "it", iterations, compiles=compiles)

    def report(record: Record) -> None:
        if record.is_exact:
            follower.note = f"exploitability {record.exploitability:.2e}"
        if json:
            print_json_line(_record_to_json(record))
        else:
            follower.print_row(*_table_row(record))

    with follower:
        result = run_algorithm(
            arena,
            method,
            iterations=iterations,
            seed=seed,
            target=target,
            tick=follower.tick,
            report=report,
            stop=follower.stop,
        )
        best = _best_record(result.records)
        if not json and best.is_exact and result.stopped and best is not result.records[-1]:
            follower.print_row(*_table_row(best))
    return result


def _table_row(record: Record) -> tuple[Sequence[str], Sequence[object]]:
    """Return the columns of the table and the cells of a record."""
    if record.is_exact:
        return ("iteration", "exploitability"), (
            record.iteration,
            f"{record.exploitability:.2e}",
        )
    counts: Mapping[str, object] = {
        **record.metrics,
        "bytes": format_bytes(record.metrics["bytes"]),
    }
    return ("iteration", *counts), (record.iteration, *counts.values())


def _best_record(records: tuple[Record, ...]) -> Record:
    """Return the record of `Result.best_policy`: the least exploitable, the latest of equals."""
    return min(reversed(records), key=lambda record: record.exploitability)


def _summarise_result(result: Result, judgement: Judgement | None) -> str:
    first = result.records[0]  # its time includes compilation
    seconds_after_first = max(result.seconds - first.seconds, 1e-9)
    plural = "s" * (result.iterations != 1)
    text = f"{result.iterations:,} iteration{plural} in {result.seconds:.2f} s"
    if result.iterations > first.iteration:
        rate = (result.iterations - first.iteration) / seconds_after_first
        text += f", {rate:,.0f}/s after the first"
    if result.stopped:
        text = f"interrupted after {text}"
    if judgement is None:
        rate = result.records[-1].metrics["touched"] / max(result.seconds, 1e-9)
        return f"{text}; {rate:,.0f} nodes/s"
    if result.stopped:
        text += f"; best at {_best_record(result.records).iteration:,}"
    return f"{text}; player values {', '.join(f'{value:.6f}' for value in judgement.values)}"


def _result_to_json(
    spec: str, method: AnyAlgorithm, result: Result, judgement: Judgement | None
) -> dict[str, object]:
    from counterplay.registry import get_spec

    facts: dict[str, object] = {
        "game": spec,
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


def _record_to_json(record: Record) -> dict[str, object]:
    metrics = {"exploitability": record.exploitability} if record.is_exact else record.metrics
    return {"iteration": record.iteration, **metrics, "seconds": record.seconds}
