"""Looking at a solution: what a player does at a node, hand by hand, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterplay.arena import Floats
from counterplay.cards import card_name, cards_name, parse_card, swap_suits
from counterplay.errors import ConfigError, suggestion
from counterplay.kernels import dealing, equities, streets
from counterplay.public.betting import DEAL, FOLD, SHOWDOWN
from counterplay.public.boards import SAME, Renaming
from counterplay.public.layout import new_room, new_rows
from counterplay.public.tree import PublicPolicy, PublicTree
from counterplay.public.views import View


class Place(NamedTuple):
    """A node on a board of the tree, and how the cards asked for became that board's."""

    node: int
    board: int
    renaming: Renaming


def find(arena: PublicTree, record: str) -> Place:
    """The place of a record such as `check,bet 94,call|Td,check`; a card may be a twin's."""
    node, board, renaming = 0, 0, SAME
    known = list(arena.spot.cards)
    for number, part in enumerate(record.split("|")):
        words = [word.strip() for word in part.split(",") if word.strip()]
        if number:
            if arena.betting.nodes[node].kind != DEAL or not words:
                raise ConfigError(f"{record!r}: no card comes after part {number}")
            card = parse_card(words.pop(0), f"{record!r}: ")
            if card in known or card in arena.spot.dead_cards:
                raise ConfigError(f"{record!r}: {card_name(card)} is already gone")
            known.append(card)
            board, renaming = arena.boards.next_board(board, renaming, card)
            node = arena.betting.starts[arena.betting.nodes[node].next_block]
        for word in words:
            here = arena.betting.nodes[node]
            if word not in here.actions:
                names = ", ".join(here.actions) or ("a card" if here.kind == DEAL else "the end")
                near = suggestion(word, here.actions)
                raise ConfigError(f"{record!r}: there is no {word!r} here{near} ({names} is next)")
            node = here.first + here.actions.index(word)
    return Place(node, board, renaming)


def look(policy: PublicPolicy, record: str = "") -> View:
    """Return what the player to act does after a record, hand by hand.

    EVs are counted from this node on, as in other solvers: the share of the final pot, less the
    chips that the player still puts in. Chips put in before are part of the pot, so that a fold
    has EV 0 and the EVs of both players add up to the pot at this node, less the rake.
    """
    arena = policy.arena
    node, board, renaming = find(arena, record)
    here = arena.betting.nodes[node]
    if here.kind >= FOLD:
        what = {FOLD: "somebody has folded", SHOWDOWN: "it is the showdown", DEAL: "a card is next"}
        raise ConfigError(f"nobody acts after {record!r}: {what[here.kind]}")
    player, missing = here.kind, 3 - arena.spot.street - arena.streets_known
    if here.street.number - arena.spot.street >= arena.streets_known:
        raise ConfigError(f"{record!r} is on a street that was not loaded")
    values, reach, facing = _values(policy, player, node, board, known=not missing)
    own, other = arena.hands[player], arena.hands[1 - player]
    met = _met(own.cards, facing, other.cards, own.same(other))
    scale = np.where(met > 0.0, 1.0 / np.where(met > 0.0, met, 1.0), 0.0)
    probabilities = policy.at(node, board)
    cards = arena.boards.cards[board]
    live = np.flatnonzero(~np.isin(own.cards, cards).any(axis=1))
    back = tuple(renaming.index(s) for s in range(4))
    named = [_named(own.cards[h].tolist(), back) for h in live]
    first = here.first - arena.betting.starts[here.block]
    spent = here.street.before + here.street.paid[player]
    action_values = (values[first : first + len(here.actions)] * scale + spent) * (met > 0.0)
    if here.actions[0] == "fold":
        action_values[0] *= 0.0  # exactly 0, and still NaN where values are not known
    mean = (probabilities * action_values).sum(axis=0)
    equity = _equity(arena, player, cards, reach, facing)
    return View(
        record=record,
        board=cards_name(_unnamed(cards, back)),
        pot=arena.spot.pot + 2 * here.street.before + sum(here.street.paid),
        player=player,
        actions=here.actions,
        hands=tuple(named),
        weight=reach[live],
        policy=probabilities[:, live],
        value=mean[live],
        action_value=action_values[:, live],
        equity=equity[live],
        met=met[live],
        reached=bool(reach[live].any() and met[live].any()),
    )


def _named(cards: list[int], back: Renaming) -> str:
    return cards_name(sorted(_unnamed(tuple(cards), back), reverse=True))


def _unnamed(cards: tuple[int, ...], back: Renaming) -> tuple[int, ...]:
    return tuple(swap_suits(card, back) for card in cards)


