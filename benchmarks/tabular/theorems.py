"""The theorems about regret, measured: `python -m benchmarks.tabular.theorems`.

Writes `theorems.md` beside this file: for each theorem the measured side and the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import counterplay as cp
from counterplay.core.arena import Floats

PAGE = Path(__file__).with_suffix(".md")
GAMES = ("kuhn_poker", "leduc_poker")
ITERATIONS = (1, 10, 100, 1000)
SAMPLED_ITERATIONS = (10, 100, 1000)
CONFIDENCES = (0.5, 0.9, 0.99)
NUM_SAMPLED_RUNS = 100


@dataclass(frozen=True)
class RegretRow:
    """The measured sides and the bounds after some iterations of CFR."""

    iterations: int
    average_regret: Floats  # [P] average overall regret
    counterfactual_bound: Floats  # [P] sum of positive immediate counterfactual regrets
    theorem_bound: Floats  # [P] utility range * sum over infosets of sqrt(actions / T)
    nash_conv: float  # of the average policy


@dataclass(frozen=True)
class MatchingRow:
    """The regret of regret matching against adversarial payoffs, and its bound."""

    rounds: int
    regret: float
    bound: float


@dataclass(frozen=True)
class SampledRow:
    """Regrets of outcome sampling over seeds, and the factor of their bound."""

    iterations: int
    average_regret: Floats  # [runs, P] average overall regret
    cfr_bound: Floats  # [P] bound of CFR: range * infosets * sqrt(most actions / T)
    delta: Floats  # [P] least probability with which the player samples its part of an episode

    def bound(self, confidence: float) -> Floats:
        """Return the bound [P] that holds with at least this probability."""
        return (1.0 + np.sqrt(2.0 / (1.0 - confidence))) / self.delta * self.cfr_bound


def measure_cfr(spec: str, checkpoints: Sequence[int]) -> list[RegretRow]:
    """Run CFR with simultaneous updates, and measure its regrets at some iterations."""
    tree = cp.build_tree(spec)
    algorithm = cp.algorithms.CFR(alternating=False)
    memory, policies, rows = algorithm.init(tree), list[cp.Policy](), list[RegretRow]()
    spread = tree.utility.max(axis=0) - tree.utility.min(axis=0)
    roots = np.bincount(tree.infoset_player, np.sqrt(tree.num_actions), tree.num_players)
    for t in range(1, max(checkpoints) + 1):
        policies.append(algorithm.policies(tree, memory)["current"])
        memory = algorithm.step(tree, memory)
        if t not in checkpoints:
            continue
        largest = np.maximum.reduceat(memory.regret[:-1], tree.offset[:-1])
        positive = np.bincount(tree.infoset_player, np.maximum(largest, 0.0), tree.num_players)
        rows.append(
            RegretRow(
                t,
                cp.overall_regret(tree, policies) / t,
                positive / t,
                spread * roots / np.sqrt(t),
                cp.nash_conv(algorithm.policies(tree, memory)["average"]),
            )
        )
    return rows


def measure_outcome_sampling(
    spec: str, checkpoints: Sequence[int], num_runs: int
) -> list[SampledRow]:
    """Run outcome sampling with several seeds, and measure its regrets at some iterations.

    The second player updates after the first: its regret is against the first's next policy.
    """
    tree, algorithm = cp.build_tree(spec), cp.algorithms.OutcomeSampling()
    is_first = np.repeat(tree.infoset_player == 0, tree.num_actions)
    regrets = np.zeros((len(checkpoints), num_runs, 2))
    for run in range(num_runs):
        memory = algorithm.init(tree, run)
        before = algorithm.policies(tree, memory)["current"].probabilities.copy()
        first_seen, second_seen = list[cp.Policy](), list[cp.Policy]()
        for t in range(1, max(checkpoints) + 1):
            memory = algorithm.step(tree, memory)
            after = algorithm.policies(tree, memory)["current"].probabilities.copy()
            first_seen.append(cp.Policy(tree, before))
            second_seen.append(cp.Policy(tree, np.where(is_first, after, before)))
            before = after
            if t in checkpoints:
                row = regrets[checkpoints.index(t), run]
                row[0] = cp.overall_regret(tree, first_seen)[0] / t
                row[1] = cp.overall_regret(tree, second_seen)[1] / t
    spread = tree.utility.max(axis=0) - tree.utility.min(axis=0)
    num_infosets = np.bincount(tree.infoset_player, minlength=2)
    most_actions = [tree.num_actions[tree.infoset_player == p].max() for p in range(2)]
    scale = spread * num_infosets * np.sqrt(most_actions)
    delta = least_sampling_reach(tree, algorithm.epsilon)
    return [SampledRow(t, regrets[i], scale / np.sqrt(t), delta) for i, t in enumerate(checkpoints)]


def least_sampling_reach(tree: cp.TreeArena, epsilon: float) -> Floats:
    """Return the least product [P] of a player's exploration probabilities over all terminals."""
    reach = np.ones((tree.num_nodes, tree.num_players))
    for node in range(1, tree.num_nodes):
        parent = tree.parent[node]
        reach[node] = reach[parent]
        if tree.infoset[parent] >= 0:
            reach[node, tree.player[parent]] *= epsilon / tree.num_actions[tree.infoset[parent]]
    least: Floats = reach.min(axis=0)
    return least


