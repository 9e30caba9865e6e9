"""Subgames: published values, gadgets by hand, the theorem of safe solving on random games."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from pytest import approx
from scipy.optimize import linprog

import counterplay as cp
from counterplay.arenas.public_states import public_states, public_values
from counterplay.arenas.subgame import METHODS, SAFE_METHODS, build_subgame, resolve_policy
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy
from tests.conftest import game_tree
from tests.random_games import RandomGame, random_games

LP = cp.algorithms.SequenceFormLP()
CFR_PLUS = cp.algorithms.CFRPlus()


@cache
def exact_policy(spec):
    return cp.algorithms.solve_sequence_form_lp(game_tree(spec)).policy


# -- coin toss


def coin_blueprint():
    """Brown and Sandholm's: the guesser says heads 1/2, tails 1/4, and forfeits 1/4."""
    tree = game_tree("coin_toss")
    return Policy.from_dict(tree, {"guesser:p": {"heads": 0.5, "tails": 0.25, "forfeit": 0.25}})


@pytest.mark.parametrize(
    ("method", "heads"),
    [("max_margin", 5 / 8), ("reach_max_margin", 1 / 2), ("estimate", 1 / 4)],
)
def test_coin_toss(method, heads):
    tree = game_tree("coin_toss")
    subgame = build_subgame(tree, coin_blueprint(), state=1, player=1, method=method)
    row = subgame.solve(LP)["guesser:p"]
    assert row["heads"] == approx(heads, abs=1e-7)
    assert row["forfeit"] == approx(0.0, abs=1e-7)


def test_alternatives_of_the_coin_toss():
    """CBVs of playing are 0 and 1/2; the gift after heads is the 1/2 of selling."""
    tree = game_tree("coin_toss")
    values = {
        method: build_subgame(tree, coin_blueprint(), 1, 1, method).alternatives.tolist()
        for method in ("resolve", "reach_max_margin", "estimate")
    }
    assert values == {
        "resolve": [0.0, 0.5],
        "reach_max_margin": [0.5, 0.5],
        "estimate": [0.5, -0.5],
    }


def test_unsafe_solving_of_the_coin_toss_is_a_guess():
    """Against a seller who always plays, all guesses are worth the same by themselves."""
    tree = game_tree("coin_toss")
    play = {key: {"play": 1.0} for key in ("seller:H", "seller:T")}
    blueprint = Policy.from_dict(tree, play, fallback=coin_blueprint())
    subgame = build_subgame(tree, blueprint, 1, 1, "unsafe")
    wrong = blueprint.probabilities.copy()
    subgame.write_policy(Policy.from_dict(subgame.tree, {"guesser:p": {"heads": 1.0}}), wrong)
    solution = Policy.from_dict(subgame.tree, {"guesser:p": {"heads": 1.0}})
    assert cp.judge(subgame.tree, solution).values[1] == approx(
        cp.judge(subgame.tree, subgame.solve(LP)).values[1]
    )
    assert cp.best_response(tree, Policy(tree, wrong), 0).value > 0.7


# -- Leduc poker


def second_round(method, algorithm, iterations, blueprint=None):
    tree = game_tree("leduc_poker")
    blueprint = blueprint or exact_policy("leduc_poker")
    policy = resolve_policy(tree, blueprint, algorithm, method=method, iterations=iterations)
    return cp.nash_conv(tree, policy)


@pytest.mark.parametrize("method", SAFE_METHODS)
def test_safe_methods_keep_the_exact_blueprint(method):
    assert second_round(method, LP, 1) <= 1e-7
    assert second_round(method, CFR_PLUS, 3000) < 1e-3


@pytest.mark.parametrize("method", SAFE_METHODS)
def test_safe_methods_improve_a_poor_blueprint(method):
    tree = game_tree("leduc_poker")
    blueprint = cp.solve(tree, CFR_PLUS, iterations=30).policy
    before = cp.nash_conv(tree, blueprint)
    after = second_round(method, LP, 1, blueprint)
    assert after < before


def test_unsafe_solving_is_exploitable():
    assert second_round("unsafe", CFR_PLUS, 3000) == approx(0.119, abs=0.001)
    assert second_round("unsafe", LP, 1) > 0.05


def test_realised_values_are_not_safe_alternatives():
    """The blueprint's own values, in place of best-response values, give a NashConv of 0.017."""
    tree, blueprint = game_tree("leduc_poker"), exact_policy("leduc_poker")
    states, values = public_states(tree), public_values(tree, blueprint)
    probabilities = blueprint.probabilities.copy()
    for state in states.after_chance():
        for player in range(2):
            views = np.unique(states.view[states.entry_rows(state), 1 - player])
            mass = values.cf_reach(1 - player)[views]
            if mass.sum() > 0.0:
                realised = values.counterfactual_values(1 - player)[views]
                realised /= np.where(mass > 0.0, mass, 1.0)
                subgame = build_subgame(tree, blueprint, state, player, alternatives=realised)
                subgame.write_policy(subgame.solve(CFR_PLUS, 3000), probabilities)
    assert cp.nash_conv(tree, Policy(tree, probabilities)) == approx(0.0173, abs=5e-4)


