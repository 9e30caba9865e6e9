"""Execute notebooks from the first cell to the last, and say how long each took.

    python tools/notebooks.py docs/course

Nothing is written: notebooks are committed without outputs. The first error ends it with status 1.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

LIMIT = 480.0  # seconds for all of them together


def execute(path: Path) -> int:
    """Run one notebook in its own kernel; how many pictures and tables it showed."""
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(path.parent)}}).execute()
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    kinds = [kind for out in outputs for kind in out.get("data", {})]
    return sum(kind in ("image/png", "image/svg+xml", "text/html") for kind in kinds)


def main(folder: str) -> int:
    """Execute every notebook of a folder."""
    books, began = sorted(Path(folder).glob("*.ipynb")), time.monotonic()
    for path in books:
        start = time.monotonic()
        try:
            shown = execute(path)
        except CellExecutionError as error:
            print(f"{path}: {error}", file=sys.stderr)
            return 1
        print(f"{path.name:32} {time.monotonic() - start:6.1f} s  {shown} pictures and tables")
        if not shown:
            print(f"{path} shows nothing", file=sys.stderr)
            return 1
    took = time.monotonic() - began
    print(f"{len(books)} notebooks in {took:.0f} s")
    return int(not books or took > LIMIT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
