"""Matrix games: everyone chooses once, at the same time."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from counterplay.core.game import TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

PayoffTable = Any  # nested tuples of floats, as deep as there are players
MAX_PLAYERS = 30  # NumPy's arrays do not have many more dimensions


class MatrixGameState(NamedTuple):
    chosen_actions: tuple[
        int, ...
    ] = ()  # actions so far, player 0's first; secret until all have chosen


@settings()
class MatrixGame:
    """Any game in normal form, for any number of players, zero-sum or not.

    `payoffs[i][a][b]...` is the utility of player i when player 0 plays a, player 1 plays b, and so
    on: for two players a pair of matrices. Lists and numpy arrays are taken too.
    `action_names[i]` names the actions of player i; without them they are called by number.

    One infoset per player. With two players and m x n actions: 1 + m + m * n nodes.
    """

    payoffs: tuple[PayoffTable, ...]
    action_names: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        payoffs = _lists_from_arrays(self.payoffs)
        if not isinstance(payoffs, (list, tuple)) or not payoffs:
            raise ConfigError("matrix_game: payoffs is empty, must hold one table per player")
        shape = _nested_shape(payoffs[0])
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
        return (
            self.action_names[len(state.chosen_actions)][action]
            if self.action_names
            else str(action)
        )

    def observation(self, state: MatrixGameState, player: int) -> list[float]:
        """Player; there is nothing else to know."""
        return [float(p == player) for p in range(len(self.payoffs))]


def _lists_from_arrays(values: Any, depth: int = 0) -> Any:
    """Lists for a numpy array, or for one in a sequence; anything else as it is."""
    if hasattr(values, "tolist"):
        return values.tolist()
    if not isinstance(values, (list, tuple)):
        return values
    if depth > MAX_PLAYERS:
        problem = f"nested too deeply, must be for at most {MAX_PLAYERS} players"
        raise ConfigError(f"matrix_game: payoffs is {problem}")
    return [_lists_from_arrays(v, depth + 1) for v in values]


def _nested_shape(table: Any) -> tuple[int, ...]:
    """The lengths along the first entries: the shape, if the table has one."""
    if not isinstance(table, (list, tuple)):
        return ()
    return (len(table), *_nested_shape(table[0])) if table else (0,)


def _freeze(table: Any, shape: tuple[int, ...], where: str) -> PayoffTable:
    """The table as nested tuples of floats, once it is known to be complete and finite."""
    if not shape:
        if isinstance(table, (int, float)) and math.isfinite(table):
            return float(table)
        raise ConfigError(f"matrix_game: {where} is {table!r}, must be a finite number")
    if not isinstance(table, (list, tuple)) or len(table) != shape[0] or not table:
        needed = shape[0] or "some"
        raise ConfigError(f"matrix_game: {where} is {table!r}, must have {needed} entries")
    return tuple(_freeze(row, shape[1:], f"{where}[{i}]") for i, row in enumerate(table))