def test_alternatives_equal_the_values_of_the_whole_tree():
    tree = game_tree("leduc_poker")
    blueprint = cp.random_policy(tree, seed=4)
    states, values = public_states(tree), public_values(tree, blueprint)
    for state in range(1, len(states), 7):
        for player in range(2):
            views = np.unique(states.view[states.entry_rows(state), 1 - player])
            best = values.counterfactual_best_response_values(1 - player)[views]
            mass = values.cf_reach(1 - player)[views]
            subgame = build_subgame(tree, blueprint, state, player)
            assert subgame.alternatives * mass == approx(best, abs=1e-12)


# -- gadgets by hand


@dataclass(frozen=True)
class HandGadget:
    """Kuhn poker after a pass, for player 1: the gadget of `resolve` written as rules.

    Chance deals a pair of cards; player 0 terminates for its alternative value or follows; then
    player 1 passes or bets, and player 0 answers a bet.
    """

    alternatives: tuple[float, ...]
    num_players: int = 2

    def initial_state(self):
        return ()

    def player(self, state):
        match state:
            case ():
                return CHANCE
            case (_,):
                return 0
            case (_, "follow"):
                return 1
            case (_, "follow", 1):
                return 0
        return TERMINAL

    def chance_outcomes(self, state):
        return [(3 * a + b, 1 / 6) for a in range(3) for b in range(3) if a != b]

    def actions(self, state):
        return (0, 1)

    def next_state(self, state, action):
        if len(state) == 1:
            return (*state, ("terminate", "follow")[action])
        return (*state, action)

    def utilities(self, state):
        first, second = divmod(state[0], 3)
        sign = 1.0 if first > second else -1.0
        if state[1] == "terminate":
            value = self.alternatives[first]
        elif state[2] == 0:
            value = sign
        else:
            value = 2.0 * sign if state[3] == 1 else -1.0
        return [value, -value]

    def infoset_key(self, state, player):
        return f"{player}:{divmod(state[0], 3)[player]}{state[1:]}"

    def action_name(self, state, action):
        return str(action)


def test_resolve_gadget_equals_the_one_written_by_hand():
    tree = game_tree("kuhn_poker")
    blueprint = cp.random_policy(tree, seed=8)
    subgame = build_subgame(tree, blueprint, 1, 1)
    hand = cp.build_tree(HandGadget(tuple(subgame.alternatives.tolist())))
    uniform = [cp.judge(t, cp.uniform_policy(t)) for t in (subgame.tree, hand)]
    # the derived tree also has the chance nodes of the deal in between
    assert subgame.tree.num_nodes == hand.num_nodes
    assert subgame.tree.num_infosets == hand.num_infosets
    assert uniform[0].values == approx(uniform[1].values)
    assert uniform[0].best_values == approx(uniform[1].best_values)
    solutions = [cp.algorithms.solve_sequence_form_lp(t).value for t in (subgame.tree, hand)]
    assert solutions[0] == approx(solutions[1], abs=1e-9)


def test_largest_smallest_margin_by_a_linear_programme():
    """In the coin toss the margins are linear in the guess: a programme of two inequalities."""
    tree, blueprint = game_tree("coin_toss"), coin_blueprint()
    subgame = build_subgame(tree, blueprint, 1, 1, "max_margin")
    # maximise m subject to m <= v(x) - value(x), value = -P(right) + P(wrong) + P(forfeit)
    rows = [[-1, 1, 1, 1], [1, -1, 1, 1]]
    result = linprog(
        [0, 0, 0, -1],
        rows,
        subgame.alternatives,
        [[1, 1, 1, 0]],
        [1],
        bounds=[(0, 1)] * 3 + [(None, None)],
    )
    row = subgame.solve(LP)["guesser:p"]
    assert list(row.values()) == approx(result.x[:3], abs=1e-7)
    assert -cp.judge(subgame.tree, subgame.solve(LP)).values[0] == approx(result.x[3], abs=1e-7)


# -- the theorem


def random_antichain(states, seed):
    """Return some public states, none below another, at which someone acts."""
    rng, chosen = np.random.default_rng(seed), []
    state = 1
    while state < len(states):
        if rng.random() < 0.5:
            chosen.append(state)
            state = int(states.end[state])
        else:
            state += 1
    return chosen


