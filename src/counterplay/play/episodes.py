"""Episodes of agents on the rules of a game.

An agent returns `action_probabilities(state, player)`: a policy of a tree, a policy found by
sampling, a searcher (`SearchAgent`), a person at the prompt, a network. Random numbers come from
`RandomStreams`, one stream per seat and one for chance, so that an episode depends on nothing but
the seed, the number of the episode and the agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeGuard

from counterplay.core import random
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
from counterplay.errors import ConfigError, CounterplayError
from counterplay.registry import get_spec

MAX_HISTORY_LENGTH = 10_000  # actions; a game that takes more counts as one that never ends

DrawFunction = Callable[[int], float]  # player, or CHANCE -> a random number in [0, 1)


class Agent(Protocol):
    """Anything that can play: a policy, a searcher, a network, a person.

    An agent that is random beyond its action probabilities also has `for_episode(seed)`, which
    returns the agent for one episode, or itself if it plays every episode alike.
    """

    def action_probabilities(self, state: State, player: int) -> Sequence[float]:
        """Return the acting player's probabilities of `game.actions(state)`, in that order."""
        ...


class EpisodeStep(NamedTuple):
    """One action of an episode."""

    state: State  # before the action
    player: int  # or CHANCE
    actions: Sequence[int]  # legal at the state
    probabilities: Sequence[float]  # of these actions
    action: int  # the sampled one


class Episode(NamedTuple):
    """An episode from the initial state to a terminal state."""

    steps: list[EpisodeStep]
    utilities: Sequence[float]  # by player
    terminal_state: State
    is_deterministic: bool  # whether every episode of these agents is the same


class RandomStreams:
    """Random numbers in [0, 1) for one episode, with an independent stream per player.

    The k-th number of a player depends on the seed, the episode and the player, not on how many
    numbers the others have drawn.
    """

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
    """Play one episode to the end.

    Args:
        game: the rules.
        agents: one agent per seat.
        seed: seed of all random numbers.
        episode: number of the episode; every number gives other random numbers.

    Returns:
        The episode. The same seed and number give the same episode.

    Raises:
        ConfigError: there is not one agent per seat, or one does not return probabilities.
        GameError: the rules break the protocol.

    Example:
        >>> import counterplay as cp
        >>> game = cp.load_game("kuhn_poker")
        >>> episode = cp.play_episode(game, [cp.uniform_policy(game)] * 2, seed=1)
        >>> [game.action_name(step.state, step.action) for step in episode.steps]
        ['deal 2', 'deal 1', 'pass', 'bet', 'pass']
        >>> list(episode.utilities)
        [-1.0, 1.0]
    """
    if len(agents) != game.num_players:
        problem = f"{len(agents)} agents for {game.num_players} seats"
        raise ConfigError(f"{problem} of {get_spec(game)}; give one for each")
    draw = RandomStreams(seed, episode)
    seats = [agent_for_episode(agent, draw(seat)) for seat, agent in enumerate(agents)]
    start = call_rule(game, lambda: (), game.initial_state)
    steps, state = play_from(game, start, seats, draw)
    utilities = call_rule(game, lambda: _history(steps), game.utilities, state)
    problem = call_rule(
        game, lambda: _history(steps), utilities_problem, utilities, game.num_players
    )
    if problem:
        raise rule_error(game, _history(steps), problem)
    is_certain = all(sum(p > 0.0 for p in step.probabilities) == 1 for step in steps)
    is_repeated = all(seated is agent for seated, agent in zip(seats, agents, strict=True))
    return Episode(steps, utilities, state, is_certain and is_repeated)


def agent_for_episode(agent: Agent, number: float) -> Agent:
    """Return the agent for one episode, seeded by a random number in [0, 1)."""
    if not hasattr(agent, "action_probabilities"):
        problem = "it has no action_probabilities(state, player)"
        advice = "a searcher plays as SearchAgent(game, searcher)"
        raise ConfigError(f"{type(agent).__name__} cannot play: {problem}; {advice}")
    for_episode: Callable[[int], Agent] | None = getattr(agent, "for_episode", None)
    return for_episode(int(number * 2**53)) if for_episode else agent


def agent_for_hands(agent: Agent) -> Agent:
    """Return the agent with `hand_policy` if it has one by another name, such as networks."""
    hand_agent: Callable[[], Agent | None] | None = getattr(agent, "hand_agent", None)
    return (hand_agent() if hand_agent else None) or agent


