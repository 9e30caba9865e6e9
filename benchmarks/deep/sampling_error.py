"""Measure the error that sampling alone causes in deep regret methods: tables replace networks.

    python -m benchmarks.deep.sampling_error leduc_poker external 100 1e7 --seeds 0 1 2 3
    python -m benchmarks.deep.sampling_error leduc_poker critic 3000 1e7   # ESCHER, exact values

Regret matching uses the sums that a network would be fitted to. Prints the exact exploitability of
the exact linear average policy after a number of touched nodes.
"""

from __future__ import annotations

import argparse
from typing import Any

import jax
import numpy as np

from benchmarks.timing import first_paragraph
from counterplay.algorithms.deep.common import critics
from counterplay.algorithms.deep.common.tree_tables import legal_mask, table_from_sequences
from counterplay.algorithms.deep.regret.escher import ESCHER
from counterplay.algorithms.deep.regret.sampler import uniform_scheme
from counterplay.algorithms.deep.regret.tree_sampler import TreeSampler
from counterplay.arenas.tree.build import build_tree
from counterplay.core.evaluation import exploitability
from counterplay.core.policy import policy_from_weights
from counterplay.kernels.sequence_form import sweeps
from counterplay.registry import load_game


def match_regrets(tree: Any, sampler: Any, player: int, t: int) -> None:
    """Set the player's policy by regret matching on its mean sampled regrets."""
    regret_sum = sampler.arrays.regret_samples[player].regret_sum
    table = table_from_sequences(tree, regret_sum / t)
    legal = legal_mask(tree)
    positive = np.where(legal, np.maximum(table, 0.0), 0.0)
    best = np.where(legal, table, -np.inf)
    best = best == best.max(axis=1, keepdims=True)
    table = np.where(positive.sum(axis=1, keepdims=True) > 0.0, positive, best)
    own = slice(*tree.player_infoset[player : player + 2])
    sampler.set_policy(player, table[own])


def run_with_tables(tree: Any, kind: str, algorithm: Any, max_nodes: float, seed: int) -> float:
    """Return the exploitability of the linear average policy."""
    sampler = TreeSampler(algorithm, tree)
    size, t = tree.num_sequences, 0
    policy_sum, reach = np.zeros(size), np.ones(size + 1)
    while sampler.arrays.nodes_touched[0] < max_nodes:
        t += 1
        policy = np.append(sampler.policy, 1.0)
        sweeps.forward(tree.form, 0, tree.form.parent.size, policy, reach)
        policy_sum += t * reach[:-1]
        for p in range(tree.num_players):
            key = np.array([seed, t * tree.num_players + p], np.uint32)
            if kind == "external":
                sampler.collect_external(None, p, float(t), key)
            else:
                values = critics.exact_step_values(tree, sampler.policy)
                scheme = uniform_scheme(p, float(t), correct_critic=False)
                sampler.collect_outcomes(None, scheme, values, key)
            match_regrets(tree, sampler, p, t)
    return exploitability(tree, policy_from_weights(tree, policy_sum))


def main() -> None:
    """Print the exploitability of each seed."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game")
    parser.add_argument("kind", choices=["external", "critic"])
    parser.add_argument("traversals", type=int, help="per player and iteration")
    parser.add_argument("nodes", type=float, help="nodes to touch in all")
    parser.add_argument(
        "--independent", action="store_true", help="sample chance anew in every traversal"
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    args = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    tree = build_tree(load_game(args.game))
    algorithm = ESCHER(num_traversals=args.traversals, stratified_chance=not args.independent)
    for seed in args.seeds:
        result = run_with_tables(tree, args.kind, algorithm, args.nodes, seed)
        print(seed, f"{result:.4f}", flush=True)


if __name__ == "__main__":
    main()
