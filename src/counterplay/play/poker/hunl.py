"""The heads-up no-limit agent: a blueprint before the turn, re-solving on the turn and the river.

The agent keeps no state between decisions. It replays the betting of a hand, updates both players'
ranges by Bayes' rule with the policies that it follows there, and caches what it has solved by
public history.

- Before the turn it plays its blueprint. A bet that the blueprint does not have is interpolated
  between the two next ones by the pseudo-harmonic mapping (Ganzfried and Sandholm, 2013).
- On the turn and on the river it solves the subgame from the start of the street, with the
  opponent's counterfactual best-response values against the policy so far as alternatives: the
  blueprint on the turn, the solution of the turn on the river.
- After a bet on these streets that the solution does not have, the subgame that begins after the
  bet is solved; the alternatives are the opponent's best values before the bet.
- Ranges that subgames are solved with are mixed with a uniform range (a thousandth).
"""

from __future__ import annotations

import time
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from counterplay.abstraction.betting_policy import (
    BETTING_POLICY_FORMAT,
    BettingPolicy,
    check_structure,
    load_betting_policy,
)
from counterplay.arenas.poker.betting_tree import find_child, iter_path
from counterplay.core.archive import read_format_name
from counterplay.core.arena import Floats
from counterplay.core.cards import ALL_HANDS, hand_index
from counterplay.core.game import CHANCE
from counterplay.core.settings import NonNegativeInt, Positive, PositiveInt, settings
from counterplay.errors import ConfigError
from counterplay.games.holdem_base import CALL, FOLD, HoldemBase, HoldemState
from counterplay.kernels.poker import call_down
from counterplay.play.poker.subgame import (
    METHODS,
    SubgameArena,
    SubgamePolicy,
    alternative_values,
    clock_limit,
    solve_subgame,
)
from counterplay.registry import get_spec

NUM_HANDS = len(ALL_HANDS)
UNIFORM_SHARE = 1e-3  # of a uniform range that is mixed into each range
MAX_CACHED_SUBGAMES = 12
TURN, RIVER = 2, 3  # betting rounds
NUM_SAMPLED_BOARDS = 200  # for equities where the agent has neither blueprint nor solution
SAVED_SHARE = 0.85  # of the time limit that iterations may use; the rest is for all else
BUILD_ADVICE = "build one with 'counterplay run configs/agents/hunl.json', or name a file or run"


@settings()
class HoldemAgentConfig:
    """An agent for heads-up no-limit hold'em; see `play.poker.hunl`.

    Bet sizes are written as in `no_limit_holdem`: semicolons separate raise numbers, an empty part
    has no raises.
    """

    blueprint: str = "runs/hunl"  # a file of a blueprint, a run, or a folder of runs (the newest)
    max_seconds: Positive = 3.0  # limit of a decision
    search_street: NonNegativeInt = TURN  # first betting round that is solved; 4: blueprint only
    method: str = "combined"  # of subgames: unsafe, resolve or combined
    turn_sizes: str = "0.5,1,a;a;"  # on the turn, in subgames
    next_sizes: str = "0.75,a;a;"  # on the river, in subgames of the turn
    river_sizes: str = "0.33,0.75,1.5,a;0.75,a;a;"  # on the river, in its own subgames
    turn_iterations: PositiveInt = 60
    river_iterations: PositiveInt = 200
    needs: ClassVar[str] = "rules"

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            known = ", ".join(METHODS)
            raise ConfigError(f"hunl: method is {self.method!r}, must be one of {known}")
        if self.search_street < TURN:
            raise ConfigError(
                f"hunl: search_street is {self.search_street}, must be 2 (the turn), 3 (the river) "
                "or 4 (the blueprint alone); flops are not searched"
            )

    def make_agent(self, game: HoldemBase) -> HoldemAgent:
        """Return the agent for a game, with the blueprint loaded."""
        return HoldemAgent(game, load_blueprint(self.blueprint), self)


