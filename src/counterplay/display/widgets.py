"""Live views for notebooks: a tree, a policy grid and a running solve.

With the package anywidget (`pip install 'counterplay[widgets]'`) the views react to clicks, and a
running solve draws its curve while it runs. Without it, and in places that show no widgets, such
as exported pages, they are the static tables of `display.html`.
"""

from __future__ import annotations

import importlib.util
import threading
from functools import cache
from pathlib import Path
from typing import Any

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.node_values import compute_node_values, incoming_probabilities
from counterplay.arenas.tree.replay import incoming_action_name
from counterplay.core.evaluation import exploitability
from counterplay.core.game import CHANCE, Game
from counterplay.core.policy import Policy, as_arena, require_tree, uniform_policy
from counterplay.core.solve import Record, Result, as_algorithm, solve
from counterplay.display.html import curve_svg, policy_html, result_html, tree_html
from counterplay.display.infoset_table import infoset_rows, policy_grids
from counterplay.errors import ConfigError
from counterplay.registry import get_spec

MAX_WIDGET_NODES = 2_000  # of a tree that are sent to the notebook
MAX_WIDGET_INFOSETS = 2_000  # of a policy
FRONT_END = Path(__file__).with_name("widgets.js")

JsonObject = dict[str, Any]


class StaticView:
    """A view without anywidget: its data, and HTML that notebooks show."""

    def __init__(self, kind: str, data: JsonObject, html: str):
        self.kind, self.data, self.html = kind, data, html
        self.stop_requested = False

    def _repr_html_(self) -> str:
        return self.html


def has_anywidget() -> bool:
    """Return True if the package anywidget is installed."""
    return importlib.util.find_spec("anywidget") is not None


@cache
def _widget_class() -> Any:
    """Return the widget class, which needs anywidget."""
    import anywidget
    import traitlets

    class CounterplayWidget(anywidget.AnyWidget):
        """A view that the front end in `widgets.js` draws."""

        _esm = FRONT_END
        kind = traitlets.Unicode().tag(sync=True)
        data = traitlets.Dict().tag(sync=True)
        stop_requested = traitlets.Bool(False).tag(sync=True)

    return CounterplayWidget


def _make_view(kind: str, data: JsonObject, html: str) -> Any:
    """Return a widget, or the static view if anywidget is not installed."""
    if has_anywidget():
        return _widget_class()(kind=kind, data=data)
    return StaticView(kind, data, html)


def tree_widget(
    tree: TreeArena | Game | str, policy: Policy | None = None, *, max_nodes: int = MAX_WIDGET_NODES
) -> Any:
    """Return a view of a tree whose nodes open by clicks, with probabilities, reach and values.

    Args:
        tree: a tree, a game or its name.
        policy: the policy of all players; uniform if None.
        max_nodes: nodes to send to the notebook, those near the root first.

    Returns:
        A widget of anywidget; without the package, an object that shows a table of the tree.

    Example:
        >>> import counterplay as cp
        >>> cp.display.tree_widget("kuhn_poker").data["num_nodes"]
        58
    """
    arena = as_arena(tree)
    if not isinstance(arena, TreeArena):
        raise ConfigError(f"{arena.spec} has no tree to show")
    data = _tree_data(arena, policy or uniform_policy(arena), max_nodes)
    return _make_view("tree", data, tree_html(arena))


def _tree_data(tree: TreeArena, policy: Policy, max_nodes: int) -> JsonObject:
    probabilities = policy.probabilities
    values = compute_node_values(tree, probabilities)
    step = incoming_probabilities(tree, probabilities)
    nodes = []
    for node in range(min(tree.num_nodes, max_nodes)):
        player, infoset = int(tree.player[node]), int(tree.infoset[node])
        first, last = tree.child_offset[node : node + 2].tolist()
        title = "chance" if player == CHANCE else ""
        if player >= 0:
            title = f"player {player} [{tree.infoset_key(infoset)}]"
        nodes.append(
            {
                "parent": int(tree.parent[node]),
                "name": incoming_action_name(tree, node) if node else "root",
                "player": player,
                "infoset": infoset,
                "title": title,
                "probability": float(step[node]),
                "reach": float(values.reach[node]),
                "value": values.value[node].tolist(),
                "num_children": last - first,
            }
        )
    return {"spec": tree.spec, "num_nodes": tree.num_nodes, "nodes": nodes}


