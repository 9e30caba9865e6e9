"""Nested solving: answers to actions that a blueprint's abstraction leaves out."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.subgame import outside_states
from counterplay.arenas.tree.derivation import DerivationPlan, derive_tree
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from tests.conftest import game_tree

CFR_PLUS = cp.algorithms.CFRPlus()


def leduc_without_reraises():
    """Leduc poker, and the solution of the game in which bets cannot be raised."""
    tree = game_tree("leduc_poker")
    owner = np.repeat(np.arange(tree.num_infosets), tree.num_actions)
    faces_bet = np.array(["fold" in tree.action_names(i) for i in range(tree.num_infosets)])
    is_raise = np.array(tree.sequence_names) == "raise"
    is_allowed = ~(is_raise & faces_bet[owner])
    plan = DerivationPlan(
        "leduc_poker without raises of bets",
        np.arange(tree.num_infosets),
        list(tree.infoset_keys),
        is_allowed,
        np.zeros(tree.num_sequences),
    )
    small, sequence = derive_tree(tree, plan)
    solution = cp.solve(small, CFR_PLUS, iterations=300)
    weights = np.where(is_allowed, 1.0, 0.0)
    known = np.flatnonzero(sequence >= 0)
    weights[known] = solution.policy.probabilities[sequence[known]]
    totals = np.add.reduceat(weights, tree.offset[:-1])
    blueprint = Policy(tree, weights / np.repeat(totals, tree.num_actions))
    return tree, is_allowed, blueprint, cp.judge(small, solution.policy)


def test_answers_to_outside_actions_lower_exploitability():
    tree, is_allowed, blueprint, _ = leduc_without_reraises()
    assert (blueprint.probabilities[~is_allowed] == 0.0).all()
    policy = cp.search.solve_outside_actions(tree, blueprint, is_allowed, CFR_PLUS, iterations=300)
    assert cp.exploitability(tree, policy) < 0.6 * cp.exploitability(tree, blueprint)
    # the players themselves still leave the abstraction nowhere above the new subgames
    inside = [s for p in range(2) for s in outside_states(tree, is_allowed, p)]
    states = cp.search.public_states(tree)
    below = np.zeros(len(states), bool)
    for state in inside:
        below[state : states.end[state]] = True
    outside = ~np.repeat(below[states.infoset_state], tree.num_actions)
    assert (policy.probabilities[outside] == blueprint.probabilities[outside]).all()


def test_an_action_that_does_not_pay_changes_nothing_for_the_opponent():
    """The best response within the abstraction stays the best if the alternatives are met."""
    tree, is_allowed, blueprint, inside = leduc_without_reraises()
    policy = cp.search.solve_outside_actions(tree, blueprint, is_allowed, CFR_PLUS, iterations=300)
    best = cp.judge(tree, policy).best_values
    assert (best >= inside.best_values - 1e-9).all()


def test_everything_allowed_returns_the_blueprint():
    tree = game_tree("kuhn_poker")
    blueprint = cp.uniform_policy(tree)
    is_allowed = np.ones(tree.num_sequences, bool)
    policy = cp.search.solve_outside_actions(tree, blueprint, is_allowed, CFR_PLUS)
    assert (policy.probabilities == blueprint.probabilities).all()


def test_wrong_masks_are_refused():
    tree = game_tree("kuhn_poker")
    blueprint = cp.uniform_policy(tree)
    with pytest.raises(ConfigError, match="one entry for each"):
        cp.search.solve_outside_actions(tree, blueprint, np.ones(3, bool), CFR_PLUS)
    mask = np.arange(tree.num_sequences) > 0
    with pytest.raises(ConfigError, match="plays actions that is_allowed leaves out"):
        cp.search.solve_outside_actions(tree, blueprint, mask, CFR_PLUS)
