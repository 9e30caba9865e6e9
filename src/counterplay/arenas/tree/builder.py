"""Build a tree from the nodes and infosets of a walk: sort and renumber them."""

from __future__ import annotations

from array import array
from itertools import pairwise
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena, freeze
from counterplay.core.arena import Floats, Ints, SequenceForm, row_lengths
from counterplay.core.game import TERMINAL, Game

MIN_INFOSETS_PER_BLOCK = 4_096  # smallest part of a level for a thread


class TreeBuilder:
    """The nodes and infosets of a tree in the order of a walk; parents precede children."""

    def __init__(self, spec: str, num_players: int, game: Game | None = None):
        self.spec, self.num_players, self.game = spec, num_players, game
        # per node and per terminal; NumPy arrays may replace these
        self.player: Any = array("b")
        self.parent: Any = array("i")
        self.action: Any = array("i")
        self.depth: Any = array("H")
        self.chance: Any = array("d")
        self.infoset: Any = array("i")
        self.last_sequence: Any = array("i")  # [Z x P] last sequence of each player, or -1
        self.chance_reach: Any = array("d")
        self.utility: Any = array("d")
        # per infoset with perfect recall
        self.infoset_player: Any = array("b")
        self.parent_sequence: Any = array("i")
        self.infoset_level: Any = array("i")
        self.first_sequence: Any = array("i", [0])
        self.game_infoset: Any = array("i")
        self.infoset_of_sequence = array("i")
        # per infoset of the game
        self.infoset_keys: list[tuple[int, str]] = []
        self.legal_actions: list[tuple[int, ...]] = []
        self.action_names: list[tuple[str, ...]] = []

    def append_infoset(self, player: int, game_infoset: int, last_sequence: int) -> int:
        """Add a new infoset after the player's `last_sequence` (or -1) and return its number."""
        infoset = len(self.infoset_player)
        self.infoset_player.append(player)
        self.parent_sequence.append(last_sequence)
        level = 0
        if last_sequence >= 0:
            level = self.infoset_level[self.infoset_of_sequence[last_sequence]] + 1
        self.infoset_level.append(level)
        self.game_infoset.append(game_infoset)
        num_actions = len(self.legal_actions[game_infoset])
        self.first_sequence.append(self.first_sequence[infoset] + num_actions)
        self.infoset_of_sequence.extend([infoset] * num_actions)
        return infoset

    def build(self) -> TreeArena:
        """Return the tree: nodes in level order, infosets in order of player and level."""
        new_infoset, block = self.sort_infosets()
        first = np.array(self.first_sequence, np.int64)
        num_actions = np.diff(first)
        old_infoset = np.argsort(new_infoset)
        offset = np.concatenate([[0], np.cumsum(num_actions[old_infoset])])
        num_sequences = int(offset[-1])
        # new number of every old sequence; the last entry is for -1
        shift = np.repeat(offset[new_infoset] - first[:-1], num_actions)
        new_sequence = np.append(np.arange(num_sequences) + shift, num_sequences)

        parent = new_sequence[np.array(self.parent_sequence, np.int64)[old_infoset]]
        owner = np.array(self.infoset_player)[old_infoset]
        form = SequenceForm(
            offset=offset.astype(np.uint32),
            parent=parent.astype(np.uint32),
            player_infoset=np.searchsorted(owner, np.arange(self.num_players + 1)),
            **self.payoff_rows(new_sequence),
        )
        return self.assemble(form, block, new_infoset, old_infoset)

    def sort_infosets(self) -> tuple[Ints, Ints]:
        """Return the new number of each infoset, and the independent blocks of each level.

        The order within a level is free. A large level is cut into blocks that share no parent
        sequence, so that threads can process them in parallel. Within a block, infosets with
        equally many actions are adjacent, so that branches on the number are predictable.
        """
        owner, level = np.array(self.infoset_player), np.array(self.infoset_level)
        parent_sequence = np.array(self.parent_sequence, np.int64)
        first = np.array(self.first_sequence, np.int64)
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
            parent = new_sequence[parent_sequence[ids]]
            part = _independent_parts(parent)
            ids = ids[np.lexsort((num_actions[ids], parent, part))]
            new_infoset[ids] = np.arange(start, end)
            counts = num_actions[ids]
            index = np.arange(counts.sum())
            shift = np.repeat(first[ids] - (np.cumsum(counts) - counts), counts)
            new_sequence[index + shift] = sequence + index
            sequence += index.size
            cuts = [start, *(start + np.flatnonzero(np.diff(np.sort(part))) + 1), end]
            player, depth = int(owner[ids[0]]), int(level[ids[0]])
            block += [(player, depth, int(a), int(b)) for a, b in pairwise(cuts)]
        return new_infoset, np.array(block, np.int64).reshape(-1, 4)

    def payoff_rows(self, new_sequence: Ints) -> dict[str, Ints]:
        """Return the payoff rows of all players, concatenated, as fields of `SequenceForm`."""
        shape = (-1, self.num_players)
        last = new_sequence[np.array(self.last_sequence, np.int64).reshape(shape)]
        utility = np.array(self.utility).reshape(shape)
        return list_payoff_rows(last, np.array(self.chance_reach), utility)

    def assemble(self, form: SequenceForm, block: Ints, new_infoset: Ints, old: Ints) -> TreeArena:
        """Return the tree, with nodes in level order and the infosets of the game."""
        # infosets of the game, in the order of their first one in the form
        merged = np.array(self.game_infoset, np.int64)[old]
        _, first = np.unique(merged, return_index=True)
        infosets = merged[np.sort(first)]
        rank = np.empty_like(infosets)
        rank[infosets] = np.arange(infosets.size)
        keys = [self.infoset_keys[i] for i in infosets]
        legal = [self.legal_actions[i] for i in infosets]
        offset = np.cumsum([0, *map(len, legal)])
        counts = row_lengths(form.offset)
        shift = np.repeat(offset[rank[merged]] - form.offset[:-1].astype(np.int64), counts)
        has_imperfect_recall = infosets.size < merged.size
        game_sequence = np.arange(shift.size) + shift if has_imperfect_recall else np.zeros(0)

        order = np.argsort(np.array(self.depth), kind="stable")
        number = np.append(np.empty_like(order), -1)
        number[order] = np.arange(order.size)
        parent = number[np.array(self.parent)[order]]
        # last entries are for the -1 of chance and terminal nodes
        recall_infoset = np.append(new_infoset, -1)[np.array(self.infoset)[order]].astype(np.int32)
        game_infoset = np.append(rank[merged], -1).astype(np.int32)
        num_children = np.bincount(parent[1:], minlength=order.size)
        utility = np.array(self.utility).reshape(-1, self.num_players)
        terminals = np.flatnonzero(np.array(self.player) == TERMINAL)
        tree = TreeArena(
            spec=self.spec,
            num_players=self.num_players,
            player=np.array(self.player)[order],
            parent=parent.astype(np.int32),
            child_offset=np.append(1, 1 + np.cumsum(num_children)).astype(np.int32),
            action=np.array(self.action)[order],
            chance=np.array(self.chance)[order],
            infoset=game_infoset[recall_infoset],
            utility=utility[np.argsort(number[terminals])],
            offset=offset.astype(np.int32),
            infoset_player=np.array([player for player, _ in keys], np.int8),
            infoset_keys=tuple(key for _, key in keys),
            sequence_action=np.array([a for actions in legal for a in actions], np.int32),
            sequence_names=tuple(name for i in infosets for name in self.action_names[i]),
            form=form,
            level_blocks=block,
            game_sequence=game_sequence.astype(np.int32),
            num_histories=np.bincount(recall_infoset[recall_infoset >= 0], minlength=merged.size),
            recall_infoset=recall_infoset if has_imperfect_recall else np.zeros(0, np.int32),
            source_game=self.game,
        )
        freeze(tree)
        return tree


