"""How wrong a critic is, iteration by iteration, against the exact values of the same policies.

    python benchmarks/deep/critics.py leduc_poker "escher(num_traversals=1000,train_steps=150)" 1e6
    python benchmarks/deep/critics.py leduc_poker "escher(exact_critic=True)" 1e6       # no error at all

Prints, some twenty times on the way to so many nodes, the exact exploitability of the exact average
and two errors of the regrets that the critic gives, as parts of the root mean square of the true
ones: at single histories, and as means over the histories of an infoset, which is what a regret
network gets to see. Histories count as often as episodes meet them in which their player acts
uniformly, as in ESCHER. Seconds are those of the processor, these evaluations included.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from counterplay.algorithms.deep.regret import sarsa_critic
from counterplay.arenas.tree.build import build_tree
from counterplay.core.evaluation import exploitability
from counterplay.registry import load_algorithm, load_game

TIMES = 20


def met_by_uniform(tree, policy, player):
    """How likely each node [N] is when the player acts uniformly and the others as they do."""
    first, last = tree.offset[tree.player_infoset[player : player + 2]]
    policy = policy.copy()
    policy[first:last] = (1.0 / np.repeat(tree.num_actions, tree.num_actions))[first:last]
    step = tree.chance.copy()
    acts = np.flatnonzero(tree.player >= 0)
    counts = np.diff(tree.child_offset)[acts]
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    child = np.repeat(tree.child_offset[acts], counts) + place
    step[child] = policy[np.repeat(tree.offset[tree.infoset[acts]], counts) + place]
    reach = np.ones(tree.num_nodes)
    for n in range(1, tree.num_nodes):
        reach[n] = reach[tree.parent[n]] * step[n]
    return reach


def errors(tree, policy, guess, player):
    """The relative error of the player's regrets, at histories and at infosets."""
    true = sarsa_critic.exact_step_values(tree, policy)[:, player]
    reach = met_by_uniform(tree, policy, player)
    wrong, right = np.zeros((2, tree.num_infosets, tree.max_actions))
    weight, squares = np.zeros(tree.num_infosets), np.zeros(2)
    for n in np.flatnonzero((tree.player == player) & (reach > 0.0)):
        children, infoset = slice(*tree.child_offset[n : n + 2]), tree.infoset[n]
        played = policy[slice(*tree.offset[infoset : infoset + 2])]
        said, regret = (v - played @ v for v in (guess[children, player], true[children]))
        squares += reach[n] * np.array([((said - regret) ** 2).sum(), (regret**2).sum()])
        wrong[infoset, : played.size] += reach[n] * (said - regret)
        right[infoset, : played.size] += reach[n] * regret
        weight[infoset] += reach[n]
    met = weight > 0.0
    means = [(part[met] ** 2 / weight[met, None]).sum() for part in (wrong, right)]
    return [(squares[0] / squares[1]) ** 0.5, (means[0] / means[1]) ** 0.5]


def main(game, spec, nodes):
    tree, algorithm = build_tree(load_game(game)), load_algorithm(spec)
    criticise, found = sarsa_critic.fit_critic_on_tree, []

    def watched(choices, tree, walks, critic, key):
        critic, guess = criticise(choices, tree, walks, critic, key)
        if wanted:
            policy = walks.policy[: tree.num_sequences]
            found.extend(errors(tree, policy, guess, p) for p in range(tree.num_players))
        return critic, guess

    sarsa_critic.fit_critic_on_tree = watched
    began, memory, next_at = time.process_time(), algorithm.init(tree), nodes / TIMES
    print("iteration  nodes  exploitability  error at histories  at infosets  seconds")
    while next_at <= nodes:
        wanted = int(memory.state.sampler.nodes_touched[0]) >= next_at
        memory = algorithm.step(tree, memory, 1)
        if wanted:
            next_at += nodes / TIMES
            average = exploitability(tree, algorithm.policies(tree, memory)["average"])
            row = (
                f"{memory.iteration}  {memory.state.sampler.nodes_touched[0]:.2e}  {average:.4f}  "
            )
            row += "  ".join(f"{error:.3f}" for error in np.mean(found, axis=0))
            print(row, f" {time.process_time() - began:.0f}", flush=True)
            found.clear()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], float(sys.argv[3])) if len(sys.argv) == 4 else sys.exit(__doc__)
