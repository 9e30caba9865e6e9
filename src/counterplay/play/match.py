"""Head-to-head matches: exact on a tree, estimated from episodes on rules.

On a tree a match of policies is computed exactly. On rules its result is an `Estimate` from
episodes that are arranged for a small variance:

- a round is one episode for every seating, so that no agent gains from a better seat;
- all episodes of a round share their random numbers: the k-th number of chance, and the k-th of
  each seat, is the same for every seating (duplicate poker). Agents that play alike get the same
  utilities, bit for bit;
- the standard error is that of the means of rounds, which are independent of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial, inf, sqrt
from typing import NamedTuple

import numpy as np

from counterplay.arenas.rules import TabularPolicy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.core.arena import Floats, Ints
from counterplay.core.evaluation import check_same_game, expected_values
from counterplay.core.game import Game
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.play.episodes import Agent, Episode, play_episode
from counterplay.registry import get_spec

DEFAULT_EPISODES = 1000  # if neither a number of episodes nor a width is given
MIN_ROUNDS = 30  # before the width of an interval can end a match: fewer give no reliable variance
MAX_SEATINGS = 720

UtilityCorrection = Callable[[Episode], Sequence[float]]  # utilities of equal mean, less variance


@dataclass(frozen=True)
class ExactMean:
    """A mean utility computed on the tree."""

    mean: float


@dataclass(frozen=True)
class Estimate:
    """A mean utility estimated from episodes, with a confidence interval.

    The standard error is that of the means of rounds. The interval is Student's, widened for
    events too rare to have occurred: agents that seem to play alike may still differ in one of as
    many further rounds, by as much as utilities usually do. If play is deterministic, one round is
    enough and the interval is a point.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    num_episodes: int


@dataclass(frozen=True)
class MatchResult:
    """The mean utility of every agent in a match, in the game's units."""

    scores: tuple[ExactMean | Estimate, ...]  # by agent; all seats have the same weight
    seat_scores: tuple[tuple[ExactMean | Estimate, ...], ...]  # by agent and seat
    num_episodes: int  # 0 if the values are exact

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
    """Return the mean utilities of agents that play against each other.

    Of two agents, the first plays every seat in turn and the second has all other seats. More
    agents, one per seat, play in all orders. A single agent plays all seats, which gives their
    values. Policies of a tree are compared exactly; rules, and
    agents that are not policies of a tree (such as searchers), need episodes.

    Args:
        arena: a tree, or the rules of a game.
        agents: two agents, one per seat, or a single one.
        max_episodes: upper limit (by default 1000; no limit if there is a `target_width`).
        target_width: stop when the intervals of all scores are this narrow.
        seed: seed of all random numbers; the same seed gives the same result.
        confidence: probability with which the intervals cover the true values.
        correction: returns utilities with the same mean and less variance, for example
            `play.aivat_utilities` with a value function.

    Raises:
        ConfigError: the number of agents does not fit the game, or an argument is out of range.

    Example:
        >>> import counterplay as cp
        >>> tree = cp.build_tree("kuhn_poker")
        >>> bettor = cp.Policy.from_dict(tree, {key: {"bet": 1.0} for key in tree.infoset_keys})
        >>> cp.head_to_head(tree, bettor, cp.uniform_policy(tree)).scores[0]
        ExactMean(mean=0.375)
        >>> match = cp.head_to_head(tree.game, bettor, cp.uniform_policy(tree), max_episodes=100)
        >>> match.scores[0].low < 0.375 < match.scores[0].high
        True
    """
    if isinstance(arena, TreeArena):
        policies = [_policy_on_tree(arena, agent) for agent in agents]
        tree_policies = [policy for policy in policies if policy is not None]
        if len(tree_policies) == len(policies):
            return exact_match_result(arena, tree_policies)
    game = arena.game if isinstance(arena, TreeArena) else arena
    match = Match(game, agents, seed, confidence, correction)
    for _ in match.play(max_episodes, target_width):
        pass
    return match.result()


