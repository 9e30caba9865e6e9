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

from counterplay import splitmix
from counterplay.errors import ConfigError, CounterplayError
from counterplay.evaluate import check_aligned, expected_values
from counterplay.game import CHANCE, TERMINAL, Game, State
from counterplay.policy import Policy
from counterplay.registry import spec_of
from counterplay.rule_checks import (
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
from counterplay.sampled import SampledPolicy
from counterplay.tree import Floats, Ints, Tree

MAX_HISTORY = 10_000  # a longer one counts as a game that never ends
USUAL_EPISODES = 1000  # where neither a number nor a width is given
LEAST_ROUNDS = 30  # before an interval counts as narrow: a variance must be known to be trusted
MOST_SEATINGS = 720

Correct = Callable[["Episode"], Sequence[float]]  # utilities with less luck, of the same mean
Draw = Callable[[int], float]  # the player, or CHANCE, that draws -> a number in [0, 1)


class Contestant(Protocol):
    """Whoever can have a seat.

    One with randomness of its own, besides that of its odds, also has `fresh(seed)`: the contestant
    for one episode, or itself if it would play every episode the same.
    """

    def odds(self, state: State, player: int) -> Sequence[float]:
        """The probabilities of `game.actions(state)`, in that order, if the player is to act."""
        ...


class Step(NamedTuple):
    """One action of an episode."""

    state: State
    player: int  # or CHANCE
    actions: Sequence[int]
    odds: Sequence[float]  # of the actions
    action: int  # the one taken


class Episode(NamedTuple):
    """What happened, from the start to the end."""

    steps: list[Step]
    utilities: Sequence[float]
    state: State  # the terminal one
    repeats: bool  # whether nothing was left to chance: every episode would be the same


class Draws:
    """Draws in [0, 1) by seed, episode and player: nobody's depend on how often others drew."""

    def __init__(self, seed: int, episode: int):
        self.seed, self.episode = seed, episode
        self.streams: dict[int, list[int]] = {}

    def __call__(self, player: int) -> float:
        stream = self.streams.get(player)
        if stream is None:
            stream = self.streams[player] = [0]
            splitmix.start(self.seed, self.episode, player, stream)
        return splitmix.draw(stream)


def play_episode(
    game: Game, contestants: Sequence[Contestant], seed: int = 0, number: int = 0
) -> Episode:
    """Play to the end, one contestant in each seat; the same for the same seed and number."""
    if len(contestants) != game.num_players:
        given = f"{len(contestants)} contestants for {game.num_players} seats"
        raise ConfigError(f"{given} of {spec_of(game)}; give one for each")
    draw = Draws(seed, number)
    seats = [seated(contestant, draw(seat)) for seat, contestant in enumerate(contestants)]
    start = call_rule(game, lambda: (), game.initial_state)
    steps, state = play_on(game, start, seats, draw)
    utilities = call_rule(game, lambda: _history(steps), game.utilities, state)
    problem = call_rule(
        game, lambda: _history(steps), utilities_problem, utilities, game.num_players
    )
    if problem:
        raise rule_error(game, _history(steps), problem)
    certain = all(sum(p > 0.0 for p in step.odds) == 1 for step in steps)
    repeats = certain and all(now is was for now, was in zip(seats, contestants, strict=True))
    return Episode(steps, utilities, state, repeats)


def seated(contestant: Contestant, number: float) -> Contestant:
    """The contestant for one episode, whose own randomness comes from a number in [0, 1)."""
    if not hasattr(contestant, "odds"):
        name, advice = type(contestant).__name__, "a searcher plays as SearchPolicy(game, searcher)"
        raise ConfigError(f"{name} cannot play: it has no odds(state, player); {advice}")
    fresh: Callable[[int], Contestant] | None = getattr(contestant, "fresh", None)
    return fresh(int(number * 2**53)) if fresh else contestant


def play_on(
    game: Game, state: State, seats: Sequence[Contestant | None], draw: Draw
) -> tuple[list[Step], State]:
    """Let chance and contestants act until the end, or until it is the turn of an open seat."""
    steps: list[Step] = []
    while True:
        try:
            player = game.player(state)
            if player == TERMINAL:
                break
            actions, odds = _offer(game, state, player, seats)
            if odds is None:
                break
        except Exception as error:
            raise _diagnose(game, state, steps, error) from error
        if len(odds) != len(actions) or not abs(sum(odds) - 1.0) <= 1e-6 or min(odds) < 0.0:
            name = type(seats[player]).__name__
            problem = f"{name} answers {list(odds)}, not probabilities of {list(actions)}"
            raise ConfigError(str(rule_error(game, _history(steps), problem)))
        action = actions[drawn(odds, draw(player))]
        steps.append(Step(state, player, actions, odds, action))
        try:
            state = game.next_state(state, action)
        except Exception as error:
            raise_rule_error(game, _history(steps[:-1]), error)
        if len(steps) > MAX_HISTORY:
            problem = f"still not over after {MAX_HISTORY:,} actions"
            raise rule_error(game, _history(steps), problem)
    return steps, state


def _offer(
    game: Game, state: State, player: int, seats: Sequence[Contestant | None]
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
    return actions, contestant.odds(state, player)


class _RuleFaultError(Exception):
    """A fault in the rules, whose history the caller knows."""


def _diagnose(game: Game, state: State, steps: list[Step], error: Exception) -> Exception:
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


def _history(steps: Sequence[Step]) -> list[int]:
    return [step.action for step in steps]


def drawn(odds: Sequence[float], number: float) -> int:
    """The place that a number in [0, 1) falls on; never one of probability 0."""
    left, place = number * sum(odds), -1
    for k, probability in enumerate(odds):
        if probability > 0.0:
            place = k
            left -= probability
            if left < 0.0:
                break
    return place


@dataclass(frozen=True)
class Exact:
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
    episodes: int


@dataclass(frozen=True)
class Standings:
    """What every contestant earns in a match, in the game's units."""

    scores: tuple[Exact | Estimate, ...]  # by contestant: every seat counts the same
    seats: tuple[tuple[Exact | Estimate, ...], ...]  # by contestant and seat
    episodes: int  # played; 0 if the values are exact

    @property
    def exact(self) -> bool:
        return self.episodes == 0


def head_to_head(
    arena: Tree | Game,
    *contestants: Contestant,
    episodes: int | None = None,
    width: float | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    correct: Correct | None = None,
) -> Standings:
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
    if isinstance(arena, Tree):
        policies = [_on_tree(arena, contestant) for contestant in contestants]
        found = [policy for policy in policies if policy is not None]
        if len(found) == len(policies):
            return exact_standings(arena, found)
    rules = arena.rules if isinstance(arena, Tree) else arena
    match = Match(rules, contestants, seed, confidence, correct)
    for _ in match.play(episodes, width):
        pass
    return match.standings()


def exact_standings(tree: Tree, policies: Sequence[Policy]) -> Standings:
    """What policies of a tree earn against each other."""
    seatings = np.array(_seatings(tree.spec, tree.num_players, len(policies)))
    probabilities = np.stack([policy.probabilities for policy in policies])
    owner = np.repeat(tree.infoset_player, tree.num_actions)
    everything = np.arange(tree.num_sequences)
    values = [
        expected_values(tree, Policy(tree, probabilities[seating[owner], everything]))
        for seating in seatings
    ]
    means = np.tensordot(_shares(seatings), np.array(values), 2)
    cells = [tuple(Exact(mean) for mean in row) for row in means.tolist()]
    return Standings(tuple(row[-1] for row in cells), tuple(row[:-1] for row in cells), 0)


class Match:
    """A match on the rules: rounds, and what they have shown so far."""

    def __init__(
        self,
        game: Game,
        contestants: Sequence[Contestant],
        seed: int = 0,
        confidence: float = 0.95,
        correct: Correct | None = None,
    ):
        if not 0.0 < confidence < 1.0:
            raise ConfigError(f"confidence is {confidence}, must be between 0 and 1")
        self.game, self.contestants = game, tuple(contestants)
        self.seed, self.confidence, self.correct = seed, confidence, correct
        self.seatings = np.array(_seatings(spec_of(game), game.num_players, len(contestants)))
        self.shares = _shares(self.seatings)
        nothing = np.zeros(self.shares.shape[:2])
        self.tally = _Tally(0, nothing, nothing, 0.0, 0.0, False)

    @property
    def episodes(self) -> int:
        """Episodes of whole rounds."""
        return self.tally.rounds * len(self.seatings)

    def play(self, episodes: int | None = None, width: float | None = None) -> Iterator[None]:
        """Play rounds, and come back after each, until there are enough."""
        if episodes is not None and episodes < len(self.seatings):
            least = f"{len(self.seatings)}: one for every seating"
            raise ConfigError(f"episodes is {episodes}, must be at least {least}")
        if width is not None and not width > 0.0:
            raise ConfigError(f"width is {width}, must be positive")
        most = episodes or (inf if width else USUAL_EPISODES)
        while self.episodes + len(self.seatings) <= most and not self.tally.repeats:
            self.play_round()
            yield
            narrow = width and 2.0 * self.tally.margin(self.confidence)[:, -1].max() <= width
            if narrow and self.tally.rounds >= LEAST_ROUNDS:
                return

    def play_round(self) -> None:
        """One episode for every seating, with the same draws; counts when all are over."""
        utilities, repeats = [], True
        for seating in self.seatings.tolist():
            seated = [self.contestants[number] for number in seating]
            episode = play_episode(self.game, seated, self.seed, self.tally.rounds)
            utilities.append(self.correct(episode) if self.correct else episode.utilities)
            repeats = repeats and episode.repeats
        self.tally = self.tally.with_round(self.shares, np.array(utilities, float), repeats)

    def standings(self) -> Standings:
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
                    Estimate(mean, error, low, high, count * tally.rounds)
                    for (mean, error, low, high), count in zip(row, counts, strict=True)
                ]
            )
        scores, seats = tuple(row[-1] for row in cells), tuple(tuple(row[:-1]) for row in cells)
        return Standings(scores, seats, self.episodes)


