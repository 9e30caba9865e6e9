"""Load trees from files and validate them, because kernels do not check indices."""

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

MAX_DEPTH = 65_535  # actions from the root; `TreeBuilder.depth` has 16 bits
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
RENAMED_FIELDS = {"block": "level_blocks", "merged": "game_sequence"}  # names in version 0.1


def load_tree(path: str | Path) -> TreeArena:
    """Read a tree that `TreeArena.save` wrote. No code of the file runs until `game` is read.

    Raises:
        RunError: The file is missing, damaged, or of another kind.
    """
    content = read_archive(path, TREE_FORMAT)
    content = {RENAMED_FIELDS.get(name, name): value for name, value in content.items()}
    try:
        _require(not {"source_game", "source"} & content.keys(), "a file holds no rules")
        arrays = {
            name: _convert_array(name, content.pop(name), *array_type)
            for name, array_type in ARRAY_TYPES.items()
        }
        form = SequenceForm(*(arrays.pop(f"form.{name}") for name in SequenceForm._fields))
        tree = TreeArena(form=form, **arrays, **content, source=str(path))
        validate_tree(tree)
    except (KeyError, TypeError, DamagedFileError) as error:
        problem = f"it has no {error}" if isinstance(error, KeyError) else error
        raise RunError(f"{path}: damaged tree file ({problem})") from error
    freeze(tree)
    return tree


def _convert_array(name: str, value: Any, dtype: Any, dimensions: int) -> Any:
    """Return an array of the type that kernels are compiled for."""
    _require(isinstance(value, np.ndarray) and value.ndim == dimensions, f"{name}: wrong shape")
    is_convertible = value.dtype == dtype or (value.dtype.kind in "iu" and dtype != np.float64)
    _require(is_convertible, f"{name}: wrong type")
    array = np.ascontiguousarray(value, dtype)
    _require(np.array_equal(array, value) or dtype == np.float64, f"{name}: out of range")
    return array


