"""Parts of a betting tree by name: what an expert of a blueprint covers.

- "" is the whole tree;
- `heads_up`: two of at least three players are left;
- `seat K`: the decisions of player K;
- otherwise all decisions after one of some beginnings of the betting, separated by commas and
  written as in histories: `f`, `c`, `r` (limit) or `r300` (to that total), and `|` between streets,
  such as `rf,rrf` or `cc|r`. Cards are left out.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from counterplay.arenas.poker.betting_tree import BettingArrays, find_child
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, FOLD, RAISE, HoldemBase

HEADS_UP = "heads_up"
SEAT = re.compile(r"seat (\d+)")
BEGINNING = re.compile(r"([fcr]\d*|\|)*")


def find_part(game: HoldemBase, tree: BettingArrays, name: str) -> Any:
    """Return True [N] for the decision nodes of a part.

    Raises:
        ConfigError: the name has another form, or the part has no decision.

    Example:
        >>> from counterplay.arenas.poker.betting_tree import build_betting_arrays
        >>> from counterplay.registry import load_game
        >>> game = load_game("poker(board=(0,),opens=(1,),raises=(10,),raise_caps=(1,))")
        >>> tree = build_betting_arrays(game)
        >>> [int(find_part(game, tree, name).sum()) for name in ("", "seat 0", "c", "cr")]
        [4, 2, 2, 1]
    """
    decisions = tree.player >= 0
    if not name:
        return decisions
    if name == HEADS_UP:
        num_left = sum(tree.left >> p & 1 for p in range(game.num_players))
        inside = decisions & (num_left == 2) & (game.num_players > 2)
    elif seat := SEAT.fullmatch(name):
        inside = decisions & (tree.player == int(seat[1]))
    else:
        inside = decisions & _is_after(game, tree, name)
    if not inside.any():
        raise ConfigError(f"part {name!r} has no decision in this game")
    return inside


def _is_after(game: HoldemBase, tree: BettingArrays, name: str) -> Any:
    """Return True [N] for all nodes at or after some beginnings of the betting."""
    after = np.zeros(len(tree.player), bool)
    for text in name.split(","):
        after[_find_beginning(game, tree, text.strip())] = True
    first = 1
    while first < len(after):  # breadth first: a node's parent is before the node's level
        parents = tree.parent[first:]
        level = int(np.searchsorted(parents, first))
        after[first : first + level] |= after[parents[:level]]
        first += level
    return after


def _find_beginning(game: HoldemBase, tree: BettingArrays, text: str) -> int:
    if not text or not BEGINNING.fullmatch(text):
        raise ConfigError(
            f"part {text!r} is not known: write heads_up, 'seat K', or betting such as rf or cc|r"
        )
    node = street = 0
    for word in re.findall(r"[fcr]\d*|\|", text):
        if word == "|":
            street += 1
        else:
            letter, total = word[0], word[1:]
            raised = RAISE if game.is_limit else int(total or -1)
            action = {"f": FOLD, "c": CALL}.get(letter, raised)
            node = find_child(tree, node, action)
        if node < 0 or int(tree.street[node]) < street:
            raise ConfigError(f"part {text!r}: {word!r} is not possible there in this game")
    return node
