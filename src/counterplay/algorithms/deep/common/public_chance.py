"""Parts that methods with public-chance sampling share: features of rows, fits, and averages.

A network maps a row (hands of a board that differ in nothing but suits that cannot matter, see
`arenas.holdem.hand_rows`) to a number for each (decision, action) pair of the second round:

    outputs(row) = head . features(row),   features = [trunk(x), x, 1]

The trunk is trained once and then fixed; heads are sums of ridge regressions in closed form.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from counterplay.algorithms.deep.common.jax_algorithm import NetworkAlgorithm, lazy_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    affine,
    check_network_memory,
    new_net,
    resize_last_axis,
)
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.hand_rows import (
    HandRows,
    check_two_rounds,
    make_hand_rows,
    row_features,
)
from counterplay.arenas.holdem.public_chance import (
    BoardSample,
    LineTable,
    PublicChanceSampler,
    RoundLines,
    sampling_probabilities,
    systematic_sample,
)
from counterplay.arenas.tree.size_estimate import available_memory, format_gib
from counterplay.core.arena import Floats, Ints
from counterplay.core.policy import LazyPolicies
from counterplay.core.settings import HiddenSizes, NonNegativeInt, Positive, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import hand_rows as row_kernels

SAMPLING_EXPONENT = 0.5  # boards are drawn in proportion to a power of their probability
SAMPLE_GRAM_SHARE = 0.9  # of the sampled rows in the matrix of a fit; the rest is of all rows
ROWS_PER_BATCH = 16_384  # of a pass over all rows
STEPS_PER_CALL = 50  # of the average network, whose minibatches are gathered before
WEIGHT_DECAY = 1e-4
MAX_LOGIT = 20.0
MIN_SCALE = 1e-5  # features of smaller size are left out, and lines of smaller regrets not scaled
TRUNK_POWERS = 1.5, 0.0  # of the discounts of positive and negative regrets there
TRUNK_STREAM, BOARD_STREAM, AVERAGE_STREAM = 0, 1, 2  # of random numbers


@dataclass
class PublicChanceMemory:
    """The memory of a method with public-chance sampling.

    C lines and R rows of the second round, C' lines and K kinds of the first, F features, G boards,
    D deals.
    """

    iteration: int
    seed: int
    trunk: list[tuple[Any, Any]]  # weights and biases of the layers; the last one is unused later
    head: Any  # [C, F] outputs per feature
    first_head: LineTable  # [C', K] outputs of the first round, where each kind is a feature
    first_sum: LineTable  # [C', K] sum of weight times own reach times policy
    second_sum: Any  # [C, R] the same where boards were sampled
    board_values: Any  # [2, G, D, K] values of each board when it was last sampled
    deal_values: LineTable  # [2, D, K] their sums
    finished: ClassVar[bool] = False


@dataclass(eq=False)
class Workspace:
    """Arrays that follow from an arena and a trunk, and so are not part of the memory."""

    rows: HandRows
    sampler: PublicChanceSampler
    inputs: Any  # [R, inputs]
    row_weight: Any  # [R] probability of each row
    trunk: list[tuple[Any, Any]] = field(default_factory=list)  # that of the features
    features: Any = None  # [R, F]
    gram: Any = None  # [F, F]


_workspaces: weakref.WeakKeyDictionary[Any, dict[bool, Workspace]] = weakref.WeakKeyDictionary()


@settings(kw_only=True)
class PublicChanceMethod(NetworkAlgorithm):
    """Settings of public-chance sampling, the trunk, and the policies; it has no update.

    A subclass says how outputs become a policy (`policy_of`) and how an iteration changes the head
    (`update`).
    """

    runs_on: ClassVar[tuple[str, ...]] = ("vectors",)
    default_iterations: ClassVar[int] = 400
    monitored_paths: ClassVar[tuple[str, ...]] = ("trunk",)
    policy_order: ClassVar[tuple[str, ...]] = ("average", "network", "current")

    hidden_sizes: HiddenSizes = (384, 384)
    num_boards: PositiveInt = 192  # an iteration
    gamma: float = 2.0
    ridge: Positive = 1e-3  # per unit of the features' mean square
    trunk_boards: PositiveInt = 192
    trunk_iterations: PositiveInt = 30
    train_steps: NonNegativeInt = 1200  # of the trunk; 0 leaves its weights random
    batch_size: PositiveInt = 1024  # rows
    learning_rate: Positive = 2e-3  # falls to 0 along a cosine
    strength_features: bool = True
    average_train_steps: NonNegativeInt = 1500  # of the average network; 0 leaves it out

    def policy_of(
        self, sampler: PublicChanceSampler, outputs: LineTable, lines: RoundLines
    ) -> LineTable:
        """Return the policy [C, n] of the outputs [C, n] of a round's lines."""
        raise NotImplementedError

    def update(
        self, workspace: Workspace, memory: PublicChanceMemory, t: int, sample: BoardSample
    ) -> None:
        """Run iteration t on a sample; the memory is changed in place."""
        raise NotImplementedError

    def init(self, arena: Any, seed: int = 0) -> PublicChanceMemory:
        """Return the memory before the first iteration."""
        check_two_rounds(arena)
        self._check_memory(arena)
        workspace = self.workspace(arena)
        sampler, rows = workspace.sampler, workspace.rows
        num_lines, num_inputs = sampler.second_round.num_lines, workspace.inputs.shape[1]
        sizes = num_inputs, *self.hidden_sizes, 2 * num_lines
        rng = np.random.default_rng((seed, TRUNK_STREAM))
        num_features = self.hidden_sizes[-1] + num_inputs + 1
        first = np.zeros((sampler.first_round.num_lines, rows.num_kinds))
        shape = 2, sampler.num_deals, rows.num_kinds
        return PublicChanceMemory(
            iteration=0,
            seed=seed,
            trunk=[(np.asarray(w), np.asarray(b)) for w, b in new_net(rng, sizes)],
            head=np.zeros((num_lines, num_features), np.float32),
            first_head=first,
            first_sum=first.copy(),
            second_sum=np.zeros((num_lines, rows.num_rows), np.float32),
            board_values=np.zeros((2, sampler.board_weight.size, *shape[1:]), np.float32),
            deal_values=np.zeros(shape),
        )

    def step(self, arena: Any, memory: PublicChanceMemory, iterations: int = 1) -> Any:
        """Return the memory after more iterations."""
        workspace = self.workspace(arena)
        sampler = workspace.sampler
        for t in range(memory.iteration + 1, memory.iteration + 1 + iterations):
            if t == 1:
                self._train_trunk(workspace, memory)
            set_features(workspace, memory.trunk)
            rng = np.random.default_rng((memory.seed, BOARD_STREAM, t))
            probabilities = self._board_probabilities(sampler)
            sample = sampler.sample(systematic_sample(rng, probabilities), probabilities)
            self.update(workspace, memory, t, sample)
            memory.iteration = t
        return memory

    def policies(self, arena: Any, memory: PublicChanceMemory) -> Mapping[str, Any]:
        """Return the policies; each is tabulated at first access.

        `average` is a table of the rows of visited boards, `network` a network fitted to it, and
        `current` the network of the last iteration.
        """
        workspace = self.workspace(arena)
        sampler, trunk, head = workspace.sampler, memory.trunk, memory.head.copy()
        first_policy = self.policy_of(sampler, memory.first_head, sampler.first_round)
        first_sum, second_sum = memory.first_sum.astype(np.float32), memory.second_sum.copy()
        rng = np.random.default_rng((memory.seed, AVERAGE_STREAM, memory.iteration))

        def average() -> HoldemPolicy:
            return sampler.make_policy(first_sum, second_sum)

        def current() -> HoldemPolicy:
            outputs = self.outputs_of_all_rows(workspace, trunk, head)
            policy = self.policy_of(sampler, outputs, sampler.second_round)
            return sampler.make_policy(first_policy, policy)

        def network() -> HoldemPolicy:
            net = self.fit_average_network(workspace, trunk, second_sum, rng)
            return sampler.make_policy(first_sum, _network_policy(net, workspace))

        factories: dict[str, Callable[[], Any]] = {"average": average, "current": current}
        if self.average_train_steps:
            factories["network"] = network
        return LazyPolicies(
            {name: factories[name] for name in self.policy_order if name in factories}
        )

    def workspace(self, arena: HoldemGameArena) -> Workspace:
        """Return the rows, inputs and walks of an arena; they are made once."""
        workspaces = _workspaces.setdefault(arena, {})
        if self.strength_features not in workspaces:
            rows = make_hand_rows(arena)
            sampler = PublicChanceSampler(arena, rows)
            inputs = row_features(arena, rows, self.strength_features)
            weight = sampler.board_weight[rows.board] * rows.num_hands
            row_weight = (weight / weight.sum()).astype(np.float32)
            workspaces[self.strength_features] = Workspace(rows, sampler, inputs, row_weight)
        return workspaces[self.strength_features]

    def make_fit(self, workspace: Workspace, sample: BoardSample) -> RidgeFit:
        """Return the regression on the rows of a sample."""
        return RidgeFit(workspace, sample, self.ridge)

    def outputs_of_all_rows(
        self, workspace: Workspace, trunk: list[tuple[Any, Any]], head: LineTable
    ) -> LineTable:
        """Return the outputs [C, R] of a head."""
        set_features(workspace, trunk)
        return apply_head(head, workspace.features)

    def add_to_averages(
        self, workspace: Workspace, memory: PublicChanceMemory, t: int, player: int,
        policies: tuple[LineTable, LineTable], sample: BoardSample,
    ) -> None:  # fmt: skip
        """Add a player's policy, weighted by t**gamma and own reach, to the sums."""
        sampler, weight = workspace.sampler, float(t) ** self.gamma
        first_policy, second_policy = policies
        own = sampler.first_round.line_player == player
        memory.first_sum[own] += weight * sampler.first_round_reach(first_policy)[own]
        deal_reach = sampler.reach_at_deals(first_policy)[player]
        lines = sampler.second_round.lines_of(player)
        reach = sampler.own_reach(second_policy, deal_reach, sample.kind, lines)
        row_kernels.add_at_boards(
            reach, np.float32(weight), lines, sample.first, workspace.rows.first[sample.board],
            np.array([0, sample.board.size]), memory.second_sum,
        )  # fmt: skip

    def fit_average_network(
        self, workspace: Workspace, trunk: list[tuple[Any, Any]], policy_sum: LineTable,
        rng: np.random.Generator,
    ) -> Any:  # fmt: skip
        """Return a network whose softmax is fitted to the average policy of the visited rows.

        It minimises the cross entropy, weighted by own reach and the probability of the rows. All
        layers are trained; the hidden ones start as those of the trunk. The sums stand for a replay
        buffer in which all samples of a row are merged.

        Args:
            workspace: of the arena.
            trunk: its layers.
            policy_sum: [C, R] sums of own reach times policy.
            rng: draws the rows of the minibatches.
        """
        decisions = workspace.sampler.second_round.decisions
        probabilities = self._board_probabilities(workspace.sampler)
        visited = np.flatnonzero(policy_sum.any(axis=0))
        share = workspace.row_weight[visited] / probabilities[workspace.rows.board[visited]]
        ends = np.cumsum(share, dtype=np.float64)
        mass = float(share @ policy_sum[:, visited].mean(axis=0) / ends[-1])
        width, num_lines = trunk[-1][0].shape[0], len(policy_sum)
        net: Any = [(jnp.asarray(w), jnp.asarray(b)) for w, b in trunk[:-1]]
        net.append((jnp.zeros((width, num_lines)), jnp.zeros(num_lines)))
        state = optax.scale_by_adam().init(net), net
        membership = _decision_membership(decisions, num_lines)
        for first in range(0, self.average_train_steps, STEPS_PER_CALL):
            numbers = np.arange(first, min(first + STEPS_PER_CALL, self.average_train_steps))
            draws = rng.random((numbers.size, self.batch_size)) * ends[-1]
            picks = visited[np.searchsorted(ends, draws).clip(0, visited.size - 1)]
            targets = policy_sum[:, picks].transpose(1, 2, 0) / np.float32(mass)
            rates = self.learning_rate * (
                0.5 + 0.5 * np.cos(np.pi * numbers / self.average_train_steps)
            )
            state = _fit_average(
                state, workspace.inputs[picks], targets, rates.astype(np.float32), membership
            )
        return state[1]

    def _board_probabilities(self, sampler: PublicChanceSampler) -> Floats:
        return sampling_probabilities(sampler.board_weight, self.num_boards, SAMPLING_EXPONENT)

    def _check_memory(self, arena: HoldemGameArena) -> None:
        """Raise ConfigError if network, features and averages do not fit into memory."""
        nodes = [n for n in arena.betting.nodes if n.state.street == 1]
        num_lines = sum(len(node.actions) for node in nodes)
        check_network_memory(1, (1, *self.hidden_sizes, 2 * num_lines))
        rows_bound = arena.streets[1].num_boards * arena.num_hands(1)
        num_features = self.hidden_sizes[-1]
        least = 4 * (arena.num_sequences + 2 * num_features**2)
        rows = make_hand_rows(arena).num_rows if 4 * rows_bound < available_memory() else rows_bound
        needed = least + 4 * rows * (num_features + 2 * num_lines)  # sums, and a copy of them
        free = available_memory()
        if needed > 0.9 * free:
            raise ConfigError(
                f"{self.name} on {arena.spec} needs {format_gib(needed)} for {rows:,} rows of "
                f"{num_features:,} features and {num_lines} averages where {format_gib(free)} are "
                "free: choose a smaller last hidden size or a smaller game"
            )

    def _train_trunk(self, workspace: Workspace, memory: PublicChanceMemory) -> None:
        """Train the trunk on the regrets and policies of a game with a part of the boards."""
        if not self.train_steps:
            return
        rng = np.random.default_rng((memory.seed, TRUNK_STREAM, 1))
        sample, regret, policy_sum = self._solve_part(workspace, rng)
        weight = workspace.rows.num_hands[sample.row].astype(np.float32)
        decisions = workspace.sampler.second_round.decisions
        targets = np.concatenate(
            [regret / _line_scale(regret, weight, decisions), _spread(policy_sum, decisions)]
        )
        picks = rng.integers(0, sample.row.size, (self.train_steps, self.batch_size))
        trunk = _fit_trunk(
            [(jnp.asarray(w), jnp.asarray(b)) for w, b in memory.trunk],
            workspace.inputs[sample.row],
            np.ascontiguousarray(targets.T),
            weight / weight.mean(),
            picks,
            np.float32(self.learning_rate),
        )
        memory.trunk = [(np.asarray(w), np.asarray(b)) for w, b in trunk]

    def _solve_part(
        self, workspace: Workspace, rng: np.random.Generator
    ) -> tuple[BoardSample, LineTable, LineTable]:
        """Run tabular DCFR on `trunk_boards` boards.

        Returns:
            The boards, and their cumulative regrets and sums of policies [C, n].
        """
        sampler = workspace.sampler
        probabilities = sampling_probabilities(
            sampler.board_weight, self.trunk_boards, SAMPLING_EXPONENT
        )
        sample = sampler.sample(systematic_sample(rng, probabilities), probabilities)
        first = np.zeros((sampler.first_round.num_lines, workspace.rows.num_kinds))
        second = np.zeros((sampler.second_round.num_lines, sample.row.size), np.float32)
        instant, policy_sum = np.zeros_like(second), np.zeros_like(second)
        for t in range(1, self.trunk_iterations + 1):
            for player in (0, 1):
                first_policy = match_regrets(sampler, first, sampler.first_round)
                policy = match_regrets(sampler, second, sampler.second_round)
                lines = sampler.second_round.lines_of(player)
                reach = sampler.reach_at_deals(first_policy)[player]
                reach = sampler.own_reach(policy, reach, sample.kind, lines)
                policy_sum[lines] += np.float32(float(t) ** self.gamma) * reach[lines]
                values = sampler.second_round_regrets(player, first_policy, policy, sample, instant)
                total = (values / sample.probability[:, None, None]).sum(axis=0)
                first_instant = sampler.first_round_regrets(player, total)
                own = sampler.first_round.line_player == player
                discount(first, first_instant, own, *discounts(t, *TRUNK_POWERS))
                discount(second, instant, lines, *discounts(t, *TRUNK_POWERS))
        return sample, second, policy_sum


