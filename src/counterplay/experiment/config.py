"""What a run is told: one JSON object, checked key by key.

The keys of `networks` and `spec` are the fields of the algorithm's class, those of `game.params`
the fields of the game's class: names, types and defaults stand there and nowhere else.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from counterplay.core.game import Game
from counterplay.core.renamed_parameters import suggest_parameter
from counterplay.core.trust import TrustError, load_game_from_file
from counterplay.errors import ConfigError, CounterplayError, suggestion
from counterplay.registry import (
    ALGORITHMS,
    GAMES,
    get_spec,
    import_registered,
    is_external_game,
    load_algorithm,
    load_game,
    parse_spec,
)

RUN_NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]*"  # of a run: it names a folder
GAME_FILE = r"\s*([^()]+\.(?:efg|nfg|json|csv|py))(?:\s*$|:)"  # a game that is a file, and its path
EXPECTED_BY_ERROR_TYPE = {  # pydantic's name of an error -> what the value must be
    "int_type": "an integer",
    "int_from_float": "an integer",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a string",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "string_pattern_mismatch": "letters, digits and any of _ . - (it names a folder)",
}


class ConfigSection(BaseModel):
    """Unknown keys and wrong types are errors; an integer may stand for a number."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


class RunSection(ConfigSection):
    """The part of `spec` that is the same for every algorithm."""

    max_steps: int = Field(ge=1)
    seed: int = Field(0, ge=0, lt=2**63)
    evaluate_every: int = Field(250, ge=1)
    checkpoint_every: int = Field(25_000, ge=1)


class GameSection(ConfigSection):
    name: str
    params: dict[str, Any] = {}


class ConfigOutline(ConfigSection):
    """The sections, before it is known which algorithm and game fill them."""

    name: str = Field(pattern=f"^{RUN_NAME_PATTERN}$")
    algorithm: str
    game: GameSection
    arena: Literal["tree", "rules", "generated"] = "tree"  # the last two: never unrolled
    networks: dict[str, Any] = {}
    spec: dict[str, Any] = {}
    device: Literal["cpu", "gpu", "tpu"] = "cpu"


@dataclass(frozen=True)
class RunConfig:
    """One algorithm, game and seed, and how long to run; `load_config` makes it."""

    name: str
    algorithm_name: str
    algorithm: Any
    game_name: str
    game: Game
    max_steps: int
    seed: int = 0
    evaluate_every: int = 250
    checkpoint_every: int = 25_000
    device: str = "cpu"
    arena: str = "tree"

    def to_json(self) -> dict[str, Any]:
        """The complete object, every default spelled out; `load_config` reads it back."""
        values = _field_values(self.algorithm)
        networks = network_fields(type(self.algorithm))
        own = {name: getattr(self, name) for name in RunSection.model_fields}
        rest = {key: value for key, value in values.items() if key not in networks}
        return {
            "name": self.name,
            "algorithm": self.algorithm_name,
            "game": {"name": self.game_name, "params": self._game_params()},
            "arena": self.arena,
            "networks": {key: values[key] for key in networks},
            "spec": own | rest,
            "device": self.device,
        }

    def _game_params(self) -> dict[str, Any]:
        """Those of a registered game; others have them in their name."""
        return _field_values(self.game) if self.game_name in GAMES else {}

    def with_max_steps(self, max_steps: int) -> RunConfig:
        """The same run, longer or shorter."""
        return replace(self, max_steps=max_steps)


