"""Results do not depend on units, constants, seats or the order of actions, at any scale."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from benchmarks.robustness import extreme_utilities
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import policy_from_weights
from counterplay.registry import ALGORITHMS, load_algorithm
from tests.algorithms import contract
from tests.algorithms.test_algorithms import DEEP, memories_equal
from tests.changed_games import Changed, translate_policy
from tests.conftest import game_tree, main_policy
from tests.exact import exact_judgement
from tests.random_games import RandomGame, random_games

SCALED = ["batch_fsp", "cfr_hedge", "fsp", "mmd", "table_lookup_fsp", "tabular_r_nad"]
TABULAR = sorted(set(ALGORITHMS) - DEEP)
PLAYERS = {  # take no game of one player, or only those whose players have the same units
    "sequence_form_lp",
    "tabular_r_nad",
    *(name for name, place in ALGORITHMS.items() if ".population." in place),
}
# the others divide utilities by the scale of all players together; temperatures of qre have units
FREE = sorted(set(TABULAR) - {*SCALED, "qre"} - PLAYERS)
FULL_WIDTH = ["cfr", "cfr_plus", "linear_cfr", "dcfr", "pcfr_plus", "pdcfr_plus"]
PENNIES = ((2.0, -1.0), (-1.0, 1.0))  # both play (0.4, 0.6)
exponents = st.integers(-60, 60)


def play(tree, algorithm, iterations=12):
    return main_policy(algorithm, tree, algorithm.step(tree, algorithm.init(tree, 3), iterations))


def pennies(first=1.0, second=1.0):
    rows = np.array(PENNIES)
    return cp.build_tree(cp.games.MatrixGame((first * rows, -second * rows)))


@pytest.mark.parametrize("name", FREE)
@settings(max_examples=15)
@given(random_games(), st.lists(exponents, min_size=3, max_size=3))
def test_units_of_each_player_change_no_bit(name, game, units):
    algorithm = load_algorithm(name)
    changed = Changed(game, tuple(2.0**x for x in units[: game.num_players]))
    before, after = cp.build_tree(game), cp.build_tree(changed)
    found = play(after, algorithm).probabilities
    assert found.tolist() == play(before, algorithm).probabilities.tolist()
    judged, again = (cp.judge(tree, cp.random_policy(tree)) for tree in (before, after))
    assert (again.best_values == judged.best_values * changed.factor).all()


def without_scale(algorithm, unit):
    """Return an algorithm whose parameters are in the game's units, changed along with these."""
    changes = {"normalize_utilities": False}
    if hasattr(algorithm, "eta"):
        changes["eta"] = algorithm.eta / unit
    if hasattr(algorithm, "temperature"):
        changes["temperature"] = algorithm.temperature * unit
    return replace(algorithm, **changes)


@pytest.mark.parametrize("name", SCALED)
@settings(max_examples=10)
@given(random_games(), exponents)
def test_common_units_change_no_bit(name, game, unit):
    """With the default, and in the game's units if parameters change along."""
    if name in PLAYERS:
        game = replace(game, num_players=2, zero_sum=True)
    algorithm = load_algorithm(name)
    before = cp.build_tree(game)
    after = cp.build_tree(Changed(game, (2.0**unit,) * game.num_players))
    assert after.utility_scale in (1.0, 2.0**unit * before.utility_scale)  # 1: constant utilities
    expected = play(before, algorithm).probabilities.tolist()
    assert play(after, algorithm).probabilities.tolist() == expected
    expected = play(before, without_scale(algorithm, 1.0)).probabilities.tolist()
    assert play(after, without_scale(algorithm, 2.0**unit)).probabilities.tolist() == expected


@cache
def kuhn_policies(name, factor, constant=0.0):
    """Return the policies of Kuhn poker in other units after some iterations, by name."""
    tree = cp.build_tree(Changed(cp.games.KuhnPoker(), (factor,) * 2, (constant,) * 2))
    algorithm = contract.tiny(name)
    if name == "qre":  # whose temperatures are in the game's units
        algorithm = replace(algorithm, temperature=0.01 * factor, initial_temperature=factor)
    memory = algorithm.step(tree, algorithm.init(tree, 3), 6)
    policies = algorithm.policies(tree, memory)
    for policy in policies.values():
        assert policy.arena is tree
    return {label: policy.probabilities for label, policy in policies.items()}


