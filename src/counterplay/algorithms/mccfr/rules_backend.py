"""Monte Carlo kernels on readable rules, as plain Python.

`RulesNodes` looks like the rows of a tree to a kernel, but asks the rules of the game for a node
when the kernel first visits it, and checks the answers. Nodes are dropped after each iteration; the
infosets among them get entries in a `RulesSamplingMemory`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from counterplay.algorithms.mccfr.memory import (
    MAX_NODES_PER_ITERATION,
    RulesSamplingMemory,
    too_many_nodes_error,
)
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.size_estimate import MAX_HISTORY_LENGTH
from counterplay.core import random
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.game_checks import (
    action_names,
    actions_problem,
    call_rule,
    infoset_actions_problem,
    key_problem,
    numbers_problem,
    player_problem,
    probabilities_problem,
    raise_rule_error,
    rule_error,
    unknown_key_error,
    utilities_problem,
)
from counterplay.kernels.sampling.types import GameNodes, RegretTables, Scratch

MAX_CHECKED_OUTCOMES = 10_000  # tuples of chance outcomes remembered as checked


def run_on_rules(
    rules_arena: RulesArena,
    memory: RulesSamplingMemory,
    iterations: int,
    kernel: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> RulesSamplingMemory:
    """Run a kernel of the family as plain Python on the rules, in place, and return the memory.

    Args:
        rules_arena: the game.
        memory: the memory.
        iterations: number of iterations.
        kernel: a compiled kernel; its source is run.
        arguments: the kernel's arguments after the seed.
    """
    run = _load_python_kernels(kernel.__module__)[kernel.__name__]
    nodes = RulesNodes(rules_arena.game, memory)
    game_nodes = GameNodes(nodes, nodes.utility, nodes.baseline_slot, rules_arena.num_players)
    tables = RegretTables(*(getattr(memory, name) for name in RegretTables._fields))
    counters = [0, 0]
    scratch = Scratch([0], counters, *(defaultdict(float) for _ in range(7)))
    for t in range(memory.iteration + 1, memory.iteration + iterations + 1):
        run(t, t + 1, memory.seed, *arguments, game_nodes, tables, scratch)
        nodes.reset()
        memory.iteration = t
    memory.nodes_touched += counters[0]
    return memory


def python_kernels(module: ModuleType, **replacements: Callable[..., Any]) -> dict[str, Any]:
    """Return the kernels of a module, and all that they call, as plain Python functions.

    Args:
        module: a module of compiled kernels.
        replacements: functions to use instead of the kernels of these names.
    """
    namespaces: dict[str, dict[str, Any]] = {}

    def build_namespace(names: dict[str, Any]) -> dict[str, Any]:
        module_name = names["__name__"]
        if module_name not in namespaces:
            namespaces[module_name] = dict(names)
            for key, value in names.items():
                function = getattr(value, "py_func", value)  # the source of a compiled function
                if key in replacements:
                    namespaces[module_name][key] = replacements[key]
                elif _is_kernel(function):
                    namespace = build_namespace(function.__globals__)
                    namespaces[module_name][key] = FunctionType(function.__code__, namespace, key)
        return namespaces[module_name]

    return build_namespace(vars(module))


def _is_kernel(function: Any) -> bool:
    """Return True for the source of a kernel, or of a function that numba overloads."""
    return isinstance(function, FunctionType) and "kernels" in function.__module__.split(".")


@cache
def _load_python_kernels(module: str) -> dict[str, Any]:
    """Return a module's kernels as plain Python, with random numbers in Python's integers."""
    names = ("mix", "seed_stream", "draw_uniform", "hash_uniform")
    return python_kernels(sys.modules[module], **{name: getattr(random, name) for name in names})


class RulesNode:
    """One node as kernels see it; the fields are those of a row of `GameNodes.nodes`."""

    __slots__ = ("child", "count", "first", "player")

    def __init__(self, player: int, first: int, child: int, count: int):
        self.player, self.first, self.child, self.count = player, first, child, count


class RulesNodes:
    """The nodes of one iteration, by index; a node is expanded at its first visit."""

    def __init__(self, game: Game, memory: RulesSamplingMemory):
        self.game, self.memory = game, memory
        self.utility: dict[tuple[int, int], float] = {}  # by (row, player)
        self.baseline_slot = _BaselineSlots(self)
        self.reset()

    def reset(self) -> None:
        """Drop all nodes except the root."""
        start = call_rule(self.game, lambda: (), self.game.initial_state)
        self.states: list[State] = [start]
        self.parent_actions: list[tuple[int, int]] = [(-1, -1)]  # parent and action
        self.depth = [0]
        self.node_cache: list[RulesNode | None] = [None]
        self.utility.clear()
        self.baseline_slot.history_indices.clear()

    def __getitem__(self, n: int) -> RulesNode:
        return self.node_cache[n] or self.expand(n)

    def expand(self, n: int) -> RulesNode:
        """Ask the rules about node `n`, check the answers, and add its children."""
        try:
            player, first, actions = self.query(n)
        except Exception as error:
            raise_rule_error(self.game, self.history(n), error)
        child, depth = len(self.states), self.depth[n] + 1
        if depth > MAX_HISTORY_LENGTH:
            self.fail(n, f"still not over after {MAX_HISTORY_LENGTH:,} actions")
        if child + len(actions) > MAX_NODES_PER_ITERATION:
            raise too_many_nodes_error(self.game, MAX_NODES_PER_ITERATION)
        for action in actions:
            self.parent_actions.append((n, action))
        self.states += [None] * len(actions)
        self.node_cache += [None] * len(actions)
        self.depth += [depth] * len(actions)
        node = self.node_cache[n] = RulesNode(player, first, child, len(actions))
        return node

    def query(self, n: int) -> tuple[int, int, Any]:
        """Return a node's player, its first table entry (or utility row), and its actions."""
        game, (parent, action) = self.game, self.parent_actions[n]
        if n:
            self.states[n] = game.next_state(self.states[parent], action)
        state = self.states[n]
        player = game.player(state)
        if player == TERMINAL:
            first, row = len(self.utility) // game.num_players, game.utilities(state)
            self.check(n, utilities_problem(row, game.num_players))
            self.utility |= {(first, p): utility for p, utility in enumerate(row)}
            return player, first, ()
        if player == CHANCE:
            outcomes = game.chance_outcomes(state)
            if not len(outcomes):
                self.fail(n, "chance has no outcome")
            actions, probabilities = zip(*outcomes, strict=True)
            return player, self.find_or_add_chance_distribution(n, actions, probabilities), actions
        self.check(n, player_problem(player, game.num_players))
        legal = game.actions(state)
        return player, self.find_or_add_infoset(n, player, legal), legal

    def find_or_add_infoset(self, n: int, player: int, actions: Any) -> int:
        """Return the first table entry of a node's infoset; a new infoset gets entries."""
        memory, state = self.memory, self.states[n]
        key = (player, self.game.infoset_key(state, player))
        entry = memory.infosets.get(key)
        actions = actions if actions.__class__ is tuple else tuple(actions)
        if entry is not None:
            legal = memory.legal.get(key)
            if legal is None:  # the memory was read from a file
                legal = self.restore_legal_actions(n, key, actions, entry[1])
            if actions != legal:
                self.fail(n, infoset_actions_problem(key[1], actions, legal))
            return entry[0]
        self.check(n, key_problem(key[1], player) or actions_problem(actions, player))
        first = len(memory.policy)
        names = action_names(self.game, state, actions)
        memory.infosets[key] = first, names
        memory.legal[key] = actions
        self.append_entries([1.0 / len(names)] * len(names))
        return first

    def restore_legal_actions(
        self, n: int, key: tuple[int, str], actions: tuple[int, ...], names: tuple[str, ...]
    ) -> tuple[int, ...]:
        """Record the actions of an infoset that was stored with the names of its actions only."""
        self.check(n, actions_problem(actions, key[0]))
        if action_names(self.game, self.states[n], actions) != names:
            self.fail(n, f"infoset {key[1]!r} had the actions {', '.join(names)} before")
        self.memory.legal[key] = actions
        return actions

    def find_or_add_chance_distribution(
        self, n: int, actions: tuple[int, ...], probabilities: tuple[float, ...]
    ) -> int:
        """Return the first entry of probabilities in `policy`; new ones get entries."""
        memory = self.memory
        if actions not in memory.outcomes:
            self.check(n, numbers_problem(actions))
            if len(memory.outcomes) >= MAX_CHECKED_OUTCOMES:
                memory.outcomes.clear()
            memory.outcomes.add(actions)
        first = memory.chance_distributions.get(probabilities)
        if first is None:
            self.check(n, probabilities_problem(probabilities))
            first = memory.chance_distributions[probabilities] = len(memory.policy)
            self.append_entries(list(probabilities))
        return first

    def append_entries(self, policy: list[float]) -> None:
        """Append entries to all tables: the policy, and zeros elsewhere."""
        memory, zeros = self.memory, [0.0] * len(policy)
        memory.policy.extend(policy)
        for table in (memory.regret, memory.policy_sum, memory.last_averaged, memory.max_abs_value):
            table.extend(zeros)

    def history(self, n: int) -> list[int]:
        """Return the actions that lead to a node."""
        actions: list[int] = []
        while n > 0:
            n, action = self.parent_actions[n]
            actions.append(action)
        return actions[::-1]

    def check(self, n: int, problem: str) -> None:
        """Raise GameError for a problem at a node, if there is one."""
        if problem:
            self.fail(n, problem)

    def fail(self, n: int, problem: str) -> NoReturn:
        """Raise GameError for a problem at a node."""
        raise rule_error(self.game, self.history(n), problem)


