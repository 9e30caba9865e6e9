"""Spots: heads-up no-limit hold'em from the flop, the turn or the river on.

A spot is a frozen dataclass, or a JSON file whose keys are its fields. Bet sizes are words:

    50%     half of the pot; for a raise, half of the pot after calling
    2.5x    two and a half times the bet that is raised
    100c    100 chips; for a raise, 100 chips on top of the bet; `100c3r` for up to 3 raises only
    e       geometric: the fraction of the pot that, bet on every street left, ends all-in; `2e`
            over two streets; `3e200%` at most twice the pot; for a raise, the raises already made
            on this street are subtracted from the number of streets
    a       all-in

The amounts follow the rules of b-inary/postflop-solver: see `counterplay.arenas.holdem.betting`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from counterplay.arenas.holdem.hand_ranges import Range
from counterplay.arenas.preflop.deck import FULL_DECK, SHORT_DECK, Deck
from counterplay.core.archive import write_text
from counterplay.core.cards import NUM_CARDS, cards_name, parse_cards
from counterplay.core.json_values import load_json
from counterplay.errors import ConfigError, suggestion

STREETS = ("flop", "turn", "river")
BOARD_CARDS = (3, 4, 5)
PLAIN_SIZE = re.compile(r"(\d+(?:\.\d+)?)(%|x|c)")
CAPPED_SIZE = re.compile(r"(\d+)c(\d+)r")
GEOMETRIC_SIZE = re.compile(r"(\d*)e(?:(\d+(?:\.\d+)?)%)?")
SPOT_DECKS = {
    "standard": FULL_DECK,
    "short_deck": SHORT_DECK,
    "short_deck_trips": Deck(num_ranks=9, ranking="short_deck_trips"),
}
MAX_CHIPS = 10**9  # sums of chips stay exact
MAX_COUNT = 100  # streets of a geometric size, raises of a capped one


class BetSize(NamedTuple):
    """One parsed bet size."""

    unit: str  # %, x, c, e or a
    number: float = 0.0  # with unit e: number of streets, 0 for all that are left
    raise_cap: int = 0  # with unit c: offered for that many raises of a street; 0: no limit
    max_pot: float = math.inf  # with unit e: largest fraction of the pot


@lru_cache(maxsize=256)
def parse_bet_sizes(text: str) -> tuple[BetSize, ...]:
    """Return the sizes of a text such as `33%, 2.5x, a`.

    Raises:
        ConfigError: a size cannot be read.

    Example:
        >>> [size.unit for size in parse_bet_sizes("33%, 2.5x, a")]
        ['%', 'x', 'a']
    """
    sizes: list[BetSize] = []
    for position, word in enumerate(text.replace(",", " ").split(), 1):
        try:
            sizes.append(_read_size(word.lower()))
        except ValueError as error:
            raise ConfigError(f"bet sizes {text[:60]!r}, size {position}: {error}") from None
    return tuple(sizes)


def _read_size(word: str) -> BetSize:
    """Return one size; raise ValueError with the problem if it cannot be read."""
    if word == "a":
        return BetSize("a")
    if match := CAPPED_SIZE.fullmatch(word):
        cap = _number(match[2], word, MAX_COUNT)
        return BetSize("c", _number(match[1], word), raise_cap=int(cap))
    if match := GEOMETRIC_SIZE.fullmatch(word):
        streets = _number(match[1], word, MAX_COUNT) if match[1] else 0.0
        return BetSize(
            "e", streets, max_pot=_number(match[2], word) / 100 if match[2] else math.inf
        )
    match = PLAIN_SIZE.fullmatch(word)
    if not match:
        raise ValueError(f"cannot read {word!r}; write 50%, 2.5x, 100c, e, 2e, 3e200% or a")
    size = BetSize(match[2], _number(match[1], word))
    if size.unit == "x" and size.number <= 1.0:
        raise ValueError(f"{word!r} is not a raise; the factor must be above 1")
    if size.unit == "c" and not size.number.is_integer():
        raise ValueError(f"{word!r} must be a whole number of chips")
    return size


def _number(text: str, word: str, maximum: float = MAX_CHIPS) -> float:
    value = float(text)
    if not 0.0 < value <= maximum:
        raise ValueError(f"{word!r} is out of range (above 0, at most {maximum:,})")
    return value


@dataclass(frozen=True)
class BetSizes:
    """Bet sizes of one player on one street, as words."""

    bet: str = ""
    raises: str = ""
    donk: str | None = None  # instead of `bet` against the last bettor of the street before

    def __post_init__(self) -> None:
        for name, text in (("bet", self.bet), ("raise", self.raises), ("donk", self.donk or "")):
            for size in parse_bet_sizes(text):
                if size.unit == "x" and name != "raise":
                    raise ConfigError(f"{name} size {text!r}: there is no bet yet to multiply by x")
                if size.raise_cap and name != "raise":
                    raise ConfigError(f"{name} size {text!r}: only raises have a cap such as 3r")


DEFAULT_SIZES = BetSizes(bet="50% a", raises="60% a")  # of a street without sizes


@dataclass(frozen=True)
class Spot:
    """Board, ranges, pot and stacks. Player 0 is OOP and acts first on every street.

    A player's value of the spot is its EV at the start: its share of the final pot, less the chips
    that it puts in from there on. Values add up to the pot, less the rake.

    Example:
        >>> spot = Spot("Td9d6h", ("QQ+,AK", "random"), pot=100, stacks=(200, 300))
        >>> spot.stack, STREETS[spot.street]
        (200, 'flop')
    """

    board: str
    ranges: tuple[str, str]  # OOP, IP
    pot: int
    stacks: tuple[int, int]  # left behind; the smaller is the effective stack
    sizes: tuple[tuple[BetSizes, BetSizes], ...] = ((DEFAULT_SIZES,) * 2,) * 3  # flop, turn, river
    rake: float = 0.0  # fraction of the pot
    rake_cap: float = math.inf  # chips
    add_all_in: float = 0.0  # offer all-in too if it is at most this many pots
    force_all_in: float = 0.0  # a bet becomes all-in if it leaves at most this many pots behind
    commit_all_in: float = math.inf  # a bet above this fraction of the stack becomes all-in
    merge: float = 0.0  # sizes closer than this fraction of the pot become the larger one
    raise_cap: int = 0  # bets and raises per street; 0 for no limit
    min_bet: int = 1
    dead: str = ""  # cards out of play
    deck: str = "standard"  # or short_deck (6+, flush over full house), short_deck_trips

    def __post_init__(self) -> None:
        check_spot(self)

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The cards of the board, in the order of the text."""
        return parse_cards(self.board, "board")

    @cached_property
    def dead_cards(self) -> tuple[int, ...]:
        """The cards out of play: those of `dead`, and those that the deck does not have."""
        in_deck = set(self.deck_rules.cards.tolist())
        missing = (card for card in range(NUM_CARDS) if card not in in_deck)
        return tuple(dict.fromkeys((*missing, *parse_cards(self.dead, "dead cards"))))

    @property
    def deck_rules(self) -> Deck:
        """The cards of the deck, and the order of its hands."""
        return SPOT_DECKS[self.deck]

    @property
    def stack(self) -> int:
        """The effective stack."""
        return min(self.stacks)

    @property
    def street(self) -> int:
        """0 for the flop, 1 for the turn, 2 for the river."""
        return BOARD_CARDS.index(len(self.cards))

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for readers of the solution about the bet sizes."""
        notes = []
        for street, sizes in list(zip(STREETS, self.sizes, strict=True))[self.street :]:
            if sizes == (DEFAULT_SIZES, DEFAULT_SIZES):
                notes.append(
                    f"the {street} has the default sizes: bet {DEFAULT_SIZES.bet}, raise "
                    f"{DEFAULT_SIZES.raises}"
                )
            passive = [p for p in (0, 1) if not (sizes[p].bet.strip() or (sizes[p].donk or ""))]
            if passive and not self.add_all_in:
                who = "neither player can" if len(passive) == 2 else f"player {passive[0]} cannot"
                notes.append(f"{who} bet on the {street}: no bet sizes are given for it")
        return tuple(notes)

    @classmethod
    def load(cls, path: str | Path) -> Spot:
        """Read a spot from a JSON file.

        Raises:
            FileError: the file cannot be read.
            ConfigError: it does not hold a valid spot.
        """
        return load_json(path, cls.from_dict)

    @classmethod
    def from_dict(cls, data: Any) -> Spot:
        """Return the spot of JSON data as `to_dict` writes them.

        Missing entries have their defaults. A street that `sizes` does not name has
        `DEFAULT_SIZES`; one with empty sizes has no bets.
        """
        if not isinstance(data, dict):
            raise ConfigError("a spot is a JSON object with board, ranges, pot and stacks")
        names = [f.name for f in fields(cls)]
        for name in data:
            if name not in names:
                raise ConfigError(f"a spot has no entry {name!r}{suggestion(name, names)}")
        for name in ("board", "ranges", "pot", "stacks"):
            if name not in data:
                raise ConfigError(f"the spot lacks the entry {name!r}")
        values = dict(data)
        if isinstance(values["stacks"], int):
            values["stacks"] = [values["stacks"]] * 2
        for name in ("ranges", "stacks"):
            values[name] = _check_pair(values[name], name)
        values["sizes"] = _parse_sizes(values.get("sizes", {}))
        if values.get("rake_cap") is None:
            values.pop("rake_cap", None)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return the spot as JSON data, without entries that have their defaults."""
        default = {f.name: f.default for f in fields(self)}
        values = {name: getattr(self, name) for name in default if name != "sizes"}
        data = {name: value for name, value in values.items() if value != default[name]}
        data["sizes"] = {
            street: [_sizes_to_dict(sizes) for sizes in both]
            for street, both in zip(STREETS, self.sizes, strict=True)
            if both != (DEFAULT_SIZES, DEFAULT_SIZES)
        }
        return {n: list(v) if isinstance(v, tuple) else v for n, v in data.items()}

    def save(self, path: str | Path) -> None:
        """Write the JSON file that `load` reads."""
        write_text(path, json.dumps(self.to_dict(), indent=2) + "\n")