@pytest.mark.parametrize("name", TABULAR)
def test_units_of_kuhn_poker_change_no_bit(name):
    """Factors that are no powers of two change rounding only."""
    expected = kuhn_policies(name, 1.0)
    for factor in (2.0**-10, 2.0**10):
        for label, probabilities in kuhn_policies(name, factor).items():
            assert probabilities.tolist() == expected[label].tolist()
    for factor in (0.001, 1000.0):
        for label, probabilities in kuhn_policies(name, factor).items():
            assert probabilities == approx(expected[label], abs=1e-9)


@pytest.mark.parametrize("name", TABULAR)
def test_constant_added_to_all_utilities_changes_no_bit(name):
    """Sums with 10 are exact; sums with 0.1 are rounded, and so are the policies."""
    expected = kuhn_policies(name, 1.0)
    for label, probabilities in kuhn_policies(name, 1.0, 10.0).items():
        assert probabilities.tolist() == expected[label].tolist()
    for label, probabilities in kuhn_policies(name, 1.0, 0.1).items():
        assert probabilities == approx(expected[label], abs=1e-9)


SHIFTED = [*FULL_WIDTH, "cfr_br", "xfp", "chance_sampling", "external_sampling", "probing"]


@pytest.mark.parametrize("name", SHIFTED)
@settings(max_examples=15)
@given(random_games(), st.lists(st.integers(-9, 9), min_size=3, max_size=3), exponents)
def test_constants_change_nothing(name, game, constants, unit):
    unit = 2.0**unit
    factor = (unit,) * game.num_players
    changed = Changed(game, factor, tuple(unit * x for x in constants[: game.num_players]))
    before, after = cp.build_tree(game), cp.build_tree(changed)
    algorithm = load_algorithm(name)
    expected = play(before, algorithm).probabilities
    assert play(after, algorithm).probabilities == approx(expected, abs=1e-7)


@pytest.mark.parametrize("name", [*FULL_WIDTH, "cfr_hedge", "mmd", "mmd(dilated=true)"])
@settings(max_examples=15)
@given(random_games())
def test_order_of_actions_changes_nothing(name, game):
    changed = Changed(game, (1.0,) * game.num_players, reverse=True)
    tree, algorithm = cp.build_tree(game), load_algorithm(name)
    found = translate_policy(tree, changed, play(cp.build_tree(changed), algorithm))
    assert found == approx(play(tree, algorithm).probabilities, abs=1e-9)


AT_ONCE = ["cfr(alternating=false)", "cfr_hedge(alternating=false)", "cfr_br", "mmd", "xfp"]


@pytest.mark.parametrize("name", AT_ONCE)
@settings(max_examples=15)
@given(random_games(num_players=3), st.permutations(range(3)))
def test_seats_change_nothing(name, game, seats):
    """Players who learn at once: in turn, the first would be another."""
    changed = Changed(game, (1.0,) * 3, seats=tuple(seats))
    tree, algorithm = cp.build_tree(game), load_algorithm(name)
    found = translate_policy(tree, changed, play(cp.build_tree(changed), algorithm))
    assert found == approx(play(tree, algorithm).probabilities, abs=1e-9)


SYMMETRIC = [
    *("rock_paper_scissors", "goofspiel(num_cards=3)", "goofspiel(points_order=descending)"),
    "leduc_poker",
]


@pytest.mark.parametrize("spec", SYMMETRIC)
@pytest.mark.parametrize("name", [*FULL_WIDTH, "cfr_br", "xfp", "chance_sampling"])
def test_the_last_bit_decides_no_tie(name, spec):
    """Symmetric games are full of ties, and these factors round every utility in another way."""
    tree, algorithm = game_tree(spec), load_algorithm(name)
    expected = play(tree, algorithm, 10).probabilities
    for factor in ((0.1, 0.7), (1 / 3, 1e9 / 7)):
        changed = cp.build_tree(Changed(tree.game, factor))
        assert play(changed, algorithm, 10).probabilities == approx(expected, abs=1e-9)


