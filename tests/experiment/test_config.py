"""Configs: accepted values, refusals and their messages."""

from __future__ import annotations

import contextlib
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import counterplay as cp
from counterplay.distributed.study import load_study
from counterplay.errors import ConfigError
from counterplay.experiment.config import load_config
from counterplay.registry import ALGORITHMS, GAMES
from tests.experiment.conftest import config, dump_json

REQUIRED = {"matrix_game": {"payoffs": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]}}
FOLDERS = ("cfr", "exact", "fictitious_play", "mccfr", "regularised")
TABULAR = [name for name, where in ALGORITHMS.items() if where.split(".")[2] in FOLDERS]


def test_defaults_and_types():
    found = load_config(
        {"algorithm": "cfr_hedge", "game": {"name": "kuhn_poker"}, "spec": SHORT_RUN}
    )
    assert found.name == "run"
    assert found.game == cp.games.KuhnPoker()
    assert found.algorithm == cp.algorithms.CFRHedge()
    assert (found.max_steps, found.seed) == (10, 0)
    assert (found.evaluate_every, found.checkpoint_every) == (250, 25_000)
    assert found.device == "cpu"


SHORT_RUN = {"max_steps": 10}


def test_integers_stand_for_numbers_and_lists_for_tuples():
    found = load_config(config("toy", rate=2) | {"networks": {"toy_hidden_sizes": [5, 4]}})
    assert found.algorithm.rate == 2.0
    assert isinstance(found.algorithm.rate, float)
    assert found.algorithm.toy_hidden_sizes == (5, 4)


def test_name_is_that_of_the_file(tmp_path):
    whole = config()
    del whole["name"]
    assert load_config(dump_json(tmp_path / "kuhn_2p.json", whole)).name == "kuhn_2p"
    assert load_config(dump_json(tmp_path / "my run!.json", whole)).name == "my_run_"


@pytest.mark.parametrize("name", GAMES)
def test_every_game_survives_the_round_trip(name):
    found = load_config(config(game=name, params=REQUIRED.get(name)))
    whole = json.loads(json.dumps(found.to_json()))
    assert load_config(whole) == found
    assert load_config(whole).to_json() == whole


@pytest.mark.parametrize("name", TABULAR)
def test_every_tabular_algorithm_survives_the_round_trip(name):
    found = load_config(config(name))
    whole = json.loads(json.dumps(found.to_json()))
    assert load_config(whole) == found
    assert load_config(found) == found
    keys = {"name", "algorithm", "game", "arena", "networks", "spec", "device"}
    assert set(whole) == keys


