"""What the CFR family shares: the memory, the local learners, and the iterations.

Every member is a schedule. At iteration t, for each player, with instant regrets r_t:

    policy_sum = policy_sum + w_t * reach * policy        (for each average that is kept)
    regret     = d_t(regret + r_t), where d_t multiplies positive regrets by p_t, negative by n_t
    policy     = regret_matching(regret + m_t * r_t)

CFR is p = n = w = 1, m = 0; the other files say what they choose. With Hedge as the local learner
nothing is discounted and policy = softmax(rate_t * regret).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterplay.kernels import sweeps
from counterplay.policy import Policy, normalised_policy, uniform_policy
from counterplay.threads import even_parts, num_threads, run_parts
from counterplay.tree import Floats, Tree

LARGE = 500_000  # nodes from which several threads pay


@dataclass
class RegretMemory:
    """What the CFR family keeps. S sequences; F of them in the tree's sequence form."""

    iteration: int
    regret: Floats  # [S + 1]
    policy: Floats  # [S + 1] the current one
    policy_sum: Floats  # [K, S + 1] weighted by own reach; K averages are kept
    reach: Floats  # [F + 1] of the current policy
    cf_value: Floats  # [F + 1] scratch: the last instant regrets


class Learner(NamedTuple):
    """A local learner: how an infoset turns instant regrets into its next policy."""

    update: Callable[..., None]  # adds regrets and writes an unscaled policy
    settle: Callable[..., None]  # scales that policy and sets the reach, parents first
    alternate: Callable[..., None]  # whole iterations in one compiled call
    simultaneous: Callable[..., None]


REGRET_MATCHING = Learner(
    sweeps.match,
    sweeps.forward_matching,
    sweeps.alternate_matching,
    sweeps.simultaneous_matching,
)
HEDGE = Learner(
    sweeps.weigh,
    sweeps.forward_softmax,
    sweeps.alternate_hedge,
    sweeps.simultaneous_hedge,
)


def new_memory(tree: Tree, num_averages: int = 1) -> RegretMemory:
    """No regrets, the uniform policy."""
    size = int(tree.form.offset[-1]) + 1
    memory = RegretMemory(
        iteration=0,
        regret=np.zeros(tree.num_sequences + 1),
        policy=np.append(uniform_policy(tree).probabilities, 1.0),
        policy_sum=np.zeros((num_averages, tree.num_sequences + 1)),
        reach=np.ones(size),
        cf_value=np.zeros(size),
    )
    sweeps.forward(tree.form, 0, tree.form.parent.size, form_policy(tree, memory), memory.reach)
    return memory


def next_iterations(memory: RegretMemory, count: int) -> Floats:
    """The iterations t = 1, 2, ... that the next `count` will be."""
    return np.arange(memory.iteration + 1.0, memory.iteration + 1.0 + count)


def discounts(
    tree: Tree,
    t: Floats,
    positive: Floats | float,
    negative: Floats | float,
    prediction: float = 0.0,
) -> tuple[Floats, ...]:
    """The factors p_t, n_t and m_t of iterations t [T, 3], and what counts as zero [S]."""
    return columns(t, positive, negative, prediction), tree.rounding


def columns(t: Floats, *values: Floats | float) -> Floats:
    """One row per iteration, one column per value; a value may depend on the iteration or not."""
    table = np.empty((t.size, len(values)))
    for column, value in enumerate(values):
        table[:, column] = value
    return table


def iterate(
    tree: Tree,
    memory: RegretMemory,
    learner: Learner,
    rules: tuple[Floats, ...],
    weights: Floats,
    alternating: bool = True,
) -> RegretMemory:
    """One iteration per row of `rules[0]` [T, .], with the weights [T, K] of the K averages.

    Alternating, each player sees the policy that the earlier ones have just chosen; otherwise all
    players see each other's policy of before.
    """
    if tree.perfect_recall and workers(tree) == 1:
        run = learner.alternate if alternating else learner.simultaneous
        arrays = (memory.reach, memory.cf_value, memory.regret, memory.policy, memory.policy_sum)
        run(tree.form, rules, weights, *arrays)
    else:
        for row, weight in zip(rules[0].tolist(), weights, strict=True):
            for player in range(tree.num_players):
                find_regrets(tree, memory, player, memory.reach)
                learn(tree, memory, learner, player, (*row, *rules[1:]), weight)
                if alternating:
                    settle(tree, memory, learner, player)
            if not alternating:
                for player in range(tree.num_players):
                    settle(tree, memory, learner, player)
    memory.iteration += len(weights)
    return memory


def average_policy(tree: Tree, memory: RegretMemory, which: int = 0) -> Policy:
    """The average under the weights of that column; the current policy where they are lost."""
    return normalised_policy(tree, memory.policy_sum[which, :-1], memory.policy[:-1])


def current_policy(tree: Tree, memory: RegretMemory) -> Policy:
    """The last iterate."""
    return Policy(tree, memory.policy[:-1])


def workers(tree: Tree) -> int:
    """Threads worth using on this tree."""
    return num_threads() if tree.num_nodes >= LARGE else 1


def find_regrets(tree: Tree, memory: RegretMemory, player: int, reach: Floats) -> None:
    """Set `cf_value` to the player's instant regrets when the others play with `reach`."""
    form, policy, cf_value = tree.form, form_policy(tree, memory), memory.cf_value
    sweeps.clear(form, player, cf_value)
    first, last = form.player_row[player : player + 2].tolist()
    rows = even_parts(first, last, workers(tree))
    run_parts(lambda a, b: sweeps.payoff(form, a, b, reach, cf_value), rows)
    for parts in reversed(tree.levels(player, workers(tree))):
        run_parts(lambda a, b: sweeps.backward_regret(form, a, b, policy, cf_value), parts)


def learn(
    tree: Tree,
    memory: RegretMemory,
    learner: Learner,
    player: int,
    rule: tuple[Any, ...],
    weight: Floats,
) -> None:
    """Add the policy to its sum and the instant regrets to the regrets."""
    instant: Any = memory.cf_value
    reach: Any = memory.reach
    if not tree.perfect_recall:  # what the histories of merged infosets say is added up
        size = tree.num_sequences + 1
        instant = np.bincount(tree.merged, instant[:-1], size)
        reach = np.bincount(tree.merged, reach[:-1] * tree.histories, size)

    def update(start: int, end: int) -> None:
        sweeps.add_average(start, end, weight, reach, memory.policy_sum)
        learner.update(start, end, rule, instant, memory.regret, memory.policy)

    first, last = tree.shallow.player_infoset[player : player + 2]
    start, end = int(tree.offset[first]), int(tree.offset[last])
    run_parts(update, even_parts(start, end, workers(tree)))


def settle(tree: Tree, memory: RegretMemory, learner: Learner, player: int) -> None:
    """Scale the player's new policy and set its `reach`."""
    form, policy, reach = tree.form, memory.policy, memory.reach
    if tree.perfect_recall:
        for parts in tree.levels(player, workers(tree)):
            run_parts(lambda a, b: learner.settle(form, a, b, policy, reach), parts)
        return
    first, last = tree.shallow.player_infoset[player : player + 2].tolist()
    learner.settle(tree.shallow, first, last, policy, np.ones_like(policy))
    first, last = form.player_infoset[player : player + 2].tolist()
    sweeps.forward(form, first, last, form_policy(tree, memory), reach)


def form_policy(tree: Tree, memory: RegretMemory) -> Floats:
    """The current policy along the sequence form."""
    return memory.policy if tree.perfect_recall else memory.policy[tree.merged]
