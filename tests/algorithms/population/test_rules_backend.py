"""Pools on rules: intervals cover exact payoffs, and learned responses are nearly best."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.algorithms.population.empirical_payoffs import PoolAgent, estimate_payoffs
from counterplay.algorithms.population.oracles import ExactResponse, WeightedPolicy
from counterplay.algorithms.population.q_learning_response import QLearningResponse
from counterplay.algorithms.population.rules_backend import mixture_policy, pool_policy
from counterplay.core.state_io import flatten_memory, restore_memory
from counterplay.experiment import run
from counterplay.experiment.population import load_population
from tests.conftest import game_tree


def test_intervals_cover_the_exact_payoffs(kuhn):
    policies = [cp.random_policy(kuhn, seed) for seed in range(5)]
    pools = [policies, policies[:4]]
    found = estimate_payoffs(kuhn.game, pools, episodes=400, seed=1, confidence=0.99)
    exact = np.zeros((2, 5, 4))
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    for i, one in enumerate(policies):
        for j, two in enumerate(policies[:4]):
            both = np.where(owner == 0, one.probabilities, two.probabilities)
            exact[:, i, j] = cp.expected_values(kuhn, cp.Policy(kuhn, both))
    inside = (found.low <= exact) & (exact <= found.high)
    assert inside.mean() >= 0.9 and (found.margins > 0.0).all()
    assert found.margins.max() < 0.35


def test_nothing_left_to_chance_is_exact():
    game = cp.load_game("rock_paper_scissors")
    tree = game_tree("rock_paper_scissors")
    pure = [cp.Policy(tree, np.tile(np.eye(3)[k], 2)) for k in range(3)]
    found = estimate_payoffs(game, [pure, pure], episodes=5)
    assert (found.margins == 0.0).all()
    assert found.meta_game.utility[0].tolist() == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    assert cp.matrix.zero_sum_lp(found.meta_game).profile[0] == approx([1 / 3] * 3)


def test_a_pool_draws_a_policy_per_episode():
    tree = game_tree("rock_paper_scissors")
    pure = [cp.Policy(tree, np.tile(np.eye(3)[k], 2)) for k in range(3)]
    pool = PoolAgent(pure, [0.5, 0.25, 0.25])
    standings = cp.head_to_head(tree, pool, pure[0], max_episodes=4000, seed=2)
    score = standings.scores[0]
    assert score.low <= 0.25 * 1 - 0.25 * 1 <= score.high  # paper wins, scissors loses
    played = [pure.index(pool.for_episode(seed)) for seed in range(2000)]
    assert np.bincount(played) / 2000 == approx([0.5, 0.25, 0.25], abs=0.04)


@pytest.mark.parametrize("player", [0, 1])
def test_learned_response_is_nearly_best(kuhn, player):
    policies = [cp.random_policy(kuhn, 3), cp.random_policy(kuhn, 4)]
    opponents = [WeightedPolicy(0.4, policies[0]), WeightedPolicy(0.6, policies[1])]
    rules = cp.RulesArena(kuhn.game)
    found = QLearningResponse(num_episodes=6_000).respond(rules, player, opponents, seed=1)
    again = QLearningResponse(num_episodes=6_000).respond(rules, player, opponents, seed=1)
    best = ExactResponse().respond(kuhn, player, opponents)
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    response, value = found.policy.tabulate(kuhn).probabilities, 0.0
    for weight, policy in opponents:
        both = np.where(owner == player, response, policy.probabilities)
        value += weight * cp.expected_values(kuhn, cp.Policy(kuhn, both))[player]
    assert best.value - 0.05 <= value <= best.value + 1e-9
    assert found.value == approx(value, abs=0.2)
    assert found.value == again.value and found.policy.rows == again.policy.rows
    short = QLearningResponse(num_episodes=10)
    warm = short.respond(rules, player, opponents, seed=2, previous=found.policy)
    cold = short.respond(rules, player, opponents, seed=2)
    assert warm.policy.tabulate(kuhn).probabilities[owner == player] == approx(
        response[owner == player]
    )
    assert warm.value > cold.value and found.policy.rows == again.policy.rows


def test_bad_pools(kuhn):
    game, one = kuhn.game, cp.uniform_policy(kuhn)
    with pytest.raises(cp.ConfigError, match="1 pools for 2 players of kuhn_poker"):
        estimate_payoffs(game, [[one]])
    with pytest.raises(cp.ConfigError, match="a pool is empty"):
        estimate_payoffs(game, [[one], []])
    with pytest.raises(cp.ConfigError, match="episodes is 1, must be at least 2"):
        estimate_payoffs(game, [[one], [one]], episodes=1)
    with pytest.raises(cp.ConfigError, match="0 weights for 0 policies"):
        PoolAgent([], [])
    with pytest.raises(cp.ConfigError, match="must be probabilities"):
        PoolAgent([one], [0.5])


def on_rules(kuhn, iterations=6, seed=0):
    algorithm, rules = (
        cp.algorithms.PSRO(training_episodes=4_000, payoff_episodes=200),
        cp.RulesArena(kuhn.game),
    )
    return algorithm, rules, algorithm.step(rules, algorithm.init(rules, seed), iterations)


@pytest.fixture(scope="module")
def learned():
    return on_rules(game_tree("kuhn_poker"))


def test_psro_on_rules_learns(learned, kuhn):
    algorithm, rules, memory = learned
    policy = algorithm.policies(rules, memory)["mixture"]
    assert cp.exploitability(kuhn, policy.tabulate(kuhn)) < 0.15  # uniform play: 11/24
    assert memory.payoffs.shape == memory.margins.shape and (memory.margins > 0.0).mean() > 0.9
    assert memory.size.num_infosets == 12 and memory.nodes_touched == 200 * memory.payoffs[0].size
    start = algorithm.policies(rules, algorithm.init(rules))["mixture"]
    assert (start.tabulate(kuhn).probabilities == 0.5).all()


def test_mixtures_of_tables_are_worth_what_their_parts_are(learned, kuhn):
    _, rules, memory = learned
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    mixed = mixture_policy(rules, memory).tabulate(kuhn).probabilities
    against = cp.random_policy(kuhn, 9).probabilities
    for player in range(2):
        total = 0.0
        for k, weight in enumerate(memory.meta_strategy[player]):
            own = pool_policy(rules, memory, k).tabulate(kuhn).probabilities
            both = cp.Policy(kuhn, np.where(owner == player, own, against))
            total += weight * cp.expected_values(kuhn, both)[player]
        both = cp.Policy(kuhn, np.where(owner == player, mixed, against))
        assert cp.expected_values(kuhn, both)[player] == approx(total, abs=1e-12)


def test_sampled_population_goes_on_bit_for_bit(kuhn):
    algorithm, rules, memory = on_rules(kuhn, 3)
    back = restore_memory(algorithm.init(rules), flatten_memory(memory))
    assert not back.find_mismatch(rules)
    one, two = algorithm.step(rules, memory), algorithm.step(rules, back)
    assert one.tables == two.tables and one.infosets == two.infosets
    assert (one.payoffs == two.payoffs).all() and (one.margins == two.margins).all()


def test_runs_on_rules_leave_their_pools(tmp_path):
    spec = {"max_steps": 3, "evaluate_every": 1, "training_episodes": 500}
    spec["payoff_episodes"] = 20
    config = {"algorithm": "psro", "game": "kuhn_poker", "arena": "rules", "spec": spec}
    folder = run(config, tmp_path / "run").folder
    assert len(list((folder / "pool").iterdir())) == 3
    cp.load_tabular_policy(folder / "pool" / "002.policy", cp.load_game("kuhn_poker"))
    assert load_population(folder).payoffs.shape == (2, 3, 3)
