"""Batches of states of a game that is never unrolled.

Games with compiled rules step a whole batch in one call; other games step one state at a time.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from counterplay.core.arena import Floats, Ints
from counterplay.core.game import CHANCE, TERMINAL, Game
from counterplay.core.game_checks import (
    CHANCE_TOLERANCE,
    MAX_ABS_UTILITY,
    actions_problem,
    call_rule,
    check_protocol,
    outcomes_problem,
    player_problem,
    raise_rule_error,
    rule_error,
    utilities_problem,
)
from counterplay.core.observations import with_observations
from counterplay.errors import ConfigError, GameError
from counterplay.games.compiled.protocol import CompiledGame, find_observed_game
from counterplay.play.episodes import ask_agent
from counterplay.registry import get_spec

NUM_PROBES = 300  # random starts among which one must lead to a decision
MAX_CHECKED = 10_000  # tuples of actions remembered as valid
MAX_OUTPUTS = 1_000_000  # of a network: one more than the largest action
NUM_PROBE_EPISODES = 300  # random episodes that give the utilities' scale and the largest action
MAX_EPISODE_LENGTH = 10_000  # actions; a game with a longer episode is refused as endless


class TurnBatch(NamedTuple):
    """Acting players and possible actions of N states.

    The choices of state n, actions or chance outcomes, have the numbers offset[n] to offset[n + 1].
    """

    player: Ints  # [N] the acting player, CHANCE or TERMINAL
    offset: Ints  # [N + 1]
    action: Ints  # [C] of each choice
    chance_prob: Floats  # [C] probability of each choice at chance nodes


class RandomEpisodes(NamedTuple):
    """Facts about a fixed set of N random episodes."""

    num_actions: int  # one more than the largest action of a player
    utilities: Floats  # [N, P]
    mean_decisions: Floats  # [P] decisions of each player in an episode
    max_decisions: int  # decisions of all players in the longest episode


class BatchedEnv:
    """A game that steps batches of states; each subclass has its own representation of states."""

    def __init__(self, game: Game):
        check_protocol(game)
        self.game, self.num_players = with_observations(game), game.num_players
        self.sizes_by_batch: dict[int, Any] = {}  # by number of episodes: see `rollouts`

    @cached_property
    def num_features(self) -> int:
        """The length of an observation."""
        state, player = self.some_decision
        return len(call_rule(self.game, lambda: (), self.observe, state, player))

    @cached_property
    def some_decision(self) -> tuple[Any, int]:
        """A state at which a player acts, and the player."""
        game, rng = self.game, np.random.default_rng(0)
        for episode in range(NUM_PROBES):
            history: list[int] = []
            try:
                state = game.initial_state()
                while (player := game.player(state)) == CHANCE:
                    outcomes = game.chance_outcomes(state)
                    place = int(rng.integers(len(outcomes))) if episode else 0
                    history.append(outcomes[place][0])
                    state = game.next_state(state, history[-1])
                    if len(history) > MAX_EPISODE_LENGTH:
                        raise rule_error(
                            game, history, f"chance acts {MAX_EPISODE_LENGTH:,} times in a row"
                        )
            except Exception as error:
                raise_rule_error(game, history, error)
            if player != TERMINAL:
                return state, player
        raise GameError(f"{get_spec(game)}: no player acts in {NUM_PROBES} random episodes")

    def observe(self, state: Any, player: int) -> Any:
        """Return what a player observes at a state of the game."""
        return self.game.observation(state, player)

    @cached_property
    def num_actions(self) -> int:
        """One more than the largest action, as the game states it or as random episodes show it."""
        is_stated = hasattr(self.game, "num_distinct_actions")
        count = (
            int(self.game.num_distinct_actions)
            if is_stated
            else self.random_episode_summary.num_actions
        )
        if count > MAX_OUTPUTS:
            raise ConfigError(
                f"{get_spec(self.game)} has actions up to {count - 1:,}; networks have an output "
                f"for each number, {MAX_OUTPUTS:,} at most: number the actions from 0 on"
            )
        return count

    @property
    def random_episode_utilities(self) -> Floats:
        """Utilities [N, P] of all players in a fixed set of random episodes."""
        return self.random_episode_summary.utilities

    @property
    def largest_utility(self) -> float:
        """The largest absolute utility of the random episodes, or 1 if all are zero.

        It is a scale, not a bound: other episodes can have larger utilities.
        """
        return float(np.abs(self.random_episode_utilities).max()) or 1.0

    @cached_property
    def random_episode_summary(self) -> RandomEpisodes:
        """Actions, utilities and lengths of random episodes."""
        rng, num_actions, utilities = np.random.default_rng(0), 1, []
        decisions, longest = np.zeros(self.num_players), 0
        states = self.initial_states(NUM_PROBE_EPISODES)
        for _ in range(MAX_EPISODE_LENGTH):
            if not len(states):
                break
            states, turn = self.sample_chance(states, rng)
            acting = np.flatnonzero(turn.player >= 0)
            terminal = np.flatnonzero(turn.player == TERMINAL)
            if terminal.size:
                utilities.append(self.utilities(self.select(states, terminal)))
            is_players = np.repeat(turn.player >= 0, np.diff(turn.offset))
            num_actions = max(num_actions, int(turn.action[is_players].max(initial=-1)) + 1)
            decisions += np.bincount(turn.player[acting], minlength=self.num_players)
            longest += bool(acting.size)
            count = np.diff(turn.offset)[acting]
            chosen = turn.offset[acting] + (rng.random(acting.size) * count).astype(np.int64)
            states = self.next_states(states, turn, acting, chosen)
        else:
            raise GameError(
                f"{get_spec(self.game)}: not over after {MAX_EPISODE_LENGTH:,} decisions"
            )
        utility = np.concatenate([np.zeros((0, self.num_players)), *utilities])
        return RandomEpisodes(num_actions, utility, decisions / NUM_PROBE_EPISODES, longest)

    def initial_states(self, count: int) -> Any:
        """Return `count` copies of the initial state."""
        raise NotImplementedError

    def turn_batch(self, states: Any) -> TurnBatch:
        """Return the acting players and possible actions of states."""
        raise NotImplementedError

    def next_states(self, states: Any, turn: TurnBatch, indices: Ints, chosen: Ints) -> Any:
        """Return the states that follow.

        Args:
            states: the states.
            turn: their `turn_batch`.
            indices: the states to continue [M].
            chosen: the number of the choice at each of them [M].
        """
        raise NotImplementedError

    def select(self, states: Any, indices: Ints) -> Any:
        """Return the states at these indices."""
        raise NotImplementedError

    def replace(self, states: Any, indices: Ints, new_states: Any) -> Any:
        """Return the states with new ones at these indices."""
        raise NotImplementedError

    def observations(self, states: Any, viewer: Ints) -> Any:
        """Return the observations [N, X] of one player, the viewer, at each state."""
        raise NotImplementedError

    def utilities(self, states: Any) -> Floats:
        """Return the utilities [N, P] of terminal states."""
        raise NotImplementedError

    def sample_chance(self, states: Any, rng: np.random.Generator) -> tuple[Any, TurnBatch]:
        """Return the states after all chance nodes have been sampled, and their turns."""
        for _ in range(MAX_EPISODE_LENGTH):
            turn = self.turn_batch(states)
            random = np.flatnonzero(turn.player == CHANCE)
            if not random.size:
                return states, turn
            chosen = sample_chance_outcomes(turn, random, rng.random(random.size))
            states = self.replace(states, random, self.next_states(states, turn, random, chosen))
        raise GameError(f"{get_spec(self.game)}: chance acts {MAX_EPISODE_LENGTH:,} times in a row")

    def legal_actions(self, turn: TurnBatch, indices: Ints) -> tuple[Any, Ints]:
        """Return a mask of legal actions [N, A] at these states, and the number of each choice."""
        counts = np.diff(turn.offset)[indices]
        row = np.repeat(np.arange(indices.size), counts)
        inside = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        number = np.repeat(turn.offset[indices], counts) + inside
        action = turn.action[number]
        if action.max(initial=0) >= self.num_actions:
            raise GameError(
                f"{get_spec(self.game)} has an action {action.max()}; give the game "
                "num_distinct_actions, one more than its largest action"
            )
        number_by_action = np.full((indices.size, self.num_actions), -1, np.int64)
        number_by_action[row, action] = number
        return number_by_action >= 0, number_by_action


def sample_chance_outcomes(turn: TurnBatch, indices: Ints, draws: Floats) -> Ints:
    """Return the numbers of the outcomes that random draws in [0, 1) select at chance nodes."""
    total = np.append(0.0, np.cumsum(turn.chance_prob))
    low, high = total[turn.offset[indices]], total[turn.offset[indices + 1]]
    number = np.searchsorted(total, low + draws * (high - low), side="right") - 1
    return np.clip(number, turn.offset[indices], turn.offset[indices + 1] - 1)


class CompiledBatchedEnv(BatchedEnv):
    """Compiled rules, whose states are rows of integers."""

    def __init__(self, game: Game, machine: CompiledGame):
        super().__init__(game)
        self.machine = machine

    def __reduce__(self) -> Any:
        """Pickle the game only; the compiled rules are looked up again when it is loaded."""
        return get_env, (self.game,)

    def initial_states(self, count: int) -> Any:
        return np.repeat(self.machine.initial_state[None], count, axis=0)

    def turn_batch(self, states: Any) -> TurnBatch:
        player, count = self.machine.find_players(states)
        first = np.zeros(count.size + 1, np.int64)
        np.cumsum(count, out=first[1:])
        action, chance = self.machine.list_actions(states, player, first)
        return TurnBatch(player, first, action, chance)

    def next_states(self, states: Any, turn: TurnBatch, indices: Ints, chosen: Ints) -> Any:
        return self.machine.take_actions(states, indices, turn.player, turn.action[chosen])

    def select(self, states: Any, indices: Ints) -> Any:
        return states[indices]

    def replace(self, states: Any, indices: Ints, new_states: Any) -> Any:
        states = states.copy()
        states[indices] = new_states
        return states

    def observations(self, states: Any, viewer: Ints) -> Any:
        return self.machine.compute_observations(states, viewer, self.num_features)

    def utilities(self, states: Any) -> Floats:
        utility = self.machine.compute_utilities(states, self.num_players)
        invalid = np.flatnonzero(~(np.abs(utility) <= MAX_ABS_UTILITY).all(axis=1))
        if invalid.size:
            problem = utilities_problem(utility[invalid[0]].tolist(), self.num_players)
            raise GameError(f"{get_spec(self.game)}: its compiled rules say: {problem}")
        return utility


class StatePath(NamedTuple):
    """A state and the actions that led to it, which error messages of the rules list."""

    state: Any
    before: Any  # the StatePath one action earlier; None at the root
    action: int

    def history(self) -> list[int]:
        """Return the actions from the root."""
        actions, path = [], self
        while path.before is not None:
            actions.append(path.action)
            path = path.before
        return actions[::-1]


class PythonBatchedEnv(BatchedEnv):
    """Rules in Python, whose states are a list; all results are checked as for a tree."""

    def __init__(self, game: Game):
        super().__init__(game)
        self.checked: set[tuple[int, ...]] = set()  # tuples of actions or outcomes found valid

    def initial_states(self, count: int) -> Any:
        state = call_rule(self.game, lambda: (), self.game.initial_state)
        return [StatePath(state, None, -1)] * count

    def turn_batch(self, states: Any) -> TurnBatch:
        player, counts = [], []
        action: list[int] = []
        chance: list[float] = []
        for path in states:
            try:
                acting, actions, probs = self.list_choices(path)
            except Exception as error:
                raise_rule_error(self.game, path.history(), error)
            player.append(acting)
            action += actions
            chance += probs
            counts.append(len(actions))
        first = np.cumsum([0, *counts])
        numbers = np.array(action, np.int64)
        return TurnBatch(np.array(player, np.int64), first, numbers, np.array(chance))

    def list_choices(self, path: StatePath) -> tuple[int, tuple[int, ...], list[float]]:
        """Return the acting player, its actions or the outcomes, and chance probabilities or 1."""
        game, state = self.game, path.state
        player = game.player(state)
        if player == TERMINAL:
            return player, (), []
        self.check(path, player_problem(player, self.num_players))
        if player == CHANCE:
            outcomes = game.chance_outcomes(state)
            actions, probs = tuple([a for a, _ in outcomes]), [p for _, p in outcomes]
            if actions not in self.checked or not abs(sum(probs) - 1.0) <= CHANCE_TOLERANCE:
                self.check(path, outcomes_problem(outcomes))
        else:
            actions = tuple(game.actions(state))
            probs = [1.0] * len(actions)
            if actions not in self.checked:
                self.check(path, actions_problem(actions, player))
        if actions not in self.checked:
            if len(self.checked) >= MAX_CHECKED:
                self.checked.clear()
            self.checked.add(actions)
        return player, actions, probs

    def check(self, path: StatePath, problem: str) -> None:
        """Raise the problem, if there is one."""
        if problem:
            raise rule_error(self.game, path.history(), problem)

    def next_states(self, states: Any, turn: TurnBatch, indices: Ints, chosen: Ints) -> Any:
        pairs = zip(indices.tolist(), turn.action[chosen].tolist(), strict=True)
        return [self.follow(states[n], action) for n, action in pairs]

    def follow(self, path: StatePath, action: int) -> StatePath:
        """Return the state after an action."""
        state = call_rule(self.game, path.history, self.game.next_state, path.state, action)
        return StatePath(state, path, action)

    def select(self, states: Any, indices: Ints) -> Any:
        return [states[n] for n in indices.tolist()]

    def replace(self, states: Any, indices: Ints, new_states: Any) -> Any:
        states = list(states)
        for n, state in zip(indices.tolist(), new_states, strict=True):
            states[n] = state
        return states

    def observations(self, states: Any, viewer: Ints) -> Any:
        rows = [self.observation(s, p) for s, p in zip(states, viewer.tolist(), strict=True)]
        return np.array(rows, np.float32).reshape(len(states), self.num_features)

    def observation(self, path: StatePath, player: int) -> Any:
        """Return what a player observes at a state, checked."""
        row = call_rule(self.game, path.history, self.observe, path.state, player)
        if len(row) != self.num_features:
            problem = f"observation has {len(row)} entries, not {self.num_features}"
            raise rule_error(self.game, path.history(), problem)
        return row

    def utilities(self, states: Any) -> Floats:
        rows = []
        for path in states:
            row = call_rule(self.game, path.history, self.game.utilities, path.state)
            self.check(path, utilities_problem(row, self.num_players))
            rows.append(row)
        return np.array(rows, np.float64).reshape(len(states), self.num_players)


class FixedOpponentsBatchedEnv(PythonBatchedEnv):
    """The game of one player against fixed opponents, whose decisions count as chance."""

    def __init__(self, game: Game, policy: Any, player: int):
        super().__init__(game)
        self.policy, self.learner = policy, player

    def turn_batch(self, states: Any) -> TurnBatch:
        turn = super().turn_batch(states)
        others = np.flatnonzero((turn.player >= 0) & (turn.player != self.learner)).tolist()
        asked = [states[n].state for n in others]
        answers = ask_agent(self.policy, asked, turn.player[others].tolist()) if others else []
        for n, probs in zip(others, answers, strict=True):
            turn.chance_prob[turn.offset[n] : turn.offset[n + 1]] = probs
            turn.player[n] = CHANCE
        return turn


def build_env(game: Game) -> BatchedEnv:
    """Return the game for batches of states, with compiled rules if it has them."""
    machine = find_observed_game(game)
    if machine is None:
        return PythonBatchedEnv(game)
    return CompiledBatchedEnv(game, machine)


@lru_cache(maxsize=8)
def get_env(game: Any) -> BatchedEnv:
    """Return `build_env(game)`, the same object for the same game."""
    return build_env(game)
