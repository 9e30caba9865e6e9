"""Playing: episodes, and head-to-head matches of whatever can say what it would do at a state.

A contestant answers `odds(state, player)`: policies of a tree, policies that sampling found,
searchers (`SearchPolicy`), a person at the prompt, a network. On a tree a match is computed
exactly; on rules its result is an `Estimate`, from episodes that make the most of their luck:

- a round is one episode for every seating, so that nobody gains by a better seat;
- all episodes of a round share their draws: the k-th draw of chance, and the k-th of each seat, is
  the same whoever sits there (duplicate poker). Contestants that play alike get alike, to the bit;
- the standard error is that of the means of rounds, which are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial, inf, sqrt
from typing import Any, NamedTuple, Protocol

import numpy as np

from counterplay.arenas.rules import TabularPolicy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core import random
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import check_same_game, expected_values
from counterplay.core.game import CHANCE, TERMINAL, Game, State
from counterplay.core.game_checks import (
    actions_problem,
    call_rule,
    exception_problem,
    node_problem,
    outcomes_problem,
    player_problem,
    raise_rule_error,
    rule_error,
    utilities_problem,
)
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError, CounterplayError
from counterplay.registry import get_spec

MAX_HISTORY_LENGTH = 10_000  # a longer one counts as a game that never ends
DEFAULT_EPISODES = 1000  # where neither a number nor a width is given
MIN_ROUNDS = 30  # before an interval counts as narrow: a variance must be known to be trusted
MAX_SEATINGS = 720

UtilityCorrection = Callable[
    ["Episode"], Sequence[float]
]  # utilities with less luck, of the same mean
DrawFunction = Callable[[int], float]  # the player, or CHANCE, that draws -> a number in [0, 1)


class Agent(Protocol):
    """Whoever can have a seat.

    One with randomness of its own, besides that of its odds, also has `fresh(seed)`: the contestant
    for one episode, or itself if it would play every episode the same.
    """

    def action_probabilities(self, state: State, player: int) -> Sequence[float]:
        """The probabilities of `game.actions(state)`, in that order, if the player is to act."""
        ...


class EpisodeStep(NamedTuple):
    """One action of an episode."""

    state: State
    player: int  # or CHANCE
    actions: Sequence[int]
    probabilities: Sequence[float]  # of the actions
    action: int  # the one taken


class Episode(NamedTuple):
    """What happened, from the start to the end."""

    steps: list[EpisodeStep]
    utilities: Sequence[float]
    terminal_state: State  # the terminal one
    is_deterministic: bool  # whether nothing was left to chance: every episode would be the same


class RandomStreams:
    """Draws in [0, 1) by seed, episode and player: nobody's depend on how often others drew."""

    def __init__(self, seed: int, episode: int):
        self.seed, self.episode = seed, episode
        self.streams: dict[int, list[int]] = {}

    def __call__(self, player: int) -> float:
        stream = self.streams.get(player)
        if stream is None:
            stream = self.streams[player] = [0]
            random.seed_stream(self.seed, self.episode, player, stream)
        return random.draw_uniform(stream)


def play_episode(game: Game, agents: Sequence[Agent], seed: int = 0, episode: int = 0) -> Episode:
    """Play to the end, one contestant in each seat; the same for the same seed and number."""
    if len(agents) != game.num_players:
        given = f"{len(agents)} contestants for {game.num_players} seats"
        raise ConfigError(f"{given} of {get_spec(game)}; give one for each")
    draw = RandomStreams(seed, episode)
    seats = [agent_for_episode(contestant, draw(seat)) for seat, contestant in enumerate(agents)]
    start = call_rule(game, lambda: (), game.initial_state)
    steps, state = play_from(game, start, seats, draw)
    utilities = call_rule(game, lambda: _history(steps), game.utilities, state)
    problem = call_rule(
        game, lambda: _history(steps), utilities_problem, utilities, game.num_players
    )
    if problem:
        raise rule_error(game, _history(steps), problem)
    certain = all(sum(p > 0.0 for p in step.probabilities) == 1 for step in steps)
    repeats = certain and all(now is was for now, was in zip(seats, agents, strict=True))
    return Episode(steps, utilities, state, repeats)


