"""Questions about runs: lists, curves and comparisons; starting, stopping and putting away."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse

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
from counterplay.studio.server.run_index import POPULATION
from counterplay.studio.server.run_launcher import LOG_FILE

DEFAULT_CHART_POINTS = 2_000  # of a chart, at most 20,000
MAX_SEEDS = 100  # runs that one request may start


async def get_server_info(studio: StudioState, request: Request) -> Any:
    return {
        "version": __version__,
        "runs": str(studio.runs_folder),
        "read_only": studio.read_only,
        "slots": studio.launcher.slots,
        "listeners": len(studio.event_broker.listeners),
        "computing": sum(len(desk.pending_calls) for desk in studio.worker_pool.workers.values()),
    }


async def stream_events(studio: StudioState, request: Request) -> Any:
    stream = studio.event_broker.stream(Query(request).text("after", max_length=100))
    return StreamingResponse(stream, media_type="application/x-ndjson")


async def list_runs(studio: StudioState, request: Request) -> Any:
    if not studio.run_index.has_polled or Query(request).has("fresh"):
        await studio.poll_runs(force=True)
    return {
        "runs": [studio.summarise_run(run) for run in list(studio.run_index.runs.values())],
        "queue": studio.queue_entries(),
        "problem": studio.run_index.problem,
        "at": f"{studio.event_broker.boot_id}-{studio.event_broker.num_events}",
    }


async def get_run(studio: StudioState, request: Request) -> Any:
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
        "env": env[:100_000],
        "folder": str(run.folder),
        "siblings": siblings[:200],
        "process": run.status.process,
        "population": is_regular(run.folder / POPULATION),
    }


async def get_metrics(studio: StudioState, request: Request) -> Any:
    run, query = studio.run_from_request(request), Query(request)
    x = query.choice("x", ("step", "seconds"))
    scale = query.choice("scale", ("log", "linear"))
    points = min(max(query.integer("points", DEFAULT_CHART_POINTS), 10), 20_000)
    after, epoch = query.integer("after"), query.text("epoch", max_length=100)
    low, high = query.number("from"), query.number("to")

    def read() -> dict[str, Any]:
        series = studio.run_index.load_series(run)
        rows = series.num_rows
        first = after if epoch == series.epoch and 0 < after <= rows else 0
        if not rows:
            return {"columns": [], "data": [], "rows": 0, "epoch": series.epoch, "after": 0}
        along = series.column(x)
        last = rows
        if low is not None:  # with a point on each side, so that lines reach the edge
            first = max(int(along.searchsorted(low)) - 1, 0)
        if high is not None:
            last = min(int(along.searchsorted(high, "right")) + 1, rows)
        curves = [series.column(name)[first:last] for name in series.policies]
        shown = first + select_points(along[first:last], curves, points, scale == "log")
        best = {}
        for name in series.policies:
            place = int(series.column(name).argmin())
            best[name] = [float(series.column("step")[place]), float(series.column(name)[place])]
        return {
            "columns": list(series.column_names),
            "data": [series.column(name)[shown].tolist() for name in series.column_names],
            "rows": rows,
            "epoch": series.epoch,
            "after": first,
            "thinned": shown.size < last - first,
            "best": best,
        }

    return await asyncio.to_thread(read)


async def get_metrics_csv(studio: StudioState, request: Request) -> Any:
    run = studio.run_from_request(request)

    def read() -> str:
        series = studio.run_index.load_series(run)
        lines = [",".join(series.column_names)]
        for row in series.values[: series.num_rows].tolist():
            lines.append(",".join(repr(int(v)) if v.is_integer() else repr(v) for v in row))
        return "\n".join(lines) + "\n"

    return PlainTextResponse(await asyncio.to_thread(read), media_type="text/csv")


async def get_log(studio: StudioState, request: Request) -> Any:
    path = studio.run_from_request(request).folder / LOG_FILE
    text = await asyncio.to_thread(read_text_tail, path)
    return {"log": text, "there": path.exists()}


async def start_runs(studio: StudioState, request: Request) -> Any:
    body = parse_body(await request.body())
    key = request.headers.get("idempotency-key", "")
    if key and key in studio.response_by_key:
        return studio.response_by_key[key]
    seeds = body.get("seeds") or [None]
    if not isinstance(seeds, list) or len(seeds) > MAX_SEEDS:
        message = f"seeds must be a list of up to {MAX_SEEDS} numbers"
        raise ApiError(422, "config", message, field="seeds")
    tickets = []
    checked = []
    for seed in seeds:
        config = studio.resolver.config(body.get("config"))
        if seed is not None:
            spec = config.get("spec")
            config["spec"] = (spec if isinstance(spec, dict) else {}) | {"seed": seed}
        found = await studio.worker_pool.ask(
            "", {"do": "check", "config": config}, wait_seconds=None, cpu_limit_seconds=60
        )
        if "problem" in found:
            raise ApiError(422, "config", found["problem"], field=found["field"])
        checked.append(found["config"])
    for config in checked:
        tickets.append(await asyncio.to_thread(studio.launcher.enqueue, config))
    done = {"tickets": tickets}
    if key:
        studio.response_by_key[key] = done
        while len(studio.response_by_key) > 256:
            del studio.response_by_key[next(iter(studio.response_by_key))]
    await studio.poll_runs()
    studio.event_broker.publish("queue", queue=studio.queue_entries())
    return done


async def stop_run(studio: StudioState, request: Request) -> Any:
    await asyncio.to_thread(studio.launcher.stop, studio.run_from_request(request))
    return {}


async def kill_run(studio: StudioState, request: Request) -> Any:
    await asyncio.to_thread(studio.launcher.kill, studio.run_from_request(request))
    return {}


async def resume_run(studio: StudioState, request: Request) -> Any:
    steps = integer_field(parse_body(await request.body()), "steps", low=1)
    await asyncio.to_thread(studio.launcher.resume, studio.run_from_request(request), steps)
    return {}


async def request_checkpoint(studio: StudioState, request: Request) -> Any:
    run = studio.run_from_request(request)
    if run.status.state != "running":
        raise ApiError(409, "not_running", f"{run.id} is not running")
    await asyncio.to_thread(send_request, run.folder, CHECKPOINT_REQUEST)
    return {}


async def trash_run(studio: StudioState, request: Request) -> Any:
    ticket = await asyncio.to_thread(studio.launcher.trash, studio.run_from_request(request))
    await studio.poll_runs(force=True)
    return {"ticket": ticket}


async def restore_run(studio: StudioState, request: Request) -> Any:
    ticket = text_field(parse_body(await request.body()), "ticket")
    name = await asyncio.to_thread(studio.launcher.restore, ticket, studio.run_index.runs)
    await studio.poll_runs(force=True)
    return {"run": name}


async def remove_queued_run(studio: StudioState, request: Request) -> Any:
    if not await asyncio.to_thread(studio.launcher.remove_pending, request.path_params["ticket"]):
        raise ApiError(404, "queue", "that does not wait any more")
    studio.event_broker.publish("queue", queue=studio.queue_entries())
    return {}


async def approve(studio: StudioState, request: Request) -> Any:
    """Let a queued config start that this user has not queued; `digest` says what was shown."""
    digest = str(parse_body(await request.body()).get("digest", ""))
    await asyncio.to_thread(studio.launcher.approve, request.path_params["ticket"], digest)
    await studio.poll_runs()
    studio.event_broker.publish("queue", queue=studio.queue_entries())
    return {}


async def get_comparison(studio: StudioState, request: Request) -> Any:
    names = Query(request).texts("r", max_count=100)
    runs = [run for name in names if (run := studio.find_run(name))]
    gone = [name for name in names if studio.find_run(name) is None]
    return await asyncio.to_thread(compare_runs, studio.run_index, runs) | {"gone": gone}
