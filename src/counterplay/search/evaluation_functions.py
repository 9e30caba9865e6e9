"""Evaluation functions: estimates of player 0's utility, as functions of game and state.

Searchers take any such function as `evaluate`. This module makes them from random episodes, from
weighted features, and from networks on observations.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame, State
from counterplay.errors import ConfigError, GameError
from counterplay.games.connect_four import ConnectFour
from counterplay.registry import get_spec
from counterplay.search.alpha_beta import AlphaBeta
from counterplay.search.searcher import EvaluationFunction, terminal_utility

RolloutPolicy = Callable[[Game, State, random.Random], int]  # returns an action


def sample_uniform_action(game: Game, state: State, rng: random.Random) -> int:
    """Return a uniformly random action."""
    return rng.choice(game.actions(state))


def rollout_evaluation(
    policy: RolloutPolicy = sample_uniform_action, num_episodes: int = 1, seed: int = 0
) -> EvaluationFunction:
    """Return the evaluation by the mean utility of episodes played to the end.

    Args:
        policy: chooses the actions of both players; uniformly random by default.
        num_episodes: episodes per evaluation.
        seed: of the random numbers.
    """
    if num_episodes < 1:
        raise ConfigError(f"rollout: num_episodes is {num_episodes}, must be at least 1")
    rng = random.Random(seed)

    def evaluate(game: Game, state: State) -> float:
        total = 0.0
        for _ in range(num_episodes):
            current = state
            while (player := game.player(current)) != TERMINAL:
                if player == CHANCE:
                    outcomes, probabilities = zip(*game.chance_outcomes(current), strict=True)
                    (action,) = rng.choices(outcomes, probabilities)
                else:
                    action = policy(game, current, rng)
                current = game.next_state(current, action)
            total += terminal_utility(game, current)
        return total / num_episodes

    return evaluate


def weighted_sum_evaluation(*terms: tuple[float, EvaluationFunction]) -> EvaluationFunction:
    """Return the evaluation by the sum of weight times feature, for pairs (weight, feature)."""

    def evaluate(game: Game, state: State) -> float:
        return sum(weight * feature(game, state) for weight, feature in terms)

    return evaluate


def network_evaluation(value_function: Callable[[Sequence[float]], float]) -> EvaluationFunction:
    """Return the evaluation by a network.

    Args:
        value_function: maps `game.observation` of the player to act to that player's utility.
    """

    def evaluate(game: Game, state: State) -> float:
        if not isinstance(game, ObservedGame):
            raise GameError(f"{get_spec(game)} has no observation for a network to look at")
        player = game.player(state)
        value = float(value_function(game.observation(state, max(player, 0))))
        return -value if player == 1 else value

    return evaluate


def open_lines_evaluation(game: Game, state: State) -> float:
    """Evaluate a state of connect four by the lines that only one player can still fill.

    A line with k > 0 stones of one player and none of the other counts 4^k; the difference of the
    players' sums is scaled to lie between -1 and 1.
    """
    if not isinstance(game, ConnectFour):
        raise ConfigError(f"open_lines is about connect_four, not {get_spec(game)}")
    first, second = state.first_stones, state.second_stones
    score = 0
    lines = _winning_lines(game)
    for line in lines:
        own, other = first & line, second & line
        if own and not other:
            score += 1 << 2 * own.bit_count()
        elif other and not own:
            score -= 1 << 2 * other.bit_count()
    return score / (len(lines) << 2 * game.x_in_row) if lines else 0.0


def middle_first_order(game: Game, state: State) -> list[int]:
    """Return the legal columns of connect four from the middle outwards, as an order of actions."""
    if not isinstance(game, ConnectFour):
        raise ConfigError(f"middle_first is about connect_four, not {get_spec(game)}")
    return sorted(game.actions(state), key=lambda column: abs(2 * column - game.columns + 1))


SETTINGS_BY_GAME: dict[str, dict[str, Any]] = {  # defaults of alpha-beta, by game
    "connect_four": {
        "evaluate": open_lines_evaluation,
        "action_order": middle_first_order,
        "min_utility": -1.0,
        "max_utility": 1.0,
    },
    "tic_tac_toe": {"min_utility": -1.0, "max_utility": 1.0},
}


def adapt_searcher(game: Game, searcher: Any) -> Any:
    """Return an alpha-beta searcher with the settings for a game; others unchanged.

    The settings are utility bounds, an evaluation function and an order of actions. Parameters
    that differ from their defaults stay.
    """
    if not isinstance(searcher, AlphaBeta):
        return searcher
    defaults = {field.name: field.default for field in fields(searcher)}
    settings = SETTINGS_BY_GAME.get(get_spec(game).split("(")[0], {})
    changes = {key: settings[key] for key in settings if getattr(searcher, key) == defaults[key]}
    return replace(searcher, **changes)


@lru_cache(maxsize=64)
def _winning_lines(game: ConnectFour) -> list[int]:
    """Return the cells of every line of `x_in_row`, as bits."""
    lines = []
    for row in range(game.rows):
        for column in range(game.columns):
            for up, right in ((1, 0), (0, 1), (1, 1), (-1, 1)):
                last_row = row + up * (game.x_in_row - 1)
                last_column = column + right * (game.x_in_row - 1)
                if 0 <= last_row < game.rows and last_column < game.columns:
                    cells = [(row + up * k, column + right * k) for k in range(game.x_in_row)]
                    lines.append(sum(1 << c * (game.rows + 1) + r for r, c in cells))
    return lines
