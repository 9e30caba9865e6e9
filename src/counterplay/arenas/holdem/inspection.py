"""Looking at a solution: what a player does at a node, hand by hand, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from counterplay.arenas.holdem.array_layout import new_street_rows, new_street_scratch
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD, SHOWDOWN
from counterplay.arenas.holdem.boards import IDENTITY_PERMUTATION, SuitPermutation
from counterplay.arenas.holdem.node_view import NodeView
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.arena import Floats
from counterplay.core.cards import card_name, cards_name, parse_card, permute_suits
from counterplay.errors import ConfigError, suggestion
from counterplay.kernels.holdem import deal_walk, equities, street_walk


class NodeLocation(NamedTuple):
    """A node on a board of the tree, and how the cards asked for became that board's."""

    node: int
    board: int
    suit_permutation: SuitPermutation


def find_node(arena: SpotArena, history: str) -> NodeLocation:
    """The place of a record such as `check,bet 94,call|Td,check`; a card may be a twin's."""
    node, board, renaming = 0, 0, IDENTITY_PERMUTATION
    known = list(arena.spot.cards)
    for number, part in enumerate(history.split("|")):
        words = [word.strip() for word in part.split(",") if word.strip()]
        if number:
            if arena.betting.nodes[node].kind != DEAL or not words:
                raise ConfigError(f"{history!r}: no card comes after part {number}")
            card = parse_card(words.pop(0), f"{history!r}: ")
            if card in known or card in arena.spot.dead_cards:
                raise ConfigError(f"{history!r}: {card_name(card)} is already gone")
            known.append(card)
            board, renaming = arena.boards.next_board(board, renaming, card)
            node = arena.betting.block_starts[arena.betting.nodes[node].next_block]
        for word in words:
            here = arena.betting.nodes[node]
            if word not in here.actions:
                names = ", ".join(here.actions) or ("a card" if here.kind == DEAL else "the end")
                near = suggestion(word, here.actions)
                raise ConfigError(f"{history!r}: there is no {word!r} here{near} ({names} is next)")
            node = here.first_child + here.actions.index(word)
    return NodeLocation(node, board, renaming)


def inspect_node(policy: HoldemPolicy, history: str = "") -> NodeView:
    """Return what the player to act does after a record, hand by hand.

    EVs are counted from this node on, as in other solvers: the share of the final pot, less the
    chips that the player still puts in. Chips put in before are part of the pot, so that a fold
    has EV 0 and the EVs of both players add up to the pot at this node, less the rake.
    """
    arena = policy.arena
    node, board, renaming = find_node(arena, history)
    here = arena.betting.nodes[node]
    if here.kind >= FOLD:
        what = {FOLD: "somebody has folded", SHOWDOWN: "it is the showdown", DEAL: "a card is next"}
        raise ConfigError(f"nobody acts after {history!r}: {what[here.kind]}")
    player, missing = here.kind, 3 - arena.spot.street - arena.num_loaded_streets
    if here.state.street - arena.spot.street >= arena.num_loaded_streets:
        raise ConfigError(f"{history!r} is on a street that was not loaded")
    values, reach, facing = _block_values(
        policy, player, node, board, has_later_streets=not missing
    )
    own, other = arena.hands[player], arena.hands[1 - player]
    met = _opponent_mass(own.cards, facing, other.cards, own.indices_in(other))
    scale = np.where(met > 0.0, 1.0 / np.where(met > 0.0, met, 1.0), 0.0)
    probabilities = policy.probabilities_at(node, board)
    cards = arena.boards.cards[board]
    live = np.flatnonzero(~np.isin(own.cards, cards).any(axis=1))
    back = tuple(renaming.index(s) for s in range(4))
    named = [_original_hand_name(own.cards[h].tolist(), back) for h in live]
    first = here.first_child - arena.betting.block_starts[here.block]
    spent = here.state.earlier_contribution + here.state.contributions[player]
    action_values = (values[first : first + len(here.actions)] * scale + spent) * (met > 0.0)
    if here.actions[0] == "fold":
        action_values[0] *= 0.0  # exactly 0, and still NaN where values are not known
    mean = (probabilities * action_values).sum(axis=0)
    equity = _hand_equity(arena, player, cards, reach, facing)
    return NodeView(
        history=history,
        board=cards_name(_original_suits(cards, back)),
        pot=arena.spot.pot + 2 * here.state.earlier_contribution + sum(here.state.contributions),
        player=player,
        actions=here.actions,
        hands=tuple(named),
        weight=reach[live],
        policy=probabilities[:, live],
        value=mean[live],
        action_value=action_values[:, live],
        equity=equity[live],
        opponent_mass=met[live],
        is_reached=bool(reach[live].any() and met[live].any()),
    )


def _original_hand_name(cards: list[int], back: SuitPermutation) -> str:
    return cards_name(sorted(_original_suits(tuple(cards), back), reverse=True))


def _original_suits(cards: tuple[int, ...], back: SuitPermutation) -> tuple[int, ...]:
    return tuple(permute_suits(card, back) for card in cards)


