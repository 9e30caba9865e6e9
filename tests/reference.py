"""Plain-Python twins of the library: textbook recursions over the rules, slow and obvious.

A policy here is a dict (player, infoset key) -> list of probabilities; nothing is shared with the
code under test but the game protocol.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np

from counterplay.core.game import CHANCE, TERMINAL


def children(game, state):
    """(action, probability or None) pairs at a node."""
    if game.player(state) == CHANCE:
        return list(game.chance_outcomes(state))
    return [(action, None) for action in game.actions(state)]


def as_dict(policy):
    """A library policy as a reference policy."""
    return {(player, key): list(row.values()) for player, key, row in policy.items()}


def values(game, policy, state=None):
    """Expected utilities of all players."""
    state = game.initial_state() if state is None else state
    player = game.player(state)
    if player == TERMINAL:
        return np.array(game.utilities(state), float)
    total = np.zeros(game.num_players)
    for k, (action, probability) in enumerate(children(game, state)):
        if probability is None:
            probability = policy[player, game.infoset_key(state, player)][k]
        total += probability * values(game, policy, game.next_state(state, action))
    return total


def pure_policies(game, player):
    """Yield the pure policies of a player as dicts from infoset key to action index."""
    actions = {}
    stack = [game.initial_state()]
    while stack:
        state = stack.pop()
        if game.player(state) == TERMINAL:
            continue
        if game.player(state) == player:
            actions[game.infoset_key(state, player)] = len(game.actions(state))
        stack += [game.next_state(state, action) for action, _ in children(game, state)]
    for choice in itertools.product(*map(range, actions.values())):
        yield dict(zip(actions, choice, strict=True))


def best_value(game, policy, player):
    """Value of a best response, by trying every pure policy."""
    best = -np.inf
    for choice in pure_policies(game, player):
        tried = dict(policy)
        for key, index in choice.items():
            row = [0.0] * len(policy[player, key])
            row[index] = 1.0
            tried[player, key] = row
        best = max(best, values(game, tried)[player])
    return best


def regret_matching(regret):
    positive = np.maximum(regret, 0.0)
    total = positive.sum()
    return positive / total if total > 0.0 else np.full(regret.size, 1.0 / regret.size)


def softmax(logits):
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


class CFR:
    """Textbook CFR by recursion over histories, for any number of players.

    discount(t) gives the factors of positive and negative regrets and of the prediction; average(t)
    is the weight of iteration t; learner turns regrets into a policy.
    """

    def __init__(self, game, alternating, discount, average, learner=regret_matching):
        self.game, self.alternating, self.learner = game, alternating, learner
        self.discount, self.average = discount, average
        self.regret = {}
        self.policy = {}
        self.policy_sum = {}
        self.iteration = 0

    def iterate(self):
        self.iteration += 1
        groups = range(self.game.num_players)
        for group in [[p] for p in groups] if self.alternating else [list(groups)]:
            instant = defaultdict(float)
            self.walk(self.game.initial_state(), np.ones(self.game.num_players + 1), instant, group)
            self.learn(instant)

    def walk(self, state, reach, instant, group):
        """Utilities of the state; on the way, collect regrets and averages of players in `group`.

        reach holds every player's probability, and chance's last.
        """
        game, player = self.game, self.game.player(state)
        if player == TERMINAL:
            return np.array(game.utilities(state), float)
        options = children(game, state)
        if player == CHANCE:
            total = np.zeros(game.num_players)
            for action, probability in options:
                after = reach.copy()
                after[-1] *= probability
                child = game.next_state(state, action)
                total += probability * self.walk(child, after, instant, group)
            return total
        key = (player, game.infoset_key(state, player))
        current = self.policy.setdefault(key, np.full(len(options), 1.0 / len(options)))
        results = []
        for k, (action, _) in enumerate(options):
            after = reach.copy()
            after[player] *= current[k]
            results.append(self.walk(game.next_state(state, action), after, instant, group))
        total = current @ np.array(results)
        if player in group:
            others = np.prod(np.delete(reach, player))
            gains = np.array([result[player] - total[player] for result in results])
            instant[key] = instant[key] + others * gains
            weight = self.average(self.iteration) * reach[player]
            self.policy_sum[key] = self.policy_sum.get(key, 0.0) + weight * current
        return total

    def learn(self, instant):
        positive, negative, prediction = self.discount(self.iteration)
        for key, gains in instant.items():
            regret = self.regret.get(key, 0.0) + gains
            regret = np.where(regret > 0.0, positive * regret, negative * regret)
            self.regret[key] = regret
            self.policy[key] = self.learner(regret + prediction * gains)

    def average_policy(self):
        """The average; where no iteration has weight, the last iterate."""
        average = {}
        for key, row in self.policy_sum.items():
            total = row.sum()
            average[key] = row / total if total > 0.0 else self.policy[key]
        return average


def fraction(number):
    """The simple fraction that a float stands for."""
    return Fraction(number).limit_denominator(10**6)


class XFP:
    """Textbook fictitious play: the behavioural update with lambda, over the rules, in fractions.

    Nothing is rounded, so ties are true ties; `last` gives them to the last of the best actions.
    """

    def __init__(self, game, last=False):
        self.game, self.iteration, self.pick = game, 0, -1 if last else 0
        self.keys = [{} for _ in range(game.num_players)]  # key -> histories as (state, past)
        self.collect(game.initial_state(), ((),) * game.num_players)
        self.average = {
            (p, key): [Fraction(1, len(game.actions(found[0][0])))] * len(game.actions(found[0][0]))
            for p, keys in enumerate(self.keys)
            for key, found in keys.items()
        }

    def collect(self, state, pasts):
        game, player = self.game, self.game.player(state)
        if player == TERMINAL:
            return
        if player != CHANCE:
            key = game.infoset_key(state, player)
            self.keys[player].setdefault(key, []).append((state, pasts[player]))
        for k, (action, _) in enumerate(children(game, state)):
            after = pasts
            if player != CHANCE:
                after = (*pasts[:player], (*pasts[player], (key, k)), *pasts[player + 1 :])
            self.collect(game.next_state(state, action), after)

    def reach(self, policy, player, past):
        """The player's own probability of its past, a list of (key, action index)."""
        return math.prod((policy[player, key][k] for key, k in past), start=Fraction(1))

    def best_response(self, player):
        """Pure choices by backward induction over the player's infosets, deepest first."""
        choice, game = {}, self.game

        def value(state):
            who = game.player(state)
            if who == TERMINAL:
                return fraction(game.utilities(state)[player])
            options = children(game, state)
            if who == player:
                action = options[choice[game.infoset_key(state, player)]][0]
                return value(game.next_state(state, action))
            if who == CHANCE:
                odds = [fraction(p) for _, p in options]
            else:
                odds = self.average[who, game.infoset_key(state, who)]
            later = [value(game.next_state(state, action)) for action, _ in options]
            return sum(p * x for p, x in zip(odds, later, strict=True))

        def others(target, state, weight, found):
            """Histories of the infoset with the reach of the others and chance."""
            who = game.player(state)
            if who == TERMINAL:
                return
            if who == player and game.infoset_key(state, player) == target:
                found.append((state, weight))
                return
            for k, (action, p) in enumerate(children(game, state)):
                if who == player:
                    odds = Fraction(1)
                elif who == CHANCE:
                    odds = fraction(p)
                else:
                    odds = self.average[who, game.infoset_key(state, who)][k]
                others(target, game.next_state(state, action), weight * odds, found)

        for key in sorted(self.keys[player], key=lambda k: -len(self.keys[player][k][0][1])):
            found: list = []
            others(key, game.initial_state(), Fraction(1), found)
            actions = game.actions(found[0][0])
            totals = [sum(w * value(game.next_state(s, a)) for s, w in found) for a in actions]
            best = [k for k, total in enumerate(totals) if total == max(totals)]
            choice[key] = best[self.pick]
        return choice

    def iterate(self):
        self.iteration += 1
        step = Fraction(1, self.iteration + 1)
        responses = [self.best_response(p) for p in range(self.game.num_players)]
        new = {}
        for (p, key), row in self.average.items():
            pure = {
                (p, name): [Fraction(k == choice) for k in range(len(self.average[p, name]))]
                for name, choice in responses[p].items()
            }
            past = self.keys[p][key][0][1]
            ours = step * self.reach(pure, p, past)
            move = ours / ((1 - step) * self.reach(self.average, p, past) + ours)
            new[p, key] = [x + move * (b - x) for x, b in zip(row, pure[p, key], strict=True)]
        self.average = new
