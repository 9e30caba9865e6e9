"""What all searchers share: what they find, how they guess, and which games they refuse.

A searcher is a frozen dataclass of settings with one method, `search(game, state)`. Values are
always utilities of player 0: player 0 maximises, player 1 minimises.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps
from typing import Any, Protocol, runtime_checkable

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.errors import ConfigError, GameError
from counterplay.registry import get_spec

EvaluationFunction = Callable[[Game, State], float]  # a guess at player 0's utility from a state on

NUM_CHECK_EPISODES = 100  # random walks that look for hidden information


@dataclass(frozen=True)
class SearchResult:
    """The result of a search from a state."""

    action: int | None  # the best one found; None where chance acts first
    value: float  # player 0's utility under best play, as far as was searched
    is_exact: bool  # whether nothing was guessed
    num_nodes: int  # states visited
    action_values: dict[int, float] = field(default_factory=dict)  # as far as each was searched
    depth: int = 0  # actions looked ahead; 0: to the end, or as far as it pays
    visits: dict[int, int] = field(default_factory=dict)  # of each action, by Monte Carlo search


class Searcher(Protocol):
    """Settings as fields of a frozen dataclass, and this method."""

    def search(self, game: Game, state: State | None = None) -> SearchResult: ...


@dataclass(frozen=True)
class SearchAgent:
    """A searcher in a seat: it looks ahead anew at every state and takes the best action found."""

    game: Game
    searcher: Any  # a Searcher, which is a dataclass

    def __post_init__(self) -> None:
        resolve_root(self.game, None)  # complains about hidden information before the first action

    def action_probabilities(self, state: State, player: int) -> list[float]:
        found = self.searcher.search(self.game, state).action
        return [float(action == found) for action in self.game.actions(state)]

    def for_episode(self, seed: int) -> SearchAgent:
        """The same with another seed; itself where neither seed nor clock has a say."""
        if hasattr(self.searcher, "seed"):
            return replace(self, searcher=replace(self.searcher, seed=seed))
        return replace(self) if getattr(self.searcher, "max_seconds", 0.0) else self


@runtime_checkable
class TranspositionGame(Protocol):
    """A game that says which of its states go on alike, though their histories differ."""

    def search_key(self, state: State) -> Hashable:
        """Equal for states with the same player to act, actions, utilities, from there on."""
        ...


def zero_evaluation(game: Game, state: State) -> float:
    """The guess of a searcher that was given none."""
    return 0.0


def resolve_root(game: Game, state: State | None) -> State:
    """The state to search from, once game and state can be searched."""
    if isinstance(game, Hashable):
        _check_game_once(game)
    else:
        _check_game(game)
    state = game.initial_state() if state is None else state
    if game.player(state) == TERMINAL:
        raise ConfigError(f"there is nothing to search: this episode of {get_spec(game)} is over")
    return state


def terminal_utility(game: Game, state: State) -> float:
    """Player 0's utility at a terminal state."""
    first, second = game.utilities(state)
    if abs(first + second) > 1e-9 * max(1.0, abs(first)):
        raise GameError(f"search needs a zero-sum game; {get_spec(game)} pays {(first, second)}")
    return first


def catch_recursion_error(search: Callable[..., SearchResult]) -> Callable[..., SearchResult]:
    """A `search` that says so when the game goes on for longer than it can follow."""

    @wraps(search)
    def wrapper(self: Any, game: Game, state: State | None = None) -> SearchResult:
        try:
            return search(self, game, state)
        except RecursionError:
            problem = f"{get_spec(game)} goes on for too long to be searched to the end"
            raise GameError(f"{problem}; give max_depth, or take mcts") from None

    return wrapper


def chance_error(game: Game, name: str) -> GameError:
    """The complaint of a searcher that cannot deal with chance."""
    return GameError(f"{name} takes no chance, and {get_spec(game)} has some: use expectiminimax")


def check_settings(name: str, settings: Any, **minimums: float) -> None:
    """Refuse numbers below their least, and guesses that cannot be called."""
    for key, bound in minimums.items():
        value = getattr(settings, key)
        if not value >= bound:
            raise ConfigError(f"{name}: {key} is {value}, must be at least {bound:g}")
    for key in ("evaluate", "action_order", "prior"):
        value = getattr(settings, key, None)
        if value is not None and not callable(value):
            raise ConfigError(f"{name}: {key} is {value!r}, must be a function of game and state")


@lru_cache(maxsize=64)
def _check_game_once(game: Any) -> None:
    _check_game(game)


def _check_game(game: Game) -> None:
    """Refuse games of other than two players, and those in which random walks meet a secret.

    A player who cannot tell two states apart has the same infoset key in both; a searcher, who
    looks at states, would know more than the player may.
    """
    name = get_spec(game)
    if game.num_players != 2:
        raise ConfigError(f"search needs two players; {name} has {game.num_players}")
    rng = random.Random(0)
    seen: dict[tuple[int, str], Hashable] = {}
    for _ in range(NUM_CHECK_EPISODES):
        state = game.initial_state()
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                actions = [action for action, _ in game.chance_outcomes(state)]
            else:
                actions = list(game.actions(state))
                known = game.search_key(state) if isinstance(game, TranspositionGame) else state
                if seen.setdefault((player, game.infoset_key(state, player)), known) != known:
                    raise ConfigError(
                        f"search needs perfect information; {name} hides some from player {player}"
                    )
            state = game.next_state(state, rng.choice(actions))
        terminal_utility(game, state)
