"""Public states of a tree: its partition by common knowledge, with values and ranges.

Two histories belong to the same public state if a chain of histories connects them in which
neighbours share an infoset of some player, also of one that does not act there (Burch, Johanson and
Bowling, 2014). Every player who acts in a public state knows that it is in it, so that the
histories of a public state and all histories below it form a subgame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.node_values import compute_node_values
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import check_same_game, compute_best_responses, form_probabilities
from counterplay.core.game import TERMINAL
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps


@dataclass(frozen=True, eq=False, repr=False)
class PublicStates:
    """The public states of a tree with N nodes and P players, numbered parents first.

    The public states form a tree: each but the first is entered from one other. A terminal belongs
    to the public state of its parent. The entries of a public state are its nodes whose parents are
    outside.

    Example:
        >>> import counterplay as cp
        >>> states = cp.search.public_states(cp.build_tree("kuhn_poker"))
        >>> states
        PublicStates(kuhn_poker: 4 public states)
        >>> states.describe(2), states.path(2)
        ('0pb 1pb 2pb', [0, 1, 2])
    """

    tree: TreeArena
    label: Ints  # [N] public state of each node
    parent: Ints  # [K] public state before each public state; -1 at the first
    end: Ints  # [K] one past the last public state below each; those below are contiguous
    entry: Ints  # [R] entries of all public states, sorted by public state
    entry_offset: Ints  # [K + 1] first entry of each public state
    view: Ints  # [R, P] number of each player's information at each entry
    last_sequence: Ints  # [R, P] each player's last sequence before each entry, or S
    chance_reach: Floats  # [R] probability of the chance actions before each entry
    basis: str  # "infoset keys", "public keys" or "acting infosets": the source of the partition

    def __repr__(self) -> str:
        return f"PublicStates({self.tree.spec}: {len(self)} public states)"

    def __len__(self) -> int:
        return self.parent.size

    @cached_property
    def infoset_state(self) -> Ints:
        """Public state [I] of each infoset."""
        infosets, first = np.unique(self.tree.infoset, return_index=True)
        return self.label[first[infosets >= 0]]

    @cached_property
    def entry_row(self) -> Ints:
        """Row [N] of each node in `entry`; -1 for other nodes."""
        row = np.full(self.tree.num_nodes, -1)
        row[self.entry] = np.arange(self.entry.size)
        return row

    @cached_property
    def depth(self) -> Ints:
        """Number of public states [K] before each public state."""
        depth = np.zeros(len(self), np.int64)
        for state in range(1, len(self)):
            depth[state] = depth[self.parent[state]] + 1
        return depth

    @cached_property
    def acting(self) -> Ints:
        """Whether each player has a decision in each public state [K, P]."""
        acting = np.zeros((len(self), self.tree.num_players), bool)
        acting[self.infoset_state, self.tree.infoset_player] = True
        return acting

    def entries(self, state: int) -> Ints:
        """Return the entries of a public state: nodes whose parents are outside."""
        return self.entry[self.entry_offset[state] : self.entry_offset[state + 1]]

    def entry_rows(self, state: int) -> slice:
        """Return the rows of a public state in `entry`, `view` and `last_sequence`."""
        return slice(int(self.entry_offset[state]), int(self.entry_offset[state + 1]))

    def num_views(self, state: int, player: int) -> int:
        """Return the number of different views of a player at the entries of a public state."""
        return int(np.unique(self.view[self.entry_rows(state), player]).size)

    def path(self, state: int) -> list[int]:
        """Return the public states from the first one to this one."""
        states = [int(state)]
        while self.parent[states[-1]] >= 0:
            states.append(int(self.parent[states[-1]]))
        return states[::-1]

    def after_chance(self) -> list[int]:
        """Return the public states that chance enters: new cards, and with them new rounds."""
        first = self.entry[self.entry_offset[1:-1]]
        entered = self.tree.player[self.tree.parent[first]] == -1
        return [1 + int(state) for state in np.flatnonzero(entered)]

    def describe(self, state: int, limit: int = 6) -> str:
        """Return the keys of the first infosets of a public state."""
        infosets = np.flatnonzero(self.infoset_state == state)
        keys = [self.tree.infoset_keys[i] for i in infosets[:limit]]
        return " ".join(keys) + (" ..." if infosets.size > limit else "")


@cache_on_tree
def public_states(tree: TreeArena) -> PublicStates:
    """Return the public states of a tree.

    They come from the infoset keys of all players at all nodes; from `public_key(state)`, if the
    game has such a method; and if neither is available, as for trees from files, from the infosets
    of the acting players. The last partition may be finer than common knowledge, but it splits no
    infoset either: all players who act in a part know that they are in it.

    Args:
        tree: a tree with perfect recall.

    Raises:
        ConfigError: a player of the game forgets.
    """
    if not tree.has_perfect_recall:
        raise ConfigError(
            f"public states need perfect recall; a player of {tree.spec} forgets "
            "(tree.perfect_recall_tree is the same game with perfect recall)"
        )
    views, public, basis = _read_views(tree)
    label = _connect(tree, views, public)
    label, parent, end = _number_public_states(tree, label)
    is_entry = np.append(True, label[tree.parent[1:]] != label[1:])
    entry = np.flatnonzero(is_entry)
    entry = entry[np.argsort(label[entry], kind="stable")]
    offset = np.searchsorted(label[entry], np.arange(parent.size + 1))
    last = last_sequences(tree)
    view = _number_views(tree, label, entry, last, views)
    chance = np.ones(tree.num_nodes)
    for first, last_node in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        before = chance[tree.parent[first:last_node]]
        chance[first:last_node] = before * tree.chance[first:last_node]
    return PublicStates(
        tree, label, parent, end, entry, offset, view, last[entry], chance[entry], basis
    )


def _read_views(tree: TreeArena) -> tuple[Ints | None, Ints | None, str]:
    """Return each player's view [N, P], the public view [N] or None, and their source.

    Views are numbers of infoset keys at all nodes but terminals. The first result is None without
    rules, and if they define keys for the acting players only.
    """
    try:
        game: Any = tree.game
    except ConfigError:
        return None, None, "acting infosets"
    keys = [partial(_player_key, game, player) for player in range(tree.num_players)]
    views = _number_keys(tree, keys, may_fail=True)
    if hasattr(game, "public_key"):
        public = _number_keys(tree, [game.public_key], may_fail=False)
        if public is not None:
            return views, public[:, 0], "public keys"
    return views, None, "acting infosets" if views is None else "infoset keys"


def player_views(tree: TreeArena) -> Ints | None:
    """Return the number of each player's infoset key at all nodes [N, P], -1 at terminals.

    The result is None if the rules are unknown, or define keys for the acting players only.
    """
    return _read_views(tree)[0]


def _player_key(game: Any, player: int, state: Any) -> str:
    return str(game.infoset_key(state, player))


def _number_keys(
    tree: TreeArena, functions: Sequence[Callable[[Any], Any]], may_fail: bool
) -> Ints | None:
    """Return numbers [N, F] of the values of functions of the states, -1 at terminals."""
    game, numbers = tree.game, np.full((tree.num_nodes, len(functions)), -1)
    tables: list[dict[Any, int]] = [{} for _ in functions]
    child_offset, action = tree.child_offset.tolist(), tree.action.tolist()
    is_terminal = (tree.player == TERMINAL).tolist()
    states = {0: game.initial_state()}
    for node in range(tree.num_nodes):
        if is_terminal[node]:
            continue
        state = states.pop(node)
        try:
            for column, (function, table) in enumerate(zip(functions, tables, strict=True)):
                numbers[node, column] = table.setdefault(function(state), len(table))
        except Exception:  # keys of players who do not act may be undefined
            if may_fail:
                return None
            raise
        for child in range(child_offset[node], child_offset[node + 1]):
            if not is_terminal[child]:
                states[child] = game.next_state(state, action[child])
    return numbers


def _connect(tree: TreeArena, views: Ints | None, public: Ints | None) -> Ints:
    """Return a label [N] of the finest partition into parts that form a tree.

    Nodes with a common view, public view or infoset share a part. Parts are merged until each is
    entered from one other part: otherwise a player could reach an infoset from two of them.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    inner = np.flatnonzero(tree.player != TERMINAL)
    columns = [tree.infoset]
    if public is not None:
        columns.append(public)
    elif views is not None:
        columns += list(views.T)
    rows, hubs, size = [], [], tree.num_nodes
    for column in columns:
        members = inner[column[inner] >= 0]
        rows.append(members)
        hubs.append(size + column[members])
        size += int(column.max(initial=-1)) + 1
    row, hub = np.concatenate(rows), np.concatenate(hubs)
    graph = coo_array((np.ones(row.size, bool), (row, hub)), shape=(size, size))
    label = connected_components(graph, directed=False)[1][: tree.num_nodes]
    label[tree.terminals] = label[tree.parent[tree.terminals]]
    while True:
        label = np.unique(label, return_inverse=True)[1]
        above, below = label[tree.parent[1:]], label[1:]
        crosses = above != below
        above, below = above[crosses], below[crosses]
        # the first parent of each part; all others are merged with it
        parts, first = np.unique(below, return_index=True)
        parent = np.full(label.max() + 1, -1)
        parent[parts] = above[first]
        parent[label[0]] = label[0]
        wrong = above != parent[below]
        if not wrong.any():
            return label
        pairs = (above[wrong], parent[below[wrong]])
        graph = coo_array((np.ones(pairs[0].size, bool), pairs), shape=(parent.size, parent.size))
        label = connected_components(graph, directed=False)[1][label]


