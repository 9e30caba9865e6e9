"""The policy gradients of the lecture as printed, against plain loops over sampled episodes."""

from __future__ import annotations

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common.episodes import (  # noqa: E402
    behaviour_from_table,
    sample_episodes,
)
from counterplay.algorithms.deep.common.graph import graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.networks import apply_net, new_nets  # noqa: E402
from tests.algorithms.deep.policy_gradient.test_policy_gradient import (  # noqa: E402
    random_inputs,
)

PRINTED = {  # q(s, a; w) alone, no entropy, a mean over decisions
    "critic": "infoset_network",
    "correct_with_returns": False,
    "temperature": 0.0,
    "visit_saturation": 0.0,
    "hidden_sizes": (8,),
    "critic_hidden_sizes": (8,),
    "num_episodes": 24,
    "stratified": False,
}


def one_update(algorithm, tree, seed):
    """Return the graph, random actors and critics, the episodes they play, and the next state."""
    graph, rng = graph_from_tree(tree), np.random.default_rng(seed)
    state = algorithm.init_state(graph, rng)
    nets = new_nets(rng, tree.num_players, (graph.num_features, 8, graph.max_actions))
    critics = new_nets(rng, tree.num_players, (graph.num_features, 8, graph.max_actions))
    state = state._replace(actor=state.actor._replace(params=nets))
    if algorithm.critic == "infoset_network":
        state = state._replace(critic=state.critic._replace(params=critics))
    policy, _ = algorithm.act(graph, nets)
    episodes = sample_episodes(
        graph, behaviour_from_table(policy), jax.random.PRNGKey(seed), algorithm.num_episodes
    )
    new_state = algorithm.update(graph, jnp.int32(1), state, episodes, jax.random.PRNGKey(1))
    return graph, nets, critics, episodes, new_state


def player_decisions(graph, episodes, player):
    """Yield (episode, observation, legal, action) of a player's decisions, episode by episode."""
    for b in range(episodes.live.shape[1]):
        for t in range(episodes.live.shape[0]):
            if episodes.live[t, b] and episodes.player[t, b] == player:
                infoset = graph.infoset[episodes.decision[t, b]]
                observation = graph.observation[graph.own_observation_row[infoset]]
                yield b, observation, graph.legal[infoset], int(episodes.action[t, b])


def net_of(nets, player):
    return jax.tree.map(lambda array: jnp.asarray(array[player]), nets)


def policy_of(net, observation, legal):
    return jax.nn.softmax(jnp.where(legal, apply_net(net, observation[None])[0], -jnp.inf))


def slide_objective(name, policy, q):
    """Return the function whose gradient by the policy's parameters is printed on the slides."""
    fixed_baseline = jax.lax.stop_gradient((policy * q).sum())
    if name == "qpg":
        return (policy * (q - fixed_baseline)).sum()
    if name == "rmpg":
        return (policy * jnp.maximum(q - fixed_baseline, 0.0)).sum()
    return -jnp.maximum(q - (policy * q).sum(), 0.0).sum()  # rpg


@pytest.mark.parametrize("name", ["qpg", "rmpg", "rpg"])
def test_an_update_follows_the_printed_gradient(name, kuhn):
    """The actor takes an Adam step along the mean printed gradient of its decisions."""
    options = PRINTED if name == "qpg" else PRINTED | {"split_batch": False}
    algorithm = cp.load_algorithm(name, **options)
    graph, nets, critics, episodes, new_state = one_update(algorithm, kuhn, 3)
    for player in range(2):
        net, critic = net_of(nets, player), net_of(critics, player)
        decisions = list(player_decisions(graph, episodes, player))

        def loss(net, decisions=decisions, critic=critic):
            total = 0.0
            for _, observation, legal, _ in decisions:
                q = jnp.where(legal, apply_net(critic, observation[None])[0], 0.0)
                total += slide_objective(name, policy_of(net, observation, legal), q)
            return -total / len(decisions)

        optimiser = optax.adam(algorithm.learning_rate, b1=0.0)
        updates, _ = optimiser.update(jax.grad(loss)(net), optimiser.init(net))
        expected = jax.tree.leaves(optax.apply_updates(net, updates))
        reached = jax.tree.leaves(net_of(new_state.actor.params, player))
        for wanted, value, start in zip(expected, reached, jax.tree.leaves(net), strict=True):
            # Adam's first step is the sign of the gradient, unless rounding decides it
            step, wanted_step = np.asarray(value - start), np.asarray(wanted - start)
            assert np.abs(step - wanted_step).max() < 2.1 * algorithm.learning_rate
            assert (np.abs(step - wanted_step) < 1e-5).mean() > 0.97


