"""Episodes of rules that are never unrolled, as a graph of their own.

Many states step together, one call of the networks a turn. What was met is a small `Graph`: every
decision of the batch is an infoset of its own, those of a player side by side. So whatever learns
from episodes on a tree learns from these, in the same words; networks are asked for the rows that
are there. Arrays are padded to few sizes, since every size is compiled for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.deep.episodes import SHY, Episodes
from counterplay.deep.graph import Graph, Turn
from counterplay.deep.stepping import LONGEST, Rules
from counterplay.errors import GameError
from counterplay.game import TERMINAL
from counterplay.registry import spec_of

SMALLEST = 16  # rows of a player
TURNS = 4  # the number of turns is a multiple of this

Ask = Callable[[Any, Any], tuple[Any, Any]]
"""Given observations [P * R, X] and which actions exist [P * R, A]: the policies, and the
distributions to sample from [P * R, A]. Rows of a player stand side by side."""

Cast = Callable[[Ints, Ints], Ints]
"""Given who acts [N], in which episode [N]: what each plays as [N], which those asked are told."""


def room_for(count: int) -> int:
    """The size, at least `count`, that arrays are padded to: in steps of about a quarter."""
    step = SMALLEST
    while 8 * step <= count:
        step *= 2
    return -(-max(count, 1) // step) * step


def rows_of_players(player: Ints, num_players: int) -> tuple[Ints, int]:
    """A row for each decision [N], those of a player side by side, and how many each player has."""
    counts = np.bincount(player, minlength=num_players)
    size = room_for(int(counts.max(initial=1)))
    row = np.empty(player.size, np.int64)
    for p in range(num_players):
        own = np.flatnonzero(player == p)
        row[own] = p * size + np.arange(own.size)
    return row, size


def laid_out(rules: Rules, row: Ints, size: int, observation: Any, legal: Any) -> tuple[Any, Any]:
    """Observations [V, N, X] and actions [N, A] in their rows [V, P * R, X] and [P * R, A].

    Rows that are left over: all actions, no observation.
    """
    viewers, _, features = observation.shape
    seen = np.zeros((viewers, rules.num_players * size, features), np.float32)
    seen[:, row] = observation
    exists = np.ones((rules.num_players * size, rules.num_actions), bool)
    exists[row] = legal
    return seen, exists


def graph_of_rows(seen: Any, legal: Any, players: int, longest: int = 1) -> Graph:
    """Rows as a graph, with the observations of all players, or of the one to act, [1, I, X]."""
    viewers, count, features = seen.shape
    owner = np.repeat(np.arange(players, dtype=np.int32), count // players)
    number = np.arange(count, dtype=np.int32)
    view = np.arange(viewers, dtype=np.int32)[:, None] * count + number
    nothing = np.zeros(0, np.int32)
    return Graph(
        player=jnp.asarray(owner),
        infoset=jnp.asarray(number),
        first_edge=nothing,
        succ_offset=nothing,
        succ_node=nothing,
        succ_cdf=nothing,
        view=jnp.asarray(view),
        utility=np.zeros((0, players), np.float32),
        largest_utility=np.float32(1.0),
        observation=jnp.asarray(seen).reshape(viewers * count, features),
        owner=jnp.asarray(owner),
        own_view=jnp.asarray(view[owner, number] if viewers > 1 else number),
        legal=jnp.asarray(legal),
        sequence=np.zeros((0, 2), np.int32),
        path=np.zeros((0, 1), np.int32),
        histories=nothing,
        num_players=players,
        max_starts=1,
        max_successors=1,
        most_own=(longest,) * players,
        first_infoset=tuple(count // players * p for p in range(players + 1)),
        turns=(Turn(-1, 0, 0),) * longest,
    )


def no_graph(rules: Rules) -> Graph:
    """The graph of a batch in which nothing was met: what networks are made for."""
    count, players = rules.num_players * SMALLEST, rules.num_players
    seen = np.zeros((players, count, rules.num_features), np.float32)
    return graph_of_rows(seen, np.ones((count, rules.num_actions), bool), players)


class Met(NamedTuple):
    """The decisions of a batch of episodes in their rows, and the episodes."""

    seen: Any  # [P, I, X] what every player sees at each
    legal: Any  # [I, A]
    episodes: Episodes
    plays_as: Any  # [T, B] what was told of each decision; 0: nothing

    def graph(self, players: int) -> Graph:
        return graph_of_rows(self.seen, self.legal, players, self.episodes.live.shape[0])


def rng_of(key: jax.Array) -> np.random.Generator:
    """NumPy's random numbers from a key of JAX."""
    return np.random.default_rng(np.asarray(key, np.uint32).tolist())


