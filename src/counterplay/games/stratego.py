"""Stratego on a small board: hidden ranks, ten pieces a side."""

from __future__ import annotations

from typing import Annotated, ClassVar, NamedTuple

from annotated_types import Interval

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.games.winner import winner_utilities

SIDE = 6
NUM_SQUARES = SIDE * SIDE
LAKES = (13, 16, 19, 22)  # columns 1 and 4 of the two middle rows
KIND_NAMES = "FBS2389"  # flag, bomb, spy, scout (2), miner (3), general (8), marshal (9)
FLAG, BOMB, SPY, SCOUT, MINER, GENERAL, MARSHAL = range(7)
NUM_KINDS = 7
ARMY = (FLAG, BOMB, BOMB, SPY, SCOUT, SCOUT, MINER, MINER, GENERAL, MARSHAL)
STRENGTHS = (0, 0, 1, 2, 3, 8, 9)  # of each kind; flags and bombs do not attack
EMPTY = 0
MOVED, REVEALED = 1, 2  # bits of a square's marks
UNDECIDED, DRAW = -1, -2  # instead of a winner
NUM_EVENTS = 2 * len(ARMY)  # placements


class StrategoState(NamedTuple):
    board: tuple[int, ...] = (EMPTY,) * NUM_SQUARES  # EMPTY, or 1 + kind + NUM_KINDS * owner
    marks: tuple[int, ...] = (0,) * NUM_SQUARES  # of the piece on each square
    placements: tuple[int, ...] = ()  # squares, player 0's ten first
    moves: tuple[str, ...] = ()  # with the kinds that an attack revealed
    winner: int = UNDECIDED


