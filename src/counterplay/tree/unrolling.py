"""From rules to tree: `build_tree` walks the rules once; `assembly` sorts what it met."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from counterplay.errors import CounterplayError, GameError, RunError
from counterplay.game import (
    CHANCE,
    LARGEST,
    METHODS,
    TERMINAL,
    Game,
    State,
    describe_history,
    title,
)
from counterplay.registry import GENERATED, MACHINES, load_game, spec_of
from counterplay.tree import Tree
from counterplay.tree.assembling import Parts
from counterplay.tree.estimating import (
    BYTES_PER_NODE,
    HOPELESS,
    MAX_HISTORY,
    MOST,
    available_memory,
    gib,
    look_ahead,
    peak_bytes,
    readable_count,
    resident_memory,
)
from counterplay.tree.machine_walk import MachineWalk
from counterplay.tree.machines import Machine, machine_of

COMPARED = 1_000  # infosets at which actions of compiled rules are compared again
MACHINE_FROM = 50_000  # nodes from which compiled rules are used
FIRST_LOOK = 1 << 6  # nodes known before the first look at memory; then the double, and so on
REPORT_EVERY = 1 << 15  # nodes between two looks at memory and progress, at most
ESTIMATE_AT = 1 << 18  # nodes from which a look ahead is worth its time
ESTIMATE_AFTER = 1.0  # seconds of the same

Progress = Callable[[int, int], None]  # nodes so far, nodes expected (0: not known)


def build_tree(
    game: Game | str, *, memory_limit: int | None = None, progress: Progress | None = None
) -> Tree:
    """Unroll the rules of a game, or of the game of that name, into a tree.

    Args:
        memory_limit: bytes the tree may take; by default four fifths of what is free.
        progress: called now and then with the nodes so far and the nodes expected.

    Raises:
        GameError: the rules break the protocol; the message names the history.
        RunError: the tree would not fit into memory.

    >>> import counterplay as cp
    >>> cp.build_tree("kuhn_poker")
    Tree(kuhn_poker: 58 nodes, 12 infosets, 2 players)
    """
    if isinstance(game, Tree):
        return game
    walk = _Walk(load_game(game) if isinstance(game, str) else game, memory_limit, progress)
    collecting = gc.isenabled()
    gc.disable()  # states are tuples, which the collector would otherwise visit again and again
    try:
        walk.glance()
        machine = machine_of(walk.game) if walk.is_long() else None
        if machine:
            walk.run_machine(machine)
        else:
            walk.run()
    finally:
        if collecting:
            gc.enable()
    walk.check_scale()
    return walk.tree()


class _Walk(Parts):
    """One depth-first walk through the rules, which fills the parts of a tree."""

    game: Game

    def __init__(self, game: Game, memory_limit: int | None, progress: Progress | None):
        if isinstance(game, type):
            raise GameError(f"{game.__name__} is a class: write {game.__name__}()")
        if not hasattr(game, METHODS[0]):
            raise GameError(f"{type(game).__name__} is no game: it lacks {METHODS[0]}")
        super().__init__(spec_of(game), game.num_players, game)
        self.progress = progress
        self.memory_limit = memory_limit or int(0.8 * available_memory())
        self.expected, self.began = 0, time.perf_counter()
        self.resident = resident_memory()
        self.recall: dict[tuple[int, str, int], int] = {}  # (player, key, last sequence) -> infoset
        self.public: dict[tuple[int, str], int] = {}  # (player, key) -> infoset as the game has it

    def glance(self) -> None:
        """Refuse what is far too large before anything is built: one node may be too much."""
        if look_ahead(self.game) * BYTES_PER_NODE > HOPELESS * self.memory_limit:
            self.expected = int(look_ahead(self.game, seconds=0.2))
            self.check_memory(self.expected)

    def is_long(self) -> bool:
        """Whether compiled rules would be worth loading."""
        if (
            not hasattr(self.game, "machine")
            and spec_of(self.game).partition("(")[0] not in MACHINES
        ):
            return False
        return look_ahead(self.game, seconds=0.01) >= MACHINE_FROM

    def run_machine(self, machine: Machine) -> None:
        """Let compiled rules walk the tree; the readable ones make the texts of infosets."""
        found = MachineWalk(machine, self.num_players)
        found.run(self.check_memory)
        found.fill(self)
        game, states = self.game, {0: self.game.initial_state()}
        parent, action = memoryview(self.parent), memoryview(self.action)
        for node, player, legal in found.shown(self):
            path = [node]
            while path[-1] not in states:
                path.append(parent[path[-1]])
            state = states[path[-1]]
            for below in path[-2::-1]:
                state = states[below] = game.next_state(state, action[below])
            known = len(self.keys) >= COMPARED
            if not known and (game.player(state), tuple(game.actions(state))) != (player, legal):
                self.fail(node, "compiled rules differ from the readable ones: see check_machine")
            self.keys.append((player, game.infoset_key(state, player)))
            self.legal.append(legal)
            self.names.append(tuple([game.action_name(state, a) for a in legal]))

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
        node, look = -1, min(FIRST_LOOK, REPORT_EVERY)
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
                        infoset = self.add_infoset(node, state, player, key, last[player], actions)
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
                if node + len(stack) >= look:  # those that wait were met too
                    look = node + len(stack) + min(look, REPORT_EVERY)
                    self.look_around(node, node + len(stack))
        except CounterplayError:
            raise
        except MemoryError as error:
            problem = f"out of memory after {node:,} nodes; choose smaller parameters"
            raise RunError(f"{spec_of(game)}: {problem}") from error
        except Exception as error:
            if self.player and self.player[-1] >= game.num_players:
                who = f"player {self.player[-1]}, but there are {game.num_players} players"
                self.fail(node, f"the one to act is {who}", error)
            self.fail(node, f"the rules raised {type(error).__name__}: {error}", error)

    def add_infoset(
        self, node: int, state: State, player: int, key: str, last: int, legal: Sequence[int]
    ) -> int:
        """The number of an infoset not met before."""
        self.check_memory(len(legal))
        game, actions = self.game, tuple(legal)
        if not actions or len(set(actions)) < len(actions):
            self.fail(node, f"player {player} has the actions {actions}: none, or one twice")
        public = self.public.setdefault((player, key), len(self.legal))
        if public == len(self.legal):
            self.keys.append((player, key))
            self.legal.append(actions)
            self.names.append(tuple(game.action_name(state, a) for a in actions))
        infoset = self.recall[player, key, last] = self.new_infoset(player, public, last)
        return infoset

    def outcomes(self, node: int, state: State, player: int) -> list[tuple[int, float]]:
        """The outcomes of a chance node, last one first."""
        if player != CHANCE:
            self.fail(node, f"player() is {player}, not a player, CHANCE or TERMINAL")
        outcomes = self.game.chance_outcomes(state)
        self.check_memory(len(outcomes))
        outcomes = list(outcomes)
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

    def check_scale(self) -> None:
        """Refuse units in which sums over iterations would overflow, or vanish."""
        size = np.abs(np.array(self.utility)).reshape(-1, self.num_players)
        largest = size.max(axis=0)
        for player in np.flatnonzero((largest > LARGEST) | (largest < 1.0 / LARGEST)).tolist():
            if largest[player]:
                ends = np.flatnonzero(np.array(self.player) == TERMINAL)
                problem = f"the largest utility of player {player} is {largest[player]:g}"
                advice = f"choose units in which it is from {1.0 / LARGEST:g} to {LARGEST:g}"
                self.fail(int(ends[size[:, player].argmax()]), f"{problem}; {advice}")

    def look_around(self, node: int, known: int) -> None:
        """Refuse what will not fit, before it is too late, and report progress."""
        if self.depth[node] > MAX_HISTORY:
            self.fail(node, f"still not over after {MAX_HISTORY:,} actions", shown=20)
        slow = time.perf_counter() - self.began > ESTIMATE_AFTER
        if not self.expected and (node >= ESTIMATE_AT or slow):
            self.expected = int(look_ahead(self.game, seconds=0.2))
        nodes = max(known, self.expected)
        # the walk meets new infosets most often at its beginning, so their share only falls
        infosets = nodes / (node + 1) * len(self.owner) if node >= FIRST_LOOK else 0
        # states or keys may be enormous
        self.check_memory(nodes, infosets, resident_memory() - self.resident)
        if self.progress and node >= REPORT_EVERY:
            self.progress(node, self.expected)

    def check_memory(self, nodes: int, infosets: float = 0, held: int = 0) -> None:
        needed = max(peak_bytes(nodes, infosets), held)
        if needed > self.memory_limit:
            count = f"about {readable_count(nodes)} nodes"
            if nodes >= MOST:
                count = f"more than {MOST:.0e} nodes, if it ends at all"
            known = spec_of(self.game).partition("(")[0] in GENERATED
            other = 'its generated arena ("arena": "generated"), ' if known else ""
            advice = (
                f"choose smaller parameters, or do without the tree: {other}inspect --estimate, "
                "solve --sampled (or, from Python, raise memory_limit)"
            )
            raise RunError(
                f"{spec_of(self.game)} has {count}: its tree takes about {gib(needed)}, "
                f"and only {gib(self.memory_limit)} may be used; {advice}"
            )

    def fail(
        self, node: int, problem: str, cause: Exception | None = None, shown: int | None = None
    ) -> NoReturn:
        actions = []
        while self.parent[node] >= 0:
            actions.append(self.action[node])
            node = self.parent[node]
        where = describe_history(self.game, actions[::-1][:shown])
        raise GameError(f"{title(self.game)}: {problem}; history: {where}") from cause
