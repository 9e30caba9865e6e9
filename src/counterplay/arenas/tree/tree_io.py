"""Trees from files, checked before anything runs on them: kernels trust every index they read."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TREE_FORMAT, TreeArena, freeze
from counterplay.core.archive import DamagedFileError, read_archive
from counterplay.core.arena import Floats, Ints, SequenceForm, row_lengths
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.game_checks import MAX_ABS_UTILITY
from counterplay.errors import RunError

MAX_DEPTH = 65_535  # actions from the root: what assembly can count
ARRAY_TYPES: dict[str, tuple[Any, int]] = {  # type and number of dimensions
    "player": (np.int8, 1),
    "parent": (np.int32, 1),
    "child_offset": (np.int32, 1),
    "action": (np.int32, 1),
    "chance": (np.float64, 1),
    "infoset": (np.int32, 1),
    "utility": (np.float64, 2),
    "offset": (np.int32, 1),
    "infoset_player": (np.int8, 1),
    "sequence_action": (np.int32, 1),
    "form.offset": (np.uint32, 1),
    "form.parent": (np.uint32, 1),
    "form.player_infoset": (np.int64, 1),
    "form.player_row": (np.int64, 1),
    "form.row_offset": (np.uint32, 1),
    "form.row_sequence": (np.uint32, 1),
    "form.other": (np.uint32, 2),
    "form.weight": (np.float64, 1),
    "level_blocks": (np.int64, 2),
    "game_sequence": (np.int32, 1),
    "num_histories": (np.int64, 1),
    "recall_infoset": (np.int32, 1),
}

RENAMED_FIELDS = {"block": "level_blocks", "merged": "game_sequence"}  # of version 0.1


def load_tree(path: str | Path) -> TreeArena:
    """Read a tree written by `Tree.save`. This runs no code; asking for its `rules` may need it."""
    found = read_archive(path, TREE_FORMAT)
    found = {RENAMED_FIELDS.get(name, name): value for name, value in found.items()}
    try:
        _require("source_game" not in found and "source" not in found, "a file holds no rules")
        values = {
            name: _convert_array(name, found.pop(name), *ARRAY_TYPES[name]) for name in ARRAY_TYPES
        }
        form = SequenceForm(*(values.pop(f"form.{name}") for name in SequenceForm._fields))
        tree = TreeArena(form=form, **values, **found, source=str(path))
        validate_tree(tree)
    except (KeyError, TypeError, DamagedFileError) as error:
        why = f"it has no {error}" if isinstance(error, KeyError) else error
        raise RunError(f"{path}: not a whole tree file ({why})") from error
    freeze(tree)
    return tree


def _convert_array(name: str, found: Any, dtype: Any, dimensions: int) -> Any:
    """The array with the type that kernels are compiled for."""
    _require(isinstance(found, np.ndarray) and found.ndim == dimensions, f"{name}: wrong shape")
    same_kind = found.dtype == dtype or (found.dtype.kind in "iu" and dtype != np.float64)
    _require(same_kind, f"{name}: wrong type")
    array = np.ascontiguousarray(found, dtype)
    _require(np.array_equal(array, found) or dtype == np.float64, f"{name}: out of range")
    return array


def validate_tree(tree: TreeArena) -> None:
    """Raise `DamageError` unless all parts of a tree, typed as in `ARRAYS`, fit together.

    What passes is the tree of some game: the nodes make sense by themselves, and the sequence form
    says the same about the game as the nodes do.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        _check_names(tree)
        _check_nodes(tree)
        _check_infosets(tree)
        recall = _check_recall(tree)
        last, reach = _last_sequences(tree, recall)
        _check_form(tree, recall, last)
        _check_rows(tree, last[tree.terminals], reach[tree.terminals])


def _require(condition: Any, problem: str) -> None:
    if not condition:
        raise DamagedFileError(problem)


def _check_names(tree: TreeArena) -> None:
    names = (
        {field.name for field in fields(tree)}
        - {"form", "source_game", "source"}
        - ARRAY_TYPES.keys()
    )
    for name in names - {"num_players"}:
        value = getattr(tree, name)
        texts = (value,) if name == "spec" else value
        _require(isinstance(texts, tuple), f"{name}: not a list")
        _require(all(isinstance(text, str) for text in texts), f"{name}: not text")
    _require(type(tree.num_players) is int and 1 <= tree.num_players <= 127, "num_players")


