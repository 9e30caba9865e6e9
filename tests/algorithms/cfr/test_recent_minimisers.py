"""The regret minimisers of the last years: plain twins, published figures, weights of averages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from pytest import approx

import counterplay as cp
from counterplay.algorithms.cfr.ddcfr import discounts_at
from counterplay.algorithms.cfr.hyperparameter_schedule import average_weights
from counterplay.algorithms.cfr.smooth_pcfr_plus import largest_values, player_units
from counterplay.algorithms.cfr.warm_start import regrets_from_policy
from counterplay.kernels.sequence_form import predictive
from counterplay.registry import ALGORITHMS
from tests import reference
from tests.algorithms.cfr.test_cfr import assert_equal_to_twin, flat
from tests.changed_games import Changed
from tests.conftest import main_policy
from tests.random_games import RandomGame, random_games


def hs_weight(t, horizon, gamma):
    """The weight of iteration t by definition: the decays after it, relative to iteration n."""

    def decays(first, last):
        exponents = [gamma - 5.0 * min(s / horizon, 1.0) for s in range(first, last)]
        return np.prod(
            [
                ((s + 1) / s) ** exponent
                for s, exponent in zip(range(first, last), exponents, strict=True)
            ]
        )

    return decays(1, t) / decays(1, horizon)


def hs_discounts(t, horizon):
    done = min(t / horizon, 1.0)
    positive, negative = t ** (1.0 + 3.0 * done), t ** (-1.0 - 2.0 * done)
    return positive / (positive + 1.0), negative / (negative + 1.0), 0.0


SCHEDULES = {  # discounts (positive, negative, prediction) and weight of iteration t
    "hs_dcfr(horizon=3)": (lambda t: hs_discounts(t, 3), lambda t: hs_weight(t, 3, 30.0)),
    "hs_dcfr(horizon=8,gamma=15)": (lambda t: hs_discounts(t, 8), lambda t: hs_weight(t, 8, 15.0)),
    "hs_pcfr_plus(horizon=6)": (lambda t: (1.0, 0.0, 1.0), lambda t: hs_weight(t, 6, 30.0)),
    "sapcfr_plus": (lambda t: (1.0, 0.0, 1.0 / 3.0), lambda t: t**2),
    "sapcfr_plus(alpha=0,gamma=1)": (lambda t: (1.0, 0.0, 1.0), lambda t: t),
    "pcfr": (lambda t: (1.0, 1.0, 1.0), lambda t: t**2),
    "dcfr_plus": (lambda t: (t**1.5 / (t**1.5 + 1.0), 0.0, 0.0), lambda t: t**4),
}


@pytest.mark.parametrize("name", SCHEDULES)
@settings(max_examples=20)
@given(random_games())
def test_schedules_equal_the_textbook_recursion(name, game):
    twin = reference.CFR(game, True, *SCHEDULES[name])
    assert_equal_to_twin(game, cp.load_algorithm(name), twin)


@pytest.mark.parametrize(("horizon", "gamma"), [(1, 30.0), (40, 15.0), (100, 30.0)])
def test_weights_of_a_schedule_are_the_products_of_its_decays(horizon, gamma):
    t = np.arange(1.0, 131.0)
    expected = [hs_weight(int(step), horizon, gamma) for step in t]
    assert average_weights(t, horizon, gamma, 5.0)[:, 0] == approx(expected, rel=1e-9)


class RPCFRPlus(reference.CFR):
    """RPCFR+ by its equations; `authors` repeats two peculiarities of the authors' program."""

    def __init__(self, game, weight=0.6, authors=False):
        self.prediction, self.weight, self.authors = {}, weight, authors
        super().__init__(game, True, lambda t: (1.0, 0.0, 0.0), lambda t: t**5.0)

    def learn(self, instant):
        keys = list(self.policy) if self.authors else list(instant)
        for key in keys:  # in the authors' program also those of the other players, without regret
            gains = instant.get(key, np.zeros_like(self.policy[key]))
            self.regret[key] = np.maximum(self.regret.get(key, 0.0) + gains, 0.0)
            self.prediction[key] = 0.7 * self.prediction.get(key, 0.0) + 0.3 * gains
            blend = (1.0 - self.weight) * self.regret[key] + self.weight * self.prediction[key]
            self.policy[key] = reference.regret_matching(blend)


