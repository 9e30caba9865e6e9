"""Subgames: a public state with ranges and alternative values, as a tree with a gadget on top.

The roots of a subgame are the entries h of a public state. With o the opponent of the player whose
policy is solved for, x the opponent's information at an entry, v(x) the opponent's alternative
value, and reach probabilities under a blueprint policy, the gadgets are:

- `unsafe`: chance deals h by the reach of all. The opponent's range is believed.
- `resolve` (CFR-D; Burch, Johanson and Bowling, 2014): chance deals h by chance and own reach only;
  at x the opponent terminates for v(x), or follows.
- `max_margin` (Moravcik et al., 2016): the opponent chooses x first, and its utilities below are
  reduced by v(x), so that the solution maximises the smallest margin.
- `reach_max_margin` (Brown and Sandholm, 2017): v(x) is raised by the gifts of the opponent's
  earlier mistakes on the way to x, each the best value of its infoset less that of the action.
- `estimate`: as `resolve`, with an estimate of the opponent's value elsewhere as v(x): its value at
  x, less that of its last action, plus that of the best other action there. It has no guarantee.
- `combined` (Slumbot): as `resolve`, but the opponent's blueprint range, and a little of every
  view, follows in any case. It has no guarantee either.

v(x) is the counterfactual best-response value of x against the blueprint, divided by the reach of x
without the opponent. A policy solved with `resolve`, `max_margin` or `reach_max_margin` is then at
most as exploitable as the blueprint, up to the error of the solution.

Gifts are conditional on x like v(x): summed over the views after a mistake, weighted by their
reach, they are at most the gift itself, so that subgames share it without being divided further.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from counterplay.arenas.public_states import (
    PublicStates,
    last_sequences,
    own_reach,
    public_states,
)
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree, freeze
from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.arenas.tree.node_values import incoming_probabilities
from counterplay.core.arena import Floats, Ints, row_lengths
from counterplay.core.evaluation import check_same_game, mistakes
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.policy import Policy
from counterplay.core.solve import step_within
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps

METHODS = ("unsafe", "resolve", "max_margin", "reach_max_margin", "estimate", "combined")
SAFE_METHODS = ("resolve", "max_margin", "reach_max_margin")
LAYOUTS = {  # shape of the gadget of each method
    "unsafe": "unsafe",
    "resolve": "resolve",
    "estimate": "resolve",
    "max_margin": "max_margin",
    "reach_max_margin": "max_margin",
    "combined": "combined",
}
FREE_SHARE, UNIFORM_SHARE = 0.2, 0.1  # of `combined`, relative to the blueprint's range
MAX_CACHED_NODES = 2_000_000  # of all templates of a tree, about 300 MB


class Leaves(NamedTuple):
    """Public states at which a subgame is cut, and the values there."""

    states: tuple[int, ...]
    values: Floats  # [N, C] opponent's utility of each node in each of C continuations


NO_LEAVES = Leaves((), np.zeros((0, 0)))


class TimedSolution(NamedTuple):
    """The solution of a subgame within a time limit."""

    policy: Policy
    is_in_time: bool  # False if the first iteration took longer than the limit


@dataclass(frozen=True, eq=False)
class Subgame:
    """A subgame as a game of its own; `solve` with any algorithm that runs on trees."""

    tree: TreeArena  # the derived game, with the gadget
    sequence: Ints  # [S of tree] sequence of the whole game, or -1
    player: int  # whose policy is solved for
    method: str
    alternatives: Floats  # [X] the opponent's alternative value v(x) at each view; empty if unsafe

    def solve(self, algorithm: Any, iterations: int = 1, seconds: float = 0.0) -> Policy:
        """Return the policy of the derived game after some iterations, or within a time limit.

        Args:
            algorithm: an algorithm object, such as `CFRPlus()` or `SequenceFormLP()`.
            iterations: the number of iterations; ignored if there is a time limit.
            seconds: time limit; at least one iteration is done.
        """
        if seconds:
            return self.solve_within(algorithm, seconds).policy
        return self._policy(
            algorithm, algorithm.step(self.tree, algorithm.init(self.tree), iterations)
        )

    def solve_within(self, algorithm: Any, seconds: float) -> TimedSolution:
        """Return the policy of the derived game after a time limit, and whether that was enough.

        Args:
            algorithm: as in `solve`.
            seconds: time limit; at least one iteration is done.
        """
        memory, is_in_time = step_within(self.tree, algorithm, seconds)
        return TimedSolution(self._policy(algorithm, memory), is_in_time)

    def _policy(self, algorithm: Any, memory: Any) -> Policy:
        policy: Policy = next(iter(algorithm.policies(self.tree, memory).values()))
        return policy

    def write_policy(self, solution: Policy, probabilities: Floats) -> None:
        """Replace the player's probabilities [S of the whole game] by those of a solution."""
        owner = np.repeat(self.tree.infoset_player, self.tree.num_actions)
        inside = (self.sequence >= 0) & (owner == self.player)
        probabilities[self.sequence[inside]] = solution.probabilities[inside]


