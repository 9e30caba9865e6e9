"""Every example in the README runs and prints the output shown there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from counterplay.cli.main import app, main
from counterplay.registry import ALGORITHMS, GAMES, LEARNERS, SEARCHERS

README = (Path(__file__).parent.parent / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
CONSOLE = re.findall(r"```console\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.split("\n")[0])
def test_python_blocks_print_their_comments(code, tmp_path, monkeypatch, capsys):
    """A comment after print() is the start of its output, up to an ellipsis."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.splitlines()
    claims = re.findall(r"^print\(.*\)  +# (.*)$", code, re.MULTILINE)
    assert len(printed) == len(claims) > 0
    for claim, line in zip(claims, printed, strict=True):
        pattern = re.escape(claim.split(", exact")[0]).replace(re.escape("..."), r"\d*")
        assert re.match(pattern, line) or "what the best" in claim, (claim, line)


def test_console_blocks_print_their_output(capsys):
    commands = [block for block in CONSOLE if block.startswith("$ counterplay solve")]
    assert commands
    for block in commands:
        command, _, output = block.partition("\n")
        assert main(shlex.split(command)[2:]) == 0
        assert capsys.readouterr().out == output


def test_other_commands_are_understood():
    """Commands that take hours or set up machines are parsed but not run."""
    group = typer.main.get_command(app)
    blocks = [block for block in CONSOLE if not block.startswith("$ counterplay solve")]
    lines = [line for block in blocks for line in block.splitlines()]
    assert lines and all(line.startswith(("$ counterplay ", "$ make ")) for line in lines)
    for line in lines:
        words = shlex.split(line, comments=True)[1:]
        if words[0] == "make":
            assert f"\n{words[1]}:" in (Path(__file__).parent.parent / "Makefile").read_text()
        else:
            command, rest = group.commands[words[1]], words[2:]
            while hasattr(command, "commands"):
                command, rest = command.commands[rest[0]], rest[1:]
            assert command.make_context(words[1], rest).params


def test_tables_are_complete():
    for name in GAMES | ALGORITHMS | LEARNERS | SEARCHERS:
        assert f"`{name}`" in README


def test_first_screen():
    """One sentence, one picture, install, Python and command line within the first 50 lines."""
    start = "\n".join(README.splitlines()[:50])
    for part in ("![", "make demo", "make test", "```python", "$ counterplay solve"):
        assert part in start


def test_readme_has_at_most_200_lines():
    assert README.count("\n") <= 200
