"""Policies of networks at all infosets at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from counterplay.deep.graph import graph_of
from counterplay.deep.nets import Net, apply_net
from counterplay.policy import Policy
from counterplay.tree import Tree


def softmax(logits: jax.Array, exists: jax.Array) -> jax.Array:
    """Probabilities of the actions that exist; zero for the others."""
    return jax.nn.softmax(jnp.where(exists, logits, -jnp.inf), axis=-1)


def centre(logits: jax.Array, exists: jax.Array) -> jax.Array:
    """Logits minus their mean over the actions that exist; zero for the others."""
    mean = jnp.where(exists, logits, 0.0).sum(-1, keepdims=True) / exists.sum(-1, keepdims=True)
    return jnp.where(exists, logits - mean, 0.0)


@lru_cache(maxsize=4)
def own_views(tree: Tree) -> tuple[Any, Any]:
    """What each player sees at each of its infosets [P, R], and which actions exist [P, R, A]."""
    graph, shape = graph_of(tree)
    view = np.zeros((shape.num_players, max(shape.num_rows)), np.int32)
    count = np.ones_like(view)
    view[graph.player, graph.row] = graph.view[graph.player, np.arange(shape.num_decisions)]
    count[graph.player, graph.row] = graph.num_actions
    return view, np.arange(shape.max_actions) < count[..., None]


def table_of(tree: Tree, nets: list[Net]) -> jax.Array:
    """All players' policies as probabilities [P, R, A]."""
    return _table(*own_views(tree), graph_of(tree)[0].observation, nets)


@jax.jit
def _table(view: Any, exists: Any, observation: Any, nets: list[Net]) -> jax.Array:
    logits = [apply_net(net, observation[view[p]]) for p, net in enumerate(nets)]
    return softmax(jnp.stack(logits), exists)


def policy_of(tree: Tree, table: jax.Array) -> Policy:
    """The policy that a table [P, R, A] stands for."""
    rows = np.asarray(table, np.float64)[tree.infoset_player, tree.infoset_row]
    exists = np.arange(rows.shape[1]) < tree.num_actions[:, None]
    rows = np.where(exists, rows, 0.0)
    return Policy(tree, (rows / rows.sum(axis=1, keepdims=True))[exists])
