"""Handlers about hold'em: spots, ranges, solutions, drills and played hands."""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path

from starlette.requests import Request

from counterplay.core.trust import state_folder
from counterplay.errors import ConfigError
from counterplay.studio.server.app_state import StudioState
from counterplay.studio.server.file_library import FileLibrary, LibraryFile
from counterplay.studio.server.request_validation import parse_body, text_field
from counterplay.studio.server.responses import ApiError, not_found_error
from counterplay.studio.server.routes import JsonObject, api_route

LIBRARIES = {  # folder, suffix and kind of the user's files
    "ranges": (".txt", "range"),
    "spots": (".json", "spot"),
    "solutions": (".cps", "solution"),
}
RECENT_FOLDER = "recent"  # below that of the solutions
NUM_HANDS = 1326
MAX_DECISIONS = 200  # of one request
PROGRESS_FILE = "drills.jsonl"
SPOT_QUESTIONS = {  # path -> question of the worker, and the fields of a body that it takes
    "node": ("spot", ("record",)),
    "runouts": ("runouts", ("record",)),
    "resume": ("continue_solving", ()),
    "question": ("drill_question", ("line", "street", "player", "exact", "repeat")),
    "answer": ("drill_answer", ("history", "hand", "action", "seconds", "late")),
    "price": ("price_decisions", ("decisions",)),
}


def library(studio: StudioState, kind: str) -> FileLibrary:
    """Return one of the libraries of the user's files."""
    if kind not in LIBRARIES:
        raise not_found_error()
    return FileLibrary(studio.runs_folder / ".studio" / kind, *LIBRARIES[kind])


async def _ask_library(studio: StudioState, question: JsonObject, seconds: float) -> JsonObject:
    answer: JsonObject = await studio.worker_pool.ask(
        "", question, wait_seconds=None, cpu_limit_seconds=seconds
    )
    return answer


@api_route("/api/spot", "POST", read_only=True)
async def query_spot(studio: StudioState, request: Request) -> JsonObject:
    """Return a node of the solution of a hold'em spot, or with `estimate` the size of the spot."""
    body = parse_body(await request.body())
    if not body.get("estimate"):
        return await _ask_about_spot(studio, body, "node")
    spot = body.get("spot")
    if not isinstance(spot, dict):
        raise ApiError(422, "spot", "spot must be a JSON object")
    try:
        return await _ask_library(studio, {"do": "spot_size", "spot": spot}, 30)
    except ApiError as error:
        if error.status != 422:
            raise
        return {"problem": error.message}  # a spot may be invalid while it is typed


@api_route("/api/spot/end", "POST", read_only=True)
async def close_spot_worker(studio: StudioState, request: Request) -> JsonObject:
    """End the computation of a spot; what was solved is lost."""
    name, _ = _spot_source(studio, parse_body(await request.body()))
    return {"closed": studio.worker_pool.close(name)}


@api_route("/api/spot/stop", "POST", read_only=True)
async def stop_solving(studio: StudioState, request: Request) -> JsonObject:
    """Stop the solve of a spot; the solution so far stays, and the solve can go on."""
    name, _ = _spot_source(studio, parse_body(await request.body()))
    if name not in studio.worker_pool.workers:
        return {"stopped": False}
    answer: JsonObject = await studio.worker_pool.ask(
        name, {"do": "stop_solving"}, wait_seconds=None
    )
    return answer


@api_route("/api/solutions", "POST")
async def save_solution(studio: StudioState, request: Request) -> JsonObject:
    """Write the solution of a spot into the library."""
    body = parse_body(await request.body())
    path = library(studio, "solutions").new_path(body.get("name"))
    name, question = _spot_source(studio, body)
    question |= {"do": "save_spot", "save_path": str(path)}
    answer: JsonObject = await studio.worker_pool.ask(name, question)
    return answer | {"name": path.stem, "path": _format_path(studio, path)}


@api_route("/api/spot/{what}", "POST", read_only=True)
async def query_solution(studio: StudioState, request: Request) -> JsonObject:
    """Answer one of `SPOT_QUESTIONS` about a solution."""
    what = request.path_params["what"]
    if what not in SPOT_QUESTIONS:
        raise not_found_error()
    return await _ask_about_spot(studio, parse_body(await request.body()), what)


async def _ask_about_spot(studio: StudioState, body: JsonObject, what: str) -> JsonObject:
    kind, fields = SPOT_QUESTIONS[what]
    name, question = _spot_source(studio, body)
    question |= {"do": kind} | {field: _read_field(body, field) for field in fields}
    if versus := text_field(body, "versus"):
        question["versus"] = (
            versus if versus == "base" else str(library(studio, "solutions").find(versus).path)
        )
    if kind in ("drill_question", "drill_answer"):
        question["solution"] = _solution_name(body)
        question["progress_path"] = str(_progress_path())
    if kind == "drill_answer":
        question["record"] = not studio.read_only
    answer: JsonObject = await studio.worker_pool.ask(name, question)
    return answer


