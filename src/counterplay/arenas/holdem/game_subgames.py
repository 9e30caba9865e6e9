"""Re-solve the later streets of a hold'em game from a blueprint policy: subgames as vectors.

A subgame is a betting block on a board: a public state at the start of a street. All subgames of a
street are independent and are solved at the same time, by the same walks as the whole game. The
re-solved policy follows the blueprint before that street.

For a player and a subgame, r is the own reach of its hands under the blueprint, and v are its
counterfactual best-response values (CBVs) against the blueprint, in chips times the opponent's
reach. Methods:

- `unsafe`: both players enter with their reach r.
- `resolve` (Burch, Johanson and Bowling, 2014): one player's policy is solved at a time. The
  opponent decides for each hand to enter (probability f) or to get v instead.
- `max_margin` (Moravcik et al., 2016): the opponent chooses a hand h, and gets its value less v(h),
  both divided by the player's reach that shares no card with h.
- `reach_max_margin` (Brown and Sandholm, 2017): as `max_margin`, with v raised by the gifts of the
  opponent's earlier mistakes (see `game_gifts`). Safe as `max_margin` is.
- `estimate`: as `resolve`, with v an estimate of what the opponent could get elsewhere: its value
  here, less that of its last action, plus that of the best other action there. Not safe.
- `combined` (ericgjackson/slumbot2019): as `resolve`, but the opponent's range in the player's
  updates is min(1, r + s (1 - r) f + u), where s <= 1 is the largest number with
  s sum((1 - r) f) <= 0.2 sum(r), and u = 0.1 (sum(r) + s sum((1 - r) f)) / number of hands.

Before they serve as alternatives, the CBVs of both players are made zero-sum in each subgame: with
m_i the opponent's reach that shares no card with a hand, v_i is lowered by a m_i, where
a = (r_0 v_0 + r_1 v_1) / (2 r_0 m_0), summed over hands.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import count, pairwise
from typing import Any

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_boards import hand_positions
from counterplay.core.arena import Floats, Ints
from counterplay.errors import ConfigError
from counterplay.kernels.holdem import board_walk, street_walk
from counterplay.kernels.holdem.types import HoldemTables
from counterplay.kernels.runtime.threads import run_in_threads
from counterplay.registry import get_spec

METHODS = ("unsafe", "resolve", "max_margin", "reach_max_margin", "estimate", "combined")
MAX_ADDED_SHARE = 0.2  # of the range that `combined` adds by follow probabilities
UNIFORM_SHARE = 0.1  # of the range that `combined` adds to all hands alike
MIN_MASS = 1e-6  # relative; the opponent of `max_margin` does not choose hands below it


@dataclass(frozen=True, eq=False)
class StreetSubgames:
    """All R subgames at the start of a street, with ranges and values under a blueprint."""

    blueprint: HoldemPolicy
    street: int

    def __post_init__(self) -> None:
        streets = len(self.arena.streets)
        if not 1 <= self.street < streets:
            raise ConfigError(
                f"street is {self.street}, must be from 1 to {streets - 1}: the game has {streets} "
                "betting rounds, and from the first on it is solved as a whole"
            )

    @property
    def arena(self) -> HoldemGameArena:
        """The whole game."""
        arena: HoldemGameArena = self.blueprint.arena
        return arena

    @cached_property
    def roots(self) -> Ints:
        """[R, 4] street, block and board of every subgame, and 0."""
        nodes, starts = self.arena.betting.nodes, self.arena.betting.block_starts[:-1]
        blocks = [b for b, n in enumerate(starts) if nodes[n].state.street == self.street]
        num_boards = self.arena.streets[self.street].num_boards
        return np.array([(self.street, b, g, 0) for b in blocks for g in range(num_boards)])

    @cached_property
    def ranges(self) -> tuple[Floats, Floats]:
        """Own reach [R, hands] of both players under the blueprint."""
        return self._own_reach(0), self._own_reach(1)

    def _own_reach(self, player: int) -> Floats:
        arena, nodes = self.arena, self.arena.betting.nodes
        reach: dict[int, Floats] = {}  # [boards, hands] by node
        parts = []
        for block, (first, last) in enumerate(pairwise(arena.betting.block_starts)):
            street, deal = nodes[first].state.street, arena.betting.block_parents[block]
            if street > self.street:  # blocks are in order of streets
                break
            if deal < 0:
                reach[first] = np.ones((1, arena.num_hands(0)))
            else:
                boards = arena.streets[street]
                hands = arena.street_boards[street].parent_hand
                reach[first] = np.take_along_axis(reach[deal][boards.parent], hands, axis=1)
            if street == self.street:
                parts.append(reach[first])
                continue
            for number in range(first, last):
                node = nodes[number]
                for a in range(len(node.actions)):
                    reach[node.first_child + a] = reach[number]
                if node.kind != player:
                    continue
                numbers = range(arena.streets[street].num_boards)
                policy = np.array([self.blueprint.probabilities_at(number, g) for g in numbers])
                for a in range(len(node.actions)):
                    reach[node.first_child + a] = reach[number] * policy[:, a]
            for number in range(first, last):
                if nodes[number].kind != DEAL:
                    reach.pop(number)
        return np.concatenate(parts)

    @cached_property
    def best_response_values(self) -> tuple[Floats, Floats]:
        """CBVs [R, hands] of both players against the blueprint."""
        tables = self.arena.policy_tables(self.blueprint)
        ones = np.ones_like(self.ranges[0])
        first, second = (
            self.walk(player, tables, street_walk.MODE_BEST, ones, self.ranges[1 - player])
            for player in (0, 1)
        )
        return first, second

    @cached_property
    def zero_sum_values(self) -> tuple[Floats, Floats]:
        """`best_response_values`, shifted so that they add up to zero in each subgame."""
        first_mass, second_mass = (opponent_mass(self.arena, self.street, r) for r in self.ranges)
        masses = second_mass, first_mass
        total = (self.ranges[0] * masses[0]).sum(axis=1, keepdims=True)
        gain = sum(
            (reach * value).sum(axis=1, keepdims=True)
            for reach, value in zip(self.ranges, self.best_response_values, strict=True)
        )
        shift = np.divide(gain, 2.0 * total, out=np.zeros_like(total), where=total > 0.0)
        first, second = (
            value - shift * mass
            for value, mass in zip(self.best_response_values, masses, strict=True)
        )
        return first, second

    def alternatives(self, opponent: int, method: str) -> Floats:
        """Return the opponent's alternative values [R, hands] of a method, times own reach."""
        from counterplay.arenas.holdem.game_gifts import last_gaps, sum_gifts

        values = self.zero_sum_values[opponent]
        if method not in ("reach_max_margin", "estimate"):
            return values
        added = (sum_gifts if method == "reach_max_margin" else last_gaps)(self, opponent)
        return values + added * opponent_mass(self.arena, self.street, self.ranges[1 - opponent])

    def walk(
        self, player: int, tables: HoldemTables, mode: int, own_reach: Floats, opponent: Floats
    ) -> Floats:
        """Walk all subgames for one player; return its values [R, hands] at their roots.

        Args:
            player: the player who walks.
            tables: tables of the whole game.
            mode: as in `street_walk`.
            own_reach: [R, hands] of the player.
            opponent: [R, hands] reach of the opponent.
        """
        arena, dtype = self.arena, self.arena.compute_dtype
        scratch, walks, roots = arena.scratch(player), arena.walks[player], self.roots
        reach = own_reach.astype(dtype), opponent.astype(dtype), np.zeros(own_reach.shape, dtype)
        num_parts, tasks = arena.num_parts(len(roots)), count()

        def work(thread: int, _: int) -> None:
            while (part := next(tasks)) < num_parts:
                board_walk.walk_roots(
                    walks, arena.street_boards, tables, scratch.threads[thread],
                    scratch.rows[thread], scratch.stacks[thread], scratch.top, roots, reach,
                    part, num_parts, mode, arena.value_tolerance,
                )  # fmt: skip

        threads = range(min(len(scratch.threads), num_parts))
        run_in_threads(work, [(thread, thread + 1) for thread in threads])
        return reach[2].astype(np.float64)

    def mix_range(self, reach: Floats, follow: Floats) -> Floats:
        """Return the opponent's range [R, hands] of the method `combined`."""
        rest = np.maximum(1.0 - reach, 0.0) * follow
        total, added = reach.sum(axis=1, keepdims=True), rest.sum(axis=1, keepdims=True)
        is_capped = (total > 0.0) & (added > MAX_ADDED_SHARE * total)
        ratio = np.divide(
            MAX_ADDED_SHARE * total, added, out=np.ones_like(added), where=added > 0.0
        )
        scale = np.where(is_capped, ratio, 1.0)
        uniform = UNIFORM_SHARE * (total + scale * added) / reach.shape[1]
        return np.minimum(reach + scale * rest + uniform, 1.0)


