"""Traces of learners, against their definitions and against `run_learners`."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.matrix import NormalForm, run_learners, trace_learner
from counterplay.matrix.learning import near_uniform_profile
from counterplay.registry import LEARNERS

ROCK_PAPER_SCISSORS = NormalForm([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
CHICKEN = NormalForm([[[0, 7], [2, 6]], [[0, 2], [7, 6]]])


@pytest.mark.parametrize("form", [ROCK_PAPER_SCISSORS, CHICKEN])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_trace_has_the_bits_of_the_learner(name, form):
    trace = trace_learner(form, name, iterations=30)
    result = run_learners(
        form,
        cp.matrix.load_learner(name),
        iterations=30,
        initial_profile=near_uniform_profile(form),
    )
    for player in range(2):
        step = trace.step(30, player)
        assert (step.average == result.average_profile[player]).all()
        assert (step.next_mixture == result.current_profile[player]).all()


@pytest.mark.parametrize("form", [ROCK_PAPER_SCISSORS, CHICKEN])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_step_satisfies_the_definition_of_its_learner(name, form):
    trace = trace_learner(form, name, iterations=12)
    total = [np.zeros(2 if form is CHICKEN else 3) for _ in range(2)]
    for t in range(1, 13):
        for player in range(2):
            step = trace.step(t, player)
            table = np.moveaxis(form.utility[player], player, 0)
            values = table @ step.others_mixtures[0]
            np.testing.assert_allclose(step.action_value, values)
            total[player] += values
            np.testing.assert_allclose(step.value_sum, total[player], atol=1e-12)
            gain = values - step.mixture @ values
            if name.startswith("regret_matching"):
                regret = step.previous_regret + gain
                regret = np.maximum(regret, 0.0) if name.endswith("plus") else regret
                np.testing.assert_allclose(step.regret, regret, atol=1e-12)
                weight = np.maximum(regret, 0.0)
                expected = weight / weight.sum() if weight.sum() > 0 else step.initial_mixture
            elif name == "fictitious_play":
                is_best = total[player] >= total[player].max() - 1e-12
                expected = np.eye(values.size)[int(is_best.argmax())]
            elif name == "hedge":
                weight = step.initial_mixture * np.exp(step.step_size * total[player])
                expected = weight / weight.sum()
            else:
                expected = step.mixture * (1.0 + step.step_size * gain)
            np.testing.assert_allclose(step.next_mixture, expected, atol=1e-10)


def test_the_initial_profile_is_played_first():
    start = (np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    trace = trace_learner(ROCK_PAPER_SCISSORS, "fictitious_play", initial_profile=start)
    assert trace.step(1, 0).mixture.tolist() == [1, 0, 0]
    assert trace.step(1, 0).next_mixture.tolist() == [0, 0, 1]  # scissors beats paper


def test_wrong_arguments_name_the_range():
    with pytest.raises(cp.ConfigError, match="from 1 to 10,000"):
        trace_learner(CHICKEN, "hedge", iterations=0)
    trace = trace_learner(CHICKEN, "hedge", iterations=3)
    with pytest.raises(cp.ConfigError, match="from 1 to 3"):
        trace.step(4)
    with pytest.raises(cp.ConfigError, match="from 0 to 1"):
        trace.step(1, 2)
