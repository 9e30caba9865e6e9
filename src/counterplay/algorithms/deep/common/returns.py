"""What episodes say, backwards from their ends: pure functions of arrays, all of them scans."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.episodes import Episodes
from counterplay.algorithms.deep.common.graph import MAX_UNROLLED_TURNS


class BaselineRegrets(NamedTuple):
    """What episodes say about one player."""

    regret: jax.Array  # [T, B, A] sampled instant regrets, zero where others act
    target: jax.Array  # [T, B] estimated value after the action taken


def baseline_regrets(
    episodes: Episodes, player: int | jax.Array, utility: jax.Array, baseline: jax.Array
) -> BaselineRegrets:
    """Baseline-enhanced sampled regrets of one player (Schmid et al., 2019).

    `baseline` [T, B, A] is any guess at the player's value of each action; it must be zero at
    actions that do not exist, and may be zero anywhere. Regrets are unbiased whatever it is:

        u(h, a) = b(h, a) + [a taken] * (u(ha) - b(h, a)) / q(h, a)
        u(h)    = sum over a of policy(h, a) * u(h, a)
        r(h, a) = (u(h, a) - u(h)) / (the player's own sampling probability of reaching h)

    Chance and the others are sampled on policy, so that their probabilities cancel. `utility` [B]
    is the player's.
    """
    own = episodes.player == player
    own_played = jnp.where(own, episodes.sampling_prob, 1.0)
    reach = jnp.cumprod(own_played, axis=0) / own_played
    taken = jnp.arange(baseline.shape[-1]) == episodes.action[..., None]
    guessed = jnp.where(taken, baseline, 0.0).sum(-1)

    def step(later: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, tuple]:
        live, policy, played, guess, mine, chosen = at
        values = guess + jnp.where(chosen, ((later - mine) / played)[:, None], 0.0)
        mean = (policy * values).sum(-1)
        return jnp.where(live, mean, later), (values - mean[:, None], later)

    given = (episodes.live, episodes.policy, episodes.sampling_prob, baseline, guessed, taken)
    _, (advantage, target) = jax.lax.scan(
        step, utility, given, reverse=True, unroll=len(taken) <= MAX_UNROLLED_TURNS
    )
    keep = own[..., None] & episodes.legal
    return BaselineRegrets(jnp.where(keep, advantage / reach[..., None], 0.0), target)


class BaselineAdvantages(NamedTuple):
    """What episodes say about everybody."""

    advantage: jax.Array  # [T, B, A] of each action, to the one who acts
    target: jax.Array  # [T, B, P] estimated value after the action taken


def baseline_advantages(
    episodes: Episodes,
    baseline: jax.Array,
    reward: jax.Array | None = None,
    gae_lambda: float = 1.0,
    use_samples: bool = True,
    has_baseline: jax.Array | bool = True,
    max_ratio: float = jnp.inf,
) -> BaselineAdvantages:
    """Advantages of all actions from a guess at values, corrected by what was sampled.

    `guess` [T, B, A, P] is anything for what follows an action, zero at actions that do not exist;
    `reward` [T, B, A, P] is earned by the action itself. With q the sampling probability:

        u(h, a) = reward(h, a) + guess(h, a) + [a taken] * (u(ha) - guess(h, a)) / q(h, a)
        u(h)    = sum over a of policy(h, a) * u(h, a), the correction times `trace`
        advantage(h, a) = u(h, a) - sum over a of policy(h, a) * u(h, a)

    With trace 1 this is unbiased whatever the guess; below 1 it is expected SARSA(trace), or with a
    guess that is the same for all actions GAE(trace). Those for whom nothing is guessed where
    others act (`knows` [T, B, P]) take what follows as it is. `most` limits policy / q in u(h), as
    V-trace (Espeholt and others, 2018) does; on policy it changes nothing. Without `sampled`
    nothing is corrected, as exact values want it.
    """
    taken = jnp.arange(baseline.shape[2]) == episodes.action[..., None]
    guessed = jnp.where(taken[..., None], baseline, 0.0).sum(2)
    known = baseline if reward is None else baseline + reward
    ratio = jnp.where(taken, episodes.policy, 0.0).sum(-1) / episodes.sampling_prob
    known_to = jnp.broadcast_to(has_baseline, guessed.shape)

    def step(later: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, tuple]:
        live, policy, played, weight, known, mine, chosen, knows = at
        error = later - mine  # [B, P]
        mean = (policy[..., None] * known).sum(1)
        values, full = known, mean
        if use_samples:
            values = known + jnp.where(chosen[..., None], (error / played[:, None])[:, None], 0.0)
            full = mean + weight[:, None] * error
            decay = jnp.where(knows, gae_lambda, 1.0)
            mean = mean + decay * jnp.minimum(weight, max_ratio)[:, None] * error
        return jnp.where(live[:, None], mean, later), (values - full[:, None], later)

    given = (
        episodes.live,
        episodes.policy,
        episodes.sampling_prob,
        ratio,
        known,
        guessed,
        taken,
        known_to,
    )
    _, (advantage, target) = jax.lax.scan(
        step, episodes.utility, given, reverse=True, unroll=len(taken) <= MAX_UNROLLED_TURNS
    )
    actor = jnp.arange(baseline.shape[3]) == episodes.player[..., None]  # [T, B, P]
    own = jnp.where(actor[:, :, None], advantage, 0.0).sum(-1)
    return BaselineAdvantages(
        jnp.where(episodes.legal & episodes.live[..., None], own, 0.0), target
    )


def own_reach(episodes: Episodes, num_players: int) -> jax.Array:
    """How likely [T, B] the one who acts was to sample its own earlier actions."""
    reach = jnp.ones(episodes.sampling_prob.shape)
    for player in range(num_players):
        own = episodes.player == player
        mine = jnp.where(own, episodes.sampling_prob, 1.0)
        reach = jnp.where(own, jnp.cumprod(mine, axis=0) / mine, reach)
    return reach


def compute_gae(
    episodes: Episodes, value: jax.Array, utility: jax.Array, gae_lambda: float
) -> jax.Array:
    """Generalised advantages [T, B] of the actions taken, over each player's own decisions.

    `value` [T, B] is a guess at what the infoset, `utility` [T, B] what the episode is worth to the
    one who acts (Schulman and others, 2016):

        d(t) = value at the player's next decision - value(t); after the last one the utility
        A(t) = d(t) + trace * A at the player's next decision

    With trace 1 it is what was earned minus the guess.
    """
    num_players = episodes.utility.shape[1]
    everybody = jnp.arange(num_players)

    def step(later: tuple[jax.Array, ...], at: tuple[jax.Array, ...]) -> tuple[Any, jax.Array]:
        acts, worth, then = later
        live, player, value, utility = at
        own = live[:, None] & (everybody == player[:, None])  # [B, P]
        again = (own & acts).any(-1)
        after = jnp.where(again, jnp.where(own, worth, 0.0).sum(-1), utility)
        more = jnp.where(own & acts, then, 0.0).sum(-1)
        advantage = after - value + gae_lambda * more
        put = lambda new, old: jnp.where(own, new[:, None], old)  # noqa: E731
        return (acts | own, put(value, worth), put(advantage, then)), advantage

    nothing = jnp.zeros((episodes.utility.shape[0], num_players))
    given = (episodes.live, episodes.player, value, utility)
    first = (nothing > 0.0, nothing, nothing)
    return jax.lax.scan(step, first, given, reverse=True)[1]
