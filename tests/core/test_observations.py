"""Observations made of infoset keys."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.core.observations import (
    KeyEncoder,
    build_observations,
    has_observations,
    missing_observations_note,
)


class Silent:
    """A game without its observations."""

    def __init__(self, game):
        self._game, self.spec = game, f"silent {type(game).__name__}"

    def __getattr__(self, name):
        if name == "observation":
            raise AttributeError(name)
        return getattr(self._game, name)


@pytest.mark.parametrize("spec", ["kuhn_poker(players=3)", "leduc_poker", "goofspiel(num_cards=3)"])
def test_keys_that_differ_have_codes_that_differ(spec):
    tree = cp.build_tree(spec)
    met = list(zip(tree.infoset_player.tolist(), tree.infoset_keys, strict=True))
    silent = Silent(tree.game)
    assert not has_observations(silent)
    found = build_observations(silent, met, [None] * len(met))
    assert found.dtype == np.float32
    assert len(np.unique(found, axis=0)) == len(met)
    assert set(np.unique(found)) == {0.0, 1.0}
    assert "networks see its infoset keys" in missing_observations_note(silent)


def test_the_games_own_words_come_first():
    game = cp.load_game("kuhn_poker")
    state = game.next_state(game.next_state(game.initial_state(), 2), 0)
    found = build_observations(game, [(0, "2")], [state])
    assert found[0].tolist() == game.observation(state, 0)
    assert missing_observations_note(game) == ""


def test_what_is_always_the_same_takes_no_place():
    code = KeyEncoder(["p:a", "p:b", "p:ab"], 2)
    assert code.observation_size == 2 + 2 + 2  # player; a or b; nothing or b
    assert code.encode(1, "p:ab").tolist() == [0, 1, 1, 0, 0, 1]
    assert code.encode(0, "p:zz").tolist() == [1, 0, 0, 0, 0, 0]  # never met


def test_files_of_games_can_be_encoded(tmp_path):
    cp.save_game(cp.load_game("kuhn_poker"), tmp_path / "kuhn.efg")
    tree = cp.build_tree(str(tmp_path / "kuhn.efg"))
    met = list(zip(tree.infoset_player.tolist(), tree.infoset_keys, strict=True))
    found = build_observations(tree.game, met, [None] * len(met))
    assert len(np.unique(found, axis=0)) == 12
