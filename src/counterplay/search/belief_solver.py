"""Batches of depth-limited subgames with public beliefs, solved with a value network at the leaves.

Subgames are solved by PCFR+ with simultaneous updates and average weights t**2: both players'
values of all leaves come from one call of the network for each iteration. The iteration that an
agent plays, or that training continues from, is drawn with the same weights, so that the policy
expected over draws is the average policy (Brown et al., 2020). Where the game ends before any leaf,
no later ranges depend on the iteration, and the average policy itself is played.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.belief_subgames import BeliefGame, Layout
from counterplay.core.arena import Floats, Ints
from counterplay.kernels.sequence_form import belief_sweeps as sweeps

WEIGHT_POWER = 2.0  # iteration t has weight t**2 in averages
MIN_REACH = 1e-9  # of a view at the root, where ranges have mean 1

Inputs = NDArray[np.float32]
LeafValues = Callable[[Inputs], Inputs]
"""Ranges of rows [N, 2 V] -> values [N, 2 V] of the views, for rows of fixed classes."""
ValueNetwork = Callable[[Ints], LeafValues]
"""Classes [N] of the rows -> function of their ranges."""


class JoinedLayouts(NamedTuple):
    """The arrays of several layouts, joined; see `belief_sweeps`."""

    table: Ints  # [layouts + 1, 6] first infoset, payoff, leaf, leaf view; views of both players
    first: Ints  # [I, 2] first local sequence of each infoset, and one past its last
    parent: Ints  # [I]
    payoff: Ints  # [E, 2]
    utility: Floats  # [E]
    leaf_chance: Floats  # [L]
    leaf_swap: Ints  # [L]
    leaf_view: Ints  # [L, 3] first leaf view of both players, and one past the last
    leaf_sequence: Ints  # [W]
    view_chance: Floats  # [W]


def join_layouts(layouts: Sequence[Layout]) -> JoinedLayouts:
    """Return the joined arrays of layouts."""
    table = np.zeros((len(layouts) + 1, 6), np.int64)
    firsts, leaf_views, num_views = [], [], 0
    for k, layout in enumerate(layouts):
        counts = [layout.parent.size, layout.utility.size, layout.leaf_state.size]
        table[k + 1, :4] = table[k, :4] + [*counts, layout.leaf_sequence.size]
        table[k, 4:] = layout.num_views
        firsts.append(np.column_stack([layout.first[:-1], layout.first[1:]]))
        ends = np.append(layout.leaf_offset[1:, 0], layout.leaf_sequence.size)
        ends = ends[: layout.leaf_state.size]
        leaf_views.append(np.column_stack([layout.leaf_offset, ends]) + num_views)
        num_views += layout.leaf_sequence.size
    return JoinedLayouts(
        table,
        np.concatenate(firsts),
        np.concatenate([layout.parent for layout in layouts]),
        np.concatenate([layout.payoff for layout in layouts]),
        np.concatenate([layout.utility for layout in layouts]),
        np.concatenate([layout.leaf_chance for layout in layouts]),
        np.concatenate([layout.leaf_swap for layout in layouts]),
        np.concatenate(leaf_views).astype(np.int64),
        np.concatenate([layout.leaf_sequence for layout in layouts]),
        np.concatenate([layout.view_chance for layout in layouts]),
    )


def _classes_below(layouts: Sequence[Layout]) -> Ints:
    """Return the classes of the leaves of the game, and of the leaves of their subgames."""
    found, queue = set[int](), [0]
    while queue:
        for kind in layouts[queue.pop()].leaf_class.tolist():
            if kind not in found:
                found.add(kind)
                queue.append(kind)
    return np.array(sorted(found), np.int64)


def _uniform_policy(layout: Layout) -> Floats:
    """Return the uniform policy [n] by local sequence; 0 at root sequences."""
    counts = np.diff(layout.first)
    return np.concatenate([np.zeros(layout.first[0]), np.repeat(1.0 / counts, counts)])


def _owners(layout: Layout) -> Ints:
    """Return the player [n] of each local sequence; -1 at root sequences."""
    owner = np.full(int(layout.first[-1]), -1)
    root = np.repeat([0, 1], layout.num_views)
    for i, before in enumerate(layout.parent.tolist()):
        player = root[before] if before < root.size else owner[before]
        owner[layout.first[i] : layout.first[i + 1]] = player
    return owner


@dataclass(frozen=True, eq=False)
class BatchSolution:
    """The solutions of a batch of B subgames."""

    classes: Ints  # [B] class of each subgame
    values: Floats  # [B, 2, V] value of each view of a root under the average policy
    average: Floats  # [B, n] average policy by local sequence, weighted by reach
    drawn: Floats  # [B, n] policy to play; of several draws [draws, n], with B = 1
    leaf_values: Floats  # [rows, 2 V] mean of value times mean reach of the other player


class MarginGadget:
    """The opponent's choice of a view at the roots of a batch of subgames (max-margin).

    For each subgame an opponent chooses the view that it enters with, and gets its value there less
    an alternative value; choices follow predictive regret matching. The solution maximises the
    smallest margin by which the opponent gets less than its alternatives.

    Args:
        game: the classes of public states.
        classes: [B] class of each subgame.
        opponents: [B] the player of the layout who chooses.
        alternatives: [B, V] value of each view, for a range of the other player of mean 1.
    """

    def __init__(self, game: BeliefGame, classes: Ints, opponents: Ints, alternatives: Floats):
        batch = np.arange(classes.size)
        count = game.views[classes, opponents]
        columns = np.arange(alternatives.shape[1])
        self.is_view = columns < count[:, None]
        first = np.where(opponents == 1, game.views[classes, 0], 0)
        # sequences of the views; other columns repeat the last one, and are masked
        self.sequence = first[:, None] + np.minimum(columns, count[:, None] - 1)
        share = game.view_chance[classes, opponents]
        self.weight = np.divide(1.0, share, out=np.zeros_like(share), where=share > 0.0)
        self.is_view &= share > 0.0
        self.alternatives, self.rows = alternatives, batch[:, None]
        self.regret = np.zeros(alternatives.shape)
        self.choice = self._match(self.regret)

    def _match(self, regret: Floats) -> Floats:
        positive = np.where(self.is_view, np.maximum(regret, 0.0), 0.0)
        total = positive.sum(axis=1, keepdims=True)
        uniform = self.is_view / self.is_view.sum(axis=1, keepdims=True)
        return np.divide(positive, total, out=uniform, where=total > 0.0)

    def set_reach(self, reach: Floats) -> None:
        """Set the opponents' reach [B, n] at the root sequences."""
        rows, columns = np.nonzero(self.is_view)
        range_ = self.choice * self.weight
        reach[rows, self.sequence[rows, columns]] = range_[rows, columns]

    def update(self, gradient: Floats) -> None:
        """Add the regrets of the choices, given the gradients [B, n] of the sequences."""
        margin = gradient[self.rows, self.sequence] * self.weight - self.alternatives
        gain = margin - (self.choice * margin).sum(axis=1, keepdims=True)
        self.regret = np.maximum(self.regret + gain, 0.0)
        self.choice = self._match(self.regret + gain)


