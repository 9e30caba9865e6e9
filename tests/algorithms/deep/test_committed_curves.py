"""The committed curves of `benchmarks.deep.curves`: the present code reproduces their beginning."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise

import pytest

jax = pytest.importorskip("jax")

from benchmarks.deep import lecture_figures, per_episode  # noqa: E402
from benchmarks.deep.curves import FAMILY, OTHER_KEYS, parse_name  # noqa: E402
from benchmarks.deep.deep_hedge_curves import AUTHOR_CURVES  # noqa: E402
from benchmarks.result_files import load_family  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.experiment.config import load_config  # noqa: E402

METHODS = ("sd_cfr", "dream", "deep_mmd", "ppo", "r_nad", "nfsp_ppo")  # a few of each family
RELATIVE_TOLERANCE = 0.02  # machines round differently, and training amplifies it

RUNS = {(run.run, run.seed): run for run in load_family(FAMILY)}


def first_runs():
    """Return the names and first seeds of the runs on Kuhn poker with the tree's aids."""
    names = [f"{method}_kuhn_aids" for method in METHODS]
    return [(name, min(seed for other, seed in RUNS if other == name)) for name in names]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), first_runs())
def test_first_evaluation_of_a_committed_curve_is_reproduced(name, seed):
    run = RUNS[name, seed]
    config, record = load_config(run.config), run.records[0]
    tree, algorithm = cp.build_tree(config.game), config.algorithm
    memory = algorithm.step(tree, algorithm.init(tree, seed), record["step"])
    policies = algorithm.policies(tree, memory)
    committed = {key: value for key, value in record.items() if key not in OTHER_KEYS}
    values = {key: cp.exploitability(tree, policies[key]) for key in committed}
    assert values == pytest.approx(committed, rel=RELATIVE_TOLERANCE)
    jax.clear_caches()


def test_every_committed_curve_names_its_method_and_column():
    for name, run in ((run.run, run) for run in RUNS.values()):
        method, game, column = parse_name(name)
        assert (method, column) == (run.algorithm, column)
        assert column in ("published", "aids")
        assert game


def medians_of_deep_hedge(name):
    """Return the number of steps, and the medians at the end of the average and the current."""
    runs = [run for run in load_family("deep_hedge") if run.run == name]
    last = [run.last for run in runs]
    columns = [statistics.median(record[key] for record in last) for key in ("average", "current")]
    return len(runs), last[0]["step"], *columns


@pytest.mark.parametrize(
    ("name", "average", "author"),  # figures 2 to 5 of the thesis
    [
        ("kuhn_2p", 0.0087, 0.0084),
        ("kuhn_3p", 0.0118, 0.0130),
        ("leduc", 0.0675, 0.170),
        ("goofspiel", 0.0711, 0.178),
    ],
)
def test_figures_of_the_thesis_have_their_curves(name, average, author):
    """Three seeds to the last step; the average is better than the current policy (4.6.3)."""
    num_runs, steps, ours, current = medians_of_deep_hedge(name)
    assert (num_runs, steps) == (3, 500_000)
    assert ours == pytest.approx(average, abs=5e-5) and ours < 0.5 * current
    stored = json.loads(AUTHOR_CURVES.read_text())[name]["curve"]
    assert stored[-1]["average"] == pytest.approx(author, rel=0.01)


@pytest.mark.parametrize(
    ("name", "limit", "steps"),
    [("kuhn_3p", 0.02, 1e5), ("leduc", 0.2, 2e5), ("goofspiel", 0.2, 2e5)],
)
def test_milestones_of_the_thesis_are_reached_as_early(name, limit, steps):
    """Section 4.6.3 states the steps after which the average falls below a limit."""
    for run in (run for run in load_family("deep_hedge") if run.run == name):
        reached = [r["step"] for r in run.records if r["average"] < limit]
        assert reached and reached[0] <= steps


def test_runs_of_the_thesis_are_faster_than_the_authors():
    """The author needs 40 minutes for Kuhn poker and 2 days for Leduc poker (4.6.3)."""
    for name, limit in (("kuhn_2p", 40 * 60), ("leduc", 2 * 24 * 3600)):
        seconds = [run.last["seconds"] for run in load_family("deep_hedge") if run.run == name]
        assert statistics.median(seconds) < 0.1 * limit


def test_comparison_by_episodes_has_finished_runs_of_every_game():
    """Three seeds of every method; settings of this library on one game only."""
    methods = [name for name in per_episode.METHODS if name != "deep_hedge_own"]
    for game, setting in per_episode.GAMES.items():
        runs_by_method = {method: per_episode.load_runs(game, method) for method in methods}
        for method, runs in runs_by_method.items():
            assert [run.seed for run in runs] == [0, 1, 2], (game, method)
            for run in runs:
                assert 0.99 * setting.num_episodes < run.last["episodes"] <= setting.num_episodes
                assert per_episode.METHODS[method].policy in run.last


def test_figures_of_the_lecture_have_their_curves():
    """All sizes of NFSP, and three seeds of the gradients against CFR."""
    for name, curve in lecture_figures.CURVES.items():
        runs = lecture_figures.load_curve(name)
        assert runs and (len(runs) == 3 or curve.figure == "nfsp"), name
        for run in runs:
            assert run.game == curve.game and curve.policy in run.last
            assert 0.99 * curve.num_episodes < run.last["episodes"] <= curve.num_episodes
            assert ("against_cfr" in run.last) == (curve.figure == "gradients")


def test_utility_against_cfr_is_that_of_the_seats():
    game = "kuhn_poker(players=3)"
    policy = lecture_figures.cfr_policy(game)
    assert lecture_figures.utility_against_cfr(policy, game) == pytest.approx(0.0, abs=1e-12)
    uniform = cp.uniform_policy(policy.arena)
    assert lecture_figures.utility_against_cfr(uniform, game) < -0.02


def test_evaluations_are_at_equal_ratios():
    iterations = per_episode.evaluation_iterations(10_000)
    assert iterations[0] == 100 and iterations[-1] == 10_000
    ratios = [b / a for a, b in pairwise(iterations)]
    assert max(ratios) < 1.03 * min(ratios)
