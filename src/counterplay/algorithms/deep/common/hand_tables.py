"""Networks as tables of a hold'em arena: all hands of many boards at once.

An observation of poker is the sum of a part of the cards and a part of the betting, so the first
layer of a network is evaluated once for each hand and once for each betting node. Of hands that a
board's suits cannot tell apart one is evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple

import jax
import numpy as np

from counterplay.algorithms.deep.common.jax_algorithm import lazy_jit
from counterplay.algorithms.deep.common.network_policy import HEADS_BY_NAME, NetworkPolicy
from counterplay.algorithms.deep.common.networks import (
    apply_net_to_sums,
    num_outputs,
    select_player,
)
from counterplay.algorithms.deep.common.rollouts import round_up_size
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.hand_states import (
    UNKNOWN_CARD,
    HandStates,
    Progress,
    check_fits_arena,
    tabulate_agent,
)
from counterplay.arenas.tree.size_estimate import available_memory, format_gib
from counterplay.core.arena import Floats, Ints
from counterplay.core.observations import KeyObservedGame
from counterplay.errors import ConfigError
from counterplay.games.compiled.poker import CHIPS, DEALT
from counterplay.games.compiled.protocol import CompiledGame, find_observed_game

DEFAULT_BATCH_SIZE = 8192  # hands that one call of a network evaluates, at all betting nodes
NUM_CHECKED_STATES = 8  # at which observations are compared with those of the rules
OBSERVATION_TOLERANCE = 1e-5


Reach = dict[int, Any]
"""Both players' own reach [K, 2, rows] under each network, by deal; empty with one network."""


class TabulationEstimate(NamedTuple):
    """The cost of putting networks on an arena."""

    num_infosets: int  # at which every network is evaluated
    num_networks: int
    seconds: float
    num_bytes: int  # of the table and of a batch


class BoardRows(NamedTuple):
    """The distinct hands of consecutive boards of a street."""

    boards: range
    first_row: Ints  # [B + 1] of each board
    orbits: list[Ints]  # of each board: the row of each hand, from the board's first row on
    board_of_row: Ints  # [R]
    hand: Ints  # [R] number of the hand on its board


