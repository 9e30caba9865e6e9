"""Learned responses: who learns them, and races between a pool's mixture and a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from counterplay.algorithms.population.meta_solvers import solve_zero_sum
from counterplay.algorithms.population.oracles import ExactResponse, WeightedPolicy
from counterplay.algorithms.population.population import (
    player_sequences,
    policy_from_plans,
    reach_from_plans,
    reach_from_probabilities,
    round_payoffs,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.registry import import_registered, make_instance, parse_spec, resolve_name

LEARNED_ORACLES = {
    "dqn": "counterplay.algorithms.deep.common.dqn_response:DQNResponse",
    "ppo": "counterplay.algorithms.deep.common.ppo_response:PPOResponse",
    "sac": "counterplay.algorithms.deep.common.sac_response:SACResponse",
}
ORACLE_SETTINGS: dict[str, dict[str, Any]] = {  # for responses of tens of thousands of episodes
    "dqn": {"num_updates": 8, "learning_rate": 3e-3, "target_update_every": 8},
    "sac": {"num_updates": 8, "learning_rate": 3e-3},
}


def load_oracle(
    algorithm_name: str, spec: str, training_episodes: int, replay_buffer_size: int = 50_000
) -> Any:
    """The oracle of that name, such as `exact`, `dqn` or `dqn(lr=0.002)`; a learner's `episodes`.

    A learner keeps its rate: what it meets changes from one response to the next. One with a ring
    has room for as many decisions as are to be `remembered`, unless it says how many.
    """
    if spec == "exact":
        return ExactResponse()
    name, given = check_oracle(algorithm_name, spec)
    settings = (
        ORACLE_SETTINGS[name] | {"replay_buffer_size": replay_buffer_size}
        if name in ORACLE_SETTINGS
        else {}
    )
    oracle = make_instance(name, import_registered(LEARNED_ORACLES, name), settings | given)
    if "learning_rate_end" not in given:
        oracle = replace(oracle, learning_rate_end=oracle.learning_rate)
    return replace(oracle, iterations=max(-(-training_episodes // oracle.num_episodes), 1))


def check_oracle(algorithm_name: str, spec: str) -> tuple[str, dict[str, Any]]:
    """The name of an oracle and what was given to it; refuses others."""
    name, given = parse_spec("oracle", spec)
    name = resolve_name(LEARNED_ORACLES | {"exact": ":"}, name)
    if name != "exact" and name not in LEARNED_ORACLES:
        choices = ", ".join(["exact", *LEARNED_ORACLES])
        raise ConfigError(f"{algorithm_name}: oracle is {spec!r}, must be one of {choices}")
    return name, given


def check_oracle_arena(algorithm_name: str, spec: str, arena: Any) -> None:
    """Refuse to learn where there is no tree to play on."""
    if spec != "exact" and not isinstance(arena, TreeArena):
        raise ConfigError(
            f"{algorithm_name}: the oracle {spec} needs a stored tree; {arena.spec} is none"
        )


def is_learned_oracle(oracle: Any) -> bool:
    """Whether a response that gains nothing may only have been learned badly."""
    return not isinstance(oracle, ExactResponse)


def restore_learners(arena: Any, memory: Any, oracle: Any, players: Sequence[int]) -> list[Any]:
    """What learners in the seats of some players go on from; None where they begin."""
    if not is_learned_oracle(oracle) or not memory.learner_arrays:
        return [None] * len(players)
    from counterplay.algorithms.deep.common.learner_state import learners_from_arrays

    return list(learners_from_arrays(arena, oracle, players, memory.learner_arrays))


def learner_arrays(oracle: Any, responses: Sequence[Any]) -> list[Any]:
    """What the learners of the responses know; nothing where nobody learns."""
    if not is_learned_oracle(oracle):
        return []
    from counterplay.algorithms.deep.common.learner_state import arrays_from_learners

    return arrays_from_learners(responses)


def save_learners(memory: Any, oracle: Any, responses: Sequence[Any], num_responses: float) -> None:
    """Note what the learners of the responses know, and that they played `count` times."""
    if is_learned_oracle(oracle):
        memory.learner_arrays = learner_arrays(oracle, responses)
        memory.learner_episodes += round(num_responses * oracle.iterations * oracle.num_episodes)


class LearnedMixture(NamedTuple):
    """What comes out of a race over a player's pool of n policies."""

    mixture: Floats  # [n]
    learner: Any  # the other's response, to go on from
    plan: Floats  # [S_j] what that plays
    opponent: Floats  # [S_j] the best that the other can do with all it has learned


def learn_least_exploitable_mixture(
    tree: TreeArena,
    player: int,
    memory: Any,
    oracle: Any,
    num_rounds: int,
    seed: int,
    previous: Any,
) -> LearnedMixture:
    """A mixture of one player's pool and a learner of the other, each against the other. A turn:

        learner  = the other's learner, after some more episodes against the mixture
        known    = known and what the learner plays; at first the other's pool
        mixture, opponent = an equilibrium of the matrix between the pool and known

    The mixture is the one that loses least to everything that was learned against it. What the pool
    is worth against a plan is exact, by one pass over the tree.

    Args:
        memory: the pools, and the payoffs between them.
        oracle: a learner; it has its episodes in equal parts.
        seed: of all randomness; as many as there are turns are used, from this one on.
        start: what the learner goes on from, or None.
    """
    other = 1 - player
    plans, known, learner = memory.plans[player], memory.plans[other], previous
    worth = memory.payoffs[player].T if player else memory.payoffs[player]
    part = replace(oracle, iterations=max(oracle.iterations // num_rounds, 1))
    idle = np.zeros(known.shape[1])
    for turn in range(num_rounds):
        mixture, _ = _solve_matrix(worth)
        pair = [idle, mixture @ plans] if player else [mixture @ plans, idle]
        if learner is not None:
            learner = replace(learner, responder=part)
        met = [WeightedPolicy(1.0, policy_from_plans(tree, pair))]
        learner = part.respond(tree, other, met, seed + turn, learner).policy
        plan = plan_from_policy(tree, learner, other)
        known = np.vstack([known, plan])
        earned = plan_gradient(tree, player, plan)
        worth = np.column_stack([worth, plans @ earned[:-1] + earned[-1]])
    mixture, opponent = _solve_matrix(worth)
    return LearnedMixture(mixture, learner, plan, opponent @ known)


def _solve_matrix(payoffs: Floats) -> Sequence[Floats]:
    table = round_payoffs(payoffs)
    return solve_zero_sum(NormalForm(np.array([table, 0.0 - table])))


def plan_from_policy(tree: TreeArena, policy: Any, player: int) -> Floats:
    """One player's plan [S_i] of a policy."""
    return reach_from_probabilities(tree, policy.probabilities)[player_sequences(tree, player)]


def plan_gradient(tree: TreeArena, player: int, plan: Floats) -> Floats:
    """What each of the player's sequences earns against a plan of the other [S_i + 1].

    The last entry is what it earns without having acted.
    """
    mine = np.zeros(player_sequences(tree, player).stop - player_sequences(tree, player).start)
    reach = reach_from_plans(tree, [plan, mine] if player else [mine, plan])
    cf_value = np.zeros(reach.size)
    tree.gradient(player, reach, cf_value)
    return np.append(cf_value[player_sequences(tree, player)], cf_value[-1])
