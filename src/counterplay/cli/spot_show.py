"""`counterplay spot show`, `diff` and `play`: what a solution does, and playing against it."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterplay.cli.common import (
    ForceOption,
    JsonOption,
    check_outputs,
    integer_option,
    print_json,
    print_table,
)
from counterplay.cli.spot import spot as spot
from counterplay.errors import ConfigError

if TYPE_CHECKING:
    from counterplay.public.sparring import Sparring
    from counterplay.public.views import View

SolutionArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="What spot solve --save wrote.")
]
RecordArgument = Annotated[
    str, typer.Argument(help="What has happened, such as 'check,bet 94,call|Td'.")
]
COLOURS = ("blue", "green", "red", "magenta", "yellow", "cyan", "white")


@spot.command()
def show(
    solution: SolutionArgument,
    record: RecordArgument = "",
    hand: Annotated[
        str,
        typer.Option(
            metavar="RANGE", help="Print the hands of a range too, such as AK or 'AhKd,99+'."
        ),
    ] = "",
    export: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write all hands; .json or .csv.")
    ] = None,
    grid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the grid; .svg, .png or .pdf.")
    ] = None,
    streets: Annotated[
        int,
        integer_option(
            minimum=1, maximum=3, help="Streets to load; values need all that there are."
        ),
    ] = 3,
    force: ForceOption = False,
    json: JsonOption = False,
) -> None:
    """Show what a player does at a node: a 13 x 13 grid, frequencies, EVs.

    EVs are chips from this node on: a fold has EV 0.
    """
    from counterplay.public.grids import draw_grid
    from counterplay.public.looking import look
    from counterplay.public.solution import export_view, load_solution
    from counterplay.showing.picture import check_picture_file

    check_outputs(None, export, force)
    if grid:
        check_picture_file(grid)
        check_outputs(grid, None)
    view = look(load_solution(solution, streets).policy, record)
    if grid:
        draw_grid(view).save(grid)
        print(f"wrote {grid}", file=sys.stderr)
    if export:
        export_view(view, export)
        print(f"wrote {export}", file=sys.stderr)
    if json:
        print(json_format.dumps(view.page()))
        return
    _print_view(view)
    if hand:
        _print_hands(view, hand)


def _print_view(view: View) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, markup=False)
    never = "" if view.reached else "; never reached, so nothing binds this policy"
    print(f"board {view.board}, pot {view.pot}, player {view.player} acts{never}")
    for action, (name, part) in enumerate(zip(view.actions, view.frequencies, strict=True)):
        console.print(Text(f"{name:12} {100 * part:6.2f}%", style=COLOURS[action % len(COLOURS)]))
    for row in view.grid():
        line = Text()
        for here in row:
            if here["weight"] <= 0.0:
                line.append(f"{'.':>5}", style="dim")
                continue
            most = max(range(len(view.actions)), key=lambda a: here["policy"][a])
            style = COLOURS[most % len(COLOURS)]
            mark = "" if here["policy"][most] > 0.95 else "~"
            line.append(f"{here['name'] + mark:>5}", style=style)
        console.print(line)


def _print_hands(view: View, text: str) -> None:
    from counterplay.cards import hand_name
    from counterplay.public.ranges import Range

    wanted = {hand_name(i) for i, weight in enumerate(Range.parse(text).weights) if weight > 0.0}
    rows = [row for row in view.rows() if row["hand"] in wanted]
    if not rows:
        raise ConfigError(f"player {view.player} has none of {text!r} here")
    print_table(
        list(rows[0]),
        [[v if isinstance(v, str) else f"{v:.4g}" for v in row.values()] for row in rows],
    )


@spot.command()
def diff(
    one: SolutionArgument,
    other: Annotated[Path, typer.Argument(metavar="OTHER", help="Another solution of the spot.")],
    record: RecordArgument = "",
    most: Annotated[
        int, integer_option(minimum=0, help="Hands to list, the most different first.")
    ] = 10,
    json: JsonOption = False,
) -> None:
    """Show what two solutions do differently at a node: the first less the second."""
    from counterplay.public.looking import difference
    from counterplay.public.solution import load_solution

    first, second = load_solution(one), load_solution(other)
    found = difference(first.policy, second.policy, record)
    frequencies = dict(zip(found.one.actions, found.frequencies.tolist(), strict=True))
    facts: dict[str, Any] = {
        "values": [a - b for a, b in zip(first.values, second.values, strict=True)],
        "exploitability": [first.exploitability, second.exploitability],
        "distance": found.distance,
        "frequencies": frequencies,
    }
    if json:
        print_json(facts | {"hands": found.rows()})
        return
    print(f"values {facts['values'][0]:+.4f}, {facts['values'][1]:+.4f}")
    print(f"exploitability {first.exploitability:.4g} and {second.exploitability:.4g}")
    print(f"{100 * found.distance:.2f}% of player {found.one.player}'s decisions differ")
    for name, part in frequencies.items():
        print(f"{name:12} {100 * part:+.2f}%")
    rows = found.rows()[:most]
    if rows:
        cells = [[v if isinstance(v, str) else f"{v:+.4g}" for v in row.values()] for row in rows]
        print_table(list(rows[0]), cells)


@spot.command()
def play(
    solution: SolutionArgument,
    player: Annotated[
        int, integer_option(minimum=0, maximum=1, help="Your seat; 0 acts first.")
    ] = 0,
    seed: Annotated[
        int, integer_option("--seed", "-s", minimum=0, help="Seed of the first hand.")
    ] = 0,
    hands: Annotated[int, integer_option(minimum=1, help="Hands to play at most.")] = 100,
) -> None:
    """Play a spot against its solution; every decision says what it lost."""
    from counterplay.public.solution import load_solution
    from counterplay.public.sparring import Sparring

    policy = load_solution(solution).policy
    won = lost = 0.0
    for number in range(hands):
        hand = Sparring(policy, player, seed + number)
        print(f"\nhand {number + 1}: you hold {hand.hand}")
        while not hand.finished:
            action = _asked(hand)
            if not action:
                return
            made = hand.choose(action)
            better = f"{made.best} was better by {made.lost:.3g}" if made.lost > 1e-6 else "best"
            print(f"  {made.action}: {better}; the solution does it {100 * made.share:.0f}%")
        won, lost = won + hand.result(), lost + hand.lost
        print(f"  {hand.record} on {hand.board}: you take {hand.result():g} out")
        print(f"  {number + 1} hands: {won:+g} chips; {lost:.3g} lost by decisions")


def _asked(hand: Sparring) -> str:
    """The action that a person types, asked for until it is one; "" ends the game."""
    view = hand.view
    print(f"  board {hand.board}, pot {view.pot}; {hand.record or 'you open'}")
    while True:
        try:
            answer = input(f"  {', '.join(view.actions)} (q quits): ").strip().lower()
        except EOFError:
            return ""
        if answer in ("q", "quit"):
            return ""
        fitting = [name for name in view.actions if name == answer] or [
            name for name in view.actions if answer and name.startswith(answer)
        ]
        if len(fitting) == 1:
            return fitting[0]
        print(f"  choose one of {', '.join(view.actions)}")
