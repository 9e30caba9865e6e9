"""Pools on rules: intervals cover exact payoffs, and learned responses are nearly best."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.experiment import run
from counterplay.experiment.population import load_population
from counterplay.memory import flatten, restore
from counterplay.population.on_rules import mixture, pool_policy
from counterplay.population.oracles import ExactResponse, Weighted
from counterplay.population.sampled_response import SampledResponse
from counterplay.population.simulated import PoolContestant, simulate_payoffs
from tests.conftest import built


def test_intervals_cover_the_exact_payoffs(kuhn):
    policies = [cp.random_policy(kuhn, seed) for seed in range(5)]
    pools = [policies, policies[:4]]
    found = simulate_payoffs(kuhn.rules, pools, episodes=400, seed=1, confidence=0.99)
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
    tree = built("rock_paper_scissors")
    pure = [cp.Policy(tree, np.tile(np.eye(3)[k], 2)) for k in range(3)]
    found = simulate_payoffs(game, [pure, pure], episodes=5)
    assert (found.margins == 0.0).all()
    assert found.form.utility[0].tolist() == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    assert cp.zero_sum_lp(found.form).profile[0] == approx([1 / 3] * 3)


def test_a_pool_draws_a_policy_per_episode():
    tree = built("rock_paper_scissors")
    pure = [cp.Policy(tree, np.tile(np.eye(3)[k], 2)) for k in range(3)]
    pool = PoolContestant(pure, [0.5, 0.25, 0.25])
    standings = cp.head_to_head(tree, pool, pure[0], episodes=4000, seed=2)
    score = standings.scores[0]
    assert score.low <= 0.25 * 1 - 0.25 * 1 <= score.high  # paper wins, scissors loses
    played = [pure.index(pool.fresh(seed)) for seed in range(2000)]
    assert np.bincount(played) / 2000 == approx([0.5, 0.25, 0.25], abs=0.04)


@pytest.mark.parametrize("player", [0, 1])
def test_learned_response_is_nearly_best(kuhn, player):
    policies = [cp.random_policy(kuhn, 3), cp.random_policy(kuhn, 4)]
    opponents = [Weighted(0.4, policies[0]), Weighted(0.6, policies[1])]
    rules = cp.SampledGame(kuhn.rules)
    found = SampledResponse(episodes=6_000).respond(rules, player, opponents, seed=1)
    again = SampledResponse(episodes=6_000).respond(rules, player, opponents, seed=1)
    best = ExactResponse().respond(kuhn, player, opponents)
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    response, value = found.policy.on(kuhn).probabilities, 0.0
    for weight, policy in opponents:
        both = np.where(owner == player, response, policy.probabilities)
        value += weight * cp.expected_values(kuhn, cp.Policy(kuhn, both))[player]
    assert best.value - 0.05 <= value <= best.value + 1e-9
    assert found.value == approx(value, abs=0.2)
    assert found.value == again.value and found.policy.rows == again.policy.rows
    short = SampledResponse(episodes=10)
    warm = short.respond(rules, player, opponents, seed=2, start=found.policy)
    cold = short.respond(rules, player, opponents, seed=2)
    assert warm.policy.on(kuhn).probabilities[owner == player] == approx(response[owner == player])
    assert warm.value > cold.value and found.policy.rows == again.policy.rows


def test_bad_pools(kuhn):
    game, one = kuhn.rules, cp.uniform_policy(kuhn)
    with pytest.raises(cp.ConfigError, match="1 pools for 2 players of kuhn_poker"):
        simulate_payoffs(game, [[one]])
    with pytest.raises(cp.ConfigError, match="a pool is empty"):
        simulate_payoffs(game, [[one], []])
    with pytest.raises(cp.ConfigError, match="episodes is 1, must be at least 2"):
        simulate_payoffs(game, [[one], [one]], episodes=1)
    with pytest.raises(cp.ConfigError, match="0 weights for 0 policies"):
        PoolContestant([], [])
    with pytest.raises(cp.ConfigError, match="must be probabilities"):
        PoolContestant([one], [0.5])


def on_rules(kuhn, iterations=6, seed=0):
    algorithm, rules = cp.PSRO(training=4_000, episodes=200), cp.SampledGame(kuhn.rules)
    return algorithm, rules, algorithm.step(rules, algorithm.init(rules, seed), iterations)


@pytest.fixture(scope="module")
def learned():
    return on_rules(built("kuhn_poker"))


def test_psro_on_rules_learns(learned, kuhn):
    algorithm, rules, memory = learned
    policy = algorithm.policies(rules, memory)["mixture"]
    assert cp.exploitability(kuhn, policy.on(kuhn)) < 0.15  # uniform play: 11/24
    assert memory.payoffs.shape == memory.margins.shape and (memory.margins > 0.0).mean() > 0.9
    assert memory.size.num_infosets == 12 and memory.touched == 200 * memory.payoffs[0].size
    start = algorithm.policies(rules, algorithm.init(rules))["mixture"]
    assert (start.on(kuhn).probabilities == 0.5).all()


def test_mixtures_of_tables_are_worth_what_their_parts_are(learned, kuhn):
    _, rules, memory = learned
    owner = np.repeat(kuhn.infoset_player, kuhn.num_actions)
    mixed = mixture(rules, memory).on(kuhn).probabilities
    against = cp.random_policy(kuhn, 9).probabilities
    for player in range(2):
        total = 0.0
        for k, weight in enumerate(memory.meta[player]):
            own = pool_policy(rules, memory, k).on(kuhn).probabilities
            both = cp.Policy(kuhn, np.where(owner == player, own, against))
            total += weight * cp.expected_values(kuhn, both)[player]
        both = cp.Policy(kuhn, np.where(owner == player, mixed, against))
        assert cp.expected_values(kuhn, both)[player] == approx(total, abs=1e-12)


def test_sampled_population_goes_on_bit_for_bit(kuhn):
    algorithm, rules, memory = on_rules(kuhn, 3)
    back = restore(algorithm.init(rules), flatten(memory))
    assert not back.problem(rules)
    one, two = algorithm.step(rules, memory), algorithm.step(rules, back)
    assert one.tables == two.tables and one.known == two.known
    assert (one.payoffs == two.payoffs).all() and (one.margins == two.margins).all()


def test_runs_on_rules_leave_their_pools(tmp_path):
    spec = {"max_steps": 3, "evaluate_every": 1, "training": 500, "episodes": 20}
    config = {"algorithm": "psro", "game": "kuhn_poker", "arena": "rules", "spec": spec}
    folder = run(config, tmp_path / "run").folder
    assert len(list((folder / "pool").iterdir())) == 3
    cp.load_sampled_policy(folder / "pool" / "002.policy", cp.load_game("kuhn_poker"))
    assert load_population(folder).payoffs.shape == (2, 3, 3)