@dataclass(frozen=True, eq=False)
class HandTables:
    """Tabulation of a policy of networks on a hold'em arena."""

    policy: NetworkPolicy
    arena: HoldemGameArena
    batch_size: int = DEFAULT_BATCH_SIZE

    @cached_property
    def states(self) -> HandStates:
        return HandStates(self.arena)

    @cached_property
    def machine(self) -> CompiledGame | None:
        """The compiled rules with the observations of the policy's game, if there are any."""
        return find_observed_game(self.policy.game)

    @cached_property
    def num_features(self) -> int:
        """Length of an observation."""
        first: Any = self.policy.nets[0]
        while not hasattr(first, "shape"):
            first = first[0]
        return int(first.shape[-2])

    # observations as sums

    @cached_property
    def _empty_observation(self) -> tuple[Floats, Floats]:
        """The observations of both players before any card and action."""
        game: Any = self.policy.game
        start = self.arena.game.initial_state()
        parts: list[Any] = [np.array(game.observation(start, p), np.float32) for p in (0, 1)]
        return parts[0], parts[1]

    @cached_property
    def node_parts(self) -> dict[int, Floats]:
        """The part [X] of the betting, by decision node."""
        game: Any = self.policy.game
        parts = {}
        for number, state in enumerate(self.states.node_states):
            if state is not None:
                player = state.to_act
                row = np.array(game.observation(state._replace(cards=()), player), np.float32)
                parts[number] = row - self._empty_observation[player]
        return parts

    def card_parts(self, player: int, boards: Ints, hands: Ints) -> Floats:
        """Return the parts [R, X] of the cards: of hands [R, hole cards] on boards [R, b]."""
        game: Any = self.arena.game
        count, players = game.num_hole_cards, game.num_players
        ordered = np.sort(hands, axis=1)
        if self.machine is None:
            start, rows = game.initial_state(), []
            for board, hand in zip(boards.tolist(), ordered.tolist(), strict=True):
                private = [UNKNOWN_CARD] * (count * players)
                private[count * player : count * (player + 1)] = hand
                state = start._replace(cards=(*private, *board))
                rows.append(self.policy.game.observation(state, player))  # type: ignore[attr-defined]
            return np.array(rows, np.float32)
        states = np.repeat(self.machine.initial_state[None], len(hands), axis=0)
        first = CHIPS + 3 * players
        states[:, first + count * player : first + count * (player + 1)] = ordered
        states[:, first + count * players : first + count * players + boards.shape[1]] = boards
        states[:, DEALT] = count * players + boards.shape[1]
        viewers = np.full(len(hands), player)
        rows_of_states: Floats = self.machine.compute_observations(
            states, viewers, self.num_features
        )
        return rows_of_states

    def check(self) -> None:
        """Raise ConfigError if the policy does not fit the arena, or memory does not suffice."""
        check_fits_arena(self.policy, self.arena)
        if self.batch_size < 1:
            raise ConfigError(f"batch_size is {self.batch_size}, must be at least 1")
        game: Any = self.policy.game
        needed, free = self.num_bytes, available_memory()
        if needed > 0.9 * free:
            raise ConfigError(
                f"a table of {self.arena.spec} and networks at {self.batch_size:,} hands at a time "
                f"need {format_gib(needed)} where {format_gib(free)} are free: take a smaller "
                "batch_size"
            )
        width = len(self._empty_observation[0])
        if width != self.num_features:
            raise ConfigError(
                f"the networks have {self.num_features} inputs, an observation of "
                f"{self.arena.spec} has {width} features"
            )
        rng = np.random.default_rng(0)
        nodes = list(self.node_parts)
        for _ in range(NUM_CHECKED_STATES):
            node = int(rng.choice(nodes))
            kind, street = (
                self.arena.betting.nodes[node].kind,
                self.arena.betting.nodes[node].state.street,
            )
            board = int(rng.integers(self.arena.streets[street].num_boards))
            hand = rng.choice(self.arena.hand_cards(street, board))
            cards = self.arena.streets[street].cards[board]
            state = self.states.hand_state(node, tuple(cards.tolist()), tuple(hand.tolist()))
            expected = np.array(game.observation(state, kind), np.float32)
            total = self.card_parts(kind, cards[None], hand[None])[0] + self.node_parts[node]
            if not np.allclose(total, expected, atol=OBSERVATION_TOLERANCE):
                raise ConfigError(
                    f"observations of {self.arena.spec} are not a sum of a part of the cards and "
                    "one of the betting, which networks on a hold'em arena need"
                )

    @property
    def num_bytes(self) -> int:
        """Bytes of the table and of the largest batch, about."""
        by_player = [nodes for street in self.states.nodes_by_street for nodes in street.values()]
        most_nodes = max(map(len, by_player))
        outputs = num_outputs(self.policy.nets[0])
        widths = max(leaf.shape[-1] for leaf in jax.tree.leaves(self.policy.nets[0]))
        batch = (
            4 * self.batch_size * (4 * self.num_features + 6 * widths + 3 * most_nodes * outputs)
        )
        table = self.arena.num_sequences * np.dtype(self.arena.compute_dtype).itemsize
        deals = sum(node.kind == DEAL for node in self.arena.betting.nodes)
        reach = 8 * self.batch_size * deals * len(self.policy.nets) * (len(self.policy.nets) > 1)
        return int(table + batch + reach)

    # evaluation

    def tabulate(self, progress: Progress | None = None) -> HoldemPolicy:
        """Return the policy as a table; several networks are averaged by reach."""
        self.check()
        weights = np.zeros(self.arena.num_sequences, self.arena.compute_dtype)
        self._fill_street(0, 0, {}, weights, _Counter(progress))
        return HoldemPolicy(self.arena, weights, weights[:0])

    def estimate(self) -> TabulationEstimate:
        """Return the cost, from the time that one batch takes; `tabulate` checks first."""
        self.check()
        street = max(
            range(len(self.arena.streets)),
            key=lambda s: self.arena.streets[s].num_boards * self.arena.num_hands(s),
        )
        rows = next(self._batches(street, range(self.arena.streets[street].num_boards)))
        per_row = float("inf")
        for _ in range(2):  # the first compiles
            start, count = perf_counter(), 0
            for player, nodes in self.states.nodes_by_street[street].items():
                cards = self._card_parts_of(player, street, rows)
                self._probabilities(self.policy.nets[0], player, nodes, cards)
                count += len(nodes) * len(rows.hand)
            per_row = min(per_row, (perf_counter() - start) / max(count, 1))
        infosets, networks = self.states.num_rows, len(self.policy.nets)
        seconds = per_row * infosets * networks
        return TabulationEstimate(infosets, networks, seconds, self.num_bytes)

    def _fill_street(
        self, street: int, parent: int, reach: Reach, weights: Any, counter: _Counter
    ) -> None:
        """Fill the boards that extend a parent board, and all later streets.

        Args:
            street: the street to fill.
            parent: the board of the street before.
            reach: of the deals that lead to the street, with the hands of the parent board.
            weights: the table, changed in place.
            counter: of infosets.
        """
        before = self.arena.streets[max(street - 1, 0)].next_boards
        boards = range(1) if street == 0 else range(int(before[parent]), int(before[parent + 1]))
        num_nodes = sum(map(len, self.states.nodes_by_street[street].values()))
        for rows in self._batches(street, boards):
            if street and reach:
                hands = self.arena.street_boards[street].parent_hand[rows.board_of_row, rows.hand]
                reach_of_rows = {deal: array[..., hands] for deal, array in reach.items()}
            else:
                reach_of_rows = {}
            after = self._fill_rows(street, rows, reach_of_rows, weights)
            counter.add(num_nodes * len(rows.hand))
            if street + 1 < len(self.arena.streets):
                for k, board in enumerate(rows.boards):
                    index = rows.first_row[k] + rows.orbits[k]
                    by_hand = {deal: array[..., index] for deal, array in after.items()}
                    self._fill_street(street + 1, board, by_hand, weights, counter)

    def _fill_rows(self, street: int, rows: BoardRows, reach: Reach, weights: Any) -> Reach:
        """Fill the table at some boards, and return the reach of the deals after the street."""
        nets, by_player = self.policy.nets, self.states.nodes_by_street[street]
        cards = {p: self._card_parts_of(p, street, rows) for p, nodes in by_player.items() if nodes}
        total: dict[int, Any] = {}
        after: Reach = {}
        for k, net in enumerate(nets):
            probs: dict[int, Any] = {}
            for player, nodes in by_player.items():
                if nodes:
                    table = self._probabilities(net, player, nodes, cards[player])
                    probs |= dict(zip(nodes, table, strict=True))
            if len(nets) == 1:
                total = probs
            else:
                self._add_by_reach(street, k, probs, reach, total, after)
        for node, row_weights in total.items():
            for k, board in enumerate(rows.boards):
                values = row_weights[rows.first_row[k] + rows.orbits[k]]
                weights[self.arena.piece_slice(node, board)] = values.T.ravel()
        return after

    def _add_by_reach(
        self, street: int, k: int, probs: dict[int, Any], reach: Reach, total: Any, after: Reach
    ) -> None:
        """Add network k's probabilities, weighted by its weight and the player's own reach.

        Args:
            street: of the nodes.
            k: number of the network.
            probs: its probabilities [R, actions] by decision node.
            reach: of the deals before the street.
            total: sums [R, actions] by decision node, changed in place.
            after: reach of the deals after the street, changed in place.
        """
        betting, count = self.arena.betting, len(next(iter(probs.values())))
        own: dict[int, Any] = {}
        for node, info in enumerate(betting.nodes):
            if info.state.street != street:
                continue
            if info.parent < 0:
                deal = betting.block_parents[info.block]
                own[node] = reach[deal][k] if deal in reach else np.ones((2, count), np.float32)
            if info.kind == DEAL:
                if node not in after:
                    after[node] = np.empty((len(self.policy.nets), 2, count), np.float32)
                after[node][k] = own[node]
            if node not in probs:
                continue
            mine = own[node][info.kind][:, None] * probs[node]
            share = np.float32(self.policy.weights[k]) * mine
            total[node] = total[node] + share if node in total else share
            for action in range(len(info.actions)):
                child = own[node].copy()
                child[info.kind] = mine[:, action]
                own[info.first_child + action] = child

    def _batches(self, street: int, boards: range) -> Iterator[BoardRows]:
        """Yield consecutive boards whose distinct hands fill a batch; at least one board each."""
        first_board = boards.start
        hands: list[tuple[Ints, Ints]] = []
        size = 0
        for board in boards:
            distinct = self.states.distinct_hands(street, board)
            if hands and size + len(distinct[0]) > self.batch_size:
                yield _collect_rows(first_board, hands)
                first_board, hands, size = board, [], 0
            hands.append(distinct)
            size += len(distinct[0])
        if hands:
            yield _collect_rows(first_board, hands)

    def _card_parts_of(self, player: int, street: int, rows: BoardRows) -> Floats:
        positions = [
            self.arena.hand_cards(street, board)[rows.hand[a:b]]
            for board, a, b in zip(
                rows.boards, rows.first_row[:-1].tolist(), rows.first_row[1:].tolist(), strict=True
            )
        ]
        boards = self.arena.streets[street].cards[rows.board_of_row]
        return self.card_parts(player, boards, np.concatenate(positions))

    def _probabilities(self, net: Any, player: int, nodes: list[int], cards: Any) -> list[Any]:
        """Return the probabilities [R, actions] of rows at each of some nodes of a player."""
        if not nodes:
            return []
        states: Any = self.states.node_states
        actions = [list(self.arena.game.actions(states[node])) for node in nodes]
        legal = np.zeros((len(nodes), num_outputs(net)), bool)
        for row, numbers in enumerate(actions):
            legal[row, numbers] = True
        offsets = np.stack([self.node_parts[node] for node in nodes])
        parts = []
        for first in range(0, len(cards), self.batch_size):
            part = cards[first : first + self.batch_size]
            size = min(self.batch_size, round_up_size(len(part)))
            padded = np.pad(part, ((0, size - len(part)), (0, 0)))
            outputs = evaluate_hands(self.policy.head, net, player, padded, offsets, legal)
            parts.append(np.asarray(outputs)[:, : len(part)])
        table = np.concatenate(parts, axis=1)
        return [table[row][:, numbers] for row, numbers in enumerate(actions)]


