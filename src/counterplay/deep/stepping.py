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
from counterplay.observing import observes
from counterplay.registry import spec_of
from counterplay.tree.machines import Machine, machine_of

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
        if not observes(game):
            raise ConfigError(
                f"{spec_of(game)} has no observation(state, player), which networks need where "
                "there is no tree"
            )
        self.game, self.num_players = game, game.num_players

    @cached_property
    def num_features(self) -> int:
        game: Any = self.game
        state = game.initial_state()
        while game.player(state) == CHANCE:
            state = game.next_state(state, game.chance_outcomes(state)[0][0])
        return len(game.observation(state, 0))

    @cached_property
    def num_actions(self) -> int:
        """One more than the largest action: the game's own word, or what random episodes met."""
        if hasattr(self.game, "num_distinct_actions"):
            return int(self.game.num_distinct_actions)
        return self.looked_at[0]

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
        while len(states):
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
        return most, np.concatenate(earned)

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
        return self.machine.paid(states, self.num_players)


class ReadableRules(Rules):
    """The game's own states, in a list."""

    def start(self, count: int) -> Any:
        return [self.game.initial_state()] * count

    def turn(self, states: Any) -> Turn:
        game, player, counts = self.game, [], []
        action: list[int] = []
        chance: list[float] = []
        for state in states:
            player.append(game.player(state))
            before = len(action)
            if player[-1] == CHANCE:
                outcomes = game.chance_outcomes(state)
                action += [a for a, _ in outcomes]
                chance += [p for _, p in outcomes]
            elif player[-1] != TERMINAL:
                action += game.actions(state)
                chance += [1.0] * (len(action) - before)
            counts.append(len(action) - before)
        first = np.cumsum([0, *counts])
        numbers = np.array(action, np.int64)
        return Turn(np.array(player, np.int64), first, numbers, np.array(chance))

    def taken(self, states: Any, turn: Turn, which: Ints, chosen: Ints) -> Any:
        pairs = zip(which.tolist(), turn.action[chosen].tolist(), strict=True)
        return [self.game.next_state(states[n], action) for n, action in pairs]

    def some(self, states: Any, which: Ints) -> Any:
        return [states[n] for n in which.tolist()]

    def replaced(self, states: Any, which: Ints, new: Any) -> Any:
        states = list(states)
        for n, state in zip(which.tolist(), new, strict=True):
            states[n] = state
        return states

    def observed(self, states: Any, viewer: Ints) -> Any:
        game: Any = self.game
        rows = [game.observation(s, p) for s, p in zip(states, viewer.tolist(), strict=True)]
        return np.array(rows, np.float32).reshape(len(states), self.num_features)

    def paid(self, states: Any) -> Floats:
        rows = [self.game.utilities(state) for state in states]
        return np.array(rows, np.float64).reshape(len(states), self.num_players)


class AgainstPolicy(ReadableRules):
    """One player's game: the others follow a policy, and so are chance to it."""

    def __init__(self, game: Game, policy: Any, player: int):
        super().__init__(game)
        self.policy, self.alone = policy, player

    def turn(self, states: Any) -> Turn:
        turn = super().turn(states)
        for n in np.flatnonzero((turn.player >= 0) & (turn.player != self.alone)).tolist():
            odds = self.policy.odds(states[n], int(turn.player[n]))
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
