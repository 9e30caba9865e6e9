"""A blueprint at a table of three, with search where two players are left."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.core.cards import parse_cards
from counterplay.core.game import CHANCE
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, FOLD
from counterplay.play.agents import AgentLoader
from counterplay.play.poker.blueprint_search import BlueprintSearch, BlueprintSearchAgent
from counterplay.play.poker.subgame import SubgameArena, solve_subgame
from counterplay.registry import load_abstraction, load_game
from tests.play.poker.class_buckets import RULE, random_policy, use_class_buckets

SPEC = "poker(players=3,blinds=(5,10,0),opens=(2,0,0,0),raise_caps=(1,1,1,1))"
BOARD = parse_cards("7h7cTd9d6h")


@pytest.fixture(scope="module")
def blueprint():
    with pytest.MonkeyPatch.context() as patch:
        use_class_buckets(patch)
        game = BucketedGame(load_game(SPEC), load_abstraction("by_equity", **RULE))
        yield random_policy(game)


def state_after(game, actions, hands):
    state, cards = game.initial_state(), iter((*parse_cards(hands), *BOARD))
    for action in (*actions, None):
        while state.to_act == CHANCE:
            state = game.next_state(state, next(cards))
        if action is not None:
            state = game.next_state(state, action)
    return state


def test_subgame_of_three_seats_equals_that_of_two():
    """After the button has folded, the blinds play the same river as in a heads-up game."""
    betting = "opens=({},0,0,0),raises=(),raise_caps=(),sizes='a|a|a|1,a;a;'"
    two = load_game(f"poker(blinds=(10,5),stacks=(200,200),{betting.format(1)})")
    three = load_game(f"poker(players=3,blinds=(5,10,0),stacks=(200,200,200),{betting.format(2)})")
    states = (
        state_after(two, [CALL] * 6, "AsKd3s3d"),
        state_after(three, [FOLD, *[CALL] * 6], "AsKd3s3dQcQs"),
    )
    solved = []
    for game, state in zip((two, three), states, strict=True):
        arena = SubgameArena(game, state)
        size = len(arena.live)
        rng = np.random.default_rng(0)
        ranges = rng.random(size) / size, rng.random(size)
        solved.append(solve_subgame(arena, ranges, 0, iterations=10))
    assert solved[0].arena.spot.pot == solved[1].arena.spot.pot == 20
    assert (solved[0].weights == solved[1].weights).all()
    row = solved[1].probabilities_at(0)[solved[1].arena.live]
    assert row.std(axis=0).max() > 0.05  # hands differ


def test_chips_of_folded_players_are_in_the_pot(blueprint):
    game = blueprint.tables.game
    flop = [CALL, CALL, CALL, 2, CALL, FOLD]  # the small blind bets, the button folds
    state = state_after(game, [*flop, CALL, CALL], "AsKd3s3dQcQs")
    assert state.round == 3 and state.players_left == (0, 1)
    assert SubgameArena(game, state).spot.pot == 50
    with pytest.raises(ConfigError, match="3 players are left; a subgame is for two"):
        SubgameArena(game, state_after(game, [CALL] * 3, "AsKd3s3dQcQs"))


def test_searches_on_the_river_and_follows_the_blueprint_before(blueprint):
    game = blueprint.tables.game
    agent = BlueprintSearchAgent(game, blueprint, BlueprintSearch(iterations=60))
    flop, hands = [CALL, CALL, CALL, 2, CALL, FOLD], "AsKd7s7dQcQs"
    before = state_after(game, flop, hands)
    row = agent.action_probabilities(before, 0)
    assert row == blueprint.action_probabilities(before, 0) and agent.num_searches == 0
    river = state_after(game, [*flop, CALL, CALL], hands)
    row = agent.action_probabilities(river, 0)
    assert sum(row) == pytest.approx(1.0) and agent.num_searches == 1
    bet = game.next_state(river, 2)
    assert agent.action_probabilities(bet, 1)[0] < 0.02  # four sevens never fold
    assert agent.num_searches == 1  # one solution for the hand


def test_plays_at_a_table_by_name(blueprint, tmp_path):
    blueprint.save(tmp_path / "b.npz")
    game = blueprint.tables.game
    name = f"blueprint_search(blueprint='{tmp_path}/b.npz',iterations=5)"
    agents = AgentLoader(game, rules_only=True).load_agents(name, f"{tmp_path}/b.npz", "uniform")
    for number in range(6):
        episode = cp.play_episode(game, agents, seed=3, episode=number)
        assert sum(episode.utilities) == pytest.approx(0.0)
    other = load_game("limit_holdem(players=3)")
    with pytest.raises(ConfigError, match="is a blueprint for"):
        AgentLoader(other, rules_only=True).load_agents(name)
