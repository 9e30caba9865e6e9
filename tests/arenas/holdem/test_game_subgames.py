"""Subgames of hold'em games as vectors: ranges and values against trees, safety of the gadget."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_gifts import last_gaps, sum_gifts
from counterplay.arenas.holdem.game_subgames import (
    METHODS,
    StreetSubgames,
    opponent_mass,
    resolve_street,
)
from counterplay.arenas.public_states import public_values
from counterplay.core.cards import card_name
from tests.arenas.holdem.test_game_arena import LEDUC, table_indices

SAFE_METHODS = ("resolve", "max_margin", "reach_max_margin")
FIRST_PLAYER = 0  # opens every round of Leduc poker


@cache
def leduc_blueprint():
    """An arena without isomorphism, and a blueprint after a few iterations of CFR+."""
    arena = HoldemGameArena(cp.load_game(LEDUC), "float64", isomorphism=False)
    return arena, cp.solve(arena, cp.algorithms.CFRPlus(), iterations=300).policy


def test_ranges_and_best_response_values_equal_those_of_the_tree():
    arena, policy = leduc_blueprint()
    tree, indices = cp.build_tree(arena.game), table_indices(arena)
    flat = []
    for infoset, key in enumerate(tree.infoset_keys):
        weights = policy.weights[indices[int(tree.infoset_player[infoset]), key]]
        uniform = np.ones(weights.size) / weights.size
        flat.append(weights / weights.sum() if weights.sum() > 0.0 else uniform)
    values = public_values(tree, cp.Policy(tree, np.concatenate(flat)))
    best = values.counterfactual_best_response_values(FIRST_PLAYER)
    ranges = values.range(FIRST_PLAYER)
    expected = {}
    for entry, node in enumerate(values.states.entry.tolist()):
        if tree.infoset[node] >= 0 and tree.infoset_player[tree.infoset[node]] == FIRST_PLAYER:
            view = values.states.view[entry, FIRST_PLAYER]
            expected[tree.infoset_keys[tree.infoset[node]]] = ranges[view], best[view]
    subgames, count = StreetSubgames(policy, 1), 0
    scale = arena.streets[1].chance / arena.num_pairs
    for root, (_, block, board, _) in enumerate(subgames.roots.tolist()):
        node = arena.betting.block_starts[block]
        history = arena.public_history(node, board)
        for h, (card,) in enumerate(arena.hand_cards(1, board).tolist()):
            own_range, value = expected[f"{card_name(card)}:{history}"]
            assert subgames.ranges[FIRST_PLAYER][root, h] == pytest.approx(own_range, abs=1e-12)
            best_value = subgames.best_response_values[FIRST_PLAYER][root, h] * scale
            assert best_value == pytest.approx(value, abs=1e-9)
            count += 1
    assert count == len(subgames.roots) * 5 > 100


def test_zero_sum_values_add_up_to_zero():
    subgames = StreetSubgames(leduc_blueprint()[1], 1)
    total = sum(
        (r * v).sum(axis=1) for r, v in zip(subgames.ranges, subgames.zero_sum_values, strict=True)
    )
    np.testing.assert_allclose(total, 0.0, atol=1e-12)
    gains = sum(
        (r * v).sum(axis=1)
        for r, v in zip(subgames.ranges, subgames.best_response_values, strict=True)
    )
    assert gains.min() > -1e-9 and gains.max() > 1e-6


def test_mixed_range_equals_its_definition():
    subgames, rng = StreetSubgames(leduc_blueprint()[1], 1), np.random.default_rng(0)
    reach, follow = rng.random((2, 4, 5)) ** 4
    result = subgames.mix_range(reach, follow)
    for r, f, mixed in zip(reach, follow, result, strict=True):
        added = sum((1 - a) * b for a, b in zip(r, f, strict=True))
        s = min(1.0, 0.2 * sum(r) / added)
        u = 0.1 * (sum(r) + s * added) / 5
        expected = [min(1.0, a + s * (1 - a) * b + u) for a, b in zip(r, f, strict=True)]
        np.testing.assert_allclose(mixed, expected)


def test_gadget_is_safe_and_unsafe_is_not():
    arena, policy = leduc_blueprint()
    before = cp.exploitability(arena, policy)
    after = {
        method: cp.exploitability(arena, resolve_street(policy, 1, method, 400))
        for method in METHODS
    }
    assert all(after[method] < before + 2e-3 for method in SAFE_METHODS)
    assert after["unsafe"] > before + 1e-2
    assert after["combined"] < after["unsafe"]


def test_isomorphism_does_not_change_resolved_policies():
    game, results = cp.load_game("custom_holdem(num_ranks=3,board_cards=(0,1,1),stacks=(8,8))"), []
    for isomorphism in (True, False):
        arena = HoldemGameArena(game, "float64", isomorphism)
        policy = cp.solve(arena, cp.algorithms.CFRPlus(), iterations=5).policy
        values = [
            cp.judge(arena, resolve_street(policy, street, "resolve", 4)).best_values
            for street in (1, 2)
        ]
        results.append(values)
    np.testing.assert_allclose(results[0], results[1], atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"street": 0}, "street is 0, must be from 1 to 1"),
        ({"street": 1, "method": "magic"}, "method is 'magic', must be one of unsafe"),
        ({"street": 1, "iterations": 0}, "iterations is 0, must be at least 1"),
        (
            {"street": 1, "algorithm": cp.algorithms.SequenceFormLP()},
            "does not run on hold.em arenas",
        ),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(cp.ConfigError, match=message):
        resolve_street(leduc_blueprint()[1], **arguments)


def smallest_margins(policy, before, player):
    """The smallest margin [R] of a player over its opponent's CBVs, per unit of its own reach."""
    mass = opponent_mass(before.arena, before.street, before.ranges[player])
    after = StreetSubgames(policy, before.street).best_response_values[1 - player]
    gain = before.best_response_values[1 - player] - after
    margin = np.divide(gain, mass, out=np.full_like(mass, np.inf), where=mass > 1e-9)
    return margin.min(axis=1)


