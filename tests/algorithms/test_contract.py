"""Every algorithm on every kind of arena of small games: it runs, or says in one line why not."""

from __future__ import annotations

import pytest

from counterplay.registry import ALGORITHMS
from tests.algorithms import contract

TABULAR = [name for name in ALGORITHMS if "counterplay.algorithms.deep" not in ALGORITHMS[name]]
TABULAR.remove("nxdo")  # which trains networks
DEEP = [name for name in ALGORITHMS if name not in TABULAR]
CASES = [(game, kind) for game in contract.GAMES for kind in contract.arenas_of(game)]
NETWORK_CASES = [  # without Python rules of compiled games, which need the same programs
    (game, kind) for game, kind in CASES if kind != "rules" or (game, "compiled rules") not in CASES
]
NUM_PARTS = 3
QUICK_DEEP_GAMES = ("only_chance", "no_history")  # refused before anything is compiled


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("contract")


def runs_there(algorithm: str, kind: str) -> bool:
    """Return True if the algorithm declares an arena of that kind."""
    declared = contract.tiny(algorithm).runs_on
    offered = {"tree": ("tree", "sequences"), "generated": ("sequences", "episodes")}
    return bool(set(declared) & set(offered.get(kind, ("rules",))))


@pytest.mark.parametrize(("game", "kind"), CASES)
def test_tabular_algorithms_run_or_refuse(game, kind, folder):
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    ran = 0
    for name in TABULAR:
        answer = contract.outcome(name, game, kind, folder)
        ran += answer == "ran"
        if not runs_there(name, kind):
            assert " runs on " in answer, (name, answer)
    assert ran >= (6 if "rules" in kind else 4)


@pytest.mark.parametrize("name", TABULAR)
def test_tabular_algorithms_run_on_every_arena_they_declare(name, folder):
    """A refusal is not enough where an algorithm says that it runs."""
    for capability in contract.tiny(name).runs_on:
        for game, kind in contract.ARENAS_BY_CAPABILITY[capability]:
            assert contract.outcome(name, game, kind, folder) == "ran", (game, kind)


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("name", DEEP)
def test_networks_run_on_every_arena_they_declare(name, folder):
    jax = pytest.importorskip("jax")
    for capability in contract.tiny(name).runs_on:
        for game, kind in contract.ARENAS_BY_CAPABILITY[capability]:
            assert contract.outcome(name, game, kind, folder) == "ran", (game, kind)
    jax.clear_caches()


def test_every_capability_has_an_arena(folder):
    """The arenas that stand for a capability have it, and no algorithm declares another one."""
    for capability, cases in contract.ARENAS_BY_CAPABILITY.items():
        for game, kind in cases:
            assert capability in contract.arena_of(game, kind, folder).capabilities
    declared = {word for name in ALGORITHMS for word in contract.tiny(name).runs_on}
    assert declared == set(contract.ARENAS_BY_CAPABILITY)


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("game", QUICK_DEEP_GAMES)
def test_networks_refuse_games_without_decisions(name, game, folder):
    pytest.importorskip("jax")
    for kind in ("tree", "rules"):
        answer = contract.outcome(name, game, kind, folder)
        assert "no player acts" in answer or " runs on " in answer, answer


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize("part", range(NUM_PARTS))
@pytest.mark.parametrize("name", DEEP)
def test_networks_run_or_refuse(name, part, folder):
    """Programs are dropped after each part: a process cannot hold those of all algorithms."""
    jax = pytest.importorskip("jax")
    for game, kind in NETWORK_CASES[part::NUM_PARTS]:
        answer = contract.outcome(name, game, kind, folder)
        if not runs_there(name, kind):
            assert " runs on " in answer, (game, kind, answer)
    jax.clear_caches()
