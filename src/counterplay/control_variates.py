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

from counterplay.arena import Floats
from counterplay.game import TERMINAL, Game, State
from counterplay.playing import Episode
from counterplay.policy import Policy, tree_of

Values = Callable[[State], Sequence[float] | Floats]  # a guess at every player's value of a state


def corrected(game: Game, episode: Episode, values: Values) -> list[float]:
    """Every player's utility in an episode, corrected by a guess at values."""

    def guess(state: State) -> Floats:
        over = game.player(state) == TERMINAL
        return np.array(game.utilities(state) if over else values(state), float)

    total = np.array(episode.utilities, float)
    for step in episode.steps:
        if len(step.actions) == 1:
            continue
        after = np.array([guess(game.next_state(step.state, action)) for action in step.actions])
        total += (
            np.array(step.odds) / sum(step.odds) @ after - after[step.actions.index(step.action)]
        )
    found: list[float] = total.tolist()
    return found


def tree_values(policy: Policy) -> Values:
    """The exact values of all states of a tree when everybody follows a policy.

    Good guesses for contestants that play much like it.
    """
    tree = tree_of(policy)
    chance = tree.chance.copy()
    own = np.flatnonzero(tree.sequence_before >= 0)
    chance[own] = policy.probabilities[tree.sequence_before[own]]
    values = np.zeros((tree.num_nodes, tree.num_players))
    values[tree.terminals] = tree.utility
    for first, last in zip(tree.level[-2:0:-1], tree.level[:1:-1], strict=True):
        np.add.at(values, tree.parent[first:last], chance[first:last, None] * values[first:last])
    known: dict[State, Floats] = {}
    states = {0: tree.rules.initial_state()}
    for node in range(tree.num_nodes):
        state = states.pop(node)
        known[state] = values[node]
        for child in range(tree.child_offset[node], tree.child_offset[node + 1]):
            states[child] = tree.rules.next_state(state, int(tree.action[child]))
    return known.__getitem__
