"""UPI: a scripted client, values beside the spot solver, hostile lines."""

from __future__ import annotations

import io
import random
import threading

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
        total += mean_ev(engine, player, "r:0")
    assert total == pytest.approx(200, abs=0.01)


def mean_ev(engine, player, node):
    """Return a player's mean EV at a node, as clients compute it from matchups."""
    ev, matchups = map(numbers, engine.run_command(f"calc_ev {player} {node}"))
    return float(np.where(matchups > 0, ev, 0.0) @ matchups / matchups.sum())


def make_turn_engine():
    engine = UpiEngine()
    script = [
        "set_board Td9d6hQc",
        "set_range OOP AA:0.5,KQs,T9s,54s",
        "set_range IP QQ-JJ,AKs:0.25,T8s",
        *SETUP[3:7],
        "add_line 0 100 100 100 300",
        "build_tree",
    ]
    for line in script:
        assert engine.run_command(line) == [f"{line.split()[0]} ok!"], line
    solve(engine, 100)
    return engine


def test_evs_count_from_the_start_of_the_tree():
    """A fold loses the chips put in, and the EV of an action is the EV at its child."""
    engine = make_turn_engine()
    ev, matchups = map(numbers, engine.run_command("calc_ev IP r:0:c:b100:b900:f"))
    assert ev[matchups > 0] == pytest.approx(-100.0)
    ev = mean_ev(engine, "OOP", "r:0:c:b100:b900:f")
    assert ev == pytest.approx(300.0)  # the pot of 200 and the bet of 100
    ev, matchups = map(numbers, engine.run_command("calc_ev OOP r:0"))
    strategy = np.array([numbers(line) for line in engine.run_command("show_strategy r:0")])
    children = [line for line in engine.run_command("show_children r:0") if line[:2] == "r:"]
    child_evs = [numbers(engine.run_command(f"calc_ev OOP {child}")[0]) for child in children]
    mean = np.nansum(strategy * np.nan_to_num(child_evs), axis=0)
    assert mean[matchups > 0] == pytest.approx(ev[matchups > 0], abs=0.01)


def test_ranges_keep_their_weights_and_matchups_add_up():
    engine = make_turn_engine()
    order = engine.run_command("show_hand_order")[0].split()
    for node in ("r:0", "r:0:c:c:2c", "r:0:c:c:2d"):
        weights = numbers(engine.run_command(f"show_range OOP {node}")[0])
        assert 0.0 <= weights[order.index("AsAh")] <= 0.5
    assert numbers(engine.run_command("show_range OOP r:0")[0])[order.index("AsAh")] == 0.5
    at_root = numbers(engine.run_command("calc_ev OOP r:0")[1]).sum()
    children = [line for line in engine.run_command("show_children r:0") if line[:2] == "r:"]
    below = [numbers(engine.run_command(f"calc_ev OOP {child}")[1]).sum() for child in children]
    assert sum(below) == pytest.approx(at_root, rel=1e-4)
    runouts = [line for line in engine.run_command("show_children r:0:c:c") if line[:2] == "r:"]
    freq = float(engine.run_command("calc_global_freq r:0:c:c")[0])
    assert freq == pytest.approx(float(engine.run_command("calc_line_freq r:0:c:c")[0]))
    after = sum(float(engine.run_command(f"calc_global_freq {node}")[0]) for node in runouts)
    assert len(runouts) == 48 and after == pytest.approx(freq, rel=1e-4)
    # a card that both ranges miss: 1 / 44 of the pairs of hands get it
    assert float(engine.run_command("calc_line_freq r:0:c:c:2c")[0]) == pytest.approx(
        44 * float(engine.run_command("calc_global_freq r:0:c:c:2c")[0])
    )


def test_equities_of_a_node_are_those_of_the_ranges():
    engine = make_turn_engine()
    equities = [engine.run_command(f"calc_eq_node {player} r:0") for player in ("OOP", "IP")]
    assert float(equities[0][2]) + float(equities[1][2]) == pytest.approx(1.0, abs=1e-4)
    ranges = "AA:0.5,KQs,T9s,54s", "QQ-JJ,AKs:0.25,T8s"
    expected = cp.holdem.compute_equity(*ranges, "Td9d6hQc")
    assert float(equities[0][2]) == pytest.approx(expected.value, abs=1e-4)
    shown = numbers(equities[0][0])
    np.testing.assert_allclose(
        np.where(np.isfinite(shown), shown, 0.0),
        np.where(np.isfinite(shown), np.nan_to_num(expected.by_hand[0]), 0.0),
        atol=1e-4,
    )
    assert len(numbers(equities[0][0])) == len(numbers(equities[0][1])) == 1326