@pytest.mark.parametrize("spec", SYMMETRIC)
@pytest.mark.parametrize("name", FULL_WIDTH)
def test_the_order_of_a_sum_decides_no_tie(name, spec):
    tree, algorithm = game_tree(spec), load_algorithm(name)
    changed = Changed(tree.game, (1.0, 1.0), reverse=True)
    found = translate_policy(tree, changed, play(cp.build_tree(changed), algorithm, 10))
    assert found == approx(play(tree, algorithm, 10).probabilities, abs=1e-9)


def test_chance_sampling_without_chance_is_cfr():
    """To the last tie, in a game full of them."""
    tree = game_tree("goofspiel(points_order=descending)")
    exact = play(tree, cp.algorithms.CFR(), 20).probabilities
    assert play(tree, cp.algorithms.ChanceSampling(), 20).probabilities == approx(exact, abs=1e-9)


@pytest.mark.parametrize("name", [*FULL_WIDTH, "cfr_br", "xfp"])
@pytest.mark.parametrize("units", [(1e8, 1e-8), (1e-12, 1e12), (1e100, 1e-100)])
def test_one_players_units_do_not_stop_another(name, units):
    policy = play(pennies(*units), load_algorithm(name), 20_000)
    assert policy.probabilities == approx([0.4, 0.6, 0.4, 0.6], abs=2e-2)


@dataclass(frozen=True)
class Beside:
    """Half the time a lottery pays its prizes, half the time a game is played."""

    game: cp.games.MatrixGame
    prizes: tuple[float, ...]
    num_players: int = 2

    def initial_state(self):
        return None

    def player(self, state):
        return CHANCE if state is None else TERMINAL if state == "paid" else self.game.player(state)

    def chance_outcomes(self, state):
        return [(0, 0.5), (1, 0.5)]

    def next_state(self, state, action):
        if state is not None:
            return self.game.next_state(state, action)
        return "paid" if action else self.game.initial_state()

    def utilities(self, state):
        return self.prizes if state == "paid" else self.game.utilities(state)

    def actions(self, state):
        return self.game.actions(state)

    def infoset_key(self, state, player):
        return "" if state is None else self.game.infoset_key(state, player)

    def action_name(self, state, action):
        return str(action)


@pytest.mark.parametrize("name", [*FULL_WIDTH, "external_sampling", "chance_sampling"])
def test_high_stakes_elsewhere_do_not_stop_anybody(name):
    rows = 1e-3 * np.array(PENNIES)
    tree = cp.build_tree(Beside(cp.games.MatrixGame((rows, -rows)), (-1e12, 1e12)))
    policy = play(tree, load_algorithm(name), 30_000)
    assert policy.probabilities == approx([0.4, 0.6, 0.4, 0.6], abs=3e-2)


@given(st.integers(-40, 40), st.floats(1e-3, 1.0))
def test_general_sum_at_every_scale(power, share):
    """For small stakes, and independently of the payoffs elsewhere."""
    battle = cp.load_game("battle_of_the_sexes")
    small = Changed(battle, (10.0**power,) * 2)
    for game in (small, Beside(small, (1e10, -1e10)), Beside(small, (share, -share))):
        assert not cp.build_tree(game).is_zero_sum
        assert not cp.check_game(game).is_zero_sum
        with pytest.raises(cp.ConfigError, match="zero-sum"):
            cp.algorithms.solve_sequence_form_lp(cp.build_tree(game))
    kuhn = Changed(cp.load_game("kuhn_poker(players=3)"), (10.0**power * share,) * 3)
    assert cp.build_tree(kuhn).is_zero_sum and cp.check_game(kuhn).is_zero_sum


