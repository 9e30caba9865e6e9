"""Schedules that span a run: set by `solve` and by configs, kept if the user sets them."""

from __future__ import annotations

import math

import pytest

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common.schedule import ScheduleConfig  # noqa: E402
from counterplay.core.solve import default_iterations, with_schedule  # noqa: E402
from counterplay.experiment.config import load_config  # noqa: E402
from counterplay.registry import ALGORITHMS, load_algorithm  # noqa: E402

SCHEDULED = [name for name in ALGORITHMS if isinstance(load_algorithm(name), ScheduleConfig)]


def test_gradients_fictitious_play_and_the_league_have_schedules():
    assert {"ppo", "r_nad", "neurd", "nfsp", "nfsp_ppo", "nfsp_sac", "league"} <= set(SCHEDULED)


@pytest.mark.parametrize("name", SCHEDULED)
def test_schedule_spans_the_budget_unless_it_is_set(name):
    algorithm = load_algorithm(name)
    assert algorithm.num_schedule_iterations == default_iterations(algorithm)
    assert with_schedule(algorithm, 123).num_schedule_iterations == 123
    assert with_schedule(algorithm).num_schedule_iterations == default_iterations(algorithm)
    own = load_algorithm(name, schedule_iterations=77)
    assert with_schedule(own, 123) == own


def test_schedule_of_a_run_spans_its_steps():
    content = {"name": "run", "algorithm": "ppo", "game": "kuhn_poker", "spec": {"max_steps": 50}}
    assert load_config(content).algorithm.schedule_iterations == 50
    content["spec"]["schedule_iterations"] = 9
    assert load_config(content).algorithm.schedule_iterations == 9
    stored = load_config(load_config(content).to_json(), {"max_steps": 500})
    assert stored.algorithm.schedule_iterations == 9


def test_temperature_falls_to_its_end_within_the_schedule():
    algorithm = cp.algorithms.DeepMMD(temperature=0.4, temperature_end=0.1, schedule_iterations=100)
    temperatures = [float(algorithm.temperature_at(t)) for t in (0, 50, 100, 1000)]
    assert temperatures == pytest.approx([0.4, 0.2, 0.1, 0.1])


def test_fewer_episodes_end_at_a_higher_temperature():
    long, short = (
        cp.algorithms.DeepMMD(num_episodes=1000, schedule_iterations=count)
        for count in (16_000, 2_000)
    )
    assert short.last_temperature == pytest.approx(2.0 * long.last_temperature)
    tiny = cp.algorithms.DeepMMD(num_episodes=1, schedule_iterations=1)
    assert tiny.last_temperature == tiny.temperature
    assert not math.isnan(float(tiny.temperature_at(1)))


def test_magnet_and_snapshots_follow_the_schedule():
    assert cp.algorithms.RNaD(schedule_iterations=600).magnet_interval == 300
    assert cp.algorithms.RNaD(magnet_update_every=7).magnet_interval == 7
    assert cp.algorithms.League(schedule_iterations=600).snapshot_interval == 30
    assert cp.algorithms.League(schedule_iterations=3).snapshot_interval == 1


def test_magnet_copies_the_averaged_weights(kuhn):
    """At the copy the magnet equals `smoothed`, not the last iterate."""
    algorithm = cp.algorithms.RNaD(
        hidden_sizes=(8,), num_episodes=16, magnet_update_every=6, schedule_iterations=50
    )
    state = algorithm.step(kuhn, algorithm.init(kuhn), 6).state
    latest = jax.tree.map(lambda array: array[1], state.magnet)
    for copy, average in zip(
        jax.tree.leaves(latest), jax.tree.leaves(state.ema_params), strict=True
    ):
        assert copy == pytest.approx(average)
    weights = jax.tree.leaves(state.actor.params)[0]
    assert jax.tree.leaves(latest)[0] != pytest.approx(weights)
