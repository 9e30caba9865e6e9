"""The walk through readable rules in batches: the same trees for any batches, and all errors."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.tree import build_rules
from tests.random_games import RandomGame


class Endless:
    """Action 0 goes on, action 1 ends the game."""

    num_players = 1

    def initial_state(self):
        return (0, False)

    def player(self, state):
        return cp.TERMINAL if state[1] else 0

    def actions(self, state):
        return (0, 1)

    def next_state(self, state, action):
        return (state[0] + 1, action == 1)

    def utilities(self, state):
        return [0.0]

    def infoset_key(self, state, player):
        return str(state[0])

    def action_name(self, state, action):
        return ("go", "stop")[action]


class FaultyLeduc(cp.games.LeducPoker):
    """Leduc poker with a fault in `method` where the history of bets is `bets`."""

    method, bets = "", "crc"

    def utilities(self, state):
        utilities = super().utilities(state)
        is_faulty = self.method == "utilities" and state.history == self.bets
        return utilities[:1] if is_faulty else utilities

    def actions(self, state):
        is_faulty = self.method == "actions" and state.history == self.bets
        return (0,) if is_faulty and state.cards[0] == 3 else super().actions(state)

    def next_state(self, state, action):
        if self.method == "next_state" and state.history == self.bets:
            raise KeyError("lost")
        return super().next_state(state, action)


GAMES = [
    cp.load_game("leduc_poker(suit_isomorphism=true)"),
    cp.load_game("kuhn_poker(players=3)"),
    cp.load_game("goofspiel(num_cards=3,players=3)"),
    RandomGame(seed=3, num_players=3, max_depth=5),
    RandomGame(seed=4, num_players=1, max_depth=5),
]


@pytest.mark.parametrize("game", GAMES, ids=str)
@pytest.mark.parametrize("size", [1, 7])
def test_the_size_of_batches_changes_nothing(game, size, monkeypatch):
    whole = cp.build_tree(game)
    monkeypatch.setattr(build_rules, "BATCH_SIZE", size)
    tree = cp.build_tree(game)
    for field in fields(cp.TreeArena):
        ours, theirs = getattr(tree, field.name), getattr(whole, field.name)
        if isinstance(ours, np.ndarray):
            assert np.array_equal(ours, theirs), field.name
        elif field.name != "form":
            assert ours == theirs, field.name
    assert all(map(np.array_equal, tree.form, whole.form))


def test_a_game_without_end_is_refused():
    with pytest.raises(cp.GameError, match="still not over after 10,000 actions; history: go, go"):
        cp.build_tree(Endless())


@pytest.mark.parametrize(
    ("method", "bets", "problem"),
    [
        ("utilities", "crf", "1 utilities for 2 players; history: .*call, raise, fold$"),
        ("actions", "c", r"has actions \[0\] here but \[1, 2\] elsewhere; history: .*call$"),
        ("next_state", "r", "the rules raised KeyError: 'lost'; history: .*raise$"),
    ],
)
@pytest.mark.parametrize("size", [2, 1_000])
def test_faults_name_their_history(method, bets, problem, size, monkeypatch):
    monkeypatch.setattr(build_rules, "BATCH_SIZE", size)
    monkeypatch.setattr(FaultyLeduc, "method", method)
    monkeypatch.setattr(FaultyLeduc, "bets", bets)
    with pytest.raises(cp.GameError, match=problem):
        cp.build_tree(FaultyLeduc())
