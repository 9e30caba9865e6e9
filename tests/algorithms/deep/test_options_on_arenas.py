"""Critics and options of networks on each arena: they run, or say in one sentence what to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

jax = pytest.importorskip("jax")

import counterplay as cp  # noqa: E402
from counterplay.arenas.build import build_arena  # noqa: E402
from counterplay.registry import ALGORITHMS, load_game  # noqa: E402
from tests.algorithms import contract  # noqa: E402

ARENAS = (
    ("kuhn_poker", "tree"),
    ("kuhn_poker", "rules"),
    ("liars_dice(dice_sides=2)", "generated"),
)
DEEP = sorted(name for name in ALGORITHMS if contract.is_deep(name))
WITH_CRITIC = [name for name in DEEP if hasattr(contract.tiny(name), "critic")]
WITH_EXACT_CRITIC = [name for name in DEEP if hasattr(contract.tiny(name), "exact_critic")]
TREE_CRITICS = ("table", "infoset", "value", "oracle")


def solve_briefly(algorithm, game, kind):
    arena = build_arena(load_game(game), kind)
    return cp.solve(arena, algorithm, iterations=2, evaluate_at=lambda iteration: iteration + 1)


@pytest.mark.parametrize("critic", TREE_CRITICS)
def test_critics_of_trees_are_refused_elsewhere(critic):
    for name in WITH_CRITIC:
        algorithm = replace(contract.tiny(name), critic=critic)
        for game, kind in ARENAS[1:]:
            with pytest.raises(cp.ConfigError, match=f"{critic}, which needs the tree"):
                solve_briefly(algorithm, game, kind)


def test_exact_critics_are_refused_elsewhere():
    for name in WITH_EXACT_CRITIC:
        algorithm = replace(contract.tiny(name), exact_critic=True)
        for game, kind in ARENAS[1:]:
            with pytest.raises(cp.ConfigError, match="exact_critic is a pass over the tree"):
                solve_briefly(algorithm, game, kind)


@pytest.mark.slow
@pytest.mark.parametrize("critic", ["auto", *TREE_CRITICS, "network"])
def test_every_critic_runs_on_a_tree(critic):
    solve_briefly(replace(contract.tiny("r_nad"), critic=critic), *ARENAS[0])
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.parametrize(("game", "kind"), ARENAS[1:])
def test_network_critics_run_on_every_arena(game, kind):
    """R-NaD also checks there that the game is zero-sum."""
    for critic in ("auto", "network"):
        solve_briefly(replace(contract.tiny("r_nad"), critic=critic), game, kind)
    jax.clear_caches()


@pytest.mark.slow
@pytest.mark.large
@pytest.mark.parametrize(("game", "kind"), ARENAS)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ppo", {"counterfactual_weighting": True}),
        ("ppo", {"correct_with_returns": False}),
        ("deep_mmd", {"magnet": "copy"}),
        ("deep_mmd", {"magnet": "average"}),
        ("deep_hedge", {"mean_over_episodes": True}),
        ("deep_hedge", {"mean_over_actions": True}),
        ("deep_hedge", {"augmented_baseline": False}),
        ("sd_cfr", {"warm_start": False}),
    ],
)
def test_options_run_on_every_arena(name, options, game, kind):
    solve_briefly(replace(contract.tiny(name), **options), game, kind)
    jax.clear_caches()
