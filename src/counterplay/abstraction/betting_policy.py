"""Policies on the betting tree of poker with buckets: the blueprints of poker agents.

A policy may cover a part of the tree only, such as the play of two players after the others have
folded, with finer buckets than the policy that it follows elsewhere: an expert (Abou Risk and
Szafron, 2010; Gibson and Szafron, 2011). `stitch` puts a base and several experts together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from counterplay.abstraction.holdem_buckets import BucketedGame
from counterplay.arenas.poker.betting_parts import find_part
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
OUTSIDE = "outside."  # before the names of a file's fields of the policy outside of a part


@dataclass(frozen=True, eq=False)
class BettingTables:
    """The layout of tables over decision nodes, buckets and actions.

    The entries [buckets, actions] of a node begin at `start[node]`; -1 is a node outside of the
    part.
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


@lru_cache(maxsize=16)
def betting_tables(game: BucketedGame, part: str = "") -> BettingTables:
    """Return the layout of the tables of a game with buckets, or of a part of its betting."""
    tree = _betting_arrays(game.full_game)
    num_buckets = count_buckets(game)
    inside = find_part(game.full_game, tree, part)
    sizes = np.array(num_buckets)[tree.street] * tree.count * inside
    start = np.where(inside, np.cumsum(sizes) - sizes, -1)
    return BettingTables(game.full_game, tree, num_buckets, start, int(sizes.sum()))


@lru_cache(maxsize=4)
def _betting_arrays(game: HoldemBase) -> BettingArrays:
    return build_betting_arrays(game)


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

    Args:
        game: the game with its buckets.
        weights: the weights.
        part: name of a part of the betting, see `arenas.poker.betting_parts`.
        outside: the policy outside of the part, on the same betting tree.
    """

    def __init__(
        self,
        game: BucketedGame,
        weights: Any,
        part: str = "",
        outside: BettingPolicy | None = None,
    ):
        self.game, self.weights, self.part, self.outside = game, weights, part, outside
        self.tables = betting_tables(game, part)
        if weights.shape != (self.tables.num_entries,):
            raise ConfigError(
                f"the policy has {weights.size:,} entries, {self.spec} has "
                f"{self.tables.num_entries:,}"
            )
        if bool(part) != (outside is not None):
            raise ConfigError("a policy for a part of the betting needs a policy outside of it")
        if outside is not None:
            check_same_betting(outside.game, game)
        self.num_players = game.full_game.num_players

    @property
    def spec(self) -> str:
        """The game with its abstraction."""
        return get_spec(self.game)

    def __repr__(self) -> str:
        part = f", part {self.part}" if self.part else ""
        return f"BettingPolicy({self.spec}{part}: {len(self.tables.tree.player):,} betting nodes)"

    @property
    def pieces(self) -> list[BettingPolicy]:
        """This policy, the one outside of its part, and so on to one for the whole tree."""
        pieces: list[BettingPolicy] = [self]
        while pieces[-1].outside is not None:
            pieces.append(pieces[-1].outside)
        return pieces

    def piece_at(self, node: int) -> BettingPolicy:
        """Return the first of the pieces that covers a decision node."""
        return next(piece for piece in self.pieces if piece.tables.start[node] >= 0)

    def node_probabilities(self, node: int) -> Floats:
        """Return the probabilities [buckets, actions] at a decision node of the part."""
        tables = self.tables
        count = int(tables.tree.count[node])
        size = tables.num_buckets[int(tables.tree.street[node])] * count
        first = int(tables.start[node])
        weights = self.weights[first : first + size].reshape(-1, count).astype(np.float64)
        total = weights.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, weights / np.where(total > 0.0, total, 1.0), 1.0 / count)

    def hand_probabilities(self, node: int, board: Sequence[int]) -> Floats:
        """Return the probabilities [1326, actions] of all hands at a decision node on a board."""
        piece = self.piece_at(node)
        return piece.node_probabilities(node)[piece.game.buckets.board_buckets(tuple(board))]

    def action_probabilities(self, state: HoldemState, player: int) -> list[float]:
        """Return the acting player's probabilities of the legal actions.

        Raises:
            ConfigError: a bet before the state is not in the betting tree.
        """
        node, game = self._require_node(state), self.tables.game
        board = game.public_cards(state)[: sum(game.board_cards[: state.round + 1])]
        a, b = game.hole_cards(state, player)
        piece = self.piece_at(node)
        bucket = piece.game.buckets.board_buckets(tuple(board))[hand_index(a, b)]
        row: list[float] = piece.node_probabilities(node)[bucket].tolist()
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
        content: dict[str, Any] = {}
        for number, piece in enumerate(self.pieces):
            prefix = OUTSIDE * number
            content |= {f"{prefix}game": piece.spec, f"{prefix}weights": piece._units()}
            if piece.part:
                content[f"{prefix}part"] = piece.part
        write_archive(path, BETTING_POLICY_FORMAT, content)

    def _units(self) -> Any:
        """Return the probabilities [S] in units of 1 / `WEIGHT_UNITS`."""
        inside, tree = self.tables.start >= 0, self.tables.tree
        sizes = np.where(inside, np.array(self.tables.num_buckets)[tree.street], 0)
        rows = np.repeat(tree.count.astype(np.int64), sizes)
        offsets = np.cumsum(rows) - rows
        total = np.add.reduceat(self.weights.astype(np.float64), offsets)
        share = self.weights / np.repeat(np.where(total > 0.0, total, 1.0), rows)
        return np.rint(WEIGHT_UNITS * share).astype(np.uint16)


def stitch(base: BettingPolicy, *experts: BettingPolicy) -> BettingPolicy:
    """Return the policy of the experts on their parts, and of the base elsewhere.

    Args:
        base: a policy for the whole betting tree.
        experts: policies for parts; their own policies outside of them are not used.

    Raises:
        ConfigError: the parts overlap, or betting trees differ.
    """
    policy, covered = base, np.zeros(len(base.tables.start), bool)
    for expert in experts:
        check_same_betting(base.game, expert.game)
        inside = expert.tables.start >= 0
        if (covered & inside).any():
            raise ConfigError(f"part {expert.part!r} of an expert overlaps that of another one")
        covered |= inside
        policy = BettingPolicy(expert.game, expert.weights, expert.part, policy)
    return policy


def check_same_betting(one: BucketedGame, other: BucketedGame) -> None:
    """Raise ConfigError if two games have different betting trees."""
    if one.full_game != other.full_game:
        raise ConfigError(
            f"{get_spec(one.full_game)} and {get_spec(other.full_game)} differ in their betting; "
            "experts and their base play the same game"
        )


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
        policy = _read_piece(content, "", path)
    except TrustError:
        raise
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: not a whole policy ({error})") from error
    if game is not None:
        check_structure(policy, game, str(path))
    return policy


def _read_piece(content: Mapping[str, Any], prefix: str, path: str | Path) -> BettingPolicy:
    """Return the policy whose fields have this prefix, with those outside of its part."""
    name, rule = split_abstraction(content[f"{prefix}game"])
    bucketed: Any = load_abstracted_game(load_game_from_file(name, path), rule)
    part = content.get(f"{prefix}part", "")
    outside = _read_piece(content, prefix + OUTSIDE, path) if part else None
    return BettingPolicy(bucketed, content[f"{prefix}weights"], part, outside)


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
