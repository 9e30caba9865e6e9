"""Networks as tables of hold'em arenas, and all deep methods on rules of poker."""

from __future__ import annotations

import random

import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.deep.common import hand_tables
from counterplay.algorithms.deep.common.batched_env import CompiledBatchedEnv
from counterplay.algorithms.deep.common.hand_tables import HandTables
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.networks import PredictiveNets, new_nets
from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena
from counterplay.arenas.holdem.hand_states import HandStates
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.games.poker_encoding import EncodedPoker, encode_game

SMALL_GAME = (
    "poker(blinds=(1,1),stacks=(9,9),opens=(0,0),raises=(2,2),raise_caps=(1,2),ranks=3,hole=1,"
    "board=(0,1))"
)
TWO_CARD_GAME = SMALL_GAME.replace("hole=1,", "")
THREE_STREET_GAME = (
    "poker(blinds=(1,1),stacks=(9,9),opens=(0,0,0),raises=(1,1,1),raise_caps=(1,1,1),ranks=3,"
    "suits=4,hole=1,board=(0,1,1))"
)
METHODS = (
    "sd_cfr(num_traversals=8,train_steps=4,ensemble_size=3,hidden_sizes=(8,),encoding=E)",
    "deep_cfr(num_traversals=8,train_steps=4,average_train_steps=4,hidden_sizes=(8,),encoding=E)",
    "vr_deep_dcfr_plus(num_traversals=8,train_steps=4,hidden_sizes=(8,),encoding=E)",
    "dream(num_traversals=8,train_steps=4,hidden_sizes=(8,),encoding=E)",
    "escher(num_traversals=8,train_steps=4,hidden_sizes=(8,),encoding=E)",
    "nfsp(num_episodes=16,hidden_sizes=(8,),reservoir_size=500,encoding=E)",
    "ppo(num_episodes=16,hidden_sizes=(8,),encoding=E)",
    "deep_mmd(num_episodes=16,hidden_sizes=(8,),encoding=E)",
    "deep_hedge(num_traversals=8,num_baseline_traversals=4,hidden_sizes=(8,),ensemble_size=2,"
    "encoding=E)",
)


def random_networks(game, count=1, head="softmax", seed=0, predictive=False):
    rng, features = np.random.default_rng(seed), len(game.observation(game.initial_state(), 0))

    def nets():
        return new_nets(rng, 2, (features, 12, 8, 3))

    chosen = [PredictiveNets(nets(), nets()) if predictive else nets() for _ in range(count)]
    return NetworkPolicy(game, tuple(chosen), head, tuple(range(1, count + 1)))


def holdem_arena(spec, **options):
    return cp.holdem.HoldemGameArena(cp.load_game(spec), precision="float64", **options)


@pytest.mark.parametrize(
    "spec", [TWO_CARD_GAME, THREE_STREET_GAME], ids=["two_cards", "three_streets"]
)
@pytest.mark.parametrize("predictive", [False, True])
def test_table_equals_networks_asked_one_by_one(spec, predictive):
    arena = holdem_arena(spec)
    policy = random_networks(
        EncodedPoker(cp.load_game(spec), "cards_up_to_suits"), predictive=predictive
    )
    table, states = policy.tabulate(arena, batch_size=64), HandStates(arena)
    rng, public_states = random.Random(0), list(states.public_states())
    for node, board, cards in rng.sample(public_states, 12):
        player, street = arena.betting.nodes[node].kind, arena.betting.nodes[node].state.street
        hands = arena.hand_cards(street, board)
        number = rng.randrange(len(hands))
        state = states.hand_state(node, cards, tuple(hands[number].tolist()))
        expected = policy.action_probabilities(state, player)
        assert table.probabilities_at(node, board)[:, number] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("count", [1, 3])
def test_judgement_equals_that_on_a_tree(count):
    """A tree knows nothing of hands and boards; an ensemble is averaged by reach on both."""
    game = cp.load_game(SMALL_GAME)
    policy = random_networks(EncodedPoker(game, "cards_up_to_suits"), count)
    tree, arena = cp.build_tree(game), holdem_arena(SMALL_GAME)
    on_tree, on_hands = cp.judge(tree, policy), cp.judge(arena, policy)
    assert on_hands.values == pytest.approx(on_tree.values, abs=1e-6)
    assert on_hands.best_values == pytest.approx(on_tree.best_values, abs=1e-6)


@pytest.mark.parametrize("count", [1, 2])
def test_best_responses_depend_neither_on_batches_nor_on_isomorphism(count):
    policy = random_networks(
        EncodedPoker(cp.load_game(THREE_STREET_GAME), "cards_up_to_suits"), count, "regret_matching"
    )
    merged, apart = (
        holdem_arena(THREE_STREET_GAME),
        holdem_arena(THREE_STREET_GAME, isomorphism=False),
    )
    expected = cp.judge(merged, policy.tabulate(merged)).best_values
    for arena, size in ((merged, 3), (merged, 40), (apart, 100)):
        values = cp.judge(arena, policy.tabulate(arena, batch_size=size)).best_values
        assert values == pytest.approx(expected, abs=1e-6)


