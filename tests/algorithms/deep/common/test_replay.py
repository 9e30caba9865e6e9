"""Replay buffers on rules: minibatches contain the stored observations."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from pytest import approx

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

import counterplay as cp  # noqa: E402
from counterplay.algorithms.deep.common import replay, rollouts  # noqa: E402
from counterplay.algorithms.deep.common.batched_env import build_env  # noqa: E402
from counterplay.algorithms.deep.common.best_response import Experience  # noqa: E402
from counterplay.algorithms.deep.common.dqn_response import DQNResponse  # noqa: E402
from counterplay.algorithms.deep.common.graph import host_graph_from_tree  # noqa: E402
from tests.algorithms.deep.common.test_rollouts import uniform  # noqa: E402


def test_codes_tell_infosets_apart(leduc):
    """Equal observations have one infoset, the first of them; different ones never do."""
    graph = host_graph_from_tree(leduc)
    seen = np.asarray(graph.observation)[graph.own_observation_row]
    code = np.asarray(jax.jit(replay.hash_infosets)(seen, graph.legal))
    rows = np.unique(np.hstack([seen, graph.legal]), axis=0)
    assert len(np.unique(code, axis=0)) == len(rows) > 800
    picked = np.random.default_rng(0).integers(40, size=100)
    first = np.asarray(jax.jit(replay.group_equal_hashes)(code[picked]))
    known = {}
    for place, (number, at) in enumerate(zip(picked.tolist(), first.tolist(), strict=True)):
        assert known.setdefault(number, place) == at
    clashing = np.uint32([[5, 7], [5 + 2**20, 7 + 2**20], [5, 7], [1, 1], [5 + 2**20, 7 + 2**20]])
    assert np.asarray(replay.group_equal_hashes(clashing)).tolist() == [0, 1, 0, 3, 1]


def test_a_ring_on_rules_knows_what_followed():
    """After two batches, of which the ring forgets the first part: payoffs and next decisions."""
    rules, responder = (
        build_env(cp.load_game("leduc_poker")),
        DQNResponse(replay_buffer_size=50, utility_scale=2.0),
    )
    assert rules.largest_utility > 8.0
    state = responder.init_state(rollouts.empty_graph(rules), np.random.default_rng(0), (0, 1))
    wanted = ({}, {})
    for seed in range(2):
        met, _ = rollouts.play_episodes(rules, uniform, np.random.default_rng(seed), 16)
        seen = met.episodes
        own = jnp.asarray(seen.live & (seen.player == np.arange(16) % 2))
        state = tell(responder, met, state, own)
        for column in range(16):
            who = column % 2
            rows = seen.decision[seen.player[:, column] == who, column]
            views = [met.observation[who, row].tobytes() for row in rows] + [b""]
            for view, after in pairwise(views):
                paid = 0.0 if after else float(seen.utility[column, who]) / 2.0
                wanted[who].setdefault(view, []).append((after, paid))
    place, action, payoff, after = jax.tree.map(np.asarray, state.replay_buffer.items)
    assert (np.asarray(state.replay_buffer.num_seen) > 25).all() and action.shape == (2, 25)
    for player in range(2):
        filled = min(int(state.replay_buffer.num_seen[player]), 25)
        rows = place.observation[player]
        for slot in range(filled):
            follower = after[player, slot]
            view = b"" if follower == replay.NO_NEXT_DECISION else rows[follower].tobytes()
            assert (view, payoff[player, slot]) in wanted[player][rows[slot].tobytes()]
    weights = np.random.default_rng(1).normal(size=rules.num_features).astype(np.float32)
    expected = np.where(after >= 0, place.observation[[[0], [1]], after] @ weights, 0.0)

    @partial(jax.jit, static_argnums=1)
    def next_values(slots, repeats):
        slots = jnp.tile(slots.reshape(2, 25), (1, repeats)).reshape(-1)
        evaluate = lambda graph: graph.observation @ weights  # noqa: E731
        return replay.next_decision_values(state.replay_buffer, slots, evaluate).reshape(2, -1)

    for repeats in (1, 12):  # fewer rows than are grouped, and more
        found = np.asarray(next_values(jnp.asarray(after), repeats))[:, -25:]
        assert np.allclose(np.where(after >= 0, found, 0.0), expected, atol=1e-5)
    slots = np.tile(np.arange(25), (2, 1))
    assert len(np.unique(place.hash_bits[0], axis=0)) > 3 * 25 // 4  # too many to be grouped
    found = np.asarray(next_values(jnp.asarray(slots), 3))[:, :25]
    assert np.allclose(found, place.observation @ weights, atol=1e-5)


@partial(jax.jit, static_argnums=0)
def tell(responder, met, state, own):
    return responder.observe(met.graph(2), (0, 1), 1, state, Experience(met.episodes, own, own))


def test_minibatches_are_what_was_put_in():
    """Each player's part has its own observations; equal ones have the same infoset."""
    rules = build_env(cp.load_game("kuhn_poker"))
    met, _ = rollouts.play_episodes(rules, uniform, np.random.default_rng(3), 24)

    @jax.jit
    def put_and_draw(met, key):
        graph, seen = met.graph(2), met.episodes
        odd = seen.live & (seen.action == 1)
        empty = jax.tree.map(jnp.asarray, replay.new_replay_buffer(graph, 100, np.int32(0)))
        new, valid = replay.buffer_items(graph, seen, odd, seen.action)
        buffer = replay.add_to_reservoir(graph, empty, key, new, valid)
        return buffer, replay.sample_minibatch(graph, buffer, key, 50)

    buffer, some = put_and_draw(met, jax.random.PRNGKey(1))
    live, seen = met.episodes.live, met.episodes
    counts = [(live & (seen.action == 1) & (seen.player == p)).sum() for p in range(2)]
    assert np.asarray(buffer.num_seen).tolist() == counts
    assert (np.asarray(some.extra_fields[0]) == 1).all()
    infoset = np.asarray(some.infoset)
    assert infoset.shape == (50,) and ((infoset >= 25) == (np.arange(50) >= 25)).all()
    rows = np.asarray(some.graph.observation)
    for player in range(2):
        mine = rows[infoset[25 * player : 25 * player + 25]]
        there = met.observation[player][seen.decision[live & (seen.player == player)]]
        assert {row.tobytes() for row in mine} <= {row.tobytes() for row in there}
        assert len(np.unique(mine, axis=0)) == np.unique(infoset[25 * player :][:25]).size
    assert rows[infoset] == approx(rows)  # equal rows have one infoset


def test_too_much_room_is_refused():
    graph = rollouts.empty_graph(build_env(cp.load_game("kuhn_poker")))
    with pytest.raises(
        cp.ConfigError, match=r"100,000,000,000 decisions .* GiB, more than 8; keep"
    ):
        replay.new_replay_buffer(graph, 10**11, np.int32(0))
