"""Monte Carlo CFR and fictitious play measured: docs/monte_carlo.md and docs/monte_carlo.svg.

    python -m benchmarks.monte_carlo                 all sections
    python -m benchmarks.monte_carlo speed variance  some of them

Speeds are ratios from one process in which the two sides take turns; the rest is exact judgement.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pyspiel
from numba import njit

import counterplay as cp
from benchmarks.large_game import large
from counterplay.algorithms.mccfr import workers as crew
from counterplay.kernels.sampling import baselines, episodes

DOCS = Path(__file__).parent.parent / "docs"
GAMES = ["kuhn_poker", "kuhn_poker(players=3)", "leduc_poker", "goofspiel", "liars_dice"]
FAMILY = {
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
BUDGET, SEEDS = 10_000_000, 5
EXPLORE = (0.4, 0.6, 0.7, 0.8, 0.9)


def family_curves(tree, spec, seed, marks):
    """(touched, seconds, exploitability) where `marks` of touched nodes are passed."""
    algorithm = cp.load_algorithm(spec)
    algorithm.step(tree, algorithm.init(tree, seed), 1)  # compiled from here on
    memory = algorithm.init(tree, seed)
    rows, seconds = [], 0.0
    for mark in marks:
        while (missing := mark - touched(tree, algorithm, memory)) > 0:
            rate = (
                touched(tree, algorithm, memory) / max(memory.iteration, 1)
                or tree.level_offset.size
            )
            began = time.process_time()
            algorithm.step(tree, memory, max(1, int(missing / rate)))
            seconds += time.process_time() - began
        value = cp.exploitability(tree, algorithm.policies(tree, memory)["average"])
        rows.append((touched(tree, algorithm, memory), seconds, value))
    return rows


def touched(tree, algorithm, memory):
    """Nodes visited so far. Episodes of self-play that are read again do not count again."""
    if hasattr(memory, "nodes_touched"):
        return int(memory.nodes_touched.sum())
    if isinstance(algorithm, cp.algorithms.XFP):  # one pass for each player's response
        return memory.iteration * tree.num_players * tree.num_nodes
    # self-play keeps the terminals of its last episodes: their mean depth stands for all
    kept = [
        row[: min(n, row.size)]
        for row, n in zip(memory.learner_episodes, memory.num_stored, strict=True)
    ]
    ends = tree.terminals[np.concatenate(kept)]
    depth = np.searchsorted(tree.level_offset, ends, side="right").mean() if ends.size else 0.0
    episodes = algorithm.num_self_play_episodes + tree.num_players * algorithm.num_response_episodes
    return int(memory.iteration * episodes * depth)


def table_and_plot():
    marks = [int(10 ** (3 + k / 4)) for k in range(17)]
    assert marks[-1] == BUDGET
    lines = [
        "| algorithm | " + " | ".join(f"`{game}`" for game in GAMES) + " |",
        "|---" * (len(GAMES) + 1) + "|",
    ]
    cells = {name: [] for name in ["uniform play", *(f"`{spec}`" for spec in FAMILY)]}
    mpl.rcParams["svg.hashsalt"] = "counterplay"
    figure, axes = plt.subplots(len(GAMES), 2, figsize=(9.5, 15), layout="constrained")
    for game, (left, right) in zip(GAMES, axes, strict=True):
        tree = cp.build_tree(cp.load_game(game))
        cells["uniform play"].append(f"{cp.exploitability(tree, cp.uniform_policy(tree)):.3g}")
        for spec, colour in FAMILY.items():
            runs = np.array([family_curves(tree, spec, seed, marks) for seed in range(SEEDS)])
            touched, seconds, value = np.median(runs, axis=0).T
            final = np.sort(runs[:, -1, 2])
            cells[f"`{spec}`"].append(f"{final[SEEDS // 2]:.2g} ({final[0]:.2g}-{final[-1]:.2g})")
            left.loglog(touched, value, color=colour, linewidth=1.4, label=spec)
            right.loglog(np.maximum(seconds, 1e-5), value, color=colour, linewidth=1.4)
            print(game, spec, cells[f"`{spec}`"][-1], f"{seconds[-1]:.2f} s", flush=True)
        left.set(xlabel="nodes touched", ylabel="exploitability", title=game)
        right.set(xlabel="seconds, one core", title=game)
        for side in (left, right):
            side.grid(alpha=0.25)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(DOCS / "monte_carlo.svg", metadata={"Date": None})
    plt.close(figure)
    lines += [f"| {spec} | " + " | ".join(row) + " |" for spec, row in cells.items()]
    return (
        "## Exact exploitability after ten million touched nodes\n\n"
        f"Median of {SEEDS} seeds (least and most). A node counts as often as it is visited, "
        "chance nodes and terminals included; an episode of self-play counts when it is played, "
        "not when it is read again; a pass of `xfp` counts every node for every player.\n\n"
        + "\n".join(lines)
        + "\n\n"
        "![Exploitability against touched nodes and against seconds](monte_carlo.svg)\n"
    )


def turns(ours, theirs, count=9):
    """Medians of the processor seconds of two functions that take turns."""
    ours(), theirs()
    found = []
    for _ in range(count):
        row = []
        for work in (ours, theirs):
            began = time.process_time()
            work()
            row.append(time.process_time() - began)
        found.append(row)
    return [median(column) for column in zip(*found, strict=True)]


def speed():
    """External and outcome sampling beside OpenSpiel's C++ solvers of the same name."""
    tree, game = cp.build_tree(cp.load_game("leduc_poker")), pyspiel.load_game("leduc_poker")
    solvers = {
        "external_sampling": pyspiel.ExternalSamplingMCCFRSolver(game, 0),
        "outcome_sampling": pyspiel.OutcomeSamplingMCCFRSolver(game, 0.6, 0),
    }
    lines = [
        "| algorithm on Leduc | Counterplay | OpenSpiel | ratio | asked for |",
        "|---" * 5 + "|",
    ]
    for name, solver in solvers.items():
        algorithm = cp.load_algorithm(name)
        memory = algorithm.step(tree, algorithm.init(tree), 20_000)

        def ours(algorithm=algorithm, memory=memory):
            algorithm.step(tree, memory, 40_000)

        def theirs(solver=solver):
            for _ in range(2_000):
                solver.run_iteration()

        for _ in range(20):
            theirs()  # as far as ours, so that their tables are as full
        mine, other = (s / n for s, n in zip(turns(ours, theirs), (40_000, 2_000), strict=True))
        cells = f"{1e6 * mine:.2f} µs | {1e6 * other:.1f} µs | {other / mine:.0f}x | 20x"
        lines.append(f"| `{name}` | {cells} |")
        print(lines[-1], flush=True)
    return "## An iteration beside OpenSpiel's C++\n\n" + "\n".join(lines) + "\n"