def _number_public_states(tree: TreeArena, label: Ints) -> tuple[Ints, Ints, Ints]:
    """Return labels in depth-first order, the parent of each, and one past its last descendant."""
    above, below = label[tree.parent[1:]], label[1:]
    crosses = above != below
    parts, first = np.unique(below[crosses], return_index=True)
    parent = np.full(int(label.max()) + 1, -1)
    parent[parts] = above[crosses][first]
    children: list[list[int]] = [[] for _ in parent]
    for part in parts[np.argsort(first, kind="stable")].tolist():
        children[parent[part]].append(part)
    number, end = np.zeros(parent.size, np.int64), np.zeros(parent.size, np.int64)
    stack, count = [(int(label[0]), False)], 0
    while stack:
        part, is_done = stack.pop()
        if is_done:
            end[number[part]] = count
            continue
        number[part], count = count, count + 1
        stack.append((part, True))
        stack += [(child, False) for child in reversed(children[part])]
    new_parent = np.full(parent.size, -1)
    new_parent[number] = np.where(parent >= 0, number[parent], -1)
    return number[label], new_parent, end


def last_sequences(tree: TreeArena) -> Ints:
    """Return each player's last sequence [N, P] before each node; S if it has not acted."""
    last = np.full((tree.num_nodes, tree.num_players), tree.num_sequences)
    for first, end in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        parent, sequence = tree.parent[first:end], tree.incoming_sequence[first:end]
        last[first:end] = last[parent]
        decisions = np.flatnonzero(sequence >= 0)
        last[first + decisions, tree.player[parent[decisions]]] = sequence[decisions]
    return last


