"""Deep-Hedge: unbiased regrets, the plain twin, tabular Hedge as a special case, convergence."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from benchmarks.deep.plain_deep_hedge import PlainDeepHedge, PlainDeepHedgeInJax  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import policy_lookup, returns  # noqa: E402
from counterplay.algorithms.deep.common.dedup import find_unique_rows, outputs_at_decisions  # noqa: E402
from counterplay.algorithms.deep.common.episodes import (  # noqa: E402
    Episodes,
    draws_shape,
    episodes_from_draws,
    mix_exploration,
    player_decisions,
    stratify_draws,
)
from counterplay.algorithms.deep.common.graph import graph_from_tree, host_graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.jax_algorithm import policy_from_table  # noqa: E402
from counterplay.algorithms.deep.common.networks import apply_net  # noqa: E402
from counterplay.algorithms.deep.common.training import TrainState, params_by_player  # noqa: E402
from counterplay.algorithms.deep.deep_hedge import mask_illegal  # noqa: E402
from counterplay.core.policy import policy_from_weights  # noqa: E402
from counterplay.kernels.sequence_form import sweeps  # noqa: E402
from tests.conftest import game_tree  # noqa: E402
from tests.random_games import RandomGame  # noqa: E402

SETTINGS_OF_KUHN = {  # of the thesis
    "num_traversals": 4,
    "num_baseline_traversals": 4,
    "num_baseline_updates": 1,
    "learning_rate": 0.015,
    "epsilon": 0.1,
    "mean_over_episodes": False,
    "stratified": False,
    "entropy_coef": 0.07,
    "logit_threshold": 2.0,
    "weight_decay": 1e-4,
    "average_power": 0.0,
}
SMALL_ALGORITHM = cp.algorithms.DeepHedge(
    **SETTINGS_OF_KUHN, hidden_sizes=(8, 8), baseline_hidden_sizes=(8,), normalize_returns=False
)


to_numpy = partial(jax.tree.map, np.asarray)


def all_episodes(tree, table, traverser, epsilon):
    """Return every episode and its probability of being sampled, as one batch."""
    graph = host_graph_from_tree(tree)
    table = np.asarray(table, np.float64)
    leaves = []

    def follow(edge, probability, steps):
        first, last = graph.succ_offset[edge], graph.succ_offset[edge + 1]
        cumulative = 0.0
        for k in range(first, last):
            chance = float(graph.succ_cdf[k]) - cumulative
            cumulative = float(graph.succ_cdf[k])
            visit(int(graph.succ_node[k]), probability * chance, steps)

    def visit(node, probability, steps):
        if node >= graph.num_decisions:
            leaves.append((probability, steps, node))
            return
        player, infoset = graph.player[node], graph.infoset[node]
        legal, policy = graph.legal[infoset], table[infoset]
        n = legal.sum()
        mixed = epsilon / n + (1.0 - epsilon) * policy if player == traverser else policy
        for action in range(n):
            step = (node, True, player, action, legal, policy, mixed[action])
            follow(graph.first_edge[node] + action, probability * mixed[action], [*steps, step])

    follow(0, 1.0, [])
    uniform = np.ones(graph.max_actions) / graph.max_actions
    padding = (0, False, -1, 0, uniform > 0, uniform, 1.0)
    padded = [steps + [padding] * (graph.longest_episode - len(steps)) for _, steps, _ in leaves]
    columns = [
        np.array([[row[t][c] for row in padded] for t in range(graph.longest_episode)])
        for c in range(7)
    ]
    utility = np.array([graph.utility[node - graph.num_decisions] for *_, node in leaves])
    episodes = Episodes(*(jnp.asarray(column) for column in columns), jnp.asarray(utility))
    return np.array([p for p, _, _ in leaves]), episodes


def test_stratified_regrets_divided_by_episodes_are_unbiased(kuhn):
    """Divided by the number of decisions, which depends on the sampled actions, they are biased."""
    graph, sizes, batches = graph_from_tree(kuhn), (3, 4), 60_000
    table = jnp.asarray(np.random.default_rng(1).dirichlet([1.0, 1.0], 12), jnp.float32)

    @jax.jit
    def regrets(key):
        def behave(decisions):
            policy = table[decisions.infoset]
            return policy, mix_exploration(policy, decisions, 0, 0.4)

        draws = jax.random.uniform(key, draws_shape(graph, sum(sizes)))
        draws = draws.at[0].set(stratify_draws(draws[0], sizes))
        episodes = episodes_from_draws(graph, behave, draws, stratified=True)
        values = jnp.zeros(episodes.legal.shape)
        regret = returns.baseline_regrets(episodes, 0, episodes.utility[:, 0], values).regret
        is_own = episodes.player == 0
        infoset = jnp.where(is_own, graph.infoset[episodes.decision], graph.num_infosets)
        total = jnp.zeros(graph.legal.shape).at[infoset].add(regret, mode="drop")
        return total / sum(sizes), total / is_own.sum() * 7 / 6

    keys = jax.random.split(jax.random.PRNGKey(0), batches)
    by_episodes, by_decisions = to_numpy(jax.vmap(regrets)(keys))
    exact = cp.infoset_values(kuhn, policy_from_table(kuhn, table)).regret[:12].reshape(6, 2)
    error = by_episodes.std(0)[:6] / batches**0.5

    def largest_deviation(samples):
        return (np.abs(samples.mean(0)[:6] - exact) / error).max()

    assert largest_deviation(by_episodes) < 4.0 < 6.0 < largest_deviation(by_decisions)


@pytest.mark.parametrize(
    "spec", ["kuhn_poker", "kuhn_poker(players=3)", "king_ace_poker(type_level=true)"]
)
@pytest.mark.parametrize("augmented", [True, False])
def test_regrets_are_unbiased_for_any_networks(spec, augmented):
    """The expectation over all episodes is the exact counterfactual regret."""
    tree = game_tree(spec)
    graph = graph_from_tree(tree)

    @partial(jax.jit, static_argnums=0)
    def regrets(traverser, episodes, baseline):
        if not augmented:
            episodes = player_decisions(episodes, traverser, graph.max_own_decisions[traverser])
        rows = graph.observation_row[traverser, episodes.decision]
        unique_rows = find_unique_rows(rows, episodes.live)
        outputs = outputs_at_decisions(baseline[traverser], graph.observation, unique_rows)
        values = mask_illegal(episodes, outputs)
        utility = episodes.utility[:, traverser]
        return episodes, returns.baseline_regrets(episodes, traverser, utility, values).regret

    for seed in range(2):
        state = SMALL_ALGORITHM.init(tree, seed).state
        baseline = jax.tree.map(lambda w: 3.0 * w, params_by_player(state.baseline))
        exact = cp.infoset_values(tree, policy_from_table(tree, state.policy_table)).regret
        for traverser in range(tree.num_players):
            probability, episodes = all_episodes(tree, state.policy_table, traverser, 0.3)
            assert probability.sum() == approx(1.0)
            episodes, regret = map(to_numpy, regrets(traverser, episodes, baseline))
            expected = np.zeros(graph.legal.shape)
            infoset = np.asarray(graph.infoset)[episodes.decision]
            for t, b in zip(*np.nonzero(episodes.player == traverser), strict=True):
                expected[infoset[t, b]] += probability[b] * regret[t, b]
            is_own = tree.infoset_player == traverser
            legal = np.asarray(graph.legal)
            exact_rows = np.zeros(legal.shape)
            exact_rows[legal] = exact
            assert expected[is_own] == approx(exact_rows[is_own], abs=1e-6)


@pytest.mark.parametrize(
    "algorithm",
    [
        replace(SMALL_ALGORITHM, num_baseline_updates=2),
        replace(
            SMALL_ALGORITHM, augmented_baseline=False, mean_over_actions=True, entropy_coef=0.0
        ),
        replace(
            SMALL_ALGORITHM,
            entropy_decay_power=0.5,
            decay_steps=2.0,
            learning_rate=0.2,
            weight_decay=0.01,
        ),
        replace(SMALL_ALGORITHM, logit_threshold=0.05, max_grad_value=0.05),
        replace(
            SMALL_ALGORITHM,
            centred_update=False,
            entropy_uses_rate=False,
            entropy_coef=0.01,
            use_biases=False,
        ),
        replace(SMALL_ALGORITHM, max_grad_norm=0.3, num_baseline_updates=2, listing_order=True),
    ],
    ids=["augmented", "program", "schedules", "limits", "printed", "listing"],
)
@pytest.mark.parametrize("spec", ["kuhn_poker"])
def test_equal_to_the_plain_recursion(algorithm, spec):
    """With the same random numbers, a recursion that evaluates node by node ends up the same."""
    tree = game_tree(spec)
    memory = algorithm.init(tree, seed=3)
    networks = jax.tree.map(
        lambda w: np.array(w, np.float64),
        (params_by_player(memory.state.strategy), params_by_player(memory.state.baseline)),
    )
    plain = PlainDeepHedge(tree.game, algorithm, *map(list, networks))
    episodes = (
        algorithm.num_baseline_updates * algorithm.num_baseline_traversals
        + algorithm.num_traversals
    )
    for t in range(1, 4):
        key = jax.random.fold_in(memory.key, t - 1)
        size = (tree.num_players, 2 * tree.max_episode_length + 1, episodes)
        numbers = np.asarray(jax.random.uniform(key, size))
        plain.iterate(t, lambda player, numbers=numbers: numbers[player])
    memory = algorithm.step(tree, memory, 3)
    for ours, theirs in (
        (memory.state.strategy, plain.strategy),
        (memory.state.baseline, plain.baseline),
    ):
        for net, plain_net in zip(params_by_player(ours), theirs, strict=True):
            for array, expected in zip(*map(jax.tree.leaves, (net, plain_net)), strict=True):
                assert np.asarray(array) == approx(expected, abs=2e-4)


@pytest.mark.parametrize(
    "option",
    [
        {"centred_update": False},
        {"entropy_uses_rate": False},
        {"use_biases": False},
        {"listing_order": True},
        {"max_grad_norm": 0.01},
    ],
    ids=lambda option: next(iter(option)),
)
def test_every_printed_option_changes_the_networks(option, kuhn):
    """Without its effect, an option would give the networks of the default."""
    ends = []
    for algorithm in (SMALL_ALGORITHM, replace(SMALL_ALGORITHM, **option)):
        state = algorithm.step(kuhn, algorithm.init(kuhn, 2), 2).state
        ends.append([to_numpy(part) for part in jax.tree.leaves(params_by_player(state.strategy))])
    assert max(np.abs(a - b).max() for a, b in zip(*ends, strict=True)) > 1e-4
    if "use_biases" in option:
        nets = params_by_player(state.strategy) + params_by_player(state.baseline)
        assert not any(np.any(biases) for net in nets for _, biases in net)


def test_printed_options_refuse_what_they_cannot_do():
    with pytest.raises(cp.ConfigError, match="listing_order needs a tree"):
        cp.algorithms.DeepHedge(listing_order=True).init(cp.RulesArena(cp.games.KuhnPoker()))
    with pytest.raises(cp.ConfigError, match="learning_rate_end must be positive"):
        cp.algorithms.DeepHedge(entropy_uses_rate=False, learning_rate_end=0.0)
    with pytest.raises(cp.ConfigError, match="decay_rate is 100000"):  # Goofspiel in table 3
        cp.algorithms.DeepHedge(decay_rate=1e5)


@pytest.mark.parametrize("table", [True, False])
def test_equal_to_the_plain_recursion_on_leduc(table, monkeypatch):
    """With enough episodes that infosets recur and are deduplicated.

    Policies come from a table of all infosets, or from networks at the visited ones.
    """
    monkeypatch.setattr(policy_lookup, "is_table_cheaper", lambda graph, episodes: table)
    algorithm = replace(SMALL_ALGORITHM, augmented_baseline=table, num_traversals=16)
    test_equal_to_the_plain_recursion(algorithm, "leduc_poker(suit_isomorphism=true)")


def test_equal_to_the_plain_recursion_turn_by_turn(monkeypatch):
    """Networks are evaluated at all infosets of the first turn, and at visited ones of the next."""
    monkeypatch.setattr(policy_lookup, "is_table_cheaper", lambda graph, episodes: False)
    algorithm = replace(SMALL_ALGORITHM, num_traversals=2, num_baseline_traversals=2)
    assert policy_lookup.is_turn_by_turn(host_graph_from_tree(game_tree("kuhn_poker")), np.zeros(0))
    assert [
        turn.end_infoset - turn.first_infoset
        for turn in host_graph_from_tree(game_tree("kuhn_poker")).turns
    ] == [3, 6, 3]
    test_equal_to_the_plain_recursion(algorithm, "kuhn_poker")


def test_the_two_plain_recursions_agree(kuhn):
    """Derivatives by JAX, node by node, equal those written out in NumPy."""
    state = SMALL_ALGORITHM.init(kuhn, seed=1).state
    numbers = np.random.default_rng(1).random((2 * kuhn.max_episode_length + 1, 8))
    ends, nets = [], [list(params_by_player(part)) for part in (state.strategy, state.baseline)]
    for kind, array in ((PlainDeepHedge, np.array), (PlainDeepHedgeInJax, jnp.array)):
        plain = kind(kuhn.game, SMALL_ALGORITHM, *jax.tree.map(array, nets))
        plain.iterate(1, lambda player: numbers)
        ends.append(jax.tree.leaves((plain.strategy, plain.baseline)))
    for by_numpy, by_jax, before in zip(*ends, jax.tree.leaves(nets), strict=True):
        assert np.asarray(by_numpy) == approx(np.asarray(by_jax), abs=1e-6)
        assert np.abs(np.asarray(by_numpy) - np.asarray(before)).max() > 1e-5


@dataclass(frozen=True)
class OneHotKuhn(cp.games.KuhnPoker):
    """Kuhn poker whose observation is a one-hot code of the infoset."""

    def observation(self, state, player):
        cards = [-1 if p >= len(state.cards) else state.cards[p] for p in (player,)]
        bets = sum((1 + bet) * 3**k for k, bet in enumerate(state.bets))
        values = [0.0] * 4 * 27
        values[27 * (cards[0] + 1) + bets] = 1.0
        return values


def test_linear_network_on_one_hot_inputs_is_tabular_hedge():
    """Each infoset's logits move by the rate times the mean of its own centred regrets."""
    tree = cp.build_tree(OneHotKuhn())
    algorithm = replace(
        SMALL_ALGORITHM, entropy_coef=0.0, weight_decay=0.0, decay_rate=1.0, learning_rate=0.5
    )
    graph, state = graph_from_tree(tree), algorithm.init(tree).state
    net = [(0.1 * jnp.ones((108, 2)).at[:, 0].set(-0.1), jnp.zeros(2))]
    trained = TrainState(net, algorithm.player_optimiser.init(net))
    draws = jax.random.uniform(jax.random.PRNGKey(0), draws_shape(graph, 64))

    @jax.jit
    def step(trained):
        episodes = episodes_from_draws(graph, algorithm.behaviour(graph, state, 0), draws)
        values = jnp.zeros(episodes.policy.shape)
        regret = returns.baseline_regrets(episodes, 0, episodes.utility[:, 0], values).regret
        rows = graph.observation_row[0, episodes.decision]
        unique_rows = find_unique_rows(rows, episodes.player == 0)
        updated = algorithm.update_strategy(
            graph, 1, 0, episodes, unique_rows, regret, trained, state.averages
        )
        return episodes, regret, updated

    episodes, regret, updated = step(trained)
    moved = np.asarray(updated.params[0][0] - net[0][0])
    is_own = np.asarray(episodes.player) == 0
    expected = np.zeros((108, 2))
    for t, b in zip(*np.nonzero(is_own), strict=True):
        row = graph.observation[graph.observation_row[0, int(episodes.decision[t, b])]].argmax()
        expected[row] += 0.5 * np.asarray(regret[t, b] - regret[t, b].mean()) / is_own.sum()
    assert moved == approx(expected, abs=1e-6)
    assert np.abs(moved).max() > 1e-3


