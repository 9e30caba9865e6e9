"""How exploitable a policy is at least, where nobody can compute it: local best responses.

Those that networks learn are in `deep.learned_bound`.

A `LowerBound` is never exploitability: a better response may exist. Where an arena is exact, judge
there instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum, inf, sqrt
from zlib import crc32

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.errors import ConfigError
from counterplay.play.match import (
    Agent,
    Estimate,
    RandomStreams,
    play_episode,
    play_from,
    sample_index,
)
from counterplay.registry import get_spec

Belief = list[tuple[State, float]]  # states that may be, each with everybody else's reach


@dataclass(frozen=True)
class LowerBound:
    """What one response of each player gains over the policy; a best one gains at least as much.

    Estimates from episodes, the same luck for the response and for the policy. As with any
    interval, one of 95% lies wholly above the true gain one time in forty.
    """

    player_gains: tuple[Estimate, ...]  # by player
    nash_conv: Estimate  # their sum: NashConv is at least this, up to the interval


@dataclass
class LocalResponder:
    """A contestant that looks one action ahead, knowing what the others do (Lisy, Bowling, 2017).

    It keeps what it may be facing: all states that fit its infoset, weighted by the others' reach
    (only `most_states` of them, drawn by weight, if there are more). For every action it plays on
    from there, itself following the policy, and takes the action that has earned most. Its choice
    at an infoset depends on the seed and on nothing else. Where all it kept in mind is refuted, it
    follows the policy.
    """

    game: Game
    policy: Agent
    player: int
    num_playouts: int = 100  # for every action
    max_states: int = 1000
    seed: int = 0
    beliefs: dict[str, Belief] = field(default_factory=dict, repr=False)
    chosen_actions: dict[str, int] = field(default_factory=dict, repr=False)

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """All on the best action it sees; the infoset alone decides which that is."""
        if player != self.player:
            raise ConfigError(f"this responds as player {self.player}, not as player {player}")
        actions, key = self.game.actions(state), self.game.infoset_key(state, player)
        if key not in self.chosen_actions:
            if not self.chosen_actions and not self.beliefs:
                self.propagate_beliefs([(self.game.initial_state(), 1.0)])
            if key not in self.beliefs:
                return list(self.policy.action_probabilities(state, player))
            self.choose_action(key, actions)
        return [float(place == self.chosen_actions[key]) for place in range(len(actions))]

    def choose_action(self, key: str, actions: Sequence[int]) -> None:
        """Choose at an infoset, and see what may come of it."""
        belief = self.beliefs.pop(key)
        number = crc32(key.encode())
        states, weights = zip(*belief, strict=True)
        earned = [0.0] * len(actions)
        seats = [self.policy] * self.game.num_players
        for playout in range(self.num_playouts):
            luck = RandomStreams(self.seed + number, playout)
            state = states[sample_index(weights, luck(CHANCE))]
            for place, action in enumerate(actions):
                draw = RandomStreams(self.seed + number + 1, playout)  # the same for every action
                _, end = play_from(self.game, self.game.next_state(state, action), seats, draw)
                earned[place] += self.game.utilities(end)[self.player]
        choice = self.chosen_actions[key] = earned.index(max(earned))
        if len(belief) > self.max_states:
            luck = RandomStreams(self.seed + number + 2, 0)
            share = fsum(weights) / self.max_states
            picked = [sample_index(weights, luck(CHANCE)) for _ in range(self.max_states)]
            belief = [(states[place], share) for place in picked]
        self.propagate_beliefs([(self.game.next_state(s, actions[choice]), w) for s, w in belief])

    def propagate_beliefs(self, belief: Belief) -> None:
        """Follow chance and the others until the player is to act again, or all is over."""
        game = self.game
        while belief:
            state, weight = belief.pop()
            player = game.player(state)
            if player == self.player:
                self.beliefs.setdefault(game.infoset_key(state, player), []).append((state, weight))
            elif player == CHANCE:
                belief += [
                    (game.next_state(state, a), weight * p) for a, p in game.chance_outcomes(state)
                ]
            elif player != TERMINAL:
                odds = zip(
                    game.actions(state),
                    self.policy.action_probabilities(state, player),
                    strict=True,
                )
                belief += [(game.next_state(state, a), weight * p) for a, p in odds if p > 0.0]


def local_best_response(
    game: Game,
    policy: Agent,
    *,
    num_episodes: int = 1000,
    num_playouts: int = 100,
    max_states: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> LowerBound:
    """A lower bound of a policy's NashConv from local best responses, on the rules alone.

    Args:
        policy: whoever can say `odds(state, player)` for every player.
        episodes: for each player, each played once by its response and once by the policy.
        playouts: of every action that a response considers.
        most_states: that a response keeps in mind; more are thinned out by chance.
        seed: the same seed gives the same result.
        confidence: how often the intervals are to cover the true gain of these responses.
    """
    counts = {"num_episodes": num_episodes, "num_playouts": num_playouts, "max_states": max_states}
    check_bound_arguments(game, policy, confidence, counts)
    responders = [
        LocalResponder(game, policy, player, num_playouts, max_states, seed)
        for player in range(game.num_players)
    ]
    return estimate_lower_bound(game, policy, responders, num_episodes, seed + 1, confidence)


def check_bound_arguments(
    game: Game, policy: Agent, confidence: float, counts: dict[str, int]
) -> None:
    """Refuse what no bound can be made of, before anything is played."""
    for name, value in counts.items():
        if value < 1:
            raise ConfigError(f"{name} is {value}, must be at least 1")
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
    if not hasattr(policy, "action_probabilities"):
        raise ConfigError(f"{type(policy).__name__} cannot play {get_spec(game)}: it has no odds")


def estimate_lower_bound(
    game: Game,
    policy: Agent,
    responders: Sequence[Agent],
    num_episodes: int,
    seed: int,
    confidence: float,
) -> LowerBound:
    """What responders, one for each player, gain over the policy, in fresh episodes."""
    everyone = [policy] * game.num_players
    gained = []
    for player, responder in enumerate(responders):
        seats: list[Agent] = [*everyone]
        seats[player] = responder
        gained.append(
            [
                play_episode(game, seats, seed, number).utilities[player]
                - play_episode(game, everyone, seed, number).utilities[player]
                for number in range(num_episodes)
            ]
        )
    total = [fsum(row) for row in zip(*gained, strict=True)]
    return LowerBound(
        tuple(_estimate_mean(row, confidence) for row in gained), _estimate_mean(total, confidence)
    )


def _estimate_mean(values: list[float], confidence: float) -> Estimate:
    from scipy.special import stdtrit

    count = len(values)
    mean = fsum(values) / count
    if count < 2:
        return Estimate(mean, inf, -inf, inf, count)
    error = sqrt(fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    margin = float(stdtrit(count - 1, 0.5 + 0.5 * confidence)) * error
    return Estimate(mean, error, mean - margin, mean + margin, count)
