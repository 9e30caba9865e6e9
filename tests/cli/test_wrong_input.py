"""Every command with every kind of wrong file: exit code 2, one line, no traceback."""

from __future__ import annotations

import json

import pytest

import counterplay as cp

GAME_COMMANDS = {
    "inspect": "inspect {}",
    "inspect --estimate": "inspect {} --estimate",
    "draw": "draw {} -o out.svg",
    "solve": "solve {} -n 1",
    "play": "play {} --episodes 1",
    "bounds": "bounds uniform {}",
    "match": "match uniform uniform {}",
    "matrix": "matrix {}",
    "concepts": "concepts {}",
    "convert": "convert {} out.json",
    "grid": "grid -a cfr -g {} -n 1 -o grid",
}
POLICY_COMMANDS = {
    "evaluate": "evaluate {}",
    "show": "show {}",
    "export": "export {} out.csv",
    "draw --policy": "draw kuhn_poker -o out.svg --policy {}",
    "concepts --policy": "concepts kuhn_poker --policy {}",
    "play --policy": "play kuhn_poker --policy {}",
    "bounds POLICY": "bounds {} kuhn_poker",
    "match A": "match {} uniform kuhn_poker",
    "match B": "match uniform {} kuhn_poker",
}
OTHER_COMMANDS = {
    "run": "run {}",
    "resume": "resume {}",
    "sweep": "sweep {}",
    "compare": "compare {}",
    "plot": "plot {} -o out.svg",
    "plot --reference": "plot run -o out.svg --reference {}",
    "spot estimate": "spot estimate {}",
    "spot solve": "spot solve {}",
    "spot show": "spot show {}",
    "spot diff": "spot diff {0} {0}",
    "spot play": "spot play {}",
    "spot from-preflop": "spot from-preflop {} call,check QsJh2h",
    "preflop solve": "preflop solve {}",
    "preflop show": "preflop show {}",
    "preflop check": "preflop check {}",
}
CONTENTS = {
    "binary junk": bytes(range(256)) * 4,
    "empty": b"",
    "text": b"hello\n",
    "a list": b"[]",
    "an object": b"{}",
    "another object": b'{"a": [1, {"b": null}], "game": 3, "players": 4, "format": 5}',
    "a number": b"3",
    "null": b"null",
    "nested too deep": b"[" * 100_000,
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in ("match", "bounds"):  # which takes the time of an estimate
        monkeypatch.setattr(f"counterplay.cli.{module}.is_small_game", lambda rules: True)
    return tmp_path


def check(run, command, given):
    answer = run(*command.format(given).split())
    assert (answer.code, answer.err.count("\n")) == (2, 1), answer
    assert answer.err.startswith("error: ")
    assert len(answer.err) < 2_100
    return answer.err


@pytest.mark.parametrize("suffix", ["efg", "nfg", "json", "csv"])
@pytest.mark.parametrize("command", GAME_COMMANDS.values(), ids=GAME_COMMANDS)
def test_wrong_game_files(run, place, command, suffix):
    given = f"wrong.{suffix}"
    assert given in check(run, command, given)  # there is no such file
    (place / given).mkdir()
    check(run, command, given)
    (place / given).rmdir()
    for kind, content in CONTENTS.items():
        if (suffix, kind) != ("csv", "a number"):  # which is a table of one cell
            (place / given).write_bytes(content)
            assert given in check(run, command, given)


@pytest.mark.parametrize("command", GAME_COMMANDS.values(), ids=GAME_COMMANDS)
def test_wrong_game_names(run, place, command):
    assert "did you mean 'kuhn_poker'" in check(run, command, "kuhn_pokr")
    check(run, command, "kuhn_poker(player=3)")
    check(run, command, "kuhn_poker(players=0)")
    check(run, command, "nowhere.py:Game")
    check(run, command, "nowhere:Game")
    check(run, command, "openspiel:nothing")


@pytest.mark.parametrize("suffix", ["policy", "json", "csv"])
@pytest.mark.parametrize("command", POLICY_COMMANDS.values(), ids=POLICY_COMMANDS)
def test_wrong_policy_files(run, place, command, suffix):
    given = f"wrong.{suffix}"
    check(run, command, given)
    (place / given).mkdir()
    check(run, command, given)
    (place / given).rmdir()
    for content in CONTENTS.values():
        (place / given).write_bytes(content)
        check(run, command, given)


@pytest.mark.parametrize("command", OTHER_COMMANDS.values(), ids=OTHER_COMMANDS)
def test_wrong_files(run, place, command):
    cp.run({"game": "kuhn_poker", "algorithm": "cfr", "spec": {"max_steps": 2}}, "run")
    check(run, command, "wrong.json")
    (place / "wrong.json").mkdir()
    check(run, command, "wrong.json")
    (place / "wrong.json").rmdir()
    for content in CONTENTS.values():
        (place / "wrong.json").write_bytes(content)
        check(run, command, "wrong.json")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    """One good file, or folder, of each kind."""
    folder = tmp_path_factory.mktemp("kinds")
    game = cp.load_game("kuhn_poker")
    config = {"name": "small", "game": "kuhn_poker", "algorithm": "cfr", "spec": {"max_steps": 2}}
    tree = cp.build_tree(game)
    policy = cp.uniform_policy(tree)
    cp.run(config, folder / "run")
    cp.save_game(game, folder / "game.json")
    policy.save(folder / "binary.policy")
    policy.to_json(folder / "policy.json")
    tree.save(folder / "kuhn.tree")
    study = {"base": config, "vary": {"delay": {"choices": [0]}}}
    spot = {"board": "Td9d6h", "pot": 10, "stack": 20, "ranges": ["AA", "KK"]}
    for name, content in (("config", config), ("study", study), ("spot", spot), ("table", [[1]])):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


WANTED = {  # command -> the kinds of files that it takes
    **dict.fromkeys(GAME_COMMANDS, ("game.json", "table.json")),
    **dict.fromkeys(POLICY_COMMANDS, ("binary.policy", "policy.json", "run")),
    "run": ("config.json", "run/config.json"),
    "resume": ("run",),
    "sweep": ("study.json",),
    "compare": ("run",),
    "plot": ("run",),
    "plot --reference": (),
    "spot estimate": ("spot.json",),
    "spot solve": ("spot.json",),
    "spot show": (),
    "spot diff": (),
    "spot play": (),
    "spot from-preflop": (),
    "preflop solve": (),
    "preflop show": (),
    "preflop check": (),
}
KINDS = ["config.json", "run/config.json", "study.json", "spot.json", "game.json", "table.json"]
KINDS += ["policy.json", "binary.policy", "kuhn.tree", "run", "run/checkpoint.npz"]


@pytest.mark.parametrize("command", WANTED)
def test_good_files_of_another_kind(run, place, kinds, command):
    (place / "run").symlink_to(kinds / "run")
    whole = {**GAME_COMMANDS, **POLICY_COMMANDS, **OTHER_COMMANDS}[command]
    for kind in KINDS:
        if kind not in WANTED[command]:
            check(run, whole, kinds / kind)