def check_spot(spot: Spot) -> None:
    """Raise ConfigError with the first problem of a spot."""
    if spot.deck not in SPOT_DECKS:
        raise ConfigError(f"deck is {spot.deck!r}, must be one of {', '.join(SPOT_DECKS)}")
    for name in ("board", "dead"):
        if not isinstance(getattr(spot, name), str):
            raise ConfigError(f"{name} is {getattr(spot, name)!r}, must be a text such as 'Td9d6h'")
    if not all(isinstance(text, str) for text in spot.ranges):
        raise ConfigError("ranges are two texts, that of the player out of position first")
    if len(spot.cards) not in BOARD_CARDS:
        raise ConfigError(
            f"board {spot.board!r} has {len(spot.cards)} cards; a spot has 3 (flop), 4 or 5"
        )
    in_deck = set(spot.deck_rules.cards.tolist())
    outside = [card for card in spot.cards if card not in in_deck]
    if outside:
        raise ConfigError(f"board {spot.board!r}: {cards_name(outside)} is not in a short deck")
    shared = set(spot.cards) & set(spot.dead_cards)
    if shared:
        raise ConfigError(f"{cards_name(shared)} is on the board and among the dead cards")
    if NUM_CARDS - len(spot.dead_cards) < 5 + 4:
        raise ConfigError(f"{len(parse_cards(spot.dead))} dead cards leave too few to deal")
    for name, value, minimum in (
        ("pot", spot.pot, 1),
        *(("stacks", stack, 1) for stack in spot.stacks),
        ("min_bet", spot.min_bet, 1),
        ("raise_cap", spot.raise_cap, 0),
    ):
        if type(value) is not int or not minimum <= value <= MAX_CHIPS:
            raise ConfigError(
                f"{name} is {value!r}, must be a whole number from {minimum} to {MAX_CHIPS}"
            )
    _check_number(spot, "rake", 1.0)
    for name in ("rake_cap", "add_all_in", "force_all_in", "commit_all_in", "merge"):
        _check_number(spot, name, math.inf)
    for both_sizes in spot.sizes:
        for sizes in both_sizes:
            for size in parse_bet_sizes(f"{sizes.bet} {sizes.donk or ''}"):
                if size.unit == "c" and size.number < spot.min_bet:
                    raise ConfigError(
                        f"a bet of {size.number:g}c is below the minimum of {spot.min_bet}"
                    )
    used = (*spot.cards, *spot.dead_cards)
    for player, text in enumerate(spot.ranges):
        if not Range.parse(text).weights_without(used).any():
            raise ConfigError(
                f"every hand of player {player}'s range {text[:40]!r} holds a card of the board "
                f"{spot.board}{'' if spot.deck == 'standard' else ' or one below the six'}"
            )


