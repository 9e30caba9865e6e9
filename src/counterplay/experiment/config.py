"""Configs of runs: JSON objects that are checked key by key.

The keys of `networks` and `spec` are the fields of the algorithm's class, and those of
`game.params` are the fields of the game's class, which alone define names, types and defaults.
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
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from counterplay.core.game import Game
from counterplay.core.renamed_parameters import suggest_parameter
from counterplay.core.trust import TrustError, check_code, load_game_from_file
from counterplay.errors import ConfigError, CounterplayError, suggestion
from counterplay.registry import (
    ABSTRACTIONS,
    ALGORITHMS,
    GAMES,
    KINDS_WITH_COMMAND,
    USER_ALGORITHM_CLASS_LOADER,
    get_registry_name,
    get_spec,
    import_registered,
    is_external_game,
    is_user_class,
    load_abstraction,
    load_algorithm,
    load_algorithm_unchecked,
    load_game,
    parse_spec,
    register_entry_points,
    resolve_name,
    split_abstraction,
)

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

JsonObject = dict[str, Any]  # a JSON object before, or instead of, its validation
Model = TypeVar("Model", bound=BaseModel)
Origin = str | Path | None  # the data file that names code; None if the user names it

RUN_NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.-]*"  # names of runs are names of folders
GAME_FILE = r"\s*([^()]+\.(?:efg|nfg|json|csv|py))(?:\s*$|:)"  # spec of a game in a file; its path
EXPECTED_BY_ERROR_TYPE = {  # type of a pydantic error -> expected value
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
BOUND_WORDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}  # by constraint
MAX_SHOWN_CHARACTERS = 60  # of a wrong value in an error


class ConfigSection(BaseModel):
    """A section in which unknown keys and wrong types are errors; an integer may be a number."""

    model_config = ConfigDict(extra="forbid", strict=True, protected_namespaces=())


class RunSection(ConfigSection):
    """The keys of `spec` that all algorithms share."""

    max_steps: int = Field(ge=1)
    seed: int = Field(0, ge=0, lt=2**63)
    evaluate_every: int = Field(250, ge=1)
    checkpoint_every: int = Field(25_000, ge=1)


class GameSection(ConfigSection):
    """The game and its parameters."""

    name: str
    params: JsonObject = {}


class AbstractionSection(ConfigSection):
    """The rule that merges infosets, and its parameters."""

    name: str
    params: JsonObject = {}


class ConfigOutline(ConfigSection):
    """The sections of a config, before the keys of its algorithm and game are known."""

    name: str = Field(pattern=f"^{RUN_NAME_PATTERN}$")
    algorithm: str
    game: GameSection
    abstraction: AbstractionSection | None = None  # the algorithm runs on the smaller game
    arena: Literal["tree", "rules", "generated"] = "tree"  # the last two build no tree
    networks: JsonObject = {}
    spec: JsonObject = {}
    device: Literal["cpu", "gpu", "tpu"] = "cpu"


@dataclass(frozen=True)
class RunConfig:
    """A checked config: an algorithm, a game, a seed and the length of the run."""

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
    abstraction: Any = None

    def to_json(self) -> JsonObject:
        """Return the config with all defaults, as `load_config` reads it."""
        values = _field_values(self.algorithm)
        networks = network_fields(type(self.algorithm))
        run_values = {name: getattr(self, name) for name in RunSection.model_fields}
        parameters = {key: value for key, value in values.items() if key not in networks}
        return {
            "name": self.name,
            "algorithm": self.algorithm_name,
            "game": {"name": self.game_name, "params": self._game_params()},
            **({"abstraction": self._abstraction_section()} if self.abstraction else {}),
            "arena": self.arena,
            "networks": {key: values[key] for key in networks},
            "spec": run_values | parameters,
            "device": self.device,
        }

    def _game_params(self) -> JsonObject:
        """Return the parameters of a registered game; other games have them in their name."""
        return _field_values(self.game) if self.game_name in GAMES else {}

    def _abstraction_section(self) -> JsonObject:
        name = get_registry_name(self.abstraction)
        return {"name": name, "params": _field_values(self.abstraction)}

    def with_max_steps(self, max_steps: int) -> RunConfig:
        """Return the config with another `max_steps`."""
        return replace(self, max_steps=max_steps)


def load_config(
    source: str | Path | Mapping[str, Any] | RunConfig,
    overrides: Mapping[str, Any] | None = None,
    *,
    origin: str | Path | None = None,
    folder: Path | None = None,
) -> RunConfig:
    """Read and check a config: a JSON file, or its content.

    The path of a game's file, such as `"game": "rules.efg"` or `"game": "rules.py:Duel"`, is
    relative to the folder of the config file.

    Args:
        source: the file, or its content. A game that a file names runs code only if the user has
            allowed it (see `core.trust`); content from Python is taken as the user's own.
        overrides: values by key, such as `epsilon`, or in full `spec.epsilon` or
            `game.params.players`. A game named here is the user's own, too.
        origin: the data file from which `source` and `overrides` were read, if any; then their
            game is treated as one that a file names.
        folder: the folder of the game's file if `source` is not a file.

    Raises:
        ConfigError: the config is wrong; the message names the key and the expected value.
        TrustError: the game needs code that the user has not allowed.
    """
    overridden = set(overrides or {})
    game_origin = algorithm_origin = origin
    if origin is None and not isinstance(source, (Mapping, RunConfig)):
        game_origin = None if {"game", "game.name"} & overridden else source
        algorithm_origin = None if "algorithm" in overridden else source
    if isinstance(source, RunConfig):
        source = source.to_json()
    if not isinstance(source, Mapping):
        folder = Path(source).parent
    where, raw = load_json_object(source, "config", "run", ConfigOutline.model_fields)
    if folder is not None:
        _locate_game(raw, folder)
        _locate_algorithm(raw, folder)
    for key, value in (overrides or {}).items():
        _set_key(where, raw, key, _parse_json(where, _dump_json(where, value)))
    _expand_short_forms(where, raw)
    outline = validate(where, ConfigOutline, raw)
    algorithm = _load_algorithm_class(where, outline.algorithm, algorithm_origin)
    game = None
    if not is_external_game(outline.game.name):
        game = _load_class(where, "game", GAMES, outline.game.name, "game.name")
    rule = None
    if outline.abstraction is not None:
        rule = _load_class(where, "abstraction", ABSTRACTIONS, outline.abstraction.name)
    checked = validate(where, _build_model(algorithm, game, rule), raw)
    return _build_config(where, checked, game_origin, algorithm_origin)


def load_json_object(
    source: str | Path | Mapping[str, Any], kind: str, default_name: str, keys: Iterable[str]
) -> tuple[str, JsonObject]:
    """Return a label for errors, and the JSON object of a file or a copy of a mapping.

    An object without the key `name` gets the name of its file, or the default.

    Raises:
        ConfigError: the file cannot be read, or is not a JSON object.
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


