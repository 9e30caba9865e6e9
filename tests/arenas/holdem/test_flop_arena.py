"""Flop hold'em as a public tree, against all of it written out with matrices for a few flops."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.flop_arena import FlopHoldemArena, load_flop_policy
from counterplay.core.cards import ALL_HANDS, SUIT_PERMUTATIONS, hand_index, permute_suits
from counterplay.games.holdem_base import hand_strength

pytestmark = pytest.mark.xdist_group("public")  # compiled once, by one worker

FLOPS = [(0, 4, 8), (0, 5, 25), (3, 7, 50)]


@cache
def few(raises=1, flop_raises=1, precision="float32"):
    """The game with these flops only, as likely as each other, all renamings of suits included."""
    arena = FlopHoldemArena(cp.load_game(f"flop_holdem(raises={raises},flop_raises={flop_raises})"))
    arena.precision = precision
    arena.flops = FLOPS
    arena.flop_probability = np.array([0.2, 0.3, 0.5])
    return arena


def showdowns(flop):
    """[1326, 1326] 1 where the first wins, -1 where it loses; 0 and no deal where cards meet."""
    ranks = np.full(len(ALL_HANDS), -1)
    live = [h for h, hand in enumerate(ALL_HANDS) if not set(hand) & set(flop)]
    found = [hand_strength((*ALL_HANDS[h], *flop)) for h in live]
    order = sorted(set(found))
    ranks[live] = [order.index(s) for s in found]
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
            for board, chance in enumerate(arena.flop_probability):
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
    kinds, asked = arena.hand_classes, []

    def answer(public):
        asked.append(public)
        rng = np.random.default_rng(len(asked))
        if not public.flop:  # nothing tells suits apart there
            return rng.exponential(size=(len(public.actions), 169))[:, kinds]
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


def test_policies_of_flop_arenas_are_saved_and_loaded(tmp_path, monkeypatch):
    arena = few()
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=3).policy
    policy.save(tmp_path / "flop.policy")
    monkeypatch.setattr("counterplay.arenas.holdem.flop_arena.FlopHoldemArena", lambda game: few())
    again = load_flop_policy(tmp_path / "flop.policy")
    for node in (0, arena.betting.block_starts[1]):
        np.testing.assert_allclose(
            again.probabilities_at(node, 0), policy.probabilities_at(node, 0), atol=1e-4
        )
    (tmp_path / "flop.policy").write_bytes(b"nothing")
    with pytest.raises(cp.RunError, match="damaged"):
        load_flop_policy(tmp_path / "flop.policy")


def test_there_are_1755_flops():
    arena = FlopHoldemArena()
    assert len(arena.flops) == 1755 and arena.flop_probability.sum() == pytest.approx(
        22_100 / 17_296
    )
    assert np.unique(arena.hand_classes).size == 169
    assert sum(node.kind == DEAL for node in arena.betting.nodes) == 7
    assert arena.num_infosets == 1326 * 8 + 1755 * 1176 * 70
    with pytest.raises(cp.ConfigError, match=r"must answer with 3 x 1326 numbers"):
        arena.tabulate(lambda public: [1.0])