class RidgeFit:
    """Ridge regressions on the rows of a sample.

    The matrix is that of the sampled rows and, with a small weight, that of all rows: it keeps fits
    small along features that no sampled board has.
    """

    def __init__(self, workspace: Workspace, sample: BoardSample, ridge: float):
        self.features = workspace.features[sample.row]
        board = np.repeat(np.arange(sample.board.size), np.diff(sample.first))
        weight = workspace.row_weight[sample.row] / sample.probability[board]
        weight = (weight / weight.sum()).astype(np.float32)
        self._weighted = self.features * weight[:, None]
        gram = SAMPLE_GRAM_SHARE * (self._weighted.T @ self.features)
        gram += (1.0 - SAMPLE_GRAM_SHARE) * workspace.gram
        gram[np.diag_indices_from(gram)] += ridge
        self._inverse = np.linalg.inv(gram)

    def outputs(self, head: LineTable) -> LineTable:
        """Return the outputs [C, n] of a head at the rows of the sample."""
        outputs: LineTable = head @ self.features.T
        return outputs

    def solve(self, target: LineTable) -> LineTable:
        """Return the coefficients [C, F] of targets [C, n]."""
        return (target @ self._weighted) @ self._inverse


def match_regrets(sampler: PublicChanceSampler, regret: LineTable, lines: RoundLines) -> LineTable:
    """Return the policy [C, n] of regret matching; the largest regret if none is positive."""
    return sampler.match_regrets(np.asarray(regret, np.float32), lines)