def agent_for_episode(agent: Agent, number: float) -> Agent:
    """The contestant for one episode, whose own randomness comes from a number in [0, 1)."""
    if not hasattr(agent, "action_probabilities"):
        name, advice = type(agent).__name__, "a searcher plays as SearchPolicy(game, searcher)"
        raise ConfigError(f"{name} cannot play: it has no odds(state, player); {advice}")
    fresh: Callable[[int], Agent] | None = getattr(agent, "for_episode", None)
    return fresh(int(number * 2**53)) if fresh else agent


def play_from(
    game: Game, state: State, agents: Sequence[Agent | None], draw: DrawFunction
) -> tuple[list[EpisodeStep], State]:
    """Let chance and contestants act until the end, or until it is the turn of an open seat."""
    steps: list[EpisodeStep] = []
    while True:
        try:
            player = game.player(state)
            if player == TERMINAL:
                break
            actions, odds = _offer(game, state, player, agents)
            if odds is None:
                break
        except Exception as error:
            raise _diagnose(game, state, steps, error) from error
        if len(odds) != len(actions) or not abs(sum(odds) - 1.0) <= 1e-6 or min(odds) < 0.0:
            name = type(agents[player]).__name__
            problem = f"{name} answers {list(odds)}, not probabilities of {list(actions)}"
            raise ConfigError(str(rule_error(game, _history(steps), problem)))
        action = actions[sample_index(odds, draw(player))]
        steps.append(EpisodeStep(state, player, actions, odds, action))
        try:
            state = game.next_state(state, action)
        except Exception as error:
            raise_rule_error(game, _history(steps[:-1]), error)
        if len(steps) > MAX_HISTORY_LENGTH:
            problem = f"still not over after {MAX_HISTORY_LENGTH:,} actions"
            raise rule_error(game, _history(steps), problem)
    return steps, state


def _offer(
    game: Game, state: State, player: int, seats: Sequence[Agent | None]
) -> tuple[Sequence[int], Sequence[float] | None]:
    """Return the actions at a state and their odds; no odds at an open seat."""
    if player == CHANCE:
        outcomes = game.chance_outcomes(state)
        if problem := outcomes_problem(outcomes):
            raise _RuleFaultError(problem)
        return [action for action, _ in outcomes], [p for _, p in outcomes]
    if problem := player_problem(player, game.num_players):
        raise _RuleFaultError(problem)
    contestant = seats[player]
    if contestant is None:
        return (), None
    actions = game.actions(state)
    if problem := actions_problem(actions, player):
        raise _RuleFaultError(problem)
    return actions, contestant.action_probabilities(state, player)


class _RuleFaultError(Exception):
    """A fault in the rules, whose history the caller knows."""


def _diagnose(game: Game, state: State, steps: list[EpisodeStep], error: Exception) -> Exception:
    """Return the error to raise where rules or a contestant failed: faults of rules name them."""
    if isinstance(error, _RuleFaultError):
        return rule_error(game, _history(steps), str(error))
    if isinstance(error, CounterplayError):
        return error
    try:
        problem = node_problem(game, state)
    except Exception as fault:
        problem = exception_problem(fault)
    return rule_error(game, _history(steps), problem) if problem else error


def _history(steps: Sequence[EpisodeStep]) -> list[int]:
    return [step.action for step in steps]


def sample_index(probabilities: Sequence[float], number: float) -> int:
    """The place that a number in [0, 1) falls on; never one of probability 0."""
    left, place = number * sum(probabilities), -1
    for k, probability in enumerate(probabilities):
        if probability > 0.0:
            place = k
            left -= probability
            if left < 0.0:
                break
    return place


@dataclass(frozen=True)
class ExactMean:
    """A mean utility computed on the tree."""

    mean: float


@dataclass(frozen=True)
class Estimate:
    """A mean utility from episodes, and the interval that covers the true one so often as wanted.

    The standard error is that of the rounds' means. The interval (Student's) also allows for what
    is too rare to have been met: contestants that seem to play alike may still differ in one round
    of as many again, by as much as utilities usually do. Where play repeats itself, one round is
    enough and the interval is a point.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    num_episodes: int


@dataclass(frozen=True)
class MatchResult:
    """What every contestant earns in a match, in the game's units."""

    scores: tuple[ExactMean | Estimate, ...]  # by contestant: every seat counts the same
    seat_scores: tuple[tuple[ExactMean | Estimate, ...], ...]  # by contestant and seat
    num_episodes: int  # played; 0 if the values are exact

    @property
    def is_exact(self) -> bool:
        return self.num_episodes == 0


