"""Reports of searches: visits, values and ranges at one decision, for people to read.

Agents that search have `search_report(state, player)`, which describes the search that their last
`action_probabilities(state, player)` has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from counterplay.core.game import Game, State
from counterplay.play.episodes import Agent


@dataclass(frozen=True)
class RangeReport:
    """The information that a player may have at a decision, and the probability of each."""

    player: int
    keys: list[str]  # infoset keys of the player
    probabilities: list[float]
    values: list[float] | None = None  # of each, if the search has one
    value_name: str = ""


@dataclass(frozen=True)
class SearchReport:
    """Quantities that a search has computed at one decision."""

    facts: dict[str, str]  # such as {"states": "200"}
    by_action: dict[str, list[float]]  # such as {"visits": [12, 88]}, one entry per legal action
    ranges: list[RangeReport] = field(default_factory=list)


def search_report(agent: Agent, state: State, player: int) -> SearchReport | None:
    """Return the report of an agent's last search; None if it does not describe its searches."""
    describe: Callable[[State, int], SearchReport] | None = getattr(agent, "search_report", None)
    return describe(state, player) if describe else None


def range_from_states(game: Game, states: Iterable[State], player: int) -> RangeReport | None:
    """Return the shares of a player's infosets among states; None if the game has no keys there."""
    counts: dict[str, int] = {}
    try:
        for state in states:
            key = game.infoset_key(state, player)
            counts[key] = counts.get(key, 0) + 1
    except Exception:  # the rules need no key of players who wait
        return None
    total = sum(counts.values())
    return RangeReport(player, list(counts), [count / total for count in counts.values()])
