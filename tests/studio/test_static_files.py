"""Static files: vendored files match their checksums, and pages request no other hosts."""

from __future__ import annotations

import hashlib
import re

import pytest

from counterplay.studio.server.app import STATIC_FILES, STATIC_FOLDER

OWN = [path for path in STATIC_FILES.values() if path.parent.name != "vendor"]


def test_vendored_files_are_those_that_were_fetched():
    sums = (STATIC_FOLDER / "vendor" / "SHA256SUMS").read_text().splitlines()
    known = {name: digest for digest, name in (line.split("  ") for line in sums)}
    there = {path.name for path in (STATIC_FOLDER / "vendor").iterdir()} - {"SHA256SUMS"}
    assert set(known) == there
    for name, digest in known.items():
        content = (STATIC_FOLDER / "vendor" / name).read_bytes()
        assert hashlib.sha256(content).hexdigest() == digest, name
    for library in ("preact", "htm", "uplot"):
        assert f"{library}.LICENSE.txt" in there


def test_they_are_small():
    assert sum(path.stat().st_size for path in STATIC_FILES.values()) < 650_000


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.relative_to(STATIC_FOLDER).as_posix())
def test_no_other_host_is_named(path):
    text = path.read_text()
    hosts = set(re.findall(r"https?://([^/\"'\s]+)", text))
    assert hosts <= {"www.w3.org"}  # the name of SVG, which is not fetched
    assert "innerHTML" not in text and "dangerouslySetInnerHTML" not in text
    assert "eval(" not in text and "new Function" not in text
    if path.suffix == ".html":
        assert "<style" not in text and " style=" not in text and "onclick" not in text.lower()


def test_every_import_is_there():
    for path in OWN:
        if path.suffix == ".js":
            for name in re.findall(r"from \"(\.{1,2}/[^\"]+)\"", path.read_text()):
                assert (path.parent / name).resolve() in STATIC_FILES.values(), (path.name, name)