def test_the_printed_update_descends_the_distance_to_target_logits(kuhn):
    """(4.4), (4.5): half the mean squared distance to W plus the regrets, both held constant."""
    algorithm = replace(
        SMALL_ALGORITHM,
        centred_update=False,
        entropy_coef=0.0,
        weight_decay=0.0,
        decay_rate=1.0,
        learning_rate=0.5,
        logit_threshold=100.0,
    )
    graph, state = graph_from_tree(kuhn), algorithm.init(kuhn, seed=2).state
    trained = state.strategy[0]
    draws = jax.random.uniform(jax.random.PRNGKey(4), draws_shape(graph, 16))

    @jax.jit
    def step(trained):
        episodes = episodes_from_draws(graph, algorithm.behaviour(graph, state, 0), draws)
        values = jnp.zeros(episodes.policy.shape)
        regret = returns.baseline_regrets(episodes, 0, episodes.utility[:, 0], values).regret
        unique_rows = find_unique_rows(
            graph.observation_row[0, episodes.decision], episodes.player == 0
        )
        updated = algorithm.update_strategy(
            graph, 1, 0, episodes, unique_rows, regret, trained, state.averages
        )
        return episodes, regret, updated

    episodes, regret, updated = step(trained)
    is_own = np.asarray(episodes.player) == 0
    rows = np.asarray(graph.observation_row)[0, np.asarray(episodes.decision)[is_own]]
    observation, own_regret = graph.observation[rows], jnp.asarray(np.asarray(regret)[is_own])
    target = apply_net(trained.params, observation) + own_regret

    def distance(net):
        return 0.5 * ((apply_net(net, observation) - target) ** 2).sum() / is_own.sum()

    expected = jax.tree.map(
        lambda w, s: w - 0.5 * s, trained.params, jax.grad(distance)(trained.params)
    )
    for ours, theirs in zip(*map(jax.tree.leaves, (updated.params, expected)), strict=True):
        assert np.asarray(ours) == approx(np.asarray(theirs), abs=1e-5)


