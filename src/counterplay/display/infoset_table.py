"""What a policy does, infoset by infoset, with what each is worth and what is lost there."""

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
MAX_ORDERED_INFOSETS = 50_000  # infosets whose order decides that of rows


@dataclass(frozen=True)
class InfosetRow:
    """One infoset of a policy."""

    infoset: int
    player: int
    key: str
    probabilities: dict[str, float]  # action name -> probability
    reach: float  # how likely everybody's play leads here
    value: float  # to its player, once here
    action_values: dict[str, float]  # the same after each action
    best_response_gain: float  # how much of what a best response gains is owed to this infoset

    @property
    def regret(self) -> float:
        """What the best action earns more than the policy, everybody playing on as before."""
        return max(self.action_values.values()) - self.value


@dataclass(frozen=True)
class PolicyGrid:
    """The infosets of one player that belong in one table."""

    player: int
    panel: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], InfosetRow]

    @property
    def actions(self) -> tuple[str, ...]:
        """All that is ever played in it."""
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
    """The policy's infosets whose key fits a pattern such as `Kh:*`, most is lost first.

    Args:
        patterns: with `*`, `?` and `[...]`; all infosets if there is none.
        player: only this player's.
        sort: by `loss`, by `reach`, or by `key`: by player, from the root down, and cards and
            actions in the order in which the game has them. Ties of the others are sorted so, too.

    >>> import counterplay as cp
    >>> rows = cp.infoset_rows(cp.uniform_policy(cp.build_tree("kuhn_poker")), ["2*"], player=1)
    >>> [(row.key, round(row.best_response_gain, 4)) for row in rows]
    [('2b', 0.25), ('2p', 0.0417)]
    """
    tree = require_tree(policy)
    if sort_by not in SORT_KEYS:
        raise ConfigError(f"sort is {sort_by!r}, must be one of {', '.join(SORT_KEYS)}")
    if player is not None and not 0 <= player < tree.num_players:
        raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
    chosen = natural_order(tree)
    patterns = list(patterns)
    if patterns:
        fits = [any(fnmatchcase(key, one) for one in patterns) for key in tree.infoset_keys]
        chosen = chosen[np.array(fits)[chosen]]
        if not chosen.size:
            near = suggestion(patterns[0], tree.infoset_keys[:20_000])
            raise ConfigError(f"no infoset of {tree.spec} fits {', '.join(patterns)}{near}")
    if player is not None:
        chosen = chosen[tree.infoset_player[chosen] == player]
    worth, lost = infoset_values(tree, policy), mistakes(tree, policy).gain
    visits = worth.reach * worth.cf_reach
    if sort_by != "key":
        by = lost if sort_by == "loss" else visits
        chosen = chosen[np.argsort(-by[chosen], kind="stable")]
    rows = []
    for infoset in chosen.tolist():
        first, last = tree.offset[infoset : infoset + 2].tolist()
        names = tree.action_names(infoset)
        after = worth.action_value[first:last].tolist()
        rows.append(
            InfosetRow(
                infoset=infoset,
                player=int(tree.infoset_player[infoset]),
                key=tree.infoset_key(infoset),
                probabilities=policy.probabilities_at(infoset),
                reach=float(visits[infoset]),
                value=float(worth.value[infoset]),
                action_values=dict(zip(names, after, strict=True)),
                best_response_gain=float(lost[infoset]),
            )
        )
    return rows


def natural_order(tree: TreeArena) -> Ints:
    """Sort infosets by player, then by depth in the tree, then by the parts of their keys.

    Keys are cut into words, numbers and signs, which are compared by where they first appear in the
    tree. So all players' cards and actions have the order that the game gives them.
    """
    nodes = np.flatnonzero(tree.infoset >= 0)
    infosets, first = np.unique(tree.infoset[nodes], return_index=True)
    depth = np.zeros(tree.num_infosets, int)
    depth[infosets] = np.searchsorted(tree.level_offset, nodes[first], side="right")
    words = [re.findall(r"\d+|[^\W\d]+|\W", key) for key in tree.infoset_keys]
    rank: dict[str, int] = {}
    for parts in words:
        for part in parts:
            rank.setdefault(part, len(rank))
    by_key = [
        (player, d, [rank[part] for part in parts])
        for player, d, parts in zip(
            tree.infoset_player.tolist(), depth.tolist(), words, strict=True
        )
    ]
    return np.array(sorted(range(tree.num_infosets), key=by_key.__getitem__), int)


def policy_grids(policy: Policy, rows: Iterable[InfosetRow]) -> list[PolicyGrid]:
    """The rows arranged as the game's `grid` says, table by table, in the order they are met."""
    tree = require_tree(policy)
    game = tree.game
    tables: dict[tuple[int, str], dict[tuple[str, str], InfosetRow]] = {}
    met: dict[str, int] = {}  # so that tables of all players have the same order
    for key in tree.infoset_keys[:MAX_ORDERED_INFOSETS]:
        met.setdefault(grid_position(game, key)[1], len(met))
    for row in rows:
        panel, line, column = grid_position(game, row.key)
        tables.setdefault((row.player, panel), {})[line, column] = row

    def order(name: str) -> tuple[int, list[tuple[int, str]]]:
        parts = re.findall(r"\d+|\D+", name)
        return met.get(name, -1), [(int(p), "") if p.isdigit() else (0, p) for p in parts]

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
