"""Alpha-PSRO: pools ranked by alpha-rank, and responses that beat as many policies as possible."""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Predicate

from counterplay.algorithms.population.meta_solvers import joint_alpha_rank, marginals
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import (
    InitialPolicy,
    Population,
    RelativeGain,
    find_plan,
    new_population,
    plan_from_policy,
    player_sequences,
    policy_from_mixtures,
    reach_from_plans,
)
from counterplay.algorithms.population.psro_loop import NewPlans, PSROLoop, joint_opponents
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.matrix.policy_enumeration import list_pure_plans

MAX_PURE_POLICIES = 20_000  # of a player; the preference oracle evaluates all of them
END_REASONS = {  # by oracle
    "preference": "no player prefers a policy outside its pool to the ranked joint policies",
    "best_response": "no player gains by a policy outside its pool against the ranking",
}


def _is_oracle(name: str) -> bool:
    """one of preference, best_response"""
    return name in END_REASONS


@settings()
class AlphaPSRO:
    """Alpha-PSRO (Muller et al., 2020), with exact oracles. At t = 2, 3, ..., for all players:

        p      = alpha-rank of the payoffs between the pools, a distribution over joint policies
        pool_i = pool_i and the policy s with the largest sum over joint policies a of
                 p(a) * [u_i(s, a_-i) > u_i(a)]                            (oracle: preference)

    or, with oracle=best_response, a best response to the others' marginal of p, which may miss
    policies of the game's alpha-rank. The preference oracle evaluates all pure policies, so it is
    for small games; among equal sums it prefers new policies, then larger values. The method ends
    when no policy is preferred to the pools. That is not a Nash equilibrium in general, and
    `stop_reason` then states the NashConv of the policy, in which each player mixes its pool by its
    own marginal of p. Any number of players and any utilities are allowed.
    """

    oracle: Annotated[str, Predicate(_is_oracle)] = "preference"  # or best_response
    alpha: Annotated[float, Gt(0.0)] = float("inf")  # ranking intensity
    initial_policy: InitialPolicy = "first"  # first, uniform, random, or response (to uniform play)
    tolerance: RelativeGain = 1e-9  # it ends at gains up to this, in units of the largest utility
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def init(self, tree: TreeArena, seed: int = 0) -> Population:
        memory = new_population(tree, seed, Population)
        if self.oracle == "preference":
            try:
                for player in range(tree.num_players):
                    list_pure_plans(tree, player, MAX_PURE_POLICIES)
            except ConfigError as error:
                raise ConfigError(
                    f"alpha_psro evaluates all pure policies: {error}; set oracle=best_response"
                ) from error
        return memory

    def step(self, tree: TreeArena, memory: Population, iterations: int = 1) -> Population:
        loop = PSROLoop(
            self.initial_policy,
            self.tolerance,
            find_preferred_policies if self.oracle == "preference" else best_responses_to_joint,
            partial(joint_alpha_rank, alpha=self.alpha),
            END_REASONS[self.oracle],
            marginal_policy,
        )
        return loop.iterate(tree, memory, iterations)

    def policies(self, tree: TreeArena, memory: Population) -> dict[str, Policy]:
        """Return the policy in which each player mixes its pool by its marginal of the ranking."""
        return {"mixture": marginal_policy(tree, memory)}


def marginal_policy(tree: TreeArena, memory: Population) -> Policy:
    """Return the policy of each player's marginal of the ranking; uniform before iteration 1."""
    if not memory.meta_strategy:
        return uniform_policy(tree)
    return policy_from_mixtures(tree, memory, marginals(memory.meta_strategy[0]))


def best_responses_to_joint(tree: TreeArena, memory: Population) -> NewPlans:
    """Return every player's best response to the others' marginal of the ranking."""
    joint, oracle = memory.meta_strategy[0], ExactResponse()
    plans, gains = [], np.zeros(tree.num_players)
    for player in range(tree.num_players):
        response = oracle.respond(tree, player, joint_opponents(tree, memory, player, joint))
        plans.append(plan_from_policy(tree, response.policy, player)[None])
        gains[player] = response.value - float((memory.payoffs[player] * joint).sum())
    return NewPlans(plans, gains)


def find_preferred_policies(tree: TreeArena, memory: Population) -> NewPlans:
    """Return every player's preferred policy.

    The gain of a policy outside the pool is the mass of joint policies that it improves on, times
    the largest utility; that of a policy in the pool is 0.
    """
    joint = memory.meta_strategy[0]
    plans, gains = [], np.zeros(tree.num_players)
    for player in range(tree.num_players):
        pure = list_pure_plans(tree, player, MAX_PURE_POLICIES)[:, player_sequences(tree, player)]
        score, value = _preference_scores(tree, memory, player, pure)
        in_pool = np.array([find_plan(memory.plans[player], plan) is not None for plan in pure])
        top = score.max() - 1e-12
        best = int(np.lexsort((-value, in_pool, score < top))[0])
        gains[player] = score[best] if joint.size and not in_pool[best] else 0.0
        plans.append(pure[None, best])
    return NewPlans(plans, gains * float(np.abs(tree.utility).max()))


def _preference_scores(
    tree: TreeArena, memory: Population, player: int, candidate_plans: Floats
) -> tuple[Floats, Floats]:
    """Return, for each plan, the mass of joint policies it improves on, and its expected value."""
    joint = np.moveaxis(memory.meta_strategy[0], player, 0)
    table = np.moveaxis(memory.payoffs[player], player, 0)
    score, expected_value = np.zeros(len(candidate_plans)), np.zeros(len(candidate_plans))
    rounding = 1e-11 * float(np.abs(tree.utility).max())
    cf_value = np.zeros(tree.num_sequences + 1)
    for others in np.ndindex(*joint.shape[1:]):
        mass = joint[(slice(None), *others)]
        indices = list(others)
        indices.insert(player, 0)
        reach = reach_from_plans([memory.plans[p][k] for p, k in enumerate(indices)])
        tree.gradient(player, reach, cf_value)
        value = candidate_plans @ cf_value[player_sequences(tree, player)] + cf_value[-1]
        expected_value += mass.sum() * value
        score += (value[:, None] > table[(slice(None), *others)] + rounding) @ mass
    return score, expected_value
