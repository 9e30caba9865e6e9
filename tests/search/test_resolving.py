"""The resolving agent and depth-limited solving: limits, theorems, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.public_states import public_states
from counterplay.arenas.subgame import SAFE_METHODS, build_subgame
from counterplay.arenas.tree.derivation import FIXED_BUCKET, DerivationPlan, derive_tree
from counterplay.arenas.tree.replay import first_infoset_states, iter_states
from counterplay.core.policy import Policy
from counterplay.play.agents import AgentLoader
from counterplay.play.episodes import play_episode
from counterplay.play.match import head_to_head
from tests.conftest import game_tree

LP = cp.algorithms.SequenceFormLP()
CFR_PLUS = cp.algorithms.CFRPlus()


def make(spec, blueprint_iterations=20, **parameters):
    tree = game_tree(spec)
    blueprint = cp.solve(tree, CFR_PLUS, iterations=blueprint_iterations).policy
    return tree, blueprint, cp.search.Resolving(**parameters).make_agent(tree, blueprint)


# -- the agent


@pytest.mark.parametrize("method", SAFE_METHODS)
def test_agent_is_less_exploitable_than_its_blueprint(method):
    tree, blueprint, agent = make("leduc_poker", method=method, iterations=300)
    policy = cp.search.tabulate_agent(tree, agent).policy
    assert cp.exploitability(tree, policy) < 0.5 * cp.exploitability(tree, blueprint)


def test_unsafe_agent_is_more_exploitable():
    tree, blueprint, agent = make("leduc_poker", 200, method="unsafe", iterations=300)
    policy = cp.search.tabulate_agent(tree, agent).policy
    assert cp.exploitability(tree, policy) > 10 * cp.exploitability(tree, blueprint)


def test_first_decision_is_the_solution_of_the_game():
    tree, _, agent = make("kuhn_poker", iterations=123)
    solution = cp.solve(tree, CFR_PLUS, iterations=123).policy
    is_first = np.repeat(tree.infoset_player == 0, tree.num_actions)
    assert (agent.policy_at(0, 0)[is_first] == solution.probabilities[is_first]).all()


def test_answers_do_not_depend_on_the_order_of_questions():
    tree, blueprint, agent = make("leduc_poker", iterations=30)
    table = cp.search.tabulate_agent(tree, agent).policy
    other = cp.search.Resolving(iterations=30).make_agent(tree, blueprint)
    states = first_infoset_states(tree)
    for infoset in range(tree.num_infosets - 1, -1, -13):
        player = int(tree.infoset_player[infoset])
        row = other.action_probabilities(states[infoset], player)
        assert row == list(table.probabilities_at(infoset).values())


def test_blueprint_that_never_comes_here_gives_uniform_ranges():
    tree = game_tree("kuhn_poker")
    never = Policy.from_dict(tree, {key: {"pass": 1.0} for key in ("0", "1", "2")})
    agent = cp.search.Resolving(iterations=1, method="unsafe").make_agent(tree, never)
    game = tree.game
    state = game.initial_state()
    for action in (0, 1, 1):  # two cards, then a bet
        state = game.next_state(state, action)
    with pytest.warns(UserWarning, match="never reaches public state 3 of kuhn_poker"):
        row = agent.action_probabilities(state, 1)
    assert sum(row) == approx(1.0)
    assert agent.report.is_uniform


def test_report_has_ranges_and_alternatives():
    _, _, agent = make("leduc_poker", iterations=20)
    agent.policy_at(public_states(game_tree("leduc_poker")).after_chance()[0], 1)
    report = agent.report
    assert report.player == 1 and not report.is_uniform
    assert report.own_range.size == report.opponent_range.size == report.alternatives.size == 5


def test_time_limit():
    tree, _, agent = make("kuhn_poker", seconds=1e-2)
    policy = cp.search.tabulate_agent(tree, agent).policy
    assert cp.exploitability(tree, policy) < 0.5


def test_a_time_limit_below_one_iteration_keeps_the_blueprint_and_says_so():
    tree, blueprint, agent = make("kuhn_poker", seconds=1e-9)
    with pytest.warns(cp.errors.TimeLimitWarning, match="too short for one iteration of cfr_plus"):
        table = cp.search.tabulate_agent(tree, agent)
    assert (table.policy.probabilities == blueprint.probabilities).all()
    facts = agent.search_report(first_infoset_states(tree)[0], 0).facts
    assert facts["time limit"].startswith("too short")


def test_the_first_decision_is_not_in_the_time_of_a_decision():
    table = cp.search.TabulatedAgent(None, 5, 9.0, (), first_seconds=8.0)
    assert table.seconds_per_decision == 0.25
    assert cp.search.TabulatedAgent(None, 1, 9.0, (), 9.0).seconds_per_decision == 9.0


def test_plays_matches_and_episodes():
    game = cp.load_game("kuhn_poker")
    agents = AgentLoader(game).load_agents("resolving(iterations=50)", "uniform")
    match = head_to_head(game, *agents, max_episodes=200)
    assert match.scores[0].mean > 0.0
    first, second = (play_episode(game, agents, seed=3) for _ in range(2))
    assert first == second


def test_one_public_state_is_solved_as_a_whole():
    """Phantom games have one public state: search there is solving."""
    with pytest.warns(UserWarning, match="has one public state"):
        tree, _, agent = make("dark_hex(num_rows=2,num_cols=2)", iterations=50)
    table = cp.search.tabulate_agent(tree, agent).policy
    assert (
        table.probabilities == cp.solve(tree, CFR_PLUS, iterations=50).policy.probabilities
    ).all()


@pytest.mark.parametrize(
    ("spec", "game", "message"),
    [
        ("resolving(method=magic)", "kuhn_poker", "method is 'magic', must be one of unsafe"),
        ("resolving(blueprint=nothing)", "kuhn_poker", "blueprint is 'nothing', must be"),
        ("resolving(iterations=0)", "kuhn_poker", "iterations is 0, must be at least 1"),
        ("resolving", "kuhn_poker(players=3)", "two-player zero-sum"),
        ("resolving", "goofspiel(forgetful=true)", "perfect recall"),
        ("resolvng", "kuhn_poker", "did you mean 'resolving'"),
    ],
)
def test_bad_input(spec, game, message):
    with pytest.raises(cp.errors.ConfigError, match=message):
        AgentLoader(cp.load_game(game)).load_agents(spec)


def test_blueprint_of_another_game_is_refused():
    with pytest.raises(cp.errors.ConfigError, match="the policy is for leduc_poker"):
        cp.search.Resolving().make_agent(game_tree("kuhn_poker"), cp.uniform_policy("leduc_poker"))


# -- depth limits


def value_above_cut(tree, policy, arena, player):
    """Return the game's value to a player that keeps to its policy above the cut, optimally."""
    fixed = np.zeros(tree.num_infosets, bool)
    above = arena.sequence[arena.sequence >= 0]
    owner = np.searchsorted(tree.offset, above, side="right") - 1
    fixed[owner[tree.infoset_player[owner] == player]] = True
    bucket = np.where(fixed, FIXED_BUCKET, np.arange(tree.num_infosets))
    plan = DerivationPlan(
        tree.spec, bucket, list(tree.infoset_keys), np.ones(tree.num_sequences, bool), policy
    )
    derived, _ = derive_tree(tree, plan)
    value = cp.algorithms.solve_sequence_form_lp(derived).value
    return value if player == 0 else -value


