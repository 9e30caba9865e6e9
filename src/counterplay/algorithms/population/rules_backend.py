"""PSRO on rules, without a tree: learned responses, and payoffs estimated from episodes.

A policy of a pool is a table of the infosets that its responder visited; it is uniform elsewhere.
The player's previous infoset and action are stored for every infoset, so that the reach of each
table can be computed and a mixture of tables becomes one table.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from counterplay.algorithms.population.empirical_payoffs import estimate_joint_payoff
from counterplay.algorithms.population.meta_solvers import MetaSolver
from counterplay.algorithms.population.oracles import Response, WeightedPolicy
from counterplay.algorithms.population.population import Population
from counterplay.algorithms.population.psro_loop import update_meta_strategy
from counterplay.algorithms.population.q_learning_response import QLearningResponse, QTablePolicy
from counterplay.arenas.rules import RulesArena, SizeReport, TabularPolicy
from counterplay.core.arena import UNDERFLOW_THRESHOLD, Arena, Floats
from counterplay.core.parallel import map_calls

PolicyTable = dict[str, list[float]]  # infoset key -> probabilities of its actions
BYTES_PER_KEY = 260  # of a dictionary entry with its string, without the characters
PAYOFF_CONFIDENCE = 0.95  # of the intervals of payoffs


class InfosetInfo(NamedTuple):
    """The actions of an infoset, and the player's last infoset and action before it."""

    action_names: list[str]
    parent_key: str | None  # None at the player's first infosets
    parent_action: int


@dataclass
class RulesPopulation(Population):
    """Pools of tables, and the infosets that any of them contains."""

    margins: Floats = field(default_factory=lambda: np.zeros(0))  # half widths, as `payoffs`
    tables: list[list[PolicyTable]] = field(default_factory=list)  # by player
    infosets: list[dict[str, InfosetInfo]] = field(default_factory=list)  # by player, parents first
    nodes_touched: int = 0  # episodes played

    @property
    def size(self) -> SizeReport:
        """Numbers of infosets and entries, and the memory that they take."""
        keys = [key for infosets in self.infosets for key in infosets]
        entries = sum(len(row) for pool in self.tables for table in pool for row in table.values())
        num_rows = sum(len(table) for pool in self.tables for table in pool)
        num_characters = sum(map(len, keys))
        num_bytes = BYTES_PER_KEY * (len(keys) + num_rows) + num_characters + 8 * entries
        return SizeReport(self.iteration, self.nodes_touched, len(keys), entries, num_bytes)

    @property
    def pool_sizes(self) -> tuple[int, ...]:
        return tuple(len(pool) for pool in self.tables)

    def to_arrays(self) -> dict[str, Any]:
        """Return the fields as arrays, numbers and strings; the tables are JSON in bytes."""
        text = json.dumps([self.tables, self.infosets])
        names = (
            *("iteration", "seed", "nodes_touched", "stop_reason", "payoffs", "margins"),
            *("pool_size_history", "meta_strategy_history", "finished"),
        )
        stored = {name: getattr(self, name) for name in names}
        stored |= {f"meta.{k}": part for k, part in enumerate(self.meta_strategy)}
        stored |= {f"counts.{k}": part for k, part in enumerate(self.counts)}
        return stored | {"index": np.frombuffer(text.encode(), np.uint8)}

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> Self:
        """Return the memory that `to_arrays` stored."""
        tables, infosets = json.loads(stored["index"].tobytes())
        rest = {key: value for key, value in stored.items() if "." not in key and key != "index"}
        players = range(len(tables))
        return cls(
            **rest,
            plans=[],
            counts=[stored[f"counts.{p}"] for p in players],
            meta_strategy=[stored[f"meta.{p}"] for p in players if f"meta.{p}" in stored],
            tables=tables,
            infosets=[{key: InfosetInfo(*info) for key, info in part.items()} for part in infosets],
        )

    def find_mismatch(self, arena: Arena) -> str:
        fits = len(self.tables) == arena.num_players
        fits = fits and self.payoffs.shape == self.margins.shape == (
            len(self.tables),
            *self.pool_sizes,
        )
        return "" if fits else "its pools are those of another game"


def new_rules_population(arena: RulesArena, seed: int) -> RulesPopulation:
    """Return empty pools."""
    players = range(arena.num_players)
    no_payoffs = np.zeros((arena.num_players, *(0 for _ in players)))
    return RulesPopulation(
        iteration=0,
        seed=seed,
        plans=[],
        counts=[np.zeros(0, np.int64) for _ in players],
        payoffs=no_payoffs,
        margins=no_payoffs,
        tables=[[] for _ in players],
        infosets=[{} for _ in players],
    )


