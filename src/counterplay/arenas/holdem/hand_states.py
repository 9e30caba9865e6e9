"""States of the rules at the public states of a hold'em arena, and walks over its boards.

They put policies of rules (networks, tables with buckets, agents) on the arena as a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import FOLD
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.arenas.holdem.game_boards import hand_orbits
from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import HoldemState
from counterplay.registry import get_spec, split_abstraction

Progress = Callable[[int], None]
"""Called with the number of infosets that are done."""

UNKNOWN_CARD = -1  # of the other player


def check_fits_arena(policy: Any, arena: HoldemGameArena) -> None:
    """Raise ConfigError if a policy of rules cannot be put on an arena, before any work.

    Args:
        policy: has `spec`, or a `game`; and `is_suit_invariant`, or sees suits as they are.
        arena: the arena.
    """
    spec = getattr(policy, "spec", None) or get_spec(policy.game)
    if split_abstraction(spec)[0] != arena.spec:
        raise ConfigError(f"a policy for {spec} does not fit {arena.spec}")
    if arena.isomorphism and not getattr(policy, "is_suit_invariant", False):
        raise ConfigError(
            f"this policy for {spec} may play suits differently that {arena.spec} merges: train "
            "with encoding=cards_up_to_suits or with buckets, or take "
            "cp.holdem.HoldemGameArena(game, isomorphism=False)"
        )


@dataclass(frozen=True, eq=False)
class HandStates:
    """The states of the rules at an arena's public states."""

    arena: HoldemGameArena

    @cached_property
    def node_states(self) -> list[HoldemState | None]:
        """A state at every decision of the betting tree, with arbitrary cards; else None."""
        game, betting = self.arena.game, self.arena.betting
        states: list[HoldemState | None] = [None] * len(betting.nodes)
        for block, first in enumerate(betting.block_starts[:-1]):
            parent = betting.block_parents[block]
            states[first] = self._deal(game.initial_state() if parent < 0 else states[parent])
            for number in range(first, betting.block_starts[block + 1]):
                node, state = betting.nodes[number], states[number]
                if state is not None and node.kind < FOLD:
                    for k, action in enumerate(game.actions(state)):
                        states[node.first_child + k] = game.next_state(state, action)
        for number, node in enumerate(betting.nodes):
            if node.kind >= FOLD:
                states[number] = None
        return states

    def _deal(self, state: Any) -> HoldemState:
        game = self.arena.game
        while state.to_act == CHANCE:
            state = game.next_state(state, game.chance_outcomes(state)[0][0])
        dealt: HoldemState = state
        return dealt

    @cached_property
    def nodes_by_street(self) -> list[dict[int, list[int]]]:
        """By street and player: the decision nodes."""
        result: list[dict[int, list[int]]] = [{0: [], 1: []} for _ in self.arena.streets]
        for number, node in enumerate(self.arena.betting.nodes):
            if node.kind < FOLD:
                result[node.state.street][node.kind].append(number)
        return result

    @cached_property
    def orbits(self) -> list[tuple[Ints, Ints]]:
        """By street: rows [G] and orbits of the hands of a board, see `hand_orbits`."""
        num_hole_cards = self.arena.game.num_hole_cards
        return [hand_orbits(street, num_hole_cards) for street in self.arena.streets]

    def distinct_hands(self, street: int, board: int) -> tuple[Ints, Ints]:
        """Return the first hand of each orbit [U] on a board, and each hand's orbit [H]."""
        rows, orbits = self.orbits[street]
        num_hands = self.arena.num_hands(street)
        if rows[board] < 0:
            return np.arange(num_hands), np.arange(num_hands)
        first, orbit = np.unique(orbits[rows[board]], return_inverse=True)
        return first.astype(np.int64), orbit

    @cached_property
    def num_rows(self) -> int:
        """Number of distinct infosets."""
        total = 0
        for number, street in enumerate(self.arena.streets):
            rows, orbits = self.orbits[number]
            distinct = np.array([np.unique(orbit).size for orbit in orbits], np.int64)
            full = int((rows < 0).sum()) * self.arena.num_hands(number)
            by_player = self.nodes_by_street[number]
            hands = full + int(distinct[rows[rows >= 0]].sum()) if len(rows) else 0
            total += hands * sum(map(len, by_player.values())) * bool(street.num_boards)
        return total

    def hand_state(self, node: int, board: tuple[int, ...], hand: tuple[int, ...]) -> HoldemState:
        """Return the state at a node with a hand of the acting player, and a board."""
        game, state = self.arena.game, self.node_states[node]
        assert state is not None
        count = game.num_hole_cards
        private = [UNKNOWN_CARD] * (2 * count)
        private[count * state.to_act : count * (state.to_act + 1)] = sorted(hand)
        rounds, start = state.history.split("|"), 0
        for number, size in enumerate(game.board_cards[: len(rounds)]):
            if size:
                dealt = sorted(board[start : start + size], reverse=True)
                betting = rounds[number].rpartition(":")[2]
                rounds[number], start = f"{game.cards_name(dealt)}:{betting}", start + size
        return state._replace(cards=(*private, *board), history="|".join(rounds))

    def public_states(self) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Yield (node, board number, board) of all decisions on canonical boards."""
        for number, node in enumerate(self.arena.betting.nodes):
            if node.kind < FOLD:
                boards = self.arena.streets[node.state.street].cards
                for board, cards in enumerate(boards.tolist()):
                    yield number, board, tuple(cards)


HandRows = Callable[[int, tuple[int, ...], Ints], Floats]
"""Returns the probabilities [hands, actions] of hands [hands, hole cards] at a node on a board."""


def tabulate_hands(
    arena: HoldemGameArena, hand_rows: HandRows, progress: Progress | None = None
) -> HoldemPolicy:
    """Return the policy of a function as a table of an arena.

    Args:
        arena: the arena.
        hand_rows: asked once for each public state, with one hand of each orbit.
        progress: called with the number of infosets so far.

    Raises:
        ConfigError: a row is missing, or is not a distribution.
    """
    states, done = HandStates(arena), 0
    weights = np.zeros(arena.num_sequences, arena.compute_dtype)
    for node, board, cards in states.public_states():
        street = arena.betting.nodes[node].state.street
        first, orbit = states.distinct_hands(street, board)
        rows = np.asarray(hand_rows(node, cards, arena.hand_cards(street, board)[first]))
        count = len(arena.betting.nodes[node].actions)
        if rows.shape != (first.size, count) or not (np.isfinite(rows) & (rows >= 0.0)).all():
            raise ConfigError(
                f"the policy must answer with {first.size} x {count} numbers, none below 0, at "
                f"{arena.public_history(node, board)!r}; it answers with "
                f"{' x '.join(map(str, rows.shape))}"
            )
        weights[arena.piece_slice(node, board)] = rows[orbit].T.ravel()
        done += first.size
        if progress:
            progress(done)
    return HoldemPolicy(arena, weights, weights[:0])


def tabulate_agent(
    arena: HoldemGameArena, agent: Any, progress: Progress | None = None
) -> HoldemPolicy:
    """Return the policy of an object with `action_probabilities(state, player)` as a table.

    It is asked at one infoset after the other, which takes some 20 microseconds each or more; if
    its game has `hand_groups`, such as buckets, once for each group of hands.

    Raises:
        ConfigError: the policy is for another game, leaves out a hand, or may play suits
            differently that the arena merges.
    """
    check_fits_arena(agent, arena)
    states = HandStates(arena)
    hand_groups = getattr(getattr(agent, "game", None), "hand_groups", None)

    def hand_rows(node: int, board: tuple[int, ...], hands: Ints) -> Floats:
        player, groups = arena.betting.nodes[node].kind, np.arange(len(hands))
        if hand_groups is not None:
            groups = hand_groups(board, arena.betting.nodes[node].state.street, hands)
        _, first, group = np.unique(groups, return_index=True, return_inverse=True)
        rows = [
            agent.action_probabilities(states.hand_state(node, board, tuple(hand)), player)
            for hand in hands[first].tolist()
        ]
        return np.array(rows)[group]

    return tabulate_hands(arena, hand_rows, progress)
