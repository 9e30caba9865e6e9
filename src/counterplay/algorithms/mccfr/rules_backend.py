"""The nodes of a game as walks see them on a tree, made by the rules when they are looked at.

They are forgotten after the iteration; the infosets among them get their place in a
`SampledMemory`, which stays.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from types import FunctionType, ModuleType
from typing import Any, NoReturn

from counterplay.algorithms.mccfr.memory import MAX_NODES_PER_ITERATION, RulesSamplingMemory
from counterplay.arenas.rules import RulesArena
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
from counterplay.errors import RunError
from counterplay.kernels.sampling.types import GameNodes, RegretTables, Scratch
from counterplay.registry import get_spec

MAX_HISTORY_LENGTH = 10_000  # a longer one counts as a game that never ends
MAX_CHECKED_OUTCOMES = 10_000  # tuples of chance outcomes remembered as checked


class RulesNode:
    """One node as walks see it."""

    __slots__ = ("child", "count", "first", "player")

    def __init__(self, player: int, first: int, child: int, count: int):
        self.player, self.first, self.child, self.count = player, first, child, count


class RulesNodes:
    """The nodes of one iteration, made when they are looked at."""

    def __init__(self, game: Game, memory: RulesSamplingMemory):
        self.game, self.memory = game, memory
        self.utility: dict[tuple[int, int], float] = {}  # (row, player)
        self.baseline_slot = _BaselineSlots(self)
        self.reset()

    def reset(self) -> None:
        """Leave nothing but the root."""
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
        """Ask the rules about node `n`, and check what they answer."""
        try:
            player, first, actions = self.ask(n)
        except Exception as error:
            raise_rule_error(self.game, self.history(n), error)
        child, depth = len(self.states), self.depth[n] + 1
        if depth > MAX_HISTORY_LENGTH:
            self.fail(n, f"still not over after {MAX_HISTORY_LENGTH:,} actions")
        if child + len(actions) > MAX_NODES_PER_ITERATION:
            raise RunError(
                f"{get_spec(self.game)}: one iteration met more than {MAX_NODES_PER_ITERATION:,} nodes; take an "
                "algorithm that samples more, such as outcome_sampling"
            )
        for action in actions:
            self.parent_actions.append((n, action))
        self.states += [None] * len(actions)
        self.node_cache += [None] * len(actions)
        self.depth += [depth] * len(actions)
        node = self.node_cache[n] = RulesNode(player, first, child, len(actions))
        return node

    def ask(self, n: int) -> tuple[int, int, Any]:
        """Return who acts at a node, where its numbers stand, and its actions or outcomes."""
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
            actions, lottery = zip(*outcomes, strict=True)
            return player, self.find_or_add_chance_distribution(n, actions, lottery), actions
        self.check(n, player_problem(player, game.num_players))
        legal = game.actions(state)
        return player, self.find_or_add_infoset(n, player, legal), legal

    def find_or_add_infoset(self, n: int, player: int, actions: Any) -> int:
        """Where the infoset's actions stand; a new one gets its place in all tables."""
        memory, state = self.memory, self.states[n]
        key = (player, self.game.infoset_key(state, player))
        found = memory.infosets.get(key)
        actions = actions if actions.__class__ is tuple else tuple(actions)
        if found is not None:
            known = memory.legal.get(key)
            if known is None:  # the memory was read from a file
                known = self.legal_again(n, key, actions, found[1])
            if actions != known:
                self.fail(n, infoset_actions_problem(key[1], actions, known))
            return found[0]
        self.check(n, key_problem(key[1], player) or actions_problem(actions, player))
        first = len(memory.policy)
        names = action_names(self.game, state, actions)
        memory.infosets[key] = first, names
        memory.legal[key] = actions
        self.append_entries([1.0 / len(names)] * len(names))
        return first

    def legal_again(
        self, n: int, key: tuple[int, str], actions: tuple[int, ...], names: tuple[str, ...]
    ) -> tuple[int, ...]:
        """Note the actions of an infoset whose names alone are known."""
        self.check(n, actions_problem(actions, key[0]))
        if action_names(self.game, self.states[n], actions) != names:
            self.fail(n, f"infoset {key[1]!r} had the actions {', '.join(names)} before")
        self.memory.legal[key] = actions
        return actions

    def find_or_add_chance_distribution(
        self, n: int, actions: Any, probabilities: tuple[float, ...]
    ) -> int:
        if actions not in self.memory.outcomes:
            self.check(n, numbers_problem(actions))
            if len(self.memory.outcomes) >= MAX_CHECKED_OUTCOMES:
                self.memory.outcomes.clear()
            self.memory.outcomes.add(actions)
        found = self.memory.chance_distributions.get(probabilities)
        if found is None:
            self.check(n, probabilities_problem(probabilities))
            found = self.memory.chance_distributions[probabilities] = len(self.memory.policy)
            self.append_entries(list(probabilities))
        return found

    def append_entries(self, policy: list[float]) -> None:
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
        """Raise the problem, if there is one."""
        if problem:
            self.fail(n, problem)

    def fail(self, n: int, problem: str) -> NoReturn:
        raise rule_error(self.game, self.history(n), problem)


