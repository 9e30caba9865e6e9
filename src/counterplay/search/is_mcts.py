"""Information set Monte Carlo tree search."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import inf, log, nan, sqrt
from typing import Any, ClassVar

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.settings import NonNegative, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.registry import get_spec
from counterplay.search.hidden_agent import HiddenSearchAgent, SearchRequest, repeat_search
from counterplay.search.tree_is_mcts import TreeISMCTSAgent


class InfosetNode:
    """Statistics of the actions at an infoset."""

    __slots__ = ("available", "value_sum", "visits")

    def __init__(self) -> None:
        self.visits: dict[int, int] = {}
        self.value_sum: dict[int, float] = {}
        self.available: dict[int, int] = {}  # number of visits at which the action was legal


class InfosetTree:
    """A tree of infosets that simulations descend and extend.

    Args:
        game: the rules.
        rng: random numbers.
        observer: the player whose view identifies nodes, or -1 for that of the acting player.
    """

    def __init__(self, game: Game, rng: random.Random, observer: int = -1):
        self.game, self.rng, self.observer = game, rng, observer
        self.nodes: dict[tuple[int, str], InfosetNode] = {}
        self.low, self.high = inf, -inf  # range of the utilities so far

    def node_key(self, state: State, player: int) -> tuple[int, str]:
        """Return the acting player, and the infoset key of the observer."""
        if self.observer in (-1, player):
            return player, self.game.infoset_key(state, player)
        try:
            return player, self.game.infoset_key(state, self.observer)
        except Exception as error:
            problem = f"needs the infoset key of player {self.observer} where player {player} acts"
            raise ConfigError(
                f"is_mcts with a single observer {problem}, which {get_spec(self.game)} does not "
                "define; take is_mcts(observer=multiple)"
            ) from error

    def simulate(self, state: State, select: Any) -> None:
        """Descend by `select(node, actions)` to a new action, play on at random, and back up."""
        game, rng = self.game, self.rng
        path: list[tuple[InfosetNode, int, int, Sequence[int]]] = []
        is_new = False
        while (player := game.player(state)) != TERMINAL:
            if player == CHANCE:
                outcomes, weights = zip(*game.chance_outcomes(state), strict=True)
                (action,) = rng.choices(outcomes, weights)
            else:
                actions = game.actions(state)
                if is_new:
                    action = rng.choice(actions)
                else:
                    node = self.nodes.setdefault(self.node_key(state, player), InfosetNode())
                    untried = [a for a in actions if a not in node.visits]
                    is_new = bool(untried)
                    action = rng.choice(untried) if untried else select(node, actions)
                    path.append((node, action, player, actions))
            state = game.next_state(state, action)
        utilities = game.utilities(state)
        self.low, self.high = min(self.low, *utilities), max(self.high, *utilities)
        for node, action, player, actions in path:
            node.visits[action] = node.visits.get(action, 0) + 1
            node.value_sum[action] = node.value_sum.get(action, 0.0) + utilities[player]
            for legal in actions:
                node.available[legal] = node.available.get(legal, 0) + 1

    def select_uct(self, node: InfosetNode, actions: Sequence[int], constant: float) -> int:
        """Return the action with the largest upper confidence bound, ties at random."""
        scale = 1.0 / (self.high - self.low) if self.high > self.low else 0.0
        best, candidates = -inf, list[int]()
        for action in actions:
            visits = node.visits[action]
            mean = (node.value_sum[action] / visits - self.low) * scale
            score = mean + constant * sqrt(log(node.available[action]) / visits)
            if score > best:
                best, candidates = score, [action]
            elif score == best:
                candidates.append(action)
        return candidates[0] if len(candidates) == 1 else self.rng.choice(candidates)

    def visit_shares(self, node: InfosetNode, actions: Sequence[int]) -> list[float]:
        """Return the shares of visits of the actions; uniform without visits."""
        counts = [node.visits.get(action, 0) for action in actions]
        total = sum(counts)
        return [count / total if total else 1.0 / len(actions) for count in counts]


@settings()
class ISMCTS:
    """Information set MCTS (Cowling, Powley and Whitehouse, 2012), for any number of players.

    A simulation draws a state that fits the player's infoset and descends by UCB,

        mean value + exploration_constant * sqrt(ln(available) / visits)

    with values scaled to [0, 1] by the utilities seen so far, and `available` the number of visits
    at which the action was legal. With the single observer (SO-ISMCTS) all nodes are infosets of
    the searching player: its opponents are assumed to know no more. With multiple observers
    (MO-ISMCTS) a node is the infoset of the player who acts. The result is not an equilibrium, and
    more simulations may make it more exploitable.
    """

    simulations: PositiveInt = 1000
    seconds: NonNegative = 0.0  # per decision, in place of simulations; 0: no limit
    exploration_constant: NonNegative = 0.7
    observer: str = "single"  # or "multiple"
    final: str = "visits"  # play by shares of visits, or "most_visited"
    needs: ClassVar[str] = "rules"

    def __post_init__(self) -> None:
        check_choice("is_mcts", "observer", self.observer, ("single", "multiple"))
        check_choice("is_mcts", "final", self.final, ("visits", "most_visited"))

    def make_agent(self, game: Game, seed: int = 0) -> HiddenSearchAgent:
        """Return the agent for a game."""
        return HiddenSearchAgent(game, self.search, self, seed)

    def make_tree_agent(self, tree: TreeArena, seed: int = 0) -> TreeISMCTSAgent:
        """Return the agent on a tree, whose simulations are compiled."""
        return TreeISMCTSAgent(tree, self, seed)

    def search(self, request: SearchRequest) -> list[float]:
        """Return the probabilities of the actions at a decision."""
        observer = request.player if self.observer == "single" else -1
        tree = InfosetTree(request.game, request.rng, observer)

        def select(node: InfosetNode, actions: Sequence[int]) -> int:
            return tree.select_uct(node, actions, self.exploration_constant)

        run_simulations(self, request, tree, select)
        root = tree.nodes[request.player, request.key]
        return finish(tree.visit_shares(root, request.actions), self.final)


def run_simulations(settings: Any, request: SearchRequest, tree: InfosetTree, select: Any) -> None:
    """Simulate from sampled states, and report the visits and values of the actions."""
    count = repeat_search(
        lambda: tree.simulate(request.draw().state, select), settings.simulations, settings.seconds
    )
    root = tree.nodes[request.player, request.key]
    visits = [root.visits.get(action, 0) for action in request.actions]
    sums = [root.value_sum.get(action, 0.0) for action in request.actions]
    request.facts["simulations"] = f"{count:,}"
    request.by_action["visits"] = [float(n) for n in visits]
    pairs = zip(sums, visits, strict=True)
    request.by_action["mean value"] = [s / n if n else nan for s, n in pairs]


def check_choice(name: str, field: str, value: str, choices: Sequence[str]) -> None:
    """Raise ConfigError if a parameter is not one of some words."""
    if value not in choices:
        raise ConfigError(f"{name}: {field} is {value!r}, must be {' or '.join(choices)}")


def finish(shares: list[float], final: str) -> list[float]:
    """Return the shares, or all probability on the most visited action, the first of several."""
    if final == "visits":
        return shares
    best = shares.index(max(shares))
    return [float(k == best) for k in range(len(shares))]
