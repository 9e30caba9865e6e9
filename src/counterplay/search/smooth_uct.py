"""Smooth UCT: tree search that mixes in its average policy."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import ClassVar

from counterplay.core.game import Game
from counterplay.core.settings import NonNegative, PositiveInt, Probability, settings
from counterplay.search.hidden_agent import HiddenSearchAgent, SearchRequest
from counterplay.search.is_mcts import (
    InfosetNode,
    InfosetTree,
    check_choice,
    finish,
    run_simulations,
)


@settings()
class SmoothUCT:
    """Smooth UCT (Heinrich and Silver, 2015), for any number of players.

    As multiple-observer IS-MCTS, but with probability 1 - eta(N) a simulation takes an action from
    the average policy N(a) / N of the node, as in fictitious play:

        eta(N) = max(gamma, eta / (1 + d * sqrt(N)))
    """

    simulations: PositiveInt = 1000
    seconds: NonNegative = 0.0  # per decision, in place of simulations; 0: no limit
    exploration_constant: NonNegative = 0.7
    gamma: Probability = 0.1  # smallest share of UCT
    eta: Probability = 0.9  # first share of UCT
    d: NonNegative = 0.002
    final: str = "visits"  # play by shares of visits, or "most_visited"
    needs: ClassVar[str] = "rules"

    def __post_init__(self) -> None:
        check_choice("smooth_uct", "final", self.final, ("visits", "most_visited"))

    def make_agent(self, game: Game, seed: int = 0) -> HiddenSearchAgent:
        """Return the agent for a game."""
        return HiddenSearchAgent(game, self.search, self, seed)

    def search(self, request: SearchRequest) -> list[float]:
        """Return the probabilities of the actions at a decision."""
        rng, tree = request.rng, InfosetTree(request.game, request.rng)

        def select(node: InfosetNode, actions: Sequence[int]) -> int:
            counts = [node.visits[action] for action in actions]
            share = max(self.gamma, self.eta / (1.0 + self.d * sqrt(sum(counts))))
            if rng.random() < share:
                return tree.select_uct(node, actions, self.exploration_constant)
            return rng.choices(actions, counts)[0]

        run_simulations(self, request, tree, select)
        root = tree.nodes[request.player, request.key]
        return finish(tree.visit_shares(root, request.actions), self.final)
