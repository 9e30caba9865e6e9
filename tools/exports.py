"""Write the stubs `__init__.pyi` that show lazy names to type checkers and editors.

python tools/exports.py        # after a name was added to `_EXPORTS` or to a registry
"""

from __future__ import annotations

import importlib
from pathlib import Path

import counterplay

NAMESPACES = counterplay._NAMESPACES
HEAD = '"""The public names of this package, written by tools/exports.py; do not edit."""\n\n'


def stub_path(package: str) -> Path:
    """Return the path of a package's stub."""
    return Path(importlib.import_module(package).__file__ or "").with_suffix(".pyi")


def stub_text(package: str) -> str:
    """Return the text of a package's stub."""
    module = importlib.import_module(package)
    get = counterplay._get_export if module is counterplay else module.__getattr__
    lines = [f"from {where} import {name} as {name}" for name, where in get.module_by_name.items()]
    if module is counterplay:
        lines += [f"from counterplay import {name} as {name}" for name in NAMESPACES]
    lines = [line if len(line) <= 100 else _wrap(line) for line in sorted(lines)]
    version = "__version__: str\n\n" if module is counterplay else ""
    listed = "\n".join(f'    "{name}",' for name in module.__all__)
    return f"{HEAD}{chr(10).join(lines)}\n\n{version}__all__ = [\n{listed}\n]\n"


def _wrap(line: str) -> str:
    head, names = line.split(" import ")
    return f"{head} import (\n    {names},\n)"


def stubs() -> dict[Path, str]:
    """Return the text of every stub by its path."""
    packages = ["counterplay", *(f"counterplay.{name}" for name in NAMESPACES)]
    return {stub_path(package): stub_text(package) for package in packages}


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
