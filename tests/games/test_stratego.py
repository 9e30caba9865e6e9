"""Small Stratego: attacks by the book, moves by hand, hidden ranks, compiled rules."""

from __future__ import annotations

import random

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.rules import TabularPolicy
from counterplay.games import stratego
from counterplay.games.stratego import ARMY, NUM_SQUARES, SIDE, UNDECIDED, Stratego, StrategoState

GAME = Stratego()
# winner by attacker (row) and defender: a attacker, d defender, b both are removed
ATTACKS = {
    "S": {"F": "a", "B": "d", "S": "b", "2": "d", "3": "d", "8": "d", "9": "a"},
    "2": {"F": "a", "B": "d", "S": "a", "2": "b", "3": "d", "8": "d", "9": "d"},
    "3": {"F": "a", "B": "a", "S": "a", "2": "a", "3": "b", "8": "d", "9": "d"},
    "8": {"F": "a", "B": "d", "S": "a", "2": "a", "3": "a", "8": "b", "9": "d"},
    "9": {"F": "a", "B": "d", "S": "a", "2": "a", "3": "a", "8": "a", "9": "b"},
}


def board_from_rows(*rows):
    """Return a state from rows of kinds; those of player 1 have an apostrophe, ~ is a lake."""
    board = []
    for row in rows:
        for word in row.split():
            owner = 1 if word.endswith("'") else 0
            kind = stratego.KIND_NAMES.find(word[0])
            board.append(0 if word in ".~" else 1 + kind + 7 * owner)
    assert len(board) == NUM_SQUARES
    return StrategoState(tuple(board), placements=(0,) * 20)


def random_episode(seed):
    rng, state = random.Random(seed), GAME.initial_state()
    while GAME.player(state) != cp.TERMINAL:
        yield state
        state = GAME.next_state(state, rng.choice(GAME.actions(state)))
    yield state


def test_attacks_are_those_of_the_rule_book():
    for attacker, row in ATTACKS.items():
        for defender, outcome in row.items():
            state = board_from_rows(
                ". . . . . F'",
                *[". . . . . ."] * 3,
                f". {attacker} {defender}' . . F",
                "3 . 3' . . .",
            )
            after = GAME.next_state(state, 25 * NUM_SQUARES + 26)
            assert after.board[25] == 0 and after.moves[-1] == f"25-26x{attacker}{defender}"
            mine, theirs = state.board[25], state.board[26]
            assert after.board[26] == {"a": mine, "d": theirs, "b": 0}[outcome]
            assert after.winner == (0 if defender == "F" else UNDECIDED)
            if outcome != "b":
                assert after.marks[26] & stratego.REVEALED


def test_pieces_move_as_they_should():
    state = board_from_rows(
        "3' . . . . .", ". . . . . .", "2 ~ . . ~ .", ". ~ . 9 ~ .", ". . B F . .", ". S . . . ."
    )
    moves = {}
    for action in GAME.actions(state):
        start, to = divmod(action, NUM_SQUARES)
        moves.setdefault(start, set()).add(to)
    assert moves == {
        12: {0, 6, 18, 24, 30},  # the scout, up to the opponent's piece; the lake is in the way
        21: {15, 20},  # the marshal: the lake, and the own flag below
        31: {25, 30, 32},  # the spy
    }


def test_a_long_way_shows_a_scout_and_a_short_one_does_not():
    state = board_from_rows("3' . . . . .", *[". . . . . ."] * 4, "2 . . . . F")
    for to, mark in ((24, stratego.MOVED), (12, stratego.MOVED | stratego.REVEALED)):
        assert GAME.next_state(state, 30 * NUM_SQUARES + to).marks[to] == mark


def test_the_game_ends_without_moves_and_at_the_limit():
    state = board_from_rows("3' F' . . . .", "9 . . . . .", *[". . . . . ."] * 3, ". . . . . F")
    after = GAME.next_state(state, 6 * NUM_SQUARES)  # the last piece that can move is captured
    assert after.winner == 0 and GAME.utilities(after) == (1.0, -1.0)
    short = Stratego(max_moves=1)
    after = short.next_state(state, 6 * NUM_SQUARES + 7)
    assert short.player(after) == cp.TERMINAL and short.utilities(after) == (0.0, 0.0)


