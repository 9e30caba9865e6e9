"""Solve spots on all 1,755 flops, and compare their EVs with those of the subsets for reports.

    python -m benchmarks.holdem.all_flops FOLDER three_bet single_raised    # solves, compares

Bets are made on the flop only: OOP checks, bets half the pot or all-in, and so does IP after a
check; the other one folds or calls, and the turn and the river are checked down. Such a spot is a
small game once the equity of every pair of hands on the flop is known, so that all flops take a
minute; vectors over hands are iterated here in NumPy, without the kernels of `SpotArena`. A few
flops are solved by `SpotArena`, too. FOLDER keeps the results by flop; an interrupted run goes on.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import counterplay as cp
from benchmarks.result_files import append_row
from counterplay.arenas.holdem.all_flops_ev import fit_on_equity
from counterplay.arenas.holdem.boards import RangeHands
from counterplay.arenas.holdem.flops import all_flops, flop_subset
from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.cards import canonical_cards, cards_name, parse_cards
from counterplay.kernels.holdem.hand_strength import board_strengths
from counterplay.kernels.runtime.jit import kernel

Array = NDArray[Any]
SPOTS = {  # ranges OOP and IP
    "three_bet": ("99-66,AQs-ATs,KQs,QJs,JTs,T9s,AQo", "TT+,AJs+,KQs,AQo+,87s,76s"),
    "single_raised": (
        "66-22,A5s-A2s,KTs,QTs,J9s+,T8s+,98s,87s,76s,65s",
        "AA-88,AKs-ATs,KQs,AKo,AQo",
    ),
    "squeeze": ("QQ+,AKs,A5s,AKo,KQo,JTs", "JJ-77,AQs-AJs,KQs,T9s,98s,76s"),
    "early": ("TT-77,AJs-A9s,KJs,KTs,QJs,98s,87s,AQo", "QQ-99,AQs+,KQs,AKo,A5s,JTs"),
    "button": (
        "55-22,K9s-K6s,Q9s,J8s,97s,86s,75s,53s,A8o,KJo,T9o",
        "AA-TT,66,A9s,A4s,KQs,K8s,QTs,J9s,87s,65s,AJo,KQo,Q9o",
    ),
    "small_blind": (
        "AA,JJ-88,44,AQs,AJs,A7s,KJs,QTs,T8s,97s,A9o,KTo,87o",
        "QQ,77-33,AKs,A6s,A2s,K9s,Q8s,J9s,86s,54s,A5o,QJo",
    ),
    "three_bet_out": ("TT+,AJs+,A5s,A4s,KQs,76s,AKo", "JJ-66,AQs-ATs,KQs,KJs,QJs,T9s,AQo"),
    "wide": (
        "A2s,A3o,K5s,K9o,Q6s,QTo,J5s,T6s,95s,93s,84s,73s,62s,T8o,99,55",
        "A6o,A4s,K3s,KTo,Q4s,Q9o,J7s,T4s,98o,82s,72s,63s,52s,43s,88,66,22",
    ),
}
POT, STACK = 60, 120
BETS = (30, STACK)  # half the pot, all-in
ITERATIONS = 100
CHECKED = ("QsJh2h", "8d8c5h", "As7s4s")  # flops that `SpotArena` solves, too


@kernel
def pair_equities(flop, cards, others, out):
    """Set `out` [n, m] to the equity of each pair of hands; 0 where they share a card."""
    n, m = cards.shape[0], others.shape[0]
    strength, other_strength = np.empty(n, np.int64), np.empty(m, np.int64)
    board, counts = np.zeros(5, np.int64), np.zeros((n, m))
    board[:3] = flop
    for a in range(52):
        for b in range(a):
            if a in flop or b in flop:
                continue
            board[3], board[4] = a, b
            board_strengths(board, cards, strength)
            board_strengths(board, others, other_strength)
            for i in range(n):
                for j in range(m):
                    x, y = strength[i], other_strength[j]
                    if x >= 0 and y >= 0:
                        out[i, j] += 1.0 if x > y else 0.5 if x == y else 0.0
                        counts[i, j] += 1.0
    for i in range(n):
        for j in range(m):
            out[i, j] /= max(counts[i, j], 1.0)


class FlopGame:
    """The betting of the flop with vectors over hands; payoffs are chips over half the pot.

    Nodes: 0 OOP first, 1 IP after a check, 2 and 3 IP against each bet, 4 and 5 OOP against each.
    """

    def __init__(self, equity: Array, pairs: Array):
        self.share = (2.0 * equity - 1.0) * pairs  # of OOP, times the weight of the pair
        self.pairs = pairs

    def leaf(self, chips: float, reach: Array, player: int) -> Array:
        """Return a player's values [n] at a showdown, given the other one's reach."""
        values = self.share @ reach if player == 0 else -self.share.T @ reach
        return (POT / 2.0 + chips) * values

    def fold(self, reach: Array, player: int, has_folded: bool) -> Array:
        """Return a player's values [n] after a fold: it wins or loses half the pot."""
        mass = self.pairs @ reach if player == 0 else self.pairs.T @ reach
        return (-1.0 if has_folded else 1.0) * POT / 2.0 * mass

    def values(self, player: int, policy: list[Array]) -> list[Array]:
        """Return a player's values [A, n] of the actions at its nodes, by node."""
        first, after, *answers = policy
        result: list[Array] = [np.zeros_like(p) for p in policy]
        if player == 0:
            checked = after  # reach of IP after a check, by action
            for k, chips in enumerate(BETS):
                result[4 + k][0] = self.fold(checked[1 + k], 0, True)
                result[4 + k][1] = self.leaf(chips, checked[1 + k], 0)
                called = self.leaf(chips, answers[k][1], 0)
                result[0][1 + k] = called + self.fold(answers[k][0], 0, False)
            result[0][0] = self.leaf(0.0, checked[0], 0)
            for k in range(len(BETS)):
                result[0][0] += (answers[2 + k] * result[4 + k]).sum(axis=0)
            return result
        for k, chips in enumerate(BETS):
            result[2 + k][0] = self.fold(first[1 + k], 1, True)
            result[2 + k][1] = self.leaf(chips, first[1 + k], 1)
            called, folded = (first[0] * answers[2 + k][a] for a in (1, 0))
            result[1][1 + k] = self.leaf(chips, called, 1) + self.fold(folded, 1, False)
        result[1][0] = self.leaf(0.0, first[0], 1)
        return result

    def solve(self, iterations: int) -> tuple[float, float, list[Array]]:
        """Return OOP's value over half the pot, the exploitability, and the average policy."""
        n, m = self.pairs.shape
        shapes = [(3, n), (3, m), (2, m), (2, m), (2, n), (2, n)]
        players = [0, 1, 1, 1, 0, 0]
        regret, total = [np.zeros(s) for s in shapes], [np.zeros(s) for s in shapes]
        for t in range(1, iterations + 1):
            for player in (0, 1):
                policy = [normalise(r) for r in regret]
                action_values = self.values(player, policy)
                for k in (k for k in range(6) if players[k] == player):
                    value = action_values[k]
                    mean = (policy[k] * value).sum(axis=0)
                    regret[k] = np.maximum(regret[k] + value - mean, 0.0)
                    reach = policy[0][0] if k >= 4 else 1.0
                    total[k] += t * reach * policy[k]
        average = [normalise(part) for part in total]
        best = [self.value(p, average, True) for p in (0, 1)]
        return self.value(0, average, False), sum(best) / 2.0, average

    def value(self, player: int, policy: list[Array], is_best: bool) -> float:
        """Return a player's value, or that of its best response, in chips over half the pot."""
        values = self.values(player, policy)
        if player == 0 and is_best:
            values[0][0] = self.leaf(0.0, policy[1][0], 0)
            values[0][0] += sum(values[4 + k].max(axis=0) for k in range(len(BETS)))
        nodes = (0,) if player == 0 else (1, 2, 3)
        total = 0.0
        for k in nodes:
            part = values[k].max(axis=0) if is_best else (policy[k] * values[k]).sum(axis=0)
            total += part.sum()
        return float(total / self.pairs.sum())


