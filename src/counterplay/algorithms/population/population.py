"""Populations: a pool of policies for each player, the payoffs between them, and their mixtures.

A policy is stored as its realization plan (plan, for short): the player's own reach [S_i] of each
of its sequences. Equal plans play alike, mixtures of plans are plans (Kuhn, 1953), and the value of
a plan is its product with the gradient of the others, so that one gradient per joint policy of the
others gives the payoffs of a whole pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import product
from typing import Annotated, Any, Self, TypeVar

import numpy as np
from annotated_types import Ge, Lt, Predicate
from numpy.typing import NDArray

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints, SequenceArena
from counterplay.core.evaluation import compute_best_responses
from counterplay.core.policy import Policy, policy_from_weights, uniform_policy
from counterplay.errors import ConfigError
from counterplay.kernels.sequence_form import sweeps
from counterplay.matrix.normal_form import NormalForm

PLAN_TOLERANCE = 1e-12  # plans whose entries differ by at most this are equal
PAYOFF_RESOLUTION = 2.0**44  # steps up to the largest payoff; rounding makes ties exact
INITIAL_POLICIES = ("first", "uniform", "random", "response")


def is_initial_policy(name: str) -> bool:
    """one of first, uniform, random, response"""
    return name in INITIAL_POLICIES


InitialPolicy = Annotated[str, Predicate(is_initial_policy)]
RelativeGain = Annotated[float, Ge(0.0), Lt(1.0)]  # in units of the largest utility
LearnerArrays = list[NDArray[Any]]  # the states of learners, as one list of arrays


@dataclass
class Population:
    """The memory of population methods.

    Player i has n_i policies and S_i sequences, and T is the number of iterations so far. The
    meta-strategy is one mixture for each player, or one distribution over joint policies.
    """

    iteration: int
    seed: int
    plans: list[Floats]  # by player [n_i, S_i]
    counts: list[Ints]  # by player [n_i] how often each policy was added
    payoffs: Floats  # [P, n_0, ..., n_{P-1}]
    # [n_i] by player, or one joint distribution [n_0, ..., n_{P-1}]
    meta_strategy: list[Floats] = field(default_factory=list)
    # [T * P] sizes of the pools after each iteration
    pool_size_history: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    # the meta-strategies of all iterations, flattened and joined
    meta_strategy_history: Floats = field(default_factory=lambda: np.zeros(0))
    learner_arrays: LearnerArrays = field(default_factory=list)  # of learners that continue
    learner_episodes: int = 0  # episodes played by learners so far
    finished: bool = False
    stop_reason: str = ""  # why it finished

    def to_arrays(self) -> dict[str, Any]:
        """Return the fields as arrays, numbers and strings; a list has one entry per element."""
        stored: dict[str, Any] = {}
        for part in fields(self):
            value = getattr(self, part.name)
            if isinstance(value, list):
                stored[f"{part.name}.size"] = len(value)
                stored |= {f"{part.name}.{k}": array for k, array in enumerate(value)}
            else:
                stored[part.name] = value
        return stored

    @classmethod
    def from_arrays(cls, stored: Mapping[str, Any]) -> Self:
        """Return the memory that `to_arrays` stored."""
        try:
            values: dict[str, Any] = {
                part.name: [stored[f"{part.name}.{k}"] for k in range(stored[f"{part.name}.size"])]
                if f"{part.name}.size" in stored
                else stored[part.name]
                for part in fields(cls)
            }
        except (KeyError, TypeError) as error:
            raise ConfigError(f"the stored population lacks {error}") from error
        return cls(**values)

    def find_mismatch(self, arena: SequenceArena) -> str:
        """Return why a memory from a file does not fit an arena, or "": kernels trust its sizes."""
        if problem := find_plan_mismatch(arena, self.plans):
            return problem
        if [counts.shape for counts in self.counts] != [plans.shape[:1] for plans in self.plans]:
            return "the numbers of plans and of their counts differ"
        if self.payoffs.shape != (arena.num_players, *self.pool_sizes):
            return "the payoffs are those of other pools"
        return ""

    @property
    def pool_sizes(self) -> tuple[int, ...]:
        """Number of policies of each player."""
        return tuple(len(plans) for plans in self.plans)

    @property
    def meta_game(self) -> NormalForm:
        """The restricted game, in which every policy of a pool is an action."""
        if not min(self.pool_sizes):
            raise ConfigError("a pool is empty; a restricted game needs a policy of each player")
        return NormalForm(self.payoffs)

    def begin_iterations(self, iterations: int) -> Iterator[int]:
        """Count iterations, and yield the number of each until the method has finished."""
        for _ in range(iterations):
            self.iteration += 1
            if not self.finished:
                yield self.iteration

    def record_meta_strategy(self, meta_strategy: Sequence[Floats]) -> None:
        """Set the meta-strategy, and append it to the history."""
        self.meta_strategy = [np.array(part) for part in meta_strategy]
        self.pool_size_history = np.append(self.pool_size_history, self.pool_sizes)
        self.meta_strategy_history = np.concatenate(
            [self.meta_strategy_history, *(part.ravel() for part in self.meta_strategy)]
        )

    def finish(self, reason: str) -> None:
        """Mark the memory as final: further iterations change nothing."""
        self.finished, self.stop_reason = True, f"ended at iteration {self.iteration}: {reason}"


PopulationT = TypeVar("PopulationT", bound=Population)


def new_population(
    arena: SequenceArena, seed: int, population_class: type[PopulationT]
) -> PopulationT:
    """Return empty pools; before the first iteration all players play uniformly."""
    if not arena.has_perfect_recall:
        raise ConfigError(
            f"a population needs perfect recall, which {arena.spec} lacks: a mixture of policies "
            "is not a policy there"
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
    """Return why plans [k, S_i] by player do not fit an arena, or ""."""
    if len(plans) != arena.num_players:
        return f"it has {len(plans)} pools for {arena.num_players} players"
    for player, part in enumerate(plans):
        mine = player_sequences(arena, player)
        if part.ndim != 2 or part.shape[1] != mine.stop - mine.start:
            return f"the plans of player {player} have other sequences"
    return ""


def is_zero_sum(arena: SequenceArena) -> bool:
    """Return True for a two-player zero-sum game; factored arenas are always zero-sum."""
    return arena.num_players == 2 and (not isinstance(arena, TreeArena) or arena.is_zero_sum)


def check_zero_sum(algorithm_name: str, arena: SequenceArena) -> None:
    """Raise ConfigError unless the game has two players and is zero-sum."""
    if not is_zero_sum(arena):
        raise ConfigError(
            f"{algorithm_name} needs a two-player zero-sum game, which {arena.spec} is not"
        )


def player_sequences(arena: SequenceArena, player: int) -> slice:
    """Return the slice of the player's sequences among all sequences."""
    first, last = arena.form.offset[arena.form.player_infoset[player : player + 2]].tolist()
    return slice(first, last)


