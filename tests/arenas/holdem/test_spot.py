"""Spots, their betting and files, looking at solutions, and the commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp
from counterplay.arenas.holdem import betting
from counterplay.arenas.holdem.betting import (
    BettingNode,
    StreetState,
    bet_amounts,
    build_betting_tree,
)
from counterplay.arenas.holdem.inspection import compare_nodes, find_node
from counterplay.arenas.holdem.solution import SOLUTION_FORMAT
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.cli.main import main
from counterplay.core.archive import write_archive
from counterplay.play.spot_practice import SpotPractice
from counterplay.studio.worker.studio_worker import StudioWorker
from tests.arenas.holdem.spots import all_but, both

RIVER = Spot("2s3h4d6c7c", ("AsAh,QsQh", "KsKh,5s5h"), 20, (10, 10), (both(), both(), both("a")))


def test_published_trees():
    sizes = (both("50% 100% a", "100% a"),) * 3
    betting = build_betting_tree(Spot("JsKs5cQs7d", ("random",) * 2, 3750, (18125,) * 2, sizes))
    assert len(betting.nodes) == 57  # Libratus endgame 4
    assert sum(node.kind < 2 for node in betting.nodes) == 20
    arena = cp.holdem.SpotArena(Spot.load("configs/spots/river.json"))
    assert sum(node.kind < 2 for node in arena.betting.nodes) == 12
    assert [own.size for own in arena.hands] == [160, 240]
    flop = cp.holdem.SpotArena(Spot.load("configs/spots/flop_3bet_pot.json"))
    assert flop.size.num_bytes < 1.3e9


@pytest.mark.parametrize(
    ("words", "options", "amounts"),
    [
        ("50%", {}, [50]),
        ("33% 100% a", {}, [33, 100, 300]),
        ("75c", {}, [75]),
        ("e", {}, [82]),  # 100 * ((1 + 6)**(1/2) - 1) / 2
        ("50%", {"add_all_in": 3.0}, [50, 300]),
        ("100%", {"force_all_in": 0.7}, [300]),
        ("70% 75% 150%", {"merge": 0.1}, [75, 150]),
        ("70%", {"commit_all_in": 0.2}, [300]),
        ("500%", {}, [300]),
        ("1%", {"min_bet": 10}, [10]),
    ],
)
def test_bet_sizes_give_known_amounts(words, options, amounts):
    spot = Spot("2c3d4h5s", ("AA", "KK"), 100, (300, 400), (both(words),) * 3, **options)
    assert bet_amounts(spot, StreetState(1, 0), 300) == amounts


def test_raise_sizes_give_known_amounts():
    spot = Spot("2c3d4h5s", ("AA", "KK"), 100, (900, 900), (both("50%", "50% 3x 20c a"),) * 3)
    # a bet of 50 makes 200 after a call: 50 + 100; 150; 50 + 20 is below the least raise, 100
    assert bet_amounts(spot, StreetState(1, 0, (50, 0), 1, 1), 900) == [100, 150, 900]


def test_spots_are_saved_and_loaded(tmp_path):
    spot = Spot.load("configs/spots/turn.json")
    spot.save(tmp_path / "spot.json")
    assert Spot.load(tmp_path / "spot.json") == spot
    assert spot.sizes[2][0] == BetSizes("50% a", "60% a", "50%")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"board": "2s3h4d6c2s"}, "2s occurs twice"),
        ({"board": "2s3h"}, "has 2 cards"),
        ({"board": "2s3h4x"}, "'4x' is not a card"),
        ({"dead": "2s"}, "on the board and among the dead"),
        ({"ranges": ["", "KK"]}, "has no hands"),
        ({"ranges": ["2s2h,2s2c", "KK"]}, "holds a card of the board"),
        ({"stacks": [0, 10]}, "stacks is 0"),
        ({"pot": -1}, "pot is -1"),
        ({"rake": 3.0}, "rake is 3.0, must be a number from 0 to 1"),
        ({"sizes": {"river": {"bet": "5c"}}, "min_bet": 10}, "5c is below the minimum"),
        ({"sizes": {"river": {"bet": "fifty"}}}, "cannot read 'fifty'"),
        ({"sizes": {"rivr": {}}}, "did you mean 'river'"),
        ({"sizes": {"river": {"bet": "2x"}}}, "no bet yet to multiply"),
        ({"bord": ""}, "did you mean 'board'"),
    ],
)
def test_bad_spots(change, problem, tmp_path, capsys):
    path = tmp_path / "spot.json"
    path.write_text(json.dumps(RIVER.to_dict() | change))
    assert main(["spot", "estimate", str(path)]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1


def test_huge_spots_are_refused(tmp_path, capsys):
    sizes = (both("50% 100% a", "60% a"),) * 3
    path = tmp_path / "spot.json"
    Spot("Td9d6h", ("random",) * 2, 10, (10_000,) * 2, sizes, raise_cap=3).save(path)
    assert main(["spot", "solve", str(path)]) == 2
    assert "offer fewer bet sizes" in capsys.readouterr().err


def test_spot_commands_solve_show_and_export(tmp_path, capsys, monkeypatch):
    path, solved, table = (str(tmp_path / name) for name in ("spot.json", "spot.cps", "t.csv"))
    file = tmp_path / "spot.cps"
    RIVER.save(path)
    assert main(["spot", "solve", path, "--target", "0.1%", "--save", solved, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["percent"] <= 0.1 and sum(result["values"]) == pytest.approx(20.0)
    assert main(["spot", "show", solved, "all-in 10", "--hand", "KK", "--export", table]) == 0
    assert "player 1 acts" in (out := capsys.readouterr().out) and "KsKh" in out
    assert "hand,weight,fold,call" in (tmp_path / "t.csv").read_text()
    assert main(["spot", "show", solved, "bet 3"]) == 2
    assert "there is no 'bet 3' here" in capsys.readouterr().err
    for name in ("g.svg", "g.png"):
        assert main(["spot", "show", solved, "--grid", str(tmp_path / name)]) == 0
    assert ">AA<" in (tmp_path / "g.svg").read_text()
    assert main(["spot", "show", solved, "--grid", "g.gif"]) == 2
    locked, lock = str(tmp_path / "locked.cps"), "all-in 10 @ KK = call 0.75, fold 0.25"
    assert (
        main(["spot", "solve", solved, "--lock", lock, "--target", "0.1%", "--save", locked]) == 0
    )
    capsys.readouterr()
    assert main(["spot", "show", locked, "all-in 10", "--json"]) == 0
    kings = next(h for h in json.loads(capsys.readouterr().out)["hands"] if h["hand"] == "KsKh")
    assert kings["call"] == pytest.approx(0.75, abs=1e-4)
    assert main(["spot", "diff", locked, solved, "all-in 10"]) == 0
    assert "of player 1's decisions differ" in capsys.readouterr().out
    assert main(["spot", "solve", locked, "--unlock", "--target", "0.1%", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["values"] == pytest.approx(
        result["values"], abs=0.05
    )
    for bad in ("all-in 10", "all-in 10 = jump", "all-in 10 @ 22 = call", "all-in 10 = call -1"):
        assert main(["spot", "solve", path, "--lock", bad]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    answers = iter(["nothing", "ch", "c", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    assert main(["spot", "play", solved, "--seed", "3"]) == 0
    out = capsys.readouterr().out
    assert "choose one of check, all-in 10" in out and "lost by decisions" in out
    assert main(["spot", "equity", "AhKh", "QQ", "--board", "QsJh2h"]) == 0
    assert "% against" in capsys.readouterr().out
    assert main(["spot", "range", "88+"]) == 0
    assert capsys.readouterr().out.startswith("42 hands")
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 255
    file.write_bytes(damaged)
    assert main(["spot", "show", solved]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_node_views_agree_with_the_solution(tmp_path):
    dead = all_but("2c3c4c2d3d4d2h3h4h2s3s4s")
    sizes = (both("e"), both("60% a", "60%"), both("50%", "a"))
    spot = Spot("3c4c2d", ("44,43,32,22", "44:0.5,22,43s,33"), 10, (20, 20), sizes, dead=dead)
    arena = cp.holdem.SpotArena(spot, "float64")
    result = cp.solve(arena, cp.algorithms.DCFR(gamma=3, restart_base=4), iterations=60)
    judgement = cp.judge(arena, result.policy)
    view = cp.holdem.inspect_node(result.policy)
    share = view.weight * view.opponent_mass
    assert view.player == 0 and view.is_reached
    assert share @ view.value / share.sum() == pytest.approx(judgement.values[0], abs=1e-6)
    assert share @ view.regret / share.sum() <= 2 * judgement.exploitability
    assert share @ view.equity / share.sum() == pytest.approx(
        cp.holdem.compute_equity(*spot.ranges, spot.board, dead_cards=dead).value
    )
    bet = arena.betting.nodes[0].actions[1]
    # suits h and s are alike, so one of these is folded into the other: hands change names
    one, other = (
        cp.holdem.inspect_node(result.policy, f"{bet},call|{card}") for card in ("2h", "2s")
    )
    assert find_node(arena, f"{bet},call|2s").board == find_node(arena, f"{bet},call|2h").board
    places = {hand: i for i, hand in enumerate(one.hands)}
    swapped = [places[_swap_hearts_and_spades(hand)] for hand in other.hands]
    np.testing.assert_allclose(other.policy, one.policy[:, swapped], atol=1e-6)
    np.testing.assert_allclose(other.equity, one.equity[swapped], atol=1e-9)
    cp.holdem.Solution(result.policy, judgement.exploitability, (1.0, 9.0), 60).save(tmp_path / "f")
    again = cp.holdem.load_solution(tmp_path / "f").policy
    judged = cp.judge(again.arena, again)
    np.testing.assert_allclose(judged.values, judgement.values, atol=1e-3)
    change = compare_nodes(result.policy, again)
    assert np.abs(change.policy).max() < 1e-4 and change.policy_distance < 1e-4
    assert np.abs(change.frequencies).max() < 1e-4
    part = cp.holdem.load_solution(tmp_path / "f", num_streets=1)
    flop = cp.holdem.inspect_node(part.policy)
    np.testing.assert_allclose(flop.policy, cp.holdem.inspect_node(again).policy)
    np.testing.assert_allclose(flop.equity, view.equity)
    assert np.isnan(flop.value).all() and flop.to_dict()["hands"][0]["value"] is None
    with pytest.raises(cp.ConfigError, match="not loaded"):
        cp.holdem.inspect_node(part.policy, f"{bet},call|2h")
    with pytest.raises(cp.ConfigError, match="load all streets"):
        cp.judge(part.policy.arena, part.policy)
    with pytest.raises(cp.RunError, match="nothing to save"):
        part.save(tmp_path / "g")


def test_practice_reports_exact_losses():
    arena = cp.holdem.SpotArena(RIVER, "float64")
    policy = cp.solve(arena, cp.algorithms.DCFR(), iterations=300).policy
    taken, lost = [], []
    for seed in range(60):
        hand = SpotPractice(policy, 0, seed)
        while not hand.is_finished:
            view = hand.view
            at = view.hands.index(hand.hand)
            action = view.actions[int(view.action_value[:, at].argmin())]
            made = hand.take_action(action)
            assert made.ev_loss == pytest.approx(np.ptp(view.action_value[:, at]))
        taken.append(hand.chips_won())
        lost.append(hand.total_ev_loss)
    # winnings and losses add up to the value of the spot, within sampling error
    assert np.mean(taken) + np.mean(lost) == pytest.approx(
        cp.judge(arena, policy).values[0], abs=4 * np.std(taken) / np.sqrt(60)
    )
    assert np.mean(lost) > 1.0


def _swap_hearts_and_spades(hand):
    cards = [card.translate(str.maketrans("hs", "sh")) for card in (hand[:2], hand[2:])]
    order = sorted(cards, key=lambda card: ("234".index(card[0]), "cdhs".index(card[1])))
    return order[1] + order[0]


def test_saved_files_are_not_replaced_without_force(tmp_path, capsys):
    path, solved = str(tmp_path / "spot.json"), str(tmp_path / "spot.cps")
    RIVER.save(path)
    command = ["spot", "solve", path, "--iterations", "2", "--target", "0", "--save", solved]
    assert main(command) == 0
    before = (tmp_path / "spot.cps").read_bytes()
    assert main(command) == 2
    assert f"{solved} exists already; --force replaces it" in capsys.readouterr().err
    assert (tmp_path / "spot.cps").read_bytes() == before
    assert main([*command, "--force"]) == 0
    table = str(tmp_path / "t.csv")
    assert main(["spot", "show", solved, "--export", table]) == 0
    assert main(["spot", "show", solved, "--export", table]) == 2
    assert main(["spot", "show", solved, "--export", table, "--force"]) == 0


@pytest.mark.parametrize("stored", [0, 3, 300])
def test_small_files_that_name_large_trees_are_refused_before_they_are_built(
    stored, tmp_path, monkeypatch
):
    """The spot of the file would have 100,000 nodes of betting, or terabytes of tables."""
    made: list[int] = []
    monkeypatch.setattr(
        betting, "BettingNode", lambda *a, **k: made.append(0) or BettingNode(*a, **k)
    )
    sizes = (both("10% 20% 30% a", "30% 60% a"),) * 3
    for spot in (
        Spot("Td9d6h", ("random",) * 2, 20, (10**8,) * 2, sizes),
        Spot("Td9d6h", ("random",) * 2, 10, (10_000,) * 2, (both("50% a", "60% a"),) * 3),
    ):
        path, zeros = tmp_path / "small.cps", np.zeros(stored, np.uint16)
        content = {
            "spot": spot.to_dict(),
            "isomorphism": True,
            "symmetries": [[0, 1, 2, 3]],
            "exploitability": 0.0,
            "values": [0.0, 0.0],
            "iterations": 1,
            "locks": [],
            "policy_flop": zeros,
            "policy_turn": zeros,
            "policy_river": zeros,
        }
        write_archive(path, SOLUTION_FORMAT, content)
        made.clear()
        for streets in (1, 3):
            with pytest.raises(cp.RunError, match=r"the file holds a policy of|does not fit"):
                cp.holdem.load_solution(path, streets)
        assert len(made) <= 2 * (6 * stored + 400)  # headers of arrays count as numbers


def test_files_of_older_versions_say_what_to_do(tmp_path):
    write_archive(tmp_path / "old.cps", "counterplay spot 2", {"spot": {}})
    with pytest.raises(cp.RunError, match=r"older version.*solve the spot again"):
        cp.holdem.load_solution(tmp_path / "old.cps")


def test_omitted_streets_have_default_sizes_and_empty_ones_none():
    result = RIVER.to_dict() | {"board": "2s3h4d"}
    for sizes, notes in (
        ({}, ["the flop has the default", "the turn has the default", "the river has the default"]),
        ({"flop": {}, "river": {"bet": "a"}}, ["neither player can bet on the flop", "the turn"]),
        ({s: [{"bet": "a"}, {}] for s in ("flop", "turn", "river")}, ["player 1 cannot bet"] * 3),
        ({s: {"bet": "a"} for s in ("flop", "turn", "river")}, []),
    ):
        spot = Spot.from_dict(result | {"sizes": sizes})
        assert len(spot.notes) == len(notes)
        assert all(note.startswith(start) for note, start in zip(spot.notes, notes, strict=True))
        assert Spot.from_dict(json.loads(json.dumps(spot.to_dict()))) == spot
    omitted = Spot.from_dict({k: v for k, v in result.items() if k != "sizes"})
    actions = build_betting_tree(omitted).nodes[0].actions
    assert actions == ("check", "all-in 10")  # half of the pot is all there is
    river = Spot.from_dict(result | {"board": "2s3h4d6c7c", "sizes": {"river": {"bet": "a"}}})
    assert not river.notes  # streets before the spot's own do not matter


def test_notes_are_in_the_results(tmp_path, capsys):
    path = tmp_path / "spot.json"
    path.write_text(json.dumps(RIVER.to_dict() | {"sizes": {"river": {}}}))
    for command in (["spot", "estimate"], ["spot", "solve", "--iterations", "2"]):
        assert main([*command, str(path), "--json"]) == 0
        notes = json.loads(capsys.readouterr().out)["notes"]
        assert notes == ["neither player can bet on the river: no bet sizes are given for it"]
        assert main([*command, str(path)]) == 0
        assert f"note: {notes[0]}" in capsys.readouterr().err
    answer = StudioWorker(lambda told: None).handle_call(
        {"do": "spot_size", "spot": {**RIVER.to_dict()}}
    )
    assert answer["notes"] == []


def test_donk_bets_that_are_forbidden_stay_forbidden(tmp_path):
    spot = Spot("2s3h4d6c", ("AA", "KK"), 20, (10, 10), (both("a", "a", ""),) * 3)
    spot.save(tmp_path / "spot.json")
    assert Spot.load(tmp_path / "spot.json") == spot


@pytest.mark.parametrize("precision", ["float32", "int16"])
def test_hundreds_of_raises_give_finite_values(precision):
    """Average policies so small that their inverse overflows in 32 bits."""
    spot = Spot("2s3h4d6c7c", ("AA,QQ", "KK,55"), 100, (400, 400), (both("1c", "1c"),) * 3)
    arena = cp.holdem.SpotArena(spot, precision)
    assert len(arena.betting.nodes) > 2000
    result = cp.solve(arena, cp.algorithms.DCFR(gamma=3, restart_base=4), iterations=30)
    judgement = cp.judge(arena, result.policy)
    assert np.isfinite([*judgement.values, *judgement.best_values]).all()
    assert 0.0 <= judgement.exploitability < 1.0
    assert all(np.isfinite(record.exploitability) for record in result.records)
    for node in (0, len(arena.betting.nodes) - 6):
        if arena.betting.nodes[node].kind < 2:
            assert np.isfinite(result.policy.probabilities_at(node, 0)).all()


def test_stacks_too_large_for_32_bits_are_noted():
    spot = Spot("2s3h4d6c7c", ("AA", "KK"), 1, (10**6, 10**6), (both("a", "a"),) * 3)
    assert "take float64" in cp.holdem.SpotArena(spot).notes[-1]
    assert not cp.holdem.SpotArena(spot, "float64").notes
    assert not cp.holdem.SpotArena(RIVER).notes
