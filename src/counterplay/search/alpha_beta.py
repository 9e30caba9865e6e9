"""Alpha-beta: minimax without looking at what cannot matter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from counterplay.game import CHANCE, TERMINAL, Game, State
from counterplay.search.searching import (
    Evaluation,
    Found,
    MergingGame,
    check_settings,
    no_chance,
    nothing,
    recursive,
    start,
    utility,
)
from counterplay.settings import settings

EXACT, AT_LEAST, AT_MOST = 0, 1, 2  # what a value in the table says
TO_THE_END = 2**62
MOST_STATES = 5_000_000  # in the table, about 1 GiB

Ordering = Callable[[Game, State], Sequence[int]]
Children = Iterable[tuple[int, State]]


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

    depth: int = 0  # actions to look ahead; 0: to the end, or as far as the time allows
    seconds: float = 0.0  # 0: no limit; otherwise the deepest search that was finished counts
    evaluate: Evaluation | None = None  # of states where the search stops early; without it, 0
    order: Ordering | None = None  # the actions of a state, the most promising first
    lowest: float = -inf
    highest: float = inf
    deepening: bool = True
    ordering: bool = True
    table: bool = True

    def __post_init__(self) -> None:
        check_settings("alpha_beta", self, depth=0, seconds=0.0, highest=self.lowest)

    @recursive
    def search(self, game: Game, state: State | None = None) -> Found:
        root = start(game, state)
        if game.player(root) == CHANCE:
            raise no_chance(game, "alpha_beta")
        run = _Run(self, game)
        # without a limit on depth or time, shallow searches would only cost time
        stepwise = self.deepening and (self.depth or self.seconds)
        limit = self.depth or TO_THE_END
        found = run.from_root(root, 1 if stepwise else limit)
        if self.seconds:
            run.until = run.began + self.seconds
        while stepwise and found.depth < limit and not found.exact and self.is_open(found.value):
            before = found
            try:
                found = run.from_root(root, found.depth + 1)
            except _OutOfTimeError:
                break
            if found.value == (self.highest if game.player(root) else self.lowest):
                found = replace(found, action=before.action)  # lost: what held out longest
        return found

    def is_open(self, value: float) -> bool:
        """Whether a deeper search could find another value: not once somebody is sure to win."""
        return self.lowest < value < self.highest


class _OutOfTimeError(Exception):
    """The search is to end now."""


class _Run:
    """What one search remembers."""

    def __init__(self, settings: AlphaBeta, game: Game) -> None:
        self.settings, self.game = settings, game
        self.evaluate = settings.evaluate or nothing
        self.key = game.search_key if settings.table and isinstance(game, MergingGame) else None
        self.table: dict[Any, tuple[int, float, int, int]] = {}  # depth, value, bound, action
        self.cutoffs: dict[tuple[int, int], int] = {}  # by depth and action
        self.began, self.until = time.perf_counter(), inf
        self.num_nodes = self.num_guesses = 0

    def from_root(self, root: State, depth: int) -> Found:
        """The best action, looking `depth` actions ahead."""
        settings, player = self.settings, self.game.player(root)
        key = self.key(root) if self.key else None
        self.num_guesses = 0
        self.num_nodes += 1
        known = self.table.get(key)
        alpha, beta = settings.lowest, settings.highest
        best, found = None, inf if player else -inf
        values = {}
        for action, child in self.ordered(root, depth, known[3] if known else None):
            worth = values[action] = self.value(child, depth - 1, alpha, beta)
            if best is None or (worth < found if player else worth > found):
                best, found = action, worth
            alpha, beta = (alpha, min(beta, found)) if player else (max(alpha, found), beta)
            if alpha >= beta:
                break
        assert best is not None
        self.remember(key, depth, found, EXACT, best)
        exact, shown = self.num_guesses == 0, depth if depth < TO_THE_END else 0
        return Found(best, found, exact, self.num_nodes, values, shown)

    def value(self, state: State, depth: int, alpha: float, beta: float) -> float:
        """The value of a state if it lies between alpha and beta; otherwise a bound on it."""
        self.num_nodes += 1
        player = self.game.player(state)
        if player == TERMINAL:
            return utility(self.game, state)
        if player == CHANCE:
            raise no_chance(self.game, "alpha_beta")
        if depth == 0:
            self.num_guesses += 1
            return self.evaluate(self.game, state)
        if not self.num_nodes % 64 and time.perf_counter() > self.until:
            raise _OutOfTimeError
        action, key = None, None
        if self.key:
            key = self.key(state)
            known = self.table.get(key)
            if known:
                far, worth, bound, action = known
                if far >= depth:
                    self.num_guesses += far < TO_THE_END
                    if bound == EXACT:
                        return worth
                    if bound == AT_LEAST:
                        alpha = max(alpha, worth)
                    else:
                        beta = min(beta, worth)
                    if alpha >= beta:
                        return worth
        guesses = self.num_guesses
        search = self.lowest_of if player else self.highest_of
        worth, bound, action = search(self.ordered(state, depth, action), depth, alpha, beta)
        if self.num_guesses == guesses:
            depth = TO_THE_END  # nothing below was guessed: as good as any deeper search
        self.remember(key, depth, worth, bound, action)
        return worth

    def highest_of(
        self, children: Children, depth: int, alpha: float, beta: float
    ) -> tuple[float, int, int]:
        """Player 0's choice: its value, the kind of bound that is, and the action."""
        found, best, low = -inf, -1, alpha
        for action, child in children:
            worth = self.value(child, depth - 1, alpha, beta)
            if worth > found:
                found, best = worth, action
                if found >= beta:
                    self.cutoffs[depth, action] = self.cutoffs.get((depth, action), 0) + 1
                    return found, AT_LEAST, action
                alpha = max(alpha, found)
        return found, EXACT if found > low else AT_MOST, best

    def lowest_of(
        self, children: Children, depth: int, alpha: float, beta: float
    ) -> tuple[float, int, int]:
        """Player 1's choice, the same the other way round."""
        found, best, high = inf, -1, beta
        for action, child in children:
            worth = self.value(child, depth - 1, alpha, beta)
            if worth < found:
                found, best = worth, action
                if found <= alpha:
                    self.cutoffs[depth, action] = self.cutoffs.get((depth, action), 0) + 1
                    return found, AT_MOST, action
                beta = min(beta, found)
        return found, EXACT if found < high else AT_LEAST, best

    def ordered(self, state: State, depth: int, first: int | None) -> Children:
        """The actions with the states they lead to, the most promising first."""
        game, settings = self.game, self.settings
        actions = settings.order(game, state) if settings.order else game.actions(state)
        children = ((action, game.next_state(state, action)) for action in actions)
        if not settings.ordering:
            return children
        cutoffs = {} if settings.order else self.cutoffs

        def rank(child: tuple[int, State]) -> int:
            if game.player(child[1]) == TERMINAL:
                return -TO_THE_END  # costs nothing to look at
            return 1 - TO_THE_END if child[0] == first else -cutoffs.get((depth, child[0]), 0)

        return sorted(children, key=rank)

    def remember(self, key: Any, depth: int, value: float, bound: int, action: int) -> None:
        """Enter what is known of a state into the table."""
        if key is not None and (len(self.table) < MOST_STATES or key in self.table):
            self.table[key] = (depth, value, bound, action)
