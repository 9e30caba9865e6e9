"""`counterplay show`: what a policy does, and where it loses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    JsonOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    integer_option,
    print_json,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.core.policy import Policy
    from counterplay.display.infoset_table import InfosetRow


def show(
    policy: PolicyArgument,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN...", help="Infosets, such as 'Kh:*'; all if left out."),
    ] = None,
    game: PolicyGameOption = None,
    player: Annotated[
        int | None, integer_option(minimum=0, help="Only this player.", show_default="all")
    ] = None,
    sort: Annotated[str, typer.Option(metavar="loss|reach|key", help="What comes first.")] = "loss",
    limit: Annotated[int, integer_option(minimum=1, help="Infosets or tables to print.")] = 20,
    grid: Annotated[
        bool, typer.Option("--grid", help="Tables of rows and columns, as the game arranges them.")
    ] = False,
    tree: Annotated[
        int | None,
        integer_option(
            "--tree", minimum=0, metavar="DEPTH", help="The tree down to this depth instead."
        ),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Show what a policy does, and where it loses.

    What an infoset loses is its part of what best responses gain: over all infosets, these parts
    add up to NashConv.
    """
    from counterplay.cli.evaluate import to_tree_policy
    from counterplay.cli.progress import build_tree_with_progress
    from counterplay.display.infoset_table import infoset_rows
    from counterplay.experiment.saved_policies import load_policies

    if grid and tree is not None:
        raise ConfigError("--grid and --tree exclude each other")
    name, found = next(iter(load_policies(policy, game, build=build_tree_with_progress).items()))
    one: Policy = to_tree_policy(found)
    order = "key" if grid and sort == "loss" else sort
    rows = infoset_rows(one, patterns or (), player=player, sort_by=order)
    if json:
        print_json(
            {"game": one.arena.spec, "policy": name, "infosets": [_infoset_facts(r) for r in rows]}
        )
        return
    _print_summary(one)
    if tree is not None:
        _print_tree(one, tree)
    elif grid:
        _print_grids(one, rows, limit)
    else:
        _print_rows(rows, limit)


def _print_summary(policy: Policy) -> None:
    from counterplay.core.evaluation import judge

    judgement = judge(policy.arena, policy)
    values = ", ".join(f"{value:.4f}" for value in judgement.values)
    loss = f"exploitability {judgement.exploitability:.2e}, NashConv {judgement.nash_conv:.2e}"
    print(f"{policy.arena.spec}: {loss}; player values {values}")


def _print_rows(rows: list[InfosetRow], limit: int) -> None:
    from counterplay.display.text import characters_for_encoding, format_table

    marks = characters_for_encoding(sys.stdout.encoding)
    shown = rows[:limit]
    for player in sorted({row.player for row in shown}):
        print(f"\nplayer {player}")
        for line in format_table([row for row in shown if row.player == player], marks):
            print(line.rstrip())
    if len(rows) > limit:
        rest = sum(row.best_response_gain for row in rows[limit:])
        print(f"\n{len(rows) - limit:,} more infosets lose {rest:.1e} together; --limit shows more")


def _print_grids(policy: Policy, rows: list[InfosetRow], limit: int) -> None:
    from counterplay.display.infoset_table import policy_grids
    from counterplay.display.text import characters_for_encoding, format_grid

    tables = policy_grids(policy, rows)
    for one in tables[:limit]:
        print()
        print("\n".join(format_grid(one, characters_for_encoding(sys.stdout.encoding))))
    if len(tables) > limit:
        print(f"\n{len(tables) - limit:,} more tables; --limit or a pattern chooses")


def _print_tree(policy: Any, depth: int) -> None:
    from counterplay.display.text import characters_for_encoding, format_outline

    print()
    print(
        "\n".join(
            format_outline(
                policy.arena, depth, characters_for_encoding(sys.stdout.encoding), policy
            )
        )
    )


def _infoset_facts(row: InfosetRow) -> dict[str, Any]:
    return {
        "player": row.player,
        "infoset": row.key,
        "plays": row.probabilities,
        "reach": row.reach,
        "value": row.value,
        "action_values": row.action_values,
        "regret": row.regret,
        "loss": row.best_response_gain,
    }