@cache
def policy_on_tree():
    """The tree of Leduc poker, and the blueprint on it."""
    arena, policy = leduc_blueprint()
    tree, indices = cp.build_tree(arena.game), table_indices(arena)
    flat = np.zeros(tree.num_sequences)
    for infoset, key in enumerate(tree.infoset_keys):
        weights = policy.weights[indices[int(tree.infoset_player[infoset]), key]]
        uniform = np.ones(weights.size) / weights.size
        row = weights / weights.sum() if weights.sum() > 0.0 else uniform
        flat[tree.offset[infoset] : tree.offset[infoset + 1]] = row
    return tree, cp.Policy(tree, flat)


def public_state_of(arena, tree, states, block, board):
    """Return the number of the public state of a root."""
    history = arena.public_history(arena.betting.block_starts[block], board)
    (card,) = arena.hand_cards(1, board)[0].tolist()
    infoset = tree.find_infoset(f"{card_name(card)}:{history}", FIRST_PLAYER)
    return int(states.infoset_state[infoset])


@pytest.mark.parametrize("opponent", [0, 1])
@pytest.mark.parametrize(
    ("method", "added"), [("reach_max_margin", sum_gifts), ("estimate", last_gaps)]
)
def test_gifts_and_gaps_equal_those_of_the_tree(opponent, method, added):
    arena, policy = leduc_blueprint()
    (tree, flat), subgames = policy_on_tree(), StreetSubgames(policy, 1)
    states, result, count = cp.search.public_states(tree), added(subgames, opponent), 0
    for root, (_, block, board, _) in enumerate(subgames.roots.tolist()):
        if subgames.ranges[1 - opponent][root].min() < 1e-6:
            continue
        state = public_state_of(arena, tree, states, block, board)
        values = [
            cp.search.build_subgame(tree, flat, state, 1 - opponent, m).alternatives
            for m in (method, "max_margin")
        ]
        expected = np.sort(values[0] - values[1])
        np.testing.assert_allclose(np.sort(result[root]), expected, atol=1e-6)
        count += int(np.abs(expected).max() > 1e-4)
    assert count > 3


def test_gifts_of_two_streets_are_added():
    """Methods run from the third street on; gifts there are at least those of the second one."""
    game = cp.load_game("custom_holdem(num_ranks=3,board_cards=(0,1,1),stacks=(8,8))")
    arena = HoldemGameArena(game, "float64")
    policy = cp.solve(arena, cp.algorithms.CFRPlus(), iterations=5).policy
    early, late = (sum_gifts(StreetSubgames(policy, street), 0) for street in (1, 2))
    assert late.min() >= -1e-9 and late.max() >= early.max() - 1e-9 > 0.0
    before = cp.exploitability(arena, policy)
    for method in ("reach_max_margin", "estimate"):
        assert cp.exploitability(arena, resolve_street(policy, 2, method, 100)) < before


def test_largest_smallest_margins_equal_those_of_linear_programmes_on_the_tree():
    arena, policy = leduc_blueprint()
    tree, flat = policy_on_tree()
    states = cp.search.public_states(tree)
    subgames = StreetSubgames(policy, 1)
    solved = resolve_street(policy, 1, "max_margin", 1000, algorithm=cp.algorithms.DCFR(gamma=3))
    margins = smallest_margins(solved, subgames, FIRST_PLAYER)
    count = 0
    for root, (_, block, board, _) in enumerate(subgames.roots.tolist()):
        state = public_state_of(arena, tree, states, block, board)
        reach = subgames.ranges[FIRST_PLAYER][root]
        if reach.sum() < 1e-3:
            continue
        subgame = cp.search.build_subgame(tree, flat, state, FIRST_PLAYER, "max_margin")
        solution = subgame.solve(cp.algorithms.SequenceFormLP())
        expected = cp.judge(subgame.tree, solution).values[FIRST_PLAYER]
        assert margins[root] == pytest.approx(expected, abs=0.02)
        count += 1
    assert count > 10


@pytest.mark.parametrize("name", ["dcfr(gamma=3)", "cfr_plus", "pcfr_plus"])
@pytest.mark.parametrize("method", METHODS)
def test_algorithms_of_the_cfr_family_solve_subgames(name, method):
    arena, policy = leduc_blueprint()
    algorithm, before = cp.load_algorithm(name), cp.exploitability(arena, policy)
    solved = resolve_street(policy, 1, method, 300, algorithm=algorithm)
    after = cp.exploitability(arena, solved)
    assert (after < before + 2e-3) == (method in SAFE_METHODS)
    above = [n for n, node in enumerate(arena.betting.nodes) if node.state.street == 0]
    for node in (n for n in above if arena.betting.nodes[n].kind < 2):
        piece = arena.piece_slice(node, 0)
        assert (solved.weights[piece] == policy.weights[piece]).all()
