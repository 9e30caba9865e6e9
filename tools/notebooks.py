"""Execute notebooks, and check or store their outputs.

    python tools/notebooks.py docs/course            # execute; the stored outputs must be complete
    python tools/notebooks.py --store docs/course    # execute, and store the outputs in the files

Checking compares the kinds of output of every cell (text, picture, table), not the contents:
times, and the last digits of numbers, differ between machines. The first error ends it with
status 1.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image

MAX_TOTAL_SECONDS = 480.0
MAX_STORED_BYTES = 1_500_000  # of all notebooks of a folder together
PICTURES = ("image/png", "image/svg+xml", "text/html")
MACHINE_DETAIL = re.compile(r"/home/\w|/root/|/tmp/|site-packages|\bat 0x[0-9a-f]{6,}")


def execute(path: Path) -> Any:
    """Return the notebook at `path` with the outputs of its own new kernel."""
    book = nbformat.read(path, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    place = {"metadata": {"path": str(path.parent)}}
    NotebookClient(book, timeout=300, record_timing=False, resources=place).execute()
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.outputs = _merge_streams(cell.outputs)
    return book


def output_kinds(cell: Any) -> set[str]:
    """Return the kinds of output of a cell: stream names and MIME types."""
    kinds = set()
    for output in cell.get("outputs", []):
        kinds |= {output["name"]} if output["output_type"] == "stream" else set(output["data"])
    return kinds


def find_problems(stored: Any, executed: Any) -> list[str]:
    """Return what is wrong with the outputs of a notebook, one sentence per cell."""
    problems = []
    for number, (old, new) in enumerate(zip(stored.cells, executed.cells, strict=True), 1):
        if output_kinds(old) != output_kinds(new):
            want, have = sorted(output_kinds(new)), sorted(output_kinds(old))
            problems.append(f"cell {number} shows {want}, but the file has {have} stored")
        for output in old.get("outputs", []):
            text = str(output.get("text", output.get("data", {}).get("text/plain", "")))
            if found := MACHINE_DETAIL.search(text):
                problems.append(f"cell {number} has {found[0]!r} of one machine in its output")
    return problems


def _merge_streams(outputs: list[Any]) -> list[Any]:
    """Join neighbouring pieces of one stream, whose number depends on timing."""
    merged: list[Any] = []
    for output in outputs:
        before = merged[-1] if merged else None
        is_stream = output["output_type"] == "stream"
        if is_stream and before and before.get("name") == output["name"]:
            before["text"] += output["text"]
        else:
            merged.append(output)
    return merged


def tidy(book: Any) -> None:
    """Remove what names the machine from the metadata of a notebook, and shrink its pictures."""
    book.metadata["language_info"] = {"name": "python"}
    for cell in book.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            picture = output.get("data", {}).get("image/png")
            if picture:
                output["data"]["image/png"] = _shrink(picture)


def _shrink(picture: str) -> str:
    """Return a PNG in base64 with a palette of 64 colours, which is enough for curves."""
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    written = io.BytesIO()
    image.quantize(64, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return base64.b64encode(written.getvalue()).decode()


def process(path: Path, store: bool) -> list[str]:
    """Execute one notebook, and return what is wrong with it."""
    try:
        book = execute(path)
    except CellExecutionError as error:
        return [str(error)]
    if store:
        tidy(book)
        path.write_text(nbformat.writes(book).rstrip("\n") + "\n", encoding="utf-8")
    problems = find_problems(nbformat.read(path, as_version=4), book)
    if not any(output_kinds(cell) & set(PICTURES) for cell in book.cells):
        problems.append("it shows no picture and no table")
    return problems


def main() -> int:
    """Execute every notebook of a folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--store", action="store_true", help="store the outputs in the files")
    options = parser.parse_args()
    books, began = sorted(options.folder.glob("*.ipynb")), time.monotonic()
    for path in books:
        start = time.monotonic()
        problems = process(path, options.store)
        print(f"{path.name:40} {time.monotonic() - start:6.1f} s  {path.stat().st_size:9,} bytes")
        for problem in problems:
            print(f"{path}: {problem}", file=sys.stderr)
        if problems:
            print("'make store-notebooks' stores new outputs", file=sys.stderr)
            return 1
    seconds, size = time.monotonic() - began, sum(path.stat().st_size for path in books)
    print(f"{len(books)} notebooks in {seconds:.0f} s, {size:,} bytes")
    if size > MAX_STORED_BYTES:
        print(f"more than {MAX_STORED_BYTES:,} bytes; draw smaller pictures", file=sys.stderr)
    return int(not books or seconds > MAX_TOTAL_SECONDS or size > MAX_STORED_BYTES)


if __name__ == "__main__":
    sys.exit(main())
