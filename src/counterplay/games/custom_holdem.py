"""Heads-up hold'em with a free choice of streets, deck, hole cards, blinds, antes and stacks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any

from annotated_types import Ge, Interval

from counterplay.core.settings import settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import (
    CATEGORY_ORDERS,
    HoldemBase,
    HoldemState,
    RaiseSizes,
    hand_strength,
    parse_bet_sizes,
)
from counterplay.registry import get_registry_name

MAX_BOARD_CARDS = 5
MAX_STACK = 10**6  # chips
LIMIT_SIZES = re.compile(r"\s*[1-9]\d{0,5}\s*(,\s*[1-9]\d{0,5}\s*)*")


@settings()
class CustomHoldem(HoldemBase):
    """Heads-up hold'em from the first card, limit or no-limit, on any deck.

    Player 0 is the button: it posts `blinds[0]` and, by default, opens the first round; player 1
    opens all later rounds. Both also post `ante`. Chips beyond the smaller of the two `stacks`
    never play. The deck has the lowest `num_ranks` ranks in `num_suits` suits. The best five of all
    cards win; fewer than five make no straights and no flushes. With `ranking="short_deck"` the
    deck has the highest ranks (`num_ranks=9`: from the six on), a flush beats a full house, and the
    ace is also below the lowest rank; with "short_deck_trips" three of a kind beats a straight.

    With `betting="no_limit"`, `sizes` lists the raises as fractions of the pot after a call, and
    `a` for all-in, such as "0.5,1,a"; if it is empty, all raises are legal. An action above 1 is a
    raise to that total contribution. With `betting="limit"`, `sizes` lists the chips of a raise by
    round, such as "2,2,4,4". In `max_bets`, `sizes` of limit games and `openers`, the last entry
    holds for all later rounds; blinds are not counted as bets.

    With `payouts`, the prizes of a tournament from the first place on, utilities are the players'
    expected prizes after the hand by the independent chip model (Malmuth-Harville), in place of
    chips. `other_stacks` are those of the players who are not in the hand. Such a game is not
    zero-sum in general: a CFR algorithm finds a coarse correlated equilibrium at best, and what its
    policy loses to best responses is exact.

    The CFR family solves it as a public tree, with a vector over hands at each node
    (`arenas/holdem/game_arena.py`). `custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,
    board_cards=(0,1),blinds=(0,0),ante=1,stacks=(13,13),betting=limit,sizes='2,4',max_bets=(2,),
    openers=(0,))` is Leduc poker: 9,457 nodes, 5,520 terminals, 936 infosets.
    """

    board_cards: tuple[int, ...] = (0, 3, 1, 1)  # dealt before each round; the first is 0
    num_ranks: Annotated[int, Interval(ge=1, le=13)] = 13
    num_suits: Annotated[int, Interval(ge=1, le=4)] = 4
    num_hole_cards: Annotated[int, Interval(ge=1, le=2)] = 2
    blinds: tuple[int, ...] = (1, 2)  # by player
    ante: Annotated[int, Ge(0)] = 0  # of each player
    stacks: tuple[int, ...] = (200, 200)  # by player, blinds and antes included
    betting: str = "no_limit"  # or "limit"
    sizes: str = "1"
    max_bets: tuple[int, ...] = (1,)  # bets and raises by round
    openers: tuple[int, ...] = (0, 1)  # the player who acts first, by round
    ranking: str = "standard"  # or "short_deck", "short_deck_trips"
    payouts: tuple[float, ...] = ()  # prizes from the first place on; empty: chips
    other_stacks: tuple[int, ...] = ()  # of players of the tournament who are not in the hand

    def __post_init__(self) -> None:
        problem = self._find_problem()
        if problem:
            raise ConfigError(f"{get_registry_name(self)}: {problem}")
        if self.betting == "no_limit":
            self.bet_sizes  # noqa: B018  checks `sizes` now, not in the middle of a game

    def _find_problem(self) -> str:
        """Return the first problem of the parameters, or ""."""
        first, *later = self.board_cards or (-1,)
        num_dealt = 2 * self.num_hole_cards + sum(self.board_cards)
        if first != 0 or min(later, default=1) < 1 or sum(later) > MAX_BOARD_CARDS:
            return (
                f"board_cards is {self.board_cards}, must be 0 for the first round, then at least "
                f"1 for each later one and at most {MAX_BOARD_CARDS} in all"
            )
        if num_dealt > len(self.deck):
            return (
                f"num_ranks x num_suits is {len(self.deck)} cards, but {num_dealt} are dealt; "
                "take a larger deck or fewer board cards"
            )
        if len(self.blinds) != 2 or min(self.blinds) < 0:
            return f"blinds is {self.blinds}, must be two numbers, at least 0 each"
        least = max(1, self.ante + max(self.blinds))
        if len(self.stacks) != 2 or not least <= min(self.stacks) <= max(self.stacks) <= MAX_STACK:
            return (
                f"stacks is {self.stacks}, must be two numbers from {least} (blind and ante) to "
                f"{MAX_STACK:,}"
            )
        if self.ante + max(self.blinds) < 1:
            return "blinds and ante are all 0; post at least one chip"
        if self.betting not in ("limit", "no_limit"):
            return f"betting is {self.betting!r}, must be limit or no_limit"
        if self.betting == "limit" and not LIMIT_SIZES.fullmatch(self.sizes):
            return f"sizes is {self.sizes!r}, must be chips by round, such as 2,2,4,4"
        if not self.max_bets or min(self.max_bets) < 0:
            return f"max_bets is {self.max_bets}, must be numbers by round, at least 0 each"
        if self.ranking not in CATEGORY_ORDERS:
            return f"ranking is {self.ranking!r}, must be one of {', '.join(CATEGORY_ORDERS)}"
        if self.ranking != "standard" and (self.num_hole_cards != 2 or self.num_ranks < 5):
            return f"ranking {self.ranking} needs two hole cards and at least 5 ranks"
        if not self.openers or not set(self.openers) <= {0, 1}:
            return f"openers is {self.openers}, must be 0 or 1 by round"
        return self._find_payout_problem()

    def _find_payout_problem(self) -> str:
        if not self.payouts:
            return "other_stacks needs payouts" if self.other_stacks else ""
        if self.other_stacks and not 1 <= min(self.other_stacks) <= max(self.other_stacks):
            return f"other_stacks is {self.other_stacks}, must be numbers of chips, at least 1 each"
        from counterplay.arenas.preflop.icm import check_payouts  # loads kernels

        try:
            check_payouts(self.payouts, 2 + len(self.other_stacks))
        except ConfigError as error:
            return str(error)
        return ""

    @property
    def num_players(self) -> int:
        return 2

    @cached_property
    def deck(self) -> tuple[int, ...]:
        first = 0 if self.ranking == "standard" else 13 - self.num_ranks
        ranks = range(first, first + self.num_ranks)
        return tuple(4 * r + s for r in ranks for s in range(self.num_suits))

    @cached_property
    def strength_rules(self) -> tuple[Any, Any] | None:
        if self.ranking == "standard":
            return None
        from counterplay.arenas.preflop.deck import Deck  # loads kernels

        return Deck(self.num_ranks, max(self.num_suits, 2), 0, self.ranking).strength_rules

    def _strength(self, cards: tuple[int, ...]) -> tuple[int, ...]:
        if self.ranking == "standard":
            return super()._strength(cards)
        return hand_strength(cards, 13 - self.num_ranks, CATEGORY_ORDERS[self.ranking])

    def payoffs(self, winnings: Sequence[float]) -> list[float]:
        if not self.payouts:
            return list(winnings)
        final = (self.stacks[0] + winnings[0], self.stacks[1] + winnings[1])
        return list(_prizes_after(self.stacks, final, self.other_stacks, self.payouts))

    @property
    def stack(self) -> int:
        """Chips that each player can put in."""
        return min(self.stacks)

    @property
    def starting_stacks(self) -> tuple[int, ...]:
        return (self.stack, self.stack)

    @property
    def cards_per_rank(self) -> int:
        return 4

    @cached_property
    def first_to_act(self) -> tuple[int, ...]:
        return self._by_round(self.openers)

    @cached_property
    def max_raises(self) -> tuple[int, ...]:
        return self._by_round(self.max_bets)

    @cached_property
    def raise_sizes(self) -> tuple[int, ...]:
        if self.betting == "no_limit":
            return ()
        return self._by_round(tuple(int(word) for word in self.sizes.split(",")))

    @cached_property
    def bet_sizes(self) -> RaiseSizes | None:
        """The legal raises of a no-limit game, from `sizes`."""
        is_limit = self.betting == "limit"
        return (
            None if is_limit else parse_bet_sizes(self.sizes, f"{get_registry_name(self)}: sizes")
        )

    def _by_round(self, values: tuple[int, ...]) -> tuple[int, ...]:
        """Return one value per round; the last one is repeated."""
        num_rounds = len(self.board_cards)
        return (*values, *(values[-1],) * num_rounds)[:num_rounds]

    def observation(self, state: HoldemState, player: int) -> list[float]:
        """Return player, own cards, board, and (called, raise / stack) for every possible turn."""
        own = [float(card in self.hole_cards(state, player)) for card in self.deck]
        board = [float(card in self.public_cards(state)) for card in self.deck]
        bets: list[float] = []
        rounds = [part.rpartition(":")[2] for part in state.history.split("|")]
        for number, max_raises in enumerate(self.max_raises):
            text = rounds[number] if number < len(rounds) else ""
            turns = [0.0] * (4 * (max_raises + 1))
            for turn, (letter, total) in enumerate(re.findall(r"([fcr])(\d*)", text)):
                if letter == "c":
                    turns[2 * turn] = 1.0
                elif letter == "r":
                    turns[2 * turn + 1] = int(total) / self.stack if total else 1.0
            bets += turns
        return [float(player == 0), float(player == 1), *own, *board, *bets]


@lru_cache(maxsize=1 << 12)
def _prizes_after(
    stacks: tuple[int, ...],
    final: tuple[float, float],
    other_stacks: tuple[int, ...],
    payouts: tuple[float, ...],
) -> tuple[float, float]:
    """Return the expected prizes of the two players in a hand, given their chips after it."""
    from counterplay.arenas.preflop.icm import tournament_prizes  # loads kernels

    prizes = tournament_prizes((*stacks, *other_stacks), (*final, *other_stacks), payouts)
    return float(prizes[0]), float(prizes[1])