class _BaselineSlots:
    """`slot[node, player]`: where the guess at what the node is worth to the player stands."""

    def __init__(self, nodes: RulesNodes):
        self.nodes = nodes
        self.history_indices: dict[int, int] = {}  # numbers of the histories of nodes

    def __getitem__(self, index: tuple[int, int]) -> int:
        n, player = index
        nodes, memory = self.nodes, self.nodes.memory
        if memory.baseline_kind == "history":
            return self.history_index(n) * nodes.game.num_players + player
        parent, action = nodes.parent_actions[n]
        key = player, self.key(parent, player), action
        found = memory.baseline_slots.get(key)
        if found is None:
            found = memory.baseline_slots[key] = len(memory.baseline_slots)
            memory.baseline.append(0.0)
        return found

    def key(self, n: int, player: int) -> str:
        """Return what a player knows at a node, where it need not be the one to act."""
        game = self.nodes.game
        try:
            return game.infoset_key(self.nodes.states[n], player)
        except Exception as error:
            raise unknown_key_error(game, self.nodes.history(n), player, error) from error

    def history_index(self, n: int) -> int:
        """The number of a node's history; a new one has its utilities, or zeros, as guesses."""
        nodes, slots, path = self.nodes, self.nodes.memory.baseline_slots, []
        while n not in self.history_indices and n >= 0:
            path.append(n)
            n = nodes.parent_actions[n][0]
        number = self.history_indices.get(n, -1)
        for n in reversed(path):
            key = number, nodes.parent_actions[n][1]
            if key not in slots:
                slots[key] = len(slots)
                node = nodes[n]
                for p in range(nodes.game.num_players):
                    over = node.player == TERMINAL
                    nodes.memory.baseline.append(nodes.utility[node.first, p] if over else 0.0)
            number = self.history_indices[n] = slots[key]
        return number


def run_on_rules(
    rules_arena: RulesArena,
    memory: RulesSamplingMemory,
    iterations: int,
    kernel: Any,
    *settings: Any,
) -> RulesSamplingMemory:
    """Run a kernel of the Monte Carlo family, as plain Python, on the rules."""
    walk = _python_kernels(kernel.__module__)[kernel.__name__]
    nodes = RulesNodes(rules_arena.game, memory)
    arena = GameNodes(nodes, nodes.utility, nodes.baseline_slot, rules_arena.num_players)
    table = RegretTables(*(getattr(memory, name) for name in RegretTables._fields))
    tally = [0, 0]
    room = Scratch([0], tally, *(defaultdict(float) for _ in range(7)))
    for t in range(memory.iteration + 1, memory.iteration + iterations + 1):
        walk(t, t + 1, memory.seed, *settings, arena, table, room)
        nodes.reset()
        memory.iteration = t
    memory.nodes_touched += tally[0]
    return memory


def python_kernels(module: ModuleType, **replacements: Callable[..., Any]) -> dict[str, Any]:
    """The kernels of a module, and all they call, as plain Python, some of them `replaced`."""
    spaces: dict[str, dict[str, Any]] = {}

    def space(names: dict[str, Any]) -> dict[str, Any]:
        name = names["__name__"]
        if name not in spaces:
            spaces[name] = dict(names)
            for key, value in names.items():
                function = getattr(value, "py_func", None)  # what numba compiled
                if key in replacements:
                    spaces[name][key] = replacements[key]
                elif isinstance(function, FunctionType):
                    around = space(function.__globals__)
                    spaces[name][key] = FunctionType(function.__code__, around, key)
        return spaces[name]

    return space(vars(module))


@cache
def _python_kernels(module: str) -> dict[str, Any]:
    same: dict[str, Callable[..., Any]] = {
        name: getattr(random, name) for name in ("mix", "seed_stream", "draw_uniform")
    }
    return python_kernels(sys.modules[module], **same)