class APCFRPlus(reference.CFR):
    """APCFR+ by its equations."""

    def __init__(self, game):
        self.last, self.sums = {}, {}
        super().__init__(game, True, lambda t: (1.0, 0.0, 0.0), lambda t: t**2)

    def learn(self, instant):
        for key, gains in instant.items():
            before = self.regret.get(key, np.zeros_like(gains))
            after = np.maximum(before + gains, 0.0)
            errors, changes = self.sums.get(key, (0.0, 0.0))
            errors += np.sum((gains - self.last.get(key, 0.0)) ** 2)
            changes += np.sum((after - before) ** 2)
            alpha = min(np.sqrt(errors / changes), 5.0) if changes > 0.0 else 5.0
            self.sums[key], self.last[key], self.regret[key] = (errors, changes), gains, after
            self.policy[key] = reference.regret_matching(after + gains / (1.0 + alpha))


def project_above_simplex(x):
    """The nearest vector with entries >= 0 and sum at least 1, by sorting (Held and others)."""
    if np.maximum(x, 0.0).sum() >= 1.0:
        return np.maximum(x, 0.0)
    ordered = np.sort(x)[::-1]
    shifts = (np.cumsum(ordered) - 1.0) / np.arange(1, x.size + 1)
    return np.maximum(x - shifts[np.flatnonzero(ordered > shifts)[-1]], 0.0)


class SmoothPCFRPlus(reference.CFR):
    """Smooth PCFR+ by its equations, with the units of the tree."""

    def __init__(self, game, eta):
        tree = cp.build_tree(game)
        units = largest_values(tree)[tree.offset[:-1]]
        self.step = {
            (int(player), key): eta / unit
            for player, key, unit in zip(tree.infoset_player, tree.infoset_keys, units, strict=True)
        }
        super().__init__(game, True, lambda t: (1.0, 0.0, 0.0), lambda t: t**2)

    def learn(self, instant):
        for key, gains in instant.items():
            move = self.step[key] * gains
            start = np.full(gains.size, 1.0 / gains.size)
            self.regret[key] = project_above_simplex(self.regret.get(key, start) + move)
            policy = project_above_simplex(self.regret[key] + move)
            self.policy[key] = policy / policy.sum()


@settings(max_examples=25)
@given(random_games())
def test_rpcfr_plus_equals_its_equations(game):
    assert_equal_to_twin(game, cp.algorithms.RPCFRPlus(), RPCFRPlus(game), iterations=6)


@settings(max_examples=25)
@given(random_games())
def test_apcfr_plus_equals_its_equations(game):
    assert_equal_to_twin(game, cp.algorithms.APCFRPlus(), APCFRPlus(game), iterations=6)


@pytest.mark.parametrize("eta", [0.3, 5.0])
@settings(max_examples=15)
@given(random_games())
def test_smooth_pcfr_plus_equals_its_equations(eta, game):
    twin = SmoothPCFRPlus(game, eta)
    assert_equal_to_twin(game, cp.algorithms.SmoothPCFRPlus(eta=eta), twin, iterations=6)


def test_projection_above_the_simplex_is_the_nearest_point():
    rng = np.random.default_rng(0)
    for size in (1, 2, 3, 7):
        for scale in (0.1, 1.0, 30.0):
            x = scale * rng.normal(size=size)
            projected = x.copy()
            predictive.project_above_simplex(projected, np.uint64(0), np.uint64(size))
            assert projected == approx(project_above_simplex(x), abs=1e-12)


