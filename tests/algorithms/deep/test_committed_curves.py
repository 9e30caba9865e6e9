"""The committed curves of `benchmarks.deep.curves`: the present code reproduces their beginning."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")

from benchmarks.deep.curves import FAMILY, OTHER_KEYS, parse_name  # noqa: E402
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
