"""What a study is told: a base config, what varies, and how much may be spent.

{"base": "kuhn.json" or {...}, "seeds": 3, "rungs": [1000, 4000], "keep": 0.25, "judge": 5,
 "vary": {"epsilon": {"low": 0.01, "high": 0.5, "log": true}, "plus": {"choices": [true, false]}},
 "proposals": 64, "batch": 16, "budget": 2000000}
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field, ValidationError

from counterplay.core.trust import TrustError, check_file
from counterplay.errors import ConfigError, suggestion
from counterplay.experiment.config import (
    EXPECTED_BY_ERROR_TYPE,
    RUN_NAME_PATTERN,
    ConfigSection,
    RunConfig,
    load_config,
    load_json_object,
)
from counterplay.registry import get_spec

MAX_PROPOSALS = 100_000  # proposals of a study
DIMENSION_FORMS = "low and high, choices, or grid"


class StudyOutline(ConfigSection):
    """The keys of a study."""

    name: str = Field(pattern=f"^{RUN_NAME_PATTERN}$")
    base: str | dict[str, Any]
    vary: dict[str, Any]
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
    """One setting and the values it may have: a range, or a list."""

    key: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    is_integer: bool = False  # only whole numbers
    choices: tuple[Any, ...] = ()  # if it is a list

    def contains(self, value: Any) -> bool:
        """Whether it may have this value."""
        return value in self.choices if self.choices else self.low <= value <= self.high

    def format_value(self, value: Any) -> str:
        """A value as people read it."""
        return f"{value:.4g}" if isinstance(value, float) else json.dumps(value)


@dataclass(frozen=True)
class Study:
    """A study whose every key is checked; `load_study` makes it."""

    name: str
    base: RunConfig  # as long as the last rung
    vary: tuple[SearchDimension, ...]
    seeds: int  # of every proposal: 0, 1, ...
    proposals: int
    batch: int  # proposals that go through the rungs together
    rungs: tuple[int, ...]  # steps after which the worse are dropped; the last is the end
    keep: float  # share of proposals that goes on to the next rung
    judge: int  # seeds on which the winner and the base are judged, none of them seen before
    seed: int  # of the proposals
    budget: int | None  # most steps of all runs together
    policy: str | None  # which to rank by; the one with the guarantee if None
    is_grid: bool  # every combination of lists, instead of proposals by what was found before
    source: str = field(default="", compare=False)  # the file it was read from
    game_cache: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The complete object; what a study's folder keeps."""
        vary = {
            one.key: {"choices": list(one.choices)}
            if one.choices
            else {"low": one.low, "high": one.high, "log": one.log}
            for one in self.vary
        }
        own = ("name", "seeds", "batch", "keep", "judge", "seed", "budget", "policy")
        proposals = None if self.is_grid else self.proposals
        rest = {"rungs": list(self.rungs), "proposals": proposals}
        return (
            {"base": self.base.to_json(), "vary": vary} | rest | {k: getattr(self, k) for k in own}
        )

    def run_config(self, settings: Mapping[str, Any], seed: int) -> RunConfig:
        """The run of a proposal with a seed; it ends at the last rung."""
        return load_config(self.base, dict(settings) | {"spec.seed": seed}, origin=self._origin)

    @property
    def _origin(self) -> str:
        """Return the file that games are named by: proposals are read from one too."""
        return self.source or f"the proposals of {self.name}"

    @property
    def varies_game(self) -> bool:
        """True if proposals may be of different games, whose results are not comparable."""
        return any(is_game_key(one.key) for one in self.vary)

    def game_of(self, settings: Mapping[str, Any]) -> str:
        """The game of a proposal, such as "kuhn_poker(players=3)"."""
        own = {key: value for key, value in settings.items() if is_game_key(key)}
        text = json.dumps(own, sort_keys=True)
        if text not in self.game_cache:
            config = load_config(self.base, own, origin=self._origin)
            self.game_cache[text] = get_spec(config.game)
        return self.game_cache[text]

    def game_settings(self) -> dict[str, dict[str, Any]]:
        """By game, the settings that make the base one of that game."""
        varied = [one for one in self.vary if is_game_key(one.key)]
        choices = product(*(one.choices for one in varied))
        settings = [dict(zip([one.key for one in varied], c, strict=True)) for c in choices]
        by_game: dict[str, dict[str, Any]] = {}
        for own in settings:
            by_game.setdefault(self.game_of(own), own)
        return by_game

    def base_settings(self) -> dict[str, Any] | None:
        """What the base has where settings vary, if a proposal may have that."""
        own = {one.key: setting_value(self.base, one.key) for one in self.vary}
        return own if all(one.contains(own[one.key]) for one in self.vary) else None

    def combinations(self) -> list[dict[str, Any]]:
        """Every combination of the lists, the last setting varying first."""
        keys = [one.key for one in self.vary]
        found = product(*(one.choices for one in self.vary))
        return [dict(zip(keys, values, strict=True)) for values in found]

    def num_survivors(self, num_proposals: int) -> int:
        """How many of that many proposals of one game go on to the next rung."""
        return max(1, math.ceil(self.keep * num_proposals))

    def batches(self) -> list[range]:
        """The numbers of the proposals that go through the rungs together."""
        return [
            range(first, min(first + self.batch, self.proposals))
            for first in range(0, self.proposals, self.batch)
        ]

    def total_steps(self) -> int:
        """What all runs take together, those that judge the winner included."""
        games = [""] * self.proposals
        if self.varies_game:
            games = [self.game_of(settings) for settings in self.combinations()]
        total = 2 * self.judge * self.rungs[-1] * len(set(games))
        for numbers in self.batches():
            for count in Counter(games[number] for number in numbers).values():
                left = count
                for before, rung in pairwise((0, *self.rungs)):
                    total += left * self.seeds * (rung - before)
                    left = self.num_survivors(left)
        return total


