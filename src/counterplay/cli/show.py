"""`counterplay show`: a policy at its infosets, with values and losses."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from counterplay.cli.options import (
    JsonOption,
    PolicyArgument,
    PolicyGameOption,
    TrustOption,
    integer_option,
)
from counterplay.cli.output import print_json
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.core.policy import Policy
    from counterplay.display.infoset_table import InfosetRow


def show(
    policy: PolicyArgument,
    patterns: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATTERN...", help="Infosets, such as 'Kh:*'; by default all."),
    ] = None,
    game: PolicyGameOption = None,
    player: Annotated[
        int | None,
        integer_option("--player", "-p", minimum=0, help="Only this player.", show_default="all"),
    ] = None,
    sort: Annotated[str, typer.Option(metavar="loss|reach|key", help="Order of rows.")] = "loss",
    limit: Annotated[
        int, integer_option(minimum=1, help="Maximum number of infosets or tables.")
    ] = 20,
    grid: Annotated[
        bool, typer.Option("--grid", help="Print grids, if the game arranges infosets in grids.")
    ] = False,
    tree: Annotated[
        int | None,
        integer_option(
            "--tree", minimum=0, metavar="DEPTH", help="Print the tree down to this depth instead."
        ),
    ] = None,
    json: JsonOption = False,
    trust: TrustOption = None,
) -> None:
    """Show a policy, its values, and where it loses most.

    The loss of an infoset is its share of what best responses gain: the losses of all infosets add
    up to NashConv.
    """
    from counterplay.cli.evaluate import load_first_policy
    from counterplay.display.infoset_table import infoset_rows

    if grid and tree is not None:
        raise ConfigError("--grid and --tree exclude each other")
    name, tree_policy = load_first_policy(policy, game)
    order = "key" if grid and sort == "loss" else sort
    rows = infoset_rows(tree_policy, patterns or (), player=player, sort_by=order)
    if json:
        infosets = [_infoset_facts(row) for row in rows]
        print_json({"game": tree_policy.arena.spec, "policy": name, "infosets": infosets})
        return
    _print_summary(tree_policy)
    if tree is not None:
        _print_tree(tree_policy, tree)
    elif grid:
        _print_grids(tree_policy, rows, limit)
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
    marks = characters_for_encoding(sys.stdout.encoding)
    for table in tables[:limit]:
        print()
        print("\n".join(format_grid(table, marks)))
    if len(tables) > limit:
        print(f"\n{len(tables) - limit:,} more tables; choose with --limit or a pattern")


def _print_tree(policy: Policy, depth: int) -> None:
    from counterplay.core.policy import require_tree
    from counterplay.display.text import characters_for_encoding, format_outline

    marks = characters_for_encoding(sys.stdout.encoding)
    print()
    print("\n".join(format_outline(require_tree(policy), depth, marks, policy)))


def _infoset_facts(row: InfosetRow) -> dict[str, object]:
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
