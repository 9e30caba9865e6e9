"""Kuhn's quantal response equilibria in agent form by Newton's method, from the rules alone.

    python benchmarks/gradients/quantal.py

Nothing of Counterplay is used: at every infoset the log-odds of betting are to be the difference of
the two actions' values, given that the infoset is reached, over the temperature. The path starts
from uniform play at temperature 1; derivatives are complex steps, exact to rounding. Prints
NashConv, by trying all pure policies, and how far the equations are from holding.
"""

from __future__ import annotations

from itertools import product

import numpy as np

DEALS = [(one, two) for one in range(3) for two in range(3) if one != two]
INFOSETS = [(card, past) for past in ("", "p", "b", "pb") for card in range(3)]
PATH = [1, 0.8, 0.65, 0.5, 0.4, 0.3, 0.25, 0.2, 0.17, 0.14, 0.12, 0.1, 0.08, 0.065, 0.05]


def value(past, deal, bets):
    """What player 0 expects after `past`, when each infoset bets as likely as `bets` says."""
    stake = {"pp": 1, "bb": 2, "pbb": 2}.get(past)
    if stake:
        return stake if deal[0] > deal[1] else -stake
    if past in ("bp", "pbp"):
        return 1 if past == "bp" else -1
    bet = bets[deal[len(past) % 2], past]
    return (1 - bet) * value(past + "p", deal, bets) + bet * value(past + "b", deal, bets)


def difference(infoset, bets):
    """How much more betting is worth than passing to the one who acts."""
    card, past = infoset
    player, reached, found = len(past) % 2, 0, 0
    for deal in DEALS:
        if deal[player] != card:
            continue
        reach = 1
        for turn, action in enumerate(past):
            if turn % 2 != player:
                bet = bets[deal[turn % 2], past[:turn]]
                reach = reach * (bet if action == "b" else 1 - bet)
        more = value(past + "b", deal, bets) - value(past + "p", deal, bets)
        reached, found = reached + reach, found + reach * (more if player == 0 else -more)
    return found / reached


def policy(logits):
    return dict(zip(INFOSETS, 1 / (1 + np.exp(-logits)), strict=True))


def errors(logits, temperature):
    bets = policy(logits)
    wanted = np.array([difference(infoset, bets) for infoset in INFOSETS])
    return logits - wanted / temperature


def nash_conv(bets):
    total = 0.0
    for player in range(2):
        own = [infoset for infoset in INFOSETS if len(infoset[1]) % 2 == player]
        worth = []
        for pure in product((0, 1), repeat=len(own)):
            changed = bets | dict(zip(own, pure, strict=True))
            earned = sum(value("", deal, changed) for deal in DEALS) / len(DEALS)
            worth.append(earned if player == 0 else -earned)
        total += max(worth)
    return total


def main() -> None:
    logits = np.zeros(len(INFOSETS))
    for temperature in PATH:
        for _ in range(30):
            slopes = [
                errors(logits + 1e-30j * unit, temperature).imag / 1e-30
                for unit in np.eye(logits.size)
            ]
            step = np.linalg.solve(np.array(slopes).T, errors(logits, temperature))
            logits = logits - step
            if np.abs(step).max() < 1e-13:
                break
        if temperature in (0.5, 0.2, 0.1, 0.05):
            rest = np.abs(errors(logits, temperature)).max()
            print(f"{temperature}: {nash_conv(policy(logits)):.10f}, off by {rest:.0e}")


if __name__ == "__main__":
    main()
