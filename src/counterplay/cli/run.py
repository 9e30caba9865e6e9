"""`counterplay run`: an experiment from its config, in a folder of its own."""

from __future__ import annotations

import json as json_format
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    JsonOption,
    TrustOption,
    format_seconds,
    integer_option,
    parse_integer,
    parse_seeds,
    print_json_line,
    print_observation_note,
)
from counterplay.cli.signals import catch_first_signal
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.experiment.runner import Run, RunResult

TensorBoardOption = Annotated[
    bool, typer.Option("--tensorboard", help="Write TensorBoard events into the run folder too.")
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        metavar="local|auto|host:port",
        help="Let processes or a Ray cluster walk an algorithm's workers.",
        show_default="threads here",
    ),
]


def run(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A JSON file, or an example of `configs`.")
    ],
    seed: Annotated[
        int | None,
        integer_option("--seed", "-s", minimum=0, help="Replaces spec.seed.", show_default=False),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="SEEDS", help="One run for each, such as 0:5, 0-4 or 1,5.", show_default=False
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
        Path, typer.Option(metavar="DIR", help="Where run folders are made: DIR/<name>/<time>.")
    ] = Path("runs"),
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Replaces any key; may be repeated."),
    ] = None,
    tensorboard: TensorBoardOption = False,
    json: JsonOption = False,
    trust: TrustOption = None,
    on: ExecutorOption = None,
) -> None:
    """Run an experiment and keep all of it in a folder.

    Ctrl-C writes a checkpoint and ends; `counterplay resume` goes on from there. Twice aborts. With
    --json, every record is a line as soon as it is there, and the last line is the result.
    """
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.experiment.examples import find_config
    from counterplay.experiment.runner import discard_if_refused, new_run, tensorboard_writer_class

    if tensorboard:
        tensorboard_writer_class()  # complains before a folder is made
    overrides = dict(_parse_setting(text) for text in set_ or [])
    if seed is not None and seeds is not None:
        raise ConfigError("--seed and --seeds exclude each other")
    for one in [seed] if seeds is None else parse_seeds("--seeds", seeds):
        given = {"spec.seed": one, "spec.max_steps": steps, "name": name}
        more = {key: value for key, value in given.items() if value is not None}
        made = new_run(
            find_config(config),
            runs_folder=runs,
            overrides=overrides | more,
            build=build_tree_with_progress,
        )
        with discard_if_refused(made):
            advance_with_progress(made, tensorboard, json, on)


def advance_with_progress(
    run: Run, tensorboard: bool, json: bool, executor: str | None = None
) -> None:
    """Let a run go on to its end, printing records and progress."""
    print(f"running {run.folder}", file=sys.stderr)
    print_observation_note(run.config.algorithm, run.config.game)
    if run.note:
        print(run.note, file=sys.stderr)
    where: AbstractContextManager[None] = nullcontext()
    if executor:
        from counterplay.distributed.mccfr import distribute_run

        where = distribute_run(run, executor, lambda line: print(line, file=sys.stderr))
    with where, _RunReporter(run, table=not json) as follower, catch_first_signal() as stop:
        result = run.advance(
            report=follower.report, tick=follower.tick, stop=stop, tensorboard=tensorboard
        )
    if ending := getattr(result.memory, "stop_reason", ""):
        print(ending, file=sys.stderr)
    if json:
        print_json_line(result_to_json(result))
    if result.stopped:
        go_on = f"counterplay resume {result.folder}"
        print(f"interrupted at step {result.step:,}; to go on: {go_on}", file=sys.stderr)
        raise typer.Exit(130)
    print(f"{result.step:,} steps in {format_seconds(result.seconds)}", file=sys.stderr)


class _RunReporter:
    """Shows how a run goes: some records on stdout, a progress bar on stderr."""

    def __init__(self, run: Run, table: bool):
        from counterplay.cli.progress import ProgressBar

        self.run, self.prints_table, self.printed_columns, self.note = run, table, [""], ""
        self.bar = ProgressBar("running", "steps", total=run.config.max_steps)
        self.has_compiled = False  # for compilation, which the first step does

    def __enter__(self) -> _RunReporter:
        self.bar.__enter__()
        self.bar.update(0, note="compiling" if self.run.config.algorithm.required_extra else "")
        return self

    def __exit__(self, *problem: Any) -> None:
        self.bar.__exit__(*problem)

    def tick(self, step: int) -> None:
        if not self.has_compiled:
            self.has_compiled = True
            self.bar.restart_rate(step)
            return
        seconds = (self.run.config.max_steps - step) / max(self.bar.rate(step), 1e-9)
        self.bar.update(step, note=f"{format_seconds(seconds)} left{self.note}")

    def report(self, record: dict[str, Any]) -> None:
        policies = [key for key in record if key not in ("step", "seconds")]
        self.note = f", exploitability {record[policies[0]]:.2e}"
        if not self.prints_table:
            print_json_line(record)
            return
        if not self._is_shown(record["step"]):
            return
        if self.printed_columns != policies:
            self.printed_columns = policies
            self.bar.print("  ".join(["step", *policies]))
        values = [f"{record[policy]:.2e}" for policy in policies]
        self.bar.print("  ".join([str(record["step"]), *values]))

    def _is_shown(self, step: int) -> bool:
        """Whether the record is the 1st, 2nd, 5th, 10th, ... of the regular ones, or the last."""
        number, rest = divmod(step, self.run.config.evaluate_every)
        round_number = str(number).strip("0") in ("1", "2", "5")
        return step == 1 or self.run.finished or (rest == 0 and round_number)


def result_to_json(result: RunResult) -> dict[str, Any]:
    """What a run has come to, for machines."""
    return {
        "folder": str(result.folder),
        "name": result.config.name,
        "step": result.step,
        "seconds": result.seconds,
        "stopped": result.stopped,
        "last": result.records[-1] if result.records else None,
    }


def _parse_float(text: str) -> int | float:
    """A number of JSON; 1e6 may be a count."""
    whole = None if "." in text else parse_integer(text)
    return float(text) if whole is None else whole


def _parse_setting(text: str) -> tuple[str, Any]:
    """Key and value of `key=value`; the value is JSON, or else a string."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigError(f"--set {text!r}: write key=value, such as epsilon=0.1")
    try:
        return key.strip(), json_format.loads(value, parse_float=_parse_float)
    except (ValueError, RecursionError):
        return key.strip(), value
