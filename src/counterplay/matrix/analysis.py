"""Analyses of a normal-form game as JSON data: dominance, equilibria, learners.

The command line prints them and the studio displays them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from counterplay.errors import ConfigError, RunError

if TYPE_CHECKING:
    from counterplay.arenas.tree.arena import TreeArena
    from counterplay.core.game import Game
    from counterplay.matrix.dominance import DominatedAction
    from counterplay.matrix.learning import Learner
    from counterplay.matrix.normal_form import NormalForm
    from counterplay.matrix.verification import CorrelatedEquilibrium


def describe_normal_form(name: str, form: NormalForm) -> dict[str, Any]:
    """Return the name, size, kind and action names of a game."""
    return {
        "game": name,
        "players": form.num_players,
        "actions": list(form.shape),
        "sum": "zero" if form.is_zero_sum else "constant" if form.is_constant_sum else "general",
        "action_names": [list(names) for names in form.action_names],
    }


def analyse_normal_form(
    name: str, form: NormalForm, method: str | None = None, weak: bool = False
) -> dict[str, Any]:
    """Return dominated actions, Nash equilibria and correlated equilibria of a game.

    Args:
        name: the name of the game.
        form: its normal form.
        method: the method for Nash equilibria; chosen by size if None.
        weak: also eliminate weakly dominated actions.

    Returns:
        The facts of all parts; "skipped" lists the errors of parts that the game is too large for.
    """
    facts = describe_normal_form(name, form) | {"skipped": []} | _find_nash_equilibria(form, method)
    for part in (
        partial(_find_dominated_actions, form, weak),
        partial(_find_correlated_equilibria, form),
    ):
        try:
            facts |= part()
        except (ConfigError, RunError) as error:  # too large for this part
            facts["skipped"].append(str(error))
    return facts


def load_normal_form(
    game: str, source: str | None = None, build: Callable[[Game], TreeArena] | None = None
) -> tuple[str, NormalForm]:
    """Return a game's name and normal form, from a file, a matrix game or a tree.

    Args:
        game: a file, or the spec of a game.
        source: the data file or folder that names the game; None if the user has typed it.
        build: builds the tree of a game, for example with a progress bar.
    """
    from counterplay.arenas.tree.build import build_tree
    from counterplay.core.trust import check_spec, load_game_from_file
    from counterplay.games.matrix_game import MatrixGame
    from counterplay.matrix.normal_form import normal_form_from_game
    from counterplay.matrix.normal_form_io import SUFFIXES, read_normal_form
    from counterplay.matrix.policy_enumeration import pure_policies
    from counterplay.registry import get_spec, load_game

    if source is not None:
        check_spec(game, source)
    if game.endswith(SUFFIXES) and not _is_game_file(game):
        return game, read_normal_form(game)
    rules = load_game(game) if source is None else load_game_from_file(game, source)
    if isinstance(rules, MatrixGame):
        return get_spec(rules), normal_form_from_game(rules)
    return get_spec(rules), pure_policies((build or build_tree)(rules)).normal_form


def _is_game_file(path: str) -> bool:
    """Return True if a .json file is a game written by `convert`, not a table of payoffs."""
    try:
        with open(path, "rb") as file:
            return b'"format"' in file.read(200)
    except OSError:
        return False


def _find_dominated_actions(form: NormalForm, weak: bool) -> dict[str, Any]:
    from counterplay.matrix.dominance import eliminate_dominated, find_dominated_actions

    elimination = eliminate_dominated(form, weak)
    reduced = elimination.reduced_form
    return {
        "elimination": [_domination_facts(form, step) for step in elimination.steps],
        "left": [
            [form.action_names[p][a] for a in actions]
            for p, actions in enumerate(elimination.remaining_actions)
        ],
        "weakly_dominated": [
            _domination_facts(reduced, action)
            for action in find_dominated_actions(reduced, weak=True)
        ],
    }


def _domination_facts(form: NormalForm, dominated_action: DominatedAction) -> dict[str, Any]:
    names, mixture = form.action_names[dominated_action.player], dominated_action.mixture
    return {
        "player": dominated_action.player,
        "action": names[dominated_action.action],
        "strict": dominated_action.is_strict,
        "by": {name: float(p) for name, p in zip(names, mixture, strict=True) if p > 0.0},
        "margin": dominated_action.margin,
    }


def _find_nash_equilibria(form: NormalForm, method: str | None) -> dict[str, Any]:
    from counterplay.matrix.nash import nash_equilibria

    result = nash_equilibria(form, method)
    equilibria = [
        {
            "policies": [mixture.tolist() for mixture in equilibrium.profile],
            "values": equilibrium.values.tolist(),
            "gain": equilibrium.gain,
        }
        for equilibrium in result.equilibria
    ]
    return {
        "nash": {
            "method": result.method,
            "complete": result.is_complete,
            "note": result.note,
            "equilibria": equilibria,
        }
    }


def _find_correlated_equilibria(form: NormalForm) -> dict[str, Any]:
    from counterplay.matrix.correlated import (
        ENTROPY,
        WELFARE,
        coarse_correlated_equilibrium,
        correlated_equilibrium,
    )

    objectives: list[str | int] = [WELFARE, *range(form.num_players), ENTROPY]
    return {
        kind: [_equilibrium_facts(objective, solve(form, objective)) for objective in objectives]
        for kind, solve in (
            ("correlated", correlated_equilibrium),
            ("coarse_correlated", coarse_correlated_equilibrium),
        )
    }


def _equilibrium_facts(objective: str | int, equilibrium: CorrelatedEquilibrium) -> dict[str, Any]:
    return {
        "objective": f"player {objective}" if isinstance(objective, int) else objective,
        "values": equilibrium.values.tolist(),
        "gain": equilibrium.gain,
        "joint": equilibrium.joint_distribution.tolist(),
    }


def run_learner_analysis(
    form: NormalForm, learner: Learner, iterations: int, seed: int
) -> dict[str, Any]:
    """Return the regrets and averages of a learner that all players use, from a random start.

    Args:
        form: the normal form of the game.
        learner: the learner.
        iterations: number of iterations.
        seed: of the initial profile.
    """
    import numpy as np

    from counterplay.core.solve import next_three_per_decade
    from counterplay.matrix.learning import run_learners
    from counterplay.matrix.verification import coarse_deviation
    from counterplay.registry import get_spec

    rng = np.random.default_rng(seed)  # uniform play is a fixed point of many games
    start = tuple(rng.dirichlet(np.ones(count)) for count in form.shape)
    result = run_learners(form, learner, iterations=iterations, initial_profile=start)
    shown_iterations, iteration = [], 1
    while iteration < iterations:
        shown_iterations.append(iteration)
        iteration = next_three_per_decade(iteration)
    return {
        "learner": get_spec(learner),
        "seed": seed,
        "regret": [
            {"iteration": t, "regrets": result.regret[t - 1].tolist()}
            for t in [*shown_iterations, iterations]
        ],
        "average": [mixture.tolist() for mixture in result.average_profile],
        "values": form.values(result.average_profile).tolist(),
        "nash_conv": result.nash_conv,
        "coarse_correlated_gain": coarse_deviation(form, result.joint_distribution).gain,
    }
