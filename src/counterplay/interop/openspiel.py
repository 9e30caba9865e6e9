"""Games of OpenSpiel as rules: every finite game can be built, solved and played.

    cp.load_game("openspiel:leduc_poker(players=3)")

The text after the colon is OpenSpiel's name of the game, with parameters in its notation.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from counterplay.core.game import CHANCE, TERMINAL
from counterplay.errors import ConfigError, GameError, RunError, suggestion
from counterplay.interop.pyspiel_types import SpielGame, SpielGameType, SpielState

SPEC_PREFIX = "openspiel:"
MAX_ACTIONS = 1_000_000  # at a node: OpenSpiel returns a list of all of them


def import_pyspiel() -> Any:
    """Return the module `pyspiel`, or raise an error with the command that installs it."""
    try:
        import pyspiel
    except ModuleNotFoundError as error:
        raise ConfigError(
            "OpenSpiel is not installed: pip install 'counterplay[openspiel]'"
        ) from error
    return pyspiel


def load_openspiel_game(
    spec: str, **parameters: object
) -> SequentialOpenSpielGame | TurnBasedOpenSpielGame:
    """Return the game of a spec such as `openspiel:leduc_poker(players=3)`."""
    name = spec.removeprefix(SPEC_PREFIX).strip()
    if parameters:
        name = _with_parameters(name, parameters)
    rules = _load_spiel_game(name)
    kind = rules.get_type()
    check_supported(name, kind)
    refuse_too_many_actions(name, rules)
    observed = kind.provides_information_state_tensor or kind.provides_observation_tensor
    if needs_turn_based_states(kind):
        return (ObservedTurnBasedOpenSpielGame if observed else TurnBasedOpenSpielGame)(name)
    return (ObservedSequentialOpenSpielGame if observed else SequentialOpenSpielGame)(name)


def parse_parameters(spec: str) -> dict[str, object]:
    """Return the parameters of a spec by name, those of nested games as dicts."""
    pyspiel = import_pyspiel()
    try:
        return dict(pyspiel.game_parameters_from_string(spec.removeprefix(SPEC_PREFIX).strip()))
    except (pyspiel.SpielError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"OpenSpiel cannot read {spec!r}: {reason}") from error


def check_supported(name: str, game_type: SpielGameType) -> None:
    """Raise GameError for a kind of game without a finite tree."""
    pyspiel = import_pyspiel()
    modes, dynamics = pyspiel.GameType.ChanceMode, pyspiel.GameType.Dynamics
    if game_type.dynamics == dynamics.MEAN_FIELD:
        reason = "it is a mean-field game, with a continuum of players"
    elif game_type.chance_mode == modes.SAMPLED_STOCHASTIC:
        reason = "it samples chance itself and does not provide the probabilities"
    elif not (_has_key(game_type) or game_type.provides_observation_string):
        reason = "it provides neither information states nor observations"
    else:
        return
    raise GameError(f"{SPEC_PREFIX}{name} cannot be unrolled: {reason}")


def refuse_too_many_actions(name: str, rules: SpielGame) -> None:
    """Raise RunError if the list of legal actions at one node may not fit into memory."""
    counts = {"actions": rules.num_distinct_actions(), "chance outcomes": 0}
    with suppress(Exception):  # games without chance may not define it
        counts["chance outcomes"] = rules.max_chance_outcomes()
    for kind, count in counts.items():
        if count > MAX_ACTIONS:
            raise RunError(
                f"{SPEC_PREFIX}{name} has up to {count:,} {kind} at a node, more than "
                f"{MAX_ACTIONS:,}; choose smaller parameters, such as stacks, or an abstraction "
                "of the betting"
            )


def needs_turn_based_states(game_type: SpielGameType) -> bool:
    """Return True if a game needs `TurnBasedState`: simultaneous moves, or no infoset key."""
    pyspiel = import_pyspiel()
    is_simultaneous = bool(game_type.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS)
    return is_simultaneous or not _has_key(game_type)


def _has_key(game_type: SpielGameType) -> bool:
    """Return True if a state of OpenSpiel determines the infoset key of each player."""
    perfect = import_pyspiel().GameType.Information.PERFECT_INFORMATION
    return game_type.provides_information_state_string or bool(game_type.information == perfect)


def _load_spiel_game(name: str) -> SpielGame:
    """Return OpenSpiel's game; its errors become ConfigError."""
    pyspiel = import_pyspiel()
    try:
        parameters = pyspiel.game_parameters_from_string(name)
        short = parameters.pop("name", "")
        kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
        if short not in kinds:
            importlib.import_module("open_spiel.python.games")  # registers the games in Python
            kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
        if short not in kinds:
            raise ConfigError(f"OpenSpiel has no game {short!r}{suggestion(short, kinds)}")
        known = kinds[short].parameter_specification
        for key in parameters:
            if key not in known:
                near, takes = suggestion(key, known), ", ".join(known) or "none"
                raise ConfigError(
                    f"{SPEC_PREFIX}{short} has no parameter {key!r}{near} (takes {takes})"
                )
        game: SpielGame = pyspiel.load_game(name)
        return game
    except (pyspiel.SpielError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"OpenSpiel cannot load {name!r}: {reason}") from error


