"""Five kinds of users and their first five minutes, as the documents describe them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import BLOCK, run_page

DOCS = Path(__file__).parent.parent / "docs"

PATHS = {  # who -> the pages they read, and what is there in the end
    "a student with the README": (["index.md", "start.md"], ["kuhn.policy"]),
    "a poker player": (["start.md", "howto/look.md", "howto/play.md"], ["leduc.policy"]),
    "a researcher with an own game": (
        ["howto/own_game.md", "howto/runs.md", "howto/use_a_policy.md"],
        ["mygame.py", "pennies.policy", "leduc.svg", "leduc.csv"],
    ),
    "an engineer with an OpenSpiel game": (
        ["howto/other_games.md", "howto/reinforcement.md"],
        ["kuhn.efg", "chicken.nfg"],
    ),
    "a teacher with notebooks": (["start.md", "howto/look.md"], ["king_ace.svg"]),
}


@pytest.mark.parametrize("who", PATHS)
def test_pages_of_a_path_run_in_order(who, tmp_path, monkeypatch, capsys):
    """One after another in one folder, as people do; files of an earlier page are in the way."""
    pytest.importorskip("matplotlib")
    pages, left = PATHS[who]
    if "OpenSpiel" in who:
        pytest.importorskip("pyspiel")
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    for page in pages:
        for old in tmp_path.glob("*.policy"):  # `solve --save` does not overwrite
            if f"--save {old.name}" in (DOCS / page).read_text():
                old.unlink()
        assert run_page(DOCS / page, monkeypatch, capsys) > 0
    for name in left:
        assert (tmp_path / name).stat().st_size > 0


def test_pages_lead_on():
    """The pages of a path are linked from its first page."""
    known, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop().resolve()
        if page in known or not page.exists():
            continue
        known.add(page)
        text = page.read_text()
        links = re.findall(r"\]\(([^)#\s]+\.md)", text)
        for kind, _, _, body in BLOCK.findall(text):
            if kind == "{toctree}":
                links += [f"{line.strip()}.md" for line in body.splitlines() if line[:1] != ":"]
        todo += [page.parent / link for link in links if not link.startswith("http")]
    for pages, _ in PATHS.values():
        assert all((DOCS / page).resolve() in known for page in pages)


def test_demo_runs(capsys):
    import runpy

    runpy.run_path(str(DOCS.parent / "examples" / "demo.py"))["main"]()
    out = capsys.readouterr().out
    assert "It is 6.3e-06 chips now." in out
    assert "player 0, rc|:" in out
    assert out.count(".venv/bin/counterplay ") == 4
