"""The game protocol: what a user writes to describe a game, and the check of it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from counterplay.core.game_checks import (
    actions_problem,
    changed_actions_problem,
    check_protocol,
    key_problem,
    outcomes_problem,
    player_problem,
    raise_rule_error,
    rule_error,
    utilities_problem,
)
from counterplay.errors import GameError

CHANCE = -1
TERMINAL = -2
ZERO_SUM_TOLERANCE = (
    1e-12  # a sum of utilities is zero if it is less than this part of the largest of them
)

State = Any  # each game has its own immutable, hashable state


@runtime_checkable
class Game(Protocol):
    """The rules of a finite game. Implementations are frozen dataclasses; every method is pure.

    Players move one at a time. A simultaneous move is played in turn: the later player's
    `infoset_key` simply does not mention the earlier choice.
    """

    @property
    def num_players(self) -> int:
        """How many players there are, chance not counted."""
        ...

    def initial_state(self) -> State:
        """The state before anything has happened."""
        ...

    def player(self, state: State) -> int:
        """Who acts: 0, 1, ..., or CHANCE, or TERMINAL when the game is over."""
        ...

    def actions(self, state: State) -> Sequence[int]:
        """The legal actions at a player's node, in a fixed order: ints from 0 to 2**31 - 1."""
        ...

    def chance_outcomes(self, state: State) -> Sequence[tuple[int, float]]:
        """The (action, probability) pairs at a chance node."""
        ...

    def next_state(self, state: State, action: int) -> State:
        """The state after `action`, a player's or chance's."""
        ...

    def utilities(self, state: State) -> Sequence[float]:
        """Every player's utility at a terminal state."""
        ...

    def infoset_key(self, state: State, player: int) -> str:
        """All that `player` knows, as a readable string; defined where `player` is to act.

        Some methods also ask for what the others know: VR-MCCFR at every node, `inspect
        --episode` at every step. They say so where a game does not answer.
        """
        ...

    def action_name(self, state: State, action: int) -> str:
        """A short name for an action at this state, a player's or chance's."""
        ...


@runtime_checkable
class ObservedGame(Game, Protocol):
    """A game that deep algorithms can play: it also describes infosets as numbers."""

    def observation(self, state: State, player: int) -> Sequence[float]:
        """All that `player` knows, as numbers; the same length at every non-terminal state."""
        ...


@runtime_checkable
class DrawnGame(Game, Protocol):
    """A board game that people can play at a terminal: it also shows its board."""

    def board(self, state: State) -> str:
        """What everybody sees, as lines of text, with the numbers of actions where they go."""
        ...


@runtime_checkable
class DescribedGame(Game, Protocol):
    """A game that speaks to people: at the prompt and in the studio. Both methods are optional.

    `situation` and `choices_of` answer for every game, with what these say or with its keys.
    """

    def describe(self, state: State, player: int) -> str:
        """What `player` sees, in sentences: "You hold the Jack. Player 1 bet 1; the pot is 3."

        Nothing that the player's `infoset_key` hides; defined for everyone until the end.
        """
        ...

    def action_labels(self, state: State) -> Sequence[str]:
        """What people call the actions at a player's node, in their order: ("fold", "call 1")."""
        ...


@runtime_checkable
class GridGame(Game, Protocol):
    """A game whose policies can be shown as tables; `place_in_grid` answers for every game."""

    def grid_position(self, infoset_key: str) -> tuple[str, str, str]:
        """Where an infoset stands: (panel, row, column), each a short text.

        A panel is one table of one player. In poker it is the betting so far, the row the own
        card and the column the public card. What a game has no use for is "".
        """
        ...


def describe_situation(game: Game, state: State, player: int) -> str:
    """What the player sees, in words: the game's own, or else its key."""
    if hasattr(game, "describe"):
        return str(game.describe(state, player))
    return f"You know: {game.infoset_key(state, player) or '(nothing yet)'}"


def action_labels(game: Game, state: State) -> list[str]:
    """What people call the actions at a player's node: the game's own words, or action names."""
    if hasattr(game, "action_labels"):
        return list(game.action_labels(state))
    return [game.action_name(state, action) for action in game.actions(state)]


def grid_position(game: Game, infoset_key: str) -> tuple[str, str, str]:
    """The infoset's (panel, row, column); without the game's word, one table of one column."""
    if hasattr(game, "grid_position"):
        panel, row, column = game.grid_position(infoset_key)
        return panel, row, column
    return "", infoset_key, ""


@dataclass(frozen=True)
class GameReport:
    """What `check_game` counted on its way through the rules."""

    num_nodes: int
    num_terminals: int
    num_infosets: int
    max_history_length: int
    is_zero_sum: bool
    has_perfect_recall: bool


