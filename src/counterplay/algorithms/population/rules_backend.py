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

from counterplay.algorithms.population.empirical_payoffs import estimate_joint_payoff
from counterplay.algorithms.population.meta_solvers import MetaSolver
from counterplay.algorithms.population.oracles import Oracle, WeightedPolicy
from counterplay.algorithms.population.population import Population
from counterplay.arenas.rules import RulesArena, SizeReport, TabularPolicy
from counterplay.core.arena import Floats
from counterplay.core.parallel import map_calls

PolicyTable = dict[str, list[float]]  # infoset key -> probabilities of its actions
BYTES_PER_KEY = 260  # of a dictionary entry with its string, the text not counted


@dataclass
class RulesPopulation(Population):
    """Pools of tables, and what is known of the infosets that any of them met.

    `known[i]` says of each infoset of player i, earlier ones first, what its actions are called
    and after which own infoset and action it comes.
    """

    margins: Floats = field(default_factory=lambda: np.zeros(0))  # as payoffs: half the intervals
    tables: list[list[PolicyTable]] = field(default_factory=list)  # by player
    infosets: list[dict[str, tuple[list[str], str | None, int]]] = field(default_factory=list)
    nodes_touched: int = 0  # episodes played

    @property
    def size(self) -> SizeReport:
        """How much has been met so far."""
        keys = [key for known in self.infosets for key in known]
        entries = sum(len(row) for pool in self.tables for table in pool for row in table.values())
        infosets = sum(len(table) for pool in self.tables for table in pool)
        text = sum(map(len, keys))
        count = BYTES_PER_KEY * (len(keys) + infosets) + text + 8 * entries
        return SizeReport(self.iteration, self.nodes_touched, len(keys), entries, count)

    @property
    def pool_sizes(self) -> tuple[int, ...]:
        return tuple(len(pool) for pool in self.tables)

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays and numbers: tables are JSON, as bytes."""
        text = json.dumps([self.tables, self.infosets])
        found = {name: getattr(self, name) for name in ("iteration", "seed", "nodes_touched")}
        for name in ("stop_reason", "payoffs", "margins", "pool_size_history"):
            found[name] = getattr(self, name)
        for name in ("meta_strategy_history", "finished"):
            found[name] = getattr(self, name)
        parts = {f"meta.{k}": part for k, part in enumerate(self.meta_strategy)}
        parts |= {f"counts.{k}": part for k, part in enumerate(self.counts)}
        return found | parts | {"index": np.frombuffer(text.encode(), np.uint8)}

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> RulesPopulation:
        """The memory that `to_arrays` made these of."""
        tables, known = json.loads(stored["index"].tobytes())
        rest = {key: value for key, value in stored.items() if "." not in key and key != "index"}
        players = range(len(tables))
        return cls(
            **rest,
            plans=[],
            counts=[stored[f"counts.{p}"] for p in players],
            meta_strategy=[stored[f"meta.{p}"] for p in players if f"meta.{p}" in stored],
            tables=tables,
            infosets=[
                {key: (names, above, k) for key, (names, above, k) in part.items()}
                for part in known
            ],
        )

    def find_mismatch(self, arena: Any) -> str:
        fits = len(self.tables) == arena.num_players
        fits = fits and self.payoffs.shape == self.margins.shape == (
            len(self.tables),
            *self.pool_sizes,
        )
        return "" if fits else "its pools are those of another game"


def new_rules_population(arena: RulesArena, seed: int) -> RulesPopulation:
    """Nobody knows anything: pools without policies."""
    players = range(arena.num_players)
    nothing = np.zeros((arena.num_players, *(0 for _ in players)))
    return RulesPopulation(
        iteration=0,
        seed=seed,
        plans=[],
        counts=[np.zeros(0, np.int64) for _ in players],
        payoffs=nothing,
        margins=nothing,
        tables=[[] for _ in players],
        infosets=[{} for _ in players],
    )


def iterate_on_rules(
    arena: RulesArena,
    memory: RulesPopulation,
    iterations: int,
    oracle: Oracle,
    solve: MetaSolver,
    payoff_episodes: int,
) -> RulesPopulation:
    """So many iterations; the first policy of everybody is uniform play."""
    for _ in range(iterations):
        memory.iteration += 1
        if memory.finished:
            continue
        found = (
            _learn_responses(arena, memory, oracle)
            if memory.meta_strategy
            else [{}] * arena.num_players
        )
        before = memory.pool_sizes
        for player, table in enumerate(found):
            if table in memory.tables[player]:
                memory.counts[player][memory.tables[player].index(table)] += 1
            else:
                memory.tables[player].append(table)
                memory.counts[player] = np.append(memory.counts[player], 1)
        _estimate_payoffs(arena, memory, before, payoff_episodes)
        meta = solve(memory)
        if memory.pool_sizes == before and all(map(np.array_equal, meta, memory.meta_strategy)):
            memory.finish("every response is in the pools already")
        else:
            memory.record_meta_strategy(meta)
    return memory


def mixture_policy(arena: RulesArena, memory: RulesPopulation) -> TabularPolicy:
    """The table that reaches everything as often as the pools, mixed, do."""
    rows = {}
    for player, weights in enumerate(memory.meta_strategy):
        tables: list[PolicyTable] = memory.tables[player]
        reach: dict[Any, Floats] = {(None, 0): weights}  # of every table, by sequence
        for key, (names, above, k) in memory.infosets[player].items():
            chosen = np.array([table.get(key, [1.0 / len(names)] * len(names)) for table in tables])
            sequences = reach[above, k][:, None] * chosen
            reach |= {(key, place): part for place, part in enumerate(sequences.T)}
            total = sequences.sum(axis=0)
            scale = total.sum()
            uniform = np.full(len(names), 1.0 / len(names))
            row = total / scale if scale > 1e-290 else uniform
            rows[player, key] = dict(zip(names, row.tolist(), strict=True))
    return TabularPolicy(arena.game, rows)


def pool_policy(arena: RulesArena, memory: RulesPopulation, number: int) -> TabularPolicy:
    """Everybody's policy of that number; the last, where a pool has fewer."""
    rows: dict[tuple[int, str], dict[str, float]] = {}
    for player, pool in enumerate(memory.tables):
        table = pool[min(number, len(pool) - 1)]
        rows |= _policy_from_table(arena, memory, player, table).rows
    return TabularPolicy(arena.game, rows)


