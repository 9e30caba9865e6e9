"""Handlers about runs: lists, curves and comparisons; start, stop, resume and trash."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from counterplay import __version__
from counterplay.core.archive import is_regular
from counterplay.experiment.run_folder import ENV_FILE
from counterplay.experiment.run_status import CHECKPOINT_REQUEST, send_request
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.compare import compare_runs
from counterplay.studio.server.metric_series import select_points
from counterplay.studio.server.request_validation import (
    Query,
    integer_field,
    parse_body,
    text_field,
)
from counterplay.studio.server.responses import ApiError, read_text_tail
from counterplay.studio.server.routes import JsonObject, api_route
from counterplay.studio.server.run_index import POPULATION, RunInfo
from counterplay.studio.server.run_launcher import LOG_FILE

DEFAULT_CHART_POINTS = 2_000
MIN_CHART_POINTS, MAX_CHART_POINTS = 10, 20_000
MAX_SEEDS = 100  # runs that one request may start
MAX_COMPARED_RUNS = 100
MAX_SHOWN_SIBLINGS = 200  # other runs of the same game
MAX_ENV_CHARACTERS = 100_000


@api_route("/api/hello")
async def get_server_info(studio: StudioState, request: Request) -> JsonObject:
    """Return version and settings of the studio."""
    return {
        "version": __version__,
        "runs": str(studio.runs_folder),
        "read_only": studio.read_only,
        "slots": studio.launcher.slots,
        "listeners": len(studio.event_broker.listeners),
        "computing": sum(
            len(worker.pending_calls) for worker in studio.worker_pool.workers.values()
        ),
    }


@api_route("/api/events")
async def stream_events(studio: StudioState, request: Request) -> Response:
    """Return a stream of events, one JSON object per line."""
    stream = studio.event_broker.stream(Query(request).text("after", max_length=100))
    return StreamingResponse(stream, media_type="application/x-ndjson")


@api_route("/api/runs")
async def list_runs(studio: StudioState, request: Request) -> JsonObject:
    """Return all runs and the queue."""
    if not studio.run_index.has_polled or Query(request).has("fresh"):
        await studio.poll_runs(force=True)
    return {
        "runs": [studio.summarise_run(run) for run in list(studio.run_index.runs.values())],
        "queue": studio.queue_entries(),
        "problem": studio.run_index.problem,
        "at": f"{studio.event_broker.boot_id}-{studio.event_broker.num_events}",
    }


@api_route("/api/runs/{run:path}")
async def get_run(studio: StudioState, request: Request) -> JsonObject:
    """Return one run with its config and environment."""
    run = studio.run_from_request(request)
    env = await asyncio.to_thread(read_text_tail, run.folder / ENV_FILE, 1 << 18)
    siblings = [
        other.id
        for other in list(studio.run_index.runs.values())
        if other.id != run.id and other.game == run.game
    ]
    return {
        "run": studio.summarise_run(run),
        "config": run.config,
        "env": env[:MAX_ENV_CHARACTERS],
        "folder": str(run.folder),
        "siblings": siblings[:MAX_SHOWN_SIBLINGS],
        "process": run.status.process,
        "population": is_regular(run.folder / POPULATION),
    }


@api_route("/api/runs/{run:path}/metrics")
async def get_metrics(studio: StudioState, request: Request) -> JsonObject:
    """Return the records of a run, thinned for a chart."""
    run, window = studio.run_from_request(request), _ChartWindow.from_query(Query(request))
    return await asyncio.to_thread(_read_chart, studio, run, window)


@dataclass(frozen=True)
class _ChartWindow:
    """The part of a run's records that a chart shows."""

    x: str  # step or seconds
    is_log: bool  # whether the axis of x is logarithmic
    max_points: int
    after: int  # records that the page has already
    epoch: str  # of these records
    low: float | None  # range of x; None for no limit
    high: float | None

    @classmethod
    def from_query(cls, query: Query) -> _ChartWindow:
        points = query.integer("points", DEFAULT_CHART_POINTS)
        return cls(
            x=query.choice("x", ("step", "seconds")),
            is_log=query.choice("scale", ("log", "linear")) == "log",
            max_points=min(max(points, MIN_CHART_POINTS), MAX_CHART_POINTS),
            after=query.integer("after"),
            epoch=query.text("epoch", max_length=100),
            low=query.number("from"),
            high=query.number("to"),
        )


def _read_chart(studio: StudioState, run: RunInfo, window: _ChartWindow) -> JsonObject:
    series = studio.run_index.load_series(run)
    rows = series.num_rows
    if not rows:
        return {"columns": [], "data": [], "rows": 0, "epoch": series.epoch, "after": 0}
    is_continued = window.epoch == series.epoch and 0 < window.after <= rows
    first, last = window.after if is_continued else 0, rows
    x = series.column(window.x)
    if window.low is not None:  # with a point on each side, so that lines reach the edge
        first = max(int(x.searchsorted(window.low)) - 1, 0)
    if window.high is not None:
        last = min(int(x.searchsorted(window.high, "right")) + 1, rows)
    curves = [series.column(name)[first:last] for name in series.policies]
    shown = first + select_points(x[first:last], curves, window.max_points, window.is_log)
    best = {}
    for name in series.policies:
        index = int(series.column(name).argmin())
        best[name] = [float(series.column("step")[index]), float(series.column(name)[index])]
    return {
        "columns": list(series.column_names),
        "data": [series.column(name)[shown].tolist() for name in series.column_names],
        "rows": rows,
        "epoch": series.epoch,
        "after": first,
        "thinned": shown.size < last - first,
        "best": best,
    }