def build_subgame(
    tree: TreeArena,
    blueprint: Policy,
    state: int,
    player: int,
    method: str = "resolve",
    *,
    alternatives: Floats | None = None,
    leaves: Leaves | None = None,
    uniform_range: bool = False,
) -> Subgame:
    """Return the subgame of a player at a public state.

    Args:
        tree: a two-player zero-sum game with perfect recall.
        blueprint: the policy that gives ranges and alternative values.
        state: number of the public state, as in `public_states`.
        player: the player whose policy is solved for.
        method: one of `METHODS`.
        alternatives: the opponent's values v(x), one per view in order of the entries; by default
            those of the method.
        leaves: public states to cut the game at.
        uniform_range: replace the player's own reach by 1, where the blueprint never goes; of
            `unsafe` that of both players.

    Raises:
        ConfigError: an argument does not fit, or the range has no mass at the public state.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> subgame = cp.search.build_subgame(tree, cp.uniform_policy(tree), state=1, player=1)
        >>> subgame.tree, subgame.alternatives.round(3).tolist()
        (TreeArena(subgame 1 of kuhn_poker: 43 nodes, 9 infosets, 2 players), [-1.0, 0.0, 1.5])
    """
    _check_arguments(tree, player, method)
    check_same_game(tree, blueprint)
    states = public_states(tree)
    if not 0 <= state < len(states):
        raise ConfigError(f"public state is {state}, must be from 0 to {len(states) - 1}")
    if state == 0 and leaves is None:  # nothing is outside: the subgame is the game
        return Subgame(tree, np.arange(tree.num_sequences), player, method, np.zeros(0))
    opponent, rows = 1 - player, states.entry_rows(state)
    own = own_reach(states, blueprint.probabilities)[rows]
    if uniform_range:
        own[:, [player, opponent] if method == "unsafe" else player] = 1.0
    weight = states.chance_reach[rows] * own[:, player]
    if method == "unsafe":
        weight = weight * own[:, opponent]
    if not weight.sum() > 0.0:
        raise ConfigError(
            f"the blueprint never reaches public state {state} of {tree.spec}, so that it has no "
            "range there; pass uniform_range=True"
        )
    cut = leaves or NO_LEAVES
    layout = LAYOUTS[method]
    if layout == "unsafe":
        template = find_template(states, state, layout, opponent, None, cut)
        arena = template.instantiate(weight / weight.sum(), leaf_values=cut.values)
        return Subgame(arena, template.sequence, player, method, np.zeros(0))
    if alternatives is None:
        values = _alternative_values(states, state, blueprint, opponent, method, weight)
    else:
        values, num_views = np.asarray(alternatives, np.float64), states.num_views(state, opponent)
        if values.shape != (num_views,):
            problem = f"alternatives has shape {values.shape}, must have one entry for each of "
            raise ConfigError(f"{problem}the {num_views} views of player {opponent}")
    mask = weight > 0.0 if layout == "max_margin" else None
    template = find_template(states, state, layout, opponent, mask, cut)
    weight, view = weight[template.rows], template.view
    shift: Floats | None = None
    terminate: Floats | None = values[view]
    if layout == "max_margin":
        probability = weight / np.bincount(view, weight)[view]
        shift, terminate = -values[view], None
    elif layout == "resolve":
        probability = weight / weight.sum()
    else:
        free, forced = _split_roots(own[:, opponent], view)
        probability = np.concatenate([weight * free, weight * forced])
        probability /= probability.sum()
    arena = template.instantiate(probability, shift, terminate, cut.values)
    return Subgame(arena, template.sequence, player, method, values)


def _check_arguments(tree: TreeArena, player: int, method: str) -> None:
    if method not in METHODS:
        raise ConfigError(f"method is {method!r}, must be one of {', '.join(METHODS)}")
    if tree.num_players != 2 or not tree.is_constant_sum:
        raise ConfigError(f"subgames need a two-player zero-sum game, unlike {tree.spec}")
    if player not in (0, 1):
        raise ConfigError(f"player is {player!r}, must be 0 or 1")


def _split_roots(reach: Floats, view: Ints) -> tuple[Floats, Floats]:
    """Return the parts of each root at which the opponent chooses, and at which it must follow.

    With r the opponent's blueprint reach of a view, the forced part is r + u and the free part is
    s (1 - r), at most 1 together. s is the largest at most 1 with s sum (1 - r) <= 0.2 sum r,
    Slumbot's bound for an opponent that always follows; u = 0.1 (sum r + s sum (1 - r)) / X.
    """
    by_view = np.zeros(int(view.max()) + 1)
    by_view[view] = reach
    total, rest = by_view.sum(), (1.0 - by_view).sum()
    scale = min(1.0, FREE_SHARE * total / rest) if rest > 0.0 and total > 0.0 else 1.0
    extra = UNIFORM_SHARE * (total + scale * rest) / by_view.size
    forced = np.minimum(1.0, by_view + extra)
    free = np.minimum(1.0 - forced, scale * (1.0 - by_view))
    return free[view], forced[view]