def test_gradients_against_finite_differences(kuhn):
    """The step of the baseline network goes down the squared error of its values."""
    algorithm = replace(
        SMALL_ALGORITHM, weight_decay=0.0, decay_rate=1.0, baseline_learning_rate=1.0
    )
    graph, state = graph_from_tree(kuhn), algorithm.init(kuhn, seed=1).state
    trained = state.baseline[0]
    draws = jax.random.uniform(jax.random.PRNGKey(1), draws_shape(graph, 16))

    def baseline_values(net, episodes):
        unique_rows = find_unique_rows(graph.observation_row[0, episodes.decision], episodes.live)
        return mask_illegal(episodes, outputs_at_decisions(net, graph.observation, unique_rows))

    @jax.jit
    def step(trained):
        episodes = episodes_from_draws(graph, algorithm.behaviour(graph, state, 0), draws)
        values = baseline_values(trained.params, episodes)
        target = returns.baseline_regrets(episodes, 0, episodes.utility[:, 0], values).target
        return episodes, target, algorithm.fit_baseline(graph, 0, episodes, trained)

    episodes, target, stepped = step(trained)

    @jax.jit
    def loss(net):
        values = baseline_values(net, episodes)
        taken = jnp.take_along_axis(values, episodes.action[..., None], axis=-1)[..., 0]
        return jnp.where(episodes.live, (taken - target) ** 2, 0.0).sum() / episodes.live.sum()

    net = trained.params
    for layer, kind in itertools.product(range(len(net)), range(2)):
        array = np.asarray(net[layer][kind])
        slope = array - np.asarray(stepped.params[layer][kind])
        index = np.unravel_index(np.abs(slope).argmax(), slope.shape)
        nudge = np.zeros_like(array)
        nudge[index] = 1e-2
        sides = []
        for sign in (1.0, -1.0):
            changed = [list(pair) for pair in net]
            changed[layer][kind] = array + sign * nudge
            sides.append(float(loss([tuple(pair) for pair in changed])))
        assert slope[index] == approx((sides[0] - sides[1]) / 2e-2, rel=0.05, abs=1e-4)