@api_route("/api/runs/{run:path}/metrics.csv")
async def get_metrics_csv(studio: StudioState, request: Request) -> Response:
    """Return all records of a run as CSV."""
    run = studio.run_from_request(request)

    def read() -> str:
        series = studio.run_index.load_series(run)
        lines = [",".join(series.column_names)]
        for row in series.values[: series.num_rows].tolist():
            lines.append(",".join(repr(int(v)) if v.is_integer() else repr(v) for v in row))
        return "\n".join(lines) + "\n"

    return PlainTextResponse(await asyncio.to_thread(read), media_type="text/csv")


@api_route("/api/runs/{run:path}/log")
async def get_log(studio: StudioState, request: Request) -> JsonObject:
    """Return the end of the log of a run."""
    path = studio.run_from_request(request).folder / LOG_FILE
    text = await asyncio.to_thread(read_text_tail, path)
    return {"log": text, "there": path.exists()}


@api_route("/api/runs", "POST")
async def start_runs(studio: StudioState, request: Request) -> JsonObject:
    """Queue a config, once for each seed."""
    body = parse_body(await request.body())
    key = request.headers.get("idempotency-key", "")
    if (stored := studio.find_response(key)) is not None:
        return stored
    seeds = body.get("seeds") or [None]
    if not isinstance(seeds, list) or len(seeds) > MAX_SEEDS:
        message = f"seeds must be a list of up to {MAX_SEEDS} numbers"
        raise ApiError(422, "config", message, field="seeds")
    configs = [await _check_config(studio, body.get("config"), seed) for seed in seeds]
    tickets = [await asyncio.to_thread(studio.launcher.enqueue, config) for config in configs]
    response: JsonObject = {"tickets": tickets}
    studio.store_response(key, response)
    await studio.poll_runs()
    studio.publish_queue()
    return response


async def _check_config(studio: StudioState, config: object, seed: object) -> JsonObject:
    """Return the complete config of a run; raises `ApiError` if it is invalid."""
    resolved = studio.resolver.config(config)
    if seed is not None:
        spec = resolved.get("spec")
        resolved["spec"] = (spec if isinstance(spec, dict) else {}) | {"seed": seed}
    answer = await studio.worker_pool.ask(
        "", {"do": "check", "config": resolved}, wait_seconds=None, cpu_limit_seconds=60
    )
    if "problem" in answer:
        raise ApiError(422, "config", answer["problem"], field=answer["field"])
    checked: JsonObject = answer["config"]
    return checked


@api_route("/api/runs/{run:path}/stop", "POST")
async def stop_run(studio: StudioState, request: Request) -> JsonObject:
    """Ask a run to write a checkpoint and end."""
    await asyncio.to_thread(studio.launcher.stop, studio.run_from_request(request))
    return {}


@api_route("/api/runs/{run:path}/kill", "POST")
async def kill_run(studio: StudioState, request: Request) -> JsonObject:
    """End the process of a run at once."""
    await asyncio.to_thread(studio.launcher.kill, studio.run_from_request(request))
    return {}


@api_route("/api/runs/{run:path}/resume", "POST")
async def resume_run(studio: StudioState, request: Request) -> JsonObject:
    """Continue a run, up to a step if the body has `steps`."""
    steps = integer_field(parse_body(await request.body()), "steps", low=1)
    await asyncio.to_thread(studio.launcher.resume, studio.run_from_request(request), steps)
    return {}


@api_route("/api/runs/{run:path}/checkpoint", "POST")
async def request_checkpoint(studio: StudioState, request: Request) -> JsonObject:
    """Ask a run to write a checkpoint."""
    run = studio.run_from_request(request)
    if run.status.state != "running":
        raise ApiError(409, "not_running", f"{run.id} is not running")
    await asyncio.to_thread(send_request, run.folder, CHECKPOINT_REQUEST)
    return {}


@api_route("/api/runs/{run:path}/trash", "POST")
async def trash_run(studio: StudioState, request: Request) -> JsonObject:
    """Move a run to the trash."""
    ticket = await asyncio.to_thread(studio.launcher.trash, studio.run_from_request(request))
    await studio.poll_runs(force=True)
    return {"ticket": ticket}


@api_route("/api/restore", "POST")
async def restore_run(studio: StudioState, request: Request) -> JsonObject:
    """Move a run back from the trash."""
    ticket = text_field(parse_body(await request.body()), "ticket")
    name = await asyncio.to_thread(studio.launcher.restore, ticket, studio.run_index.runs)
    await studio.poll_runs(force=True)
    return {"run": name}


@api_route("/api/queue/{ticket}", "DELETE")
async def remove_queued_run(studio: StudioState, request: Request) -> JsonObject:
    """Remove an entry of the queue."""
    if not await asyncio.to_thread(studio.launcher.remove_pending, request.path_params["ticket"]):
        raise ApiError(404, "queue", "this entry is not in the queue any more")
    studio.publish_queue()
    return {}


@api_route("/api/queue/{ticket}/approve", "POST")
async def approve_queued_run(studio: StudioState, request: Request) -> JsonObject:
    """Approve a queued config of another user; `digest` identifies what the page has shown."""
    digest = str(parse_body(await request.body()).get("digest", ""))
    await asyncio.to_thread(studio.launcher.approve, request.path_params["ticket"], digest)
    await studio.poll_runs()
    studio.publish_queue()
    return {}


@api_route("/api/compare")
async def get_comparison(studio: StudioState, request: Request) -> JsonObject:
    """Return curves and tables of several runs."""
    names = Query(request).texts("r", max_count=MAX_COMPARED_RUNS)
    runs = [run for name in names if (run := studio.find_run(name))]
    gone = [name for name in names if studio.find_run(name) is None]
    return await asyncio.to_thread(compare_runs, studio.run_index, runs) | {"gone": gone}
