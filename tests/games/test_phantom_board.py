"""Phantom games: OpenSpiel's rules step by step, and other invariants."""

from __future__ import annotations

import random

import pytest

import counterplay as cp
from counterplay.games.winner import NO_PLAYER

BOARDS = [(2, 2), (2, 3), (3, 2)]  # OpenSpiel overlooks wins on boards one cell wide
OTHERS = ["dark_hex", "dark_hex(gameversion=adh)", "dark_hex(num_rows=4,num_cols=3)"]
OTHERS += ["phantom_tic_tac_toe", "phantom_tic_tac_toe(gameversion=abrupt)"]


def both(spec):
    pyspiel = pytest.importorskip("pyspiel")
    theirs = pyspiel.load_game(spec.replace("tic_tac_toe", "ttt"))
    game = cp.load_game(spec)
    return game, game.initial_state(), theirs.new_initial_state()


def compare(game, ours, theirs, strings):
    """Compare one state; the actions that lead on. OpenSpiel may tell more infosets apart."""
    if theirs.is_terminal():
        assert game.player(ours) == cp.TERMINAL
        assert list(game.utilities(ours)) == theirs.returns()
        return []
    player = game.player(ours)
    assert player == theirs.current_player()
    assert list(game.actions(ours)) == theirs.legal_actions()
    key, string = game.infoset_key(ours, player), theirs.information_state_string(player)
    assert strings.setdefault((player, string), key) == key
    return game.actions(ours)


@pytest.mark.parametrize("version", ["cdh", "adh"])
@pytest.mark.parametrize(("rows", "columns"), BOARDS)
def test_same_as_openspiel_everywhere(rows, columns, version):
    game, *start = both(f"dark_hex(num_rows={rows},num_cols={columns},gameversion={version})")
    strings, keys, stack = {}, set(), [start]
    while stack:
        ours, theirs = stack.pop()
        for action in compare(game, ours, theirs, strings):
            keys.add((game.player(ours), game.infoset_key(ours, game.player(ours))))
            stack.append((game.next_state(ours, action), theirs.child(action)))
    if version == "adh":
        assert len(keys) == len(strings)  # the very same infosets


@pytest.mark.parametrize("spec", OTHERS)
def test_same_as_openspiel_in_playthroughs(spec):
    game, *start = both(spec)
    rng, strings = random.Random(1), {}
    for _ in range(100):
        ours, theirs = start
        while actions := compare(game, ours, theirs, strings):
            action = rng.choice(actions)
            ours, theirs = game.next_state(ours, action), theirs.child(action)


@pytest.mark.parametrize("spec", OTHERS)
def test_hex_has_a_winner_and_players_see_only_their_attempts(spec):
    game, rng = cp.load_game(spec), random.Random(2)
    for _ in range(50):
        state = game.initial_state()
        while game.player(state) != cp.TERMINAL:
            player, other = state.turn, 1 - state.turn
            before = game.observation(state, other), game.infoset_key(state, other)
            state = game.next_state(state, rng.choice(game.actions(state)))
            assert (game.observation(state, other), game.infoset_key(state, other)) == before
            failed = state.turn == player
            assert not (failed and game.is_abrupt)
        if "hex" in spec:
            assert state.winner != NO_PLAYER


def test_boards_are_drawn_and_checked():
    assert cp.load_game("dark_hex(num_rows=2)").board(None) == "0 1 2\n  3 4 5"
    assert cp.load_game("phantom_tic_tac_toe").board(None).count("\n") == 2
    for spec in ("dark_hex(num_rows=0)", "dark_hex(num_cols=20)", "dark_hex(gameversion=x)"):
        with pytest.raises(cp.ConfigError, match=r"dark_hex: .* must be"):
            cp.load_game(spec)
    with pytest.raises(cp.ConfigError, match="must be one of classical, abrupt"):
        cp.load_game("phantom_tic_tac_toe(gameversion=cdh)")
