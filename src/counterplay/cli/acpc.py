"""`counterplay acpc`: matches by the protocol of the Annual Computer Poker Competition."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from counterplay.cli.match import AGENT_HELP
from counterplay.cli.options import SeedOption, file_option, integer_option
from counterplay.cli.output import print_note

acpc = typer.Typer(
    no_args_is_help=True,
    help="Poker matches by the ACPC protocol: serve, join, check.",
)

GameFileArgument = Annotated[
    Path, typer.Argument(metavar="GAME", help="An ACPC file.game.", show_default=False)
]
SecondsOption = Annotated[
    float, typer.Option("--seconds", metavar="X", min=0.01, help="Longest time for an answer.")
]


@acpc.command()
def serve(
    game: GameFileArgument,
    port: Annotated[
        int,
        integer_option(
            minimum=0, help="Port of the first player; the others follow; 0: free ports."
        ),
    ] = 0,
    hands: Annotated[int, integer_option(minimum=1, help="Number of hands.")] = 1000,
    names: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Names of the players.", show_default="p1,p2,..."),
    ] = None,
    log: Annotated[Path | None, file_option(help="Write a line per hand and the score.")] = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address to listen on.")] = "127.0.0.1",
    seconds: SecondsOption = 600.0,
    start_seconds: Annotated[
        float, typer.Option(metavar="X", min=0.01, help="Longest time until all have joined.")
    ] = 600.0,
    seed: SeedOption = 0,
) -> None:
    """Deal a match to players that connect over TCP, one port per player.

    Players change seats after each hand. A player that is slow, gone, or sends a line that is not
    legal ends the match; the log has all finished hands and the score.
    """
    from counterplay.cli.options import check_outputs
    from counterplay.interop.acpc_format import format_values, read_game_file
    from counterplay.interop.acpc_match import Dealer

    rules = read_game_file(game)
    check_outputs(log, None)
    players = names.split(",") if names else [f"p{k + 1}" for k in range(rules.num_players)]
    dealer = Dealer(rules, players, None, seed, seconds, start_seconds)
    listeners = dealer.listen(host, port)
    ports = ", ".join(str(listener.getsockname()[1]) for listener in listeners)
    print_note(f"listening on {host}, ports {ports}")
    if log is None:
        totals = dealer.run(listeners, hands)
    else:
        with log.open("w") as file:
            dealer.log = file
            totals = dealer.run(listeners, hands)
    print(f"SCORE:{format_values(totals)}:{'|'.join(players)}")


@acpc.command()
def join(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The dealer's machine.")],
    port: Annotated[int, typer.Argument(metavar="PORT", help="The port of this player.")],
    game: Annotated[Path, typer.Option("--game", "-g", metavar="GAME", help="An ACPC file.game.")],
    agent: Annotated[str, typer.Option(metavar="AGENT", help=AGENT_HELP)] = "uniform",
    seconds: SecondsOption = 600.0,
    seed: SeedOption = 0,
) -> None:
    """Play an agent at a dealer until the match ends."""
    from counterplay.interop.acpc_format import read_game_file
    from counterplay.interop.acpc_match import join_match
    from counterplay.play.agents import AgentLoader

    rules = read_game_file(game)
    player = AgentLoader(rules, rules_only=True).load_agents(agent)[0]
    num_hands = join_match(rules, player, host, port, seed, seconds)
    print(f"played {num_hands:,} hands")


@acpc.command()
def check(
    game: GameFileArgument,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="A log of a dealer.")],
) -> None:
    """Check all hands of a log against the rules and print the chips won by each player."""
    from collections import defaultdict

    from counterplay.interop.acpc_format import format_values, read_game_file, read_log

    rules = read_game_file(game)
    totals: dict[str, float] = defaultdict(float)
    hands = read_log(rules, log)
    for hand in hands:
        for name, value in zip(hand.names, rules.utilities(hand.state), strict=True):
            totals[name] += value
    print(f"{len(hands):,} hands")
    for name, total in totals.items():
        print(f"{name}  {format_values([total])}")
