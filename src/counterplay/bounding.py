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

from counterplay.errors import ConfigError
from counterplay.game import CHANCE, TERMINAL, Game, State
from counterplay.playing import Contestant, Draws, Estimate, drawn, play_episode, play_on
from counterplay.registry import spec_of

Belief = list[tuple[State, float]]  # states that may be, each with everybody else's reach


@dataclass(frozen=True)
class LowerBound:
    """What one response of each player gains over the policy; a best one gains at least as much.

    Estimates from episodes, the same luck for the response and for the policy. As with any
    interval, one of 95% lies wholly above the true gain one time in forty.
    """

    gains: tuple[Estimate, ...]  # by player
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
    policy: Contestant
    player: int
    playouts: int = 100  # for every action
    most_states: int = 1000
    seed: int = 0
    beliefs: dict[str, Belief] = field(default_factory=dict, repr=False)
    choices: dict[str, int] = field(default_factory=dict, repr=False)

    def odds(self, state: State, player: int) -> list[float]:
        """All on the best action it sees; the infoset alone decides which that is."""
        if player != self.player:
            raise ConfigError(f"this responds as player {self.player}, not as player {player}")
        actions, key = self.game.actions(state), self.game.infoset_key(state, player)
        if key not in self.choices:
            if not self.choices and not self.beliefs:
                self.spread([(self.game.initial_state(), 1.0)])
            if key not in self.beliefs:
                return list(self.policy.odds(state, player))
            self.decide(key, actions)
        return [float(place == self.choices[key]) for place in range(len(actions))]

    def decide(self, key: str, actions: Sequence[int]) -> None:
        """Choose at an infoset, and see what may come of it."""
        belief = self.beliefs.pop(key)
        number = crc32(key.encode())
        states, weights = zip(*belief, strict=True)
        earned = [0.0] * len(actions)
        seats = [self.policy] * self.game.num_players
        for playout in range(self.playouts):
            luck = Draws(self.seed + number, playout)
            state = states[drawn(weights, luck(CHANCE))]
            for place, action in enumerate(actions):
                draw = Draws(self.seed + number + 1, playout)  # the same for every action
                _, end = play_on(self.game, self.game.next_state(state, action), seats, draw)
                earned[place] += self.game.utilities(end)[self.player]
        choice = self.choices[key] = earned.index(max(earned))
        if len(belief) > self.most_states:
            luck = Draws(self.seed + number + 2, 0)
            share = fsum(weights) / self.most_states
            picked = [drawn(weights, luck(CHANCE)) for _ in range(self.most_states)]
            belief = [(states[place], share) for place in picked]
        self.spread([(self.game.next_state(s, actions[choice]), w) for s, w in belief])

    def spread(self, waiting: Belief) -> None:
        """Follow chance and the others until the player is to act again, or all is over."""
        game = self.game
        while waiting:
            state, weight = waiting.pop()
            player = game.player(state)
            if player == self.player:
                self.beliefs.setdefault(game.infoset_key(state, player), []).append((state, weight))
            elif player == CHANCE:
                waiting += [
                    (game.next_state(state, a), weight * p) for a, p in game.chance_outcomes(state)
                ]
            elif player != TERMINAL:
                odds = zip(game.actions(state), self.policy.odds(state, player), strict=True)
                waiting += [(game.next_state(state, a), weight * p) for a, p in odds if p > 0.0]


def local_best_response(
    game: Game,
    policy: Contestant,
    *,
    episodes: int = 1000,
    playouts: int = 100,
    most_states: int = 1000,
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
    counts = {"episodes": episodes, "playouts": playouts, "most_states": most_states}
    check_bound(game, policy, confidence, counts)
    responders = [
        LocalResponder(game, policy, player, playouts, most_states, seed)
        for player in range(game.num_players)
    ]
    return bound_of(game, policy, responders, episodes, seed + 1, confidence)


def check_bound(game: Game, policy: Contestant, confidence: float, counts: dict[str, int]) -> None:
    """Refuse what no bound can be made of, before anything is played."""
    for name, value in counts.items():
        if value < 1:
            raise ConfigError(f"{name} is {value}, must be at least 1")
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
    if not hasattr(policy, "odds"):
        raise ConfigError(f"{type(policy).__name__} cannot play {spec_of(game)}: it has no odds")


def bound_of(
    game: Game,
    policy: Contestant,
    responders: Sequence[Contestant],
    episodes: int,
    seed: int,
    confidence: float,
) -> LowerBound:
    """What responders, one for each player, gain over the policy, in fresh episodes."""
    everyone = [policy] * game.num_players
    gained = []
    for player, responder in enumerate(responders):
        seats: list[Contestant] = [*everyone]
        seats[player] = responder
        gained.append(
            [
                play_episode(game, seats, seed, number).utilities[player]
                - play_episode(game, everyone, seed, number).utilities[player]
                for number in range(episodes)
            ]
        )
    total = [fsum(row) for row in zip(*gained, strict=True)]
    return LowerBound(
        tuple(_estimate(row, confidence) for row in gained), _estimate(total, confidence)
    )


def _estimate(values: list[float], confidence: float) -> Estimate:
    from scipy.special import stdtrit

    count = len(values)
    mean = fsum(values) / count
    if count < 2:
        return Estimate(mean, inf, -inf, inf, count)
    error = sqrt(fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    margin = float(stdtrit(count - 1, 0.5 + 0.5 * confidence)) * error
    return Estimate(mean, error, mean - margin, mean + margin, count)
