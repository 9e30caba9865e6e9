"""The nodes of a game as walks see them on a tree, made by the rules when they are looked at.

They are forgotten after the iteration; the infosets among them get their place in a
`SampledMemory`, which stays.
"""

from __future__ import annotations

from typing import Any, NoReturn

from counterplay.errors import RunError
from counterplay.game import CHANCE, TERMINAL, Game, State
from counterplay.registry import spec_of
from counterplay.rule_checks import (
    action_names,
    actions_problem,
    call_rule,
    changed_actions_problem,
    key_problem,
    numbers_problem,
    player_problem,
    probabilities_problem,
    raise_rule_error,
    rule_error,
    unknown_key_error,
    utilities_problem,
)
from counterplay.tabular.compiled_memory import ROOM
from counterplay.tabular.sampled_memory import SampledMemory

MAX_HISTORY = 10_000  # a longer one counts as a game that never ends
MAX_CHECKED_OUTCOMES = 10_000  # tuples of chance outcomes remembered as checked


class SampledNode:
    """One node as walks see it."""

    __slots__ = ("child", "count", "first", "player")

    def __init__(self, player: int, first: int, child: int, count: int):
        self.player, self.first, self.child, self.count = player, first, child, count


class SampledNodes:
    """The nodes of one iteration, made when they are looked at."""

    def __init__(self, game: Game, memory: SampledMemory):
        self.game, self.memory = game, memory
        self.utility: dict[tuple[int, int], float] = {}  # (row, player)
        self.slot = _Slots(self)
        self.forget()

    def forget(self) -> None:
        """Leave nothing but the root."""
        start = call_rule(self.game, lambda: (), self.game.initial_state)
        self.states: list[State] = [start]
        self.steps: list[tuple[int, int]] = [(-1, -1)]  # parent and action
        self.depth = [0]
        self.known: list[SampledNode | None] = [None]
        self.utility.clear()
        self.slot.histories.clear()

    def __getitem__(self, n: int) -> SampledNode:
        return self.known[n] or self.make(n)

    def make(self, n: int) -> SampledNode:
        """Ask the rules about node `n`, and check what they answer."""
        try:
            player, first, actions = self.ask(n)
        except Exception as error:
            raise_rule_error(self.game, self.history(n), error)
        child, depth = len(self.states), self.depth[n] + 1
        if depth > MAX_HISTORY:
            self.fail(n, f"still not over after {MAX_HISTORY:,} actions")
        if child + len(actions) > ROOM:
            raise RunError(
                f"{spec_of(self.game)}: one iteration met more than {ROOM:,} nodes; take an "
                "algorithm that samples more, such as outcome_sampling"
            )
        for action in actions:
            self.steps.append((n, action))
        self.states += [None] * len(actions)
        self.known += [None] * len(actions)
        self.depth += [depth] * len(actions)
        node = self.known[n] = SampledNode(player, first, child, len(actions))
        return node

    def ask(self, n: int) -> tuple[int, int, Any]:
        """Return who acts at a node, where its numbers stand, and its actions or outcomes."""
        game, (parent, action) = self.game, self.steps[n]
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
            return player, self.lottery(n, actions, lottery), actions
        self.check(n, player_problem(player, game.num_players))
        legal = game.actions(state)
        return player, self.infoset(n, player, legal), legal

    def infoset(self, n: int, player: int, actions: Any) -> int:
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
                self.fail(n, changed_actions_problem(key[1], actions, known))
            return found[0]
        self.check(n, key_problem(key[1], player) or actions_problem(actions, player))
        first = len(memory.policy)
        names = action_names(self.game, state, actions)
        memory.infosets[key] = first, names
        memory.legal[key] = actions
        self.grow([1.0 / len(names)] * len(names))
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

    def lottery(self, n: int, actions: Any, probabilities: tuple[float, ...]) -> int:
        if actions not in self.memory.outcomes:
            self.check(n, numbers_problem(actions))
            if len(self.memory.outcomes) >= MAX_CHECKED_OUTCOMES:
                self.memory.outcomes.clear()
            self.memory.outcomes.add(actions)
        found = self.memory.lotteries.get(probabilities)
        if found is None:
            self.check(n, probabilities_problem(probabilities))
            found = self.memory.lotteries[probabilities] = len(self.memory.policy)
            self.grow(list(probabilities))
        return found

    def grow(self, policy: list[float]) -> None:
        memory, zeros = self.memory, [0.0] * len(policy)
        memory.policy.extend(policy)
        for table in (memory.regret, memory.policy_sum, memory.visits, memory.largest):
            table.extend(zeros)

    def history(self, n: int) -> list[int]:
        """Return the actions that lead to a node."""
        actions: list[int] = []
        while n > 0:
            n, action = self.steps[n]
            actions.append(action)
        return actions[::-1]

    def check(self, n: int, problem: str) -> None:
        """Raise the problem, if there is one."""
        if problem:
            self.fail(n, problem)

    def fail(self, n: int, problem: str) -> NoReturn:
        raise rule_error(self.game, self.history(n), problem)


class _Slots:
    """`slot[node, player]`: where the guess at what the node is worth to the player stands."""

    def __init__(self, nodes: SampledNodes):
        self.nodes = nodes
        self.histories: dict[int, int] = {}  # numbers of the histories of nodes

    def __getitem__(self, index: tuple[int, int]) -> int:
        n, player = index
        nodes, memory = self.nodes, self.nodes.memory
        if memory.guesses == "history":
            return self.history(n) * nodes.game.num_players + player
        parent, action = nodes.steps[n]
        key = player, self.key(parent, player), action
        found = memory.slots.get(key)
        if found is None:
            found = memory.slots[key] = len(memory.slots)
            memory.baseline.append(0.0)
        return found

    def key(self, n: int, player: int) -> str:
        """Return what a player knows at a node, where it need not be the one to act."""
        game = self.nodes.game
        try:
            return game.infoset_key(self.nodes.states[n], player)
        except Exception as error:
            raise unknown_key_error(game, self.nodes.history(n), player, error) from error

    def history(self, n: int) -> int:
        """The number of a node's history; a new one has its utilities, or zeros, as guesses."""
        nodes, slots, path = self.nodes, self.nodes.memory.slots, []
        while n not in self.histories and n >= 0:
            path.append(n)
            n = nodes.steps[n][0]
        number = self.histories.get(n, -1)
        for n in reversed(path):
            key = number, nodes.steps[n][1]
            if key not in slots:
                slots[key] = len(slots)
                node = nodes[n]
                for p in range(nodes.game.num_players):
                    over = node.player == TERMINAL
                    nodes.memory.baseline.append(nodes.utility[node.first, p] if over else 0.0)
            number = self.histories[n] = slots[key]
        return number