ALL_AVERAGES = replace(  # compiled once for the tests that use it
    SMALL_ALGORITHM,
    average_hidden_sizes=(8,),
    average_power=1.0,
    ensemble_size=4,
    reservoir_size=64,
    past_logits_coef=0.1,
)


def test_a_memory_of_past_networks_pulls_the_logits():
    """Nothing but the stored network moves a player whose utility is always zero."""
    tree = game_tree("matrix_game(payoffs=(((1,-1),(1,-1)),((0,0),(0,0))))")
    algorithm = replace(
        SMALL_ALGORITHM,
        entropy_coef=0.0,
        weight_decay=0.0,
        decay_rate=1.0,
        learning_rate=0.05,
        ensemble_size=1,
        past_logits_coef=1.0,
    )
    memory = algorithm.init(tree, 0)
    nets = params_by_player(algorithm.init(tree, 1).state.strategy)
    nets = [[*net[:-1], (4.0 * net[-1][0], 4.0 * net[-1][1])] for net in nets]
    averages = memory.state.averages._replace(
        ensemble=jax.tree.map(lambda *arrays: np.stack(arrays)[None], *nets),
        ensemble_iterations=np.ones(1, np.int32),
    )
    memory.state = memory.state._replace(averages=averages)
    memory.iteration = 10**6  # later networks hardly ever take its place
    before = algorithm.policies(tree, memory)
    target = before["ensemble"].probabilities[2:]
    memory = algorithm.step(tree, memory, 300)
    assert np.asarray(memory.state.averages.ensemble_iterations).tolist() == [1]
    after = algorithm.policies(tree, memory)["current"].probabilities[2:]
    distance = np.abs(before["current"].probabilities[2:] - target).max()
    assert distance > 0.05 and np.abs(after - target).max() < 0.3 * distance


