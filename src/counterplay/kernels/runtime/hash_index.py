"""Consecutive indices for rows of integers, in order of first occurrence (open addressing)."""

from __future__ import annotations

from numpy import uint64

from counterplay.kernels.runtime.jit import no_alloc_kernel
from counterplay.kernels.sampling.primitives import mix


@no_alloc_kernel
def find_slot(a, b, c, table, keys):
    """Return the slot of the triple (a, b, c) in `table`, or the free slot where it belongs.

    `table` [power of two] holds indices into `keys` [., 3]; -1 marks a free slot.
    """
    mask = table.size - 1
    bits = mix(uint64(a)) ^ mix(uint64(b) + uint64(0x9E3779B97F4A7C15)) ^ uint64(c)
    slot = int(mix(bits) >> uint64(1)) & mask
    while table[slot] >= 0:
        k = table[slot]
        if keys[k, 0] == a and keys[k, 1] == b and keys[k, 2] == c:
            break
        slot = (slot + 1) & mask
    return slot


@no_alloc_kernel
def rebuild_table(count, table, keys):
    """Fill an empty `table` [power of two] with the first `count` rows of `keys` [., 3]."""
    for k in range(count):
        table[find_slot(keys[k, 0], keys[k, 1], keys[k, 2], table, keys)] = k


@no_alloc_kernel
def assign_indices(a, b, c, count, table, keys, numbers):
    """Set `numbers` [N] to the indices of the triples; new triples get the next indices.

    Returns the number of different triples.
    """
    for n in range(a.size):
        slot = find_slot(a[n], b[n], c[n], table, keys)
        if table[slot] < 0:
            table[slot] = count
            keys[count, 0], keys[count, 1], keys[count, 2] = a[n], b[n], c[n]
            count += 1
        numbers[n] = table[slot]
    return count


@no_alloc_kernel
def hash_row(words, n):
    """Return 64 bits for row n of `words` [N, W]."""
    bits = uint64(0)
    for w in range(words.shape[1]):
        bits = (bits ^ uint64(words[n, w])) * uint64(0x9E3779B97F4A7C15)
        bits ^= bits >> uint64(32)
    return mix(bits)


@no_alloc_kernel
def is_equal_row(words, n, others, k):
    """Return whether row n of `words` [N, W] equals row k of `others` [K, W]."""
    w = 0
    while w < words.shape[1] and words[n, w] == others[k, w]:
        w += 1
    return w == words.shape[1]


@no_alloc_kernel
def index_rows(words, count, table, known, index):
    """Set `index` [N] to that of each row of `words` [N, W] among the distinct rows so far.

    `known` [K, W] holds the first `count` distinct rows, and `table` [power of two above K] their
    indices by hash. New rows are added until K are known; rows that do not fit get the index -1.
    Returns the number of known rows, or K + 1 if there are more.
    """
    mask, is_full = table.size - 1, False
    for n in range(words.shape[0]):
        slot = int(hash_row(words, n) >> uint64(1)) & mask
        while table[slot] >= 0 and not is_equal_row(words, n, known, table[slot]):
            slot = (slot + 1) & mask
        if table[slot] < 0 and count < known.shape[0]:
            table[slot] = count
            for w in range(words.shape[1]):
                known[count, w] = words[n, w]
            count += 1
        index[n] = table[slot]
        is_full = is_full or table[slot] < 0
    return known.shape[0] + 1 if is_full else count


@no_alloc_kernel
def group_rows(words, table, first, group):
    """Set `group` [N] to the index of each row of `words` [N, W] among the distinct rows.

    `table` [power of two above N] is empty, that is -1. `first` [N] gets the first row of each
    index. Returns the number of distinct rows.
    """
    mask, count = table.size - 1, 0
    for n in range(words.shape[0]):
        slot = int(hash_row(words, n) >> uint64(1)) & mask
        while table[slot] >= 0:
            if is_equal_row(words, n, words, first[table[slot]]):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = count
            first[count] = n
            count += 1
        group[n] = table[slot]
    return count
