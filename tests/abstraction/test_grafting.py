"""Strategy grafting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pytest import approx

import counterplay as cp
from counterplay.core.game import CHANCE, TERMINAL
from tests.conftest import game_tree
from tests.random_games import random_games


def exact(game):
    return cp.algorithms.solve_sequence_form_lp(game).policy


def worst(tree, policy, player):
    """Value of the player's policy against a best response."""
    return -cp.judge(tree, policy).best_values[1 - player]


@settings(max_examples=60)
@given(random_games(max_players=2, num_players=2, zero_sum=True), st.integers(0, 3))
def test_one_graft_never_lowers_the_worst_case(game, seed):
    """The part is everything below one of the player's infosets; the rest is a random policy."""
    tree = cp.build_tree(game)
    base = cp.random_policy(tree, seed) if tree.num_infosets else None
    for player in range(2):
        own = np.flatnonzero(tree.infoset_player == player)
        for first in own[:3]:
            inside = below(tree, first)
            grafted = cp.abstraction.graft_policy(tree, base, player, {1: inside}, exact)
            assert worst(tree, grafted, player) >= worst(tree, base, player) - 1e-9
            for infoset in set(range(tree.num_infosets)) - set(inside):
                assert grafted.probabilities_at(infoset) == base.probabilities_at(infoset)


def below(tree, infoset):
    """An infoset and its player's later ones."""
    found = {int(infoset)}
    for later, before in enumerate(tree.previous_infoset.tolist()):
        if before in found:
            found.add(later)
    return sorted(found)


@settings(max_examples=40)
@given(st.integers(0, 200))
def test_in_turn_never_lowers_the_worst_case(seed):
    """Every card is a part, which the opponent cannot see."""
    tree = game_tree("kuhn_poker")
    base = cp.random_policy(tree, seed)
    for player in range(2):
        grafted = cp.abstraction.graft_policy(
            tree, base, player, lambda key: 1 + int(key[0]), exact
        )
        assert worst(tree, grafted, player) >= worst(tree, base, player) - 1e-9


def test_the_whole_game_as_one_part_is_the_exact_policy(kuhn):
    base = cp.uniform_policy(kuhn)
    grafted = cp.abstraction.graft_policy(kuhn, base, 0, lambda key: 1, exact)
    assert worst(kuhn, grafted, 0) == approx(-1 / 18, abs=1e-9)
    assert (grafted["0p"]) == base["0p"]


@dataclass(frozen=True)
class TwoCards:
    """One hidden card, one action, one answer. Each graft uses the slack that only one may use."""

    num_players: ClassVar[int] = 2
    A: ClassVar = ((0, 10), (5, -5), (-50, -50))  # by action and answer
    B: ClassVar = ((0, 10), (-50, -50), (5, -5))

    def initial_state(self):
        return ()

    def player(self, state):
        return (CHANCE, 0, 1, TERMINAL)[len(state)]

    def actions(self, state):
        return (0, 1, 2) if len(state) == 1 else (0, 1)

    def chance_outcomes(self, state):
        return [(0, 0.5), (1, 0.5)]

    def next_state(self, state, action):
        return (*state, action)

    def utilities(self, state):
        won = (self.A, self.B)[state[0]][state[1]][state[2]]
        return [won, -won]

    def infoset_key(self, state, player):
        return f"card {'AB'[state[0]]}" if player == 0 and state else "answer"

    def action_name(self, state, action):
        return str(action)