def test_resolved_config_is_complete():
    whole = load_config(config("toy")).to_json()
    assert whole["game"] == {"name": "kuhn_poker", "params": {"players": 2, "num_cards": 0}}
    assert whole["networks"] == {"toy_hidden_sizes": [3, 2]}
    assert whole["spec"] == {
        "max_steps": 200,
        "seed": 0,
        "evaluate_every": 20,
        "checkpoint_every": 50,
        "break_at": 0,
        "how": "nan",
        "rate": 0.5,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spec": {"etaa": 1}}, "spec.etaa: unknown key; did you mean 'eta'?"),
        ({"spec": {"max_step": 1}}, "spec.max_step: unknown key; did you mean 'max_steps'?"),
        ({"specs": {}}, "specs: unknown key; did you mean 'spec'?"),
        ({"game": {"name": "kuhn_poker", "param": {}}}, "game.param: unknown key; did you mean"),
        (
            {"game": {"name": "kuhn_poker", "params": {"player": 2}}},
            "game.params.player: unknown key; did you mean 'players'?",
        ),
        (
            {"game": {"name": "tic_tac_toe", "params": {"size": 4}}},
            "game.params.size: unknown key (this section takes none)",
        ),
        (
            {"networks": {"hidden_sizes": [2]}},
            "networks.hidden_sizes: unknown key (this section takes none)",
        ),
        ({"networks": {"eta": 2}}, "networks.eta: unknown key; it belongs in spec"),
        (
            {"algorithm": "toy", "spec": {"toy_hidden_sizes": [2, 2]}},
            "spec.toy_hidden_sizes: unknown key; it belongs in networks",
        ),
        ({"spec": {"eta": "big"}}, 'spec.eta is "big", must be a number'),
        ({"spec": {"eta": True}}, "spec.eta is true, must be a number"),
        ({"spec": {"eta": None}}, "spec.eta is null, must be a number"),
        ({"spec": {"alternating": 1}}, "spec.alternating is 1, must be true or false"),
        ({"spec": {"seed": 1.5}}, "spec.seed is 1.5, must be an integer"),
        ({"spec": {"seed": "0"}}, 'spec.seed is "0", must be an integer'),
        ({"spec": {"seed": -1}}, "spec.seed is -1, must be at least 0"),
        ({"spec": {"max_steps": 0}}, "spec.max_steps is 0, must be at least 1"),
        ({"spec": {"max_steps": None}}, "spec.max_steps is null, must be an integer"),
        ({"spec": {"evaluate_every": 0}}, "spec.evaluate_every is 0, must be at least 1"),
        ({"spec": 7}, "spec is 7, must be an object"),
        ({"game": 7}, "game is 7, must be an object"),
        ({"game": "kuhn"}, "game.name: unknown game 'kuhn'; did you mean 'kuhn_poker'?"),
        ({"game": "kuhn_poker(player=3)"}, "game.params.player: unknown key; did you mean"),
        (
            {"game": {"name": "kuhn_poker(players=2)", "params": [1]}},
            "game.params is [1], must be an object",
        ),
        ({"game": "kuhn_poker("}, "cannot read game 'kuhn_poker('"),
        ({"game": "none.efg"}, "game.params: there is no file none.efg"),
        ({"game": "none.py:Game"}, "game.params: there is no file none.py"),
        ({"algorithm": "cfr_hedge(etaa=1)"}, "spec.etaa: unknown key; did you mean 'eta'?"),
        ({"arena": "tre"}, 'arena is "tre", must be one of'),
        ({"game": {}}, "game.name: missing key"),
        ({"game": {"name": 3}}, "game.name is 3, must be a string"),
        ({"device": "cuda"}, "device is \"cuda\", must be one of 'cpu', 'gpu' or 'tpu'"),
        ({"name": "../up"}, 'name is "../up", must be letters, digits'),
        ({"name": ""}, 'name is "", must be letters, digits'),
        (
            {"algorithm": "cfr_hedgehog"},
            "algorithm: unknown algorithm 'cfr_hedgehog'; did you mean",
        ),
        (
            {"game": {"name": "kuhn"}},
            "game.name: unknown game 'kuhn'; did you mean 'kuhn_poker'? (counterplay games lists",
        ),
        ({"spec": {"eta": -1}}, "spec.eta is -1.0, must be positive"),
        (
            {"algorithm": "toy", "networks": {"toy_hidden_sizes": [0]}},
            "networks.toy_hidden_sizes is (0,), must",
        ),
        (
            {"algorithm": "toy", "networks": {"toy_hidden_sizes": 5}},
            "networks.toy_hidden_sizes is 5, must be a",
        ),
        (
            {"algorithm": "toy", "networks": {"toy_hidden_sizes": [1, "b"]}},
            'networks.toy_hidden_sizes.1 is "b", must be an integer',
        ),
        (
            {"game": {"name": "kuhn_poker", "params": {"players": 1}}},
            "game.params: kuhn_poker: players is 1, must be from 2 to 10",
        ),
        ({"game": {"name": "matrix_game"}}, "game.params.payoffs: missing key"),
    ],
)
def test_wrong_configs_name_the_key(tmp_path, change, message):
    whole = config("cfr_hedge")
    spec = change.get("spec")
    if isinstance(spec, dict):
        change = change | {"spec": whole["spec"] | spec}
    file = dump_json(tmp_path / "config.json", whole | change)
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    assert str(caught.value).startswith(f"{file}: {message}")
    assert "\n" not in str(caught.value)


