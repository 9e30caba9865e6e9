"""Values and best responses in fractions, as a reference for floating point."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from counterplay.core.game import TERMINAL
from tests.random_games import RandomGame


@dataclass(frozen=True)
class Mixed(RandomGame):
    """A random game whose stakes differ by `decades` from terminal to terminal, and by player."""

    decades: float = 24.0
    same_units: bool = False  # for all players: needed to stay zero-sum

    def utilities(self, state):
        power = self.decades * (self.draw("stakes", state.history) - 0.5)
        units = [self.draw("units", 0 if self.same_units else p) for p in range(self.num_players)]
        return [
            float(f"1e{round(power + self.decades * (unit - 0.5))}") * utility
            for unit, utility in zip(units, super().utilities(state), strict=True)
        ]


def exact_judgement(tree, policy):
    """For each player: value, best-response value, and the value of the absolute utilities."""
    odds = [Fraction(p) for p in policy.probabilities.tolist()]
    chance = [Fraction(p) for p in tree.chance.tolist()]
    reach = [[Fraction(1)] * (tree.num_players + 1)]  # of a node by each player, chance last
    sequences = [[tree.num_sequences] * tree.num_players]
    for node in range(1, tree.num_nodes):
        above = int(tree.parent[node])
        player, here, last = int(tree.player[above]), list(reach[above]), list(sequences[above])
        sequence = int(tree.incoming_sequence[node])
        here[player] *= odds[sequence] if player >= 0 else chance[node]
        if player >= 0:
            last[player] = sequence
        reach.append(here)
        sequences.append(last)
    judged = []
    ends = np.flatnonzero(tree.player == TERMINAL).tolist()
    for p in range(tree.num_players):
        value, size, cf_value = Fraction(0), Fraction(0), [Fraction(0)] * (tree.num_sequences + 1)
        for z, node in enumerate(ends):
            utility = Fraction(float(tree.utility[z, p]))
            others = prod(reach[node][:p] + reach[node][p + 1 :])
            value += reach[node][p] * others * utility
            size += reach[node][p] * others * abs(utility)
            cf_value[sequences[node][p]] += others * utility
        first, last = tree.form.player_infoset[p : p + 2].tolist()
        for infoset in range(last - 1, first - 1, -1):
            start, end = tree.form.offset[infoset : infoset + 2].tolist()
            cf_value[int(tree.form.parent[infoset])] += max(cf_value[start:end])
        judged.append((value, cf_value[-1], size))
    return judged
