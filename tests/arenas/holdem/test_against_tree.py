"""The public tree against the same spots written as ordinary games and unrolled."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import counterplay as cp
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.arenas.holdem.spot_game import SpotGame
from counterplay.core.cards import hand_name
from tests.arenas.holdem.spots import all_but, both

DECK = "2c3c4c2d3d4d2h3h4h2s3s4s"
ALGORITHMS = [
    cp.algorithms.CFR(),
    cp.algorithms.CFRPlus(delay=1),
    cp.algorithms.LinearCFR(),
    cp.algorithms.DCFR(),
    cp.algorithms.DCFR(gamma=3, restart_base=4),
    cp.algorithms.PCFRPlus(),
    cp.algorithms.PDCFRPlus(),
    cp.algorithms.SAPCFRPlus(),
    cp.algorithms.HSDCFR(horizon=40),
]
TURN = Spot(
    "2c3d4h3s",
    ("4s4d,2d2h:0.5,3c2s,4c3h,2s2d", "4d4c,2h2s,3h2d:0.25,4s3c"),
    pot=20,
    stacks=(40, 60),
    sizes=(both(), both("50% a", "60%"), both("a", "2.5x", "5c")),
    rake=0.05,
    rake_cap=2.0,
    dead=all_but(DECK),
)


def places(arena: SpotArena):
    """(player, infoset key) -> where the tables hold its actions, of all that can be met."""
    result = {}
    for node, board in arena.iter_decisions():
        player = arena.betting.nodes[node].kind
        own, start = arena.hands[player], arena.piece_slice(node, board).start
        count = len(arena.betting.nodes[node].actions)
        for h in range(own.size):
            if not set(own.cards[h].tolist()) & set(arena.boards.cards[board]):
                key = f"{hand_name(int(own.index[h]))}:{arena.history(node, board)}"
                result[player, key] = start + h + own.size * np.arange(count), own.weight[h]
    return result


def compare(arena, tree, memory, plain, averages):
    where = places(arena)
    scale = 1.0 / np.where(memory.last_weight > 0.0, memory.last_weight, 1.0)
    met = 0
    for infoset, key in enumerate(tree.infoset_keys):
        player = int(tree.infoset_player[infoset])
        at, weight = where[player, key]
        here = slice(*tree.offset[infoset : infoset + 2].tolist())
        np.testing.assert_allclose(memory.regret[at] * weight, plain.regret[here], atol=1e-9)
        for k in range(averages):
            wanted = plain.policy_sum[k][here] * scale[k]
            np.testing.assert_allclose(memory.policy_sum[k][at], wanted, atol=1e-9)
        met += 1
    assert met == tree.num_infosets > 0


@cache
def arena_and_tree():
    return SpotArena(TURN, "float64", False), cp.build_tree(SpotGame(TURN))


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=repr)
def test_same_iterates(algorithm):
    arena, tree = arena_and_tree()
    memory, plain = algorithm.init(arena), algorithm.init(tree)
    for _ in range(6):
        memory, plain = algorithm.step(arena, memory, 1), algorithm.step(tree, plain, 1)
        compare(arena, tree, memory, plain, len(algorithm.averages))
    for name, policy in algorithm.policies(tree, plain).items():
        ours = cp.judge(arena, algorithm.policies(arena, memory)[name])
        wanted = cp.judge(tree, policy)
        np.testing.assert_allclose(ours.values, wanted.values, atol=1e-9)
        np.testing.assert_allclose(ours.best_values, wanted.best_values, atol=1e-9)


def sizes():
    word = st.sampled_from(["33%", "50%", "120%", "a", "e", "3c", "50% a"])
    raised = st.sampled_from(["", "50%", "2.5x", "a"])
    return st.builds(both, word, raised, st.sampled_from([None, "", "25%"]))


@st.composite
def small_spots(draw):
    """Spots on twelve cards; the river more often than the turn, the turn than the flop."""
    deck = draw(st.permutations([DECK[i : i + 2] for i in range(0, len(DECK), 2)]))
    shown = draw(st.sampled_from([5, 5, 5, 4, 4, 3]))
    board, rest = deck[:shown], deck[shown:]
    pairs = [a + b for i, a in enumerate(rest) for b in rest[:i]]
    hands = st.lists(
        st.sampled_from(pairs), min_size=2, max_size=4 if shown > 3 else 2, unique=True
    )
    weight = st.sampled_from(["", ":0.5", ":0.3"])
    ranges = [",".join(hand + draw(weight) for hand in draw(hands)) for _ in range(2)]
    return Spot(
        "".join(board),
        (ranges[0], ranges[1]),
        pot=draw(st.integers(4, 30)),
        stacks=(draw(st.integers(3, 60)), draw(st.integers(3, 60))),
        sizes=tuple(draw(sizes()) for _ in range(3)),
        rake=draw(st.sampled_from([0.0, 0.05])),
        rake_cap=draw(st.sampled_from([1.0, np.inf])),
        raise_cap=2,
        dead=all_but("".join(deck)),
    )


@settings(max_examples=15)
@given(small_spots(), st.integers(0, 5), st.integers(0, 100))
def test_any_spot(spot, number, seed):
    try:
        arena = SpotArena(spot, "float64", False)
    except cp.ConfigError:  # no hand of one range leaves the other a hand
        return
    tree = cp.build_tree(SpotGame(spot))
    weights = np.random.default_rng(seed).exponential(size=arena.num_sequences)
    policy, where, flat = HoldemPolicy(arena, weights, weights[:0]), places(arena), []
    for infoset, key in enumerate(tree.infoset_keys):
        chosen = weights[where[int(tree.infoset_player[infoset]), key][0]]
        flat.append(chosen / chosen.sum())
    wanted = cp.judge(tree, cp.Policy(tree, np.concatenate(flat)))
    result = cp.judge(arena, policy)
    np.testing.assert_allclose(result.values, wanted.values, atol=1e-9)
    np.testing.assert_allclose(result.best_values, wanted.best_values, atol=1e-9)
    algorithm = ALGORITHMS[number]
    memory = algorithm.step(arena, algorithm.init(arena), 3)
    plain = algorithm.step(tree, algorithm.init(tree), 3)
    compare(arena, tree, memory, plain, len(algorithm.averages))
