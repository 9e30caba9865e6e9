"""Many states of a game that is never unrolled, stepped together.

Compiled rules step all of them at once; games without a machine take their turn one by one. Both
say the same: who acts, what follows, what everybody observes.
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
from counterplay.games.compiled.protocol import CompiledGame, find_compiled_game
from counterplay.registry import get_spec

NUM_PROBES = 300  # episodes in which a player must act for once
MAX_CHECKED = 10_000  # tuples of actions remembered as checked
MAX_OUTPUTS = 1_000_000  # of a network: one more than the largest action
NUM_PROBE_EPISODES = (
    300  # random episodes that say how many actions a game has, if it does not say itself
)
MAX_EPISODE_LENGTH = 10_000  # actions; a longer episode counts as a game that never ends


class TurnBatch(NamedTuple):
    """Where N states stand: what may follow state n is numbered first[n] to first[n + 1]."""

    player: Ints  # [N] who acts, or CHANCE, or TERMINAL
    offset: Ints  # [N + 1]
    action: Ints  # [C] that leads there
    chance_prob: Floats  # [C] its probability, where chance acts


class BatchedEnv:
    """A game for networks: facts, and steps of many states. A state is known to its kind only."""

    def __init__(self, game: Game):
        check_protocol(game)
        self.game, self.num_players = with_observations(game), game.num_players

    @cached_property
    def num_features(self) -> int:
        """Return the length of an observation, at some state where a player acts."""
        state, player = self.some_decision
        return len(call_rule(self.game, lambda: (), self.observe, state, player))

    @cached_property
    def some_decision(self) -> tuple[Any, int]:
        """Return a state where a player acts, and the player."""
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
        """One more than the largest action: the game's own word, or what random episodes met."""
        own = hasattr(self.game, "num_distinct_actions")
        count = int(self.game.num_distinct_actions) if own else self.random_episode_summary[0]
        if count > MAX_OUTPUTS:
            raise ConfigError(
                f"{get_spec(self.game)} has actions up to {count - 1:,}; networks have an output "
                f"for each number, {MAX_OUTPUTS:,} at most: number the actions from 0 on"
            )
        return count

    @property
    def random_episode_utilities(self) -> Floats:
        """What everybody earned [N, P] in random episodes, always the same ones."""
        return self.random_episode_summary[1]

    @property
    def largest_utility(self) -> float:
        """Of these: what others are measured in, and no bound on them; 1 where that is nothing."""
        return float(np.abs(self.random_episode_utilities).max()) or 1.0

    @cached_property
    def random_episode_summary(self) -> tuple[int, Floats]:
        """One more than the largest action, and all utilities [N, P], in random episodes."""
        rng, most, earned = np.random.default_rng(0), 1, []
        states = self.initial_states(NUM_PROBE_EPISODES)
        for _ in range(MAX_EPISODE_LENGTH):
            if not len(states):
                break
            states, turn = self.sample_chance(states, rng)
            acting = np.flatnonzero(turn.player >= 0)
            over = np.flatnonzero(turn.player == TERMINAL)
            if over.size:
                earned.append(self.utilities(self.select(states, over)))
            of_players = np.repeat(turn.player >= 0, np.diff(turn.offset))
            most = max(most, int(turn.action[of_players].max(initial=-1)) + 1)
            count = np.diff(turn.offset)[acting]
            chosen = turn.offset[acting] + (rng.random(acting.size) * count).astype(np.int64)
            states = self.next_states(states, turn, acting, chosen)
        else:
            raise GameError(
                f"{get_spec(self.game)}: not over after {MAX_EPISODE_LENGTH:,} decisions"
            )
        return most, np.concatenate(earned) if earned else np.zeros((0, self.num_players))

    def initial_states(self, count: int) -> Any:
        raise NotImplementedError

    def turn_batch(self, states: Any) -> TurnBatch:
        raise NotImplementedError

    def next_states(self, states: Any, turn: TurnBatch, indices: Ints, chosen: Ints) -> Any:
        """The states after `chosen` (numbers of what may follow) at the states `which`."""
        raise NotImplementedError

    def select(self, states: Any, indices: Ints) -> Any:
        raise NotImplementedError

    def replace(self, states: Any, indices: Ints, new_states: Any) -> Any:
        raise NotImplementedError

    def observations(self, states: Any, viewer: Ints) -> Any:
        """What the viewers see [N, X]."""
        raise NotImplementedError

    def utilities(self, states: Any) -> Floats:
        """Utilities [N, P] of terminal states."""
        raise NotImplementedError

    def sample_chance(self, states: Any, rng: np.random.Generator) -> tuple[Any, TurnBatch]:
        """The states after chance has acted wherever it is to act."""
        for _ in range(MAX_EPISODE_LENGTH):
            turn = self.turn_batch(states)
            random = np.flatnonzero(turn.player == CHANCE)
            if not random.size:
                return states, turn
            chosen = sample_chance_outcomes(turn, random, rng.random(random.size))
            states = self.replace(states, random, self.next_states(states, turn, random, chosen))
        raise GameError(f"{get_spec(self.game)}: chance acts {MAX_EPISODE_LENGTH:,} times in a row")

    def legal_actions(self, turn: TurnBatch, indices: Ints) -> tuple[Any, Ints]:
        """Which actions exist [N, A] at some states, and the number of what follows each."""
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
        place = np.full((indices.size, self.num_actions), -1, np.int64)
        place[row, action] = number
        return place >= 0, place