def _check_nodes(tree: TreeArena) -> None:
    """Level order, siblings together, actions where somebody acts, lotteries where chance does."""
    size, player, parent = tree.player.size, tree.player, tree.parent
    _require(size >= 1 and parent.shape == tree.action.shape == (size,), "nodes: wrong length")
    _require(tree.chance.shape == tree.infoset.shape == (size,), "nodes: wrong length")
    _require(parent[0] == -1 and (parent[1:] >= 0).all(), "parent: out of range")
    _require((parent < np.arange(size)).all() and (np.diff(parent) >= 0).all(), "parent: order")
    children = np.bincount(parent[1:], minlength=size)
    offset = np.append(1, 1 + np.cumsum(children))
    _require(np.array_equal(tree.child_offset, offset), "child_offset: not what parent says")
    _require(((player >= TERMINAL) & (player < tree.num_players)).all(), "player: out of range")
    _require(((children == 0) == (player == TERMINAL)).all(), "player: an end that goes on")
    _require(_count_levels(tree) <= MAX_DEPTH, "parent: too deep")
    _require((tree.chance >= 0.0).all() and np.isfinite(tree.chance).all(), "chance: out of range")
    by_chance = np.append(False, player[parent[1:]] == CHANCE)
    _require((tree.chance[~by_chance] == 1.0).all(), "chance: not 1 where a player acts")
    sums = np.bincount(parent[by_chance], tree.chance[by_chance], minlength=size)
    off = np.abs(sums - 1.0)[player == CHANCE]
    _require((off <= 1e-6).all(), "chance: a lottery does not sum to 1")
    ends = np.count_nonzero(player == TERMINAL)
    _require(tree.utility.shape == (ends, tree.num_players), "utility: wrong shape")
    largest = np.abs(tree.utility).max(axis=0)
    fits = (largest == 0.0) | ((largest >= 1.0 / MAX_ABS_UTILITY) & (largest <= MAX_ABS_UTILITY))
    _require(fits.all(), "utility: too large or too small to add up")


def _count_levels(tree: TreeArena) -> int:
    """The number of levels, or a little more than `DEEPEST`."""
    node, depth = 1, 0
    while node < tree.num_nodes and depth <= MAX_DEPTH:
        node, depth = int(tree.child_offset[node]), depth + 1
    return depth


def _check_infosets(tree: TreeArena) -> None:
    """At every node of an infoset the same player has the same actions."""
    infoset, offset, owner = tree.infoset, tree.offset, tree.infoset_player
    size = len(tree.infoset_keys)
    _require(offset.shape == (size + 1,) and owner.shape == (size,), "infosets: wrong length")
    _check_offset("offset", offset, len(tree.sequence_names), least=1)
    _require(tree.sequence_action.shape == (offset[-1],), "sequence_action: wrong length")
    _require((np.diff(owner) >= 0).all(), "infoset_player: not in order")
    keys = set(zip(owner.tolist(), tree.infoset_keys, strict=True))
    _require(len(keys) == size, "infoset_keys: one of them twice")
    _check_node_infosets("infoset", infoset, tree, size)
    acts = np.flatnonzero(infoset >= 0)
    _require((owner[infoset[acts]] == tree.player[acts]).all(), "infoset_player: somebody else")
    counts = row_lengths(tree.child_offset)[acts]
    _require((counts == tree.num_actions[infoset[acts]]).all(), "offset: other actions")
    taken = np.flatnonzero(tree.incoming_sequence >= 0)
    same = tree.action[taken] == tree.sequence_action[tree.incoming_sequence[taken]]
    _require(same.all(), "action: not one of the infoset's")
    of_sequence = np.repeat(np.arange(size), tree.num_actions)
    pairs = np.unique(np.column_stack([of_sequence, tree.sequence_action]), axis=0)
    _require(len(pairs) == offset[-1], "sequence_action: one of them twice")


def _check_offset(name: str, offset: Ints, end: int, least: int = 0) -> None:
    _require(offset.size and offset[0] == 0 and offset[-1] == end, f"{name}: wrong ends")
    _require((row_lengths(offset) >= least).all(), f"{name}: not ascending")


def _check_node_infosets(name: str, infoset: Ints, tree: TreeArena, size: int) -> None:
    """Every deciding node, and no other, is in one of the infosets, and none is empty."""
    acts = tree.player >= 0
    _require(infoset.shape == acts.shape and (infoset[~acts] == -1).all(), f"{name}: nobody acts")
    inside = (infoset[acts] >= 0) & (infoset[acts] < size)
    _require(inside.all(), f"{name}: out of range")
    _require(np.bincount(infoset[acts], minlength=size).all(), f"{name}: one without nodes")


def _check_recall(tree: TreeArena) -> Ints:
    """The infoset of each node as a player who forgets nothing has it [N], or -1."""
    form, recall = tree.form, tree.recall_infoset
    size = form.offset.size - 1
    if tree.has_perfect_recall:
        _require(recall.size == 0, "recall_infoset: there, but nothing is forgotten")
        _require(np.array_equal(form.offset, tree.offset), "form.offset: not offset")
        return tree.infoset
    _check_offset("form.offset", form.offset, tree.game_sequence.size, least=1)
    _check_node_infosets("recall_infoset", recall, tree, size)
    above = np.zeros(size, np.int64)
    acts = np.flatnonzero(recall >= 0)
    above[recall[acts]] = tree.infoset[acts]
    _require((above[recall[acts]] == tree.infoset[acts]).all(), "recall_infoset: joins infosets")
    counts = row_lengths(form.offset)
    _require((counts == tree.num_actions[above]).all(), "form.offset: other actions")
    shift = np.repeat(tree.offset[above] - form.offset[:-1].astype(np.int64), counts)
    _require((tree.game_sequence == np.arange(shift.size) + shift).all(), "merged: another infoset")
    return recall


