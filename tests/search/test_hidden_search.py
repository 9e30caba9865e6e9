"""Searchers for hidden information on rules: IS-MCTS, PIMC, smooth UCT, OOS, mirror descent."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest
from pytest import approx

import counterplay as cp
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.games.kuhn_poker import KuhnPoker
from counterplay.play.agents import AgentLoader
from counterplay.play.episodes import play_episode
from counterplay.registry import SEARCH_AGENTS, load_search_agent
from counterplay.search.hidden_agent import HiddenSearchAgent, SearchRequest
from counterplay.search.is_mcts import InfosetTree
from counterplay.search.mirror_search import mirror_step
from counterplay.search.oos import _OOSRun
from counterplay.search.state_sampling import RulesStateSampler, TreeStateSampler
from tests.conftest import game_tree

RULES_AGENTS = ["is_mcts", "oos", "pimc", "smooth_uct"]
QUICK = {
    "belief_search": (
        "belief_search(network='rebel(num_subgames=4,hidden_sizes=(8,))',network_iterations=2,"
        "iterations=10)"
    ),
    "is_mcts": "is_mcts(simulations=30)",
    "mirror_search": "mirror_search(blueprint_iterations=20)",
    "oos": "oos(simulations=30)",
    "pimc": "pimc(num_states=5)",
    "resolving": "resolving(blueprint_iterations=20, iterations=20)",
    "smooth_uct": "smooth_uct(simulations=30)",
}


def state_after(game, *actions):
    state = game.initial_state()
    for action in actions:
        state = game.next_state(state, action)
    return state


# -- all agents


def skip_without_jax(name):
    if name == "belief_search":
        pytest.importorskip("jax")


def test_every_agent_is_tested():
    assert set(QUICK) == set(SEARCH_AGENTS) - {"blueprint_search", "hunl"}  # of tests/play/poker
    needs = {load_search_agent(name).needs for name in SEARCH_AGENTS}
    assert needs == {"tree", "rules", "value network"}


@pytest.mark.parametrize("name", QUICK)
def test_same_seed_same_episode(name):
    skip_without_jax(name)
    game = cp.load_game("leduc_poker")
    agents = AgentLoader(game).load_agents(QUICK[name], "uniform")
    first, second = (play_episode(game, agents, seed=5) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("name", QUICK)
def test_tabulated_agent_equals_the_agent_asked_at_one_state(name):
    skip_without_jax(name)
    tree = game_tree("kuhn_poker")
    (agent,) = AgentLoader(tree.game).load_agents(QUICK[name])
    table = cp.search.tabulate_agent(tree, agent, seed=2)
    again = cp.search.tabulate_agent(tree, agent, seed=2)
    assert (table.policy.probabilities == again.policy.probabilities).all()
    assert table.num_decisions == 12 and table.seconds > 0.0


@pytest.mark.parametrize("name", RULES_AGENTS)
def test_searching_beats_uniform_play_exactly(name):
    """Exploitability of Kuhn poker falls below that of uniform play, 0.458."""
    tree = game_tree("kuhn_poker")
    spec = {"pimc": "pimc", "oos": "oos(simulations=600)"}.get(name, f"{name}(simulations=200)")
    (agent,) = AgentLoader(tree.game).load_agents(spec)
    table = cp.search.tabulate_agent(tree, agent, num_seeds=2)
    assert cp.exploitability(tree, table.policy) < 0.27
    assert len(table.exploitabilities) == 2
    assert table.standard_error >= 0.0


@pytest.mark.parametrize("name", RULES_AGENTS)
def test_dominated_actions_are_avoided(name):
    """A king calls a bet in Kuhn poker, and a jack folds."""
    game = cp.load_game("kuhn_poker")
    agent = load_search_agent(name).make_agent(game, seed=1)
    king, jack = state_after(game, 0, 2, 1), state_after(game, 2, 0, 1)
    assert agent.action_probabilities(king, 1)[1] > 0.85
    assert agent.for_episode(3).action_probabilities(jack, 1)[0] > 0.85


@pytest.mark.parametrize("name", RULES_AGENTS)
def test_three_players_and_one_action(name):
    game = cp.load_game("kuhn_poker(players=3)")
    (agent,) = AgentLoader(game).load_agents(QUICK[name])
    row = agent.action_probabilities(state_after(game, 0, 1, 2), 0)
    assert len(row) == 2 and sum(row) == approx(1.0)


@dataclass(frozen=True)
class Unfindable:
    """A game whose infoset key of the acting player changes at every call."""

    num_players: int = 2

    def initial_state(self):
        return ()

    def player(self, state):
        return len(state) if len(state) < 2 else -2

    def actions(self, state):
        return (0, 1)

    def chance_outcomes(self, state):
        return []

    def next_state(self, state, action):
        return (*state, action)

    def utilities(self, state):
        return (1.0, -1.0)

    def infoset_key(self, state, player):
        return str(random.random())

    def action_name(self, state, action):
        return str(action)


def test_without_a_fitting_state_play_is_uniform(monkeypatch):
    monkeypatch.setattr("counterplay.search.state_sampling.MAX_ATTEMPTS", 50)
    agent = cp.search.ISMCTS(simulations=5).make_agent(Unfindable())
    with pytest.warns(UserWarning, match="is_mcts found no state of .* it plays uniformly there"):
        assert agent.action_probabilities((), 0) == [0.5, 0.5]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("is_mcts(simulations=0)", "simulations is 0, must be at least 1"),
        ("is_mcts(observer=both)", "observer is 'both', must be single or multiple"),
        ("is_mcts(final=best)", "final is 'best', must be visits or most_visited"),
        ("smooth_uct(gamma=2)", "gamma is 2, must be at least 0 and at most 1"),
        ("oos(delta=-1)", "delta is -1"),
        ("pimc(states=3)", "pimc has no parameter 'states'"),
        ("mirror_search(beta=0)", "beta is 0"),
        ("is_mtcs", "unknown search agent 'is_mtcs'; did you mean 'is_mcts'"),
    ],
)
def test_bad_settings(spec, message):
    with pytest.raises(cp.errors.ConfigError, match=message):
        load_search_agent(spec)


# -- states


def test_sampled_states_have_the_probabilities_of_the_tree():
    """Both samplers, at a second-round infoset of Leduc poker reached by calls."""
    tree = game_tree("leduc_poker")
    game = tree.game
    state = state_after(game, 0, 2)  # Js against Qs
    path = [state]
    for action in (1, 1, 4):  # call, call, Ks
        path.append(game.next_state(path[-1], action))
    exact = TreeStateSampler(tree)
    sampler = RulesStateSampler(game, seed=1)
    for step in (path[0], path[3]):
        sampler.histories(step, 0)
    key = game.infoset_key(path[3], 0)
    drawn = sampler.histories(path[3], 0)
    assert all(game.infoset_key(h.state, 0) == key for h in drawn)
    for history in drawn:
        assert state_after(game, *history.actions) == history.state
    cards = {h.state.cards for h in exact.histories(path[3], 0)}
    assert {h.state.cards for h in drawn} == cards and len(cards) == 4
    weights = exact.weights[tree.find_infoset(key, 0)]
    assert max(weights) == approx(min(weights))


def test_out_of_order_questions_are_simulated_from_the_start():
    game = cp.load_game("kuhn_poker")
    sampler = RulesStateSampler(game, seed=0)
    late, other = state_after(game, 1, 2, 0, 1), state_after(game, 0, 1)
    assert {h.state.cards[0] for h in sampler.histories(late, 0)} == {1}
    assert {h.state.cards[0] for h in sampler.histories(other, 0)} == {0}


# -- IS-MCTS


@pytest.mark.parametrize("infoset", ["0", "2", "1b", "2p"])
def test_is_mcts_agrees_with_openspiels(infoset):
    """Shares of visits in Kuhn poker; their constant is in units of utility, a range of 4."""
    pyspiel = pytest.importorskip("pyspiel")
    ismcts = pytest.importorskip("open_spiel.python.algorithms.ismcts")
    mcts = pytest.importorskip("open_spiel.python.algorithms.mcts")
    tree = game_tree("kuhn_poker")
    node = tree.find_infoset(infoset)
    state, player = first_infoset_states(tree)[node], int(tree.infoset_player[node])
    theirs = pyspiel.load_game("kuhn_poker").new_initial_state()
    for action in (*state.cards, *state.bets):
        theirs.apply_action(action)
    rows, other_rows = [], []
    for seed in range(4):
        agent = cp.search.ISMCTS(simulations=1500, observer="multiple").make_agent(tree.game, seed)
        rows.append(agent.action_probabilities(state, player))
        rng = np.random.RandomState(seed)
        bot = ismcts.ISMCTSBot(
            game=theirs.get_game(),
            evaluator=mcts.RandomRolloutEvaluator(1, rng),
            uct_c=2.8,
            max_simulations=1500,
            random_state=rng,
            final_policy_type=ismcts.ISMCTSFinalPolicyType.NORMALIZED_VISITED_COUNT,
        )
        policy, _ = bot.step_with_policy(theirs)
        other_rows.append([p for _, p in sorted(policy)])
    assert np.mean(rows, axis=0) == approx(np.mean(other_rows, axis=0), abs=0.06)


def test_observers_differ_where_an_opponent_knows_more():
    """Player 1's nodes are merged over its cards for a single observer."""
    game = cp.load_game("kuhn_poker")
    for observer, count in ((0, 1), (-1, 2)):
        tree = InfosetTree(game, random.Random(0), observer)
        states = [state_after(game, 0, card, 0) for card in (1, 2)]
        assert len({tree.node_key(state, 1) for state in states}) == count