def test_same_seed_same_bits_however_it_is_split(kuhn):
    algorithm = ALL_AVERAGES
    whole = algorithm.step(kuhn, algorithm.init(kuhn, seed=5), 7)
    parts = algorithm.init(kuhn, seed=5)
    for count in (1, 2, 4):
        parts = algorithm.step(kuhn, parts, count)
    pairs = zip(jax.tree.leaves(whole.state), jax.tree.leaves(parts.state), strict=True)
    assert all((np.asarray(first) == np.asarray(second)).all() for first, second in pairs)
    other = algorithm.step(kuhn, algorithm.init(kuhn, seed=6), 7)
    assert (
        np.asarray(whole.state.averages.policy_sum) != np.asarray(other.state.averages.policy_sum)
    ).any()


def test_the_three_averages_agree(kuhn):
    """Table, network and ensemble approach the same policy."""
    algorithm = cp.algorithms.DeepHedge(
        average_hidden_sizes=(32, 32), ensemble_size=200, average_learning_rate=3e-3
    )
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 3000)
    policies = algorithm.policies(kuhn, memory)
    exploitability = {name: cp.exploitability(kuhn, policy) for name, policy in policies.items()}
    assert exploitability["average"] < 0.08
    assert exploitability["network"] < 0.1
    assert exploitability["ensemble"] < 0.12
    for name in ("network", "ensemble"):
        difference = policies[name].probabilities - policies["average"].probabilities
        assert np.abs(difference).mean() < 0.08


