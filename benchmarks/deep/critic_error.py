"""Measure the error of a critic during a run, against the exact values of the same policies.

    python -m benchmarks.deep.critic_error leduc_poker \
        "escher(num_traversals=1000,train_steps=150)" 1e6
    python -m benchmarks.deep.critic_error leduc_poker "escher(exact_critic=True)" 1e6   # no error

Prints twenty rows on the way to a number of touched nodes: the exact exploitability of the exact
average policy, and two errors of the critic's regrets relative to the root mean square of the true
ones: at single histories, and as means over the histories of an infoset, which is what a regret
network sees. Histories are weighted by how often episodes reach them in which their player acts
uniformly, as in ESCHER. Seconds are processor time, these evaluations included.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.timing import first_paragraph
from counterplay.algorithms.deep.common import critics
from counterplay.arenas.tree.build import build_tree
from counterplay.core.evaluation import exploitability
from counterplay.registry import load_algorithm, load_game

NUM_EVALUATIONS = 20


def uniform_reach(tree: Any, policy: Any, player: int) -> Any:
    """Return each node's probability [N] if the player acts uniformly, the others by the policy."""
    first, last = tree.offset[tree.player_infoset[player : player + 2]]
    policy = policy.copy()
    policy[first:last] = (1.0 / np.repeat(tree.num_actions, tree.num_actions))[first:last]
    step = tree.chance.copy()
    decisions = np.flatnonzero(tree.player >= 0)
    counts = np.diff(tree.child_offset)[decisions]
    action = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    child = np.repeat(tree.child_offset[decisions], counts) + action
    step[child] = policy[np.repeat(tree.offset[tree.infoset[decisions]], counts) + action]
    reach = np.ones(tree.num_nodes)
    for n in range(1, tree.num_nodes):
        reach[n] = reach[tree.parent[n]] * step[n]
    return reach


def relative_errors(tree: Any, policy: Any, estimates: Any, player: int) -> list[float]:
    """Return the relative error of the player's regrets, at histories and at infosets."""
    exact = critics.exact_step_values(tree, policy)[:, player]
    reach = uniform_reach(tree, policy, player)
    error_sum, regret_sum = np.zeros((2, tree.num_infosets, tree.max_actions))
    weight, squares = np.zeros(tree.num_infosets), np.zeros(2)
    for n in np.flatnonzero((tree.player == player) & (reach > 0.0)):
        children, infoset = slice(*tree.child_offset[n : n + 2]), tree.infoset[n]
        probs = policy[slice(*tree.offset[infoset : infoset + 2])]
        estimate, regret = (v - probs @ v for v in (estimates[children, player], exact[children]))
        squares += reach[n] * np.array([((estimate - regret) ** 2).sum(), (regret**2).sum()])
        error_sum[infoset, : probs.size] += reach[n] * (estimate - regret)
        regret_sum[infoset, : probs.size] += reach[n] * regret
        weight[infoset] += reach[n]
    is_visited = weight > 0.0
    means = [
        (part[is_visited] ** 2 / weight[is_visited, None]).sum() for part in (error_sum, regret_sum)
    ]
    return [(squares[0] / squares[1]) ** 0.5, (means[0] / means[1]) ** 0.5]


class CriticObserver:
    """Replaces the fit of the critic and measures its errors while it is enabled."""

    def __init__(self) -> None:
        self.fit_critic = critics.fit_tree_critic
        self.errors: list[list[float]] = []
        self.is_enabled = False

    def __call__(
        self, algorithm: Any, tree: Any, policy: Any, visits: Any, critic: Any, key: Any
    ) -> tuple[Any, Any]:
        critic, estimates = self.fit_critic(algorithm, tree, policy, visits, critic, key)
        if self.is_enabled:
            players = range(tree.num_players)
            self.errors += [relative_errors(tree, policy, estimates, p) for p in players]
        return critic, estimates


def measure_errors(game: str, spec: str, num_nodes: float) -> None:
    """Run an algorithm and print the errors on the way."""
    tree, algorithm = build_tree(load_game(game)), load_algorithm(spec)
    observer = CriticObserver()
    critics.fit_tree_critic = observer
    start, memory, next_mark = (
        time.process_time(),
        algorithm.init(tree),
        num_nodes / NUM_EVALUATIONS,
    )
    print("iteration  nodes  exploitability  error at histories  at infosets  seconds")
    while next_mark <= num_nodes:
        observer.is_enabled = int(memory.state.sampler.nodes_touched[0]) >= next_mark
        memory = algorithm.step(tree, memory, 1)
        if observer.is_enabled:
            next_mark += num_nodes / NUM_EVALUATIONS
            average = exploitability(tree, algorithm.policies(tree, memory)["average"])
            nodes = memory.state.sampler.nodes_touched[0]
            errors = "  ".join(f"{error:.3f}" for error in np.mean(observer.errors, axis=0))
            seconds = time.process_time() - start
            print(f"{memory.iteration}  {nodes:.2e}  {average:.4f}  {errors}  {seconds:.0f}")
            observer.errors.clear()


def main() -> None:
    """Measure the critic of one algorithm on one game."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game")
    parser.add_argument("algorithm", help="such as 'escher(num_traversals=1000)'")
    parser.add_argument("nodes", type=float, help="nodes to touch in all")
    args = parser.parse_args()
    measure_errors(args.game, args.algorithm, args.nodes)


if __name__ == "__main__":
    main()
