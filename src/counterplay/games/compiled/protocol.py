"""Compiled rules: a game as functions on integer states, for trees of millions of nodes.

docs/compiled_rules.md explains how to write them; `check_compiled_game` compares them with the
readable rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame, State
from counterplay.core.game_checks import format_history, game_title
from counterplay.errors import GameError
from counterplay.kernels.sampling.primitives import invert_cdf
from counterplay.registry import COMPILED_GAMES, get_spec, import_registered, spec_name

Kernel = Callable[..., Any]


class CompiledGame(NamedTuple):
    """Compiled functions of a game of P players, on batches of states [N, W].

    The functions write their results to their last arguments, `step` to the states. `params` are
    the parameters of the game.
    """

    params: Ints  # int64
    initial_state: Ints  # [W] int32
    # (params, states, player [N], count [N]): the acting player, the number of actions
    current_player: Kernel
    # (params, states, player, first [N + 1], action [C], chance [C]): the actions or outcomes of
    # state n, from first[n] to first[n + 1]; chance is 1 for a player's actions
    legal_actions: Kernel
    # (params, states, player, action [N]): replaces each state by the next one
    step: Kernel
    # (params, states, utility [N, P]): utilities of terminal states
    utilities: Kernel
    # (params, states, player, key [N]): the acting player's infoset as an int64
    infoset_key: Kernel
    # (params, states, viewer [N], observation [N, X] float32): the `observation` of the game; if
    # None, networks read the readable rules
    observation: Kernel | None = None
    # (params, states, quantile [N], action [N]): the outcome of each chance state at a quantile of
    # its distribution, as `invert_cdf` finds it; if None, traversals list all outcomes
    sample_chance: Kernel | None = None
    arrays: tuple[Ints, ...] = ()  # arrays whose addresses are in `params`, to keep them alive
    # compiles the rules again with states that `observation` can read, or returns None; for games
    # whose states are smaller without
    with_observations: Callable[[], CompiledGame | None] | None = None

    def find_players(self, states: Ints) -> tuple[Ints, Ints]:
        """Return the acting player and the number of actions or outcomes of each state."""
        player, count = np.empty((2, len(states)), np.int64)
        self.current_player(self.params, states, player, count)
        return player, count

    def list_actions(self, states: Ints, player: Ints, first: Ints) -> tuple[Ints, Floats]:
        """Return all actions (outcomes) and their probabilities; state n's start at first[n]."""
        action, chance = np.empty(first[-1], np.int64), np.empty(first[-1])
        self.legal_actions(self.params, states, player, first, action, chance)
        return action, chance

    def take_actions(self, states: Ints, indices: Ints, player: Ints, action: Ints) -> Ints:
        """Return the states that follow `states[indices]` after these actions."""
        next_states = states[indices]
        self.step(self.params, next_states, player[indices], action)
        return next_states

    def compute_utilities(self, states: Ints, num_players: int) -> Floats:
        """Return the utilities [N, P] of terminal states."""
        utility = np.empty((len(states), num_players))
        self.utilities(self.params, states, utility)
        return utility

    def compute_infoset_keys(self, states: Ints, player: Ints) -> Ints:
        """Return the infoset of the acting player in each state as an integer [N]."""
        key = np.empty(len(states), np.int64)
        self.infoset_key(self.params, states, player, key)
        return key

    def compute_observations(self, states: Ints, viewer: Ints, size: int) -> Any:
        """Return the observations [N, size] of the viewers; requires an `observation` function."""
        assert self.observation is not None
        observation = np.empty((len(states), size), np.float32)
        self.observation(self.params, states, viewer, observation)
        return observation


KERNEL_NAMES = "current_player", "legal_actions", "step", "utilities", "infoset_key", "observation"


def build_compiled_game(
    kernels: object, params: list[int], initial_state: list[int]
) -> CompiledGame:
    """Build a compiled game from a module that defines its six kernels."""
    functions = [getattr(kernels, name) for name in KERNEL_NAMES]
    return CompiledGame(np.array(params), np.array(initial_state, np.int32), *functions)


def find_compiled_game(game: Game) -> CompiledGame | None:
    """Return the compiled rules of a game, from its `compiled_game()` or the registry, or None."""
    compiled: CompiledGame | None = None
    name = spec_name(get_spec(game))
    if hasattr(game, "compiled_game"):
        compiled = game.compiled_game()
    elif name in COMPILED_GAMES:
        compiled = import_registered(COMPILED_GAMES, name)(game)
    return compiled


def find_observed_game(game: Game) -> CompiledGame | None:
    """Return the compiled rules of a game with observations, or None without."""
    compiled = find_compiled_game(game)
    if compiled is not None and compiled.observation is None and compiled.with_observations:
        compiled = compiled.with_observations()
    return compiled if compiled is not None and compiled.observation is not None else None


