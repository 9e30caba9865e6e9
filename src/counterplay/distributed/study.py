"""Studies: a base config, the settings that vary, and the budget of the search.

{"base": "kuhn.json" or {...}, "seeds": 3, "rungs": [1000, 4000], "keep": 0.25, "judge": 5,
 "vary": {"epsilon": {"low": 0.01, "high": 0.5, "log": true}, "plus": {"choices": [true, false]}},
 "proposals": 64, "batch": 16, "budget": 2000000}
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from counterplay.core.trust import TrustError, check_file
from counterplay.errors import ConfigError, suggestion
from counterplay.experiment.config import (
    RUN_NAME_PATTERN,
    ConfigSection,
    JsonObject,
    RunConfig,
    key_path,
    load_config,
    load_json_object,
    validate,
)
from counterplay.registry import get_spec

MAX_PROPOSALS = 100_000  # of a study
DIMENSION_KEYS = ("low", "high", "log", "count", "choices", "grid")
DIMENSION_FORMS = "low and high, choices, or grid"
FIXED_KEYS = ("seed", "max_steps", "evaluate_every", "checkpoint_every", "name")  # cannot vary

Settings = Mapping[str, Any]  # values of a config by key


class StudyOutline(ConfigSection):
    """The keys of a study, before its base and its dimensions are checked."""

    name: str = Field(pattern=f"^{RUN_NAME_PATTERN}$")
    base: str | JsonObject
    vary: JsonObject
    seeds: int = Field(3, ge=1, le=1000)
    proposals: int | None = Field(None, ge=1, le=MAX_PROPOSALS)
    batch: int | None = Field(None, ge=1)
    rungs: list[int] = Field(default_factory=list)
    keep: float = Field(0.25, gt=0.0, le=1.0)
    judge: int = Field(5, ge=0, le=1000)
    seed: int = Field(0, ge=0, lt=2**31)
    budget: int | None = Field(None, ge=1)
    policy: str | None = None


@dataclass(frozen=True)
class SearchDimension:
    """A setting that varies, with its range or its list of values."""

    key: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False  # whether the range is searched on a log scale
    is_integer: bool = False
    choices: tuple[Any, ...] = ()  # the values, if it has no range

    def contains(self, value: Any) -> bool:
        """Return True if the setting may have a value."""
        return value in self.choices if self.choices else self.low <= value <= self.high

    def format_value(self, value: object) -> str:
        """Return a value as text."""
        return f"{value:.4g}" if isinstance(value, float) else json.dumps(value)


@dataclass(frozen=True)
class Study:
    """A checked study, see `load_study`."""

    name: str
    base: RunConfig  # its length is the last rung
    vary: tuple[SearchDimension, ...]
    seeds: int  # number of seeds of every proposal: 0, 1, ...
    proposals: int  # number of proposals
    batch: int  # number of proposals that go through the rungs together
    rungs: tuple[int, ...]  # steps after which the worse proposals are dropped; the last is the end
    keep: float  # fraction of proposals that continues to the next rung
    judge: int  # number of unseen seeds on which the winner and the base are judged
    seed: int  # of the proposals
    budget: int | None  # largest number of steps of all runs together
    policy: str | None  # policy to rank by; that with the guarantee if None
    is_grid: bool  # whether all combinations of lists are tried, instead of proposals
    source: str = field(default="", compare=False)  # the file it was read from
    game_cache: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def to_json(self) -> JsonObject:
        """Return the study with all defaults, as its folder stores it."""
        vary = {
            dimension.key: {"choices": list(dimension.choices)}
            if dimension.choices
            else {"low": dimension.low, "high": dimension.high, "log": dimension.log}
            for dimension in self.vary
        }
        names = ("name", "seeds", "batch", "keep", "judge", "seed", "budget", "policy")
        return {
            "base": self.base.to_json(),
            "vary": vary,
            "rungs": list(self.rungs),
            "proposals": None if self.is_grid else self.proposals,
            **{name: getattr(self, name) for name in names},
        }

    def run_config(self, settings: Settings, seed: int) -> RunConfig:
        """Return the config of a proposal's run with a seed, up to the last rung."""
        return load_config(self.base, dict(settings) | {"spec.seed": seed}, origin=self._origin)

    @property
    def _origin(self) -> str:
        """The file that names the games; stored proposals are a file, too."""
        return self.source or f"the proposals of {self.name}"

    @property
    def varies_game(self) -> bool:
        """Whether proposals are of several games, whose results are not comparable."""
        return any(is_game_key(dimension.key) for dimension in self.vary)

    def game_of(self, settings: Settings) -> str:
        """Return the game of a proposal, such as "kuhn_poker(players=3)"."""
        game_settings = {key: value for key, value in settings.items() if is_game_key(key)}
        text = json.dumps(game_settings, sort_keys=True)
        if text not in self.game_cache:
            config = load_config(self.base, game_settings, origin=self._origin)
            self.game_cache[text] = get_spec(config.game)
        return self.game_cache[text]

    def game_settings(self) -> dict[str, JsonObject]:
        """Return, for each game of the study, the settings that select it."""
        by_game: dict[str, JsonObject] = {}
        for settings in _combine([part for part in self.vary if is_game_key(part.key)]):
            by_game.setdefault(self.game_of(settings), settings)
        return by_game

    def base_settings(self) -> JsonObject | None:
        """Return the varying settings of the base, or None if a proposal cannot have them."""
        settings = {part.key: setting_value(self.base, part.key) for part in self.vary}
        is_allowed = all(part.contains(settings[part.key]) for part in self.vary)
        return settings if is_allowed else None

    def combinations(self) -> list[JsonObject]:
        """Return every combination of the lists; the last setting changes fastest."""
        return _combine(self.vary)

    def num_survivors(self, num_proposals: int) -> int:
        """Return how many of a number of proposals of one game continue to the next rung."""
        return max(1, math.ceil(self.keep * num_proposals))

    def batches(self) -> list[range]:
        """Return the numbers of the proposals of each batch."""
        return [
            range(first, min(first + self.batch, self.proposals))
            for first in range(0, self.proposals, self.batch)
        ]

    def total_steps(self) -> int:
        """Return the steps of all runs together, including those that judge the winner."""
        games = [""] * self.proposals
        if self.varies_game:
            games = [self.game_of(settings) for settings in self.combinations()]
        total = 2 * self.judge * self.rungs[-1] * len(set(games))
        for numbers in self.batches():
            for count in Counter(games[number] for number in numbers).values():
                num_left = count
                for last_rung, rung in pairwise((0, *self.rungs)):
                    total += num_left * self.seeds * (rung - last_rung)
                    num_left = self.num_survivors(num_left)
        return total


