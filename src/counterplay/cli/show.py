"""`counterplay show`: what a policy does, and where it loses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    JsonOption,
    OfGameOption,
    SourceArgument,
    TrustOption,
    integer_option,
    print_json,
)
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.policy import Policy
    from counterplay.showing.infosets import InfosetRow


def show(
    policy: SourceArgument,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN...", help="Infosets, such as 'Kh:*'; all if left out."),
    ] = None,
    game: OfGameOption = None,
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
    from counterplay.cli.evaluate import as_exact
    from counterplay.cli.progress import build
    from counterplay.experiment.stored import load_policies
    from counterplay.showing.infosets import infoset_rows

    if grid and tree is not None:
        raise ConfigError("--grid and --tree exclude each other")
    name, found = next(iter(load_policies(policy, game, build=build).items()))
    one: Policy = as_exact(found)
    order = "key" if grid and sort == "loss" else sort
    rows = infoset_rows(one, patterns or (), player=player, sort=order)
    if json:
        print_json({"game": one.tree.spec, "policy": name, "infosets": [_facts(r) for r in rows]})
        return
    _print_head(one)
    if tree is not None:
        _print_tree(one, tree)
    elif grid:
        _print_grids(one, rows, limit)
    else:
        _print_rows(rows, limit)


def _print_head(policy: Policy) -> None:
    from counterplay.evaluate import judge

    judgement = judge(policy.tree, policy)
    values = ", ".join(f"{value:.4f}" for value in judgement.values)
    loss = f"exploitability {judgement.exploitability:.2e}, NashConv {judgement.nash_conv:.2e}"
    print(f"{policy.tree.spec}: {loss}; player values {values}")


def _print_rows(rows: list[InfosetRow], limit: int) -> None:
    from counterplay.showing.text import marks_for, table

    marks = marks_for(sys.stdout.encoding)
    shown = rows[:limit]
    for player in sorted({row.player for row in shown}):
        print(f"\nplayer {player}")
        for line in table([row for row in shown if row.player == player], marks):
            print(line.rstrip())
    if len(rows) > limit:
        rest = sum(row.loss for row in rows[limit:])
        print(f"\n{len(rows) - limit:,} more infosets lose {rest:.1e} together; --limit shows more")


def _print_grids(policy: Policy, rows: list[InfosetRow], limit: int) -> None:
    from counterplay.showing.infosets import grids
    from counterplay.showing.text import grid, marks_for

    tables = grids(policy, rows)
    for one in tables[:limit]:
        print()
        print("\n".join(grid(one, marks_for(sys.stdout.encoding))))
    if len(tables) > limit:
        print(f"\n{len(tables) - limit:,} more tables; --limit or a pattern chooses")


def _print_tree(policy: Any, depth: int) -> None:
    from counterplay.showing.text import marks_for, outline

    print()
    print("\n".join(outline(policy.tree, depth, marks_for(sys.stdout.encoding), policy)))


def _facts(row: InfosetRow) -> dict[str, Any]:
    return {
        "player": row.player,
        "infoset": row.key,
        "plays": row.plays,
        "reach": row.reach,
        "value": row.value,
        "action_values": row.action_values,
        "regret": row.regret,
        "loss": row.loss,
    }
