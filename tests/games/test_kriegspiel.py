"""Kriegspiel: legal moves as chess has them, and a referee who says no more than he should."""

from __future__ import annotations

import random
import re

import pytest

import counterplay as cp
from counterplay.core.game import check_game
from counterplay.games.kriegspiel import DRAW, Kriegspiel

SMALL_GAME = "kriegspiel(position='k2/3/K1R',max_moves=2)"
POSITIONS = ["3r4/2k5/3p2b1/8/4N3/2B1P3/5K2/n7", "8/2k5/1n6/3Q4/4b3/2B5/5K2/7r"]


def episode(game, seed):
    rng, state = random.Random(seed), game.initial_state()
    while game.player(state) != cp.TERMINAL:
        yield state
        state = game.next_state(state, rng.choice(game.actions(state)))
    yield state


def plain(fen):
    """The board of a position, empty squares as dots."""
    board = fen.split(" ")[0].replace("/", "")
    return re.sub(r"\d", lambda number: "." * int(number[0]), board)


@pytest.mark.parametrize("position", POSITIONS)
def test_legal_moves_are_those_of_chess(position):
    pyspiel = pytest.importorskip("pyspiel")
    chess = pyspiel.load_game("chess")
    game = Kriegspiel(position, max_moves=30)
    compared = 0
    for seed in range(5):
        for state in episode(game, seed):
            if game.player(state) == cp.TERMINAL or state.rejected_moves:
                continue
            rows = [state.squares[k : k + 8] for k in range(0, 64, 8)]
            fen = "/".join(re.sub(r"\.+", lambda dots: str(len(dots[0])), row) for row in rows)
            if any(piece in rows[row] for piece, row in (("P", 6), ("p", 1), ("P", 1), ("p", 6))):
                continue  # chess has two steps, and a choice of pieces, from there
            theirs = chess.new_initial_state(f"{fen} {'wb'[state.turn]} - - 0 1")
            if theirs.is_terminal():
                continue  # too little material, says chess
            wanted = {plain(str(theirs.child(action))) for action in theirs.legal_actions()}
            legal = [a for a in game.actions(state) if game.is_legal(state.squares, state.turn, a)]
            assert {game.apply_move(state.squares, action) for action in legal} == wanted
            compared += 1
    assert compared > 20


FULL_POSITIONS = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R",  # castling on all sides
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8",  # en passant
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N",  # promotions
]


@pytest.mark.parametrize("position", FULL_POSITIONS)
def test_full_rules_have_the_moves_of_chess(position):
    """The boards after all legal moves are those of OpenSpiel's chess, in random episodes."""
    pyspiel = pytest.importorskip("pyspiel")
    chess, game = pyspiel.load_game("chess"), Kriegspiel(position, 60, full_rules=True)
    compared, special = 0, set()
    for seed in range(3):
        for state in episode(game, seed):
            if game.player(state) == cp.TERMINAL or state.rejected_moves:
                continue
            rows = [state.squares[k : k + 8] for k in range(0, 64, 8)]
            fen = "/".join(re.sub(r"\.+", lambda dots: str(len(dots[0])), row) for row in rows)
            skipped = state.rights.en_passant
            square = f"{'abcdefgh'[skipped % 8]}{8 - skipped // 8}" if skipped >= 0 else "-"
            castling = "".join(c for c in "KQkq" if c in state.rights.castling) or "-"
            theirs = chess.new_initial_state(f"{fen} {'wb'[state.turn]} {castling} {square} 0 1")
            if theirs.is_terminal():
                continue  # too little material, says chess
            wanted = {plain(str(theirs.child(action))) for action in theirs.legal_actions()}
            legal = [
                a
                for a in game.actions(state)
                if game.is_legal(state.squares, state.turn, a, state.rights)
            ]
            assert {game.apply_move(state.squares, action) for action in legal} == wanted
            for action in legal:
                start, to = divmod(action % 64**2, 64)
                special |= {"castling"} if game.is_castling(state.squares, start, to) else set()
                special |= {"promotion"} if action >= 64**2 else set()
            compared += 1
    assert compared > 20
    expected = {1: {"castling"}, 3: {"promotion"}}.get(FULL_POSITIONS.index(position), set())
    assert expected <= special


