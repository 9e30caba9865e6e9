"""Policies that are networks: evaluated state by state, or as a table of an arena."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.algorithms.deep.common.graph import host_graph_from_tree
from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit
from counterplay.algorithms.deep.common.mixture import mix_policies
from counterplay.algorithms.deep.common.networks import (
    apply_net,
    greedy,
    num_outputs,
    regret_matching,
    select_player,
    softmax,
)
from counterplay.algorithms.deep.common.rollouts import round_query_size, round_up_size
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import first_infoset_states, infoset_keys_in
from counterplay.core.arena import Floats
from counterplay.core.game import Game, State
from counterplay.core.observations import KeyObservedGame, hash_key
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.games.poker_encoding import EncodedPoker
from counterplay.registry import get_spec

INFOSETS_PER_BATCH = 8192  # infosets that one call of a network evaluates
HEADS_BY_NAME: dict[str, Any] = {
    "softmax": softmax,
    "regret_matching": regret_matching,
    "greedy": greedy,
}


@dataclass(frozen=True, eq=False)
class NetworkPolicy:
    """A policy given by networks, one per player.

    Output a of a network belongs to action a of the game; outputs of illegal actions are ignored.
    With several `nets`, one is drawn by weight for a whole episode: see `for_episode`.
    """

    game: Game
    nets: tuple[Any, ...]  # every array [P, ...]
    head: str = "softmax"  # name of the function from outputs to probabilities
    weights: tuple[float, ...] = (1.0,)

    def __repr__(self) -> str:
        several = f", one of {len(self.nets)}" if len(self.nets) > 1 else ""
        return f"NetworkPolicy({get_spec(self.game)}{several})"

    def for_episode(self, seed: int) -> NetworkPolicy:
        """Return the policy of one episode, with a single network."""
        if len(self.nets) == 1:
            return self
        cdf = np.cumsum(self.weights) / sum(self.weights)
        draw = np.random.default_rng(seed).random()
        number = min(int(np.searchsorted(cdf, draw, side="right")), len(cdf) - 1)
        return self._members[number]

    @cached_property
    def _first_net(self) -> Any:
        """The first network on the device, so that calls do not copy its weights."""
        return jax.device_put(self.nets[0])

    @cached_property
    def _members(self) -> tuple[NetworkPolicy, ...]:
        """The policy of each network; the same objects in all episodes, which play together."""
        return tuple(replace(self, nets=(net,), weights=(1.0,)) for net in self.nets)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions; of several networks, the first's."""
        game: Any = self.game
        actions = list(game.actions(state))
        observation = np.array(game.observation(state, player), np.float32)[None]
        legal = np.zeros((1, num_outputs(self.nets[0])), bool)
        legal[0, actions] = True
        table = evaluate_policy(self.head, self._first_net, observation, legal, player)
        probs = np.asarray(table, np.float64)[0, actions]
        normalised: list[float] = (probs / probs.sum()).tolist()
        return normalised

    def batch_action_probabilities(
        self, states: Sequence[State], players: Sequence[int]
    ) -> list[list[float]]:
        """Return `action_probabilities` of many states, each infoset evaluated once."""
        game: Any = self.game
        infosets = [
            (player, game.infoset_key(state, player))
            for state, player in zip(states, players, strict=True)
        ]
        first_state = dict(zip(reversed(infosets), reversed(states), strict=True))
        answers: dict[tuple[int, str], list[float]] = {}
        for player in sorted(set(players)):
            members = [infoset for infoset in first_state if infoset[0] == player]
            for first in range(0, len(members), INFOSETS_PER_BATCH):
                part = members[first : first + INFOSETS_PER_BATCH]
                actions = [list(game.actions(first_state[infoset])) for infoset in part]
                observations = [game.observation(first_state[n], player) for n in part]
                rows = self._rows(player, observations, actions)
                answers |= zip(part, rows, strict=True)
        return [answers[infoset] for infoset in infosets]

    def _rows(
        self, player: int, observations: list[Any], actions: list[list[int]]
    ) -> list[list[float]]:
        """Return the probabilities of these actions, padded to one of few sizes to evaluate."""
        observation = np.array(observations, np.float32)
        size, count = round_query_size(len(actions)), len(actions)
        legal = np.ones((size, num_outputs(self.nets[0])), bool)
        legal[:count] = False
        for row, legal_actions in enumerate(actions):
            legal[row, legal_actions] = True
        padded = np.pad(observation, ((0, size - count), (0, 0)))
        table = np.asarray(
            evaluate_policy(self.head, self._first_net, padded, legal, player), np.float64
        )
        rows = np.where(legal, table, 0.0)[:count]
        rows /= rows.sum(axis=1, keepdims=True)
        return [
            row[legal_actions].tolist() for row, legal_actions in zip(rows, actions, strict=True)
        ]

    def hand_agent(self) -> Any:
        """Return the agent that knows its policy for every hand of hold'em, or None.

        It is for matches over ranges and local best responses; see `network_hands`.
        """
        from counterplay.algorithms.deep.common.network_hands import hands_from_networks

        return hands_from_networks(self)

    @property
    def is_suit_invariant(self) -> bool:
        """Whether the networks see poker up to permutations of the suits."""
        return bool(getattr(self.game, "is_suit_invariant", False))

    def tabulate(
        self, arena: Any, progress: Callable[[int], None] | None = None, batch_size: int = 0
    ) -> Any:
        """Return the policy as a table of an arena; several networks are averaged by reach.

        Args:
            arena: a tree, a generated arena, or a hold'em arena.
            progress: called with the number of infosets so far, on a hold'em arena.
            batch_size: hands evaluated at once on a hold'em arena; 0 for the default.
        """
        if isinstance(arena, HoldemGameArena):
            from counterplay.algorithms.deep.common import hand_tables

            size = batch_size or hand_tables.DEFAULT_BATCH_SIZE
            return hand_tables.tabulate_networks(self, arena, progress, size)
        tables = [self._tabulate_net(arena, net) for net in self.nets]
        if len(tables) == 1:
            return Policy(arena, tables[0])
        return mix_policies(arena, tables, self.weights)

    def _tabulate_net(self, arena: Any, net: Any) -> Floats:
        values = np.empty(arena.num_sequences)
        for batch in _infoset_batches(arena, net, self.game):
            count = len(batch.observation)
            # pad to one of few sizes: every size is compiled
            padding = (0, min(INFOSETS_PER_BATCH, round_up_size(count)) - count), (0, 0)
            observation = np.pad(batch.observation, padding)
            legal = np.pad(batch.legal, padding, constant_values=True)
            table = evaluate_policy(self.head, net, observation, legal, batch.player)
            rows = np.where(batch.legal, np.asarray(table, np.float64)[:count], 0.0)
            rows /= rows.sum(axis=1, keepdims=True)
            values[batch.sequences] = rows[batch.entries]
        return values