def head_to_head(
    arena: TreeArena | Game,
    *agents: Agent,
    max_episodes: int | None = None,
    target_width: float | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    correction: UtilityCorrection | None = None,
) -> MatchResult:
    """What contestants earn against each other: exactly on a tree, with an interval on rules.

    Two contestants: the first plays every seat in turn against the second, which has all others.
    Or one contestant for each seat, in all orders. On a tree, policies are compared exactly; rules,
    and contestants that are no policies of a tree (searchers), need episodes.

    Args:
        episodes: at most so many (by default 1000, without a limit if there is a `width`).
        width: play on until all intervals of the scores are this narrow.
        seed: of all randomness; the same seed gives the same result.
        confidence: how often the intervals are to cover the true value.
        correct: takes luck out of episodes, such as `control_variates.corrected` with guesses.
    """
    if isinstance(arena, TreeArena):
        policies = [_policy_on_tree(arena, contestant) for contestant in agents]
        found = [policy for policy in policies if policy is not None]
        if len(found) == len(policies):
            return exact_match_result(arena, found)
    rules = arena.game if isinstance(arena, TreeArena) else arena
    match = Match(rules, agents, seed, confidence, correction)
    for _ in match.play(max_episodes, target_width):
        pass
    return match.result()


def exact_match_result(tree: TreeArena, policies: Sequence[Policy]) -> MatchResult:
    """What policies of a tree earn against each other."""
    seatings = np.array(_list_seatings(tree.spec, tree.num_players, len(policies)))
    probabilities = np.stack([policy.probabilities for policy in policies])
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    everything = np.arange(tree.num_sequences)
    values = [
        expected_values(tree, Policy(tree, probabilities[seating[owner], everything]))
        for seating in seatings
    ]
    means = np.tensordot(_seat_weights(seatings), np.array(values), 2)
    cells = [tuple(ExactMean(mean) for mean in row) for row in means.tolist()]
    return MatchResult(tuple(row[-1] for row in cells), tuple(row[:-1] for row in cells), 0)


class Match:
    """A match on the rules: rounds, and what they have shown so far."""

    def __init__(
        self,
        game: Game,
        agents: Sequence[Agent],
        seed: int = 0,
        confidence: float = 0.95,
        correction: UtilityCorrection | None = None,
    ):
        if not 0.0 < confidence < 1.0:
            raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
        self.game, self.agents = game, tuple(agents)
        self.seed, self.confidence, self.correction = seed, confidence, correction
        self.seatings = np.array(_list_seatings(get_spec(game), game.num_players, len(agents)))
        self.seat_weights = _seat_weights(self.seatings)
        nothing = np.zeros(self.seat_weights.shape[:2])
        self.tally = _MatchTally(0, nothing, nothing, 0.0, 0.0, False)

    @property
    def num_episodes(self) -> int:
        """Episodes of whole rounds."""
        return self.tally.num_rounds * len(self.seatings)

    def play(
        self, max_episodes: int | None = None, target_width: float | None = None
    ) -> Iterator[None]:
        """Play rounds, and come back after each, until there are enough."""
        if max_episodes is not None and max_episodes < len(self.seatings):
            least = f"{len(self.seatings)}: one for every seating"
            raise ConfigError(f"max_episodes is {max_episodes}, must be at least {least}")
        if target_width is not None and not target_width > 0.0:
            raise ConfigError(f"target_width is {target_width}, must be positive")
        most = max_episodes or (inf if target_width else DEFAULT_EPISODES)
        while self.num_episodes + len(self.seatings) <= most and not self.tally.is_deterministic:
            self.play_round()
            yield
            narrow = (
                target_width
                and 2.0 * self.tally.margin(self.confidence)[:, -1].max() <= target_width
            )
            if narrow and self.tally.num_rounds >= MIN_ROUNDS:
                return

    def play_round(self) -> None:
        """One episode for every seating, with the same draws; counts when all are over."""
        utilities, repeats = [], True
        for seating in self.seatings.tolist():
            seated = [self.agents[number] for number in seating]
            episode = play_episode(self.game, seated, self.seed, self.tally.num_rounds)
            utilities.append(self.correction(episode) if self.correction else episode.utilities)
            repeats = repeats and episode.is_deterministic
        self.tally = self.tally.add_round(self.seat_weights, np.array(utilities, float), repeats)

    def result(self) -> MatchResult:
        """What the rounds so far say."""
        tally, size = self.tally, len(self.seatings)
        margin = tally.margin(self.confidence)
        ends = tally.mean - margin, tally.mean + margin
        table: Any = np.stack([tally.mean, tally.standard_error(), *ends], axis=-1).tolist()
        cells = []
        for contestant, row in enumerate(table):
            counts = [*(self.seatings == contestant).sum(axis=0).tolist(), size]
            cells.append(
                [
                    Estimate(mean, error, low, high, count * tally.num_rounds)
                    for (mean, error, low, high), count in zip(row, counts, strict=True)
                ]
            )
        scores, seats = tuple(row[-1] for row in cells), tuple(tuple(row[:-1]) for row in cells)
        return MatchResult(scores, seats, self.num_episodes)