def _values(
    policy: PublicPolicy, player: int, node: int, board: int, known: bool
) -> tuple[Floats, Floats, Floats]:
    """The player's cf_values of the node's whole block, its reach and the opponent's cf_reach.

    The values are NaN if later streets are not `known`.
    """
    arena = policy.arena
    betting, tables = arena.betting, arena.reading(policy)
    path = [betting.nodes[node].block]
    while betting.parents[path[0]] >= 0:
        path.insert(0, betting.nodes[betting.parents[path[0]]].block)
    cards = arena.boards.cards[board]
    boards = [
        arena.boards.cards.index(cards[: len(arena.spot.cards) + k]) for k in range(len(path))
    ]
    reaches = []
    for walker in (player, 1 - player):
        walk = arena.walks[walker]
        room, most = new_room(walk, arena.kind), int(np.diff(walk.block).max())
        rows, below = new_rows(walk, most, arena.kind), new_rows(walk, most, arena.kind)
        rows.opponent[0] = arena.hands[1 - walker].weight / arena.total
        for depth, (block, here) in enumerate(zip(path, boards, strict=True)):
            streets.descend(walk, tables, room, rows, block, here, streets.MEAN)
            if depth < len(path) - 1:
                deal = betting.parents[path[depth + 1]]
                dealing.enter(walk, rows, deal, boards[depth + 1], below)
                rows, below = below, rows
        row = int(walk.opponent_row[node])
        reaches.append((walk, rows, rows.opponent[row].astype(np.float64)))
    walk, rows, facing = reaches[0]
    chance = float(np.prod(arena.boards.chance[boards[1:]]))
    reach = reaches[1][2] * arena.total / chance
    block = path[-1]
    if not known:
        return np.full(rows.value.shape, np.nan), reach, facing
    if len(path) == 1:
        arena.walk(player, tables, streets.MEAN)
        return arena.rooms(player)[0].value.astype(np.float64), reach, facing
    room = arena.rooms(player)[1][0]
    target = room.upper if walk.ends[block, 2] < walk.ends[block, 3] else room.lower
    target.opponent[0] = rows.opponent[0]
    if target is room.upper:
        dealing.middle_street(walk, tables, room, block, boards[-1], streets.MEAN, arena.rounding)
    else:
        dealing.last_street(
            walk, tables, room, target, block, boards[-1], streets.MEAN, arena.rounding
        )
    return target.value.astype(np.float64), reach, facing


def _met(cards: Any, facing: Floats, other_cards: Any, same: Any) -> Floats:
    """[n] the opponent's reach that leaves each hand its cards."""
    by_card = np.bincount(other_cards.ravel(), np.repeat(facing, 2), 52)
    return facing.sum() - by_card[cards].sum(axis=1) + np.append(facing, 0.0)[same]


def _equity(
    arena: PublicTree, player: int, board: tuple[int, ...], reach: Floats, facing: Floats
) -> Floats:
    """[n] of each hand against the opponent's reach, over all boards that can come."""
    own, other = arena.hands[player], arena.hands[1 - player]
    deck = [c for c in range(52) if c not in board and c not in arena.spot.dead_cards]
    sums = np.zeros((own.size, 2)), np.zeros((other.size, 2))
    players = (
        own.cards,
        other.cards,
        np.append(reach, 0.0),
        np.append(facing, 0.0),
        own.same(other),
        other.same(own),
    )
    known, identity = np.array(board, np.int64), np.arange(52).reshape(1, 52)
    size = len(deck)
    equities.add_boards(0, size, known, np.array(deck), 5 - known.size, identity, players, *sums)
    met = sums[0][:, 1]
    return np.where(met > 0.0, sums[0][:, 0] / np.where(met > 0.0, met, 1.0), 0.0)


@dataclass(frozen=True)
class Difference:
    """Two solutions at one node: the first less the second."""

    one: View
    other: View

    @property
    def policy(self) -> Floats:
        """[A, n] how much more often each action is taken."""
        return self.one.policy - self.other.policy

    @property
    def frequencies(self) -> Floats:
        """[A] the same over all hands."""
        return self.one.frequencies - self.other.frequencies

    @property
    def distance(self) -> float:
        """The part of all decisions that differs, hands weighted as the first comes here."""
        share = self.one.weight * self.one.met
        moved = np.abs(self.policy).sum(axis=0) / 2.0
        total = share.sum()
        return float(share @ moved / total) if total > 0.0 else float(moved.mean())

    def rows(self) -> list[dict[str, Any]]:
        """One dict per hand, what differs most first."""
        moved = np.abs(self.policy).sum(axis=0) / 2.0
        return [
            {
                "hand": self.one.hands[i],
                "weight": float(self.one.weight[i]),
                "moved": float(moved[i]),
                **dict(zip(self.one.actions, self.policy[:, i].tolist(), strict=True)),
                "value": float(self.one.value[i] - self.other.value[i]),
            }
            for i in np.argsort(-moved * self.one.weight, kind="stable").tolist()
        ]


def difference(one: PublicPolicy, other: PublicPolicy, record: str = "") -> Difference:
    """What two solutions do differently after a record."""
    first, second = look(one, record), look(other, record)
    if first.actions != second.actions or first.hands != second.hands:
        raise ConfigError(f"after {record!r} the two solutions have other hands or actions")
    return Difference(first, second)