def load_config(
    source: str | Path | Mapping[str, Any] | RunConfig,
    overrides: Mapping[str, Any] | None = None,
    *,
    origin: str | Path | None = None,
    folder: Path | None = None,
) -> RunConfig:
    """Read and check a config: a JSON file, or what one would hold.

    A game that is a file, such as `"game": "rules.efg"` or `"game": "rules.py:Duel"`, is looked for
    from the folder of the config file.

    Args:
        source: The file or the values. A game that a file names runs code only if the user has
            allowed it (see `trust`); values that are given in Python are taken as the user's own.
        overrides: Keys and their values: `epsilon`, or in full `spec.epsilon`,
            `game.params.players`. A game named here is the user's own too.
        origin: The data file that `source` and `overrides` were read from, if they were: then
            the game in them is treated as one that a file names.
        folder: Where to look for the game's file if `source` is an object.
    """
    typed = {"game", "game.name"} & set(overrides or {}) or isinstance(source, (Mapping, RunConfig))
    if origin is None and not typed:
        assert not isinstance(source, (Mapping, RunConfig))
        origin = source
    if isinstance(source, RunConfig):
        source = source.to_json()
    if not isinstance(source, Mapping):
        folder = Path(source).parent
    where, raw = load_json_object(source, "config", "run", ConfigOutline.model_fields)
    if folder is not None:
        _locate_game(raw, folder)
    for key, value in (overrides or {}).items():
        _set_key(where, raw, key, _parse_json(where, _dump_json(where, value)))
    _expand_short_forms(where, raw)
    outline = _validate(where, ConfigOutline, raw)
    algorithm = _load_class(where, "algorithm", ALGORITHMS, outline.algorithm)
    game = None
    if not is_external_game(outline.game.name):
        game = _load_class(where, "game", GAMES, outline.game.name, "game.name")
    return _build_config(where, _validate(where, _build_model(algorithm, game), raw), origin)


def load_json_object(
    source: str | Path | Mapping[str, Any], kind: str, default_name: str, keys: Iterable[str]
) -> tuple[str, dict[str, Any]]:
    """What errors call it, and the object that a JSON file holds, or would hold.

    Without a name of its own it has that of the file.
    """
    if isinstance(source, Mapping):
        where, raw, stem = kind, _parse_json(kind, _dump_json(kind, source)), default_name
    else:
        path = Path(source)
        where, raw, stem = str(source), _parse_json(str(source), _read_file(path)), path.stem
    if not isinstance(raw, dict):
        raise ConfigError(f"{where}: must be an object with the keys {_join_names(keys)}")
    raw.setdefault("name", re.sub(r"[^A-Za-z0-9_.-]", "_", stem).lstrip("._-") or default_name)
    return where, raw


def _expand_short_forms(where: str, raw: dict[str, Any]) -> None:
    """Write out the short forms: "game": "kuhn_poker(players=3)", "algorithm": "dcfr(gamma=3)"."""
    try:
        if isinstance(raw.get("game"), str):
            raw["game"] = {"name": raw["game"]}
        game: Any = raw.get("game")
        spec = game.get("name") if isinstance(game, dict) else None
        if isinstance(spec, str) and "(" in spec and not is_external_game(spec):
            name, given = parse_spec("game", spec)
            raw["game"] = game | {"name": name, "params": given | game.get("params", {})}
        if isinstance(raw.get("algorithm"), str):
            raw["algorithm"], given = parse_spec("algorithm", raw["algorithm"])
            for key, value in given.items():
                _set_key(where, raw, key, value)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _locate_game(raw: dict[str, Any], folder: Path) -> None:
    """Make the path of a game's file one from the folder of the config, if there is such a file.

    Otherwise it stays as it is: configs in the folders of older runs hold paths from where the run
    was started.
    """
    game = raw.get("game")
    spec = game.get("name") if isinstance(game, dict) else game
    if not isinstance(spec, str) or not (match := re.match(GAME_FILE, spec, re.DOTALL)):
        return
    path = folder / match[1]
    if not os.path.isabs(match[1]) and path.is_file():
        located = str(path.resolve()) + spec[match.end(1) :]
        raw["game"] = game | {"name": located} if isinstance(game, dict) else located


def network_fields(algorithm: type) -> tuple[str, ...]:
    """The fields of an algorithm that belong in the section `networks`: the sizes of layers."""
    return tuple(f.name for f in fields(algorithm) if f.name.endswith("hidden_sizes"))


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:  # the latter: a name with a zero byte
        raise ConfigError(f"cannot read {path}: {error}") from error


