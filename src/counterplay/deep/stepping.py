"""Many states of a game that is never unrolled, stepped together.

Compiled rules step all of them at once; games without a machine take their turn one by one. Both
say the same: who acts, what follows, what everybody observes.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.errors import ConfigError, GameError
from counterplay.game import CHANCE, TERMINAL, Game
from counterplay.observing import with_observations
from counterplay.registry import spec_of
from counterplay.rule_checks import (
    CHANCE_TOLERANCE,
    LARGEST,
    actions_problem,
    call_rule,
    check_protocol,
    outcomes_problem,
    player_problem,
    raise_rule_error,
    rule_error,
    utilities_problem,
)
from counterplay.tree.machines import Machine, machine_of

NUM_PROBES = 300  # episodes in which a player must act for once
MAX_CHECKED = 10_000  # tuples of actions remembered as checked
MAX_OUTPUTS = 1_000_000  # of a network: one more than the largest action
LOOKED_AT = 300  # random episodes that say how many actions a game has, if it does not say itself
LONGEST = 10_000  # actions; a longer episode counts as a game that never ends


class Turn(NamedTuple):
    """Where N states stand: what may follow state n is numbered first[n] to first[n + 1]."""

    player: Ints  # [N] who acts, or CHANCE, or TERMINAL
    first: Ints  # [N + 1]
    action: Ints  # [C] that leads there
    chance: Floats  # [C] its probability, where chance acts


class Rules:
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
                    if len(history) > LONGEST:
                        raise rule_error(game, history, f"chance acts {LONGEST:,} times in a row")
            except Exception as error:
                raise_rule_error(game, history, error)
            if player != TERMINAL:
                return state, player
        raise GameError(f"{spec_of(game)}: no player acts in {NUM_PROBES} random episodes")

    def observe(self, state: Any, player: int) -> Any:
        """Return what a player observes at a state of the game."""
        return self.game.observation(state, player)

    @cached_property
    def num_actions(self) -> int:
        """One more than the largest action: the game's own word, or what random episodes met."""
        own = hasattr(self.game, "num_distinct_actions")
        count = int(self.game.num_distinct_actions) if own else self.looked_at[0]
        if count > MAX_OUTPUTS:
            raise ConfigError(
                f"{spec_of(self.game)} has actions up to {count - 1:,}; networks have an output "
                f"for each number, {MAX_OUTPUTS:,} at most: number the actions from 0 on"
            )
        return count

    @property
    def some_utilities(self) -> Floats:
        """What everybody earned [N, P] in random episodes, always the same ones."""
        return self.looked_at[1]

    @property
    def largest_utility(self) -> float:
        """Of these: what others are measured in, and no bound on them; 1 where that is nothing."""
        return float(np.abs(self.some_utilities).max()) or 1.0

    @cached_property
    def looked_at(self) -> tuple[int, Floats]:
        """One more than the largest action, and all utilities [N, P], in random episodes."""
        rng, most, earned = np.random.default_rng(0), 1, []
        states = self.start(LOOKED_AT)
        for _ in range(LONGEST):
            if not len(states):
                break
            states, turn = self.past_chance(states, rng)
            acting = np.flatnonzero(turn.player >= 0)
            over = np.flatnonzero(turn.player == TERMINAL)
            if over.size:
                earned.append(self.paid(self.some(states, over)))
            of_players = np.repeat(turn.player >= 0, np.diff(turn.first))
            most = max(most, int(turn.action[of_players].max(initial=-1)) + 1)
            count = np.diff(turn.first)[acting]
            chosen = turn.first[acting] + (rng.random(acting.size) * count).astype(np.int64)
            states = self.taken(states, turn, acting, chosen)
        else:
            raise GameError(f"{spec_of(self.game)}: not over after {LONGEST:,} decisions")
        return most, np.concatenate(earned) if earned else np.zeros((0, self.num_players))

    def start(self, count: int) -> Any:
        raise NotImplementedError

    def turn(self, states: Any) -> Turn:
        raise NotImplementedError

    def taken(self, states: Any, turn: Turn, which: Ints, chosen: Ints) -> Any:
        """The states after `chosen` (numbers of what may follow) at the states `which`."""
        raise NotImplementedError

    def some(self, states: Any, which: Ints) -> Any:
        raise NotImplementedError

    def replaced(self, states: Any, which: Ints, new: Any) -> Any:
        raise NotImplementedError

    def observed(self, states: Any, viewer: Ints) -> Any:
        """What the viewers see [N, X]."""
        raise NotImplementedError

    def paid(self, states: Any) -> Floats:
        """Utilities [N, P] of terminal states."""
        raise NotImplementedError

    def past_chance(self, states: Any, rng: np.random.Generator) -> tuple[Any, Turn]:
        """The states after chance has acted wherever it is to act."""
        for _ in range(LONGEST):
            turn = self.turn(states)
            random = np.flatnonzero(turn.player == CHANCE)
            if not random.size:
                return states, turn
            chosen = drawn(turn, random, rng.random(random.size))
            states = self.replaced(states, random, self.taken(states, turn, random, chosen))
        raise GameError(f"{spec_of(self.game)}: chance acts {LONGEST:,} times in a row")

    def legal(self, turn: Turn, which: Ints) -> tuple[Any, Ints]:
        """Which actions exist [N, A] at some states, and the number of what follows each."""
        counts = np.diff(turn.first)[which]
        row = np.repeat(np.arange(which.size), counts)
        inside = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts)
        number = np.repeat(turn.first[which], counts) + inside
        action = turn.action[number]
        if action.max(initial=0) >= self.num_actions:
            raise GameError(
                f"{spec_of(self.game)} has an action {action.max()}; give the game "
                "num_distinct_actions, one more than its largest action"
            )
        place = np.full((which.size, self.num_actions), -1, np.int64)
        place[row, action] = number
        return place >= 0, place


