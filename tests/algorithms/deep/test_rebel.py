"""ReBeL: its network in NumPy, training, the searching agent, and bad input."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

pytest.importorskip("jax")

import counterplay as cp
from counterplay.algorithms.deep.common.networks import new_net
from counterplay.algorithms.deep.rebel import ReBeL, belief_values
from counterplay.arenas.belief_subgames import belief_game
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.play.agents import AgentLoader
from counterplay.search.belief_tabulation import average_policies
from counterplay.search.value_network import NumpyValueNetwork
from tests.conftest import game_tree

DICE = "liars_dice(dice_sides=3)"
SMALL_SETTINGS = {"num_subgames": 16, "hidden_sizes": (32, 32), "training_iterations": 40}


@pytest.mark.parametrize("hidden", [(32, 16), (5,), (12, 40)])
def test_numpy_network_equals_the_trained_one(hidden):
    game = belief_game(game_tree("leduc_poker"))
    rng, width = np.random.default_rng(0), 2 * game.max_views
    net = new_net(rng, (width + game.num_classes, *hidden, width))
    kind = rng.integers(0, game.num_classes, 50)
    ranges = rng.random((50, width)).astype(np.float32)
    expected = belief_values(net, kind, ranges, game.view_chance.astype(np.float32))
    assert NumpyValueNetwork(game, net)(kind)(ranges) == approx(np.asarray(expected), abs=1e-5)


def test_training_approaches_the_solution():
    tree = game_tree("liars_dice(dice_sides=4)")
    algorithm = ReBeL(**SMALL_SETTINGS, num_policies=32, end_size=4)
    memory = algorithm.init(tree, seed=1)
    before = cp.exploitability(tree, algorithm.policies(tree, memory)["search"])
    memory = algorithm.step(tree, memory, 60)
    after = cp.exploitability(tree, algorithm.policies(tree, memory)["search"])
    assert after < 0.5 * before


def test_agent_answers_as_it_is_tabulated():
    tree = game_tree(DICE)
    loader = AgentLoader(tree.game, build=lambda game: tree)
    spec = "belief_search(network='rebel(num_subgames=4)',network_iterations=2,iterations=20)"
    (agent,) = loader.load_agents(spec)
    states = first_infoset_states(tree)
    seated = agent.for_episode(5)
    rows = [
        seated.action_probabilities(states[i], int(tree.infoset_player[i]))
        for i in range(tree.num_infosets)
    ]
    policy = Policy(tree, np.concatenate(rows))
    again = agent.for_episode(5)
    last = tree.num_infosets - 1
    assert again.action_probabilities(states[last], int(tree.infoset_player[last])) == rows[last]
    assert 0.0 <= cp.exploitability(tree, policy) < 1.0
    table = cp.search.tabulate_agent(tree, agent, num_seeds=3)
    assert len(table.exploitabilities) == 3
    mean = average_policies(tree, agent.sample_policies(3))
    assert (table.policy.probabilities == mean.probabilities).all()


def test_mean_of_policies_weighs_them_by_own_reach():
    tree = game_tree("kuhn_poker")
    first, second = np.zeros(tree.num_sequences), np.zeros(tree.num_sequences)
    first[tree.offset[:-1]] = 1.0
    second[tree.offset[1:] - 1] = 1.0
    mean = average_policies(tree, np.array([first, second]))
    # player 1 is fixed, so that player 0's value is the mean of both policies' values against it
    is_own = np.repeat(tree.infoset_player == 0, tree.num_actions)
    fixed = [Policy(tree, np.where(is_own, p, first)) for p in (first, second)]
    mixed = Policy(tree, np.where(is_own, mean.probabilities, first))
    values = [cp.expected_values(tree, p)[0] for p in fixed]
    assert cp.expected_values(tree, mixed)[0] == approx(sum(values) / 2, abs=1e-12)


def test_networks_of_other_kinds_and_games_are_refused(tmp_path):
    loader = AgentLoader(cp.load_game("kuhn_poker"))
    with pytest.raises(ConfigError, match="trains no value network"):
        loader.load_agents("belief_search(network=cfr)")
    with pytest.raises(ConfigError, match="a run of rebel, or rebel itself"):
        loader.load_agents("belief_search(network=nowhere)")
    run = cp.experiment.run(
        {
            "game": DICE,
            "algorithm": "rebel(num_subgames=4,hidden_sizes=(4,),num_policies=2)",
            "spec": {"max_steps": 2},
        },
        folder=tmp_path / "run",
    )
    with pytest.raises(ConfigError, match="is a run of"):
        loader.load_agents(f"belief_search(network='{run.folder}')")
    dice = AgentLoader(cp.load_game(DICE))
    (agent,) = dice.load_agents(f"belief_search(network='{run.folder}',iterations=5)")
    assert len(agent.action_probabilities(first_infoset_states(dice.tree)[0], 0)) == 6