def _block_values(
    policy: HoldemPolicy, player: int, node: int, board: int, has_later_streets: bool
) -> tuple[Floats, Floats, Floats]:
    """The player's cf_values of the node's whole block, its reach and the opponent's cf_reach.

    The values are NaN if later streets are not `known`.
    """
    arena = policy.arena
    betting, tables = arena.betting, arena.policy_tables(policy)
    path = [betting.nodes[node].block]
    while betting.block_parents[path[0]] >= 0:
        path.insert(0, betting.nodes[betting.block_parents[path[0]]].block)
    cards = arena.boards.cards[board]
    boards = [
        arena.boards.cards.index(cards[: len(arena.spot.cards) + k]) for k in range(len(path))
    ]
    reaches = []
    for walker in (player, 1 - player):
        walk = arena.walks[walker]
        room, most = new_street_scratch(walk, arena.compute_dtype), int(np.diff(walk.block).max())
        rows, below = (
            new_street_rows(walk, most, arena.compute_dtype),
            new_street_rows(walk, most, arena.compute_dtype),
        )
        rows.opponent_reach[0] = arena.hands[1 - walker].weight / arena.total_pair_weight
        for depth, (block, here) in enumerate(zip(path, boards, strict=True)):
            street_walk.descend(walk, tables, room, rows, block, here, street_walk.MODE_MEAN)
            if depth < len(path) - 1:
                deal = betting.block_parents[path[depth + 1]]
                deal_walk.set_reach_after_deal(walk, rows, deal, boards[depth + 1], below)
                rows, below = below, rows
        row = int(walk.opponent_row[node])
        reaches.append((walk, rows, rows.opponent_reach[row].astype(np.float64)))
    walk, rows, facing = reaches[0]
    chance = float(np.prod(arena.boards.chance[boards[1:]]))
    reach = reaches[1][2] * arena.total_pair_weight / chance
    block = path[-1]
    if not has_later_streets:
        return np.full(rows.value.shape, np.nan), reach, facing
    if len(path) == 1:
        arena.walk(player, tables, street_walk.MODE_MEAN)
        return arena.scratch(player)[0].value.astype(np.float64), reach, facing
    room = arena.scratch(player)[1][0]
    target = room.upper if walk.leaf_range[block, 2] < walk.leaf_range[block, 3] else room.lower
    target.opponent_reach[0] = rows.opponent_reach[0]
    if target is room.upper:
        deal_walk.walk_middle_street(
            walk,
            tables,
            room,
            block,
            boards[-1],
            street_walk.MODE_MEAN,
            arena.value_tolerance,
        )
    else:
        deal_walk.walk_last_street(
            walk,
            tables,
            room,
            target,
            block,
            boards[-1],
            street_walk.MODE_MEAN,
            arena.value_tolerance,
        )
    return target.value.astype(np.float64), reach, facing


def _opponent_mass(cards: Any, facing: Floats, other_cards: Any, same: Any) -> Floats:
    """[n] the opponent's reach that leaves each hand its cards."""
    by_card = np.bincount(other_cards.ravel(), np.repeat(facing, 2), 52)
    return facing.sum() - by_card[cards].sum(axis=1) + np.append(facing, 0.0)[same]


def _hand_equity(
    arena: SpotArena, player: int, board: tuple[int, ...], reach: Floats, facing: Floats
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
        own.indices_in(other),
        other.indices_in(own),
    )
    known, identity = np.array(board, np.int64), np.arange(52).reshape(1, 52)
    size = len(deck)
    equities.add_boards_equity(
        0, size, known, np.array(deck), 5 - known.size, identity, players, *sums
    )
    met = sums[0][:, 1]
    return np.where(met > 0.0, sums[0][:, 0] / np.where(met > 0.0, met, 1.0), 0.0)


@dataclass(frozen=True)
class NodeDifference:
    """Two solutions at one node: the first less the second."""

    first: NodeView
    second: NodeView

    @property
    def policy(self) -> Floats:
        """[A, n] how much more often each action is taken."""
        return self.first.policy - self.second.policy

    @property
    def frequencies(self) -> Floats:
        """[A] the same over all hands."""
        return self.first.frequencies - self.second.frequencies

    @property
    def policy_distance(self) -> float:
        """The part of all decisions that differs, hands weighted as the first comes here."""
        share = self.first.weight * self.first.opponent_mass
        moved = np.abs(self.policy).sum(axis=0) / 2.0
        total = share.sum()
        return float(share @ moved / total) if total > 0.0 else float(moved.mean())

    def rows(self) -> list[dict[str, Any]]:
        """One dict per hand, what differs most first."""
        moved = np.abs(self.policy).sum(axis=0) / 2.0
        return [
            {
                "hand": self.first.hands[i],
                "weight": float(self.first.weight[i]),
                "moved": float(moved[i]),
                **dict(zip(self.first.actions, self.policy[:, i].tolist(), strict=True)),
                "value": float(self.first.value[i] - self.second.value[i]),
            }
            for i in np.argsort(-moved * self.first.weight, kind="stable").tolist()
        ]


def compare_nodes(
    first_policy: HoldemPolicy, second_policy: HoldemPolicy, history: str = ""
) -> NodeDifference:
    """What two solutions do differently after a record."""
    first, second = inspect_node(first_policy, history), inspect_node(second_policy, history)
    if first.actions != second.actions or first.hands != second.hands:
        raise ConfigError(f"after {history!r} the two solutions have other hands or actions")
    return NodeDifference(first, second)
