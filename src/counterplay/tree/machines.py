"""Compiled rules: a game as a small machine on integers, for trees of millions of nodes.

docs/compiled_rules.md says how to write one; `check_machine` proves it equal to the readable rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from counterplay.arena import Floats, Ints
from counterplay.errors import GameError
from counterplay.game import (
    CHANCE,
    TERMINAL,
    Game,
    ObservedGame,
    State,
    describe_history,
    title,
)
from counterplay.registry import MACHINES, find_class, spec_of


class Machine(NamedTuple):
    """Five compiled functions or six, which treat many states [N, W] at once; P players.

    They write their last arguments, and `step` the states. `rules` are the game's parameters, as
    integers.
    """

    rules: Ints  # int64
    start: Ints  # [W] int32, the state before anything has happened
    look: Callable[..., Any]  # (rules, states, player [N], count [N]): who acts, how many actions
    # (rules, states, player, first [N + 1], action [C], chance [C]): the actions or outcomes, those
    # of state n from first[n] on; chance is 1 for a player's actions
    offer: Callable[..., Any]
    step: Callable[..., Any]  # (rules, states, player, action [N]): every state becomes the next
    pay: Callable[..., Any]  # (rules, terminal states, utility [N, P])
    see: Callable[..., Any]  # (rules, states, player, key [N]): what the one to act knows, int64
    # (rules, states, viewer [N], observation [N, X] float32): the game's `observation`; None:
    # networks ask the readable rules
    watch: Callable[..., Any] | None = None

    def looked_at(self, states: Ints) -> tuple[Ints, Ints]:
        """Who acts in each state, and how many actions or outcomes there are."""
        player, count = np.empty((2, len(states)), np.int64)
        self.look(self.rules, states, player, count)
        return player, count

    def offered(self, states: Ints, player: Ints, first: Ints) -> tuple[Ints, Floats]:
        """All actions or outcomes, those of state n from first[n] on; chance's probabilities."""
        action, chance = np.empty(first[-1], np.int64), np.empty(first[-1])
        self.offer(self.rules, states, player, first, action, chance)
        return action, chance

    def stepped(self, states: Ints, which: Ints, player: Ints, action: Ints) -> Ints:
        """What follows each of the states `which` when its `action` is taken."""
        following = states[which]
        self.step(self.rules, following, player[which], action)
        return following

    def paid(self, states: Ints, num_players: int) -> Floats:
        """The utilities at terminal states."""
        utility = np.empty((len(states), num_players))
        self.pay(self.rules, states, utility)
        return utility

    def seen(self, states: Ints, player: Ints) -> Ints:
        """What the one to act knows, as a number."""
        key = np.empty(len(states), np.int64)
        self.see(self.rules, states, player, key)
        return key

    def watched(self, states: Ints, viewer: Ints, size: int) -> Any:
        """What players see [N, size]; only where the machine can say."""
        assert self.watch is not None
        observation = np.empty((len(states), size), np.float32)
        self.watch(self.rules, states, viewer, observation)
        return observation


def machine_of(game: Game) -> Machine | None:
    """The machine that a game has itself (`machine()`) or that is known for it; or none."""
    if hasattr(game, "machine"):
        found: Machine | None = game.machine()
        return found
    name = spec_of(game).partition("(")[0]
    made: Machine | None = find_class(MACHINES, name)(game) if name in MACHINES else None
    return made


def check_machine(
    game: Game, machine: Machine, *, max_nodes: int = 100_000, episodes: int = 1000, seed: int = 0
) -> int:
    """Go through the readable rules and the machine side by side; how many nodes agreed.

    All of the game if it has at most `max_nodes`, and as many random episodes as wanted.

    Raises:
        GameError: the first difference, with the history that leads to it.
    """
    check = _SideBySide(game, machine)
    rng = random.Random(seed)
    for _ in range(episodes):
        pair = check.root()
        while children := check.compare(*pair):
            pair = rng.choice(children)
    stack = [check.root()]
    seen = 0
    while stack and seen < max_nodes:
        seen += 1
        stack += check.compare(*stack.pop())
    return seen


class _SideBySide:
    def __init__(self, game: Game, machine: Machine):
        self.game, self.machine = game, machine
        self.keys: dict[tuple[int, str], int] = {}
        self.numbers: dict[tuple[int, int], str] = {}

    def root(self) -> tuple[State, Ints, tuple[int, ...]]:
        return self.game.initial_state(), self.machine.start[None], ()

    def compare(self, state: State, row: Ints, history: tuple[int, ...]) -> list[Any]:
        """Compare one node; its children as (state, row, history)."""
        game, machine = self.game, self.machine
        player = game.player(state)
        found, count = machine.looked_at(row)
        self.same(history, "who acts", player, int(found[0]))
        if player == TERMINAL:
            paid = machine.paid(row, game.num_players)[0].tolist()
            self.same(history, "the utilities", list(map(float, game.utilities(state))), paid)
            return []
        by_chance = player == CHANCE
        offered: Any = game.chance_outcomes(state) if by_chance else game.actions(state)
        what = "the number of outcomes" if by_chance else "the number of actions"
        self.same(history, what, len(offered), int(count[0]))  # else `offer` writes past its end
        first = np.array([0, count[0]])
        actions, chance = machine.offered(row, found, first)
        children = machine.stepped(row, np.zeros(len(actions), np.int64), found, actions)
        if by_chance:
            outcomes = [(int(a), float(p)) for a, p in offered]
            listed = list(zip(actions.tolist(), chance.tolist(), strict=True))
            self.same(history, "the outcomes", outcomes, listed)
        else:
            self.same(history, "the actions", list(offered), actions.tolist())
            self.same_infoset(history, player, game.infoset_key(state, player), row, found)
            self.same_observations(history, state, row)
        return [
            (game.next_state(state, action), children[k : k + 1], (*history, action))
            for k, action in enumerate(actions.tolist())
        ]

    def same_infoset(
        self, history: tuple[int, ...], player: int, key: str, row: Ints, found: Ints
    ) -> None:
        number = int(self.machine.seen(row, found)[0])
        before = self.keys.setdefault((player, key), number)
        self.same(history, f"what is seen at infoset {key!r}", before, number)
        other = self.numbers.setdefault((player, number), key)
        self.same(history, f"the infoset of what is seen, {number},", key, other)

    def same_observations(self, history: tuple[int, ...], state: State, row: Ints) -> None:
        if self.machine.watch is None or not isinstance(self.game, ObservedGame):
            return
        for player in range(self.game.num_players):
            seen = np.array(self.game.observation(state, player), np.float32)
            found = self.machine.watched(row, np.array([player]), seen.size)[0]
            self.same(history, f"what player {player} observes", seen.tolist(), found.tolist())

    def same(self, history: tuple[int, ...], what: str, readable: object, compiled: object) -> None:
        if readable != compiled:
            self.fail(history, f"{what} is {readable} by the rules, {compiled} by the machine")

    def fail(self, history: tuple[int, ...], problem: str) -> NoReturn:
        where = describe_history(self.game, history)
        raise GameError(f"{title(self.game)}: {problem}; history: {where}")
