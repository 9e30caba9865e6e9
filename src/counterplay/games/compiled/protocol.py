"""Compiled rules: a game as a small machine on integers, for trees of millions of nodes.

docs/compiled_rules.md says how to write one; `check_compiled_game` proves it equal to the readable
rules.
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
from counterplay.registry import COMPILED_GAMES, get_spec, import_registered


class CompiledGame(NamedTuple):
    """Five compiled functions or six, which treat many states [N, W] at once; P players.

    They write their last arguments, and `step` the states. `rules` are the game's parameters, as
    integers.
    """

    params: Ints  # int64
    initial_state: Ints  # [W] int32, the state before anything has happened
    current_player: Callable[
        ..., Any
    ]  # (rules, states, player [N], count [N]): who acts, how many actions
    # (rules, states, player, first [N + 1], action [C], chance [C]): the actions or outcomes, those
    # of state n from first[n] on; chance is 1 for a player's actions
    legal_actions: Callable[..., Any]
    step: Callable[..., Any]  # (rules, states, player, action [N]): every state becomes the next
    utilities: Callable[..., Any]  # (rules, terminal states, utility [N, P])
    infoset_key: Callable[
        ..., Any
    ]  # (rules, states, player, key [N]): what the one to act knows, int64
    # (rules, states, viewer [N], observation [N, X] float32): the game's `observation`; None:
    # networks ask the readable rules
    observation: Callable[..., Any] | None = None

    def find_players(self, states: Ints) -> tuple[Ints, Ints]:
        """Who acts in each state, and how many actions or outcomes there are."""
        player, count = np.empty((2, len(states)), np.int64)
        self.current_player(self.params, states, player, count)
        return player, count

    def list_actions(self, states: Ints, player: Ints, first: Ints) -> tuple[Ints, Floats]:
        """All actions or outcomes, those of state n from first[n] on; chance's probabilities."""
        action, chance = np.empty(first[-1], np.int64), np.empty(first[-1])
        self.legal_actions(self.params, states, player, first, action, chance)
        return action, chance

    def take_actions(self, states: Ints, indices: Ints, player: Ints, action: Ints) -> Ints:
        """What follows each of the states `which` when its `action` is taken."""
        following = states[indices]
        self.step(self.params, following, player[indices], action)
        return following

    def compute_utilities(self, states: Ints, num_players: int) -> Floats:
        """The utilities at terminal states."""
        utility = np.empty((len(states), num_players))
        self.utilities(self.params, states, utility)
        return utility

    def compute_infoset_keys(self, states: Ints, player: Ints) -> Ints:
        """What the one to act knows, as a number."""
        key = np.empty(len(states), np.int64)
        self.infoset_key(self.params, states, player, key)
        return key

    def compute_observations(self, states: Ints, viewer: Ints, size: int) -> Any:
        """What players see [N, size]; only where the machine can say."""
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
    """The machine that a game has itself (`machine()`) or that is known for it; or none."""
    if hasattr(game, "compiled_game"):
        found: CompiledGame | None = game.compiled_game()
        return found
    name = get_spec(game).partition("(")[0]
    made: CompiledGame | None = (
        import_registered(COMPILED_GAMES, name)(game) if name in COMPILED_GAMES else None
    )
    return made


def check_compiled_game(
    game: Game,
    compiled_game: CompiledGame,
    *,
    max_nodes: int = 100_000,
    num_episodes: int = 1000,
    seed: int = 0,
) -> int:
    """Go through the readable rules and the machine side by side; how many nodes agreed.

    All of the game if it has at most `max_nodes`, and as many random episodes as wanted.

    Raises:
        GameError: the first difference, with the history that leads to it.
    """
    check = _RulesComparison(game, compiled_game)
    rng = random.Random(seed)
    for _ in range(num_episodes):
        pair = check.root()
        while children := check.compare(*pair):
            pair = rng.choice(children)
    stack = [check.root()]
    seen = 0
    while stack and seen < max_nodes:
        seen += 1
        stack += check.compare(*stack.pop())
    return seen


class _RulesComparison:
    def __init__(self, game: Game, machine: CompiledGame):
        self.game, self.compiled_game = game, machine
        self.keys: dict[tuple[int, str], int] = {}
        self.numbers: dict[tuple[int, int], str] = {}

    def root(self) -> tuple[State, Ints, tuple[int, ...]]:
        return self.game.initial_state(), self.compiled_game.initial_state[None], ()

    def compare(self, state: State, row: Ints, history: tuple[int, ...]) -> list[Any]:
        """Compare one node; its children as (state, row, history)."""
        game, machine = self.game, self.compiled_game
        player = game.player(state)
        found, count = machine.find_players(row)
        self.expect_equal(history, "who acts", player, int(found[0]))
        if player == TERMINAL:
            paid = machine.compute_utilities(row, game.num_players)[0].tolist()
            self.expect_equal(
                history, "the utilities", list(map(float, game.utilities(state))), paid
            )
            return []
        by_chance = player == CHANCE
        offered: Any = game.chance_outcomes(state) if by_chance else game.actions(state)
        what = "the number of outcomes" if by_chance else "the number of actions"
        self.expect_equal(
            history, what, len(offered), int(count[0])
        )  # else `offer` writes past its end
        first = np.array([0, count[0]])
        actions, chance = machine.list_actions(row, found, first)
        children = machine.take_actions(row, np.zeros(len(actions), np.int64), found, actions)
        if by_chance:
            outcomes = [(int(a), float(p)) for a, p in offered]
            listed = list(zip(actions.tolist(), chance.tolist(), strict=True))
            self.expect_equal(history, "the outcomes", outcomes, listed)
        else:
            self.expect_equal(history, "the actions", list(offered), actions.tolist())
            self.compare_infoset(history, player, game.infoset_key(state, player), row, found)
            self.compare_observations(history, state, row)
        return [
            (game.next_state(state, action), children[k : k + 1], (*history, action))
            for k, action in enumerate(actions.tolist())
        ]

    def compare_infoset(
        self, history: tuple[int, ...], player: int, key: str, row: Ints, found: Ints
    ) -> None:
        number = int(self.compiled_game.compute_infoset_keys(row, found)[0])
        before = self.keys.setdefault((player, key), number)
        self.expect_equal(history, f"what is seen at infoset {key!r}", before, number)
        other = self.numbers.setdefault((player, number), key)
        self.expect_equal(history, f"the infoset of what is seen, {number},", key, other)

    def compare_observations(self, history: tuple[int, ...], state: State, row: Ints) -> None:
        if self.compiled_game.observation is None or not isinstance(self.game, ObservedGame):
            return
        for player in range(self.game.num_players):
            seen = np.array(self.game.observation(state, player), np.float32)
            found = self.compiled_game.compute_observations(row, np.array([player]), seen.size)[0]
            self.expect_equal(
                history, f"what player {player} observes", seen.tolist(), found.tolist()
            )

    def expect_equal(
        self, history: tuple[int, ...], what: str, readable: object, compiled: object
    ) -> None:
        if readable != compiled:
            self.fail(history, f"{what} is {readable} by the rules, {compiled} by the machine")

    def fail(self, history: tuple[int, ...], problem: str) -> NoReturn:
        where = format_history(self.game, history)
        raise GameError(f"{game_title(self.game)}: {problem}; history: {where}")