def opponent_mass(arena: HoldemGameArena, street: int, reach: Floats) -> Floats:
    """Return the opponent's reach over the hands of a street without a common card.

    Args:
        arena: the game.
        street: betting round.
        reach: [R, hands] of the opponent; so is the result, by the player's hands.
    """
    num_free = arena.streets[street].free_cards.shape[1]
    positions = hand_positions(num_free, arena.game.num_hole_cards)
    by_card = np.zeros((num_free, len(reach)))
    for column in positions.T:
        np.add.at(by_card, column, reach.T)
    mass = reach.sum(axis=1, keepdims=True) - sum(by_card[column].T for column in positions.T)
    return mass + reach if positions.shape[1] == 2 else mass


def resolve_street(
    blueprint: HoldemPolicy,
    street: int,
    method: str = "resolve",
    iterations: int = 200,
    fallback_weights: Any = None,
    algorithm: Any = None,
) -> HoldemPolicy:
    """Re-solve all subgames that begin on a street, and return the combined policy.

    By default subgames are solved by CFR+ as in Slumbot's code: the average gives weight 1 to the
    first half of the iterations, then 1, 2, 3, ... Player 0 updates first in each iteration, and
    the policy after its update enters its average; that of player 1 enters before its update. The
    opponent's choices at the roots are learned by regret matching+ with any algorithm.

    Args:
        blueprint: a policy on a `HoldemGameArena`.
        street: betting round from which on the policy is replaced; 1 is the one after the flop.
        method: one of `METHODS`.
        iterations: of the algorithm.
        fallback_weights: [S] table of the policy where no regret is positive, or no iteration
            reached a hand; the blueprint by default.
        algorithm: another algorithm that runs on vectors, such as `DCFR(gamma=3)`.

    Raises:
        ConfigError: the method is unknown, the street is not one of the later ones, the algorithm
            needs a tree, the policy is that of a spot, or the game pays prizes and the method is
            not "unsafe".

    Example:
        >>> import counterplay as cp
        >>> from counterplay.arenas.holdem.game_arena import HoldemGameArena
        >>> from counterplay.arenas.holdem.game_subgames import resolve_street
        >>> arena = HoldemGameArena(cp.load_game("custom_holdem(num_ranks=3,board_cards=(0,1))"))
        >>> blueprint = cp.solve(arena, "cfr_plus", iterations=10).policy
        >>> policy = resolve_street(blueprint, 1, "max_margin", algorithm=cp.algorithms.DCFR())
        >>> cp.exploitability(arena, policy) < cp.exploitability(arena, blueprint)
        True
    """
    if method not in METHODS:
        raise ConfigError(f"method is {method!r}, must be one of {', '.join(METHODS)}")
    if iterations < 1:
        raise ConfigError(f"iterations is {iterations}, must be at least 1")
    if not isinstance(blueprint.arena, HoldemGameArena):
        raise ConfigError("the blueprint is a policy of a spot; take a game from the first card")
    if algorithm is not None:
        check_vector_algorithm(algorithm)
    if method != "unsafe":
        check_zero_sum(blueprint.arena, method)
    subgames = StreetSubgames(blueprint, street)
    dtype = subgames.arena.compute_dtype
    fallback = np.asarray(
        blueprint.weights if fallback_weights is None else fallback_weights
    ).astype(dtype)
    weights = blueprint.weights.astype(dtype)

    def solve(gadget: Gadget | None) -> Floats:
        if algorithm is not None:
            return solve_by_algorithm(subgames, gadget, algorithm, iterations)
        if gadget is None:
            return solve_unsafe(subgames, iterations, fallback)
        return solve_gadget(subgames, gadget, iterations, fallback)

    if method == "unsafe":
        totals = [solve(None)] * 2
    else:
        totals = [solve(Gadget(subgames, player, method)) for player in (0, 1)]
    arena = subgames.arena
    for number, node in enumerate(arena.betting.nodes):
        if node.kind < FOLD and node.state.street >= street:
            for board in range(arena.streets[node.state.street].num_boards):
                piece = arena.piece_slice(number, board)
                weights[piece] = totals[node.kind][piece]
    return HoldemPolicy(arena, weights, fallback)