class BeliefSolver:
    """Solves batches of subgames of a game, cut at a depth.

    Args:
        game: the classes of public states.
        depth: public states ahead; 0: to the next public chance event; None: to the end.
        end_size: subgames of at most this many public states are solved to their end.
    """

    def __init__(self, game: BeliefGame, depth: int | None = 2, end_size: int = 1):
        self.game, self.depth, self.end_size = game, depth, end_size
        self.layouts = [
            game.layout(int(state), None if size <= end_size else depth, end_size)
            for state, size in zip(game.class_state, game.num_states, strict=True)
        ]
        self.joined = join_layouts(self.layouts)
        self.num_leaves = np.array([layout.leaf_state.size for layout in self.layouts])
        self.sizes = np.array([int(layout.first[-1]) for layout in self.layouts])
        self.owners = [_owners(layout) for layout in self.layouts]
        self.uniform_policies = [_uniform_policy(layout) for layout in self.layouts]

        self.leaf_classes = _classes_below(self.layouts)
        self._sequences: dict[int, tuple[Ints, Ints]] = {}

    def state_sequences(self, state: int) -> tuple[Ints, Ints]:
        """Return the sequence of the tree [n] of each local one at a public state, and its leaves.

        The local sequences are those of the layout of the public state's class.
        """
        if state not in self._sequences:
            size = self.game.states.end[state] - state
            depth = None if size <= self.end_size else self.depth
            layout = self.game.layout(state, depth, self.end_size)
            self._sequences[state] = layout.sequence, layout.leaf_state
        return self._sequences[state]

    def solve(
        self,
        classes: Ints,
        ranges: Floats,
        network: ValueNetwork,
        iterations: int,
        rng: np.random.Generator,
        num_draws: int = 1,
        gadget: MarginGadget | None = None,
        keep_leaf_values: bool = False,
    ) -> BatchSolution:
        """Return the solutions of subgames.

        Args:
            classes: [B] class of each subgame.
            ranges: [B, 2, V] ranges of the players of the layouts, with mean 1 over the views.
            network: values at the leaves.
            iterations: of PCFR+, at least 1.
            rng: draws an iteration for each subgame.
            num_draws: of a single subgame, how many iterations to draw, from as many equal parts
                of the distribution.
            gadget: chooses the ranges of one player of each subgame, in place of `ranges`.
            keep_leaf_values: return the mean values at the leaves; otherwise they are empty.
        """
        joined, num_columns = self.joined, self.game.max_views
        count, size = classes.size, int(self.sizes[classes].max())
        reach, gradient = self._root_reach(classes, ranges, size), np.zeros((count, size))
        views = self.game.views[classes]
        regret, policy = np.zeros((count, size)), np.zeros((count, size))
        sweeps.match_regrets(joined, classes, gradient, regret, policy)
        row_offset = np.concatenate([[0], np.cumsum(self.num_leaves[classes])])
        rows = int(row_offset[-1])
        inputs = np.zeros((rows, 2 * num_columns), np.float32)
        values, mass = np.zeros((rows, 2 * num_columns), np.float32), np.zeros((rows, 2))
        leaf_values: LeafValues | None = None
        if rows:
            kinds = [self.layouts[k].leaf_class for k in classes.tolist()]
            leaf_values = network(np.concatenate(kinds))
        policy_sum = np.zeros((count, size))
        leaf_sum = np.zeros(inputs.shape if keep_leaf_values else (0, 0))
        opponents = self._opponents_of_columns(classes)
        weights = np.arange(1.0, iterations + 1.0) ** WEIGHT_POWER
        uniform = rng.random(max(count, num_draws))
        if num_draws > 1:
            uniform = (np.arange(num_draws) + uniform) / num_draws
        stops = np.searchsorted(np.cumsum(weights) / weights.sum(), uniform)
        source = np.arange(count) if num_draws == 1 else np.zeros(num_draws, np.int64)
        drawn = np.zeros((source.size, size))
        for t, weight in enumerate(weights.tolist()):
            chosen = np.flatnonzero(stops == t)
            drawn[chosen] = policy[source[chosen]]
            if gadget:
                gadget.set_reach(reach)
            sweeps.descend(joined, classes, reach, policy, row_offset, inputs, mass)
            if leaf_values is not None:
                values = leaf_values(inputs)
            sweeps.ascend(joined, classes, reach, policy, row_offset, values, mass, gradient)
            sweeps.add_to_average(joined, classes, weight, reach, policy_sum)
            sweeps.match_regrets(joined, classes, gradient, regret, policy)
            if keep_leaf_values:
                masses = np.take_along_axis(mass, opponents, axis=1)
                leaf_sum += weight * np.repeat(masses, num_columns, axis=1) * values
            if gadget:
                gadget.update(gradient)
        sweeps.normalise_average(joined, classes, policy_sum)
        # the values of the roots are those of the average policy, with leaf values at its ranges
        sweeps.descend(joined, classes, reach, policy_sum, row_offset, inputs, mass)
        if leaf_values is not None:
            values = leaf_values(inputs)
        sweeps.ascend(joined, classes, reach, policy_sum, row_offset, values, mass, gradient)
        to_end = np.flatnonzero(self.num_leaves[classes[source]] == 0)
        drawn[to_end] = policy_sum[source[to_end]]
        result = np.zeros((count, 2, num_columns))
        for seat in range(2):
            for v in range(num_columns):
                inside = np.flatnonzero(v < views[:, seat])
                share = self.game.view_chance[classes[inside], seat, v]
                result[inside, seat, v] = gradient[inside, seat * views[inside, 0] + v] / share
        leaf_sum /= weights.sum()
        return BatchSolution(classes, result, policy_sum, drawn, leaf_sum)

    def _opponents_of_columns(self, classes: Ints) -> Ints:
        """Return the player [rows, 2] of the layout against whom each half of a row's values is."""
        parts = [self.layouts[k].leaf_swap for k in classes.tolist()]
        swap = np.concatenate(parts) if parts else np.zeros(0, np.int64)
        return np.column_stack([1 - swap, swap])

    def ranges_at_leaves(
        self, classes: Ints, ranges: Floats, policy: Floats
    ) -> tuple[Ints, Inputs, Floats]:
        """Return the ranges at the leaves of a batch of subgames under policies.

        Args:
            classes: [B] class of each subgame.
            ranges: [B, 2, V] ranges at the roots.
            policy: [B, n] probability by local sequence.

        Returns:
            The first row [B + 1] of each subgame, the ranges [rows, 2 V] with mean 1, and the
            probabilities [rows] of the leaves, as if the players' views were independent.
        """
        row_offset, inputs, mass = self.masses_at_leaves(classes, ranges, policy)
        chance = [self.layouts[k].leaf_chance for k in classes.tolist()]
        return row_offset, inputs, np.concatenate(chance) * mass.prod(axis=1)

    def masses_at_leaves(
        self, classes: Ints, ranges: Floats, policy: Floats
    ) -> tuple[Ints, Inputs, Floats]:
        """Return the rows and ranges of `ranges_at_leaves`, and the mean reach [rows, 2].

        The mean reach is that of the players of the subgame's layout, over their views at a leaf.
        """
        row_offset = np.concatenate([[0], np.cumsum(self.num_leaves[classes])])
        rows = int(row_offset[-1])
        inputs = np.zeros((rows, 2 * self.game.max_views), np.float32)
        mass = np.zeros((rows, 2))
        reach = self._root_reach(classes, ranges, policy.shape[1])
        sweeps.descend(self.joined, classes, reach, policy, row_offset, inputs, mass)
        return row_offset, inputs, mass

    def _root_reach(self, classes: Ints, ranges: Floats, size: int) -> Floats:
        """Return reach [B, n] with the ranges at the root sequences.

        A view outside a range has a tiny reach, so that it has an average policy and the value of
        a player who gets there, in place of that of uniform play.
        """
        reach, views = np.zeros((classes.size, size)), self.game.views[classes]
        for seat in range(2):
            for v in range(self.game.max_views):
                rows = np.flatnonzero(v < views[:, seat])
                values = np.maximum(ranges[rows, seat, v], MIN_REACH)
                reach[rows, seat * views[rows, 0] + v] = values
        return reach


def mix_with_uniform(
    solver: BeliefSolver, classes: Ints, policy: Floats, players: Ints, epsilon: float
) -> Floats:
    """Return policies [B, n] in which one player of each subgame explores.

    Args:
        solver: the solver of the subgames.
        classes: [B] class of each subgame.
        policy: [B, n] probability by local sequence.
        players: [B] the player of the layout who explores.
        epsilon: share of the uniform policy.
    """
    mixed = policy.copy()
    for b, (kind, player) in enumerate(zip(classes.tolist(), players.tolist(), strict=True)):
        uniform, owner = solver.uniform_policies[kind], solver.owners[kind]
        own = np.flatnonzero(owner == player)
        mixed[b, own] += epsilon * (uniform[own] - policy[b, own])
    return mixed
