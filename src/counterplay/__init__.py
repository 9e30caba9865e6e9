"""Counterplay: solve games of hidden information, and know exactly how good the solution is.

The names below cover everyday work. Everything else is in namespaces:

    games         game classes                  algorithms   CFR, MCCFR, deep and population methods
    matrix        normal-form games             search       minimax, alpha-beta, MCTS
    holdem        hold'em spots and ranges      abstraction  smaller games from a game
    play          agents, matches, estimates    display      tables, grids, drawings
    experiment    configs, runs, metrics        distributed  sweeps on many processes
    interop       OpenSpiel, Gambit, gymnasium  concepts     correlation, refinements, commitment

Example:
    >>> import counterplay as cp
    >>> result = cp.solve("kuhn_poker", cp.algorithms.CFRPlus(), iterations=1000)
    >>> result.exploitability < 1e-3
    True

Names are imported when they are first used, so that `import counterplay` is quick.
"""

from __future__ import annotations

import importlib as _importlib
from typing import Any as _Any

from counterplay.lazy_exports import lazy_exports as _lazy_exports

__version__ = "0.2.0.dev0"

_EXPORTS = {
    "counterplay.errors": ["ConfigError", "CounterplayError", "GameError", "RunError"],
    "counterplay.core.trust": ["TrustError", "trust"],
    "counterplay.core.game": ["CHANCE", "Game", "TERMINAL", "check_game"],
    "counterplay.registry": ["load_algorithm", "load_game"],
    "counterplay.interop.game_files": ["save_game"],
    "counterplay.arenas.build": ["build_arena"],
    "counterplay.arenas.rules": ["RulesArena", "TabularPolicy", "load_tabular_policy"],
    "counterplay.arenas.tree.arena": ["TreeArena"],
    "counterplay.arenas.tree.build": ["build_tree"],
    "counterplay.arenas.tree.size_estimate": ["estimate_size"],
    "counterplay.arenas.tree.tree_io": ["load_tree"],
    "counterplay.core.solve": ["Algorithm", "Result", "solve"],
    "counterplay.core.policy": ["Policy", "load_policy", "random_policy", "uniform_policy"],
    "counterplay.core.evaluation": [
        "BestResponse",
        "Judgement",
        "best_response",
        "expected_values",
        "exploitability",
        "infoset_values",
        "judge",
        "mistakes",
        "nash_conv",
        "overall_regret",
    ],
    "counterplay.algorithms.deep.common.learned_best_response": ["learned_best_response"],
    "counterplay.play.bounds": ["local_best_response"],
    "counterplay.play.episodes": ["play_episode"],
    "counterplay.play.match": ["head_to_head"],
    "counterplay.experiment": [
        "load_config",
        "load_metrics",
        "load_policies",
        "load_run",
        "resume",
        "run",
    ],
    "counterplay.distributed.sweeps": ["sweep"],
    "counterplay.display.infoset_table": ["infoset_rows"],
    "counterplay.display.tree_drawing": ["draw_tree"],
    "counterplay.kernels.runtime.threads": ["num_threads", "set_num_threads"],
}
_NAMESPACES = [
    "abstraction",
    "algorithms",
    "concepts",
    "display",
    "distributed",
    "experiment",
    "games",
    "holdem",
    "interop",
    "matrix",
    "play",
    "search",
]

_get_export, _, _names = _lazy_exports(__name__, _EXPORTS)
__all__ = sorted([*_names, *_NAMESPACES])


def __getattr__(name: str) -> _Any:
    if name in _NAMESPACES:
        return _importlib.import_module(f"counterplay.{name}")
    return _get_export(name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
