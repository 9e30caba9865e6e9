"""Find names and sentences that break the style of this project.

    python tools/plain_words.py              # everything
    python tools/plain_words.py PATH ...     # only these files or folders
    python tools/plain_words.py --count      # totals by kind

Names: functions are verbs or nouns, never participles (`asked`, `judged`); constants carry their
noun (`MAX_OPEN_GAMES`, not `MOST`); a class name has one meaning in the package. Sentences: no
words from `BANNED`, and no docstring that starts with a question word. Code blocks of documents
are not read. The exit code is 1 if anything is found.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DEFAULT_PATHS = ("src", "tests", "tools", "benchmarks", "examples", "docs", ".")
SKIPPED_PARTS = {"vendor", "_build", ".venv", "node_modules", "results"}
SKIPPED_NAMES = {"CHANGELOG.md", "api.md", "commands.md", "config.md"}  # history; generated
SUFFIXES = {".py", ".md", ".js", ".ipynb"}

IRREGULAR_PARTICIPLES = frozenset(
    (
        "told met kept seen found given drawn shown said spoken made built held won left lost sent "
        "spent taken begun chosen known worn written dealt felt laid led lent paid sat slept stood "
        "thought understood woken gone done grown hidden risen shaken torn thrown"
    ).split()
)
NOT_PARTICIPLES = frozenset(
    # nouns and verbs in -ed, and terms of the field that are nouns as they stand
    (
        "seed need feed speed embed exceed proceed red bed shed weighted bounded masked shared "
        "indeed expected correlated learned projected needed compiled limited "
        "finished required"
    ).split()
)
BARE_CONSTANTS = frozenset(
    (
        "MOST LEAST LONGEST SHORTEST LARGEST SMALLEST KEPT PATIENCE MOMENT FEW LITTLE SMALL SHORT "
        "LARGE SHY HARMLESS ASIDE COUNSEL HOPELESS SHARE ROOM SOME MANY ENOUGH OFTEN NEVER"
    ).split()
)
BANNED = (
    r"\bnobody\b|\bsomebody\b|\banybody\b|\beverybody\b|\bwhoever\b|\bwhatever\b|\bso many\b|"
    r"\bsuch ones\b|\bof its kin\b|\band kin\b|\bas nearly always\b|\bcome to no good\b|"
    r"\bat all events\b|\bsays nothing\b|\bof one's own\b|(?-i:\bis none\b)|\bare none\b|"
    r"\blast word\b|\basked for\b|\bas it were\b"
)
BANNED_PATTERN = re.compile(BANNED, re.IGNORECASE)
QUESTION_START = re.compile(r"^(What|Who|Where|Whoever|Whatever|How) ")
SHARED_CLASS_NAMES = {"State"}  # the state of a game, in its own file


class Finding(NamedTuple):
    """One place that breaks the style."""

    kind: str
    place: str
    text: str


def is_participle(name: str) -> bool:
    """Return True if a function's name begins with a participle."""
    word = name.strip("_").split("_")[0]
    if word in NOT_PARTICIPLES:
        return False
    return word in IRREGULAR_PARTICIPLES or (word.endswith("ed") and len(word) > 4)


def check_python(path: Path, text: str) -> Iterator[Finding]:
    """Yield the names and docstrings of a Python file that break the style."""
    is_test = "tests" in path.parts
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 1)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and is_participle(node.name):
            yield Finding("function named by a participle", f"{path}:{line}", node.name)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            doc = ast.get_docstring(node) or ""
            if QUESTION_START.match(doc) and not is_test:
                yield Finding("docstring starts with a question word", f"{path}:{line}", doc[:80])
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id in BARE_CONSTANTS:
                    yield Finding("constant without a noun", f"{path}:{line}", target.id)


def check_prose(path: Path, text: str) -> Iterator[Finding]:
    """Yield the lines that contain banned wording, outside of code blocks."""
    is_code_block = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code_block = not is_code_block
        match = BANNED_PATTERN.search(line)
        if match and not is_code_block:
            yield Finding("banned wording", f"{path}:{number}", f"{match[0]}: {line.strip()[:90]}")


def check_class_names(paths: list[Path]) -> Iterator[Finding]:
    """Yield the class names that two modules of the package share."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        if path.suffix == ".py" and "src" in path.parts:
            for node in ast.parse(path.read_text()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(f"{path}:{node.lineno}")
    for name, found in sorted(places.items()):
        if len(found) > 1 and name not in SHARED_CLASS_NAMES:
            yield Finding("class name with two meanings", found[0], f"{name}: {', '.join(found)}")


def list_files(starts: list[Path]) -> list[Path]:
    """Return the files to read: all below folders, but of the top folder only its own."""
    found: dict[Path, None] = {}
    for start in starts:
        inside = start.glob("*") if start.resolve() == ROOT.resolve() else start.rglob("*")
        for path in [start] if start.is_file() else sorted(inside):
            if path.is_file() and path.suffix in SUFFIXES and not SKIPPED_PARTS & set(path.parts):
                found[path] = None
    return [path for path in found if path.resolve() != Path(__file__).resolve()]


def find_all(starts: list[Path]) -> list[Finding]:
    """Return everything that breaks the style below these paths."""
    paths = list_files(starts)
    findings = list(check_class_names(paths))
    for path in paths:
        if path.name in SKIPPED_NAMES:
            continue
        text = path.read_text(errors="replace")
        if path.suffix == ".py":
            findings += check_python(path, text)
        findings += check_prose(path, text)
    return findings


def main() -> None:
    """Print what was found."""
    parser = argparse.ArgumentParser(description="Find names and sentences that break the style.")
    parser.add_argument("paths", nargs="*", type=Path)
    parser.add_argument("--count", action="store_true", help="print totals by kind only")
    args = parser.parse_args()
    findings = find_all(args.paths or [ROOT / name for name in DEFAULT_PATHS])
    for kind, count in Counter(finding.kind for finding in findings).most_common():
        print(f"{count:5d}  {kind}")
    if not args.count:
        for finding in findings:
            print(f"{finding.place}: {finding.kind}: {finding.text}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
