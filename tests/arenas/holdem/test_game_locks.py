"""Node locks of hold'em games from the first card."""

from __future__ import annotations

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena, load_holdem_policy
from counterplay.arenas.holdem.game_inspection import inspect_game_node
from counterplay.arenas.holdem.game_locks import apply_game_locks, lock_game_node
from counterplay.core.cards import cards_name
from counterplay.errors import ConfigError

GAME = (
    "custom_holdem(num_ranks=3,num_suits=2,board_cards=(0,1),blinds=(1,2),stacks=(6,6),"
    "sizes='a',max_bets=(1,1))"
)


def make_arena(isomorphism=True):
    return HoldemGameArena(cp.load_game(GAME), "float64", isomorphism)


def lock_everything(arena, player):
    """Lock all decisions of a player to fixed frequencies."""
    for number, node in enumerate(arena.betting.nodes):
        if node.kind == player:
            street = node.state.street
            weights = np.arange(1.0, len(node.actions) + 1)[:, None]
            lock = np.broadcast_to(weights, (len(node.actions), arena.num_hands(street)))
            for board in range(arena.streets[street].num_boards):
                arena.lock(number, board, lock)


def test_a_player_that_is_locked_everywhere_has_no_better_response():
    arena = make_arena()
    lock_everything(arena, 1)
    policy = cp.solve(arena, "dcfr", iterations=200).policy
    judgement = cp.judge(arena, policy)
    assert judgement.best_values[1] == pytest.approx(judgement.values[1], abs=1e-12)
    assert judgement.best_values[0] == pytest.approx(judgement.values[0], abs=1e-3)
    assert judgement.values[0] > cp.judge(make_arena(), _solve_free()).values[0] + 0.01


def _solve_free():
    return cp.solve(make_arena(), "dcfr", iterations=200).policy


def test_locked_values_are_those_of_the_unrolled_game():
    arena = make_arena(isomorphism=False)
    lock_game_node(arena, "", {"raise to 6": 1.0}, "44,22")
    lock_game_node(arena, "", {"c": 3.0, "f": 1.0}, "43s")
    policy = cp.solve(arena, "cfr_plus", iterations=20).policy
    game = cp.load_game(GAME)
    tree = cp.build_tree(game)
    table = {}
    for number, node in enumerate(arena.betting.nodes):
        for board in range(arena.streets[node.state.street].num_boards if node.kind < FOLD else 0):
            hands = arena.hand_cards(node.state.street, board)
            probabilities = policy.probabilities_at(number, board)
            for h, cards in enumerate(hands.tolist()):
                name = cards_name(sorted(cards, reverse=True))
                table[f"{name}:{arena.public_history(number, board)}"] = probabilities[:, h]
    flat = np.concatenate([table[key] for key in tree.infoset_keys])
    assert cp.judge(arena, policy).values == pytest.approx(
        cp.judge(tree, cp.Policy(tree, flat)).values, abs=1e-9
    )
    view = inspect_game_node(policy, "")
    rows = {row["hand"]: row for row in view.hand_rows()}
    assert rows["4d4c"]["raise to 6"] == 1.0
    assert rows["4c3c"]["call"] == 0.75


def test_locks_are_saved_with_the_policy(tmp_path):
    arena = make_arena()
    (report,) = apply_game_locks(arena, ["cr6 @ 44 = call 0.25, fold 0.75"])
    assert report.num_hands == 1
    policy = cp.solve(arena, "dcfr", iterations=10).policy
    policy.save(tmp_path / "locked.policy")
    loaded = load_holdem_policy(tmp_path / "locked.policy")
    assert loaded.arena.locks.keys() == arena.locks.keys()
    assert cp.judge(loaded.arena, loaded).best_values == pytest.approx(
        cp.judge(arena, policy).best_values, abs=1e-3
    )
    arena.clear_locks()
    assert cp.judge(arena, policy).best_values.sum() > 0.0


def test_suits_that_are_alike_are_locked_alike():
    arena = make_arena()
    with pytest.raises(ConfigError, match="take isomorphism=False"):
        lock_game_node(arena, "", {"call": 1.0}, "4c3c")
    apart = make_arena(isomorphism=False)
    assert lock_game_node(apart, "", {"call": 1.0}, "4c3c").num_hands == 1
    lock_game_node(arena, "cc|4d:", {"call": 1.0})
    assert len(arena.locks) == 1


@pytest.mark.parametrize(
    ("history", "frequencies", "hands", "problem"),
    [
        ("", {"jump": 1.0}, "random", "there is no 'jump'"),
        ("", {"call": -1.0}, "random", "must not be below 0"),
        ("", {"call": 1.0}, "AA", "has none of 'AA'"),
        ("f", {"call": 1.0}, "random", "no player acts after 'f'"),
        ("cr9", {"call": 1.0}, "random", "'r9' is not possible there"),
    ],
)
def test_impossible_locks_are_refused(history, frequencies, hands, problem):
    with pytest.raises(ConfigError, match=problem):
        lock_game_node(make_arena(), history, frequencies, hands)
