"""The game protocol, which a user implements to describe a game, and its check."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from counterplay.core.game_checks import (
    actions_problem,
    check_protocol,
    infoset_actions_problem,
    key_problem,
    outcomes_problem,
    player_problem,
    raise_rule_error,
    rule_error,
    utilities_problem,
)
from counterplay.errors import GameError

CHANCE = -1  # `Game.player` at a chance node
TERMINAL = -2  # `Game.player` at the end
ZERO_SUM_TOLERANCE = 1e-12  # a sum of utilities counts as zero, relative to the largest of them

State = Any  # each game has its own immutable, hashable state


@runtime_checkable
class Game(Protocol):
    """The rules of a finite game. Implementations are frozen dataclasses; every method is pure.

    Players act one at a time. Simultaneous actions are taken in turn: the later player's
    `infoset_key` does not mention the earlier action.

    Example:
        >>> import counterplay as cp
        >>> game = cp.load_game("kuhn_poker")
        >>> isinstance(game, cp.Game), game.num_players
        (True, 2)
        >>> state = game.initial_state()
        >>> game.player(state) == cp.CHANCE, game.chance_outcomes(state)[0][0]
        (True, 0)
        >>> state = game.next_state(game.next_state(state, 0), 1)
        >>> game.player(state), game.infoset_key(state, 0)
        (0, '0')
        >>> [game.action_name(state, action) for action in game.actions(state)]
        ['pass', 'bet']
    """

    @property
    def num_players(self) -> int:
        """Number of players, without chance."""
        ...

    def initial_state(self) -> State:
        """Return the state before the first action."""
        ...

    def player(self, state: State) -> int:
        """Return the acting player: 0, 1, ..., or CHANCE, or TERMINAL at the end."""
        ...

    def actions(self, state: State) -> Sequence[int]:
        """Return the legal actions at a player's node: ints from 0 to 2**31 - 1, in fixed order."""
        ...

    def chance_outcomes(self, state: State) -> Sequence[tuple[int, float]]:
        """Return the (action, probability) pairs at a chance node."""
        ...

    def next_state(self, state: State, action: int) -> State:
        """Return the state after an action of a player or of chance."""
        ...

    def utilities(self, state: State) -> Sequence[float]:
        """Return every player's utility at a terminal state."""
        ...

    def infoset_key(self, state: State, player: int) -> str:
        """Return all information of `player` as a readable string; defined if `player` acts.

        Some methods also need the keys of the other players: VR-MCCFR at every node, `inspect
        --episode` at every step. They raise an error that says so if the game does not define them.
        """
        ...

    def action_name(self, state: State, action: int) -> str:
        """Return a short name for an action of a player or of chance at a state."""
        ...


@runtime_checkable
class ObservedGame(Game, Protocol):
    """A game for deep algorithms: it also describes infosets as numbers."""

    def observation(self, state: State, player: int) -> Sequence[float]:
        """Return all information of `player` as numbers; of one length at non-terminal states."""
        ...


@runtime_checkable
class DrawnGame(Game, Protocol):
    """A board game for play at the prompt: it also draws its board."""

    def board(self, state: State) -> str:
        """Return the public board as lines of text, with the numbers of actions on empty cells."""
        ...


@runtime_checkable
class DescribedGame(Game, Protocol):
    """A game with texts for people, at the prompt and in the studio. Both methods are optional.

    The functions `describe_situation` and `action_labels` work for every game: they call these
    methods, or use infoset keys and action names.
    """

    def describe(self, state: State, player: int) -> str:
        """Return the view of `player` in sentences: "You hold the Jack. Player 1 bet 1."

        Contains nothing that the player's `infoset_key` hides; defined for all players at
        non-terminal states.
        """
        ...

    def action_labels(self, state: State) -> Sequence[str]:
        """Return labels of the actions at a player's node, in their order: ("fold", "call 1")."""
        ...


@runtime_checkable
class GridGame(Game, Protocol):
    """A game whose policies can be shown as tables; the function `grid_position` suits any game."""

    def grid_position(self, infoset_key: str) -> tuple[str, str, str]:
        """Return the (panel, row, column) of an infoset, each a short text.

        A panel is one table of one player. In poker it is the betting so far, the row the private
        card and the column the public card. Coordinates that a game does not need are "".
        """
        ...


def full_game(game: Game) -> Game:
    """Return the game that a game with an abstraction was made from; other games unchanged."""
    full: Game = getattr(game, "full_game", game)
    return full


