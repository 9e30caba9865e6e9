"""Shared parts of the searchers: results, agents, and the check that a game can be searched.

A searcher is a frozen dataclass of parameters with one method, `search(game, state)`. Values are
always utilities of player 0: player 0 maximises, player 1 minimises.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Annotated, Any, Protocol, runtime_checkable

from annotated_types import Ge, Predicate

from counterplay.core.constant_sum import estimate_constant
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.rewards import RewardGame
from counterplay.errors import ConfigError, GameError
from counterplay.registry import get_spec

EvaluationFunction = Callable[[Game, State], float]  # estimate of player 0's utility
Seconds = Annotated[float, Ge(0.0)]

NUM_CHECK_EPISODES = 100  # random episodes that test for hidden information


def _is_function_or_none(value: object) -> bool:
    """a function of game and state"""
    return value is None or callable(value)


IS_FUNCTION_OR_NONE = Predicate(_is_function_or_none)
OptionalEvaluation = Annotated[EvaluationFunction | None, IS_FUNCTION_OR_NONE]


@dataclass(frozen=True)
class SearchResult:
    """The result of a search from a state."""

    action: int | None  # the best action; None if chance acts first
    value: float  # player 0's utility under best play, as far as was searched
    is_exact: bool  # whether no evaluation function was used
    num_nodes: int  # states visited
    action_values: dict[int, float] = field(default_factory=dict)  # bounds where search was cut
    depth: int = 0  # actions searched ahead; 0: to the end, or variable
    visits: dict[int, int] = field(default_factory=dict)  # by action, in Monte Carlo search


class Searcher(Protocol):
    """A frozen dataclass of parameters with this method."""

    def search(self, game: Game, state: State | None = None) -> SearchResult: ...


@dataclass(frozen=True)
class SearchAgent:
    """An agent that searches from every state and takes the best action.

    Args:
        game: a two-player zero-sum game of perfect information.
        searcher: a `Searcher`.

    Raises:
        ConfigError: the game has hidden information or not two players.
    """

    game: Game
    searcher: Any  # a Searcher that is a dataclass

    def __post_init__(self) -> None:
        resolve_root(self.game, None)  # checks the game

    def action_probabilities(self, state: State, player: int) -> list[float]:
        best = self.searcher.search(self.game, state).action
        return [float(action == best) for action in self.game.actions(state)]

    def for_episode(self, seed: int) -> SearchAgent:
        """Return the agent for one episode.

        It is a new object if the searcher has a seed, which is replaced, or a time limit.
        """
        if hasattr(self.searcher, "seed"):
            return replace(self, searcher=replace(self.searcher, seed=seed))
        return replace(self) if getattr(self.searcher, "max_seconds", 0.0) else self


@runtime_checkable
class TranspositionGame(Protocol):
    """A game that identifies states with different histories and the same continuation."""

    def search_key(self, state: State) -> Hashable:
        """Return a key that is equal for states with equal players, actions and utilities below."""
        ...


@runtime_checkable
class DeclaredGame(Protocol):
    """A game that declares whether information is hidden, because its states do not compare."""

    @property
    def has_perfect_information(self) -> bool:
        """Whether every player knows the state at all of its decisions."""
        ...


def zero_evaluation(game: Game, state: State) -> float:
    """Return 0, the default evaluation."""
    return 0.0


def resolve_root(game: Game, state: State | None) -> State:
    """Return the state to search from: the initial state if `state` is None.

    Raises:
        ConfigError: the game cannot be searched, or the state is terminal.
    """
    if isinstance(game, Hashable):
        _check_game_once(game)
    else:
        _check_game(game)
    state = game.initial_state() if state is None else state
    if game.player(state) == TERMINAL:
        raise ConfigError(f"there is nothing to search: this episode of {get_spec(game)} is over")
    return state


def terminal_utility(game: Game, state: State) -> float:
    """Return player 0's utility at a terminal state; raise GameError unless constant-sum."""
    first, second = game.utilities(state)
    tolerance = 1e-9 * max(1.0, abs(first))
    if abs(first + second) > tolerance:
        constant = _find_constant(game) if isinstance(game, Hashable) else estimate_constant(game)
        if abs(first + second - 2.0 * constant) > tolerance:
            problem = f"{get_spec(game)} pays {(first, second)}"
            raise GameError(f"search needs a zero-sum game; {problem}")
    return first


@lru_cache(maxsize=16)
def _find_constant(game: Game) -> float:
    return estimate_constant(game)


def catch_recursion_error(search: Callable[..., SearchResult]) -> Callable[..., SearchResult]:
    """Decorate a `search` method: raise GameError in place of RecursionError."""

    @wraps(search)
    def wrapper(self: Any, game: Game, state: State | None = None) -> SearchResult:
        try:
            return search(self, game, state)
        except RecursionError:
            problem = f"{get_spec(game)} goes on for too long to be searched to the end"
            raise GameError(f"{problem}; give max_depth, or take mcts") from None

    return wrapper


def chance_error(game: Game, name: str) -> GameError:
    """Return the error of a searcher that does not support chance."""
    return GameError(f"{name} takes no chance, and {get_spec(game)} has some: use expectiminimax")


def refuse_rewards(game: Game, name: str) -> None:
    """Raise ConfigError for a game with rewards on the way, which a searcher would ignore."""
    if isinstance(game, RewardGame):
        raise ConfigError(
            f"{name} takes no rewards on the way, and {get_spec(game)} has some: use "
            "cp.search.AccumulatedRewards(game), or expectiminimax"
        )


@lru_cache(maxsize=64)
def _check_game_once(game: Any) -> None:
    _check_game(game)


def _check_game(game: Game) -> None:
    """Raise ConfigError unless a game has two players and no hidden information in random episodes.

    Information is hidden if two different states of a player have the same infoset key: a searcher,
    which sees states, would know more than the player. A `DeclaredGame` is not played: two states
    of OpenSpiel are never equal, and a hundred random episodes of chess take minutes.
    """
    name = get_spec(game)
    if game.num_players != 2:
        raise ConfigError(f"search needs two players; {name} has {game.num_players}")
    if isinstance(game, DeclaredGame):
        if not game.has_perfect_information:
            raise ConfigError(f"search needs perfect information; {name} hides some")
        return
    rng = random.Random(0)
    state_by_key: dict[tuple[int, str], Hashable] = {}
    for _ in range(NUM_CHECK_EPISODES):
        state = game.initial_state()
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                actions = [action for action, _ in game.chance_outcomes(state)]
            else:
                actions = list(game.actions(state))
                key = (player, game.infoset_key(state, player))
                seen = game.search_key(state) if isinstance(game, TranspositionGame) else state
                if state_by_key.setdefault(key, seen) != seen:
                    raise ConfigError(
                        f"search needs perfect information; {name} hides some from player {player}"
                    )
            state = game.next_state(state, rng.choice(actions))
        terminal_utility(game, state)
