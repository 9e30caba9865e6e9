"""External sampling: all actions of the traverser, one sampled action of chance and the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from counterplay.algorithms.mccfr.betting_backend import (
    BettingOptions,
    betting_policies,
    new_betting_memory,
    run_on_betting_tree,
)
from counterplay.algorithms.mccfr.engine import (
    MonteCarloCFR,
    NumWorkers,
    SamplingArena,
    Traversal,
)
from counterplay.algorithms.mccfr.memory import TreeSamplingMemory
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.settings import NonNegative, NonNegativeInt, settings
from counterplay.errors import ConfigError
from counterplay.kernels.sampling import traversals
from counterplay.kernels.sequence_form import sweeps


@settings()
class ExternalSampling(MonteCarloCFR):
    """External-sampling MCCFR (Lanctot, Waugh, Zinkevich and Bowling, 2009). At t = 1, 2, ...:

        one traversal for each player in turn, which tries all of its actions and draws one action
        of chance and of each other player
        regret     = regret + u(a) - sum over b of policy(b) * u(b)      at its own nodes
        policy_sum = policy_sum + t**gamma * policy                      at the others' nodes
        policy     = regret_matching(regret), after the traversal

    Sampling probabilities cancel: regrets need no weight, and an infoset is visited in proportion
    to its player's own reach. With more than two players the reach of a third player would bias the
    average, so each player's average is updated along a separate episode in which the others play
    uniformly. (Gibson, 2014, expands all actions instead; other implementations update one
    opponent, with bias.) Actions are drawn at every node. With `draw_by_infoset`, an infoset keeps
    its action for the whole traversal, as in the definition of external sampling, whose blocks are
    pure policies of the others; regrets are unbiased either way. The two differ where a traversal
    meets an infoset through several of the traverser's actions, as in games with simultaneous
    moves: the actions of the traverser are then compared against the same reply.

    With `full_average`, on a tree, all averages are updated by a full pass instead, as in
    UpdateCumulativeProfile of Gibson (2014): policy_sum = policy_sum + own reach * policy at every
    infoset. The average has less variance, but an iteration takes as long as one of CFR.

    With `dense_tables`, on poker with buckets and imperfect recall, the tables have an entry for
    every betting node, bucket and action (32 bits), and a traversal visits the betting tree with
    cards that are dealt once per iteration. This is how blueprints are computed. `linear_period`
    then weighs iterations linearly, in steps of that many iterations, in regrets and averages.
    With `part` and `outside`, the tables cover a part of the betting (`heads_up` after folds, `seat
    K`, or beginnings such as `rf,rrf`: see `arenas.poker.betting_parts`), and all players follow
    the blueprint in the file `outside` elsewhere. The result plays both together: an expert in the
    sense of Gibson and Szafron (2011), or, for a seat, a response to the others. `pure` is pure CFR
    (Gibson, 2014): one action is drawn at each node, also for the traverser, and tables are of
    integers. `prune_below` skips actions with a regret below minus this number of chips in 95 % of
    the traversals, except on the last street and where they end the hand (Brown and Sandholm,
    2019).
    """

    gamma: NonNegative = 0.0  # iteration t has weight t**gamma in the average
    regret_matching_plus: bool = False  # keep regrets at zero or above
    hedge_eta: NonNegative = 0.0  # if positive, Hedge at this rate instead of regret matching
    num_workers: NumWorkers = 1  # traversals per player and iteration, in parallel
    draw_by_infoset: bool = False  # draw one action per infoset and traversal, not at every node
    full_average: bool = False  # update all averages by a full pass; needs gamma = 0, one worker
    dense_tables: bool = False  # poker with buckets: tables by betting node and bucket
    linear_period: NonNegativeInt = 0  # with dense_tables: iterations of equal weight; 0: all
    part: str = ""  # with dense_tables: part of the betting that is solved; empty: all
    outside: str = ""  # file of the blueprint that all players follow outside of the part
    pure: bool = False  # with dense_tables: pure CFR, with integers
    prune_below: NonNegative = 0.0  # with dense_tables: chips; 0: prune nothing

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.full_average and (self.gamma or self.num_workers > 1):
            raise ConfigError("external_sampling: full_average needs gamma=0 and num_workers=1")
        for name in ("linear_period", "pure", "prune_below"):
            if getattr(self, name) and not self.dense_tables:
                raise ConfigError(f"external_sampling: {name} needs dense_tables=true")
        if bool(self.part) != bool(self.outside) or (self.part and not self.dense_tables):
            raise ConfigError(
                "external_sampling: part and outside need each other and dense_tables"
            )
        others = (self.gamma, self.regret_matching_plus, self.hedge_eta)
        if self.dense_tables and any((*others, self.draw_by_infoset, self.full_average)):
            raise ConfigError(
                "external_sampling: dense_tables=true has regret matching and linear_period only; "
                "leave out gamma, regret_matching_plus, hedge_eta, draw_by_infoset and full_average"
            )

    @property
    def _betting_options(self) -> BettingOptions:
        return BettingOptions(
            self.part,
            self.outside,
            self.linear_period,
            self.num_workers,
            self.pure,
            self.prune_below,
        )

    def init(self, arena: SamplingArena, seed: int = 0) -> Any:
        if self.dense_tables:
            return new_betting_memory(arena, seed, self._betting_options)
        return super().init(arena, seed)

    def policies(self, arena: SamplingArena, memory: Any) -> Mapping[str, Any]:
        if self.dense_tables:
            return betting_policies(arena, memory, self._betting_options)
        return super().policies(arena, memory)

    def step(self, arena: SamplingArena, memory: Any, iterations: int = 1) -> Any:
        if self.dense_tables:
            return run_on_betting_tree(arena, memory, iterations, self._betting_options)
        if not self.full_average:
            return super().step(arena, memory, iterations)
        if not isinstance(memory, TreeSamplingMemory) or not isinstance(arena, TreeArena):
            raise ConfigError("external_sampling: full_average needs a tree")
        if not arena.has_perfect_recall:
            raise ConfigError("external_sampling: full_average needs perfect recall")
        reach, form = np.ones(arena.num_sequences + 1), arena.form
        for _ in range(iterations):
            policy = np.append(memory.policy[0, : arena.num_sequences], 1.0)
            sweeps.forward(form, 0, form.parent.size, policy, reach)
            policy_sum = memory.policy_sum + reach[:-1]
            super().step(arena, memory, 1)
            memory.policy_sum[:] = policy_sum
        return memory

    def traversal(self) -> Traversal:
        kernel = traversals.external_sampling
        if self.draw_by_infoset:
            kernel = traversals.external_sampling_by_infoset
        return Traversal(kernel, float(self.gamma))