def _with_parameters(name: str, parameters: dict[str, object]) -> str:
    pyspiel = import_pyspiel()
    try:
        all_parameters = pyspiel.game_parameters_from_string(name) | parameters
        return str(pyspiel.game_parameters_to_string(all_parameters))
    except (pyspiel.SpielError, RuntimeError, TypeError) as error:
        raise ConfigError(f"OpenSpiel cannot load {name!r} with {parameters}: {error}") from error


@dataclass(frozen=True)
class OpenSpielGame:
    """A game of OpenSpiel; the subclasses have the rules.

    The infoset key is OpenSpiel's information-state string, or the history in a game of perfect
    information without such strings.
    """

    name: str  # as OpenSpiel writes it, such as "leduc_poker(players=3)"

    @cached_property
    def spiel_game(self) -> SpielGame:
        """The game as an object of OpenSpiel."""
        return _load_spiel_game(self.name)

    @cached_property
    def _has_information_state(self) -> bool:
        return self.spiel_game.get_type().provides_information_state_string

    @cached_property
    def _terminal_id(self) -> int:
        return int(import_pyspiel().PlayerId.TERMINAL)

    @cached_property
    def has_perfect_information(self) -> bool:
        """Whether OpenSpiel declares that players act in turn and see everything."""
        kind, types = self.spiel_game.get_type(), import_pyspiel().GameType
        is_sequential = kind.dynamics == types.Dynamics.SEQUENTIAL
        return is_sequential and kind.information == types.Information.PERFECT_INFORMATION

    @property
    def spec(self) -> str:
        return SPEC_PREFIX + self.name

    @property
    def num_players(self) -> int:
        return self.spiel_game.num_players()

    def _key(self, spiel_state: SpielState, player: int) -> str:
        if self._has_information_state:
            return spiel_state.information_state_string(player)
        return spiel_state.history_str()

    def _tensor(self, spiel_state: SpielState, player: int) -> list[float]:
        """Return the information-state tensor, or else the observation tensor."""
        if self.spiel_game.get_type().provides_information_state_tensor:
            return spiel_state.information_state_tensor(player)
        return spiel_state.observation_tensor(player)


class SequentialOpenSpielGame(OpenSpielGame):
    """A game in which players act one at a time; states are those of OpenSpiel."""

    def initial_state(self) -> SpielState:
        return self.spiel_game.new_initial_state()

    def player(self, state: SpielState) -> int:
        player = state.current_player()
        return player if player >= CHANCE else TERMINAL if player == self._terminal_id else player

    def actions(self, state: SpielState) -> Sequence[int]:
        return state.legal_actions()

    def chance_outcomes(self, state: SpielState) -> list[tuple[int, float]]:
        return state.chance_outcomes()

    def next_state(self, state: SpielState, action: int) -> SpielState:
        return state.child(action)

    def utilities(self, state: SpielState) -> list[float]:
        return state.returns()

    def infoset_key(self, state: SpielState, player: int) -> str:
        return self._key(state, player)

    def action_name(self, state: SpielState, action: int) -> str:
        return state.action_to_string(state.current_player(), action)


class ObservedSequentialOpenSpielGame(SequentialOpenSpielGame):
    """A sequential game with observations."""

    def observation(self, state: SpielState, player: int) -> list[float]:
        return self._tensor(state, player)