class OwnKeysOnly(KuhnPoker):
    """Kuhn poker with keys for the acting player only."""

    def infoset_key(self, state, player):
        if player != self.player(state):
            raise ValueError("not your turn")
        return super().infoset_key(state, player)


def test_single_observer_needs_the_keys_of_players_who_wait():
    game = OwnKeysOnly()
    state = state_after(game, 1, 2)
    single, multiple = (
        cp.search.ISMCTS(simulations=50, observer=observer).make_agent(game)
        for observer in ("single", "multiple")
    )
    with pytest.raises(cp.errors.ConfigError, match=r"take is_mcts\(observer=multiple\)"):
        single.action_probabilities(state, 0)
    assert sum(multiple.action_probabilities(state, 0)) == approx(1.0)


# -- PIMC


def test_pimc_cannot_bluff():
    """With all cards open, a jack never gains by betting; OOS still bets with it."""
    tree = game_tree("kuhn_poker")
    (agent,) = AgentLoader(tree.game).load_agents("pimc(num_states=200)")
    table = cp.search.tabulate_agent(tree, agent)
    assert table.policy["2b"]["bet"] == 1.0 and table.policy["0b"]["bet"] == 0.0


def test_pimc_with_a_depth_limit_uses_episodes():
    game = cp.load_game("leduc_poker")
    agent = cp.search.PIMC(num_states=20, max_depth=1).make_agent(game, seed=1)
    row = agent.action_probabilities(state_after(game, 0, 2), 0)
    assert sum(row) == approx(1.0)


