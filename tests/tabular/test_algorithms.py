"""The contract that every algorithm of the registry keeps."""

from __future__ import annotations

import copy
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.registry import ALGORITHMS, find_class, load_algorithm, spec_of
from tests.conftest import answer, built

CLASSES = {name: find_class(ALGORITHMS, name) for name in ALGORITHMS}
DEEP = {name for name, cls in CLASSES.items() if cls.needs == "deep"}
ONE_SIDED = {"online_outcome_sampling"}  # one player learns, the others are fixed
SAMPLED = {name for name, cls in CLASSES.items() if cls.runs_on == ("tree", "rules")} - ONE_SIDED
REFUSALS = {  # by algorithm: what it says of players who are many, and of those who forget
    "sequence_form_lp": ("needs a two-player zero-sum game", "needs perfect recall"),
    "mmd": (None, "needs perfect recall"),
}


@pytest.fixture(params=sorted(ALGORITHMS))
def algorithm(request):
    return load_algorithm(request.param)


@pytest.fixture(params=sorted(set(ALGORITHMS) - DEEP - ONE_SIDED))
def tabular(request):
    return load_algorithm(request.param)


@pytest.fixture(params=sorted(set(ALGORITHMS) - ONE_SIDED))
def solver(request):
    return load_algorithm(request.param)


def limits(algorithm):
    """Iterations on Kuhn and the exploitability after them; iterations on larger games and what
    part of uniform play's exploitability is left then.
    """
    name = spec_of(algorithm).split("(")[0]
    special = {
        "chance_sampling": ((300_000, 1e-2), (30_000, 0.15)),
        "xfp": ((10_000, 3e-3), (300, 0.1)),
        "fsp": ((500_000, 5e-2), (250_000, 0.4)),
        "table_lookup_fsp": ((500_000, 5e-2), (250_000, 0.4)),
        "batch_fsp": ((5_000, 5e-2), (2_500, 0.4)),
        **dict.fromkeys(("sd_cfr", "deep_cfr"), ((150, 3e-2), (150, 0.2))),
        **dict.fromkeys(("dream", "escher"), ((40, 3e-2), (40, 0.2))),
        **dict.fromkeys(("vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"), ((40, 3e-2), (40, 0.2))),
    }
    if name in SAMPLED - special.keys():
        return (300_000, 1e-2), (500_000, 0.15)
    return special.get(name, ((10_000, 5e-2 if name in DEEP else 2e-3), (300, 0.1)))


def same(memory, other):
    """Whether two memories are equal, array by array, bit by bit."""
    if is_dataclass(memory):
        return all(same(getattr(memory, f.name), getattr(other, f.name)) for f in fields(memory))
    if isinstance(memory, list | tuple):
        return len(memory) == len(other) and all(map(same, memory, other))
    return np.array_equal(memory, other)


def test_solves_kuhn(solver, kuhn):
    (iterations, error), _ = limits(solver)
    result = cp.solve(kuhn, solver, iterations=iterations)
    assert cp.exploitability(kuhn, result.policy) < error  # uniform play: 11/24
    assert cp.expected_values(kuhn, result.policy)[0] == approx(-1 / 18, abs=error)


def test_same_seed_same_bits(algorithm, kuhn):
    first = algorithm.step(kuhn, algorithm.init(kuhn, seed=1), 5)
    second = algorithm.step(kuhn, algorithm.init(kuhn, seed=1), 5)
    assert same(first, second)


def test_resumed_equals_uninterrupted(algorithm, kuhn):
    whole = algorithm.step(kuhn, algorithm.init(kuhn), 9)
    part = algorithm.step(kuhn, algorithm.init(kuhn), 4)
    stored = {field.name: copy.deepcopy(getattr(part, field.name)) for field in fields(part)}
    resumed = type(part)(**stored)
    for _ in range(5):
        resumed = algorithm.step(kuhn, resumed)
    assert whole.iteration == resumed.iteration == 9
    assert same(whole, resumed)


def test_policy_is_a_copy(algorithm, kuhn):
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 3)
    before = answer(algorithm, kuhn, memory)
    kept = before.probabilities.copy()
    algorithm.step(kuhn, memory, 3)
    assert (before.probabilities == kept).all()


def test_the_first_policy_is_uniform(algorithm, kuhn):
    """Before the first iteration there is no average yet."""
    policy = answer(algorithm, kuhn, algorithm.init(kuhn))
    assert (policy.probabilities == 0.5).all()


def test_spec_loads_an_equal_algorithm(algorithm):
    assert load_algorithm(spec_of(algorithm)) == algorithm
    assert spec_of(load_algorithm("dcfr(alpha=2,beta=-inf)")) == "dcfr(alpha=2,beta=-inf)"


def test_keeps_the_contract(algorithm, kuhn):
    assert set(algorithm.runs_on) <= {"tree", "sequences", "rules"} and algorithm.runs_on
    assert algorithm.needs in ("", "deep")
    memory = algorithm.init(kuhn)
    assert memory.iteration == 0 and not memory.finished
    policies = algorithm.policies(kuhn, memory)
    assert policies and all(isinstance(policy, cp.Policy) for policy in policies.values())


def test_is_documented(algorithm):
    assert len(type(algorithm).__doc__) > 200


@pytest.mark.parametrize("spec", ["kuhn_poker(players=3)", "goofspiel(forgetful=true)"])
def test_runs_where_it_can(tabular, spec):
    tree = built(spec)
    name = spec_of(tabular).split("(")[0]
    refusal = REFUSALS.get(name, (None, None))["forgetful" in spec]
    if refusal:
        with pytest.raises(cp.ConfigError, match=refusal):
            tabular.init(tree)
        return
    before = cp.exploitability(tree, cp.uniform_policy(tree))
    _, (iterations, rest) = limits(tabular)
    result = cp.solve(tree, tabular, iterations=iterations)
    assert result.exploitability < rest * before


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cfr_plus(delay=-1)", "delay is -1, must be at least 0"),
        ("cfr_hedge(eta=0)", "eta is 0, must be positive"),
        ("cfr_hedge(decay=2)", "decay is 2, must be from 0 to 1"),
        ("xfp(power=-1)", "power is -1, must be at least 0"),
        ("fsp(n=-1)", "n is -1, must be at least 0"),
        ("batch_fsp(m=0)", "m is 0, must be at least 1"),
        ("table_lookup_fsp(replays=0)", "replays is 0, must be at least 1"),
        ("batch_fsp(capacity=0)", "capacity is 0, must be at least 1"),
        ("fsp(temperature=0)", "temperature is 0, must be positive"),
        ("fsp(rate=2)", "rate is 2, must be above 0 and at most 1"),
        ("table_lookup_fsp(cooling=-1)", "cooling is -1, must be at least 0"),
        ("batch_fsp(temperature=inf)", "temperature is inf, must be positive"),
        ("cfr_plus(dely=1)", "no parameter 'dely'; did you mean 'delay'"),
        ("cfr(alternating=3)", "alternating is 3, must be of type bool"),
        ("cfr+", "cannot read algorithm"),
        ("cfr_pluss", "did you mean 'cfr_plus'"),
        ("cfr(", "cannot read algorithm"),
        ("cfr(1)", "cannot read the parameters"),
        ("cfr(alternating=__import__('os'))", "cannot read the parameters"),
    ],
)
def test_bad_parameters(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        load_algorithm(spec)