def _parse_json(where: str, text: str | bytes) -> Any:
    """What the JSON text holds; no key twice in one object, no number that is none or too large."""

    def parse_number(digits: str) -> float:
        value = float(digits) if set(digits) & set(".eE") else int(digits[:40])
        if "." not in digits and isinstance(value, float) and abs(value) < 2**53:
            value = int(value) if value.is_integer() else value  # 1e6 may be a count
        if not abs(value) < (math.inf if isinstance(value, float) else 2**63):
            raise ConfigError(f"{where}: the number {digits[:20]} is too large")
        return value

    def parse_constant(name: str) -> float:
        if name == "NaN":
            raise ConfigError(f"{where}: NaN is no number to work with")
        return float(name)

    def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise ConfigError(f"{where}: the key {key[:60]!r} stands there twice")
            found[key] = value
        return found

    try:
        return json.loads(
            text,
            parse_int=parse_number,
            parse_float=parse_number,
            parse_constant=parse_constant,
            object_pairs_hook=reject_duplicate_keys,
        )
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: not JSON: {error}") from error


def _dump_json(where: str, value: Any) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: cannot be written as JSON: {error}") from error


def _set_key(where: str, raw: dict[str, Any], key: str, value: Any) -> None:
    """Set one key of the raw object, creating its section where there is none yet."""
    path = key.split(".")
    if len(path) == 1 and key not in ConfigOutline.model_fields:
        path.insert(0, "networks" if key.endswith("hidden_sizes") else "spec")
    section = raw
    for part in path[:-1]:
        section = section.setdefault(part, {})
        if not isinstance(section, dict):
            raise ConfigError(f"{where}: cannot set {key!r}: {part!r} is no object")
    section[path[-1]] = value


def _load_class(where: str, kind: str, registry: dict[str, str], name: str, key: str = "") -> type:
    if name not in registry:
        near = suggestion(name, registry)
        text = f"unknown {kind} {name!r}{near} (counterplay {kind}s lists all)"
        raise ConfigError(f"{where}: {key or kind}: {text}")
    try:
        return import_registered(registry, name)
    except ConfigError as error:
        raise ConfigError(f"{where}: {key or kind}: {error}") from error


@lru_cache(maxsize=64)
def _build_model(algorithm: type, game: type | None) -> type[BaseModel]:
    """The outline with the fields of this algorithm and this game in its sections."""
    keys = _pydantic_fields(algorithm)
    networks = {key: keys.pop(key) for key in network_fields(algorithm)}
    parts: dict[str, type[BaseModel]] = {
        "game": GameSection,
        "networks": create_model("Networks", __base__=ConfigSection, **networks),
        "spec": create_model("Spec", __base__=RunSection, **keys),
    }
    if game is not None:
        params = create_model("Params", __base__=ConfigSection, **_pydantic_fields(game))
        parts["game"] = create_model("Game", __base__=GameSection, params=_section_field(params))
    sections: dict[str, Any] = {name: _section_field(part) for name, part in parts.items()}
    return create_model("Config", __base__=ConfigOutline, **sections)


def _pydantic_fields(cls: type) -> dict[str, Any]:
    types = get_type_hints(cls)
    return {f.name: (types[f.name], _pydantic_default(f)) for f in fields(cls)}


def _pydantic_default(field: Any) -> Any:
    if field.default_factory is not MISSING:
        return Field(default_factory=field.default_factory)
    return ... if field.default is MISSING else field.default


def _section_field(model: type[BaseModel]) -> tuple[Any, Any]:
    """A section may be left out where every key has a default."""
    needed = any(field.is_required() for field in model.model_fields.values())
    return (model, Field(default_factory=dict, validate_default=True) if needed else model())


def _validate(where: str, model: type[BaseModel], raw: dict[str, Any]) -> Any:
    try:
        return model.model_validate_json(_dump_json(where, raw))
    except ValidationError as error:
        # a mistyped key is also a missing one: the first says more
        found = sorted(
            error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden"
        )
        raise ConfigError(f"{where}: {_describe_error(model, found[0])}") from None


