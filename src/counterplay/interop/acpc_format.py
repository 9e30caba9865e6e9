"""Texts of the Annual Computer Poker Competition (ACPC): game files, match states and logs.

    MATCHSTATE:0:30:cr300c/:9hQd|/8c8h5c        the state of hand 30 as seat 0 sees it
    STATE:30:cr300c/r600f:9hQd|AsKs/8c8h5c:300|-300:ann|bob        a hand of a log

Seats and raises (`r<total>` in no-limit games, `r` in limit games) are those of
`games/holdem_base.py`. A deck of fewer than 52 cards has the highest ranks and the last suits, as
the official dealer's: three cards are Qs, Ks and As.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from counterplay.core.cards import RANKS, SUITS
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError, FileError
from counterplay.games.holdem_base import CALL, FOLD, RAISE, HoldemBase, HoldemState
from counterplay.games.poker import Poker
from counterplay.interop.text_files import parse_text_file

MAX_LINE_LENGTH = 4096  # bytes of a message
MAX_FILE_SIZE = 1 << 16  # bytes of a game file
MAX_HANDS = 10**9
VALUE_TOLERANCE = 1e-4  # of logged values, which have six digits


class MatchState(NamedTuple):
    """A line `MATCHSTATE:seat:hand:betting:cards`, with an action if it is an answer."""

    seat: int
    hand: int
    state: HoldemState
    text: str  # the line without the action
    action: str  # "" if the line has none


class LoggedHand(NamedTuple):
    """A line `STATE:hand:betting:cards:values:names` of a log."""

    hand: int
    state: HoldemState
    names: tuple[str, ...]  # by seat


def read_game_file(path: Path) -> Poker:
    """Read a `.game` file.

    Raises:
        FileError: the file cannot be read, or does not describe a game.
    """
    return parse_text_file(path, parse_game, MAX_FILE_SIZE, "ACPC game file")


def parse_game(text: str) -> Poker:
    """Return the game that the text of a `.game` file describes.

    Raises:
        ConfigError: a line is missing or wrong.
    """
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    if not lines or lines[0].upper() != "GAMEDEF" or "END GAMEDEF" not in map(str.upper, lines):
        raise ConfigError("an ACPC game starts with GAMEDEF and ends with END GAMEDEF")
    values: dict[str, tuple[int, ...]] = {}
    betting = ""
    for line in lines[1:]:
        if line.upper() == "END GAMEDEF":
            break
        if line.lower() in ("limit", "nolimit"):
            betting = line.lower()
            continue
        match = re.fullmatch(r"(\w+)\s*=\s*([\d\s]+)", line)
        if not match:
            raise ConfigError(f"cannot read {line[:80]!r}; write a name, = and numbers")
        numbers = match[2].split()
        if len(numbers) > 40 or max(map(len, numbers)) > 10:
            raise ConfigError(f"{match[1]} has too many or too large numbers")
        values[match[1].lower()] = tuple(map(int, numbers))
    if not betting:
        raise ConfigError("a line limit or nolimit is missing")
    return _build_game(betting == "limit", values)


def _build_game(is_limit: bool, values: dict[str, tuple[int, ...]]) -> Poker:
    def number(name: str) -> int:
        if len(values.get(name.lower(), ())) != 1:
            raise ConfigError(f"a line {name} with one number is missing")
        return values[name.lower()][0]

    players, rounds = number("numPlayers"), number("numRounds")
    if not 2 <= players <= 10 or not 1 <= rounds <= 8:
        raise ConfigError("numPlayers must be 2 to 10 and numRounds 1 to 8")
    stacks = values.get("stack", ())
    if not is_limit and not stacks:
        raise ConfigError("a nolimit game needs a line stack")
    raises = values.get("raisesize", ())
    if is_limit and len(raises) != rounds:
        raise ConfigError(f"a limit game needs a line raiseSize with {rounds} numbers")
    first = values.get("firstplayer", (1,) * rounds)
    caps = values.get("maxraises", (255,) * rounds if is_limit else ())
    return Poker(
        players=players,
        blinds=values.get("blind", (0,) * players),
        stacks=stacks,
        opens=tuple(player - 1 for player in first),
        raises=raises if is_limit else (),
        raise_caps=caps,
        ranks=number("numRanks"),
        suits=number("numSuits"),
        hole=number("numHoleCards"),
        board=values.get("numboardcards", ()),
    )


def format_betting(state: HoldemState) -> str:
    """Return the betting of a state, with streets separated by slashes."""
    return "/".join(part.rpartition(":")[2] for part in state.history.split("|"))


def format_deck_cards(game: HoldemBase, cards: Sequence[int]) -> str:
    """Return the names of cards, of which a small deck has the highest."""
    first_rank, first_suit = len(RANKS) - game.num_ranks, len(SUITS) - game.num_suits
    ranks_and_suits = (divmod(card, game.num_suits) for card in cards)
    return "".join(RANKS[first_rank + rank] + SUITS[first_suit + s] for rank, s in ranks_and_suits)


def format_cards(game: HoldemBase, state: HoldemState, viewer: int | None) -> str:
    """Return the cards that a seat sees, or all cards if `viewer` is None.

    A showdown shows the cards of all players who have not folded.
    """
    is_showdown = state.to_act == TERMINAL and len(state.players_left) > 1
    hands = [
        format_deck_cards(game, game.hole_cards(state, seat))
        if viewer in (None, seat) or (is_showdown and seat in state.players_left)
        else ""
        for seat in range(game.num_players)
    ]
    text, board = "|".join(hands), game.public_cards(state)
    for street in game.board_cards:
        if street and board:
            text += f"/{format_deck_cards(game, board[:street])}"
            board = board[street:]
    return text


def format_match_state(game: HoldemBase, state: HoldemState, seat: int, hand: int) -> str:
    """Return the line that the dealer sends to a seat, without the end of the line."""
    return f"MATCHSTATE:{seat}:{hand}:{format_betting(state)}:{format_cards(game, state, seat)}"


def format_values(values: Sequence[float]) -> str:
    """Return chips by seat as they are written in logs."""
    texts = [f"{value:.6f}".rstrip("0").rstrip(".") for value in values]
    return "|".join("0" if text == "-0" else text for text in texts)


def format_log_line(
    game: HoldemBase, state: HoldemState, hand: int, names_by_seat: Sequence[str]
) -> str:
    """Return the line of a log for a finished hand."""
    values = format_values(game.utilities(state))
    cards = format_cards(game, state, None)
    return f"STATE:{hand}:{format_betting(state)}:{cards}:{values}:{'|'.join(names_by_seat)}"


def format_action(game: HoldemBase, action: int) -> str:
    """Return an action as an answer has it."""
    return game.action_letter(action)


def parse_action(game: HoldemBase, state: HoldemState, text: str) -> int:
    """Return the legal action with this text, such as `f`, `c`, `r` or `r300`.

    Raises:
        ConfigError: the text is no action, or the action is illegal.
    """
    match = re.fullmatch(r"([fcr])(\d{0,9})", text)
    action = -1
    if match and not (match[2] and (game.is_limit or match[1] != "r")):
        letter, total = match[1], match[2]
        if letter != "r":
            action = FOLD if letter == "f" else CALL
        elif game.is_limit:
            action = RAISE
        elif total:
            action = max(int(total), RAISE)
    if action < 0 or not game.is_legal(state, action):
        raise ConfigError(f"{text[:40]!r} is no legal action after {format_betting(state)!r}")
    return action


def parse_match_state(game: HoldemBase, line: str) -> MatchState:
    """Read a line `MATCHSTATE:seat:hand:betting:cards[:action]`.

    Hidden cards become any cards that are not visible: an agent must not look at them.

    Raises:
        ConfigError: the line is not a state of this game.
    """
    parts = line.split(":")
    is_state = len(parts) in (5, 6) and parts[0] == "MATCHSTATE"
    if not is_state or not re.fullmatch(r"\d{1,2}", parts[1]) or not _is_hand(parts[2]):
        raise ConfigError(f"{line[:80]!r} is no MATCHSTATE:seat:hand:betting:cards")
    seat, hand = int(parts[1]), int(parts[2])
    if seat >= game.num_players:
        raise ConfigError(f"{line[:80]!r} has seat {seat} of {game.num_players}")
    state = _replay(game, parts[3], parts[4])
    return MatchState(seat, hand, state, ":".join(parts[:5]), "".join(parts[5:]))


def parse_log_line(game: HoldemBase, line: str) -> LoggedHand:
    """Read a finished hand of a log and check its values against the rules.

    Raises:
        ConfigError: the line is not a finished hand of this game, or its values are wrong.
    """
    parts = line.strip().split(":")
    if len(parts) != 6 or parts[0] != "STATE" or not _is_hand(parts[1]):
        raise ConfigError(f"{line[:80]!r} is no STATE:hand:betting:cards:values:names")
    state, names = _replay(game, parts[2], parts[3]), tuple(parts[5].split("|"))
    if state.to_act != TERMINAL:
        raise ConfigError(f"hand {parts[1]} is not finished")
    try:
        values = [float(value) for value in parts[4].split("|")]
    except ValueError:
        raise ConfigError(f"hand {parts[1]}: {parts[4][:40]!r} are no values") from None
    if len(values) != game.num_players or len(names) != game.num_players:
        raise ConfigError(f"hand {parts[1]} does not have {game.num_players} values and names")
    expected = game.utilities(state)
    if any(abs(a - b) > VALUE_TOLERANCE for a, b in zip(values, expected, strict=True)):
        raise ConfigError(
            f"hand {parts[1]}: the values are {parts[4]}, by the rules {format_values(expected)}"
        )
    return LoggedHand(int(parts[1]), state, names)


def read_log(game: HoldemBase, path: Path) -> list[LoggedHand]:
    """Read all hands of a log and check them; comments and the score line are skipped.

    Raises:
        FileError: the file cannot be read, or a line is wrong.
    """
    hands = []
    try:
        with path.open() as file:
            for number, line in enumerate(file, 1):
                if line.startswith("STATE:"):
                    try:
                        hands.append(parse_log_line(game, line))
                    except ConfigError as error:
                        raise FileError(f"{path}, line {number}: {error}") from error
                elif line.strip() and not line.startswith(("#", ";", "SCORE:")):
                    raise FileError(f"{path}, line {number}: {line[:40]!r} is no line of a log")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"cannot read {path}: {error}") from error
    return hands


def _is_hand(text: str) -> bool:
    return bool(re.fullmatch(r"\d{1,10}", text)) and int(text) <= MAX_HANDS


def _parse_cards(game: HoldemBase, text: str) -> list[int]:
    cards = []
    for k in range(0, len(text), 2):
        rank = RANKS.find(text[k]) - len(RANKS) + game.num_ranks
        suit = SUITS.find(text[k + 1 : k + 2] or " ") - len(SUITS) + game.num_suits
        if not 0 <= rank < game.num_ranks or not 0 <= suit < game.num_suits:
            raise ConfigError(f"{text[k : k + 2]!r} is no card of this game")
        cards.append(rank * game.num_suits + suit)
    return cards


def _replay(game: HoldemBase, betting: str, cards: str) -> HoldemState:
    """Return the state after the cards and actions of a line."""
    hands_text, *streets = cards.split("/")
    hands = [_parse_cards(game, text) for text in hands_text.split("|")]
    board = [_parse_cards(game, text) for text in streets]
    if len(hands) != game.num_players or any(len(h) not in (0, game.num_hole_cards) for h in hands):
        raise ConfigError(f"{cards[:60]!r} does not have the hands of {game.num_players} players")
    visible = [card for group in (*hands, *board) for card in group]
    if len(set(visible)) < len(visible):
        raise ConfigError(f"{cards[:60]!r} has a card twice")
    hidden = iter([c for c in range(game.num_ranks * game.num_suits) if c not in visible])
    count = game.num_hole_cards
    deal = [card for hand in hands for card in (hand or islice(hidden, count))]
    dealt = iter([*deal, *(card for street in board for card in street)])
    sizes = [street for street in game.board_cards if street]
    if [len(street) for street in board] != sizes[: len(board)]:
        raise ConfigError(f"{cards[:60]!r} does not have the board of this game")
    words = iter(re.findall(r"[fcr]\d*|/|.", betting, re.DOTALL))
    state = game.initial_state()
    while state.to_act != TERMINAL:
        if state.to_act == CHANCE:
            card = next(dealt, None)
            if card is None:
                raise ConfigError(f"{cards[:60]!r} has too few cards for {betting[:60]!r}")
            state = game.next_state(state, card)
            continue
        word = next(words, None)
        if word == "/":
            word = next(words, None)
        if word is None:
            break
        state = game.next_state(state, parse_action(game, state, word))
    if format_betting(state) != betting or next(dealt, None) is not None:
        raise ConfigError(f"{betting[:60]!r} with {cards[:60]!r} is no state of this game")
    return state
