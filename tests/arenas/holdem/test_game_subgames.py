"""Subgames of hold'em games as vectors: ranges and values against trees, safety of the gadget."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_subgames import StreetSubgames, resolve_street
from counterplay.arenas.public_states import public_values
from counterplay.core.cards import card_name
from tests.arenas.holdem.test_game_arena import LEDUC, table_indices

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
        for method in ("unsafe", "resolve", "combined")
    }
    assert after["resolve"] < before + 2e-3
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
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(cp.ConfigError, match=message):
        resolve_street(leduc_blueprint()[1], **arguments)
