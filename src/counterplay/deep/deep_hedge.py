"""Deep-Hedge MCCFR: networks that follow Hedge on sampled regrets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from counterplay.deep import average, past
from counterplay.deep.program import State, program
from counterplay.deep.tables import policy_of, table_of
from counterplay.errors import ConfigError
from counterplay.policy import Policy
from counterplay.tree import Tree


@dataclass
class DeepHedgeMemory:
    """How many iterations there were, and what they left."""

    iteration: int
    state: State
    finished: ClassVar[bool] = False


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

    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    needs: ClassVar[str] = "deep"
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
        return DeepHedgeMemory(0, program(tree, self).start(seed))

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