def _independent_parts(parent: Ints) -> Ints:
    """Return the block of each infoset of a level; infosets with a common parent share one."""
    if parent.size < 2 * MIN_INFOSETS_PER_BLOCK:
        return np.zeros(parent.size, np.int64)
    order = np.argsort(parent, kind="stable")
    sorted_parent = parent[order]
    first_of_parent = np.searchsorted(sorted_parent, sorted_parent)
    part = np.empty(parent.size, np.int64)
    part[order] = first_of_parent // MIN_INFOSETS_PER_BLOCK
    return part


def _row_key(own: Ints, other: Ints) -> Ints:
    """Return integers that compare like the rows (own, other)."""
    base = int(max(own.max(initial=0), other.max(initial=0))) + 1
    if base ** (1 + other.shape[1]) >= 1 << 63:
        return np.unique(np.column_stack([own, other]), axis=0, return_inverse=True)[1].ravel()
    number = own.astype(np.int64)
    for column in other.T:
        number = number * base + column
    return number


def list_payoff_rows(last: Ints, reach: Floats, utility: Floats) -> dict[str, Ints]:
    """Return the payoff rows of all players, concatenated, as fields of `SequenceForm`.

    Args:
        last: [Z, P] each player's last sequence before a terminal.
        reach: [Z] chance's probability of the terminal.
        utility: [Z, P]
    """
    parts = [
        _payoff_rows(last[:, p], np.delete(last, p, axis=1), reach * utility[:, p])
        for p in range(last.shape[1])
    ]
    sequences, lengths, others, weights = zip(*parts, strict=True)
    return {
        "player_row": np.cumsum([0, *(len(s) for s in sequences)]),
        "row_offset": np.cumsum([0, *np.concatenate(lengths)]).astype(np.uint32),
        "row_sequence": np.concatenate(sequences).astype(np.uint32),
        "other": np.concatenate(others).astype(np.uint32),
        "weight": np.concatenate(weights),
    }


def _payoff_rows(own: Ints, other: Ints, weight: Floats) -> tuple[Ints, Ints, Ints, Floats]:
    """Return one player's payoff rows, short rows first: sequences, lengths, and entries."""
    number = _row_key(own, other)
    order = np.argsort(number, kind="stable")
    own, other, number = own[order], other[order], number[order]
    starts = np.flatnonzero(np.diff(number, prepend=-1))
    weight = np.add.reduceat(weight[order], starts)
    nonzero = np.flatnonzero(weight)
    own, other, weight = own[starts][nonzero], other[starts][nonzero], weight[nonzero]
    first = np.flatnonzero(np.diff(own, prepend=-1))
    lengths = np.diff(first, append=own.size)
    small = lengths.astype(np.uint16 if lengths.max(initial=0) < 1 << 16 else np.int64)
    entry_order = np.argsort(np.repeat(small, lengths), kind="stable")  # radix sort, if 16 bits
    row_order = np.argsort(small, kind="stable")
    sequence = own[first]
    return sequence[row_order], lengths[row_order], other[entry_order], weight[entry_order]
