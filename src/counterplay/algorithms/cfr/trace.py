"""Traces of the CFR family: all quantities of every iteration, recorded while the engine runs.

    >>> import counterplay as cp
    >>> trace = cp.algorithms.CFRTrace("kuhn_poker", "cfr")
    >>> step = trace.step(1, trace.tree.find_infoset("0"))
    >>> step.actions, step.instant_regret.round(4).tolist()
    (('pass', 'bet'), [-0.125, 0.125])

A traced memory runs the kernels of `engine` one player at a time instead of in one compiled call,
and copies the tables before each update; nothing is computed a second time in another way, except
the values of single histories, which the engine does not need.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.algorithms.cfr.engine import (
    HEDGE,
    REGRET_MATCHING,
    LocalLearner,
    RegretMemory,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import compute_node_values
from counterplay.arenas.tree.replay import incoming_action_name
from counterplay.core.arena import Floats, check_runs_on
from counterplay.core.evaluation import infoset_values, judge
from counterplay.core.game import Game
from counterplay.core.policy import Policy, as_arena, policy_from_weights
from counterplay.core.solve import as_algorithm
from counterplay.errors import ConfigError
from counterplay.registry import get_registry_name

MAX_TRACE_BYTES = 1 << 28  # of all recorded tables


class UpdateRecord(NamedTuple):
    """The tables of a player's update, before it changes them."""

    learner: LocalLearner
    factors: tuple[float, ...]  # p_t, n_t and m_t of regret matching; the rate of Hedge
    weight: float  # w_t of the first average
    profile: Floats  # [S] the policies that all players play during the update
    reach: Floats  # [S] own probability of the sequences under `profile`
    instant_regret: Floats  # [S] valid at the player's sequences
    regret: Floats  # [S]
    policy_sum: Floats  # [S] of the first average


@dataclass
class TracedMemory(RegretMemory):
    """A memory that records the updates of the current iteration, one per player."""

    updates: list[UpdateRecord] = field(default_factory=list)
    initial_policy: Floats = field(default_factory=lambda: np.zeros(0))  # [S + 1] of the iteration
    is_traced: ClassVar[bool] = True

    def record_update(
        self,
        player: int,
        learner: LocalLearner,
        factors: tuple[float | Floats, ...],
        weight: Floats,
        alternating: bool,
    ) -> None:
        if not self.updates:
            self.initial_policy = self.policy.copy()
        # without alternation the policies of earlier players are not normalised yet
        profile = self.policy if alternating else self.initial_policy
        self.updates.append(
            UpdateRecord(
                learner=learner,
                factors=tuple(float(factor) for factor in factors if np.ndim(factor) == 0),
                weight=float(weight[0]),
                profile=profile[:-1].copy(),
                reach=self.reach[:-1].copy(),
                instant_regret=self.cf_value[:-1].copy(),
                regret=self.regret[:-1].copy(),
                policy_sum=self.policy_sum[0, :-1].copy(),
            )
        )


class IterationRecord(NamedTuple):
    """One iteration: the updates of all players, and the tables after it."""

    updates: tuple[UpdateRecord, ...]
    regret: Floats  # [S]
    policy: Floats  # [S] the policies of the next iteration
    policy_sum: Floats  # [S]
    average: Policy  # the first average
    exploitability: float  # of the average
    current_exploitability: float  # of `policy`


@dataclass(frozen=True)
class HistoryTerm:
    """One history of an infoset, with its part in the counterfactual values."""

    history: str  # actions from the root, those of chance included
    cf_reach: float  # probability that all others, chance included, play it
    action_value: Floats  # [A] expected utility of the player after each action


@dataclass(frozen=True)
class InfosetStep:
    """The update of one infoset at one iteration."""

    iteration: int
    player: int
    infoset: int
    key: str
    actions: tuple[str, ...]
    rule: str  # "regret_matching" or "hedge"
    discounts: tuple[float, float, float]  # p_t, n_t and m_t of the engine; 1, 1, 0 with Hedge
    rate: float  # of Hedge, otherwise 0
    weight: float  # w_t, of the iteration in the average
    histories: tuple[HistoryTerm, ...]
    reach: float  # the player's own probability of reaching the infoset
    cf_reach: float  # that of all others, chance included
    policy: Floats  # [A] before the update
    cf_value: Floats  # [A] of each action
    value: float  # policy . cf_value
    instant_regret: Floats  # [A] cf_value - value
    previous_regret: Floats  # [A]
    regret: Floats  # [A] after the update
    next_policy: Floats  # [A]
    previous_policy_sum: Floats  # [A]
    policy_sum: Floats  # [A] after the update
    average_policy: Floats  # [A] after the update


