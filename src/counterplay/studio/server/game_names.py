"""Game files that were uploaded.

An uploaded file is kept below the folder of runs under the hash of its contents, and pages call it
`upload:HASH.efg` from then on.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

from counterplay.core.archive import open_regular, write_text
from counterplay.errors import RunError
from counterplay.studio.server.responses import ApiError

UPLOAD_PATTERN = re.compile(r"upload:([0-9a-f]{16}\.(?:efg|nfg|json))")
GAME_SUFFIXES = (".efg", ".nfg", ".json")


class GameNames:
    """The index of uploaded game files."""

    def __init__(self, runs_folder: Path):
        self.folder = runs_folder / ".studio" / "games"

    def name_from_spec(self, spec: str) -> str:
        """What a page calls a game of a run, if it may ask for it; otherwise the spec."""
        for entry in self.list_uploads():
            if str(entry["path"]) == spec:
                return str(entry["name"])
        return spec

    def list_uploads(self) -> list[dict[str, Any]]:
        """The uploaded files, with the names that they came with."""
        found = []
        for path in sorted(self.folder.glob("*")) if self.folder.is_dir() else []:
            regular = path.is_file() and not path.is_symlink()
            if regular and UPLOAD_PATTERN.fullmatch(f"upload:{path.name}"):
                found.append(
                    {"name": f"upload:{path.name}", "path": path, "title": self._upload_title(path)}
                )
        return found

    def _upload_title(self, path: Path) -> str:
        try:
            with open_regular(path.with_suffix(".name")) as file:
                return str(json.loads(file.read(1000)))[:80]
        except (OSError, ValueError, RecursionError):
            return path.name

    def save_upload(self, title: str, text: str) -> tuple[str, Path]:
        """Write an uploaded file; its name from now on, and where it is."""
        suffix = Path(title).suffix.lower()
        if suffix not in GAME_SUFFIXES:
            raise ApiError(422, "game", "the name of the file must end in .efg, .nfg or .json")
        stem = hashlib.sha256(text.encode()).hexdigest()[:16]
        path = self.folder / f"{stem}{suffix}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
            write_text(path.with_suffix(".name"), json.dumps(Path(title).name[:80]))
        except OSError as error:
            raise ApiError(507, "disk", f"cannot keep the file: {error.strerror}") from error
        except RunError as error:
            raise ApiError(507, "disk", str(error)) from error
        return f"upload:{path.name}", path

    def delete_upload(self, path: Path) -> None:
        """Remove a file that turned out to be no game."""
        path.unlink(missing_ok=True)
        path.with_suffix(".name").unlink(missing_ok=True)
