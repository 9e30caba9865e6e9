"""The layers of the package, and the table of them in two documents.

    python tools/layers.py            # write the table into CONTRIBUTING.md and design.md
    python tools/layers.py --check    # fail if a document or an import disagrees

A module may import from its own layer and from the layers above it in the table. Entries are paths
below `counterplay`; the longest entry that fits a module decides. Imports for type checkers only
do not count.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "counterplay"
DOCUMENTS = (ROOT / "CONTRIBUTING.md", ROOT / "docs" / "explanation" / "design.md")
BEGIN, END = "<!-- layers: written by tools/layers.py -->", "<!-- end of layers -->"

LAYERS: list[dict[str, str]] = [
    {
        "errors": "error types; every message says what to do",
        "registry": "names of games, algorithms, searchers; parsing of `name(parameter=value)`",
        "lazy_exports": "public names that are imported on first use",
        "core": "games, arenas, policies, evaluation, `solve`; safe files; parallel calls",
        "kernels": "numba functions on flat arrays, without options or games",
    },
    {
        "games": "one game per file; `games/compiled/` has integer state machines of some",
        "arenas": "what algorithms run on: `tree/ rules factored/ holdem/ poker/ preflop/ build`",
        "play": "episodes, matches, AIVAT, bounds from play",
    },
    {
        "abstraction": "smaller games: merged infosets, removed actions, buckets",
        "matrix": "normal-form games: equilibria, dominance, learners",
        "concepts": "solution concepts of trees: correlation, refinements, commitment, teams",
        "search": "minimax, alpha-beta, MCTS; resolving, IS-MCTS, OOS for hidden information",
        "algorithms": "`cfr/ mccfr/ fictitious_play/ regularised/ exact/ deep/`",
        "display": "tables, grids and drawings as text, HTML, SVG",
    },
    {
        "algorithms.population": "PSRO, double oracle, XDO and their relatives",
    },
    {
        "experiment": "configs, runs, checkpoints, metrics, plots",
    },
    {
        "play.agents": "agents by name: policies, searchers, algorithms, files, runs",
        "play.poker": "the heads-up no-limit agent, its subgames, matches over ranges of hands",
        "play.sessions": "a person against an agent, decision by decision",
        "play.spot_practice": "a person against the solution of a hold'em spot",
        "holdem": "public names for hold'em spots, gathered in one namespace",
        "interop": "OpenSpiel, Gambit, JSON games, gymnasium, PettingZoo",
        "distributed": "units, executors, Ray, sweeps, grids",
    },
    {
        "studio": "`server/`, `worker/` (a process per game), `static/` (the pages)",
    },
    {
        "cli": "one file per command",
    },
]
# Imports upwards, inside functions: objects show themselves in notebooks, and a game's name is
# turned into an arena where a function accepts either.
ALLOWED = {
    ("core.policy", "display.html"),
    ("core.solve", "display.html"),
    ("core.policy", "arenas.build"),
    ("arenas.tree.arena", "display.html"),
    ("matrix.verification", "display.html"),
}
EXTRAS = {  # who may import an optional package
    "jax": "algorithms.deep",
    "optax": "algorithms.deep",
    "ray": "distributed",
    "optuna": "distributed",
    "starlette": "studio",
    "uvicorn": "studio",
    "pyspiel": "interop",
    "open_spiel": "interop",
    "gymnasium": "interop",
    "pettingzoo": "interop",
    "anywidget": "display",
}


def layer_of(module: str) -> int:
    """Return the index of the layer of a module, given without `counterplay.`."""
    matches = [
        (len(entry), index)
        for index, layer in enumerate(LAYERS)
        for entry in layer
        if module == entry or module.startswith(f"{entry}.")
    ]
    if not matches:
        raise LookupError(f"{module} is in no layer: add it to LAYERS in tools/layers.py")
    return max(matches)[1]


def modules() -> dict[str, Path]:
    """Return the path of every module below the package by its dotted name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name not in ("", "__main__"):
            found[name] = path
    return found


def imports(path: Path) -> Iterator[str]:
    """Yield the full names that a file imports, but those for type checkers only."""
    nodes: list[ast.AST] = [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            nodes += node.orelse
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            nodes += ast.iter_child_nodes(node)


def problems() -> list[str]:
    """Return one sentence for every import that breaks the rules."""
    known, found = modules(), []
    for module, path in known.items():
        for full in imports(path):
            top = full.split(".")[0]
            if top in EXTRAS and not f"{module}.".startswith(f"{EXTRAS[top]}."):
                found.append(f"{module} imports {top}, which only {EXTRAS[top]} may")
            if top != "counterplay" or "." not in full:
                continue
            target = full.partition(".")[2]
            target = target if target in known else target.rpartition(".")[0]
            if target and layer_of(target) > layer_of(module) and (module, target) not in ALLOWED:
                found.append(f"{module} imports {target}, which is in a later layer")
    return found


def table() -> str:
    """Return the table of layers as Markdown."""
    rows = [
        f"| {index + 1} | `{entry.replace('.', '/')}` | {text} |"
        for index, layer in enumerate(LAYERS)
        for entry, text in layer.items()
    ]
    return "\n".join(["| layer | module | contents |", "|---|---|---|", *rows])


def with_table(text: str) -> str:
    """Return a document's text with the present table between its two marks."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{table()}\n{END}{tail}"


def main() -> None:
    """Write the table, or check everything."""
    if "--check" in sys.argv:
        stale = [
            path.name for path in DOCUMENTS if with_table(path.read_text()) != path.read_text()
        ]
        wrong = problems() + [f"{name} is stale: run python tools/layers.py" for name in stale]
        print("\n".join(wrong))
        sys.exit(1 if wrong else 0)
    for path in DOCUMENTS:
        path.write_text(with_table(path.read_text()))


if __name__ == "__main__":
    main()
