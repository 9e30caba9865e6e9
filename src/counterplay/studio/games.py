"""Games that pages may name: registered ones, OpenSpiel's, and files that were uploaded.

A page never names a path. An uploaded file is kept below the folder of runs under the hash of what
it holds, and is called `upload:HASH.efg` from then on.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from counterplay.errors import RunError
from counterplay.files import write_text
from counterplay.registry import GAMES
from counterplay.studio.answers import Refusal

UPLOAD = re.compile(r"upload:([0-9a-f]{16}\.(?:efg|nfg|json))")
NAMED = re.compile(r"([a-z0-9_]+)\s*(\(.*\))?", re.DOTALL)
OPENSPIEL = re.compile(r"openspiel:[\w(),=.\s-]+")
LONGEST = 4_000  # characters of a spec
SUFFIXES = (".efg", ".nfg", ".json")


class Games:
    """Turns what a page calls a game into what the library loads, and back."""

    def __init__(self, root: Path):
        self.folder = root / ".studio" / "games"

    def spec(self, name: str) -> str:
        """What `load_game` takes."""
        name = name.strip()
        if len(name) > LONGEST:
            raise Refusal(404, "game", "there is no game with so long a name")
        match = UPLOAD.fullmatch(name)
        if match:
            for entry in self.listed():  # looked up, never joined
                if entry["name"] == name:
                    return str(entry["path"])
            raise Refusal(404, "game", "this file is not there any more; drop it again")
        named = NAMED.fullmatch(name)
        if named and named[1] in GAMES:
            return name
        if OPENSPIEL.fullmatch(name):
            return name
        raise Refusal(404, "game", f"there is no game {name[:80]!r} here")

    def name(self, spec: str) -> str:
        """What a page calls a game of a run, if it may ask for it; otherwise the spec."""
        for entry in self.listed():
            if str(entry["path"]) == spec:
                return str(entry["name"])
        return spec

    def listed(self) -> list[dict[str, Any]]:
        """The uploaded files, with the names that they came with."""
        found = []
        for path in sorted(self.folder.glob("*")) if self.folder.is_dir() else []:
            if UPLOAD.fullmatch(f"upload:{path.name}"):
                found.append(
                    {"name": f"upload:{path.name}", "path": path, "title": self._title(path)}
                )
        return found

    def _title(self, path: Path) -> str:
        try:
            return str(json.loads(path.with_suffix(".name").read_text()))[:80]
        except (OSError, ValueError):
            return path.name

    def keep(self, title: str, text: str) -> tuple[str, Path]:
        """Write an uploaded file; its name from now on, and where it is."""
        suffix = Path(title).suffix.lower()
        if suffix not in SUFFIXES:
            raise Refusal(422, "game", "the name of the file must end in .efg, .nfg or .json")
        stem = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self.folder / f"{stem}{suffix}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            write_text(path.with_suffix(".name"), json.dumps(Path(title).name[:80]))
        except OSError as error:
            raise Refusal(507, "disk", f"cannot keep the file: {error.strerror}") from error
        except RunError as error:
            raise Refusal(507, "disk", str(error)) from error
        return f"upload:{path.name}", path

    def drop(self, path: Path) -> None:
        """Remove a file that turned out to be no game."""
        path.unlink(missing_ok=True)
        path.with_suffix(".name").unlink(missing_ok=True)