def iterate_on_rules(
    arena: RulesArena,
    memory: RulesPopulation,
    iterations: int,
    oracle: QLearningResponse,
    solve: MetaSolver,
    payoff_episodes: int,
) -> RulesPopulation:
    """Run iterations, until nothing changes; the first policies are uniform play."""
    for _ in memory.begin_iterations(iterations):
        tables = (
            _learn_responses(arena, memory, oracle)
            if memory.meta_strategy
            else [{}] * arena.num_players
        )
        old_sizes = memory.pool_sizes
        old_counts = [counts.copy() for counts in memory.counts]
        for player, table in enumerate(tables):
            if table in memory.tables[player]:
                memory.counts[player][memory.tables[player].index(table)] += 1
            else:
                memory.tables[player].append(table)
                memory.counts[player] = np.append(memory.counts[player], 1)
        _estimate_payoffs(arena, memory, old_sizes, payoff_episodes)
        is_new = memory.pool_sizes != old_sizes
        if not update_meta_strategy(memory, solve, is_new, old_counts):
            memory.finish(
                "every learned response is in the pools already; better ones may exist, and "
                "exploitability on rules is not known"
            )
    return memory


def mixture_policy(arena: RulesArena, memory: RulesPopulation) -> TabularPolicy:
    """Return the table with the same reach as the mixtures of the pools."""
    rows = {}
    for player, weights in enumerate(memory.meta_strategy):
        tables: list[PolicyTable] = memory.tables[player]
        reach: dict[tuple[str | None, int], Floats] = {(None, 0): weights}  # [n_i] by sequence
        for key, (names, parent_key, parent_action) in memory.infosets[player].items():
            uniform = [1.0 / len(names)] * len(names)
            policies = np.array([table.get(key, uniform) for table in tables])
            sequences = reach[parent_key, parent_action][:, None] * policies
            reach |= {(key, action): part for action, part in enumerate(sequences.T)}
            total = sequences.sum(axis=0)
            scale = total.sum()
            row = total / scale if scale > UNDERFLOW_THRESHOLD else np.array(uniform)
            rows[player, key] = dict(zip(names, row.tolist(), strict=True))
    return TabularPolicy(arena.game, rows)


def pool_policy(arena: RulesArena, memory: RulesPopulation, number: int) -> TabularPolicy:
    """Return all players' policies with an index in their pools; the last of a smaller pool."""
    rows: dict[tuple[int, str], dict[str, float]] = {}
    for player, pool in enumerate(memory.tables):
        table = pool[min(number, len(pool) - 1)]
        rows |= _policy_from_table(arena, memory, player, table).rows
    return TabularPolicy(arena.game, rows)


def _learn_responses(
    arena: RulesArena, memory: RulesPopulation, oracle: QLearningResponse
) -> list[PolicyTable]:
    """Return every player's learned response to the mixtures of the others, as a table."""
    opponents, tables = [WeightedPolicy(1.0, mixture_policy(arena, memory))], []
    first_seed = memory.seed + 1 + memory.iteration * arena.num_players
    calls = [(arena, p, opponents, first_seed + p) for p in range(arena.num_players)]
    responses: list[Response] = map_calls(oracle.respond, calls)
    for player, response in enumerate(responses):
        policy: QTablePolicy = response.policy
        for _, key in policy.rows:
            _add_infoset(memory.infosets[player], key, policy, player)
        tables.append({key: list(row.values()) for (_, key), row in policy.rows.items()})
    return tables


def _add_infoset(
    infosets: dict[str, InfosetInfo], key: str, policy: QTablePolicy, player: int
) -> None:
    """Add an infoset after the player's earlier infosets."""
    if key not in infosets:
        parent_key, parent_action = policy.parent_sequences.get((player, key), (None, 0))
        if parent_key is not None:
            _add_infoset(infosets, parent_key, policy, player)
        infosets[key] = InfosetInfo(list(policy.rows[player, key]), parent_key, parent_action)


def _estimate_payoffs(
    arena: RulesArena, memory: RulesPopulation, old_sizes: Sequence[int], payoff_episodes: int
) -> None:
    """Estimate the payoffs of joint policies with a new policy; the others are reused."""
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
            agents = [pools[player][k] for player, k in enumerate(joint)]
            cell: tuple[slice | int, ...] = (slice(None), *joint)
            mean[cell], margin[cell] = estimate_joint_payoff(
                game, agents, payoff_episodes, memory.seed, PAYOFF_CONFIDENCE
            )
            memory.nodes_touched += payoff_episodes
    memory.payoffs, memory.margins = mean, margin


def _policy_from_table(
    arena: RulesArena, memory: RulesPopulation, player: int, table: PolicyTable
) -> TabularPolicy:
    infosets = memory.infosets[player]
    rows = {
        (player, key): dict(zip(infosets[key].action_names, row, strict=True))
        for key, row in table.items()
    }
    return TabularPolicy(arena.game, rows)