def test_without_a_table_the_ensemble_is_the_same(kuhn):
    """Training does not depend on the table of averages, which is as large as the game."""
    table, no_table = ALL_AVERAGES, replace(ALL_AVERAGES, average_every=0, average_hidden_sizes=())
    first = table.step(kuhn, table.init(kuhn), 5)
    second = no_table.step(kuhn, no_table.init(kuhn), 5)
    assert second.state.averages.policy_sum.size == 0
    assert list(no_table.policies(kuhn, second)) == ["ensemble", "current"]
    expected = table.policies(kuhn, first)["ensemble"].probabilities
    assert no_table.policies(kuhn, second)["ensemble"].probabilities == approx(expected, abs=1e-6)


def test_the_table_is_the_sum_of_past_policies(kuhn):
    algorithm = ALL_AVERAGES
    memory, total = algorithm.init(kuhn), np.zeros(kuhn.num_sequences)
    for t in range(1, 6):
        policy = algorithm.policies(kuhn, memory)["current"]
        reach = np.ones(kuhn.num_sequences + 1)
        sweeps.forward(kuhn.form, 0, kuhn.num_infosets, np.append(policy.probabilities, 1.0), reach)
        total += t * reach[:-1]
        memory = algorithm.step(kuhn, memory)
    assert algorithm.policies(kuhn, memory)["average"].probabilities == approx(
        policy_from_weights(kuhn, total).probabilities, abs=1e-5
    )


