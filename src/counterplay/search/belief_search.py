"""An agent that searches with a value network of public beliefs."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from counterplay.arenas.belief_subgames import belief_game
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.game import Game, State
from counterplay.core.random import seed_stream
from counterplay.core.settings import PositiveInt, settings
from counterplay.search.belief_solver import BeliefSolver, ValueNetwork
from counterplay.search.belief_tabulation import sample_policies
from counterplay.search.is_mcts import check_choice
from counterplay.search.public_ranges import range_from_reach
from counterplay.search.safe_search import SafeRoot, SafeSearch, SafeSolution
from counterplay.search.search_report import SearchReport

POLICIES = ("drawn", "average")


@settings()
class BeliefSearch:
    """Depth-limited search with a value network of public beliefs (ReBeL; Brown et al., 2020).

    The agent solves the subgame from the start of the game to the leaves of its depth, plays the
    policy of a random iteration, and solves again at the leaf that the episode comes to, with both
    players' ranges under that iteration. Its opponents cannot see the iteration, so that on average
    it plays the solver's average policy.

    With policy "average" it plays the average policy of each search, and the search at a leaf is a
    safe one (see `SafeSearch`): its policy is the same in every episode.
    """

    network: str = "rebel"  # a run of the algorithm rebel, or the algorithm, to train it first
    network_iterations: PositiveInt = 300  # of training, if it is an algorithm
    iterations: PositiveInt = 256  # per search
    policy: str = "drawn"  # of a random iteration, or "average" with safe searches
    needs: ClassVar[str] = "value network"

    def __post_init__(self) -> None:
        check_choice("belief_search", "policy", self.policy, POLICIES)

    def make_agent(
        self, tree: TreeArena, network: ValueNetwork, depth: int, end_size: int = 1
    ) -> BeliefSearchAgent | SafeSearchAgent:
        """Return the agent for a tree and a value network of it; see `BeliefSolver`."""
        solver = BeliefSolver(belief_game(tree.zero_sum_arena), depth, end_size)
        if self.policy == "average":
            return SafeSearchAgent(SafeSearch(solver, network, self.iterations))
        return BeliefSearchAgent(solver, network, self.iterations)


class BeliefSearchAgent:
    """See `BeliefSearch`. Answers of an episode depend on its seed and the public state alone."""

    def __init__(self, solver: BeliefSolver, network: ValueNetwork, iterations: int, seed: int = 0):
        self.solver, self.network, self.iterations = solver, network, iterations
        self.tree, self.seed = solver.game.tree, seed
        # root -> policy, ranges of leaves, values [2, V] of the views
        self._searches: dict[int, tuple[Floats, Floats, Floats]] = {}
        self.last_root, self.last_ranges = 0, np.zeros((2, 0))

    @property
    def game(self) -> Game:
        game: Game = self.tree.game
        return game

    def for_episode(self, seed: int) -> BeliefSearchAgent:
        """Return the agent for one episode."""
        return BeliefSearchAgent(self.solver, self.network, self.iterations, seed)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        tree = self.tree
        infoset = tree.find_infoset(tree.game.infoset_key(state, player), player)
        target = int(self.solver.game.states.infoset_state[infoset])
        root, ranges = 0, self._game_ranges()
        while True:
            policy, below, _ = self._search(root, ranges)
            sequence, leaves = self.solver.state_sequences(root)
            ends = self.solver.game.states.end[leaves]
            inside = np.flatnonzero((leaves <= target) & (target < ends))
            if not inside.size:
                break
            root, ranges = int(leaves[inside[0]]), below[inside[0]]
        self.last_root, self.last_ranges = root, ranges
        first, last = tree.offset[infoset : infoset + 2]
        local = np.flatnonzero(sequence == first)[0]
        return [float(p) for p in policy[local : local + int(last - first)]]

    def search_report(self, state: State, player: int) -> SearchReport:
        """Return both players' ranges at the root of the last search, with the views' values."""
        game, root = self.solver.game, self.last_root
        values, first = self._searches[root][2], int(game.first_player[root])
        ranges = []
        for number in range(game.tree.num_players):
            seat = number if first == 0 else 1 - number  # in the layout, whose 0 acts first
            size = game.states.num_views(root, number)
            reach = self.last_ranges[seat, :size]
            report = range_from_reach(
                game.states, root, number, reach, values[seat, :size], "value"
            )
            ranges += [] if report is None else [report]
        leaves = self.solver.state_sequences(root)[1].size
        facts = {"public state": str(root), "leaves with network values": f"{leaves:,}"}
        return SearchReport(facts, {}, ranges)

    def sample_policies(self, count: int, seed: int = 0) -> Floats:
        """Return the probabilities [count, S] of the policies of some episodes."""
        rng = np.random.default_rng(seed)
        return sample_policies(self.solver, self.network, self.iterations, count, rng)

    def _game_ranges(self) -> Floats:
        game = self.solver.game
        return (np.arange(game.max_views) < game.views[0][:, None]).astype(np.float64)

    def _search(self, root: int, ranges: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the policy of a subgame, the ranges [L, 2, V] at its leaves, and root values."""
        if root not in self._searches:
            stream = [0]
            seed_stream(self.seed, 0, root, stream)
            rng = np.random.default_rng(stream[0])
            kind = self.solver.game.state_class[[root]]
            solution = self.solver.solve(kind, ranges[None], self.network, self.iterations, rng)
            rows = self.solver.ranges_at_leaves(kind, ranges[None], solution.drawn)[1]
            below = rows.reshape(-1, *ranges.shape).astype(np.float64)
            self._searches[root] = solution.drawn[0], below, solution.values[0]
        return self._searches[root]