def _combine(dimensions: Sequence[SearchDimension]) -> list[JsonObject]:
    """Return every combination of the values of some dimensions."""
    keys = [dimension.key for dimension in dimensions]
    return [
        dict(zip(keys, values, strict=True))
        for values in product(*(dimension.choices for dimension in dimensions))
    ]


def is_game_key(key: str) -> bool:
    """Return True if a setting selects the game or one of its parameters."""
    return key.split(".")[0] == "game"


def load_study(source: str | Path | Mapping[str, Any]) -> Study:
    """Read and check a study: a JSON file, or its content.

    The path of a base is relative to the folder of the study's file. Games that the file names, in
    its base or as varying settings, run code only if the user has allowed it (see `core.trust`).

    Raises:
        ConfigError: the study is wrong; the message names the key and the expected value.
        TrustError: a game needs code that the user has not allowed.
    """
    where, raw = load_json_object(source, "study", "study", StudyOutline.model_fields)
    outline = validate(where, StudyOutline, raw)
    try:
        return _build_study(outline, "" if isinstance(source, Mapping) else str(source))
    except TrustError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _build_study(outline: StudyOutline, source: str) -> Study:
    base = _load_base(outline.base, source)
    if base.arena == "rules":
        raise ConfigError(
            "base.arena is rules, must be tree or generated: a study ranks by exact exploitability"
        )
    rungs = tuple(outline.rungs) or (base.max_steps,)
    if any(b <= a for a, b in pairwise((0, *rungs))):
        raise ConfigError(f"rungs is {list(rungs)}, must be growing numbers from 1 on")
    if outline.budget is not None and rungs[-1] > outline.budget:
        raise ConfigError(f"rung {rungs[-1]:,} is beyond the budget of {outline.budget:,} steps")
    base = base.with_max_steps(rungs[-1])
    if not outline.vary:
        raise ConfigError("vary is empty; name at least one setting")
    vary = tuple(_build_dimension(base, key, raw, source) for key, raw in outline.vary.items())
    is_grid = outline.proposals is None
    if is_grid and (ranges := [part.key for part in vary if not part.choices]):
        raise ConfigError(f"proposals: missing key, because {ranges[0]} is a range without count")
    if not is_grid and (games := [part.key for part in vary if is_game_key(part.key)]):
        raise ConfigError(
            f"vary.{games[0]}: results of different games cannot be compared, so proposals cannot "
            "be searched; leave out proposals, and all combinations are tried for each game"
        )
    proposals = outline.proposals or math.prod(len(part.choices) for part in vary)
    if proposals > MAX_PROPOSALS:
        raise ConfigError(
            f"the grid has {proposals:,} combinations, at most {MAX_PROPOSALS:,} are allowed"
        )
    study = Study(
        name=outline.name,
        base=base,
        vary=vary,
        seeds=outline.seeds,
        proposals=proposals,
        batch=min(outline.batch or (proposals if is_grid else 16), proposals),
        rungs=rungs,
        keep=outline.keep,
        judge=outline.judge,
        seed=outline.seed,
        budget=outline.budget,
        policy=outline.policy,
        is_grid=is_grid,
        source=source,
    )
    if study.budget is not None and study.total_steps() > study.budget:
        raise ConfigError(
            f"the study takes {study.total_steps():,} steps, beyond its budget of "
            f"{study.budget:,}; choose fewer proposals, seeds or rungs"
        )
    return study


