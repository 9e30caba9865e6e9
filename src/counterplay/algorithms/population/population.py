"""Pools: every player's policies, what they are worth to each other, and how they are mixed.

A policy of a pool is its plan: the player's own reach of each of its sequences. Plans that agree
play alike, mixtures of plans are plans (Kuhn, 1953), and what a plan is worth against others is a
product with their gradient: one gradient per policy pays for a whole row of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, SequenceArena
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps
from counterplay.matrix.normal_form import NormalForm

PLAN_TOLERANCE = 1e-12  # plans that differ by no more play alike
PAYOFF_RESOLUTION = 2.0**44  # of a payoff, in units of the largest: what is tied must be equal
INITIAL_POLICIES = ("first", "uniform", "random", "response")


class VariableSizeMemory:
    """A memory whose fields are numbers, strings, arrays, and lists of arrays that may grow."""

    def to_arrays(self) -> dict[str, Any]:
        """All of it as arrays, numbers and a string."""
        found: dict[str, Any] = {}
        for part in fields(self):  # type: ignore[arg-type]
            value = getattr(self, part.name)
            if isinstance(value, list):
                found[f"{part.name}.size"] = len(value)
                found |= {f"{part.name}.{k}": array for k, array in enumerate(value)}
            else:
                found[part.name] = value
        return found

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> Any:
        """The memory that `to_arrays` made these of."""
        try:
            found: dict[str, Any] = {
                part.name: [stored[f"{part.name}.{k}"] for k in range(stored[f"{part.name}.size"])]
                if f"{part.name}.size" in stored
                else stored[part.name]
                for part in fields(cls)  # type: ignore[arg-type]
            }
        except (KeyError, TypeError) as error:
            raise ConfigError(f"it has no {error}") from error
        return cls(**found)


@dataclass
class Population(VariableSizeMemory):
    """What the family keeps. Player i has n_i policies and S_i sequences; T iterations are done.

    A meta-strategy is one mixture for each player, or one table over everybody's policies together.
    """

    iteration: int
    seed: int
    plans: list[Floats]  # by player [n_i, S_i]
    counts: list[Ints]  # by player [n_i] how often each was added
    payoffs: Floats  # [P, n_0, ..., n_{P-1}]
    meta_strategy: list[Floats] = field(
        default_factory=list
    )  # [n_i] by player, or one [n_0, ..., n_{P-1}]
    pool_size_history: Ints = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )  # [T * P] n_i by iteration
    meta_strategy_history: Floats = field(
        default_factory=lambda: np.zeros(0)
    )  # all meta-strategies in a row
    learner_arrays: list[Any] = field(default_factory=list)  # what learners go on from, as arrays
    learner_episodes: int = 0  # that learners played
    finished: bool = False
    stop_reason: str = ""  # why

    def find_mismatch(self, arena: SequenceArena) -> str:
        """What is wrong with a memory from a file, or nothing: kernels trust its sizes."""
        if problem := find_plan_mismatch(arena, self.plans):
            return problem
        if [counts.shape for counts in self.counts] != [plans.shape[:1] for plans in self.plans]:
            return "its plans are not those that were counted"
        if self.payoffs.shape != (arena.num_players, *self.pool_sizes):
            return "the payoffs are those of other pools"
        return ""

    @property
    def pool_sizes(self) -> tuple[int, ...]:
        """How many policies each player has."""
        return tuple(len(plans) for plans in self.plans)

    @property
    def meta_game(self) -> NormalForm:
        """The restricted game: every policy of a pool is an action."""
        if not min(self.pool_sizes):
            raise ConfigError("a pool is empty; a restricted game needs a policy of each player")
        return NormalForm(self.payoffs)

    def record_meta_strategy(self, meta_strategy: Sequence[Floats]) -> None:
        """Make this the meta-strategy, and keep it with those before."""
        self.meta_strategy = [np.array(part) for part in meta_strategy]
        self.pool_size_history = np.append(self.pool_size_history, self.pool_sizes)
        self.meta_strategy_history = np.concatenate(
            [self.meta_strategy_history, *(part.ravel() for part in self.meta_strategy)]
        )

    def finish(self, reason: str) -> None:
        """Nothing will change any more."""
        self.finished, self.stop_reason = True, f"ended at iteration {self.iteration}: {reason}"


def new_population(
    arena: SequenceArena, seed: int, population_class: type[Population] = Population
) -> Any:
    """Pools without policies: before the first iteration everybody plays uniformly."""
    if not arena.has_perfect_recall:
        raise ConfigError(
            f"a population needs perfect recall, or mixtures are no policies; {arena.spec} forgets"
        )
    players = range(arena.num_players)
    sizes = [player_sequences(arena, p).stop - player_sequences(arena, p).start for p in players]
    return population_class(
        iteration=0,
        seed=seed,
        plans=[np.zeros((0, size)) for size in sizes],
        counts=[np.zeros(0, np.int64) for _ in players],
        payoffs=np.zeros((len(sizes), *(0 for _ in players))),
    )


def find_plan_mismatch(arena: SequenceArena, plans: Sequence[Floats]) -> str:
    """Why plans [k, S_i] by player are not those of an arena, or nothing."""
    if len(plans) != arena.num_players:
        return "it has pools of other players"
    for player, part in enumerate(plans):
        mine = player_sequences(arena, player)
        if part.ndim != 2 or part.shape[1] != mine.stop - mine.start:
            return f"the plans of player {player} have other sequences"
    return ""


def is_zero_sum(arena: SequenceArena) -> bool:
    """Return True if two players have opposite interests; generated arenas all are of that kind."""
    return arena.num_players == 2 and (not isinstance(arena, TreeArena) or arena.is_zero_sum)


def check_zero_sum(algorithm_name: str, arena: SequenceArena) -> None:
    """Refuse games that a method for two players with opposite interests cannot take."""
    if not is_zero_sum(arena):
        raise ConfigError(
            f"{algorithm_name} needs a two-player zero-sum game; {arena.spec} is none"
        )


def player_sequences(arena: SequenceArena, player: int) -> slice:
    """Where the player's sequences stand among all."""
    first, last = arena.form.offset[arena.form.player_infoset[player : player + 2]].tolist()
    return slice(first, last)


