"""Magnetic mirror descent against known series and quantal response equilibria."""

from __future__ import annotations

import pytest
from pytest import approx

import counterplay as cp
from tests.conftest import game_tree

IN_GAME_UNITS = {"normalize_utilities": False}
MOVING = {"eta": 0.1, "temperature": 1.0, "decay_power": 0.0, "magnet_update_rate": 0.05}
MOVING |= IN_GAME_UNITS


def play(algorithm, tree, *marks):
    """NashConv of the last iterate at each of these iterations, and the last iterate."""
    memory, result = algorithm.init(tree), []
    for mark in marks:
        memory = algorithm.step(tree, memory, mark - memory.iteration)
        policy = algorithm.policies(tree, memory)["current"]
        result.append(cp.nash_conv(tree, policy))
    return result, policy


@pytest.mark.parametrize(
    ("spec", "algorithm", "series"),  # the authors' schedules
    [
        (
            "kuhn_poker",
            cp.algorithms.MMD(**IN_GAME_UNITS),
            [0.452837, 0.235641, 0.058257, 0.010119],
        ),
        ("kuhn_poker", cp.algorithms.MMD(**MOVING), [0.794672, 0.408256, 0.188250, 0.007327]),
        (
            "leduc_poker",
            cp.algorithms.MMD(temperature=5.0, **IN_GAME_UNITS),
            [3.367886, 1.440381, 0.470911],
        ),
        ("leduc_poker", cp.algorithms.MMD(**MOVING), [3.544629, 1.412518, 0.347028]),
    ],
    ids=str,
)
def test_exploitability_equals_known_series(spec, algorithm, series):
    marks = [10**power for power in range(len(series))]
    assert play(algorithm, game_tree(spec), *marks)[0] == approx(series, abs=1e-6)


@pytest.mark.parametrize(("tau", "rest"), [(0.5, 0.22482), (0.2, 0.08715)])
def test_agent_quantal_response(kuhn, tau, rest):
    algorithm = cp.algorithms.MMD(eta=tau / 10.0, temperature=tau, decay_power=0.0, **IN_GAME_UNITS)
    assert play(algorithm, kuhn, 3000)[0] == approx([rest], abs=1e-5)


def test_reduced_normal_form_quantal_response(kuhn):
    """Gambit's logit equilibrium of Kuhn poker at temperature 0.1, as OpenSpiel gives it."""
    algorithm = cp.algorithms.MMD(
        eta=0.05, temperature=0.1, decay_power=0.0, dilated=True, **IN_GAME_UNITS
    )
    (result,), policy = play(algorithm, kuhn, 6000)
    assert result == approx(0.207388, abs=1e-6)
    bets = {"0": 0.246358, "1": 0.296902, "2": 0.524532, "0pb": 0.141556, "1pb": 0.635767}
    bets |= {"2pb": 0.972852, "0p": 0.349946, "1p": 0.365841, "2p": 0.715615}
    bets |= {"0b": 0.202772, "1b": 0.588452, "2b": 0.937982}
    assert {key: row["bet"] for _, key, row in policy.items()} == approx(bets, abs=1e-6)


@pytest.mark.parametrize("players", [2, 3])
def test_without_a_temperature_it_is_hedge_on_q(players):
    tree = game_tree(f"kuhn_poker(players={players})")
    algorithm = cp.algorithms.MMD(eta=0.3, temperature=0.0, decay_power=0.0, **IN_GAME_UNITS)
    memory = algorithm.step(tree, algorithm.init(tree), 2)
    expected = cp.uniform_policy(tree)
    for _ in range(2):
        q = cp.infoset_values(tree, expected).action_value
        weights = expected.probabilities * 2.718281828459045 ** (0.3 * q)
        parts = [weights[tree.offset[i] : tree.offset[i + 1]] for i in range(tree.num_infosets)]
        expected = cp.Policy(tree, [w for part in parts for w in part / part.sum()])
    assert memory.policy == approx(expected.probabilities, abs=1e-12)
