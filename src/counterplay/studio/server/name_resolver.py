"""Resolution of the names that pages send into games, policies and runs.

A page never sends a path. All names are looked up: registered games, algorithms and searchers,
games of OpenSpiel that read no file, uploaded files, and the runs of the last scan of the folder.
Every endpoint that takes a name goes through `NameResolver`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container

from counterplay.core.archive import is_regular
from counterplay.errors import ConfigError
from counterplay.experiment.run_folder import CHECKPOINT_FILE
from counterplay.registry import (
    ALGORITHMS,
    GAMES,
    SEARCH_AGENTS,
    SEARCHERS,
    is_user_class,
    parse_spec,
)
from counterplay.studio.server.game_names import UPLOAD_PATTERN, GameNames
from counterplay.studio.server.responses import ApiError
from counterplay.studio.server.run_index import RunInfo

MAX_SPEC_LENGTH = 4_000  # characters
MAX_ITERATIONS = 1_000_000  # of a policy that is solved for a page
OPENSPIEL = re.compile(r"openspiel:([\w(),=.\s-]+)", re.ASCII)
FILE_PARAMETER = re.compile(r"\w*(?:file|path|root|folder|dir)\w*\s*=", re.IGNORECASE)
FILE_GAMES = re.compile(r"\b(?:efg_game|nfg_game|crossword)\b")  # OpenSpiel's readers of files


class NameResolver:
    """Resolves games, policies, configs and runs by name; raises `ApiError` for unknown names."""

    def __init__(
        self,
        games: GameNames,
        find_run: Callable[[str], RunInfo | None],
        own_algorithms: Container[str] = (),
    ):
        self.games, self.find_run, self.own_algorithms = games, find_run, own_algorithms

    def run(self, name: str) -> RunInfo:
        """Return the run of this id."""
        run = self.find_run(name)
        if run is None:
            hint = "It may have been moved; the page Runs lists all runs."
            raise ApiError(404, "run", f"there is no run {name[:80]!r}", hint=hint)
        return run

    def game(self, name: str) -> str:
        """Return the spec that `load_game` takes."""
        name = name.strip()
        hint = "The page Games lists all games."
        if len(name) > MAX_SPEC_LENGTH:
            raise ApiError(404, "game", "the name of the game is too long", hint=hint)
        if UPLOAD_PATTERN.fullmatch(name):
            for upload in self.games.list_uploads():  # looked up, never joined to a path
                if upload.name == name:
                    return str(upload.path)
            hint = "Drop it on the page Games again."
            raise ApiError(404, "game", "this file does not exist any more", hint=hint)
        openspiel = OPENSPIEL.fullmatch(name)
        if openspiel:
            inside = openspiel[1]
            if FILE_PARAMETER.search(inside) or FILE_GAMES.search(inside):
                hint = "Drop the file on the page Games instead."
                message = "games of OpenSpiel that read a file cannot be opened by name"
                raise ApiError(404, "game", message, hint=hint)
            return name
        if name.partition("(")[0].strip() not in GAMES:
            raise ApiError(404, "game", f"there is no game {name[:80]!r} here", hint=hint)
        parse_registered("game", name, GAMES)
        return name

    def game_of(self, game: str, policy: str) -> str:
        """Return the spec of the game that a page names, or else that of the run of a policy."""
        if game:
            return self.game(game)
        run = self.find_run(_run_of(policy)[0])
        if run is None or run.read_error:
            raise ApiError(404, "game", "name a game or an existing run")
        return run.game

    def policy(self, text: str, *, allow_search: bool = False) -> dict[str, object]:
        """Return a policy as the worker expects it.

        Args:
            text: `uniform`, `solve:ALGORITHM@ITERATIONS`, `run:ID@NAME`, or for opponents
                `search:SEARCHER`, whose blueprint or network may be `run:ID@NAME`.
            allow_search: whether the policy may be a searcher.
        """
        if text in ("", "uniform"):
            return {"text": "uniform"}
        kind, _, rest = text.partition(":")
        if kind == "run":
            name, _ = _run_of(text)
            run = self.run(name)
            checkpoint = run.folder / CHECKPOINT_FILE
            if checkpoint.exists() and not is_regular(checkpoint):
                raise ApiError(409, "run", f"the checkpoint of {name} is not a regular file")
            return {"text": text, "folder": str(run.folder), "stamp": _mtime(run)}
        if kind == "search" and allow_search:
            parse_registered("searcher", rest, SEARCHERS | SEARCH_AGENTS)
            return {"text": text, "sources": self._search_sources(rest)}
        if kind == "solve":
            algorithm, _, iterations = rest.rpartition("@")
            parse_registered("algorithm", algorithm, ALGORITHMS)
            count = int(iterations) if re.fullmatch("[0-9]{1,9}", iterations, re.ASCII) else 0
            if not 1 <= count <= MAX_ITERATIONS:
                message = f"write solve:cfr_plus@1000, with up to {MAX_ITERATIONS:,} iterations"
                raise ApiError(422, "policy", message)
            return {"text": text}
        hint = "Choose one from the list on the page."
        raise ApiError(404, "policy", f"there is no policy {text[:80]!r}", hint=hint)

    def _search_sources(self, spec: str) -> dict[str, str]:
        """Return the blueprint and the network of a searcher, with runs as folders.

        All else but algorithms and `uniform` is refused: a page never names a path.
        """
        name, parameters = parse_spec("searcher", spec)
        sources: dict[str, str] = {}
        for field in ("blueprint", "network"):
            value = parameters.get(field)
            if value is None or name not in SEARCH_AGENTS:
                continue
            kind, _, rest = str(value).partition(":")
            if name in ("blueprint_search", "hunl"):
                message = "a blueprint cannot be named here; hunl takes the newest run of it"
                raise ApiError(422, field, message)
            if kind == "run" and rest:
                run_name, policy = _run_of(str(value)) if "@" in rest else (rest, "")
                folder = str(self.run(run_name).folder)
                sources[field] = f"{folder}@{policy}" if policy else folder
            elif str(value) == "uniform" or str(value).partition("(")[0] in ALGORITHMS:
                sources[field] = str(value)
            else:
                message = f"{field} is {str(value)[:80]!r}, must be an algorithm, a run or uniform"
                hint = "Write run:NAME/TIME@average for a run."
                raise ApiError(422, field, message, hint=hint, field=field)
        return sources

    def reference(self, text: str) -> dict[str, object]:
        """Return a policy to compare with: as `policy`, or a best response `best:PLAYER`."""
        if re.fullmatch("best:[0-9]{1,3}", text, re.ASCII):
            return {"text": text}
        return self.policy(text)

    def config(self, config: object) -> dict[str, object]:
        """Return a config with its game resolved.

        An algorithm of the user must be one that the page New run lists.
        """
        if not isinstance(config, dict):
            raise ApiError(422, "config", "a config is a JSON object")
        algorithm = config.get("algorithm")
        if (
            isinstance(algorithm, str)
            and is_user_class(algorithm)
            and algorithm not in self.own_algorithms
        ):
            advice = "start the studio with --algorithm FILE.py:Class"
            message = f"there is no algorithm {algorithm[:80]!r} here; {advice}"
            raise ApiError(404, "config", message, field="algorithm")
        game = config.get("game")
        if isinstance(game, str):
            return config | {"game": self.game(game)}
        if not isinstance(game, dict) or not isinstance(game.get("name"), str):
            message = 'game must be a name, or an object with a "name"'
            raise ApiError(422, "config", message, field="game")
        spec = self.game(game["name"])
        if game.get("params") and spec.partition("(")[0].strip() not in GAMES:
            message = "the parameters of this game must be part of its name"
            raise ApiError(422, "config", message, field="game.params")
        return config | {"game": game | {"name": spec}}


def parse_registered(kind: str, spec: str, registry: Container[str]) -> None:
    """Raise `ApiError` unless a spec is a registered name, with or without parameters."""
    try:
        name, _ = parse_spec(kind, spec)
    except ConfigError as error:
        raise ApiError(422, kind, str(error)[:400]) from None
    if name not in registry:
        hint = "Choose one from the list on the page."
        raise ApiError(404, kind, f"there is no {kind} {name[:80]!r}", hint=hint)


def _run_of(policy: str) -> tuple[str, str]:
    """Return the run and the policy's name in `run:ID@NAME`."""
    run_id, _, policy_name = policy.removeprefix("run:").rpartition("@")
    return run_id, policy_name


def _mtime(run: RunInfo) -> int:
    """Return the time in ns at which the checkpoint of a run was written; 0 without one."""
    try:
        return os.stat(run.folder / CHECKPOINT_FILE).st_mtime_ns
    except OSError:
        return 0
