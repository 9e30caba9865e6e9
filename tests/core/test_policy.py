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
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.policy import policy_from_weights, read_policy_spec
from counterplay.core.policy_io import POLICY_FORMAT
from tests.conftest import game_tree
from tests.random_games import random_games


def test_lookup_by_readable_key(kuhn):
    policy = cp.uniform_policy(kuhn)
    assert policy["0pb"] == {"pass": 0.5, "bet": 0.5}
    assert policy[0, "0pb"] == policy["0pb"]
    with pytest.raises(cp.ConfigError, match="did you mean"):
        policy["0pbb"]


def test_a_key_shared_by_players_needs_the_player():
    tree = cp.build_tree(KeyPerPlayer())
    policy = cp.random_policy(tree)
    with pytest.raises(cp.ConfigError, match="several players"):
        policy["?"]
    assert policy[0, "?"] != policy[1, "?"]


class KeyPerPlayer:
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
    assert read_policy_spec(tmp_path / "leduc.policy") == "leduc_poker"


def test_a_file_follows_keys_not_positions(kuhn, tmp_path):
    """A policy saved when infosets stood in another order still means the same."""
    policy = cp.random_policy(kuhn, seed=1)
    policy.save(tmp_path / "a")
    values = read_archive(tmp_path / "a", POLICY_FORMAT)
    for name in ("infoset_keys", "infoset_player"):
        values[name] = values[name][::-1]
    assert values["sequence_names"] == ("pass", "bet") * kuhn.num_infosets
    values["probabilities"] = values["probabilities"].reshape(-1, 2)[::-1].ravel()
    write_archive(tmp_path / "b", POLICY_FORMAT, values)
    again = cp.load_policy(tmp_path / "b", kuhn)
    assert (again.probabilities == policy.probabilities).all()


def test_foreign_and_damaged_files(kuhn, tmp_path):
    other = game_tree("kuhn_poker(players=3)")
    cp.uniform_policy(other).save(tmp_path / "three")
    with pytest.raises(
        cp.RunError, match=r"policy for kuhn_poker\(players=3\).*not for kuhn_poker"
    ):
        cp.load_policy(tmp_path / "three", kuhn)
    built_more = game_tree("kuhn_poker(num_cards=4)")
    cp.uniform_policy(built_more).save(tmp_path / "four")
    with pytest.raises(cp.RunError, match="num_cards=4"):
        cp.load_policy(tmp_path / "four", kuhn)
    cp.uniform_policy(game_tree("liars_dice(dice_sides=2)")).save(tmp_path / "dice")
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
            assert cp.load_policy(tmp_path / "bad", kuhn).arena is kuhn


