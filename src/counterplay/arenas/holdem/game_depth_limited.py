"""Depth-limited and nested solving of hold'em games: subgames that end at the start of a street.

Where a subgame is cut, the opponent of the player whose policy is solved for chooses for each of
its hands among several continuation policies for the rest of the game, the blueprint and variants
of it, while the player follows its blueprint (Brown, Sandholm and Amos, 2018). The choices are
learned by the same CFR+ as the betting above the cut.

The values of a pair of hands at a cut are the same for all ranges. They are computed once, by one
walk per hand and continuation, so that an iteration costs a walk of the streets above the cut and
a matrix product per subgame below it. That memory limits cuts to small decks.

For nested solving, each street is solved in turn from the policy of the streets before: `resolve`
gadgets at its start, cut where it ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from counterplay.arenas.holdem.array_layout import new_street_rows
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_subgames import (
    METHODS,
    Gadget,
    StreetSubgames,
    check_zero_sum,
    resolve_street,
    solve_gadget,
    solve_unsafe,
)
from counterplay.arenas.tree.size_estimate import available_memory, format_gib
from counterplay.core.arena import Floats, Ints
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import deal_walk, street_walk
from counterplay.kernels.holdem.types import HoldemTables, StreetRows

BIAS_FACTOR = 5.0  # of the probabilities of the actions that a continuation prefers
BIASED_ACTIONS = ("fold", "call", "raise")


def bias_holdem_policy(blueprint: HoldemPolicy, factor: float = BIAS_FACTOR) -> list[HoldemPolicy]:
    """Return the blueprint, and the blueprint biased to folds, to calls and to raises.

    Args:
        blueprint: a policy of a `HoldemGameArena`.
        factor: multiplies the probabilities of these actions before normalisation.
    """
    arena: HoldemGameArena = blueprint.arena
    policies = [blueprint]
    for preferred in BIASED_ACTIONS:
        weights = np.zeros(arena.num_sequences)
        for number, node in enumerate(arena.betting.nodes):
            if node.kind >= FOLD:
                continue
            kinds = [_action_kind(name) for name in node.actions]
            scale = np.where(np.array(kinds) == preferred, factor, 1.0)[:, None]
            for board in range(arena.streets[node.state.street].num_boards):
                row = blueprint.probabilities_at(number, board) * scale
                weights[arena.piece_slice(number, board)] = (row / row.sum(axis=0)).ravel()
        policies.append(HoldemPolicy(arena, weights.astype(arena.compute_dtype), weights[:0]))
    return policies


def _action_kind(name: str) -> str:
    return name if name == "fold" else "call" if name in ("call", "check") else "raise"


class LeafValues(Protocol):
    """Values of the public states at which subgames end."""

    street: int

    def walk(
        self, player: int, tables: HoldemTables, mode: int, own: Floats, other: Floats
    ) -> Floats:
        """Return the player's cf_values [R, hands] at the starts of the street.

        Args:
            player: the player who walks.
            tables: tables of the whole game.
            mode: as in `street_walk`.
            own: [R, hands] reach of the player, in the order of `StreetSubgames.roots`.
            other: [R, hands] reach of the opponent and of chance.
        """
        ...


class ContinuationValues:
    """Values of pairs of hands at the starts of a street, if the opponent follows continuations.

    Args:
        blueprint: the policy of the player after the cut.
        street: betting round at whose start subgames end.
        opponent: the player who chooses a continuation.
        continuations: its policies; by default those of `bias_holdem_policy`.

    Raises:
        ConfigError: there is no continuation, or the values do not fit into memory.
    """

    def __init__(
        self,
        blueprint: HoldemPolicy,
        street: int,
        opponent: int,
        continuations: Sequence[HoldemPolicy] | None = None,
    ):
        self.street, self.opponent = street, opponent
        subgames = StreetSubgames(blueprint, street)
        arena, (count, hands) = (
            subgames.arena,
            (len(subgames.roots), subgames.arena.num_hands(street)),
        )
        policies = bias_holdem_policy(blueprint) if continuations is None else continuations
        if not policies:
            raise ConfigError("continuations is empty; give at least one policy")
        size, free = 2 * len(policies) * count * hands**2 * 8, available_memory()
        if size > 0.5 * free:
            raise ConfigError(
                f"the values of {count:,} leaves with {hands:,} hands need {format_gib(size)} "
                f"where {format_gib(free)} are free; cut at a later street or take a smaller deck"
            )
        # [2, K, R, hands of the player, hands of the other]
        self.values = np.zeros((2, len(policies), count, hands, hands))
        for k, policy in enumerate(policies):
            tables = arena.policy_tables(_join(blueprint, policy, opponent))
            for hand in range(hands):
                reach = np.zeros((count, hands))
                reach[:, hand] = 1.0
                for player in (0, 1):
                    self.values[player, k, :, :, hand] = subgames.walk(
                        player, tables, street_walk.MODE_MEAN, np.ones_like(reach), reach
                    )


def _join(blueprint: HoldemPolicy, continuation: HoldemPolicy, opponent: int) -> HoldemPolicy:
    """Return the opponent's part of a continuation, and the blueprint of the other player."""
    arena: HoldemGameArena = blueprint.arena
    weights = np.zeros(arena.num_sequences, arena.compute_dtype)
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD:
            policy = continuation if node.kind == opponent else blueprint
            for board in range(arena.streets[node.state.street].num_boards):
                row = policy.probabilities_at(number, board)
                weights[arena.piece_slice(number, board)] = row.ravel()
    return HoldemPolicy(arena, weights, weights[:0])


