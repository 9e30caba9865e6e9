"""Lower bounds of exploitability on rules alone, from local best responses.

They serve games whose exploitability is too expensive to compute. Best responses of networks are
in `algorithms.deep.common.learned_best_response`.

A `LowerBound` is not the exploitability: a better response may exist. If an arena is exact, use
`judge` instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum, inf, isfinite, sqrt
from random import Random
from typing import Any
from zlib import crc32

from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.errors import ConfigError
from counterplay.play.episodes import (
    Agent,
    RandomStreams,
    agent_for_episode,
    answers_batches,
    ask_agent,
    play_episode,
    play_from,
    play_together,
    sample_index,
)
from counterplay.play.match import Estimate
from counterplay.registry import get_spec

Belief = list[tuple[State, float]]  # possible states, each with the reach of all other players


@dataclass(frozen=True)
class LowerBound:
    """The gain of one response of each player over the policy; a best response gains no less.

    The estimates come from episodes with the same random numbers for the response and the policy.
    As with any interval of 95 %, one in forty lies wholly above the true gain.
    """

    player_gains: tuple[Estimate, ...]  # by player
    nash_conv: Estimate  # their sum: NashConv is at least this, up to the interval


@dataclass
class LocalResponder:
    """An agent that looks one action ahead and knows the others' policy (Lisy, Bowling, 2017).

    It keeps a belief: all states of its infoset, weighted by the reach of the other players (only
    `max_states` of them, sampled by weight, if there are more). For every action it plays on from
    there, itself following the policy, and takes the action with the largest total utility. The
    action at an infoset depends on the seed and on nothing else. At infosets outside its beliefs,
    it follows the policy.

    In games with a method `redeal`, such as hold'em, the states of an infoset are too many to
    follow: its belief is `max_states` deals of the hidden cards.
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
        """Return probability 1 for the best action, which the infoset alone determines."""
        if player != self.player:
            raise ConfigError(f"this responds as player {self.player}, not as player {player}")
        actions, key = self.game.actions(state), self.game.infoset_key(state, player)
        if key not in self.chosen_actions:
            if hasattr(self.game, "redeal"):
                self.beliefs[key] = self.sample_belief(state, key)
            elif not self.chosen_actions and not self.beliefs:
                self.propagate_beliefs([(self.game.initial_state(), 1.0)])
            if key not in self.beliefs:
                return list(self.policy.action_probabilities(state, player))
            self.choose_action(key, actions)
        return [float(index == self.chosen_actions[key]) for index in range(len(actions))]

    def choose_action(self, key: str, actions: Sequence[int]) -> None:
        """Choose the action at an infoset, and derive the beliefs that follow it."""
        belief = self.beliefs.pop(key)
        key_seed = self.seed + crc32(key.encode())
        states, weights = zip(*belief, strict=True)
        starts = [
            states[sample_index(weights, RandomStreams(key_seed, playout)(CHANCE))]
            for playout in range(self.num_playouts)
        ]
        totals = self.play_actions(starts, actions, key_seed + 1)
        choice = self.chosen_actions[key] = totals.index(max(totals))
        if hasattr(self.game, "redeal"):
            return
        if len(belief) > self.max_states:
            draw = RandomStreams(key_seed + 2, 0)
            weight = fsum(weights) / self.max_states
            sampled = [sample_index(weights, draw(CHANCE)) for _ in range(self.max_states)]
            belief = [(states[index], weight) for index in sampled]
        self.propagate_beliefs([(self.game.next_state(s, actions[choice]), w) for s, w in belief])

    def sample_belief(self, state: State, key: str) -> Belief:
        """Draw states of the infoset, each with the reach of the other players."""
        game: Any = self.game
        actions = game.betting_actions(state)
        rng, belief = Random(self.seed + crc32(key.encode()) + 3), []
        for _ in range(self.max_states):
            decisions, redealt = game.redeal(state, self.player, actions, rng)
            reach = 1.0
            for before, action in zip(decisions, actions, strict=True):
                if (actor := game.player(before)) != self.player and reach > 0.0:
                    row = self.policy.action_probabilities(before, actor)
                    reach *= row[list(game.actions(before)).index(action)]
            belief.append((redealt, reach))
        possible = [pair for pair in belief if pair[1] > 0.0]
        return possible or [(redealt, 1.0) for redealt, _ in belief]

    def play_actions(
        self, starts: Sequence[State], actions: Sequence[int], seed: int
    ) -> list[float]:
        """Return the total utility of each action over playouts from these states.

        The random numbers of a playout are the same for every action. Networks play all playouts
        together.
        """
        game, totals = self.game, [0.0] * len(actions)
        agents = [self.policy] * game.num_players
        pairs = [(n, action) for n in range(len(starts)) for action in actions]
        draws = [RandomStreams(seed, n) for n, _ in pairs]
        after = [game.next_state(starts[n], action) for n, action in pairs]
        if answers_batches(self.policy):
            ends = play_together(game, after, [agents] * len(pairs), draws)
        else:
            ends = [
                play_from(game, state, agents, draw)[1]
                for state, draw in zip(after, draws, strict=True)
            ]
        for position, end in enumerate(ends):
            totals[position % len(actions)] += game.utilities(end)[self.player]
        return totals

    def ask_others(self, belief: Belief) -> dict[str, Sequence[float]]:
        """Return the others' answers that `propagate_beliefs` needs, by infoset key, in batches."""
        game, answers = self.game, dict[str, Sequence[float]]()
        states = [state for state, _ in belief]
        while states and answers_batches(self.policy):
            new: dict[str, tuple[State, int]] = {}
            waiting: list[tuple[str, State]] = []
            while states:
                state = states.pop()
                player = game.player(state)
                if player == CHANCE:
                    states += [game.next_state(state, a) for a, _ in game.chance_outcomes(state)]
                elif player not in (TERMINAL, self.player):
                    key = f"{player} {game.infoset_key(state, player)}"
                    waiting.append((key, state))
                    if key not in answers:
                        new[key] = state, player
            if new:
                asked, players = zip(*new.values(), strict=True)
                answers |= zip(new, ask_agent(self.policy, asked, players), strict=True)
            for key, state in waiting:
                choices = zip(game.actions(state), answers[key], strict=True)
                states += [game.next_state(state, a) for a, p in choices if p > 0.0]
        return answers

    def propagate_beliefs(self, belief: Belief) -> None:
        """Follow chance and the other players until the player acts again, or to the end."""
        game, answers = self.game, self.ask_others(belief)
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
                key = f"{player} {game.infoset_key(state, player)}" if answers else ""
                probabilities = answers.get(key) or self.policy.action_probabilities(state, player)
                pairs = zip(game.actions(state), probabilities, strict=True)
                belief += [(game.next_state(state, a), weight * p) for a, p in pairs if p > 0.0]


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
    """Return a lower bound of a policy's NashConv from local best responses, on rules alone.

    Args:
        game: the rules.
        policy: an agent that returns `action_probabilities(state, player)` for every player.
        num_episodes: episodes per player, each played by its response and by the policy.
        num_playouts: playouts of every action that a response considers.
        max_states: states in a belief of a response; more are reduced by sampling.
        seed: seed of all random numbers; the same seed gives the same result.
        confidence: probability with which the intervals cover the true gain of these responses.

    Raises:
        ConfigError: an argument is out of range, or `policy` is not an agent.

    Example:
        >>> import counterplay as cp
        >>> policy = cp.uniform_policy("kuhn_poker")
        >>> bound = cp.local_best_response(policy.arena.game, policy, num_episodes=200)
        >>> bound.nash_conv.low < cp.nash_conv(policy)
        True
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
    """Raise ConfigError if a count or the confidence is out of range, or the policy cannot play.

    Args:
        game: the rules.
        policy: the policy to bound.
        confidence: must be between 0 and 1.
        counts: values by parameter name, which must be at least 1.
    """
    for name, value in counts.items():
        if value < 1:
            raise ConfigError(f"{name} is {value}, must be at least 1")
    if not 0.0 < confidence < 1.0:
        raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
    if not hasattr(policy, "action_probabilities"):
        problem = "it has no action_probabilities(state, player)"
        raise ConfigError(f"{type(policy).__name__} cannot play {get_spec(game)}: {problem}")


def estimate_lower_bound(
    game: Game,
    policy: Agent,
    responders: Sequence[Agent],
    num_episodes: int,
    seed: int,
    confidence: float,
) -> LowerBound:
    """Estimate the gains of responders, one per player, over the policy, in new episodes."""
    agents = [policy] * game.num_players
    gains = []
    for player, responder in enumerate(responders):
        seats: list[Agent] = [*agents]
        seats[player] = responder
        with_response = _play_utilities(game, seats, num_episodes, seed, player)
        without = _play_utilities(game, agents, num_episodes, seed, player)
        gains.append([x - y for x, y in zip(with_response, without, strict=True)])
    total = [fsum(row) for row in zip(*gains, strict=True)]
    return LowerBound(
        tuple(_estimate_mean(row, confidence) for row in gains), _estimate_mean(total, confidence)
    )


def _play_utilities(
    game: Game, seats: Sequence[Agent], num_episodes: int, seed: int, player: int
) -> list[float]:
    """Return a player's utility in each of these episodes; networks play them together."""
    numbers = range(num_episodes)
    if any(map(answers_batches, seats)):
        draws = [RandomStreams(seed, number) for number in numbers]
        seated = [
            [agent_for_episode(agent, draw(seat)) for seat, agent in enumerate(seats)]
            for draw in draws
        ]
        ends = play_together(game, [game.initial_state()] * num_episodes, seated, draws)
        utilities = [game.utilities(end)[player] for end in ends]
        if all(map(isfinite, utilities)):  # else playing alone names the history
            return utilities
    return [play_episode(game, seats, seed, number).utilities[player] for number in numbers]


def _estimate_mean(values: list[float], confidence: float) -> Estimate:
    """Return the mean of independent values, with Student's interval."""
    from scipy.special import stdtrit

    count = len(values)
    mean = fsum(values) / count
    if count < 2:
        return Estimate(mean, inf, -inf, inf, count)
    error = sqrt(fsum((value - mean) ** 2 for value in values) / (count - 1) / count)
    margin = float(stdtrit(count - 1, 0.5 + 0.5 * confidence)) * error
    return Estimate(mean, error, mean - margin, mean + margin, count)
