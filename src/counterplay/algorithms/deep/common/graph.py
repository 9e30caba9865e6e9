"""The tree as a device sees it: decisions only, chance folded into the edges, and observations."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

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
MAX_UNROLLED_TURNS = (
    4  # turns up to which programs are written out, turn by turn and player by player
)
MAX_UNROLLED_FIXED_TURNS = 8  # the same, if each turn is always the same player's


class TurnInfo(NamedTuple):
    """The t-th decision of an episode."""

    player: int  # -1 where that varies
    first_infoset: int  # infosets that can be met, if they are the player's
    end_infoset: int


@dataclass(frozen=True)
class Graph:
    """Decisions D (nodes at which a player acts) with their edges E, and terminals after them.

    An edge is a decision's action. Chance between two decisions is part of the edge: successor k
    of edge e is node `succ_node[succ_offset[e] + k]`, with cumulative probability `succ_cdf`. Edge
    0 leads from nowhere to the first decision. I infosets, V views, T turns, A actions at most, F
    sequences of the tree's form. One pytree: programs take it as an argument.
    """

    player: jax.Array  # [D] who acts
    infoset: jax.Array  # [D]
    first_edge: jax.Array  # [D]
    succ_offset: jax.Array  # [E + 1]
    succ_node: jax.Array  # [F] decisions from 0, terminals from D
    succ_cdf: jax.Array  # [F]
    observation_row: jax.Array  # [P, D] what each player sees there, a row of `observation`
    utility: jax.Array  # [Z, P]
    largest_utility: jax.Array  # []
    observation: jax.Array  # [V, X] one row per player and augmented infoset
    infoset_player: jax.Array  # [I] whose infoset it is
    own_observation_row: jax.Array  # [I] what its player sees there
    legal: jax.Array  # [I, A] which actions exist
    sequence: jax.Array  # [F, 2] infoset and action
    sequence_path: jax.Array  # [F, M] the sequence and those before it, then F
    num_histories: (
        jax.Array
    )  # [F] of its infoset in the form, where that is merged with others; else 1
    # facts that decide how programs are compiled
    num_players: int
    max_starts: int  # ways chance can open the game
    max_successors: int
    max_own_decisions: tuple[int, ...]  # [P] decisions of each player in an episode, at most
    first_infoset: tuple[int, ...]  # [P + 1] of each player
    turns: tuple[TurnInfo, ...]  # [T] of the longest episode

    @property
    def is_rollout_batch(self) -> bool:
        """Whether these are the decisions of some episodes, met by chance: see `batches`."""
        return self.succ_offset.shape[0] == 0

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
        """Whether a program for each player pays."""
        return self.longest_episode <= MAX_UNROLLED_TURNS

    @property
    def has_fixed_turn_order(self) -> bool:
        """Whether a program for each turn pays, since it is the same player's in all episodes."""
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


def graph_from_tree(tree: TreeArena) -> Graph:
    """The tree's graph on the present device; made once."""
    device = jax.config.jax_default_device
    placed = _graphs_by_device(tree)
    if device not in placed:
        placed[device] = jax.tree.map(jnp.asarray, host_graph_from_tree(tree))
    return placed[device]


def restrict_graph(tree: TreeArena, allowed_sequences: Any) -> Graph:
    """The tree's graph, where only the sequences `allowed` [S] are left: same shape, fewer choices.

    At least one action must be left at every infoset.
    """
    graph = graph_from_tree(tree)
    legal = np.zeros(graph.legal.shape, bool)
    legal[np.asarray(graph.legal)] = allowed_sequences
    return replace(graph, legal=jnp.asarray(legal))


@cache_on_tree
def _graphs_by_device(tree: TreeArena) -> dict[Any, Graph]:
    return {}


@cache_on_tree
def host_graph_from_tree(tree: TreeArena) -> Graph:
    """The tree's graph as NumPy arrays; a tree without decisions has none."""
    if not tree.num_infosets:
        raise ConfigError(f"networks have nothing to learn: no player acts in {tree.spec}")
    decisions = np.flatnonzero(tree.player >= 0)
    place = np.full(tree.num_nodes, -1, np.int64)
    place[decisions] = np.arange(decisions.size)
    place[tree.terminals] = decisions.size + np.arange(tree.num_terminals)
    infoset = tree.infoset[decisions]
    counts = tree.num_actions[infoset]

    after = np.concatenate([np.zeros(1, np.int64), child_nodes(tree, decisions)])
    lengths, succ_node, succ_cdf = _successors(tree, place, after)

    view, observation = _observations(tree, decisions)
    own_view = np.zeros(tree.num_infosets, np.int32)
    own_view[infoset] = view[tree.player[decisions], np.arange(decisions.size)]
    return Graph(
        player=tree.player[decisions].astype(np.int32),
        infoset=infoset.astype(np.int32),
        first_edge=(1 + np.cumsum(counts) - counts).astype(np.int32),
        succ_offset=np.append(0, np.cumsum(lengths)).astype(np.int32),
        succ_node=succ_node,
        succ_cdf=succ_cdf,
        observation_row=view,
        utility=tree.utility.astype(np.float32),
        largest_utility=np.abs(tree.utility).max().astype(np.float32),
        observation=observation,
        infoset_player=tree.infoset_player.astype(np.int32),
        own_observation_row=own_view,
        legal=np.arange(tree.max_actions) < tree.num_actions[:, None],
        sequence=_sequence_infosets_and_actions(tree),
        sequence_path=_sequence_paths(tree),
        num_histories=np.where(tree.has_perfect_recall, 1, tree.histories_by_sequence).astype(
            np.float32
        ),
        num_players=tree.num_players,
        max_starts=int(lengths[0]),
        max_successors=int(lengths[1:].max(initial=1)),
        max_own_decisions=tuple(
            int(tree.count_ancestors(tree.player == player).max())
            for player in range(tree.num_players)
        ),
        first_infoset=tuple(tree.player_infoset.tolist()),
        turns=_turn_infos(tree, decisions),
    )