def num_player_sequences(arena: SequenceArena, player: int) -> int:
    """Return the number S_i of the player's sequences."""
    sequences = player_sequences(arena, player)
    return int(sequences.stop - sequences.start)


def reach_from_probabilities(arena: SequenceArena, probabilities: Floats) -> Floats:
    """Return every player's own reach [S + 1] of its sequences."""
    reach = np.ones(arena.num_sequences + 1)
    sweeps.forward(arena.form, 0, arena.form.parent.size, probabilities, reach)
    return reach


def reach_from_plans(plans: Sequence[Floats]) -> Floats:
    """Return the reach [S + 1] if every player follows its plan [S_i]."""
    return np.concatenate([*plans, [1.0]])


def plan_from_policy(arena: SequenceArena, policy: Policy, player: int) -> Floats:
    """Return one player's plan [S_i] of a policy."""
    return reach_from_probabilities(arena, policy.probabilities)[player_sequences(arena, player)]


def plan_gradient(arena: SequenceArena, player: int, opponent_plan: Floats) -> Floats:
    """Return the gradient [S_i + 1] of a player of two against a plan [S_j] of the other.

    Entry s is the value of reaching sequence s; the last entry is that of the empty sequence.
    """
    idle = np.zeros(num_player_sequences(arena, player))
    reach = reach_from_plans([opponent_plan, idle] if player else [idle, opponent_plan])
    cf_value = np.zeros(reach.size)
    arena.gradient(player, reach, cf_value)
    return np.append(cf_value[player_sequences(arena, player)], cf_value[-1])


