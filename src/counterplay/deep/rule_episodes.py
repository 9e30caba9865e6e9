"""Single episodes on rules, a batch of them together, in which one player explores.

The critic is asked once for the whole batch. What episodes say goes to the player's reservoir, the
others' policies to theirs, and all decisions to the ring that critics learn from.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep import batches, rule_regrets, transitions, values
from counterplay.deep.batches import Met
from counterplay.deep.device import compiled
from counterplay.deep.episodes import last_actions
from counterplay.deep.history import everything_seen
from counterplay.deep.nets import Net, apply_net
from counterplay.deep.on_rules import rules_on
from counterplay.deep.rule_walks import RuleWalks, keep
from counterplay.deep.stepping import Rules
from counterplay.deep.traversals import Scheme


class OwnRegrets(NamedTuple):
    """One player's regrets at N decisions."""

    observation: Any  # [N, X]
    legal: Any  # [N, A]
    regret: Any  # [N, A]
    weight: Any  # [N]


def remember(
    choices: Any, arena: Any, state: Any, scheme: Scheme, critic: Net, key: jax.Array
) -> None:
    """What `play` finds, to the player's reservoir."""
    play_key, keep_key = jax.random.split(key)
    rules, walks, nets = rules_on(arena), state.walks, choices.speaking(state)
    found = play(choices, rules, walks, nets, scheme, critic, play_key)
    keep(walks.replay[scheme.player], batches.rng_of(keep_key), *found)


def play(
    choices: Any,
    rules: Rules,
    walks: RuleWalks,
    nets: Net,
    scheme: Scheme,
    critic: Net,
    key: jax.Array,
) -> OwnRegrets:
    """`traversals` episodes, and the regrets in them of the player that the scheme is for."""
    player, epsilon, power, weight, average, corrected = scheme
    rng = batches.rng_of(key)
    ask = partial(rule_regrets.acting(), rules.num_players, nets, player, epsilon)
    met, count = batches.play(rules, ask, rng, choices.traversals)
    walks.touched[...] += count + choices.traversals  # decisions and ends
    given = rules.num_players, corrected, critic, rules.largest_utility, met
    regret, reach, last = (np.asarray(part) for part in _valued()(*given))
    transitions.put(walks.ring, met, last)
    episodes = met.episodes
    for other in range(rules.num_players):
        if other != player:
            here = np.nonzero(episodes.live & (episodes.player == other))
            row = episodes.decision[here]
            counts = np.full(row.size, average, np.float32)
            seen = met.seen[other, row], met.legal[row]
            keep(walks.met[other], rng, *seen, episodes.policy[here], counts)
    mine = np.nonzero(episodes.live & (episodes.player == player))
    row = episodes.decision[mine]
    seen = met.seen[player, row], met.legal[row]
    return OwnRegrets(*seen, regret[mine], (weight / reach[mine] ** power).astype(np.float32))


@lru_cache
def _valued() -> Callable[..., Any]:
    @partial(compiled, static_argnums=(0, 1))
    def valued(players: int, sampled: bool, critic: Net, unit: jax.Array, met: Met) -> Any:
        graph, episodes = met.graph(players), met.episodes
        said = unit * apply_net(critic, everything_seen(graph, episodes, critic))
        said = said.reshape(graph.num_decisions, graph.max_actions, players)
        real = episodes.legal & episodes.live[..., None]
        guess = jnp.where(real[..., None], said[episodes.decision], 0.0)
        regret = values.corrected(episodes, guess, sampled=sampled).advantage
        return regret, values.own_reach(episodes, players), last_actions(episodes, players)

    return valued
