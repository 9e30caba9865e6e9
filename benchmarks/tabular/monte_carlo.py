"""Measure Monte Carlo CFR and fictitious play; writes docs/monte_carlo.md and docs/monte_carlo.svg.

    python -m benchmarks.tabular.monte_carlo                 all sections
    python -m benchmarks.tabular.monte_carlo speed variance  some of them

Speeds are ratios from one process in which the two sides take turns. Exploitability is exact.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pyspiel
from numba import njit

import counterplay as cp
from benchmarks.large_games.sampled_liars_dice import report_large_game
from benchmarks.timing import first_paragraph, format_head, format_row, time_in_turns
from counterplay.algorithms.mccfr import workers as mccfr_workers
from counterplay.algorithms.mccfr.memory import new_scratch
from counterplay.kernels.sampling import baselines, episodes

DOCS = Path(__file__).parents[2] / "docs"
GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "goofspiel", "liars_dice"]
COLOR_BY_ALGORITHM = {
    "chance_sampling": "#999999",
    "external_sampling": "#4477aa",
    "average_strategy_sampling": "#66ccee",
    "probing": "#228833",
    "outcome_sampling": "#ccbb44",
    "outcome_sampling(lazy_averaging=true)": "#dd9933",
    "vr_mccfr": "#ee6677",
    "vr_mccfr(predictive_baseline=true)": "#aa3377",
    "vr_mccfr_plus": "#996644",
    "vr_mccfr_plus(predictive_baseline=true)": "#222222",
    "xfp": "#77aa77",
    "fsp": "#5555cc",
    "batch_fsp": "#aa99dd",
    "table_lookup_fsp": "#7733bb",
}
MAX_NODES_TOUCHED = 10_000_000
NUM_SEEDS = 5
EPSILONS = (0.4, 0.6, 0.7, 0.8, 0.9)


def measure_curve(tree, spec, seed, marks):
    """Return (nodes touched, seconds, exploitability) at each mark of touched nodes."""
    algorithm = cp.load_algorithm(spec)
    algorithm.step(tree, algorithm.init(tree, seed), 1)  # compiles
    memory = algorithm.init(tree, seed)
    rows, seconds = [], 0.0
    for mark in marks:
        while (missing := mark - count_nodes_touched(tree, algorithm, memory)) > 0:
            nodes = count_nodes_touched(tree, algorithm, memory)
            rate = nodes / max(memory.iteration, 1) or tree.level_offset.size
            start = time.process_time()
            algorithm.step(tree, memory, max(1, int(missing / rate)))
            seconds += time.process_time() - start
        value = cp.exploitability(tree, algorithm.policies(tree, memory)["average"])
        rows.append((count_nodes_touched(tree, algorithm, memory), seconds, value))
    return rows


def count_nodes_touched(tree, algorithm, memory):
    """Return the nodes visited so far; replayed episodes of self-play do not count again."""
    if hasattr(memory, "nodes_touched"):
        return int(memory.nodes_touched.sum())
    if isinstance(algorithm, cp.algorithms.XFP):  # one pass for each player's response
        return memory.iteration * tree.num_players * tree.num_nodes
    # self-play stores the terminals of its last episodes: their mean depth estimates that of all
    stored = [
        row[: min(n, row.size)]
        for row, n in zip(memory.learner_episodes, memory.num_stored, strict=True)
    ]
    ends = tree.terminals[np.concatenate(stored)]
    depth = np.searchsorted(tree.level_offset, ends, side="right").mean() if ends.size else 0.0
    num_responses = tree.num_players * algorithm.num_response_episodes
    num_episodes = algorithm.num_self_play_episodes + num_responses
    return int(memory.iteration * num_episodes * depth)


def report_exploitability():
    """Measure all algorithms on all games; return the table and save the plot."""
    marks = [int(10 ** (3 + k / 4)) for k in range(17)]
    assert marks[-1] == MAX_NODES_TOUCHED
    lines = [format_head(["algorithm", *(f"`{game}`" for game in GAMES)])]
    cells = {name: [] for name in ["uniform play", *(f"`{spec}`" for spec in COLOR_BY_ALGORITHM)]}
    mpl.rcParams["svg.hashsalt"] = "counterplay"
    figure, axes = plt.subplots(len(GAMES), 2, figsize=(9.5, 15), layout="constrained")
    for game, (left, right) in zip(GAMES, axes, strict=True):
        tree = cp.build_tree(cp.load_game(game))
        cells["uniform play"].append(f"{cp.exploitability(tree, cp.uniform_policy(tree)):.3g}")
        for spec, color in COLOR_BY_ALGORITHM.items():
            runs = np.array([measure_curve(tree, spec, seed, marks) for seed in range(NUM_SEEDS)])
            nodes, seconds, value = np.median(runs, axis=0).T
            final = np.sort(runs[:, -1, 2])
            middle = f"{final[NUM_SEEDS // 2]:.2g}"
            cells[f"`{spec}`"].append(f"{middle} ({final[0]:.2g}-{final[-1]:.2g})")
            left.loglog(nodes, value, color=color, linewidth=1.4, label=spec)
            right.loglog(np.maximum(seconds, 1e-5), value, color=color, linewidth=1.4)
            print(game, spec, cells[f"`{spec}`"][-1], f"{seconds[-1]:.2f} s", flush=True)
        left.set(xlabel="nodes touched", ylabel="exploitability", title=game)
        right.set(xlabel="seconds, one core", title=game)
        for side in (left, right):
            side.grid(alpha=0.25)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(DOCS / "monte_carlo.svg", metadata={"Date": None})
    plt.close(figure)
    lines += [format_row([spec, *row]) for spec, row in cells.items()]
    return (
        "## Exact exploitability after ten million touched nodes\n\n"
        f"Median of {NUM_SEEDS} seeds (smallest and largest). A node counts at every visit, chance "
        "nodes and terminals included; an episode of self-play counts when it is played, not when "
        "it is replayed; an iteration of `xfp` counts every node once for each player.\n\n"
        + "\n".join(lines)
        + "\n\n"
        "![Exploitability against touched nodes and against seconds](monte_carlo.svg)\n"
    )


def report_speed():
    """Compare external and outcome sampling with OpenSpiel's C++ solvers of the same name."""
    tree, game = cp.build_tree(cp.load_game("leduc_poker")), pyspiel.load_game("leduc_poker")
    solvers = {
        "external_sampling": pyspiel.ExternalSamplingMCCFRSolver(game, 0),
        "outcome_sampling": pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 0),
    }
    counts = 40_000, 2_000  # iterations per turn, for turns of about the same length
    lines = [format_head(["algorithm on Leduc", "Counterplay", "OpenSpiel", "ratio"])]
    for name, solver in solvers.items():
        algorithm = cp.load_algorithm(name)
        memory = algorithm.step(tree, algorithm.init(tree), 20_000)

        def ours(algorithm=algorithm, memory=memory):
            algorithm.step(tree, memory, counts[0])

        def theirs(solver=solver):
            for _ in range(counts[1]):
                solver.run_iteration()

        for _ in range(20):
            theirs()  # as many iterations as ours, so that its tables are as full
        ours()
        times = map(median, time_in_turns([ours, theirs], num_turns=9))
        mine, other = (seconds / count for seconds, count in zip(times, counts, strict=True))
        cells = [f"{1e6 * mine:.2f} µs", f"{1e6 * other:.1f} µs", f"{other / mine:.0f}x"]
        lines.append(format_row([f"`{name}`", *cells]))
        print(lines[-1], flush=True)
    return "## An iteration beside OpenSpiel's C++\n\n" + "\n".join(lines) + "\n"


