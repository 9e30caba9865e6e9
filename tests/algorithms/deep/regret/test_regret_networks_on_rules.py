"""Regrets from episodes on rules that are never unrolled, compared with those of the tree."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import critics, replay, rollouts  # noqa: E402
from counterplay.algorithms.deep.common.episodes import (  # noqa: E402
    behaviour_from_table,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import graph_from_tree, host_graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.network_policy import NetworkPolicy  # noqa: E402
from counterplay.algorithms.deep.common.networks import (  # noqa: E402
    PredictiveNets,
    apply_net,
    new_nets,
    select_player,
    uniform,
)
from counterplay.algorithms.deep.common.tree_or_rules import env_from_arena  # noqa: E402
from counterplay.algorithms.deep.regret.rules_sampler import RulesSampler  # noqa: E402
from counterplay.algorithms.deep.regret.sampler import SamplingScheme  # noqa: E402
from counterplay.registry import load_algorithm  # noqa: E402
from tests.algorithms.deep.regret.test_regret_networks import EPSILON, expected  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

BIDS = "goofspiel(num_cards=3,points_order=descending,imp_info=true)"
SCHEMES = {"dream": (EPSILON, 1.0), "vr": (EPSILON, 0.0), "escher": (1.0, 0.0)}


def critic_inputs(tree):
    """Return the inputs of a critic on rules at all decisions of a tree [D, Y], and their nodes."""
    graph, decisions = host_graph_from_tree(tree), np.flatnonzero(tree.player >= 0)
    seen = np.concatenate([graph.observation[view] for view in graph.observation_row], axis=1)
    last = np.full((tree.num_nodes, tree.num_players), -1)
    for node in range(1, tree.num_nodes):
        above = tree.parent[node]
        last[node] = last[above]
        if (who := tree.player[above]) >= 0:
            place = tree.offset[tree.infoset[above]] + node - tree.child_offset[above]
            last[node, who] = tree.sequence_action[place]
    most = int(tree.sequence_action.max()) + 1
    inputs = critics.append_turn(seen, tree.player[decisions], last[decisions], most)
    return np.asarray(inputs), decisions


def tabulate_critic(tree, net, unit):
    """Return the critic's value of every node to each player [N, P]."""
    known, decisions = critic_inputs(tree)
    said = unit * np.asarray(apply_net(net, known)).reshape(len(known), -1, tree.num_players)
    value = np.zeros((tree.num_nodes, tree.num_players))
    for row, node in enumerate(decisions):
        first = tree.offset[tree.infoset[node]]
        for k, child in enumerate(range(*tree.child_offset[node : node + 2])):
            value[child] = said[row, tree.sequence_action[first + k]]
    return value


@pytest.mark.parametrize("scheme", SCHEMES)
def test_expected_targets_are_those_of_the_tree(kuhn, scheme):
    """With the same random networks; those of the tree by enumeration of all episodes."""
    rules, rng = env_from_arena(cp.RulesArena(cp.games.KuhnPoker())), np.random.default_rng(5)
    nets = new_nets(rng, 2, (rules.num_features, 8, 2))
    critic = select_player(new_nets(rng, 1, (2 * (rules.num_features + 3), 8, 4)), 0)
    policy = NetworkPolicy(cp.games.KuhnPoker(), (nets,), "regret_matching").tabulate(kuhn)
    graph, guess = host_graph_from_tree(kuhn), tabulate_critic(kuhn, critic, rules.largest_utility)
    sampler = RulesSampler(cp.algorithms.DREAM(num_traversals=12_000, reservoir_size=1), rules)
    precise = 0
    for player in range(2):
        total, weight = expected(kuhn, policy, scheme, player, guess)
        how = SamplingScheme(player, *SCHEMES[scheme], 1.0, 1.0, correct_critic=scheme != "escher")
        key = jax.random.PRNGKey(player)
        found = sampler.sample_episode_regrets(nets, how, critic, key)
        for infoset in np.flatnonzero(kuhn.infoset_player == player):
            first = kuhn.offset[infoset]
            own = graph.observation[graph.own_observation_row[infoset]]
            mine = (found.observation == own).all(1)
            if not weight[first]:
                assert not mine.any()
                continue
            w, regret = found.weight[mine, None].astype(float), found.regret[mine]
            mean = (w * regret).sum(0) / w.sum()
            error = np.sqrt((w**2 * (regret - mean) ** 2).sum(0)) / w.sum()
            exact = total[first : first + 2] / weight[first]
            assert (np.abs(mean - exact) < 4.5 * error + 1e-4).all()
            assert w.sum() / 12_000 == approx(weight[first], rel=0.2)
            precise += error.max() < 0.2
    assert precise >= 4


