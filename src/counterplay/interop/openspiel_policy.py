"""Policies of ours as OpenSpiel's, and OpenSpiel's as ours."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from counterplay.errors import ConfigError
from counterplay.game import Game
from counterplay.interop.openspiel import OpenSpielGame, import_pyspiel
from counterplay.interop.openspiel_game import information_state, to_openspiel
from counterplay.policy import Policy, tree_of
from counterplay.tree import Tree
from counterplay.tree.replaying import first_nodes, history, infoset_states


def to_pyspiel_policy(policy: Policy, turn_based: bool = False) -> Any:
    """The policy as a `pyspiel.TabularPolicy`, which OpenSpiel's C++ code takes.

    It belongs to the OpenSpiel game the tree came from, or to `to_openspiel(tree)`. With
    `turn_based` it belongs to `pyspiel.convert_to_turn_based` of a simultaneous game.

    Raises:
        ConfigError: the game has no information states, or two players share one.
    """
    tree = tree_of(policy)
    rules = tree.rules
    if isinstance(rules, OpenSpielGame):
        kind = rules.rules.get_type()
        if not kind.provides_information_state_string:
            raise ConfigError(f"{tree.spec} has no information states; use to_python_policy")
    table: dict[str, list[tuple[int, float]]] = {}
    for infoset, key in enumerate(tree.infoset_keys):
        player = int(tree.infoset_player[infoset])
        name = _state_string(rules, player, key, turn_based)
        if name in table:
            raise ConfigError(f"two players of {tree.spec} share {key!r}; use to_python_policy")
        table[name] = _choices(policy, infoset)
    return import_pyspiel().TabularPolicy(table)


def _state_string(rules: Game, player: int, key: str, turn_based: bool) -> str:
    """The information-state string OpenSpiel has where we have that key."""
    if not isinstance(rules, OpenSpielGame):
        return information_state(player, key)
    return f"Current player: {player}\n{key}" if turn_based else key


def _choices(policy: Policy, infoset: int) -> list[tuple[int, float]]:
    tree = tree_of(policy)
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
    tree = tree_of(policy)
    rules = tree.rules

    class CounterplayPolicy(base):  # type: ignore[misc, valid-type]
        def __init__(self) -> None:
            super().__init__(to_openspiel(tree), list(range(tree.num_players)))

        def action_probabilities(
            self, state: Any, player_id: int | None = None
        ) -> dict[int, float]:
            player = state.current_player() if player_id is None else player_id
            if not state.legal_actions(player):
                return {0: 1.0}  # what OpenSpiel lets a player do who has no choice
            return dict(_choices(policy, tree.find(_key_at(rules, state, player), player)))

    return CounterplayPolicy()


def _key_at(rules: Game, state: Any, player: int) -> str:
    """Our key of what a player knows at a state of OpenSpiel."""
    if isinstance(rules, OpenSpielGame):
        kind = rules.rules.get_type()
        if not kind.provides_information_state_string:
            return rules.infoset_key(_replayed(rules, state), player)
        return state.information_state_string(player).removeprefix(f"Current player: {player}\n")
    return state.information_state_string(player).removeprefix(information_state(player, ""))


def _replayed(rules: OpenSpielGame, state: Any) -> Any:
    """Our state after the history of OpenSpiel's; what players without a choice did is left out."""
    ours = rules.initial_state()
    for step in state.full_history():
        if rules.player(ours) == step.player:
            ours = rules.next_state(ours, step.action)
    return ours


def from_openspiel_policy(tree: Tree, theirs: Any) -> Policy:
    """The policy that a policy of OpenSpiel, C++ or Python, stands for.

    `theirs` belongs to the OpenSpiel game the tree came from, to `to_openspiel(tree)`, or to the
    turn-based form of either; dicts from information-state string to (action, probability) pairs
    are taken too.
    """
    rules = tree.rules
    ask = _asker(tree, rules, theirs)
    values = np.zeros(tree.num_sequences)
    for infoset, node in enumerate(first_nodes(tree)):
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


def _asker(tree: Tree, rules: Game, theirs: Any) -> Any:
    """A function from infoset and node to what the policy does there."""
    pyspiel = import_pyspiel()
    if isinstance(theirs, pyspiel.TabularPolicy):
        theirs = theirs.policy_table()
    if isinstance(theirs, dict):
        return lambda infoset, node: _look_up(tree, rules, theirs, infoset)
    simultaneous = pyspiel.GameType.Dynamics.SIMULTANEOUS
    game = getattr(theirs, "game", None) or to_openspiel(tree)
    in_cpp = isinstance(theirs, pyspiel.Policy)
    if in_cpp and game.get_type().dynamics == simultaneous:  # C++ policies know only one player
        game = pyspiel.convert_to_turn_based(game)
    if game.get_type().dynamics == simultaneous:
        ours = infoset_states(tree)
        return lambda infoset, node: theirs.action_probabilities(
            ours[infoset].spiel, int(tree.infoset_player[infoset])
        )

    def ask(infoset: int, node: int) -> dict[int, float]:
        state = game.new_initial_state()
        for action in history(tree, node):
            state.apply_action(action)
        return theirs.action_probabilities(state)

    return ask


def _look_up(tree: Tree, rules: Game, table: dict[str, Any], infoset: int) -> dict[int, float]:
    player, key = int(tree.infoset_player[infoset]), tree.infoset_keys[infoset]
    for turn_based in (False, True):
        found = table.get(_state_string(rules, player, key, turn_based))
        if found:
            return dict(found)
    return {}