def exact_match_result(tree: TreeArena, policies: Sequence[Policy]) -> MatchResult:
    """Return the exact mean utilities of policies of a tree against each other."""
    seatings = np.array(_list_seatings(tree.spec, tree.num_players, len(policies)))
    probabilities = np.stack([policy.probabilities for policy in policies])
    sequence_player = np.repeat(tree.infoset_player, tree.num_actions)
    sequences = np.arange(tree.num_sequences)
    values = [
        expected_values(tree, Policy(tree, probabilities[seating[sequence_player], sequences]))
        for seating in seatings
    ]
    means = np.tensordot(_seat_weights(seatings), np.array(values), 2)
    cells = [tuple(ExactMean(mean) for mean in row) for row in means.tolist()]
    return MatchResult(tuple(row[-1] for row in cells), tuple(row[:-1] for row in cells), 0)


class Match:
    """A match on the rules, played round by round, with its estimates so far."""

    rounds_at_once = 1  # between two looks at the limits

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
        zeros = np.zeros(self.seat_weights.shape[:2])
        self.tally = _MatchTally(0, zeros, zeros, 0.0, 0.0, False)

    @property
    def num_episodes(self) -> int:
        """Episodes of the complete rounds so far."""
        return self.tally.num_rounds * len(self.seatings)

    def play(
        self, max_episodes: int | None = None, target_width: float | None = None
    ) -> Iterator[None]:
        """Play rounds until there are enough, and yield after each; see `head_to_head`."""
        if max_episodes is not None and max_episodes < len(self.seatings):
            minimum = f"{len(self.seatings)}: one for every seating"
            raise ConfigError(f"max_episodes is {max_episodes}, must be at least {minimum}")
        if target_width is not None and not target_width > 0.0:
            raise ConfigError(f"target_width is {target_width}, must be positive")
        limit = max_episodes or (inf if target_width else DEFAULT_EPISODES)
        max_rounds = limit / len(self.seatings)
        while self.tally.num_rounds + 1 <= max_rounds and not self.tally.is_deterministic:
            self.play_rounds(int(min(max_rounds - self.tally.num_rounds, self.rounds_at_once)))
            yield
            if target_width and self._has_width(target_width):
                return

    def _has_width(self, width: float) -> bool:
        """Return True if the intervals of all scores are at most this wide, reliably."""
        widths = 2.0 * self.tally.margin(self.confidence)[:, -1]
        return self.tally.num_rounds >= MIN_ROUNDS and bool(widths.max() <= width)

    def play_rounds(self, count: int) -> None:
        """Play some rounds."""
        for _ in range(count):
            self.play_round()

    def play_round(self) -> None:
        """Play one episode for every seating, with the same random numbers, and count them all."""
        utilities, is_deterministic = [], True
        for seating in self.seatings.tolist():
            seats = [self.agents[number] for number in seating]
            episode = play_episode(self.game, seats, self.seed, self.tally.num_rounds)
            utilities.append(self.correction(episode) if self.correction else episode.utilities)
            is_deterministic = is_deterministic and episode.is_deterministic
        self.tally = self.tally.add_rounds(
            self.seat_weights, np.array([utilities], float), is_deterministic
        )

    def result(self) -> MatchResult:
        """Return the estimates from the rounds so far."""
        tally = self.tally
        margin = tally.margin(self.confidence)
        columns = (tally.mean, tally.standard_error(), tally.mean - margin, tally.mean + margin)
        cells = []
        for agent, rows in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            counts = [*(self.seatings == agent).sum(axis=0).tolist(), len(self.seatings)]
            cells.append(
                tuple(
                    Estimate(mean, error, low, high, count * tally.num_rounds)
                    for mean, error, low, high, count in zip(*rows, counts, strict=True)
                )
            )
        scores, seat_scores = tuple(row[-1] for row in cells), tuple(row[:-1] for row in cells)
        return MatchResult(scores, seat_scores, self.num_episodes)