def drawn(turn: Turn, which: Ints, draws: Floats) -> Ints:
    """What chance chooses at the states `which`, by numbers in [0, 1)."""
    total = np.append(0.0, np.cumsum(turn.chance))
    low, high = total[turn.first[which]], total[turn.first[which + 1]]
    found = np.searchsorted(total, low + draws * (high - low), side="right") - 1
    return np.clip(found, turn.first[which], turn.first[which + 1] - 1)


class CompiledRules(Rules):
    """The states of a machine, as rows of integers."""

    def __init__(self, game: Game, machine: Machine):
        super().__init__(game)
        self.machine = machine

    def __reduce__(self) -> Any:
        """Compiled code stays where it is; elsewhere it is made of the game again."""
        return known_rules, (self.game,)

    def start(self, count: int) -> Any:
        return np.repeat(self.machine.start[None], count, axis=0)

    def turn(self, states: Any) -> Turn:
        player, count = self.machine.looked_at(states)
        first = np.zeros(count.size + 1, np.int64)
        np.cumsum(count, out=first[1:])
        action, chance = self.machine.offered(states, player, first)
        return Turn(player, first, action, chance)

    def taken(self, states: Any, turn: Turn, which: Ints, chosen: Ints) -> Any:
        return self.machine.stepped(states, which, turn.player, turn.action[chosen])

    def some(self, states: Any, which: Ints) -> Any:
        return states[which]

    def replaced(self, states: Any, which: Ints, new: Any) -> Any:
        states = states.copy()
        states[which] = new
        return states

    def observed(self, states: Any, viewer: Ints) -> Any:
        return self.machine.watched(states, viewer, self.num_features)

    def paid(self, states: Any) -> Floats:
        found = self.machine.paid(states, self.num_players)
        wrong = np.flatnonzero(~(np.abs(found) <= LARGEST).all(axis=1))
        if wrong.size:
            problem = utilities_problem(found[wrong[0]].tolist(), self.num_players)
            raise GameError(f"{spec_of(self.game)}: its compiled rules say: {problem}")
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


class ReadableRules(Rules):
    """The game's own states, in a list; answers of the rules are checked as on a tree."""

    def __init__(self, game: Game):
        super().__init__(game)
        self.checked: set[tuple[int, ...]] = set()  # actions of players and outcomes of chance

    def start(self, count: int) -> Any:
        state = call_rule(self.game, lambda: (), self.game.initial_state)
        return [Reached(state, None, -1)] * count

    def turn(self, states: Any) -> Turn:
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
        return Turn(np.array(player, np.int64), first, numbers, np.array(chance))

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

    def taken(self, states: Any, turn: Turn, which: Ints, chosen: Ints) -> Any:
        pairs = zip(which.tolist(), turn.action[chosen].tolist(), strict=True)
        return [self.follow(states[n], action) for n, action in pairs]

    def follow(self, reached: Reached, action: int) -> Reached:
        """Return the state after an action."""
        state = call_rule(self.game, reached.history, self.game.next_state, reached.state, action)
        return Reached(state, reached, action)

    def some(self, states: Any, which: Ints) -> Any:
        return [states[n] for n in which.tolist()]

    def replaced(self, states: Any, which: Ints, new: Any) -> Any:
        states = list(states)
        for n, state in zip(which.tolist(), new, strict=True):
            states[n] = state
        return states

    def observed(self, states: Any, viewer: Ints) -> Any:
        rows = [self.observation(s, p) for s, p in zip(states, viewer.tolist(), strict=True)]
        return np.array(rows, np.float32).reshape(len(states), self.num_features)

    def observation(self, reached: Reached, player: int) -> Any:
        """Return what a player observes at a state, checked."""
        row = call_rule(self.game, reached.history, self.observe, reached.state, player)
        if len(row) != self.num_features:
            problem = f"observation has {len(row)} entries, not {self.num_features}"
            raise rule_error(self.game, reached.history(), problem)
        return row

    def paid(self, states: Any) -> Floats:
        rows = []
        for reached in states:
            row = call_rule(self.game, reached.history, self.game.utilities, reached.state)
            self.check(reached, utilities_problem(row, self.num_players))
            rows.append(row)
        return np.array(rows, np.float64).reshape(len(states), self.num_players)


class AgainstPolicy(ReadableRules):
    """One player's game: the others follow a policy, and so are chance to it."""

    def __init__(self, game: Game, policy: Any, player: int):
        super().__init__(game)
        self.policy, self.alone = policy, player

    def turn(self, states: Any) -> Turn:
        turn = super().turn(states)
        for n in np.flatnonzero((turn.player >= 0) & (turn.player != self.alone)).tolist():
            odds = self.policy.odds(states[n].state, int(turn.player[n]))
            turn.chance[turn.first[n] : turn.first[n + 1]] = odds
            turn.player[n] = CHANCE
        return turn


def rules_of(game: Game) -> Rules:
    """The game, ready for many states at once."""
    machine = machine_of(game)
    if machine is None or machine.watch is None:
        return ReadableRules(game)
    return CompiledRules(game, machine)


@lru_cache(maxsize=8)
def known_rules(game: Any) -> Rules:
    """The same, made once for a game."""
    return rules_of(game)
