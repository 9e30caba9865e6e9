"""Check the built site: it requests nothing from other hosts and has no dead links.

python tools/check_site.py docs/_build/html
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from urllib.parse import unquote, urlparse

ASKS = re.compile(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc="(https?:|//)[^"]*""")
SHEETS = re.compile(
    r"""<link\b[^>]*rel="(?:stylesheet|preload|preconnect)"[^>]*href="(https?:|//)"""
)
IMPORTS = re.compile(r"""(?:@import|url\()\s*["']?https?://""")
LINKS = re.compile(r"""<a\b[^>]*\bhref="([^"]+)\"""")


def problems(site: Path) -> list[str]:
    """Return the faults of the pages and style sheets below a folder."""
    found = []
    for page in sorted(site.rglob("*.html")):
        text = page.read_text(encoding="utf-8")
        if ASKS.search(text) or SHEETS.search(text):
            found.append(f"{page} loads something from the network")
        for link in LINKS.findall(text):
            parts = urlparse(link)
            if parts.scheme or not parts.path:
                continue
            place = page.parent / unquote(parts.path)
            if not place.exists():
                found.append(f"{page} links to {link}, which is not there")
    for sheet in site.rglob("*.css"):
        if IMPORTS.search(sheet.read_text(encoding="utf-8")):
            found.append(f"{sheet} loads something from the network")
    return found


def main(folder: str) -> int:
    """Print what is wrong; 0 if nothing is."""
    found = problems(Path(folder))
    for line in found:
        print(line, file=sys.stderr)
    count = len(list(Path(folder).rglob("*.html")))
    print(f"{count} pages, {len(found)} problems")
    return int(bool(found) or not count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