def test_the_authors_series_of_rpcfr_plus_on_kuhn_poker(kuhn):
    """The reading of the equations reproduces the published exploitability, row by row.

    The authors' stored results belong to the weight 0.7; the default of their program is 0.6.
    """
    published = [0.25003941974140653, 0.1339845997701155, 0.16543274750055006]
    published += [0.06509708676186454, 0.09026336206990906, 0.052591677847277585]
    twin, sums = RPCFRPlus(kuhn.game, 0.7, authors=True), np.zeros(24)
    series = []
    for t in range(1, 8):
        policies = []
        twin.iteration += 1
        for player in range(2):
            policies.append(flat(kuhn, twin.policy) if twin.policy else np.full(24, 0.5))
            instant = {}
            twin.walk(kuhn.game.initial_state(), np.ones(3), _Sums(instant), [player])
            twin.learn(instant)
        current = np.where(np.repeat(kuhn.infoset_player, 2) == 0, *policies)
        decay = ((t - 1) / t) ** 5.0
        weight = cp.infoset_values(kuhn, cp.Policy(kuhn, current)).reach.repeat(2) * current
        for _ in range(2):  # the program weights once per history; every infoset of Kuhn has two
            sums = decay * sums + weight
        series.append(cp.exploitability(kuhn, cp.Policy(kuhn, normalise_pairs(sums))))
    assert series[0] == approx(11 / 24)
    assert series[1:] == approx(published, rel=1e-7)


class _Sums(dict):
    """A view of a dict whose missing entries are zero."""

    def __init__(self, target):
        self.target = target

    def __getitem__(self, key):
        return self.target.get(key, 0.0)

    def __setitem__(self, key, value):
        self.target[key] = value


def normalise_pairs(sums):
    rows = sums.reshape(-1, 2)
    return (rows / rows.sum(axis=1, keepdims=True)).ravel()


PUBLISHED = {  # exploitability after 10 and 100 iterations: results of Xu and others (2024)
    ("cfr", "kuhn_poker"): (0.0686987938171576, 0.008225977315915622),
    ("cfr_plus", "kuhn_poker"): (0.032687090668344715, 0.0011944041011116013),
    ("dcfr", "kuhn_poker"): (0.022778783925763657, 0.0016663419703409899),
    ("cfr", "liars_dice(dice_sides=4)"): (0.14163825678198746, 0.017043557656577772),
    ("cfr_plus", "liars_dice(dice_sides=4)"): (0.10656180505892263, 0.002295214063446467),
    ("dcfr", "liars_dice(dice_sides=4)"): (0.0993776429917604, 0.0006844504782537522),
}


@pytest.mark.parametrize(("name", "game"), PUBLISHED)
def test_published_series(name, game):
    tree, algorithm = cp.build_tree(game), cp.load_algorithm(name)
    memory = algorithm.init(tree)
    for count, value, accuracy in zip(
        (10, 90), PUBLISHED[name, game], (1e-9, 1e-3), strict=True
    ):  # rounding errors grow with the iterations
        memory = algorithm.step(tree, memory, count)
        policy = next(iter(algorithm.policies(tree, memory).values()))
        assert cp.exploitability(tree, policy) == approx(value, rel=accuracy)


LIARS_DICE_4 = {  # exploitability at 1,000 iterations, at most
    "sapcfr_plus": 4.7e-7,  # published: 4.6e-7
    "hs_pcfr_plus": 1e-13,  # published: 4e-17, below the rounding errors of best responses
    "apcfr_plus": 6e-7,
    "rpcfr_plus": 1e-11,
    "pcfr": 1.3e-6,
    "smooth_pcfr_plus": 1.5e-6,
    "rt_cfr_plus": 1e-5,
    "hs_dcfr": 3e-4,
}


@pytest.mark.parametrize("name", LIARS_DICE_4)
def test_accuracy_on_liars_dice(name):
    tree = cp.build_tree("liars_dice(dice_sides=4)")
    result = cp.solve(tree, cp.load_algorithm(name), iterations=1000)
    assert result.exploitability < LIARS_DICE_4[name]