# -- OOS


def make_plain_oos(tree, delta, seed):
    """Return the agent of the rules, in Python, with all histories of a tree as known ones."""
    settings = cp.search.OOS(delta=delta)
    return HiddenSearchAgent(tree.game, settings.search, settings, seed, TreeStateSampler(tree))


def run_oos(simulations, delta, target):
    """Return the policy of all infosets after simulations that aim at one infoset of Kuhn."""
    tree = game_tree("kuhn_poker")
    agent = make_plain_oos(tree, delta, 3)
    infoset = tree.find_infoset(target)
    state, player = first_infoset_states(tree)[infoset], int(tree.infoset_player[infoset])
    request = SearchRequest(agent, state, player, tuple(tree.game.actions(state)))
    run = _OOSRun(agent.settings, request)
    for _ in range(simulations):
        run.simulate()
    rows = {}
    for (player, key), infoset in agent.memory.items():
        total = sum(infoset.policy_sum)
        if total > 0.0:
            names = tree.action_names(tree.find_infoset(key, player))
            shares = [weight / total for weight in infoset.policy_sum]
            rows[player, key] = dict(zip(names, shares, strict=True))
    return tree, cp.Policy.from_dict(tree, rows)


@pytest.mark.parametrize(("delta", "target"), [(0.0, "0"), (0.5, "0pb"), (0.9, "1p")])
def test_oos_converges_with_and_without_targeting(delta, target):
    """Weighted episodes keep regrets unbiased: the whole policy improves, not the target alone."""
    tree, policy = run_oos(12_000, delta, target)
    assert cp.exploitability(tree, policy) < 0.1


