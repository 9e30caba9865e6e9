"""Run a command in this process and return its output."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import NamedTuple

import pytest

from counterplay.cli.main import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def answer(*arguments: object, typed: str = "") -> Answer:
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        code = main([str(argument) for argument in arguments])
        return Answer(code, *capsys.readouterr())

    return answer
