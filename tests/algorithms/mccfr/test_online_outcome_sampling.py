"""One learner against opponents that it cannot see."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from tests.conftest import game_tree


def lacking(tree, policy, player):
    """Gain of a best response over the player's policy."""
    judged = cp.judge(tree, policy)
    return (judged.best_values - judged.values)[player]


@pytest.mark.parametrize(("spec", "player"), [("kuhn_poker", 0), ("kuhn_poker", 1)])
@pytest.mark.parametrize("seed", range(3))
def test_learns_a_best_response(spec, player, seed):
    tree = game_tree(spec)
    opponents = cp.random_policy(tree, seed=seed)
    algorithm = cp.algorithms.OnlineOutcomeSampling(player=player, opponents=opponents)
    policy = cp.solve(tree, algorithm, iterations=200_000, seed=seed).policy
    assert lacking(tree, cp.random_policy(tree, seed=seed), player) > 0.1
    assert lacking(tree, policy, player) < 0.01
    theirs = np.repeat(tree.infoset_player != player, tree.num_actions)
    assert (policy.probabilities[theirs] == opponents.probabilities[theirs]).all()


def test_three_players_and_leduc(leduc):
    tree = game_tree("kuhn_poker(players=3)")
    for player in range(3):
        result = cp.solve(
            tree, cp.algorithms.OnlineOutcomeSampling(player=player), iterations=100_000
        )
        assert lacking(tree, result.policy, player) < 0.02
    result = cp.solve(leduc, cp.algorithms.OnlineOutcomeSampling(player=1), iterations=1_000_000)
    assert lacking(leduc, cp.uniform_policy(leduc), 1) > 2.0
    assert lacking(leduc, result.policy, 1) < 0.3


def test_opponents_from_a_file(kuhn, tmp_path):
    opponents = cp.solve(kuhn, cp.algorithms.CFRPlus(), iterations=100).policy
    opponents.save(tmp_path / "kuhn.policy")
    from_file = cp.load_algorithm(
        "online_outcome_sampling", player=1, opponents=str(tmp_path / "kuhn.policy")
    )
    given = cp.algorithms.OnlineOutcomeSampling(player=1, opponents=opponents)
    policies = [cp.solve(kuhn, a, iterations=500).policy.probabilities for a in (from_file, given)]
    assert (policies[0] == policies[1]).all()


def test_only_own_episodes_count():
    """One episode by hand: two own decisions, uniform play, utility 3."""
    learner = cp.algorithms.OnlineLearner(epsilon=0.5, seed=0)
    first = learner.act("start", ["a", "b"])
    second = learner.act("later", ["x", "y", "z"])
    learner.finish(3.0)
    sampled = 1 / 2 * 1 / 3
    gain = 1 / 3 * 3.0 / sampled  # own(ha', z) u(z) / Q(z) at the first decision
    expected = np.full(2, -gain / 2)
    expected[first] += gain
    np.testing.assert_allclose(learner.regret["start"], expected)
    expected = np.full(3, -3.0 / sampled / 3)
    expected[second] += 3.0 / sampled
    np.testing.assert_allclose(learner.regret["later"], expected)
    np.testing.assert_allclose(learner.average("start"), [0.5, 0.5])
    assert not learner.path


def test_a_learner_in_a_world_of_its_own(kuhn):
    """It plays Kuhn poker against an opponent whose policy it never sees."""
    game, opponents = cp.games.KuhnPoker(), cp.random_policy(kuhn, seed=4)
    learner, rng = cp.algorithms.OnlineLearner(seed=1), np.random.default_rng(2)
    for _ in range(20_000):
        state = game.initial_state()
        while (player := game.player(state)) != cp.TERMINAL:
            actions = game.actions(state) if player >= 0 else []
            if player == 0:
                action = actions[learner.act(game.infoset_key(state, 0), actions)]
            elif player == 1:
                row = opponents[1, game.infoset_key(state, 1)]
                action = actions[rng.choice(len(actions), p=list(row.values()))]
            else:
                outcomes, weights = zip(*game.chance_outcomes(state), strict=True)
                action = outcomes[rng.choice(len(outcomes), p=weights)]
            state = game.next_state(state, action)
        learner.finish(game.utilities(state)[0])
    learned = opponents.probabilities.copy()
    for key in learner.regret:
        infoset = kuhn.find_infoset(key, 0)
        learned[slice(*kuhn.offset[infoset : infoset + 2])] = learner.average(key)
    policy = cp.Policy(kuhn, learned)
    assert lacking(kuhn, policy, 0) < 0.05 < 0.1 < lacking(kuhn, opponents, 0)


def test_wrong_use(kuhn):
    with pytest.raises(cp.ConfigError, match="player is 2, must be from 0 to 1"):
        cp.algorithms.OnlineOutcomeSampling(player=2).init(kuhn)
    with pytest.raises(cp.RunError, match="there is no file"):
        cp.algorithms.OnlineOutcomeSampling(opponents="nowhere.policy").init(kuhn)
    given = cp.algorithms.OnlineOutcomeSampling(opponents=cp.uniform_policy(kuhn))
    with pytest.raises(cp.ConfigError, match="opponents need a tree"):
        cp.solve(cp.RulesArena(cp.games.KuhnPoker()), given)
    with pytest.raises(cp.ConfigError, match="epsilon is 0, must be positive"):
        cp.algorithms.OnlineLearner(epsilon=0)
    other = cp.uniform_policy(game_tree("leduc_poker"))
    with pytest.raises(cp.ConfigError, match="the policy is for leduc_poker, not for kuhn_poker"):
        cp.algorithms.OnlineOutcomeSampling(opponents=other).init(kuhn)
