"""Policies on betting trees: lookups, files, structures."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction.betting_policy import check_structure, load_betting_policy
from counterplay.core.cards import hand_index
from counterplay.errors import ConfigError, FileError
from counterplay.play.agents import AgentLoader
from tests.play.poker.class_buckets import game_with_buckets, random_policy, use_class_buckets


@pytest.fixture(scope="module", autouse=True)
def policy():
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        yield random_policy(game_with_buckets())


def test_all_lookups_agree(policy):
    game = policy.game.full_game
    episode = cp.play_episode(game, [policy, policy], seed=4)
    decisions = [step for step in episode.steps if step.player >= 0]
    assert len(decisions) >= 2
    for step in decisions:
        actions, rows = policy.hand_policy(step.state, step.player)
        hand = hand_index(*game.hole_cards(step.state, step.player))
        assert actions == tuple(step.actions)
        np.testing.assert_allclose(rows.sum(axis=1), 1.0)
        assert rows[hand].tolist() == step.probabilities


def test_files_keep_the_policy_to_16_bits(policy, tmp_path):
    path = tmp_path / "blueprint.npz"
    policy.save(path)
    loaded = load_betting_policy(path)
    assert loaded.spec == policy.spec
    for node in np.flatnonzero(policy.tables.tree.player >= 0)[::50].tolist():
        difference = loaded.node_probabilities(node) - policy.node_probabilities(node)
        assert abs(difference).max() < 5e-5
    game = policy.game.full_game
    (agent,) = AgentLoader(game, rules_only=True).load_agents(str(path))
    assert cp.play_episode(game, [agent, policy], seed=1).utilities


def test_damaged_and_foreign_files_are_refused(policy, tmp_path):
    path = tmp_path / "blueprint.npz"
    policy.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError):
        load_betting_policy(path)
    other = tmp_path / "other.npz"
    policy.save(other)
    with pytest.raises(ConfigError, match="other players, stacks, blinds or cards"):
        load_betting_policy(other, cp.load_game("no_limit_holdem(stack=1000)"))


def test_structure_ignores_bet_sizes_and_the_name_of_the_game(policy):
    check_structure(policy, cp.load_game("no_limit_holdem(stack=2000)"), "x")
    check_structure(
        policy,
        cp.load_game(
            "poker(blinds=(100,50),stacks=(2000,2000),opens=(1,0,0,0),raises=(),raise_caps=())"
        ),
        "x",
    )
    with pytest.raises(ConfigError, match="build one for that game"):
        check_structure(policy, cp.load_game("limit_holdem"), "x")


def test_betting_outside_the_tree_is_refused(policy):
    game = cp.load_game("no_limit_holdem(stack=2000)")
    state = game.initial_state()
    for card in range(4):
        state = game.next_state(state, card)
    with pytest.raises(ConfigError, match="the agent hunl plays against bets of all sizes"):
        policy.action_probabilities(game.next_state(state, 333), 0)
