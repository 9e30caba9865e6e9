"""Critics on rules: the network is asked at the decisions of episodes, and learns from the latest.

What all players observe need not tell what somebody has just done face down, so that it is also
told everybody's last action.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep.device import compiled
from counterplay.deep.fitting import Trained, annealed, in_training
from counterplay.deep.history import with_actions
from counterplay.deep.nets import Net, apply_net, new_nets, one_of, regret_matching, with_one
from counterplay.deep.stepping import Rules
from counterplay.deep.transitions import Transitions
from counterplay.errors import ConfigError


def new_critic(choices: Any, rules: Rules, rng: np.random.Generator) -> Trained:
    """A network that says nothing yet."""
    if choices.oracle:
        problem = "oracle is a pass over the tree; on rules the critic is a network"
        raise ConfigError(f"{choices.name}: {problem}")
    inputs = rules.num_players * (rules.num_features + rules.num_actions)
    sizes = (inputs, *choices.critic_units, rules.num_actions * rules.num_players)
    return jax.device_put(
        in_training(optax.scale_by_adam(), new_nets(rng, 1, sizes, zero_head=True))
    )


def criticise(
    choices: Any, rules: Rules, ring: Transitions, critic: Trained, nets: Net, key: jax.Array
) -> tuple[Trained, Net]:
    """The critic fitted to the present policies, those of `nets`, and its network."""
    if ring.seen[0]:
        critic = _fit()(choices, critic, nets, ring[1:], rules.largest_utility, key)
    return critic, one_of(critic.params, 0)


@lru_cache
def _fit() -> Callable[..., Trained]:
    @partial(compiled, static_argnums=0, donate_argnums=1)
    def fit(
        choices: Any, critic: Trained, nets: Net, rows: Any, unit: jax.Array, key: jax.Array
    ) -> Trained:
        ring = Transitions(jnp.zeros(1), *rows)
        size, players = ring.last.shape
        num_actions = ring.legal.shape[1]
        passed = jnp.cumsum(ring.weight)

        def said(net: Net, row: jax.Array) -> jax.Array:
            """Values [B, A, P] of all actions, in the unit."""
            seen = ring.observation[row].reshape(len(row), -1)
            outputs = apply_net(net, with_actions(seen, ring.last[row], num_actions))
            return outputs.reshape(-1, num_actions, players)

        def policy(row: jax.Array) -> jax.Array:
            """What the one to act does now [B, A]."""
            who = ring.player[row]
            own = ring.observation[row, who]
            each = jnp.stack([apply_net(one_of(nets, p), own) for p in range(players)])
            return regret_matching(each[who, jnp.arange(len(row))], ring.legal[row])

        def after(net: Net, row: jax.Array, depth: int) -> jax.Array:
            """What the policies expect after the action taken [B, P], looking so far ahead."""
            then = (row + 1) % size
            values = said(net, then)
            if depth > 1:
                taken = jnp.arange(num_actions) == ring.action[then][:, None]
                deeper = after(net, then, depth - 1)[:, None]
                values = jnp.where(taken[..., None], deeper, values)
            expected = (policy(then)[..., None] * values).sum(1)
            return jnp.where(ring.ends[row][:, None], ring.utility[row] / unit, expected)

        def again(trained: Trained, key: jax.Array) -> tuple[Trained, None]:
            before = trained.params

            def draw(key: jax.Array) -> Any:
                place = jax.random.uniform(key, (choices.critic_batch,)) * passed[-1]
                row = jnp.searchsorted(passed, place).clip(0, size - 1)
                return row, after(before, row, choices.critic_depth)

            def loss(net: Net, some: Any) -> jax.Array:
                row, target = some
                taken = jnp.arange(num_actions) == ring.action[row][:, None]
                error = said(net, row) - target[:, None]
                return jnp.where(taken[..., None], error**2, 0.0).sum() / len(row)

            optimiser, rate = optax.scale_by_adam(), choices.critic_lr
            return annealed(optimiser, rate, loss, trained, draw, key, choices.critic_steps), None

        keys = jax.random.split(key, choices.critic_rounds)
        trained = jax.lax.scan(again, one_of(critic, 0), keys)[0]
        return with_one(critic, 0, trained)

    return fit
