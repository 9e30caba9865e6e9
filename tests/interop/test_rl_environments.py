"""PettingZoo and Gymnasium: their own tests, and agents that learn known values."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import counterplay as cp
from tests.conftest import game_tree
from tests.random_games import RandomGame

pytest.importorskip("pettingzoo")
pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

from counterplay.interop.gambit import game_from_efg
from counterplay.interop.pettingzoo_env import CounterplayAEC

GAMES = [
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "goofspiel(num_cards=3)",
    "rock_paper_scissors",
    "leduc_poker",
    "openspiel:kuhn_poker",
    "openspiel:matrix_bos",
    "openspiel:oshi_zumo(coins=3,size=1,horizon=3)",
]


@pytest.mark.parametrize("spec", GAMES)
def test_pettingzoos_own_tests(spec, capsys):
    pytest.importorskip("pyspiel")
    tree = game_tree(spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they would rather have arrays than dicts with a mask
        api_test(CounterplayAEC(tree), num_cycles=100)
        seed_test(lambda: CounterplayAEC(tree), num_cycles=100)
    assert "Passed API test" in capsys.readouterr().out


@pytest.mark.parametrize("spec", ["kuhn_poker", "leduc_poker", "rock_paper_scissors"])
def test_gymnasiums_own_test(spec):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for player in range(2):
            env = cp.interop.BestResponseEnv(cp.random_policy(game_tree(spec), seed=1), player)
            check_env(env, skip_render_check=True)


def mean_rewards(env, policy, episodes):
    """Mean rewards of all players when all agents follow a policy."""
    tree, rng = policy.arena, np.random.default_rng(0)
    total = np.zeros(tree.num_players)
    for episode in range(episodes):
        env.reset(seed=episode)
        for agent in env.agent_iter():
            seen, _, over, _, _ = env.last()
            if over:
                total += list(env.rewards.values())
                break
            infoset = env.arrays.find_infoset(env._state)
            assert env.possible_agents[tree.infoset_player[infoset]] == agent
            first, last = tree.offset[infoset : infoset + 2]
            legal = tree.sequence_action[first:last]
            assert np.flatnonzero(seen["action_mask"]).tolist() == sorted(legal.tolist())
            env.step(rng.choice(legal, p=policy.probabilities[first:last]))
    return total / episodes


def test_episodes_are_worth_the_exact_value():
    tree = game_tree("kuhn_poker")
    policy = cp.random_policy(tree, seed=3)
    means = mean_rewards(CounterplayAEC(tree), policy, episodes=3000)
    assert means == pytest.approx(cp.expected_values(tree, policy), abs=0.1)


def test_every_agent_sees_its_own_card():
    env = CounterplayAEC(cp.load_game("kuhn_poker"), render_mode="ansi")
    env.reset(seed=0)
    game = cp.load_game("kuhn_poker")
    for player in range(2):
        seen = env.observe(f"player_{player}")
        assert seen["observation"][player] == 1.0
        assert seen["observation"][2:5].sum() == 1.0
        assert seen["action_mask"].tolist() == ([1, 1] if player == 0 else [0, 0])
    assert env.render().count("deal") == 2
    assert CounterplayAEC(game).render() is None


def test_illegal_actions():
    env = CounterplayAEC(game_tree("leduc_poker"))
    env.reset(seed=0)
    with pytest.raises(cp.ConfigError, match=r"action 0 is not legal for player_0, only \[1, 2\]"):
        env.step(0)
    wrapped = TerminateIllegalWrapper(CounterplayAEC(game_tree("leduc_poker")), illegal_reward=-1)
    wrapped.reset(seed=0)
    wrapped.step(0)
    assert wrapped.terminations == {"player_0": True, "player_1": True}
    assert wrapped.rewards["player_0"] == -1


def learn(env, episodes, seed=0):
    """Monte Carlo control with a table: the mean return of every action, half of them explored."""
    rng = np.random.default_rng(seed)
    total: dict[bytes, np.ndarray] = {}
    count: dict[bytes, np.ndarray] = {}
    for episode in range(episodes):
        seen, info = env.reset(seed=seed if episode == 0 else None)
        steps, over = [], False
        while not over:
            key, legal = seen.tobytes(), np.flatnonzero(info["action_mask"])
            sums = total.setdefault(key, np.zeros(env.action_space.n))
            tries = count.setdefault(key, np.full(env.action_space.n, 1e-9))
            action = legal[np.argmax((sums / tries)[legal])]
            if rng.random() < 0.3:
                action = rng.choice(legal)
            steps.append((key, action))
            seen, reward, over, _, info = env.step(action)
        for key, action in steps:
            total[key][action] += reward
            count[key][action] += 1

    def agent(seen, mask):
        key = seen.tobytes()
        means = (total[key] / count[key]) if key in total else np.zeros(mask.size)
        return int(np.argmax(np.where(mask, means, -np.inf)))

    return agent


@pytest.mark.parametrize("player", [0, 1])
def test_an_outside_learner_finds_the_best_response(player):
    tree = game_tree("kuhn_poker")
    opponents = cp.random_policy(tree, seed=4)
    env = cp.interop.BestResponseEnv(opponents, player)
    learnt = cp.interop.judge_agent(env, learn(env, episodes=6000))
    best = cp.best_response(tree, opponents, player)
    assert learnt.best_value == pytest.approx(best.value, abs=1e-12)
    assert 0.0 <= learnt.gap < 0.02
    lazy = cp.interop.judge_agent(env, lambda seen, mask: mask)  # uniform over the legal ones
    uniform = np.where(
        np.repeat(tree.infoset_player, tree.num_actions) == player, 0.5, opponents.probabilities
    )
    value = cp.expected_values(tree, cp.Policy(tree, uniform))[player]
    assert lazy.value == pytest.approx(value, abs=1e-12)
    assert lazy.gap > learnt.gap


def test_the_environment_is_worth_what_judge_agent_says():
    """Also where the player may never get to act: in Kuhn for three, and in random games."""
    for tree, player in [
        (game_tree("kuhn_poker(players=3)"), 2),
        (cp.build_tree(RandomGame(seed=11, num_players=2)), 1),
    ]:
        env = cp.interop.BestResponseEnv(cp.random_policy(tree, seed=5), player)
        wanted = cp.interop.judge_agent(env, lambda seen, mask: mask / mask.sum()).value
        rng = np.random.default_rng(1)
        total, episodes = 0.0, 4000
        for episode in range(episodes):
            _, info = env.reset(seed=0 if episode == 0 else None)
            over = False
            while not over:
                action = rng.choice(np.flatnonzero(info["action_mask"]))
                _, reward, over, _, info = env.step(action)
                total += reward
        assert total / episodes == pytest.approx(wanted, abs=0.15)


def test_an_illegal_action_costs_the_most():
    tree = game_tree("leduc_poker")
    env = cp.interop.BestResponseEnv(cp.uniform_policy(tree), 0)
    env.reset(seed=0)
    assert env.action_masks().tolist() == [0, 1, 1]
    _, reward, over, _, info = env.step(0)
    assert over and info["illegal"] and reward == tree.utility[:, 0].min()
    with pytest.raises(cp.ConfigError, match="call reset before step"):
        env.step(1)


def test_a_game_without_observations():
    text = """EFG 2 R "hide" { "a" "b" } p "" 1 1 "door" { "left" "right" } 0
    p "" 2 1 "seek" { "left" "right" } 0 t "" 1 "" { -1 1 } t "" 2 "" { 1 -1 }
    p "" 2 1 0 t "" 2 t "" 1"""
    game = game_from_efg(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        api_test(CounterplayAEC(game), num_cycles=20)
    tree = cp.build_tree(game)
    env = cp.interop.BestResponseEnv(cp.Policy(tree, np.array([0.9, 0.1, 0.5, 0.5])), 1)
    assert cp.interop.judge_agent(env, learn(env, episodes=200)).value == pytest.approx(0.8)


def test_bad_agents_and_seats():
    tree = game_tree("kuhn_poker")
    with pytest.raises(cp.ConfigError, match="player is 2, must be from 0 to 1"):
        cp.interop.BestResponseEnv(cp.uniform_policy(tree), 2)
    env = cp.interop.BestResponseEnv(cp.uniform_policy(tree), 0)
    with pytest.raises(cp.ConfigError, match=r"answers 7 at '0', where \[0, 1\] are legal"):
        cp.interop.judge_agent(env, lambda seen, mask: 7)
    with pytest.raises(cp.ConfigError, match="answers"):
        cp.interop.judge_agent(env, lambda seen, mask: [np.nan, 1.0])


@pytest.mark.parametrize("module", ["gymnasium_env", "pettingzoo_env"])
def test_without_the_extra(module, monkeypatch):
    name = module.removesuffix("_env")
    monkeypatch.delitem(sys.modules, f"counterplay.interop.{module}", raising=False)
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(cp.ConfigError, match=r"pip install 'counterplay\[rl\]'"):
        __import__(f"counterplay.interop.{module}")
