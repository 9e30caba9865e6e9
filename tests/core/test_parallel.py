"""Independent calls: order of results, reports as they arrive, and stopping."""

from __future__ import annotations

from counterplay.core.parallel import map_calls, use_executor
from counterplay.distributed.remote_calls import make_call_mapper
from tests.distributed.toy_units import InProcessExecutor


def double(number: int) -> int:
    return 2 * number


def test_results_are_reported_and_returned_in_order():
    seen = []
    calls = [(3,), (1,), (2,)]
    assert map_calls(double, calls, lambda *result: seen.append(result)) == [6, 2, 4]
    assert seen == [(0, 6), (1, 2), (2, 4)]
    seen.clear()
    with use_executor(make_call_mapper(InProcessExecutor())):
        assert map_calls(double, calls, lambda *result: seen.append(result)) == [6, 2, 4]
    assert sorted(seen) == [(0, 6), (1, 2), (2, 4)]


def test_calls_that_have_not_started_when_stopped_have_no_result():
    seen = []
    results = map_calls(
        double, [(1,), (2,), (3,)], lambda _, result: seen.append(result), lambda: len(seen) == 2
    )
    assert results == [2, 4, None]
