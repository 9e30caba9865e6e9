"""Studies: refusals, results, and no lost runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import counterplay as cp
from counterplay.cli.main import main
from counterplay.distributed import ranking as reading
from counterplay.distributed.proposals import TrialResult, propose_settings
from counterplay.distributed.run_units import advance_run, exploitability_at
from counterplay.distributed.study import load_study
from counterplay.experiment.run_folder import find_runs
from counterplay.registry import ALGORITHMS
from tests.distributed.toy_units import InProcessExecutor
from tests.experiment.conftest import load_final_state, load_untimed_records

BASE = {
    "name": "small",
    "algorithm": "external_sampling",
    "game": "kuhn_poker",
    "spec": {"max_steps": 400, "evaluate_every": 100, "checkpoint_every": 100},
}
GRID = {
    "name": "grid",
    "base": BASE,
    "vary": {"gamma": {"grid": [0.0, 1.0]}, "regret_matching_plus": {"choices": [True, False]}},
    "seeds": 2,
    "rungs": [100, 400],
    "keep": 0.5,
    "judge": 2,
}
TINY = GRID | {"name": "tiny", "vary": {"gamma": {"grid": [0.0, 1.0]}}, "judge": 1}
SEARCH = GRID | {
    "name": "search",
    "vary": {
        "gamma": {"low": 0.0, "high": 3.0},
        "hedge_eta": {"low": 0.01, "high": 1.0, "log": True},
    },
    "proposals": 8,
    "batch": 4,
    "seeds": 1,
    "judge": 0,
}


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    seen = []
    result = cp.sweep(GRID, runs_folder=runs, num_processes=2, report=seen.append)
    return result, seen


def all_results(folder, game="kuhn_poker"):
    """The bits of all runs of a study."""
    runs = find_runs([folder])
    return {
        str(run.relative_to(folder)): (load_final_state(run, game), load_untimed_records(run))
        for run in runs
    }


def test_a_grid_through_its_rungs(finished_sweep):
    result, seen = finished_sweep
    assert not result.stopped and result.is_complete
    assert [one.last_rung for one in result.proposals] == [400, 400, 100, 100]
    means = [one.last_mean.value for one in result.proposals]
    assert means[:2] == sorted(means[:2]) and means[2:] == sorted(means[2:])
    first = {one.number: one.mean_by_rung[100].value for one in result.proposals}
    assert {one.number for one in result.proposals[:2]} == set(sorted(first, key=first.get)[:2])
    assert result.best.settings in load_study(GRID).combinations()
    assert (
        set(result.judgement_by_config) == {"winner", "base"}
        and result.judgement_by_config["base"].num_seeds == 2
    )
    steps = [one.steps for one in seen if one.total_steps]
    assert (
        steps == sorted(steps)
        and steps[-1] == seen[-1].total_steps == load_study(GRID).total_steps()
    )
    assert load_study(GRID).total_steps() == 4 * 2 * 100 + 2 * 2 * 300 + 2 * 2 * 400
    runs = find_runs([result.folder])
    assert len(runs) == 4 * 2 + 2 * 2


def test_a_value_is_that_of_the_run_alone(finished_sweep, tmp_path):
    """Sweeps change nothing about a run: the same as `cp.run` with the same config."""
    result, _ = finished_sweep
    best = result.best
    config = result.study.run_config(best.settings, seed=1)
    alone = cp.run(config, tmp_path / "alone")
    inside = reading.search_run_folder(result.folder, best.number, 1)
    assert load_final_state(alone.folder)[2] == load_final_state(inside)[2]
    assert exploitability_at(inside, 400) == alone.records[-1]["average"]


def test_the_same_again_does_nothing(finished_sweep):
    result, _ = finished_sweep
    times = {p: p.stat().st_mtime_ns for p in result.folder.rglob("metrics.jsonl")}
    again = cp.sweep(GRID, InProcessExecutor(), runs_folder=result.folder.parent)
    assert (
        again.proposals == result.proposals
        and again.judgement_by_config == result.judgement_by_config
    )
    assert times == {p: p.stat().st_mtime_ns for p in result.folder.rglob("metrics.jsonl")}
    assert cp.distributed.load_study_ranking(result.folder).proposals == result.proposals


def test_another_study_is_not_overwritten(finished_sweep, tmp_path):
    result, _ = finished_sweep
    with pytest.raises(cp.ConfigError, match="contains another study: seeds differ"):
        cp.sweep(GRID | {"seeds": 3}, runs_folder=result.folder.parent)
    (tmp_path / "grid").mkdir()
    (tmp_path / "grid" / "mine").touch()
    with pytest.raises(cp.ConfigError, match="exists already and is not a study"):
        cp.sweep(GRID, runs_folder=tmp_path)


def test_stopped_anywhere_it_comes_to_the_same(finished_sweep, tmp_path):
    result, _ = finished_sweep
    seen = []
    first = cp.sweep(
        GRID,
        InProcessExecutor(),
        runs_folder=tmp_path,
        report=seen.append,
        stop=lambda: len(seen) > 3,
    )
    assert first.stopped and not first.is_complete
    again = cp.sweep(GRID, InProcessExecutor(), runs_folder=tmp_path)
    assert again.is_complete and again.proposals == result.proposals
    assert all_results(again.folder) == all_results(result.folder)


def count_runs(folder):
    """Count run folders, while some of those that are being made go away."""
    return sum("metrics.jsonl" in names for _, _, names in os.walk(folder))


def test_killed_anywhere_it_comes_to_the_same(finished_sweep, tmp_path):
    """Driver and workers: kill -9 at different times, then the same command again."""
    result, _ = finished_sweep
    study = tmp_path / "grid.json"
    study.write_text(json.dumps(GRID))
    command = [sys.executable, "-m", "counterplay", "sweep", str(study)]
    command += ["--runs", str(tmp_path), "--processes", "1"]
    for count in (1, 6):
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 120.0
        while count_runs(tmp_path) < count and driver.poll() is None:
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    again = cp.sweep(GRID, InProcessExecutor(), runs_folder=tmp_path)
    assert again.proposals == result.proposals
    assert all_results(again.folder) == all_results(result.folder)


def test_a_failing_proposal_is_last(tmp_path, monkeypatch):
    """An algorithm that comes to no good: the study goes on without it."""
    monkeypatch.setitem(ALGORITHMS, "toy", "tests.experiment.toy_algorithms:Toy")
    study = {
        "name": "failing",
        "base": BASE | {"algorithm": "toy"},
        "vary": {"break_at": {"choices": [50, 0]}},
        "rungs": [100, 200],
        "seeds": 1,
        "judge": 0,
    }
    lines = []
    result = cp.sweep(
        study, InProcessExecutor(), runs_folder=tmp_path, report=lambda p: lines.append(p.message)
    )
    assert result.best.settings == {"break_at": 0} and result.best.last_rung == 200
    assert not result.proposals[1].mean_by_rung
    assert any(line.startswith("failed:") and "NaN" in line for line in lines)
    with pytest.raises(cp.RunError, match=r"no proposal .*reached a rung|reached the end"):
        cp.sweep(
            study | {"name": "all", "vary": {"break_at": {"choices": [5]}}},
            InProcessExecutor(),
            runs_folder=tmp_path,
        )


def test_proposals_depend_on_the_past_alone():
    pytest.importorskip("optuna")
    study = load_study(SEARCH)
    past = [
        TrialResult(
            propose_settings(study, k, []), {100: 0.1 * (k + 1), 400: 0.05 * (k + 1)}, k % 2 == 1
        )
        for k in range(12)
    ]
    once, again = propose_settings(study, 12, past), propose_settings(study, 12, past)
    assert once == again != propose_settings(study, 13, past)
    assert propose_settings(study, 12, past[:1]) != once
    assert 0.0 <= once["gamma"] <= 3.0 and 0.01 <= once["hedge_eta"] <= 1.0


def test_the_first_proposal_is_the_base_where_that_may_be_proposed():
    pytest.importorskip("optuna")
    base = BASE | {"spec": BASE["spec"] | {"gamma": 1.5}}
    study = load_study(SEARCH | {"base": base, "vary": {"gamma": {"low": 1.0, "high": 2.0}}})
    assert propose_settings(study, 0, []) == {"gamma": 1.5} != propose_settings(study, 1, [])
    beyond = load_study(SEARCH | {"base": base, "vary": {"gamma": {"low": 2.0, "high": 3.0}}})
    assert 2.0 <= propose_settings(beyond, 0, [])["gamma"] <= 3.0


def test_search_restarted_at_every_batch_proposes_the_same(tmp_path):
    pytest.importorskip("optuna")
    whole = cp.sweep(SEARCH, InProcessExecutor(), runs_folder=tmp_path / "whole")
    assert len(whole.proposals) == 8
    seen = []
    for _ in range(40):
        seen.clear()
        found = cp.sweep(
            SEARCH,
            InProcessExecutor(),
            runs_folder=tmp_path / "parts",
            report=lambda p: seen.append(p),
            stop=lambda: sum(not p.message for p in seen) > 5,
        )
        if not found.stopped:
            break
    assert found.proposals == whole.proposals


STUDIES = sorted((Path(__file__).parents[2] / "configs" / "studies").glob("*.json"))


@pytest.mark.parametrize("path", STUDIES, ids=lambda path: path.stem)
def test_our_own_studies_are_good(path):
    """They load, and their budget is nearly the sum of their steps."""
    pytest.importorskip("jax")
    study = load_study(path)
    assert 0.9 * study.budget <= study.total_steps() <= study.budget
    assert load_study(study.to_json()) == study


BAD = {
    "typo": ({"vry": {}}, "vry: unknown key; did you mean 'vary'"),
    "setting": (
        {"vary": {"gama": {"grid": [1.0]}}},
        r"vary.gama: .*unknown key; did you mean 'gamma'",
    ),
    "range": ({"vary": {"gamma": {"low": 2.0, "high": 1.0}}}, "the range from 2.0 to 1.0 is empty"),
    "log": (
        {"vary": {"gamma": {"low": 0.0, "high": 1.0, "log": True}}},
        "begins above 0, not at 0",
    ),
    "list": ({"vary": {"gamma": {"grid": []}}}, r"vary.gamma: \[\] is not a list, or is empty"),
    "kind": ({"vary": {"gamma": 3}}, "vary.gamma is 3, must be an object with low and high"),
    "mixed": ({"vary": {"gamma": {"low": 1, "grid": [1]}}}, "must be an object with low and high"),
    "word": ({"vary": {"gamma": {"lo": 1, "high": 2}}}, "vary.gamma.lo: unknown key; did you mean"),
    "seed": ({"vary": {"seed": {"grid": [1]}}}, "not a setting of the method"),
    "endless": ({"vary": {"gamma": {"low": 0.0, "high": 1.0}}}, "proposals: missing key, because"),
    "outside": (
        {"vary": {"hedge_eta": {"grid": [-1.0]}}},
        r"vary.hedge_eta: spec.hedge_eta is -1.0",
    ),
    "flag": (
        {"vary": {"regret_matching_plus": {"low": 0, "high": 1}}},
        "vary.regret_matching_plus: .*",
    ),
    "empty": ({"vary": {}}, "vary is empty"),
    "rungs": ({"rungs": [400, 100]}, r"rungs is \[400, 100\], must be growing numbers"),
    "beyond": ({"budget": 300}, "rung 400 is beyond the budget of 300 steps"),
    "budget": ({"budget": 1000}, "the study takes 3,600 steps, beyond its budget of 1,000"),
    "keep": ({"keep": 0.0}, "keep is 0.0, must be above 0"),
    "seeds": ({"seeds": 0}, "seeds is 0, must be at least 1"),
    "base": ({"base": "nowhere.json"}, "there is no file .*nowhere.json"),
    "rules": ({"base": BASE | {"arena": "rules"}}, "a study ranks by exact exploitability"),
    "name": ({"name": "../up"}, "name is .* letters, digits"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_studies_get_one_line(case, tmp_path, capsys):
    change, message = BAD[case]
    study = tmp_path / "bad.json"
    study.write_text(json.dumps(GRID | change))
    with pytest.raises(cp.ConfigError, match=message):
        load_study(study)
    assert main(["sweep", str(study), "--runs", str(tmp_path / "runs")]) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith("error: ") and err.count("\n") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("on", ["nowhere", "a:b", "local "])
def test_bad_places(on, tmp_path, capsys):
    study = tmp_path / "grid.json"
    study.write_text(json.dumps(GRID))
    assert main(["sweep", str(study), "--on", on, "--runs", str(tmp_path / "runs")]) == 2
    assert "must be local, auto or host:port" in capsys.readouterr().err


def test_without_optuna_there_is_advice(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(cp.ConfigError, match=r"pip install 'counterplay\[scale\]'"):
        cp.sweep(SEARCH, runs_folder=tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_folder_that_is_not_shared_is_named(tmp_path):
    with pytest.raises(cp.ConfigError, match=r"does not see .*elsewhere"):
        advance_run(str(tmp_path / "run"), BASE, 100, str(tmp_path / "elsewhere"))


def test_a_full_disk_ends_the_study_and_loses_nothing(tmp_path, monkeypatch):
    """The unit reports the file; the proposal is not marked as failed."""
    from counterplay.experiment import runner

    def full(*_):
        raise cp.RunError("cannot write x: No space left on device") from OSError(28, "No space")

    place = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(runner, "write_checkpoint", full)
        with pytest.raises(cp.RunError, match=r"No space left on device.*\(on "):
            advance_run(str(place), BASE, 100, str(tmp_path))
    assert advance_run(str(place), BASE, 100, str(tmp_path)) == {"step": 100, "stopped": False}
    assert exploitability_at(place, 100) is not None


def test_compare_and_plot_read_a_study(finished_sweep, tmp_path, capsys):
    result, _ = finished_sweep
    assert main(["compare", str(result.folder)]) == 0
    out = capsys.readouterr().out
    assert "winner on 2 unseen seeds" in out and "explained by: gamma" in out
    assert main(["compare", str(result.folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["complete"] and set(found["importance"]) == {"gamma", "regret_matching_plus"}
    for kind in ("png", "svg"):
        file = Path(tmp_path) / f"study.{kind}"
        assert main(["plot", str(result.folder), "-o", str(file)]) == 0
        assert file.stat().st_size > 5_000
    assert "gamma" in (tmp_path / "study.svg").read_text()


def test_each_game_has_its_own_ranking(tmp_path):
    """Kuhn's exploitabilities are smaller than Leduc's, for any settings."""
    study = {
        "name": "games",
        "base": BASE | {"algorithm": "dcfr"},
        "vary": {
            "game": {"choices": ["leduc_poker", "kuhn_poker"]},
            "gamma": {"choices": [0.0, 2.0, 3.0]},
        },
        "seeds": 1,
        "rungs": [100, 400],
        "keep": 0.5,
        "judge": 1,
    }
    seen = []
    result = cp.sweep(study, InProcessExecutor(), runs_folder=tmp_path, report=seen.append)
    assert list(result.tables) == ["leduc_poker", "kuhn_poker"]
    for game, table in result.tables.items():
        assert {one.settings["game"] for one in table} == {game}
        assert [one.last_rung for one in table] == [400, 400, 100]  # half of each game's go on
        assert table[0].last_mean.value <= table[1].last_mean.value
    assert set(result.judgement_by_config) == {
        f"{who} on {game}" for who in ("winner", "base") for game in result.tables
    }
    assert (
        result.is_complete
        and cp.distributed.load_study_ranking(result.folder).proposals == result.proposals
    )
    assert seen[-1].steps == seen[-1].total_steps == load_study(study).total_steps()
    assert list(reading.setting_importance(result)) == ["gamma"]
    with pytest.raises(cp.ConfigError, match="use best_by_game"):
        result.best  # noqa: B018
    with pytest.raises(cp.ConfigError, match="results of different games cannot be compared"):
        load_study(study | {"proposals": 4})


def test_a_refused_study_leaves_nothing_behind(tmp_path):
    wrong = TINY | {"base": BASE | {"algorithm": "sequence_form_lp"}, "vary": {}}
    with pytest.raises(cp.ConfigError):
        cp.sweep(wrong, InProcessExecutor(), runs_folder=tmp_path)
    players = {"game.params.players": {"choices": [3]}}
    late = TINY | {"base": BASE | {"algorithm": "sequence_form_lp"}, "vary": players}
    with pytest.raises(cp.ConfigError, match="needs a two-player"):
        cp.sweep(late, InProcessExecutor(), runs_folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