def reach_from_probabilities(arena: SequenceArena, probabilities: Floats) -> Floats:
    """Every player's own reach [S + 1] of its sequences."""
    reach = np.ones(arena.num_sequences + 1)
    sweeps.forward(arena.form, 0, arena.form.parent.size, probabilities, reach)
    return reach


def reach_from_plans(arena: SequenceArena, plans: Sequence[Floats]) -> Floats:
    """The same [S + 1] where every player follows one plan."""
    return np.concatenate([*plans, [1.0]])


def policy_from_plans(arena: SequenceArena, plans: Sequence[Floats]) -> Policy:
    """The policy in which every player follows one plan; uniform where it never comes."""
    return policy_from_weights(arena, np.maximum(np.concatenate(list(plans)), 0.0))


def policy_from_mixtures(
    arena: SequenceArena, memory: Population, mixtures: Sequence[Floats]
) -> Policy:
    """The policy that reaches everything as often as the mixtures of the pools do."""
    if not min(memory.pool_sizes):
        return uniform_policy(arena)
    pairs = zip(mixtures, memory.plans, strict=True)
    return policy_from_plans(arena, [mixture @ plans for mixture, plans in pairs])


def initial_plans(arena: SequenceArena, initial_policy: str, seed: int) -> list[Floats]:
    """The first policy of every player, as a pool [1, S_i].

    "first": always the first action; "uniform": all equally often; "random": drawn by the seed;
    "response": the best response to uniform play.
    """
    uniform = uniform_policy(arena).probabilities
    if initial_policy == "first":
        chosen = np.zeros(arena.num_sequences)
        chosen[arena.offset[:-1]] = 1.0
    elif initial_policy == "random":
        weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
        chosen = policy_from_weights(arena, weights).probabilities
    elif initial_policy == "response":
        from counterplay.core.evaluation import compute_best_responses

        chosen = compute_best_responses(arena, uniform).response[:-1]
    else:
        chosen = uniform
    reach = reach_from_probabilities(arena, chosen)
    return [reach[None, player_sequences(arena, p)] for p in range(arena.num_players)]


def add_plans(arena: SequenceArena, memory: Population, new_plans: Sequence[Floats]) -> bool:
    """Put plans [k_i, S_i] of every player into the pools; whether any of them is new.

    One that is there already is counted once more.
    """
    before = memory.pool_sizes
    for player, plans in enumerate(new_plans):
        for plan in plans:
            known = find_plan(memory.plans[player], plan)
            if known is not None:
                memory.counts[player][known] += 1
                continue
            memory.plans[player] = np.vstack([memory.plans[player], plan])
            memory.counts[player] = np.append(memory.counts[player], 1)
    memory.payoffs = compute_payoffs(arena, memory, before)
    return memory.pool_sizes != before


def find_plan(plans: Floats, plan: Floats) -> int | None:
    """The number of the first plan that plays like this one."""
    alike = (np.abs(plans - plan) <= PLAN_TOLERANCE).all(axis=1)
    return int(alike.argmax()) if alike.any() else None


def compute_payoffs(arena: SequenceArena, memory: Population, old_sizes: tuple[int, ...]) -> Floats:
    """The table for the pools as they are; what was there `before` is kept."""
    table = np.zeros((arena.num_players, *memory.pool_sizes))
    table[(slice(None), *map(slice, old_sizes))] = memory.payoffs
    if arena.num_players == 2 and isinstance(arena, TreeArena) and arena.is_zero_sum:
        old, new = old_sizes[1], memory.pool_sizes[1]
        for k in range(old, new):
            table[0, :, k] = plan_values(arena, memory, 0, (0, k))
        for k in range(old_sizes[0], memory.pool_sizes[0]):
            table[0, k, :old] = -plan_values(arena, memory, 1, (k, 0))[:old]
        table[0] = round_payoffs(table[0])
        table[1] = 0.0 - table[0]
        return table
    for player in range(arena.num_players):
        others = [range(n) for n in memory.pool_sizes]
        others[player] = range(1)
        for joint in product(*others):
            old = all(joint[p] < n or p == player for p, n in enumerate(old_sizes))
            first = old_sizes[player] if old else 0
            if first < memory.pool_sizes[player]:
                cell: list[Any] = [player, *joint]
                cell[1 + player] = slice(first, None)
                table[tuple(cell)] = plan_values(arena, memory, player, joint)[first:]
        table[player] = round_payoffs(table[player])
    return table


def plan_values(
    arena: SequenceArena, memory: Population, player: int, joint: Sequence[int]
) -> Floats:
    """What each policy [n_i] of the player is worth when the others play theirs of `joint`."""
    reach = reach_from_plans(arena, [memory.plans[p][k] for p, k in enumerate(joint)])
    cf_value = np.zeros(reach.size)
    arena.gradient(player, reach, cf_value)
    return memory.plans[player] @ cf_value[player_sequences(arena, player)] + cf_value[-1]


def round_payoffs(values: Floats) -> Floats:
    """The values to 44 binary digits of the largest."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0.0:
        return values
    unit = 2.0 ** np.ceil(np.log2(largest)) / PAYOFF_RESOLUTION
    return np.round(values / unit) * unit + 0.0  # no negative zeros
