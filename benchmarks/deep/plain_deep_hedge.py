"""Deep-Hedge MCCFR as a plain recursion that evaluates the networks node by node.

This is the listing of the thesis in NumPy, or with networks in JAX, on the rules without a tree.
The tests give it the same random numbers as the compiled program and expect the same networks
(tests/algorithms/deep/test_deep_hedge.py). As a script it compares the speed of the two:

    python -m benchmarks.deep.plain_deep_hedge kuhn_poker leduc_poker
"""

from __future__ import annotations

import argparse
import time

import jax
import numpy as np

import counterplay as cp
from benchmarks.timing import first_paragraph, time_call
from counterplay.algorithms.deep.common.networks import apply_net
from counterplay.core.game import CHANCE, TERMINAL


def forward(net, x):
    """Return the outputs for one input, and the activations for the backward pass."""
    activations = []
    for weights, biases in net[:-1]:
        z = x @ weights + biases
        width = min(x.size, z.size)
        y = np.maximum(z, 0.0)
        y[:width] += x[:width]
        activations.append((x, z))
        x = y
    weights, biases = net[-1]
    return x @ weights + biases, [*activations, (x, None)]


def backward(net, activations, slope, gradient):
    """Add to `gradient` the gradient for the derivative `slope` of the loss by the outputs."""
    for layer in range(len(net) - 1, -1, -1):
        x, z = activations[layer]
        delta = slope if z is None else slope * (z > 0.0)
        gradient[layer][0] += np.outer(x, delta)
        gradient[layer][1] += delta
        input_slope = net[layer][0] @ delta
        if z is not None:
            width = min(x.size, slope.size)
            input_slope[:width] += slope[:width]
        slope = input_slope


def softmax(logits):
    """Return the softmax of a vector."""
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