def policy_widget(policy: Policy) -> Any:
    """Return a view of a policy as grids of infosets; a click on a cell shows its numbers.

    The grids are those of the game's `grid_position`. A policy of more than
    `MAX_WIDGET_INFOSETS` infosets shows those with the largest best-response gains.

    Returns:
        A widget of anywidget; without the package, an object that shows a table of the policy.

    Example:
        >>> import counterplay as cp
        >>> len(cp.display.policy_widget(cp.uniform_policy("kuhn_poker")).data["rows"])
        12
    """
    tree = require_tree(policy)
    chosen = infoset_rows(policy)[:MAX_WIDGET_INFOSETS]
    kept = {row.infoset for row in chosen}
    rows = [row for row in infoset_rows(policy, sort_by="key") if row.infoset in kept]
    index = {row.infoset: number for number, row in enumerate(rows)}
    grids = [
        {
            "player": grid.player,
            "panel": grid.panel,
            "rows": list(grid.rows),
            "columns": list(grid.columns),
            "cells": [
                [
                    index[grid.cells[line, column].infoset]
                    if (line, column) in grid.cells
                    else None
                    for column in grid.columns
                ]
                for line in grid.rows
            ],
        }
        for grid in policy_grids(policy, rows)
    ]
    data = {
        "spec": tree.spec,
        "exploitability": exploitability(tree, policy),
        "actions": list(dict.fromkeys(name for row in rows for name in row.probabilities)),
        "rows": [
            {
                "player": row.player,
                "key": row.key,
                "actions": list(row.probabilities),
                "probabilities": list(row.probabilities.values()),
                "action_values": list(row.action_values.values()),
                "reach": row.reach,
                "value": row.value,
                "gain": row.best_response_gain,
            }
            for row in rows
        ],
        "grids": grids,
    }
    return _make_view("policy", data, policy_html(policy))


class LiveSolve:
    """A solve in a background thread, with a view that follows it. Made by `solve_widget`.

    Notebooks show the view; its button, or `stop()`, ends the solve after the current iteration.
    """

    def __init__(self, arena: Any, algorithm: Any, iterations: int, **options: Any):
        self.result: Result | None = None
        self._error: BaseException | None = None
        self._points: list[tuple[int, float]] = []
        self._state, self._done = "running", 0
        self._facts = {
            "spec": arena.spec,
            "algorithm": get_spec(algorithm),
            "iterations": iterations,
        }
        self.view: Any = _make_view("solve", self._data(), "")
        self._thread = threading.Thread(
            target=self._run, args=(arena, algorithm, iterations, options), daemon=True
        )
        self._thread.start()

    def wait(self, timeout: float | None = None) -> Result:
        """Return the result once the solve has ended.

        Args:
            timeout: seconds to wait at most; None waits for the end.

        Raises:
            TimeoutError: the solve is still running.
        """
        self._thread.join(timeout)
        if self._error is not None:
            raise self._error
        if self.result is None:
            raise TimeoutError("the solve is still running")
        return self.result

    def stop(self) -> None:
        """Ask the solve to end after the current iteration."""
        self.view.stop_requested = True

    def _run(self, arena: Any, algorithm: Any, iterations: int, options: JsonObject) -> None:
        try:
            self.result = solve(
                arena,
                algorithm,
                iterations=iterations,
                report=self._report,
                tick=self._tick,
                stop=lambda: bool(self.view.stop_requested),
                **options,
            )
            self._state = "stopped" if self.result.iterations < iterations else "finished"
        except BaseException as error:  # shown in the notebook, and raised by `wait`
            self._error, self._state = error, "failed"
        self._update()

    def _report(self, record: Record) -> None:
        if record.is_exact:
            self._points.append((record.iteration, record.exploitability))
        self._tick(record.iteration)

    def _tick(self, done: int) -> None:
        self._done = done
        self._update()

    def _update(self) -> None:
        self.view.data = self._data()
        if isinstance(self.view, StaticView):
            curve = curve_svg(self._points)
            self.view.html = result_html(self.result) if self.result is not None else curve

    def _data(self) -> JsonObject:
        return self._facts | {
            "points": [list(point) for point in self._points],
            "done": self._done,
            "state": self._state,
            "error": "" if self._error is None else str(self._error),
        }

    def _repr_mimebundle_(self, **options: Any) -> Any:
        if isinstance(self.view, StaticView):
            return {"text/html": self.view.html or "<p>The solve is running.</p>"}
        return self.view._repr_mimebundle_(**options)


def solve_widget(
    game: Any, algorithm: Any = "cfr_plus", *, iterations: int = 1000, **options: Any
) -> LiveSolve:
    """Solve in the background, and show the exploitability while it falls.

    Args:
        game: a tree, a game or its name.
        algorithm: an algorithm or its name.
        iterations: number of iterations.
        options: further arguments of `solve`, such as `seed` and `target`.

    Returns:
        A `LiveSolve`; its `wait()` returns the result.

    Example:
        >>> import counterplay as cp
        >>> live = cp.display.solve_widget("kuhn_poker", "cfr_plus", iterations=200)
        >>> live.wait().exploitability < 1e-3
        True
    """
    return LiveSolve(as_arena(game), as_algorithm(algorithm), iterations, **options)
