"""From what a walk met to a tree: sort nodes and infosets into order, and renumber all."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, freeze
from counterplay.core.arena import Floats, Ints, SequenceForm, row_lengths
from counterplay.core.game import TERMINAL, Game

MIN_INFOSETS_PER_BLOCK = 4_096  # infosets of a level that one thread takes at a time, at least


class TreeBuilder:
    """What a tree is made of, in the order in which it was met; parents come before children."""

    def __init__(self, spec: str, num_players: int, game: Game | None = None):
        self.spec, self.num_players, self.game = spec, num_players, game
        # per node and per terminal; whoever has NumPy arrays of them may put these in their place
        self.player: Any = array("b")
        self.parent: Any = array("i")
        self.action: Any = array("i")
        self.depth: Any = array("H")
        self.chance: Any = array("d")
        self.infoset: Any = array("i")
        self.last_sequence: Any = array("i")  # every player's last sequence, or -1
        self.chance_reach: Any = array("d")
        self.utility: Any = array("d")
        # per infoset as a player with perfect recall tells them apart
        self.infoset_player: Any = array("b")
        self.parent_sequence: Any = array("i")
        self.infoset_level: Any = array("i")
        self.first_sequence: Any = array("i", [0])
        self.game_infoset: Any = array("i")
        self.infoset_of_sequence = array("i")
        # per infoset as the game names them
        self.infoset_keys: list[tuple[int, str]] = []
        self.legal_actions: list[tuple[int, ...]] = []
        self.action_names: list[tuple[str, ...]] = []

    def append_infoset(self, player: int, game_infoset: int, last_sequence: int) -> int:
        """The number of an infoset not met before, after the player's sequence `last` (or -1)."""
        infoset = len(self.infoset_player)
        self.infoset_player.append(player)
        self.parent_sequence.append(last_sequence)
        self.infoset_level.append(
            self.infoset_level[self.infoset_of_sequence[last_sequence]] + 1
            if last_sequence >= 0
            else 0
        )
        self.game_infoset.append(game_infoset)
        self.first_sequence.append(
            self.first_sequence[infoset] + len(self.legal_actions[game_infoset])
        )
        self.infoset_of_sequence.extend([infoset] * len(self.legal_actions[game_infoset]))
        return infoset

    def build(self) -> TreeArena:
        """Sort nodes into level order, infosets into player and level order, and renumber all."""
        new_infoset, block = self.sort_infosets()
        first = np.array(self.first_sequence, np.int64)
        num_actions = np.diff(first)
        old_infoset = np.argsort(new_infoset)
        offset = np.concatenate([[0], np.cumsum(num_actions[old_infoset])])
        num_sequences = int(offset[-1])
        # new number of every old sequence; the last entry serves the old number -1
        shift = np.repeat(offset[new_infoset] - first[:-1], num_actions)
        new_sequence = np.append(np.arange(num_sequences) + shift, num_sequences)

        form = SequenceForm(
            offset=offset.astype(np.uint32),
            parent=new_sequence[np.array(self.parent_sequence, np.int64)[old_infoset]].astype(
                np.uint32
            ),
            player_infoset=np.searchsorted(
                np.array(self.infoset_player)[old_infoset], np.arange(self.num_players + 1)
            ),
            **self.payoff_rows(new_sequence),
        )
        return self.assemble(form, block, new_infoset, old_infoset)

    def sort_infosets(self) -> tuple[Ints, Ints]:
        """New number of each infoset, and the independent blocks of each level.

        Within a level the order is free. A large level is cut into blocks that share no parent
        sequence, so that threads may work on them at once; in a block, infosets with equally
        many actions stand together, so that the short loops over actions are predictable.
        """
        owner, level = np.array(self.infoset_player), np.array(self.infoset_level)
        above, first = (
            np.array(self.parent_sequence, np.int64),
            np.array(self.first_sequence, np.int64),
        )
        num_actions = np.diff(first)
        new_infoset = np.zeros(owner.size, np.int64)
        new_sequence = np.full(first[-1] + 1, -1)
        block: list[tuple[int, int, int, int]] = []
        order = np.lexsort((level, owner))
        changes = np.diff(level[order], prepend=-1) | np.diff(owner[order], prepend=-1)
        starts = np.flatnonzero(changes)
        sequence = 0
        for start, end in pairwise([*starts, owner.size]):
            ids = order[start:end]
            parent = new_sequence[above[ids]]
            part = _independent_parts(parent)
            ids = ids[np.lexsort((num_actions[ids], parent, part))]
            new_infoset[ids] = np.arange(start, end)
            counts = num_actions[ids]
            inside = np.arange(counts.sum())
            shift = np.repeat(first[ids] - (np.cumsum(counts) - counts), counts)
            new_sequence[inside + shift] = sequence + inside
            sequence += inside.size
            cuts = [start, *(start + np.flatnonzero(np.diff(np.sort(part))) + 1), end]
            player, depth = int(owner[ids[0]]), int(level[ids[0]])
            block += [(player, depth, int(a), int(b)) for a, b in pairwise(cuts)]
        return new_infoset, np.array(block, np.int64).reshape(-1, 4)

    def payoff_rows(self, new_sequence: Ints) -> dict[str, Ints]:
        """The payoff rows of all players, one after the other."""
        num_players = self.num_players
        last = new_sequence[np.array(self.last_sequence, np.int64).reshape(-1, num_players)]
        utility = np.array(self.utility).reshape(-1, num_players)
        reach = np.array(self.chance_reach)
        parts = [
            _payoff_rows(last[:, p], np.delete(last, p, axis=1), reach * utility[:, p])
            for p in range(num_players)
        ]
        sequences, lengths, others, weights = zip(*parts, strict=True)
        return {
            "player_row": np.cumsum([0, *(len(s) for s in sequences)]),
            "row_offset": np.cumsum([0, *np.concatenate(lengths)]).astype(np.uint32),
            "row_sequence": np.concatenate(sequences).astype(np.uint32),
            "other": np.concatenate(others).astype(np.uint32),
            "weight": np.concatenate(weights),
        }

    def assemble(self, form: SequenceForm, block: Ints, new_infoset: Ints, old: Ints) -> TreeArena:
        """The tree, with nodes in level order and infosets as the game names them."""
        # infosets as the game names them, in the order of their first one in the form
        merged = np.array(self.game_infoset, np.int64)[old]
        _, earliest = np.unique(merged, return_index=True)
        shown = merged[np.sort(earliest)]
        rank = np.empty_like(shown)
        rank[shown] = np.arange(shown.size)
        keys = self.infoset_keys
        legal, names = [self.legal_actions[i] for i in shown], [self.action_names[i] for i in shown]
        offset = np.cumsum([0, *map(len, legal)])
        forgets = shown.size < merged.size
        counts = row_lengths(form.offset)
        shift = np.repeat(offset[rank[merged]] - form.offset[:-1].astype(np.int64), counts)

        order = np.argsort(np.array(self.depth), kind="stable")
        place = np.append(np.empty_like(order), -1)
        place[order] = np.arange(order.size)
        parent = place[np.array(self.parent)[order]]
        # infoset of every node; the last entry serves the -1 of chance and terminal nodes
        of_node = np.append(new_infoset, -1)[np.array(self.infoset)[order]].astype(np.int32)
        to_public = np.append(rank[merged], -1).astype(np.int32)
        num_children = np.bincount(parent[1:], minlength=order.size)
        player = np.array(self.player)[order]
        utility = np.array(self.utility).reshape(-1, self.num_players)
        terminals = np.flatnonzero(np.array(self.player) == TERMINAL)
        tree = TreeArena(
            spec=self.spec,
            num_players=self.num_players,
            player=player,
            parent=parent.astype(np.int32),
            child_offset=np.append(1, 1 + np.cumsum(num_children)).astype(np.int32),
            action=np.array(self.action)[order],
            chance=np.array(self.chance)[order],
            infoset=to_public[of_node],
            utility=utility[np.argsort(place[terminals])],
            offset=offset.astype(np.int32),
            infoset_player=np.array([keys[i][0] for i in shown], np.int8),
            infoset_keys=tuple(keys[i][1] for i in shown),
            sequence_action=np.array([a for actions in legal for a in actions], np.int32),
            sequence_names=tuple(name for row in names for name in row),
            form=form,
            level_blocks=block,
            game_sequence=(np.arange(shift.size) + shift if forgets else np.zeros(0)).astype(
                np.int32
            ),
            num_histories=np.bincount(of_node[of_node >= 0], minlength=merged.size),
            recall_infoset=of_node if forgets else np.zeros(0, np.int32),
            source_game=self.game,
        )
        freeze(tree)
        return tree


