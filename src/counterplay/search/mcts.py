"""Monte Carlo tree search with proven values."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from math import inf, log, sqrt
from typing import Annotated

from annotated_types import Ge

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import NonNegativeInt, settings
from counterplay.errors import ConfigError
from counterplay.registry import get_spec
from counterplay.search.evaluation_functions import rollout_evaluation
from counterplay.search.searcher import (
    IS_FUNCTION_OR_NONE,
    OptionalEvaluation,
    SearchResult,
    Seconds,
    refuse_rewards,
    resolve_root,
    terminal_utility,
)

PriorFunction = Callable[[Game, State], Sequence[float]]  # probabilities of `game.actions(state)`

DEFAULT_SIMULATIONS = 1000  # if neither simulations nor seconds are limited


class MCTSNode:
    """A state with the statistics of its simulations and proven bounds on its value."""

    __slots__ = (
        "chance_probabilities",
        "children",
        "lower",
        "player",
        "prior",
        "state",
        "untried_actions",
        "upper",
        "value_sum",
        "visits",
    )

    def __init__(self, state: State, player: int, lower: float, upper: float) -> None:
        self.state, self.player = state, player
        self.lower, self.upper = lower, upper
        self.visits, self.value_sum = 0, 0.0
        self.children: dict[int, MCTSNode] = {}
        self.untried_actions: list[int] | None = None  # None: not expanded
        self.prior: dict[int, float] = {}
        self.chance_probabilities: dict[int, float] = {}

    @property
    def is_proven(self) -> bool:
        return self.lower == self.upper


@settings()
class MCTS:
    """UCT (Kocsis and Szepesvari, 2006) with score bounds (Cazenave and Saffidine, 2010).

    A simulation descends the tree to a new state. With N visits of a state, N(a) of an action, and
    mean value q(a) in [0, 1] from the view of the player to act, it takes the action that maximises

        q(a) + exploration_constant * sqrt(ln N / N(a)),     with a `prior` P:
        q(a) + exploration_constant * P(a) * sqrt(N) / (1 + N(a))

    Without a prior, unvisited actions come first. Chance outcomes are sampled. The value of the new
    state, its utility or `evaluate`, is added to the means of all states above it.

    Proven bounds are backed up too: [lower, upper] of a state is its utility at a terminal, the
    maximum or minimum over actions where a player acts, the mean where chance acts. Proven states
    and states that cannot beat a bound are not visited again; a proven root ends the search.
    """

    max_simulations: NonNegativeInt = 0  # 0: no limit, or 1000 if `max_seconds` is 0 too
    max_seconds: Seconds = 0.0  # 0: no limit
    exploration_constant: Annotated[float, Ge(0.0)] = sqrt(2.0)
    evaluate: OptionalEvaluation = None  # one random episode by default
    prior: Annotated[PriorFunction | None, IS_FUNCTION_OR_NONE] = None
    min_utility: float = -1.0  # bounds of the utilities
    max_utility: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if not -inf < self.min_utility < self.max_utility < inf:
            raise ConfigError(
                f"mcts: min_utility is {self.min_utility} and max_utility {self.max_utility}, "
                "must be finite and grow"
            )

    def search(self, game: Game, state: State | None = None) -> SearchResult:
        refuse_rewards(game, "mcts")
        run = _MCTSSearch(self, game)
        root = run.new_node(resolve_root(game, state))
        limit = self.max_simulations or (inf if self.max_seconds else DEFAULT_SIMULATIONS)
        deadline = time.perf_counter() + self.max_seconds if self.max_seconds else inf
        simulations = 0
        while simulations < limit and not root.is_proven:
            if simulations and time.perf_counter() >= deadline:
                break
            run.simulate(root)
            simulations += 1
        value = root.lower if root.is_proven else root.value_sum / root.visits
        visits = {action: child.visits for action, child in sorted(root.children.items())}
        values = {action: _node_value(child) for action, child in sorted(root.children.items())}
        best = None if root.player == CHANCE else run.best_action(root)
        return SearchResult(best, value, root.is_proven, run.num_nodes, values, visits=visits)


class _MCTSSearch:
    """One run of Monte Carlo tree search."""

    def __init__(self, settings: MCTS, game: Game) -> None:
        self.settings, self.game = settings, game
        self.rng = random.Random(settings.seed)
        self.evaluate = settings.evaluate or rollout_evaluation(seed=settings.seed)
        self.scale = 1.0 / (settings.max_utility - settings.min_utility)
        self.num_nodes = 0

    def new_node(self, state: State) -> MCTSNode:
        """Return a new node; raise ConfigError if its utility is out of bounds."""
        self.num_nodes += 1
        player = self.game.player(state)
        if player != TERMINAL:
            return MCTSNode(state, player, self.settings.min_utility, self.settings.max_utility)
        utility = terminal_utility(self.game, state)
        if not self.settings.min_utility <= utility <= self.settings.max_utility:
            raise ConfigError(
                f"mcts: {get_spec(self.game)} pays {utility:g}, outside of min_utility "
                f"{self.settings.min_utility:g} to max_utility {self.settings.max_utility:g}"
            )
        return MCTSNode(state, player, utility, utility)

    def simulate(self, root: MCTSNode) -> None:
        """Descend to a new or proven state, and back up its value and bounds."""
        path, node = [root], root
        while not node.is_proven:
            action = self.sample_chance(node) if node.player == CHANCE else self.select_action(node)
            child = node.children.get(action)
            is_new = child is None
            if child is None:
                child = self.new_node(self.game.next_state(node.state, action))
                node.children[action] = child
            path.append(child)
            node = child
            if is_new and node.player != CHANCE:
                break
        value = node.lower if node.is_proven else self.evaluate(self.game, node.state)
        has_new_bounds = node.is_proven
        for node in reversed(path):
            node.visits += 1
            node.value_sum += value
            if has_new_bounds and node.player != TERMINAL:
                before = node.lower, node.upper
                self.update_bounds(node)
                has_new_bounds = (node.lower, node.upper) != before

    def sample_chance(self, node: MCTSNode) -> int:
        """Return a sampled outcome of chance."""
        if not node.chance_probabilities:
            node.chance_probabilities = dict(self.game.chance_outcomes(node.state))
        outcomes, probabilities = zip(*node.chance_probabilities.items(), strict=True)
        (action,) = self.rng.choices(outcomes, probabilities)
        return action

    def select_action(self, node: MCTSNode) -> int:
        """Return the action to simulate next."""
        if node.untried_actions is None:
            actions = list(self.game.actions(node.state))
            node.untried_actions = actions
            if self.settings.prior:
                probabilities = self.settings.prior(self.game, node.state)
                node.prior = dict(zip(actions, probabilities, strict=True))
            else:
                self.rng.shuffle(node.untried_actions)
        if node.prior:
            return max(node.prior, key=lambda action: self.puct_score(node, action))
        if node.untried_actions:
            return node.untried_actions.pop()
        log_visits = log(node.visits)
        return max(node.children, key=lambda action: self.uct_score(node, action, log_visits))

    def uct_score(self, node: MCTSNode, action: int, log_visits: float) -> float:
        """Return the UCT score of an action; -inf if it is proven or dominated."""
        child = node.children[action]
        if child.is_proven or self.is_dominated(node, child):
            return -inf
        bonus = sqrt(log_visits / child.visits)
        return self.mean_value(node, child) + self.settings.exploration_constant * bonus

    def puct_score(self, node: MCTSNode, action: int) -> float:
        """Return the PUCT score of an action; -inf if it is proven or dominated."""
        child = node.children.get(action)
        if child and (child.is_proven or self.is_dominated(node, child)):
            return -inf
        visits = child.visits if child else 0
        bonus = node.prior[action] * sqrt(node.visits) / (1 + visits)
        visited = child if child and visits else node
        mean = self.mean_value(node, visited) if visited.visits else 0.5
        return mean + self.settings.exploration_constant * bonus

    def mean_value(self, node: MCTSNode, child: MCTSNode) -> float:
        """Return the mean value of a child in [0, 1], from the view of the player to act."""
        mean = (child.value_sum / child.visits - self.settings.min_utility) * self.scale
        return 1.0 - mean if node.player else mean

    def is_dominated(self, node: MCTSNode, child: MCTSNode) -> bool:
        """Return True if another action is proven to be at least as good as this one can be."""
        return child.lower >= node.upper if node.player else child.upper <= node.lower

    def update_bounds(self, node: MCTSNode) -> None:
        """Update the bounds of a node from those of its children."""
        children = node.children.values()
        low, high = self.settings.min_utility, self.settings.max_utility
        if node.player == CHANCE:
            parts = [(node.chance_probabilities[a], child) for a, child in node.children.items()]
            missing = 1.0 - sum(p for p, _ in parts)
            missing = missing if len(node.children) < len(node.chance_probabilities) else 0.0
            node.lower = sum(p * child.lower for p, child in parts) + missing * low
            node.upper = sum(p * child.upper for p, child in parts) + missing * high
            if not missing and all(child.is_proven for child in children):
                node.upper = node.lower
            return
        has_all = len(children) == len(node.prior) if node.prior else not node.untried_actions
        if node.player:
            node.upper = min(child.upper for child in children)
            node.lower = min(child.lower for child in children) if has_all else low
        else:
            node.lower = max(child.lower for child in children)
            node.upper = max(child.upper for child in children) if has_all else high

    def best_action(self, root: MCTSNode) -> int:
        """Return the proven best action; else the most visited, unless a proven one is better."""
        sign = -1.0 if root.player else 1.0
        children = root.children
        proven = [a for a, child in children.items() if child.is_proven]
        candidates = [
            a for a, c in children.items() if not c.is_proven and not self.is_dominated(root, c)
        ]
        best = max(
            proven, key=lambda a: (sign * children[a].lower, children[a].visits), default=None
        )
        if not candidates or (best is not None and root.is_proven):
            assert best is not None
            return best
        visited = max(
            candidates, key=lambda a: (children[a].visits, sign * _node_value(children[a]))
        )
        if best is None:
            return visited
        is_better = sign * children[best].lower >= sign * _node_value(children[visited])
        return best if is_better else visited


def _node_value(node: MCTSNode) -> float:
    """Return the proven or mean value of a node; its lower bound without visits."""
    return node.lower if node.is_proven or not node.visits else node.value_sum / node.visits
