"""Build a tree from rules: `build_tree` walks the rules once, `TreeBuilder` sorts the result."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build_compiled import CompiledTreeWalk
from counterplay.arenas.tree.builder import TreeBuilder
from counterplay.arenas.tree.rules_walk import FIRST_CHECK_NODES, RulesWalk
from counterplay.arenas.tree.size_estimate import (
    BYTES_PER_NODE,
    MAX_HISTORY_LENGTH,
    MAX_NODE_ESTIMATE,
    REFUSAL_FACTOR,
    available_memory,
    estimate_num_nodes,
    format_count,
    format_gib,
    look_closely,
    peak_build_bytes,
    resident_memory,
)
from counterplay.core.game import CHANCE, TERMINAL, Game
from counterplay.core.game_checks import (
    CHANCE_TOLERANCE,
    GAME_METHODS,
    MAX_ABS_UTILITY,
    action_names,
    actions_problem,
    check_protocol,
    key_problem,
    probabilities_problem,
    rule_error,
)
from counterplay.errors import RunError
from counterplay.games.compiled.protocol import CompiledGame, find_compiled_game
from counterplay.registry import COMPILED_GAMES, FACTORED_ARENAS, get_spec, load_game, spec_name

NUM_CHECKED_INFOSETS = 1_000  # infosets whose compiled actions are compared with the rules
MIN_NODES_FOR_COMPILED_RULES = 50_000  # smaller trees use the readable rules
MAX_NODES_BETWEEN_CHECKS = 1 << 15  # memory and progress are checked at least this often
# the size is estimated after this many nodes or seconds, and the estimate takes half a second
ESTIMATE_AFTER_NODES, ESTIMATE_AFTER_SECONDS, ESTIMATE_SECONDS = 1 << 18, 1.0, 0.5

ProgressCallback = Callable[[int, int], None]  # nodes so far, nodes expected (0: not known)


def build_tree(
    game: Game | str, *, memory_limit: int | None = None, progress: ProgressCallback | None = None
) -> TreeArena:
    """Build the tree of a game.

    Args:
        game: The rules, or the name of a registered game.
        memory_limit: Bytes that the tree may take; None for four fifths of the free memory.
        progress: Called regularly with the numbers of nodes so far and expected.

    Returns:
        The tree; `game` itself if it is a tree already.

    Raises:
        GameError: The rules break the protocol; the message names the history.
        RunError: The tree would not fit into memory.

    Example:
        >>> import counterplay as cp
        >>> cp.build_tree("kuhn_poker")
        TreeArena(kuhn_poker: 58 nodes, 12 infosets, 2 players)
    """
    if isinstance(game, TreeArena):
        return game
    game = load_game(game) if isinstance(game, str) else game
    walk = _GuardedBuilder(game, memory_limit, progress)
    gc_was_enabled = gc.isenabled()
    gc.disable()  # the collector would visit the tuples of all states again and again
    try:
        walk.refuse_oversized()
        compiled_game = find_compiled_game(walk.game) if walk.is_worth_compiling() else None
        if compiled_game:
            walk.run_compiled(compiled_game)
        else:
            walk.run()
    finally:
        if gc_was_enabled:
            gc.enable()
    walk.check_scale()
    return walk.build()


class _GuardedBuilder(TreeBuilder):
    """A `TreeBuilder` that walks the rules and checks them, the memory and the progress."""

    game: Game

    def __init__(self, game: Game, memory_limit: int | None, progress: ProgressCallback | None):
        check_protocol(game, GAME_METHODS[:1])
        super().__init__(get_spec(game), game.num_players, game)
        self.progress = progress
        self.memory_limit = memory_limit or int(0.8 * available_memory())
        self.expected_nodes, self.start_seconds = 0, time.perf_counter()
        self.initial_resident_bytes = resident_memory()

    def refuse_oversized(self) -> None:
        """Raise RunError before building if the tree will not fit into memory.

        Two random episodes tell if the tree could be too large; only then the size is estimated
        from more. The tree is refused if the estimate minus two standard errors is too large.
        """
        rough_bytes = estimate_num_nodes(self.game) * BYTES_PER_NODE
        if rough_bytes * REFUSAL_FACTOR < self.memory_limit:
            return
        estimate = look_closely(self.game, ESTIMATE_SECONDS)
        if estimate is None:
            return
        min_bytes = (estimate.num_nodes - 2.0 * estimate.standard_error) * BYTES_PER_NODE
        if min_bytes > self.memory_limit or rough_bytes > REFUSAL_FACTOR * self.memory_limit:
            self.expected_nodes = int(estimate.num_nodes)
            self.check_memory(self.expected_nodes)

    def is_worth_compiling(self) -> bool:
        """Return True if the game has compiled rules and is large enough for them."""
        name = spec_name(get_spec(self.game))
        if not hasattr(self.game, "compiled_game") and name not in COMPILED_GAMES:
            return False
        return estimate_num_nodes(self.game, seconds=0.01) >= MIN_NODES_FOR_COMPILED_RULES

    def run_compiled(self, compiled_game: CompiledGame) -> None:
        """Walk the tree by compiled rules; the readable ones give keys and action names."""
        walk = CompiledTreeWalk(compiled_game, self.num_players)
        walk.run(self.check_memory)
        walk.fill_builder(self)
        self.check_chance()
        game, states = self.game, {0: self.game.initial_state()}
        parent, action = memoryview(self.parent), memoryview(self.action)
        for node, player, legal in walk.iter_infosets(self):
            path = [node]
            while path[-1] not in states:
                path.append(parent[path[-1]])
            state = states[path[-1]]
            for below in path[-2::-1]:
                state = states[below] = game.next_state(state, action[below])
            is_checked = len(self.infoset_keys) < NUM_CHECKED_INFOSETS
            if is_checked and (game.player(state), tuple(game.actions(state))) != (player, legal):
                problem = "compiled rules differ from the readable ones: see check_compiled_game"
                self.fail(node, problem)
            key = game.infoset_key(state, player)
            if problem := key_problem(key, player) or actions_problem(legal, player):
                self.fail(node, problem)
            self.infoset_keys.append((player, key))
            self.legal_actions.append(legal)
            self.action_names.append(action_names(game, state, legal))

    def check_chance(self) -> None:
        """Raise GameError if chance probabilities of compiled rules do not sum to 1."""
        is_chance = np.asarray(self.player) == CHANCE
        parent, chance = np.asarray(self.parent)[1:], np.asarray(self.chance)[1:]
        total = np.bincount(parent, np.where(chance >= 0.0, chance, np.nan), is_chance.size)
        wrong = np.flatnonzero(is_chance & ~(np.abs(total - 1.0) <= CHANCE_TOLERANCE))
        if wrong.size:
            self.fail(int(wrong[0]), probabilities_problem(chance[parent == wrong[0]].tolist()))

    def run(self) -> None:
        """Walk the tree by the readable rules."""
        walk = RulesWalk(self.game)
        try:
            walk.run(self.check_memory, self.check_progress, MAX_NODES_BETWEEN_CHECKS)
            walk.fill_builder(self)
        except MemoryError as error:
            num_nodes = len(walk.player)
            problem = f"out of memory after {num_nodes:,} nodes; choose smaller parameters"
            raise RunError(f"{get_spec(self.game)}: {problem}") from error

    def check_scale(self) -> None:
        """Raise GameError if sums of utilities over iterations would overflow or underflow."""
        size = np.abs(np.array(self.utility)).reshape(-1, self.num_players)
        largest = size.max(axis=0)
        fits = (largest <= MAX_ABS_UTILITY) & (largest >= 1.0 / MAX_ABS_UTILITY)  # false for NaN
        for player in np.flatnonzero(~fits).tolist():
            if largest[player]:
                terminals = np.flatnonzero(np.array(self.player) == TERMINAL)
                problem = f"the largest utility of player {player} is {largest[player]:g}"
                bounds = f"{1.0 / MAX_ABS_UTILITY:g} to {MAX_ABS_UTILITY:g}"
                advice = f"choose units in which it is from {bounds}"
                self.fail(int(terminals[size[:, player].argmax()]), f"{problem}; {advice}")

    def check_progress(self, walk: RulesWalk, num_known: int) -> None:
        """Raise an error if the tree is endless or not going to fit into memory; report progress.

        Args:
            walk: The nodes visited so far.
            num_known: The number of these and of the nodes that wait, which take memory too.
        """
        node = len(walk.player) - 1
        if walk.depth(node) > MAX_HISTORY_LENGTH:
            walk.fail(node, f"still not over after {MAX_HISTORY_LENGTH:,} actions")
        is_slow = time.perf_counter() - self.start_seconds > ESTIMATE_AFTER_SECONDS
        if not self.expected_nodes and (node >= ESTIMATE_AFTER_NODES or is_slow):
            self.expected_nodes = int(estimate_num_nodes(self.game, seconds=ESTIMATE_SECONDS))
        nodes = max(num_known, self.expected_nodes)
        # an upper bound: the share of new infosets among nodes falls during the walk
        num_infosets = len(walk.legal_actions)
        infosets = nodes / (node + 1) * num_infosets if node >= FIRST_CHECK_NODES else 0
        # the resident memory covers large states and keys
        self.check_memory(nodes, infosets, resident_memory() - self.initial_resident_bytes)
        if self.progress and node >= MAX_NODES_BETWEEN_CHECKS:
            self.progress(node, self.expected_nodes)

    def check_memory(self, nodes: int, infosets: float = 0, resident_bytes: int = 0) -> None:
        """Raise RunError if a tree of this size exceeds the memory limit."""
        needed = max(peak_build_bytes(nodes, infosets), resident_bytes)
        if needed > self.memory_limit:
            count = f"about {format_count(nodes)} nodes"
            if nodes >= MAX_NODE_ESTIMATE:
                count = f"more than {MAX_NODE_ESTIMATE:.0e} nodes, if it ends at all"
            is_factored = spec_name(get_spec(self.game)) in FACTORED_ARENAS
            other = 'its generated arena ("arena": "generated"), ' if is_factored else ""
            advice = (
                f"choose smaller parameters, or do without the tree: {other}inspect --estimate, "
                "solve --sampled --algorithm outcome_sampling (or, from Python, raise memory_limit)"
            )
            raise RunError(
                f"{get_spec(self.game)} has {count}: its tree takes about {format_gib(needed)}, "
                f"and only {format_gib(self.memory_limit)} may be used; {advice}"
            )

    def fail(self, node: int, problem: str, cause: Exception | None = None) -> NoReturn:
        """Raise GameError for a problem at a node, with its history."""
        actions = []
        while len(self.parent) > node and self.parent[node] >= 0:
            actions.append(self.action[node])
            node = self.parent[node]
        raise rule_error(self.game, actions[::-1], problem) from cause
