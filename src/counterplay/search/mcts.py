"""Monte Carlo tree search with proven values."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from math import inf, log, sqrt

from counterplay.errors import ConfigError
from counterplay.game import CHANCE, TERMINAL, Game, State
from counterplay.registry import spec_of
from counterplay.search.evaluation import rollout
from counterplay.search.searching import Evaluation, Found, check_settings, start, utility
from counterplay.settings import settings

Prior = Callable[[Game, State], Sequence[float]]  # a probability for each of `game.actions(state)`

USUAL = 1000  # simulations without any budget


class Node:
    """A state met, what simulations through it gave, and bounds on its value that are certain."""

    __slots__ = (
        "children",
        "lower",
        "odds",
        "player",
        "prior",
        "state",
        "total",
        "untried",
        "upper",
        "visits",
    )

    def __init__(self, state: State, player: int, lower: float, upper: float) -> None:
        self.state, self.player = state, player
        self.lower, self.upper = lower, upper
        self.visits, self.total = 0, 0.0
        self.children: dict[int, Node] = {}
        self.untried: list[int] | None = None  # None: never looked at
        self.prior: dict[int, float] = {}
        self.odds: dict[int, float] = {}  # of chance

    @property
    def proven(self) -> bool:
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

    simulations: int = 0  # at most so many; 0: no limit, or 1000 if `seconds` is 0 too
    seconds: float = 0.0  # at most so long; 0: no limit
    exploration: float = sqrt(2.0)
    evaluate: Evaluation | None = None  # without it, one random episode
    prior: Prior | None = None
    lowest: float = -1.0  # what utilities can be
    highest: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings("mcts", self, simulations=0, seconds=0.0, exploration=0.0)
        if not -inf < self.lowest < self.highest < inf:
            raise ConfigError(
                f"mcts: lowest is {self.lowest} and highest {self.highest}, must be finite and grow"
            )

    def search(self, game: Game, state: State | None = None) -> Found:
        run = _Run(self, game)
        root = run.node(start(game, state))
        limit = self.simulations or (inf if self.seconds else USUAL)
        until = time.perf_counter() + self.seconds if self.seconds else inf
        done = 0
        while done < limit and not root.proven and (not done or time.perf_counter() < until):
            run.simulate(root)
            done += 1
        value = root.lower if root.proven else root.total / root.visits
        visits = {action: child.visits for action, child in sorted(root.children.items())}
        values = {action: _value(child) for action, child in sorted(root.children.items())}
        best = None if root.player == CHANCE else run.choice(root)
        return Found(best, value, root.proven, run.num_nodes, values, visits=visits)


class _Run:
    """What one search needs besides its tree."""

    def __init__(self, settings: MCTS, game: Game) -> None:
        self.settings, self.game = settings, game
        self.rng = random.Random(settings.seed)
        self.evaluate = settings.evaluate or rollout(seed=settings.seed)
        self.scale = 1.0 / (settings.highest - settings.lowest)
        self.num_nodes = 0

    def node(self, state: State) -> Node:
        self.num_nodes += 1
        player = self.game.player(state)
        if player != TERMINAL:
            return Node(state, player, self.settings.lowest, self.settings.highest)
        worth = utility(self.game, state)
        if not self.settings.lowest <= worth <= self.settings.highest:
            raise ConfigError(
                f"mcts: {spec_of(self.game)} pays {worth:g}, outside of lowest "
                f"{self.settings.lowest:g} to highest {self.settings.highest:g}"
            )
        return Node(state, player, worth, worth)

    def simulate(self, root: Node) -> None:
        """Go down to a new or proven state, and carry up what it is worth."""
        path, node = [root], root
        while not node.proven:
            action = self.draw(node) if node.player == CHANCE else self.select(node)
            child = node.children.get(action)
            new = child is None
            if child is None:
                child = node.children[action] = self.node(self.game.next_state(node.state, action))
            path.append(child)
            node = child
            if new and node.player != CHANCE:
                break
        worth = node.lower if node.proven else self.evaluate(self.game, node.state)
        certain = node.proven
        for node in reversed(path):
            node.visits += 1
            node.total += worth
            if certain and node.player != TERMINAL:
                before = node.lower, node.upper
                self.bound(node)
                certain = (node.lower, node.upper) != before

    def draw(self, node: Node) -> int:
        """An outcome of chance."""
        if not node.odds:
            node.odds = dict(self.game.chance_outcomes(node.state))
        (action,) = self.rng.choices(list(node.odds), list(node.odds.values()))
        return action

    def select(self, node: Node) -> int:
        """The action to simulate next."""
        if node.untried is None:
            actions = list(self.game.actions(node.state))
            node.untried = actions
            if self.settings.prior:
                odds = self.settings.prior(self.game, node.state)
                node.prior = dict(zip(actions, odds, strict=True))
            else:
                self.rng.shuffle(node.untried)
        if node.prior:
            return max(node.prior, key=lambda action: self.by_prior(node, action))
        if node.untried:
            return node.untried.pop()
        logarithm = log(node.visits)
        return max(node.children, key=lambda action: self.by_visits(node, action, logarithm))

    def by_visits(self, node: Node, action: int, logarithm: float) -> float:
        """The UCT score of an action; what is certain needs no more visits."""
        child = node.children[action]
        if child.proven or self.useless(node, child):
            return -inf
        bonus = sqrt(logarithm / child.visits)
        return self.quality(node, child) + self.settings.exploration * bonus

    def by_prior(self, node: Node, action: int) -> float:
        """The PUCT score of an action."""
        child = node.children.get(action)
        if child and (child.proven or self.useless(node, child)):
            return -inf
        visits = child.visits if child else 0
        bonus = node.prior[action] * sqrt(node.visits) / (1 + visits)
        known = child if child and visits else node
        quality = self.quality(node, known) if known.visits else 0.5
        return quality + self.settings.exploration * bonus

    def quality(self, node: Node, child: Node) -> float:
        """The mean of the child in [0, 1], from the view of the player to act at the node."""
        mean = (child.total / child.visits - self.settings.lowest) * self.scale
        return 1.0 - mean if node.player else mean

    def useless(self, node: Node, child: Node) -> bool:
        """Whether another action is certain to be as good as this one can be."""
        return child.lower >= node.upper if node.player else child.upper <= node.lower

    def bound(self, node: Node) -> None:
        """What the children prove about a node."""
        children = node.children.values()
        low, high = self.settings.lowest, self.settings.highest
        if node.player == CHANCE:
            missing = 1.0 - sum(node.odds[action] for action in node.children)
            missing = missing if len(node.children) < len(node.odds) else 0.0
            parts = [(node.odds[action], child) for action, child in node.children.items()]
            node.lower = sum(p * child.lower for p, child in parts) + missing * low
            node.upper = sum(p * child.upper for p, child in parts) + missing * high
            if not missing and all(child.proven for child in children):
                node.upper = node.lower
            return
        whole = len(children) == len(node.prior) if node.prior else not node.untried
        if node.player:
            node.upper = min(child.upper for child in children)
            node.lower = min(child.lower for child in children) if whole else low
        else:
            node.lower = max(child.lower for child in children)
            node.upper = max(child.upper for child in children) if whole else high

    def choice(self, root: Node) -> int:
        """The proven best action; else the most visited one, unless a proven one is better."""
        sign = -1.0 if root.player else 1.0
        children = root.children
        proven = [a for a, child in children.items() if child.proven]
        open_ones = [a for a, c in children.items() if not c.proven and not self.useless(root, c)]
        best = max(
            proven, key=lambda a: (sign * children[a].lower, children[a].visits), default=None
        )
        if not open_ones or (best is not None and root.proven):
            assert best is not None
            return best
        most = max(open_ones, key=lambda a: (children[a].visits, sign * _value(children[a])))
        if best is not None and sign * children[best].lower >= sign * _value(children[most]):
            return best
        return most


def _value(node: Node) -> float:
    return node.lower if node.proven or not node.visits else node.total / node.visits
