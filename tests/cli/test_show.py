"""`show`, `draw` and `export` of policies from all kinds of files."""

from __future__ import annotations

import json
import re

import pytest

import counterplay as cp

CONFIG = {
    "game": "kuhn_poker",
    "algorithm": "dcfr(gamma=3)",
    "spec": {"max_steps": 200, "evaluate_every": 100},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder of a finished run."""
    monkeypatch.chdir(tmp_path)
    return cp.run(CONFIG, "runs/kuhn/1").folder


@pytest.fixture
def policy_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tree = cp.build_tree("leduc_poker")
    cp.solve(tree, "cfr_plus", iterations=100).policy.save("leduc.policy")
    return "leduc.policy"


def test_infosets_stand_where_most_is_lost_first(run, policy_file):
    answer = run("show", policy_file, "--limit", 936)
    assert answer.code == 0
    stated = float(re.search(r"NashConv (\S+);", answer.lines[0])[1])
    tables = answer.out.split("\nplayer ")[1:]
    total = 0.0
    for table in tables:
        losses = [float(line.split()[-1]) for line in table.splitlines()[2:] if line]
        assert losses == sorted(losses, reverse=True)
        total += sum(losses)
    assert total == pytest.approx(stated, rel=0.02)


def test_patterns_players_and_limits(run, policy_file):
    answer = run("show", policy_file, "Kh:*", "--player", 1, "--limit", 3)
    rows = [line for line in answer.lines if line.startswith("Kh:")]
    assert len(rows) == 3
    assert "\nplayer 0\n" not in answer.out
    assert re.search(r"\d+ more infosets lose \S+ together; --limit shows more", answer.lines[-1])
    assert all(re.search(r"(call|raise|fold) [█▏▎▍▌▋▊▉ ]{8} [01]\.\d{3}", row) for row in rows)
    answer = run("show", policy_file, "Zh:*")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: no infoset of leduc_poker fits Zh:*; did you mean")
    assert run("show", policy_file, "--sort", "x").code == 2


def test_json_has_the_row_of_an_infoset(run, policy_file):
    facts = json.loads(run("show", policy_file, "Qs:", "--json").out)
    (row,) = facts["infosets"]
    assert row["infoset"] == "Qs:"
    assert sum(row["plays"].values()) == pytest.approx(1.0)
    assert row["reach"] == pytest.approx(1 / 6)
    mean = sum(row["plays"][name] * row["action_values"][name] for name in row["plays"])
    assert row["value"] == pytest.approx(mean)


def test_grid_has_a_head_and_a_table(run, policy_file):
    answer = run("show", policy_file, "*:cc|*:", "--grid", "--player", 0)
    head, *table = answer.out.split("\n\n")[1].splitlines()
    assert head.startswith("player 0, cc|:")
    assert table[0].split() == ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
    assert [line.split()[0] for line in table[1:]] == ["Js", "Jh", "Qs", "Qh", "Ks", "Kh"]
    assert table[1].split()[1] == "."  # one's own card is not there
    assert run("show", policy_file, "--grid", "--tree", 3).code == 2


def test_tree_starts_with_chance(run, folder):
    lines = run("show", folder, "--tree", 3).lines[2:]
    assert lines[0] == "chance"
    assert lines[1] == "├─ deal 0 0.333: chance"
    assert lines[2] == "│  ├─ deal 1 0.5: player 0 [0]"
    assert re.fullmatch(r"│  │  ├─ pass 0\.\d+: player 1 \[1p\] \.\.\.", lines[3])
    whole = run("show", folder, "--tree", 9).lines[2:]
    assert len(whole) == 58
    assert any(line.endswith(": -2, +2") for line in whole)


def test_every_policy_of_a_run_can_be_used(run, folder, tmp_path):
    judged = json.loads(run("evaluate", folder, "--json").out)
    assert list(judged["policies"]) == ["average", "current"]
    last = cp.load_metrics(folder)[-1]
    for name in ("average", "current"):
        source = f"{folder}@{name}"
        found = json.loads(run("evaluate", source, "--json").out)
        assert found["exploitability"] == pytest.approx(last[name], rel=1e-9)
        for file in (f"{name}.json", f"{name}.csv", f"{name}.policy"):
            assert run("export", source, file).err == f"wrote {file}\n"
            again = json.loads(run("evaluate", file, "--game", "kuhn_poker", "--json").out)
            assert again["exploitability"] == pytest.approx(last[name], rel=1e-9)
        assert run("show", source).code == 0
        assert run("play", "kuhn_poker", "--policy", source, typed="q\n").code == 0
        assert run("match", source, "uniform", "kuhn_poker").lines[-1] == "exact"
    assert "there is also" in run("export", folder, "x.json").err
    assert run("evaluate", "runs/*/*").code == 0
    answer = run("evaluate", f"{folder}@curent")
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean 'current'?; there is average, current" in answer.err
    assert run("play", "leduc_poker", "--policy", folder).code == 2


def test_the_same_from_python(folder):
    found = cp.load_run(folder)
    assert found.step == 200
    assert list(found.policies) == ["average", "current"]
    assert cp.exploitability(found.policies["average"].arena, found.policies["average"]) < 1e-2
    table = cp.experiment.metrics_table(folder)
    assert table["step"] == [1, 100, 200]
    assert table["average"][-1] == found.records[-1]["average"]
    assert set(table["algorithm"]) == {"dcfr"}


def test_a_run_without_a_checkpoint(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cp.experiment.new_run(CONFIG, "runs/kuhn/1")
    answer = run("evaluate", "runs/kuhn/1")
    assert (answer.code, answer.err) == (2, "error: runs/kuhn/1 has no checkpoint yet\n")


def test_tables_do_not_say_which_game_they_are_for(run, folder):
    run("export", folder, "x.csv")
    answer = run("evaluate", "x.csv")
    assert answer.code == 2
    assert "name it with --game" in answer.err
    for text, problem in [("a,b\n", "the first line must be"), ("", "the first line must be")]:
        (folder / "y.csv").write_text(text)
        answer = run("evaluate", folder / "y.csv", "--game", "kuhn_poker")
        assert answer.code == 2
        assert problem in answer.err


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_draw_writes_a_picture(run, folder, suffix):
    pytest.importorskip("matplotlib")
    answer = run("draw", "kuhn_poker", "-o", f"tree.{suffix}", "--policy", folder)
    assert (answer.code, answer.err) == (0, f"wrote tree.{suffix}\n")
    content = (folder.parents[2] / f"tree.{suffix}").read_bytes()
    assert content.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[suffix])
    if suffix == "svg":
        text = content.decode()
        assert all(word in text for word in ("deal 0", "1/3", "pass", "2pb", "stroke-dasharray"))
        run("draw", "kuhn_poker", "-o", "again.svg", "--policy", folder)
        assert (folder.parents[2] / "again.svg").read_text() == text


def test_what_cannot_be_drawn(run, tmp_path):
    pytest.importorskip("matplotlib")
    assert "must end in .svg, .png, .pdf" in run("draw", "kuhn_poker", "-o", "x.gif").err
    answer = run("draw", "leduc_poker", "-o", tmp_path / "x.svg")
    assert answer.code == 2
    assert "choose a smaller depth" in answer.err
    assert run("draw", "leduc_poker", "-o", tmp_path / "x.svg", "--depth", 3).code == 0


def test_nothing_is_overwritten_silently(run, folder):
    assert run("export", folder, "x.json").code == 0
    answer = run("export", folder, "x.json")
    assert (answer.code, answer.err) == (2, "error: x.json exists already; --force replaces it\n")
    assert run("export", folder, "x.json", "--force").code == 0
    assert run("solve", "kuhn_poker", "--save", "a", "--iterations", 1).code == 0
    assert run("solve", "kuhn_poker", "--save", "a", "--iterations", 1).code == 2
    assert run("solve", "kuhn_poker", "--save", "a", "--iterations", 1, "--force").code == 0


def test_policies_of_hold_em_games_are_shown_hand_by_hand(run, tmp_path):
    game = cp.load_game("custom_holdem(num_ranks=3,board_cards=(0,1),stacks=(8,8))")
    arena, path = cp.holdem.HoldemGameArena(game), tmp_path / "small.policy"
    cp.solve(arena, cp.algorithms.DCFR(), iterations=2).policy.save(path)
    answer = run("spot", "show", path, "cc|2d:", "--hand", "44")
    assert answer.code == 0
    assert answer.lines[0] == "board 2d, pot 4, player 1 acts"
    fours = {"4d4c", "4h4c", "4h4d", "4s4c", "4s4d", "4s4h"}
    assert {line[:4] for line in answer.lines[-6:]} == fours
    code, _, error = run("spot", "show", path, "cx")
    assert code == 2 and "'x' is not possible there; legal: c, r6" in error