def policy_from_plans(arena: SequenceArena, plans: Sequence[Floats]) -> Policy:
    """Return the policy in which every player follows its plan; uniform where it has no reach."""
    return policy_from_weights(arena, np.maximum(np.concatenate(list(plans)), 0.0))


def policy_from_mixtures(
    arena: SequenceArena, memory: Population, mixtures: Sequence[Floats]
) -> Policy:
    """Return the policy with the same reach as the mixtures of the pools."""
    if not min(memory.pool_sizes):
        return uniform_policy(arena)
    pairs = zip(mixtures, memory.plans, strict=True)
    return policy_from_plans(arena, [mixture @ plans for mixture, plans in pairs])


def policy_from_meta_strategy(arena: SequenceArena, memory: Population) -> Policy:
    """Return the policy of a meta-strategy that is one mixture for each player."""
    return policy_from_mixtures(arena, memory, memory.meta_strategy)


def initial_plans(arena: SequenceArena, initial_policy: str, seed: int) -> list[Floats]:
    """Return the first policy of every player, as a pool [1, S_i].

    Args:
        initial_policy: "first" always takes the first action, "uniform" is uniform play, "random"
            is sampled with the seed, "response" is the best response to uniform play.
    """
    uniform = uniform_policy(arena).probabilities
    if initial_policy == "first":
        probabilities = np.zeros(arena.num_sequences)
        probabilities[arena.offset[:-1]] = 1.0
    elif initial_policy == "random":
        weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
        probabilities = policy_from_weights(arena, weights).probabilities
    elif initial_policy == "response":
        probabilities = compute_best_responses(arena, uniform).response[:-1]
    else:
        probabilities = uniform
    reach = reach_from_probabilities(arena, probabilities)
    return [reach[None, player_sequences(arena, p)] for p in range(arena.num_players)]


def add_plans(arena: SequenceArena, memory: Population, new_plans: Sequence[Floats]) -> bool:
    """Add plans [k_i, S_i] of every player to the pools, and compute their payoffs.

    A plan that is in the pool already only increases its count.

    Returns:
        Whether any plan is new.
    """
    old_sizes = memory.pool_sizes
    for player, plans in enumerate(new_plans):
        for plan in plans:
            index = find_plan(memory.plans[player], plan)
            if index is not None:
                memory.counts[player][index] += 1
                continue
            memory.plans[player] = np.vstack([memory.plans[player], plan])
            memory.counts[player] = np.append(memory.counts[player], 1)
    memory.payoffs = compute_payoffs(arena, memory, old_sizes)
    return memory.pool_sizes != old_sizes


def find_plan(plans: Floats, plan: Floats) -> int | None:
    """Return the index of the first of the plans [n, S_i] that equals a plan [S_i], or None."""
    is_equal = (np.abs(plans - plan) <= PLAN_TOLERANCE).all(axis=1)
    return int(is_equal.argmax()) if is_equal.any() else None


def compute_payoffs(arena: SequenceArena, memory: Population, old_sizes: tuple[int, ...]) -> Floats:
    """Return the payoffs [P, n_0, ...] of the pools; those between the old policies are reused."""
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
                cell: list[int | slice] = [player, *joint]
                cell[1 + player] = slice(first, None)
                table[tuple(cell)] = plan_values(arena, memory, player, joint)[first:]
        table[player] = round_payoffs(table[player])
    return table


def plan_values(
    arena: SequenceArena, memory: Population, player: int, joint: Sequence[int]
) -> Floats:
    """Return the value of each policy [n_i] of the player against the others' policies in `joint`.

    Args:
        joint: the index of a policy for each player; that of `player` is ignored.
    """
    reach = reach_from_plans([memory.plans[p][k] for p, k in enumerate(joint)])
    cf_value = np.zeros(reach.size)
    arena.gradient(player, reach, cf_value)
    return memory.plans[player] @ cf_value[player_sequences(arena, player)] + cf_value[-1]


def round_payoffs(values: Floats) -> Floats:
    """Round values to 44 binary digits of the largest."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0.0:
        return values
    unit = 2.0 ** np.ceil(np.log2(largest)) / PAYOFF_RESOLUTION
    return np.round(values / unit) * unit + 0.0  # no negative zeros
