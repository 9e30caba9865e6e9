"""Re-solve a hold'em game from a base whose river hands are in buckets.

    python -m benchmarks.search.bucketed_holdem ms3f1t1r1h5 --streets 3 --methods resolve --store

A bucket is a hand on the turn board together with its strength on the river: wins less losses
against all other hands (Slumbot's `nxhs3`). So a player forgets the river card. The base is CFR+
with buckets: regrets are summed over the deals of a bucket and floored once per iteration. Subgames
have the exact hands. With `--base FILE` the base is computed once, and with `--store` rows that the
result file has already are not computed again.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import counterplay as cp
from benchmarks.holdem.whole_games import call_weights, to_mbb
from benchmarks.result_files import append_row, load_rows
from benchmarks.timing import first_paragraph
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_boards import hand_positions, strength_order
from counterplay.arenas.holdem.game_subgames import METHODS, cfr_plus_tables, resolve_street
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.runtime.jit import kernel
from counterplay.kernels.runtime.threads import set_num_threads

RESULTS = "bucketed_holdem"


def river_strengths(arena: HoldemGameArena) -> np.ndarray:
    """Return wins less losses [boards, hands] against all other hands on the last street."""
    street = arena.streets[-1]
    order = strength_order(street, arena.game, True)
    positions = hand_positions(street.free_cards.shape[1], arena.game.num_hole_cards)
    shares_card = (positions[:, None, :, None] == positions[None, :, None, :]).any(axis=(2, 3))
    strengths = np.zeros((street.num_boards, len(positions)), np.int64)
    for board in range(street.num_boards):
        rows = slice(order.live_offset[board], order.live_offset[board + 1])
        rank = np.zeros(len(positions), np.int64)
        rank[order.hand[rows]] = order.rank[rows]
        beats = np.sign(rank[:, None] - rank[None, :])
        strengths[board] = (beats * ~shares_card).sum(axis=1)
    return strengths


def river_buckets(arena: HoldemGameArena) -> tuple[np.ndarray, np.ndarray]:
    """Return the river hands by bucket, as board times hands + hand, and the start of each bucket.

    Hands that a symmetry of the turn board maps to each other are one hand.
    """
    last = len(arena.streets) - 1
    turn_boards, boards = arena.street_boards[last - 1], arena.street_boards[last]
    parent, hands = arena.streets[last].parent, arena.num_hands(last - 1)
    turn_hand = boards.parent_hand.astype(np.int64)
    for row, board in enumerate(parent.tolist()):
        orbit_row = int(turn_boards.orbit_row[board])
        if orbit_row >= 0:
            turn_hand[row] = turn_boards.orbit[orbit_row][turn_hand[row]]
    strengths = river_strengths(arena)
    span = 2 * np.abs(strengths).max() + 1
    key = (parent[:, None] * hands + turn_hand) * span + strengths
    order = np.argsort(key.ravel(), kind="stable")
    _, first = np.unique(key.ravel()[order], return_index=True)
    return order, np.append(first, order.size)


@kernel
def sum_bucket_regrets(before, after, start, stride, count, size, members, first, weight):
    """Set the regrets of a node's bucketed hands to those of their buckets, floored at zero.

    All hands of a bucket have the same regret in `before`; `after` has gains added to it.
    """
    for a in range(count):
        for b in range(first.size - 1):
            board, hand = divmod(members[first[b]], size)
            old = before[start + board * stride + a * size + hand]
            total = old
            for m in range(first[b], first[b + 1]):
                board, hand = divmod(members[m], size)
                at = start + board * stride + a * size + hand
                total += weight[board] * (after[at] - old)
            total = max(total, 0.0)
            for m in range(first[b], first[b + 1]):
                board, hand = divmod(members[m], size)
                after[start + board * stride + a * size + hand] = total


class BucketedBase:
    """CFR+ with the river hands in buckets; averages have weight t - 100 after 100 iterations."""

    def __init__(self, arena: HoldemGameArena):
        self.arena, self.iteration = arena, 0
        dtype = arena.compute_dtype
        self.regret = np.zeros(arena.num_sequences, dtype)
        self.policy_sum = np.zeros((1, arena.num_sequences), dtype)
        self.call = call_weights(arena)
        self.members, self.first = river_buckets(arena)
        self.weight = np.array(arena.streets[-1].num_merged, np.float64)

    def half_iteration(self, player: int, weight: float) -> None:
        """Add the player's policy to its average, then update its regrets."""
        arena, last = self.arena, len(self.arena.streets) - 1
        before = self.regret.copy()
        tables = cfr_plus_tables(self.regret, self.policy_sum, self.call, weight)
        tables = tables._replace(discounts=np.array([1.0, 1.0, 0.0]))  # floored below
        arena.walk(player, tables, street_walk.MODE_LEARN)
        layout = arena.piece_layout
        for number, node in enumerate(arena.betting.nodes):
            if node.kind != player:
                continue
            start, stride = int(layout.start[number]), int(layout.stride[number])
            street, count = node.state.street, len(node.actions)
            if street == last:
                sum_bucket_regrets(
                    before, self.regret, start, stride, count, arena.num_hands(street),
                    self.members, self.first, self.weight,
                )  # fmt: skip
            else:
                end = arena.piece_slice(number, arena.streets[street].num_boards - 1).stop
                np.maximum(self.regret[start:end], 0.0, out=self.regret[start:end])

    def step(self, iterations: int) -> None:
        for _ in range(iterations):
            self.iteration += 1
            weight = float(max(1, self.iteration - 100))
            self.half_iteration(0, weight)
            self.half_iteration(1, weight)

    def policy(self) -> HoldemPolicy:
        return HoldemPolicy(self.arena, self.policy_sum[0], self.call)


