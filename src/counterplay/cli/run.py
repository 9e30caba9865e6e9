"""`counterplay run`: run an experiment from its config, in its own folder."""

from __future__ import annotations

import json as json_format
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import (
    JsonOption,
    TrustOption,
    integer_option,
    parse_integer,
    parse_seeds,
    seed_option,
)
from counterplay.cli.output import (
    format_seconds,
    print_json_line,
    print_note,
    print_observation_note,
    print_setup_note,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment.runner import Run, RunResult

TensorBoardOption = Annotated[
    bool, typer.Option("--tensorboard", help="Write TensorBoard events into the run folder too.")
]
RunExecutorOption = Annotated[
    str | None,
    typer.Option(
        metavar="local|auto|host:port",
        help="Distribute the traversals of a Monte Carlo algorithm over processes or a Ray "
        "cluster.",
        show_default="threads of this process",
    ),
]


def run(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A JSON file, or an example of `configs`.")
    ],
    seed: Annotated[int | None, seed_option("Replaces spec.seed.", False)] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="SEEDS",
            help="One run for each seed, such as 0:5, 0-4 or 1,5.",
            show_default=False,
        ),
    ] = None,
    steps: Annotated[
        int | None, integer_option(minimum=1, help="Replaces spec.max_steps.", show_default=False)
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the run.", show_default="the config's"),
    ] = None,
    runs: Annotated[
        Path, typer.Option(metavar="DIR", help="Run folders are DIR/<name>/<time>.")
    ] = Path("runs"),
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="Replaces any key of the config; may be repeated."
        ),
    ] = None,
    tensorboard: TensorBoardOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
    on: RunExecutorOption = None,
) -> None:
    """Run an experiment in a new folder.

    The folder has the config, the metrics and the checkpoints.

    Ctrl-C writes a checkpoint and ends the run; `counterplay resume` continues it. Ctrl-C twice
    aborts. With --json, every record is a line as soon as it is measured, and the last line is the
    result.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.examples import find_config
    from counterplay.experiment.runner import discard_if_refused, new_run, tensorboard_writer_class

    if tensorboard:
        tensorboard_writer_class()  # raises an error before a folder is made
    overrides = dict(_parse_setting(text) for text in set_ or [])
    if seed is not None and seeds is not None:
        raise ConfigError("--seed and --seeds exclude each other")
    for run_seed in [seed] if seeds is None else parse_seeds("--seeds", seeds):
        options = {"spec.seed": run_seed, "spec.max_steps": steps, "name": name}
        created_run = new_run(
            find_config(config),
            runs_folder=runs,
            overrides=overrides
            | {key: value for key, value in options.items() if value is not None},
            build=build_tree_with_progress,
        )
        with discard_if_refused(created_run):
            advance_with_progress(created_run, tensorboard, json, on)


def advance_with_progress(
    run: Run, tensorboard: bool, json: bool, executor: str | None = None
) -> None:
    """Continue a run to its end, and print its records and its progress."""
    print_note(f"running {run.folder}")
    print_observation_note(run.config.algorithm, run.config.game)
    print_setup_note(getattr(run.session.arena, "game", run.config.game))
    if run.note:
        print_note(run.note)
    distribution: AbstractContextManager[None] = nullcontext()
    if executor:
        from counterplay.distributed.mccfr import distribute_run

        distribution = distribute_run(run, executor, print_note)
    with distribution:
        result = _advance(run, tensorboard, json)
    if reason := getattr(result.memory, "stop_reason", ""):
        print_note(reason)
    if json:
        print_json_line(result_to_json(result))
    if result.stopped:
        command = f"counterplay resume {result.folder}"
        print_note(f"interrupted at step {result.step:,}; to continue: {command}")
        raise typer.Exit(130)
    print_note(f"{result.step:,} steps in {format_seconds(result.seconds)}")


def _advance(run: Run, tensorboard: bool, json: bool) -> RunResult:
    from counterplay.cli.progress import ProgressFollower

    follower = ProgressFollower(
        "running",
        "steps",
        run.config.max_steps,
        compiles=bool(run.config.algorithm.required_extra),
        shows_time_left=True,
    )

    def report(record: Mapping[str, float]) -> None:
        policies = [key for key in record if key not in ("step", "seconds")]
        follower.note = f"exploitability {record[policies[0]]:.2e}"
        if json:
            print_json_line(record)
        elif _is_shown(run, int(record["step"])):
            values = [f"{record[policy]:.2e}" for policy in policies]
            follower.print_row(("step", *policies), (record["step"], *values))

    with follower:
        return run.advance(
            report=report, tick=follower.tick, stop=follower.stop, tensorboard=tensorboard
        )


def _is_shown(run: Run, step: int) -> bool:
    """Return True for the 1st, 2nd, 5th, 10th, ... of the regular records, and for the last."""
    number, rest = divmod(step, run.config.evaluate_every)
    is_round = str(number).strip("0") in ("1", "2", "5")
    return step == 1 or run.finished or (rest == 0 and is_round)


def result_to_json(result: RunResult) -> dict[str, object]:
    """Return the result of a run as a JSON object."""
    return {
        "folder": str(result.folder),
        "name": result.config.name,
        "step": result.step,
        "seconds": result.seconds,
        "stopped": result.stopped,
        "last": result.records[-1] if result.records else None,
    }


def _parse_float(text: str) -> int | float:
    """Return a JSON number; whole numbers such as 1e6 become integers."""
    whole = None if "." in text else parse_integer(text)
    return float(text) if whole is None else whole


def _parse_setting(text: str) -> tuple[str, object]:
    """Return key and value of `key=value`; the value is JSON, or else a string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {text!r}: write key=value, such as epsilon=0.1")
    try:
        return key.strip(), json_format.loads(value, parse_float=_parse_float)
    except (ValueError, RecursionError):
        return key.strip(), value
