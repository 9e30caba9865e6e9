"""Policies: lookup, files, exports."""

from __future__ import annotations

import contextlib
import csv
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.files import read_arrays, write_arrays
from counterplay.policy import FORMAT, normalised_policy, policy_spec
from tests.conftest import built
from tests.random_games import random_games


def test_lookup_by_readable_key(kuhn):
    policy = cp.uniform_policy(kuhn)
    assert policy["0pb"] == {"pass": 0.5, "bet": 0.5}
    assert policy[0, "0pb"] == policy["0pb"]
    with pytest.raises(cp.ConfigError, match="did you mean"):
        policy["0pbb"]


def test_a_key_shared_by_players_needs_the_player():
    tree = cp.build_tree(Whoever())
    policy = cp.random_policy(tree)
    with pytest.raises(cp.ConfigError, match="several players"):
        policy["?"]
    assert policy[0, "?"] != policy[1, "?"]


class Whoever:
    """Two players with one infoset each, of the same name."""

    num_players = 2

    def initial_state(self):
        return ()

    def player(self, state):
        return len(state) if len(state) < 2 else cp.TERMINAL

    def actions(self, state):
        return (0, 1)

    def chance_outcomes(self, state):
        return []

    def next_state(self, state, action):
        return (*state, action)

    def utilities(self, state):
        return (float(state[0] == state[1]), float(state[0] != state[1]))

    def infoset_key(self, state, player):
        return "?"

    def action_name(self, state, action):
        return str(action)


@given(random_games(), st.integers(0, 1000))
def test_random_policies_are_policies(game, seed):
    tree = cp.build_tree(game)
    policy = cp.random_policy(tree, seed)
    assert (policy.probabilities == cp.random_policy(tree, seed).probabilities).all()
    for _, _, row in policy.items():
        assert sum(row.values()) == approx(1.0)


def test_save_and_load(leduc, tmp_path):
    policy = cp.random_policy(leduc, seed=3)
    policy.save(tmp_path / "leduc.policy")
    again = cp.load_policy(tmp_path / "leduc.policy", leduc)
    assert (again.probabilities == policy.probabilities).all()
    assert policy_spec(tmp_path / "leduc.policy") == "leduc_poker"


def test_a_file_follows_keys_not_positions(kuhn, tmp_path):
    """A policy saved when infosets stood in another order still means the same."""
    policy = cp.random_policy(kuhn, seed=1)
    policy.save(tmp_path / "a")
    values = read_arrays(tmp_path / "a", FORMAT)
    for name in ("infoset_keys", "infoset_player"):
        values[name] = values[name][::-1]
    assert values["sequence_names"] == ("pass", "bet") * kuhn.num_infosets
    values["probabilities"] = values["probabilities"].reshape(-1, 2)[::-1].ravel()
    write_arrays(tmp_path / "b", FORMAT, values)
    again = cp.load_policy(tmp_path / "b", kuhn)
    assert (again.probabilities == policy.probabilities).all()


def test_foreign_and_damaged_files(kuhn, tmp_path):
    other = built("kuhn_poker(players=3)")
    cp.uniform_policy(other).save(tmp_path / "three")
    with pytest.raises(
        cp.RunError, match=r"policy for kuhn_poker\(players=3\).*not for kuhn_poker"
    ):
        cp.load_policy(tmp_path / "three", kuhn)
    built_more = built("kuhn_poker(num_cards=4)")
    cp.uniform_policy(built_more).save(tmp_path / "four")
    with pytest.raises(cp.RunError, match="num_cards=4"):
        cp.load_policy(tmp_path / "four", kuhn)
    cp.uniform_policy(built("liars_dice(dice_sides=2)")).save(tmp_path / "dice")
    with pytest.raises(cp.RunError, match="liars_dice"):
        cp.load_policy(tmp_path / "dice", kuhn)
    kuhn.save(tmp_path / "tree")
    with pytest.raises(cp.RunError, match="tree 1"):
        cp.load_policy(tmp_path / "tree", kuhn)
    cp.uniform_policy(kuhn).save(tmp_path / "good")
    whole = (tmp_path / "good").read_bytes()
    for cut in range(0, len(whole), 97):
        (tmp_path / "cut").write_bytes(whole[:cut])
        with pytest.raises(cp.RunError):
            cp.load_policy(tmp_path / "cut", kuhn)


def test_flipped_bytes_never_crash(kuhn, tmp_path):
    cp.random_policy(kuhn).save(tmp_path / "good")
    whole = bytearray((tmp_path / "good").read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(300):
        flipped = whole.copy()
        flipped[rng.integers(len(whole))] ^= 1 << rng.integers(8)
        (tmp_path / "bad").write_bytes(flipped)
        with contextlib.suppress(cp.RunError):  # any other exception would fail the test
            assert cp.load_policy(tmp_path / "bad", kuhn).tree is kuhn


def test_pickles_are_not_opened(kuhn, tmp_path):
    with open(tmp_path / "evil", "wb") as file:
        np.savez(file, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(cp.RunError, match="damaged"):
        cp.load_policy(tmp_path / "evil", kuhn)


def test_exports(kuhn, tmp_path):
    policy = cp.random_policy(kuhn, seed=2)
    policy.to_json(tmp_path / "p.json")
    policy.to_csv(tmp_path / "p.csv")
    read = json.loads((tmp_path / "p.json").read_text())
    assert read["game"] == "kuhn_poker"
    assert read["players"][0]["0pb"] == policy["0pb"]
    with open(tmp_path / "p.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == kuhn.num_sequences
    found = {(row["infoset"], row["action"]): float(row["probability"]) for row in rows}
    assert found["0pb", "bet"] == policy["0pb"]["bet"]


def test_what_is_not_a_policy(kuhn):
    with pytest.raises(cp.ConfigError, match="24 entries, not 3"):
        cp.Policy(kuhn, np.ones(3))
    with pytest.raises(cp.ConfigError, match="not a probability distribution at '0'"):
        cp.Policy(kuhn, np.ones(24))
    bad = cp.uniform_policy(kuhn).probabilities.copy()
    bad[2:4] = [-0.5, 1.5]
    with pytest.raises(cp.ConfigError, match="not a probability distribution at '1'"):
        cp.Policy(kuhn, bad)
    bad[2:4] = np.nan
    with pytest.raises(cp.ConfigError, match="not a probability distribution"):
        cp.Policy(kuhn, bad)


def test_normalised_policy_is_uniform_where_nothing_is_known(kuhn):
    weights = np.zeros(24)
    weights[:2] = [3.0, 1.0]
    policy = normalised_policy(kuhn, weights)
    assert policy.probabilities[:2].tolist() == [0.75, 0.25]
    assert (policy.probabilities[2:] == 0.5).all()
