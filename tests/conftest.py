"""Trees that many tests share, built once per process."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import HealthCheck, settings

import counterplay as cp

settings.register_profile(
    "counterplay",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("counterplay")


@cache
def built(spec: str) -> cp.Tree:
    return cp.build_tree(cp.load_game(spec))


def answer(algorithm, arena, memory):
    """The policy with the guarantee."""
    return next(iter(algorithm.policies(arena, memory).values()))


@pytest.fixture
def kuhn() -> cp.Tree:
    return built("kuhn_poker")


@pytest.fixture
def leduc() -> cp.Tree:
    return built("leduc_poker")
