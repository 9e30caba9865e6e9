"""Games before the flop as configs: seats, stacks, blinds, bet sizes, payoffs and deck.

Seats are listed in the order of their first action: the small blind and the big blind are the last
two, or the two before a straddle. Amounts are in any unit, such as big blinds. Raise sizes are
words:

    2.5x    two and a half times the bet that is raised; of an open raise, the big blind
    60%     60 % of the pot after calling, on top of the call
    8c      to 8 units in total
    a       all-in
"""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from counterplay.arenas.preflop.deck import Deck
from counterplay.arenas.preflop.icm import check_payouts
from counterplay.core.json_values import load_json
from counterplay.errors import ConfigError, suggestion
from counterplay.games.holdem_base import CATEGORY_ORDERS

MIN_SEATS, MAX_SEATS = 2, 9
SIZE_PATTERN = re.compile(r"(\d+(?:\.\d+)?)(x|%|c)")
SEAT_NAMES = ("UTG", "UTG1", "UTG2", "LJ", "HJ", "CO", "BTN", "SB", "BB")
EXPECTED_BY_ERROR_TYPE = {  # pydantic's name of an error -> what the value must be
    "int_type": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a text",
    "list_type": "a list",
    "tuple_type": "a list",
    "model_type": "an object",
    "finite_number": "a finite number",
}
Amount = Annotated[float, Field(ge=0.0, lt=math.inf)]
Positive = Annotated[float, Field(gt=0.0, lt=math.inf)]


