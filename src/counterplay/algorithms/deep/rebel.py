"""ReBeL: value networks of public beliefs, trained by depth-limited search on its own targets."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.buffers import add_rows_to_ring
from counterplay.algorithms.deep.common.jax_algorithm import (
    JaxMemory,
    NetworkAlgorithm,
    lazy_jit,
    wait_for,
)
from counterplay.algorithms.deep.common.networks import Net, apply_net, new_net, polyak_update
from counterplay.algorithms.deep.common.rollouts import rng_from_key
from counterplay.algorithms.deep.common.training import TrainState
from counterplay.algorithms.deep.common.utility_scale import tree_utility_scale
from counterplay.arenas.belief_subgames import BeliefGame, belief_game
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import Policy
from counterplay.core.settings import (
    HiddenSizes,
    NonNegativeInt,
    Positive,
    PositiveInt,
    Probability,
    settings,
)
from counterplay.errors import ConfigError
from counterplay.search.belief_search import POLICIES
from counterplay.search.belief_solver import BeliefSolver, mix_with_uniform
from counterplay.search.belief_tabulation import tabulate_search
from counterplay.search.is_mcts import check_choice
from counterplay.search.safe_search import SafeSearch
from counterplay.search.value_network import NumpyValueNetwork

MIN_CONCENTRATION, MAX_CONCENTRATION = 0.1, 3.0  # of the Dirichlet distribution of random ranges


class BeliefBuffer(NamedTuple):
    """A ring of N solved subgames."""

    num_seen: Ints  # [1] subgames so far
    kind: Ints  # [N] class of the public state
    ranges: Any  # [N, 2 V] of mean 1
    values: Any  # [N, 2 V] in units of the game's scale


class ReBeLState(NamedTuple):
    """The state that an iteration changes."""

    network: TrainState
    smooth: Net  # moving average of the weights, which searches use
    buffer: BeliefBuffer
    kind: Ints  # [B] classes of the public states that self-play is at
    ranges: Floats  # [B, 2, V] beliefs there


@settings(kw_only=True)
class ReBeL(NetworkAlgorithm):
    """ReBeL (Brown et al., 2020) on a tree, its variant with CFR-D. In each iteration:

        policy = average of PCFR+ on depth-limited subgames, with the network's values at leaves
        value  = of the root's infosets under `policy`; stored with the public state and ranges
        state  = a leaf of each subgame under the policy of a random iteration, or a new start
        loss   = mean Huber loss of the network at stored states; gradient steps on it

    The input of the network is the class of the public state (see `arenas.belief_subgames`) and
    both ranges; its output a value per infoset of each player, shifted so that they sum to zero.
    Episodes start at the game's root, or at a random public state with random ranges
    (`random_beliefs`). One player, drawn for each subgame, explores.

    Departures from the paper: subgames are solved by PCFR+ and iterations are drawn with its
    weights; leaves whose subgames have at most `end_size` public states are searched to their end,
    in training and at play; searches use a moving average of the weights; public states with equal
    subgames share their input.

    The policy is that of the searching agent, tabulated: the mean of `num_policies` policies, each
    with its own random iterations, of which few are more exploitable than the agent; or with policy
    "average" the one policy of safe searches.
    """

    hidden_sizes: HiddenSizes = (128, 128)
    depth: NonNegativeInt = 2  # public states ahead; 0: to the next public chance event
    num_subgames: PositiveInt = 32  # B
    training_iterations: PositiveInt = 64  # of PCFR+, in training
    search_iterations: PositiveInt = 256  # of PCFR+, at play
    end_size: NonNegativeInt = 16  # subgames with up to this many public states are not cut
    random_beliefs: Probability = 0.3  # share of episodes that start at random beliefs
    epsilon: Probability = 0.25  # exploration in self-play
    replay_buffer_size: PositiveInt = 200_000
    batch_size: PositiveInt = 512
    train_steps: PositiveInt = 16  # gradient steps an iteration
    learning_rate: Positive = 5e-3
    decay_iterations: Positive = 200.0  # the rate falls as 1 / sqrt(1 + t / decay_iterations)
    smoothing: Positive = 0.01  # of the moving average of weights, per gradient step
    policy: str = "drawn"  # "average": of safe searches, see `BeliefSearch`
    num_policies: PositiveInt = 16  # for the tabulated policy, if drawn
    default_iterations: ClassVar[int] = 2000
    monitored_paths: ClassVar[tuple[str, ...]] = ("state.network", "state.smooth")

    def __post_init__(self) -> None:
        check_choice("rebel", "policy", self.policy, POLICIES)

    def init(self, tree: TreeArena, seed: int = 0) -> JaxMemory:
        """Return the memory before the first iteration."""
        if not tree.num_infosets:
            raise ConfigError(f"no player acts in {tree.spec}: networks have nothing to learn")
        game = belief_game(tree)
        tree_utility_scale(tree)  # refuses games with constant utilities
        rng, width = np.random.default_rng(seed), 2 * game.max_views
        net = new_net(rng, (width + game.num_classes, *self.hidden_sizes, width), zero_head=True)
        size, count = self.replay_buffer_size, self.num_subgames
        buffer = BeliefBuffer(
            np.zeros(1, np.int64),
            np.zeros(size, np.int64),
            np.zeros((size, width), np.float32),
            np.zeros((size, width), np.float32),
        )
        state = ReBeLState(
            TrainState(net, optimiser().init(net)),
            net,
            buffer,
            np.zeros(count, np.int64),
            np.repeat(_uniform_ranges(game, 0)[None], count, axis=0),
        )
        return JaxMemory(0, jax.random.PRNGKey(seed), state)

    def step(self, tree: TreeArena, memory: JaxMemory, iterations: int = 1) -> JaxMemory:
        """Return the memory after more iterations."""
        game, state = belief_game(tree), memory.state
        buffer = BeliefBuffer(*(np.array(column) for column in state.buffer))
        state = state._replace(buffer=buffer)
        for n in range(memory.iteration, memory.iteration + iterations):
            rng = rng_from_key(jax.random.fold_in(memory.key, n))
            state = self._iterate(game, n, state, rng)
        return JaxMemory(memory.iteration + iterations, memory.key, state)

    def policies(self, tree: TreeArena, memory: JaxMemory) -> dict[str, Policy]:
        """Return the tabulated policy of the searching agent."""
        rng = rng_from_key(memory.key)
        network = self.value_network(tree, memory)
        solver = find_solver(belief_game(tree), self.depth, self.end_size)
        if self.policy == "average":
            return {"search": SafeSearch(solver, network, self.search_iterations).policy()}
        policy = tabulate_search(solver, network, self.search_iterations, self.num_policies, rng)
        return {"search": policy}

    def value_network(self, tree: TreeArena, memory: JaxMemory) -> NumpyValueNetwork:
        """Return the network for searches, in the game's units."""
        zero_sum = tree.zero_sum_arena
        net = [(np.asarray(w), np.asarray(b)) for w, b in memory.state.smooth]
        return NumpyValueNetwork(belief_game(zero_sum), net, zero_sum.utility_scale)

    def _iterate(
        self, game: BeliefGame, n: int, state: ReBeLState, rng: np.random.Generator
    ) -> ReBeLState:
        scale = game.tree.utility_scale
        solver = find_solver(game, self.depth, self.end_size)
        net = [(np.asarray(w), np.asarray(b)) for w, b in state.smooth]
        network = NumpyValueNetwork(game, net, scale)
        kind, ranges = np.asarray(state.kind), np.asarray(state.ranges)
        solution = solver.solve(kind, ranges, network, self.training_iterations, rng)
        stored = np.flatnonzero(np.isin(kind, solver.leaf_classes))
        rows = [
            kind[stored],
            ranges[stored].reshape(-1, 2 * game.max_views).astype(np.float32),
            (solution.values[stored] / scale).reshape(-1, 2 * game.max_views).astype(np.float32),
        ]
        buffer = state.buffer
        add_rows_to_ring(buffer.num_seen, buffer[1:], rows)
        kind, ranges = self._continue_episodes(solver, kind, ranges, solution.drawn, rng)
        num_filled = min(int(buffer.num_seen[0]), self.replay_buffer_size)
        train_state, smooth = state.network, state.smooth
        if num_filled:
            slots = rng.integers(0, num_filled, (self.train_steps, self.batch_size))
            rate = self.learning_rate / np.sqrt(1.0 + n / self.decay_iterations)
            train_state, smooth = wait_for(
                _fit(
                    train_state,
                    smooth,
                    (buffer.kind[slots], buffer.ranges[slots], buffer.values[slots]),
                    game.views,
                    game.view_chance.astype(np.float32),
                    np.float32(rate),
                    np.float32(self.smoothing),
                )
            )
        return ReBeLState(train_state, smooth, buffer, kind, ranges)

    def _continue_episodes(
        self,
        solver: BeliefSolver,
        kind: Ints,
        ranges: Floats,
        policy: Floats,
        rng: np.random.Generator,
    ) -> tuple[Ints, Floats]:
        """Return the next public states and beliefs of the episodes.

        The first subgame is always the game itself: new episodes start at its leaves.
        """
        game, count = solver.game, kind.size
        reachable = solver.leaf_classes
        explorer = rng.integers(0, 2, count)
        mixed = mix_with_uniform(solver, kind, policy, explorer, self.epsilon)
        row_offset, beliefs, _ = solver.ranges_at_leaves(kind, ranges, policy)
        probability = solver.ranges_at_leaves(kind, ranges, mixed)[2]
        next_kind, next_ranges = kind.copy(), ranges.copy()
        cumulated = np.cumsum(probability)
        before = np.concatenate([[0.0], cumulated])[row_offset]  # [B + 1]

        def draw_leaf(b: int) -> int:
            """Return the row of a random leaf of subgame b, or -1 if the episode ends there."""
            row = np.searchsorted(cumulated, before[b] + rng.random(), side="right")
            return int(row) if row < row_offset[b + 1] else -1

        for b in range(1, count):
            source, row = b, draw_leaf(b)
            if row < 0 and rng.random() >= self.random_beliefs:
                source, row = 0, draw_leaf(0)
            if row >= 0:
                leaf = row - int(row_offset[source])
                next_kind[b] = solver.layouts[kind[source]].leaf_class[leaf]
                next_ranges[b] = beliefs[row].reshape(2, -1)
            else:
                next_kind[b] = rng.choice(reachable) if reachable.size else 0
                next_ranges[b] = _random_ranges(game, int(next_kind[b]), rng)
        return next_kind, next_ranges


