"""Drills: questions and grades agree with the solution, progress survives, mistakes come back."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache

import numpy as np
import pytest

from counterplay.arenas.holdem.inspection import inspect_node
from counterplay.arenas.holdem.spot import Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.arenas.holdem.spot_game import SpotGame
from counterplay.cli.main import main
from counterplay.core.cards import ALL_HANDS, hand_name, parse_cards
from counterplay.core.game import CHANCE
from counterplay.core.solve import solve
from counterplay.errors import ConfigError, FileError
from counterplay.play.spot_drill import (
    INTERVALS_SECONDS,
    DrillAnswer,
    DrillProgress,
    DrillSettings,
    SpotDrill,
    due_questions,
    hand_reach,
    line_of,
    score_answers,
)

SIZES = {"bet": "50%", "raise": "a"}
RIVER = {
    "board": "Td9d6h2c3s",
    "ranges": ["QQ+,AKs,T9s,87s,ATs", "JJ-66,AQs,KQs,JTs"],
    "pot": 60,
    "stacks": 150,
    "sizes": {"river": SIZES},
}
TURN = RIVER | {"board": "Td9d6h2d", "sizes": {"turn": SIZES, "river": SIZES}}


@cache
def solution(street):
    """A policy far from an equilibrium, so that actions have different EVs."""
    spot = Spot.from_dict({"river": RIVER, "turn": TURN}[street])
    return solve(SpotArena(spot, "float64"), "dcfr", iterations=20).policy


def test_a_thousand_questions_are_graded_by_the_evs_of_the_solution():
    """Histories, hands and losses of 1,000 questions, beside tables of all hands of their nodes."""
    policy = solution("river")
    drill, rng = SpotDrill(policy, seed=7), np.random.default_rng(1)
    tables, grades = {}, Counter()
    for _ in range(1000):
        question = drill.next_question()
        if question.history not in tables:
            tables[question.history] = inspect_node(policy, question.history)
        view = tables[question.history]
        column = view.hands.index(question.hand)
        assert view.weight[column] > 0.0 and view.player == question.player
        assert view.actions == question.actions and view.pot == question.pot
        action = int(rng.integers(len(question.actions)))
        grade = drill.grade(question, question.actions[action])
        values = view.action_value[:, column]
        assert grade.ev_loss == pytest.approx(max(values) - values[action], abs=1e-9)
        assert grade.action_values == tuple(values.tolist())
        assert values[question.actions.index(grade.best_action)] == max(values)
        grades[grade.grade] += 1
    assert min(grades["best"], grades["mistake"] + grades["blunder"]) > 50
    assert len(tables) > 5


def test_evs_of_grades_are_those_of_playing_on():
    """EVs of actions by enumeration of the opponent's hands and of all actions, by the rules."""
    policy = solution("river")
    game, arena = SpotGame(policy.arena.spot), policy.arena
    drill = SpotDrill(policy, seed=3)

    def play_on(state, player):
        acting = game.player(state)
        if acting < 0:
            return game.utilities(state)[player]
        view = inspect(state.history)
        weights = view.policy[:, view.hands.index(hand_name(state.hands[acting]))]
        return sum(
            weight * play_on(game.next_state(state, action), player)
            for action, weight in enumerate(weights)
            if weight > 0.0
        )

    @cache
    def inspect(history):
        return inspect_node(policy, history)

    for _ in range(5):
        question = drill.next_question()
        grade, player = drill.grade(question, question.actions[0]), question.player
        reach = hand_reach(policy, question.history)[1 - player]
        own = parse_cards(question.hand)
        total, sums = 0.0, np.zeros(len(question.actions))
        for index, weight in zip(arena.hands[1 - player].index.tolist(), reach, strict=True):
            if weight <= 0.0 or set(ALL_HANDS[index]) & set(own):
                continue
            hands = [0, 0]
            hands[player] = ALL_HANDS.index(tuple(sorted(own)))
            hands[1 - player] = index
            state = game.initial_state()
            assert game.player(state) == CHANCE
            state = game.next_state(state, 1326 * hands[0] + hands[1])
            for name in filter(None, question.history.split(",")):
                names = [game.action_name(state, a) for a in game.actions(state)]
                state = game.next_state(state, names.index(name))
            total += weight
            spent = state.street_state.contributions[player]
            sums += weight * np.array(
                [
                    play_on(game.next_state(state, action), player) + spent
                    for action in range(len(question.actions))
                ]
            )
        assert grade.action_values == pytest.approx(tuple(sums / total), abs=1e-6)


def test_reach_equals_that_of_node_views_on_every_suit():
    policy = solution("turn")
    for history in ("check,bet 30,call|3c,check", "bet 30,call|3h", "check,check|Kd,check"):
        view = inspect_node(policy, history)
        reach = hand_reach(policy, history)[view.player]
        names = map(hand_name, policy.arena.hands[view.player].index.tolist())
        by_name = dict(zip(names, reach, strict=True))
        assert [by_name[hand] for hand in view.hands] == pytest.approx(view.weight.tolist())


