"""What all policy gradients share: episodes, a critic, one force per infoset, schedules.

An iteration samples episodes with everybody's present policy, corrects the critic's guess at every
action by what was sampled, and adds the advantages up per infoset: all samples of an infoset have
the same input, so that a network is asked once about each. What an algorithm makes of the mean
advantages is its `force` on the logits, and all that its file has to say.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.deep import averages, values
from counterplay.deep.averages import Averages, Averaging
from counterplay.deep.episodes import Decisions, Episodes, sample
from counterplay.deep.fitting import Trained, descend, in_training
from counterplay.deep.graph import Graph
from counterplay.deep.history import (
    Critic,
    InfosetTable,
    Network,
    Oracle,
    Table,
    ValueTable,
    exact_values,
    signed,
)
from counterplay.deep.nets import Net, apply_net, new_nets, one_of, softmax, uniform
from counterplay.deep.on_rules import OnEither
from counterplay.errors import ConfigError
from counterplay.settings import settings
from counterplay.tabular.ranges import FINITE, PART, Range, at_least, check

CRITICS = ("auto", "table", "network", "infoset", "value", "oracle")
MAGNETS = ("uniform", "copy", "average")
SIZES: Range = (lambda units: bool(units) and min(units) >= 1, "one size or more")
RANGES: dict[str, Range] = {
    **dict.fromkeys(("episodes", "horizon", "epochs", "stage", "grid"), at_least(1)),
    **dict.fromkeys(("lr", "lr_end", "lr_power", "critic_lr", "tau", "even"), FINITE),
    **dict.fromkeys(("threshold", "clip", "kl_cost"), FINITE),
    **dict.fromkeys(("units", "critic_units"), SIZES),
    **dict.fromkeys(("critic_rate", "follow", "trace"), PART),
    **dict.fromkeys(("smoothing", "drop"), (lambda x: 0.0 <= x < 1.0, "at least 0 and below 1")),
    "critic": (lambda x: x in CRITICS, "auto, table, network, infoset, value or oracle"),
    "magnet": (lambda x: x in MAGNETS, "uniform, copy or average"),
}


class State(NamedTuple):
    """What an iteration changes."""

    actor: Trained  # of each player
    critic: Any
    smoothed: Net  # exponential average of the actor's weights
    magnet: Any  # networks [2]: the one before last, and the last; nothing where it is uniform
    averages: Averages


class Force(NamedTuple):
    """What a step along the logits is made from, at every infoset."""

    logits: jax.Array  # [I, A]
    policy: jax.Array  # [I, A] their softmax
    old: jax.Array  # [I, A] the policy that was sampled with
    magnet: jax.Array  # [I, A] log-probabilities of the magnet
    legal: jax.Array  # [I, A]
    advantage: jax.Array  # [I, A] mean over the visits of the batch
    halves: jax.Array  # [2, I, A] what each half of the batch adds to it
    better: jax.Array  # [2, I, A] 1: by the other half, an action beats the policy; 0: not; 1/2: ?
    tau: jax.Array  # [] temperature


class Grouped(NamedTuple):
    """What a batch says at every infoset: see `Force`."""

    advantage: jax.Array  # [I, A]
    halves: jax.Array  # [2, I, A]
    better: jax.Array  # [2, I, A]
    share: jax.Array  # [I] of its player's visits


@settings(kw_only=True)
class Gradients(OnEither, Averaging):
    """The choices that all policy gradients share, and their iteration."""

    units: tuple[int, ...] = (128, 128)
    episodes: int = 1000  # an iteration
    spread: bool = True  # evenly over all that can happen, on a tree; rules are always drawn
    epochs: int = 1  # steps of the actor on them
    horizon: int = 10_000  # iterations over which lr falls, and tau, geometrically
    lr: float = 8e-3
    lr_end: float = 1e-5
    lr_power: float = 2.0  # 1: lr falls linearly, 2: faster at first
    tau: float = 0.5  # temperature, in the game's units
    tau_end: float = 0.1
    # over histories: table, or network; by infoset: infoset, value; oracle: exact values. auto is
    # table on a tree, network on rules
    critic: str = "auto"
    trace: float = 1.0  # how far what was sampled corrects the critic: lambda of GAE
    correct: bool = True  # the critic by what was sampled; without, it alone speaks
    critic_rate: float = 0.1  # of a table
    critic_units: tuple[int, ...] = (64, 64)
    critic_lr: float = 1e-3
    even: float = 10.0  # equal shares of visits from which on more hardly count more; 0: they do
    counterfactual: bool = False  # divide by the player's own reach
    smoothing: float = 0.998  # of the weights; 0: not kept
    average_every: int = 10
    average_power: float = 3.0

    watched: ClassVar[tuple[str, ...]] = ("state.actor",)

    def __post_init__(self) -> None:
        check(self.name, self, RANGES)
        super().__post_init__()
        if self.average_units:
            raise ConfigError(f"{self.name} trains no average network: leave out average_units")
        if not (0.0 < self.tau_end <= self.tau or self.tau == 0.0):
            problem = f"tau_end is {self.tau_end}, must be above 0 and at most tau ({self.tau})"
            raise ConfigError(f"{self.name}: {problem}")

    @property
    def moves_magnet(self) -> bool:
        """Whether the magnet is something else than uniform play."""
        return False

    def force(self, now: Force) -> jax.Array:
        """Where the logits [I, A] of every infoset are to go."""
        raise NotImplementedError

    def reward(self, policy: jax.Array, magnet: jax.Array, tau: jax.Array) -> jax.Array | None:
        """What an action earns by itself [I, A], if anything."""
        return None

    def start(self, graph: Graph, rng: np.random.Generator) -> State:
        sizes = (graph.num_features, *self.units, graph.max_actions)
        nets = new_nets(rng, graph.num_players, sizes, zero_head=True)
        magnet = jax.tree.map(lambda w: np.stack([w, w]), nets) if self.moves_magnet else []
        return State(
            in_training(self.optimiser, nets),
            self.critic_used.start(graph, rng),
            jax.tree.map(np.copy, nets) if self.smoothing else [],
            magnet,
            averages.no_averages(self, graph, rng, nets, self.reservoir_size),
        )

    def speaking(self, state: State) -> Net:
        return state.actor.params

    def acting(self, graph: Graph, nets: Net) -> tuple[jax.Array, jax.Array]:
        policy = softmax(logits_of(graph, nets), graph.legal)
        return policy, policy

    def iteration(self, graph: Graph, t: jax.Array, state: State, key: jax.Array) -> State:
        sample_key, keep_key = jax.random.split(key)
        policy, _ = self.acting(graph, state.actor.params)
        seen = sample(graph, playing(policy), sample_key, self.episodes, self.spread)
        return self.learned(graph, t, state, seen, keep_key)

    def learned(
        self, graph: Graph, t: jax.Array, state: State, seen: Episodes, key: jax.Array
    ) -> State:
        """The state after an iteration with these episodes."""
        logits, back = jax.vjp(lambda nets: logits_of(graph, nets), state.actor.params)
        policy, tau = softmax(logits, graph.legal), self.tau_at(t)
        nets = state.actor.params
        kept = averages.remember(self, state.averages, graph, t, nets, lambda: policy, key)
        magnet = self.magnet_at(graph, t, state)
        reward = self.reward(policy, magnet, tau)
        found, critic = self.judged(graph, state.critic, seen, policy, reward)
        met = grouped(graph, seen, found.advantage, self.counterfactual)
        share = met.share
        if self.even and not self.counterfactual:
            share = share / (share + self.even / graph.num_infosets)
        actor = state.actor
        for epoch in range(self.epochs):
            if epoch:
                logits, back = jax.vjp(lambda nets: logits_of(graph, nets), actor.params)
            now = softmax(logits, graph.legal)
            told = Force(logits, now, policy, magnet, graph.legal, *met[:3], tau)
            slope = jnp.where(graph.legal, share[:, None] * self.force(told), 0.0)
            step = jax.vmap(lambda one, slope: descend(self.optimiser, one, slope))
            actor = step(actor, back(-slope)[0])
        smoothed = state.smoothed
        if self.smoothing:
            keep = jnp.minimum(self.smoothing, t / (t + 9.0))  # young averages forget faster
            smoothed = blend(smoothed, actor.params, 1.0 - keep)
        return State(actor, critic, smoothed, self.moved(t, state.magnet, actor.params), kept)

    def judged(
        self, graph: Graph, memory: Any, seen: Episodes, policy: jax.Array, reward: Any
    ) -> tuple[values.Corrected, Any]:
        """What the episodes say, and the critic that has learned from them."""
        critic = self.critic_used
        if critic.exact:
            memory = exact_values(graph, policy, reward)
        earned = None
        if reward is not None:
            earned = signed(graph, seen.player, reward[graph.infoset[seen.decision]])
            earned = jnp.where(seen.live[..., None, None], earned, 0.0)
        guess = critic.values(graph, memory, seen)
        acts = jnp.arange(graph.num_players) == seen.player[..., None]
        knows = critic.sees_all | acts
        found = values.corrected(seen, guess, earned, self.trace, not critic.exact, knows)
        memory = critic.learned(graph, memory, seen, found.target)
        if not self.correct:
            found = values.corrected(seen, guess, earned, sampled=False)
        return found, memory

    def networks(self, state: State) -> dict[str, Any]:
        found: dict[str, Any] = averages.past_of(state.averages, self.average_power)
        found["current"] = [state.actor.params], [1.0]
        if self.smoothing:
            found["smoothed"] = [state.smoothed], [1.0]
        return {name: (*answer, "softmax") for name, answer in found.items()}

    def for_rules(self) -> Self:
        return replace(self, critic="network") if self.critic == "auto" else self

    def check_rules(self) -> None:
        if self.critic != "network":
            problem = f"critic is {self.critic}, which needs the tree"
            raise ConfigError(f"{self.name}: {problem}; on rules take critic=network")

    def tables(self, graph: Graph, state: State) -> dict[str, jax.Array]:
        found = averages.average_tables(self, state.averages, graph)
        found["current"] = averages.policies_of(state.actor.params, graph)
        if self.smoothing:
            found["smoothed"] = averages.policies_of(state.smoothed, graph)
        return found

    def tau_at(self, t: jax.Array) -> jax.Array:
        if not self.tau:
            return jnp.zeros(())
        return self.tau * (self.tau_end / self.tau) ** jnp.minimum(t / self.horizon, 1.0)

    def magnet_at(self, graph: Graph, t: jax.Array, state: State) -> jax.Array:
        """The magnet's log-probabilities [I, A]: uniform where it does not move."""
        return log_of(uniform(graph.legal))

    def moved(self, t: jax.Array, magnet: Any, nets: Net) -> Any:
        """The magnet after an iteration."""
        return magnet

    @property
    def critic_used(self) -> Critic:
        made: dict[str, Callable[[], Critic]] = {
            "auto": lambda: Table(self.critic_rate),
            "table": lambda: Table(self.critic_rate),
            "infoset": lambda: InfosetTable(self.critic_rate),
            "value": lambda: ValueTable(self.critic_rate),
            "network": lambda: Network(self.critic_units, self.critic_lr),
            "oracle": lambda: Oracle(),
        }
        return made[self.critic]()

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam without momentum: with it, players go round in circles."""
        steps = self.horizon * self.epochs
        return optax.adam(
            optax.polynomial_schedule(self.lr, self.lr_end, self.lr_power, steps), b1=0.0
        )


def logits_of(graph: Graph, nets: Net) -> jax.Array:
    """What every player's network says at its own infosets [I, A]."""
    rows = []
    for player, first in enumerate(graph.first_infoset[:-1]):
        own = slice(first, graph.first_infoset[player + 1])
        rows.append(apply_net(one_of(nets, player), graph.observation[graph.own_view[own]]))
    return jnp.concatenate(rows)