def _check_number(spot: Spot, name: str, maximum: float) -> None:
    value = getattr(spot, name)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0.0 <= value <= maximum:
        limit = f"from 0 to {maximum:g}" if maximum < math.inf else "at least 0"
        raise ConfigError(f"{name} is {value!r}, must be a number {limit}")


def _check_pair(value: Any, name: str) -> tuple[Any, Any]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise ConfigError(f"{name} is {value!r}, must be two entries, out of position first")
    return value[0], value[1]


def _parse_sizes(data: Any) -> tuple[tuple[BetSizes, BetSizes], ...]:
    if not isinstance(data, dict):
        raise ConfigError("sizes is an object with the entries flop, turn and river")
    for name in data:
        if name not in STREETS:
            raise ConfigError(f"sizes has no entry {name!r}{suggestion(name, STREETS)}")
    return tuple(
        _parse_street_sizes(data[street], street)
        if street in data
        else (DEFAULT_SIZES, DEFAULT_SIZES)
        for street in STREETS
    )


def _parse_street_sizes(data: Any, street: str) -> tuple[BetSizes, BetSizes]:
    both = (data, data) if isinstance(data, dict) else _check_pair(data, f"sizes of the {street}")
    return _parse_player_sizes(both[0], street), _parse_player_sizes(both[1], street)


def _parse_player_sizes(data: Any, street: str) -> BetSizes:
    known = ("bet", "raise", "donk")
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise ConfigError(f"sizes of the {street} are texts named bet, raise and donk")
    for name in data:
        if name not in known:
            raise ConfigError(f"sizes of the {street} have no entry {name!r} (bet, raise, donk)")
    return BetSizes(data.get("bet", ""), data.get("raise", ""), data.get("donk"))


def _sizes_to_dict(sizes: BetSizes) -> dict[str, str]:
    words = {"bet": sizes.bet, "raise": sizes.raises, "donk": sizes.donk}
    data = {name: text for name, text in words.items() if text}
    return data if sizes.donk != "" else data | {"donk": ""}  # no donk bets at all