class ContinuationChoice:
    """Leaves at which the opponent learns by CFR+ which continuation each of its hands follows."""

    def __init__(self, values: ContinuationValues):
        self.street, self.opponent, self.values = values.street, values.opponent, values.values
        self.regret = np.zeros((self.values.shape[1], *self.values.shape[2:4]))  # [K, R, hands]

    @property
    def policy(self) -> Floats:
        """Probability [K, R, hands] of each continuation."""
        total = self.regret.sum(axis=0)
        uniform = np.full_like(self.regret, 1.0 / len(self.regret))
        return np.divide(self.regret, total, out=uniform, where=total > 0.0)

    def walk(
        self, player: int, tables: HoldemTables, mode: int, own: Floats, other: Floats
    ) -> Floats:
        """See `LeafValues`; the opponent's walk updates its regrets."""
        policy, matrices = self.policy, self.values[player]
        if player != self.opponent:
            return np.einsum("krhj,krj->rh", matrices, policy * other)
        options = np.einsum("krhj,rj->krh", matrices, other)
        values: Floats = (policy * options).sum(axis=0)
        if mode == street_walk.MODE_LEARN:
            self.regret = np.maximum(self.regret + options - values, 0.0)
        return values


class Visit(NamedTuple):
    """A block on a board above the cut."""

    street: int
    block: int
    board: int
    rows: StreetRows
    deals: list[tuple[int, list[tuple[int, int]]]]  # node, and visits or leaves with their boards