def _last_sequences(tree: TreeArena, recall: Ints) -> tuple[Ints, Floats]:
    """Each player's last sequence before each node [N, P], or S, and the reach of chance [N]."""
    offset = tree.form.offset.astype(np.int64)
    last = np.full((tree.num_nodes, tree.num_players), offset[-1])
    reach = tree.chance.copy()
    for first, end in pairwise(tree.level_offset[1:]):
        above = tree.parent[first:end]
        last[first:end], who = last[above], tree.player[above]
        reach[first:end] *= reach[above]
        acted = np.flatnonzero(who >= 0)
        node, above = first + acted, above[acted]
        last[node, who[acted]] = offset[recall[above]] + node - tree.child_offset[above]
    return last, reach


def _check_form(tree: TreeArena, recall: Ints, last: Ints) -> None:
    """The form's infosets follow the sequences that lead to them, sorted by player and level."""
    form, block, size = tree.form, tree.level_blocks, tree.form.offset.size - 1
    acts = np.flatnonzero(recall >= 0)
    before = last[acts, tree.player[acts]]
    _require(form.parent.shape == tree.num_histories.shape == (size,), "form: wrong length")
    _require((form.parent[recall[acts]] == before).all(), "form.parent: not what leads there")
    histories = np.bincount(recall[acts], minlength=size)
    _require((tree.num_histories == histories).all(), "num_histories: not as many as there are")
    owner = np.zeros(size, np.int64)
    owner[recall[acts]] = tree.player[acts]
    level = np.zeros(size, np.int64)
    for player in range(tree.num_players):
        own = acts[tree.player[acts] == player]
        level[recall[own]] = tree.count_ancestors(tree.player == player)[own]
    order = np.column_stack([owner, level])
    rises = np.diff(owner * (int(level.max(initial=0)) + 1) + level) >= 0
    _require(rises.all(), "form: infosets not sorted by player and level")
    starts = np.searchsorted(owner, np.arange(tree.num_players + 1))
    _require(np.array_equal(form.player_infoset, starts), "form.player_infoset: somebody else's")
    _require(block.shape[1] == 4, "block: wrong shape")
    cuts = np.append(block[:, 2], size)
    _check_offset("level_blocks", cuts, size, least=1)
    _require(np.array_equal(block[:, 3], cuts[1:]), "block: gaps")
    mine = np.repeat(np.arange(len(block)), np.diff(cuts))
    _require((block[mine, :2] == order).all(), "block: another player or level")
    sorted_by = np.lexsort((form.parent, owner))
    same = (np.diff(form.parent[sorted_by].astype(np.int64)) == 0) & (np.diff(owner) == 0)
    _require((np.diff(mine[sorted_by])[same] == 0).all(), "block: two with the same parent")


def _check_rows(tree: TreeArena, last: Ints, reach: Floats) -> None:
    """The payoff rows say what the terminals say: random sequence weights find every difference."""
    form, size = tree.form, int(tree.form.offset[-1])
    rows, entries = form.row_sequence.size, form.weight.size
    _require(form.player_row.shape == (tree.num_players + 1,), "form.player_row: wrong length")
    _check_offset("form.player_row", form.player_row, rows)
    _require(form.row_offset.shape == (rows + 1,), "form.row_offset: wrong length")
    _check_offset("form.row_offset", form.row_offset, entries)
    _require(form.other.shape == (entries, tree.num_players - 1), "form.other: wrong shape")
    _require((form.other <= size).all(), "form.other: out of range")
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size + 1)
    starts = form.offset[form.player_infoset]
    for player, (first, end) in enumerate(pairwise(form.player_row)):
        own = form.row_sequence[first:end]
        ours = (own >= starts[player]) & (own < starts[player + 1]) | (own == size)
        _require(ours.all(), "form.row_sequence: somebody else's")
        _require(np.unique(own).size == own.size, "form.row_sequence: one of them twice")
        here = slice(*form.row_offset[[first, end]])
        owners = np.repeat(own, row_lengths(form.row_offset[first : end + 1]))
        stored = form.weight[here] * weights[form.other[here]].prod(axis=1)
        others = np.delete(last, player, axis=1)
        wanted = reach * tree.utility[:, player] * weights[others].prod(axis=1)
        scale = np.bincount(last[:, player], np.abs(wanted), size + 1)
        difference = np.bincount(last[:, player], wanted, size + 1)
        difference -= np.bincount(owners, stored, size + 1)
        _require((np.abs(difference) <= 1e-9 * scale).all(), "form.weight: not what is paid")
