"""Safe searches with values of public beliefs: exact leaf values, agents and tables, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.belief_subgames import belief_game
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.search.belief_search import SafeSearchAgent
from counterplay.search.belief_solver import BeliefSolver, MarginGadget
from counterplay.search.belief_tabulation import tabulate_search
from counterplay.search.safe_search import SafeSearch
from counterplay.search.value_network import SolvedValues
from tests.conftest import game_tree

DICE = "liars_dice(dice_sides=3)"
EVERY_CUT = [("kuhn_poker", 1), (DICE, 2), ("leduc_poker", 0)]


def exact_search(spec, depth, iterations=100):
    """A search that is cut at every depth, and exact values at the leaves."""
    game = belief_game(game_tree(spec))
    return SafeSearch(BeliefSolver(game, depth), SolvedValues(game, 100), iterations)


def uniform_exploitability(tree):
    return cp.exploitability(tree, cp.uniform_policy(tree))


@pytest.mark.parametrize(("spec", "depth"), EVERY_CUT)
def test_with_exact_values_at_every_cut_safe_searches_solve_the_game(spec, depth):
    tree = game_tree(spec)
    policy = exact_search(spec, depth).policy()
    assert cp.exploitability(tree, policy) < 0.02 * uniform_exploitability(tree)


@pytest.mark.parametrize(("spec", "depth"), EVERY_CUT[:2])
def test_with_exact_values_at_every_cut_drawn_policies_solve_the_game(spec, depth):
    tree, search = game_tree(spec), exact_search(spec, depth)
    rng = np.random.default_rng(0)
    policy = tabulate_search(search.solver, search.network, 100, 100, rng)
    assert cp.exploitability(tree, policy) < 0.05 * uniform_exploitability(tree)


def test_without_leaves_a_safe_search_is_the_solution():
    tree = game_tree(DICE)
    game = belief_game(tree)
    search = SafeSearch(BeliefSolver(game, None), SolvedValues(game), 1000)
    assert cp.exploitability(tree, search.policy()) < 1e-3


@pytest.mark.parametrize(("spec", "depth"), [("kuhn_poker", 1), (DICE, 2), ("leduc_poker", 0)])
def test_agent_answers_as_its_policy(spec, depth):
    tree = game_tree(spec)
    search = exact_search(spec, depth, iterations=20)
    search.network.iterations = 20
    agent, states = SafeSearchAgent(search), first_infoset_states(tree)
    policy = search.policy()
    for infoset in range(0, tree.num_infosets, 7):
        player = int(tree.infoset_player[infoset])
        row = agent.action_probabilities(states[infoset], player)
        first, last = tree.offset[infoset : infoset + 2]
        # products of matrices of other sizes differ in the last bits
        assert row == approx(policy.probabilities[first:last], abs=1e-6)
    report = agent.search_report(states[0], int(tree.infoset_player[0]))
    assert report.facts["public state"]
    for range_report in report.ranges:
        assert sum(range_report.probabilities) == approx(1.0)


def test_a_gadget_finds_the_largest_smallest_margin():
    """With the same value for all views, the opponent ends with that of the least alternative."""
    game = belief_game(game_tree("kuhn_poker"))
    kind, opponents = np.ones(1, np.int64), np.ones(1, np.int64)
    assert game.views[1].tolist() == [3, 3]
    gadget = MarginGadget(game, kind, opponents, np.array([[0.1, 0.2, 0.0]]))
    share = game.view_chance[1, 1]
    gradient = np.concatenate([np.zeros(3), 0.2 * share])[None]
    for _ in range(200):
        gadget.update(gradient)
    assert gadget.choice[0] == approx([0.0, 0.0, 1.0], abs=1e-6)
    reach = np.ones((1, 6))
    gadget.set_reach(reach)
    assert reach[0] == approx([1.0, 1.0, 1.0, 0.0, 0.0, 1.0 / share[2]])


@pytest.mark.parametrize("spec", ["kuhn_poker", DICE])
def test_views_outside_a_range_have_the_values_of_a_tiny_share(spec):
    """A view that a range leaves out has the value of one with a small share of it."""
    game = belief_game(game_tree(spec))
    solver, count = BeliefSolver(game, None), int(game.views[1, 0])
    without, small = np.ones((2, game.max_views)), np.ones((2, game.max_views))
    without[0, count - 1], small[0, count - 1] = 0.0, 1e-6
    rng, kind = np.random.default_rng(0), np.array([1])
    first, second = (solver.solve(kind, r[None], None, 300, rng) for r in (without, small))
    assert first.values[0] == approx(second.values[0], abs=0.02)


def test_a_player_who_never_gets_to_a_leaf_has_probabilities_there():
    tree, search = game_tree(DICE), exact_search(DICE, 1, iterations=5)
    policy = search.policy()
    totals = np.add.reduceat(policy.probabilities, tree.offset[:-1])
    assert totals == approx(np.ones(tree.num_infosets))
    assert isinstance(policy, Policy)


def test_unknown_policies_are_refused():
    pytest.importorskip("jax")
    with pytest.raises(ConfigError, match="policy is 'mean', must be drawn or average"):
        cp.search.BeliefSearch(policy="mean")
    with pytest.raises(ConfigError, match="rebel: policy is 'mean'"):
        cp.load_algorithm("rebel(policy=mean)")
