"""OpenSpiel out: any game as an OpenSpiel game, for its algorithms, its judgement and its tests."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.build import build_tree
from counterplay.core.game import CHANCE, TERMINAL, Game, ObservedGame
from counterplay.errors import ConfigError
from counterplay.interop.openspiel import OpenSpielGame, import_pyspiel
from counterplay.registry import get_spec

_REGISTERED_GAMES: dict[str, Game] = {}  # what stands in OpenSpiel's own registry by our doing


def to_openspiel(game: Game | TreeArena, name: str = "") -> Any:
    """Register a game with OpenSpiel and return it as a `pyspiel.Game`.

    `pyspiel.load_game` finds it from then on, under `counterplay_` and its spec with all but
    letters and digits as `_`, or under `name`. A game that came from OpenSpiel is returned as it
    is there. Information states are `p0 ` or `p1 ` and so on, followed by the infoset's key.
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
    """What OpenSpiel calls an infoset: unlike our keys, different for different players."""
    return f"p{player} {key}"


def _game_type(tree: TreeArena, rules: Game, name: str) -> Any:
    kinds = import_pyspiel().GameType
    chancy = bool((tree.player == CHANCE).any())
    hidden = tree.num_nodes > 1 and bool(
        (tree.num_histories > 1).any() or not tree.has_perfect_recall
    )
    observed = isinstance(rules, ObservedGame)
    totals = tree.utility.sum(axis=1)
    if tree.is_zero_sum:
        utility = kinds.Utility.ZERO_SUM
    elif np.ptp(totals) == 0.0:
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
            kinds.ChanceMode.EXPLICIT_STOCHASTIC if chancy else kinds.ChanceMode.DETERMINISTIC
        ),
        information=(
            information.IMPERFECT_INFORMATION if hidden else information.PERFECT_INFORMATION
        ),
        utility=utility,
        reward_model=kinds.RewardModel.TERMINAL,
        max_num_players=tree.num_players,
        min_num_players=tree.num_players,
        provides_information_state_string=True,
        provides_information_state_tensor=observed,
        provides_observation_string=True,
        provides_observation_tensor=observed,
    )


def _game_info(tree: TreeArena) -> Any:
    actions, chance = tree.sequence_action, tree.action[1:][_is_below_chance(tree)[1:]]
    if min(actions.min(initial=0), chance.min(initial=0)) < 0:
        raise ConfigError(f"{tree.spec} has negative actions, which OpenSpiel does not allow")
    totals = tree.utility.sum(axis=1)
    constant = tree.is_zero_sum or np.ptp(totals) == 0.0
    return import_pyspiel().GameInfo(
        num_distinct_actions=int(actions.max(initial=0)) + 1,
        max_chance_outcomes=int(chance.max(initial=-1)) + 1,
        num_players=tree.num_players,
        min_utility=float(tree.utility.min()),
        max_utility=float(tree.utility.max()),
        utility_sum=float(totals[0]) if constant else None,
        max_game_length=max(1, tree.max_episode_length),
    )


def _is_below_chance(tree: TreeArena) -> Any:
    return tree.player[tree.parent] == CHANCE


class _SharedState:
    """A state of our rules. OpenSpiel copies its states deeply; ours are immutable, so share it."""

    __slots__ = ("last_decision_state", "state")

    def __init__(self, state: Any, last_decision_state: Any):
        self.state, self.last_decision_state = (
            state,
            last_decision_state,
        )  # the same, or the one before the end

    def __deepcopy__(self, memo: Any) -> _SharedState:
        return self


def _game_class(game_type: Any, game_info: Any, rules: Game) -> type:
    """The subclasses of OpenSpiel's game and state that run our rules."""
    pyspiel = import_pyspiel()
    ids = pyspiel.PlayerId

    class CounterplayState(pyspiel.State):  # type: ignore[misc, name-defined]
        def __init__(self, game: Any):
            super().__init__(game)
            start = rules.initial_state()
            self._held = _SharedState(start, start)

        def current_player(self) -> int:
            player = rules.player(self._held.state)
            return {CHANCE: ids.CHANCE, TERMINAL: ids.TERMINAL}.get(player, player)

        def _legal_actions(self, player: int) -> list[int]:
            return sorted(rules.actions(self._held.state))

        def chance_outcomes(self) -> list[tuple[int, float]]:
            return sorted(rules.chance_outcomes(self._held.state))

        def _apply_action(self, action: int) -> None:
            after = rules.next_state(self._held.state, action)
            over = rules.player(after) == TERMINAL
            self._held = _SharedState(after, self._held.last_decision_state if over else after)

        def _action_to_string(self, player: int, action: int) -> str:
            return rules.action_name(self._held.state, action)

        def is_terminal(self) -> bool:
            return rules.player(self._held.state) == TERMINAL

        def returns(self) -> list[float]:
            if not self.is_terminal():
                return [0.0] * rules.num_players
            return [float(utility) for utility in rules.utilities(self._held.state)]

        def __str__(self) -> str:
            return self.history_str()

    class CounterplayObserver:
        """Everything a player knows, whatever was asked for."""

        def __init__(self) -> None:
            self.tensor: Any = None
            self.dict: dict[str, Any] = {}
            if isinstance(rules, ObservedGame):
                size = len(rules.observation(rules.initial_state(), 0))
                self.tensor = np.zeros(size, np.float32)
                self.dict = {"observation": self.tensor}

        def set_from(self, state: Any, player: int) -> None:
            if isinstance(rules, ObservedGame):
                self.tensor[:] = rules.observation(state._held.last_decision_state, player)

        def string_from(self, state: Any, player: int) -> str:
            return information_state(
                player, rules.infoset_key(state._held.last_decision_state, player)
            )

    class CounterplayGame(pyspiel.Game):  # type: ignore[misc, name-defined]
        def __init__(self, params: Any = None):
            super().__init__(game_type, game_info, params or {})

        def new_initial_state(self) -> CounterplayState:
            return CounterplayState(self)

        def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> Any:
            return CounterplayObserver()

    return CounterplayGame
