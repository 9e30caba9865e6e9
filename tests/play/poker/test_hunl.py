"""The heads-up no-limit agent: following betting, translation, time, bad input."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.cards import parse_cards
from counterplay.core.game import CHANCE
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL
from counterplay.play.agents import AgentLoader
from counterplay.play.poker.hunl import (
    UNIFORM_SHARE,
    HoldemAgent,
    HoldemAgentConfig,
    load_blueprint,
    pot_fraction,
    pseudo_harmonic_shares,
    root_ranges,
)
from counterplay.play.poker.subgame import SubgameArena
from counterplay.registry import load_search_agent
from tests.play.poker.class_buckets import random_policy

CARDS = parse_cards("AsKd7h7cTd9d6hQc2s")
QUICK = {"turn_iterations": 2, "river_iterations": 5, "turn_sizes": "1,a;a;"}
STACK = 2000


@pytest.fixture(scope="module")
def blueprint(class_game):
    return random_policy(class_game)


@pytest.fixture(scope="module")
def game():
    return cp.load_game(f"no_limit_holdem(stack={STACK})")


def make_agent(game, blueprint, **settings):
    return HoldemAgent(game, blueprint, HoldemAgentConfig(**QUICK | settings))


def state_after(game, *actions):
    state, cards = game.initial_state(), iter(CARDS)
    for action in (*actions, None):
        while state.to_act == CHANCE:
            state = game.next_state(state, next(cards))
        if action is not None:
            state = game.next_state(state, action)
    return state


def test_before_the_turn_it_plays_the_blueprint(game, blueprint):
    agent = make_agent(game, blueprint)
    for actions in [(), (300,), (300, CALL)]:
        state = state_after(game, *actions)
        expected, rows = blueprint.hand_policy(state, state.to_act)
        policy = agent.hand_policy(state, state.to_act)
        assert policy.actions == expected
        np.testing.assert_allclose(policy.probabilities, rows)


@pytest.mark.parametrize("search_street", [3, 4])
def test_random_opponents_meet_legal_distributions(game, blueprint, search_street):
    """Bets of any size, on and off the tree, in both seats, to the end of the hand."""
    agent = make_agent(game, blueprint, search_street=search_street)
    rng = np.random.default_rng(0)
    for number in range(6 if search_street == 3 else 25):
        state, cards = game.initial_state(), iter(rng.permutation(52)[:9].tolist())
        while state.to_act != -2:
            if state.to_act == CHANCE:
                state = game.next_state(state, next(cards))
                continue
            actions = game.actions(state)
            if state.to_act == number % 2:
                probabilities = agent.action_probabilities(state, state.to_act)
                assert len(probabilities) == len(actions)
                assert sum(probabilities) == pytest.approx(1.0) and min(probabilities) >= 0.0
                action = actions[int(rng.choice(len(actions), p=probabilities))]
            else:
                raises = [a for a in actions if a > CALL]
                small = [int(rng.choice(raises[: 1 + len(raises) // 8]))] if raises else []
                action = int(rng.choice([CALL, CALL, *small]))
            state = game.next_state(state, action)


def test_off_tree_bets_on_the_river_are_solved_with_the_bet_in_the_tree(game, blueprint):
    agent = make_agent(game, blueprint, search_street=3)
    state = state_after(game, *(CALL,) * 6, 277)
    policy = agent.hand_policy(state, 1)
    assert set(policy.actions) >= {0, 1}
    (solved,) = agent._solved.values()
    assert solved.arena.state.history.endswith("r277")  # the root is the state after the bet
    assert solved.arena.betting.nodes[0].state.contributions == (177, 0)
    again = agent.hand_policy(state, 1)
    np.testing.assert_array_equal(policy.probabilities, again.probabilities)


def test_river_continues_the_solution_of_the_turn(game, blueprint):
    agent = make_agent(game, blueprint)
    turn = state_after(game, *(CALL,) * 4)
    river = state_after(game, *(CALL,) * 6)
    agent.hand_policy(turn, 0)
    agent.hand_policy(river, 0)
    histories = [key[0] for key in agent._solved]
    assert histories == [turn.history, river.history]
    base, scale = agent._bases[river.history, 0]
    assert scale == 1.0 and base.arena.spot.street == 2


def test_pseudo_harmonic_mapping(game, blueprint):
    """P(A) = (B - x)(1 + A) / ((B - A)(1 + x)) between a pot bet and all-in."""
    agent = make_agent(game, blueprint)
    state = state_after(game)
    x, low, high = (pot_fraction((100, 50), 1, total) for total in (700, 300, STACK))
    shares = list(agent._map_action(state, 0, 700).values())
    expected = (high - x) * (1 + low) / ((high - low) * (1 + x))
    assert shares == pytest.approx([expected, 1 - expected]) and sum(shares) == pytest.approx(1.0)
    assert list(agent._map_action(state, 0, 300).values()) == [1.0]
    assert list(agent._map_action(state, 0, 201).values()) == [1.0]


def test_ranges_have_mass_on_every_live_hand(game):
    searched = cp.load_game(f"no_limit_holdem(stack={STACK},sizes='a')")
    arena = SubgameArena(searched, state_after(searched, *(CALL,) * 6))
    nothing, single = np.zeros(1326), np.zeros(1326)
    single[arena.live[5]] = 1e-9
    own, other = root_ranges(arena, [nothing, single], 0)
    assert own.sum() == pytest.approx(1.0) and other.max() == pytest.approx(1.0)
    assert own.min() > 0.0 and other.min() >= UNIFORM_SHARE / len(other)


def test_time_limit_ends_the_iterations(game, blueprint):
    agent = make_agent(game, blueprint, river_iterations=10_000, max_seconds=0.01, search_street=3)
    agent.hand_policy(state_after(game, *(CALL,) * 6), 0)
    assert agent.num_iterations < 10_000


def test_same_question_has_the_same_answer(game, blueprint):
    state = state_after(game, 300, CALL, 555, CALL, CALL, CALL, CALL)
    first, second = (
        make_agent(game, blueprint, search_street=3).hand_policy(state, state.to_act)
        for _ in range(2)
    )
    assert first.actions == second.actions
    np.testing.assert_array_equal(first.probabilities, second.probabilities)


def test_other_games_and_missing_blueprints_are_refused(blueprint, tmp_path, monkeypatch):
    for spec in ("limit_holdem", "no_limit_holdem(players=3)", "leduc_poker"):
        with pytest.raises(ConfigError, match="hunl plays two-player no-limit hold'em"):
            make_agent(cp.load_game(spec), blueprint)
    with pytest.raises(ConfigError, match="build one for that game"):
        make_agent(cp.load_game("no_limit_holdem(stack=1000)"), blueprint)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="there is no blueprint at runs/hunl: build one with"):
        AgentLoader(cp.load_game("no_limit_holdem")).load_agents("hunl")
    other = tmp_path / "x.npz"
    other.write_text("no")
    with pytest.raises(ConfigError, match="is not a blueprint"):
        load_blueprint(str(other))
    for street in (0, 1):
        with pytest.raises(ConfigError, match=f"search_street is {street}, must be 2"):
            HoldemAgentConfig(search_street=street)
    with pytest.raises(ConfigError, match="method is 'magic'"):
        load_search_agent("hunl(method='magic')")


def test_blueprint_of_a_run_is_loaded(class_game, tmp_path, game):
    from counterplay.experiment.runner import run

    config = {
        "name": "hunl",
        "algorithm": "external_sampling",
        "game": {"name": "no_limit_holdem", "params": {"stack": STACK, "sizes": "1,a;a;|1,a;a;"}},
        "abstraction": "by_equity(num_buckets=20,num_bins=20,perfect_recall=False)",
        "arena": "rules",
        "spec": {"max_steps": 50, "dense_tables": True, "linear_period": 10},
    }
    result = run(config, runs_folder=tmp_path)
    assert result.step == 50 and result.records[-1]["infosets"] > 0
    agent = HoldemAgent(game, load_blueprint(str(tmp_path / "hunl")), HoldemAgentConfig())
    state = state_after(game)
    assert agent.action_probabilities(state, 1)[0] >= 0.0


@pytest.mark.parametrize(
    ("size", "shares"),
    [(0.1, {0: 1.0}), (0.75, {0: 3 / 7, 1: 4 / 7}), (1.0, {0: 0.0, 1: 1.0}), (9.0, {2: 1.0})],
)
def test_sizes_between_two_are_shared_by_the_pseudo_harmonic_mapping(size, shares):
    assert pseudo_harmonic_shares([0.5, 1.0, 2.0], size) == pytest.approx(shares)
