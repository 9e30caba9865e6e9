"""Less luck in matches: utilities corrected by what chance and players might as well have done.

For every action of an episode, whoever took it, the odds are known. So the difference between what
the action was worth and what it is worth on average, by any guess at values, has mean zero, and

    utility + sum over actions of (mean over the odds of value(next) - value(the next one taken))

has the mean of the utility. The better the guess, the less varies. These are the corrections of
AIVAT (Burch, Schmid, Moravcik, Morrill and Bowling, 2018) for chance and for all players; its
averages over hands that were not dealt are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from counterplay.core.arena import Floats
from counterplay.core.game import TERMINAL, Game, State
from counterplay.core.policy import Policy, require_tree
from counterplay.play.match import Episode

ValueFunction = Callable[
    [State], Sequence[float] | Floats
]  # a guess at every player's value of a state


def aivat_utilities(game: Game, episode: Episode, value_function: ValueFunction) -> list[float]:
    """Every player's utility in an episode, corrected by a guess at values."""

    def estimate(state: State) -> Floats:
        over = game.player(state) == TERMINAL
        return np.array(game.utilities(state) if over else value_function(state), float)

    total = np.array(episode.utilities, float)
    for step in episode.steps:
        if len(step.actions) == 1:
            continue
        after = np.array([estimate(game.next_state(step.state, action)) for action in step.actions])
        total += (
            np.array(step.probabilities) / sum(step.probabilities) @ after
            - after[step.actions.index(step.action)]
        )
    found: list[float] = total.tolist()
    return found


def value_function_from_policy(policy: Policy) -> ValueFunction:
    """The exact values of all states of a tree when everybody follows a policy.

    Good guesses for contestants that play much like it.
    """
    tree = require_tree(policy)
    chance = tree.chance.copy()
    own = np.flatnonzero(tree.incoming_sequence >= 0)
    chance[own] = policy.probabilities[tree.incoming_sequence[own]]
    values = np.zeros((tree.num_nodes, tree.num_players))
    values[tree.terminals] = tree.utility
    for first, last in zip(tree.level_offset[-2:0:-1], tree.level_offset[:1:-1], strict=True):
        np.add.at(values, tree.parent[first:last], chance[first:last, None] * values[first:last])
    known: dict[State, Floats] = {}
    states = {0: tree.game.initial_state()}
    for node in range(tree.num_nodes):
        state = states.pop(node)
        known[state] = values[node]
        for child in range(tree.child_offset[node], tree.child_offset[node + 1]):
            states[child] = tree.game.next_state(state, int(tree.action[child]))
    return known.__getitem__
