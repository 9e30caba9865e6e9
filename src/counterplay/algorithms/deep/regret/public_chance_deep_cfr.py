"""Deep CFR by public-chance sampling: all hands on some boards at a time, by vectors."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
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
from counterplay.core.arena import Ints
from counterplay.core.policy import LazyPolicies
from counterplay.core.settings import HiddenSizes, NonNegativeInt, Positive, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import hand_rows as row_kernels

SAMPLING_EXPONENT = 0.5  # boards are drawn in proportion to a power of their probability
SAMPLE_GRAM_SHARE = 0.9  # of the sampled rows in the matrix of a fit; the rest is of all rows
ROWS_PER_BATCH = 16_384  # of a pass over all rows
WEIGHT_DECAY = 1e-4
MIN_SCALE = 1e-5  # features of smaller size are left out, and lines of smaller regrets not scaled
TRUNK_STREAM, BOARD_STREAM = 0, 1  # of random numbers


@dataclass
class PublicChanceMemory:
    """The memory of public-chance Deep CFR.

    C lines and R rows of the second round, C' lines and K kinds of the first, F features, G boards,
    D deals.
    """

    iteration: int
    seed: int
    trunk: list[tuple[Any, Any]]  # weights and biases of the layers; the last one is unused later
    head: Any  # [C, F] cumulative regrets per feature
    first_regret: LineTable  # [C', K]
    first_sum: LineTable  # [C', K] sum of weight times own reach times policy
    second_sum: Any  # [C, R] the same where boards were sampled
    board_values: Any  # [2, G, D, K] values of each board when it was last sampled
    deal_values: LineTable  # [2, D, K] their sums
    finished: ClassVar[bool] = False


@dataclass(eq=False)
class _Workspace:
    """Arrays that follow from an arena and a trunk, and so are not part of the memory."""

    rows: HandRows
    sampler: PublicChanceSampler
    inputs: Any  # [R, inputs]
    row_weight: Any  # [R] probability of each row
    trunk: list[tuple[Any, Any]] = field(default_factory=list)  # that of the features
    features: Any = None  # [R, F]
    gram: Any = None  # [F, F]


_workspaces: weakref.WeakKeyDictionary[Any, dict[bool, _Workspace]] = weakref.WeakKeyDictionary()


@settings(kw_only=True)
class PublicChanceDeepCFR(NetworkAlgorithm):
    """Regret networks on hold'em games of two rounds, by public-chance sampling.

    A network maps a row (hands of a board that differ in nothing but suits that cannot matter, see
    `arenas.holdem.hand_rows`) to the cumulative regrets of all (decision, action) pairs:

        regret(row) = head . features(row),   features = [trunk(x), x, 1]

    At t = 1, 2, ... `num_boards` boards are drawn; on these, for each player in turn,

        policy = regret_matching(regret); where no output is positive, all on the largest
        r      = exact counterfactual regrets of all hands, by one walk of the public tree
        z      = r + (n_t / p_t - 1) * min(regret + r, 0)
        head   = p_t * (head + argmin_h mean |h . features - z|**2)

    with p_t = t**alpha / (t**alpha + 1) and n_t = t**beta / (t**beta + 1). If the features fit z
    exactly, that is discounted CFR (Brown and Sandholm, 2019); alpha = beta = 1 is linear CFR, in
    which nothing is approximated but regrets. Each fit is a ridge regression in closed form, so
    that a head is the sum of all fits so far, without noise of refitting.

    The trunk is trained once, before the first iteration, and then fixed: by AdamW on the regrets
    and the average policy of `trunk_iterations` iterations of tabular DCFR on the game that has
    only `trunk_boards` of the boards. Weights of the head start at zero.

    Before the deal the rows are the kinds of hands, one feature each, so that the network is a
    table there. Values of the deals are means over the sampled boards, with the last known value
    of each board as control variate.

    `average` is the average policy, weighted by own reach and t**gamma, over the iterations in
    which a board was sampled: a table of rows, not a network. `current` is the network.

    Compared with Deep CFR (Brown et al., 2019): boards are sampled instead of hands, one network
    holds both players' outputs, there is no replay buffer, and `strength_features` add the strength
    of the five cards to the inputs.
    """

    runs_on: ClassVar[tuple[str, ...]] = ("vectors",)
    default_iterations: ClassVar[int] = 400
    monitored_paths: ClassVar[tuple[str, ...]] = ("trunk",)

    hidden_sizes: HiddenSizes = (384, 384)
    num_boards: PositiveInt = 192  # an iteration
    alpha: float = 1.5
    beta: float = 0.0
    gamma: float = 2.0
    ridge: Positive = 1e-3  # per unit of the features' mean square
    trunk_boards: PositiveInt = 192
    trunk_iterations: PositiveInt = 30
    train_steps: NonNegativeInt = 1200  # of the trunk; 0 leaves its weights random
    batch_size: PositiveInt = 1024  # rows
    learning_rate: Positive = 2e-3  # falls to 0 along a cosine
    strength_features: bool = True

    def init(self, arena: Any, seed: int = 0) -> PublicChanceMemory:
        """Return the memory before the first iteration."""
        check_two_rounds(arena)
        self._check_memory(arena)
        workspace = self._workspace(arena)
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
            first_regret=first,
            first_sum=first.copy(),
            second_sum=np.zeros((num_lines, rows.num_rows), np.float32),
            board_values=np.zeros((2, sampler.board_weight.size, *shape[1:]), np.float32),
            deal_values=np.zeros(shape),
        )

    def step(self, arena: Any, memory: PublicChanceMemory, iterations: int = 1) -> Any:
        """Return the memory after more iterations."""
        workspace = self._workspace(arena)
        for t in range(memory.iteration + 1, memory.iteration + 1 + iterations):
            if t == 1:
                self._train_trunk(workspace, memory)
            _set_features(workspace, memory.trunk)
            self._iterate(workspace, memory, t)
            memory.iteration = t
        return memory

    def policies(self, arena: Any, memory: PublicChanceMemory) -> Mapping[str, Any]:
        """Return the average policy and the network's policy, as tables."""
        workspace = self._workspace(arena)
        sampler, trunk, head = workspace.sampler, memory.trunk, memory.head.copy()
        first_policy = _match(sampler, memory.first_regret, sampler.first_round)
        average = sampler.make_policy(memory.first_sum.astype(np.float32), memory.second_sum)

        def current() -> HoldemPolicy:
            _set_features(workspace, trunk)
            regret = _apply_head(head, workspace.features)
            return sampler.make_policy(first_policy, _match(sampler, regret, sampler.second_round))

        factories: dict[str, Any] = {"average": lambda: average, "current": current}
        return LazyPolicies(factories)

    def _check_memory(self, arena: HoldemGameArena) -> None:
        """Raise ConfigError if network, features and averages do not fit into memory."""
        nodes = [n for n in arena.betting.nodes if n.state.street == 1]
        num_lines = sum(len(node.actions) for node in nodes)
        check_network_memory(1, (1, *self.hidden_sizes, 2 * num_lines))
        rows_bound = arena.streets[1].num_boards * arena.num_hands(1)
        num_features = self.hidden_sizes[-1]
        least = 4 * (arena.num_sequences + 2 * num_features**2)
        rows = make_hand_rows(arena).num_rows if 4 * rows_bound < available_memory() else rows_bound
        needed = least + 4 * rows * (num_features + num_lines)
        free = available_memory()
        if needed > 0.9 * free:
            raise ConfigError(
                f"{self.name} on {arena.spec} needs {format_gib(needed)} for {rows:,} rows of "
                f"{num_features:,} features and {num_lines} averages where {format_gib(free)} are "
                "free: choose a smaller last hidden size or a smaller game"
            )

    def _workspace(self, arena: HoldemGameArena) -> _Workspace:
        """Return the rows, inputs and walks of an arena; they are made once."""
        workspaces = _workspaces.setdefault(arena, {})
        if self.strength_features not in workspaces:
            rows = make_hand_rows(arena)
            sampler = PublicChanceSampler(arena, rows)
            inputs = row_features(arena, rows, self.strength_features)
            weight = sampler.board_weight[rows.board] * rows.num_hands
            row_weight = (weight / weight.sum()).astype(np.float32)
            workspaces[self.strength_features] = _Workspace(rows, sampler, inputs, row_weight)
        return workspaces[self.strength_features]

    def _iterate(self, workspace: _Workspace, memory: PublicChanceMemory, t: int) -> None:
        """Run iteration t; the memory is updated in place."""
        sampler = workspace.sampler
        rng = np.random.default_rng((memory.seed, BOARD_STREAM, t))
        probabilities = sampling_probabilities(
            sampler.board_weight, self.num_boards, SAMPLING_EXPONENT
        )
        boards = systematic_sample(rng, probabilities)
        sample = sampler.sample(boards, probabilities)
        fit = _RidgeFit(workspace, sample, self.ridge)
        outputs = memory.head @ fit.features.T
        regret = np.zeros_like(outputs)
        for player in (0, 1):
            first_policy = _match(sampler, memory.first_regret, sampler.first_round)
            second_policy = _match(sampler, outputs, sampler.second_round)
            policies = first_policy, second_policy
            self._add_to_averages(workspace, memory, t, player, policies, sample)
            values = sampler.second_round_regrets(player, *policies, sample, regret)
            first_instant = sampler.first_round_regrets(
                player, _estimate_deal_values(memory, player, values, sample)
            )
            own = sampler.first_round.line_player == player
            self._discount(memory.first_regret, first_instant, own, t)
            lines = sampler.second_round.lines_of(player)
            positive, negative = self._discounts(t)
            total = np.minimum(outputs[lines] + regret[lines], 0.0)
            target = regret[lines] + np.float32(negative / positive - 1.0) * total
            memory.head[lines] = positive * (memory.head[lines] + fit.solve(target))
            outputs[lines] = memory.head[lines] @ fit.features.T

    def _discounts(self, t: int) -> tuple[float, float]:
        """Return the factors of positive and of negative regrets after iteration t."""
        positive, negative = (1.0 / (1.0 + float(t) ** -power) for power in (self.alpha, self.beta))
        return positive, negative

    def _discount(self, regret: LineTable, instant: LineTable, lines: Any, t: int) -> None:
        """Add instant regrets to some lines of a table, and discount them."""
        positive, negative = self._discounts(t)
        total = regret[lines] + instant[lines]
        regret[lines] = np.where(total > 0.0, positive, negative) * total

    def _add_to_averages(
        self, workspace: _Workspace, memory: PublicChanceMemory, t: int, player: int,
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

    def _train_trunk(self, workspace: _Workspace, memory: PublicChanceMemory) -> None:
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
        self, workspace: _Workspace, rng: np.random.Generator
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
                first_policy = _match(sampler, first, sampler.first_round)
                policy = _match(sampler, second, sampler.second_round)
                lines = sampler.second_round.lines_of(player)
                reach = sampler.reach_at_deals(first_policy)[player]
                own = sampler.own_reach(policy, reach, sample.kind, lines)
                policy_sum[lines] += np.float32(float(t) ** self.gamma) * own[lines]
                values = sampler.second_round_regrets(player, first_policy, policy, sample, instant)
                total = (values / sample.probability[:, None, None]).sum(axis=0)
                first_instant = sampler.first_round_regrets(player, total)
                self._discount(first, first_instant, sampler.first_round.line_player == player, t)
                self._discount(second, instant, lines, t)
        return sample, second, policy_sum


class _RidgeFit:
    """Ridge regressions on the rows of a sample.

    The matrix is that of the sampled rows and, with a small weight, that of all rows: it keeps fits
    small along features that no sampled board has.
    """

    def __init__(self, workspace: _Workspace, sample: BoardSample, ridge: float):
        self.features = workspace.features[sample.row]
        board = np.repeat(np.arange(sample.board.size), np.diff(sample.first))
        weight = workspace.row_weight[sample.row] / sample.probability[board]
        weight = (weight / weight.sum()).astype(np.float32)
        self._weighted = self.features * weight[:, None]
        gram = SAMPLE_GRAM_SHARE * (self._weighted.T @ self.features)
        gram += (1.0 - SAMPLE_GRAM_SHARE) * workspace.gram
        gram[np.diag_indices_from(gram)] += ridge
        self._inverse = np.linalg.inv(gram)

    def solve(self, target: LineTable) -> LineTable:
        """Return the coefficients [C, F] of targets [C, n]."""
        return (target @ self._weighted) @ self._inverse


def _match(sampler: PublicChanceSampler, regret: LineTable, lines: RoundLines) -> LineTable:
    return sampler.match_regrets(np.asarray(regret, np.float32), lines)


def _estimate_deal_values(
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


def _set_features(workspace: _Workspace, trunk: list[tuple[Any, Any]]) -> None:
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


def _apply_head(head: LineTable, features: LineTable) -> LineTable:
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
