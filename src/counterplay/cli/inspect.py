"""`counterplay inspect`: the size and the properties of a game, and a random episode."""

from __future__ import annotations

from typing import Annotated

import typer

from counterplay.cli.options import GameArgument, JsonOption, SeedOption
from counterplay.cli.output import format_bytes, format_seconds, print_facts, print_json
from counterplay.cli.random_episode import print_episode_step, sample_random_episode
from counterplay.core.game import CHANCE, Game, check_game
from counterplay.errors import GameError, RunError
from counterplay.registry import get_spec, load_game

NODES_PER_SECOND = 100_000  # speed of building a tree, roughly
MAX_CHECKED_NODES = 10_000_000  # that `--check` visits at most


def inspect(
    game: GameArgument,
    estimate: Annotated[
        bool,
        typer.Option(
            "--estimate", help="Estimate the size from random walks instead of building the tree."
        ),
    ] = False,
    episode: Annotated[
        bool, typer.Option("--episode", help="Show one random episode, step by step.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Check the rules at every history first.")
    ] = False,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Print the size and the properties of a game."""
    rules = load_game(game)
    facts: dict[str, object] = {"game": get_spec(rules)}
    if check:
        facts |= _rule_check_facts(rules)
    if estimate:
        facts |= _size_estimate_facts(rules, seed)
    steps = sample_random_episode(rules, seed) if episode else []
    if not (estimate or episode):
        facts |= _tree_facts(rules)
    if json:
        print_json(facts | ({"episode": steps} if episode else {}))
        return
    print_facts(_format_facts(facts))
    for number, step in enumerate(steps):
        print_episode_step(number, step)


def _rule_check_facts(game: Game) -> dict[str, object]:
    from counterplay.arenas.tree.size_estimate import REFUSAL_FACTOR, estimate_num_nodes

    if estimate_num_nodes(game) > REFUSAL_FACTOR * MAX_CHECKED_NODES:
        problem = f"has far more than {MAX_CHECKED_NODES:,} nodes, too many to check"
        raise RunError(f"{get_spec(game)} {problem}; choose smaller parameters")
    try:
        report = check_game(game, max_nodes=MAX_CHECKED_NODES, allow_imperfect_recall=True)
    except GameError as error:  # exit code 1: the result of --check, not wrong input
        raise RunError(str(error)) from error
    recall = "perfect recall" if report.has_perfect_recall else "imperfect recall"
    return {"checked": f"{report.num_nodes:,} nodes, no fault found, {recall}"}


def _size_estimate_facts(game: Game, seed: int) -> dict[str, object]:
    from counterplay.arenas.tree.size_estimate import estimate_size

    size = estimate_size(game, seed=seed)
    return {
        "estimated_nodes": size.num_nodes,
        "standard_error": size.standard_error,
        "memory_bytes": size.num_bytes,
        "build_seconds": size.num_nodes / NODES_PER_SECOND,
    }


def _tree_facts(game: Game) -> dict[str, object]:
    import numpy as np

    from counterplay.cli.progress import build_tree_with_progress

    tree = build_tree_with_progress(game)
    return {
        "players": tree.num_players,
        "nodes": tree.num_nodes,
        "terminals": tree.num_terminals,
        "chance_nodes": int((tree.player == CHANCE).sum()),
        "infosets": tree.num_infosets,
        "infosets_by_player": np.bincount(tree.infoset_player, minlength=tree.num_players).tolist(),
        "sequences": tree.num_sequences,
        "longest_episode": tree.max_episode_length,
        "longest_history": len(tree.level_offset) - 2,
        "most_actions": tree.max_actions,
        "lowest_utilities": tree.utility.min(axis=0).tolist(),
        "highest_utilities": tree.utility.max(axis=0).tolist(),
        "zero_sum": tree.is_zero_sum,
        "constant_sum": tree.is_constant_sum,
        "perfect_recall": tree.has_perfect_recall,
        "memory_bytes": tree.num_bytes,
    }


def _format_facts(facts: dict[str, object]) -> dict[str, object]:
    """Return the facts in words and units for a person."""
    from counterplay.arenas.tree.size_estimate import format_count

    shown = dict(facts)
    if isinstance(nodes := facts.get("estimated_nodes"), float):
        error = shown.pop("standard_error")
        assert isinstance(error, float)
        shown["estimated_nodes"] = f"{format_count(nodes)} +- {format_count(error)}"
    if isinstance(num_bytes := facts.get("memory_bytes"), (int, float)):
        del shown["memory_bytes"]
        shown["memory"] = format_bytes(num_bytes)
    if isinstance(seconds := facts.get("build_seconds"), float):
        del shown["build_seconds"]
        shown["time to build"] = format_seconds(seconds)
    return shown