class _Tally(NamedTuple):
    """Running sums over rounds, [C, P + 1]: by contestant and seat, and all seats at the end."""

    rounds: int
    mean: Floats
    squares: Floats  # of the distances from the mean
    usual: float  # mean of all utilities, whoever got them
    spread: float  # their variance
    repeats: bool  # whether every round would be the same

    def with_round(self, shares: Floats, utilities: Floats, repeats: bool) -> _Tally:
        now = np.tensordot(shares, utilities, 2)
        rounds = self.rounds + 1
        mean = self.mean + (now - self.mean) / rounds
        squares = self.squares + (now - self.mean) * (now - mean)
        usual = self.usual + (float(utilities.mean()) - self.usual) / rounds
        far = float(((utilities - self.usual) * (utilities - usual)).mean())
        spread = self.spread + (far - self.spread) / rounds
        return _Tally(rounds, mean, squares, usual, spread, repeats)

    def standard_error(self) -> Floats:
        if self.repeats or self.rounds < 2:
            return np.full_like(self.mean, 0.0 if self.repeats else inf)
        return np.sqrt(self.squares / (self.rounds - 1) / self.rounds)

    def margin(self, confidence: float) -> Floats:
        """Half the widths of the intervals: see `Estimate`."""
        from scipy.special import stdtrit

        error = self.standard_error()
        if self.repeats or self.rounds < 2:
            return error
        rare = sqrt(self.spread) / self.rounds
        return stdtrit(self.rounds - 1, 0.5 + 0.5 * confidence) * np.hypot(error, rare)


