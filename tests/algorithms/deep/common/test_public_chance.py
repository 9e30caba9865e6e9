"""Average networks of public-chance methods; external sampling beside walks of all hands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("jax")

import jax

import counterplay as cp
from counterplay.algorithms.deep.common import public_chance as module
from counterplay.algorithms.deep.common.batched_env import CompiledBatchedEnv
from counterplay.algorithms.deep.common.hand_tables import HandTables
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
from counterplay.algorithms.deep.common.networks import new_nets
from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena
from counterplay.algorithms.deep.regret.rules_sampler import run_traversal_unit
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.public_chance import new_tables
from counterplay.games.poker_encoding import EncodedPoker
from counterplay.kernels.holdem import street_walk
from tests.algorithms import contract
from tests.algorithms.deep.public_chance import GAME, TINY, one_feature_per_row

ONE_CARD_GAME = (
    "poker(blinds=(1,1),stacks=(9,9),opens=(0,0),raises=(2,2),raise_caps=(1,1),ranks=3,hole=1,"
    "board=(0,1))"
)
SETTINGS = TINY | {"average_train_steps": 60}


@pytest.fixture(scope="module")
def arena():
    return HoldemGameArena(cp.load_game(GAME))


@pytest.fixture(scope="module")
def tiny():
    return cp.load_algorithm("public_chance_deep_cfr", **SETTINGS)


@pytest.fixture(scope="module")
def after_5(arena, tiny):
    return tiny.step(arena, tiny.init(arena), 5)


def test_with_a_feature_per_row_the_average_network_is_the_average(monkeypatch):
    """Then nothing is approximated but the end of the training."""
    arena = HoldemGameArena(cp.load_game(contract.SMALL_HOLDEM))
    monkeypatch.setattr(module, "row_features", one_feature_per_row)
    algorithm = cp.load_algorithm(
        "public_chance_deep_cfr",
        **(SETTINGS | {"train_steps": 0, "average_train_steps": 1500, "num_boards": 99}),
    )
    memory = algorithm.step(arena, algorithm.init(arena), 30)
    policies = algorithm.policies(arena, memory)
    assert list(policies) == ["average", "network", "current"]
    average, network = (cp.judge(arena, policies[name]) for name in ("average", "network"))
    np.testing.assert_allclose(network.values, average.values, atol=0.01)
    np.testing.assert_allclose(network.best_values, average.best_values, atol=0.03)


def test_the_average_network_learns_from_the_table_what_few_visits_leave_out(arena, tiny):
    """Of the boards that were never drawn the table knows nothing; the network does."""
    algorithm = replace(tiny, hidden_sizes=(32,), train_steps=60, average_train_steps=300)
    memory = algorithm.step(arena, algorithm.init(arena), 12)
    assert not memory.second_sum.any(axis=0).all()
    policies = algorithm.policies(arena, memory)
    average, network = (cp.judge(arena, policies[name]) for name in ("average", "network"))
    assert network.exploitability < average.exploitability


def test_the_tabulated_average_network_is_the_network_asked_hand_by_hand(arena, tiny, after_5):
    policy = tiny.policies(arena, after_5)["network"]
    workspace, rng = tiny.workspace(arena), np.random.default_rng(0)
    stream = np.random.default_rng((after_5.seed, module.AVERAGE_STREAM, after_5.iteration))
    net = tiny.fit_average_network(workspace, after_5.trunk, after_5.second_sum, stream)
    layers = [(np.asarray(w, float), np.asarray(b, float)) for w, b in net]
    rows, lines = workspace.rows, workspace.sampler.second_round
    nodes = [
        number
        for number, node in enumerate(arena.betting.nodes)
        if node.kind < FOLD and node.state.street == 1
    ]
    for _ in range(200):
        decision = int(rng.integers(len(nodes)))
        board = int(rng.integers(arena.streets[1].num_boards))
        hand = int(rng.integers(arena.num_hands(1)))
        x = workspace.inputs[rows.first[board] + rows.row_of_hand[board, hand]].astype(float)
        for weights, biases in layers[:-1]:
            before = np.pad(x, (0, max(0, weights.shape[1] - x.size)))[: weights.shape[1]]
            x = np.maximum(x @ weights + biases, 0.0) + before
        first, count = lines.decisions[decision, :2]
        logits = (x @ layers[-1][0] + layers[-1][1])[first : first + count]
        expected = np.exp(logits) / np.exp(logits).sum()
        actual = policy.probabilities_at(nodes[decision], board)[:, hand]
        np.testing.assert_allclose(actual, expected, atol=1e-4)


def test_best_responses_to_the_average_network_do_not_depend_on_batches(
    arena, tiny, after_5, monkeypatch
):
    judged = []
    for rows_per_batch in (37, 1 << 20):
        monkeypatch.setattr(module, "ROWS_PER_BATCH", rows_per_batch)
        judged.append(cp.judge(arena, tiny.policies(arena, after_5)["network"]))
    np.testing.assert_allclose(judged[0].best_values, judged[1].best_values, atol=1e-4)


def test_policies_of_an_earlier_iteration_stay_what_they_were(arena, tiny):
    """They are tabulated at first access, and steps change the memory in place."""
    memory = tiny.step(arena, tiny.init(arena), 2)
    eager = {name: policy.weights for name, policy in tiny.policies(arena, memory).items()}
    lazy = tiny.policies(arena, memory)
    tiny.step(arena, memory, 2)
    for name, weights in eager.items():
        np.testing.assert_array_equal(lazy[name].weights, weights)


def test_without_steps_there_is_no_average_network(arena, tiny, after_5):
    algorithm = replace(tiny, average_train_steps=0)
    assert list(algorithm.policies(arena, after_5)) == ["average", "current"]


def test_external_sampling_has_the_regrets_of_walks_of_all_hands_in_expectation():
    """One samples hands and boards, the other walks all of them: for arbitrary networks."""
    game = EncodedPoker(cp.load_game(ONE_CARD_GAME), "cards_up_to_suits")
    num_features = len(game.observation(game.initial_state(), 0))
    nets = new_nets(np.random.default_rng(4), 2, (num_features, 6, 3))
    arena = HoldemGameArena(cp.load_game(ONE_CARD_GAME), "float64")
    policy = NetworkPolicy(game, (nets,), "regret_matching")
    env = env_from_arena(cp.RulesArena(cp.load_game(ONE_CARD_GAME)), "cards_up_to_suits")
    assert isinstance(env, CompiledBatchedEnv)
    num_traversals = 20_000
    for player in (0, 1):
        exact = _exact_regrets(arena, policy, player)
        assert max(np.abs(expected).max() for expected in exact.values()) > 0.05
        result = run_traversal_unit(
            env, nets, player, False, num_traversals, jax.random.PRNGKey(player)
        )
        observation, legal, regret = (np.asarray(part, float) for part in result.regrets)
        keys, infoset = np.unique(np.round(observation, 4), axis=0, return_inverse=True)
        for action in range(3):
            sampled = regret[:, action] * legal[:, action]
            total, square = (np.bincount(infoset.ravel(), sampled**power) for power in (1, 2))
            expected = np.array([exact[_key(key)][action] for key in keys])
            error = np.sqrt(square) / num_traversals
            assert (np.abs(total / num_traversals - expected) < 4.5 * error + 1e-6).all()


def _key(observation):
    return tuple(np.round(np.asarray(observation, float), 4).tolist())


def _exact_regrets(arena, policy, player):
    """Counterfactual regrets [A] of a player by observation, from a walk of all hands."""
    tables = HandTables(policy, arena)
    weights = policy.tabulate(arena).weights
    walked = new_tables(arena.num_sequences, np.float64)._replace(policy_weights=weights)
    arena.walk(player, walked, street_walk.MODE_LEARN)
    result = {}
    for number, part in tables.node_parts.items():
        node = arena.betting.nodes[number]
        if node.kind != player:
            continue
        street = arena.streets[node.state.street]
        actions = list(arena.game.actions(tables.states.node_states[number]))
        for board in range(street.num_boards):
            hands = arena.hand_cards(node.state.street, board)
            boards = np.repeat(street.cards[board][None], len(hands), axis=0)
            regret = walked.regret[arena.piece_slice(number, board)].reshape(-1, len(hands))
            rows = tables.card_parts(player, boards, hands) + part
            for row, numbers in zip(rows, regret.T, strict=True):
                total = result.setdefault(_key(row), np.zeros(3))
                total[actions] += numbers * street.num_merged[board]
    return result
