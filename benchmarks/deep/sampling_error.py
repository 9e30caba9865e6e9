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

from counterplay.algorithms.deep.regret import samplers, sarsa_critic
from counterplay.algorithms.deep.regret.sd_cfr import SDCFR
from counterplay.arenas.tree.build import build_tree
from counterplay.core.evaluation import exploitability
from counterplay.core.policy import policy_from_weights
from counterplay.kernels.sequence_form import sweeps
from counterplay.registry import load_game


def emulate(tree, kind, choices, budget, seed):
    walks, size, t = samplers.new_tree_sampler_state(tree, track_visits=True), tree.num_sequences, 0
    total, reach = np.zeros(size), np.ones(size + 1)
    while walks.nodes_touched[0] < budget:
        t += 1
        played = np.append(walks.policy[:size], 1.0)
        sweeps.forward(tree.form, 0, tree.form.parent.size, played, reach)
        total += t * reach[:-1]
        for p in range(tree.num_players):
            key = np.array([seed, t * tree.num_players + p], np.uint32)
            if kind == "external":
                samplers.run_external_sampling_on_tree(choices, tree, walks, p, float(t), key)
            else:
                value = sarsa_critic.exact_step_values(tree, walks.policy[:size])
                scheme = samplers.critic_only_scheme(p, float(t))
                samplers.run_outcome_sampling_on_tree(choices, tree, walks, scheme, value, key)
            table = samplers.table_from_sequences(tree, walks.regret_samples[p].total / t)
            legal = samplers.legal_mask(tree)
            positive = np.where(legal, np.maximum(table, 0.0), 0.0)
            best = np.where(legal, table, -np.inf)
            best = best == best.max(axis=1, keepdims=True)
            table = np.where(positive.sum(axis=1, keepdims=True) > 0.0, positive, best)
            samplers.set_policy(tree, walks, p, table[slice(*tree.player_infoset[p : p + 2])])
    return exploitability(tree, policy_from_weights(tree, total))


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
    choices = SDCFR(num_traversals=given.count, stratified_chance=not given.independent)
    for seed in given.seeds:
        found = emulate(tree, given.kind, choices, given.nodes, seed)
        print(seed, f"{found:.4f}", flush=True)
