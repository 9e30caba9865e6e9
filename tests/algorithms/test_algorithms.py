"""The contract that every algorithm of the registry keeps."""

from __future__ import annotations

import copy
import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.registry import ALGORITHMS, get_spec, import_registered, load_algorithm
from tests.algorithms import contract
from tests.conftest import game_tree, main_policy

CLASSES = {name: import_registered(ALGORITHMS, name) for name in ALGORITHMS}
DEEP = {name for name, cls in CLASSES.items() if cls.required_extra == "deep"}
WITHOUT_EQUATION = {"league"}  # its updates are those of its learners
WITHOUT_PAPER = {"deep_hedge", "nfsp_ppo", "nfsp_sac"}  # not published elsewhere
ON_VECTORS = {name for name, cls in CLASSES.items() if cls.runs_on == ("vectors",)}  # not on trees
ONE_SIDED = {"online_outcome_sampling"}  # one player learns, the others are fixed
SAMPLED = {name for name, cls in CLASSES.items() if cls.runs_on == ("tree", "rules")} - ONE_SIDED
TWO = ("needs a two-player zero-sum game", "needs perfect recall")
REFUSALS = {  # by algorithm: what it says of players who are many, and of those who forget
    **dict.fromkeys(
        ("double_oracle", "rectified_psro", "p2sro", "anytime_psro", "sp_psro", "xdo"), TWO
    ),
    "nxdo": TWO,
    "alpha_psro": ("player 2 of .* has 65,536 pure policies, over 20,000", "needs perfect recall"),
    "jpsro": (None, "needs perfect recall"),
    "psro": (None, "needs perfect recall"),
    "sequence_form_lp": TWO,
    "efr": (None, "needs perfect recall"),
    "mmd": (None, "needs perfect recall"),
    "clairvoyant_cfr": (None, "needs perfect recall"),
    "reg_cfr": (None, "needs perfect recall"),
    "rt_cfr_plus": (None, "needs perfect recall"),
    "qre": (None, "needs perfect recall"),
    "tabular_r_nad": (TWO[0], "zero-sum|perfect recall"),
}
GRADIENTS = ("ach", "deep_mmd", "neurd", "ppo", "qpg", "r_nad", "reinforce", "rmpg", "rpg")
FICTITIOUS = ("nfsp", "nfsp_ppo", "nfsp_sac")
SMALL_GRADIENT_SETTINGS = {"hidden_sizes": (16,), "schedule_iterations": 2000, "num_episodes": 500}
COOL_GRADIENT_SETTINGS = SMALL_GRADIENT_SETTINGS | {"temperature": 0.2, "temperature_end": 0.014}
SMALL_SETTINGS = dict.fromkeys(GRADIENTS, COOL_GRADIENT_SETTINGS) | {  # overrides of the defaults
    "r_nad": SMALL_GRADIENT_SETTINGS
    | {"magnet_update_every": 200, "temperature": 0.14, "temperature_end": 0.14},
    "reinforce": SMALL_GRADIENT_SETTINGS | {"temperature": 0.2, "temperature_end": 0.014},
    **{name: {"hidden_sizes": (32,), "schedule_iterations": 1_500} for name in FICTITIOUS},
    "league": {"hidden_sizes": (16,), "schedule_iterations": 800}
    | {"snapshot_every": 100, "learning_rate": 1e-2},
    "nxdo": {
        "solver": "neurd(hidden_sizes=(16,), num_episodes=500)",
        "solver_iterations": 500,
        "oracle": "dqn(hidden_sizes=(16,), num_episodes=128, batch_size=256)",
        "training_episodes": 1024,
    },
}


@pytest.fixture(params=sorted(ALGORITHMS))
def any_algorithm(request):
    """Every algorithm, with settings that make an iteration short."""
    return contract.tiny(request.param)


@pytest.fixture(params=sorted(set(ALGORITHMS) - ON_VECTORS))
def algorithm(request):
    """Every algorithm that runs on trees, with settings that make an iteration short."""
    if request.param in DEEP - {*GRADIENTS, "nxdo"}:
        return contract.tiny(request.param)
    return load_algorithm(request.param, **SMALL_SETTINGS.get(request.param, {}))


@pytest.fixture(params=sorted(set(ALGORITHMS) - DEEP - ONE_SIDED))
def tabular(request):
    return load_algorithm(request.param)


