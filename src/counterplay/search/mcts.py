"""Monte Carlo tree search with proven values."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from math import inf, log, sqrt

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.registry import get_spec
from counterplay.search.evaluation_functions import rollout_evaluation
from counterplay.search.searcher import (
    EvaluationFunction,
    SearchResult,
    check_settings,
    resolve_root,
    terminal_utility,
)

PriorFunction = Callable[
    [Game, State], Sequence[float]
]  # a probability for each of `game.actions(state)`

DEFAULT_SIMULATIONS = 1000  # simulations without any budget


class MCTSNode:
    """A state met, what simulations through it gave, and bounds on its value that are certain."""

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
        self.untried_actions: list[int] | None = None  # None: never looked at
        self.prior: dict[int, float] = {}
        self.chance_probabilities: dict[int, float] = {}  # of chance

    @property
    def is_proven(self) -> bool:
        return self.lower == self.upper


@settings()
class MCTS:
    """UCT (Kocsis and Szepesvari, 2006) with score bounds (Cazenave and Saffidine, 2010).

    A simulation goes down the tree to a state not met before. With N visits so far, and value q in
    [0, 1] from the view of the player to act, it takes the action with the largest

        q(a) + exploration * sqrt(ln N / N(a)),     with a `prior` P:
        q(a) + exploration * P(a) * sqrt(N) / (1 + N(a))

    unvisited actions first if there is no prior; chance draws by its odds. The new state is worth
    its utility, or what `evaluate` says, and that goes into the means of all states above it.

    Certain knowledge goes up too: [lower, upper] of a state is its utility at the end, the maximum
    or minimum over actions where a player acts, the mean where chance does. What is proven is not
    visited again, nor what cannot beat a bound; a proven root ends the search.
    """

    max_simulations: int = 0  # at most so many; 0: no limit, or 1000 if `seconds` is 0 too
    max_seconds: float = 0.0  # at most so long; 0: no limit
    exploration_constant: float = sqrt(2.0)
    evaluate: EvaluationFunction | None = None  # without it, one random episode
    prior: PriorFunction | None = None
    min_utility: float = -1.0  # what utilities can be
    max_utility: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings("mcts", self, max_simulations=0, max_seconds=0.0, exploration_constant=0.0)
        if not -inf < self.min_utility < self.max_utility < inf:
            raise ConfigError(
                f"mcts: min_utility is {self.min_utility} and max_utility {self.max_utility}, "
                "must be finite and grow"
            )

    def search(self, game: Game, state: State | None = None) -> SearchResult:
        run = _MCTSSearch(self, game)
        root = run.new_node(resolve_root(game, state))
        limit = self.max_simulations or (inf if self.max_seconds else DEFAULT_SIMULATIONS)
        until = time.perf_counter() + self.max_seconds if self.max_seconds else inf
        done = 0
        while done < limit and not root.is_proven and (not done or time.perf_counter() < until):
            run.simulate(root)
            done += 1
        value = root.lower if root.is_proven else root.value_sum / root.visits
        visits = {action: child.visits for action, child in sorted(root.children.items())}
        values = {action: _node_value(child) for action, child in sorted(root.children.items())}
        best = None if root.player == CHANCE else run.best_action(root)
        return SearchResult(best, value, root.is_proven, run.num_nodes, values, visits=visits)


class _MCTSSearch:
    """What one search needs besides its tree."""

    def __init__(self, settings: MCTS, game: Game) -> None:
        self.settings, self.game = settings, game
        self.rng = random.Random(settings.seed)
        self.evaluate = settings.evaluate or rollout_evaluation(seed=settings.seed)
        self.scale = 1.0 / (settings.max_utility - settings.min_utility)
        self.num_nodes = 0

    def new_node(self, state: State) -> MCTSNode:
        self.num_nodes += 1
        player = self.game.player(state)
        if player != TERMINAL:
            return MCTSNode(state, player, self.settings.min_utility, self.settings.max_utility)
        worth = terminal_utility(self.game, state)
        if not self.settings.min_utility <= worth <= self.settings.max_utility:
            raise ConfigError(
                f"mcts: {get_spec(self.game)} pays {worth:g}, outside of min_utility "
                f"{self.settings.min_utility:g} to max_utility {self.settings.max_utility:g}"
            )
        return MCTSNode(state, player, worth, worth)

    def simulate(self, root: MCTSNode) -> None:
        """Go down to a new or proven state, and carry up what it is worth."""
        path, node = [root], root
        while not node.is_proven:
            action = self.sample_chance(node) if node.player == CHANCE else self.select_action(node)
            child = node.children.get(action)
            new = child is None
            if child is None:
                child = node.children[action] = self.new_node(
                    self.game.next_state(node.state, action)
                )
            path.append(child)
            node = child
            if new and node.player != CHANCE:
                break
        worth = node.lower if node.is_proven else self.evaluate(self.game, node.state)
        certain = node.is_proven
        for node in reversed(path):
            node.visits += 1
            node.value_sum += worth
            if certain and node.player != TERMINAL:
                before = node.lower, node.upper
                self.update_bounds(node)
                certain = (node.lower, node.upper) != before

    def sample_chance(self, node: MCTSNode) -> int:
        """An outcome of chance."""
        if not node.chance_probabilities:
            node.chance_probabilities = dict(self.game.chance_outcomes(node.state))
        (action,) = self.rng.choices(
            list(node.chance_probabilities), list(node.chance_probabilities.values())
        )
        return action

    def select_action(self, node: MCTSNode) -> int:
        """The action to simulate next."""
        if node.untried_actions is None:
            actions = list(self.game.actions(node.state))
            node.untried_actions = actions
            if self.settings.prior:
                odds = self.settings.prior(self.game, node.state)
                node.prior = dict(zip(actions, odds, strict=True))
            else:
                self.rng.shuffle(node.untried_actions)
        if node.prior:
            return max(node.prior, key=lambda action: self.puct_score(node, action))
        if node.untried_actions:
            return node.untried_actions.pop()
        logarithm = log(node.visits)
        return max(node.children, key=lambda action: self.uct_score(node, action, logarithm))

    def uct_score(self, node: MCTSNode, action: int, logarithm: float) -> float:
        """The UCT score of an action; what is certain needs no more visits."""
        child = node.children[action]
        if child.is_proven or self.is_dominated(node, child):
            return -inf
        bonus = sqrt(logarithm / child.visits)
        return self.mean_value(node, child) + self.settings.exploration_constant * bonus

    def puct_score(self, node: MCTSNode, action: int) -> float:
        """The PUCT score of an action."""
        child = node.children.get(action)
        if child and (child.is_proven or self.is_dominated(node, child)):
            return -inf
        visits = child.visits if child else 0
        bonus = node.prior[action] * sqrt(node.visits) / (1 + visits)
        known = child if child and visits else node
        quality = self.mean_value(node, known) if known.visits else 0.5
        return quality + self.settings.exploration_constant * bonus

    def mean_value(self, node: MCTSNode, child: MCTSNode) -> float:
        """The mean of the child in [0, 1], from the view of the player to act at the node."""
        mean = (child.value_sum / child.visits - self.settings.min_utility) * self.scale
        return 1.0 - mean if node.player else mean

    def is_dominated(self, node: MCTSNode, child: MCTSNode) -> bool:
        """Whether another action is certain to be as good as this one can be."""
        return child.lower >= node.upper if node.player else child.upper <= node.lower

    def update_bounds(self, node: MCTSNode) -> None:
        """What the children prove about a node."""
        children = node.children.values()
        low, high = self.settings.min_utility, self.settings.max_utility
        if node.player == CHANCE:
            missing = 1.0 - sum(node.chance_probabilities[action] for action in node.children)
            missing = missing if len(node.children) < len(node.chance_probabilities) else 0.0
            parts = [
                (node.chance_probabilities[action], child)
                for action, child in node.children.items()
            ]
            node.lower = sum(p * child.lower for p, child in parts) + missing * low
            node.upper = sum(p * child.upper for p, child in parts) + missing * high
            if not missing and all(child.is_proven for child in children):
                node.upper = node.lower
            return
        whole = len(children) == len(node.prior) if node.prior else not node.untried_actions
        if node.player:
            node.upper = min(child.upper for child in children)
            node.lower = min(child.lower for child in children) if whole else low
        else:
            node.lower = max(child.lower for child in children)
            node.upper = max(child.upper for child in children) if whole else high

    def best_action(self, root: MCTSNode) -> int:
        """The proven best action; else the most visited one, unless a proven one is better."""
        sign = -1.0 if root.player else 1.0
        children = root.children
        proven = [a for a, child in children.items() if child.is_proven]
        open_ones = [
            a for a, c in children.items() if not c.is_proven and not self.is_dominated(root, c)
        ]
        best = max(
            proven, key=lambda a: (sign * children[a].lower, children[a].visits), default=None
        )
        if not open_ones or (best is not None and root.is_proven):
            assert best is not None
            return best
        most = max(open_ones, key=lambda a: (children[a].visits, sign * _node_value(children[a])))
        if best is not None and sign * children[best].lower >= sign * _node_value(children[most]):
            return best
        return most


def _node_value(node: MCTSNode) -> float:
    return node.lower if node.is_proven or not node.visits else node.value_sum / node.visits
