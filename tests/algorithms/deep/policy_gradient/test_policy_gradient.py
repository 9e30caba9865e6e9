"""Policy gradients: unbiased advantages, forces against finite differences, known special cases."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import returns  # noqa: E402
from counterplay.algorithms.deep.common.best_response import next_own_infosets  # noqa: E402
from counterplay.algorithms.deep.common.critics import (  # noqa: E402
    ValueTableCritic,
    exact_action_values,
    zero_sum_rewards,
)
from counterplay.algorithms.deep.common.episodes import sample_episodes  # noqa: E402
from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.jax_algorithm import policy_from_table  # noqa: E402
from counterplay.algorithms.deep.common.networks import softmax, uniform  # noqa: E402
from counterplay.algorithms.deep.policy_gradient.base import (  # noqa: E402
    LogitGradientInputs,
    aggregate_by_infoset,
    behaviour_from_table,
    safe_log,
)
from counterplay.algorithms.deep.policy_gradient.r_nad import post_process_policy  # noqa: E402
from tests.algorithms.deep.test_deep_hedge import all_episodes  # noqa: E402
from tests.conftest import game_tree  # noqa: E402

SMALL_SETTINGS = {"hidden_sizes": (8,), "num_episodes": 16, "schedule_iterations": 50}


def a_policy(graph, seed=0):
    logits = np.random.default_rng(seed).normal(size=graph.legal.shape)
    return softmax(jnp.asarray(logits, jnp.float32), graph.legal)


def random_gradient_inputs(graph, seed=0, tau=0.3):
    """Return random inputs of a logit gradient."""
    rng = np.random.default_rng(seed)
    logits, advantage = jnp.asarray(rng.normal(size=(2, *graph.legal.shape)), jnp.float32)
    policy = softmax(logits, graph.legal)
    advantage = jnp.where(graph.legal, advantage, 0.0)
    advantage = advantage - (policy * advantage).sum(-1, keepdims=True)
    advantage = jnp.where(graph.legal, advantage, 0.0)
    magnet = safe_log(uniform(graph.legal))
    halves, better = jnp.stack([0.5 * advantage] * 2), jnp.stack([1.0 * (advantage > 0.0)] * 2)
    found = (advantage, halves, better)
    return LogitGradientInputs(
        logits, policy, policy, magnet, graph.legal, *found, jnp.float32(tau)
    )


@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)"])
def test_exact_values_are_those_of_the_tree(spec):
    tree = game_tree(spec)
    graph = graph_from_tree(tree)
    policy = a_policy(graph)
    q = np.asarray(exact_action_values(graph, policy))
    opening = np.asarray(policy)[np.asarray(graph.infoset)]
    value = (opening[..., None] * q).sum(1)
    starts = np.asarray(graph.succ_node)[: int(graph.succ_offset[1])]
    found = value[starts].mean(axis=0)  # all deals are equally likely
    assert found == approx(cp.expected_values(tree, policy_from_table(tree, policy)), abs=1e-6)


@pytest.mark.parametrize("spec", ["kuhn_poker", "kuhn_poker(players=3)"])
@pytest.mark.parametrize("counterfactual", [False, True])
def test_advantages_are_unbiased_for_any_guess(spec, counterfactual):
    """The sum over all episodes per infoset is exact for any critic."""
    tree = game_tree(spec)
    graph = graph_from_tree(tree)
    policy = a_policy(graph)
    exact = cp.infoset_values(tree, policy_from_table(tree, policy))
    probability, episodes = all_episodes(tree, policy, -1, 0.0)
    wrong = np.random.default_rng(1).normal(
        size=(*graph.observation_row.shape[1:], graph.max_actions, tree.num_players)
    )
    guess = jnp.asarray(wrong, jnp.float32)[episodes.decision]
    real = episodes.live[..., None] & episodes.legal
    found = returns.baseline_advantages(episodes, jnp.where(real[..., None], guess, 0.0))
    weight = np.where(episodes.live, probability, 0.0)
    if counterfactual:
        weight = weight / np.asarray(returns.own_reach(episodes, tree.num_players))
    total = np.zeros(graph.legal.shape)
    infoset = np.asarray(graph.infoset)[np.asarray(episodes.decision)]
    np.add.at(total, infoset, weight[..., None] * np.asarray(found.advantage))
    regret = exact.regret
    if not counterfactual:
        regret = regret * np.repeat(exact.reach, tree.num_actions)
    assert total[np.asarray(graph.legal)] == approx(regret, abs=1e-6)


def test_even_batches_meet_everything_as_often_as_it_is_likely(leduc):
    """Each half has every history p times its number, up to one; and which, is not biased."""
    graph = graph_from_tree(leduc)
    policy = a_policy(graph)
    draw = jax.jit(
        partial(sample_episodes, graph, behaviour_from_table(policy)), static_argnums=(1, 2)
    )
    exact = np.zeros((2, graph.num_decisions))
    for even, rounds in ((True, 40), (False, 40)):
        for key in jax.random.split(jax.random.PRNGKey(5), rounds):
            seen = draw(key, 500, even)
            live = np.asarray(seen.live)
            count = np.zeros((2, graph.num_decisions))
            half = np.broadcast_to(np.arange(500) % 2, live.shape)
            np.add.at(count, (half[live], np.asarray(seen.decision)[live]), 1.0)
            exact[int(even)] += count.sum(0) / rounds
            if even:
                assert np.abs(count[0] - count[1]).max() <= 2.0 + 1e-9
    met = exact[0] > 5.0
    assert met.sum() > 10
    error = np.abs(exact[1] - exact[0])[met] / np.sqrt(exact[0][met] / 40)
    assert error.max() < 5.0


def test_signs_are_those_of_the_other_half(kuhn):
    """Halves add up to the mean over visits; each is told by the other which actions are better."""
    graph = graph_from_tree(kuhn)
    seen = sample_episodes(graph, behaviour_from_table(a_policy(graph)), jax.random.PRNGKey(4), 6)
    drawn = np.random.default_rng(3).normal(size=(*seen.action.shape, 2))
    met = aggregate_by_infoset(graph, seen, jnp.asarray(drawn, jnp.float32), False)
    live, infoset = np.asarray(seen.live), np.asarray(graph.infoset)[np.asarray(seen.decision)]
    even = np.arange(6) % 2 == 0
    alone = 0
    for row in range(graph.num_infosets):
        here = live & (infoset == row)
        if here.any():
            assert np.asarray(met.advantage)[row] == approx(drawn[here].mean(axis=0), abs=1e-6)
        for half, other in ((0, ~even), (1, even)):
            wanted = 0.5 + 0.5 * np.sign(drawn[here & other].sum(axis=0))  # no sample there: 1/2
            assert np.asarray(met.beats_policy)[half, row] == approx(wanted)
            alone += bool(here.any() and not (here & other).any())
    assert alone and np.asarray(met.half_batch_advantage).sum(0) == approx(
        np.asarray(met.advantage), abs=1e-6
    )


@pytest.mark.parametrize("most", [1.0, np.inf])
def test_on_policy_v_trace_is_the_return(kuhn, most):
    """Values of infosets cancel; limits on ratios of one have no effect."""
    graph = graph_from_tree(kuhn)
    seen = sample_episodes(graph, behaviour_from_table(a_policy(graph)), jax.random.PRNGKey(0), 32)
    critic = ValueTableCritic(0.1)
    drawn = np.random.default_rng(2).normal(size=(graph.num_infosets, 1, 1))
    guess = critic.values(graph, jnp.asarray(drawn, jnp.float32), seen)
    own = np.arange(2) == np.asarray(seen.player)[..., None]
    target = returns.baseline_advantages(
        seen, guess, has_baseline=jnp.asarray(own), max_ratio=most
    ).target
    assert np.abs(np.asarray(guess)).max() > 0.1
    assert np.asarray(target) == approx(np.broadcast_to(seen.utility, target.shape), abs=1e-5)


def test_v_trace_off_policy(kuhn):
    """Ratios weight later rewards; a limit lowers the ratios above it and no others."""
    graph = graph_from_tree(kuhn)
    policy, other = a_policy(graph), uniform(graph.legal)
    behave = lambda now: (policy[now.infoset], other[now.infoset])  # noqa: E731
    seen = sample_episodes(graph, behave, jax.random.PRNGKey(0), 64)
    nothing = jnp.zeros((*seen.action.shape, graph.max_actions, 2))
    ratio = np.take_along_axis(np.asarray(seen.policy), np.asarray(seen.action)[..., None], 2)
    ratio = np.where(seen.live, ratio[..., 0] / np.asarray(seen.sampling_prob), 1.0)
    for most in (1.0, np.inf):
        target = np.asarray(returns.baseline_advantages(seen, nothing, max_ratio=most).target)
        wanted = np.asarray(seen.utility)[:, 0] * np.minimum(ratio[1:], most).prod(0)
        assert target[0, :, 0] == approx(wanted, abs=1e-5)
    assert ratio.max() > 1.1


def test_a_short_trace_believes_the_critic(kuhn):
    """GAE: with a trace near zero the target is the value at the player's own next decision."""
    graph = graph_from_tree(kuhn)
    seen = sample_episodes(graph, behaviour_from_table(a_policy(graph)), jax.random.PRNGKey(1), 64)
    drawn = jnp.asarray(np.random.default_rng(2).normal(size=graph.num_infosets), jnp.float32)
    guess = ValueTableCritic(0.1).values(graph, drawn[:, None, None], seen)
    own = jnp.arange(2) == seen.player[..., None]
    target = np.asarray(
        returns.baseline_advantages(seen, guess, gae_lambda=1e-9, has_baseline=own).target
    )[0, :, 0]
    after = np.asarray(next_own_infosets(graph, seen))[0]
    last = after == graph.num_infosets
    wanted = np.where(last, np.asarray(seen.utility)[:, 0], np.append(drawn, 0.0)[after])
    assert 0 < last.sum() < last.size
    assert target == approx(wanted, abs=1e-5)


