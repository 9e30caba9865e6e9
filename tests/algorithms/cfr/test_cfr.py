"""The CFR family against textbook recursions, its regret bounds, threads and rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.arenas.tree import builder
from counterplay.core.policy import policy_from_weights
from counterplay.kernels.runtime import threads
from counterplay.kernels.sequence_form import sweeps
from tests import reference
from tests.conftest import game_tree, main_policy
from tests.random_games import random_games

SCHEDULES = {  # discounts (positive, negative, prediction) and weight of iteration t
    "cfr": (lambda t: (1.0, 1.0, 0.0), lambda t: 1.0),
    "cfr(alternating=false)": (lambda t: (1.0, 1.0, 0.0), lambda t: 1.0),
    "cfr_plus": (lambda t: (1.0, 0.0, 0.0), lambda t: t),
    "cfr_plus(delay=2)": (lambda t: (1.0, 0.0, 0.0), lambda t: max(t - 2, 0)),
    "linear_cfr": (lambda t: (t / (t + 1), t / (t + 1), 0.0), lambda t: t),
    "dcfr": (lambda t: (t**1.5 / (t**1.5 + 1), 0.5, 0.0), lambda t: t**2),
    "dcfr(alpha=inf,beta=-inf,gamma=2)": (lambda t: (1.0, 0.0, 0.0), lambda t: t**2),
    "pcfr_plus": (lambda t: (1.0, 0.0, 1.0), lambda t: t**2),
    "pdcfr_plus": (lambda t: (t**2.3 / (t**2.3 + 1), 0.0, 1.0), lambda t: t**5),
}


def flat(tree, table):
    rows = [
        table[int(player), key]
        for player, key in zip(tree.infoset_player, tree.infoset_keys, strict=True)
    ]
    return np.concatenate(rows) if rows else np.zeros(0)


def assert_equal_to_twin(game, algorithm, twin, iterations=4):
    tree = cp.build_tree(game)
    memory = algorithm.init(tree)
    for _ in range(iterations):
        memory = algorithm.step(tree, memory)
        twin.iterate()
    if tree.num_infosets:
        average = main_policy(algorithm, tree, memory).probabilities
        assert average == approx(flat(tree, twin.average_policy()), abs=1e-9)
        current = algorithm.policies(tree, memory)["current"].probabilities
        assert current == approx(flat(tree, twin.policy), abs=1e-9)
        assert memory.regret[:-1] == approx(flat(tree, twin.regret), abs=1e-9)


@pytest.mark.parametrize("name", SCHEDULES)
@settings(max_examples=25)
@given(random_games())
def test_equal_to_the_textbook_recursion(name, game):
    """Any number of players, zero-sum or not, with every schedule of the family."""
    discount, average = SCHEDULES[name]
    twin = reference.CFR(game, "alternating=false" not in name, discount, average)
    assert_equal_to_twin(game, cp.load_algorithm(name), twin)


@pytest.mark.parametrize("alternating", [True, False])
@settings(max_examples=25)
@given(random_games(), st.floats(0.1, 5.0))
def test_hedge_equal_to_the_textbook_recursion(alternating, game, eta):
    twin = reference.CFR(
        game,
        alternating,
        lambda t: (1.0, 1.0, 0.0),
        lambda t: 1.0,
        learner=lambda gains: reference.softmax(eta * gains),
    )
    algorithm = cp.algorithms.CFRHedge(
        eta=eta, decay_power=0.0, alternating=alternating, normalize_utilities=False
    )
    assert_equal_to_twin(game, algorithm, twin)


@pytest.mark.parametrize("spec", ["goofspiel(num_cards=4,points_order=descending,forgetful=true)"])
def test_imperfect_recall_equal_to_the_textbook_recursion(spec):
    """Averages add up over the histories of a merged infoset, not over a representative."""
    game = cp.load_game(spec)
    assert not cp.build_tree(game).has_perfect_recall
    for name in ("cfr", "cfr_plus", "cfr(alternating=false)"):
        discount, average = SCHEDULES[name]
        twin = reference.CFR(game, "alternating=false" not in name, discount, average)
        assert_equal_to_twin(game, cp.load_algorithm(name), twin, iterations=6)


def overall_regret(tree, algorithm, iterations):
    """Every player's regret for the best fixed policy in hindsight, and the final memory."""
    form = tree.form
    memory = algorithm.init(tree)
    totals = np.zeros((tree.num_players, memory.cf_value.size))
    earned = np.zeros(tree.num_players)
    for _ in range(iterations):
        for player in range(tree.num_players):
            rows = form.player_row[player : player + 2]
            values = np.zeros_like(memory.cf_value)
            sweeps.payoff(form, *rows, memory.reach, values)
            totals[player] += values
            earned[player] += values @ memory.reach
        memory = algorithm.step(tree, memory)
    regrets = []
    for player in range(tree.num_players):
        first, last = form.player_infoset[player : player + 2]
        nothing, response = np.zeros((2, memory.cf_value.size))
        sweeps.backward_best(form, first, last, nothing, totals[player], response)
        regrets.append(totals[player, -1] - earned[player])
    return np.array(regrets), memory


