"""Networks as policies where there is no table: asked state by state, or tabulated in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np

from counterplay.algorithms.deep.common.graph import host_graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import persistent_jit
from counterplay.algorithms.deep.common.networks import (
    Net,
    apply_net,
    greedy,
    num_outputs,
    regret_matching,
    select_player,
    softmax,
)
from counterplay.algorithms.deep.common.rollouts import round_up_size
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats
from counterplay.core.game import Game, State
from counterplay.core.observations import KeyObservedGame, hash_key
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.registry import get_spec

INFOSETS_PER_BATCH = 8192  # infosets that are tabulated at a time
HEADS_BY_NAME: dict[str, Any] = {
    "softmax": softmax,
    "regret_matching": regret_matching,
    "greedy": greedy,
}


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """What networks play, one per player: `odds(state, player)`, as `playing` asks for them.

    Every output is an action of the game by its number; actions that do not exist are left out.
    With several `nets` one of them is drawn, by weight, for a whole episode (`fresh`).
    """

    game: Game
    nets: tuple[Net, ...]  # every array [P, ...]
    head: str = "softmax"
    weights: tuple[float, ...] = (1.0,)

    def __repr__(self) -> str:
        several = f", one of {len(self.nets)}" if len(self.nets) > 1 else ""
        return f"NetworkPolicy({get_spec(self.game)}{several})"

    def for_episode(self, seed: int) -> NetworkPolicy:
        """The policy for one episode."""
        if len(self.nets) == 1:
            return self
        share = np.cumsum(self.weights) / sum(self.weights)
        draw = np.random.default_rng(seed).random()
        number = min(int(np.searchsorted(share, draw, side="right")), len(share) - 1)
        return replace(self, nets=(self.nets[number],), weights=(1.0,))

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """The probabilities of the player's actions; of several networks those of the first."""
        game: Any = self.game
        actions = list(game.actions(state))
        x = np.array(game.observation(state, player), np.float32)[None]
        legal = np.zeros((1, num_outputs(self.nets[0])), bool)
        legal[0, actions] = True
        row = np.asarray(_jit_apply_head()(self.head, self.nets[0], x, legal, player), np.float64)[
            0, actions
        ]
        return (row / row.sum()).tolist()

    def tabulate(self, arena: Any) -> Policy:
        """The same policy as a table of an arena, for exact judgement; several are averaged."""
        tables = [self._tabulate_net(arena, net) for net in self.nets]
        if len(tables) == 1:
            return Policy(arena, tables[0])
        from counterplay.algorithms.deep.common.mixture import mix_policies

        return mix_policies(arena, tables, self.weights)

    def _tabulate_net(self, arena: Any, net: Net) -> Floats:
        values = np.empty(arena.num_sequences)
        for player, first, last, x, legal, action in _infoset_batches(arena, net, self.game):
            count = len(x)
            more = (
                min(INFOSETS_PER_BATCH, round_up_size(count)) - count
            )  # every size is compiled for
            x = np.pad(x, ((0, more), (0, 0)))
            there = np.pad(legal, ((0, more), (0, 0)), constant_values=True)
            rows = np.asarray(_jit_apply_head()(self.head, net, x, there, player), np.float64)[
                :count
            ]
            row = np.where(legal, rows, 0.0)
            row /= row.sum(axis=1, keepdims=True)
            start, end = int(arena.offset[first]), int(arena.offset[last])
            values[start:end] = row[legal] if action is None else row[action]
        return values


def _infoset_batches(arena: Any, net: Net, game: Game) -> Iterator[tuple[Any, ...]]:
    """Some infosets of one player at a time: observations, actions that exist, and their order."""
    is_tree = isinstance(arena, TreeArena)
    if not is_tree and not hasattr(arena, "observations"):
        raise ConfigError(f"networks cannot be tabulated on {arena.spec}")
    ends = arena.player_infoset if is_tree else arena.form.player_infoset
    for player in range(arena.num_players):
        for first in range(int(ends[player]), int(ends[player + 1]), INFOSETS_PER_BATCH):
            last = min(first + INFOSETS_PER_BATCH, int(ends[player + 1]))
            if not is_tree:
                seen, legal = arena.observations(first, last), arena.legal_mask(first, last)
                yield player, first, last, seen, legal, None
                continue
            graph = host_graph_from_tree(arena)
            x = np.asarray(graph.observation)[np.asarray(graph.own_observation_row)[first:last]]
            if isinstance(game, KeyObservedGame):  # trained on rules, where not all keys are known
                keys = arena.infoset_keys[first:last]
                x = np.array([hash_key(player, key, arena.num_players) for key in keys])
            begin, end = int(arena.offset[first]), int(arena.offset[last])
            row = np.repeat(np.arange(last - first), arena.num_actions[first:last])
            action = row, arena.sequence_action[begin:end]
            legal = np.zeros((last - first, num_outputs(net)), bool)
            legal[action] = True
            yield player, first, last, x, legal, action


@lru_cache
def _jit_apply_head() -> Callable[..., jax.Array]:
    @partial(persistent_jit, static_argnums=0)
    def say(head: str, nets: Net, x: jax.Array, legal: jax.Array, player: jax.Array) -> jax.Array:
        return HEADS_BY_NAME[head](apply_net(select_player(nets, player), x), legal)

    return say
