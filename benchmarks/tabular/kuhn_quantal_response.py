"""Compute Kuhn's quantal response equilibria in agent form by Newton's method.

    python -m benchmarks.tabular.kuhn_quantal_response

Uses the rules of Kuhn poker and nothing of Counterplay. At each infoset the log-odds of betting
equal (value of betting - value of passing) / temperature, given that the infoset is reached. The
path starts from uniform play at temperature 1; derivatives are complex steps, exact to rounding.
Prints NashConv, by enumeration of all pure policies, and the residual of the equations.
"""

from __future__ import annotations

import argparse
from itertools import product
from typing import Any

import numpy as np

from benchmarks.timing import first_paragraph

Infoset = tuple[int, str]  # a card and the actions so far: "p" for pass, "b" for bet
DEALS = [(first, second) for first in range(3) for second in range(3) if first != second]
INFOSETS = [(card, past) for past in ("", "p", "b", "pb") for card in range(3)]
TEMPERATURES = [1, 0.8, 0.65, 0.5, 0.4, 0.3, 0.25, 0.2, 0.17, 0.14, 0.12, 0.1, 0.08, 0.065, 0.05]
PRINTED_TEMPERATURES = (0.5, 0.2, 0.1, 0.05)


def value(past: str, deal: tuple[int, int], bets: dict[Infoset, Any]) -> Any:
    """Return player 0's value after the actions `past`; `bets` are betting probabilities."""
    stake = {"pp": 1, "bb": 2, "pbb": 2}.get(past)
    if stake:
        return stake if deal[0] > deal[1] else -stake
    if past in ("bp", "pbp"):
        return 1 if past == "bp" else -1
    bet = bets[deal[len(past) % 2], past]
    return (1 - bet) * value(past + "p", deal, bets) + bet * value(past + "b", deal, bets)


def betting_gain(infoset: Infoset, bets: dict[Infoset, Any]) -> Any:
    """Return the acting player's value of betting minus that of passing."""
    card, past = infoset
    player = len(past) % 2
    total_reach: Any = 0
    total_gain: Any = 0
    for deal in DEALS:
        if deal[player] != card:
            continue
        reach: Any = 1
        for turn, action in enumerate(past):
            if turn % 2 != player:
                bet = bets[deal[turn % 2], past[:turn]]
                reach = reach * (bet if action == "b" else 1 - bet)
        gain = value(past + "b", deal, bets) - value(past + "p", deal, bets)
        total_reach = total_reach + reach
        total_gain = total_gain + reach * (gain if player == 0 else -gain)
    return total_gain / total_reach


def policy_from_logits(logits: Any) -> dict[Infoset, Any]:
    """Return the betting probability of each infoset."""
    return dict(zip(INFOSETS, 1 / (1 + np.exp(-logits)), strict=True))


def residuals(logits: Any, temperature: float) -> Any:
    """Return how far each equation is from holding."""
    bets = policy_from_logits(logits)
    gains = np.array([betting_gain(infoset, bets) for infoset in INFOSETS])
    return logits - gains / temperature


def nash_conv(bets: dict[Infoset, Any]) -> float:
    """Return NashConv by enumeration of all pure policies."""
    total = 0.0
    for player in range(2):
        own = [infoset for infoset in INFOSETS if len(infoset[1]) % 2 == player]
        values = []
        for pure in product((0, 1), repeat=len(own)):
            changed = bets | dict(zip(own, pure, strict=True))
            mean = sum(value("", deal, changed) for deal in DEALS) / len(DEALS)
            values.append(mean if player == 0 else -mean)
        total += max(values)
    return total


def solve_newton(logits: Any, temperature: float) -> Any:
    """Return the logits that solve the equations, starting from those of a higher temperature."""
    for _ in range(30):
        derivatives = [
            residuals(logits + 1e-30j * unit, temperature).imag / 1e-30
            for unit in np.eye(logits.size)
        ]
        step = np.linalg.solve(np.array(derivatives).T, residuals(logits, temperature))
        logits = logits - step
        if np.abs(step).max() < 1e-13:
            break
    return logits


def main() -> None:
    """Follow the path of equilibria and print some of them."""
    argparse.ArgumentParser(description=first_paragraph(__doc__)).parse_args()
    logits = np.zeros(len(INFOSETS))
    for temperature in TEMPERATURES:
        logits = solve_newton(logits, temperature)
        if temperature in PRINTED_TEMPERATURES:
            error = np.abs(residuals(logits, temperature)).max()
            result = nash_conv(policy_from_logits(logits))
            print(f"{temperature}: NashConv {result:.10f}, residual {error:.0e}")


if __name__ == "__main__":
    main()
