"""Claims of the source documents that are neither an algorithm nor a game: small measurements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import counterplay as cp
from counterplay.experiment.config import load_config
from tests.conftest import game_tree


def replace_player(tree, policy, other, player):
    """Return the first policy with one player's part taken from the second."""
    is_own = np.repeat(tree.infoset_player == player, tree.num_actions)
    return cp.Policy(tree, np.where(is_own, other.probabilities, policy.probabilities))


def test_an_equilibrium_strategy_of_two_players_cannot_be_beaten():
    """002, section 2.1: against every opponent the value of the game is secured."""
    tree = game_tree("kuhn_poker")
    solution = cp.algorithms.solve_sequence_form_lp(tree)
    value = cp.expected_values(tree, solution.policy)
    for seed in range(10):
        for player in range(2):
            other = cp.random_policy(tree, seed)
            mixed = replace_player(tree, solution.policy, other, 1 - player)
            assert cp.expected_values(tree, mixed)[player] >= value[player] - 1e-9


def test_equilibria_of_three_players_do_not_combine():
    """002, section 2.1: seats that follow different equilibria need not be in one."""
    utility = np.zeros((2, 2, 2, 3))
    utility[0, 0, 0] = utility[1, 1, 1] = 1.0  # all choose the same
    game = cp.matrix.NormalForm(np.moveaxis(utility, -1, 0))
    first, second = [np.array([1.0, 0.0])] * 3, [np.array([0.0, 1.0])] * 3
    for profile in (first, second):
        assert cp.matrix.nash_deviation(game, profile).gain == 0.0
    combined = [first[0], first[1], second[2]]
    assert cp.matrix.nash_deviation(game, combined).gain == pytest.approx(1.0)


def test_sampling_converges_faster_than_cfr_by_visited_nodes():
    """002, section 3.4: at equal nodes, external sampling is ahead of CFR."""
    tree = game_tree("leduc_poker")
    num_sweeps = 20
    cfr = cp.solve(tree, "cfr", iterations=num_sweeps).exploitability
    algorithm = cp.load_algorithm("external_sampling")
    memory = algorithm.init(tree, 0)
    budget = num_sweeps * 2 * tree.num_nodes  # a sweep for each player
    while memory.nodes_touched.sum() < 0.9 * budget:
        memory = algorithm.step(tree, memory, 50)
    assert memory.nodes_touched.sum() < 1.1 * budget
    sampled = cp.exploitability(algorithm.policies(tree, memory)["average"])
    assert sampled < 0.8 * cfr


def test_a_product_of_equilibrium_strategies_is_a_correlated_equilibrium():
    """002, after definition 2.8."""
    game = cp.matrix.normal_form_from_game(cp.load_game("battle_of_the_sexes"))
    equilibria = cp.matrix.nash_equilibria(game).equilibria
    assert len(equilibria) == 3
    for equilibrium in equilibria:
        joint = np.einsum("i,j->ij", *equilibrium.profile)
        assert cp.matrix.correlated_deviation(game, joint).gain <= 1e-9


TABLE_3 = {  # 002: the columns of Kuhn poker, Leduc poker and Goofspiel as printed
    "hidden_sizes": ((48, 48, 32), (196, 196, 48), (196, 196, 48)),
    "baseline_hidden_sizes": ((48, 48, 32), (128, 128, 32), (128, 128, 32)),
    "num_traversals": (4, 64, 32),
    "num_baseline_traversals": (4, 16, 16),
    "num_baseline_updates": (1, 4, 2),
    "learning_rate": (0.01, 0.1, 0.01),
    "baseline_learning_rate": (0.01, 0.01, 0.01),
    "decay_steps": (1e5, 1e5, 1e5),
    "decay_rate": (0.95, 0.95, 0.95),  # 1e5 for Goofspiel is a misprint
    "learning_rate_end": (1e-6, 1e-6, 1e-6),
    "baseline_learning_rate_end": (1e-6, 1e-6, 1e-6),
    "max_grad_norm": (1e4, 1e4, 1e4),
    "logit_threshold": (2.0, 2.0, 2.0),
    "weight_decay": (1e-4, 1e-4, 1e-4),
    "entropy_coef": (0.1, 0.1, 0.0),
    "epsilon": (0.1, 0.1, 0.1),
}
AS_PRINTED = {  # 002: options that follow the listings and equations
    "mean_over_episodes": False,  # listing 1, lines 17 and 24: |M| counts decisions
    "mean_over_actions": False,
    "stratified": False,
    "average_power": 0.0,  # (3.4): every iteration has the same weight
    "augmented_baseline": True,
    "normalize_returns": False,
    "centred_update": False,
    "entropy_uses_rate": False,
    "entropy_decay_power": 0.0,
    "listing_order": True,
    "use_biases": False,
    "past_logits_coef": 0.0,
}


@pytest.mark.parametrize(
    ("name", "column"), [("kuhn_2p", 0), ("kuhn_3p", 0), ("leduc", 1), ("goofspiel", 2)]
)
def test_printed_configs_are_table_3(name, column):
    pytest.importorskip("jax")
    config = load_config(Path(__file__).parents[2] / "configs" / "printed" / f"{name}.json")
    assert config.max_steps == 500_000
    printed = {setting: row[column] for setting, row in TABLE_3.items()}
    printed |= AS_PRINTED
    assert {setting: getattr(config.algorithm, setting) for setting in printed} == printed


@pytest.mark.parametrize("name", ["qpg", "rpg"])
def test_policy_gradients_need_not_converge(name):
    """004: in a game like matching pennies the current policy circles around the equilibrium."""
    pytest.importorskip("jax")
    tree = game_tree("matrix_game(payoffs=(((2,-2),(-1,1)),((-2,2),(1,-1))))")
    algorithm = cp.load_algorithm(
        f"{name}(critic=oracle,temperature=0,temperature_end=0,num_episodes=32,hidden_sizes=(4,),"
        "learning_rate=0.02,learning_rate_end=0.02,ema_decay=0,average_every=1,average_power=0)"
    )
    memory, gains = algorithm.init(tree), []
    for _ in range(20):
        memory = algorithm.step(tree, memory, 50)
        gains.append(cp.nash_conv(tree, algorithm.policies(tree, memory)["current"]))
    assert np.mean(gains[10:]) > 0.3
