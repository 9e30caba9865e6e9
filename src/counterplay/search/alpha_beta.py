"""Alpha-beta: minimax that skips states which cannot change the result."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Annotated, NamedTuple

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import NonNegativeInt, settings
from counterplay.errors import ConfigError
from counterplay.search.searcher import (
    IS_FUNCTION_OR_NONE,
    OptionalEvaluation,
    SearchResult,
    Seconds,
    TranspositionGame,
    catch_recursion_error,
    chance_error,
    refuse_rewards,
    resolve_root,
    terminal_utility,
    zero_evaluation,
)

BOUND_EXACT, BOUND_LOWER, BOUND_UPPER = 0, 1, 2  # kinds of values in the table
UNLIMITED_DEPTH = 2**62
MAX_TABLE_STATES = 5_000_000  # about 1 GiB

ActionOrder = Callable[[Game, State], Sequence[int]]
ChildStates = Iterable[tuple[int, State]]


@settings()
class AlphaBeta:
    """Alpha-beta search (Knuth and Moore, 1975). If player 0 can get alpha and player 1 beta:

        player 0:  v = max(v, V(s', alpha, beta));  stop if v >= beta;   alpha = max(alpha, v)
        player 1:  v = min(v, V(s', alpha, beta));  stop if v <= alpha;  beta  = min(beta, v)

    The value is that of minimax. The result is the first action at the root that strictly improves
    the value; later actions may only have an equal bound. Three techniques make the search faster
    and do not change the value:

    - Iterative deepening searches 1, 2, 3, ... actions ahead.
    - A transposition table stores values with their kind of bound, for games with `search_key`.
    - Actions are ordered: first those that end the game, then the best action of an earlier search,
      then by `action_order`, or by default by how often an action caused a cutoff at this depth.

    Values of `evaluate` must lie between `min_utility` and `max_utility`. A proven win ends the
    search, so that iterative deepening finds the shortest win.
    """

    max_depth: NonNegativeInt = 0  # actions to search ahead; 0: to the end, or until `max_seconds`
    max_seconds: Seconds = 0.0  # 0: no limit; the result is that of the deepest finished search
    evaluate: OptionalEvaluation = None  # of states at the depth limit; 0 by default
    action_order: Annotated[ActionOrder | None, IS_FUNCTION_OR_NONE] = None  # best actions first
    min_utility: float = -inf
    max_utility: float = inf
    iterative_deepening: bool = True
    order_actions: bool = True
    use_table: bool = True

    def __post_init__(self) -> None:
        if not self.max_utility >= self.min_utility:
            problem = f"{self.max_utility}, must be at least {self.min_utility:g}"
            raise ConfigError(f"alpha_beta: max_utility is {problem}")

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        refuse_rewards(game, "alpha_beta")
        root = resolve_root(game, state)
        if game.player(root) == CHANCE:
            raise chance_error(game, "alpha_beta")
        run = _AlphaBetaSearch(self, game)
        # without a limit on depth or time, shallow searches would only cost time
        deepens = self.iterative_deepening and (self.max_depth or self.max_seconds)
        limit = self.max_depth or UNLIMITED_DEPTH
        result = run.search_root(root, 1 if deepens else limit)
        if self.max_seconds:
            run.deadline_seconds = run.start_seconds + self.max_seconds
        lost_value = self.max_utility if game.player(root) else self.min_utility
        while deepens and result.depth < limit:
            if result.is_exact or not self.is_undecided(result.value):
                break
            try:
                deeper = run.search_root(root, result.depth + 1)
            except _OutOfTimeError:
                break
            if deeper.value == lost_value:  # keep the action that delays the loss the longest
                deeper = replace(deeper, action=result.action)
            result = deeper
        return result

    def is_undecided(self, value: float) -> bool:
        """Return True if a deeper search could find another value, False after a proven win."""
        return self.min_utility < value < self.max_utility


class _OutOfTimeError(Exception):
    """The time limit of a search is reached."""


class _TableEntry(NamedTuple):
    """A stored value of a state."""

    depth: int  # actions searched ahead
    value: float
    bound: int  # BOUND_EXACT, BOUND_LOWER or BOUND_UPPER
    action: int  # the best action


class _AlphaBetaSearch:
    """One run of alpha-beta: transposition table, cutoff counts and deadline."""

    def __init__(self, settings: AlphaBeta, game: Game) -> None:
        self.settings, self.game = settings, game
        self.evaluate = settings.evaluate or zero_evaluation
        self.state_key = (
            game.search_key if settings.use_table and isinstance(game, TranspositionGame) else None
        )
        self.table: dict[Hashable, _TableEntry] = {}
        self.cutoffs: dict[tuple[int, int], int] = {}  # by depth and action
        self.start_seconds, self.deadline_seconds = time.perf_counter(), inf
        self.num_nodes = self.num_evaluations = 0

    def search_root(self, root: State, depth: int) -> SearchResult:
        """Return the best action, searching `depth` actions ahead."""
        settings, player = self.settings, self.game.player(root)
        key = self.state_key(root) if self.state_key else None
        self.num_evaluations = 0
        self.num_nodes += 1
        entry = self.table.get(key)
        alpha, beta = settings.min_utility, settings.max_utility
        best_action, best_value = None, inf if player else -inf
        values = {}
        for action, child in self.order_children(root, depth, entry.action if entry else None):
            value = values[action] = self.value(child, depth - 1, alpha, beta)
            is_better = value < best_value if player else value > best_value
            if best_action is None or is_better:
                best_action, best_value = action, value
            if player:
                beta = min(beta, best_value)
            else:
                alpha = max(alpha, best_value)
            if alpha >= beta:
                break
        assert best_action is not None
        self.store_value(key, _TableEntry(depth, best_value, BOUND_EXACT, best_action))
        is_exact, shown_depth = self.num_evaluations == 0, depth if depth < UNLIMITED_DEPTH else 0
        return SearchResult(best_action, best_value, is_exact, self.num_nodes, values, shown_depth)

    def value(self, state: State, depth: int, alpha: float, beta: float) -> float:
        """Return the value of a state if it lies between alpha and beta; otherwise a bound."""
        self.num_nodes += 1
        player = self.game.player(state)
        if player == TERMINAL:
            return terminal_utility(self.game, state)
        if player == CHANCE:
            raise chance_error(self.game, "alpha_beta")
        if depth == 0:
            self.num_evaluations += 1
            return self.evaluate(self.game, state)
        if not self.num_nodes % 64 and time.perf_counter() > self.deadline_seconds:
            raise _OutOfTimeError
        action, key = None, None
        if self.state_key:
            key = self.state_key(state)
            entry = self.table.get(key)
            if entry:
                action = entry.action
                if entry.depth >= depth:
                    self.num_evaluations += entry.depth < UNLIMITED_DEPTH
                    if entry.bound == BOUND_EXACT:
                        return entry.value
                    if entry.bound == BOUND_LOWER:
                        alpha = max(alpha, entry.value)
                    else:
                        beta = min(beta, entry.value)
                    if alpha >= beta:
                        return entry.value
        evaluations_before = self.num_evaluations
        search = self.min_value if player else self.max_value
        value, bound, action = search(self.order_children(state, depth, action), depth, alpha, beta)
        if self.num_evaluations == evaluations_before:
            depth = UNLIMITED_DEPTH  # no evaluation below: as good as any deeper search
        self.store_value(key, _TableEntry(depth, value, bound, action))
        return value

    def max_value(
        self, children: ChildStates, depth: int, alpha: float, beta: float
    ) -> tuple[float, int, int]:
        """Return the best value for player 0, its kind of bound, and the action."""
        best_value, best_action, low = -inf, -1, alpha
        for action, child in children:
            value = self.value(child, depth - 1, alpha, beta)
            if value > best_value:
                best_value, best_action = value, action
                if value >= beta:
                    self.cutoffs[depth, action] = self.cutoffs.get((depth, action), 0) + 1
                    return value, BOUND_LOWER, action
                alpha = max(alpha, value)
        return best_value, BOUND_EXACT if best_value > low else BOUND_UPPER, best_action

    def min_value(
        self, children: ChildStates, depth: int, alpha: float, beta: float
    ) -> tuple[float, int, int]:
        """Return the best value for player 1, its kind of bound, and the action."""
        best_value, best_action, high = inf, -1, beta
        for action, child in children:
            value = self.value(child, depth - 1, alpha, beta)
            if value < best_value:
                best_value, best_action = value, action
                if value <= alpha:
                    self.cutoffs[depth, action] = self.cutoffs.get((depth, action), 0) + 1
                    return value, BOUND_UPPER, action
                beta = min(beta, value)
        return best_value, BOUND_EXACT if best_value < high else BOUND_LOWER, best_action

    def order_children(self, state: State, depth: int, best_action: int | None) -> ChildStates:
        """Return the actions with the states they lead to, the most promising first."""
        game, settings = self.game, self.settings
        actions = (
            settings.action_order(game, state) if settings.action_order else game.actions(state)
        )
        children = ((action, game.next_state(state, action)) for action in actions)
        if not settings.order_actions:
            return children
        cutoffs = {} if settings.action_order else self.cutoffs

        def rank(child: tuple[int, State]) -> int:
            if game.player(child[1]) == TERMINAL:
                return -UNLIMITED_DEPTH  # costs nothing to evaluate
            if child[0] == best_action:
                return 1 - UNLIMITED_DEPTH
            return -cutoffs.get((depth, child[0]), 0)

        return sorted(children, key=rank)

    def store_value(self, key: Hashable | None, entry: _TableEntry) -> None:
        """Store the value of a state if it has a key and the table has room."""
        if key is not None and (len(self.table) < MAX_TABLE_STATES or key in self.table):
            self.table[key] = entry