@settings(max_examples=40)
@given(random_games(), st.integers(1, 60))
def test_regret_bounds(game, iterations):
    """Overall regret <= sum of positive immediate ones <= D |I| sqrt(|A| T)."""
    tree = cp.build_tree(game)
    if not tree.num_infosets:
        return
    regrets, memory = overall_regret(tree, cp.algorithms.CFR(alternating=False), iterations)
    immediate = np.maximum.reduceat(memory.regret[:-1], tree.offset[:-1])
    spread = np.ptp(tree.utility, axis=0)
    for player in range(tree.num_players):
        mine = tree.infoset_player == player
        total = np.maximum(immediate[mine], 0.0).sum()
        assert regrets[player] <= total + 1e-9
        bound = spread[player] * np.sqrt(np.diff(tree.offset)[mine] * iterations)
        assert (immediate[mine] <= bound + 1e-9).all()
        actions = np.diff(tree.offset)[mine].max(initial=0)
        assert regrets[player] <= spread[player] * mine.sum() * np.sqrt(actions * iterations) + 1e-9


@settings(max_examples=30)
@given(random_games(num_players=2, zero_sum=True), st.integers(1, 40))
def test_nash_conv_is_the_average_regret(game, iterations):
    """Two players, zero-sum, simultaneous updates: the two are the same number."""
    tree = cp.build_tree(game)
    algorithm = cp.algorithms.CFR(alternating=False)
    regrets, memory = overall_regret(tree, algorithm, iterations)
    result = cp.nash_conv(tree, main_policy(algorithm, tree, memory))
    assert result == approx(regrets.sum() / iterations, abs=1e-9)


@settings(max_examples=30)
@given(random_games(num_players=2, zero_sum=True))
def test_cfr_plus_finds_the_value_of_the_linear_programme(game):
    tree = cp.build_tree(game)
    exact = cp.algorithms.solve_sequence_form_lp(tree)
    assert cp.nash_conv(tree, exact.policy) == approx(0.0, abs=1e-8)
    result = cp.solve(tree, cp.algorithms.CFRPlus(), iterations=2000)
    assert result.exploitability < 5e-3
    assert cp.expected_values(tree, result.policy)[0] == approx(exact.value, abs=1e-2)


@pytest.mark.parametrize(
    "algorithm",
    ["cfr", "cfr(alternating=false)", "pcfr_plus", "cfr_hedge", "cfr_hedge(alternating=false)"],
)
@pytest.mark.parametrize("spec", ["leduc_poker", "kuhn_poker(players=4)"])
def test_threads_change_no_bit(algorithm, spec, monkeypatch):
    one = cp.load_algorithm(algorithm)
    tree = game_tree(spec)
    alone = one.step(tree, one.init(tree), 20)
    monkeypatch.setattr(builder, "MIN_INFOSETS_PER_BLOCK", 16)
    cut = cp.build_tree(cp.load_game(spec))
    monkeypatch.setattr("counterplay.arenas.tree.arena.MIN_NODES_FOR_THREADS", 0)
    monkeypatch.setattr(threads, "_num_threads", 3)
    assert max(len(parts) for parts in cut.levels(0, 3)) > 1
    together = one.step(cut, one.init(cut), 20)
    by_key = {key: i for i, key in enumerate(tree.infoset_keys)}
    for infoset, key in enumerate(cut.infoset_keys):  # cutting reorders infosets
        here = slice(*cut.offset[infoset : infoset + 2])
        there = slice(*tree.offset[by_key[key] : by_key[key] + 2])
        assert together.policy[here] == approx(alone.policy[there], abs=1e-9)
    monkeypatch.setattr(threads, "_num_threads", 1)
    single = one.step(cut, one.init(cut), 20)
    assert (single.policy == together.policy).all()
    assert (single.policy_sum == together.policy_sum).all()


def test_set_num_threads():
    cp.set_num_threads(3)
    assert cp.num_threads() == 3
    cp.set_num_threads(None)
    assert cp.num_threads() >= 1
    with pytest.raises(cp.ConfigError, match="must be at least 1"):
        cp.set_num_threads(0)


def test_ties_are_not_broken_by_rounding():
    """In a symmetric game no action is better by its last bit: tied infosets stay uniform."""
    tree = game_tree("goofspiel(num_cards=3)")
    algorithm = cp.algorithms.CFR()
    memory = algorithm.step(tree, algorithm.init(tree))
    twin = reference.CFR(tree.game, True, *SCHEDULES["cfr"])
    twin.iterate()
    exact = flat(tree, twin.regret)
    assert (memory.regret[:-1] == 0.0).sum() >= (exact == 0.0).sum() > 0
    nudged = algorithm.init(tree)
    nudged.regret[:] = 1e-16
    algorithm.step(tree, nudged)
    assert nudged.policy == approx(memory.policy, abs=1e-12)


def test_averages_by_name(kuhn):
    algorithm = cp.algorithms.CFR()
    memory = algorithm.init(kuhn)
    plain, linear = np.zeros(24), np.zeros(24)
    for t in range(1, 6):
        plain += memory.reach[:-1]
        linear += t * memory.reach[:-1]
        memory = algorithm.step(kuhn, memory)
    for got, expected in (
        (algorithm.policies(kuhn, memory)["average"], plain),
        (algorithm.policies(kuhn, memory)["linear_average"], linear),
    ):
        assert got.probabilities == approx(policy_from_weights(kuhn, expected).probabilities)
    assert (algorithm.policies(kuhn, memory)["current"].probabilities == memory.policy[:-1]).all()
    assert main_policy(algorithm, kuhn, memory).probabilities == approx(
        algorithm.policies(kuhn, memory)["average"].probabilities
    )
