"""Policies on the betting tree of poker with buckets: the blueprints of poker agents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.arenas.poker.betting_tree import (
    BettingArrays,
    build_betting_arrays,
    find_child,
)
from counterplay.core.archive import read_archive, write_archive
from counterplay.core.arena import Floats, Ints, has_vectors
from counterplay.core.cards import hand_index
from counterplay.core.trust import TrustError, load_game_from_file
from counterplay.errors import ConfigError, FileError
from counterplay.games.holdem_base import HoldemBase, HoldemState
from counterplay.registry import get_spec, load_abstracted_game, split_abstraction

BETTING_POLICY_FORMAT = "counterplay betting policy 1"
WEIGHT_UNITS = 65535  # of 16 bits
NUM_CLASSES = 169  # buckets before the flop


@dataclass(frozen=True, eq=False)
class BettingTables:
    """The layout of tables over decision nodes, buckets and actions.

    The entries [buckets, actions] of a node begin at `start[node]`.
    """

    game: HoldemBase
    tree: BettingArrays
    num_buckets: tuple[int, ...]  # by street
    start: Ints  # [N] int64
    num_entries: int

    @cached_property
    def depth(self) -> int:
        """The largest number of actions from the root to an end."""
        depth = np.zeros(len(self.tree.player), np.int64)
        for node, parent in enumerate(self.tree.parent.tolist()):
            if parent >= 0:
                depth[node] = depth[parent] + 1
        return int(depth.max()) + 1

    def find_node(self, state: HoldemState) -> int:
        """Return the node of a state, or -1 if its betting is not in the tree."""
        node = 0
        for action in self.game.past_actions(state):
            node = find_child(self.tree, node, action)
            if node < 0:
                break
        return node


@lru_cache(maxsize=4)
def betting_tables(game: BucketedGame) -> BettingTables:
    """Return the layout of the tables of a game with buckets."""
    tree = build_betting_arrays(game.full_game)
    num_buckets = count_buckets(game)
    sizes = np.array(num_buckets)[tree.street] * tree.count
    start = np.cumsum(sizes) - sizes
    return BettingTables(game.full_game, tree, num_buckets, start, int(sizes.sum()))


def count_buckets(game: BucketedGame) -> tuple[int, ...]:
    """Return the number of buckets of each street; on the river there is at most one per bin."""
    rule = game.abstraction
    by_cards = {0: NUM_CLASSES, 5: min(rule.num_buckets, rule.num_bins)}
    sizes = np.cumsum(game.full_game.board_cards).tolist()
    return tuple(by_cards.get(size, rule.num_buckets) for size in sizes)


class BettingPolicy:
    """A policy on the betting tree of poker with buckets; it plays the game without buckets.

    Probabilities are in proportion to `weights` [S], with the layout of `betting_tables`; where all
    weights are zero they are uniform.
    """

    def __init__(self, game: BucketedGame, weights: Any):
        self.game, self.weights = game, weights
        self.tables = betting_tables(game)
        if weights.shape != (self.tables.num_entries,):
            raise ConfigError(
                f"the policy has {weights.size:,} entries, {self.spec} has "
                f"{self.tables.num_entries:,}"
            )
        self.num_players = game.full_game.num_players

    @property
    def spec(self) -> str:
        """The game with its abstraction."""
        return get_spec(self.game)

    def __repr__(self) -> str:
        return f"BettingPolicy({self.spec}: {len(self.tables.tree.player):,} betting nodes)"

    def node_probabilities(self, node: int) -> Floats:
        """Return the probabilities [buckets, actions] at a decision node."""
        tables = self.tables
        count = int(tables.tree.count[node])
        size = tables.num_buckets[int(tables.tree.street[node])] * count
        first = int(tables.start[node])
        weights = self.weights[first : first + size].reshape(-1, count).astype(np.float64)
        total = weights.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / count)

    def hand_probabilities(self, node: int, board: Sequence[int]) -> Floats:
        """Return the probabilities [1326, actions] of all hands at a decision node on a board."""
        return self.node_probabilities(node)[self.game.buckets.board_buckets(tuple(board))]

    def action_probabilities(self, state: HoldemState, player: int) -> list[float]:
        """Return the acting player's probabilities of the legal actions.

        Raises:
            ConfigError: a bet before the state is not in the betting tree.
        """
        node, game = self._require_node(state), self.tables.game
        board = game.public_cards(state)[: sum(game.board_cards[: state.round + 1])]
        a, b = game.hole_cards(state, player)
        bucket = self.game.buckets.board_buckets(tuple(board))[hand_index(a, b)]
        row: list[float] = self.node_probabilities(node)[bucket].tolist()
        return row

    @property
    def is_suit_invariant(self) -> bool:
        """True: buckets do not tell the names of suits apart."""
        return True

    def tabulate(self, arena: Any, progress: Callable[[int], None] | None = None) -> Any:
        """Return the policy as a table of a hold'em arena, which judges it exactly.

        Args:
            arena: the arena.
            progress: called with the number of infosets so far.

        Raises:
            ConfigError: the arena is of another kind or game, or has other bets.
        """
        if not has_vectors(arena) or not hasattr(arena, "tabulate"):
            raise ConfigError(f"a blueprint for {self.spec} is judged on a hold'em arena only")
        return arena.tabulate(self, progress)

    def hand_policy(self, state: HoldemState, player: int) -> tuple[tuple[int, ...], Floats]:
        """Return the actions at a state and their probabilities [1326, actions] with each hand."""
        node, tree = self._require_node(state), self.tables.tree
        first, count = int(tree.first[node]), int(tree.count[node])
        board = self.tables.game.public_cards(state)
        return tuple(tree.action[first : first + count].tolist()), self.hand_probabilities(
            node, board
        )

    def _require_node(self, state: HoldemState) -> int:
        """Return the node of a state; raise ConfigError if its betting is not in the tree."""
        node = self.tables.find_node(state)
        if node < 0:
            raise ConfigError(
                f"the blueprint {self.spec} has no betting {state.history!r}; the agent hunl plays "
                "against bets of all sizes"
            )
        return node

    def save(self, path: str | Path) -> None:
        """Write the policy to a file; `load_betting_policy` reads it."""
        count = self.tables.tree.count.astype(np.int64)
        street = self.tables.tree.street
        rows = np.repeat(count, np.where(count > 0, np.array(self.tables.num_buckets)[street], 0))
        offsets = np.cumsum(rows) - rows
        total = np.add.reduceat(self.weights.astype(np.float64), offsets)
        share = self.weights / np.repeat(np.where(total > 0.0, total, 1.0), rows)
        content = {"game": self.spec, "weights": np.rint(WEIGHT_UNITS * share).astype(np.uint16)}
        write_archive(path, BETTING_POLICY_FORMAT, content)


def load_betting_policy(path: str | Path, game: HoldemBase | None = None) -> BettingPolicy:
    """Read a policy that `BettingPolicy.save` has written.

    Args:
        path: the file.
        game: the game that it must be for, if any; its bet sizes do not matter.

    Raises:
        FileError: the file is damaged.
        TrustError: its game is code that the user has not allowed.
        ConfigError: it is a policy for another game.
    """
    content = read_archive(path, BETTING_POLICY_FORMAT)
    try:
        name, rule = split_abstraction(content["game"])
        bucketed: Any = load_abstracted_game(load_game_from_file(name, path), rule)
        policy = BettingPolicy(bucketed, content["weights"])
    except TrustError:
        raise
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: not a whole policy ({error})") from error
    if game is not None:
        check_structure(policy, game, str(path))
    return policy


def game_structure(game: HoldemBase) -> tuple[Any, ...]:
    """Return all that must agree between a blueprint's game and the game played."""
    blinds = tuple(blind + game.ante for blind in game.blinds)
    deck = game.num_ranks, game.num_suits, game.num_hole_cards, game.board_cards
    raises = tuple(game.raise_sizes), game.max_raises if game.is_limit else ()
    return blinds, game.starting_stacks, game.first_to_act, deck, raises


def check_structure(policy: BettingPolicy, game: HoldemBase, source: str) -> None:
    """Raise ConfigError if a blueprint is for other stacks, blinds, seats or cards than a game."""
    own = policy.tables.game
    if game_structure(own) != game_structure(game):
        raise ConfigError(
            f"{source} is a blueprint for {get_spec(own)}, which has other players, stacks, blinds "
            f"or cards than {get_spec(game)}; build one for that game"
        )
