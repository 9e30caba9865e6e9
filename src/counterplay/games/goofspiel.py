"""Goofspiel: bid your cards for the prizes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, NamedTuple

from annotated_types import Interval

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.winner import NO_PLAYER

POINTS_ORDERS = ("random", "ascending", "descending")
RETURNS_TYPES = ("win_loss", "point_difference", "total_points")


class GoofspielState(NamedTuple):
    prizes: tuple[int, ...]  # cards turned up so far; card c has c + 1 points
    bids: tuple[tuple[int, ...], ...]  # of the complete rounds: one tuple per round, by player
    pending_bids: tuple[int, ...]  # bids of the running round, still face down
    hands: tuple[tuple[int, ...], ...]  # cards left, by player, without the pending bids
    winners: tuple[int, ...]  # of the complete rounds; NO_PLAYER after a tie
    points: tuple[int, ...]  # by player


@settings()
class Goofspiel:
    """Every player bids one of its cards 1..N for each of the prizes 1..N (Ross, 1971).

    The prizes are turned up one by one. All players bid at once, face down. The highest bid takes
    the prize; tied highest bids discard it. Then the bids are shown or, with `imp_info`, only the
    winner is announced. The last round is forced and played automatically. Action c is card c + 1.

    Utilities by `returns_type`: "win_loss" splits 1 among the players with the most points and -1
    among the others (0 if all are equal); "point_difference" is the points minus their mean over
    the players (for two: half the difference); "total_points" is the points.

    Players bid in turn in place of simultaneously: a bid enters the infosets, even the bidder's
    own, when the round is complete. The game is symmetric, so its value is 0. With 2 players:
        3 cards, descending, imp_info: 67 nodes, 36 terminals, 16 infosets
        4 cards, descending, imp_info: 1,077 nodes, 576 terminals, 162 infosets; shown: 322
        4 cards, random, imp_info: 26,773 nodes, 13,824 terminals, 3,608 infosets; shown: 7,304
    `forgetful` drops the order of the bids, as OpenSpiel's infosets do: 6,056 instead of 7,304.
    """

    num_cards: Annotated[int, Interval(ge=2, le=100)] = 4
    players: Annotated[int, Interval(ge=2, le=10)] = 2
    points_order: str = "random"
    imp_info: bool = False  # hide the bids
    returns_type: str = "win_loss"
    forgetful: bool = False  # know the hands left, not the order of the bids (imperfect recall)

    def __post_init__(self) -> None:
        for name, names in (("points_order", POINTS_ORDERS), ("returns_type", RETURNS_TYPES)):
            if getattr(self, name) not in names:
                problem = f"{name} is {getattr(self, name)!r}, must be one of {', '.join(names)}"
                raise ConfigError(f"goofspiel: {problem}")
        if self.forgetful and self.imp_info:
            raise ConfigError("goofspiel: forgetful is for shown bids, must be false with imp_info")

    @property
    def num_players(self) -> int:
        return self.players

    @cached_property
    def prize_order(self) -> tuple[int, ...]:
        """The prizes in their fixed order; empty if the order is random."""
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

        prize = self.num_cards * (self.num_cards - 1) // 2 - sum(prizes)  # the last prize
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
        num_winners = points.count(best := max(points))
        if num_winners == self.players:
            return [0.0] * self.players
        win, loss = 1.0 / num_winners, -1.0 / (self.players - num_winners)
        return [win if total == best else loss for total in points]

    def infoset_key(self, state: GoofspielState, player: int) -> str:
        """Return prizes with bids, "p0 4:2-1 3:", or own bid and winner, "p0 4:2>0 3:".

        A tie is ">-".
        """
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
        """Return OpenSpiel's information-state tensor: one-hots and sets of cards.

        Bids shown: points by player (observer first), prize by round, cards left by player
        (observer first). The order of the bids is not included.
        Bids hidden: points by player, own cards left, winner by round, prize by round, own bid by
        round.
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
        """Return the cell of one table: a row per history, a column per prize to bid for."""
        rounds, _, prize = infoset_key.rpartition(" ")
        return "", rounds.partition(" ")[2], prize.rstrip(":")


def _award_prize(
    prize: int, bid: tuple[int, ...], winners: tuple[int, ...], points: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return winners and points after one more round."""
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
    """Return a row of `size` entries per choice; zeros for NO_PLAYER and for missing choices."""
    values = [0.0] * (num_rows * size)
    for row, choice in enumerate(choices):
        if choice != NO_PLAYER:
            values[row * size + choice] = 1.0
    return values