class SafeSearchAgent:
    """The agent `belief_search(policy=average)`; see `SafeSearch`. Searches are made once."""

    def __init__(self, search: SafeSearch):
        self.search_method, self.tree = search, search.solver.game.tree
        self._solutions: dict[tuple[int, int], SafeSolution] = {}  # by player and public state
        self.last_solution: SafeSolution | None = None

    @property
    def game(self) -> Game:
        game: Game = self.tree.game
        return game

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        tree, states = self.tree, self.search_method.solver.game.states
        infoset = tree.find_infoset(tree.game.infoset_key(state, player), player)
        target = int(states.infoset_state[infoset])
        solution = self._solve(self.search_method.first_root(player))
        while True:
            inside = [
                leaf for leaf in solution.leaves if leaf.state <= target < states.end[leaf.state]
            ]
            if not inside:
                break
            solution = self._solve(inside[0])
        self.last_solution = solution
        first, last = tree.offset[infoset : infoset + 2]
        local = np.flatnonzero(solution.sequences == first)[0]
        return [float(p) for p in solution.probabilities[local : local + int(last - first)]]

    def search_report(self, state: State, player: int) -> SearchReport:
        """Return the player's range at the root of the last search, and the opponent's choice.

        The values of the opponent's views are those that the search holds it to.
        """
        game, solution = self.search_method.solver.game, self.last_solution
        if solution is None:
            self.action_probabilities(state, player)
            return self.search_report(state, player)
        root, rows = solution.root, []
        for number in (player, 1 - player):
            size = game.states.num_views(root.state, number)
            is_own = number == player
            reach = root.own_range if is_own else solution.opponent_range
            values = None if is_own or not root.alternatives.size else root.alternatives[:size]
            name = "value at most" if values is not None else ""
            rows.append(
                range_from_reach(game.states, root.state, number, reach[:size], values, name)
            )
        facts = {
            "public state": str(root.state),
            "leaves with network values": f"{len(solution.leaves):,}",
        }
        return SearchReport(facts, {}, [row for row in rows if row is not None])

    def sample_policies(self, count: int, seed: int = 0) -> Floats:
        """Return the probabilities [count, S] of the policies of some episodes: all are equal."""
        return np.repeat(self.search_method.policy().probabilities[None], count, axis=0)

    def _solve(self, root: SafeRoot) -> SafeSolution:
        key = root.player, root.state
        if key not in self._solutions:
            self._solutions[key] = self.search_method.solve([root])[0]
        return self._solutions[key]
