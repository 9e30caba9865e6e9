"""Games and algorithms by name: plain dicts from the name to where the class stands."""

from __future__ import annotations

import ast
import importlib
import re
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from counterplay.errors import ConfigError, suggestion
from counterplay.game import Game

GAMES = {
    "battle_of_the_sexes": "counterplay.games.battle_of_the_sexes:BattleOfTheSexes",
    "goofspiel": "counterplay.games.goofspiel:Goofspiel",
    "grid_duel": "counterplay.games.grid_duel:GridDuel",
    "king_ace_poker": "counterplay.games.king_ace_poker:KingAcePoker",
    "kuhn_poker": "counterplay.games.kuhn_poker:KuhnPoker",
    "leduc_poker": "counterplay.games.leduc_poker:LeducPoker",
    "liars_dice": "counterplay.games.liars_dice:LiarsDice",
    "matrix_game": "counterplay.games.matrix_game:MatrixGame",
    "rock_paper_scissors": "counterplay.games.rock_paper_scissors:RockPaperScissors",
    "tic_tac_toe": "counterplay.games.tic_tac_toe:TicTacToe",
}

ALGORITHMS = {
    "cfr": "counterplay.tabular.cfr:CFR",
    "cfr_br": "counterplay.tabular.cfr_br:CFRBR",
    "cfr_hedge": "counterplay.tabular.cfr_hedge:CFRHedge",
    "cfr_plus": "counterplay.tabular.cfr_plus:CFRPlus",
    "dcfr": "counterplay.tabular.dcfr:DCFR",
    "deep_hedge": "counterplay.deep.deep_hedge:DeepHedge",
    "linear_cfr": "counterplay.tabular.linear_cfr:LinearCFR",
    "pcfr_plus": "counterplay.tabular.pcfr_plus:PCFRPlus",
    "pdcfr_plus": "counterplay.tabular.pdcfr_plus:PDCFRPlus",
    "sequence_form_lp": "counterplay.tabular.sequence_form_lp:SequenceFormLP",
}

SOURCES = {  # games from elsewhere, by how the spec begins or how a file name ends
    "openspiel:": "counterplay.interop.openspiel:load",
    ".efg": "counterplay.interop.files:load",
    ".nfg": "counterplay.interop.files:load",
    ".json": "counterplay.interop.files:load",
}


def load_game(spec: str, **parameters: Any) -> Game:
    """The game of that name, such as `leduc_poker` or `kuhn_poker(players=3)`.

    Also games from elsewhere: `openspiel:leduc_poker`, or the name of an `.efg`, `.nfg` or `.json`
    file.
    """
    for mark in SOURCES:
        if spec.strip().startswith(mark) or spec.strip().endswith(mark):
            return find_class(SOURCES, mark)(spec.strip(), **parameters)
    return _load("game", GAMES, spec, parameters)


def load_algorithm(spec: str, **parameters: Any) -> Any:
    """The algorithm of that name, such as `cfr_plus` or `dcfr(alpha=1.5, gamma=2)`."""
    return _load("algorithm", ALGORITHMS, spec, parameters)


def find_class(registry: dict[str, str], name: str) -> Any:
    """Import the class, or the loader, that stands under `name`."""
    module, attribute = registry[name].split(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError as error:
        if module.startswith("counterplay.deep.") and error.name in ("jax", "jaxlib"):
            raise ConfigError(f"{name} needs JAX: pip install 'counterplay[deep]'") from error
        raise


def spec_of(thing: Any) -> str:
    """The string that loads an equal game or algorithm again; fields at their defaults left out.

    A game that was read from elsewhere says itself where from, in `spec`.
    """
    if isinstance(getattr(thing, "spec", None), str):
        return thing.spec
    places = {where: name for name, where in (GAMES | ALGORITHMS).items()}
    kind = type(thing)
    name = places.get(f"{kind.__module__}:{kind.__name__}", kind.__name__)
    if not is_dataclass(thing):
        return name
    values = [(f.name, getattr(thing, f.name), f.default) for f in fields(thing)]
    text = ",".join(f"{key}={value!r}" for key, value, default in values if value != default)
    return f"{name}({text})" if text else name


def _load(kind: str, registry: dict[str, str], spec: str, parameters: dict[str, Any]) -> Any:
    name, given = _parse(kind, spec)
    if name not in registry:
        near = suggestion(name, registry)
        raise ConfigError(f"unknown {kind} {name!r}{near} (counterplay {kind}s lists all)")
    cls = find_class(registry, name)
    known = {field.name: field for field in fields(cls)}
    given |= parameters
    for key, value in given.items():
        if key not in known:
            has = f"it takes {', '.join(known)}" if known else "it takes none"
            raise ConfigError(f"{name} has no parameter {key!r}{suggestion(key, known)} ({has})")
        _check_type(f"{name}: {key}", value, known[key].default)
    for key, field in known.items():
        if key not in given and field.default is MISSING and field.default_factory is MISSING:
            raise ConfigError(f"{name} needs the parameter {key!r}")
    return cls(**given)


def _parse(kind: str, spec: str) -> tuple[str, dict[str, Any]]:
    match = re.fullmatch(r"\s*([\w:.-]+)\s*(?:\((.*)\))?\s*", spec, re.DOTALL)
    if not match:
        raise ConfigError(f"cannot read {kind} {spec!r}; write name or name(parameter=value, ...)")
    name, inside = match.groups()
    try:
        call = ast.parse(f"f({inside or ''})", mode="eval").body
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args
        given = {str(word.arg): _literal(word.value) for word in call.keywords}
        assert len(given) == len(call.keywords)
        return name, given
    except (SyntaxError, ValueError, TypeError, AssertionError):
        message = f"cannot read the parameters of {spec!r}; write {name}(parameter=value, ...)"
        raise ConfigError(message) from None


def _literal(node: ast.expr) -> Any:
    """A Python literal; bare words are strings, and true and false are what they seem."""
    if isinstance(node, ast.Name):
        return {"true": True, "false": False, "inf": float("inf")}.get(node.id.lower(), node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_literal(node.operand)
    return ast.literal_eval(node)


def _check_type(what: str, value: Any, default: Any) -> None:
    """Refuse a value that is not of the default's type (an int may stand for a float)."""
    kind = type(default)
    if kind not in (bool, int, float, str, tuple):
        return
    fits = isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ConfigError(f"{what} is {value!r}, must be of type {kind.__name__}")