@settings()
class Stratego:
    """Two armies of ten pieces on 6 x 6 squares; neither side sees the ranks of the other.

    First player 0, then player 1 places a flag, two bombs, a spy, two scouts, two miners, a general
    and a marshal, in this order, on the two rows of its side; the squares become known when both
    are ready. Then they move in turn, player 0 first: one step along a row or column, a scout any
    number of free squares; flags and bombs do not move, and nothing enters the four squares of the
    lakes. A piece that moves onto an opponent's attacks it, and both ranks are shown: the weaker is
    removed, of equals both. Bombs remove every attacker but miners; a spy that attacks the marshal
    wins. A scout that moves several squares shows its rank.

    Capturing the flag wins 1, and so does leaving the opponent without a move; `max_moves` moves
    are a draw. Classical Stratego has 40 pieces on 10 x 10 squares and forbids moving to and fro
    for long; here the limit ends such play.

    Action `start * 36 + target` is a move between squares, numbered row by row from the top, where
    player 1 sits; `square * 37` places the next piece. The game is for sampling and networks.
    """

    max_moves: Annotated[int, Interval(ge=1, le=1000)] = 60
    num_players: ClassVar[int] = 2
    num_distinct_actions: ClassVar[int] = NUM_SQUARES**2

    def initial_state(self) -> StrategoState:
        return StrategoState()

    def player(self, state: StrategoState) -> int:
        if state.winner != UNDECIDED:
            return TERMINAL
        if len(state.placements) < NUM_EVENTS:
            return len(state.placements) // len(ARMY)
        return len(state.moves) % 2

    def actions(self, state: StrategoState) -> list[int]:
        player = self.player(state)
        if len(state.placements) < NUM_EVENTS:
            first = NUM_SQUARES - 2 * SIDE if player == 0 else 0
            free = [k for k in range(first, first + 2 * SIDE) if state.board[k] == EMPTY]
            return [(NUM_SQUARES + 1) * square for square in free]
        return legal_moves(state.board, player)

    def chance_outcomes(self, state: StrategoState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: StrategoState, action: int) -> StrategoState:
        player, board, marks = self.player(state), list(state.board), list(state.marks)
        start, to = divmod(action, NUM_SQUARES)
        if len(state.placements) < NUM_EVENTS:
            kind = ARMY[len(state.placements) % len(ARMY)]
            board[start] = 1 + kind + NUM_KINDS * player
            return state._replace(board=tuple(board), placements=(*state.placements, start))
        piece, target, text, winner = board[start], board[to], f"{start}-{to}", UNDECIDED
        is_long = max(abs(start // SIDE - to // SIDE), abs(start % SIDE - to % SIDE)) > 1
        mark = marks[start] | MOVED | (REVEALED if is_long else 0)
        board[start], marks[start] = EMPTY, 0
        if target == EMPTY:
            board[to], marks[to] = piece, mark
        else:
            attacker, defender = (piece - 1) % NUM_KINDS, (target - 1) % NUM_KINDS
            text += f"x{KIND_NAMES[attacker]}{KIND_NAMES[defender]}"
            result = attack_result(attacker, defender)
            if result > 0:
                board[to], marks[to] = piece, mark | REVEALED
            elif result == 0:
                board[to], marks[to] = EMPTY, 0
            else:
                marks[to] |= REVEALED
            if defender == FLAG:
                winner = player
        moves = (*state.moves, text)
        if winner == UNDECIDED and not legal_moves(tuple(board), 1 - player):
            winner = player
        if winner == UNDECIDED and len(moves) == self.max_moves:
            winner = DRAW
        return StrategoState(tuple(board), tuple(marks), state.placements, moves, winner)

    def utilities(self, state: StrategoState) -> tuple[float, float]:
        return winner_utilities(state.winner)

    def infoset_key(self, state: StrategoState, player: int) -> str:
        sides = state.placements[: len(ARMY)], state.placements[len(ARMY) :]
        words = ["own " + " ".join(map(str, sides[player]))]
        if len(state.placements) == NUM_EVENTS:
            words.append("other " + " ".join(map(str, sorted(sides[1 - player]))))
        return f"{player}: {', '.join([*words, ' '.join(state.moves)])}"

    def action_name(self, state: StrategoState, action: int) -> str:
        start, to = divmod(action, NUM_SQUARES)
        if start == to:
            return f"{KIND_NAMES[ARMY[len(state.placements) % len(ARMY)]]}@{start}"
        return f"{start}-{to}"

    def observation(self, state: StrategoState, player: int) -> list[float]:
        """Return planes of squares: own pieces by kind, own marks, the other's; then the progress.

        The other's pieces are planes of hidden ones, of moved ones and of revealed ones by kind;
        they are empty until both armies stand. Earlier moves are not included.
        """
        size, is_ready = NUM_SQUARES, len(state.placements) == NUM_EVENTS
        values = [0.0] * (2 * (NUM_KINDS + 2) * size + 2)
        for square, piece in enumerate(state.board):
            if piece == EMPTY:
                continue
            kind, owner = (piece - 1) % NUM_KINDS, (piece - 1) // NUM_KINDS
            mark = state.marks[square]
            if owner == player:
                values[kind * size + square] = 1.0
                values[NUM_KINDS * size + square] = float(mark & MOVED > 0)
                values[(NUM_KINDS + 1) * size + square] = float(mark & REVEALED > 0)
            elif is_ready:
                first = (NUM_KINDS + 2) * size
                if mark & REVEALED:
                    values[first + (2 + kind) * size + square] = 1.0
                else:
                    values[first + square] = 1.0
                values[first + size + square] = float(mark & MOVED > 0)
        values[-2] = len(state.placements) / NUM_EVENTS
        values[-1] = len(state.moves) / self.max_moves
        return values


def attack_result(attacker: int, defender: int) -> int:
    """Return 1 if the attacking kind wins, -1 if it loses, 0 if both are removed."""
    if defender == BOMB:
        return 1 if attacker == MINER else -1
    if attacker == SPY and defender == MARSHAL:
        return 1
    difference = STRENGTHS[attacker] - STRENGTHS[defender]
    return (difference > 0) - (difference < 0)


def legal_moves(board: tuple[int, ...], player: int) -> list[int]:
    """Return the moves of a player, sorted."""
    moves = []
    for start, piece in enumerate(board):
        if piece == EMPTY or (piece - 1) // NUM_KINDS != player:
            continue
        kind = (piece - 1) % NUM_KINDS
        if kind in (FLAG, BOMB):
            continue
        targets = []
        for down, right in ((-1, 0), (0, -1), (0, 1), (1, 0)):
            row, column = start // SIDE + down, start % SIDE + right
            while 0 <= row < SIDE and 0 <= column < SIDE:
                to = row * SIDE + column
                is_own = board[to] != EMPTY and (board[to] - 1) // NUM_KINDS == player
                if to in LAKES or is_own:
                    break
                targets.append(to)
                if kind != SCOUT or board[to] != EMPTY:
                    break
                row, column = row + down, column + right
        moves += [start * NUM_SQUARES + to for to in sorted(targets)]
    return moves
