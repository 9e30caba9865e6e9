"""Policies of networks for all hands of hold'em at once, for matches over ranges."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from counterplay.algorithms.deep.common.network_policy import NetworkPolicy, evaluate_policy
from counterplay.algorithms.deep.common.networks import num_outputs
from counterplay.core.arena import Floats, Ints
from counterplay.core.cards import ALL_HANDS, hand_index
from counterplay.core.game import CHANCE, full_game
from counterplay.core.observations import KeyObservedGame
from counterplay.games.compiled.poker import CHIPS
from counterplay.games.compiled.protocol import CompiledGame, find_observed_game
from counterplay.games.holdem_base import HoldemBase, HoldemState

HAND_CARDS = np.array(ALL_HANDS, np.int64)
NUM_HOLE_CARDS = 2
MAX_CACHED_STATES = 512  # public states whose policies are kept


@dataclass(eq=False)
class NetworkHands:
    """An agent that knows the policy of networks for every hand at a public state.

    With several networks, of which one plays an episode, it is their average: the probability of an
    action with a hand is the mean over the networks, weighted by their weights and by the
    probabilities of the player's own actions before.

    Args:
        policy: networks on compiled rules of hold'em with two hole cards, see
            `hands_from_networks`.
        machine: the compiled rules with the observations of the networks.
    """

    policy: NetworkPolicy
    machine: CompiledGame
    _cache: OrderedDict[tuple[str, int], Floats] = field(
        default_factory=OrderedDict, init=False, repr=False
    )

    def __repr__(self) -> str:
        return f"NetworkHands({self.policy!r})"

    def action_probabilities(self, state: HoldemState, player: int) -> list[float]:
        """Return the probabilities of the player's actions."""
        game: Any = self.policy.game
        _, table = self.hand_policy(state, player)
        row: list[float] = table[hand_index(*game.hole_cards(state, player))].tolist()
        return row

    def hand_policy(self, state: HoldemState, player: int) -> tuple[tuple[int, ...], Floats]:
        """Return the actions at a state and their probabilities [1326, actions] with each hand.

        Rows of hands that share a card with the board have no meaning.
        """
        game: Any = self.policy.game
        actions = tuple(game.actions(state))
        tables = self._tables(state, player)
        if len(tables) == 1:
            return actions, tables[0]
        weights = np.array(self.policy.weights, float)[:, None]
        reach = np.repeat(weights, len(HAND_CARDS), axis=1)
        for before, action in game.decisions_before(state):
            if before.to_act == player:
                reach *= self._tables(before, player)[:, :, game.actions(before).index(action)]
        reach = np.where(reach.sum(axis=0) > 0.0, reach, weights)
        return actions, np.einsum("kh,kha->ha", reach / reach.sum(axis=0), tables)

    def _tables(self, state: HoldemState, player: int) -> Floats:
        """Return the probabilities [K, 1326, actions] of each network."""
        key = state.history, player
        if key not in self._cache:
            if len(self._cache) >= MAX_CACHED_STATES:
                self._cache.popitem(last=False)
            self._cache[key] = self._compute_tables(state, player)
        return self._cache[key]

    def _compute_tables(self, state: HoldemState, player: int) -> Floats:
        game: Any = self.policy.game
        actions = list(game.actions(state))
        observation = self._observations(state, player)
        legal = np.zeros((1, num_outputs(self.policy.nets[0])), bool)
        legal[0, actions] = True
        tables = []
        for net in self.policy.nets:
            rows = evaluate_policy(self.policy.head, net, observation, legal, player)
            table = np.asarray(rows, np.float64)[:, actions]
            tables.append(table / table.sum(axis=1, keepdims=True))
        return np.array(tables)

    def _observations(self, state: HoldemState, player: int) -> Floats:
        """Return the observations [1326, X] of a player with each hand."""
        game: Any = self.policy.game
        left = [card for card in game.deck if card not in game.public_cards(state)]
        live: Any = np.isin(HAND_CARDS, left).all(axis=1)
        hands = np.where(live[:, None], HAND_CARDS, HAND_CARDS[live][0])
        rows = np.repeat(self._compiled_state(state), len(hands), axis=0)
        first = CHIPS + 3 * game.num_players + NUM_HOLE_CARDS * player
        rows[:, first : first + NUM_HOLE_CARDS] = hands
        size = len(game.observation(game.initial_state(), player))
        viewers = np.full(len(rows), player)
        observations: Floats = self.machine.compute_observations(rows, viewers, size)
        return observations

    def _compiled_state(self, state: HoldemState) -> Ints:
        """Return a state of the readable rules as a batch [1, W] of compiled ones."""
        game: Any = self.policy.game
        row = self.machine.initial_state[None].copy()
        current, cards = game.initial_state(), iter(state.cards)
        actions = iter(game.past_actions(state))
        while (current.history, len(current.cards)) != (state.history, len(state.cards)):
            is_deal = current.to_act == CHANCE
            event = next(cards) if is_deal else next(actions)
            self.machine.step(
                self.machine.params, row, np.array([current.to_act]), np.array([event])
            )
            current = game.next_state(current, event)
        return row


def hands_from_networks(policy: NetworkPolicy) -> NetworkHands | None:
    """Return the networks as an agent for all hands, or None if their game does not allow it.

    Networks that see infoset keys, such as those of buckets, and games without compiled rules are
    asked hand by hand.
    """
    rules: Any = full_game(policy.game)
    if not isinstance(rules, HoldemBase) or isinstance(policy.game, KeyObservedGame):
        return None
    if rules.num_hole_cards != NUM_HOLE_CARDS:
        return None
    machine = find_observed_game(policy.game)
    return None if machine is None else NetworkHands(policy, machine)
