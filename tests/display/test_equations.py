"""Equations with numbers: what is written has the value that is written behind it."""

from __future__ import annotations

import math
import re

import pytest

import counterplay as cp
from counterplay.algorithms.cfr.trace import CFRTrace
from counterplay.display.equations import cfr_equations, learner_equations
from counterplay.matrix import trace_learner
from counterplay.registry import LEARNERS

ALGORITHMS = ("cfr", "cfr_plus", "dcfr", "linear_cfr", "pcfr_plus")


def evaluate(text):
    """The value of the text of a line, or None if it has words."""
    if re.search(r"[a-z]", re.sub(r"\b(max|exp)\b|\de[-+]\d", "", text)) or "..." in text:
        return None
    return eval(text, {"max": max, "exp": math.exp})


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_numbers_of_cfr_give_the_result(name):
    trace = CFRTrace("kuhn_poker", name)
    evaluated = 0
    for t in (1, 2, 5):
        for infoset in range(trace.tree.num_infosets):
            equations = cfr_equations(trace.step(t, infoset))
            assert len(equations) == 8
            for equation in equations:
                for line in equation.lines:
                    value = evaluate(line.text)
                    if value is not None:
                        evaluated += 1
                        assert value == pytest.approx(line.value, rel=2e-3, abs=2e-3), (
                            equation,
                            line,
                        )
    assert evaluated > 300


@pytest.mark.parametrize("name", LEARNERS)
def test_the_numbers_of_a_learner_give_the_result(name):
    form = cp.matrix.NormalForm([[0, -1, 1], [1, 0, -1], [-1, 1, 0]])
    trace = trace_learner(form, name, iterations=8)
    for t in range(1, 9):
        for equation in learner_equations(trace.step(t, t % 2)):
            for line in equation.lines:
                value = evaluate(line.text)
                assert value is None or value == pytest.approx(line.value, rel=2e-3, abs=2e-3)


def test_each_algorithm_has_its_own_equation_of_regrets():
    def formula(name):
        return cfr_equations(CFRTrace("kuhn_poker", name).step(2, 0))[4].formula

    assert formula("cfr") == "regret(a) = regret(a) + instant_regret(a)"
    assert formula("cfr_plus") == "regret(a) = max(regret(a) + instant_regret(a), 0)"
    assert "d = 0.7388 if positive, 0.5 if negative" in formula("dcfr")


def test_long_sums_are_shortened():
    trace = CFRTrace("leduc_poker", "cfr")
    infoset = trace.tree.find_infoset("Js:")
    text = cfr_equations(trace.step(1, infoset))[1].lines[0].text
    assert text.count("*") == 5 and "..." not in text
    lengths = [(trace.tree.infoset == i).sum() for i in range(trace.tree.num_infosets)]
    assert max(lengths) <= 6
    three = CFRTrace("kuhn_poker(players=3,num_cards=6)", "cfr")
    assert "(14 more terms)" in cfr_equations(three.step(1, 0))[0].lines[0].text
