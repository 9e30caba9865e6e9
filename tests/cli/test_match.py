"""`match`."""

from __future__ import annotations

import json
import re

import pytest

import counterplay as cp
from counterplay.play.match import Match
from tests.conftest import game_tree


@pytest.fixture
def policy(tmp_path):
    file = tmp_path / "kuhn.policy"
    cp.random_policy(game_tree("kuhn_poker"), 1).save(file)
    return file


def exact_score(spec, policy):
    tree = game_tree(spec)
    return cp.head_to_head(tree, policy, cp.uniform_policy(tree)).scores[0].mean


def test_exact_where_both_are_policies(run, policy):
    tree = game_tree("kuhn_poker")
    value = exact_score("kuhn_poker", cp.random_policy(tree, 1))
    answer = run("match", policy, "uniform", "kuhn_poker")
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0] == "game  kuhn_poker"
    assert answer.lines[1:3] == [f"A     {policy}", "B     uniform"]
    assert answer.lines[3].split() == ["A", "B"]
    assert answer.lines[4].split() == ["mean", f"{value:+.6g}", f"{-value:+.6g}"]
    assert [line[:11] for line in answer.lines[5:]] == ["as player 0", "as player 1", "exact"]
    facts = json.loads(run("match", policy, "uniform", "kuhn_poker", "--json").out)
    assert facts["exact"] is True and facts["episodes"] == 0
    assert facts["scores"][0] == {"mean": pytest.approx(value)}


def test_an_interval_where_episodes_are_played(run, policy):
    value = exact_score("kuhn_poker", cp.random_policy(game_tree("kuhn_poker"), 1))
    options = ["match", policy, "uniform", "kuhn_poker", "--sampled", "--width", 0.2, "--json"]
    answer = run(*options)
    facts = json.loads(answer.out)
    score = facts["scores"][0]
    assert score["low"] < score["mean"] < score["high"] < score["low"] + 0.2
    assert abs(score["mean"] - value) < 0.2  # four standard errors
    assert facts["episodes"] == score["episodes"] > 100
    assert run(*options) == answer
    assert run(*options, "--seed", 1) != answer
    assert json.loads(run(*options, "--episodes", 50).out)["episodes"] == 50
    text = run("match", policy, "uniform", "kuhn_poker", "--sampled")
    assert text.lines[-1] == "1,000 episodes, the same random numbers for all"
    assert re.search(r"95% interval  ([-+]\S+ to [-+]\S+ *){2}", text.lines[5])


def test_sampled_policies_of_games_never_unrolled(run, tmp_path):
    game, file = "liars_dice(numdice=2,dice_sides=4)", tmp_path / "dice.policy"
    options = ["--algorithm", "external_sampling", "--sampled", "--iterations", 3, "--save", file]
    assert run("solve", game, *options).code == 0
    answer = run("match", file, "uniform", game, "--episodes", 20)
    assert answer.code == 0
    assert answer.lines[-1].startswith("20 episodes")


def test_three_players(run):
    answer = run("match", "cfr", "uniform", "kuhn_poker(players=3)", "--iterations", 20)
    assert answer.lines[-2:] == [
        "A plays each seat in turn, copies of B have all others",
        "exact",
    ]
    first, second = map(float, answer.lines[4].split()[1:])
    assert first > 0.1
    assert first + 2.0 * second == pytest.approx(0.0, abs=1e-5)


def test_searchers_can_play_matches(run):
    answer = run("match", "mcts(max_simulations=30)", "uniform", "tic_tac_toe", "--episodes", 20)
    assert answer.code == 0
    assert float(answer.lines[4].split()[1]) > 0.3


def test_one_round_as_json_has_no_interval(run, policy):
    options = ["kuhn_poker", "--sampled", "--episodes", 3, "--json"]
    facts = json.loads(run("match", policy, "uniform", *options).out)
    assert facts["episodes"] == 2
    assert facts["scores"][0]["low"] is facts["scores"][0]["standard_error"] is None


@pytest.mark.parametrize("finished", [0, 3])
def test_ctrl_c_reports_what_was_measured(run, policy, monkeypatch, finished):
    play_round = Match.play_round

    def play_or_interrupt(self):
        if self.tally.num_rounds == finished:
            raise KeyboardInterrupt
        play_round(self)

    monkeypatch.setattr(Match, "play_round", play_or_interrupt)
    answer = run("match", policy, "uniform", "kuhn_poker", "--sampled")
    assert answer.code == 130
    if finished:
        assert answer.lines[-1].startswith("6 episodes")
        assert answer.err == "interrupted after 6 episodes\n"
    else:
        assert answer.out == answer.err == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["mtcs", "uniform", "tic_tac_toe"], "unknown agent 'mtcs'; did you mean 'mcts'?"),
        (["uniform", "mcts", "kuhn_poker"], "search needs perfect information"),
        (["uniform", "cfr(x=1)", "kuhn_poker"], "has no parameter 'x'"),
        (["uniform", "uniform", "kuhn"], "unknown game"),
        (["uniform", "uniform", "kuhn_poker", "--iterations", 3], "leave out --iterations"),
        (["uniform", "uniform", "kuhn_poker", "--width", 0], "--width is 0, must be positive"),
        (
            ["uniform", "uniform", "kuhn_poker", "--episodes", 1],
            "--episodes is 1, must be at least 2",
        ),
        (["uniform", "uniform", "matrix_game(payoffs=((1,2),))"], "a match needs two"),
    ],
)
def test_bad_input(run, options, message):
    answer = run("match", *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_the_game_is_named_last(run):
    for words in (("match", "kuhn_poker", "uniform", "cfr"), ("bounds", "kuhn_poker", "cfr")):
        answer = run(*words)
        assert (answer.code, answer.out) == (2, "")
        assert answer.err.endswith("; the game 'kuhn_poker' must come last\n")
    assert "last" not in run("match", "uniform", "cfr", "kuhn").err


def test_a_policy_of_another_game(run, policy):
    for more in ([], ["--sampled"]):
        answer = run("match", policy, "uniform", "leduc_poker", *more)
        assert answer.code == 2
        assert answer.err.startswith(f"error: {policy} is a policy for kuhn_poker")


def test_options_of_aivat_are_checked(run):
    answer = run("match", "uniform", "uniform", "kuhn_poker", "--workers", "2")
    assert answer.code == 2 and "--log and --workers are for --aivat" in answer.err
    answer = run("match", "uniform", "uniform", "no_limit_holdem", "--aivat")
    assert answer.code == 2 and "policy is known for every hand" in answer.err