@dataclass(frozen=True, eq=False)
class CutSubgames(StreetSubgames):
    """Subgames that begin on a street, the first one included, and end at the leaves."""

    leaves: LeafValues

    def __post_init__(self) -> None:
        last = len(self.arena.streets)
        if not 0 <= self.street < self.leaves.street < last:
            raise ConfigError(
                f"subgames from street {self.street} cannot be cut at street {self.leaves.street}: "
                f"the game has {last} betting rounds, and a cut comes after the first one"
            )

    @cached_property
    def _num_leaves(self) -> int:
        return len(StreetSubgames(self.blueprint, self.leaves.street).roots)

    @cached_property
    def _visits(self) -> tuple[list[list[Visit]], ...]:
        """By player and street: the blocks above the cut, those of the roots first."""
        return self._list_visits(0), self._list_visits(1)

    def _list_visits(self, player: int) -> list[list[Visit]]:
        arena, walks = self.arena, self.arena.walks[player]
        sizes = np.diff(arena.betting.block_starts)
        boards = arena.streets[self.leaves.street].num_boards
        blocks = StreetSubgames(self.blueprint, self.leaves.street).roots[::boards, 1].tolist()
        first_leaf = {block: k * boards for k, block in enumerate(blocks)}
        below = [(int(block), int(board)) for _, block, board, _ in self.roots]
        levels: list[list[Visit]] = []
        for street in range(self.street, self.leaves.street):
            walk, level, next_blocks = walks[street], list[Visit](), list[tuple[int, int]]()
            for block, board in below:
                deals = []
                for leaf in range(walk.leaf_range[block, 3], walk.leaf_range[block, 4]):
                    node = int(walk.leaf[leaf])
                    next_block = int(walk.next_block[node])
                    first, last = arena.street_boards[street].next_boards[board : board + 2]
                    targets = []
                    for child in range(int(first), int(last)):
                        if street + 1 == self.leaves.street:
                            targets.append((first_leaf[next_block] + child, child))
                        else:
                            targets.append((len(next_blocks), child))
                            next_blocks.append((next_block, child))
                    deals.append((node, targets))
                rows = new_street_rows(walk, int(sizes[block]), arena.compute_dtype)
                level.append(Visit(street, block, board, rows, deals))
            levels.append(level)
            below = next_blocks
        return levels

    @cached_property
    def roots(self) -> Ints:
        if self.street == 0:
            return np.zeros((1, 4), np.int64)
        return StreetSubgames(self.blueprint, self.street).roots

    def walk(
        self, player: int, tables: HoldemTables, mode: int, own_reach: Floats, opponent: Floats
    ) -> Floats:
        """Walk all subgames down to the leaves; best responses walk the whole game instead."""
        if mode == street_walk.MODE_BEST:
            return super().walk(player, tables, mode, own_reach, opponent)
        levels = self.walk_above(player, tables, mode, own_reach, opponent)
        return np.array([visit.rows.value[0] for visit in levels[0]], np.float64)

    def walk_above(
        self, player: int, tables: HoldemTables, mode: int, own_reach: Floats, opponent: Floats
    ) -> list[list[Visit]]:
        """Walk the streets above the cut; return their blocks by street, with values and reach.

        See `walk`; the rows of the blocks are overwritten by the player's next walk.
        """
        levels = self._visits[player]
        scale = 1.0 / self.arena.num_pairs if self.street == 0 else 1.0
        for visit, own, other in zip(levels[0], own_reach, opponent, strict=True):
            visit.rows.own_reach[0], visit.rows.opponent_reach[0] = own, other * scale
        own_leaf, other_leaf = self._descend(player, tables, mode)
        values = self.leaves.walk(player, tables, mode, own_leaf, other_leaf)
        self._ascend(player, tables, mode, values)
        return levels

    def _descend(self, player: int, tables: HoldemTables, mode: int) -> tuple[Floats, Floats]:
        """Set the reach of all blocks above the cut; return that of both players at the leaves."""
        arena, levels = self.arena, self._visits[player]
        scratch = arena.scratch(player).threads[0]
        shape = self._num_leaves, arena.num_hands(self.leaves.street)
        own_leaf, other_leaf = np.zeros(shape), np.zeros(shape)
        for visit in (visit for level in levels for visit in level):
            walk, rows = arena.walks[player][visit.street], visit.rows
            deal_walk.descend_block(walk, tables, scratch, rows, visit.block, visit.board, mode)
            boards, depth = arena.street_boards[visit.street + 1], visit.street + 1 - self.street
            for node, targets in visit.deals:
                own = rows.own_reach[walk.own_row[node]]
                other = rows.opponent_reach[walk.opponent_row[node]] * boards.chance
                for target, child in targets:
                    hands = boards.parent_hand[child]
                    if depth == len(levels):
                        own_leaf[target], other_leaf[target] = own[hands], other[hands]
                    else:
                        below = levels[depth][target].rows
                        below.own_reach[0], below.opponent_reach[0] = own[hands], other[hands]
        return own_leaf, other_leaf

    def _ascend(self, player: int, tables: HoldemTables, mode: int, leaf_values: Floats) -> None:
        """Set the values of all blocks above the cut, the last street first."""
        arena = self.arena
        scratch, below = arena.scratch(player).threads[0], leaf_values
        for level in reversed(self._visits[player]):
            for visit in level:
                walk, rows = arena.walks[player][visit.street], visit.rows
                here, boards = arena.street_boards[visit.street : visit.street + 2]
                for node, targets in visit.deals:
                    total = np.zeros(rows.value.shape[1])
                    for target, child in targets:
                        hands = boards.parent_hand[child]
                        total[hands] += boards.num_merged[child] * below[target][: hands.size]
                    orbit_row = int(here.orbit_row[visit.board])
                    if orbit_row >= 0:
                        total = _average_orbits(here.orbit[orbit_row], total)
                    rows.value[node - walk.block[visit.block]] = total
                deal_walk.ascend_block(
                    walk, tables, scratch, rows, visit.block, visit.board, mode,
                    arena.value_tolerance,
                )  # fmt: skip
            below = np.array([visit.rows.value[0] for visit in level])


