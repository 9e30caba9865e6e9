"""Flop hold'em as a public tree, against all of it written out with matrices for a few flops."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.core.cards import (
    ALL_HANDS,
    NUM_CARDS,
    SUIT_PERMUTATIONS,
    hand_index,
    permute_suits,
)
from counterplay.games.holdem_base import hand_strength

FLOPS = [(0, 4, 8), (0, 5, 25), (3, 7, 50)]


FLOP_PROBABILITY = [0.2, 0.3, 0.5]


@cache
def few(raises=1, flop_raises=1, precision="float32"):
    """The game with these flops only, all renamings of suits included."""
    game = cp.load_game(f"flop_holdem(raises={raises},flop_raises={flop_raises})")
    arena = HoldemGameArena(game, precision)
    first, flops = arena.streets
    free = [[card for card in range(NUM_CARDS) if card not in flop] for flop in FLOPS]
    few_flops = replace(
        flops,
        cards=np.array(FLOPS),
        free_cards=np.array(free),
        parent=np.zeros(3, np.int64),
        num_merged=np.array([2, 3, 5]),
        symmetries=flops.symmetries[:3],
        chance=0.1,
        next_boards=np.zeros(4, np.int64),
    )
    arena.streets = [replace(first, next_boards=np.array([0, 3])), few_flops]
    return arena


def showdowns(flop):
    """[1326, 1326] 1 where the first wins, -1 where it loses; 0 and no deal where cards meet."""
    ranks = np.full(len(ALL_HANDS), -1)
    live = [h for h, hand in enumerate(ALL_HANDS) if not set(hand) & set(flop)]
    result = [hand_strength((*ALL_HANDS[h], *flop)) for h in live]
    order = sorted(set(result))
    ranks[live] = [order.index(s) for s in result]
    cards = np.array(ALL_HANDS)
    apart = ~(cards[:, None, :, None] == cards[None, :, None, :]).any(axis=(2, 3))
    apart &= (ranks[:, None] >= 0) & (ranks[None, :] >= 0)
    return np.sign(ranks[:, None] - ranks[None, :]) * apart, apart


def plain_values(arena, policy, player, best):
    """The player's value at the root by matrices over all pairs of hands."""
    nodes = arena.betting.nodes
    cards = np.array(ALL_HANDS)
    apart = ~(cards[:, None, :, None] == cards[None, :, None, :]).any(axis=(2, 3))
    swapped = [
        np.array([hand_index(*(permute_suits(c, suits) for c in hand)) for hand in ALL_HANDS])
        for suits in SUIT_PERMUTATIONS
    ]
    tables = [showdowns(flop) for flop in FLOPS]

    def value(number, reach, flop):  # [1326] given the opponent's reach [1326]
        node = nodes[number]
        if node.kind == DEAL:
            root, total = arena.betting.block_starts[node.next_block], 0.0
            for board, chance in enumerate(FLOP_PROBABILITY):
                one = value(root, reach * chance, board)
                total = total + np.mean([one[swap] for swap in swapped], axis=0)
            return total
        won, met = (None, apart) if flop is None else tables[flop]
        paid = min(node.state.contributions)
        if node.kind == FOLD:
            return (-paid if node.folding_player == player else paid) * (met @ reach)
        if node.kind > FOLD:
            return paid * (won @ reach)
        small = policy.probabilities_at(number, flop or 0)
        chosen = np.zeros((len(node.actions), len(ALL_HANDS)))
        chosen[:, slice(None) if flop is None else np.flatnonzero(met.any(axis=1))] = small
        after = [
            value(node.first_child + a, reach if node.kind == player else reach * chosen[a], flop)
            for a in range(len(node.actions))
        ]
        if node.kind != player:
            return sum(after)
        return np.max(after, axis=0) if best else (chosen * np.array(after)).sum(axis=0)

    return value(0, np.ones(len(ALL_HANDS)) / (1326 * 1225), None).sum()


@pytest.mark.parametrize(("raises", "flop_raises"), [(1, 1), (1, 2)])
def test_judgement_by_matrices(raises, flop_raises):
    arena = few(raises, flop_raises)
    asked, (kinds,) = (
        [],
        arena.street_boards[0].orbit,
    )  # equal for hands that suits alone tell apart

    def answer(public):
        asked.append(public)
        rng = np.random.default_rng(len(asked))
        if not public.board:  # nothing tells suits apart there
            return rng.exponential(size=(len(public.actions), 1326))[:, kinds]
        return rng.exponential(size=(len(public.actions), len(public.hands)))

    policy = arena.tabulate(answer)
    judgement = cp.judge(arena, policy)
    for player in (0, 1):
        mean, best = (plain_values(arena, policy, player, best) for best in (False, True))
        assert judgement.values[player] == pytest.approx(mean, abs=1e-3)
        assert judgement.best_values[player] == pytest.approx(best, abs=1e-3)
    assert {public.history for public in asked} >= {"", "c", "r", "cc|", "rc|r"}


def test_solving_lowers_exploitability():
    arena = few()
    result = cp.solve(arena, cp.algorithms.DCFR(gamma=3, restart_base=4), iterations=60)
    assert result.exploitability < 0.01 * result.records[0].exploitability
    assert cp.judge(arena, result.policy).values.sum() == pytest.approx(0.0)
    packed = few(precision="int16")
    again = cp.solve(packed, cp.algorithms.DCFR(gamma=3, restart_base=4), iterations=60)
    assert again.exploitability == pytest.approx(result.exploitability, rel=0.1, abs=0.05)


def test_there_are_1755_flops():
    arena = HoldemGameArena(cp.load_game("flop_holdem"))
    flops = arena.streets[1]
    assert flops.num_boards == 1755 and flops.num_merged.sum() == 22_100
    assert flops.chance == pytest.approx(1.0 / 17_296)
    assert np.unique(arena.street_boards[0].orbit).size == 169
    assert sum(node.kind == DEAL for node in arena.betting.nodes) == 7
    assert arena.num_infosets == 1326 * 8 + 1755 * 1176 * 70
    with pytest.raises(cp.ConfigError, match=r"must answer with 3 x 1326 numbers"):
        arena.tabulate(lambda public: [1.0])
