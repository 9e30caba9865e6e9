"""Matches over ranges of hands: conditional means, corrections, logs."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.cards import ALL_HANDS, parse_cards
from counterplay.errors import ConfigError, FileError
from counterplay.games.holdem_base import hand_strength
from counterplay.play.local_best_response import PUBLISHED_SETTINGS, LocalBestResponse
from counterplay.play.poker.range_match import (
    RangeMatch,
    disjoint_mass,
    play_response,
    showdown_sums,
)
from tests.play.poker.class_buckets import (
    game_with_buckets,
    random_policy,
    use_class_buckets,
)

BOARD = parse_cards("Td9d6hQc2s")


@pytest.fixture(scope="module")
def agents(class_game):
    return random_policy(class_game, 1), random_policy(class_game, 2)


@pytest.fixture(scope="module")
def game(class_game):
    return class_game.full_game


def test_showdown_sums_equal_enumeration():
    rng = np.random.default_rng(0)
    opponent = np.where(rng.random(1326) < 0.02, rng.random(1326), 0.0)
    opponent[[bool(set(hand) & set(BOARD)) for hand in ALL_HANDS]] = 0.0
    sums = showdown_sums(BOARD, opponent, exact=True)
    strengths = {h: hand_strength((*ALL_HANDS[h], *BOARD)) for h in np.flatnonzero(opponent)}
    for hand in [0, 100, 700, 1325]:
        won = faced = 0.0
        for other in np.flatnonzero(opponent):
            if not set(ALL_HANDS[hand]) & {*ALL_HANDS[other], *BOARD}:
                own = hand_strength((*ALL_HANDS[hand], *BOARD))
                won += opponent[other] * (
                    1.0 if own > strengths[other] else 0.5 * (own == strengths[other])
                )
                faced += opponent[other]
        assert (sums.won[hand], sums.faced[hand]) == pytest.approx((won, faced))


def test_masses_equal_enumeration():
    weights = np.random.default_rng(1).random(1326)
    mass = disjoint_mass(weights)
    for hand in (0, 500, 1325):
        others = [
            w
            for other, w in zip(ALL_HANDS, weights, strict=True)
            if not set(other) & set(ALL_HANDS[hand])
        ]
        assert mass[hand] == pytest.approx(sum(others))


def test_turn_sums_are_means_over_rivers():
    opponent = np.ones(1326)
    opponent[[bool(set(hand) & set(BOARD[:4])) for hand in ALL_HANDS]] = 0.0
    sums = showdown_sums(BOARD[:4], opponent, exact=True)
    hand = ALL_HANDS.index(tuple(sorted(parse_cards("AsAh"))))
    equity = cp.holdem.compute_equity("AsAh", "random", "Td9d6hQc").value
    assert sums.won[hand] / sums.faced[hand] == pytest.approx(equity, abs=1e-9)


def test_estimates_agree_and_averages_vary_less(game, agents):
    """Differences of the estimates have mean zero: within four standard errors of it."""
    match = RangeMatch(game, agents, seed=5)
    for _ in match.play(60):
        pass
    rows = np.array(list(match.deals.values()))
    for column in (1, 2):
        difference = rows[:, column] - rows[:, 0]
        assert abs(difference.mean()) < 4.0 * difference.std() / len(rows) ** 0.5
    result = match.result()
    assert result.num_deals == 60
    assert result.averaged.deviation < result.plain.deviation
    assert result.aivat.deviation < result.plain.deviation


def test_an_agent_without_hand_policy_counts_with_its_hand(game, agents):
    class Caller:
        def action_probabilities(self, state, player):
            return [float(action == 1) for action in game.actions(state)]

    match = RangeMatch(game, [agents[0], Caller()], seed=1)
    plain, averaged, _ = match.play_deal(0)
    assert np.isfinite([plain, averaged]).all()
    with pytest.raises(ConfigError, match="policy is known for every hand"):
        RangeMatch(game, [Caller(), Caller()])


def test_a_log_continues_the_match(game, agents, tmp_path):
    log = tmp_path / "deals.jsonl"
    whole = RangeMatch(game, agents, 3, with_corrections=False)
    assert list(whole.play(4)) == [0, 1, 2, 3]
    first = RangeMatch(game, agents, 3, log, with_corrections=False)
    assert list(first.play(4, step=2)) == [0, 2]
    with log.open("a") as file:
        file.write('{"seed": 3, "de')  # interrupted
    log.write_text(log.read_text().rpartition("\n")[0] + "\n")
    second = RangeMatch(game, agents, 3, log, with_corrections=False)
    assert list(second.play(4)) == [1, 3]
    assert second.deals == whole.deals
    with pytest.raises(ConfigError, match="a match with seed 3"):
        RangeMatch(game, agents, 4, log)
    log.write_text("nothing\nmore\n")
    with pytest.raises(FileError, match="line 1: not the log of a match"):
        RangeMatch(game, agents, 3, log)


def test_other_games_are_refused(agents):
    with pytest.raises(ConfigError, match="is for two-player hold'em"):
        RangeMatch(cp.load_game("no_limit_holdem(players=3)"), agents)


def test_local_best_response_meets_the_range_of_the_agent(game, agents):
    """Winnings are those of a match over ranges, and of chips for agents without ranges."""
    config = PUBLISHED_SETTINGS["fold_call"]
    response = LocalBestResponse(game, agents[0], config)
    match = RangeMatch(game, [response, agents[0]], seed=3)
    for _ in match.play(3):
        pass
    numbers = []
    estimate = play_response(response, 3, 3, numbers.append)
    assert estimate == match.result().aivat and numbers == [1, 2, 3]
    response = LocalBestResponse(game, cp.TabularPolicy(game), config)
    numbers.clear()
    chips = play_response(response, 2, 3, numbers.append)
    assert numbers == [1, 2]  # deals, not hands
    assert chips.deviation > 0.0 and chips.mean == round(2 * chips.mean) / 2


def test_networks_play_buckets_with_all_their_hands():
    """Networks count with their range, so that the estimates vary less; their means agree."""
    game = cp.load_game("limit_holdem")
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        buckets = random_policy(game_with_buckets("limit_holdem"))
        method = cp.load_algorithm("ppo(encoding=cards_up_to_suits,hidden_sizes=(8,))")
        rules = cp.RulesArena(game)
        network = method.policies(rules, method.init(rules, 0))["current"]
        match = RangeMatch(game, [network, buckets], seed=2)
        for _ in match.play(30):
            pass
    assert all(hasattr(agent, "hand_policy") for agent in match.agents)
    rows = np.array(list(match.deals.values()))
    for column in (1, 2):
        difference = rows[:, column] - rows[:, 0]
        assert abs(difference.mean()) < 4.0 * difference.std() / len(rows) ** 0.5
    result = match.result()
    assert result.aivat.deviation < result.averaged.deviation < result.plain.deviation