def measure_regret_matching(num_actions: int, num_rounds: Sequence[int]) -> list[MatchingRow]:
    """Play regret matching against payoffs in [0, 1] that punish its most likely action."""
    regret, total, rows = np.zeros(num_actions), 0.0, list[MatchingRow]()
    for t in range(1, max(num_rounds) + 1):
        positive = np.maximum(regret, 0.0)
        uniform = np.full(num_actions, 1.0 / num_actions)
        policy = positive / positive.sum() if positive.sum() > 0.0 else uniform
        payoff = np.ones(num_actions)
        payoff[policy.argmax()] = 0.0
        regret += payoff - policy @ payoff
        total = float(max(regret.max(), 0.0))
        if t in num_rounds:
            rows.append(MatchingRow(t, total, float(np.sqrt(num_actions * t))))
    return rows


def format_sampling() -> list[str]:
    """Return the lines of the section about outcome sampling."""
    lines = [
        "## Section 3.4.2 of document 002: outcome sampling",
        "",
        "With probability p the average overall regret is at most `(1 + sqrt(2 / (1 - p))) /",
        "delta` times the bound of CFR, `range * infosets * sqrt(most actions / T)` (Lanctot et",
        "al., 2009, theorem 5; 3.10 in document 002). Opponents are sampled from their policy, so",
        "that delta is the least probability with which the player samples its own actions of an",
        "episode.",
        f"Kuhn poker, epsilon 0.6, {NUM_SAMPLED_RUNS} seeds: the share p of the seeds has at most",
        "the regret of the column `regret`; `larger`: the seeds above the bound.",
        "",
        "| T | player | p | regret | bound | larger |",
        "|---|---|---|---|---|---|",
    ]
    for row in measure_outcome_sampling("kuhn_poker", SAMPLED_ITERATIONS, NUM_SAMPLED_RUNS):
        for player in range(2):
            for p in CONFIDENCES:
                regrets, bound = row.average_regret[:, player], row.bound(p)[player]
                lines.append(
                    f"| {row.iterations} | {player} | {p} | {np.quantile(regrets, p):.4f} | "
                    f"{bound:.1f} | {(regrets > bound).sum()} |"
                )
    return lines


def format_page() -> str:
    """Return the page of all tables."""
    lines = [
        "# The theorems, measured",
        "",
        "Written by `python -m benchmarks.tabular.theorems`. Theorems have the numbers of Gibson's",
        "thesis (2014), as in document 001, with those of document 002 in brackets.",
        "",
        "## Theorem 2.2 (3.5): regret matching",
        "",
        "Regret after T rounds against payoffs that punish the most likely of 4 actions; the bound",
        "is `range * sqrt(actions * T)`.",
        "",
        "| T | regret | bound |",
        "|---|---|---|",
    ]
    for matching in measure_regret_matching(4, ITERATIONS):
        lines.append(f"| {matching.rounds} | {matching.regret:.3f} | {matching.bound:.3f} |")
    lines += [
        "",
        "## Theorems 2.1, 2.3 and 2.4 (3.3, 3.9 and 3.10): CFR",
        "",
        "Simultaneous updates. `regret`: the larger average overall regret of the players.",
        "`immediate`: the sum of positive immediate counterfactual regrets, which bounds it (2.3).",
        "`bound`: `range * sum over infosets of sqrt(actions) / sqrt(T)`, which bounds both (2.4).",
        "`NashConv` of the average policy is at most the sum of the players' regrets, and at most",
        "twice the larger (2.1); in a zero-sum game it equals the sum.",
        "",
        "| game | T | regret | immediate | bound | NashConv | twice the regret |",
        "|---|---|---|---|---|---|---|",
    ]
    for spec in GAMES:
        for row in measure_cfr(spec, ITERATIONS):
            largest = row.average_regret.max()
            lines.append(
                f"| {spec} | {row.iterations} | {largest:.5f} | "
                f"{row.counterfactual_bound.max():.4f} | {row.theorem_bound.max():.2f} | "
                f"{row.nash_conv:.5f} | {2 * largest:.5f} |"
            )
    lines += ["", *format_sampling()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(format_page())