def _number_views(
    tree: TreeArena, label: Ints, entry: Ints, last: Ints, views: Ints | None
) -> Ints:
    """Return numbers [R, P] of the players' information at the entries of public states.

    Entries have the same number if they agree in the public state, in the player's key (if keys of
    all players are known) and in its last sequence, or if its next infosets coincide.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbers = np.zeros((entry.size, tree.num_players), np.int64)
    row_of_node = np.full(tree.num_nodes, -1)
    row_of_node[entry] = np.arange(entry.size)
    for first, end in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        inside = np.flatnonzero(row_of_node[first:end] < 0) + first
        row_of_node[inside] = row_of_node[tree.parent[inside]]
    for player in range(tree.num_players):
        columns = [label[entry], last[entry, player]]
        if views is not None:
            columns.append(views[entry, player])
        group = np.unique(np.column_stack(columns), axis=0, return_inverse=True)[1].ravel()
        acts = np.flatnonzero(tree.player == player)
        # an infoset of the player links the entries of its public state that lead to it
        size = int(group.max()) + 1
        pairs = (group[row_of_node[acts]], size + tree.infoset[acts])
        size += tree.num_infosets
        graph = coo_array((np.ones(acts.size, bool), pairs), shape=(size, size))
        component = connected_components(graph, directed=False)[1][group]
        _, first, rank = np.unique(component, return_index=True, return_inverse=True)
        order = np.argsort(np.argsort(first))  # numbered in the order of the entries
        numbers[:, player] = order[rank.ravel()]
    return numbers


@dataclass(frozen=True, eq=False)
class PublicValues:
    """Ranges and values of a policy at the entries [R] of all public states; V views.

    Views of a player are numbered as in `PublicStates.view`.
    """

    states: PublicStates
    policy: Policy
    own_reach: Floats  # [R, P] probability of each player's own actions before each entry

    def reach_without(self, player: int) -> Floats:
        """Return the reach [R] of each entry by all others, chance included."""
        others = np.delete(self.own_reach, player, axis=1).prod(axis=1)
        return self.states.chance_reach * others

    def range(self, player: int) -> Floats:
        """Return the player's own reach [V] at each of its views."""
        view = self.states.view[:, player]
        own = np.zeros(int(view.max(initial=-1)) + 1)
        own[view] = self.own_reach[:, player]
        return own

    def cf_reach(self, player: int) -> Floats:
        """Return the reach [V] of each of the player's views by all others, chance included."""
        totals = np.bincount(self.states.view[:, player], self.reach_without(player))
        return totals.astype(np.float64)

    def counterfactual_values(self, player: int) -> Floats:
        """Return the player's counterfactual value [V] at each of its views under the policy."""
        return self._sum_values(player, self.policy.probabilities)

    def counterfactual_best_response_values(self, player: int) -> Floats:
        """Return the same [V] if the player responds best from there on (CBV)."""
        tree = self.states.tree
        probabilities = form_probabilities(tree, self.policy)
        response = compute_best_responses(tree, probabilities).response[:-1]
        is_own = np.repeat(tree.infoset_player == player, tree.num_actions)
        return self._sum_values(player, np.where(is_own, response, probabilities))

    def _sum_values(self, player: int, probabilities: Floats) -> Floats:
        values = compute_node_values(self.states.tree, probabilities).value[:, player]
        weights = self.reach_without(player) * values[self.states.entry]
        return np.bincount(self.states.view[:, player], weights).astype(np.float64)


