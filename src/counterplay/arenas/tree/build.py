"""From rules to tree: `build_tree` walks the rules once; `assembly` sorts what it met."""

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
from counterplay.registry import COMPILED_GAMES, FACTORED_ARENAS, get_spec, load_game

NUM_CHECKED_INFOSETS = 1_000  # infosets at which actions of compiled rules are compared again
MIN_NODES_FOR_COMPILED_RULES = 50_000  # nodes from which compiled rules are used
FIRST_CHECK_NODES = (
    1 << 6
)  # nodes known before the first look at memory; then the double, and so on
MAX_NODES_BETWEEN_CHECKS = 1 << 15  # nodes between two looks at memory and progress, at most
ESTIMATE_AFTER_NODES = 1 << 18  # nodes from which a look ahead is worth its time
ESTIMATE_SECONDS = 0.5  # that an estimate of the size takes
ESTIMATE_AFTER_SECONDS = 1.0  # seconds of the same
MAX_CHECKED_OUTCOMES = 10_000  # tuples of chance outcomes remembered as checked

ProgressCallback = Callable[[int, int], None]  # nodes so far, nodes expected (0: not known)


def build_tree(
    game: Game | str, *, memory_limit: int | None = None, progress: ProgressCallback | None = None
) -> TreeArena:
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
    if isinstance(game, TreeArena):
        return game
    walk = _RulesTreeWalk(
        load_game(game) if isinstance(game, str) else game, memory_limit, progress
    )
    collecting = gc.isenabled()
    gc.disable()  # states are tuples, which the collector would otherwise visit again and again
    try:
        walk.refuse_oversized()
        machine = find_compiled_game(walk.game) if walk.is_worth_compiling() else None
        if machine:
            walk.run_compiled(machine)
        else:
            walk.run()
    finally:
        if collecting:
            gc.enable()
    walk.check_scale()
    return walk.build()


