"""Liar's dice as a generated arena: see `kernels/dice.py` for how and why."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from counterplay.arenas.build import ArenaFactory
from counterplay.arenas.factored.base import FactoredArena, check_memory
from counterplay.arenas.factored.phantom_sizes import count_bits
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.games.liars_dice import LiarsDice
from counterplay.kernels.factored import infoset_observations, liars_dice
from counterplay.kernels.factored.liars_dice import BidTable
from counterplay.kernels.runtime.threads import run_in_threads, split_evenly


def num_hands(game: LiarsDice) -> int:
    """How many sorted hands there are."""
    return math.comb(game.numdice + game.dice_sides - 1, game.numdice)


def num_infosets(game: LiarsDice) -> int:
    """Of both players: every hand with every set of bids."""
    return num_hands(game) << game.liar_action


class LiarsDiceArena(FactoredArena):
    """Infosets by player, by own bids made, by set of bids, by hand."""

    game: LiarsDice

    def __init__(self, game: LiarsDice, memory_limit: int | None = None):
        infosets = num_infosets(game)
        check_memory(game, infosets, 2 * infosets, memory_limit)
        self.hands = list(
            combinations_with_replacement(range(1, game.dice_sides + 1), game.numdice)
        )
        sets = np.arange(1 << game.liar_action, dtype=np.int64)
        count = count_bits(sets).astype(np.int64)
        turn = (count & 1) * (game.liar_action + 1) + (count >> 1)  # player, then own bids made
        self.bid_sets = np.argsort(turn, kind="stable").astype(
            np.int32
        )  # sets as infosets have them
        lowest = count_bits((sets & -sets) - 1).astype(np.int64)
        lowest[0] = game.liar_action
        self.bid_set_index = np.empty_like(self.bid_sets)
        self.bid_set_index[self.bid_sets] = np.arange(sets.size, dtype=np.int32)

        size, width = len(self.hands), lowest + (sets > 0)
        starts = np.append(0, np.cumsum(size * width[self.bid_sets]))
        first = np.empty_like(sets)
        first[self.bid_sets] = starts[:-1]
        offset = np.append(0, np.cumsum(np.repeat(width[self.bid_sets], size))).astype(np.uint32)
        self.bid_table = BidTable(
            num_bids=game.liar_action,
            num_sides=game.dice_sides,
            first=first,
            lowest_bit=lowest.astype(np.int8),
            acting_player=(count & 1).astype(np.int8),
            hand_probability=_hand_probabilities(game, self.hands),
            matches=_face_counts(game, self.hands),
        )
        ends = (
            np.searchsorted(
                turn[self.bid_sets], [0, game.liar_action + 1, 2 * game.liar_action + 2]
            )
            * size
        )
        form = SequenceTrees(offset, self._parents(count, width), ends)
        levels = np.flatnonzero(np.diff(turn[self.bid_sets], prepend=-1, append=-1)) * size
        split = int(np.searchsorted(levels, ends[1]))
        both = [levels[: split + 1].tolist(), levels[split:].tolist()]
        super().__init__(game, form, both)

    def _parents(self, count: Ints, width: Ints) -> Ints:
        """The sequence before each infoset: the player's own bid before the other's last one."""
        bids, order, size = self.bid_table, self.bid_sets, len(self.hands)
        own = order & (order - 1)  # without the other's bid, the own one is the last
        before = own & (own - 1)
        bid = bids.first[before] + bids.lowest_bit[before] - 1 - bids.lowest_bit[own]
        parent = bid[:, None] + np.arange(size) * width[before][:, None]
        parent[count[order] < 2] = bids.first[order[-1]] + size * width[order[-1]]
        return parent.ravel().astype(np.uint32)

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        cf_value[-1] = 0.0  # nobody wins before the other has acted
        parts = split_evenly(1, self.bid_sets.size, self.max_threads)
        run_in_threads(
            lambda a, b: liars_dice.payoff(self.bid_table, player, a, b, reach, cf_value), parts
        )

    def find_cut(self, infoset: int, first: int, last: int) -> int:
        """Before the first set of bids that differs in more than the other's last bid."""
        size, order = len(self.hands), self.bid_sets
        place, end = infoset // size, last // size
        while place < end and order[place] & (order[place] - 1) == _without_last_bid(
            order[place - 1]
        ):
            place += 1
        return max(place * size, first)

    def observations(self, first: int, last: int) -> Any:
        game, hands = self.game, np.array(self.hands)
        size = 2 + game.numdice * game.dice_sides + game.liar_action + 1
        observation = np.empty((last - first, size), np.float32)
        player = int(first >= self.form.player_infoset[1])
        bids = game.liar_action, game.dice_sides, self.bid_sets
        infoset_observations.write_bid_observations(first, player, *bids, hands, observation)
        return observation

    def legal_mask(self, first: int, last: int) -> Any:
        made = self.bid_sets[np.arange(first, last) // len(self.hands)]
        higher = self.game.liar_action - self.bid_table.lowest_bit[made][:, None]
        action = np.arange(self.game.liar_action + 1)
        return (action >= higher) & ((action < self.game.liar_action) | (made > 0)[:, None])

    def infoset_key(self, infoset: int) -> str:
        place, hand = divmod(infoset, len(self.hands))
        made, game = int(self.bid_sets[place]), self.game
        names = [
            game.bid_names[b]
            for b in range(game.liar_action)
            if made >> (game.liar_action - 1 - b) & 1
        ]
        return " ".join([",".join(map(str, self.hands[hand])), *names])

    def action_names(self, infoset: int) -> tuple[str, ...]:
        made = int(self.bid_sets[infoset // len(self.hands)])
        higher = self.game.bid_names[
            self.game.liar_action - int(self.bid_table.lowest_bit[made]) : -1
        ]
        return (*higher, "liar") if made else tuple(higher)

    def find_infoset(self, key: str, player: int | None = None) -> int:
        hand, *names = key.split(" ")
        bids = {name: bit for bit, name in enumerate(self.game.bid_names[-2::-1])}
        faces = tuple(map(int, hand.split(","))) if hand.replace(",", "").isdecimal() else ()
        bits = [bids.get(name, -1) for name in names]
        known = faces in self.hands and all(a > b for a, b in pairwise([*bits, -1]))
        if not known or player not in (None, len(bits) % 2):
            raise self.unknown_infoset_error(key)
        made = sum(1 << bit for bit in bits)
        return int(self.bid_set_index[made]) * len(self.hands) + self.hands.index(faces)


def _without_last_bid(made: int) -> int:
    return made & (made - 1)


def _hand_probabilities(game: LiarsDice, hands: list[tuple[int, ...]]) -> Floats:
    """The probability of each sorted hand."""
    orders = [math.factorial(game.numdice) for _ in hands]
    for number, hand in enumerate(hands):
        for same in Counter(hand).values():
            orders[number] //= math.factorial(same)
    return np.array([count / game.dice_sides**game.numdice for count in orders])


def _face_counts(game: LiarsDice, hands: list[tuple[int, ...]]) -> Ints:
    """How many dice of each hand count as each face; the highest is wild."""
    faces, wild = range(1, game.dice_sides + 1), game.dice_sides
    return np.array([[sum(d in (face, wild) for d in hand) for hand in hands] for face in faces])


LIARS_DICE_FACTORY = ArenaFactory(num_infosets, LiarsDiceArena)
