"""External sampling with dense tables on the betting tree of poker with buckets."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction.betting_policy import load_betting_policy
from counterplay.algorithms.mccfr.betting_backend import BettingMemory, discount_tables
from counterplay.arenas.poker.betting_tree import build_betting_arrays
from counterplay.core.cards import hand_index
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import HoldemState
from counterplay.kernels.poker import betting_walk
from counterplay.play.poker.table_match import TableMatch
from counterplay.registry import load_abstracted_game, load_game
from tests.play.poker.class_buckets import game_with_buckets, random_policy, use_class_buckets

THREE_SEATS = (
    "poker(players=3,blinds=(50,100,0),stacks=(300,900,500),opens=(2,0,0,0),raises=(),"
    "raise_caps=(),sizes='a')"
)


@pytest.fixture(scope="module", autouse=True)
def buckets():
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        yield


def run(game, steps, **settings):
    arena = cp.RulesArena(game)
    algorithm = cp.load_algorithm("external_sampling", dense_tables=True, **settings)
    memory = algorithm.init(arena, 3)
    for count in steps:
        memory = algorithm.step(arena, memory, count)
    return arena, algorithm, memory


def test_split_steps_give_the_same_bits():
    game = game_with_buckets()
    _, _, whole = run(game, [60], linear_period=25)
    _, _, parts = run(game, [7, 20, 33], linear_period=25)
    assert (whole.regret == parts.regret).all() and (whole.policy_sum == parts.policy_sum).all()
    assert whole.nodes_touched == parts.nodes_touched > 0 and whole.iteration == 60


def test_periods_have_linear_weights():
    """With one iteration a period, the sums are those of single iterations times their numbers."""
    game = game_with_buckets()
    _, _, first = run(game, [1])
    _, _, both = run(game, [2], linear_period=1)
    _, _, equal = run(game, [2])
    second = equal.policy_sum - first.policy_sum  # the regrets of iteration 1 are only scaled
    np.testing.assert_allclose(both.policy_sum, (first.policy_sum + 2 * second) / 3, rtol=1e-5)


def test_policies_learn_to_fold_weak_hands_to_all_in():
    game = game_with_buckets("no_limit_holdem(stack=2000,sizes='a;')")
    arena, algorithm, memory = run(game, [40_000], linear_period=1000)
    policy = algorithm.policies(arena, memory)["average"]
    classes = game.buckets.board_buckets(())
    node = int(np.flatnonzero(policy.tables.tree.action == 2000)[0])  # the big blind faces all-in
    rows = policy.node_probabilities(node)
    weakest, aces = classes[cp.holdem.Range.parse("72o").weights.argmax()], classes[1325]
    assert rows[weakest, 0] > 0.9 and rows[aces, 1] > 0.9


@pytest.mark.parametrize("spec", [THREE_SEATS, "no_limit_holdem(stack=700,sizes='1,a')"])
def test_payoffs_equal_the_rules(spec):
    """All ends of the betting tree, with random cards; side pots and ties included."""
    game = load_game(spec)
    tree = build_betting_arrays(game)
    players, rng = game.num_players, np.random.default_rng(1)
    kernel_game = betting_walk.BettingGame(
        *(tree.player, tree.street, tree.first, tree.count, tree.chips, tree.left),
        *(np.zeros(1, np.int64) for _ in range(7)),
    )
    for node in np.flatnonzero(tree.player < 0).tolist():
        cards = tuple(rng.permutation(52)[: 2 * players + 5].tolist())
        left = tuple(p for p in range(players) if tree.left[node] >> p & 1)
        state = HoldemState(-2, cards, "", tuple(tree.chips[node].tolist()), left, 0, 3, 0, 100)
        board = cards[2 * players :]
        strengths = [game._strength((*game.hole_cards(state, p), *board)) for p in range(players)]
        rank = np.array([sorted(strengths).index(s) for s in strengths])
        expected = game.utilities(state)
        got = [betting_walk.payoff(kernel_game, node, p, rank) for p in range(players)]
        assert got == pytest.approx(expected)


def test_three_players_learn_and_average():
    game = game_with_buckets(THREE_SEATS)
    _, _, memory = run(game, [200])
    assert memory.policy_sum.sum() > 0.0 and np.isfinite(memory.regret).all()


def test_several_workers_run_all_iterations():
    game = game_with_buckets()
    _, _, memory = run(game, [40], num_workers=2)
    assert memory.iteration == 40 and memory.nodes_touched > 0


def test_other_games_and_options_are_refused():
    algorithm = cp.load_algorithm("external_sampling", dense_tables=True)
    with pytest.raises(ConfigError, match="perfect_recall=false"):
        algorithm.init(cp.RulesArena("leduc_poker"))
    with pytest.raises(ConfigError, match="dense_tables=true has regret matching"):
        cp.load_algorithm("external_sampling", dense_tables=True, gamma=1.0)
    with pytest.raises(ConfigError, match="linear_period needs dense_tables"):
        cp.load_algorithm("external_sampling", linear_period=10)


def expert_run(tmp_path, part, iterations=300):
    """A random policy with a file, and an expert for a part that was trained beside it."""
    game = game_with_buckets(THREE_SEATS)
    base = random_policy(game)
    base.save(tmp_path / "base.npz")
    settings = {"part": part, "outside": str(tmp_path / "base.npz")}
    arena, algorithm, memory = run(game, [iterations], **settings)
    return base, algorithm, arena, memory


def test_experts_cover_their_part_and_follow_the_base_elsewhere(tmp_path):
    base, algorithm, arena, memory = expert_run(tmp_path, "heads_up")
    policy = algorithm.policies(arena, memory)["average"]
    tree, inside = policy.tables.tree, policy.tables.start >= 0
    assert 0 < memory.policy_sum.size < base.weights.size
    boards = [tuple(range(count)) for count in (0, 3, 4, 5)]
    decisions = [(n, boards[tree.street[n]]) for n in np.flatnonzero(tree.player >= 0).tolist()]
    for node, board in decisions:
        assert inside[node] == (bin(tree.left[node]).count("1") == 2)
        rows = policy.hand_probabilities(node, board)
        if not inside[node]:
            np.testing.assert_allclose(rows, base.hand_probabilities(node, board), atol=1e-4)
    policy.save(tmp_path / "expert.npz")
    loaded = load_betting_policy(tmp_path / "expert.npz")
    for node, board in decisions:
        expected = policy.hand_probabilities(node, board)
        np.testing.assert_allclose(loaded.hand_probabilities(node, board), expected, atol=1e-4)


def test_a_seat_learns_to_respond_to_fixed_opponents(tmp_path):
    """A response earns more than the random policy in its seat, and about its exact maximum."""
    base, algorithm, arena, memory = expert_run(tmp_path, "seat 2", 60_000)
    response = algorithm.policies(arena, memory)["average"]
    game = response.tables.game
    values = []
    for policy in (base, response):
        match = TableMatch(game, [policy])
        for _ in match.play(40_000):
            pass
        values.append(match.result().seat_scores[0][2])
    assert values[1].low > values[0].high


def test_a_part_needs_the_same_policy_outside(tmp_path):
    _, algorithm, arena, memory = expert_run(tmp_path, "heads_up", 5)
    random_policy(arena.game, 1).save(tmp_path / "base.npz")
    with pytest.raises(ConfigError, match="has changed since the run began"):
        algorithm.step(arena, memory, 1)
    with pytest.raises(ConfigError, match="must be the file of a blueprint"):
        run(arena.game, [1], part="heads_up", outside=str(tmp_path / "none.npz"))
    for part, message in (("seat 3", "no decision"), ("x", "not known"), ("cr", "not possible")):
        with pytest.raises(ConfigError, match=message):
            run(arena.game, [1], part=part, outside=str(tmp_path / "base.npz"))
    with pytest.raises(ConfigError, match="need each other"):
        cp.load_algorithm("external_sampling", dense_tables=True, part="heads_up")


def test_games_without_a_board_need_no_buckets():
    """Kuhn-like poker with 169 classes: the weakest hand is never called with, aces always."""
    spec = "poker(blinds=(1,2),opens=(0,),board=(0,),raises=(4,),raise_caps=(1,))"
    game = load_abstracted_game(load_game(spec), "by_equity(perfect_recall=false)")
    arena, algorithm, memory = run(game, [100_000], linear_period=2000)
    policy = algorithm.policies(arena, memory)["average"]
    node = policy.tables.find_node(play(game.full_game, [2]))
    rows = policy.hand_probabilities(node, ())
    assert rows[hand_index(0, 5), 0] > 0.9 and rows[1325, 1] > 0.9  # 32 offsuit, aces


def play(game, actions):
    """The state after some actions, with the lowest cards dealt."""
    state = game.initial_state()
    for card in range(game.num_hole_cards * game.num_players):
        state = game.next_state(state, card)
    for action in actions:
        state = game.next_state(state, action)
    return state


def test_pure_cfr_has_integers_and_learns():
    game = game_with_buckets("no_limit_holdem(stack=2000,sizes='a;')")
    arena, algorithm, memory = run(game, [40_000], linear_period=1000, pure=True)
    assert memory.regret.dtype == np.int32 and memory.policy_sum.dtype == np.uint32
    policy = algorithm.policies(arena, memory)["average"]
    classes = game.buckets.board_buckets(())
    node = int(np.flatnonzero(policy.tables.tree.action == 2000)[0])  # the big blind faces all-in
    rows = policy.node_probabilities(node)
    weakest, aces = classes[cp.holdem.Range.parse("72o").weights.argmax()], classes[1325]
    assert rows[weakest, 0] > 0.9 and rows[aces, 1] > 0.9


def test_pure_regrets_have_the_mean_of_those_of_external_sampling():
    """The first update of one infoset: both start uniform, and differ by what is drawn."""
    game = game_with_buckets("no_limit_holdem(stack=2000,sizes='a;')")
    sums = {}
    for pure in (False, True):
        algorithm = cp.load_algorithm("external_sampling", dense_tables=True, pure=pure)
        arena, updates = cp.RulesArena(game), []
        for seed in range(4000):
            memory = algorithm.step(arena, algorithm.init(arena, seed), 1)
            updates.append(memory.regret[: 169 * 3].reshape(169, 3).sum(axis=0, dtype=float))
        sums[pure] = np.array(updates)
    error = np.sqrt(sum(x.var(axis=0) for x in sums.values()) / 4000)
    assert (abs(sums[True].mean(axis=0) - sums[False].mean(axis=0)) < 4 * error).all()


def test_pure_cfr_counts_split_pots_in_whole_units():
    """Three players: payoffs are multiplied by 6, so that pots are split two and three ways."""
    game = game_with_buckets(THREE_SEATS)
    arena, algorithm, memory = run(game, [300], pure=True)
    assert memory.regret.any() and np.isfinite(memory.policy_sum).all()
    rows = algorithm.policies(arena, memory)["current"].node_probabilities(0)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


@pytest.mark.parametrize("pure", [False, True])
def test_pruning_skips_nodes_and_still_learns(pure):
    game = game_with_buckets()
    _, _, full = run(game, [20_000], pure=pure)
    arena, algorithm, pruned = run(game, [20_000], pure=pure, prune_below=2000.0)
    assert pruned.nodes_touched < 0.95 * full.nodes_touched
    policy = algorithm.policies(arena, pruned)["average"]
    match = TableMatch(game.full_game, [policy, random_policy(game)])
    for _ in match.play(4000):
        pass
    assert match.result().scores[0].low > 0.0


def test_discounted_integers_round_towards_zero():
    tables = np.array([-7, 7, 3], np.int32), np.array([5, 0, 9], np.uint32)
    memory = BettingMemory(4, 0, 0, 0, *tables)
    discount_tables(memory, 1)
    assert memory.regret.tolist() == [-3, 3, 1] and memory.policy_sum.tolist() == [2, 0, 4]
