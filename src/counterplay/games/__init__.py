"""Games, one per file, and the optional protocols that a game may implement.

Public names are imported when they are first used.
"""

from __future__ import annotations

from counterplay.lazy_exports import exports_from_registry, lazy_exports
from counterplay.registry import GAMES

_EXPORTS = {
    "counterplay.core.game": [
        "DescribedGame",
        "DrawnGame",
        "GridGame",
        "ObservedGame",
        "action_labels",
        "describe_situation",
        "grid_position",
    ],
    "compiled.protocol": ["CompiledGame", "check_compiled_game", "find_compiled_game"],
} | exports_from_registry(GAMES)

__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
