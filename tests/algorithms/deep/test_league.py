"""League self-play: pools of past policies, on trees and on rules, for any number of players."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep import league  # noqa: E402
from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.networks import apply_net, new_nets  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

SMALL_LEAGUE = cp.algorithms.League(
    hidden_sizes=(8,), num_episodes=32, schedule_iterations=40, snapshot_every=5, pool_size=6
)


def test_a_league_plays_past_policies(kuhn):
    algorithm = SMALL_LEAGUE
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 4)
    assert int(memory.state.pool.num_joined) == 0
    assert float(memory.state.pool.num_games.sum()) == 0.0
    memory = algorithm.step(kuhn, memory, 9)
    state = memory.state
    assert int(state.pool.num_joined) == 6 and float(state.pool.num_games.sum()) > 0.0
    assert np.asarray(state.pool.members).sum(-1) == approx(1.0, abs=1e-5)
    steps = [int(agent.policy.opt_state[1].count[0]) for agent in state.agents]
    since_snapshot = 3 * algorithm.num_epochs  # exploiters started anew
    assert steps == [13 * algorithm.num_epochs, since_snapshot, since_snapshot]
    graph = graph_from_tree(kuhn)
    pool = state.pool._replace(
        total_utility=jnp.array([[2.0, 0, 0, 0, 0, -2.0]] * 2), num_games=jnp.ones((2, 6))
    )
    probabilities = np.asarray(algorithm.opponent_probabilities(graph, pool))
    assert probabilities.sum(-1) == approx(1.0) and probabilities[:, -1] == approx(0.0)
    ratio = ((1 + 1) / 2) ** 2 / (1 / 2) ** 2  # a policy that always wins against an even one
    assert probabilities[0, 5] == approx(ratio * probabilities[0, 1])


def test_rows_are_played_by_the_candidates_drawn():
    """A row of player p is evaluated by the network of p of its candidate; -1 is the learner."""
    rng, num_players = np.random.default_rng(1), 3
    nets = [new_nets(rng, num_players, (5, 4, 2)) for _ in range(4)]  # two past ones, present, own
    pool_members = jax.tree.map(lambda *arrays: jnp.stack(arrays), *nets[:2])
    candidates = league._jit_candidates()(pool_members, nets[2], nets[3])
    observation = jnp.asarray(rng.normal(size=(12, 5)), jnp.float32)
    legal = jnp.ones((12, 2), bool).at[4, 1].set(False)
    member = rng.integers(-1, 3, 12)
    policy, sampling = league._jit_act()(num_players, candidates, observation, legal, member)
    assert np.array_equal(policy, sampling)
    for row in range(12):
        net = jax.tree.map(lambda array, k=row: jnp.asarray(array)[k // 4], nets[member[row]])
        logits = np.asarray(apply_net(net, observation[row][None])[0], np.float64)
        odds = np.exp(logits) * np.asarray(legal[row])
        assert np.asarray(policy[row]) == approx(odds / odds.sum(), abs=1e-5)


def test_opponents_are_drawn_in_proportion():
    probabilities = np.tile([0.2, 0.0, 0.5, 0.3], (20_000, 1))
    opponent = league.draw_opponents(probabilities, np.random.default_rng(0))
    assert np.bincount(opponent, minlength=4) / 20_000 == approx([0.2, 0, 0.5, 0.3], abs=0.015)


@pytest.mark.parametrize("players", [2, 3])
def test_a_league_on_rules_keeps_networks(players):
    arena = cp.RulesArena(cp.games.KuhnPoker(players=players))
    memory = SMALL_LEAGUE.step(arena, SMALL_LEAGUE.init(arena), 4)
    assert int(memory.state.pool.num_joined) == 0
    memory = SMALL_LEAGUE.step(arena, memory, 3)
    state = memory.state
    assert int(state.pool.num_joined) == 3 and float(np.sum(state.pool.num_games)) > 0.0
    weights = state.pool.members[0][0]
    assert weights.shape[:2] == (6, players) and np.abs(weights[:3]).max() > 0.0
    assert not np.any(weights[3:])
    steps = [int(agent.policy.opt_state[1].count[0]) for agent in state.agents]
    assert steps == [7 * SMALL_LEAGUE.num_epochs] + 2 * [2 * SMALL_LEAGUE.num_epochs]
    assert list(SMALL_LEAGUE.policies(arena, memory)) == ["ensemble", "current"]
    again = SMALL_LEAGUE.step(arena, SMALL_LEAGUE.init(arena), 7)
    assert all(jax.tree.leaves(jax.tree.map(np.array_equal, state, again.state)))


def test_results_are_those_of_the_learning_seat():
    seat, opponent = np.array([0, 1, 0, 1]), np.array([2, 0, 2, 0])
    total, count = league.sum_results((2, 3), seat, opponent, np.array([1.0, -2.0, 3.0, 5.0]))
    assert total.tolist() == [[0, 0, 4], [3, 0, 0]] and count.tolist() == [[0, 0, 2], [2, 0, 0]]


def test_a_league_learns_on_rules(kuhn):
    algorithm = cp.algorithms.League(
        hidden_sizes=(16,), schedule_iterations=300, snapshot_every=50, learning_rate=1e-2
    )
    arena = cp.RulesArena(cp.games.KuhnPoker())
    memory = algorithm.step(arena, algorithm.init(arena), 300)
    policies = algorithm.policies(arena, memory)
    assert cp.exploitability(kuhn, policies["ensemble"].tabulate(kuhn)) < 0.15  # uniform: 11/24


def test_a_league_of_three_players_learns():
    tree = game_tree("kuhn_poker(players=3)")
    algorithm = cp.algorithms.League(
        hidden_sizes=(16,), schedule_iterations=400, snapshot_every=50, learning_rate=1e-2
    )
    result = cp.solve(tree, algorithm, iterations=400)
    assert result.exploitability < 0.4 * cp.exploitability(tree, cp.uniform_policy(tree))