def episodes_of(rules, count, size):
    """Return the decisions of uniform episodes in a ring, the episodes, and last actions."""

    def ask(seen, legal):
        return (legal / legal.sum(1, keepdims=True),) * 2

    met, _ = rollouts.play_episodes(rules, ask, np.random.default_rng(1), count)
    ring = replay.new_transitions(rules, size)
    last = np.asarray(critics.last_actions(met.episodes, rules.num_players))
    replay.add_transitions(ring, met, last)
    return ring, met, last


def test_a_ring_keeps_the_latest_decisions():
    rules = env_from_arena(cp.RulesArena(cp.load_game(BIDS)))
    ring, met, last = episodes_of(rules, 20, 100)
    assert ring.num_seen[0] == 80  # two rounds: the last bids are forced
    assert ring.player[:80].reshape(20, 4).tolist() == [[0, 1, 0, 1]] * 20
    assert ring.is_last_decision[:80].reshape(20, 4).tolist() == [[False, False, False, True]] * 20
    actions = ring.action[:80].reshape(20, 4).copy()
    for turn, before in enumerate([(None, None), (0, None), (0, 1), (2, 1)]):
        for player, place in enumerate(before):
            known = ring.last_action[turn:80:4, player]
            assert (known == (-1 if place is None else actions[:, place])).all()
    replay.add_transitions(ring, met, last)
    assert ring.num_seen[0] == 160 and (ring.weight == 1.0).all()
    assert (ring.action[80:].tolist() + ring.action[:60].tolist()) == actions.ravel().tolist()


def test_a_critic_learns_the_exact_values_on_rules():
    """Of uniform play, the face-down bid included."""
    tree, rules = game_tree(BIDS), env_from_arena(cp.RulesArena(cp.load_game(BIDS)))
    ring = episodes_of(rules, 600, 3000)[0]
    rng = np.random.default_rng(0)
    choices = cp.algorithms.DREAM(
        critic_lookahead=2,
        critic_target_updates=4,
        critic_train_steps=300,
        critic_learning_rate=3e-3,
        critic_batch_size=128,
        critic_hidden_sizes=(32, 32),
    )
    nets = new_nets(rng, 2, (rules.num_features, 4, rules.num_actions), zero_head=True)
    critic = critics.new_rules_critic("dream", choices, rules, rng)
    critic = critics.fit_rules_critic(choices, rules, ring, critic, nets, jax.random.PRNGKey(0))
    net = select_player(critic.params, 0)
    exact = critics.exact_step_values(tree, cp.uniform_policy(tree).probabilities)
    after = critics.index_histories(tree).child_node
    said = tabulate_critic(tree, net, rules.largest_utility)
    assert said[after] == approx(exact[after], abs=0.15)
    assert np.ptp(exact[after], axis=0).min() > 1.5


def test_fits_finish_before_their_buffers_change():
    """JAX copies large host arrays asynchronously, so a fit that returns early would race.

    The critic's transitions decay right after its fit, and the reservoirs of policies change in
    the next iteration, which needs no result of the average network's fit.
    """
    env = env_from_arena(cp.RulesArena(cp.games.KuhnPoker()))
    algorithm = cp.algorithms.VRDeepDCFRPlus(reservoir_size=50_000, num_traversals=50)
    sampler = RulesSampler(algorithm, env)
    state = algorithm.init_state(sampler, np.random.default_rng(0))
    ring, key = sampler.arrays.transitions, jax.random.PRNGKey(0)
    ring.num_seen[0] = ring.weight.size
    ring.weight[:] = 1.0
    critic, _ = sampler.fit_critic(algorithm, state.critic, state.nets.params, key)
    assert all(leaf.is_ready() for leaf in jax.tree.leaves(critic))
    network = sampler.fit_average(state.averages.network, key)
    assert all(leaf.is_ready() for leaf in jax.tree.leaves(network))


def test_critics_of_gradients_know_bids_that_no_player_sees(kuhn):
    tree = game_tree(BIDS)
    assert critics.is_history_observable(
        graph_from_tree(kuhn)
    ) and not critics.is_history_observable(graph_from_tree(tree))
    graph, critic = graph_from_tree(tree), critics.NetworkCritic((4,), 0.01)
    net = critic.init_memory(graph, np.random.default_rng(0)).params
    episodes = sample_episodes(
        graph, behaviour_from_table(uniform(graph.legal)), jax.random.PRNGKey(0), 60
    )
    seen = np.asarray(critics.joint_observations(graph, episodes, net))
    known, decisions = critic_inputs(tree)
    met = np.unique(np.asarray(episodes.decision)[np.asarray(episodes.live)])
    assert seen.shape == known.shape == (graph.num_decisions, net[0][0].shape[0])
    second = met[tree.parent[decisions[met]] == 0]  # one bid is on the table
    assert len(second) == len(np.unique(seen[second], axis=0)) == 3
    assert len(np.unique(seen[met], axis=0)) == len(met)
    assert seen[met].sum(1) == approx(known[met].sum(1))