class _Counter:
    """Counts infosets and reports them."""

    def __init__(self, progress: Progress | None):
        self.progress, self.done = progress, 0

    def add(self, count: int) -> None:
        self.done += count
        if self.progress:
            self.progress(self.done)


def _collect_rows(first_board: int, hands: list[tuple[Ints, Ints]]) -> BoardRows:
    sizes = [len(first) for first, _ in hands]
    return BoardRows(
        range(first_board, first_board + len(hands)),
        np.cumsum([0, *sizes]),
        [orbit for _, orbit in hands],
        first_board + np.repeat(np.arange(len(hands)), sizes),
        np.concatenate([first for first, _ in hands]),
    )


def tabulate_networks(
    policy: NetworkPolicy,
    arena: HoldemGameArena,
    progress: Progress | None = None,
    batch_size: int = DEFAULT_BATCH_SIZE,
) -> HoldemPolicy:
    """Return networks as a table of a hold'em arena.

    Networks that see infoset keys, such as those of buckets, are evaluated infoset by infoset.
    """
    if isinstance(policy.game, KeyObservedGame):
        check_fits_arena(policy, arena)
        if len(policy.nets) > 1:
            raise ConfigError(
                "an ensemble of networks that see infoset keys cannot be averaged on a hold'em "
                "arena; take an average network or the current one"
            )
        return tabulate_agent(arena, policy, progress)
    return HandTables(policy, arena, batch_size).tabulate(progress)


@lazy_jit(static_argnums=0)
def evaluate_hands(
    head: str, nets: Any, player: Any, cards: Any, offsets: Any, legal: Any
) -> jax.Array:
    """Return the probabilities [N, R, A] of one player's network.

    Args:
        head: name of the function from outputs to probabilities.
        nets: networks of all players.
        player: the player.
        cards: the parts [R, X] of the cards.
        offsets: the parts [N, X] of the betting.
        legal: the legal actions [N, A].
    """
    net = select_player(nets, player)

    def evaluate(k: Any, outputs: jax.Array) -> jax.Array:
        probabilities: jax.Array = HEADS_BY_NAME[head](outputs, legal[k][None])
        return probabilities

    return apply_net_to_sums(net, cards, offsets, evaluate)
