"""Kriegspiel, chess without seeing the opponent's pieces, on small boards."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, ClassVar, NamedTuple

from annotated_types import Interval

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.winner import winner_utilities

Announcements = tuple[tuple[str, ...], tuple[str, ...]]  # by player: tries and announcements

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
UNDERPROMOTIONS = "rbn"  # by number of the action's block after the first
MAX_QUIET_MOVES = 100  # without a capture or a pawn's move, in full rules: the game is a draw


class MoveRights(NamedTuple):
    castling: str = ""  # K, Q to the right and left of player 0, k, q of player 1
    en_passant: int = -1  # square that a pawn has just skipped


NO_RIGHTS = MoveRights()


class KriegspielState(NamedTuple):
    squares: str  # row by row from the top; capitals are player 0's pieces, dots are empty
    turn: int = 0
    rejected_moves: tuple[int, ...] = ()  # illegal tries of this turn
    announcements: Announcements = ((), ())
    num_moves: int = 0
    winner: int = UNDECIDED
    rights: MoveRights = NO_RIGHTS  # of full rules
    quiet_moves: int = 0  # since the last capture or pawn's move, in full rules


@settings()
class Kriegspiel:
    """Two players see only their own pieces; a referee knows the whole board.

    The player to act tries a move that is legal as far as its own pieces tell. If the move is
    illegal (a piece is in the way, a pawn has nothing to capture, the king would be in check), the
    referee rejects it, to this player alone, and the player tries another. If it is legal, both
    players hear whether and where a piece was captured, and whether it gives check. Mate wins 1;
    stalemate, or `max_moves` moves, is a draw. Pawns move one square at a time and become queens at
    the far end; there is no castling.

    With `full_rules` pawns may first move two squares and be captured en passant, they become a
    queen, rook, bishop or knight, kings castle with the rooks in the corners (two squares towards
    one at least three squares away), and a hundred moves without a capture or a pawn's move, or two
    bare kings, are a draw. Repetition is not: players could not claim it. The position of chess is
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR", a smaller one "rqbknr/pppppp/6/6/PPPPPP/RQBKNR".

    Action `start * S + target` moves a piece between two of the S squares, numbered row by row from
    the top; S * S more for each of rook, bishop and knight that a pawn becomes. The game is for
    sampling and networks: trees are too large for all but the shortest games.
    """

    position: str = "kr2/4/4/2RK"  # as in FEN: rows from the top, capitals for player 0, who starts
    max_moves: Annotated[int, Interval(ge=1, le=1000)] = 40
    full_rules: bool = False  # of chess: two steps, en passant, castling, promotion to any piece
    num_players: ClassVar[int] = 2

    def __post_init__(self) -> None:
        rows = [re.sub(r"\d", lambda n: "." * int(n[0]), row) for row in self.position.split("/")]
        squares = "".join(rows)
        is_board = 1 <= len(rows) <= 8 and len({len(row) for row in rows}) == 1 <= len(rows[0]) <= 8
        if not is_board or not re.fullmatch(r"[kqrbnpKQRBNP.]+", squares):
            raise ConfigError(f"kriegspiel: position is {self.position!r}, not rows of pieces")
        if squares.count("k") != 1 or squares.count("K") != 1 or {*"pP"} & {*rows[0], *rows[-1]}:
            problem = f"position is {self.position!r}, must have one king each, no pawn at an end"
            raise ConfigError(f"kriegspiel: {problem}")
        if self.in_check(squares, 1) or not self._has_legal_move(squares, 0):
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
        return self.num_squares**2 * (4 if self.full_rules else 1)

    @cached_property
    def initial_rights(self) -> MoveRights:
        if not self.full_rules:
            return NO_RIGHTS
        letters, squares = "", self.initial_squares
        for king, rook, first in (("K", "R", self.num_squares - self.width), ("k", "r", 0)):
            column = squares.index(king) - first
            if not 0 <= column < self.width:
                continue
            corners = (("k", self.width - 1), ("q", 0))
            for letter, corner in corners:
                if squares[first + corner] == rook and abs(corner - column) >= 3:
                    letters += letter.upper() if king == "K" else letter
        return MoveRights(letters)

    def initial_state(self) -> KriegspielState:
        return KriegspielState(self.initial_squares, rights=self.initial_rights)

    def player(self, state: KriegspielState) -> int:
        return state.turn if state.winner == UNDECIDED else TERMINAL

    def actions(self, state: KriegspielState) -> list[int]:
        return [
            a
            for a in self.pseudo_legal_moves(state.squares, state.turn, state.rights)
            if a not in state.rejected_moves
        ]

    def chance_outcomes(self, state: KriegspielState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: KriegspielState, action: int) -> KriegspielState:
        squares, player, rejected, announcements, num_moves, _, rights, quiet_moves = state
        name = self.action_name(state, action)
        if not self.is_legal(squares, player, action, rights):
            announcements = _add_announcement(announcements, player, f"{name}!")
            return state._replace(rejected_moves=(*rejected, action), announcements=announcements)
        captured = self.capture_square(squares, action)
        is_pawn = squares[action % self.num_squares**2 // self.num_squares] in "pP"
        rights = self.rights_after(squares, action, rights)
        squares, other, num_moves = self.apply_move(squares, action), 1 - player, num_moves + 1
        quiet_moves = 0 if is_pawn or captured is not None else quiet_moves + 1
        is_check = self.in_check(squares, other)
        text = (f"x{captured}" if captured is not None else "") + "+" * is_check
        announcements = _add_announcement(announcements, player, name + text)
        announcements = _add_announcement(announcements, other, text or "-")
        winner = UNDECIDED
        if not self._has_legal_move(squares, other, rights):
            winner = player if is_check else DRAW
        elif num_moves == self.max_moves or (
            self.full_rules and (quiet_moves == MAX_QUIET_MOVES or not squares.strip(".kK"))
        ):
            winner = DRAW
        return KriegspielState(
            squares, other, (), announcements, num_moves, winner, rights, quiet_moves
        )

    def utilities(self, state: KriegspielState) -> tuple[float, float]:
        return winner_utilities(state.winner)

    def infoset_key(self, state: KriegspielState, player: int) -> str:
        return f"{'wb'[player]}:{' '.join(state.announcements[player])}"

    def action_name(self, state: KriegspielState, action: int) -> str:
        block, move = divmod(action, self.num_squares**2)
        promotion = f"={UNDERPROMOTIONS[block - 1]}" if block else ""
        return f"{move // self.num_squares}-{move % self.num_squares}{promotion}"

    def observation(self, state: KriegspielState, player: int) -> list[float]:
        """Return own pieces, last announcement, rejected moves and the fraction of moves played.

        Own pieces by kind and square; the last capture by square; check; the start and target
        squares of rejected moves. With full rules, own rights to castle. Earlier announcements are
        not included.
        """
        size, pieces = self.num_squares, "KQRBNP" if player == 0 else "kqrbnp"
        own = [float(square == piece) for piece in pieces for square in state.squares]
        words = reversed(state.announcements[player])
        announcement = next((word for word in words if not word.endswith("!")), "")
        match = re.search(r"x(\d+)", announcement)
        capture = [float(match is not None and int(match[1]) == k) for k in range(size)]
        rejected = [0.0] * (2 * size)
        for action in state.rejected_moves if state.turn == player else ():
            move = action % size**2
            rejected[move // size] = rejected[size + move % size] = 1.0
        progress = state.num_moves / self.max_moves
        values = [*own, *capture, float("+" in announcement), *rejected, progress]
        if self.full_rules:
            values += [float(c in state.rights.castling) for c in ("KQ" if player == 0 else "kq")]
        return values

    def pseudo_legal_moves(
        self, squares: str, player: int, rights: MoveRights = NO_RIGHTS
    ) -> list[int]:
        """Return the moves that are legal as far as the player's own pieces tell, sorted."""
        own_squares = [k for k, piece in enumerate(squares) if _piece_owner(piece) == player]
        visible = "".join(piece if _piece_owner(piece) == player else "." for piece in squares)
        moves = {
            k * self.num_squares + to
            for k in own_squares
            for to in self.target_squares(visible, k, ignore_opponent=True, rights=rights)
        }
        if self.full_rules:
            blocks = range(1, 1 + len(UNDERPROMOTIONS))
            promotions = [move for move in moves if self.is_promotion(squares, move)]
            moves |= {n * self.num_squares**2 + move for n in blocks for move in promotions}
        return sorted(moves)

    def is_promotion(self, squares: str, action: int) -> bool:
        """Return True if a move takes a pawn to the far end."""
        start, to = divmod(action % self.num_squares**2, self.num_squares)
        is_end = to // self.width in (0, self.num_squares // self.width - 1)
        return squares[start] in "pP" and is_end

    def is_legal(
        self, squares: str, player: int, action: int, rights: MoveRights = NO_RIGHTS
    ) -> bool:
        """Return True if the referee accepts a move."""
        start, to = divmod(action % self.num_squares**2, self.num_squares)
        if to not in self.target_squares(squares, start, rights=rights):
            return False
        if self.is_castling(squares, start, to):  # not out of check, nor through it
            step = (to - start) // 2
            passing = self.apply_move(squares, start * self.num_squares + start + step)
            if self.in_check(squares, player) or self.in_check(passing, player):
                return False
        return not self.in_check(self.apply_move(squares, action), player)

    def is_castling(self, squares: str, start: int, to: int) -> bool:
        """Return True if a king moves two squares."""
        return (
            squares[start] in "kK"
            and abs(to - start) == 2
            and start // self.width == (to // self.width)
        )

    def capture_square(self, squares: str, action: int) -> int | None:
        """Return the square of the piece that a legal move captures, or None."""
        start, to = divmod(action % self.num_squares**2, self.num_squares)
        if squares[to] != ".":
            return to
        if squares[start] in "pP" and start % self.width != to % self.width:  # en passant
            return start // self.width * self.width + to % self.width
        return None

    def rights_after(self, squares: str, action: int, rights: MoveRights) -> MoveRights:
        """Return the rights after a legal move; squares are those before it."""
        if not self.full_rules:
            return rights
        start, to = divmod(action % self.num_squares**2, self.num_squares)
        lost = {"K": "KQ", "k": "kq"}.get(squares[start], "")
        last = self.num_squares - self.width
        corners = {last + self.width - 1: "K", last: "Q", self.width - 1: "k", 0: "q"}
        lost += corners.get(start, "") + corners.get(to, "")
        castling = "".join(letter for letter in rights.castling if letter not in lost)
        is_two_step = squares[start] in "pP" and abs(to - start) == 2 * self.width
        return MoveRights(castling, (start + to) // 2 if is_two_step else -1)

    def _has_legal_move(self, squares: str, player: int, rights: MoveRights = NO_RIGHTS) -> bool:
        moves = self.pseudo_legal_moves(squares, player, rights)
        return any(self.is_legal(squares, player, move, rights) for move in moves)

    def in_check(self, squares: str, player: int) -> bool:
        """Return True if the player's king is attacked."""
        king = squares.index("K" if player == 0 else "k")
        others = [k for k, piece in enumerate(squares) if _piece_owner(piece) == 1 - player]
        return any(king in self.target_squares(squares, k) for k in others)

    def apply_move(self, squares: str, action: int) -> str:
        """Return the board after a move."""
        block, move = divmod(action, self.num_squares**2)
        start, to = divmod(move, self.num_squares)
        board, piece = list(squares), squares[start]
        captured = self.capture_square(squares, action)
        if captured is not None:
            board[captured] = "."
        if self.is_promotion(squares, move):
            kind = UNDERPROMOTIONS[block - 1] if block else "q"
            piece = kind.upper() if piece == "P" else kind
        board[start], board[to] = ".", piece
        if self.is_castling(squares, start, to):
            first = start // self.width * self.width
            corner = first + self.width - 1 if to > start else first
            board[(start + to) // 2], board[corner] = squares[corner], "."
        return "".join(board)

    def target_squares(
        self,
        squares: str,
        start: int,
        ignore_opponent: bool = False,
        rights: MoveRights = NO_RIGHTS,
    ) -> Iterator[int]:
        """Yield the squares that a piece may move to.

        With `ignore_opponent`, opponent's pieces may be anywhere, so that pawns may capture.
        """
        piece, player = squares[start].lower(), _piece_owner(squares[start])
        if piece == "p":
            ahead = -1 if player == 0 else 1
            for right in (0, 1, -1):
                to = self.offset_square(start, ahead, right)
                if to is None or _piece_owner(squares[to]) == player:
                    continue
                is_en_passant = right != 0 and to == rights.en_passant
                if ignore_opponent or is_en_passant or (squares[to] != ".") == bool(right):
                    yield to
            yield from self._two_step(squares, start, player)
            return
        if piece == "k":
            yield from self._castling_squares(squares, start, player, rights)
        for down, right in STEPS_BY_PIECE[piece]:
            to = self.offset_square(start, down, right)
            while to is not None and _piece_owner(squares[to]) != player:
                yield to
                if piece not in SLIDING_PIECES or squares[to] != ".":
                    break
                to = self.offset_square(to, down, right)

    def _two_step(self, squares: str, start: int, player: int) -> Iterator[int]:
        """Yield the square two steps ahead of a pawn in its first row, if the way is free."""
        height = self.num_squares // self.width
        if self.full_rules and start // self.width == (height - 2 if player == 0 else 1):
            ahead = -self.width if player == 0 else self.width
            if squares[start + ahead] == squares[start + 2 * ahead] == ".":
                yield start + 2 * ahead

    def _castling_squares(
        self, squares: str, start: int, player: int, rights: MoveRights
    ) -> Iterator[int]:
        """Yield the squares that a king may castle to, if the way to the rook is free."""
        first = start // self.width * self.width
        for letter, corner, step in (("K", first + self.width - 1, 1), ("Q", first, -1)):
            own = letter if player == 0 else letter.lower()
            between = range(start + step, corner, step)
            if own in rights.castling and all(squares[square] == "." for square in between):
                yield start + 2 * step

    def offset_square(self, square: int, down: int, right: int) -> int | None:
        """Return the square at an offset, or None outside of the board."""
        row, column = square // self.width + down, square % self.width + right
        inside = 0 <= row < self.num_squares // self.width and 0 <= column < self.width
        return row * self.width + column if inside else None


def _piece_owner(piece: str) -> int:
    """Return the owner of a piece; -1 for an empty square."""
    return -1 if piece == "." else int(piece.islower())


def _add_announcement(announcements: Announcements, player: int, word: str) -> Announcements:
    longer = (*announcements[player], word)
    return (longer, announcements[1]) if player == 0 else (announcements[0], longer)
