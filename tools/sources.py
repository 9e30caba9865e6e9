"""Write docs/explanation/sources.md from sources.toml, or check it: `python tools/sources.py`.

An item of the data file has the keys

    document   000 to 004
    item       the algorithm, theorem, definition, table or figure
    status     "works", "cannot work" or "open"
    where      names: cp.solve, game:kuhn_poker, algorithm:nfsp(all_players_learn), ...
    check      the test that fails without it: tests/x.py::test_name
    note       what differs from the document, or the reason
    figure     a measured figure, with the command that produces it in `command`
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import fields
from functools import reduce
from pathlib import Path
from typing import Any

import counterplay as cp
from counterplay import registry

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "explanation" / "sources.toml"
PAGE = DATA.with_suffix(".md")
STATUSES = ("works", "cannot work", "open")
REGISTRIES = {
    "algorithm": registry.ALGORITHMS,
    "game": registry.GAMES,
    "learner": registry.LEARNERS,
    "searcher": registry.SEARCHERS,
    "agent": registry.SEARCH_AGENTS,
}
TITLES = {
    "000": "Document 000: pseudocode of poker and game theory algorithms",
    "001": "Document 001: notes on Gibson's thesis (2014)",
    "002": "Document 002: the thesis on Deep-Hedge MCCFR",
    "003": "Document 003: a lecture on games",
    "004": "Document 004: a lecture on learning in games",
}


def load_items() -> list[dict[str, Any]]:
    """Return the items of the data file."""
    items: list[dict[str, Any]] = tomllib.loads(DATA.read_text())["items"]
    return items


def resolve_name(name: str) -> Any:
    """Return the object that an entry of `where` names.

    Raises:
        AttributeError, KeyError: there is no such object, or it has no such option.
    """
    if name.startswith("cp."):
        return reduce(getattr, name.split(".")[1:], cp)
    match = re.fullmatch(r"(\w+):(\w+)(?:\((\w+)\))?", name)
    if not match:
        raise KeyError(f"cannot read {name!r}")
    kind, registered, option = match.groups()
    cls = registry.import_registered(REGISTRIES[kind], registered)
    if option and option not in {field.name for field in fields(cls)}:
        raise KeyError(f"{registered} has no option {option!r}")
    return cls


def find_problems(item: dict[str, Any]) -> list[str]:
    """Return what is wrong with an item."""
    problems = []
    if item["status"] not in STATUSES:
        problems.append(f"status is {item['status']!r}")
    for name in item.get("where", []):
        try:
            resolve_name(name)
        except (AttributeError, KeyError) as error:
            problems.append(f"{name}: {error}")
    check = item.get("check", "")
    file, _, test = check.partition("::")
    if file and not (ROOT / file).is_file():
        problems.append(f"there is no file {file}")
    elif test and f"def {test}(" not in (ROOT / file).read_text():
        problems.append(f"{file} has no test {test}")
    if item["status"] == "works" and not (test and item.get("where")):
        problems.append("it works, but names no code or no test of a file")
    elif file and not test:
        problems.append(f"{file} is a file; name one of its tests")
    if item["status"] == "cannot work" and not item.get("note"):
        problems.append("it cannot work, but gives no reason")
    if bool(item.get("figure")) != bool(item.get("command")):
        problems.append("a figure and its command belong together")
    elif item.get("command") and (missing := find_missing_file(item["command"])):
        problems.append(f"its command needs {missing}, which does not exist")
    return [f"{item['document']}, {item['item']}: {problem}" for problem in problems]


def find_missing_file(command: str) -> str:
    """Return the module, test file or config that a command names and that is missing, or ""."""
    named = {
        r"python -m ([\w.]+)": lambda name: name.replace(".", "/") + ".py",
        r"pytest (\S+)": str,
        r"counterplay run (\S+)": lambda name: f"configs/{name}.json",
    }
    for pattern, path_of in named.items():
        match = re.match(pattern, command)
        if match and not (ROOT / path_of(match[1])).is_file():
            return path_of(match[1])
    return ""


def format_page() -> str:
    """Return the page."""
    items = load_items()
    counts = {status: sum(item["status"] == status for item in items) for status in STATUSES}
    summary = ", ".join(f"{count} {status}" for status, count in counts.items())
    lines = [
        "# Items of the source documents",
        "",
        f"Written by `python tools/sources.py` from `sources.toml`. {len(items)} items: {summary}.",
        "An item cannot work if the document is in error there or describes no method; the reason",
        "is given. `algorithm:name(option)` is an option of an algorithm.",
    ]
    for document, title in TITLES.items():
        lines += ["", f"## {title}", "", "| item | state | where | tested by | notes |"]
        lines.append("|---|---|---|---|---|")
        lines += [_format_row(item) for item in items if item["document"] == document]
    return "\n".join(lines) + "\n"


def _format_row(item: dict[str, Any]) -> str:
    where = ", ".join(f"`{name}`" for name in item.get("where", []))
    check = f"`{item['check']}`" if item.get("check") else ""
    note = item.get("note", "")
    if item.get("figure"):
        figure = f"{item['figure']} (`{item['command']}`)"
        note = f"{note}; {figure}" if note else figure
    cells = (item["item"], item["status"], where, check, note)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def main() -> int:
    """Write the page, or report problems of the data file."""
    problems = [problem for item in load_items() for problem in find_problems(item)]
    if problems:
        sys.stderr.write("\n".join(problems) + "\n")
        return 1
    PAGE.write_text(format_page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
