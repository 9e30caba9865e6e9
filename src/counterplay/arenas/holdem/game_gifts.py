"""Values that an opponent had above the subgames of a street: gifts and best other actions.

With b the best-response values of the opponent against a blueprint, divided by the reach of its
hand without the opponent:

- The gift of an action a at a decision x is max b(x, .) - b(x, a), what the opponent gives away by
  it. The gifts on the way to a subgame raise the alternatives of `reach_max_margin` (Brown and
  Sandholm, 2017).
- The gap of an action a is max b(x, other actions) - b(x, a). That of the opponent's last action is
  added in `estimate`.
"""

from __future__ import annotations

import numpy as np

from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_depth_limited import CutSubgames, LeafValues, Visit
from counterplay.arenas.holdem.game_subgames import StreetSubgames, opponent_mass
from counterplay.core.arena import Floats
from counterplay.kernels.holdem import street_walk
from counterplay.kernels.holdem.types import HoldemTables


class _FixedLeaves(LeafValues):
    """Leaves whose values [R, hands] are known."""

    def __init__(self, street: int, values: Floats):
        self.street, self.values = street, values

    def walk(
        self, player: int, tables: HoldemTables, mode: int, own: Floats, other: Floats
    ) -> Floats:
        """See `LeafValues`."""
        return self.values


def sum_gifts(subgames: StreetSubgames, opponent: int) -> Floats:
    """Return the gifts [R, hands] of the opponent's actions before each subgame.

    They are conditional on the hand at the root: chips, not times the player's reach.

    Args:
        subgames: the subgames of a street, and the blueprint.
        opponent: the player who gives.
    """
    return _carry_down(subgames, opponent, is_sum=True)


def last_gaps(subgames: StreetSubgames, opponent: int) -> Floats:
    """Return the gaps [R, hands] of the opponent's last action before each subgame.

    They are 0 where it has not acted. See `sum_gifts` for the arguments and the unit.
    """
    return _carry_down(subgames, opponent, is_sum=False)


def _carry_down(subgames: StreetSubgames, opponent: int, is_sum: bool) -> Floats:
    arena, blueprint = subgames.arena, subgames.blueprint
    scale = np.prod([s.chance for s in arena.streets[1 : subgames.street + 1]]) / arena.num_pairs
    leaves = _FixedLeaves(subgames.street, subgames.best_response_values[opponent] * scale)
    cut = CutSubgames(blueprint, 0, leaves)
    reach = np.ones((1, arena.num_hands(0)))
    levels = cut.walk_above(
        opponent, arena.policy_tables(blueprint), street_walk.MODE_BEST, reach, reach
    )
    carried = [[np.zeros(arena.num_hands(0))]]  # by visit of the level, at the start of its block
    result = np.zeros_like(subgames.ranges[opponent])
    for depth, level in enumerate(levels):
        if depth + 1 < len(levels):
            below = [np.zeros(0)] * len(levels[depth + 1])
        boards = arena.street_boards[depth + 1]
        for visit, start in zip(level, carried[-1], strict=True):
            at_node = _carry_through_block(arena, opponent, visit, start, is_sum)
            for node, targets in visit.deals:
                for target, child in targets:
                    row = at_node[node][boards.parent_hand[child]]
                    if depth + 1 == len(levels):
                        result[target] = row[: result.shape[1]]
                    else:
                        below[target] = row
        if depth + 1 < len(levels):
            carried.append(below)
    return result


def _carry_through_block(
    arena: HoldemGameArena, opponent: int, visit: Visit, start: Floats, is_sum: bool
) -> dict[int, Floats]:
    """Return the sums or the last gaps [hands] at all nodes of a block."""
    nodes, walk = arena.betting.nodes, arena.walks[opponent][visit.street]
    base, end = (int(n) for n in walk.block[visit.block : visit.block + 2])
    at_node = {base: start}
    for number in range(base, end):
        node = nodes[number]
        if node.kind >= FOLD:
            continue
        count = len(node.actions)
        children = range(node.first_child, node.first_child + count)
        if node.kind != opponent or count == 1:
            at_node |= dict.fromkeys(children, at_node[number])
            continue
        rows = slice(node.first_child - base, node.first_child - base + count)
        values = visit.rows.value[rows].astype(np.float64)
        reach = visit.rows.opponent_reach[walk.opponent_row[number]].astype(np.float64)
        mass = opponent_mass(arena, visit.street, reach[None, : values.shape[1]])[0]
        for a, child in enumerate(children):
            others = values if is_sum else np.delete(values, a, axis=0)
            gap = others.max(axis=0) - values[a]
            gap = np.divide(gap, mass, out=np.zeros_like(gap), where=mass > 0.0)
            at_node[child] = at_node[number] + gap if is_sum else gap
    return at_node
