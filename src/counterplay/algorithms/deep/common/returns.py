"""Values, regrets and advantages of sampled episodes, computed backwards from their ends."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp

from counterplay.algorithms.deep.common.episodes import Episodes
from counterplay.algorithms.deep.common.graph import MAX_UNROLLED_TURNS


class BaselineRegrets(NamedTuple):
    """Sampled regrets of one player."""

    regret: jax.Array  # [T, B, A] sampled instantaneous regrets, zero where others act
    target: jax.Array  # [T, B] estimated value after the action taken


def baseline_regrets(
    episodes: Episodes, player: int | jax.Array, utility: jax.Array, baseline: jax.Array
) -> BaselineRegrets:
    """Return baseline-enhanced sampled regrets of one player (Schmid et al., 2019).

        u(h, a) = b(h, a) + [a taken] * (u(ha) - b(h, a)) / q(h, a)
        u(h)    = sum over a of policy(h, a) * u(h, a)
        r(h, a) = (u(h, a) - u(h)) / (the player's own sampling probability of reaching h)

    Regrets are unbiased for any baseline b. Chance and the other players are sampled on policy, so
    that their probabilities cancel.

    Args:
        utility: the player's utility [B].
        baseline: estimates [T, B, A] of the player's value of each action; zero at illegal actions.
    """
    is_own = episodes.player == player
    own_prob = jnp.where(is_own, episodes.sampling_prob, 1.0)
    reach = jnp.cumprod(own_prob, axis=0) / own_prob
    taken = jnp.arange(baseline.shape[-1]) == episodes.action[..., None]
    taken_baseline = jnp.where(taken, baseline, 0.0).sum(-1)

    def step(
        later: jax.Array, decision: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        live, policy, sampling_prob, baseline, taken_baseline, taken = decision
        correction = ((later - taken_baseline) / sampling_prob)[:, None]
        values = baseline + jnp.where(taken, correction, 0.0)
        mean = (policy * values).sum(-1)
        return jnp.where(live, mean, later), (values - mean[:, None], later)

    decisions = (
        episodes.live,
        episodes.policy,
        episodes.sampling_prob,
        baseline,
        taken_baseline,
        taken,
    )
    _, (advantage, target) = jax.lax.scan(
        step, utility, decisions, reverse=True, unroll=len(taken) <= MAX_UNROLLED_TURNS
    )
    own_legal = is_own[..., None] & episodes.legal
    return BaselineRegrets(jnp.where(own_legal, advantage / reach[..., None], 0.0), target)


class BaselineAdvantages(NamedTuple):
    """Sampled advantages of the acting players."""

    advantage: jax.Array  # [T, B, A] of each action, for the acting player
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
    """Return advantages of all actions from a critic's values, corrected by the sampled returns.

        u(h, a) = reward(h, a) + b(h, a) + [a taken] * (u(ha) - b(h, a)) / q(h, a)
        u(h)    = sum over a of policy(h, a) * u(h, a), the correction times `gae_lambda`
        advantage(h, a) = u(h, a) - sum over a of policy(h, a) * u(h, a)

    with b the baseline and q the sampling probability. With `gae_lambda` 1 this is unbiased for any
    baseline; below 1 it is expected SARSA(lambda), or GAE(lambda) if the baseline is the same for
    all actions.

    Args:
        baseline: values [T, B, A, P] after each action; zero at illegal actions.
        reward: payoff [T, B, A, P] of the action itself.
        use_samples: whether sampled returns correct the baseline; False suits exact values.
        has_baseline: players [T, B, P] with a baseline at a decision; values of the others pass
            through it unchanged.
        max_ratio: limit of policy / q in u(h), as in V-trace (Espeholt et al., 2018). On policy it
            has no effect.
    """
    taken = jnp.arange(baseline.shape[2]) == episodes.action[..., None]
    taken_baseline = jnp.where(taken[..., None], baseline, 0.0).sum(2)
    estimate = baseline if reward is None else baseline + reward
    ratio = jnp.where(taken, episodes.policy, 0.0).sum(-1) / episodes.sampling_prob
    has_baseline = jnp.broadcast_to(has_baseline, taken_baseline.shape)

    def step(
        later: jax.Array, decision: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        live, policy, sampling_prob, ratio, estimate, taken_baseline, taken, has_baseline = decision
        error = later - taken_baseline  # [B, P]
        mean = (policy[..., None] * estimate).sum(1)
        values, policy_value = estimate, mean
        if use_samples:
            correction = (error / sampling_prob[:, None])[:, None]
            values = estimate + jnp.where(taken[..., None], correction, 0.0)
            policy_value = mean + ratio[:, None] * error
            decay = jnp.where(has_baseline, gae_lambda, 1.0)
            mean = mean + decay * jnp.minimum(ratio, max_ratio)[:, None] * error
        return jnp.where(live[:, None], mean, later), (values - policy_value[:, None], later)

    decisions = (
        episodes.live,
        episodes.policy,
        episodes.sampling_prob,
        ratio,
        estimate,
        taken_baseline,
        taken,
        has_baseline,
    )
    _, (advantage, target) = jax.lax.scan(
        step, episodes.utility, decisions, reverse=True, unroll=len(taken) <= MAX_UNROLLED_TURNS
    )
    is_actor = jnp.arange(baseline.shape[3]) == episodes.player[..., None]  # [T, B, P]
    own_advantage = jnp.where(is_actor[:, :, None], advantage, 0.0).sum(-1)
    return BaselineAdvantages(
        jnp.where(episodes.legal & episodes.live[..., None], own_advantage, 0.0), target
    )


def own_reach(episodes: Episodes, num_players: int) -> jax.Array:
    """Return the probability [T, B] with which the acting player sampled its earlier actions."""
    reach = jnp.ones(episodes.sampling_prob.shape)
    for player in range(num_players):
        is_own = episodes.player == player
        own_prob = jnp.where(is_own, episodes.sampling_prob, 1.0)
        reach = jnp.where(is_own, jnp.cumprod(own_prob, axis=0) / own_prob, reach)
    return reach


def compute_gae(
    episodes: Episodes, value: jax.Array, utility: jax.Array, gae_lambda: float
) -> jax.Array:
    """Return generalised advantage estimates [T, B] of the actions taken (Schulman et al., 2016).

        d(t) = value at the player's next decision - value(t); after the last one the utility
        A(t) = d(t) + gae_lambda * A at the player's next decision

    With `gae_lambda` 1 this is the utility minus the value.

    Args:
        value: estimate [T, B] of the infoset's value for the acting player.
        utility: the acting player's utility [T, B] of the episode.
    """
    num_players = episodes.utility.shape[1]
    players = jnp.arange(num_players)

    def step(
        later: tuple[jax.Array, jax.Array, jax.Array], decision: tuple[jax.Array, ...]
    ) -> tuple[tuple[jax.Array, jax.Array, jax.Array], jax.Array]:
        acts_later, later_value, later_advantage = later  # [B, P] at each player's next decision
        live, player, value, utility = decision
        is_own = live[:, None] & (players == player[:, None])  # [B, P]
        acts_again = (is_own & acts_later).any(-1)
        own_later_value = jnp.where(is_own, later_value, 0.0).sum(-1)
        next_value = jnp.where(acts_again, own_later_value, utility)
        next_advantage = jnp.where(is_own & acts_later, later_advantage, 0.0).sum(-1)
        advantage = next_value - value + gae_lambda * next_advantage
        carry = (
            acts_later | is_own,
            jnp.where(is_own, value[:, None], later_value),
            jnp.where(is_own, advantage[:, None], later_advantage),
        )
        return carry, advantage

    zeros = jnp.zeros((episodes.utility.shape[0], num_players))
    decisions = (episodes.live, episodes.player, value, utility)
    return jax.lax.scan(step, (zeros > 0.0, zeros, zeros), decisions, reverse=True)[1]
