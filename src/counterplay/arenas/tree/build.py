"""Build a tree from rules: `build_tree` walks the rules once, `TreeBuilder` sorts the result."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build_compiled import CompiledTreeWalk
from counterplay.arenas.tree.builder import TreeBuilder
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
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.game_checks import (
    CHANCE_TOLERANCE,
    GAME_METHODS,
    MAX_ABS_UTILITY,
    action_names,
    actions_problem,
    check_protocol,
    exception_problem,
    infoset_actions_problem,
    key_problem,
    node_problem,
    numbers_problem,
    outcomes_problem,
    player_problem,
    probabilities_problem,
    rule_error,
    utilities_problem,
)
from counterplay.errors import CounterplayError, RunError
from counterplay.games.compiled.protocol import CompiledGame, find_compiled_game
from counterplay.registry import COMPILED_GAMES, FACTORED_ARENAS, get_spec, load_game, spec_name

NUM_CHECKED_INFOSETS = 1_000  # infosets whose compiled actions are compared with the rules
MIN_NODES_FOR_COMPILED_RULES = 50_000  # smaller trees use the readable rules
FIRST_CHECK_NODES = 1 << 6  # memory is checked after this many nodes, then after twice as many, ...
MAX_NODES_BETWEEN_CHECKS = 1 << 15  # ... but at least this often, together with progress
# the size is estimated after this many nodes or seconds, and the estimate takes half a second
ESTIMATE_AFTER_NODES, ESTIMATE_AFTER_SECONDS, ESTIMATE_SECONDS = 1 << 18, 1.0, 0.5
MAX_CHECKED_OUTCOMES = 10_000  # size of the cache of valid chance actions

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
    walk = _RulesTreeWalk(game, memory_limit, progress)
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


class _RulesTreeWalk(TreeBuilder):
    """A depth-first walk through the rules that fills a `TreeBuilder`."""

    game: Game

    def __init__(self, game: Game, memory_limit: int | None, progress: ProgressCallback | None):
        check_protocol(game, GAME_METHODS[:1])
        super().__init__(get_spec(game), game.num_players, game)
        self.progress = progress
        self.memory_limit = memory_limit or int(0.8 * available_memory())
        self.expected_nodes, self.start_seconds = 0, time.perf_counter()
        self.initial_resident_bytes = resident_memory()
        # (player, key, last sequence) -> infoset with perfect recall
        self.infoset_by_recall: dict[tuple[int, str, int], int] = {}
        self.infoset_by_key: dict[tuple[int, str], int] = {}  # (player, key) -> infoset of the game
        self.checked_outcomes: set[tuple[int, ...]] = set()  # valid tuples of chance actions

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
        """Walk the tree in one loop: a function call per node would cost a third of the speed."""
        game, recall, legal = self.game, self.infoset_by_recall, self.legal_actions
        player_of, infoset_key, actions_at = game.player, game.infoset_key, game.actions
        next_state, utilities = game.next_state, game.utilities
        add_player, add_parent = self.player.append, self.parent.append
        add_action, add_depth = self.action.append, self.depth.append
        add_chance, add_infoset = self.chance.append, self.infoset.append
        first, game_infoset = self.first_sequence, self.game_infoset
        # state, parent, action, depth, probability of the action, chance's reach, last sequences
        stack: list[Any] = []
        pop, push = stack.pop, stack.append
        node, next_check = -1, min(FIRST_CHECK_NODES, MAX_NODES_BETWEEN_CHECKS)
        state: State = None
        try:
            stack.append((game.initial_state(), -1, -1, 0, 1.0, 1.0, (-1,) * game.num_players))
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
                    if actions.__class__ is not tuple:
                        actions = tuple(actions)
                    if infoset is None:
                        infoset = self.add_infoset(node, state, player, key, last[player], actions)
                    first_actions = legal[game_infoset[infoset]]
                    if actions != first_actions:
                        self.fail(node, infoset_actions_problem(key, actions, first_actions))
                    add_infoset(infoset)
                    before, after = last[:player], last[player + 1 :]
                    sequence = first[infoset + 1]
                    for action in first_actions[::-1]:
                        sequence -= 1
                        child = next_state(state, action)
                        lasts = (*before, sequence, *after)
                        push((child, node, action, depth, 1.0, reach, lasts))
                elif player == TERMINAL:
                    add_infoset(-1)
                    self.add_terminal(node, utilities(state), reach, last)
                else:
                    add_infoset(-1)
                    for action, p in self.check_outcomes(node, state, player):
                        child = next_state(state, action)
                        push((child, node, action, depth, p, reach * p, last))
                num_known = node + len(stack)  # nodes on the stack take memory too
                if num_known >= next_check:
                    next_check = num_known + min(next_check, MAX_NODES_BETWEEN_CHECKS)
                    self.check_progress(node, num_known)
        except CounterplayError:
            raise
        except MemoryError as error:
            problem = f"out of memory after {node:,} nodes; choose smaller parameters"
            raise RunError(f"{get_spec(game)}: {problem}") from error
        except Exception as error:
            self.fail(max(node, 0), self.diagnose(state, error), error)

    def diagnose(self, state: State, error: Exception) -> str:
        """Return the problem at the state where the walk failed, from a full check of the node."""
        try:
            return node_problem(self.game, state) or exception_problem(error)
        except Exception:  # the rules raise there
            return exception_problem(error)

    def add_infoset(
        self, node: int, state: State, player: int, key: str, last: int, legal: Sequence[int]
    ) -> int:
        """Add a new infoset and return its number."""
        self.check_memory(len(legal))
        game, actions = self.game, tuple(legal)
        if problem := key_problem(key, player) or actions_problem(actions, player):
            self.fail(node, problem)
        game_infoset = self.infoset_by_key.setdefault((player, key), len(self.legal_actions))
        if game_infoset == len(self.legal_actions):
            self.infoset_keys.append((player, key))
            self.legal_actions.append(actions)
            self.action_names.append(action_names(game, state, actions))
        infoset = self.append_infoset(player, game_infoset, last)
        self.infoset_by_recall[player, key, last] = infoset
        return infoset

    def check_outcomes(self, node: int, state: State, player: int) -> list[tuple[int, float]]:
        """Return the checked outcomes of a chance node, last one first."""
        if player != CHANCE:
            self.fail(node, player_problem(player, self.num_players))
        outcomes = self.game.chance_outcomes(state)
        self.check_memory(len(outcomes))
        outcomes = list(outcomes)
        total = 0.0
        for _, p in outcomes:
            total += p if p >= 0.0 else float("nan")
        if not abs(total - 1.0) <= 1e-9:
            self.fail(node, outcomes_problem(outcomes) or "chance probabilities do not sum to 1")
        actions = tuple([action for action, _ in outcomes])
        if actions not in self.checked_outcomes:
            if problem := numbers_problem(actions):
                self.fail(node, problem)
            if len(self.checked_outcomes) >= MAX_CHECKED_OUTCOMES:
                self.checked_outcomes.clear()
            self.checked_outcomes.add(actions)
        outcomes.reverse()
        return outcomes

    def add_terminal(self, node: int, utilities: Any, reach: float, last: tuple[int, ...]) -> None:
        if len(utilities) != self.game.num_players:
            self.fail(node, utilities_problem(utilities, self.num_players))
        self.last_sequence.extend(last)
        self.chance_reach.append(reach)
        self.utility.extend(utilities)
        total = sum(utilities)
        if total - total != 0.0:  # true for infinity and NaN only
            problem = utilities_problem(utilities, self.num_players)
            self.fail(node, problem or f"utilities {tuple(utilities)} have no finite sum")

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

    def check_progress(self, node: int, num_known: int) -> None:
        """Raise RunError if the tree is not going to fit into memory; report progress."""
        if self.depth[node] > MAX_HISTORY_LENGTH:
            self.fail(node, f"still not over after {MAX_HISTORY_LENGTH:,} actions")
        is_slow = time.perf_counter() - self.start_seconds > ESTIMATE_AFTER_SECONDS
        if not self.expected_nodes and (node >= ESTIMATE_AFTER_NODES or is_slow):
            self.expected_nodes = int(estimate_num_nodes(self.game, seconds=ESTIMATE_SECONDS))
        nodes = max(num_known, self.expected_nodes)
        # an upper bound: the share of new infosets among nodes falls during the walk
        infosets = nodes / (node + 1) * len(self.infoset_player) if node >= FIRST_CHECK_NODES else 0
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
