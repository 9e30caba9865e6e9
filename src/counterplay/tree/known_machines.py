"""The machines of registered games, where their states fit into integers."""

from __future__ import annotations

import numpy as np

from counterplay.game import CHANCE
from counterplay.games.goofspiel import RETURNS, Goofspiel
from counterplay.games.kuhn_poker import KuhnPoker
from counterplay.games.leduc_poker import LeducPoker
from counterplay.games.liars_dice import LiarsDice
from counterplay.games.phantom_board import PhantomBoard
from counterplay.kernels import (
    machine_dice,
    machine_goofspiel,
    machine_kuhn,
    machine_leduc,
    machine_phantom,
)
from counterplay.tree.machines import Machine

MOST_CELLS = 12  # of a board whose winning sets are worth listing


def _machine(kernels: object, rules: list[int], start: list[int]) -> Machine:
    names = "look", "offer", "step", "pay", "see", "watch"
    functions = [getattr(kernels, name) for name in names]
    return Machine(np.array(rules), np.array(start, np.int32), *functions)


def kuhn_poker(game: KuhnPoker) -> Machine:
    return _machine(machine_kuhn, [game.players, game.deck_size], [-1] * game.players + [0, 0])


def leduc_poker(game: LeducPoker) -> Machine:
    players = game.players
    start = [CHANCE, *[-1] * (players + 1), *[1] * players, (1 << players) - 1, players, 0, 1]
    return _machine(machine_leduc, [players, game.num_ranks, game.num_suits], start)


def liars_dice(game: LiarsDice) -> Machine | None:
    if game.liar > 30 or (game.dice_sides + 1) ** game.numdice >= 1 << 31:
        return None
    start = [0] * game.total_dice + [0, 0, 0]
    return _machine(machine_dice, [game.numdice, game.dice_sides], start)


def goofspiel(game: Goofspiel) -> Machine | None:
    cards, players = game.num_cards, game.players
    digits = 2 + cards * (3 if game.imp_info else players + 1)
    if (
        game.forgetful
        or max(cards, players) + 1 > 30
        or (max(cards, players) + 1) ** digits >= 1 << 62
    ):
        return None
    order = {"random": (0, 0), "ascending": (0, 1), "descending": (cards - 1, -1)}
    first, step = order[game.points_order]
    rules = [cards, players, first, step, game.imp_info, RETURNS.index(game.returns_type)]
    prizes = [first if step else 0] + [0] * (cards - 1)
    start = [abs(step), 0, 0, *prizes, *[0] * (cards + cards * players + players)]
    return _machine(machine_goofspiel, rules, start + [(1 << cards) - 1] * players)


def phantom_board(game: PhantomBoard) -> Machine | None:
    size = game.num_cells
    if size > MOST_CELLS:
        return None
    wins = [game.wins(player, stones) for player in range(2) for stones in range(1 << size)]
    return _machine(machine_phantom, [size, game.abrupt, *wins], [0] * (6 + 2 * size))
