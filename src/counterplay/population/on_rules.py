"""The loop on rules that are never unrolled: learned responses, payoffs from episodes.

A policy of a pool is a table of what its responder met, uniform elsewhere. Because every infoset
knows which own infoset and action came before it, a mixture of tables is again a table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from counterplay.arena import Floats
from counterplay.calls import results
from counterplay.population.meta_solvers import Solver
from counterplay.population.oracles import Oracle, Weighted
from counterplay.population.pools import Population
from counterplay.population.simulated import simulate
from counterplay.sampled import SampledGame, SampledPolicy, SizeReport

Table = dict[str, list[float]]  # infoset key -> probabilities of its actions
KEY_BYTES = 260  # of a dictionary entry with its string, the text not counted


@dataclass
class SampledPopulation(Population):
    """Pools of tables, and what is known of the infosets that any of them met.

    `known[i]` says of each infoset of player i, earlier ones first, what its actions are called
    and after which own infoset and action it comes.
    """

    margins: Floats = field(default_factory=lambda: np.zeros(0))  # as payoffs: half the intervals
    tables: list[list[Table]] = field(default_factory=list)  # by player
    known: list[dict[str, tuple[list[str], str | None, int]]] = field(default_factory=list)
    touched: int = 0  # episodes played

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        keys = [key for known in self.known for key in known]
        entries = sum(len(row) for pool in self.tables for table in pool for row in table.values())
        infosets = sum(len(table) for pool in self.tables for table in pool)
        text = sum(map(len, keys))
        count = KEY_BYTES * (len(keys) + infosets) + text + 8 * entries
        return SizeReport(self.iteration, self.touched, len(keys), entries, count)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(pool) for pool in self.tables)

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays and numbers: tables are JSON, as bytes."""
        text = json.dumps([self.tables, self.known])
        found = {name: getattr(self, name) for name in ("iteration", "seed", "touched", "ending")}
        for name in ("payoffs", "margins", "sizes", "metas", "finished"):
            found[name] = getattr(self, name)
        parts = {f"meta.{k}": part for k, part in enumerate(self.meta)}
        parts |= {f"counts.{k}": part for k, part in enumerate(self.counts)}
        return found | parts | {"index": np.frombuffer(text.encode(), np.uint8)}

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> SampledPopulation:
        """The memory that `to_arrays` made these of."""
        tables, known = json.loads(stored["index"].tobytes())
        rest = {key: value for key, value in stored.items() if "." not in key and key != "index"}
        players = range(len(tables))
        return cls(
            **rest,
            plans=[],
            counts=[stored[f"counts.{p}"] for p in players],
            meta=[stored[f"meta.{p}"] for p in players if f"meta.{p}" in stored],
            tables=tables,
            known=[
                {key: (names, above, k) for key, (names, above, k) in part.items()}
                for part in known
            ],
        )

    def problem(self, arena: Any) -> str:
        fits = len(self.tables) == arena.num_players
        fits = fits and self.payoffs.shape == self.margins.shape == (len(self.tables), *self.shape)
        return "" if fits else "its pools are those of another game"


def new_population(rules: SampledGame, seed: int) -> SampledPopulation:
    """Nobody knows anything: pools without policies."""
    players = range(rules.num_players)
    nothing = np.zeros((rules.num_players, *(0 for _ in players)))
    return SampledPopulation(
        iteration=0,
        seed=seed,
        plans=[],
        counts=[np.zeros(0, np.int64) for _ in players],
        payoffs=nothing,
        margins=nothing,
        tables=[[] for _ in players],
        known=[{} for _ in players],
    )