class _Section(BaseModel):
    """Unknown keys and wrong types are errors; an integer may stand for a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DeckConfig(_Section):
    """The deck; by default 52 cards."""

    ranks: int = 13
    suits: int = 4
    board: int = 5
    ranking: str = "standard"

    def build(self) -> Deck:
        """Return the deck; raise ConfigError if it is impossible."""
        return Deck(self.ranks, self.suits, self.board, self.ranking)


class BettingConfig(_Section):
    """The betting tree.

    With `push_fold` every seat folds or goes all-in. Otherwise `raises` lists the sizes of open
    raises, of 3-bets, of 4-bets and so on; after the last list a player folds or calls.
    """

    push_fold: bool = True
    raises: tuple[tuple[str, ...], ...] = ()
    limp: bool = False  # call the big blind if all seats before have folded or called
    call: bool = True  # call a raise that is not all-in
    max_players: Annotated[int, Field(ge=2, le=3)] = 3  # seats left in when the betting ends
    all_in_from: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """A raise above this fraction of the stack becomes all-in."""


class FlopLeavesConfig(_Section):
    """Settings of the flops of `leaves = "solved_flops"`."""

    flops: str = "25"  # 25, 49, 95, 184, all, or a list of flops
    rounds: Annotated[int, Field(ge=1, le=20)] = 2
    """Times that flops are solved with the ranges of the preflop solution before."""
    target: Annotated[float, Field(gt=0.0, lt=100.0)] = 1.0  # exploitability, percent of the pot
    iterations: Annotated[int, Field(ge=1)] = 1000  # at most, per flop
    min_reach: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.001
    """Lines that are played less often keep the factors that they have."""
    sizes: dict[str, Any] = {}  # bet sizes by street, as in a spot


class PreflopGame(_Section):
    """A hold'em game before the flop.

    Example:
        >>> game = PreflopGame(stacks=(10.0, 10.0))
        >>> game.seat_names, game.is_tournament
        (('SB', 'BB'), False)
    """

    stacks: tuple[Positive, ...]  # chips of each seat, in the order of the first action
    small_blind: Amount = 0.5
    big_blind: Positive = 1.0
    straddle: Amount = 0.0  # posted by the seat after the big blind, which acts last
    ante: Amount = 0.0  # posted by every seat
    big_blind_ante: Amount = 0.0  # posted by the big blind for the table
    rake: Annotated[float, Field(ge=0.0, le=1.0)] = 0.0  # fraction of a contested pot
    rake_cap: Amount | None = None
    payouts: tuple[float, ...] | None = None  # prizes from the first place on; makes it ICM
    bounties: tuple[Amount, ...] | None = None  # prize for eliminating each seat
    betting: BettingConfig = BettingConfig()
    leaves: Literal["checked_down", "realisation", "solved_flops"] = "checked_down"
    realisation: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
    """Fraction of its equity that a player out of position realises; the last one has the rest."""
    solved_flops: FlopLeavesConfig = FlopLeavesConfig()
    deck: DeckConfig = DeckConfig()

    def model_post_init(self, _: Any) -> None:
        check_game(self)

    @property
    def num_seats(self) -> int:
        return len(self.stacks)

    @property
    def is_tournament(self) -> bool:
        """Whether payoffs are prizes instead of chips."""
        return self.payouts is not None

    @property
    def seat_names(self) -> tuple[str, ...]:
        """Names of the seats, such as BTN, SB and BB; STR is the straddle."""
        if not self.straddle:
            return SEAT_NAMES[-self.num_seats :]
        return (*SEAT_NAMES[-self.num_seats + 1 :], "STR")

    @property
    def blind_seats(self) -> tuple[int, int]:
        """Seats of the small and the big blind."""
        last = self.num_seats - (2 if self.straddle else 1)
        return last - 1, last

    @property
    def postflop_order(self) -> tuple[int, ...]:
        """Seats in the order of action after the flop: the first is out of position."""
        small, big = self.blind_seats
        if self.num_seats == 2:
            return big, small
        rest = [seat for seat in range(self.num_seats) if seat not in (small, big)]
        if self.straddle:
            rest = [rest[-1], *rest[:-1]]
        return (small, big, *rest)

    @property
    def spec(self) -> str:
        """A short description."""
        stacks = sorted({f"{stack:g}" for stack in self.stacks})
        text = stacks[0] if len(stacks) == 1 else "+".join(f"{s:g}" for s in self.stacks)
        kind = "push_fold" if self.betting.push_fold else "preflop"
        payoff = ",icm" if self.is_tournament else ""
        return f"{kind}(seats={self.num_seats},stacks={text}{payoff})"

    @classmethod
    def load(cls, path: str | Path) -> PreflopGame:
        """Read a game from a JSON file.

        Raises:
            FileError: the file cannot be read.
            ConfigError: it does not hold a valid game.
        """
        return load_json(path, cls.from_dict)

    @classmethod
    def from_dict(cls, data: Any) -> PreflopGame:
        """Return the game of JSON data; missing entries have their defaults.

        Raises:
            ConfigError: an entry is unknown, missing or wrong.
        """
        if not isinstance(data, dict):
            raise ConfigError("a preflop game is a JSON object with stacks, blinds and betting")
        try:
            return cls.model_validate_json(json.dumps(data))
        except ValidationError as error:
            raise ConfigError(_describe_error(error)) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the game as JSON data, without entries that have their defaults."""
        data: dict[str, Any] = json.loads(self.model_dump_json(exclude_defaults=True))
        return data


def _describe_error(error: ValidationError) -> str:
    """Return the first problem in one sentence; unknown keys come first."""
    problems = sorted(
        error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden"
    )
    problem = problems[0]
    name, kind = ".".join(map(str, problem["loc"])), problem["type"]
    if kind == "extra_forbidden":
        section: Any = PreflopGame
        for part in problem["loc"][:-1]:
            section = section.model_fields[str(part)].annotation
        known = list(section.model_fields)
        key = str(problem["loc"][-1])
        hint = suggestion(key, known) or f" (known keys: {', '.join(known)})"
        return f"{name}: unknown key{hint}"
    if kind == "missing":
        return f"the game lacks the entry {name!r}"
    value = json.dumps(problem["input"])[:60]
    context = problem.get("ctx", {})
    limits = {
        "greater_than": f"above {context.get('gt')}",
        "greater_than_equal": f"at least {context.get('ge')}",
        "less_than": f"below {context.get('lt')}",
        "less_than_equal": f"at most {context.get('le')}",
        "literal_error": f"one of {context.get('expected')}",
    }
    expected = limits.get(kind) or EXPECTED_BY_ERROR_TYPE.get(kind)
    return f"{name} is {value}, must be {expected}" if expected else f"{name}: {problem['msg']}"