@pytest.fixture(params=sorted(set(ALGORITHMS) - ONE_SIDED - ON_VECTORS))
def solver(request):
    """Every algorithm that solves a game, with settings that suit Kuhn poker."""
    return load_algorithm(request.param, **SMALL_SETTINGS.get(request.param, {}))


def limits(algorithm):
    """Iterations on Kuhn and the exploitability after them; iterations on larger games and what
    part of uniform play's exploitability is left then.
    """
    name = get_spec(algorithm).split("(")[0]
    special = {
        "chance_sampling": ((300_000, 1e-2), (30_000, 0.15)),
        "xfp": ((10_000, 3e-3), (300, 0.1)),
        "fsp": ((500_000, 5e-2), (250_000, 0.4)),
        "table_lookup_fsp": ((500_000, 5e-2), (250_000, 0.4)),
        "batch_fsp": ((5_000, 5e-2), (2_500, 0.4)),
        "qre": ((10_000, 2e-2), (3_000, 0.3)),  # still cooling then
        "efr": ((10_000, 3e-3), (300, 0.1)),
        "reg_cfr": ((10_000, 1e-3), (4_000, 0.1)),
        "tabular_r_nad": ((2_000, 2e-3), (300, 0.1)),
        **dict.fromkeys(GRADIENTS, ((2_000, 0.1), (300, 0.1))),
        **dict.fromkeys(FICTITIOUS, ((1_500, 8e-2), (300, 0.1))),
        "league": ((800, 8e-2), (300, 0.1)),
        **dict.fromkeys(("sd_cfr", "deep_cfr"), ((150, 3e-2), (150, 0.2))),
        **dict.fromkeys(("dream", "escher"), ((40, 3e-2), (40, 0.2))),
        **dict.fromkeys(("vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"), ((40, 3e-2), (40, 0.2))),
        "rebel": ((10, 3e-2), (10, 0.2)),
        "alpha_psro": ((100, 0.13), None),  # neither of these two is after an equilibrium
        "rectified_psro": ((100, 0.08), None),
        **dict.fromkeys(("double_oracle", "p2sro", "sp_psro"), ((100, 1e-9), None)),
        "psro": ((100, 1e-9), (20, 0.05)),
        **dict.fromkeys(("anytime_psro", "jpsro"), ((100, 1e-9), (100, 1e-9))),
        "xdo": ((20, 2e-3), None),
        "nxdo": ((14, 0.06), None),
    }
    if name in SAMPLED - special.keys():
        return (300_000, 1e-2), (500_000, 0.15)
    return special.get(name, ((10_000, 5e-2 if name in DEEP else 2e-3), (300, 0.1)))


def memories_equal(memory, other):
    """Return True if two memories are equal, array by array, bit by bit."""
    if is_dataclass(memory):
        return all(
            memories_equal(getattr(memory, f.name), getattr(other, f.name)) for f in fields(memory)
        )
    if isinstance(memory, list | tuple):
        return len(memory) == len(other) and all(map(memories_equal, memory, other))
    return np.array_equal(memory, other)


def test_solves_kuhn(solver, kuhn):
    (iterations, error), _ = limits(solver)
    result = cp.solve(kuhn, solver, iterations=iterations)
    assert cp.exploitability(kuhn, result.policy) < error  # uniform play: 11/24
    assert cp.expected_values(kuhn, result.policy)[0] == approx(-1 / 18, abs=error)


def test_same_seed_same_bits(algorithm, kuhn):
    first = algorithm.step(kuhn, algorithm.init(kuhn, seed=1), 5)
    second = algorithm.step(kuhn, algorithm.init(kuhn, seed=1), 5)
    assert memories_equal(first, second)


def test_resumed_equals_uninterrupted(algorithm, kuhn):
    whole = algorithm.step(kuhn, algorithm.init(kuhn), 9)
    part = algorithm.step(kuhn, algorithm.init(kuhn), 4)
    stored = {field.name: copy.deepcopy(getattr(part, field.name)) for field in fields(part)}
    resumed = type(part)(**stored)
    for _ in range(5):
        resumed = algorithm.step(kuhn, resumed)
    assert whole.iteration == resumed.iteration == 9
    assert memories_equal(whole, resumed)


