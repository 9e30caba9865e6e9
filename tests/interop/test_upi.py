"""UPI: a scripted client, values beside the spot solver, hostile lines."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.interop.upi import UpiEngine, serve

OOP, IP = "AA,KQs,T9s,54s", "QQ-JJ,AKs,T8s"
SETUP = [
    "set_board Td9d6hQc7s",
    f"set_range OOP {OOP}",
    f"set_range IP {IP}",
    "set_pot 0 0 200",
    "set_eff_stack 900",
    "add_line 0 100 900",
    "add_line 100 900",
    "add_line 0 900",
    "add_line 900",
    "build_tree",
]


@pytest.fixture
def engine():
    engine = UpiEngine()
    for line in SETUP:
        assert engine.run_command(line) == [f"{line.split()[0]} ok!"], line
    return engine


def solve(engine, steps=200):
    assert engine.run_command(f"go {steps} steps") == ["go ok!"]
    assert engine.run_command("wait_for_solver") == ["wait_for_solver ok!"]


def numbers(line):
    return np.array([float(word) for word in line.split()])


def test_results_equal_those_of_the_same_spot(engine):
    solve(engine)
    lines = dict(line.split(": ") for line in engine.run_command("calc_results"))
    sizes = BetSizes("100c a", "a")
    spot = Spot("Td9d6hQc7s", (OOP, IP), 200, (900, 900), ((sizes, sizes),) * 3)
    result = cp.solve(SpotArena(spot), "dcfr", iterations=200)
    values = result.policy.judge(result.policy.arena).values
    assert float(lines["EV OOP"]) == pytest.approx(values[0], abs=0.02)
    assert float(lines["EV OOP"]) + float(lines["EV IP"]) == pytest.approx(200, abs=0.01)
    assert 0.0 <= float(lines["Exploitable for"]) < 0.5


def test_rake_is_taken_from_the_pot(engine):
    for line in ("set_rake 0.05 8", "build_tree"):
        assert engine.run_command(line) == [f"{line.split()[0]} ok!"]
    solve(engine)
    lines = dict(line.split(": ") for line in engine.run_command("calc_results"))
    total = float(lines["EV OOP"]) + float(lines["EV IP"])
    assert total == pytest.approx(192, abs=0.01)  # 5 % of every pot is above the cap of 8
    assert engine.run_command("set_rake 2 8")[0].startswith("ERROR: set_rake: '2' is not a number")


def test_nodes_children_and_vectors(engine):
    solve(engine)
    assert engine.run_command("show_node r:0") == [
        *("r:0", "OOP_DEC", "Td 9d 6h Qc 7s", "0 0 200", "3 children", "flags:")
    ]
    assert engine.run_command("show_node r:0:c:b100")[1:4] == [
        *("OOP_DEC", "Td 9d 6h Qc 7s", "0 100 200")
    ]
    children = engine.run_command("show_children r:0")
    assert [line for line in children if line.startswith("r:")] == ["r:0:c", "r:0:b100", "r:0:b900"]
    assert engine.run_command("show_node r:0:c:c")[1] == "END_NODE"
    order = engine.run_command("show_hand_order")[0].split()
    assert len(order) == 1326 and order[:3] == ["2d2c", "2h2c", "2h2d"] and order[-1] == "AsAh"
    strategy = np.array([numbers(line) for line in engine.run_command("show_strategy r:0")])
    weights = numbers(engine.run_command("show_range OOP")[0])
    held = weights > 0.0
    assert strategy.shape == (3, 1326)
    board = {"Td", "9d", "6h", "Qc", "7s"}
    live = np.array([not {hand[:2], hand[2:]} & board for hand in order])
    np.testing.assert_allclose(strategy[:, held & live].sum(axis=0), 1.0, atol=1e-4)
    after = numbers(engine.run_command("show_range OOP r:0:b100")[0])
    np.testing.assert_allclose(after, weights * live * strategy[1], atol=1e-4)


def test_ev_of_both_players_adds_up_to_the_pot(engine):
    solve(engine)
    total = 0.0
    for player in ("OOP", "IP"):
        ev, matchups = map(numbers, engine.run_command(f"calc_ev {player} r:0"))
        weights = numbers(engine.run_command(f"show_range {player}")[0])
        share = weights * matchups
        total += float(np.nansum(np.where(share > 0, ev, 0.0) * share) / share.sum())
    assert total == pytest.approx(200, abs=0.01)


def test_turn_nodes_name_cards():
    engine = UpiEngine()
    for line in [SETUP[0].replace("7s", ""), *SETUP[1:5], "add_line 0 0 100", "build_tree"]:
        assert "ok!" in engine.run_command(line)[0]
    assert engine.run_command("show_node r:0:c:c")[1] == "SPLIT_NODE"
    assert len(engine.run_command("show_children r:0:c:c")) == 48 * 8 - 1
    assert engine.run_command("show_node r:0:c:c:2c:b100")[1:4] == [
        *("IP_DEC", "Td 9d 6h Qc 2c", "100 0 200")
    ]
    assert engine.run_command("show_node r:0:c:c:Td")[0].startswith("ERROR: ")
    solve(engine, 20)
    ev = numbers(engine.run_command("calc_ev IP r:0:c:c:2c")[0])
    assert len(ev) == 1326


def test_a_range_of_1326_numbers_is_read_and_shown(engine):
    words = ["0"] * 1326
    words[1325], words[0] = "1", "0.25"
    engine.run_command("set_range IP " + " ".join(words))
    shown = numbers(engine.run_command("show_range IP")[0])
    assert shown[1325] == 1.0 and shown[0] == 0.25 and shown.sum() == 1.25


def test_accuracy_and_stop_end_the_solver(engine):
    messages = []
    engine.emit = messages.append
    engine.run_command("set_accuracy 0.01 fraction")
    engine.run_command("go")
    engine.run_command("wait_for_solver")
    assert messages[-1] == ["SOLVER: stopped (required accuracy reached)"]
    engine.run_command("set_accuracy 0")
    engine.run_command("go 1000 seconds")
    assert engine.run_command("go 1 seconds")[0].startswith("ERROR: go: the solver is already")
    engine.run_command("stop")
    engine.run_command("wait_for_solver")
    assert messages[-1] == ["SOLVER: stopped (requested)"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("fly", "unknown command 'fly'"),
        ("__init__", "unknown command"),
        ("set_board TdTd6h", "Td"),
        ("set_board Td", "1 cards, must be 3, 4 or 5"),
        ("set_range OOP", "give OOP or IP, then a range"),
        ("set_range BTN AA", "'BTN' is not a player"),
        ("set_range OOP zz", "zz"),
        ("set_pot 1 2 3", "must have put in the same"),
        ("set_pot -1 0 3", "not a whole number"),
        ("set_eff_stack 1e9", "not a whole number"),
        ("add_line", "give the chips after each action"),
        ("add_line 99999999999", "not a whole number"),
        ("go 5 moons", "a number and seconds or steps"),
        ("go nan", "not a number"),
        ("show_node x", "is not a node"),
        ("show_node r:0:b7", "there is no 'b7'"),
        ("show_node r:0:c:c:2c", "there is no '2c'"),
        ("show_strategy r:0:c:c", "no player acts"),
        ("calc_ev OOP", "1 arguments, must be 2"),
        ('show_node "r:0', "cannot read the arguments"),
        ("show_node r:0\x00", "cannot be printed"),
        ("x" * 100_000, "characters, more than"),
    ],
)
def test_wrong_lines_are_answered_by_one_sentence(engine, line, problem):
    answer = engine.run_command(line)
    assert len(answer) == 1 and answer[0].startswith("ERROR: ") and problem in answer[0]
    assert engine.run_command("is_ready") == ["is_ready ok!"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [("add_line 50 60", "less than the minimum"), ("add_line 901", "more than the stack")],
)
def test_impossible_bets_are_refused_when_the_tree_is_built(engine, line, problem):
    engine.run_command(line)
    assert problem in engine.run_command("build_tree")[0]


def test_random_lines_never_break_the_engine():
    rng, engine = random.Random(0), UpiEngine()
    words = [w for line in SETUP for w in line.split()] + [
        "go",
        "r:0:c",
        "calc_ev",
        "-1",
        "\t",
        '"',
    ]
    for _ in range(400):
        line = " ".join(rng.choice(words) for _ in range(rng.randrange(1, 5)))
        if line.startswith("go"):
            continue
        answer = engine.run_command(line)
        assert all(isinstance(part, str) and "\n" not in part for part in answer)


def test_a_client_on_streams_gets_end_strings():
    script = ["# comment", "", "set_end_string END", *SETUP, "go 20 steps", "wait_for_solver"]
    script += ["calc_results", "nonsense", "exit", "is_ready"]
    writer = io.StringIO()
    serve(io.StringIO("\n".join(script) + "\n"), writer)
    answers = writer.getvalue().split("END\n")
    assert answers[0] == "set_end_string ok!\n" and answers[1] == "set_board ok!\n"
    assert "SOLVER: stopped (required number of steps)\n" in answers
    assert answers[-2] == "ERROR: unknown command 'nonsense'\n" and answers[-1] == ""
