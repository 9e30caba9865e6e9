"""Walks of sampled boards against walks of the whole game, for arbitrary policies."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.hand_rows import make_hand_rows
from counterplay.arenas.holdem.public_chance import (
    PublicChanceSampler,
    new_tables,
    sampling_probabilities,
    systematic_sample,
)
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.runtime.threads import set_num_threads

GAMES = {
    "flop of three": (
        "custom_holdem(num_ranks=4,num_suits=3,board_cards=(0,3),stacks=(20,20),betting=limit,"
        "sizes='2,2',max_bets=(2,2))"
    ),
    "one card": (
        "custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,board_cards=(0,1),blinds=(0,0),"
        "ante=1,stacks=(5,5),sizes='1',max_bets=(1,),openers=(0,))"
    ),
    "flushes": "custom_holdem(num_ranks=6,num_suits=2,board_cards=(0,3),stacks=(7,7),sizes='a')",
}


@pytest.fixture(scope="module", params=GAMES)
def sampler(request):
    arena = HoldemGameArena(cp.load_game(GAMES[request.param]), "float64")
    return PublicChanceSampler(arena, make_hand_rows(arena))


def random_policies(sampler, seed=0):
    """Policies of both rounds by regret matching of random numbers, as of any network."""
    rng, rows = np.random.default_rng(seed), sampler.rows
    sizes = [(sampler.first_round, rows.num_kinds), (sampler.second_round, rows.num_rows)]
    return [
        sampler.match_regrets(rng.normal(size=(lines.num_lines, size)), lines)
        for lines, size in sizes
    ]


def exact_regrets(sampler, policies, player):
    """Regrets of a walk of the whole game, by street: [C, hands] and [C, boards, hands], chips."""
    arena = sampler.arena
    table = sampler.make_policy(*policies).weights
    tables = new_tables(arena.num_sequences, np.float64)._replace(policy_weights=table)
    arena.walk(player, tables, street_walk.MODE_LEARN)
    unit = arena.num_hands(0)
    parts = [], []
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            street = node.state.street
            pieces = np.array(
                [
                    tables.regret[arena.piece_slice(number, board)]
                    for board in range(arena.streets[street].num_boards)
                ]
            ).reshape(-1, len(node.actions), arena.num_hands(street))
            parts[street].append(pieces.transpose(1, 0, 2) * unit)
    first, second = (np.concatenate(part) for part in parts)
    return first[:, 0], second / arena.street_boards[1].chance


def row_means(sampler, regret):
    """Means [C, R] of regrets [C, boards, hands] over the hands of each row."""
    rows, columns = sampler.rows, []
    for board, numbers in enumerate(rows.row_of_hand):
        for row in range(rows.first[board + 1] - rows.first[board]):
            columns.append(regret[:, board, numbers == row].mean(axis=1))
    return np.array(columns).T


def all_boards(sampler):
    count = sampler.board_weight.size
    return sampler.sample(np.arange(count), np.ones(count))


def test_regrets_on_all_boards_are_those_of_the_whole_game(sampler):
    policies, sample = random_policies(sampler), all_boards(sampler)
    regret = np.zeros((sampler.second_round.num_lines, sampler.rows.num_rows))
    for player in (0, 1):
        values = sampler.second_round_regrets(player, *policies, sample, regret)
        first = sampler.first_round_regrets(player, values.sum(axis=0, dtype=float))
        exact_first, exact_second = exact_regrets(sampler, policies, player)
        own = sampler.first_round.line_player == player
        on_hands = first[:, sampler.rows.kind_of_hand]
        np.testing.assert_allclose(on_hands[own], exact_first[own], atol=1e-5)
        assert not first[~own].any()
        own = sampler.second_round.line_player == player
        means = row_means(sampler, exact_second)
        assert np.abs(means[own]).max() > 0.01
        np.testing.assert_allclose(regret[own], means[own], atol=1e-9)


def test_sampled_boards_have_the_regrets_of_the_whole_game_in_expectation(sampler):
    """Every sample has its boards' exact regrets; estimated deal values have the exact mean."""
    policies, whole = random_policies(sampler, 3), all_boards(sampler)
    shape = sampler.second_round.num_lines, sampler.rows.num_rows
    probabilities = sampling_probabilities(sampler.board_weight, shape[1] // 40 + 2, 0.5)
    starts = np.linspace(0.0, 1.0, 2001)[:-1] + 0.00025
    inclusion, estimate = np.zeros(probabilities.size), 0.0
    exact = np.zeros(shape)
    values = sampler.second_round_regrets(0, *policies, whole, exact)
    for start in starts:  # all samples: a sample is a function of one random number
        boards = systematic_sample(_Fixed(start), probabilities)
        inclusion[boards] += 1.0 / starts.size
        estimate += (values[boards] / probabilities[boards, None, None]).sum(0) / starts.size
    np.testing.assert_allclose(inclusion, probabilities, atol=2e-3)
    total = values.sum(axis=0, dtype=float)
    np.testing.assert_allclose(estimate, total, atol=0.02 * np.abs(total).max())
    boards = systematic_sample(np.random.default_rng(1), probabilities)
    sample = sampler.sample(boards, probabilities)
    part = np.zeros((shape[0], sample.row.size))
    part_values = sampler.second_round_regrets(
        0, policies[0], np.ascontiguousarray(policies[1][:, sample.row]), sample, part
    )
    own = sampler.second_round.line_player == 0
    np.testing.assert_array_equal(part[own], exact[own][:, sample.row])
    np.testing.assert_array_equal(part_values, values[sample.board])


class _Fixed:
    """A random generator whose next number is known."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


def test_sampling_probabilities_sum_to_the_size_and_stay_below_one():
    weights = np.array([0.7, 0.1, 0.1, 0.05, 0.05])
    result = sampling_probabilities(weights, 3, 1.0)
    assert result.sum() == pytest.approx(3.0)
    np.testing.assert_allclose(result, [1.0, 2 / 3, 2 / 3, 1 / 3, 1 / 3])
    np.testing.assert_array_equal(sampling_probabilities(weights, 5, 0.5), np.ones(5))


def test_own_reach_is_the_product_of_the_players_own_probabilities(sampler):
    """Sums of reach are those of the arena's own average, which its walks compute by hand."""
    arena, rows = sampler.arena, sampler.rows
    policies, sample = random_policies(sampler, 5), all_boards(sampler)
    table = sampler.make_policy(*policies).weights
    tables = new_tables(arena.num_sequences, np.float64)._replace(
        policy_weights=table,
        policy_sum=np.zeros((1, arena.num_sequences)),
        policy_sum_scale=np.zeros((1, 0), np.float32),
        sum_decay=np.zeros(1),
        sum_weight=np.ones(1),
    )
    deal_reach = sampler.reach_at_deals(policies[0])
    for player in (0, 1):
        arena.walk(player, tables, street_walk.MODE_LEARN)
        lines = sampler.second_round.lines_of(player)
        reach = sampler.own_reach(policies[1], deal_reach[player], sample.kind, lines)
        expected = sampler.make_policy(
            np.zeros((sampler.first_round.num_lines, rows.num_kinds)),
            np.where(np.isin(np.arange(len(reach)), lines)[:, None], reach, 0.0),
        ).weights
        for number, node in enumerate(arena.betting.nodes):
            if node.kind == player and node.state.street == 1:
                for board in range(sampler.board_weight.size):
                    piece = arena.piece_slice(number, board)
                    np.testing.assert_allclose(tables.policy_sum[0][piece], expected[piece])


def test_regrets_do_not_depend_on_the_number_of_threads(sampler):
    policies, sample = random_policies(sampler, 7), all_boards(sampler)
    results = []
    for threads in (1, 2):
        set_num_threads(threads)
        regret = np.zeros((sampler.second_round.num_lines, sampler.rows.num_rows))
        values = sampler.second_round_regrets(0, *policies, sample, regret)
        results.append((regret, values))
    set_num_threads(None)
    np.testing.assert_array_equal(results[0][0], results[1][0])
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_judging_board_by_board_equals_judging_the_table_of_all_hands(sampler):
    rng, arena = np.random.default_rng(4), sampler.arena
    weights = [policy * rng.choice([0.0, 3.0], policy.shape) for policy in random_policies(sampler)]
    policy = sampler.make_policy(*weights)
    judged = {}
    for threads in (1, 3):
        set_num_threads(threads)
        try:
            judged[threads] = cp.judge(arena, policy)
        finally:
            set_num_threads(None)
    assert "weights" not in vars(policy)  # no table was made
    table = HoldemPolicy(arena, policy.weights, policy.weights[:0])
    expected = cp.judge(arena, table)
    assert expected.exploitability > 0.01
    for judgement in judged.values():
        np.testing.assert_allclose(judgement.values, expected.values, atol=1e-9)
        np.testing.assert_allclose(judgement.best_values, expected.best_values, atol=1e-9)


def test_policies_of_rows_keep_to_locks_and_are_saved(sampler, tmp_path):
    policy = sampler.make_policy(*random_policies(sampler))
    free = cp.judge(sampler.arena, policy)
    locked = HoldemGameArena(sampler.arena.game, "float64")
    node = next(n for n, info in enumerate(locked.betting.nodes) if info.kind == 0)
    count = len(locked.betting.nodes[node].actions)
    locked.lock(node, 0, np.eye(count)[-1][:, None] * np.ones(locked.num_hands(0)))
    own = PublicChanceSampler(locked, sampler.rows).make_policy(*random_policies(sampler))
    assert cp.judge(locked, own).values[0] != pytest.approx(free.values[0])
    policy.save(tmp_path / "rows.policy")
    again = cp.holdem.load_holdem_policy(tmp_path / "rows.policy")
    assert cp.judge(again).best_values == pytest.approx(free.best_values, abs=1e-2)