def child_nodes(tree: TreeArena, nodes: Ints) -> Ints:
    """The children of some nodes, family by family."""
    first, last = tree.child_offset[nodes], tree.child_offset[nodes + 1]
    counts = last - first
    inside = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first, counts) + inside


def _successors(tree: TreeArena, graph_index: Ints, targets: Ints) -> tuple[Ints, Ints, Any]:
    """How many successors the edges to some nodes have, where they lead, and how likely so far."""
    beyond = _successors_past_chance(tree, graph_index)
    at_chance = np.flatnonzero(tree.player[targets] == CHANCE)
    through = [beyond[node] for node in targets[at_chance].tolist()]
    lengths = np.ones(targets.size, np.int64)
    lengths[at_chance] = [len(edges) for edges in through]
    node = np.repeat(graph_index[targets], lengths).astype(np.int32)
    cdf = np.ones(node.size, np.float32)
    first = (np.cumsum(lengths) - lengths)[at_chance].tolist()
    for start, edges in zip(first, through, strict=True):
        node[start : start + len(edges)] = [to for to, _ in edges]
        cdf[start : start + len(edges)] = np.cumsum([p for _, p in edges])
    return lengths, node, cdf


def _successors_past_chance(
    tree: TreeArena, graph_index: Ints
) -> dict[int, list[tuple[int, float]]]:
    """For every chance node, where it leads past further chance, and how likely."""
    beyond: dict[int, list[tuple[int, float]]] = {}
    for node in np.flatnonzero(tree.player == CHANCE)[::-1].tolist():
        beyond[node] = []
        for child in range(*tree.child_offset[node : node + 2].tolist()):
            here = beyond.get(child) or [(int(graph_index[child]), 1.0)]
            beyond[node] += [(to, float(tree.chance[child]) * p) for to, p in here]
    return beyond


def _turn_infos(tree: TreeArena, decisions: Ints) -> tuple[TurnInfo, ...]:
    before = tree.count_ancestors(tree.player >= 0)[decisions]
    turns = []
    for turn in range(tree.max_episode_length):
        infosets = tree.infoset[decisions[before == turn]]
        players = np.unique(tree.infoset_player[infosets])
        player = int(players[0]) if players.size == 1 else -1
        turns.append(TurnInfo(player, int(infosets.min()), int(infosets.max()) + 1))
    return tuple(turns)


def _observations(tree: TreeArena, decisions: Ints) -> tuple[Ints, Any]:
    """What every player sees at every decision, and one observation for each thing to see."""
    try:
        game = tree.game
    except ConfigError as error:
        problem = "networks need observations, and so the rules of the game"
        raise ConfigError(f"{problem}; {tree.spec} comes without rules") from error
    seen: dict[tuple[int, str], int] = {}
    first: list[State] = []  # one of each thing to see
    view = np.zeros((tree.num_players, decisions.size), np.int32)
    number = 0
    for node, state in enumerate(iter_states(tree)):
        if tree.player[node] < 0:
            continue
        for player in range(tree.num_players):
            key = player, game.infoset_key(state, player)
            if seen.setdefault(key, len(first)) == len(first):
                first.append(state)
            view[player, number] = seen[key]
        number += 1
    return view, build_observations(game, list(seen), first)


def _sequence_infosets_and_actions(tree: TreeArena) -> Ints:
    """The game's own infoset, and the action, of each sequence of the form [F, 2]."""
    counts = row_lengths(tree.form.offset)
    infoset = np.repeat(np.arange(counts.size), counts)
    action = np.arange(infoset.size) - tree.form.offset[infoset].astype(np.int64)
    return np.column_stack([tree.game_infoset[infoset], action]).astype(np.int32)


def _sequence_paths(tree: TreeArena) -> Ints:
    """Each sequence of the form and those before it [F, M], padded with F."""
    size = int(tree.form.offset[-1])
    above = np.append(np.repeat(tree.form.parent, row_lengths(tree.form.offset)), size)
    path = [np.arange(size)]
    while (path[-1] < size).any():
        path.append(above[path[-1]].astype(np.int64))
    return np.stack(path[:-1] or path, axis=1).astype(np.int32)