def test_full_rules_by_hand():
    game = Kriegspiel("r3k2r/8/8/8/3p4/8/4P3/R3K2R", 50, full_rules=True)
    state = game.initial_state()
    assert state.rights.castling == "KQkq"
    castled = game.next_state(state, 60 * 64 + 62)
    assert castled.squares[60:] == ".RK." and castled.rights.castling == "kq"
    assert castled.announcements[1] == ("-",)
    two_steps = game.next_state(state, 52 * 64 + 36)
    assert two_steps.rights.en_passant == 44
    taken = game.next_state(two_steps, 35 * 64 + 44)  # the pawn that stands on 36 is captured
    assert taken.squares[36] == "." and taken.squares[44] == "p"
    assert taken.announcements[0][-1] == "x36" and taken.winner == -1
    refused = game.next_state(state, 52 * 64 + 45)  # nothing to capture
    assert refused.turn == 0 and refused.rejected_moves == (52 * 64 + 45,)
    pawn = Kriegspiel("7k/P7/8/8/8/8/8/K7", 50, full_rules=True)
    names = [pawn.action_name(pawn.initial_state(), a) for a in pawn.actions(pawn.initial_state())]
    assert {"8-0", "8-0=r", "8-0=b", "8-0=n"} <= set(names)
    knight = pawn.next_state(pawn.initial_state(), 3 * 64**2 + 8 * 64)
    assert knight.squares[0] == "N" and pawn.num_distinct_actions == 4 * 64**2
    assert len(pawn.observation(knight, 0)) == len(pawn.observation(knight, 1))


def test_full_rules_draw_without_captures_and_with_bare_kings():
    game = Kriegspiel("k7/8/8/8/8/8/8/K6R", 500, full_rules=True)
    state = game.initial_state()._replace(quiet_moves=99)
    assert game.next_state(state, 63 * 64 + 55).winner == DRAW
    bare = Kriegspiel("1k6/8/8/8/8/8/1p6/K7", 500, full_rules=True)
    assert bare.next_state(bare.initial_state(), 56 * 64 + 49).winner == DRAW


def test_networks_and_sampling_run_on_a_full_game_of_six():
    game = Kriegspiel("rqbknr/pppppp/6/6/PPPPPP/RQBKNR", max_moves=6, full_rules=True)
    result = cp.solve(cp.RulesArena(game), cp.load_algorithm("outcome_sampling"), iterations=5)
    assert result.records[-1].metrics["infosets"] > 5
    for state in episode(game, 1):
        assert len(game.observation(state, 0)) == 36 * 9 + 4


def test_small_games_keep_the_protocol():
    report = check_game(cp.load_game(SMALL_GAME))
    assert report.is_zero_sum and report.has_perfect_recall
    assert report.num_nodes > 100
    check_game(cp.load_game("kriegspiel(position='k2/1p1/P2/2K',max_moves=1)"))


def test_the_other_hears_nothing_of_what_was_refused():
    game, refused = Kriegspiel(), 0
    for seed in range(10):
        before = None
        for state in episode(game, seed):
            if before is not None and state.rejected_moves:
                other = 1 - state.turn
                assert game.infoset_key(before, other) == game.infoset_key(state, other)
                assert state.squares == before.squares
                refused += 1
            before = state
    assert refused > 10


def test_mate_stalemate_and_the_end_of_patience():
    mate = Kriegspiel(position="k3/4/1K2/3R")
    state = mate.next_state(mate.initial_state(), 15 * 16 + 3)  # the rook to the king's row
    assert mate.utilities(state) == (1.0, -1.0)
    assert mate.infoset_key(state, 1) == "b:+"
    stale = Kriegspiel(position="k3/4/K3/2R1", max_moves=5)
    assert stale.next_state(stale.initial_state(), 14 * 16 + 13).winner == DRAW
    short = Kriegspiel(max_moves=1)
    assert short.next_state(short.initial_state(), 15 * 16 + 11).winner == DRAW
    pawn = Kriegspiel(position="3k/P3/4/2K1")
    after = pawn.next_state(pawn.initial_state(), 4 * 16 + 0)
    assert after.squares[0] == "Q" and "+" in after.announcements[1][0]


def test_sampling_runs_on_the_rules():
    rules = cp.RulesArena(Kriegspiel(max_moves=6))
    result = cp.solve(rules, cp.load_algorithm("outcome_sampling"), iterations=20)
    assert result.records[-1].metrics["infosets"] > 20


@pytest.mark.parametrize(
    "position", ["", "k", "kK/x", "kk/K.", "k2/4/K3", "kp/1K", "k1R/3/1K1", "99/99"]
)
def test_bad_positions_are_refused(position):
    with pytest.raises(cp.ConfigError, match="kriegspiel: "):
        Kriegspiel(position=position)