class CFRTrace:
    """The iterations of an algorithm of the CFR family on a small tree.

    Args:
        game: a tree, a game or its name. The tree must have perfect recall.
        algorithm: an algorithm whose local learner is regret matching or Hedge, such as "cfr",
            "cfr_plus", "dcfr(gamma=3)", "linear_cfr", "pcfr_plus" or "cfr_hedge".

    Raises:
        ConfigError: the algorithm is not of this kind, or the tree has imperfect recall.
    """

    def __init__(self, game: TreeArena | Game | str, algorithm: Any = "cfr"):
        tree, self.algorithm = as_arena(game), as_algorithm(algorithm)
        name = get_registry_name(self.algorithm)
        if not isinstance(tree, TreeArena):
            raise ConfigError(f"a trace needs the tree of a game, and {tree.spec} has none here")
        if not tree.has_perfect_recall:
            raise ConfigError(f"a trace needs perfect recall, which {tree.spec} does not have")
        check_runs_on(self.algorithm, tree)
        memory = self.algorithm.init(tree, 0)
        if type(memory) is not RegretMemory:
            raise ConfigError(_untraceable(name))
        self.tree: TreeArena = tree
        self.memory = TracedMemory(**vars(memory))
        self.records: list[IterationRecord] = []
        self._name = name
        self._bytes_per_iteration = 8 * tree.num_sequences * (5 * tree.num_players + 4)

    @property
    def max_iterations(self) -> int:
        """Number of iterations whose tables fit into `MAX_TRACE_BYTES`."""
        return max(MAX_TRACE_BYTES // self._bytes_per_iteration, 1)

    @property
    def exploitability(self) -> Floats:
        """Exploitability [T] of the average after each recorded iteration."""
        return np.array([record.exploitability for record in self.records])

    def extend(self, iterations: int) -> None:
        """Run the algorithm until that many iterations are recorded; a shorter trace stays."""
        if iterations > self.max_iterations:
            raise ConfigError(
                f"iterations is {iterations}, and a trace of {self.tree.spec} holds at most "
                f"{self.max_iterations:,}; solve runs longer"
            )
        while len(self.records) < iterations:
            self.records.append(self._run_iteration())

    def step(self, iteration: int, infoset: int) -> InfosetStep:
        """Return the update of an infoset at an iteration; the first iteration is 1.

        The trace is extended if it is shorter.
        """
        tree = self.tree
        if iteration < 1:
            raise ConfigError(f"iteration is {iteration}, must be at least 1")
        if not 0 <= infoset < tree.num_infosets:
            raise ConfigError(f"infoset is {infoset}, must be from 0 to {tree.num_infosets - 1}")
        self.extend(iteration)
        record, player = self.records[iteration - 1], int(tree.infoset_player[infoset])
        update = record.updates[player]
        own = slice(int(tree.offset[infoset]), int(tree.offset[infoset + 1]))
        values = infoset_values(tree, Policy(tree, update.profile))
        is_hedge = update.learner is HEDGE
        factors = (1.0, 1.0, 0.0) if is_hedge else update.factors
        return InfosetStep(
            iteration=iteration,
            player=player,
            infoset=infoset,
            key=tree.infoset_key(infoset),
            actions=tree.action_names(infoset),
            rule="hedge" if is_hedge else "regret_matching",
            discounts=(factors[0], factors[1], factors[2]),
            rate=update.factors[0] if is_hedge else 0.0,
            weight=update.weight,
            histories=self._history_terms(update.profile, infoset, player),
            reach=float(values.reach[infoset]),
            cf_reach=float(values.cf_reach[infoset]),
            policy=update.profile[own],
            cf_value=values.cf_value[own],
            value=float(update.profile[own] @ values.cf_value[own]),
            instant_regret=update.instant_regret[own],
            previous_regret=update.regret[own],
            regret=record.regret[own],
            next_policy=record.policy[own],
            previous_policy_sum=update.policy_sum[own],
            policy_sum=record.policy_sum[own],
            average_policy=record.average.probabilities[own],
        )

    def _run_iteration(self) -> IterationRecord:
        tree, memory = self.tree, self.memory
        memory.updates = []
        self.algorithm.step(tree, memory, 1)
        learners = {update.learner for update in memory.updates}
        if len(memory.updates) != tree.num_players or not learners <= {REGRET_MATCHING, HEDGE}:
            raise ConfigError(_untraceable(self._name))
        regret, policy = memory.regret[:-1].copy(), memory.policy[:-1].copy()
        policy_sum = memory.policy_sum[0, :-1].copy()
        average = policy_from_weights(tree, policy_sum, policy)
        return IterationRecord(
            updates=tuple(memory.updates),
            regret=regret,
            policy=policy,
            policy_sum=policy_sum,
            average=average,
            exploitability=judge(tree, average).exploitability,
            current_exploitability=judge(tree, Policy(tree, policy)).exploitability,
        )

    def _history_terms(self, profile: Floats, infoset: int, player: int) -> tuple[HistoryTerm, ...]:
        """Return the histories of an infoset with the reach of the others and the values."""
        tree = self.tree
        value = compute_node_values(tree, profile).value[:, player]
        first, last = tree.player_infoset[player : player + 2]
        others = profile.copy()
        others[tree.offset[first] : tree.offset[last]] = 1.0
        cf_reach = compute_node_values(tree, others).reach
        terms = []
        for node in np.flatnonzero(tree.infoset == infoset).tolist():
            children = slice(*tree.child_offset[node : node + 2].tolist())
            terms.append(HistoryTerm(self._history(node), float(cf_reach[node]), value[children]))
        return tuple(terms)

    def _history(self, node: int) -> str:
        """Return the names of the actions that lead to a node."""
        names: list[str] = []
        while self.tree.parent[node] >= 0:
            names.append(incoming_action_name(self.tree, node))
            node = int(self.tree.parent[node])
        return ", ".join(reversed(names)) or "start"


def _untraceable(name: str) -> str:
    return (
        f"{name} cannot be traced: its local learner is neither regret matching nor Hedge; "
        "take cfr, cfr_plus, dcfr, linear_cfr, pcfr_plus or cfr_hedge"
    )
