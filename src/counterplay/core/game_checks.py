"""Checks of the rules of a game that every arena shares, and the errors they raise.

`check_game`, `build_tree`, the Monte Carlo walks on rules, the networks on rules and matches all
call these functions, so that a fault in the rules of a game gives the same message everywhere: the
problem and the history that leads to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, NoReturn

from counterplay.errors import CounterplayError, GameError

MAX_ABS_UTILITY = 1e150  # sums of utilities over iterations, and squares, must not overflow
MAX_ACTION = 2**31 - 1  # trees store actions as 32-bit integers
MAX_PLAYERS = 127  # trees store players as 8-bit integers
CHANCE_TOLERANCE = 1e-9  # allowed distance of a sum of chance probabilities from 1
MAX_SHOWN_ACTIONS = 20  # actions of a history in an error message
GAME_METHODS = [
    "num_players",
    "initial_state",
    "player",
    "actions",
    "chance_outcomes",
    "next_state",
    "utilities",
    "infoset_key",
    "action_name",
]


def check_protocol(game: Any, methods: Sequence[str] = GAME_METHODS) -> None:
    """Raise GameError for a class, an object that is not a game, or a wrong number of players.

    Args:
        game: the object to check.
        methods: names that it must have; by default the whole game protocol.
    """
    if isinstance(game, type):
        raise GameError(f"{game.__name__} is a class: write {game.__name__}()")
    missing = [name for name in methods if not hasattr(game, name)]
    if GAME_METHODS[0] in missing:
        raise GameError(f"{type(game).__name__} is not a game: it lacks {', '.join(missing)}")
    if missing:
        raise GameError(f"{type(game).__name__} lacks {', '.join(missing)} of the game protocol")
    if hasattr(game, "step_rewards"):
        raise GameError(
            f"{game_title(game)} pays rewards on the way: write "
            f"cp.search.AccumulatedRewards({type(game).__name__}(...))"
        )
    count = game.num_players
    if not is_integer(count) or not 1 <= count <= MAX_PLAYERS:
        problem = f"must be a whole number from 1 to {MAX_PLAYERS}"
        raise GameError(f"{game_title(game)}: num_players is {count!r}, {problem}")


def game_title(game: Any) -> str:
    """Return the name of a game in error messages: its spec, or else its class."""
    return str(getattr(game, "spec", type(game).__name__))


def format_history(game: Any, actions: Sequence[int]) -> str:
    """Return a history as readable names, such as `deal J, deal Q, pass`, for error messages."""
    names: list[str] = []
    try:
        state = game.initial_state()
        for action in actions:
            names.append(str(game.action_name(state, action)))
            state = game.next_state(state, action)
    except Exception:  # possibly the fault that the message describes
        names += [str(action) for action in actions[len(names) :]]
    return ", ".join(names) or "(the start)"


def rule_error(game: Any, history: Sequence[int], problem: str) -> GameError:
    """Return the error for a fault in the rules at a history; long histories are cut."""
    names = format_history(game, list(history[:MAX_SHOWN_ACTIONS]))
    more = ", ..." if len(history) > MAX_SHOWN_ACTIONS else ""
    return GameError(f"{game_title(game)}: {problem}; history: {names}{more}")


def exception_problem(error: BaseException) -> str:
    """Return the message for an exception that a method of the rules raised."""
    text = " ".join(str(error).split())
    return f"the rules raised {type(error).__name__}" + (f": {text}" if text else "")


def raise_rule_error(game: Any, history: Sequence[int], error: Exception) -> NoReturn:
    """Raise an error for an exception of the rules; errors of this library pass unchanged."""
    if isinstance(error, CounterplayError):
        raise error
    raise rule_error(game, history, exception_problem(error)) from error


def call_rule(
    game: Any, history: Callable[[], Sequence[int]], method: Callable[..., Any], *arguments: Any
) -> Any:
    """Call a method of the rules; an exception becomes an error that names the history.

    Args:
        game: the rules.
        history: returns the actions that lead to the state; called only if the method fails.
        method: the method, or a function of this module.
        arguments: its arguments.
    """
    try:
        return method(*arguments)
    except Exception as error:
        raise_rule_error(game, history(), error)


def player_problem(player: Any, num_players: int) -> str:
    """Return what is wrong with the answer of `player()` at a non-terminal state, or ""."""
    if not is_integer(player) or not -1 <= player < num_players:
        return f"player() is {player!r}, not in 0..{num_players - 1}, CHANCE or TERMINAL"
    return ""


def actions_problem(actions: Sequence[Any], player: int) -> str:
    """Return what is wrong with the legal actions of a player, or ""."""
    if not len(actions):
        return f"player {player} has no legal action"
    return numbers_problem(actions)


def infoset_actions_problem(key: str, actions: Sequence[Any], known: Sequence[Any]) -> str:
    """Return the message for an infoset whose legal actions differ between two histories."""
    return f"infoset {key!r} has actions {shorten(actions)} here but {shorten(known)} elsewhere"


def numbers_problem(actions: Sequence[Any]) -> str:
    """Return what is wrong with the numbers of actions or chance outcomes, or ""."""
    for action in actions:
        if type(action) is int and 0 <= action <= MAX_ACTION:  # faster than `Integral`
            continue
        if not is_integer(action) or not 0 <= action <= MAX_ACTION:
            return f"an action is {action!r}; actions must be ints from 0 to {MAX_ACTION}"
    if len(set(actions)) < len(actions):
        return f"an action is listed twice in {shorten(actions)}"
    return ""


def outcomes_problem(outcomes: Sequence[tuple[Any, Any]]) -> str:
    """Return what is wrong with the (action, probability) pairs of a chance node, or ""."""
    if not len(outcomes):
        return "chance has no outcome"
    problem = probabilities_problem([probability for _, probability in outcomes])
    return problem or numbers_problem([action for action, _ in outcomes])


def probabilities_problem(probabilities: Sequence[float]) -> str:
    """Return what is wrong with the probabilities of a chance node, or ""."""
    total = sum(probabilities)  # NaN if one of them is
    if not (abs(total - 1.0) <= CHANCE_TOLERANCE and min(probabilities) >= 0.0):
        return f"chance probabilities are {shorten(probabilities)}, not a sum of 1"
    return ""


def utilities_problem(utilities: Sequence[float], num_players: int) -> str:
    """Return what is wrong with the utilities of a terminal state, or ""."""
    if len(utilities) != num_players:
        return f"{len(utilities)} utilities for {num_players} players"
    for utility in utilities:
        if not -MAX_ABS_UTILITY <= utility <= MAX_ABS_UTILITY:  # true of NaN too
            return (
                f"utilities {shorten(utilities)} are not all finite and up to {MAX_ABS_UTILITY:g}"
            )
    return ""


def key_problem(key: Any, player: int) -> str:
    """Return what is wrong with an infoset key, or ""."""
    if not isinstance(key, str):
        return f"infoset_key for player {player} is {key!r}, not a string"
    return ""


def unknown_key_error(
    game: Any, history: Sequence[int], player: int, error: Exception
) -> GameError:
    """Return the error of `infoset_key` for a player who is not to act, which baselines need."""
    problem = (
        f"infoset_key is not defined for player {player}, who is not to act, as baselines need "
        f"({exception_problem(error)}); define it there or take outcome_sampling"
    )
    return rule_error(game, history, problem)


def action_names(game: Any, state: Any, actions: Sequence[int]) -> tuple[str, ...]:
    """Return the names of the legal actions; equal names get a number: "up", "up#2".

    Policies are read and written by action name, so names must be unique.
    """
    names = [str(game.action_name(state, action)) for action in actions]
    if len(set(names)) == len(names):
        return tuple(names)
    counts: Counter[str] = Counter()
    used_names, unique_names = set(names), []
    for name in names:
        counts[name] += 1
        unique = name
        if counts[name] > 1:
            while (unique := f"{name}#{counts[name]}") in used_names:
                counts[name] += 1
            used_names.add(unique)
        unique_names.append(unique)
    return tuple(unique_names)


def is_integer(value: Any) -> bool:
    """Return True if a value is an int or a NumPy integer."""
    return isinstance(value, Integral)


def shorten(values: Sequence[Any]) -> str:
    """Return a list as text, cut after `MAX_SHOWN_ACTIONS` entries."""
    items = [getattr(value, "item", lambda value=value: value)() for value in values]
    if len(items) <= MAX_SHOWN_ACTIONS:
        return str(items)
    return f"[{', '.join(map(repr, items[:MAX_SHOWN_ACTIONS]))}, ...]"


def node_problem(game: Any, state: Any) -> str:
    """Return the problem of the rules at one state, or ""; used after an episode has failed.

    Exceptions of the rules pass unchanged.
    """
    from counterplay.core.game import CHANCE, TERMINAL

    player = game.player(state)
    if is_integer(player) and player == TERMINAL:
        return utilities_problem(game.utilities(state), game.num_players)
    if problem := player_problem(player, game.num_players):
        return problem
    if player == CHANCE:
        return outcomes_problem(game.chance_outcomes(state))
    return key_problem(game.infoset_key(state, player), player) or actions_problem(
        game.actions(state), player
    )
