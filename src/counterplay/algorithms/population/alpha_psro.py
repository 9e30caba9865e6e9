"""Alpha-PSRO: pools ranked by evolution, and responses that beat much instead of winning much."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import numpy as np

from counterplay.algorithms.population.meta_solvers import joint_alpha_rank, marginals
from counterplay.algorithms.population.oracles import ExactResponse
from counterplay.algorithms.population.population import (
    Population,
    find_plan,
    new_population,
    player_sequences,
    policy_from_mixtures,
    reach_from_plans,
    reach_from_probabilities,
)
from counterplay.algorithms.population.psro_loop import (
    NewPlans,
    check_common_fields,
    iterate,
    joint_opponents,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.policy import Policy, uniform_policy
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.matrix.policy_enumeration import list_pure_plans

MAX_PURE_POLICIES = 20_000  # pure policies that are all tried
ORACLE_NAMES = ("preference", "best_response")


@settings()
class AlphaPSRO:
    """Alpha-PSRO (Muller et al., 2020), with exact oracles. At t = 2, 3, ..., for all players:

        p      = alpha-rank of the payoffs between the pools, a table over everybody's policies
        pool_i = pool_i and the policy s with the largest sum over joint policies a of
                 p(a) * [u_i(s, a_-i) > u_i(a)]                            (oracle: preference)

    or with a best response to the others' part of p (oracle: best_response), which may end without
    a policy that evolution would come to. The preferred one is found by trying all pure policies,
    new ones first among equals, then those of larger value: for small games. It ends when nothing
    is preferred to what is there, which is no Nash equilibrium in general; its policy mixes each
    pool by its own part of p. For any number of players and any utilities.
    """

    oracle: str = "preference"
    alpha: float = float("inf")  # ranking intensity
    initial_policy: str = (
        "first"  # the first policies: first, uniform, random, or response to uniform play
    )
    tolerance: float = 1e-9  # gains up to this part of the largest utility are none
    runs_on: ClassVar[tuple[str, ...]] = ("tree",)
    required_extra: ClassVar[str] = ""

    def __post_init__(self) -> None:
        check_common_fields("alpha_psro", self)
        if self.oracle not in ORACLE_NAMES:
            known = ", ".join(ORACLE_NAMES)
            raise ConfigError(f"alpha_psro: oracle is {self.oracle!r}, must be one of {known}")
        if not self.alpha > 0.0:
            raise ConfigError(f"alpha_psro: alpha is {self.alpha}, must be positive")

    def init(self, tree: TreeArena, seed: int = 0) -> Population:
        memory: Population = new_population(tree, seed)
        if self.oracle == "preference":
            try:
                for player in range(tree.num_players):
                    list_pure_plans(tree, player, MAX_PURE_POLICIES)
            except ConfigError as error:
                raise ConfigError(
                    f"alpha_psro tries all pure policies: {error}; take oracle=best_response"
                ) from error
        return memory

    def step(self, tree: TreeArena, memory: Population, iterations: int = 1) -> Population:
        respond = (
            find_preferred_policies if self.oracle == "preference" else best_responses_to_joint
        )
        solve = partial(joint_alpha_rank, alpha=self.alpha)
        return iterate(
            tree, memory, iterations, self.initial_policy, self.tolerance, respond, solve
        )

    def policies(self, tree: TreeArena, memory: Population) -> dict[str, Policy]:
        """Each pool mixed by its own part of the ranking."""
        if not memory.meta_strategy:
            return {"mixture": uniform_policy(tree)}
        return {"mixture": policy_from_mixtures(tree, memory, marginals(memory.meta_strategy[0]))}


def best_responses_to_joint(tree: TreeArena, memory: Population) -> NewPlans:
    """Everybody's best response to the others' part of the ranking."""
    joint, oracle = memory.meta_strategy[0], ExactResponse()
    plans, gains = [], np.zeros(tree.num_players)
    for player in range(tree.num_players):
        others = joint_opponents(tree, memory, player, joint)
        response = oracle.respond(tree, player, others)
        plans.append(
            reach_from_probabilities(tree, response.policy.probabilities)[
                None, player_sequences(tree, player)
            ]
        )
        gains[player] = response.value - float((memory.payoffs[player] * joint).sum())
    return NewPlans(plans, gains)


def find_preferred_policies(tree: TreeArena, memory: Population) -> NewPlans:
    """Everybody's preferred policy, and how much of the ranking it beats."""
    joint = memory.meta_strategy[0]
    plans, gains = [], np.zeros(tree.num_players)
    for player in range(tree.num_players):
        tried = list_pure_plans(tree, player, MAX_PURE_POLICIES)[:, player_sequences(tree, player)]
        score, value = _preference_scores(tree, memory, player, tried)
        known = np.array([find_plan(memory.plans[player], plan) is not None for plan in tried])
        top = score.max() - 1e-12
        order = np.lexsort((-value, known, score < top))
        chosen = int(order[0])
        gains[player] = score[chosen] if joint.size and not known[chosen] else 0.0
        plans.append(tried[None, chosen])
    return NewPlans(plans, gains * float(np.abs(tree.utility).max()))


def _preference_scores(
    tree: TreeArena, memory: Population, player: int, candidate_plans: Floats
) -> tuple[Floats, Floats]:
    """For every plan tried, the mass of joint policies where it does better, and its value."""
    joint = np.moveaxis(memory.meta_strategy[0], player, 0)
    table = np.moveaxis(memory.payoffs[player], player, 0)
    score, value = np.zeros(len(candidate_plans)), np.zeros(len(candidate_plans))
    tiny = 1e-11 * float(np.abs(tree.utility).max())
    cf_value = np.zeros(tree.num_sequences + 1)
    for place in np.ndindex(*joint.shape[1:]):
        mass = joint[(slice(None), *place)]
        others = list(place)
        others.insert(player, 0)
        reach = reach_from_plans(tree, [memory.plans[p][k] for p, k in enumerate(others)])
        tree.gradient(player, reach, cf_value)
        worth = candidate_plans @ cf_value[player_sequences(tree, player)] + cf_value[-1]
        value += mass.sum() * worth
        score += (worth[:, None] > table[(slice(None), *place)] + tiny) @ mass
    return score, value
