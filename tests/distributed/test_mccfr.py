"""One Monte Carlo run on processes: the bits of the run on threads."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.core.state_io import memory_leaves
from counterplay.distributed import mccfr
from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.mccfr import DistributedMCCFR, run_tree_workers
from counterplay.registry import load_algorithm
from tests.distributed.toy_units import InProcessExecutor
from tests.experiment.conftest import load_final_state, load_untimed_records


def same(one, other):
    mine, theirs = memory_leaves(one), memory_leaves(other)
    return all(np.array_equal(mine[name], theirs[name]) for name in mine | theirs)


@pytest.mark.parametrize(
    "spec",
    [
        "external_sampling(num_workers=5,gamma=1)",
        "external_sampling(num_workers=3,regret_matching_plus=true)",
        "external_sampling(num_workers=3,gamma=60)",  # fades on the way
        "outcome_sampling(num_workers=4,lazy_averaging=true)",
        "vr_mccfr(num_workers=3,alpha=1)",
        "vr_mccfr_plus(num_workers=3,predictive_baseline=true)",
        "chance_sampling(num_workers=2,hedge_eta=0.5)",
        "average_strategy_sampling(num_workers=3)",
    ],
)
def test_same_bits(spec, kuhn, monkeypatch):
    """Regrets, averages and all the rest, across merges, however it is cut into steps."""
    monkeypatch.setattr(mccfr, "MIN_DISTRIBUTED_ITERATIONS", 100)
    algorithm = load_algorithm(spec)
    expected = algorithm.step(kuhn, algorithm.init(kuhn, seed=2), 3_000)
    executor = InProcessExecutor()
    executor.size = 2
    away = DistributedMCCFR(algorithm, executor)
    memory = away.init(kuhn, seed=2)
    for count in (1, 700, 1_299, 1_000):
        memory = away.step(kuhn, memory, count)
    assert same(memory, expected)
    for name, policy in algorithm.policies(kuhn, expected).items():
        there = away.policies(kuhn, memory)[name]
        assert np.array_equal(there.probabilities, policy.probabilities)


@pytest.mark.parametrize("spec", ["external_sampling(num_workers=3)", "vr_mccfr(num_workers=2)"])
def test_rules_that_are_never_unrolled(spec):
    """Workers on the rules: the bits of a run in one process."""
    rules, algorithm = cp.RulesArena(cp.load_game("leduc_poker")), load_algorithm(spec)
    expected = algorithm.step(rules, algorithm.init(rules, 4), 60)
    away = DistributedMCCFR(algorithm, InProcessExecutor())
    memory = away.step(rules, away.step(rules, away.init(rules, 4), 13), 47)
    assert same(memory, expected)
    assert dict(away.policies(rules, memory)["average"].rows) == dict(
        algorithm.policies(rules, expected)["average"].rows
    )


def test_processes_that_are_killed_on_the_way(kuhn, monkeypatch):
    monkeypatch.setattr(mccfr, "MIN_DISTRIBUTED_ITERATIONS", 1_000)
    algorithm = cp.algorithms.ExternalSampling(num_workers=8)
    expected = algorithm.step(kuhn, algorithm.init(kuhn), 40_000)
    said = []
    with LocalExecutor(2, said.append) as executor:
        away = DistributedMCCFR(algorithm, executor)
        memory = away.step(kuhn, away.init(kuhn), 20_000)
        for pid in executor.worker_pids():
            os.kill(pid, signal.SIGKILL)
        memory = away.step(kuhn, memory, 20_000)
    assert len(said) == 2
    assert same(memory, expected)


def test_a_run_on_processes(tmp_path):
    """`counterplay run --on local`: the same checkpoint and records; and resumed on threads."""
    config = {
        "name": "spread",
        "algorithm": "external_sampling",
        "game": "kuhn_poker",
        "spec": {"max_steps": 60_000, "num_workers": 4, "checkpoint_every": 30_000, "seed": 3},
    }
    alone = cp.run(config, tmp_path / "alone")
    made = cp.experiment.new_run(config, tmp_path / "away")
    seen = []
    with mccfr.distribute_run(made, InProcessExecutor()):
        made.advance(tick=seen.append, stop=lambda: seen[-1] > 30_000)
    there = cp.resume(tmp_path / "away")
    assert load_final_state(alone.folder)[2:] == load_final_state(there.folder)[2:]
    assert load_untimed_records(alone.folder) == load_untimed_records(there.folder)


def test_what_cannot_be_spread(tmp_path, kuhn, capsys):
    for algorithm in (cp.algorithms.CFRPlus(), cp.algorithms.ExternalSampling()):
        with pytest.raises(cp.ConfigError, match="only algorithms with several workers"):
            DistributedMCCFR(algorithm, InProcessExecutor())
    with pytest.raises(cp.ConfigError, match="is another game here: 58 nodes, not 57"):
        run_tree_workers(cp.algorithms.ExternalSampling(num_workers=2), kuhn.spec, 57, {}, 0, 1)
    file = tmp_path / "c.json"
    file.write_text('{"algorithm": "cfr_plus", "game": "kuhn_poker", "spec": {"max_steps": 10}}')
    assert main(["run", str(file), "--on", "local", "--runs", str(tmp_path)]) == 2
    assert "only algorithms with several workers" in capsys.readouterr().err
    file.write_text('{"algorithm": "sd_cfr", "game": "kuhn_poker", "spec": {"max_steps": 10}}')
    assert main(["run", str(file), "--on", "local", "--runs", str(tmp_path)]) == 2
    assert "deep_cfr and sd_cfr on rules" in capsys.readouterr().err  # not on a tree
