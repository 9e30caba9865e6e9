"""Several workers on rules: what they find on the tree."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import counterplay as cp
from counterplay.memory import flatten, leaves, restore
from counterplay.registry import load_algorithm
from tests.conftest import built

FAMILY = [
    "external_sampling(workers=3,gamma=1)",
    "external_sampling(workers=2,plus=true)",
    "chance_sampling(workers=3,eta=0.3)",
    "outcome_sampling(workers=5)",
    "vr_mccfr(workers=2,alpha=1)",
    "vr_mccfr_plus(workers=3,expected=true)",
    "average_strategy_sampling(workers=3)",
]


@pytest.mark.parametrize("spec", FAMILY)
@pytest.mark.parametrize("game", ["kuhn_poker", "leduc_poker"])
def test_the_policies_of_the_tree(spec, game):
    """The same draws and merges: the average and the current policy of a run on the tree."""
    tree, algorithm = built(game), load_algorithm(spec)
    rules = cp.SampledGame(cp.load_game(game))
    count = 300 if game == "kuhn_poker" else 60
    compiled = algorithm.step(tree, algorithm.init(tree, 5), count)
    sampled = algorithm.step(rules, algorithm.init(rules, 5), count)
    assert sampled.size.touched == compiled.touched.sum()
    expected = algorithm.policies(tree, compiled)
    for name, policy in algorithm.policies(rules, sampled).items():
        found = policy.on(tree).probabilities
        np.testing.assert_allclose(found, expected[name].probabilities, rtol=1e-9, atol=1e-12)


def test_cuts_and_checkpoints_do_not_matter():
    rules, algorithm = cp.SampledGame(cp.load_game("leduc_poker")), cp.ExternalSampling(workers=3)
    whole = algorithm.step(rules, algorithm.init(rules, 1), 70)
    part = algorithm.init(rules, 1)
    for count in (1, 30, 8, 31):
        part = algorithm.step(rules, copy.deepcopy(part), count)
        algorithm.policies(rules, part)
        part = restore(algorithm.init(rules, 1), flatten(part))
    mine, theirs = leaves(whole), leaves(part)
    assert mine.keys() == theirs.keys()
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)


def test_a_run_with_checkpoints(tmp_path):
    config = {
        "name": "crew",
        "algorithm": "external_sampling",
        "game": "leduc_poker",
        "arena": "rules",
        "spec": {"max_steps": 60, "workers": 2, "evaluate_every": 20, "checkpoint_every": 20},
    }
    whole = cp.run(config, tmp_path / "whole")
    made = cp.new_run(config, tmp_path / "parts")
    seen = []
    made.advance(report=seen.append, stop=lambda: len(seen) > 1)
    parts = cp.resume(tmp_path / "parts")
    assert parts.step == 60 and len(seen) < 4
    assert flatten(parts.memory).scalars == flatten(whole.memory).scalars
    arrays = flatten(whole.memory).arrays
    assert all(np.array_equal(arrays[k], v) for k, v in flatten(parts.memory).arrays.items())
