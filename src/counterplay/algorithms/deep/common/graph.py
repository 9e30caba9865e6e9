"""The game tree as device arrays: decisions, chance folded into the edges, and observations."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, cast

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

from counterplay.algorithms.deep.common.utility_scale import tree_utility_scale
from counterplay.arenas.tree.arena import TreeArena, cache_on_tree
from counterplay.arenas.tree.replay import iter_states
from counterplay.core.arena import Ints, row_lengths
from counterplay.core.game import CHANCE, State
from counterplay.core.observations import build_observations
from counterplay.errors import ConfigError

STATIC_FIELDS = (
    "num_players",
    "max_starts",
    "max_successors",
    "max_own_decisions",
    "first_infoset",
    "turns",
)
MAX_UNROLLED_TURNS = 4  # longest episodes whose loops over turns and players are unrolled
MAX_UNROLLED_FIXED_TURNS = 8  # likewise, if each turn always belongs to the same player

Players = tuple[int, ...]


class TurnInfo(NamedTuple):
    """The t-th decision of an episode."""

    player: int  # -1 if it varies
    first_infoset: int  # first of the infosets that can occur in this turn
    end_infoset: int  # one past the last of them


@dataclass(frozen=True)
class Graph:
    """Decisions D (nodes at which a player acts) with their edges E, and terminals after them.

    An edge is a decision's action. Chance between two decisions is part of the edge: successor k
    of edge e is node `succ_node[succ_offset[e] + k]`, with cumulative probability `succ_cdf`. Edge
    0 leads from the root to the first decision. I infosets, V observations, T turns, A actions at
    most, F sequences of the tree's form. A graph is a pytree, which compiled programs take as an
    argument.
    """

    player: jax.Array  # [D] player that acts
    infoset: jax.Array  # [D]
    first_edge: jax.Array  # [D]
    succ_offset: jax.Array  # [E + 1]
    succ_node: jax.Array  # [S] decisions from 0, terminals from D
    succ_cdf: jax.Array  # [S]
    observation_row: jax.Array  # [P, D] row of `observation` that each player sees
    utility: jax.Array  # [Z, P]
    largest_utility: jax.Array  # [] largest absolute utility
    observation: jax.Array  # [V, X] one row per player and distinct observation
    infoset_player: jax.Array  # [I]
    own_observation_row: jax.Array  # [I] row of `observation` that its player sees
    legal: jax.Array  # [I, A]
    sequence: jax.Array  # [F, 2] infoset and action
    sequence_path: jax.Array  # [F, M] the sequence and its ancestors, padded with F
    num_histories: jax.Array  # [F] histories of its infoset in the form, if it is merged; else 1
    # static: another value means another compiled program
    num_players: int
    max_starts: int  # number of states in which chance can open the game
    max_successors: int
    max_own_decisions: tuple[int, ...]  # [P] most decisions of each player in an episode
    first_infoset: tuple[int, ...]  # [P + 1] first infoset of each player
    turns: tuple[TurnInfo, ...]  # [T] of the longest episode
    utility_scale: jax.Array | float = 1.0  # [] see `utility_scale`

    @property
    def is_rollout_batch(self) -> bool:
        """Whether the decisions are those of sampled episodes of rules: see `rollouts`."""
        return self.succ_offset.shape[0] == 0

    @property
    def all_players(self) -> Players:
        return tuple(range(self.num_players))

    @property
    def num_decisions(self) -> int:
        return self.player.shape[0]

    @property
    def num_infosets(self) -> int:
        return self.legal.shape[0]

    @property
    def max_actions(self) -> int:
        return self.legal.shape[1]

    @property
    def longest_episode(self) -> int:
        return len(self.turns)

    @property
    def is_short_game(self) -> bool:
        """Whether unrolling loops over turns and players is faster than looping."""
        return self.longest_episode <= MAX_UNROLLED_TURNS

    @property
    def has_fixed_turn_order(self) -> bool:
        """Whether each turn belongs to the same player in all episodes, and unrolling is faster."""
        return self.longest_episode <= MAX_UNROLLED_FIXED_TURNS and all(
            turn.player >= 0 for turn in self.turns
        )

    @property
    def num_features(self) -> int:
        return self.observation.shape[1]


jax.tree_util.register_dataclass(
    Graph,
    data_fields=[field.name for field in fields(Graph) if field.name not in STATIC_FIELDS],
    meta_fields=list(STATIC_FIELDS),
)


def host_array(array: npt.NDArray[Any] | np.generic) -> jax.Array:
    """Return a NumPy array under the type of device arrays, which JAX takes in their place.

    States are made of NumPy arrays, since JAX compiles a program for every shape it fills, and are
    moved to the device as a whole.
    """
    return cast(jax.Array, array)


def graph_from_tree(tree: TreeArena) -> Graph:
    """Return the tree's graph on the default device; built once per tree and device."""
    device = jax.config.jax_default_device  # type: ignore[attr-defined]  # declared at run time
    placed = _graphs_by_device(tree)
    if device not in placed:
        placed[device] = jax.tree.map(jnp.asarray, host_graph_from_tree(tree))
    return placed[device]