class Gadget:
    """The opponent's choices at the roots, learned by regret matching+.

    Args:
        subgames: the subgames.
        player: the player whose policy is solved for.
        method: one of `METHODS`, but not `unsafe`.
    """

    def __init__(self, subgames: StreetSubgames, player: int, method: str):
        self.subgames, self.player, self.method = subgames, player, method
        self.alternatives = subgames.alternatives(1 - player, method)
        self.has_margins = method in ("max_margin", "reach_max_margin")
        if self.has_margins:
            self.mass = opponent_mass(subgames.arena, subgames.street, subgames.ranges[player])
            self.is_live = self.mass > MIN_MASS * self.mass.max(axis=1, keepdims=True)
            self.regret = np.zeros((1, *self.mass.shape))  # of each hand
        else:
            self.regret = np.zeros((2, *self.alternatives.shape))  # of entering, of the alternative

    @property
    def choice(self) -> Floats:
        """Probability [R, hands] of each hand in the opponent's choice of a hand."""
        total, count = (x.sum(axis=1, keepdims=True) for x in (self.regret[0], self.is_live))
        uniform = np.divide(self.is_live, count, out=np.zeros_like(self.mass), where=count > 0)
        return np.divide(self.regret[0], total, out=uniform, where=total > 0.0)

    @property
    def entering(self) -> Floats:
        """The opponent's reach [R, hands] at the roots."""
        if self.has_margins:
            # any constant in a root is right: this one makes it about 1 for each hand
            scale = (self.mass * self.is_live).sum(axis=1, keepdims=True)
            share = np.zeros_like(self.mass)
            return np.divide(self.choice * scale, self.mass, out=share, where=self.is_live)
        total = self.regret.sum(axis=0)
        follow = np.divide(self.regret[0], total, out=np.ones_like(total), where=total > 0.0)
        if self.method == "combined":
            return self.subgames.mix_range(self.subgames.ranges[1 - self.player], follow)
        return follow

    def update(self, entering: Floats, values: Floats) -> None:
        """Add regrets.

        Args:
            entering: [R, hands] as `entering` had it.
            values: [R, hands] the opponent's cf_values at the roots.
        """
        if self.has_margins:
            margin = np.zeros_like(values)
            np.divide(values - self.alternatives, self.mass, out=margin, where=self.is_live)
            mean = (self.choice * margin).sum(axis=1, keepdims=True)
            gain = np.where(self.is_live, margin - mean, 0.0)
            self.regret[0] = np.maximum(self.regret[0] + gain, 0.0)
            return
        mean = entering * values + (1.0 - entering) * self.alternatives
        self.regret[0] = np.maximum(self.regret[0] + values - mean, 0.0)
        self.regret[1] = np.maximum(self.regret[1] + self.alternatives - mean, 0.0)


