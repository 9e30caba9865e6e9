"""Likely first attempts in Python work, or one sentence says how to write them."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp


def test_games_and_names_are_built():
    game = cp.load_game("kuhn_poker")
    wanted = cp.solve(cp.build_tree(game), cp.algorithms.CFRPlus(), iterations=50).exploitability
    assert cp.solve(game, cp.algorithms.CFRPlus(), iterations=50).exploitability == wanted
    assert cp.solve("kuhn_poker", "cfr_plus", iterations=np.int64(50)).exploitability == wanted
    assert cp.solve("kuhn_poker", "CFRPlus", iterations=50).exploitability == wanted
    tree = cp.build_tree("leduc_poker")
    assert cp.build_tree(tree) is tree
    assert tree.num_nodes == 9457


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: cp.solve(cp.games.KuhnPoker, cp.algorithms.CFR()),
            r"KuhnPoker is a class: write KuhnPoker\(\)",
        ),
        (lambda: cp.build_tree(cp.games.KuhnPoker), r"KuhnPoker is a class: write KuhnPoker\(\)"),
        (
            lambda: cp.solve("kuhn_poker", cp.algorithms.CFRPlus),
            r"CFRPlus is a class: write CFRPlus\(\)",
        ),
        (
            lambda: cp.solve("kuhn", cp.algorithms.CFR()),
            "unknown game 'kuhn'; did you mean 'kuhn_poker'",
        ),
        (lambda: cp.solve("kuhn_poker", "cfrplus"), "did you mean 'cfr_plus'"),
        (
            lambda: cp.solve("kuhn_poker", cp.algorithms.CFR(), iterations=1.5),
            "must be a whole number",
        ),
        (
            lambda: cp.solve("kuhn_poker", cp.algorithms.CFR(), iterations="9"),
            "must be a whole number",
        ),
        (
            lambda: cp.solve("kuhn_poker", cp.algorithms.DCFR(gamma="x")),
            "dcfr: gamma is 'x', must be of type",
        ),
        (lambda: cp.solve(3, cp.algorithms.CFR()), "int is not a game: it lacks num_players"),
        (
            lambda: cp.exploitability(
                cp.games.KuhnPoker(), cp.uniform_policy(cp.build_tree("chicken"))
            ),
            "the policy is for chicken, not for kuhn_poker",
        ),
        (lambda: cp.uniform_policy("kuhn"), "unknown game 'kuhn'; did you mean 'kuhn_poker'"),
        (lambda: cp.load_policy("x.policy", "kuhn_poker"), "x.policy"),
        (lambda: cp.load_policy("x.policy"), "x.policy"),
        (lambda: cp.draw_tree("kuhn_poker"), "str is not a tree: write cp.build_tree"),
        (lambda: cp.judge(cp.build_tree("chicken"), {}), "dict is not a policy: write cp.Policy"),
        (
            lambda: cp.matrix.nash_equilibria([[1, 0], [0, 1]]),
            "list is no normal form: write cp.matrix.Normal",
        ),
        (
            lambda: cp.matrix.nash_equilibria("chicken"),
            r"str is no normal form: .*cp.matrix.normal_form_from_game\(game",
        ),
    ],
)
def test_one_sentence(call, message):
    with pytest.raises(cp.CounterplayError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_policies_are_like_dicts(kuhn):
    policy = cp.uniform_policy(kuhn)
    assert len(policy) == len(list(policy)) == 12
    assert "2pb" in policy
    assert "9" not in policy
    assert dict(policy)["2pb"] == {"pass": 0.5, "bet": 0.5}
    shared = cp.build_tree(
        cp.load_game("matrix_game", payoffs=(((1, 0), (0, 1)), ((0, 1), (1, 0))))
    )
    both = cp.uniform_policy(shared)
    assert all(both[key] == {"0": 0.5, "1": 0.5} for key in both)


def test_policies_from_dicts(kuhn):
    policy = cp.Policy.from_dict(kuhn, {"2pb": {"bet": 1.0}, (1, "0b"): {"pass": 0.9, "bet": 0.1}})
    assert policy["2pb"] == {"pass": 0.0, "bet": 1.0}
    assert policy["0b"] == {"pass": 0.9, "bet": 0.1}
    assert policy["1"] == {"pass": 0.5, "bet": 0.5}  # not given: uniform
    other = cp.random_policy(kuhn, 1)
    mixed = cp.Policy.from_dict(kuhn, {"2pb": {"bet": 1.0}}, fallback=other)
    assert mixed["1"] == other["1"]
    assert cp.Policy.from_dict(kuhn, dict(other))["1"] == other["1"]
    for rows, message in [
        ({"zz": {"bet": 1.0}}, "has no infoset 'zz'"),
        ({"2pb": {"call": 1.0}}, r"infoset '2pb' has no action 'call' \(there are pass, bet\)"),
        ({"2pb": {"bet": 0.5}}, "not a probability distribution at '2pb'"),
    ]:
        with pytest.raises(cp.ConfigError, match=message):
            cp.Policy.from_dict(kuhn, rows)


@pytest.mark.parametrize("suffix", ["json", "csv"])
def test_exports_are_read_back(kuhn, tmp_path, suffix):
    policy = cp.random_policy(kuhn, 2)
    file = tmp_path / f"p.{suffix}"
    (policy.to_json if suffix == "json" else policy.to_csv)(file)
    assert (cp.load_policy(file, kuhn).probabilities == policy.probabilities).all()
    text = file.read_text()
    file.write_text(text.replace("2pb", "9pb"))
    with pytest.raises(cp.RunError, match="has no infoset '9pb'"):
        cp.load_policy(file, kuhn)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", '{"game": "kuhn_poker"}', '{"game": 3, "players": [{"2": 1}]}', "[" * 10_000),
        *('{"game": "kuhn_poker", "players": [{"2": {"bet": NaN}}]}', "\x00"),
    ],
)
def test_hostile_exports(kuhn, tmp_path, text):
    file = tmp_path / "p.json"
    file.write_text(text)
    with pytest.raises(cp.RunError, match=r"p\.json"):
        cp.load_policy(file, kuhn)