def _average_orbits(orbit: Ints, values: Floats) -> Floats:
    """Return the values [hands], each hand at the mean of its orbit."""
    size = np.maximum(np.bincount(orbit, minlength=orbit.size), 1)
    means: Floats = (np.bincount(orbit, values, orbit.size) / size)[orbit]
    return means


def solve_to_street(
    blueprint: HoldemPolicy,
    cut: int,
    *,
    street: int = 0,
    method: str = "resolve",
    iterations: int = 200,
    continuations: Sequence[HoldemPolicy] | None = None,
) -> HoldemPolicy:
    """Solve a street, and those up to a cut, with continuations of the blueprint after it.

    The game is solved once for each player, whose opponent chooses the continuation. From the start
    of the game there is nothing to be safe against, so that `method` matters on later streets only.

    Args:
        blueprint: a policy on a `HoldemGameArena`.
        cut: betting round at whose start subgames end; later rounds keep the blueprint.
        street: betting round at which subgames begin.
        method: one of `METHODS`; see `resolve_street`.
        iterations: of CFR+.
        continuations: policies of the opponent after the cut; by default `bias_holdem_policy`.

    Raises:
        ConfigError: an argument does not fit, or the leaves do not fit into memory.
    """
    if method not in METHODS:
        raise ConfigError(f"method is {method!r}, must be one of {', '.join(METHODS)}")
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    if not isinstance(blueprint.arena, HoldemGameArena):
        raise ConfigError("the blueprint is a policy of a spot; take a game from the first card")
    arena = blueprint.arena
    check_zero_sum(arena, "depth-limited solving")
    weights = blueprint.weights.astype(arena.compute_dtype)
    fallback = weights.copy()
    for player in (0, 1):
        choice = ContinuationChoice(ContinuationValues(blueprint, cut, 1 - player, continuations))
        subgames = CutSubgames(blueprint, street, choice)
        if method == "unsafe" or street == 0:
            total = solve_unsafe(subgames, iterations, fallback)
        else:
            total = solve_gadget(subgames, Gadget(subgames, player, method), iterations, fallback)
        for number, node in enumerate(arena.betting.nodes):
            if node.kind == player and street <= node.state.street < cut:
                for board in range(arena.streets[node.state.street].num_boards):
                    piece = arena.piece_slice(number, board)
                    weights[piece] = total[piece]
    return HoldemPolicy(arena, weights, fallback)


def solve_nested(
    blueprint: HoldemPolicy,
    *,
    method: str = "resolve",
    iterations: int = 200,
    continuations: Sequence[HoldemPolicy] | None = None,
) -> HoldemPolicy:
    """Solve all streets in turn: each from the policy of those before, cut at the next one.

    The last street is solved to the end of the game. With `resolve` the result of each step is at
    most as exploitable as what it replaces, up to the choice of continuations and the iterations.

    Args:
        blueprint: a policy on a `HoldemGameArena`.
        method: of the streets after the first; see `resolve_street`.
        iterations: of CFR+, for each street and player.
        continuations: policies of the opponent after the cuts; by default those of the policy so
            far.
    """
    policy = blueprint
    last = len(policy.arena.streets) - 1
    for street in range(last):
        policy = solve_to_street(
            policy,
            street + 1,
            street=street,
            method=method,
            iterations=iterations,
            continuations=continuations,
        )
    return resolve_street(policy, last, method, iterations) if last else policy