def _alternative_values(
    states: PublicStates,
    state: int,
    blueprint: Policy,
    opponent: int,
    method: str,
    weight: Floats,
) -> Floats:
    """Return the opponent's alternative value of each view [X] for a method; 0 at unreachable ones.

    Args:
        states: the public states.
        state: number of the public state.
        blueprint: the policy.
        opponent: the player whose values they are.
        method: one of `METHODS`.
        weight: [entries] reach of the entries without the opponent.
    """
    template = find_template(states, state, "resolve", opponent)
    mass = np.bincount(template.view, weight)
    values = template.best_response_values(blueprint.probabilities, weight)
    values = np.divide(values, mass, out=np.zeros_like(values), where=mass > 0.0)
    if method in ("reach_max_margin", "estimate"):
        last = np.zeros(values.size, np.int64)
        last[template.view] = states.last_sequence[states.entry_rows(state), opponent]
        best = mistakes(states.tree, blueprint).best_value
        raised = _path_gifts if method == "reach_max_margin" else _outside_gaps
        values = values + raised(states.tree, best)[last]
    return values


def _path_gifts(tree: TreeArena, best: Floats) -> Floats:
    """Return the sum [S + 1] of the mistakes of each sequence and of those before it."""
    counts, parent = tree.num_actions, tree.form.parent
    loss = np.repeat(np.maximum.reduceat(best, tree.offset[:-1]), counts) - best
    gifts = np.zeros(tree.num_sequences + 1)
    for level in (part for player in range(2) for part in tree.levels(player, 1)):
        first, end = level[0]
        inside = slice(int(tree.offset[first]), int(tree.offset[end]))
        before = gifts[parent[first:end]]
        gifts[inside] = np.repeat(before, counts[first:end]) + loss[inside]
    return gifts


def _outside_gaps(tree: TreeArena, best: Floats) -> Floats:
    """Return the best value of the other actions at each sequence's infoset, less its own [S + 1].

    It is 0 where there is no other action, and for the empty sequence.
    """
    counts, starts = tree.num_actions, tree.offset[:-1]
    high = np.repeat(np.maximum.reduceat(best, starts), counts)
    is_best = best == high
    is_alone = np.repeat(np.add.reduceat(is_best.astype(np.int64), starts) == 1, counts)
    second = np.repeat(np.maximum.reduceat(np.where(is_best, -np.inf, best), starts), counts)
    others = np.where(is_best & is_alone, second, high)
    return np.append(np.where(np.repeat(counts, counts) > 1, others - best, 0.0), 0.0)


@dataclass(frozen=True, eq=False)
class SubgameTemplate:
    """The derived tree of a public state, without its numbers: they depend on the policy.

    A slot is a root of the subgame: an entry, or of `combined` an entry as chosen or forced.
    """

    layout: str
    opponent: int
    rows: Ints  # [R] rows of the entries among those of the public state
    view: Ints  # [R] the opponent's view at each entry, numbered within the public state
    tree: TreeArena  # without probabilities of slots
    sequence: Ints  # [S] sequence of the whole game, or -1
    slot_node: Ints  # [slots] node whose probability is that of the slot
    slot: Ints  # [Z] slot of each terminal
    inner_chance: Floats  # [Z] probability of the chance actions below the slot
    utility: Floats  # [Z] opponent's utility in the whole game; 0 in the gadget and at leaves
    terminate: Ints  # terminals of the opponent's action to terminate, by slot
    follow_sequence: Ints  # [X] sequence of the opponent's action to follow
    leaf_terminal: Ints  # [L] terminals that are leaves
    leaf_node: Ints  # [L] node of the whole game of each
    leaf_index: Ints  # [L] continuation of each
    entry: tuple[Ints, ...]  # for each player the entry [Z] of the payoff rows of each terminal

    def instantiate(
        self,
        probability: Floats,
        shift: Floats | None = None,
        terminate: Floats | None = None,
        leaf_values: Floats | None = None,
    ) -> TreeArena:
        """Return the tree with numbers.

        Args:
            probability: [slots] probability of each slot.
            shift: [slots] added to the opponent's utility below each slot.
            terminate: [R] the opponent's utility if it terminates at an entry.
            leaf_values: [N, C] the opponent's utility of each node in each continuation.
        """
        utility = self.utility.copy()
        if self.leaf_terminal.size and leaf_values is not None and leaf_values.size:
            utility[self.leaf_terminal] = leaf_values[self.leaf_node, self.leaf_index]
        if shift is not None:
            utility += shift[self.slot]
        if terminate is not None and self.terminate.size:
            utility[self.terminate] = terminate
        chance = self.tree.chance.copy()
        chance[self.slot_node] = probability
        weight = probability[self.slot] * self.inner_chance * utility
        signs = (1.0, -1.0) if self.opponent == 0 else (-1.0, 1.0)
        parts = [
            np.bincount(entry, sign * weight, count)
            for entry, sign, count in zip(self.entry, signs, self._num_entries, strict=True)
        ]
        tree = replace(
            self.tree,
            chance=chance,
            utility=np.column_stack([signs[0] * utility, signs[1] * utility]),
            form=self.tree.form._replace(weight=np.concatenate(parts).astype(np.float64)),
        )
        freeze(tree)
        return tree

    @property
    def _num_entries(self) -> list[int]:
        form = self.tree.form
        return np.diff(form.row_offset[form.player_row].astype(np.int64)).tolist()

    def best_response_values(self, probabilities: Floats, weight: Floats) -> Floats:
        """Return the opponent's counterfactual best-response value of each view [X].

        Args:
            probabilities: [S of the whole game] the policy.
            weight: [slots] reach of the entries without the opponent.
        """
        tree = self.instantiate(weight)
        form, size = tree.form, tree.num_sequences + 1
        policy = np.where(self.sequence >= 0, probabilities[self.sequence], 1.0)
        reach, cf_value, response = np.ones(size), np.zeros(size), np.zeros(size)
        sweeps.forward(form, 0, form.parent.size, policy, reach)
        tree.gradient(self.opponent, reach, cf_value)
        first, last = form.player_infoset[self.opponent : self.opponent + 2].tolist()
        sweeps.backward_best(form, first, last, np.zeros(size), cf_value, response)
        return cf_value[self.follow_sequence]


