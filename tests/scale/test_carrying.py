"""Levels and oracles as units: the bits of one process."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.calls import carried, results
from counterplay.memory import leaves
from counterplay.registry import load_algorithm, spec_of
from counterplay.scale.carrying import carrier
from counterplay.scale.local import Local
from counterplay.scale.walking import spread
from tests.conftest import built
from tests.scale.toys import Here, deep_walks


class Counting(Here):
    """Counts the units it has done."""

    done = 0

    def map(self, units, report=None, stop=None):
        self.done += len(units)
        return super().map(units, report, stop)


CASES = [
    ("p2sro(levels=3,rate=0.5)", "leduc_poker", 12, 3 * 11),
    ("p2sro(levels=1)", "kuhn_poker", 6, 0),
    ("psro", "kuhn_poker", 6, 2 * 5),
    ("psro(training=200,episodes=50)", "rules", 3, 2 * 2),
]


@pytest.mark.parametrize(("spec", "game", "count", "units"), CASES)
def test_same_bits(spec, game, count, units):
    arena = cp.SampledGame(cp.load_game("kuhn_poker")) if game == "rules" else built(game)
    algorithm, executor = load_algorithm(spec), Counting()
    expected = leaves(algorithm.step(arena, algorithm.init(arena, 3), count))
    with carried(carrier(executor)):
        found = leaves(algorithm.step(arena, algorithm.init(arena, 3), count))
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert executor.done == units


def test_walks_of_deep_cfr_on_rules():
    """The reservoirs, bit for bit; processes of their own are in the scene of the cluster."""
    pytest.importorskip("jax")
    expected, executor = deep_walks("kuhn_poker", 130), Counting()
    with carried(carrier(executor)):
        found = deep_walks("kuhn_poker", 130)
    assert all(map(np.array_equal, found, expected))
    assert executor.done == 2 * 3  # 64, 64 and 2 walks
    assert expected[-1] > 2 * 130 and expected[1].any()


OWN = """
from counterplay.games.kuhn_poker import KuhnPoker

class Mine(KuhnPoker):
    pass
"""


def test_games_from_files_are_named(tmp_path):
    (tmp_path / "own.py").write_text(OWN)
    game = cp.load_game(f"{tmp_path / 'own.py'}:Mine(players=3)")
    with Local(1) as process, carried(carrier(process)):
        names = results(spec_of, [(game,), (game,)])
    assert names == [spec_of(game)] * 2


def test_results_come_in_order_and_trees_stay_here(kuhn):
    executor = Counting()
    policies = [cp.random_policy(kuhn, seed) for seed in range(3)]
    with carried(carrier(executor)):
        found = results(mixed, [(policy, 0.5) for policy in policies])
    assert executor.done == 3
    assert all(one.tree is kuhn for one in found)
    for one, policy in zip(found, policies, strict=True):
        assert np.array_equal(one.probabilities, mixed(policy, 0.5).probabilities)
    assert results(mixed, []) == []


def mixed(policy, share):
    uniform = cp.uniform_policy(policy.tree).probabilities
    return cp.Policy(policy.tree, share * policy.probabilities + (1.0 - share) * uniform)


def test_a_run_of_levels(tmp_path):
    config = {"algorithm": "p2sro(rate=0.5)", "game": "kuhn_poker", "spec": {"max_steps": 8}}
    alone = cp.run(config, tmp_path / "alone")
    made, executor = cp.new_run(config, tmp_path / "away"), Counting()
    with spread(made, executor):
        made.advance()
    assert executor.done > 0
    mine, theirs = leaves(alone.memory), leaves(made.course.memory)
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