def _independent_parts(parent: Ints) -> Ints:
    """Which block each infoset of a level goes to, given its parent sequences."""
    if parent.size < 2 * MIN_INFOSETS_PER_BLOCK:
        return np.zeros(parent.size, np.int64)
    order = np.argsort(parent, kind="stable")
    ranked = parent[order]
    first_of_parent = np.searchsorted(ranked, ranked)  # same parent, same part
    part = np.empty(parent.size, np.int64)
    part[order] = first_of_parent // MIN_INFOSETS_PER_BLOCK
    return part


def _row_key(own: Ints, other: Ints) -> Ints:
    """Numbers that are in the order of rows (own, other), and equal where these are."""
    base = int(max(own.max(initial=0), other.max(initial=0))) + 1
    if base ** (1 + other.shape[1]) >= 1 << 63:
        return np.unique(np.column_stack([own, other]), axis=0, return_inverse=True)[1].ravel()
    number = own.astype(np.int64)
    for column in other.T:
        number = number * base + column
    return number


def _payoff_rows(own: Ints, other: Ints, weight: Floats) -> tuple[Ints, Ints, Ints, Floats]:
    """One player's rows: their sequences and lengths, and the entries, short rows first."""
    number = _row_key(own, other)
    order = np.argsort(number, kind="stable")
    own, other, number = own[order], other[order], number[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    weight = np.add.reduceat(weight[order], starts)
    kept = np.flatnonzero(weight)  # ties pay nothing: no work for them
    own, other, weight = own[starts][kept], other[starts][kept], weight[kept]
    first = np.flatnonzero(np.diff(own, prepend=-1))
    lengths = np.diff(first, append=own.size)
    small = lengths.astype(np.uint16 if lengths.max(initial=0) < 1 << 16 else np.int64)
    entry_order = np.argsort(np.repeat(small, lengths), kind="stable")  # by counting, if small
    row_order = np.argsort(small, kind="stable")
    sequence = own[first]
    return sequence[row_order], lengths[row_order], other[entry_order], weight[entry_order]
