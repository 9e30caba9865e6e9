"""Depth-limited solving: games that are cut at public states, with values in place of the rest.

A single value per leaf would let the opponent adapt for free: it chooses its actions before the cut
knowing that it cannot be exploited after it. Two remedies are here:

- several continuation policies, of which the opponent chooses one at each of its views of a leaf,
  while the player itself continues by the blueprint (Brown, Sandholm and Amos, 2018);
- a value function of both players' ranges, called at every iteration (Moravcik et al., 2017; Brown
  et al., 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from counterplay.arenas.public_states import PublicStates, last_sequences, public_states
from counterplay.arenas.subgame import Leaves, find_template
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import compute_node_values
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.core.game import TERMINAL
from counterplay.core.policy import Policy, policy_from_weights
from counterplay.errors import ConfigError

MAX_BIASED_POLICIES = 8  # continuations biased to the most frequent action names

Ranges = tuple[Floats, ...]  # for each player its own reach at each of its views
ValueFunction = Callable[[int, Ranges], Ranges]  # public state, ranges -> counterfactual values


def leaf_states(states: PublicStates, state: int, depth: int) -> tuple[int, ...]:
    """Return the public states `depth` steps below one; empty if the game ends before."""
    below = range(state + 1, int(states.end[state]))
    return tuple(k for k in below if states.depth[k] == states.depth[state] + depth)


def bias_policy(blueprint: Policy, factor: float = 5.0) -> list[Policy]:
    """Return the blueprint, and for each action name the blueprint biased to that action.

    Args:
        blueprint: a policy of a tree.
        factor: multiplies the probability of the actions of that name before normalisation.
    """
    arena: Any = blueprint.arena
    names = np.array(arena.sequence_names)
    common = [name for name, _ in Counter(arena.sequence_names).most_common(MAX_BIASED_POLICIES)]
    weights = [blueprint.probabilities * np.where(names == n, factor, 1.0) for n in sorted(common)]
    return [blueprint, *(policy_from_weights(arena, weight) for weight in weights)]


def continuation_leaves(
    tree: TreeArena,
    blueprint: Policy,
    opponent: int,
    states: Sequence[int],
    continuations: Sequence[Policy] | None = None,
) -> Leaves:
    """Return leaves at which the opponent chooses one of several continuation policies.

    Args:
        tree: the whole game.
        blueprint: the policy of the other player after the cut.
        opponent: the player who chooses.
        states: public states to cut at.
        continuations: the opponent's policies; by default `bias_policy`.
    """
    policies = bias_policy(blueprint) if continuations is None else continuations
    is_own = np.repeat(tree.infoset_player == opponent, tree.num_actions)
    values = [
        compute_node_values(
            tree, np.where(is_own, policy.probabilities, blueprint.probabilities)
        ).value[:, opponent]
        for policy in policies
    ]
    return Leaves(tuple(states), np.column_stack(values))


@dataclass(frozen=True, eq=False)
class DepthLimitedArena:
    """A game cut at public states, with a value function at the leaves.

    The CFR family runs on it as on any arena with sequences: `gradient` adds the values of the
    leaves, given the ranges of the current policy. The order of ranges and values of a player is
    that of its views at the leaf's entries.

    Args:
        whole: a two-player zero-sum game with perfect recall; a constant-sum one is replaced by its
            `zero_sum_arena`, to which leaf values refer.
        leaves: public states to cut at, none of them below another.
        value_function: returns both players' counterfactual values at a leaf, given their ranges.
    """

    whole: TreeArena
    leaves: tuple[int, ...]
    value_function: ValueFunction
    capabilities: ClassVar[tuple[str, ...]] = ("sequences",)
    max_threads: ClassVar[int] = 1
    has_perfect_recall: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "whole", self.whole.zero_sum_arena)
        if self.whole.num_players != 2 or not self.whole.is_zero_sum:
            problem = f"unlike {self.whole.spec}"
            raise ConfigError(f"depth-limited solving needs a two-player zero-sum game, {problem}")
        if 0 in self.leaves or not self.leaves:
            raise ConfigError("leaves must be public states below the first one, at least one")

    @cached_property
    def _template(self) -> Any:
        cut = Leaves(self.leaves, np.zeros((0, 0)))
        return find_template(public_states(self.whole), 0, "unsafe", 1, None, cut)

    @cached_property
    def tree(self) -> TreeArena:
        """The cut game, with utility 0 at the leaves."""
        tree: TreeArena = self._template.instantiate(np.ones(1))
        return tree

    @cached_property
    def sequence(self) -> Ints:
        """Sequence of the whole game [S] of each sequence of the cut one."""
        return np.asarray(self._template.sequence)

    @cached_property
    def _leaf_views(self) -> list[tuple[int, tuple[Ints, Ints]]]:
        """For each leaf the last sequence of both players' views in the cut game."""
        states, tree = public_states(self.whole), self.tree
        terminals = np.flatnonzero(tree.player == TERMINAL)[self._template.leaf_terminal]
        last, node = last_sequences(tree)[terminals], self._template.leaf_node
        row = states.entry_row[node]
        result = []
        for leaf in self.leaves:
            inside = np.flatnonzero(states.label[node] == leaf)
            columns = []
            for player in range(2):
                view = states.view[row[inside], player]
                _, first = np.unique(view, return_index=True)
                columns.append(last[inside[first], player])
            result.append((leaf, (columns[0], columns[1])))
        return result

    @property
    def spec(self) -> str:
        return self.tree.spec

    @property
    def num_players(self) -> int:
        return 2

    @property
    def num_infosets(self) -> int:
        return self.tree.num_infosets

    @property
    def num_sequences(self) -> int:
        return self.tree.num_sequences

    @property
    def offset(self) -> Ints:
        return self.tree.offset

    @property
    def num_actions(self) -> Ints:
        return self.tree.num_actions

    @property
    def infoset_player(self) -> Ints:
        return self.tree.infoset_player

    @cached_property
    def form(self) -> SequenceTrees:
        form = self.tree.form
        return SequenceTrees(form.offset, form.parent, form.player_infoset)

    @property
    def utility_scale(self) -> float:
        return self.whole.utility_scale

    @cached_property
    def value_tolerance(self) -> Floats:
        """Rounding errors [S] relative to the largest utility of the whole game."""
        largest = float(np.abs(self.whole.utility).max())
        return np.full(self.num_sequences, 16.0 * np.finfo(np.float64).eps * largest)

    def levels(self, player: int, max_parts: int) -> list[list[tuple[int, int]]]:
        return self.tree.levels(player, max_parts)

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        """Set `cf_value` [S + 1] at the player's sequences, values of the leaves included."""
        self.tree.gradient(player, reach, cf_value)
        for leaf, last in self._leaf_views:
            values = self.value_function(leaf, (reach[last[0]], reach[last[1]]))
            np.add.at(cf_value, last[player], values[player])

    def infoset_key(self, infoset: int) -> str:
        return self.tree.infoset_key(infoset)

    def action_names(self, infoset: int) -> tuple[str, ...]:
        return self.tree.action_names(infoset)

    def find_infoset(self, key: str, player: int | None = None) -> int:
        return self.tree.find_infoset(key, player)

    def write_policy(self, policy: Policy, probabilities: Floats) -> None:
        """Replace probabilities [S of the whole game] above the cut by those of a policy."""
        probabilities[self.sequence] = policy.probabilities


