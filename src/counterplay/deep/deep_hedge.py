"""Deep-Hedge MCCFR: networks that follow Hedge on sampled regrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp

from counterplay.deep import average, past, reservoir, sampling
from counterplay.deep.average import Sums
from counterplay.deep.graph import graph_of
from counterplay.deep.meetings import Meetings, gradient_at, meetings_of, outputs_at
from counterplay.deep.nets import Net, apply_net, new_net
from counterplay.deep.past import Past
from counterplay.deep.reservoir import Average, Reservoir
from counterplay.deep.sampling import Episodes
from counterplay.deep.tables import centre, own_views, policy_of, softmax, table_of
from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.tree import Tree


class State(NamedTuple):
    """What an iteration changes, all of it on the device."""

    key: jax.Array  # of all randomness to come
    strategy: list[Net]  # W of each player
    baseline: list[Net]  # U of each player
    table: jax.Array  # [P, R, A] the policy at every infoset; empty where it is not kept
    sums: Sums  # [F] the policies so far, over the sequences of the tree's form
    past: Past  # some of the strategy networks so far
    buffer: Reservoir  # some of the policies met so far
    average: Average  # networks trained on them


@dataclass
class DeepHedgeMemory:
    """How many iterations there were, and what they left."""

    iteration: int
    state: State


@dataclass(frozen=True)
class DeepHedge:
    """Deep-Hedge MCCFR (the thesis of that name). At t = 1, 2, ..., for each player in turn:

        K episodes, outcome sampling, epsilon of uniform play by that player only:
            r = baseline-enhanced sampled regrets, zeroed where they would push a logit further
                beyond logits_threshold from the mean
        W = W + lr_w * mean over its decisions of (r . grad y + entropy_cost * grad entropy)
            with y = W(I) - mean over legal actions of W(I), and policy = softmax(W(I))
        L times H episodes:
        U = U - lr_u * mean over decisions of grad (U(I, a) - u)^2
            with u the sampled value after the action a that was taken

    Regrets are unbiased whatever U says. The printed update takes the gradient of W, not of the
    centred y: the common mode of the logits, which softmax ignores, then takes the full force of
    importance-weighted regrets, and the policy collapses on Leduc. Both steps also subtract
    weight_decay times the weights, clip the gradient entry by entry, and follow

        lr = max(lr_init * decay_rate**(t / decay_steps), lr_end)

    The average policy is weighted by t**average_power, and kept three ways: in a table, exactly; as
    a network (average_units) trained on a reservoir of the policies met; and as an ensemble
    (past_networks) of strategy networks, one of which is drawn per episode. The table is as large
    as the game and costs a pass over all infosets; without it (average_every = 0) the others stand
    in for it, and a step costs what its episodes cost, whatever the size of the tree.
    """

    player_units: tuple[int, ...] = (48, 48, 32)
    baseline_units: tuple[int, ...] = (48, 48, 32)
    player_traversals: int = 4  # K
    baseline_traversals: int = 4  # H
    player_update_freq: int = 1  # L
    player_lr_init: float = 0.01
    player_lr_end: float = 1e-6
    baseline_lr_init: float = 0.01
    baseline_lr_end: float = 1e-6
    decay_rate: float = 0.95
    decay_steps: float = 10_000.0
    epsilon: float = 0.1
    entropy_cost: float = 0.1
    entropy_decay: float = 0.0  # entropy_cost * t**-entropy_decay
    logits_threshold: float = 2.0
    gradient_clipping_value: float = 1000.0
    weight_decay: float = 1e-4
    normalize_returns: bool = False  # divide utilities by the largest
    augmented_baseline: bool = True  # also where others act; False: at own decisions only
    mean_over_actions: bool = False  # the author's program: a mean over actions, not a sum
    average_power: float = 0.0
    average_every: int = 1  # steps between two additions to the table; 0: no table is kept
    average_units: tuple[int, ...] = ()  # of the average network; none: it is not trained
    average_lr: float = 1e-3
    average_batch: int = 128
    reservoir_size: int = 65_536
    past_networks: int = 0  # strategy networks in the ensemble
    past_cost: float = 0.0  # pull towards their mean logits (section 4.4.1 of the thesis)

    watched: ClassVar[tuple[str, ...]] = ("state.strategy", "state.baseline")

    def __post_init__(self) -> None:
        positive = ["player_traversals", "baseline_traversals", "player_update_freq"]
        positive += ["average_batch", "reservoir_size", "decay_steps"]
        for name in positive:
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"deep_hedge: {name} is {getattr(self, name)}, must be at least 1"
                )
        for name in ("player_units", "baseline_units", "average_units"):
            units = getattr(self, name)
            if min(units, default=1) < 1 or not (units or name == "average_units"):
                raise ConfigError(f"deep_hedge: {name} is {units}, must be one size or more")
        for name in ("epsilon", "decay_rate"):
            if not 0.0 < getattr(self, name) <= 1.0:
                raise ConfigError(f"deep_hedge: {name} is {getattr(self, name)}, must be in (0, 1]")
        if min(self.average_every, self.past_networks) < 0:
            raise ConfigError("deep_hedge: average_every and past_networks must be at least 0")
        if self.past_cost and not self.past_networks:
            raise ConfigError("deep_hedge: past_networks must be at least 1 with a past_cost")
        if self.kept().keys() == {"current"}:
            raise ConfigError(
                "deep_hedge: no average is kept; set average_every, average_units or past_networks"
            )

    def init(self, tree: Tree, seed: int = 0) -> DeepHedgeMemory:
        graph, shape = graph_of(tree)

        def new(key: jax.Array, units: tuple[int, ...]) -> list[Net]:
            sizes = (graph.observation.shape[1], *units, shape.max_actions)
            return [new_net(k, sizes) for k in jax.random.split(key, shape.num_players)]

        key, first, second, third = jax.random.split(jax.random.PRNGKey(seed), 4)
        strategy = new(first, self.player_units)
        nets = new(third, self.average_units) if self.average_units else []
        zeros = jax.tree.map(jnp.zeros_like, nets)
        num_sequences = int(tree.form.offset[-1]) if self.average_every else 0
        state = State(
            key,
            strategy,
            new(second, self.baseline_units),
            table_of(tree, strategy) if self.keeps_table(tree) else jnp.zeros(0),
            Sums(jnp.zeros(num_sequences), jnp.zeros(num_sequences)),
            past.nothing(strategy if self.past_networks else [], self.past_networks),
            reservoir.nothing(self.reservoir_size if nets else 1, shape.max_actions),
            Average(nets, zeros, zeros),
        )
        return DeepHedgeMemory(0, state)

    def step(self, tree: Tree, memory: DeepHedgeMemory, iterations: int = 1) -> DeepHedgeMemory:
        last = memory.iteration + iterations
        return DeepHedgeMemory(last, program(tree, self).run(memory.iteration, last, memory.state))

    def policy(self, tree: Tree, memory: DeepHedgeMemory) -> Policy:
        return next(iter(self.kept().values()))(tree, memory)

    def average_policy(self, tree: Tree, memory: DeepHedgeMemory) -> Policy:
        """The average in the table."""
        return average.average_policy(tree, memory.state.sums.total)

    def current_policy(self, tree: Tree, memory: DeepHedgeMemory) -> Policy:
        """What the strategy networks play now."""
        return policy_of(tree, table_of(tree, memory.state.strategy))

    def network_policy(self, tree: Tree, memory: DeepHedgeMemory) -> Policy:
        """What the average network plays."""
        return policy_of(tree, table_of(tree, memory.state.average.nets))

    def ensemble_policy(self, tree: Tree, memory: DeepHedgeMemory) -> Policy:
        """What drawing a past network per episode amounts to."""
        return past.past_policy(tree, memory.state.past, self.average_power)

    def policies(self, tree: Tree, memory: DeepHedgeMemory) -> dict[str, Policy]:
        """All that is worth judging side by side, the best average first."""
        return {name: policy(tree, memory) for name, policy in self.kept().items()}

    def kept(self) -> dict[str, Callable[..., Policy]]:
        """How to make each of these policies."""
        ways = [
            ("average", self.average_every, self.average_policy),
            ("network", self.average_units, self.network_policy),
            ("ensemble", self.past_networks, self.ensemble_policy),
            ("current", True, self.current_policy),
        ]
        return {name: policy for name, kept, policy in ways if kept}

    def keeps_table(self, tree: Tree) -> bool:
        """Whether all infosets are fewer than those that the episodes of a step would visit."""
        episodes = self.player_traversals + self.player_update_freq * self.baseline_traversals
        return tree.num_infosets <= episodes * tree.longest_episode * tree.num_players


@lru_cache(maxsize=8)
def program(tree: Tree, algorithm: DeepHedge) -> Program:
    """The compiled program of an algorithm on a tree; the last few are remembered."""
    return Program(tree, algorithm)


class Program:
    """One iteration, as pure functions of arrays; `run` compiles many of them into one call."""

    def __init__(self, tree: Tree, algorithm: DeepHedge):
        graph, shape = graph_of(tree)
        self.a, self.shape = algorithm, shape
        self.graph = jax.tree.map(jnp.asarray, graph)
        if algorithm.normalize_returns:
            utility = self.graph.utility / jnp.abs(self.graph.utility).max()
            self.graph = self.graph._replace(utility=utility)
        self.sequences = jax.tree.map(jnp.asarray, average.sequences_of(tree))
        self.views, counts = own_views(tree)
        self.rows_exist = self.exists(counts)
        self.keeps_table = algorithm.keeps_table(tree)
        self.run = jax.jit(self.iterate)

    def iterate(self, first: jax.Array, last: jax.Array, state: State) -> State:
        """Iterations first + 1, ..., last."""
        return jax.lax.fori_loop(first, last, lambda n, s: self.iteration(n + 1, s), state)

    def iteration(self, t: jax.Array, state: State) -> State:
        state = self.remember(t, state)
        for player in range(self.shape.num_players):
            state = self.turn(player, t, state)
        return state

    def turn(self, player: int, t: jax.Array, state: State) -> State:
        """One player's part of an iteration."""
        a = self.a
        key, first, second, third = jax.random.split(state.key, 4)
        strategy, baseline = list(state.strategy), list(state.baseline)
        episodes, seen = self.sample(
            state.strategy, state.table, player, first, a.player_traversals
        )
        guess = self.guess(baseline[player], seen, self.meetings(player, seen, seen.live))
        regret = sampling.value(self.graph, self.shape, seen, guess).regret
        strategy[player] = self.hedge(strategy[player], player, seen, regret, t, state.past)
        table = state.table
        if self.keeps_table:
            table = table.at[player].set(self.all_policies(strategy[player], player))
        batch = a.player_update_freq * a.baseline_traversals
        _, seen = self.sample(strategy, table, player, second, batch)
        baseline[player] = jax.lax.fori_loop(
            0,
            a.player_update_freq,
            lambda n, net: self.fit(net, player, self.series(n, seen), t),
            baseline[player],
        )
        state = state._replace(key=key, strategy=strategy, baseline=baseline, table=table)
        return self.train_average(player, t, state, episodes, third) if a.average_units else state

    def exists(self, counts: Any) -> jax.Array:
        return jnp.arange(self.shape.max_actions) < counts[..., None]

    def outputs(self, net: Net, player: int, decision: jax.Array) -> jax.Array:
        """What a player's network says at some decisions [...], as logits or values [..., A]."""
        x = self.graph.observation[self.graph.view[player, decision]]
        return apply_net(net, x.reshape(-1, x.shape[-1])).reshape(*decision.shape, -1)

    def play(self, net: Net, player: int, decision: jax.Array) -> jax.Array:
        there = self.exists(self.graph.num_actions[decision])
        return softmax(self.outputs(net, player, decision), there)

    def all_policies(self, net: Net, player: int, rows: slice = slice(None)) -> jax.Array:
        """The player's policy [R, A] at all of its infosets, or at some."""
        logits = apply_net(net, self.graph.observation[self.views[player][rows]])
        return softmax(logits, self.rows_exist[player][rows])

    def sample(
        self, strategy: list[Net], table: jax.Array, player: int, key: jax.Array, batch: int
    ) -> tuple[Episodes, Episodes]:
        """Episodes, and what of them the baseline is asked about."""
        graph, shape = self.graph, self.shape

        def policy_at(turn: int, decision: jax.Array) -> jax.Array:
            who = graph.player[decision]
            if self.keeps_table:
                return table[who, graph.row[decision]]
            acting, (first, last) = shape.turns[turn]
            if acting >= 0 and 2 * (last - first) <= batch:  # fewer infosets than episodes
                rows = self.all_policies(strategy[acting], acting, slice(first, last))
                return rows[graph.row[decision] - first]
            if acting >= 0:
                return self.play(strategy[acting], acting, decision)
            every = [self.play(net, p, decision) for p, net in enumerate(strategy)]
            return jnp.stack(every)[who, jnp.arange(decision.size)]

        episodes = sampling.walk(graph, shape, policy_at, player, self.a.epsilon, key, batch)
        if self.a.augmented_baseline:
            return episodes, episodes
        return episodes, sampling.own_decisions(episodes, shape.most_own[player])

    def meetings(self, player: int, seen: Episodes, live: jax.Array) -> Meetings:
        """What the player sees at the `live` [T, B] ones of the episodes' decisions."""
        return meetings_of(self.graph.view[player, seen.node], live)

    def guess(self, net: Net, seen: Episodes, met: Meetings) -> jax.Array:
        """The baseline [T, B, A] at the episodes' decisions."""
        there = self.exists(self.graph.num_actions[seen.node]) & seen.live[..., None]
        return jnp.where(there, outputs_at(net, self.graph.observation, met), 0.0)

    def hedge(
        self, net: Net, player: int, seen: Episodes, regret: jax.Array, t: jax.Array, past: Past
    ) -> Net:
        """The strategy network after a step along the regrets at the player's decisions."""
        a = self.a
        met = self.meetings(player, seen, seen.own)
        there = self.exists(self.graph.num_actions[seen.node])
        log = jnp.log(jnp.maximum(seen.policy, 1e-30))
        y = centre(log, there)  # what the logits are up to a constant
        outward = jnp.where(regret > 0, y > a.logits_threshold, y < -a.logits_threshold)
        push = centre(jnp.where(outward, 0.0, regret), there)
        if a.entropy_cost:  # the gradient of entropy: - p * (log p + entropy)
            entropy = -(seen.policy * log).sum(-1, keepdims=True)
            push -= a.entropy_cost * t**-a.entropy_decay * seen.policy * (log + entropy)
        if a.past_cost:
            ask = partial(outputs_at, observation=self.graph.observation, met=met)
            push += a.past_cost * (centre(past.mean(player, ask), there) - y)
        share = 1.0 / self.shape.max_actions if a.mean_over_actions else 1.0
        scale = -share / jnp.maximum(seen.own.sum(), 1)
        push = jnp.where(there & seen.own[..., None], push * scale, 0.0)
        gradient = gradient_at(net, self.graph.observation, met, push)
        return self.descend(net, gradient, t, a.player_lr_init, a.player_lr_end)

    def series(self, n: jax.Array, seen: Episodes) -> Episodes:
        """The n-th series of baseline episodes among all of them."""
        size = self.a.baseline_traversals
        return jax.tree.map(
            lambda e: jax.lax.dynamic_slice_in_dim(e, n * size, size, int(e.ndim > 1)), seen
        )

    def fit(self, net: Net, player: int, seen: Episodes, t: jax.Array) -> Net:
        """The baseline network after a step towards the values that the episodes found."""
        met = self.meetings(player, seen, seen.live)
        guess = self.guess(net, seen, met)
        target = sampling.value(self.graph, self.shape, seen, guess).target
        taken = jax.nn.one_hot(seen.action, self.shape.max_actions) * seen.live[..., None]
        push = taken * (guess - target[..., None]) * (2.0 / jnp.maximum(seen.live.sum(), 1))
        gradient = gradient_at(net, self.graph.observation, met, push)
        return self.descend(net, gradient, t, self.a.baseline_lr_init, self.a.baseline_lr_end)

    def descend(self, net: Net, gradient: Net, t: jax.Array, start: float, floor: float) -> Net:
        a = self.a
        rate = jnp.maximum(start * a.decay_rate ** (t / a.decay_steps), floor)
        clip = a.gradient_clipping_value

        def new(weights: jax.Array, slope: jax.Array) -> jax.Array:
            return weights - rate * (jnp.clip(slope, -clip, clip) + a.weight_decay * weights)

        return jax.tree.map(new, net, gradient)

    def remember(self, t: jax.Array, state: State) -> State:
        """Add the policy to the averages that are kept as sums or as a sample."""
        a = self.a

        def add(sums: Sums) -> Sums:
            table = state.table
            if not self.keeps_table:
                table = jnp.stack([self.all_policies(n, p) for p, n in enumerate(state.strategy)])
            weight = (t / 1e5) ** a.average_power
            return average.add(sums, weight * average.reach_of(self.sequences, table))

        if a.average_every == 1:
            state = state._replace(sums=add(state.sums))
        elif a.average_every:
            due = t % a.average_every == 0
            state = state._replace(sums=jax.lax.cond(due, add, lambda s: s, state.sums))
        if a.past_networks:
            key, now = jax.random.split(state.key)
            kept = past.keep(state.past, state.strategy, t, jax.random.uniform(now))
            state = state._replace(key=key, past=kept)
        return state

    def train_average(
        self, player: int, t: jax.Array, state: State, episodes: Episodes, key: jax.Array
    ) -> State:
        """Offer the others' policies to the reservoir and train the average networks on it."""
        insert_key, draw_key = jax.random.split(key)
        scale = (t / 1e5) ** self.a.average_power
        items = reservoir.offered(self.graph, self.shape, episodes, scale)
        buffer = reservoir.insert(state.buffer, insert_key, *items)
        node, policy, weight = reservoir.draw(buffer, draw_key, self.a.average_batch)

        def loss(nets: list[Net]) -> jax.Array:
            total = jnp.zeros(())
            for p, net in enumerate(nets):
                played = jnp.maximum(self.play(net, p, node), 1e-30)
                mine = jnp.where(self.graph.player[node] == p, weight, 0.0)
                total -= (mine[:, None] * policy * jnp.log(played)).sum() / mine.sum().clip(1e-30)
            return total

        count = self.shape.num_players * (t - 1) + player + 1
        trained = reservoir.adam(
            state.average, jax.grad(loss)(state.average.nets), count, self.a.average_lr
        )
        return state._replace(buffer=buffer, average=trained)
