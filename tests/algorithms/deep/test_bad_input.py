"""Input that networks cannot learn from is refused in one sentence, for every deep method."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

pytest.importorskip("jax")

import counterplay as cp
from counterplay.registry import ALGORITHMS
from tests.algorithms import contract
from tests.changed_games import Changed

DEEP = sorted(  # on trees
    name
    for name in ALGORITHMS
    if contract.is_deep(name) and contract.tiny(name).runs_on != ("vectors",)
)
KUHN = cp.games.KuhnPoker()


def refusal(algorithm, arena):
    with pytest.raises(cp.CounterplayError) as caught:
        algorithm.init(arena)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def arenas_of(name, game):
    kinds = contract.tiny(name).runs_on
    return [cp.build_tree(game)] + [cp.RulesArena(game)] * ("rules" in kinds)


@pytest.mark.parametrize("name", [name for name in DEEP if name != "nxdo"])
def test_networks_larger_than_memory_are_refused(name):
    algorithm = contract.tiny(name)
    sizes = [f.name for f in fields(algorithm) if f.name.endswith("hidden_sizes")]
    assert sizes
    for size in sizes if name != "league" else ["hidden_sizes"]:
        if not getattr(algorithm, size):
            continue
        for arena in arenas_of(name, KUHN):
            critic = {"critic": "network"} if size == "critic_hidden_sizes" else {}
            critic = critic if hasattr(algorithm, "critic") else {}
            large = replace(algorithm, **{size: (10**7, 10**7)}, **critic)
            assert "choose smaller hidden sizes" in refusal(large, arena)


@pytest.mark.parametrize("name", DEEP)
def test_games_without_stakes_are_refused(name):
    """Utilities that are all zero, and all the same; on a tree and on rules."""
    for constant in (0.0, 3.0):
        game = Changed(KUHN, (0.0, 0.0), (constant, constant))
        for arena in arenas_of(name, game):
            algorithm = contract.tiny(name)
            with pytest.raises(cp.ConfigError, match="nothing to learn"):
                algorithm.step(arena, algorithm.init(arena))


class WithoutUtilities(Changed):
    """Kuhn poker whose rules compute no number at showdowns."""

    def utilities(self, state):
        return [float("nan")] * 2


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name not in ("league", "nxdo")])
def test_utilities_that_are_no_numbers_are_refused(name):
    """On rules, before the end of the first iteration; a tree of such rules is not built."""
    game = WithoutUtilities(KUHN, (1.0, 1.0))
    with pytest.raises(cp.GameError, match="are not all finite"):
        cp.build_tree(game)
    algorithm, arena = contract.tiny(name), cp.RulesArena(game)
    if "rules" in algorithm.runs_on:
        with pytest.raises(cp.GameError, match="are not all finite"):
            algorithm.step(arena, algorithm.init(arena))
