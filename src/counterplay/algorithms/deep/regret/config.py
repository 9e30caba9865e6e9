"""Hyper-parameters of the regret networks."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Annotated, ClassVar, Self

import optax
from annotated_types import Gt, Predicate

from counterplay.algorithms.deep.common.batched_env import BatchedEnv
from counterplay.algorithms.deep.common.jax_algorithm import NetworkAlgorithm
from counterplay.core.settings import (
    HiddenSizes,
    NonNegative,
    NonNegativeInt,
    PositiveInt,
    settings,
)
from counterplay.errors import ConfigError

DEFAULT_BATCH_SIZE = 2048
DEFAULT_RESERVOIR_BYTES = 2**29  # of all reservoirs on rules, if reservoir_size is 0
DEFAULT_RESERVOIR_SIZE = 200_000  # samples per player on rules, at most, if reservoir_size is 0


def _is_loss_name(name: str) -> bool:
    """cross_entropy or squared_error"""
    return name in ("cross_entropy", "squared_error")


LossName = Annotated[str, Predicate(_is_loss_name)]


@settings(kw_only=True)
class RegretNetConfig(NetworkAlgorithm):
    """Hyper-parameters that all regret networks share."""

    hidden_sizes: HiddenSizes = (64, 64, 64)
    num_traversals: PositiveInt = 100  # per player and iteration
    # on a tree, distribute chance outcomes over the traversals of an iteration in proportion to
    # their probabilities; False, and on rules: sample them independently
    stratified_chance: bool = True
    train_steps: PositiveInt = 100  # Adam steps per fit
    train_steps_power: NonNegative = 0.0  # iteration t takes train_steps * t**train_steps_power
    learning_rate: NonNegative = 1e-3  # at the start of every fit; decays to zero within it
    max_grad_norm: Annotated[float, Gt(0.0)] = 1.0
    average_power: NonNegative = 1.0  # iteration t has weight t**average_power in the average
    ensemble_size: NonNegativeInt = 100  # past networks in the ensemble
    # samples per player in a reservoir; 0: on a tree exact sums per infoset, on rules as many as
    # fit into half a gigabyte, at most 200,000
    reservoir_size: NonNegativeInt = 0
    batch_size: PositiveInt = DEFAULT_BATCH_SIZE  # samples per step, with a reservoir

    default_iterations: ClassVar[int] = 400
    average_every: ClassVar[int] = 1
    keeps_regrets: ClassVar[bool] = True  # whether fits use the samples of all iterations

    def __post_init__(self) -> None:
        has_reservoir = self.reservoir_size or self.average_reservoir_size
        if self.batch_size != DEFAULT_BATCH_SIZE and not has_reservoir:
            problem = "batch_size is for a reservoir: set reservoir_size too"
            raise ConfigError(f"{self.name}: {problem}; sums are fitted as a whole")

    @property
    def average_hidden_sizes(self) -> tuple[int, ...]:
        """Hidden layers of the average network; without `AverageNetConfig` there is no network."""
        return ()

    @property
    def average_train_steps(self) -> int:
        """Adam steps of the average network per iteration."""
        return 0

    @property
    def average_learning_rate(self) -> float:
        """Learning rate of the average network."""
        return 0.0

    @property
    def average_loss(self) -> str:
        """Error that the average network minimises: see `average_fit.average_loss`."""
        return "cross_entropy"

    @property
    def average_reservoir_size(self) -> int:
        """Policies per player in a reservoir; 0: on a tree sums, on rules `reservoir_size`."""
        return 0

    @property
    def average_at_end(self) -> bool:
        """Whether the average network is trained only for a call of `policies`."""
        return False

    @property
    def critic_buffer_size(self) -> int:
        """Decisions in the ring of the critic; without `CriticConfig` there is no critic."""
        return 0

    @property
    def optimiser(self) -> optax.GradientTransformation:
        """Adam with clipped gradients and without a learning rate, which `training` applies."""
        return adam_with_clipping(self.max_grad_norm)

    def train_steps_at(self, t: int) -> int:
        """Return the number of steps of a fit in iteration t."""
        return round(self.train_steps * float(t) ** self.train_steps_power)

    def for_rules(self, env: BatchedEnv) -> Self:
        """Return the config with a reservoir size that suits the rules, if none is set."""
        if self.reservoir_size:
            return self
        return replace(self, reservoir_size=default_reservoir_size(env))


@settings(kw_only=True)
class AverageNetConfig:
    """Hyper-parameters of an average network."""

    average_hidden_sizes: HiddenSizes = (64, 64, 64)
    average_train_steps: PositiveInt = 50  # Adam steps per iteration
    average_learning_rate: NonNegative = 1e-3


@lru_cache
def adam_with_clipping(max_grad_norm: float) -> optax.GradientTransformation:
    """Return the same optimiser object for the same norm, so that programs are compiled once."""
    return optax.chain(optax.clip_by_global_norm(max_grad_norm), optax.scale_by_adam())


def reservoir_row_bytes(env: BatchedEnv) -> int:
    """Return the bytes of one sample of a reservoir on rules."""
    return 4 * env.num_features + 5 * env.num_actions + 4


def default_reservoir_size(env: BatchedEnv) -> int:
    """Return the samples per player for which regrets and policies fit into the default bytes."""
    fitting = DEFAULT_RESERVOIR_BYTES // (2 * env.num_players * reservoir_row_bytes(env))
    return max(1, min(DEFAULT_RESERVOIR_SIZE, fitting))