def discounts(t: int, alpha: float, beta: float) -> tuple[float, float]:
    """Return the factors of positive and of negative regrets after iteration t."""
    positive, negative = (1.0 / (1.0 + float(t) ** -power) for power in (alpha, beta))
    return positive, negative


def discount(
    regret: LineTable, instant: LineTable, lines: Any, positive: float, negative: float
) -> None:
    """Add instant regrets to some lines of a table, and discount them."""
    total = regret[lines] + instant[lines]
    regret[lines] = np.where(total > 0.0, positive, negative) * total


def estimate_deal_values(
    memory: PublicChanceMemory, player: int, values: LineTable, sample: BoardSample
) -> LineTable:
    """Return an estimate [D, K] of the sum of all boards' values, and remember the new ones.

    The estimate is unbiased: the sum of the values known so far, and the changes on the sampled
    boards divided by the probability of sampling them.
    """
    change = values - memory.board_values[player, sample.board]
    estimate = memory.deal_values[player] + np.sum(
        change / sample.probability[:, None, None], axis=0, dtype=np.float64
    )
    memory.deal_values[player] += change.sum(axis=0, dtype=np.float64)
    memory.board_values[player, sample.board] = values
    return estimate


def _line_scale(regret: LineTable, weight: LineTable, decisions: Ints) -> LineTable:
    """Return the root mean square [C, 1] of the regrets of each line's decision."""
    square, scale = (regret**2) @ weight / weight.sum(), np.zeros((len(regret), 1), np.float32)
    for first, count, *_ in decisions.tolist():
        scale[first : first + count] = np.sqrt(square[first : first + count].mean())
    return np.maximum(scale, MIN_SCALE)


