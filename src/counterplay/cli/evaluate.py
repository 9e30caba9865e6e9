"""`counterplay evaluate`: how good a saved policy is, exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.common import (
    ExportOption,
    JsonOption,
    check_outputs,
    print_json,
    print_table,
    write_outputs,
)


def evaluate(
    policy_file: Annotated[
        Path, typer.Argument(metavar="POLICY_FILE", help="What solve --save wrote.")
    ],
    game: Annotated[
        str | None, typer.Option(metavar="GAME", help="The game, if not the one the file names.")
    ] = None,
    export: ExportOption = None,
    json: JsonOption = False,
) -> None:
    """Print how good a saved policy is, exactly, for every player."""
    from counterplay.cli.progress import build_any
    from counterplay.evaluate import judge
    from counterplay.policy import load_policy, policy_arena, policy_spec
    from counterplay.registry import load_game

    check_outputs(None, export)
    rules = load_game(game or policy_spec(policy_file))
    tree = build_any(rules, policy_arena(policy_file))
    policy = load_policy(policy_file, tree)
    judgement = judge(tree, policy)
    values, best_values = judgement.values.tolist(), judgement.best_values.tolist()
    gains = [best - value for value, best in zip(values, best_values, strict=True)]
    if json:
        print_json(
            {
                "game": tree.spec,
                "values": values,
                "best_values": best_values,
                "gains": gains,
                "nash_conv": judgement.nash_conv,
                "exploitability": judgement.exploitability,
            }
        )
    else:
        rows = [
            (str(player), f"{value:.6f}", f"{best:.6f}", f"{gain:.2e}")
            for player, (value, best, gain) in enumerate(
                zip(values, best_values, gains, strict=True)
            )
        ]
        print(f"game  {tree.spec}")
        print_table(("player", "value", "best response", "gain"), rows)
        print(f"NashConv        {judgement.nash_conv:.2e}")
        print(f"exploitability  {judgement.exploitability:.2e}")
    write_outputs(policy, None, export)
