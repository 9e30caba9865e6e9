"""The Monte Carlo CFR family: reproducibility, workers, known figures, and the special cases."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import counterplay as cp
from counterplay.algorithms.mccfr.engine import WorkerRows
from counterplay.algorithms.mccfr.workers import next_merge_iteration, round_length
from counterplay.registry import load_algorithm
from tests.algorithms.test_algorithms import memories_equal
from tests.conftest import game_tree, main_policy
from tests.random_games import RandomGame

FAMILY = [
    "chance_sampling",
    "chance_sampling(regret_matching_plus=true)",
    "external_sampling",
    "external_sampling(hedge_eta=0.3,gamma=1)",
    "outcome_sampling",
    "outcome_sampling(lazy_averaging=true)",
    "probing",
    "average_strategy_sampling(epsilon=0.3,tau=1,beta=1)",
    "vr_mccfr",
    "vr_mccfr(predictive_baseline=true,alpha=1,gamma=1)",
    "vr_mccfr_plus",
    "vr_mccfr_plus(predictive_baseline=true)",
    "online_outcome_sampling",
]


def run(spec, tree, iterations, seed=0):
    algorithm = load_algorithm(spec)
    return algorithm.step(tree, algorithm.init(tree, seed), iterations)


@pytest.mark.parametrize("spec", FAMILY)
@pytest.mark.parametrize(
    "game",
    ["kuhn_poker(players=3)", "leduc_poker", RandomGame(seed=3, num_players=2, max_depth=4)],
    ids=str,
)
def test_the_rules_say_what_the_tree_says(spec, game):
    """Compiled walks on a tree and the same source as plain Python on the rules: the same bits."""
    rules = cp.load_game(game) if isinstance(game, str) else game
    tree = game_tree(game) if isinstance(game, str) else cp.build_tree(game)
    compiled = run(spec, tree, 30, seed=5)
    sampled = run(spec, cp.RulesArena(rules), 30, seed=5)
    assert sampled.nodes_touched == compiled.nodes_touched[0]
    assert len(sampled.infosets) > 3
    for (player, key), (first, names) in sampled.infosets.items():
        there = slice(first, first + len(names))
        infoset = tree.find_infoset(key, player)
        here = slice(*tree.offset[infoset : infoset + 2])
        for table in ("regret", "policy", "policy_sum"):
            result, exact = getattr(sampled, table)[there], getattr(compiled, table)[0, here]
            if "eta" in spec:  # two libraries' exponentials may differ in the last bit
                np.testing.assert_allclose(result, exact, rtol=1e-12, atol=1e-12)
            else:
                assert result.tolist() == exact.tolist()
    met = {tree.find_infoset(key, player) for player, key in sampled.infosets}
    for infoset in set(range(tree.num_infosets)) - met:
        assert not compiled.policy_sum[0, slice(*tree.offset[infoset : infoset + 2])].any()


@pytest.mark.parametrize("spec", FAMILY[:-1])
def test_cuts_do_not_matter(spec, kuhn):
    """However a run is cut into steps, and across merges: the same bits."""
    name = spec.removesuffix(")") + (",num_workers=2)" if "(" in spec else "(num_workers=2)")
    algorithm = load_algorithm(name)
    whole = algorithm.step(kuhn, algorithm.init(kuhn, seed=3), 5_007)
    part = algorithm.init(kuhn, seed=3)
    for count in (1, 12, 243, 768, 1, 3_000, 982):
        part = copy.deepcopy(algorithm.step(kuhn, part, count))
    assert whole.iteration == part.iteration == 5_007
    assert memories_equal(whole, part)


def test_seeds_and_workers_differ(kuhn):
    algorithm = cp.algorithms.ExternalSampling(num_workers=2)
    first, second = (algorithm.step(kuhn, algorithm.init(kuhn, seed), 50) for seed in (0, 1))
    assert not np.array_equal(first.regret, second.regret)
    assert not np.array_equal(first.regret[0], first.regret[1])


def test_workers_go_on_with_the_mean_of_their_regrets(kuhn):
    """Every worker is a run of its own until the merge; then all have the mean."""
    algorithm = cp.algorithms.ExternalSampling(num_workers=3)
    start = algorithm.step(kuhn, algorithm.init(kuhn), next_merge_iteration(1_000, 3))
    assert (start.regret == start.regret[0]).all()
    count = next_merge_iteration(start.iteration, 3) - start.iteration
    assert count > 10
    memory = algorithm.step(kuhn, copy.deepcopy(start), count - 1)
    alone = []
    for w in range(3):
        single = WorkerRows(start.iteration, *(a[w : w + 1].copy() for a in arrays(start)))
        alone.append(algorithm.step(kuhn, single, count - 1).regret[0])
    assert np.array_equal(memory.regret, alone)
    merged = algorithm.step(kuhn, copy.deepcopy(memory), 1)
    assert (merged.regret == merged.regret[0]).all()
    assert (merged.policy == merged.policy[0]).all()
    last = merged.regret[0] - memory.regret.mean(axis=0)  # the mean of the last three walks
    assert 0.0 < np.abs(last).max() <= 4.0
    after = algorithm.step(kuhn, merged, 5)
    assert not (after.regret == after.regret[0]).all()


def arrays(memory):
    return [getattr(memory, field.name) for field in dataclasses.fields(memory)][1:]


@pytest.mark.parametrize("workers", [2, 3, 16, 64, 256])
def test_rounds_grow(workers):
    """Whether an iteration ends with a merge depends on it alone, and rounds are a share of t."""
    merges = [t for t in range(1, 60_000) if t % round_length(t, workers) == 0]
    result, t = [], 0
    while (t := next_merge_iteration(t, workers)) < 60_000:
        result.append(t)
    assert result == merges
    for t in (10_000, 10**6, 10**9):
        assert 0.07 <= (
            next_merge_iteration(next_merge_iteration(t, workers), workers) - t
        ) / t * workers <= 0.33 or (round_length(t, workers) == 1)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(kuhn, threads):
    """More workers than threads: the same bits for any number of threads."""
    algorithm = cp.algorithms.ExternalSampling(num_workers=7)
    expected = algorithm.step(kuhn, algorithm.init(kuhn, seed=1), 500)
    cp.set_num_threads(threads)
    try:
        assert memories_equal(algorithm.step(kuhn, algorithm.init(kuhn, seed=1), 500), expected)
    finally:
        cp.set_num_threads(None)


def test_two_workers_learn_more_from_as_many_iterations(leduc):
    results = [
        [
            cp.solve(
                leduc, cp.algorithms.ExternalSampling(num_workers=w), iterations=20_000, seed=s
            )
            for s in range(3)
        ]
        for w in (1, 2)
    ]
    one, two = (np.mean([r.exploitability for r in row]) for row in results)
    assert two < 0.85 * one  # 1 / sqrt(2) in theory


# NashConv by number of iterations: least and most of five runs of an independent program, or
# near their mean. vr_mccfr may do better: its average varies less than theirs.
KNOWN = {
    ("kuhn_poker", "external_sampling"): (100_000, 0.0042, 0.0056),
    ("kuhn_poker", "chance_sampling"): (100_000, 0.0026, 0.0057),
    ("kuhn_poker", "outcome_sampling"): (100_000, 0.0114, 0.0224),
    ("kuhn_poker", "vr_mccfr"): (100_000, 0.0068, 0.0170),
    ("kuhn_poker", "average_strategy_sampling(tau=1)"): (100_000, 0.0056, 0.0111),
    ("kuhn_poker", "probing"): (100_000, 0.0017, 0.0093),
    ("leduc_poker", "external_sampling"): (10_000, 0.51, 0.61),
    ("leduc_poker", "chance_sampling"): (10_000, 0.38, 0.47),
    ("leduc_poker", "outcome_sampling"): (10_000, 2.18, 2.46),
    ("leduc_poker", "vr_mccfr"): (50_000, 0.7 * 1.17, 1.1 * 1.17),
    ("leduc_poker", "average_strategy_sampling(tau=1)"): (50_000, 0.8 * 0.525, 1.2 * 0.525),
    ("leduc_poker", "probing"): (50_000, 0.9 * 0.5, 1.1 * 0.5),
}
NODES = {  # per iteration
    ("kuhn_poker", "external_sampling"): 14.6,
    ("kuhn_poker", "chance_sampling"): 22,
    ("kuhn_poker", "outcome_sampling"): 10.6,
    ("kuhn_poker", "average_strategy_sampling(tau=1)"): 10.9,
    ("kuhn_poker", "probing"): 14.6,
    ("leduc_poker", "external_sampling"): 45,
    ("leduc_poker", "chance_sampling"): 184,
    ("leduc_poker", "outcome_sampling"): 15.8,
    ("leduc_poker", "probing"): 33,
}


@pytest.mark.parametrize(("game", "name"), KNOWN)
def test_known_figures(game, name):
    """The mean of five seeds lies where five independent runs of another program lay."""
    iterations, low, high = KNOWN[game, name]
    tree, algorithm = game_tree(game), load_algorithm(name)
    result, touched = [], []
    for seed in range(5):
        memory = algorithm.step(tree, algorithm.init(tree, seed), iterations)
        result.append(cp.nash_conv(tree, main_policy(algorithm, tree, memory)))
        touched.append(memory.nodes_touched.sum() / iterations)
    assert low < np.mean(result) < high
    if (game, name) in NODES:
        assert np.mean(touched) == pytest.approx(NODES[game, name], rel=0.02)


def test_everything_included_is_external_sampling(leduc):
    """Average strategy sampling of all actions equals external sampling."""
    everything = run("average_strategy_sampling(epsilon=1)", leduc, 500)
    assert memories_equal(everything, run("external_sampling", leduc, 500))


@pytest.mark.parametrize("game", ["tic_tac_toe", "rock_paper_scissors"])
def test_chance_sampling_without_chance_is_vanilla_cfr(game):
    if game == "tic_tac_toe":
        tree = cp.build_tree(cp.games.Goofspiel(num_cards=4, points_order="descending"))
    else:
        tree = game_tree("matrix_game(payoffs=(((1,-2),(-1,1)),((-1,2),(1,-1))))")
    assert not (tree.player == cp.CHANCE).any()
    sampled = cp.solve(tree, cp.algorithms.ChanceSampling(), iterations=50)
    full = cp.solve(tree, cp.algorithms.CFR(), iterations=50)
    np.testing.assert_allclose(sampled.policy.probabilities, full.policy.probabilities, atol=1e-9)
    assert sampled.exploitability == pytest.approx(full.exploitability, abs=1e-9)


@pytest.mark.parametrize("spec", FAMILY)
def test_one_action_and_one_player(spec):
    """Infosets with a single action, games of one player, games without any decision."""
    lonely = cp.build_tree(RandomGame(seed=1, num_players=1, max_depth=4))
    assert (lonely.num_actions == 1).any() or lonely.num_infosets
    algorithm = load_algorithm(spec)
    result = cp.solve(lonely, algorithm, iterations=20_000)
    assert result.exploitability < 0.05
    nothing = cp.build_tree(cp.games.MatrixGame(payoffs=np.zeros((3, 1, 1, 1))))
    assert cp.solve(nothing, algorithm, iterations=3).exploitability == 0.0


@pytest.mark.parametrize(
    "spec", ["external_sampling", "chance_sampling", "vr_mccfr(predictive_baseline=true)"]
)
def test_three_players(spec):
    tree = game_tree("kuhn_poker(players=3)")
    result = cp.solve(tree, load_algorithm(spec), iterations=200_000)
    assert 3 * result.exploitability < 0.02


def test_plus_and_hedge_solve_too(kuhn):
    for spec in (
        *(
            "external_sampling(regret_matching_plus=true,gamma=1)",
            "external_sampling(hedge_eta=0.02)",
        ),
        *("chance_sampling(regret_matching_plus=true,gamma=1)", "chance_sampling(hedge_eta=0.02)"),
        *(
            "probing(regret_matching_plus=true)",
            "probing(hedge_eta=0.02)",
            "vr_mccfr(regret_matching_plus=true)",
            "vr_mccfr(hedge_eta=0.01)",
        ),
    ):
        result = cp.solve(kuhn, load_algorithm(spec), iterations=300_000)
        assert result.exploitability < 1e-2, spec


def test_the_lazy_average_counts_every_iteration(kuhn):
    """Infosets of own reach 1 have one unit of weight per iteration, the last when it is read."""
    algorithm = cp.algorithms.OutcomeSampling(lazy_averaging=True)
    memory = algorithm.step(kuhn, algorithm.init(kuhn), 50)
    average = main_policy(algorithm, kuhn, memory)
    num_late = 0
    for key in ("0", "1", "2", "0p", "1p", "2p", "0b", "1b", "2b"):
        first, last = kuhn.offset[kuhn.find_infoset(key) :][:2]
        counted = memory.policy_sum[0, first:last]
        missing = 50 - memory.last_averaged[0, first]
        assert counted.sum() == pytest.approx(50 - missing)
        expected = (counted + missing * memory.policy[0, first:last]) / 50
        assert list(average[key].values()) == pytest.approx(expected.tolist())
        num_late += missing > 0
    assert num_late
    result = cp.solve(kuhn, algorithm, iterations=300_000)
    assert result.exploitability < 1e-2


def test_baselines_are_exponentially_decaying_averages(kuhn):
    """From zero, two values v and w in turn give decay * (1 - decay) * v + decay * w."""
    baselines = []
    for decay in (0.25, 0.5, 1.0):
        algorithm = cp.algorithms.VRMCCFR(baseline_decay=decay)
        baselines.append(algorithm.step(kuhn, algorithm.init(kuhn, 3), 1).baseline[0])
    quarter, half, second = baselines
    first = 4.0 * (half - 0.5 * second)  # zero if the episode meets a baseline once
    assert quarter == pytest.approx(0.25 * 0.75 * first + 0.25 * second, abs=1e-12)
    assert np.count_nonzero(second) >= 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("outcome_sampling(epsilon=0)", "epsilon is 0, must be positive and at most 1"),
        ("outcome_sampling(epsilon=1.5)", "epsilon is 1.5, must be positive and at most 1"),
        ("probing(epsilon=-0.1)", "epsilon is -0.1, must be positive and at most 1"),
        ("vr_mccfr(epsilon=nan)", "must be of type float"),
        ("average_strategy_sampling(epsilon=2)", "epsilon is 2, must be positive and at most 1"),
        ("average_strategy_sampling(tau=0.5)", "tau is 0.5, must be at least 1"),
        ("average_strategy_sampling(beta=-1)", "beta is -1, must be at least 0"),
        ("average_strategy_sampling(beta=inf)", "beta is inf, must be at least 0 and finite"),
        ("vr_mccfr(baseline_decay=0)", "baseline_decay is 0, must be positive and at most 1"),
        (
            "vr_mccfr(regret_matching_plus=true,hedge_eta=1)",
            "regret_matching_plus is for regret matching",
        ),
        (
            "vr_mccfr_plus(predictive_baseline=true,baseline_decay=0.1)",
            "baseline_decay is for decaying baselines",
        ),
        (
            "external_sampling(num_workers=0)",
            "num_workers is 0, must be at least 1 and at most 256",
        ),
        ("external_sampling(gamma=-1)", "gamma is -1, must be at least 0"),
        ("chance_sampling(hedge_eta=-1)", "hedge_eta is -1, must be at least 0"),
        ("outcome_sampling(plus=true)", "outcome_sampling has no parameter 'plus'"),
        ("online_outcome_sampling(player=-1)", "player is -1, must be at least 0"),
    ],
)
def test_bad_values(spec, message):
    with pytest.raises(cp.ConfigError, match=message):
        load_algorithm(spec)