def solve_transformed_game(tree, mu, gamma, every, iterations):
    """RTCFR+ with dense payoffs: values of sequences by recursion over the sequence form."""
    form, size = tree.form, tree.num_sequences
    unit = largest_values(tree)
    sigma = cp.uniform_policy(tree).probabilities.copy()
    played, regret = sigma.copy(), np.zeros(size)

    def reach_of(policy):
        reach = np.ones(size + 1)
        for i in range(tree.num_infosets):
            for s in range(form.offset[i], form.offset[i + 1]):
                reach[s] = reach[form.parent[i]] * policy[s]
        return reach

    reference_reach = reach_of(played)
    for t in range(iterations):
        if t % every == 0:
            reference_reach = reach_of(played)
        floor = gamma * 0.5 ** (t // every)
        for player in range(tree.num_players):
            reach, value = reach_of(played), np.zeros(size + 1)
            tree.gradient(player, reach, value)
            own = range(form.player_infoset[player], form.player_infoset[player + 1])
            for i in reversed(own):
                at = slice(form.offset[i], form.offset[i + 1])
                value[at] -= mu * unit[at] * (reach[at] - reference_reach[at])
                mean = sigma[at] @ value[at]
                value[form.parent[i]] += mean
                regret[at] = np.maximum(regret[at] + value[at] - mean, 0.0)
            for i in own:
                at = slice(form.offset[i], form.offset[i + 1])
                count = at.stop - at.start
                sigma[at] = reference.regret_matching(regret[at])
                played[at] = (1.0 - floor * count) * sigma[at] + floor
    return played


@pytest.mark.parametrize(
    "spec", ["kuhn_poker", "kuhn_poker(players=3)", "liars_dice(dice_sides=2)"]
)
def test_rt_cfr_plus_equals_its_equations(spec):
    tree = cp.build_tree(spec)
    algorithm = cp.algorithms.RTCFRPlus(mu=0.05, gamma=0.01, reference_every=3)
    memory = algorithm.step(tree, algorithm.init(tree), 8)
    expected = solve_transformed_game(tree, 0.05, 0.01, 3, 8)
    assert memory.policy[:-1] == approx(expected, abs=1e-9)


def test_the_last_iterate_of_rt_cfr_plus_converges_where_that_of_cfr_plus_does_not(kuhn):
    exploitability = {}
    for name in ("cfr_plus", "rt_cfr_plus(mu=0.01)"):
        algorithm = cp.load_algorithm(name)
        memory = algorithm.step(kuhn, algorithm.init(kuhn), 2000)
        exploitability[name] = cp.exploitability(algorithm.policies(kuhn, memory)["current"])
    assert exploitability["rt_cfr_plus(mu=0.01)"] < 1e-12
    assert exploitability["cfr_plus"] > 1e-3


def test_too_large_a_perturbation_is_refused(kuhn):
    with pytest.raises(cp.ConfigError, match=r"gamma is 0\.5, must be below 1 / 2"):
        cp.algorithms.RTCFRPlus(gamma=0.5).init(kuhn)


class IREGPCFRPlus(reference.CFR):
    """IREG-PRM+ by its equations; the shift by bisection."""

    def __init__(self, game):
        super().__init__(game, True, lambda t: (1.0, 0.0, 0.0), lambda t: t**2)

    def learn(self, instant):
        for key, gains in instant.items():
            before = self.regret.get(key, np.zeros_like(gains))
            after, norm = before + gains, np.linalg.norm(before)
            low, high = 0.0, norm + np.abs(after).max()
            for _ in range(200):
                middle = (low + high) / 2.0
                below = np.linalg.norm(np.maximum(after + middle, 0.0)) < norm
                low, high = (middle, high) if below else (low, middle)
            after = after + (high if high > 1e-12 else 0.0)
            self.regret[key] = np.where(after > 1e-12, after, 0.0)
            self.policy[key] = reference.regret_matching(self.regret[key] + gains)


@settings(max_examples=25)
@given(random_games())
def test_ireg_pcfr_plus_equals_its_equations(game):
    assert_equal_to_twin(game, cp.algorithms.IREGPCFRPlus(), IREGPCFRPlus(game), iterations=6)


def test_norms_of_regrets_fall_with_pcfr_plus_but_not_with_ireg_pcfr_plus():
    tree = cp.build_tree("leduc_poker(suit_isomorphism=true)")
    falls = {}
    for name in ("pcfr_plus", "ireg_pcfr_plus"):
        algorithm = cp.load_algorithm(name)
        memory, last, falls[name] = algorithm.init(tree), np.zeros(tree.num_infosets), 0
        for _ in range(50):
            memory = algorithm.step(tree, memory)
            norms = np.sqrt(np.add.reduceat(memory.regret[:-1] ** 2, tree.offset[:-1]))
            falls[name] += int((norms < last * (1.0 - 1e-9)).sum())
            last = norms
    assert falls["ireg_pcfr_plus"] == 0
    assert falls["pcfr_plus"] > 1000


def counterfactual_values(tree, player, policy, entropy_weight=None):
    """Values of a player's sequences, and of its infosets with an entropy bonus [I]."""
    entropy_weight = np.zeros(tree.num_infosets) if entropy_weight is None else entropy_weight
    form, size = tree.form, tree.num_sequences
    reach = np.ones(size + 1)
    for i in range(tree.num_infosets):
        for s in range(form.offset[i], form.offset[i + 1]):
            reach[s] = reach[form.parent[i]] * policy[s]
    value = np.zeros(size + 1)
    tree.gradient(player, reach, value)
    infoset_value = {}
    for i in reversed(range(form.player_infoset[player], form.player_infoset[player + 1])):
        at = slice(form.offset[i], form.offset[i + 1])
        row = policy[at]
        bonus = -entropy_weight[i] * float(row[row > 0.0] @ np.log(row[row > 0.0]))
        infoset_value[i] = row @ value[at] + bonus
        value[form.parent[i]] += infoset_value[i]
    return value, infoset_value, reach


@pytest.mark.parametrize("steps", [2, 4])
def test_clairvoyant_cfr_equals_its_equations(steps):
    tree = cp.build_tree("kuhn_poker(players=3)")
    algorithm = cp.algorithms.ClairvoyantCFR(eta=3.0, fixed_point_steps=steps)
    memory = algorithm.step(tree, algorithm.init(tree), 5)
    form, unit = tree.form, largest_values(tree)
    rows = [slice(form.offset[i], form.offset[i + 1]) for i in range(tree.num_infosets)]
    regret = cp.uniform_policy(tree).probabilities.copy()
    total = np.zeros(tree.num_sequences)
    for t in range(1, 6):
        trial = regret.copy()
        for _ in range(steps):
            policy = trial.copy()
            for at in rows:
                policy[at] /= policy[at].sum()
            for player in range(3):
                value, infoset_value, reach = counterfactual_values(tree, player, policy)
                for i, mean in infoset_value.items():
                    gain = 3.0 * (value[rows[i]] - mean) / unit[rows[i]]
                    trial[rows[i]] = project_above_simplex(regret[rows[i]] + gain)
        regret, total = trial, total + t * reach[:-1]
    assert memory.regret[:-1] == approx(regret, abs=1e-9)
    assert memory.policy_sum[0, :-1] == approx(total, abs=1e-9)


def test_the_hard_matrix_game_of_the_paper_on_smooth_regret_matching():
    """Farina and others (2023): RM+ cycles, smooth and extragradient RM+ do not.

    The linear average of RM+ is slow as well, and that of extragradient RM+ falls as 1 / T**2.
    """
    matrix = np.array([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])
    tree, last, average = cp.build_tree(cp.games.MatrixGame((matrix, -matrix))), {}, {}
    for name in ("cfr_plus", "smooth_pcfr_plus(eta=1)", "clairvoyant_cfr(eta=1)"):
        algorithm = cp.load_algorithm(name)
        memory, average[name] = algorithm.init(tree), []
        for count in (1_000, 9_000):
            memory = algorithm.step(tree, memory, count)
            policies = algorithm.policies(tree, memory)
            average[name].append(cp.exploitability(tree, next(iter(policies.values()))))
        last[name] = cp.exploitability(tree, policies["current"])
    assert last["cfr_plus"] > 0.05
    assert last["smooth_pcfr_plus(eta=1)"] < 1e-12
    assert last["clairvoyant_cfr(eta=1)"] < 1e-12
    assert average["cfr_plus"][0] < 5.0 * average["cfr_plus"][1]
    first, second = average["clairvoyant_cfr(eta=1)"]
    assert first == approx(100.0 * second, rel=0.05)


def test_reg_cfr_equals_its_equations():
    tree = cp.build_tree("kuhn_poker(players=3)")
    algorithm = cp.algorithms.RegCFR(eta=3.0, tau=0.05, halve_every=2, phase_growth=1.5)
    memory = algorithm.step(tree, algorithm.step(tree, algorithm.init(tree), 3), 4)
    form = tree.form
    unit = tree.value_tolerance / (16.0 * np.finfo(float).eps)
    rows = [slice(form.offset[i], form.offset[i + 1]) for i in range(tree.num_infosets)]
    policy = cp.uniform_policy(tree).probabilities.copy()
    centre = np.zeros(tree.num_sequences)
    for t in range(7):
        phase = 0 if t < 2 else 1 if t < 5 else 2  # of 2, 3 and 4.5 iterations
        tau, next_policy = 0.05 * 0.5**phase, policy.copy()
        for player in range(3):
            weight = tau * unit[form.offset[:-1]]
            value, infoset_value, _ = counterfactual_values(tree, player, policy, weight)
            for i in infoset_value:
                at, shrink = rows[i], 1.0 + 3.0 * tau
                change = 3.0 * value[at] / unit[at]
                centre[at] = (centre[at] + change) / shrink
                next_policy[at] = reference.softmax((centre[at] + change) / shrink)
        policy = next_policy
    assert memory.policy[:-1] == approx(policy, abs=1e-9)


def test_the_last_iterate_of_reg_cfr_converges(kuhn):
    algorithm = cp.algorithms.RegCFR(halve_every=400, phase_growth=1)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 8000)
    assert cp.exploitability(algorithm.policies(kuhn, memory)["current"]) < 1e-6