def sample_chance_outcomes(turn: TurnBatch, indices: Ints, draws: Floats) -> Ints:
    """What chance chooses at the states `which`, by numbers in [0, 1)."""
    total = np.append(0.0, np.cumsum(turn.chance_prob))
    low, high = total[turn.offset[indices]], total[turn.offset[indices + 1]]
    found = np.searchsorted(total, low + draws * (high - low), side="right") - 1
    return np.clip(found, turn.offset[indices], turn.offset[indices + 1] - 1)


class CompiledBatchedEnv(BatchedEnv):
    """The states of a machine, as rows of integers."""

    def __init__(self, game: Game, machine: CompiledGame):
        super().__init__(game)
        self.machine = machine

    def __reduce__(self) -> Any:
        """Compiled code stays where it is; elsewhere it is made of the game again."""
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
        found = self.machine.compute_utilities(states, self.num_players)
        wrong = np.flatnonzero(~(np.abs(found) <= MAX_ABS_UTILITY).all(axis=1))
        if wrong.size:
            problem = utilities_problem(found[wrong[0]].tolist(), self.num_players)
            raise GameError(f"{get_spec(self.game)}: its compiled rules say: {problem}")
        return found


class Reached(NamedTuple):
    """A state of the game and how it was reached, which errors of the rules name."""

    state: Any
    before: Any  # Reached, or None at the start
    action: int

    def history(self) -> list[int]:
        actions, reached = [], self
        while reached.before is not None:
            actions.append(reached.action)
            reached = reached.before
        return actions[::-1]


class PythonBatchedEnv(BatchedEnv):
    """The game's own states, in a list; answers of the rules are checked as on a tree."""

    def __init__(self, game: Game):
        super().__init__(game)
        self.checked: set[tuple[int, ...]] = set()  # actions of players and outcomes of chance

    def initial_states(self, count: int) -> Any:
        state = call_rule(self.game, lambda: (), self.game.initial_state)
        return [Reached(state, None, -1)] * count

    def turn_batch(self, states: Any) -> TurnBatch:
        player, counts = [], []
        action: list[int] = []
        chance: list[float] = []
        for reached in states:
            try:
                acting, actions, odds = self.ask(reached)
            except Exception as error:
                raise_rule_error(self.game, reached.history(), error)
            player.append(acting)
            action += actions
            chance += odds
            counts.append(len(actions))
        first = np.cumsum([0, *counts])
        numbers = np.array(action, np.int64)
        return TurnBatch(np.array(player, np.int64), first, numbers, np.array(chance))

    def ask(self, reached: Reached) -> tuple[int, tuple[int, ...], list[float]]:
        """Return who acts at a state, the actions or outcomes, and the odds of chance (else 1)."""
        game, state = self.game, reached.state
        player = game.player(state)
        if player == TERMINAL:
            return player, (), []
        self.check(reached, player_problem(player, self.num_players))
        if player == CHANCE:
            outcomes = game.chance_outcomes(state)
            actions, odds = tuple([a for a, _ in outcomes]), [p for _, p in outcomes]
            if actions not in self.checked or not abs(sum(odds) - 1.0) <= CHANCE_TOLERANCE:
                self.check(reached, outcomes_problem(outcomes))
        else:
            actions = tuple(game.actions(state))
            odds = [1.0] * len(actions)
            if actions not in self.checked:
                self.check(reached, actions_problem(actions, player))
        if actions not in self.checked:
            if len(self.checked) >= MAX_CHECKED:
                self.checked.clear()
            self.checked.add(actions)
        return player, actions, odds

    def check(self, reached: Reached, problem: str) -> None:
        """Raise the problem, if there is one."""
        if problem:
            raise rule_error(self.game, reached.history(), problem)

    def next_states(self, states: Any, turn: TurnBatch, indices: Ints, chosen: Ints) -> Any:
        pairs = zip(indices.tolist(), turn.action[chosen].tolist(), strict=True)
        return [self.follow(states[n], action) for n, action in pairs]

    def follow(self, reached: Reached, action: int) -> Reached:
        """Return the state after an action."""
        state = call_rule(self.game, reached.history, self.game.next_state, reached.state, action)
        return Reached(state, reached, action)

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

    def observation(self, reached: Reached, player: int) -> Any:
        """Return what a player observes at a state, checked."""
        row = call_rule(self.game, reached.history, self.observe, reached.state, player)
        if len(row) != self.num_features:
            problem = f"observation has {len(row)} entries, not {self.num_features}"
            raise rule_error(self.game, reached.history(), problem)
        return row

    def utilities(self, states: Any) -> Floats:
        rows = []
        for reached in states:
            row = call_rule(self.game, reached.history, self.game.utilities, reached.state)
            self.check(reached, utilities_problem(row, self.num_players))
            rows.append(row)
        return np.array(rows, np.float64).reshape(len(states), self.num_players)


class FixedOpponentsBatchedEnv(PythonBatchedEnv):
    """One player's game: the others follow a policy, and so are chance to it."""

    def __init__(self, game: Game, policy: Any, player: int):
        super().__init__(game)
        self.policy, self.learner = policy, player

    def turn_batch(self, states: Any) -> TurnBatch:
        turn = super().turn_batch(states)
        for n in np.flatnonzero((turn.player >= 0) & (turn.player != self.learner)).tolist():
            odds = self.policy.action_probabilities(states[n].state, int(turn.player[n]))
            turn.chance_prob[turn.offset[n] : turn.offset[n + 1]] = odds
            turn.player[n] = CHANCE
        return turn


def build_env(game: Game) -> BatchedEnv:
    """The game, ready for many states at once."""
    machine = find_compiled_game(game)
    if machine is None or machine.observation is None:
        return PythonBatchedEnv(game)
    return CompiledBatchedEnv(game, machine)


@lru_cache(maxsize=8)
def get_env(game: Any) -> BatchedEnv:
    """The same, made once for a game."""
    return build_env(game)