def test_stratified_episodes_converge(kuhn):
    algorithm = cp.algorithms.DeepHedge(
        num_traversals=4,
        num_baseline_traversals=4,
        num_baseline_updates=1,
        mean_over_episodes=False,
        learning_rate=0.03,
        epsilon=0.4,
        entropy_coef=0.0,
        logit_threshold=10.0,
        weight_decay=0.0,
        average_power=1.0,
        stratified=True,
        normalize_returns=False,
    )
    assert cp.solve(kuhn, algorithm, iterations=30_000).exploitability < 0.016


def test_converges_with_three_players():
    tree = game_tree("kuhn_poker(players=3)")
    algorithm = cp.algorithms.DeepHedge(augmented_baseline=False, decay_rate=1.0)
    start = cp.exploitability(tree, cp.uniform_policy(tree))
    for seed in range(2):
        memory = algorithm.step(tree, algorithm.init(tree, seed), 4000)
        assert cp.exploitability(tree, algorithm.policies(tree, memory)["average"]) < 0.16 * start


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("deep_hedge(epsilon=0)", "epsilon is 0, must be positive and at most 1"),
        ("deep_hedge(epsilon=1.5)", "epsilon is 1.5, must be positive and at most 1"),
        ("deep_hedge(num_traversals=0)", "num_traversals is 0, must be at least 1"),
        ("deep_hedge(hidden_sizes=())", "must be at least one layer"),
        ("deep_hedge(baseline_hidden_sizes=(4,0))", "must be at least one layer"),
        ("deep_hedge(past_logits_coef=1)", "ensemble_size must be at least"),
        ("deep_hedge(average_every=-1)", "average_every is -1, must be at least 0"),
        ("deep_hedge(average_every=0)", "no average is kept; set average_every"),
        ("deep_hedge(epsilonn=0.1)", "did you mean 'epsilon'"),
    ],
)
def test_bad_parameters(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_algorithm(spec)


def test_games_without_observations_get_a_hash_of_their_infosets():
    """Infosets of a game without `observation` have distinct codes, and learning works."""
    tree = cp.build_tree(RandomGame(seed=1, zero_sum=True))
    graph = host_graph_from_tree(tree)
    rows = np.asarray(graph.observation)[graph.own_observation_row]
    assert np.unique(rows, axis=0).shape[0] == tree.num_infosets
    start = cp.exploitability(tree, cp.uniform_policy(tree))
    result = cp.solve(
        tree, cp.algorithms.DeepHedge(num_traversals=16, decay_rate=1.0), iterations=1000
    )
    assert result.exploitability < 0.5 * start
