"""Fictitious self-play with networks: roles in episodes, the reservoir, gains of responses."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common.episodes import (  # noqa: E402
    behaviour_from_table,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.networks import apply_net, uniform  # noqa: E402
from counterplay.algorithms.deep.nfsp.base import has_explored, response_gains  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

SMALL_SETTINGS = {
    "hidden_sizes": (8,),
    "schedule_iterations": 50,
    "num_episodes": 64,
    "reservoir_size": 500,
}
EXPLORING = cp.algorithms.NFSP(  # one program, compiled once, serves several tests
    **SMALL_SETTINGS,
    anticipatory_param=1.0,
    response_prob=1.0,
    epsilon=1.0,
    epsilon_end=1.0,
    average_power=2.0,
)


@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_the_reservoir_holds_responses_only(leduc, epsilon):
    """Every decision in it is the greedy response of that iteration."""
    algorithm = cp.algorithms.NFSP(**SMALL_SETTINGS, epsilon=epsilon, epsilon_end=epsilon)
    graph = graph_from_tree(leduc)
    state = jax.device_put(algorithm.init_state(graph, np.random.default_rng(0)))
    head = jax.random.normal(jax.random.PRNGKey(5), state.response.q.params[-1][0].shape)
    *layers, (_, biases) = state.response.q.params
    q = [*layers, (head, biases)]
    response = state.response._replace(q=state.response.q._replace(params=q))
    state = state._replace(response=response)
    policy = algorithm.responder.behaviour(graph, (0, 1), 1, response).policy
    after = jax.jit(algorithm.iterate)(graph, jnp.int32(1), state, jax.random.PRNGKey(0))
    num_stored = int(after.reservoir.num_seen)
    infoset, action, _ = (np.asarray(items)[:num_stored] for items in after.reservoir.items)
    assert num_stored > 20 and np.unique(action).size > 1
    assert (np.asarray(policy)[infoset, action] == 1.0).all()
    assert num_stored == int(np.asarray(after.counts).sum())


def test_later_responses_weigh_more(kuhn):
    """With a power of 2 the second iteration counts four times as much as the first."""
    memory, totals = EXPLORING.init(kuhn, 0), [0.0]
    for _ in range(2):
        memory = EXPLORING.step(kuhn, memory)
        totals.append(float(np.asarray(memory.state.counts).sum()) * 50.0**2)
    number = int(memory.state.reservoir.num_seen)
    first, second = np.diff(totals)
    assert first + second / 4.0 == approx(number)
    weights = np.unique(np.asarray(memory.state.reservoir.items[-1])[:number])
    assert weights * 50.0**2 == approx([1.0, 4.0])


def test_decisions_after_an_exploring_action_are_marked(leduc):
    graph = graph_from_tree(leduc)
    episodes = sample_episodes(
        graph, behaviour_from_table(uniform(graph.legal)), jax.random.PRNGKey(3), 64
    )
    explores = np.random.default_rng(0).random(episodes.live.shape) < 0.3
    explored = np.asarray(has_explored(graph, episodes, jnp.asarray(explores)))
    player = np.asarray(episodes.player)
    for column in range(64):
        for turn in np.flatnonzero(player[:, column] >= 0):
            is_own = player[: turn + 1, column] == player[turn, column]
            assert explored[turn, column] == explores[: turn + 1, column][is_own].any()


def test_only_one_player_tries_things(kuhn):
    """Other players play a response or their average: with eta 1 only responses."""
    memory = EXPLORING.step(kuhn, EXPLORING.init(kuhn), 1)
    action = np.asarray(memory.state.reservoir.items[1])
    seen = int(memory.state.reservoir.num_seen)
    assert (action[:seen] == 0).all()  # a constant network prefers the first action
    assert int(memory.state.response.replay_buffer.num_seen) < 3 * 64


@pytest.mark.parametrize("name", ["nfsp", "nfsp_ppo", "nfsp_sac"])
def test_every_setting_reaches_the_responder(name):
    plain = cp.load_algorithm(name)
    shared = {field.name for field in fields(plain)} & {f.name for f in fields(plain.responder)}
    assert len(shared) > 8
    for setting in shared - {"hidden_sizes"}:
        value = getattr(plain, setting)
        other = value / 2 if isinstance(value, float) and value else value + 1
        if isinstance(value, bool):
            other = not value
        assert getattr(replace(plain, **{setting: other}).responder, setting) == other


def test_gains_of_best_responses_are_nash_conv(kuhn):
    policy = cp.random_policy(kuhn, 3)
    best = [cp.best_response(kuhn, policy, player).policy.probabilities for player in range(2)]
    is_own = np.repeat(kuhn.infoset_player == 0, kuhn.num_actions)
    response = cp.Policy(kuhn, np.where(is_own, best[0], best[1]))
    assert response_gains(kuhn, policy, response) == approx((cp.nash_conv(kuhn, policy),) * 2)
    assert response_gains(kuhn, policy, policy)[0] == approx(0.0, abs=1e-12)
    found = EXPLORING.gains(kuhn, EXPLORING.step(kuhn, EXPLORING.init(kuhn), 2))
    assert found[0] <= found[1]


def test_three_players_learn():
    tree = game_tree("kuhn_poker(players=3)")
    small = {"hidden_sizes": (16,), "schedule_iterations": 300, "num_episodes": 256}
    small |= {"batch_size": 1024, "target_update_every": 20, "replay_buffer_size": 50_000}
    small |= {"reservoir_size": 50_000, "learning_rate": 1e-2, "average_learning_rate": 1e-2}
    result = cp.solve(tree, cp.algorithms.NFSP(**small), iterations=300)
    assert result.exploitability < 0.4 * cp.exploitability(tree, cp.uniform_policy(tree))


TINY_SETTINGS = (
    "hidden_sizes=(8,),schedule_iterations=40,num_episodes=16,average_batch_size=64,"
    "reservoir_size=600"
)
SPECS_ON_RULES = {
    "nfsp": (
        f"nfsp({TINY_SETTINGS},batch_size=64,replay_buffer_size=400,num_updates=1,target_update_every=3,"
        "response_prob=1,anticipatory_param=0.5)"
    ),
    "nfsp_ppo": f"nfsp_ppo({TINY_SETTINGS},num_epochs=1)",
    "nfsp_sac": f"nfsp_sac({TINY_SETTINGS},batch_size=64,replay_buffer_size=400,num_updates=1)",
}


@pytest.mark.parametrize(
    "name",
    ["nfsp", *(pytest.param(name, marks=pytest.mark.slow) for name in list(SPECS_ON_RULES)[1:])],
)
def test_on_rules_splitting_steps_changes_no_bit(name, kuhn):
    arena, algorithm = cp.RulesArena(cp.games.KuhnPoker()), cp.load_algorithm(SPECS_ON_RULES[name])
    memory = algorithm.step(arena, algorithm.init(arena, 3), 4)
    again = algorithm.init(arena, 3)
    for count in (1, 3):
        again = algorithm.step(arena, again, count)
    same = jax.tree.map(np.array_equal, memory.state, again.state)
    assert all(jax.tree.leaves(same)) and memory.nodes_touched == again.nodes_touched >= 4 * 32
    assert memory.state.counts.size == 0
    policies = algorithm.policies(arena, memory)
    assert list(policies) == ["network", "response"]
    assert response_gains(kuhn, *(policy.tabulate(kuhn) for policy in policies.values()))[0] > 0.0
    with pytest.raises(cp.ConfigError, match="gains are exact, which needs a tree"):
        algorithm.gains(arena, memory)


def test_on_rules_the_reservoir_holds_responses_only():
    """As on the tree: every decision in it is the greedy action of Q, in spite of exploration."""
    algorithm, arena = (
        cp.load_algorithm(SPECS_ON_RULES["nfsp"]),
        cp.RulesArena(cp.games.KuhnPoker()),
    )
    memory = algorithm.init(arena, 1)
    response = memory.state.response
    *layers, (weights, biases) = response.q.params
    head = jax.random.normal(jax.random.PRNGKey(5), weights.shape)
    q = [*layers, (head, biases)]
    response = response._replace(q=response.q._replace(params=q))
    before = jax.tree.map(np.array, q)
    memory.state = memory.state._replace(response=response)
    after = algorithm.step(arena, memory, 1).state.reservoir
    infoset, action, _ = jax.tree.map(np.asarray, after.items)
    assert np.asarray(after.num_seen).sum() > 8 and action[:, :4].any()
    for player, count in enumerate(np.asarray(after.num_seen).tolist()):
        net = jax.tree.map(lambda w, p=player: w[p], before)
        values = np.asarray(apply_net(net, jnp.asarray(infoset.observation[player, :count])))
        assert (values.argmax(-1) == action[player, :count]).all()
        assert infoset.legal[player, :count].all()
