"""Known values of spots, locks, isomorphism, storage in 16 bits, and refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemArena, HoldemPolicy
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from tests.arenas.holdem.spots import all_but, both, tree_of

FULL = ("random", "random")
NONE = (both(), both(), both())


def uniform(arena):
    empty = np.zeros(arena.num_sequences)
    return HoldemPolicy(arena, empty, empty[:0])


@pytest.mark.parametrize("board", ["Td9d6h", "Td9d6hQc", "Td9d6hQc7s"])
def test_river_bet_of_full_ranges(board):
    spot = Spot(board, FULL, 60, (970, 970), (both(), both(), (both("50%")[0], both()[1])))
    judgement = cp.judge(tree_of(spot), uniform(tree_of(spot)))
    np.testing.assert_allclose(judgement.values, [37.5, 22.5], atol=1e-9)


@pytest.mark.parametrize(
    ("board", "ranges", "rake", "values"),
    [
        ("Td9d6h", FULL, 0.0, (30.0, 30.0)),
        ("AcAdKh", ("AA", "KK-22,K9-K2,Q8-Q2,J8-J2,T8-T2,92+,82+,72+,62+"), 0.0, (60.0, 0.0)),
        ("AcAdKh", ("AA", "KK-22,K9-K2,Q8-Q2,J8-J2,T8-T2,92+,82+,72+,62+"), 0.05, (57.0, 0.0)),
        ("2c6dTh", ("AA", "AA"), 0.0, (30.0, 30.0)),
        ("2c6dTh", ("AA", "AA"), 0.05, (28.5, 28.5)),
    ],
)
def test_no_bets(board, ranges, rake, values):
    arena = tree_of(Spot(board, ranges, 60, (970, 970), NONE, rake=rake, rake_cap=10.0))
    judgement = cp.judge(arena, uniform(arena))
    np.testing.assert_allclose(judgement.values, values, atol=1e-9)
    assert judgement.exploitability == pytest.approx(0.0, abs=1e-9)


ALL_IN = Spot("2s3h4d6c7c", ("AsAh,QsQh", "KsKh"), 20, (10, 10), (both(), both(), both("a")))
ACES, QUEENS = 1, 0  # by card


def call_node(arena):
    return next(
        i
        for i, node in enumerate(arena.betting.nodes)
        if node.kind == 1 and node.actions == ("fold", "call")
    )


@pytest.mark.parametrize(
    ("calls", "queens", "aces", "kings"), [(0.75, 0.0, 27.5, 6.25), (0.5, 5.0, 25.0, 5.0)]
)
def test_locked_calls(calls, queens, aces, kings):
    arena = SpotArena(ALL_IN, "float64")
    arena.lock(call_node(arena), 0, np.array([[1.0 - calls], [calls]]))
    result = cp.solve(arena, cp.algorithms.DCFR(), iterations=1000)
    judgement = cp.judge(arena, result.policy)
    assert judgement.values[1] == pytest.approx(kings, abs=0.01)
    assert judgement.values[0] == pytest.approx((queens + aces) / 2, abs=0.01)
    assert judgement.exploitability < 0.01
    assert result.policy.probabilities_at(call_node(arena), 0)[:, 0] == pytest.approx(
        [1 - calls, calls]
    )


def test_unlocked_again():
    arena = SpotArena(ALL_IN, "float64")
    arena.lock(call_node(arena), 0, np.array([[1.0], [0.0]]))
    arena.clear_locks()
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=3000).policy
    bets = policy.probabilities_at(0, 0)[1]
    assert bets[ACES] == pytest.approx(3.0 * bets[QUEENS], abs=0.03)
    assert policy.probabilities_at(call_node(arena), 0)[1, 0] == pytest.approx(2 / 3, abs=0.02)
    assert cp.judge(arena, policy).values[0] == pytest.approx(40 / 3, abs=0.02)


def test_locks_treat_suits_alike():
    arena = SpotArena(Spot("QsJh2h", ("AK,99", "KK,AQ"), 10, (20, 20), (both("a"),) * 3))
    with pytest.raises(cp.ConfigError, match="isomorphism=False"):
        arena.lock(0, 0, np.random.default_rng(0).random((2, arena.hands[0].size)))
    with pytest.raises(cp.ConfigError, match="numbers"):
        arena.lock(0, 0, np.ones((2, 3)))


TURN = Spot(
    "2c3d4h3s", ("44,22,32,43", "44,22:0.5,43,32"), 20, (50, 50),
    (both(), both("60% a", "60%"), both("50%", "a")), dead=all_but("2c3c4c2d3d4d2h3h4h2s3s4s"),
)  # fmt: skip
FLOP = Spot("3c4c2d", ("44,43,32", "44:0.5,22,43s"), 10, (20, 20), (both("e"),) * 3, dead=TURN.dead)


@pytest.mark.parametrize("spot", [TURN, FLOP], ids=["turn", "flop"])
def test_isomorphic_boards_change_nothing(spot):
    folded, whole = SpotArena(spot, "float64"), SpotArena(spot, "float64", isomorphism=False)
    assert sum(folded.boards.level_sizes) < sum(whole.boards.level_sizes)
    for iterations in (1, 7):
        result = [
            cp.solve(arena, cp.algorithms.DCFR(), iterations=iterations)
            for arena in (folded, whole)
        ]
        one, other = (cp.judge(r.policy.arena, r.policy) for r in result)
        np.testing.assert_allclose(one.values, other.values, atol=1e-9)
        np.testing.assert_allclose(one.best_values, other.best_values, atol=1e-9)


@pytest.mark.parametrize("is_locked", [False, True])
def test_one_walk_judges_as_two_do(is_locked):
    arena = SpotArena(replace(FLOP, rake=0.05, rake_cap=2.0), "float64")
    if is_locked:
        lock = np.ones((len(arena.betting.nodes[0].actions), arena.hands[0].size))
        arena.lock(0, 0, lock)
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=7).policy
    tables = arena.policy_tables(policy)
    for player in (0, 1):
        expected = HoldemArena.judge_player(arena, player, tables)
        assert arena.judge_player(player, tables) == pytest.approx(expected, rel=1e-12)


def test_precisions_agree():
    result = {}
    for precision in ("float64", "float32", "int16"):
        arena = SpotArena(TURN, precision)
        policy = cp.solve(arena, cp.algorithms.DCFR(gamma=3, restart_base=4), iterations=150).policy
        result[precision] = cp.judge(arena, policy).exploitability
    assert result["float32"] == pytest.approx(result["float64"], rel=0.1, abs=1e-3)
    assert result["int16"] == pytest.approx(result["float64"], rel=0.1, abs=1e-3)


@pytest.mark.parametrize(
    "name",
    [
        *("cfr", "cfr_plus", "linear_cfr", "dcfr", "pcfr_plus", "pdcfr_plus"),
        *("hs_dcfr(horizon=200)", "hs_pcfr_plus(horizon=200)", "sapcfr_plus"),
    ],
)
def test_family_converges(name):
    arena = tree_of(TURN)
    result = cp.solve(arena, cp.load_algorithm(name), iterations=200)
    assert result.exploitability < 0.02 * result.records[0].exploitability
    assert cp.judge(arena, result.policies["current"]).values.sum() == pytest.approx(20.0)


def test_other_algorithms_are_refused():
    with pytest.raises(cp.ConfigError, match="runs on sequences"):
        cp.solve(tree_of(TURN), cp.algorithms.CFRBR())
    with pytest.raises(cp.ConfigError, match="in turn"):
        cp.solve(tree_of(TURN), cp.algorithms.CFR(alternating=False), iterations=1)


def test_too_large():
    sizes = (both("50% 100% a", "60% a"),) * 3
    spot = Spot("Td9d6h", FULL, 10, (10_000, 10_000), sizes, raise_cap=3)
    with pytest.raises(cp.ConfigError, match=r"GiB where .* free: offer fewer bet sizes"):
        cp.solve(SpotArena(spot), cp.algorithms.DCFR())


def test_threads_do_not_matter():
    policies = []
    for threads in (1, 2):
        cp.set_num_threads(threads)
        result = cp.solve(SpotArena(FLOP, "float64"), cp.algorithms.DCFR(), iterations=3)
        policies.append(result.memory.regret)
    cp.set_num_threads(None)
    np.testing.assert_array_equal(*policies)