class _RulesTreeWalk(TreeBuilder):
    """One depth-first walk through the rules, which fills the parts of a tree."""

    game: Game

    def __init__(self, game: Game, memory_limit: int | None, progress: ProgressCallback | None):
        check_protocol(game, GAME_METHODS[:1])
        super().__init__(get_spec(game), game.num_players, game)
        self.progress = progress
        self.memory_limit = memory_limit or int(0.8 * available_memory())
        self.expected_nodes, self.start_seconds = 0, time.perf_counter()
        self.initial_resident_bytes = resident_memory()
        self.infoset_by_recall: dict[
            tuple[int, str, int], int
        ] = {}  # (player, key, last sequence) -> infoset
        self.infoset_by_key: dict[
            tuple[int, str], int
        ] = {}  # (player, key) -> infoset as the game has it
        self.checked_outcomes: set[tuple[int, ...]] = set()  # actions of chance nodes

    def refuse_oversized(self) -> None:
        """Refuse a tree that will not fit before anything is built.

        Two random walks say whether it could be too large at all; only then more are taken. Their
        estimate counts as too large if it is so by two standard errors, since it is not exact.
        """
        guess = estimate_num_nodes(self.game) * BYTES_PER_NODE
        if guess * REFUSAL_FACTOR < self.memory_limit:
            return
        found = look_closely(self.game, ESTIMATE_SECONDS)
        if found is None:
            return
        surely = (found.num_nodes - 2.0 * found.standard_error) * BYTES_PER_NODE
        if surely > self.memory_limit or guess > REFUSAL_FACTOR * self.memory_limit:
            self.expected_nodes = int(found.num_nodes)
            self.check_memory(self.expected_nodes)

    def is_worth_compiling(self) -> bool:
        """Whether compiled rules would be worth loading."""
        if (
            not hasattr(self.game, "compiled_game")
            and get_spec(self.game).partition("(")[0] not in COMPILED_GAMES
        ):
            return False
        return estimate_num_nodes(self.game, seconds=0.01) >= MIN_NODES_FOR_COMPILED_RULES

    def run_compiled(self, compiled_game: CompiledGame) -> None:
        """Let compiled rules walk the tree; the readable ones make the texts of infosets."""
        found = CompiledTreeWalk(compiled_game, self.num_players)
        found.run(self.check_memory)
        found.fill_builder(self)
        self.check_chance()
        game, states = self.game, {0: self.game.initial_state()}
        parent, action = memoryview(self.parent), memoryview(self.action)
        for node, player, legal in found.iter_infosets(self):
            path = [node]
            while path[-1] not in states:
                path.append(parent[path[-1]])
            state = states[path[-1]]
            for below in path[-2::-1]:
                state = states[below] = game.next_state(state, action[below])
            known = len(self.infoset_keys) >= NUM_CHECKED_INFOSETS
            if not known and (game.player(state), tuple(game.actions(state))) != (player, legal):
                self.fail(
                    node, "compiled rules differ from the readable ones: see check_compiled_game"
                )
            key = game.infoset_key(state, player)
            if problem := key_problem(key, player) or actions_problem(legal, player):
                self.fail(node, problem)
            self.infoset_keys.append((player, key))
            self.legal_actions.append(legal)
            self.action_names.append(action_names(game, state, legal))

    def check_chance(self) -> None:
        """Refuse chance probabilities of compiled rules that do not sum to 1."""
        chance = np.asarray(self.player) == CHANCE
        above, lottery = np.asarray(self.parent)[1:], np.asarray(self.chance)[1:]
        total = np.bincount(above, np.where(lottery >= 0.0, lottery, np.nan), chance.size)
        wrong = np.flatnonzero(chance & ~(np.abs(total - 1.0) <= CHANCE_TOLERANCE))
        if wrong.size:
            self.fail(int(wrong[0]), probabilities_problem(lottery[above == wrong[0]].tolist()))

    def run(self) -> None:
        """Walk the tree; one long loop, because a call per node would cost a third of the speed."""
        game, recall, legal = self.game, self.infoset_by_recall, self.legal_actions
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
        first, merged = self.first_sequence, self.game_infoset
        nothing = (-1,) * game.num_players
        # state, parent, action, depth, probability of the action, chance's reach, last sequences
        stack: list[Any] = []
        pop, push = stack.pop, stack.append
        node, look = -1, min(FIRST_CHECK_NODES, MAX_NODES_BETWEEN_CHECKS)
        state: State = None
        try:
            stack.append((game.initial_state(), -1, -1, 0, 1.0, 1.0, nothing))
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
                    known = legal[merged[infoset]]
                    if actions != known:
                        self.fail(node, infoset_actions_problem(key, actions, known))
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
                    for action, p in self.check_outcomes(node, state, player):
                        child = next_state(state, action)
                        push((child, node, action, depth, p, reach * p, last))
                if node + len(stack) >= look:  # those that wait were met too
                    look = node + len(stack) + min(look, MAX_NODES_BETWEEN_CHECKS)
                    self.check_progress(node, node + len(stack))
        except CounterplayError:
            raise
        except MemoryError as error:
            problem = f"out of memory after {node:,} nodes; choose smaller parameters"
            raise RunError(f"{get_spec(game)}: {problem}") from error
        except Exception as error:
            self.fail(max(node, 0), self.diagnose(state, error), error)

    def diagnose(self, state: State, error: Exception) -> str:
        """Return what is wrong at the state where the walk failed: a check says it best."""
        try:
            return node_problem(self.game, state) or exception_problem(error)
        except Exception:  # the rules raise there
            return exception_problem(error)

    def add_infoset(
        self, node: int, state: State, player: int, key: str, last: int, legal: Sequence[int]
    ) -> int:
        """The number of an infoset not met before."""
        self.check_memory(len(legal))
        game, actions = self.game, tuple(legal)
        if problem := key_problem(key, player) or actions_problem(actions, player):
            self.fail(node, problem)
        public = self.infoset_by_key.setdefault((player, key), len(self.legal_actions))
        if public == len(self.legal_actions):
            self.infoset_keys.append((player, key))
            self.legal_actions.append(actions)
            self.action_names.append(action_names(game, state, actions))
        infoset = self.infoset_by_recall[player, key, last] = self.append_infoset(
            player, public, last
        )
        return infoset

    def check_outcomes(self, node: int, state: State, player: int) -> list[tuple[int, float]]:
        """The outcomes of a chance node, last one first."""
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
        if total - total != 0.0:  # true of infinity and NaN only
            problem = utilities_problem(utilities, self.num_players)
            self.fail(node, problem or f"utilities {tuple(utilities)} have no finite sum")

    def check_scale(self) -> None:
        """Refuse units in which sums over iterations would overflow, or vanish."""
        size = np.abs(np.array(self.utility)).reshape(-1, self.num_players)
        largest = size.max(axis=0)
        fits = (largest <= MAX_ABS_UTILITY) & (largest >= 1.0 / MAX_ABS_UTILITY)  # false of NaN
        for player in np.flatnonzero(~fits).tolist():
            if largest[player]:
                ends = np.flatnonzero(np.array(self.player) == TERMINAL)
                problem = f"the largest utility of player {player} is {largest[player]:g}"
                advice = f"choose units in which it is from {1.0 / MAX_ABS_UTILITY:g} to {MAX_ABS_UTILITY:g}"
                self.fail(int(ends[size[:, player].argmax()]), f"{problem}; {advice}")

    def check_progress(self, node: int, known: int) -> None:
        """Refuse what will not fit, before it is too late, and report progress."""
        if self.depth[node] > MAX_HISTORY_LENGTH:
            self.fail(node, f"still not over after {MAX_HISTORY_LENGTH:,} actions")
        slow = time.perf_counter() - self.start_seconds > ESTIMATE_AFTER_SECONDS
        if not self.expected_nodes and (node >= ESTIMATE_AFTER_NODES or slow):
            self.expected_nodes = int(estimate_num_nodes(self.game, seconds=ESTIMATE_SECONDS))
        nodes = max(known, self.expected_nodes)
        # the walk meets new infosets most often at its beginning, so their share only falls
        infosets = nodes / (node + 1) * len(self.infoset_player) if node >= FIRST_CHECK_NODES else 0
        # states or keys may be enormous
        self.check_memory(nodes, infosets, resident_memory() - self.initial_resident_bytes)
        if self.progress and node >= MAX_NODES_BETWEEN_CHECKS:
            self.progress(node, self.expected_nodes)

    def check_memory(self, nodes: int, infosets: float = 0, resident_bytes: int = 0) -> None:
        needed = max(peak_build_bytes(nodes, infosets), resident_bytes)
        if needed > self.memory_limit:
            count = f"about {format_count(nodes)} nodes"
            if nodes >= MAX_NODE_ESTIMATE:
                count = f"more than {MAX_NODE_ESTIMATE:.0e} nodes, if it ends at all"
            known = get_spec(self.game).partition("(")[0] in FACTORED_ARENAS
            other = 'its generated arena ("arena": "generated"), ' if known else ""
            advice = (
                f"choose smaller parameters, or do without the tree: {other}inspect --estimate, "
                "solve --sampled --algorithm outcome_sampling (or, from Python, raise memory_limit)"
            )
            raise RunError(
                f"{get_spec(self.game)} has {count}: its tree takes about {format_gib(needed)}, "
                f"and only {format_gib(self.memory_limit)} may be used; {advice}"
            )

    def fail(self, node: int, problem: str, cause: Exception | None = None) -> NoReturn:
        actions = []
        while len(self.parent) > node and self.parent[node] >= 0:
            actions.append(self.action[node])
            node = self.parent[node]
        raise rule_error(self.game, actions[::-1], problem) from cause