def _expand_short_forms(where: str, raw: JsonObject) -> None:
    """Expand the specs in "game": "kuhn_poker(players=3)" and "algorithm": "dcfr(gamma=3)".

    "game": "leduc_poker with by_rank" is the same as "abstraction": "by_rank" beside the game.
    """
    try:
        if isinstance(raw.get("game"), str):
            raw["game"] = {"name": raw["game"]}
        _expand_abstraction(raw)
        game: Any = raw.get("game")
        spec = game.get("name") if isinstance(game, dict) else None
        if isinstance(spec, str) and "(" in spec and not is_external_game(spec):
            name, params = parse_spec("game", spec)
            more = game.get("params", {})  # refused later unless it is an object
            raw["game"] = game | {
                "name": name,
                "params": params | more if isinstance(more, dict) else more,
            }
        if isinstance(raw.get("algorithm"), str):
            raw["algorithm"], params = _split_algorithm(raw["algorithm"])
            for key, value in params.items():
                _set_key(where, raw, key, value)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error


def _split_algorithm(spec: str) -> tuple[str, JsonObject]:
    """Return the name or `file.py:Class` of an algorithm, and its parameters."""
    if not is_user_class(spec):
        return parse_spec("algorithm", spec)
    head, bracket, inside = spec.partition("(")
    return head.strip(), parse_spec("algorithm", "algorithm" + bracket + inside)[1]