def test_readable_rules_give_the_same_table(monkeypatch):
    policy = random_networks(EncodedPoker(cp.load_game(TWO_CARD_GAME), "cards_and_strength"))
    arena = holdem_arena(TWO_CARD_GAME)
    compiled = policy.tabulate(arena).weights
    monkeypatch.setattr(hand_tables, "find_observed_game", lambda game: None)
    assert policy.tabulate(arena).weights == pytest.approx(compiled, abs=1e-6)


def test_networks_that_see_suits_need_an_arena_that_keeps_them():
    policy = random_networks(encode_game(cp.load_game(SMALL_GAME), "cards"))
    with pytest.raises(cp.ConfigError, match="encoding=cards_up_to_suits"):
        policy.tabulate(holdem_arena(SMALL_GAME))
    apart = holdem_arena(SMALL_GAME, isomorphism=False)
    tree = cp.build_tree(SMALL_GAME)
    expected = cp.judge(tree, policy).best_values
    assert cp.judge(apart, policy).best_values == pytest.approx(expected, abs=1e-6)


def test_progress_ends_at_the_estimated_number_of_infosets():
    policy = random_networks(EncodedPoker(cp.load_game(TWO_CARD_GAME), "cards_up_to_suits"))
    arena, seen = holdem_arena(TWO_CARD_GAME), []
    estimate = HandTables(policy, arena).estimate()
    policy.tabulate(arena, seen.append, batch_size=32)
    assert seen == sorted(seen) and seen[-1] == estimate.num_infosets
    assert estimate.seconds > 0.0 and estimate.num_bytes > 8 * arena.num_sequences


def test_bad_input_is_refused_before_the_table_is_made(monkeypatch):
    arena = holdem_arena(SMALL_GAME)
    game = EncodedPoker(cp.load_game(SMALL_GAME), "cards_up_to_suits")
    other = EncodedPoker(cp.load_game(TWO_CARD_GAME), "cards_up_to_suits")
    with pytest.raises(cp.ConfigError, match="does not fit"):
        random_networks(other).tabulate(arena)
    narrow = NetworkPolicy(game, (new_nets(np.random.default_rng(0), 2, (5, 8, 3)),))
    with pytest.raises(cp.ConfigError, match="5 inputs"):
        narrow.tabulate(arena)
    huge = cp.load_algorithm("ppo(encoding=cards_up_to_suits,hidden_sizes=(10000000,10000000))")
    with pytest.raises(cp.ConfigError, match=r"for training.*smaller hidden sizes"):
        huge.init(cp.RulesArena(cp.load_game(SMALL_GAME)))
    monkeypatch.setattr(hand_tables, "available_memory", lambda: 1000)
    with pytest.raises(cp.ConfigError, match="take a smaller batch_size"):
        random_networks(game).tabulate(arena)


def test_encoding_is_refused_on_trees_and_where_it_does_not_fit():
    algorithm = cp.load_algorithm("sd_cfr(encoding=cards)")
    with pytest.raises(cp.ConfigError, match="is for rules"):
        algorithm.init(cp.build_tree("leduc_poker"))
    with pytest.raises(cp.ConfigError, match="needs poker with hole cards"):
        algorithm.init(cp.RulesArena("leduc_poker"))
    with pytest.raises(cp.ConfigError, match="encoding"):
        cp.load_algorithm("ppo(encoding=suits)")


@pytest.mark.parametrize("method", METHODS, ids=[m.partition("(")[0] for m in METHODS])
def test_every_method_learns_poker_on_compiled_rules_and_is_judged_exactly(method):
    """Resumed runs equal uninterrupted ones, and the policy is judged as on the tree."""
    algorithm = cp.load_algorithm(method.replace("=E", "=cards_up_to_suits"))
    game = cp.load_game(SMALL_GAME)
    rules = cp.RulesArena(game)
    assert isinstance(env_from_arena(rules, algorithm.encoding), CompiledBatchedEnv)
    memory = algorithm.step(rules, algorithm.init(rules, 5), 2)
    policies = algorithm.policies(rules, memory)
    resumed = algorithm.step(rules, algorithm.init(rules, 5), 1)
    again = algorithm.policies(rules, algorithm.step(rules, resumed, 1))
    name, policy = next(iter(policies.items()))
    arena = holdem_arena(SMALL_GAME)
    table = policy.tabulate(arena)
    assert (table.weights == again[name].tabulate(arena).weights).all()
    judgement = cp.judge(arena, table)
    assert 0.0 < judgement.exploitability < 5.0
    assert judgement.values.sum() == pytest.approx(0.0, abs=1e-9)
    state = game.initial_state()
    while (player := game.player(state)) == CHANCE:
        state = game.next_state(state, game.chance_outcomes(state)[0][0])
    assert player != TERMINAL and sum(policy.action_probabilities(state, player)) == pytest.approx(
        1
    )