@pytest.mark.parametrize("constant", [0.0, 1e6])
@pytest.mark.parametrize("unit", [1e-140, 1e-12, 1e-5, 1e12, 1e19, 1e140])
@pytest.mark.parametrize(
    ("spec", "value"), [("kuhn_poker", -1 / 18), ("liars_dice(dice_sides=3)", 1 / 9)]
)
def test_linear_programme_at_every_scale(spec, value, unit, constant):
    constants = (unit * constant, -unit * constant)
    tree = cp.build_tree(Changed(cp.load_game(spec), (unit, unit), constants))
    exact = cp.algorithms.solve_sequence_form_lp(tree)
    assert exact.value / unit - constant == approx(value, abs=1e-8)
    assert cp.nash_conv(tree, exact.policy) / unit == approx(0.0, abs=1e-8)


@pytest.mark.parametrize("unit", [1e-5, 1e12])
def test_linear_programme_of_leduc(unit):
    tree = cp.build_tree(Changed(cp.load_game("leduc_poker"), (unit, unit)))
    assert cp.algorithms.solve_sequence_form_lp(tree).value / unit == approx(
        -0.085606424078, abs=1e-9
    )


HEAVY = [
    *("dcfr(gamma=700)", "pcfr_plus(gamma=300)", "pdcfr_plus(gamma=60000)", "xfp(gamma=400)"),
    *("external_sampling(gamma=500)", "outcome_sampling(gamma=500)", "probing(gamma=500)"),
    *("outcome_sampling(gamma=500,lazy_averaging=true)", "chance_sampling(gamma=500)"),
    *("average_strategy_sampling(gamma=500)", "online_outcome_sampling(gamma=500)"),
    *("vr_mccfr(gamma=500,alpha=700)", "vr_mccfr_plus(gamma=500)"),
]


@pytest.mark.parametrize("name", HEAVY)
def test_large_powers_do_not_overflow_however_a_run_is_cut(name, kuhn):
    algorithm = load_algorithm(name)
    whole = algorithm.step(kuhn, algorithm.init(kuhn), 200)
    part = algorithm.init(kuhn)
    for count in (1, 1, 2, 3, 40, 100, 53):
        part = copy.deepcopy(algorithm.step(kuhn, part, count))
    assert memories_equal(whole, part)
    assert np.isfinite(main_policy(algorithm, kuhn, whole).probabilities).all()


@pytest.mark.parametrize("name", [name for name in HEAVY[4:] if "lazy" not in name])
def test_large_powers_on_rules_too(name, kuhn):
    algorithm, rules = load_algorithm(name), cp.RulesArena(kuhn.game)
    policy = play(rules, algorithm, 40)
    expected = play(kuhn, algorithm, 40)
    for player, key, row in policy.items():
        assert row == approx(expected[player, key], abs=1e-6)


@pytest.mark.parametrize("gamma", [5.0, 60.0, 1000.0])
def test_large_powers_weigh_as_they_say(gamma, kuhn):
    algorithm = cp.algorithms.PDCFRPlus(gamma=gamma)
    memory, total, last = algorithm.init(kuhn), np.zeros(24), 3000
    for t in range(1, last + 1):
        total += (t / last) ** gamma * memory.reach[:-1]
        memory = algorithm.step(kuhn, memory)
    expected = policy_from_weights(kuhn, total).probabilities
    reached = np.repeat(np.add.reduceat(total, kuhn.offset[:-1]) > 1e-9, 2)
    found = main_policy(algorithm, kuhn, memory).probabilities
    assert found[reached] == approx(expected[reached], abs=1e-9)


@dataclass(frozen=True)
class LongWay:
    """Before each of many steps the walker may leave for pennies against the other player."""

    length: int = 1200
    num_players: int = 2

    def initial_state(self):
        return (0, ())

    def player(self, state):
        step, chosen = state
        return TERMINAL if len(chosen) == 2 or step == self.length else len(chosen) % 2

    def actions(self, state):
        return (0, 1) if state[1] else (0, 1, 2)

    def chance_outcomes(self, state):
        return []

    def next_state(self, state, action):
        step, chosen = state
        return (step + 1, ()) if action == 2 else (step, (*chosen, action))

    def utilities(self, state):
        chosen = state[1]
        value = PENNIES[chosen[0]][chosen[1]] if chosen else 0.2
        return (value, -value)

    def infoset_key(self, state, player):
        return f"{player}:{state[0]}"

    def action_name(self, state, action):
        return str(action)