def _locate_algorithm(raw: JsonObject, folder: Path) -> None:
    """Make the path of an algorithm's file absolute if it exists relative to the folder."""
    spec = raw.get("algorithm")
    if not isinstance(spec, str) or not is_user_class(spec):
        return
    match = re.match(GAME_FILE, spec, re.DOTALL)
    if match and not os.path.isabs(match[1]) and (folder / match[1]).is_file():
        raw["algorithm"] = str((folder / match[1]).resolve()) + spec[match.end(1) :]


def _expand_abstraction(raw: JsonObject) -> None:
    """Expand the spec of an abstraction, which may also follow the name of the game."""
    game: Any = raw.get("game")
    if isinstance(game, dict) and isinstance(game.get("name"), str):
        name, abstraction = split_abstraction(game["name"])
        if abstraction and raw.get("abstraction") is not None:
            raise ConfigError(f"game names {abstraction}, and abstraction another; leave out one")
        if abstraction:
            raw["game"], raw["abstraction"] = game | {"name": name}, abstraction
    if isinstance(raw.get("abstraction"), str):
        name, params = parse_spec("abstraction", raw["abstraction"])
        raw["abstraction"] = {"name": resolve_name(ABSTRACTIONS, name), "params": params}


def _locate_game(raw: JsonObject, folder: Path) -> None:
    """Make the path of a game's file absolute if it exists relative to the config's folder.

    Otherwise the path stays as it is: configs of older runs have paths relative to the folder from
    which the run was started.
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
    """Return the fields of an algorithm for the section `networks`: the sizes of layers."""
    return tuple(f.name for f in fields(algorithm) if f.name.endswith("hidden_sizes"))


def _read_file(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ConfigError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        raise ConfigError(f"cannot read {path}: {error}") from error


def _parse_json(where: str, text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ConfigError: it is not JSON, has a key twice in one object, or a number that is NaN or too
            large.
    """

    def parse_number(digits: str) -> float:
        value = float(digits) if set(digits) & set(".eE") else int(digits[:40])
        if "." not in digits and isinstance(value, float) and abs(value) < 2**53:
            value = int(value) if value.is_integer() else value  # 1e6 may be a count
        if not abs(value) < (math.inf if isinstance(value, float) else 2**63):
            raise ConfigError(f"{where}: the number {digits[:20]} is too large")
        return value

    def parse_constant(name: str) -> float:
        if name == "NaN":
            raise ConfigError(f"{where}: NaN is not allowed")
        return float(name)

    def reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> JsonObject:
        unique: JsonObject = {}
        for key, value in pairs:
            if key in unique:
                raise ConfigError(f"{where}: the key {key[:60]!r} occurs twice")
            unique[key] = value
        return unique

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


def _dump_json(where: str, value: object) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: cannot be written as JSON: {error}") from error


def key_path(key: str) -> list[str]:
    """Return the sections and the name of a key, such as ["spec", "epsilon"] for "epsilon"."""
    path = key.split(".")
    if len(path) == 1 and key not in ConfigOutline.model_fields:
        path.insert(0, "networks" if key.endswith("hidden_sizes") else "spec")
    return path