def test_independent_grafts_may_lower_the_worst_case():
    """The base is the exact equilibrium of the abstraction, and the opponent sees everything."""
    tree = cp.build_tree(TwoCards())
    smaller = cp.abstraction.build_abstraction(tree, [["card A", "card B"]])
    base = smaller.lift(exact(smaller.tree))
    assert base["card A"] == approx({"0": 1.0, "1": 0.0, "2": 0.0}, abs=1e-9)
    assert worst(tree, base, 0) == approx(0.0, abs=1e-9)
    parts = {1: ["card A"], 2: ["card B"]}
    for number in parts:
        one = cp.abstraction.graft_policy(tree, base, 0, {number: parts[number]}, exact)
        assert worst(tree, one, 0) == approx(2.5)
    both = cp.abstraction.graft_policy(tree, base, 0, parts, exact, independent=True)
    assert worst(tree, both, 0) == approx(-5.0)
    in_turn = cp.abstraction.graft_policy(tree, base, 0, parts, exact)
    assert worst(tree, in_turn, 0) >= 2.5 - 1e-9


def by_table(key):
    """Leduc's second round, by the card on the table; the first round is the base's."""
    _, bar, second = key.partition("|")
    return 1 + "JQK".index(second[0]) if bar else 0


def test_grafting_regains_what_the_abstraction_lost():
    """Leduc with two buckets: the second round, card by card, without an abstraction."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    smaller = cp.abstraction.build_abstraction(tree, cp.abstraction.ByRank(("JQ", "K")))
    base = smaller.lift(exact(smaller.tree))
    grafted = base
    for player in range(2):
        grafted = cp.abstraction.graft_policy(tree, grafted, player, by_table, exact)
        assert worst(tree, grafted, player) >= worst(tree, base, player) - 1e-9
    before, after = cp.exploitability(tree, base), cp.exploitability(tree, grafted)
    assert before > 0.25
    assert after < 0.75 * before  # how far depends on which equilibria of the parts are found


def test_parts_may_have_an_abstraction_of_their_own():
    """Finer than the base's, or none; coarser opponents are only a hope."""
    tree = game_tree("leduc_poker(suit_isomorphism=true)")
    smaller = cp.abstraction.build_abstraction(tree, cp.abstraction.ByRank(("JQK",)))
    base = smaller.lift(exact(smaller.tree))
    sizes = []

    def solve(game):
        sizes.append(game.num_infosets)
        return exact(game)

    fine = cp.abstraction.ByRank(("JQ", "K"), distinguish_pairs=False)
    grafted = cp.abstraction.graft_policy(tree, base, 0, by_table, solve, buckets=fine)
    assert worst(tree, grafted, 0) > worst(tree, base, 0) + 0.1
    cp.abstraction.graft_policy(tree, base, 0, by_table, solve, buckets=fine, opponent_buckets=fine)
    cp.abstraction.graft_policy(tree, base, 0, by_table, solve)
    assert max(sizes[:3]) < min(sizes[6:])
    assert max(sizes[3:6]) < min(sizes[:3])


BAD = {
    "left": (lambda key: int(key == "0"), "'0' is in part 1, but '0pb', which follows it, is in p"),
    "other player": ({1: ["0p"]}, "'0p' of another player is in a part of player 0"),
    "unknown": ({1: ["0p9"]}, "has no infoset '0p9'"),
    "nothing": (lambda key: 0, "no infoset of player 0 is in a part from 1 on"),
    "negative": (lambda key: -1, "a part has the number -1"),
    "twice": ({1: ["0pb"], 2: ["0pb"]}, "infoset '0pb' is in two parts"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_parts(name, kuhn):
    parts, message = BAD[name]
    with pytest.raises(cp.ConfigError, match=message):
        cp.abstraction.graft_policy(kuhn, cp.uniform_policy(kuhn), 0, parts, exact)


def test_bad_player(kuhn, leduc):
    with pytest.raises(cp.ConfigError, match="player is 2, must be from 0 to 1"):
        cp.abstraction.graft_policy(kuhn, cp.uniform_policy(kuhn), 2, {1: ["0"]}, exact)
    with pytest.raises(cp.ConfigError, match="the policy is for leduc_poker"):
        cp.abstraction.graft_policy(kuhn, cp.uniform_policy(leduc), 0, {1: ["0"]}, exact)
