"""Tiles and groups of the sweep form change the layout of sums, not a bit of them."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.tree import payoff_tiles
from counterplay.arenas.tree.payoff_tiles import find_payoff_tiles
from counterplay.core.arena import group_infosets
from counterplay.kernels.runtime import tile_product
from counterplay.kernels.sequence_form import sweeps

GAMES = ["leduc_poker", "liars_dice(dice_sides=3)", "kuhn_poker", "goofspiel(num_cards=3)"]


@pytest.fixture(autouse=True)
def tile_every_dense_block(monkeypatch):
    monkeypatch.setattr(payoff_tiles, "MIN_ENTRIES", 0)
    monkeypatch.setattr(payoff_tiles, "MIN_SAVED_ENTRIES", 0)


def cf_values(form, reach):
    """The payoffs of every player's sequences, NaN where the others' would be."""
    values = np.full((form.player_row.size - 1, reach.size), np.nan)
    for player, row in enumerate(values):
        sweeps.player_payoff(form, player, reach, row)
    return values


@pytest.mark.parametrize("spec", GAMES)
def test_tiles_give_the_bits_of_rows(spec):
    tree = cp.build_tree(spec)
    rows = group_infosets(tree.form)
    tiles = find_payoff_tiles(rows)
    assert tiles.tile_matrix.size
    reach = np.append(np.random.default_rng(1).random(tree.num_sequences), 1.0)
    np.testing.assert_array_equal(cf_values(tiles, reach), cf_values(rows, reach))


def test_chunks_do_not_change_tiles(monkeypatch):
    rows = group_infosets(cp.build_tree("leduc_poker").form)
    whole = find_payoff_tiles(rows)
    monkeypatch.setattr(payoff_tiles, "MAX_CHUNK_ENTRIES", 100)
    parts = find_payoff_tiles(rows)
    for name in ("tile_sequence", "tile_offset", "tile_column", "matrix"):
        first, second = getattr(whole, name), getattr(parts, name)
        if name == "matrix":  # numbered in another order
            first, second = first[whole.tile_matrix], second[parts.tile_matrix]
        np.testing.assert_array_equal(first, second)


def test_every_sequence_with_payoffs_is_in_one_row_or_tile():
    form = cp.build_tree("leduc_poker").form
    tiles = find_payoff_tiles(group_infosets(form))
    tiled = [np.unique(sequences) for sequences in tiles.tile_sequence]
    found = np.concatenate([tiles.row_sequence, *tiled])
    np.testing.assert_array_equal(np.sort(found), np.sort(form.row_sequence))


def test_equal_tiles_share_their_matrix():
    tiles = find_payoff_tiles(group_infosets(cp.build_tree("liars_dice(dice_sides=3)").form))
    assert len(tiles.matrix) < tiles.tile_column.size / 4


def test_games_of_three_players_have_rows_only():
    form = group_infosets(cp.build_tree("kuhn_poker(players=3)").form)
    assert find_payoff_tiles(form) is form


@pytest.mark.parametrize("spec", GAMES)
def test_groups_contain_every_infoset_once_after_its_parent(spec):
    tree = cp.build_tree(spec)
    form = tree.sweep_form
    reached = np.zeros(tree.num_sequences + 1, bool)
    reached[-1] = True
    for first, last, size in form.group.tolist():
        start = form.group_start[first:last].astype(int)
        assert reached[form.group_parent[first:last]].all()
        sequences = (start[:, None] + np.arange(size)).ravel()
        assert not reached[sequences].any()
        reached[sequences] = True
    assert reached.all()


def test_plain_python_multiplies_tiles_alike():
    form = find_payoff_tiles(group_infosets(cp.build_tree("kuhn_poker").form))
    reach = np.append(np.random.default_rng(2).random(24), 1.0)
    compiled, plain = np.zeros((2, 25))
    sweeps.tile_payoff(form, 0, form.tile_matrix.size, reach, compiled)
    for t in range(form.tile_matrix.size):
        first, last = form.tile_offset[t : t + 2]
        columns = (form.matrix, form.tile_matrix[t], form.tile_column, first, last)
        tile_product._python_multiply_tile(*columns, reach, form.tile_sequence, t, plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-14)
