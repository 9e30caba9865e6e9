"""Every block of a sampling scheme with its probability: kernels run as plain Python, again and
again, until every way their random choices can fall has been tried."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import numpy as np

from counterplay.algorithms.mccfr.rules_backend import python_kernels
from counterplay.arenas.tree.sampling_view import chance_probabilities, node_rows
from counterplay.kernels.sampling.types import GameNodes, RegretTables, Scratch


def every_block(walk):
    """(probability, result) of `walk(pick)`; it calls pick(probabilities) to choose an index."""
    script = []
    while True:
        made = []
        weight = [1.0]

        def pick(probabilities, made=made, weight=weight, script=script):
            options = [k for k, p in enumerate(probabilities) if p > 0.0]
            place = script[len(made)] if len(made) < len(script) else 0
            made.append((place, len(options)))
            weight[0] *= probabilities[options[place]]
            return options[place]

        result = walk(pick)
        yield weight[0], result
        while made and made[-1][0] + 1 == made[-1][1]:
            made.pop()
        if not made:
            return
        script[:] = [place for place, _ in made[:-1]] + [made[-1][0] + 1]


def kernels(module, pick):
    """The kernels of a module as plain Python, in which `pick` makes every random choice."""

    def choose(policy, first, count, epsilon, rng):
        return pick([epsilon / count + (1 - epsilon) * policy[first + k] for k in range(count)])

    def happen(policy, first, count, luck, rng):
        return pick([policy[first + k] for k in range(count)])

    def include(probability, rng):
        return probability >= 1.0 or bool(pick([1.0 - probability, probability]))

    space = python_kernels(
        module,
        sample_action=choose,
        sample_chance=happen,
        draw_bernoulli=include,
        seed_stream=lambda *_: None,
    )
    return SimpleNamespace(**space)


def arena(tree, slot=None):
    nodes = [
        SimpleNamespace(player=a, first=b, child=c, count=d)
        for a, b, c, d in node_rows(tree).tolist()
    ]
    return GameNodes(nodes, tree.utility, slot, tree.num_players)


def table(tree, policy, baseline=None):
    """No regrets, and this policy."""
    size = tree.num_sequences
    full_policy = np.append(policy.probabilities, chance_probabilities(tree))
    regret, policy_sum, visits, largest = np.zeros((4, size))
    return RegretTables(regret, full_policy, policy_sum, visits, np.copy(baseline), largest)


def scratch():
    return Scratch([0], [0, 0, 0], *(defaultdict(float) for _ in range(7)))


def chance_reach(tree):
    """Chance's part of the reach of every node, and with uniform players [N, P] in all places
    but one."""
    chance = np.ones(tree.num_nodes)
    uniform = np.ones((tree.num_nodes, tree.num_players))
    for n in range(1, tree.num_nodes):
        above = tree.parent[n]
        chance[n] = chance[above] * tree.chance[n]
        uniform[n] = uniform[above]
        if tree.player[above] >= 0:
            count = tree.child_offset[above + 1] - tree.child_offset[above]
            for p in range(tree.num_players):
                if p != tree.player[above]:
                    uniform[n, p] /= count
    return chance, uniform
