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

from counterplay.arena import Floats, Ints, SequenceArena
from counterplay.errors import ConfigError
from counterplay.kernels import sweeps
from counterplay.matrix.normal_form import NormalForm
from counterplay.policy import Policy, normalised_policy, uniform_policy
from counterplay.tree import Tree

SAME = 1e-12  # plans that differ by no more play alike
DIGITS = 2.0**44  # of a payoff, in units of the largest: what is tied must be equal
STARTS = ("first", "uniform", "random", "response")


class Growing:
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
class Population(Growing):
    """What the family keeps. Player i has n_i policies and S_i sequences; T iterations are done.

    A meta-strategy is one mixture for each player, or one table over everybody's policies together.
    """

    iteration: int
    seed: int
    plans: list[Floats]  # by player [n_i, S_i]
    counts: list[Ints]  # by player [n_i] how often each was added
    payoffs: Floats  # [P, n_0, ..., n_{P-1}]
    meta: list[Floats] = field(default_factory=list)  # [n_i] by player, or one [n_0, ..., n_{P-1}]
    sizes: Ints = field(default_factory=lambda: np.zeros(0, np.int64))  # [T * P] n_i by iteration
    metas: Floats = field(default_factory=lambda: np.zeros(0))  # all meta-strategies in a row
    learned: list[Any] = field(default_factory=list)  # what learners go on from, as arrays
    episodes: int = 0  # that learners played
    finished: bool = False
    ending: str = ""  # why

    def problem(self, arena: SequenceArena) -> str:
        """What is wrong with a memory from a file, or nothing: kernels trust its sizes."""
        if problem := misfit(arena, self.plans):
            return problem
        if [counts.shape for counts in self.counts] != [plans.shape[:1] for plans in self.plans]:
            return "its plans are not those that were counted"
        if self.payoffs.shape != (arena.num_players, *self.shape):
            return "the payoffs are those of other pools"
        return ""

    @property
    def shape(self) -> tuple[int, ...]:
        """How many policies each player has."""
        return tuple(len(plans) for plans in self.plans)

    @property
    def form(self) -> NormalForm:
        """The restricted game: every policy of a pool is an action."""
        if not min(self.shape):
            raise ConfigError("a pool is empty; a restricted game needs a policy of each player")
        return NormalForm(self.payoffs)

    def note(self, meta: Sequence[Floats]) -> None:
        """Make this the meta-strategy, and keep it with those before."""
        self.meta = [np.array(part) for part in meta]
        self.sizes = np.append(self.sizes, self.shape)
        self.metas = np.concatenate([self.metas, *(part.ravel() for part in self.meta)])

    def end(self, why: str) -> None:
        """Nothing will change any more."""
        self.finished, self.ending = True, f"ended at iteration {self.iteration}: {why}"


def new_population(arena: SequenceArena, seed: int, kind: type[Population] = Population) -> Any:
    """Pools without policies: before the first iteration everybody plays uniformly."""
    if not arena.perfect_recall:
        raise ConfigError(
            f"a population needs perfect recall, or mixtures are no policies; {arena.spec} forgets"
        )
    players = range(arena.num_players)
    sizes = [row(arena, p).stop - row(arena, p).start for p in players]
    return kind(
        iteration=0,
        seed=seed,
        plans=[np.zeros((0, size)) for size in sizes],
        counts=[np.zeros(0, np.int64) for _ in players],
        payoffs=np.zeros((len(sizes), *(0 for _ in players))),
    )


def misfit(arena: SequenceArena, plans: Sequence[Floats]) -> str:
    """Why plans [k, S_i] by player are not those of an arena, or nothing."""
    if len(plans) != arena.num_players:
        return "it has pools of other players"
    for player, part in enumerate(plans):
        mine = row(arena, player)
        if part.ndim != 2 or part.shape[1] != mine.stop - mine.start:
            return f"the plans of player {player} have other sequences"
    return ""


def is_zero_sum(arena: SequenceArena) -> bool:
    """Return True if two players have opposite interests; generated arenas all are of that kind."""
    return arena.num_players == 2 and (not isinstance(arena, Tree) or arena.zero_sum)


def check_zero_sum(name: str, arena: SequenceArena) -> None:
    """Refuse games that a method for two players with opposite interests cannot take."""
    if not is_zero_sum(arena):
        raise ConfigError(f"{name} needs a two-player zero-sum game; {arena.spec} is none")


def row(arena: SequenceArena, player: int) -> slice:
    """Where the player's sequences stand among all."""
    first, last = arena.form.offset[arena.form.player_infoset[player : player + 2]].tolist()
    return slice(first, last)