class PlainDeepHedge:
    """Deep-Hedge on the rules of a game, with the hyper-parameters of `algorithms.DeepHedge`."""

    forward = staticmethod(forward)
    backward = staticmethod(backward)

    def __init__(self, game, hyper, strategy, baseline):
        self.game, self.hyper = game, hyper
        self.strategy, self.baseline = strategy, baseline
        self.num_outputs = strategy[0][-1][1].size

    def iterate(self, t, draws):
        """Run iteration t; `draws(player)` returns the random numbers [D, B] of its episodes."""
        a = self.hyper
        for player in range(self.game.num_players):
            columns = iter(draws(player).T)
            if a.listing_order:
                self.iterate_in_listing_order(player, columns, t)
                continue
            for _ in range(a.num_baseline_updates):
                visits = []
                for _ in range(a.num_baseline_traversals):
                    self.traverse(player, next(columns), [], visits)
                self.fit_baseline(player, visits, t)
            decisions = []
            for _ in range(a.num_traversals):
                self.traverse(player, next(columns), decisions, [])
            self.update_strategy(player, decisions, t)

    def iterate_in_listing_order(self, player, columns, t):
        """Run one player's part of listing 1: K episodes for W, then L times H for U.

        The first fit of U also uses the values of the K episodes, which M_U still holds.
        """
        a = self.hyper
        decisions, visits = [], []
        for _ in range(a.num_traversals):
            self.traverse(player, next(columns), decisions, visits)
        self.update_strategy(player, decisions, t)
        for _ in range(a.num_baseline_updates):
            for _ in range(a.num_baseline_traversals):
                self.traverse(player, next(columns), [], visits)
            self.fit_baseline(player, visits, t)
            visits = []

    def traverse(self, player, draws, decisions, visits):
        """Play one episode; collect regrets at the player's decisions, and values at all."""
        state = self.sample_chance(self.game.initial_state(), draws[0])
        return self.visit(player, state, 0, 1.0, draws, decisions, visits)

    def sample_chance(self, state, draw):
        """Return the next decision or terminal after chance, chosen by one uniform number."""
        leaves = []
        stack = [(state, 1.0)]
        while stack:
            leaf, probability = stack.pop()
            if self.game.player(leaf) != CHANCE:
                leaves.append((leaf, probability))
                continue
            for action, p in reversed(self.game.chance_outcomes(leaf)):
                stack.append((self.game.next_state(leaf, action), probability * p))
        cumulative = 0.0
        for leaf, probability in leaves[:-1]:
            cumulative += probability
            if draw < np.float32(cumulative):
                return leaf
        return leaves[-1][0]

    def visit(self, player, state, turn, reach, draws, decisions, visits):
        """Return the player's sampled value of a state; collect decisions and visits below."""
        game, a = self.game, self.hyper
        acting = game.player(state)
        if acting == TERMINAL:
            return game.utilities(state)[player]
        actions = game.actions(state)
        n = len(actions)
        logits, _ = self.forward(self.strategy[acting], self.observe(state, acting))
        policy = softmax(logits[:n])
        is_own = acting == player
        sampling = a.epsilon / n + (1.0 - a.epsilon) * policy if is_own else policy
        action = min(int((np.cumsum(sampling) <= draws[2 * turn + 1]).sum()), n - 1)
        child = self.sample_chance(game.next_state(state, actions[action]), draws[2 * turn + 2])
        child_reach = reach * sampling[action] if is_own else reach
        value = self.visit(player, child, turn + 1, child_reach, draws, decisions, visits)
        baseline = np.zeros(n)
        if is_own or a.augmented_baseline:
            observation = self.observe(state, player)
            baseline = self.forward(self.baseline[player], observation)[0][:n]
            visits.append((observation, action, value))
        values = baseline.copy()
        values[action] += (value - baseline[action]) / sampling[action]
        mean = policy @ values
        if is_own:
            decisions.append((self.observe(state, player), (values - mean) / reach))
        return mean

    def observe(self, state, player):
        """Return the player's observation in the precision of the networks."""
        return np.array(self.game.observation(state, player), self.strategy[0][0][0].dtype)

    def update_strategy(self, player, decisions, t):
        """Move the strategy network along the regrets of the decisions."""
        a, net = self.hyper, self.strategy[player]
        gradient = [[np.zeros_like(w), np.zeros_like(b)] for w, b in net]
        scale = 1.0 / self.num_outputs if a.mean_over_actions else 1.0
        for observation, regret in decisions:
            n = regret.size
            logits, activations = self.forward(net, observation)
            y = logits[:n] - logits[:n].mean()
            policy = softmax(logits[:n])
            push = np.where(regret > 0, y <= a.logit_threshold, y >= -a.logit_threshold) * regret
            if a.centred_update:
                push = push - push.mean()
            entropy = -(policy * np.log(policy)).sum()
            coef = a.entropy_coef * t**-a.entropy_decay_power
            if not a.entropy_uses_rate:
                coef /= self.learning_rate(t, a.learning_rate, a.learning_rate_end)
            push = push - coef * policy * (np.log(policy) + entropy)
            slope = np.zeros(self.num_outputs)
            slope[:n] = -scale * push / len(decisions)
            self.backward(net, activations, slope, gradient)
        self.descend(net, gradient, t, a.learning_rate, a.learning_rate_end)

    def fit_baseline(self, player, visits, t):
        """Take one gradient step of the baseline towards the sampled values."""
        net = self.baseline[player]
        gradient = [[np.zeros_like(w), np.zeros_like(b)] for w, b in net]
        for observation, action, target in visits:
            values, activations = self.forward(net, observation)
            slope = np.zeros(self.num_outputs)
            slope[action] = 2.0 * (values[action] - target) / len(visits)
            self.backward(net, activations, slope, gradient)
        a = self.hyper
        self.descend(net, gradient, t, a.baseline_learning_rate, a.baseline_learning_rate_end)

    def descend(self, net, gradient, t, start, floor):
        """Update the weights in place, with clipping and weight decay."""
        a, rate = self.hyper, self.learning_rate(t, start, floor)
        norm = np.sqrt(sum((part**2).sum() for layer in gradient for part in layer))

        def clip(slope):
            if a.max_grad_norm:
                return slope * min(1.0, a.max_grad_norm / norm)
            return np.clip(slope, -a.max_grad_value, a.max_grad_value)

        for (weights, biases), (for_weights, for_biases) in zip(net, gradient, strict=True):
            weights -= rate * (clip(for_weights) + a.weight_decay * weights)
            if a.use_biases:
                biases -= rate * (clip(for_biases) + a.weight_decay * biases)

    def learning_rate(self, t, start, floor):
        """Return the learning rate of iteration t."""
        return max(start * self.hyper.decay_rate ** (t / self.hyper.decay_steps), floor)


