"""`counterplay algorithms`: what can solve a game."""

from __future__ import annotations

from counterplay.cli.common import JsonOption
from counterplay.cli.games import print_registry
from counterplay.registry import ALGORITHMS


def algorithms(json: JsonOption = False) -> None:
    """List every algorithm with its parameters and their defaults."""
    print_registry(ALGORITHMS, json)