SMALL_NETS = (
    "hidden_sizes=(16,),critic_hidden_sizes=(16,),critic_target_updates=3,critic_batch_size=64,"
    "reservoir_size=4000"
)


PI = ",average_hidden_sizes=(16,),average_train_steps=10"


@pytest.mark.parametrize("name", ["dream", "escher", "vr_deep_pdcfr_plus"])
def test_learns_on_rules(kuhn, name):
    arena = cp.RulesArena(cp.games.KuhnPoker())
    more = (
        "critic_learning_rate=0.003,critic_buffer_size=4000,num_traversals=32,train_steps=40,"
        "batch_size=64,learning_rate=0.005"
    )
    algorithm = load_algorithm(f"{name}({SMALL_NETS},{more}{PI if name != 'dream' else ''})")
    memory = algorithm.step(arena, algorithm.init(arena, 0), 40)
    found = algorithm.policies(arena, memory)
    assert list(found)[-2:] == ["ensemble", "current"]
    assert memory.nodes_touched > 40 * 2 * 32 * 3
    assert cp.exploitability(kuhn, found["ensemble"].tabulate(kuhn)) < 0.15  # uniform play: 11/24


def test_an_ensemble_that_predicts_is_the_average(kuhn):
    """Past networks with their predictions: all of them kept, they play what was played."""
    small = {"hidden_sizes": (8,), "average_hidden_sizes": (8,), "critic_hidden_sizes": (8,)}
    small |= {"critic_target_updates": 1}
    algorithm = cp.algorithms.VRDeepPDCFRPlus(num_traversals=20, train_steps=10, **small)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 6)
    policies = algorithm.policies(kuhn, memory)
    average = policies["average"].probabilities
    assert policies["ensemble"].probabilities == approx(average, abs=1e-4)
    assert isinstance(memory.state.averages.ensemble, PredictiveNets)


def test_refusals_of_what_only_a_tree_has(kuhn):
    init = partial(load_algorithm, reservoir_size=100)
    rules, three = (cp.RulesArena(cp.games.KuhnPoker(players=n)) for n in (2, 3))
    for name in ("dream", "escher", "vr_deep_dcfr_plus", "vr_deep_pdcfr_plus"):
        with pytest.raises(cp.ConfigError, match="exact_critic is a pass over the tree"):
            init(name, exact_critic=True).init(rules)
    with pytest.raises(cp.ConfigError, match="take sd_cfr or dream"):
        init("escher").init(three)
    with pytest.raises(cp.ConfigError, match="needs a two-player zero-sum game"):
        init("vr_deep_dcfr_plus").init(three)
    with pytest.raises(cp.ConfigError, match=r"critic_buffer_size is 10{12}: these take"):
        init("dream", critic_buffer_size=10**12).init(rules)
    with pytest.raises(cp.ConfigError, match="reservoir_size is for rules"):
        init("vr_deep_dcfr_plus").init(kuhn)


def sample_kuhn(config):
    """Return a sampler after some traversals of Kuhn poker."""
    rules = env_from_arena(cp.RulesArena(cp.games.KuhnPoker()))
    sampler = RulesSampler(config, rules)
    nets = new_nets(np.random.default_rng(0), 2, (rules.num_features, 8, 2))
    for n in range(3):
        sampler.collect_external(nets, 0, 1.0, jax.random.PRNGKey(n))
    return sampler


def test_samples_refer_to_their_distinct_infosets():
    sampler = sample_kuhn(cp.algorithms.SDCFR(num_traversals=40, reservoir_size=100))
    samples, data = sampler.arrays.regret_samples[0], sampler.regret_data(0)
    assert data.group_by_infoset and data.num_filled == 100 < int(samples.num_seen[0])
    assert int(samples.infosets.num_known[0]) == 6  # the first player has six infosets
    rows = np.asarray(data.graph.observation)
    assert len(rows) >= 6 and len(np.unique(rows[:6], axis=0)) == 6
    assert (rows[data.infoset] == samples.observation).all()
    assert (np.asarray(data.graph.legal)[data.infoset] == samples.legal).all()


def test_many_distinct_infosets_are_fitted_one_by_one():
    config = cp.algorithms.SDCFR(num_traversals=40, reservoir_size=100, batch_size=5)
    sampler = sample_kuhn(config)
    samples, data = sampler.arrays.regret_samples[0], sampler.regret_data(0)
    assert not samples.infosets.is_complete
    assert set(samples.infoset) >= {-1, 0, 1, 2, 3, 4}
    assert not data.group_by_infoset
    assert (np.asarray(data.graph.observation) == samples.observation).all()