def reach_of(arena: SequenceArena, probabilities: Floats) -> Floats:
    """Every player's own reach [S + 1] of its sequences."""
    reach = np.ones(arena.num_sequences + 1)
    sweeps.forward(arena.form, 0, arena.form.parent.size, probabilities, reach)
    return reach


def reach_of_plans(arena: SequenceArena, plans: Sequence[Floats]) -> Floats:
    """The same [S + 1] where every player follows one plan."""
    return np.concatenate([*plans, [1.0]])


def plan_policy(arena: SequenceArena, plans: Sequence[Floats]) -> Policy:
    """The policy in which every player follows one plan; uniform where it never comes."""
    return normalised_policy(arena, np.maximum(np.concatenate(list(plans)), 0.0))


def mixed_policy(arena: SequenceArena, memory: Population, profile: Sequence[Floats]) -> Policy:
    """The policy that reaches everything as often as the mixtures of the pools do."""
    if not min(memory.shape):
        return uniform_policy(arena)
    pairs = zip(profile, memory.plans, strict=True)
    return plan_policy(arena, [mixture @ plans for mixture, plans in pairs])


def start_plans(arena: SequenceArena, start: str, seed: int) -> list[Floats]:
    """The first policy of every player, as a pool [1, S_i].

    "first": always the first action; "uniform": all equally often; "random": drawn by the seed;
    "response": the best response to uniform play.
    """
    uniform = uniform_policy(arena).probabilities
    if start == "first":
        chosen = np.zeros(arena.num_sequences)
        chosen[arena.offset[:-1]] = 1.0
    elif start == "random":
        weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
        chosen = normalised_policy(arena, weights).probabilities
    elif start == "response":
        from counterplay.evaluate import respond

        chosen = respond(arena, uniform).response[:-1]
    else:
        chosen = uniform
    reach = reach_of(arena, chosen)
    return [reach[None, row(arena, p)] for p in range(arena.num_players)]


def add_plans(arena: SequenceArena, memory: Population, found: Sequence[Floats]) -> bool:
    """Put plans [k_i, S_i] of every player into the pools; whether any of them is new.

    One that is there already is counted once more.
    """
    before = memory.shape
    for player, plans in enumerate(found):
        for plan in plans:
            known = same_plan(memory.plans[player], plan)
            if known is not None:
                memory.counts[player][known] += 1
                continue
            memory.plans[player] = np.vstack([memory.plans[player], plan])
            memory.counts[player] = np.append(memory.counts[player], 1)
    memory.payoffs = payoffs(arena, memory, before)
    return memory.shape != before


def same_plan(plans: Floats, plan: Floats) -> int | None:
    """The number of the first plan that plays like this one."""
    alike = (np.abs(plans - plan) <= SAME).all(axis=1)
    return int(alike.argmax()) if alike.any() else None


def payoffs(arena: SequenceArena, memory: Population, before: tuple[int, ...]) -> Floats:
    """The table for the pools as they are; what was there `before` is kept."""
    table = np.zeros((arena.num_players, *memory.shape))
    table[(slice(None), *map(slice, before))] = memory.payoffs
    if arena.num_players == 2 and isinstance(arena, Tree) and arena.zero_sum:
        old, new = before[1], memory.shape[1]
        for k in range(old, new):
            table[0, :, k] = worth(arena, memory, 0, (0, k))
        for k in range(before[0], memory.shape[0]):
            table[0, k, :old] = -worth(arena, memory, 1, (k, 0))[:old]
        table[0] = rounded(table[0])
        table[1] = 0.0 - table[0]
        return table
    for player in range(arena.num_players):
        others = [range(n) for n in memory.shape]
        others[player] = range(1)
        for joint in product(*others):
            old = all(joint[p] < n or p == player for p, n in enumerate(before))
            first = before[player] if old else 0
            if first < memory.shape[player]:
                cell: list[Any] = [player, *joint]
                cell[1 + player] = slice(first, None)
                table[tuple(cell)] = worth(arena, memory, player, joint)[first:]
        table[player] = rounded(table[player])
    return table


def worth(arena: SequenceArena, memory: Population, player: int, joint: Sequence[int]) -> Floats:
    """What each policy [n_i] of the player is worth when the others play theirs of `joint`."""
    reach = reach_of_plans(arena, [memory.plans[p][k] for p, k in enumerate(joint)])
    cf_value = np.zeros(reach.size)
    arena.gradient(player, reach, cf_value)
    return memory.plans[player] @ cf_value[row(arena, player)] + cf_value[-1]


def rounded(values: Floats) -> Floats:
    """The values to 44 binary digits of the largest."""
    largest = np.abs(values).max(initial=0.0)
    if largest == 0.0:
        return values
    unit = 2.0 ** np.ceil(np.log2(largest)) / DIGITS
    return np.round(values / unit) * unit + 0.0  # no negative zeros