def _read_field(body: JsonObject, name: str) -> object:
    """Return a field of a body, or its default if it is missing."""
    if name in ("exact", "late", "repeat"):
        return bool(body.get(name, name == "repeat"))
    if name == "player":
        player = body.get(name)
        return player if player in (0, 1) and not isinstance(player, bool) else None
    if name == "seconds":
        seconds = body.get(name, 0.0)
        return seconds if isinstance(seconds, (int, float)) and 0.0 <= seconds < 1e6 else 0.0
    if name == "decisions":
        decisions = body.get(name)
        if not isinstance(decisions, list) or len(decisions) > MAX_DECISIONS:
            raise ApiError(422, name, f"decisions must be a list of up to {MAX_DECISIONS}")
        fields = ("history", "hand", "action")
        return [
            {field: text_field(decision, field) for field in fields}
            for decision in decisions
            if isinstance(decision, dict)
        ]
    return text_field(body, name)


def _read_variant(variant: object) -> JsonObject:
    """Return the locks or the over-fold of a body; raise `ApiError` if they are malformed."""
    error = ApiError(422, "variant", "variant has locks or an overfold", field="variant")
    if not isinstance(variant, dict):
        raise error
    if not variant:
        return {}
    overfold = variant.get("overfold")
    if isinstance(overfold, dict):
        values = overfold.get("player"), overfold.get("percent")
        if not all(isinstance(value, (int, float)) for value in values):
            raise error
        return {"overfold": {"player": values[0], "percent": values[1]}}
    locks = variant.get("locks")
    if not isinstance(locks, list):
        raise error
    checked = []
    for lock in locks:
        shares = lock.get("shares") if isinstance(lock, dict) else None
        if not isinstance(shares, dict) or not all(map(_is_weight, shares.values())):
            raise error
        texts = {"record": text_field(lock, "record"), "hands": str(lock.get("hands", "random"))}
        checked.append(texts | {"shares": shares})
    return {"locks": checked}


def _spot_source(studio: StudioState, body: JsonObject) -> tuple[str, JsonObject]:
    """Return the name of the worker of a body's solution, and the fields that describe it."""
    target = body.get("target", 0.5)
    if not isinstance(target, (int, float)) or isinstance(target, bool):
        raise ApiError(422, "target", "target must be a number", field="target")
    variant = _read_variant(body.get("variant") or {})
    common: JsonObject = {"target": target} | ({"variant": variant} if variant else {})
    if "file" in body:
        file = library(studio, "solutions").find(text_field(body, "file"))
        worker = f"solution:{file.name}:{file.time}"
        return worker, common | {"path": str(file.path), "spot": {}}
    spot = body.get("spot")
    if not isinstance(spot, dict):
        raise ApiError(422, "spot", "spot must be a JSON object", field="spot")
    digest = _spot_digest(spot)
    folder = library(studio, "solutions").folder / RECENT_FOLDER
    recent: JsonObject = {} if studio.read_only else {"recent": str(folder / f"{digest}.cps")}
    return f"spot:{digest}", common | {"spot": spot} | recent