def restrict_graph(tree: TreeArena, allowed_sequences: npt.NDArray[np.bool_]) -> Graph:
    """Return the tree's graph, in which only the sequences `allowed_sequences` [S] are legal.

    Every infoset must keep at least one action. The shapes of arrays stay the same.
    """
    graph = graph_from_tree(tree)
    legal = np.zeros(graph.legal.shape, bool)
    legal[np.asarray(graph.legal)] = allowed_sequences
    return replace(graph, legal=jnp.asarray(legal))


@cache_on_tree
def _graphs_by_device(tree: TreeArena) -> dict[jax.Device | None, Graph]:
    return {}


@cache_on_tree
def host_graph_from_tree(tree: TreeArena) -> Graph:
    """Return the tree's graph as NumPy arrays.

    Raises:
        ConfigError: if no player acts in the game, if each player's utility is constant, or if the
            tree comes without rules.
    """
    if not tree.num_infosets:
        raise ConfigError(f"networks have nothing to learn: no player acts in {tree.spec}")
    decisions = np.flatnonzero(tree.player >= 0)
    graph_index = np.full(tree.num_nodes, -1, np.int64)
    graph_index[decisions] = np.arange(decisions.size)
    graph_index[tree.terminals] = decisions.size + np.arange(tree.num_terminals)
    infoset = tree.infoset[decisions]
    counts = tree.num_actions[infoset]

    targets = np.concatenate([np.zeros(1, np.int64), child_nodes(tree, decisions)])
    lengths, succ_node, succ_cdf = _successors(tree, graph_index, targets)

    row, observation = _observations(tree, decisions)
    own_row = np.zeros(tree.num_infosets, np.int32)
    own_row[infoset] = row[tree.player[decisions], np.arange(decisions.size)]
    num_histories = np.where(tree.has_perfect_recall, 1, tree.histories_by_sequence)
    return Graph(
        player=host_array(tree.player[decisions].astype(np.int32)),
        infoset=host_array(infoset.astype(np.int32)),
        first_edge=host_array((1 + np.cumsum(counts) - counts).astype(np.int32)),
        succ_offset=host_array(np.append(0, np.cumsum(lengths)).astype(np.int32)),
        succ_node=host_array(succ_node),
        succ_cdf=host_array(succ_cdf),
        observation_row=host_array(row),
        utility=host_array(tree.utility.astype(np.float32)),
        largest_utility=host_array(np.abs(tree.utility).max().astype(np.float32)),
        observation=host_array(observation),
        infoset_player=host_array(tree.infoset_player.astype(np.int32)),
        own_observation_row=host_array(own_row),
        legal=host_array(np.arange(tree.max_actions) < tree.num_actions[:, None]),
        sequence=host_array(_sequence_infosets_and_actions(tree)),
        sequence_path=host_array(_sequence_paths(tree)),
        num_histories=host_array(num_histories.astype(np.float32)),
        num_players=tree.num_players,
        max_starts=int(lengths[0]),
        max_successors=int(lengths[1:].max(initial=1)),
        max_own_decisions=tuple(
            int(tree.count_ancestors(tree.player == player).max())
            for player in range(tree.num_players)
        ),
        first_infoset=tuple(tree.player_infoset.tolist()),
        turns=_turn_infos(tree, decisions),
        utility_scale=host_array(np.float32(tree_utility_scale(tree))),
    )


def child_nodes(tree: TreeArena, nodes: Ints) -> Ints:
    """Return the children of some nodes, those of each node together."""
    first, end = tree.child_offset[nodes], tree.child_offset[nodes + 1]
    counts = end - first
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first, counts) + number


