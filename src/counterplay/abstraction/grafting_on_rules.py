"""Strategy grafting on the rules of a game, for games too large for a tree such as hold'em."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from counterplay.abstraction.abstracted_game import AbstractedGame, abstract_game
from counterplay.arenas.rules import RulesArena, TabularPolicy
from counterplay.arenas.tree.arena import TreeArena
from counterplay.arenas.tree.replay import first_infoset_states
from counterplay.core.game import CHANCE, TERMINAL, Game, State, full_game
from counterplay.core.policy import Policy
from counterplay.errors import ConfigError
from counterplay.registry import get_spec

NUM_PROBE_EPISODES = 500  # random episodes in which the parts are checked
PartFunction = Callable[[str], int]  # part number of an infoset key


class RulesPolicy(Protocol):
    """A policy that is looked up by state, such as a `TabularPolicy`."""

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        ...


SolveRules = Callable[[RulesArena], RulesPolicy]


class GraftGame(AbstractedGame):
    """The rules of a game in which one player chooses in one part only.

    Elsewhere chance chooses for the player, by a fixed policy.

    Args:
        own_game: the rules, with the player's buckets.
        opponent_game: the rules, with the buckets of the other players.
        player: the player.
        part_of: part number of each of the player's infoset keys.
        number: the part in which the player chooses.
        fixed_policy: followed by the player in all other parts.
    """

    def __init__(
        self,
        own_game: Game,
        opponent_game: Game,
        player: int,
        part_of: PartFunction,
        number: int,
        fixed_policy: RulesPolicy,
    ):
        super().__init__(full_game(own_game), None)
        self.own_game, self.opponent_game = own_game, opponent_game
        self.grafted_player, self.part_of, self.number = player, part_of, number
        self.fixed_policy = fixed_policy

    @property
    def spec(self) -> str:
        """The game, and the player and part that are free."""
        return f"{get_spec(self.own_game)}, part {self.number} of player {self.grafted_player}"

    def player(self, state: State) -> int:
        """Return the acting player; CHANCE where the fixed policy acts."""
        player: int = self.full_game.player(state)
        if player == self.grafted_player and self._part(state) != self.number:
            return CHANCE
        return player

    def chance_outcomes(self, state: State) -> list[tuple[int, float]]:
        """Return the outcomes of chance, or the actions of the fixed policy."""
        player = self.full_game.player(state)
        if player == CHANCE:
            outcomes: list[tuple[int, float]] = self.full_game.chance_outcomes(state)
            return outcomes
        probabilities = self.fixed_policy.action_probabilities(state, player)
        return list(zip(self.full_game.actions(state), probabilities, strict=True))

    def infoset_key(self, state: State, player: int) -> str:
        """Return the key in the buckets of the player."""
        game = self.own_game if player == self.grafted_player else self.opponent_game
        return game.infoset_key(state, player)

    def _part(self, state: State) -> int:
        return self.part_of(self.own_game.infoset_key(state, self.grafted_player))


class GraftedPolicy:
    """A policy that follows a solution in each part, and the base policy elsewhere.

    Infosets that a tabular solution never visited keep the base policy too. The policy plays the
    full game, as policies of abstracted games do. The parts may have other buckets than the base,
    so that one table of rows does not hold it: save the policies it is made of.
    """

    def __init__(
        self, game: Game, base: RulesPolicy, player: int, part_of: PartFunction, own_game: Game
    ):
        self.game, self.spec, self.num_players = game, get_spec(game), game.num_players
        self.base, self.player, self.part_of, self.own_game = base, player, part_of, own_game
        self.solutions: dict[int, RulesPolicy] = {}  # by part

    def action_probabilities(self, state: State, player: int) -> list[float]:
        """Return the probabilities of the player's actions at a state."""
        if player != self.player:
            return self.base.action_probabilities(state, player)
        key = self.own_game.infoset_key(state, player)
        policy = self.solutions.get(self.part_of(key), self.base)
        if isinstance(policy, TabularPolicy) and (player, key) not in policy.rows:
            policy = self.base
        return policy.action_probabilities(state, player)

    def tabulate(self, tree: TreeArena) -> Policy:
        """Return the policy on the tree of the full game."""
        states = zip(tree.infoset_player.tolist(), first_infoset_states(tree), strict=True)
        rows = [self.action_probabilities(state, player) for player, state in states]
        return Policy(tree, np.array([p for row in rows for p in row]))


def graft_on_rules(
    arena: RulesArena,
    base_policy: RulesPolicy,
    player: int,
    part_of: PartFunction,
    solve: SolveRules,
    *,
    buckets: Any = None,
    opponent_buckets: Any = None,
    independent: bool = False,
) -> GraftedPolicy:
    """Return a base policy with each part of the player's infosets replaced by a solution.

    See `graft_policy`. Buckets are rules such as `ByEquity(num_buckets=20)`; by default they are
    those of the arena's game.

    Raises:
        ConfigError: random episodes show that the parts are not a grafting partition, or visit
            no part.
    """
    game = arena.game
    own_game = _with_buckets(game, buckets)
    opponent_game = _with_buckets(game, opponent_buckets)
    numbers = _visit_parts(own_game, player, part_of)
    grafted = GraftedPolicy(full_game(game), base_policy, player, part_of, own_game)
    for number in numbers:
        fixed = base_policy if independent else grafted
        part = GraftGame(own_game, opponent_game, player, part_of, number, fixed)
        grafted.solutions[number] = solve(RulesArena(part))
    return grafted


def part_function(parts: Mapping[int, Any]) -> PartFunction:
    """Return the function of a mapping from part numbers to infoset keys.

    Raises:
        ConfigError: an infoset is in two parts.
    """
    number_by_key: dict[str, int] = {}
    for number, keys in parts.items():
        for key in keys:
            if key in number_by_key:
                raise ConfigError(f"infoset {key!r} is in two parts")
            number_by_key[key] = number
    return lambda key: number_by_key.get(key, 0)


def _with_buckets(game: Game, buckets: Any) -> Game:
    return game if buckets is None else abstract_game(full_game(game), buckets)


def _visit_parts(game: Game, player: int, part_of: PartFunction) -> list[int]:
    """Return the parts that random episodes visit, after a check of the infosets they show."""
    rng, numbers = random.Random(0), set[int]()
    for _ in range(NUM_PROBE_EPISODES):
        state, before = game.initial_state(), (0, "")
        while (acting := game.player(state)) != TERMINAL:
            if acting == CHANCE:
                actions, weights = zip(*game.chance_outcomes(state), strict=True)
                state = game.next_state(state, rng.choices(actions, weights)[0])
                continue
            if acting == player:
                key = game.infoset_key(state, player)
                before = _check_part(before, (part_of(key), key))
                numbers.add(before[0])
            state = game.next_state(state, rng.choice(game.actions(state)))
    numbers.discard(0)
    if not numbers:
        raise ConfigError(f"no infoset of player {player} is in a part from 1 on")
    return sorted(numbers)


def _check_part(before: tuple[int, str], after: tuple[int, str]) -> tuple[int, str]:
    """Return the later part and key, unless they break the rule of grafting partitions."""
    if after[0] < 0:
        raise ConfigError(f"a part has the number {after[0]}; numbers are 0 (the base), 1, 2, ...")
    if before[0] and before[0] != after[0]:
        raise ConfigError(
            f"infoset {before[1]!r} is in part {before[0]}, but {after[1]!r}, which follows it, "
            f"is in part {after[0]}; a part holds all that follows"
        )
    return after
