"""Inspect a solution at a node: the policy hand by hand, with EVs and equities."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from counterplay.arenas.holdem.array_layout import new_street_rows, new_street_scratch
from counterplay.arenas.holdem.base import HoldemPolicy
from counterplay.arenas.holdem.betting import DEAL, FOLD, SHOWDOWN
from counterplay.arenas.holdem.boards import (
    IDENTITY_PERMUTATION,
    SuitPermutation,
    river_strengths,
)
from counterplay.arenas.holdem.equity import equity_players
from counterplay.arenas.holdem.node_view import NodeDifference, NodeView
from counterplay.arenas.holdem.spot_arena import SpotArena
from counterplay.core.arena import Floats
from counterplay.core.cards import card_name, cards_name, parse_card, permute_suits
from counterplay.errors import ConfigError, suggestion
from counterplay.kernels.holdem import deal_walk, equities, street_walk

LEAF_REASONS = {FOLD: "a player has folded", SHOWDOWN: "it is the showdown", DEAL: "a card is next"}


class NodeLocation(NamedTuple):
    """A betting node on a canonical board."""

    node: int
    board: int
    suit_permutation: SuitPermutation  # from the cards of the history to those of the board


def find_node(arena: SpotArena, history: str) -> NodeLocation:
    """Return the node after a history such as `check,bet 94,call|Td,check`.

    Args:
        arena: a spot.
        history: actions joined by commas; a bar and a card begin the next street. The board that
            the cards make may be isomorphic to the one that the arena solves.

    Raises:
        ConfigError: an action or a card of the history is not possible.
    """
    node, board, suit_permutation = 0, 0, IDENTITY_PERMUTATION
    dealt = list(arena.spot.cards)
    for number, part in enumerate(history.split("|")):
        words = [word.strip() for word in part.split(",") if word.strip()]
        if number:
            if arena.betting.nodes[node].kind != DEAL or not words:
                raise ConfigError(f"{history!r}: no card comes after part {number}")
            card = parse_card(words.pop(0), f"{history!r}: ")
            if card in dealt or card in arena.spot.dead_cards:
                raise ConfigError(f"{history!r}: {card_name(card)} is already gone")
            dealt.append(card)
            board, suit_permutation = arena.boards.next_board(board, suit_permutation, card)
            node = arena.betting.block_starts[arena.betting.nodes[node].next_block]
        for word in words:
            actions, kind = arena.betting.nodes[node].actions, arena.betting.nodes[node].kind
            if word not in actions:
                names = ", ".join(actions) or ("a card" if kind == DEAL else "the end")
                near = suggestion(word, actions)
                raise ConfigError(f"{history!r}: there is no {word!r} here{near} ({names} is next)")
            node = arena.betting.nodes[node].first_child + actions.index(word)
    return NodeLocation(node, board, suit_permutation)


def inspect_node(policy: HoldemPolicy, history: str = "") -> NodeView:
    """Return the policy of the player to act after a history, hand by hand.

    EVs are counted from this node on, as in other solvers: the share of the final pot, less the
    chips that the player still puts in. Chips put in before are part of the pot, so that a fold
    has EV 0 and the EVs of both players add up to the pot at this node, less the rake.

    Args:
        policy: a policy of a `SpotArena`.
        history: as `find_node` reads it; the root by default.

    Raises:
        ConfigError: the history is not possible, no player acts after it, or its street was not
            loaded.
    """
    arena: SpotArena = policy.arena
    node, board, suit_permutation = find_node(arena, history)
    betting_node = arena.betting.nodes[node]
    state, player, actions = betting_node.state, betting_node.kind, betting_node.actions
    if player >= FOLD:
        raise ConfigError(f"no player acts after {history!r}: {LEAF_REASONS[player]}")
    if state.street - arena.spot.street >= arena.num_loaded_streets:
        raise ConfigError(f"{history!r} is on a street that was not loaded")
    values, reach, opponent_reach = _block_values(policy, player, node, board)
    hands = arena.hands[player]
    opponent_mass = hands.compatible_mass(arena.hands[1 - player], opponent_reach)
    is_met = opponent_mass > 0.0
    scale = np.where(is_met, 1.0 / np.where(is_met, opponent_mass, 1.0), 0.0)
    probabilities = policy.probabilities_at(node, board)
    cards = arena.boards.cards[board]
    live = np.flatnonzero(~np.isin(hands.cards, cards).any(axis=1))
    inverse = tuple(suit_permutation.index(s) for s in range(4))
    first = betting_node.first_child - arena.betting.block_starts[betting_node.block]
    spent = state.earlier_contribution + state.contributions[player]
    action_values = (values[first : first + len(actions)] * scale + spent) * is_met
    if actions[0] == "fold":
        action_values[0] *= 0.0  # exactly 0; NaN if values are not known
    mean = (probabilities * action_values).sum(axis=0)
    equity = hand_equity(arena, player, cards, reach, opponent_reach)
    return NodeView(
        history=history,
        board=cards_name(permute_suits(card, inverse) for card in cards),
        pot=arena.spot.pot + 2 * state.earlier_contribution + sum(state.contributions),
        player=player,
        actions=actions,
        hands=tuple(_name_permuted_hand(hands.cards[h].tolist(), inverse) for h in live),
        weight=reach[live],
        policy=probabilities[:, live],
        value=mean[live],
        action_value=action_values[:, live],
        equity=equity[live],
        opponent_mass=opponent_mass[live],
        is_reached=bool(reach[live].any() and opponent_mass[live].any()),
    )


def player_values(
    policy: HoldemPolicy, location: NodeLocation, player: int
) -> tuple[Floats, Floats, Floats]:
    """Return EV, opponent's compatible mass and own reach [hands] of either player at a node.

    EVs are counted as in `inspect_node`; hands are those of the arena, on the canonical board.

    Args:
        policy: a policy of a `SpotArena`.
        location: a node of any kind, see `find_node`.
        player: 0 or 1; it need not be the player to act.
    """
    arena: SpotArena = policy.arena
    node, board, _ = location
    betting_node = arena.betting.nodes[node]
    values, reach, opponent_reach = _block_values(policy, player, node, board)
    mass = arena.hands[player].compatible_mass(arena.hands[1 - player], opponent_reach)
    is_met = mass > 0.0
    row = node - arena.betting.block_starts[betting_node.block]
    state = betting_node.state
    spent = state.earlier_contribution + state.contributions[player]
    value = (values[row] / np.where(is_met, mass, 1.0) + spent) * is_met
    return value, mass, reach


def compare_nodes(
    first_policy: HoldemPolicy, second_policy: HoldemPolicy, history: str = ""
) -> NodeDifference:
    """Return the difference of two solutions after a history.

    Raises:
        ConfigError: the node has other hands or actions in the second solution.
    """
    first, second = inspect_node(first_policy, history), inspect_node(second_policy, history)
    if first.actions != second.actions or first.hands != second.hands:
        raise ConfigError(f"after {history!r} the two solutions have other hands or actions")
    return NodeDifference(first, second)


def _name_permuted_hand(cards: list[int], suit_permutation: SuitPermutation) -> str:
    """Return the name of a hand after a suit permutation, the higher card first."""
    return cards_name(sorted((permute_suits(c, suit_permutation) for c in cards), reverse=True))


def _block_values(
    policy: HoldemPolicy, player: int, node: int, board: int
) -> tuple[Floats, Floats, Floats]:
    """Return a player's cf_values [rows, n] of the node's block, and both reaches at the node.

    The values are NaN if later streets were not loaded. The player's reach [n] is its own; the
    opponent's [m] is its cf_reach.
    """
    arena: SpotArena = policy.arena
    betting, tables = arena.betting, arena.policy_tables(policy)
    path = [betting.nodes[node].block]
    while betting.block_parents[path[0]] >= 0:
        path.insert(0, betting.nodes[betting.block_parents[path[0]]].block)
    cards, num_cards = arena.boards.cards, len(arena.spot.cards)
    boards = [cards.index(cards[board][: num_cards + k]) for k in range(len(path))]
    reaches = []
    for walker in (player, 1 - player):
        walk = arena.walks[walker]
        scratch = new_street_scratch(walk, arena.compute_dtype)
        max_block = int(np.diff(walk.block).max())
        rows = new_street_rows(walk, max_block, arena.compute_dtype)
        below = new_street_rows(walk, max_block, arena.compute_dtype)
        rows.opponent_reach[0] = arena.hands[1 - walker].weight / arena.total_pair_weight
        for depth, (block, block_board) in enumerate(zip(path, boards, strict=True)):
            deal_walk.descend_block(
                walk, tables, scratch, rows, block, block_board, street_walk.MODE_MEAN
            )
            if depth < len(path) - 1:
                deal = betting.block_parents[path[depth + 1]]
                deal_walk.set_reach_after_deal(walk, rows, deal, boards[depth + 1], below)
                rows, below = below, rows
        row = int(walk.opponent_row[node])
        reaches.append((rows, rows.opponent_reach[row].astype(np.float64)))
    (rows, opponent_reach), (_, own_cf_reach) = reaches
    chance = float(np.prod(arena.boards.chance[boards[1:]]))
    reach = own_cf_reach * arena.total_pair_weight / chance
    if arena.num_loaded_streets < 3 - arena.spot.street:
        return np.full(rows.value.shape, np.nan), reach, opponent_reach
    walk, mode = arena.walks[player], street_walk.MODE_MEAN
    if len(path) == 1:
        arena.walk(player, tables, mode)
        return arena.scratch(player)[0].value.astype(np.float64), reach, opponent_reach
    scratch, tolerance = arena.scratch(player)[1][0], arena.value_tolerance
    block, last_board = path[-1], boards[-1]
    has_deals = walk.leaf_range[block, 3] < walk.leaf_range[block, 4]
    target = scratch.upper if has_deals else scratch.lower
    target.opponent_reach[0] = rows.opponent_reach[0]
    if has_deals:
        deal_walk.walk_middle_street(walk, tables, scratch, block, last_board, mode, tolerance)
    else:
        deal_walk.walk_last_street(
            walk, tables, scratch, target, block, last_board, mode, tolerance
        )
    return target.value.astype(np.float64), reach, opponent_reach


def hand_equity(
    arena: SpotArena, player: int, board: tuple[int, ...], reach: Floats, opponent_reach: Floats
) -> Floats:
    """Return the equity [n] of each hand against the opponent's reach, over all boards to come."""
    hands = arena.hands[player], arena.hands[1 - player]
    deck = np.array([c for c in range(52) if c not in board and c not in arena.spot.dead_cards])
    sums = np.zeros((hands[0].size, 2)), np.zeros((hands[1].size, 2))
    players = equity_players(hands, (reach, opponent_reach))
    board_cards, identity = np.array(board, np.int64), np.arange(52).reshape(1, 52)
    if arena.spot.deck_rules.ranking == "standard":
        equities.add_boards_equity(
            0, len(deck), board_cards, deck, 5 - len(board), identity, players, *sums
        )
    else:
        for dealt in combinations(deck.tolist(), 5 - len(board)):
            cards = hands[0].cards, hands[1].cards
            strengths = river_strengths((*board, *dealt), cards, arena.spot.deck_rules)
            equities.add_strength_equity(*strengths, *players, *sums)
    won, weight = sums[0].T
    return np.where(weight > 0.0, won / np.where(weight > 0.0, weight, 1.0), 0.0)