def entropy(p):
    return -(p * np.log(p)).sum()


def surrogate_with_clipping(p, a, old):
    ratio = p / old
    return (old * np.minimum(ratio * a, np.clip(ratio, 0.8, 1.2) * a)).sum()


@pytest.mark.parametrize(
    ("spec", "objective"),  # of policy p, logits y, advantage a, old policy and magnet
    [
        ("qpg", lambda p, y, a, old, m: (p * a).sum() + 0.3 * entropy(p)),
        ("rmpg", lambda p, y, a, old, m: (p * np.maximum(a, 0)).sum() + 0.3 * entropy(p)),
        (
            "rpg",
            lambda p, y, a, old, m: -np.maximum(a - (p * a).sum(), 0).sum() + 0.3 * entropy(p),
        ),
        (
            "ppo(clip_eps=0.2)",
            lambda p, y, a, old, m: (
                surrogate_with_clipping(p, a, old) - 0.3 * (p * np.log(p / m)).sum()
            ),
        ),
        (
            "deep_mmd(kl_coef=0.7)",
            lambda p, y, a, old, m: (p * (a - 0.3 * np.log(p / m) - 0.7 * np.log(p / old))).sum(),
        ),
        (
            "ach(regularise_logits=false, logit_threshold=1e9, clip_eps=1e9)",
            lambda p, y, a, old, m: (a * (y - y.mean())).sum() + 0.3 * entropy(p),
        ),
    ],
)
def test_forces_against_finite_differences(spec, objective):
    graph = graph_from_tree(game_tree("king_ace_poker(type_level=true)"))
    now, other = random_gradient_inputs(graph), random_gradient_inputs(graph, 1)
    if spec.startswith(("ppo", "deep_mmd")):  # on the way from the policy that was sampled with
        near = softmax(now.logits + 0.2 * other.logits, graph.legal)
        now = now._replace(old_policy=near, magnet_log_probs=safe_log(other.policy))
    force = np.asarray(cp.load_algorithm(spec).logit_gradient(now), np.float64)
    for row in range(0, graph.num_infosets, 3):
        legal = np.asarray(graph.legal)[row]
        y, a, old, m = (
            np.asarray(x, np.float64)[row][legal]
            for x in (now.logits, now.advantage, now.old_policy, now.magnet_log_probs)
        )

        def at(y, a=a, old=old, m=m):
            p = np.exp(y - y.max())
            return objective(p / p.sum(), y, a, old, np.exp(m))

        slopes = [(at(y + d) - at(y - d)) / 2e-5 for d in 1e-5 * np.eye(y.size)]
        assert force[row][legal] == approx(slopes, abs=1e-4)


