"""Numbers for things known by three integers, in the order in which they are met."""

from __future__ import annotations

from numpy import uint64

from counterplay.kernels.compiling import bare_kernel
from counterplay.kernels.draws import mix


@bare_kernel
def slot_of(a, b, c, table, known):
    """Where a thing stands in the hash table, or would."""
    mask = table.size - 1
    bits = mix(uint64(a)) ^ mix(uint64(b) + uint64(0x9E3779B97F4A7C15)) ^ uint64(c)
    slot = int(mix(bits) >> uint64(1)) & mask
    while table[slot] >= 0:
        k = table[slot]
        if known[k, 0] == a and known[k, 1] == b and known[k, 2] == c:
            break
        slot = (slot + 1) & mask
    return slot


@bare_kernel
def place_again(count, table, known):
    """Fill an empty table [power of two] with the first `count` known things [., 3]."""
    for k in range(count):
        table[slot_of(known[k, 0], known[k, 1], known[k, 2], table, known)] = k


@bare_kernel
def number(a, b, c, count, table, known, numbers):
    """Set the `numbers` of things; those not known before get the next ones. Returns how many."""
    for n in range(a.size):
        slot = slot_of(a[n], b[n], c[n], table, known)
        if table[slot] < 0:
            table[slot] = count
            known[count, 0], known[count, 1], known[count, 2] = a[n], b[n], c[n]
            count += 1
        numbers[n] = table[slot]
    return count
