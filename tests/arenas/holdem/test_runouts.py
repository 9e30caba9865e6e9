"""Runouts and over-folds: agreement with node views, known effects of locks, wrong input."""

from __future__ import annotations

from functools import cache

import pytest

from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.overfold import lock_overfold
from counterplay.arenas.holdem.runouts import list_runouts, range_mean
from counterplay.arenas.holdem.solution import Solution
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.cli.main import main
from counterplay.core.solve import solve
from counterplay.errors import ConfigError

SIZES = {"bet": "50%", "raise": "a"}
TURN = {
    "board": "Td9d6h2c",
    "ranges": ["QQ+,AKs,T9s,87s,ATs", "JJ-66,AQs,KQs,JTs"],
    "pot": 60,
    "stacks": 150,
    "sizes": {"turn": SIZES, "river": SIZES},
}


@cache
def solution():
    arena = SpotArena(Spot.from_dict(TURN), "float64")
    return solve(arena, "dcfr(gamma=3,restart_base=4)", iterations=200, target=0.2).policy


def test_runouts_average_to_the_ev_before_the_card():
    """EV and equity after each card, weighted by how often it comes, are those of the line."""
    policy = solution()
    runouts = list_runouts(policy, "check,check")
    assert len(runouts) == 48 and len({runout.card for runout in runouts}) == 48
    for runout in runouts[::7]:  # one by one, also cards that share their board with another
        view = inspect_node(policy, f"check,check|{runout.card}")
        assert runout.values[0] == pytest.approx(range_mean(view, view.value))
        assert runout.equities[0] == pytest.approx(range_mean(view, view.equity))
        assert runout.oop_bet_frequency == pytest.approx(1.0 - view.frequencies[0])
        assert sum(runout.values) == pytest.approx(view.pot)
    before = inspect_node(policy, "check")  # IP's check leads here
    masses, values = [], []
    for runout in runouts:
        view = inspect_node(policy, f"check,check|{runout.card}")
        masses.append(float(view.weight @ view.opponent_mass))
        values.append(runout.values[1])
    mean = sum(m * v for m, v in zip(masses, values, strict=True)) / sum(masses)
    taken = before.weight * before.opponent_mass * before.policy[0]
    assert mean == pytest.approx(float(taken @ before.action_value[0]) / taken.sum(), abs=1e-3)


def test_runouts_need_a_card_and_betting():
    for history, message in (
        ("", "no card is dealt"),
        ("check", "no card is dealt"),
        ("check,bet 30,all-in 150,call", "all-in"),
    ):
        with pytest.raises(ConfigError, match=message):
            list_runouts(solution(), history)


def test_an_over_folding_player_is_exploited():
    policy = solution()
    base = policy.judge(policy.arena).values
    before = inspect_node(policy, "bet 30")
    fold = before.actions.index("fold")
    gains = []
    for amount in (0.05, 0.2):
        arena = lock_overfold(policy, 1, amount)
        locked = policy.probabilities_at(_node(arena, "bet 30"), 0) * 0.0
        locked += arena.locks[_node(arena, "bet 30"), 0]
        share = before.weight * before.opponent_mass
        live = [list(arena.hands[1].index).index(i) for i in _indices(before)]
        frequency = locked[fold, live] @ share / share.sum()
        assert frequency == pytest.approx(min(before.frequencies[fold] + amount, 1.0), abs=1e-4)
        result = solve(arena, "dcfr(gamma=3,restart_base=4)", iterations=200, target=0.2)
        gains.append(result.policy.judge(arena).values[0] - base[0])
    assert 0.0 < gains[0] < gains[1]
    for player, amount in ((2, 0.1), (1, 0.0), (1, 1.5)):
        with pytest.raises(ConfigError):
            lock_overfold(policy, player, amount)


def _node(arena, history):
    from counterplay.arenas.holdem.inspection import find_node

    return find_node(arena, history).node


def _indices(view):
    from counterplay.core.cards import hand_index, parse_cards

    return [hand_index(*parse_cards(hand)) for hand in view.hands]


def test_commands(tmp_path, capsys):
    policy, file = solution(), tmp_path / "turn.cps"
    judgement = policy.judge(policy.arena)
    values = (float(judgement.values[0]), float(judgement.values[1]))
    Solution(policy, judgement.exploitability, values, 200).save(file)
    assert main(["spot", "runouts", str(file), "check,check", "--sort", "oop-bets"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[0] == "card" and len(lines) == 49
    bets = [float(line.split()[-2].rstrip("%")) for line in lines[1:]]
    assert bets == sorted(bets, reverse=True)
    assert main(["spot", "runouts", str(file), "check,check", "--sort", "x"]) == 2
    assert main(["spot", "runouts", str(file), "check"]) == 2
    assert main(["spot", "overfold", str(file), "--by", "10", "-t", "2%"]) == 0
    assert "EV of OOP" in capsys.readouterr().out
    command = ["spot", "show", str(file), "--category", "flush draw", "--sort", "equity"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "AdKd" in shown and "AsKs" not in shown
    assert main(["spot", "show", str(file), "--holds", "Ac", "--category", "overpair"]) == 0
    assert "AcA" in capsys.readouterr().out.replace("AsAc", "AcAs").replace("AhAc", "AcAh")
    assert main(["spot", "show", str(file), "--category", "gutshoot"]) == 2
