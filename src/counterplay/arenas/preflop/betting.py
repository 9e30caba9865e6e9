"""The betting tree before the flop: nodes where a seat acts, and leaves with payoffs.

At most `max_players` seats are left in when the betting ends: a seat cannot call if that number
has matched the bet already. Folding is always possible where there is something to call.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations, product

import numpy as np

from counterplay.arenas.preflop.game import PreflopGame, parse_raise
from counterplay.arenas.preflop.icm import divide_pots, tournament_prizes
from counterplay.core.arena import Floats
from counterplay.errors import ConfigError

MAX_PREFLOP_NODES = 20_000
ROUNDING = 1e-9  # chips below which two amounts are equal

# Places of two and of three hands at showdown, 0 for the best; equal places tie.
PAIR_PLACES = ((0, 1), (0, 0), (1, 0))
STRICT_PLACES = tuple(permutations(range(3)))
WEAK_PLACES = tuple(
    places
    for places in product(range(3), repeat=3)
    if all(sum(other < place for other in places) == place for place in places)
)


@dataclass(frozen=True)
class PreflopNode:
    """A node where a seat acts."""

    seat: int
    history: tuple[str, ...]  # actions so far, such as ("SB raise 2.5",)
    actions: tuple[str, ...]
    children: tuple[int, ...]  # a node, or -1 - a leaf
    parent: tuple[int, int]  # the seat's last node and action before, or (-1, -1)
    pot: float  # chips in the middle
    to_call: float


@dataclass(frozen=True)
class PreflopLeaf:
    """The end of the betting."""

    history: tuple[str, ...]
    contenders: tuple[int, ...]  # seats left in
    contributions: tuple[float, ...]  # chips of each seat in the pot, antes included
    bets: tuple[float, ...]  # chips of each seat without antes
    is_all_in: bool  # whether fewer than two contenders have chips left
    last: tuple[tuple[int, int], ...]  # each seat's last node and action, or (-1, -1)


@dataclass
class PreflopTree:
    """All nodes, parents first, and all leaves."""

    game: PreflopGame
    nodes: list[PreflopNode] = field(default_factory=list)
    leaves: list[PreflopLeaf] = field(default_factory=list)


@dataclass(frozen=True)
class _Betting:
    """The state of the betting."""

    bets: tuple[float, ...]
    posted: tuple[float, ...]  # antes
    folded: frozenset[int]
    to_act: tuple[int, ...]  # seats in the order in which they act next
    num_raises: int
    current_bet: float
    min_raise: float
    last: tuple[tuple[int, int], ...]
    history: tuple[str, ...]


def build_preflop_tree(game: PreflopGame) -> PreflopTree:
    """Return the betting tree of a game.

    Raises:
        ConfigError: the tree has more than 20,000 nodes.
    """
    tree = PreflopTree(game)
    _expand(tree, _first_state(game))
    if not tree.nodes:
        raise ConfigError("the blinds put all seats all-in: there is nothing to decide")
    return tree


def _first_state(game: PreflopGame) -> _Betting:
    seats = range(game.num_seats)
    small, big = game.blind_seats
    posted = [game.ante for _ in seats]
    posted[big] += min(game.big_blind_ante, game.stacks[big] - game.ante)
    blinds = {small: game.small_blind, big: game.big_blind}
    if game.straddle:
        blinds[game.num_seats - 1] = game.straddle
    bets = tuple(min(blinds.get(s, 0.0), game.stacks[s] - posted[s]) for s in seats)
    largest = game.straddle or game.big_blind
    return _Betting(
        bets=bets,
        posted=tuple(posted),
        folded=frozenset(),
        to_act=tuple(s for s in seats if game.stacks[s] - posted[s] - bets[s] > ROUNDING),
        num_raises=0,
        current_bet=largest,
        min_raise=largest,
        last=((-1, -1),) * game.num_seats,
        history=(),
    )


def _behind(game: PreflopGame, state: _Betting, seat: int) -> float:
    """Return the chips that a seat has left."""
    return game.stacks[seat] - state.posted[seat] - state.bets[seat]


def _expand(tree: PreflopTree, state: _Betting) -> int:
    """Add the subtree of a state; return its node, or -1 - its leaf."""
    game = tree.game
    alive = [s for s in range(game.num_seats) if s not in state.folded]
    seat = _next_seat(game, state, alive)
    if seat is None:
        return _add_leaf(tree, state, alive)
    actions = _actions(game, state, seat, alive)
    if len(actions) == 1:  # nothing to decide
        ((name, total),) = actions.items()
        return _expand(tree, _act(game, state, seat, state.last[seat], name, total))
    number = len(tree.nodes)
    if number >= MAX_PREFLOP_NODES:
        raise ConfigError(f"the tree has more than {MAX_PREFLOP_NODES:,} nodes; give fewer sizes")
    to_call = min(state.current_bet - state.bets[seat], _behind(game, state, seat))
    pot = sum(state.bets) + sum(state.posted)
    node = PreflopNode(seat, state.history, tuple(actions), (), state.last[seat], pot, to_call)
    tree.nodes.append(node)
    children = tuple(
        _expand(tree, _act(game, state, seat, (number, position), name, total))
        for position, (name, total) in enumerate(actions.items())
    )
    values = {**vars(node), "children": children}
    tree.nodes[number] = PreflopNode(**values)
    return number


def _next_seat(game: PreflopGame, state: _Betting, alive: list[int]) -> int | None:
    """Return the seat that acts, or None if the betting is over."""
    if len(alive) == 1:
        return None
    for seat in state.to_act:
        if seat in state.folded:
            continue
        owes = state.current_bet - state.bets[seat] > ROUNDING
        others_can_act = any(
            _behind(game, state, other) > ROUNDING for other in alive if other != seat
        )
        if owes or others_can_act:
            # a bet that no other player can match, such as a blind against a shorter all-in
            largest = max(state.bets[other] for other in alive if other != seat)
            if others_can_act or largest - state.bets[seat] > ROUNDING:
                return seat
    return None


def _actions(
    game: PreflopGame, state: _Betting, seat: int, alive: list[int]
) -> dict[str, float | None]:
    """Return the seat's actions: names with the seat's total bet after them; None for a fold."""
    betting, behind = game.betting, _behind(game, state, seat)
    stack = state.bets[seat] + behind
    to_call = state.current_bet - state.bets[seat]
    others = [other for other in alive if other != seat]
    all_in = [other for other in others if _behind(game, state, other) <= ROUNDING]
    matched = {other for other in others if state.bets[other] >= state.current_bet - ROUNDING}
    can_respond = len(all_in) < len(others)
    actions: dict[str, float | None] = {}
    if to_call > ROUNDING:
        actions["fold"] = None
        is_allowed = betting.call if state.num_raises else betting.limp
        is_last = not can_respond or to_call >= behind - ROUNDING  # nothing follows this call
        if (is_last or (is_allowed and not betting.push_fold)) and (
            len(matched | set(all_in)) < betting.max_players
        ):
            actions["call"] = min(state.current_bet, stack)
    else:
        actions["check"] = state.bets[seat]
    if can_respond and stack > state.current_bet + ROUNDING and len(all_in) < betting.max_players:
        for total in _raise_totals(game, state, seat, stack):
            name = "all-in" if total >= stack - ROUNDING else f"raise {total:g}"
            actions[name] = total
    return actions


def _raise_totals(game: PreflopGame, state: _Betting, seat: int, stack: float) -> list[float]:
    """Return the total bets of the raises offered, smallest first."""
    betting = game.betting
    if betting.push_fold:
        return [stack]
    if state.num_raises >= len(betting.raises):
        return []
    totals = []
    pot = sum(state.bets) + sum(state.posted) + state.current_bet - state.bets[seat]
    for word in betting.raises[state.num_raises]:
        unit, number = parse_raise(word)
        total = {
            "a": stack,
            "x": number * state.current_bet,
            "%": state.current_bet + number / 100.0 * pot,
            "c": number,
        }[unit]
        total = max(total, state.current_bet + state.min_raise)
        if total > betting.all_in_from * stack - ROUNDING:
            total = stack
        totals.append(round(total, 9))
    return sorted(set(totals))


def _act(
    game: PreflopGame,
    state: _Betting,
    seat: int,
    edge: tuple[int, int],
    name: str,
    total: float | None,
) -> _Betting:
    last = tuple(edge if s == seat else before for s, before in enumerate(state.last))
    history = (*state.history, f"{game.seat_names[seat]} {name}")
    waiting = tuple(s for s in state.to_act if s != seat)
    values = {**vars(state), "last": last, "history": history, "to_act": waiting}
    if total is None:
        return _Betting(**{**values, "folded": state.folded | {seat}})
    values["bets"] = tuple(total if s == seat else bet for s, bet in enumerate(state.bets))
    if total > state.current_bet + ROUNDING:
        count = game.num_seats
        order = [(seat + k) % count for k in range(1, count)]
        values["to_act"] = tuple(
            s for s in order if s not in state.folded and _behind(game, state, s) > ROUNDING
        )
        values["num_raises"] = state.num_raises + 1
        values["min_raise"] = max(total - state.current_bet, state.min_raise)
        values["current_bet"] = total
    return _Betting(**values)


def _add_leaf(tree: PreflopTree, state: _Betting, alive: list[int]) -> int:
    with_chips = [s for s in alive if _behind(tree.game, state, s) > ROUNDING]
    contributions = tuple(b + p for b, p in zip(state.bets, state.posted, strict=True))
    is_all_in = len(alive) > 1 and len(with_chips) < 2
    leaf = PreflopLeaf(
        state.history, tuple(alive), contributions, state.bets, is_all_in, state.last
    )
    tree.leaves.append(leaf)
    return -len(tree.leaves)


def leaf_utilities(
    game: PreflopGame, leaf: PreflopLeaf, places: tuple[tuple[int, ...], ...]
) -> Floats:
    """Return every seat's utility [O, P] for each order of the contenders' hands.

    Args:
        game: the game.
        leaf: the leaf.
        places: O orders, each with the place of every contender; one empty order for a single one.
    """
    return np.array([_utility(game, leaf, order) for order in places])


def _utility(game: PreflopGame, leaf: PreflopLeaf, order: tuple[int, ...]) -> Floats:
    cap = np.inf if game.rake_cap is None else game.rake_cap
    rake = game.rake if len(leaf.contenders) > 1 else 0.0
    places = dict(zip(leaf.contenders, order or (0,), strict=True))
    returned, pots = divide_pots(leaf.contributions, places, rake, cap)
    if not leaf.is_all_in and len(leaf.contenders) > 1 and game.leaves == "realisation":
        returned = _apply_realisation(game, leaf, returned)
    start = np.array(game.stacks)
    final = start - np.array(leaf.contributions) + returned
    if game.payouts is None:
        return final - start
    final[np.abs(final) < ROUNDING] = 0.0
    prizes = tournament_prizes(game.stacks, final.tolist(), game.payouts)
    for seat in np.flatnonzero(final == 0.0) if game.bounties else ():
        # the winners of the last pot for which the eliminated seat played
        _, _, winners = [pot for pot in pots if seat in pot[1]][-1]
        prizes[winners] += game.bounties[seat] / len(winners)  # type: ignore[index]
    return prizes


def _apply_realisation(game: PreflopGame, leaf: PreflopLeaf, returned: Floats) -> Floats:
    """Return the chips if all but the last player to act realise a part of their equity."""
    order = [seat for seat in game.postflop_order if seat in leaf.contenders]
    result = returned.copy()
    result[order[:-1]] *= game.realisation
    result[order[-1]] += returned.sum() - result.sum()
    return result
