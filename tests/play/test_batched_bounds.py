"""Bounds of networks: playouts that advance together are those played one by one."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

pytest.importorskip("jax")

import counterplay as cp
from counterplay.algorithms.deep.common.batched_env import get_env
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.networks import new_nets
from counterplay.play.bounds import local_best_response
from counterplay.play.episodes import RandomStreams, play_from, play_together


class OneByOne:
    """A policy that answers no batches."""

    def __init__(self, policy):
        self.policy = policy

    def for_episode(self, seed):
        return OneByOne(self.policy.for_episode(seed))

    def action_probabilities(self, state, player):
        return self.policy.action_probabilities(state, player)


def network_policy(game, num_nets=1):
    rng, env = np.random.default_rng(0), get_env(game)
    sizes = (env.num_features, 8, env.num_actions)
    nets = tuple(new_nets(rng, 2, sizes) for _ in range(num_nets))
    return NetworkPolicy(game, nets, "softmax", (1.0,) * num_nets)


@pytest.fixture(scope="module")
def kuhn_game():
    return cp.load_game("kuhn_poker")


def test_batches_of_states_have_the_probabilities_of_single_states(kuhn_game):
    policy = network_policy(kuhn_game)
    states, players = [], []
    for number in range(30):
        draw = RandomStreams(1, number)
        steps, _ = play_from(kuhn_game, kuhn_game.initial_state(), [policy] * 2, draw)
        for step in steps:
            if step.player >= 0:
                states.append(step.state)
                players.append(step.player)
    rows = policy.batch_action_probabilities(states, players)
    for state, player, row in zip(states, players, rows, strict=True):
        assert row == approx(policy.action_probabilities(state, player), abs=1e-6)


def test_episodes_played_together_end_as_those_played_alone(kuhn_game):
    policy = network_policy(kuhn_game)
    start, seats = kuhn_game.initial_state(), [policy] * 2
    draws = [RandomStreams(7, number) for number in range(40)]
    ends = play_together(kuhn_game, [start] * 40, [seats] * 40, draws)
    for number, end in enumerate(ends):
        assert end == play_from(kuhn_game, start, seats, RandomStreams(7, number))[1]


@pytest.mark.parametrize("num_nets", [1, 2])
def test_bounds_of_networks_do_not_depend_on_batches(kuhn_game, num_nets):
    policy = network_policy(kuhn_game, num_nets)
    arguments = {"num_episodes": 60, "num_playouts": 20, "seed": 2}
    together = local_best_response(kuhn_game, policy, **arguments)
    alone = local_best_response(kuhn_game, OneByOne(policy), **arguments)
    assert together.nash_conv == alone.nash_conv
    assert together.player_gains == alone.player_gains
