"""The next card: EVs, equities and betting frequencies of a solution after each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.inspection import find_node, inspect_node
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.arena import Floats
from counterplay.core.cards import NUM_CARDS, card_name
from counterplay.errors import ConfigError

PASSIVE_ACTIONS = ("fold", "check", "call")


@dataclass(frozen=True)
class Runout:
    """The play after one card. EVs are in chips from the card on; OOP acts first."""

    card: str
    values: tuple[float, float] | None  # EV of OOP and IP; that of IP needs a spot without rake
    equities: tuple[float, float]
    oop_bet_frequency: float
    ip_bet_frequency: float  # after a check of OOP
    is_reached: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the runout as JSON data."""
        return asdict(self)


def range_mean(view: NodeView, per_hand: Floats) -> float:
    """Return the mean of a number [n] per hand over the range at a node; 0 if it is not reached."""
    share = view.weight * view.opponent_mass
    total = float(share.sum())
    return float(per_hand @ share) / total if total > 0.0 else 0.0


def bet_frequency(view: NodeView) -> float:
    """Return the frequency of all bets and raises at a node."""
    pairs = zip(view.actions, view.frequencies.tolist(), strict=True)
    return float(sum(frequency for name, frequency in pairs if name not in PASSIVE_ACTIONS))


def list_runouts(
    policy: HoldemPolicy,
    history: str = "",
    *,
    inspect: Callable[[str], NodeView] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Runout]:
    """Return one runout for every card that can come after a history.

    Cards that a renaming of suits maps to each other are computed once.

    Args:
        policy: a solution.
        history: ends where a card is dealt.
        inspect: returns the view of a node, for example from a cache.
        progress: called with the number of cards done and of all cards.

    Raises:
        ConfigError: no card is dealt after the history, or no betting follows (players are
            all-in).
    """
    arena: SpotArena = policy.arena
    inspect = inspect or (lambda line: inspect_node(policy, line))
    location = find_node(arena, history)
    node = arena.betting.nodes[location.node]
    if node.kind != DEAL:
        raise ConfigError(f"no card is dealt after {history!r}; give a line that ends a street")
    first = arena.betting.nodes[arena.betting.block_starts[node.next_block]]
    if first.kind >= FOLD:
        raise ConfigError(f"no betting follows {history!r}: a player is all-in")
    view_cards = _cards_in_play(arena, history)
    runout_by_board: dict[int, Runout] = {}
    runouts = []
    for done, card in enumerate(view_cards):
        if progress:
            progress(done, len(view_cards))
        line = f"{history}|{card_name(card)}"
        board = find_node(arena, line).board
        if board not in runout_by_board:
            runout_by_board[board] = _inspect_runout(arena, line, inspect)
        same = runout_by_board[board]
        runouts.append(Runout(card_name(card), *_fields_after_card(same)))
    return runouts


def _fields_after_card(runout: Runout) -> tuple[Any, ...]:
    return (
        runout.values,
        runout.equities,
        runout.oop_bet_frequency,
        runout.ip_bet_frequency,
        runout.is_reached,
    )


def _cards_in_play(arena: SpotArena, history: str) -> list[int]:
    """Return the cards that can be dealt after a history, the highest first."""
    used = {*arena.spot.cards, *arena.spot.dead_cards}
    names = {part.split(",")[0].strip() for part in history.split("|")[1:]}
    cards = (card for card in range(NUM_CARDS) if card not in used)
    return sorted((card for card in cards if card_name(card) not in names), reverse=True)


def _inspect_runout(arena: SpotArena, line: str, inspect: Callable[[str], NodeView]) -> Runout:
    view = inspect(line)
    value, equity = range_mean(view, view.value), range_mean(view, view.equity)
    ip_frequency = 0.0
    after_check = f"{line},check"
    if arena.betting.nodes[find_node(arena, after_check).node].kind < FOLD:
        ip_frequency = bet_frequency(inspect(after_check))
    return Runout(
        card=line.rpartition("|")[2],
        values=None if arena.spot.rake else (value, view.pot - value),
        equities=(equity, 1.0 - equity),
        oop_bet_frequency=bet_frequency(view),
        ip_bet_frequency=ip_frequency,
        is_reached=view.is_reached,
    )
