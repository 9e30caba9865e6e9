"""Depth-limited subgames of public states as flat arrays, one layout for isomorphic subgames.

Subgames whose histories, chances, infosets and utilities agree, up to the names of the players,
belong to one class: of liar's dice all public states with the same last bid. A class has one
`Layout` for the solver, and one input of a value network. The player who acts first in a public
state is number 0 of its layout.

In a layout every player has a root sequence for each of its views at the entries, whose reach is
its range there. The utilities are then the same for all ranges, so that many subgames with
different ranges are solved as one batch.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from counterplay.arenas.public_states import PublicStates, last_sequences, public_states
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import TERMINAL
from counterplay.errors import ConfigError

DIGITS = 10  # numbers of isomorphic subgames agree to this many digits


class Layout(NamedTuple):
    """A depth-limited subgame: n local sequences, I infosets, E payoffs, L leaves, W leaf views.

    Local sequences are the root sequences of player 0, those of player 1, and the actions of the
    infosets, parents first.
    """

    num_views: Ints  # [2] root sequences of each player
    first: Ints  # [I + 1] first local sequence of each infoset
    parent: Ints  # [I] local sequence before each infoset
    sequence: Ints  # [n] sequence of the tree; -1 at root sequences
    payoff: Ints  # [E, 2] last local sequence of each player
    utility: Floats  # [E] chance probability times player 0's utility
    leaf_state: Ints  # [L] public state of each leaf
    leaf_class: Ints  # [L] class of each leaf
    leaf_swap: Ints  # [L] 1 if the leaf's layout numbers the players the other way round
    leaf_chance: Floats  # [L] probability of chance to get there, relative to the root's entries
    leaf_offset: Ints  # [L, 2] first leaf view of each player of the layout
    leaf_sequence: Ints  # [W] local sequence of each view of a leaf
    view_chance: Floats  # [W] share of the leaf's chance probability that the view has


@dataclass(frozen=True, eq=False)
class BeliefGame:
    """The public states of a two-player zero-sum tree, sorted into classes of equal subgames.

    K public states, C classes, at most V views of a player.
    """

    tree: TreeArena
    states: PublicStates
    first_player: Ints  # [K] player who acts first in each public state
    state_class: Ints  # [K] class of each public state
    class_state: Ints  # [C] the first public state of each class
    views: Ints  # [C, 2] views of each player of the layout at the entries of a class
    view_chance: Floats  # [C, 2, V] share of the chance probability of each view; 0 beyond `views`

    @property
    def num_classes(self) -> int:
        return self.class_state.size

    @property
    def max_views(self) -> int:
        return int(self.view_chance.shape[2])

    @property
    def num_states(self) -> Ints:
        """Public states [C] of the subgames of each class, the root included."""
        return self.states.end[self.class_state] - self.class_state

    def leaves_of(self, state: int, depth: int | None, end_size: int = 1) -> list[int]:
        """Return the public states at which a subgame is cut, parents first.

        Args:
            state: the public state of the root.
            depth: public states ahead; 0: to the next public chance event, such as the end of a
                betting round; None: to the end.
            end_size: leaves whose own subgame has at most this many public states are not cut.
        """
        states = self.states
        if depth is None:
            return []
        after_chance = _is_after_chance(states)
        leaves, below, end = [], state + 1, int(states.end[state])
        while below < end:
            is_deep = states.depth[below] >= states.depth[state] + depth
            is_leaf = is_deep if depth else after_chance[below]
            if is_leaf and states.end[below] - below > end_size:
                leaves.append(below)
                below = int(states.end[below])
            else:
                below += 1
        return leaves

    def layout(self, state: int, depth: int | None, end_size: int = 1) -> Layout:
        """Return the layout of the subgame at a public state; see `leaves_of`.

        Layouts of public states of the same class differ in `sequence` and `leaf_state` only.
        """
        leaves = self.leaves_of(state, depth, end_size)
        layout = build_layout(_tables(self.states), state, leaves)
        return layout._replace(leaf_class=self.state_class[layout.leaf_state])


@cache_on_tree
def belief_game(tree: TreeArena) -> BeliefGame:
    """Return the classes of the public states of a tree.

    Raises:
        ConfigError: the game is not a two-player zero-sum game with perfect recall.
    """
    if tree.num_players != 2 or not tree.is_zero_sum:
        raise ConfigError(f"public beliefs need a two-player zero-sum game, unlike {tree.spec}")
    states = public_states(tree)
    tables = _tables(states)
    classes: dict[bytes, int] = {}
    state_class = np.zeros(len(states), np.int64)
    for state in range(len(states)):
        state_class[state] = classes.setdefault(_digest(tables, state), len(classes))
    _, class_state = np.unique(state_class, return_index=True)
    shares = []
    for state in class_state.tolist():
        players = (tables.first_player[state], 1 - tables.first_player[state])
        shares.append([tables.view_share[p][tables.view_slice(state, p)] for p in players])
    views = np.array([[share.size for share in pair] for pair in shares])
    view_chance = np.zeros((class_state.size, 2, int(views.max())))
    for number, pair in enumerate(shares):
        for seat, share in enumerate(pair):
            view_chance[number, seat, : share.size] = share
    return BeliefGame(
        tree, states, tables.first_player, state_class, class_state, views, view_chance
    )


@lru_cache(maxsize=4)
def _is_after_chance(states: PublicStates) -> Ints:
    """Return True for public states [K] that chance enters."""
    result = np.zeros(len(states), bool)
    result[states.after_chance()] = True
    return result


class _Tables(NamedTuple):
    """Facts about all public states of a tree with N nodes."""

    states: PublicStates
    first_player: Ints  # [K] player of the first decision; 0 without decisions
    nodes: Ints  # [N] nodes sorted by public state
    node_offset: Ints  # [K + 1] first of `nodes` of each public state
    chance: Floats  # [N] probability of all chance actions before each node
    state_chance: Floats  # [K] sum of the same over the entries of each public state
    last: Ints  # [N, 2] last sequence of each player before each node
    entry: Ints  # [N] entry of the node's public state above it
    entry_view: tuple[Ints, ...]  # of each player, view of each node that is an entry, from 0
    view_offset: tuple[Ints, ...]  # of each player, first view of each public state
    view_node: tuple[Ints, ...]  # of each player, an entry of each view
    view_share: tuple[Floats, ...]  # of each player, share of chance of each view

    def view_slice(self, state: int, player: int) -> slice:
        """Return the views of a player at a public state."""
        offset = self.view_offset[player]
        return slice(int(offset[state]), int(offset[state + 1]))


@lru_cache(maxsize=4)
def _tables(states: PublicStates) -> _Tables:
    tree, count = states.tree, len(states)
    first_player = np.zeros(count, np.int64)
    decisions = np.flatnonzero(tree.player >= 0)[::-1]  # the first of a public state is last here
    first_player[states.label[decisions]] = tree.player[decisions]
    order = np.argsort(states.label, kind="stable")
    chance, entry = np.ones(tree.num_nodes), np.arange(tree.num_nodes)
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        parent = tree.parent[first:last]
        chance[first:last] = chance[parent] * tree.chance[first:last]
        is_inside = states.entry_row[first:last] < 0
        entry[first:last][is_inside] = entry[parent[is_inside]]
    state_of_entry = states.label[states.entry]
    total = np.bincount(state_of_entry, states.chance_reach, count).astype(np.float64)
    entry_view, offsets, nodes, shares = [], [], [], []
    for player in range(2):
        # views are numbered over all public states; here they are sorted by public state
        numbers, where, inverse = np.unique(
            np.column_stack([state_of_entry, states.view[:, player]]),
            axis=0,
            return_index=True,
            return_inverse=True,
        )
        offset = np.searchsorted(numbers[:, 0], np.arange(count + 1))
        local = np.full(tree.num_nodes, -1)
        local[states.entry] = inverse.ravel() - offset[state_of_entry]
        mass = np.bincount(inverse.ravel(), states.chance_reach)
        entry_view.append(local)
        offsets.append(offset)
        nodes.append(states.entry[where])
        shares.append(mass / total[numbers[:, 0]])
    return _Tables(
        states,
        first_player,
        order,
        np.searchsorted(states.label[order], np.arange(count + 1)),
        chance,
        total,
        last_sequences(tree),
        entry,
        tuple(entry_view),
        tuple(offsets),
        tuple(nodes),
        tuple(shares),
    )


def build_layout(tables: _Tables, state: int, leaves: list[int] | range) -> Layout:
    """Return the layout of the subgame at a public state, cut at some public states below it.

    The leaves may be below each other for a digest of all public states; only those that are not
    cut off by others belong to a game.
    """
    states, tree = tables.states, tables.states.tree
    seats = (int(tables.first_player[state]), 1 - int(tables.first_player[state]))
    end = int(states.end[state])
    is_inside = np.zeros(len(states), bool)
    is_inside[state:end] = True
    if not isinstance(leaves, range):
        for leaf in leaves:
            is_inside[leaf : int(states.end[leaf])] = False
    nodes = tables.nodes[tables.node_offset[state] : tables.node_offset[end]]
    nodes = np.sort(nodes[is_inside[states.label[nodes]]])
    num_views = [tables.view_node[p][tables.view_slice(state, p)].size for p in seats]
    base = sum(num_views)
    total = float(tables.state_chance[state])

    infosets = np.flatnonzero(is_inside[states.infoset_state])
    seat = tree.infoset_player[infosets] ^ seats[0]
    order = np.argsort(seat, kind="stable")
    infosets, seat = infosets[order], seat[order]
    counts = tree.num_actions[infosets].astype(np.int64)
    rank = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    sequence = np.repeat(tree.offset[infosets].astype(np.int64), counts) + rank
    local = np.full(tree.num_sequences + 1, -1)
    local[sequence] = base + np.arange(sequence.size)
    size = base + sequence.size

    def local_sequences(nodes: Ints) -> Ints:
        """Return the last local sequence [N, 2] of both players of the layout at nodes."""
        root = tables.entry[nodes]
        while True:
            outside = np.flatnonzero(states.label[root] != state)
            if not outside.size:
                break
            root[outside] = tables.entry[tree.parent[root[outside]]]
        columns = []
        for number, player in enumerate(seats):
            last = local[tables.last[nodes, player]]
            view = tables.entry_view[player][root] + number * num_views[0]
            columns.append(np.where(last >= 0, last, view))
        return np.column_stack(columns).reshape(-1, 2)

    ends = nodes[tree.player[nodes] == TERMINAL]
    pairs = local_sequences(ends)
    row = np.searchsorted(tree.terminals, ends)
    weight = tree.utility[row, seats[0]] * tables.chance[ends] / total
    codes, inverse = np.unique(pairs[:, 0] * size + pairs[:, 1], return_inverse=True)
    utility = np.bincount(inverse.ravel(), weight, codes.size).astype(np.float64)
    payoff = np.column_stack([codes // size, codes % size])
    decisions = nodes[tree.infoset[nodes] >= 0]
    node_of = np.zeros(tree.num_infosets, np.int64)
    node_of[tree.infoset[decisions]] = decisions
    before = local_sequences(node_of[infosets])

    leaf_state = np.array(leaves, np.int64)
    view_nodes, shares, offset, views = [], [], np.zeros((leaf_state.size, 2), np.int64), 0
    for number, leaf in enumerate(leaf_state.tolist()):
        for place, player in enumerate(seats):
            inside = tables.view_slice(leaf, player)
            offset[number, place] = views
            view_nodes.append((place, tables.view_node[player][inside]))
            shares.append(tables.view_share[player][inside])
            views += inside.stop - inside.start
    all_nodes = np.concatenate([*(n for _, n in view_nodes), np.zeros(0, np.int64)])
    places = np.concatenate([*(np.full(n.size, p) for p, n in view_nodes), np.zeros(0, np.int64)])
    leaf_local = local_sequences(all_nodes.astype(np.int64))
    return Layout(
        num_views=np.array(num_views),
        first=base + np.concatenate([[0], np.cumsum(counts)]),
        parent=before[np.arange(infosets.size), seat],
        sequence=np.concatenate([np.full(base, -1), sequence]),
        payoff=payoff,
        utility=utility,
        leaf_state=leaf_state,
        leaf_class=np.zeros(leaf_state.size, np.int64),
        leaf_swap=tables.first_player[leaf_state] ^ seats[0],
        leaf_chance=tables.state_chance[leaf_state] / total,
        leaf_offset=offset,
        leaf_sequence=leaf_local[np.arange(places.size), places.astype(np.int64)],
        view_chance=np.concatenate([*shares, np.zeros(0)]),
    )


def _digest(tables: _Tables, state: int) -> bytes:
    """Return a hash of a subgame: of its layout to the end, with all public states below it."""
    states = tables.states
    layout = build_layout(tables, state, range(state + 1, int(states.end[state])))
    depth = states.depth[state : int(states.end[state])] - states.depth[state]
    parts = [
        depth,
        layout.num_views,
        layout.first,
        layout.parent,
        states.infoset_state[_infosets_of(states, layout)] - state,
        layout.payoff,
        np.round(layout.utility, DIGITS),
        layout.leaf_swap,
        np.round(layout.leaf_chance, DIGITS),
        layout.leaf_offset,
        layout.leaf_sequence,
        np.round(layout.view_chance, DIGITS),
    ]
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        array = np.ascontiguousarray(part, np.float64) + 0.0  # -0.0 becomes 0.0
        digest.update(f"{array.shape}".encode())
        digest.update(array.tobytes())
    return digest.digest()


def _infosets_of(states: PublicStates, layout: Layout) -> Ints:
    """Return the infosets of a layout."""
    first = layout.sequence[layout.first[:-1]]
    return np.searchsorted(states.tree.offset, first, side="right") - 1