def test_set_strategies_are_judged_and_locks_are_kept():
    engine = make_turn_engine()
    before = engine.run_command("calc_results")
    rows = np.zeros((2, 1326))
    rows[1] = 1.0  # always bet
    text = " ".join(f"{x:g}" for x in rows.ravel())
    assert engine.run_command(f"set_strategy r:0 {text}") == ["set_strategy ok!"]
    shown = np.array([numbers(line) for line in engine.run_command("show_strategy r:0")])
    assert shown[1].max() == 1.0 and not shown[0].any()
    exploitable = [
        float(lines[-1].split(": ")[1]) for lines in (before, engine.run_command("calc_results"))
    ]
    assert exploitable[1] > exploitable[0] + 3.0
    assert engine.run_command("lock_node r:0") == ["lock_node ok!"]
    solve(engine, 50)
    shown = np.array([numbers(line) for line in engine.run_command("show_strategy r:0")])
    assert shown[1].max() == 1.0 and not shown[0].any()
    assert engine.run_command("unlock_node r:0") == ["unlock_node ok!"]
    solve(engine, 200)
    shown = np.array([numbers(line) for line in engine.run_command("show_strategy r:0")])
    assert shown[0].max() > 0.5
    assert engine.run_command("set_strategy r:0 1 2")[0].startswith(
        "ERROR: set_strategy: 2 numbers"
    )
    assert engine.run_command("lock_node r:0:c:c")[0].startswith("ERROR: lock_node: no player acts")


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


def test_trees_are_written_and_read(tmp_path, engine):
    solve(engine, 50)
    path = tmp_path / "tree with blanks.cfr"
    engine.run_command("add_info_line #Rake#none")
    engine.run_command("lock_node r:0:c")
    assert engine.run_command(f'dump_tree "{path}" no_rivers') == ["dump_tree ok!"]
    other = UpiEngine()
    assert other.run_command(f'load_tree "{path}" fast') == ["load_tree ok!"]
    for line in ("show_strategy r:0:c", "calc_ev IP r:0", "show_tree_info", "show_range OOP"):
        assert other.run_command(line) == engine.run_command(line), line
    solve(engine, 30)
    solve(other, 30)
    assert engine.arena.locks.keys() == other.arena.locks.keys() and other.arena.locks
    assert other.run_command("show_strategy r:0") == engine.run_command("show_strategy r:0")
    path.write_bytes(path.read_bytes()[:-50])
    for line in (f'load_tree "{path}"', "load_tree missing.cfr", "dump_tree /no/such/x.cfr"):
        assert other.run_command(line)[0].startswith("ERROR: ")
    assert "must be" not in other.run_command("show_strategy r:0")[0]  # the tree is still there


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("load_tree a b", "give a file"),
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
        ("x" * 300_000, "characters, more than"),
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


def test_the_answer_to_go_comes_before_messages_of_the_solver(engine):
    written, stopped = [], threading.Event()

    def emit(lines):
        written.append(lines)
        stopped.set()

    engine.emit = emit
    engine.run_command("set_accuracy 1000 chips")  # reached at once
    for _ in range(20):
        stopped.clear()
        engine.run_command("go", written.append)
        assert stopped.wait(60)  # the next `go` follows at once
    engine.run_command("wait_for_solver")
    assert written == [["go ok!"], ["SOLVER: stopped (required accuracy reached)"]] * 20


def test_a_client_on_streams_gets_end_strings():
    script = ["# comment", "", "set_end_string END", *SETUP, "go 20 steps", "wait_for_solver"]
    script += ["calc_results", "nonsense", "exit", "is_ready"]
    writer = io.StringIO()
    serve(io.StringIO("\n".join(script) + "\n"), writer)
    banner, _, text = writer.getvalue().partition("ready\n")
    assert banner.count("\n") == 3 and banner.startswith("Counterplay ")
    answers = text.split("END\n")
    assert answers[0] == "set_end_string ok!\n" and answers[1] == "set_board ok!\n"
    # a message of one line has no end string: the answer to the next command follows
    stopped = "SOLVER: stopped (required number of steps)\n"
    assert any(stopped in answer for answer in answers) and stopped not in answers
    assert answers[-2] == "ERROR: unknown command 'nonsense'\n" and answers[-1] == ""