@pytest.mark.parametrize("depth", [1, 2])
def test_with_exact_values_at_leaves_the_solution_is_the_games(depth):
    """A player that keeps to its policy above the cut still gets its value of Kuhn poker."""
    tree = game_tree("kuhn_poker")
    leaves = cp.search.leaf_states(public_states(tree), 0, depth)
    arena = cp.search.DepthLimitedArena(tree, leaves, cp.search.solve_leaves(tree, LP))
    memory = CFR_PLUS.step(arena, CFR_PLUS.init(arena), 60)
    probabilities = cp.uniform_policy(tree).probabilities.copy()
    arena.write_policy(CFR_PLUS.policies(arena, memory)["linear_average"], probabilities)
    uniform = cp.uniform_policy(tree).probabilities
    for player, value in enumerate((-1 / 18, 1 / 18)):
        assert value_above_cut(tree, probabilities, arena, player) > value - 0.009
    assert value_above_cut(tree, uniform, arena, 0) < -1 / 18 - 0.01


def test_continuations_keep_an_exact_blueprint():
    """With the equilibrium as blueprint, the cut game's solution is (nearly) one too."""
    tree = game_tree("leduc_poker")
    blueprint = cp.algorithms.solve_sequence_form_lp(tree).policy
    probabilities = blueprint.probabilities.copy()
    cut = cp.search.leaf_states(public_states(tree), 0, 2)
    for player in range(2):
        leaves = cp.search.continuation_leaves(tree, blueprint, 1 - player, cut)
        subgame = build_subgame(tree, blueprint, 0, player, "unsafe", leaves=leaves)
        assert subgame.tree.num_nodes < tree.num_nodes / 10
        subgame.write_policy(subgame.solve(CFR_PLUS, 2000), probabilities)
    assert cp.nash_conv(tree, Policy(tree, probabilities)) < 2e-3