def normalise(weights: Array) -> Array:
    """Return weights [A, n] as probabilities; uniform where all are 0."""
    total = weights.sum(axis=0)
    return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / len(weights))


def solve_flop(name: str, ranges: tuple[str, str]) -> dict[str, Any]:
    """Return the mass of pairs, the EV and the frequencies of a flop."""
    flop = parse_cards(name)
    first, second = (RangeHands.from_range(text, flop) for text in ranges)
    disjoint = ~(first.cards[:, None, :, None] == second.cards[None, :, None, :]).any(axis=(2, 3))
    pairs = disjoint * first.weight[:, None] * second.weight[None]
    equity = np.zeros(pairs.shape)
    pair_equities(np.array(flop), first.cards, second.cards, equity)
    game = FlopGame(equity, pairs)
    value, exploitability, policy = game.solve(ITERATIONS)
    share = pairs.sum(axis=1)
    bets = (policy[0][1:].sum(axis=0) * share).sum() / share.sum()
    checked = (policy[0][0][:, None] * pairs).sum(axis=0)
    return {
        "mass": float(pairs.sum()),
        "equity": float((game.share.sum() / pairs.sum() + 1.0) / 2.0),
        "ev": POT / 2.0 + value,
        "exploitability": exploitability,
        "oop_bets": float(bets),
        "ip_bets": float((policy[1][1:].sum(axis=0) * checked).sum() / checked.sum()),
    }


