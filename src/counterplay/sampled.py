"""Sampled access to the rules: games that are never unrolled, for the same sampling algorithms.

A `SampledGame` stands where a tree would. Walks see its nodes as if they were arrays, but a node is
made by the rules when it is looked at, and forgotten after the iteration. What is learned stays:
tables grow as infosets are met, and are keyed by `infoset_key`.
"""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.errors import ConfigError, GameError, suggestion
from counterplay.files import write_arrays
from counterplay.game import CHANCE, TERMINAL, Game, State, describe_history
from counterplay.kernels.bundles import Arena, Scratch, Table, plain
from counterplay.policy import FORMAT, Policy, write_csv, write_json
from counterplay.registry import spec_of
from counterplay.tree import Tree

MAX_HISTORY = 10_000  # a longer one counts as a game that never ends
MASK = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class SampledGame:
    """The rules of a game, to be sampled where others take a tree."""

    game: Game

    @property
    def spec(self) -> str:
        return spec_of(self.game)

    @property
    def num_players(self) -> int:
        return self.game.num_players


@dataclass
class SampledMemory:
    """What sampling algorithms keep about a game that is not unrolled.

    `infosets` says where the actions of (player, infoset key) stand in the tables and what they are
    called; `lotteries` where the probabilities of chance stand in `policy`; `slots` where the guess
    at a value stands in `baseline`.
    """

    iteration: int
    seed: int
    guesses: str = ""  # what a baseline is kept for: "augmented" infosets, or every "history"
    touched: int = 0
    regret: array[float] = field(default_factory=lambda: array("d"))
    policy: array[float] = field(default_factory=lambda: array("d"))
    policy_sum: array[float] = field(default_factory=lambda: array("d"))
    visits: array[float] = field(default_factory=lambda: array("d"))
    baseline: array[float] = field(default_factory=lambda: array("d"))
    largest: array[float] = field(default_factory=lambda: array("d"))
    infosets: dict[tuple[int, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    lotteries: dict[tuple[float, ...], int] = field(default_factory=dict)
    slots: dict[Any, int] = field(default_factory=dict)

    @property
    def tables(self) -> Table:
        """What is learned, as walks see it."""
        learned = self.regret, self.policy, self.policy_sum, self.visits
        return Table(*learned, self.baseline, self.largest)

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        tables = self.tables
        return SizeReport(
            self.iteration,
            self.touched,
            len(self.infosets),
            len(self.policy),
            sum(table.itemsize * len(table) for table in tables)
            + sum(
                KEY_BYTES + len(key) + 8 * len(names)
                for (_, key), (_, names) in self.infosets.items()
            )
            + KEY_BYTES * len(self.slots),
        )


KEY_BYTES = 260  # of a dictionary entry with its tuples and string, the text not counted


@dataclass(frozen=True)
class SizeReport:
    """How far a run on the rules has come, and what it has met."""

    iteration: int
    touched: int  # nodes, counted as often as they were visited
    num_infosets: int
    num_entries: int  # of each table
    num_bytes: int  # tables and keys, about


class SampledNode:
    """One node as walks see it."""

    __slots__ = ("child", "count", "first", "player")

    def __init__(self, player: int, first: int, child: int, count: int):
        self.player, self.first, self.child, self.count = player, first, child, count


class SampledNodes:
    """The nodes of one iteration, made when they are looked at."""

    def __init__(self, game: Game, memory: SampledMemory):
        self.game, self.memory = game, memory
        self.utilities = _Utilities()
        self.slot = _Slots(self)
        self.forget()

    def forget(self) -> None:
        """Leave nothing but the root."""
        self.states: list[State] = [self.game.initial_state()]
        self.steps: list[tuple[int, int]] = [(-1, -1)]  # parent and action
        self.depth = [0]
        self.known: list[SampledNode | None] = [None]
        self.utilities.rows.clear()

    def __getitem__(self, n: int) -> SampledNode:
        return self.known[n] or self.make(n)

    def state(self, n: int) -> State:
        """The state of a node that need not have been looked at."""
        if n and self.known[n] is None and self.states[n] is None:
            parent, action = self.steps[n]
            self.states[n] = self.game.next_state(self.states[parent], action)
        return self.states[n]

    def make(self, n: int) -> SampledNode:
        game, state = self.game, self.state(n)
        player = game.player(state)
        actions: Any = ()
        if player == TERMINAL:
            first = self.utilities.add(game.utilities(state))
            if len(self.utilities.rows[first]) != game.num_players:
                self.fail(n, f"utilities are {self.utilities.rows[first]}")
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


class _Utilities:
    """`utility[row, player]`."""

    def __init__(self) -> None:
        self.rows: list[Any] = []

    def add(self, row: Any) -> int:
        self.rows.append(row)
        return len(self.rows) - 1

    def __getitem__(self, index: tuple[int, int]) -> float:
        return self.rows[index[0]][index[1]]


class _Slots:
    """`slot[node, player]`: where the guess at what the node is worth to the player stands."""

    def __init__(self, nodes: SampledNodes):
        self.nodes = nodes

    def __getitem__(self, index: tuple[int, int]) -> int:
        n, player = index
        nodes, memory = self.nodes, self.nodes.memory
        parent, action = nodes.steps[n]
        key: Any
        if memory.guesses == "augmented":
            key = player, nodes.game.infoset_key(nodes.states[parent], player), action
        else:
            key = player, nodes.state(n)
        found = memory.slots.get(key)
        if found is None:
            found = memory.slots[key] = len(memory.baseline)
            guess = 0.0
            if memory.guesses == "history" and nodes[n].player == TERMINAL:
                guess = nodes.utilities[nodes[n].first, player]
            memory.baseline.append(guess)
        return found


class SampledPolicy:
    """The policy at every infoset met: `policy["Qs:cr|Kh:"]` as in `Policy`; uniform elsewhere."""

    def __init__(self, rules: SampledGame, memory: SampledMemory, weights: array[float]):
        self.spec, self.num_players = rules.spec, rules.num_players
        self.rows: dict[tuple[int, str], dict[str, float]] = {}
        for where, (first, names) in memory.infosets.items():
            row = weights[first : first + len(names)].tolist()
            total = sum(row)
            row = [x / total if total > 0.0 else 1.0 / len(row) for x in row]
            self.rows[where] = dict(zip(names, row, strict=True))

    def __getitem__(self, key: str | tuple[int, str]) -> dict[str, float]:
        places = [key] if isinstance(key, tuple) else [(p, key) for p in range(self.num_players)]
        found = [place for place in places if place in self.rows]
        if len(found) == 1:
            return self.rows[found[0]]
        if found:
            raise ConfigError(f"several players have an infoset {key!r}; give the player too")
        near = suggestion(str(key), [name for _, name in list(self.rows)[:20_000]])
        raise ConfigError(f"infoset {key!r} of {self.spec} has not been met{near}")

    def __len__(self) -> int:
        return len(self.rows)

    def items(self) -> Iterator[tuple[int, str, dict[str, float]]]:
        """(player, infoset key, action name -> probability) for every infoset met."""
        for (player, key), row in self.rows.items():
            yield player, key, row

    def on(self, tree: Tree) -> Policy:
        """The same policy on a tree, uniform at infosets never met; for exact judgement."""
        parts = []
        for infoset, key in enumerate(tree.infoset_keys):
            names = tree.sequence_names[tree.offset[infoset] : tree.offset[infoset + 1]]
            row = self.rows.get((int(tree.infoset_player[infoset]), key), {})
            if row and tuple(row) != names:
                raise ConfigError(f"a policy for {self.spec} does not fit {key!r} of {tree.spec}")
            parts += [row.get(name, 1.0 / len(names)) for name in names]
        return Policy(tree, np.array(parts))

    def save(self, path: str | Path) -> None:
        """Write the policy to one file; `load_policy` reads it back, given a tree."""
        content = {
            "spec": self.spec,
            "infoset_player": np.array([player for player, _ in self.rows], np.int8),
            "offset": np.cumsum([0, *map(len, self.rows.values())]),
            "infoset_keys": tuple(key for _, key in self.rows),
            "sequence_names": tuple(name for row in self.rows.values() for name in row),
            "probabilities": np.array([p for row in self.rows.values() for p in row.values()]),
            "partial": True,
        }
        write_arrays(path, FORMAT, content)

    def to_json(self, path: str | Path) -> None:
        """Write the policy as JSON: for each player, infoset key -> action name -> probability."""
        write_json(path, self.spec, self.num_players, self.items())

    def to_csv(self, path: str | Path) -> None:
        """Write the policy as CSV: one line per player, infoset key and action."""
        write_csv(path, self.items())


def sample_rules(
    rules: SampledGame, memory: SampledMemory, iterations: int, kernel: Any, *settings: Any
) -> SampledMemory:
    """Run a kernel of the Monte Carlo family, as plain Python, on the rules."""
    walk = _plain(kernel.__module__)[kernel.__name__]
    nodes = SampledNodes(rules.game, memory)
    arena = Arena(nodes, nodes.utilities, nodes.slot, rules.num_players)
    table, tally = memory.tables, [0, 0]
    room = Scratch([0], tally, *(defaultdict(float) for _ in range(7)))
    for t in range(memory.iteration + 1, memory.iteration + iterations + 1):
        walk(t, t + 1, memory.seed, *settings, arena, table, room)
        nodes.forget()
        memory.iteration = t
    memory.touched += tally[0]
    return memory


@cache
def _plain(module: str) -> dict[str, Any]:
    return plain(sys.modules[module], mix=python_mix, start=python_start, draw=python_draw)


def python_mix(bits: int) -> int:
    """`draws.mix` without NumPy's fixed-size integers."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    return bits ^ (bits >> 31)


def python_start(seed: int, t: int, stream: int, rng: list[int]) -> None:
    """`draws.start`: the same draws, bit for bit."""
    golden = 0x9E3779B97F4A7C15
    mixed = python_mix((seed + golden * t) & MASK)
    rng[0] = python_mix((mixed + golden * stream) & MASK)


def python_draw(rng: list[int]) -> float:
    """`draws.draw`: the same draws, bit for bit."""
    rng[0] = (rng[0] + 0x9E3779B97F4A7C15) & MASK
    return float((python_mix(rng[0]) >> 11) * 2.0**-53)