def _spread(policy_sum: LineTable, decisions: Ints) -> LineTable:
    """Return the average policy, moved from [0, 1] to [-1, 1]."""
    spread = np.zeros_like(policy_sum)
    for first, count, *_ in decisions.tolist():
        lines = slice(first, first + count)
        total = policy_sum[lines].sum(axis=0)
        known = np.where(total > 0.0, total, 1.0)
        spread[lines] = np.where(total > 0.0, 2.0 * policy_sum[lines] / known - 1.0, 0.0)
    return spread


def set_features(workspace: Workspace, trunk: list[tuple[Any, Any]]) -> None:
    """Compute the features [R, F] of all rows and their Gram matrix, unless they are those."""
    if workspace.features is not None and workspace.trunk is trunk:
        return
    inputs, weight = workspace.inputs, workspace.row_weight
    num_features = trunk[-1][0].shape[0] + inputs.shape[1] + 1
    features = np.empty((len(inputs), num_features), np.float32)
    batches = [slice(n, n + ROWS_PER_BATCH) for n in range(0, len(inputs), ROWS_PER_BATCH)]
    square = np.zeros(num_features)
    for rows in batches:
        features[rows] = np.asarray(_trunk_features(trunk, inputs[rows]))
        square += weight[rows] @ features[rows] ** 2
    scale = np.where(square > MIN_SCALE**2, 1.0 / np.sqrt(np.maximum(square, MIN_SCALE**2)), 0.0)
    features *= scale.astype(np.float32)
    gram = sum((features[rows] * weight[rows, None]).T @ features[rows] for rows in batches)
    workspace.features, workspace.gram, workspace.trunk = features, gram, trunk


