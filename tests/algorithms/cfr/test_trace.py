"""Traces: the quantities of every update, against the plain recursion and against `solve`."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.cfr.trace import CFRTrace
from tests import reference

SCHEDULES = {  # discounts of the plain recursion, and the weight of iteration t
    "cfr": (lambda t: (1.0, 1.0, 0.0), lambda t: 1.0),
    "cfr_plus": (lambda t: (1.0, 0.0, 0.0), float),
    "dcfr": (lambda t: (t**1.5 / (t**1.5 + 1), 0.5, 0.0), lambda t: t**2.0),
    "linear_cfr": (lambda t: (t / (t + 1), t / (t + 1), 0.0), float),
}
TRACEABLE = (*SCHEDULES, "pcfr_plus", "pdcfr_plus", "cfr(alternating=false)", "cfr_hedge")


@pytest.fixture(scope="module")
def kuhn():
    return cp.build_tree("kuhn_poker")


@pytest.mark.parametrize("game", ["kuhn_poker", "kuhn_poker(players=3)"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_trace_equals_the_plain_recursion(name, game):
    """Regrets, policies and averages after each of 6 iterations, at every infoset."""
    trace = CFRTrace(game, name)
    tree = trace.tree
    plain = reference.CFR(cp.load_game(game), True, *SCHEDULES[name])
    for t in range(1, 7):
        before = {key: row.copy() for key, row in plain.policy.items()}
        plain.iterate()
        average = plain.average_policy()
        for infoset in range(0, tree.num_infosets, 3):
            step = trace.step(t, infoset)
            key = (step.player, step.key)
            if t > 1:
                np.testing.assert_allclose(step.policy, before[key], atol=1e-12)
            np.testing.assert_allclose(step.regret, plain.regret[key], atol=1e-12)
            np.testing.assert_allclose(step.next_policy, plain.policy[key], atol=1e-12)
            sums = plain.policy_sum[key] / len(step.histories)  # it adds once per history
            np.testing.assert_allclose(step.policy_sum, sums, atol=1e-12)
            np.testing.assert_allclose(step.average_policy, average[key], atol=1e-12)


@pytest.mark.parametrize("name", TRACEABLE)
def test_a_trace_has_the_bits_of_solve(name, kuhn):
    trace = CFRTrace(kuhn, name)
    trace.extend(20)
    result = cp.solve(kuhn, name, iterations=20)
    record = trace.records[-1]
    assert (record.average.probabilities == result.policy.probabilities).all()
    assert (record.policy == result.policies["current"].probabilities).all()
    assert trace.exploitability[-1] == result.exploitability


@pytest.mark.parametrize("name", TRACEABLE)
def test_the_quantities_of_a_step_satisfy_the_equations(name, kuhn):
    trace = CFRTrace(kuhn, name)
    for t in (1, 2, 7):
        for infoset in range(kuhn.num_infosets):
            step = trace.step(t, infoset)
            reach = sum(term.cf_reach for term in step.histories)
            values = sum(term.cf_reach * term.action_value for term in step.histories)
            assert step.cf_reach == pytest.approx(reach, abs=1e-14)
            np.testing.assert_allclose(step.cf_value, values, atol=1e-14)
            instant = step.cf_value - step.policy @ step.cf_value
            np.testing.assert_allclose(step.instant_regret, instant, atol=1e-14)
            regret = step.previous_regret + step.instant_regret
            positive, negative, prediction = step.discounts
            regret = np.where(regret > 0.0, positive * regret, negative * regret)
            np.testing.assert_allclose(step.regret, regret, atol=1e-14)
            if step.rule == "hedge":
                policy = reference.softmax(step.rate * step.regret)
            else:
                score = step.regret + prediction * step.instant_regret
                policy = reference.regret_matching(np.where(abs(score) > 1e-14, score, 0.0))
            np.testing.assert_allclose(step.next_policy, policy, atol=1e-10)
            added = step.weight * step.reach * step.policy
            np.testing.assert_allclose(step.policy_sum, step.previous_policy_sum + added)


def test_a_later_iteration_starts_where_the_last_ended(kuhn):
    trace = CFRTrace(kuhn, "dcfr")
    for infoset in range(kuhn.num_infosets):
        first, second = trace.step(3, infoset), trace.step(4, infoset)
        assert (second.previous_regret == first.regret).all()
        assert (second.policy == first.next_policy).all()
        assert (second.previous_policy_sum == first.policy_sum).all()


def test_players_that_alternate_respond_to_the_newest_policy(kuhn):
    """Player 1 of iteration 1 already meets player 0's second policy; not so simultaneously."""
    infoset = kuhn.find_infoset("1b")
    alternating = CFRTrace(kuhn, "cfr").step(1, infoset)
    simultaneous = CFRTrace(kuhn, "cfr(alternating=false)").step(1, infoset)
    assert simultaneous.cf_reach == pytest.approx(1 / 6)
    assert alternating.cf_reach != pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("efr", "cannot be traced"), ("mmd", "cannot be traced"), ("apcfr_plus", "cannot be traced")],
)
def test_other_algorithms_are_refused(name, reason, kuhn):
    with pytest.raises(cp.ConfigError, match=reason):
        CFRTrace(kuhn, name).step(1, 0)


def test_wrong_arguments_of_a_trace_name_the_range(kuhn):
    trace = CFRTrace(kuhn, "cfr")
    with pytest.raises(cp.ConfigError, match="must be at least 1"):
        trace.step(0, 0)
    with pytest.raises(cp.ConfigError, match="from 0 to 11"):
        trace.step(1, 12)
    with pytest.raises(cp.ConfigError, match="holds at most"):
        trace.step(trace.max_iterations + 1, 0)
    with pytest.raises(cp.ConfigError, match="perfect recall"):
        CFRTrace("goofspiel(num_cards=4,points_order=descending,forgetful=true)", "cfr")