@pytest.mark.parametrize("name", [*FULL_WIDTH, "cfr_br", "xfp", "cfr_hedge"])
def test_a_thousand_decisions_in_a_row(name):
    """Own reach underflows: deep down the average is a policy all the same."""
    tree = cp.build_tree(LongWay())
    policy = play(tree, load_algorithm(name), 50)
    assert np.isfinite(policy.probabilities).all()
    if name != "xfp":  # which answers every way out one by one
        assert cp.expected_values(tree, policy)[0] == approx(0.2, abs=0.2)


def test_averages_of_what_cannot_be_weighed(kuhn):
    """Weights without precision are ignored, and no average is infinite."""
    weights = np.where(np.arange(24) % 2, 3e-323, 1e-322)
    assert (policy_from_weights(kuhn, weights).probabilities == 0.5).all()
    current = np.tile([0.25, 0.75], 12)
    found = policy_from_weights(kuhn, weights, current).probabilities
    assert (found == current).all()
    assert policy_from_weights(kuhn, weights * 1e60).probabilities[0] == approx(10 / 13)


def test_utilities_too_large_or_small_to_add_up():
    for factor in ((1.0, 1e308), (1e200, 1.0), (1.0, 1e-200)):
        game = Changed(RandomGame(seed=3), factor)
        with pytest.raises(cp.GameError, match="choose units in which it is from 1e-150 to 1e"):
            cp.build_tree(game)
    with pytest.raises(cp.GameError, match="up to 1e"):
        cp.check_game(Changed(RandomGame(seed=3), (1e200, 1.0)))
    policy = play(pennies(1e149, 1e149), cp.algorithms.CFR(), 20_000)
    assert policy.probabilities == approx([0.4, 0.6, 0.4, 0.6], abs=2e-2)


@pytest.mark.parametrize("name", [name for name in TABULAR if "vr_" not in name])  # need rules
def test_games_with_all_infosets_fixed(name, kuhn):
    """With all infosets fixed the tree has none, and the lifted policy is the fixed one."""
    policy = cp.random_policy(kuhn, seed=1)
    fixed = cp.abstraction.fix_policy(kuhn, policy, lambda *_: True)
    assert fixed.tree.num_infosets == 0
    found = play(fixed.tree, load_algorithm(name))
    assert (fixed.lift(found).probabilities == policy.probabilities).all()
    assert cp.expected_values(fixed.tree, found) == approx(cp.expected_values(kuhn, policy))
    assert cp.infoset_values(fixed.tree, found).value.size == 0


def test_judgement_equals_fractions():
    """Stakes from 1e-12 to 1e12 in one tree, units from 1e-12 to 1e12 between players."""
    for seed, tree in enumerate(extreme_utilities.random_trees(25, zero_sum=False)):
        by_largest, by_mean = extreme_utilities.judgement_errors(tree, cp.random_policy(tree, seed))
        assert by_largest < 1e-14
        assert by_mean < 1e-14
        exact = exact_judgement(tree, cp.uniform_policy(tree))
        for player in range(tree.num_players):
            found = cp.best_response(tree, cp.uniform_policy(tree), player)
            earned = cp.expected_values(tree, found.policy)[player]
            assert earned == approx(float(exact[player][1]), rel=1e-12)


def test_mixed_stakes_are_solved():
    """The same trees between two players, zero-sum; CFR also with each player in its own units."""
    for number, tree in enumerate(
        extreme_utilities.random_trees(12, num_players=2, zero_sum=True, same_units=True)
    ):
        assert (
            extreme_utilities.exact_nash_conv(
                tree, cp.algorithms.solve_sequence_form_lp(tree).policy
            )
            < 1e-8
        )
        units = Changed(tree.game, (10.0 ** (2 * number - 12), 10.0 ** (12 - 2 * number)))
        for algorithm in (cp.algorithms.CFRPlus(), cp.algorithms.DCFR()):
            found = play(cp.build_tree(units), algorithm, 1000).probabilities
            assert extreme_utilities.exact_nash_conv(tree, cp.Policy(tree, found)) < 1e-3
