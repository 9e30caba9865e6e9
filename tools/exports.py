"""Write src/counterplay/__init__.pyi: what type checkers and editors see of the lazy names.

python tools/exports.py        after a name was added to `_EXPORTS` or to a registry
"""

from __future__ import annotations

from pathlib import Path

import counterplay

STUB = Path(counterplay.__file__).with_suffix(".pyi")
HEAD = '''"""Counterplay: every public name, for type checkers and editors.

Written by tools/exports.py from `_EXPORTS` and the registries; do not edit.
"""

'''


def stub() -> str:
    """The text of the file."""
    places: dict[str, list[str]] = {}
    for name, module in counterplay._PLACES.items():
        places.setdefault(module, []).append(name)
    imports = []
    for module, names in sorted(places.items()):
        for name in sorted(names):
            line = f"from {module} import {name} as {name}"
            if len(line) > 100:
                line = f"from {module} import (\n    {name} as {name},\n)"
            imports.append(line)
    listed = "\n".join(f'    "{name}",' for name in counterplay.__all__)
    return f"{HEAD}{chr(10).join(imports)}\n\n__version__: str\n\n__all__ = [\n{listed}\n]\n"


if __name__ == "__main__":
    STUB.write_text(stub())