def load_blueprint(source: str) -> BettingPolicy:
    """Return the blueprint of a file, of a run, or of the newest run in a folder.

    Raises:
        ConfigError: there is no blueprint.
    """
    path = Path(source)
    if path.is_file():
        if read_format_name(path) != BETTING_POLICY_FORMAT:
            raise ConfigError(f"{source} is not a blueprint: {BUILD_ADVICE}")
        return load_betting_policy(path)
    from counterplay.experiment.run_folder import find_runs
    from counterplay.experiment.runner import load_run

    runs = find_runs([path]) if path.is_dir() else []
    if not runs:
        raise ConfigError(f"there is no blueprint at {source}: {BUILD_ADVICE}")
    policy = next(iter(load_run(runs[-1]).policies.values()))
    if not isinstance(policy, BettingPolicy):
        raise ConfigError(f"{runs[-1]} is not the run of a blueprint: {BUILD_ADVICE}")
    return policy


class HandPolicy(NamedTuple):
    """The policy of a player with each hand it could hold."""

    actions: tuple[int, ...]  # legal actions; others have probability 0
    probabilities: Floats  # [1326, actions]


@dataclass(eq=False)
class PublicPath:
    """The agent's knowledge after some betting: ranges, and the policy from there on."""

    ranges: list[Floats]  # own reach [1326] by player
    node: int = 0  # of the blueprint; -1 if the betting left it
    policy: SubgamePolicy | None = None  # of the street, if it is solved
    policy_node: int = 0  # of that policy
    base: SubgamePolicy | None = None  # the policy so far, from the start of the street on
    base_scale: float = 1.0  # chips of the game per chip of the base
    root: str = ""  # public history of its root


