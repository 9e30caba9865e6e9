"""The agent `resolving` on hold'em games too large for a tree: subgames as vectors over hands."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_inspection import find_game_node
from counterplay.arenas.holdem.game_subgames import (
    Gadget,
    StreetSubgames,
    SubgamesArena,
    check_vector_algorithm,
    check_zero_sum,
)
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import cards_name, permute_suits
from counterplay.core.solve import step_within
from counterplay.errors import ConfigError, SearchWarning
from counterplay.games.holdem_base import HoldemState
from counterplay.registry import load_registered_algorithm
from counterplay.search.resolving import warn_time_limit
from counterplay.search.search_report import RangeReport, SearchReport

METHODS = ("unsafe", "resolve", "max_margin", "combined")
Root = tuple[int, int, int]  # street, block and board of a subgame


@dataclass(frozen=True, eq=False)
class RootSubgame(StreetSubgames):
    """One subgame at the start of a street; R is 1."""

    block: int
    board: int

    @cached_property
    def roots(self) -> Ints:
        return np.array([(self.street, self.block, self.board, 0)])

    @cached_property
    def ranges(self) -> tuple[Floats, Floats]:
        """Own reach [1, hands] of both players; 1 for all hands of a player who never comes."""
        first, second = (self._reach_on_path(player) for player in (0, 1))
        return first, second

    @cached_property
    def is_uniform(self) -> bool:
        """Return True if a player's policy never leads to the root."""
        return any(not self._reach_of(player).any() for player in (0, 1))

    def _reach_on_path(self, player: int) -> Floats:
        reach = self._reach_of(player)
        return (reach if reach.any() else np.ones_like(reach))[None]

    def _reach_of(self, player: int) -> Floats:
        """Return a player's own reach [hands] at the root."""
        arena, path = self.arena, self._path
        reach = np.ones(arena.num_hands(0))
        for street, board, decisions in path:
            if street:
                reach = reach[arena.street_boards[street].parent_hand[board]]
                reach = reach[: arena.num_hands(street)]
            for node, action in decisions:
                if arena.betting.nodes[node].kind == player:
                    reach = reach * self.blueprint.probabilities_at(node, board)[action]
        return reach

    @cached_property
    def _path(self) -> list[tuple[int, int, list[tuple[int, int]]]]:
        """Street, board, and decisions with their actions, from the first street to the root."""
        arena, block, board = self.arena, self.block, self.board
        path: list[tuple[int, int, list[tuple[int, int]]]] = [(self.street, board, [])]
        for street in range(self.street - 1, -1, -1):
            board = int(arena.streets[street + 1].parent[board])
            node, decisions = int(arena.betting.block_parents[block]), list[tuple[int, int]]()
            while (parent := arena.betting.nodes[node].parent) >= 0:
                first = arena.betting.nodes[parent].first_child
                decisions.append((parent, node - first))
                node = parent
            block = arena.betting.nodes[node].block
            path.append((street, board, decisions[::-1]))
        return path[::-1]

    def pieces(self, player: int) -> list[tuple[int, int]]:
        """Return the player's decision nodes in the subgame, each with a board."""
        arena, pieces = self.arena, list[tuple[int, int]]()
        waiting = [(self.street, self.block, self.board)]
        while waiting:
            street, block, board = waiting.pop()
            starts = arena.betting.block_starts
            for number in range(starts[block], starts[block + 1]):
                node = arena.betting.nodes[number]
                if node.kind == player:
                    pieces.append((number, board))
                elif node.kind == DEAL:
                    first, last = arena.streets[street].next_boards[board : board + 2].tolist()
                    waiting += [
                        (street + 1, node.next_block, child) for child in range(first, last)
                    ]
        return pieces