class SubgamesArena(HoldemGameArena):
    """All subgames of a street, with a gadget, as an arena for algorithms on vectors.

    Args:
        subgames: the subgames.
        gadget: the opponent's choices; None for `unsafe`.
    """

    def __init__(self, subgames: StreetSubgames, gadget: Gadget | None):
        self.__dict__.update(subgames.arena.__dict__)
        self.subgames, self.gadget = subgames, gadget

    def walk(self, player: int, tables: HoldemTables, mode: int) -> Floats:
        """Walk all subgames for one player; return its cf_values [R, hands] at the roots."""
        subgames, gadget, ranges = self.subgames, self.gadget, self.subgames.ranges
        if gadget is None:
            return subgames.walk(player, tables, mode, ranges[player], ranges[1 - player])
        entering, own = gadget.entering, ranges[gadget.player]
        if player == gadget.player:
            return subgames.walk(player, tables, mode, own, entering)
        values = subgames.walk(player, tables, mode, entering, own)
        gadget.update(entering, values)
        return values


def solve_by_algorithm(
    subgames: StreetSubgames, gadget: Gadget | None, algorithm: Any, iterations: int
) -> Floats:
    """Return the policy weights [S] of an algorithm's average policy."""
    arena = SubgamesArena(subgames, gadget)
    memory = algorithm.step(arena, algorithm.init(arena), iterations)
    policy: HoldemPolicy = next(iter(algorithm.policies(arena, memory).values()))
    weights: Floats = policy.weights
    return weights


