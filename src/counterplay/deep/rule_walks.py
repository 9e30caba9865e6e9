"""External sampling on rules that are never unrolled: many walks go down together, level by level.

One call of the networks a level; values come back up afterwards. What walks find goes to
reservoirs, which hold observations: there are no infosets to number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.deep.batches import Ask, asked, choose, rng_of
from counterplay.deep.stepping import LONGEST, Rules
from counterplay.deep.transitions import Transitions, bytes_of, no_transitions
from counterplay.errors import ConfigError, GameError
from counterplay.game import TERMINAL
from counterplay.registry import spec_of

MOST_BYTES = 8 * 2**30  # of all that is remembered
AT_ONCE = 64  # walks that go down together


class Samples(NamedTuple):
    """A reservoir of M rows."""

    seen: Ints  # [1] rows that have come by
    observation: Any  # [M, X]
    legal: Any  # [M, A]
    target: Any  # [M, A] regrets, or policies
    weight: Floats  # [M]


class RuleWalks(NamedTuple):
    """What walks remember, by player."""

    replay: tuple[Samples, ...]
    met: tuple[Samples, ...]  # the others' policies; without room if nobody asks for them
    ring: Transitions  # for critics; without room if there is none
    touched: Ints  # [] nodes

    @property
    def visits(self) -> Any:
        """How much every decision of the ring counts, as `traversals.Walks` has it of nodes."""
        return self.ring.weight


def no_walks(
    rules: Rules,
    reservoir_size: int,
    policies: bool,
    regrets: bool = True,
    critic_memory: int = 0,
) -> RuleWalks:
    """Nothing remembered; with room for others' policies, regrets, and decisions for a critic."""
    if not reservoir_size:
        raise ConfigError(
            "on rules there are no infosets to keep sums for: set reservoir_size, such as 200000"
        )
    row = 4 * rules.num_features + 5 * rules.num_actions + 4
    sizes = {
        "reservoir_size": (reservoir_size, row * rules.num_players * (regrets + policies)),
        "critic_memory": (critic_memory, bytes_of(rules)),
    }
    for name, (count, each) in sizes.items():
        if count * each > MOST_BYTES:
            raise ConfigError(
                f"{name} is {count}: these take {count * each / 2**30:,.1f} GiB on "
                f"{spec_of(rules.game)}, more than {MOST_BYTES / 2**30:.0f}; use fewer"
            )

    def empty(size: int) -> Samples:
        return Samples(
            np.zeros(1, np.int64),
            np.zeros((size, rules.num_features), np.float32),
            np.zeros((size, rules.num_actions), bool),
            np.zeros((size, rules.num_actions), np.float32),
            np.zeros(size, np.float32),
        )

    players = range(rules.num_players)
    return RuleWalks(
        tuple(empty(reservoir_size if regrets else 0) for _ in players),
        tuple(empty(reservoir_size if policies else 0) for _ in players),
        no_transitions(rules, critic_memory),
        np.zeros((), np.int64),
    )


def keep(samples: Samples, rng: np.random.Generator, *rows: Any) -> None:
    """Offer rows to a reservoir: all that ever came by are kept equally likely."""
    size, count = samples.weight.size, len(rows[0])
    if not size or not count:
        return
    number = samples.seen[0] + np.arange(count)
    place = np.where(number < size, number, (rng.random(count) * (number + 1)).astype(np.int64))
    taken = np.flatnonzero(place < size)
    for room, new in zip(samples[1:], rows, strict=True):
        room[place[taken]] = new[taken]
    samples.seen[0] += count


def external(
    rules: Rules,
    walks: RuleWalks,
    ask: Ask,
    player: int,
    count: int,
    weight: float,
    key: jax.Array,
) -> None:
    """`count` walks in which the player tries everything; regrets and policies count `weight`."""
    rng = rng_of(key)
    for first in range(0, count, AT_ONCE):
        _descend(rules, walks, ask, player, min(AT_ONCE, count - first), weight, rng)


def _descend(
    rules: Rules,
    walks: RuleWalks,
    ask: Ask,
    player: int,
    count: int,
    weight: float,
    rng: np.random.Generator,
) -> None:
    states = rules.start(count)
    levels: list[tuple[Any, ...]] = []
    while len(states):
        if len(levels) == LONGEST:
            raise GameError(f"{spec_of(rules.game)}: not over after {LONGEST:,} decisions")
        states, turn = rules.past_chance(states, rng)
        walks.touched[...] += len(states)
        value = np.zeros(len(states))
        over = np.flatnonzero(turn.player == TERMINAL)
        if over.size:
            value[over] = rules.paid(rules.some(states, over))[:, player]
        here = np.flatnonzero(turn.player >= 0)
        if not here.size:
            levels.append((value, here, None))
            break
        acts = turn.player[here]
        legal, number = rules.legal(turn, here)
        seen = rules.observed(rules.some(states, here), acts)
        policy, _ = asked(rules, ask, acts, seen, legal)
        for other in range(rules.num_players):
            mine = np.flatnonzero(acts == other)
            if other != player and mine.size:
                counts = np.full(mine.size, weight, np.float32)
                keep(walks.met[other], rng, seen[mine], legal[mine], policy[mine], counts)
        own = acts == player
        action = choose(policy, rng.random(here.size))
        tried = np.where(own[:, None], legal, np.arange(legal.shape[1]) == action[:, None])
        row, which = np.nonzero(tried)
        levels.append((value, here, (own, seen, legal, policy, row, which)))
        states = rules.taken(states, turn, here[row], number[row, which])
    _ascend(walks.replay[player], levels, weight, rng)


def _ascend(
    samples: Samples, levels: list[tuple[Any, ...]], weight: float, rng: np.random.Generator
) -> None:
    """Values from the ends up, and the player's regrets on the way."""
    below = np.zeros(0)
    for value, here, met in reversed(levels):
        if met is not None:
            own, seen, legal, policy, row, which = met
            worth = np.zeros(legal.shape)
            worth[row, which] = below
            expected = np.where(own, (policy * worth).sum(axis=1), worth.sum(axis=1))
            value[here] = expected
            mine = np.flatnonzero(own)
            regret = np.where(legal[mine], worth[mine] - expected[mine, None], 0.0)
            counts = np.full(mine.size, weight, np.float32)
            keep(samples, rng, seen[mine], legal[mine], regret, counts)
        below = value
