"""The walk of readable rules: histories in errors, outcomes, infosets with imperfect recall."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.tree import rules_walk
from counterplay.games.kuhn_poker import KuhnPoker


class FaultyKuhn(KuhnPoker):
    """Kuhn poker with utilities that are wrong after some histories."""

    wrong: tuple[object, ...] = ()
    replacement: object = None

    def utilities(self, state):
        return self.replacement if state in self.wrong else super().utilities(state)


def states_at(game, histories):
    states = []
    for history in histories:
        state = game.initial_state()
        for action in history:
            state = game.next_state(state, action)
        assert game.player(state) == cp.TERMINAL
        states.append(state)
    return tuple(states)


@pytest.mark.parametrize("replacement", [[np.nan, 0.0], [1.0], [np.inf, -np.inf], ["1", "-1"]])
def test_errors_name_the_history_of_the_first_wrong_terminal(monkeypatch, replacement):
    game = FaultyKuhn()
    # the second of the two comes first in the walk
    monkeypatch.setattr(FaultyKuhn, "replacement", replacement)
    monkeypatch.setattr(FaultyKuhn, "wrong", states_at(game, [(2, 0, 1, 0), (1, 2, 0, 1, 1)]))
    with pytest.raises(cp.GameError, match=r"history: deal 1, deal 2, pass, bet, bet$"):
        cp.build_tree(game)


class ListedOutcomes(KuhnPoker):
    """Kuhn poker whose outcomes are lists of lists."""

    def chance_outcomes(self, state):
        return [[action, p] for action, p in super().chance_outcomes(state)]

    def utilities(self, state):
        return np.array(super().utilities(state))


@pytest.mark.parametrize("max_known", [rules_walk.MAX_KNOWN_OUTCOMES, 1])
def test_outcomes_and_utilities_may_be_any_sequences(monkeypatch, max_known):
    monkeypatch.setattr(rules_walk, "MAX_KNOWN_OUTCOMES", max_known)
    tree, expected = cp.build_tree(ListedOutcomes()), cp.build_tree("kuhn_poker")
    for name in ("action", "chance", "infoset", "parent", "player", "utility"):
        assert np.array_equal(getattr(tree, name), getattr(expected, name)), name
    assert all(map(np.array_equal, tree.form, expected.form))


class ForgetfulKuhn(KuhnPoker):
    """Kuhn poker in which players forget their cards after the first action."""

    def infoset_key(self, state, player):
        key = super().infoset_key(state, player)
        return key if len(key) < 3 else key[1:]


def test_histories_with_different_pasts_share_an_infoset_of_the_game():
    tree, full = cp.build_tree(ForgetfulKuhn()), cp.build_tree("kuhn_poker")
    assert not tree.has_perfect_recall
    assert (tree.num_infosets, full.num_infosets) == (10, 12)
    assert sum(key == "pb" for key in tree.infoset_keys) == 1
    form, expected = tree.form, full.form  # players remember their cards in the form
    assert np.array_equal(form.offset, expected.offset)
    assert np.array_equal(form.parent, expected.parent)
    assert np.array_equal(form.weight, expected.weight)
    assert tree.perfect_recall_tree.num_infosets == 12


def test_depths_and_siblings_of_a_path_and_a_star():
    path, star = np.arange(-1, 99), np.array([-1] + 5 * [0])
    assert rules_walk._node_depths(path).tolist() == list(range(100))
    assert rules_walk._node_depths(star).tolist() == [0, 1, 1, 1, 1, 1]
    assert not rules_walk._sibling_positions(path).any()
    assert rules_walk._sibling_positions(star).tolist() == [0, 0, 1, 2, 3, 4]
