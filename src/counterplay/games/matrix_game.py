"""Matrix games: all players choose one action at the same time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

PayoffTable = Any  # nested tuples of floats, as deep as there are players
MAX_PLAYERS = 30  # NumPy arrays have at most 32 dimensions in older versions


class MatrixGameState(NamedTuple):
    chosen_actions: tuple[int, ...] = ()  # player 0's first; hidden from the other players


@settings()
class MatrixGame:
    """Any game in normal form, for any number of players, zero-sum or not.

    One infoset per player. With two players and m x n actions: 1 + m + m * n nodes.

    Args:
        payoffs: `payoffs[i][a][b]...` is the utility of player i if player 0 plays a, player 1
            plays b, and so on: for two players a pair of matrices. Nested tuples, lists or numpy
            arrays.
        action_names: `action_names[i]` names the actions of player i; numbers by default.
    """

    payoffs: tuple[PayoffTable, ...]
    action_names: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        payoffs = _lists_from_arrays(self.payoffs)
        if not isinstance(payoffs, (list, tuple)) or not payoffs:
            raise ConfigError("matrix_game: payoffs is empty, must hold one table per player")
        shape = _table_shape(payoffs[0])
        if len(shape) != len(payoffs):
            raise ConfigError(
                f"matrix_game: payoffs holds {len(payoffs)} tables, so each must have "
                f"{len(payoffs)} dimensions, one per player, not {len(shape)}"
            )
        frozen = tuple(_freeze(table, shape, f"payoffs[{i}]") for i, table in enumerate(payoffs))
        object.__setattr__(self, "payoffs", frozen)

        names = tuple(tuple(map(str, row)) for row in self.action_names)
        if names and tuple(map(len, names)) != shape:
            raise ConfigError(
                f"matrix_game: action_names has {tuple(map(len, names))} names by player, "
                f"must have {shape} as payoffs has actions"
            )
        object.__setattr__(self, "action_names", names)

    @property
    def num_players(self) -> int:
        return len(self.payoffs)

    def initial_state(self) -> MatrixGameState:
        return MatrixGameState()

    def player(self, state: MatrixGameState) -> int:
        turn = len(state.chosen_actions)
        return turn if turn < len(self.payoffs) else TERMINAL

    def actions(self, state: MatrixGameState) -> range:
        table = self.payoffs[0]
        for _ in state.chosen_actions:
            table = table[0]
        return range(len(table))

    def chance_outcomes(self, state: MatrixGameState) -> list[tuple[int, float]]:
        return []

    def next_state(self, state: MatrixGameState, action: int) -> MatrixGameState:
        return MatrixGameState((*state.chosen_actions, action))

    def utilities(self, state: MatrixGameState) -> list[float]:
        tables = list(self.payoffs)
        for action in state.chosen_actions:
            tables = [table[action] for table in tables]
        return tables

    def infoset_key(self, state: MatrixGameState, player: int) -> str:
        return f"p{player}"

    def action_name(self, state: MatrixGameState, action: int) -> str:
        if not self.action_names:
            return str(action)
        return self.action_names[len(state.chosen_actions)][action]

    def observation(self, state: MatrixGameState, player: int) -> list[float]:
        """Return the player as a one-hot; there is no other information."""
        return [float(p == player) for p in range(len(self.payoffs))]


def _lists_from_arrays(values: Any, depth: int = 0) -> Any:
    """Return lists in place of numpy arrays, also inside sequences; other values unchanged."""
    if hasattr(values, "tolist"):
        return values.tolist()
    if not isinstance(values, (list, tuple)):
        return values
    if depth > MAX_PLAYERS:
        problem = f"nested too deeply, must be for at most {MAX_PLAYERS} players"
        raise ConfigError(f"matrix_game: payoffs is {problem}")
    return [_lists_from_arrays(v, depth + 1) for v in values]


def _table_shape(table: Any) -> tuple[int, ...]:
    """Return the lengths along the first entries: the shape of a regular table."""
    if not isinstance(table, (list, tuple)):
        return ()
    return (len(table), *_table_shape(table[0])) if table else (0,)


def _freeze(table: Any, shape: tuple[int, ...], where: str) -> PayoffTable:
    """Return the table as nested tuples of floats; raise ConfigError unless regular and finite."""
    if not shape:
        if isinstance(table, (int, float)) and math.isfinite(table):
            return float(table)
        raise ConfigError(f"matrix_game: {where} is {table!r}, must be a finite number")
    if not isinstance(table, (list, tuple)) or len(table) != shape[0] or not table:
        needed = shape[0] or "some"
        raise ConfigError(f"matrix_game: {where} is {table!r}, must have {needed} entries")
    return tuple(_freeze(row, shape[1:], f"{where}[{i}]") for i, row in enumerate(table))