def test_settings_choose_line_street_and_player():
    policy = solution("turn")
    drill = SpotDrill(policy, DrillSettings(player=1, line="check", street="river"), seed=2)
    for _ in range(20):
        question = drill.next_question()
        assert question.player == 1 and question.street == "river"
        assert question.history.startswith("check,")
    exact = SpotDrill(policy, DrillSettings(line="check,bet 30", exact=True))
    assert {exact.next_question().history for _ in range(20)} == {"check,bet 30"}
    assert exact.question("check,bet 30", "KsKh").hand == "KsKh"
    with pytest.raises(ConfigError, match="no such decision"):
        SpotDrill(
            policy, DrillSettings(player=1, line="check,check|3c", exact=True)
        ).next_question()
    for wrong in ({"line": "jump"}, {"street": "preflop"}, {"player": 2}):
        with pytest.raises(ConfigError):
            SpotDrill(policy, DrillSettings(**wrong))
    for history, hand in (("", "7s2h"), ("", "TdTs"), ("", "As"), ("check,check", "KsKh")):
        with pytest.raises(ConfigError):
            drill.question(history, hand)
    with pytest.raises(ConfigError, match="did you mean"):
        drill.grade(drill.question("", "KsKh"), "chek")


def answer(loss=0.0, time=0.0, grade=None, **fields):
    grade = grade or ("best" if loss == 0 else "blunder")
    known = {"solution": "s", "history": "check", "hand": "AhKd", "street": "flop"}
    known |= {"action": "check", "best_action": "bet 5", "seconds": 1.0}
    return DrillAnswer(**(known | {"ev_loss": loss, "grade": grade, "time": time} | fields))


def test_mistakes_come_back_until_they_are_known():
    key, now = ("check", "AhKd"), 0.0
    answers = [answer(0.2, now)]
    assert due_questions(answers, "s", now) == []
    for interval in INTERVALS_SECONDS:
        now += interval
        assert due_questions(answers, "s", now - 1.0) == []
        assert due_questions(answers, "s", now) == [key]
        assert due_questions(answers, "other", now) == []
        answers.append(answer(0.0, now))
    assert due_questions(answers, "s", now + 1e9) == []  # learned
    answers += [answer(0.1, now), answer(0.0, now + 1.0), answer(0.1, now + 2.0)]
    assert due_questions(answers, "s", now + 2.0 + INTERVALS_SECONDS[0]) == [key]  # from the start
    right_first = [answer(0.0, 0.0), answer(0.0, 1.0)]
    assert due_questions(right_first, "s", 1e9) == []
    late = [answer(0.0, 0.0, grade="too late")]
    assert due_questions(late, "s", 1e9) == [key]


def test_statistics_by_street_and_line():
    answers = [answer(0.2), answer(), answer(street="turn", history="check,check|Td,bet 5")]
    by_street = score_answers(answers, lambda one: one.street)
    assert (by_street["flop"].count, by_street["flop"].num_right) == (2, 1)
    assert by_street["flop"].mean_loss == pytest.approx(0.1)
    assert set(score_answers(answers, lambda one: one.line)) == {"check", "check,check|bet 5"}
    assert line_of("") == "" and line_of("a,b|Td") == "a,b|"


def test_progress_is_appended_and_read_back(tmp_path):
    path = tmp_path / "folder" / "drills.jsonl"
    first, second = DrillProgress.load(path), DrillProgress.load(path)
    first.add(answer(0.25))
    second.add(answer())  # of another program: no line is lost
    assert DrillProgress.load(path).answers == [answer(0.25), answer()]
    path.write_text(path.read_text() + "no answer\n")
    with pytest.raises(FileError, match=r"line 3: 'no answer' is no answer of a drill"):
        DrillProgress.load(path)
    path.write_text(json.dumps({"solution": "s"}))
    with pytest.raises(FileError, match="line 1"):
        DrillProgress.load(path)


def test_drills_on_the_command_line(tmp_path, monkeypatch, capsys):
    from counterplay.arenas.holdem.solution import Solution

    policy = solution("river")
    file, progress = tmp_path / "river.cps", tmp_path / "answers.jsonl"
    Solution(policy, 1.0, (30.0, 30.0), 20).save(file)
    answers = iter(["1", "nonsense", "2", "q"])
    monkeypatch.setattr("counterplay.cli.play_prompt.prompt_line", lambda text: next(answers))
    command = ["spot", "drill", str(file), "--progress", str(progress), "--seed", "3"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "choose one of" in shown and "EV loss" in shown and "river" in shown
    stored = DrillProgress.load(progress).answers
    assert len(stored) == 2 and {one.solution for one in stored} == {"river"}
    assert main([*command, "--statistics"]) == 0
    assert "river" in capsys.readouterr().out
    assert main([*command, "--player", "7"]) == 2
    assert "must be 0, 1 or both" in capsys.readouterr().err
