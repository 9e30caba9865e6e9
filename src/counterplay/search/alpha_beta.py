"""Alpha-beta: minimax without looking at what cannot matter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import settings
from counterplay.search.searcher import (
    EvaluationFunction,
    SearchResult,
    TranspositionGame,
    catch_recursion_error,
    chance_error,
    check_settings,
    resolve_root,
    terminal_utility,
    zero_evaluation,
)

BOUND_EXACT, BOUND_LOWER, BOUND_UPPER = 0, 1, 2  # what a value in the table says
UNLIMITED_DEPTH = 2**62
MAX_TABLE_STATES = 5_000_000  # in the table, about 1 GiB

ActionOrder = Callable[[Game, State], Sequence[int]]
ChildStates = Iterable[tuple[int, State]]


@settings()
class AlphaBeta:
    """Alpha-beta search (Knuth and Moore, 1975). With player 0 sure of alpha, player 1 of beta:

        player 0:  v = max(v, V(s', alpha, beta));  stop if v >= beta;   alpha = max(alpha, v)
        player 1:  v = min(v, V(s', alpha, beta));  stop if v <= alpha;  beta  = min(beta, v)

    The value is minimax's; of the actions at the root, the first that strictly improved is taken,
    because later ones may only seem as good. Three things make it faster, and none changes the
    value: iterative deepening looks 1, 2, 3, ... actions ahead, the table of states met keeps
    values with their kind of bound (only for games with `search_key`, whose states can meet again),
    and actions are ordered: those that end the game, what was best here before, then as `order`
    says, or without it by how often an action cut a search short at the same depth.

    `lowest` and `highest` say what utilities can be, and guesses must lie between them: a certain
    win ends the search, so that deepening finds the quickest.
    """

    max_depth: int = 0  # actions to look ahead; 0: to the end, or as far as the time allows
    max_seconds: float = 0.0  # 0: no limit; otherwise the deepest search that was finished counts
    evaluate: EvaluationFunction | None = (
        None  # of states where the search stops early; without it, 0
    )
    action_order: ActionOrder | None = None  # the actions of a state, the most promising first
    min_utility: float = -inf
    max_utility: float = inf
    iterative_deepening: bool = True
    order_actions: bool = True
    use_table: bool = True

    def __post_init__(self) -> None:
        check_settings(
            "alpha_beta", self, max_depth=0, max_seconds=0.0, max_utility=self.min_utility
        )

    @catch_recursion_error
    def search(self, game: Game, state: State | None = None) -> SearchResult:
        root = resolve_root(game, state)
        if game.player(root) == CHANCE:
            raise chance_error(game, "alpha_beta")
        run = _AlphaBetaSearch(self, game)
        # without a limit on depth or time, shallow searches would only cost time
        stepwise = self.iterative_deepening and (self.max_depth or self.max_seconds)
        limit = self.max_depth or UNLIMITED_DEPTH
        found = run.search_root(root, 1 if stepwise else limit)
        if self.max_seconds:
            run.deadline_seconds = run.start_seconds + self.max_seconds
        while (
            stepwise
            and found.depth < limit
            and not found.is_exact
            and self.is_undecided(found.value)
        ):
            before = found
            try:
                found = run.search_root(root, found.depth + 1)
            except _OutOfTimeError:
                break
            if found.value == (self.max_utility if game.player(root) else self.min_utility):
                found = replace(found, action=before.action)  # lost: what held out longest
        return found

    def is_undecided(self, value: float) -> bool:
        """Whether a deeper search could find another value: not once somebody is sure to win."""
        return self.min_utility < value < self.max_utility


class _OutOfTimeError(Exception):
    """The search is to end now."""


class _AlphaBetaSearch:
    """What one search remembers."""

    def __init__(self, settings: AlphaBeta, game: Game) -> None:
        self.settings, self.game = settings, game
        self.evaluate = settings.evaluate or zero_evaluation
        self.state_key = (
            game.search_key if settings.use_table and isinstance(game, TranspositionGame) else None
        )
        self.table: dict[Any, tuple[int, float, int, int]] = {}  # depth, value, bound, action
        self.cutoffs: dict[tuple[int, int], int] = {}  # by depth and action
        self.start_seconds, self.deadline_seconds = time.perf_counter(), inf
        self.num_nodes = self.num_evaluations = 0

    def search_root(self, root: State, depth: int) -> SearchResult:
        """The best action, looking `depth` actions ahead."""
        settings, player = self.settings, self.game.player(root)
        key = self.state_key(root) if self.state_key else None
        self.num_evaluations = 0
        self.num_nodes += 1
        known = self.table.get(key)
        alpha, beta = settings.min_utility, settings.max_utility
        best, found = None, inf if player else -inf
        values = {}
        for action, child in self.order_children(root, depth, known[3] if known else None):
            worth = values[action] = self.value(child, depth - 1, alpha, beta)
            if best is None or (worth < found if player else worth > found):
                best, found = action, worth
            alpha, beta = (alpha, min(beta, found)) if player else (max(alpha, found), beta)
            if alpha >= beta:
                break
        assert best is not None
        self.store_value(key, depth, found, BOUND_EXACT, best)
        exact, shown = self.num_evaluations == 0, depth if depth < UNLIMITED_DEPTH else 0
        return SearchResult(best, found, exact, self.num_nodes, values, shown)

    def value(self, state: State, depth: int, alpha: float, beta: float) -> float:
        """The value of a state if it lies between alpha and beta; otherwise a bound on it."""
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
            known = self.table.get(key)
            if known:
                far, worth, bound, action = known
                if far >= depth:
                    self.num_evaluations += far < UNLIMITED_DEPTH
                    if bound == BOUND_EXACT:
                        return worth
                    if bound == BOUND_LOWER:
                        alpha = max(alpha, worth)
                    else:
                        beta = min(beta, worth)
                    if alpha >= beta:
                        return worth
        guesses = self.num_evaluations
        search = self.min_value if player else self.max_value
        worth, bound, action = search(self.order_children(state, depth, action), depth, alpha, beta)
        if self.num_evaluations == guesses:
            depth = UNLIMITED_DEPTH  # nothing below was guessed: as good as any deeper search
        self.store_value(key, depth, worth, bound, action)
        return worth

    def max_value(
        self, children: ChildStates, depth: int, alpha: float, beta: float
    ) -> tuple[float, int, int]:
        """Player 0's choice: its value, the kind of bound that is, and the action."""
        found, best, low = -inf, -1, alpha
        for action, child in children:
            worth = self.value(child, depth - 1, alpha, beta)
            if worth > found:
                found, best = worth, action
                if found >= beta:
                    self.cutoffs[depth, action] = self.cutoffs.get((depth, action), 0) + 1
                    return found, BOUND_LOWER, action
                alpha = max(alpha, found)
        return found, BOUND_EXACT if found > low else BOUND_UPPER, best

    def min_value(
        self, children: ChildStates, depth: int, alpha: float, beta: float
    ) -> tuple[float, int, int]:
        """Player 1's choice, the same the other way round."""
        found, best, high = inf, -1, beta
        for action, child in children:
            worth = self.value(child, depth - 1, alpha, beta)
            if worth < found:
                found, best = worth, action
                if found <= alpha:
                    self.cutoffs[depth, action] = self.cutoffs.get((depth, action), 0) + 1
                    return found, BOUND_UPPER, action
                beta = min(beta, found)
        return found, BOUND_EXACT if found < high else BOUND_LOWER, best

    def order_children(self, state: State, depth: int, best_action: int | None) -> ChildStates:
        """The actions with the states they lead to, the most promising first."""
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
                return -UNLIMITED_DEPTH  # costs nothing to look at
            return (
                1 - UNLIMITED_DEPTH
                if child[0] == best_action
                else -cutoffs.get((depth, child[0]), 0)
            )

        return sorted(children, key=rank)

    def store_value(self, key: Any, depth: int, value: float, bound: int, action: int) -> None:
        """Enter what is known of a state into the table."""
        if key is not None and (len(self.table) < MAX_TABLE_STATES or key in self.table):
            self.table[key] = (depth, value, bound, action)