def solve_leaves(tree: TreeArena, algorithm: Any, iterations: int = 1) -> ValueFunction:
    """Return the value function that solves the subgame below a leaf for the given ranges.

    The values are those of best responses to the solution, which at an equilibrium are its own
    values at all views that its ranges reach.

    Args:
        tree: the whole game.
        algorithm: such as `SequenceFormLP()`, for exact values.
        iterations: of the algorithm, at every call.
    """
    states = public_states(tree)

    def values(leaf: int, ranges: Ranges) -> Ranges:
        rows = states.entry_rows(leaf)
        views = [
            np.unique(states.view[rows, player], return_inverse=True)[1].ravel()
            for player in range(2)
        ]
        own = [ranges[player][views[player]] for player in range(2)]
        chance = states.chance_reach[rows]
        weight = chance * own[0] * own[1]
        if not weight.sum() > 0.0:  # where no mass is left any pair of ranges will do
            weight = chance
        template = find_template(states, leaf, "unsafe", 1)
        arena = template.instantiate(weight / weight.sum())
        memory = algorithm.step(arena, algorithm.init(arena), iterations)
        solution = next(iter(algorithm.policies(arena, memory).values()))
        probabilities = np.ones(tree.num_sequences)
        inside = template.sequence >= 0
        probabilities[template.sequence[inside]] = solution.probabilities[inside]
        return tuple(
            find_template(states, leaf, "resolve", player).best_response_values(
                probabilities, chance * own[1 - player]
            )
            for player in range(2)
        )

    return values