def play_from(
    game: Game,
    state: State,
    agents: Sequence[Agent | None],
    draw: DrawFunction,
    past_steps: Sequence[EpisodeStep] = (),
) -> tuple[list[EpisodeStep], State]:
    """Let chance and the agents act until the end, or until an empty seat is to act.

    Args:
        game: the rules.
        state: the state to start from.
        agents: one agent per seat; None for an empty seat.
        draw: returns the random number of a player or of chance.
        past_steps: the steps from the initial state to `state`, which errors name.

    Returns:
        The new steps and the state after them.
    """
    steps = list(past_steps)
    while True:
        try:
            player = game.player(state)
            if player == TERMINAL:
                break
            actions, probabilities = _action_distribution(game, state, player, agents)
            if probabilities is None:
                break
        except Exception as error:
            raise _diagnose(game, state, steps, error) from error
        if not _is_distribution(probabilities, len(actions)):
            name = type(agents[player]).__name__
            problem = f"{name} answers {list(probabilities)}, not probabilities of {list(actions)}"
            raise ConfigError(str(rule_error(game, _history(steps), problem)))
        action = actions[sample_index(probabilities, draw(player))]
        steps.append(EpisodeStep(state, player, actions, probabilities, action))
        try:
            state = game.next_state(state, action)
        except Exception as error:
            raise_rule_error(game, _history(steps[:-1]), error)
        if len(steps) > MAX_HISTORY_LENGTH:
            problem = f"still not over after {MAX_HISTORY_LENGTH:,} actions"
            raise rule_error(game, _history(steps), problem)
    return steps[len(past_steps) :], state


class BatchAgent(Agent, Protocol):
    """An agent that answers many questions together, as networks do."""

    def batch_action_probabilities(
        self, states: Sequence[State], players: Sequence[int]
    ) -> Sequence[Sequence[float]]:
        """Return `action_probabilities` of the acting players at many states."""
        ...


def answers_batches(agent: Agent) -> TypeGuard[BatchAgent]:
    """Return True if an agent answers many questions together."""
    return hasattr(agent, "batch_action_probabilities")


def ask_agent(
    agent: Agent, states: Sequence[State], players: Sequence[int]
) -> Sequence[Sequence[float]]:
    """Return the action probabilities at many states, together if the agent can."""
    if answers_batches(agent):
        return agent.batch_action_probabilities(states, players)
    pairs = zip(states, players, strict=True)
    return [agent.action_probabilities(state, player) for state, player in pairs]


def play_together(
    game: Game,
    states: Sequence[State],
    seats: Sequence[Sequence[Agent]],
    draws: Sequence[DrawFunction],
) -> list[State]:
    """Play many episodes to the end, turn by turn, and return their terminal states.

    Each ends as `play_from` ends it, with the same random numbers; agents that answer batches are
    asked once per turn. Rules are not checked: `play_from` names the history of a fault.

    Args:
        game: the rules.
        states: the state that each episode starts from.
        seats: the agents of each episode, one per seat.
        draws: the random numbers of each episode.
    """
    reached, active = list(states), list(range(len(states)))
    for _ in range(MAX_HISTORY_LENGTH):
        questions: dict[int, list[tuple[int, int]]] = {}  # by agent: episodes and players
        for n in active:
            while (player := game.player(reached[n])) == CHANCE:
                outcomes = game.chance_outcomes(reached[n])
                index = sample_index([p for _, p in outcomes], draws[n](CHANCE))
                reached[n] = game.next_state(reached[n], outcomes[index][0])
            if player != TERMINAL:
                questions.setdefault(id(seats[n][player]), []).append((n, player))
        if not questions:
            return reached
        for pairs in questions.values():
            episode, player = pairs[0]
            players = [acting for _, acting in pairs]
            asked = [reached[n] for n, _ in pairs]
            answers = ask_agent(seats[episode][player], asked, players)
            for (n, acting), probabilities in zip(pairs, answers, strict=True):
                actions = game.actions(reached[n])
                action = actions[sample_index(probabilities, draws[n](acting))]
                reached[n] = game.next_state(reached[n], action)
        active = sorted(n for pairs in questions.values() for n, _ in pairs)
    raise rule_error(game, (), f"still not over after {MAX_HISTORY_LENGTH:,} turns")


def sample_index(probabilities: Sequence[float], number: float) -> int:
    """Return the index that a random number in [0, 1) selects; never one of probability 0."""
    left, index = number * sum(probabilities), -1
    for k, probability in enumerate(probabilities):
        if probability > 0.0:
            index = k
            left -= probability
            if left < 0.0:
                break
    return index


def _action_distribution(
    game: Game, state: State, player: int, agents: Sequence[Agent | None]
) -> tuple[Sequence[int], Sequence[float] | None]:
    """Return the actions at a state and their probabilities, or None at an empty seat."""
    if player == CHANCE:
        outcomes = game.chance_outcomes(state)
        if problem := outcomes_problem(outcomes):
            raise _RuleFaultError(problem)
        return [action for action, _ in outcomes], [p for _, p in outcomes]
    if problem := player_problem(player, game.num_players):
        raise _RuleFaultError(problem)
    agent = agents[player]
    if agent is None:
        return (), None
    actions = game.actions(state)
    if problem := actions_problem(actions, player):
        raise _RuleFaultError(problem)
    return actions, agent.action_probabilities(state, player)


def _is_distribution(values: Sequence[float], size: int) -> bool:
    """Return True if there are `size` values, none negative, with a sum of 1."""
    return len(values) == size and abs(sum(values) - 1.0) <= 1e-6 and not min(values) < 0.0


class _RuleFaultError(Exception):
    """A fault in the rules; the caller adds the history."""


def _diagnose(game: Game, state: State, steps: list[EpisodeStep], error: Exception) -> Exception:
    """Return the error to raise if the rules or an agent failed at a state.

    A fault of the rules becomes an error with the history; an error of an agent stays as it is.
    """
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