class TurnBasedState(NamedTuple):
    """A state of OpenSpiel with what it lacks: pending actions and past observations."""

    spiel_state: SpielState
    player: int
    actions: tuple[int, ...] | None = None  # legal actions in a simultaneous move
    pending_actions: tuple[int, ...] = ()  # hidden actions of a simultaneous move, by player
    observation_histories: tuple[str, ...] = ()  # by player; empty with information states


class TurnBasedOpenSpielGame(OpenSpielGame):
    """A game of OpenSpiel with simultaneous moves, or with observations but no information states.

    Simultaneous moves are made in turn, hidden from the players after; a player without a legal
    action is skipped. Without information states, the infoset key of a player consists of its
    observations when it was to act, its actions, and its current observation.
    """

    @cached_property
    def _simultaneous_id(self) -> int:
        return int(import_pyspiel().PlayerId.SIMULTANEOUS)

    @cached_property
    def _num_players(self) -> int:
        return self.spiel_game.num_players()

    def initial_state(self) -> TurnBasedState:
        has_key = _has_key(self.spiel_game.get_type())
        histories = () if has_key else ("",) * self._num_players
        return self._wrap_state(self.spiel_game.new_initial_state(), histories)

    def _wrap_state(
        self, spiel_state: SpielState, observation_histories: tuple[str, ...]
    ) -> TurnBasedState:
        player = spiel_state.current_player()
        if player == self._simultaneous_id:
            return self._next_turn(spiel_state, (), observation_histories)
        return TurnBasedState(
            spiel_state,
            TERMINAL if player == self._terminal_id else player,
            None,
            (),
            observation_histories,
        )

    def _next_turn(
        self,
        spiel_state: SpielState,
        pending: tuple[int, ...],
        observation_histories: tuple[str, ...],
    ) -> TurnBasedState:
        """Return the next turn of a simultaneous move, or the state after the move."""
        while (player := len(pending)) < self._num_players:
            actions = spiel_state.legal_actions(player)
            if actions:
                return TurnBasedState(
                    spiel_state, player, tuple(actions), pending, observation_histories
                )
            pending = (*pending, 0)  # OpenSpiel expects 0 from a player without a legal action
        after = spiel_state.clone()
        after.apply_actions(pending)
        return self._wrap_state(after, observation_histories)

    def player(self, state: TurnBasedState) -> int:
        return state.player

    def actions(self, state: TurnBasedState) -> Sequence[int]:
        return state.spiel_state.legal_actions() if state.actions is None else state.actions

    def chance_outcomes(self, state: TurnBasedState) -> list[tuple[int, float]]:
        return state.spiel_state.chance_outcomes()

    def next_state(self, state: TurnBasedState, action: int) -> TurnBasedState:
        spiel_state, player, actions, pending, histories = state
        if histories and player >= 0:
            history = f"{self.infoset_key(state, player)}>{action}\n"
            histories = (*histories[:player], history, *histories[player + 1 :])
        if actions is None:
            return self._wrap_state(spiel_state.child(action), histories)
        return self._next_turn(spiel_state, (*pending, action), histories)

    def utilities(self, state: TurnBasedState) -> list[float]:
        return state.spiel_state.returns()

    def infoset_key(self, state: TurnBasedState, player: int) -> str:
        if state.observation_histories:
            observation = state.spiel_state.observation_string(player)
            return state.observation_histories[player] + observation
        return self._key(state.spiel_state, player)

    def action_name(self, state: TurnBasedState, action: int) -> str:
        return state.spiel_state.action_to_string(state.player, action)


class ObservedTurnBasedOpenSpielGame(TurnBasedOpenSpielGame):
    """A turn-based game with observations.

    OpenSpiel's observations of simultaneous moves with perfect information can show the board but
    not how many moves remain, so they are followed by the share of the longest game that is over.
    """

    def observation(self, state: TurnBasedState, player: int) -> list[float]:
        tensor = self._tensor(state.spiel_state, player)
        if not self._appends_time:
            return tensor
        return [*tensor, state.spiel_state.move_number() / self._max_game_length]

    @cached_property
    def _appends_time(self) -> bool:
        kind, types = self.spiel_game.get_type(), import_pyspiel().GameType
        return (
            not kind.provides_information_state_tensor
            and bool(kind.dynamics == types.Dynamics.SIMULTANEOUS)
            and bool(kind.information == types.Information.PERFECT_INFORMATION)
        )

    @cached_property
    def _max_game_length(self) -> int:
        return max(self.spiel_game.max_game_length(), 1)
