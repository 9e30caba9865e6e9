"""Constant-sum games, which are zero-sum once a constant is subtracted from all utilities.

Arenas have `utility_shift`, the constant, and `zero_sum_arena`, the same arena without it. The
methods of algorithms made by `settings` run on the latter and return policies of the former, so
that algorithms see zero-sum games and values are reported in the game's units. Of other games
nothing is subtracted.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.game import CHANCE, TERMINAL, ZERO_SUM_TOLERANCE, Game, State
from counterplay.core.game_wrapper import GameWrapper
from counterplay.core.observations import KeyObservedGame, has_observations

NUM_PROBE_EPISODES = 100  # random episodes that show whether a game without a tree is constant-sum
MAX_EPISODE_LENGTH = 10_000  # actions; algorithms refuse longer episodes


def constant_of(utility: Floats) -> float:
    """Return the mean utility of the players if it is the same in all rows [N, P], else 0.

    It is 0 for zero-sum games, for one player, and for games whose sum of utilities varies.
    """
    if utility.shape[1] < 2:
        return 0.0
    largest = np.abs(utility).max(axis=1)
    sums = utility.sum(axis=1)
    if (np.abs(sums) <= ZERO_SUM_TOLERANCE * largest).all():
        return 0.0
    constant = float(sums.min() + sums.max()) / 2.0 / utility.shape[1]
    rest = utility - constant
    rounding = 8.0 * np.finfo(np.float64).eps * largest
    tolerance = ZERO_SUM_TOLERANCE * np.abs(rest).max(axis=1) + rounding
    return constant if bool((np.abs(rest.sum(axis=1)) <= tolerance).all()) else 0.0


@dataclass(frozen=True)
class ShiftedGame(GameWrapper):
    """A game whose players all receive `constant` less at the end."""

    constant: float

    def utilities(self, state: State) -> list[float]:
        return [utility - self.constant for utility in self.game.utilities(state)]

    def compiled_game(self) -> None:
        """Return None: compiled rules would pay the game's own utilities."""

    def __getattr__(self, name: str) -> Any:
        """Return an optional attribute of the game, such as `num_distinct_actions`."""
        if name.startswith("__") or name == "game":
            raise AttributeError(name)
        return getattr(self.game, name)


class ObservedShiftedGame(ShiftedGame):
    """A shifted game with observations."""

    def observation(self, state: State, player: int) -> Sequence[float]:
        observation: Sequence[float] = self.game.observation(state, player)  # type: ignore[attr-defined]
        return observation


def subtract_constant(game: Game, constant: float) -> Game:
    """Return the game with `constant` subtracted from all utilities."""
    kind = ObservedShiftedGame if has_observations(game) else ShiftedGame
    return kind(game, constant)


def estimate_constant(game: Game) -> float:
    """Return `constant_of` the utilities of random episodes, always the same ones.

    The first episode of a zero-sum game shows that its constant is 0. Rules that raise or break the
    protocol have the constant 0 too: the algorithm that runs on them says what is wrong.
    """
    rng, rows = random.Random(0), []
    for _ in range(NUM_PROBE_EPISODES if game.num_players > 1 else 0):
        try:
            rows.append([float(x) for x in _random_episode_utilities(game, rng)])
            utility = np.array(rows).reshape(len(rows), game.num_players)
        except Exception:
            return 0.0
        if not np.isfinite(utility).all() or constant_of(utility) == 0.0:
            return 0.0
    return constant_of(utility) if rows else 0.0


def _random_episode_utilities(game: Game, rng: random.Random) -> Sequence[float]:
    state = game.initial_state()
    for _ in range(MAX_EPISODE_LENGTH):
        player = game.player(state)
        if player == TERMINAL:
            return game.utilities(state)
        if player == CHANCE:
            outcomes = list(game.chance_outcomes(state))
            weights = [probability for _, probability in outcomes]
            action = rng.choices(outcomes, weights)[0][0]
        else:
            action = rng.choice(tuple(game.actions(state)))
        state = game.next_state(state, action)
    return ()


def run_on_zero_sum_arenas(algorithm: Any) -> None:
    """Make `init`, `step` and `policies` of an algorithm's class run on `zero_sum_arena`."""
    for name in ("init", "step"):
        setattr(algorithm, name, _on_zero_sum_arena(getattr(algorithm, name)))
    policies = algorithm.policies

    @wraps(policies)
    def policies_of_game(self: Any, arena: Any, *arguments: Any, **options: Any) -> Any:
        inner = getattr(arena, "zero_sum_arena", arena)
        policies_by_name = policies(self, inner, *arguments, **options)
        if inner is arena:
            return policies_by_name
        return {name: _in_game(policy, arena) for name, policy in policies_by_name.items()}

    algorithm.policies = policies_of_game


def _on_zero_sum_arena(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Any, arena: Any, *arguments: Any, **options: Any) -> Any:
        return method(self, getattr(arena, "zero_sum_arena", arena), *arguments, **options)

    return call


def _in_game(policy: Any, arena: Any) -> Any:
    """Return a policy of `arena.zero_sum_arena` as one of the arena."""
    result = copy.copy(policy)
    if hasattr(policy, "arena"):
        object.__setattr__(result, "arena", arena)
    elif isinstance(getattr(policy, "game", None), KeyObservedGame):
        object.__setattr__(result, "game", KeyObservedGame(arena.game))
    elif hasattr(policy, "game"):
        object.__setattr__(result, "game", arena.game)
    return result


def describe_shift(arena: Any) -> str:
    """Return a line for the user if a constant is subtracted before solving, or ""."""
    constant = getattr(arena, "utility_shift", 0.0)
    if not constant:
        return ""
    total = constant * arena.num_players
    return (
        f"{arena.spec} is constant-sum (all utilities add up to {total:g}): {constant:g} per "
        "player is subtracted while solving; values are in the game's units"
    )
