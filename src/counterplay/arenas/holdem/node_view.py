"""What a player does at a node, hand by hand: numbers for people, files, drawings and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from counterplay.arenas.holdem.hand_ranges import grid_cell
from counterplay.core.arena import Floats
from counterplay.core.cards import hand_name

FOLD_COLOUR, PASSIVE_COLOUR = "#5b8db8", "#6ab187"  # colours of fold; of check and call
BET_COLOURS = (
    "#f2b5a7",
    "#e8836f",
    "#d1495b",
    "#a63446",
    "#7a1f33",
    "#4f1220",
)  # smallest to largest


def action_colours(actions: Sequence[str]) -> list[str]:
    """A colour for each action: blue folds, green checks and calls, bets redder as they grow."""
    bets = sum(name not in ("fold", "check", "call") for name in actions)
    found, bet = [], 0
    for name in actions:
        if name == "fold":
            found.append(FOLD_COLOUR)
        elif name in ("check", "call"):
            found.append(PASSIVE_COLOUR)
        else:
            bet += 1
            found.append(
                BET_COLOURS[min((bet * len(BET_COLOURS)) // (bets + 1), len(BET_COLOURS) - 1)]
            )
    return found


@dataclass(frozen=True)
class NodeView:
    """A player's hands at a node where it acts. n hands that the board allows, A actions."""

    history: str
    board: str
    pot: int
    player: int
    actions: tuple[str, ...]
    hands: tuple[str, ...]  # [n]
    weight: Floats  # [n] how often the player is here with the hand, 1 if always
    policy: Floats  # [A, n]
    value: Floats  # [n] EV from this node on, in chips, if both follow the policy; a fold has 0
    action_value: Floats  # [A, n] the same after each action
    equity: Floats  # [n] of the pot against the opponent's hands here
    opponent_mass: (
        Floats  # [n] the opponent's hands that leave it its cards, weighted by their reach
    )
    is_reached: bool  # whether the policy ever comes here; elsewhere nothing binds it

    @property
    def frequencies(self) -> Floats:
        """[A] how often each action is taken."""
        share = self.weight * self.opponent_mass
        total = share.sum()
        return self.policy @ share / total if total > 0.0 else self.policy.mean(axis=1)

    @property
    def regret(self) -> Floats:
        """[n] chips that the best action would bring on top."""
        return self.action_value.max(axis=0) - self.value

    def hand_rows(self) -> list[dict[str, Any]]:
        """One dict per hand, as JSON and CSV take them."""
        return [
            {
                "hand": hand,
                "weight": float(self.weight[i]),
                **{name: float(self.policy[a, i]) for a, name in enumerate(self.actions)},
                "value": float(self.value[i]),
                "equity": float(self.equity[i]),
                "regret": float(self.regret[i]),
            }
            for i, hand in enumerate(self.hands)
        ]

    def hand_grid(self) -> list[list[dict[str, Any]]]:
        """The 13 x 13 cells, aces first: name, weight, frequency of each action, value."""
        place = {hand: i for i, hand in enumerate(self.hands)}
        return [
            [self._grid_cell(*grid_cell(row, column), place) for column in range(13)]
            for row in range(13)
        ]

    def _grid_cell(self, name: str, hands: list[int], place: dict[str, int]) -> dict[str, Any]:
        here = [place[hand_name(hand)] for hand in hands if hand_name(hand) in place]
        weight = self.weight[here]
        total = float(weight.sum())
        share = weight / total if total > 0.0 else weight
        return {
            "name": name,
            "weight": total / len(hands),
            "policy": (self.policy[:, here] @ share).tolist(),
            "value": float(self.value[here] @ share),
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it: what `spot show --export` writes, and what pages draw.

        `grid` has 13 rows of 13 cells, aces first; a cell's `policy` follows `actions`.
        """
        parts = zip(
            self.actions, action_colours(self.actions), self.frequencies.tolist(), strict=True
        )
        return {
            "record": self.history,
            "board": self.board,
            "pot": self.pot,
            "player": self.player,
            "reached": self.is_reached,
            "actions": [{"name": n, "colour": c, "frequency": f} for n, c, f in parts],
            "grid": _replace_nan(self.hand_grid()),
            "hands": _replace_nan(self.hand_rows()),
        }


def _replace_nan(value: Any) -> Any:
    """Lists and dicts with None for every NaN, which JSON has no word for."""
    if isinstance(value, list):
        return [_replace_nan(part) for part in value]
    if isinstance(value, dict):
        return {name: _replace_nan(part) for name, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
