"""Policies of games with an abstraction: runs, files, matches, play and bounds in the full game."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction.by_rank import ByRank
from counterplay.arenas.rules import load_tabular_policy
from counterplay.experiment.saved_policies import load_policies
from counterplay.studio.worker.policy_sources import PolicySources
from tests.play.poker.class_buckets import use_class_buckets

RULE = "by_rank(groups=('JQ','K'))"


@pytest.fixture(scope="module")
def leduc():
    return cp.build_tree("leduc_poker")


@pytest.fixture(scope="module")
def policy_file(leduc, tmp_path_factory):
    """A file of a policy that was learned on the rules of the smaller game."""
    game = cp.load_game(f"leduc_poker with {RULE}")
    result = cp.solve(cp.RulesArena(game), "external_sampling", iterations=300)
    file = tmp_path_factory.mktemp("solved") / "leduc.policy"
    result.policy.save(file)
    return file


def config(tmp_path, **changes):
    content = {
        "algorithm": "external_sampling",
        "game": "leduc_poker",
        "abstraction": RULE,
        "arena": "rules",
        "spec": {"max_steps": 100, "evaluate_every": 100},
    }
    file = tmp_path / "leduc.json"
    file.write_text(json.dumps(content | changes))
    return file


def test_specs_name_games_with_an_abstraction():
    game = cp.load_game(f"leduc_poker(players=3) with {RULE}")
    assert game.spec == "leduc_poker(players=3) with by_rank(groups=('JQ', 'K'))"
    assert cp.load_game(game.spec).spec == game.spec
    assert game.num_players == 3 and game.full_game == cp.load_game("leduc_poker(players=3)")
    assert not hasattr(game, "observation")  # it would show the cards
    state = game.initial_state()
    for card in (0, 2, 4):
        state = game.next_state(state, card)
    key = game.full_game.infoset_key(state, 0)
    assert game.infoset_key(state, 0) == ByRank(("JQ", "K")).label(key) != key
    with pytest.raises(cp.ConfigError, match="other games need their tree"):
        cp.load_game("kuhn_poker with by_equity")


def test_lifted_policy_has_equal_probabilities_in_a_bucket(policy_file, leduc):
    policy = cp.load_policy(policy_file)
    assert policy.arena.spec == "leduc_poker"
    table = load_tabular_policy(policy_file, leduc.game)
    rule = ByRank(("JQ", "K"))
    for player, key, row in policy.items():
        uniform = dict.fromkeys(row, 1.0 / len(row))
        assert row == pytest.approx(table.rows.get((player, rule.label(key)), uniform))
    judgement = cp.judge(leduc, cp.load_policy(policy_file, leduc))
    assert cp.judge(table).exploitability == pytest.approx(judgement.exploitability)


def test_runs_on_tree_and_rules_agree(run, tmp_path, leduc):
    """The same seed gives the same policy of the full game, however the smaller game is made."""
    for arena in ("rules", "tree"):
        answer = run("run", config(tmp_path, arena=arena), "--runs", tmp_path / arena)
        assert answer.code == 0, answer.err
    by_rules, by_tree = (
        next(iter(load_policies(tmp_path / arena).values())) for arena in ("rules", "tree")
    )
    np.testing.assert_allclose(
        by_rules.tabulate(leduc).probabilities, by_tree.probabilities, atol=1e-12
    )
    facts = [
        json.loads(run("evaluate", tmp_path / arena, "--json").out) for arena in ("rules", "tree")
    ]
    assert facts[0]["game"] == facts[1]["game"] == "leduc_poker"
    assert facts[0]["exploitability"] == pytest.approx(facts[1]["exploitability"])
    (folder,) = (tmp_path / "rules" / "leduc").iterdir()
    stored = json.loads((folder / "config.json").read_text())
    assert stored["abstraction"]["params"]["groups"] == ["JQ", "K"]
    source = {"text": "run:leduc@average", "folder": str(folder), "stamp": 1}
    shown = PolicySources(leduc, lambda *_: None).get(source).policy
    np.testing.assert_allclose(shown.probabilities, by_tree.probabilities, atol=1e-12)


def test_run_resumes_with_its_abstraction(run, tmp_path):
    for arena in ("rules", "tree"):
        runs = tmp_path / arena
        assert run("run", config(tmp_path, arena=arena), "--runs", runs).code == 0
        (folder,) = (runs / "leduc").iterdir()
        assert run("resume", folder, "--steps", 120).code == 0
        changed = json.loads((folder / "config.json").read_text())
        changed["abstraction"]["params"]["groups"] = []
        (folder / "config.json").write_text(json.dumps(changed))
        answer = run("resume", folder, "--steps", 140)
        assert answer.code != 0 and "by_rank(groups=('JQ', 'K')) there" in answer.err


@pytest.mark.parametrize("options", [(), ("--sampled", "--episodes", 40)])
def test_policies_are_matched_in_the_full_game(run, policy_file, options):
    answer = run("match", policy_file, "uniform", "leduc_poker", "--json", *options)
    assert answer.code == 0, answer.err
    score = json.loads(answer.out)["scores"][0]["mean"]
    policy = load_tabular_policy(policy_file, cp.load_game("leduc_poker"))
    if not options:
        tree = cp.build_tree("leduc_poker")
        expected = cp.play.head_to_head(tree, policy, cp.uniform_policy(tree))
        assert score == pytest.approx(expected.scores[0].mean)


def test_bounds_and_play_take_the_policy(run, policy_file):
    answer = run("bounds", policy_file, "leduc_poker", "-e", 4, "--playouts", 1, "--json")
    assert answer.code == 0, answer.err
    exact = cp.judge(cp.load_policy(policy_file)).nash_conv
    assert json.loads(answer.out)["nash_conv"] == pytest.approx(exact)
    played = run(
        "play", "leduc_poker", "--policy", policy_file, "--seed", 1, "-e", 1, typed="c\n" * 9
    )
    assert played.code == 0, played.err


def test_holdem_buckets_are_matched_played_and_bounded(run, tmp_path, monkeypatch):
    use_class_buckets(monkeypatch)
    file = tmp_path / "holdem.policy"
    solved = run(
        *("solve", "limit_holdem", "--sampled", "--abstraction", "by_equity(num_buckets=20)"),
        *("-a", "outcome_sampling", "-i", 50, "--save", file),
    )
    assert solved.code == 0, solved.err
    policy = load_tabular_policy(file, cp.load_game("limit_holdem"))
    assert policy.spec == "limit_holdem with by_equity(num_buckets=20)" and len(policy) > 50
    answer = run("match", file, "uniform", "limit_holdem", "-e", 4, "--json")
    assert answer.code == 0, answer.err
    for option in ("--policy", "--opponent"):
        typed = "h\nhint\n" + "c\n" * 9 + "lost\nq\n"
        played = run("play", "limit_holdem", option, file, "--seed", 1, typed=typed)
        assert played.code == 0 and "Your score: " in played.out, played.err
        assert "start play with --losses" in played.out
    refused = run("match", file, "uniform", "leduc_poker")
    assert (
        refused.code == 2 and "with by_equity(num_buckets=20), not for leduc_poker" in refused.err
    )
    bound = cp.local_best_response(
        cp.load_game("limit_holdem"), policy, num_episodes=3, num_playouts=2, max_states=10
    )
    assert len(bound.player_gains) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"abstraction": "by_card"}, "unknown abstraction 'by_card'; did you mean 'by_rank'?"),
        ({"abstraction": "by_rank(group=1)"}, "abstraction.params.group: unknown key"),
        ({"abstraction": "by_rank(groups=('JQ','QK'))"}, "rank 'Q' is in two groups"),
        ({"game": "leduc_poker with by_rank"}, "leave out one"),
        ({"arena": "generated"}, "by_rank is for the arena tree or rules, not generated"),
        ({"abstraction": "by_equity"}, "other games need their tree"),
    ],
)
def test_wrong_abstractions_in_configs(run, tmp_path, changes, message):
    answer = run("run", config(tmp_path, **changes), "--runs", tmp_path / "runs")
    assert answer.code == 2 and message in answer.err


def test_the_abstraction_may_follow_the_game(run, tmp_path):
    content = config(tmp_path, game=f"leduc_poker with {RULE}", abstraction=None)
    checked = cp.experiment.load_config(content)
    assert checked.abstraction == ByRank(("JQ", "K")) and checked.game_name == "leduc_poker"
    assert cp.experiment.load_config(checked.to_json()) == checked
    changed = cp.experiment.load_config(checked, {"abstraction.params.groups": ["JK"]})
    assert changed.abstraction == ByRank(("JK",))
    answer = run("solve", f"leduc_poker with {RULE}", "-i", 10, "--json")
    assert json.loads(answer.lines[-1])["abstraction"] == "by_rank(groups=('JQ', 'K'))"
    answer = run("solve", f"leduc_poker with {RULE}", "--abstraction", "by_rank")
    assert answer.code == 2 and "leave out --abstraction" in answer.err
