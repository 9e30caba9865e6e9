"""On rules no program is compiled after the second iteration."""

from __future__ import annotations

import pytest

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.registry import ALGORITHMS  # noqa: E402
from tests.algorithms import contract  # noqa: E402

DEEP = sorted(name for name in ALGORITHMS if contract.is_deep(name))
ON_RULES = [name for name in DEEP if "rules" in contract.tiny(name).runs_on]
NUM_ITERATIONS = 8


@pytest.fixture
def compilations():
    """Return a list to which every compilation appends its seconds."""
    seconds = []

    def listen(event, duration, **_):
        if "backend_compile" in event:
            seconds.append(duration)

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield seconds
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.parametrize("name", contract.mark_large(ON_RULES))
def test_rules_compile_in_the_first_two_iterations_only(name, compilations):
    algorithm, arena = contract.tiny(name), cp.RulesArena("kuhn_poker")
    memory = algorithm.step(arena, algorithm.init(arena, 0), 2)
    assert compilations
    compilations.clear()
    for _ in range(NUM_ITERATIONS - 2):
        memory = algorithm.step(arena, memory)
    assert not compilations