def time_worker_turn(tree, algorithm, memory, count):
    """Return nodes touched per second of processor time and of wall-clock time.

    The second is None if other programs used the cores.
    """
    before, start, cpu = memory.nodes_touched.sum(), time.perf_counter(), time.process_time()
    algorithm.step(tree, memory, count)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    nodes = memory.nodes_touched.sum() - before
    is_undisturbed = cpu > 0.9 * algorithm.num_workers * wall
    return nodes / cpu, nodes / wall if is_undisturbed else None


def report_workers(seconds=20.0):
    """Compare the samples per second of two workers with those of one."""
    lines = [format_head(["game, algorithm", "wall-clock", "turns", "processor time"])]
    for game, name, count in (
        ("leduc_poker", "external_sampling", 10_000),
        ("leduc_poker", "outcome_sampling", 20_000),
        ("liars_dice", "external_sampling", 1_000),
    ):
        tree = cp.build_tree(cp.load_game(game))
        sides = []
        for num_workers in (1, 2):
            algorithm = cp.load_algorithm(name, num_workers=num_workers)
            sides.append((algorithm, algorithm.step(tree, algorithm.init(tree), 20_000), []))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for algorithm, memory, turns in sides:
                turns.append(time_worker_turn(tree, algorithm, memory, count))
        one, two = ([wall for _, wall in turns if wall] for *_, turns in sides)
        ratio = f"{median(two) / median(one):.2f}x" if one and two else "not measured"
        rates = [median(rate for rate, _ in turns) for *_, turns in sides]
        num_turns = f"{len(one)}, {len(two)} of {len(sides[0][2])}"
        cells = [f"`{game}`, `{name}`", ratio, num_turns, f"{2 * rates[1] / rates[0]:.2f}x"]
        lines.append(format_row(cells))
        print(lines[-1], flush=True)
    return (
        "## Two workers beside one\n\nRatios of nodes touched per second. Wall-clock: medians of "
        "the turns (with one worker, with two) in which the process had at least 90 % of the cores "
        "it uses. Processor time: twice the ratio per processor second, which other load does not "
        "change and which leaves out waiting. Workers merge regrets whenever t has grown by about "
        f"{mccfr_workers.ROUND_FRACTION} t / W.\n\n" + "\n".join(lines) + "\n"
    )