def check_with_arena(name: str, ranges: tuple[str, str]) -> float:
    """Return the EV of a flop as `SpotArena` has it."""
    sizes, none = BetSizes(bet="50% a"), BetSizes()
    streets = ((sizes, sizes), (none, none), (none, none))
    spot = Spot(name, ranges, POT, (STACK, STACK), streets, raise_cap=1)
    arena = SpotArena(spot)
    policy = cp.solve(arena, "dcfr(gamma=3,restart_base=4)", iterations=ITERATIONS).policy
    return float(policy.judge(arena).values[0])


def average(results: dict[str, dict[str, float]], flops: Any, name: str) -> float:
    """Return a number averaged over weighted flops and pairs of hands."""
    weights = np.array([flop.weight * results[flop.name]["mass"] for flop in flops])
    return float(weights @ [results[flop.name][name] for flop in flops] / weights.sum())


def spot_results(spot: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return the results of a spot by flop, from the folder as far as it has them."""
    path = folder / f"{spot}.json"
    results: dict[str, dict[str, Any]] = json.loads(path.read_text()) if path.exists() else {}
    for number, flop in enumerate(all_flops()):
        if flop.name not in results:
            results[flop.name] = solve_flop(flop.name, SPOTS[spot])
            if number % 50 == 0 or number == len(all_flops()) - 1:
                path.write_text(json.dumps(results))
    return results


def compare_subsets(spot: str, results: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a spot's averages over all flops, and the errors of the subsets."""
    names = ("equity", "ev", "oop_bets", "ip_bets")
    everything = {name: average(results, all_flops(), name) for name in names}
    unit = {"equity": 100.0, "ev": 100.0 / POT, "oop_bets": 100.0, "ip_bets": 100.0}
    worst = max(result["exploitability"] for result in results.values())
    averages = {n: round(unit[n] * everything[n], 4) for n in names}
    exploitability = round(100 * worst / POT, 3)
    rows: list[dict[str, Any]] = [
        {"spot": spot, "flops": "all", **averages, "largest_exploitability_percent": exploitability}
    ]
    for size in (25, 49, 95, 184):
        subset = flop_subset(size)
        errors = {n: unit[n] * (average(results, subset, n) - everything[n]) for n in names}
        rng, drawn = np.random.default_rng(0), []
        for _ in range(300):
            chosen = rng.choice(1755, size, replace=False)
            flops = [all_flops()[i] for i in chosen]
            drawn.append(unit["ev"] * (average(results, flops, "ev") - everything["ev"]))
        fitted, _ = fit_on_equity(
            np.array([flop.weight * results[flop.name]["mass"] for flop in subset]),
            np.array([results[flop.name]["equity"] for flop in subset]),
            np.array([[results[flop.name]["ev"]] for flop in subset]),
            everything["equity"],
        )
        errors["ev_by_equity"] = unit["ev"] * (fitted[0] - everything["ev"])
        rounded = {f"{n}_error": round(e, 4) for n, e in errors.items()}
        random_error = round(float(np.sqrt(np.mean(np.square(drawn)))), 4)
        rows.append({"spot": spot, "flops": str(size), **rounded, "random_ev_error": random_error})
    return rows


def main(folder: str, *spots: str) -> None:
    for spot in spots or SPOTS:
        start = time.process_time()
        results = spot_results(spot, Path(folder))
        print(f"{spot}: {time.process_time() - start:.0f} CPU s", flush=True)
        for name in CHECKED:
            same = cards_name(sorted(canonical_cards(parse_cards(name)), reverse=True))
            ev = check_with_arena(name, SPOTS[spot])
            print(f"{name}: EV {results[same]['ev']:.4f}, by SpotArena {ev:.4f}", flush=True)
        for row in compare_subsets(spot, results):
            append_row("flop_subsets", row)
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