@cache_on_tree
def _templates(tree: TreeArena) -> dict[Any, SubgameTemplate]:
    return {}


def find_template(
    states: PublicStates,
    state: int,
    layout: str,
    opponent: int,
    mask: Ints | None = None,
    leaves: Leaves = NO_LEAVES,
) -> SubgameTemplate:
    """Return the template of a public state, from the cache if possible.

    Args:
        states: the public states.
        state: number of the public state.
        layout: "unsafe", "resolve", "max_margin" or "combined".
        opponent: the player who acts in the gadget, and at leaves.
        mask: entries to include; None for all.
        leaves: public states to cut the game at.
    """
    cache = _templates(states.tree)
    kept = b"" if mask is None else np.packbits(mask).tobytes()
    key = (state, layout, opponent, kept, leaves.states, leaves.values.shape[1])
    if key not in cache:
        template = _TemplateBuilder(states, state, layout, opponent, mask, leaves).build()
        total = template.tree.num_nodes + sum(other.tree.num_nodes for other in cache.values())
        while cache and total > MAX_CACHED_NODES:
            total -= cache.pop(next(iter(cache))).tree.num_nodes
        cache[key] = template
    return cache[key]


class _TemplateBuilder:
    """Lays out the nodes of a derived tree, level by level.

    Nodes have numbers: first those of the gadget; then a node of the whole game is
    `gadget size + copy * N + node`; then its continuations as a leaf.
    """

    def __init__(
        self,
        states: PublicStates,
        state: int,
        layout: str,
        opponent: int,
        mask: Ints | None,
        leaves: Leaves,
    ):
        self.states, self.whole, self.layout, self.opponent = states, states.tree, layout, opponent
        self.state, self.leaves = state, leaves
        rows = states.entry_rows(state)
        count = rows.stop - rows.start
        self.rows = np.arange(count) if mask is None else np.flatnonzero(mask)
        self.entries = states.entry[rows][self.rows]
        views = states.view[rows, opponent]
        self.num_views = int(np.unique(views).size)
        self.view = np.unique(views, return_inverse=True)[1].ravel()[self.rows]
        # the gadget: player, children and infoset of each of its nodes
        self.gadget_player: list[int] = []
        self.gadget_children: list[list[int]] = []
        self.gadget_infoset: list[int] = []
        self.gadget_slot: list[int] = []
        self.infoset_names: list[tuple[str, ...]] = []  # actions of the gadget's infosets
        self.lay_out_gadget()
        is_leaf_state = np.zeros(len(states), bool)
        is_leaf_state[list(leaves.states)] = True
        self.is_leaf = (states.entry_row >= 0) & is_leaf_state[states.label]
        self.is_leaf &= self.whole.player != TERMINAL
        self.num_continuations = leaves.values.shape[1]

    def add_gadget_node(self, player: int, infoset: int = -1, slot: int = -1) -> int:
        self.gadget_player.append(player)
        self.gadget_children.append([])
        self.gadget_infoset.append(infoset)
        self.gadget_slot.append(slot)
        return len(self.gadget_player) - 1

    def lay_out_gadget(self) -> None:
        """Create the gadget; its links to entries are negative numbers until its size is known."""
        count, size = self.entries.size, self.whole.num_nodes
        links = (-1 - self.entries).tolist()
        if self.layout == "unsafe":
            self.gadget_children[self.add_gadget_node(CHANCE)] += links
        elif self.layout == "max_margin":
            views = np.unique(self.view).tolist()
            root = self.add_gadget_node(self.opponent, 0)
            self.infoset_names.append(tuple(f"view {x}" for x in views))
            for x in views:
                node = self.add_gadget_node(CHANCE)
                self.gadget_children[root].append(node)
                members = np.flatnonzero(self.view == x).tolist()
                self.gadget_children[node] += [links[member] for member in members]
        else:
            root = self.add_gadget_node(CHANCE)
            self.infoset_names += [("terminate", "follow")] * self.num_views
            for slot, (x, link) in enumerate(zip(self.view.tolist(), links, strict=True)):
                node = self.add_gadget_node(self.opponent, x, slot)
                end = self.add_gadget_node(TERMINAL, slot=slot)
                self.gadget_children[root].append(node)
                self.gadget_children[node] += [end, link]
            if self.layout == "combined":
                self.gadget_children[root] += [link - size for link in links]
        self.num_slots = 2 * count if self.layout == "combined" else count

    def build(self) -> SubgameTemplate:
        """Return the template."""
        self.walk_levels()
        parts = TreeBuilder(f"subgame {self.state} of {self.whole.spec}", 2)
        parts.player, parts.parent, parts.chance = self.player, self.parent, self.chance
        parts.action, parts.depth = self.action, self.depth
        self.number_infosets(parts)
        terminals = np.flatnonzero(self.player == TERMINAL)
        parts.utility = np.ones(2 * terminals.size)
        parts.chance_reach = np.ones(terminals.size)
        derived = parts.build()

        is_whole = self.node >= 0
        utility = np.zeros(self.player.size)
        inside = np.flatnonzero(is_whole & (self.player == TERMINAL) & ~self.is_cut)
        position = np.searchsorted(self.whole.terminals, self.node[inside])
        utility[inside] = self.whole.utility[position, self.opponent]
        sequence = np.full(derived.num_sequences, -1)
        below = np.flatnonzero((self.node >= 0) & (derived.incoming_sequence >= 0))
        below = below[self.continuation[below] < 0]
        whole_sequence = self.whole.incoming_sequence[self.node[below]]
        is_entry = self.node[self.parent[below]] < 0  # its own action belongs to the gadget
        below, whole_sequence = below[~is_entry], whole_sequence[~is_entry]
        sequence[derived.incoming_sequence[below]] = whole_sequence
        slot_node = np.full(self.num_slots, -1)
        starts = np.flatnonzero((self.slot >= 0) & (self.slot[self.parent] < 0))
        slot_node[self.slot[starts]] = starts
        ends = np.flatnonzero((self.node < 0) & (self.player == TERMINAL))
        ends = ends[np.argsort(self.slot[ends])]
        follow = np.zeros(0, np.int64)
        if self.layout in ("resolve", "combined"):
            follow = np.zeros(self.num_views, np.int64)
            follow[self.view] = derived.incoming_sequence[ends] + 1
        leaf = np.flatnonzero(self.is_cut & (self.player == TERMINAL))
        form, entry = _payoff_layout(derived, terminals)
        return SubgameTemplate(
            layout=self.layout,
            opponent=self.opponent,
            rows=self.rows,
            view=self.view,
            tree=replace(derived, form=form),
            sequence=sequence,
            slot_node=slot_node,
            slot=self.slot[terminals],
            inner_chance=self.inner_chance[terminals],
            utility=utility[terminals],
            terminate=np.searchsorted(terminals, ends),
            follow_sequence=follow,
            leaf_terminal=np.searchsorted(terminals, leaf),
            leaf_node=self.node[leaf],
            leaf_index=np.maximum(self.continuation[leaf], 0),
            entry=entry,
        )

    def walk_levels(self) -> None:
        """Set the columns of all nodes of the derived tree, in level order."""
        number = np.zeros(1, np.int64)
        parent, position = np.full(1, -1), np.zeros(1, np.int64)
        levels: list[tuple[Ints, ...]] = []
        start = 0
        while number.size:
            levels.append((number, parent, position, np.full(number.size, len(levels))))
            source, children, rank = self.expand(number)
            number, parent, position = children, start + source, rank
            start += levels[-1][0].size
        number, parent, position, depth = map(np.concatenate, zip(*levels, strict=True))
        tree, gadget_size = self.whole, len(self.gadget_player)
        copies = 2 * tree.num_nodes
        inner = number - gadget_size
        is_gadget = inner < 0
        is_continuation = inner >= copies
        width = max(self.num_continuations, 1)
        inner = np.where(is_continuation, (inner - copies) // width, inner)
        self.node = np.where(is_gadget, -1, inner % tree.num_nodes)
        self.copy = np.where(is_gadget, 0, inner // tree.num_nodes)
        self.continuation = np.where(is_continuation, (number - gadget_size - copies) % width, -1)
        self.is_cut = ~is_gadget & self.is_leaf[self.node]
        whole_player = np.where(
            self.is_cut,
            np.where(is_continuation | (self.num_continuations == 0), TERMINAL, self.opponent),
            tree.player[self.node],
        )
        gadget = np.where(is_gadget, number, 0)
        self.player = np.where(is_gadget, np.array(self.gadget_player)[gadget], whole_player)
        self.parent, self.depth = parent, depth
        from_whole = ~is_gadget & ~is_continuation & (self.node[parent] >= 0) & (parent >= 0)
        self.action = np.where(from_whole, tree.action[self.node], position)
        self.action[0] = -1
        self.chance = np.where(from_whole, tree.chance[self.node], 1.0)
        slot = np.where(is_gadget, np.array(self.gadget_slot)[gadget], -1)
        row = np.full(tree.num_nodes, -1)
        row[self.entries] = np.arange(self.entries.size)
        is_link = ~is_gadget & ~is_continuation & ~from_whole
        linked = row[self.node] + self.copy * self.entries.size
        slot = np.where(is_link & (slot < 0), linked, slot)
        self.slot, self.inner_chance = slot, np.ones(number.size)
        for first, end in pairwise(np.searchsorted(depth, np.arange(1, depth[-1] + 2)).tolist()):
            above = parent[first:end]
            self.inner_chance[first:end] = self.inner_chance[above] * self.chance[first:end]
            slot[first:end] = np.where(slot[above] >= 0, slot[above], slot[first:end])
        self.position, self.number = position, number

    def expand(self, number: Ints) -> tuple[Ints, Ints, Ints]:
        """Return the children of a level: index of the parent, number, position among siblings."""
        tree, gadget_size = self.whole, len(self.gadget_player)
        if (number < gadget_size).any():
            lists = []
            for index, value in enumerate(number.tolist()):
                children = self.children_of(value)
                lists += [(index, child, rank) for rank, child in enumerate(children)]
            table = np.array(lists, np.int64).reshape(-1, 3)
            return table[:, 0], table[:, 1], table[:, 2]
        inner = number - gadget_size
        copies = 2 * tree.num_nodes
        inside = np.minimum(inner, copies - 1)
        node = inside % tree.num_nodes
        is_leaf = self.is_leaf[node]
        count = np.where(is_leaf, self.num_continuations, row_lengths(tree.child_offset)[node])
        count = np.where(inner >= copies, 0, count)
        first = np.where(
            is_leaf,
            gadget_size + copies + inside * max(self.num_continuations, 1),
            gadget_size + (inside - node) + tree.child_offset[node],
        )
        source = np.repeat(np.arange(number.size), count)
        rank = np.arange(source.size) - np.repeat(np.cumsum(count) - count, count)
        return source, first[source] + rank, rank

    def children_of(self, number: int) -> list[int]:
        """Return the numbers of the children of one node; the slow path for the gadget."""
        gadget_size = len(self.gadget_player)
        if number < gadget_size:
            links = self.gadget_children[number]
            return [link if link >= 0 else gadget_size - 1 - link for link in links]
        children: list[int] = self.expand(np.array([number]))[1].tolist()
        return children

    def number_infosets(self, parts: TreeBuilder) -> None:
        """Add the infosets of the derived tree to a builder, parents first."""
        tree, num_gadget = self.whole, len(self.infoset_names)
        view = self.states.view[:, self.opponent]
        row = np.maximum(self.states.entry_row[self.node], 0)
        num_views = int(view.max()) + 1
        gadget = np.where(self.number < len(self.gadget_player), self.number, 0)
        is_own = self.player == self.opponent
        identity = np.where(
            self.node < 0,
            np.array(self.gadget_infoset)[gadget],
            np.where(
                self.is_cut,
                num_gadget + 2 * tree.num_infosets + view[row] + num_views * self.copy,
                num_gadget + tree.infoset[self.node] + tree.num_infosets * (self.copy * is_own),
            ),
        )
        last = np.full((self.player.size, 2), -1)
        infoset = np.full(self.player.size, -1)
        numbers: dict[int, int] = {}
        for first, end in pairwise(
            np.searchsorted(self.depth, np.arange(self.depth[-1] + 2)).tolist()
        ):
            if first:
                above = self.parent[first:end]
                last[first:end] = last[above]
                acted = np.flatnonzero(self.player[above] >= 0)
                starts = np.array(parts.first_sequence)[infoset[above[acted]]]
                last[first + acted, self.player[above[acted]]] = (
                    starts + self.position[first + acted]
                )
            acting = first + np.flatnonzero(self.player[first:end] >= 0)
            names, index, inverse = np.unique(
                identity[acting], return_index=True, return_inverse=True
            )
            ids = np.zeros(names.size, np.int64)
            for k, name in enumerate(names.tolist()):
                if name not in numbers:
                    node = int(acting[index[k]])
                    self.add_infoset(parts, name, node)
                    before = int(last[node, self.player[node]])
                    numbers[name] = parts.append_infoset(
                        int(self.player[node]), len(parts.legal_actions) - 1, before
                    )
                ids[k] = numbers[name]
            infoset[acting] = ids[inverse.ravel()]
        parts.infoset = infoset
        parts.last_sequence = last[self.player == TERMINAL].ravel()

    def add_infoset(self, parts: TreeBuilder, name: int, node: int) -> None:
        """Add the key and the actions of an infoset to a builder."""
        tree, player = self.whole, int(self.player[node])
        if self.node[node] < 0:
            names = self.infoset_names[name]
            key, actions = f"gadget {name}", tuple(range(len(names)))
        elif self.is_cut[node]:
            names = tuple(f"continuation {k}" for k in range(self.num_continuations))
            key, actions = f"leaf {name}", tuple(range(self.num_continuations))
        else:
            infoset = int(tree.infoset[self.node[node]])
            first, end = tree.offset[infoset : infoset + 2]
            names = tree.sequence_names[first:end]
            actions = tuple(tree.sequence_action[first:end].tolist())
            key = tree.infoset_keys[infoset] + " (forced)" * int(self.copy[node])
        parts.infoset_keys.append((player, key))
        parts.legal_actions.append(actions)
        parts.action_names.append(names)


def _payoff_layout(tree: TreeArena, terminals: Ints) -> tuple[Any, tuple[Ints, ...]]:
    """Return the sequence form with an entry for every pair of last sequences of terminals.

    The second result has, for each player, the entry of each terminal, so that new weights are one
    sum. Entries of weight zero stay: which ones are zero depends on the policy.
    """
    last = last_sequences(tree)[terminals]
    base = tree.num_sequences + 1
    rows, lengths, others, entries = [], [], [], []
    for player in range(2):
        number = last[:, player] * base + last[:, 1 - player]
        pairs, entry = np.unique(number, return_inverse=True)
        sequence, first = np.unique(pairs // base, return_index=True)
        length = np.diff(first, append=pairs.size)
        order = np.argsort(np.repeat(length, length), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        entries.append(rank[entry.ravel()])
        others.append((pairs % base)[order])
        row_order = np.argsort(length, kind="stable")
        rows.append(sequence[row_order])
        lengths.append(length[row_order])
    form = tree.form._replace(
        player_row=np.cumsum([0, *map(len, rows)]),
        row_offset=np.cumsum([0, *np.concatenate(lengths)]).astype(np.uint32),
        row_sequence=np.concatenate(rows).astype(np.uint32),
        other=np.concatenate(others).astype(np.uint32)[:, None],
        weight=np.zeros(sum(map(len, others))),
    )
    for array in form:
        array.flags.writeable = False
    return form, tuple(entries)


def resolve_policy(
    tree: TreeArena,
    blueprint: Policy,
    algorithm: Any,
    states: list[int] | None = None,
    *,
    method: str = "resolve",
    iterations: int = 1000,
) -> Policy:
    """Return the blueprint with the subgames at some public states solved again for both players.

    Args:
        tree: a two-player zero-sum game with perfect recall.
        blueprint: the policy above the public states, and the source of ranges and values.
        algorithm: the algorithm for the subgames.
        states: public states, none of them below another; by default those that chance enters
            first, such as the second round of Leduc poker.
        method: one of `METHODS`.
        iterations: of the algorithm, in each subgame.
    """
    public = public_states(tree)
    if states is None:
        states = _first_states(public, public.after_chance())
    probabilities = blueprint.probabilities.copy()
    for state in states:
        for player in range(2):
            inside = slice(state, int(public.end[state]))
            if not public.acting[inside, player].any():
                continue
            own = own_reach(public, blueprint.probabilities)[public.entry_rows(state)]
            if not (own[:, player] * public.chance_reach[public.entry_rows(state)]).sum() > 0.0:
                continue  # its own policy never goes there
            subgame = build_subgame(tree, blueprint, state, player, method)
            subgame.write_policy(subgame.solve(algorithm, iterations), probabilities)
    return Policy(tree, probabilities)


def outside_states(tree: TreeArena, is_allowed: Ints, player: int) -> list[int]:
    """Return the public states that the opponent enters by an action outside the abstraction.

    Args:
        tree: the full game.
        is_allowed: [S] whether each sequence is an action of the abstraction.
        player: the player who answers; all actions of its opponent that are not allowed count.

    Returns:
        Public states, none of them below another.

    Raises:
        ConfigError: an action outside the abstraction does not lead to a public state of its own,
            so that the player cannot tell it from others.
    """
    public = public_states(tree)
    outside = np.asarray(is_allowed) == 0
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    sequence = tree.incoming_sequence
    is_child = (sequence >= 0) & (tree.player != TERMINAL)
    nodes = np.flatnonzero(is_child)
    nodes = nodes[outside[sequence[nodes]] & (owner[sequence[nodes]] == 1 - player)]
    states = np.unique(public.label[nodes])
    for state in states.tolist():
        last = tree.incoming_sequence[public.entries(state)]
        if (last < 0).any() or not outside[last].all():
            raise ConfigError(
                f"an action outside the abstraction leads to public state {state} of {tree.spec}, "
                "which other actions lead to as well: the other player does not see it"
            )
    return _first_states(public, states.tolist())


def solve_outside_actions(
    tree: TreeArena,
    blueprint: Policy,
    is_allowed: Ints,
    algorithm: Any,
    *,
    iterations: int = 1000,
) -> Policy:
    """Return the blueprint with answers to actions outside its abstraction (nested solving).

    The blueprint never plays these actions, and has no answer to them. The subgame after each is
    solved by `resolve`; the opponent's alternative value is the best value that it has before the
    action, against the blueprint and with actions of the abstraction only (Brown and Sandholm,
    2017). If all alternatives are met, an opponent gains nothing by leaving the abstraction.

    Args:
        tree: the full game, of two players and zero sum.
        blueprint: a policy of the full game that plays allowed actions only.
        is_allowed: [S] whether each sequence is an action of the abstraction; at each infoset that
            allowed actions lead to, at least one must be.
        algorithm: the algorithm for the subgames.
        iterations: of the algorithm, in each subgame.

    Raises:
        ConfigError: the blueprint plays other actions, or the mask does not fit.
    """
    check_same_game(tree, blueprint)
    public, allowed = public_states(tree), np.asarray(is_allowed, bool)
    if allowed.shape != (tree.num_sequences,):
        raise ConfigError(
            f"is_allowed has shape {allowed.shape}, must have one entry for each of the "
            f"{tree.num_sequences} sequences"
        )
    if (blueprint.probabilities[~allowed] > 0.0).any():
        raise ConfigError("the blueprint plays actions that is_allowed leaves out")
    probabilities = blueprint.probabilities.copy()
    for player in range(2):
        best = _best_allowed_values(tree, blueprint, allowed, 1 - player)
        reach = own_reach(public, blueprint.probabilities)
        for state in outside_states(tree, allowed, player):
            rows = public.entry_rows(state)
            if not (public.chance_reach[rows] * reach[rows, player]).sum() > 0.0:
                continue  # the player's own policy never goes there
            last = public.last_sequence[rows, 1 - player]
            view = np.unique(public.view[rows, 1 - player], return_inverse=True)[1].ravel()
            values = np.zeros(int(view.max()) + 1)
            values[view] = best[last]
            subgame = build_subgame(tree, blueprint, state, player, "resolve", alternatives=values)
            subgame.write_policy(subgame.solve(algorithm, iterations), probabilities)
    return Policy(tree, probabilities)


def _best_allowed_values(
    tree: TreeArena, blueprint: Policy, allowed: Ints, opponent: int
) -> Floats:
    """Return the opponent's best value at the infoset of each sequence [S], given that it is there.

    Its best response uses allowed actions only. Values are divided by the reach of the infoset
    without the opponent.
    """
    form = tree.form
    reach = np.ones(tree.num_sequences + 1)
    sweeps.forward(form, 0, form.parent.size, blueprint.probabilities, reach)
    value = np.zeros(tree.num_sequences + 1)
    tree.gradient(opponent, reach, value)
    mass = _infoset_reach(tree, blueprint, opponent)
    result = np.zeros(tree.num_sequences)
    for level in reversed(tree.levels(opponent, 1)):
        first, last = level[0]
        for infoset in range(last - 1, first - 1, -1):
            inside = slice(int(tree.offset[infoset]), int(tree.offset[infoset + 1]))
            options = value[inside][allowed[inside]]
            best = options.max() if options.size else value[inside].max()
            value[form.parent[infoset]] += best
            result[inside] = best / mass[infoset] if mass[infoset] > 0.0 else 0.0
    return result


def _infoset_reach(tree: TreeArena, policy: Policy, player: int) -> Floats:
    """Return the reach [I] of a player's infosets by all others, chance included."""
    step = incoming_probabilities(tree, policy.probabilities)
    reach = np.ones(tree.num_nodes)
    for first, last in zip(tree.level_offset[1:-1], tree.level_offset[2:], strict=True):
        parent = tree.parent[first:last]
        own = tree.player[parent] == player
        reach[first:last] = reach[parent] * np.where(own, 1.0, step[first:last])
    nodes = np.flatnonzero(tree.player == player)
    return np.bincount(tree.infoset[nodes], reach[nodes], tree.num_infosets).astype(np.float64)


def _first_states(public: PublicStates, states: list[int]) -> list[int]:
    """Return the public states that are not below others of the list."""
    chosen: list[int] = []
    for state in sorted(states):
        if not chosen or state >= public.end[chosen[-1]]:
            chosen.append(state)
    return chosen
