"""Deep-Hedge MCCFR written the straightforward way: a recursion that calls networks node by node.

This is the listing of the thesis in NumPy, or with networks in JAX, on the rules themselves,
without a tree. It serves as the correctness twin (tests/deep/test_deep_hedge.py feeds it the same
random numbers and expects the same networks) and as what the compiled program is compared with:

    python -m benchmarks.plain_deep_hedge kuhn_poker leduc_poker
"""

from __future__ import annotations

import sys
import time

import jax
import numpy as np

import counterplay as cp
from counterplay.algorithms.deep.common.networks import apply_net
from counterplay.core.game import CHANCE, TERMINAL


def forward(net, x):
    """Outputs for one input, and what the backward pass needs."""
    kept = []
    for weights, biases in net[:-1]:
        z = x @ weights + biases
        width = min(x.size, z.size)
        y = np.maximum(z, 0.0)
        y[:width] += x[:width]
        kept.append((x, z))
        x = y
    weights, biases = net[-1]
    return x @ weights + biases, [*kept, (x, None)]


def backward(net, kept, slope, gradient):
    """Add to `gradient` the slope of one output vector, taken back through the layers."""
    for layer in range(len(net) - 1, -1, -1):
        x, z = kept[layer]
        through = slope if z is None else slope * (z > 0.0)
        gradient[layer][0] += np.outer(x, through)
        gradient[layer][1] += through
        back = net[layer][0] @ through
        if z is not None:
            width = min(x.size, slope.size)
            back[:width] += slope[:width]
        slope = back


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


class PlainDeepHedge:
    """The algorithm with the hyper-parameters of `counterplay.algorithms.DeepHedge`, on a game's rules."""

    forward = staticmethod(forward)
    backward = staticmethod(backward)

    def __init__(self, game, hyper, strategy, baseline):
        self.game, self.a = game, hyper
        self.strategy, self.baseline = strategy, baseline
        self.num_outputs = strategy[0][-1][1].size

    def iterate(self, t, draws):
        """One iteration; `draws(player)` gives the random numbers [D, B] of its episodes."""
        a = self.a
        for player in range(self.game.num_players):
            columns = iter(draws(player).T)
            for _ in range(a.num_baseline_updates):
                visits = []
                for _ in range(a.num_baseline_traversals):
                    self.traverse(player, next(columns), [], visits)
                self.fit(player, visits, t)
            decisions = []
            for _ in range(a.num_traversals):
                self.traverse(player, next(columns), decisions, [])
            self.hedge(player, decisions, t)

    def traverse(self, player, draws, decisions, visits):
        """Play one episode; collect regrets at the player's decisions, and values everywhere."""
        state = self.open(self.game.initial_state(), draws[0])
        return self.visit(player, state, 0, 1.0, draws, decisions, visits)

    def open(self, state, draw):
        """Follow chance from a state to the next decision or end, by one uniform number."""
        leaves = []
        stack = [(state, 1.0)]
        while stack:
            here, probability = stack.pop()
            if self.game.player(here) != CHANCE:
                leaves.append((here, probability))
                continue
            for action, p in reversed(self.game.chance_outcomes(here)):
                stack.append((self.game.next_state(here, action), probability * p))
        passed = 0.0
        for here, probability in leaves[:-1]:
            passed += probability
            if draw < np.float32(passed):
                return here
        return leaves[-1][0]

    def visit(self, player, state, turn, reach, draws, decisions, visits):
        game, a = self.game, self.a
        who = game.player(state)
        if who == TERMINAL:
            return game.utilities(state)[player]
        actions = game.actions(state)
        n = len(actions)
        logits, _ = self.forward(self.strategy[who], self.see(state, who))
        policy = softmax(logits[:n])
        own = who == player
        mixed = a.epsilon / n + (1.0 - a.epsilon) * policy if own else policy
        chosen = min(int((np.cumsum(mixed) <= draws[2 * turn + 1]).sum()), n - 1)
        after = self.open(game.next_state(state, actions[chosen]), draws[2 * turn + 2])
        below = reach * mixed[chosen] if own else reach
        later = self.visit(player, after, turn + 1, below, draws, decisions, visits)
        guess = np.zeros(n)
        if own or a.augmented_baseline:
            seen = self.see(state, player)
            guess = self.forward(self.baseline[player], seen)[0][:n]
            visits.append((seen, chosen, later))
        values = guess.copy()
        values[chosen] += (later - guess[chosen]) / mixed[chosen]
        mean = policy @ values
        if own:
            decisions.append((self.see(state, player), (values - mean) / reach))
        return mean

    def see(self, state, player):
        return np.array(self.game.observation(state, player), self.strategy[0][0][0].dtype)

    def hedge(self, player, decisions, t):
        a, net = self.a, self.strategy[player]
        gradient = [[np.zeros_like(w), np.zeros_like(b)] for w, b in net]
        share = 1.0 / self.num_outputs if a.mean_over_actions else 1.0
        for seen, regret in decisions:
            n = regret.size
            logits, kept = self.forward(net, seen)
            y = logits[:n] - logits[:n].mean()
            policy = softmax(logits[:n])
            push = np.where(regret > 0, y <= a.logit_threshold, y >= -a.logit_threshold) * regret
            push = push - push.mean()
            entropy = -(policy * np.log(policy)).sum()
            push -= a.entropy_coef * t**-a.entropy_decay_power * policy * (np.log(policy) + entropy)
            slope = np.zeros(self.num_outputs)
            slope[:n] = -share * push / len(decisions)
            self.backward(net, kept, slope, gradient)
        self.descend(net, gradient, t, a.learning_rate, a.learning_rate_end)

    def fit(self, player, visits, t):
        net = self.baseline[player]
        gradient = [[np.zeros_like(w), np.zeros_like(b)] for w, b in net]
        for seen, chosen, target in visits:
            values, kept = self.forward(net, seen)
            slope = np.zeros(self.num_outputs)
            slope[chosen] = 2.0 * (values[chosen] - target) / len(visits)
            self.backward(net, kept, slope, gradient)
        self.descend(
            net, gradient, t, self.a.baseline_learning_rate, self.a.baseline_learning_rate_end
        )

    def descend(self, net, gradient, t, start, floor):
        a, rate = self.a, self.rate(t, start, floor)
        clip = a.max_grad_value
        for (weights, biases), (for_weights, for_biases) in zip(net, gradient, strict=True):
            weights -= rate * (np.clip(for_weights, -clip, clip) + a.weight_decay * weights)
            biases -= rate * (np.clip(for_biases, -clip, clip) + a.weight_decay * biases)

    def rate(self, t, start, floor):
        return max(start * self.a.decay_rate ** (t / self.a.decay_steps), floor)


