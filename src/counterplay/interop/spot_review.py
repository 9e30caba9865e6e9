"""Played hands as hold'em spots: decisions after the flop, priced by the solution of the spot.

A pot of two players becomes a spot from its flop (or a later street) on, with the ranges that the
reviewer assumes. The amounts that were bet are among the bet sizes, so that the played line is in
the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from counterplay.arenas.holdem.betting import StreetState, list_actions, next_street_state
from counterplay.arenas.holdem.spot import STREETS, Spot
from counterplay.core.game import CHANCE
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import FOLD
from counterplay.interop.hand_history import PlayedAction, PlayedHand

DEFAULT_BETS = "50%"  # sizes beside the played ones
DEFAULT_RAISES = "60%"


class SpotDecision(NamedTuple):
    """A decision of a played hand as a decision of its spot."""

    player: str
    position: int  # 0 is OOP, 1 is IP
    hand: str  # "" if the cards are unknown
    street: str
    history: str  # before the decision
    action: str
    played: str  # the action as it was played, if the tree has only a near one


class HandSpot(NamedTuple):
    """The spot of a played hand, and the decisions in it."""

    spot: Spot
    names: tuple[str, str]  # OOP, IP
    decisions: list[SpotDecision]


def spot_from_hand(hand: PlayedHand, ranges: Sequence[str], street: str = "flop") -> HandSpot:
    """Return the spot of a hand from a street on.

    Args:
        hand: a played hand of two-card hold'em with a full deck.
        ranges: the range of the player out of position at the start of the street, then that of
            the other; a player's known hand should be in its range.
        street: the street that the spot starts on: flop, turn or river.

    Raises:
        ConfigError: the hand has no decision of two players on that street, or a range is wrong.
    """
    if street not in STREETS:
        raise ConfigError(f"street is {street!r}, must be one of {', '.join(STREETS)}")
    first_round = STREETS.index(street) + 1
    played = [action for action in hand.decisions if action.state.round >= first_round]
    if not played or len(hand.game.board) != 4 or hand.game.num_suits != 4:
        raise ConfigError(f"hand {hand.number or '1'} has no decision on the {street} or later")
    start = played[0].state
    if len(start.players_left) != 2 or start.round != first_round:
        raise ConfigError(
            f"hand {hand.number or '1'} is not heads-up at the start of the {street}; a spot has "
            "two players"
        )
    oop = start.to_act
    ip = next(player for player in start.players_left if player != oop)
    seats = (oop, ip)
    stacks = tuple(int(hand.game.stacks[p]) - start.contributions[p] for p in seats)
    spot = Spot(
        board=hand.game.cards_name(hand.game.public_cards(start)),
        ranges=(ranges[0], ranges[1]),
        pot=int(sum(start.contributions)),
        stacks=(max(stacks[0], 1), max(stacks[1], 1)),
        sizes=_sizes_with_played(hand, played, seats, min(stacks)),
    )
    return HandSpot(
        spot, (hand.names[oop], hand.names[ip]), _follow_line(hand, played, spot, seats)
    )


def _street_amount(hand: PlayedHand, decision: PlayedAction) -> tuple[str, int, int]:
    """Return kind (fold, check, call, bet), chips on the street after it, and the other's chips."""
    state = decision.state
    player = state.to_act
    if decision.action == FOLD:
        return "fold", 0, 0
    after = hand.game.next_state(state, decision.action)
    before_street = _chips_before_street(hand, state.round)
    own = after.contributions[player] - before_street[player]
    other = max(
        state.contributions[p] - before_street[p] for p in state.players_left if p != player
    )
    paid = after.contributions[player] - state.contributions[player]
    if paid == 0:
        return "check", own, other
    return ("call" if own <= other else "bet"), own, other


def _chips_before_street(hand: PlayedHand, number: int) -> tuple[int, ...]:
    """Return the contributions at the first decision of a round."""
    first = next(action for action in hand.decisions if action.state.round == number)
    return tuple(int(chips) for chips in first.state.contributions)


def _sizes_with_played(
    hand: PlayedHand, played: Sequence[PlayedAction], seats: tuple[int, int], stack: int
) -> Any:
    """Return the bet sizes of all streets, with the amounts that were played."""
    from counterplay.arenas.holdem.spot import BetSizes

    bets: dict[tuple[int, int], list[str]] = {}
    raises: dict[tuple[int, int], list[str]] = {}
    for decision in played:
        kind, own, other = _street_amount(hand, decision)
        if kind == "bet":
            key = decision.state.round - 1, seats.index(decision.state.to_act)
            sizes = raises if other else bets
            sizes.setdefault(key, []).append(f"{max(own - other, 1)}c")

    def words(default: str, extra: list[str]) -> str:
        return " ".join(dict.fromkeys([default, *extra]))

    return tuple(
        tuple(
            BetSizes(
                words(DEFAULT_BETS, bets.get((street, seat), [])),
                words(DEFAULT_RAISES, raises.get((street, seat), [])),
            )
            for seat in (0, 1)
        )
        for street in range(3)
    )


def _follow_line(
    hand: PlayedHand, played: Sequence[PlayedAction], spot: Spot, seats: tuple[int, int]
) -> list[SpotDecision]:
    """Return the played decisions as actions of the spot's tree."""
    decisions = []
    state, history = StreetState(spot.street, 0), ""
    last_round = played[0].state.round
    for decision in played:
        number = decision.state.round
        while last_round < number:  # a card was dealt
            last_round += 1
            cards = hand.game.public_cards(decision.state)
            card = hand.game.cards_name([cards[last_round + 1]])
            state, history = next_street_state(state), f"{history}|{card}"
        kind, own, _ = _street_amount(hand, decision)
        options = list_actions(spot, state)
        name, after = _nearest_action(options, kind, own)
        seat = seats.index(decision.state.to_act)
        is_exact = kind != "bet" or name.endswith(f" {own}") or name.startswith("all-in")
        known = decision.hole_cards_known
        decisions.append(
            SpotDecision(
                player=hand.names[decision.state.to_act],
                position=seat,
                hand=hand.game.own_cards(decision.state, decision.state.to_act) if known else "",
                street=STREETS[number - 1],
                history=history,
                action=name,
                played=name if is_exact else f"bet {own}",
            )
        )
        history = f"{history},{name}" if history else name
        if after is None or hand.game.next_state(decision.state, decision.action).to_act < CHANCE:
            break
        state = after
    return decisions


def _nearest_action(
    options: list[tuple[str, StreetState | None]], kind: str, own: int
) -> tuple[str, StreetState | None]:
    """Return the action of the tree that is nearest to a played one."""
    by_name = dict(options)
    if kind != "bet":
        if kind not in by_name:
            raise ConfigError(f"the played line has a {kind} where the spot has none")
        return kind, by_name[kind]
    amounts = {name: int(name.split()[-1]) for name in by_name if name.split()[-1].isdigit()}
    if not amounts:
        return "call", by_name["call"]
    name = min(amounts, key=lambda option: abs(amounts[option] - own))
    return name, by_name[name]