def validate_tree(tree: TreeArena) -> None:
    """Raise `DamagedFileError` unless a tree, typed as in `ARRAY_TYPES`, is that of some game.

    The nodes must be consistent, and the sequence form must describe the same game as the nodes.
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
    """Check level order, adjacent siblings, and chance distributions."""
    size, player, parent = tree.player.size, tree.player, tree.parent
    _require(size >= 1 and parent.shape == tree.action.shape == (size,), "nodes: wrong length")
    _require(tree.chance.shape == tree.infoset.shape == (size,), "nodes: wrong length")
    _require(parent[0] == -1 and (parent[1:] >= 0).all(), "parent: out of range")
    _require((parent < np.arange(size)).all() and (np.diff(parent) >= 0).all(), "parent: order")
    children = np.bincount(parent[1:], minlength=size)
    offset = np.append(1, 1 + np.cumsum(children))
    _require(np.array_equal(tree.child_offset, offset), "child_offset: differs from parent")
    _require(((player >= TERMINAL) & (player < tree.num_players)).all(), "player: out of range")
    _require(
        ((children == 0) == (player == TERMINAL)).all(),
        "player: a terminal with children, or a leaf that is not terminal",
    )
    _require(_count_levels(tree) <= MAX_DEPTH, "parent: too deep")
    _require((tree.chance >= 0.0).all() and np.isfinite(tree.chance).all(), "chance: out of range")
    is_outcome = np.append(False, player[parent[1:]] == CHANCE)
    _require((tree.chance[~is_outcome] == 1.0).all(), "chance: not 1 where a player acts")
    sums = np.bincount(parent[is_outcome], tree.chance[is_outcome], minlength=size)
    error = np.abs(sums - 1.0)[player == CHANCE]
    _require((error <= 1e-6).all(), "chance: a distribution does not sum to 1")
    num_terminals = np.count_nonzero(player == TERMINAL)
    _require(tree.utility.shape == (num_terminals, tree.num_players), "utility: wrong shape")
    largest = np.abs(tree.utility).max(axis=0)
    fits = (largest == 0.0) | ((largest >= 1.0 / MAX_ABS_UTILITY) & (largest <= MAX_ABS_UTILITY))
    _require(fits.all(), "utility: too large or too small to add up")


def _count_levels(tree: TreeArena) -> int:
    """Return the number of levels, or `MAX_DEPTH + 1` if there are more."""
    node, depth = 1, 0
    while node < tree.num_nodes and depth <= MAX_DEPTH:
        node, depth = int(tree.child_offset[node]), depth + 1
    return depth


def _check_infosets(tree: TreeArena) -> None:
    """Check that the same player has the same actions at all nodes of an infoset."""
    infoset, offset, owner = tree.infoset, tree.offset, tree.infoset_player
    size = len(tree.infoset_keys)
    _require(offset.shape == (size + 1,) and owner.shape == (size,), "infosets: wrong length")
    _check_offset("offset", offset, len(tree.sequence_names), least=1)
    _require(tree.sequence_action.shape == (offset[-1],), "sequence_action: wrong length")
    _require((np.diff(owner) >= 0).all(), "infoset_player: not in order")
    keys = set(zip(owner.tolist(), tree.infoset_keys, strict=True))
    _require(len(keys) == size, "infoset_keys: duplicates")
    _check_node_infosets("infoset", infoset, tree, size)
    acts = np.flatnonzero(infoset >= 0)
    _require((owner[infoset[acts]] == tree.player[acts]).all(), "infoset_player: another player")
    counts = row_lengths(tree.child_offset)[acts]
    _require((counts == tree.num_actions[infoset[acts]]).all(), "offset: other actions")
    nodes = np.flatnonzero(tree.incoming_sequence >= 0)
    is_same = tree.action[nodes] == tree.sequence_action[tree.incoming_sequence[nodes]]
    _require(is_same.all(), "action: not an action of the infoset")
    sequence_infoset = np.repeat(np.arange(size), tree.num_actions)
    pairs = np.unique(np.column_stack([sequence_infoset, tree.sequence_action]), axis=0)
    _require(len(pairs) == offset[-1], "sequence_action: duplicates")


def _check_offset(name: str, offset: Ints, end: int, least: int = 0) -> None:
    _require(offset.size and offset[0] == 0 and offset[-1] == end, f"{name}: wrong ends")
    _require((row_lengths(offset) >= least).all(), f"{name}: not ascending")


def _check_node_infosets(name: str, infoset: Ints, tree: TreeArena, size: int) -> None:
    """Check that exactly the nodes of players are in infosets, and that no infoset is empty."""
    acts = tree.player >= 0
    _require(infoset.shape == acts.shape, f"{name}: wrong length")
    _require((infoset[~acts] == -1).all(), f"{name}: no player acts")
    in_range = (infoset[acts] >= 0) & (infoset[acts] < size)
    _require(in_range.all(), f"{name}: out of range")
    _require(np.bincount(infoset[acts], minlength=size).all(), f"{name}: an infoset without nodes")


def _check_recall(tree: TreeArena) -> Ints:
    """Check and return the infoset with perfect recall of each node [N], or -1."""
    form, recall = tree.form, tree.recall_infoset
    size = form.offset.size - 1
    if tree.has_perfect_recall:
        _require(recall.size == 0, "recall_infoset: not empty with perfect recall")
        _require(np.array_equal(form.offset, tree.offset), "form.offset: differs from offset")
        return tree.infoset
    _check_offset("form.offset", form.offset, tree.game_sequence.size, least=1)
    _check_node_infosets("recall_infoset", recall, tree, size)
    game_infoset = np.zeros(size, np.int64)
    acts = np.flatnonzero(recall >= 0)
    game_infoset[recall[acts]] = tree.infoset[acts]
    is_same = game_infoset[recall[acts]] == tree.infoset[acts]
    _require(is_same.all(), "recall_infoset: joins infosets")
    counts = row_lengths(form.offset)
    _require((counts == tree.num_actions[game_infoset]).all(), "form.offset: other actions")
    shift = np.repeat(tree.offset[game_infoset] - form.offset[:-1].astype(np.int64), counts)
    is_same = tree.game_sequence == np.arange(shift.size) + shift
    _require(is_same.all(), "game_sequence: another infoset")
    return recall


def _last_sequences(tree: TreeArena, recall: Ints) -> tuple[Ints, Floats]:
    """Return each player's last sequence before each node [N, P], or S, and chance's reach [N]."""
    offset = tree.form.offset.astype(np.int64)
    last = np.full((tree.num_nodes, tree.num_players), offset[-1])
    reach = tree.chance.copy()
    for first, end in pairwise(tree.level_offset[1:]):
        parent = tree.parent[first:end]
        last[first:end], player = last[parent], tree.player[parent]
        reach[first:end] *= reach[parent]
        acted = np.flatnonzero(player >= 0)
        node, parent = first + acted, parent[acted]
        last[node, player[acted]] = offset[recall[parent]] + node - tree.child_offset[parent]
    return last, reach


def _check_form(tree: TreeArena, recall: Ints, last: Ints) -> None:
    """Check parents, owners, levels and blocks of the infosets of the form."""
    form, block, size = tree.form, tree.level_blocks, tree.form.offset.size - 1
    acts = np.flatnonzero(recall >= 0)
    before = last[acts, tree.player[acts]]
    _require(form.parent.shape == tree.num_histories.shape == (size,), "form: wrong length")
    _require((form.parent[recall[acts]] == before).all(), "form.parent: another sequence")
    histories = np.bincount(recall[acts], minlength=size)
    _require((tree.num_histories == histories).all(), "num_histories: wrong count")
    owner = np.zeros(size, np.int64)
    owner[recall[acts]] = tree.player[acts]
    level = np.zeros(size, np.int64)
    for player in range(tree.num_players):
        nodes = acts[tree.player[acts] == player]
        level[recall[nodes]] = tree.count_ancestors(tree.player == player)[nodes]
    order = np.column_stack([owner, level])
    is_sorted = np.diff(owner * (int(level.max(initial=0)) + 1) + level) >= 0
    _require(is_sorted.all(), "form: infosets not sorted by player and level")
    starts = np.searchsorted(owner, np.arange(tree.num_players + 1))
    _require(np.array_equal(form.player_infoset, starts), "form.player_infoset: another player")
    _require(block.shape[1] == 4, "level_blocks: wrong shape")
    cuts = np.append(block[:, 2], size)
    _check_offset("level_blocks", cuts, size, least=1)
    _require(np.array_equal(block[:, 3], cuts[1:]), "level_blocks: gaps")
    infoset_block = np.repeat(np.arange(len(block)), np.diff(cuts))
    _require((block[infoset_block, :2] == order).all(), "level_blocks: another player or level")
    by_parent = np.lexsort((form.parent, owner))
    is_sibling = (np.diff(form.parent[by_parent].astype(np.int64)) == 0) & (np.diff(owner) == 0)
    _require(
        (np.diff(infoset_block[by_parent])[is_sibling] == 0).all(),
        "level_blocks: two with the same parent",
    )


def _check_rows(tree: TreeArena, last: Ints, reach: Floats) -> None:
    """Check that payoff rows and terminals give the same sums under random sequence weights."""
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
        row_sequence = form.row_sequence[first:end]
        is_own = (row_sequence >= starts[player]) & (row_sequence < starts[player + 1])
        _require((is_own | (row_sequence == size)).all(), "form.row_sequence: another player")
        is_unique = np.unique(row_sequence).size == row_sequence.size
        _require(is_unique, "form.row_sequence: duplicates")
        part = slice(*form.row_offset[[first, end]])
        entry_sequence = np.repeat(row_sequence, row_lengths(form.row_offset[first : end + 1]))
        entry_payoff = form.weight[part] * weights[form.other[part]].prod(axis=1)
        others = np.delete(last, player, axis=1)
        payoff = reach * tree.utility[:, player] * weights[others].prod(axis=1)
        scale = np.bincount(last[:, player], np.abs(payoff), size + 1)
        difference = np.bincount(last[:, player], payoff, size + 1)
        difference -= np.bincount(entry_sequence, entry_payoff, size + 1)
        _require((np.abs(difference) <= 1e-9 * scale).all(), "form.weight: differs from utility")