class InfosetBatch(NamedTuple):
    """Consecutive infosets of one player, as inputs of its network."""

    player: int
    observation: Any  # [N, X]
    legal: Any  # [N, A]
    sequences: slice  # of these infosets
    entries: Any  # index of [N, A]: the entry of each sequence


def _infoset_batches(arena: Any, net: Any, game: Game) -> Iterator[InfosetBatch]:
    """Yield all infosets of an arena in batches."""
    is_tree = isinstance(arena, TreeArena)
    if not is_tree and not hasattr(arena, "observations"):
        raise ConfigError(f"networks cannot be tabulated on {arena.spec}")
    ends = arena.player_infoset if is_tree else arena.form.player_infoset
    read_batch = _read_tree_batch if is_tree else _read_factored_batch
    for player in range(arena.num_players):
        for first in range(int(ends[player]), int(ends[player + 1]), INFOSETS_PER_BATCH):
            last = min(first + INFOSETS_PER_BATCH, int(ends[player + 1]))
            yield read_batch(arena, net, game, player, first, last)


def _read_tree_batch(
    tree: TreeArena, net: Any, game: Game, player: int, first: int, last: int
) -> InfosetBatch:
    """Return infosets of a tree, whose actions are numbered within each infoset."""
    graph = host_graph_from_tree(tree)
    observation = np.asarray(graph.observation)[np.asarray(graph.own_observation_row)[first:last]]
    if isinstance(game, KeyObservedGame):  # trained on rules, where not all keys are known
        keys = infoset_keys_in(tree, game)[first:last]
        observation = np.array([hash_key(player, key, tree.num_players) for key in keys])
    elif isinstance(game, EncodedPoker):
        states = first_infoset_states(tree)[first:last]
        observation = np.array([game.observation(s, player) for s in states], np.float32)
    sequences = slice(int(tree.offset[first]), int(tree.offset[last]))
    row = np.repeat(np.arange(last - first), tree.num_actions[first:last])
    entries = row, tree.sequence_action[sequences]
    legal = np.zeros((last - first, num_outputs(net)), bool)
    legal[entries] = True
    return InfosetBatch(player, observation, legal, sequences, entries)


def _read_factored_batch(
    arena: Any, net: Any, game: Game, player: int, first: int, last: int
) -> InfosetBatch:
    """Return infosets of an arena that computes observations, with actions in increasing order."""
    legal = arena.legal_mask(first, last)
    sequences = slice(int(arena.offset[first]), int(arena.offset[last]))
    return InfosetBatch(player, arena.observations(first, last), legal, sequences, legal)


@lazy_jit(static_argnums=0)
def evaluate_policy(head: str, nets: Any, observation: Any, legal: Any, player: Any) -> jax.Array:
    """Return the probabilities [N, A] of one player's network."""
    outputs = apply_net(select_player(nets, player), observation)
    probabilities: jax.Array = HEADS_BY_NAME[head](outputs, legal)
    return probabilities
