"""IS-MCTS by the compiled kernel on trees, beside the same search on the rules."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.search.hidden_agent import HiddenSearchAgent
from counterplay.search.state_sampling import TreeStateSampler
from tests.conftest import game_tree


@pytest.mark.parametrize("observer", ["single", "multiple"])
def test_kernel_searches_as_the_rules_do(observer):
    """Both agents' policies are equally exploitable, up to sampling noise."""
    tree = game_tree("kuhn_poker")
    settings = cp.search.ISMCTS(simulations=200, observer=observer)
    slow = HiddenSearchAgent(tree.game, settings.search, settings, 1, TreeStateSampler(tree))
    slow.on_tree = lambda tree: slow  # not replaced by the compiled one
    fast = settings.make_tree_agent(tree, 1)
    values = [
        np.mean(cp.search.tabulate_agent(tree, agent, num_seeds=8).exploitabilities)
        for agent in (slow, fast)
    ]
    assert values[0] == approx(values[1], abs=0.012)


def test_first_simulations_try_every_action():
    tree = game_tree("leduc_poker")
    agent = cp.search.ISMCTS(simulations=3).make_tree_agent(tree)
    state = first_infoset_states(tree)[5]
    row = agent.action_probabilities(state, int(tree.infoset_player[5]))
    assert max(row) - min(row) <= 1 / 3 + 1e-12


def test_same_seed_gives_the_same_bits_and_another_seed_does_not():
    tree = game_tree("leduc_poker")
    agent = cp.search.ISMCTS(simulations=50).make_agent(tree.game)
    tables = [cp.search.tabulate_agent(tree, agent, seed=s).policy.probabilities for s in (1, 1, 2)]
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).any()


def test_a_time_limit_ends_the_search():
    tree = game_tree("kuhn_poker")
    agent = cp.search.ISMCTS(seconds=1e-9).make_tree_agent(tree)
    row = agent.action_probabilities(first_infoset_states(tree)[0], 0)
    assert np.sum(row) == approx(1.0)
