"""Local best response (Lisy and Bowling, 2017): a lower bound on the exploitability of an agent.

It knows the agent's policy and keeps the agent's exact range by Bayes' rule. It looks one action
ahead and assumes that both players check or call afterwards. With the pot P, the amount A to call,
a bet of s beyond the call, the probability F that the agent folds to it, and the equity W against
the part of the range that does not fold:

    fold  0
    call  W * P - (1 - W) * A
    bet   F * P + (1 - F) * (W * (P + s) - (1 - W) * (A + s))

Its winnings against the agent are at most those of a best response.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np

from counterplay.core.arena import Floats, Ints
from counterplay.core.settings import NonNegativeInt, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import (
    ALL_IN,
    CALL,
    FOLD,
    HoldemBase,
    HoldemState,
    RaiseSizes,
    parse_bet_sizes,
    round_size,
)
from counterplay.kernels.poker import call_down
from counterplay.play.episodes import Agent, agent_for_hands

MAX_EXACT_BOARDS = 10_000  # more boards to come are sampled
MAX_CACHED_RANGES = 4096
FINE_SIZES = ",".join(f"{k / 10:g}" for k in range(1, 56)) + ",a"  # 55 sizes to 5.5 pots, all-in


@settings()
class LocalResponseConfig:
    """The actions that local best response considers.

    Before `first_street` it checks and calls. From then on it folds, calls, and bets the fractions
    of the pot in `sizes` (written as in `no_limit_holdem`) as far as they are legal.
    """

    sizes: str = "1,a"
    first_street: NonNegativeInt = 0
    num_boards: PositiveInt = 1000  # sampled where more than 10,000 boards can come
    seed: NonNegativeInt = 0  # of these boards


# the settings of the paper's table; it has 56 bet sizes in the last two, ours are in FINE_SIZES
PUBLISHED_SETTINGS = {
    "fold_call": LocalResponseConfig(sizes=""),
    "pot_from_turn": LocalResponseConfig(sizes="1,a", first_street=2),
    "fine_from_turn": LocalResponseConfig(sizes=FINE_SIZES, first_street=2),
    "fine_from_flop": LocalResponseConfig(sizes=FINE_SIZES, first_street=1),
}


@dataclass(eq=False)
class LocalBestResponse:
    """An agent that plays local best response against another agent, in a two-player poker game.

    Args:
        game: limit or no-limit poker.
        opponent: the agent that it exploits.
        config: the actions that it considers.

    Raises:
        ConfigError: the game is not poker of two players.

    Example:
        >>> import counterplay as cp
        >>> from counterplay.play.agents import AgentLoader
        >>> game = cp.load_game("no_limit_holdem(stack=1000,sizes='1,a')")
        >>> opponent = AgentLoader(game, rules_only=True).load_agents("uniform")[0]
        >>> response = LocalBestResponse(game, opponent, PUBLISHED_SETTINGS["pot_from_turn"])
        >>> episode = cp.play_episode(game, [response, opponent], seed=1)
    """

    game: HoldemBase
    opponent: Agent
    config: LocalResponseConfig = field(default_factory=LocalResponseConfig)

    def __post_init__(self) -> None:
        game: object = self.game  # agents by name meet any game
        if not isinstance(game, HoldemBase) or game.num_players != 2:
            raise ConfigError("local best response is for poker of two players")
        if self.game.pays_prizes:
            raise ConfigError("local best response counts chips; this game pays prizes")
        self.opponent = agent_for_hands(self.opponent)
        self._ranges: dict[tuple[str, int], Floats] = {}
        self._equities: dict[tuple[int, ...], tuple[Ints, Floats]] = {}

    @cached_property
    def hands(self) -> Ints:
        """All private hands [K, H] of the deck."""
        deck = range(self.game.num_ranks * self.game.num_suits)
        return np.array(list(combinations(deck, self.game.num_hole_cards)), np.int64)

    @cached_property
    def bet_sizes(self) -> RaiseSizes | None:
        """The bet sizes of the config; None for fold and call only."""
        return parse_bet_sizes(self.config.sizes, "local best response: sizes")

    def action_probabilities(self, state: HoldemState, player: int) -> Sequence[float]:
        """Return the probabilities of the legal actions: 1 for the best one."""
        actions = list(self.game.actions(state))
        values = self.action_values(state, player)
        best = max(values, key=lambda action: values[action])
        return [float(action == best) for action in actions]

    def action_values(self, state: HoldemState, player: int) -> dict[int, float]:
        """Return the estimated values of the actions considered, relative to folding."""
        if state.round < self.config.first_street:
            return {CALL: 0.0}
        live, equity = self._call_down_equities(state, player)
        weight = self.opponent_range(state, player)[live]
        weight = weight / weight.sum() if weight.sum() > 0.0 else np.full(len(live), 1 / len(live))
        paid, highest = state.contributions[player], max(state.contributions)
        matched = min(highest, self._stack(player))  # chips above are returned
        pot = paid + min(state.contributions[1 - player], matched)
        win = float(weight @ equity)
        values = {FOLD: 0.0} if self.game.is_legal(state, FOLD) else {}
        values[CALL] = win * pot - (1.0 - win) * (matched - paid)
        for action in self._bets(state, player):
            values[action] = self._bet_value(state, player, action, live, weight, equity)
        return values

    def _bet_value(
        self,
        state: HoldemState,
        player: int,
        action: int,
        live: Ints,
        weight: Floats,
        equity: Floats,
    ) -> float:
        """Return the value of a bet, after which the opponent folds or both check down."""
        pot, paid = sum(state.contributions), state.contributions[player]
        after = self.game.next_state(state, action)
        called = min(after.contributions[player], self._stack(1 - player))  # the rest is returned
        folds = np.zeros(len(live))
        if after.to_act == 1 - player:
            actions = list(self.game.actions(after))
            if FOLD in actions:
                index = actions.index(FOLD)
                folds = self._opponent_probabilities(after, 1 - player, live, index)
        fold = float(weight @ folds)
        stays = weight * (1.0 - folds)
        win = float(stays @ equity) / stays.sum() if stays.sum() > 0.0 else 0.0
        return fold * pot + (1.0 - fold) * (win * (paid + called) - (1.0 - win) * (called - paid))

    def _stack(self, player: int) -> int:
        return self.game.starting_stacks[player]

    def _bets(self, state: HoldemState, player: int) -> list[int]:
        """Return the legal raises with the sizes of the config."""
        if self.bet_sizes is None:
            return []
        if self.game.is_limit:
            return [action for action in self.game.actions(state) if action > CALL]
        highest, paid = max(state.contributions), state.contributions[player]
        pot = sum(state.contributions) + highest - paid
        totals = {
            self._stack(player) if size == ALL_IN else highest + round_size(size, pot)
            for size in self.bet_sizes.at(state.round, state.num_raises)
        }
        return sorted(total for total in totals if self.game.is_legal(state, total))

    def opponent_range(self, state: HoldemState, player: int) -> Floats:
        """Return the opponent's probability [K] of its actions so far with each private hand."""
        return self._range_at(self.game.decisions_before(state), player)

    def _range_at(self, path: list[tuple[HoldemState, int]], player: int) -> Floats:
        weight = np.ones(len(self.hands))
        for state, action in path:
            if state.to_act != 1 - player:
                continue
            key = f"{state.history}:{action}", player
            if key not in self._ranges:
                if len(self._ranges) >= MAX_CACHED_RANGES:
                    self._ranges.clear()
                board = self.game.public_cards(state)
                live = np.flatnonzero(~np.isin(self.hands, board).any(axis=1))
                index = self.game.actions(state).index(action)
                probabilities = np.zeros(len(self.hands))
                probabilities[live] = self._opponent_probabilities(state, 1 - player, live, index)
                self._ranges[key] = probabilities
            weight = weight * self._ranges[key]
        return weight

    def _opponent_probabilities(
        self, state: HoldemState, opponent: int, live: Ints, index: int
    ) -> Floats:
        """Return the probability of an action with each of the hands `live`.

        An agent with `hand_policy(state, player)` is asked once for all hands.
        """
        count = self.game.num_hole_cards
        if hasattr(self.opponent, "hand_policy"):
            actions, rows = self.opponent.hand_policy(state, opponent)
            action = self.game.actions(state)[index]
            if action not in actions:
                return np.zeros(len(live))
            low, high = self.hands[live].T
            column: Floats = rows[high * (high - 1) // 2 + low, actions.index(action)]
            return column
        before, after = state.cards[: count * opponent], state.cards[count * (opponent + 1) :]
        result = np.empty(len(live))
        for k, hand in enumerate(self.hands[live].tolist()):
            held = state._replace(cards=(*before, *hand, *after))
            result[k] = self.opponent.action_probabilities(held, opponent)[index]
        return result

    def _call_down_equities(self, state: HoldemState, player: int) -> tuple[Ints, Floats]:
        """Return the opponent's possible hands, and the equity against each of them."""
        game = self.game
        own, public = game.hole_cards(state, player), game.public_cards(state)
        key = (*sorted(own), -1, *sorted(public))
        if key not in self._equities:
            if len(self._equities) >= MAX_CACHED_RANGES:
                self._equities.clear()
            self._equities[key] = self._compute_equities(own, public)
        return self._equities[key]

    def _compute_equities(
        self, own: tuple[int, ...], public: tuple[int, ...]
    ) -> tuple[Ints, Floats]:
        game, size = self.game, sum(self.game.board_cards)
        live = np.flatnonzero(~np.isin(self.hands, (*own, *public)).any(axis=1))
        deck = [c for c in range(game.num_ranks * game.num_suits) if c not in (*own, *public)]
        hands, cards = self.hands[live], np.array(own, np.int64)
        equity, weight = np.zeros((2, len(live)))
        missing = size - len(public)
        if comb(len(deck), missing) <= MAX_EXACT_BOARDS:
            board = np.array([*public, *[0] * missing], np.int64)
            call_down.enumerate_boards(
                cards, hands, board, len(public), np.array(deck), game.num_suits, equity, weight
            )
        else:
            rng = np.random.default_rng(self.config.seed)
            drawn = [rng.choice(deck, missing, False) for _ in range(self.config.num_boards)]
            boards = np.array([[*public, *cards] for cards in drawn], np.int64)
            call_down.sample_boards(cards, hands, boards, game.num_suits, equity, weight)
        return live, equity
