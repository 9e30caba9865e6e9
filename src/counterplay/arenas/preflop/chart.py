"""Heads-up push/fold charts by linear programs: exact equilibria for a list of stacks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from counterplay.arenas.preflop.deck import FULL_DECK, Deck
from counterplay.arenas.preflop.equity_tables import equity_table
from counterplay.core.arena import Floats
from counterplay.errors import ConfigError, RunError


@dataclass(frozen=True)
class PushFoldChart:
    """Exact push and call frequencies of all classes, by stack."""

    deck: Deck
    stacks: tuple[float, ...]  # N effective stacks in big blinds
    push: Floats  # [N, C] probability that the small blind goes all-in
    call: Floats  # [N, C] probability that the big blind calls
    values: Floats  # [N] big blinds that the small blind wins

    def largest_stack(self, name: str, kind: str = "push") -> float:
        """Return the largest stack at which a class goes in at least half of the time; 0 if none.

        Args:
            name: a class such as "J2s".
            kind: "push" or "call".
        """
        part = (self.push if kind == "push" else self.call)[:, self.deck.class_index(name)]
        return max((s for s, p in zip(self.stacks, part, strict=True) if p >= 0.5), default=0.0)

    def widths(self, row: int) -> tuple[float, float]:
        """Return the parts of all hands that are pushed and called at a stack."""
        weights = self.deck.class_sizes / self.deck.num_hands
        return float(self.push[row] @ weights), float(self.call[row] @ weights)


def push_fold_chart(
    stacks: Sequence[float], *, ante: float = 0.0, small_blind: float = 0.5, deck: Deck = FULL_DECK
) -> PushFoldChart:
    """Return the exact heads-up push/fold equilibria of effective stacks in big blinds.

    With x the push frequencies [C] and z the values [C] that the big blind's classes leave, the
    small blind solves the linear program

        max  sum_a p_a (x_a - 1) (sb + ante) + sum_b z_b
        z_b <= sum_a x_a P_ab (1 + ante)           if b folds
        z_b <= sum_a x_a P_ab S (2 E_ab - 1)       if b calls

    with P the probabilities and E the equities of two classes; the dual prices of the two rows of b
    are in proportion to its frequencies of folding and calling.

    Args:
        stacks: each above the big blind and the ante.
        ante: of each player, in big blinds.
        small_blind: in big blinds.
        deck: the deck.

    Raises:
        ConfigError: a stack leaves nothing to push.
    """
    for stack in stacks:
        if not stack > 1.0 + ante:
            raise ConfigError(f"a stack of {stack:g} leaves nothing to push over blind and ante")
    rows = [_solve_stack(stack, ante, small_blind, deck) for stack in stacks]
    push, call, values = zip(*rows, strict=True)
    return PushFoldChart(deck, tuple(stacks), np.array(push), np.array(call), np.array(values))


def _solve_stack(
    stack: float, ante: float, small_blind: float, deck: Deck
) -> tuple[Floats, Floats, float]:
    table = equity_table(deck)
    meets = table.class_pairs / table.class_pairs.sum()
    equity = np.nan_to_num(table.class_equities, nan=0.5)
    count = deck.num_classes
    lost = (small_blind + ante) * meets.sum(axis=1)
    folds, calls = meets * (1.0 + ante), meets * stack * (2.0 * equity - 1.0)
    identity = np.eye(count)
    result = linprog(
        np.concatenate([-lost, -np.ones(count)]),
        A_ub=np.block([[-folds.T, identity], [-calls.T, identity]]),
        b_ub=np.zeros(2 * count),
        bounds=[(0.0, 1.0)] * count + [(None, None)] * count,
        method="highs",
    )
    if result.status != 0:
        raise RunError(f"the linear program of stack {stack:g} failed: {result.message}")
    price = -result.ineqlin.marginals
    total = price[:count] + price[count:]
    call = np.divide(price[count:], total, out=np.zeros(count), where=total > 0.0)
    return result.x[:count], call, float(-result.fun - lost.sum())