def report_million_iterations():
    """Compare forms of outcome sampling with and without variance reduction on Leduc."""
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    specs = [
        *(
            f"outcome_sampling(epsilon={epsilon},lazy_averaging={is_lazy})"
            for epsilon in EPSILONS
            for is_lazy in (False, True)
        ),
        "vr_mccfr",
        "vr_mccfr(predictive_baseline=true)",
        "vr_mccfr(predictive_baseline=true,alpha=1,gamma=1)",
        "vr_mccfr_plus",
        "vr_mccfr_plus(predictive_baseline=true)",
        "vr_mccfr_plus(predictive_baseline=true,epsilon=0.8)",
    ]
    lines = [format_head(["algorithm", "exploitability, median (smallest-largest) of 5 seeds"])]
    medians = {}
    for spec in specs:
        values = sorted(
            cp.solve(
                tree, cp.load_algorithm(spec), iterations=10**6, seed=s, evaluate_at=lambda t: 10**6
            ).exploitability
            for s in range(NUM_SEEDS)
        )
        medians[spec] = median(values)
        cell = f"{median(values):.4f} ({values[0]:.4f}-{values[-1]:.4f})"
        lines.append(format_row([f"`{spec}`", cell]))
        print(lines[-1], flush=True)
    plain = min(value for spec, value in medians.items() if spec.startswith("outcome"))
    best = min(value for spec, value in medians.items() if spec.startswith("vr"))
    plus = min(value for spec, value in medians.items() if spec.startswith("vr_mccfr_plus"))
    return (
        "## A million iterations of Leduc\n\n" + "\n".join(lines) + "\n\n"
        f"The best plain outcome sampling is {plain / best:.2f} times as exploitable as the best "
        f"variance-reduced form, and {plain / plus:.2f} times as the best VR-MCCFR+.\n"
    )


@njit
def train_baseline(is_predictive, p, epsilon, count, seed, game, table, scratch):
    """Learn the baseline of a fixed policy."""
    for t in range(count):
        episodes.seed_stream(seed, t, p, scratch.rng)
        length = episodes.sample_episode(p, epsilon, game, table, scratch)
        if is_predictive:
            baselines.update_predictive_baseline(length, game, table, scratch)
        else:
            baselines.add_baseline_regrets(p, epsilon, 1.0, length, game, table, scratch)
            baselines.update_decaying_baseline(p, 0.5, length, game, table, scratch)


@njit
def sum_sampled_regrets(p, epsilon, has_baseline, count, seed, game, table, scratch, mean, square):
    """Add up sampled regrets and their squares at a fixed policy with a fixed baseline."""
    for t in range(count):
        episodes.seed_stream(seed, t, p, scratch.rng)
        length = episodes.sample_episode(p, epsilon, game, table, scratch)
        if has_baseline:
            baselines.add_baseline_regrets(p, epsilon, 1.0, length, game, table, scratch)
        else:
            episodes.add_outcome_regrets(p, epsilon, length, game, table, scratch)
        for d in range(length):
            node = game.nodes[scratch.node[d]]
            if node.player == p:
                for s in range(node.first_child, node.first_child + node.count):
                    mean[s] += table.regret[s]
                    square[s] += table.regret[s] ** 2
                    table.regret[s] = 0.0