OWN = """
from dataclasses import dataclass
from counterplay.games.kuhn_poker import KuhnPoker

@dataclass(frozen=True)
class Mine(KuhnPoker):
    bonus: float = 0.0

    def utilities(self, state):
        first, second = super().utilities(state)
        return first + self.bonus, second - self.bonus
"""


@pytest.mark.parametrize(
    "game",
    [
        "kuhn_poker(players=3)",
        {"name": "matrix_game", "params": {"payoffs": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]]}},
        "openspiel:kuhn_poker(players=3)",
        {"name": "openspiel:kuhn_poker", "params": {"players": 3}},
        "chicken.efg",
        "chicken.json",
        "mine.py:Mine(bonus=2.5)",
        {"name": "mine.py:Mine", "params": {"bonus": 2.5}},
        "counterplay.games.kuhn_poker:KuhnPoker(players=3)",
    ],
    ids=str,
)
def test_any_game_and_short_forms(game, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(OWN)
    cp.save_game(cp.load_game("chicken"), "chicken.efg")
    cp.save_game(cp.load_game("chicken"), "chicken.json")
    found = load_config(config("cfr") | {"game": game, "algorithm": "dcfr(gamma=3)"})
    assert found.algorithm == cp.algorithms.DCFR(gamma=3.0)
    again = load_config(json.loads(json.dumps(found.to_json())))
    assert again.game_name == found.game_name
    assert cp.build_tree(again.game).spec == cp.build_tree(found.game).spec
    if "Mine" in str(game):
        assert found.game.bonus == again.game.bonus == 2.5


def test_missing_sections():
    with pytest.raises(ConfigError, match="algorithm: missing key"):
        load_config({"game": "kuhn_poker", "spec": SHORT_RUN})
    with pytest.raises(ConfigError, match="game: missing key"):
        load_config({"algorithm": "cfr", "spec": SHORT_RUN})
    with pytest.raises(ConfigError, match=r"config: spec.max_steps: missing key"):
        load_config({"algorithm": "cfr", "game": {"name": "kuhn_poker"}})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "x",}', "not JSON: "),
        ("", "not JSON: "),
        ("\x00\xff", "not JSON: "),
        ("[1]", "must be an object with the keys name, algorithm, game"),
        ('{"name": "x", "name": "y"}', "the key 'name' occurs twice"),
        ('{"spec": {"eta": NaN}}', "NaN is not allowed"),
        ('{"spec": {"eta": 1e400}}', "the number 1e400 is too large"),
        ('{"spec": {"seed": -9223372036854775808}}', "the number -9223372036854775808 is too"),
        ('{"spec": {"seed": ' + "9" * 10_000 + "}}", "the number 99999999999999999999 is too"),
        ("[" * 100_000, "not JSON: "),
        (
            '{"spec": ' * 400 + "1" + "}" * 400,
            "unknown key|missing key|recursion|too deep|expected",
        ),
        ('{"name": "\\ud800", "game": {"name": "kuhn_poker"}}', "Invalid JSON"),
    ],
)
def test_files_that_hold_no_config(tmp_path, text, message):
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(file)


def test_any_encoding_that_json_knows(tmp_path):
    file = tmp_path / "config.json"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        file.write_bytes(json.dumps(config()).encode(encoding))
        assert load_config(file) == load_config(config() | {"name": load_config(file).name})
    file.write_bytes("ä".encode("latin-1"))
    with pytest.raises(ConfigError, match="not JSON"):
        load_config(file)


@pytest.mark.parametrize(
    "value", [float("nan"), 10**30, 10**5_000, {1}, b"x"], ids=lambda value: str(type(value))
)
def test_values_that_are_none(value):
    for source, overrides in ((config(eta=value), {}), (config(), {"eta": value})):
        with pytest.raises(ConfigError):
            load_config(source, overrides)


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
PLACES = ["", "name", "algorithm", "game", "game.name", "game.params", "game.params.players"]
PLACES += [
    "networks",
    "spec",
    "spec.eta",
    "spec.seed",
    "spec.max_steps",
    "device",
    "new",
    "spec.new",
]


