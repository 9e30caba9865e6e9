"""Strategy grafting: parts of a policy solved one by one, in finer detail than the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import numpy as np

from counterplay.abstraction.abstraction import (
    BucketSpec,
    InfosetRef,
    derive_abstraction,
    infoset_labels,
    resolve_infoset,
)
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Ints
from counterplay.core.evaluation import check_same_game
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError

GraftPartition = Callable[[str], int] | Mapping[int, Iterable[InfosetRef]]
SolveFunction = Callable[[TreeArena], Policy]


def graft_policy(
    tree: TreeArena,
    base_policy: Policy,
    player: int,
    parts: GraftPartition,
    solve: SolveFunction,
    *,
    buckets: BucketSpec | None = None,
    opponent_buckets: BucketSpec | None = None,
    independent: bool = False,
) -> Policy:
    """The base policy with each part of the player's infosets replaced by a solution of its own.

    A grafting partition {G_0, G_1, ...} of the player's infosets splits none of them, and whoever
    is in a part other than G_0 stays there (Waugh, Bard and Bowling, 2009; Gibson, 2014,
    definitions 2.7 and 2.8). For each such part a game is solved in which the player chooses there
    only, while the opponents choose everywhere; the grafted policy takes the part from that
    solution. Elsewhere the player follows the base policy and, unless `independent`, the grafts
    made before. The opponents' policy is the base's.

    In two-player zero-sum games a graft solved exactly, against opponents without an abstraction,
    never lowers what the player earns at worst. The definitions make all grafts for the base
    policy alone; then they can be made at the same time, but together they may lower it: two
    grafts can spend the same slack of the opponents.

    Args:
        parts: the number of the part of each of the player's infosets, as a function of its key, or
            the infosets of each number; those not named, or with number 0, are left to the base.
        solve: returns a policy for a game; `lambda game: cp.solve(game, cp.algorithms.CFRPlus()).policy`.
        buckets: the abstraction of the player's infosets in the parts; without it, none.
        opponents: the abstraction of the opponents' infosets; without it, none.
        independent: solve every part with the base policy elsewhere, as the definitions say.
    """
    check_same_game(tree, base_policy)
    if not 0 <= player < tree.num_players:
        raise ConfigError(f"player is {player}, must be from 0 to {tree.num_players - 1}")
    part = _part_numbers(tree, player, parts)
    _check_parts(tree, part)
    ours = tree.infoset_player == player
    own, others = infoset_labels(tree, buckets), infoset_labels(tree, opponent_buckets)
    labels = [own[i] if ours[i] else others[i] for i in range(tree.num_infosets)]
    everything = np.ones(tree.num_sequences, bool)
    grafted = base_policy.probabilities.copy()
    for number in np.unique(part[part > 0]):
        around = base_policy if independent else Policy(tree, grafted)
        game = derive_abstraction(tree, labels, everything, ours & (part != number), around)
        found = game.lift(solve(game.tree)).probabilities
        inside = np.repeat(part == number, tree.num_actions)
        grafted[inside] = found[inside]
    return Policy(tree, grafted)


def _part_numbers(tree: TreeArena, player: int, parts: GraftPartition) -> Ints:
    """The part of every infoset; 0 at those of the other players."""
    part = np.zeros(tree.num_infosets, np.int64)
    if callable(parts):
        for infoset in np.flatnonzero(tree.infoset_player == player).tolist():
            part[infoset] = parts(tree.infoset_keys[infoset])
    else:
        seen: set[int] = set()
        for number, group in parts.items():
            for infoset in [resolve_infoset(tree, each) for each in group]:
                if infoset in seen:
                    raise ConfigError(f"infoset {tree.infoset_keys[infoset]!r} is in two parts")
                seen.add(infoset)
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
    """Refuse a part that can be left: what follows an infoset must be in the same part."""
    owner, above = tree.game_infoset, tree.previous_infoset
    for infoset in np.flatnonzero(above >= 0):
        before, after = owner[above[infoset]], owner[infoset]
        if part[before] and part[before] != part[after]:
            keys = tree.infoset_keys
            raise ConfigError(
                f"infoset {keys[before]!r} is in part {part[before]}, but {keys[after]!r}, which "
                f"follows it, is in part {part[after]}; a part holds all that follows"
            )