@pytest.mark.parametrize("steps", [1, 3])
def test_the_critic_regresses_on_what_followed_the_actions_taken(kuhn, steps):
    algorithm = cp.algorithms.QPG(critic_train_steps=steps, **PRINTED)
    graph, nets, critics, episodes, new_state = one_update(algorithm, kuhn, 5)
    utility = np.asarray(episodes.utility) / float(graph.utility_scale)
    for player in range(2):
        net, critic = net_of(nets, player), net_of(critics, player)
        decisions = list(player_decisions(graph, episodes, player))
        targets, later = [], {}
        for b, observation, legal, action in reversed(decisions):  # backwards in each episode
            targets.append(later.get(b, utility[b, player]))
            q = np.where(legal, apply_net(critic, observation[None])[0], 0.0)
            policy = np.asarray(policy_of(net, observation, legal))
            later[b] = (policy * q).sum() + targets[-1] - q[action]
        rows = list(zip(decisions, reversed(targets), strict=True))

        def loss(critic, rows=rows):
            errors = [
                apply_net(critic, observation[None])[0, action] - target
                for (_, observation, _, action), target in rows
            ]
            return sum(error**2 for error in errors) / len(errors)

        optimiser = optax.adam(algorithm.critic_learning_rate)
        opt_state = optimiser.init(critic)
        for _ in range(steps):
            updates, opt_state = optimiser.update(jax.grad(loss)(critic), opt_state)
            critic = optax.apply_updates(critic, updates)
        reached = jax.tree.leaves(net_of(new_state.critic.params, player))
        for wanted, value in zip(jax.tree.leaves(critic), reached, strict=True):
            assert np.asarray(value) == approx(np.asarray(wanted), abs=2e-5)


def test_reinforce_ascends_log_probabilities_times_returns(kuhn):
    algorithm = cp.algorithms.REINFORCE(hidden_sizes=(8,), num_episodes=24)
    graph, nets, _, episodes, new_state = one_update(algorithm, kuhn, 7)
    utility = np.asarray(episodes.utility) / float(graph.utility_scale)
    for player in range(2):
        net = net_of(nets, player)

        def objective(net, player=player):
            total = 0.0
            for b, observation, legal, action in player_decisions(graph, episodes, player):
                log_prob = jnp.log(policy_of(net, observation, legal)[action])
                total += log_prob * utility[b, player]
            return total / algorithm.num_episodes

        expected = jax.tree.map(
            lambda weights, slope: weights + algorithm.learning_rate * slope,
            net,
            jax.grad(objective)(net),
        )
        reached = jax.tree.leaves(net_of(new_state.actor.params, player))
        for wanted, value in zip(jax.tree.leaves(expected), reached, strict=True):
            assert np.asarray(value) == approx(np.asarray(wanted), abs=1e-5)


@pytest.mark.parametrize("name", ["rpg", "rmpg"])
def test_split_batches_take_signs_from_the_other_half(name, kuhn):
    """No force is left if no action beats the policy in the other half of the episodes."""
    inputs = random_inputs(graph_from_tree(kuhn), temperature=0.0)
    inputs = inputs._replace(beats_policy=jnp.zeros_like(inputs.beats_policy))
    printed = np.asarray(cp.load_algorithm(name, split_batch=False).logit_gradient(inputs))
    split = np.asarray(cp.load_algorithm(name).logit_gradient(inputs))
    assert np.abs(printed).max() > 0.01 and np.abs(split).max() == 0.0


@pytest.mark.parametrize("critic", ["infoset_network", "none"])
def test_critics_of_infosets_run_on_rules(critic):
    small = {"hidden_sizes": (4,), "num_episodes": 8, "critic_hidden_sizes": (4,)}
    arena = cp.RulesArena(cp.games.KuhnPoker())
    algorithm = cp.algorithms.QPG(critic=critic, **small)
    memory = algorithm.step(arena, algorithm.init(arena), 2)
    assert memory.iteration == 2 and "current" in algorithm.policies(arena, memory)


@pytest.mark.parametrize(
    ("spec", "exploitability"),  # uniform play: 11/24
    [
        (
            "qpg(critic=infoset_network, correct_with_returns=false, critic_train_steps=8, "
            "temperature=0.2, temperature_end=0.014, critic_learning_rate=0.01)",
            0.12,
        ),
        ("reinforce(temperature=0.2, temperature_end=0.014)", 0.1),
    ],
)
def test_printed_gradients_learn_kuhn(spec, exploitability, kuhn):
    small = {"hidden_sizes": (16,), "schedule_iterations": 1500, "num_episodes": 500}
    algorithm = cp.load_algorithm(spec, **small)
    assert cp.solve(kuhn, algorithm, iterations=1500).exploitability < exploitability


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("reinforce(gae_lambda=0.5)", "critic=none needs correct_with_returns"),
        ("qpg(critic=none, correct_with_returns=false)", "critic=none needs"),
        ("qpg(critic_train_steps=2)", "critic_train_steps is for critic=infoset_network"),
    ],
)
def test_meaningless_critics_are_refused(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        cp.load_algorithm(spec)
