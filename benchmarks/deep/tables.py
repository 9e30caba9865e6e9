"""The walks of deep regret methods with tables in place of networks: what sampling alone costs.

    python benchmarks/deep/tables.py leduc_poker external 100 1e7 --seeds 0 1 2 3
    python benchmarks/deep/tables.py leduc_poker guesses 3000 1e7      # ESCHER with exact values

Regret matching on the very sums that a network would be fitted to; prints the exact exploitability
of the exact linear average once so many nodes were touched.
"""

from __future__ import annotations

import argparse

import jax
import numpy as np

from counterplay.deep import critics, traversals
from counterplay.deep.sd_cfr import SDCFR
from counterplay.evaluate import exploitability
from counterplay.kernels import sweeps
from counterplay.policy import normalised_policy
from counterplay.registry import load_game
from counterplay.tree.unrolling import build_tree


def emulate(tree, kind, choices, budget, seed):
    walks, size, t = traversals.no_walks(tree, visits=True), tree.num_sequences, 0
    total, reach = np.zeros(size), np.ones(size + 1)
    while walks.touched[0] < budget:
        t += 1
        played = np.append(walks.policy[:size], 1.0)
        sweeps.forward(tree.form, 0, tree.form.parent.size, played, reach)
        total += t * reach[:-1]
        for p in range(tree.num_players):
            key = np.array([seed, t * tree.num_players + p], np.uint32)
            if kind == "external":
                traversals.external(choices, tree, walks, p, float(t), key)
            else:
                value = critics.exact_values(tree, walks.policy[:size])
                scheme = traversals.believing(p, float(t))
                traversals.outcomes(choices, tree, walks, scheme, value, key)
            table = traversals.dense(tree, walks.replay[p].total / t)
            legal = traversals.legal_of(tree)
            positive = np.where(legal, np.maximum(table, 0.0), 0.0)
            best = np.where(legal, table, -np.inf)
            best = best == best.max(axis=1, keepdims=True)
            table = np.where(positive.sum(axis=1, keepdims=True) > 0.0, positive, best)
            traversals.set_policy(tree, walks, p, table[slice(*tree.player_infoset[p : p + 2])])
    return exploitability(tree, normalised_policy(tree, total))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("game")
    parser.add_argument("kind", choices=["external", "guesses"])
    parser.add_argument("count", type=int)
    parser.add_argument("nodes", type=float)
    parser.add_argument("--independent", action="store_true", help="chance drawn in every walk")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    given = parser.parse_args()
    jax.config.update("jax_platforms", "cpu")
    tree = build_tree(load_game(given.game))
    choices = SDCFR(traversals=given.count, even=not given.independent)
    for seed in given.seeds:
        found = emulate(tree, given.kind, choices, given.nodes, seed)
        print(seed, f"{found:.4f}", flush=True)