class PlainDeepHedgeInJax(PlainDeepHedge):
    """The same with networks in JAX: a compiled call per node, derivatives by JAX."""

    @staticmethod
    def forward(net, x):
        return np.asarray(run(net, x)), x

    @staticmethod
    def backward(net, x, slope, gradient):
        gradient[:] = add_gradient(net, x, slope, gradient)

    def descend(self, net, gradient, t, start, floor):
        a, rate = self.a, self.rate(t, start, floor)
        net[:] = descended(net, gradient, rate, a.max_grad_value, a.weight_decay)


@jax.jit
def run(net, x):
    return apply_net(net, x[None])[0]


@jax.jit
def add_gradient(net, x, slope, gradient):
    new = jax.vjp(lambda n: run(n, x), net)[1](slope.astype(x.dtype))[0]
    pairs = zip(gradient, new, strict=True)
    return [[w + more_w, b + more_b] for (w, b), (more_w, more_b) in pairs]


@jax.jit
def descended(net, gradient, rate, clip, decay):
    slopes = [tuple(pair) for pair in gradient]
    return jax.tree.map(lambda w, g: w - rate * (g.clip(-clip, clip) + decay * w), net, slopes)


NEVER = 10**9  # steps between additions to the average, of which the recursion keeps none
SETTINGS = {
    "kuhn_poker": {"average_every": NEVER},
    "leduc_poker": {
        "player_units": (196, 196, 48),
        "baseline_units": (128, 128, 32),
        "player_traversals": 64,
        "baseline_traversals": 16,
        "player_update_freq": 4,
        "average_every": NEVER,
    },
}
SETTINGS["goofspiel"] = SETTINGS["leduc_poker"] | {
    "player_traversals": 32,
    "player_update_freq": 2,
    "entropy_cost": 0.0,
}


def main(specs):
    for spec in specs:
        game = cp.load_game(spec)
        tree = cp.build_tree(game)
        settings = SETTINGS.get(spec.split("(")[0], {})
        algorithm = cp.algorithms.DeepHedge(augmented_baseline=False, **settings)
        memory = algorithm.step(tree, algorithm.init(tree), 5)
        networks = [
            [jax.tree.map(np.array, one.params) for one in part]
            for part in (memory.state.strategy, memory.state.baseline)
        ]
        numpy_plain = PlainDeepHedge(game, algorithm, *networks)
        jax_plain = PlainDeepHedgeInJax(game, algorithm, *jax.tree.map(jax.numpy.array, networks))
        rng = np.random.default_rng(0)
        fitted = algorithm.num_baseline_updates * algorithm.num_baseline_traversals
        size = (2 * tree.max_episode_length + 1, fitted + algorithm.num_traversals)

        def draws(player, rng=rng, size=size):
            return rng.random(size)

        jax_plain.iterate(1, draws)  # compiles
        seconds = {"compiled": [], "numpy": [], "jax": []}
        for turn in range(15):
            count = 100 if tree.num_nodes > 1000 else 2000
            began = time.perf_counter()
            memory = algorithm.step(tree, memory, count)
            jax.block_until_ready(memory.state)
            seconds["compiled"].append((time.perf_counter() - began) / count)
            for name, plain in (("numpy", numpy_plain), ("jax", jax_plain)):
                began = time.perf_counter()
                plain.iterate(turn + 1, draws)
                seconds[name].append(time.perf_counter() - began)
        ours, in_numpy, in_jax = (np.median(times) for times in seconds.values())
        print(f"{spec}: {1 / ours:,.0f} steps/s compiled; node by node")
        for name, theirs in (("NumPy", in_numpy), ("JAX", in_jax)):
            print(f"    in {name} {1 / theirs:,.2f} steps/s, ratio {theirs / ours:,.0f}")


if __name__ == "__main__":
    main(sys.argv[1:] or list(SETTINGS))