class HoldemAgent:
    """See the module.

    Args:
        game: two-player no-limit hold'em with the structure of the blueprint; any bet sizes.
        blueprint: the policy before the turn.
        config: search and time limits.

    Raises:
        ConfigError: the game is not two-player no-limit hold'em, or the blueprint is for another
            structure.
    """

    def __init__(self, game: Any, blueprint: BettingPolicy, config: HoldemAgentConfig):
        is_holdem = isinstance(game, HoldemBase) and game.num_players == 2 and not game.is_limit
        if not is_holdem or game.board_cards != (0, 3, 1, 1) or game.pays_prizes:
            raise ConfigError(f"hunl plays two-player no-limit hold'em, not {get_spec(game)}")
        check_structure(blueprint, game, config.blueprint)
        if blueprint.part:
            raise ConfigError(f"{config.blueprint} has experts for parts; hunl needs one blueprint")
        self.game, self.blueprint, self.config = game, blueprint, config
        self.search_games = {
            TURN: _with_sizes(game, f"a|a|{config.turn_sizes}|{config.next_sizes}"),
            RIVER: _with_sizes(game, f"a|a|a|{config.river_sizes}"),
        }
        self._solved: OrderedDict[tuple[str, int], SubgamePolicy] = OrderedDict()
        self._bases: OrderedDict[tuple[str, int], tuple[SubgamePolicy | None, float]] = (
            OrderedDict()
        )
        self.last_seconds = 0.0  # that the last decision took
        self.num_iterations = 0  # of the last subgame that was solved

    def action_probabilities(self, state: HoldemState, player: int) -> list[float]:
        """Return the probabilities of the legal actions with the player's hand."""
        actions, table = self.hand_policy(state, player)
        row = table[hand_index(*self.game.hole_cards(state, player))]
        legal = self.game.actions(state)
        result = [0.0] * len(legal)
        for action, probability in zip(actions, row.tolist(), strict=True):
            result[legal.index(action)] += probability
        return result

    def hand_policy(self, state: HoldemState, player: int) -> HandPolicy:
        """Return the probabilities of actions with every hand, at the public state of `state`."""
        start = time.perf_counter()
        path = self._follow(state, player, start)
        if path.policy is not None:
            policy, node = path.policy, path.policy_node
            actions, rows = policy.arena.actions[node], policy.probabilities_at(node)
        elif path.node >= 0:
            board = self.game.public_cards(state)
            rows = self.blueprint.hand_probabilities(path.node, board)
            actions = self._scale_actions(state, path.node)
        else:
            actions, rows = self._call_down_policy(state, player, path)
        result = self._to_legal(state, actions, rows)
        self.last_seconds = time.perf_counter() - start
        return result

    # following the betting of a hand

    def _follow(self, state: HoldemState, player: int, start: float) -> PublicPath:
        """Replay the betting up to a state at which `player` acts."""
        game, path = self.game, PublicPath([np.ones(NUM_HANDS), np.ones(NUM_HANDS)])
        current, cards = game.initial_state(), iter(state.cards)
        actions = game.past_actions(state)
        for number in range(len(actions) + 1):
            dealt = current.to_act == CHANCE
            while current.to_act == CHANCE:
                current = game.next_state(current, next(cards))
            if dealt and current.round >= self.config.search_street:
                self._enter_street(path, current, player)
            if number == len(actions):
                break
            remaining = actions[number:]
            self._advance(path, current, actions[number], player, start, remaining)
            current = game.next_state(current, actions[number])
        if current.round >= self.config.search_street and path.policy is None:
            self._solve(path, current, player, start)
        if path.node >= 0 and self.blueprint.tables.tree.player[path.node] < 0:
            path.node = -1  # the hand is over in the blueprint, as after a bet taken for all-in
        return path

    def _enter_street(self, path: PublicPath, state: HoldemState, player: int) -> None:
        """Set the policy so far at the start of a street that is searched: the base."""
        board = self.game.public_cards(state)
        dead = np.array([bool(set(hand) & set(board)) for hand in ALL_HANDS])
        for reach in path.ranges:
            reach[dead] = 0.0
        previous, previous_node = path.policy, path.policy_node
        path.policy, path.root = None, state.history
        key = state.history, player
        if key not in self._bases:
            self._bases[key] = self._make_base(path.node, previous, previous_node, state)
            while len(self._bases) > MAX_CACHED_SUBGAMES:
                self._bases.popitem(last=False)
        path.base, path.base_scale = self._bases[key]

    def _make_base(
        self, node: int, previous: SubgamePolicy | None, previous_node: int, state: HoldemState
    ) -> tuple[SubgamePolicy | None, float]:
        """Return the policy so far from the start of a street on, and the factor of its chips."""
        if previous is not None:
            return _river_part(previous, previous_node, state), 1.0
        if node < 0 or self.blueprint.tables.tree.player[node] < 0:
            return None, 1.0
        base = self._blueprint_part(node, self.game.public_cards(state))
        return base, sum(state.contributions) / base.arena.spot.pot

    def _advance(
        self,
        path: PublicPath,
        state: HoldemState,
        action: int,
        player: int,
        start: float,
        remaining: list[int],
    ) -> None:
        """Update ranges and nodes by an action that was taken at a state."""
        actor = state.to_act
        if state.round < self.config.search_street:
            if path.node >= 0:
                self._advance_blueprint(path, state, action)
            return
        if path.policy is None:
            searched = self.search_games[state.round]
            if actor != player and not _is_legal(searched, state, action):
                self._leave_tree(path, state, action, player, start)
                return
            self._solve(path, state, player, start)
        policy, node = path.policy, path.policy_node
        assert policy is not None
        child = policy.find_child(node, action)
        if child < 0:
            self._leave_tree(path, state, action, player, start)
            return
        column = child - policy.arena.betting.nodes[node].first_child
        path.ranges[actor] = path.ranges[actor] * policy.probabilities_at(node)[:, column]
        path.policy_node = child

    def _advance_blueprint(self, path: PublicPath, state: HoldemState, action: int) -> None:
        """Follow an action in the blueprint, exactly or by the pseudo-harmonic mapping."""
        tree, node, actor = self.blueprint.tables.tree, path.node, state.to_act
        board = self.game.public_cards(state)
        if tree.player[node] < 0:
            path.node = -1
            return
        rows = self.blueprint.hand_probabilities(node, board)
        shares = self._map_action(state, node, action)
        first = int(tree.first[node])
        if not shares:
            path.node = -1
            return
        likelihood = sum(share * rows[:, child - first] for child, share in shares.items())
        path.ranges[actor] = path.ranges[actor] * likelihood
        number = zlib.crc32(f"{state.history}:{action}".encode()) / 2**32
        for child, share in shares.items():
            path.node = child
            number -= share
            if number < 0.0:
                break

    def _map_action(self, state: HoldemState, node: int, action: int) -> dict[int, float]:
        """Return the children of a blueprint node that stand for an action, with probabilities."""
        tree = self.blueprint.tables.tree
        if action in (FOLD, CALL):
            child = find_child(tree, node, action)
            return {child: 1.0} if child >= 0 else {}
        stack = self.game.starting_stacks[state.to_act]
        first, count = int(tree.first[node]), int(tree.count[node])
        children = [c for c in range(first, first + count) if tree.action[c] > CALL]
        if not children:
            return {}
        if action == stack:
            return {children[-1]: 1.0}
        size = pot_fraction(state.contributions, state.to_act, action)
        chips = tree.chips[node].tolist()
        sizes = [pot_fraction(chips, state.to_act, int(tree.action[c])) for c in children]
        return {children[k]: share for k, share in pseudo_harmonic_shares(sizes, size).items()}

    # solving

    def _solve(self, path: PublicPath, state: HoldemState, player: int, start: float) -> None:
        """Solve the subgame that begins at a state, from the base of its street."""
        base, alternatives = path.base, None
        key = state.history, player
        if key in self._solved:
            self._solved.move_to_end(key)
            path.policy, path.policy_node = self._solved[key], 0
            return
        arena = SubgameArena(self.search_games[state.round], state)
        ranges = root_ranges(arena, path.ranges, player)
        if base is not None and self.config.method != "unsafe":
            values = alternative_values(base, 0, 1 - player, ranges)
            alternatives = path.base_scale * values
        self._store(path, key, arena, ranges, alternatives, player, start)

    def _leave_tree(
        self, path: PublicPath, state: HoldemState, action: int, player: int, start: float
    ) -> None:
        """Solve the subgame after an action that the policy so far does not have."""
        after = self.game.next_state(state, action)
        actor = state.to_act
        if after.to_act == CHANCE or after.to_act < 0:  # a call in a tree that differs
            path.policy = None
            return
        policy, node = path.policy or path.base, path.policy_node if path.policy else 0
        scale = 1.0 if path.policy else path.base_scale
        key = after.history, player
        alternatives = None
        arena = SubgameArena(self.search_games[state.round], after)
        if policy is not None:
            before = root_ranges(policy.arena, path.ranges, player)
            if actor != player and self.config.method != "unsafe":
                root = _ranges_at_root(path, policy, node, before)
                alternatives = scale * alternative_values(policy, node, 1 - player, root)
            shares = _interpolate(policy, node, state, action)
            rows = policy.probabilities_at(node)
            likelihood = sum(share * rows[:, k] for k, share in shares.items())
            if shares:
                path.ranges[actor] = path.ranges[actor] * likelihood
        path.root = after.history
        if key in self._solved:
            self._solved.move_to_end(key)
            path.policy, path.policy_node = self._solved[key], 0
            return
        ranges = root_ranges(arena, path.ranges, player)
        self._store(path, key, arena, ranges, alternatives, player, start)

    def _store(
        self,
        path: PublicPath,
        key: tuple[str, int],
        arena: SubgameArena,
        ranges: tuple[Floats, Floats],
        alternatives: Floats | None,
        player: int,
        start: float,
    ) -> None:
        config, is_turn = self.config, arena.spot.street == 1
        used = time.perf_counter() - start
        limit = clock_limit(SAVED_SHARE * config.max_seconds - used)
        count = [0]

        def is_over() -> bool:
            count[0] += 1
            return limit()

        iterations = config.turn_iterations if is_turn else config.river_iterations
        policy = solve_subgame(
            arena, ranges, player, alternatives, config.method, iterations, is_over
        )
        self.num_iterations = count[0]
        self._solved[key] = policy
        while len(self._solved) > MAX_CACHED_SUBGAMES:
            self._solved.popitem(last=False)
        path.policy, path.policy_node = policy, 0

    def _blueprint_part(self, node: int, board: Sequence[int]) -> SubgamePolicy:
        """Return the blueprint from a node at the start of a street on, as a policy of hands."""
        tables, buckets = self.blueprint.tables, self.blueprint.game.buckets
        tree, game = tables.tree, tables.game
        state = _replay(game, [int(tree.action[n]) for n in iter_path(tree, node)][-2::-1], board)
        arena = _get_arena(game, state)
        nodes = np.zeros(len(arena.betting.nodes), np.int64)
        nodes[0] = node
        weights = np.zeros(arena.num_sequences, np.float32)
        layout = arena.piece_layout
        boards = [buckets.board_buckets(tuple(cards))[arena.live] for cards in arena.boards.cards]
        river = np.array(boards[1:]) if len(boards) > 1 else np.zeros((0, len(arena.live)), int)
        for number, betting_node in enumerate(arena.betting.nodes):
            count = len(arena.actions[number])
            if betting_node.parent >= 0:
                parent = arena.betting.nodes[betting_node.parent]
                offset = number - parent.first_child
                nodes[number] = tree.first[nodes[betting_node.parent]] + offset
            elif number:
                deal = arena.betting.block_parents[betting_node.block]
                nodes[number] = nodes[deal]
            if not count:
                continue
            rows = self.blueprint.node_probabilities(int(nodes[number])).astype(np.float32)
            first_street = betting_node.state.street == arena.spot.street
            index = boards[0][None] if first_street else river
            pieces = np.ascontiguousarray(rows[index].transpose(0, 2, 1)).reshape(len(index), -1)
            start = int(layout.start[number] + (0 if first_street else layout.stride[number]))
            stride = int(layout.stride[number])
            at = start + stride * np.arange(len(index))[:, None] + np.arange(pieces.shape[1])
            weights[at] = pieces
        return SubgamePolicy(arena, weights)

    # actions

    def _scale_actions(self, state: HoldemState, node: int) -> tuple[int, ...]:
        """Return the actions of a blueprint node at a state, with raises in parts of its pot."""
        tree, player = self.blueprint.tables.tree, state.to_act
        first, count = int(tree.first[node]), int(tree.count[node])
        stack = self.game.starting_stacks[player]
        pot = max(state.contributions) - state.contributions[player] + sum(state.contributions)
        actions = []
        for total in tree.action[first : first + count].tolist():
            if total > CALL and total != stack:
                size = pot_fraction(tree.chips[node].tolist(), player, total)
                total = min(max(state.contributions) + round(size * pot), stack)
            actions.append(int(total))
        return tuple(actions)

    def _to_legal(self, state: HoldemState, actions: Sequence[int], rows: Floats) -> HandPolicy:
        """Move probabilities of illegal actions to the nearest legal ones."""
        game, legal = self.game, self.game.actions(state)
        raises = legal[legal.index(CALL) + 1 :]
        columns: dict[int, Floats] = {}
        for k, action in enumerate(actions):
            target = action
            if action == FOLD and FOLD not in legal:
                target = CALL
            elif action > CALL and not game.is_legal(state, action):
                target = min(raises, key=lambda r: abs(r - action)) if raises else CALL
            columns[target] = columns.get(target, 0.0) + rows[:, k]
        return HandPolicy(tuple(columns), np.column_stack(list(columns.values())))

    def _call_down_policy(
        self, state: HoldemState, player: int, path: PublicPath
    ) -> tuple[tuple[int, ...], Floats]:
        """Check, or call if the equity against the opponent's range pays for it.

        This is for betting before the turn that the blueprint does not have at all.
        """
        board = self.game.public_cards(state)
        own = self.game.hole_cards(state, player)
        rows = np.zeros((NUM_HANDS, 2))
        if FOLD not in self.game.actions(state):
            rows[:, 1] = 1.0
            return (FOLD, CALL), rows
        used = {*board, *own}
        live = np.array([not set(hand) & used for hand in ALL_HANDS])
        hands, deck = np.array(ALL_HANDS)[live], [c for c in range(52) if c not in used]
        rng = np.random.default_rng(0)
        boards = [
            [*board, *rng.choice(deck, 5 - len(board), False)] for _ in range(NUM_SAMPLED_BOARDS)
        ]
        equity, weight = np.zeros((2, len(hands)))
        call_down.sample_boards(np.array(own), hands, np.array(boards), 4, equity, weight)
        reach = path.ranges[1 - player][live] + UNIFORM_SHARE
        win = float(reach @ equity / reach.sum())
        price = max(state.contributions) - state.contributions[player]
        calls = win * (sum(state.contributions) + price) >= price
        rows[:, int(calls)] = 1.0
        return (FOLD, CALL), rows