def test_reg_cfr_converges_where_chance_rarely_reaches_an_infoset():
    """On Leduc poker steps in the unit of the player, not of the infoset, leave 2 chips."""
    tree = cp.build_tree("leduc_poker(suit_isomorphism=true)")
    algorithm = cp.algorithms.RegCFR()
    memory, gaps = algorithm.init(tree), []
    for count in (1000, 3000):
        memory = algorithm.step(tree, memory, count)
        gaps.append(cp.exploitability(algorithm.policies(tree, memory)["current"]))
    assert gaps[0] < 0.15
    assert gaps[1] < 0.03


class DDCFR(reference.CFR):
    """DDCFR by its equations, with the learned discounts of the library."""

    def __init__(self, game, horizon):
        self.horizon, self.tree, self.next_choice = horizon, cp.build_tree(game), 0
        super().__init__(game, True, lambda t: (1.0, 1.0, 0.0), lambda t: 1.0)

    def exploitability(self):
        uniform = cp.uniform_policy(self.tree).probabilities
        table = self.average_policy() if self.iteration else {}
        policy = flat(self.tree, table) if table else uniform
        judgement = cp.judge(self.tree, cp.Policy(self.tree, policy))
        gains = np.maximum(judgement.best_values - judgement.values, 0.0)
        return float((gains / player_units(self.tree)).mean())

    def iterate(self):
        t = self.iteration
        if t == self.next_choice:
            exploitability = self.exploitability()
            self.start = self.start if t else exploitability
            decades = [
                max(np.log10(max(e, 1e-300)) + 12.0, 1e-3) for e in (exploitability, self.start)
            ]
            self.discounts = discounts_at(min(t / self.horizon, 1.0), decades[0] / decades[1])
            self.next_choice += 5 if t / self.horizon >= 0.5 else 1
        alpha, beta, gamma = self.discounts
        for key, row in self.regret.items():
            factor = np.where(row > 0.0, t**alpha / (t**alpha + 1.0), t**beta / (t**beta + 1.0))
            self.regret[key] = row * factor
        for key in self.policy_sum:
            self.policy_sum[key] = self.policy_sum[key] * (t / (t + 1.0)) ** gamma
        super().iterate()


