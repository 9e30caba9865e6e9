"""One iteration of Deep-Hedge MCCFR as a compiled program."""

from __future__ import annotations

from functools import lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep import average, past, reservoir, sampling
from counterplay.deep.average import Sums
from counterplay.deep.compiling import compiled
from counterplay.deep.graph import graph_of
from counterplay.deep.meetings import Meetings, gradient_at, meetings_of, outputs_at
from counterplay.deep.nets import Net, apply_net, new_net
from counterplay.deep.past import Past
from counterplay.deep.reservoir import Average, Reservoir
from counterplay.deep.sampling import Episodes
from counterplay.deep.tables import centre, own_views, softmax
from counterplay.tree import Tree

if TYPE_CHECKING:
    from counterplay.deep.deep_hedge import DeepHedge


class State(NamedTuple):
    """What an iteration changes, all of it on the device."""

    key: jax.Array  # of all randomness to come
    strategy: list[Net]  # W of each player
    baseline: list[Net]  # U of each player
    table: jax.Array  # [P, R, A] the policy at every infoset; empty where it is not kept
    ahead: Episodes  # of the player who learns next, sampled already
    sums: Sums  # [F] the policies so far, over the sequences of the tree's form
    past: Past  # some of the strategy networks so far
    buffer: Reservoir  # some of the policies met so far
    average: Average  # networks trained on them


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
        self.views, self.rows_exist = own_views(tree)
        self.keeps_table = algorithm.keeps_table(tree)
        self.run = compiled(self.iterate)
        opening = [(0, algorithm.player_traversals)]
        self.open = compiled(partial(self.sample, wanted=opening))

    def start(self, seed: int) -> State:
        """The state before the first iteration."""
        a, shape = self.a, self.shape
        rng = np.random.default_rng(seed)
        key, now = jax.random.split(jax.random.PRNGKey(seed))

        def new(units: tuple[int, ...]) -> list[Net]:
            sizes = (self.graph.observation.shape[1], *units, shape.max_actions)
            return [new_net(rng, sizes) for _ in range(shape.num_players)]

        draws = jax.random.uniform(now, sampling.draws_of(shape, a.player_traversals))
        strategy, baseline = new(a.player_units), new(a.baseline_units)
        nets = new(a.average_units) if a.average_units else []
        zeros = jax.tree.map(jnp.zeros_like, nets)
        table = self.table(strategy) if self.keeps_table else jnp.zeros(0)
        sums = jnp.zeros(self.sequences.row.size if a.average_every else 0)
        return State(
            key,
            strategy,
            baseline,
            table,
            self.open(strategy, table, draws)[0],
            Sums(sums, sums),
            past.nothing(strategy if a.past_networks else [], a.past_networks),
            reservoir.nothing(a.reservoir_size if nets else 1, shape.max_actions),
            Average(nets, zeros, zeros),
        )

    def iterate(self, first: jax.Array, last: jax.Array, state: State) -> State:
        """Iterations first + 1, ..., last."""
        return jax.lax.fori_loop(first, last, lambda n, s: self.iteration(n + 1, s), state)

    def iteration(self, t: jax.Array, state: State) -> State:
        a, shape = self.a, self.shape
        key, now, *keys = jax.random.split(state.key, 3 + shape.num_players)
        state = self.remember(t, state._replace(key=key), keys.pop())
        batch = a.player_update_freq * a.baseline_traversals + a.player_traversals
        draws = jax.random.uniform(now, (shape.num_players, *sampling.draws_of(shape, batch)))
        for player in range(shape.num_players):
            state = self.turn(player, t, state, draws[player], keys[player])
        return state

    def turn(
        self, player: int, t: jax.Array, state: State, draws: jax.Array, key: jax.Array
    ) -> State:
        """One player's part of an iteration.

        Between its baseline's episodes and the next player's first ones no strategy changes, so
        both are walked together.
        """
        a, episodes = self.a, state.ahead
        strategy, baseline = list(state.strategy), list(state.baseline)
        seen = self.seen(player, episodes)
        guess = self.guess(baseline[player], seen, self.meetings(player, seen, seen.live))
        regret = sampling.value(self.graph, self.shape, seen, guess).regret
        strategy[player] = self.hedge(strategy[player], player, seen, regret, t, state.past)
        table = state.table
        if self.keeps_table:
            table = table.at[player].set(self.all_policies(strategy[player], player))
        following = (player + 1) % self.shape.num_players
        size = a.baseline_traversals
        walked, ahead = self.sample(
            strategy,
            table,
            draws,
            [(player, a.player_update_freq * size), (following, a.player_traversals)],
        )
        seen = self.seen(player, walked)
        baseline[player] = jax.lax.fori_loop(
            0,
            a.player_update_freq,
            lambda n, net: self.fit(net, player, sampling.part(seen, n * size, size), t),
            baseline[player],
        )
        state = state._replace(strategy=strategy, baseline=baseline, table=table, ahead=ahead)
        return self.train_average(player, t, state, episodes, key) if a.average_units else state

    def legal(self, decision: jax.Array) -> jax.Array:
        return sampling.legal(self.graph, self.shape, decision)

    def play(self, net: Net, player: int, decision: jax.Array) -> jax.Array:
        """The player's policy [B, A] at some of its decisions [B]."""
        logits = apply_net(net, self.graph.observation[self.graph.view[player, decision]])
        return softmax(logits, self.legal(decision))

    def table(self, strategy: list[Net]) -> jax.Array:
        """All players' policies [P, R, A]."""
        return jnp.stack([self.all_policies(net, player) for player, net in enumerate(strategy)])

    def all_policies(self, net: Net, player: int, rows: slice = slice(None)) -> jax.Array:
        """The player's policy [R, A] at all of its infosets, or at some."""
        logits = apply_net(net, self.graph.observation[self.views[player][rows]])
        return softmax(logits, self.rows_exist[player][rows])

    def sample(
        self,
        strategy: list[Net],
        table: jax.Array,
        draws: jax.Array,
        wanted: list[tuple[int, int]],
    ) -> list[Episodes]:
        """Episodes of some traversers, as many of each as wanted, walked side by side."""
        graph, shape = self.graph, self.shape
        traversers, counts = zip(*wanted, strict=True)
        batch = sum(counts)

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

        who = jnp.repeat(jnp.array(traversers), jnp.array(counts), total_repeat_length=batch)
        episodes = sampling.walk(graph, shape, policy_at, who, self.a.epsilon, draws)
        return [
            sampling.part(episodes, last - count, count)
            for count, last in zip(counts, accumulate(counts), strict=True)
        ]

    def seen(self, player: int, episodes: Episodes) -> Episodes:
        """What of a player's episodes its baseline is asked about."""
        if self.a.augmented_baseline:
            return episodes
        return sampling.own_decisions(episodes, self.shape.most_own[player])

    def meetings(self, player: int, seen: Episodes, live: jax.Array) -> Meetings:
        """What the player sees at the `live` [T, B] ones of the episodes' decisions."""
        return meetings_of(self.graph.view[player, seen.node], live)

    def guess(self, net: Net, seen: Episodes, met: Meetings) -> jax.Array:
        """The baseline [T, B, A] at the episodes' decisions."""
        return self.where_real(seen, outputs_at(net, self.graph.observation, met))

    def where_real(self, seen: Episodes, values: jax.Array) -> jax.Array:
        """Values [T, B, A], zero past an episode's end and for actions that do not exist."""
        there = self.legal(seen.node) & seen.live[..., None]
        return jnp.where(there, values, 0.0)

    def hedge(
        self, net: Net, player: int, seen: Episodes, regret: jax.Array, t: jax.Array, past: Past
    ) -> Net:
        """The strategy network after a step along the regrets at the player's decisions."""
        a = self.a
        met = self.meetings(player, seen, seen.own)
        there = self.legal(seen.node)
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
        gradient = gradient_at(net, self.graph.observation, met, lambda _: push)
        return self.descend(net, gradient, t, a.player_lr_init, a.player_lr_end)

    def fit(self, net: Net, player: int, seen: Episodes, t: jax.Array) -> Net:
        """The baseline network after a step towards the values that the episodes found."""
        met = self.meetings(player, seen, seen.live)
        taken = jax.nn.one_hot(seen.action, self.shape.max_actions) * seen.live[..., None]
        scale = 2.0 / jnp.maximum(seen.live.sum(), 1)

        def push(outputs: jax.Array) -> jax.Array:
            guess = self.where_real(seen, outputs)
            target = sampling.value(self.graph, self.shape, seen, guess).target
            return taken * (guess - target[..., None]) * scale

        gradient = gradient_at(net, self.graph.observation, met, push)
        return self.descend(net, gradient, t, self.a.baseline_lr_init, self.a.baseline_lr_end)

    def descend(self, net: Net, gradient: Net, t: jax.Array, start: float, floor: float) -> Net:
        a = self.a
        rate = jnp.maximum(start * a.decay_rate ** (t / a.decay_steps), floor)
        clip = a.gradient_clipping_value

        def new(weights: jax.Array, slope: jax.Array) -> jax.Array:
            return weights - rate * (jnp.clip(slope, -clip, clip) + a.weight_decay * weights)

        return jax.tree.map(new, net, gradient)

    def remember(self, t: jax.Array, state: State, key: jax.Array) -> State:
        """Add the policy to the averages that are kept as sums or as a sample."""
        a = self.a

        def add(sums: Sums) -> Sums:
            table = state.table if self.keeps_table else self.table(state.strategy)
            weight = (t / 1e5) ** a.average_power
            return average.add(sums, weight * average.reach_of(self.sequences, table))

        if a.average_every == 1:
            state = state._replace(sums=add(state.sums))
        elif a.average_every:
            due = t % a.average_every == 0
            state = state._replace(sums=jax.lax.cond(due, add, lambda s: s, state.sums))
        if a.past_networks:
            kept = past.keep(state.past, state.strategy, t, jax.random.uniform(key))
            state = state._replace(past=kept)
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
