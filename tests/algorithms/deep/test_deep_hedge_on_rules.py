"""Deep-Hedge on rules without a tree: episodes give the same updates as on the tree."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep import deep_hedge  # noqa: E402
from counterplay.algorithms.deep.common import averages, rollouts  # noqa: E402
from counterplay.algorithms.deep.common.batched_env import build_env  # noqa: E402
from counterplay.algorithms.deep.common.graph import graph_from_tree, host_graph_from_tree  # noqa: E402
from counterplay.algorithms.deep.common.training import params_by_player  # noqa: E402

TINY = cp.algorithms.DeepHedge(
    num_traversals=4,
    num_baseline_traversals=4,
    num_baseline_updates=1,
    epsilon=0.1,
    mean_over_episodes=False,
    stratified=False,
    hidden_sizes=(8,),
    baseline_hidden_sizes=(8,),
    ensemble_size=3,
    average_hidden_sizes=(4,),
)


@pytest.fixture(scope="module")
def arena():
    return cp.RulesArena(cp.games.KuhnPoker())


def test_episodes_teach_what_they_teach_on_the_tree(kuhn, arena):
    """The same episodes, seen on the rules and as decisions of the tree, move networks alike.

    There, regrets and targets are unbiased; here, episodes are sampled as the tree's are.
    """
    algorithm = replace(TINY, normalize_returns=True, average_hidden_sizes=())
    state = algorithm.init(arena, 2).state
    rules, who = build_env(cp.games.KuhnPoker()), 1
    ask = partial(deep_hedge._jit_act(), algorithm, who, params_by_player(state.strategy))
    met, _ = rollouts.play_episodes(rules, ask, np.random.default_rng(0), algorithm.num_episodes)
    seen, graph = met.episodes, graph_from_tree(kuhn)
    table = np.asarray(averages.infoset_policies(params_by_player(state.strategy), graph))
    places = host_graph_from_tree(kuhn)
    everything = np.concatenate(
        [places.observation[view] for view in places.observation_row], axis=1
    )
    decision = np.zeros_like(seen.decision)
    for turn, column in zip(*np.nonzero(seen.live), strict=True):
        views = np.concatenate([view[seen.decision[turn, column]] for view in met.observation])
        (here,) = np.flatnonzero((everything == views).all(axis=1))
        decision[turn, column] = here
        policy = table[np.asarray(graph.infoset)[here]]
        assert seen.policy[turn, column] == approx(policy, abs=1e-6)
        mine = seen.player[turn, column] == who
        mixed = 0.1 / 2 + 0.9 * policy if mine else policy
        action = seen.action[turn, column]
        assert seen.sampling_prob[turn, column] == approx(mixed[action], abs=1e-6)
    before = jax.tree.map(np.array, (state.strategy, state.baseline))
    first = {"strategy": state.strategy[::-1], "baseline": state.baseline[::-1]}  # who learns next
    own, state = algorithm.init(kuhn, 2).state._replace(**first), state._replace(**first)
    there = jax.jit(algorithm.update_player)(
        graph, 1, who, own, seen._replace(decision=decision), jax.random.PRNGKey(0)
    )
    here = deep_hedge._jit_update_player()(
        algorithm, graph.utility_scale, 1, who, state, met, jax.random.PRNGKey(0)
    )
    for part, old in zip(("strategy", "baseline"), before, strict=True):
        ours, theirs, begin = (
            list(map(jax.tree.leaves, params_by_player(each)))
            for each in (getattr(here, part), getattr(there, part), old)
        )
        for mine, other in zip(itertools.chain(*ours), itertools.chain(*theirs), strict=True):
            assert np.asarray(mine) == approx(np.asarray(other), abs=1e-6)
        for mine, other in zip(ours[who], begin[who], strict=True):
            assert np.abs(np.asarray(mine) - other).max() > 1e-5
        assert all(map(np.array_equal, ours[0], begin[0]))


def test_the_same_bits_however_it_is_cut(kuhn, arena):
    memory = TINY.step(arena, TINY.init(arena, 1), 5)
    again = TINY.init(arena, 1)
    for count in (2, 3):
        again = TINY.step(arena, again, count)
    same = jax.tree.map(np.array_equal, memory.state, again.state)
    assert all(jax.tree.leaves(same)) and memory.nodes_touched == again.nodes_touched >= 5 * 2 * 16
    found = TINY.policies(arena, memory)
    assert list(found) == ["network", "ensemble", "current"]
    assert all(cp.exploitability(kuhn, policy.tabulate(kuhn)) < 1.0 for policy in found.values())
    kept = np.asarray(memory.state.averages.reservoir.num_seen)
    assert (kept >= 5 * TINY.num_traversals).all()  # what each played as the other explored
