"""Variance reduction for matches (AIVAT).

At every action of an episode, by a player or by chance, the probabilities of all actions are
known. So for any value function the difference between its mean over the actions and its value
after the sampled action has mean zero, and

    utility + sum over steps of (mean over actions of value(next state) - value(sampled next state))

has the mean of the utility. The better the value function, the smaller the variance. These are the
corrections of AIVAT (Burch, Schmid, Moravcik, Morrill and Bowling, 2018) for chance and for all
players; its averages over hands that were not dealt are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from counterplay.arenas.tree.replay import iter_states
from counterplay.core.arena import Floats
from counterplay.core.game import TERMINAL, Game, State
from counterplay.core.policy import Policy, require_tree
from counterplay.kernels.sequence_form import node_sweeps
from counterplay.play.episodes import Episode

ValueFunction = Callable[[State], Sequence[float] | Floats]  # estimated values [P] of a state


def aivat_utilities(game: Game, episode: Episode, value_function: ValueFunction) -> list[float]:
    """Return every player's utility in an episode, corrected by a value function.

    Args:
        game: the rules.
        episode: an episode of `play_episode`.
        value_function: returns the estimated values of all players at a non-terminal state.

    Example:
        >>> import counterplay as cp
        >>> policy = cp.uniform_policy("kuhn_poker")
        >>> game, values = policy.arena.game, cp.play.value_function_from_policy(policy)
        >>> episode = cp.play_episode(game, [policy] * 2)
        >>> [round(value, 6) for value in cp.play.aivat_utilities(game, episode, values)]
        [0.125, -0.125]
    """

    def estimate(state: State) -> Floats:
        is_terminal = game.player(state) == TERMINAL
        return np.array(game.utilities(state) if is_terminal else value_function(state), float)

    total = np.array(episode.utilities, float)
    for step in episode.steps:
        if len(step.actions) == 1:
            continue
        after = np.array([estimate(game.next_state(step.state, action)) for action in step.actions])
        mean = np.array(step.probabilities) / sum(step.probabilities) @ after
        total += mean - after[step.actions.index(step.action)]
    utilities: list[float] = total.tolist()
    return utilities


def value_function_from_policy(policy: Policy) -> ValueFunction:
    """Return the exact values of all states of a tree if all players follow a policy.

    They are good estimates for agents that play much like the policy.
    """
    tree = require_tree(policy)
    values = np.zeros((tree.num_nodes, tree.num_players))
    node_sweeps.node_values(
        tree.player,
        tree.child_offset,
        tree.chance,
        tree.infoset,
        tree.offset,
        tree.utility,
        policy.probabilities,
        values,
    )
    return dict(zip(iter_states(tree), values, strict=True)).__getitem__
