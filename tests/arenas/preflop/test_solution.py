"""Solutions: files, values of hands, ranges, spots from a line; and the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.preflop.game import PreflopGame
from counterplay.arenas.preflop.solution import load_preflop_solution, solve_preflop
from counterplay.cli.main import main
from counterplay.errors import ConfigError, FileError

SMALL_DECK = {"ranks": 4, "suits": 3, "board": 2}
SMALL_RAISES = {
    "stacks": [20, 20],
    "betting": {"push_fold": False, "raises": [["3x"], ["a"]], "limp": True},
    "deck": SMALL_DECK,
}


@pytest.fixture(scope="module")
def small_solution():
    return solve_preflop(PreflopGame.from_dict(SMALL_RAISES), iterations=200)


@pytest.fixture(scope="module")
def full_solution():
    game = PreflopGame.from_dict(SMALL_RAISES | {"deck": {}})
    return solve_preflop(game, iterations=20)


def test_gains_are_those_of_the_judgement(small_solution):
    judgement = cp.judge(small_solution.policy)
    gains = judgement.best_values - judgement.values
    assert small_solution.gains == pytest.approx(gains, abs=1e-15)
    assert small_solution.largest_gain == gains.max() < 0.01
    assert small_solution.values.sum() == pytest.approx(0.0, abs=1e-12)


def test_target_ends_the_run():
    seen = []
    game = PreflopGame.from_dict({"stacks": [8, 8], "deck": SMALL_DECK})
    solution = solve_preflop(game, target=0.01, report=lambda *row: seen.append(row))
    assert solution.iterations < 1000 and solution.largest_gain <= 0.01
    assert seen[-1] == (solution.iterations, solution.largest_gain)


def test_file_round_trip_and_damage(small_solution, tmp_path):
    path = tmp_path / "nash.cpf"
    small_solution.save(path)
    loaded = load_preflop_solution(path)
    assert (loaded.policy.probabilities == small_solution.policy.probabilities).all()
    assert loaded.gains.tolist() == small_solution.gains.tolist()
    assert loaded.game == small_solution.game
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="damaged"):
        load_preflop_solution(path)


def test_values_of_hands_average_to_the_value_of_the_seat(small_solution):
    view = small_solution.node_view()
    share = view.weight * view.opponent_mass
    assert view.value @ share / share.sum() == pytest.approx(small_solution.values[0], abs=1e-12)
    fold = view.actions.index("fold")
    assert view.action_value[fold] == pytest.approx([-0.5] * len(view.hands))
    assert view.policy.sum(axis=0) == pytest.approx(np.ones(len(view.hands)))
    best = view.action_value.max(axis=0)
    gain = (best - view.value) @ share / share.sum()
    assert -1e-12 < gain <= small_solution.gains[0] + 1e-12


def test_reach_of_later_nodes_follows_the_policy(small_solution):
    arena = small_solution.arena
    third = next(node for node in arena.tree.nodes if len(node.history) == 2)
    view = small_solution.node_view(",".join(third.history))
    before, action = third.parent
    first = small_solution.node_view(",".join(arena.tree.nodes[before].history))
    assert view.weight == pytest.approx(first.policy[action])
    assert small_solution.class_weights((-1, -1)).tolist() == [1.0] * arena.deck.num_classes


def test_lines_name_actions_with_or_without_seats(small_solution):
    node = small_solution.find("SB raise 3")
    assert node == small_solution.find("raise 3") and node.history == ("SB raise 3",)
    with pytest.raises(ConfigError, match="SB has no 'rise 3'; did you mean 'raise 3'"):
        small_solution.find("rise 3")
    with pytest.raises(ConfigError, match="nothing follows before 'call'"):
        small_solution.find("fold,call")
    with pytest.raises(ConfigError, match="ends the betting"):
        small_solution.node_view("fold")


@pytest.mark.slow
def test_spot_has_both_ranges_pot_and_stacks(full_solution):
    spot = full_solution.spot("SB raise 3, BB call", "QsJh2h")
    assert (spot.pot, spot.stacks) == (600, (1700, 1700))
    edges = full_solution.find("raise 3,call").last
    for text, seat in zip(spot.ranges, (1, 0), strict=True):  # the big blind is out of position
        weights = full_solution.class_weights(edges[seat])
        by_hand = weights[full_solution.arena.deck.hand_class]
        assert Range.parse(text).weights == pytest.approx(by_hand, abs=5.1e-5)
    for line, message in {
        "raise 3": "does not end the betting: BB acts",
        "raise 3,fold": "1 seats are left in",
        "raise 3,all-in,call": "players are all-in",
    }.items():
        with pytest.raises(ConfigError, match=message):
            full_solution.spot(line, "QsJh2h")


def test_spots_need_the_full_deck(small_solution):
    with pytest.raises(ConfigError, match="spots have 52 cards"):
        small_solution.spot("call,check", "QsJhAh")


def run_command(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_commands_solve_and_show(tmp_path, capsys):
    game, file = tmp_path / "nash.json", tmp_path / "nash.cpf"
    game.write_text(json.dumps({"stacks": [8, 8], "deck": SMALL_DECK}))
    code, out, err = run_command(capsys, "preflop", "solve", game, "--save", file)
    assert code == 0 and "largest gain" in out and "SB all-in: " in out and f"wrote {file}" in err
    code, out, _ = run_command(capsys, "preflop", "solve", game, "--json")
    facts = json.loads(out)
    assert code == 0 and [seat["seat"] for seat in facts["seats"]] == ["SB", "BB"]
    assert facts["largest_gain_percent"] <= 0.01 and facts["note"] == ""
    code, out, _ = run_command(capsys, "preflop", "show", file, "SB all-in", "--ev")
    assert code == 0 and out.startswith("BB acts, pot 9") and "call, percent of each class" in out
    code, _, err = run_command(capsys, "preflop", "show", file, "SB jam")
    assert code == 2 and "SB has no 'SB jam'" in err
    code, _, err = run_command(capsys, "spot", "from-preflop", file, "all-in,call", "QsJh2h")
    assert code == 2 and "players are all-in" in err
    code, _, err = run_command(capsys, "preflop", "solve", game, "--target", "x")
    assert code == 2 and "target is 'x'" in err


def test_games_and_algorithms_are_refused_before_tables_are_built(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COUNTERPLAY_CACHE", str(tmp_path / "cache"))
    large = tmp_path / "large.json"
    raises = [["2x", "2.5x", "3x", "4x"], ["3x", "4x", "5x"], ["2x", "3x"], ["2x", "3x"], ["a"]]
    betting = {"push_fold": False, "raises": raises}
    large.write_text(json.dumps({"stacks": [100] * 9, "betting": betting}))
    code, _, err = run_command(capsys, "preflop", "solve", large)
    assert code == 2 and "more than 20,000 nodes" in err
    small = tmp_path / "small.json"
    small.write_text(json.dumps({"stacks": [8, 8], "deck": SMALL_DECK}))
    code, _, err = run_command(capsys, "preflop", "solve", small, "--algorithm", "nothing")
    assert code == 2 and "unknown algorithm 'nothing'" in err
    assert not (tmp_path / "cache").exists()
    for algorithm in ("sequence_form_lp", "external_sampling"):
        code, _, err = run_command(capsys, "preflop", "solve", small, "--algorithm", algorithm)
        assert code == 2 and f"{algorithm} runs on" in err


def test_push_fold_has_no_flops_to_solve(tmp_path, capsys):
    game = tmp_path / "game.json"
    game.write_text(json.dumps({"stacks": [8, 8], "leaves": "solved_flops"}))
    code, _, err = run_command(capsys, "preflop", "solve", game)
    assert code == 2 and "push_fold never sees a flop" in err


def test_commands_equity_and_icm(capsys):
    code, out, _ = run_command(
        capsys, "preflop", "equity", "AhAd", "KhKd", "QhQd", "--board", "2c7s9c"
    )
    assert code == 0 and out.splitlines()[0] == "82.9457%  AhAd"
    code, out, _ = run_command(
        capsys, "preflop", "equity", "AA", "KK", "--samples", 1000, "--short-deck", "--json"
    )
    facts = json.loads(out)
    assert not facts["exact"] and 0.0 < facts["margins"][0] < 0.05
    code, out, _ = run_command(capsys, "preflop", "icm", 5000, 3000, 2000, "--payouts", "50,30,20")
    assert code == 0 and out.split()[-6:] == ["5000", "38.3929", "3000", "32.75", "2000", "28.8571"]
    code, _, err = run_command(capsys, "preflop", "icm", 1, 2, "--payouts", "3,2,1")
    assert code == 2 and "3 payouts do not fit 2 players" in err
    code, _, err = run_command(capsys, "preflop", "equity", "AhAd", "AhAd", "--board", "2c7s9c")
    assert code == 2 and "block each other" in err


@pytest.mark.slow
def test_value_of_the_game_without_a_board():
    """Two cards each and one pot-sized raise, blinds 1 and 2: the button wins 0.0448 chips.

    Slumbot's author published bounds of 0.044786 and 0.044834 for this game (`ms0`).
    """
    betting = {"push_fold": False, "raises": [["100%"]], "limp": True}
    data = {"stacks": [200, 200], "small_blind": 1, "big_blind": 2, "betting": betting}
    game = PreflopGame.from_dict(data | {"deck": {"board": 0}})
    solution = solve_preflop(game, iterations=5000, target=1e-5)
    assert 0.044786 <= solution.values[0] <= 0.044834


@pytest.mark.slow
def test_nine_seats_with_icm_reach_a_thousandth_of_a_percent():
    game = PreflopGame.from_dict({"stacks": [10] * 9, "payouts": [50, 30, 20]})
    solution = solve_preflop(game, iterations=200, target=0.001)
    assert solution.largest_gain <= 0.001
    # what the independence of the opponents' hands leaves open
    assert solution.values.sum() == pytest.approx(100.0, abs=0.2)
    names = game.seat_names
    opens = [
        float(solution.class_weights((number, 1)) @ solution.arena.deck.class_sizes) / 1326
        for number, node in enumerate(solution.arena.tree.nodes)
        if all(word.endswith(" fold") for word in node.history)
    ]
    assert len(opens) == len(names) - 1 and opens == sorted(opens)  # later seats push more


@pytest.mark.slow
def test_scaling_the_prizes_of_three_seats_scales_values_only():
    game = PreflopGame.from_dict({"stacks": [10, 10, 10], "payouts": [50, 30, 20]})
    solution = solve_preflop(game, iterations=100)
    assert solution.largest_gain <= 1e-3
    other = solve_preflop(game.model_copy(update={"payouts": (5.0, 3.0, 2.0)}), iterations=100)
    assert other.values * 10.0 == pytest.approx(solution.values, abs=1e-6)
    assert solution.values.sum() == pytest.approx(100.0, abs=0.1)