def _successors(
    tree: TreeArena, graph_index: Ints, targets: Ints
) -> tuple[Ints, Ints, npt.NDArray[np.float32]]:
    """Return the successors of the edges that lead to some nodes of the tree.

    Returns:
        The number of successors of each edge, the successors of all edges, and their cumulative
        probabilities within the edge.
    """
    past_chance = _successors_past_chance(tree, graph_index)
    at_chance = np.flatnonzero(tree.player[targets] == CHANCE)
    outcomes = [past_chance[node] for node in targets[at_chance].tolist()]
    lengths = np.ones(targets.size, np.int64)
    lengths[at_chance] = [len(edges) for edges in outcomes]
    node = np.repeat(graph_index[targets], lengths).astype(np.int32)
    cdf = np.ones(node.size, np.float32)
    first = (np.cumsum(lengths) - lengths)[at_chance].tolist()
    for start, edges in zip(first, outcomes, strict=True):
        node[start : start + len(edges)] = [successor for successor, _ in edges]
        cdf[start : start + len(edges)] = np.cumsum([probability for _, probability in edges])
    return lengths, node, cdf


def _successors_past_chance(
    tree: TreeArena, graph_index: Ints
) -> dict[int, list[tuple[int, float]]]:
    """Return, for every chance node, the next nodes that are not chance, with probabilities."""
    past_chance: dict[int, list[tuple[int, float]]] = {}
    for node in np.flatnonzero(tree.player == CHANCE)[::-1].tolist():
        past_chance[node] = []
        for child in range(*tree.child_offset[node : node + 2].tolist()):
            successors = past_chance.get(child) or [(int(graph_index[child]), 1.0)]
            past_chance[node] += [
                (successor, float(tree.chance[child]) * probability)
                for successor, probability in successors
            ]
    return past_chance


def _turn_infos(tree: TreeArena, decisions: Ints) -> tuple[TurnInfo, ...]:
    """Return the player and the range of infosets of each turn of the longest episode."""
    before = tree.count_ancestors(tree.player >= 0)[decisions]
    turns = []
    for turn in range(tree.max_episode_length):
        infosets = tree.infoset[decisions[before == turn]]
        players = np.unique(tree.infoset_player[infosets])
        player = int(players[0]) if players.size == 1 else -1
        turns.append(TurnInfo(player, int(infosets.min()), int(infosets.max()) + 1))
    return tuple(turns)


def _observations(tree: TreeArena, decisions: Ints) -> tuple[Ints, npt.NDArray[np.float32]]:
    """Return each player's row [P, D] at every decision, and the distinct observations [V, X]."""
    try:
        game = tree.game
    except ConfigError as error:
        problem = "networks need observations, which the rules of a game give"
        raise ConfigError(f"{problem}; {tree.spec} comes without rules") from error
    row_by_key: dict[tuple[int, str], int] = {}
    examples: list[State] = []  # a state for each distinct observation
    rows = np.zeros((tree.num_players, decisions.size), np.int32)
    number = 0
    for node, state in enumerate(iter_states(tree)):
        if tree.player[node] < 0:
            continue
        for player in range(tree.num_players):
            key = player, game.infoset_key(state, player)
            if row_by_key.setdefault(key, len(examples)) == len(examples):
                examples.append(state)
            rows[player, number] = row_by_key[key]
        number += 1
    return rows, build_observations(game, list(row_by_key), examples)


def _sequence_infosets_and_actions(tree: TreeArena) -> Ints:
    """Return the game's infoset and the action of each sequence of the form [F, 2]."""
    counts = row_lengths(tree.form.offset)
    infoset = np.repeat(np.arange(counts.size), counts)
    action = np.arange(infoset.size) - tree.form.offset[infoset].astype(np.int64)
    return np.column_stack([tree.game_infoset[infoset], action]).astype(np.int32)


def _sequence_paths(tree: TreeArena) -> Ints:
    """Return each sequence of the form and its ancestors [F, M], padded with F."""
    size = int(tree.form.offset[-1])
    parent = np.append(np.repeat(tree.form.parent, row_lengths(tree.form.offset)), size)
    path = [np.arange(size)]
    while (path[-1] < size).any():
        path.append(parent[path[-1]].astype(np.int64))
    return np.stack(path[:-1] or path, axis=1).astype(np.int32)