def check_game(game: PreflopGame) -> None:
    """Raise ConfigError with the first problem of a game."""
    count = game.num_seats
    if not MIN_SEATS <= count <= MAX_SEATS:
        raise ConfigError(f"stacks has {count} entries, must be {MIN_SEATS} to {MAX_SEATS} seats")
    if game.small_blind > game.big_blind:
        raise ConfigError(
            f"small_blind is {game.small_blind:g}, must be at most the big blind {game.big_blind:g}"
        )
    if game.straddle and count < 3:
        raise ConfigError("a straddle needs at least three seats")
    if game.straddle and game.straddle <= game.big_blind:
        raise ConfigError(f"straddle is {game.straddle:g}, must be above the big blind")
    for name, stack in zip(game.seat_names, game.stacks, strict=True):
        if stack <= game.ante:
            raise ConfigError(f"the stack of {name} is {stack:g}, which the ante takes whole")
    if game.payouts is not None:
        check_payouts(game.payouts, count)
        if game.rake:
            raise ConfigError("rake is for cash games: leave out rake or payouts")
    if game.bounties is not None:
        if game.payouts is None:
            raise ConfigError("bounties are prizes: give payouts too")
        if len(game.bounties) != count:
            raise ConfigError(f"bounties has {len(game.bounties)} entries for {count} seats")
    if game.leaves != "solved_flops" and game.solved_flops != FlopLeavesConfig():
        raise ConfigError('solved_flops needs leaves "solved_flops"')
    if game.leaves == "solved_flops":
        check_flop_leaves(game)
    if game.leaves != "realisation" and game.realisation != 1.0:
        raise ConfigError('realisation needs leaves "realisation"')
    betting = game.betting
    if betting.push_fold and (betting.raises or betting.limp):
        raise ConfigError("push_fold has no raises and no limps; set push_fold to false")
    if not betting.push_fold and not betting.raises:
        raise ConfigError("raises lists no sizes; give them, or set push_fold to true")
    for level in betting.raises:
        for word in level:
            parse_raise(word)
    if game.deck.ranking not in CATEGORY_ORDERS or game.deck.build().num_cards < (
        2 * count + game.deck.board
    ):
        raise ConfigError(
            f"a deck of {game.deck.build().num_cards} cards is too small for {count} seats"
        )


def check_flop_leaves(game: PreflopGame) -> None:
    """Raise ConfigError if the leaves of a game cannot be valued by solved flops."""
    if game.payouts is not None:
        raise ConfigError("solved flops are for cash games: leave out payouts")
    if game.betting.push_fold:
        raise ConfigError("push_fold never sees a flop with chips left: leave out solved_flops")
    if game.betting.max_players != 2 and game.num_seats > 2:
        raise ConfigError("solved flops have two players: set betting.max_players to 2")
    if game.deck != DeckConfig():
        raise ConfigError("solved flops need the deck of 52 cards")
    from counterplay.arenas.holdem.flop_report import report_flops  # heavy: loads the solver
    from counterplay.arenas.holdem.spot import Spot

    report_flops(game.solved_flops.flops)
    spot = {"board": "AsKsQs", "ranges": ["JJ", "TT"], "pot": 1, "stacks": 1}
    Spot.from_dict(spot | {"sizes": game.solved_flops.sizes})


def parse_raise(word: str) -> tuple[str, float]:
    """Return the unit and the number of a raise size such as "2.5x"; "a" has number 0."""
    if word == "a":
        return "a", 0.0
    match = SIZE_PATTERN.fullmatch(word)
    if not match or float(match[1]) <= 0.0:
        raise ConfigError(f"cannot read the raise size {word!r}; write 2.5x, 60%, 8c or a")
    if match[2] == "x" and float(match[1]) <= 1.0:
        raise ConfigError(f"the raise size {word!r} is not a raise; the factor must be above 1")
    return match[2], float(match[1])
