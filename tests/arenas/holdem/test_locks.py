"""Locks after one card: isomorphic boards are solved apart, or the lock holds on all of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.boards import IDENTITY_PERMUTATION
from counterplay.arenas.holdem.inspection import find_node
from counterplay.arenas.holdem.locks import lock_node
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.cli.main import main
from counterplay.core.cards import permute_suits
from tests.arenas.holdem.spots import all_but, both

pytestmark = pytest.mark.xdist_group("public")  # compiled once, by one worker

DECK = "2c3c4c2d3d4d2h3h4h2s3s4s"
TURN = Spot(
    "2c3d4c3c", ("44,22,32,43", "44,22:0.5,43,32"), 20, (50, 50),
    (both(), both("60% a", "60%"), both("50%", "a")), dead=all_but(DECK),
)  # fmt: skip
FLOP = Spot("3c4c2d", ("44,43", "44:0.5,22,43s"), 10, (20, 20), (both("a"),) * 3, dead=TURN.dead)


def symmetric_cards(spot: Spot) -> tuple[str, str]:
    """Two cards whose boards are isomorphic, the canonical one first."""
    arena = SpotArena(spot)
    boards = arena.boards
    for child in range(int(boards.next_boards[0]), int(boards.next_boards[1])):
        for i in range(
            int(boards.isomorphic_boards[child]), int(boards.isomorphic_boards[child + 1])
        ):
            suits = boards.suit_permutations[int(boards.permutation_index[i])]
            card = boards.cards[child][-1]
            isomorphic = next(c for c in range(52) if permute_suits(c, suits) == card and c != card)
            names = [f"{'23456789TJQKA'[c // 4]}{'cdhs'[c % 4]}" for c in (card, isomorphic)]
            return names[0], names[1]
    raise AssertionError("no two boards are isomorphic")


@pytest.mark.parametrize("spot", [TURN, FLOP], ids=["turn", "flop"])
@pytest.mark.parametrize("which", [0, 1], ids=["canonical", "isomorphic"])
def test_a_lock_after_one_card_is_that_of_a_tree_without_isomorphism(spot, which):
    """Both for the card of the canonical board and for one of an isomorphic board."""
    card = symmetric_cards(spot)[which]
    history = f"check,check|{card}"
    folded, whole = SpotArena(spot, "float64"), SpotArena(spot, "float64", isomorphism=False)
    before = sum(folded.boards.level_sizes)
    action = whole.betting.nodes[find_node(whole, history).node].actions[-1]
    reports = [lock_node(arena, history, {action: 1.0}) for arena in (folded, whole)]
    assert (
        reports[0].boards == (before, sum(folded.boards.level_sizes))
        and not reports[0].isomorphic_histories
    )
    assert before < sum(folded.boards.level_sizes) <= sum(whole.boards.level_sizes)
    assert "solved apart" in reports[0].notes[0] and not reports[1].notes
    found = [
        cp.solve(arena, cp.algorithms.DCFR(), iterations=7).policy for arena in (folded, whole)
    ]
    one, other = (cp.judge(policy.arena, policy) for policy in found)
    np.testing.assert_allclose(one.values, other.values, atol=1e-9)
    np.testing.assert_allclose(one.best_values, other.best_values, atol=1e-9)
    for cards in symmetric_cards(spot):
        views = [cp.holdem.inspect_node(policy, f"check,check|{cards}") for policy in found]
        np.testing.assert_allclose(views[0].policy, views[1].policy, atol=1e-9)
    locked = cp.holdem.inspect_node(found[0], history)
    assert (locked.policy[-1] == 1.0).all()
    isomorphic = cp.holdem.inspect_node(found[0], f"check,check|{symmetric_cards(spot)[1 - which]}")
    assert not (isomorphic.policy[-1] == 1.0).all()


def test_a_lock_of_isomorphic_boards_holds_for_all_and_names_them():
    first, isomorphic = symmetric_cards(TURN)
    arena = SpotArena(TURN, "float64")
    size = sum(arena.boards.level_sizes)
    action = arena.betting.nodes[find_node(arena, f"check,check|{isomorphic}").node].actions[-1]
    report = lock_node(arena, f"check,check|{isomorphic}", {action: 1.0}, lock_isomorphic=True)
    assert report.isomorphic_histories == (f"check,check|{first}",) and report.boards == (
        size,
        size,
    )
    assert f"holds after 'check,check|{first}' too" in report.notes[0]
    whole = SpotArena(TURN, "float64", isomorphism=False)
    for card in (first, isomorphic):
        lock_node(whole, f"check,check|{card}", {action: 1.0})
    judged = [
        cp.judge(tree, cp.solve(tree, cp.algorithms.DCFR(), iterations=7).policy)
        for tree in (arena, whole)
    ]
    np.testing.assert_allclose(judged[0].values, judged[1].values, atol=1e-9)
    np.testing.assert_allclose(judged[0].best_values, judged[1].best_values, atol=1e-9)


def test_locks_of_one_suit_are_solved_apart():
    """Hands that only their suits distinguish, before any card is dealt."""
    folded, whole = SpotArena(TURN, "float64"), SpotArena(TURN, "float64", isomorphism=False)
    for arena in (folded, whole):
        lock_node(arena, "", {"check": 1.0}, "4s4d,4s2d")
        lock_node(arena, "check", {"check": 1.0}, "22")  # alike again: nothing more to split
    judged = [
        cp.judge(tree, cp.solve(tree, cp.algorithms.DCFR(), iterations=7).policy)
        for tree in (folded, whole)
    ]
    np.testing.assert_allclose(judged[0].values, judged[1].values, atol=1e-9)


def test_earlier_locks_stay_when_boards_are_split():
    """A lock of all isomorphic boards first, then one of a single card elsewhere."""
    first, isomorphic = symmetric_cards(FLOP)
    trees = SpotArena(FLOP, "float64"), SpotArena(FLOP, "float64", isomorphism=False)
    lock_node(trees[0], f"check,check|{first}", {"check": 1.0}, "44,22", lock_isomorphic=True)
    for card in (first, isomorphic):
        lock_node(trees[1], f"check,check|{card}", {"check": 1.0}, "44,22")
    for arena in trees:
        lock_node(arena, f"check,check|{isomorphic},check", {"check": 1.0}, "44")
    judged = [
        cp.judge(tree, cp.solve(tree, cp.algorithms.DCFR(), iterations=7).policy) for tree in trees
    ]
    np.testing.assert_allclose(judged[0].values, judged[1].values, atol=1e-9)
    np.testing.assert_allclose(judged[0].best_values, judged[1].best_values, atol=1e-9)


def test_policies_made_before_boards_were_split_are_refused():
    arena = SpotArena(TURN, "float64")
    result = cp.solve(arena, cp.algorithms.DCFR(), iterations=2)
    lock_node(arena, f"check,check|{symmetric_cards(TURN)[1]}", {"check": 1.0})
    for use in (cp.judge, lambda arena, policy: cp.holdem.inspect_node(policy)):
        with pytest.raises(cp.ConfigError, match="made before a lock"):
            use(arena, result.policy)
    with pytest.raises(cp.ConfigError, match="made before a lock"):
        cp.algorithms.DCFR().step(arena, result.memory, 1)


def test_split_solutions_are_saved_loaded_and_unlocked(tmp_path, capsys):
    first, isomorphic = symmetric_cards(TURN)
    spot, solved = tmp_path / "spot.json", tmp_path / "s.cps"
    TURN.save(spot)
    lock = f"check,check|{isomorphic} = check"
    command = ["spot", "solve", str(spot), "--iterations", "5", "--target", "0", "--json"]
    assert main([*command, "--lock", lock, "--save", str(solved)]) == 0
    out, err = capsys.readouterr()
    assert "solved apart" in err and any("solved apart" in n for n in json.loads(out)["notes"])
    loaded = cp.holdem.load_solution(solved)
    view = cp.holdem.inspect_node(loaded.policy, f"check,check|{isomorphic}")
    assert (view.policy[0] == 1.0).all()
    assert not (
        cp.holdem.inspect_node(loaded.policy, f"check,check|{first}").policy[0] == 1.0
    ).all()
    command[2] = str(solved)
    assert main(command) == 0  # the lock stays
    kept = json.loads(capsys.readouterr().out)["values"]
    assert kept == pytest.approx(list(loaded.values), abs=0.05)
    assert main([*command, "--unlock"]) == 0
    command[2] = str(spot)
    free = json.loads(capsys.readouterr().out)["values"]
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["values"] == pytest.approx(free)
    assert main([*command, "--lock", lock, "--lock-twins"]) == 0
    assert f"holds after 'check,check|{first}' too" in capsys.readouterr().err


@pytest.mark.parametrize("given", [[(1, 0, 2, 3)], [IDENTITY_PERMUTATION, (1, 2, 3, 0)], []])
def test_symmetries_that_are_no_group_of_the_spot_are_refused(given):
    with pytest.raises(cp.ConfigError, match="must be a group"):
        SpotArena(TURN, symmetries=given)
