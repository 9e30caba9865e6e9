"""OpenSpiel in: every finite OpenSpiel game, as rules that everything else here understands.

    cp.load_game("openspiel:leduc_poker(players=3)")

What follows the colon is OpenSpiel's own way to write a game, parameters and all.
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

SPEC_PREFIX = "openspiel:"
MAX_ACTIONS = 1_000_000  # at a node: OpenSpiel makes a list of all of them


def import_pyspiel() -> Any:
    """OpenSpiel's module, or an error that says how to get it."""
    try:
        import pyspiel
    except ModuleNotFoundError as error:
        raise ConfigError(
            "OpenSpiel is not installed: pip install 'counterplay[openspiel]'"
        ) from error
    return pyspiel


def load_openspiel_game(spec: str, **parameters: Any) -> OpenSpielGame:
    """The game of a spec such as `openspiel:leduc_poker(players=3)`."""
    name = spec.removeprefix(SPEC_PREFIX).strip()
    if parameters:
        name = _with_parameters(name, parameters)
    rules = _load_spiel_game(name)
    kind = rules.get_type()
    check_supported(name, kind)
    refuse_too_many_actions(name, rules)
    observed = kind.provides_information_state_tensor or kind.provides_observation_tensor
    families = (
        (OpenSpielGame, ObservedOpenSpielGame),
        (TurnBasedOpenSpielGame, ObservedTurnBasedOpenSpielGame),
    )
    return families[needs_turn_based_states(kind)][observed](name)


def parse_parameters(spec: str) -> dict[str, Any]:
    """The parameters of a spec by name, those of nested games as dicts."""
    pyspiel = import_pyspiel()
    try:
        return dict(pyspiel.game_parameters_from_string(spec.removeprefix(SPEC_PREFIX).strip()))
    except (pyspiel.SpielError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"OpenSpiel cannot read {spec!r}: {reason}") from error


def check_supported(name: str, game_type: Any) -> None:
    """Raise an error for games that no finite tree can hold."""
    pyspiel = import_pyspiel()
    modes, dynamics = pyspiel.GameType.ChanceMode, pyspiel.GameType.Dynamics
    if game_type.dynamics == dynamics.MEAN_FIELD:
        reason = "it is a mean-field game: its players are a continuum, not a number"
    elif game_type.chance_mode == modes.SAMPLED_STOCHASTIC:
        reason = "it samples chance inside and does not tell the probabilities"
    elif not (_has_key(game_type) or game_type.provides_observation_string):
        reason = "it says nothing about what its players know"
    else:
        return
    raise GameError(f"{SPEC_PREFIX}{name} cannot be unrolled: {reason}")


def refuse_too_many_actions(name: str, rules: Any) -> None:
    """Raise an error for a game whose list of legal actions at one node may not fit into memory."""
    counts = {"actions": rules.num_distinct_actions(), "chance outcomes": 0}
    with suppress(Exception):  # games without chance may not say
        counts["chance outcomes"] = rules.max_chance_outcomes()
    for what, count in counts.items():
        if count > MAX_ACTIONS:
            raise RunError(
                f"{SPEC_PREFIX}{name} has up to {count:,} {what} at a node, more than "
                f"{MAX_ACTIONS:,}; choose smaller parameters, such as stacks, or an abstraction "
                "of the betting"
            )


def needs_turn_based_states(game_type: Any) -> bool:
    """Whether OpenSpiel's own states are not enough to walk the tree with."""
    pyspiel = import_pyspiel()
    return game_type.dynamics == pyspiel.GameType.Dynamics.SIMULTANEOUS or not _has_key(game_type)


def _has_key(game_type: Any) -> bool:
    """Whether what a player knows follows from the last state alone."""
    perfect = import_pyspiel().GameType.Information.PERFECT_INFORMATION
    return game_type.provides_information_state_string or game_type.information == perfect


def _load_spiel_game(name: str) -> Any:
    """OpenSpiel's game, with its complaints as ours."""
    pyspiel = import_pyspiel()
    try:
        given = pyspiel.game_parameters_from_string(name)
        short = given.pop("name", "")
        kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
        if short not in kinds:
            importlib.import_module("open_spiel.python.games")  # registers those written in Python
            kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
        if short not in kinds:
            raise ConfigError(f"OpenSpiel has no game {short!r}{suggestion(short, kinds)}")
        known = kinds[short].parameter_specification
        for key in given:
            if key not in known:
                near, takes = suggestion(key, known), ", ".join(known) or "none"
                raise ConfigError(
                    f"{SPEC_PREFIX}{short} has no parameter {key!r}{near} (takes {takes})"
                )
        return pyspiel.load_game(name)
    except (pyspiel.SpielError, RuntimeError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())
        raise ConfigError(f"OpenSpiel cannot load {name!r}: {reason}") from error