class _MatchTally(NamedTuple):
    """Running means over rounds, [C, P + 1]: by agent and seat, with all seats in the last column.

    Means and sums of squared deviations are merged by the method of Chan, Golub and LeVeque (1979).
    """

    num_rounds: int
    mean: Floats  # [C, P + 1]
    squared_deviations: Floats  # [C, P + 1] sum over rounds
    utility_mean: float  # of the utilities of all agents
    utility_variance: float  # of the same
    is_deterministic: bool  # whether every round is the same

    def add_rounds(
        self, seat_weights: Floats, utilities: Floats, is_deterministic: bool
    ) -> _MatchTally:
        """Return the tally with more rounds of `utilities` [rounds, seatings, P]."""
        count = len(utilities)
        means = np.einsum("capq,rpq->rca", seat_weights, utilities)
        rounds, mean = self.num_rounds + count, means.mean(axis=0)
        change = mean - self.mean
        squares = self.squared_deviations + ((means - mean) ** 2).sum(axis=0)
        utility_mean, utility_variance = float(utilities.mean()), float(utilities.var())
        utility_change = utility_mean - self.utility_mean
        share = count / rounds
        return _MatchTally(
            rounds,
            self.mean + share * change,
            squares + change**2 * self.num_rounds * share,
            self.utility_mean + share * utility_change,
            (1.0 - share) * self.utility_variance
            + share * (utility_variance + (1.0 - share) * utility_change**2),
            is_deterministic,
        )

    def standard_error(self) -> Floats:
        """Return the standard errors [C, P + 1] of the means."""
        if self.is_deterministic or self.num_rounds < 2:
            return np.full_like(self.mean, 0.0 if self.is_deterministic else inf)
        return np.sqrt(self.squared_deviations / (self.num_rounds - 1) / self.num_rounds)

    def margin(self, confidence: float) -> Floats:
        """Return half the widths [C, P + 1] of the intervals that `Estimate` describes."""
        from scipy.special import stdtrit

        error = self.standard_error()
        if self.is_deterministic or self.num_rounds < 2:
            return error
        rare_event_error = sqrt(self.utility_variance) / self.num_rounds
        quantile = stdtrit(self.num_rounds - 1, 0.5 + 0.5 * confidence)
        return quantile * np.hypot(error, rare_event_error)


def _list_seatings(spec: str, num_players: int, num_agents: int) -> list[tuple[int, ...]]:
    """Return the seatings of a match; a seating has the index of the agent in each seat."""
    if num_agents == 1:
        return [(0,) * num_players]
    if num_agents == 2 <= num_players:
        seats = range(num_players)
        return [tuple(int(seat != first) for seat in seats) for first in seats]
    if num_agents != num_players:
        raise ConfigError(
            f"{num_agents} agents cannot play {spec}, a game for {num_players}; "
            f"give {'two, or ' * (num_players > 2)}one for each seat"
        )
    if factorial(num_players) > MAX_SEATINGS:
        problem = f"{num_players} agents of {spec} have too many orders to play all"
        raise ConfigError(f"{problem}; compare two of them")
    return list(permutations(range(num_players)))


def _seat_weights(seatings: Ints) -> Floats:
    """Return the weight [C, P + 1, seatings, P] of each utility in the means of agents by seat.

    The last mean of an agent is that over its seats.
    """
    num_agents, num_players = int(seatings.max()) + 1, seatings.shape[1]
    is_seated = seatings == np.arange(num_agents)[:, None, None]
    share = is_seated / is_seated.sum(axis=1, keepdims=True)
    by_seat = share[:, None] * np.eye(num_players)[:, None]
    return np.concatenate([by_seat, by_seat.mean(axis=1, keepdims=True)], axis=1)


def _policy_on_tree(tree: TreeArena, agent: Agent) -> Policy | None:
    """Return the agent as a policy of the tree, or None if it is not a policy."""
    if isinstance(agent, TabularPolicy):
        return agent.tabulate(tree)
    if isinstance(agent, Policy):
        check_same_game(tree, agent)
        return agent
    return None
