"""Levels and oracles as units: the bits of one process."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.parallel import map_calls, use_executor
from counterplay.core.state_io import memory_leaves
from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.mccfr import distribute_run
from counterplay.distributed.remote_calls import make_call_mapper
from counterplay.registry import get_spec, load_algorithm
from tests.conftest import game_tree
from tests.distributed.toy_units import InProcessExecutor, deep_walks


class Counting(InProcessExecutor):
    """Counts the units it has done."""

    done = 0

    def map(self, units, report=None, stop=None):
        self.done += len(units)
        return super().map(units, report, stop)


CASES = [
    ("p2sro(num_active_levels=3,step_size=0.5)", "leduc_poker", 12, 3 * 11),
    ("p2sro(num_active_levels=1)", "kuhn_poker", 6, 0),
    ("psro", "kuhn_poker", 6, 2 * 5),
    ("psro(training_episodes=200,payoff_episodes=50)", "rules", 3, 2 * 2),
]


@pytest.mark.parametrize(("spec", "game", "count", "units"), CASES)
def test_same_bits(spec, game, count, units):
    arena = cp.RulesArena(cp.load_game("kuhn_poker")) if game == "rules" else game_tree(game)
    algorithm, executor = load_algorithm(spec), Counting()
    expected = memory_leaves(algorithm.step(arena, algorithm.init(arena, 3), count))
    with use_executor(make_call_mapper(executor)):
        found = memory_leaves(algorithm.step(arena, algorithm.init(arena, 3), count))
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[name], expected[name]) for name in expected)
    assert executor.done == units


def test_walks_of_deep_cfr_on_rules():
    """The reservoirs, bit for bit; processes of their own are in the scene of the cluster."""
    pytest.importorskip("jax")
    expected, executor = deep_walks("kuhn_poker", 130), Counting()
    with use_executor(make_call_mapper(executor)):
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
    with LocalExecutor(1) as process, use_executor(make_call_mapper(process)):
        names = map_calls(get_spec, [(game,), (game,)])
    assert names == [get_spec(game)] * 2


def test_results_come_in_order_and_trees_stay_here(kuhn):
    executor = Counting()
    policies = [cp.random_policy(kuhn, seed) for seed in range(3)]
    with use_executor(make_call_mapper(executor)):
        found = map_calls(mix_with_uniform, [(policy, 0.5) for policy in policies])
    assert executor.done == 3
    assert all(one.arena is kuhn for one in found)
    for one, policy in zip(found, policies, strict=True):
        assert np.array_equal(one.probabilities, mix_with_uniform(policy, 0.5).probabilities)
    assert map_calls(mix_with_uniform, []) == []


def mix_with_uniform(policy, share):
    uniform = cp.uniform_policy(policy.arena).probabilities
    return cp.Policy(policy.arena, share * policy.probabilities + (1.0 - share) * uniform)


def test_a_run_of_levels(tmp_path):
    config = {"algorithm": "p2sro(step_size=0.5)", "game": "kuhn_poker", "spec": {"max_steps": 8}}
    alone = cp.run(config, tmp_path / "alone")
    made, executor = cp.experiment.new_run(config, tmp_path / "away"), Counting()
    with distribute_run(made, executor):
        made.advance()
    assert executor.done > 0
    mine, theirs = memory_leaves(alone.memory), memory_leaves(made.session.memory)
    assert all(np.array_equal(mine[name], theirs[name]) for name in mine)