def pot_fraction(chips: Sequence[int], player: int, total: int) -> float:
    """Return a raise to `total` as a fraction of the pot after a call."""
    highest = max(chips)
    return (total - highest) / (sum(chips) + highest - chips[player])


def pseudo_harmonic_shares(sizes: Sequence[float], size: float) -> dict[int, float]:
    """Return the indices of the next sizes below and above a size, with their shares.

    The mapping is that of Ganzfried and Sandholm (2013). Sizes are fractions of the pot in
    increasing order; a size outside of them belongs to the nearest.
    """
    above = next((k for k, x in enumerate(sizes) if x >= size), len(sizes))
    if above in (0, len(sizes)):
        return {min(above, len(sizes) - 1): 1.0}
    low, high = sizes[above - 1], sizes[above]
    share = (high - size) * (1.0 + low) / ((high - low) * (1.0 + size))
    return {above - 1: share, above: 1.0 - share}


def root_ranges(
    arena: SubgameArena, ranges: Sequence[Floats], player: int
) -> tuple[Floats, Floats]:
    """Return the ranges [hands] of a subgame, mixed with a uniform one.

    That of `player` sums to 1, that of the opponent has the largest weight 1.
    """
    result = []
    for p in (0, 1):
        reach = ranges[p][arena.live]
        total = reach.sum()
        reach = reach / total if total > 0.0 else np.full(len(reach), 1.0 / len(reach))
        reach = (1.0 - UNIFORM_SHARE) * reach + UNIFORM_SHARE / len(reach)
        result.append(reach if p == player else reach / reach.max())
    return result[0], result[1]