class _BaselineSlots:
    """`slots[node, player]` is the index of the baseline of the node's value to the player."""

    def __init__(self, nodes: RulesNodes):
        self.nodes = nodes
        self.history_indices: dict[int, int] = {}  # by node

    def __getitem__(self, index: tuple[int, int]) -> int:
        n, player = index
        nodes, memory = self.nodes, self.nodes.memory
        if memory.baseline_kind == "history":
            return self.find_or_add_history(n) * nodes.game.num_players + player
        parent, action = nodes.parent_actions[n]
        key = player, self.infoset_key(parent, player), action
        slot = memory.baseline_slots.get(key)
        if slot is None:
            slot = memory.baseline_slots[key] = len(memory.baseline_slots)
            memory.baseline.append(0.0)
        return slot

    def infoset_key(self, n: int, player: int) -> str:
        """Return the infoset key of a player at a node where another player may act."""
        game = self.nodes.game
        try:
            return game.infoset_key(self.nodes.states[n], player)
        except Exception as error:
            raise unknown_key_error(game, self.nodes.history(n), player, error) from error

    def find_or_add_history(self, n: int) -> int:
        """Return the index of a node's history.

        New histories start with a baseline of zero, new terminal ones with their utilities.
        """
        nodes, slots, path = self.nodes, self.nodes.memory.baseline_slots, []
        while n not in self.history_indices and n >= 0:
            path.append(n)
            n = nodes.parent_actions[n][0]
        index = self.history_indices.get(n, -1)
        for n in reversed(path):
            key = index, nodes.parent_actions[n][1]
            if key not in slots:
                slots[key] = len(slots)
                node = nodes[n]
                for p in range(nodes.game.num_players):
                    is_terminal = node.player == TERMINAL
                    value = nodes.utility[node.first, p] if is_terminal else 0.0
                    nodes.memory.baseline.append(value)
            index = self.history_indices[n] = slots[key]
        return index