def _spot_digest(spot: object) -> str:
    text = json.dumps(spot, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _solution_name(body: JsonObject) -> str:
    """Return the name under which answers of a drill are kept."""
    return str(body["file"]) if "file" in body else f"spot {_spot_digest(body.get('spot'))}"


def _progress_path() -> Path:
    return state_folder() / PROGRESS_FILE


def _format_path(studio: StudioState, path: Path) -> str:
    """Return a path for commands: relative to the current folder if it is below it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


# --- reports over flops ---


@api_route("/api/report", "POST", read_only=True)
async def query_report(studio: StudioState, request: Request) -> JsonObject:
    """Return the report of a spot over a set of flops, which is solved at the first call."""
    name, question = _report_question(studio, parse_body(await request.body()))
    answer: JsonObject = await studio.worker_pool.ask(name, question)
    return answer


@api_route("/api/report/stop", "POST", read_only=True)
async def stop_report(studio: StudioState, request: Request) -> JsonObject:
    """Stop a report after the flop that is being solved; it can go on later."""
    name, _ = _report_question(studio, parse_body(await request.body()))
    if name not in studio.worker_pool.workers:
        return {"stopped": False}
    stop: JsonObject = {"do": "stop_solving"}
    answer: JsonObject = await studio.worker_pool.ask(name, stop, wait_seconds=None)
    return answer


def _report_question(studio: StudioState, body: JsonObject) -> tuple[str, JsonObject]:
    """Return the worker of a report and its question."""
    _, source = _spot_source(studio, {"spot": body.get("spot"), "target": body.get("target", 0.5)})
    settings = {"spot": source["spot"], "target": source["target"]}
    digest = _spot_digest(settings)
    question: JsonObject = {"do": "flop_report", "flops": text_field(body, "flops", "25")}
    if not studio.read_only:
        question["folder"] = str(studio.runs_folder / ".studio" / "reports" / digest)
    return f"report:{digest}", question | settings


# --- ranges ---


@api_route("/api/range", "POST", read_only=True)
async def convert_range(studio: StudioState, request: Request) -> JsonObject:
    """Convert a range between its text and its weights by hand."""
    body = parse_body(await request.body())
    return await asyncio.to_thread(_convert_range, body)


def _convert_range(body: JsonObject) -> JsonObject:
    import numpy as np

    from counterplay.arenas.holdem.hand_ranges import Range, format_range

    weights = body.get("weights")
    if weights is not None:
        numbers = weights if isinstance(weights, list) else []
        if len(numbers) != NUM_HANDS or not all(map(_is_weight, numbers)):
            message = f"weights must be {NUM_HANDS} numbers from 0 to 1"
            raise ApiError(422, "weights", message, field="weights")
        array = np.array(numbers, np.float64)
        return {"text": format_range(array), "combos": float(array.sum())}
    text = body.get("text")
    if not isinstance(text, str) or len(text) > 100_000:
        raise ApiError(422, "text", "text must be a range", field="text")
    if not text.strip():
        return {"weights": [0] * NUM_HANDS, "combos": 0.0}
    try:
        hand_range = Range.parse(text)
    except ConfigError as error:
        return {"problem": str(error)}  # a range may be invalid while it is typed
    return {"weights": hand_range.weights.tolist(), "combos": hand_range.num_combos}


def _is_weight(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


# --- the user's files ---


@api_route("/api/library/{kind}")
async def list_library(studio: StudioState, request: Request) -> JsonObject:
    """Return the files of a library; texts with their content."""
    files = library(studio, request.path_params["kind"])
    return {"files": [_describe_file(studio, files, file) for file in files.list_files()]}


def _describe_file(studio: StudioState, files: FileLibrary, file: LibraryFile) -> JsonObject:
    about: JsonObject = {"name": file.name, "bytes": file.size, "time": file.time}
    about["path"] = _format_path(studio, file.path)
    if files.kind != "solution":
        about["text"] = files.read_text(file)
    return about


@api_route("/api/library/{kind}", "POST")
async def save_to_library(studio: StudioState, request: Request) -> JsonObject:
    """Write a range or a spot into its library; a file of the same name is replaced."""
    body = parse_body(await request.body())
    files = library(studio, request.path_params["kind"])
    text = body.get("text")
    if files.kind == "solution" or not isinstance(text, str):
        raise ApiError(422, "text", "text must be a text", field="text")
    return {"name": files.save_text(body.get("name"), text)}


@api_route("/api/library/{kind}/{name}", "DELETE")
async def delete_from_library(studio: StudioState, request: Request) -> JsonObject:
    """Remove a file of a library."""
    files = library(studio, request.path_params["kind"])
    files.delete(request.path_params["name"])
    return {"deleted": request.path_params["name"]}


# --- drills and played hands ---


@api_route("/api/drills", "POST", read_only=True)
async def get_drill_statistics(studio: StudioState, request: Request) -> JsonObject:
    """Return the statistics of all answers, or of those of one solution."""
    body = parse_body(await request.body())
    solution = _solution_name(body) if "file" in body or "spot" in body else ""
    question: JsonObject = {"do": "drill_statistics", "solution": solution}
    path = _progress_path()
    answer = await _ask_library(studio, question | {"progress_path": str(path)}, 20)
    return answer | {"path": str(path)}


@api_route("/api/review", "POST", read_only=True)
async def review_hands(studio: StudioState, request: Request) -> JsonObject:
    """Return the decisions of dropped hand histories, with the prices of an agent."""
    body = parse_body(await request.body())
    question: JsonObject = {"do": "review"}
    files, ranges = body.get("files"), body.get("ranges", ["random", "random"])
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise ApiError(422, "files", "files must be a list of names and texts", field="files")
    texts = ranges if isinstance(ranges, list) else []
    if len(texts) != 2 or not all(isinstance(text, str) for text in texts):
        raise ApiError(422, "ranges", "ranges must be two texts", field="ranges")
    question |= {"files": files, "ranges": ranges, "street": text_field(body, "street", "flop")}
    return await _ask_library(studio, question, 60)