@settings(max_examples=10)
@given(random_games(num_players=2))
def test_ddcfr_equals_its_equations(game):
    assert_equal_to_twin(game, cp.algorithms.DDCFR(horizon=6), DDCFR(game, 6), iterations=5)


PUBLISHED_DDCFR = {  # exploitability after 1,000 iterations: results of Xu and others (2024)
    "kuhn_poker": 4.02e-5,
    "leduc_poker": 1.20e-4,
    "liars_dice(dice_sides=4)": 1.73e-5,
}


@pytest.mark.parametrize("game", PUBLISHED_DDCFR)
def test_ddcfr_is_as_accurate_as_published(game):
    """Changes of the discounts by 0.001 change these results by up to a factor of two."""
    result = cp.solve(game, cp.algorithms.DDCFR(), iterations=1000)
    assert result.exploitability < 2.5 * PUBLISHED_DDCFR[game]


PUBLISHED_DISCOUNTS = {  # of the authors' network for (u, v)
    (0.0, 1.0): (1.022, -0.883, 4.997),
    (0.1, 0.9): (1.219, -1.077, 4.993),
    (0.25, 0.7): (1.466, -1.595, 4.969),
    (0.5, 0.7): (2.443, -2.103, 3.745),
    (0.6, 0.9): (3.127, -1.959, 1.5),
    (0.75, 0.5): (3.196, -2.325, 0.318),
    (1.0, 0.7): (4.214, -2.022, 0.005),
}


