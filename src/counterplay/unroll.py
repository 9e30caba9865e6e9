"""From rules to tree: `build_tree` walks the rules once and sorts what it met into arrays."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from counterplay.errors import CounterplayError, GameError, RunError
from counterplay.estimate import available_memory, estimate_size, gib, peak_bytes
from counterplay.game import CHANCE, TERMINAL, Game, State, describe_history
from counterplay.registry import spec_of
from counterplay.tree import Floats, Ints, SequenceForm, Tree, freeze, row_lengths

MAX_HISTORY = 10_000  # a longer one counts as a game that never ends
REPORT_EVERY = 1 << 15  # nodes between two looks at memory and progress
ESTIMATE_AT = 1 << 18  # nodes from which a look ahead is worth its time
PART = 4_096  # infosets of a level that one thread takes at a time, at least

Progress = Callable[[int, int], None]  # nodes so far, nodes expected (0: not known)


def build_tree(
    game: Game, *, memory_limit: int | None = None, progress: Progress | None = None
) -> Tree:
    """Unroll the rules into a tree.

    Args:
        memory_limit: bytes the tree may take; by default four fifths of what is free.
        progress: called now and then with the nodes so far and the nodes expected.

    Raises:
        GameError: the rules break the protocol; the message names the history.
        RunError: the tree would not fit into memory.
    """
    walk = _Walk(game, memory_limit, progress)
    collecting = gc.isenabled()
    gc.disable()  # states are tuples, which the collector would otherwise visit again and again
    try:
        walk.run()
    finally:
        if collecting:
            gc.enable()
    return walk.tree()


class _Walk:
    """One depth-first walk through the rules and the plain arrays it fills."""

    def __init__(self, game: Game, memory_limit: int | None, progress: Progress | None):
        self.game, self.progress = game, progress
        self.memory_limit = memory_limit or int(0.8 * available_memory())
        self.expected = 0
        # per node, in the order of the walk
        self.player, self.parent, self.action = array("b"), array("i"), array("i")
        self.depth, self.chance, self.infoset = array("H"), array("d"), array("i")
        # per terminal
        self.last, self.reach, self.utility = array("i"), array("d"), array("d")
        # per infoset as a player with perfect recall tells them apart
        self.recall: dict[tuple[int, str, int], int] = {}
        self.owner, self.above, self.level = array("b"), array("i"), array("i")
        self.first, self.merged = array("i", [0]), array("i")
        self.infoset_of_sequence = array("i")
        # per infoset as the game names them
        self.public: dict[tuple[int, str], int] = {}
        self.legal: list[tuple[int, ...]] = []
        self.names: list[tuple[str, ...]] = []

    def run(self) -> None:
        """Walk the tree; one long loop, because a call per node would cost a third of the speed."""
        game, recall, legal = self.game, self.recall, self.legal
        player_of, infoset_key, actions_at = game.player, game.infoset_key, game.actions
        next_state, utilities = game.next_state, game.utilities
        add_player, add_parent, add_action = (
            self.player.append,
            self.parent.append,
            self.action.append,
        )
        add_depth, add_chance, add_infoset = (
            self.depth.append,
            self.chance.append,
            self.infoset.append,
        )
        first, merged = self.first, self.merged
        nothing = (-1,) * game.num_players
        # state, parent, action, depth, probability of the action, chance's reach, last sequences
        stack: list[Any] = [(game.initial_state(), -1, -1, 0, 1.0, 1.0, nothing)]
        pop, push = stack.pop, stack.append
        node = -1
        try:
            while stack:
                state, parent, action, depth, chance, reach, last = pop()
                node += 1
                add_parent(parent)
                add_action(action)
                add_chance(chance)
                add_depth(depth)
                player = player_of(state)
                add_player(player)
                depth += 1
                if player >= 0:
                    key = infoset_key(state, player)
                    infoset = recall.get((player, key, last[player]))
                    actions = actions_at(state)
                    if infoset is None:
                        infoset = self.add_infoset(node, state, player, key, last[player])
                    known = legal[merged[infoset]]
                    if actions != known and tuple(actions) != known:
                        problem = f"has actions {tuple(actions)} here but {known} elsewhere"
                        self.fail(node, f"infoset {key!r} {problem}")
                    add_infoset(infoset)
                    before, after = last[:player], last[player + 1 :]
                    sequence = first[infoset + 1]
                    for action in known[::-1]:
                        sequence -= 1
                        child = next_state(state, action)
                        lasts = (*before, sequence, *after)
                        push((child, node, action, depth, 1.0, reach, lasts))
                elif player == TERMINAL:
                    add_infoset(-1)
                    self.add_terminal(node, utilities(state), reach, last)
                else:
                    add_infoset(-1)
                    for action, p in self.outcomes(node, state, player):
                        child = next_state(state, action)
                        push((child, node, action, depth, p, reach * p, last))
                if not node % REPORT_EVERY:
                    self.look_around(node)
        except CounterplayError:
            raise
        except Exception as error:
            if self.player and self.player[-1] >= game.num_players:
                who = f"player {self.player[-1]}, but there are {game.num_players} players"
                self.fail(node, f"the one to act is {who}", error)
            self.fail(node, f"the rules raised {type(error).__name__}: {error}", error)

    def add_infoset(self, node: int, state: State, player: int, key: str, last: int) -> int:
        """The number of an infoset not met before."""
        game = self.game
        actions = tuple(game.actions(state))
        if not actions or len(set(actions)) < len(actions):
            self.fail(node, f"player {player} has the actions {actions}: none, or one twice")
        infoset = self.recall[player, key, last] = len(self.owner)
        public = self.public.setdefault((player, key), len(self.legal))
        if public == len(self.legal):
            self.legal.append(actions)
            self.names.append(tuple(game.action_name(state, a) for a in actions))
        self.owner.append(player)
        self.above.append(last)
        self.level.append(self.level[self.infoset_of_sequence[last]] + 1 if last >= 0 else 0)
        self.merged.append(public)
        self.first.append(self.first[infoset] + len(self.legal[public]))
        self.infoset_of_sequence.extend([infoset] * len(self.legal[public]))
        return infoset

    def outcomes(self, node: int, state: State, player: int) -> list[tuple[int, float]]:
        """The outcomes of a chance node, last one first."""
        if player != CHANCE:
            self.fail(node, f"player() is {player}, not a player, CHANCE or TERMINAL")
        outcomes = list(self.game.chance_outcomes(state))
        total = 0.0
        for _, p in outcomes:
            total += p if p >= 0.0 else float("nan")
        if not abs(total - 1.0) <= 1e-9:
            self.fail(node, f"chance probabilities are {[p for _, p in outcomes]}, not a sum of 1")
        outcomes.reverse()
        return outcomes

    def add_terminal(self, node: int, utilities: Any, reach: float, last: tuple[int, ...]) -> None:
        if len(utilities) != self.game.num_players:
            self.fail(node, f"{len(utilities)} utilities for {self.game.num_players} players")
        self.last.extend(last)
        self.reach.append(reach)
        self.utility.extend(utilities)
        total = sum(utilities)
        if total - total != 0.0:  # true of infinity and NaN only
            self.fail(node, f"utilities {tuple(utilities)} are not all finite")

    def look_around(self, node: int) -> None:
        """Refuse what will not fit, before it is too late, and report progress."""
        if self.depth[node] > MAX_HISTORY:
            self.fail(node, f"still not over after {MAX_HISTORY:,} actions", shown=20)
        if node == ESTIMATE_AT:
            self.expected = int(estimate_size(self.game, seconds=0.2).num_nodes)
        nodes = max(node + 1, self.expected)
        # the walk meets new infosets most often at its beginning, so their share only falls
        needed = peak_bytes(nodes, nodes / (node + 1) * len(self.owner))
        if needed > self.memory_limit:
            raise RunError(
                f"{spec_of(self.game)} has about {nodes:,} nodes: its tree takes about "
                f"{gib(needed)}, and only {gib(self.memory_limit)} may be used; "
                "choose smaller parameters, raise memory_limit, or sample the rules "
                "(solve --sampled)"
            )
        if self.progress and node:
            self.progress(node, self.expected)

    def fail(
        self, node: int, problem: str, cause: Exception | None = None, shown: int | None = None
    ) -> NoReturn:
        actions = []
        while self.parent[node] >= 0:
            actions.append(self.action[node])
            node = self.parent[node]
        where = describe_history(self.game, actions[::-1][:shown])
        raise GameError(f"{type(self.game).__name__}: {problem}; history: {where}") from cause

    def tree(self) -> Tree:
        """Sort nodes into level order, infosets into player and level order, and renumber all."""
        new_infoset, block = self.sort_infosets()
        first = np.array(self.first, np.int64)
        num_actions = np.diff(first)
        old_infoset = np.argsort(new_infoset)
        offset = np.concatenate([[0], np.cumsum(num_actions[old_infoset])])
        num_sequences = int(offset[-1])
        # new number of every old sequence; the last entry serves the old number -1
        shift = np.repeat(offset[new_infoset] - first[:-1], num_actions)
        new_sequence = np.append(np.arange(num_sequences) + shift, num_sequences)

        form = SequenceForm(
            offset=offset.astype(np.uint32),
            parent=new_sequence[np.array(self.above, np.int64)[old_infoset]].astype(np.uint32),
            player_infoset=np.searchsorted(
                np.array(self.owner)[old_infoset], np.arange(self.game.num_players + 1)
            ),
            **self.rows(new_sequence),
        )
        return self.assemble(form, block, new_infoset, old_infoset)

    def sort_infosets(self) -> tuple[Ints, Ints]:
        """New number of each infoset, and the independent blocks of each level.

        Within a level the order is free. A large level is cut into blocks that share no parent
        sequence, so that threads may work on them at once; in a block, infosets with equally
        many actions stand together, so that the short loops over actions are predictable.
        """
        owner, level = np.array(self.owner), np.array(self.level)
        above, first = np.array(self.above, np.int64), np.array(self.first, np.int64)
        num_actions = np.diff(first)
        new_infoset = np.zeros(owner.size, np.int64)
        new_sequence = np.full(first[-1] + 1, -1)
        block: list[tuple[int, int, int, int]] = []
        order = np.lexsort((level, owner))
        changes = np.diff(level[order], prepend=-1) | np.diff(owner[order], prepend=-1)
        starts = np.flatnonzero(changes)
        sequence = 0
        for start, end in pairwise([*starts, owner.size]):
            ids = order[start:end]
            parent = new_sequence[above[ids]]
            part = _independent_parts(parent)
            ids = ids[np.lexsort((num_actions[ids], parent, part))]
            new_infoset[ids] = np.arange(start, end)
            counts = num_actions[ids]
            inside = np.arange(counts.sum())
            shift = np.repeat(first[ids] - (np.cumsum(counts) - counts), counts)
            new_sequence[inside + shift] = sequence + inside
            sequence += inside.size
            cuts = [start, *(start + np.flatnonzero(np.diff(np.sort(part))) + 1), end]
            player, depth = int(owner[ids[0]]), int(level[ids[0]])
            block += [(player, depth, int(a), int(b)) for a, b in pairwise(cuts)]
        return new_infoset, np.array(block, np.int64).reshape(-1, 4)

    def rows(self, new_sequence: Ints) -> dict[str, Ints]:
        """The payoff rows of all players, one after the other."""
        num_players = self.game.num_players
        last = new_sequence[np.array(self.last, np.int64).reshape(-1, num_players)]
        utility = np.array(self.utility).reshape(-1, num_players)
        reach = np.array(self.reach)
        parts = [
            _payoff_rows(last[:, p], np.delete(last, p, axis=1), reach * utility[:, p])
            for p in range(num_players)
        ]
        sequences, lengths, others, weights = zip(*parts, strict=True)
        return {
            "player_row": np.cumsum([0, *(len(s) for s in sequences)]),
            "row_offset": np.cumsum([0, *np.concatenate(lengths)]).astype(np.uint32),
            "row_sequence": np.concatenate(sequences).astype(np.uint32),
            "other": np.concatenate(others).astype(np.uint32),
            "weight": np.concatenate(weights),
        }

    def assemble(self, form: SequenceForm, block: Ints, new_infoset: Ints, old: Ints) -> Tree:
        """The tree, with nodes in level order and infosets as the game names them."""
        # infosets as the game names them, in the order of their first one in the form
        merged = np.array(self.merged, np.int64)[old]
        _, earliest = np.unique(merged, return_index=True)
        shown = merged[np.sort(earliest)]
        rank = np.empty_like(shown)
        rank[shown] = np.arange(shown.size)
        keys = list(self.public)
        legal, names = [self.legal[i] for i in shown], [self.names[i] for i in shown]
        offset = np.cumsum([0, *map(len, legal)])
        forgets = shown.size < merged.size
        counts = row_lengths(form.offset)
        shift = np.repeat(offset[rank[merged]] - form.offset[:-1].astype(np.int64), counts)

        order = np.argsort(np.array(self.depth), kind="stable")
        place = np.append(np.empty_like(order), -1)
        place[order] = np.arange(order.size)
        parent = place[np.array(self.parent)[order]]
        # infoset of every node; the last entry serves the -1 of chance and terminal nodes
        of_node = np.append(new_infoset, -1)[np.array(self.infoset)[order]].astype(np.int32)
        to_public = np.append(rank[merged], -1).astype(np.int32)
        num_children = np.bincount(parent[1:], minlength=order.size)
        player = np.array(self.player)[order]
        utility = np.array(self.utility).reshape(-1, self.game.num_players)
        terminals = np.flatnonzero(np.array(self.player) == TERMINAL)
        tree = Tree(
            spec=spec_of(self.game),
            num_players=self.game.num_players,
            player=player,
            parent=parent.astype(np.int32),
            child_offset=np.append(1, 1 + np.cumsum(num_children)).astype(np.int32),
            action=np.array(self.action)[order],
            chance=np.array(self.chance)[order],
            infoset=to_public[of_node],
            utility=utility[np.argsort(place[terminals])],
            offset=offset.astype(np.int32),
            infoset_player=np.array([keys[i][0] for i in shown], np.int8),
            infoset_keys=tuple(keys[i][1] for i in shown),
            sequence_action=np.array([a for actions in legal for a in actions], np.int32),
            sequence_names=tuple(name for row in names for name in row),
            form=form,
            block=block,
            merged=(np.arange(shift.size) + shift if forgets else np.zeros(0)).astype(np.int32),
            num_histories=np.bincount(of_node[of_node >= 0], minlength=merged.size),
            recall_infoset=of_node if forgets else np.zeros(0, np.int32),
            game=self.game,
        )
        freeze(tree)
        return tree


def _independent_parts(parent: Ints) -> Ints:
    """Which block each infoset of a level goes to, given its parent sequences."""
    if parent.size < 2 * PART:
        return np.zeros(parent.size, np.int64)
    order = np.argsort(parent, kind="stable")
    ranked = parent[order]
    first_of_parent = np.searchsorted(ranked, ranked)  # same parent, same part
    part = np.empty(parent.size, np.int64)
    part[order] = first_of_parent // PART
    return part


def _payoff_rows(own: Ints, other: Ints, weight: Floats) -> tuple[Ints, Ints, Ints, Floats]:
    """One player's rows: their sequences and lengths, and the entries, short rows first."""
    order = np.lexsort((*other.T[::-1], own))
    own, other, weight = own[order], other[order], weight[order]
    changes = np.any(np.diff(np.column_stack([own, other]), axis=0), axis=1)
    starts = np.append(0, np.flatnonzero(changes) + 1)
    weight = np.add.reduceat(weight, starts)
    kept = np.flatnonzero(weight)  # ties pay nothing: no work for them
    own, other, weight = own[starts][kept], other[starts][kept], weight[kept]
    sequence, lengths = np.unique(own, return_counts=True)
    entry_order = np.argsort(np.repeat(lengths, lengths), kind="stable")
    row_order = np.argsort(lengths, kind="stable")
    return sequence[row_order], lengths[row_order], other[entry_order], weight[entry_order]