def _with_parameters(name: str, parameters: dict[str, Any]) -> str:
    pyspiel = import_pyspiel()
    try:
        given = pyspiel.game_parameters_from_string(name)
        return pyspiel.game_parameters_to_string(given | parameters)
    except (pyspiel.SpielError, RuntimeError, TypeError) as error:
        raise ConfigError(f"OpenSpiel cannot load {name!r} with {parameters}: {error}") from error


@dataclass(frozen=True)
class OpenSpielGame:
    """A game of OpenSpiel in which players move one at a time; states are OpenSpiel's own.

    The infoset key is OpenSpiel's information-state string; a game of perfect information that has
    none is known by its history.
    """

    name: str  # as OpenSpiel writes it, such as "leduc_poker(players=3)"

    @cached_property
    def spiel_game(self) -> Any:
        """OpenSpiel's own game."""
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

    def initial_state(self) -> Any:
        return self.spiel_game.new_initial_state()

    def player(self, state: Any) -> int:
        player = state.current_player()
        return player if player >= CHANCE else TERMINAL if player == self._terminal_id else player

    def actions(self, state: Any) -> Sequence[int]:
        return state.legal_actions()

    def chance_outcomes(self, state: Any) -> list[tuple[int, float]]:
        return state.chance_outcomes()

    def next_state(self, state: Any, action: int) -> Any:
        return state.child(action)

    def utilities(self, state: Any) -> list[float]:
        return state.returns()

    def infoset_key(self, state: Any, player: int) -> str:
        return (
            state.information_state_string(player)
            if self._has_information_state
            else state.history_str()
        )

    def action_name(self, state: Any, action: int) -> str:
        return state.action_to_string(state.current_player(), action)


class ObservedOpenSpielGame(OpenSpielGame):
    """The same with observations: the information-state tensor, or else the observation tensor."""

    def observation(self, state: Any, player: int) -> list[float]:
        if self.spiel_game.get_type().provides_information_state_tensor:
            return state.information_state_tensor(player)
        return state.observation_tensor(player)


class TurnBasedState(NamedTuple):
    """OpenSpiel's state, what has been chosen since, and what players saw when they acted."""

    spiel_state: Any
    player: int
    actions: tuple[int, ...] | None = None  # legal ones, in a simultaneous move
    pending_actions: tuple[int, ...] = ()  # secret choices of a simultaneous move, player 0's first
    observation_histories: tuple[
        str, ...
    ] = ()  # by player; empty where OpenSpiel's strings tell all


class TurnBasedOpenSpielGame(OpenSpielGame):
    """A game of OpenSpiel that needs more than its states: simultaneous moves, or own recall.

    Players who move at the same time do so in turn, the earlier choices hidden from the later; a
    player without a legal action is passed over. Where OpenSpiel has only observations, not
    information states, a player knows all that it observed when it was to act, what it did then,
    and what it observes now.
    """

    @cached_property
    def _simultaneous_id(self) -> int:
        return int(import_pyspiel().PlayerId.SIMULTANEOUS)

    @cached_property
    def _num_players(self) -> int:
        return self.spiel_game.num_players()

    def initial_state(self) -> TurnBasedState:
        told = _has_key(self.spiel_game.get_type())
        views = () if told else ("",) * self._num_players
        return self._wrap_state(self.spiel_game.new_initial_state(), views)

    def _wrap_state(
        self, spiel_state: Any, observation_histories: tuple[str, ...]
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
        self, spiel_state: Any, pending: tuple[int, ...], observation_histories: tuple[str, ...]
    ) -> TurnBasedState:
        """The next turn of a simultaneous move, or what comes after it."""
        while (player := len(pending)) < self._num_players:
            actions = spiel_state.legal_actions(player)
            if actions:
                return TurnBasedState(
                    spiel_state, player, tuple(actions), pending, observation_histories
                )
            pending = (*pending, 0)  # what OpenSpiel takes from who has no choice
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
        spiel, player, actions, pending, views = state
        if views and player >= 0:
            seen = f"{self.infoset_key(state, player)}>{action}\n"
            views = (*views[:player], seen, *views[player + 1 :])
        if actions is None:
            return self._wrap_state(spiel.child(action), views)
        return self._next_turn(spiel, (*pending, action), views)

    def utilities(self, state: TurnBasedState) -> list[float]:
        return state.spiel_state.returns()

    def infoset_key(self, state: TurnBasedState, player: int) -> str:
        if state.observation_histories:
            return state.observation_histories[player] + state.spiel_state.observation_string(
                player
            )
        spiel = state.spiel_state
        return (
            spiel.information_state_string(player)
            if self._has_information_state
            else spiel.history_str()
        )

    def action_name(self, state: TurnBasedState, action: int) -> str:
        return state.spiel_state.action_to_string(state.player, action)


class ObservedTurnBasedOpenSpielGame(TurnBasedOpenSpielGame):
    """The same with observations."""

    def observation(self, state: TurnBasedState, player: int) -> Sequence[float]:
        return ObservedOpenSpielGame.observation(self, state.spiel_state, player)  # type: ignore[arg-type]