def check_game(
    game: Game,
    *,
    max_nodes: int = 1_000_000,
    max_history_length: int = 1_000,
    allow_imperfect_recall: bool = False,
) -> GameReport:
    """Walk all of the rules, verify them, and return the counts.

    Args:
        max_nodes: refuse games with more nodes than this (`cp.build_tree` takes larger ones).
        max_history: a longer history counts as a game that never ends.
        imperfect_recall: accept infosets that forget the player's own earlier actions.

    Raises:
        GameError: the first violation found, with the history that leads to it.

    >>> import counterplay as cp
    >>> cp.check_game(cp.load_game("kuhn_poker")).num_terminals
    30
    """
    return _GameChecker(game, max_nodes, max_history_length, allow_imperfect_recall).run()


class _GameChecker:
    """One walk through the rules, with what has to be remembered on the way."""

    def __init__(
        self, game: Game, max_nodes: int, max_history_length: int, allow_imperfect_recall: bool
    ):
        check_protocol(game)
        self.game = game
        self.max_nodes, self.max_history_length = max_nodes, max_history_length
        self.allow_imperfect_recall = allow_imperfect_recall
        self.legal_actions: dict[tuple[int, str], tuple[int, ...]] = {}
        self.own_histories: dict[tuple[int, str], tuple[object, ...]] = {}
        self.observation_size: int | None = None
        self.num_nodes = self.num_terminals = self.max_length = 0
        self.is_zero_sum = self.has_perfect_recall = True

    def run(self) -> GameReport:
        nothing: tuple[object, ...] = ()
        try:
            start = self.game.initial_state()
        except Exception as error:
            raise_rule_error(self.game, (), error)
        stack: list[Any] = [(start, (), (nothing,) * self.game.num_players)]
        while stack:
            state, history, pasts = stack.pop()
            self.num_nodes += 1
            self.max_length = max(self.max_length, len(history))
            if self.num_nodes > self.max_nodes:
                raise GameError(f"more than {self.max_nodes:,} nodes; raise max_nodes to go on")
            if len(history) > self.max_history_length:
                self.fail(history, f"still not over after {self.max_history_length} actions")
            try:
                stack.extend(self.visit(state, history, pasts))
            except Exception as error:
                raise_rule_error(self.game, history, error)
        return GameReport(
            self.num_nodes,
            self.num_terminals,
            len(self.legal_actions),
            self.max_length,
            self.is_zero_sum,
            self.has_perfect_recall,
        )

    def fail(self, history: Sequence[int], problem: str) -> None:
        """Raise the problem, if there is one."""
        if problem:
            raise rule_error(self.game, history, problem)

    def visit(self, state: State, history: tuple[int, ...], pasts: tuple[Any, ...]) -> list[Any]:
        """Check one node and return its children as (state, history, pasts)."""
        game = self.game
        if not isinstance(state, Hashable) or hash(state) is None:
            self.fail(history, "the state is not hashable")
        player = game.player(state)
        if player == TERMINAL:
            self.check_utilities(state, history)
            return []
        self.fail(history, player_problem(player, game.num_players))
        key = ""
        if player == CHANCE:
            outcomes = game.chance_outcomes(state)
            self.fail(history, outcomes_problem(outcomes))
            actions = tuple(action for action, _ in outcomes)
        else:
            actions = tuple(game.actions(state))
            key = self.check_infoset(state, history, player, actions, pasts[player])
        children = []
        for action in actions:
            after = pasts
            if player >= 0:
                past = (*pasts[player], key, action)
                after = (*pasts[:player], past, *pasts[player + 1 :])
            children.append((game.next_state(state, action), (*history, action), after))
            game.action_name(state, action)
        return children[::-1]

    def check_utilities(self, state: State, history: tuple[int, ...]) -> None:
        self.num_terminals += 1
        utilities = tuple(self.game.utilities(state))
        self.fail(history, utilities_problem(utilities, self.game.num_players))
        self.is_zero_sum &= abs(math.fsum(utilities)) <= ZERO_SUM_TOLERANCE * max(
            map(abs, utilities)
        )

    def check_observation(self, state: State, history: tuple[int, ...], player: int) -> None:
        """Check that observations, if the game has them, all have the same length."""
        if isinstance(self.game, ObservedGame):
            size = len(self.game.observation(state, player))
            if self.observation_size not in (None, size):
                self.fail(history, f"observation has {size} entries, not {self.observation_size}")
            self.observation_size = size

    def check_infoset(
        self,
        state: State,
        history: tuple[int, ...],
        player: int,
        actions: tuple[int, ...],
        past: tuple[object, ...],
    ) -> str:
        key = self.game.infoset_key(state, player)
        self.fail(history, key_problem(key, player))
        self.fail(history, actions_problem(actions, player))
        self.check_observation(state, history, player)
        if self.legal_actions.setdefault((player, key), actions) != actions:
            known = self.legal_actions[player, key]
            self.fail(history, changed_actions_problem(key, actions, known))
        if self.own_histories.setdefault((player, key), past) != past:
            self.has_perfect_recall = False
            if not self.allow_imperfect_recall:
                self.fail(
                    history,
                    f"player {player} forgets its own past at infoset {key!r} "
                    "(pass imperfect_recall=True to allow it)",
                )
        return key
