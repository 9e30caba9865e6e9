"""Policies of runs with networks on rules, which have no table of their own."""

from __future__ import annotations

import json

import numpy as np
import pytest

import counterplay as cp

pytest.importorskip("jax")


@pytest.fixture
def networks(monkeypatch):
    """Policies that `load_policies` returns for such a run."""
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
    from counterplay.algorithms.deep.common.networks import new_nets

    game = cp.load_game("kuhn_poker")
    size = len(game.observation(game.initial_state(), 0))
    policy = NetworkPolicy(game, (new_nets(np.random.default_rng(0), 2, (size, 4, 2)),))
    monkeypatch.setattr(
        "counterplay.experiment.saved_policies.load_policies",
        lambda *given, **options: {"net": policy},
    )
    return policy


def test_commands_put_networks_on_the_tree(run, networks, tmp_path):
    facts = json.loads(run("evaluate", "run", "--json").out)
    table = networks.tabulate(cp.build_tree("kuhn_poker"))
    exact = cp.exploitability(cp.build_tree("kuhn_poker"), table)
    assert facts["exploitability"] == pytest.approx(exact)
    shown = json.loads(run("show", "run", "--json").out)
    assert len(shown["infosets"]) == 12
    for name in ("x.csv", "x.json", "x.policy"):
        file = tmp_path / name
        assert run("export", "run", file).code == 0
        assert file.stat().st_size > 100
    loaded = cp.load_policy(tmp_path / "x.policy", cp.build_tree("kuhn_poker"))
    assert np.array_equal(loaded.probabilities, table.probabilities)
    assert run("draw", "kuhn_poker", "--policy", "run", "-o", tmp_path / "x.svg").code == 0


def test_export_writes_networks_for_other_programs(run, networks, tmp_path):
    from counterplay.interop import counterplay_runtime

    answer = run("export", "run", tmp_path / "net.npz", "--runtime")
    assert answer.code == 0
    assert (tmp_path / "counterplay_runtime.py").is_file()
    portable = counterplay_runtime.load(tmp_path / "net.npz")
    game = networks.game
    state = game.next_state(game.next_state(game.initial_state(), 2), 0)
    row = portable.probabilities(0, game.observation(state, 0), game.actions(state))
    assert list(row.values()) == pytest.approx(networks.action_probabilities(state, 0), abs=1e-6)
    pytest.importorskip("onnx")
    assert run("export", "run", tmp_path / "net.onnx").code == 0
    refused = run("export", "run", tmp_path / "net.json", "--runtime")
    assert refused.code == 2
    assert "does not end in .npz" in refused.err
    assert not (tmp_path / "net.json").exists()


def test_networks_of_large_holdem_are_judged_on_all_hands(run, monkeypatch):
    """`evaluate` states the cost first, then the exploitability in chips and in mbb per game."""
    from counterplay.algorithms.deep.common.network_policy import NetworkPolicy
    from counterplay.algorithms.deep.common.networks import new_nets
    from counterplay.games.poker_encoding import EncodedPoker

    spec = "poker(board=(0,1),raise_caps=(1,1),raises=(10,10),opens=(1,0))"  # 52 cards
    game = EncodedPoker(cp.load_game(spec), "cards_up_to_suits")
    nets = new_nets(np.random.default_rng(0), 2, (game.num_features, 4, 3))
    policy = NetworkPolicy(game, (nets,))
    monkeypatch.setattr(
        "counterplay.experiment.saved_policies.load_policies",
        lambda *given, **options: {"net": policy},
    )
    arena = cp.holdem.HoldemGameArena(cp.load_game(spec))
    exact = cp.judge(arena, policy).exploitability
    facts = json.loads(run("evaluate", "run", "--json").out)
    assert facts["exploitability"] == pytest.approx(exact)
    assert facts["mbb_per_game"] == pytest.approx(100.0 * exact)  # the big blind is 10 chips
    answer = run("evaluate", "run")
    assert f"mbb per game    {100.0 * exact:.2f}" in answer.out
    assert "net: a network at " in answer.err and "infosets, about" in answer.err