@pytest.mark.parametrize("method", SAFE_METHODS)
@hypothesis_settings(max_examples=25)
@given(game=random_games(max_players=2, num_players=2, zero_sum=True))
def test_safe_methods_are_safe(method, game):
    tree = cp.build_tree(game)
    if not tree.num_sequences or not tree.is_zero_sum or not np.ptp(tree.utility) > 0.0:
        return
    for seed in range(3):
        blueprint = cp.random_policy(tree, seed=seed)
        chosen = random_antichain(public_states(tree), seed)
        policy = resolve_policy(tree, blueprint, LP, chosen, method=method)
        best, before = (cp.judge(tree, p).best_values for p in (policy, blueprint))
        assert (best <= before + 1e-7).all()


def test_unsafe_solving_is_not_safe_on_a_random_game():
    """The first random game whose near-equilibrium becomes exploitable."""
    worst = 0.0
    for seed in range(150):
        tree = cp.build_tree(RandomGame(seed=seed, max_depth=5))
        if not tree.num_sequences or not np.ptp(tree.utility) > 0.0:
            continue
        blueprint = cp.solve(tree, CFR_PLUS, iterations=200).policy
        chosen = random_antichain(public_states(tree), seed)
        try:
            policy = resolve_policy(tree, blueprint, LP, chosen, method="unsafe")
        except cp.errors.ConfigError:  # no mass: the opponent never goes there
            continue
        worst = max(worst, cp.nash_conv(tree, policy) - cp.nash_conv(tree, blueprint))
        if worst > 0.05:
            break
    assert worst > 0.05


# -- any public state, any method


@pytest.mark.parametrize("method", METHODS)
def test_solving_from_the_root_is_solving(method):
    """At the first public state nothing is outside, so that every method solves the game."""
    tree = game_tree("kuhn_poker")
    whole = cp.solve(tree, CFR_PLUS, iterations=100).policy
    probabilities = cp.uniform_policy(tree).probabilities.copy()
    for player in range(2):
        subgame = build_subgame(tree, cp.uniform_policy(tree), 0, player, method)
        subgame.write_policy(subgame.solve(CFR_PLUS, 100), probabilities)
    assert (probabilities == whole.probabilities).all()


@pytest.mark.parametrize("name", ["cfr", "cfr_plus", "dcfr", "pcfr_plus", "linear_cfr"])
def test_any_algorithm_of_the_cfr_family_solves_subgames(name):
    tree, blueprint = game_tree("leduc_poker"), exact_policy("leduc_poker")
    algorithm = cp.load_algorithm(name)
    subgame = build_subgame(tree, blueprint, public_states(tree).after_chance()[0], 0)
    solution = subgame.solve(algorithm, 500)
    assert cp.nash_conv(subgame.tree, solution) < 0.05


def test_time_limit_does_at_least_one_iteration():
    tree = game_tree("kuhn_poker")
    subgame = build_subgame(tree, cp.uniform_policy(tree), 1, 1)
    solution = subgame.solve(CFR_PLUS, seconds=1e-9)
    assert solution.probabilities.size == subgame.tree.num_sequences


# -- bad input


def test_bad_arguments():
    tree, policy = game_tree("kuhn_poker"), cp.uniform_policy("kuhn_poker")
    cases = [
        ({"method": "magic"}, "method is 'magic', must be one of unsafe, resolve"),
        ({"state": 9}, "public state is 9, must be from 0 to 3"),
        ({"player": 2}, "player is 2, must be 0 or 1"),
        ({"alternatives": np.zeros(2)}, "alternatives has shape .2,., must have one entry for"),
        ({"blueprint": cp.uniform_policy("leduc_poker")}, "the policy is for leduc_poker"),
    ]
    for change, message in cases:
        arguments = {"blueprint": policy, "state": 1, "player": 1} | change
        with pytest.raises(cp.errors.ConfigError, match=message):
            build_subgame(tree, **arguments)
    three = game_tree("kuhn_poker(players=3)")
    with pytest.raises(cp.errors.ConfigError, match="two-player zero-sum"):
        build_subgame(three, cp.uniform_policy(three), 1, 1)


def test_a_range_without_mass_is_refused_unless_uniform():
    tree = game_tree("kuhn_poker")
    never = Policy.from_dict(tree, {key: {"pass": 1.0} for key in "012"})
    bet = 3  # the public state after a bet
    with pytest.raises(cp.errors.ConfigError, match="never reaches public state 3 of kuhn_poker"):
        build_subgame(tree, never, bet, 0)
    subgame = build_subgame(tree, never, bet, 0, uniform_range=True)
    assert subgame.tree.num_infosets > 0
