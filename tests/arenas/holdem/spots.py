"""Spots that several tests share."""

from __future__ import annotations

from functools import cache

from counterplay.arenas.holdem.spot import BetSizes, Spot
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.cards import card_name

OOP = (
    "88+,A8s+,A5s-A2s:0.5,AJo+,ATo:0.75,K9s+,KQo,KJo:0.75,KTo:0.25,Q9s+,QJo:0.5,J8s+,JTo:0.25,"
    "T8s+,T7s:0.45,97s+,96s:0.45,87s,86s:0.75,85s:0.45,75s+:0.75,74s:0.45,65s:0.75,64s:0.5,"
    "63s:0.45,54s:0.75,53s:0.5,52s:0.45,43s:0.5,42s:0.45,32s:0.45"
)
IP = (
    "AA:0.25,99-22,AJs-A2s,AQo-A8o,K2s+,K9o+,Q2s+,Q9o+,J6s+,J9o+,T6s+,T9o,96s+,95s:0.5,98o,86s+,"
    "85s:0.5,75s+,74s:0.5,64s+,63s:0.5,54s,53s:0.5,43s"
)


def both(bet: str = "", raises: str = "", donk: str | None = None) -> tuple[BetSizes, BetSizes]:
    """The same sizes for both players; only the first can donk."""
    return BetSizes(bet, raises, donk), BetSizes(bet, raises)


def all_but(cards: str) -> str:
    """Every card that is not among these: the dead ones of a small deck."""
    kept = {cards[i : i + 2] for i in range(0, len(cards), 2)}
    return "".join(card_name(card) for card in range(52) if card_name(card) not in kept)


@cache
def tree_of(spot: Spot, precision: str = "float64", isomorphism: bool = True) -> SpotArena:
    return SpotArena(spot, precision, isomorphism)
