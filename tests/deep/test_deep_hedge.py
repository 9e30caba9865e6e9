"""Deep-Hedge: unbiased regrets, the plain twin, tabular Hedge as a special case, convergence."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from benchmarks.plain_deep_hedge import PlainDeepHedge, PlainDeepHedgeInJax  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.deep import meetings, sampling  # noqa: E402
from counterplay.deep.graph import graph_of  # noqa: E402
from counterplay.deep.meetings import gradient_at, meetings_of, outputs_at  # noqa: E402
from counterplay.deep.nets import apply_net, new_net  # noqa: E402
from counterplay.deep.program import program  # noqa: E402
from counterplay.deep.tables import policy_of  # noqa: E402
from tests.conftest import built  # noqa: E402

SMALL = cp.DeepHedge(player_units=(8, 8), baseline_units=(8,))


def all_episodes(tree, table, traverser, epsilon):
    """Every episode with its probability of being sampled, as one batch."""
    graph, shape = graph_of(tree)
    table = np.asarray(table, np.float64)
    found = []

    def follow(edge, probability, steps):
        first, last = graph.succ_offset[edge], graph.succ_offset[edge + 1]
        passed = 0.0
        for k in range(first, last):
            part = float(graph.succ_cdf[k]) - passed
            passed = float(graph.succ_cdf[k])
            visit(int(graph.succ_node[k]), probability * part, steps)

    def visit(node, probability, steps):
        if node >= shape.num_decisions:
            found.append((probability, steps, node))
            return
        n = graph.num_actions[node]
        policy = table[graph.player[node], graph.row[node]]
        own = graph.player[node] == traverser
        mixed = epsilon / n + (1.0 - epsilon) * policy if own else policy
        for action in range(n):
            step = (node, True, own, action, policy, mixed[action])
            follow(graph.first_edge[node] + action, probability * mixed[action], [*steps, step])

    follow(0, 1.0, [])
    idle = (0, False, False, 0, np.ones(shape.max_actions) / shape.max_actions, 1.0)
    padded = [steps + [idle] * (shape.longest_episode - len(steps)) for _, steps, _ in found]
    columns = [
        np.array([[row[t][c] for row in padded] for t in range(shape.longest_episode)])
        for c in range(6)
    ]
    utility = np.array([graph.utility[node - shape.num_decisions, traverser] for *_, node in found])
    episodes = sampling.Episodes(*(jnp.asarray(column) for column in columns), jnp.asarray(utility))
    return np.array([p for p, _, _ in found]), episodes


@pytest.mark.parametrize(
    "spec", ["kuhn_poker", "kuhn_poker(players=3)", "king_ace_poker(type_level=true)"]
)
@pytest.mark.parametrize("augmented", [True, False])
def test_regrets_are_unbiased_for_any_networks(spec, augmented):
    """The expectation over all episodes is the exact counterfactual regret."""
    tree = built(spec)
    graph, shape = graph_of(tree)
    for seed in range(2):
        algorithm = replace(SMALL, augmented_baseline=augmented, epsilon=0.3)
        state = algorithm.init(tree, seed).state
        baseline = jax.tree.map(lambda w: 3.0 * w, state.baseline)  # deliberately wrong
        machine = program(tree, algorithm)
        exact = cp.infoset_values(tree, policy_of(tree, state.table)).regret
        for traverser in range(tree.num_players):
            probability, episodes = all_episodes(tree, state.table, traverser, 0.3)
            assert probability.sum() == approx(1.0)
            if not augmented:
                episodes = sampling.own_decisions(episodes, shape.most_own[traverser])
            met = machine.meetings(traverser, episodes, episodes.live)
            guess = machine.guess(baseline[traverser], episodes, met)
            regret = np.asarray(sampling.value(machine.graph, shape, episodes, guess).regret)
            expected = np.zeros((max(shape.num_rows), shape.max_actions))
            own, rows = np.asarray(episodes.own), graph.row[np.asarray(episodes.node)]
            for t, b in zip(*np.nonzero(own), strict=True):
                expected[rows[t, b]] += probability[b] * regret[t, b]
            first = np.searchsorted(tree.infoset_player, traverser)
            for row in range(shape.num_rows[traverser]):
                start, end = tree.offset[first + row : first + row + 2]
                assert expected[row, : end - start] == approx(exact[start:end], abs=1e-6)


@pytest.mark.parametrize(
    "algorithm",
    [
        replace(SMALL, player_update_freq=2),
        replace(SMALL, augmented_baseline=False, mean_over_actions=True, entropy_cost=0.0),
        replace(SMALL, entropy_decay=0.5, decay_steps=2.0, player_lr_init=0.2, weight_decay=0.01),
        replace(SMALL, logits_threshold=0.05, gradient_clipping_value=0.05),
    ],
    ids=["augmented", "program", "schedules", "limits"],
)
@pytest.mark.parametrize("spec", ["kuhn_poker"])
def test_equal_to_the_plain_recursion(algorithm, spec):
    """Fed the same random numbers, networks called node by node end up the same."""
    tree = built(spec)
    memory = algorithm.init(tree, seed=3)
    networks = jax.tree.map(
        lambda w: np.array(w, np.float64), (memory.state.strategy, memory.state.baseline)
    )
    plain = PlainDeepHedge(tree.game, algorithm, *networks)
    key, now = jax.random.split(jax.random.PRNGKey(3))
    players, size = tree.num_players, 2 * tree.longest_episode + 1
    first, others = (
        algorithm.player_traversals,
        algorithm.player_update_freq * algorithm.baseline_traversals,
    )
    ahead = np.asarray(jax.random.uniform(now, (size, first)))
    for t in range(1, 4):
        key, now, *_ = jax.random.split(key, 3 + players)
        numbers = np.asarray(jax.random.uniform(now, (players, size, others + first)))
        tables = {}
        for player in range(players):  # the next player's first episodes are walked along
            tables[player, 0], tables[player, 1] = ahead, numbers[player, :, :others]
            ahead = numbers[player, :, others:]
        plain.iterate(t, lambda player, part, tables=tables: tables[player, part])
    memory = algorithm.step(tree, memory, 3)
    for ours, theirs in (
        (memory.state.strategy, plain.strategy),
        (memory.state.baseline, plain.baseline),
    ):
        for mine, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            assert np.asarray(mine) == approx(other, abs=2e-4)


@pytest.mark.parametrize("table", [True, False])
def test_equal_to_the_plain_recursion_on_leduc(table, monkeypatch):
    """With so many episodes that infosets are met again and gathered first.

    Policies are looked up in a table of all infosets, or networks are asked at those visited.
    """
    monkeypatch.setattr(meetings, "EIGHTHS", (4, 8))  # fewer programs to compile
    monkeypatch.setattr(cp.DeepHedge, "keeps_table", lambda self, tree: table)
    algorithm = replace(SMALL, augmented_baseline=table, player_traversals=16)
    test_equal_to_the_plain_recursion(algorithm, "leduc_poker(suit_isomorphism=true)")


def test_the_two_plain_recursions_agree(kuhn):
    """Derivatives by JAX, node by node, and those written out in NumPy."""
    state = SMALL.init(kuhn, seed=1).state
    numbers = np.random.default_rng(1).random((2 * kuhn.longest_episode + 1, 4))
    ends = []
    for kind, array in ((PlainDeepHedge, np.array), (PlainDeepHedgeInJax, jnp.array)):
        plain = kind(kuhn.game, SMALL, *jax.tree.map(array, (state.strategy, state.baseline)))
        plain.iterate(1, lambda player, part: numbers)
        ends.append(jax.tree.leaves((plain.strategy, plain.baseline)))
    begin = jax.tree.leaves((state.strategy, state.baseline))
    for mine, other, before in zip(*ends, begin, strict=True):
        assert np.asarray(mine) == approx(np.asarray(other), abs=1e-6)
        assert np.abs(np.asarray(mine) - np.asarray(before)).max() > 1e-5


@jax.jit
def asked_once(net, observation, view, live, push):
    met = meetings_of(view, live)
    outputs = outputs_at(net, observation, met)
    return met.differ, outputs, gradient_at(net, observation, met, lambda _: push)


@jax.jit
def asked_everywhere(net, observation, view, push):
    outputs, back = jax.vjp(lambda n: apply_net(n, observation[view.reshape(-1)]), net)
    return outputs.reshape(push.shape), back(push.reshape(outputs.shape))[0]


@pytest.mark.parametrize("different", [1, 12, 17, 24, 40, 64])
def test_asking_once_per_infoset_changes_nothing(different):
    """Outputs and gradients are those of asking at every decision, dead ones aside."""
    rng = np.random.default_rng(different)
    net = new_net(rng, (5, 7, 6, 3))
    observation = rng.normal(size=(100, 5)).astype(np.float32)
    pool = rng.choice(100, different, replace=False)
    view = rng.permutation(np.resize(pool, 64)).reshape(4, 16).astype(np.int32)
    live = rng.random((4, 16)) < 0.8
    push = (rng.normal(size=(4, 16, 3)) * live[..., None]).astype(np.float32)
    differ, outputs, gradient = asked_once(net, observation, view, live, push)
    plain_outputs, plain_gradient = asked_everywhere(net, observation, view, push)
    assert int(differ) == np.unique(view[live]).size
    assert np.asarray(outputs)[live] == approx(np.asarray(plain_outputs)[live], abs=1e-5)
    for mine, other in zip(jax.tree.leaves(gradient), jax.tree.leaves(plain_gradient), strict=True):
        assert np.asarray(mine) == approx(np.asarray(other), abs=1e-4)


@dataclass(frozen=True)
class OneHotKuhn(cp.KuhnPoker):
    """Kuhn poker whose observation tells infosets apart and nothing else."""

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
        SMALL, entropy_cost=0.0, weight_decay=0.0, decay_rate=1.0, player_lr_init=0.5
    )
    machine = program(tree, algorithm)
    graph, shape = graph_of(tree)
    net = [(0.1 * jnp.ones((108, 2)).at[:, 0].set(-0.1), jnp.zeros(2))]
    draws = jax.random.uniform(jax.random.PRNGKey(0), sampling.draws_of(shape, 72))
    table = algorithm.init(tree).state.table

    @jax.jit
    def step(net):
        episodes, _ = machine.sample([], table, draws, [(0, 64), (1, 8)])
        regret = sampling.value(machine.graph, shape, episodes, jnp.zeros((3, 64, 2))).regret
        return episodes, regret, machine.hedge(net, 0, episodes, regret, 1, None)

    episodes, regret, new = step(net)
    moved = np.asarray(new[0][0] - net[0][0])
    own = np.asarray(episodes.own)
    expected = np.zeros((108, 2))
    for t, b in zip(*np.nonzero(own), strict=True):
        row = graph.observation[graph.view[0, int(episodes.node[t, b])]].argmax()
        expected[row] += 0.5 * np.asarray(regret[t, b] - regret[t, b].mean()) / own.sum()
    assert moved == approx(expected, abs=1e-6)
    assert np.abs(moved).max() > 1e-3


def test_gradients_against_finite_differences(kuhn):
    """The step of the baseline network goes down the squared error of its guesses."""
    algorithm = replace(SMALL, weight_decay=0.0, decay_rate=1.0, baseline_lr_init=1.0)
    machine = program(kuhn, algorithm)
    state = algorithm.init(kuhn, seed=1).state
    net = state.baseline[0]
    draws = jax.random.uniform(jax.random.PRNGKey(1), sampling.draws_of(machine.shape, 16))

    @jax.jit
    def step(net):
        [episodes] = machine.sample(state.strategy, state.table, draws, [(0, 16)])
        met = machine.meetings(0, episodes, episodes.live)
        guess = machine.guess(net, episodes, met)
        target = sampling.value(machine.graph, machine.shape, episodes, guess).target
        return episodes, met, target, machine.fit(net, 0, episodes, 1)

    episodes, met, target, stepped = step(net)

    @jax.jit
    def loss(net):
        out = machine.guess(net, episodes, met)
        taken = jnp.take_along_axis(out, episodes.action[..., None], axis=-1)[..., 0]
        return jnp.where(episodes.live, (taken - target) ** 2, 0.0).sum() / episodes.live.sum()

    for layer, kind in itertools.product(range(len(net)), range(2)):
        array = np.asarray(net[layer][kind])
        slope = array - np.asarray(stepped[layer][kind])
        where = np.unravel_index(np.abs(slope).argmax(), slope.shape)
        nudge = np.zeros_like(array)
        nudge[where] = 1e-2
        sides = []
        for sign in (1.0, -1.0):
            changed = [list(pair) for pair in net]
            changed[layer][kind] = array + sign * nudge
            sides.append(float(loss([tuple(pair) for pair in changed])))
        assert slope[where] == approx((sides[0] - sides[1]) / 2e-2, rel=0.05, abs=1e-4)


def test_same_seed_same_bits_however_it_is_split(kuhn):
    algorithm = replace(
        SMALL, average_units=(8,), past_networks=4, reservoir_size=64, past_cost=0.1
    )
    whole = algorithm.step(kuhn, algorithm.init(kuhn, seed=5), 7)
    parts = algorithm.init(kuhn, seed=5)
    for count in (1, 2, 4):
        parts = algorithm.step(kuhn, parts, count)
    for mine, other in zip(jax.tree.leaves(whole.state), jax.tree.leaves(parts.state), strict=True):
        assert (np.asarray(mine) == np.asarray(other)).all()
    other = algorithm.step(kuhn, algorithm.init(kuhn, seed=6), 7)
    assert (np.asarray(whole.state.sums.total) != np.asarray(other.state.sums.total)).any()


def test_the_three_averages_agree(kuhn):
    """Table, network and ensemble approach the same policy."""
    algorithm = cp.DeepHedge(average_units=(32, 32), past_networks=200, average_lr=3e-3)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 3000)
    judged = {
        name: cp.exploitability(kuhn, policy)
        for name, policy in algorithm.policies(kuhn, memory).items()
    }
    assert judged["average"] < 0.08 < judged["current"] + 0.08
    assert judged["network"] < 0.1
    assert judged["ensemble"] < 0.12
    table = algorithm.average_policy(kuhn, memory).probabilities
    assert np.abs(algorithm.network_policy(kuhn, memory).probabilities - table).mean() < 0.08
    assert np.abs(algorithm.ensemble_policy(kuhn, memory).probabilities - table).mean() < 0.08


def test_without_a_table_another_average_stands_in(kuhn):
    """The same training, nothing as large as the game, and a policy all the same."""
    table = replace(SMALL, past_networks=3)
    none = replace(table, average_every=0)
    first = table.step(kuhn, table.init(kuhn), 5)
    second = none.step(kuhn, none.init(kuhn), 5)
    assert second.state.sums.total.size == 0
    assert list(none.policies(kuhn, second)) == ["ensemble", "current"]
    expected = table.ensemble_policy(kuhn, first).probabilities
    assert none.policy(kuhn, second).probabilities == approx(expected, abs=1e-6)


def test_the_table_is_the_sum_of_what_was_played(kuhn):
    algorithm = replace(SMALL, average_power=1.0)
    memory, total = algorithm.init(kuhn), np.zeros(kuhn.num_sequences)
    for t in range(1, 6):
        policy = algorithm.current_policy(kuhn, memory)
        reach = np.ones(kuhn.num_sequences + 1)
        cp.evaluate.sweeps.forward(
            kuhn.form, 0, kuhn.num_infosets, np.append(policy.probabilities, 1.0), reach
        )
        total += t * reach[:-1]
        memory = algorithm.step(kuhn, memory)
    assert algorithm.policy(kuhn, memory).probabilities == approx(
        cp.policy.normalised_policy(kuhn, total).probabilities, abs=1e-5
    )


def test_converges_with_three_players():
    tree = built("kuhn_poker(players=3)")
    algorithm = cp.DeepHedge(augmented_baseline=False, decay_rate=1.0)
    start = cp.exploitability(tree, cp.uniform_policy(tree))
    for seed in range(2):
        memory = algorithm.step(tree, algorithm.init(tree, seed), 4000)
        assert cp.exploitability(tree, algorithm.policy(tree, memory)) < 0.16 * start


def test_networks_skip_and_pad():
    net = new_net(np.random.default_rng(0), (3, 5, 2, 4))
    x = np.array([[1.0, -2.0, 0.5], [0.0, 1.0, 1.0]], np.float32)
    (w1, b1), (w2, b2), (w3, b3) = [(np.asarray(w), np.asarray(b)) for w, b in net]
    h = np.maximum(x @ w1 + b1, 0.0) + np.pad(x, ((0, 0), (0, 2)))
    h = np.maximum(h @ w2 + b2, 0.0) + h[:, :2]
    assert np.asarray(apply_net(net, x)) == approx(h @ w3 + b3, abs=1e-5)


def test_reservoir_is_a_uniform_sample():
    from counterplay.deep import reservoir

    counts = np.zeros(60)
    insert = jax.jit(reservoir.insert)
    for seed in range(400):
        buffer = reservoir.nothing(10, 2)
        for part in range(6):
            node = jnp.arange(10) + 10 * part
            key = jax.random.fold_in(jax.random.PRNGKey(seed), part)
            everything = jnp.ones(10, bool)
            buffer = insert(buffer, key, everything, node, jnp.zeros((10, 2)), jnp.ones(10))
        counts[np.asarray(buffer.node)] += 1
    expected = 400 * 10 / 60
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert chi_square < 95  # 59 degrees of freedom: 99.8 percent


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("deep_hedge(epsilon=0)", r"epsilon is 0, must be in \(0, 1\]"),
        ("deep_hedge(epsilon=1.5)", r"epsilon is 1.5, must be in \(0, 1\]"),
        ("deep_hedge(player_traversals=0)", "player_traversals is 0, must be at least 1"),
        ("deep_hedge(player_units=())", "must be one size or more"),
        ("deep_hedge(baseline_units=(4,0))", "must be one size or more"),
        ("deep_hedge(past_cost=1)", "past_networks must be at least"),
        ("deep_hedge(average_every=-1)", "average_every and past_networks must be at least 0"),
        ("deep_hedge(average_every=0)", "no average is kept; set average_every"),
        ("deep_hedge(epsilonn=0.1)", "did you mean 'epsilon'"),
    ],
)
def test_bad_parameters(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_algorithm(spec)


def test_games_without_observations_are_refused():
    from tests.random_games import RandomGame

    tree = cp.build_tree(RandomGame(seed=1))
    with pytest.raises(cp.GameError, match="observation"):
        cp.DeepHedge().init(tree)
