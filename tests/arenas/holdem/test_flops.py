"""Flops: textures, and subsets that stand for all of them."""

from __future__ import annotations

import pytest

from counterplay.arenas.holdem.flops import FLOP_GROUPS, all_flops, flop_subset, flop_texture
from counterplay.core.cards import canonical_cards, canonical_flops, parse_cards
from counterplay.errors import ConfigError

SUBSETS = (25, 49, 95, 184)


def texture_shares(flops, group):
    """The part of a weighted set in each value of a texture group."""
    return [
        sum(flop.weight for flop in flops if flop_texture(flop.name)[group] == value)
        for value in FLOP_GROUPS[group]
    ]


def test_all_flops_have_the_weights_of_their_suit_permutations():
    flops = all_flops()
    assert len(flops) == 1755
    assert sum(flop.weight for flop in flops) == pytest.approx(1.0)
    weight_by_flop = {flop.name: flop.weight for flop in flops}
    assert weight_by_flop["AsAhAd"] == pytest.approx(4 / 22_100)
    # 286 sets of three ranks: 24 rainbow, 36 two-tone and 4 monotone flops each
    unpaired = 286 * 64 / 22_100
    assert texture_shares(flops, "pairing") == pytest.approx([unpaired, 3744 / 22_100, 52 / 22_100])
    assert texture_shares(flops, "suits")[2] == pytest.approx(286 * 4 / 22_100)


@pytest.mark.parametrize("size", SUBSETS)
def test_subsets_are_weighted_flops_that_differ(size):
    flops = flop_subset(size)
    canonical = {canonical_cards(parse_cards(flop.name)) for flop in flops}
    assert len(flops) == len(canonical) == size
    assert canonical <= set(canonical_flops())
    assert all(flop.weight > 0.0 for flop in flops)
    assert sum(flop.weight for flop in flops) == pytest.approx(1.0)


@pytest.mark.parametrize("size", SUBSETS)
def test_subsets_have_the_textures_of_all_flops(size):
    for group in FLOP_GROUPS:
        found, expected = (texture_shares(f, group) for f in (flop_subset(size), all_flops()))
        assert found == pytest.approx(expected, abs=0.08 if size == 25 else 0.06)


@pytest.mark.parametrize(
    ("flop", "texture"),
    [
        ("QsJh2h", ("two-tone", "unpaired", "Q", "impossible")),
        ("As3s2s", ("monotone", "unpaired", "A", "possible")),
        ("9s9h5d", ("rainbow", "paired", "9 to 7", "impossible")),
        ("6s6h6d", ("rainbow", "three of a kind", "6 to 2", "impossible")),
        ("KsTh9d", ("rainbow", "unpaired", "K", "possible")),
        ("Ks9h8d", ("rainbow", "unpaired", "K", "impossible")),
    ],
)
def test_textures(flop, texture):
    assert tuple(flop_texture(flop).values()) == texture


@pytest.mark.parametrize("name", ["50", "-1", "", "some"])
def test_unknown_subsets_are_refused(name):
    with pytest.raises(ConfigError, match="must be 25, 49, 95, 184, all, or flops"):
        flop_subset(name)