def _set_key(where: str, raw: JsonObject, key: str, value: object) -> None:
    """Set a key of a config, creating its section if necessary."""
    path = key_path(key)
    section = raw
    for part in path[:-1]:
        if section.get(part) is None:
            section[part] = {}
        section = section[part]
        if not isinstance(section, dict):
            raise ConfigError(f"{where}: cannot set {key!r}: {part!r} is not an object")
    section[path[-1]] = value


def _load_class(where: str, kind: str, registry: dict[str, str], name: str, key: str = "") -> type:
    if name not in registry:
        register_entry_points()
    if name not in registry:
        near = suggestion(name, registry)
        known = f"counterplay {kind}s lists all" if kind in KINDS_WITH_COMMAND else ""
        text = f"unknown {kind} {name!r}{near} ({known or 'known: ' + _join_names(registry)})"
        raise ConfigError(f"{where}: {key or kind}: {text}")
    try:
        return import_registered(registry, name)
    except ConfigError as error:
        raise ConfigError(f"{where}: {key or kind}: {error}") from error


def _load_algorithm_class(where: str, name: str, origin: Origin) -> type:
    """Return the class of a registered algorithm, or of a user's, whose code must be allowed."""
    if not is_user_class(name):
        return _load_class(where, "algorithm", ALGORITHMS, name)
    if origin is not None:
        check_code(name, origin)
    try:
        return import_registered({"": USER_ALGORITHM_CLASS_LOADER}, "")(name)
    except TrustError:
        raise
    except ConfigError as error:
        raise ConfigError(f"{where}: algorithm: {error}") from error


@lru_cache(maxsize=64)
def _build_model(algorithm: type, game: type | None, abstraction: type | None) -> type[BaseModel]:
    """Return the model of configs with this algorithm, registered game and abstraction."""
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
    if abstraction is not None:
        params = create_model("Params", __base__=ConfigSection, **_pydantic_fields(abstraction))
        parts["abstraction"] = create_model(
            "Abstraction", __base__=AbstractionSection, params=_section_field(params)
        )
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
    """Return the type and default of a section, which may be missing if all keys have defaults."""
    is_required = any(field.is_required() for field in model.model_fields.values())
    return (model, Field(default_factory=dict, validate_default=True) if is_required else model())


def validate(where: str, model: type[Model], raw: JsonObject) -> Model:
    """Check a JSON object against a model.

    Raises:
        ConfigError: it does not fit; the message begins with `where` and names the key.
    """
    try:
        return model.model_validate_json(_dump_json(where, raw))
    except ValidationError as error:
        # a mistyped key is unknown and another one missing: the first is more helpful
        errors = sorted(
            error.errors(include_url=False),
            key=lambda details: details["type"] != "extra_forbidden",
        )
        raise ConfigError(f"{where}: {_describe_error(model, errors[0])}") from None


def _describe_error(model: type[BaseModel], error: ErrorDetails) -> str:
    path, kind, context = error["loc"], error["type"], error.get("ctx", {})
    name = ".".join(map(str, path))
    if not path:  # a text that pydantic's reader of JSON refuses, such as half a surrogate pair
        return str(error["msg"])
    if kind == "extra_forbidden":
        return f"{name}: unknown key{_suggest_key(model, path)}"
    if kind == "missing":
        return f"{name}: missing key"
    expected = EXPECTED_BY_ERROR_TYPE.get(kind)
    if kind == "literal_error":
        expected = f"one of {context['expected']}"
    for constraint, words in BOUND_WORDS.items():
        if constraint in context:
            expected = f"{words} {context[constraint]}"
    value = json.dumps(error["input"])
    if len(value) > MAX_SHOWN_CHARACTERS:
        value = f"{value[: MAX_SHOWN_CHARACTERS - 4]} ..."
    return f"{name} is {value}" + (f", must be {expected}" if expected else f": {error['msg']}")


