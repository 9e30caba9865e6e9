"""The example configs: every one can be loaded, found by name, and copied."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.cli.main import main
from counterplay.distributed.study import load_study
from counterplay.errors import ConfigError
from counterplay.experiment import examples
from counterplay.experiment.config import load_config
from counterplay.experiment.examples import copy_examples, find_config, list_examples

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = list_examples()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_example_loads_as_its_kind(example):
    if example.kind not in ("spot", "preflop"):
        pytest.importorskip("jax")
    load = {"run": load_config, "study": load_study, "spot": Spot.load, "preflop": PreflopGame.load}
    load[example.kind](example.path)


def test_every_json_config_is_listed():
    stored = {p.relative_to(ROOT / "configs").as_posix() for p in ROOT.glob("configs/**/*.json")}
    assert {f"{example.name}.json" for example in EXAMPLES} == stored
    assert {example.kind for example in EXAMPLES} == {"run", "study", "spot", "preflop"}


def test_the_wheel_contains_the_folder_that_is_searched():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    target = build["targets"]["wheel"]["force-include"]["configs"]
    assert target == f"counterplay/{examples.FOLDER_NAME}"


def test_an_example_has_three_spellings_and_a_file_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shipped = ROOT / "configs" / "thesis" / "kuhn_2p.json"
    for name in ("thesis/kuhn_2p", "thesis/kuhn_2p.json", "configs/thesis/kuhn_2p.json"):
        assert find_config(name).samefile(shipped)
    (tmp_path / "thesis").mkdir()
    Path("thesis/kuhn_2p.json").write_text("{}")
    assert find_config("thesis/kuhn_2p.json") == Path("thesis/kuhn_2p.json")
    assert find_config("missing.json") == Path("missing.json")
    with pytest.raises(ConfigError, match="did you mean 'thesis/kuhn_3p'"):
        find_config("thesis/kuhn_3")


def test_a_copied_study_still_finds_its_base(tmp_path):
    files = copy_examples("studies/kuhn_quick", tmp_path)
    assert {p.relative_to(tmp_path).as_posix() for p in files} == {
        "studies/kuhn_quick.json",
        "own/kuhn_2p.json",
    }
    base = json.loads(files[0].read_text())["base"]
    assert (files[0].parent / base).is_file()
    with pytest.raises(ConfigError, match="exists already"):
        copy_examples("studies/kuhn_quick", tmp_path)
    assert copy_examples("studies/kuhn_quick", tmp_path, replace=True) == files


def test_command_lists_and_copies_examples(tmp_path, capsys):
    assert main(["configs", "spots", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    names = ["flop_3bet_pot", "river", "single_raised_pot", "turn"]
    assert [row["name"] for row in listed] == [f"spots/{name}" for name in names]
    assert main(["configs", "spots/river", "--copy", str(tmp_path)]) == 0
    assert Spot.load(tmp_path / "spots" / "river.json").street == 2
    assert main(["configs", "spot/rivers"]) == 2
    assert "did you mean 'spots/river'" in capsys.readouterr().err


def test_spot_command_takes_the_name_of_an_example(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["spot", "estimate", "spots/river", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["boards"] == [1]