class PlainDeepHedgeInJax(PlainDeepHedge):
    """The same with networks in JAX: a compiled call per node, derivatives by JAX."""

    @staticmethod
    def forward(net, x):
        return np.asarray(evaluate_net(net, x)), x

    @staticmethod
    def backward(net, x, slope, gradient):
        gradient[:] = add_gradient(net, x, slope, gradient)

    def descend(self, net, gradient, t, start, floor):
        a, rate = self.hyper, self.learning_rate(t, start, floor)
        net[:] = descend_weights(net, gradient, rate, a.max_grad_value, a.weight_decay)


@jax.jit
def evaluate_net(net, x):
    """Return the outputs for one input."""
    return apply_net(net, x[None])[0]


@jax.jit
def add_gradient(net, x, slope, gradient):
    """Return `gradient` plus the gradient of one input."""
    new = jax.vjp(lambda n: evaluate_net(n, x), net)[1](slope.astype(x.dtype))[0]
    pairs = zip(gradient, new, strict=True)
    return [[w + more_w, b + more_b] for (w, b), (more_w, more_b) in pairs]


@jax.jit
def descend_weights(net, gradient, rate, clip, decay):
    """Return the weights after one step."""
    slopes = [tuple(pair) for pair in gradient]
    return jax.tree.map(lambda w, g: w - rate * (g.clip(-clip, clip) + decay * w), net, slopes)


NO_AVERAGE = 10**9  # steps between additions to the average policy, which the recursion lacks
LEDUC_SETTINGS = {
    "hidden_sizes": (196, 196, 48),
    "baseline_hidden_sizes": (128, 128, 32),
    "num_traversals": 64,
    "num_baseline_traversals": 16,
    "num_baseline_updates": 4,
    "average_every": NO_AVERAGE,
}
SETTINGS_BY_GAME = {
    "kuhn_poker": {"average_every": NO_AVERAGE},
    "leduc_poker": LEDUC_SETTINGS,
    "goofspiel": LEDUC_SETTINGS
    | {"num_traversals": 32, "num_baseline_updates": 2, "entropy_coef": 0.0},
}
NUM_TURNS = 15


def compare_speed(spec):
    """Print steps per second of the compiled program and of both recursions."""
    game = cp.load_game(spec)
    tree = cp.build_tree(game)
    settings = SETTINGS_BY_GAME.get(spec.split("(")[0], {})
    thesis = {"num_traversals": 4, "num_baseline_traversals": 4, "num_baseline_updates": 1}
    thesis |= {"epsilon": 0.1, "mean_over_episodes": False, "stratified": False}
    algorithm = cp.algorithms.DeepHedge(
        augmented_baseline=False, normalize_returns=False, **thesis | settings
    )
    memory = algorithm.step(tree, algorithm.init(tree), 5)
    networks = [
        [jax.tree.map(np.array, player.params) for player in players]
        for players in (memory.state.strategy, memory.state.baseline)
    ]
    numpy_plain = PlainDeepHedge(game, algorithm, *networks)
    jax_plain = PlainDeepHedgeInJax(game, algorithm, *jax.tree.map(jax.numpy.array, networks))
    rng = np.random.default_rng(0)
    num_baseline = algorithm.num_baseline_updates * algorithm.num_baseline_traversals
    size = (2 * tree.max_episode_length + 1, num_baseline + algorithm.num_traversals)
    num_steps = 100 if tree.num_nodes > 1000 else 2000

    def draws(player):
        return rng.random(size)

    def step_compiled():
        nonlocal memory
        memory = algorithm.step(tree, memory, num_steps)
        jax.block_until_ready(memory.state)

    jax_plain.iterate(1, draws)  # compiles
    compiled, in_numpy, in_jax = [], [], []
    for t in range(1, NUM_TURNS + 1):
        compiled.append(time_call(step_compiled, time.perf_counter) / num_steps)
        for times, plain in ((in_numpy, numpy_plain), (in_jax, jax_plain)):
            times.append(time_call(lambda p=plain, t=t: p.iterate(t, draws), time.perf_counter))
    seconds = np.median(compiled)
    print(f"{spec}: {1 / seconds:,.0f} steps/s compiled; node by node")
    for name, times in (("NumPy", in_numpy), ("JAX", in_jax)):
        plain_seconds = np.median(times)
        ratio = plain_seconds / seconds
        print(f"    in {name} {1 / plain_seconds:,.2f} steps/s, ratio {ratio:,.0f}")


def main():
    """Compare the speed on some games."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("games", nargs="*", default=list(SETTINGS_BY_GAME))
    for spec in parser.parse_args().games:
        compare_speed(spec)


if __name__ == "__main__":
    main()
