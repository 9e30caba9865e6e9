"""Conversion of policies to and from OpenSpiel."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import first_infoset_nodes, first_infoset_states, node_history
from counterplay.core.game import Game, State
from counterplay.core.policy import Policy, require_tree
from counterplay.errors import ConfigError
from counterplay.interop.openspiel import OpenSpielGame, import_pyspiel
from counterplay.interop.openspiel_game import information_state, to_openspiel
from counterplay.interop.pyspiel_types import SpielState


def to_pyspiel_policy(policy: Policy, turn_based: bool = False) -> Any:
    """Return the policy as a `pyspiel.TabularPolicy`, for OpenSpiel's C++ code.

    It is a policy of the OpenSpiel game that the tree came from, or of `to_openspiel(tree)`.

    Args:
        policy: a policy of a tree.
        turn_based: return the policy of `pyspiel.convert_to_turn_based` of a simultaneous game.

    Raises:
        ConfigError: the game has no information states, or two players share one.
    """
    tree = require_tree(policy)
    rules = tree.game
    if isinstance(rules, OpenSpielGame):
        kind = rules.spiel_game.get_type()
        if not kind.provides_information_state_string:
            raise ConfigError(f"{tree.spec} has no information states; use to_python_policy")
    table: dict[str, list[tuple[int, float]]] = {}
    for infoset, key in enumerate(tree.infoset_keys):
        player = int(tree.infoset_player[infoset])
        name = _information_state_string(rules, player, key, turn_based)
        if name in table:
            raise ConfigError(f"two players of {tree.spec} share {key!r}; use to_python_policy")
        table[name] = _action_probability_pairs(policy, infoset)
    return import_pyspiel().TabularPolicy(table)


def _information_state_string(rules: Game, player: int, key: str, turn_based: bool) -> str:
    """Return the information-state string of OpenSpiel for an infoset key."""
    if not isinstance(rules, OpenSpielGame):
        return information_state(player, key)
    return f"Current player: {player}\n{key}" if turn_based else key


def _action_probability_pairs(policy: Policy, infoset: int) -> list[tuple[int, float]]:
    tree = require_tree(policy)
    first, last = tree.offset[infoset : infoset + 2]
    actions = tree.sequence_action[first:last].tolist()
    return list(zip(actions, policy.probabilities[first:last].tolist(), strict=True))


def to_python_policy(policy: Policy) -> Any:
    """Return the policy as an `open_spiel.python.policy.Policy`, for OpenSpiel's Python code.

    It accepts states of the OpenSpiel game that the tree came from, or of `to_openspiel(tree)`, and
    of the turn-based form of both.
    """
    import_pyspiel()
    base = importlib.import_module("open_spiel.python.policy").Policy
    tree = require_tree(policy)
    rules = tree.game

    class CounterplayPolicy(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(to_openspiel(tree), list(range(tree.num_players)))

        def action_probabilities(
            self, state: SpielState, player_id: int | None = None
        ) -> dict[int, float]:
            player = state.current_player() if player_id is None else player_id
            if not state.legal_actions(player):
                return {0: 1.0}  # OpenSpiel's action for a player without a legal action
            infoset = tree.find_infoset(_infoset_key_at(rules, state, player), player)
            return dict(_action_probability_pairs(policy, infoset))

    return CounterplayPolicy()


def _infoset_key_at(rules: Game, state: SpielState, player: int) -> str:
    """Return the infoset key of a player at a state of OpenSpiel."""
    if isinstance(rules, OpenSpielGame):
        kind = rules.spiel_game.get_type()
        if not kind.provides_information_state_string:
            return rules.infoset_key(_replay_state(rules, state), player)
        return state.information_state_string(player).removeprefix(f"Current player: {player}\n")
    return state.information_state_string(player).removeprefix(information_state(player, ""))


def _replay_state(rules: Game, spiel_state: SpielState) -> State:
    """Return the state of the rules after a history of OpenSpiel.

    OpenSpiel's history includes actions of players without a legal action; the rules skip them.
    """
    state = rules.initial_state()
    for step in spiel_state.full_history():
        if rules.player(state) == step.player:
            state = rules.next_state(state, step.action)
    return state


def from_openspiel_policy(tree: TreeArena, spiel_policy: Any) -> Policy:
    """Convert a policy of OpenSpiel, in C++ or Python, into a policy of a tree.

    Args:
        tree: the tree of a game from OpenSpiel, or one that was given to `to_openspiel`.
        spiel_policy: a policy of the same game in OpenSpiel or of its turn-based form, or a dict
            from information-state strings to (action, probability) pairs.

    Raises:
        ConfigError: the policy lacks an infoset, or its probabilities do not sum to 1.
    """
    rules = tree.game
    look_up = _build_lookup(tree, rules, spiel_policy)
    values = np.zeros(tree.num_sequences)
    for infoset, node in enumerate(first_infoset_nodes(tree)):
        first, last = tree.offset[infoset : infoset + 2]
        probabilities = look_up(infoset, int(node))
        key = tree.infoset_keys[infoset]
        if not probabilities:
            raise ConfigError(f"the policy has no entry for {key!r} of {tree.spec}")
        actions = tree.sequence_action[first:last].tolist()
        values[first:last] = [probabilities.get(action, 0.0) for action in actions]
        total = values[first:last].sum()
        if not abs(total - 1.0) <= 1e-6:
            raise ConfigError(f"the policy's probabilities at {key!r} sum to {total:.6g}, not to 1")
        values[first:last] /= total
    return Policy(tree, values)


def _build_lookup(
    tree: TreeArena, rules: Game, spiel_policy: Any
) -> Callable[[int, int], dict[int, float]]:
    """Return a function from infoset and node to the policy's action probabilities there."""
    pyspiel = import_pyspiel()
    if isinstance(spiel_policy, pyspiel.TabularPolicy):
        spiel_policy = spiel_policy.policy_table()
    if isinstance(spiel_policy, dict):
        return lambda infoset, node: _look_up_infoset(tree, rules, spiel_policy, infoset)
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    game = getattr(spiel_policy, "game", None) or to_openspiel(tree)
    in_cpp = isinstance(spiel_policy, pyspiel.Policy)
    if in_cpp and game.get_type().dynamics == simultaneous:  # C++ policies need one acting player
        game = pyspiel.convert_to_turn_based(game)
    if game.get_type().dynamics == simultaneous:
        states = first_infoset_states(tree)
        return lambda infoset, node: dict(
            spiel_policy.action_probabilities(
                states[infoset].spiel_state, int(tree.infoset_player[infoset])
            )
        )

    def look_up(infoset: int, node: int) -> dict[int, float]:
        state = game.new_initial_state()
        for action in node_history(tree, node):
            state.apply_action(action)
        return dict(spiel_policy.action_probabilities(state))

    return look_up


def _look_up_infoset(
    tree: TreeArena,
    rules: Game,
    table: Mapping[str, Sequence[tuple[int, float]]],
    infoset: int,
) -> dict[int, float]:
    player, key = int(tree.infoset_player[infoset]), tree.infoset_keys[infoset]
    for turn_based in (False, True):
        pairs = table.get(_information_state_string(rules, player, key, turn_based))
        if pairs:
            return dict(pairs)
    return {}
