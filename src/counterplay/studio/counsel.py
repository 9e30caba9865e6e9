"""Questions that need the library's classes but no tree: is this config right, how large is it?"""

from __future__ import annotations

import re
from typing import Any

from counterplay.cli.matrix import load_form, study
from counterplay.errors import ConfigError, CounterplayError
from counterplay.experiment.config import load_config
from counterplay.interop.files import check_game_file
from counterplay.matrix.normal_form import NormalForm
from counterplay.registry import load_game, spec_of
from counterplay.tree.estimating import available_memory, estimate_size

MOST_CELLS = 40_000  # of a matrix that is shown and solved


def check(config: dict[str, Any]) -> dict[str, Any]:
    """The complete config, or what is wrong with it and at which key."""
    try:
        return {"config": load_config(config).to_json()}
    except CounterplayError as error:
        text = str(error).removeprefix("config: ")
        match = re.match(r"(name|algorithm|arena|device|game|networks|spec)[.\w]*", text)
        return {"problem": text, "field": match[0] if match else ""}


def estimate(spec: str) -> dict[str, Any]:
    """How large the tree would be, and whether there is room for it."""
    game = load_game(spec)
    found = estimate_size(game, seconds=0.3)
    return {
        "spec": spec_of(game),
        "players": game.num_players,
        "nodes": found.num_nodes,
        "error": found.standard_error,
        "bytes": found.num_bytes,
        "free": available_memory(),
        "fits": found.num_bytes < 0.8 * available_memory(),
    }


def examine(path: str) -> dict[str, Any]:
    """What a game file holds; its faults are named by line."""
    check_game_file(path)
    return estimate(path)


def matrix(call: dict[str, Any]) -> dict[str, Any]:
    """Dominance and equilibria of a game in normal form, and its utilities."""
    if "utility" in call:
        names = tuple(tuple(map(str, row)) for row in call.get("names") or ())
        name, form = "matrix", NormalForm(call["utility"], names)
    else:
        name, form = load_form(str(call["game"]))
    if form.utility.size > MOST_CELLS:
        shape = " x ".join(map(str, form.shape))
        raise ConfigError(f"{name} has {shape} actions: too many to show as a table")
    return study(name, form) | {"utility": form.utility.tolist()}