def apply_head(head: LineTable, features: LineTable) -> LineTable:
    """Return the outputs [C, R] of all rows."""
    outputs = np.empty((len(head), len(features)), np.float32)
    for n in range(0, len(features), ROWS_PER_BATCH):
        rows = slice(n, n + ROWS_PER_BATCH)
        outputs[:, rows] = head @ features[rows].T
    return outputs


def _apply_trunk(trunk: Net, inputs: jax.Array) -> jax.Array:
    x = inputs
    for weights, biases in trunk[:-1]:
        x = jax.nn.relu(affine(x, weights, biases)) + resize_last_axis(x, weights.shape[-1])
    return x


def _decision_membership(decisions: Ints, num_lines: int) -> Any:
    """Return [C, D]: 1 where a line belongs to a decision."""
    membership = np.zeros((num_lines, len(decisions)), np.float32)
    for decision, (first, count, *_) in enumerate(decisions.tolist()):
        membership[first : first + count, decision] = 1.0
    return membership


def _network_policy(net: Any, workspace: Workspace) -> LineTable:
    """Return the policy [C, R] of an average network at all rows."""
    inputs, decisions = workspace.inputs, workspace.sampler.second_round.decisions
    policy = np.empty((net[-1][0].shape[1], len(inputs)), np.float32)
    membership = _decision_membership(decisions, len(policy))
    for n in range(0, len(inputs), ROWS_PER_BATCH):
        part = _average_probabilities(net, inputs[n : n + ROWS_PER_BATCH], membership)
        policy[:, n : n + ROWS_PER_BATCH] = np.asarray(part).T
    return policy