def worker_turn(tree, algorithm, memory, count):
    """Nodes touched per second of processor time, and of the clock.

    The second is nothing if other programs took the cores away.
    """
    before, began, used = memory.nodes_touched.sum(), time.perf_counter(), time.process_time()
    algorithm.step(tree, memory, count)
    took, used = time.perf_counter() - began, time.process_time() - used
    touched = memory.nodes_touched.sum() - before
    return touched / used, touched / took if used > 0.9 * algorithm.workers * took else None


def workers(seconds=20.0):
    """Samples per second of two workers beside one."""
    lines = [
        "| game, algorithm | by the clock | turns | by processor time | asked for |",
        "|---" * 5 + "|",
    ]
    for game, name, count in (
        ("leduc_poker", "external_sampling", 10_000),
        ("leduc_poker", "outcome_sampling", 20_000),
        ("liars_dice", "external_sampling", 1_000),
    ):
        tree = cp.build_tree(cp.load_game(game))
        sides = []
        for w in (1, 2):
            algorithm = cp.load_algorithm(name, workers=w)
            sides.append((algorithm, algorithm.step(tree, algorithm.init(tree), 20_000), []))
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            for algorithm, memory, turns in sides:
                turns.append(worker_turn(tree, algorithm, memory, count))
        one, two = ([clock for _, clock in turns if clock] for *_, turns in sides)
        ratio = f"{median(two) / median(one):.2f}x" if one and two else "not measured"
        used = [median(used for used, _ in turns) for *_, turns in sides]
        found = f"{len(one)}, {len(two)} of {len(sides[0][2])}"
        cells = f"{ratio} | {found} | {2 * used[1] / used[0]:.2f}x | 1.6x"
        lines.append(f"| `{game}`, `{name}` | {cells} |")
        print(lines[-1], flush=True)
    return (
        "## Two workers beside one\n\nNodes touched per second of the clock, medians of the turns "
        "(one worker's, two workers') in which the process really had as many cores as workers, "
        "that is at least 90 % of their time; and twice the nodes touched per second of processor "
        "time, which others on the machine do not disturb and which leaves out waiting. Workers "
        f"merge regrets whenever t has grown by about {crew.ROUND_FRACTION} / W of it.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def million():
    """Leduc after a million iterations, the best forms of plain and of variance-reduced."""
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    specs = [
        *(
            f"outcome_sampling(epsilon={e},lazy_averaging={z})"
            for e in EXPLORE
            for z in (False, True)
        ),
        *(
            "vr_mccfr",
            "vr_mccfr(predictive_baseline=true)",
            "vr_mccfr(predictive_baseline=true,alpha=1,gamma=1)",
        ),
        *("vr_mccfr_plus", "vr_mccfr_plus(predictive_baseline=true)"),
        "vr_mccfr_plus(predictive_baseline=true,epsilon=0.8)",
    ]
    lines = ["| algorithm | exploitability, median (least-most) of 5 seeds |", "|---" * 2 + "|"]
    middle = {}
    for spec in specs:
        found = sorted(
            cp.solve(
                tree, cp.load_algorithm(spec), iterations=10**6, seed=s, evaluate_at=lambda t: 10**6
            ).exploitability
            for s in range(SEEDS)
        )
        middle[spec] = median(found)
        lines.append(f"| `{spec}` | {median(found):.4f} ({found[0]:.4f}-{found[-1]:.4f}) |")
        print(lines[-1], flush=True)
    plain = min(value for spec, value in middle.items() if spec.startswith("outcome"))
    best = min(value for spec, value in middle.items() if spec.startswith("vr"))
    plus = min(value for spec, value in middle.items() if spec.startswith("vr_mccfr_plus"))
    return (
        "## A million iterations of Leduc\n\n" + "\n".join(lines) + "\n\n"
        f"The best plain outcome sampling is {plain / best:.2f} times as exploitable as the best "
        f"variance-reduced form, and {plain / plus:.2f} times as the best VR-MCCFR+ (asked: 3).\n"
    )


@njit
def train(expected, p, epsilon, count, seed, game, table, scratch):
    """Learn the guesses for a fixed policy."""
    for t in range(count):
        episodes.seed_stream(seed, t, p, scratch.rng)
        length = episodes.sample_episode(p, epsilon, game, table, scratch)
        if expected:
            baselines.update_predictive_baseline(length, game, table, scratch)
        else:
            baselines.add_baseline_regrets(p, epsilon, 1.0, length, game, table, scratch)
            baselines.update_decaying_baseline(p, 0.5, length, game, table, scratch)


@njit
def measure(p, epsilon, with_baseline, count, seed, game, table, scratch, mean, square):
    """Sum up sampled regrets and their squares at a fixed policy and fixed guesses."""
    for t in range(count):
        episodes.seed_stream(seed, t, p, scratch.rng)
        length = episodes.sample_episode(p, epsilon, game, table, scratch)
        if with_baseline:
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


def variance():
    """The variance of sampled regrets by depth, at a fixed policy with guesses learned for it."""
    tree = cp.build_tree(cp.load_game("leduc_poker"))
    depth = np.zeros(tree.num_sequences, int)
    for level, (first, last) in enumerate(
        zip(tree.level_offset[:-1], tree.level_offset[1:], strict=True)
    ):
        for infoset in np.unique(tree.infoset[first:last]):
            if infoset >= 0:
                depth[tree.offset[infoset] : tree.offset[infoset + 1]] = level
    depths, count = np.unique(depth), 1_000_000
    solved = cp.solve(tree, cp.algorithms.OutcomeSampling(lazy_averaging=True), iterations=200_000)
    rows = []
    for name, spec in (
        ("none: outcome sampling", "vr_mccfr"),
        ("decaying averages at augmented infosets", "vr_mccfr"),
        ("expected values of histories", "vr_mccfr(predictive_baseline=true)"),
    ):
        algorithm = cp.load_algorithm(spec)
        memory = algorithm.init(tree)
        memory.policy[0, : tree.num_sequences] = solved.policy.probabilities
        mean, square = np.zeros(tree.num_sequences), np.zeros(tree.num_sequences)
        slots = crew.BASELINE_SLOTS[algorithm._baseline_kind](tree)
        arena = crew.GameNodes(crew.node_rows(tree), tree.utility, slots, 2)
        for p in range(2):
            table, room = crew._worker_tables(memory, 0), crew._new_scratch(tree)
            train(algorithm.expected, p, 0.6, count, 1, arena, table, room)
        for p in range(2):
            table, room = crew._worker_tables(memory, 0), crew._new_scratch(tree)
            table.regret[:] = 0.0
            measure(p, 0.6, "none" not in name, count, 2, arena, table, room, mean, square)
        spread = square / count - (mean / count) ** 2
        rows.append((name, [spread[depth == d].sum() for d in depths]))
        print(name, [f"{x:.3g}" for x in rows[-1][1]], flush=True)
    lines = ["| guesses | " + " | ".join(f"depth {d}" for d in depths) + " |"]
    lines.append("|---" * (len(depths) + 1) + "|")
    lines += [f"| {name} | " + " | ".join(f"{x:.3g}" for x in sums) + " |" for name, sums in rows]
    lower = all(x < y for k in (1, 2) for x, y in zip(rows[k][1], rows[0][1], strict=True))
    return (
        "## Variance of sampled regrets on Leduc\n\nAt one policy, the average of 200,000 "
        f"iterations of outcome sampling, with guesses learned for it from {count:,} episodes per "
        "player: the variances of all actions at a depth (actions from the start) added up, "
        f"measured on {count:,} more episodes.\n\n" + "\n".join(lines) + "\n\n"
        f"Lower at every depth: {'yes' if lower else 'no'}.\n"
    )


SECTIONS = {
    "table": table_and_plot,
    "speed": speed,
    "million": million,
    "variance": variance,
    "workers": workers,
    "large": large,
}


def main(names):
    """Measure some sections, or all, and put them into the document in their order."""
    path = DOCS / "monte_carlo.md"
    parts = dict.fromkeys(SECTIONS, "")
    if path.exists():
        for part in path.read_text().split("<!-- ")[1:]:
            name, _, text = part.partition(" -->\n")
            parts[name] = text
    for name in names or SECTIONS:
        parts[name] = SECTIONS[name]() + "\n"
        text = "".join(f"<!-- {key} -->\n{part}" for key, part in parts.items() if part)
        path.write_text(INTRODUCTION + text.rstrip() + "\n")


INTRODUCTION = """# Monte Carlo CFR and fictitious play, measured

Made by `python -m benchmarks.monte_carlo` (one section: `python -m benchmarks.monte_carlo speed`),
with OpenSpiel from PyPI. Exploitability is exact and the same on every machine. Speeds are ratios
from one run on a machine of two cores that others used at the same time.

"""


if __name__ == "__main__":
    main(sys.argv[1:])
