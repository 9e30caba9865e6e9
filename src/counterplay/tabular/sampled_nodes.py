"""The nodes of a game as walks see them on a tree, made by the rules when they are looked at.

They are forgotten after the iteration; the infosets among them get their place in a
`SampledMemory`, which stays.
"""

from __future__ import annotations

from typing import Any

from counterplay.errors import GameError, RunError
from counterplay.game import CHANCE, TERMINAL, Game, State, describe_history
from counterplay.registry import spec_of
from counterplay.tabular.compiled_memory import ROOM
from counterplay.tabular.sampled_memory import SampledMemory

MAX_HISTORY = 10_000  # a longer one counts as a game that never ends


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
        self.states: list[State] = [self.game.initial_state()]
        self.steps: list[tuple[int, int]] = [(-1, -1)]  # parent and action
        self.depth = [0]
        self.known: list[SampledNode | None] = [None]
        self.utility.clear()
        self.slot.histories.clear()

    def __getitem__(self, n: int) -> SampledNode:
        return self.known[n] or self.make(n)

    def make(self, n: int) -> SampledNode:
        game, (parent, action) = self.game, self.steps[n]
        if n:
            self.states[n] = game.next_state(self.states[parent], action)
        state = self.states[n]
        player = game.player(state)
        actions: Any = ()
        if player == TERMINAL:
            first, row = len(self.utility) // game.num_players, game.utilities(state)
            if len(row) != game.num_players:
                self.fail(n, f"utilities are {row}")
            self.utility |= {(first, p): utility for p, utility in enumerate(row)}
        elif player == CHANCE:
            actions, lottery = zip(*game.chance_outcomes(state), strict=True)
            first = self.lottery(n, lottery)
        elif 0 <= player < game.num_players:
            actions = game.actions(state)
            first = self.infoset(n, player, actions)
        else:
            self.fail(n, f"player() is {player}, not in 0..{game.num_players - 1}")
        child, depth = len(self.states), self.depth[n] + 1
        if depth > MAX_HISTORY:
            self.fail(n, f"still not over after {MAX_HISTORY:,} actions")
        if child + len(actions) > ROOM:
            raise RunError(
                f"{spec_of(game)}: one iteration met more than {ROOM:,} nodes; take an algorithm "
                "that samples more, such as outcome_sampling"
            )
        for action in actions:
            self.steps.append((n, action))
        self.states += [None] * len(actions)
        self.known += [None] * len(actions)
        self.depth += [depth] * len(actions)
        node = self.known[n] = SampledNode(player, first, child, len(actions))
        return node

    def infoset(self, n: int, player: int, actions: Any) -> int:
        """Where the infoset's actions stand; a new one gets its place in all tables."""
        memory, state = self.memory, self.states[n]
        key = (player, self.game.infoset_key(state, player))
        found = memory.infosets.get(key)
        if found is not None:
            if len(actions) != len(found[1]):
                self.fail(
                    n, f"infoset {key[1]!r} has {len(actions)} actions, {len(found[1])} before"
                )
            return found[0]
        if not len(actions):
            self.fail(n, f"player {player} has no legal action")
        first = len(memory.policy)
        names = tuple(self.game.action_name(state, action) for action in actions)
        memory.infosets[key] = first, names
        self.grow([1.0 / len(names)] * len(names))
        return first

    def lottery(self, n: int, probabilities: tuple[float, ...]) -> int:
        found = self.memory.lotteries.get(probabilities)
        if found is None:
            if not abs(sum(probabilities) - 1.0) <= 1e-9 or min(probabilities) < 0.0:
                self.fail(n, f"chance probabilities are {list(probabilities)}, not a sum of 1")
            found = self.memory.lotteries[probabilities] = len(self.memory.policy)
            self.grow(list(probabilities))
        return found

    def grow(self, policy: list[float]) -> None:
        memory, zeros = self.memory, [0.0] * len(policy)
        memory.policy.extend(policy)
        for table in (memory.regret, memory.policy_sum, memory.visits, memory.largest):
            table.extend(zeros)

    def fail(self, n: int, problem: str) -> None:
        history: list[int] = []
        while n > 0:
            n, action = self.steps[n]
            history.append(action)
        where = describe_history(self.game, history[:-21:-1])
        raise GameError(f"{spec_of(self.game)}: {problem}; history: {where}")


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
        key = player, nodes.game.infoset_key(nodes.states[parent], player), action
        found = memory.slots.get(key)
        if found is None:
            found = memory.slots[key] = len(memory.slots)
            memory.baseline.append(0.0)
        return found

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
