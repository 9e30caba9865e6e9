"""Sample liar's dice with two dice of four sides (33,554,261 nodes) without building its tree.

    python -m benchmarks.large_games.sampled_liars_dice

`exploitability` evaluates a policy of liar's dice exactly without a tree: all players see all bids,
so a walk over the bids with one number per hand is enough. It is first compared with
`cp.exploitability` on small games. `benchmarks.tabular.monte_carlo` puts the table into
docs/monte_carlo.md.
"""

from __future__ import annotations

import argparse
import time
from itertools import product

import numpy as np

import counterplay as cp
from benchmarks.timing import first_paragraph, format_head, format_row, peak_memory_mib

SPEC, MEMORY_LIMIT_BYTES = "liars_dice(numdice=2,dice_sides=4)", 256 * 2**20


class BidTreeEvaluator:
    """Best responses on the tree of bids."""

    def __init__(self, game, policy):
        self.game, self.policy = game, policy
        rolls = list(product(range(1, game.dice_sides + 1), repeat=game.numdice))
        self.hands = sorted({tuple(sorted(roll)) for roll in rolls})
        chance = np.array([sum(tuple(sorted(r)) == hand for r in rolls) for hand in self.hands])
        self.chance = chance / len(rolls)
        self.counts = np.array(  # dice of either player that match a face, wild ones included
            [
                [sum(d in (side, game.dice_sides) for d in hand) for hand in self.hands]
                for side in range(1, game.dice_sides + 1)
            ]
        )

    def action_probs(self, bids, player):
        """Return the acting player's policy [hands, actions]; uniform at unknown infosets."""
        actions = self.game.actions(self.state(self.hands[0], bids))
        rows = []
        for hand in self.hands:
            key = self.game.infoset_key(self.state(hand, bids), player)
            row = self.policy.get((player, key))
            rows.append(row or [1.0 / len(actions)] * len(actions))
        return np.array(rows), actions

    def state(self, hand, bids):
        """Return a state after these bids in which both players hold the hand."""
        from counterplay.games.liars_dice import LiarsDiceState

        return LiarsDiceState(hand + hand, bids)

    def values(self, bids, reach, best):
        """Return the values [hands] of the player `best`, given the other player's `reach` [hands].

        The first result is for a best response, the second for the policy.
        """
        game = self.game
        if bids and bids[-1] == game.liar_action:
            more, side = divmod(bids[-2], game.dice_sides)
            matches = self.counts[side][:, None] + self.counts[side][None, :]
            bidder = len(bids) % 2
            won = np.where((matches > more) == (bidder == best), 1.0, -1.0)
            return (won @ reach,) * 2
        player = len(bids) % 2
        probs, actions = self.action_probs(bids, player)
        if player != best:
            values = [
                self.values((*bids, a), reach * probs[:, k], best) for k, a in enumerate(actions)
            ]
            return sum(x for x, _ in values), sum(y for _, y in values)
        values = [self.values((*bids, a), reach, best) for a in actions]
        mean = sum(probs[:, k] * y for k, (_, y) in enumerate(values))
        return np.max([x for x, _ in values], axis=0), mean

    def exploitability(self):
        """Return NashConv / 2."""
        total = 0.0
        for player in range(2):
            best, mean = self.values((), self.chance, player)
            total += self.chance @ (best - mean)
        return total / 2


def exploitability(game, policy):
    """Return the exact exploitability of a policy of liar's dice."""
    rows = {(player, key): list(row.values()) for player, key, row in policy.items()}
    return BidTreeEvaluator(game, rows).exploitability()


def check_evaluator():
    """Compare the evaluator with the library's on games whose tree fits."""
    for spec in ("liars_dice(dice_sides=4)", "liars_dice(numdice=2,dice_sides=2)"):
        tree = cp.build_tree(cp.load_game(spec))
        policy = cp.random_policy(tree, seed=0)
        value, exact = exploitability(tree.game, policy), cp.exploitability(tree, policy)
        assert abs(value - exact) < 1e-12, (value, exact)


def report_large_game(num_iterations=10_000):
    """Sample the game and return the section of docs/monte_carlo.md."""
    check_evaluator()
    game = cp.load_game(SPEC)
    try:
        cp.build_tree(game, memory_limit=MEMORY_LIMIT_BYTES)
        raise AssertionError("the tree was built")
    except cp.RunError as error:
        refusal = str(error)
    algorithm = cp.algorithms.ExternalSampling()
    lines = [
        format_head(
            ["iterations", "infosets visited", "nodes touched", "tables and keys", "exploitability"]
        ),
        format_row([0, 0, 0, 0, f"{BidTreeEvaluator(game, {}).exploitability():.4f}"]),
    ]
    memory, seconds, done = None, 0.0, 0
    for mark in (num_iterations // 100, num_iterations // 10, num_iterations):
        start = time.process_time()
        result = cp.solve(cp.RulesArena(game), algorithm, iterations=mark - done, memory=memory)
        seconds += time.process_time() - start
        memory, done = result.memory, mark
        size = memory.size
        lines.append(
            format_row(
                [
                    f"{size.iteration:,}",
                    f"{size.num_infosets:,}",
                    f"{size.nodes_touched:,}",
                    f"{size.num_bytes / 2**20:.0f} MiB",
                    f"{exploitability(game, result.policy):.4f}",
                ]
            )
        )
        print(lines[-1], flush=True)
    return (
        f"## A game whose tree is never built\n\n`{SPEC}` has 33,554,261 histories and 655,360 "
        f"infosets. `build_tree(game, memory_limit=256 MiB)` raises: *{refusal}*\n\n"
        f"`solve(RulesArena(game), ExternalSampling())`, {seconds:.0f} s of one core, "
        f"{size.nodes_touched / seconds:,.0f} nodes/s; peak memory of the process, evaluation "
        f"and libraries included, {peak_memory_mib():,.0f} MiB:\n\n" + "\n".join(lines) + "\n\n"
        "Evaluated exactly by `benchmarks/large_games/sampled_liars_dice.py`.\n"
    )


def main():
    """Print the section."""
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("--iterations", type=int, default=10_000)
    print(report_large_game(parser.parse_args().iterations))


if __name__ == "__main__":
    main()
