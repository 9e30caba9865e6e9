"""Rules as an arena, without a tree."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.mccfr.memory import RulesSamplingMemory
from counterplay.core import random
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.state_io import (
    MemoryLeaves,
    find_invalid_value,
    flatten_memory,
    restore_memory,
)
from counterplay.registry import load_algorithm
from tests.conftest import game_tree

LARGE_GAME = "liars_dice(numdice=2,dice_sides=4)"  # 33.6 million histories


@pytest.mark.parametrize(
    "spec", ["external_sampling", "outcome_sampling(lazy_averaging=true)", "vr_mccfr"]
)
def test_solves_kuhn(spec, kuhn):
    result = cp.solve(cp.RulesArena(cp.games.KuhnPoker()), load_algorithm(spec), iterations=6000)
    assert result.memory.size.num_infosets == len(result.policy) == 12
    assert cp.exploitability(kuhn, result.policy.tabulate(kuhn)) < 0.05  # uniform play: 11/24
    assert set(result.policy["2b"]) == {"pass", "bet"}
    assert result.policy["2b"]["bet"] > 0.99


def test_a_game_the_builder_refuses():
    """Tables hold visited infosets only, so that runs fit where a tree does not."""
    game = cp.load_game(LARGE_GAME)
    limit = 32 * 2**20
    with pytest.raises(cp.RunError, match="raise memory_limit"):
        cp.build_tree(game, memory_limit=limit)
    records = []
    tracemalloc.start()
    result = cp.solve(
        cp.RulesArena(game),
        cp.algorithms.OutcomeSampling(),
        iterations=1000,
        report=records.append,
        memory=RulesSamplingMemory(0, 1),  # of the readable rules: compiled ones keep more room
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < limit / 8
    assert [record.iteration for record in records] == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    infosets = [record.metrics["infosets"] for record in records]
    assert infosets == sorted(infosets)
    assert 1000 < infosets[-1] == len(result.policy) < 655_360
    assert 0.5 * peak < result.memory.size.num_bytes < 2.0 * peak
    assert result.memory.size.nodes_touched > 10_000
    assert sum(result.policy["1,4"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "spec",
    [
        "external_sampling",
        "outcome_sampling(lazy_averaging=true)",
        "vr_mccfr",
        "vr_mccfr(predictive_baseline=true)",
    ],
)
@pytest.mark.parametrize("name", ["leduc_poker", "odd"])
def test_resumed_equals_uninterrupted(spec, name, tmp_path):
    """Also when the memory was written to a file on the way, as a checkpoint holds it."""
    game = Broken("odd") if name == "odd" else cp.load_game(name)
    algorithm = load_algorithm(spec)
    whole = cp.solve(cp.RulesArena(game), algorithm, iterations=40, seed=3)
    part = cp.solve(cp.RulesArena(game), algorithm, iterations=15, seed=3)
    taken = flatten_memory(part.memory)
    write_archive(tmp_path / "memory", "test", taken.arrays | taken.scalars)
    stored = read_archive(tmp_path / "memory", "test")
    found = MemoryLeaves(
        {k: stored[k] for k in taken.arrays}, {k: stored[k] for k in taken.scalars}, []
    )
    memory = restore_memory(algorithm.init(cp.RulesArena(game), 9), found)
    assert same(memory, part.memory)
    rest = cp.solve(cp.RulesArena(game), algorithm, iterations=25, memory=memory)
    assert rest.memory.size == whole.memory.size
    assert same(rest.memory, whole.memory)
    assert not find_invalid_value(whole.memory)


def same(first, second):
    """Equal, also in the order in which things were met."""
    ours, theirs = first.to_arrays(), second.to_arrays()
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[k], theirs[k]) for k in ours)


def test_guesses_belong_to_histories():
    """Two histories may lead to the same state; their guesses are two, as on a tree."""

    class Forgetful(Broken):
        def next_state(self, state, action):
            return (0, *state[1:], action) if state else (0,)

    game, algorithm = Forgetful(), cp.algorithms.VRMCCFR(predictive_baseline=True)
    sampled = cp.solve(cp.RulesArena(game), algorithm, iterations=200).memory
    tree = cp.build_tree(game)
    compiled = algorithm.step(tree, algorithm.init(tree), 200)
    assert len(sampled.baseline_slots) == tree.num_nodes == 15
    assert sorted(sampled.baseline) == sorted(compiled.baseline[0])


def test_stops_when_asked():
    ticks = []
    result = cp.solve(
        cp.RulesArena(cp.games.KuhnPoker()),
        cp.algorithms.ExternalSampling(),
        iterations=10**9,
        tick=ticks.append,
        stop=lambda: len(ticks) > 3,
    )
    assert result.stopped
    assert result.memory.size.iteration == ticks[-1] == result.memory.iteration


def test_draws_are_those_of_the_kernels():
    from counterplay.kernels.sampling import primitives

    compiled, plain = np.zeros(1, np.uint64), [0]
    for seed, t, stream in ((0, 1, 0), (2**64 - 1, 10**9, 3), (12345678901234567890, 77, 1)):
        primitives.seed_stream(np.uint64(seed), t, stream, compiled)
        random.seed_stream(seed, t, stream, plain)
        for _ in range(100):
            assert primitives.draw_uniform(compiled) == random.draw_uniform(plain)


def test_draws_are_even():
    from counterplay.kernels.sampling import primitives

    rng, found = np.zeros(1, np.uint64), []
    for t in range(2000):  # the first draws of many walks, not many draws of one walk
        primitives.seed_stream(np.uint64(1), t, 0, rng)
        found += [primitives.draw_uniform(rng) for _ in range(5)]
    counts, _ = np.histogram(found, 20, (0.0, 1.0))
    assert ((counts - 500) ** 2 / 500).sum() < 43.8  # chi-square with 19 degrees, 0.1 %
    first = np.array(found).reshape(-1, 5)
    assert np.abs(np.corrcoef(first, rowvar=False) - np.eye(5)).max() < 0.08
    assert abs(np.corrcoef(first[1:, 0], first[:-1, 0])[0, 1]) < 0.08


def test_policies_of_infosets_met(kuhn, tmp_path):
    result = cp.solve(
        cp.RulesArena(cp.games.KuhnPoker()), cp.algorithms.OutcomeSampling(), iterations=3
    )
    policy = result.policy
    assert len(policy) < 12
    missing = next(key for key in kuhn.infoset_keys if key not in {k for _, k, _ in policy.items()})
    with pytest.raises(cp.ConfigError, match="was never visited"):
        policy[missing]
    whole = policy.tabulate(kuhn)
    assert whole[missing] == {"pass": 0.5, "bet": 0.5}
    policy.save(tmp_path / "kuhn.policy")
    loaded = cp.load_policy(tmp_path / "kuhn.policy", kuhn)
    assert (loaded.probabilities == whole.probabilities).all()
    with pytest.raises(cp.RunError, match="policy for kuhn_poker"):
        cp.load_policy(tmp_path / "kuhn.policy", game_tree("kuhn_poker(players=3)"))
    with pytest.raises(cp.ConfigError, match="does not fit"):
        cp.solve(cp.RulesArena(Broken("names")), cp.algorithms.OutcomeSampling()).policy.tabulate(
            kuhn
        )
    policy.to_json(tmp_path / "kuhn.json")
    stored = json.loads((tmp_path / "kuhn.json").read_text())
    assert sum(map(len, stored["players"])) == len(policy)
    policy.to_csv(tmp_path / "kuhn.csv")
    assert len((tmp_path / "kuhn.csv").read_text().splitlines()) == 2 + 2 * len(policy)


def test_players_who_share_a_key():
    class Pennies(Broken):
        def infoset_key(self, state, player):
            return "same"

    policy = cp.solve(
        cp.RulesArena(Pennies()), cp.algorithms.ExternalSampling(), iterations=5
    ).policy
    with pytest.raises(cp.ConfigError, match="give the player too"):
        policy["same"]
    assert set(policy[1, "same"]) == {"heads", "tails"}


class Broken:
    """Matching pennies with a coin toss first, broken in one way."""

    num_players = 2

    def __init__(self, how=""):
        self.how = how

    def initial_state(self):
        return ()

    def player(self, state):
        if not state:
            return cp.CHANCE
        if self.how == "player" and len(state) == 2:
            return 7
        return len(state) - 1 if len(state) < 3 or self.how == "endless" else cp.TERMINAL

    def actions(self, state):
        if self.how == "no action":
            return ()
        if self.how == "odd":
            return np.arange(2)
        return (0, 1, 2) if self.how == "actions" and state[0] and len(state) == 1 else (0, 1)

    def chance_outcomes(self, state):
        return [(0, 0.5), (1, 0.6 if self.how == "chance" else 0.5)]

    def next_state(self, state, action):
        return (*state, action) if self.how != "endless" or len(state) < 2 else state

    def utilities(self, state):
        gain = 1.0 if state[1] == state[2] else -1.0
        return (gain,) if self.how == "utilities" else (gain, -gain)

    def infoset_key(self, state, player):
        if self.how == "odd":
            return '"\0\udc80\n☃' + str(player)
        return "0" if self.how == "names" else f"player {player}"

    def action_name(self, state, action):
        return ("heads", "tails", "edge")[action]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("chance", r"chance probabilities are \[0.5, 0.6\]"),
        ("no action", "player 0 has no legal action"),
        (
            "actions",
            "infoset 'player 0' has actions .* here but .* elsewhere; history: (heads|tails)",
        ),
        ("player", r"player\(\) is 7, not in 0..1, CHANCE or TERMINAL; history: "),
        ("utilities", "1 utilities for 2 players; history: "),
        ("endless", "still not over after 10,000 actions"),
    ],
)
def test_broken_rules(how, message):
    with pytest.raises(cp.GameError, match=message):
        cp.solve(cp.RulesArena(Broken(how)), cp.algorithms.ExternalSampling(), iterations=50)


def test_wrong_use():
    with pytest.raises(
        cp.ConfigError, match=r"on sequences or vectors; .*to sample the rules take"
    ):
        cp.solve(cp.RulesArena(cp.games.KuhnPoker()), cp.algorithms.CFRPlus())
    with pytest.raises(cp.ConfigError, match="iterations is 0, must be at least 1"):
        cp.solve(
            cp.RulesArena(cp.games.KuhnPoker()), cp.algorithms.ExternalSampling(), iterations=0
        )