def test_one_epoch_of_ppo_and_of_mmd_is_qpg(kuhn):
    now = random_gradient_inputs(graph_from_tree(kuhn))
    plain = np.asarray(cp.algorithms.QPG().logit_gradient(now))
    assert np.asarray(cp.algorithms.PPO().logit_gradient(now)) == approx(plain, abs=1e-6)
    assert np.asarray(cp.algorithms.DeepMMD().logit_gradient(now)) == approx(plain, abs=1e-6)


def test_mmd_without_temperature_is_hedge_on_q(kuhn):
    """A step of a table: the old policy times exp(q); constants added to a row of q cancel."""
    exact = cp.infoset_values(kuhn, cp.uniform_policy(kuhn))
    algorithm = cp.algorithms.MMD(eta=0.3, temperature=0.0, decay_power=0.0)
    memory = algorithm.step(kuhn, algorithm.init(kuhn))
    q = exact.action_value.reshape(-1, 2)
    hedge = np.exp(0.3 * q) / np.exp(0.3 * q).sum(-1, keepdims=True)
    assert memory.policy.reshape(-1, 2) == approx(hedge, abs=1e-9)


def test_ppo_stops_where_it_has_gone_far_enough(kuhn):
    graph = graph_from_tree(kuhn)
    now = random_gradient_inputs(graph, tau=0.0)
    gone = now.logits + 3.0 * now.advantage
    now = now._replace(logits=gone, policy=softmax(gone, graph.legal))
    ratio = np.asarray(now.policy / now.old_policy)
    past = (np.abs(ratio - 1.0) > 0.2).all(axis=1)  # of two actions both are past the clip
    force = np.asarray(cp.algorithms.PPO(clip_eps=0.2).logit_gradient(now))
    assert past.any() and force[past] == approx(0.0) and (force[~past] != 0.0).any()