def describe_situation(game: Game, state: State, player: int) -> str:
    """Return the player's view in the words of the game, or its infoset key."""
    if hasattr(game, "describe"):
        return str(game.describe(state, player))
    return f"You know: {game.infoset_key(state, player) or '(nothing yet)'}"


def action_labels(game: Game, state: State) -> list[str]:
    """Return the game's labels of the actions at a player's node, or the action names."""
    if hasattr(game, "action_labels"):
        return list(game.action_labels(state))
    return [game.action_name(state, action) for action in game.actions(state)]


def grid_position(game: Game, infoset_key: str) -> tuple[str, str, str]:
    """Return the infoset's (panel, row, column): the game's, or a row of one table."""
    if hasattr(game, "grid_position"):
        panel, row, column = game.grid_position(infoset_key)
        return panel, row, column
    return "", infoset_key, ""


@dataclass(frozen=True)
class GameReport:
    """Counts and properties of a game, from `check_game`."""

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
    """Visit all nodes of a game, verify its rules, and return counts.

    Args:
        game: the rules.
        max_nodes: refuse games with more nodes than this (`cp.build_tree` accepts larger ones).
        max_history_length: a longer history counts as a game that never ends.
        allow_imperfect_recall: accept infosets that forget the player's own earlier actions.

    Raises:
        GameError: the first violation, with the history that leads to it.

    Example:
        >>> import counterplay as cp
        >>> cp.check_game(cp.load_game("kuhn_poker")).num_terminals
        30
    """
    return _GameChecker(game, max_nodes, max_history_length, allow_imperfect_recall).run()


OwnHistory = tuple[object, ...]  # a player's past: infoset key, action, infoset key, action, ...
Visit = tuple[State, tuple[int, ...], tuple[OwnHistory, ...]]  # state, history, past by player


class _GameChecker:
    """One traversal of the rules, with the infosets and counts so far."""

    def __init__(
        self, game: Game, max_nodes: int, max_history_length: int, allow_imperfect_recall: bool
    ):
        check_protocol(game)
        self.game = game
        self.max_nodes, self.max_history_length = max_nodes, max_history_length
        self.allow_imperfect_recall = allow_imperfect_recall
        self.legal_actions: dict[tuple[int, str], tuple[int, ...]] = {}
        self.own_histories: dict[tuple[int, str], OwnHistory] = {}
        self.observation_size: int | None = None
        self.num_nodes = self.num_terminals = self.max_length = 0
        self.is_zero_sum = self.has_perfect_recall = True

    def run(self) -> GameReport:
        try:
            start = self.game.initial_state()
        except Exception as error:
            raise_rule_error(self.game, (), error)
        stack: list[Visit] = [(start, (), ((),) * self.game.num_players)]
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
        """Raise an error if there is a problem."""
        if problem:
            raise rule_error(self.game, history, problem)

    def visit(
        self, state: State, history: tuple[int, ...], pasts: tuple[OwnHistory, ...]
    ) -> list[Visit]:
        """Check one node and return its children in reverse order."""
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
        children: list[Visit] = []
        for action in actions:
            next_pasts = pasts
            if player >= 0:
                past = (*pasts[player], key, action)
                next_pasts = (*pasts[:player], past, *pasts[player + 1 :])
            children.append((game.next_state(state, action), (*history, action), next_pasts))
            game.action_name(state, action)
        return children[::-1]

    def check_utilities(self, state: State, history: tuple[int, ...]) -> None:
        self.num_terminals += 1
        utilities = tuple(self.game.utilities(state))
        self.fail(history, utilities_problem(utilities, self.game.num_players))
        tolerance = ZERO_SUM_TOLERANCE * max(map(abs, utilities))
        self.is_zero_sum &= abs(math.fsum(utilities)) <= tolerance

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
        past: OwnHistory,
    ) -> str:
        """Check the infoset of a player's node, and return its key."""
        key = self.game.infoset_key(state, player)
        self.fail(history, key_problem(key, player))
        self.fail(history, actions_problem(actions, player))
        self.check_observation(state, history, player)
        if self.legal_actions.setdefault((player, key), actions) != actions:
            known = self.legal_actions[player, key]
            self.fail(history, infoset_actions_problem(key, actions, known))
        if self.own_histories.setdefault((player, key), past) != past:
            self.has_perfect_recall = False
            if not self.allow_imperfect_recall:
                self.fail(
                    history,
                    f"player {player} forgets its own past at infoset {key!r} "
                    "(pass allow_imperfect_recall=True to allow it)",
                )
        return key