@pytest.mark.parametrize("seed", range(3))
def test_hidden_ranks_change_nothing_that_a_player_sees(seed):
    """Other kinds under the opponent's hidden pieces: the same key, observation and actions."""
    rng = random.Random(seed)
    for state in list(random_episode(seed))[20:-1:7]:
        player = GAME.player(state)
        hidden = [
            square
            for square, piece in enumerate(state.board)
            if piece and (piece - 1) // 7 != player and not state.marks[square] & 2
        ]
        board, kinds = list(state.board), [state.board[square] for square in hidden]
        rng.shuffle(kinds)
        for square, kind in zip(hidden, kinds, strict=True):
            board[square] = kind
        other = state._replace(board=tuple(board))
        assert GAME.observation(other, player) == GAME.observation(state, player)
        assert GAME.actions(other) == GAME.actions(state)
        assert GAME.infoset_key(other, player) == GAME.infoset_key(state, player)


def test_mirrored_boards_have_mirrored_moves():
    def mirror(square):
        return square // SIDE * SIDE + SIDE - 1 - square % SIDE

    for state in list(random_episode(5))[20:-1:9]:
        player = GAME.player(state)
        board = tuple(state.board[mirror(square)] for square in range(NUM_SQUARES))
        mirrored = {
            mirror(a // NUM_SQUARES) * NUM_SQUARES + mirror(a % NUM_SQUARES)
            for a in GAME.actions(state)
        }
        assert set(stratego.legal_moves(board, player)) == mirrored


def test_placements_use_every_piece_once_on_the_own_side():
    state = list(random_episode(1))[20]
    for player, rows in ((0, range(24, 36)), (1, range(12))):
        kinds = [(p - 1) % 7 for p in state.board if p and (p - 1) // 7 == player]
        assert sorted(kinds) == sorted(ARMY)
        assert all(
            state.board[k] == 0 or k in rows or state.board[k] > 7 * (1 - player)
            for k in range(NUM_SQUARES)
        )
    assert all(state.board[lake] == 0 for lake in stratego.LAKES)


def test_compiled_rules_are_the_rules():
    for game in (GAME, Stratego(max_moves=200)):
        compiled = cp.games.find_compiled_game(game)
        assert cp.games.check_compiled_game(game, compiled, max_nodes=50, num_episodes=4) == 50


def test_networks_learn_on_the_rules():
    """R-NaD takes steps on Stratego, which change its policy, and the policy plays."""
    pytest.importorskip("jax")
    arena = cp.RulesArena(Stratego(max_moves=10))
    algorithm = cp.algorithms.RNaD(
        critic="network",
        hidden_sizes=(4,),
        critic_hidden_sizes=(4,),
        num_episodes=4,
        average_every=0,
        ensemble_size=2,
    )
    memory, rows = algorithm.init(arena), []
    for iterations in (0, 2):
        memory = algorithm.step(arena, memory, iterations) if iterations else memory
        policy = algorithm.policies(arena, memory)["current"]
        rows.append(policy.action_probabilities(GAME.initial_state(), 0))
        assert len(rows[-1]) == 12 and np.isclose(sum(rows[-1]), 1.0)
    assert np.abs(np.subtract(*rows)).max() > 1e-6


def test_networks_learn_responses():
    """The gains of learned responses over uniform play, with the interval of their sum."""
    pytest.importorskip("jax")
    game = Stratego(max_moves=40)
    bound = cp.learned_best_response(
        game,
        TabularPolicy(game),
        learner="ppo(critic=network,num_episodes=8,hidden_sizes=(4,),critic_hidden_sizes=(4,))",
        iterations=2,
        num_episodes=20,
    )
    total = bound.nash_conv
    assert sum(gain.mean for gain in bound.player_gains) == pytest.approx(total.mean)
    assert -4.0 <= total.low < total.mean < total.high <= 4.0