def _seatings(spec: str, num_players: int, num_contestants: int) -> list[tuple[int, ...]]:
    """Who has which seat, in every way that counts: by seating and seat, the contestant."""
    if num_contestants == 2 <= num_players:
        seats = range(num_players)
        return [tuple(int(seat != first) for seat in seats) for first in seats]
    if num_contestants != num_players:
        raise ConfigError(
            f"{num_contestants} contestants cannot play {spec}, a game for {num_players}; "
            f"give {'two, or ' * (num_players > 2)}one for each seat"
        )
    if factorial(num_players) > MOST_SEATINGS:
        problem = f"{num_players} contestants of {spec} have too many orders to play all"
        raise ConfigError(f"{problem}; compare two of them")
    return list(permutations(range(num_players)))


def _shares(seatings: Ints) -> Floats:
    """The share [C, P + 1, seatings, P] of each utility in the means of contestants and seats.

    The last mean of a contestant is that over its seats.
    """
    num_contestants, num_players = int(seatings.max()) + 1, seatings.shape[1]
    there = seatings == np.arange(num_contestants)[:, None, None]
    share = there / there.sum(axis=1, keepdims=True)
    by_seat = share[:, None] * np.eye(num_players)[:, None]
    return np.concatenate([by_seat, by_seat.mean(axis=1, keepdims=True)], axis=1)


def _on_tree(tree: Tree, contestant: Contestant) -> Policy | None:
    """The contestant as a policy of the tree, if it is one."""
    if isinstance(contestant, SampledPolicy):
        return contestant.on(tree)
    if isinstance(contestant, Policy):
        check_aligned(tree, contestant)
        return contestant
    return None
