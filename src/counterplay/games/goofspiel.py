"""Goofspiel, the game of pure strategy: bid your cards for the prizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError

NO_PLAYER = -1  # wins a tied round
POINTS_ORDERS = ("random", "ascending", "descending")
RETURNS_TYPES = ("win_loss", "point_difference", "total_points")


class GoofspielState(NamedTuple):
    prizes: tuple[int, ...]  # cards turned up so far; card c is worth c + 1
    bids: tuple[tuple[int, ...], ...]  # of the complete rounds, everyone's in one tuple
    pending_bids: tuple[int, ...]  # bids of the running round, still face down
    hands: tuple[tuple[int, ...], ...]  # cards left, by player, without the pending bids
    winners: tuple[int, ...]  # of the complete rounds
    points: tuple[int, ...]  # by player


@settings()
class Goofspiel:
    """Every player bids one of its cards 1..N for each of the prizes 1..N (Ross, 1971).

    The prizes are turned up one by one. All bid at once, face down; the highest bid takes the
    prize, tied highest bids discard it. Then the bids are shown or, with `imp_info`, only the
    winner is announced. The last round is forced and plays itself. Action c is card c + 1.
    Utilities are 1 shared among those with most points and -1 among the others (0 if all are
    level), or the points minus their mean over the players (for two: half the difference), or the
    points.

    Bids in turn stand for simultaneous ones: they enter the infosets, even the bidder's own, when
    the round is complete. Symmetric, so the value is 0. With 2 players:
        3 cards, descending, imp_info: 67 nodes, 36 terminals, 16 infosets
        4 cards, descending, imp_info: 1,077 nodes, 576 terminals, 162 infosets; shown: 322
        4 cards, random, imp_info: 26,773 nodes, 13,824 terminals, 3,608 infosets; shown: 7,304
    `forgetful` drops who bid which card when, as OpenSpiel's infosets do: 6,056 instead of 7,304.
    """

    num_cards: int = 4
    players: int = 2
    points_order: str = "random"
    imp_info: bool = False  # hide the bids
    returns_type: str = "win_loss"
    forgetful: bool = False  # know the hands left, not the order of the bids (imperfect recall)

    def __post_init__(self) -> None:
        for name, most in (("num_cards", 100), ("players", 10)):
            if not 2 <= getattr(self, name) <= most:
                problem = f"{name} is {getattr(self, name)}, must be from 2 to {most}"
                raise ConfigError(f"goofspiel: {problem}")
        for name, known in (("points_order", POINTS_ORDERS), ("returns_type", RETURNS_TYPES)):
            if getattr(self, name) not in known:
                problem = f"{name} is {getattr(self, name)!r}, must be one of {', '.join(known)}"
                raise ConfigError(f"goofspiel: {problem}")
        if self.forgetful and self.imp_info:
            raise ConfigError("goofspiel: forgetful is for shown bids, must be false with imp_info")

    @property
    def num_players(self) -> int:
        return self.players

    @cached_property
    def prize_order(self) -> tuple[int, ...]:
        """The prizes in their fixed order; empty if they come at random."""
        ascending = tuple(range(self.num_cards))
        return {"ascending": ascending, "descending": ascending[::-1]}.get(self.points_order, ())

    def initial_state(self) -> GoofspielState:
        hands = (tuple(range(self.num_cards)),) * self.players
        return GoofspielState(self.prize_order[:1], (), (), hands, (), (0,) * self.players)

    def player(self, state: GoofspielState) -> int:
        if len(state.bids) < len(state.prizes):
            return len(state.pending_bids)
        return TERMINAL if len(state.bids) == self.num_cards else CHANCE

    def actions(self, state: GoofspielState) -> tuple[int, ...]:
        return state.hands[len(state.pending_bids)]

    def chance_outcomes(self, state: GoofspielState) -> list[tuple[int, float]]:
        left = [prize for prize in range(self.num_cards) if prize not in state.prizes]
        return [(prize, 1.0 / len(left)) for prize in left]

    def next_state(self, state: GoofspielState, action: int) -> GoofspielState:
        prizes, bids, pending, hands, winners, points = state
        if len(bids) == len(prizes):
            return GoofspielState((*prizes, action), bids, pending, hands, winners, points)
        pending = (*pending, action)
        if len(pending) < self.players:
            return GoofspielState(prizes, bids, pending, hands, winners, points)

        winners, points = _award_prize(prizes[-1], pending, winners, points)
        hands = tuple([_remove_card(card, hand) for card, hand in zip(pending, hands, strict=True)])
        bids = (*bids, pending)
        if len(bids) < self.num_cards - 1:
            return GoofspielState(
                self.prize_order[: len(bids) + 1] or prizes, bids, (), hands, winners, points
            )

        prize = self.num_cards * (self.num_cards - 1) // 2 - sum(prizes)  # the one not turned up
        bid = tuple([card for (card,) in hands])
        winners, points = _award_prize(prize, bid, winners, points)
        return GoofspielState(
            (*prizes, prize), (*bids, bid), (), ((),) * self.players, winners, points
        )

    def utilities(self, state: GoofspielState) -> list[float]:
        points = state.points
        if self.returns_type == "total_points":
            return [float(total) for total in points]
        if self.returns_type == "point_difference":
            mean = sum(points) / self.players
            return [total - mean for total in points]
        ahead = points.count(best := max(points))
        if ahead == self.players:
            return [0.0] * self.players
        win, loss = 1.0 / ahead, -1.0 / (self.players - ahead)
        return [win if total == best else loss for total in points]

    def infoset_key(self, state: GoofspielState, player: int) -> str:
        """Prizes with bids, "p0 4:2-1 3:", or own bid and winner, "p0 4:2>0 3:"; a tie is ">-"."""
        prizes, bids, _, hands, winners, _ = state
        key = f"p{player}"
        if self.imp_info:
            for prize, bid, winner in zip(prizes, bids, winners, strict=False):
                key += f" {prize + 1}:{bid[player] + 1}>{winner if winner != NO_PLAYER else '-'}"
        elif self.forgetful:
            for prize, winner in zip(prizes, winners, strict=False):
                key += f" {prize + 1}>{winner if winner != NO_PLAYER else '-'}"
            key += "".join([f" {_format_cards(hand)}" for hand in hands])
        else:
            for prize, bid in zip(prizes, bids, strict=False):
                key += f" {prize + 1}:{_format_cards(bid)}"
        return f"{key} {prizes[-1] + 1}:" if len(prizes) > len(bids) else key

    def action_name(self, state: GoofspielState, action: int) -> str:
        return f"{'bid' if len(state.bids) < len(state.prizes) else 'prize'} {action + 1}"

    def observation(self, state: GoofspielState, player: int) -> list[float]:
        """Points by player, the observer first, and, all as one-hots or sets of cards,

        bids shown: prize by round, cards left by player, the observer first;
        bids hidden: own cards left, winner by round, prize by round, own bid by round.
        This is OpenSpiel's information-state tensor; bids shown, it omits who bid what when.
        """
        num_cards = self.num_cards
        seats = [(player + p) % self.players for p in range(self.players)]
        slots = num_cards * (num_cards + 1) // 2 + 1
        points = _encode_one_hot([state.points[p] for p in seats], self.players, slots)
        prizes = _encode_one_hot(state.prizes, num_cards, num_cards)
        if not self.imp_info:
            hands = [float(c in state.hands[p]) for p in seats for c in range(num_cards)]
            return points + prizes + hands
        hand = [float(c in state.hands[player]) for c in range(num_cards)]
        winners = _encode_one_hot(state.winners, num_cards, self.players)
        own_bids = _encode_one_hot([bid[player] for bid in state.bids], num_cards, num_cards)
        return points + hand + winners + prizes + own_bids

    def describe(self, state: GoofspielState, player: int) -> str:
        prize = f"The prize is {state.prizes[-1] + 1}" if state.prizes else "No prize is shown yet"
        points = ", ".join(map(str, state.points))
        return (
            f"{prize}. You hold {_format_cards(state.hands[player])}; points by player: {points}."
        )

    def grid_position(self, infoset_key: str) -> tuple[str, str, str]:
        """One table: a row per what has happened, a column per prize to bid for."""
        rounds, _, prize = infoset_key.rpartition(" ")
        return "", rounds.partition(" ")[2], prize.rstrip(":")


def _award_prize(
    prize: int, bid: tuple[int, ...], winners: tuple[int, ...], points: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Winners and points after one more round."""
    best = max(bid)
    if bid.count(best) > 1:
        return (*winners, NO_PLAYER), points
    winner = bid.index(best)
    total = points[winner] + prize + 1
    return (*winners, winner), (*points[:winner], total, *points[winner + 1 :])


def _remove_card(card: int, hand: tuple[int, ...]) -> tuple[int, ...]:
    i = hand.index(card)
    return hand[:i] + hand[i + 1 :]


def _format_cards(cards: tuple[int, ...]) -> str:
    return "-".join([str(card + 1) for card in cards])


def _encode_one_hot(choices: Sequence[int], num_rows: int, size: int) -> list[float]:
    """A row of `size` entries per choice; zeros for NOBODY and for choices still to come."""
    values = [0.0] * (num_rows * size)
    for row, choice in enumerate(choices):
        if choice != NO_PLAYER:
            values[row * size + choice] = 1.0
    return values
