"""Oracles that learn responses with networks, and mixtures that are trained against them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

import numpy as np

from counterplay.algorithms.population.meta_solvers import solve_zero_sum
from counterplay.algorithms.population.oracles import ExactResponse, Oracle, WeightedPolicy
from counterplay.algorithms.population.population import (
    LearnerArrays,
    Population,
    plan_from_policy,
    plan_gradient,
    policy_from_plans,
    round_payoffs,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Arena, Floats, SequenceArena
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.registry import import_registered, make_instance, parse_spec, resolve_name

if TYPE_CHECKING:
    from counterplay.algorithms.deep.common.best_response import LearnedPolicy, Responder

LEARNED_ORACLES = {
    "dqn": "counterplay.algorithms.deep.common.dqn_response:DQNResponse",
    "ppo": "counterplay.algorithms.deep.common.ppo_response:PPOResponse",
    "sac": "counterplay.algorithms.deep.common.sac_response:SACResponse",
}
ORACLE_SETTINGS: dict[str, dict[str, Any]] = {  # for responses of tens of thousands of episodes
    "dqn": {"num_updates": 8, "learning_rate": 3e-3, "target_update_every": 8},
    "sac": {"num_updates": 8, "learning_rate": 3e-3},
}


def load_oracle(algorithm_name: str, spec: str, training_episodes: int) -> Oracle:
    """Return the oracle of a spec, such as "exact", "dqn" or "dqn(learning_rate=0.002)"."""
    if spec == "exact":
        return ExactResponse()
    return load_learned_oracle(algorithm_name, spec, training_episodes)


def load_learned_oracle(
    algorithm_name: str, spec: str, training_episodes: int, replay_buffer_size: int = 50_000
) -> Responder[Any]:
    """Return the learner of a spec, which plays this many episodes for a response.

    Unless the spec sets it, the learning rate is constant, because the opponents change from one
    response to the next.

    Args:
        replay_buffer_size: number of decisions in the replay buffer of `dqn` and `sac`.
    """
    name, parameters = check_oracle(algorithm_name, spec)
    defaults = (
        ORACLE_SETTINGS[name] | {"replay_buffer_size": replay_buffer_size}
        if name in ORACLE_SETTINGS
        else {}
    )
    oracle: Responder[Any] = make_instance(
        name, import_registered(LEARNED_ORACLES, name), defaults | parameters
    )
    if "learning_rate_end" not in parameters:
        oracle = replace(oracle, learning_rate_end=oracle.learning_rate)
    return replace(oracle, iterations=max(-(-training_episodes // oracle.num_episodes), 1))


def check_oracle(algorithm_name: str, spec: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the parameters of an oracle's spec.

    Raises:
        ConfigError: the oracle is unknown.
    """
    name, parameters = parse_spec("oracle", spec)
    name = resolve_name(LEARNED_ORACLES | {"exact": ":"}, name)
    if name != "exact" and name not in LEARNED_ORACLES:
        choices = ", ".join(["exact", *LEARNED_ORACLES])
        raise ConfigError(f"{algorithm_name}: oracle is {spec!r}, must be one of {choices}")
    return name, parameters


def check_oracle_arena(algorithm_name: str, spec: str, arena: Arena) -> None:
    """Raise ConfigError if an oracle learns and the arena is not a tree."""
    if spec != "exact" and not isinstance(arena, TreeArena):
        raise ConfigError(
            f"{algorithm_name}: the oracle {spec} needs a stored tree, which {arena.spec} is not; "
            "set oracle=exact"
        )


def is_learned_oracle(oracle: Oracle) -> TypeGuard[Responder[Any]]:
    """Return True if an oracle's responses are learned, so that better ones may exist."""
    return not isinstance(oracle, ExactResponse)


def restore_learners(
    arena: SequenceArena, memory: Population, oracle: Oracle, players: Sequence[int]
) -> list[LearnedPolicy | None]:
    """Return the learners of these players to continue from, or None for each without one."""
    if not is_learned_oracle(oracle) or not memory.learner_arrays:
        return [None] * len(players)
    from counterplay.algorithms.deep.common.learner_state import learners_from_arrays

    assert isinstance(arena, TreeArena)  # `check_oracle_arena` has refused others
    return list(learners_from_arrays(arena, oracle, players, memory.learner_arrays))


def learner_arrays(oracle: Oracle, responses: Sequence[Policy]) -> LearnerArrays:
    """Return the states of the learners of responses; an exact oracle has none."""
    if not is_learned_oracle(oracle):
        return []
    from counterplay.algorithms.deep.common.learner_state import arrays_from_learners

    return arrays_from_learners(responses)


def save_learners(
    memory: Population, oracle: Oracle, responses: Sequence[Policy], num_responses: float
) -> None:
    """Store the states of the learners of responses, and count their episodes."""
    if is_learned_oracle(oracle):
        memory.learner_arrays = learner_arrays(oracle, responses)
        memory.learner_episodes += round(num_responses * oracle.iterations * oracle.num_episodes)


class LearnedMixture(NamedTuple):
    """A mixture of player i's pool of n policies, and a learner of player j trained against it."""

    mixture: Floats  # [n]
    learner: Policy  # to continue from
    plan: Floats  # [S_j] of the learner
    opponent: Floats  # [S_j] player j's best mixture of its pool and all it has learned


def learn_least_exploitable_mixture(
    tree: TreeArena,
    player: int,
    memory: Population,
    oracle: Responder[Any],
    num_rounds: int,
    seed: int,
    previous: LearnedPolicy | None,
) -> LearnedMixture:
    """Train a mixture of one player's pool and a learner of the other against each other.

    In each round:

        learner           = the learner, after more episodes against the mixture
        opponents         = opponents and the learner's plan; at first the other player's pool
        mixture, opponent = an equilibrium of the matrix between the pool and the opponents

    The mixture is least exploitable by all plans that were learned against it. The value of the
    pool against a plan is exact, by one pass over the tree.

    Args:
        memory: the pools, and the payoffs between them.
        oracle: the learner; its iterations are divided equally between the rounds.
        seed: seed of the first round; each round uses the next seed.
        previous: the learner to continue from, or None.
    """
    from counterplay.algorithms.deep.common.best_response import LearnedPolicy

    other = 1 - player
    plans, opponents, learner = memory.plans[player], memory.plans[other], previous
    payoffs = memory.payoffs[player].T if player else memory.payoffs[player]
    part = replace(oracle, iterations=max(oracle.iterations // num_rounds, 1))
    idle = np.zeros(opponents.shape[1])
    for round_number in range(num_rounds):
        mixture, _ = _solve_matrix(payoffs)
        pair = [idle, mixture @ plans] if player else [mixture @ plans, idle]
        if learner is not None:
            learner = replace(learner, responder=part)
        weighted = [WeightedPolicy(1.0, policy_from_plans(tree, pair))]
        policy = part.respond(tree, other, weighted, seed + round_number, learner).policy
        assert isinstance(policy, LearnedPolicy)
        learner, plan = policy, plan_from_policy(tree, policy, other)
        opponents = np.vstack([opponents, plan])
        gradient = plan_gradient(tree, player, plan)
        payoffs = np.column_stack([payoffs, plans @ gradient[:-1] + gradient[-1]])
    mixture, opponent = _solve_matrix(payoffs)
    return LearnedMixture(mixture, policy, plan, opponent @ opponents)


def _solve_matrix(payoffs: Floats) -> Sequence[Floats]:
    table = round_payoffs(payoffs)
    return solve_zero_sum(NormalForm(np.array([table, 0.0 - table])))