class HoldemResolvingAgent:
    """Nested subgame solving in a hold'em game, from a blueprint policy of all hands.

    Before the first board cards the agent follows its blueprint. At the first decision after cards
    are dealt it solves the rest of the game from the start of that street, with the ranges and the
    opponent's alternative values of the policy that it has followed so far. An answer does not
    depend on earlier questions, unless `seconds` limits the searches.

    Args:
        arena: the game.
        blueprint: a policy of it.
        settings: a `Resolving` without `depth`.
    """

    def __init__(self, arena: HoldemGameArena, blueprint: HoldemPolicy, settings: Any):
        check_settings(settings)
        if blueprint.arena.spec != arena.spec:
            raise ConfigError(f"the blueprint is of {blueprint.arena.spec}, not of {arena.spec}")
        if arena.precision == "int16":
            raise ConfigError("resolving needs tables of float32 or float64, unlike int16")
        if settings.method != "unsafe":
            check_zero_sum(arena, "resolving")
        self.arena, self.settings = arena, settings
        self.algorithm: Any = load_registered_algorithm(settings.algorithm)
        # tables [S] of each player: the blueprint, and probabilities of solutions in place of it
        self.weights = [np.array(blueprint.weights, arena.compute_dtype) for _ in range(2)]
        self.fallback = np.asarray(blueprint.fallback_weights, arena.compute_dtype)
        self.solved: dict[tuple[Root, int], RootSubgame] = {}

    @property
    def game(self) -> Any:
        return self.arena.game

    def action_probabilities(self, state: HoldemState, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        node, board, suits = find_game_node(self.arena, state.history)
        betting_node = self.arena.betting.nodes[node]
        street = betting_node.state.street
        self.solve((street, betting_node.block, board), player)
        own = {permute_suits(card, suits) for card in self.game.hole_cards(state, player)}
        hands = self.arena.hand_cards(street, board).tolist()
        hand = next(h for h, cards in enumerate(hands) if set(cards) == own)
        return [float(p) for p in self._policy(player).probabilities_at(node, board)[:, hand]]

    def solve(self, root: Root, player: int) -> None:
        """Solve the subgame at the start of a street for a player, and those on the way first."""
        street, block, board = root
        if not street or (root, player) in self.solved:
            return
        before = int(self.arena.betting.block_parents[block])
        parent = int(self.arena.streets[street].parent[board])
        self.solve((street - 1, self.arena.betting.nodes[before].block, parent), player)
        subgame = RootSubgame(self._policy(player), street, block, board)
        self.solved[root, player] = subgame
        if subgame.is_uniform:
            warnings.warn(
                f"the blueprint never reaches {self._name(root)} of {self.arena.spec}; "
                "its ranges are taken to be uniform there",
                SearchWarning,
                stacklevel=4,
            )
        method, weights = self.settings.method, self.weights[player]
        gadget = None if method == "unsafe" else Gadget(subgame, player, method)
        solution = self._run(SubgamesArena(subgame, gadget))
        if solution is None:
            warn_time_limit(self.settings)
            return
        for node, piece_board in subgame.pieces(player):
            piece = self.arena.piece_slice(node, piece_board)
            weights[piece] = solution.probabilities_at(node, piece_board).ravel()

    def _run(self, arena: SubgamesArena) -> HoldemPolicy | None:
        """Return the solution, or None if the time limit ends before the first iteration."""
        algorithm, seconds = self.algorithm, self.settings.seconds
        if seconds:
            memory, is_in_time = step_within(arena, algorithm, seconds, max_chunk=1)
            if not is_in_time:
                return None
        else:
            memory = algorithm.step(arena, algorithm.init(arena), self.settings.iterations)
        policy: HoldemPolicy = next(iter(algorithm.policies(arena, memory).values()))
        return policy

    def tabulate(self, progress: Callable[[int], None] | None = None) -> HoldemPolicy:
        """Return the agent's policy of both players, after it has solved all subgames."""
        for done, (root, player) in enumerate(self.list_roots(), 1):
            self.solve(root, player)
            if progress:
                progress(done)
        weights = self.weights[0].copy()
        for node, betting_node in enumerate(self.arena.betting.nodes):
            if betting_node.kind == 1:
                for board in range(self.arena.streets[betting_node.state.street].num_boards):
                    piece = self.arena.piece_slice(node, board)
                    weights[piece] = self.weights[1][piece]
        return HoldemPolicy(self.arena, weights, self.fallback)

    def list_roots(self) -> list[tuple[Root, int]]:
        """Return the starts of all streets with decisions after the first, for both players."""
        arena, roots = self.arena, list[Root]()
        for block, first in enumerate(arena.betting.block_starts[:-1]):
            node = arena.betting.nodes[first]
            street = node.state.street
            if street and node.kind < FOLD:
                roots += [(street, block, b) for b in range(arena.streets[street].num_boards)]
        return [(root, player) for player in (0, 1) for root in roots]

    def search_report(self, state: HoldemState, player: int) -> SearchReport:
        """Return the ranges at the start of the street of a decision."""
        node, board, _ = find_game_node(self.arena, state.history)
        betting_node = self.arena.betting.nodes[node]
        root = (betting_node.state.street, betting_node.block, board)
        subgame = self.solved.get((root, player))
        if subgame is None:
            return SearchReport({"search": "none: the blueprint is followed before the flop"}, {})
        facts = {"subgame": self._name(root), "method": self.settings.method}
        names = [cards_name(hand) for hand in self.arena.hand_cards(root[0], board).tolist()]
        ranges = []
        for seat in (player, 1 - player):
            reach = subgame.ranges[seat][0]
            ranges.append(RangeReport(seat, names, (reach / reach.sum()).tolist()))
        return SearchReport(facts, {}, ranges)

    def _policy(self, player: int) -> HoldemPolicy:
        return HoldemPolicy(self.arena, self.weights[player], self.fallback)

    def _name(self, root: Root) -> str:
        _, block, board = root
        first = self.arena.betting.block_starts[block]
        return repr(self.arena.public_history(first, board))


def check_settings(settings: Any) -> None:
    """Raise ConfigError if a `Resolving` asks for what trees alone support."""
    if settings.method not in METHODS:
        raise ConfigError(
            f"resolving: method is {settings.method!r}, which needs a game small enough for a "
            f"tree; take one of {', '.join(METHODS)} in this hold'em game"
        )
    if settings.depth:
        raise ConfigError(
            f"resolving: depth is {settings.depth}, which needs a game small enough for a tree; "
            "leave it out in this hold'em game"
        )
    check_vector_algorithm(load_registered_algorithm(settings.algorithm))
