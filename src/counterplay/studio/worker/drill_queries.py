"""Drills in a worker: questions from the solution of its spot, graded answers, statistics.

A question is identified by its history and hand, so that reloading a page or a restart of the
studio loses nothing. EVs are sent after the answer only.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from counterplay.play.spot_drill import (
    DrillAnswer,
    DrillProgress,
    DrillQuestion,
    DrillSettings,
    SpotDrill,
    due_questions,
    score_answers,
)
from counterplay.studio.worker.queries import Call, JsonObject, query
from counterplay.studio.worker.spot_queries import find_solved_study

if TYPE_CHECKING:
    from counterplay.studio.worker.studio_worker import StudioWorker

MAX_LISTED_MISTAKES = 20


@query("drill_question")
def ask_question(worker: StudioWorker, call: Call) -> JsonObject:
    """Return a question: a mistake that is due, or a random decision of the settings."""
    drill = _make_drill(worker, call)
    progress = DrillProgress.load(Path(call["progress_path"]))
    due = due_questions(progress.answers, str(call["solution"]), time.time())
    if due and call.get("repeat", True):
        question, is_repeated = drill.question(*due[0]), True
    else:
        question, is_repeated = drill.next_question(), False
    return _describe_question(question) | {"repeated": is_repeated, "due": len(due)}


@query("drill_answer")
def grade_answer(worker: StudioWorker, call: Call) -> JsonObject:
    """Grade an answer, and append it to the progress file unless `record` is false."""
    drill = _make_drill(worker, call)
    question = drill.question(str(call["history"]), str(call["hand"]))
    seconds, is_late = float(call.get("seconds", 0.0)), bool(call.get("late"))
    grade = drill.grade(question, str(call["action"]), is_late=is_late)
    answer = drill.answer(str(call["solution"]), question, grade, seconds)
    if call.get("record"):
        DrillProgress(Path(call["progress_path"])).add(answer)
    return grade._asdict() | {"question": _describe_question(question)}


@query("drill_statistics")
def describe_statistics(worker: StudioWorker, call: Call) -> JsonObject:
    """Return the statistics of all answers of a solution, or of all solutions without a name."""
    progress = DrillProgress.load(Path(call["progress_path"]))
    solution = str(call.get("solution", ""))
    answers = [answer for answer in progress.answers if solution in ("", answer.solution)]

    def scores(key: str) -> list[JsonObject]:
        by_key = score_answers(answers, lambda answer: str(getattr(answer, key)))
        return [{key: name} | asdict(score) for name, score in sorted(by_key.items())]

    due = due_questions(answers, solution, time.time()) if solution else []
    worst = sorted(answers, key=lambda answer: -answer.ev_loss)[:MAX_LISTED_MISTAKES]
    return {
        "total": [asdict(score) for score in score_answers(answers, lambda _: "").values()],
        "streets": scores("street"),
        "lines": scores("line"),
        "due": len(due),
        "worst": [_describe_answer(answer) for answer in worst if not answer.is_right],
    }


def _describe_answer(answer: DrillAnswer) -> JsonObject:
    return asdict(answer)


def _describe_question(question: DrillQuestion) -> JsonObject:
    return question._asdict()


def _make_drill(worker: StudioWorker, call: Call) -> SpotDrill:
    study = find_solved_study(worker, call)
    assert study.policy is not None
    player = call.get("player")
    settings = DrillSettings(
        player=int(player) if player in (0, 1) else None,
        line=str(call.get("line", "")),
        street=str(call.get("street", "")),
        exact=bool(call.get("exact")),
    )
    return SpotDrill(study.policy, settings, secrets.randbits(32), study.inspect)
