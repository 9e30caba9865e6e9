"""Units on processes of this machine."""

from __future__ import annotations

import os
import signal

import pytest

import counterplay as cp
from counterplay.distributed import local
from counterplay.distributed.local import LocalExecutor
from counterplay.distributed.units import Unit, UnitFailure, run_unit


def units(name, *each):
    return [Unit(f"tests.distributed.toy_units:{name}", arguments) for arguments in each]


def test_results_come_in_the_order_of_units():
    with LocalExecutor(2) as executor:
        seen = []
        found = executor.map(units("square", *[(n,) for n in range(20)]), lambda *r: seen.append(r))
        pids = {pid for _, pid in found}
        assert [result for result, _ in found] == [n * n for n in range(20)]
        assert sorted(number for number, _ in seen) == list(range(20))
        assert os.getpid() not in pids and pids <= set(executor.worker_pids())
        assert executor.map([]) == []
        assert executor.map(units("threads", ())) == [1]
    assert not executor.worker_pids()


def test_a_killed_process_is_started_again(tmp_path):
    said = []
    with LocalExecutor(2, said.append) as executor:
        work = units("kill_at_first_call", *[(str(tmp_path), n) for n in range(5)])
        assert executor.map(work) == [0, 1, 2, 3, 4]
        assert len(said) == 5 and "signal 9" in said[0]
        os.kill(executor.worker_pids()[0], signal.SIGKILL)  # between two calls
        assert executor.map(work) == [0, 1, 2, 3, 4]


def test_a_unit_that_always_ends_its_process_is_given_up(monkeypatch):
    monkeypatch.setattr(local, "MAX_ATTEMPTS_PER_UNIT", 2)
    with (
        LocalExecutor(1) as executor,
        pytest.raises(cp.RunError, match=r"unit 0 has ended its process 2"),
    ):
        executor.map(units("kill_always", ()))


def test_errors_keep_their_kind():
    with LocalExecutor(1) as executor:
        with pytest.raises(cp.ConfigError, match="number is 1, must be even"):
            executor.map(units("wrong", (0,), (1,), (2,), (3,)))
        with pytest.raises(cp.RunError, match="ZeroDivisionError: by us"):
            executor.map(units("broken", ()))


def test_stop_begins_nothing_more():
    with LocalExecutor(1) as executor:
        seen = []
        found = executor.map(
            units("square", *[(n,) for n in range(200)]),
            lambda number, _: seen.append(number),
            lambda: len(seen) > 2,
        )
    done = [result is not None for result in found]
    assert 3 <= sum(done) < 200 and done == sorted(done, reverse=True)


def test_other_sources_are_refused():
    failure = run_unit(units("square", (1,))[0], "another")
    assert isinstance(failure, UnitFailure) and failure.error_name == "ConfigError"
    assert "differs from the one that sends the work" in failure.message


def test_wrong_number_of_processes():
    with pytest.raises(cp.ConfigError, match="processes is 0, must be at least 1"):
        LocalExecutor(0)
