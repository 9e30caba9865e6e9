"""The vector environment against exact values and the single one; names for `gymnasium.make`."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.errors import ConfigError
from tests.conftest import game_tree

pytest.importorskip("gymnasium")

import gymnasium

from counterplay.interop.gymnasium_registration import register_environments
from counterplay.interop.vector_env import BestResponseVectorEnv

GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3)"]


def _play(env, policy, steps, seed=0):
    """Let the learner follow a policy; return the rewards of finished episodes."""
    tree, rng = policy.arena, np.random.default_rng(seed)
    table = np.zeros((tree.num_infosets + 1, env.arrays.num_actions))
    rows = np.repeat(np.arange(tree.num_infosets), tree.num_actions)
    table[rows, tree.sequence_action] = policy.probabilities
    table[-1, 0] = 1.0
    cdf = np.cumsum(table, axis=1)
    rewards = []
    env.reset(seed=seed)
    for _ in range(steps):
        infosets = env._infoset[env._nodes]
        draws = rng.random((env.num_envs, 1))
        actions = (cdf[infosets] <= draws).sum(axis=1)
        actions = np.minimum(actions, table.shape[1] - 1)
        _, reward, done, truncated, _ = env.step(actions)
        assert not truncated.any()
        assert (reward[~done] == 0.0).all()
        rewards.append(reward[done])
    return np.concatenate(rewards)


@pytest.mark.parametrize("spec", GAMES)
def test_mean_rewards_are_the_exact_values(spec):
    tree = game_tree(spec)
    opponents, mine = cp.random_policy(tree, seed=1), cp.random_policy(tree, seed=2)
    for player in range(tree.num_players):
        env = BestResponseVectorEnv(opponents, player, num_envs=400)
        joint = opponents.probabilities.copy()
        own = np.repeat(tree.infoset_player == player, tree.num_actions)
        joint[own] = mine.probabilities[own]
        exact = cp.expected_values(tree, cp.Policy(tree, joint))[player]
        rewards = _play(env, mine, steps=80)
        error = rewards.std() / len(rewards) ** 0.5
        assert abs(rewards.mean() - exact) < 4.5 * error, (player, exact, rewards.mean(), error)


def test_observations_and_masks_are_those_of_the_single_environment():
    policy = cp.random_policy(game_tree("leduc_poker"), seed=1)
    single = cp.interop.BestResponseEnv(policy, 1)
    env = BestResponseVectorEnv(policy, 1, num_envs=50)
    observations, infos = env.reset(seed=3)
    assert observations.shape == (50, single.observation_space.shape[0])
    for index in range(50):
        infoset = env._infoset[env._nodes[index]]
        assert np.array_equal(observations[index], single.arrays.observations[infoset])
        assert np.array_equal(infos["action_mask"][index], single.arrays.legal_mask[infoset])


def test_illegal_actions_end_the_episode_with_the_lowest_utility():
    tree = game_tree("leduc_poker")
    env = BestResponseVectorEnv(cp.uniform_policy(tree), 0, num_envs=3)
    env.reset(seed=0)
    assert env.action_masks()[:, 0].tolist() == [0, 0, 0]  # nothing to fold to
    _, rewards, done, _, infos = env.step([0, 1, 1])
    assert rewards[0] == tree.utility[:, 0].min()
    assert infos["illegal"].tolist() == [True, False, False]
    assert done[0]


def test_same_seed_gives_the_same_episodes():
    env = BestResponseVectorEnv(cp.uniform_policy(game_tree("leduc_poker")), 0, num_envs=20)
    policy = cp.random_policy(game_tree("leduc_poker"), seed=5)
    first, second = (_play(env, policy, 30, seed=4) for _ in range(2))
    assert np.array_equal(first, second)


def test_wrong_arguments_are_refused():
    policy = cp.uniform_policy(game_tree("kuhn_poker"))
    with pytest.raises(ConfigError, match="player is 2"):
        BestResponseVectorEnv(policy, 2, 4)
    with pytest.raises(ConfigError, match="num_envs is 0"):
        BestResponseVectorEnv(policy, 0, 0)
    with pytest.raises(ConfigError, match="call reset before step"):
        BestResponseVectorEnv(policy, 0, 1).step([0])


def test_environments_have_names(tmp_path):
    register_environments()
    env = gymnasium.make("counterplay/Leduc-v0", opponent="uniform", player=1)
    observation, info = env.reset(seed=0)
    assert observation.shape == env.observation_space.shape
    assert info["action_mask"].shape == (3,)
    policy = cp.random_policy(game_tree("kuhn_poker"), seed=3)
    policy.save(tmp_path / "kuhn.policy")
    for opponent in (policy, str(tmp_path / "kuhn.policy"), "cfr_plus"):
        env = gymnasium.make("counterplay/Game-v0", game="kuhn_poker", opponent=opponent)
        assert env.reset(seed=0)[0].size
    vector = gymnasium.make_vec("counterplay/Kuhn-v0", num_envs=7, opponent=policy)
    observations, _ = vector.reset(seed=0)
    assert observations.shape[0] == vector.num_envs == 7
