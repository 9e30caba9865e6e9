"""Learned responses: who learns them, and races between a pool's mixture and a learner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from counterplay.arena import Floats
from counterplay.errors import ConfigError
from counterplay.matrix.normal_form import NormalForm
from counterplay.population.meta_solvers import equilibrium
from counterplay.population.oracles import ExactResponse, Weighted
from counterplay.population.pools import plan_policy, reach_of, reach_of_plans, rounded, row
from counterplay.registry import find_class, known_name, make, parse
from counterplay.tree import Tree

LEARNED = {
    "dqn": "counterplay.deep.dqn_response:DQNResponse",
    "ppo": "counterplay.deep.ppo_response:PPOResponse",
    "sac": "counterplay.deep.sac_response:SACResponse",
}
SETTINGS: dict[str, dict[str, Any]] = {  # for responses of tens of thousands of episodes
    "dqn": {"updates": 8, "lr": 3e-3, "target_every": 8},
    "sac": {"updates": 8, "lr": 3e-3},
}


def load_oracle(method: str, spec: str, episodes: int, remembered: int = 50_000) -> Any:
    """The oracle of that name, such as `exact`, `dqn` or `dqn(lr=0.002)`; a learner's `episodes`.

    A learner keeps its rate: what it meets changes from one response to the next. One with a ring
    has room for as many decisions as are to be `remembered`, unless it says how many.
    """
    if spec == "exact":
        return ExactResponse()
    name, given = check_oracle(method, spec)
    settings = SETTINGS[name] | {"ring_size": remembered} if name in SETTINGS else {}
    oracle = make(name, find_class(LEARNED, name), settings | given)
    if "lr_end" not in given:
        oracle = replace(oracle, lr_end=oracle.lr)
    return replace(oracle, iterations=max(-(-episodes // oracle.episodes), 1))


def check_oracle(method: str, spec: str) -> tuple[str, dict[str, Any]]:
    """The name of an oracle and what was given to it; refuses others."""
    name, given = parse("oracle", spec)
    name = known_name(LEARNED | {"exact": ":"}, name)
    if name != "exact" and name not in LEARNED:
        choices = ", ".join(["exact", *LEARNED])
        raise ConfigError(f"{method}: oracle is {spec!r}, must be one of {choices}")
    return name, given


def check_arena(method: str, spec: str, arena: Any) -> None:
    """Refuse to learn where there is no tree to play on."""
    if spec != "exact" and not isinstance(arena, Tree):
        raise ConfigError(f"{method}: the oracle {spec} needs a stored tree; {arena.spec} is none")


def is_learned(oracle: Any) -> bool:
    """Whether a response that gains nothing may only have been learned badly."""
    return not isinstance(oracle, ExactResponse)


def learners(arena: Any, memory: Any, oracle: Any, seats: Sequence[int]) -> list[Any]:
    """What learners in the seats of some players go on from; None where they begin."""
    if not is_learned(oracle) or not memory.learned:
        return [None] * len(seats)
    from counterplay.deep.keeping import learners_of_arrays

    return list(learners_of_arrays(arena, oracle, seats, memory.learned))


def arrays_of(oracle: Any, responses: Sequence[Any]) -> list[Any]:
    """What the learners of the responses know; nothing where nobody learns."""
    if not is_learned(oracle):
        return []
    from counterplay.deep.keeping import arrays_of_learners

    return arrays_of_learners(responses)


def keep(memory: Any, oracle: Any, responses: Sequence[Any], count: float) -> None:
    """Note what the learners of the responses know, and that they played `count` times."""
    if is_learned(oracle):
        memory.learned = arrays_of(oracle, responses)
        memory.episodes += round(count * oracle.iterations * oracle.episodes)


class Race(NamedTuple):
    """What comes out of a race over a player's pool of n policies."""

    mixture: Floats  # [n]
    learner: Any  # the other's response, to go on from
    plan: Floats  # [S_j] what that plays
    opponent: Floats  # [S_j] the best that the other can do with all it has learned


def race(
    tree: Tree, player: int, memory: Any, oracle: Any, turns: int, seed: int, start: Any
) -> Race:
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
    plans, known, learner = memory.plans[player], memory.plans[other], start
    worth = memory.payoffs[player].T if player else memory.payoffs[player]
    part = replace(oracle, iterations=max(oracle.iterations // turns, 1))
    idle = np.zeros(known.shape[1])
    for turn in range(turns):
        mixture, _ = _equilibrium(worth)
        pair = [idle, mixture @ plans] if player else [mixture @ plans, idle]
        if learner is not None:
            learner = replace(learner, responder=part)
        met = [Weighted(1.0, plan_policy(tree, pair))]
        learner = part.respond(tree, other, met, seed + turn, learner).policy
        plan = plan_of(tree, learner, other)
        known = np.vstack([known, plan])
        earned = gradient(tree, player, plan)
        worth = np.column_stack([worth, plans @ earned[:-1] + earned[-1]])
    mixture, opponent = _equilibrium(worth)
    return Race(mixture, learner, plan, opponent @ known)


def _equilibrium(worth: Floats) -> Sequence[Floats]:
    table = rounded(worth)
    return equilibrium(NormalForm(np.array([table, 0.0 - table])))


def plan_of(tree: Tree, policy: Any, player: int) -> Floats:
    """One player's plan [S_i] of a policy."""
    return reach_of(tree, policy.probabilities)[row(tree, player)]


def gradient(tree: Tree, player: int, plan: Floats) -> Floats:
    """What each of the player's sequences earns against a plan of the other [S_i + 1].

    The last entry is what it earns without having acted.
    """
    mine = np.zeros(row(tree, player).stop - row(tree, player).start)
    reach = reach_of_plans(tree, [plan, mine] if player else [mine, plan])
    cf_value = np.zeros(reach.size)
    tree.gradient(player, reach, cf_value)
    return np.append(cf_value[row(tree, player)], cf_value[-1])
