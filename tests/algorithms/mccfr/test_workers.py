"""Several workers on rules find the same as on the tree."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.state_io import flatten_memory, memory_leaves, restore_memory
from counterplay.registry import load_algorithm
from tests.conftest import game_tree

FAMILY = [
    "external_sampling(num_workers=3,gamma=1)",
    "external_sampling(num_workers=2,regret_matching_plus=true)",
    "chance_sampling(num_workers=3,hedge_eta=0.3)",
    "outcome_sampling(num_workers=5)",
    "vr_mccfr(num_workers=2,alpha=1)",
    "vr_mccfr_plus(num_workers=3,predictive_baseline=true)",
    "average_strategy_sampling(num_workers=3)",
]


@pytest.mark.parametrize("spec", FAMILY)
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_the_policies_of_the_tree(spec, game):
    """The same draws and merges: the average and the current policy of a run on the tree."""
    tree, algorithm = game_tree(game), load_algorithm(spec)
    rules = cp.RulesArena(cp.load_game(game))
    count = 300 if game == "kuhn_poker" else 60
    compiled = algorithm.step(tree, algorithm.init(tree, 5), count)
    sampled = algorithm.step(rules, algorithm.init(rules, 5), count)
    assert sampled.size.nodes_touched == compiled.nodes_touched.sum()
    expected = algorithm.policies(tree, compiled)
    for name, policy in algorithm.policies(rules, sampled).items():
        found = policy.tabulate(tree).probabilities
        np.testing.assert_allclose(found, expected[name].probabilities, rtol=1e-9, atol=1e-12)


def test_cuts_and_checkpoints_do_not_matter():
    rules, algorithm = (
        cp.RulesArena(cp.load_game("leduc_poker")),
        cp.algorithms.ExternalSampling(num_workers=3),
    )
    whole = algorithm.step(rules, algorithm.init(rules, 1), 70)
    part = algorithm.init(rules, 1)
    for count in (1, 30, 8, 31):
        part = algorithm.step(rules, copy.deepcopy(part), count)
        algorithm.policies(rules, part)
        part = restore_memory(algorithm.init(rules, 1), flatten_memory(part))
    mine, theirs = memory_leaves(whole), memory_leaves(part)
    assert mine.keys() == theirs.keys()
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_a_run_with_checkpoints(tmp_path):
    config = {
        "name": "crew",
        "algorithm": "external_sampling",
        "game": "leduc_poker",
        "arena": "rules",
        "spec": {"max_steps": 60, "num_workers": 2, "evaluate_every": 20, "checkpoint_every": 20},
    }
    whole = cp.run(config, tmp_path / "whole")
    made = cp.experiment.new_run(config, tmp_path / "parts")
    seen = []
    made.advance(report=seen.append, stop=lambda: len(seen) > 1)
    parts = cp.resume(tmp_path / "parts")
    assert parts.step == 60 and len(seen) < 4
    assert flatten_memory(parts.memory).scalars == flatten_memory(whole.memory).scalars
    arrays = flatten_memory(whole.memory).arrays
    assert all(np.array_equal(arrays[k], v) for k, v in flatten_memory(parts.memory).arrays.items())
