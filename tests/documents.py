"""Run the code blocks of a Markdown page in order, and compare their output with the page.

Python blocks of one page share their names. After `print(...)` a comment is the start of what is
printed; `...` in it stands for digits, at its end for anything. In console blocks lines with
`$ counterplay` are run; a line `...` stands for any lines, and `...` in one for anything.
Blocks with a caption are files.
"""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path
from typing import Any

from counterplay.cli.main import main

BLOCK = re.compile(
    r"^```(\S*)(?: (\w+))?\n(?::caption: (\S+)\n\n)?(.*?)^```$", re.DOTALL | re.MULTILINE
)
NOT_RUN = ("pip ", "make ", "git ", "jupyter ")  # commands that set up machines or wait


def run_page(path: Path, monkeypatch: Any, capsys: Any) -> int:
    """Run the page in the present folder; how many blocks had something to run."""
    space: dict[str, Any] = {"__name__": "__main__"}
    count = 0
    for kind, language, caption, body in BLOCK.findall(path.read_text()):
        if caption:
            Path(caption).write_text(body)
            count += 1
        elif kind == "python":
            run_python(body, space, capsys, path.name)
            count += 1
        elif kind == "console":
            run_console(body, monkeypatch, capsys)
            count += 1
        else:
            assert kind in ("text", "json", "{toctree}", "{code-block}", "mermaid"), (
                kind,
                language,
            )
    return count


def write_files(path: Path) -> None:
    """Write the files that a page shows into the present folder."""
    for _, _, caption, body in BLOCK.findall(path.read_text()):
        if caption:
            Path(caption).write_text(body)


def run_python(code: str, space: dict[str, Any], capsys: Any, name: str) -> None:
    exec(compile(code, name, "exec"), space)
    printed = capsys.readouterr().out.splitlines()
    claims = re.findall(r"^print\(.*\)  +# (.*)$", code, re.MULTILINE)
    if not claims:
        return
    assert len(printed) == len(claims), printed
    for claim, line in zip(claims, printed, strict=True):
        assert re.match(pattern(claim, r"\d*"), line), (claim, line)


def run_console(block: str, monkeypatch: Any, capsys: Any) -> None:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, wanted = part.partition("\n")
        command, _, typed = line.partition("  # typed: ")
        if command.startswith(NOT_RUN):
            continue
        assert command.startswith("counterplay "), command
        monkeypatch.setattr("sys.stdin", io.StringIO(typed.replace(", ", "\n") + "\n"))
        code = main(shlex.split(command)[1:])
        found = capsys.readouterr()
        assert code == 0, (command, found.err)
        if wanted.strip():
            lines = [".*" if text == "..." else pattern(text, ".*") for text in wanted.splitlines()]
            whole = "\n".join(lines).replace("\n.*\n", "\n(?:.*\n)*?").replace("\n.*", "\n(?s:.*)")
            if lines[0] == ".*":
                whole = "(?s:.*?)" + whole[2:]
            text = "\n".join(one.rstrip() for one in found.out.splitlines())
            assert re.fullmatch(whole, text), f"$ {command}\n{found.out}"


def pattern(text: str, gap: str) -> str:
    """A regular expression for a text with gaps."""
    if text.endswith("...") and gap != ".*":
        return re.escape(text[:-3]).replace(re.escape("..."), gap) + ".*"
    return re.escape(text.rstrip()).replace(re.escape("..."), gap)
