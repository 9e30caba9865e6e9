"""`counterplay inspect`: how large a game is, and what an episode of it looks like."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from counterplay.cli.common import (
    GameArgument,
    JsonOption,
    SeedOption,
    format_bytes,
    format_seconds,
    print_facts,
    print_json,
)
from counterplay.cli.random_episode import print_episode_step, sample_random_episode
from counterplay.core.game import CHANCE, Game, check_game
from counterplay.errors import GameError, RunError
from counterplay.registry import get_spec, load_game

NODES_PER_SECOND = 100_000  # that building takes, roughly
MAX_CHECKED_NODES = 10_000_000  # nodes that `--check` walks before it gives up


def inspect(
    game: GameArgument,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Guess the size from random walks; build nothing.")
    ] = False,
    episode: Annotated[
        bool, typer.Option("--episode", help="Show one random episode, step by step.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Verify the rules first, history by history.")
    ] = False,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Print the size and the properties of a game."""
    rules = load_game(game)
    facts: dict[str, Any] = {"game": get_spec(rules)}
    steps: list[dict[str, Any]] = []
    if check:
        facts |= _rule_check_facts(rules)
    if estimate:
        facts |= _size_estimate_facts(rules, seed)
    if episode:
        steps = sample_random_episode(rules, seed)
    if not (estimate or episode):
        facts |= _tree_facts(rules)
    if json:
        print_json(facts | ({"episode": steps} if episode else {}))
        return
    print_facts(_format_facts(facts))
    for number, step in enumerate(steps):
        print_episode_step(number, step)


def _rule_check_facts(game: Game) -> dict[str, Any]:
    from counterplay.arenas.tree.size_estimate import REFUSAL_FACTOR, estimate_num_nodes

    if estimate_num_nodes(game) > REFUSAL_FACTOR * MAX_CHECKED_NODES:
        problem = f"has far more than {MAX_CHECKED_NODES:,} nodes, too many to check"
        raise RunError(f"{get_spec(game)} {problem}; choose smaller parameters")
    try:
        report = check_game(game, max_nodes=MAX_CHECKED_NODES, allow_imperfect_recall=True)
    except GameError as error:  # the answer of --check, not a wrong argument
        raise RunError(str(error)) from error
    recall = "perfect recall" if report.has_perfect_recall else "players forget"
    return {"checked": f"{report.num_nodes:,} nodes, no fault found, {recall}"}


def _size_estimate_facts(game: Game, seed: int) -> dict[str, Any]:
    from counterplay.arenas.tree.size_estimate import estimate_size

    size = estimate_size(game, seed=seed)
    return {
        "estimated_nodes": size.num_nodes,
        "standard_error": size.standard_error,
        "memory_bytes": size.num_bytes,
        "build_seconds": size.num_nodes / NODES_PER_SECOND,
    }


def _tree_facts(game: Game) -> dict[str, Any]:
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
        "perfect_recall": tree.has_perfect_recall,
        "memory_bytes": tree.num_bytes,
    }


def _format_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts as a person reads them."""
    from counterplay.arenas.tree.size_estimate import format_count

    shown = dict(facts)
    if "estimated_nodes" in facts:
        nodes, error = facts["estimated_nodes"], shown.pop("standard_error")
        shown["estimated_nodes"] = f"{format_count(nodes)} +- {format_count(error)}"
    if "memory_bytes" in facts:
        shown["memory"] = format_bytes(shown.pop("memory_bytes"))
    if "build_seconds" in facts:
        shown["time to build"] = format_seconds(shown.pop("build_seconds"))
    return shown