def asked(
    rules: Rules, ask: Any, player: Ints, observation: Any, legal: Any, *told: Ints
) -> tuple[Any, Any]:
    """The policies [N, A] of those who act, and the distributions to sample from.

    Whatever else there is to be `told` [N] is given to them in their rows.
    """
    row, size = rows_of_players(player, rules.num_players)
    seen, exists = laid_out(rules, row, size, observation[None], legal)
    more = [np.zeros(len(exists), one.dtype) for one in told]
    for room, one in zip(more, told, strict=True):
        room[row] = one
    policy, mixed = ask(seen[0], exists, *more)
    return np.asarray(policy)[row], np.asarray(mixed)[row]


def choose(mixed: Any, draws: Floats) -> Ints:
    """The actions that numbers in [0, 1) fall on; never one of probability 0."""
    passed = np.cumsum(mixed, axis=1, dtype=np.float64)
    return (passed <= (SHY * passed[:, -1] * draws)[:, None]).sum(axis=1)


def play(
    rules: Rules, ask: Any, rng: np.random.Generator, batch: int, cast: Cast | None = None
) -> tuple[Met, int]:
    """A batch of episodes, and how many decisions they have.

    With a `cast` those asked are told [P * R] what each decision is played as.
    """
    states, place = rules.start(batch), np.arange(batch)
    utility = np.zeros((batch, rules.num_players))
    turns: list[tuple[Any, ...]] = []
    while place.size:
        states, turn = rules.past_chance(states, rng)
        over = np.flatnonzero(turn.player == TERMINAL)
        if over.size:
            utility[place[over]] = rules.paid(rules.some(states, over))
        here = np.flatnonzero(turn.player >= 0)
        if not here.size:
            break
        if len(turns) == LONGEST:
            raise GameError(f"{spec_of(rules.game)}: not over after {LONGEST:,} decisions")
        player, now, place = turn.player[here], rules.some(states, here), place[here]
        legal, number = rules.legal(turn, here)
        seen = [
            rules.observed(now, np.full(here.size, viewer)) for viewer in range(rules.num_players)
        ]
        observation = np.stack(seen)
        own = observation[player, np.arange(here.size)]
        told = () if cast is None else (cast(player, place),)
        policy, mixed = asked(rules, ask, player, own, legal, *told)
        action = choose(mixed, rng.random(here.size))
        each = np.arange(here.size)
        (plays_as,) = told or (np.zeros(here.size, np.int32),)
        decided = policy, mixed[each, action], action, plays_as
        turns.append((place, player, observation, legal, *decided))
        states = rules.taken(states, turn, here, number[each, action])
    return _gathered(rules, turns, utility)


def _gathered(rules: Rules, turns: list[tuple[Any, ...]], utility: Floats) -> tuple[Met, int]:
    place, player, observation, legal, policy, played, action, plays_as = (
        np.concatenate(parts, axis=1 if parts[0].ndim == 3 else 0)
        for parts in zip(*turns, strict=True)
    )
    longest = -(-len(turns) // TURNS) * TURNS
    row, size = rows_of_players(player, rules.num_players)
    seen, exists = laid_out(rules, row, size, observation, legal)
    at = np.repeat(np.arange(len(turns)), [turn[0].size for turn in turns]), place
    shape = longest, len(utility)

    def in_turns(values: Any, otherwise: Any, kind: Any) -> Any:
        room = np.full((*shape, *values.shape[1:]), otherwise, kind)
        room[at] = values
        return room

    episodes = Episodes(
        decision=in_turns(row, 0, np.int32),
        live=in_turns(np.ones(row.size), False, bool),
        player=in_turns(player, -1, np.int32),
        action=in_turns(action, 0, np.int32),
        legal=in_turns(legal, True, bool),
        policy=in_turns(policy, 1.0 / rules.num_actions, np.float32),
        played=in_turns(played, 1.0, np.float32),
        utility=utility.astype(np.float32),
    )
    return Met(seen, exists, episodes, in_turns(plays_as, 0, np.int32)), row.size