def check_compiled_game(
    game: Game,
    compiled_game: CompiledGame,
    *,
    max_nodes: int = 100_000,
    num_episodes: int = 1000,
    seed: int = 0,
) -> int:
    """Compare compiled rules with the readable ones, node by node.

    Args:
        game: The readable rules.
        compiled_game: The compiled rules.
        max_nodes: Nodes compared from the root; the whole game if it has fewer.
        num_episodes: Random episodes compared in addition.
        seed: Seed of the episodes.

    Returns:
        The number of nodes compared from the root.

    Raises:
        GameError: At the first difference, with the history that leads to it.
    """
    check = _RulesComparison(game, compiled_game)
    rng = random.Random(seed)
    for _ in range(num_episodes):
        pair = check.root()
        while children := check.compare(*pair):
            pair = rng.choice(children)
    stack = [check.root()]
    num_nodes = 0
    while stack and num_nodes < max_nodes:
        num_nodes += 1
        stack += check.compare(*stack.pop())
    return num_nodes


class _RulesComparison:
    """Compares nodes and remembers the infosets of both sides."""

    def __init__(self, game: Game, compiled_game: CompiledGame):
        self.game, self.compiled_game = game, compiled_game
        self.rng = np.random.default_rng(0)
        self.keys: dict[tuple[int, str], int] = {}
        self.numbers: dict[tuple[int, int], str] = {}

    def root(self) -> tuple[State, Ints, tuple[int, ...]]:
        return self.game.initial_state(), self.compiled_game.initial_state[None], ()

    def compare(self, state: State, row: Ints, history: tuple[int, ...]) -> list[Any]:
        """Compare a node and return its children as (state, row, history)."""
        game, compiled = self.game, self.compiled_game
        player = game.player(state)
        players, count = compiled.find_players(row)
        self.expect_equal(history, "the acting player", player, int(players[0]))
        if player == TERMINAL:
            utilities = list(map(float, game.utilities(state)))
            compiled_utilities = compiled.compute_utilities(row, game.num_players)[0].tolist()
            self.expect_equal(history, "the utilities", utilities, compiled_utilities)
            return []
        is_chance = player == CHANCE
        legal: Any = game.chance_outcomes(state) if is_chance else game.actions(state)
        what = "the number of outcomes" if is_chance else "the number of actions"
        # a wrong count would make `legal_actions` write past the end of its arrays
        self.expect_equal(history, what, len(legal), int(count[0]))
        first = np.array([0, count[0]])
        actions, chance = compiled.list_actions(row, players, first)
        children = compiled.take_actions(row, np.zeros(len(actions), np.int64), players, actions)
        if is_chance:
            outcomes = [(int(a), float(p)) for a, p in legal]
            compiled_outcomes = list(zip(actions.tolist(), chance.tolist(), strict=True))
            self.expect_equal(history, "the outcomes", outcomes, compiled_outcomes)
            self.compare_samples(history, row, actions, chance)
        else:
            self.expect_equal(history, "the actions", list(legal), actions.tolist())
            self.compare_infoset(history, player, game.infoset_key(state, player), row, players)
            self.compare_observations(history, state, row)
        return [
            (game.next_state(state, action), children[k : k + 1], (*history, action))
            for k, action in enumerate(actions.tolist())
        ]

    def compare_infoset(
        self, history: tuple[int, ...], player: int, key: str, row: Ints, players: Ints
    ) -> None:
        number = int(self.compiled_game.compute_infoset_keys(row, players)[0])
        first_number = self.keys.setdefault((player, key), number)
        self.expect_equal(history, f"the number of infoset {key!r}", first_number, number)
        first_key = self.numbers.setdefault((player, number), key)
        self.expect_equal(history, f"the infoset of number {number}", key, first_key)

    def compare_samples(
        self, history: tuple[int, ...], row: Ints, actions: Ints, chance: Floats
    ) -> None:
        if self.compiled_game.sample_chance is None:
            return
        edges = np.cumsum(chance)[:-1]  # where rounding decides
        quantiles = [*self.rng.random(4).tolist(), *edges[:: max(1, len(edges) // 4)].tolist(), 0.0]
        for quantile in quantiles:
            action = np.empty(1, np.int64)
            self.compiled_game.sample_chance(
                self.compiled_game.params, row, np.array([quantile]), action
            )
            expected = int(actions[invert_cdf(chance, 0, len(chance), 0.0, quantile)])
            self.expect_equal(history, f"the outcome at {quantile}", expected, int(action[0]))

    def compare_observations(self, history: tuple[int, ...], state: State, row: Ints) -> None:
        if self.compiled_game.observation is None or not isinstance(self.game, ObservedGame):
            return
        for player in range(self.game.num_players):
            values = np.array(self.game.observation(state, player), np.float32)
            viewer = np.array([player])
            compiled = self.compiled_game.compute_observations(row, viewer, values.size)[0]
            what = f"the observation of player {player}"
            self.expect_equal(history, what, values.tolist(), compiled.tolist())

    def expect_equal(
        self, history: tuple[int, ...], what: str, readable: object, compiled: object
    ) -> None:
        if readable != compiled:
            self.fail(
                history, f"{what} is {readable} by the rules, {compiled} by the compiled rules"
            )

    def fail(self, history: tuple[int, ...], problem: str) -> NoReturn:
        where = format_history(self.game, history)
        raise GameError(f"{game_title(self.game)}: {problem}; history: {where}")
