"""What phantom games share: stones placed on a board on which one sees only what one has tried."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from counterplay.core.game import TERMINAL

NO_PLAYER = -1  # has won
PLAYER_MARKS = "xo"  # of player 0 and player 1


class PhantomBoardState(NamedTuple):
    turn: int = 0  # whose it is
    stones: tuple[int, int] = (0, 0)  # cells of each player, one bit each
    attempts: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # cells of each player, in order
    winner: int = NO_PLAYER


class PhantomBoard:
    """Players place stones in turn, and a referee tells each only how its own attempts end.

    Whoever tries a cell with a stone of the other's learns that, and may not try it again. In the
    classical version it tries another one at once; in the `abrupt` one its turn is lost. Nobody
    learns how often the other has tried. Player 0 is x and starts. The winner gets 1 from the
    loser; a full board without a winner is a draw.

    Actions are cells, row by row. Infosets are one's own attempts, failed ones with a "!", such as
    "x:4 0! 8".
    """

    num_players: ClassVar[int] = 2

    @property
    def num_cells(self) -> int:
        raise NotImplementedError

    @property
    def is_abrupt(self) -> bool:
        """Whether a failed attempt costs the turn."""
        raise NotImplementedError

    def has_won(self, player: int, stones: int) -> bool:
        """Whether the player has won with these stones; more of them never change that."""
        raise NotImplementedError

    def initial_state(self) -> PhantomBoardState:
        return PhantomBoardState()

    def player(self, state: PhantomBoardState) -> int:
        full = state.stones[0] | state.stones[1] == (1 << self.num_cells) - 1
        return TERMINAL if full or state.winner != NO_PLAYER else state.turn

    def actions(self, state: PhantomBoardState) -> list[int]:
        tried = state.attempts[state.turn]
        return [cell for cell in range(self.num_cells) if cell not in tried]

    def chance_outcomes(self, state: PhantomBoardState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: PhantomBoardState, action: int) -> PhantomBoardState:
        turn, stones, tried, winner = state
        mine, theirs = stones[turn], stones[1 - turn]
        free = not theirs >> action & 1
        if free:
            mine |= 1 << action
            winner = turn if self.has_won(turn, mine) else NO_PLAYER
        both = (*tried[turn], action), tried[1 - turn]
        return PhantomBoardState(
            1 - turn if free or self.is_abrupt else turn,
            (mine, theirs) if turn == 0 else (theirs, mine),
            both if turn == 0 else both[::-1],
            winner,
        )

    def utilities(self, state: PhantomBoardState) -> tuple[float, float]:
        if state.winner == NO_PLAYER:
            return (0.0, 0.0)
        return (1.0, -1.0) if state.winner == 0 else (-1.0, 1.0)

    def infoset_key(self, state: PhantomBoardState, player: int) -> str:
        mine, tried = state.stones[player], state.attempts[player]
        return attempts_key(player, [(cell, bool(mine >> cell & 1)) for cell in tried])

    def action_name(self, state: PhantomBoardState, action: int) -> str:
        return f"{PLAYER_MARKS[state.turn]}{action}"

    def observation(self, state: PhantomBoardState, player: int) -> list[float]:
        """By cell: not tried, other's, own; then by attempt, the cell."""
        size, tried, mine = self.num_cells, state.attempts[player], state.stones[player]
        own = [float(mine >> cell & 1) for cell in range(size)]
        known = [float(cell in tried) for cell in range(size)]
        order = [0.0] * (size * size)
        for number, cell in enumerate(tried):
            order[number * size + cell] = 1.0
        unknown = [1.0 - k for k in known]
        return unknown + [k - o for k, o in zip(known, own, strict=True)] + own + order


def attempts_key(player: int, attempts: list[tuple[int, bool]]) -> str:
    """The infoset after attempts, each a cell and whether it was free."""
    cells = [f"{cell}" if free else f"{cell}!" for cell, free in attempts]
    return f"{PLAYER_MARKS[player]}:{' '.join(cells)}"