def test_policy_is_a_copy(algorithm, kuhn):
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 3)
    before = main_policy(algorithm, kuhn, memory)
    kept = before.probabilities.copy()
    algorithm.step(kuhn, memory, 3)
    assert (before.probabilities == kept).all()


def test_the_first_policy_is_uniform(algorithm, kuhn):
    """Before the first iteration there is no average yet."""
    if get_spec(algorithm).startswith("rebel"):
        pytest.skip("its policy is that of a search, which needs no training")
    policy = main_policy(algorithm, kuhn, algorithm.init(kuhn))
    assert (policy.probabilities == 0.5).all()


def test_spec_loads_an_equal_algorithm(any_algorithm):
    assert load_algorithm(get_spec(any_algorithm)) == any_algorithm
    assert get_spec(load_algorithm("dcfr(alpha=2,beta=-inf)")) == "dcfr(alpha=2,beta=-inf)"


def test_keeps_the_contract(algorithm, kuhn):
    known = {"tree", "sequences", "episodes", "rules", "vectors"}
    assert set(algorithm.runs_on) <= known and algorithm.runs_on
    assert algorithm.required_extra in ("", "deep")
    memory = algorithm.init(kuhn)
    assert memory.iteration == 0 and not memory.finished
    policies = algorithm.policies(kuhn, memory)
    assert policies
    for policy in policies.values():  # a device that correlates the players is no policy of its own
        assert isinstance(getattr(policy, "marginal_policy", policy), cp.Policy)


def test_documentation_states_the_update_and_cites_the_paper(any_algorithm):
    name, documentation = get_spec(any_algorithm).split("(")[0], type(any_algorithm).__doc__
    has_equation = re.search(r"^ {4,}\S.* = ", documentation, re.MULTILINE)
    assert bool(has_equation) == (name not in WITHOUT_EQUATION)
    has_year = re.search(r"\b(19|20)\d\d\b", documentation)
    assert bool(has_year) == (name not in WITHOUT_PAPER)


@pytest.mark.parametrize("spec", ["kuhn_poker(players=3)", "goofspiel(forgetful=true)"])
def test_runs_where_it_can(tabular, spec):
    tree = game_tree(spec)
    name = get_spec(tabular).split("(")[0]
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
        ("cfr_hedge(decay_power=2)", "decay_power is 2, must be at least 0 and at most 1"),
        ("xfp(gamma=-1)", "gamma is -1, must be at least 0"),
        ("fsp(num_self_play_episodes=-1)", "num_self_play_episodes is -1, must be at least 0"),
        ("batch_fsp(num_response_episodes=0)", "num_response_episodes is 0, must be at least 1"),
        ("table_lookup_fsp(num_replays=0)", "num_replays is 0, must be at least 1"),
        ("batch_fsp(replay_buffer_size=0)", "replay_buffer_size is 0, must be at least 1"),
        ("fsp(temperature=0)", "temperature is 0, must be positive"),
        ("fsp(learning_rate=2)", "learning_rate is 2, must be positive and at most 1"),
        ("table_lookup_fsp(temperature_decay=-1)", "temperature_decay is -1, must be at least 0"),
        ("batch_fsp(temperature=inf)", "temperature is inf, must be positive"),
        ("psro(meta_solver=nsh)", "meta_solver is 'nsh', must be one of nash.*did you mean 'nash'"),
        ("double_oracle(initial_policy=last)", "initial_policy is last, must be one of first"),
        ("psro(tolerance=2)", "tolerance is 2, must be at least 0 and below 1"),
        ("p2sro(num_active_levels=0)", "num_active_levels is 0, must be at least 1"),
        ("p2sro(step_size=0)", "step_size is 0, must be positive and at most 1"),
        ("p2sro(plateau_gain=1)", "plateau_gain is 1, must be at least 0 and below 1"),
        ("alpha_psro(oracle=guess)", "oracle is guess, must be one of preference"),
        ("alpha_psro(alpha=0)", "alpha is 0, must be positive"),
        ("jpsro(meta_solver=nash)", "meta_solver is 'nash', must be one of mgcce"),
        ("xdo(initial_threshold=0)", "initial_threshold is 0, must be positive"),
        ("xdo(check_every=0)", "check_every is 0, must be at least 1"),
        (
            "xdo(target_exploitability=1)",
            "target_exploitability is 1, must be at least 0 and below 1",
        ),
        ("xdo(solver=fsp)", "solver is fsp, must be full-width"),
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