def check_vector_algorithm(algorithm: Any) -> None:
    """Raise ConfigError if an algorithm does not run on vectors over hands."""
    if "vectors" not in getattr(algorithm, "runs_on", ()):
        raise ConfigError(
            f"{get_spec(algorithm)} does not run on hold'em arenas; take cfr_plus or dcfr"
        )


def check_zero_sum(arena: HoldemGameArena, what: str) -> None:
    """Raise ConfigError if a game is not zero-sum, which alternative values need."""
    if arena.value_sum is None:
        raise ConfigError(f"{what} needs a zero-sum game; {arena.spec} pays prizes")


def cfr_plus_tables(
    regret: Floats, policy_sum: Floats, fallback: Floats, weight: float
) -> HoldemTables:
    """Return the arguments of a walk that updates one player by CFR+, without locks.

    Args:
        regret: [S], changed by the walk.
        policy_sum: [1, S], changed by the walk.
        fallback: [S] weights of actions where no regret is positive.
        weight: weight of this iteration in the average.
    """
    no_scales = np.zeros(0, np.float32)
    return HoldemTables(
        policy_weights=regret,
        fallback_weights=fallback,
        regret=regret,
        regret_scale=no_scales,
        policy_weights_scale=no_scales,
        policy_sum=policy_sum,
        policy_sum_scale=no_scales.reshape(1, 0),
        lock_offset=np.zeros(0, np.int64),
        lock_weights=np.zeros(0),
        discounts=np.array([1.0, 0.0, 0.0]),
        sum_decay=np.ones(1),
        sum_weight=np.array([weight]),
    )


class CFRPlusTables:
    """Regrets and averages of CFR+ on the tables of the whole game."""

    def __init__(self, subgames: StreetSubgames, iterations: int, fallback: Floats):
        self.subgames, self.iterations, self.fallback = subgames, iterations, fallback
        self.regret = np.zeros_like(fallback)
        self.policy_sum = np.zeros((1, fallback.size), fallback.dtype)

    def average_weight(self, t: int) -> float:
        """Return the weight of iteration t = 1, 2, ... in the average; 0 for t = 0."""
        return float(max(1, t - self.iterations // 2)) if t else 0.0

    def update(self, player: int, t: int, own_reach: Floats, opponent: Floats) -> Floats:
        """Run the half iteration t of a player; return its values [R, hands] at the roots."""
        weight = self.average_weight(t - 1 if player == 0 else t)
        tables = cfr_plus_tables(self.regret, self.policy_sum, self.fallback, weight)
        return self.subgames.walk(player, tables, street_walk.MODE_LEARN, own_reach, opponent)


def solve_unsafe(subgames: StreetSubgames, iterations: int, fallback: Floats) -> Floats:
    """Return the policy sums [S] of both players."""
    tables, ranges = CFRPlusTables(subgames, iterations, fallback), subgames.ranges
    for t in range(1, iterations + 1):
        for player in (0, 1):
            tables.update(player, t, ranges[player], ranges[1 - player])
    tables.update(0, iterations + 1, ranges[0], ranges[1])  # adds the last policy of player 0
    return tables.policy_sum[0]


def solve_gadget(
    subgames: StreetSubgames, gadget: Gadget, iterations: int, fallback: Floats
) -> Floats:
    """Return the policy sums [S] of the gadget's player by CFR+."""
    tables, player, ranges = (
        CFRPlusTables(subgames, iterations, fallback),
        gadget.player,
        subgames.ranges,
    )
    for t in range(1, iterations + 1):
        for walker in (0, 1):
            entering = gadget.entering
            if walker == player:
                tables.update(player, t, ranges[player], entering)
            else:
                values = tables.update(walker, t, entering, ranges[player])
                gadget.update(entering, values)
    if player == 0:
        tables.update(0, iterations + 1, ranges[0], ranges[1])  # adds its last policy
    return tables.policy_sum[0]
