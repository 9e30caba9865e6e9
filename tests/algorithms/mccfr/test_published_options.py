"""Options of Monte Carlo CFR that follow Gibson's thesis: the full pass, probes of action sets."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp


def add_profile(game, state, player, reach, policy, totals):
    """UpdateCumulativeProfile, written naively: s(I, a) += own reach * policy(I, a), once per I."""
    actor = game.player(state)
    if actor == cp.TERMINAL:
        return
    if actor == cp.CHANCE:
        for action, _ in game.chance_outcomes(state):
            add_profile(game, game.next_state(state, action), player, reach, policy, totals)
        return
    row = [1.0] * len(game.actions(state))
    if actor == player:
        key = game.infoset_key(state, player)
        row = list(policy[player, key].values())
        totals[player, key] = reach * np.array(row)
    for probability, action in zip(row, game.actions(state), strict=True):
        after = reach * probability
        add_profile(game, game.next_state(state, action), player, after, policy, totals)


@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_full_pass_equals_the_naive_one(spec):
    tree = cp.build_tree(spec)
    algorithm = cp.algorithms.ExternalSampling(full_average=True)
    memory, game, sums = algorithm.init(tree, 1), tree.game, {}
    for _ in range(5):
        policy, totals = algorithm.policies(tree, memory)["current"], {}
        for player in range(tree.num_players):
            add_profile(game, game.initial_state(), player, 1.0, policy, totals)
        for infoset, row in totals.items():
            sums[infoset] = sums.get(infoset, 0.0) + row
        memory = algorithm.step(tree, memory)
    keys = zip(tree.infoset_player.tolist(), tree.infoset_keys, strict=True)
    np.testing.assert_allclose(memory.policy_sum[0], np.concatenate([sums[key] for key in keys]))
    sampled = cp.algorithms.ExternalSampling()
    other = sampled.step(tree, sampled.init(tree, 1), 5)
    np.testing.assert_array_equal(memory.regret, other.regret)  # the traversals are the same
    assert np.abs(memory.policy_sum - other.policy_sum).max() > 0.1


def test_full_pass_needs_a_tree_and_equal_weights():
    with pytest.raises(cp.ConfigError, match="needs gamma=0"):
        cp.algorithms.ExternalSampling(full_average=True, gamma=1.0)
    algorithm = cp.algorithms.ExternalSampling(full_average=True)
    with pytest.raises(cp.ConfigError, match="needs a tree"):
        cp.solve(cp.RulesArena("kuhn_poker"), algorithm, iterations=1)


def test_probed_action_sets_converge_and_differ():
    tree = cp.build_tree("kuhn_poker")
    settings = {"epsilon": 0.2, "tau": 1.0, "beta": 0.0}
    policies = [
        cp.solve(
            tree, cp.algorithms.AverageStrategySampling(probe=probe, **settings), iterations=n
        ).policy
        for probe, n in ((True, 20_000), (False, 20_000))
    ]
    assert cp.nash_conv(policies[0]) < 0.05
    assert np.abs(policies[0].probabilities - policies[1].probabilities).max() > 1e-4