def load_base(arena: HoldemGameArena, iterations: int, file: str) -> HoldemPolicy:
    """Return the base policy, from a file if there is one."""
    path = Path(file)
    if file and path.exists():
        return HoldemPolicy(arena, np.load(path), call_weights(arena))
    base, cpu = BucketedBase(arena), time.process_time()
    base.step(iterations)
    print(
        f"base: {len(base.first) - 1:,} buckets, {time.process_time() - cpu:.0f} CPU s", flush=True
    )
    if file:
        np.save(path, base.policy_sum[0])
    return base.policy()


def main() -> None:
    """Solve the base, then the wanted streets by the wanted methods."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("game")
    parser.add_argument("--streets", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--methods", nargs="*", default=METHODS, choices=METHODS)
    parser.add_argument("--base-iterations", type=int, default=200)
    parser.add_argument("--iterations", type=int, default=200, help="per subgame")
    parser.add_argument("--algorithm", default="", help="default: CFR+ with Slumbot's averages")
    parser.add_argument("--precision", default="float32", choices=("float32", "float64"))
    parser.add_argument("--base", default="", help="a .npy file for the base policy")
    parser.add_argument("--store", action="store_true", help="append to the result file")
    args = parser.parse_args()
    set_num_threads(1)
    arena = HoldemGameArena(cp.load_game(args.game), args.precision)
    blueprint = load_base(arena, args.base_iterations, args.base)
    head = {"game": args.game, "base_iterations": args.base_iterations}
    head["precision"] = args.precision
    head |= {"base_mbb": round(to_mbb(arena, cp.exploitability(arena, blueprint)), 3)}
    print(head, flush=True)
    algorithm = cp.load_algorithm(args.algorithm) if args.algorithm else None
    stored = load_rows(RESULTS) if args.store else []
    for street, method in ((s, m) for s in args.streets for m in args.methods):
        task = head | {"street": street, "method": method, "iterations": args.iterations}
        task |= {"algorithm": args.algorithm or "cfr_plus as Slumbot's"}
        if any(task.items() <= row.items() for row in stored):
            continue
        cpu = time.process_time()
        fallback = call_weights(arena)
        policy = resolve_street(blueprint, street, method, args.iterations, fallback, algorithm)
        cpu = time.process_time() - cpu
        mbb = round(to_mbb(arena, cp.exploitability(arena, policy)), 3)
        row = task | {"mbb": mbb, "cpu_seconds": round(cpu, 1)}
        print(row, flush=True)
        if args.store:
            append_row(RESULTS, row)


if __name__ == "__main__":
    main()