def _describe_error(model: type[BaseModel], error: Any) -> str:
    path, kind, context = error["loc"], error["type"], error.get("ctx", {})
    name = ".".join(map(str, path))
    if not path:  # what pydantic's own reader of JSON refuses, such as half of a surrogate pair
        return str(error["msg"])
    if kind == "extra_forbidden":
        return f"{name}: unknown key{_suggest_key(model, path)}"
    if kind == "missing":
        return f"{name}: missing key"
    wanted = {
        "literal_error": f"one of {context.get('expected')}",
        "greater_than_equal": f"at least {context.get('ge')}",
    }
    must = wanted.get(kind) or EXPECTED_BY_ERROR_TYPE.get(kind)
    value = json.dumps(error["input"])
    value = value if len(value) <= 60 else f"{value[:56]} ..."
    return f"{name} is {value}, must be {must}" if must else f"{name} is {value}: {error['msg']}"


def _suggest_key(model: type[BaseModel], path: tuple[str, ...]) -> str:
    """What may have been meant: a key of this section, or the same key of another one."""
    *above, key = path
    for other in ("networks", "spec"):
        section = model.model_fields[other].annotation
        if above != [other] and key in getattr(section, "model_fields", {}):
            return f"; it belongs in {other}"
    known: Any = model
    for part in above:
        known = known.model_fields[part].annotation
    names = list(known.model_fields)
    return (
        suggest_parameter(key, names)
        or f" ({'the keys are ' + _join_names(names) if names else 'this section takes none'})"
    )


def _build_config(where: str, checked: Any, origin: str | Path | None) -> RunConfig:
    """The config with its game and algorithm, whose classes check their ranges."""
    own = {name: getattr(checked.spec, name) for name in RunSection.model_fields}
    given = _section_values(checked.networks) | _section_values(checked.spec)
    given = {key: value for key, value in given.items() if key not in own}
    try:
        algorithm = load_algorithm(checked.algorithm, **given)
    except ConfigError as error:
        networks = type(checked.networks).model_fields
        raise ConfigError(_locate_error(where, checked.algorithm, networks, error)) from error
    try:
        params = checked.game.params
        given = _tuples_from_lists(params) if isinstance(params, dict) else _section_values(params)
        name = checked.game.name
        if origin is None:
            game = load_game(name, **given)
        else:
            game = load_game_from_file(name, origin, **given)
    except TrustError:
        raise
    except CounterplayError as error:
        raise ConfigError(f"{where}: game.params: {error}") from error
    name = get_spec(game).partition("(")[0]
    return RunConfig(
        name=checked.name,
        algorithm_name=checked.algorithm,
        algorithm=algorithm,
        game_name=name if name in GAMES else get_spec(game),
        game=game,
        device=checked.device,
        arena=checked.arena,
        **own,
    )


def _locate_error(where: str, algorithm: str, networks: Iterable[str], error: ConfigError) -> str:
    """The message of an algorithm about one of its fields, with the key's full path."""
    match = re.match(rf"{algorithm}: (\w+) (.*)", str(error), re.DOTALL)
    if not match:
        return f"{where}: spec: {error}"
    section = "networks" if match[1] in networks else "spec"
    return f"{where}: {section}.{match[1]} {match[2]}"


def _section_values(section: BaseModel) -> dict[str, Any]:
    return {name: _tuples_from_lists(getattr(section, name)) for name in type(section).model_fields}


def _tuples_from_lists(json_value: Any) -> Any:
    """JSON's lists as tuples, at any depth."""
    if isinstance(json_value, dict):
        return {key: _tuples_from_lists(inside) for key, inside in json_value.items()}
    return (
        tuple(map(_tuples_from_lists, json_value))
        if isinstance(json_value, (list, tuple))
        else json_value
    )


def _field_values(instance: Any) -> dict[str, Any]:
    return {f.name: json.loads(json.dumps(getattr(instance, f.name))) for f in fields(instance)}


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names)