def worker_arrays(tree, memory):
    """Return the tables and the scratch arrays of the first worker."""
    scratch = new_scratch(tree.num_nodes, tree.level_offset.size)
    return mccfr_workers.worker_tables(memory, 0), scratch


def report_variance():
    """Measure the variance of sampled regrets by depth, at a fixed policy and its baseline."""
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    depth = np.zeros(tree.num_sequences, int)
    for level, (first, last) in enumerate(
        zip(tree.level_offset[:-1], tree.level_offset[1:], strict=True)
    ):
        for infoset in np.unique(tree.infoset[first:last]):
            if infoset >= 0:
                depth[tree.offset[infoset] : tree.offset[infoset + 1]] = level
    depths, count = np.unique(depth), 1_000_000
    result = cp.solve(tree, cp.algorithms.OutcomeSampling(lazy_averaging=True), iterations=200_000)
    rows = []
    for name, spec in (
        ("no baseline: outcome sampling", "vr_mccfr"),
        ("decaying averages at augmented infosets", "vr_mccfr"),
        ("expected values of histories", "vr_mccfr(predictive_baseline=true)"),
    ):
        algorithm = cp.load_algorithm(spec)
        memory = algorithm.init(tree)
        memory.policy[0, : tree.num_sequences] = result.policy.probabilities
        mean, square = np.zeros(tree.num_sequences), np.zeros(tree.num_sequences)
        slots = mccfr_workers.BASELINE_SLOTS[algorithm.traversal().baseline_kind](tree)
        nodes = mccfr_workers.node_rows(tree)
        arena = mccfr_workers.GameNodes(nodes, tree.utility, slots, 2)
        for p in range(2):
            tables, scratch = worker_arrays(tree, memory)
            is_predictive = algorithm.predictive_baseline
            train_baseline(is_predictive, p, 0.6, count, 1, arena, tables, scratch)
        for p in range(2):
            tables, scratch = worker_arrays(tree, memory)
            tables.regret[:] = 0.0
            sum_sampled_regrets(
                p, 0.6, "no baseline" not in name, count, 2, arena, tables, scratch, mean, square
            )
        variances = square / count - (mean / count) ** 2
        rows.append((name, [variances[depth == d].sum() for d in depths]))
        print(name, [f"{x:.3g}" for x in rows[-1][1]], flush=True)
    lines = [format_head(["baseline", *(f"depth {d}" for d in depths)])]
    lines += [format_row([name, *(f"{x:.3g}" for x in sums)]) for name, sums in rows]
    is_lower = all(x < y for k in (1, 2) for x, y in zip(rows[k][1], rows[0][1], strict=True))
    return (
        "## Variance of sampled regrets on Leduc\n\nThe policy is the average of 200,000 "
        "iterations of outcome sampling; "
        f"baselines are learned for it from {count:,} episodes per player. Each cell is the "
        "sum of the variances of all actions at a depth (actions from the root), "
        f"measured on {count:,} further episodes.\n\n" + "\n".join(lines) + "\n\n"
        f"Lower with a baseline at every depth: {'yes' if is_lower else 'no'}.\n"
    )


SECTIONS = {
    "table": report_exploitability,
    "speed": report_speed,
    "million": report_million_iterations,
    "variance": report_variance,
    "workers": report_workers,
    "large": report_large_game,
}
INTRODUCTION = """# Monte Carlo CFR and fictitious play, measured

Written by `python -m benchmarks.tabular.monte_carlo` (one section:
`python -m benchmarks.tabular.monte_carlo speed`), with OpenSpiel from PyPI. Exploitability is exact
and the same on every machine. Speeds are ratios from one run on a machine of two cores with other
load.

"""


def write_document(names):
    """Measure the sections, and replace them in the document."""
    path = DOCS / "monte_carlo.md"
    sections = dict.fromkeys(SECTIONS, "")
    if path.exists():
        for part in path.read_text().split("<!-- ")[1:]:
            name, _, text = part.partition(" -->\n")
            sections[name] = text
    for name in names:
        sections[name] = SECTIONS[name]() + "\n"
        text = "".join(f"<!-- {key} -->\n{part}" for key, part in sections.items() if part)
        path.write_text(INTRODUCTION + text.rstrip() + "\n")


def main():
    """Measure some sections, or all."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    write_document(parser.parse_args().sections or list(SECTIONS))


if __name__ == "__main__":
    main()
