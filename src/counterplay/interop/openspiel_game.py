"""A game as an OpenSpiel game, for OpenSpiel's algorithms, evaluation and tests."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame, State
from counterplay.errors import ConfigError
from counterplay.interop.openspiel import OpenSpielGame, import_pyspiel
from counterplay.interop.pyspiel_types import SpielGame
from counterplay.registry import get_spec

_REGISTERED_GAMES: dict[str, Game] = {}  # games added here to OpenSpiel's registry, by name


def to_openspiel(game: Game | TreeArena, name: str = "") -> Any:
    """Register a game with OpenSpiel and return it as a `pyspiel.Game`.

    `pyspiel.load_game` finds it from then on, under `name` or by default under `counterplay_` and
    its spec with `_` in place of all but letters and digits. A game that came from OpenSpiel is
    returned unchanged. Information states are `p0 `, `p1 `, ... followed by the infoset's key.

    Raises:
        ConfigError: the name is taken, or the game has negative actions.
    """
    pyspiel = import_pyspiel()
    tree = game if isinstance(game, TreeArena) else build_tree(game)
    rules = tree.game
    if isinstance(rules, OpenSpielGame):
        return rules.spiel_game
    name = name or "counterplay_" + re.sub(r"\W+", "_", get_spec(rules)).strip("_")
    if name in _REGISTERED_GAMES and _REGISTERED_GAMES[name] == rules:
        return pyspiel.load_game(name)
    if name in pyspiel.registered_names():
        raise ConfigError(f"OpenSpiel has a game {name!r} already; give another name")
    kind = _game_type(tree, rules, name)
    pyspiel.register_game(kind, _game_class(kind, _game_info(tree), rules))
    _REGISTERED_GAMES[name] = rules
    return pyspiel.load_game(name)


def information_state(player: int, key: str) -> str:
    """Return the information-state string of an infoset, which names the player too."""
    return f"p{player} {key}"


def _game_type(tree: TreeArena, rules: Game, name: str) -> Any:
    kinds = import_pyspiel().GameType
    has_chance = bool((tree.player == CHANCE).any())
    is_imperfect = tree.num_nodes > 1 and bool(
        (tree.num_histories > 1).any() or not tree.has_perfect_recall
    )
    is_observed = isinstance(rules, ObservedGame)
    if tree.is_zero_sum:
        utility = kinds.Utility.ZERO_SUM
    elif tree.is_constant_sum:
        utility = kinds.Utility.CONSTANT_SUM
    elif np.ptp(tree.utility, axis=1).max() == 0.0:
        utility = kinds.Utility.IDENTICAL
    else:
        utility = kinds.Utility.GENERAL_SUM
    information = kinds.Information
    return kinds(
        short_name=name,
        long_name=tree.spec,
        dynamics=kinds.Dynamics.SEQUENTIAL,
        chance_mode=(
            kinds.ChanceMode.EXPLICIT_STOCHASTIC if has_chance else kinds.ChanceMode.DETERMINISTIC
        ),
        information=(
            information.IMPERFECT_INFORMATION if is_imperfect else information.PERFECT_INFORMATION
        ),
        utility=utility,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=tree.num_players,
        min_num_players=tree.num_players,
        provides_information_state_string=True,
        provides_information_state_tensor=is_observed,
        provides_observation_string=True,
        provides_observation_tensor=is_observed,
    )


def _game_info(tree: TreeArena) -> Any:
    actions, chance = tree.sequence_action, tree.action[1:][_is_below_chance(tree)[1:]]
    if min(actions.min(initial=0), chance.min(initial=0)) < 0:
        raise ConfigError(f"{tree.spec} has negative actions, which OpenSpiel does not allow")
    totals = tree.utility.sum(axis=1)
    return import_pyspiel().GameInfo(
        num_distinct_actions=int(actions.max(initial=0)) + 1,
        max_chance_outcomes=int(chance.max(initial=-1)) + 1,
        num_players=tree.num_players,
        min_utility=float(tree.utility.min()),
        max_utility=float(tree.utility.max()),
        utility_sum=float(totals[0]) if tree.is_constant_sum else None,
        max_game_length=max(1, tree.max_episode_length),
    )


def _is_below_chance(tree: TreeArena) -> NDArray[np.bool_]:
    return tree.player[tree.parent] == CHANCE


class _SharedState:
    """An immutable state of the rules, which the deep copies of OpenSpiel's states share."""

    __slots__ = ("last_decision_state", "state")

    def __init__(self, state: State, last_decision_state: State):
        self.state = state
        self.last_decision_state = last_decision_state  # `state`, or at the end the one before it

    def __deepcopy__(self, memo: object) -> _SharedState:
        return self


def _game_class(game_type: Any, game_info: Any, rules: Game) -> type:
    """Return a subclass of OpenSpiel's game that runs the rules."""
    pyspiel = import_pyspiel()
    ids = pyspiel.PlayerId

    class CounterplayState(pyspiel.State):  # type: ignore[misc, name-defined]
        def __init__(self, game: SpielGame):
            super().__init__(game)
            start = rules.initial_state()
            self._shared = _SharedState(start, start)

        def current_player(self) -> int:
            player = rules.player(self._shared.state)
            return {CHANCE: ids.CHANCE, TERMINAL: ids.TERMINAL}.get(player, player)

        def _legal_actions(self, player: int) -> list[int]:
            return sorted(rules.actions(self._shared.state))

        def chance_outcomes(self) -> list[tuple[int, float]]:
            return sorted(rules.chance_outcomes(self._shared.state))

        def _apply_action(self, action: int) -> None:
            after = rules.next_state(self._shared.state, action)
            is_over = rules.player(after) == TERMINAL
            before = self._shared.last_decision_state
            self._shared = _SharedState(after, before if is_over else after)

        def _action_to_string(self, player: int, action: int) -> str:
            return rules.action_name(self._shared.state, action)

        def is_terminal(self) -> bool:
            return rules.player(self._shared.state) == TERMINAL

        def returns(self) -> list[float]:
            if not self.is_terminal():
                return [0.0] * rules.num_players
            return [float(utility) for utility in rules.utilities(self._shared.state)]

        def __str__(self) -> str:
            return self.history_str()

    class CounterplayObserver:
        """Provides the whole information of a player for every kind of observation."""

        def __init__(self) -> None:
            self.tensor = np.zeros(0, np.float32)
            self.dict: dict[str, NDArray[np.float32]] = {}
            if isinstance(rules, ObservedGame):
                size = len(rules.observation(rules.initial_state(), 0))
                self.tensor = np.zeros(size, np.float32)
                self.dict = {"observation": self.tensor}

        def set_from(self, state: CounterplayState, player: int) -> None:
            if isinstance(rules, ObservedGame):
                self.tensor[:] = rules.observation(state._shared.last_decision_state, player)

        def string_from(self, state: CounterplayState, player: int) -> str:
            key = rules.infoset_key(state._shared.last_decision_state, player)
            return information_state(player, key)

    class CounterplayGame(pyspiel.Game):  # type: ignore[misc, name-defined]
        def __init__(self, params: dict[str, object] | None = None):
            super().__init__(game_type, game_info, params or {})

        def new_initial_state(self) -> CounterplayState:
            return CounterplayState(self)

        def make_py_observer(
            self, iig_obs_type: object = None, params: object = None
        ) -> CounterplayObserver:
            return CounterplayObserver()

    return CounterplayGame
