"""External sampling on rules that are never unrolled: many walks go down together, level by level.

One call of the networks a level; values come back up afterwards. What walks find goes to
reservoirs, which hold observations: there are no infosets to number.

The walks of an iteration are numbered units of a few each, with random numbers of their own, and
what they find is offered to the reservoirs in the order of their numbers. So whoever walks them,
and how many do at once, never changes a bit.
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
DEFAULT_BYTES = 2**29  # of reservoirs whose size the user does not set
DEFAULT_RESERVOIR_SIZE = 200_000  # samples of each player, at most, if the user does not say
AT_ONCE = 64  # walks of a unit, which go down together


def sample_bytes(rules: Rules) -> int:
    """Return the bytes of one row of a reservoir."""
    return 4 * rules.num_features + 5 * rules.num_actions + 4


def default_reservoir_size(rules: Rules) -> int:
    """Return the samples per player where the user does not say: regrets and policies together
    take at most `DEFAULT_BYTES`.
    """
    fitting = DEFAULT_BYTES // (2 * rules.num_players * sample_bytes(rules))
    return max(1, min(DEFAULT_RESERVOIR_SIZE, fitting))


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


class Walked(NamedTuple):
    """What a unit of walks has met: observations, which actions exist, targets, all [M, ...]."""

    regrets: tuple[Any, Any, Any]  # the player's
    policies: tuple[tuple[Any, Any, Any], ...]  # everybody else's, if somebody asks for them
    touched: int  # nodes


def no_walks(
    rules: Rules,
    reservoir_size: int,
    policies: bool,
    regrets: bool = True,
    critic_memory: int = 0,
) -> RuleWalks:
    """Nothing remembered; with room for others' policies, regrets, and decisions for a critic."""
    row = sample_bytes(rules)
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


def cut(count: int, key: jax.Array) -> tuple[list[tuple[int, Any]], np.random.Generator]:
    """So many walks as units, each a number of walks and a key, and what reservoirs draw from."""
    sizes = [min(AT_ONCE, count - first) for first in range(0, count, AT_ONCE)]
    keep_key, *keys = np.asarray(jax.random.split(key, 1 + len(sizes)))
    return list(zip(sizes, keys, strict=True)), rng_of(keep_key)


def offer(
    walks: RuleWalks, found: Walked, player: int, weight: float, rng: np.random.Generator
) -> None:
    """Offer what a unit has met to the reservoirs; regrets and policies count `weight`."""
    walks.touched[...] += found.touched
    both = (walks.replay[player], found.regrets), *zip(walks.met, found.policies, strict=False)
    for samples, rows in both:
        keep(samples, rng, *rows, np.full(len(rows[0]), weight, np.float32))


def walk(rules: Rules, ask: Ask, player: int, policies: bool, count: int, key: Any) -> Walked:
    """A unit of walks in which the player tries everything."""
    rng = rng_of(key)
    states, touched = rules.start(count), 0
    levels: list[tuple[Any, ...]] = []
    while len(states):
        if len(levels) == LONGEST:
            raise GameError(f"{spec_of(rules.game)}: not over after {LONGEST:,} decisions")
        states, turn = rules.past_chance(states, rng)
        touched += len(states)
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
        action = choose(policy, rng.random(here.size))
        own = (acts == player)[:, None]
        tried = np.where(own, legal, np.arange(legal.shape[1]) == action[:, None])
        row, which = np.nonzero(tried)
        levels.append((value, here, (acts, seen, legal, policy, row, which)))
        states = rules.taken(states, turn, here[row], number[row, which])
    players = range(rules.num_players) if policies else ()
    others = tuple(_met(rules, levels, other if other != player else -1) for other in players)
    return Walked(_regrets(rules, levels, player), others, touched)


def _met(rules: Rules, levels: list[tuple[Any, ...]], player: int) -> tuple[Any, Any, Any]:
    """The policies that a player followed, from the start on."""
    found = [_nothing(rules)]
    for _, _, met in levels:
        if met is not None:
            acts, seen, legal, policy, _, _ = met
            mine = np.flatnonzero(acts == player)
            found.append((seen[mine], legal[mine], policy[mine]))
    return _joined(found)


def _regrets(rules: Rules, levels: list[tuple[Any, ...]], player: int) -> tuple[Any, Any, Any]:
    """Values from the ends up, and the player's regrets on the way."""
    found, below = [_nothing(rules)], np.zeros(0)
    for value, here, met in reversed(levels):
        if met is not None:
            acts, seen, legal, policy, row, which = met
            own = acts == player
            worth = np.zeros(legal.shape)
            worth[row, which] = below
            expected = np.where(own, (policy * worth).sum(axis=1), worth.sum(axis=1))
            value[here] = expected
            mine = np.flatnonzero(own)
            regret = np.where(legal[mine], worth[mine] - expected[mine, None], 0.0)
            found.append((seen[mine], legal[mine], regret.astype(np.float32)))
        below = value
    return _joined(found)


def _nothing(rules: Rules) -> tuple[Any, Any, Any]:
    shape = 0, rules.num_actions
    seen = np.zeros((0, rules.num_features), np.float32)
    return seen, np.zeros(shape, bool), np.zeros(shape, np.float32)


def _joined(rows: list[tuple[Any, Any, Any]]) -> tuple[Any, Any, Any]:
    seen, legal, target = (np.concatenate(part) for part in zip(*rows, strict=True))
    return seen, legal, target
