"""Regret networks: estimators by enumeration, tables as special cases, reservoirs, convergence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from pytest import approx
from scipy.stats import chisquare

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import critics  # noqa: E402
from counterplay.algorithms.deep.common.networks import apply_net, new_net  # noqa: E402
from counterplay.algorithms.deep.common.training import mean_squared_error  # noqa: E402
from counterplay.algorithms.deep.regret import base, config, tree_sampler  # noqa: E402
from counterplay.algorithms.deep.regret.sampler import uniform_scheme  # noqa: E402
from counterplay.algorithms.deep.regret.tree_sampler import TreeSampler  # noqa: E402
from counterplay.arenas.tree.sampling_view import node_rows  # noqa: E402
from counterplay.kernels.sampling import regret_samples  # noqa: E402
from counterplay.kernels.sampling.types import RegretSamples  # noqa: E402
from counterplay.kernels.sequence_form import sweeps  # noqa: E402
from tests.algorithms.deep.test_deep_hedge import OneHotKuhn  # noqa: E402
from tests.algorithms.mccfr.blocks import arena, every_block, kernels, scratch, table  # noqa: E402
from tests.conftest import game_tree  # noqa: E402
from tests.random_games import RandomGame  # noqa: E402

EPSILON = 0.3
GAMES = ["kuhn_poker", RandomGame(seed=2, max_depth=5), RandomGame(seed=13, num_players=3)]
WALKS = {"external": 1.0, "dream": 1.0, "vr": 0.0, "escher": 0.0}  # power of the own reach


def tree_of(game):
    return game_tree(game) if isinstance(game, str) else cp.build_tree(game)


def sums(tree):
    nothing = np.zeros(0)
    size, none = tree.num_sequences, np.zeros((0, tree.max_actions))
    return RegretSamples(np.zeros(size), np.zeros(size), np.zeros(1, int), nothing, nothing, none)


def expected(tree, policy, scheme, p, critic):
    """Return the expected sums and weights that a traversal stores."""
    world, total, weight = arena(tree), 0.0, 0.0

    def run(pick):
        k, found = kernels(regret_samples, pick), sums(tree)
        rest = (world, table(tree, policy), scratch(), found)
        visits, luck = np.zeros(tree.num_nodes), [0.0, 1.0]
        if scheme == "external":
            k.external_walk(p, 1.0, luck, *rest[:3])
            for m in range(rest[2].counters[1]):
                k.store_regrets(
                    world.nodes[rest[2].pending_nodes[m]], 1.0, rest[1].regret, found, None
                )
        elif scheme == "escher":
            length = k.sample_episode(p, 1.0, luck, *rest[:3])
            k.record_episode(p, 1.0, length, *rest[:3], visits)
            k.store_critic_regrets(p, 1.0, length, critic, *rest)
        else:
            length = k.sample_episode(p, EPSILON, luck, *rest[:3])
            k.store_corrected_regrets(p, EPSILON, WALKS[scheme], 1.0, length, critic, *rest)
        assert not rest[1].regret.any()
        return found

    for probability, found in every_block(run):
        total = total + probability * found.regret_sum
        weight = weight + probability * found.weight_sum
    return total, weight


def sampling_reach(tree, policy, p, epsilon):
    """Return the reach [S] of a player that mixes its policy with uniform play; 1 for others."""
    odds = policy.probabilities.copy()
    counts = np.repeat(tree.num_actions, tree.num_actions)
    mixed = epsilon / counts + (1.0 - epsilon) * odds
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    form, reach = tree.form, np.ones(tree.num_sequences + 1)
    played = np.append(np.where(owner == p, mixed, 1.0), 1.0)
    sweeps.forward(form, 0, form.parent.size, played, reach)
    return np.repeat(reach[form.parent], tree.num_actions)


@pytest.mark.parametrize("scheme", WALKS)
@pytest.mark.parametrize("game", GAMES, ids=str)
def test_expected_targets_are_the_exact_regrets(game, scheme):
    """For any critic, except that of ESCHER, which must be exact."""
    tree = tree_of(game)
    policy = cp.random_policy(tree, seed=1)
    exact = cp.infoset_values(tree, policy)
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    critic = np.random.default_rng(3).normal(size=(tree.num_nodes, tree.num_players), scale=3.0)
    if scheme == "escher":
        critic = critics.exact_step_values(tree, policy.probabilities)
    first = np.repeat(tree.offset[:-1], tree.num_actions)
    for p in range(tree.num_players):
        total, weight = expected(tree, policy, scheme, p, critic)
        own = np.ones(tree.num_sequences)
        if scheme in ("vr", "escher"):
            own = sampling_reach(tree, policy, p, 1.0 if scheme == "escher" else EPSILON)
        assert total == approx(np.where(owner == p, own * exact.regret, 0.0), abs=1e-9)
        met = np.repeat(exact.cf_reach, tree.num_actions)
        assert weight[first] == approx(np.where(owner == p, own * met, 0.0), abs=1e-9)


def test_an_exact_critic_leaves_no_noise(kuhn):
    """After the deal only actions are sampled: all samples of a node are equal."""
    policy = cp.random_policy(kuhn, seed=2)
    critic = critics.exact_step_values(kuhn, policy.probabilities)
    found, world = {}, arena(kuhn)

    def run(pick):
        k, room, kept = kernels(regret_samples, pick), scratch(), table(kuhn, policy)
        length = k.sample_episode(0, EPSILON, [0.0, 1.0], world, kept, room)
        k.store_corrected_regrets(
            0, EPSILON, 1.0, 1.0, length, critic, world, kept, room, sums(kuhn)
        )
        own = [d for d in range(length) if world.nodes[room.node[d]].player == 0]
        one = sums(kuhn)
        k.store_corrected_regrets(0, EPSILON, 0.0, 1.0, length, critic, world, kept, room, one)
        return tuple(room.node[d] for d in own), one.regret_sum.copy()

    for _, (path, total) in every_block(run):
        assert found.setdefault(path, total) == approx(total, abs=1e-12)
    assert len(found) == 12  # six deals, with or without a second decision


def test_chance_is_even_over_a_batch(kuhn):
    """Every deal in proportion to its probability, up to a fraction of one traversal."""
    for count in (6, 20, 600):
        sampler = TreeSampler(cp.algorithms.ESCHER(num_traversals=count), kuhn)
        critic, key = np.zeros((kuhn.num_nodes, 2)), jax.random.PRNGKey(count)
        sampler.collect_outcomes(None, uniform_scheme(0, 1.0, correct_critic=False), critic, key)
        deals = sampler.arrays.visits[kuhn.level_offset[2] : kuhn.level_offset[3]]
        assert deals.sum() == count and np.abs(deals - count / 6).max() < 1
        touched = sampler.arrays.nodes_touched
        assert touched[0] - touched[1] == 2 * count


@pytest.mark.parametrize("even", [True, False])
def test_stratified_chance_is_unbiased_in_long_games(even):
    """Pairs of successive chance outcomes, also after the quantile has no digits left."""
    likely = np.array([0.2, 0.5, 0.3])
    luck, rng, count = np.zeros(2), np.array([5], np.uint64), 300
    found = np.zeros((40, 3, 3))
    for batch in range(20):
        x = regret_samples.draw_batch_offset(0, count, batch, even, rng)
        for w in range(count):
            regret_samples.set_chance_quantile(w, count, x, luck)
            path = [regret_samples.sample_chance(likely, 0, 3, luck, rng) for _ in range(41)]
            found[np.arange(40), path[:-1], path[1:]] += 1
    wanted = 20 * count * np.outer(likely, likely)
    if even:
        assert found[0] == approx(wanted, abs=20)
    for pairs in found[20:]:
        assert chisquare(pairs.ravel(), wanted.ravel()).pvalue > 1e-5


def make_linear(algorithm, **values):
    """Return the algorithm with a linear network, which its constructor refuses."""
    for name, value in ({"hidden_sizes": ()} | values).items():
        object.__setattr__(algorithm, name, value)
    return algorithm


def match_regrets(tree, regret):
    """Return the policy of regret matching; all on the largest if no regret is positive."""
    result = np.zeros(tree.num_sequences)
    for first, last in zip(tree.offset[:-1], tree.offset[1:], strict=True):
        row = np.maximum(regret[first:last], 0.0)
        best = regret[first:last] == regret[first:last].max()
        result[first:last] = row / row.sum() if row.sum() > 0 else best / best.sum()
    return result


def test_a_linear_network_is_tabular_linear_cfr():
    """One-hot inputs, fitted to the optimum: regret matching on the sum of t times the samples."""
    tree = cp.build_tree(OneHotKuhn())
    algorithm = make_linear(
        cp.algorithms.SDCFR(
            num_traversals=20, train_steps=3000, learning_rate=0.05, ensemble_size=0
        )
    )
    memory = algorithm.init(tree)
    for _ in range(4):
        memory = algorithm.step(tree, memory)
        walks = memory.state.sampler
        total = walks.regret_samples[0].regret_sum + walks.regret_samples[1].regret_sum
        weight = walks.regret_samples[0].weight_sum + walks.regret_samples[1].weight_sum
        met = np.repeat(weight[tree.offset[:-1]] > 0, tree.num_actions)
        ours = walks.policy[: tree.num_sequences]
        assert ours[met] == approx(match_regrets(tree, total)[met], abs=2e-3)
        assert met.mean() > 0.7


@pytest.mark.parametrize("predict", [False, True])
def test_a_linear_network_is_tabular_dcfr_plus(predict):
    """R = d max(R, 0) + r, and with prediction one r more, on the same mean regrets."""
    tree = cp.build_tree(OneHotKuhn())
    kind = cp.algorithms.VRDeepPDCFRPlus if predict else cp.algorithms.VRDeepDCFRPlus
    algorithm = make_linear(kind(train_steps=3000, learning_rate=0.05, ensemble_size=0))
    state = algorithm.init(tree).state
    rng, regret = np.random.default_rng(1), np.zeros(tree.num_sequences)
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    for t in range(1, 5):
        latest = rng.normal(size=tree.num_sequences)
        for player in range(2):
            weight = rng.uniform(1.0, 2.0, tree.num_infosets)
            sampler = TreeSampler(algorithm, tree, state.sampler)
            batch = tree_sampler.regret_batch(tree, player, latest, weight)
            key = jax.random.PRNGKey(t)
            state = algorithm.fit_player(sampler, t, state, player, batch, key)
        x, y = (t - 1.0) ** algorithm.alpha, float(t) ** algorithm.alpha
        regret = (
            np.maximum(regret, 0.0) * x / (x + algorithm.discount_constant) + latest / 2.0
        )  # utilities to 2
        wanted = regret
        if predict:
            wanted = np.maximum(regret, 0.0) * y / (y + algorithm.discount_constant) + latest / 2.0
        assert owner.size and state.sampler.policy[: tree.num_sequences] == approx(
            match_regrets(tree, wanted), abs=3e-3
        )


@pytest.mark.parametrize(("rounds", "depth"), [(20, 1), (1, 4)])
def test_the_critic_learns_the_exact_values(kuhn, rounds, depth):
    steps = 1000 // rounds
    algorithm = cp.algorithms.DREAM(
        critic_lookahead=depth,
        critic_target_updates=rounds,
        critic_train_steps=steps,
        critic_learning_rate=3e-3,
    )
    policy, visits = cp.random_policy(kuhn, seed=4).probabilities, np.ones(kuhn.num_nodes)
    critic = critics.new_tree_critic(algorithm, kuhn, np.random.default_rng(0))
    for n in range(3):
        key = jax.random.PRNGKey(n)
        critic, values = critics.fit_tree_critic(algorithm, kuhn, policy, visits, critic, key)
    after = critics.index_histories(kuhn).child_node
    exact = critics.exact_step_values(kuhn, policy)
    assert values[after] == approx(exact[after], abs=0.1)
    assert np.abs(exact[after]).max() > 1.5


def test_a_critic_knows_bids_that_nobody_sees():
    tree = game_tree("goofspiel(num_cards=3,points_order=descending,imp_info=true)")
    known = critics.index_histories(tree)
    second = np.flatnonzero(tree.parent[known.decisions] == 0)  # one bid is on the table
    assert len(second) == len(np.unique(known.joint_observation[second], axis=0)) == 3


def test_reservoirs_include_every_item_alike(kuhn):
    node = node_rows(kuhn)[np.flatnonzero(kuhn.player == 0)[0]]
    offered, room, repeats = 24, 6, 3000
    found = np.zeros(offered)
    rng, regret = np.array([7], np.uint64), np.zeros(kuhn.num_sequences)
    empty = np.zeros(0)
    for _ in range(repeats):
        slots = np.zeros(room, np.int64), np.zeros(room), np.zeros((room, 2), np.float32)
        replay = RegretSamples(empty, empty, np.zeros(1, np.int64), *slots)
        for k in range(offered):
            regret_samples.store_regrets(node, float(k), regret, replay, rng)
        found[replay.sample_weight.astype(int)] += 1
    assert found.sum() == room * repeats
    assert chisquare(found).pvalue > 1e-3


def test_illegal_actions_move_nothing():
    outputs, target = jnp.ones((4, 3)), jnp.zeros((4, 3))
    legal = jnp.array([[True, True, False]] * 4)
    slope = jax.grad(mean_squared_error)(outputs, target, jnp.arange(4.0), legal)
    assert (slope[:, 2] == 0.0).all() and (slope[1:, :2] != 0.0).all()


def test_means_of_a_minibatch_have_its_gradient():
    rng = np.random.default_rng(2)
    outputs, target = rng.normal(size=(5, 3)), rng.normal(size=(40, 3))
    place, weight = rng.integers(0, 5, 40), rng.uniform(size=40)
    legal = jnp.array(rng.uniform(size=(5, 3)) < 0.7)
    mean, total = base.mean_by_infoset(place, target, weight, 5)
    together = jax.grad(lambda x: mean_squared_error(x, mean, total, legal))(outputs)
    alone = jax.grad(lambda x: mean_squared_error(x[place], target, weight, legal[place]))(outputs)
    assert together == approx(np.asarray(alone), abs=1e-6) and np.abs(alone).max() > 0.01


def test_gradients_against_finite_differences():
    rng = np.random.default_rng(0)
    net, x = new_net(rng, (5, 8, 3)), rng.normal(size=(6, 5)).astype("f4")
    target, weight = rng.normal(size=(6, 3)).astype("f4"), rng.uniform(size=6).astype("f4")
    legal = jnp.array(rng.uniform(size=(6, 3)) < 0.7)

    def loss(net):
        return mean_squared_error(apply_net(net, x), target, weight, legal)

    check_grads(loss, (net,), order=1, modes=["rev"], eps=1e-2, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("spec", ["sd_cfr", "deep_cfr", "dream", "escher"])
def test_any_number_of_players(spec):
    tree = game_tree("kuhn_poker(players=3)")
    before = cp.exploitability(tree, cp.uniform_policy(tree))
    small = cp.load_algorithm(spec, num_traversals=100, hidden_sizes=(32,), ensemble_size=10)
    result = cp.solve(tree, small, iterations=30)
    assert result.exploitability < 0.4 * before


def test_a_reservoir_learns_too(kuhn):
    algorithm = cp.algorithms.SDCFR(
        reservoir_size=4000,
        batch_size=64,
        train_steps=300,
        learning_rate=0.01,
        hidden_sizes=(32,),
        warm_start=False,
    )
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 60)
    policies = algorithm.policies(kuhn, memory)
    assert list(policies) == ["average", "ensemble", "current"]
    assert cp.exploitability(kuhn, policies["average"]) < 0.06


@pytest.mark.parametrize("warm_start", [True, False])
def test_networks_are_trained_from_scratch_without_a_warm_start(warm_start, kuhn):
    """At a rate of zero, networks of consecutive fits differ only if they are drawn anew."""
    algorithm = cp.algorithms.SDCFR(
        learning_rate=0.0, warm_start=warm_start, num_traversals=2, train_steps=1, ensemble_size=0
    )
    weights, memory = [], algorithm.init(kuhn)
    for _ in range(2):
        memory = algorithm.step(kuhn, memory, 1)
        weights.append([np.array(leaf) for leaf in jax.tree.leaves(memory.state.nets.params)])
    changes = [np.abs(a - b).max() for a, b in zip(*weights, strict=True)]
    assert (max(changes) == 0.0) == warm_start


def test_fits_take_more_steps_as_the_memory_grows(kuhn):
    algorithm = cp.algorithms.SDCFR(
        num_traversals=5, train_steps=10, train_steps_power=0.5, ensemble_size=0
    )
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 9)
    taken = [leaf for leaf in jax.tree.leaves(memory.state.nets.opt_state) if leaf.ndim == 1]
    assert taken[0].tolist() == [sum(round(10 * t**0.5) for t in range(1, 10))] * 2


def test_a_network_answers_as_the_exact_average_does(kuhn):
    algorithm = replace(cp.algorithms.DeepCFR(), num_traversals=50, ensemble_size=1000)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 60)
    policies = algorithm.policies(kuhn, memory)
    assert list(policies) == ["network", "average", "ensemble", "current"]
    average = policies["average"].probabilities
    assert policies["ensemble"].probabilities == approx(average, abs=1e-4)  # all were kept
    assert np.abs(policies["network"].probabilities - average).mean() < 0.05


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sd_cfr(hidden_sizes=())", "sd_cfr: hidden_sizes is .*, must be at least one layer"),
        ("deep_cfr(average_hidden_sizes=())", "average_hidden_sizes is .*, must be at least one"),
        ("dream(critic_hidden_sizes=(0,))", "critic_hidden_sizes is .*, must be at least one"),
        ("dream(epsilon=0)", "epsilon is 0, must be positive and at most 1"),
        ("sd_cfr(max_grad_norm=0)", "max_grad_norm is 0, must be positive"),
        ("sd_cfr(ensemble_size=-1)", "ensemble_size is -1, must be at least 0"),
        ("escher(critic_sample_decay=1.5)", "critic_sample_decay is 1.5, must be positive and at"),
        ("sd_cfr(num_traversals=0)", "num_traversals is 0, must be at least 1"),
        ("escher(batch_size=4)", "batch_size is for a reservoir"),
        ("sd_cfr(train_steps_power=-1)", "train_steps_power is -1, must be at least 0"),
        ("vr_deep_dcfr_plus(alpha=-1)", "alpha is -1, must be at least 0"),
        ("vr_deep_pdcfr_plus(batch_size=3)", "batch_size is for a reservoir"),
    ],
)
def test_bad_parameters(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_algorithm(spec)


def test_refusals(kuhn):
    with pytest.raises(cp.ConfigError, match="GiB on kuhn_poker"):
        cp.algorithms.SDCFR(reservoir_size=10**10).init(kuhn)
    with pytest.raises(cp.ConfigError, match="needs a two-player zero-sum game"):
        cp.algorithms.VRDeepDCFRPlus().init(game_tree("kuhn_poker(players=3)"))
    assert cp.algorithms.SDCFR().batch_size == config.DEFAULT_BATCH_SIZE
