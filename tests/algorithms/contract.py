"""Small games, arenas and settings for the contract test: every algorithm on every arena."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import counterplay as cp
from counterplay.arenas.build import build_arena
from counterplay.arenas.holdem.game_arena import HoldemGameArena
from counterplay.core.game import CHANCE, TERMINAL
from counterplay.registry import (
    ALGORITHMS,
    COMPILED_GAMES,
    get_spec,
    import_registered,
    load_game,
    make_instance,
)
from tests.random_games import RandomGame

TINY_SETTINGS: dict[str, Any] = {
    "num_episodes": 4,
    "payoff_episodes": 4,
    "training_episodes": 8,
    "solver_iterations": 2,
    "num_traversals": 4,
    "num_baseline_traversals": 2,
    "train_steps": 2,
    "average_train_steps": 2,
    "critic_target_updates": 1,
    "critic_train_steps": 1,
    "critic_buffer_size": 64,
    "critic_batch_size": 8,
    "batch_size": 8,
    "average_batch_size": 8,
    "replay_buffer_size": 64,
    "reservoir_size": 64,
    "ensemble_size": 2,
    "hidden_sizes": (4,),
    "average_hidden_sizes": (4,),
    "critic_hidden_sizes": (4,),
    "baseline_hidden_sizes": (4,),
    "max_solver_iterations": 10,
    "num_rounds": 2,
    "num_subgames": 4,
    "training_iterations": 3,
    "search_iterations": 3,
    "num_policies": 2,
    "num_boards": 2,
    "trunk_boards": 2,
    "trunk_iterations": 2,
}
TINY_EFG = """EFG 2 R "tiny" { "first" "second" }
p "" 1 1 "a" { "L" "R" } 0
p "" 2 1 "b" { "l" "r" } 0
t "" 1 "Ll" { 1 -1 }
t "" 2 "Lr" { -1 1 }
p "" 2 1 "b" { "l" "r" } 0
t "" 3 "Rl" { -1 1 }
t "" 4 "Rr" { 2 -2 }
"""


@dataclass(frozen=True)
class OneDecision:
    """One player decides once; there is no chance."""

    num_players: int = 1

    def initial_state(self):
        return ()

    def player(self, state):
        return TERMINAL if state else 0

    def actions(self, state):
        return (0, 1)

    def chance_outcomes(self, state):
        return ()

    def next_state(self, state, action):
        return (action,)

    def utilities(self, state):
        return (float(state[0]),) + (0.0,) * (self.num_players - 1)

    def infoset_key(self, state, player):
        return "start"

    def action_name(self, state, action):
        return str(action)


@dataclass(frozen=True)
class OnlyChance(OneDecision):
    """Chance acts once, at the root; the players never do."""

    num_players: int = 2

    def player(self, state):
        return TERMINAL if state else CHANCE

    def chance_outcomes(self, state):
        return ((0, 0.5), (1, 0.5))

    def utilities(self, state):
        return (1.0, -1.0) if state[0] else (-1.0, 1.0)


@dataclass(frozen=True)
class NoHistory(OneDecision):
    """Over before anything happens."""

    num_players: int = 2

    def player(self, state):
        return TERMINAL

    def utilities(self, state):
        return (1.0, -1.0)


@dataclass(frozen=True)
class ChanceRoot(OneDecision):
    """Chance acts at the root alone; then both players choose, each knowing half of it."""

    num_players: int = 2

    def player(self, state):
        return (CHANCE, 0, 1, TERMINAL)[len(state)]

    def chance_outcomes(self, state):
        return tuple((card, 0.25) for card in range(4))

    def next_state(self, state, action):
        return (*state, action)

    def utilities(self, state):
        card, first, second = state
        value = float((card % 2 == first) - (card // 2 == second))
        return (value, -value)

    def infoset_key(self, state, player):
        return f"{player}:{state[0] % 2 if player == 0 else state[0] // 2}"


SPECS = (
    "kuhn_poker",
    "kuhn_poker(players=3)",
    "leduc_poker(ranks=2,suit_isomorphism=true)",
    "liars_dice(dice_sides=3)",
    "goofspiel(num_cards=3)",
    "matching_pennies",
    "matching_pennies_3p",
    "battle_of_the_sexes",
    "openspiel:kuhn_poker",
    "dark_hex(num_rows=2,num_cols=2)",
)
OWN_GAMES = {
    "random_2p": RandomGame(seed=3, num_players=2),
    "random_3p": RandomGame(seed=5, num_players=3, zero_sum=False),
    "random_1p": RandomGame(seed=1, num_players=1, zero_sum=False),
    "one_decision": OneDecision(),
    "only_chance": OnlyChance(),
    "no_history": NoHistory(),
    "chance_root": ChanceRoot(),
}
GAMES = (*SPECS, "tiny.efg", *OWN_GAMES)
GENERATED = ("liars_dice(dice_sides=3)", "dark_hex(num_rows=2,num_cols=2)")
SMALL_HOLDEM = (
    "custom_holdem(num_ranks=3,num_suits=2,num_hole_cards=1,board_cards=(0,1),blinds=(0,0),ante=1,"
    "stacks=(5,5),sizes='1',max_bets=(1,),openers=(0,))"
)
# two-player zero-sum games, which every algorithm accepts, by what an arena offers
ARENAS_BY_CAPABILITY = {
    "tree": [("kuhn_poker", "tree")],
    "sequences": [("kuhn_poker", "tree"), ("liars_dice(dice_sides=3)", "generated")],
    "episodes": [("liars_dice(dice_sides=3)", "generated")],
    "rules": [("kuhn_poker", "rules"), ("kuhn_poker", "compiled rules")],
    "vectors": [(SMALL_HOLDEM, "vectors")],
}


def arenas_of(name: str) -> list[str]:
    """The kinds of arena that a game has: tree, rules (readable or compiled), generated."""
    machine = name.partition("(")[0] in COMPILED_GAMES
    kinds = ["tree", "compiled rules" if machine else "rules"]
    if machine:
        kinds.append("rules")
    return [*kinds, "generated"] if name in GENERATED else kinds


@cache
def arena_of(name: str, kind: str, folder: Path) -> Any:
    """The arena of that kind; readable rules hide the compiled ones of the game."""
    if name == "tiny.efg":
        path = folder / name
        path.write_text(TINY_EFG)
        game = load_game(str(path))
    else:
        game = OWN_GAMES.get(name) or load_game(name)
    if kind == "vectors":
        return HoldemGameArena(game)
    if kind == "rules" and name.partition("(")[0] in COMPILED_GAMES:
        game = Readable(game)
    return build_arena(game, "rules" if "rules" in kind else kind)


class Readable:
    """A game whose compiled rules are not looked for."""

    def __init__(self, game: Any):
        self._game, self.spec = game, f"readable {get_spec(game)}"

    def compiled_game(self) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._game, name)


def tiny(name: str) -> Any:
    """The algorithm of that name with settings that make an iteration short."""
    cls = import_registered(ALGORITHMS, name)
    given = {}
    for field in fields(cls):
        if field.name in TINY_SETTINGS and field.default not in ((), 0):
            given[field.name] = TINY_SETTINGS[field.name]
    if not getattr(cls(), "reservoir_size", 1):
        given.pop("batch_size", None)  # which is for a reservoir
    return make_instance(name, cls, given)


def is_deep(name: str) -> bool:
    return bool(import_registered(ALGORITHMS, name).required_extra)


def outcome(name: str, game: str, kind: str, folder: Path) -> str:
    """ "ran", or the sentence that refuses; any exception that is no counterplay error passes."""
    try:
        arena = arena_of(game, kind, folder)
        algorithm = tiny(name)
        result = cp.solve(arena, algorithm, iterations=2, evaluate_at=lambda now: now + 1)
    except cp.CounterplayError as error:
        text = str(error)
        assert text and "\n" not in text, text
        return text
    for policy in result.policies.values():
        check_policy(policy)
    return "ran"


def check_policy(policy: Any) -> None:
    """Every row of a policy that has rows is a distribution."""
    if not hasattr(policy, "items"):
        return
    for _, key, row in policy.items():
        values = list(row.values())
        assert min(values) >= 0.0 and abs(sum(values) - 1.0) <= 1e-6, (key, row)


REPRESENTATIVES = ("deep_hedge", "dream", "nfsp", "ppo", "r_nad", "sd_cfr")  # one of every family


def mark_large(names):
    """Return parameters in which all but one method of every family are marked `large`."""
    marks = {False: pytest.mark.large, True: ()}
    return [pytest.param(name, marks=marks[name in REPRESENTATIVES]) for name in names]