def test_neurd_without_temperature_is_hedge(kuhn):
    """A step of logits along counterfactual regrets is multiplicative weights."""
    graph = graph_from_tree(kuhn)
    now = random_gradient_inputs(graph, tau=0.0)
    moved = softmax(
        now.logits + 0.1 * cp.algorithms.NeuRD(logit_threshold=1e9).logit_gradient(now), graph.legal
    )
    hedge = np.asarray(now.policy * jnp.exp(0.1 * now.advantage))
    assert np.asarray(moved) == approx(hedge / hedge.sum(-1, keepdims=True), abs=1e-6)


@pytest.mark.parametrize("name", ["neurd", "ach"])
def test_thresholds_hold_what_pushes_outwards(name, kuhn):
    now = random_gradient_inputs(graph_from_tree(kuhn), tau=0.0)
    held = np.asarray(cp.load_algorithm(name, logit_threshold=0.0).logit_gradient(now))
    y = np.asarray(now.logits - now.logits.mean(-1, keepdims=True))
    outward = np.sign(y) == np.sign(np.asarray(now.advantage))
    assert (np.abs(held[outward.all(-1)]) < 1e-6).all() and np.abs(held).max() > 0.1


def test_pull_of_ach_is_neurd(kuhn):
    now = random_gradient_inputs(graph_from_tree(kuhn))
    mine = np.asarray(
        cp.algorithms.ACH(regularise_logits=True, logit_threshold=1e9, clip_eps=1e9).logit_gradient(
            now
        )
    )
    assert mine == approx(
        np.asarray(cp.algorithms.NeuRD(logit_threshold=1e9).logit_gradient(now)), abs=1e-5
    )