@lazy_jit()
def _average_probabilities(net: Net, inputs: jax.Array, membership: jax.Array) -> jax.Array:
    return jnp.exp(_log_policy(net, inputs, membership))


def _log_policy(net: Net, inputs: jax.Array, membership: jax.Array) -> jax.Array:
    """Return the logarithms [B, C] of the softmax at each decision."""
    logits = jnp.clip(affine(_apply_trunk(net, inputs), *net[-1]), -MAX_LOGIT, MAX_LOGIT)
    return logits - jnp.log(jnp.exp(logits) @ membership) @ membership.T


@lazy_jit()
def _fit_average(state: Any, inputs: Any, targets: Any, rates: Any, membership: Any) -> Any:
    """Take an AdamW step of cross entropy on each minibatch [steps, B]."""
    optimiser = optax.scale_by_adam()

    def loss(net: Net, x: jax.Array, target: jax.Array) -> jax.Array:
        return -(target * _log_policy(net, x, membership)).sum(axis=1).mean()

    def step(carry: Any, batch: Any) -> Any:
        opt_state, net = carry
        x, target, rate = batch
        updates, opt_state = optimiser.update(jax.grad(loss)(net, x, target), opt_state, net)
        net = jax.tree.map(lambda w, u: w - rate * (u + WEIGHT_DECAY * w), net, updates)
        return (opt_state, net), None

    return jax.lax.scan(step, state, (inputs, targets, rates))[0]


@lazy_jit()
def _trunk_features(trunk: Net, inputs: jax.Array) -> jax.Array:
    """Return the features [B, F]: the last hidden layer, the inputs and a constant."""
    constant = jnp.ones((len(inputs), 1))
    return jnp.concatenate([_apply_trunk(trunk, inputs), inputs, constant], axis=1)


@lazy_jit()
def _fit_trunk(
    trunk: Net, inputs: Any, targets: Any, weight: Any, picks: Any, learning_rate: Any
) -> Net:
    """Take an AdamW step on each minibatch `picks` [steps, B] of rows."""
    optimiser = optax.scale_by_adam()
    num_steps = len(picks)

    def loss(net: Net, rows: jax.Array) -> jax.Array:
        error = affine(_apply_trunk(net, inputs[rows]), *net[-1]) - targets[rows]
        return (weight[rows, None] * error**2).mean()

    def step(carry: Any, batch: Any) -> Any:
        net, opt_state = carry
        number, rows = batch
        updates, opt_state = optimiser.update(jax.grad(loss)(net, rows), opt_state, net)
        rate = learning_rate * (0.5 + 0.5 * jnp.cos(jnp.pi * number / num_steps))
        net = jax.tree.map(lambda w, u: w - rate * (u + WEIGHT_DECAY * w), net, updates)
        return (net, opt_state), None

    return jax.lax.scan(step, (trunk, optimiser.init(trunk)), (jnp.arange(num_steps), picks))[0][0]
