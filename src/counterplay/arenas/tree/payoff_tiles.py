"""Payoffs as tiles: dense blocks of the payoff matrix that full-tree sweeps multiply as vectors.

Where both players see the same public actions, every hand of one player meets every hand of the
other with the same last sequences. Such a block of the payoff matrix is dense, many blocks are
equal, and a tile of eight rows needs each opponent's reach once instead of once per terminal.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from counterplay.core.arena import Floats, Ints, SweepForm
from counterplay.core.arena import row_lengths as lengths_of
from counterplay.kernels.runtime.tile_product import NUM_LANES

MIN_ENTRIES = 500  # smaller forms fit into the nearest cache and keep their rows
MIN_SAVED_ENTRIES = 4  # a tile costs about as much as this number of entries, beside its columns
MAX_CHUNK_ENTRIES = 1 << 21  # entries that are sorted at a time, which bounds the memory
MAX_ROUNDS = 12  # of the search for connected blocks


class _Tiles(NamedTuple):
    """T tiles with C columns together; `row` refers to the rows of the sequence form."""

    row: Ints  # [T, 8]; lanes without a row repeat the first
    num_columns: Ints  # [T]
    column: Ints  # [C] the opponent's sequence, ascending within a tile
    matrix_start: Ints  # [T] first row of the tile in `matrix`
    matrix: Floats  # [M, 8] one row per column of a tile; equal tiles share their rows


def find_payoff_tiles(form: SweepForm) -> SweepForm:
    """Return the form with its payoff rows collected in tiles, as far as that is faster.

    Sums have the same bits as those of the rows: columns are in the order of entries, and the
    missing entries of a tile are zeros.
    """
    if form.other.shape[1] != 1 or form.weight.size < MIN_ENTRIES:
        return form
    players = range(form.player_row.size - 1)
    parts = [_find_tiles(form, *form.player_row[p : p + 2].tolist()) for p in players]
    counts = [part.num_columns.size for part in parts]
    if not sum(counts):
        return form
    tiles = _join(parts)
    in_tile = np.zeros(form.row_sequence.size, bool)
    in_tile[tiles.row] = True
    tiled = _without_rows(form, in_tile)._replace(
        player_tile=np.cumsum([0, *counts]).astype(form.player_row.dtype),
        tile_sequence=form.row_sequence[tiles.row],
        tile_offset=np.cumsum([0, *tiles.num_columns]).astype(np.uint32),
        tile_column=tiles.column.astype(np.uint32),
        tile_matrix=tiles.matrix_start.astype(np.uint32),
        matrix=tiles.matrix,
    )
    for array in tiled:
        array.flags.writeable = False
    return tiled


def _without_rows(form: SweepForm, is_removed: Ints) -> SweepForm:
    """Return the form without some of its payoff rows [R]."""
    lengths, keeps = lengths_of(form.row_offset), ~is_removed
    keeps_entry = np.repeat(keeps, lengths)
    kept_before = np.append(0, np.cumsum(keeps))
    return form._replace(
        player_row=kept_before[form.player_row].astype(form.player_row.dtype),
        row_offset=np.cumsum([0, *lengths[keeps]]).astype(form.row_offset.dtype),
        row_sequence=form.row_sequence[keeps],
        other=form.other[keeps_entry],
        weight=form.weight[keeps_entry],
    )


def _find_tiles(form: SweepForm, first_row: int, last_row: int) -> _Tiles:
    """Return the useful tiles of the rows of one player, those with few columns first."""
    row_offset = form.row_offset[first_row : last_row + 1].astype(np.int64)
    lengths = np.diff(row_offset)
    other = form.other[row_offset[0] : row_offset[-1], 0]
    block, nearest = _find_blocks(row_offset[:-1] - row_offset[0], lengths, other)
    order = np.lexsort((form.row_sequence[first_row:last_row], nearest, block))
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    position = np.arange(order.size)
    position -= np.repeat(starts, np.diff(starts, append=order.size))  # within the block
    tile_starts = np.append(np.flatnonzero(position % NUM_LANES == 0), order.size)
    num_entries = np.append(0, np.cumsum(lengths[order]))[tile_starts]
    chunk = num_entries[:-1] // MAX_CHUNK_ENTRIES
    cuts = [0, *(np.flatnonzero(np.diff(chunk)) + 1).tolist(), tile_starts.size - 1]
    parts = [
        _make_tiles(form, first_row + order, tile_starts[a : b + 1]) for a, b in pairwise(cuts)
    ]
    return _sort_by_columns(_join(parts))


def _find_blocks(starts: Ints, lengths: Ints, other: Ints) -> tuple[Ints, Ints]:
    """Return a number of each row's block and the least opponent's sequence of the row.

    Rows with a common column belong to the same block. In large blocks of thin connections the
    search ends early, and rows with a common label only are a part of the block.
    """
    if not starts.size:
        return starts, starts
    label = np.arange(int(other.max()) + 1, dtype=np.int32)
    nearest = block = np.minimum.reduceat(label[other], starts)
    for _ in range(MAX_ROUNDS):
        np.minimum.at(label, other, np.repeat(block, lengths))
        previous, block = block, np.minimum.reduceat(label[other], starts)
        if (block == previous).all():
            break
    return block, nearest


def _make_tiles(form: SweepForm, order: Ints, tile_starts: Ints) -> _Tiles:
    """Return the useful tiles among the rows order[tile_starts[t] : tile_starts[t + 1]]."""
    sizes, first = np.diff(tile_starts), int(tile_starts[0])
    rows = order[first : int(tile_starts[-1])]
    lengths = lengths_of(form.row_offset)[rows]
    entry = _ranges(form.row_offset[rows].astype(np.int64), lengths)
    other = form.other[entry, 0].astype(np.int64)
    tile = np.repeat(np.arange(sizes.size), sizes)
    lane = np.arange(rows.size) - np.repeat(tile_starts[:-1] - first, sizes)
    base = int(other.max(initial=0)) + 1
    keys, column = np.unique(np.repeat(tile, lengths) * base + other, return_inverse=True)
    num_columns = np.bincount(keys // base, minlength=sizes.size)
    dense = np.zeros((keys.size, NUM_LANES))
    dense[column, np.repeat(lane, lengths)] = form.weight[entry]
    is_unused = np.arange(NUM_LANES) >= np.repeat(sizes, num_columns)[:, None]
    dense = np.where(is_unused, dense[:, :1], dense)
    lanes = np.arange(NUM_LANES)
    row = rows[(tile_starts[:-1] - first)[:, None] + np.where(lanes < sizes[:, None], lanes, 0)]

    num_entries = np.bincount(tile, lengths, sizes.size)
    is_useful = num_entries >= num_columns + MIN_SAVED_ENTRIES
    keeps = np.repeat(is_useful, num_columns)
    row, num_columns = row[is_useful], num_columns[is_useful]
    starts = np.cumsum(num_columns) - num_columns
    tiles = _Tiles(row, num_columns, (keys % base)[keeps], starts, dense[keeps])
    return _share_matrices(tiles)


def _ranges(starts: Ints, lengths: Ints) -> Ints:
    """Return the concatenation of the ranges from starts[k] to starts[k] + lengths[k]."""
    shift = np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    return np.arange(shift.size) + shift


def _share_matrices(tiles: _Tiles) -> _Tiles:
    """Return the tiles with each distinct matrix stored once."""
    factors = np.random.default_rng(0).integers(1, 1 << 63, tiles.num_columns.max(initial=0) * 8)
    factors = factors.astype(np.uint64) | np.uint64(1)
    matrix_start, parts, size = np.zeros_like(tiles.matrix_start), [], 0
    for count in np.unique(tiles.num_columns).tolist():
        same = np.flatnonzero(tiles.num_columns == count)
        index = tiles.matrix_start[same][:, None] + np.arange(count)
        bits = tiles.matrix[index].reshape(same.size, -1).view(np.uint64)
        mixed = bits ^ (bits >> np.uint64(29))
        hashes = (mixed * factors[: count * NUM_LANES]).sum(axis=1, dtype=np.uint64)
        _, first, number = np.unique(hashes, return_index=True, return_inverse=True)
        if not (bits == bits[first[number]]).all():  # two matrices have the same hash
            first = number = np.arange(same.size)
        matrix_start[same] = size + count * number
        parts.append(bits[first].view(np.float64).reshape(-1, NUM_LANES))
        size += count * first.size
    matrix = np.concatenate(parts) if parts else np.zeros((0, NUM_LANES))
    return tiles._replace(matrix_start=matrix_start, matrix=matrix)


def _sort_by_columns(tiles: _Tiles) -> _Tiles:
    """Return the tiles by number of columns, so that the ends of short loops are predictable."""
    order = np.argsort(tiles.num_columns, kind="stable")
    starts = np.cumsum(tiles.num_columns) - tiles.num_columns
    column = tiles.column[_ranges(starts[order], tiles.num_columns[order])]
    return tiles._replace(
        row=tiles.row[order],
        num_columns=tiles.num_columns[order],
        column=column,
        matrix_start=tiles.matrix_start[order],
    )


def _join(parts: list[_Tiles]) -> _Tiles:
    """Return all tiles in one record; equal matrices of different parts are shared."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(len(part.matrix) for part in parts)]).tolist()
    starts = [part.matrix_start + shift for part, shift in zip(parts, before, strict=False)]
    joined = _Tiles(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    return _share_matrices(joined._replace(matrix_start=np.concatenate(starts)))