def test_pickles_are_not_opened(kuhn, tmp_path):
    with open(tmp_path / "evil", "wb") as file:
        np.savez(file, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(cp.RunError, match="damaged"):
        cp.load_policy(tmp_path / "evil", kuhn)


def test_exports_hold_the_probabilities(kuhn, tmp_path):
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
    policy = policy_from_weights(kuhn, weights)
    assert policy.probabilities[:2].tolist() == [0.75, 0.25]
    assert (policy.probabilities[2:] == 0.5).all()


REPLACEMENTS = (None, True, 0, 1, -1, 0.5, "x", "0.5", [], {}, [1], {"x": 1}, float("nan"), 10**400)


def alter_json(value):
    """Everything that one alteration of a JSON value can make of it."""
    yield from (other for other in REPLACEMENTS if repr(other) != repr(value))
    if isinstance(value, dict):
        for key in value:
            rest = {name: part for name, part in value.items() if name != key}
            yield rest
            yield rest | {key + "x": value[key]}
            for other in alter_json(value[key]):
                yield rest | {key: other}
        yield value | {"more": 1}
        yield dict(reversed(value.items()))
    if isinstance(value, list):
        for k in range(len(value)):
            yield value[:k] + value[k + 1 :]
            for other in alter_json(value[k]):
                yield [*value[:k], other, *value[k + 1 :]]
        yield [*value, {}]
        yield value[::-1]


def test_altered_json_is_refused_or_means_the_same(kuhn, tmp_path):
    policy, file = cp.random_policy(kuhn, seed=4), tmp_path / "p.json"
    policy.to_json(file)
    content, same, refused = json.loads(file.read_text()), 0, 0
    game = cp.load_game("kuhn_poker")
    for other in alter_json(content):
        file.write_text(json.dumps(other))
        try:
            found = cp.load_policy(file, kuhn)
        except cp.RunError:
            refused += 1
        else:
            same += 1
            assert (found.probabilities == policy.probabilities).all(), other
        try:
            played = cp.load_tabular_policy(file, game)
        except cp.RunError:
            continue
        with contextlib.suppress(cp.ConfigError):  # where it lacks an infoset, or an action
            assert (played.tabulate(kuhn).probabilities == policy.probabilities).all(), other
    assert refused > 500
    assert same >= 14  # what only changes the order


def test_altered_csv_is_refused_or_means_the_same(kuhn, tmp_path):
    policy, file = cp.random_policy(kuhn, seed=4), tmp_path / "p.csv"
    policy.to_csv(file)
    lines = file.read_text().splitlines()
    texts = [lines[:k] + lines[k + 1 :] for k in range(len(lines))]
    texts += [lines[:k] + lines[k + 2 :] for k in range(1, len(lines), 2)]
    texts += [[*lines[:k], *lines[k:][::-1]] for k in (1, 9)] + [[*lines, lines[1]]]
    for k, line in enumerate(lines):
        cells = line.split(",")
        for place in range(4):
            for new in ("", "x", "7", "-1", "*", "nan"):
                changed = ",".join([*cells[:place], new, *cells[place + 1 :]])
                texts.append([*lines[:k], changed, *lines[k + 1 :]])
        texts += [[*lines[:k], line + ",1", *lines[k + 1 :]], [*lines[:k], "", *lines[k + 1 :]]]
    for text in texts:
        file.write_text("\n".join(text))
        with contextlib.suppress(cp.RunError):
            found = cp.load_policy(file, kuhn)
            assert (found.probabilities == policy.probabilities).all(), text


def test_incomplete_policies_say_what_to_do(kuhn, tmp_path):
    empty = tmp_path / "p.json"
    empty.write_text('{"game": "leduc_poker", "players": []}')
    for game in (kuhn, "leduc_poker", "kuhn_poker", None):
        with pytest.raises(cp.RunError, match=r"policy (for leduc_poker|of 0 players)"):
            cp.load_policy(empty, game)
    empty.write_text('{"game": "kuhn_poker", "players": [{}, {}]}')
    with pytest.raises(cp.RunError, match=r"0 of 12 infosets; it lacks .*\"missing_infosets\": "):
        cp.load_policy(empty)
    empty.write_text('{"game": "kuhn_poker", "missing_infosets": "uniform", "players": [{}, {}]}')
    assert (cp.load_policy(empty).probabilities == 0.5).all()
    table = tmp_path / "p.csv"
    table.write_text("player,infoset,action,probability\n0,2,bet,1\n0,2,pass,0\n")
    with pytest.raises(cp.RunError, match=r"1 of 12 infosets; .*a line \*,\*,\*,uniform allows it"):
        cp.load_policy(table, kuhn)
    table.write_text(table.read_text() + "*,*,*,uniform\n")
    assert cp.load_policy(table, "kuhn_poker")["2"] == {"pass": 0.0, "bet": 1.0}


def test_partial_policies_are_read_back(kuhn, tmp_path):
    met = cp.solve(cp.RulesArena("kuhn_poker"), "outcome_sampling", iterations=3).policy
    assert len(met) < 12
    for name, write in (("p.json", met.to_json), ("p.csv", met.to_csv), ("p", met.save)):
        write(tmp_path / name)
        found = cp.load_policy(tmp_path / name, kuhn)
        assert (found.probabilities == met.tabulate(kuhn).probabilities).all()


def test_policies_know_their_game(kuhn, tmp_path):
    policy = cp.random_policy(kuhn, 3)
    policy.save(tmp_path / "p")
    wanted = cp.exploitability(kuhn, policy)
    for game in (None, "kuhn_poker", cp.games.KuhnPoker(), "kuhn_poker(players=2)"):
        assert cp.exploitability(cp.load_policy(tmp_path / "p", game)) == wanted
    assert cp.exploitability("kuhn_poker", policy) == wanted
    assert cp.exploitability(cp.games.KuhnPoker(), policy) == wanted
    assert cp.nash_conv(policy) == cp.judge(policy).nash_conv == cp.nash_conv(kuhn, policy)
    assert (cp.expected_values(policy) == cp.expected_values(kuhn, policy)).all()
    assert cp.best_response(policy, player=1).value == cp.best_response(kuhn, policy, 1).value
    assert cp.best_response(policy, 1).value == cp.best_response(kuhn, policy, 1).value
    assert cp.mistakes(policy).gain.sum() == cp.mistakes(kuhn, policy).gain.sum()
    sampled = cp.solve(cp.RulesArena("kuhn_poker"), iterations=20).policy
    assert cp.exploitability(sampled) == cp.exploitability(sampled.tabulate(kuhn))
    assert cp.exploitability(kuhn, sampled) == cp.exploitability(sampled)
    with pytest.raises(cp.RunError, match=r"policy for kuhn_poker .* not for leduc_poker"):
        cp.load_policy(tmp_path / "p", "leduc_poker")
    with pytest.raises(cp.ConfigError, match="the policy is for kuhn_poker, not for leduc_poker"):
        cp.exploitability("leduc_poker", policy)
    with pytest.raises(cp.ConfigError, match="dict is not a policy with a game"):
        cp.exploitability({})
    policy.to_csv(tmp_path / "p.csv")
    with pytest.raises(cp.ConfigError, match="does not say which game it is for"):
        cp.load_policy(tmp_path / "p.csv")


def test_a_tree_is_built_once_while_it_is_used():
    first, second = cp.uniform_policy("kuhn_poker"), cp.random_policy(cp.games.KuhnPoker())
    assert first.arena is second.arena


def test_rows_of_a_file_follow_action_names(tmp_path):
    """A table that was sorted by people plays the same on the rules."""
    file = tmp_path / "p.json"
    cp.Policy.from_dict("kuhn_poker", {"2b": {"bet": 0.9, "pass": 0.1}}).to_json(file)
    content = json.loads(file.read_text())
    content["players"][1]["2b"] = dict(reversed(content["players"][1]["2b"].items()))
    file.write_text(json.dumps(content))
    game = cp.load_game("kuhn_poker")
    policy, state = cp.load_tabular_policy(file, game), game.initial_state()
    for action in (0, 2, 1):  # cards 0 and 2, a bet
        state = game.next_state(state, action)
    assert game.infoset_key(state, 1) == "2b"
    assert policy.action_probabilities(state, 1) == [0.1, 0.9]
