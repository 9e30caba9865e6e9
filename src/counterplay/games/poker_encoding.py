"""Encodings of poker observations for networks: cards in groups, betting as fractions of the pot.

The features of the network's input are

    player              one flag per player
    betting             for each possible action: it has occurred; its chips / the pot before it
    groups of cards     hole cards, then the cards of each street; of each group the number of
                        cards by rank and by suit, and a flag for each card

A linear layer maps the part of a group to the sum over its cards of an embedding of the rank, one
of the suit and one of the card: the input of Brown, Lerer, Gross and Sandholm (2019, appendix C).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from annotated_types import Predicate

from counterplay.core.game import CHANCE, Game, State, full_game
from counterplay.core.game_wrapper import GameWrapper
from counterplay.errors import ConfigError
from counterplay.games.compiled.poker import (
    MAX_RECORDED_ACTIONS,
    MAX_SUIT_KEY_BITS,
    NUM_STRENGTH_FEATURES,
    compile_observed_game,
    count_turns,
)
from counterplay.games.compiled.protocol import CompiledGame
from counterplay.games.holdem_base import HoldemBase, HoldemState
from counterplay.registry import COMPILED_GAMES, get_spec, spec_name

ENCODINGS = ("cards", "cards_up_to_suits", "cards_and_strength")


def _is_encoding_name(name: str) -> bool:
    """game, cards, cards_up_to_suits or cards_and_strength"""
    return name in ("game", *ENCODINGS)


EncodingName = Annotated[str, Predicate(_is_encoding_name)]


@dataclass(frozen=True)
class EncodedPoker(GameWrapper):
    """A poker game whose observations have an encoding.

    With `cards` the features are those above. With `cards_up_to_suits` the suits are first sorted
    by the ranks that the observer sees of them, so that observations, and networks of them, are
    invariant under permutations of the suits; suits that stay apart in two players' observations
    may then have the same number. `cards_and_strength` appends to these the part x of the other
    hands that the observer's hand beats on the board so far, as max(0, x - k / 8), k = 0, ..., 7.

    Raises:
        ConfigError: the game is not poker with cards, or its betting has no limit.
    """

    encoding: str = "cards"

    def __post_init__(self) -> None:
        game: Any = self.game
        if not isinstance(game, HoldemBase):
            raise ConfigError(
                f"encoding={self.encoding} needs poker with hole cards and a board, which "
                f"{get_spec(game)} is not; leave encoding at game"
            )
        if sum(count_turns(game)) > MAX_RECORDED_ACTIONS:
            raise ConfigError(
                f"encoding={self.encoding} has features for every possible action, but "
                f"{get_spec(game)} has no limit of raises or too high a one: at most "
                f"{MAX_RECORDED_ACTIONS} actions"
            )
        if self.is_suit_invariant and len(self.groups) * game.num_ranks > MAX_SUIT_KEY_BITS:
            raise ConfigError(f"{get_spec(game)} has too many streets for encoding={self.encoding}")
        if self.encoding == "cards_and_strength" and game.num_hole_cards != 2:
            raise ConfigError(f"encoding=cards_and_strength needs two hole cards: {get_spec(game)}")

    @property
    def full_game(self) -> Game:
        return full_game(self.game)

    @property
    def is_suit_invariant(self) -> bool:
        """Whether permuting the suits of all cards leaves every observation as it is."""
        return self.encoding != "cards"

    @property
    def groups(self) -> tuple[int, ...]:
        """Number of cards of each group: hole cards, then streets with cards."""
        game: Any = self.game
        return (game.num_hole_cards, *filter(None, game.board_cards))

    @cached_property
    def num_features(self) -> int:
        """Length of an observation."""
        game: Any = self.game
        cards = len(self.groups) * (game.num_ranks + game.num_suits + len(game.deck))
        strength = NUM_STRENGTH_FEATURES * (self.encoding == "cards_and_strength")
        return int(game.num_players + 2 * sum(count_turns(game)) + cards + strength)

    def compiled_game(self) -> CompiledGame | None:
        """Return the compiled rules with these observations, if the game has compiled rules."""
        if spec_name(self.spec) not in COMPILED_GAMES:
            return None
        game: Any = self.game
        return compile_observed_game(game, self.encoding)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "game":
            raise AttributeError(name)
        return getattr(self.game, name)

    def observation(self, state: State, player: int) -> list[float]:
        """Return the features of the module's docstring."""
        game: Any = self.game
        features = np.zeros(self.num_features)
        features[player] = 1.0
        first = game.num_players
        record = betting_record(game, _betting_of(state))
        for number, turns in enumerate(count_turns(game)):
            for turn, fraction in enumerate(record[number] if number < len(record) else ()):
                features[first + 2 * turn : first + 2 * turn + 2] = 1.0, fraction
            first += 2 * turns
        own, board = game.hole_cards(state, player), game.public_cards(state)
        self._write_cards(features[first:], own, board)
        return features.astype(np.float32).tolist()

    def _write_cards(self, out: Any, own: Sequence[int], board: Sequence[int]) -> None:
        """Write the groups of cards, and the strength."""
        game: Any = self.game
        per_rank = game.cards_per_rank
        lowest = min(game.deck) // per_rank
        groups = [list(own)]
        for count in self.groups[1:]:
            start = sum(map(len, groups[1:]))
            groups.append(list(board[start : start + count]))
        ranks = [[(c // per_rank - lowest, c % per_rank) for c in group] for group in groups]
        suits = list(range(game.num_suits))
        if self.is_suit_invariant:
            keys = [[sorted((r for r, s in g if s == suit)) for g in ranks] for suit in suits]
            bits = [[sum(1 << r for r in held) for held in key] for key in keys]
            order = sorted(suits, key=lambda suit: bits[suit], reverse=True)
            suits = [order.index(suit) for suit in suits]
        size = game.num_ranks + game.num_suits + len(game.deck)
        for number, group in enumerate(ranks):
            part = out[number * size : (number + 1) * size]
            for rank, suit in group:
                part[rank] += 1.0
                part[game.num_ranks + suits[suit]] += 1.0
                part[game.num_ranks + game.num_suits + rank * game.num_suits + suits[suit]] = 1.0
        if self.encoding == "cards_and_strength" and own and board:
            part_beaten = beaten_part(game, tuple(own), tuple(board))
            steps = np.arange(NUM_STRENGTH_FEATURES) / NUM_STRENGTH_FEATURES
            out[-NUM_STRENGTH_FEATURES:] = np.maximum(0.0, part_beaten - steps)


def encode_game(game: Game, encoding: str) -> Any:
    """Return the game with an encoding of its observations; "game" leaves them as they are.

    Raises:
        ConfigError: the encoding does not fit the game.
    """
    return game if encoding == "game" else EncodedPoker(game, encoding)


def _betting_of(state: HoldemState) -> str:
    """Return the history of a state without cards."""
    return "|".join(part.rpartition(":")[2] for part in state.history.split("|"))


@lru_cache(maxsize=1 << 14)
def betting_record(game: HoldemBase, betting: str) -> tuple[tuple[float, ...], ...]:
    """Return, by round, the chips of each action as a fraction of the pot before it.

    Args:
        game: the rules.
        betting: actions as in a history, without cards.
    """
    state, rounds = game.initial_state(), list[list[float]]()
    for actions in betting.split("|"):
        rounds.append([])
        while actions:
            while state.to_act == CHANCE:
                state = game.next_state(state, game.chance_outcomes(state)[0][0])
            names = {game.action_letter(action): action for action in game.actions(state)}
            name = max(filter(actions.startswith, names), key=len)  # "r1" starts "r10" too
            pot = sum(state.contributions)
            state = game.next_state(state, names[name])
            rounds[-1].append((sum(state.contributions) - pot) / max(pot, 1))
            actions = actions[len(name) :]
    return tuple(map(tuple, rounds))


@lru_cache(maxsize=1 << 14)
def beaten_part(game: HoldemBase, own: tuple[int, ...], board: tuple[int, ...]) -> float:
    """Return the part of the other hands that a hand beats on a board, ties as a half."""
    strength: Any = game._strength
    mine, score, count = strength((*own, *board)), 0.0, 0
    left = [card for card in game.deck if card not in own and card not in board]
    for pair in combinations(left, 2):
        theirs = strength((*pair, *board))
        score += 1.0 if mine > theirs else 0.5 if mine == theirs else 0.0
        count += 1
    return score / max(count, 1)
