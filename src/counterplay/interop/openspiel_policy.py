"""Policies of ours as OpenSpiel's, and OpenSpiel's as ours."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import first_infoset_nodes, first_infoset_states, node_history
from counterplay.core.game import Game
from counterplay.core.policy import Policy, require_tree
from counterplay.errors import ConfigError
from counterplay.interop.openspiel import OpenSpielGame, import_pyspiel
from counterplay.interop.openspiel_game import information_state, to_openspiel


def to_pyspiel_policy(policy: Policy, turn_based: bool = False) -> Any:
    """The policy as a `pyspiel.TabularPolicy`, which OpenSpiel's C++ code takes.

    It belongs to the OpenSpiel game the tree came from, or to `to_openspiel(tree)`. With
    `turn_based` it belongs to `pyspiel.convert_to_turn_based` of a simultaneous game.

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
    """The information-state string OpenSpiel has where we have that key."""
    if not isinstance(rules, OpenSpielGame):
        return information_state(player, key)
    return f"Current player: {player}\n{key}" if turn_based else key


def _action_probability_pairs(policy: Policy, infoset: int) -> list[tuple[int, float]]:
    tree = require_tree(policy)
    first, last = tree.offset[infoset : infoset + 2]
    actions = tree.sequence_action[first:last].tolist()
    return list(zip(actions, policy.probabilities[first:last].tolist(), strict=True))


def to_python_policy(policy: Policy) -> Any:
    """The policy as an `open_spiel.python.policy.Policy`, for OpenSpiel's Python code.

    It answers at states of the OpenSpiel game the tree came from, or of `to_openspiel(tree)`, and
    of either game's turn-based form.
    """
    import_pyspiel()
    base = importlib.import_module("open_spiel.python.policy").Policy
    tree = require_tree(policy)
    rules = tree.game

    class CounterplayPolicy(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(to_openspiel(tree), list(range(tree.num_players)))

        def action_probabilities(
            self, state: Any, player_id: int | None = None
        ) -> dict[int, float]:
            player = state.current_player() if player_id is None else player_id
            if not state.legal_actions(player):
                return {0: 1.0}  # what OpenSpiel lets a player do who has no choice
            return dict(
                _action_probability_pairs(
                    policy, tree.find_infoset(_infoset_key_at(rules, state, player), player)
                )
            )

    return CounterplayPolicy()


def _infoset_key_at(rules: Game, state: Any, player: int) -> str:
    """Our key of what a player knows at a state of OpenSpiel."""
    if isinstance(rules, OpenSpielGame):
        kind = rules.spiel_game.get_type()
        if not kind.provides_information_state_string:
            return rules.infoset_key(_replay_state(rules, state), player)
        return state.information_state_string(player).removeprefix(f"Current player: {player}\n")
    return state.information_state_string(player).removeprefix(information_state(player, ""))


def _replay_state(rules: OpenSpielGame, state: Any) -> Any:
    """Our state after the history of OpenSpiel's; what players without a choice did is left out."""
    ours = rules.initial_state()
    for step in state.full_history():
        if rules.player(ours) == step.player:
            ours = rules.next_state(ours, step.action)
    return ours


def from_openspiel_policy(tree: TreeArena, spiel_policy: Any) -> Policy:
    """The policy that a policy of OpenSpiel, C++ or Python, stands for.

    `theirs` belongs to the OpenSpiel game the tree came from, to `to_openspiel(tree)`, or to the
    turn-based form of either; dicts from information-state string to (action, probability) pairs
    are taken too.
    """
    rules = tree.game
    ask = _build_lookup(tree, rules, spiel_policy)
    values = np.zeros(tree.num_sequences)
    for infoset, node in enumerate(first_infoset_nodes(tree)):
        first, last = tree.offset[infoset : infoset + 2]
        odds = ask(infoset, int(node))
        key = tree.infoset_keys[infoset]
        if not odds:
            raise ConfigError(f"the policy says nothing at {key!r} of {tree.spec}")
        values[first:last] = [odds.get(int(a), 0.0) for a in tree.sequence_action[first:last]]
        total = values[first:last].sum()
        if not abs(total - 1.0) <= 1e-6:
            raise ConfigError(f"the policy's probabilities at {key!r} sum to {total:.6g}, not to 1")
        values[first:last] /= total
    return Policy(tree, values)


def _build_lookup(tree: TreeArena, rules: Game, spiel_policy: Any) -> Any:
    """A function from infoset and node to what the policy does there."""
    pyspiel = import_pyspiel()
    if isinstance(spiel_policy, pyspiel.TabularPolicy):
        spiel_policy = spiel_policy.policy_table()
    if isinstance(spiel_policy, dict):
        return lambda infoset, node: _look_up_infoset(tree, rules, spiel_policy, infoset)
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    game = getattr(spiel_policy, "game", None) or to_openspiel(tree)
    in_cpp = isinstance(spiel_policy, pyspiel.Policy)
    if in_cpp and game.get_type().dynamics == simultaneous:  # C++ policies know only one player
        game = pyspiel.convert_to_turn_based(game)
    if game.get_type().dynamics == simultaneous:
        ours = first_infoset_states(tree)
        return lambda infoset, node: spiel_policy.action_probabilities(
            ours[infoset].spiel_state, int(tree.infoset_player[infoset])
        )

    def ask(infoset: int, node: int) -> dict[int, float]:
        state = game.new_initial_state()
        for action in node_history(tree, node):
            state.apply_action(action)
        return spiel_policy.action_probabilities(state)

    return ask


def _look_up_infoset(
    tree: TreeArena, rules: Game, table: dict[str, Any], infoset: int
) -> dict[int, float]:
    player, key = int(tree.infoset_player[infoset]), tree.infoset_keys[infoset]
    for turn_based in (False, True):
        found = table.get(_information_state_string(rules, player, key, turn_based))
        if found:
            return dict(found)
    return {}
