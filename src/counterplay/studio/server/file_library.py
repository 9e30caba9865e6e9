"""Libraries of the user's files, by name: ranges, spots and solutions.

A library is a folder below the folder of runs. Names are looked up in the listing of the folder;
paths of a page are never used.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from counterplay.core.archive import is_regular, open_regular, write_text
from counterplay.errors import RunError
from counterplay.studio.server.responses import ApiError

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,+()%-]{0,59}", re.ASCII)
MAX_FILES = 1_000  # of a library
MAX_TEXT_BYTES = 1 << 18  # of a range or a spot


class LibraryFile(NamedTuple):
    """A file of a library."""

    name: str
    path: Path
    size: int
    time: float  # of the last change


class FileLibrary:
    """The files of one folder with one suffix."""

    def __init__(self, folder: Path, suffix: str, kind: str):
        self.folder, self.suffix, self.kind = folder, suffix, kind

    def list_files(self) -> list[LibraryFile]:
        """Return the files, the latest first."""
        paths = sorted(self.folder.glob(f"*{self.suffix}")) if self.folder.is_dir() else []
        files = []
        for path in paths[:MAX_FILES]:
            name = path.name.removesuffix(self.suffix)
            if is_regular(path) and NAME_PATTERN.fullmatch(name):
                status = path.stat()
                files.append(LibraryFile(name, path, status.st_size, status.st_mtime))
        return sorted(files, key=lambda file: -file.time)

    def find(self, name: str) -> LibraryFile:
        """Return the file of a name; raise `ApiError` if it does not exist."""
        for file in self.list_files():
            if file.name == name:
                return file
        raise ApiError(404, self.kind, f"there is no {self.kind} {name[:60]!r} any more")

    def new_path(self, name: object) -> Path:
        """Return the path for a new file, or for one that is replaced."""
        if not isinstance(name, str) or not NAME_PATTERN.fullmatch(name.strip()):
            message = "a name has up to 60 letters, digits, spaces or _.,+()%-"
            raise ApiError(422, "name", message, field="name")
        return self.folder / f"{name.strip()}{self.suffix}"

    def read_text(self, file: LibraryFile) -> str:
        """Return the text of a file."""
        with open_regular(file.path) as stream:
            return stream.read(MAX_TEXT_BYTES).decode(errors="replace")

    def save_text(self, name: object, text: str) -> str:
        """Write a file and return its name."""
        path = self.new_path(name)
        if len(text.encode()) > MAX_TEXT_BYTES:
            raise ApiError(413, "large", f"a {self.kind} may have at most 256 KB")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
        except OSError as error:
            raise ApiError(507, "disk", f"cannot store the file: {error.strerror}") from error
        except RunError as error:
            raise ApiError(507, "disk", str(error)) from error
        return path.name.removesuffix(self.suffix)

    def delete(self, name: str) -> None:
        """Remove a file."""
        self.find(name).path.unlink(missing_ok=True)