def test_one_continuation_lets_the_opponent_adapt_for_free():
    tree = game_tree("leduc_poker")
    blueprint = cp.algorithms.solve_sequence_form_lp(tree).policy
    cut = cp.search.leaf_states(public_states(tree), 0, 2)
    nash_convs = []
    for continuations in (None, [blueprint]):
        probabilities = blueprint.probabilities.copy()
        for player in range(2):
            leaves = cp.search.continuation_leaves(tree, blueprint, 1 - player, cut, continuations)
            subgame = build_subgame(tree, blueprint, 0, player, "unsafe", leaves=leaves)
            subgame.write_policy(subgame.solve(LP), probabilities)
        nash_convs.append(cp.nash_conv(tree, Policy(tree, probabilities)))
    assert nash_convs[1] > nash_convs[0] + 0.01


def test_bias_policy():
    tree = game_tree("leduc_poker")
    policies = cp.search.bias_policy(cp.uniform_policy(tree), factor=5.0)
    rows = [policy["Qs:cr"] for policy in policies]
    assert [max(row, key=row.get) for row in rows[1:]] == ["call", "fold", "raise"]
    assert rows[1]["call"] == approx(5 / 7)


def test_depth_limited_agent():
    tree, blueprint, agent = make("leduc_poker", 100, method="max_margin", depth=2, iterations=300)
    policy = cp.search.tabulate_agent(tree, agent).policy
    assert cp.exploitability(tree, policy) < 2 * cp.exploitability(tree, blueprint)


def test_cuts_must_be_below_the_first_state():
    tree = game_tree("kuhn_poker")
    with pytest.raises(cp.errors.ConfigError, match="leaves must be public states below"):
        cp.search.DepthLimitedArena(tree, (0,), cp.search.solve_leaves(tree, LP))


@pytest.mark.parametrize(
    ("spec", "game", "message"),
    [
        ("resolving", "kuhn_poker(players=3)", "two-player zero-sum"),
        ("resolving(algorithm=is_mcts)", "kuhn_poker", "unknown algorithm 'is_mcts'"),
    ],
)
def test_what_does_not_fit_is_refused_before_a_blueprint_is_solved(spec, game, message):
    def solve(*arguments):
        raise AssertionError("a blueprint was solved first")

    with pytest.raises(cp.ConfigError, match=message):
        AgentLoader(cp.load_game(game), solve=solve).load_agents(spec)


def test_search_report_has_the_values_of_the_solution():
    """At the first decision with the exact blueprint, the values of Kuhn poker's solution."""
    tree, _, agent = make("kuhn_poker", iterations=3000)
    state = next(state for state in iter_states(tree) if tree.game.player(state) == 1)
    probabilities = agent.action_probabilities(state, 1)
    report = agent.search_report(state, 1)
    (values,) = report.by_action.values()
    chosen = [v for v, p in zip(values, probabilities, strict=True) if p > 0.01]
    assert max(values) - min(chosen) < 0.02
    own, other = report.ranges
    assert sum(own.probabilities) == pytest.approx(1.0) == sum(other.probabilities)
    assert len(other.keys) == len(other.values) == 3
    assert other.values == agent.report.alternatives.tolist()