def iterate(
    rules: SampledGame,
    memory: SampledPopulation,
    iterations: int,
    oracle: Oracle,
    solve: Solver,
    episodes: int,
) -> SampledPopulation:
    """So many iterations; the first policy of everybody is uniform play."""
    for _ in range(iterations):
        memory.iteration += 1
        if memory.finished:
            continue
        found = _responses(rules, memory, oracle) if memory.meta else [{}] * rules.num_players
        before = memory.shape
        for player, table in enumerate(found):
            if table in memory.tables[player]:
                memory.counts[player][memory.tables[player].index(table)] += 1
            else:
                memory.tables[player].append(table)
                memory.counts[player] = np.append(memory.counts[player], 1)
        _simulate(rules, memory, before, episodes)
        meta = solve(memory)
        if memory.shape == before and all(map(np.array_equal, meta, memory.meta)):
            memory.end("every response is in the pools already")
        else:
            memory.note(meta)
    return memory


def mixture(rules: SampledGame, memory: SampledPopulation) -> SampledPolicy:
    """The table that reaches everything as often as the pools, mixed, do."""
    rows = {}
    for player, weights in enumerate(memory.meta):
        tables: list[Table] = memory.tables[player]
        reach: dict[Any, Floats] = {(None, 0): weights}  # of every table, by sequence
        for key, (names, above, k) in memory.known[player].items():
            chosen = np.array([table.get(key, [1.0 / len(names)] * len(names)) for table in tables])
            sequences = reach[above, k][:, None] * chosen
            reach |= {(key, place): part for place, part in enumerate(sequences.T)}
            total = sequences.sum(axis=0)
            scale = total.sum()
            uniform = np.full(len(names), 1.0 / len(names))
            row = total / scale if scale > 1e-290 else uniform
            rows[player, key] = dict(zip(names, row.tolist(), strict=True))
    return SampledPolicy(rules.game, rows)


def pool_policy(rules: SampledGame, memory: SampledPopulation, number: int) -> SampledPolicy:
    """Everybody's policy of that number; the last, where a pool has fewer."""
    rows: dict[tuple[int, str], dict[str, float]] = {}
    for player, pool in enumerate(memory.tables):
        table = pool[min(number, len(pool) - 1)]
        rows |= _policy(rules, memory, player, table).rows
    return SampledPolicy(rules.game, rows)


def _responses(rules: SampledGame, memory: SampledPopulation, oracle: Oracle) -> list[Table]:
    """Everybody's learned table against the mixtures of the others."""
    policy, found = mixture(rules, memory), []
    first = memory.seed + 1 + memory.iteration * rules.num_players
    each = [(rules, p, [Weighted(1.0, policy)], first + p) for p in range(rules.num_players)]
    for player, one in enumerate(results(oracle.respond, each)):
        response = one.policy
        for _, key in response.rows:
            _enter(memory.known[player], key, response, player)
        found.append({key: list(row.values()) for (_, key), row in response.rows.items()})
    return found


def _enter(known: dict[str, Any], key: str, response: Any, player: int) -> None:
    """Note an infoset, and those before it first."""
    if key not in known:
        above, k = response.before.get((player, key), (None, 0))
        if above is not None:
            _enter(known, above, response, player)
        known[key] = (list(response.rows[player, key]), above, k)


def _simulate(
    rules: SampledGame, memory: SampledPopulation, before: Sequence[int], episodes: int
) -> None:
    """Play the joint policies that have not met yet."""
    game, shape = rules.game, memory.shape
    pools = [
        [_policy(rules, memory, player, table) for table in pool]
        for player, pool in enumerate(memory.tables)
    ]
    old = (slice(None), *map(slice, before))
    mean, margin = np.zeros((2, game.num_players, *shape))
    mean[old], margin[old] = memory.payoffs, memory.margins
    for joint in product(*map(range, shape)):
        if any(k >= n for k, n in zip(joint, before, strict=True)):
            seated = [pools[player][k] for player, k in enumerate(joint)]
            cell: Any = (slice(None), *joint)
            mean[cell], margin[cell] = simulate(game, seated, episodes, memory.seed, 0.95)
            memory.touched += episodes
    memory.payoffs, memory.margins = mean, margin


def _policy(
    rules: SampledGame, memory: SampledPopulation, player: int, table: Table
) -> SampledPolicy:
    names = memory.known[player]
    rows = {(player, key): dict(zip(names[key][0], row, strict=True)) for key, row in table.items()}
    return SampledPolicy(rules.game, rows)