@pytest.mark.parametrize("delta", [0.0, 0.5, 0.9])
def test_sampled_regrets_are_unbiased_for_any_targeting(delta):
    """The mean of first updates is the exact regret of uniform play, at all infosets."""
    tree = game_tree("kuhn_poker")
    agent = make_plain_oos(tree, delta, 4)
    state = first_infoset_states(tree)[tree.find_infoset("0pb")]
    run = _OOSRun(agent.settings, SearchRequest(agent, state, 0, (0, 1)))
    count, total, squares = 8_000, np.zeros(24), np.zeros(24)
    for _ in range(count):
        agent.memory.clear()
        run.simulate()
        for (player, key), infoset in agent.memory.items():
            first = tree.offset[tree.find_infoset(key, player)]
            total[first : first + 2] += infoset.regret
            squares[first : first + 2] += np.square(infoset.regret)
    mean = 2.0 * total / count  # each player is updated in half of the simulations
    error = 2.0 * np.sqrt(squares) / count
    exact = cp.infoset_values(tree, cp.uniform_policy(tree)).regret
    assert (np.abs(mean - exact) < 4.5 * error + 1e-9).all()
    assert (error < 0.1).all()


def test_targeting_visits_the_target_more_often():
    counts = []
    for delta in (0.0, 0.9):
        tree = game_tree("kuhn_poker")
        agent = make_plain_oos(tree, delta, 3)
        state = first_infoset_states(tree)[tree.find_infoset("0pb")]
        request = SearchRequest(agent, state, 0, (0, 1))
        run = _OOSRun(agent.settings, request)
        visits = 0
        for _ in range(300):
            before = list(run.infoset(0, "0pb", 2).regret)
            run.simulate()
            visits += before != run.infoset(0, "0pb", 2).regret
        counts.append(visits)
    assert counts[1] > 3 * counts[0]


# -- one-step mirror descent


def test_mirror_step_by_hand():
    """exp(q) rho^alpha pi^beta, to the power 1 / (alpha + beta), normalised."""
    values, prior, alpha, beta = [0.3, -0.1, 0.2], [0.2, 0.5, 0.3], 0.05, 0.4
    weights = np.exp(values) * (1 / 3) ** alpha * np.array(prior) ** beta
    weights **= 1 / (alpha + beta)
    assert mirror_step(values, prior, alpha, beta) == approx(weights / weights.sum())
    assert mirror_step([1.0, 0.0], [0.0, 1.0], 0.1, 0.1) == [0.0, 1.0]
    assert mirror_step([0.5, 0.5], [0.3, 0.7], 0.0, 1.0) == approx([0.3, 0.7])


def test_mirror_search_improves_a_poor_blueprint():
    tree = game_tree("leduc_poker")
    blueprint = cp.uniform_policy(tree)
    agent = cp.search.MirrorSearch(alpha=0.0, beta=0.1).make_agent(tree, blueprint)
    policy = cp.search.tabulate_agent(tree, agent).policy
    assert cp.exploitability(tree, policy) < 0.9 * cp.exploitability(tree, blueprint)
    assert cp.search.MirrorSearch(beta=1e6).make_agent(tree, blueprint).action_probabilities(
        first_infoset_states(tree)[0], 0
    ) == approx([0.5, 0.5], abs=1e-5)


def test_rollouts_estimate_the_exact_values():
    tree = game_tree("kuhn_poker")
    blueprint = cp.solve(tree, "cfr", iterations=20).policy
    settings = cp.search.MirrorSearch(rollouts=4000, beta=1.0)
    agent = settings.make_agent(tree, blueprint, seed=1)
    exact = cp.search.MirrorSearch(beta=1.0).make_agent(tree, blueprint)
    for key in ("0", "1", "2"):
        infoset = tree.find_infoset(key)
        state = first_infoset_states(tree)[infoset]
        rows = [a.action_probabilities(state, 0) for a in (agent, exact)]
        assert rows[0] == approx(rows[1], abs=0.02)