def is_game_key(key: str) -> bool:
    """True if a setting chooses the game or one of its parameters."""
    return key.split(".")[0] == "game"


def load_study(source: str | Path | Mapping[str, Any]) -> Study:
    """Read and check a study: a JSON file, or what one would hold.

    A base that is a path is looked for from the folder of the study's file. Games that the file
    names, in its base or where settings vary, run code only if the user has allowed it (see
    `trust`).
    """
    where, raw = load_json_object(source, "study", "study", StudyOutline.model_fields)
    try:
        told = StudyOutline.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        raise ConfigError(f"{where}: {_describe_error(error.errors(include_url=False))}") from None
    try:
        return _build_study(told, "" if isinstance(source, Mapping) else str(source))
    except TrustError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _build_study(outline: StudyOutline, source: str) -> Study:
    base = _base(outline.base, source)
    if base.arena == "rules":
        raise ConfigError("base.arena is rules: a study ranks by exact exploitability, not there")
    rungs = tuple(outline.rungs) or (base.max_steps,)
    if any(b <= a for a, b in pairwise((0, *rungs))):
        raise ConfigError(f"rungs is {list(rungs)}, must be growing numbers from 1 on")
    if outline.budget is not None and rungs[-1] > outline.budget:
        raise ConfigError(f"rung {rungs[-1]:,} is beyond the budget of {outline.budget:,} steps")
    base = base.with_max_steps(rungs[-1])
    if not outline.vary:
        raise ConfigError("vary is empty; name at least one setting")
    vary = tuple(_build_dimension(base, key, given, source) for key, given in outline.vary.items())
    grid = outline.proposals is None
    if grid and (endless := [one.key for one in vary if not one.choices]):
        raise ConfigError(f"proposals: missing key, because {endless[0]} is a range without count")
    if not grid and (games := [one.key for one in vary if is_game_key(one.key)]):
        raise ConfigError(
            f"vary.{games[0]}: results of different games cannot be compared, so proposals are not "
            "searched for; leave out proposals, and all combinations are tried for each game"
        )
    proposals = outline.proposals or math.prod(len(one.choices) for one in vary)
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
        batch=min(outline.batch or (proposals if grid else 16), proposals),
        rungs=rungs,
        keep=outline.keep,
        judge=outline.judge,
        seed=outline.seed,
        budget=outline.budget,
        policy=outline.policy,
        is_grid=grid,
        source=source,
    )
    if study.budget is not None and study.total_steps() > study.budget:
        raise ConfigError(
            f"the study takes {study.total_steps():,} steps, beyond its budget of "
            f"{study.budget:,}; fewer proposals, seeds or rungs take less"
        )
    return study


def _base(base: str | dict[str, Any], source: str) -> RunConfig:
    """The config that settings are varied of; `source` is the study's file, if it has one."""
    if isinstance(base, dict):
        folder = Path(source).parent if source else None
        return load_config(base, origin=source or None, folder=folder)
    path = Path(source).parent / base
    harmless = not Path(base).is_absolute() and path.suffix == ".json" and path.is_file()
    if source and path.exists() and not harmless:
        check_file(path, source)
    return load_config(path)


