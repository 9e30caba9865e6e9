"""Uploaded game files.

An uploaded file is stored below the folder of runs under the hash of its content; its name on the
pages is `upload:HASH.efg`.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import NamedTuple

from counterplay.core.archive import open_regular, write_text
from counterplay.errors import RunError
from counterplay.studio.server.responses import ApiError

UPLOAD_PATTERN = re.compile(r"upload:([0-9a-f]{16}\.(?:efg|nfg|json))")
GAME_SUFFIXES = (".efg", ".nfg", ".json")


class UploadedGame(NamedTuple):
    """An uploaded game file."""

    name: str  # on the pages
    path: Path
    title: str  # the name that the file had


class GameNames:
    """The index of uploaded game files."""

    def __init__(self, runs_folder: Path):
        self.folder = runs_folder / ".studio" / "games"

    def name_from_spec(self, spec: str) -> str:
        """Return the name of an uploaded game, by the path in its spec; otherwise the spec."""
        for upload in self.list_uploads():
            if str(upload.path) == spec:
                return upload.name
        return spec

    def list_uploads(self) -> list[UploadedGame]:
        """Return the uploaded files."""
        uploads = []
        for path in sorted(self.folder.glob("*")) if self.folder.is_dir() else []:
            name, is_regular = f"upload:{path.name}", path.is_file() and not path.is_symlink()
            if is_regular and UPLOAD_PATTERN.fullmatch(name):
                uploads.append(UploadedGame(name, path, self._upload_title(path)))
        return uploads

    def _upload_title(self, path: Path) -> str:
        try:
            with open_regular(path.with_suffix(".name")) as file:
                return str(json.loads(file.read(1000)))[:80]
        except (OSError, ValueError, RecursionError):
            return path.name

    def save_upload(self, title: str, text: str) -> tuple[str, Path]:
        """Write an uploaded file; return its name on the pages and its path."""
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
            raise ApiError(507, "disk", f"cannot store the file: {error.strerror}") from error
        except RunError as error:
            raise ApiError(507, "disk", str(error)) from error
        return f"upload:{path.name}", path

    def delete_upload(self, path: Path) -> None:
        """Remove a file that is not a valid game."""
        path.unlink(missing_ok=True)
        path.with_suffix(".name").unlink(missing_ok=True)
