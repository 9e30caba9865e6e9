"""The loop around algorithms: when it evaluates, stops and resumes."""

from __future__ import annotations

import math

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.solve import next_ten_per_decade, next_three_per_decade


def test_evaluates_at_one_two_five(kuhn):
    result = cp.solve(kuhn, cp.algorithms.CFR(), iterations=37)
    assert [record.iteration for record in result.records] == [1, 2, 5, 10, 20, 37]
    assert result.iterations == 37
    assert result.exploitability == result.records[-1].exploitability
    assert result.exploitability == cp.exploitability(kuhn, result.policy)
    seconds = [record.seconds for record in result.records]
    assert seconds == sorted(seconds)


def test_evaluations_are_ten_per_decade():
    points = [0]
    while points[-1] < 150:
        points.append(next_ten_per_decade(points[-1]))
    small, tens = [1, 2, 3, 4, 5, 6, 8], [10, 12, 15, 20, 25, 30, 40, 50, 60, 80]
    assert points == [0, *small, *tens, 100, 120, 150]


def test_one_two_five():
    points = [0]
    while points[-1] < 5000:
        points.append(next_three_per_decade(points[-1]))
    assert points[1:] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]


def test_solving_stops_at_the_target(kuhn):
    result = cp.solve(kuhn, cp.algorithms.CFRPlus(), iterations=100_000, target=0.01)
    assert result.exploitability <= 0.01 < result.records[-2].exploitability
    assert result.iterations == 25
    assert not result.stopped


def test_going_on_equals_one_run(kuhn):
    whole = cp.solve(kuhn, cp.algorithms.DCFR(), iterations=50)
    part = cp.solve(kuhn, cp.algorithms.DCFR(), iterations=20)
    rest = cp.solve(kuhn, cp.algorithms.DCFR(), iterations=30, memory=part.memory)
    assert rest.iterations == 50
    assert [record.iteration for record in rest.records] == [50]
    assert (rest.policy.probabilities == whole.policy.probabilities).all()


def test_stop_is_asked_between_iterations(leduc):
    ticks = []
    result = cp.solve(
        leduc,
        cp.algorithms.CFR(),
        iterations=10**9,
        tick=ticks.append,
        stop=lambda: len(ticks) >= 6,
    )
    assert result.stopped
    assert result.iterations == ticks[-1]
    assert result.records[-1].iteration == result.iterations
    again = cp.solve(leduc, cp.algorithms.CFR(), iterations=result.iterations)
    assert (again.policy.probabilities == result.policy.probabilities).all()


def test_best_policy_is_the_least_exploitable(kuhn):
    class Worse:
        """Averages well and then forgets all it knew."""

        runs_on, required_extra = ("tree",), ""

        def init(self, tree, seed=0):
            return cp.algorithms.CFRPlus().init(tree)

        def step(self, tree, memory, iterations=1):
            return cp.algorithms.CFRPlus().step(tree, memory, iterations)

        def policies(self, tree, memory):
            good = cp.algorithms.CFRPlus().policies(tree, memory)["linear_average"]
            return {"average": good if memory.iteration <= 50 else cp.uniform_policy(tree)}

    result = cp.solve(kuhn, Worse(), iterations=100)
    assert result.exploitability == pytest.approx(11 / 24)
    assert cp.exploitability(kuhn, result.best_policy) == min(
        record.exploitability for record in result.records
    )
    assert cp.exploitability(kuhn, result.best_policy) < 0.01


def test_reports_are_the_records(kuhn):
    seen = []
    result = cp.solve(kuhn, cp.algorithms.CFR(), iterations=10, report=seen.append)
    assert tuple(seen) == result.records
    every = cp.solve(kuhn, cp.algorithms.CFR(), iterations=10, evaluate_at=lambda t: t + 5)
    assert [record.iteration for record in every.records] == [5, 10]


def test_exact_methods_end_the_run(kuhn):
    result = cp.solve(kuhn, cp.algorithms.SequenceFormLP(), iterations=1000)
    assert [record.iteration for record in result.records] == [1]
    assert 0.0 <= result.exploitability < 1e-12


def test_what_is_no_algorithm_is_refused(kuhn):
    message = "int lacks runs_on, required_extra, init, step, policies"
    with pytest.raises(cp.ConfigError, match=message):
        cp.solve(kuhn, 3)


@pytest.mark.parametrize("iterations", [0, -3])
def test_iterations_must_be_positive(kuhn, iterations):
    with pytest.raises(cp.ConfigError, match="must be at least 1"):
        cp.solve(kuhn, cp.algorithms.CFR(), iterations=iterations)


def test_ten_player_free_lunch():
    """Games without decisions are solved at once."""
    game = cp.games.MatrixGame(payoffs=np.zeros((3, 1, 1, 1)))
    tree = cp.build_tree(game)
    assert cp.solve(tree, cp.algorithms.CFRPlus(), iterations=3).exploitability == 0.0


def test_seconds_choose_a_number_of_iterations(kuhn):
    result = cp.solve(kuhn, cp.algorithms.CFRPlus(), seconds=0.05)
    assert result.iterations == result.planned_iterations >= 1


def test_planned_iterations_are_those_given_or_the_default(kuhn):
    assert cp.solve(kuhn, iterations=7).planned_iterations == 7
    assert cp.solve(kuhn).planned_iterations == 1000


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"seconds": 0}, "seconds is 0, must be positive and finite"),
        ({"seconds": math.inf}, "seconds is inf, must be positive and finite"),
        ({"seconds": math.nan}, "seconds is nan, must be positive and finite"),
        ({"seconds": 1e-9}, "seconds is 1e-09, too short for one iteration of CFRPlus, which"),
        ({"seconds": 1.0, "iterations": 5}, "both given"),
    ],
)
def test_wrong_seconds_are_refused(kuhn, budget, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.solve(kuhn, **budget)
