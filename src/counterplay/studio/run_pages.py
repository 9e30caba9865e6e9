"""Questions about runs: lists, curves and comparisons; starting, stopping and putting away."""

from __future__ import annotations

import asyncio
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse

from counterplay import __version__
from counterplay.experiment.folder import ENV
from counterplay.experiment.process import CHECKPOINT, ask
from counterplay.files import is_regular
from counterplay.studio.answers import Refusal, text_of
from counterplay.studio.comparing import compared
from counterplay.studio.curves import thinned
from counterplay.studio.host import Studio
from counterplay.studio.launching import LOG
from counterplay.studio.validation import Query, integer_field, parse_body, text_field
from counterplay.studio.watching import POPULATION

POINTS = 2_000  # of a chart, at most 20,000
MAX_SEEDS = 100  # runs that one request may start


async def hello(studio: Studio, request: Request) -> Any:
    return {
        "version": __version__,
        "runs": str(studio.root),
        "read_only": studio.read_only,
        "slots": studio.launcher.slots,
        "listeners": len(studio.hub.listeners),
        "computing": sum(len(desk.calls) for desk in studio.desks.desks.values()),
    }


async def events(studio: Studio, request: Request) -> Any:
    stream = studio.hub.stream(Query(request).text("after", max_length=100))
    return StreamingResponse(stream, media_type="application/x-ndjson")


async def listed(studio: Studio, request: Request) -> Any:
    if not studio.watch.looked or Query(request).has("fresh"):
        await studio.look(force=True)
    return {
        "runs": [studio.summary(run) for run in list(studio.watch.runs.values())],
        "queue": studio.queue(),
        "problem": studio.watch.problem,
        "at": f"{studio.hub.boot}-{studio.hub.number}",
    }


async def one_run(studio: Studio, request: Request) -> Any:
    run = studio.run(request)
    env = await asyncio.to_thread(text_of, run.folder / ENV, 1 << 18)
    siblings = [
        other.id
        for other in list(studio.watch.runs.values())
        if other.id != run.id and other.game == run.game
    ]
    return {
        "run": studio.summary(run),
        "config": run.config,
        "env": env[:100_000],
        "folder": str(run.folder),
        "siblings": siblings[:200],
        "process": run.status.process,
        "population": is_regular(run.folder / POPULATION),
    }


async def metrics(studio: Studio, request: Request) -> Any:
    run, query = studio.run(request), Query(request)
    x = query.choice("x", ("step", "seconds"))
    scale = query.choice("scale", ("log", "linear"))
    points = min(max(query.integer("points", POINTS), 10), 20_000)
    after, epoch = query.integer("after"), query.text("epoch", max_length=100)
    low, high = query.number("from"), query.number("to")

    def read() -> dict[str, Any]:
        series = studio.watch.records(run)
        rows = series.rows
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
        shown = first + thinned(along[first:last], curves, points, scale == "log")
        best = {}
        for name in series.policies:
            place = int(series.column(name).argmin())
            best[name] = [float(series.column("step")[place]), float(series.column(name)[place])]
        return {
            "columns": list(series.names),
            "data": [series.column(name)[shown].tolist() for name in series.names],
            "rows": rows,
            "epoch": series.epoch,
            "after": first,
            "thinned": shown.size < last - first,
            "best": best,
        }

    return await asyncio.to_thread(read)


async def metrics_csv(studio: Studio, request: Request) -> Any:
    run = studio.run(request)

    def read() -> str:
        series = studio.watch.records(run)
        lines = [",".join(series.names)]
        for row in series.table[: series.rows].tolist():
            lines.append(",".join(repr(int(v)) if v.is_integer() else repr(v) for v in row))
        return "\n".join(lines) + "\n"

    return PlainTextResponse(await asyncio.to_thread(read), media_type="text/csv")


async def log(studio: Studio, request: Request) -> Any:
    path = studio.run(request).folder / LOG
    text = await asyncio.to_thread(text_of, path)
    return {"log": text, "there": path.exists()}


async def start(studio: Studio, request: Request) -> Any:
    body = parse_body(await request.body())
    key = request.headers.get("idempotency-key", "")
    if key and key in studio.answered:
        return studio.answered[key]
    seeds = body.get("seeds") or [None]
    if not isinstance(seeds, list) or len(seeds) > MAX_SEEDS:
        message = f"seeds must be a list of up to {MAX_SEEDS} numbers"
        raise Refusal(422, "config", message, field="seeds")
    tickets = []
    checked = []
    for seed in seeds:
        config = studio.resolver.config(body.get("config"))
        if seed is not None:
            spec = config.get("spec")
            config["spec"] = (spec if isinstance(spec, dict) else {}) | {"seed": seed}
        found = await studio.desks.ask(
            "", {"do": "check", "config": config}, patience=None, limit=60
        )
        if "problem" in found:
            raise Refusal(422, "config", found["problem"], field=found["field"])
        checked.append(found["config"])
    for config in checked:
        tickets.append(await asyncio.to_thread(studio.launcher.enqueue, config))
    done = {"tickets": tickets}
    if key:
        studio.answered[key] = done
        while len(studio.answered) > 256:
            del studio.answered[next(iter(studio.answered))]
    await studio.look()
    studio.hub.send("queue", queue=studio.queue())
    return done


async def stop(studio: Studio, request: Request) -> Any:
    await asyncio.to_thread(studio.launcher.stop, studio.run(request))
    return {}


async def kill(studio: Studio, request: Request) -> Any:
    await asyncio.to_thread(studio.launcher.kill, studio.run(request))
    return {}


async def resume(studio: Studio, request: Request) -> Any:
    steps = integer_field(parse_body(await request.body()), "steps", low=1)
    await asyncio.to_thread(studio.launcher.resume, studio.run(request), steps)
    return {}


async def request_checkpoint(studio: Studio, request: Request) -> Any:
    run = studio.run(request)
    if run.status.state != "running":
        raise Refusal(409, "not_running", f"{run.id} is not running")
    await asyncio.to_thread(ask, run.folder, CHECKPOINT)
    return {}


async def trash(studio: Studio, request: Request) -> Any:
    ticket = await asyncio.to_thread(studio.launcher.trash, studio.run(request))
    await studio.look(force=True)
    return {"ticket": ticket}


async def restore(studio: Studio, request: Request) -> Any:
    ticket = text_field(parse_body(await request.body()), "ticket")
    name = await asyncio.to_thread(studio.launcher.restore, ticket, studio.watch.runs)
    await studio.look(force=True)
    return {"run": name}


async def unqueue(studio: Studio, request: Request) -> Any:
    if not await asyncio.to_thread(studio.launcher.forget, request.path_params["ticket"]):
        raise Refusal(404, "queue", "that does not wait any more")
    studio.hub.send("queue", queue=studio.queue())
    return {}


async def approve(studio: Studio, request: Request) -> Any:
    """Let a queued config start that this user has not queued; `digest` says what was shown."""
    digest = str(parse_body(await request.body()).get("digest", ""))
    await asyncio.to_thread(studio.launcher.approve, request.path_params["ticket"], digest)
    await studio.look()
    studio.hub.send("queue", queue=studio.queue())
    return {}


async def compare(studio: Studio, request: Request) -> Any:
    names = Query(request).texts("r", max_count=100)
    runs = [run for name in names if (run := studio.find_run(name))]
    gone = [name for name in names if studio.find_run(name) is None]
    return await asyncio.to_thread(compared, studio.watch, runs) | {"gone": gone}