def test_transformed_rewards_sum_to_zero(kuhn):
    graph = graph_from_tree(kuhn)
    policy, magnet = a_policy(graph), safe_log(a_policy(graph, 1))
    reward = cp.algorithms.RNaD().action_reward(policy, magnet, jnp.float32(0.2))
    both = np.asarray(zero_sum_rewards(graph, graph.player, reward[graph.infoset]))
    assert np.abs(both).max() > 0.01 and both.sum(-1) == approx(0.0, abs=1e-6)
    assert (np.asarray(reward) * np.asarray(policy)).sum() < 0.0  # leaving the magnet costs


def test_play_is_rounded():
    rows = np.asarray(
        post_process_policy(jnp.array([[0.02, 0.5, 0.48], [0.2, 0.3, 0.5]]), 0.03, 32)
    )
    assert rows[0][0] == 0.0 and rows.sum(-1) == approx(1.0)
    assert rows * 32 == approx(np.round(rows * 32), abs=1e-4)


@pytest.mark.parametrize(
    ("critic", "error"),  # values of infosets leave most of the noise: one over the probability
    [("network", 0.1), ("value", 0.2), ("oracle", 0.1)],
)
def test_every_critic_learns_kuhn(kuhn, critic, error):
    choices = {"hidden_sizes": (16,), "critic_hidden_sizes": (16,), "schedule_iterations": 1500}
    choices |= {"num_episodes": 500, "temperature": 0.3}
    algorithm = cp.algorithms.NeuRD(critic=critic, temperature_end=0.02, **choices)
    result = cp.solve(kuhn, algorithm, iterations=1500)
    assert result.exploitability < error  # uniform play: 11/24


@pytest.mark.parametrize("magnet", ["copy", "average"])
def test_magnets_move(kuhn, magnet):
    algorithm = cp.algorithms.DeepMMD(magnet=magnet, magnet_update_every=5, **SMALL_SETTINGS)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 7)
    last = jax.tree.leaves(memory.state.magnet)[-2][1]
    assert np.abs(np.asarray(last)).max() > 0.0
    assert not np.array_equal(last, jax.tree.leaves(memory.state.actor.params)[-2])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("neurd(critic='magic')", "critic is magic, must be auto, table, network"),
        ("qpg(temperature_end=0)", "temperature_end is 0"),
        ("qpg(learning_rate_power=-1)", "learning_rate_power is -1, must be at least 0"),
        ("ppo(num_epochs=0)", "num_epochs is 0, must be at least 1"),
        ("r_nad(policy_threshold=1)", "policy_threshold is 1.*below 1"),
        ("r_nad(policy_discretization=0)", "policy_discretization is 0, must be at least 1"),
        ("deep_mmd(magnet='cold')", "magnet is cold"),
        ("nfsp(anticipatory_param=2)", "anticipatory_param is 2, must be above 0"),
        ("nfsp_ppo(gae_lambda=0)", "gae_lambda is 0, must be above 0"),
        ("nfsp_sac(epsilon=-1)", "epsilon is -1, must be from 0 to 1"),
        ("league(pool_size=2)", "pool_size is 2, must be at least 3"),
    ],
)
def test_bad_choices_are_refused(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_algorithm(spec)


def test_r_nad_wants_two_players_and_zero_sum():
    with pytest.raises(cp.ConfigError, match="needs a two-player zero-sum game"):
        cp.algorithms.RNaD().init(game_tree("kuhn_poker(players=3)"))
