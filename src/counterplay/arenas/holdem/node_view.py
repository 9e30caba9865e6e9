"""A player's policy at a node, hand by hand, as numbers for people, files, drawings and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from counterplay.arenas.holdem.hand_ranges import grid_cell
from counterplay.core.arena import Floats
from counterplay.core.cards import hand_name

PASSIVE_COLOURS = {"fold": "#5b8db8", "check": "#6ab187", "call": "#6ab187"}
# from the smallest bet to the largest
BET_COLOURS = ("#f2b5a7", "#e8836f", "#d1495b", "#a63446", "#7a1f33", "#4f1220")


def action_colours(actions: Sequence[str]) -> list[str]:
    """Return a colour per action: blue for fold, green for check and call, red for bets.

    Larger bets are darker.
    """
    num_bets = sum(name not in PASSIVE_COLOURS for name in actions)
    colours, bet = [], 0
    for name in actions:
        if name in PASSIVE_COLOURS:
            colours.append(PASSIVE_COLOURS[name])
        else:
            bet += 1
            shade = (bet * len(BET_COLOURS)) // (num_bets + 1)
            colours.append(BET_COLOURS[min(shade, len(BET_COLOURS) - 1)])
    return colours


@dataclass(frozen=True)
class NodeView:
    """A player's hands at a node where it acts. n live hands, A actions."""

    history: str
    board: str
    pot: int
    player: int
    actions: tuple[str, ...]
    hands: tuple[str, ...]  # [n]
    weight: Floats  # [n] reach of the hand: probability that the player gets here with it
    policy: Floats  # [A, n]
    value: Floats  # [n] EV from this node on in chips, if both follow the policy; a fold has 0
    action_value: Floats  # [A, n] EV after each action
    equity: Floats  # [n] against the opponent's range at this node
    opponent_mass: Floats  # [n] reach of the opponent's hands that share no card with the hand
    is_reached: bool  # whether the policies ever get here; if not, the policy here is arbitrary

    @property
    def frequencies(self) -> Floats:
        """Frequency [A] of each action over the whole range."""
        share = self.weight * self.opponent_mass
        total = share.sum()
        return self.policy @ share / total if total > 0.0 else self.policy.mean(axis=1)

    @property
    def regret(self) -> Floats:
        """Chips [n] that the best action gains over the policy."""
        return self.action_value.max(axis=0) - self.value

    def hand_rows(self) -> list[dict[str, Any]]:
        """Return one dict per hand, for JSON and CSV."""
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
        """Return the 13 x 13 cells, aces first: name, weight, action frequencies and EV."""
        index_by_hand = {hand: i for i, hand in enumerate(self.hands)}
        return [
            [self._average_cell(*grid_cell(row, column), index_by_hand) for column in range(13)]
            for row in range(13)
        ]

    def _average_cell(
        self, name: str, hands: list[int], index_by_hand: dict[str, int]
    ) -> dict[str, Any]:
        names = map(hand_name, hands)
        live = [index_by_hand[hand] for hand in names if hand in index_by_hand]
        weight = self.weight[live]
        total = float(weight.sum())
        share = weight / total if total > 0.0 else weight
        return {
            "name": name,
            "weight": total / len(hands),
            "policy": (self.policy[:, live] @ share).tolist(),
            "value": float(self.value[live] @ share),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the view as JSON data: the output of `spot show --export` and of the studio.

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


@dataclass(frozen=True)
class NodeDifference:
    """The difference of two solutions at one node: the first minus the second."""

    first: NodeView
    second: NodeView

    @property
    def policy(self) -> Floats:
        """Difference [A, n] of the action probabilities."""
        return self.first.policy - self.second.policy

    @property
    def frequencies(self) -> Floats:
        """Difference [A] of the action frequencies over the whole range."""
        return self.first.frequencies - self.second.frequencies

    @property
    def policy_distance(self) -> float:
        """Mean total variation distance, hands weighted by how often the first reaches them."""
        share = self.first.weight * self.first.opponent_mass
        distance = self._hand_distances()
        total = share.sum()
        return float(share @ distance / total) if total > 0.0 else float(distance.mean())

    def _hand_distances(self) -> Floats:
        """Return the total variation distance [n] of the two policies by hand."""
        return np.abs(self.policy).sum(axis=0) / 2.0

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per hand, the largest weighted differences first."""
        distance = self._hand_distances()
        return [
            {
                "hand": self.first.hands[i],
                "weight": float(self.first.weight[i]),
                "moved": float(distance[i]),
                **dict(zip(self.first.actions, self.policy[:, i].tolist(), strict=True)),
                "value": float(self.first.value[i] - self.second.value[i]),
            }
            for i in np.argsort(-distance * self.first.weight, kind="stable").tolist()
        ]


def _replace_nan(value: Any) -> Any:
    """Return nested lists and dicts with None in place of NaN, which JSON cannot hold."""
    if isinstance(value, list):
        return [_replace_nan(part) for part in value]
    if isinstance(value, dict):
        return {name: _replace_nan(part) for name, part in value.items()}
    return None if isinstance(value, float) and math.isnan(value) else value
