"""Walk readable rules node by node, and derive what a tree needs from arrays.

The loop over nodes does little more than call the rules: it stores the player, the parent and the
number of the infoset of each node. Actions, depths, probabilities and sequences follow from these.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.core.arena import Ints
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.game_checks import (
    action_names,
    actions_problem,
    exception_problem,
    infoset_actions_problem,
    key_problem,
    node_problem,
    outcomes_problem,
    player_problem,
    rule_error,
    utilities_problem,
)
from counterplay.errors import CounterplayError

FIRST_CHECK_NODES = 1 << 6  # the walk is checked after this many nodes, then twice as many, ...
MAX_UNCHECKED_CHILDREN = 100  # of a node, before the memory for more of them is checked
MAX_KNOWN_OUTCOMES = 10_000  # lists of chance outcomes that are recognised


class RulesWalk:
    """The nodes of a game in depth-first order, and its infosets in order of first occurrence."""

    def __init__(self, game: Game):
        self.game, self.num_players = game, game.num_players
        self.player, self.parent = array("b"), array("i")  # [N]
        # [N] infoset of the game, or list of outcomes at chance nodes; -1 at terminals
        self.choice = array("i")
        self.utility = array("d")  # [Z x P] in the order of terminals
        self.num_checked_utilities = 0
        self.infoset_by_key: list[dict[str, int]] = [{} for _ in range(self.num_players)]
        self.infoset_keys: list[tuple[int, str]] = []
        self.legal_actions: list[tuple[int, ...]] = []
        self.action_names: list[tuple[str, ...]] = []
        self.known_outcomes: dict[tuple[tuple[int, float], ...], int] = {}
        self.num_outcomes = array("i")  # of each list
        self.outcome_action, self.outcome_chance = array("i"), array("d")  # of all lists

    def run(
        self,
        check_memory: Callable[[int], None],
        check_progress: Callable[[RulesWalk, int], None],
        max_nodes_between_checks: int,
    ) -> None:
        """Visit all nodes in one loop: a function call per node would cost a third of the speed.

        Args:
            check_memory: Called with the number of children where it is large.
            check_progress: Called now and then with this walk and the number of known nodes, those
                that wait for a visit included. Both may raise.
            max_nodes_between_checks: Nodes between two calls of `check_progress` at most.
        """
        game, legal, infoset_by_key = self.game, self.legal_actions, self.infoset_by_key
        player_of, infoset_key, actions_at = game.player, game.infoset_key, game.actions
        next_state, utilities, num_players = game.next_state, game.utilities, self.num_players
        add_player, add_parent = self.player.append, self.parent.append
        add_choice, add_utilities = self.choice.append, self.utility.extend
        stack: list[State] = []
        parents = [-1]  # of the states on the stack
        pop, push, pop_parent, push_parents = stack.pop, stack.append, parents.pop, parents.extend
        node, next_check = -1, min(FIRST_CHECK_NODES, max_nodes_between_checks)
        state: State = None
        try:
            push(game.initial_state())
            while stack:
                state = pop()
                node += 1
                add_parent(pop_parent())
                player = player_of(state)
                add_player(player)
                if player >= 0:
                    key = infoset_key(state, player)
                    actions = actions_at(state)
                    if actions.__class__ is not tuple:
                        actions = tuple(actions)
                    infoset = infoset_by_key[player].get(key)
                    if infoset is None:
                        if len(actions) > MAX_UNCHECKED_CHILDREN:
                            check_memory(len(actions))
                        infoset = self.add_infoset(node, state, player, key, actions)
                    elif actions != legal[infoset]:
                        problem = infoset_actions_problem(key, actions, legal[infoset])
                        self.fail(node, problem)
                    add_choice(infoset)
                    push_parents((node,) * len(actions))
                    for action in legal[infoset][::-1]:
                        push(next_state(state, action))
                elif player == TERMINAL:
                    add_choice(-1)
                    payoffs = utilities(state)
                    if len(payoffs) != num_players:
                        self.fail(node, utilities_problem(payoffs, num_players))
                    add_utilities(payoffs)
                    continue
                else:
                    if player != CHANCE:
                        self.fail(node, player_problem(player, num_players))
                    outcomes = game.chance_outcomes(state)
                    if len(outcomes) > MAX_UNCHECKED_CHILDREN:
                        check_memory(len(outcomes))
                    outcomes = tuple([(action, p) for action, p in outcomes])
                    number = self.known_outcomes.get(outcomes)
                    if number is None:
                        number = self.add_outcomes(node, outcomes)
                    add_choice(number)
                    push_parents((node,) * len(outcomes))
                    for action, _ in outcomes[::-1]:
                        push(next_state(state, action))
                num_known = node + len(stack)  # nodes on the stack take memory too
                if num_known >= next_check:
                    next_check = num_known + min(next_check, max_nodes_between_checks)
                    self.check_utilities()
                    check_progress(self, num_known)
            self.check_utilities()
        except (CounterplayError, MemoryError):
            raise
        except Exception as error:
            self.fail(max(node, 0), self.diagnose(state, error), error)

    def add_infoset(
        self, node: int, state: State, player: int, key: str, actions: tuple[int, ...]
    ) -> int:
        """Check and add a new infoset of the game, and return its number."""
        if problem := key_problem(key, player) or actions_problem(actions, player):
            self.fail(node, problem)
        infoset = self.infoset_by_key[player][key] = len(self.legal_actions)
        self.infoset_keys.append((player, key))
        self.legal_actions.append(actions)
        self.action_names.append(action_names(self.game, state, actions))
        return infoset

    def add_outcomes(self, node: int, outcomes: tuple[tuple[int, float], ...]) -> int:
        """Check and add a new list of chance outcomes, and return its number."""
        if problem := outcomes_problem(outcomes):
            self.fail(node, problem)
        number = len(self.num_outcomes)
        self.num_outcomes.append(len(outcomes))
        self.outcome_action.extend([action for action, _ in outcomes])
        self.outcome_chance.extend([probability for _, probability in outcomes])
        if len(self.known_outcomes) >= MAX_KNOWN_OUTCOMES:
            self.known_outcomes.clear()
        self.known_outcomes[outcomes] = number
        return number

    def check_utilities(self) -> None:
        """Raise GameError if utilities since the last call are not finite."""
        start, num_players = self.num_checked_utilities, self.num_players
        utility = np.array(self.utility[start:]).reshape(-1, num_players)
        self.num_checked_utilities = start + utility.size
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = np.flatnonzero(~np.isfinite(utility.sum(axis=1)))
        if wrong.size:
            values = tuple(utility[wrong[0]].tolist())
            terminals = np.flatnonzero(np.array(self.player) == TERMINAL)
            problem = utilities_problem(values, num_players)
            problem = problem or f"utilities {values} have no finite sum"
            self.fail(int(terminals[start // num_players + wrong[0]]), problem)

    def diagnose(self, state: State, error: Exception) -> str:
        """Return the problem at the state where the walk failed, from a full check of the node."""
        try:
            return node_problem(self.game, state) or exception_problem(error)
        except Exception:  # the rules raise there
            return exception_problem(error)

    def depth(self, node: int) -> int:
        """Return the number of actions that lead to a node."""
        depth = 0
        while (node := self.parent[node]) >= 0:
            depth += 1
        return depth

    def history(self, node: int) -> list[int]:
        """Return the actions that lead to a node."""
        actions, starts = [], np.cumsum([0, *self.num_outcomes])
        parent = np.array(self.parent)
        while node < parent.size and (above := int(parent[node])) >= 0:
            position = int(np.count_nonzero(parent[above + 1 : node] == above))
            choice = self.choice[above]
            if self.player[above] == CHANCE:
                actions.append(self.outcome_action[int(starts[choice]) + position])
            else:
                actions.append(self.legal_actions[choice][position])
            node = above
        return actions[::-1]

    def fail(self, node: int, problem: str, cause: Exception | None = None) -> NoReturn:
        """Raise GameError for a problem at a node, with its history."""
        raise rule_error(self.game, self.history(node), problem) from cause

    def fill_builder(self, builder: TreeBuilder) -> None:
        """Set the arrays of a builder."""
        player, parent, choice = map(np.array, (self.player, self.parent, self.choice))
        builder.player, builder.parent, builder.utility = player, parent, np.array(self.utility)
        builder.infoset_keys, builder.action_names = self.infoset_keys, self.action_names
        builder.legal_actions = self.legal_actions
        # actions of all infosets, then of all lists of outcomes
        num_infosets = len(self.legal_actions)
        counts = np.array([*map(len, self.legal_actions), *self.num_outcomes], np.int64)
        first_action = np.append(0, np.cumsum(counts))
        legal = [action for actions in self.legal_actions for action in actions]
        actions = np.array([*legal, *self.outcome_action], np.int32)
        probabilities = np.concatenate([np.ones(len(legal)), self.outcome_chance])
        choice[player == CHANCE] += num_infosets
        above = choice[parent]
        position = _sibling_positions(parent)
        index = first_action[above[1:]] + position[1:]
        builder.action = np.append(np.int32(-1), actions[index])
        builder.chance = np.append(1.0, probabilities[index])
        builder.depth = _node_depths(parent)
        reach, last_child = self._descend(player, parent, builder.chance, builder.depth)
        terminals = np.flatnonzero(player == TERMINAL)
        builder.chance_reach = reach[terminals]

        infoset = np.where(player >= 0, choice, -1)
        sequence = np.append(first_action[above] + position, -1)  # [N + 1] that leads to each node
        acting = np.flatnonzero(player >= 0)
        own_child = last_child[acting, player[acting]]
        before = sequence[own_child]
        first_node = np.zeros(num_infosets, np.int64)
        first_node[infoset[acting][::-1]] = np.arange(acting.size)[::-1]  # the first one remains
        if (before == before[first_node][infoset[acting]]).all():  # perfect recall
            for number, last in enumerate(before[first_node].tolist()):
                builder.append_infoset(self.infoset_keys[number][0], number, last)
        else:
            sequence = _split_infosets(builder, acting, infoset, parent, position, own_child)
        builder.infoset = infoset.astype(np.int32)
        builder.last_sequence = sequence[last_child[terminals]].ravel()

    def _descend(self, player: Ints, parent: Ints, chance: Any, depth: Ints) -> tuple[Any, Ints]:
        """Return chance's reach [N], and each player's last action before each node [N, P].

        An action is given by the node that it leads to, or -1 before the first one.
        """
        reach, last_child = chance.copy(), np.full((parent.size, self.num_players), -1, np.int32)
        order = np.argsort(depth, kind="stable")
        ends = np.cumsum(np.bincount(depth))
        mover = player[parent]
        for start, end in pairwise(ends):
            nodes = order[start:end]
            above = parent[nodes]
            reach[nodes] *= reach[above]
            last_child[nodes] = last_child[above]
            moved = nodes[mover[nodes] >= 0]
            last_child[moved, mover[moved]] = moved
        return reach, last_child


def _sibling_positions(parent: Ints) -> Ints:
    """Return the number [N] of earlier siblings of each node."""
    order = np.argsort(parent, kind="stable")
    counts = np.bincount(parent + 1, minlength=parent.size + 1)
    position = np.empty(parent.size, np.int64)
    starts = np.cumsum(counts) - counts
    position[order] = np.arange(parent.size) - np.repeat(starts, counts)
    return position


def _node_depths(parent: Ints) -> Ints:
    """Return the number [N] of actions that lead to each node, by doubling the steps upwards."""
    ancestor = np.where(parent < 0, 0, parent)
    depth = (parent >= 0).astype(np.uint16)
    while ancestor.any():
        depth += depth[ancestor]
        ancestor = ancestor[ancestor]
    return depth


def _split_infosets(
    builder: TreeBuilder, acting: Ints, infoset: Ints, parent: Ints, position: Ints, before: Ints
) -> Ints:
    """Tell infosets apart by their players' last sequences, and add them to the builder.

    Args:
        builder: The builder, without infosets.
        acting: The nodes of players.
        infoset: [N] infosets of the game; becomes those with perfect recall.
        parent: [N]
        position: [N] number of earlier siblings.
        before: The last action of the player of each of the nodes, as in `RulesWalk._descend`.

    Returns:
        The sequence [N + 1] that leads to each node, and -1.
    """
    numbers: dict[tuple[int, int], int] = {}
    sequence = np.full(parent.size + 1, -1)
    infosets, positions, parents = infoset.tolist(), position.tolist(), parent.tolist()
    for node, child in zip(acting.tolist(), before.tolist(), strict=True):
        last = -1
        if child >= 0:
            last = builder.first_sequence[infosets[parents[child]]] + positions[child]
        key = infosets[node], last
        number = numbers.setdefault(key, len(numbers))
        if number == len(builder.infoset_player):
            player = builder.infoset_keys[key[0]][0]
            builder.append_infoset(player, key[0], last)
        infosets[node] = number
    infoset[:] = infosets
    above = infoset[parent[1:]]
    first = np.array(builder.first_sequence, np.int64)
    sequence[1:-1] = np.where(above >= 0, first[above] + position[1:], -1)
    return sequence