class _MatchTally(NamedTuple):
    """Running sums over rounds, [C, P + 1]: by contestant and seat, and all seats at the end."""

    num_rounds: int
    mean: Floats
    squared_deviations: Floats  # of the distances from the mean
    utility_mean: float  # mean of all utilities, whoever got them
    utility_variance: float  # their variance
    is_deterministic: bool  # whether every round would be the same

    def add_round(
        self, seat_weights: Floats, utilities: Floats, is_deterministic: bool
    ) -> _MatchTally:
        now = np.tensordot(seat_weights, utilities, 2)
        rounds = self.num_rounds + 1
        mean = self.mean + (now - self.mean) / rounds
        squares = self.squared_deviations + (now - self.mean) * (now - mean)
        usual = self.utility_mean + (float(utilities.mean()) - self.utility_mean) / rounds
        far = float(((utilities - self.utility_mean) * (utilities - usual)).mean())
        spread = self.utility_variance + (far - self.utility_variance) / rounds
        return _MatchTally(rounds, mean, squares, usual, spread, is_deterministic)

    def standard_error(self) -> Floats:
        if self.is_deterministic or self.num_rounds < 2:
            return np.full_like(self.mean, 0.0 if self.is_deterministic else inf)
        return np.sqrt(self.squared_deviations / (self.num_rounds - 1) / self.num_rounds)

    def margin(self, confidence: float) -> Floats:
        """Half the widths of the intervals: see `Estimate`."""
        from scipy.special import stdtrit

        error = self.standard_error()
        if self.is_deterministic or self.num_rounds < 2:
            return error
        rare = sqrt(self.utility_variance) / self.num_rounds
        return stdtrit(self.num_rounds - 1, 0.5 + 0.5 * confidence) * np.hypot(error, rare)


def _list_seatings(spec: str, num_players: int, num_agents: int) -> list[tuple[int, ...]]:
    """Who has which seat, in every way that counts: by seating and seat, the contestant."""
    if num_agents == 2 <= num_players:
        seats = range(num_players)
        return [tuple(int(seat != first) for seat in seats) for first in seats]
    if num_agents != num_players:
        raise ConfigError(
            f"{num_agents} contestants cannot play {spec}, a game for {num_players}; "
            f"give {'two, or ' * (num_players > 2)}one for each seat"
        )
    if factorial(num_players) > MAX_SEATINGS:
        problem = f"{num_players} contestants of {spec} have too many orders to play all"
        raise ConfigError(f"{problem}; compare two of them")
    return list(permutations(range(num_players)))


def _seat_weights(seatings: Ints) -> Floats:
    """The share [C, P + 1, seatings, P] of each utility in the means of contestants and seats.

    The last mean of a contestant is that over its seats.
    """
    num_contestants, num_players = int(seatings.max()) + 1, seatings.shape[1]
    there = seatings == np.arange(num_contestants)[:, None, None]
    share = there / there.sum(axis=1, keepdims=True)
    by_seat = share[:, None] * np.eye(num_players)[:, None]
    return np.concatenate([by_seat, by_seat.mean(axis=1, keepdims=True)], axis=1)


def _policy_on_tree(tree: TreeArena, agent: Agent) -> Policy | None:
    """The contestant as a policy of the tree, if it is one."""
    if isinstance(agent, TabularPolicy):
        return agent.tabulate(tree)
    if isinstance(agent, Policy):
        check_same_game(tree, agent)
        return agent
    return None
