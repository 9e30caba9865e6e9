"""The arena of a preflop game: infosets are (node, class of hands), and gradients are exact.

Suits do not matter before the flop, so that all hands of a class have the same infoset and nothing
is lost. All algorithms that run on sequences run here, and exact judgement with them.
"""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from counterplay.arenas.preflop.betting import build_preflop_tree
from counterplay.arenas.preflop.deals import build_deals
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.arenas.sequence_base import SequenceArenaBase
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import preflop_walk

RELATIVE_TIE_TOLERANCE = 16.0 * np.finfo(np.float64).eps  # relative to the largest utility


class PreflopArena(SequenceArenaBase):
    """A preflop game for algorithms on sequences; players are seats.

    Infosets are sorted by seat, then by the number of the seat's earlier decisions, then by node
    and class. `deals.note` says what is approximated; with two seats nothing is.

    Example:
        >>> from counterplay.arenas.preflop.game import DeckConfig
        >>> deck = DeckConfig(ranks=3, suits=2, board=0)
        >>> arena = PreflopArena(PreflopGame(stacks=(5.0, 5.0, 5.0), deck=deck))
        >>> arena.num_players, arena.num_infosets, arena.infoset_key(8)
        (3, 54, 'AA:')
    """

    capabilities: ClassVar[tuple[str, ...]] = ("sequences",)
    max_threads: ClassVar[int] = 1  # of the sweeps over sequences, which are short

    def __init__(self, game: PreflopGame, realised_factors: Floats | None = None):
        """Build the tree and the deals of a game.

        Args:
            game: the game.
            realised_factors: [Z, P, C] the part of its equity that a class of hands realises at a
                leaf with chips left, from solved flops; by default all of it.

        Raises:
            ConfigError: the factors do not fit the leaves of the game.
        """
        self.preflop_game, self.spec = game, game.spec
        self.deck = game.deck.build()
        self.tree = build_preflop_tree(game)
        self.num_players = game.num_seats
        nodes, width = self.tree.nodes, self.deck.num_classes
        depth = self._node_depths()
        order = sorted(range(len(nodes)), key=lambda n: (nodes[n].seat, depth[n], n))
        self.node_infoset = np.zeros(len(nodes), np.int64)  # first infoset of each node
        self.node_sequence = np.zeros(len(nodes), np.int64)  # first sequence of each node
        self.node_order = order
        first_sequence = 0
        for position, n in enumerate(order):
            self.node_infoset[n] = position * width
            self.node_sequence[n] = first_sequence
            first_sequence += width * len(nodes[n].actions)
        counts = np.repeat([len(nodes[n].actions) for n in order], width)
        offset = np.append(0, np.cumsum(counts)).astype(np.uint32)
        seats = [nodes[n].seat for n in order]
        bounds = np.searchsorted(seats, np.arange(self.num_players + 1)) * width
        parent = np.concatenate([self._parents(n, first_sequence) for n in order])
        self.form = SequenceTrees(offset, parent.astype(np.uint32), bounds)
        keys = [(nodes[n].seat, depth[n]) for n in order]
        self._level_bounds = [
            [
                i * width
                for i, key in enumerate(keys)
                if key[0] == p and (i == 0 or keys[i - 1] != key)
            ]
            + [int(bounds[p + 1])]
            for p in range(self.num_players)
        ]
        self._edges = self._list_edges()
        self.leaf_edges = self._list_leaf_edges()
        shape = (len(self.tree.leaves), self.num_players, width)
        if realised_factors is not None and realised_factors.shape != shape:
            raise ConfigError(f"the factors of solved flops must be {shape} numbers")
        self.realised_factors = realised_factors
        self.deals = build_deals(self.tree, self.leaf_edges, realised_factors)

    def _node_depths(self) -> list[int]:
        """Return the number of earlier decisions of the acting seat, by node."""
        depth: list[int] = []
        for node in self.tree.nodes:
            depth.append(0 if node.parent[0] < 0 else depth[node.parent[0]] + 1)
        return depth

    def _parents(self, node: int, num_sequences: int) -> Ints:
        """Return the parent sequence of each class at a node."""
        before, action = self.tree.nodes[node].parent
        classes = np.arange(self.deck.num_classes)
        if before < 0:
            return np.full(classes.size, num_sequences)
        width = len(self.tree.nodes[before].actions)
        return self.node_sequence[before] + classes * width + action

    def _list_edges(self) -> tuple[Ints, Ints, Ints]:
        """Return the first edge of each node [N], and first sequence and stride of each edge."""
        widths = [len(node.actions) for node in self.tree.nodes]
        first_edge = np.append(0, np.cumsum(widths))[:-1]
        actions = np.concatenate([np.arange(width) for width in widths])
        first = np.repeat(self.node_sequence, widths) + actions
        return first_edge, first, np.repeat(widths, widths)

    def _list_leaf_edges(self) -> Ints:
        """Return [Z, P] each seat's last edge before a leaf; the number of edges for none."""
        first_edge, first, _ = self._edges
        return np.array(
            [
                [
                    first.size if node < 0 else first_edge[node] + action
                    for node, action in leaf.last
                ]
                for leaf in self.tree.leaves
            ]
        )

    @property
    def utility_scale(self) -> float:
        """The largest stack, or the sum of all payouts: the most that can be won or lost."""
        game = self.preflop_game
        return float(sum(game.payouts) if game.payouts else max(game.stacks))

    @cached_property
    def value_tolerance(self) -> Floats:
        """Tolerance [S] of ties, relative to the largest utility."""
        tolerance = np.float64(RELATIVE_TIE_TOLERANCE * self.utility_scale)
        return np.broadcast_to(tolerance, self.num_sequences)

    def levels(self, player: int, max_parts: int) -> list[list[tuple[int, int]]]:
        """Return ranges of the player's infosets by level; `max_parts` is not used."""
        bounds = self._level_bounds[player]
        return [[(first, last)] for first, last in pairwise(bounds)]

    def edge_reach(self, reach: Floats) -> Floats:
        """Return the reach [E + 1, C] of all edges, given that of sequences; the last row is 1."""
        _, first, stride = self._edges
        result = np.ones((first.size + 1, self.deck.num_classes))
        preflop_walk.gather_reach(first, stride, reach, result)
        return result

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        self._add_leaves(player, self.deals.leaf_values(player, self.edge_reach(reach)), cf_value)

    def cf_reach(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` as `gradient` does, for utilities of 1: the reach of all others."""
        values = self.deals.leaf_probabilities(player, self.edge_reach(reach))
        self._add_leaves(player, values, cf_value)

    def _add_leaves(self, player: int, values: Floats, cf_value: Floats) -> None:
        bounds = self.form.offset[self.form.player_infoset[player : player + 2]]
        cf_value[int(bounds[0]) : int(bounds[1])] = 0.0
        cf_value[-1] = 0.0
        _, first, stride = self._edges
        edges = np.ascontiguousarray(self.leaf_edges[:, player])
        preflop_walk.add_leaf_values(edges, first, stride, values, cf_value)

    def node_of_infoset(self, infoset: int) -> tuple[int, int]:
        """Return the node and the class of an infoset."""
        position, hand_class = divmod(int(infoset), self.deck.num_classes)
        return self.node_order[position], hand_class

    def infoset_key(self, infoset: int) -> str:
        node, hand_class = self.node_of_infoset(infoset)
        return f"{self.deck.class_names[hand_class]}:{','.join(self.tree.nodes[node].history)}"

    def action_names(self, infoset: int) -> tuple[str, ...]:
        return self.tree.nodes[self.node_of_infoset(infoset)[0]].actions
