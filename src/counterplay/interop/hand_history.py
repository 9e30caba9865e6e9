"""Hand histories in the PHH format (Kim, 2024, arXiv:2312.11753) as hands of our rules.

A `.phh` file is TOML: the variant (`NT` no-limit and `FT` limit hold'em are read), antes, blinds,
starting stacks and actions such as `d dh p1 Ac2d`, `p3 cbr 7000`, `p1 cc`, `p2 f`, `d db Jc3d5c`.
A raise is to a total of the street. With two players the second blind is that of the first player.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from counterplay.core.cards import NUM_CARDS, parse_cards
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, FOLD, RAISE, HoldemState
from counterplay.games.poker import Poker
from counterplay.interop.text_files import parse_text_file

MAX_FILE_SIZE = 1 << 20  # bytes
CENTS = 100  # a history with fractions of a chip is counted in hundredths
LIMIT_RAISES = 4  # largest number of bets and raises a round


class PlayedAction(NamedTuple):
    """A decision of a hand."""

    state: HoldemState  # before the action; hidden cards are arbitrary
    action: int
    hole_cards_known: bool  # whether the cards of the acting player are in the history


class PlayedHand(NamedTuple):
    """A hand that was played to its end, or as far as it was recorded."""

    game: Poker
    number: str
    names: tuple[str, ...]  # by seat
    decisions: list[PlayedAction]
    state: HoldemState  # at the end
    unit: int  # chips of the game per chip of the history: 1 or 100
    cards_known: bool  # whether the utilities of the last state are those of the hand


def read_hand_history(path: Path) -> PlayedHand:
    """Read a `.phh` file and check it by the rules.

    Raises:
        FileError: the file cannot be read, or is not a hand by the rules.
    """
    return parse_text_file(path, parse_hand_history, MAX_FILE_SIZE, ".phh file")


def parse_hand_history(text: str) -> PlayedHand:
    """Return the hand of the text of a `.phh` file.

    The recorded `finishing_stacks` are compared with the rules if all cards of the showdown are
    known.

    Raises:
        ConfigError: the text is not a hand by the rules.
    """
    try:
        fields = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"not a TOML file: {str(error)[:100]}") from error
    unit = _find_unit(fields)
    game = _build_game(fields, unit)
    words = _read_actions(fields)
    known = _find_hole_cards(words, game)
    decisions, state = _replay(game, words, known, unit)
    is_showdown = len(state.players_left) > 1
    cards_known = state.to_act == TERMINAL and (
        not is_showdown or all(known[p] for p in state.players_left)
    )
    names = tuple(map(str, fields.get("players", [f"p{p + 1}" for p in range(game.players)])))
    if len(names) != game.players:
        raise ConfigError(f"players has {len(names)} names, must have {game.players}")
    hand = PlayedHand(game, str(fields.get("hand", "")), names, decisions, state, unit, cards_known)
    _check_finishing_stacks(fields, hand)
    return hand


def _numbers(fields: dict[str, Any], name: str) -> list[float]:
    values = fields.get(name)
    values = values if isinstance(values, list) else [values]
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e9:
            raise ConfigError(f"{name} is missing or has a value that is no amount of chips")
    return values


def _find_unit(fields: dict[str, Any]) -> int:
    """Return 1 if all amounts are integers, else the number of cents in a chip."""
    amounts = _numbers(fields, "starting_stacks") + _numbers(fields, "blinds_or_straddles")
    actions = fields.get("actions")
    words = " ".join(map(str, actions)) if isinstance(actions, list) else ""
    fractions = re.search(r"cbr \d*\.\d*[1-9]", words)
    return CENTS if fractions or any(x != int(x) for x in amounts) else 1


def _build_game(fields: dict[str, Any], unit: int) -> Poker:
    variant = fields.get("variant")
    if variant not in ("NT", "FT"):
        raise ConfigError(f"variant is {variant!r}; only NT and FT (Texas hold'em) can be read")

    def chips(name: str) -> tuple[int, ...]:
        return tuple(round(value * unit) for value in _numbers(fields, name))

    stacks, blinds = chips("starting_stacks"), chips("blinds_or_straddles")
    antes = chips("antes") if "antes" in fields else (0,)
    if len(set(antes)) > 1:
        raise ConfigError("antes differ between players; only equal antes can be read")
    players = len(stacks)
    if players == 2:
        blinds = blinds[::-1]
    opens = 1 if players == 2 else (max(range(len(blinds)), key=lambda p: blinds[p]) + 1) % players
    raises: tuple[int, ...] = ()
    if variant == "FT":
        small, big = chips("small_bet")[0], chips("big_bet")[0]
        raises = small, small, big, big
    return Poker(
        players=players,
        blinds=blinds,
        ante=antes[0],
        stacks=stacks,
        opens=(opens, 0, 0, 0),
        raises=raises,
        raise_caps=(LIMIT_RAISES,) * 4 if raises else (),
    )


def _read_actions(fields: dict[str, Any]) -> list[list[str]]:
    actions = fields.get("actions")
    if not isinstance(actions, list) or not all(isinstance(action, str) for action in actions):
        raise ConfigError("actions is missing or not a list of strings")
    return [words for action in actions if (words := action.split("#")[0].split())]


def _player(word: str, game: Poker) -> int:
    match = re.fullmatch(r"p(\d{1,2})", word)
    if not match or not 1 <= int(match[1]) <= game.players:
        raise ConfigError(f"{word[:20]!r} is no player of {game.players}")
    return int(match[1]) - 1


def _find_hole_cards(words: Sequence[Sequence[str]], game: Poker) -> list[tuple[int, ...]]:
    """Return the private cards of each player, from the deal or the showdown; () if unknown."""
    known: list[tuple[int, ...]] = [()] * game.players
    for action in words:
        match list(action):
            case ["d", "dh", player, cards] | [player, "sm", cards]:
                if "?" not in cards and cards != "-":
                    hand = parse_cards(cards, "cards")
                    if len(hand) != 2:
                        raise ConfigError(f"{cards[:20]!r} are not two cards")
                    known[_player(player, game)] = hand
    return known


def _replay(
    game: Poker, words: Sequence[Sequence[str]], known: Sequence[tuple[int, ...]], unit: int
) -> tuple[list[PlayedAction], HoldemState]:
    """Return the decisions and the last state."""
    board = [
        card for w in words if list(w[:2]) == ["d", "db"] for card in parse_cards(" ".join(w[2:]))
    ]
    visible = [*board, *(card for hand in known for card in hand)]
    if len(set(visible)) < len(visible):
        raise ConfigError("a card is dealt twice")
    hidden = (card for card in range(NUM_CARDS) if card not in visible)
    private = [card for hand in known for card in (hand or islice(hidden, 2))]
    state, street_start = game.initial_state(), (game.ante,) * game.players
    for card in private:
        state = game.next_state(state, card)
    decisions: list[PlayedAction] = []
    for word in words:
        if word[0] == "d" and word[1:2] == ["db"]:
            for card in parse_cards(" ".join(word[2:])):
                if state.to_act != CHANCE:
                    raise ConfigError(f"{' '.join(word)!r} is not where cards are dealt")
                state = game.next_state(state, card)
            street_start = state.contributions
        elif word[0] != "d" and word[1:2] != ["sm"]:
            player = _player(word[0], game)
            if state.to_act != player:
                raise ConfigError(f"{' '.join(word)!r}: p{player + 1} is not to act")
            action = _parse_action(game, state, word, street_start[player], unit)
            decisions.append(PlayedAction(state, action, bool(known[player])))
            state = game.next_state(state, action)
    return decisions, state


def _parse_action(
    game: Poker, state: HoldemState, word: Sequence[str], street_start: int, unit: int
) -> int:
    action = -1
    match list(word[1:]):
        case ["f"]:
            action = FOLD
        case ["cc"]:
            action = CALL
        case ["cbr", amount] if re.fullmatch(r"\d{1,9}(\.\d{1,2}0*)?", amount):
            total = street_start + round(float(amount) * unit)
            action = RAISE if game.is_limit else max(total, RAISE)
    if action < 0 or not game.is_legal(state, action):
        raise ConfigError(f"{' '.join(word)[:40]!r} is no legal action")
    return action


def _check_finishing_stacks(fields: dict[str, Any], hand: PlayedHand) -> None:
    if "finishing_stacks" not in fields or not hand.cards_known:
        return
    recorded = _numbers(fields, "finishing_stacks")
    utilities = hand.game.utilities(hand.state)
    expected = [
        (stack + utility) / hand.unit
        for stack, utility in zip(hand.game.stacks, utilities, strict=True)
    ]
    # chips that cannot be split go to one player
    if len(recorded) != len(expected) or any(
        abs(a - b) >= 1.0 for a, b in zip(recorded, expected, strict=True)
    ):
        raise ConfigError(f"finishing_stacks are {recorded}, by the rules {expected}")
