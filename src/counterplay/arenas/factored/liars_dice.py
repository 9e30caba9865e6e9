"""Liar's dice as a factored arena: see `counterplay.kernels.factored.liars_dice`."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement, pairwise

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.build import ArenaFactory
from counterplay.arenas.factored.base import FactoredArena, check_memory
from counterplay.arenas.factored.phantom_sizes import count_bits
from counterplay.core.arena import Floats, Ints, SequenceTrees
from counterplay.games.liars_dice import LiarsDice
from counterplay.kernels.factored import infoset_observations, liars_dice
from counterplay.kernels.factored.liars_dice import BidTable
from counterplay.kernels.runtime.threads import run_in_threads, split_evenly


def num_hands(game: LiarsDice) -> int:
    """Return the number of sorted hands of a player."""
    return math.comb(game.numdice + game.dice_sides - 1, game.numdice)


def num_infosets(game: LiarsDice) -> int:
    """Return the number of infosets of both players: every hand with every set of bids."""
    return num_hands(game) << game.liar_action


class LiarsDiceArena(FactoredArena):
    """Liar's dice; infosets are sorted by player, number of own bids, set of bids, and hand."""

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
        self.bid_sets = np.argsort(turn, kind="stable").astype(np.int32)  # in order of infosets
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
        player_turns = [0, game.liar_action + 1, 2 * game.liar_action + 2]
        ends = np.searchsorted(turn[self.bid_sets], player_turns) * size
        form = SequenceTrees(offset, self._parents(count, width), ends)
        levels = np.flatnonzero(np.diff(turn[self.bid_sets], prepend=-1, append=-1)) * size
        split = int(np.searchsorted(levels, ends[1]))
        super().__init__(game, form, [levels[: split + 1].tolist(), levels[split:].tolist()])

    def _parents(self, count: Ints, width: Ints) -> Ints:
        """Return the parent sequence of each infoset: the player's last bid."""
        bids, order, size = self.bid_table, self.bid_sets, len(self.hands)
        own_last = order & (order - 1)  # without the other's last bid, the own one is the last
        before = own_last & (own_last - 1)
        bid = bids.first[before] + bids.lowest_bit[before] - 1 - bids.lowest_bit[own_last]
        parent = bid[:, None] + np.arange(size) * width[before][:, None]
        parent[count[order] < 2] = bids.first[order[-1]] + size * width[order[-1]]
        return parent.ravel().astype(np.uint32)

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        cf_value[-1] = 0.0  # no game ends before both players have acted
        parts = split_evenly(1, self.bid_sets.size, self.max_threads)
        run_in_threads(
            lambda a, b: liars_dice.payoff(self.bid_table, player, a, b, reach, cf_value), parts
        )

    def find_cut(self, infoset: int, first: int, last: int) -> int:
        """Return the first infoset whose set of bids differs in more than the other's last bid."""
        size, order = len(self.hands), self.bid_sets
        k, end = infoset // size, last // size
        while k < end and _without_last_bid(order[k]) == _without_last_bid(order[k - 1]):
            k += 1
        return max(k * size, first)

    def observations(self, first: int, last: int) -> NDArray[np.float32]:
        game, hands = self.game, np.array(self.hands)
        size = 2 + game.numdice * game.dice_sides + game.liar_action + 1
        observation = np.empty((last - first, size), np.float32)
        player = int(first >= self.form.player_infoset[1])
        bids = game.liar_action, game.dice_sides, self.bid_sets
        infoset_observations.write_bid_observations(first, player, *bids, hands, observation)
        return observation

    def legal_mask(self, first: int, last: int) -> NDArray[np.bool_]:
        bid_set = self.bid_sets[np.arange(first, last) // len(self.hands)]
        lowest_bid = self.game.liar_action - self.bid_table.lowest_bit[bid_set][:, None]
        action = np.arange(self.game.liar_action + 1)
        return (action >= lowest_bid) & ((action < self.game.liar_action) | (bid_set > 0)[:, None])

    def infoset_key(self, infoset: int) -> str:
        position, hand = divmod(infoset, len(self.hands))
        bid_set, game = int(self.bid_sets[position]), self.game
        bits = range(game.liar_action - 1, -1, -1)
        names = [
            name for name, bit in zip(game.bid_names, bits, strict=False) if bid_set >> bit & 1
        ]
        return " ".join([",".join(map(str, self.hands[hand])), *names])

    def action_names(self, infoset: int) -> tuple[str, ...]:
        bid_set = int(self.bid_sets[infoset // len(self.hands)])
        lowest_bid = self.game.liar_action - int(self.bid_table.lowest_bit[bid_set])
        names = self.game.bid_names[lowest_bid:-1]
        return (*names, "liar") if bid_set else tuple(names)

    def find_infoset(self, key: str, player: int | None = None) -> int:
        hand, *names = key.split(" ")
        bids = {name: bit for bit, name in enumerate(self.game.bid_names[-2::-1])}
        faces = tuple(map(int, hand.split(","))) if hand.replace(",", "").isdecimal() else ()
        bits = [bids.get(name, -1) for name in names]
        exists = faces in self.hands and all(a > b for a, b in pairwise([*bits, -1]))
        if not exists or player not in (None, len(bits) % 2):
            raise self.unknown_infoset_error(key)
        bid_set = sum(1 << bit for bit in bits)
        return int(self.bid_set_index[bid_set]) * len(self.hands) + self.hands.index(faces)


def _without_last_bid(bid_set: int) -> int:
    return bid_set & (bid_set - 1)


def _hand_probabilities(game: LiarsDice, hands: list[tuple[int, ...]]) -> Floats:
    """Return the probability of each sorted hand."""
    orders = [math.factorial(game.numdice) for _ in hands]
    for number, hand in enumerate(hands):
        for count in Counter(hand).values():
            orders[number] //= math.factorial(count)
    return np.array([count / game.dice_sides**game.numdice for count in orders])


def _face_counts(game: LiarsDice, hands: list[tuple[int, ...]]) -> Ints:
    """Return the number of dice of each hand that count as each face; the highest face is wild."""
    faces, wild = range(1, game.dice_sides + 1), game.dice_sides
    return np.array([[sum(d in (face, wild) for d in hand) for hand in hands] for face in faces])


LIARS_DICE_FACTORY = ArenaFactory(num_infosets, LiarsDiceArena)
