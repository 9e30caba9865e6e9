"""The agent `resolving` on hold'em arenas: equal to re-solved streets, in any order, in play."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas import build
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_inspection import find_game_node
from counterplay.arenas.holdem.game_subgames import resolve_street
from counterplay.cli.main import main
from counterplay.core.game import TERMINAL
from counterplay.play.agents import AgentLoader
from counterplay.play.episodes import play_episode
from counterplay.play.match import head_to_head
from counterplay.search.holdem_resolving import METHODS, HoldemResolvingAgent
from counterplay.search.resolving import Resolving

TWO_STREETS = "custom_holdem(num_ranks=3,board_cards=(0,1),stacks=(8,8))"
THREE_STREETS = "custom_holdem(num_ranks=3,board_cards=(0,1,1),stacks=(8,8))"


@cache
def make_blueprint(spec):
    arena = HoldemGameArena(cp.load_game(spec), "float64")
    return arena, cp.solve(arena, cp.algorithms.CFRPlus(), iterations=10).policy


def make_agent(spec, **parameters):
    arena, blueprint = make_blueprint(spec)
    return HoldemResolvingAgent(arena, blueprint, Resolving(**parameters))


def all_probabilities(policy):
    arena = policy.arena
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < 2:
            for board in range(arena.streets[node.state.street].num_boards):
                yield policy.probabilities_at(number, board)


@pytest.mark.parametrize("method", METHODS)
def test_tabulated_agent_equals_the_streets_solved_again(method):
    _, blueprint = make_blueprint(TWO_STREETS)
    agent = make_agent(TWO_STREETS, method=method, iterations=50)
    street = resolve_street(blueprint, 1, method, 50, algorithm=cp.algorithms.CFRPlus())
    rows = zip(all_probabilities(agent.tabulate()), all_probabilities(street), strict=True)
    reached = [np.abs(a - b).max() for a, b in rows]
    assert np.median(reached) < 1e-9
    values = [cp.exploitability(agent.arena, p) for p in (agent.tabulate(), street)]
    assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize("spec", [TWO_STREETS, THREE_STREETS], ids=["two", "three"])
def test_agent_is_less_exploitable_than_its_blueprint(spec):
    arena, blueprint = make_blueprint(spec)
    policy = make_agent(spec, method="max_margin", iterations=100).tabulate()
    assert cp.exploitability(arena, policy) < 0.95 * cp.exploitability(arena, blueprint)


def random_decisions(game, count):
    rng = np.random.default_rng(0)
    while count:
        state = game.initial_state()
        while (player := game.player(state)) != TERMINAL:
            if player >= 0:
                yield state, player
                count -= 1
                if not count:
                    return
                actions = game.actions(state)
            else:
                actions = [action for action, _ in game.chance_outcomes(state)]
            state = game.next_state(state, actions[rng.integers(len(actions))])


def test_answers_at_states_are_those_of_the_table_in_any_order():
    agent = make_agent(THREE_STREETS, iterations=20)
    table = make_agent(THREE_STREETS, iterations=20).tabulate()
    arena = agent.arena
    for state, player in reversed(list(random_decisions(agent.game, 60))):
        row = agent.action_probabilities(state, player)
        node, board, suits = find_game_node(arena, state.history)
        own = sorted(4 * (c // 4) + suits[c % 4] for c in agent.game.hole_cards(state, player))
        cards = np.sort(arena.hand_cards(arena.betting.nodes[node].state.street, board), axis=1)
        hand = int(np.flatnonzero((cards == own).all(axis=1))[0])
        np.testing.assert_allclose(row, table.probabilities_at(node, board)[:, hand], atol=1e-9)
        report = agent.search_report(state, player)
        if report.ranges:
            assert sum(report.ranges[1].probabilities) == pytest.approx(1.0)


def test_plays_matches_by_its_name(monkeypatch):
    monkeypatch.setattr(build, "MIN_INFOSETS_FOR_FACTORED", 0)
    game = cp.load_game(TWO_STREETS)
    agents = AgentLoader(game).load_agents("resolving(iterations=20)", "resolving(seconds=1)")
    assert isinstance(agents[0], HoldemResolvingAgent)
    first, second = (play_episode(game, [agents[0]] * 2, seed=3) for _ in range(2))
    assert first == second
    uniform = AgentLoader(game).load_agents("uniform")[0]
    assert head_to_head(game, agents[0], uniform, max_episodes=100).scores[0].mean > 0.0


def test_blueprints_by_name_and_from_files(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "MIN_INFOSETS_FOR_FACTORED", 0)
    loader, file = AgentLoader(cp.load_game(TWO_STREETS)), tmp_path / "blueprint.policy"
    (uniform,) = loader.load_agents("resolving(iterations=5,blueprint=uniform)")
    state = next(random_decisions(loader.game, 1))[0]
    row = uniform.action_probabilities(state, 0)  # before the flop
    assert row == pytest.approx([1 / len(row)] * len(row))
    _, blueprint = make_blueprint(TWO_STREETS)
    blueprint.save(file)
    (agent,) = loader.load_agents(f"resolving(iterations=5,blueprint='{file}')")
    direct = make_agent(TWO_STREETS, iterations=5)
    for state, player in random_decisions(loader.game, 10):
        rows = [a.action_probabilities(state, player) for a in (agent, direct)]
        np.testing.assert_allclose(*rows, atol=1e-4)
    with pytest.raises(cp.ConfigError, match="blueprint is 'nothing', must be"):
        loader.load_agents("resolving(blueprint=nothing)")
    other = AgentLoader(cp.load_game(THREE_STREETS))
    with pytest.raises(cp.ConfigError, match=r"is a policy of custom_holdem.*, not custom_holdem"):
        other.load_agents(f"resolving(blueprint='{file}')")


def test_is_evaluated_exactly(monkeypatch, capsys):
    monkeypatch.setattr(build, "MIN_INFOSETS_FOR_FACTORED", 0)
    agent = "resolving(iterations=20,blueprint_iterations=10)"
    assert main(["evaluate", TWO_STREETS, "--agent", agent]) == 0
    text = capsys.readouterr().out
    policy = make_agent(TWO_STREETS, iterations=20).tabulate()
    shown = float(text.split("exploitability")[1].split()[0])
    assert shown == pytest.approx(cp.exploitability(policy.arena, policy), rel=1e-2)
    assert "subgames)" in text


def test_a_blueprint_that_never_comes_here_gives_uniform_ranges():
    arena, blueprint = make_blueprint(TWO_STREETS)
    weights = np.array(blueprint.weights)
    first = arena.piece_slice(0, 0)
    count = arena.num_hands(0)
    weights[first] = 0.0
    weights[first][:count] = 1.0  # the first player always folds
    always_fold = HoldemPolicy(arena, weights, weights[:0])
    agent = HoldemResolvingAgent(arena, always_fold, Resolving(iterations=5))
    (root, _), *_ = agent.list_roots()
    with pytest.warns(cp.errors.SearchWarning, match="never reaches"):
        agent.solve(root, 0)


def test_a_time_limit_below_one_iteration_keeps_the_blueprint():
    agent = make_agent(TWO_STREETS, seconds=1e-9)
    before = agent.weights[0].copy()
    with pytest.warns(cp.errors.TimeLimitWarning, match="too short for one iteration"):
        agent.solve(agent.list_roots()[0][0], 0)
    assert (agent.weights[0] == before).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "estimate"}, "method is 'estimate', which needs a game small enough"),
        ({"depth": 1}, "depth is 1, which needs a game small enough for a tree"),
        ({"algorithm": "sequence_form_lp"}, "does not run on hold'em arenas"),
    ],
)
def test_what_hands_as_vectors_cannot_do_is_refused(parameters, message):
    with pytest.raises(cp.ConfigError, match=message):
        make_agent(TWO_STREETS, **parameters)


def test_a_blueprint_of_another_game_is_refused():
    arena, _ = make_blueprint(TWO_STREETS)
    _, other = make_blueprint(THREE_STREETS)
    with pytest.raises(cp.ConfigError, match="the blueprint is of custom_holdem"):
        HoldemResolvingAgent(arena, other, Resolving())


def test_games_that_pay_prizes_have_no_alternative_values():
    with pytest.raises(cp.ConfigError, match="resolving needs a zero-sum game"):
        make_agent(TWO_STREETS.replace("stacks=(8,8)", "stacks=(8,8),payouts=(3.0,1.0)"))
