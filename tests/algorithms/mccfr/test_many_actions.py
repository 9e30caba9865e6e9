"""Average strategy sampling in no-limit Leduc poker, where a player has up to six actions."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.tabular.average_strategy import LEDUC_DECK, NO_LIMIT, measure

import counterplay as cp

NUM_NODES = 3_000_000


@pytest.fixture(scope="module")
def tree():
    return cp.build_tree(NO_LIMIT.format((0, 0), 1, 6, 6, (0, 0), LEDUC_DECK))


def test_the_default_tau_is_level_with_external_sampling_at_equal_nodes(tree):
    """The default is the paper's; a tau of 1 skips actions that matter."""
    assert tree.num_infosets == 7_968 and tree.num_actions.max() == 6
    ends = {}
    names = "external_sampling", "average_strategy_sampling", "average_strategy_sampling(tau=1)"
    for spec in names:
        ends[spec] = np.mean([measure(tree, spec, (NUM_NODES,), seed)[0] for seed in range(2)])
    assert cp.algorithms.AverageStrategySampling().tau == 1000
    default = ends["average_strategy_sampling"]
    assert default < 1.1 * ends["external_sampling"]
    assert default < 0.7 * ends["average_strategy_sampling(tau=1)"]