@pytest.mark.parametrize(("progress", "remaining"), PUBLISHED_DISCOUNTS)
def test_learned_discounts_equal_those_of_the_published_network(progress, remaining):
    published = PUBLISHED_DISCOUNTS[progress, remaining]
    assert discounts_at(progress, remaining) == approx(published, abs=0.05)


def test_regrets_of_a_warm_start_meet_their_bound():
    """The squares of positive regrets sum to the bound of every infoset, with values from below."""
    tree = cp.build_tree("leduc_poker(suit_isomorphism=true)")
    policy = cp.random_policy(tree, seed=3)
    memory = regrets_from_policy(tree, policy, 40, bound_scale=1.0)
    squares = np.add.reduceat(np.maximum(memory.regret[:-1], 0.0) ** 2, tree.offset[:-1])
    for i in range(tree.num_infosets):
        player, others = int(tree.infoset_player[i]), 0.0
        for node in np.flatnonzero(tree.infoset == i):
            weight, below = 1.0, int(node)
            while below > 0:
                above, s = int(tree.parent[below]), int(tree.incoming_sequence[below])
                if s < 0:
                    weight *= tree.chance[below]
                elif tree.player[above] != player:
                    weight *= policy.probabilities[s]
                below = above
            others += weight
        expected = 40 * (others * np.ptp(tree.utility[:, player])) ** 2 * tree.num_actions[i]
        assert squares[i] == approx(expected, rel=1e-9)


