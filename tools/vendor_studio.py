"""Fetch the studio's three front-end libraries from npm into its static files.

    python tools/vendor_studio.py

The archives are checked against the hashes below; what is kept is checked by the tests against
`vendor/SHA256SUMS`. Nothing of this is needed to install or to run Counterplay.
"""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import urllib.request
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "src/counterplay/studio/static/vendor"
REGISTRY = "https://registry.npmjs.org"
PACKAGES = {  # name -> version, sha512 of the archive, file in it -> name here
    "preact": (
        "11.2.0",
        "/HfHI/7N84e6GrWBJ3J280z3mLaRJiDcSvj/A+y/4AbLnND/1UlGHe1sR6oYuTGwId0nP7dqDU9OnLxMPZ7xBg==",
        {"dist/preact.mjs": "preact.js", "hooks/dist/hooks.mjs": "hooks.js"},
    ),
    "htm": (
        "3.1.1",
        "983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==",
        {"dist/htm.mjs": "htm.js"},
    ),
    "uplot": (
        "1.6.32",
        "KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
        {"dist/uPlot.esm.js": "uplot.js", "dist/uPlot.min.css": "uplot.css"},
    ),
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (version, expected, files) in PACKAGES.items():
        with urllib.request.urlopen(f"{REGISTRY}/{name}/-/{name}-{version}.tgz") as answer:
            archive = answer.read()
        found = base64.b64encode(hashlib.sha512(archive).digest()).decode()
        if found != expected:
            raise SystemExit(f"{name} {version} has the hash {found}, not {expected}")
        with tarfile.open(fileobj=io.BytesIO(archive)) as content:
            for inside, kept in {**files, "LICENSE": f"{name}.LICENSE.txt"}.items():
                member = content.extractfile(f"package/{inside}")
                assert member
                write(FOLDER / kept, member.read().decode())
    paths = sorted(path for path in FOLDER.iterdir() if path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in paths]
    (FOLDER / "SHA256SUMS").write_text("\n".join(sums) + "\n")


def write(path: Path, text: str) -> None:
    """Keep a file: bare imports become relative ones, source maps are not shipped."""
    text = text.replace('from"preact"', 'from"./preact.js"')
    lines = [line for line in text.splitlines() if not line.startswith("//# sourceMappingURL")]
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
