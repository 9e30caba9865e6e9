"""Walk readable rules in batches of nodes.

A call of the rules costs about as much as the loop around it. So each method of the rules is mapped
over a batch of nodes of one level, and everything else is computed on arrays.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain, count, repeat
from operator import getitem
from typing import Any, NamedTuple, NoReturn

import numpy as np

from counterplay.arenas.tree.level_walk import LevelWalk, NodeLevel, first_of_each
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.game_checks import (
    CHANCE_TOLERANCE,
    MAX_ACTION,
    action_names,
    actions_problem,
    exception_problem,
    infoset_actions_problem,
    node_problem,
    rule_error,
)
from counterplay.errors import CounterplayError

BATCH_SIZE = 2_048  # nodes; larger batches leave the processor's caches
DEEP_LEVEL, DEEP_BATCH_SIZE = 256, 64  # so that games which never end are soon found


class PendingNodes(NamedTuple):
    """Nodes of one level whose states are not made yet."""

    level: int
    parent_states: Sequence[State]
    actions: Sequence[int]
    parent: Ints  # [N] index in the level before
    chance: Floats  # [N] probability of the action if chance takes it, else 1
    chance_reach: Floats  # [N]
    last_sequence: Ints  # [N, P]

    def split(self, size: int) -> list[PendingNodes]:
        """Return these nodes in parts of at most `size` nodes."""
        if len(self.actions) <= size:
            return [self]
        return [
            PendingNodes(
                self.level,
                self.parent_states[a : a + size],
                self.actions[a : a + size],
                self.parent[a : a + size],
                self.chance[a : a + size],
                self.chance_reach[a : a + size],
                self.last_sequence[a : a + size],
            )
            for a in range(0, len(self.actions), size)
        ]


class RulesTreeWalk(LevelWalk):
    """A walk through readable rules: depth first by batches, each of nodes of one level.

    Batches of a level are visited in the order of their nodes.
    """

    def __init__(self, game: Game, max_history_length: int):
        super().__init__(game.num_players)
        self.game, self.max_history_length = game, max_history_length
        self.batches: list[list[NodeLevel]] = []  # by level
        self.num_nodes_by_level: list[int] = []
        self.num_nodes = self.num_pending = 0
        # number of each key by player; numbers are shared, in order of first occurrence
        next_key = count().__next__
        self.key_numbers = [defaultdict[str, int](next_key) for _ in range(game.num_players)]
        self.legal_actions: list[tuple[int, ...]] = []  # by number of the key
        self.action_names: list[tuple[str, ...]] = []
        self.valid_actions: set[tuple[int, ...]] = set()
        self.infoset_numbers = defaultdict[int, int](count().__next__)  # by key and last sequence
        # [I + 1], [I] and [I, 3], as in `LevelWalk`
        self.first_sequences, self.infoset_depths = array("q", [0]), array("q")
        self.infoset_rows = array("q")
        self.checked_depth = DEEP_LEVEL

    def run(self, check: Callable[[int, int, int], None]) -> None:
        """Walk the tree.

        Args:
            check: Called with the numbers of nodes visited, of nodes known and of infosets; it may
                raise.
        """
        num_players = self.num_players
        last = np.full((1, num_players), -1, np.int32)
        root = PendingNodes(0, [None], [-1], np.zeros(1, np.int64), np.ones(1), np.ones(1), last)
        stack, self.num_pending = [root], 1
        while stack:
            pending = stack.pop()
            children = self.visit(pending, check)
            if children is not None:
                is_deep = children.level > DEEP_LEVEL
                stack += children.split(DEEP_BATCH_SIZE if is_deep else BATCH_SIZE)[::-1]
        self.join_batches()

    def visit(
        self, pending: PendingNodes, check: Callable[[int, int, int], None]
    ) -> PendingNodes | None:
        """Visit the nodes of a batch and return their children, if there are any."""
        if pending.level == len(self.batches):
            self.batches.append([])
            self.num_nodes_by_level.append(0)
        first_node = self.num_nodes_by_level[pending.level]
        self.num_nodes_by_level[pending.level] += len(pending.actions)
        self.num_nodes += len(pending.actions)
        if pending.level > self.max_history_length:
            self.fail_endless(pending, [])
        try:
            if pending.level:
                states = list(map(self.game.next_state, pending.parent_states, pending.actions))
            else:
                states = [self.game.initial_state()]
            if pending.level >= self.checked_depth:
                self.checked_depth = 2 * pending.level
                self.check_end(pending, states[0])
            children = _Batch(self, pending, states).visit(check)
        except (CounterplayError, MemoryError):
            raise
        except Exception as error:
            self.diagnose(pending, error)
        if children is None:
            return None
        return children._replace(parent=children.parent + first_node)

    def check_end(self, pending: PendingNodes, state: State) -> None:
        """Raise GameError if the first actions after a state, again and again, lead to no end."""
        actions: list[int] = []
        while (player := self.game.player(state)) != TERMINAL:
            if player == CHANCE:
                actions.append(self.game.chance_outcomes(state)[0][0])
            else:
                actions.append(self.game.actions(state)[0])
            if pending.level + len(actions) > self.max_history_length:
                self.fail_endless(pending, actions)
            state = self.game.next_state(state, actions[-1])

    def fail_endless(self, pending: PendingNodes, actions: list[int]) -> NoReturn:
        """Raise GameError for a history that is too long: that of the first node and `actions`."""
        problem = f"still not over after {self.max_history_length:,} actions"
        raise rule_error(self.game, self.history(pending, 0) + actions, problem)

    def history(self, pending: PendingNodes, index: int) -> list[int]:
        """Return the actions that lead to a node of a batch."""
        if not pending.level:
            return []
        actions, node = [pending.actions[index]], int(pending.parent[index])
        for batches in self.batches[pending.level - 1 : 0 : -1]:
            for batch in batches:
                if node < batch.player.size:
                    actions.append(int(batch.action[node]))
                    node = int(batch.parent[node])
                    break
                node -= batch.player.size
        return actions[::-1]

    def diagnose(self, pending: PendingNodes, error: Exception) -> NoReturn:
        """Raise GameError for the first problem of a batch; `error` is what the batch raised."""
        game, known = self.game, dict[tuple[int, str], tuple[int, ...]]()

        def find_problem(state: State) -> str:
            if problem := node_problem(game, state):
                return problem
            player = game.player(state)
            if player < 0:
                return ""
            key, actions = game.infoset_key(state, player), tuple(game.actions(state))
            number = self.key_numbers[player].get(key, len(self.legal_actions))
            if number < len(self.legal_actions):
                known.setdefault((player, key), self.legal_actions[number])
            expected = known.setdefault((player, key), actions)
            return infoset_actions_problem(key, actions, expected) if expected != actions else ""

        for index, action in enumerate(pending.actions):
            history = self.history(pending, index)
            try:
                if pending.level:
                    state = game.next_state(pending.parent_states[index], action)
                else:
                    state = game.initial_state()
            except Exception as cause:
                raise rule_error(game, history[:-1], exception_problem(cause)) from cause
            try:
                problem = find_problem(state)
            except CounterplayError:
                raise
            except Exception as cause:
                raise rule_error(game, history, exception_problem(cause)) from cause
            if problem:
                raise rule_error(game, history, problem) from error
        raise rule_error(game, self.history(pending, 0), exception_problem(error)) from error

    def join_batches(self) -> None:
        """Set the fields of `LevelWalk`."""
        for k, batches in enumerate(self.batches):
            columns = zip(*batches, strict=True)
            self.levels.append(NodeLevel(*(np.concatenate(column) for column in columns)))
            self.batches[k] = []
        self.num_infosets = len(self.infoset_depths)
        self.hash_keys = np.array(self.infoset_rows).reshape(-1, 3)
        self.first_sequence = np.array(self.first_sequences)
        self.infoset_depth = np.array(self.infoset_depths)

    def list_infosets(self) -> list[tuple[int, str]]:
        """Return the (player, key) of each infoset of the game, by number of the key."""
        infosets = [(0, "")] * len(self.legal_actions)
        for player, numbers in enumerate(self.key_numbers):
            for key, number in numbers.items():
                infosets[number] = player, key
        return infosets


class _Batch:
    """The visit of one batch of nodes."""

    def __init__(self, walk: RulesTreeWalk, pending: PendingNodes, states: list[State]):
        self.walk, self.game, self.pending, self.states = walk, walk.game, pending, states

    def visit(self, check: Callable[[int, int, int], None]) -> PendingNodes | None:
        """Add the nodes to the walk and return their children, if there are any."""
        walk, pending, size = self.walk, self.pending, len(self.states)
        player = np.frombuffer(array("b", map(self.game.player, self.states)), np.int8)
        lowest, highest = int(player.min()), int(player.max())
        _require(lowest >= TERMINAL and highest < walk.num_players)
        num_children, infoset = np.zeros(size, np.int64), np.full(size, -1)
        actions: list[Sequence[int]] = [()] * size
        utility, outcomes = np.zeros((0, walk.num_players)), []
        if highest >= 0:
            acting = np.flatnonzero(player >= 0)
            infoset[acting], legal = self.find_infosets(acting, player[acting])
            num_children[acting] = np.fromiter(map(len, legal), np.int64, acting.size)
            _fill(actions, acting, legal)
        if lowest < 0:
            terminal = np.flatnonzero(player == TERMINAL)
            if terminal.size:
                utility = self.compute_utilities(terminal)
            at_chance = np.flatnonzero(player == CHANCE)
            if at_chance.size:  # other games need no `chance_outcomes`
                outcomes = list(map(self.game.chance_outcomes, self.select(at_chance)))
                num_children[at_chance] = np.fromiter(map(len, outcomes), np.int64, at_chance.size)
        walk.num_pending += int(num_children.sum()) - size
        check(walk.num_nodes, walk.num_nodes + walk.num_pending, len(walk.infoset_depths))
        walk.batches[pending.level].append(
            NodeLevel(
                pending.parent,
                player,
                np.array(array("q", pending.actions)),
                pending.chance,
                pending.chance_reach,
                pending.last_sequence,
                infoset,
                utility,
            )
        )
        if not num_children.any():
            _require(not outcomes)
            return None
        chance: list[Sequence[float]] = []
        if outcomes:
            numbers, probabilities = _check_outcomes(outcomes)
            _fill(actions, at_chance, numbers)
            chance = [(1.0,) * len(numbers) for numbers in actions]
            _fill(chance, at_chance, probabilities)
        return self.list_children(player, infoset, num_children, actions, chance)

    def select(self, index: Ints) -> list[State]:
        """Return the states with these indices."""
        if index.size == len(self.states):
            return self.states
        return list(map(self.states.__getitem__, index.tolist()))

    def compute_utilities(self, terminal: Ints) -> Floats:
        """Return the checked utilities [Z, P] of terminal states."""
        num_players = self.walk.num_players
        utilities = list(map(self.game.utilities, self.select(terminal)))
        _require(set(map(len, utilities)) == {num_players})
        table = np.array(array("d", chain.from_iterable(utilities))).reshape(-1, num_players)
        _require(np.isfinite(table.sum(axis=1)).all())
        return table

    def find_infosets(self, acting: Ints, player: Ints) -> tuple[Ints, list[tuple[int, ...]]]:
        """Return the infosets and the checked legal actions at nodes of players."""
        walk, game, states, players = self.walk, self.game, self.select(acting), player.tolist()
        keys = list(map(game.infoset_key, states, players))
        legal = list(map(tuple, map(game.actions, states)))
        _require(set(map(type, keys)) == {str} or all(isinstance(key, str) for key in keys))
        before = len(walk.legal_actions)
        if players.count(players[0]) == len(players):
            numbers = map(walk.key_numbers[players[0]].__getitem__, keys)
        else:
            numbers = map(getitem, map(walk.key_numbers.__getitem__, players), keys)
        key = np.fromiter(numbers, np.int64, len(keys))
        first = first_of_each(key, before)
        if first.size:
            new_legal = list(map(legal.__getitem__, first.tolist()))
            self.check_actions(new_legal)
            walk.legal_actions += new_legal
            new_states = map(states.__getitem__, first.tolist())
            walk.action_names += map(action_names, repeat(game), new_states, new_legal)
        _require(list(map(walk.legal_actions.__getitem__, key.tolist())) == legal)
        num_actions = np.fromiter(map(len, legal), np.int64, len(legal))
        return self.number_infosets(key, player, acting, num_actions), legal

    def check_actions(self, legal: list[tuple[int, ...]]) -> None:
        """Raise an error unless the legal actions of new infosets are valid."""
        if set(map(type, chain.from_iterable(legal))) <= {int}:
            legal = [actions for actions in set(legal) if actions not in self.walk.valid_actions]
            self.walk.valid_actions.update(legal)
        _require(not any(actions_problem(actions, 0) for actions in legal))

    def number_infosets(self, key: Ints, player: Ints, nodes: Ints, num_actions: Ints) -> Ints:
        """Return the infosets of nodes, with perfect recall; new ones get the next numbers."""
        walk = self.walk
        own_last = self.pending.last_sequence[nodes, player].astype(np.int64)
        codes = ((key << 32) + (own_last + 1)).tolist()
        before = len(walk.infoset_depths)
        numbers = map(walk.infoset_numbers.__getitem__, codes)
        infoset = np.fromiter(numbers, np.int64, nodes.size)
        first = first_of_each(infoset, before)
        if first.size:
            last = own_last[first]
            sequences = np.frombuffer(walk.first_sequences, np.int64)
            ends = sequences[-1] + np.cumsum(num_actions[first])
            parent = np.searchsorted(sequences, last, side="right") - 1
            del sequences  # so that the array can grow
            depth = np.zeros(last.size, np.int64)
            later = np.flatnonzero(last >= 0)
            if later.size:
                depth[later] = np.frombuffer(walk.infoset_depths, np.int64)[parent[later]] + 1
            rows = np.stack([key[first], last, player[first]], axis=1)
            walk.infoset_rows.frombytes(rows.astype(np.int64).tobytes())
            walk.infoset_depths.frombytes(depth.tobytes())
            walk.first_sequences.frombytes(ends.tobytes())
        return infoset

    def list_children(
        self,
        player: Ints,
        infoset: Ints,
        num_children: Ints,
        actions: list[Sequence[int]],
        chance: list[Sequence[float]],
    ) -> PendingNodes:
        """Return the children of all nodes, in the order of their parents.

        Args:
            player: [N]
            infoset: [N] -1 at chance and terminal nodes.
            num_children: [N]
            actions: [N] actions of each node.
            chance: [N] probabilities of these if chance takes them, else 1; empty if all are 1.
        """
        pending, total = self.pending, int(num_children.sum())
        parent = np.repeat(np.arange(num_children.size), num_children)
        last, reach, probability = (
            pending.last_sequence[parent],
            pending.chance_reach[parent],
            np.ones(total),
        )
        above = infoset[parent]
        children = np.flatnonzero(above >= 0)
        if children.size:
            first_child = np.cumsum(num_children) - num_children
            position = children - first_child[parent[children]]
            first = np.frombuffer(self.walk.first_sequences, np.int64)[above[children]]
            last[children, player[parent[children]]] = first + position
        if chance:
            probability = np.fromiter(chain.from_iterable(chance), np.float64, total)
            reach *= probability
        return PendingNodes(
            pending.level + 1,
            list(chain.from_iterable(map(repeat, self.states, num_children.tolist()))),
            list(chain.from_iterable(actions)),
            parent,
            probability,
            reach,
            last,
        )


def _check_outcomes(outcomes: list[Any]) -> tuple[list[Any], list[Any]]:
    """Return the actions and the probabilities of chance nodes after checking them."""
    actions, probabilities = [], []
    for pairs in outcomes:
        numbers, chances = zip(*pairs, strict=True)
        actions.append(numbers)
        probabilities.append(chances)
        _require(min(chances) >= 0.0 and abs(sum(chances) - 1.0) <= CHANCE_TOLERANCE)
        _require(len(set(numbers)) == len(numbers))
    integers = array("q", chain.from_iterable(actions))  # raises for other numbers
    _require(min(integers) >= 0 and max(integers) <= MAX_ACTION)
    return actions, probabilities


def _fill(target: list[Any], index: Ints, values: list[Any]) -> None:
    """Set entries of a list."""
    if len(values) == len(target):
        target[:] = values
        return
    for i, value in zip(index.tolist(), values, strict=True):
        target[i] = value


def _require(condition: object) -> None:
    """Raise an error that makes the walk look for the problem node by node."""
    if not condition:
        raise ValueError("the rules are inconsistent")
