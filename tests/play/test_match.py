"""Episodes and head-to-head matches, against enumeration and against the exact values."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterplay as cp
from counterplay.core.game import CHANCE, TERMINAL, DrawnGame
from counterplay.play.episodes import RandomStreams, play_from, sample_index
from counterplay.play.match import ExactMean, Match
from tests.conftest import game_tree
from tests.random_games import RandomGame, random_games


def enumerate_values(game, seats, state=None):
    """Expected utilities of all players, by recursion over the rules."""
    state = game.initial_state() if state is None else state
    player = game.player(state)
    if player == TERMINAL:
        return np.array(game.utilities(state))
    if player == CHANCE:
        pairs = game.chance_outcomes(state)
    else:
        pairs = zip(
            game.actions(state), seats[player].action_probabilities(state, player), strict=True
        )
    return sum(p * enumerate_values(game, seats, game.next_state(state, a)) for a, p in pairs)


def means(standings):
    return np.array([[seat.mean for seat in row] for row in standings.seat_scores])


@given(random_games(max_players=3), st.integers(0, 10**6))
@settings(max_examples=30)
def test_two_on_a_tree_earn_what_enumeration_says(game, seed):
    tree = cp.build_tree(game)
    first, second = (cp.random_policy(tree, seed + k) for k in range(2))
    count = game.num_players
    if count == 1:
        with pytest.raises(cp.ConfigError, match=r"2 agents cannot play .* for 1; give one"):
            cp.head_to_head(tree, first, second)
        return
    result = cp.head_to_head(tree, first, second)
    values = [
        enumerate_values(game, [first if seat == own else second for seat in range(count)])
        for own in range(count)
    ]
    wanted = [values[own][own] for own in range(count)]
    others = [
        np.mean([values[own][seat] for own in range(count) if own != seat]) for seat in range(count)
    ]
    assert means(result) == pytest.approx(np.array([wanted, others]), abs=1e-9)
    totals = [score.mean for score in result.scores]
    assert totals == pytest.approx([np.mean(wanted), np.mean(others)], abs=1e-9)
    assert result.is_exact and all(isinstance(score, ExactMean) for score in result.scores)


@given(random_games(max_players=3), st.integers(0, 10**6))
@settings(max_examples=15)
def test_one_for_each_seat_in_all_orders(game, seed):
    tree = cp.build_tree(game)
    count = game.num_players
    policies = [cp.random_policy(tree, seed + k) for k in range(count)]
    if count == 2:
        policies.reverse()  # two agents: the same either way
    result = means(cp.head_to_head(tree, *policies))
    for agent in range(count):
        for seat in range(count):
            values = [
                enumerate_values(game, [policies[c] for c in order])[seat]
                for order in permutations(range(count))
                if order[seat] == agent
            ]
            assert result[agent, seat] == pytest.approx(np.mean(values), abs=1e-9)


def test_the_order_of_agents_only_orders_the_result(leduc):
    first, second = cp.random_policy(leduc, 1), cp.random_policy(leduc, 2)
    for arena in (leduc, leduc.game):
        one = means(cp.head_to_head(arena, first, second, max_episodes=200))
        other = means(cp.head_to_head(arena, second, first, max_episodes=200))
        assert one == pytest.approx(other[::-1], abs=1e-12)


@pytest.mark.parametrize(
    ("spec", "options"),
    [
        ("kuhn_poker", {"max_episodes": 120}),
        ("kuhn_poker", {"target_width": 0.3}),
        ("kuhn_poker(players=3)", {"target_width": 0.5}),
        ("leduc_poker", {"max_episodes": 100}),
    ],
)
def test_intervals_cover_the_exact_value_as_often_as_stated(spec, options):
    tree, tries = game_tree(spec), 100
    first, second = cp.random_policy(tree, 3), cp.uniform_policy(tree)
    true = cp.head_to_head(tree, first, second).scores[0].mean
    covered = 0
    for seed in range(tries):
        result = cp.head_to_head(tree.game, first, second, seed=seed, confidence=0.8, **options)
        score = result.scores[0]
        covered += score.low <= true <= score.high
        assert score.high - score.low <= options.get("target_width", 9.9)
    assert 68 <= covered <= 93  # 80, with three standard deviations


def test_estimates_of_seats_cover_too(kuhn):
    first, second = cp.random_policy(kuhn, 5), cp.random_policy(kuhn, 6)
    true = means(cp.head_to_head(kuhn, first, second))
    result = cp.head_to_head(kuhn.game, first, second, max_episodes=6000)
    assert result.scores[0].num_episodes == result.num_episodes == 6000
    for row, wanted in zip(result.seat_scores, true, strict=True):
        for seat, value in zip(row, wanted, strict=True):
            assert seat.num_episodes == 3000
            assert abs(seat.mean - value) < 4.0 * seat.standard_error


def test_agents_that_play_alike_get_alike(leduc):
    """Random numbers belong to seats: the same policy in both seats earns exactly 0."""
    policy = cp.random_policy(leduc, 1)
    result = cp.head_to_head(
        leduc.game, policy, cp.Policy(leduc, policy.probabilities), max_episodes=80
    )
    assert [score.mean for score in result.scores] == [0.0, 0.0]
    assert result.scores[0].standard_error == 0.0
    assert result.seat_scores[0][0].standard_error > 0.0
    assert result.scores[0].low < 0.0 < result.scores[0].high  # what was never met may differ


def test_the_same_luck_for_both_reduces_the_variance(leduc):
    """Against the variance that independent episodes in both seats would have."""
    first, second = cp.random_policy(leduc, 1), cp.uniform_policy(leduc)
    result = cp.head_to_head(leduc.game, first, second, max_episodes=2000)
    alone = sum(seat.standard_error**2 for seat in result.seat_scores[0]) / 4.0
    assert result.scores[0].standard_error ** 2 < 0.75 * alone
    assert result.scores[0].mean == pytest.approx(-result.scores[1].mean, abs=1e-12)  # zero-sum


def test_rare_differences_are_not_taken_for_none(kuhn):
    """Policies that differ in few rounds: the interval allows for unseen differences."""
    often = cp.random_policy(kuhn, 1)
    other = cp.Policy(
        kuhn, 0.98 * often.probabilities + 0.02 * cp.random_policy(kuhn, 2).probabilities
    )
    true = cp.head_to_head(kuhn, often, other).scores[0].mean
    covered = same = 0
    for seed in range(60):
        score = cp.head_to_head(kuhn.game, often, other, max_episodes=60, seed=seed).scores[0]
        covered += score.low <= true <= score.high
        same += score.standard_error == 0.0
    assert same > 10
    assert covered > 54


def test_winning_always_so_far_is_not_certainty():
    game = cp.load_game("tic_tac_toe")
    strong = cp.search.SearchAgent(game, cp.search.AlphaBeta(max_depth=3))
    score = cp.head_to_head(game, strong, cp.TabularPolicy(game), max_episodes=8).scores[0]
    assert score.low < score.mean


def test_same_seed_gives_the_same_result_after_other_matches(leduc):
    policies = cp.random_policy(leduc, 1), cp.random_policy(leduc, 2)
    first = cp.head_to_head(leduc.game, *policies, max_episodes=100, seed=7)
    assert cp.head_to_head(leduc.game, *policies, max_episodes=101, seed=7) == first
    assert cp.head_to_head(leduc.game, *policies, max_episodes=100, seed=8) != first
    match = Match(leduc.game, policies, seed=7)
    for k, _ in enumerate(match.play(max_episodes=100), 1):
        assert match.num_episodes == 2 * k
    assert match.result() == first


def test_draws_of_one_do_not_depend_on_the_others():
    one, other = RandomStreams(3, 5), RandomStreams(3, 5)
    chance = [one(CHANCE) for _ in range(5)]
    mixed = [(other(0), other(CHANCE), other(1))[1] for _ in range(5)]
    assert chance == mixed
    firsts = {
        RandomStreams(seed, t)(p) for seed in range(9) for t in range(9) for p in range(-1, 4)
    }
    assert len(firsts) == 9 * 9 * 5
    sample = [RandomStreams(1, t)(0) for t in range(4000)]
    assert np.mean(sample) == pytest.approx(0.5, abs=0.02)
    assert np.corrcoef(sample, [RandomStreams(1, t)(1) for t in range(4000)])[0, 1] < 0.06


@given(st.lists(st.sampled_from([0.0, 0.0, 1e-300, 0.1, 0.3, 1.0]), min_size=1, max_size=6))
def test_nothing_impossible_is_drawn(odds):
    if sum(odds) == 0.0:
        return
    for number in (0.0, 0.25, 0.5, 1.0 - 2.0**-53):
        assert odds[sample_index(odds, number)] > 0.0


def test_an_episode_by_its_steps():
    game = RandomGame(seed=4, num_players=3, max_depth=5)
    uniform = cp.TabularPolicy(game)
    for number in range(20):
        episode = cp.play_episode(game, [uniform] * 3, seed=1, episode=number)
        assert cp.play_episode(game, [uniform] * 3, seed=1, episode=number) == episode
        state = game.initial_state()
        for step in episode.steps:
            assert (step.state, step.player) == (state, game.player(state))
            assert step.action in step.actions
            state = game.next_state(state, step.action)
        assert (episode.terminal_state, list(episode.utilities)) == (state, game.utilities(state))


def test_an_open_seat_stops_play(kuhn):
    game, policy = kuhn.game, cp.uniform_policy(kuhn)
    steps, state = play_from(game, game.initial_state(), [policy, None], RandomStreams(0, 0))
    assert [step.player for step in steps] == [CHANCE, CHANCE, 0]
    assert game.player(state) == 1


def test_policies_that_miss_infosets_play_uniformly_there(kuhn, tmp_path):
    game = kuhn.game
    some = cp.TabularPolicy(game, {(0, "2"): {"pass": 0.0, "bet": 1.0}})
    on_tree = some.tabulate(kuhn)
    exact = cp.head_to_head(kuhn, some, cp.TabularPolicy(game))
    assert means(exact) == pytest.approx(
        means(cp.head_to_head(kuhn, on_tree, cp.uniform_policy(kuhn)))
    )
    rules = cp.head_to_head(game, some, cp.TabularPolicy(game), max_episodes=300)
    assert rules == cp.head_to_head(game, on_tree, cp.uniform_policy(kuhn), max_episodes=300)
    for policy in (some, on_tree):
        policy.save(tmp_path / "some.policy")
        again = cp.load_tabular_policy(tmp_path / "some.policy", game)
        assert cp.head_to_head(game, again, cp.TabularPolicy(game), max_episodes=300) == rules
    with pytest.raises(cp.RunError, match=r"is a policy for kuhn_poker, not for kuhn_poker\(play"):
        cp.load_tabular_policy(tmp_path / "some.policy", cp.load_game("kuhn_poker(players=3)"))


def test_policies_of_a_tree_from_a_file_play_too(kuhn, tmp_path):
    kuhn.save(tmp_path / "kuhn.tree")
    tree = cp.load_tree(tmp_path / "kuhn.tree")
    policy = cp.random_policy(tree, 1)
    result = cp.head_to_head(kuhn.game, policy, cp.uniform_policy(tree), max_episodes=20)
    assert result == cp.head_to_head(
        kuhn.game, cp.random_policy(kuhn, 1), cp.uniform_policy(kuhn), max_episodes=20
    )


@dataclass(frozen=True)
class Says:
    answer: tuple[float, ...]

    def action_probabilities(self, state, player):
        return self.answer


@pytest.mark.parametrize("answer", [(), (1.0,), (0.5, 0.6), (1.5, -0.5), (np.nan, 1.0), (0.0, 0.0)])
def test_answers_that_are_no_odds(kuhn, answer):
    with pytest.raises(
        cp.ConfigError, match=r"kuhn_poker|KuhnPoker: Says answers .*; history: deal"
    ):
        cp.head_to_head(kuhn.game, Says(answer), cp.uniform_policy(kuhn))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_episodes": 1}, "max_episodes is 1, must be at least 2: one for every seating"),
        ({"target_width": 0.0}, "target_width is 0.0, must be positive"),
        ({"target_width": float("nan")}, "target_width is nan"),
        ({"confidence": 1.0}, "confidence is 1.0, must be between 0 and 1"),
    ],
)
def test_settings_that_make_no_sense(kuhn, options, message):
    policy = cp.uniform_policy(kuhn)
    with pytest.raises(cp.ConfigError, match=message):
        cp.head_to_head(kuhn.game, policy, policy, **options)


def test_numbers_of_agents(kuhn, leduc):
    policy = cp.uniform_policy(kuhn)
    with pytest.raises(cp.ConfigError, match="3 agents cannot play kuhn_poker, a game for 2"):
        cp.head_to_head(kuhn, policy, policy, policy)
    three = game_tree("kuhn_poker(players=3)")
    with pytest.raises(cp.ConfigError, match="give two, or one for each seat"):
        cp.head_to_head(three.game, *[cp.uniform_policy(three)] * 4)
    game = cp.load_game("kuhn_poker(players=7)")
    with pytest.raises(cp.ConfigError, match="too many orders"):
        cp.head_to_head(game, *[cp.TabularPolicy(game)] * 7)
    with pytest.raises(cp.ConfigError, match="1 agents for 2 seats"):
        cp.play_episode(kuhn.game, [policy])
    with pytest.raises(cp.ConfigError, match="the policy is for kuhn_poker, not for leduc_poker"):
        cp.head_to_head(leduc, policy, cp.uniform_policy(leduc))


def test_a_single_agent_plays_all_seats(kuhn):
    result = cp.head_to_head(kuhn, cp.uniform_policy(kuhn))
    values = [score.mean for score in result.seat_scores[0]]
    np.testing.assert_allclose(values, cp.expected_values(kuhn, cp.uniform_policy(kuhn)))
    assert abs(result.scores[0].mean) < 1e-12


class Endless(RandomGame):
    def player(self, state):
        return 0


class Biased(RandomGame):
    def player(self, state):
        return CHANCE

    def chance_outcomes(self, state):
        return [(0, 0.5), (1, 0.6)]


def test_rules_that_cannot_be_played(monkeypatch):
    monkeypatch.setattr("counterplay.play.episodes.MAX_HISTORY_LENGTH", 50)
    game = Endless(seed=1)
    with pytest.raises(cp.GameError, match="Endless: still not over after 50 actions; history: a"):
        cp.play_episode(game, [cp.TabularPolicy(game)] * 2)
    game = Biased(seed=1)
    with pytest.raises(cp.GameError, match=r"chance probabilities are \[0.5, 0.6\], not a sum"):
        cp.play_episode(game, [cp.TabularPolicy(game)] * 2)


def test_what_has_no_odds_cannot_play():
    game = cp.load_game("tic_tac_toe")
    with pytest.raises(
        cp.ConfigError, match=r"MCTS cannot play: it has no action_probabilities.*SearchAgent"
    ):
        cp.head_to_head(game, cp.search.MCTS(), cp.TabularPolicy(game))


@pytest.mark.parametrize(
    ("spec", "actions", "board"),
    [
        ("tic_tac_toe", (4, 0, 8), "o 1 2\n3 x 5\n6 7 x"),
        ("connect_four(rows=2,columns=3,x_in_row=3)", (1, 1, 2), ". o .\n. x x\n0 1 2"),
    ],
)
def test_board_games_show_their_board(spec, actions, board):
    game = cp.load_game(spec)
    state = game.initial_state()
    for action in actions:
        state = game.next_state(state, action)
    assert isinstance(game, DrawnGame)
    assert game.board(state) == board
    assert not isinstance(cp.load_game("kuhn_poker"), DrawnGame)


def test_searchers_without_luck_need_one_round():
    game = cp.load_game("tic_tac_toe")
    deep, shallow = (
        cp.search.SearchAgent(game, cp.search.AlphaBeta(max_depth=depth)) for depth in (3, 1)
    )
    result = cp.head_to_head(game, deep, shallow)
    assert result.num_episodes == 2 and not result.is_exact
    assert result.scores[0].low == result.scores[0].high == result.scores[0].mean


def test_searchers_with_luck_play_each_episode_anew():
    game = cp.load_game("connect_four(rows=3,columns=3,x_in_row=3)")
    strong, weak = (cp.search.SearchAgent(game, cp.search.MCTS(max_simulations=n)) for n in (60, 2))
    result = cp.head_to_head(game, strong, weak, max_episodes=60, seed=1)
    assert result == cp.head_to_head(game, strong, weak, max_episodes=60, seed=1)
    assert result.num_episodes == 60
    assert result.seat_scores[0][0].standard_error > 0.0
    assert result.scores[0].mean > 0.2
    alike = cp.head_to_head(game, strong, strong, max_episodes=20)
    assert alike.scores[0].mean == alike.scores[0].standard_error == 0.0
    with pytest.raises(cp.ConfigError, match="search needs perfect information"):
        cp.search.SearchAgent(cp.load_game("kuhn_poker"), cp.search.MCTS())
