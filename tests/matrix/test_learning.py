"""Learners: regret falls as it must, averages converge where they can and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from pytest import approx

import counterplay as cp
from counterplay.matrix.normal_form import NormalForm, normal_form_from_game
from counterplay.matrix.replicator_dynamics import project_to_simplex
from counterplay.registry import LEARNERS, load_learner
from tests.matrix.forms import forms

BIASED_RPS = NormalForm([[0, -0.25, 0.5], [0.25, 0, -0.05], [-0.5, 0.05, 0]])
CORNER = (np.array([0.9, 0.05, 0.05]), np.array([0.05, 0.9, 0.05]))
NO_REGRET = ["hedge", "regret_matching", "regret_matching_plus"]


def game(name):
    return normal_form_from_game(cp.load_game(name))


@pytest.mark.parametrize("name", LEARNERS)
def test_regret_is_what_it_is_called(name):
    """Recomputed from the recorded actions: two iterations at a time, from the same start."""
    learner, form = load_learner(name), game("shapleys_game")
    sums = [np.zeros(3), np.zeros(3)]
    for t in range(1, 6):
        now = cp.matrix.run_learners(form, learner, iterations=t, initial_profile=CORNER)
        before = (
            cp.matrix.run_learners(
                form, learner, iterations=t - 1, initial_profile=CORNER
            ).current_profile
            if t > 1
            else CORNER
        )
        for player in (0, 1):
            values = form.action_values(player, before)
            sums[player] += values - values @ before[player]
            assert now.regret[t - 1, player] == approx(sums[player].max() / t)
    assert now.regret.shape == (5, 2)


@settings(max_examples=20)
@given(forms(max_players=3, max_actions=3))
def test_joint_play_is_a_coarse_equilibrium_up_to_regret(form):
    """The gain of the best commitment against joint play is the largest regret, exactly."""
    for name in LEARNERS:
        result = cp.matrix.run_learners(form, load_learner(name), iterations=50)
        gain = cp.matrix.coarse_deviation(form, result.joint_distribution).gain
        assert gain == approx(max(result.regret[-1].max(), 0.0), abs=1e-9)


@settings(max_examples=20)
@given(forms(max_players=3, max_actions=4))
def test_bounds_on_regret(form):
    iterations = 200
    for name in NO_REGRET:
        regret = cp.matrix.run_learners(form, load_learner(name), iterations=iterations).regret
        for player, count in enumerate(form.shape):
            size, t = form.utility_range[player], np.arange(1, iterations + 1)
            if name == "hedge":
                bound = size * np.sqrt(2.0 * np.log(count) / t) + 1e-9
            else:
                bound = size * np.sqrt(count / t) + 1e-9
            assert (regret[:, player] <= bound).all()


def hedge_profile(total, regret):
    """Multiplicative weights: each is multiplied by exp(0.3 * utility) in every iteration."""
    weights = np.exp(0.3 * total)
    return weights / weights.sum()


def regret_matching_profile(total, regret):
    positive = np.maximum(regret, 0.0)
    return (
        positive / positive.sum() if positive.any() else np.full(positive.size, 1 / positive.size)
    )


@pytest.mark.parametrize(
    ("learner", "next_profile"),
    [
        (cp.matrix.Hedge(0.3), hedge_profile),
        (cp.matrix.RegretMatching(), regret_matching_profile),
    ],
    ids=["hedge", "regret_matching"],
)
def test_profiles_follow_the_textbook(learner, next_profile):
    """Accumulated utilities and regrets decide the next profile; by plain loops."""
    utility = np.random.default_rng(7).uniform(size=(2, 3, 4))
    utility[:, 0, 0], utility[:, 1, 1] = 0.0, 1.0  # Hedge divides its rate by their range
    form = NormalForm(utility)
    profile = [np.full(3, 1 / 3), np.full(4, 1 / 4)]
    total, regret = [np.zeros(3), np.zeros(4)], [np.zeros(3), np.zeros(4)]
    for t in range(1, 8):
        values = [form.action_values(player, tuple(profile)) for player in range(2)]
        for player in range(2):
            total[player] += values[player]
            regret[player] += values[player] - values[player] @ profile[player]
        profile = [next_profile(total[player], regret[player]) for player in range(2)]
        result = cp.matrix.run_learners(form, learner, iterations=t)
        for player in range(2):
            assert result.current_profile[player] == approx(profile[player], abs=1e-12)


def test_hedge_with_a_fixed_rate():
    iterations = 500
    eta = float(np.sqrt(8 * np.log(3) / iterations))
    result = cp.matrix.run_learners(
        game("shapleys_game"), cp.matrix.Hedge(eta), iterations=iterations, initial_profile=CORNER
    )
    prior = np.sqrt(np.log(1 / 0.05) / 2 / iterations) + np.log(20) / eta / iterations
    assert (result.regret[-1] <= prior).all()
    uniform = cp.matrix.run_learners(
        game("rock_paper_scissors"), cp.matrix.Hedge(eta), iterations=iterations
    )
    assert (uniform.regret[-1] <= np.sqrt(np.log(3) / 2 / iterations) * 2).all()


@pytest.mark.parametrize(
    ("name", "iterations", "limit"),
    [
        ("regret_matching", 5000, 5e-3),
        ("regret_matching_plus", 5000, 1e-3),
        ("hedge", 5000, 2e-2),
        ("fictitious_play", 5000, 2e-2),
        ("replicator_dynamics", 5000, 1e-2),
    ],
)
def test_zero_sum_averages_approach_the_equilibrium(name, iterations, limit):
    result = cp.matrix.run_learners(
        BIASED_RPS, load_learner(name), iterations=iterations, initial_profile=CORNER
    )
    assert result.nash_conv < limit  # of the start: 0.84
    assert result.average_profile[0] == approx([1 / 16, 10 / 16, 5 / 16], abs=0.1)


def test_alternating_regret_matching_plus_is_faster():
    plus, plain = cp.matrix.RegretMatchingPlus(), cp.matrix.RegretMatching()
    fast = cp.matrix.run_learners(
        BIASED_RPS, plus, iterations=2000, alternating=True, initial_profile=CORNER
    ).nash_conv
    slow = cp.matrix.run_learners(
        BIASED_RPS, plain, iterations=2000, initial_profile=CORNER
    ).nash_conv
    assert fast < 1e-3 and fast < slow / 5


@pytest.mark.parametrize("name", ["fictitious_play", "regret_matching"])
@pytest.mark.parametrize("spec", ["shapleys_game", "matching_pennies_3p"])
def test_no_convergence_where_there_is_none(name, spec):
    """Regret vanishes, the averages still do not become an equilibrium."""
    form = game(spec)
    rng = np.random.default_rng(2)
    start = CORNER if spec == "shapleys_game" else tuple(rng.dirichlet([1, 1], 3))
    result = cp.matrix.run_learners(
        form, load_learner(name), iterations=4000, initial_profile=start
    )
    assert result.nash_conv > 0.1
    if name == "regret_matching":
        assert result.regret[-1].max() < 0.05


def test_fictitious_play_by_hand():
    """Matching pennies from heads, heads: 1 flees to tails, 0 follows."""
    heads = np.array([1.0, 0.0])
    form = game("matching_pennies")
    result = cp.matrix.run_learners(
        form, cp.matrix.FictitiousPlay(), iterations=4, initial_profile=(heads, heads)
    )
    # player 0: h h h t?, player 1: h t t t; at t = 4 player 0 has seen h t t
    assert result.average_profile[1].tolist() == [0.25, 0.75]
    assert result.average_profile[0].tolist() == [0.75, 0.25]


def test_sampled_play_is_reproducible_and_learns():
    one, two = (
        cp.matrix.run_learners(
            BIASED_RPS, cp.matrix.RegretMatching(), iterations=3_000, sample_actions=True, seed=seed
        )
        for seed in (1, 1)
    )
    assert np.array_equal(one.regret, two.regret)
    assert one.regret[-1].max() < 0.03
    assert one.nash_conv < 0.05
    assert one.joint_distribution.sum() == approx(1.0)


def test_sampled_regret_matching_follows_the_lecture():
    """Profile, profile sum, drawn actions, regrets, cumulative regrets: by plain loops."""
    payoff = np.array([[0.0, -1.0, 2.0], [1.0, 0.0, -1.0], [-1.0, 1.0, 0.0]])
    form, rng = NormalForm(payoff), np.random.default_rng(4)
    regrets, profile_sum = np.zeros((2, 3)), np.zeros((2, 3))
    for _ in range(200):
        profile = []
        for player in range(2):
            positive = np.maximum(regrets[player], 0.0)
            total = positive.sum()
            profile.append(positive / total if total > 0.0 else np.full(3, 1.0 / 3.0))
        profile_sum += profile
        actions = [min(int((np.cumsum(m) <= rng.random()).sum()), 2) for m in profile]
        played = payoff[actions[0], actions[1]]
        for a in range(3):
            regrets[0, a] += payoff[a, actions[1]] - played
            regrets[1, a] += -payoff[actions[0], a] + played
    result = cp.matrix.run_learners(
        form, cp.matrix.RegretMatching(), iterations=200, sample_actions=True, seed=4
    )
    assert np.array(result.average_profile) == approx(profile_sum / 200, abs=1e-9)
    assert result.regret[-1] == approx(regrets.max(axis=1) / 200, abs=1e-9)


def test_projection_is_the_nearest_distribution():
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = rng.normal(size=4)
        near = project_to_simplex(point, 0.05)
        assert near.sum() == approx(1.0) and near.min() >= 0.05 - 1e-12
        for _ in range(20):
            other = 0.05 + 0.8 * rng.dirichlet(np.ones(4))
            assert np.linalg.norm(near - point) <= np.linalg.norm(other - point) + 1e-12


def test_openspiel_projected_replicator_dynamics():
    theirs = pytest.importorskip("open_spiel.python.algorithms.projected_replicator_dynamics")
    first = np.array([[2.0, -1.0], [0.0, 1.0]])
    expected = theirs.projected_replicator_dynamics(
        [first, -first],
        prd_initial_strategies=[np.array([0.7, 0.3]), np.array([0.4, 0.6])],
        prd_iterations=2000,
        prd_dt=1e-2,
        prd_gamma=1e-6,
        average_over_last_n_strategies=2000,
    )
    learner = cp.matrix.ReplicatorDynamics(step_size=0.03, floor=1e-6)  # times the range, 3
    start = (np.array([0.7, 0.3]), np.array([0.4, 0.6]))
    result = cp.matrix.run_learners(
        NormalForm(first), learner, iterations=2000, initial_profile=start
    )
    for ours, other in zip(result.average_profile, expected, strict=True):
        assert ours == approx(other, abs=2e-3)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("hedge(eta=-1)", "eta is -1"),
        ("replicator_dynamics(step_size=0)", "step_size"),
        ("replicator_dynamics(floor=1)", "floor"),
        ("hegde", "unknown learner 'hegde'; did you mean 'hedge'.*known: fictitious_play"),
    ],
)
def test_bad_learners(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        load_learner(spec)


def test_bad_calls():
    with pytest.raises(cp.ConfigError, match="iterations is 0"):
        cp.matrix.run_learners(BIASED_RPS, cp.matrix.Hedge(), iterations=0)
    with pytest.raises(cp.ConfigError, match="too much for 3 actions"):
        cp.matrix.run_learners(BIASED_RPS, cp.matrix.ReplicatorDynamics(floor=0.5))
    with pytest.raises(cp.ConfigError, match="2 players"):
        cp.matrix.run_learners(BIASED_RPS, cp.matrix.Hedge(), initial_profile=(np.ones(3) / 3,))