def _build_dimension(base: RunConfig, key: str, raw_dimension: Any, source: str) -> SearchDimension:
    """A setting whose extremes, or all of whose values, the config takes."""
    where = f"vary.{key}"
    if key.split(".")[-1] in ("seed", "max_steps", "evaluate_every", "checkpoint_every", "name"):
        raise ConfigError(f"{where}: not a setting of the method; leave it out")
    found = _check_dimension(where, raw_dimension) if isinstance(raw_dimension, dict) else None
    if found is None:
        raise ConfigError(
            f"{where} is {json.dumps(raw_dimension)[:60]}, must be an object with {DIMENSION_FORMS}"
        )
    values: tuple[Any, ...] = ()
    whole = False
    if "low" in found:
        low, high, log = found["low"], found["high"], found.get("log", False)
        whole = _is_integer_setting(base, key, where, low, source)
        if "count" in found:
            values = _grid_points(where, low, high, log, whole, found["count"])
    else:
        low, high, log, values = 0.0, 0.0, False, tuple(found.get("choices", found.get("grid", ())))
    for value in values or (low, high):
        _override_setting(base, key, value, source)
    return SearchDimension(key, low, high, log, whole, values)


def _override_setting(base: RunConfig, key: str, value: Any, source: str) -> RunConfig:
    """The base with one setting changed."""
    try:
        return load_config(base, {key: value}, origin=source or None)
    except TrustError:
        raise
    except ConfigError as error:
        text = str(error).removeprefix("config: ")
        raise ConfigError(f"vary.{key}: {text}") from error


def _check_dimension(where: str, raw_dimension: dict[str, Any]) -> dict[str, Any] | None:
    """What was given if it is a good range or list; None if it is neither."""
    keys = set(raw_dimension)
    for key in keys - {"low", "high", "log", "count", "choices", "grid"}:
        near = suggestion(key, ("low", "high", "log", "count", "choices", "grid"))
        raise ConfigError(f"{where}.{key}: unknown key{near} (a setting has {DIMENSION_FORMS})")
    if keys in ({"choices"}, {"grid"}):
        values = next(iter(raw_dimension.values()))
        if not isinstance(values, list) or not values:
            raise ConfigError(f"{where}: {json.dumps(values)[:40]} is no list, or an empty one")
        return raw_dimension
    if not {"low", "high"} <= keys or keys & {"choices", "grid"}:
        return None
    low, high, log = raw_dimension["low"], raw_dimension["high"], raw_dimension.get("log", False)
    for name, value in (("low", low), ("high", high)):
        if isinstance(value, bool) or not isinstance(value, (int, float)) or math.isinf(value):
            raise ConfigError(f"{where}.{name} is {json.dumps(value)[:40]}, must be a number")
    if not low < high:
        raise ConfigError(f"{where}: the range from {low} to {high} is empty")
    if not isinstance(log, bool):
        raise ConfigError(f"{where}.log is {json.dumps(log)[:40]}, must be true or false")
    if log and low <= 0:
        raise ConfigError(f"{where}: a range with log begins above 0, not at {low}")
    return raw_dimension


def setting_value(config: RunConfig, key: str) -> Any:
    """A setting of a config, by its path or its own name; None if there is none."""
    path = key.split(".")
    if len(path) == 1:
        path = ["networks" if key.endswith("hidden_sizes") else "spec", key]
    value: Any = config.to_json()
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _is_integer_setting(base: RunConfig, key: str, where: str, low: Any, source: str) -> bool:
    """Whether the setting is a whole number in the base; `ConfigError` if it is no number."""
    value = setting_value(_override_setting(base, key, low, source), key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ConfigError(f"{where}: not a number, so it has choices instead of low and high")
    return isinstance(value, int)


def _grid_points(
    where: str, low: Any, high: Any, log: bool, is_integer: bool, count: Any
) -> tuple[Any, ...]:
    if isinstance(count, bool) or not isinstance(count, int) or not 2 <= count <= MAX_PROPOSALS:
        raise ConfigError(f"{where}.count is {json.dumps(count)[:40]}, must be at least 2")
    spread = np.geomspace(low, high, count) if log else np.linspace(low, high, count)
    found = [round(x) for x in spread.tolist()] if is_integer else spread.tolist()
    return tuple(dict.fromkeys(found))


def _describe_error(errors: list[Any]) -> str:
    error = sorted(errors, key=lambda one: one["type"] != "extra_forbidden")[0]
    name, kind, context = ".".join(map(str, error["loc"])), error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return f"{name}: unknown key{suggestion(name, StudyOutline.model_fields)}"
    if kind == "missing":
        return f"{name}: missing key"
    wanted = {
        "greater_than_equal": "at least",
        "less_than_equal": "at most",
        "greater_than": "above",
    }
    bound = context.get("ge", context.get("le", context.get("gt")))
    must = (
        f"{wanted[kind]} {bound}"
        if kind in wanted
        else EXPECTED_BY_ERROR_TYPE.get(kind, error["msg"])
    )
    return f"{name} is {json.dumps(error['input'])[:60]}, must be {must}"