def test_a_warm_start_helps_at_first():
    tree = cp.build_tree("leduc_poker(suit_isomorphism=true)")
    algorithm, start = cp.algorithms.DCFR(), cp.solve(tree, "cfr_plus", iterations=50).policy
    memory = algorithm.warm_start(tree, start, 50)
    assert cp.exploitability(tree, main_policy(algorithm, tree, memory)) == approx(
        cp.exploitability(tree, start)
    )
    warm = main_policy(algorithm, tree, algorithm.step(tree, memory, 10))
    cold = main_policy(algorithm, tree, algorithm.step(tree, algorithm.init(tree), 10))
    assert cp.exploitability(tree, warm) < 0.25 * cp.exploitability(tree, cold)
    with pytest.raises(cp.ConfigError, match="stands for 0 iterations"):
        algorithm.warm_start(tree, start, 0)


FAMILY = [name for name, place in ALGORITHMS.items() if ".cfr." in place]
SCALE_FREE = [name for name in FAMILY if getattr(cp.load_algorithm(name), "is_scale_free", False)]


def test_all_minimisers_but_hedge_are_scale_free():
    assert set(FAMILY) - set(SCALE_FREE) == {"cfr_hedge"}


@pytest.mark.parametrize("name", SCALE_FREE)
def test_powers_of_ten_change_no_iterate_of_scale_free_methods(name):
    """Policies after every iteration, to rounding errors; cards of Kuhn poker pay 10**k chips."""
    game = RandomGame(seed=5, max_depth=4)
    trees = [cp.build_tree(Changed(game, (10.0**k,) * 2)) for k in (0, 3, -6, 9)]
    algorithm = cp.load_algorithm(name)
    memories = [algorithm.init(tree) for tree in trees]
    for _ in range(15):
        memories = [
            algorithm.step(tree, memory) for tree, memory in zip(trees, memories, strict=True)
        ]
        first, *others = [memory.policy for memory in memories]
        for policy in others:
            assert policy == approx(first, abs=1e-9)


def test_powers_of_ten_change_hedge(kuhn):
    algorithm, policies = cp.algorithms.CFRHedge(eta=0.05, normalize_utilities=False), []
    for factor in (1.0, 1000.0):
        tree = cp.build_tree(Changed(kuhn.game, (factor, factor)))
        policies.append(algorithm.step(tree, algorithm.init(tree), 15).policy)
    assert np.abs(policies[0] - policies[1]).max() > 1e-3


CONVERGING = [  # with settings for these games
    *("cfr", "cfr_plus", "linear_cfr", "dcfr", "dcfr_plus", "ddcfr(horizon=300)"),
    *("hs_dcfr(horizon=2000)", "pcfr", "pcfr_plus", "hs_pcfr_plus(horizon=2000)", "pdcfr_plus"),
    *("sapcfr_plus", "apcfr_plus", "rpcfr_plus", "smooth_pcfr_plus", "ireg_pcfr_plus"),
    *("clairvoyant_cfr", "reg_cfr", "rt_cfr_plus(mu=0.03)", "cfr_hedge"),
]


def test_the_list_of_converging_methods_is_complete():
    named = {name.split("(")[0] for name in CONVERGING}
    assert set(FAMILY) - named == {"cfr_br", "efr"}  # efr converges with some deviations only


ITERATIONS = {"ddcfr(horizon=300)": 300, "reg_cfr": 8000}  # 2,000 of the others


@pytest.mark.parametrize("name", CONVERGING)
def test_every_method_converges_on_random_games(name):
    for seed in range(100):
        tree = cp.build_tree(RandomGame(seed=seed, max_depth=4))
        if tree.num_infosets:
            algorithm = cp.load_algorithm(name)
            memory = algorithm.step(tree, algorithm.init(tree), ITERATIONS.get(name, 2000))
            policy = main_policy(algorithm, tree, memory)
            scale = np.abs(tree.utility).max()
            assert cp.exploitability(tree, policy) < 2e-3 * scale, seed
