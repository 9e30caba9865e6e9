"""Strategy grafting: solve parts of a policy one by one, in finer detail than the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, overload

import numpy as np

from counterplay.abstraction.abstraction import (
    BucketSpec,
    InfosetRef,
    derive_abstraction,
    infoset_labels,
    resolve_infoset,
)
from counterplay.abstraction.grafting_on_rules import (
    GraftedPolicy,
    RulesPolicy,
    SolveRules,
    graft_on_rules,
    part_function,
)
from counterplay.arenas.rules import RulesArena
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Ints
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError

GraftPartition = Callable[[str], int] | Mapping[int, Iterable[InfosetRef]]
SolveFunction = Callable[[TreeArena], Policy]


@overload
def graft_policy(
    arena: TreeArena,
    base_policy: Policy,
    player: int,
    parts: GraftPartition,
    solve: SolveFunction,
    *,
    buckets: BucketSpec | None = None,
    opponent_buckets: BucketSpec | None = None,
    independent: bool = False,
) -> Policy: ...


@overload
def graft_policy(
    arena: RulesArena,
    base_policy: RulesPolicy,
    player: int,
    parts: GraftPartition,
    solve: SolveRules,
    *,
    buckets: Any = None,
    opponent_buckets: Any = None,
    independent: bool = False,
) -> GraftedPolicy: ...


def graft_policy(
    arena: TreeArena | RulesArena,
    base_policy: Any,
    player: int,
    parts: GraftPartition,
    solve: Any,
    *,
    buckets: Any = None,
    opponent_buckets: Any = None,
    independent: bool = False,
) -> Policy | GraftedPolicy:
    """Return a base policy with each part of the player's infosets replaced by a solution.

    A grafting partition {G_0, G_1, ...} of the player's infosets is such that the infosets after
    one in a part other than G_0 are in the same part (Waugh, Bard and Bowling, 2009; Gibson, 2014,
    definitions 2.7 and 2.8). For each such part a game is solved in which the player chooses only
    there, while the opponents choose everywhere; the grafted policy takes the part from that
    solution. Elsewhere the player follows the base policy and, unless `independent`, the earlier
    grafts. The opponents' policy is that of the base.

    In two-player zero-sum games a graft solved exactly, against opponents without an abstraction,
    never lowers the player's worst-case value. In the papers all grafts are computed for the base
    policy alone. Then they can be computed in parallel, but together they may lower that value: two
    grafts can use the same slack of the opponents. By default later grafts therefore take earlier
    ones into account.

    On rules, such as bucketed hold'em, the solved games are rules too, and the result is a policy
    that plays the full game. Whether the parts are a grafting partition is checked in random
    episodes, and a part that none of them visits keeps the base policy.

    Args:
        arena: the tree of the game, or its rules, with or without an abstraction.
        base_policy: the policy to improve; on rules anything that is looked up by state.
        player: the player whose policy is grafted.
        parts: the part number of each of the player's infosets as a function of its key, or the
            infosets by part number; infosets without a number, or with 0, keep the base policy.
            On rules infosets are given by their keys, in the `buckets`.
        solve: returns a policy of a game, such as
            `lambda game: cp.solve(game, cp.algorithms.CFRPlus()).policy`.
        buckets: abstraction of the player's infosets in the parts; by default none on a tree, and
            that of the arena's game on rules, where it is a rule such as `ByEquity(50)`.
        opponent_buckets: abstraction of the opponents' infosets; likewise.
        independent: solve every part with the base policy elsewhere, as in the papers.

    Raises:
        ConfigError: the parts are not a grafting partition, or the policy is of another game.

    Example:
        >>> import counterplay as cp
        >>> arena = cp.RulesArena("leduc_poker with by_rank(groups=('JQ','K'))")
        >>> solve = lambda arena: cp.solve(arena, "external_sampling", iterations=200).policy
        >>> second_round = lambda key: int("|" in key)
        >>> policy = cp.abstraction.graft_policy(
        ...     arena, solve(arena), 0, second_round, solve, buckets=cp.abstraction.ByRank()
        ... )
        >>> sorted(policy.solutions)
        [1]
    """
    if not 0 <= player < arena.num_players:
        raise ConfigError(f"player is {player}, must be from 0 to {arena.num_players - 1}")
    if isinstance(arena, RulesArena):
        return graft_on_rules(
            arena,
            base_policy,
            player,
            parts if callable(parts) else part_function(parts),
            solve,
            buckets=buckets,
            opponent_buckets=opponent_buckets,
            independent=independent,
        )
    tree = arena
    check_same_game(tree, base_policy)
    part = _part_numbers(tree, player, parts)
    _check_parts(tree, part)
    is_own = tree.infoset_player == player
    own, others = infoset_labels(tree, buckets), infoset_labels(tree, opponent_buckets)
    labels = [own[i] if is_own[i] else others[i] for i in range(tree.num_infosets)]
    action_mask = np.ones(tree.num_sequences, bool)
    grafted = base_policy.probabilities.copy()
    for number in np.unique(part[part > 0]):
        fixed_mask = is_own & (part != number)
        fixed_policy = base_policy if independent else Policy(tree, grafted)
        game = derive_abstraction(tree, labels, action_mask, fixed_mask, fixed_policy)
        solution = game.lift(solve(game.tree)).probabilities
        in_part = np.repeat(part == number, tree.num_actions)
        grafted[in_part] = solution[in_part]
    return Policy(tree, grafted)


def _part_numbers(tree: TreeArena, player: int, parts: GraftPartition) -> Ints:
    """Return the part number [I] of every infoset; 0 for infosets of the other players."""
    part = np.zeros(tree.num_infosets, np.int64)
    if callable(parts):
        for infoset in np.flatnonzero(tree.infoset_player == player).tolist():
            part[infoset] = parts(tree.infoset_keys[infoset])
    else:
        assigned: set[int] = set()
        for number, group in parts.items():
            for infoset in [resolve_infoset(tree, member) for member in group]:
                if infoset in assigned:
                    raise ConfigError(f"infoset {tree.infoset_keys[infoset]!r} is in two parts")
                assigned.add(infoset)
                part[infoset] = number
    if part.min(initial=0) < 0:
        raise ConfigError(
            f"a part has the number {part.min()}; numbers are 0 (the base), 1, 2, ..."
        )
    foreign = np.flatnonzero((part > 0) & (tree.infoset_player != player))
    if foreign.size:
        key = tree.infoset_keys[foreign[0]]
        raise ConfigError(f"infoset {key!r} of another player is in a part of player {player}")
    if not part.any():
        raise ConfigError(f"no infoset of player {player} is in a part from 1 on")
    return part


def _check_parts(tree: TreeArena, part: Ints) -> None:
    """Raise ConfigError if an infoset of a part is followed by one of another part."""
    owner, above = tree.game_infoset, tree.previous_infoset
    for infoset in np.flatnonzero(above >= 0):
        before, after = owner[above[infoset]], owner[infoset]
        if part[before] and part[before] != part[after]:
            keys = tree.infoset_keys
            raise ConfigError(
                f"infoset {keys[before]!r} is in part {part[before]}, but {keys[after]!r}, which "
                f"follows it, is in part {part[after]}; a part holds all that follows"
            )