@given(st.sampled_from(PLACES), ANY)
def test_any_value_anywhere_is_fine_or_named(place, value):
    whole = config("cfr_hedge")
    *above, key = place.split(".")
    section = whole
    for part in above:
        section = section.setdefault(part, {})
    section[key] = value
    with contextlib.suppress(ConfigError):
        load_config(whole)


def test_many_keys_take_little_time(tmp_path):
    """Linear in their number; a search through all for each would take minutes."""
    file = tmp_path / "config.json"
    keys = ",".join(f'"key{number}": 1' for number in range(30_000))
    game = f'{{"name": "kuhn_poker", "params": {{{keys}}}}}'
    file.write_text(f'{{"name": "x", "algorithm": "cfr", "game": {game}, "spec": {{}}}}')
    with pytest.raises(ConfigError, match=r"params\.key0: unknown key"):
        load_config(file)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(ConfigError, match="cannot read"):
        load_config("zero\0byte.json")
    with pytest.raises(ConfigError, match=r"there is no file .*none.json"):
        load_config(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="cannot read"):
        load_config(tmp_path)


def test_overrides_replace_values():
    given = {
        "eta": 3,
        "spec.decay_power": 0.5,
        "game.params.players": 3,
        "seed": 4,
        "name": "other",
    }
    found = load_config(config("cfr_hedge"), given)
    assert found.algorithm == cp.algorithms.CFRHedge(eta=3.0, decay_power=0.5)
    assert found.game == cp.games.KuhnPoker(players=3)
    assert (found.seed, found.name) == (4, "other")
    assert load_config(config("toy"), {"toy_hidden_sizes": [1]}).algorithm.toy_hidden_sizes == (1,)
    with pytest.raises(ConfigError, match=r"spec\.etta: unknown key; did you mean 'eta'"):
        load_config(config("cfr_hedge"), {"etta": 3})
    with pytest.raises(ConfigError, match=r"cannot set 'name.x': 'name' is not an object"):
        load_config(config("cfr_hedge"), {"name.x": 3})


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setitem(ALGORITHMS, "deep_thing", "tests.experiment.needs_jax:Thing")
    with pytest.raises(ConfigError, match=r"deep_thing needs the package .*counterplay\[deep\]"):
        load_config(config("deep_thing"))


OWN_GAME = """
from counterplay.games.kuhn_poker import KuhnPoker

class Mine(KuhnPoker):
    pass
"""


@pytest.mark.parametrize("game", ["kuhn.efg", {"name": "kuhn.efg"}, "own.py:Mine(players=3)"])
def test_files_of_games_are_looked_for_from_the_config(tmp_path, monkeypatch, game):
    folder, elsewhere = tmp_path / "configs", tmp_path / "elsewhere"
    folder.mkdir()
    elsewhere.mkdir()
    cp.save_game(cp.load_game("kuhn_poker"), folder / "kuhn.efg")
    (folder / "own.py").write_text(OWN_GAME)
    whole = {"name": "x", "game": game, "algorithm": "cfr", "spec": {"max_steps": 2}}
    (folder / "config.json").write_text(json.dumps(whole))
    monkeypatch.chdir(tmp_path)
    cp.trust(folder / "own.py")
    first = cp.run("configs/config.json", "run")
    monkeypatch.chdir(elsewhere)
    assert cp.resume("../run", max_steps=4).step == 4  # from anywhere
    assert load_config("../configs/config.json").game == first.config.game
    base = whole | {"algorithm": "external_sampling"}
    study = {"name": "x", "base": base, "vary": {"regret_matching_plus": {"choices": [True]}}}
    (folder / "study.json").write_text(json.dumps(study))
    assert load_study("../configs/study.json").base.game_name == first.config.game_name


def test_counts_in_scientific_notation(tmp_path):
    text = '{"game": "kuhn_poker", "algorithm": "dcfr", "spec": {"max_steps": 1e6, "gamma": 2e0}}'
    (tmp_path / "config.json").write_text(text)
    found = load_config(tmp_path / "config.json")
    assert found.max_steps == 1_000_000 and found.algorithm.gamma == 2.0
    assert isinstance(found.algorithm.gamma, float)
