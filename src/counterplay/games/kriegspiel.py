"""Kriegspiel, chess without seeing the other's pieces, on small boards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import ClassVar, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

UNDECIDED, DRAW = -1, -2  # instead of a winner
ROOK_STEPS, BISHOP_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1)), ((1, 1), (1, -1), (-1, 1), (-1, -1))
KNIGHT_STEPS = tuple((a, b) for a in (1, -1, 2, -2) for b in (1, -1, 2, -2) if abs(a) != abs(b))
STEPS_BY_PIECE = {
    "k": ROOK_STEPS + BISHOP_STEPS,
    "q": ROOK_STEPS + BISHOP_STEPS,
    "r": ROOK_STEPS,
    "b": BISHOP_STEPS,
    "n": KNIGHT_STEPS,
}
SLIDING_PIECES = "qrb"


class KriegspielState(NamedTuple):
    squares: str  # the board row by row, from the top; capitals are player 0's, dots are empty
    turn: int = 0
    rejected_moves: tuple[int, ...] = ()  # tries of this turn that were not legal
    announcements: tuple[tuple[str, ...], tuple[str, ...]] = (
        (),
        (),
    )  # by player: tries and announcements
    num_moves: int = 0
    winner: int = UNDECIDED


@settings()
class Kriegspiel:
    """Two players move on boards of their own; a referee knows both.

    The one to act tries a move that might be legal, for all it sees of its own pieces. If it is
    not (something is in the way, a pawn has nothing to take, the king would be left in check) the
    referee says no, to this player alone, and it tries another. If it is, both hear whether
    something was taken, and where, and whether the other is in check. Mate wins 1; without a legal
    move, or after `max_moves` moves, it is a draw. Pawns go one square at a time and become queens
    at the other end; there is no castling.

    Action from * S + to, on S squares numbered row by row from the top. `position` is written as in
    chess: rows from the top, capitals for player 0, who starts at the bottom, digits for empty
    squares. For sampling and networks: trees are beyond reach for all but the shortest games.
    """

    position: str = "kr2/4/4/2RK"
    max_moves: int = 40
    num_players: ClassVar[int] = 2

    def __post_init__(self) -> None:
        rows = [re.sub(r"\d", lambda n: "." * int(n[0]), row) for row in self.position.split("/")]
        whole = "".join(rows)
        shape = 1 <= len(rows) <= 8 and len({len(row) for row in rows}) == 1 <= len(rows[0]) <= 8
        if not shape or not re.fullmatch(r"[kqrbnpKQRBNP.]+", whole):
            raise ConfigError(f"kriegspiel: position is {self.position!r}, not rows of pieces")
        if whole.count("k") != 1 or whole.count("K") != 1 or set("pP") & set(rows[0] + rows[-1]):
            problem = f"position is {self.position!r}, must have one king each, no pawn at an end"
            raise ConfigError(f"kriegspiel: {problem}")
        if not 1 <= self.max_moves <= 1000:
            raise ConfigError(f"kriegspiel: max_moves is {self.max_moves}, must be from 1 to 1000")
        movable = any(self.is_legal(whole, 0, a) for a in self.pseudo_legal_moves(whole, 0))
        if self.in_check(whole, 1) or not movable:
            raise ConfigError("kriegspiel: player 0 must have a move, and not give check already")

    @cached_property
    def width(self) -> int:
        return sum(int(c) if c.isdigit() else 1 for c in self.position.split("/")[0])

    @cached_property
    def initial_squares(self) -> str:
        return re.sub(r"\d", lambda n: "." * int(n[0]), self.position).replace("/", "")

    @cached_property
    def num_squares(self) -> int:
        return len(self.initial_squares)

    @property
    def num_distinct_actions(self) -> int:
        return self.num_squares**2

    def initial_state(self) -> KriegspielState:
        return KriegspielState(self.initial_squares)

    def player(self, state: KriegspielState) -> int:
        return state.turn if state.winner == UNDECIDED else TERMINAL

    def actions(self, state: KriegspielState) -> list[int]:
        return [
            a
            for a in self.pseudo_legal_moves(state.squares, state.turn)
            if a not in state.rejected_moves
        ]

    def chance_outcomes(self, state: KriegspielState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: KriegspielState, action: int) -> KriegspielState:
        squares, turn, refused, heard, moves, _ = state
        name = self.action_name(state, action)
        if not self.is_legal(squares, turn, action):
            return KriegspielState(
                squares, turn, (*refused, action), _add_announcement(heard, turn, f"{name}!"), moves
            )
        taken = squares[action % self.num_squares] != "."
        after, other, moves = self.apply_move(squares, action), 1 - turn, moves + 1
        check = self.in_check(after, other)
        said = f"x{action % self.num_squares}" * taken + "+" * check
        heard = _add_announcement(_add_announcement(heard, turn, name + said), other, said or "-")
        winner = UNDECIDED
        if not any(self.is_legal(after, other, a) for a in self.pseudo_legal_moves(after, other)):
            winner = turn if check else DRAW
        elif moves == self.max_moves:
            winner = DRAW
        return KriegspielState(after, other, (), heard, moves, winner)

    def utilities(self, state: KriegspielState) -> tuple[float, float]:
        if state.winner == DRAW:
            return (0.0, 0.0)
        return (1.0, -1.0) if state.winner == 0 else (-1.0, 1.0)

    def infoset_key(self, state: KriegspielState, player: int) -> str:
        return f"{'wb'[player]}:{' '.join(state.announcements[player])}"

    def action_name(self, state: KriegspielState, action: int) -> str:
        return f"{action // self.num_squares}-{action % self.num_squares}"

    def observation(self, state: KriegspielState, player: int) -> list[float]:
        """By piece, own squares; the last announcement by square, check; tries refused, by square.

        What was heard earlier is left out: a network that is to remember it must do so itself.
        """
        pieces = "KQRBNP" if player == 0 else "kqrbnp"
        own = [float(square == piece) for piece in pieces for square in state.squares]
        said = next(
            (word for word in reversed(state.announcements[player]) if not word.endswith("!")), ""
        )
        matched = re.search(r"x(\d+)", said)
        taken = [
            float(matched is not None and int(matched[1]) == k) for k in range(self.num_squares)
        ]
        refused = [0.0] * (2 * self.num_squares)
        for action in state.rejected_moves if state.turn == player else ():
            refused[action // self.num_squares] = refused[
                self.num_squares + action % self.num_squares
            ] = 1.0
        return [*own, *taken, float("+" in said), *refused, state.num_moves / self.max_moves]

    def pseudo_legal_moves(self, squares: str, player: int) -> list[int]:
        """Moves that might be legal as far as the player's own pieces tell, in order."""
        mine = [k for k, piece in enumerate(squares) if _piece_owner(piece) == player]
        hidden = "".join(piece if _piece_owner(piece) == player else "." for piece in squares)
        found = {
            k * self.num_squares + to
            for k in mine
            for to in self.target_squares(hidden, k, ignore_opponent=True)
        }
        return sorted(found)

    def is_legal(self, squares: str, player: int, action: int) -> bool:
        """Whether the referee lets a try pass."""
        start, to = divmod(action, self.num_squares)
        if to not in self.target_squares(squares, start):
            return False
        return not self.in_check(self.apply_move(squares, action), player)

    def in_check(self, squares: str, player: int) -> bool:
        king = squares.index("K" if player == 0 else "k")
        others = [k for k, piece in enumerate(squares) if _piece_owner(piece) == 1 - player]
        return any(king in self.target_squares(squares, k) for k in others)

    def apply_move(self, squares: str, action: int) -> str:
        """The board after a move."""
        start, to = divmod(action, self.num_squares)
        board, piece = list(squares), squares[start]
        if piece in "pP" and to // self.width in (0, self.num_squares // self.width - 1):
            piece = "Q" if piece == "P" else "q"
        board[start], board[to] = ".", piece
        return "".join(board)

    def target_squares(
        self, squares: str, start: int, ignore_opponent: bool = False
    ) -> Iterator[int]:
        """Squares that the piece may go to; `blind`, where others' pieces might be anywhere."""
        piece, player = squares[start].lower(), _piece_owner(squares[start])
        if piece == "p":
            ahead = -1 if player == 0 else 1
            for right in (0, 1, -1):
                to = self.offset_square(start, ahead, right)
                if to is None or _piece_owner(squares[to]) == player:
                    continue
                if ignore_opponent or (squares[to] != ".") == bool(right):
                    yield to
            return
        for down, right in STEPS_BY_PIECE[piece]:
            to = self.offset_square(start, down, right)
            while to is not None and _piece_owner(squares[to]) != player:
                yield to
                if piece not in SLIDING_PIECES or squares[to] != ".":
                    break
                to = self.offset_square(to, down, right)

    def offset_square(self, square: int, down: int, right: int) -> int | None:
        """The square so far away, if it is on the board."""
        row, column = square // self.width + down, square % self.width + right
        inside = 0 <= row < self.num_squares // self.width and 0 <= column < self.width
        return row * self.width + column if inside else None


def _piece_owner(piece: str) -> int:
    """Whose piece it is; -1 for an empty square."""
    return -1 if piece == "." else int(piece.islower())


def _add_announcement(
    announcements: tuple[tuple[str, ...], tuple[str, ...]], player: int, word: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    longer = (*announcements[player], word)
    return (longer, announcements[1]) if player == 0 else (announcements[0], longer)
