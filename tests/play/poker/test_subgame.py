"""Subgames of no-limit hold'em: trees, solutions, safe re-solving."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.core.cards import parse_cards
from counterplay.core.game import CHANCE
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL
from counterplay.play.poker.subgame import (
    SubgameArena,
    SubgamePolicy,
    alternative_values,
    mix_range,
    solve_subgame,
)

GAME = cp.load_game("no_limit_holdem(stack=2000,sizes='a|a|a|1,a;a;')")
CARDS = parse_cards("AsKd7h7cTd9d6hQc2s")


def state_after(*actions, game=GAME):
    state, cards = game.initial_state(), iter(CARDS)
    for action in (*actions, None):
        while state.to_act == CHANCE:
            state = game.next_state(state, next(cards))
        if action is not None:
            state = game.next_state(state, action)
    return state


RIVER = state_after(CALL, CALL, CALL, CALL, CALL, CALL)


@pytest.fixture(scope="module")
def arena():
    return SubgameArena(GAME, RIVER)


def even_ranges(arena):
    size = len(arena.live)
    return np.full(size, 1.0 / size), np.ones(size)


def gain_of_best_responses(policy, ranges):
    """The sum of both players' gains, in chips, over the pairs of hands."""
    arena = policy.arena
    values = [policy.best_values(p, ranges)[0] for p in (0, 1)]
    pairs = float(ranges[0] @ arena.mass(ranges[1]))
    return sum(float(ranges[p] @ values[p]) for p in (0, 1)) / pairs - arena.spot.pot


def test_tree_follows_the_rules(arena):
    assert arena.spot.pot == 200 and arena.spot.stack == 1900
    assert arena.actions[0] == (1, 300, 2000) and len(arena.live) == 1081
    assert arena.betting.nodes[0].kind == 0


def test_solution_is_near_equilibrium(arena):
    ranges = even_ranges(arena)
    policy = solve_subgame(arena, ranges, 0, iterations=150)
    assert 0.0 <= gain_of_best_responses(policy, ranges) < 0.005 * arena.spot.pot
    rows = policy.probabilities_at(0)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    assert not ((rows > 0.0) & (rows < 0.02)).any()  # thresholding


def test_alternatives_of_both_players_add_up_to_the_pot(arena):
    ranges = even_ranges(arena)
    policy = SubgamePolicy(arena, np.ones(arena.num_sequences, np.float32))
    total = sum(
        float(ranges[p] @ alternative_values(policy, 0, p, ranges)) for p in (0, 1)
    ) / float(ranges[0] @ arena.mass(ranges[1]))
    assert total == pytest.approx(arena.spot.pot, rel=1e-4)


@pytest.mark.parametrize("method", ["resolve", "combined"])
def test_safe_methods_do_not_lose_to_the_policy_they_replace(arena, method):
    """The opponent's best response to the new policy is worth at most that to the old one."""
    ranges, player = even_ranges(arena), 0
    old = SubgamePolicy(arena, np.ones(arena.num_sequences, np.float32))
    before = old.best_values(1, ranges)[0]
    alternatives = alternative_values(old, 0, 1, ranges)
    new = solve_subgame(arena, ranges, player, alternatives, method, 150)
    after = new.best_values(1, ranges)[0]
    assert after.sum() < 0.7 * before.sum()
    if method == "resolve":  # `combined` gives up safety for the range it expects
        share = 0.02 * arena.spot.pot * float(arena.mass(ranges[0]).mean())
        assert (after <= np.maximum(before, alternatives) + share).mean() > 0.99


def test_subgames_begin_in_the_middle_of_a_street():
    state = GAME.next_state(RIVER, 300)
    arena = SubgameArena(GAME, state)
    assert arena.spot.pot == 200 and arena.actions[0] == (0, 1, 2000)
    whole = SubgameArena(GAME, RIVER)
    child = whole.betting.nodes[whole.betting.nodes[0].first_child + 1]
    assert arena.betting.nodes[0].state.contributions == child.state.contributions == (200, 0)
    # values of the same uniform policy agree with those of the whole street at that node
    ranges = even_ranges(arena)
    part, full = (SubgamePolicy(a, np.ones(a.num_sequences, np.float32)) for a in (arena, whole))
    for player in (0, 1):
        reached = [ranges[0] * 3.0, ranges[1]]  # the bet has probability 1/3
        node = whole.betting.nodes[0].first_child + 1
        expected = full.best_values(player, (reached[0], reached[1]))[node]
        got = part.best_values(player, ranges)[0]
        np.testing.assert_allclose(got, expected, rtol=2e-4)


def test_turn_subgame_deals_all_rivers():
    turn = state_after(CALL, CALL, CALL, CALL)
    game = cp.load_game("no_limit_holdem(stack=2000,sizes='a|a|a;|a;')")
    arena = SubgameArena(game, turn)
    assert arena.boards.level_sizes == [1, 48]
    ranges = even_ranges(arena)
    policy = solve_subgame(arena, ranges, 1, iterations=2)
    assert np.isfinite(policy.weights).all()
    assert HoldemPolicy(arena, policy.weights, policy.weights[:0]).judge(arena)


def test_mixed_range_has_the_stated_shares():
    reach, follow = np.array([1.0, 0.5, 0.0, 0.0]), np.array([1.0, 1.0, 1.0, 0.0])
    mixed = mix_range(reach, follow)
    added, scale = 0.5 + 1.0, 0.2 * 1.5 / 1.5
    uniform = 0.1 * (1.5 + scale * added) / 4
    expected = np.minimum(reach + scale * (1 - reach) * follow + uniform, 1.0)
    np.testing.assert_allclose(mixed, expected)
    assert (mixed > 0.0).all()


def test_unknown_methods_and_streets_are_refused(arena):
    with pytest.raises(ConfigError, match="must be one of unsafe, resolve, combined"):
        solve_subgame(arena, even_ranges(arena), 0, method="magic")
    with pytest.raises(ConfigError, match="begins on the flop or later"):
        SubgameArena(GAME, state_after())
