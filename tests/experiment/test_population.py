"""Files of a population in the folder of its run, and plots of them."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.core.archive import read_archive, write_archive
from counterplay.errors import ConfigError, RunError
from counterplay.experiment import run
from counterplay.experiment.plots.run_plots import plot_population, plot_runs
from counterplay.experiment.population import POOL_FOLDER, POPULATION_FILE, load_population
from counterplay.experiment.runner import open_run
from tests.experiment.conftest import config, load_final_state, load_untimed_records

NAMES = ["double_oracle", "p2sro", "jpsro", "sp_psro", "alpha_psro", "rectified_psro", "xdo"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    spec = config("double_oracle", max_steps=30, evaluate_every=1, checkpoint_every=4)
    return run(spec, tmp_path_factory.mktemp("whole") / "run")


@pytest.mark.parametrize("name", NAMES)
def test_resumed_runs_equal_uninterrupted_ones(tmp_path, name):
    spec = config(name, max_steps=7, evaluate_every=1, checkpoint_every=3)
    straight = run(spec, tmp_path / "straight")
    answers = iter([False] * 3)
    stopped = run(spec, tmp_path / "stopped", stop=lambda: next(answers, True))
    assert stopped.stopped and stopped.step < 7
    resumed = open_run(stopped.folder).advance()
    assert resumed.step == straight.step
    assert load_final_state(resumed.folder) == load_final_state(straight.folder)
    assert load_untimed_records(resumed.folder) == load_untimed_records(straight.folder)


def test_pools_are_policies_to_play_against(whole):
    tree = cp.build_tree(cp.load_game("kuhn_poker"))
    files = sorted((whole.folder / POOL_FOLDER).iterdir())
    assert [file.name for file in files] == [f"{k:03}.policy" for k in range(8)]
    memory = whole.memory
    found = [cp.load_policy(file, tree) for file in files]
    for k, policy in enumerate(found):
        assert cp.expected_values(tree, policy)[0] == approx(memory.payoffs[0, k, k], abs=1e-12)
    score = cp.head_to_head(tree, found[2], cp.uniform_policy(tree))
    assert score.is_exact


def test_payoffs_and_mixtures_of_every_iteration(whole):
    table = load_population(whole.folder)
    assert table.payoffs.shape == (2, 8, 8) and table.pool_size_history.shape == (8, 2)
    assert table.stop_reason.startswith("ended at iteration 9")
    for player in range(2):
        mixtures = table.mixtures(player)
        assert [part.size for part in mixtures] == table.pool_size_history[:, player].tolist()
        assert [part.sum() for part in mixtures] == approx([1.0] * 8)
    value = table.mixtures(0)[-1] @ table.payoffs[0] @ table.mixtures(1)[-1]
    assert value == approx(-1 / 18)


def test_pools_of_xdo_are_best_responses(tmp_path, kuhn):
    """And its meta-strategies policies, with all the actions of the pool."""
    done = run(config("xdo", max_steps=4, evaluate_every=1), tmp_path / "run")
    first = cp.load_policy(done.folder / POOL_FOLDER / "000.policy", kuhn)
    uniform, best = cp.uniform_policy(kuhn), cp.judge(kuhn, cp.uniform_policy(kuhn)).best_values
    for player in range(2):
        own = np.repeat(kuhn.infoset_player == player, kuhn.num_actions)
        mixed = cp.Policy(kuhn, np.where(own, first.probabilities, uniform.probabilities))
        assert cp.expected_values(kuhn, mixed)[player] == approx(best[player])
    table, memory = load_population(done.folder), done.memory
    assert len(table.mixtures(0)) == len(table.pool_size_history) == 4
    last = np.concatenate([table.mixtures(player)[-1] for player in range(2)])
    assert np.array_equal(last, memory.policy) and not last[~memory.allowed_sequences].any()
    assert table.payoffs.shape == (2, *memory.pool_sizes)
    assert "action" in plot_population([done.folder], tmp_path / "payoffs.svg").read_text()


@pytest.mark.parametrize(("name", "game"), [("double_oracle", "kuhn_poker"), ("jpsro", "chicken")])
def test_payoffs_are_plotted(tmp_path, name, game):
    spec = config(name, max_steps=4, game=game, evaluate_every=1)
    folder = run(spec, tmp_path / "run").folder
    picture = plot_population([folder], tmp_path / "payoffs.svg").read_text()
    assert "policy of player 1" in picture and "meta-strategy" in picture
    assert plot_population([folder], tmp_path / "payoffs.png").stat().st_size > 10_000
    assert "exploitability" in plot_runs([folder], tmp_path / "curve.svg").read_text()


def test_joint_mixtures_are_marginals(tmp_path):
    folder = run(config("jpsro", max_steps=3, game="chicken"), tmp_path / "run").folder
    table = load_population(folder)
    assert table.is_joint
    assert all(part.sum() == approx(1.0) for part in table.mixtures(1))


def test_no_population(tmp_path, whole):
    folder = run(config("cfr", max_steps=3), tmp_path / "run").folder
    with pytest.raises(ConfigError, match="has no population"):
        plot_population([folder], tmp_path / "a.png")
    with pytest.raises(ConfigError, match="payoffs can be drawn of one run, not of 2"):
        plot_population([folder, whole.folder], tmp_path / "a.png")
    with pytest.raises(ConfigError, match=r"must end in \.png or \.svg"):
        plot_population([whole.folder], tmp_path / "a.html")


def test_damaged_tables_are_refused(tmp_path):
    folder = run(config("psro", max_steps=3), tmp_path / "run").folder
    good = read_archive(folder / POPULATION_FILE, "counterplay population 1")
    write_archive(
        folder / POPULATION_FILE, "counterplay population 1", good | {"metas": np.zeros(3)}
    )
    with pytest.raises(RunError, match="its parts do not fit"):
        load_population(folder)
    write_archive(folder / POPULATION_FILE, "counterplay population 1", {"payoffs": np.zeros(3)})
    with pytest.raises(RunError, match="not a whole population file"):
        load_population(folder)
