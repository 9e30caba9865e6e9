"""A game that is not unrolled: liar's dice with two dice of four sides each, 33,554,261 nodes.

`exploitability` judges a policy for liar's dice exactly without a tree: everybody sees all bids, so
a walk over the bids with one number per hand is enough. It agrees with `cp.exploitability` where a
tree fits (checked below on a small game).
"""

from __future__ import annotations

import resource
import time
from itertools import product

import numpy as np

import counterplay as cp

SPEC, LIMIT = "liars_dice(numdice=2,dice_sides=4)", 256 * 2**20


class Judge:
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

    def plays(self, bids, player):
        """Probabilities [hands, actions] of the player to act; uniform where nothing is known."""
        first = self.game.actions(self.state(self.hands[0], bids))
        rows = []
        for hand in self.hands:
            key = self.game.infoset_key(self.state(hand, bids), player)
            row = self.policy.get((player, key))
            rows.append(row or [1.0 / len(first)] * len(first))
        return np.array(rows), first

    def state(self, hand, bids):
        from counterplay.games.liars_dice import LiarsDiceState

        return LiarsDiceState(hand + hand, bids)

    def values(self, bids, reach, best):
        """What each hand is worth to player `best`, with the other's `reach` [hands].

        The second result is the same for a player who follows the policy.
        """
        game = self.game
        if bids and bids[-1] == game.liar_action:
            more, side = divmod(bids[-2], game.dice_sides)
            matches = self.counts[side][:, None] + self.counts[side][None, :]
            bidder = len(bids) % 2
            won = np.where((matches > more) == (bidder == best), 1.0, -1.0)
            return (won @ reach,) * 2
        player = len(bids) % 2
        plays, actions = self.plays(bids, player)
        if player != best:
            found = [
                self.values((*bids, a), reach * plays[:, k], best) for k, a in enumerate(actions)
            ]
            return sum(x for x, _ in found), sum(y for _, y in found)
        found = [self.values((*bids, a), reach, best) for a in actions]
        mean = sum(plays[:, k] * y for k, (_, y) in enumerate(found))
        return np.max([x for x, _ in found], axis=0), mean

    def exploitability(self):
        total = 0.0
        for player in range(2):
            top, mean = self.values((), self.chance, player)
            total += self.chance @ (top - mean)
        return total / 2


def exploitability(game, policy):
    rows = {(player, key): list(row.values()) for player, key, row in policy.items()}
    return Judge(game, rows).exploitability()


def check_judge():
    """The judge above agrees with the library's on a game that fits into a tree."""
    for spec in ("liars_dice(dice_sides=4)", "liars_dice(numdice=2,dice_sides=2)"):
        tree = cp.build_tree(cp.load_game(spec))
        policy = cp.random_policy(tree, seed=0)
        found, exact = exploitability(tree.game, policy), cp.exploitability(tree, policy)
        assert abs(found - exact) < 1e-12, (found, exact)


def large(iterations=10_000):
    check_judge()
    game = cp.load_game(SPEC)
    try:
        cp.build_tree(game, memory_limit=LIMIT)
        raise AssertionError("the tree was built")
    except cp.RunError as error:
        refusal = str(error)
    algorithm = cp.algorithms.ExternalSampling()
    lines = [
        "| iterations | infosets met | nodes touched | tables and keys | exploitability |",
        "|---" * 5 + "|",
        f"| 0 | 0 | 0 | 0 | {Judge(game, {}).exploitability():.4f} |",
    ]
    memory, seconds, done = None, 0.0, 0
    for mark in (iterations // 100, iterations // 10, iterations):
        began = time.process_time()
        result = cp.solve(cp.RulesArena(game), algorithm, iterations=mark - done, memory=memory)
        seconds += time.process_time() - began
        memory, done = result.memory, mark
        size = result.size
        lines.append(
            f"| {size.iteration:,} | {size.num_infosets:,} | {size.nodes_touched:,} | "
            f"{size.num_bytes / 2**20:.0f} MiB | {exploitability(game, result.policy):.4f} |"
        )
        print(lines[-1], flush=True)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return (
        f"## A game that is never unrolled\n\n`{SPEC}` has 33,554,261 histories and 655,360 "
        f"infosets. `build_tree(game, memory_limit=256 MiB)` says: *{refusal}*\n\n"
        f"`solve(SampledGame(game), ExternalSampling())`, {seconds:.0f} s of one core, "
        f"{size.nodes_touched / seconds:,.0f} nodes/s; the process, judge and libraries included, never "
        f"took more than {peak:,.0f} MiB:\n\n" + "\n".join(lines) + "\n\n"
        "Judged exactly by `benchmarks/large_game.py`, a walk over the bids alone.\n"
    )


if __name__ == "__main__":
    print(large())