def _suggest_key(model: type[BaseModel], path: tuple[int | str, ...]) -> str:
    """Return a hint for an unknown key: a similar one, the right section, or the known keys."""
    *sections, key = map(str, path)
    for other in ("networks", "spec"):
        if sections != [other] and key in _model_keys(model, [other]):
            return f"; it belongs in {other}"
    names = _model_keys(model, sections)
    return (
        suggest_parameter(key, names)
        or f" ({'the keys are ' + _join_names(names) if names else 'this section takes none'})"
    )


def _model_keys(model: type[BaseModel], sections: list[str]) -> list[str]:
    """Return the keys of a section, given by the names of the sections down to it."""
    annotation: Any = model
    for section in sections:
        fields_ = getattr(annotation, "model_fields", {})
        annotation = fields_[section].annotation if section in fields_ else None
    return list(getattr(annotation, "model_fields", {}))


def _build_config(
    where: str, checked: Any, game_origin: Origin, algorithm_origin: Origin
) -> RunConfig:
    """Return the config with its game and algorithm, whose classes check bounds and relations."""
    run_values = {name: getattr(checked.spec, name) for name in RunSection.model_fields}
    parameters = _section_values(checked.networks) | _section_values(checked.spec)
    parameters = {key: value for key, value in parameters.items() if key not in run_values}
    try:
        load = load_algorithm if algorithm_origin is None else load_algorithm_unchecked
        algorithm = load(checked.algorithm, **parameters)
        if hasattr(algorithm, "with_schedule"):
            algorithm = algorithm.with_schedule(run_values["max_steps"])
    except ConfigError as error:
        networks = type(checked.networks).model_fields
        raise ConfigError(_locate_error(where, checked.algorithm, networks, error)) from error
    abstraction = _build_abstraction(where, checked)
    try:
        params = checked.game.params
        values = _tuples_from_lists(params) if isinstance(params, dict) else _section_values(params)
        name = checked.game.name
        if game_origin is None:
            game = load_game(name, **values)
        else:
            game = load_game_from_file(name, game_origin, **values)
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
        abstraction=abstraction,
        **run_values,
    )


def _build_abstraction(where: str, checked: Any) -> Any:
    """Return the abstraction of a checked config, or None.

    Raises:
        ConfigError: a parameter is wrong, or the abstraction does not exist for the arena.
    """
    if checked.abstraction is None:
        return None
    name = checked.abstraction.name
    try:
        abstraction = load_abstraction(name, **_section_values(checked.abstraction.params))
    except ConfigError as error:
        raise ConfigError(f"{where}: abstraction.params: {error}") from error
    if checked.arena not in abstraction.runs_on:
        kinds = " or ".join(abstraction.runs_on)
        problem = f"abstraction {name} is for the arena {kinds}, not {checked.arena}"
        raise ConfigError(f"{where}: {problem}")
    return abstraction


def _locate_error(where: str, algorithm: str, networks: Iterable[str], error: ConfigError) -> str:
    """Return the message of an algorithm's error, with the full path of the key in it."""
    name = re.escape(algorithm.rpartition(":")[2])
    match = re.match(rf"{name}: (\w+) (.*)", str(error), re.DOTALL)
    if not match:
        return f"{where}: spec: {error}"
    section = "networks" if match[1] in networks else "spec"
    return f"{where}: {section}.{match[1]} {match[2]}"


def _section_values(section: BaseModel) -> JsonObject:
    return {name: _tuples_from_lists(getattr(section, name)) for name in type(section).model_fields}


def _tuples_from_lists(json_value: Any) -> Any:
    """Replace lists by tuples, at any depth."""
    if isinstance(json_value, dict):
        return {key: _tuples_from_lists(value) for key, value in json_value.items()}
    return (
        tuple(map(_tuples_from_lists, json_value))
        if isinstance(json_value, (list, tuple))
        else json_value
    )


def _field_values(instance: Any) -> JsonObject:
    return {f.name: json.loads(json.dumps(getattr(instance, f.name))) for f in fields(instance)}


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names)
