"""What episodes say, backwards from their ends: pure functions of arrays, all of them scans."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from counterplay.deep.episodes import Episodes


class Values(NamedTuple):
    """What episodes say about one player."""

    regret: jax.Array  # [T, B, A] sampled instant regrets, zero where others act
    target: jax.Array  # [T, B] estimated value after the action taken


def baseline_regrets(
    episodes: Episodes, player: int | jax.Array, utility: jax.Array, baseline: jax.Array
) -> Values:
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
    own_played = jnp.where(own, episodes.played, 1.0)
    reach = jnp.cumprod(own_played, axis=0) / own_played
    taken = jnp.arange(baseline.shape[-1]) == episodes.action[..., None]
    guessed = jnp.where(taken, baseline, 0.0).sum(-1)

    def step(later: jax.Array, at: tuple[jax.Array, ...]) -> tuple[jax.Array, tuple]:
        live, policy, played, guess, mine, chosen = at
        values = guess + jnp.where(chosen, ((later - mine) / played)[:, None], 0.0)
        mean = (policy * values).sum(-1)
        return jnp.where(live, mean, later), (values - mean[:, None], later)

    given = (episodes.live, episodes.policy, episodes.played, baseline, guessed, taken)
    _, (advantage, target) = jax.lax.scan(
        step, utility, given, reverse=True, unroll=len(taken) <= 4
    )
    keep = own[..., None] & episodes.legal
    return Values(jnp.where(keep, advantage / reach[..., None], 0.0), target)