def _ranges_at_root(
    path: PublicPath, policy: SubgamePolicy, node: int, ranges: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Return ranges for the root of a policy so that those at a node are `ranges`.

    Values at the node are then in units of these ranges: the reach between root and node is
    divided out, with a floor.
    """
    nodes, live = policy.arena.betting.nodes, policy.arena.live
    result = list(ranges)
    while nodes[node].parent >= 0:
        parent = nodes[node].parent
        actor, column = nodes[parent].kind, node - nodes[parent].first_child
        probability = policy.probabilities_at(parent)[live, column]
        result[actor] = result[actor] / np.maximum(probability, UNIFORM_SHARE)
        node = parent
    return result[0], result[1]


def _interpolate(
    policy: SubgamePolicy, node: int, state: HoldemState, action: int
) -> dict[int, float]:
    """Return the columns of a node's raises around an action, with pseudo-harmonic shares."""
    actions, player = policy.arena.actions[node], state.to_act
    raises = [k for k, total in enumerate(actions) if total > CALL]
    if not raises:
        return {}
    size = pot_fraction(state.contributions, player, action)
    sizes = [pot_fraction(state.contributions, player, actions[k]) for k in raises]
    return {raises[k]: share for k, share in pseudo_harmonic_shares(sizes, size).items()}


def _river_part(policy: SubgamePolicy, node: int, state: HoldemState) -> SubgamePolicy | None:
    """Return the part of a policy of the turn after the river card, as a policy of the river."""
    arena = policy.arena
    block = arena.betting.nodes[node].next_block
    if block < 0:
        return None
    first, last = arena.betting.block_starts[block : block + 2]
    card = state.cards[-1]
    board = next(g for g, cards in enumerate(arena.boards.cards) if g and cards[-1] == card)
    river = SubgameArena(arena.game, state)
    assert len(river.betting.nodes) == last - first
    weights = np.zeros(river.num_sequences, np.float32)
    keep = np.isin(arena.live, river.live)
    for number, betting_node in enumerate(river.betting.nodes):
        if betting_node.kind < 2:
            piece = policy.weights[arena.piece_slice(first + number, board)]
            piece = piece.reshape(len(betting_node.actions), -1)[:, keep]
            weights[river.piece_slice(number, 0)] = piece.ravel()
    return SubgamePolicy(river, weights)


def _replay(game: HoldemBase, actions: Sequence[int], board: Sequence[int]) -> HoldemState:
    """Return the state of a game after some betting, on a board, with any private cards."""
    private = [card for card in game.deck if card not in board][: 2 * game.num_hole_cards]
    cards, state = iter((*private, *board)), game.initial_state()
    for action in actions:
        while state.to_act == CHANCE:
            state = game.next_state(state, next(cards))
        state = game.next_state(state, action)
    while state.to_act == CHANCE:
        state = game.next_state(state, next(cards))
    return state


@lru_cache(maxsize=4)
def _get_arena(game: HoldemBase, state: HoldemState) -> SubgameArena:
    return SubgameArena(game, state)


def _with_sizes(game: Any, sizes: str) -> HoldemBase:
    """Return a game with other bet sizes."""
    changed: HoldemBase = replace(game, sizes=sizes)
    return changed


def _is_legal(game: HoldemBase, state: HoldemState, action: int) -> bool:
    return action in game.actions(state)