def _learn_responses(
    arena: RulesArena, memory: RulesPopulation, oracle: Oracle
) -> list[PolicyTable]:
    """Everybody's learned table against the mixtures of the others."""
    policy, found = mixture_policy(arena, memory), []
    first = memory.seed + 1 + memory.iteration * arena.num_players
    each = [(arena, p, [WeightedPolicy(1.0, policy)], first + p) for p in range(arena.num_players)]
    for player, one in enumerate(map_calls(oracle.respond, each)):
        response = one.policy
        for _, key in response.rows:
            _add_infoset(memory.infosets[player], key, response, player)
        found.append({key: list(row.values()) for (_, key), row in response.rows.items()})
    return found


def _add_infoset(infosets: dict[str, Any], key: str, response: Any, player: int) -> None:
    """Note an infoset, and those before it first."""
    if key not in infosets:
        above, k = response.parent_sequences.get((player, key), (None, 0))
        if above is not None:
            _add_infoset(infosets, above, response, player)
        infosets[key] = (list(response.rows[player, key]), above, k)


def _estimate_payoffs(
    arena: RulesArena, memory: RulesPopulation, old_sizes: Sequence[int], payoff_episodes: int
) -> None:
    """Play the joint policies that have not met yet."""
    game, shape = arena.game, memory.pool_sizes
    pools = [
        [_policy_from_table(arena, memory, player, table) for table in pool]
        for player, pool in enumerate(memory.tables)
    ]
    old = (slice(None), *map(slice, old_sizes))
    mean, margin = np.zeros((2, game.num_players, *shape))
    mean[old], margin[old] = memory.payoffs, memory.margins
    for joint in product(*map(range, shape)):
        if any(k >= n for k, n in zip(joint, old_sizes, strict=True)):
            seated = [pools[player][k] for player, k in enumerate(joint)]
            cell: Any = (slice(None), *joint)
            mean[cell], margin[cell] = estimate_joint_payoff(
                game, seated, payoff_episodes, memory.seed, 0.95
            )
            memory.nodes_touched += payoff_episodes
    memory.payoffs, memory.margins = mean, margin


def _policy_from_table(
    arena: RulesArena, memory: RulesPopulation, player: int, table: PolicyTable
) -> TabularPolicy:
    names = memory.infosets[player]
    rows = {(player, key): dict(zip(names[key][0], row, strict=True)) for key, row in table.items()}
    return TabularPolicy(arena.game, rows)