def _load_base(base: str | JsonObject, source: str) -> RunConfig:
    """Load the base config; `source` is the file of the study, or ""."""
    if isinstance(base, dict):
        folder = Path(source).parent if source else None
        return load_config(base, origin=source or None, folder=folder)
    path = Path(source).parent / base
    is_plain_config = not Path(base).is_absolute() and path.suffix == ".json" and path.is_file()
    if source and path.exists() and not is_plain_config:
        check_file(path, source)
    return load_config(path)


def _build_dimension(base: RunConfig, key: str, raw: object, source: str) -> SearchDimension:
    """Return a dimension whose ends, or whose values, the config accepts."""
    where = f"vary.{key}"
    if key.split(".")[-1] in FIXED_KEYS:
        raise ConfigError(f"{where}: not a setting of the method; leave it out")
    if not isinstance(raw, dict) or not _is_dimension(where, raw):
        raise ConfigError(
            f"{where} is {json.dumps(raw)[:60]}, must be an object with {DIMENSION_FORMS}"
        )
    values: tuple[Any, ...] = ()
    is_integer = False
    if "low" in raw:
        low, high, log = raw["low"], raw["high"], raw.get("log", False)
        is_integer = _is_integer_setting(base, key, where, low, source)
        if "count" in raw:
            values = _grid_points(where, low, high, log, is_integer, raw["count"])
    else:
        low, high, log, values = 0.0, 0.0, False, tuple(next(iter(raw.values())))
    for value in values or (low, high):
        _override_setting(base, key, value, source)
    return SearchDimension(key, low, high, log, is_integer, values)


def _override_setting(base: RunConfig, key: str, value: object, source: str) -> RunConfig:
    """Return the base with one setting changed."""
    try:
        return load_config(base, {key: value}, origin=source or None)
    except TrustError:
        raise
    except ConfigError as error:
        text = str(error).removeprefix("config: ")
        raise ConfigError(f"vary.{key}: {text}") from error


def _is_dimension(where: str, raw: JsonObject) -> bool:
    """Return True for a valid range or list, False for an object that is neither.

    Raises:
        ConfigError: a key is unknown, or a value is wrong.
    """
    keys = set(raw)
    for key in keys - set(DIMENSION_KEYS):
        near = suggestion(key, DIMENSION_KEYS)
        raise ConfigError(f"{where}.{key}: unknown key{near} (a setting has {DIMENSION_FORMS})")
    if keys in ({"choices"}, {"grid"}):
        values = next(iter(raw.values()))
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{where}: {json.dumps(values)[:40]} is not a list, or is empty")
        return True
    if not {"low", "high"} <= keys or keys & {"choices", "grid"}:
        return False
    low, high, log = raw["low"], raw["high"], raw.get("log", False)
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isinf(value):
            raise ConfigError(f"{where}.{name} is {json.dumps(value)[:40]}, must be a number")
    if not low < high:
        raise ConfigError(f"{where}: the range from {low} to {high} is empty")
    if not isinstance(log, bool):
        raise ConfigError(f"{where}.log is {json.dumps(log)[:40]}, must be true or false")
    if log and low <= 0:
        raise ConfigError(f"{where}: a range with log begins above 0, not at {low}")
    return True


def setting_value(config: RunConfig, key: str) -> Any:
    """Return a setting of a config, by its path or its name; None if the config lacks it."""
    value: Any = config.to_json()
    for part in key_path(key):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _is_integer_setting(base: RunConfig, key: str, where: str, low: float, source: str) -> bool:
    """Return True if a setting is an integer; raise ConfigError if it is not a number."""
    value = setting_value(_override_setting(base, key, low, source), key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{where}: not a number, so it needs choices instead of low and high")
    return isinstance(value, int)


def _grid_points(
    where: str, low: float, high: float, log: bool, is_integer: bool, count: object
) -> tuple[float, ...]:
    """Return equally spaced values of a range, without duplicates."""
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MAX_PROPOSALS:
        raise ConfigError(f"{where}.count is {json.dumps(count)[:40]}, must be at least 2")
    points = (np.geomspace(low, high, count) if log else np.linspace(low, high, count)).tolist()
    return tuple(dict.fromkeys(map(round, points) if is_integer else points))
