"""Liar's dice as a generated arena: see `kernels/dice.py` for how and why."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from counterplay.arena import Floats, Ints, OwnTrees
from counterplay.games.liars_dice import LiarsDice
from counterplay.generated.choosing import Generator
from counterplay.generated.own_trees import GeneratedArena, check_memory
from counterplay.generated.sizes import count_bits
from counterplay.kernels import attempts, dice
from counterplay.kernels.dice import Bids
from counterplay.kernels.threads import even_parts, run_parts


def num_hands(game: LiarsDice) -> int:
    """How many sorted hands there are."""
    return math.comb(game.numdice + game.dice_sides - 1, game.numdice)


def num_infosets(game: LiarsDice) -> int:
    """Of both players: every hand with every set of bids."""
    return num_hands(game) << game.liar


class DiceArena(GeneratedArena):
    """Infosets by player, by own bids made, by set of bids, by hand."""

    rules: LiarsDice

    def __init__(self, game: LiarsDice, memory_limit: int | None = None):
        infosets = num_infosets(game)
        check_memory(game, infosets, 2 * infosets, memory_limit)
        self.hands = list(
            combinations_with_replacement(range(1, game.dice_sides + 1), game.numdice)
        )
        sets = np.arange(1 << game.liar, dtype=np.int64)
        count = count_bits(sets).astype(np.int64)
        turn = (count & 1) * (game.liar + 1) + (count >> 1)  # player, then own bids made
        self.order = np.argsort(turn, kind="stable").astype(np.int32)  # sets as infosets have them
        lowest = count_bits((sets & -sets) - 1).astype(np.int64)
        lowest[0] = game.liar
        self.place = np.empty_like(self.order)
        self.place[self.order] = np.arange(sets.size, dtype=np.int32)

        size, width = len(self.hands), lowest + (sets > 0)
        starts = np.append(0, np.cumsum(size * width[self.order]))
        first = np.empty_like(sets)
        first[self.order] = starts[:-1]
        offset = np.append(0, np.cumsum(np.repeat(width[self.order], size))).astype(np.uint32)
        self.bids = Bids(
            num_bids=game.liar,
            num_sides=game.dice_sides,
            first=first,
            lowest=lowest.astype(np.int8),
            mover=(count & 1).astype(np.int8),
            chance=_chances(game, self.hands),
            matches=_matches(game, self.hands),
        )
        ends = np.searchsorted(turn[self.order], [0, game.liar + 1, 2 * game.liar + 2]) * size
        form = OwnTrees(offset, self._parents(count, width), ends)
        levels = np.flatnonzero(np.diff(turn[self.order], prepend=-1, append=-1)) * size
        split = int(np.searchsorted(levels, ends[1]))
        both = [levels[: split + 1].tolist(), levels[split:].tolist()]
        super().__init__(game, form, both)

    def _parents(self, count: Ints, width: Ints) -> Ints:
        """The sequence before each infoset: the player's own bid before the other's last one."""
        bids, order, size = self.bids, self.order, len(self.hands)
        own = order & (order - 1)  # without the other's bid, the own one is the last
        before = own & (own - 1)
        bid = bids.first[before] + bids.lowest[before] - 1 - bids.lowest[own]
        parent = bid[:, None] + np.arange(size) * width[before][:, None]
        parent[count[order] < 2] = bids.first[order[-1]] + size * width[order[-1]]
        return parent.ravel().astype(np.uint32)

    def gradient(self, player: int, reach: Floats, cf_value: Floats) -> None:
        cf_value[-1] = 0.0  # nobody wins before the other has acted
        parts = even_parts(1, self.order.size, self.workers)
        run_parts(lambda a, b: dice.payoff(self.bids, player, a, b, reach, cf_value), parts)

    def cut(self, infoset: int, first: int, last: int) -> int:
        """Before the first set of bids that differs in more than the other's last bid."""
        size, order = len(self.hands), self.order
        place, end = infoset // size, last // size
        while place < end and order[place] & (order[place] - 1) == _before(order[place - 1]):
            place += 1
        return max(place * size, first)

    def observations(self, first: int, last: int) -> Any:
        game, hands = self.rules, np.array(self.hands)
        size = 2 + game.numdice * game.dice_sides + game.liar + 1
        observation = np.empty((last - first, size), np.float32)
        player = int(first >= self.form.player_infoset[1])
        bids = game.liar, game.dice_sides, self.order
        attempts.watch_bids(first, player, *bids, hands, observation)
        return observation

    def legal(self, first: int, last: int) -> Any:
        made = self.order[np.arange(first, last) // len(self.hands)]
        higher = self.rules.liar - self.bids.lowest[made][:, None]
        action = np.arange(self.rules.liar + 1)
        return (action >= higher) & ((action < self.rules.liar) | (made > 0)[:, None])

    def key(self, infoset: int) -> str:
        place, hand = divmod(infoset, len(self.hands))
        made, game = int(self.order[place]), self.rules
        names = [game.bid_names[b] for b in range(game.liar) if made >> (game.liar - 1 - b) & 1]
        return " ".join([",".join(map(str, self.hands[hand])), *names])

    def action_names(self, infoset: int) -> tuple[str, ...]:
        made = int(self.order[infoset // len(self.hands)])
        higher = self.rules.bid_names[self.rules.liar - int(self.bids.lowest[made]) : -1]
        return (*higher, "liar") if made else tuple(higher)

    def find(self, key: str, player: int | None = None) -> int:
        hand, *names = key.split(" ")
        bids = {name: bit for bit, name in enumerate(self.rules.bid_names[-2::-1])}
        faces = tuple(map(int, hand.split(","))) if hand.replace(",", "").isdecimal() else ()
        bits = [bids.get(name, -1) for name in names]
        known = faces in self.hands and all(a > b for a, b in pairwise([*bits, -1]))
        if not known or player not in (None, len(bits) % 2):
            raise self.no_infoset(key)
        made = sum(1 << bit for bit in bits)
        return int(self.place[made]) * len(self.hands) + self.hands.index(faces)


def _before(made: int) -> int:
    return made & (made - 1)


def _chances(game: LiarsDice, hands: list[tuple[int, ...]]) -> Floats:
    """The probability of each sorted hand."""
    orders = [math.factorial(game.numdice) for _ in hands]
    for number, hand in enumerate(hands):
        for same in Counter(hand).values():
            orders[number] //= math.factorial(same)
    return np.array([count / game.dice_sides**game.numdice for count in orders])


def _matches(game: LiarsDice, hands: list[tuple[int, ...]]) -> Ints:
    """How many dice of each hand count as each face; the highest is wild."""
    faces, wild = range(1, game.dice_sides + 1), game.dice_sides
    return np.array([[sum(d in (face, wild) for d in hand) for hand in hands] for face in faces])


DICE = Generator(num_infosets, DiceArena)
