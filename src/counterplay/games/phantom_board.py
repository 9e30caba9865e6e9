"""Base class of phantom games: players see only the results of their own attempts."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.games.winner import NO_PLAYER, PLAYER_MARKS, winner_utilities


class PhantomBoardState(NamedTuple):
    turn: int = 0  # the player to act
    stones: tuple[int, int] = (0, 0)  # cells of each player, one bit each
    attempts: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # cells of each player, in order
    winner: int = NO_PLAYER


class PhantomBoard:
    """Players place stones in turn; a referee tells each only whether its own attempt succeeded.

    An attempt fails if the opponent has a stone in the cell. The player learns that and may not
    try the cell again. In the classical version it tries another cell at once; in the abrupt
    version it loses its turn. Players do not learn how often the opponent has tried. Player 0 is x
    and starts. The winner gets 1 from the loser; a full board without a winner is a draw.

    Actions are cells, row by row. An infoset is the player's attempts, failed ones with a "!", such
    as "x:4 0! 8".
    """

    num_players: ClassVar[int] = 2

    @property
    def num_cells(self) -> int:
        """Number of cells of the board."""
        raise NotImplementedError

    @property
    def is_abrupt(self) -> bool:
        """Whether a failed attempt loses the turn."""
        raise NotImplementedError

    def has_won(self, player: int, stones: int) -> bool:
        """Return True if the player has won with these stones; more stones do not change that."""
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
        player, stones, attempts, winner = state
        own, other = stones[player], stones[1 - player]
        is_free = not other >> action & 1
        if is_free:
            own |= 1 << action
            winner = player if self.has_won(player, own) else NO_PLAYER
        own_attempts, other_attempts = (*attempts[player], action), attempts[1 - player]
        return PhantomBoardState(
            1 - player if is_free or self.is_abrupt else player,
            (own, other) if player == 0 else (other, own),
            (own_attempts, other_attempts) if player == 0 else (other_attempts, own_attempts),
            winner,
        )

    def utilities(self, state: PhantomBoardState) -> tuple[float, float]:
        return winner_utilities(state.winner)

    def infoset_key(self, state: PhantomBoardState, player: int) -> str:
        stones, attempts = state.stones[player], state.attempts[player]
        return attempts_key(player, [(cell, bool(stones >> cell & 1)) for cell in attempts])

    def action_name(self, state: PhantomBoardState, action: int) -> str:
        return f"{PLAYER_MARKS[state.turn]}{action}"

    def observation(self, state: PhantomBoardState, player: int) -> list[float]:
        """Return, by cell, not tried, opponent's, own; then by attempt, the cell as a one-hot."""
        size, attempts, stones = self.num_cells, state.attempts[player], state.stones[player]
        own = [float(stones >> cell & 1) for cell in range(size)]
        known = [float(cell in attempts) for cell in range(size)]
        order = [0.0] * (size * size)
        for number, cell in enumerate(attempts):
            order[number * size + cell] = 1.0
        unknown = [1.0 - k for k in known]
        return unknown + [k - o for k, o in zip(known, own, strict=True)] + own + order


def attempts_key(player: int, attempts: list[tuple[int, bool]]) -> str:
    """Return the infoset key after attempts, each a cell and whether it was free."""
    cells = [f"{cell}" if free else f"{cell}!" for cell, free in attempts]
    return f"{PLAYER_MARKS[player]}:{' '.join(cells)}"
