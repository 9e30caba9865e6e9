"""Online outcome sampling by the compiled kernel on trees, beside the same search in Python."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.kernels.sampling.primitives import draw_uniform
from counterplay.search.hidden_agent import HiddenSearchAgent
from counterplay.search.oos import OOS
from counterplay.search.state_sampling import TreeStateSampler
from tests.conftest import game_tree


class KernelRandom:
    """The kernels' generator, with the interface that the search in Python uses."""

    def __init__(self, seed):
        self.state = np.array([np.uint64(seed)], np.uint64)

    def random(self):
        return draw_uniform(self.state)


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "kuhn_poker(players=3)"])
def test_kernel_makes_the_steps_of_the_search_in_python(spec):
    """With the same random numbers both keep the same regrets and averages."""
    tree = game_tree(spec)
    settings = OOS(simulations=150)
    slow = HiddenSearchAgent(tree.game, settings.search, settings, 0, TreeStateSampler(tree))
    slow.rng = KernelRandom(7)
    fast, states = settings.make_tree_agent(tree, 7), first_infoset_states(tree)
    for infoset in (0, tree.num_infosets // 2, tree.num_infosets - 1):
        player = int(tree.infoset_player[infoset])
        expected = slow.action_probabilities(states[infoset], player)
        assert fast.action_probabilities(states[infoset], player) == approx(expected, abs=1e-9)
    for (player, key), memory in slow.memory.items():
        first, last = tree.offset[tree.find_infoset(key, player) :][:2]
        assert fast.regret[first:last] == approx(memory.regret, rel=1e-9, abs=1e-9)
        assert fast.policy_sum[first:last] == approx(memory.policy_sum, rel=1e-9, abs=1e-9)


def test_more_simulations_are_less_exploitable():
    tree = game_tree("kuhn_poker")
    values = []
    for simulations in (30, 3000):
        agent = OOS(simulations=simulations).make_agent(tree.game)
        table = cp.search.tabulate_agent(tree, agent, num_seeds=4)
        values.append(cp.exploitability(tree, table.policy))
    assert values[1] < 0.5 * values[0]


def test_same_seed_gives_the_same_bits_and_another_seed_does_not():
    tree = game_tree("leduc_poker")
    agent = OOS(simulations=50).make_agent(tree.game)
    tables = [cp.search.tabulate_agent(tree, agent, seed=s).policy.probabilities for s in (1, 1, 2)]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()


def test_a_time_limit_ends_the_search():
    tree = game_tree("kuhn_poker")
    agent = OOS(seconds=1e-9).make_tree_agent(tree)
    row = agent.action_probabilities(first_infoset_states(tree)[0], 0)
    assert np.sum(row) == approx(1.0)
