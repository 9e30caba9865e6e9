"""`counterplay algorithms`: list the algorithms."""

from __future__ import annotations

from counterplay.cli.games import print_registry
from counterplay.cli.options import JsonOption
from counterplay.registry import ALGORITHMS


def algorithms(json: JsonOption = False) -> None:
    """List every algorithm with its parameters and their defaults."""
    print_registry(ALGORITHMS, json)