def playing(policy: jax.Array) -> Callable[[Decisions], tuple[jax.Array, jax.Array]]:
    """Everybody plays a table [I, A]."""

    def behave(now: Decisions) -> tuple[jax.Array, jax.Array]:
        here = policy[now.infoset]
        return here, here

    return behave


def grouped(graph: Graph, seen: Episodes, advantage: jax.Array, counterfactual: bool) -> Grouped:
    """The advantages added up per infoset.

    With `counterfactual` each visit counts as often as the player, by its own play, was unlikely to
    come there, and an episode as one: the mean times the share is the sampled instant regret.
    """
    weight = jnp.where(seen.live, 1.0, 0.0)
    if counterfactual:
        weight = weight / values.own_reach(seen, graph.num_players)
    infoset = jnp.where(seen.live, graph.infoset[seen.decision], graph.num_infosets)
    half = jnp.arange(infoset.shape[1]) % 2
    rows = jnp.concatenate([advantage, jnp.ones_like(advantage[..., :1])], axis=-1)
    nothing = jnp.zeros((2, graph.num_infosets, graph.max_actions + 1))
    total = nothing.at[half, infoset].add(weight[..., None] * rows, mode="drop")
    visits = total[..., -1].sum(0)
    whole = jnp.full(graph.num_players, 1.0 * seen.utility.shape[0])
    if not counterfactual:
        whole = jnp.zeros(graph.num_players).at[graph.owner].add(visits)
    halves = total[..., :-1] / jnp.where(visits > 0.0, visits, 1.0)[:, None]
    better = 0.5 + 0.5 * jnp.sign(halves[::-1])
    share = visits / jnp.maximum(whole, 1.0)[graph.owner]
    return Grouped(halves.sum(0), halves, better, share)


def slope_of(objective: Callable[[jax.Array], jax.Array], now: Force) -> jax.Array:
    """The gradient [I, A], by the logits, of a function of the policy at each infoset."""
    return jax.grad(lambda logits: objective(softmax(logits, now.legal)).sum())(now.logits)


def log_of(policy: jax.Array) -> jax.Array:
    """Logarithms that stay finite, and whose gradient does."""
    return jnp.log(jnp.maximum(policy, 1e-30))


def entropy(policy: jax.Array) -> jax.Array:
    """Of each row."""
    return -(policy * log_of(policy)).sum(-1)


def blend(old: Net, new: Net, part: float | jax.Array) -> Net:
    """The weights moved by a part of the way."""
    return jax.tree.map(lambda one, two: one + part * (two - one), old, new)
