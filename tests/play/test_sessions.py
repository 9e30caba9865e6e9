"""Episodes of a person against an agent."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.tree.policy_analysis import PolicyAnalysis
from counterplay.play.sessions import InteractiveEpisode, PlayScore, TreeEvaluator


class FirstActionAgent:
    """An agent that always takes the first or the last legal action."""

    def __init__(self, game, index):
        self.game, self.index = game, index

    def action_probabilities(self, state, player):
        probabilities = [0.0] * len(self.game.actions(state))
        probabilities[self.index] = 1.0
        return probabilities


@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker"])
@pytest.mark.parametrize("index", [0, -1])
def test_interactive_episode_equals_episode_of_two_agents(spec, index):
    game = cp.load_game(spec)
    opponent = cp.uniform_policy(game)
    for seat in range(game.num_players):
        agents = [opponent] * game.num_players
        agents[seat] = FirstActionAgent(game, index)
        for number in range(5):
            expected = cp.play_episode(game, agents, seed=3, episode=number)
            episode = InteractiveEpisode(game, seat, opponent, seed=3, number=number)
            while not episode.is_over:
                episode.take_action(range(len(episode.actions))[index])
            assert episode.steps == expected.steps
            assert list(episode.utilities()) == list(expected.utilities)


def test_ev_loss_is_zero_for_best_actions_and_positive_for_others():
    tree = cp.build_tree("kuhn_poker")
    policy = cp.solve(tree, "cfr_plus", iterations=100).policy
    evaluator = TreeEvaluator(PolicyAnalysis(tree, policy, ""))
    worst_losses = []
    for seed in range(10):
        best = InteractiveEpisode(tree.game, 0, policy, seed, evaluator=evaluator)
        while not best.is_over:
            assert best.take_action(int(best.action_values().argmax())).ev_loss == 0.0
        assert best.total_ev_loss() == 0.0
        worst = InteractiveEpisode(tree.game, 0, policy, seed, evaluator=evaluator)
        while not worst.is_over:
            values = worst.action_values()
            decision = worst.take_action(int(values.argmin()))
            assert decision.ev_loss == pytest.approx(np.ptp(values))
            assert decision.best_index == int(values.argmax())
        worst_losses.append(worst.total_ev_loss())
    assert max(worst_losses) > 0.5


def test_decisions_without_an_evaluator_have_no_loss():
    game = cp.load_game("kuhn_poker")
    episode = InteractiveEpisode(game, 0, cp.uniform_policy(game), seed=0)
    decision = episode.take_action(1)
    assert decision.ev_loss is None and decision.best_index == 1
    assert episode.total_ev_loss() == 0.0


def test_wrong_seats_and_actions_are_errors():
    game = cp.load_game("kuhn_poker")
    opponent = cp.uniform_policy(game)
    with pytest.raises(cp.ConfigError, match="seat is 2, must be from 0 to 1"):
        InteractiveEpisode(game, 2, opponent, seed=0)
    episode = InteractiveEpisode(game, 0, opponent, seed=0)
    with pytest.raises(cp.ConfigError, match="there is no action 2 here, only 0 to 1"):
        episode.take_action(2)
    while not episode.is_over:
        episode.take_action(1)
    with pytest.raises(cp.ConfigError, match="the episode is over"):
        episode.take_action(0)


class BrokenKuhn(cp.games.KuhnPoker):
    """Kuhn poker whose rules fail after an action of player 1."""

    def next_state(self, state, action):
        if self.player(state) == 1:
            raise ValueError("the deck is empty")
        return super().next_state(state, action)


def test_errors_of_rules_name_the_whole_history():
    opponent = cp.uniform_policy(cp.load_game("kuhn_poker"))
    episode = InteractiveEpisode(BrokenKuhn(), 0, opponent, seed=0)
    with pytest.raises(cp.GameError, match=r"the deck is empty; history: deal \d, deal \d, pass$"):
        episode.take_action(0)


def test_score_adds_episodes():
    score = PlayScore()
    assert score.mean_utility == 0.0
    score.add_episode(2.0, 0.25)
    score.add_episode(-1.0, 0.5)
    assert (score.num_episodes, score.utility, score.ev_loss) == (2, 1.0, 0.75)
    assert score.mean_utility == 0.5
