"""The rows of a policy: probabilities, values and best-response gains of infosets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Ints
from counterplay.core.evaluation import infoset_values, mistakes
from counterplay.core.game import grid_position
from counterplay.core.policy import Policy, require_tree
from counterplay.errors import ConfigError, suggestion

SORT_KEYS = ("loss", "reach", "key")
MAX_ORDERED_INFOSETS = 50_000  # infosets whose order determines that of the rows of grids
MAX_SUGGESTED_KEYS = 20_000  # infoset keys compared for "did you mean"


@dataclass(frozen=True)
class InfosetRow:
    """The policy and its values at one infoset."""

    infoset: int
    player: int
    key: str
    probabilities: dict[str, float]  # action name -> probability
    reach: float  # probability of reaching the infoset, of all players and chance
    value: float  # expected utility of its player, given that it is reached
    action_values: dict[str, float]  # the same after each action
    best_response_gain: float  # share of the infoset in the gain of its player's best response

    @property
    def regret(self) -> float:
        """Value of the best action minus that of the policy, if the policy is followed later."""
        return max(self.action_values.values()) - self.value


@dataclass(frozen=True)
class PolicyGrid:
    """A table of infosets of one player, as `grid_position` of the game arranges them."""

    player: int
    panel: str  # title of the table
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], InfosetRow]  # by row and column

    @property
    def actions(self) -> tuple[str, ...]:
        """The names of all actions in the table."""
        return tuple(
            dict.fromkeys(name for cell in self.cells.values() for name in cell.probabilities)
        )


def infoset_rows(
    policy: Policy,
    patterns: Iterable[str] = (),
    *,
    player: int | None = None,
    sort_by: str = "loss",
) -> list[InfosetRow]:
    """Return the rows of infosets whose key matches a pattern such as `Kh:*`.

    Args:
        policy: a policy of a tree.
        patterns: patterns with `*`, `?` and `[...]`; by default all infosets.
        player: return only rows of this player.
        sort_by: `loss` (largest best-response gain first), `reach` (largest first), or `key`: by
            player, from the root down, with cards and actions in the order of the game, which also
            orders ties of the others.

    Raises:
        ConfigError: no infoset matches, or an argument is out of range.

    Example:
        >>> import counterplay as cp
        >>> rows = cp.infoset_rows(cp.uniform_policy("kuhn_poker"), ["2*"], player=1)
        >>> [(row.key, round(row.best_response_gain, 4)) for row in rows]
        [('2b', 0.25), ('2p', 0.0417)]
    """
    tree = require_tree(policy)
    if sort_by not in SORT_KEYS:
        raise ConfigError(f"sort_by is {sort_by!r}, must be one of {', '.join(SORT_KEYS)}")
    if player is not None and not 0 <= player < tree.num_players:
        raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
    infosets = _matching_infosets(tree, list(patterns))
    if player is not None:
        infosets = infosets[tree.infoset_player[infosets] == player]
    values, gain = infoset_values(tree, policy), mistakes(tree, policy).gain
    reach = values.reach * values.cf_reach
    if sort_by != "key":
        size = gain if sort_by == "loss" else reach
        infosets = infosets[np.argsort(-size[infosets], kind="stable")]
    rows = []
    for infoset in infosets.tolist():
        action_values = values.action_value[slice(*tree.offset[infoset : infoset + 2].tolist())]
        names = tree.action_names(infoset)
        rows.append(
            InfosetRow(
                infoset=infoset,
                player=int(tree.infoset_player[infoset]),
                key=tree.infoset_key(infoset),
                probabilities=policy.probabilities_at(infoset),
                reach=float(reach[infoset]),
                value=float(values.value[infoset]),
                action_values=dict(zip(names, action_values.tolist(), strict=True)),
                best_response_gain=float(gain[infoset]),
            )
        )
    return rows


def _matching_infosets(tree: TreeArena, patterns: list[str]) -> Ints:
    """Return the infosets whose key matches one of the patterns, in natural order."""
    infosets = natural_order(tree)
    if not patterns:
        return infosets
    is_match = [any(fnmatchcase(key, p) for p in patterns) for key in tree.infoset_keys]
    infosets = infosets[np.array(is_match)[infosets]]
    if not infosets.size:
        near = suggestion(patterns[0], tree.infoset_keys[:MAX_SUGGESTED_KEYS])
        raise ConfigError(f"no infoset of {tree.spec} fits {', '.join(patterns)}{near}")
    return infosets


def natural_order(tree: TreeArena) -> Ints:
    """Return the infosets sorted by player, then by depth, then by the parts of their keys.

    Keys are split into words, numbers and signs, which are ordered by their first occurrence in the
    tree. So cards and actions of all players have the order of the game.
    """
    nodes = np.flatnonzero(tree.infoset >= 0)
    infosets, first = np.unique(tree.infoset[nodes], return_index=True)
    depth = np.zeros(tree.num_infosets, int)
    depth[infosets] = np.searchsorted(tree.level_offset, nodes[first], side="right")
    key_parts = [re.findall(r"\d+|[^\W\d]+|\W", key) for key in tree.infoset_keys]
    rank: dict[str, int] = {}
    for parts in key_parts:
        for part in parts:
            rank.setdefault(part, len(rank))
    columns = zip(tree.infoset_player.tolist(), depth.tolist(), key_parts, strict=True)
    sort_keys = [(player, d, [rank[part] for part in parts]) for player, d, parts in columns]
    return np.array(sorted(range(tree.num_infosets), key=sort_keys.__getitem__), int)


def policy_grids(policy: Policy, rows: Iterable[InfosetRow]) -> list[PolicyGrid]:
    """Return tables of rows, arranged by the game's `grid_position`.

    Args:
        policy: a policy of a tree.
        rows: rows from `infoset_rows`; tables appear in the order of their first rows.
    """
    tree = require_tree(policy)
    game = tree.game
    tables: dict[tuple[int, str], dict[tuple[str, str], InfosetRow]] = {}
    rank: dict[str, int] = {}  # of table rows, the same for all players
    for key in tree.infoset_keys[:MAX_ORDERED_INFOSETS]:
        rank.setdefault(grid_position(game, key)[1], len(rank))
    for row in rows:
        panel, line, column = grid_position(game, row.key)
        tables.setdefault((row.player, panel), {})[line, column] = row

    def order(name: str) -> tuple[int, list[tuple[int, str]]]:
        parts = re.findall(r"\d+|\D+", name)
        return rank.get(name, -1), [(int(p), "") if p.isdigit() else (0, p) for p in parts]

    return [
        PolicyGrid(
            player=player,
            panel=panel,
            rows=tuple(sorted({line for line, _ in cells}, key=order)),
            columns=tuple(sorted({column for _, column in cells}, key=order)),
            cells=cells,
        )
        for (player, panel), cells in tables.items()
    ]
