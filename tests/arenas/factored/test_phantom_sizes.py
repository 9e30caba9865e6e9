"""Functions that count the sizes of generated arenas."""

from __future__ import annotations

import numpy as np

from counterplay.arenas.factored import phantom_sizes


def test_bits_are_counted_by_every_numpy(monkeypatch):
    sets = np.random.default_rng(0).integers(0, 1 << 40, (50, 3))
    expected = [[int(number).bit_count() for number in row] for row in sets]
    assert phantom_sizes.count_bits(sets).tolist() == expected
    monkeypatch.delattr(np, "bitwise_count", raising=False)
    assert phantom_sizes.count_bits(sets).tolist() == expected
    assert phantom_sizes.count_bits(np.arange(9, dtype=np.int32)).tolist() == [
        0,
        1,
        1,
        2,
        1,
        2,
        2,
        3,
        1,
    ]
