"""The questions of the page Trace give the numbers of the library."""

from __future__ import annotations

import pytest

import counterplay as cp
from counterplay.algorithms.cfr.trace import CFRTrace
from counterplay.display.equations import cfr_equations, step_to_json
from counterplay.errors import ConfigError
from counterplay.studio.worker.studio_worker import StudioWorker


@pytest.fixture(scope="module")
def worker():
    return StudioWorker(lambda told: None)


def ask(worker, **more):
    return worker.handle_call({"do": "trace", "game": "kuhn_poker"} | more)


@pytest.mark.parametrize("algorithm", ["cfr", "cfr_plus", "dcfr"])
def test_the_answer_has_the_numbers_of_the_library(worker, algorithm):
    answer = ask(worker, algorithm=algorithm, iteration=4, infoset=4)
    trace = CFRTrace("kuhn_poker", algorithm)
    step = trace.step(4, 4)
    assert answer["step"] == step_to_json(step)
    assert answer["equations"] == [step_to_json(equation) for equation in cfr_equations(step)]
    assert answer["curves"]["exploitability"] == trace.exploitability.tolist()
    assert len(answer["rows"]) == answer["total"] == 12
    row = answer["rows"][4]
    assert row["regret"] == step.regret.tolist() and row["policy"] == step.policy.tolist()
    assert row["average"] == step.average_policy.tolist()


def test_infosets_are_found_and_paged(worker):
    assert {row["key"] for row in ask(worker, text="PB")["rows"]} == {"0pb", "1pb", "2pb"}
    assert ask(worker, start=11)["rows"][0]["key"] == ask(worker)["rows"][11]["key"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ({"iteration": 2001}, "from 1 to 2,000"),
        ({"infoset": 12}, "from 0 to 11"),
        ({"algorithm": "efr"}, "cannot be traced"),
        ({"algorithm": "my_rules.py:MyCFR"}, "algorithm"),
    ],
)
def test_wrong_questions_about_trees(worker, call, message):
    with pytest.raises(ConfigError, match=message):
        ask(worker, **call)


def test_a_game_that_is_too_large_is_refused():
    worker = StudioWorker(lambda told: None)
    with pytest.raises(ConfigError, match="most 100,000"):
        worker.handle_call({"do": "trace", "game": "kuhn_poker(num_cards=150)"})


@pytest.mark.parametrize("learner", ["regret_matching", "fictitious_play", "replicator_dynamics"])
def test_a_learner_has_the_numbers_of_the_library(worker, learner):
    call = {"do": "trace_learner", "game": "rock_paper_scissors", "learner": learner}
    answer = worker.handle_call(call | {"iteration": 7, "player": 1})
    form = cp.matrix.normal_form_from_game("rock_paper_scissors")
    trace = cp.matrix.trace_learner(form, learner, iterations=7)
    assert answer["step"] == step_to_json(trace.step(7, 1))
    assert answer["curves"]["gain"] == trace.gains.tolist()


def test_a_table_of_the_page_and_a_start_are_traced(worker):
    call = {"do": "trace_learner", "learner": "fictitious_play", "iteration": 2}
    call |= {"utility": [[[1, 0], [0, 1]], [[0, 1], [1, 0]]], "names": [["a", "b"], ["c", "d"]]}
    answer = worker.handle_call(call | {"initial": [[1, 0], [1, 0]]})
    assert answer["step"]["actions"] == ["a", "b"] and answer["step"]["mixture"] == [1, 0]
    assert worker.handle_call(call | {"initial": "uniform"})["curves"]["policy"][0] == [0.5, 0.5]
    with pytest.raises(ConfigError, match="one list of probabilities"):
        worker.handle_call(call | {"initial": 5})
    with pytest.raises(ConfigError, match="from 1 to 2,000"):
        worker.handle_call(call | {"iteration": 5000})
