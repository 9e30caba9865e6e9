"""`counterplay inspect`: how large a game is, and what an episode of it looks like."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from counterplay.cli.common import (
    GameArgument,
    JsonOption,
    SeedOption,
    print_facts,
    print_json,
    readable_bytes,
    readable_seconds,
)
from counterplay.cli.episode import print_step, random_episode
from counterplay.errors import GameError, RunError
from counterplay.game import CHANCE, Game, check_game
from counterplay.registry import load_game, spec_of

NODES_PER_SECOND = 100_000  # that building takes, roughly
MOST_CHECKED = 10_000_000  # nodes that `--check` walks before it gives up


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
    facts: dict[str, Any] = {"game": spec_of(rules)}
    steps: list[dict[str, Any]] = []
    if check:
        facts |= _checked(rules)
    if estimate:
        facts |= _estimated(rules, seed)
    if episode:
        steps = random_episode(rules, seed)
    if not (estimate or episode):
        facts |= _counted(rules)
    if json:
        print_json(facts | ({"episode": steps} if episode else {}))
        return
    print_facts(_with_units(facts))
    for number, step in enumerate(steps):
        print_step(number, step)


def _checked(game: Game) -> dict[str, Any]:
    from counterplay.tree.estimating import HOPELESS, look_ahead

    if look_ahead(game) > HOPELESS * MOST_CHECKED:
        problem = f"has far more than {MOST_CHECKED:,} nodes, too many to check"
        raise RunError(f"{spec_of(game)} {problem}; choose smaller parameters")
    try:
        report = check_game(game, max_nodes=MOST_CHECKED, imperfect_recall=True)
    except GameError as error:  # the answer of --check, not a wrong argument
        raise RunError(str(error)) from error
    recall = "perfect recall" if report.perfect_recall else "players forget"
    return {"checked": f"{report.num_nodes:,} nodes, no fault found, {recall}"}


def _estimated(game: Game, seed: int) -> dict[str, Any]:
    from counterplay.tree.estimating import estimate_size

    size = estimate_size(game, seed=seed)
    return {
        "estimated_nodes": size.num_nodes,
        "standard_error": size.standard_error,
        "memory_bytes": size.num_bytes,
        "build_seconds": size.num_nodes / NODES_PER_SECOND,
    }


def _counted(game: Game) -> dict[str, Any]:
    import numpy as np

    from counterplay.cli.progress import build

    tree = build(game)
    return {
        "players": tree.num_players,
        "nodes": tree.num_nodes,
        "terminals": tree.num_terminals,
        "chance_nodes": int((tree.player == CHANCE).sum()),
        "infosets": tree.num_infosets,
        "infosets_by_player": np.bincount(tree.infoset_player, minlength=tree.num_players).tolist(),
        "sequences": tree.num_sequences,
        "longest_episode": tree.longest_episode,
        "longest_history": len(tree.level) - 2,
        "most_actions": tree.max_actions,
        "lowest_utilities": tree.utility.min(axis=0).tolist(),
        "highest_utilities": tree.utility.max(axis=0).tolist(),
        "zero_sum": tree.zero_sum,
        "perfect_recall": tree.perfect_recall,
        "memory_bytes": tree.num_bytes,
    }


def _with_units(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts as a person reads them."""
    from counterplay.tree.estimating import readable_count

    shown = dict(facts)
    if "estimated_nodes" in facts:
        nodes, error = facts["estimated_nodes"], shown.pop("standard_error")
        shown["estimated_nodes"] = f"{readable_count(nodes)} +- {readable_count(error)}"
    if "memory_bytes" in facts:
        shown["memory"] = readable_bytes(shown.pop("memory_bytes"))
    if "build_seconds" in facts:
        shown["time to build"] = readable_seconds(shown.pop("build_seconds"))
    return shown