def _uniform_ranges(game: BeliefGame, kind: int) -> Floats:
    """Return ranges [2, V] of 1 at all views of a class."""
    return (np.arange(game.max_views) < game.views[kind][:, None]).astype(np.float64)


def _random_ranges(game: BeliefGame, kind: int, rng: np.random.Generator) -> Floats:
    """Return ranges [2, V] from Dirichlet distributions of random concentration, with mean 1."""
    ranges = np.zeros((2, game.max_views))
    for seat, count in enumerate(game.views[kind].tolist()):
        low, high = np.log(MIN_CONCENTRATION), np.log(MAX_CONCENTRATION)
        concentration = float(np.exp(rng.uniform(low, high)))
        ranges[seat, :count] = count * rng.dirichlet(np.full(count, concentration))
    return ranges


@lru_cache(maxsize=8)
def find_solver(game: BeliefGame, depth: int, end_size: int) -> BeliefSolver:
    """Return the solver of a game; the last few are kept."""
    return BeliefSolver(game, depth, end_size)


@lru_cache
def optimiser() -> optax.GradientTransformation:
    """Return Adam without its rate, after clipping as in the paper."""
    return optax.chain(optax.clip_by_global_norm(5.0), optax.scale_by_adam())


@lazy_jit()
def _fit(
    train_state: TrainState,
    smooth: Net,
    batches: Any,
    views: Any,
    view_chance: Any,
    rate: Any,
    smoothing: Any,
) -> Any:
    """Take a gradient step on each of the minibatches [steps, B, ...]."""

    def loss(net: Net, batch: Any) -> jax.Array:
        kind, ranges, target = batch
        outputs = belief_values(net, kind, ranges, view_chance)
        width = ranges.shape[-1] // 2
        valid = jnp.arange(width) < views[kind][:, :, None]  # [B, 2, V]
        error = optax.huber_loss(outputs, target, delta=1.0).reshape(-1, 2, width)
        return jnp.where(valid, error, 0.0).sum() / valid.sum()

    def step(carry: Any, batch: Any) -> Any:
        train_state, smooth = carry
        gradient = jax.grad(loss)(train_state.params, batch)
        updates, opt_state = optimiser().update(gradient, train_state.opt_state)
        updates = jax.tree.map(lambda update: -rate * update, updates)
        train_state = TrainState(optax.apply_updates(train_state.params, updates), opt_state)
        return (train_state, polyak_update(smooth, train_state.params, smoothing)), None

    return jax.lax.scan(step, (train_state, smooth), batches)[0]


def belief_values(net: Net, kind: Any, ranges: jax.Array, view_chance: Any) -> jax.Array:
    """Return values [B, 2 V] of public beliefs, in units of the game's scale.

    They are shifted so that the players' expected values under the ranges sum to zero.
    """
    one_hot = jax.nn.one_hot(kind, len(view_chance), dtype=ranges.dtype)
    outputs = apply_net(net, jnp.concatenate([ranges, one_hot], axis=-1))
    weight = ranges * view_chance[kind].reshape(ranges.shape)
    gap = (weight * outputs).sum(-1, keepdims=True) / weight.sum(-1, keepdims=True)
    return outputs - gap