def public_values(tree: TreeArena, policy: Policy) -> PublicValues:
    """Return the ranges and values of a policy at all public states.

    Raises:
        ConfigError: a player forgets, or the policy is for another game.
    """
    states = public_states(tree)
    check_same_game(tree, policy)
    return PublicValues(states, policy, own_reach(states, policy.probabilities))


def own_reach(states: PublicStates, probabilities: Floats) -> Floats:
    """Return the probability [R, P] of each player's own actions before each entry."""
    form = states.tree.form
    reach = np.ones(states.tree.num_sequences + 1)
    sweeps.forward(form, 0, form.parent.size, probabilities, reach)
    return reach[states.last_sequence]


def counterfactual_best_response_values(
    tree: TreeArena, policy: Policy, player: int
) -> list[Floats]:
    """Return the player's CBVs at each public state, one value per view in order of its entries.

    The value of a view is its best response's expected utility, weighted by the reach of all
    others, chance included.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> values = cp.search.counterfactual_best_response_values(tree, cp.uniform_policy(tree), 0)
        >>> [v.round(3).tolist() for v in values]
        [[0.5], [-0.333, 0.0, 0.5], [-0.167, 0.0, 0.333], [-0.167, 0.167, 0.5]]
    """
    values = public_values(tree, policy)
    best = values.counterfactual_best_response_values(player)
    states, view = values.states, values.states.view[:, player]
    return [best[np.unique(view[states.entry_rows(state)])] for state in range(len(states))]
