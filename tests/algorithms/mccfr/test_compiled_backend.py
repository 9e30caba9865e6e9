"""Sampling on compiled rules gives the same bits as on the Python rules."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit, typeof

import counterplay as cp
from counterplay.algorithms.mccfr import compiled_backend, memory, rules_backend
from counterplay.algorithms.mccfr.memory import (
    COMPILED_TABLES,
    CompiledSamplingMemory,
    RulesSamplingMemory,
)
from counterplay.core.state_io import flatten_memory, restore_memory
from counterplay.errors import RunError
from counterplay.kernels.sampling.lazy_nodes import LazyNodes, node_at
from counterplay.registry import load_algorithm

CASES = [
    ("leduc_poker", "external_sampling", 20),
    ("kuhn_poker(players=3)", "external_sampling(gamma=1)", 50),
    ("goofspiel(num_cards=3)", "external_sampling(draw_by_infoset=true)", 30),
    ("liars_dice(dice_sides=3)", "outcome_sampling(lazy_averaging=true)", 100),
    ("phantom_tic_tac_toe", "outcome_sampling", 30),
    ("kuhn_poker", "chance_sampling", 30),
    ("leduc_poker", "average_strategy_sampling", 20),
    ("leduc_poker", "probing", 40),
    ("leduc_poker", "online_outcome_sampling", 30),
]


@pytest.mark.parametrize(("spec", "method", "count"), CASES)
def test_the_same_bits_as_on_readable_rules(spec, method, count):
    arena, algorithm = cp.RulesArena(cp.load_game(spec)), load_algorithm(method)
    ours = algorithm.init(arena, 3)
    assert isinstance(ours, CompiledSamplingMemory)
    ours = algorithm.step(arena, ours, count)
    plain = algorithm.step(arena, RulesSamplingMemory(0, ours.seed, ""), count)
    size = ours.size.num_entries
    for name in COMPILED_TABLES:
        assert np.array_equal(getattr(ours, name)[:size], np.array(getattr(plain, name))), name
    assert ours.infosets == plain.infosets
    assert ours.nodes_touched == plain.nodes_touched
    assert ours.size.num_infosets == plain.size.num_infosets == len(plain.infosets)


@pytest.mark.parametrize("samples_chance", [True, False])
def test_walks_that_match_regrets_follow_drawn_and_listed_deals(samples_chance):
    """Compiled poker draws a card without listing the others, unless all outcomes are visited."""
    kuhn = {"blinds": (1, 1), "opens": (0,), "raises": (1,), "raise_caps": (1,), "ranks": 3}
    game = cp.load_game("poker", suits=1, hole=1, board=(0,), **kuhn)
    options = {"match_in_walk": True, "sample_chance": samples_chance}
    arena, algorithm = cp.RulesArena(game), load_algorithm("chance_sampling", **options)
    ours = algorithm.init(arena, 3)
    assert isinstance(ours, CompiledSamplingMemory)
    ours = algorithm.step(arena, ours, 30)
    plain = algorithm.step(arena, RulesSamplingMemory(0, ours.seed, ""), 30)
    tree = cp.build_tree(game)
    tables = [
        algorithm.policies(arena, memory)["average"].tabulate(tree) for memory in (ours, plain)
    ]
    assert np.array_equal(tables[0].probabilities, tables[1].probabilities)
    assert ours.nodes_touched == plain.nodes_touched


def test_resumed_equals_uninterrupted():
    arena, algorithm = cp.RulesArena(cp.load_game("leduc_poker")), load_algorithm(CASES[0][1])
    whole = algorithm.step(arena, algorithm.init(arena, 1), 30)
    half = algorithm.step(arena, algorithm.init(arena, 1), 12)
    again = restore_memory(algorithm.init(arena, 1), flatten_memory(half))
    again = algorithm.step(arena, again, 18)
    for path, leaf in flatten_memory(whole).arrays.items():
        assert np.array_equal(leaf, flatten_memory(again).arrays[path]), path
    first, second = (algorithm.policies(arena, m)["average"] for m in (whole, again))
    assert dict(first.rows) == dict(second.rows)


def test_old_checkpoints_go_on_with_readable_rules():
    arena, algorithm = cp.RulesArena(cp.games.KuhnPoker()), load_algorithm("external_sampling")
    old = algorithm.step(arena, RulesSamplingMemory(0, 7, ""), 5)
    result = restore_memory(algorithm.init(arena), flatten_memory(old))
    assert isinstance(result, RulesSamplingMemory)
    assert algorithm.step(arena, result, 5).iteration == 10


def test_an_iteration_without_end_is_refused(monkeypatch):
    for module in (memory, compiled_backend):
        monkeypatch.setattr(module, "MAX_NODES_PER_ITERATION", 64)
    compiled_backend._node_arrays.cache_clear()
    arena, algorithm = cp.RulesArena(cp.load_game("leduc_poker")), load_algorithm(CASES[0][1])
    try:
        with pytest.raises(RunError, match=r"one iteration met more than 64 nodes; take an"):
            algorithm.step(arena, algorithm.init(arena), 50)
    finally:
        compiled_backend._node_arrays.cache_clear()


def test_readable_rules_refuse_it_too(monkeypatch):
    monkeypatch.setattr(rules_backend, "MAX_NODES_PER_ITERATION", 64)
    arena, algorithm = cp.RulesArena(cp.load_game("leduc_poker")), load_algorithm(CASES[0][1])
    with pytest.raises(RunError, match=r"one iteration met more than 64 nodes; take an"):
        algorithm.step(arena, RulesSamplingMemory(0, 0, ""), 50)


def test_a_failure_is_told_even_if_room_runs_out_after_it(monkeypatch):
    @njit
    def see(rules, states, player, key):
        if rules[0] == 2:
            raise ValueError
        key[:] = 0

    for module in (memory, compiled_backend):
        monkeypatch.setattr(
            module, "MAX_NODES_PER_ITERATION", 8
        )  # two deals and the first decision
    compiled_backend._node_arrays.cache_clear()
    whole = compiled_backend._find_compiled_game(cp.games.KuhnPoker())._replace(infoset_key=see)
    monkeypatch.setattr(compiled_backend, "_find_compiled_game", lambda game: whole)
    arena, algorithm = cp.RulesArena(cp.games.KuhnPoker()), load_algorithm("external_sampling")
    try:
        with pytest.raises(RunError, match="a function of its compiled rules failed"):
            algorithm.step(arena, algorithm.init(arena), 1)
    finally:
        compiled_backend._node_arrays.cache_clear()


def test_a_machine_that_fails_is_no_answer(monkeypatch):
    @njit
    def look(rules, states, player, count):
        if rules[0] == 2:
            raise ValueError
        player[:], count[:] = -2, 0

    whole = compiled_backend._find_compiled_game(cp.games.KuhnPoker())._replace(current_player=look)
    monkeypatch.setattr(compiled_backend, "_find_compiled_game", lambda game: whole)
    arena, algorithm = cp.RulesArena(cp.games.KuhnPoker()), load_algorithm("external_sampling")
    with pytest.raises(RunError, match="a function of its compiled rules failed"):
        algorithm.step(arena, algorithm.init(arena), 1)


def test_nodes_are_not_taken_for_the_parts_of_a_tuple():
    """Numba reads a part where the number is known when it compiles, as that of the root is."""

    @njit
    def root(nodes):
        return node_at(nodes, 0).player

    root.compile((typeof(LazyNodes(1, 2, 3, 4, 5, 6, 7)),))
    assert root.signatures
